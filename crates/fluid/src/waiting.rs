//! How long what leaves a queue has waited, first in, first out.

use std::collections::VecDeque;

/// What waits at a link: how many bytes it had accepted when, linear in between.
#[derive(Clone, Debug)]
pub struct Waiting(VecDeque<(f64, f64)>);

impl Default for Waiting {
    fn default() -> Waiting {
        Waiting(VecDeque::from([(0.0, 0.0)]))
    }
}

impl Waiting {
    /// How long what leaves at `to` has waited [s], where since the start `served` bytes have left
    /// and `q` wait.
    pub fn waited(&mut self, to: f64, served: f64, q: f64) -> f64 {
        let Waiting(accepted) = self;
        accepted.push_back((to, served + q));
        while accepted.len() > 1 && (q <= 0.0 || accepted[1].1 <= served) {
            accepted.pop_front();
        }
        let (at, bytes) = accepted[0];
        let Some(&(later, then)) = accepted.get(1) else { return 0.0 };
        let share = ((served - bytes) / (then - bytes)).clamp(0.0, 1.0);
        (to - (at + share * (later - at))).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: f64) -> f64 {
        n * 1e-3
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn what_leaves_a_queue_has_waited_since_it_came() {
        // 4000 bytes come within 1 ms to a link that takes 1 ms for each 1000: 3000 wait at 1 ms,
        // 2000 at 2 ms.
        let mut waiting = Waiting::default();
        assert_eq!(waiting.waited(0.0, 0.0, 0.0), 0.0);
        // Byte 1000 came at 0.25 ms, byte 2000 at 0.5 ms.
        assert!(near(waiting.waited(ms(1.0), 1000.0, 3000.0), ms(0.75)));
        assert!(near(waiting.waited(ms(2.0), 2000.0, 2000.0), ms(1.5)));
        assert!(near(waiting.waited(ms(3.0), 3000.0, 1000.0), ms(2.25)));
        // At 4 ms the last one goes, and nothing waits any more.
        assert_eq!(waiting.waited(ms(4.0), 4000.0, 0.0), 0.0);
        assert_eq!(waiting.waited(ms(5.0), 4000.0, 0.0), 0.0);
    }

    #[test]
    fn a_capacity_step_serves_what_waits_as_fast_as_the_link_is_then() {
        // 2 MB/s come to 1 MB/s for 100 ms: 100 kB wait, and what leaves then came at 50 ms.
        let mut waiting = Waiting::default();
        for step in 1..=20 {
            let t = ms(5.0 * f64::from(step));
            assert!(near(waiting.waited(t, 1e6 * t, 1e6 * t), t / 2.0));
        }
        // Then 1 MB/s come to 10 MB/s. At 105 ms byte 150,000 leaves, which came at 75 ms; at 110
        // ms byte 200,000, which came at 100 ms; at 111 ms byte 210,000 of 211,000, which came at
        // 110 ms.
        assert!(near(waiting.waited(ms(105.0), 150_000.0, 55_000.0), ms(30.0)));
        assert!(near(waiting.waited(ms(110.0), 200_000.0, 10_000.0), ms(10.0)));
        assert!(near(waiting.waited(ms(111.0), 210_000.0, 1000.0), ms(1.0)));
        // Empty after 100 kB/(9 MB/s) = 11.1 ms.
        assert_eq!(waiting.waited(ms(112.0), 212_000.0, 0.0), 0.0);
    }
}

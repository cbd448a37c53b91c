//! How RED's max_p follows the average: Floyd, Gummadi, Shenker, "Adaptive RED", section 4. D2 is
//! [`ared`](super::ared)'s.

use units::{Span, Time};

params! {
    /// How max_p follows the average.
    pub struct AdaptationParams {
        /// Time between two changes of max_p (section 4).
        interval: Span = Span::from_millis(500) => (1e-3, 100.0);
        /// alpha, the increase of max_p, of which at most max_p/4 is taken (section 4).
        alpha: f64 = 0.01 => (0.0, 1.0);
        /// beta, the decrease factor of max_p (section 4).
        beta: f64 = 0.9 => (0.0, 1.0);
        /// max_p is decreased from this on; 0: the lesser of 0.01 and 10/C, C in packets/s
        /// (ns-2's rule for bottom_).
        bottom: f64 = 0.01 => (0.0, 1.0);
        /// max_p is increased up to this.
        top: f64 = 0.5 => (0.0, 1.0);
    }
}

/// How max_p follows the average.
#[derive(Clone, Copy, Debug)]
pub(super) struct Adaptation {
    interval: Span,
    alpha: f64,
    beta: f64,
    pub bottom: f64,
    top: f64,
    next: Time,
}

impl Default for Adaptation {
    /// With the default parameters, none of which asks for the line's rate.
    fn default() -> Adaptation {
        Adaptation::new(&AdaptationParams::default(), f64::INFINITY)
    }
}

impl Adaptation {
    /// Over a line that carries so many packets/s.
    pub fn new(params: &AdaptationParams, rate: f64) -> Adaptation {
        let AdaptationParams { interval, alpha, beta, bottom, top } = *params;
        let bottom = if bottom > 0.0 { bottom } else { (10.0 / rate).min(0.01) };
        Adaptation { interval, alpha, beta, bottom, top, next: Time::ZERO + interval }
    }

    /// With the running timer of `old`.
    pub fn running_as(self, old: &Adaptation) -> Adaptation {
        Adaptation { next: old.next, ..self }
    }

    /// When max_p is looked at next.
    pub fn next(&self) -> Time {
        self.next
    }

    /// The next max_p (section 4, figure 1).
    pub fn adapt(&mut self, now: Time, average: f64, (min, max): (f64, f64), max_p: f64) -> f64 {
        self.next = now + self.interval;
        let part = 0.4 * (max - min);
        if average > max - part && max_p <= self.top {
            (max_p + self.alpha.min(max_p / 4.0)).min(1.0)
        } else if average < min + part && max_p >= self.bottom {
            max_p * self.beta
        } else {
            max_p
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ms, near};

    /// Thresholds 100 and 300: the target band is 180 to 220.
    fn next(max_p: f64, average: f64) -> f64 {
        Adaptation::default().adapt(ms(500), average, (100.0, 300.0), max_p)
    }

    #[test]
    fn max_p_rises_by_a_quarter_at_most_and_shrinks_by_a_tenth() {
        assert!(near(next(0.1, 221.0), 0.11));
        // A quarter of 0.02 is less than 0.01.
        assert!(near(next(0.02, 221.0), 0.025));
        assert!(near(next(0.1, 179.0), 0.09));
        assert!(near(next(0.1, 181.0), 0.1) && near(next(0.1, 219.0), 0.1));
        // max_p <= 0.5 rises, max_p >= 0.01 shrinks.
        assert!(near(next(0.5, 400.0), 0.51) && near(next(0.501, 400.0), 0.501));
        assert!(near(next(0.01, 0.0), 0.009) && near(next(0.0099, 0.0), 0.0099));
        // A probability it stays, whatever the top.
        let mut high = Adaptation { top: 1.0, ..Adaptation::default() };
        assert!(near(high.adapt(ms(500), 400.0, (100.0, 300.0), 0.995), 1.0));
    }

    /// Section 4: "avg > target" and "avg < target": at the ends of the band, 180 and 220, max_p
    /// stays.
    #[test]
    fn the_band_has_its_ends() {
        assert!(near(next(0.1, 180.0), 0.1) && near(next(0.1, 220.0), 0.1));
    }
}

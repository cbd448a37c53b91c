//! How many flows a macro-flow carries: those of which a packet came in the last second or so.

use std::collections::BTreeSet;

use units::{Span, Time};

/// Flows are counted over this time.
const COUNTED: Span = Span::from_secs(1);

/// The flows of a macro-flow.
#[derive(Clone, Debug, Default)]
pub struct Members {
    /// Of the running second and of the one before.
    present: BTreeSet<u32>,
    before: usize,
    until: Time,
}

impl Members {
    /// A packet of this flow comes: their number, if it is another one now.
    pub fn see(&mut self, now: Time, flow: u32) -> Option<u32> {
        let known = self.count();
        if now >= self.until {
            self.before = self.present.len();
            self.present.clear();
            self.until = now + COUNTED;
        }
        self.present.insert(flow);
        let count = self.count();
        (count != known).then_some(count as u32)
    }

    fn count(&self) -> usize {
        self.before.max(self.present.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(t: u64) -> Time {
        Time::ZERO + Span::from_millis(t)
    }

    #[test]
    fn those_of_this_second_or_the_last_count() {
        let mut members = Members::default();
        assert_eq!(members.see(ms(0), 7), Some(1));
        assert_eq!(members.see(ms(10), 7), None);
        assert_eq!(members.see(ms(20), 9), Some(2));
        // The next second has flow 7 alone; then nobody knows of 9 any more.
        assert_eq!(members.see(ms(1000), 7), None);
        assert_eq!(members.see(ms(2000), 7), Some(1));
    }
}

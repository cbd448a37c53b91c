//! The retransmission timeout of RFC 6298, in whole picoseconds.

use units::{Span, Time};

use crate::Config;

/// What the RTT samples say.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    srtt: Span,
    rttvar: Span,
    min_rtt: Span,
}

/// The estimator and the timeout that follows from it.
///
/// RFC 6298's gains are meant for about one sample per RTT. With one per ACK the variation forgets
/// within some ACKs what it is to remember for some RTTs, and the timeout falls to where the
/// queue's next growth makes it expire (RFC 7323, appendix G). So a sample that raises the
/// variation counts at once, as in Linux, and one that lowers it once per RTT, unless
/// [`Config::every_sample`].
#[derive(Clone, Debug)]
pub(crate) struct Rto {
    rto: Span,
    estimate: Option<Estimate>,
    /// When a sample next counts that lowers the variation.
    step: Time,
    min: Span,
    max: Span,
    /// G, the least that the timeout is above srtt.
    granularity: Span,
    every_sample: bool,
}

impl Rto {
    pub(crate) fn new(config: &Config) -> Rto {
        let rto = config.initial_rto.min(config.max_rto);
        Rto {
            rto,
            estimate: None,
            step: Time::ZERO,
            min: config.min_rto,
            max: config.max_rto,
            granularity: config.rto_granularity,
            every_sample: config.every_sample,
        }
    }

    /// The timeout, backed off if it is.
    #[inline]
    pub(crate) fn rto(&self) -> Span {
        self.rto
    }

    #[inline]
    pub(crate) fn srtt(&self) -> Option<Span> {
        self.estimate.map(|e| e.srtt)
    }

    #[inline]
    pub(crate) fn min_rtt(&self) -> Option<Span> {
        self.estimate.map(|e| e.min_rtt)
    }

    pub(crate) fn rtt_variation(&self) -> Option<Span> {
        self.estimate.map(|e| e.rttvar)
    }

    /// Takes in one RTT; it also ends the back-off.
    #[inline]
    pub(crate) fn sample(&mut self, now: Time, rtt: Span) {
        let next = match self.estimate {
            // (2.2)
            None => Estimate { srtt: rtt, rttvar: Span(rtt.0 / 2), min_rtt: rtt },
            // (2.3): the variation first, with the old srtt. alpha = 1/8, beta = 1/4.
            Some(old) => {
                let off = old.srtt.0.abs_diff(rtt.0);
                let counts = self.every_sample || off > old.rttvar.0 || now >= self.step;
                Estimate {
                    rttvar: if counts { Span((3 * old.rttvar.0 + off) / 4) } else { old.rttvar },
                    srtt: Span((7 * old.srtt.0 + rtt.0) / 8),
                    min_rtt: old.min_rtt.min(rtt),
                }
            }
        };
        if now >= self.step {
            self.step = now + next.srtt;
        }
        self.estimate = Some(next);
        self.rto = self.computed(next);
    }

    /// K = 4. (2.3), (2.4), (2.5)
    #[inline]
    fn computed(&self, estimate: Estimate) -> Span {
        let above = self.granularity.max(estimate.rttvar * 4);
        (estimate.srtt + above).max(self.min).min(self.max)
    }

    /// Back to what the samples say; without a sample the back-off stays.
    pub(crate) fn end_back_off(&mut self) {
        if let Some(estimate) = self.estimate {
            self.rto = self.computed(estimate);
        }
    }

    /// (5.5)
    pub(crate) fn back_off(&mut self) {
        self.rto = (self.rto * 2).min(self.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimator() -> Rto {
        Rto::new(&Config { min_rto: Span::from_millis(1), ..Config::default() })
    }

    fn ms(t: u64) -> Time {
        Time::ZERO + Span::from_millis(t)
    }

    #[test]
    fn samples_follow_section_2() {
        let mut rto = estimator();
        assert_eq!((rto.rto(), rto.srtt()), (Span::from_secs(1), None));
        // R = 100 ms: srtt 100, rttvar 50, rto 100 + 4 * 50.
        rto.sample(ms(0), Span::from_millis(100));
        assert_eq!(rto.rto(), Span::from_millis(300));
        // R = 180 ms: rttvar 3/4 * 50 + 1/4 * 80 = 57.5, srtt 7/8 * 100 + 1/8 * 180 = 110.
        rto.sample(ms(200), Span::from_millis(180));
        assert_eq!(rto.srtt(), Some(Span::from_millis(110)));
        assert_eq!(rto.rto(), Span::from_millis(110 + 230));
        // R = 30 ms: rttvar 3/4 * 57.5 + 1/4 * 80 = 63.125, srtt 7/8 * 110 + 1/8 * 30 = 100.
        rto.sample(ms(400), Span::from_millis(30));
        assert_eq!(rto.rto(), Span::from_micros(100_000 + 252_500));
        assert_eq!(rto.min_rtt(), Some(Span::from_millis(30)));
    }

    #[test]
    fn many_samples_in_one_rtt_do_not_wear_the_variation_down() {
        let mut rto = estimator();
        rto.sample(ms(0), Span::from_millis(100));
        // Equal samples would take a quarter off rttvar each, 50 -> 0.16 ms after 20.
        for ack in 1..=20 {
            rto.sample(ms(ack), Span::from_millis(100));
        }
        assert_eq!(rto.rto(), Span::from_millis(300));
        // One RTT after the first one does: 3/4 * 50 = 37.5; the next one does not.
        rto.sample(ms(100), Span::from_millis(100));
        assert_eq!(rto.rto(), Span::from_millis(250));
        rto.sample(ms(110), Span::from_millis(100));
        assert_eq!(rto.rto(), Span::from_millis(250));
        // A larger one counts at once: 3/4 * 37.5 + 1/4 * 400 = 128.125, srtt 150.
        rto.sample(ms(120), Span::from_millis(500));
        assert_eq!(rto.rto(), Span::from_micros(150_000 + 512_500));
    }

    #[test]
    fn every_sample_lowers_the_variation_if_told_so() {
        let config =
            Config { min_rto: Span::from_millis(1), every_sample: true, ..Config::default() };
        let mut rto = Rto::new(&Config { rto_granularity: Span::ZERO, ..config });
        rto.sample(ms(0), Span::from_millis(100));
        // Equal samples take a quarter off rttvar each: 50, 37.5, 28.125, 21.093 75 ms.
        for (ack, above_us) in [(1, 150_000), (2, 112_500), (3, 84_375)] {
            rto.sample(ms(ack), Span::from_millis(100));
            assert_eq!(rto.rto(), Span::from_micros(100_000 + above_us));
        }
    }

    #[test]
    fn timeout_stays_above_the_rtt_by_the_granularity() {
        let granularity = Span::from_millis(100);
        for every_sample in [false, true] {
            let mut rto = Rto::new(&Config {
                min_rto: Span::from_secs(1),
                rto_granularity: granularity,
                every_sample,
                ..Config::default()
            });
            // R = 2 s: 2 + max(0.1, 4 * 1).
            rto.sample(ms(0), Span::from_secs(2));
            assert_eq!(rto.rto(), Span::from_secs(6));
            // One sample for each RTT: 4 * 3/4 = 3 s, then 4 * 9/16 = 2.25 s.
            rto.sample(ms(2000), Span::from_secs(2));
            assert_eq!(rto.rto(), Span::from_secs(5));
            rto.sample(ms(4000), Span::from_secs(2));
            assert_eq!(rto.rto(), Span::from_millis(4250));
            // 4 * 0.75^12 = 0.127 s is above G, 4 * 0.75^13 = 0.095 s is not.
            for round in 3..=12 {
                rto.sample(ms(2000 * round), Span::from_secs(2));
                assert!(rto.rto() > Span::from_millis(2126), "{round}");
            }
            for round in 13..=40 {
                rto.sample(ms(2000 * round), Span::from_secs(2));
                assert_eq!(rto.rto(), Span::from_millis(2100), "{round}");
            }
        }
        // Below min_rto that one decides: 10 + max(100, 20) ms is less than 1 s.
        let mut rto = Rto::new(&Config { rto_granularity: granularity, ..Config::default() });
        rto.sample(ms(0), Span::from_millis(10));
        assert_eq!(rto.rto(), Span::from_secs(1));
    }

    #[test]
    fn back_off_doubles_to_the_maximum_and_ends_with_a_sample() {
        let mut rto = estimator();
        let mut seen = Vec::new();
        for _ in 0..7 {
            rto.back_off();
            seen.push(rto.rto().0 / Span::from_secs(1).0);
        }
        assert_eq!(seen, [2, 4, 8, 16, 32, 60, 60]);
        rto.end_back_off();
        assert_eq!(rto.rto(), Span::from_secs(60), "there is no sample to go back to");
        rto.sample(ms(0), Span::from_millis(100));
        assert_eq!(rto.rto(), Span::from_millis(300));
        rto.back_off();
        rto.end_back_off();
        assert_eq!(rto.rto(), Span::from_millis(300));
    }

    #[test]
    fn timeout_keeps_its_bounds() {
        let mut rto = Rto::new(&Config::default());
        rto.sample(ms(0), Span::from_millis(10));
        assert_eq!(rto.rto(), Span::from_secs(1));
        rto.sample(ms(0), Span::from_secs(100));
        assert_eq!(rto.rto(), Span::from_secs(60));
    }
}

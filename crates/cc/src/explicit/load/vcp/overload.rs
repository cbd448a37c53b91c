//! Which packets learn of overload: all, as in section III, or some for TCP's sake, as section VI-C
//! has it ([`vcp_friendly`](crate::explicit::load::vcp_friendly), with its D2).

use units::random::Stream;

choice! {
    /// Which packets learn of overload.
    pub enum Marking {
        /// All.
        All = "all",
        /// Some, as RED picks them; the others carry high load (section VI-C).
        Red = "red",
    }
}

params! {
    /// Which packets learn of overload.
    pub struct MarkingParams {
        /// Which packets learn of overload.
        marking: Marking = Marking::All;
        /// max_p, the probability of a mark at rho = max_rho, if RED picks (section VI-C).
        max_p: f64 = 0.1 => (1e-6, 1.0);
        /// The load factor at which the probability of a mark is max_p, if RED picks.
        max_rho: f64 = 1.2 => (1.001, 10.0);
    }
}

/// RED's choice of packets.
#[derive(Clone, Debug)]
pub(super) struct Marker {
    stream: Stream,
    /// p_b of the running period.
    p_b: f64,
    /// Packets since the last mark.
    count: f64,
}

impl Marker {
    pub(super) fn new(stream: Stream) -> Marker {
        Marker { stream, p_b: 0.0, count: 0.0 }
    }

    /// p_b of a load factor of 1 or more.
    pub(super) fn load(&mut self, rho: f64, params: &MarkingParams) {
        let MarkingParams { max_p, max_rho, .. } = *params;
        let above = (rho - 1.0) / (max_rho - 1.0);
        let p = if above <= 1.0 { max_p * above } else { max_p + (1.0 - max_p) * (above - 1.0) };
        self.p_b = p.clamp(0.0, 1.0);
    }

    pub(super) fn p_b(&self) -> f64 {
        self.p_b
    }

    /// Is this packet picked?
    #[inline]
    pub(super) fn picks(&mut self) -> bool {
        self.count += 1.0;
        let since = self.count * self.p_b;
        let p_a = if since < 1.0 {
            return false;
        } else if since < 2.0 {
            self.p_b / (2.0 - since)
        } else {
            1.0
        };
        let picked = p_a >= 1.0 || self.stream.chance(p_a);
        if picked {
            self.count = 0.0;
        }
        picked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::near;

    #[test]
    fn the_probability_follows_the_load_factor() {
        let mut marker = Marker::new(Stream::new(1, 0, "test"));
        // Half of the way to 1.2: half of 0.1. Twice as far: 0.1 + 0.9*0.5. Three times: 1.
        for (rho, p_b) in [(1.0, 0.0), (1.1, 0.05), (1.2, 0.1), (1.3, 0.55), (1.6, 1.0)] {
            marker.load(rho, &MarkingParams::default());
            assert!(near(marker.p_b(), p_b), "{rho}");
        }
    }

    #[test]
    fn gaps_between_marks_are_uniform_on_one_to_two_times_the_mean_of_red() {
        let mut marker = Marker::new(Stream::new(1, 0, "test"));
        marker.load(1.1, &MarkingParams::default());
        let mut gaps = [0; 41];
        let (mut gap, packets) = (0, 300_000);
        for _ in 0..packets {
            gap += 1;
            if marker.picks() {
                gaps[gap] += 1;
                gap = 0;
            }
        }
        // p_b = 0.05: 20 to 39 packets, each as likely: mean 29.5.
        let marks: i32 = gaps.iter().sum();
        assert!((f64::from(packets) / f64::from(marks) - 29.5).abs() < 0.3);
        assert!(gaps[..20].iter().all(|&n| n == 0));
        let each = f64::from(marks) / 20.0;
        assert!(gaps[20..40].iter().all(|&n| (f64::from(n) / each - 1.0).abs() < 0.2), "{gaps:?}");
        marker.load(2.0, &MarkingParams::default());
        assert!(marker.picks() && marker.picks());
    }
}

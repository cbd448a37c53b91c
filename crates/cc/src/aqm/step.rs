//! The step of data-centre switches. Alizadeh, Greenberg, Maltz, Padhye, Patel, Prabhakar,
//! Sengupta, Sridharan, "Data center TCP (DCTCP)", SIGCOMM 2010, section 3.1; RFC 8257, section
//! 3.1.
//!
//! One threshold on the queue as it is, without an average: what finds more than K waiting is
//! marked. Switches do it with what they have for RED: both thresholds at K, and no average.
//!
//! ```math
//! q > K        marks; q: what waits as the packet arrives
//! K > C*RTT/7  keeps the link full (the paper, section 3.4, eq. 13)
//! ```
//!
//! Deviations:
//! - D1: data that is not ECN-capable is dropped where other data is marked, as such switches do
//!   (RFC 8257, section 3.5); `ecn = false` drops all.
//! - D2: ACKs pass. A DCTCP host sends them ECN-capable, so a switch would mark and not drop them;
//!   here their bits are an echo.

use core::fmt;

use units::Time;

use super::policy::{Counting, Gauge, signal};
use crate::roles::{Backlog, PacketKind, Passing, Router, RouterContext, Verdict};

params! {
    /// The step's parameters.
    pub struct StepParams {
        /// K [packets; full ones if bytes are counted]. Section 4 of the paper: 20 at 1 Gb/s, 65 at
        /// 10 Gb/s.
        k: f64 = 20.0 => (0.0, 1e9);
        /// K as a part of the buffer; 0: by k.
        k_ratio: f64 = 0.0 => (0.0, 1.0);
        /// What the threshold counts.
        counts: Counting = Counting::Buffer;
        /// Are capable packets marked instead of dropped?
        ecn: bool = true;
    }
    presets {
        /// The paper's switches at 10 Gb/s (SIGCOMM 2010, section 4): more than at 1 Gb/s for the
        /// bursts of their hosts' cards.
        "10gbps" { k = Number(65.0) }
    }
}

/// The router's part.
#[derive(Clone, Debug)]
pub struct Step {
    ecn: bool,
    gauge: Gauge,
    /// [packets]
    k: f64,
}

impl Router for Step {
    type Params = StepParams;
    type Header = ();

    fn new(params: &StepParams, context: &RouterContext) -> Step {
        let gauge = Gauge::new(params.counts, context.packet_bytes, context);
        let &StepParams { k, k_ratio, ecn, .. } = params;
        let k = if k_ratio > 0.0 { k_ratio * gauge.buffer(context.limit) } else { k };
        Step { ecn, gauge, k }
    }

    #[inline]
    fn on_arrival(&mut self, _now: Time, packet: Passing<'_, ()>, backlog: Backlog) -> Verdict {
        if packet.kind == PacketKind::Ack || self.gauge.queue(backlog) <= self.k {
            return Verdict::Forward;
        }
        signal(self.ecn, packet)
    }

    fn retune(&mut self, params: &StepParams, context: &RouterContext) {
        *self = Step::new(params, context);
    }

    fn describe(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        writeln!(out, "The step picks data that finds more than {} packets waiting", self.k)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::{Ecn, Limit};
    use crate::tests::{ms, near, passing, router_context};
    use units::Rate;

    fn arrive(params: &StepParams, kind: PacketKind, mut ecn: Ecn, bytes: u64) -> (Verdict, Ecn) {
        // Packets of 1000 B, 100 fit.
        let mut step = Step::new(params, &router_context(Rate(8_000_000), 100));
        let waiting = Backlog { packets: bytes.div_ceil(1000) as u32, bytes };
        let verdict = step.on_arrival(ms(0), Passing { kind, ..passing(&mut ecn) }, waiting);
        (verdict, ecn)
    }

    #[test]
    fn the_first_packet_over_k_is_marked_and_none_below() {
        let data = |params: &StepParams, bytes| arrive(params, PacketKind::Data, Ecn::Ect0, bytes);
        let (pass, mark) = ((Verdict::Forward, Ecn::Ect0), (Verdict::Forward, Ecn::Ce));
        let step = StepParams::default();
        // "If the queue occupancy is greater than K": 20 packets are not.
        for (waiting, told) in [(0, pass), (20_000, pass), (21_000, mark), (100_000, mark)] {
            assert_eq!(data(&step, waiting), told, "{waiting}");
        }
        // Between 20 and 21 only bytes differ; the buffer of the test counts packets.
        let bytes = StepParams { counts: Counting::Bytes, ..step.clone() };
        assert_eq!(data(&bytes, 20_001), mark);
        assert_eq!(data(&bytes, 20_000), pass);
        assert_eq!(data(&StepParams { k: 0.0, ..step.clone() }, 1000), mark);
        assert_eq!(data(&StepParams { k: 65.0, ..step }, 65_000), pass);
    }

    #[test]
    fn k_may_be_a_part_of_the_buffer_and_follows_it() {
        // A fifth of 100 packets, whatever k is.
        let fifth = StepParams { k: 65.0, k_ratio: 0.2, ..StepParams::default() };
        for (waiting, ecn) in [(20_000, Ecn::Ect0), (21_000, Ecn::Ce)] {
            assert_eq!(arrive(&fifth, PacketKind::Data, Ecn::Ect0, waiting).1, ecn, "{waiting}");
        }
        let rate = Rate(8_000_000);
        let mut step = Step::new(&fifth, &router_context(rate, 100));
        step.retune(&fifth, &router_context(rate, 50));
        assert!(near(step.k, 10.0));
        // 30,000 B are 30 full packets, also where packets of other sizes wait.
        let limit = Limit::Bytes(30_000);
        step.retune(&fifth, &RouterContext { limit, ..router_context(rate, 100) });
        assert!(near(step.k, 6.0));
    }

    #[test]
    fn what_is_not_capable_is_dropped_and_acks_pass() {
        let step = StepParams::default();
        let (data, ack) = (PacketKind::Data, PacketKind::Ack);
        let not = Ecn::NotCapable;
        assert_eq!(arrive(&step, data, not, 21_000), (Verdict::Drop, not));
        assert_eq!(arrive(&step, data, not, 20_000), (Verdict::Forward, not));
        assert_eq!(arrive(&step, ack, not, 21_000), (Verdict::Forward, not));
        assert_eq!(arrive(&step, ack, Ecn::Ce, 21_000), (Verdict::Forward, Ecn::Ce));
        let drops = StepParams { ecn: false, ..step };
        assert_eq!(arrive(&drops, data, Ecn::Ect0, 21_000), (Verdict::Drop, Ecn::Ect0));
    }
}

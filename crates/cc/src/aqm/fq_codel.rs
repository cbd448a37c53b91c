//! FQ-CoDel. RFC 8290 (January 2018), sections 4 and 5.
//!
//! Flows are hashed into queues. A queue that was empty goes to the list of new ones, which is
//! served before that of the old ones, each by deficit round robin; so flows that send less than
//! their share wait for nobody. Each queue has CoDel's state of its own. When the limit is reached,
//! the queue with the most bytes loses half its packets from the front, 64 at most.
//!
//! ```math
//! deficit <- deficit + quantum  of a queue whose turn finds it at 0 or below; it goes to the end
//! deficit <- deficit - s                   for each packet of s bytes that it sends
//! t_next <- t_next + interval/sqrt(count)  CoDel's next drop in that queue
//! ```
//!
//! Deviations:
//! - D1: the hash is over the flow's number and a random salt, where the RFC hashes the 5-tuple.
//! - D2: the limit is the link's buffer (the RFC's default is 10240 packets).
//! - D3: a quantum of 0 is a full packet (the RFC's default is the MTU of 1514 bytes).

use units::{Span, Time};

use crate::aqm::codel::{Control, Law, NEVER, at_head};
use crate::classes::{Order, Overflow, Place, Plan, Scheduler};
use crate::roles::{Passing, Router, RouterContext, Variable, Verdict};

params! {
    /// Sections 5.2.1 to 5.2.7.
    pub struct FqCoDelParams {
        /// TARGET of each queue's CoDel, section 5.2.2.
        target: Span = Span::from_millis(5) => (1e-6, 10.0);
        /// INTERVAL of each queue's CoDel, section 5.2.1.
        interval: Span = Span::from_millis(100) => (1e-5, 100.0);
        /// Number of queues, section 5.2.5.
        flows: u64 = 1024 => (1.0, 65536.0);
        /// Quantum [bytes], section 5.2.4; 0: a full packet.
        quantum: u64 = 0 => (0.0, 1e6);
        /// Are capable packets marked instead of dropped? Section 5.2.6.
        ecn: bool = true;
        /// Does CoDel look at what all queues hold before it drops, and not at its queue alone (RFC
        /// 8289, section 4.4)? Linux looks at all.
        link_bytes: bool = false;
        /// Is the root of the control law Linux's, one Newton step per drop, and not exact?
        newton: bool = false;
    }
}

/// RFC 8290 section 4.1: packets that one overflow drops at most.
const BATCH: u32 = 64;

/// The router's part.
#[derive(Clone, Debug)]
pub struct FqCoDel {
    law: Law,
    ecn: bool,
    link_bytes: bool,
    queues: u64,
    salt: u64,
    sojourn: Span,
}

impl Router for FqCoDel {
    type Params = FqCoDelParams;
    type Header = ();

    fn new(params: &FqCoDelParams, context: &RouterContext) -> FqCoDel {
        let (target, interval) = (params.target, params.interval);
        FqCoDel {
            law: Law {
                target,
                interval,
                max_packet: u64::from(context.packet_bytes),
                ce_threshold: NEVER,
                newton: params.newton,
            },
            ecn: params.ecn,
            link_bytes: params.link_bytes,
            queues: params.flows,
            salt: context.stream.clone().bits(),
            sojourn: Span::ZERO,
        }
    }

    /// The number of queues stays as it was: flows do not move.
    fn retune(&mut self, params: &FqCoDelParams, context: &RouterContext) {
        let FqCoDel { queues, salt, sojourn, .. } = *self;
        *self = FqCoDel { queues, salt, sojourn, ..FqCoDel::new(params, context) };
    }

    const VARIABLES: &'static [Variable] =
        &[Variable::new("sojourn", "s", "how long the last head had waited")];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("sojourn", self.sojourn.as_secs());
    }
}

impl Scheduler for FqCoDel {
    type Cell = Control;

    fn plan(params: &FqCoDelParams) -> Plan {
        Plan {
            order: Order::NewFirst,
            quantum: params.quantum as u32,
            overflow: Overflow::LongestFront(BATCH),
            per_class: None,
        }
    }

    /// The queue of a flow: its number and the salt through splitmix64's finisher.
    fn cell(&self, flow: u32) -> u32 {
        let mut z = self.salt ^ u64::from(flow).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % self.queues) as u32
    }

    fn classify(&mut self, _: Time, packet: Passing<'_, ()>, _: &mut Place<'_, Control>) -> u32 {
        self.cell(packet.flow)
    }

    fn on_head(
        &mut self,
        now: Time,
        packet: Passing<'_, ()>,
        place: &mut Place<'_, Control>,
    ) -> Verdict {
        self.sojourn = packet.queued_for;
        let behind = if self.link_bytes { place.backlog.bytes } else { place.queue.bytes };
        at_head(place.cell, (&self.law, self.ecn), now, packet, (behind, place.again))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::{Backlog, Ecn};
    use crate::tests::{ms, passing, router_context};
    use units::Rate;

    /// 1024 flows into 1024 queues: a random hash leaves a share of 1/e empty, 377 of them, with a
    /// standard deviation of sqrt(1024 (1/e - 2/e^2)) = 10.
    #[test]
    fn flows_spread_over_the_queues_as_at_random() {
        let fq = FqCoDel::new(&FqCoDelParams::default(), &router_context(Rate(10_000_000), 100));
        let mut taken = [false; 1024];
        (0..1024).for_each(|flow| taken[fq.cell(flow) as usize] = true);
        let empty = taken.iter().filter(|&&taken| !taken).count();
        assert!((empty as f64 - 377.0).abs() < 50.0, "{empty}");
    }

    /// Sections 4.1 and 5.2: new queues first, half of the longest queue from its front, 64 packets
    /// at most; 1024 queues, 5 and 100 ms, ECN.
    #[test]
    fn the_defaults_are_section_5_2s() {
        let params = FqCoDelParams::default();
        let plan = FqCoDel::plan(&params);
        assert_eq!((plan.order, plan.overflow), (Order::NewFirst, Overflow::LongestFront(64)));
        assert_eq!(params.target, Span::from_millis(5));
        assert_eq!((params.interval, params.flows), (Span::from_millis(100), 1024));
        assert!(params.ecn);
    }

    /// Heads of one queue that have waited 20 ms, one each ms, with `behind` bytes left in it and
    /// 50 packets in all queues: when is the first marked, or dropped?
    fn first(control: &mut Control, behind: u64, ecn: Ecn) -> Option<(u64, Verdict)> {
        first_with(&FqCoDelParams::default(), control, behind, ecn)
    }

    fn first_with(
        params: &FqCoDelParams,
        control: &mut Control,
        behind: u64,
        ecn: Ecn,
    ) -> Option<(u64, Verdict)> {
        let mut fq = FqCoDel::new(params, &router_context(Rate(10_000_000), 100));
        (0..1000).find_map(|t| {
            let mut code = ecn;
            let mut label = 0.0;
            let mut place = Place {
                backlog: Backlog { packets: 50, bytes: 50_000 },
                class: 0,
                queue: Backlog { packets: 1, bytes: behind },
                group: 0,
                label: &mut label,
                cell: &mut *control,
                drawn: None,
                idle: false,
                fits: true,
                again: false,
            };
            let queued_for = Span::from_millis(20);
            let packet = Passing { queued_for, ..passing(&mut code) };
            let verdict = fq.on_head(ms(t), packet, &mut place);
            (verdict == Verdict::Drop || code != ecn).then_some((t, verdict))
        })
    }

    /// Section 4.2: each queue has a CoDel of its own; section 5.2.6: capable packets are marked.
    #[test]
    fn each_queue_is_controlled_by_itself() {
        let mut one = Control::default();
        assert_eq!(first(&mut one, 9000, Ecn::NotCapable), Some((100, Verdict::Drop)));
        let mut other = Control::default();
        assert_eq!(first(&mut other, 9000, Ecn::Ect0), Some((100, Verdict::Forward)));
    }

    /// RFC 8289 section 4.4: with one more packet in the queue but 50 at the link, the first drop
    /// comes an interval later, as with a long queue.
    #[test]
    fn all_queues_of_the_link_can_count() {
        let params = FqCoDelParams { link_bytes: true, ..FqCoDelParams::default() };
        let first = first_with(&params, &mut Control::default(), 1000, Ecn::NotCapable);
        assert_eq!(first, Some((100, Verdict::Drop)));
    }

    /// Unlike RFC 8289 section 4.4, which would count all queues of the link: a queue with one more
    /// packet is not dropped from, though 50 packets wait.
    #[test]
    fn a_short_queue_is_left_alone_whatever_else_waits() {
        assert_eq!(first(&mut Control::default(), 1000, Ecn::NotCapable), None);
    }

    /// splitmix64 (Steele, Lea, Flood) seeded with 0 gives 0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4
    /// and 0x06c45d188009454f, which its authors' programs print; without a salt these are the
    /// hashes of flows 1 to 3, of which 65,536 queues keep 16 bits. A salt changes what is hashed.
    #[test]
    fn the_hash_is_splitmix64() {
        let params = FqCoDelParams { flows: 65_536, ..FqCoDelParams::default() };
        let mut fq = FqCoDel::new(&params, &router_context(Rate(10_000_000), 100));
        fq.salt = 0;
        assert_eq!([1, 2, 3].map(|flow| fq.cell(flow)), [0xcdaf, 0x65f4, 0x454f]);
        // The salt of flow 1 that makes it flow 2: the exclusive or of both multiples.
        let golden = 0x9e37_79b9_7f4a_7c15_u64;
        fq.salt = golden ^ golden.wrapping_mul(2);
        assert_eq!(fq.cell(1), 0x65f4);
    }
}

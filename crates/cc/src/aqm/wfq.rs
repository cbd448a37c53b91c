//! WFQ, weighted fair queueing, as start-time fair queueing: Goyal, Vin, Cheng, "Start-time fair
//! queuing: a scheduling algorithm for integrated services packet switching networks", SIGCOMM
//! 1996, section 2.
//!
//! Each class i has a queue and a weight r_i. A packet of l bytes has the start tag S = max(v, F')
//! and the finish tag F = S + l/r_i, with F' the finish tag of the one before it in its class and v
//! the start tag of the packet in service (when nothing waits and the line is idle: the largest
//! finish tag served). The least start tag goes first. Of all weighted fair queueing it is the
//! variant whose v needs no capacity, so that it stays fair on lines whose capacity changes.
//!
//! ```math
//! S = max(v, F_before)  start tag: the least is served first
//! F = S + l/r_i         finish tag of a packet of l bytes in a class of weight r_i
//! ```
//!
//! Deviations:
//! - D1: tags are given to heads of queues only, with the weight of the moment: the same as on
//!   arrival while weights stand, as F' >= v as long as the class waits; changed weights count at
//!   once.
//! - D2: a full buffer drops the last packet of the queue with the most bytes.

use super::weighted::{self, Weighted};
use crate::classes::{By, Order, Overflow, Plan};

params! {
    /// What makes a class, and what it gets.
    pub struct WfqParams {
        /// What makes a class: a flow, a group of flows in the order of the scenario, or ACKs
        /// (class 0) and data (class 1).
        by: By = By::Flow;
        /// r_0, weight of class 0: its share is its part of the sum of those that wait.
        w0: f64 = 1.0 => (0.01, 100.0);
        /// r_1, weight of class 1.
        w1: f64 = 1.0 => (0.01, 100.0);
        /// r_2, weight of class 2.
        w2: f64 = 1.0 => (0.01, 100.0);
        /// r_3, weight of class 3 and all further ones.
        w3: f64 = 1.0 => (0.01, 100.0);
    }
}

/// The router's part.
pub type Wfq = Weighted<ByWfq>;

/// Its order.
#[derive(Clone, Debug)]
pub struct ByWfq;

impl weighted::Order for ByWfq {
    type Params = WfqParams;

    fn plan(_: &WfqParams) -> Plan {
        Plan { order: Order::StartTags, overflow: Overflow::Longest, ..Plan::FIFO }
    }

    fn weights(params: &WfqParams) -> (By, [f64; 4]) {
        (params.by, [params.w0, params.w1, params.w2, params.w3])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classes::Scheduler;
    use crate::roles::{Ecn, PacketKind, Passing, Router};
    use crate::tests::{in_place, ms, passing, router_context};
    use units::Rate;

    /// Weights by class, the last one for all further ones; a class is a flow, a group, or ACKs and
    /// data.
    #[test]
    fn classes_and_weights_are_the_parameters() {
        for (by, class) in [(By::Flow, 7), (By::Group, 2), (By::Acks, 1)] {
            let params = WfqParams { by, w0: 0.5, w1: 2.0, w2: 3.0, w3: 4.0 };
            let mut router = Wfq::new(&params, &router_context(Rate(8_000_000), 100));
            let weights = [0, 1, 2, 3, 4, 99].map(|class| router.weight(class));
            assert_eq!(weights, [0.5, 2.0, 3.0, 4.0, 4.0, 4.0]);
            let mut class_of = |kind| {
                let mut ecn = Ecn::NotCapable;
                in_place(|place| {
                    place.group = 2;
                    router.classify(ms(0), Passing { flow: 7, kind, ..passing(&mut ecn) }, place)
                })
            };
            assert_eq!(class_of(PacketKind::Data), class);
            assert_eq!(class_of(PacketKind::Ack), if by == By::Acks { 0 } else { class });
        }
    }

    /// By start tags; the longest queue makes room.
    #[test]
    fn the_plan_is_by_start_tags() {
        let plan = Plan {
            order: Order::StartTags,
            quantum: 0,
            overflow: Overflow::Longest,
            per_class: None,
        };
        assert_eq!(Wfq::plan(&WfqParams::default()), plan);
    }
}

//! DRR, deficit round robin. Shreedhar and Varghese, "Efficient fair queueing using deficit round
//! robin", SIGCOMM 1995, section 3.
//!
//! Each flow has a queue. In its turn a queue gets a quantum of bytes on its deficit counter and
//! sends while its head is not larger than the counter, which falls by what is sent; what is left
//! is kept for its next turn, and lost when the queue runs empty.
//!
//! ```math
//! deficit <- deficit + quantum  in a queue's turn
//! deficit <- deficit - l        for each packet of l bytes that it sends
//! ```
//!
//! Deviations:
//! - D1: a queue for each flow, where the paper hashes flows into queues.
//! - D2: a full buffer drops the last packet of the queue with the most bytes (the paper's buffer
//!   stealing leaves the choice of the packet open).

use super::weighted::{self, Weighted};
use crate::classes::{By, Order, Overflow, Plan};

params! {
    /// What makes a class, and what it gets.
    pub struct DrrParams {
        /// What makes a class: a flow, a group of flows in the order of the scenario, or ACKs
        /// (class 0) and data (class 1).
        by: By = By::Flow;
        /// Q, the quantum of weight 1 [bytes], section 3; 0: a full packet.
        quantum: u64 = 0 => (0.0, 1e6);
        /// Weight of class 0: its quantum is so many times Q.
        w0: f64 = 1.0 => (0.01, 100.0);
        /// Weight of class 1.
        w1: f64 = 1.0 => (0.01, 100.0);
        /// Weight of class 2.
        w2: f64 = 1.0 => (0.01, 100.0);
        /// Weight of class 3 and all further ones.
        w3: f64 = 1.0 => (0.01, 100.0);
    }
}

/// The router's part.
pub type Drr = Weighted<ByDrr>;

/// Its order.
#[derive(Clone, Debug)]
pub struct ByDrr;

impl weighted::Order for ByDrr {
    type Params = DrrParams;

    fn plan(params: &DrrParams) -> Plan {
        Plan {
            order: Order::RoundRobin,
            quantum: params.quantum as u32,
            overflow: Overflow::Longest,
            per_class: None,
        }
    }

    fn weights(params: &DrrParams) -> (By, [f64; 4]) {
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
            let params = DrrParams { by, w0: 0.5, w1: 2.0, w2: 3.0, w3: 4.0, ..Default::default() };
            let mut router = Drr::new(&params, &router_context(Rate(8_000_000), 100));
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

    /// Deficit round robin with its quantum; the longest queue makes room.
    #[test]
    fn the_plan_is_deficit_round_robin() {
        let params = DrrParams { quantum: 1500, ..DrrParams::default() };
        let plan = Plan {
            order: Order::RoundRobin,
            quantum: 1500,
            overflow: Overflow::Longest,
            per_class: None,
        };
        assert_eq!(Drr::plan(&params), plan);
    }
}

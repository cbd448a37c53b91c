//! Strict priority: of the classes that wait, the one with the lowest number is served, in order of
//! arrival within it; a packet in service is not interrupted. It is the usual implementation of
//! expedited forwarding (RFC 3246, appendix; RFC 2475 for classes by marks of the edge).
//!
//! Classes share the link's limit, so low ones that fill the buffer keep high ones out unless each
//! has a limit of its own.

use crate::classes::{By, Order, Place, Plan, Scheduler};
use crate::roles::{Limit, Passing, Router, RouterContext};
use units::Time;

params! {
    /// What makes a class.
    pub struct PriorityParams {
        /// What makes a class: ACKs before data, one group of flows before the next in the order of
        /// the scenario, or one flow before the next.
        by: By = By::Acks;
        /// The most that one class may hold [packets]; 0: the link's limit is for all.
        per_class: u64 = 0 => (0.0, 1e6);
    }
}

/// The router's part.
#[derive(Clone, Debug)]
pub struct Priority {
    by: By,
}

impl Router for Priority {
    type Params = PriorityParams;
    type Header = ();

    fn new(params: &PriorityParams, _: &RouterContext) -> Priority {
        Priority { by: params.by }
    }

    fn retune(&mut self, params: &PriorityParams, context: &RouterContext) {
        *self = Priority::new(params, context);
    }
}

impl Scheduler for Priority {
    type Cell = ();

    fn plan(params: &PriorityParams) -> Plan {
        let per_class = (params.per_class > 0).then_some(Limit::Packets(params.per_class as u32));
        Plan { order: Order::Priority, per_class, ..Plan::FIFO }
    }

    fn classify(&mut self, _: Time, packet: Passing<'_, ()>, place: &mut Place<'_, ()>) -> u32 {
        self.by.class(packet.flow, packet.kind, place.group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classes::Overflow;
    use crate::roles::{Ecn, PacketKind};
    use crate::tests::{in_place, ms, passing, router_context};
    use units::Rate;

    /// A class's own limit, if there is one; what does not fit is dropped itself.
    #[test]
    fn the_plan_is_the_lowest_number_first() {
        for (per_class, limit) in [(0, None), (1, Some(Limit::Packets(1)))] {
            let plan = Plan {
                order: Order::Priority,
                quantum: 0,
                overflow: Overflow::Arrival,
                per_class: limit,
            };
            assert_eq!(Priority::plan(&PriorityParams { per_class, ..Default::default() }), plan);
        }
    }

    /// ACKs before data unless told otherwise.
    #[test]
    fn acks_are_the_first_class() {
        let context = router_context(Rate(8_000_000), 100);
        for (by, classes) in [(By::Acks, [0, 1]), (By::Group, [2, 2]), (By::Flow, [0, 0])] {
            let mut router = Priority::new(&PriorityParams { by, ..Default::default() }, &context);
            let found = [PacketKind::Ack, PacketKind::Data].map(|kind| {
                let mut ecn = Ecn::NotCapable;
                in_place(|place| {
                    place.group = 2;
                    router.classify(ms(0), Passing { kind, ..passing(&mut ecn) }, place)
                })
            });
            assert_eq!(found, classes);
        }
        assert_eq!(PriorityParams::default().by, By::Acks);
    }
}

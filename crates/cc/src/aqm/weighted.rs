//! What the orders of service by weights share: what makes a class, and what it is worth.

use units::Time;

use crate::classes::{By, Place, Plan, Scheduler};
use crate::params::Params;
use crate::roles::{Passing, Router, RouterContext};

/// An order of service in which classes have weights.
pub trait Order: Clone {
    /// Its parameters.
    type Params: Params;
    /// As [`Scheduler::plan`].
    fn plan(params: &Self::Params) -> Plan;
    /// What makes a class, and the weights of the classes 0 to 2 and of all further ones.
    fn weights(params: &Self::Params) -> (By, [f64; 4]);
}

/// A queue with such an order.
#[derive(Clone, Debug)]
pub struct Weighted<O> {
    by: By,
    weights: [f64; 4],
    order: core::marker::PhantomData<O>,
}

impl<O: Order> Router for Weighted<O> {
    type Params = O::Params;
    type Header = ();

    fn new(params: &O::Params, _: &RouterContext) -> Weighted<O> {
        let (by, weights) = O::weights(params);
        Weighted { by, weights, order: core::marker::PhantomData }
    }

    fn retune(&mut self, params: &O::Params, context: &RouterContext) {
        *self = Weighted::new(params, context);
    }
}

impl<O: Order> Scheduler for Weighted<O> {
    type Cell = ();

    fn plan(params: &O::Params) -> Plan {
        O::plan(params)
    }

    fn classify(&mut self, _: Time, packet: Passing<'_, ()>, place: &mut Place<'_, ()>) -> u32 {
        self.by.class(packet.flow, packet.kind, place.group)
    }

    fn weight(&self, class: u32) -> f64 {
        self.weights[class.min(3) as usize]
    }
}

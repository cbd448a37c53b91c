//! The router that writes the load of its last period into the ECN bits of the data that leaves it:
//! BMCC's, UNO's, DPCP's and MPCP's. A protocol says what it measures with and what a packet leaves
//! with ([`Marks`]); [`Marking`] makes a router of that.

use core::fmt;

use units::{Rate, Span, Time};

use super::factor::{LoadMeter, LoadParams};
use crate::params::Params;
use crate::roles::{
    Backlog, Ecn, Header, PacketKind, Passing, Router, RouterContext, Variable, Verdict,
};

/// What such a router's marks say.
pub trait Marks: Sized {
    /// The router's parameters.
    type Params: Params;
    /// The header it reads.
    type Header: Header;
    /// What [`Marks::probe`] shows, in its order.
    const VARIABLES: &'static [Variable];

    /// What the load is measured with, and the length of a period.
    fn measure(params: &Self::Params) -> (LoadParams, Span);
    /// As [`Router::acks_first`].
    fn acks_first(_params: &Self::Params) -> bool {
        false
    }
    /// The state before the end of the first period.
    fn new(params: &Self::Params) -> Self;
    /// The load factor of the period that has just ended.
    fn hear(&mut self, rho: f64);
    /// A packet of data leaves whose bits may be changed.
    fn mark(&mut self, packet: Passing<'_, Self::Header>);
    /// Other parameters from now on; the load factor stays.
    fn retune(&mut self, _params: &Self::Params, _rho: f64) {}
    /// Its variables and the meter's by the paper's names.
    fn probe(&self, meter: &LoadMeter, sink: &mut impl FnMut(&'static str, f64));
    /// As [`Router::describe`].
    fn describe(&self, _meter: &LoadMeter, _out: &mut dyn fmt::Write) -> fmt::Result {
        Ok(())
    }
}

/// A router with the marks `M`.
#[derive(Clone, Debug)]
pub struct Marking<M> {
    pub(super) meter: LoadMeter,
    pub(super) marks: M,
}

impl<M: Marks> Router for Marking<M> {
    type Params = M::Params;
    type Header = M::Header;

    const VARIABLES: &'static [Variable] = M::VARIABLES;

    fn new(params: &M::Params, context: &RouterContext) -> Marking<M> {
        let (load, period) = M::measure(params);
        Marking { meter: LoadMeter::new(load, period, context.capacity), marks: M::new(params) }
    }

    fn acks_first(params: &M::Params) -> bool {
        M::acks_first(params)
    }

    #[inline(never)] // the hot path has the dispatch alone
    fn on_arrival(&mut self, _now: Time, packet: Passing<'_, M::Header>, _: Backlog) -> Verdict {
        self.meter.arrive(packet.size);
        Verdict::Forward
    }

    #[inline(never)] // the hot path has the dispatch alone
    fn on_departure(&mut self, _now: Time, packet: Passing<'_, M::Header>, _: Backlog) {
        if packet.kind == PacketKind::Data && *packet.ecn != Ecn::NotCapable {
            self.marks.mark(packet);
        }
    }

    fn next_timer(&self) -> Time {
        self.meter.next_timer()
    }

    fn on_timer(&mut self, now: Time, backlog: Backlog) {
        if self.meter.on_timer(now, backlog) {
            self.marks.hear(self.meter.rho());
        }
    }

    /// The running period ends as planned; its load is taken over the new capacity.
    fn on_capacity(&mut self, _now: Time, capacity: Rate) {
        self.meter.set_capacity(capacity);
    }

    fn retune(&mut self, params: &M::Params, context: &RouterContext) {
        let (load, period) = M::measure(params);
        self.meter.retune(load, context.capacity);
        self.meter.set_period(period);
        self.marks.retune(params, self.meter.rho());
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        self.marks.probe(&self.meter, sink);
    }

    fn describe(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        self.marks.describe(&self.meter, out)
    }
}

//! The router that tells a load factor by a code, and the receiver of it: MLCP's, and those of the
//! n-bit schemes. A protocol says what its codes are ([`Code`]).

use units::{Rate, Time};

use super::gauge::{Gauge, GaugeParams, Timing};
use crate::params::Params;
use crate::roles::{
    Arrived, Backlog, Feedback, Header, PacketKind, Passing, Receiver, Router, RouterContext,
    Variable, Verdict,
};

/// A header with a load code, and what it goes with.
pub trait Coded: Header {
    /// The code; 0: the sender is not capable.
    fn load(&self) -> u32;
    /// The code of t_p, and the sender's RTT.
    fn timing(&self) -> Timing;
    /// Writes the code of a load, and of the t_p over which it was measured.
    fn tell(&mut self, load: u32, t_p: u8);
}

/// How a load factor is told.
pub trait Code: Sized {
    /// The router's parameters.
    type Params: Params;
    /// What packets carry.
    type Header: Coded;
    /// [`Gauge::VARIABLES`] and what the code is.
    const VARIABLES: &'static [Variable];

    /// Those of its parameters that all have.
    fn gauge(params: &Self::Params) -> &GaugeParams;
    /// The codes that these parameters describe.
    fn new(params: &Self::Params) -> Self;
    /// The code of a load factor; a higher load has no lower one.
    fn code(&self, sigma: f64) -> u32;
}

/// A router that tells its load by the codes `C`.
#[derive(Clone, Debug)]
pub struct CodedRouter<C> {
    pub(in super::super) gauge: Gauge,
    code: C,
    load: u32,
}

impl<C: Code> Router for CodedRouter<C> {
    type Params = C::Params;
    type Header = C::Header;

    fn new(params: &C::Params, context: &RouterContext) -> CodedRouter<C> {
        let (gauge, code) = (Gauge::new(C::gauge(params), context.capacity), C::new(params));
        CodedRouter { gauge, load: code.code(0.0), code }
    }

    fn acks_first(params: &C::Params) -> bool {
        C::gauge(params).priority
    }

    #[inline]
    fn on_arrival(&mut self, _now: Time, packet: Passing<'_, C::Header>, _: Backlog) -> Verdict {
        self.gauge.arrive(packet.size, packet.header.map(|header| header.timing()));
        Verdict::Forward
    }

    #[inline]
    fn on_departure(&mut self, _now: Time, packet: Passing<'_, C::Header>, _: Backlog) {
        let Some(header) = packet.header else { return };
        if packet.kind == PacketKind::Data && header.load() != 0 && self.load >= header.load() {
            header.tell(self.load, self.gauge.told());
        }
    }

    fn next_timer(&self) -> Time {
        self.gauge.next_timer()
    }

    fn on_timer(&mut self, now: Time, backlog: Backlog) {
        if self.gauge.on_timer(now, backlog) {
            self.load = self.code.code(self.gauge.sigma());
        }
    }

    /// The running period ends as planned; its load is taken over the new capacity.
    fn on_capacity(&mut self, _now: Time, capacity: Rate) {
        self.gauge.set_capacity(capacity);
    }

    /// Other codes speak from the end of the running period on.
    fn retune(&mut self, params: &C::Params, context: &RouterContext) {
        self.code = C::new(params);
        self.gauge.retune(C::gauge(params), context.capacity);
    }

    const VARIABLES: &'static [Variable] = C::VARIABLES;

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        self.gauge.probe(sink);
        sink("code", f64::from(self.load));
    }
}

/// The receiver's part: the header as it came, the one of the highest load where an ACK answers
/// several packets (section 3.3).
#[derive(Clone, Copy, Debug)]
pub struct Highest<H>(core::marker::PhantomData<H>);

impl<H> Default for Highest<H> {
    fn default() -> Highest<H> {
        Highest(core::marker::PhantomData)
    }
}

impl<H: Coded> Receiver for Highest<H> {
    type Header = H;

    #[inline]
    fn on_data(&mut self, data: &Arrived<H>) -> Feedback<H> {
        let pending = data.pending.filter(|pending| pending.header.load() > data.header.load());
        Feedback { header: pending.map_or(data.header, |pending| pending.header), code: data.ecn }
    }
}

//! Protocols and queues that are written elsewhere: a prototype in Python beside built-in ones.
//!
//! What stands here is the registry's side. A prototype's state lives with its [`Host`], which the
//! program that runs the engine brings along in the contexts; calls go to it by the object's
//! number. After each call it says what it wishes for, so that reading a window costs no call.
//!
//! A host that fails says so to its program, which stops the run; until then it answers with what
//! it answered last.

use units::{Rate, Time};

use crate::params::Text;
use crate::roles::{
    Ack, Backlog, Departing, Echo, EcnUse, Header, Host, Hosted, HostedRouter, Loss, Numbers,
    Passing, Router, RouterContext, Sender, SenderContext, Variable, Verdict, Wishes,
};

params! {
    /// Which prototype.
    pub struct ForeignParams {
        /// The class: "file.py:Name" beside the scenario, or "package.module:Name".
        code: Text = Text("");
    }
}

impl Header for Numbers {
    const WIRE_BYTES: usize = 24;
    const VARIABLES: &'static [Variable] = &[
        Variable::new("h_0", "", "the first number of the prototype's header"),
        Variable::new("h_1", "", "the second number of the prototype's header"),
        Variable::new("h_2", "", "the third number of the prototype's header"),
    ];

    fn encode(&self, wire: &mut [u8]) {
        for (field, bytes) in self.iter().zip(wire.chunks_exact_mut(8)) {
            bytes.copy_from_slice(&field.to_be_bytes());
        }
    }

    fn decode(wire: &[u8]) -> Option<Numbers> {
        let mut fields = Numbers::default();
        for (i, field) in fields.iter_mut().enumerate() {
            let bytes = wire.get(8 * i..8 * i + 8)?;
            *field = f64::from_be_bytes(bytes.try_into().ok()?);
        }
        // A number that is none would not be equal to itself.
        fields.iter().all(|field| !field.is_nan()).then_some(fields)
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        for (name, field) in ["h_0", "h_1", "h_2"].into_iter().zip(*self) {
            sink(name, field);
        }
    }
}

/// The host of programs that have none; a scenario with prototypes must not reach it.
#[derive(Debug)]
pub struct Nobody;

impl Host for Nobody {
    fn sender(&self, class: &'static str, _: &SenderContext) -> Hosted {
        panic!("this program runs no prototypes such as {class:?}")
    }
    fn on_send(&self, _: u32, _: &Departing) -> (Wishes, Numbers) {
        unreachable!("nobody has objects")
    }
    fn on_ack(&self, _: u32, _: &Ack<Numbers>) -> Wishes {
        unreachable!("nobody has objects")
    }
    fn on_loss(&self, _: u32, _: &Loss) -> Wishes {
        unreachable!("nobody has objects")
    }
    fn on_timer(&self, _: u32, _: Time) -> Wishes {
        unreachable!("nobody has objects")
    }
    fn router(&self, class: &'static str, _: &RouterContext) -> HostedRouter {
        panic!("this program runs no prototypes such as {class:?}")
    }
    fn on_arrival(&self, _: u32, _: Time, _: Passing<'_, Numbers>, _: Backlog) -> Verdict {
        unreachable!("nobody has objects")
    }
    fn on_departure(&self, _: u32, _: Time, _: Passing<'_, Numbers>, _: Backlog) {
        unreachable!("nobody has objects")
    }
    fn on_router_timer(&self, _: u32, _: Time, _: Backlog) -> Time {
        unreachable!("nobody has objects")
    }
    fn on_capacity(&self, _: u32, _: Time, _: Rate) {}
    fn duplicate(&self, object: u32) -> u32 {
        object
    }
    fn release(&self, _: u32) {}
}

/// The end host's part of a prototype.
#[derive(Debug)]
pub struct ForeignSender {
    host: &'static dyn Host,
    hosted: Hosted,
}

impl Clone for ForeignSender {
    fn clone(&self) -> ForeignSender {
        let object = self.host.duplicate(self.hosted.object);
        ForeignSender { host: self.host, hosted: Hosted { object, ..self.hosted } }
    }
}

impl Drop for ForeignSender {
    fn drop(&mut self) {
        self.host.release(self.hosted.object);
    }
}

impl Sender for ForeignSender {
    type Params = ForeignParams;
    type Header = Numbers;
    type Receiver = Echo<Numbers>;

    const VARIABLES: &'static [Variable] = &[Variable::new("cwnd", "pkts", "congestion window")];

    fn new(params: &ForeignParams, context: &SenderContext) -> ForeignSender {
        let host = context.host;
        ForeignSender { host, hosted: host.sender(params.code.0, context) }
    }

    fn ecn(&self) -> EcnUse {
        self.hosted.ecn
    }

    fn on_send(&mut self, segment: &Departing) -> Numbers {
        if !self.hosted.writes {
            return Numbers::default();
        }
        let (wishes, header) = self.host.on_send(self.hosted.object, segment);
        self.hosted.wishes = wishes;
        header
    }

    fn on_ack(&mut self, ack: &Ack<Numbers>) {
        self.hosted.wishes = self.host.on_ack(self.hosted.object, ack);
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.hosted.wishes = self.host.on_loss(self.hosted.object, loss);
    }

    fn next_timer(&self) -> Time {
        self.hosted.wishes.timer
    }

    fn on_timer(&mut self, now: Time) {
        self.hosted.wishes = self.host.on_timer(self.hosted.object, now);
    }

    fn cwnd(&self) -> f64 {
        self.hosted.wishes.cwnd
    }

    fn paces(&self) -> bool {
        true
    }

    fn pacing(&self) -> Option<Rate> {
        self.hosted.wishes.pacing
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("cwnd", self.hosted.wishes.cwnd);
    }
}

/// The router's part of a prototype.
#[derive(Debug)]
pub struct ForeignRouter {
    host: &'static dyn Host,
    hosted: HostedRouter,
}

impl Clone for ForeignRouter {
    fn clone(&self) -> ForeignRouter {
        let object = self.host.duplicate(self.hosted.object);
        ForeignRouter { host: self.host, hosted: HostedRouter { object, ..self.hosted } }
    }
}

impl Drop for ForeignRouter {
    fn drop(&mut self) {
        self.host.release(self.hosted.object);
    }
}

impl Router for ForeignRouter {
    type Params = ForeignParams;
    type Header = Numbers;

    fn new(params: &ForeignParams, context: &RouterContext) -> ForeignRouter {
        let host = context.host;
        ForeignRouter { host, hosted: host.router(params.code.0, context) }
    }

    fn on_arrival(&mut self, now: Time, packet: Passing<'_, Numbers>, backlog: Backlog) -> Verdict {
        self.host.on_arrival(self.hosted.object, now, packet, backlog)
    }

    fn on_departure(&mut self, now: Time, packet: Passing<'_, Numbers>, backlog: Backlog) {
        if self.hosted.departures {
            self.host.on_departure(self.hosted.object, now, packet, backlog);
        }
    }

    fn next_timer(&self) -> Time {
        self.hosted.timer
    }

    fn on_timer(&mut self, now: Time, backlog: Backlog) {
        self.hosted.timer = self.host.on_router_timer(self.hosted.object, now, backlog);
    }

    fn on_capacity(&mut self, now: Time, capacity: Rate) {
        self.host.on_capacity(self.hosted.object, now, capacity);
    }

    /// The capacity alone: a prototype has no parameters of its own.
    fn retune(&mut self, _: &ForeignParams, _: &RouterContext) {}
}

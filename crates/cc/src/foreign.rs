//! Protocols and queues that are written elsewhere: a prototype in Python beside built-in ones.
//!
//! What stands here is the registry's side. A prototype's state lives with its [`Host`], which the
//! program that runs the engine brings along in the contexts; calls go to it by the object's number.
//! After each call it says what it wishes for, so that reading a window costs no call.
//!
//! A host that fails says so to its program, which stops the run; until then it answers with what it
//! answered last.

use core::fmt::Debug;

use units::{Rate, Time};

use crate::params::Text;
use crate::registry::AnyHeader;
use crate::roles::{
    Ack, Backlog, Departing, Echo, EcnUse, Header, Loss, Passing, Router, RouterContext, Sender,
    SenderContext, Variable, Verdict,
};

params! {
    /// Which prototype.
    pub struct ForeignParams {
        /// The class: "file.py:Name" beside the scenario, or "package.module:Name".
        code: Text = Text("");
    }
}

/// What a prototype's packets carry: up to three numbers, which mean what it likes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ForeignHeader {
    /// The numbers.
    pub fields: [f64; 3],
}

impl Header for ForeignHeader {
    const WIRE_BYTES: usize = 24;
    const VARIABLES: &'static [Variable] = &[
        Variable::new("h_0", "", "the first number of the prototype's header"),
        Variable::new("h_1", "", "the second number of the prototype's header"),
        Variable::new("h_2", "", "the third number of the prototype's header"),
    ];

    fn encode(&self, wire: &mut [u8]) {
        for (field, bytes) in self.fields.iter().zip(wire.chunks_exact_mut(8)) {
            bytes.copy_from_slice(&field.to_be_bytes());
        }
    }

    fn decode(wire: &[u8]) -> Option<ForeignHeader> {
        let mut fields = [0.0; 3];
        for (i, field) in fields.iter_mut().enumerate() {
            let bytes = wire.get(8 * i..8 * i + 8)?;
            *field = f64::from_be_bytes(bytes.try_into().ok()?);
        }
        // A number that is none would not be equal to itself.
        fields.iter().all(|field| !field.is_nan()).then_some(ForeignHeader { fields })
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        for (name, field) in ["h_0", "h_1", "h_2"].into_iter().zip(self.fields) {
            sink(name, field);
        }
    }

    fn wrap(self) -> AnyHeader {
        AnyHeader::Foreign(self)
    }

    fn open(any: &mut AnyHeader) -> Option<&mut ForeignHeader> {
        match any {
            AnyHeader::Foreign(header) => Some(header),
            _ => None,
        }
    }
}

/// What a sender wants until it is called again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wishes {
    /// Congestion window [packets].
    pub cwnd: f64,
    /// As [`Sender::next_timer`].
    pub timer: Time,
    /// As [`Sender::pacing`].
    pub pacing: Option<Rate>,
}

/// A new sender of a prototype.
#[derive(Clone, Copy, Debug)]
pub struct Hosted {
    /// Its number with the host.
    pub object: u32,
    /// What it wants at first.
    pub wishes: Wishes,
    /// How it uses the ECN bits.
    pub ecn: EcnUse,
    /// Does it write headers, so that it is called for each departing packet?
    pub writes: bool,
}

/// A new router of a prototype.
#[derive(Clone, Copy, Debug)]
pub struct HostedRouter {
    /// Its number with the host.
    pub object: u32,
    /// When it wants its timer.
    pub timer: Time,
    /// Is it called for departures?
    pub departures: bool,
}

/// Where prototypes live. Objects are named by numbers that the host gives out.
pub trait Host: Sync + Debug {
    /// A sender of this class.
    fn sender(&self, class: &'static str, context: &SenderContext) -> Hosted;
    /// As [`Sender::on_send`].
    fn on_send(&self, object: u32, segment: &Departing) -> (Wishes, ForeignHeader);
    /// As [`Sender::on_ack`].
    fn on_ack(&self, object: u32, ack: &Ack<ForeignHeader>) -> Wishes;
    /// As [`Sender::on_loss`].
    fn on_loss(&self, object: u32, loss: &Loss) -> Wishes;
    /// As [`Sender::on_timer`]; the timer it wishes for is later than now, or the clock stood still.
    fn on_timer(&self, object: u32, now: Time) -> Wishes;
    /// A router of this class.
    fn router(&self, class: &'static str, context: &RouterContext) -> HostedRouter;
    /// As [`Router::on_arrival`].
    fn on_arrival(
        &self,
        object: u32,
        now: Time,
        packet: Passing<'_, ForeignHeader>,
        backlog: Backlog,
    ) -> Verdict;
    /// As [`Router::on_departure`].
    fn on_departure(
        &self,
        object: u32,
        now: Time,
        packet: Passing<'_, ForeignHeader>,
        backlog: Backlog,
    );
    /// As [`Router::on_timer`]; gives the next time, later than now.
    fn on_router_timer(&self, object: u32, now: Time, backlog: Backlog) -> Time;
    /// As [`Router::on_capacity`].
    fn on_capacity(&self, object: u32, now: Time, capacity: Rate);
    /// A copy of an object.
    fn duplicate(&self, object: u32) -> u32;
    /// Nobody will ask for it again.
    fn release(&self, object: u32);
}

/// The host of programs that have none; a scenario with prototypes must not reach it.
#[derive(Debug)]
pub struct Nobody;

impl Host for Nobody {
    fn sender(&self, class: &'static str, _: &SenderContext) -> Hosted {
        panic!("this program runs no prototypes such as {class:?}")
    }
    fn on_send(&self, _: u32, _: &Departing) -> (Wishes, ForeignHeader) {
        unreachable!("nobody has objects")
    }
    fn on_ack(&self, _: u32, _: &Ack<ForeignHeader>) -> Wishes {
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
    fn on_arrival(&self, _: u32, _: Time, _: Passing<'_, ForeignHeader>, _: Backlog) -> Verdict {
        unreachable!("nobody has objects")
    }
    fn on_departure(&self, _: u32, _: Time, _: Passing<'_, ForeignHeader>, _: Backlog) {
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
    type Header = ForeignHeader;
    type Receiver = Echo<ForeignHeader>;

    const VARIABLES: &'static [Variable] = &[Variable::new("cwnd", "pkts", "congestion window")];

    fn new(params: &ForeignParams, context: &SenderContext) -> ForeignSender {
        let host = context.host;
        ForeignSender { host, hosted: host.sender(params.code.0, context) }
    }

    fn ecn(&self) -> EcnUse {
        self.hosted.ecn
    }

    fn on_send(&mut self, segment: &Departing) -> ForeignHeader {
        if !self.hosted.writes {
            return ForeignHeader::default();
        }
        let (wishes, header) = self.host.on_send(self.hosted.object, segment);
        self.hosted.wishes = wishes;
        header
    }

    fn on_ack(&mut self, ack: &Ack<ForeignHeader>) {
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
    type Header = ForeignHeader;

    fn new(params: &ForeignParams, context: &RouterContext) -> ForeignRouter {
        let host = context.host;
        ForeignRouter { host, hosted: host.router(params.code.0, context) }
    }

    fn on_arrival(
        &mut self,
        now: Time,
        packet: Passing<'_, ForeignHeader>,
        backlog: Backlog,
    ) -> Verdict {
        self.host.on_arrival(self.hosted.object, now, packet, backlog)
    }

    fn on_departure(&mut self, now: Time, packet: Passing<'_, ForeignHeader>, backlog: Backlog) {
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

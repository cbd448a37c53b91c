//! Senders whose state lies apart from their flow's.
//!
//! The flows of a run lie in one array, each as large as the largest sender. The few large ones are
//! kept on the heap, so that the others stay small; it is the one allocation of a flow's start.

use alloc::boxed::Box;
use core::fmt;

use units::{Rate, Time};

use crate::roles::{Ack, CeAcks, Departing, EcnUse, Idle, Loss, Sender, SenderContext, Variable};

/// A sender on the heap.
#[derive(Clone, Debug)]
pub struct Boxed<S>(Box<S>);

impl<S: Sender> Sender for Boxed<S> {
    type Params = S::Params;
    type Header = S::Header;
    type Receiver = S::Receiver;

    const VARIABLES: &'static [Variable] = S::VARIABLES;
    const OPEN_LOOP: bool = S::OPEN_LOOP;
    const REDUCES: bool = S::REDUCES;
    const STEADY: bool = S::STEADY;
    const STATE_BYTES: usize = size_of::<Self>() + S::STATE_BYTES;

    fn new(params: &S::Params, context: &SenderContext) -> Boxed<S> {
        Boxed(Box::new(S::new(params, context)))
    }
    fn receiver(params: &S::Params, context: &SenderContext) -> S::Receiver {
        S::receiver(params, context)
    }
    fn first_byte(&self) -> u32 {
        self.0.first_byte()
    }
    fn ecn(&self) -> EcnUse {
        self.0.ecn()
    }
    fn counts_marks(&self) -> bool {
        self.0.counts_marks()
    }
    fn ce_acks(&self) -> CeAcks {
        self.0.ce_acks()
    }
    fn carries(&mut self, flows: u32) {
        self.0.carries(flows);
    }
    #[inline]
    fn on_send(&mut self, segment: &Departing) -> S::Header {
        self.0.on_send(segment)
    }
    #[inline]
    fn on_ack(&mut self, ack: &Ack<S::Header>) {
        self.0.on_ack(ack);
    }
    fn on_loss(&mut self, loss: &Loss) {
        self.0.on_loss(loss);
    }
    fn on_undo(&mut self, before: &Self) {
        self.0.on_undo(&before.0);
    }
    fn on_idle(&mut self, idle: &Idle) {
        self.0.on_idle(idle);
    }
    #[inline]
    fn next_timer(&self) -> Time {
        self.0.next_timer()
    }
    fn on_timer(&mut self, now: Time) {
        self.0.on_timer(now);
    }
    #[inline]
    fn cwnd(&self) -> f64 {
        self.0.cwnd()
    }
    fn paces(&self) -> bool {
        self.0.paces()
    }

    #[inline]
    fn pacing(&self) -> Option<Rate> {
        self.0.pacing()
    }
    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        self.0.probe(sink);
    }
    fn describe(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        self.0.describe(out)
    }
}

//! Drop from front. Lakshman, Neidhardt, Ott, "The drop from front strategy in TCP and in TCP over
//! ATM", INFOCOM 1996: first in, first out; a packet that finds the buffer full is let in, and
//! packets at the front of the queue are dropped until it fits. The sender of what is dropped hears
//! of it a queueing delay earlier than with drop-tail.
//!
//! Deviations: D1: a packet larger than the whole buffer is dropped itself, and with it those that
//! made room in vain.

use crate::classes::{Overflow, Plan, Scheduler};
use crate::roles::{Router, RouterContext};

params! {
    /// Drop from front has no parameters: the limit belongs to the buffer.
    pub struct DropFrontParams {}
}

/// The router's part.
#[derive(Clone, Debug)]
pub struct DropFront;

impl Router for DropFront {
    type Params = DropFrontParams;
    type Header = ();
    fn new(_: &DropFrontParams, _: &RouterContext) -> DropFront {
        DropFront
    }
    fn retune(&mut self, _: &DropFrontParams, _: &RouterContext) {}
}

impl Scheduler for DropFront {
    type Cell = ();
    fn plan(_: &DropFrontParams) -> Plan {
        Plan { overflow: Overflow::Front, ..Plan::FIFO }
    }
}

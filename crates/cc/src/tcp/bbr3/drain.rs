//! Drain (section 5.3.2).

use super::{Bbr3, State};
use crate::roles::Ack;
use crate::tcp::delivery::Stamp;

/// Rounds of Drain, at most.
const DRAIN_ROUNDS: u32 = 3;

impl Bbr3 {
    /// EnterDrain.
    pub(super) fn start_drain(&mut self) {
        (self.state, self.drain_start_round) = (State::Drain, self.round_count);
    }

    /// CheckDrainDone.
    pub(super) fn check_drain(&mut self, ack: &Ack<Stamp>) {
        if self.state != State::Drain {
            return;
        }
        let rounds = self.round_count.wrapping_sub(self.drain_start_round);
        if ack.in_flight <= self.inflight(self.bw, 1.0) || rounds > DRAIN_ROUNDS {
            self.start_down(ack.now);
        }
    }
}

//! What a recovery for nothing changed is taken back (sections 2.15 and 5.5.11).
//!
//! A recovery was spurious if the first ACK that moves on after its first retransmission is for a
//! packet that was sent before that: the Eifel detection algorithm (RFC 3522), with what the
//! sender remembers of each packet in place of a timestamp (D4). QUIC would know it by the packet's
//! number.

use units::Time;

use super::{Bbr3, State};
use crate::roles::{Ack, Departing};
use crate::tcp::delivery::Stamp;
use crate::tcp::model::Mending;

/// What to go back to, and what is watched to find out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// BBR.undo_state: the state that losses ended, Startup or UP.
    pub state: Option<State>,
    /// BBR.undo_bw_shortterm [packets/s].
    pub bw_shortterm: f64,
    /// BBR.undo_inflight_shortterm and BBR.undo_inflight_longterm [packets].
    pub inflight_shortterm: u32,
    pub inflight_longterm: u32,
    /// Recoveries that were undone, for probes.
    pub undone: u32,
    /// Is there a recovery of which that is not yet known?
    pub watching: bool,
    /// When the first retransmission of the recovery that is watched left.
    retransmitted: Option<Time>,
}

impl Undo {
    /// A recovery begins: its next retransmission is its first.
    pub fn watch(&mut self) {
        (self.watching, self.retransmitted) = (true, None);
    }

    /// A packet leaves.
    pub fn on_send(&mut self, segment: &Departing) {
        if self.watching && segment.retransmission && self.retransmitted.is_none() {
            self.retransmitted = Some(segment.now);
        }
    }

    /// Does this ACK show that nothing was lost? It is asked once per recovery, of the first ACK
    /// that moves on.
    pub fn is_spurious(&mut self, ack: &Ack<Stamp>, state: Mending) -> bool {
        if !self.watching || ack.acked == 0 {
            return false;
        }
        let Some(at) = self.retransmitted else {
            // The recovery is over before anything was sent again.
            self.watching = state != Mending::Open;
            return false;
        };
        self.watching = false;
        ack.header.is_known() && ack.header.sent() < at
    }
}

impl Bbr3 {
    /// SaveStateUponLoss.
    pub(super) fn save_state(&mut self) {
        self.save_cwnd();
        self.undo.state = None;
        self.undo.bw_shortterm = self.bounds.bw_shortterm;
        self.undo.inflight_shortterm = self.bounds.inflight_shortterm;
        self.undo.inflight_longterm = self.bounds.inflight_longterm;
    }

    /// HandleSpuriousLossDetection.
    pub(super) fn undo_loss(&mut self) {
        self.restore_cwnd();
        self.bounds.loss_in_round = false;
        self.pipe.reset(0.0);
        let (bounds, undo) = (&mut self.bounds, &mut self.undo);
        undo.undone = undo.undone.saturating_add(1);
        bounds.bw_shortterm = bounds.bw_shortterm.max(undo.bw_shortterm);
        bounds.inflight_shortterm = bounds.inflight_shortterm.max(undo.inflight_shortterm);
        bounds.inflight_longterm = bounds.inflight_longterm.max(undo.inflight_longterm);
        match undo.state.take() {
            Some(State::Startup) if self.state != State::Startup => {
                self.pipe.full_bw_reached = false;
                if self.state != State::ProbeRtt {
                    self.state = State::Startup;
                }
            }
            Some(State::Up) if self.state != State::Up && self.state != State::ProbeRtt => {
                self.start_refill();
            }
            _ => {}
        }
    }
}

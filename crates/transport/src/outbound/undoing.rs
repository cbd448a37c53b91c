//! When the sending half with RACK takes a reduction of the window back ([`crate::undo`]).

use units::Time;

use super::{Outbound, Phase};
use crate::exchange::AckIn;
use crate::sack::Range;

/// What is to be undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Undone {
    /// The reduction.
    Window,
    /// That, and what was found lost is in flight again.
    Losses,
}

impl Outbound {
    /// Was the loss reported last one whose answer may be taken back? Then the controller's state
    /// before it is to be kept. True once.
    pub fn take_undo_point(&mut self) -> bool {
        let Some(timed) = &mut self.timed else { return false };
        let keeps = timed.undo.as_mut().is_some_and(|undo| undo.take_keep());
        // A controller that paces itself through a recovery goes its own way out of it as well.
        keeps && timed.spread
    }

    /// Has the ACK told that there was no loss, so that the controller goes back to what was kept?
    /// True once.
    pub fn take_undone(&mut self) -> bool {
        let undo = self.timed.as_mut().and_then(|timed| timed.undo.as_mut());
        undo.is_some_and(|undo| undo.take_back())
    }

    /// Times that a reduction was taken back.
    pub fn undone(&self) -> u32 {
        self.timed.as_ref().map_or(0, |timed| timed.undone)
    }

    /// A loss makes the window smaller, or a timeout does; `again`: without an ACK of new data
    /// since the timeout before. A timeout in fast recovery can be undone with that (as Linux's
    /// `tcp_enter_loss` has it), and F-RTO is not for it.
    pub(super) fn begin_undoable(&mut self, timeout: bool, again: bool) {
        let (una, phase) = (self.una, self.phase);
        let Some(timed) = &mut self.timed else { return };
        let resent = timed.rack.resent();
        let Some(undo) = &mut timed.undo else { return };
        let anew = phase == Phase::Timed || phase == Phase::Timeout && !again;
        if anew {
            undo.begin(una, resent);
        }
        undo.frto = timeout && (phase == Phase::Timed || again);
        undo.holds = false;
    }

    /// The ACK has told of marks by another way than ECE ([`AckIn::ece`]): congestion confirms the
    /// last reduction, whatever became of the segment.
    pub fn on_marks(&mut self) {
        self.forget_undo();
    }

    /// A reduction that stays.
    pub(super) fn forget_undo(&mut self) {
        if let Some(undo) = self.timed.as_mut().and_then(|timed| timed.undo.as_mut()) {
            undo.forget();
        }
    }

    /// Does an ACK tell that there was no loss? `acked` segments more are acknowledged by its
    /// cumulative number, `twice` is what arrived twice. Returns how many segments stay lost after
    /// an undo: they are reason for a recovery of their own (as Linux's `tcp_fastretrans_alert`
    /// goes into one again while its `lost_out` is not zero).
    pub(super) fn look_for_undo(
        &mut self,
        now: Time,
        ack: &AckIn<'_>,
        acked: u64,
        twice: Option<Range>,
    ) -> u64 {
        let (phase, nxt, more) = (self.phase, self.nxt, self.nxt < self.limit);
        let over = self.una >= self.recover;
        let Some(timed) = &mut self.timed else { return 0 };
        let Some(undo) = &mut timed.undo else { return 0 };
        if let Some(block) = twice {
            undo.on_dsack(block);
        }
        let sent = ack.rtt.map(|rtt| Time(now.0.saturating_sub(rtt.0)));
        let moved = acked > 0;
        let (needless, delayed) = (undo.needless(), moved && undo.delayed(sent));
        undo.holds = false;
        let undone = match phase {
            Phase::Fast if over => (needless || delayed).then_some(Undone::Window),
            Phase::Fast if delayed && timed.rack.resent() == 0 => Some(Undone::Losses),
            Phase::Timeout if moved && (needless || delayed) => Some(Undone::Losses),
            Phase::Timeout if undo.frto => {
                let seen = timed.rack.seen();
                if seen.original < self.recover {
                    undo.pending().then_some(Undone::Losses)
                } else {
                    if nxt > self.recover {
                        // Step 3a: new data is out, and what follows the first ACK is no ACK of it.
                        undo.frto = moved && !seen.sacked;
                    } else if moved && !over {
                        // Step 2b: new data.
                        self.recover = nxt;
                        (undo.frto, undo.holds) = (more, more);
                    }
                    None
                }
            }
            Phase::Timeout => None,
            Phase::Fast | Phase::Timed | Phase::Open => needless.then_some(Undone::Window),
        };
        if let Some(undone) = undone {
            return self.take_back(undone);
        }
        if over && phase != Phase::Timed {
            undo.close();
        }
        0
    }

    /// Returns how many segments stay lost, sent again or not.
    fn take_back(&mut self, undone: Undone) -> u64 {
        let Some(timed) = &mut self.timed else { return 0 };
        let left = match undone {
            Undone::Window => timed.losses().0,
            Undone::Losses => {
                timed.rack.restore();
                0
            }
        };
        timed.prr = None;
        timed.undone += 1;
        if let Some(undo) = &mut timed.undo {
            undo.undo();
        }
        self.phase = Phase::Timed;
        (self.force, self.cwr, self.reduced) = (false, false, 0);
        left
    }
}

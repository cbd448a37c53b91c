//! What tells that a loss was none: the segment, or its acknowledgement, was only late. DSACK (RFC
//! 3708), timestamps (Eifel, RFC 3522) and F-RTO in its form for SACK (RFC 5682, section 3),
//! together as Linux has them.
//!
//! - Timestamps: the ACK that moves the cumulative number answers a segment that had left before
//!   the first retransmission did.
//! - DSACK: all that was sent again has arrived twice. It is counted, not matched (Linux's
//!   `undo_retrans`); one retransmission that was lost, or whose DSACK was, leaves the reduction.
//! - F-RTO: after a timeout the first segment goes out again, then new data. What was never sent
//!   again arrives: nothing had been lost. A duplicate ACK says that something had.

use units::Time;

use crate::Evidence;
use crate::sack::Range;

/// What may be undone, and what speaks for it.
#[derive(Clone, Debug)]
pub(crate) struct Undo {
    evidence: Evidence,
    /// `una` at the reduction (undo_marker); `None`: there is nothing to undo.
    marker: Option<u64>,
    /// Retransmissions, less those that have arrived twice (undo_retrans); `None` before the first.
    needed: Option<u64>,
    /// When the first of them left (retrans_stamp).
    first: Time,
    /// F-RTO goes on.
    pub(crate) frto: bool,
    /// It sends new data, and not what is lost.
    pub(crate) holds: bool,
    /// The controller is to keep its state, or to go back to it.
    keep: bool,
    back: bool,
}

impl Undo {
    pub(crate) fn new(evidence: Evidence) -> Undo {
        Undo {
            evidence,
            marker: None,
            needed: None,
            first: Time::NEVER,
            frto: false,
            holds: false,
            keep: false,
            back: false,
        }
    }

    /// The window is about to be reduced, with so many retransmissions out.
    pub(crate) fn begin(&mut self, una: u64, resent: u64) {
        (self.marker, self.keep) = (Some(una), true);
        self.needed = (resent > 0).then_some(resent);
        if resent == 0 {
            self.first = Time::NEVER;
        }
    }

    /// What was reduced stays so: the mark of a router, or a probe that has repaired a loss.
    pub(crate) fn forget(&mut self) {
        self.marker = None;
    }

    /// A recovery is over. A DSACK may yet come.
    pub(crate) fn close(&mut self) {
        (self.first, self.frto, self.holds) = (Time::NEVER, false, false);
    }

    /// A segment goes out again.
    pub(crate) fn on_retransmission(&mut self, now: Time) {
        self.first = self.first.min(now);
        self.needed = Some(self.needed.map_or(1, |needed| needed + 1));
    }

    /// A block has arrived twice.
    pub(crate) fn on_dsack(&mut self, block: Range) {
        if let (Some(marker), Some(needed)) = (self.marker, &mut self.needed)
            && block.end > marker
        {
            *needed = needed.saturating_sub(block.end - block.start);
        }
    }

    /// Has all that was sent again arrived twice?
    pub(crate) fn needless(&self) -> bool {
        self.marker.is_some() && self.needed == Some(0)
    }

    /// Does an ACK of new data answer a segment, sent then, that had left before the first
    /// retransmission?
    pub(crate) fn delayed(&self, sent: Option<Time>) -> bool {
        self.evidence == Evidence::Timestamps
            && self.marker.is_some()
            && self.first != Time::NEVER
            && sent.is_some_and(|sent| sent < self.first)
    }

    /// Is there anything that F-RTO could undo?
    pub(crate) fn pending(&self) -> bool {
        self.marker.is_some()
    }

    /// It was no loss.
    pub(crate) fn undo(&mut self) {
        self.close();
        (self.marker, self.needed, self.back) = (None, None, true);
    }

    pub(crate) fn take_keep(&mut self) -> bool {
        core::mem::take(&mut self.keep)
    }

    pub(crate) fn take_back(&mut self) -> bool {
        core::mem::take(&mut self.back)
    }
}

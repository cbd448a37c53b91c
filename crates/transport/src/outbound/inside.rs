//! What a log shows of the sending half, and nobody else asks for: no packet pays for it.

use units::Span;

use super::{Outbound, Phase};

/// Where loss recovery stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mending {
    /// Nothing is being mended.
    Nothing,
    /// Fast recovery.
    Fast,
    /// What was sent before a timeout is sent again.
    Timeout,
}

impl Outbound {
    /// Where loss recovery stands.
    pub fn mending(&self) -> Mending {
        match self.phase {
            Phase::Open | Phase::Timed => Mending::Nothing,
            Phase::Fast => Mending::Fast,
            Phase::Timeout => Mending::Timeout,
        }
    }

    /// RTTVAR (RFC 6298).
    pub fn rtt_variation(&self) -> Option<Span> {
        self.rto.rtt_variation()
    }

    /// Are losses found by time (RFC 8985)?
    pub fn finds_by_time(&self) -> bool {
        self.timed.is_some()
    }

    /// Shows the outstanding segments that count as lost and were not sent again since, each once,
    /// in no order. Where nothing is ever sent again there are none.
    pub fn lost_segments(&self, show: &mut impl FnMut(u64)) {
        if let Some(timed) = &self.timed {
            return timed.rack.lost_segments(show);
        }
        let selective = self.recovery.selective();
        if self.phase == Phase::Timeout || selective {
            if let Some(board) = &self.board {
                board.lost_segments(self.una, show);
            }
        } else if self.phase == Phase::Fast && self.force {
            show(self.una);
        }
    }

    /// Was this segment, which has just been sent again, sent because it is lost? Not if it is a
    /// probe, or what RFC 6675's rules (3) and (4) send when nothing lost is left.
    pub fn resent_as_lost(&self, seq: u64) -> bool {
        if let Some(timed) = &self.timed {
            return !timed.probed(seq);
        }
        let board = self.board.as_ref().filter(|_| self.recovery.selective());
        board.is_none_or(|board| board.is_lost(seq))
    }

    /// Is this segment, which has just been sent again, the probe of RFC 8985, section 7?
    pub fn resent_as_probe(&self, seq: u64) -> bool {
        self.timed.as_ref().is_some_and(|timed| timed.probed(seq))
    }
}

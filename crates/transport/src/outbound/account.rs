//! What a socket would tell of a sender, in the terms of Linux's TCP_INFO.

use super::{Outbound, Phase};

/// What the sender is doing (Linux's `enum tcp_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Nothing is amiss.
    Open,
    /// There are duplicate ACKs or SACK blocks, and no loss is found yet.
    Disorder,
    /// The window was reduced for another reason than a fast retransmit or the timer, and not all
    /// that was out then is acknowledged.
    Reduced,
    /// Fast recovery.
    Recovery,
    /// Recovery after a timeout.
    Loss,
}

/// A sender's account, in segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// What it is doing.
    pub stage: Stage,
    /// What may be in flight: the controller's window, or in a recovery by proportional rate
    /// reduction what is in flight and what of the last ACK's allowance is left.
    pub window: u64,
    /// Segments known to have arrived beyond the cumulative number; without SACK one for each
    /// duplicate ACK.
    pub sacked: u64,
    /// Segments found lost that are not known to have arrived since, sent again or not.
    pub lost: u64,
    /// Of the segments in flight those that were sent again.
    pub again: u64,
    /// With RACK: how many segments it is at most from one that came late, and was sent once, to
    /// the highest that had come before it, both counted; 0 if none came late, or without RACK.
    pub reordering: u64,
    /// With RACK: ACKs that brought one that came late.
    pub late: u32,
}

impl Outbound {
    /// The account of a sender whose controller has a window of so many segments. It looks at every
    /// outstanding segment.
    pub fn account(&self, window: u64) -> Account {
        let sacked = match (&self.timed, &self.board) {
            (Some(timed), _) => timed.rack.sacked(),
            (None, Some(board)) => board.sacked() + u64::from(self.dupacks),
            (None, None) => u64::from(self.dupacks),
        };
        let (lost, again) = self.losses();
        let timed = self.timed.as_ref();
        let window = self.allowed(window).unwrap_or(window);
        let reordering = timed.map_or(0, |timed| timed.rack.extent());
        let late = timed.map_or(0, |timed| timed.rack.late());
        Account { stage: self.stage(sacked), window, sacked, lost, again, reordering, late }
    }

    fn stage(&self, sacked: u64) -> Stage {
        match self.phase {
            Phase::Timeout => Stage::Loss,
            Phase::Fast => Stage::Recovery,
            Phase::Open | Phase::Timed if self.una < self.reduced => Stage::Reduced,
            Phase::Open | Phase::Timed if sacked > 0 => Stage::Disorder,
            Phase::Open | Phase::Timed => Stage::Open,
        }
    }

    /// [`Account::lost`] and [`Account::again`].
    fn losses(&self) -> (u64, u64) {
        if let Some(timed) = &self.timed {
            return timed.losses();
        }
        let first = u64::from(self.phase == Phase::Fast && !self.recovery.selective());
        match &self.board {
            Some(board) => (board.lost().max(first), board.again()),
            None => (first, first - u64::from(first > 0 && self.force)),
        }
    }
}

//! RFC 6675 read aloud: sets and loops, one step per sentence, with segments for octets. Shares no
//! code with the crate; after a timeout it resends in order what is not SACKed (section 5.1).

use std::collections::BTreeSet;

use clearpipe_transport::Range;

/// A sender's scoreboard and its state of recovery.
pub struct Naive {
    pub una: u64,
    pub nxt: u64,
    pub limit: u64,
    pub sacked: BTreeSet<u64>,
    pub in_recovery: bool,
    dup_thresh: usize,
    limited_transmit: bool,
    dupacks: usize,
    recovery_point: u64,
    high_rxt: Option<u64>,
    rescue_rxt: u64,
    /// After a timeout: the recovery point, and the next segment to send again.
    timed_out: Option<(u64, u64)>,
}

impl Naive {
    pub fn new(limit: u64, dup_thresh: u32, limited_transmit: bool) -> Naive {
        Naive {
            una: 0,
            nxt: 0,
            limit,
            sacked: BTreeSet::new(),
            in_recovery: false,
            dup_thresh: dup_thresh as usize,
            limited_transmit,
            dupacks: 0,
            recovery_point: 0,
            high_rxt: None,
            rescue_rxt: 0,
            timed_out: None,
        }
    }

    /// "at least DupThresh discontiguous SACKed sequences above, or more than (DupThresh - 1) *
    /// SMSS SACKed above"; section 5.1 for what a timeout declared lost.
    pub fn is_lost(&self, seq: u64) -> bool {
        if let Some((point, _)) = self.timed_out {
            return seq < point;
        }
        let above: Vec<u64> = self.sacked.range(seq + 1..).copied().collect();
        let sequences = above.iter().filter(|&&s| !self.sacked.contains(&(s - 1))).count();
        sequences >= self.dup_thresh || above.len() > self.dup_thresh - 1
    }

    /// SetPipe (): octets from HighACK to HighData that are not SACKed.
    pub fn pipe(&self) -> u64 {
        let mut pipe = 0;
        for s1 in (self.una..self.nxt).filter(|s| !self.sacked.contains(s)) {
            // (a)
            pipe += u64::from(!self.is_lost(s1));
            // (b)
            pipe += u64::from(match self.timed_out {
                Some((point, next)) => s1 < point && s1 < next,
                None => self.in_recovery && self.high_rxt.is_some_and(|high| s1 <= high),
            });
        }
        pipe
    }

    /// Takes an ACK; true when loss recovery begins with it.
    pub fn on_ack(&mut self, cumulative: u64, blocks: &[Range]) -> bool {
        if cumulative > self.una {
            self.una = cumulative;
            self.dupacks = 0;
            self.sacked.retain(|&s| s >= cumulative);
        }
        let before = self.sacked.len();
        for block in blocks {
            self.sacked.extend((block.start..block.end).filter(|&s| s >= self.una));
        }
        let duplicate = self.sacked.len() > before;
        if self.timed_out.is_some_and(|(point, _)| self.una >= point) {
            self.timed_out = None;
        }
        if self.in_recovery && self.una >= self.recovery_point {
            self.in_recovery = false;
        }
        if self.in_recovery || self.timed_out.is_some() {
            return false;
        }
        self.dupacks += usize::from(duplicate);
        // (1) is contained in (2); and (2) is looked at for any ACK, not for duplicates only.
        assert!(self.dupacks < self.dup_thresh || self.is_lost(self.una));
        if !self.is_lost(self.una) {
            return false;
        }
        // (4.1), (4.3)
        self.in_recovery = true;
        self.recovery_point = self.nxt;
        self.high_rxt = Some(self.una);
        self.rescue_rxt = self.una;
        true
    }

    pub fn on_timeout(&mut self) {
        self.in_recovery = false;
        self.timed_out = Some((self.nxt, self.una));
    }

    /// The segment that may go out next, now sent.
    pub fn next(&mut self, window: u64) -> Option<u64> {
        let seq = match self.timed_out {
            Some(_) => self.next_after_timeout(window),
            None if self.in_recovery => (self.pipe() < window).then(|| self.next_seg()).flatten(),
            None => {
                let flight = if self.limited_transmit { self.pipe() } else { self.nxt - self.una };
                (flight < window && self.nxt < self.limit).then_some(self.nxt)
            }
        };
        if seq == Some(self.nxt) {
            self.nxt += 1;
        }
        seq
    }

    /// The first segment after a timeout, whatever the window.
    pub fn resend_first(&mut self) -> u64 {
        let (point, _) = self.timed_out.expect("after a timeout");
        self.timed_out = Some((point, self.una + 1));
        self.una
    }

    fn next_after_timeout(&mut self, window: u64) -> Option<u64> {
        let (point, next) = self.timed_out?;
        if self.pipe() >= window {
            return None;
        }
        let hole = (next.max(self.una)..point).find(|s| !self.sacked.contains(s));
        if let Some(hole) = hole {
            self.timed_out = Some((point, hole + 1));
            return Some(hole);
        }
        (self.nxt < self.limit).then_some(self.nxt)
    }

    /// NextSeg ().
    fn next_seg(&mut self) -> Option<u64> {
        let highest = self.sacked.last().copied().unwrap_or(0);
        let after_rxt = (self.una..self.nxt)
            .find(|s| !self.sacked.contains(s) && self.high_rxt.is_none_or(|high| *s > high));
        let candidate = after_rxt.filter(|&s| s < highest);
        if let Some(s2) = candidate.filter(|&s| self.is_lost(s)) {
            self.high_rxt = Some(s2);
            return Some(s2);
        }
        if self.nxt < self.limit {
            return Some(self.nxt);
        }
        if let Some(s3) = candidate {
            self.high_rxt = Some(s3);
            return Some(s3);
        }
        // (4): HighACK, the highest segment acknowledged, is una - 1.
        if self.una > self.rescue_rxt + 1 {
            self.rescue_rxt = self.recovery_point - 1;
            return (self.una..self.nxt).rfind(|s| !self.sacked.contains(s));
        }
        None
    }
}

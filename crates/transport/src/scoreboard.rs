//! What is known of each outstanding segment: RFC 6675's scoreboard, with its functions as
//! counters.
//!
//! RFC 6675 defines `SetPipe` and `IsLost` by a walk over all outstanding data. Counted in
//! segments, a segment is lost when `dup_thresh` segments above it are SACKed (a discontiguous
//! sequence holds at least one segment, so the rule of bytes subsumes the rule of sequences): lost
//! are all holes below the `dup_thresh`-th highest SACKed segment, the *edge*. The edge only rises,
//! within one recovery `HighRxt` only rises, and so
//!
//! ```text
//! pipe = holes in una..nxt  -  holes in una..edge  +  holes in una..=HighRxt
//!        not SACKed            lost                   retransmitted
//! ```
//!
//! takes three counters, and each SACKed segment is passed once by the edge and once by `HighRxt`.
//! A timeout puts the edge above all that was sent and `HighRxt` back to the start: go-back-N over
//! the holes is the same arithmetic, for Reno and NewReno with nothing ever SACKed.

use std::collections::VecDeque;

use crate::ring::Ring;
use crate::sack::{Range, SackBlocks};

/// Everything about outstanding segments besides `una` and `nxt`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    /// The SACKed segments.
    ring: Ring,
    /// Blocks that are in `ring` already: most of the next ACK's blocks are among them.
    seen: SackBlocks,
    /// Holes below are lost.
    edge: u64,
    /// HighRxt + 1, moved on over SACKed segments to the next hole.
    next_retransmit: u64,
    /// One past the highest SACKed segment.
    sack_end: u64,
    /// RescueRxt + 1.
    rescue: u64,
    /// Segments SACKed.
    sacked: u64,
    /// Of them, those at or above `edge`.
    above: u64,
    /// Holes below `edge`.
    lost: u64,
    /// Holes below `next_retransmit`.
    resent: u64,
    /// [`cc::registry::Recovery::finds_lost_retransmissions`]: retransmissions in the order in
    /// which they went out, each with `nxt` at that moment: what has this number or a higher one
    /// was sent after it.
    watched: VecDeque<(u64, u64)>,
    /// Holes below `next_retransmit` whose last retransmission is lost.
    again: VecDeque<u64>,
}

impl Scoreboard {
    /// As new, in the memory it has.
    pub(crate) fn clear(&mut self) {
        let mut ring = core::mem::take(&mut self.ring);
        ring.clear();
        self.forget_retransmissions(0);
        let (watched, again) =
            (core::mem::take(&mut self.watched), core::mem::take(&mut self.again));
        *self = Scoreboard { ring, watched, again, ..Scoreboard::default() };
    }

    /// Segments SACKed.
    pub(crate) fn sacked(&self) -> u64 {
        self.sacked
    }

    /// Segments lost and not SACKed.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// RFC 6675's IsLost, for a hole.
    pub(crate) fn is_lost(&self, seq: u64) -> bool {
        seq < self.edge
    }

    /// RFC 6675's SetPipe.
    pub(crate) fn pipe(&self, una: u64, nxt: u64) -> u64 {
        nxt - una - self.sacked - self.lost + self.resent - self.again.len() as u64
    }

    /// Segments sent again that are in flight as far as is known.
    pub(crate) fn again(&self) -> u64 {
        self.resent - self.again.len() as u64
    }

    /// The next segment to retransmit that is lost: NextSeg (1).
    pub(crate) fn lost_hole(&self) -> bool {
        self.next_retransmit < self.edge
    }

    /// A hole below a SACKed segment, lost or not: NextSeg (3).
    pub(crate) fn sacked_hole(&self) -> bool {
        self.next_retransmit < self.sack_end
    }

    /// Shows the segments that are lost and not yet sent again: from the next retransmission on the
    /// holes below the edge, and those whose retransmission is lost.
    pub(crate) fn lost_segments(&self, una: u64, show: &mut impl FnMut(u64)) {
        let mut at = self.next_retransmit.max(una);
        while at < self.edge {
            // Nothing is SACKed from `sack_end` on.
            if self.sacked > 0 && at < self.sack_end {
                at = self.ring.next_hole(at, self.sack_end);
            }
            if at < self.edge {
                show(at);
            }
            at += 1;
        }
        self.again.iter().copied().filter(|&seq| seq >= una).for_each(show);
    }

    /// May there be a rescue retransmission: NextSeg (4)?
    pub(crate) fn may_rescue(&self, una: u64) -> bool {
        una > self.rescue
    }

    /// The cumulative number moves from `una` to `to`; returns how many in between were SACKed.
    pub(crate) fn advance(&mut self, una: u64, to: u64) -> u64 {
        let known = match self.sacked {
            0 => 0,
            _ => self.ring.remove(una, to.min(self.sack_end)),
        };
        self.sacked -= known;
        let holes = to - una - known;
        if to >= self.edge {
            (self.edge, self.lost, self.above) = (to, 0, self.sacked);
        } else {
            self.lost -= holes;
        }
        if to >= self.next_retransmit {
            (self.next_retransmit, self.resent) = (to, 0);
        } else {
            self.resent -= holes;
        }
        known
    }

    /// RFC 6675's Update, with the blocks clipped to what is outstanding above `una`; returns the
    /// number of segments that are news.
    pub(crate) fn update(&mut self, una: u64, nxt: u64, blocks: &[Range]) -> u64 {
        self.update_above((una, una + 1), nxt, blocks)
    }

    /// The same where `una` itself may have arrived: what is below it is done with for another
    /// reason ([`cc::registry::Recovery::Dccp`]).
    pub(crate) fn update_from(&mut self, una: u64, nxt: u64, blocks: &[Range]) -> u64 {
        self.update_above((una, una), nxt, blocks)
    }

    /// What is neither SACKed nor lost begins here.
    pub(crate) fn resolved(&self, una: u64) -> u64 {
        let from = self.edge.max(una);
        if self.sacked == 0 { from } else { self.ring.next_hole(from, self.sack_end.max(from)) }
    }

    /// Holes below are lost.
    pub(crate) fn edge(&self) -> u64 {
        self.edge
    }

    #[inline(always)] // the two callers differ in a constant
    fn update_above(&mut self, (una, least): (u64, u64), nxt: u64, blocks: &[Range]) -> u64 {
        // Both may have stayed behind while nothing was missing.
        self.edge = self.edge.max(una);
        self.next_retransmit = self.next_retransmit.max(una);
        let mut news = 0;
        let mut seen = SackBlocks::default();
        for block in blocks {
            let block = Range { start: block.start.max(least), end: block.end.min(nxt) };
            if block.start < block.end {
                // All of an ACK's blocks but the first were in the ACK before, most often.
                let whole = self.seen.covering(block).unwrap_or_else(|| {
                    self.sack_end = self.sack_end.max(block.end);
                    self.ring.reserve(una, self.sack_end);
                    let (fresh, whole) = self.mark(block);
                    news += fresh;
                    whole
                });
                seen.push(whole);
            }
        }
        if !seen.is_empty() {
            self.seen = seen;
        }
        news
    }

    /// Adds a block but for the part that is among the blocks seen before; returns the number of
    /// segments that are news, and the block together with the one seen.
    fn mark(&mut self, block: Range) -> (u64, Range) {
        let (parts, whole) = self.seen.news_of(block);
        let parts = parts.into_iter().filter(|part| part.start < part.end);
        (parts.map(|part| self.insert(part)).sum(), whole)
    }

    /// Raises the edge to the `dup_thresh`-th highest SACKed segment; returns the number of
    /// segments that it makes lost.
    pub(crate) fn raise_edge(&mut self, dup_thresh: u64) -> u64 {
        let before = self.lost;
        while self.above > dup_thresh {
            self.edge_to_member();
            self.edge += 1;
            self.above -= 1;
        }
        if self.above == dup_thresh {
            self.edge_to_member();
        }
        self.lost - before
    }

    /// Moves the retransmissions on to the next hole.
    pub(crate) fn seek_hole(&mut self) {
        if self.sacked > 0 {
            self.next_retransmit = self.ring.next_hole(self.next_retransmit, self.sack_end);
        }
    }

    /// Loss recovery starts: RFC 6675, step (4.3), before the retransmission itself.
    pub(crate) fn start_recovery(&mut self, una: u64) {
        self.forget_retransmissions(una);
        self.rescue = una + 1;
    }

    /// HighRxt = HighACK: RFC 6675, step (3.1). A recovery may have retransmitted beyond its end.
    pub(crate) fn forget_retransmissions(&mut self, una: u64) {
        self.next_retransmit = una;
        self.resent = 0;
        self.watched.clear();
        self.again.clear();
    }

    /// A retransmission goes out whose loss is to be found.
    pub(crate) fn watch(&mut self, seq: u64, nxt: u64) {
        self.watched.push_back((seq, nxt));
    }

    /// A retransmission is lost by the rule for other segments: as many as make a loss that were
    /// sent after it are SACKed, which is when the edge has passed what was next when it went out.
    /// Returns how many are.
    pub(crate) fn find_lost_retransmissions(&mut self, una: u64, dup_thresh: u64) -> u64 {
        let (ring, end) = (&self.ring, self.sack_end);
        let missing =
            |seq: u64| seq >= una && (seq >= end || ring.next_member(seq, seq + 1) != seq);
        self.again.retain(|&seq| missing(seq));
        if self.above < dup_thresh {
            return 0; // the edge is where the timer put it
        }
        let mut lost = 0;
        while let Some(&(seq, nxt)) = self.watched.front() {
            if nxt > self.edge {
                break;
            }
            self.watched.pop_front();
            if missing(seq) {
                self.again.push_back(seq);
                lost += 1;
            }
        }
        lost
    }

    /// Is there a hole whose last retransmission is lost?
    pub(crate) fn any_again(&self) -> bool {
        !self.again.is_empty()
    }

    /// Retransmits the first of them.
    pub(crate) fn retransmit_again(&mut self, nxt: u64) -> Option<u64> {
        let seq = self.again.pop_front()?;
        self.watch(seq, nxt);
        Some(seq)
    }

    /// The timer has run out: everything not SACKed is lost.
    pub(crate) fn start_over(&mut self, una: u64, nxt: u64) {
        self.edge = nxt;
        self.lost = nxt - una - self.sacked;
        self.above = 0;
        self.forget_retransmissions(una);
    }

    /// Retransmits the hole that is next.
    pub(crate) fn retransmit(&mut self) -> u64 {
        let seq = self.next_retransmit;
        self.next_retransmit += 1;
        self.resent += 1;
        self.seek_hole();
        seq
    }

    /// NextSeg (4): the highest outstanding segment that is not SACKed; once per recovery.
    pub(crate) fn rescue(&mut self, una: u64, nxt: u64, recover: u64) -> u64 {
        self.rescue = recover;
        if nxt > self.sack_end {
            return nxt - 1;
        }
        // `una` itself is never SACKed.
        self.ring.last_hole(una, nxt).unwrap_or(una)
    }

    /// Adds segments in pieces that lie on one side of the edge and of the retransmissions.
    fn insert(&mut self, range: Range) -> u64 {
        let cuts =
            [self.edge.min(self.next_retransmit), self.edge.max(self.next_retransmit), u64::MAX];
        let mut start = range.start;
        let mut news = 0;
        for cut in cuts {
            let end = cut.min(range.end);
            if start >= end {
                continue;
            }
            let added = self.ring.insert(start, end);
            if end <= self.edge {
                self.lost -= added;
            } else {
                self.above += added;
            }
            if end <= self.next_retransmit {
                self.resent -= added;
            }
            news += added;
            start = end;
        }
        self.sacked += news;
        news
    }

    fn edge_to_member(&mut self) {
        let member = self.ring.next_member(self.edge, self.sack_end);
        self.lost += member - self.edge;
        self.edge = member;
    }
}

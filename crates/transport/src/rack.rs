//! RACK (RFC 8985, sections 5 and 6): what is known of each outstanding segment, in the order in
//! which they were sent last.
//!
//! A segment is lost when one that was sent after it has arrived and a round trip and the
//! *reordering window* have passed since it went out. That holds for retransmissions as well, which
//! no count of segments above a hole can say.
//!
//! - Segments in flight are on a list by the time they went out last, as section 6.2 advises: a
//!   look for losses walks over what was sent before the latest arrival and is still out, and no
//!   more.
//! - The segments that an ACK delivers are taken in ascending order of number. Step 2 of section
//!   6.2 takes them in the order in which they were sent, which is to say that `RACK.rtt` is that
//!   of the one sent last.
//! - `RACK.min_RTT` is the least of all samples, not of a window of minutes (step 1 leaves that
//!   open).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use units::{Span, Time};

use crate::sack::{Range, SackBlocks};

/// The end of the list.
const NONE: u64 = u64::MAX;

/// Loss recoveries for which a reordering window that DSACK has widened stays so (section 6.2).
const PERSIST: u32 = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    InFlight,
    Sacked,
    /// Lost, and not yet sent again.
    Lost,
}

/// An outstanding segment (section 5.2).
#[derive(Clone, Copy, Debug)]
struct Sent {
    /// Segment.xmit_ts.
    at: Time,
    /// Its neighbours on the list.
    before: u64,
    after: u64,
    state: State,
    /// Segment.retransmitted.
    again: bool,
}

/// What the transport knows besides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub now: Time,
    /// RACK.min_RTT; zero before the first sample.
    pub min_rtt: Span,
    pub srtt: Span,
    /// In fast recovery, or in that after a timeout?
    pub recovering: bool,
    pub dup_thresh: u64,
}

/// The scoreboard by time.
#[derive(Clone, Debug)]
pub(crate) struct Rack {
    una: u64,
    /// From `una` on.
    segments: VecDeque<Sent>,
    /// The ends of the list.
    oldest: u64,
    newest: u64,
    sacked: u64,
    lost: u64,
    /// The lost ones, and some that no longer are.
    resend: BinaryHeap<Reverse<u64>>,
    /// Blocks that have been taken in already.
    seen: SackBlocks,
    /// RACK.xmit_ts and RACK.end_seq: the segment sent last of those that have arrived.
    latest: Option<(Time, u64)>,
    /// RACK.rtt.
    rtt: Span,
    /// RACK.fack.
    fack: u64,
    /// RACK.reordering_seen: how many ACKs brought a segment that came late.
    late: u32,
    /// [`Rack::extent`].
    extent: u64,
    /// RACK.reo_wnd_mult.
    quarters: u64,
    /// RACK.reo_wnd_persist.
    persist: u32,
    /// RACK.dsack_round.
    round: Option<u64>,
    seen_last: Seen,
    /// [`crate::Config::rack_rtt_of_highest`].
    rtt_of_highest: bool,
}

/// What the last ACK has delivered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// The lowest segment that was sent once only; `u64::MAX` if there is none.
    pub original: u64,
    /// Was a segment SACKed?
    pub sacked: bool,
    /// Had a higher one come before a segment that was sent once only?
    pub late: bool,
    /// How many of those acknowledged cumulatively had been SACKed before.
    pub before: u64,
}

const NOTHING: Seen = Seen { original: NONE, sacked: false, late: false, before: 0 };

impl Default for Rack {
    fn default() -> Rack {
        Rack {
            una: 0,
            segments: VecDeque::new(),
            oldest: NONE,
            newest: NONE,
            sacked: 0,
            lost: 0,
            resend: BinaryHeap::new(),
            seen: SackBlocks::default(),
            latest: None,
            rtt: Span::ZERO,
            fack: 0,
            late: 0,
            extent: 0,
            quarters: 1,
            persist: 0,
            round: None,
            seen_last: NOTHING,
            rtt_of_highest: false,
        }
    }
}

impl Rack {
    /// One that knows of nothing.
    pub(crate) fn new(rtt_of_highest: bool) -> Rack {
        Rack { rtt_of_highest, ..Rack::default() }
    }

    /// As new, in the memory that another had.
    pub(crate) fn in_memory_of(&self, old: Rack) -> Rack {
        let Rack { mut segments, mut resend, .. } = old;
        segments.clear();
        resend.clear();
        Rack { segments, resend, ..Rack::new(self.rtt_of_highest) }
    }

    /// Segments SACKed (RACK.segs_sacked).
    pub(crate) fn sacked(&self) -> u64 {
        self.sacked
    }

    /// Segments lost and not yet sent again.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// How many segments it is at most from one that came late to the highest that had come before
    /// it, both counted; 0 if none came late.
    pub(crate) fn extent(&self) -> u64 {
        self.extent
    }

    /// How many ACKs brought one that came late.
    pub(crate) fn late(&self) -> u32 {
        self.late
    }

    /// Segments in the network.
    pub(crate) fn pipe(&self) -> u64 {
        self.segments.len() as u64 - self.sacked - self.lost
    }

    /// Segments that were found lost and have not arrived since, sent again or not.
    pub(crate) fn unmended(&self) -> u64 {
        let open = |sent: &&Sent| match sent.state {
            State::InFlight => sent.again,
            State::Sacked => false,
            State::Lost => true,
        };
        self.segments.iter().filter(open).count() as u64
    }

    /// Retransmissions in flight.
    pub(crate) fn resent(&self) -> u64 {
        let out = |sent: &&Sent| sent.again && sent.state == State::InFlight;
        self.segments.iter().filter(out).count() as u64
    }

    /// What the last ACK has delivered.
    pub(crate) fn seen(&self) -> Seen {
        self.seen_last
    }

    /// What was found lost was not: it is in flight again, in its place by the time it left. The
    /// latest arrival may have been taken for that of a retransmission, beside which all of it
    /// would be lost at once: the next one counts.
    pub(crate) fn restore(&mut self) {
        let mut out: Vec<(Time, u64)> = Vec::new();
        for (seq, sent) in (self.una..).zip(&mut self.segments) {
            if sent.state == State::Lost {
                sent.state = State::InFlight;
            }
            if sent.state == State::InFlight {
                out.push((sent.at, seq));
            }
        }
        out.sort_unstable();
        (self.lost, self.latest) = (0, None);
        self.resend.clear();
        (self.oldest, self.newest) = (NONE, NONE);
        for (_, seq) in out {
            self.append(seq);
        }
    }

    /// Is this outstanding segment lost and not yet sent again?
    pub(crate) fn is_lost(&self, seq: u64) -> bool {
        seq.checked_sub(self.una)
            .and_then(|place| self.segments.get(usize::try_from(place).ok()?))
            .is_some_and(|sent| sent.state == State::Lost)
    }

    /// Shows the segments that are lost and not yet sent again.
    pub(crate) fn lost_segments(&self, show: &mut impl FnMut(u64)) {
        if self.lost > 0 {
            let lost = |sent: &Sent| sent.state == State::Lost;
            (self.una..)
                .zip(&self.segments)
                .filter(|(_, sent)| lost(sent))
                .for_each(|(n, _)| show(n));
        }
    }

    /// A segment goes out, new or again (section 6.1).
    pub(crate) fn on_send(&mut self, seq: u64, now: Time) {
        let sent = Sent { at: now, before: NONE, after: NONE, state: State::InFlight, again: true };
        if seq == self.una + self.segments.len() as u64 {
            self.segments.push_back(Sent { again: false, ..sent });
        } else {
            match self.at(seq).state {
                State::InFlight => self.unlink(seq),
                State::Lost => self.lost -= 1,
                State::Sacked => debug_assert!(false, "{seq} has arrived"),
            }
            *self.at(seq) = sent;
        }
        self.append(seq);
    }

    /// Puts a segment at the list's end.
    fn append(&mut self, seq: u64) {
        let newest = core::mem::replace(&mut self.newest, seq);
        if newest == NONE {
            self.oldest = seq;
        } else {
            self.at(newest).after = seq;
        }
        (self.at(seq).before, self.at(seq).after) = (newest, NONE);
    }

    /// The lowest segment that is lost and not yet sent again.
    pub(crate) fn next_lost(&mut self) -> Option<u64> {
        while let Some(&Reverse(seq)) = self.resend.peek() {
            if self.is_lost(seq) {
                return Some(seq);
            }
            self.resend.pop();
        }
        None
    }

    /// The highest segment, if it is in flight: what a tail loss probe sends again.
    pub(crate) fn highest(&self) -> Option<u64> {
        let last = self.segments.back()?;
        (last.state == State::InFlight).then(|| self.una + self.segments.len() as u64 - 1)
    }

    /// Section 6.2, steps 2 and 3, for what an ACK delivers; returns the number of segments that
    /// had not arrived before.
    pub(crate) fn on_ack(&mut self, to: u64, blocks: &[Range], moment: &Moment) -> u64 {
        let (mut news, mut last) = (0, None);
        self.seen_last = NOTHING;
        while self.una < to {
            if self.at(self.una).state == State::Sacked {
                self.sacked -= 1;
                self.seen_last.before += 1;
            } else {
                self.deliver(self.una, moment, &mut last);
                news += 1;
            }
            self.segments.pop_front();
            self.una += 1;
        }
        self.late += u32::from(self.seen_last.late);
        if blocks.is_empty() {
            return news;
        }
        let late = self.seen_last.late;
        let kept = (self.rtt_of_highest && last.is_some()).then_some(self.rtt);
        let (una, nxt) = (self.una, self.una + self.segments.len() as u64);
        let mut fresh = [Range::default(); 2 * SackBlocks::MAX];
        let fresh = &mut fresh[..2 * blocks.len().min(SackBlocks::MAX)];
        let mut seen = SackBlocks::default();
        for (pair, block) in fresh.chunks_exact_mut(2).zip(blocks) {
            let block = Range { start: block.start.max(una + 1), end: block.end.min(nxt) };
            if block.start < block.end {
                let (parts, whole) = self.seen.news_of(block);
                pair.copy_from_slice(&parts);
                seen.push(whole);
            }
        }
        if !seen.is_empty() {
            self.seen = seen;
        }
        fresh.sort_unstable_by_key(|part| part.start);
        for &mut part in fresh {
            for seq in part.start.max(una)..part.end {
                if self.at(seq).state != State::Sacked {
                    self.deliver(seq, moment, &mut last);
                    self.at(seq).state = State::Sacked;
                    self.seen_last.sacked = true;
                    self.sacked += 1;
                    news += 1;
                }
            }
        }
        self.rtt = kept.unwrap_or(self.rtt);
        self.late += u32::from(self.seen_last.late && !late);
        news
    }

    /// An ACK says that a segment has arrived twice (section 6.2, step 4).
    pub(crate) fn on_dsack(&mut self) {
        if self.round.is_none_or(|round| self.una >= round) {
            self.round = Some(self.una + self.segments.len() as u64);
            self.quarters += 1;
            self.persist = PERSIST;
        }
    }

    /// A recovery ends without a DSACK (section 6.2, step 4).
    pub(crate) fn on_recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.quarters = 1;
        }
    }

    /// RACK.reo_wnd.
    fn reordering_window(&self, moment: &Moment) -> Span {
        let surely = moment.recovering || self.sacked >= moment.dup_thresh;
        if self.late == 0 && surely {
            return Span::ZERO;
        }
        Span((self.quarters * moment.min_rtt.0 / 4).min(moment.srtt.0))
    }

    /// RACK_detect_loss (section 6.2, step 5): the number of segments newly lost, and when those
    /// that are too young to be are to be looked at again.
    pub(crate) fn detect_loss(&mut self, moment: &Moment) -> (u64, Time) {
        let patience = self.rtt + self.reordering_window(moment);
        let (mut lost, mut look) = (0, Time::NEVER);
        let Some(latest) = self.latest else { return (lost, look) };
        let mut next = self.oldest;
        while next != NONE {
            let (seq, sent) = (next, *self.at(next));
            if (sent.at, seq) >= latest {
                break;
            }
            next = sent.after;
            let due = sent.at + patience;
            if due <= moment.now {
                self.lose(seq);
                lost += 1;
            } else {
                look = due;
            }
        }
        (lost, look)
    }

    /// RACK_mark_losses_on_RTO (section 6.3); returns the number of segments newly lost.
    pub(crate) fn on_timeout(&mut self, moment: &Moment) -> u64 {
        let patience = self.rtt + self.reordering_window(moment);
        let mut lost = 0;
        let mut next = self.oldest;
        while next != NONE {
            let (seq, sent) = (next, *self.at(next));
            next = sent.after;
            if seq == self.una || sent.at + patience <= moment.now {
                self.lose(seq);
                lost += 1;
            }
        }
        lost
    }

    /// A segment has arrived: section 6.2, steps 2 and 3. It leaves the list. `last` is the segment
    /// sent last of those that the same ACK delivers.
    fn deliver(&mut self, seq: u64, moment: &Moment, last: &mut Option<(Time, u64)>) {
        let sent = *self.at(seq);
        match sent.state {
            State::InFlight => self.unlink(seq),
            State::Lost => self.lost -= 1,
            State::Sacked => debug_assert!(false, "{seq} has arrived before"),
        }
        let rtt = moment.now.since(sent.at);
        // The ACK of a retransmission that comes too soon is one of what was sent before.
        let this = Some((sent.at, seq));
        if !(sent.again && rtt < moment.min_rtt) {
            if this > *last {
                *last = this;
                self.rtt = rtt;
                self.latest = self.latest.max(this);
            } else if self.rtt_of_highest {
                self.rtt = rtt;
            }
        }
        if !sent.again {
            self.seen_last.original = self.seen_last.original.min(seq);
        }
        if seq >= self.fack {
            self.fack = seq + 1;
        } else if !sent.again {
            self.seen_last.late = true;
            self.extent = self.extent.max(self.fack - seq);
        }
    }

    fn lose(&mut self, seq: u64) {
        self.unlink(seq);
        self.at(seq).state = State::Lost;
        self.lost += 1;
        self.resend.push(Reverse(seq));
    }

    fn unlink(&mut self, seq: u64) {
        let Sent { before, after, .. } = *self.at(seq);
        if before == NONE {
            self.oldest = after;
        } else {
            self.at(before).after = after;
        }
        if after == NONE {
            self.newest = before;
        } else {
            self.at(after).before = before;
        }
    }

    fn at(&mut self, seq: u64) -> &mut Sent {
        // Outstanding segments are fewer than 2^32.
        &mut self.segments[(seq - self.una) as usize]
    }
}

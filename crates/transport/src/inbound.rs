//! The receiving half.

use cc::registry::Recovery;
use units::{Span, Time};

use crate::Config;
use crate::ring::Ring;
use crate::sack::{Range, SackBlocks};

/// What a data segment changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataOutcome {
    /// Was this segment here for the first time?
    pub new: bool,
    /// Is an ACK due at once? False with delayed ACKs only.
    pub ack_now: bool,
}

/// The contents of an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckOut {
    /// The next segment expected.
    pub cumulative: u64,
    /// RFC 3168's ECE.
    pub ece: bool,
    /// Does it carry [`Inbound::sack_blocks`]?
    pub sack: bool,
}

/// Blocks remembered for repetition: more than an ACK takes, so that when some merge or are
/// acknowledged older ones take their place.
const RECENT: usize = 8;

/// As far back a gap that is never filled is remembered [segments].
const REMEMBERED: u64 = 1024;

/// No delay of ACKs.
const AT_ONCE: Span = Span(u64::MAX);
/// No ACKs but those that are asked for: a delay that is never over.
const UNASKED: Span = Span(u64::MAX - 1);

/// The segments above the cumulative number.
#[derive(Clone, Debug, Default)]
struct OutOfOrder {
    ring: Ring,
    /// One past the highest segment.
    end: u64,
    /// The blocks that arrivals fell into, the most recent first; each is as long as it can be.
    recent: [Range; RECENT],
    blocks: usize,
}

/// The receiving half of a connection.
#[derive(Clone, Debug)]
pub struct Inbound {
    /// The next segment expected.
    cumulative: u64,
    /// Segments above it.
    waiting: u64,
    deadline: Time,
    /// Or [`AT_ONCE`], or [`UNASKED`].
    delayed_ack: Span,
    /// [`Config::quick_acks`]; 0 where no ACK leaves unasked.
    quick: u32,
    recovery: Recovery,
    ece: bool,
    duplicates: u64,
    /// [`Recovery::None`]: segments below `cumulative` that have not come.
    skipped: u64,
    /// [`Recovery::Rack`]: the segment that has just arrived again, for the next ACK (RFC 2883).
    twice: Option<u64>,
    out_of_order: Option<Box<OutOfOrder>>,
    /// An earlier transfer's: memory for `out_of_order`.
    spare: Option<Box<OutOfOrder>>,
}

impl Inbound {
    /// A receiver of segment 0 and on.
    pub fn new(config: &Config) -> Inbound {
        Inbound {
            cumulative: 0,
            waiting: 0,
            deadline: Time::NEVER,
            delayed_ack: match config.delayed_ack {
                _ if config.reports => UNASKED,
                delay => delay.unwrap_or(AT_ONCE),
            },
            quick: if config.reports { 0 } else { config.quick_acks },
            recovery: config.recovery,
            ece: false,
            duplicates: 0,
            skipped: 0,
            twice: None,
            out_of_order: None,
            spare: None,
        }
    }

    /// Takes over what `old`, which is done with, has allocated; for a receiver that has got
    /// nothing.
    pub fn take_memory(&mut self, old: Inbound) {
        debug_assert!(self.cumulative == 0 && self.out_of_order.is_none());
        self.spare = old.out_of_order.or(old.spare);
    }

    /// A data segment arrives, with the CE mark and the CWR flag it carries.
    #[inline]
    pub fn on_data(&mut self, now: Time, seq: u64, ce: bool, cwr: bool) -> DataOutcome {
        // RFC 3168, section 6.1.3: CWR ends the echo, the same segment's CE starts it again.
        self.ece = (self.ece && !cwr) || ce;
        if seq != self.cumulative {
            return self.on_other(seq);
        }
        self.cumulative += 1;
        if self.waiting > 0 {
            self.fill();
            return DataOutcome { new: true, ack_now: true };
        }
        // RFC 5681, section 4.2: at least every second segment.
        let waits = self.delayed_ack != AT_ONCE
            && self.deadline == Time::NEVER
            && self.cumulative > u64::from(self.quick);
        if waits {
            self.deadline = now + self.delayed_ack;
        }
        DataOutcome { new: true, ack_now: !waits }
    }

    /// The ACK to send at `now`; no delayed one is due any more.
    #[inline]
    pub fn ack(&mut self, _now: Time) -> AckOut {
        self.deadline = Time::NEVER;
        AckOut {
            cumulative: self.cumulative,
            ece: self.ece,
            sack: self.recovery.selective() && (self.waiting > 0 || self.twice.is_some()),
        }
    }

    /// The SACK blocks of the next ACK (RFC 2018, section 4): first the one that holds the segment
    /// arrived last, unless it moved the cumulative number; then the most recently reported ones.
    /// With [`Recovery::Rack`] a segment that has arrived twice is a block before all others, once
    /// (RFC 2883).
    pub fn sack_blocks(&mut self) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        if let Some(seq) = self.twice.take() {
            blocks.push(Range { start: seq, end: seq + 1 });
        }
        if let Some(out_of_order) = &self.out_of_order {
            for block in out_of_order.recent().iter().take(SackBlocks::MAX) {
                blocks.push(*block);
            }
        }
        blocks
    }

    /// When a delayed ACK is due.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// Segments delivered, each counted once, out-of-order ones included.
    pub fn delivered(&self) -> u64 {
        self.cumulative + self.waiting - self.skipped
    }

    /// The next segment expected.
    pub fn cumulative(&self) -> u64 {
        self.cumulative
    }

    /// Segments that arrived again.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// A segment out of order, or one that is here already: the ACK is due at once (RFC 5681,
    /// section 4.2).
    #[cold]
    fn on_other(&mut self, seq: u64) -> DataOutcome {
        if self.recovery == Recovery::None {
            return self.pass_over(seq);
        }
        let new = seq > self.cumulative && {
            let spare = &mut self.spare;
            let out_of_order = self.out_of_order.get_or_insert_with(|| match spare.take() {
                Some(mut old) => {
                    old.clear();
                    old
                }
                None => Box::default(),
            });
            let new = out_of_order.insert(self.cumulative, seq);
            if self.recovery.selective() {
                out_of_order.report(self.cumulative, seq);
            }
            new
        };
        self.waiting += u64::from(new);
        self.duplicates += u64::from(!new);
        if !new && self.recovery == Recovery::Rack {
            self.twice = Some(seq);
        }
        if self.recovery == Recovery::Dccp {
            self.forget_gaps();
        }
        DataOutcome { new, ack_now: true }
    }

    /// Where nothing is sent again gaps stay. The oldest is given up when an ACK could not tell of
    /// it any more.
    #[cold]
    #[inline(never)]
    fn forget_gaps(&mut self) {
        let Some(out_of_order) = self.out_of_order.as_ref().filter(|_| self.waiting > 0) else {
            return; // there is no gap
        };
        if out_of_order.blocks < RECENT && out_of_order.end - self.cumulative < REMEMBERED {
            return;
        }
        let first = out_of_order.ring.next_member(self.cumulative, out_of_order.end);
        self.skipped += first - self.cumulative;
        self.cumulative = first;
        self.fill();
    }

    /// What is missing below `seq` is not waited for; what was passed over may yet come, once.
    fn pass_over(&mut self, seq: u64) -> DataOutcome {
        if seq > self.cumulative {
            self.skipped += seq - self.cumulative;
            self.cumulative = seq + 1;
        } else {
            self.skipped = self.skipped.saturating_sub(1);
        }
        DataOutcome { new: true, ack_now: self.delayed_ack != UNASKED }
    }

    /// The gap below the lowest block is closed, or has got shorter.
    #[cold]
    fn fill(&mut self) {
        if let Some(out_of_order) = &mut self.out_of_order {
            let to = out_of_order.advance(self.cumulative);
            self.waiting -= to - self.cumulative;
            self.cumulative = to;
        }
    }
}

impl OutOfOrder {
    /// As new, in the memory it has.
    fn clear(&mut self) {
        let mut ring = core::mem::take(&mut self.ring);
        ring.clear();
        *self = OutOfOrder { ring, ..OutOfOrder::default() };
    }

    fn recent(&self) -> &[Range] {
        &self.recent[..self.blocks]
    }

    /// Adds a segment above `cumulative`; was it missing?
    fn insert(&mut self, cumulative: u64, seq: u64) -> bool {
        self.end = self.end.max(seq + 1);
        self.ring.reserve(cumulative, self.end);
        self.ring.insert(seq, seq + 1) == 1
    }

    /// Puts the block that holds `seq` in front, in place of its former parts.
    fn report(&mut self, cumulative: u64, seq: u64) {
        let block = self.block_around(cumulative, seq);
        let mut kept = 0;
        let old = self.recent;
        for range in old.iter().take(self.blocks).filter(|range| !block.covers(**range)) {
            if kept + 1 < RECENT {
                kept += 1;
                self.recent[kept] = *range;
            }
        }
        self.recent[0] = block;
        self.blocks = kept + 1;
    }

    /// The longest block that holds `seq`. A reported neighbour gives its end away; only an
    /// unreported one is walked.
    fn block_around(&self, cumulative: u64, seq: u64) -> Range {
        let reported = |at: u64| self.recent().iter().find(|r| r.start <= at && at < r.end);
        let start = match reported(seq - 1) {
            Some(left) => left.start,
            None => self.ring.last_hole(cumulative, seq).map_or(cumulative, |hole| hole + 1),
        };
        let end = match reported(seq + 1) {
            Some(right) => right.end,
            None => self.ring.next_hole(seq + 1, self.end),
        };
        Range { start, end }
    }

    /// Takes out the block that starts at `from`, if there is one; returns its end.
    fn advance(&mut self, from: u64) -> u64 {
        let to = self.ring.next_hole(from, self.end);
        self.ring.remove(from, to);
        let old = self.recent;
        let mut kept = 0;
        for range in old.iter().take(self.blocks).filter(|range| range.end > to) {
            self.recent[kept] = *range;
            kept += 1;
        }
        self.blocks = kept;
        to
    }
}

//! The sending half.

pub(crate) mod account;
mod inside;
mod timed;
mod undoing;

use cc::registry::Recovery;
use cc::roles::{Idle, LossKind};
use units::{Span, Time};

use crate::exchange::{AckIn, AckOutcome, LossEvent, Segment};
use crate::rto::Rto;
use crate::sack::Range;
use crate::scoreboard::Scoreboard;
use crate::{Config, Restart};
pub use inside::Mending;
use timed::Timed;

/// Where loss recovery stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing is being mended.
    Open,
    /// The same with RACK, which keeps an account of every segment.
    Timed,
    /// Fast recovery, up to `recover`.
    Fast,
    /// The timer ran out: resending what was sent before it, up to `recover`.
    Timeout,
}

/// The next segment's reason.
#[derive(Clone, Copy)]
enum Choice {
    /// The first outstanding segment, whatever the window.
    First,
    /// A hole whose last retransmission was lost.
    Again,
    /// The next hole.
    Hole,
    /// New data.
    New,
    /// RFC 6675's rescue retransmission.
    Rescue,
}

/// The sending half of a connection.
#[derive(Clone, Debug)]
pub struct Outbound {
    /// The first segment not cumulatively acknowledged.
    una: u64,
    /// One past the highest segment ever sent.
    nxt: u64,
    /// One past the last segment that the application has offered.
    limit: u64,
    /// One past the last segment there will be; u64::MAX when there is no end.
    total: u64,
    deadline: Time,
    rto: Rto,
    /// Phase::Open, and nothing SACKed: nothing to look up in `board`.
    quiet: bool,
    phase: Phase,
    recovery: Recovery,
    /// [`Config::reports`].
    reports: bool,
    /// Retransmit `una`, whatever the window.
    force: bool,
    /// The next new segment carries CWR.
    cwr: bool,
    /// The timer has run out since `una` moved last.
    backed_off: bool,
    limited_transmit: bool,
    /// [`Config::count_dupacks`].
    count_dupacks: bool,
    /// [`Config::reduce_window`].
    reduce_window: bool,
    /// NewReno: a partial ACK has come in this recovery.
    partial: bool,
    dup_thresh: u32,
    /// Duplicate ACKs since `una` moved last: segments that have left the network. In NewReno's
    /// recovery, less what partial ACKs have acknowledged since.
    dupacks: u32,
    /// What limited transmit allows beyond the window.
    bonus: u32,
    /// What it has sent.
    limited: u32,
    /// Rate halving: recovery may have so much in flight where the window is smaller.
    halving: u64,
    /// Segments found lost by ACKs, of which no [`AckOutcome`] has told yet; none while `quiet`.
    untold: u32,
    /// `nxt` at the last loss; with reports what has been reported.
    recover: u64,
    /// `nxt` at the last reduction of the window; with reports how many segments have ended.
    reduced: u64,
    board: Option<Box<Scoreboard>>,
    /// A scoreboard of an earlier transfer: memory for `board`.
    spare: Option<Box<Scoreboard>>,
    /// With RACK, in the place of `board`.
    timed: Option<Box<Timed>>,
    timeouts: u32,
    fast_retransmits: u32,
    retransmitted: u64,
    restart: Option<Restart>,
}

impl Outbound {
    /// A sender of `total` segments, or of as many as the window lets through; the application
    /// offers them all at once.
    pub fn new(config: &Config, total: Option<u64>) -> Outbound {
        let total = total.unwrap_or(u64::MAX);
        let by_time = config.recovery == Recovery::Rack;
        Outbound {
            una: 0,
            nxt: 0,
            limit: total,
            total,
            deadline: Time::NEVER,
            rto: Rto::new(config),
            quiet: !config.reports && !by_time,
            phase: if by_time { Phase::Timed } else { Phase::Open },
            recovery: config.recovery,
            reports: config.reports,
            force: false,
            cwr: false,
            backed_off: false,
            limited_transmit: config.limited_transmit,
            count_dupacks: config.count_dupacks && !config.recovery.selective(),
            reduce_window: config.reduce_window,
            partial: false,
            dup_thresh: config.dup_thresh.max(1),
            dupacks: 0,
            bonus: 0,
            limited: 0,
            halving: 0,
            untold: 0,
            recover: 0,
            reduced: 0,
            board: None,
            spare: None,
            timed: by_time.then(|| Box::new(Timed::new(config))),
            timeouts: 0,
            fast_retransmits: 0,
            retransmitted: 0,
            restart: config.restart,
        }
    }

    /// [`Config::reduce_window`].
    pub fn reduces_window(&self) -> bool {
        self.reduce_window
    }

    /// Data is to be sent at `now`, the last segment having left at `last`: has the sender been
    /// idle for longer than the timeout, so that its window is no longer what the path takes (RFC
    /// 5681, section 4.1)?
    pub fn idle(&self, now: Time, last: Time) -> Option<Idle> {
        let Restart { window, decays } = self.restart?;
        let rto = self.rto.rto();
        let timeouts = now.since(last).0.saturating_sub(1) / rto.0.max(1);
        let idle = self.backlogged() && self.nxt > 0 && self.una == self.nxt && timeouts > 0;
        let timeouts = if decays { Some(timeouts) } else { None };
        idle.then_some(Idle { window: f64::from(window), timeouts })
    }

    /// The application has offered so many segments since the start, and no more. What it offers
    /// and the window holds back stays offered. The transfer is finished when its last segment is
    /// acknowledged, not when all that is offered is.
    pub fn offer(&mut self, segments: u64) {
        self.limit = segments.min(self.total);
    }

    /// Has the application offered data that was never sent?
    #[inline]
    pub fn backlogged(&self) -> bool {
        self.nxt < self.limit
    }

    /// Has the application offered all there will be?
    pub fn all_offered(&self) -> bool {
        self.limit == self.total
    }

    /// No new data from now on; what is out is delivered, and that finishes the transfer. Is there
    /// data that will now never be sent?
    pub fn stop(&mut self) -> bool {
        let cut = self.nxt < self.total;
        self.limit = self.limit.min(self.nxt);
        self.total = self.limit;
        self.end_reports();
        cut
    }

    /// A segment has arrived or is lost, where ACKs are reports ([`Config::reports`]). The source
    /// may be told before it happens, so this opens no room in the window: with reports the window
    /// counts all that was ever sent.
    pub fn ended(&mut self) {
        self.reduced += 1;
        debug_assert!(self.reports && self.reduced <= self.nxt);
        self.end_reports();
    }

    /// Nothing is out any more, and nothing will be.
    fn end_reports(&mut self) {
        if self.reports && self.reduced == self.total {
            self.una = self.total;
        }
    }

    /// Takes over what `old`, which is done with, has allocated; for a sender that has sent
    /// nothing.
    pub fn take_memory(&mut self, old: Outbound) {
        debug_assert!(self.nxt == 0 && self.board.is_none());
        self.spare = old.board.or(old.spare);
        if let (Some(mine), Some(old)) = (&mut self.timed, old.timed) {
            mine.take_memory(*old);
        }
    }

    /// The next segment that a window of so many segments lets through; it counts as sent at `now`.
    /// Call [`Outbound::on_sent`] when it goes out.
    #[inline]
    pub fn next_segment(&mut self, now: Time, window: u64) -> Option<Segment> {
        if self.phase != Phase::Open {
            return self.next_in_recovery(now, window);
        }
        if !self.open_room(window) {
            return None;
        }
        self.limited += u32::from(self.nxt - self.una >= window);
        Some(self.new_segment())
    }

    /// Would [`Outbound::next_segment`] return one?
    #[inline]
    pub fn has_room(&self, window: u64) -> bool {
        match self.phase {
            Phase::Open => self.open_room(window),
            Phase::Timed => self.timed_room(window),
            Phase::Fast | Phase::Timeout if self.timed.is_some() => self.timed_room(window),
            Phase::Fast | Phase::Timeout => self.choose(window).is_some(),
        }
    }

    /// A segment goes out: starts the timer if it does not run (RFC 6298 (5.1)).
    #[inline]
    pub fn on_sent(&mut self, now: Time) {
        if self.deadline == Time::NEVER && self.waits_for_acks() {
            self.deadline = now + self.rto.rto();
        }
    }

    /// An ACK without blocks and without an echo arrives: what it changed, if it does no more than
    /// to acknowledge what was sent next while nothing is being mended, as nearly all do. `None`:
    /// nothing is changed, and the ACK is for [`Outbound::on_ack`].
    #[inline(always)] // for the hot path, which is not the only caller
    pub fn on_plain_ack(
        &mut self,
        now: Time,
        cumulative: u64,
        rtt: Option<Span>,
    ) -> Option<AckOutcome> {
        debug_assert!(cumulative <= self.nxt, "ACK of what was not sent");
        let cumulative = cumulative.min(self.nxt);
        if !self.quiet || cumulative <= self.una {
            return None;
        }
        if let Some(rtt) = rtt {
            self.rto.sample(now, rtt);
        }
        let acked = self.on_acked(now, cumulative);
        let (loss, finished) = (None, self.finished());
        Some(AckOutcome { delivered: acked, acked, lost: 0, loss, recovering: false, finished })
    }

    /// An ACK arrives.
    #[inline(always)] // called in one place, and in the benches
    pub fn on_ack(&mut self, now: Time, ack: &AckIn<'_>) -> AckOutcome {
        if self.quiet
            && ack.sack.is_empty()
            && !ack.ece
            && let Some(seen) = self.on_plain_ack(now, ack.cumulative, ack.rtt)
        {
            return seen;
        }
        if let Some(rtt) = ack.rtt {
            self.rto.sample(now, rtt);
        }
        debug_assert!(ack.cumulative <= self.nxt, "ACK of what was not sent");
        let cumulative = ack.cumulative.min(self.nxt);
        if !self.quiet || !ack.sack.is_empty() || cumulative <= self.una {
            // Field by field, so that the outcome need not be copied as a whole.
            return AckOutcome { ..self.on_eventful_ack(now, cumulative, ack) };
        }
        let acked = self.on_acked(now, cumulative);
        let loss = if ack.ece { self.on_ece() } else { None };
        self.outcome(acked, acked, 0, loss)
    }

    /// The cumulative number moves while nothing is being mended; returns by how much.
    #[inline]
    fn on_acked(&mut self, now: Time, cumulative: u64) -> u32 {
        let acked = count(cumulative - self.una);
        self.una = cumulative;
        self.dupacks = 0;
        self.bonus = 0;
        self.limited = 0;
        self.end_back_off();
        self.restart_timer(now);
        acked
    }

    /// When [`Outbound::on_timer`] is due; [`Time::NEVER`] when nothing is outstanding.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// The timer has run out: the retransmission timer, [`Outbound::on_timeout`], or with RACK
    /// another, which may find no loss.
    pub fn on_timer(&mut self, now: Time) -> Option<LossEvent> {
        if self.timed.is_some() {
            return self.on_timed_timer(now);
        }
        Some(self.on_timeout(now))
    }

    /// The retransmission timer has run out (RFC 6298 (5.4) to (5.6)): everything outstanding and
    /// not SACKed counts as lost and is sent again in order, the first segment whatever the window.
    pub fn on_timeout(&mut self, now: Time) -> LossEvent {
        debug_assert!(self.una < self.nxt, "timeout with nothing outstanding");
        let event = LossEvent {
            kind: LossKind::Timeout,
            in_flight: self.flight_size(),
            lost: self.in_flight(),
            repeated: self.backed_off,
        };
        self.timeouts += 1;
        if self.recovery == Recovery::None {
            (self.una, self.deadline) = (self.nxt, Time::NEVER);
            return event;
        }
        self.rto.back_off();
        self.backed_off = true;
        if self.recovery == Recovery::Dccp {
            (self.una, self.recover, self.reduced) = (self.nxt, self.nxt, self.nxt);
            (self.deadline, self.bonus, self.limited) = (Time::NEVER, 0, 0);
            self.quiet = true;
            if let Some(board) = &mut self.board {
                board.clear();
            }
            return event;
        }
        self.deadline = now + self.rto.rto();
        self.go_back();
        event
    }

    /// Segments in the network, as the recovery estimates it: RFC 6675's pipe; for Reno and NewReno
    /// what is outstanding less one for each duplicate ACK. At most [`Outbound::outstanding`].
    #[inline(always)] // two instructions while nothing is lost
    pub fn in_flight(&self) -> u32 {
        let outstanding = self.outstanding();
        let pipe = if self.quiet { outstanding } else { self.pipe() };
        count(pipe.min(outstanding).saturating_sub(u64::from(self.dupacks)))
    }

    /// Segments sent and not cumulatively acknowledged.
    #[inline]
    pub fn outstanding(&self) -> u64 {
        self.nxt - self.una
    }

    /// Smoothed RTT (RFC 6298).
    #[inline]
    pub fn srtt(&self) -> Option<Span> {
        self.rto.srtt()
    }

    /// Smallest RTT seen.
    #[inline]
    pub fn min_rtt(&self) -> Option<Span> {
        self.rto.min_rtt()
    }

    /// The present retransmission timeout, back-off included.
    pub fn rto(&self) -> Span {
        self.rto.rto()
    }

    /// The first segment not cumulatively acknowledged.
    pub fn una(&self) -> u64 {
        self.una
    }

    /// One past the highest segment sent; a timeout does not move it back.
    pub fn nxt(&self) -> u64 {
        self.nxt
    }

    /// Is everything delivered and nothing more to come?
    #[inline]
    pub fn finished(&self) -> bool {
        self.una == self.total
    }

    /// Is fast recovery under way, as far as the controller hears of it?
    pub fn recovering(&self) -> bool {
        self.phase == Phase::Fast && self.recovery != Recovery::Decoupled
    }

    /// Is this outstanding segment, not SACKed, taken for lost (RFC 6675's IsLost; after a timeout,
    /// all that was sent before it)?
    pub fn is_lost(&self, seq: u64) -> bool {
        if let Some(timed) = &self.timed {
            return timed.rack.is_lost(seq);
        }
        self.board.as_ref().is_some_and(|board| board.is_lost(seq))
    }

    /// Times that the timer ran out.
    pub fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// Times that fast recovery began.
    pub fn fast_retransmits(&self) -> u32 {
        self.fast_retransmits
    }

    /// Segments sent again.
    pub fn retransmitted(&self) -> u64 {
        self.retransmitted
    }

    /// New data is acknowledged: the path works, so the timer need not stay backed off until the
    /// next sample, which repairs alone would never bring.
    #[inline]
    fn end_back_off(&mut self) {
        if self.backed_off {
            self.backed_off = false;
            self.rto.end_back_off();
        }
    }

    #[inline]
    fn open_room(&self, window: u64) -> bool {
        let room = window.saturating_add(u64::from(self.bonus));
        self.nxt < self.limit && self.nxt - self.una < room
    }

    #[inline]
    fn new_segment(&mut self) -> Segment {
        let seq = self.nxt;
        self.nxt += 1;
        Segment { seq, retransmission: false, cwr: core::mem::take(&mut self.cwr) }
    }

    #[inline]
    fn outcome(
        &self,
        delivered: u32,
        acked: u32,
        lost: u32,
        loss: Option<LossEvent>,
    ) -> AckOutcome {
        let recovering = self.recovering() || self.comes_down();
        AckOutcome { delivered, acked, lost, loss, recovering, finished: self.finished() }
    }

    /// RFC 6298 (5.2), (5.3).
    #[inline]
    fn restart_timer(&mut self, now: Time) {
        let waits = self.una < self.nxt && self.waits_for_acks();
        self.deadline = if waits { now + self.rto.rto() } else { Time::NEVER };
    }

    /// Is there anything to be done when ACKs stay out? Where nothing is sent again, only to give
    /// up what is still out at the end.
    #[inline]
    fn waits_for_acks(&self) -> bool {
        self.recovery != Recovery::None || self.nxt == self.total && !self.reports
    }

    /// Everything outstanding and not SACKed counts as lost and is sent again in order.
    fn go_back(&mut self) {
        // RFC 6582 section 4, RFC 6675 section 5.1: no recovery anew before this is passed. Where
        // later losses are found all the same, recovery just goes on.
        let decoupled = self.recovery == Recovery::Decoupled;
        self.reduce(if decoupled { Phase::Fast } else { Phase::Timeout });
        self.dupacks = 0;
        self.bonus = 0;
        self.limited = 0;
        let (una, nxt) = (self.una, self.nxt);
        self.board().start_over(una, nxt);
    }

    /// An ACK has told of marks by AccECN ([`crate::accecn`]) rather than ECE: what is to be
    /// reported to a controller of RFC 3168, unless the same ACK, which has `delivered` so many
    /// segments, made a loss known.
    pub fn echo(&mut self, delivered: u32) -> Option<LossEvent> {
        let echo = self.on_ece();
        if echo.is_some() && self.phase == Phase::Timed {
            self.come_down(delivered.into());
        }
        echo
    }

    /// ECE counts once per window of data, and not for a window reduced for another reason (RFC
    /// 3168, section 6.1.2).
    #[cold]
    fn on_ece(&mut self) -> Option<LossEvent> {
        self.forget_undo();
        if self.phase == Phase::Fast || self.una <= self.reduced {
            return None;
        }
        let in_flight = self.flight_size();
        self.reduced = self.nxt;
        self.cwr = true;
        Some(LossEvent { kind: LossKind::EcnEcho, in_flight, lost: 0, repeated: false })
    }

    #[inline(never)]
    fn on_eventful_ack(&mut self, now: Time, cumulative: u64, ack: &AckIn<'_>) -> AckOutcome {
        if self.reports {
            return self.on_report(cumulative);
        }
        if self.timed.is_some() {
            return self.on_timed_ack(now, ack);
        }
        let &AckIn { sack, ece, .. } = ack;
        if self.recovery == Recovery::Dccp {
            return self.on_vector(now, cumulative, sack, ece);
        }
        let acked = cumulative.saturating_sub(self.una);
        let duplicate = cumulative == self.una && self.una < self.nxt;
        let dupacks = self.dupacks;
        let mut delivered = acked;
        if acked > 0 {
            delivered -= self.advance(now, cumulative);
        }
        let loss = if self.recovery.selective() {
            let news = self.take_blocks(sack);
            delivered += news;
            if self.recovery.finds_lost_retransmissions() {
                self.mend(now, news > 0);
            }
            let loss = self.sack_loss();
            self.halve();
            loss.filter(|_| self.recovery != Recovery::Decoupled)
        } else if duplicate && self.recovery != Recovery::None {
            self.on_duplicate(now)
        } else {
            None
        };
        let loss = if ece && loss.is_none() { self.on_ece() } else { loss };
        self.quiet = self.phase == Phase::Open && self.sacked() == 0;
        if self.count_dupacks {
            // The ACK of the hole is news of one segment at least.
            let more = acked.saturating_sub(dupacks.into()).max(acked.min(1));
            delivered = more + u64::from(self.dupacks > dupacks);
            self.quiet &= self.dupacks == 0;
        }
        let lost = if delivered > 0 { core::mem::take(&mut self.untold) } else { 0 };
        self.outcome(count(delivered), count(acked), lost, loss)
    }

    /// An ACK where nothing is sent again (RFC 4341, section 5): blocks and cumulative number are
    /// the ACK vector. What is lost is done with as what has arrived is, and is told once per
    /// window of data. A gap that the receiver has forgotten before any ACK of it came through
    /// counts as delivered, where DCCP's vector would still tell.
    #[cold]
    #[inline(never)]
    fn on_vector(&mut self, now: Time, cumulative: u64, sack: &[Range], ece: bool) -> AckOutcome {
        let (una, nxt, dup_thresh) = (self.una, self.nxt, u64::from(self.dup_thresh));
        let mut delivered = 0;
        if cumulative > self.una {
            let known = self.board.as_mut().map_or(0, |board| board.advance(una, cumulative));
            (self.una, delivered) = (cumulative, cumulative - una - known);
        }
        let (from, recover) = (self.una, self.recover);
        let board = self.board();
        let news = board.update_from(from, nxt, sack);
        let lost = board.raise_edge(dup_thresh);
        let edge = board.edge();
        let to = board.resolved(from);
        board.advance(from, to);
        self.bonus = count(board.sacked());
        (self.una, self.limited) = (to, 0);
        delivered += news;
        if delivered > 0 {
            self.end_back_off();
            self.restart_timer(now);
        }
        self.untold = self.untold.saturating_add(count(lost));
        let mut loss = None;
        if lost > 0 && edge > recover {
            self.fast_retransmits += 1;
            let in_flight = count(nxt - from);
            (self.recover, self.reduced) = (nxt, nxt);
            loss = Some(LossEvent {
                kind: LossKind::DupAcks,
                in_flight,
                lost: count(lost),
                repeated: false,
            });
        }
        let loss = if ece && loss.is_none() { self.on_ece() } else { loss };
        self.quiet = self.sacked() == 0;
        let lost = if delivered > 0 { core::mem::take(&mut self.untold) } else { 0 };
        self.outcome(count(delivered), count(self.una - una), lost, loss)
    }

    /// A report of all below `cumulative`. It may be the last that is left of the transfer, which
    /// [`Outbound::finished`] tells.
    fn on_report(&mut self, cumulative: u64) -> AckOutcome {
        let news = count(cumulative.saturating_sub(self.recover));
        self.recover = self.recover.max(cumulative);
        AckOutcome { finished: true, ..self.outcome(news, news, 0, None) }
    }

    /// The cumulative number moves; returns how many segments it moves over that were SACKed.
    fn advance(&mut self, now: Time, to: u64) -> u64 {
        let acked = to - self.una;
        let known = self.board.as_mut().map_or(0, |board| board.advance(self.una, to));
        self.una = to;
        self.end_back_off();
        self.force = false;
        self.bonus = 0;
        self.limited = 0;
        if self.phase == Phase::Fast && self.recovery == Recovery::NewReno && to < self.recover {
            self.on_partial_ack(now, acked);
            return known;
        }
        self.dupacks = 0;
        if self.recovery_ends() {
            self.phase = Phase::Open;
            if let Some(board) = &mut self.board {
                board.forget_retransmissions(to);
            }
        }
        self.restart_timer(now);
        known
    }

    /// RFC 6582, section 3.2 step 3: retransmit the next hole, deflate by what was acknowledged
    /// less one, restart the timer the first time only.
    fn on_partial_ack(&mut self, now: Time, acked: u64) {
        self.dupacks = self.dupacks.saturating_sub(count(acked - 1));
        self.untold += 1;
        self.force = true;
        if !self.partial {
            self.restart_timer(now);
        }
        self.partial = true;
    }

    fn recovery_ends(&self) -> bool {
        match (self.phase, self.recovery) {
            (Phase::Open | Phase::Timed, _) | (Phase::Fast, Recovery::Reno) => true,
            (Phase::Fast, Recovery::Decoupled) => self.sacked() == 0 && self.una >= self.recover,
            (Phase::Fast, _) | (Phase::Timeout, Recovery::Sack) => self.una >= self.recover,
            // "covers more than recover" (RFC 6582, section 3.2 step 2): the segments sent again
            // for nothing after a timeout cause duplicate ACKs that mean no loss.
            (Phase::Timeout, _) => self.una > self.recover,
        }
    }

    /// A duplicate ACK, for Reno and NewReno.
    fn on_duplicate(&mut self, now: Time) -> Option<LossEvent> {
        if self.phase == Phase::Timeout {
            return None;
        }
        self.dupacks += 1;
        if self.phase == Phase::Fast {
            return None;
        }
        if self.dupacks >= self.dup_thresh {
            self.untold += 1;
            let event = self.enter_recovery(1);
            if self.recovery == Recovery::Tahoe {
                self.go_back();
                self.restart_timer(now);
            }
            return Some(event);
        }
        if self.limited_transmit {
            self.bonus = self.dupacks.min(2);
        }
        None
    }

    /// RFC 6675's Update; returns the number of segments that are news.
    fn take_blocks(&mut self, blocks: &[Range]) -> u64 {
        if blocks.is_empty() && self.board.is_none() {
            return 0;
        }
        let (una, nxt, phase, dup_thresh) = (self.una, self.nxt, self.phase, self.dup_thresh);
        let board = self.board();
        let news = board.update(una, nxt, blocks);
        let lost = match phase {
            Phase::Timeout => 0,
            Phase::Open | Phase::Timed | Phase::Fast => board.raise_edge(u64::from(dup_thresh)),
        };
        if phase != Phase::Open {
            board.seek_hole();
        }
        self.untold = self.untold.saturating_add(count(lost));
        news
    }

    /// The scoreboard, from now on if there was none.
    fn board(&mut self) -> &mut Scoreboard {
        let spare = &mut self.spare;
        self.board.get_or_insert_with(|| match spare.take() {
            Some(mut board) => {
                board.clear();
                board
            }
            None => Box::default(),
        })
    }

    /// Does SACK recovery start? RFC 6675, section 5, steps (1) and (2): each duplicate ACK SACKs
    /// at least one segment more, so that `IsLost` of the first says it all.
    fn sack_loss(&mut self) -> Option<LossEvent> {
        if self.phase != Phase::Open {
            return None;
        }
        let una = self.una;
        let board = self.board.as_mut()?;
        if board.is_lost(una) {
            board.start_recovery(una);
            let lost = count(board.lost());
            return Some(self.enter_recovery(lost));
        }
        if self.limited_transmit {
            // RFC 6675, section 5, step (3): the window counts pipe.
            self.bonus = count(board.sacked());
        }
        None
    }

    /// Lost retransmissions are found. Any news restarts the timer: it is for silence, and the
    /// first hole may take many rounds to mend.
    fn mend(&mut self, now: Time, news: bool) {
        if news {
            self.end_back_off();
            self.restart_timer(now);
        }
        if let Some(board) = &mut self.board {
            let lost = board.find_lost_retransmissions(self.una, u64::from(self.dup_thresh));
            self.untold = self.untold.saturating_add(count(lost));
        }
    }

    /// Rate halving: an ACK of the recovery lets out one segment, if the last let out none.
    fn halve(&mut self) {
        if self.recovery == Recovery::RateHalving && self.phase == Phase::Fast {
            self.halving = self.halving.min(self.pipe() + 1);
        }
    }

    fn enter_recovery(&mut self, lost: u32) -> LossEvent {
        let in_flight = self.flight_size();
        self.fast_retransmits += 1;
        self.partial = false;
        self.bonus = 0;
        self.halving = u64::MAX;
        self.reduce(Phase::Fast);
        LossEvent { kind: LossKind::DupAcks, in_flight, lost, repeated: false }
    }

    /// Into recovery up to what is sent now, beginning with the first outstanding segment.
    fn reduce(&mut self, phase: Phase) {
        self.phase = phase;
        self.quiet = false;
        self.force = true;
        self.cwr = true;
        self.recover = self.nxt;
        self.reduced = self.nxt;
    }

    #[inline(never)]
    fn next_in_recovery(&mut self, now: Time, window: u64) -> Option<Segment> {
        if self.timed.is_some() {
            return self.timed_segment(now, window);
        }
        let choice = self.choose(window)?;
        let segment = self.take(choice);
        if self.recovery == Recovery::RateHalving {
            self.halving = self.halving.min(self.pipe().saturating_sub(1).max(1));
        }
        segment
    }

    fn take(&mut self, choice: Choice) -> Option<Segment> {
        let seq = match choice {
            Choice::New => return Some(self.new_segment()),
            Choice::First => self.retransmit_first(),
            Choice::Again => self.board.as_mut()?.retransmit_again(self.nxt)?,
            Choice::Hole => self.retransmit_hole(),
            Choice::Rescue => {
                // Decoupled recovery goes on beyond its first end; one rescue is enough for it,
                // too.
                let decoupled = self.recovery == Recovery::Decoupled;
                let until = if decoupled { self.nxt } else { self.recover };
                self.board.as_mut()?.rescue(self.una, self.nxt, until)
            }
        };
        self.retransmitted += 1;
        Some(Segment { seq, retransmission: true, cwr: false })
    }

    fn retransmit_first(&mut self) -> u64 {
        self.force = false;
        if self.board.is_some() && (self.phase == Phase::Timeout || self.recovery.selective()) {
            self.retransmit_hole()
        } else {
            self.una
        }
    }

    /// Retransmits the hole that is next; there must be a scoreboard.
    fn retransmit_hole(&mut self) -> u64 {
        let (watched, nxt) = (self.recovery.finds_lost_retransmissions(), self.nxt);
        let board = self.board();
        let seq = board.retransmit();
        if watched {
            board.watch(seq, nxt);
        }
        seq
    }

    /// What to send next in recovery.
    fn choose(&self, window: u64) -> Option<Choice> {
        if self.force {
            return Some(Choice::First);
        }
        let halving = self.phase == Phase::Fast && self.recovery == Recovery::RateHalving;
        let window = if halving { window.max(self.halving) } else { window };
        if self.pipe().saturating_sub(u64::from(self.dupacks)) >= window {
            return None;
        }
        let board = self.board.as_deref();
        let fresh = (self.nxt < self.limit).then_some(Choice::New);
        match (self.phase, self.recovery, board) {
            (_, _, Some(board)) if board.any_again() => Some(Choice::Again),
            (Phase::Fast, recovery, Some(board)) if recovery.selective() => self.next_seg(board),
            (Phase::Timeout, _, Some(board)) if board.lost_hole() => Some(Choice::Hole),
            _ => fresh,
        }
    }

    /// RFC 6675's NextSeg.
    fn next_seg(&self, board: &Scoreboard) -> Option<Choice> {
        if board.lost_hole() {
            Some(Choice::Hole)
        } else if self.nxt < self.limit {
            Some(Choice::New)
        } else if board.sacked_hole() {
            Some(Choice::Hole)
        } else {
            board.may_rescue(self.una).then_some(Choice::Rescue)
        }
    }

    fn sacked(&self) -> u64 {
        self.board.as_ref().map_or(0, |board| board.sacked())
    }

    /// RFC 6675's pipe, for all recoveries: without SACK what is outstanding, less what a timeout
    /// has given up and is not yet sent again.
    fn pipe(&self) -> u64 {
        match (&self.timed, &self.board) {
            (Some(timed), _) => timed.rack.pipe(),
            (None, Some(board)) => board.pipe(self.una, self.nxt),
            (None, None) => self.outstanding(),
        }
    }

    /// [`LossEvent::in_flight`]. FlightSize is "the amount of outstanding data in the network" (RFC
    /// 5681, section 3.1), which in recovery only `in_flight` is. Rate halving's recoveries last as
    /// long as retransmissions are lost: what is SACKed by then, beyond what makes a loss, is not
    /// in the network.
    fn flight_size(&self) -> u32 {
        match self.phase {
            Phase::Open => {
                let sent = self.outstanding() - u64::from(self.limited);
                let known = match self.recovery {
                    Recovery::RateHalving => self.sacked().saturating_sub(self.dup_thresh.into()),
                    _ => 0,
                };
                count(sent.min(self.outstanding() - known))
            }
            Phase::Timed => count(self.outstanding() - u64::from(self.limited)),
            Phase::Fast | Phase::Timeout => self.in_flight(),
        }
    }
}

/// A number of outstanding segments, of which there are fewer than 2^32.
#[inline]
fn count(segments: u64) -> u32 {
    u32::try_from(segments).unwrap_or(u32::MAX)
}

//! The sending half with RACK-TLP (RFC 8985) and PRR (RFC 9937).
//!
//! Three timers share the one deadline: the retransmission timer, RACK's for segments that are too
//! young to be lost, and the probe's. What takes a reduction back is in [`super::undoing`].

use cc::roles::LossKind;
use units::{Span, Time};

use super::{Outbound, Phase, count};
use crate::Config;
use crate::exchange::{AckIn, AckOutcome, LossEvent, Segment};
use crate::prr::Prr;
use crate::rack::{Moment, Rack};
use crate::sack::Range;
use crate::undo::Undo;

/// TLP.max_ack_delay: how late the ACK of a lone segment may be (Linux's TCP_RTO_MIN).
const MAX_ACK_DELAY: Span = Span::from_millis(200);

/// The next segment's reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    /// It is lost.
    Lost,
    New,
    /// Tail loss probe: new data, or the highest segment again.
    Probe,
}

/// A probe that is on its way (TLP.end_seq, TLP.is_retrans).
#[derive(Clone, Copy, Debug)]
struct Probe {
    end: u64,
    again: bool,
}

/// What RACK-TLP and PRR remember.
#[derive(Clone, Debug)]
pub(super) struct Timed {
    pub(super) rack: Rack,
    /// For controllers that leave it to the transport to come down to a new window.
    pub(super) spread: bool,
    pub(super) prr: Option<Prr>,
    /// [`Config::echo_prr`].
    echo_prr: bool,
    /// [`Config::count_sacks`].
    count_sacks: bool,
    /// Segments that counted as acknowledged when they were SACKed, and are not yet.
    early: u64,
    probe: Option<Probe>,
    /// A probe is to go out, whatever the window.
    probing: bool,
    /// There was an RTT sample since the last probe.
    sampled: bool,
    /// The least RTT that a retransmission's timestamp told.
    least: Option<Span>,
    /// When the timers run out: the retransmission's, RACK's and the probe's.
    rto_at: Time,
    look_at: Time,
    probe_at: Time,
    pub(super) undo: Option<Undo>,
    /// Reductions taken back.
    pub(super) undone: u32,
}

impl Timed {
    pub(super) fn new(config: &Config) -> Timed {
        Timed {
            rack: Rack::new(config.rack_rtt_of_highest),
            spread: config.prr,
            prr: None,
            echo_prr: config.prr && config.echo_prr,
            count_sacks: config.count_sacks,
            early: 0,
            probe: None,
            probing: false,
            sampled: false,
            least: None,
            rto_at: Time::NEVER,
            look_at: Time::NEVER,
            probe_at: Time::NEVER,
            undo: config.undo.map(Undo::new),
            undone: 0,
        }
    }

    /// Takes over what an earlier transfer's has allocated.
    pub(super) fn take_memory(&mut self, old: Timed) {
        self.rack = self.rack.in_memory_of(old.rack);
    }

    /// Is this segment the probe that is on its way? Probes are sent while nothing is SACKed, so
    /// one that is no new data is the highest segment.
    pub(super) fn probed(&self, seq: u64) -> bool {
        self.probe.is_some_and(|probe| probe.again && probe.end == seq + 1)
    }

    /// What may be in flight by proportional rate reduction, if that is under way.
    pub(super) fn allowed(&self, window: u64) -> Option<u64> {
        self.prr.as_ref().map(|prr| self.rack.pipe() + prr.room(window))
    }

    /// Segments found lost that have not arrived since, and those in flight that were sent again. A
    /// probe's segment is not found lost.
    pub(super) fn losses(&self) -> (u64, u64) {
        let again = self.rack.unmended() - self.rack.lost();
        let probes = u64::from(again > 0 && self.probe.is_some_and(|probe| probe.again));
        (self.rack.lost() + again - probes, again)
    }

    /// TLP_init.
    fn forget_probe(&mut self) {
        (self.probe, self.probing, self.probe_at) = (None, false, Time::NEVER);
    }
}

impl Outbound {
    /// Does it come down to the controller's window by proportional rate reduction?
    pub(super) fn comes_down(&self) -> bool {
        self.timed.as_ref().is_some_and(|timed| timed.prr.is_some())
    }

    /// The same begins at an echo of congestion, by an ACK that delivers something.
    pub(super) fn come_down(&mut self, delivered: u64) {
        // RFC 9937's RecoverFS.
        let start = self.outstanding() - self.timed_sacked() + delivered;
        if let Some(timed) = &mut self.timed
            && timed.echo_prr
        {
            let mut prr = Prr::new(start);
            prr.on_ack(delivered, false, timed.rack.pipe());
            timed.prr = Some(prr);
        }
    }

    /// What may be in flight while proportional rate reduction brings a controller's window of so
    /// many segments down (RFC 9937's cwnd, Linux's snd_cwnd); `None` while it does not.
    pub fn allowed(&self, window: u64) -> Option<u64> {
        self.timed.as_ref().and_then(|timed| timed.allowed(window))
    }

    /// Is there a segment that may go out?
    pub(super) fn timed_room(&self, window: u64) -> bool {
        self.timed_choice(window).is_some()
    }

    /// What to send next.
    fn timed_choice(&self, window: u64) -> Option<Choice> {
        let timed = self.timed.as_deref()?;
        if timed.probing {
            return Some(Choice::Probe);
        }
        let pipe = timed.rack.pipe();
        let room = match &timed.prr {
            Some(prr) => prr.room(window),
            None => window.saturating_sub(pipe),
        };
        let holds = timed.undo.as_ref().is_some_and(|undo| undo.holds);
        if timed.rack.lost() > 0 && !holds {
            return (room > 0 || self.force).then_some(Choice::Lost);
        }
        (room > 0 && self.nxt < self.limit).then_some(Choice::New)
    }

    /// The next segment, which counts as sent at `now`.
    pub(super) fn timed_segment(&mut self, now: Time, window: u64) -> Option<Segment> {
        let choice = self.timed_choice(window)?;
        self.force = false;
        let probe = choice == Choice::Probe;
        let fresh = choice == Choice::New || probe && self.nxt < self.limit;
        let segment = if fresh {
            self.limited += u32::from(self.nxt - self.una >= window);
            self.new_segment()
        } else {
            let timed = self.timed.as_mut()?;
            let found = if probe { timed.rack.highest() } else { timed.rack.next_lost() };
            let Some(seq) = found else {
                debug_assert!(probe, "a lost segment is on the heap");
                timed.probing = false;
                return None;
            };
            self.retransmitted += 1;
            Segment { seq, retransmission: true, cwr: false }
        };
        self.timed_sent(now, segment, probe);
        Some(segment)
    }

    /// RACK_transmit_data, RACK_retransmit_data, and the timers.
    fn timed_sent(&mut self, now: Time, segment: Segment, probe: bool) {
        let (rto, nxt) = (self.rto.rto(), self.nxt);
        let Some(timed) = &mut self.timed else { return };
        timed.rack.on_send(segment.seq, now);
        if let Some(prr) = &mut timed.prr {
            prr.on_send();
        }
        if segment.retransmission
            && let Some(undo) = &mut timed.undo
        {
            undo.on_retransmission(now);
        }
        if timed.rto_at == Time::NEVER {
            timed.rto_at = now + rto;
        }
        if probe {
            (timed.probing, timed.sampled) = (false, false);
            timed.probe = Some(Probe { end: nxt, again: segment.retransmission });
        } else if !segment.retransmission {
            self.schedule_probe(now);
        }
        self.set_timed_deadline();
    }

    /// Schedules a probe, if there may be one (section 7.2). One that section 7.3 would not let go
    /// out is not scheduled: it would only put the retransmission timer off, which at the start of
    /// a transfer, where no handshake has measured the RTT, is a second.
    fn schedule_probe(&mut self, now: Time) {
        let (srtt, outstanding) = (self.rto.srtt(), self.outstanding());
        let open = self.phase == Phase::Timed;
        let Some(timed) = &mut self.timed else { return };
        let may = open && timed.probe.is_none() && timed.sampled && timed.rack.sacked() == 0;
        timed.probe_at = match srtt {
            Some(srtt) if may && outstanding > 0 => {
                let lone = if outstanding == 1 { MAX_ACK_DELAY } else { Span::ZERO };
                (now + srtt * 2 + lone).min(timed.rto_at)
            }
            _ => Time::NEVER,
        };
    }

    fn set_timed_deadline(&mut self) {
        if let Some(timed) = &self.timed {
            self.deadline = timed.rto_at.min(timed.look_at).min(timed.probe_at);
        }
    }

    /// RFC 6298 (5.2), (5.3).
    fn restart_timed(&mut self, now: Time) {
        let waits = self.outstanding() > 0;
        let at = if waits { now + self.rto.rto() } else { Time::NEVER };
        if let Some(timed) = &mut self.timed {
            timed.rto_at = at;
        }
    }

    /// An ACK's timestamp says how long ago the retransmission left that caused it. Karn's rule
    /// keeps it from the timer; `RACK.min_RTT` is of such samples, too (RFC 8985, section 6.2, step
    /// 1; RFC 7323). Without them a lone probe, which no queue of its own delays, would come back
    /// sooner than the least RTT known, and so would count for nothing (step 2).
    pub fn on_timestamp(&mut self, rtt: Span) {
        if let Some(timed) = &mut self.timed {
            timed.least = Some(timed.least.map_or(rtt, |least| least.min(rtt)));
        }
    }

    fn moment(&self, now: Time) -> Moment {
        let told = self.timed.as_ref().and_then(|timed| timed.least);
        let least = self.rto.min_rtt().into_iter().chain(told).min();
        Moment {
            now,
            min_rtt: least.unwrap_or(Span::ZERO),
            srtt: self.rto.srtt().unwrap_or(Span::ZERO),
            recovering: self.phase != Phase::Timed,
            dup_thresh: u64::from(self.dup_thresh),
        }
    }

    /// An ACK.
    pub(super) fn on_timed_ack(&mut self, now: Time, ack: &AckIn<'_>) -> AckOutcome {
        let cumulative = ack.cumulative.min(self.nxt);
        let acked = cumulative.saturating_sub(self.una);
        let moment = self.moment(now);
        let Some(timed) = &mut self.timed else { return self.outcome(0, 0, 0, None) };
        timed.sampled |= ack.rtt.is_some();
        let to = cumulative.max(self.una);
        let delivered = timed.rack.on_ack(to, ack.sack, &moment);
        self.una = to;
        if acked > 0 {
            self.end_back_off();
            self.force = false;
            self.limited = 0;
            self.restart_timed(now);
        }
        let twice = duplicate(cumulative, ack.sack);
        let left = self.look_for_undo(now, ack, acked, twice);
        let left = left + self.end_timed_recovery(twice.is_some());
        let repaired = self.probe_repaired(acked, ack.sack, twice);
        let start = self.outstanding() - self.timed_sacked() + delivered;
        let known = self.untold;
        let loss = self.look_for_losses(now, start, left);
        if let Some(timed) = &mut self.timed
            && let Some(prr) = &mut timed.prr
            && delivered > 0
        {
            let echoes = ack.ece && self.phase == Phase::Timed;
            let safe = acked > 0 && self.untold == known && !echoes;
            prr.on_ack(delivered, safe, timed.rack.pipe());
        }
        if ack.ece {
            self.forget_undo(); // a mark tells of congestion, whatever became of the segment
        }
        let loss = loss.or(repaired.then(|| self.repaired_loss()));
        let loss = if ack.ece && loss.is_none() { self.echo(count(delivered)) } else { loss };
        if acked > 0 || self.timed_sacked() > 0 {
            self.schedule_probe(now);
        }
        self.set_timed_deadline();
        let lost = if delivered > 0 { core::mem::take(&mut self.untold) } else { 0 };
        let acked = self.counted(acked, delivered);
        self.outcome(count(delivered), count(acked), lost, loss)
    }

    /// How many segments count as acknowledged by an ACK ([`Config::count_sacks`]).
    fn counted(&mut self, acked: u64, delivered: u64) -> u64 {
        let (open, dup_thresh) = (self.phase == Phase::Timed, u64::from(self.dup_thresh));
        let Some(timed) = self.timed.as_mut().filter(|timed| timed.count_sacks) else {
            return acked;
        };
        if acked == 0 && open && timed.rack.extent() > dup_thresh {
            timed.early += delivered;
            return delivered;
        }
        let again = timed.early.min(timed.rack.seen().before);
        timed.early -= again;
        acked - again
    }

    fn timed_sacked(&self) -> u64 {
        self.timed.as_ref().map_or(0, |timed| timed.rack.sacked())
    }

    /// Fast recovery, or that after a timeout, ends when all that was sent before it has arrived.
    /// Returns how many segments it leaves that were sent within it, found lost and have not
    /// arrived since.
    fn end_timed_recovery(&mut self, dsack: bool) -> u64 {
        let over = self.phase != Phase::Timed && self.una >= self.recover;
        if over {
            self.phase = Phase::Timed;
        }
        let landed = over || self.phase == Phase::Timed && self.una >= self.reduced;
        let Some(timed) = &mut self.timed else { return 0 };
        if landed {
            timed.prr = None;
        }
        if dsack {
            timed.rack.on_dsack();
        } else if over {
            timed.rack.on_recovered();
        }
        if over { timed.rack.unmended() } else { 0 }
    }

    /// TLP_process_ack: has the probe repaired a loss by itself?
    fn probe_repaired(&mut self, acked: u64, sack: &[Range], twice: Option<Range>) -> bool {
        let una = self.una;
        let Some(timed) = &mut self.timed else { return false };
        let Some(probe) = timed.probe.filter(|probe| una >= probe.end) else { return false };
        let doubled = twice.is_some_and(|block| block.end == probe.end);
        if let Some(undo) = &mut timed.undo {
            undo.close(); // nothing is out again any more
        }
        let over = una > probe.end;
        let plain = acked == 0 && sack.is_empty();
        if !probe.again || doubled || over || plain {
            timed.probe = None;
        }
        probe.again && !doubled && over && self.phase == Phase::Timed
    }

    /// The window goes down as in a fast recovery, which is over already.
    fn repaired_loss(&mut self) -> LossEvent {
        let in_flight = self.flight_size();
        self.forget_undo();
        self.reduced = self.nxt;
        self.cwr = true;
        self.untold = self.untold.saturating_add(1);
        LossEvent { kind: LossKind::DupAcks, in_flight, lost: 1, repeated: false }
    }

    /// RACK_detect_loss_and_arm_timer; a first loss begins a recovery, whose RecoverFS is `start`.
    /// So do the `left` losses of a recovery that has just ended, by itself or by an undo: they are
    /// of another window of data and a sign of congestion of their own (section 9.3; RFC 5681,
    /// section 4.3).
    fn look_for_losses(&mut self, now: Time, start: u64, left: u64) -> Option<LossEvent> {
        let moment = self.moment(now);
        let timed = self.timed.as_mut()?;
        let (lost, look) = timed.rack.detect_loss(&moment);
        timed.look_at = look;
        self.untold = self.untold.saturating_add(count(lost));
        if lost + left == 0 || self.phase != Phase::Timed {
            return None;
        }
        timed.forget_probe();
        timed.prr = timed.spread.then(|| Prr::new(start));
        let waits = timed.rack.lost() > 0;
        let in_flight = self.flight_size();
        self.fast_retransmits += 1;
        self.begin_undoable(false, false);
        self.reduce(Phase::Fast);
        self.force = waits;
        let lost = count(lost + left);
        Some(LossEvent { kind: LossKind::DupAcks, in_flight, lost, repeated: false })
    }

    /// A timer has run out.
    pub(super) fn on_timed_timer(&mut self, now: Time) -> Option<LossEvent> {
        let rto = self.rto.rto();
        let start = self.outstanding() - self.timed_sacked();
        let timed = self.timed.as_mut()?;
        let loss = if timed.look_at <= now {
            timed.look_at = Time::NEVER;
            let before = self.untold;
            let loss = self.look_for_losses(now, start, 0);
            if let Some(timed) = &mut self.timed
                && let Some(prr) = &mut timed.prr
                && self.untold > before
            {
                prr.on_ack(1, false, timed.rack.pipe());
            }
            loss
        } else if timed.probe_at <= now {
            timed.probing = true;
            timed.probe_at = Time::NEVER;
            timed.rto_at = now + rto;
            None
        } else {
            (timed.rto_at <= now).then(|| self.on_timed_timeout(now))
        };
        self.set_timed_deadline();
        loss
    }

    /// RFC 6298 (5.4) to (5.6), with RACK_mark_losses_on_RTO.
    fn on_timed_timeout(&mut self, now: Time) -> LossEvent {
        let in_flight = self.flight_size();
        let moment = self.moment(now);
        self.timeouts += 1;
        self.rto.back_off();
        let at = now + self.rto.rto();
        let mut lost = 0;
        if let Some(timed) = &mut self.timed {
            lost = timed.rack.on_timeout(&moment);
            timed.forget_probe();
            timed.prr = None;
            timed.look_at = Time::NEVER;
            timed.rto_at = at;
        }
        let repeated = core::mem::replace(&mut self.backed_off, true);
        self.begin_undoable(true, repeated);
        self.reduce(Phase::Timeout);
        LossEvent { kind: LossKind::Timeout, in_flight, lost: count(lost), repeated }
    }
}

/// The block that says what has arrived twice (RFC 2883): the first, where it is below the
/// cumulative number or within the second.
fn duplicate(cumulative: u64, sack: &[Range]) -> Option<Range> {
    let (first, rest) = sack.split_first()?;
    let within = rest.first().is_some_and(|second| second.covers(*first));
    (first.end <= cumulative || within).then_some(*first)
}

//! BBR, version 3. Cardwell, Swett, Beshay, "BBR congestion control", draft-ietf-ccwg-bbr-05 (2026);
//! what it leaves open as in Google's Linux code (github.com/google/bbr, branch v3, 2023).
//!
//! The model of the path has, besides BtlBw and RTprop, bounds on what may be in flight, learnt from
//! losses: `inflight_longterm` (first called inflight_hi), beyond which a probe lost more than 2 %,
//! and `inflight_shortterm` (inflight_lo) with `bw_shortterm`, which follow what is delivered while
//! losses go on, down to 0.7 of themselves per round. ProbeBW goes DOWN (0.90 of the rate, until the
//! queue is gone and 15 % below the bound), CRUISEs at the rate, REFILLs the pipe for a round with the
//! short-term bounds forgotten, and goes UP with 1.25 until the rate does not grow for three rounds or
//! 2 % are lost. A new cycle begins after 2 to 3 s, or after as many rounds as Reno would need between
//! two losses, 63 at most. ProbeRTT comes each 5 s and halves what is in flight for 200 ms.
//!
//! Deviations:
//! - D1: of lost packets only the number per ACK is known. For HandleLostPacket (5.5.10.2) the packet
//!   that the ACK acknowledges stands for those it showed to be lost, which were sent just before it;
//!   the prefix is not negative, as in Linux. What the timer gives up was in flight together, and
//!   that was too much.
//! - D2: Startup's exit by losses (5.3.1.3) counts ACKs that show new losses, as Linux does, for
//!   discontiguous ranges.
//! - D3: the samples of a probe end, and its phase of ACKs, one round after it (as in Linux and in
//!   edition 06): 05 says when, but leaves the assignments out.
//! - D4: no undo of spurious recoveries: the transport detects none.
//! - D5: the recovery is taken to have SACK; as with version 1, without it samples exceed the path's
//!   rate.
//! - D6: packets leave one by one: the send quantum only makes the offload budget.
//! - D7: to fit into 256 bytes, stamps of seconds-long waits are in milliseconds (Linux: jiffies), rates and the bounds'
//!   factors in single precision.
//! - D8: ECN is not in the draft; with `ecn = true` it is Linux's (v3): packets are ECT(0), for
//!   queues that mark early and shallow, and each ACK echoes its packet's mark; alpha is the share of marks, averaged per round with gain
//!   1/16; a marked round takes alpha/3 off inflight_shortterm; a round with half its packets marked
//!   ends UP as 2 % of losses do, and two of them Startup. Marks are counted per round, not per flight;
//!   at any RTT (Linux: up to 5 ms); no early probe when marks cease; no PLB.
//! - D9: edition 06 (July 2026) has ProbeRTT each 10 s, tied to the RTprop filter, and precautionary
//!   probes; neither is here. `probe_rtt_interval` sets the time.

use units::{Rate, Span, Time};

use crate::roles::{
    Ack, Departing, Echo, Ecn, EcnUse, Loss, LossKind, Sender, SenderContext, Variable,
};
use crate::tcp::delivery::{RateSample, RateSampler, Stamp, after};
use crate::tcp::model::{Aggregates, Dice, Episode, Mending};

params! {
    /// The sender's parameters.
    pub struct Bbr3Params {
        /// BBR.LossThresh: share of losses per round that a probe for bandwidth may cause
        /// (section 2.10).
        loss_thresh: f64 = 0.02 => (0.0, 0.9);
        /// BBR.Beta: what a round of losses leaves of the short-term bounds at the least (section 2.10).
        beta: f64 = 0.7 => (0.1, 1.0);
        /// BBR.Headroom: share of inflight_longterm left to others while cruising (section 2.10).
        headroom: f64 = 0.15 => (0.0, 0.9);
        /// BBR.PacingMarginPercent/100: share of the rate that pacing leaves unused (section 2.5).
        pacing_margin: f64 = 0.01 => (0.0, 0.5);
        /// BBR.ProbeRTTInterval: least time between two ProbeRTTs (section 2.13.2).
        probe_rtt_interval: Span = Span::from_secs(5) => (0.1, 1000.0);
        /// Does it use ECN, by Linux's rules for shallow marking (D8)?
        ecn: bool = false;
    }
}

/// BBR.StartupPacingGain, 4 ln 2.
const STARTUP_PACING_GAIN: f32 = 2.77;
const DRAIN_PACING_GAIN: f32 = 0.5;
const DOWN_PACING_GAIN: f32 = 0.90;
const UP_PACING_GAIN: f32 = 1.25;
/// BBR.DefaultCwndGain, and that of UP and of ProbeRTT.
const CWND_GAIN: f32 = 2.0;
const UP_CWND_GAIN: f32 = 2.25;
const PROBE_RTT_CWND_GAIN: f32 = 0.5;
/// BBR.MinPipeCwnd [packets].
const MIN_PIPE_CWND: u32 = 4;
/// BBR.ExtraAckedFilterLen [rounds].
const EXTRA_ACKED_ROUNDS: u32 = 10;
/// BBR.MinRTTFilterLen and BBR.ProbeRTTDuration [ms].
const MIN_RTT_FILTER_MS: u32 = 10_000;
const PROBE_RTT_MS: u32 = 200;
/// BBRStartupFullLossCnt.
const FULL_LOSS_COUNT: u8 = 6;
/// What a round must bring for a plateau not to be one, and rounds of plateau.
const FULL_BW_GROWTH: f32 = 1.25;
const FULL_BW_ROUNDS: u8 = 3;
/// Longest wait for a probe [rounds].
const PROBE_ROUNDS: u32 = 63;
/// No bound.
const NO_BOUND: u32 = u32::MAX;
/// Linux's bbr_ecn_alpha_gain, bbr_ecn_factor, bbr_ecn_thresh, bbr_full_ecn_cnt.
const ECN_ALPHA_GAIN: f32 = 1.0 / 16.0;
const ECN_FACTOR: f32 = 1.0 / 3.0;
const ECN_THRESH: f32 = 0.5;
const FULL_ECN_COUNT: u8 = 2;

/// State of the state machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

/// BBR.ack_phase: whose packets the ACKs are for, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// The end host's part.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    sampler: RateSampler,
    episode: Episode,
    dice: Dice,
    aggregates: Aggregates,
    /// BBR.min_rtt, BBR.probe_rtt_min_delay [s]; infinite before the first sample.
    min_rtt: f32,
    probe_rtt_min_delay: f32,
    /// Stamps [ms].
    min_rtt_stamp: u32,
    probe_rtt_min_stamp: u32,
    /// In ProbeBW when the cycle began (BBR.cycle_stamp), in ProbeRTT when it may end
    /// (BBR.probe_rtt_done_stamp).
    clock: u32,
    /// BBR.bw_probe_wait [ms].
    bw_probe_wait: u16,
    /// BBR.rounds_since_bw_probe; in Drain rounds since its start.
    rounds_since_probe: u8,
    /// The highest rates of the last cycle and of this one [packets/s].
    max_bw: [f32; 2],
    /// Rates [packets/s].
    bw: f32,
    bw_latest: f32,
    bw_shortterm: f32,
    full_bw: f32,
    /// Volumes [packets].
    inflight_latest: u32,
    inflight_shortterm: u32,
    inflight_longterm: u32,
    cwnd: u32,
    prior_cwnd: u32,
    /// After the last ACK [packets], for probes.
    in_flight: u32,
    initial_cwnd: u32,
    /// C.pacing_rate [bit/s].
    pacing: f32,
    /// Numbers of packets delivered at which rounds end, modulo 2^32.
    next_round: u32,
    loss_round: u32,
    round_count: u32,
    probe_up_acks: u32,
    probe_up_count: u32,
    probe_up_rounds: u8,
    full_bw_count: u8,
    loss_events: u8,
    state: State,
    ack_phase: AckPhase,
    flags: Flags,
    packet_bytes: u32,
    loss_thresh: f32,
    beta: f32,
    headroom: f32,
    pacing_margin: f32,
    probe_rtt_interval_ms: u32,
    marks: Marks,
}

/// What holds or does not.
#[derive(Clone, Copy, Debug, Default)]
struct Flags {
    round_start: bool,
    loss_round_start: bool,
    loss_in_round: bool,
    full_bw_reached: bool,
    full_bw_now: bool,
    /// BBR.bw_probe_samples: do ACKs show what a probe did, and nothing was done about it yet?
    probe_samples: bool,
    idle_restart: bool,
    probe_rtt_expired: bool,
    /// Has ProbeRTT's clock started, and has a round passed since?
    probe_rtt_timed: bool,
    probe_rtt_round_done: bool,
    has_seen_rtt: bool,
    /// Was the window full in this round, and in the one before?
    cwnd_limited: [bool; 2],
}

/// ECN (D8).
#[derive(Clone, Copy, Debug)]
struct Marks {
    alpha: f32,
    /// Packets delivered in this round of the loss clock, and of them those marked.
    delivered: u32,
    ce: u32,
    startup_rounds: u8,
    /// The share in the last round was [`ECN_THRESH`] or more.
    high: bool,
    used: bool,
}

impl Marks {
    /// An ACK has come; at the end of a round alpha is renewed.
    fn on_ack(&mut self, ack: &Ack<Stamp>) {
        self.high = false;
        if self.used {
            self.delivered = self.delivered.saturating_add(ack.delivered);
            if ack.code == Ecn::Ce {
                self.ce = self.ce.saturating_add(ack.delivered);
            }
        }
    }

    /// A round ends: was anything marked in it?
    fn end_round(&mut self) -> bool {
        let marked = self.ce > 0;
        if self.delivered > 0 {
            let share = self.ce as f32 / self.delivered as f32;
            self.alpha += ECN_ALPHA_GAIN * (share - self.alpha);
            self.high = share >= ECN_THRESH;
            self.startup_rounds = if self.high { self.startup_rounds.saturating_add(1) } else { 0 };
        }
        (self.delivered, self.ce) = (0, 0);
        marked
    }
}

/// Milliseconds since the start, modulo 2^32 (49 days).
fn millis(t: Time) -> u32 {
    (t.0 / Span::from_millis(1).0) as u32
}

/// Rounded up.
fn ceil(x: f64) -> u32 {
    // The cast rounds down and saturates.
    let whole = x as u32;
    if f64::from(whole) < x { whole.saturating_add(1) } else { whole }
}

/// A share of a volume, rounded down; of no bound, none. In single precision, in which the factor is
/// given: 0.7 of 80 is 56.
fn share(of: u32, factor: f32) -> u32 {
    if of == NO_BOUND { NO_BOUND } else { (of as f32 * factor) as u32 }
}

// The model.
impl Bbr3 {
    fn max_bw(&self) -> f32 {
        self.max_bw[0].max(self.max_bw[1])
    }

    /// BDPMultiple.
    fn bdp(&self, bw: f32, gain: f32) -> u32 {
        if self.min_rtt.is_infinite() {
            return self.initial_cwnd;
        }
        ceil(f64::from(bw) * f64::from(self.min_rtt) * f64::from(gain))
    }

    /// QuantizationBudget, with UpdateOffloadBudget and SetSendQuantum.
    fn quantize(&self, inflight: u32) -> u32 {
        let size = self.packet_bytes.max(1);
        // The pacing rate's millisecond.
        let quantum = ((self.pacing / 8000.0).min(65_536.0) as u32).max(2 * size);
        let inflight = inflight.max(3 * quantum / size).max(MIN_PIPE_CWND);
        inflight.saturating_add(if self.state == State::Up { 2 } else { 0 })
    }

    /// Inflight.
    fn inflight(&self, bw: f32, gain: f32) -> u32 {
        self.quantize(self.bdp(bw, gain))
    }

    /// TargetInflight.
    fn target_inflight(&self) -> u32 {
        self.bdp(self.bw, 1.0).min(self.cwnd)
    }

    /// InflightWithHeadroom.
    fn inflight_with_headroom(&self) -> u32 {
        if self.inflight_longterm == NO_BOUND {
            return NO_BOUND;
        }
        let headroom = share(self.inflight_longterm, self.headroom).max(1);
        self.inflight_longterm.saturating_sub(headroom).max(MIN_PIPE_CWND)
    }

    fn cwnd_limited(&self) -> bool {
        self.flags.cwnd_limited != [false; 2]
    }

    fn is_probing(&self) -> bool {
        matches!(self.state, State::Startup | State::Refill | State::Up)
    }

    fn in_probe_bw(&self) -> bool {
        matches!(self.state, State::Down | State::Cruise | State::Refill | State::Up)
    }

    /// StartRound.
    fn start_round(&mut self) {
        self.next_round = self.sampler.delivered();
    }

    /// UpdateLatestDeliverySignals.
    fn update_latest(&mut self, rs: &RateSample) {
        self.flags.loss_round_start = false;
        if !rs.valid {
            return;
        }
        self.bw_latest = self.bw_latest.max(rs.rate as f32);
        self.inflight_latest = self.inflight_latest.max(rs.delivered);
        if !after(self.loss_round, rs.prior_delivered) {
            self.loss_round = self.sampler.delivered();
            self.flags.loss_round_start = true;
        }
    }

    /// AdvanceLatestDeliverySignals.
    fn advance_latest(&mut self, rs: &RateSample) {
        if self.flags.loss_round_start {
            (self.bw_latest, self.inflight_latest) = (rs.rate as f32, rs.delivered);
        }
    }

    /// ResetCongestionSignals.
    fn reset_signals(&mut self) {
        self.flags.loss_in_round = false;
        (self.bw_latest, self.inflight_latest) = (0.0, 0);
        (self.marks.delivered, self.marks.ce) = (0, 0);
    }

    /// ResetShortTermModel.
    fn reset_short_term(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (f32::INFINITY, NO_BOUND);
    }

    /// ResetFullBW, with the rate to compare with.
    fn reset_full_bw(&mut self, full_bw: f32) {
        (self.full_bw, self.full_bw_count, self.flags.full_bw_now) = (full_bw, 0, false);
    }

    /// UpdateMaxBw, with UpdateRound.
    fn update_max_bw(&mut self, rs: &RateSample) {
        self.flags.round_start = rs.valid && !after(self.next_round, rs.prior_delivered);
        if self.flags.round_start {
            self.start_round();
            self.round_count = self.round_count.wrapping_add(1);
            self.rounds_since_probe = self.rounds_since_probe.saturating_add(1);
            self.flags.cwnd_limited = [false, self.flags.cwnd_limited[0]];
        }
        let rate = rs.rate as f32;
        if rate > 0.0 && (rate >= self.max_bw() || !rs.limited) {
            self.max_bw[1] = self.max_bw[1].max(rate);
        }
    }

    /// AdvanceMaxBwFilter: the cycle before the last is forgotten, unless this one says nothing.
    fn advance_max_bw(&mut self) {
        if self.max_bw[1] > 0.0 {
            self.max_bw = [self.max_bw[1], 0.0];
        }
    }

    /// UpdateCongestionSignals, with AdaptLowerBoundsFromCongestion.
    fn update_signals(&mut self, rs: &RateSample) {
        self.update_max_bw(rs);
        if !self.flags.loss_round_start {
            return;
        }
        let marked = self.marks.end_round();
        if !self.is_probing() {
            self.lower_bounds(marked);
        }
        self.flags.loss_in_round = false;
    }

    /// InitLowerBounds and LossLowerBounds; the lower of what losses and marks imply.
    fn lower_bounds(&mut self, marked: bool) {
        if !marked && !self.flags.loss_in_round {
            return;
        }
        if self.inflight_shortterm == NO_BOUND {
            self.inflight_shortterm = self.cwnd;
        }
        let by_marks = match marked {
            true => share(self.inflight_shortterm, 1.0 - self.marks.alpha * ECN_FACTOR),
            false => NO_BOUND,
        };
        if self.flags.loss_in_round {
            if self.bw_shortterm.is_infinite() {
                self.bw_shortterm = self.max_bw();
            }
            self.bw_shortterm = self.bw_latest.max(self.beta * self.bw_shortterm);
            self.inflight_shortterm =
                self.inflight_latest.max(share(self.inflight_shortterm, self.beta));
        }
        self.inflight_shortterm = self.inflight_shortterm.min(by_marks);
    }

    /// UpdateACKAggregation.
    fn update_aggregation(&mut self, now: Time, rs: &RateSample) {
        let rounds = if self.flags.full_bw_reached { EXTRA_ACKED_ROUNDS } else { 1 };
        let (model, rounds) = ((self.bw, self.cwnd), (rounds, self.round_count));
        self.aggregates.update(now, rs.newly_acked, model, rounds);
    }

    /// CheckFullBWReached.
    fn check_full_bw(&mut self, rs: &RateSample) {
        if self.flags.full_bw_now || !self.flags.round_start || rs.limited {
            return;
        }
        let rate = rs.rate as f32;
        if rate >= self.full_bw * FULL_BW_GROWTH {
            self.reset_full_bw(rate);
            return;
        }
        self.full_bw_count += 1;
        if self.full_bw_count >= FULL_BW_ROUNDS {
            (self.flags.full_bw_now, self.flags.full_bw_reached) = (true, true);
        }
    }

    /// IsInflightTooHigh, for losses.
    fn too_lossy(&self, rs: &RateSample) -> bool {
        rs.lost as f32 > rs.tx_in_flight as f32 * self.loss_thresh
    }

    /// NoteLoss and HandleLostPacket (D1).
    fn on_lost(&mut self, now: Time, rs: &mut RateSample) {
        self.note_loss();
        if self.flags.probe_samples && rs.valid && self.too_lossy(rs) {
            rs.tx_in_flight = self.inflight_at_loss(rs);
            self.handle_too_high(now, rs);
        }
    }

    fn note_loss(&mut self) {
        if !self.flags.loss_in_round {
            (self.loss_round, self.flags.loss_in_round) = (self.sampler.delivered(), true);
        }
    }

    /// InflightAtLoss: what was in flight when losses crossed the threshold, with the first packet of
    /// those newly lost that took them over it.
    fn inflight_at_loss(&self, rs: &RateSample) -> u32 {
        let thresh = f64::from(self.loss_thresh);
        let before = rs.tx_in_flight.saturating_sub(1);
        // Not over it yet, but for this packet.
        let allowed = share(rs.tx_in_flight, self.loss_thresh);
        let lost_before = rs.lost.saturating_sub(rs.newly_lost).max(allowed);
        let prefix = (thresh * f64::from(before) - f64::from(lost_before)) / (1.0 - thresh);
        before.saturating_add(prefix.max(0.0) as u32)
    }

    /// HandleInflightTooHigh.
    fn handle_too_high(&mut self, now: Time, rs: &RateSample) {
        self.flags.probe_samples = false;
        if !rs.limited {
            self.inflight_longterm = rs.tx_in_flight.max(share(self.target_inflight(), self.beta));
        }
        if self.state == State::Up {
            self.start_down(now);
        }
    }

    /// UpdateMinRTT.
    fn update_min_rtt(&mut self, ack: &Ack<Stamp>) {
        let now = millis(ack.now);
        let known = self.probe_rtt_min_delay.is_finite();
        let age = now.wrapping_sub(self.probe_rtt_min_stamp);
        self.flags.probe_rtt_expired = known && age > self.probe_rtt_interval_ms;
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.as_secs() as f32;
            if rtt < self.probe_rtt_min_delay || self.flags.probe_rtt_expired {
                (self.probe_rtt_min_delay, self.probe_rtt_min_stamp) = (rtt, now);
            }
        }
        let expired = known && now.wrapping_sub(self.min_rtt_stamp) > MIN_RTT_FILTER_MS;
        if self.probe_rtt_min_delay < self.min_rtt || expired {
            self.min_rtt = self.probe_rtt_min_delay;
            self.min_rtt_stamp = self.probe_rtt_min_stamp;
        }
    }
}

// The state machine.
impl Bbr3 {
    /// The table of section 5.6.1.
    fn gains(&self) -> (f32, f32) {
        match self.state {
            State::Startup => (STARTUP_PACING_GAIN, CWND_GAIN),
            State::Drain => (DRAIN_PACING_GAIN, CWND_GAIN),
            State::Down => (DOWN_PACING_GAIN, CWND_GAIN),
            State::Cruise | State::Refill => (1.0, CWND_GAIN),
            State::Up => (UP_PACING_GAIN, UP_CWND_GAIN),
            State::ProbeRtt => (1.0, PROBE_RTT_CWND_GAIN),
        }
    }

    /// CheckStartupDone, with CheckStartupHighLoss (D2).
    fn check_startup(&mut self, rs: &RateSample) {
        if self.state != State::Startup {
            return;
        }
        if rs.newly_lost > 0 {
            self.loss_events = self.loss_events.saturating_add(1);
        }
        if self.flags.loss_round_start {
            let lossy = self.episode.state() == Mending::Recovery
                && self.loss_events >= FULL_LOSS_COUNT
                && self.too_lossy(rs);
            let marked = self.marks.startup_rounds >= FULL_ECN_COUNT;
            if !self.flags.full_bw_reached && (lossy || marked) {
                self.flags.full_bw_reached = true;
                let bdp = self.inflight(self.max_bw(), 1.0);
                self.inflight_longterm = bdp.max(self.inflight_latest);
            }
            self.loss_events = 0;
        }
        if self.flags.full_bw_reached {
            self.state = State::Drain;
            self.rounds_since_probe = 0;
        }
    }

    /// CheckDrainDone.
    fn check_drain(&mut self, ack: &Ack<Stamp>) {
        let drained = ack.in_flight <= self.inflight(self.bw, 1.0) || self.rounds_since_probe > 3;
        if self.state == State::Drain && drained {
            self.start_down(ack.now);
        }
    }

    /// StartProbeBW_DOWN, with PickProbeWait.
    fn start_down(&mut self, now: Time) {
        self.reset_signals();
        self.probe_up_count = u32::MAX;
        self.rounds_since_probe = self.dice.below(2);
        self.bw_probe_wait = 2000 + (1000.0 * self.dice.unit()) as u16;
        self.clock = millis(now);
        self.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.state = State::Down;
    }

    /// StartProbeBW_REFILL.
    fn start_refill(&mut self) {
        self.reset_short_term();
        (self.probe_up_rounds, self.probe_up_acks) = (0, 0);
        self.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.state = State::Refill;
    }

    /// StartProbeBW_UP.
    fn start_up(&mut self, rs: &RateSample) {
        self.flags.probe_samples = true;
        self.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.reset_full_bw(rs.rate as f32);
        self.state = State::Up;
        self.raise_slope();
    }

    /// RaiseInflightLongtermSlope.
    fn raise_slope(&mut self) {
        let growth = 1_u32 << self.probe_up_rounds;
        self.probe_up_rounds = (self.probe_up_rounds + 1).min(30);
        self.probe_up_count = (self.cwnd / growth).max(1);
    }

    /// ProbeInflightLongtermUpward.
    fn probe_upward(&mut self, rs: &RateSample) {
        if !self.cwnd_limited() || self.cwnd < self.inflight_longterm {
            return;
        }
        self.probe_up_acks = self.probe_up_acks.saturating_add(rs.newly_acked);
        if self.probe_up_acks >= self.probe_up_count {
            let delta = self.probe_up_acks / self.probe_up_count;
            self.probe_up_acks -= delta * self.probe_up_count;
            self.inflight_longterm = self.inflight_longterm.saturating_add(delta);
        }
        if self.flags.round_start {
            self.raise_slope();
        }
    }

    /// AdaptLongTermModel (D3).
    fn adapt_long_term(&mut self, now: Time, rs: &RateSample) {
        if self.flags.round_start {
            match self.ack_phase {
                AckPhase::ProbeStarting => self.ack_phase = AckPhase::ProbeFeedback,
                AckPhase::ProbeStopping => {
                    self.flags.probe_samples = false;
                    self.ack_phase = AckPhase::Init;
                    if self.in_probe_bw() && !rs.limited {
                        self.advance_max_bw();
                    }
                }
                AckPhase::Init | AckPhase::Refilling | AckPhase::ProbeFeedback => {}
            }
        }
        if self.marks.high {
            if self.flags.probe_samples {
                self.handle_too_high(now, rs);
            }
            return;
        }
        if !rs.valid || self.too_lossy(rs) || self.inflight_longterm == NO_BOUND {
            return;
        }
        self.inflight_longterm = self.inflight_longterm.max(rs.tx_in_flight);
        if self.state == State::Up {
            self.probe_upward(rs);
        }
    }

    /// UpdateProbeBWCyclePhase.
    fn update_cycle(&mut self, ack: &Ack<Stamp>, rs: &RateSample) {
        if !self.flags.full_bw_reached {
            return;
        }
        self.adapt_long_term(ack.now, rs);
        match self.state {
            State::Down | State::Cruise => {
                if self.is_time_to_probe(ack.now) {
                    self.start_refill();
                } else if self.state == State::Down && self.is_time_to_cruise(ack.in_flight) {
                    self.state = State::Cruise;
                }
            }
            State::Refill => {
                if self.flags.round_start {
                    self.start_up(rs);
                }
            }
            State::Up => {
                if self.is_time_to_go_down(rs) {
                    self.start_down(ack.now);
                }
            }
            State::Startup | State::Drain | State::ProbeRtt => {}
        }
    }

    /// IsTimeToProbeBW.
    fn is_time_to_probe(&self, now: Time) -> bool {
        let elapsed = millis(now).wrapping_sub(self.clock) > u32::from(self.bw_probe_wait);
        // IsRenoCoexistenceProbeTime.
        elapsed || u32::from(self.rounds_since_probe) >= self.target_inflight().min(PROBE_ROUNDS)
    }

    fn is_time_to_cruise(&self, in_flight: u32) -> bool {
        in_flight <= self.inflight_with_headroom() && in_flight <= self.inflight(self.max_bw(), 1.0)
    }

    fn is_time_to_go_down(&mut self, rs: &RateSample) -> bool {
        if self.cwnd_limited() && self.cwnd >= self.inflight_longterm {
            // The bound holds the rate down: no plateau of the path.
            self.reset_full_bw(rs.rate as f32);
            return false;
        }
        self.flags.full_bw_now
    }

    /// CheckProbeRTT and HandleProbeRTT.
    fn check_probe_rtt(&mut self, ack: &Ack<Stamp>, rs: &RateSample) {
        let expired = self.flags.probe_rtt_expired && !self.flags.idle_restart;
        if self.state != State::ProbeRtt && expired {
            self.state = State::ProbeRtt;
            self.save_cwnd();
            self.flags.probe_rtt_timed = false;
            self.ack_phase = AckPhase::ProbeStopping;
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            self.sampler.mark_limited(ack.in_flight);
            if self.flags.probe_rtt_timed {
                self.flags.probe_rtt_round_done |= self.flags.round_start;
                if self.flags.probe_rtt_round_done {
                    self.check_probe_rtt_done(ack.now);
                }
            } else if ack.in_flight <= self.probe_rtt_cwnd() {
                self.clock = millis(ack.now).wrapping_add(PROBE_RTT_MS);
                (self.flags.probe_rtt_timed, self.flags.probe_rtt_round_done) = (true, false);
                self.start_round();
            }
        }
        if rs.delivered > 0 {
            self.flags.idle_restart = false;
        }
    }

    /// CheckProbeRTTDone and ExitProbeRTT.
    fn check_probe_rtt_done(&mut self, now: Time) {
        if !self.flags.probe_rtt_timed || !after(millis(now), self.clock) {
            return;
        }
        self.flags.probe_rtt_timed = false;
        self.probe_rtt_min_stamp = millis(now);
        self.restore_cwnd();
        self.reset_short_term();
        if self.flags.full_bw_reached {
            self.start_down(now);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }
}

// Control.
impl Bbr3 {
    fn rate(&self, packets_per_second: f64, gain: f32) -> f32 {
        let bits = packets_per_second * f64::from(self.packet_bytes) * 8.0;
        (bits * f64::from(gain) * (1.0 - f64::from(self.pacing_margin))) as f32
    }

    /// InitPacingRate.
    fn init_pacing(&mut self, rtt: Span) {
        let rtt = rtt.as_secs().max(1e-6);
        self.pacing = self.rate(f64::from(self.initial_cwnd) / rtt, STARTUP_PACING_GAIN);
    }

    /// SetPacingRateWithGain.
    fn set_pacing(&mut self, gain: f32) {
        let rate = self.rate(f64::from(self.bw), gain);
        if self.flags.full_bw_reached || rate > self.pacing {
            self.pacing = rate;
        }
    }

    fn save_cwnd(&mut self) {
        let good = self.episode.state() == Mending::Open && self.state != State::ProbeRtt;
        self.prior_cwnd = if good { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    fn probe_rtt_cwnd(&self) -> u32 {
        self.bdp(self.bw, PROBE_RTT_CWND_GAIN).max(MIN_PIPE_CWND)
    }

    /// SetCwnd, with UpdateMaxInflight, BoundCwndForProbeRTT and BoundCwndForModel.
    fn set_cwnd(&mut self, acked: u32) {
        let extra = ceil(f64::from(self.aggregates.most()));
        let most = self.quantize(self.bdp(self.bw, self.gains().1).saturating_add(extra));
        if self.flags.full_bw_reached {
            self.cwnd = self.cwnd.saturating_add(acked).min(most);
        } else if self.cwnd < most || self.sampler.delivered() < self.initial_cwnd {
            self.cwnd = self.cwnd.saturating_add(acked);
        }
        self.cwnd = self.cwnd.max(MIN_PIPE_CWND);
        let cap = match self.state {
            State::ProbeRtt => {
                self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
                self.inflight_with_headroom()
            }
            State::Cruise => self.inflight_with_headroom(),
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::Startup | State::Drain => NO_BOUND,
        };
        self.cwnd = self.cwnd.min(cap.min(self.inflight_shortterm).max(MIN_PIPE_CWND));
    }
}

impl Sender for Bbr3 {
    type Params = Bbr3Params;
    type Header = Stamp;
    type Receiver = Echo<Stamp>;

    fn new(params: &Bbr3Params, context: &SenderContext) -> Bbr3 {
        let initial_cwnd = (context.initial_window as u32).max(1);
        let mut bbr = Bbr3 {
            sampler: RateSampler::NEW,
            episode: Episode::default(),
            dice: Dice::new(&context.stream),
            aggregates: Aggregates::default(),
            min_rtt: f32::INFINITY,
            probe_rtt_min_delay: f32::INFINITY,
            min_rtt_stamp: 0,
            probe_rtt_min_stamp: 0,
            clock: 0,
            bw_probe_wait: 0,
            rounds_since_probe: 0,
            max_bw: [0.0; 2],
            bw: 0.0,
            bw_latest: 0.0,
            bw_shortterm: f32::INFINITY,
            full_bw: 0.0,
            inflight_latest: 0,
            inflight_shortterm: NO_BOUND,
            inflight_longterm: NO_BOUND,
            cwnd: initial_cwnd,
            prior_cwnd: 0,
            in_flight: 0,
            initial_cwnd,
            pacing: 1.0,
            next_round: 0,
            loss_round: 0,
            round_count: 0,
            probe_up_acks: 0,
            probe_up_count: u32::MAX,
            probe_up_rounds: 0,
            full_bw_count: 0,
            loss_events: 0,
            state: State::Startup,
            ack_phase: AckPhase::Init,
            flags: Flags::default(),
            packet_bytes: context.packet_bytes,
            loss_thresh: params.loss_thresh as f32,
            beta: params.beta as f32,
            headroom: params.headroom as f32,
            pacing_margin: params.pacing_margin as f32,
            probe_rtt_interval_ms: millis(Time::ZERO + params.probe_rtt_interval),
            marks: Marks {
                alpha: 1.0,
                delivered: 0,
                ce: 0,
                startup_rounds: 0,
                high: false,
                used: params.ecn,
            },
        };
        bbr.init_pacing(Span::from_millis(1));
        bbr
    }

    fn ecn(&self) -> EcnUse {
        if self.marks.used { EcnUse::Codes(Ecn::Ect0) } else { EcnUse::None }
    }

    fn on_send(&mut self, segment: &Departing) -> Stamp {
        // HandleRestartFromIdle.
        if segment.in_flight == 0 && self.sampler.limited() {
            self.flags.idle_restart = true;
            self.aggregates.start = segment.now;
            if self.in_probe_bw() {
                self.set_pacing(1.0);
            } else if self.state == State::ProbeRtt {
                self.check_probe_rtt_done(segment.now);
            }
        }
        self.flags.cwnd_limited[0] |= segment.in_flight.saturating_add(1) >= self.cwnd;
        self.episode.on_send(segment);
        self.sampler.on_send(segment, f64::from(self.cwnd))
    }

    /// UpdateOnACK.
    fn on_ack(&mut self, ack: &Ack<Stamp>) {
        let mut rs = self.sampler.on_ack(ack);
        let (before, state) = self.episode.on_ack(ack);
        if before != Mending::Open && state == Mending::Open {
            self.restore_cwnd();
        }
        if rs.newly_lost > 0 {
            self.on_lost(ack.now, &mut rs);
        }
        self.marks.on_ack(ack);
        self.update_latest(&rs);
        self.update_signals(&rs);
        self.update_aggregation(ack.now, &rs);
        self.check_full_bw(&rs);
        self.check_startup(&rs);
        self.check_drain(ack);
        self.update_cycle(ack, &rs);
        self.update_min_rtt(ack);
        self.check_probe_rtt(ack, &rs);
        self.advance_latest(&rs);
        self.bw = self.max_bw().min(self.bw_shortterm); // BoundBWForModel
        if let Some(srtt) = ack.srtt
            && !self.flags.has_seen_rtt
        {
            self.flags.has_seen_rtt = true;
            self.init_pacing(srtt);
        }
        self.set_pacing(self.gains().0);
        self.set_cwnd(ack.delivered);
        self.in_flight = ack.in_flight;
    }

    fn on_loss(&mut self, loss: &Loss) {
        match loss.kind {
            LossKind::EcnEcho => {}
            LossKind::DupAcks => self.save_cwnd(),
            LossKind::Timeout => {
                self.save_cwnd();
                self.sampler.on_timeout(loss.lost);
                self.note_loss();
                let rs = RateSample {
                    tx_in_flight: loss.lost,
                    lost: loss.lost,
                    limited: self.sampler.limited(),
                    ..RateSample::default()
                };
                if self.flags.probe_samples && self.too_lossy(&rs) {
                    self.handle_too_high(loss.now, &rs);
                }
                self.episode.on_timeout();
                self.cwnd = 1; // C.inflight + 1, as all that was out counts as lost
            }
        }
    }

    #[inline]
    fn cwnd(&self) -> f64 {
        f64::from(self.cwnd)
    }

    #[inline]
    fn pacing(&self) -> Option<Rate> {
        Some(Rate((self.pacing as u64).max(1)))
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("cwnd", "pkts", "congestion window"),
        Variable::new("in_flight", "pkts", "in the network after the last ACK"),
        Variable::new("bw", "bit/s", "the rate in use, the lesser of max_bw and bw_shortterm"),
        Variable::new("max_bw", "bit/s", "the highest delivery rate of this cycle and the last"),
        Variable::new("bw_shortterm", "bit/s", "bound on bw from losses since the last probe"),
        Variable::new("min_rtt", "s", "the least RTT of the last 10 s"),
        Variable::new("bdp", "pkts", "bandwidth-delay product, bw times min_rtt"),
        Variable::new(
            "inflight_longterm",
            "pkts",
            "bound on what is in flight, from the last probes that lost too much (inflight_hi)",
        ),
        Variable::new(
            "inflight_shortterm",
            "pkts",
            "bound on what is in flight, from losses since the last probe (inflight_lo)",
        ),
        Variable::new(
            "state",
            "",
            "state: 0 Startup, 1 Drain, 2 DOWN, 3 CRUISE, 4 REFILL, 5 UP, 6 ProbeRTT",
        ),
        Variable::new("pacing_gain", "", "pacing rate over bw, but for the margin"),
        Variable::new("cwnd_gain", "", "BDPs that the window is to hold"),
        Variable::new("pacing_rate", "bit/s", "pacing rate"),
        Variable::new("ecn_alpha", "", "average share of marks per round; 1 without ECN"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        let (pacing_gain, cwnd_gain) = self.gains();
        let bits = f64::from(self.packet_bytes) * 8.0;
        let bound = |packets| if packets == NO_BOUND { f64::INFINITY } else { f64::from(packets) };
        sink("cwnd", f64::from(self.cwnd));
        sink("in_flight", f64::from(self.in_flight));
        sink("bw", f64::from(self.bw) * bits);
        sink("max_bw", f64::from(self.max_bw()) * bits);
        sink("bw_shortterm", f64::from(self.bw_shortterm) * bits);
        sink("min_rtt", f64::from(self.min_rtt));
        sink("bdp", f64::from(self.bdp(self.bw, 1.0)));
        sink("inflight_longterm", bound(self.inflight_longterm));
        sink("inflight_shortterm", bound(self.inflight_shortterm));
        sink("state", f64::from(self.state as u8));
        sink("pacing_gain", f64::from(pacing_gain));
        sink("cwnd_gain", f64::from(cwnd_gain));
        sink("pacing_rate", f64::from(self.pacing));
        sink("ecn_alpha", f64::from(self.marks.alpha));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ack, ack_after, departing, loss, ms, near, sender_context};

    const RTT: Span = Span::from_millis(40);

    fn bbr() -> Bbr3 {
        Bbr3::new(&Bbr3Params::default(), &sender_context(10.0))
    }

    /// In a state of ProbeBW on a path of 1000 packets/s and 40 ms, a BDP of 40 packets, with a window
    /// of 80; 1000 packets are delivered.
    fn probing(state: State) -> Bbr3 {
        let mut bbr = bbr();
        (bbr.max_bw, bbr.bw) = ([1000.0, 0.0], 1000.0);
        (bbr.min_rtt, bbr.probe_rtt_min_delay, bbr.cwnd) = (0.04, 0.04, 80);
        (bbr.flags.full_bw_reached, bbr.flags.has_seen_rtt) = (true, true);
        (bbr.state, bbr.bw_probe_wait) = (state, 2500);
        bbr.set_pacing(1.0);
        bbr.sampler.on_ack(&ack(1000));
        bbr
    }

    fn sample(rate: f64) -> RateSample {
        RateSample { rate, valid: true, delivered: 40, newly_acked: 1, ..RateSample::default() }
    }

    fn lossy(tx_in_flight: u32, lost: u32, newly_lost: u32) -> RateSample {
        RateSample { tx_in_flight, lost, newly_lost, ..sample(1000.0) }
    }

    #[test]
    fn the_first_rate_is_a_window_per_round_trip() {
        // 10*8000 bits in 1 ms, times 2.77, less 1 %: 219.384 Mb/s; in 40 ms 5.4846 Mb/s.
        let mut bbr = bbr();
        assert!((bbr.pacing / 219.384e6 - 1.0).abs() < 1e-6);
        let header = bbr.on_send(&departing());
        bbr.on_ack(&Ack { header, in_flight: 9, ..ack_after(ms(40), RTT) });
        assert!((bbr.pacing / 5.4846e6 - 1.0).abs() < 1e-6 && bbr.cwnd == 11);
        assert_eq!((bbr.bw, bbr.min_rtt), (25.0, 0.04));
    }

    #[test]
    fn gains_are_those_of_the_table() {
        let gains = |state| probing(state).gains();
        assert_eq!(gains(State::Startup), (2.77, 2.0));
        assert_eq!(gains(State::Drain), (0.5, 2.0));
        assert_eq!((gains(State::Down), gains(State::Cruise)), ((0.9, 2.0), (1.0, 2.0)));
        assert_eq!((gains(State::Refill), gains(State::Up)), ((1.0, 2.0), (1.25, 2.25)));
        assert_eq!(gains(State::ProbeRtt), (1.0, 0.5));
    }

    #[test]
    fn volumes_are_multiples_of_the_bdp() {
        let mut bbr = probing(State::Cruise);
        assert_eq!((bbr.bdp(1000.0, 1.0), bbr.inflight(1000.0, 2.0)), (40, 80));
        assert_eq!(probing(State::Up).inflight(1000.0, 1.25), 52);
        // Three quanta of at least two packets; at 80 Mb/s of 10 kB.
        bbr.min_rtt = 0.001;
        assert_eq!(bbr.inflight(1000.0, 1.0), 6);
        bbr.pacing = 80e6;
        assert_eq!(bbr.inflight(1000.0, 1.0), 30);
        bbr.inflight_longterm = 100;
        assert_eq!(bbr.inflight_with_headroom(), 85);
        bbr.inflight_longterm = 5;
        assert_eq!(bbr.inflight_with_headroom(), 4);
        bbr.min_rtt = f32::INFINITY;
        assert_eq!(bbr.bdp(1000.0, 1.0), 10);
    }

    #[test]
    fn startup_ends_at_a_plateau_or_at_losses() {
        let mut bbr = probing(State::Startup);
        (bbr.flags.full_bw_reached, bbr.flags.round_start) = (false, true);
        for (rate, count) in [(100.0, 0), (124.0, 1), (125.0, 0), (150.0, 1), (156.0, 2)] {
            bbr.check_full_bw(&sample(rate));
            assert_eq!((bbr.full_bw_count, bbr.flags.full_bw_reached), (count, false));
        }
        bbr.check_full_bw(&sample(156.0));
        bbr.check_startup(&sample(156.0));
        assert_eq!((bbr.flags.full_bw_now, bbr.state), (true, State::Drain));
        bbr.check_drain(&Ack { in_flight: 41, ..ack(1) });
        assert_eq!(bbr.state, State::Drain);
        bbr.check_drain(&Ack { in_flight: 40, ..ack(1) });
        assert_eq!(bbr.state, State::Down);

        // Losses: six ACKs that show some, a round, recovery, and more than 2 % of 300.
        let mut bbr = probing(State::Startup);
        bbr.flags.full_bw_reached = false;
        bbr.episode.on_ack(&Ack { recovering: true, ..ack::<Stamp>(0) });
        for n in 1..=6 {
            bbr.flags.loss_round_start = n == 6;
            bbr.inflight_latest = 90;
            bbr.check_startup(&lossy(300, if n == 6 { 7 } else { 6 }, 1));
            assert_eq!(bbr.state == State::Drain, n == 6);
        }
        assert_eq!(bbr.inflight_longterm, 90);
    }

    /// 0.7 of the bounds or what is delivered, whichever is more, once per round of losses; not while
    /// probing.
    #[test]
    fn losses_lower_the_short_term_bounds_once_per_round() {
        let mut bbr = probing(State::Cruise);
        (bbr.flags.loss_in_round, bbr.flags.loss_round_start) = (true, true);
        (bbr.bw_latest, bbr.inflight_latest) = (900.0, 36);
        bbr.update_signals(&sample(0.0));
        assert_eq!((bbr.bw_shortterm, bbr.inflight_shortterm), (900.0, 56));
        assert!(!bbr.flags.loss_in_round);
        bbr.update_signals(&sample(0.0));
        assert_eq!(bbr.inflight_shortterm, 56);
        bbr.flags.loss_in_round = true;
        (bbr.bw_latest, bbr.inflight_latest) = (100.0, 10);
        bbr.update_signals(&sample(0.0));
        assert!(near(f64::from(bbr.bw_shortterm), f64::from(0.7_f32 * 900.0)));
        assert_eq!(bbr.inflight_shortterm, 39); // 39.2
        bbr.set_cwnd(1);
        assert_eq!(bbr.cwnd, 39);
        let mut up = probing(State::Up);
        (up.flags.loss_in_round, up.flags.loss_round_start) = (true, true);
        up.update_signals(&sample(0.0));
        assert_eq!(up.inflight_shortterm, NO_BOUND);
    }

    /// 3 of 100 lost, of them 2 before: 2 % of 99 is less than 2, so not even a part of this packet fits:
    /// 99. With 2 of 100 nothing happens.
    #[test]
    fn more_than_two_percent_of_losses_end_a_probe_and_bound_what_is_in_flight() {
        let mut bbr = probing(State::Up);
        bbr.flags.probe_samples = true;
        bbr.on_lost(ms(0), &mut lossy(100, 2, 1));
        assert_eq!((bbr.state, bbr.inflight_longterm), (State::Up, NO_BOUND));
        bbr.on_lost(ms(0), &mut lossy(100, 3, 1));
        assert_eq!((bbr.state, bbr.inflight_longterm), (State::Down, 99));
        // Once per probe.
        bbr.on_lost(ms(0), &mut lossy(50, 30, 1));
        assert_eq!(bbr.inflight_longterm, 99);
        // Not below 0.7 of the BDP or of the window; not at all where the application was the limit.
        for (limited, bound) in [(false, 28), (true, NO_BOUND)] {
            let mut bbr = probing(State::Up);
            bbr.flags.probe_samples = true;
            bbr.on_lost(ms(0), &mut RateSample { limited, ..lossy(20, 3, 1) });
            assert_eq!((bbr.state, bbr.inflight_longterm), (State::Down, bound));
        }
    }

    #[test]
    fn the_long_term_bound_rises_by_1_2_4_packets_per_round() {
        let mut bbr = probing(State::Refill);
        (bbr.inflight_longterm, bbr.flags.round_start) = (80, true);
        bbr.update_cycle(&ack(1), &sample(1000.0));
        assert_eq!((bbr.state, bbr.flags.probe_samples), (State::Up, true));
        // One more per 80 ACKs, then per 40, then per 20.
        bbr.flags.cwnd_limited = [true, false];
        for per in [80, 40, 20] {
            assert_eq!(bbr.probe_up_count, per);
            bbr.flags.round_start = false;
            let bound = bbr.inflight_longterm;
            bbr.probe_upward(&RateSample { newly_acked: per - 1, ..sample(1000.0) });
            assert_eq!(bbr.inflight_longterm, bound);
            bbr.flags.round_start = true;
            bbr.probe_upward(&sample(1000.0));
            assert_eq!(bbr.inflight_longterm, bound + 1);
            bbr.inflight_longterm = 80;
        }
        // What was in flight without harm raises it anyway.
        bbr.adapt_long_term(ms(0), &RateSample { tx_in_flight: 95, ..sample(1000.0) });
        assert!(bbr.inflight_longterm >= 95);
    }

    #[test]
    fn a_cycle_goes_down_cruises_refills_and_goes_up() {
        let mut bbr = probing(State::Down);
        bbr.inflight_longterm = 40;
        let step = |bbr: &mut Bbr3, at, in_flight, round_start| {
            bbr.flags.round_start = round_start;
            bbr.update_cycle(&Ack { now: ms(at), in_flight, ..ack(1) }, &sample(1000.0));
            bbr.state
        };
        // To 34 = 40 - 15 %, and no more than the BDP.
        assert_eq!(step(&mut bbr, 10, 35, false), State::Down);
        assert_eq!(step(&mut bbr, 10, 34, false), State::Cruise);
        // Until 2.5 s after the cycle's start, or 40 rounds: the BDP, as Reno.
        assert_eq!(step(&mut bbr, 2500, 34, false), State::Cruise);
        bbr.rounds_since_probe = 39;
        assert_eq!(step(&mut bbr, 2500, 34, false), State::Cruise);
        let mut reno = bbr.clone();
        reno.rounds_since_probe = 40;
        assert_eq!(step(&mut reno, 2500, 34, false), State::Refill);
        bbr.inflight_shortterm = 30;
        assert_eq!(step(&mut bbr, 2501, 34, false), State::Refill);
        assert_eq!(bbr.inflight_shortterm, NO_BOUND);
        assert_eq!(step(&mut bbr, 2510, 34, false), State::Refill);
        assert_eq!(step(&mut bbr, 2541, 40, true), State::Up);
        // Not while the bound holds it down; at a plateau else.
        (bbr.flags.full_bw_now, bbr.flags.cwnd_limited) = (true, [true, false]);
        assert_eq!(step(&mut bbr, 2600, 40, false), State::Up);
        (bbr.flags.full_bw_now, bbr.inflight_longterm) = (true, NO_BOUND);
        assert_eq!(step(&mut bbr, 2600, 40, false), State::Down);
        assert!((2000..3000).contains(&bbr.bw_probe_wait) && bbr.rounds_since_probe < 2);
        // A round later the filter forgets the cycle before the last.
        bbr.max_bw = [1200.0, 1000.0];
        step(&mut bbr, 2641, 60, true);
        assert_eq!(bbr.max_bw, [1000.0, 0.0]);
    }

    #[test]
    fn probe_rtt_halves_the_bdp_each_five_seconds() {
        let mut bbr = probing(State::Cruise);
        let mut on_ack = |at: u64, in_flight| {
            let header = bbr.on_send(&Departing { now: ms(at), in_flight, ..departing() });
            let rtt = Span::from_millis(42);
            bbr.on_ack(&Ack { header, in_flight, ..ack_after(ms(at), rtt) });
            (bbr.state, bbr.cwnd)
        };
        (0..2).for_each(|_| assert_eq!(on_ack(2000, 40).0, State::Cruise));
        assert_ne!(on_ack(5000, 40).0, State::ProbeRtt);
        assert_eq!(on_ack(5001, 40), (State::ProbeRtt, 20));
        assert_eq!(on_ack(5040, 20), (State::ProbeRtt, 20));
        assert_eq!(on_ack(5240, 20).0, State::ProbeRtt);
        let (state, cwnd) = on_ack(5241, 20);
        assert!(state == State::Cruise && cwnd >= 80, "{cwnd}");
        // The RTT is that of the last ten seconds, 40 ms up to then.
        assert_eq!((bbr.min_rtt, bbr.probe_rtt_min_delay), (0.04, 0.042));
        bbr.on_ack(&ack_after(ms(10_001), Span::from_millis(45)));
        assert_eq!(bbr.min_rtt, 0.042);
    }

    #[test]
    fn a_timeout_starts_from_one_packet_and_bounds_a_probe() {
        let mut bbr = probing(State::Up);
        bbr.flags.probe_samples = true;
        bbr.on_loss(&Loss { lost: 50, ..loss(LossKind::Timeout, 500) });
        assert_eq!((bbr.cwnd, bbr.prior_cwnd, bbr.inflight_longterm), (1, 80, 50));
        assert_eq!(bbr.state, State::Down);
        bbr.on_ack(&ack(1));
        assert_eq!(bbr.cwnd, 50);
    }

    /// Half the packets of a round marked: alpha = 1 + (0.5 - 1)/16 = 0.968 75 takes 32.3 % off 80.
    #[test]
    fn marks_take_off_a_third_of_alpha() {
        let params = Bbr3Params { ecn: true, ..Bbr3Params::default() };
        let plain = probing(State::Cruise);
        let mut bbr = Bbr3 { marks: Bbr3::new(&params, &sender_context(10.0)).marks, ..plain };
        assert_eq!((bbr.ecn(), self::bbr().ecn()), (EcnUse::Codes(Ecn::Ect0), EcnUse::None));
        for code in [Ecn::Ce, Ecn::Ect0] {
            bbr.marks.on_ack(&Ack { code, ..ack(10) });
        }
        bbr.flags.loss_round_start = true;
        bbr.update_signals(&sample(0.0));
        assert_eq!((bbr.marks.alpha, bbr.marks.high), (0.968_75, true));
        assert_eq!((bbr.inflight_shortterm, bbr.bw_shortterm), (54, f32::INFINITY)); // 54.17
        // It ends a probe.
        (bbr.state, bbr.flags.probe_samples) = (State::Up, true);
        bbr.adapt_long_term(ms(0), &RateSample { tx_in_flight: 90, ..sample(1000.0) });
        assert_eq!((bbr.state, bbr.inflight_longterm), (State::Down, 90));
    }

    #[test]
    fn acks_in_bursts_raise_the_window() {
        let mut bbr = probing(State::Cruise);
        // 30 at once where 1000/s are expected, then 10 after 10 ms: 30, then 40 - 10.
        bbr.update_aggregation(ms(100), &RateSample { newly_acked: 30, ..sample(0.0) });
        assert_eq!(bbr.aggregates.most(), 30.0);
        bbr.update_aggregation(ms(110), &RateSample { newly_acked: 15, ..sample(0.0) });
        assert!((bbr.aggregates.most() - 35.0).abs() < 1e-3);
        bbr.set_cwnd(100);
        assert!((115..=116).contains(&bbr.cwnd), "{}", bbr.cwnd); // 80 and 35, rounded up
    }
}

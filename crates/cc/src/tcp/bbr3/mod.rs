//! BBR, version 3. Cardwell, Swett, Beshay, "BBR congestion control", draft-ietf-ccwg-bbr-06
//! (2026); what it leaves open as in Google's Linux code (github.com/google/bbr, branch v3, 2023).
//!
//! The model of the path has, besides BtlBw and RTprop, bounds on what may be in flight, learnt
//! from losses: `inflight_longterm` (first called inflight_hi), beyond which a probe lost more than
//! 2 %, and `inflight_shortterm` (inflight_lo) with `bw_shortterm`, which follow what is delivered
//! while losses go on, down to 0.7 of themselves per round. ProbeBW goes DOWN (0.90 of the rate,
//! until the queue is gone and 15 % below the bound), CRUISEs at the rate, REFILLs the pipe for a
//! round with the short-term bounds forgotten, and goes UP with 1.25 until the rate does not grow
//! for three rounds or 2 % are lost. A new cycle begins after 2 to 3 s, or after as many rounds as
//! Reno would need between two losses, 63 at most. After a probe that lost too much the next one
//! stops at the bound, and if that was safe a full one follows at once. ProbeRTT comes each 5 s and
//! halves what is in flight for 200 ms; RTprop is the least RTT of 10 s.
//!
//! This file has the model of the path and the two controls; `startup`, `drain`, `probe_bw` and
//! `probe_rtt` the states, `bounds` what losses leave, `undo` what takes that back where nothing
//! was lost, `marks` ECN.
//!
//! ```math
//! rate = 0.99*pacing_gain*bw  at which packets leave
//! cwnd = cwnd_gain*bw*RTprop  at most in flight, and never beyond the bounds learnt from losses
//! ```
//!
//! Deviations:
//! - D1: of lost packets only the number per ACK is known. For HandleLostPacket (5.5.10.2) the
//!   packet that the ACK acknowledges stands for those it showed to be lost, which were sent just
//!   before it; the prefix is not negative, as in Linux. What the timer gives up was in flight
//!   together, and that was too much.
//! - D2: Startup's exit by losses (5.3.1.3) counts ACKs that show new losses, as Linux does, for
//!   discontiguous ranges.
//! - D3: a cycle without a sample of its own does not move the filter of rates on (as in Linux).
//! - D4: spurious recoveries are detected here and not by the transport, which goes on with what it
//!   began: by the Eifel algorithm (RFC 3522), for which the packets' stamps serve as timestamps.
//! - D5: the recovery is taken to have SACK; as with version 1, without it samples exceed the
//!   path's rate.
//! - D6: packets leave one by one: the send quantum only makes the offload budget.
//! - D7: volumes are whole packets, a BDP rounded up, a share of a bound down. The filter for
//!   aggregated ACKs, version 1's, and the times in packets' stamps are in single precision.
//! - D8: ECN is not in the draft; with `ecn = true` it is Linux's (v3): packets are ECT(0)
//!   (`ect1`: ECT(1)), for queues that mark early and shallow, and each ACK echoes its packet's
//!   mark; alpha is the share of marks, averaged per round with gain 1/16; a marked round takes
//!   alpha/3 off inflight_shortterm; a round with half its packets marked ends UP as 2 % of losses
//!   do, and two of them Startup. Marks are counted per round, not per flight; at any RTT (Linux:
//!   up to 5 ms); no early probe when marks cease; no PLB.
//! - D9: for a precaution's end (5.3.3.6) C.inflight is what was in flight before the ACK, as in
//!   Linux: after an ACK, what a window lets out that the bound holds is always below the bound.
//! - D10: losses that end Startup set full_bw_now, too, as test case 10.2 has it; 5.3.1.3 names
//!   full_bw_reached alone. UP, which alone reads it, begins by clearing it.
//!
//! Where Linux (Google's branch v3, 2023) departs from the draft, and so from this:
//! - growth of the rate is looked for at every ACK; only rounds without it are counted at their
//!   starts.
//! - Drain begins with the signals of congestion cleared, compares with the BDP of max_bw, and
//!   does not end by time.
//! - CRUISE begins by taking inflight_shortterm down to inflight_longterm.
//! - the phases of ProbeBW go by what was in flight before the ACK, and will be when the next
//!   packet leaves.
//! - a recovery saves the bounds once, when it begins; undoing it restores them and the window,
//!   and leaves the state as it is. (The draft saves them in each round with losses, and once more
//!   after a probe that losses ended, so that a second loss forgets what the first one ended.)
//! - a timeout forgets the plateau and, outside of probes, makes the window from before it
//!   inflight_shortterm if there is none; a tail that TLP repaired counts as one packet lost.
//! - ACKs of a flow that the application limits may leave the model as it is.

mod bounds;
mod drain;
mod marks;
mod probe_bw;
mod probe_rtt;
mod startup;
mod undo;

use core::fmt;

use units::{Rate, Span, Time};

use self::bounds::Bounds;
use self::marks::Marks;
use self::probe_bw::Cycle;
use self::probe_rtt::LeastRtt;
use self::startup::Pipe;
use self::undo::Undo;
use crate::roles::{Ack, Departing, Echo, EcnUse, Loss, LossKind, Sender, SenderContext, Variable};
use crate::tcp::delivery::{RateSample, RateSampler, Stamp, after};
use crate::tcp::model::{Aggregates, Dice, Episode, Mending, describe};

params! {
    /// The sender's parameters.
    pub struct Bbr3Params {
        /// BBR.LossThresh: share of losses per round that a probe for bandwidth may cause
        /// (section 2.8).
        loss_thresh: f64 = 0.02 => (0.0, 0.9);
        /// BBR.Beta: what a round of losses leaves of the short-term bounds at the least (section
        /// 2.8).
        beta: f64 = 0.7 => (0.1, 1.0);
        /// BBR.Headroom: share of inflight_longterm left to others while cruising (section 2.8).
        headroom: f64 = 0.15 => (0.0, 0.9);
        /// BBR.PacingMarginPercent/100: share of the rate that pacing leaves unused (section 2.5).
        pacing_margin: f64 = 0.01 => (0.0, 0.5);
        /// BBR.ProbeRTTInterval: least time between two ProbeRTTs (section 2.16.2).
        probe_rtt_interval: Span = Span::from_secs(5) => (0.1, 1000.0);
        /// Does it use ECN, by Linux's rules for shallow marking (D8)?
        ecn: bool = false;
        /// With ECN: are its packets ECT(1), for an L4S queue, rather than ECT(0)? As `dctcp` it
        /// has not all that RFC 9331 asks of a sender on the Internet.
        ect1: bool = false;
    }
}

/// BBR.StartupPacingGain, 4 ln 2.
const STARTUP_PACING_GAIN: f64 = 2.77;
const DRAIN_PACING_GAIN: f64 = 0.5;
const DOWN_PACING_GAIN: f64 = 0.90;
const UP_PACING_GAIN: f64 = 1.25;
/// BBR.DefaultCwndGain, and that of UP and of ProbeRTT.
const CWND_GAIN: f64 = 2.0;
const UP_CWND_GAIN: f64 = 2.25;
const PROBE_RTT_CWND_GAIN: f64 = 0.5;
/// BBR.MinPipeCwnd [packets].
const MIN_PIPE_CWND: u32 = 4;
/// BBR.ExtraAckedFilterLen [rounds].
const EXTRA_ACKED_ROUNDS: u32 = 10;
/// No bound.
const NO_BOUND: u32 = u32::MAX;
/// So near a whole number, rounding errors alone keep a volume from being it: 0.7 of 90 is 63.
const ROUNDING: f64 = 1e-12;

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

/// The end host's part.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    params: Bbr3Params,
    packet_bytes: u32,
    initial_cwnd: u32,
    sampler: RateSampler,
    episode: Episode,
    dice: Dice,
    aggregates: Aggregates,
    state: State,
    pipe: Pipe,
    cycle: Cycle,
    bounds: Bounds,
    undo: Undo,
    marks: Marks,
    least: LeastRtt,
    drain_start_round: u32,
    /// The highest rates of the last cycle and of this one [packets/s].
    max_bw: [f64; 2],
    /// BBR.bw [packets/s].
    bw: f64,
    /// C.pacing_rate [bit/s].
    pacing: f64,
    /// Volumes [packets].
    cwnd: u32,
    prior_cwnd: u32,
    /// After the last ACK [packets], for probes.
    in_flight: u32,
    /// BBR.next_round_delivered, modulo 2^32.
    next_round: u32,
    round_count: u32,
    round_start: bool,
    idle_restart: bool,
    has_seen_rtt: bool,
    /// The last ACK's RS.delivery_rate [packets/s] and RS.is_app_limited, for probes.
    sampled: (f64, bool),
    /// Was the window full in this round, and in the one before?
    cwnd_limited: [bool; 2],
}

/// Whole packets, rounded down.
fn floor(x: f64) -> u32 {
    // The cast rounds down and saturates.
    (x * (1.0 + ROUNDING)) as u32
}

/// Whole packets, rounded up.
fn ceil(x: f64) -> u32 {
    let x = x * (1.0 - ROUNDING);
    let whole = x as u32;
    if f64::from(whole) < x { whole.saturating_add(1) } else { whole }
}

/// A share of a volume, rounded down; of no bound, none.
fn share(of: u32, factor: f64) -> u32 {
    if of == NO_BOUND { NO_BOUND } else { floor(f64::from(of) * factor) }
}

/// A volume as it is shown.
fn bound(packets: u32) -> f64 {
    if packets == NO_BOUND { f64::INFINITY } else { f64::from(packets) }
}

/// A truth as it is shown.
fn flag(is: bool) -> f64 {
    f64::from(u8::from(is))
}

// The model.
impl Bbr3 {
    fn max_bw(&self) -> f64 {
        self.max_bw[0].max(self.max_bw[1])
    }

    /// BDPMultiple.
    fn bdp(&self, bw: f64, gain: f64) -> u32 {
        match self.least.min_rtt {
            Some(rtt) => ceil(bw * rtt.as_secs() * gain),
            None => self.initial_cwnd,
        }
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
    fn inflight(&self, bw: f64, gain: f64) -> u32 {
        self.quantize(self.bdp(bw, gain))
    }

    /// TargetInflight.
    fn target_inflight(&self) -> u32 {
        self.bdp(self.bw, 1.0).min(self.cwnd)
    }

    fn cwnd_limited(&self) -> bool {
        self.cwnd_limited != [false; 2]
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

    /// UpdateMaxBw, with UpdateRound.
    fn update_max_bw(&mut self, rs: &RateSample) {
        self.round_start = rs.valid && !after(self.next_round, rs.prior_delivered);
        if self.round_start {
            self.start_round();
            self.round_count = self.round_count.wrapping_add(1);
            self.cycle.rounds = self.cycle.rounds.saturating_add(1);
            self.cwnd_limited = [false, self.cwnd_limited[0]];
        }
        if rs.rate > 0.0 && (rs.rate >= self.max_bw() || !rs.limited) {
            self.max_bw[1] = self.max_bw[1].max(rs.rate);
        }
    }

    /// AdvanceMaxBwFilter: the cycle before the last is forgotten, unless this one says nothing.
    fn advance_max_bw(&mut self) {
        if self.max_bw[1] > 0.0 {
            self.max_bw = [self.max_bw[1], 0.0];
        }
    }

    /// UpdateACKAggregation.
    fn update_aggregation(&mut self, now: Time, rs: &RateSample) {
        let rounds = if self.pipe.full_bw_reached { EXTRA_ACKED_ROUNDS } else { 1 };
        let (model, rounds) = ((self.bw as f32, self.cwnd), (rounds, self.round_count));
        self.aggregates.update(now, rs.newly_acked, model, rounds);
    }

    /// The table of section 5.6.1.
    fn gains(&self) -> (f64, f64) {
        match self.state {
            State::Startup => (STARTUP_PACING_GAIN, CWND_GAIN),
            State::Drain => (DRAIN_PACING_GAIN, CWND_GAIN),
            State::Down => (DOWN_PACING_GAIN, CWND_GAIN),
            State::Cruise | State::Refill => (1.0, CWND_GAIN),
            State::Up => (UP_PACING_GAIN, UP_CWND_GAIN),
            State::ProbeRtt => (1.0, PROBE_RTT_CWND_GAIN),
        }
    }
}

// What is shown.
impl Bbr3 {
    /// What the states remember, in the order of [`Sender::VARIABLES`].
    fn probe_phases(&self, sink: &mut impl FnMut(&'static str, f64)) {
        let bits = f64::from(self.packet_bytes) * 8.0;
        let (pipe, cycle, undo) = (&self.pipe, &self.cycle, &self.undo);
        sink("full_bw_count", f64::from(pipe.full_bw_count));
        sink("full_bw_now", flag(pipe.full_bw_now));
        sink("full_bw_reached", flag(pipe.full_bw_reached));
        sink("extra_acked", f64::from(self.aggregates.most()));
        sink("inflight_full", f64::from(self.inflight(self.bw, 1.0)));
        sink("inflight_headroom", bound(self.inflight_with_headroom()));
        sink("bw_probe_wait", cycle.wait.as_secs());
        sink("prev_probe_too_high", flag(cycle.too_high));
        sink("prev_probe_precautionary", flag(cycle.precautionary));
        let least = self.least.probe_rtt_min_delay;
        sink("probe_rtt_min_delay", least.map_or(f64::INFINITY, Span::as_secs));
        sink("idle_restart", flag(self.idle_restart));
        sink("undo_state", undo.state.map_or(-1.0, |state| f64::from(state as u8)));
        sink("undo_bw_shortterm", undo.bw_shortterm * bits);
        sink("undo_inflight_shortterm", bound(undo.inflight_shortterm));
        sink("undo_inflight_longterm", bound(undo.inflight_longterm));
        sink("undone", f64::from(undo.undone));
    }
}

// Control.
impl Bbr3 {
    fn rate(&self, packets_per_second: f64, gain: f64) -> f64 {
        let bits = packets_per_second * f64::from(self.packet_bytes) * 8.0;
        bits * gain * (1.0 - self.params.pacing_margin)
    }

    /// InitPacingRate.
    fn init_pacing(&mut self, rtt: Span) {
        let rtt = rtt.as_secs().max(1e-6);
        let bits = f64::from(self.initial_cwnd) * f64::from(self.packet_bytes) * 8.0;
        self.pacing = STARTUP_PACING_GAIN * bits / rtt;
    }

    /// SetPacingRateWithGain.
    fn set_pacing(&mut self, gain: f64) {
        let rate = self.rate(self.bw, gain);
        if self.pipe.full_bw_reached || rate > self.pacing {
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

    /// SetCwnd, with UpdateMaxInflight, BoundCwndForProbeRTT and BoundCwndForModel.
    fn set_cwnd(&mut self, acked: u32) {
        let extra = ceil(f64::from(self.aggregates.most()));
        let most = self.quantize(self.bdp(self.bw, self.gains().1).saturating_add(extra));
        if self.pipe.full_bw_reached {
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
            State::Down | State::Refill | State::Up => self.bounds.inflight_longterm,
            State::Startup | State::Drain => NO_BOUND,
        };
        self.cwnd = self.cwnd.min(cap.min(self.bounds.inflight_shortterm).max(MIN_PIPE_CWND));
    }
}

impl Sender for Bbr3 {
    type Params = Bbr3Params;
    type Header = Stamp;
    type Receiver = Echo<Stamp>;

    fn new(params: &Bbr3Params, context: &SenderContext) -> Bbr3 {
        let initial_cwnd = (context.initial_window as u32).max(1);
        let mut bbr = Bbr3 {
            params: params.clone(),
            packet_bytes: context.packet_bytes,
            initial_cwnd,
            sampler: RateSampler::NEW,
            episode: Episode::default(),
            dice: Dice::new(&context.stream),
            aggregates: Aggregates::default(),
            state: State::Startup,
            pipe: Pipe::default(),
            cycle: Cycle::NEW,
            bounds: Bounds::NEW,
            undo: Undo::default(),
            marks: Marks::new(params.ecn, params.ect1),
            least: LeastRtt::default(),
            drain_start_round: 0,
            max_bw: [0.0; 2],
            bw: 0.0,
            pacing: 1.0,
            cwnd: initial_cwnd,
            prior_cwnd: 0,
            in_flight: 0,
            next_round: 0,
            round_count: 0,
            round_start: false,
            idle_restart: false,
            has_seen_rtt: false,
            sampled: (0.0, false),
            cwnd_limited: [false; 2],
        };
        bbr.init_pacing(Span::from_millis(1));
        bbr
    }

    fn ecn(&self) -> EcnUse {
        self.marks.using
    }

    fn counts_marks(&self) -> bool {
        self.marks.using != EcnUse::None
    }

    fn on_send(&mut self, segment: &Departing) -> Stamp {
        // HandleRestartFromIdle.
        if segment.in_flight == 0 && self.sampler.limited() {
            self.idle_restart = true;
            self.aggregates.start = segment.now;
            if self.in_probe_bw() {
                self.set_pacing(1.0);
            } else if self.state == State::ProbeRtt {
                self.check_probe_rtt_done(segment.now);
            }
        }
        self.cwnd_limited[0] |= segment.in_flight.saturating_add(1) >= self.cwnd;
        self.episode.on_send(segment);
        self.undo.on_send(segment);
        self.sampler.on_send(segment, f64::from(self.cwnd))
    }

    /// UpdateOnACK.
    fn on_ack(&mut self, ack: &Ack<Stamp>) {
        let mut rs = self.sampler.on_ack(ack);
        let (before, state) = self.episode.on_ack(ack);
        if before != Mending::Open && state == Mending::Open {
            self.restore_cwnd();
        }
        if self.undo.is_spurious(ack, state) {
            self.undo_loss();
        }
        if rs.newly_lost > 0 {
            self.on_lost(ack.now, &mut rs);
        }
        self.marks.on_ack(ack);
        self.bounds.update_latest(&rs, self.sampler.delivered());
        self.update_signals(&rs);
        self.update_aggregation(ack.now, &rs);
        self.check_full_bw(&rs);
        self.check_startup(&rs);
        self.check_drain(ack);
        self.update_cycle(ack, &rs);
        self.update_min_rtt(ack);
        self.check_probe_rtt(ack, &rs);
        self.bounds.advance_latest(&rs);
        self.bw = self.max_bw().min(self.bounds.bw_shortterm); // BoundBWForModel
        if let Some(srtt) = ack.srtt
            && !self.has_seen_rtt
        {
            self.has_seen_rtt = true;
            self.init_pacing(srtt);
        }
        self.set_pacing(self.gains().0);
        self.set_cwnd(ack.delivered);
        (self.in_flight, self.sampled) = (ack.in_flight, (rs.rate, rs.limited));
    }

    fn on_loss(&mut self, loss: &Loss) {
        match loss.kind {
            LossKind::EcnEcho => {}
            LossKind::DupAcks => {
                self.save_state();
                self.undo.watch();
            }
            LossKind::Timeout => {
                self.save_state();
                self.undo.watch();
                self.sampler.on_timeout(loss.lost);
                self.note_loss();
                let rs = RateSample {
                    tx_in_flight: loss.lost,
                    lost: loss.lost,
                    limited: self.sampler.limited(),
                    ..RateSample::default()
                };
                if self.cycle.samples && self.too_lossy(&rs) {
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

    fn paces(&self) -> bool {
        true
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
        Variable::new("delivery_rate", "bit/s", "the last ACK's delivery-rate sample; 0 if none"),
        Variable::new("app_limited", "", "is that sample limited by the application?"),
        Variable::new("round_count", "", "packet-timed round trips"),
        Variable::new("full_bw_count", "", "rounds in which the rate grew by less than 25 %"),
        Variable::new("full_bw_now", "", "does this probe have all the bandwidth?"),
        Variable::new("full_bw_reached", "", "has the flow ever had it?"),
        Variable::new("extra_acked", "pkts", "by how much ACKs ran ahead of bw, at most"),
        Variable::new("inflight_full", "pkts", "in flight where the pipe is full: Inflight(1.0)"),
        Variable::new("inflight_headroom", "pkts", "inflight_longterm less the headroom"),
        Variable::new("bw_probe_wait", "s", "longest wait for the next probe, from DOWN's start"),
        Variable::new("prev_probe_too_high", "", "did the last probe lose more than 2 %?"),
        Variable::new(
            "prev_probe_precautionary",
            "",
            "did the last UP end at the bound, as a precaution?",
        ),
        Variable::new("probe_rtt_min_delay", "s", "the least RTT since the last ProbeRTT"),
        Variable::new("idle_restart", "", "does it start from idle, before the first ACK?"),
        Variable::new(
            "undo_state",
            "",
            "state to return to if nothing was lost: 0 Startup, 5 UP; -1 as it is",
        ),
        Variable::new("undo_bw_shortterm", "bit/s", "bw_shortterm before the last losses"),
        Variable::new(
            "undo_inflight_shortterm",
            "pkts",
            "inflight_shortterm before the last losses",
        ),
        Variable::new("undo_inflight_longterm", "pkts", "inflight_longterm before the last losses"),
        Variable::new("undone", "", "recoveries found to be spurious, and undone"),
        Variable::new("ecn_alpha", "", "average share of marks per round; 1 without ECN"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        let (pacing_gain, cwnd_gain) = self.gains();
        let bits = f64::from(self.packet_bytes) * 8.0;
        sink("cwnd", f64::from(self.cwnd));
        sink("in_flight", f64::from(self.in_flight));
        sink("bw", self.bw * bits);
        sink("max_bw", self.max_bw() * bits);
        sink("bw_shortterm", self.bounds.bw_shortterm * bits);
        sink("min_rtt", self.least.min_rtt.map_or(f64::INFINITY, Span::as_secs));
        sink("bdp", f64::from(self.bdp(self.bw, 1.0)));
        sink("inflight_longterm", bound(self.bounds.inflight_longterm));
        sink("inflight_shortterm", bound(self.bounds.inflight_shortterm));
        sink("state", f64::from(self.state as u8));
        sink("pacing_gain", pacing_gain);
        sink("cwnd_gain", cwnd_gain);
        sink("pacing_rate", self.pacing);
        sink("delivery_rate", self.sampled.0 * bits);
        sink("app_limited", flag(self.sampled.1));
        sink("round_count", f64::from(self.round_count));
        self.probe_phases(sink);
        sink("ecn_alpha", self.marks.alpha);
    }

    fn describe(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        let state = match self.state {
            State::Startup => "Startup",
            State::Drain => "Drain",
            State::Down => "ProbeBW DOWN",
            State::Cruise => "CRUISE",
            State::Refill => "REFILL",
            State::Up => "UP",
            State::ProbeRtt => "ProbeRTT",
        };
        let bps = self.bw * f64::from(self.packet_bytes) * 8.0;
        let bdp = self.bdp(self.bw, 1.0);
        let path = self.least.min_rtt.map(|min_rtt| (bps, min_rtt.as_secs(), bdp));
        describe(out, state, self.gains().0, path)?;
        let bounds = [
            ("inflight_longterm", self.bounds.inflight_longterm),
            ("inflight_shortterm", self.bounds.inflight_shortterm),
        ];
        for (name, packets) in bounds.into_iter().filter(|&(_, packets)| packets != NO_BOUND) {
            write!(out, "; {name} {packets} packets")?;
        }
        writeln!(out)
    }
}

#[cfg(test)]
mod tests;

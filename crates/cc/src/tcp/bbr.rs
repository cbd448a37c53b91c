//! BBR, version 1. Cardwell, Cheng, Gunn, Yeganeh, Jacobson, "BBR: congestion-based congestion
//! control", ACM Queue 14(5) 2016 and CACM 60(2) 2017, in the form of Linux 5.0's tcp_bbr.c (which
//! has what the papers leave out: cwnd in recovery, offsets for aggregates, restart from idle).
//!
//! The sender keeps a model of the path: BtlBw, the highest delivery rate of ten rounds, and
//! RTprop, the least RTT of ten seconds. It paces at BtlBw and has two bandwidth-delay products in
//! flight at most. Startup doubles the rate until three rounds bring less than 25 % more, Drain
//! takes back the queue, ProbeBW cycles through eight phases of one RTprop: 1.25 and 0.75 of the
//! rate, then six times the rate itself. If RTprop was not seen again for ten seconds, ProbeRTT
//! holds four packets in flight for 200 ms. A loss as such is no signal.
//!
//! ```math
//! rate = pacing_gain*BtlBw       at which packets leave
//! cwnd = cwnd_gain*BtlBw*RTprop  at most in flight, and three aggregates more
//! ```
//!
//! Deviations:
//! - D1: no long-term (policer) sampling: no token-bucket policer is modelled.
//! - D2: extra window for aggregated ACKs (Linux 5.1) only with `aggregation = true`, over ten
//!   rounds, where Linux has five to ten. A queue that is shared makes aggregates, too: beside
//!   CUBIC in a deep buffer the share rises by a fifth.
//! - D3: packets leave one by one at the pacing rate, never as a TSO aggregate. The window and the
//!   target of Drain still have room for three aggregates, as in Linux; `offload = false` takes it
//!   out.
//! - D4: an RTT sample of a delayed ACK is one (Linux 4.16 skips it when RTprop has expired).
//! - D5: rates are floats in packets/s, RTprop is exact; Linux has 2^-24 packets/us and us.
//! - D6: cwnd after a timeout is 1, as all that was out counts as lost.
//! - D7: without SACK (`recovery` of another kind) what was delivered becomes known late and all at
//!   once: the samples then exceed the path's rate, by ten times and more. The draft (section
//!   4.1.2) says to use SACK.
//! - D8: an ACK that delivers nothing sets the window as any other does: losses come off, recovery
//!   begins or ends, the target caps it. Linux (bbr_set_cwnd) leaves the window as it is, but for
//!   ProbeRTT's.
//! - D9: no handshake, so RTprop begins with the RTT of the first packet. Linux has the handshake's
//!   (bbr_init), which in a queue that is filling is less, and keeps it for ten seconds.

use core::fmt;

use units::{Rate, Span, Time};

use crate::roles::{Ack, Departing, Echo, Loss, LossKind, Sender, SenderContext, Variable};
use crate::tcp::delivery::{RateSample, RateSampler, Stamp, after};
use crate::tcp::model::{Aggregates, Dice, Episode, Mending, WindowedMax, describe};

params! {
    /// The sender's parameters.
    pub struct BbrParams {
        /// High gain: pacing and window gain of Startup, and the inverse of Drain's pacing gain:
        /// 2/ln 2, the least that doubles the rate each round (CACM, "Startup").
        high_gain: f64 = 2.885 => (1.1, 10.0);
        /// Window gain of ProbeBW: BDPs in flight at most (tcp_bbr.c: bbr_cwnd_gain).
        cwnd_gain: f64 = 2.0 => (1.0, 10.0);
        /// Share of the rate that the pacing leaves unused (tcp_bbr.c: bbr_pacing_margin_percent,
        /// 1 % since Linux 5.0; 0 in the papers).
        pacing_margin: f64 = 0.01 => (0.0, 0.5);
        /// W_R: length of the RTprop filter, and so the time between two ProbeRTTs (CACM: 10 s).
        min_rtt_window: Span = Span::from_secs(10) => (0.1, 1000.0);
        /// Least time in ProbeRTT at four packets (tcp_bbr.c: bbr_probe_rtt_mode_ms).
        probe_rtt_time: Span = Span::from_millis(200) => (0.001, 10.0);
        /// Is there room in the window for three aggregates of 1 ms each (tcp_bbr.c:
        /// bbr_tso_segs_goal, bbr_quantization_budget)?
        offload: bool = true;
        /// Is there room in the window for the most that ACKs have lately brought beyond BtlBw
        /// (tcp_bbr.c since Linux 5.1: bbr_ack_aggregation_cwnd)? Not in the papers.
        aggregation: bool = false;
    }
}

/// Rounds in the BtlBw filter (tcp_bbr.c: bbr_bw_rtts = CYCLE_LEN + 2).
const BW_ROUNDS: u32 = 10;
/// Pacing gains of ProbeBW's phases.
const CYCLE: [f32; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Packets in ProbeRTT, and the least window otherwise (bbr_cwnd_min_target).
const MIN_CWND: u32 = 4;
/// What a round must bring for Startup to go on (bbr_full_bw_thresh, bbr_full_bw_cnt).
const FULL_BW_GROWTH: f32 = 1.25;
const FULL_BW_ROUNDS: u8 = 3;
/// TCP_INIT_CWND: below it the model counts for nothing.
const INIT_CWND: u32 = 10;

/// Rounds in the filter for aggregates (bbr_extra_acked_win_rtts, twice).
const EXTRA_ROUNDS: u32 = 10;
/// Most room for aggregates, in time at BtlBw [s] (bbr_extra_acked_max_us).
const EXTRA_SECONDS: f32 = 0.1;

/// State of the state machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// The end host's part.
#[derive(Clone, Debug)]
pub struct Bbr {
    sampler: RateSampler,
    /// BtlBw [packets/s], over rounds.
    bw: WindowedMax,
    episode: Episode,
    dice: Dice,
    /// RTprop.
    min_rtt: Option<Span>,
    min_rtt_stamp: Time,
    /// When ProbeRTT may end, once four packets are in flight.
    probe_rtt_done: Option<Time>,
    /// When ProbeBW's phase began.
    cycle_stamp: Time,
    pacing: Rate,
    /// [packets]
    cwnd: u32,
    /// The window before recovery or ProbeRTT cut it [packets].
    prior_cwnd: u32,
    /// After the last ACK [packets], for probes.
    in_flight: u32,
    /// The round ends with the ACK of a packet sent when so many were delivered.
    next_round: u32,
    round_count: u32,
    /// BtlBw at the last round that brought growth [packets/s].
    full_bw: f32,
    full_bw_count: u8,
    full_bw_reached: bool,
    mode: Mode,
    /// ProbeBW's phase.
    cycle: u8,
    round_start: bool,
    idle_restart: bool,
    probe_rtt_round_done: bool,
    packet_conservation: bool,
    has_seen_rtt: bool,
    offload: bool,
    high_gain: f32,
    cwnd_gain: f32,
    pacing_margin: f32,
    packet_bytes: u32,
    min_rtt_window: Span,
    probe_rtt_time: Span,
    aggregates: Option<Aggregates>,
}

/// Rounded up.
fn ceil(x: f64) -> u32 {
    // The cast rounds down and saturates.
    let whole = x as u32;
    if f64::from(whole) < x { whole.saturating_add(1) } else { whole }
}

impl Bbr {
    fn gains(&self) -> (f32, f32) {
        match self.mode {
            Mode::Startup => (self.high_gain, self.high_gain),
            Mode::Drain => (1.0 / self.high_gain, self.high_gain),
            Mode::ProbeBw => (CYCLE[usize::from(self.cycle)], self.cwnd_gain),
            Mode::ProbeRtt => (1.0, 1.0),
        }
    }

    /// bbr_bdp: packets that `gain` times the model's BDP are.
    fn bdp(&self, gain: f32) -> u32 {
        match self.min_rtt {
            Some(rtt) => ceil(f64::from(self.bw.max()) * rtt.as_secs() * f64::from(gain)),
            None => INIT_CWND,
        }
    }

    /// bbr_tso_segs_goal: packets of an aggregate, about 1 ms.
    fn aggregate(&self) -> u32 {
        let bytes = ((self.pacing.0 / 8) >> 10).min(65_215) as u32;
        let least = if self.pacing.0 < 1_200_000 { 1 } else { 2 };
        (bytes / self.packet_bytes.max(1)).clamp(least, 127)
    }

    /// bbr_inflight: packets in flight at `gain` BDPs, with what end hosts hold back.
    fn inflight(&self, gain: f32) -> u32 {
        self.with_room(self.bdp(gain))
    }

    /// bbr_quantization_budget.
    fn with_room(&self, mut cwnd: u32) -> u32 {
        if self.offload {
            cwnd = cwnd.saturating_add(3 * self.aggregate());
        }
        cwnd = cwnd.saturating_add(1) & !1;
        if self.mode == Mode::ProbeBw && self.cycle == 0 {
            cwnd = cwnd.saturating_add(2);
        }
        cwnd
    }

    fn rate(&self, packets_per_second: f64, gain: f32) -> Rate {
        let bits = packets_per_second * f64::from(self.packet_bytes) * 8.0;
        let rate = bits * f64::from(gain) * (1.0 - f64::from(self.pacing_margin));
        Rate((rate as u64).max(1))
    }

    /// bbr_set_pacing_rate: Startup only raises it.
    fn set_pacing(&mut self, gain: f32) {
        let rate = self.rate(f64::from(self.bw.max()), gain);
        if self.full_bw_reached || rate > self.pacing {
            self.pacing = rate;
        }
    }

    /// bbr_init_pacing_rate_from_rtt, 1 ms before there is one.
    fn init_pacing(&mut self, rtt: Span) {
        let rtt = rtt.as_secs().max(1e-6);
        self.pacing = self.rate(f64::from(self.cwnd) / rtt, self.high_gain);
    }

    /// bbr_save_cwnd.
    fn save_cwnd(&mut self) {
        let good = self.episode.state() == Mending::Open && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if good { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    /// bbr_update_bw.
    fn update_bw(&mut self, sample: &RateSample) {
        self.round_start = false;
        if sample.rate <= 0.0 {
            return;
        }
        if !after(self.next_round, sample.prior_delivered) {
            self.next_round = self.sampler.delivered();
            self.round_count = self.round_count.wrapping_add(1);
            self.round_start = true;
            self.packet_conservation = false;
        }
        let rate = sample.rate as f32;
        if !sample.limited || rate >= self.bw.max() {
            self.bw.update(BW_ROUNDS, self.round_count, rate);
        }
    }

    /// What the window is to hold.
    fn target(&self) -> u32 {
        let bw = self.bw.max();
        let extra = match &self.aggregates {
            Some(aggregates) if self.full_bw_reached => {
                ceil(f64::from(aggregates.most().min(bw * EXTRA_SECONDS)))
            }
            _ => 0,
        };
        self.with_room(self.bdp(self.gains().1).saturating_add(extra))
    }

    fn update_aggregation(&mut self, ack: &Ack<Stamp>, sample: &RateSample) {
        if let Some(aggregates) = &mut self.aggregates
            && sample.rate > 0.0
            && ack.delivered > 0
        {
            let rounds = (EXTRA_ROUNDS, self.round_count);
            aggregates.update(ack.now, ack.delivered, (self.bw.max(), self.cwnd), rounds);
        }
    }

    /// bbr_update_cycle_phase, with packets in flight before this ACK.
    fn update_cycle(&mut self, ack: &Ack<Stamp>, prior_in_flight: u32) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let full_length = self.min_rtt.is_some_and(|rtt| ack.now.since(self.cycle_stamp) > rtt);
        let next = match self.gains().0 {
            1.0 => full_length,
            // Until there is 1.25 BDP in flight, or a loss says that it cannot be.
            up if up > 1.0 => full_length && (ack.lost > 0 || prior_in_flight >= self.inflight(up)),
            _ => full_length || prior_in_flight <= self.inflight(1.0),
        };
        if next {
            self.advance_cycle(ack.now);
        }
    }

    fn advance_cycle(&mut self, now: Time) {
        self.cycle = (self.cycle + 1) % CYCLE.len() as u8;
        self.cycle_stamp = now;
    }

    /// bbr_check_full_bw_reached: has Startup come to a plateau?
    fn check_full_bw(&mut self, sample: &RateSample) {
        if self.full_bw_reached || !self.round_start || sample.limited {
            return;
        }
        if self.bw.max() >= self.full_bw * FULL_BW_GROWTH {
            (self.full_bw, self.full_bw_count) = (self.bw.max(), 0);
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_reached = self.full_bw_count >= FULL_BW_ROUNDS;
    }

    /// bbr_check_drain.
    fn check_drain(&mut self, now: Time, in_flight: u32) {
        if self.mode == Mode::Startup && self.full_bw_reached {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && in_flight <= self.inflight(1.0) {
            self.enter_probe_bw(now);
        }
    }

    /// In any phase but the one of 0.75, so that flows do not move in step.
    fn enter_probe_bw(&mut self, now: Time) {
        self.mode = Mode::ProbeBw;
        self.cycle = CYCLE.len() as u8 - 1 - self.dice.below(CYCLE.len() as u8 - 1);
        self.advance_cycle(now);
    }

    /// bbr_update_min_rtt.
    fn update_min_rtt(&mut self, ack: &Ack<Stamp>, sample: &RateSample) {
        let now = ack.now;
        let known = self.min_rtt.is_some();
        let expired = known && now > self.min_rtt_stamp + self.min_rtt_window;
        if let Some(rtt) = ack.rtt
            && (expired || self.min_rtt.is_none_or(|min| rtt < min))
        {
            (self.min_rtt, self.min_rtt_stamp) = (Some(rtt), now);
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt_done = None;
        }
        if self.mode == Mode::ProbeRtt {
            // What so few packets deliver says nothing of the path.
            self.sampler.mark_limited(ack.in_flight);
            if self.probe_rtt_done.is_some() {
                self.probe_rtt_round_done |= self.round_start;
                if self.probe_rtt_round_done {
                    self.check_probe_rtt_done(now);
                }
            } else if ack.in_flight <= MIN_CWND {
                self.probe_rtt_done = Some(now + self.probe_rtt_time);
                self.probe_rtt_round_done = false;
                self.next_round = self.sampler.delivered();
            }
        }
        if sample.delivered > 0 {
            self.idle_restart = false;
        }
    }

    fn check_probe_rtt_done(&mut self, now: Time) {
        if self.probe_rtt_done.is_none_or(|done| now <= done) {
            return;
        }
        self.min_rtt_stamp = now;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.full_bw_reached {
            self.enter_probe_bw(now);
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// bbr_set_cwnd and bbr_set_cwnd_to_recover_or_restore.
    fn set_cwnd(&mut self, ack: &Ack<Stamp>, (before, state): (Mending, Mending)) {
        let acked = ack.delivered;
        let mut cwnd = self.cwnd;
        if ack.lost > 0 {
            cwnd = cwnd.saturating_sub(ack.lost).max(1);
        }
        if state == Mending::Recovery && before != Mending::Recovery {
            self.packet_conservation = true;
            self.next_round = self.sampler.delivered();
            cwnd = ack.in_flight.saturating_add(acked);
        } else if state == Mending::Open && before != Mending::Open {
            self.packet_conservation = false;
            cwnd = cwnd.max(self.prior_cwnd);
        }
        if self.packet_conservation {
            cwnd = cwnd.max(ack.in_flight.saturating_add(acked));
        } else {
            let target = self.target();
            if self.full_bw_reached {
                cwnd = cwnd.saturating_add(acked).min(target);
            } else if cwnd < target || self.sampler.delivered() < INIT_CWND {
                cwnd = cwnd.saturating_add(acked);
            }
            cwnd = cwnd.max(MIN_CWND);
        }
        if self.mode == Mode::ProbeRtt {
            cwnd = cwnd.min(MIN_CWND);
        }
        self.cwnd = cwnd.max(1);
    }
}

impl Sender for Bbr {
    type Params = BbrParams;
    type Header = Stamp;
    type Receiver = Echo<Stamp>;

    fn new(params: &BbrParams, context: &SenderContext) -> Bbr {
        let mut bbr = Bbr {
            sampler: RateSampler::NEW,
            bw: WindowedMax::default(),
            episode: Episode::default(),
            dice: Dice::new(&context.stream),
            min_rtt: None,
            min_rtt_stamp: Time::ZERO,
            probe_rtt_done: None,
            cycle_stamp: Time::ZERO,
            pacing: Rate(1),
            cwnd: (context.initial_window as u32).max(1),
            prior_cwnd: 0,
            in_flight: 0,
            next_round: 0,
            round_count: 0,
            full_bw: 0.0,
            full_bw_count: 0,
            full_bw_reached: false,
            mode: Mode::Startup,
            cycle: 0,
            round_start: false,
            idle_restart: false,
            probe_rtt_round_done: false,
            packet_conservation: false,
            has_seen_rtt: false,
            offload: params.offload,
            high_gain: params.high_gain as f32,
            cwnd_gain: params.cwnd_gain as f32,
            pacing_margin: params.pacing_margin as f32,
            packet_bytes: context.packet_bytes,
            min_rtt_window: params.min_rtt_window,
            probe_rtt_time: params.probe_rtt_time,
            aggregates: params.aggregation.then(Aggregates::default),
        };
        bbr.init_pacing(Span::from_millis(1));
        bbr
    }

    fn on_send(&mut self, segment: &Departing) -> Stamp {
        // bbr_cwnd_event, CA_EVENT_TX_START: a restart from idle.
        if segment.in_flight == 0 && self.sampler.limited() {
            self.idle_restart = true;
            if let Some(aggregates) = &mut self.aggregates {
                aggregates.restart(segment.now);
            }
            match self.mode {
                Mode::ProbeBw => self.set_pacing(1.0),
                Mode::ProbeRtt => self.check_probe_rtt_done(segment.now),
                Mode::Startup | Mode::Drain => {}
            }
        }
        self.episode.on_send(segment);
        self.sampler.on_send(segment, f64::from(self.cwnd))
    }

    /// bbr_main.
    fn on_ack(&mut self, ack: &Ack<Stamp>) {
        let sample = self.sampler.on_ack(ack);
        let mending = self.episode.on_ack(ack);
        let prior_in_flight = ack.in_flight.saturating_add(ack.delivered).saturating_add(ack.lost);
        self.update_bw(&sample);
        self.update_aggregation(ack, &sample);
        self.update_cycle(ack, prior_in_flight);
        self.check_full_bw(&sample);
        self.check_drain(ack.now, ack.in_flight);
        self.update_min_rtt(ack, &sample);
        if let Some(srtt) = ack.srtt
            && !self.has_seen_rtt
        {
            self.has_seen_rtt = true;
            self.init_pacing(srtt);
        }
        self.set_pacing(self.gains().0);
        self.set_cwnd(ack, mending);
        self.in_flight = ack.in_flight;
    }

    fn on_loss(&mut self, loss: &Loss) {
        match loss.kind {
            LossKind::EcnEcho => {}
            LossKind::DupAcks => self.save_cwnd(),
            LossKind::Timeout => {
                self.save_cwnd();
                self.sampler.on_timeout(loss.lost);
                self.episode.on_timeout();
                self.full_bw = 0.0;
                self.cwnd = 1;
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
        Some(self.pacing)
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("cwnd", "pkts", "congestion window"),
        Variable::new("in_flight", "pkts", "in the network after the last ACK"),
        Variable::new("bw", "bit/s", "BtlBw, the highest delivery rate of the last 10 rounds"),
        Variable::new("min_rtt", "s", "RTprop, the least RTT of the last 10 s"),
        Variable::new("bdp", "pkts", "bandwidth-delay product, bw times min_rtt"),
        Variable::new("state", "", "state: 0 Startup, 1 Drain, 2 ProbeBW, 3 ProbeRTT"),
        Variable::new("pacing_gain", "", "pacing rate over bw, but for the margin"),
        Variable::new("cwnd_gain", "", "BDPs that the window is to hold"),
        Variable::new("pacing_rate", "bit/s", "pacing rate"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        let (pacing_gain, cwnd_gain) = self.gains();
        sink("cwnd", f64::from(self.cwnd));
        sink("in_flight", f64::from(self.in_flight));
        sink("bw", f64::from(self.bw.max()) * f64::from(self.packet_bytes) * 8.0);
        sink("min_rtt", self.min_rtt.map_or(f64::INFINITY, Span::as_secs));
        sink("bdp", f64::from(self.bdp(1.0)));
        sink("state", f64::from(self.mode as u8));
        sink("pacing_gain", f64::from(pacing_gain));
        sink("cwnd_gain", f64::from(cwnd_gain));
        sink("pacing_rate", self.pacing.as_bps());
    }

    fn describe(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        let state = match self.mode {
            Mode::Startup => "Startup",
            Mode::Drain => "Drain",
            Mode::ProbeBw => "ProbeBW",
            Mode::ProbeRtt => "ProbeRTT",
        };
        let bps = f64::from(self.bw.max()) * f64::from(self.packet_bytes) * 8.0;
        let path = self.min_rtt.map(|min_rtt| (bps, min_rtt.as_secs(), self.bdp(1.0)));
        describe(out, state, f64::from(self.gains().0), path)?;
        writeln!(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ack, ack_after, departing, loss, ms, sender_context};

    const RTT: Span = Span::from_millis(40);

    fn bbr() -> Bbr {
        let params = BbrParams { offload: false, ..BbrParams::default() };
        Bbr::new(&params, &sender_context(10.0))
    }

    /// In ProbeBW on a path of 1000 packets/s and 40 ms: a BDP of 40 packets, with so many in
    /// flight.
    fn cruising(phase: u8, in_flight: u32) -> Bbr {
        let mut bbr = bbr();
        bbr.bw.update(BW_ROUNDS, 0, 1000.0);
        bbr.min_rtt = Some(RTT);
        (bbr.mode, bbr.cycle, bbr.full_bw_reached, bbr.has_seen_rtt) =
            (Mode::ProbeBw, phase, true, true);
        bbr.cwnd = 80;
        bbr.sampler.on_ack(&ack(1000));
        for n in 0..in_flight {
            bbr.on_send(&Departing { in_flight: n, ..departing() });
        }
        bbr
    }

    /// An ACK of one packet, so long after its sending and with so many left in flight, that says
    /// `rate` packets/s.
    fn sample(rate: f64, limited: bool) -> RateSample {
        RateSample { rate, limited, valid: true, delivered: 1, ..RateSample::default() }
    }

    #[test]
    fn the_first_rate_is_a_window_per_round_trip() {
        // 10 packets of 8000 bits in 1 ms, times 2.885, less 1 %: 228.492 Mb/s.
        let mut bbr = bbr();
        assert!((bbr.pacing.as_bps() / 228_492_000.0 - 1.0).abs() < 1e-6, "{:?}", bbr.pacing);
        // In 40 ms, when it is known; the window then has grown by what was acknowledged.
        let header = bbr.on_send(&departing());
        bbr.on_ack(&Ack { header, in_flight: 9, ..ack_after(ms(40), RTT) });
        assert!((bbr.pacing.as_bps() / 5_712_300.0 - 1.0).abs() < 1e-6, "{:?}", bbr.pacing);
        assert_eq!((bbr.cwnd, bbr.min_rtt), (11, Some(RTT)));
        // The only sample so far: 1 packet in 40 ms.
        assert_eq!((bbr.bw.max(), bbr.gains()), (25.0, (2.885, 2.885)));
    }

    #[test]
    fn startup_ends_after_three_rounds_without_a_quarter_more() {
        let mut bbr = bbr();
        bbr.round_start = true;
        let mut round = |rate: f32| {
            bbr.bw = WindowedMax::default();
            bbr.bw.update(BW_ROUNDS, 0, rate);
            bbr.check_full_bw(&sample(f64::from(rate), false));
            (bbr.full_bw, bbr.full_bw_count)
        };
        assert_eq!(round(100.0), (100.0, 0));
        assert_eq!(round(124.0), (100.0, 1));
        assert_eq!(round(125.0), (125.0, 0));
        for n in 1..=3 {
            assert_eq!(round(156.0), (125.0, n)); // below 156.25
        }
        assert!(bbr.full_bw_reached && bbr.mode == Mode::Startup);
        // A BDP of 156*0.04 = 6.24 packets: 7, and even 8.
        bbr.min_rtt = Some(RTT);
        bbr.check_drain(ms(0), 9);
        assert_eq!(bbr.mode, Mode::Drain);
        assert!((bbr.gains().0 - 0.346_62).abs() < 1e-5 && bbr.gains().1 == 2.885);
        bbr.check_drain(ms(0), 8);
        assert_eq!(bbr.mode, Mode::ProbeBw);
        assert_ne!(bbr.cycle, 1);
    }

    #[test]
    fn samples_limited_by_the_application_only_raise_the_estimate() {
        let mut bbr = cruising(2, 0);
        bbr.update_bw(&sample(900.0, true));
        assert_eq!(bbr.bw.max(), 1000.0);
        bbr.update_bw(&sample(1100.0, true));
        assert_eq!(bbr.bw.max(), 1100.0);
        // An estimate lasts for ten rounds of samples that count.
        for round in 0..=10 {
            assert_eq!(bbr.bw.max(), 1100.0, "{round}");
            let prior_delivered = bbr.next_round;
            bbr.sampler.on_ack(&ack(1));
            bbr.update_bw(&RateSample { prior_delivered, ..sample(700.0, round == 0) });
            assert!(bbr.round_start);
        }
        let prior_delivered = bbr.next_round;
        bbr.update_bw(&RateSample { prior_delivered, ..sample(700.0, false) });
        assert_eq!(bbr.bw.max(), 700.0);
    }

    #[test]
    fn targets_are_multiples_of_the_bdp() {
        let mut bbr = cruising(2, 0);
        assert_eq!((bbr.bdp(1.0), bbr.inflight(1.0), bbr.inflight(2.0)), (40, 40, 80));
        bbr.cycle = 0;
        assert_eq!(bbr.inflight(1.25), 52);
        // Three aggregates: at 80 Mb/s 10^7/1024 = 9765 bytes, 9 packets, each; two at the least.
        (bbr.offload, bbr.cycle, bbr.pacing) = (true, 2, Rate(80_000_000));
        assert_eq!(bbr.inflight(1.0), 68); // 40 + 27, even
        bbr.pacing = Rate(8_000_000);
        assert_eq!(bbr.inflight(1.0), 46);
        bbr.min_rtt = None;
        assert_eq!(bbr.bdp(1.0), INIT_CWND);
    }

    #[test]
    fn aggregates_widen_the_window_once_the_pipe_is_full() {
        let params = BbrParams { offload: false, aggregation: true, ..BbrParams::default() };
        let mut bbr = Bbr::new(&params, &sender_context(10.0));
        (bbr.min_rtt, bbr.mode, bbr.cycle) = (Some(RTT), Mode::ProbeBw, 2);
        bbr.bw.update(BW_ROUNDS, 0, 1000.0);
        bbr.cwnd = 80;
        let sample = RateSample { rate: 1000.0, ..RateSample::default() };
        bbr.update_aggregation(&Ack { now: ms(100), ..ack(7) }, &sample);
        assert_eq!(bbr.target(), 80);
        bbr.full_bw_reached = true;
        // 2*40 + 7, even; the phases of the cycle know nothing of it.
        assert_eq!((bbr.target(), bbr.inflight(2.0)), (88, 80));
        // At 200 packets/s no more than 20 for 100 ms: 2*8 + 20 where 60 came at once.
        bbr.bw = WindowedMax::default();
        bbr.bw.update(BW_ROUNDS, 0, 200.0);
        bbr.update_aggregation(&Ack { now: ms(500), ..ack(60) }, &sample);
        assert_eq!(bbr.target(), 36);
        bbr.aggregates = None;
        assert_eq!(bbr.target(), 16);
    }

    #[test]
    fn each_phase_of_the_cycle_lasts_as_it_should() {
        let step = |phase, at, in_flight, lost| {
            let mut bbr = cruising(phase, 0);
            let ack = Ack { now: ms(at), lost, ..ack(1) };
            bbr.update_cycle(&ack, in_flight);
            bbr.cycle
        };
        // One RTprop at the rate itself.
        assert_eq!((step(2, 40, 40, 0), step(2, 41, 40, 0), step(7, 41, 40, 0)), (2, 3, 0));
        // 1.25: one RTprop, then until 52 are in flight or a loss.
        assert_eq!((step(0, 41, 51, 0), step(0, 41, 52, 0), step(0, 40, 60, 1)), (0, 1, 0));
        assert_eq!(step(0, 41, 51, 1), 1);
        // 0.75: one RTprop, or until the BDP is reached.
        assert_eq!((step(1, 10, 41, 0), step(1, 10, 40, 0), step(1, 41, 50, 0)), (1, 2, 2));
        assert_eq!(cruising(1, 0).gains(), (0.75, 2.0));
    }

    #[test]
    fn rtprop_that_was_not_seen_for_ten_seconds_is_probed_with_four_packets() {
        let mut bbr = cruising(2, 50);
        let mut on_ack = |at: u64, rtt: u64, in_flight| {
            let header = bbr.on_send(&Departing { now: ms(at), in_flight, ..departing() });
            let ack = Ack { header, in_flight, ..ack_after(ms(at), Span::from_millis(rtt)) };
            bbr.on_ack(&ack);
            (bbr.mode, bbr.cwnd, bbr.min_rtt)
        };
        let rtt = |ms| Some(Span::from_millis(ms));
        let during = (Mode::ProbeRtt, 4, rtt(45));
        assert_eq!(on_ack(10_000, 45, 50).0, Mode::ProbeBw);
        // Later than 10 s: the old RTprop is gone.
        assert_eq!(on_ack(10_001, 45, 50), during);
        assert_eq!(on_ack(10_040, 46, 5), during);
        // Four in flight: 200 ms from here, and a round.
        assert_eq!(on_ack(10_050, 46, 4), during);
        assert_eq!(on_ack(10_100, 41, 4), (Mode::ProbeRtt, 4, rtt(41)));
        assert_eq!(on_ack(10_250, 41, 4).0, Mode::ProbeRtt);
        // The window comes back, 80, and this ACK's packet; the model has room for 82.
        assert_eq!(on_ack(10_251, 41, 4), (Mode::ProbeBw, 81, rtt(41)));
        assert_eq!(bbr.min_rtt_stamp, ms(10_251));
    }

    /// 50 of 80 are in flight when recovery begins: conservation has as many in flight as before,
    /// for a round; lost packets come off; then one more per packet delivered; the end restores 80.
    #[test]
    fn recovery_conserves_packets_for_a_round() {
        let mut bbr = cruising(2, 50);
        let stamp = bbr.on_send(&Departing { in_flight: 50, ..departing() });
        let step = |bbr: &mut Bbr, at, in_flight, lost, recovering, header| {
            let ack = Ack { now: ms(at), lost, in_flight, recovering, header, ..ack(1) };
            bbr.on_ack(&ack);
            bbr.cwnd
        };
        bbr.on_loss(&loss(LossKind::DupAcks, 50));
        assert_eq!(step(&mut bbr, 50, 48, 2, true, stamp), 49);
        assert_eq!(step(&mut bbr, 51, 47, 0, true, stamp), 49);
        assert_eq!(step(&mut bbr, 52, 45, 1, true, stamp), 48);
        let next = bbr.on_send(&Departing { now: ms(52), in_flight: 45, ..departing() });
        // The ACK of a packet sent in recovery: a round is over.
        assert_eq!(step(&mut bbr, 100, 44, 0, true, next), 49);
        assert_eq!(step(&mut bbr, 101, 44, 0, true, next), 50);
        assert_eq!(step(&mut bbr, 102, 44, 0, false, next), 80);
    }

    #[test]
    fn a_timeout_starts_from_one_packet_and_the_repair_restores_the_window() {
        let mut bbr = cruising(2, 50);
        bbr.on_loss(&loss(LossKind::Timeout, 50));
        assert_eq!((bbr.cwnd, bbr.full_bw), (1, 0.0));
        bbr.on_loss(&Loss { repeated: true, ..loss(LossKind::Timeout, 1) });
        assert_eq!((bbr.cwnd, bbr.prior_cwnd), (1, 80));
        bbr.on_ack(&Ack { now: ms(2000), in_flight: 0, ..ack(0) });
        assert_eq!(bbr.cwnd, 4);
        bbr.on_ack(&Ack { now: ms(2040), in_flight: 0, ..ack(1) });
        assert_eq!(bbr.cwnd, 80);
    }

    #[test]
    fn a_restart_from_idle_paces_at_the_estimate_and_needs_no_probe() {
        let mut bbr = cruising(0, 0);
        bbr.set_pacing(1.25);
        bbr.sampler.mark_limited(0);
        let header = bbr.on_send(&Departing { now: ms(20_000), ..departing() });
        // 1000 packets/s of 8000 bits, less 1 %.
        assert!((bbr.pacing.as_bps() / 7_920_000.0 - 1.0).abs() < 1e-6 && bbr.idle_restart);
        bbr.on_ack(&Ack { header, in_flight: 0, ..ack_after(ms(20_050), Span::from_millis(50)) });
        assert_eq!((bbr.mode, bbr.min_rtt), (Mode::ProbeBw, Some(Span::from_millis(50))));
        assert!(!bbr.idle_restart);
    }

    /// bbr_update_ack_aggregation leaves out an ACK whose sample has no interval, and so no rate.
    #[test]
    fn an_ack_without_a_rate_is_no_aggregate() {
        let params = BbrParams { aggregation: true, ..BbrParams::default() };
        let mut bbr = Bbr::new(&params, &sender_context(10.0));
        bbr.update_aggregation(&Ack { now: ms(100), ..ack(7) }, &RateSample::default());
        assert_eq!(bbr.aggregates.map(|aggregates| aggregates.most()), Some(0.0));
    }

    /// bbr_reset_probe_bw_mode begins in each phase of the cycle but the second.
    #[test]
    fn a_cycle_begins_in_any_phase_but_that_of_three_quarters() {
        let mut bbr = cruising(0, 0);
        let mut begun = [false; CYCLE.len()];
        for _ in 0..500 {
            bbr.enter_probe_bw(ms(0));
            begun[usize::from(bbr.cycle)] = true;
        }
        assert_eq!(begun, [true, false, true, true, true, true, true, true]);
    }

    /// bbr_min_tso_segs: one packet below 1.2 Mb/s, two from there on.
    #[test]
    fn an_aggregate_is_of_two_packets_from_1_2_mbps_on() {
        let mut bbr = bbr();
        for (pacing, packets) in [(1_199_999, 1), (1_200_000, 2), (8_000_000, 2), (80_000_000, 9)] {
            bbr.pacing = Rate(pacing);
            assert_eq!(bbr.aggregate(), packets, "{pacing}");
        }
    }

    /// bbr_set_cwnd: "cwnd < target_cwnd || delivered < init_cwnd" grows before the pipe is full,
    /// and from then on up to the target; never below four packets.
    #[test]
    fn the_window_grows_up_to_its_target() {
        for (full, cwnd, acked, after) in [
            (false, 79, 5, 84),
            (false, 80, 5, 80),
            (true, 79, 5, 80),
            (true, 100, 5, 80),
            (false, 1, 1, 4),
        ] {
            let mut bbr = cruising(2, 0);
            (bbr.full_bw_reached, bbr.cwnd) = (full, cwnd);
            bbr.set_cwnd(&ack(acked), (Mending::Open, Mending::Open));
            assert_eq!(bbr.cwnd, after, "{full} {cwnd}");
        }
    }

    /// bbr_save_cwnd: what was there in good times, and else the most.
    #[test]
    fn the_window_before_trouble_is_saved() {
        for (mode, recovering, saved) in [
            (Mode::ProbeBw, false, 40),
            (Mode::ProbeRtt, false, 80),
            (Mode::ProbeBw, true, 80),
            (Mode::ProbeRtt, true, 80),
        ] {
            let mut bbr = cruising(2, 0);
            bbr.episode.on_ack(&Ack { recovering, ..ack::<Stamp>(0) });
            (bbr.mode, bbr.cwnd, bbr.prior_cwnd) = (mode, 40, 80);
            bbr.save_cwnd();
            assert_eq!(bbr.prior_cwnd, saved, "{mode:?} {recovering}");
        }
    }

    /// bbr_check_full_bw_reached looks at rounds' ends and at samples that the application does not
    /// limit.
    #[test]
    fn a_plateau_is_of_whole_rounds_with_data() {
        for (round_start, limited, count) in [(true, false, 1), (false, false, 0), (true, true, 0)]
        {
            let mut bbr = cruising(2, 0);
            (bbr.full_bw_reached, bbr.full_bw, bbr.round_start) = (false, 1000.0, round_start);
            bbr.check_full_bw(&sample(1000.0, limited));
            assert_eq!(bbr.full_bw_count, count, "{round_start} {limited}");
        }
    }

    /// bbr_set_cwnd: below TCP_INIT_CWND delivered, ten, the window grows whatever the target,
    /// which four packets are for a BDP of one.
    #[test]
    fn a_window_grows_until_ten_are_delivered() {
        for (delivered, after) in [(9, 85), (10, 80)] {
            let mut bbr = bbr();
            bbr.bw.update(BW_ROUNDS, 0, 25.0);
            (bbr.min_rtt, bbr.cwnd) = (Some(RTT), 80);
            bbr.sampler.on_ack(&ack(delivered));
            bbr.set_cwnd(&ack(5), (Mending::Open, Mending::Open));
            assert_eq!(bbr.cwnd, after, "{delivered}");
        }
    }

    /// CA_EVENT_TX_START: with nothing in flight after a gap; in ProbeRTT it may be over, in
    /// Startup the pace stays.
    #[test]
    fn a_restart_from_idle_ends_probe_rtt() {
        for (mode, in_flight, limited, then) in [
            (Mode::ProbeRtt, 0, true, Mode::ProbeBw),
            (Mode::ProbeRtt, 1, true, Mode::ProbeRtt),
            (Mode::ProbeRtt, 0, false, Mode::ProbeRtt),
            (Mode::Startup, 0, true, Mode::Startup),
        ] {
            let mut bbr = cruising(2, 0);
            (bbr.mode, bbr.probe_rtt_done, bbr.pacing) = (mode, Some(ms(100)), Rate(1_000_000));
            if limited {
                bbr.sampler.mark_limited(0);
            }
            bbr.on_send(&Departing { now: ms(101), in_flight, ..departing() });
            assert_eq!((bbr.mode, bbr.pacing), (then, Rate(1_000_000)), "{in_flight} {limited}");
            assert_eq!(bbr.idle_restart, in_flight == 0 && limited);
        }
    }

    /// bbr_update_ack_aggregation leaves out an ACK that delivers nothing.
    #[test]
    fn an_ack_of_nothing_is_no_aggregate() {
        let params = BbrParams { aggregation: true, ..BbrParams::default() };
        let mut bbr = Bbr::new(&params, &sender_context(10.0));
        let sample = RateSample { rate: 1000.0, ..RateSample::default() };
        bbr.update_aggregation(&Ack { now: ms(100), ..ack(0) }, &sample);
        assert_eq!(bbr.aggregates.map(|aggregates| aggregates.start), Some(Time::ZERO));
    }
}

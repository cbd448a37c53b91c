//! ProbeBW: the cycle of DOWN, CRUISE, REFILL and UP (section 5.3.3).
//!
//! After a probe that lost too much the next one is a precaution (section 5.3.3.6): it ends where
//! what is in flight reaches the bound that was learnt. If its round brings no excess of losses
//! either, REFILL and a full probe follow at once.

use units::{Span, Time};

use super::{Bbr3, NO_BOUND, State};
use crate::roles::Ack;
use crate::tcp::delivery::{RateSample, Stamp};

/// Shortest wait for a probe; the longest is [`WAIT_SPREAD`] more.
const WAIT: Span = Span::from_secs(2);
const WAIT_SPREAD: Span = Span::from_secs(1);
/// Longest wait for a probe [rounds].
const PROBE_ROUNDS: u32 = 63;
/// Most doublings of UP's growth.
const UP_ROUNDS: u32 = 30;

/// BBR.ack_phase: whose packets the ACKs are for, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// The cycle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cycle {
    /// BBR.cycle_stamp.
    pub stamp: Time,
    /// BBR.bw_probe_wait.
    pub wait: Span,
    /// BBR.rounds_since_bw_probe.
    pub rounds: u32,
    pub ack_phase: AckPhase,
    /// BBR.bw_probe_samples: do ACKs show what a probe did, and nothing was done about it yet?
    pub samples: bool,
    /// BBR.bw_probe_up_acks, BBR.probe_up_cnt, BBR.bw_probe_up_rounds.
    pub up_acks: u32,
    pub up_count: u32,
    pub up_rounds: u32,
    /// BBR.prev_probe_too_high: did the last probe lose too much?
    pub too_high: bool,
    /// BBR.prev_probe_precautionary: did the last UP end at the bound of the probe before?
    pub precautionary: bool,
}

impl Cycle {
    /// Before the first.
    pub const NEW: Cycle = Cycle {
        stamp: Time::ZERO,
        wait: Span::ZERO,
        rounds: 0,
        ack_phase: AckPhase::Init,
        samples: false,
        up_acks: 0,
        up_count: NO_BOUND,
        up_rounds: 0,
        too_high: false,
        precautionary: false,
    };
}

impl Bbr3 {
    /// UpdateProbeBWCyclePhase.
    pub(super) fn update_cycle(&mut self, ack: &Ack<Stamp>, rs: &RateSample) {
        if !self.pipe.full_bw_reached {
            return;
        }
        if self.adapt_long_term(ack.now, rs) {
            return;
        }
        match self.state {
            State::Down | State::Cruise => {
                if self.is_time_to_probe(ack.now) {
                    self.start_refill();
                } else if self.state == State::Down && self.is_time_to_cruise(ack.in_flight) {
                    self.state = State::Cruise;
                }
            }
            State::Refill => {
                if self.round_start {
                    self.start_up(rs);
                }
            }
            State::Up => {
                if self.is_time_to_go_down(ack, rs) {
                    self.cycle.too_high = false;
                    self.start_down(ack.now);
                }
            }
            State::Startup | State::Drain | State::ProbeRtt => {}
        }
    }

    /// StartProbeBW_DOWN, with PickProbeWait.
    pub(super) fn start_down(&mut self, now: Time) {
        self.reset_signals();
        let cycle = &mut self.cycle;
        cycle.up_count = NO_BOUND;
        cycle.rounds = u32::from(self.dice.below(2));
        let spread = WAIT_SPREAD.as_secs() * f64::from(self.dice.unit());
        cycle.wait = WAIT + Span::from_secs_f64(spread);
        (cycle.stamp, cycle.ack_phase) = (now, AckPhase::ProbeStopping);
        self.start_round();
        self.state = State::Down;
    }

    /// StartProbeBW_REFILL.
    pub(super) fn start_refill(&mut self) {
        self.bounds.reset_short_term();
        (self.cycle.up_rounds, self.cycle.up_acks) = (0, 0);
        (self.cycle.precautionary, self.cycle.ack_phase) = (false, AckPhase::Refilling);
        self.start_round();
        self.state = State::Refill;
    }

    /// StartProbeBW_UP.
    fn start_up(&mut self, rs: &RateSample) {
        (self.cycle.samples, self.cycle.ack_phase) = (true, AckPhase::ProbeStarting);
        self.start_round();
        self.pipe.reset(rs.rate);
        self.state = State::Up;
        self.raise_slope();
    }

    /// IsTimeToProbeBW.
    fn is_time_to_probe(&self, now: Time) -> bool {
        let elapsed = now > self.cycle.stamp + self.cycle.wait;
        // IsRenoCoexistenceProbeTime.
        elapsed || self.cycle.rounds >= self.target_inflight().min(PROBE_ROUNDS)
    }

    fn is_time_to_cruise(&self, in_flight: u32) -> bool {
        in_flight <= self.inflight_with_headroom() && in_flight <= self.inflight(self.max_bw(), 1.0)
    }

    /// IsTimeToGoDown (D9).
    fn is_time_to_go_down(&mut self, ack: &Ack<Stamp>, rs: &RateSample) -> bool {
        let in_flight = ack.in_flight.saturating_add(rs.newly_acked).saturating_add(rs.newly_lost);
        if self.cycle.too_high && in_flight >= self.bounds.inflight_longterm {
            self.cycle.precautionary = true;
            return true;
        }
        if self.cwnd_limited() && self.cwnd >= self.bounds.inflight_longterm {
            // The bound holds the rate down: no plateau of the path.
            self.pipe.reset(rs.rate);
            return false;
        }
        self.pipe.full_bw_now
    }

    /// AdaptLongTermModel (D3): has it begun a REFILL?
    pub(super) fn adapt_long_term(&mut self, now: Time, rs: &RateSample) -> bool {
        if self.round_start && self.end_phase_of_acks(rs) {
            return true;
        }
        if self.marks.high {
            if self.cycle.samples {
                self.handle_too_high(now, rs);
            }
            return false;
        }
        if !rs.valid || self.too_lossy(rs) || self.bounds.inflight_longterm == NO_BOUND {
            return false;
        }
        self.bounds.inflight_longterm = self.bounds.inflight_longterm.max(rs.tx_in_flight);
        if self.state == State::Up {
            self.probe_upward(rs);
        }
        false
    }

    /// A round after a probe's start its ACKs come, and a round after its end no more. After a
    /// precautionary one without an excess of losses REFILL begins.
    fn end_phase_of_acks(&mut self, rs: &RateSample) -> bool {
        match self.cycle.ack_phase {
            AckPhase::ProbeStarting => self.cycle.ack_phase = AckPhase::ProbeFeedback,
            AckPhase::ProbeStopping => {
                (self.cycle.samples, self.cycle.ack_phase) = (false, AckPhase::Init);
                if self.in_probe_bw() && !rs.limited {
                    self.advance_max_bw();
                }
                if self.in_probe_bw() && self.cycle.precautionary && !self.cycle.too_high {
                    self.start_refill();
                    return true;
                }
            }
            AckPhase::Init | AckPhase::Refilling | AckPhase::ProbeFeedback => {}
        }
        false
    }

    /// RaiseInflightLongtermSlope.
    fn raise_slope(&mut self) {
        let growth = 1_u32 << self.cycle.up_rounds;
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(UP_ROUNDS);
        self.cycle.up_count = (self.cwnd / growth).max(1);
    }

    /// ProbeInflightLongtermUpward.
    pub(super) fn probe_upward(&mut self, rs: &RateSample) {
        if !self.cwnd_limited() || self.cwnd < self.bounds.inflight_longterm {
            return;
        }
        let (cycle, longterm) = (&mut self.cycle, &mut self.bounds.inflight_longterm);
        cycle.up_acks = cycle.up_acks.saturating_add(rs.newly_acked);
        if cycle.up_acks >= cycle.up_count {
            let delta = cycle.up_acks / cycle.up_count;
            cycle.up_acks -= delta * cycle.up_count;
            *longterm = longterm.saturating_add(delta);
        }
        if self.round_start {
            self.raise_slope();
        }
    }
}

//! ProbeRTT, and the two least RTTs (sections 5.3.4 and 5.5.7).

use units::{Span, Time};

use super::probe_bw::AckPhase;
use super::{Bbr3, MIN_PIPE_CWND, PROBE_RTT_CWND_GAIN, State};
use crate::roles::Ack;
use crate::tcp::delivery::{RateSample, Stamp};

/// BBR.MinRTTFilterLen (section 2.16.1) and BBR.ProbeRTTDuration.
const MIN_RTT_FILTER: Span = Span::from_secs(10);
const PROBE_RTT: Span = Span::from_millis(200);

/// The least RTTs and when they were seen; none before the first sample.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LeastRtt {
    pub min_rtt: Option<Span>,
    pub min_rtt_stamp: Time,
    /// The least since the last ProbeRTT, or for its interval.
    pub probe_rtt_min_delay: Option<Span>,
    pub probe_rtt_min_stamp: Time,
    pub probe_rtt_expired: bool,
    /// BBR.probe_rtt_done_stamp, once the queue is gone.
    pub probe_rtt_done: Option<Time>,
    pub probe_rtt_round_done: bool,
}

impl LeastRtt {
    /// UpdateMinRTT, with ProbeRTTInterval.
    fn update(&mut self, now: Time, rtt: Option<Span>, interval: Span) {
        let known = self.probe_rtt_min_delay.is_some();
        self.probe_rtt_expired = known && now > self.probe_rtt_min_stamp + interval;
        if let Some(rtt) = rtt
            && (self.probe_rtt_expired || self.probe_rtt_min_delay.is_none_or(|least| rtt < least))
        {
            (self.probe_rtt_min_delay, self.probe_rtt_min_stamp) = (Some(rtt), now);
        }
        let expired = known && now > self.min_rtt_stamp + MIN_RTT_FILTER;
        if let Some(delay) = self.probe_rtt_min_delay
            && (expired || self.min_rtt.is_none_or(|least| delay < least))
        {
            (self.min_rtt, self.min_rtt_stamp) = (Some(delay), self.probe_rtt_min_stamp);
        }
    }
}

impl Bbr3 {
    pub(super) fn update_min_rtt(&mut self, ack: &Ack<Stamp>) {
        self.least.update(ack.now, ack.rtt, self.params.probe_rtt_interval);
    }

    pub(super) fn probe_rtt_cwnd(&self) -> u32 {
        self.bdp(self.bw, PROBE_RTT_CWND_GAIN).max(MIN_PIPE_CWND)
    }

    /// CheckProbeRTT.
    pub(super) fn check_probe_rtt(&mut self, ack: &Ack<Stamp>, rs: &RateSample) {
        let expired = self.least.probe_rtt_expired && !self.idle_restart;
        if self.state != State::ProbeRtt && expired {
            self.state = State::ProbeRtt;
            self.save_cwnd();
            self.least.probe_rtt_done = None;
            self.cycle.ack_phase = AckPhase::ProbeStopping;
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(ack);
        }
        if rs.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// HandleProbeRTT.
    fn handle_probe_rtt(&mut self, ack: &Ack<Stamp>) {
        self.sampler.mark_limited(ack.in_flight);
        if self.least.probe_rtt_done.is_some() {
            self.least.probe_rtt_round_done |= self.round_start;
            if self.least.probe_rtt_round_done {
                self.check_probe_rtt_done(ack.now);
            }
        } else if ack.in_flight <= self.probe_rtt_cwnd() {
            self.least.probe_rtt_done = Some(ack.now + PROBE_RTT);
            self.least.probe_rtt_round_done = false;
            self.start_round();
        }
    }

    /// CheckProbeRTTDone and ExitProbeRTT.
    pub(super) fn check_probe_rtt_done(&mut self, now: Time) {
        if self.least.probe_rtt_done.is_none_or(|done| now <= done) {
            return;
        }
        (self.least.probe_rtt_done, self.least.probe_rtt_min_stamp) = (None, now);
        self.restore_cwnd();
        self.bounds.reset_short_term();
        if self.pipe.full_bw_reached {
            self.start_down(now);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }
}

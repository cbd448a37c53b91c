//! The bounds on rate and volume, and what lowers them: losses (section 5.5.10) and marks
//! (D8).

use units::Time;

use super::{Bbr3, MIN_PIPE_CWND, NO_BOUND, State, floor, share};
use crate::tcp::delivery::{RateSample, after};

/// The bounds, and what the last round delivered. Rates in packets/s, volumes in packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub bw_latest: f64,
    pub inflight_latest: u32,
    pub bw_shortterm: f64,
    pub inflight_shortterm: u32,
    pub inflight_longterm: u32,
    /// BBR.loss_round_delivered, modulo 2^32.
    pub loss_round: u32,
    pub loss_round_start: bool,
    pub loss_in_round: bool,
}

impl Bounds {
    /// None.
    pub const NEW: Bounds = Bounds {
        bw_latest: 0.0,
        inflight_latest: 0,
        bw_shortterm: f64::INFINITY,
        inflight_shortterm: NO_BOUND,
        inflight_longterm: NO_BOUND,
        loss_round: 0,
        loss_round_start: false,
        loss_in_round: false,
    };

    /// ResetShortTermModel.
    pub fn reset_short_term(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (f64::INFINITY, NO_BOUND);
    }

    /// UpdateLatestDeliverySignals; `delivered` is C.delivered.
    pub fn update_latest(&mut self, rs: &RateSample, delivered: u32) {
        self.loss_round_start = false;
        if !rs.valid {
            return;
        }
        self.bw_latest = self.bw_latest.max(rs.rate);
        self.inflight_latest = self.inflight_latest.max(rs.delivered);
        if !after(self.loss_round, rs.prior_delivered) {
            (self.loss_round, self.loss_round_start) = (delivered, true);
        }
    }

    /// AdvanceLatestDeliverySignals.
    pub fn advance_latest(&mut self, rs: &RateSample) {
        if self.loss_round_start {
            (self.bw_latest, self.inflight_latest) = (rs.rate, rs.delivered);
        }
    }
}

impl Bbr3 {
    /// ResetCongestionSignals.
    pub(super) fn reset_signals(&mut self) {
        self.bounds.loss_in_round = false;
        (self.bounds.bw_latest, self.bounds.inflight_latest) = (0.0, 0);
        self.marks.reset();
    }

    /// UpdateCongestionSignals, with AdaptLowerBoundsFromCongestion.
    pub(super) fn update_signals(&mut self, rs: &RateSample) {
        self.update_max_bw(rs);
        if !self.bounds.loss_round_start {
            return;
        }
        let marked = self.marks.end_round();
        if !self.is_probing() {
            self.lower_bounds(marked);
        }
        self.bounds.loss_in_round = false;
    }

    /// InitLowerBounds and LossLowerBounds; the lower of what losses and marks imply.
    fn lower_bounds(&mut self, marked: bool) {
        let (beta, max_bw) = (self.params.beta, self.max_bw());
        let bounds = &mut self.bounds;
        if !marked && !bounds.loss_in_round {
            return;
        }
        if bounds.inflight_shortterm == NO_BOUND {
            bounds.inflight_shortterm = self.cwnd;
        }
        let by_marks = match marked {
            true => share(bounds.inflight_shortterm, self.marks.leaves()),
            false => NO_BOUND,
        };
        if bounds.loss_in_round {
            if bounds.bw_shortterm.is_infinite() {
                bounds.bw_shortterm = max_bw;
            }
            bounds.bw_shortterm = bounds.bw_latest.max(beta * bounds.bw_shortterm);
            bounds.inflight_shortterm =
                bounds.inflight_latest.max(share(bounds.inflight_shortterm, beta));
        }
        bounds.inflight_shortterm = bounds.inflight_shortterm.min(by_marks);
    }

    /// InflightWithHeadroom.
    pub(super) fn inflight_with_headroom(&self) -> u32 {
        let bound = self.bounds.inflight_longterm;
        if bound == NO_BOUND {
            return NO_BOUND;
        }
        let headroom = share(bound, self.params.headroom).max(1);
        bound.saturating_sub(headroom).max(MIN_PIPE_CWND)
    }

    /// IsInflightTooHigh, for losses.
    pub(super) fn too_lossy(&self, rs: &RateSample) -> bool {
        rs.lost > share(rs.tx_in_flight, self.params.loss_thresh)
    }

    /// NoteLoss.
    pub(super) fn note_loss(&mut self) {
        if self.bounds.loss_in_round {
            return;
        }
        (self.bounds.loss_round, self.bounds.loss_in_round) = (self.sampler.delivered(), true);
        self.save_state();
    }

    /// NoteLoss and HandleLostPacket (D1).
    pub(super) fn on_lost(&mut self, now: Time, rs: &mut RateSample) {
        self.note_loss();
        if self.cycle.samples && rs.valid && self.too_lossy(rs) {
            rs.tx_in_flight = self.inflight_at_loss(rs);
            self.handle_too_high(now, rs);
        }
    }

    /// InflightAtLoss: what was in flight when losses crossed the threshold, with the first packet
    /// of those newly lost that took them over it.
    fn inflight_at_loss(&self, rs: &RateSample) -> u32 {
        let thresh = self.params.loss_thresh;
        let before = rs.tx_in_flight.saturating_sub(1);
        // Not over it yet, but for this packet.
        let allowed = share(rs.tx_in_flight, thresh);
        let lost_before = rs.lost.saturating_sub(rs.newly_lost).max(allowed);
        let prefix = (thresh * f64::from(before) - f64::from(lost_before)) / (1.0 - thresh);
        before.saturating_add(floor(prefix.max(0.0)))
    }

    /// HandleInflightTooHigh.
    pub(super) fn handle_too_high(&mut self, now: Time, rs: &RateSample) {
        (self.cycle.too_high, self.cycle.samples) = (true, false);
        if !rs.limited {
            let least = share(self.target_inflight(), self.params.beta);
            self.bounds.inflight_longterm = rs.tx_in_flight.max(least);
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down(now);
        }
    }
}

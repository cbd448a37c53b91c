//! Startup, and when the pipe is full (sections 5.3.1.1 to 5.3.1.3).

use super::{Bbr3, State};
use crate::tcp::delivery::RateSample;
use crate::tcp::model::Mending;

/// What a round must bring for a plateau not to be one, and rounds of plateau.
const FULL_BW_GROWTH: f64 = 1.25;
const FULL_BW_ROUNDS: u32 = 3;
/// BBRStartupFullLossCnt.
const FULL_LOSS_COUNT: u32 = 6;
/// Linux's bbr_full_ecn_cnt.
const FULL_ECN_COUNT: u32 = 2;

/// Is the pipe full?
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pipe {
    /// BBR.full_bw [packets/s].
    pub full_bw: f64,
    pub full_bw_count: u32,
    pub full_bw_now: bool,
    pub full_bw_reached: bool,
    /// ACKs of this round that showed losses.
    pub loss_events: u32,
}

impl Pipe {
    /// ResetFullBW, with the rate to compare with [packets/s].
    pub fn reset(&mut self, full_bw: f64) {
        (self.full_bw, self.full_bw_count, self.full_bw_now) = (full_bw, 0, false);
    }
}

impl Bbr3 {
    /// CheckFullBWReached.
    pub(super) fn check_full_bw(&mut self, rs: &RateSample) {
        let pipe = &mut self.pipe;
        if pipe.full_bw_now || !self.round_start || rs.limited {
            return;
        }
        if rs.rate >= pipe.full_bw * FULL_BW_GROWTH {
            pipe.reset(rs.rate);
            return;
        }
        pipe.full_bw_count += 1;
        if pipe.full_bw_count >= FULL_BW_ROUNDS {
            (pipe.full_bw_now, pipe.full_bw_reached) = (true, true);
        }
    }

    /// CheckStartupDone.
    pub(super) fn check_startup(&mut self, rs: &RateSample) {
        if self.state != State::Startup {
            return;
        }
        self.check_startup_losses(rs);
        if self.pipe.full_bw_reached {
            self.start_drain();
        }
    }

    /// CheckStartupHighLoss (D2), and the same for marks (D8).
    fn check_startup_losses(&mut self, rs: &RateSample) {
        if rs.newly_lost > 0 {
            self.pipe.loss_events += 1;
        }
        if !self.bounds.loss_round_start {
            return;
        }
        let lossy = self.episode.state() == Mending::Recovery
            && self.pipe.loss_events >= FULL_LOSS_COUNT
            && self.too_lossy(rs);
        let marked = self.marks.startup_rounds >= FULL_ECN_COUNT;
        if !self.pipe.full_bw_reached && (lossy || marked) {
            self.undo.state = Some(State::Startup);
            (self.pipe.full_bw_now, self.pipe.full_bw_reached) = (true, true);
            let bdp = self.bdp(self.bw, 1.0);
            self.bounds.inflight_longterm = bdp.max(self.bounds.inflight_latest);
        }
        self.pipe.loss_events = 0;
    }
}

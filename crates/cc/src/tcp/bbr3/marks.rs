//! ECN by Linux's rules (D8).

use crate::roles::{Ack, Ecn, EcnUse};
use crate::tcp::delivery::Stamp;

/// Linux's bbr_ecn_alpha_gain, bbr_ecn_factor, bbr_ecn_thresh.
const ECN_ALPHA_GAIN: f64 = 1.0 / 16.0;
const ECN_FACTOR: f64 = 1.0 / 3.0;
const ECN_THRESH: f64 = 0.5;

/// The marks of a round, and their average share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    pub alpha: f64,
    /// Packets delivered in this round of the loss clock, and of them those marked.
    delivered: u32,
    ce: u32,
    pub startup_rounds: u32,
    /// The share in the last round was [`ECN_THRESH`] or more.
    pub high: bool,
    pub using: EcnUse,
}

impl Marks {
    /// Before the first.
    pub fn new(used: bool, ect1: bool) -> Marks {
        let using = match (used, ect1) {
            (false, _) => EcnUse::None,
            (true, false) => EcnUse::Codes(Ecn::Ect0),
            (true, true) => EcnUse::Codes(Ecn::Ect1),
        };
        Marks { alpha: 1.0, delivered: 0, ce: 0, startup_rounds: 0, high: false, using }
    }

    /// An ACK has come; at the end of a round alpha is renewed.
    pub fn on_ack(&mut self, ack: &Ack<Stamp>) {
        self.high = false;
        if self.using != EcnUse::None {
            self.delivered = self.delivered.saturating_add(ack.delivered);
            self.ce = self.ce.saturating_add(ack.marks);
        }
    }

    /// A round ends: was anything marked in it?
    pub fn end_round(&mut self) -> bool {
        let marked = self.ce > 0;
        if self.delivered > 0 {
            let share = (f64::from(self.ce) / f64::from(self.delivered)).min(1.0);
            self.alpha += ECN_ALPHA_GAIN * (share - self.alpha);
            self.high = share >= ECN_THRESH;
            self.startup_rounds = if self.high { self.startup_rounds.saturating_add(1) } else { 0 };
        }
        self.reset();
        marked
    }

    /// The round counts anew.
    pub fn reset(&mut self) {
        (self.delivered, self.ce) = (0, 0);
    }

    /// What a marked round leaves of inflight_shortterm, as a factor.
    pub fn leaves(&self) -> f64 {
        1.0 - self.alpha * ECN_FACTOR
    }
}

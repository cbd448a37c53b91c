//! The end host of a protocol whose routers tell a rate, as RCP's and MaxNet's do: packets leave at
//! the rate told last, one at a time, and a window of twice the bandwidth-delay product is only
//! there so that a path that has fallen silent is not filled for ever.

use units::{Rate, Span};

use crate::roles::{Loss, LossKind};

/// What such an end host has.
#[derive(Clone, Debug)]
pub(super) struct Rated {
    /// The rate that was told last [bytes/s]; 0 before the first answer.
    pub rate: f64,
    /// [s]
    srtt: f64,
    /// s [bytes].
    packet: f64,
}

impl Rated {
    /// Nothing told yet.
    pub fn new(packet_bytes: u32) -> Rated {
        Rated { rate: 0.0, srtt: 0.0, packet: f64::from(packet_bytes) }
    }

    #[inline]
    pub fn hear(&mut self, srtt: Option<Span>) {
        self.srtt = srtt.map_or(self.srtt, |srtt| srtt.as_secs().min(1e4));
    }

    /// After a timeout the path is asked anew.
    pub fn on_loss(&mut self, loss: &Loss) {
        if loss.kind == LossKind::Timeout {
            self.rate = 0.0;
        }
    }

    /// [packets]
    #[inline]
    pub fn cwnd(&self) -> f64 {
        (2.0 * self.rate * self.srtt / self.packet).clamp(1.0, 1e9)
    }

    #[inline]
    pub fn pacing(&self) -> Option<Rate> {
        // The cast saturates.
        (self.rate > 0.0).then(|| Rate(((self.rate * 8.0) as u64).max(1)))
    }
}

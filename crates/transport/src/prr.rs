//! Proportional Rate Reduction (RFC 9937, which replaces RFC 6937): in fast recovery the window
//! goes down to the controller's new one over a round trip, in proportion to what arrives, and not
//! by half a round trip's silence.
//!
//! The controller has its new window, RFC 9937's ssthresh, at once; what may be sent meanwhile is
//! counted here. An ACK is *safe* where it moves the cumulative number and shows no further loss.

/// The state of one recovery, in segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prr {
    /// RecoverFS.
    start: u64,
    /// prr_delivered.
    delivered: u64,
    /// prr_out at the last ACK.
    out: u64,
    /// Sent since then.
    sent: u64,
    /// DeliveredData of the last ACK.
    last: u64,
    safe: bool,
    /// What was in flight at the last ACK.
    pipe: u64,
}

impl Prr {
    /// A recovery begins: `start` is RFC 9937's RecoverFS.
    pub(crate) fn new(start: u64) -> Prr {
        Prr { start: start.max(1), delivered: 0, out: 0, sent: 0, last: 0, safe: false, pipe: 0 }
    }

    /// An ACK that delivers something, or a timer that has found a loss, which counts as one
    /// segment delivered: there may be no ACK to wait for. `pipe` is what is in flight now.
    pub(crate) fn on_ack(&mut self, delivered: u64, safe: bool, pipe: u64) {
        self.delivered += delivered;
        self.out += core::mem::take(&mut self.sent);
        (self.last, self.safe, self.pipe) = (delivered, safe, pipe);
    }

    /// A segment goes out.
    pub(crate) fn on_send(&mut self) {
        self.sent += 1;
    }

    /// How many segments may go out before the next ACK, of a controller with this window: what is
    /// left of sndcnt.
    pub(crate) fn room(&self, ssthresh: u64) -> u64 {
        let count = if self.pipe > ssthresh {
            let due = (u128::from(self.delivered) * u128::from(ssthresh))
                .div_ceil(u128::from(self.start));
            u64::try_from(due).unwrap_or(u64::MAX).saturating_sub(self.out)
        } else {
            let banked = self.delivered.saturating_sub(self.out).max(self.last);
            (banked + u64::from(self.safe)).min(ssthresh - self.pipe)
        };
        // The first retransmission goes out at once.
        count.max(u64::from(self.out == 0)).saturating_sub(self.sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One segment of twenty is lost and the window is halved to ten: the third duplicate ACK finds
    /// it, with the two segments that limited transmit has sent out as well. RecoverFS is 22 - 3 +
    /// 1 = 20; each ACK delivers one, and ceil(k/2) may be out after k of them, until ten are in
    /// flight.
    #[test]
    fn a_single_loss_lets_out_every_second_segment() {
        let mut prr = Prr::new(20);
        let (mut pipe, mut sent) = (18_u64, Vec::new());
        for ack in 1..=17 {
            // What is delivered has left the network; of the first ACK `pipe` knows already.
            pipe -= u64::from(ack > 1);
            prr.on_ack(1, false, pipe);
            let room = prr.room(10);
            for _ in 0..room {
                prr.on_send();
            }
            assert_eq!(prr.room(10), 0);
            pipe += room;
            sent.push(room);
        }
        // The 17th finds 18 - 16 + 8 = 10 in flight, which is the window.
        assert_eq!(sent, [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0]);
        assert_eq!(pipe, 10);
    }

    /// Fifteen of twenty are lost, 22 - 3 - 15 = 4 are in flight below a window of ten: one for one
    /// while the cumulative number stands still, two for one when it moves and nothing else is
    /// lost.
    #[test]
    fn many_losses_are_mended_by_slow_start_as_long_as_acks_are_safe() {
        let mut prr = Prr::new(20);
        prr.on_ack(1, false, 4);
        assert_eq!(prr.room(10), 1);
        prr.on_send();
        prr.on_ack(1, false, 4);
        assert_eq!(prr.room(10), 1);
        prr.on_send();
        prr.on_ack(1, true, 4);
        assert_eq!(prr.room(10), 2);
        // No further than the window: 10 - 9.
        prr.on_send();
        prr.on_send();
        prr.on_ack(5, true, 9);
        assert_eq!(prr.room(10), 1);
    }

    /// Whatever the numbers say, recovery begins with one segment; and what was not sent when it
    /// was allowed is not lost: 4 delivered, 1 out.
    #[test]
    fn the_first_retransmission_is_forced_and_what_is_banked_stays() {
        let mut prr = Prr::new(20);
        prr.on_ack(0, false, 12);
        assert_eq!(prr.room(10), 1);
        prr.on_send();
        prr.on_ack(3, false, 6);
        prr.on_ack(1, false, 5);
        assert_eq!(prr.room(10), 3);
    }
}

//! What a macro-flow's ingress makes of the numbers in its feedback: what has arrived and what is
//! lost.
//!
//! Nothing is sent again, so a cumulative number could not stop at a hole. An acknowledgement says
//! instead the highest number that has arrived and how many packets have, so that a lost
//! acknowledgement is no lost packet.

/// The ingress's account.
#[derive(Clone, Copy, Debug)]
pub struct Gaps {
    /// One past the highest number that has arrived.
    highest: u64,
    received: u64,
    /// Packets taken for lost.
    known: u64,
    /// `highest` when more than those were missing first.
    suspected: Option<u64>,
    /// What was sent when congestion was told of last.
    recover: u64,
    /// Packets above a hole that make it a loss.
    dup_thresh: u64,
}

/// What an acknowledgement changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct News {
    /// Packets newly taken for lost.
    pub lost: u32,
    /// Is that the first loss of a window?
    pub event: bool,
}

impl Gaps {
    /// Nothing was sent yet.
    pub fn new(dup_thresh: u32) -> Gaps {
        let dup_thresh = u64::from(dup_thresh.max(1));
        Gaps { highest: 0, received: 0, known: 0, suspected: None, recover: 0, dup_thresh }
    }

    /// Feedback comes that says (highest, received); `nxt` packets were sent so far.
    pub fn on_feedback(&mut self, (highest, received): (u64, u64), nxt: u64) -> News {
        self.received = self.received.max(received);
        self.highest = self.highest.max(highest);
        let missing = self.highest - self.received;
        // What was given up may have come late.
        self.known = self.known.min(missing);
        let mut news = News { lost: 0, event: false };
        if missing == self.known {
            self.suspected = None;
            return news;
        }
        let from = *self.suspected.get_or_insert(self.highest);
        if self.highest - from + 1 < self.dup_thresh {
            return news;
        }
        news.lost = count(missing - self.known);
        news.event = self.highest > self.recover;
        if news.event {
            self.recover = nxt;
        }
        (self.known, self.suspected) = (missing, None);
        news
    }

    /// No feedback came: all that is out is given up.
    pub fn on_timeout(&mut self, nxt: u64) {
        (self.highest, self.recover) = (nxt, nxt);
        (self.known, self.suspected) = (nxt - self.received, None);
    }
}

fn count(packets: u64) -> u32 {
    u32::try_from(packets).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn news(lost: u32, event: bool) -> News {
        News { lost, event }
    }

    #[test]
    fn three_packets_above_a_hole_make_a_loss_once_a_window() {
        let mut gaps = Gaps::new(3);
        assert_eq!(gaps.on_feedback((1, 1), 20), news(0, false));
        // 1 is missing: 2 and 3 arrive, then 4.
        assert_eq!(gaps.on_feedback((3, 2), 20), news(0, false));
        assert_eq!(gaps.on_feedback((4, 3), 20), news(0, false));
        assert_eq!(gaps.on_feedback((5, 4), 20), news(1, true));
        // 5 and 6 are missing as well: of the same window, 20 packets.
        for (highest, received) in [(8, 5), (9, 6)] {
            assert_eq!(gaps.on_feedback((highest, received), 22), news(0, false));
        }
        assert_eq!(gaps.on_feedback((10, 7), 22), news(2, false));
        // 20 is missing, of the next one.
        assert_eq!(gaps.on_feedback((20, 17), 30), news(0, false));
        for (highest, received) in [(22, 18), (23, 19)] {
            assert_eq!(gaps.on_feedback((highest, received), 30), news(0, false));
        }
        assert_eq!(gaps.on_feedback((24, 20), 30), news(1, true));
    }

    #[test]
    fn a_late_packet_and_a_lost_acknowledgement_are_no_loss() {
        let mut gaps = Gaps::new(3);
        assert_eq!(gaps.on_feedback((1, 1), 9), news(0, false));
        // 1 is overtaken by 2 and 3.
        assert_eq!(gaps.on_feedback((3, 2), 9), news(0, false));
        assert_eq!(gaps.on_feedback((4, 3), 9), news(0, false));
        assert_eq!(gaps.on_feedback((4, 4), 9), news(0, false));
        // The feedback of 4 to 6 is lost.
        assert_eq!(gaps.on_feedback((8, 8), 9), news(0, false));
        // Feedback that was overtaken is no news.
        assert_eq!(gaps.on_feedback((7, 7), 9), news(0, false));
    }

    #[test]
    fn what_a_timeout_gave_up_is_not_lost_again() {
        let mut gaps = Gaps::new(1);
        assert_eq!(gaps.on_feedback((2, 2), 10), news(0, false));
        gaps.on_timeout(10);
        // Of 2 to 9, 4 comes late all the same; then 10, the first of later.
        assert_eq!(gaps.on_feedback((5, 3), 10), news(0, false));
        assert_eq!(gaps.on_feedback((11, 4), 12), news(0, false));
        // 11 is missing.
        assert_eq!(gaps.on_feedback((13, 5), 14), news(1, true));
    }
}

//! Round trips, counted by sequence numbers: a round is over when the first packet sent after its
//! beginning is acknowledged.

/// Where the present round ends.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rounds {
    /// Packets that the cumulative number has moved over.
    una: u64,
    /// One past the highest number sent.
    nxt: u64,
    /// The round is over when more than this is acknowledged.
    end: u64,
}

impl Rounds {
    /// A packet with this number leaves.
    #[inline]
    pub fn sent(&mut self, seq: u64) {
        self.nxt = self.nxt.max(seq.saturating_add(1));
    }

    /// So many packets are acknowledged; true when that ends a round.
    #[inline]
    pub fn acked(&mut self, packets: u32) -> bool {
        self.una = self.una.saturating_add(u64::from(packets));
        if self.una <= self.end {
            return false;
        }
        self.end = self.nxt.max(self.una);
        true
    }

    /// The present round begins anew.
    pub fn restart(&mut self) {
        self.end = self.nxt.max(self.una);
    }
}

#[cfg(test)]
mod tests {
    use super::Rounds;

    #[test]
    fn a_round_is_over_with_the_first_packet_sent_after_its_beginning() {
        let mut rounds = Rounds::default();
        (0..2).for_each(|seq| rounds.sent(seq));
        // The ACK of packet 0 ends the first round; the second one ends with packet 2, which
        // leaves after it.
        assert!(rounds.acked(1));
        (2..4).for_each(|seq| rounds.sent(seq));
        assert!(!rounds.acked(1));
        (4..6).for_each(|seq| rounds.sent(seq));
        assert!(rounds.acked(1));
        // Packets 3 to 5 are out: 3 acknowledged are not enough.
        assert!(!rounds.acked(3));
        rounds.sent(6);
        assert!(rounds.acked(1));
    }
}

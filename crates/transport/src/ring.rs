//! A set of sequence numbers within a moving window: one bit each, in a ring of words.

const WORD: u64 = u64::BITS as u64;

/// A bitmap over `base..end`, for a base that only grows. Sequence number `n` lives in word
/// `n / 64` modulo a power of two; the words of the window are distinct, so whatever leaves the
/// window must have been removed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ring {
    words: Vec<u64>,
}

impl Ring {
    /// Removes everything; the memory stays.
    pub(crate) fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Makes the window `base..end` fit.
    pub(crate) fn reserve(&mut self, base: u64, end: u64) {
        let needed = (end.max(base + 1) - 1) / WORD - base / WORD + 1;
        if needed <= self.words.len() as u64 {
            return;
        }
        // A window that does not fit into memory is the caller's error.
        let len = usize::try_from(needed).expect("window fits into memory").next_power_of_two();
        let mut wider = Ring { words: vec![0; len.max(4)] };
        for word in base / WORD..base / WORD + self.words.len() as u64 {
            let slot = wider.slot(word);
            wider.words[slot] = self.words[self.slot(word)];
        }
        *self = wider;
    }

    /// Adds `start..end`, which is reserved; returns how many were not there.
    pub(crate) fn insert(&mut self, start: u64, end: u64) -> u64 {
        let mut added = 0;
        for (word, mask) in words(start, end) {
            let slot = self.slot(word);
            added += u64::from((mask & !self.words[slot]).count_ones());
            self.words[slot] |= mask;
        }
        added
    }

    /// Removes `start..end`; returns how many were there.
    pub(crate) fn remove(&mut self, start: u64, end: u64) -> u64 {
        let mut removed = 0;
        for (word, mask) in words(start, end) {
            let slot = self.slot(word);
            removed += u64::from((mask & self.words[slot]).count_ones());
            self.words[slot] &= !mask;
        }
        removed
    }

    /// The least member of `from..end`, or `end`.
    pub(crate) fn next_member(&self, from: u64, end: u64) -> u64 {
        words(from, end)
            .map(|(word, mask)| (word, mask & self.words[self.slot(word)]))
            .find(|&(_, bits)| bits != 0)
            .map_or(end, |(word, bits)| word * WORD + u64::from(bits.trailing_zeros()))
    }

    /// The least number in `from..end` that is no member, or the greater of `from` and `end`.
    pub(crate) fn next_hole(&self, from: u64, end: u64) -> u64 {
        words(from, end)
            .map(|(word, mask)| (word, mask & !self.words[self.slot(word)]))
            .find(|&(_, bits)| bits != 0)
            .map_or(end.max(from), |(word, bits)| word * WORD + u64::from(bits.trailing_zeros()))
    }

    /// The greatest number in `start..end` that is no member.
    pub(crate) fn last_hole(&self, start: u64, end: u64) -> Option<u64> {
        words(start, end)
            .rev()
            .map(|(word, mask)| (word, mask & !self.words[self.slot(word)]))
            .find(|&(_, bits)| bits != 0)
            .map(|(word, bits)| word * WORD + u64::from(bits.ilog2()))
    }

    #[inline]
    fn slot(&self, word: u64) -> usize {
        // The length is a power of two below 2^64, so that the cast loses nothing.
        (word & (self.words.len() as u64 - 1)) as usize
    }
}

/// The words that `start..end` lies in, each with the mask of its part.
#[inline]
fn words(start: u64, end: u64) -> impl DoubleEndedIterator<Item = (u64, u64)> {
    let first = start / WORD;
    let past = if start < end { (end - 1) / WORD + 1 } else { first };
    (first..past).map(move |word| {
        let low = start.max(word * WORD) % WORD;
        let high = (end - 1).min(word * WORD + (WORD - 1)) % WORD;
        (word, u64::MAX << low & u64::MAX >> (WORD - 1 - high))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn windows_that_straddle_words_keep_their_bits_while_growing() {
        let mut ring = Ring::default();
        ring.reserve(1000, 1010);
        assert_eq!(ring.insert(1003, 1010), 7);
        ring.reserve(1000, 9000);
        assert_eq!(ring.insert(1005, 9000), 7990);
        assert_eq!(ring.next_member(1000, 9000), 1003);
        assert_eq!(ring.next_hole(1003, 9000), 9000);
        assert_eq!(ring.last_hole(1000, 9000), Some(1002));
        assert_eq!(ring.remove(1000, 9000), 7997);
        assert_eq!(ring.next_member(1000, 9000), 9000);
    }

    proptest! {
        #[test]
        fn ring_is_a_set(
            base in 0..1000_u64,
            steps in prop::collection::vec((any::<bool>(), 0..600_u64, 0..200_u64), 1..40),
        ) {
            let mut ring = Ring::default();
            let mut set = BTreeSet::new();
            for (add, offset, len) in steps {
                let (start, end) = (base + offset, base + offset + len);
                ring.reserve(base, end + 64);
                let before = set.len();
                if add {
                    set.extend(start..end);
                    prop_assert_eq!(ring.insert(start, end), (set.len() - before) as u64);
                } else {
                    set.retain(|n| !(start..end).contains(n));
                    let removed = ring.remove(start, end);
                    prop_assert_eq!(removed, (before - set.len()) as u64);
                }
                let end = base + 64 * (ring.words.len() as u64 - 1);
                let member = (start..end).find(|n| set.contains(n)).unwrap_or(end);
                let hole = (start..end).find(|n| !set.contains(n)).unwrap_or(end);
                prop_assert_eq!(ring.next_member(start, end), member);
                prop_assert_eq!(ring.next_hole(start, end), hole);
                prop_assert_eq!(ring.last_hole(base, end), (base..end).rfind(|n| !set.contains(n)));
            }
        }
    }
}

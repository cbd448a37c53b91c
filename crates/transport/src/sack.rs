//! The blocks of a selective acknowledgement (RFC 2018).

/// Segments `start..end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// The first segment.
    pub start: u64,
    /// One past the last segment.
    pub end: u64,
}

impl Range {
    /// Does `self` hold all of `other`?
    pub(crate) fn covers(self, other: Range) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// Do the two have a segment in common, or none between them?
    pub(crate) fn touches(self, other: Range) -> bool {
        self.start <= other.end && other.start <= self.end
    }

    /// From the first segment of either to the last of either.
    pub(crate) fn hull(self, other: Range) -> Range {
        Range { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// Up to three SACK blocks, the most recent first: as many as fit beside a timestamp option
/// (RFC 2018, section 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [Range; SackBlocks::MAX],
    len: u8,
}

impl SackBlocks {
    /// The most blocks that an ACK takes.
    pub const MAX: usize = 3;

    /// The blocks.
    #[inline]
    pub fn as_slice(&self) -> &[Range] {
        &self.blocks[..usize::from(self.len)]
    }

    /// Appends a block; a fourth one is dropped.
    pub fn push(&mut self, block: Range) {
        if let Some(slot) = self.blocks.get_mut(usize::from(self.len)) {
            *slot = block;
            self.len += 1;
        }
    }

    /// That of these blocks in which all of `block` is.
    pub(crate) fn covering(&self, block: Range) -> Option<Range> {
        self.as_slice().iter().copied().find(|seen| seen.covers(block))
    }

    /// What is in `block` and not in that of these blocks with which it has the most in common, in
    /// two parts that may be empty, and the block together with that one. Most of an ACK's blocks
    /// were in the ACK before.
    pub(crate) fn news_of(&self, block: Range) -> ([Range; 2], Range) {
        let near = self.as_slice().iter().filter(|seen| seen.touches(block));
        match near.max_by_key(|seen| seen.end.min(block.end).saturating_sub(seen.start)) {
            None => ([block, Range::default()], block),
            Some(&seen) => {
                let below = Range { start: block.start, end: seen.start.min(block.end) };
                let over = Range { start: seen.end.max(block.start), end: block.end };
                ([below, over], seen.hull(block))
            }
        }
    }

    /// Is there none?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

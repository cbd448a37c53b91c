//! What is not due yet, sorted no finer than it has to be: near keys in buckets of equal width, far
//! ones in a pile.
//!
//! The width of the buckets is a guess, made from the keys at hand. A wrong one costs time, never
//! order: [`Calendar::misfit`] says when to guess anew.

use units::Time;

use crate::buckets::{BUCKETS, Buckets};
use crate::{EMPTY, Scale, key};

/// A bucket with this many times [`Scale::aim`] keys is too full.
pub const TOO_FULL: usize = 8;

/// Effort of opening a bucket, in keys looked at in the pile.
const OPENING: u64 = 16;

/// Keys by the time when they are due, bucket by bucket.
#[derive(Clone, Debug)]
pub struct Calendar {
    scale: Scale,
    /// A bucket is `2^shift` long [ps].
    shift: u32,
    /// Number of the next bucket to open; those before it were opened.
    next: u64,
    buckets: Buckets,
    /// Keys beyond the buckets.
    pile: Vec<u128>,
    /// The least of those, or [`EMPTY`].
    pile_least: u128,
    /// What finding the next bucket has cost since the width was set, in keys looked at.
    effort: u64,
    /// The agenda's work when the width was set.
    set_at: u64,
    /// Keys in the buckets opened since the width was set.
    opened: u64,
    /// Keys in the bucket opened last.
    latest: usize,
}

/// What an agenda has done so far.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Events handed out.
    pub handled: u64,
    /// Keys in the agenda.
    pub held: u64,
}

impl Work {
    /// Keys put in and keys handed out.
    fn done(self) -> u64 {
        2 * self.handled + self.held
    }
}

impl Calendar {
    /// Without keys.
    pub fn new(scale: Scale) -> Calendar {
        Calendar {
            scale,
            shift: 1,
            next: 0,
            buckets: Buckets::default(),
            pile: Vec::new(),
            pile_least: EMPTY,
            effort: 0,
            set_at: 0,
            opened: 0,
            latest: 0,
        }
    }

    /// Keys held.
    pub fn len(&self) -> usize {
        self.buckets.len() + self.pile.len()
    }

    /// Keys below this are no longer taken in.
    pub fn horizon(&self) -> u128 {
        self.start(self.next)
    }

    /// The least key of a bucket and those after it; [`EMPTY`] when there is none.
    fn start(&self, bucket: u64) -> u128 {
        let time = u128::from(bucket) << self.shift;
        u64::try_from(time).map_or(EMPTY, |time| key::new(Time(time), 0))
    }

    /// Takes a key in that is not below the horizon.
    #[inline]
    pub fn insert(&mut self, key: u128) {
        let bucket = self.bucket(key);
        if bucket - self.next < BUCKETS {
            self.buckets.insert(bucket, key);
        } else {
            self.pile.push(key);
            self.pile_least = self.pile_least.min(key);
        }
    }

    #[inline]
    fn bucket(&self, key: u128) -> u64 {
        key::time(key).0 >> self.shift
    }

    /// Moves the keys of the next bucket that has some to the end of `keys`, in no order.
    pub fn open(&mut self, keys: &mut Vec<u128>) {
        let mut found = self.buckets.first_from(self.next);
        // A jump, however far: there is nothing before either of the two.
        if self.pile_least != EMPTY && found.is_none_or(|n| n >= self.bucket(self.pile_least)) {
            self.next = self.bucket(self.pile_least);
            self.look_through_pile();
            found = self.buckets.first_from(self.next);
        }
        if let Some(number) = found {
            self.buckets.drain_into(number, keys);
            self.next = number + 1;
        }
        self.effort += OPENING;
        self.latest = keys.len();
        self.opened += keys.len() as u64;
    }

    /// Moves the keys that are not beyond the buckets from the pile to them. From then on all in
    /// the pile are, until all buckets of today have had their turn.
    fn look_through_pile(&mut self) {
        self.effort += self.pile.len() as u64;
        let end = self.start(self.next + BUCKETS);
        let (buckets, shift) = (&mut self.buckets, self.shift);
        let mut least = EMPTY;
        self.pile.retain(|&key| {
            if key < end {
                buckets.insert(key::time(key).0 >> shift, key);
            } else {
                least = least.min(key);
            }
            key >= end
        });
        self.pile_least = least;
    }

    /// The greatest shift to try when the width is wrong: too large when far more keys than meant
    /// were in the bucket opened last, or came `late` to it; too small when finding the buckets
    /// cost more than what was in them. As setting it touches all keys, as much must have been done
    /// since it was last set: the price is a constant for each event whatever the events do.
    pub fn misfit(&self, late: usize, work: Work) -> Option<u32> {
        if work.done() - self.set_at + self.effort < work.held {
            return None;
        }
        let times = self.latest.max(late) / self.scale.aim;
        if times >= TOO_FULL {
            Some(self.shift.saturating_sub(times.ilog2()))
        } else {
            (self.effort > 2 * self.opened).then_some(MAX_SHIFT)
        }
    }

    /// Moves all keys to the end of `keys`, in no order.
    pub fn drain_into(&mut self, keys: &mut Vec<u128>) {
        while let Some(number) = self.buckets.first_from(self.next) {
            self.buckets.drain_into(number, keys);
        }
        keys.append(&mut self.pile);
        self.pile_least = EMPTY;
    }

    /// Log of the width of the buckets.
    #[cfg(test)]
    pub fn shift(&self) -> u32 {
        self.shift
    }

    /// The agenda's work when the width was set.
    #[cfg(test)]
    pub fn set_at(&self) -> u64 {
        self.set_at
    }

    /// Keys for which there is memory.
    #[cfg(test)]
    pub fn room(&self) -> usize {
        self.buckets.room() + self.pile.capacity()
    }

    /// Takes `keys` in, when there are none here, with a new width: no more than `2^most`, and by
    /// the keys so that [`Scale::aim`] are in a bucket.
    pub fn spread(&mut self, keys: &mut [u128], most: u32, work: Work) {
        debug_assert!(self.len() == 0, "the keys must have been taken out");
        let (least, width) = width(keys, self.scale);
        // Not 0, so that the number of a bucket after the last fits as well.
        self.shift = width.ilog2().min(most).max(1);
        self.next = self.bucket(least);
        self.set_at = work.done();
        (self.effort, self.opened, self.latest) = (0, 0, 0);
        for &mut key in keys {
            self.insert(key);
        }
    }
}

/// The least key, and the time [ps] in which the nearest of the keys fill a bucket. Each source has
/// its next event among the keys, so as many are due soon as events will be handled soon; later
/// ones say less, as most of what will happen then is not yet scheduled. An eighth is taken for
/// near.
fn width(keys: &mut [u128], scale: Scale) -> (u128, u64) {
    let near = keys.len() / 8;
    let (nearest, &mut last, _) = keys.select_nth_unstable(near);
    let least = nearest.iter().copied().min().unwrap_or(last);
    let span = key::time(last).0 - key::time(least).0;
    let width = u128::from(span) * scale.aim as u128 / near.max(1) as u128;
    (least, u64::try_from(width).unwrap_or(u64::MAX).max(1))
}

/// No bound to the width.
pub const MAX_SHIFT: u32 = 63;

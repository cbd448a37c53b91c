//! A 4-ary heap of keys: the four children of a node are one cache line, and one comparison
//! decides.
//!
//! Handling an event nearly always schedules another, so the root is left in place as a hole until
//! the next call fills it.

use crate::EMPTY;

/// The children of one node; places not in use hold [`EMPTY`].
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Children([u128; 4]);

impl Children {
    /// The least key, and where it is.
    #[inline]
    fn least(&self) -> (u128, usize) {
        let Children([a, b, c, d]) = *self;
        let (left, at_left) = if b < a { (b, 1) } else { (a, 0) };
        let (right, at_right) = if d < c { (d, 3) } else { (c, 2) };
        if right < left { (right, at_right) } else { (left, at_left) }
    }
}

/// The root's place among the first four nodes, of which the other three are never used.
const ROOT: usize = 3;

/// Keys of which the least can be taken.
#[derive(Clone, Debug)]
pub struct Heap {
    /// Node `n` is `n % 4` of group `n / 4`, and group `n - 2` are its children; the root is node
    /// [`ROOT`], so that going down from it is like going down from any other.
    groups: Vec<Children>,
    /// Keys held, the root's included.
    len: usize,
    /// The root was taken and waits to be replaced.
    hole: bool,
}

impl Default for Heap {
    fn default() -> Heap {
        Heap { groups: vec![Children([EMPTY; 4])], len: 0, hole: false }
    }
}

impl Heap {
    /// Keys held.
    pub fn len(&self) -> usize {
        self.len - usize::from(self.hole)
    }

    /// Is there no key? Not to be asked between [`Heap::take`] and [`Heap::least`].
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The least key, or [`EMPTY`].
    #[inline]
    pub fn least(&mut self) -> u128 {
        if self.hole {
            self.hole = false;
            self.remove_root();
        }
        self.key(ROOT)
    }

    /// Takes the key that [`Heap::least`] has just shown.
    #[inline]
    pub fn take(&mut self) {
        debug_assert!(self.len > 0 && !self.hole, "no key was shown");
        self.hole = true;
    }

    /// Takes the key that [`Heap::least`] has just shown, and leaves no place for another.
    pub fn pop(&mut self) {
        debug_assert!(self.len > 0 && !self.hole, "no key was shown");
        self.remove_root();
    }

    /// Takes a key in, in place of the one just taken; false when there is none to replace.
    #[inline(always)]
    pub fn replace(&mut self, key: u128) -> bool {
        let hole = self.hole;
        if hole {
            self.hole = false;
            self.sift_down(key);
        }
        hole
    }

    /// Moves all keys to the end of `keys`, in no order.
    pub fn drain_into(&mut self, keys: &mut Vec<u128>) {
        self.least();
        keys.extend(self.groups.iter().flat_map(|c| c.0).filter(|key| *key != EMPTY));
        self.groups.truncate(1);
        self.groups[0] = Children([EMPTY; 4]);
        self.len = 0;
    }

    /// Takes a key in when there is none to replace.
    pub fn push(&mut self, key: u128) {
        debug_assert!(!self.hole, "the key must replace the one taken");
        let mut node = ROOT + self.len;
        self.len += 1;
        if node / 4 == self.groups.len() {
            self.groups.push(Children([EMPTY; 4]));
        }
        while node > ROOT {
            let parent = node / 4 + 2;
            let above = self.key(parent);
            if above <= key {
                break;
            }
            self.set(node, above);
            node = parent;
        }
        self.set(node, key);
    }

    fn remove_root(&mut self) {
        self.len -= 1;
        let last = self.key(ROOT + self.len);
        self.set(ROOT + self.len, EMPTY);
        if self.len > 0 {
            self.sift_down(last);
        }
    }

    /// Puts `key` where the root was.
    #[inline(always)]
    fn sift_down(&mut self, key: u128) {
        // The place to fill is `lane` of `groups[group]`.
        let (mut group, mut lane) = (ROOT / 4, ROOT % 4);
        loop {
            let below = 4 * group + lane - 2;
            match self.groups.get(below).map(Children::least) {
                Some((least, at)) if least < key => {
                    self.groups[group].0[lane % 4] = least;
                    (group, lane) = (below, at);
                }
                _ => {
                    self.groups[group].0[lane % 4] = key;
                    return;
                }
            }
        }
    }

    #[inline]
    fn key(&self, node: usize) -> u128 {
        self.groups[node / 4].0[node % 4]
    }

    #[inline]
    fn set(&mut self, node: usize, key: u128) {
        self.groups[node / 4].0[node % 4] = key;
    }
}

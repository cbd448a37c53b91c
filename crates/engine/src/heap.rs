//! A 4-ary heap of keys: the four children of a node are one cache line, and one comparison decides.
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

/// Keys of which the least can be taken.
#[derive(Clone, Debug)]
pub struct Heap {
    /// The least key, or [`EMPTY`].
    root: u128,
    /// `below[n]` are the children of node `n`; node 0 is the root, node `n > 0` is in
    /// `below[(n - 1) / 4]`.
    below: Vec<Children>,
    /// Keys held, the root's included.
    len: usize,
    /// The root was taken and waits to be replaced.
    hole: bool,
}

impl Default for Heap {
    fn default() -> Heap {
        Heap { root: EMPTY, below: Vec::new(), len: 0, hole: false }
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
        self.root
    }

    /// Takes the key that [`Heap::least`] has just shown.
    #[inline]
    pub fn take(&mut self) {
        debug_assert!(self.len > 0 && !self.hole, "no key was shown");
        self.hole = true;
    }

    /// Takes a key in, in place of the one just taken; false when there is none to replace.
    #[inline]
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
        if self.least() != EMPTY {
            keys.push(self.root);
        }
        keys.extend(self.below.drain(..).flat_map(|c| c.0).filter(|key| *key != EMPTY));
        *self = Heap { below: std::mem::take(&mut self.below), ..Heap::default() };
    }

    /// Takes a key in when there is none to replace.
    pub fn push(&mut self, key: u128) {
        debug_assert!(!self.hole, "the key must replace the one taken");
        let mut node = self.len;
        self.len += 1;
        if node > 0 && (node - 1).is_multiple_of(4) {
            self.make_room((node - 1) / 4);
        }
        while node > 0 {
            let parent = (node - 1) / 4;
            let above = self.key(parent);
            if above <= key {
                break;
            }
            self.set(node, above);
            node = parent;
        }
        self.set(node, key);
    }

    fn make_room(&mut self, children: usize) {
        if children == self.below.len() {
            self.below.push(Children([EMPTY; 4]));
        }
    }

    fn remove_root(&mut self) {
        self.len -= 1;
        if self.len == 0 {
            self.root = EMPTY;
            return;
        }
        let last = self.key(self.len);
        self.set(self.len, EMPTY);
        self.sift_down(last);
    }

    /// Puts `key` where the root was.
    #[inline]
    fn sift_down(&mut self, key: u128) {
        let Some((least, mut lane)) = self.below.first().map(Children::least) else {
            self.root = key;
            return;
        };
        if key <= least {
            self.root = key;
            return;
        }
        self.root = least;
        // The place to fill is `lane` of `below[group]`.
        let mut group = 0;
        loop {
            let node = 4 * group + 1 + lane;
            match self.below.get(node).map(Children::least) {
                Some((least, at)) if least < key => {
                    self.below[group].0[lane % 4] = least;
                    (group, lane) = (node, at);
                }
                _ => {
                    self.below[group].0[lane % 4] = key;
                    return;
                }
            }
        }
    }

    #[inline]
    fn key(&self, node: usize) -> u128 {
        if node == 0 { self.root } else { self.below[(node - 1) / 4].0[(node - 1) % 4] }
    }

    #[inline]
    fn set(&mut self, node: usize, key: u128) {
        if node == 0 {
            self.root = key;
        } else {
            self.below[(node - 1) / 4].0[(node - 1) % 4] = key;
        }
    }
}

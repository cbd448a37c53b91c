//! The event agenda. It knows nothing of networks: an event is a `u32` that the world decodes.
//!
//! The order is total and does not depend on how the world came to schedule its events: by time, and
//! among equals by the event's number. So an optimisation that schedules an event earlier, later or
//! not at all moves nothing else.
//!
//! The agenda is small by design: every source (a delay line, a timer) keeps one event pending, for
//! the first thing it has to do, however many packets it holds. There is no cancelling; a source that
//! changes its mind ignores the event that no longer matches.
//!
//! A 4-ary heap of 128-bit keys (time, event): the four children of a node are one cache line, and
//! one comparison decides. Handling an event nearly always schedules another, so the root is left in
//! place as a hole until the next call fills it.
#![forbid(unsafe_code)]

use units::Time;

/// The children of one node; places not in use hold [`EMPTY`].
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Children([u128; 4]);

const EMPTY: u128 = u128::MAX;

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

/// The pending events of one run.
#[derive(Clone, Debug)]
pub struct Agenda {
    /// The least key, or [`EMPTY`].
    root: u128,
    /// `below[n]` are the children of node `n`; node 0 is the root, node `n > 0` is in
    /// `below[(n - 1) / 4]`.
    below: Vec<Children>,
    /// Keys held, the root's included.
    len: usize,
    /// The root was handed out and waits to be replaced.
    hole: bool,
    handled: u64,
    now: Time,
}

impl Default for Agenda {
    fn default() -> Agenda {
        let below = Vec::new();
        Agenda { root: EMPTY, below, len: 0, hole: false, handled: 0, now: Time::ZERO }
    }
}

impl Agenda {
    /// The time of the event last handed out.
    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Events handed out so far.
    #[inline]
    pub fn handled(&self) -> u64 {
        self.handled
    }

    /// `event` is due at `time`, which must not be in the past.
    #[inline]
    pub fn at(&mut self, time: Time, event: u32) {
        debug_assert!(time >= self.now, "{time} is before {}", self.now);
        let key = u128::from(time.0) << 32 | u128::from(event);
        if self.hole {
            self.hole = false;
            self.sift_down(key);
        } else {
            self.push(key);
        }
    }

    /// The next event not later than `until`.
    #[inline]
    pub fn next(&mut self, until: Time) -> Option<(Time, u32)> {
        if self.hole {
            self.hole = false;
            self.remove_root();
        }
        let time = Time((self.root >> 32) as u64);
        if self.len == 0 || time > until {
            return None;
        }
        self.hole = true;
        self.handled += 1;
        self.now = time;
        Some((time, self.root as u32))
    }

    /// The next event, which stays where it is.
    pub fn peek(&mut self) -> Option<(Time, u32)> {
        if self.hole {
            self.hole = false;
            self.remove_root();
        }
        (self.len > 0).then(|| (Time((self.root >> 32) as u64), self.root as u32))
    }

    fn push(&mut self, key: u128) {
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
                    self.below[group].0[lane] = least;
                    (group, lane) = (node, at);
                }
                _ => {
                    self.below[group].0[lane] = key;
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_times_come_in_the_order_of_the_events_numbers() {
        let mut agenda = Agenda::default();
        for event in [7, 3, 9, 3] {
            agenda.at(Time(5), event);
        }
        agenda.at(Time(4), 11);
        let order: Vec<_> = std::iter::from_fn(|| agenda.next(Time::NEVER)).collect();
        let at = Time;
        assert_eq!(order, [(at(4), 11), (at(5), 3), (at(5), 3), (at(5), 7), (at(5), 9)]);
        assert_eq!(agenda.handled(), 5);
    }

    #[test]
    fn events_beyond_the_limit_stay() {
        let mut agenda = Agenda::default();
        agenda.at(Time(10), 1);
        assert_eq!(agenda.next(Time(9)), None);
        assert_eq!(agenda.next(Time(10)), Some((Time(10), 1)));
        assert_eq!(agenda.next(Time::NEVER), None);
    }

    proptest! {
        /// Against a list that is searched for its least (time, event) at every step.
        #[test]
        fn agrees_with_a_naive_list(steps in prop::collection::vec((0_u64..50, 0_u32..4), 1..300)) {
            let mut agenda = Agenda::default();
            let mut naive: Vec<(u64, u32)> = Vec::new();
            let mut now = 0;
            for (i, (delay, insertions)) in steps.into_iter().enumerate() {
                for j in 0..insertions {
                    let (time, event) = (now + delay * u64::from(j + 1), (i as u32 * 7 + j) % 16);
                    agenda.at(Time(time), event);
                    naive.push((time, event));
                }
                let expected = naive.iter().copied().min();
                let taken = naive.iter().position(|e| Some(*e) == expected);
                taken.map(|at| naive.swap_remove(at));
                let got = agenda.next(Time::NEVER).map(|(t, e)| (t.0, e));
                prop_assert_eq!(got, expected);
                now = expected.map_or(now, |e| e.0);
            }
        }
    }
}

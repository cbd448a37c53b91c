//! The event agenda. It knows nothing of networks: an event is a number of [`EVENT_BITS`] bits that
//! the world decodes.
//!
//! The order is total: by time, and among equals by insertion. The agenda is small by design: every
//! source (a link, a delay line, a timer) keeps one event pending, for the first thing it has to do,
//! however many packets it holds, so the heap has as many entries as there are busy sources. There is
//! no cancelling; a source that changes its mind ignores the event that no longer matches.
//!
//! A 4-ary heap of 128-bit keys (64 bits of time, 40 of insertion, 24 of event): four children are
//! one cache line, and one comparison decides. Handling an event nearly always schedules the same
//! source again, so the root is left in place as a hole until the next call fills it.
#![forbid(unsafe_code)]

use units::Time;

/// Events are smaller than 2 to this power.
pub const EVENT_BITS: u32 = 24;

const SEQUENCE_BITS: u32 = 64 - EVENT_BITS;
const EVENT_MASK: u128 = (1 << EVENT_BITS) - 1;

/// The pending events of one run.
#[derive(Clone, Debug, Default)]
pub struct Agenda {
    heap: Vec<u128>,
    /// The root was handed out and waits to be replaced.
    hole: bool,
    inserted: u64,
    handled: u64,
    now: Time,
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
        debug_assert!(event < 1 << EVENT_BITS && self.inserted < 1 << SEQUENCE_BITS);
        let order = u128::from(self.inserted) << EVENT_BITS | u128::from(event);
        let key = u128::from(time.0) << 64 | order;
        self.inserted += 1;
        if self.hole {
            self.hole = false;
            self.sift_down(key);
        } else {
            self.heap.push(key);
            self.sift_up(key);
        }
    }

    /// The next event not later than `until`.
    #[inline]
    pub fn next(&mut self, until: Time) -> Option<(Time, u32)> {
        if self.hole {
            self.hole = false;
            let last = self.heap.pop()?;
            if !self.heap.is_empty() {
                self.sift_down(last);
            }
        }
        let &key = self.heap.first()?;
        let time = Time((key >> 64) as u64);
        if time > until {
            return None;
        }
        self.hole = true;
        self.handled += 1;
        self.now = time;
        Some((time, (key & EVENT_MASK) as u32))
    }

    fn sift_up(&mut self, key: u128) {
        let mut at = self.heap.len() - 1;
        while at > 0 {
            let parent = (at - 1) / 4;
            if self.heap[parent] <= key {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = key;
    }

    /// Puts `key` where the root was.
    #[inline]
    fn sift_down(&mut self, key: u128) {
        let heap = self.heap.as_mut_slice();
        let mut at = 0;
        loop {
            let first = 4 * at + 1;
            let Some((least, &child)) =
                heap.get(first..heap.len().min(first + 4)).and_then(smallest)
            else {
                break;
            };
            if child >= key {
                break;
            }
            heap[at] = child;
            at = first + least;
        }
        heap[at] = key;
    }
}

#[inline]
fn smallest(children: &[u128]) -> Option<(usize, &u128)> {
    let mut least = (0, children.first()?);
    for (i, key) in children.iter().enumerate().skip(1) {
        if key < least.1 {
            least = (i, key);
        }
    }
    Some(least)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_times_come_in_the_order_of_insertion() {
        let mut agenda = Agenda::default();
        for event in [7, 3, 9, 3] {
            agenda.at(Time(5), event);
        }
        agenda.at(Time(4), 1);
        let order: Vec<_> = std::iter::from_fn(|| agenda.next(Time::NEVER)).collect();
        let at = Time;
        assert_eq!(order, [(at(4), 1), (at(5), 7), (at(5), 3), (at(5), 9), (at(5), 3)]);
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
        /// Against a list that is searched for its least (time, insertion) at every step.
        #[test]
        fn agrees_with_a_naive_list(steps in prop::collection::vec((0_u64..50, 0_usize..4), 1..300)) {
            let mut agenda = Agenda::default();
            let mut naive: Vec<(u64, usize)> = Vec::new();
            let mut inserted = 0;
            let mut now = 0;
            for (delay, insertions) in steps {
                for i in 0..insertions {
                    let time = now + delay * (i as u64 + 1);
                    agenda.at(Time(time), inserted as u32);
                    naive.push((time, inserted));
                    inserted += 1;
                }
                let expected = naive.iter().copied().min();
                naive.retain(|e| Some(*e) != expected);
                let got = agenda.next(Time::NEVER).map(|(t, e)| (t.0, e as usize));
                prop_assert_eq!(got, expected);
                now = expected.map_or(now, |e| e.0);
            }
        }
    }
}

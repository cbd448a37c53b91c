use std::cmp::Reverse;
use std::collections::BinaryHeap;

use proptest::prelude::*;

use super::*;

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

/// So little that short tests see everything happen.
const SMALL: Scale = Scale { many: 64, few: 16, aim: 16 };

/// The agenda beside a heap of the standard library.
struct Pair {
    agenda: Agenda,
    reference: BinaryHeap<Reverse<(u64, u32)>>,
    /// Calendars made, widths set anew, calendars given up.
    seen: [usize; 3],
}

impl Pair {
    fn new(scale: Scale) -> Pair {
        Pair { agenda: Agenda::new(scale), reference: BinaryHeap::new(), seen: [0; 3] }
    }

    fn observed<T>(&mut self, step: impl FnOnce(&mut Agenda) -> T) -> T {
        let set_at = |agenda: &Agenda| agenda.calendar.as_ref().map(|c| c.set_at());
        let before = set_at(&self.agenda);
        let out = step(&mut self.agenda);
        match (before, set_at(&self.agenda)) {
            (None, Some(_)) => self.seen[0] += 1,
            (Some(a), Some(b)) if a != b => self.seen[1] += 1,
            (Some(_), None) => self.seen[2] += 1,
            _ => {}
        }
        out
    }

    fn at(&mut self, time: u64, event: u32) {
        self.reference.push(Reverse((time, event)));
        self.observed(|agenda| agenda.at(Time(time), event));
    }

    fn after(&mut self, delay: u64, event: u32) {
        self.at(self.agenda.now().0.saturating_add(delay), event);
    }

    /// Takes the next event up to `until` from both; the two must agree.
    fn next(&mut self, until: u64) -> Option<u32> {
        let upcoming = self.agenda.upcoming(0);
        let first = self.reference.peek().map(|Reverse((time, event))| (Time(*time), *event));
        assert_eq!(self.agenda.clone().peek(), first);
        let late = self.agenda.heap.least() != EMPTY;
        let got = self.observed(|agenda| agenda.next(Time(until))).map(|(t, e)| (t.0, e));
        let due = self.reference.peek().is_some_and(|Reverse((time, _))| *time <= until);
        let expected = if due { self.reference.pop().map(|Reverse(e)| e) } else { None };
        assert_eq!(got, expected);
        let held = self.agenda.work().held;
        assert_eq!(held, self.reference.len() as u64);
        if let (Some(upcoming), Some((_, event)), false) = (upcoming, got, late) {
            assert_eq!(upcoming, event);
        }
        got.map(|(_, event)| event)
    }

    fn drain(&mut self) {
        while self.next(u64::MAX).is_some() {}
        assert!(self.reference.is_empty());
    }

    /// Handles events, each of which schedules itself again after `delay`.
    fn hold(&mut self, events: u64, delay: u64, random: &mut Random) {
        for _ in 0..events {
            if let Some(event) = self.next(u64::MAX) {
                self.after(random.below(delay), event);
            }
        }
    }
}

/// A linear congruence (Knuth's MMIX).
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        let (a, c) = (6_364_136_223_846_793_005, 1_442_695_040_888_963_407);
        self.0 = self.0.wrapping_mul(a).wrapping_add(c);
        (self.0 >> 12) % n.max(1)
    }
}

proptest! {
    /// Near, far, equal and bunched times; bursts of insertions and of removals; limits.
    #[test]
    fn agrees_with_a_heap_of_the_standard_library(
        steps in prop::collection::vec((0_u32..56, 0_u32..40, 0_u32..40, 0_u64..8), 1..120),
    ) {
        for scale in [SMALL, Scale { many: 8, few: 2, aim: 1 }, Scale { many: 200, few: 50, aim: 8 }] {
            let mut pair = Pair::new(scale);
            let mut random = Random(1);
            for &(magnitude, insertions, removals, limit) in &steps {
                for _ in 0..insertions {
                    let delay = random.below(1 << magnitude) >> random.below(8);
                    pair.after(delay, random.below(16) as u32);
                }
                let now = pair.agenda.now().0;
                let until = if limit < 4 { now + (limit << magnitude) } else { u64::MAX };
                for _ in 0..removals {
                    pair.next(until);
                }
            }
            pair.drain();
        }
    }
}

#[test]
fn a_calendar_is_made_for_many_and_given_up_for_few() {
    let mut pair = Pair::new(SMALL);
    let mut random = Random(1);
    for round in 1..=3 {
        (0..100).for_each(|event| pair.after(random.below(1000), event));
        assert_eq!(pair.seen[0], round);
        pair.hold(1000, 1000, &mut random);
        pair.drain();
        assert_eq!(pair.seen[2], round);
        assert!(pair.agenda.calendar.is_none() && pair.agenda.horizon == EMPTY);
    }
}

/// The width follows the rate of events, up and down, over many orders of magnitude.
#[test]
fn a_width_that_is_wrong_is_set_anew() {
    let mut pair = Pair::new(SMALL);
    let mut random = Random(1);
    (0..200).for_each(|event| pair.after(random.below(1 << 20), event));
    let mut all_due = 1 << 20;
    for magnitude in [20, 40, 10, 48, 5, 30] {
        let before = pair.seen[1];
        while let Some(event) = pair.next(all_due) {
            pair.at(all_due + 1 + random.below(1 << magnitude), event);
        }
        pair.hold(20_000, 1 << magnitude, &mut random);
        all_due = pair.agenda.now().0 + (1 << magnitude);
        let again = pair.seen[1] - before;
        assert!(magnitude == 20 || again > 0, "nothing was learned at 2^{magnitude}");
        let calendar = pair.agenda.calendar.as_ref().expect("still many events");
        let most = magnitude + 2;
        assert!(calendar.shift() <= most, "2^{} for 2^{magnitude}", calendar.shift());
        assert!(calendar.shift() + 10 >= magnitude, "2^{} for 2^{magnitude}", calendar.shift());
    }
    assert_eq!((pair.seen[0], pair.seen[2]), (1, 0));
}

/// Whatever the events do, what the calendar does beside is a constant for each.
#[test]
fn spreading_again_is_paid_for() {
    let mut random = Random(1);
    for shape in 0..4 {
        let mut pair = Pair::new(SMALL);
        (0..1000).for_each(|event| pair.after(random.below(1 << 30), event));
        let events = 50_000;
        for i in 0..events {
            let delay = match shape {
                // All at once, again and again; now tight, now wide; two that differ; growing.
                0 => 1 << 30,
                1 => random.below(1 << (40 * (i / 500 % 2))),
                2 => [1 << 10, 1 << 45][(random.below(1000) == 0) as usize],
                _ => 1 << (i / 1500),
            };
            if let Some(event) = pair.next(u64::MAX) {
                pair.after(delay, event);
            }
        }
        // 1000 keys held: one spreading for at least 500 events or for equal effort.
        assert!(pair.seen[1] < 400, "{} times in shape {shape}", pair.seen[1]);
    }
}

/// Short buckets and an hour without events: no bucket is looked at that has none.
#[test]
fn an_idle_hour_is_jumped_over() {
    const HOUR: u64 = 3_600_000_000_000_000;
    let mut pair = Pair::new(SMALL);
    let mut random = Random(1);
    (0..64).for_each(|event| pair.after(random.below(64), event));
    for round in 1..2000 {
        (0..8).for_each(|event| pair.after(HOUR * event, event as u32));
        pair.at(HOUR * round, 9);
        while pair.agenda.now().0 < HOUR * round {
            pair.next(u64::MAX);
        }
    }
    pair.drain();
}

#[test]
fn what_is_due_at_the_end_of_time_comes_last() {
    let mut pair = Pair::new(SMALL);
    for event in 0..100 {
        pair.at(u64::MAX - u64::from(event % 3), event);
        pair.after(u64::from(event), event);
    }
    for _ in 0..100 {
        pair.next(u64::MAX - 1);
    }
    (0..50).for_each(|event| pair.at(u64::MAX, event));
    pair.drain();
}

/// After a while nothing is allocated for keys in steady state: chunks are used again.
#[test]
fn memory_is_as_large_as_what_is_held() {
    let mut pair = Pair::new(SMALL);
    let mut random = Random(1);
    (0..2000).for_each(|event| pair.after(random.below(1 << 30), event));
    for magnitude in [30, 20, 35, 25, 30] {
        pair.hold(20_000, 1 << magnitude, &mut random);
    }
    let calendar = pair.agenda.calendar.as_ref().expect("many events");
    assert!(calendar.room() < 20 * 2000 + 16 * 1024, "room for {}", calendar.room());
}

#[test]
fn a_copy_goes_on_like_the_original() {
    let mut pair = Pair::new(SMALL);
    let mut random = Random(1);
    (0..300).for_each(|event| pair.after(random.below(1000), event));
    pair.hold(1000, 1000, &mut random);
    let mut copy = pair.agenda.clone();
    while let Some(event) = pair.agenda.next(Time::NEVER) {
        assert_eq!(copy.next(Time::NEVER), Some(event));
    }
    assert_eq!(copy.next(Time::NEVER), None);
}

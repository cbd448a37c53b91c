//! The event agenda. It knows nothing of networks: an event is a `u32` that the world decodes.
//!
//! The order is total and does not depend on how the world came to schedule its events: by time,
//! and among equals by the event's number. So an optimisation that schedules an event earlier,
//! later or not at all moves nothing else.
//!
//! The agenda is small by design: every source (a delay line, a timer) keeps one event pending, for
//! the first thing it has to do, however many packets it holds. There is no cancelling; a source
//! that changes its mind ignores the event that no longer matches.
//!
//! An event is a 128-bit key (time, number). Few of them are best kept in a heap ([`heap`]). With
//! many, every step down the heap misses the cache: then only what is due soon is put in order, and
//! the rest waits in buckets by time ([`calendar`]). What is due soon is a sorted run, so the world
//! can see what comes and ask the memory for it ([`Agenda::upcoming`]), which helps far more than
//! the cheaper order does.
#![forbid(unsafe_code)]

mod buckets;
mod calendar;
mod heap;

use units::Time;

use crate::calendar::{Calendar, MAX_SHIFT, TOO_FULL, Work};
use crate::heap::Heap;

/// Greater than every key.
const EMPTY: u128 = u128::MAX;

/// Keys: an event's time and number in one integer, so that one comparison orders them.
mod key {
    use units::Time;

    #[inline]
    pub fn new(time: Time, event: u32) -> u128 {
        u128::from(time.0) << u64::BITS | u128::from(event)
    }

    #[inline]
    pub fn time(key: u128) -> Time {
        Time((key >> u64::BITS) as u64)
    }
}

/// What is many.
#[derive(Clone, Copy, Debug)]
struct Scale {
    /// More keys in the heap are too many for it.
    many: usize,
    /// Fewer keys in the calendar are too few for it.
    few: usize,
    /// Keys meant to be in a bucket when its turn comes.
    aim: usize,
}

/// Buckets of half or a quarter, or twice as many keys, and a limit of 1024, made no difference
/// that could be measured at 3000 and 10,000 flows. The heap at its limit is 64 kB.
const SCALE: Scale = Scale { many: 4096, few: 1024, aim: 256 };

/// The pending events of one run.
#[derive(Clone, Debug)]
pub struct Agenda {
    /// Without a calendar, all keys. With one, those that were scheduled for less than the horizon.
    heap: Heap,
    /// Keys that make the heap crowded.
    crowd: usize,
    /// The keys of the bucket that is being handled, the next one last.
    run: Vec<u128>,
    /// Keys from here on are the calendar's; without one, [`EMPTY`].
    horizon: u128,
    calendar: Option<Box<Calendar>>,
    scale: Scale,
    handled: u64,
    now: Time,
}

impl Default for Agenda {
    fn default() -> Agenda {
        Agenda::new(SCALE)
    }
}

impl Agenda {
    fn new(scale: Scale) -> Agenda {
        Agenda {
            heap: Heap::default(),
            crowd: scale.many,
            run: Vec::new(),
            horizon: EMPTY,
            calendar: None,
            scale,
            handled: 0,
            now: Time::ZERO,
        }
    }

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
        self.again(time, event);
    }

    /// The same, inlined: for what was just handed out and is due again, as most events are.
    #[inline(always)]
    pub fn again(&mut self, time: Time, event: u32) {
        debug_assert!(time >= self.now, "{time} is before {}", self.now);
        let key = key::new(time, event);
        if !self.heap.replace(key) {
            self.insert(key);
        }
    }

    /// Takes a key in when there is none to replace, as is always so with a calendar.
    #[inline(never)]
    fn insert(&mut self, key: u128) {
        if let Some(calendar) = &mut self.calendar
            && key >= self.horizon
        {
            return calendar.insert(key);
        }
        self.heap.push(key);
        if self.heap.len() > self.crowd {
            self.crowded();
        }
    }

    /// The next event not later than `until`.
    #[inline]
    pub fn next(&mut self, until: Time) -> Option<(Time, u32)> {
        if self.calendar.is_some() {
            return self.next_of_run_and_heap(until);
        }
        let key = self.heap.least();
        let time = key::time(key);
        // Only an empty heap's key is of no event, and that is of the end of time.
        if time >= until && (time > until || self.heap.is_empty()) {
            return None;
        }
        self.heap.take();
        self.handled += 1;
        self.now = time;
        Some((time, key as u32))
    }

    /// The next event, which stays where it is.
    pub fn peek(&mut self) -> Option<(Time, u32)> {
        loop {
            let first = self.run.last().copied().unwrap_or(EMPTY);
            let key = first.min(self.heap.least());
            if key != EMPTY {
                return Some((key::time(key), key as u32));
            }
            if !self.open() {
                return None;
            }
        }
    }

    /// [`Agenda::next`] with a calendar.
    #[inline(never)]
    fn next_of_run_and_heap(&mut self, until: Time) -> Option<(Time, u32)> {
        loop {
            let late = self.heap.least();
            let first = self.run.last().copied().unwrap_or(EMPTY);
            let key = first.min(late);
            if key == EMPTY {
                if self.open() {
                    continue;
                }
                return None;
            }
            let time = key::time(key);
            if time > until {
                return None;
            }
            if first < late {
                self.run.pop();
            } else {
                self.heap.pop();
            }
            self.handled += 1;
            self.now = time;
            return Some((time, key as u32));
        }
    }

    /// The event that will be handed out after `n` others, when that is known without effort. Not
    /// exact: what is scheduled at short notice is left out.
    #[inline]
    pub fn upcoming(&self, n: usize) -> Option<u32> {
        let at = self.run.len().checked_sub(n + 1)?;
        Some(self.run[at] as u32)
    }

    fn work(&self) -> Work {
        let later = self.calendar.as_ref().map_or(0, |calendar| calendar.len());
        let held = self.heap.len() + self.run.len() + later;
        Work { handled: self.handled, held: held as u64 }
    }

    /// Gets the next bucket's keys into the run, when heap and run are empty; false when there are
    /// none.
    fn open(&mut self) -> bool {
        let work = self.work();
        let Some(calendar) = &mut self.calendar else { return false };
        if calendar.len() < self.scale.few {
            return self.close();
        }
        if let Some(most) = calendar.misfit(0, work) {
            self.spread(most);
        }
        let Some(calendar) = &mut self.calendar else { return false };
        calendar.open(&mut self.run);
        self.run.sort_unstable_by(|a, b| b.cmp(a));
        self.horizon = calendar.horizon();
        true
    }

    /// Goes back to the heap alone; false when there is no key left.
    fn close(&mut self) -> bool {
        let mut keys = Vec::new();
        if let Some(mut calendar) = self.calendar.take() {
            calendar.drain_into(&mut keys);
        }
        (self.run, self.horizon, self.crowd) = (Vec::new(), EMPTY, self.scale.many);
        for &key in &keys {
            self.heap.push(key);
        }
        !keys.is_empty()
    }

    /// The heap has grown too large for a heap, or for the keys of less than one bucket.
    #[cold]
    fn crowded(&mut self) {
        let most = match &self.calendar {
            Some(calendar) => calendar.misfit(self.heap.len(), self.work()),
            None => Some(MAX_SHIFT),
        };
        if let Some(most) = most {
            self.spread(most);
        }
    }

    /// Puts all keys into the calendar, with a new width of its buckets.
    fn spread(&mut self, most: u32) {
        let work = self.work();
        let mut calendar =
            self.calendar.take().unwrap_or_else(|| Box::new(Calendar::new(self.scale)));
        let mut keys = Vec::with_capacity(work.held as usize);
        self.heap.drain_into(&mut keys);
        keys.append(&mut self.run);
        calendar.drain_into(&mut keys);
        calendar.spread(&mut keys, most, work);
        self.horizon = calendar.horizon();
        self.crowd = TOO_FULL * self.scale.aim;
        self.calendar = Some(calendar);
    }
}

#[cfg(test)]
mod tests;

//! The queues of a link with classes ([`cc::classes`]): which class is served next, what is dropped
//! to make room. Who asks in which order is the link's affair: [`Queue::select`], then
//! [`Queue::take_head`] until a packet may go out, then [`Queue::served`].

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use cc::classes::{Order, Overflow, Plan};
use cc::registry::AnyCell;
use cc::roles::{Backlog, Limit};
use units::Time;

use crate::{Queue, Waiting};

/// A packet that waits, with its class.
#[derive(Clone, Copy, Debug)]
struct Item {
    waiting: Waiting,
    class: u32,
}

/// On which list of those to be served a class is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Listed {
    #[default]
    No,
    /// New, where there are two.
    New,
    Yes,
}

/// One class.
#[derive(Clone, Debug, Default)]
struct Class {
    /// Its packets; under [`Order::Fifo`] class 0 holds those of all.
    packets: VecDeque<Item>,
    /// What waits of it.
    backlog: Backlog,
    listed: Listed,
    /// What it may send in this turn [bytes].
    deficit: i64,
    /// The tags of the packet served last and of the head [bytes per weight].
    finish: f64,
}

/// A class in the order of its head's start tag; of equal ones the one that was there first.
#[derive(Clone, Copy, Debug)]
struct Tagged {
    start: f64,
    number: u64,
    class: u32,
}

impl Ord for Tagged {
    /// The greatest is the one to be served.
    fn cmp(&self, other: &Tagged) -> Ordering {
        other.start.total_cmp(&self.start).then(other.number.cmp(&self.number))
    }
}

impl PartialOrd for Tagged {
    fn partial_cmp(&self, other: &Tagged) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Tagged {
    fn eq(&self, other: &Tagged) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Tagged {}

/// The longest queue.
#[derive(Clone, Copy, Debug)]
enum Longest {
    /// All classes share one.
    OnlyOne,
    /// This class's.
    Class(u32),
}

/// All classes of a link.
#[derive(Clone, Debug)]
pub struct Classes {
    plan: Plan,
    /// [bytes]
    quantum: f64,
    classes: Vec<Class>,
    cells: Vec<AnyCell>,
    /// Classes by turn; with [`Order::NewFirst`] the old ones.
    turns: VecDeque<u32>,
    new: VecDeque<u32>,
    /// Has the first of `turns` got its quantum for this turn?
    granted: bool,
    /// Classes by start tag.
    tags: BinaryHeap<Tagged>,
    /// Tags given out.
    numbers: u64,
    /// v, the start tag of the packet served last.
    virtual_time: f64,
    /// The largest finish tag.
    last_finish: f64,
    /// Of [`Order::Credit`] [weighted bytes].
    credit: i64,
}

impl Classes {
    pub(crate) fn new(plan: Plan, packet_bytes: u32) -> Classes {
        let quantum = if plan.quantum == 0 { packet_bytes } else { plan.quantum };
        let mut classes = Classes {
            plan,
            quantum: f64::from(quantum.max(1)),
            classes: vec![Class::default()],
            cells: vec![AnyCell::Empty],
            turns: VecDeque::new(),
            new: VecDeque::new(),
            granted: false,
            tags: BinaryHeap::new(),
            numbers: 0,
            virtual_time: 0.0,
            last_finish: 0.0,
            credit: 0,
        };
        classes.rest();
        classes
    }

    /// The queue that holds a class's packets.
    #[inline]
    fn holder(&self, class: u32) -> u32 {
        if self.plan.order == Order::Fifo { 0 } else { class }
    }

    fn grow(&mut self, class: u32) {
        if class as usize >= self.classes.len() {
            self.classes.resize_with(class as usize + 1, Class::default);
        }
    }

    #[inline]
    fn class(&mut self, class: u32) -> &mut Class {
        &mut self.classes[class as usize]
    }

    fn push(&mut self, class: u32, waiting: Waiting) {
        let holder = self.holder(class);
        self.grow(class);
        let counted = self.class(class);
        counted.backlog.packets += 1;
        counted.backlog.bytes += u64::from(waiting.size);
        self.class(holder).packets.push_back(Item { waiting, class });
        if self.class(holder).listed == Listed::No {
            self.list(holder);
        }
    }

    /// A class that was not waiting has a packet.
    fn list(&mut self, class: u32) {
        let quantum = self.quantum as i64;
        let v = self.virtual_time;
        let listed = &mut self.classes[class as usize];
        match self.plan.order {
            Order::Fifo | Order::Priority | Order::Credit(..) | Order::TimeShifted(_) => {}
            Order::RoundRobin => {
                (listed.listed, listed.deficit) = (Listed::Yes, 0);
                self.turns.push_back(class);
            }
            Order::NewFirst => {
                (listed.listed, listed.deficit) = (Listed::New, quantum);
                self.new.push_back(class);
            }
            Order::StartTags => {
                listed.listed = Listed::Yes;
                let start = listed.finish.max(v);
                self.tag(class, start);
            }
        }
    }

    fn tag(&mut self, class: u32, start: f64) {
        self.tags.push(Tagged { start, number: self.numbers, class });
        self.numbers += 1;
    }

    /// A busy period is over: the next one's tags begin behind all of this one's.
    fn rest(&mut self) {
        self.virtual_time = self.virtual_time.max(self.last_finish);
        if let Order::Credit(first, second) = self.plan.order {
            self.credit = self.quantum as i64 * (i64::from(first) - i64::from(second));
        }
    }

    fn select(&mut self, weight: impl Fn(u32) -> f64) -> Option<u32> {
        match self.plan.order {
            Order::Fifo => (!self.classes[0].packets.is_empty()).then_some(0),
            Order::Priority => {
                let first = self.classes.iter().position(|class| !class.packets.is_empty());
                first.map(|class| class as u32)
            }
            Order::RoundRobin => self.select_by_turn(weight),
            Order::NewFirst => self.select_new_first(weight),
            Order::StartTags => self.select_by_tag(),
            Order::Credit(..) => match [self.head(0), self.head(1)] {
                [None, None] => {
                    self.rest();
                    None
                }
                [first, second] => {
                    Some(u32::from(second.is_some() && (first.is_none() || self.credit <= 0)))
                }
            },
            Order::TimeShifted(shift) => match [self.head(0), self.head(1)] {
                [None, None] => None,
                [Some(_), None] => Some(0),
                [None, Some(_)] => Some(1),
                [Some(first), Some(second)] => Some(u32::from(second <= first + shift)),
            },
        }
    }

    /// When the first packet of a class came.
    fn head(&self, class: u32) -> Option<Time> {
        let class = self.classes.get(class as usize)?;
        class.packets.front().map(|item| item.waiting.since)
    }

    fn select_by_turn(&mut self, weight: impl Fn(u32) -> f64) -> Option<u32> {
        loop {
            let class = *self.turns.front()?;
            let turn = &mut self.classes[class as usize];
            let Some(head) = turn.packets.front() else {
                self.end_turn(class);
                continue;
            };
            if !self.granted {
                self.granted = true;
                turn.deficit += ((self.quantum * weight(class)) as i64).max(1);
            }
            if i64::from(head.waiting.size) <= turn.deficit {
                return Some(class);
            }
            self.turns.rotate_left(1);
            self.granted = false;
        }
    }

    /// The class whose turn it is has nothing more to send.
    fn end_turn(&mut self, class: u32) {
        self.turns.pop_front();
        self.granted = false;
        let ended = self.class(class);
        (ended.listed, ended.deficit) = (Listed::No, 0);
    }

    fn select_new_first(&mut self, weight: impl Fn(u32) -> f64) -> Option<u32> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.turns };
            let class = *list.front()?;
            let turn = &mut self.classes[class as usize];
            let out_of_credit = turn.deficit <= 0;
            if !out_of_credit && !turn.packets.is_empty() {
                return Some(class);
            }
            list.pop_front();
            if out_of_credit {
                turn.deficit += ((self.quantum * weight(class)) as i64).max(1);
            } else if !is_new {
                turn.listed = Listed::No;
                continue;
            }
            // A new queue that is empty goes by the old list, or it could come back at once as new.
            turn.listed = Listed::Yes;
            self.turns.push_back(class);
        }
    }

    fn select_by_tag(&mut self) -> Option<u32> {
        loop {
            let Tagged { start, class, .. } = *self.tags.peek()?;
            if self.classes[class as usize].packets.is_empty() {
                self.tags.pop();
                self.class(class).listed = Listed::No;
                continue;
            }
            self.virtual_time = start;
            return Some(class);
        }
    }

    fn served(&mut self, class: u32, size: u32, weight: f64) {
        let served = &mut self.classes[class as usize];
        let empty = served.packets.is_empty();
        match self.plan.order {
            Order::Fifo | Order::Priority | Order::TimeShifted(_) => {}
            Order::Credit(first, second) => {
                let both = self
                    .classes
                    .get(1 - class.min(1) as usize)
                    .is_some_and(|other| !other.packets.is_empty());
                let bytes = i64::from(size);
                let change = match class {
                    0 => -bytes * i64::from(second),
                    _ => bytes * i64::from(first),
                };
                self.credit += if both { change } else { 0 };
            }
            Order::RoundRobin => {
                served.deficit -= i64::from(size);
                if empty {
                    self.end_turn(class);
                }
            }
            Order::NewFirst => served.deficit -= i64::from(size),
            Order::StartTags => {
                let Some(Tagged { start, .. }) = self.tags.pop() else { return };
                served.finish = start + f64::from(size) / weight;
                self.last_finish = self.last_finish.max(served.finish);
                if empty {
                    served.listed = Listed::No;
                } else {
                    let next = served.finish;
                    self.tag(class, next);
                }
            }
        }
    }

    /// The packet at a place of a queue, taken out.
    fn remove(&mut self, queue: u32, place: usize) -> Option<(u32, Waiting)> {
        let queue = self.classes.get_mut(queue as usize)?;
        let Item { waiting, class } = queue.packets.remove(place)?;
        let counted = self.class(class);
        counted.backlog.packets -= 1;
        counted.backlog.bytes -= u64::from(waiting.size);
        Some((class, waiting))
    }

    /// The class with the most bytes; of equal ones the lowest.
    fn longest(&self) -> Longest {
        let classes = 0..self.classes.len() as u32;
        let by_bytes =
            |&class: &u32| (self.classes[class as usize].backlog.bytes, std::cmp::Reverse(class));
        // What waits is listed, where there are lists.
        let class = match self.plan.order {
            Order::Fifo => return Longest::OnlyOne,
            Order::Priority | Order::Credit(..) | Order::TimeShifted(_) => {
                classes.max_by_key(by_bytes)
            }
            Order::RoundRobin | Order::NewFirst => {
                self.turns.iter().chain(&self.new).copied().max_by_key(by_bytes)
            }
            Order::StartTags => self.tags.iter().map(|tagged| tagged.class).max_by_key(by_bytes),
        };
        Longest::Class(class.unwrap_or(0))
    }

    /// The place of the `n`-th packet in order of arrival.
    fn find(&self, mut n: usize) -> Option<(u32, usize)> {
        for (class, queue) in self.classes.iter().enumerate() {
            if n < queue.packets.len() {
                return Some((class as u32, n));
            }
            n -= queue.packets.len();
        }
        None
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Waiting> {
        self.classes.iter().flat_map(|class| &class.packets).map(|item| &item.waiting)
    }
}

/// What links with classes do. None of it does anything at others.
impl Queue {
    /// Has it classes?
    #[inline]
    pub fn has_classes(&self) -> bool {
        self.classes.is_some()
    }

    /// What waits of a class.
    pub fn class_backlog(&self, class: u32) -> Backlog {
        let class = self.classes.as_ref().and_then(|all| all.classes.get(class as usize));
        class.map_or(Backlog::default(), |class| class.backlog)
    }

    /// When the first packets of the classes 0 and 1 came.
    pub fn heads(&self) -> [Option<Time>; 2] {
        self.classes.as_ref().map_or([None; 2], |classes| [0, 1].map(|class| classes.head(class)))
    }

    /// After a drop at the head, may another queue than the one selected be the next?
    pub fn selects_anew(&self) -> bool {
        let order = self.classes.as_ref().map(|classes| classes.plan.order);
        matches!(order, Some(Order::TimeShifted(_)))
    }

    /// What the router keeps in cell `number`.
    pub fn cell(&mut self, number: u32) -> Option<&mut AnyCell> {
        let cells = &mut self.classes.as_mut()?.cells;
        if number as usize >= cells.len() {
            cells.resize(number as usize + 1, AnyCell::Empty);
        }
        cells.get_mut(number as usize)
    }

    /// The `n`-th packet in order of arrival (where classes have queues of their own: class by
    /// class).
    pub fn drawn(&self, n: u32) -> Option<u32> {
        let classes = self.classes.as_ref()?;
        let (queue, place) = classes.find(n as usize)?;
        classes.classes[queue as usize].packets.get(place).map(|item| item.waiting.handle)
    }

    /// The same, taken out.
    pub fn take_drawn(&mut self, n: u32) -> Option<Waiting> {
        let classes = self.classes.as_mut()?;
        let (queue, place) = classes.find(n as usize)?;
        let (_, waiting) = classes.remove(queue, place)?;
        Some(self.out(waiting))
    }

    /// The line is free and nothing waits.
    pub fn rest(&mut self) {
        if let Some(classes) = &mut self.classes {
            classes.rest();
        }
    }

    /// Takes a packet of a class in, whether it fits or not.
    pub fn push_class(&mut self, class: u32, packet: Waiting) {
        let Some(classes) = &mut self.classes else { return };
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(packet.size);
        classes.push(class, packet);
    }

    /// The queue to be served next.
    pub fn select(&mut self, weight: impl Fn(u32) -> f64) -> Option<u32> {
        self.classes.as_mut()?.select(weight)
    }

    /// The first packet of a queue with its class, taken out.
    pub fn take_head(&mut self, queue: u32) -> Option<(u32, Waiting)> {
        let (class, waiting) = self.classes.as_mut()?.remove(queue, 0)?;
        Some((class, self.out(waiting)))
    }

    /// The packet taken out last, of the queue selected, goes out.
    pub fn served(&mut self, queue: u32, size: u32, weight: f64) {
        if let Some(classes) = &mut self.classes {
            classes.served(queue, size, weight);
        }
    }

    /// Is there room for a packet of a class, in the link's limit and in its own?
    pub fn fits_class(&self, class: u32, size: u32) -> bool {
        let own = self.classes.as_ref().and_then(|classes| classes.plan.per_class);
        let backlog = self.class_backlog(class);
        self.fits(size)
            && match own {
                None => true,
                Some(Limit::Bytes(limit)) => backlog.bytes + u64::from(size) <= limit,
                Some(Limit::Packets(limit)) => backlog.packets < limit,
            }
    }

    /// Makes room for a packet of a class: what is dropped goes to `gone`. False when the packet is
    /// to be dropped itself.
    pub fn make_room(&mut self, class: u32, size: u32, gone: &mut Vec<Waiting>) -> bool {
        let Some(plan) = self.classes.as_ref().map(|classes| classes.plan) else { return false };
        while !self.fits_class(class, size) {
            match plan.overflow {
                Overflow::Arrival => return false,
                Overflow::Front => {
                    let queue = self.classes.as_ref().map_or(0, |classes| classes.holder(class));
                    let Some((_, waiting)) = self.take_head(queue) else { return false };
                    gone.push(waiting);
                }
                Overflow::Longest | Overflow::LongestFront(_) => {
                    if !self.drop_longest(class, size, plan.overflow, gone) {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// Takes from the longest queue, the arrival counted in; false when that is the arrival.
    fn drop_longest(
        &mut self,
        class: u32,
        size: u32,
        overflow: Overflow,
        gone: &mut Vec<Waiting>,
    ) -> bool {
        let Some(longest) = self.classes.as_ref().map(|all| all.longest()) else { return false };
        let own = self.class_backlog(class).bytes + u64::from(size);
        let (queue, own_is_longest, waiting) = match longest {
            Longest::OnlyOne => (0, true, self.backlog.packets),
            Longest::Class(other) if own < self.class_backlog(other).bytes => {
                (other, false, self.class_backlog(other).packets)
            }
            Longest::Class(_) => (class, true, self.class_backlog(class).packets),
        };
        let Some(classes) = &mut self.classes else { return false };
        let mut take = |classes: &mut Classes, place: usize| {
            let taken = classes.remove(queue, place);
            gone.extend(taken.map(|(_, waiting)| waiting));
            taken.map_or(0, |(_, waiting)| waiting.size)
        };
        let (mut packets, mut bytes) = (0, 0);
        match overflow {
            Overflow::LongestFront(most) => {
                let all = waiting + u32::from(own_is_longest);
                for _ in 0..(all / 2).clamp(1, most.max(1)).min(waiting) {
                    bytes += u64::from(take(classes, 0));
                    packets += 1;
                }
            }
            // The arrival is its queue's last.
            _ if own_is_longest => {}
            _ => {
                bytes += u64::from(take(classes, waiting as usize - 1));
                packets += 1;
            }
        }
        self.backlog.packets -= packets;
        self.backlog.bytes -= bytes;
        packets > 0
    }

    /// A packet is out of the books.
    fn out(&mut self, waiting: Waiting) -> Waiting {
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(waiting.size);
        waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The least start tag is the greatest, of equal ones the one with the lower number; only the
    /// same start and number are equal.
    #[test]
    fn tags_are_ordered_by_start_and_number() {
        let tag = |start, number| Tagged { start, number, class: 0 };
        assert!(tag(1.0, 5) > tag(2.0, 4) && tag(1.0, 4) > tag(1.0, 5));
        assert!(tag(1.0, 4) == Tagged { class: 3, ..tag(1.0, 4) });
        assert!(tag(1.0, 4) != tag(1.0, 5) && tag(1.0, 4) != tag(2.0, 4));
    }
}

//! The device between a queue and its line: packets that it has taken are served first in first
//! out, and the queue neither times nor drops them any more. So it is in Linux, where a qdisc fills
//! a network card's ring, with byte queue limits (lib/dynamic_queue_limits.c), and in ns-3
//! (NetDeviceQueue, DynamicQueueLimits, the queue of PointToPointNetDevice).
//!
//! When a packet is taken its service is known: it begins where that before it ends. So a device is
//! no more than the times at which it takes packets ([`crate::link::Link::busy_until`]).
//!
//! Deviations:
//! - D1: a packet leaves the ring, and counts as completed for the byte limit, when its service
//!   begins, as in ns-3; a card completes it later, by an interrupt.

use std::collections::VecDeque;

use cc::roles::PacketKind;
use units::{Span, Time};

/// A packet that the device has taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Held {
    /// Its service, from the first bit to the last.
    pub begin: Time,
    pub end: Time,
    /// [bytes]
    pub size: u32,
    /// What the line could carry up to the end and no packet has used [bits]: of a trace's last
    /// opportunity.
    pub unused: f64,
    /// Will the line lose it? Its flow's number, and what it is.
    pub lost: Option<(u32, PacketKind)>,
}

/// A device with room for some packets besides the one in service.
#[derive(Clone, Debug)]
pub struct Device {
    packets: usize,
    limit: Option<ByteLimit>,
    /// Packets whose last bit had not left when the latest was taken.
    held: VecDeque<Held>,
    /// How many of them, the last ones, wait for their service.
    waiting: usize,
}

impl Device {
    /// An empty device.
    pub fn new(device: scenario::Device) -> Device {
        let limit = device.bql.map(ByteLimit::new);
        Device { packets: device.packets as usize, limit, held: VecDeque::new(), waiting: 0 }
    }

    /// When the service of a packet begins that is taken at `now`.
    pub fn begin(&self, now: Time) -> Time {
        now.max(self.line_until())
    }

    /// The last bit of all that is held leaves then.
    pub fn line_until(&self) -> Time {
        self.held.back().map_or(Time::ZERO, |held| held.end)
    }

    /// The packets whose last bit has not left at `now`, which is not before the latest was taken.
    pub fn held(&self, now: Time) -> impl Iterator<Item = &Held> {
        self.held.iter().filter(move |held| held.end > now)
    }

    /// The line will lose the packet taken last.
    pub fn mark_lost(&mut self, packet: (u32, PacketKind)) {
        if let Some(held) = self.held.back_mut() {
            held.lost = Some(packet);
        }
    }

    /// Takes a packet at `now`; when does it take the next? Not before that it is to be called
    /// again.
    pub fn take(&mut self, now: Time, packet: Held) -> Time {
        self.complete(now);
        while self.held.front().is_some_and(|held| held.end <= now) {
            self.held.pop_front();
        }
        self.held.push_back(packet);
        self.waiting += 1;
        if let Some(limit) = &mut self.limit {
            limit.queued(packet.size);
        }
        let mut at = now;
        loop {
            self.complete(at);
            let stopped = self.limit.as_ref().is_some_and(|limit| !limit.has_room());
            if self.waiting < self.packets && !stopped {
                return at;
            }
            let next = self.held.len() - self.waiting;
            let Some(first) = self.held.get(next) else { return at };
            at = first.begin;
        }
    }

    /// The services that have begun by `now`.
    fn complete(&mut self, now: Time) {
        while self.waiting > 0 {
            let first = self.held[self.held.len() - self.waiting];
            if first.begin > now {
                return;
            }
            self.waiting -= 1;
            if let Some(limit) = &mut self.limit {
                limit.completed(first.size, first.begin);
            }
        }
    }
}

/// Byte queue limits: the bytes that a device may hold follow what it needs to keep the line busy.
/// The law and its names are those of Linux's lib/dynamic_queue_limits.c (`dql_completed`), which
/// ns-3's DynamicQueueLimits has, too. A packet that goes beyond the limit is still taken.
#[derive(Clone, Debug)]
struct ByteLimit {
    slack_hold_time: Span,
    limit: u64,
    adj_limit: u64,
    num_queued: u64,
    num_completed: u64,
    last_obj_cnt: u64,
    prev_num_queued: u64,
    prev_last_obj_cnt: u64,
    prev_ovlimit: u64,
    lowest_slack: u64,
    slack_start_time: Time,
}

impl ByteLimit {
    fn new(slack_hold_time: Span) -> ByteLimit {
        ByteLimit {
            slack_hold_time,
            limit: 0,
            adj_limit: 0,
            num_queued: 0,
            num_completed: 0,
            last_obj_cnt: 0,
            prev_num_queued: 0,
            prev_last_obj_cnt: 0,
            prev_ovlimit: 0,
            lowest_slack: u64::MAX,
            slack_start_time: Time::ZERO,
        }
    }

    /// dql_avail() >= 0.
    fn has_room(&self) -> bool {
        self.adj_limit >= self.num_queued
    }

    /// dql_queued.
    fn queued(&mut self, bytes: u32) {
        self.last_obj_cnt = bytes.into();
        self.num_queued += u64::from(bytes);
    }

    /// dql_completed.
    fn completed(&mut self, bytes: u32, now: Time) {
        let num_queued = self.num_queued;
        let completed = self.num_completed + u64::from(bytes);
        let mut limit = self.limit;
        let mut ovlimit = (num_queued - self.num_completed).saturating_sub(limit);
        let inprogress = num_queued - completed;
        let prev_inprogress = self.prev_num_queued.saturating_sub(self.num_completed);
        let all_prev_completed = completed >= self.prev_num_queued;
        if (ovlimit > 0 && inprogress == 0) || (self.prev_ovlimit > 0 && all_prev_completed) {
            // Starved: the limit grows by what was sent and completed in the last interval.
            limit += completed.saturating_sub(self.prev_num_queued) + self.prev_ovlimit;
            self.slack_start_time = now;
            self.lowest_slack = u64::MAX;
        } else if inprogress > 0 && prev_inprogress > 0 && !all_prev_completed {
            // Busy for the whole interval: the least slack of a time is taken off the limit.
            let mut slack =
                (limit + self.prev_ovlimit).saturating_sub(2 * (completed - self.num_completed));
            if self.prev_ovlimit > 0 {
                slack = slack.max(self.prev_last_obj_cnt.saturating_sub(self.prev_ovlimit));
            }
            self.lowest_slack = self.lowest_slack.min(slack);
            if now > self.slack_start_time + self.slack_hold_time {
                limit = limit.saturating_sub(self.lowest_slack);
                self.slack_start_time = now;
                self.lowest_slack = u64::MAX;
            }
        }
        if limit != self.limit {
            self.limit = limit;
            ovlimit = 0;
        }
        self.adj_limit = limit + completed;
        self.prev_ovlimit = ovlimit;
        self.prev_last_obj_cnt = self.last_obj_cnt;
        self.num_completed = completed;
        self.prev_num_queued = num_queued;
    }
}

#[cfg(test)]
mod tests;

//! A named link: a queue, a line that serves it, and what both count.

use cc::registry::{AnyHeader, AnyRouter};
use cc::roles::{Backlog, PacketKind, Passing, Verdict};
use queue::{Queue, Waiting};
use results::metrics::Occupancy;
use units::{Rate, Span, Time};

use crate::fingerprint::{Fingerprint, Kind};
use crate::packet::{Packet, Pipe, Pool};

/// What happened at a link since the start of the run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub arrivals: u64,
    pub drops: u64,
    /// Packets lost on the line, after they were served.
    pub lost: u64,
    pub data_drops: u64,
    pub marks: u64,
    /// Packets whose service began.
    pub served: u64,
    /// Bytes of those.
    pub served_bytes: u64,
}

/// One direction of a line, with the buffer in front of it.
#[derive(Clone, Debug)]
pub struct Link {
    /// The last bit of the packet in service leaves then.
    pub busy_until: Time,
    /// Is a guard pending, so that no departure is worked out too late?
    pub guarded: bool,
    /// Does the line do nothing but serve, and does nobody watch its packets? The hot path asks this
    /// alone.
    pub plain: bool,
    /// When the routers' timer event is due.
    pub timer: Time,
    pub owd: Span,
    pub rate: Rate,
    /// Serialization times of the sizes seen last.
    sizes: [(u32, Span); 2],
    pub queue: Queue,
    pub routers: Routers,
    /// On their way to another named link.
    pub pipe: Pipe,
    pub counts: Counts,
    pub occupancy: Occupancy,
    pub fingerprint: Fingerprint,
    in_service: u32,
    /// Capacities of before, each with the time until which it held; empty unless it changed.
    pub past_rates: Vec<(Time, Rate)>,
}

/// What an arriving packet met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The line was free: serve it now.
    Serve,
    /// It waits.
    Wait,
    /// It is gone.
    Dropped,
}

impl Link {
    /// An idle link.
    pub fn new(
        rate: Rate,
        owd: Span,
        queue: Queue,
        routers: Routers,
        occupancy: Occupancy,
    ) -> Link {
        Link {
            busy_until: Time::ZERO,
            guarded: false,
            plain: true,
            timer: Time::NEVER,
            owd,
            rate,
            sizes: [(0, Span::ZERO); 2],
            queue,
            routers,
            pipe: Pipe::EMPTY,
            counts: Counts::default(),
            occupancy,
            fingerprint: Fingerprint::default(),
            in_service: 0,
            past_rates: Vec::new(),
        }
    }

    /// A packet arrives; all departures up to now are worked out.
    #[inline]
    pub fn arrive(&mut self, now: Time, pool: &mut Pool, id: u32) -> Fate {
        let packet = &mut pool[id];
        self.counts.arrivals += 1;
        let before = packet.ecn;
        let verdict = self.consult(now, packet);
        let idle = now >= self.busy_until;
        if verdict == Verdict::Drop || !(idle || self.queue.fits(packet.size)) {
            self.count_drop(now, packet);
            return Fate::Dropped;
        }
        self.count_mark(now, packet, before);
        if idle {
            return Fate::Serve;
        }
        let waiting = Waiting { handle: id, size: packet.size, since: now };
        self.queue.push(packet.kind, waiting);
        self.note_queue(now);
        Fate::Wait
    }

    /// The feedback sees every packet; the policy decides.
    #[inline]
    fn consult(&mut self, now: Time, packet: &mut Packet) -> Verdict {
        let backlog = self.queue.backlog();
        if let Some(feedback) = &mut self.routers.feedback {
            feedback.on_arrival(now, passing(packet, Span::ZERO), backlog);
        }
        match &mut self.routers.policy {
            Some(policy) => policy.on_arrival(now, passing(packet, Span::ZERO), backlog),
            None => Verdict::Forward,
        }
    }

    /// The next packet whose service starts by `now`: when, which, and how long it waited.
    #[inline]
    pub fn next_service(&mut self, now: Time) -> Option<(Time, u32, Span)> {
        let start = self.busy_until;
        if start > now {
            return None;
        }
        let waiting = self.queue.pop()?;
        self.note_queue(start);
        Some((start, waiting.handle, start.since(waiting.since)))
    }

    /// Puts a packet on the line: from now to [`Link::busy_until`].
    #[inline]
    pub fn serve(&mut self, now: Time, packet: &mut Packet, queued_for: Span) {
        let backlog = self.queue.backlog();
        let before = packet.ecn;
        if let Some(feedback) = &mut self.routers.feedback {
            feedback.on_departure(now, passing(packet, queued_for), backlog);
        }
        if let Some(policy) = &mut self.routers.policy {
            policy.on_departure(now, passing(packet, queued_for), backlog);
        }
        self.count_mark(now, packet, before);
        self.busy_until = now + self.serialization(packet.size);
        self.in_service = packet.size;
        self.counts.served += 1;
        self.counts.served_bytes += u64::from(packet.size);
        self.fingerprint.record(Kind::Departure, self.busy_until, packet);
    }

    #[inline]
    fn serialization(&mut self, size: u32) -> Span {
        let [last, other] = self.sizes;
        if last.0 == size {
            return last.1;
        }
        let span = if other.0 == size { other.1 } else { self.rate.serialization(size) };
        self.sizes = [(size, span), last];
        span
    }

    #[inline]
    fn note_queue(&mut self, now: Time) {
        let Backlog { packets, bytes } = self.queue.backlog();
        self.occupancy.change(now, u64::from(packets), bytes);
    }

    fn count_drop(&mut self, now: Time, packet: &Packet) {
        self.counts.drops += 1;
        self.counts.data_drops += u64::from(packet.kind == PacketKind::Data);
        self.fingerprint.record(Kind::Drop, now, packet);
    }

    #[inline]
    fn count_mark(&mut self, now: Time, packet: &Packet, before: cc::roles::Ecn) {
        if packet.ecn != before {
            self.counts.marks += 1;
            self.fingerprint.record(Kind::Mark, now, packet);
        }
    }

    /// Another capacity for what is served from `now` on.
    pub fn set_rate(&mut self, now: Time, rate: Rate) {
        self.past_rates.push((now, self.rate));
        self.rate = rate;
        self.sizes = [(0, Span::ZERO); 2];
    }

    /// What the line could have carried from `from` to `to` [bits].
    pub fn capacity_bits(&self, from: Time, to: Time) -> f64 {
        let (mut bits, mut since) = (0.0, from);
        for &(until, rate) in &self.past_rates {
            let until = until.clamp(since, to.max(since));
            bits += until.since(since).as_secs() * rate.as_bps();
            since = until;
        }
        bits + to.since(since).as_secs() * self.rate.as_bps()
    }

    /// Handles the routers' timers and says when the next is due.
    pub fn on_timer(&mut self, now: Time) -> Time {
        let backlog = self.queue.backlog();
        for router in self.routers.iter_mut() {
            if router.next_timer() <= now {
                router.on_timer(now, backlog);
            }
        }
        self.next_timer()
    }

    /// When the routers' timers are due.
    pub fn next_timer(&self) -> Time {
        self.routers.iter().map(AnyRouter::next_timer).min().unwrap_or(Time::NEVER)
    }

    /// The counts, with the packet in service taken for not yet served.
    pub fn departed(&self, now: Time) -> Counts {
        let mut counts = self.counts;
        if self.busy_until > now {
            counts.served -= 1;
            counts.served_bytes -= u64::from(self.in_service);
        }
        counts
    }
}

/// The routers of one link; there is none where it would do nothing.
#[derive(Clone, Debug)]
pub struct Routers {
    /// Computes a protocol's feedback.
    pub feedback: Option<AnyRouter>,
    /// Decides what to drop or mark.
    pub policy: Option<AnyRouter>,
}

impl Routers {
    /// Both, the feedback first.
    pub fn iter(&self) -> impl Iterator<Item = &AnyRouter> {
        self.feedback.iter().chain(&self.policy)
    }

    /// The same.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut AnyRouter> {
        self.feedback.iter_mut().chain(&mut self.policy)
    }
}

#[inline]
fn passing(packet: &mut Packet, queued_for: Span) -> Passing<'_, AnyHeader> {
    Passing {
        flow: packet.flow,
        size: packet.size,
        kind: packet.kind,
        queued_for,
        ecn: &mut packet.ecn,
        header: Some(&mut packet.header),
    }
}

//! A named link: a queue, a line that serves it, and what both count.

pub mod capacity;
pub mod classed;
pub mod device;
pub mod line;
pub mod ports;
pub mod slow_path;

use cc::registry::{AnyHeader, AnyRouter};
use cc::roles::{Backlog, PacketKind, Passing, Verdict};
use queue::{Queue, Waiting};
use results::metrics::Occupancy;
use units::{Rate, Span, Time};

use crate::link::device::{Device, Held};
use crate::link::line::Line;
use crate::observe::fingerprint::{Fingerprint, Kind};
use crate::packet::{Packet, Pipe, Pool};

/// What happened at a link since the start of the run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub arrivals: u64,
    pub drops: u64,
    pub data_drops: u64,
    pub marks: u64,
    /// Packets whose service began.
    pub served: u64,
    /// Bytes of those.
    pub served_bytes: u64,
    /// Of those packets, how many the line lost.
    pub lost: u64,
    /// Bits that have left of the packet in service; [`Link::departed`] alone says it.
    pub part_bits: f64,
}

impl Counts {
    /// The bits that have left since then.
    pub fn bits_since(&self, before: &Counts) -> f64 {
        let whole = (self.served_bytes - before.served_bytes) as f64 * 8.0;
        whole + self.part_bits - before.part_bits
    }
}

/// One direction of a line, with the buffer in front of it.
#[derive(Clone, Debug)]
pub struct Link {
    /// The queue gives the next packet away then: the last bit of the one in service leaves, or
    /// the device below the queue has room.
    pub busy_until: Time,
    /// Is a guard pending, so that no departure is worked out too late?
    pub guarded: bool,
    /// Does the line do nothing but serve, and does nobody watch its packets? The hot path asks
    /// this alone.
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
    /// What the line does besides serving.
    pub line: Option<Box<Line>>,
    /// What is between the queue and the line.
    pub device: Option<Box<Device>>,
    /// Is it inside an island?
    pub island: bool,
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
            line: None,
            device: None,
            island: false,
        }
    }

    /// The same link with a line that does more than serve.
    pub fn with_line(self, line: Option<Line>) -> Link {
        let mut link = Link { line: line.map(Box::new), ..self };
        link.set_notices(Time::ZERO);
        Link { plain: link.could_be_plain(), ..link }
    }

    /// The same link with a device below the queue; for a link without a line of its own yet.
    pub fn with_device(self, device: Option<Device>) -> Link {
        Link { device: device.map(Box::new), ..self }
    }

    /// The line tells of a trace as often as its routers ask for, from `now` on.
    pub fn set_notices(&mut self, now: Time) {
        let asked = self.routers.iter().filter_map(AnyRouter::capacity_every).min();
        if let (Some(line), Some(every)) = (&mut self.line, asked) {
            line.notices.every(every, now);
        }
    }

    /// Would it be plain if nobody watched?
    pub fn could_be_plain(&self) -> bool {
        self.line.is_none() && self.device.is_none() && !self.queue.has_classes() && !self.island
    }

    /// A packet arrives, and perhaps the link takes none now; all departures up to now are worked
    /// out.
    #[inline(always)] // for the hot path, which is not the only caller
    pub fn arrive(&mut self, now: Time, pool: &mut Pool, id: u32, refused: bool) -> Fate {
        let packet = &mut pool[id];
        self.counts.arrivals += 1;
        let before = packet.ecn;
        let verdict = self.consult(now, packet);
        let idle = now >= self.busy_until;
        if refused || verdict == Verdict::Drop || !(idle || self.queue.fits(packet.size)) {
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
    #[inline(always)]
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
    #[inline(always)] // for the hot path, which is not the only caller
    pub fn next_service(&mut self, now: Time) -> Option<(Time, u32, Span)> {
        let start = self.busy_until;
        if start > now {
            return None;
        }
        let waiting = self.queue.pop()?;
        self.note_queue(start);
        Some((start, waiting.handle, start.since(waiting.since)))
    }

    /// Puts a packet on a plain line: from now to [`Link::busy_until`].
    #[inline]
    pub fn serve(&mut self, now: Time, packet: &mut Packet, queued_for: Span) {
        self.begin_service(now, packet, queued_for);
        let finish = now + self.serialization(packet.size);
        self.serve_until(finish, packet);
    }

    /// The same for any line.
    pub fn serve_scheduled(&mut self, now: Time, packet: &mut Packet, queued_for: Span) {
        self.begin_service(now, packet, queued_for);
        let begin = self.device.as_ref().map_or(now, |device| device.begin(now));
        let waited = queued_for > Span::ZERO || begin > now;
        let schedule = self.line.as_mut().and_then(|line| line.schedule.as_mut());
        let finish = match schedule {
            Some(schedule) => schedule.finish(begin, packet.size, waited),
            None => begin + self.serialization(packet.size),
        };
        self.serve_until(finish, packet);
        if let Some(device) = &mut self.device {
            let schedule = self.line.as_ref().and_then(|line| line.schedule.as_ref());
            let unused = schedule.map_or(0.0, |schedule| schedule.unused(finish));
            let held = Held { begin, end: finish, size: packet.size, unused, lost: None };
            self.busy_until = device.take(now, held);
        }
    }

    /// When the last bit leaves of the packet that the queue gave away last.
    pub fn service_ends(&self) -> Time {
        self.device.as_ref().map_or(self.busy_until, |device| device.line_until())
    }

    #[inline(always)] // for the hot path, which is not the only caller; so the next
    fn begin_service(&mut self, now: Time, packet: &mut Packet, queued_for: Span) {
        let backlog = self.queue.backlog();
        let before = packet.ecn;
        if let Some(feedback) = &mut self.routers.feedback {
            feedback.on_departure(now, passing(packet, queued_for), backlog);
        }
        if let Some(policy) = &mut self.routers.policy {
            policy.on_departure(now, passing(packet, queued_for), backlog);
        }
        self.count_mark(now, packet, before);
    }

    #[inline(always)]
    fn serve_until(&mut self, finish: Time, packet: &Packet) {
        self.busy_until = finish;
        self.in_service = packet.size;
        self.counts.served += 1;
        self.counts.served_bytes += u64::from(packet.size);
        self.fingerprint.record(Kind::Departure, self.busy_until, packet);
    }

    #[inline(always)]
    fn serialization(&mut self, size: u32) -> Span {
        let [last, other] = self.sizes;
        if last.0 == size {
            return last.1;
        }
        let span = if other.0 == size { other.1 } else { self.rate.serialization(size) };
        self.sizes = [(size, span), last];
        span
    }

    #[inline(always)] // for the hot path, which is not the only caller
    pub(crate) fn note_queue(&mut self, now: Time) {
        let Backlog { packets, bytes } = self.queue.backlog();
        self.occupancy.change(now, u64::from(packets), bytes);
    }

    pub(crate) fn count_drop(&mut self, now: Time, packet: &Packet) {
        self.counts.drops += 1;
        self.counts.data_drops += u64::from(packet.kind == PacketKind::Data);
        self.fingerprint.record(Kind::Drop, now, packet);
    }

    #[inline(always)]
    pub(crate) fn count_mark(&mut self, now: Time, packet: &Packet, before: cc::roles::Ecn) {
        if packet.ecn != before {
            self.counts.marks += 1;
            self.fingerprint.record(Kind::Mark, now, packet);
        }
    }

    /// Does an outage drop what arrives now?
    pub fn refuses(&self, now: Time) -> bool {
        self.line.as_ref().is_some_and(|line| line.refuses(now))
    }

    /// The packet whose service has just begun will not arrive.
    pub fn count_lost(&mut self, packet: &Packet) {
        self.counts.lost += 1;
        self.fingerprint.record(Kind::Loss, self.service_ends(), packet);
        if let Some(device) = &mut self.device {
            device.mark_lost((packet.flow, packet.kind));
        }
    }

    /// The packets given away whose last bit has not left at `now`, if the line will lose them:
    /// their flows' numbers, and what they are.
    pub fn losing(&self, now: Time) -> impl Iterator<Item = (u32, PacketKind)> {
        let in_service = match &self.device {
            Some(_) => None,
            None => self.line.as_ref().filter(|_| self.busy_until > now),
        };
        let held = self.device.iter().flat_map(move |device| device.held(now));
        in_service.and_then(|line| line.losing).into_iter().chain(held.filter_map(|held| held.lost))
    }

    /// How many packets the queue has given away whose last bit has not left at `now`.
    pub fn unfinished(&self, now: Time) -> u64 {
        match &self.device {
            Some(device) => device.held(now).count() as u64,
            None => u64::from(self.busy_until > now),
        }
    }

    /// What the line carries at `now` [bit/s].
    pub fn rate_at(&self, now: Time) -> f64 {
        let schedule = self.line.as_ref().and_then(|line| line.schedule.as_ref());
        schedule.map_or(self.rate.as_bps(), |schedule| schedule.rate(now))
    }

    /// The bits that can leave after `from` and up to `to`.
    pub fn capacity_bits(&self, from: Time, to: Time) -> f64 {
        match self.line.as_ref().and_then(|line| line.schedule.as_ref()) {
            Some(schedule) => schedule.bits(from, to),
            None => to.since(from).as_secs() * self.rate.as_bps(),
        }
    }

    /// Tells the routers of a new capacity, if there is one, and says when to do so again.
    pub fn on_capacity(&mut self, now: Time) -> Time {
        let Some(line) = &mut self.line else { return Time::NEVER };
        if let Some(capacity) = line.notices.take() {
            for router in self.routers.iter_mut() {
                router.on_capacity(now, capacity);
            }
        }
        line.notices.next()
    }

    /// When the routers are told of a new capacity, if there are routers.
    pub fn next_notice(&self) -> Time {
        let told = self.line.as_ref().filter(|_| self.routers.iter().next().is_some());
        told.map_or(Time::NEVER, |line| line.notices.next())
    }

    /// Handles the routers' timers and says when the next is due.
    pub fn on_timer(&mut self, now: Time) -> Time {
        let backlog = self.queue.backlog();
        if self.queue.has_classes()
            && let Some(policy) = &mut self.routers.policy
        {
            policy.on_heads(self.queue.heads());
        }
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

    /// The bits of the packet in service that leave after `now`.
    fn bits_left(&self, now: Time) -> f64 {
        match self.line.as_ref().and_then(|line| line.schedule.as_ref()) {
            Some(schedule) => schedule.bits_left(now, self.busy_until),
            None => self.capacity_bits(now, self.busy_until),
        }
    }

    /// The counts, with the packet in service taken for not yet served.
    pub fn departed(&self, now: Time) -> Counts {
        let mut counts = self.counts;
        counts.lost -= self.losing(now).count() as u64;
        if let Some(device) = &self.device {
            for held in device.held(now) {
                // What begins now has what a trace's last opportunity had left, which was before.
                if held.begin <= now {
                    let left = self.capacity_bits(now, held.end) - held.unused;
                    counts.part_bits = f64::from(held.size) * 8.0 - left;
                }
                counts.served -= 1;
                counts.served_bytes -= u64::from(held.size);
            }
        } else if self.busy_until > now {
            counts.part_bits = f64::from(self.in_service) * 8.0 - self.bits_left(now);
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

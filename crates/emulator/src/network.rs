//! The links between TUN devices: which way a packet goes, when it comes out, and what its bytes
//! are then. Knows no socket and no clock.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io;

use cc::registry::{AnyHeader, AnyRouterParams};
use cc::roles::{Ecn, PacketKind};
use net::{Entering, Passed, Ports};
use results::{LinkRow, Series};
use scenario::Scenario;
use serde::{Deserialize, Serialize};
use units::{Span, Time};

use crate::wire::{self, Ends, Seen};

/// Time since some instant before everything [ps]. Links count from the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wall(pub u64);

impl Wall {
    /// The end of time.
    pub const NEVER: Wall = Wall(u64::MAX);

    /// From nanoseconds.
    pub fn from_ns(ns: u64) -> Wall {
        Wall(ns.saturating_mul(1000))
    }

    fn after(self, span: Span) -> Wall {
        Wall(self.0.saturating_add(span.0))
    }
}

/// Which end hosts are behind a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The sources of a group.
    Source,
    /// Its sinks.
    Sink,
}

/// How packets are told apart by flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Numbering {
    /// The sink's port less this is the flow's number in its group.
    Port(u16),
    /// Connections are numbered as they come. There is one group.
    Any,
}

/// Connections beyond so many share numbers with others.
pub const MAX_FLOWS: u32 = 65_536;

/// What became of a flow's packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowCounts {
    /// Data packets that came in.
    pub sent_pkts: u64,
    /// Data packets that went out.
    pub arrived_pkts: u64,
    /// Their bytes on the wire.
    pub arrived_bytes: u64,
    /// Of those, TCP's payload.
    pub arrived_payload_bytes: u64,
    /// Data packets dropped by queues and in outages.
    pub dropped_pkts: u64,
    /// Data packets lost on lines.
    pub lost_pkts: u64,
    /// ACKs that came in.
    pub acks_sent_pkts: u64,
    /// ACKs that went out.
    pub acks_arrived_pkts: u64,
    /// ACKs dropped.
    pub acks_dropped_pkts: u64,
    /// ACKs lost.
    pub acks_lost_pkts: u64,
}

/// A packet under way.
#[derive(Debug)]
struct Flight {
    bytes: Vec<u8>,
    seen: Seen,
    group: u32,
    flow: u32,
    side: Side,
    /// Links of its way behind it; [`PAST`] when it is on its last stretch.
    hop: usize,
    /// Has a router of a load written its code?
    measured: bool,
}

const PAST: usize = usize::MAX;

/// Where a link's packets are written down.
pub type Capture = capture::Capture<Box<dyn io::Write + Send>>;

/// Packets by when something happens to them; of equals the first that went in.
type Heap = BinaryHeap<Reverse<(Wall, u64, u32)>>;

/// What is due is put off by this at most, so that little is to be done at once.
const MAX_SLACK: Span = Span::from_millis(2);

/// The network of a scenario.
pub struct Network {
    scenario: Scenario,
    ports: Ports,
    /// The device of each group's sources and of its sinks.
    devices: Vec<[usize; 2]>,
    /// The group and side of each device.
    ends: Vec<(u32, Side)>,
    /// The queue on each group's way that reads what every packet bears, if one does.
    readers: Vec<Option<AnyRouterParams>>,
    /// The number of each group's first flow.
    first: Vec<u32>,
    numbering: Numbering,
    known: BTreeMap<Ends, u32>,
    counts: Vec<FlowCounts>,
    flights: Vec<Option<Flight>>,
    spare: Vec<Vec<u8>>,
    /// Packets on their way to a link, by when they are there.
    crossing: Heap,
    /// Packets on their last stretch, by when they go out.
    leaving: Heap,
    /// How late it may be looked at what is on its way to a link: nothing goes out sooner.
    slack: Span,
    serial: u64,
    /// When the run starts; what comes before knows no queue.
    zero: Wall,
    warm: bool,
    captures: Vec<Option<Capture>>,
    /// Packets refused because they are not whole IP, or for a whole neighbourhood.
    pub foreign_pkts: u64,
    failed: Option<io::Error>,
}

/// What is due next.
enum Due {
    Leaves,
    Crosses,
    Link(usize),
    Warmup,
    Sample,
}

/// A packet that goes out, at which device, and when it was to do so.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// The device's number.
    pub device: usize,
    /// The packet.
    pub bytes: &'a [u8],
    /// When it was due.
    pub due: Wall,
}

impl Network {
    /// The network of `scenario`; `devices` are the numbers of each group's source and sink device.
    pub fn new(
        scenario: Scenario,
        (seed, rep): (u64, u64),
        devices: Vec<[usize; 2]>,
        numbering: Numbering,
    ) -> Network {
        let ports = Ports::new(&scenario, seed, rep);
        let mut ends = vec![(0, Side::Source); devices.iter().flatten().max().map_or(0, |m| m + 1)];
        for (group, [source, sink]) in devices.iter().enumerate() {
            ends[*source] = (group as u32, Side::Source);
            ends[*sink] = (group as u32, Side::Sink);
        }
        let mut total = 0;
        let first = scenario.groups.iter().map(|group| {
            total += group.count;
            total - group.count
        });
        let first = first.collect();
        let readers = scenario.groups.iter().map(|group| {
            let links = group.path.iter().chain(&group.reverse).map(|&link| &scenario.links[link]);
            let mut queues = links.filter_map(|link| link.queue.feedback.as_ref());
            queues.find(|part| part.params.reads_fields()).map(|part| part.params.clone())
        });
        Network {
            readers: readers.collect(),
            captures: scenario.links.iter().map(|_| None).collect(),
            ports,
            devices,
            ends,
            first,
            numbering,
            known: BTreeMap::new(),
            counts: vec![FlowCounts::default(); total as usize],
            flights: Vec::new(),
            spare: Vec::new(),
            crossing: Heap::new(),
            leaving: Heap::new(),
            slack: slack(&scenario),
            serial: 0,
            zero: Wall::NEVER,
            warm: scenario.warmup == Span::ZERO,
            scenario,
            foreign_pkts: 0,
            failed: None,
        }
    }

    /// The scenario.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The run starts at `zero`.
    pub fn start(&mut self, zero: Wall) {
        self.zero = zero;
    }

    /// When the run ends.
    pub fn end(&self) -> Wall {
        self.zero.after(self.scenario.duration)
    }

    /// Writes down what leaves a link.
    pub fn capture(&mut self, link: usize, capture: Capture) {
        self.captures[link] = Some(capture);
    }

    fn flow(&mut self, group: u32, side: Side, seen: &Seen) -> u32 {
        match self.numbering {
            Numbering::Port(base) => {
                let port = if side == Side::Source { seen.ports.1 } else { seen.ports.0 };
                let own = u32::from(port.wrapping_sub(base));
                let own = if own < self.scenario.groups[group as usize].count { own } else { 0 };
                self.first[group as usize] + own
            }
            Numbering::Any => {
                let next = self.known.len() as u32;
                if next >= MAX_FLOWS && !self.known.contains_key(&seen.ends) {
                    let [(a, p), (b, q)] = seen.ends.ends;
                    let mixed = a ^ b ^ u128::from(p) << 16 ^ u128::from(q);
                    return (mixed % u128::from(MAX_FLOWS)) as u32;
                }
                *self.known.entry(seen.ends).or_insert(next)
            }
        }
    }

    /// A packet comes in from a device. False when it is none that the network carries. Everything
    /// due before `now` must have been done.
    pub fn enter(&mut self, now: Wall, device: usize, bytes: &[u8]) -> bool {
        let (group, side) = self.ends[device];
        let Some(seen) = wire::read(bytes, self.readers[group as usize].as_ref()) else {
            self.foreign_pkts += 1;
            return false;
        };
        let flow = self.flow(group, side, &seen);
        if flow as usize >= self.counts.len() {
            self.counts.resize(flow as usize + 1, FlowCounts::default());
        }
        let counts = &mut self.counts[flow as usize];
        match seen.kind {
            PacketKind::Data => counts.sent_pkts += 1,
            PacketKind::Ack => counts.acks_sent_pkts += 1,
        }
        let id = self.ports.insert(Entering {
            flow,
            group,
            size: bytes.len() as u32,
            kind: seen.kind,
            ecn: seen.ecn,
            header: seen.header,
        });
        let mut kept = self.spare.pop().unwrap_or_default();
        kept.clear();
        kept.extend_from_slice(bytes);
        if id as usize >= self.flights.len() {
            self.flights.resize_with(id as usize + 1, || None);
        }
        let mut flight = Flight { bytes: kept, seen, group, flow, side, hop: 0, measured: false };
        let delay = if now < self.zero {
            flight.hop = PAST;
            self.propagation(group, flow)
        } else if self.path(&flight).is_empty() {
            flight.hop = PAST;
            self.access(group, flow, side, true) + self.access(group, flow, side, false)
        } else {
            self.access(group, flow, side, true)
        };
        let hop = flight.hop;
        self.flights[id as usize] = Some(flight);
        self.pend(id, now.after(delay), hop == PAST);
        true
    }

    /// One way from end to end without queues: half the base RTT.
    fn propagation(&self, group: u32, flow: u32) -> Span {
        let own = flow - self.first[group as usize];
        Span(self.scenario.rtt(&self.scenario.groups[group as usize], own).0 / 2)
    }

    /// The access hop of a packet from this side, before the first link or after the last.
    fn access(&self, group: u32, flow: u32, side: Side, first: bool) -> Span {
        let own = flow - self.first[group as usize];
        let access = self.scenario.groups[group as usize].access(own);
        if (side == Side::Source) == first { access.source_owd } else { access.sink_owd }
    }

    fn pend(&mut self, id: u32, due: Wall, leaves: bool) {
        self.serial += 1;
        let heap = if leaves { &mut self.leaving } else { &mut self.crossing };
        heap.push(Reverse((due, self.serial, id)));
    }

    fn wall(&self, time: Time) -> Wall {
        if time == Time::NEVER || self.zero == Wall::NEVER {
            Wall::NEVER
        } else {
            self.zero.after(Span(time.0))
        }
    }

    fn next_due(&self) -> (Wall, Due) {
        let mut next = (first(&self.leaving), Due::Leaves);
        if first(&self.crossing) < next.0 {
            next = (first(&self.crossing), Due::Crosses);
        }
        for link in 0..self.scenario.links.len() {
            let due = self.wall(self.ports.due(link));
            if due < next.0 {
                next = (due, Due::Link(link));
            }
        }
        if !self.warm && self.zero.after(self.scenario.warmup) < next.0 {
            next = (self.zero.after(self.scenario.warmup), Due::Warmup);
        }
        let sample = self.wall(self.ports.next_sample());
        if sample < next.0 {
            next = (sample, Due::Sample);
        }
        next
    }

    /// When [`Network::advance`] must be called at the latest, if nothing comes in before. What is
    /// due earlier but lets nothing out is done then, by the times at which it was due.
    pub fn next(&self) -> Wall {
        let inside = (0..self.scenario.links.len()).map(|link| self.wall(self.ports.due(link)));
        let inside = inside.min().unwrap_or(Wall::NEVER).min(first(&self.crossing));
        first(&self.leaving).min(inside.after(self.slack))
    }

    /// Does everything that is due up to `now`, in order; what is due after the run's end never is.
    pub fn advance(&mut self, now: Wall, out: &mut impl FnMut(Outgoing<'_>)) {
        let now = now.min(self.end());
        loop {
            let (at, due) = self.next_due();
            if at > now || at == Wall::NEVER {
                return;
            }
            let time = Time(at.0.saturating_sub(self.zero.0));
            match due {
                Due::Leaves => {
                    if let Some(Reverse((_, _, id))) = self.leaving.pop() {
                        self.leave(at, id, out);
                    }
                }
                Due::Crosses => {
                    if let Some(Reverse((_, _, id))) = self.crossing.pop() {
                        self.cross(time, id);
                    }
                }
                Due::Link(link) => self.at_link(link, time, None),
                Due::Warmup => {
                    self.warm = true;
                    self.ports.end_warmup(time);
                }
                Due::Sample => self.ports.sample(time),
            }
        }
    }

    /// A packet reaches the next link of its way.
    fn cross(&mut self, time: Time, id: u32) {
        let Some(flight) = &self.flights[id as usize] else { return };
        let link = self.path(flight)[flight.hop];
        self.at_link(link, time, Some(id));
    }

    fn path(&self, flight: &Flight) -> &[usize] {
        let group = &self.scenario.groups[flight.group as usize];
        if flight.side == Side::Source { &group.path } else { &group.reverse }
    }

    /// A packet goes out.
    fn leave(&mut self, at: Wall, id: u32, out: &mut impl FnMut(Outgoing<'_>)) {
        self.render(id);
        let Some(flight) = self.flights[id as usize].take() else { return };
        let [source, sink] = self.devices[flight.group as usize];
        let device = if flight.side == Side::Source { sink } else { source };
        out(Outgoing { device, bytes: &flight.bytes, due: at });
        let counts = &mut self.counts[flight.flow as usize];
        match flight.seen.kind {
            PacketKind::Ack => counts.acks_arrived_pkts += 1,
            PacketKind::Data => {
                counts.arrived_pkts += 1;
                counts.arrived_bytes += flight.bytes.len() as u64;
                counts.arrived_payload_bytes += u64::from(flight.seen.payload);
            }
        }
        self.spare.push(flight.bytes);
        self.ports.remove(id);
    }

    /// Does what is due at a link, or lets a packet arrive there.
    fn at_link(&mut self, link: usize, time: Time, arriving: Option<u32>) {
        let mut done = Vec::new();
        match arriving {
            Some(id) => self.ports.arrive(link, time, id, &mut |passed| done.push(passed)),
            None => self.ports.advance(link, time, &mut |passed| done.push(passed)),
        }
        for passed in done {
            match passed {
                Passed::Dropped { id } => self.gone(id, true),
                Passed::Served { id, end, out } => {
                    self.measure(link, id);
                    // What is in service at the end has not left.
                    if self.captures[link].is_some() && end.0 <= self.scenario.duration.0 {
                        self.note(link, id, end);
                    }
                    let Some(out) = out else {
                        self.gone(id, false);
                        continue;
                    };
                    self.go_on(self.wall(out), id);
                }
            }
        }
    }

    /// A packet has passed a link's router.
    fn measure(&mut self, link: usize, id: u32) {
        let Some(feedback) = &self.scenario.links[link].queue.feedback else { return };
        let Some(flight) = &mut self.flights[id as usize] else { return };
        flight.measured |= match feedback.params {
            // What a host of the protocol wrote; ECT(0) is ordinary ECN's.
            AnyRouterParams::Vcp(_) | AnyRouterParams::Dpcp(_) => flight.seen.ecn == Ecn::Ect1,
            AnyRouterParams::Mlcp(_) => {
                matches!(flight.seen.header, AnyHeader::Mlcp(header) if header.is_capable())
            }
            _ => false,
        };
    }

    /// A packet comes out of a line.
    fn go_on(&mut self, at: Wall, id: u32) {
        let Some(flight) = &mut self.flights[id as usize] else { return };
        flight.hop += 1;
        let Flight { group, flow, side, hop, .. } = *flight;
        let Some(flight) = &self.flights[id as usize] else { return };
        if hop < self.path(flight).len() {
            return self.pend(id, at, false);
        }
        self.pend(id, at.after(self.access(group, flow, side, false)), true);
    }

    /// Gives a packet's bytes what routers made of it.
    fn render(&mut self, id: u32) {
        let (ecn, header) = self.ports.signals(id);
        let Some(flight) = &mut self.flights[id as usize] else { return };
        wire::write(&mut flight.bytes, &flight.seen, ecn, &header);
        if flight.measured {
            wire::set_measured(&mut flight.bytes, &flight.seen);
        }
        (flight.seen.ecn, flight.seen.header) = (ecn, header);
    }

    fn note(&mut self, link: usize, id: u32, end: Time) {
        self.render(id);
        let Some(flight) = &self.flights[id as usize] else { return };
        if let Some(capture) = &mut self.captures[link]
            && let Err(error) = capture.write_bytes(end, &flight.bytes)
        {
            self.failed.get_or_insert(error);
            self.captures[link] = None;
        }
    }

    fn gone(&mut self, id: u32, dropped: bool) {
        self.ports.remove(id);
        let Some(flight) = self.flights[id as usize].take() else { return };
        let counts = &mut self.counts[flight.flow as usize];
        let data = flight.seen.kind == PacketKind::Data;
        *match (data, dropped) {
            (true, true) => &mut counts.dropped_pkts,
            (true, false) => &mut counts.lost_pkts,
            (false, true) => &mut counts.acks_dropped_pkts,
            (false, false) => &mut counts.acks_lost_pkts,
        } += 1;
        self.spare.push(flight.bytes);
    }

    /// The run ended at `end`: rows and series of the links, what became of each flow's packets,
    /// and how many packets each capture holds.
    ///
    /// # Errors
    /// A capture could not be written.
    pub fn finish(mut self, end: Wall) -> io::Result<Ended> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let mut captured = Vec::new();
        for (link, capture) in self.captures.into_iter().enumerate() {
            if let Some(capture) = capture {
                captured.push((link as u32, capture.finish()?));
            }
        }
        let end = Time(end.0.saturating_sub(self.zero.0));
        let (links, series) = self.ports.finish(&self.scenario, end);
        Ok(Ended { simulated_s: end.as_secs(), links, series, flows: self.counts, captured })
    }
}

fn first(heap: &Heap) -> Wall {
    heap.peek().map_or(Wall::NEVER, |Reverse((due, ..))| *due)
}

/// The least time from when a packet is at a link until it goes out.
fn slack(scenario: &Scenario) -> Span {
    let owd = scenario.links.iter().map(|link| link.owd).min().unwrap_or(Span::ZERO);
    owd.min(MAX_SLACK)
}

/// What a network counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// From the start to the end.
    pub simulated_s: f64,
    /// One row for each link.
    pub links: Vec<LinkRow>,
    /// The links' series.
    pub series: Vec<Series>,
    /// One for each flow.
    pub flows: Vec<FlowCounts>,
    /// Packets in the capture of each captured link.
    pub captured: Vec<(u32, u64)>,
}

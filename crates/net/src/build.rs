//! From a scenario to a world that is ready to run.

use cc::registry::AnyReceiver;
use cc::roles::{EcnUse, Limit, RouterContext, SenderContext, Service};
use engine::Agenda;
use queue::Queue;
use results::metrics::Occupancy;
use scenario::{Group, RouterPart, Scenario, Size};
use transport::{Config, Inbound, Outbound};
use units::Time;
use units::random::Stream;

use crate::fingerprint::Fingerprint;
use crate::flow::{Access, Annals, Hop, Path, Sink, Source};
use crate::link::{Link, Routers};
use crate::packet::{NONE, Pipe, Pool};
use crate::probe::{self, Probes};
use crate::world::{Due, World, event};

/// Which replication of which experiment.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    pub seed: u64,
    pub rep: u64,
}

impl Draw {
    fn stream(self, component: &str) -> Stream {
        Stream::new(self.seed, self.rep, component)
    }
}

/// The world at time zero.
pub fn world(scenario: &Scenario, draw: Draw) -> World {
    let end = Time::ZERO + scenario.duration;
    let links: Vec<Link> = (0..scenario.links.len()).map(|i| link(scenario, i, draw)).collect();
    let flows = flows(scenario, draw);
    let mut world = World {
        agenda: Agenda::default(),
        pool: Pool::new(),
        paths: scenario.groups.iter().map(path).collect(),
        deliveries: Fingerprint::default(),
        probes: Probes::new(scenario),
        data_bytes: scenario.packets.data_bytes,
        ack_bytes: scenario.packets.ack_bytes,
        warmup: Time::ZERO + scenario.warmup,
        end,
        at_warmup: vec![Default::default(); links.len()],
        access_hops: 0,
        links,
        sources: flows.sources,
        sinks: flows.sinks,
        annals: flows.annals,
        accesses: flows.accesses,
    };
    schedule(scenario, &mut world);
    world
}

fn schedule(scenario: &Scenario, world: &mut World) {
    world.agenda.at(Time::ZERO + scenario.warmup, event(Due::Warmup, 0));
    if let Some(first) = world.probes.next() {
        world.agenda.at(first, event(Due::Probe, 0));
    }
    world.probes.start(Time::ZERO, &world.links);
    for (i, link) in world.links.iter_mut().enumerate() {
        link.plain = !world.probes.watches_link(i as u32);
        link.timer = link.next_timer();
        if link.timer != Time::NEVER {
            world.agenda.at(link.timer, event(Due::RouterTimer, i as u32));
        }
    }
    for (i, source) in world.sources.iter_mut().enumerate() {
        source.armed = source.boundary;
        world.agenda.at(source.armed, event(Due::FlowTimer, i as u32));
    }
}

fn link(scenario: &Scenario, i: usize, draw: Draw) -> Link {
    let named = &scenario.links[i];
    let queue = &named.queue;
    let router = |part: &RouterPart, name: &str| {
        let context = || router_context(scenario, i, draw, name);
        (!part.params.idle()).then(|| part.params.build(&context()))
    };
    let routers = Routers {
        feedback: queue.feedback.as_ref().and_then(|part| router(part, "feedback")),
        policy: router(&queue.policy, "policy"),
    };
    let (packets, bytes) = limits(scenario, named.limit);
    let occupancy = Occupancy::new(Time::ZERO + scenario.warmup, packets, bytes);
    let queue = Queue::new(service(queue), named.limit);
    Link::new(named.rate, named.owd, queue, routers, occupancy)
}

/// What the router of the `i`-th link's `part` is built from.
pub fn router_context(scenario: &Scenario, i: usize, draw: Draw, part: &str) -> RouterContext {
    let named = &scenario.links[i];
    RouterContext {
        link: i as u32,
        capacity: named.rate,
        limit: named.limit,
        packet_bytes: scenario.packets.data_bytes,
        stream: draw.stream(&format!("link.{}.{part}", named.name)),
    }
}

/// The order of service that a queue's parts ask for.
pub fn service(queue: &scenario::Queue) -> Service {
    let asked = queue.feedback.as_ref().map_or(Service::Fifo, |part| part.params.service());
    match (asked, queue.policy.params.service()) {
        (Service::Fifo, service) => service,
        (service, _) => service,
    }
}

/// The most packets and bytes that a buffer holds.
pub fn limits(scenario: &Scenario, limit: Limit) -> (u64, u64) {
    let data_bytes = u64::from(scenario.packets.data_bytes);
    let smallest = u64::from(scenario.packets.ack_bytes.clamp(1, scenario.packets.data_bytes));
    match limit {
        Limit::Bytes(bytes) => (bytes / smallest, bytes),
        Limit::Packets(packets) => (u64::from(packets), u64::from(packets) * data_bytes),
    }
}

/// When the `i`-th flow of a group starts.
pub fn start(group: &Group, i: u32, draw: Draw) -> Time {
    group.start.time(i, &mut draw.stream(&format!("flow.{}.{i}.start", group.name)))
}

/// When a group's sources stop, if they do.
pub fn stop(group: &Group) -> Option<Time> {
    group.stop.map(|stop| Time::ZERO + stop)
}

fn path(group: &Group) -> Path {
    let numbers = |links: &[usize]| links.iter().map(|&link| link as u32).collect();
    Path { forward: numbers(&group.path), reverse: numbers(&group.reverse) }
}

/// The two ends of all flows, and what they share.
#[derive(Default)]
struct Flows {
    sources: Vec<Source>,
    sinks: Vec<Sink>,
    annals: Vec<Annals>,
    accesses: Vec<Access>,
}

fn flows(scenario: &Scenario, draw: Draw) -> Flows {
    let mut flows = Flows::default();
    for (number, group) in scenario.groups.iter().enumerate() {
        let first = flows.accesses.len() as u32;
        let shared = group.access.len() == 1;
        flows.accesses.extend(group.access.iter().map(|hops| access(scenario, *hops)));
        for i in 0..group.count {
            let place = Place { group: number, i, access: if shared { first } else { first + i } };
            flows.add(scenario, place, draw);
        }
    }
    flows
}

/// Which flow of which group, and where its access hops are described.
#[derive(Clone, Copy)]
struct Place {
    group: usize,
    i: u32,
    access: u32,
}

impl Flows {
    fn add(&mut self, scenario: &Scenario, place: Place, draw: Draw) {
        let group = &scenario.groups[place.group];
        let name = format!("flow.{}.{}", group.name, place.i);
        let context = SenderContext {
            packet_bytes: scenario.packets.data_bytes,
            initial_window: scenario.transport.initial_window,
            stream: draw.stream(&name),
        };
        let (sender, receiver) = group.protocol.params.build(&context);
        let config = config(scenario, group);
        let transfer = Transfer::of(&group.size, scenario.packets.data_bytes);
        let start = start(group, place.i, draw);
        let stop = stop(group).map_or(Time::NEVER, |stop| stop.max(start));
        let last_bytes = transfer.last_bytes;
        self.annals.push(Annals {
            start,
            stop,
            finish: None,
            dropped: 0,
            acks_dropped: 0,
            last_bytes,
        });
        self.sinks.push(sink(place, &config, (receiver, sender.ecn()), scenario));
        self.sources.push(Source {
            up: Pipe::EMPTY,
            ack_down: Pipe::EMPTY,
            group: place.group as u32,
            access: place.access,
            up_hop: Hop::FREE,
            down_hop: Hop::FREE,
            armed: Time::NEVER,
            pace_armed: Time::NEVER,
            boundary: start,
            outbound: Outbound::new(&config, transfer.segments),
            last_seq: transfer.segments.map_or(u64::MAX, |segments| segments - 1),
            pace_free: Time::ZERO,
            sent: 0,
            sent_bytes: 0,
            acks_arrived: 0,
            ecn: sender.ecn(),
            prompt: !probe::samples_source(scenario, place.group),
            held: false,
            started: false,
            finished: false,
            sender,
        });
    }
}

fn sink(place: Place, config: &Config, ends: (AnyReceiver, EcnUse), scenario: &Scenario) -> Sink {
    let (receiver, ecn) = ends;
    Sink {
        ack_up: Pipe::EMPTY,
        down: Pipe::EMPTY,
        group: place.group as u32,
        access: place.access,
        down_hop: Hop::FREE,
        up_hop: Hop::FREE,
        unanswered: NONE,
        ecn,
        prompt: config.delayed_ack.is_none() && !probe::samples_sink(scenario, place.group),
        held: false,
        receiver,
        inbound: Inbound::new(config),
        arrived: 0,
        delivered_bytes: 0,
        fresh_bytes: 0,
        acks_sent: 0,
        armed: Time::NEVER,
    }
}

fn access(scenario: &Scenario, hops: scenario::Access) -> Access {
    Access {
        rate: hops.rate,
        source_owd: hops.source_owd,
        sink_owd: hops.sink_owd,
        data_time: hops.rate.serialization(scenario.packets.data_bytes),
        ack_time: hops.rate.serialization(scenario.packets.ack_bytes),
    }
}

fn config(scenario: &Scenario, group: &Group) -> Config {
    let transport = &scenario.transport;
    Config {
        recovery: group.protocol.recovery,
        dup_thresh: transport.dup_thresh,
        min_rto: transport.min_rto,
        max_rto: transport.max_rto,
        initial_rto: transport.initial_rto,
        delayed_ack: transport.delayed_ack,
        limited_transmit: transport.limited_transmit,
    }
}

/// A transfer in segments.
struct Transfer {
    segments: Option<u64>,
    last_bytes: u32,
}

impl Transfer {
    fn of(size: &Size, packet_bytes: u32) -> Transfer {
        match size {
            Size::Drawn(_) => todo!("drawn at the arrival"),
            Size::Unlimited => Transfer { segments: None, last_bytes: packet_bytes },
            &Size::Bytes(bytes) => {
                let full = u64::from(packet_bytes);
                let segments = bytes.div_ceil(full).max(1);
                let last = bytes.max(1) - (segments - 1) * full;
                Transfer { segments: Some(segments), last_bytes: last as u32 }
            }
        }
    }
}

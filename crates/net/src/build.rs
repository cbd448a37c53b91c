//! From a scenario to a world that is ready to run.

use cc::registry::AnyReceiver;
use cc::roles::{EcnUse, Limit, RouterContext, SenderContext, Service};
use engine::Agenda;
use queue::Queue;
use results::metrics::Occupancy;
use scenario::{Group, RouterPart, Scenario, Series, Size};
use transport::{Config, Inbound, Outbound};
use units::Time;
use units::random::Stream;

use crate::fingerprint::Fingerprint;
use crate::flow::{Access, Annals, Hop, Path, Sink, Source};
use crate::line::{Line, Streams};
use crate::link::{Link, Routers};
use crate::lookahead;
use crate::packet::{NONE, Pipe, Pool};
use crate::probe::Probes;
use crate::tap::Taps;
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
        probes: Probes::new(&scenario.probe, end, flows.sources.len(), links.len()),
        taps: Taps::default(),
        data_bytes: scenario.packets.data_bytes,
        ack_bytes: scenario.packets.ack_bytes,
        warmup: Time::ZERO + scenario.warmup,
        end,
        at_warmup: vec![Default::default(); links.len()],
        look_ahead: lookahead::pays(flows.sources.len()),
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
    if let Some(first) = world.probes.first() {
        world.agenda.at(first, event(Due::Probe, 0));
    }
    for (i, link) in world.links.iter_mut().enumerate() {
        link.timer = link.next_timer();
        if link.timer != Time::NEVER {
            world.agenda.at(link.timer, event(Due::RouterTimer, i as u32));
        }
        let notice = link.next_notice();
        if notice != Time::NEVER {
            world.agenda.at(notice, event(Due::Capacity, i as u32));
        }
    }
    for (i, source) in world.sources.iter_mut().enumerate() {
        source.armed = source.boundary;
        world.agenda.at(source.armed, event(Due::FlowTimer, i as u32));
    }
}

fn link(scenario: &Scenario, i: usize, draw: Draw) -> Link {
    let named = &scenario.links[i];
    let context = |part: &str| RouterContext {
        link: i as u32,
        capacity: named.rate,
        limit: named.limit,
        packet_bytes: scenario.packets.data_bytes,
        stream: draw.stream(&format!("link.{}.{part}", named.name)),
    };
    let queue = &named.queue;
    let asked = queue.feedback.as_ref().map_or(Service::Fifo, |part| part.params.service());
    let service = match (asked, queue.policy.params.service()) {
        (Service::Fifo, service) => service,
        (service, _) => service,
    };
    let router = |part: &RouterPart, name: &str| {
        (!part.params.idle()).then(|| part.params.build(&context(name)))
    };
    let routers = Routers {
        feedback: queue.feedback.as_ref().and_then(|part| router(part, "feedback")),
        policy: router(&queue.policy, "policy"),
    };
    let data_bytes = u64::from(scenario.packets.data_bytes);
    let smallest = u64::from(scenario.packets.ack_bytes.clamp(1, scenario.packets.data_bytes));
    let (packets, bytes) = match named.limit {
        Limit::Bytes(bytes) => (bytes / smallest, bytes),
        Limit::Packets(packets) => (u64::from(packets), u64::from(packets) * data_bytes),
    };
    let occupancy = Occupancy::new(Time::ZERO + scenario.warmup, packets, bytes);
    let stream = |what: &str| draw.stream(&format!("link.{}.{what}", named.name));
    let streams =
        Streams { loss: stream("loss"), jitter: stream("jitter"), reorder: stream("reorder") };
    Link::new(named.rate, named.owd, Queue::new(service, named.limit), routers, occupancy)
        .with_line(Line::new(named.rate, &named.line, streams))
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
        let start = group.start.time(place.i, &mut draw.stream(&format!("{name}.start")));
        let stop = group.stop.map_or(Time::NEVER, |stop| (Time::ZERO + stop).max(start));
        let last_bytes = transfer.last_bytes;
        self.annals.push(Annals {
            start,
            stop,
            finish: None,
            dropped: 0,
            acks_dropped: 0,
            lost: 0,
            acks_lost: 0,
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
            acks_arrived: 0,
            ecn: sender.ecn(),
            prompt: !sampled(scenario, &[Series::Cwnd, Series::Srtt, Series::Sender]),
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
        prompt: config.delayed_ack.is_none() && !sampled(scenario, &[Series::Goodput]),
        receiver,
        inbound: Inbound::new(config),
        arrived: 0,
        delivered_bytes: 0,
        fresh_bytes: 0,
        acks_sent: 0,
        armed: Time::NEVER,
    }
}

fn sampled(scenario: &Scenario, series: &[Series]) -> bool {
    scenario.probe.series.iter().any(|wanted| series.contains(wanted))
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

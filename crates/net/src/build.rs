//! From a scenario to a world that is ready to run.

use cc::roles::{Limit, RouterContext, SenderContext, Service};
use engine::Agenda;
use queue::Queue;
use results::metrics::Occupancy;
use scenario::{Group, RouterPart, Scenario, Series, Size};
use transport::{Config, Inbound, Outbound};
use units::random::Stream;
use units::{Span, Time};

use crate::fingerprint::Fingerprint;
use crate::flow::{Access, Counts, Flow, Hop, Life, Path};
use crate::link::{Link, Routers};
use crate::packet::{NONE, Pipe, Pool};
use crate::probe::Probes;
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
        probes: Probes::new(&scenario.probe, end, flows.len(), links.len()),
        ack_bytes: scenario.packets.ack_bytes,
        warmup: Time::ZERO + scenario.warmup,
        end,
        at_warmup: vec![Default::default(); links.len()],
        access_hops: 0,
        links,
        flows,
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
    }
    for (i, flow) in world.flows.iter_mut().enumerate() {
        flow.armed = flow.life.start;
        world.agenda.at(flow.armed, event(Due::FlowTimer, i as u32));
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
    let limit_bytes = match named.limit {
        Limit::Bytes(bytes) => bytes,
        Limit::Packets(packets) => u64::from(packets) * data_bytes,
    };
    let occupancy = Occupancy::new(Time::ZERO + scenario.warmup, limit_bytes);
    Link::new(named.rate, named.owd, Queue::new(service, named.limit), routers, occupancy)
}

fn path(group: &Group) -> Path {
    let numbers = |links: &[usize]| links.iter().map(|&link| link as u32).collect();
    Path { forward: numbers(&group.path), reverse: numbers(&group.reverse) }
}

fn flows(scenario: &Scenario, draw: Draw) -> Vec<Flow> {
    let mut flows = Vec::new();
    for (number, group) in scenario.groups.iter().enumerate() {
        for i in 0..group.count {
            flows.push(flow(scenario, number, i, draw));
        }
    }
    flows
}

fn flow(scenario: &Scenario, number: usize, i: u32, draw: Draw) -> Flow {
    let group = &scenario.groups[number];
    let name = format!("flow.{}.{i}", group.name);
    let packet_bytes = scenario.packets.data_bytes;
    let context = SenderContext {
        packet_bytes,
        initial_window: scenario.transport.initial_window,
        stream: draw.stream(&name),
    };
    let (sender, receiver) = group.protocol.params.build(&context);
    let config = config(scenario, group);
    let sampled = |series: &[Series]| scenario.probe.series.iter().any(|s| series.contains(s));
    let transfer = Transfer::of(group.size, packet_bytes);
    let start = group.start.time(i, &mut draw.stream(&format!("{name}.start")));
    Flow {
        group: number as u32,
        prompt_sink: config.delayed_ack.is_none() && !sampled(&[Series::Goodput]),
        prompt_source: !sampled(&[Series::Cwnd, Series::Srtt, Series::Sender]),
        ecn: sender.ecn(),
        packet_bytes,
        last_bytes: transfer.last_bytes,
        last_seq: transfer.segments.map_or(u64::MAX, |segments| segments - 1),
        outbound: Outbound::new(&config, transfer.segments),
        sender,
        armed: Time::NEVER,
        pace_armed: Time::NEVER,
        pace_free: Time::ZERO,
        access: access(scenario, group, i),
        source_up: Hop::FREE,
        sink_down: Hop::FREE,
        sink_up: Hop::FREE,
        source_down: Hop::FREE,
        up: Pipe::EMPTY,
        down: Pipe::EMPTY,
        ack_up: Pipe::EMPTY,
        ack_down: Pipe::EMPTY,
        inbound: Inbound::new(&config),
        receiver,
        receiver_armed: Time::NEVER,
        unanswered: NONE,
        life: life(start, group.stop),
        counts: Counts::default(),
    }
}

fn life(start: Time, stop: Option<Span>) -> Life {
    let stop = stop.map_or(Time::NEVER, |stop| (Time::ZERO + stop).max(start));
    Life { start, stop, finish: None, started: false, stopped: false }
}

fn access(scenario: &Scenario, group: &Group, i: u32) -> Access {
    let hops = group.access(i);
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
    fn of(size: Size, packet_bytes: u32) -> Transfer {
        match size {
            Size::Unlimited => Transfer { segments: None, last_bytes: packet_bytes },
            Size::Bytes(bytes) => {
                let full = u64::from(packet_bytes);
                let segments = bytes.div_ceil(full).max(1);
                let last = bytes.max(1) - (segments - 1) * full;
                Transfer { segments: Some(segments), last_bytes: last as u32 }
            }
        }
    }
}

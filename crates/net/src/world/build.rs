//! From a scenario to a world that is ready to run.

use cc::classes::Service;
use cc::registry::{AnyReceiver, AnyReporter, AnySenderParams, Recovery, protocols};
use cc::roles::{CeAcks, EcnUse, Limit, RouterContext, SenderContext};
use engine::Agenda;
use queue::Queue;
use results::metrics::Occupancy;
use scenario::{
    AccEcn, App, Crossing, Group, IdleRestart, Island, LossBase, RackRtt, RouterPart, Rttvar,
    Scenario, Transport, Undo,
};
use transport::accecn::{Heard, Told};
use transport::{Bursts, Config, Evidence, Inbound, Outbound, Restart};
use units::Time;
use units::random::Stream;

use crate::flow::app::Apps;
use crate::flow::arrivals::Arrivals;
use crate::flow::relays::{self, Relays};
use crate::flow::reports::Reporters;
use crate::flow::{Access, Annals, Hop, Path, Sink, Source, Way};
use crate::islands::{Found, Islands, found, of_island};
use crate::link::device::Device;
use crate::link::line::{Line, Streams};
use crate::link::{Link, Routers};
use crate::observe::fingerprint::Fingerprint;
use crate::observe::probe::{self, Probes};
use crate::observe::tap::Taps;
use crate::packet::{Inlet, NONE, Pipe, Pool};
use crate::world::lookahead;
use crate::world::prototypes;
use crate::world::{Due, World, event};

/// Which replication of which experiment.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    pub seed: u64,
    pub rep: u64,
}

impl Draw {
    pub fn stream(self, component: &str) -> Stream {
        Stream::new(self.seed, self.rep, component)
    }
}

/// The world at time zero.
pub fn world(scenario: &Scenario, draw: Draw) -> World {
    let end = Time::ZERO + scenario.duration;
    let mut links: Vec<Link> = (0..scenario.links.len()).map(|i| link(scenario, i, draw)).collect();
    for link in scenario.islands.iter().flat_map(of_island) {
        (links[link].island, links[link].plain) = (true, false);
    }
    let mut flows = Flows::of(scenario, Apps::new(scenario, end), draw);
    let arrivals = Arrivals::new(scenario, &flows.first_access, draw);
    let mut paths: Vec<Path> = scenario.groups.iter().map(path).collect();
    let islands = flows.carriers(scenario, &mut paths, draw);
    let mut world = World {
        agenda: Agenda::default(),
        pool: Pool::new(),
        paths,
        deliveries: Fingerprint::default(),
        probes: Probes::new(scenario),
        taps: Taps::default(),
        data_bytes: scenario.packets.data_bytes,
        ack_bytes: scenario.packets.ack_bytes,
        warmup: Time::ZERO + scenario.warmup,
        end,
        source_reach: end,
        sink_reach: end,
        at_warmup: vec![Default::default(); links.len()],
        look_ahead: lookahead::pays(flows.sources.len()),
        access_hops: 0,
        links,
        sources: flows.sources,
        sinks: flows.sinks,
        annals: flows.annals,
        accesses: flows.accesses,
        apps: flows.apps,
        arrivals,
        reporters: flows.reporters,
        relays: Relays::of(scenario),
        gone: Vec::new(),
        islands,
        crowded: false,
    };
    for flow in 0..world.sources.len() as u32 {
        if world.relays.before(flow).is_some() || world.relays.buffer(flow) < u64::MAX {
            world.allow(flow);
        }
    }
    schedule(scenario, &mut world);
    world.set_reach();
    world
}

fn schedule(scenario: &Scenario, world: &mut World) {
    world.agenda.at(Time::ZERO + scenario.warmup, event(Due::Warmup, 0));
    if let Some(first) = world.probes.next() {
        world.agenda.at(first, event(Due::Probe, 0));
    }
    world.probes.start(Time::ZERO, &world.links);
    for (i, link) in world.links.iter_mut().enumerate() {
        link.plain &= !world.probes.watches_link(i as u32);
        link.timer = link.next_timer();
        if link.timer != Time::NEVER {
            world.agenda.at(link.timer, event(Due::RouterTimer, i as u32));
        }
        let notice = link.next_notice();
        if notice != Time::NEVER {
            world.agenda.at(notice, event(Due::Capacity, i as u32));
        }
    }
    for (first, group) in world.arrivals.first(scenario) {
        world.agenda.at(first, event(Due::Arrival, group));
    }
    for (i, source) in world.sources.iter_mut().enumerate() {
        source.armed = source.boundary;
        if source.armed != Time::NEVER {
            world.agenda.at(source.armed, event(Due::FlowTimer, i as u32));
        }
    }
}

/// The `i`-th link at time zero.
pub fn link(scenario: &Scenario, i: usize, draw: Draw) -> Link {
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
    let queue = Queue::new(service(queue), named.limit, scenario.packets.data_bytes);
    let line = Line::new(named.rate, &named.line, streams(&named.name, draw));
    Link::new(named.rate, named.owd, queue, routers, occupancy)
        .with_device(named.device.map(Device::new))
        .with_line(line)
}

/// The random streams of the line of a link.
pub fn streams(link: &str, draw: Draw) -> Streams {
    let stream = |what: &str| draw.stream(&format!("link.{link}.{what}"));
    Streams { loss: stream("loss"), jitter: stream("jitter"), reorder: stream("reorder") }
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
        host: prototypes::host(),
    }
}

/// The order of service that a queue's parts ask for.
pub fn service(queue: &scenario::Queue) -> Service {
    let asked = queue.feedback.as_ref().map_or(Service::Fifo, |part| part.params.service());
    match (asked, queue.policy.params.service()) {
        (Service::Fifo, service) | (_, service @ Service::Classes(_)) => service,
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

/// The two ends of all flows there are from the start, and what they share.
struct Flows {
    sources: Vec<Source>,
    sinks: Vec<Sink>,
    annals: Vec<Annals>,
    accesses: Vec<Access>,
    /// Where each group's access hops begin.
    first_access: Vec<u32>,
    apps: Apps,
    reporters: Reporters,
}

impl Flows {
    fn of(scenario: &Scenario, apps: Apps, draw: Draw) -> Flows {
        let (sources, sinks, annals) = (Vec::new(), Vec::new(), Vec::new());
        let (accesses, first_access) = (Vec::new(), Vec::new());
        let reporters = Reporters::default();
        let mut flows = Flows { sources, sinks, annals, accesses, first_access, apps, reporters };
        for (number, group) in scenario.groups.iter().enumerate() {
            let first = flows.accesses.len() as u32;
            flows.first_access.push(first);
            let shared = group.access.len() == 1;
            flows.accesses.extend(group.access.iter().map(|hops| access(scenario, *hops)));
            let mould = Mould::of(scenario, number);
            for i in 0..group.count {
                let access = if shared { first } else { first + i };
                flows.add(scenario, &mould, (i, access), draw);
            }
        }
        flows
    }

    /// The macro-flows, after the flows.
    fn carriers(&mut self, scenario: &Scenario, paths: &mut Vec<Path>, draw: Draw) -> Islands {
        let (first, access) = (self.sources.len() as u32, self.accesses.len() as u32);
        let Found { islands, ends, paths: own, access } = found(scenario, (first, access), draw);
        for (source, sink, annals) in ends {
            self.sources.push(source);
            self.sinks.push(sink);
            self.annals.push(annals);
        }
        paths.extend(own);
        self.accesses.push(access);
        islands
    }

    fn add(&mut self, scenario: &Scenario, mould: &Mould, (i, access): (u32, u32), draw: Draw) {
        let number = mould.group as usize;
        let group = &scenario.groups[number];
        // A relay sends what its source does, whose size may be drawn.
        let root = &scenario.groups[relays::root(scenario, number)].name;
        let size = group.size.draw(&mut draw.stream(&format!("flow.{root}.{i}.size")));
        let name = format!("flow.{}.{i}", group.name);
        let stream = |part: &str| draw.stream(&format!("{name}{part}"));
        let start = start(group, i, draw);
        let (source, sink, annals) = mould.flow(Birth {
            access,
            start,
            stop: stop(group).map_or(Time::NEVER, |stop| stop.max(start)),
            bytes: size,
            stream: stream(""),
            row: NONE,
        });
        let flow = self.sources.len() as u32;
        self.sources.push(source);
        self.sinks.push(sink);
        self.annals.push(annals);
        self.reporters.set(flow, mould.reporter());
        if self.apps.any(mould.group) {
            let outbound = &mut self.sources[flow as usize].outbound;
            self.apps.start((flow, mould.group), start, outbound, stream(".app"));
        }
    }
}

/// What the flows of a group are made from.
#[derive(Clone, Debug)]
pub struct Mould {
    pub group: u32,
    params: AnySenderParams,
    packet_bytes: u32,
    initial_window: f64,
    counting: u32,
    pacing_burst: u32,
    /// Of its data; it meets so many routers.
    forward: Way,
    /// Of its ACKs.
    reverse: Way,
    config: Config,
    /// What those with ECN use of AccECN.
    accecn: AccEcn,
    /// See [`Source::prompt`].
    source_prompt: bool,
    /// See [`Sink::prompt`].
    sink_prompt: bool,
}

/// What the flows of a group do not share.
#[derive(Debug)]
pub struct Birth {
    /// Which access hops it has.
    pub access: u32,
    pub start: Time,
    pub stop: Time,
    /// What it has to send; `None`: no end.
    pub bytes: Option<u64>,
    /// Its protocol's.
    pub stream: Stream,
    /// See [`Annals::row`].
    pub row: u32,
}

impl Mould {
    /// That of a group of the scenario.
    pub fn of(scenario: &Scenario, number: usize) -> Mould {
        let group = &scenario.groups[number];
        let config = config(scenario, group);
        let (relayed, relays) = relays::ends(scenario, number);
        Mould {
            group: number as u32,
            params: group.protocol.params.clone(),
            packet_bytes: scenario.packets.data_bytes,
            initial_window: scenario.transport.initial_window,
            counting: scenario.transport.byte_counting,
            pacing_burst: scenario.transport.pacing_burst,
            forward: Way::over(&group.path),
            reverse: Way::over(&group.reverse),
            config,
            accecn: scenario.transport.accecn,
            source_prompt: !probe::watches_source(scenario, number) && !relayed && !relays,
            sink_prompt: at_once(&config) && !relayed,
        }
    }

    /// That of a macro-flow of an island; `group` is the number of its path.
    pub fn carrying(
        scenario: &Scenario,
        island: &Island,
        (group, crossing): (u32, &Crossing),
    ) -> Mould {
        let transport = &scenario.transport;
        Mould {
            group,
            forward: Way::over(&crossing.path),
            reverse: Way::over(&crossing.feedback),
            params: island.protocol.params.clone(),
            packet_bytes: scenario.packets.data_bytes + island.outer_bytes,
            initial_window: transport.initial_window,
            counting: 0,
            pacing_burst: 1,
            config: Config {
                recovery: Recovery::None,
                min_rto: transport.min_rto,
                max_rto: transport.max_rto,
                initial_rto: transport.initial_rto,
                rto_granularity: transport.rto_granularity,
                every_sample: transport.rttvar == Rttvar::Ack,
                ..Config::default()
            },
            accecn: AccEcn::Off,
            source_prompt: false,
            sink_prompt: false,
        }
    }

    /// Both ends of a macro-flow: a source that starts nothing and has no timers, a sink that does
    /// not acknowledge by itself, and annals whose packets' ends are told of.
    pub fn carrier(&self, birth: Birth) -> (Source, Sink, Annals) {
        let (source, sink, annals) = self.flow(birth);
        let inbound = Inbound::new(&Config { reports: true, ..self.config });
        (
            Source { boundary: Time::NEVER, finished: true, ..source },
            Sink { inbound, reports: true, ..sink },
            Annals { reports: true, ..annals },
        )
    }

    /// Flows are watched as `scenario` says.
    pub fn watch(&mut self, scenario: &Scenario) {
        let group = self.group as usize;
        let (relayed, relays) = relays::ends(scenario, group);
        self.source_prompt = !probe::watches_source(scenario, group) && !relayed && !relays;
    }

    /// Flows are traced: what happens to a source that is prompt would not be seen.
    pub fn trace(&mut self) {
        self.source_prompt = false;
    }

    /// The receiver that chooses what to acknowledge, if the protocol has one.
    pub fn reporter(&self) -> Option<AnyReporter> {
        let Mould { packet_bytes, initial_window, .. } = *self;
        // It draws nothing.
        let stream = Stream::new(0, 0, "");
        self.params.reporter(&SenderContext {
            packet_bytes,
            initial_window,
            counting: 0,
            routers: u32::from(self.forward.links),
            stream,
            host: prototypes::host(),
        })
    }

    /// The receiving end of a flow with these access hops.
    fn sink(
        &self,
        access: u32,
        (ecn, ce_acks): (EcnUse, CeAcks),
        receiver: AnyReceiver,
        accurate: bool,
    ) -> Sink {
        let told = || Box::new(Told::new(self.accecn == AccEcn::Option));
        Sink {
            ack_up: Pipe::EMPTY,
            down: Inlet::EMPTY,
            group: self.group,
            access,
            way: self.reverse,
            down_hop: Hop::FREE,
            up_hop: Hop::FREE,
            unanswered: NONE,
            ecn: if accurate { EcnUse::None } else { ecn },
            prompt: self.sink_prompt,
            held: false,
            receiver,
            inbound: Inbound::new(&self.config),
            arrived: 0,
            delivered_bytes: 0,
            fresh_bytes: 0,
            acks_sent: 0,
            armed: Time::NEVER,
            reports: self.config.reports,
            accecn: accurate.then(told),
            ce_acks,
            ce: false,
        }
    }

    /// Both ends of a flow that is about to start.
    pub fn flow(&self, birth: Birth) -> (Source, Sink, Annals) {
        let Birth { access, start, stop, bytes, stream, row } = birth;
        let Mould { group, packet_bytes, initial_window, counting, .. } = *self;
        let routers = u32::from(self.forward.links);
        let host = prototypes::host();
        let context =
            SenderContext { packet_bytes, initial_window, counting, routers, stream, host };
        let (sender, receiver) = self.params.build(&context);
        let ecn = sender.ecn();
        let accurate = self.accecn != AccEcn::Off && sender.counts_marks();
        let ce_acks = if accurate { CeAcks::Off } else { sender.ce_acks() };
        let transfer = Transfer::of(bytes, packet_bytes);
        let source = Source {
            up: Pipe::EMPTY,
            ack_down: Inlet::EMPTY,
            group,
            access,
            way: self.forward,
            up_hop: Hop::FREE,
            down_hop: Hop::FREE,
            armed: Time::NEVER,
            pace_armed: Time::NEVER,
            boundary: start,
            outbound: Outbound::new(&self.config, transfer.segments),
            last_seq: transfer.segments.map_or(u64::MAX, |segments| segments - 1),
            pace_free: Time::ZERO,
            sent: 0,
            acks_arrived: 0,
            ecn,
            code: ecn.code(),
            prompt: self.source_prompt,
            held: false,
            started: false,
            finished: false,
            sender,
            accecn: accurate.then(|| Box::new(Heard::new(packet_bytes))),
            counts_all: ce_acks == CeAcks::Ns3,
            before: None,
            bursts: (self.pacing_burst > 1).then(|| Box::new(Bursts::new(self.pacing_burst))),
        };
        let sink = self.sink(access, (ecn, ce_acks), receiver, accurate);
        let annals = Annals {
            start,
            stop,
            finish: None,
            dropped: 0,
            acks_dropped: 0,
            lost: 0,
            acks_lost: 0,
            last_bytes: transfer.last_bytes,
            row,
            quiet: start,
            last_data: Time::ZERO,
            reports: self.config.reports,
        };
        (source, sink, annals)
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

/// Does a sink acknowledge at the arrival of a packet, if it does?
fn at_once(config: &Config) -> bool {
    config.delayed_ack.is_none() || config.reports
}

fn config(scenario: &Scenario, group: &Group) -> Config {
    let transport = &scenario.transport;
    let info = protocols().find(|info| info.name == group.protocol.kind);
    let reports = info.is_some_and(|info| info.reports);
    let open_loop = info.is_some_and(|info| info.open_loop);
    let reduces = info.is_some_and(|info| info.reduces);
    assert!(!open_loop || group.app != App::Greedy, "{}: it needs a rate", group.name);
    Config {
        recovery: if reports { Recovery::None } else { group.protocol.recovery },
        reports,
        dup_thresh: transport.dup_thresh,
        min_rto: transport.min_rto,
        max_rto: transport.max_rto,
        initial_rto: transport.initial_rto,
        rto_granularity: transport.rto_granularity,
        every_sample: transport.rttvar == Rttvar::Ack,
        delayed_ack: transport.delayed_ack,
        quick_acks: transport.quick_acks,
        limited_transmit: transport.limited_transmit,
        prr: reduces && group.protocol.recovery == Recovery::Rack,
        echo_prr: transport.echo_prr,
        rack_rtt_of_highest: transport.rack_rtt == RackRtt::Highest,
        count_dupacks: transport.count_dupacks,
        count_sacks: transport.count_sacks,
        reduce_window: reduces && transport.loss_base == LossBase::Window,
        restart: restart(transport),
        undo: match transport.undo {
            Undo::Off => None,
            Undo::Dsack => Some(Evidence::Dsack),
            Undo::Timestamps => Some(Evidence::Timestamps),
        },
    }
}

/// What windows are after an idle time.
fn restart(transport: &Transport) -> Option<Restart> {
    let decays = match transport.idle_restart {
        IdleRestart::Off => return None,
        IdleRestart::Rfc5681 => false,
        IdleRestart::Rfc2861 => true,
    };
    Some(Restart { window: transport.initial_window as f32, decays })
}

/// A transfer in segments.
struct Transfer {
    segments: Option<u64>,
    last_bytes: u32,
}

impl Transfer {
    fn of(bytes: Option<u64>, packet_bytes: u32) -> Transfer {
        let Some(bytes) = bytes else {
            return Transfer { segments: None, last_bytes: packet_bytes };
        };
        let full = u64::from(packet_bytes);
        let segments = bytes.div_ceil(full).max(1);
        let last = bytes.max(1) - (segments - 1) * full;
        Transfer { segments: Some(segments), last_bytes: last as u32 }
    }
}

//! What one flow's sender and the routers on its way knew at an instant, as facts; python/clearpipe
//! puts them into words. The run is repeated up to that instant with the flow watched.

use std::fmt;

use cc::registry::{AnyHeader, ProtocolInfo, protocols, queues};
use cc::roles::{Ecn, EcnUse, Limit, LossKind, Variable};
use scenario::{RouterPart, Scenario};
use serde::Serialize;
use units::{Span, Time};

use crate::observe::watch::{AckSeen, LinkSeen, LossSeen, PacketSeen, Watch};
use crate::world::World;
use crate::world::branch::Refused;
use crate::world::pause::hold_source;
use crate::{Progress, Run, WATCH_EVENTS};

/// A flow at an instant. Units are in the names.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Facts {
    /// The instant; everything up to and with it has happened.
    pub at_s: f64,
    /// The flow's number.
    pub flow: u32,
    /// Its group.
    pub group: String,
    /// Its protocol's name in the scenario.
    pub protocol: String,
    /// Its protocol's name in the registry.
    pub kind: &'static str,
    /// `waiting` for its start, `running`, `stopped` (no new data, what is out is not all
    /// acknowledged), or `finished`.
    pub phase: &'static str,
    /// When it starts or started.
    pub start_s: f64,
    /// When its source stops offering new data, if it does.
    pub stop_s: Option<f64>,
    /// When all its data was acknowledged.
    pub finish_s: Option<f64>,
    /// Congestion window.
    pub cwnd_pkts: f64,
    /// In the network, as the loss recovery estimates it.
    pub in_flight_pkts: u32,
    /// Sent and not cumulatively acknowledged.
    pub outstanding_pkts: u64,
    /// The first segment not acknowledged.
    pub una_pkts: u64,
    /// Smoothed RTT.
    pub srtt_s: Option<f64>,
    /// Smallest RTT.
    pub min_rtt_s: Option<f64>,
    /// Retransmission timeout.
    pub rto_s: f64,
    /// Is fast recovery under way?
    pub recovering: bool,
    /// The rate at which packets are spaced, if they are.
    pub pacing_bps: Option<f64>,
    /// Data packets sent.
    pub sent_pkts: u64,
    /// Of those, retransmissions.
    pub retransmitted_pkts: u64,
    /// When the last one was sent.
    pub last_sent_s: Option<f64>,
    /// Retransmission timeouts so far.
    pub timeouts: u32,
    /// When the retransmission timer runs out, unless an ACK comes before.
    pub retransmission_timer_s: Option<f64>,
    /// When the protocol's own timer is due.
    pub protocol_timer_s: Option<f64>,
    /// When the pacer lets the next packet out.
    pub pacer_s: Option<f64>,
    /// What the protocol is doing, in words.
    pub words: Vec<String>,
    /// The sender's inner variables.
    pub variables: Vec<Shown>,
    /// The last ACK that reached the sender.
    pub last_ack: Option<AckFacts>,
    /// The last sign of congestion.
    pub last_loss: Option<LossFacts>,
    /// The links on the data's path, in order.
    pub links: Vec<LinkFacts>,
}

/// A variable or a header's field.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shown {
    /// The paper's symbol in ASCII.
    pub name: &'static str,
    /// Its value; `None` stands for infinity, or for what is not a number.
    pub value: Option<f64>,
    /// Its unit; empty for a pure number.
    pub unit: &'static str,
    /// What it means.
    pub doc: &'static str,
}

/// The two ECN bits, and what the protocol calls them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Code {
    /// 0 to 3.
    pub bits: u8,
    /// In a word or two.
    pub name: &'static str,
}

/// An ACK, and what it changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AckFacts {
    /// When it came.
    pub at_s: f64,
    /// The last segment that it acknowledged in order; `None`: not even the first.
    pub segment: Option<u64>,
    /// Segments that its number moved over.
    pub acked_pkts: u64,
    /// Did it carry SACK blocks?
    pub sack: bool,
    /// Its RTT sample; none if its data was sent twice.
    pub rtt_s: Option<f64>,
    /// Did it echo congestion (RFC 3168)? `None`: the protocol does not use that.
    pub ece: Option<bool>,
    /// The code it brought back, if the protocol's codes are the ECN bits.
    pub code: Option<Code>,
    /// The header it brought back.
    pub header: Vec<Shown>,
    /// The window before it.
    pub cwnd_before_pkts: f64,
    /// The window after it.
    pub cwnd_after_pkts: f64,
    /// In flight before it.
    pub in_flight_before_pkts: u32,
    /// In flight after it and after what was sent upon it.
    pub in_flight_after_pkts: u32,
}

/// A sign of congestion.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LossFacts {
    /// When the sender noticed it.
    pub at_s: f64,
    /// `fast retransmit`, `timeout` or `ECN echo`.
    pub kind: &'static str,
    /// Packets taken for lost, where the event says.
    pub lost_pkts: Option<u32>,
    /// The window before it.
    pub cwnd_before_pkts: f64,
    /// The window after it.
    pub cwnd_after_pkts: f64,
}

/// A link on the data's path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkFacts {
    /// Its name.
    pub name: String,
    /// The registry's names of what is in its queue: the feedback, if any, and the policy.
    pub kinds: Vec<&'static str>,
    /// Capacity at that time; 0 in an outage.
    pub rate_bps: f64,
    /// Packets waiting.
    pub queue_pkts: u32,
    /// Bytes waiting.
    pub queue_bytes: u64,
    /// What waits over the buffer's limit.
    pub buffer_ratio: f64,
    /// The flow's packets among them.
    pub own_pkts: u64,
    /// Packets dropped here so far, all flows'.
    pub drops_pkts: u64,
    /// Packets that the line has lost so far, all flows'.
    pub losses_pkts: u64,
    /// What the routers are doing, in words.
    pub words: Vec<String>,
    /// The routers' inner variables.
    pub variables: Vec<Shown>,
    /// The flow's last data packet that left the queue or was dropped here.
    pub last_packet: Option<PacketFacts>,
}

/// A data packet at a link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PacketFacts {
    /// Its segment.
    pub segment: u64,
    /// Was its data sent before?
    pub retransmission: bool,
    /// When it came.
    pub arrived_s: f64,
    /// What waited when it came.
    pub met_pkts: u32,
    /// When its first bit went out; `None`: it was dropped.
    pub served_s: Option<f64>,
    /// Did the line lose it?
    pub lost: bool,
    /// How long it waited.
    pub queued_s: Option<f64>,
    /// Did this link change its ECN bits?
    pub marked: bool,
    /// Its ECN bits when it came; `None` if a mark on arrival has overwritten them.
    pub code_before: Option<Code>,
    /// Its ECN bits when it left.
    pub code_after: Code,
    /// Its header when it came.
    pub header_before: Vec<Shown>,
    /// Its header when it left.
    pub header_after: Vec<Shown>,
}

/// Runs a scenario in replication `rep` of the experiment `seed` up to `at` and tells of `flow`.
/// `watch` is called every [`WATCH_EVENTS`] events; `Ok(None)` when it stops the run by returning
/// false.
///
/// # Errors
/// [`Refused`] with the key `flow` or `at` when there is no such flow or the run ends before.
pub fn explain(
    scenario: &Scenario,
    (seed, rep): (u64, u64),
    (flow, at): (u32, Time),
    watch: &mut dyn FnMut(Progress) -> bool,
) -> Result<Option<Facts>, Refused> {
    let refused = |key: &str, reason| Err(Refused { key: key.into(), reason });
    let end = Time::ZERO + scenario.duration;
    if at > end {
        let reason = format!("{at} is beyond the run (allowed: 0 s to {end})");
        return refused("at", reason);
    }
    if !scenario.islands.is_empty() {
        let reason = "packets cross islands inside others, which explain does not follow";
        return refused("islands", reason.to_owned());
    }
    let mut run = Run::new(scenario, seed, rep);
    let flows = run.world.sources.len();
    if flow as usize >= flows {
        let allowed = match flows {
            0 => {
                "all flows of the scenario arrive, and such a flow has no number before".to_owned()
            }
            _ => format!("allowed: 0 to {}", flows - 1),
        };
        return refused("flow", format!("there is no flow {flow} ({allowed})"));
    }
    run.world.watch(flow);
    run.pause_at(at);
    while run.advance(WATCH_EVENTS) {
        if !watch(run.progress()) {
            return Ok(None);
        }
    }
    if let Some(error) = run.error() {
        return refused("at", error);
    }
    Ok(run
        .world
        .probes
        .watch
        .take()
        .map(|seen| Teller { scenario, run: &run, seen: &seen }.facts(at)))
}

impl World {
    /// Watches a flow from the start.
    fn watch(&mut self, flow: u32) {
        let source = &mut self.sources[flow as usize];
        hold_source(source, false);
        let links = &self.paths[source.group as usize].forward;
        for &link in links {
            self.links[link as usize].plain = false;
        }
        self.probes.watch = Some(Box::new(Watch::new(flow, source, links)));
    }
}

struct Teller<'a> {
    scenario: &'a Scenario,
    run: &'a Run<'a>,
    seen: &'a Watch,
}

impl Teller<'_> {
    fn facts(&self, at: Time) -> Facts {
        let world = &self.run.world;
        let flow = self.seen.flow;
        let (source, annals) = (&world.sources[flow as usize], &world.annals[flow as usize]);
        let group = &self.scenario.groups[source.group as usize];
        let info = protocols().find(|info| info.name == group.protocol.kind);
        let outbound = &source.outbound;
        let stopped = annals.stop <= at;
        Facts {
            at_s: at.as_secs(),
            flow,
            group: group.name.clone(),
            protocol: group.protocol.name.clone(),
            kind: group.protocol.kind,
            phase: match (source.started, annals.finish, stopped) {
                (false, ..) => "waiting",
                (true, Some(_), _) => "finished",
                (true, None, true) => "stopped",
                (true, None, false) => "running",
            },
            start_s: annals.start.as_secs(),
            stop_s: secs(annals.stop),
            finish_s: annals.finish.map(Time::as_secs),
            cwnd_pkts: source.sender.cwnd(),
            in_flight_pkts: outbound.in_flight(),
            outstanding_pkts: outbound.outstanding(),
            una_pkts: outbound.una(),
            srtt_s: outbound.srtt().map(Span::as_secs),
            min_rtt_s: outbound.min_rtt().map(Span::as_secs),
            rto_s: outbound.rto().as_secs(),
            recovering: outbound.recovering(),
            pacing_bps: source.sender.pacing().map(units::Rate::as_bps),
            sent_pkts: source.sent,
            retransmitted_pkts: outbound.retransmitted(),
            last_sent_s: self.seen.sent_at.map(Time::as_secs),
            timeouts: outbound.timeouts(),
            retransmission_timer_s: secs(outbound.deadline()),
            protocol_timer_s: secs(source.sender.next_timer()),
            pacer_s: secs(source.pace_armed),
            words: said(|out| source.sender.describe(out)),
            variables: shown(info.map_or(&[], |i| i.variables), |sink| {
                source.sender.probe(&mut |name, value| sink(name, value))
            }),
            last_ack: self.seen.ack.as_ref().map(|ack| self.ack(ack, source.ecn, info.as_ref())),
            last_loss: self.seen.loss.as_ref().map(loss),
            links: self
                .seen
                .links
                .iter()
                .map(|link| self.link(link, source.ecn, info.as_ref()))
                .collect(),
        }
    }

    fn ack(&self, ack: &AckSeen, ecn: EcnUse, info: Option<&ProtocolInfo>) -> AckFacts {
        AckFacts {
            at_s: ack.at.as_secs(),
            segment: ack.cumulative.checked_sub(1),
            acked_pkts: ack.after.una - ack.before.una,
            sack: ack.sack,
            rtt_s: ack.rtt.map(Span::as_secs),
            ece: (ecn == EcnUse::Classic).then_some(ack.ece),
            code: matches!(ecn, EcnUse::Codes(_)).then(|| code(ack.code, ecn, &ack.header)),
            header: header(&ack.header, info),
            cwnd_before_pkts: ack.before.cwnd,
            cwnd_after_pkts: ack.after.cwnd,
            in_flight_before_pkts: ack.before.in_flight,
            in_flight_after_pkts: ack.after.in_flight,
        }
    }

    fn link(&self, seen: &LinkSeen, ecn: EcnUse, info: Option<&ProtocolInfo>) -> LinkFacts {
        let world = &self.run.world;
        let link = &world.links[seen.link as usize];
        let named = &self.scenario.links[seen.link as usize];
        let backlog = link.queue.backlog();
        let parts: Vec<&RouterPart> =
            named.queue.feedback.iter().chain([&named.queue.policy]).collect();
        let (mut words, mut variables) = (Vec::new(), Vec::new());
        let routers = [&link.routers.feedback, &link.routers.policy];
        let feedback = named.queue.feedback.as_ref();
        for (router, part) in routers.into_iter().zip([feedback, Some(&named.queue.policy)]) {
            if let (Some(router), Some(part)) = (router, part) {
                words.extend(said(|out| router.describe(out)));
                let info = queues().find(|info| info.name == part.kind);
                variables.extend(shown(info.map_or(&[], |i| i.variables), |sink| {
                    router.probe(&mut |name, value| sink(name, value))
                }));
            }
        }
        let own = |handle: u32| world.pool[handle].flow == self.seen.flow;
        LinkFacts {
            name: named.name.clone(),
            kinds: parts.iter().map(|part| part.kind).collect(),
            rate_bps: link.rate_at(world.end),
            queue_pkts: backlog.packets,
            queue_bytes: backlog.bytes,
            buffer_ratio: match named.limit {
                Limit::Bytes(limit) => backlog.bytes as f64 / limit.max(1) as f64,
                Limit::Packets(limit) => f64::from(backlog.packets) / f64::from(limit.max(1)),
            },
            own_pkts: link.queue.iter().filter(|waiting| own(waiting.handle)).count() as u64,
            drops_pkts: link.counts.drops,
            losses_pkts: link.counts.lost,
            words,
            variables,
            last_packet: seen.last.as_ref().map(|last| packet(last, ecn, info)),
        }
    }
}

fn packet(seen: &PacketSeen, ecn: EcnUse, info: Option<&ProtocolInfo>) -> PacketFacts {
    PacketFacts {
        segment: seen.seq,
        retransmission: seen.retransmission,
        arrived_s: seen.arrived.as_secs(),
        met_pkts: seen.met,
        served_s: seen.served.map(|(at, _)| at.as_secs()),
        lost: seen.lost,
        queued_s: seen.served.map(|(_, queued)| queued.as_secs()),
        marked: seen.marked,
        code_before: seen.code_in.map(|bits| code(bits, ecn, &seen.header_in)),
        code_after: code(seen.code_out, ecn, &seen.header_out),
        header_before: header(&seen.header_in, info),
        header_after: header(&seen.header_out, info),
    }
}

fn loss(seen: &LossSeen) -> LossFacts {
    LossFacts {
        at_s: seen.at.as_secs(),
        kind: match seen.kind {
            LossKind::DupAcks => "fast retransmit",
            LossKind::Timeout => "timeout",
            LossKind::EcnEcho => "ECN echo",
        },
        lost_pkts: seen.lost,
        cwnd_before_pkts: seen.before.cwnd,
        cwnd_after_pkts: seen.after.cwnd,
    }
}

fn header(header: &AnyHeader, info: Option<&ProtocolInfo>) -> Vec<Shown> {
    shown(info.map_or(&[], |info| info.header), |sink| {
        header.probe(&mut |name, value| sink(name, value))
    })
}

/// The lines of a description.
fn said(describe: impl FnOnce(&mut dyn fmt::Write) -> fmt::Result) -> Vec<String> {
    let mut text = String::new();
    describe(&mut text).expect("a string takes everything");
    text.lines().map(str::to_owned).collect()
}

/// What a probe gives, beside the table that describes it.
fn shown(table: &[Variable], probe: impl FnOnce(&mut dyn FnMut(&'static str, f64))) -> Vec<Shown> {
    let mut all = Vec::new();
    probe(&mut |name, value| {
        let known = table.iter().find(|variable| variable.name == name);
        let value = value.is_finite().then_some(value);
        let (unit, doc) = known.map_or(("", ""), |known| (known.unit, known.doc));
        all.push(Shown { name, value, unit, doc });
    });
    all
}

fn code(bits: Ecn, ecn: EcnUse, header: &AnyHeader) -> Code {
    let usual = || match (ecn, bits) {
        (_, Ecn::NotCapable) => "not ECN-capable",
        (EcnUse::Codes(_), Ecn::Ect1) => "low load",
        (EcnUse::Codes(_), Ecn::Ect0) => "high load",
        (EcnUse::Codes(_), Ecn::Ce) => "overload",
        (_, Ecn::Ect1 | Ecn::Ect0) => "ECN-capable",
        (_, Ecn::Ce) => "congestion experienced",
    };
    Code { bits: bits as u8, name: header.code(bits).unwrap_or_else(usual) }
}

fn secs(at: Time) -> Option<f64> {
    (at != Time::NEVER).then(|| at.as_secs())
}

//! Going on from a run's state with another scenario: what may change, and what it changes.
//!
//! What has happened stays: a change that would have made it otherwise is refused. Of a link that
//! changes, everything measured stays: XCP's residues, RED's average and the timers that are set.

use scenario::{
    App, Capacity, Group, Line, Link as Named, Queue as NamedQueue, RouterPart, Scenario, Step,
};
use units::{Rate, Span, Time};

use crate::flow::relays;
use crate::link::line as link;
use crate::observe::probe::{self, Ends};
use crate::world::build::{self, Draw};
use crate::world::pause::{hold_sink, hold_source};
use crate::world::{Due, World, arm, event};

/// Why a run does not go on with another scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The key of the resolved scenario.
    pub key: String,
    /// What is wrong with changing it.
    pub reason: String,
}

fn refuse<T>(key: impl Into<String>, reason: impl Into<String>) -> Result<T, Refused> {
    Err(Refused { key: key.into(), reason: reason.into() })
}

/// Refuses unless both are equal.
fn fixed<T: PartialEq>(key: impl Into<String>, old: &T, new: &T) -> Result<(), Refused> {
    if old == new {
        return Ok(());
    }
    refuse(key, "decides about what has already happened")
}

/// May a run of `old` go on as `new` at `at`?
pub fn check(old: &Scenario, new: &Scenario, draw: Draw, at: Time) -> Result<(), Refused> {
    if Time::ZERO + new.duration < at {
        return refuse("duration", format!("{} ends before the branch, at {at}", new.duration));
    }
    fixed("warmup", &old.warmup, &new.warmup)?;
    fixed("seed", &old.seed, &new.seed)?;
    fixed("packets", &old.packets, &new.packets)?;
    fixed("transport", &old.transport, &new.transport)?;
    let names = |s: &Scenario| s.links.iter().map(|l| l.name.clone()).collect::<Vec<_>>();
    fixed("links", &names(old), &names(new))?;
    fixed("islands", &old.islands, &new.islands)?;
    let names = |s: &Scenario| s.groups.iter().map(|g| g.name.clone()).collect::<Vec<_>>();
    fixed("flows", &names(old), &names(new))?;
    for (old, new) in old.links.iter().zip(&new.links) {
        check_link(old, new)?;
    }
    for (old, new) in old.groups.iter().zip(&new.groups) {
        check_group(old, new, draw, at)?;
    }
    Ok(())
}

fn check_link(old: &Named, new: &Named) -> Result<(), Refused> {
    let key = |part: &str| format!("links.{}.{part}", old.name);
    fixed(key("from"), &old.from, &new.from)?;
    fixed(key("to"), &old.to, &new.to)?;
    fixed(key("owd"), &old.owd, &new.owd)?;
    if old.line != new.line {
        return refuse(key("line"), "what the line does is set up at the start");
    }
    if old.device != new.device {
        return refuse(key("device_packets"), "the device is set up at the start");
    }
    if old.rate != new.rate && old.device.is_some() {
        let reason = "a device below the queue has worked out when what it holds leaves";
        return refuse(key("rate"), reason);
    }
    if old.rate != new.rate && old.line != Line::default() {
        return refuse(key("rate"), "a line with steps, losses or the like is set up at the start");
    }
    let kinds = |queue: &NamedQueue| (queue.policy.kind, queue.feedback.as_ref().map(|f| f.kind));
    if kinds(&old.queue) != kinds(&new.queue) {
        let reason = "is of another kind, which knows nothing of what came before; its parameters \
                      may change";
        return refuse(key("queue"), reason);
    }
    if build::service(&old.queue) != build::service(&new.queue) {
        return refuse(format!("queues.{}", new.queue.name), "the order of service is fixed");
    }
    Ok(())
}

fn check_group(old: &Group, new: &Group, draw: Draw, at: Time) -> Result<(), Refused> {
    let key = |part: &str| format!("flows.{}.{part}", old.name);
    let protocol = format!("protocols.{}", new.protocol.name);
    fixed(key("protocol"), &old.protocol.kind, &new.protocol.kind)?;
    fixed(&protocol, &old.protocol.params, &new.protocol.params)?;
    fixed(&protocol, &old.protocol.recovery, &new.protocol.recovery)?;
    fixed(key("count"), &old.count, &new.count)?;
    fixed(key("arrivals"), &old.arrivals, &new.arrivals)?;
    fixed(key("app"), &old.app, &new.app)?;
    fixed(key("path"), &old.path, &new.path)?;
    fixed(key("reverse_path"), &old.reverse, &new.reverse)?;
    fixed(key("access"), &old.access, &new.access)?;
    fixed(key("size"), &old.size, &new.size)?;
    let past = |time: Option<Span>| time.is_some_and(|time| Time::ZERO + time <= at);
    if old.stop != new.stop && (past(old.stop) || past(new.stop)) {
        return refuse(key("stop"), format!("a stop up to the branch, at {at}, is past"));
    }
    if old.arrivals.is_some() && (old.stop != new.stop || old.start != new.start) {
        return refuse(key("stop"), "when flows arrive is set up at the start; so is start");
    }
    if old.app != App::Greedy && (old.stop != new.stop || old.start != new.start) {
        return refuse(key("stop"), "an application's clock is set up at the start; so is start");
    }
    if old.start != new.start {
        let starts = |group: &Group| {
            (0..group.count).map(|i| build::start(group, i, draw)).collect::<Vec<_>>()
        };
        let changed = starts(old).into_iter().zip(starts(new)).filter(|(old, new)| old != new);
        if changed.map(|(old, new)| old.min(new)).any(|start| start <= at) {
            return refuse(key("start"), format!("a start up to the branch, at {at}, is past"));
        }
    }
    Ok(())
}

/// Makes a world of `old`, paused at `at`, one of `new`, which [`check`] allows.
pub fn apply(world: &mut World, old: &Scenario, new: &Scenario, draw: Draw, at: Time) {
    for (i, (before, after)) in old.links.iter().zip(&new.links).enumerate() {
        if before != after {
            change_link(world, (before.rate, new), i, (draw, at));
        }
    }
    let mut flow = 0;
    for (before, after) in old.groups.iter().zip(&new.groups) {
        for i in 0..after.count {
            let started = world.sources[flow as usize].started;
            if before.stop != after.stop || !started && before.start != after.start {
                reschedule(world, flow, build::start(after, i, draw), build::stop(after));
            }
            flow += 1;
        }
    }
    world.apps.set_end(Time::ZERO + new.duration);
    if old.probe != new.probe {
        change_probes(world, new, at);
    }
}

fn change_link(
    world: &mut World,
    (old, new): (Rate, &Scenario),
    i: usize,
    (draw, at): (Draw, Time),
) {
    let (named, link) = (&new.links[i], &mut world.links[i]);
    if old != named.rate {
        // A step at the branch: what was in service then is through as it was worked out.
        let step = Step { at: Span(at.0), rate: named.rate };
        match &mut link.line {
            Some(line) => line.step(step),
            None => {
                let line = Line { capacity: Capacity::Steps(vec![step]), ..Line::default() };
                let streams = build::streams(&named.name, draw);
                link.line = link::Line::new(link.rate, &line, streams).map(Box::new);
            }
        }
        link.plain = false;
    }
    link.queue.set_limit(named.limit);
    let (packets, bytes) = build::limits(new, named.limit);
    link.occupancy.widen(packets, bytes);
    let parts = [named.queue.feedback.as_ref(), Some(&named.queue.policy)];
    let routers = [&mut link.routers.feedback, &mut link.routers.policy];
    for (router, part) in routers.into_iter().zip(parts) {
        if let (Some(router), Some(RouterPart { params, .. })) = (router, part) {
            // The stream is not used: a router keeps its own.
            let context = build::router_context(new, i, Draw { seed: 0, rep: 0 }, "policy");
            let same = router.retune(params, &context);
            debug_assert!(same, "the kinds are the same");
            // Steps and traces may have told them of another capacity since the start.
            let told = link.line.as_ref().map_or(named.rate, |line| line.notices.told());
            if old == named.rate && told != named.rate {
                router.on_capacity(at, told);
            }
        }
    }
    let before = link.next_notice();
    link.set_notices(at);
    let notice = link.next_notice();
    if notice != before && notice != Time::NEVER {
        world.agenda.at(notice, event(Due::Capacity, i as u32));
    }
}

fn reschedule(world: &mut World, flow: u32, start: Time, stop: Option<Time>) {
    let (source, annals) = (&mut world.sources[flow as usize], &mut world.annals[flow as usize]);
    annals.stop = stop.map_or(Time::NEVER, |stop| stop.max(start));
    source.boundary = annals.stop;
    if !source.started {
        annals.start = start;
        source.boundary = start;
    }
    arm(&mut world.agenda, source, flow);
}

fn change_probes(world: &mut World, new: &Scenario, at: Time) {
    world.arrivals.watch(new);
    for (source, sink) in world.sources.iter_mut().zip(&mut world.sinks) {
        let group = source.group as usize;
        if group >= new.groups.len() {
            continue; // a macro-flow
        }
        let (relayed, relays) = relays::ends(new, group);
        hold_source(source, !probe::watches_source(new, group) && !relayed && !relays);
        let at_once = new.transport.delayed_ack.is_none();
        hold_sink(sink, (at_once || sink.reports) && !relayed);
    }
    let ends = Ends { sources: &world.sources, sinks: &world.sinks };
    world.probes.change(new, at, &world.links, ends);
    world.restart_macros();
    if let Some(next) = world.probes.next() {
        world.agenda.at(next, event(Due::Probe, 0));
    }
    for (i, link) in world.links.iter_mut().enumerate() {
        link.plain = link.could_be_plain() && !world.probes.watches_link(i as u32);
    }
    world.probes.start(at, &world.links);
}

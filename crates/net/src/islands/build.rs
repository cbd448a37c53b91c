//! From a scenario's islands to macro-flows that have sent nothing.

use std::collections::VecDeque;

use cc::roles::PacketKind;
use queue::Queue;
use results::metrics::Occupancy;
use scenario::{Crossing, Island, Scenario};
use units::{Rate, Time};

use super::{Cargo, Counts, Islands, Macro, NO_TIME};
use crate::flow::{Access, Annals, Path, Sink, Source};
use crate::islands::gaps::Gaps;
use crate::islands::members::Members;
use crate::observe::fingerprint::Fingerprint;
use crate::packet::NONE;
use crate::world::build::{Birth, Draw, Mould, limits};

/// What the macro-flows add to the world's flows.
#[derive(Debug)]
pub struct Found {
    pub islands: Islands,
    pub ends: Vec<(Source, Sink, Annals)>,
    pub paths: Vec<Path>,
    /// What all of them have for access hops.
    pub access: Access,
}

/// The macro-flows in the order of their numbers, with their islands' numbers.
pub fn crossings(scenario: &Scenario) -> impl Iterator<Item = (usize, &Island, usize, &Crossing)> {
    scenario.islands.iter().enumerate().flat_map(|(number, island)| {
        let crossings = island.crossings.iter().enumerate();
        crossings.map(move |(k, crossing)| (number, island, k, crossing))
    })
}

/// The links that are not plain for an island's sake: its own, and those where its feedback
/// arrives.
pub fn of_island(island: &Island) -> impl Iterator<Item = usize> {
    let last = island.crossings.iter().filter_map(|crossing| crossing.feedback.last());
    island.links.iter().chain(last).copied()
}

/// The islands at time zero; macro-flows are numbered from `first`, and `access` is the number of
/// their access hops.
pub fn found(scenario: &Scenario, (first, access): (u32, u32), draw: Draw) -> Found {
    let (mut macros, mut ends, mut paths) = (Vec::new(), Vec::new(), Vec::new());
    for (number, island, k, crossing) in crossings(scenario) {
        macros.push(border(scenario, island, (number, k)));
        let group = (scenario.groups.len() + paths.len()) as u32;
        ends.push(Mould::carrying(scenario, island, (group, crossing)).carrier(Birth {
            access,
            start: Time::ZERO,
            stop: Time::NEVER,
            bytes: None,
            stream: draw.stream(&format!("island.{}.{k}", island.name)),
            row: NONE,
        }));
        let numbers = |links: &[usize]| links.iter().map(|&link| link as u32).collect();
        let Crossing { path, feedback } = crossing;
        paths.push(Path { forward: numbers(path), reverse: numbers(feedback) });
    }
    let islands = Islands {
        first,
        entries: if macros.is_empty() { Vec::new() } else { entries(scenario, first) },
        cargo: Vec::<Cargo>::new(),
        lost: if macros.is_empty() { Vec::new() } else { vec![None; scenario.links.len()] },
        fingerprint: Fingerprint::default(),
        macros,
    };
    // No line has this rate; nothing asks for it.
    let rate = Rate(u64::MAX);
    let owd = NO_TIME;
    let access =
        Access { rate, source_owd: owd, sink_owd: owd, data_time: NO_TIME, ack_time: NO_TIME };
    Found { islands, ends, paths, access }
}

fn border(scenario: &Scenario, island: &Island, of: (usize, usize)) -> Macro {
    let (packets, bytes) = limits(scenario, island.limit);
    Macro {
        of,
        links: island.crossings[of.1].path.len() as u16,
        outer_bytes: island.outer_bytes,
        queue: Queue::new(cc::classes::Service::Fifo, island.limit, scenario.packets.data_bytes),
        occupancy: Occupancy::new(Time::ZERO + scenario.warmup, packets, bytes),
        gaps: Gaps::new(scenario.transport.dup_thresh),
        members: Members::default(),
        before: None,
        feedback: VecDeque::new(),
        counts: Counts::default(),
    }
}

fn entries(scenario: &Scenario, first: u32) -> Vec<[Vec<(u16, u32)>; 2]> {
    let mut entries = vec![[Vec::new(), Vec::new()]; scenario.groups.len()];
    for (flow, (_, island, _, crossing)) in (first..).zip(crossings(scenario)) {
        for (number, group) in island.mapped(&scenario.groups) {
            for (kind, path) in [(PacketKind::Data, &group.path), (PacketKind::Ack, &group.reverse)]
            {
                let runs = island.runs(path).into_iter();
                let own = runs.filter(|run| path[run.clone()] == crossing.path);
                let places = own.map(|run| (run.start as u16, flow));
                entries[number][usize::from(kind == PacketKind::Ack)].extend(places);
            }
        }
    }
    entries
}

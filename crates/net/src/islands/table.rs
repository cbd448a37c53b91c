//! The table of the macro-flows.

use cc::roles::Limit;
use results::MacroRow;
use scenario::Scenario;
use units::{Span, Time};

use super::{Macro, crossings};
use crate::world::World;

/// One row per macro-flow of a run that ended at `end`; `waiting` has the packets and
/// acknowledgements of each flow that are on their way.
pub fn rows(
    scenario: &Scenario,
    world: &mut World,
    waiting: &[(u64, u64)],
    end: Time,
) -> Vec<MacroRow> {
    let numbers: Vec<(usize, usize)> = world.islands.macros.iter().map(|own| own.of).collect();
    debug_assert_eq!(numbers.len(), crossings(scenario).count());
    let first = world.islands.first;
    (first..)
        .zip(numbers)
        .map(|(flow, of)| row(scenario, world, (flow, of), waiting, end))
        .collect()
}

fn row(
    scenario: &Scenario,
    world: &mut World,
    (flow, (island, crossing)): (u32, (usize, usize)),
    waiting: &[(u64, u64)],
    end: Time,
) -> MacroRow {
    let island = &scenario.islands[island];
    let way = &island.crossings[crossing];
    let number = flow as usize;
    let (source, sink) = (&world.sources[number], &world.sinks[number]);
    let annals = &world.annals[number];
    let own: &mut Macro = world.islands.own(flow);
    let queue = own.occupancy.finish(end);
    let counts = own.counts;
    let share = match island.limit {
        Limit::Bytes(bytes) => queue.mean_bytes / bytes.max(1) as f64,
        Limit::Packets(packets) => queue.mean_packets / f64::from(packets.max(1)),
    };
    let links = way.path.iter().chain(&way.feedback);
    let base_rtt = links.fold(Span::ZERO, |sum, &link| sum + scenario.links[link].owd);
    let node = |link: Option<&usize>, of: fn(&scenario::Link) -> &String| {
        link.map_or_else(String::new, |&link| of(&scenario.links[link]).clone())
    };
    let seconds = end.since(world.warmup).as_secs();
    let released = counts.fresh_released;
    MacroRow {
        flow,
        island: island.name.clone(),
        protocol: island.protocol.name.clone(),
        ingress: node(way.path.first(), |link| &link.from),
        egress: node(way.path.last(), |link| &link.to),
        base_rtt_s: base_rtt.as_secs(),
        arrivals_pkts: counts.arrivals,
        queue_drops_pkts: counts.drops,
        queued_end_pkts: u64::from(own.queue.backlog().packets),
        sent_pkts: source.sent,
        arrived_pkts: sink.arrived,
        delivered_bytes: counts.delivered_bytes,
        dropped_pkts: annals.dropped,
        lost_pkts: annals.lost,
        in_flight_pkts: waiting[number].0,
        acks_sent_pkts: sink.acks_sent,
        acks_arrived_pkts: source.acks_arrived,
        acks_dropped_pkts: annals.acks_dropped,
        acks_lost_pkts: annals.acks_lost,
        acks_in_flight_pkts: waiting[number].1,
        goodput_bps: ratio(counts.fresh_bytes as f64 * 8.0, seconds),
        queue_drop_ratio: ratio(counts.fresh_drops as f64, counts.fresh_arrivals as f64),
        queue_mean_pkts: queue.mean_packets,
        queue_mean_ratio: share,
        queue_p90_pkts: queue.p90_packets as f64,
        queue_max_pkts: queue.max_packets,
        wait_mean_s: (released > 0).then(|| counts.fresh_wait as f64 * 1e-12 / released as f64),
        loss_events: counts.loss_events,
        timeouts: u64::from(source.outbound.timeouts()),
        cwnd_pkts: source.sender.cwnd(),
        srtt_s: source.outbound.srtt().map(Span::as_secs),
        min_rtt_s: source.outbound.min_rtt().map(Span::as_secs),
    }
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

//! From a run's state to the result tables.

use std::sync::Arc;

use cc::roles::{Limit, PacketKind};
use results::{FlowRow, GroupRow, LinkRow, Tables};
use scenario::Scenario;
use units::{Span, Time};

use crate::flow::Source;
use crate::islands;
use crate::link::{Counts, Link};
use crate::packet::{Packet, Pool};
use crate::world::World;

/// The tables of a run that ended at `end`.
pub fn tables(scenario: &Scenario, world: &mut World, end: Time) -> Tables {
    let mut waiting = in_flight(world);
    // A packet that the line will lose is not lost before its last bit has left.
    for (flow, kind) in losing(world, end) {
        let annals = &mut world.annals[flow as usize];
        let (data, acks) = &mut waiting[flow as usize];
        let (lost, found) = match kind {
            PacketKind::Data => (&mut annals.lost, data),
            PacketKind::Ack => (&mut annals.acks_lost, acks),
        };
        *lost -= 1;
        *found += 1;
    }
    let links = (0..world.links.len())
        .map(|i| {
            link_row(scenario, i, &mut world.links[i], (world.at_warmup[i], world.warmup, end))
        })
        .collect();
    let mut flows = Vec::with_capacity(world.sources.len());
    for group in &scenario.groups {
        // One name for all rows of a group.
        let (name, protocol): (Arc<str>, Arc<str>) =
            (group.name.as_str().into(), group.protocol.name.as_str().into());
        for i in 0..group.count {
            let number = flows.len();
            let mut row = flow_row(world, number, end);
            (row.group, row.protocol) = (name.clone(), protocol.clone());
            row.base_rtt_s = scenario.rtt(group, i).as_secs();
            (row.in_flight_pkts, row.acks_in_flight_pkts) = waiting[number];
            flows.push(row);
        }
    }
    let groups = groups(scenario, world, &flows, &waiting, end);
    let macroflows = islands::rows(scenario, world, &waiting, end);
    let transfers = world.arrivals.any().then(|| std::mem::take(&mut world.arrivals.transfers));
    Tables { flows, links, groups, transfers, macroflows, series: world.probes.finish() }
}

/// Why a run was given up that has too many packets on their way.
pub fn crowded(scenario: &Scenario, world: &World) -> String {
    let out = |source: &Source| source.outbound.outstanding();
    let (flow, source) =
        world.sources.iter().enumerate().max_by_key(|(_, source)| out(source)).expect("a flow");
    let (group, most) = (&scenario.groups[source.group as usize].name, world.pool.limit);
    format!(
        "at {:.3} s more than {most} packets are on their way, which a run may have; {} of them belong to flow \
         {flow} (group {group:?}), whose window is {:.0} packets",
        world.agenda.now().as_secs(),
        out(source),
        source.sender.cwnd(),
    )
}

/// Whose packets the lines will lose that are in service at `end`, and what they are; with a
/// macro-flow's the one that it carries.
fn losing(world: &World, end: Time) -> Vec<(u32, PacketKind)> {
    let links = world.links.iter().enumerate();
    let losing = links.flat_map(|(i, link)| link.losing(end).map(move |packet| (i, packet)));
    losing
        .flat_map(|(i, (flow, kind))| {
            let carries = world.islands.owns(flow) && kind == PacketKind::Data;
            let carried = world.islands.lost_last(i).filter(|_| carries);
            std::iter::once((flow, kind)).chain(carried)
        })
        .collect()
}

/// One row per group; writes down what has become of the transfers that are under way.
fn groups(
    scenario: &Scenario,
    world: &mut World,
    flows: &[FlowRow],
    waiting: &[(u64, u64)],
    end: Time,
) -> Vec<GroupRow> {
    let mut sums = std::mem::take(&mut world.arrivals.gone);
    sums.resize_with(scenario.groups.len(), Default::default);
    let mut times = vec![Vec::new(); sums.len()];
    for number in 0..world.sources.len() {
        if !world.sources[number].started {
            continue; // yet to start, or a slot that no flow lives in
        }
        let sum = &mut sums[world.sources[number].group as usize];
        sum.fresh_bytes += world.sinks[number].fresh_bytes;
        if let Some(row) = flows.get(number) {
            sum.row.add(row);
            continue;
        }
        let mut row = flow_row(world, number, end);
        (row.in_flight_pkts, row.acks_in_flight_pkts) = waiting[number];
        sum.row.add(&row);
        note_transfer(world, number);
    }
    let warmup_s = world.warmup.as_secs();
    for (number, row) in flows.iter().enumerate().filter(|(_, row)| row.start_s >= warmup_s) {
        times[world.sources[number].group as usize].extend(row.fct_s);
    }
    for (group, start_s, fct_s) in world.arrivals.transfers.finished() {
        if start_s >= warmup_s {
            times[group as usize].push(fct_s);
        }
    }
    let seconds = end.since(world.warmup).as_secs();
    let rows = sums.into_iter().zip(times).zip(&scenario.groups);
    rows.map(|((sum, times), group)| {
        let mut row = sum.row;
        row.group.clone_from(&group.name);
        row.protocol.clone_from(&group.protocol.name);
        row.goodput_bps = ratio(sum.fresh_bytes as f64 * 8.0, seconds);
        row.set_fct(times);
        row
    })
    .collect()
}

/// Writes down what has become of the transfer of an arriving flow.
pub fn note_transfer(world: &mut World, number: usize) {
    let annals = &world.annals[number];
    let transfers = &mut world.arrivals.transfers;
    let row = annals.row as usize;
    if let Some(finish) = annals.finish {
        transfers.fct_s[row] = finish.since(annals.start).as_secs();
    }
    let again = world.sources[number].outbound.retransmitted();
    transfers.retransmitted_pkts[row] = u32::try_from(again).unwrap_or(u32::MAX);
}

/// Data packets and ACKs of each flow on the way, found by walking all queues and delay lines.
fn in_flight(world: &World) -> Vec<(u64, u64)> {
    let mut found = vec![(0, 0); world.sources.len()];
    let mut count = |packet: &Packet| {
        let (data, acks) = &mut found[packet.flow as usize];
        match packet.kind {
            PacketKind::Data => *data += 1,
            PacketKind::Ack => *acks += 1,
        }
    };
    let pool: &Pool = &world.pool;
    for link in &world.links {
        link.queue.iter().for_each(|waiting| count(&pool[waiting.handle]));
        link.pipe.iter(pool).for_each(&mut count);
        let crossing = link.line.iter().filter_map(|line| line.crossing.as_ref());
        crossing.for_each(|line| line.iter().for_each(|id| count(&pool[id])));
    }
    for (source, sink) in world.sources.iter().zip(&world.sinks) {
        for pipe in [&source.up, source.ack_down.packets(), sink.down.packets(), &sink.ack_up] {
            pipe.iter(pool).for_each(&mut count);
        }
    }
    world.islands.held(pool).for_each(&mut count);
    found
}

/// The row of the `i`-th link, from the counts at the warm-up's end on.
pub fn link_row(
    scenario: &Scenario,
    i: usize,
    link: &mut Link,
    (before, warmup, end): (Counts, Time, Time),
) -> LinkRow {
    let named = &scenario.links[i];
    let queue = link.occupancy.finish(end);
    let total = link.departed(end);
    let buffer_bytes = match named.limit {
        Limit::Bytes(bytes) => bytes,
        Limit::Packets(packets) => u64::from(packets) * u64::from(scenario.packets.data_bytes),
    };
    let share = |mean_packets: f64, mean_bytes: f64| match named.limit {
        Limit::Bytes(bytes) => mean_bytes / bytes.max(1) as f64,
        Limit::Packets(packets) => mean_packets / f64::from(packets.max(1)),
    };
    let arrivals = total.arrivals - before.arrivals;
    let drops = total.drops - before.drops;
    let departures_bytes = total.served_bytes - before.served_bytes;
    let capacity_bits = link.capacity_bits(warmup, end);
    let sent_bits = total.bits_since(&before);
    LinkRow {
        link: i as u32,
        name: named.name.clone(),
        queue: named.queue.name.clone(),
        rate_bps: named.rate.as_bps(),
        owd_s: named.owd.as_secs(),
        buffer_bytes,
        arrivals_pkts: arrivals,
        drops_pkts: drops,
        data_drops_pkts: total.data_drops - before.data_drops,
        marks_pkts: total.marks - before.marks,
        departures_pkts: total.served - before.served,
        departures_bytes,
        lost_pkts: total.lost - before.lost,
        utilization_ratio: ratio(sent_bits, capacity_bits),
        drop_ratio: ratio(drops as f64, arrivals as f64),
        queue_mean_pkts: queue.mean_packets,
        queue_mean_bytes: queue.mean_bytes,
        queue_mean_ratio: share(queue.mean_packets, queue.mean_bytes),
        queue_p90_pkts: queue.p90_packets as f64,
        queue_p90_ratio: share(queue.p90_packets as f64, queue.p90_bytes as f64),
        queue_max_pkts: queue.max_packets,
        queue_max_bytes: queue.max_bytes,
        total_arrivals_pkts: total.arrivals,
        total_drops_pkts: total.drops,
        total_data_drops_pkts: total.data_drops,
        total_marks_pkts: total.marks,
        total_departures_pkts: total.served,
        total_lost_pkts: total.lost,
        queued_end_pkts: u64::from(link.queue.backlog().packets) + link.unfinished(end),
    }
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

pub fn flow_row(world: &World, number: usize, end: Time) -> FlowRow {
    let (source, sink) = (&world.sources[number], &world.sinks[number]);
    let annals = &world.annals[number];
    let outbound = &source.outbound;
    let from = annals.start.max(world.warmup);
    let active = annals.finish.unwrap_or(end).min(end).since(from);
    FlowRow {
        flow: number as u32,
        start_s: annals.start.as_secs(),
        stop_s: (annals.stop != Time::NEVER).then(|| annals.stop.as_secs()),
        finish_s: annals.finish.map(Time::as_secs),
        fct_s: annals.finish.map(|finish| finish.since(annals.start).as_secs()),
        sent_pkts: source.sent,
        retransmitted_pkts: outbound.retransmitted(),
        arrived_pkts: sink.arrived,
        delivered_pkts: sink.inbound.delivered(),
        delivered_bytes: sink.delivered_bytes,
        dropped_pkts: annals.dropped,
        lost_pkts: annals.lost,
        acks_sent_pkts: sink.acks_sent,
        acks_arrived_pkts: source.acks_arrived,
        acks_dropped_pkts: annals.acks_dropped,
        acks_lost_pkts: annals.acks_lost,
        goodput_bps: ratio(sink.fresh_bytes as f64 * 8.0, active.as_secs()),
        timeouts: u64::from(outbound.timeouts()),
        fast_retransmits: u64::from(outbound.fast_retransmits()),
        srtt_s: outbound.srtt().map(Span::as_secs),
        min_rtt_s: outbound.min_rtt().map(Span::as_secs),
        ..FlowRow::default()
    }
}

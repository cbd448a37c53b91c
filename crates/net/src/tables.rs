//! From a run's state to the result tables.

use cc::roles::{Limit, PacketKind};
use results::{FlowRow, LinkRow, Tables};
use scenario::Scenario;
use units::{Span, Time};

use crate::packet::{Packet, Pool};
use crate::world::World;

/// The tables of a run that ended at `end`.
pub fn tables(scenario: &Scenario, world: &mut World, end: Time) -> Tables {
    let waiting = in_flight(world);
    let links = (0..world.links.len()).map(|i| link_row(scenario, world, i, end)).collect();
    let mut flows = Vec::with_capacity(world.sources.len());
    for group in &scenario.groups {
        for i in 0..group.count {
            let number = flows.len();
            let mut row = flow_row(world, number, end);
            row.group.clone_from(&group.name);
            row.protocol.clone_from(&group.protocol.name);
            row.base_rtt_s = scenario.rtt(group, i).as_secs();
            (row.in_flight_pkts, row.acks_in_flight_pkts) = waiting[number];
            flows.push(row);
        }
    }
    Tables { flows, links, series: world.probes.finish() }
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
    }
    for (source, sink) in world.sources.iter().zip(&world.sinks) {
        for pipe in [&source.up, &source.ack_down, &sink.down, &sink.ack_up] {
            pipe.iter(pool).for_each(&mut count);
        }
    }
    found
}

fn link_row(scenario: &Scenario, world: &mut World, i: usize, end: Time) -> LinkRow {
    let named = &scenario.links[i];
    let link = &mut world.links[i];
    let queue = link.occupancy.finish(end);
    let total = link.departed(end);
    let before = world.at_warmup[i];
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
    let capacity_bits = link.capacity_bits(world.warmup, end);
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
        utilization_ratio: ratio(departures_bytes as f64 * 8.0, capacity_bits),
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
        queued_end_pkts: u64::from(link.queue.backlog().packets) + u64::from(link.busy_until > end),
    }
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

fn flow_row(world: &World, number: usize, end: Time) -> FlowRow {
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
        acks_sent_pkts: sink.acks_sent,
        acks_arrived_pkts: source.acks_arrived,
        acks_dropped_pkts: annals.acks_dropped,
        goodput_bps: ratio(sink.fresh_bytes as f64 * 8.0, active.as_secs()),
        timeouts: u64::from(outbound.timeouts()),
        fast_retransmits: u64::from(outbound.fast_retransmits()),
        srtt_s: outbound.srtt().map(Span::as_secs),
        min_rtt_s: outbound.min_rtt().map(Span::as_secs),
        ..FlowRow::default()
    }
}

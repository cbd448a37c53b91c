//! From what emulator and flows counted to the result tables that every engine fills.
//!
//! Bytes are bytes on the wire, as everywhere: what arrived as payload is multiplied by the part
//! that headers had of the packets that arrived. Fast retransmits are not told by TCP_INFO and
//! stand at 0.

use std::sync::Arc;

use results::{FlowRow, GroupRow, Series, SeriesOf, Tables};
use scenario::Scenario;

use crate::network::FlowCounts;
use crate::realtime::EmulatorReport;
use crate::traffic::{FlowReport, Point, TrafficReport};

/// The tables of a run.
pub fn tables(
    scenario: &Scenario,
    emulator: EmulatorReport,
    traffic: &TrafficReport,
    starts: &[f64],
) -> Tables {
    let end = emulator.network.simulated_s;
    let warmup = scenario.warmup.as_secs();
    let counts = &emulator.network.flows;
    let mut flows = Vec::new();
    let mut groups = Vec::new();
    for group in &scenario.groups {
        let name: Arc<str> = group.name.as_str().into();
        let protocol: Arc<str> = group.protocol.name.as_str().into();
        let mut row = GroupRow {
            group: group.name.clone(),
            protocol: group.protocol.name.clone(),
            ..GroupRow::default()
        };
        let mut fresh = 0.0;
        let mut times = Vec::new();
        for i in 0..group.count {
            let number = flows.len();
            let count = counts.get(number).copied().unwrap_or_default();
            let empty = FlowReport::default();
            let seen = traffic.flows.get(number).unwrap_or(&empty);
            let planned = starts.get(number).copied().unwrap_or_default();
            let mut flow = flow_row((number, planned), seen, count, (warmup, end));
            (flow.group, flow.protocol) = (name.clone(), protocol.clone());
            flow.base_rtt_s = scenario.rtt(group, i).as_secs();
            flow.stop_s = group.stop.map(units::Span::as_secs);
            if seen.start_s.is_some() {
                row.add(&flow);
            }
            fresh += fresh_bytes(seen, count);
            if flow.start_s >= warmup {
                times.extend(flow.fct_s);
            }
            flows.push(flow);
        }
        row.goodput_bps = if end > warmup { fresh * 8.0 / (end - warmup) } else { 0.0 };
        row.set_fct(times);
        groups.push(row);
    }
    let mut series = emulator.network.series;
    series.extend(flow_series(traffic, counts));
    Tables {
        flows,
        links: emulator.network.links,
        groups,
        transfers: None,
        macroflows: Vec::new(),
        series,
    }
}

/// Bytes on the wire for each byte of payload.
fn wire_share(counts: FlowCounts) -> f64 {
    if counts.arrived_payload_bytes == 0 {
        return 1.0;
    }
    counts.arrived_bytes as f64 / counts.arrived_payload_bytes as f64
}

/// What arrived for the first time after the warm-up [bytes on the wire].
fn fresh_bytes(seen: &FlowReport, counts: FlowCounts) -> f64 {
    (seen.received_bytes - seen.received_at_warmup_bytes) as f64 * wire_share(counts)
}

fn flow_row(
    (number, planned): (usize, f64),
    seen: &FlowReport,
    counts: FlowCounts,
    (warmup, end): (f64, f64),
) -> FlowRow {
    let start_s = seen.start_s.unwrap_or(planned);
    let finish_s = seen.finish_s.filter(|finish| *finish <= end);
    let active = finish_s.unwrap_or(end) - start_s.max(warmup);
    let wire = wire_share(counts);
    let payload = counts.arrived_payload_bytes as f64 / counts.arrived_pkts.max(1) as f64;
    let left = |sent: u64, others: [u64; 3]| sent.saturating_sub(others.iter().sum());
    let rtt = |rtt: f64| (rtt > 0.0).then_some(rtt);
    FlowRow {
        flow: number as u32,
        start_s,
        finish_s,
        fct_s: finish_s.map(|finish| finish - start_s),
        sent_pkts: counts.sent_pkts,
        retransmitted_pkts: seen.info.retransmitted_pkts,
        arrived_pkts: counts.arrived_pkts,
        delivered_pkts: if payload > 0.0 {
            (seen.received_bytes as f64 / payload).round() as u64
        } else {
            0
        },
        delivered_bytes: (seen.received_bytes as f64 * wire).round() as u64,
        dropped_pkts: counts.dropped_pkts,
        lost_pkts: counts.lost_pkts,
        in_flight_pkts: left(
            counts.sent_pkts,
            [counts.arrived_pkts, counts.dropped_pkts, counts.lost_pkts],
        ),
        acks_sent_pkts: counts.acks_sent_pkts,
        acks_arrived_pkts: counts.acks_arrived_pkts,
        acks_dropped_pkts: counts.acks_dropped_pkts,
        acks_lost_pkts: counts.acks_lost_pkts,
        acks_in_flight_pkts: left(
            counts.acks_sent_pkts,
            [counts.acks_arrived_pkts, counts.acks_dropped_pkts, counts.acks_lost_pkts],
        ),
        goodput_bps: if active > 0.0 { fresh_bytes(seen, counts) * 8.0 / active } else { 0.0 },
        timeouts: seen.info.timeouts,
        fast_retransmits: 0,
        srtt_s: rtt(seen.info.srtt_s),
        min_rtt_s: rtt(seen.info.min_rtt_s),
        ..FlowRow::default()
    }
}

fn flow_series(traffic: &TrafficReport, counts: &[FlowCounts]) -> Vec<Series> {
    let scaled = |(_, flow, value): &Point| {
        value * counts.get(*flow as usize).copied().map_or(1.0, wire_share)
    };
    let plain = |point: &Point| point.2;
    let series = |name: &str, points: &[Point], value: &dyn Fn(&Point) -> f64| Series {
        name: name.to_owned(),
        of: SeriesOf::Flow,
        t_s: points.iter().map(|point| point.0).collect(),
        id: points.iter().map(|point| point.1).collect(),
        value: points.iter().map(value).collect(),
    };
    let all = [
        series("cwnd_pkts", &traffic.cwnd_pkts, &plain),
        series("srtt_s", &traffic.srtt_s, &plain),
        series("goodput_bps", &traffic.goodput_bps, &scaled),
        series("rate_bps", &traffic.rate_bps, &scaled),
    ];
    all.into_iter().filter(|series| !series.t_s.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::TcpInfo;

    /// Ten packets of 1500 bytes with 1460 bytes of payload each, two of them before the warm-up's
    /// end.
    #[test]
    fn payload_becomes_bytes_on_the_wire() {
        let counts = FlowCounts {
            sent_pkts: 13,
            arrived_pkts: 10,
            arrived_bytes: 15_000,
            arrived_payload_bytes: 14_600,
            dropped_pkts: 2,
            ..FlowCounts::default()
        };
        let seen = FlowReport {
            start_s: Some(0.5),
            received_bytes: 14_600,
            received_at_warmup_bytes: 2_920,
            info: TcpInfo { srtt_s: 0.08, ..TcpInfo::default() },
            ..FlowReport::default()
        };
        let row = flow_row((3, 0.4), &seen, counts, (2.0, 10.0));
        assert_eq!((row.flow, row.start_s, row.finish_s), (3, 0.5, None));
        assert_eq!((row.delivered_pkts, row.delivered_bytes), (10, 15_000));
        // 13 sent, 10 arrived and 2 dropped: one is under way.
        assert_eq!(row.in_flight_pkts, 1);
        // Eight packets of 1500 bytes in 8 s.
        assert!((row.goodput_bps - 12_000.0).abs() < 1e-9);
        assert_eq!((row.srtt_s, row.min_rtt_s), (Some(0.08), None));
        // One that finished at 4.5 s had 2.5 s after the warm-up, and took 4 s.
        let finished = FlowReport { finish_s: Some(4.5), ..seen };
        let row = flow_row((3, 0.4), &finished, counts, (2.0, 10.0));
        assert_eq!(row.fct_s, Some(4.0));
        assert!((row.goodput_bps - 12_000.0 * 8.0 / 2.5).abs() < 1e-9);
        // A flow that has yet to start has its planned start, and nothing.
        let row = flow_row((0, 7.0), &FlowReport::default(), FlowCounts::default(), (2.0, 10.0));
        assert_eq!((row.start_s, row.goodput_bps, row.delivered_pkts), (7.0, 0.0, 0));
    }
}

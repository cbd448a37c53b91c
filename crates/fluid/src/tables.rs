//! From a run's state to the result tables: volumes become whole packets and bytes here.

use std::sync::Arc;

use results::{FlowRow, GroupRow, LinkRow, Tables};
use scenario::Scenario;
use units::Time;

use crate::Outcome;
use crate::link::{Totals, time};
use crate::model::{Class, Model};
use crate::solver::{Solver, fold};
use crate::state::State;

/// What a run that is over, or was stopped, gives.
pub fn outcome(scenario: &Scenario, mut solver: Solver<'_>) -> Outcome {
    for state in &solver.states {
        fold(&mut solver.hash, state.w.to_bits());
    }
    let end = solver.progress();
    let (classes, links) = solver.at_warmup.take().unwrap_or_else(|| {
        // It was stopped before: nothing counts yet.
        let delivered = solver.states.iter().map(|state| state.delivered).collect();
        (delivered, solver.links.iter().map(|link| link.totals).collect())
    });
    let flows = flows(scenario, &solver, &classes, end.now);
    let groups = groups(scenario, &solver, (&flows, &classes), end.now);
    let links = (0..links.len()).map(|i| link_row(scenario, &mut solver, (i, links[i]), end.now));
    let links = links.collect();
    let series = solver.recorder.finish();
    Outcome {
        fingerprint: u128::from(solver.hash[0]) << 64 | u128::from(solver.hash[1]),
        complete: solver.over(),
        numerics: solver.numerics,
        warnings: warnings(&solver),
        end,
        tables: Tables { flows, links, groups, transfers: None, macroflows: Vec::new(), series },
    }
}

fn warnings(solver: &Solver<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    let (numerics, shortest) = (&solver.numerics, solver.model.shortest_rtt());
    if numerics.step_max_s > shortest / 2.0 {
        warnings.push(format!(
            "steps of {} s are long for the shortest RTT, {shortest:.6} s",
            numerics.step_max_s
        ));
    }
    if !numerics.fixed_step && numerics.step_error_ratio > 2.0 * numerics.tolerance_ratio {
        warnings.push(format!(
            "the shortest step has an error of {:.1e} of a window, above the tolerance of {:.1e}",
            numerics.step_error_ratio, numerics.tolerance_ratio
        ));
    }
    if let Some(at) = solver.recorder.full {
        warnings.push(format!("series end at {at:.3} s, where they had 100,000,000 rows"));
    }
    warnings
}

/// A volume as a whole number.
fn whole(volume: f64) -> u64 {
    // A cast of a float saturates.
    (volume + 0.5) as u64
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// The time after the warm-up in which a class was active [s].
fn active(class: &Class, state: &State, warmup: f64, end: f64) -> f64 {
    state.finish.unwrap_or(end).min(end) - class.start.max(warmup)
}

fn flows(scenario: &Scenario, solver: &Solver<'_>, at_warmup: &[f64], end: Time) -> Vec<FlowRow> {
    let (model, warmup) = (&solver.model, scenario.warmup.as_secs());
    let names: Vec<(Arc<str>, Arc<str>)> = scenario
        .groups
        .iter()
        .map(|group| (group.name.as_str().into(), group.protocol.name.as_str().into()))
        .collect();
    let row = |number: usize| {
        let i = model.class_of[number] as usize;
        let (class, state) = (&model.classes[i], &solver.states[i]);
        let (group, protocol) = names[class.group as usize].clone();
        let row = class_row(model, class, state, end);
        let fresh = (state.delivered - at_warmup[i]) * model.packet * 8.0;
        FlowRow {
            flow: number as u32,
            group,
            protocol,
            goodput_bps: ratio(fresh, active(class, state, warmup, end.as_secs())).max(0.0),
            ..row
        }
    };
    (0..model.class_of.len()).map(row).collect()
}

/// What a flow of the class did.
fn class_row(model: &Model, class: &Class, state: &State, end: Time) -> FlowRow {
    let end_s = end.as_secs();
    let finish = state.finish.filter(|&finish| finish <= end_s);
    // What a transfer lost it sent again.
    let delivered = if finish.is_some() { class.size } else { state.delivered };
    let (arrived, dropped) = (whole(delivered), whole(state.dropped));
    let sent = whole(state.sent).max(arrived + dropped);
    let sent = if finish.is_some() { arrived + dropped } else { sent };
    let path = model.path(class);
    let acked = arrived.min(whole(arrived as f64 - state.rate * class.ack_delay.min(state.rtt)));
    let acked = if finish.is_some() || path.is_empty() { arrived } else { acked };
    FlowRow {
        base_rtt_s: class.base_rtt,
        start_s: class.start,
        stop_s: class.stop.is_finite().then_some(class.stop),
        finish_s: finish.map(|finish| time(finish).as_secs()),
        fct_s: finish.map(|finish| finish - class.start),
        sent_pkts: sent,
        retransmitted_pkts: dropped,
        arrived_pkts: arrived,
        delivered_pkts: arrived,
        delivered_bytes: whole(delivered * model.packet),
        dropped_pkts: dropped,
        in_flight_pkts: sent - arrived - dropped,
        acks_sent_pkts: arrived,
        acks_arrived_pkts: acked,
        acks_in_flight_pkts: arrived - acked,
        fast_retransmits: whole(state.hits),
        srtt_s: state.least_rtt.is_finite().then_some(state.rtt),
        min_rtt_s: state.least_rtt.is_finite().then_some(state.least_rtt),
        ..FlowRow::default()
    }
}

fn groups(
    scenario: &Scenario,
    solver: &Solver<'_>,
    (flows, at_warmup): (&[FlowRow], &[f64]),
    end: Time,
) -> Vec<GroupRow> {
    let warmup = scenario.warmup.as_secs();
    let n = scenario.groups.len();
    let mut rows = vec![GroupRow::default(); n];
    let (mut times, mut fresh) = (vec![Vec::new(); n], vec![0.0; n]);
    for (row, &class) in flows.iter().zip(&solver.model.class_of) {
        let group = solver.model.classes[class as usize].group as usize;
        if row.start_s > end.as_secs() {
            continue;
        }
        rows[group].add(row);
        let state = &solver.states[class as usize];
        fresh[group] += (state.delivered - at_warmup[class as usize]) * solver.model.packet;
        if row.start_s >= warmup {
            times[group].extend(row.fct_s);
        }
    }
    let seconds = end.as_secs() - warmup;
    for (number, group) in scenario.groups.iter().enumerate() {
        let row = &mut rows[number];
        row.group.clone_from(&group.name);
        row.protocol.clone_from(&group.protocol.name);
        row.goodput_bps = ratio(fresh[number] * 8.0, seconds).max(0.0);
        row.set_fct(std::mem::take(&mut times[number]));
    }
    rows
}

fn link_row(
    scenario: &Scenario,
    solver: &mut Solver<'_>,
    (i, before): (usize, Totals),
    end: Time,
) -> LinkRow {
    let named = &scenario.links[i];
    let queue = solver.occupancies[i].finish(end);
    let (rule, link) = (&solver.model.rules[i], &solver.links[i]);
    let total = link.totals;
    let fresh = total.since(before);
    // Of both kinds the same part leaves.
    let packets = |totals: Totals, bytes: f64| {
        let arrived = totals.data / rule.packet + totals.acks / rule.ack;
        whole(arrived * ratio(bytes, totals.data + totals.acks).min(1.0))
    };
    let arrivals = |totals: Totals| packets(totals, totals.data + totals.acks);
    let share = |bytes: f64| bytes / rule.buffer.max(1.0);
    LinkRow {
        link: i as u32,
        name: named.name.clone(),
        queue: named.queue.name.clone(),
        rate_bps: named.rate.as_bps(),
        owd_s: named.owd.as_secs(),
        buffer_bytes: rule.buffer as u64,
        arrivals_pkts: arrivals(fresh),
        drops_pkts: whole(fresh.dropped / rule.packet),
        data_drops_pkts: whole(fresh.dropped / rule.packet),
        marks_pkts: whole(fresh.marked / rule.packet),
        departures_pkts: packets(fresh, fresh.served),
        departures_bytes: whole(fresh.served),
        lost_pkts: 0,
        utilization_ratio: ratio(fresh.served, fresh.capacity),
        drop_ratio: ratio(fresh.dropped, fresh.data + fresh.acks),
        queue_mean_pkts: queue.mean_bytes / rule.packet,
        queue_mean_bytes: queue.mean_bytes,
        queue_mean_ratio: share(queue.mean_bytes),
        queue_p90_pkts: queue.p90_packets as f64,
        queue_p90_ratio: share(queue.p90_bytes as f64),
        queue_max_pkts: queue.max_packets,
        queue_max_bytes: queue.max_bytes,
        total_arrivals_pkts: arrivals(total),
        total_drops_pkts: whole(total.dropped / rule.packet),
        total_data_drops_pkts: whole(total.dropped / rule.packet),
        total_marks_pkts: whole(total.marked / rule.packet),
        total_departures_pkts: packets(total, total.served),
        total_lost_pkts: 0,
        queued_end_pkts: whole(link.q / rule.packet),
    }
}

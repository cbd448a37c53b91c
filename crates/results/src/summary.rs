//! The numbers a comparison table shows.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::groups::{GroupRow, Transfers};
use crate::metrics::jain_index;
use crate::tables::{FlowRow, LinkRow, Tables};

/// Smallest, mean and largest of some values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The smallest.
    pub min: f64,
    /// The mean.
    pub mean: f64,
    /// The largest.
    pub max: f64,
}

impl Spread {
    /// Of `values`, if there are any.
    pub fn of(values: &[f64]) -> Option<Spread> {
        (!values.is_empty()).then(|| Spread {
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            mean: values.iter().sum::<f64>() / values.len() as f64,
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }
}

/// One group of flows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupSummary {
    /// Its name.
    pub group: String,
    /// Its protocol.
    pub protocol: String,
    /// Whether its flows arrive during the run; then there is no goodput per flow.
    pub arriving: bool,
    /// Number of flows; of arriving ones those that have come.
    pub flows: u64,
    /// Of those, flows that were active for some time after the warm-up.
    pub active_flows: u64,
    /// Goodput per active flow.
    pub goodput_bps: Option<Spread>,
    /// Jain's index over the active flows' goodputs.
    pub jain_index_ratio: Option<f64>,
    /// Goodput of all flows together over the time after the warm-up.
    pub total_goodput_bps: f64,
    /// Flows that delivered all they had.
    pub finished_flows: u64,
    /// How long those took, whenever that was; of arriving ones, those that came after the warm-up.
    pub fct_s: Option<Spread>,
    /// Of the flows that started after the warm-up and finished: the time that half do not exceed.
    pub fct_p50_s: Option<f64>,
    /// The time that 95 % do not exceed.
    pub fct_p95_s: Option<f64>,
    /// The time that 99 % do not exceed.
    pub fct_p99_s: Option<f64>,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Data packets sent again.
    pub retransmitted_pkts: u64,
}

/// One link: the columns of [`LinkRow`] that a table shows.
pub type LinkSummary = LinkRow;

/// A run in a page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The link that numbers without a link's name are of: the scenario's word, not an outcome.
    pub bottleneck: Option<String>,
    /// Per link.
    pub links: Vec<LinkSummary>,
    /// Per group of flows.
    pub groups: Vec<GroupSummary>,
    /// Goodput per active flow, over all groups.
    pub goodput_bps: Option<Spread>,
    /// Drops at all links after the warm-up.
    pub drops_pkts: u64,
    /// Drops at all links over the whole run.
    pub total_drops_pkts: u64,
}

impl Summary {
    /// Of a run's tables; `measured` is the time from the warm-up's end to the run's end, in
    /// seconds, `bottleneck` the link that the scenario names.
    pub fn of(tables: &Tables, measured: Range<f64>, bottleneck: Option<&str>) -> Summary {
        Summary {
            bottleneck: bottleneck.map(str::to_owned),
            links: tables.links.clone(),
            groups: groups(tables, &measured),
            goodput_bps: Spread::of(&goodputs(&tables.flows, &measured)),
            drops_pkts: tables.links.iter().map(|l| l.drops_pkts).sum(),
            total_drops_pkts: tables.links.iter().map(|l| l.total_drops_pkts).sum(),
        }
    }
}

/// Of the flows that had any time to have a goodput in.
fn goodputs(flows: &[FlowRow], measured: &Range<f64>) -> Vec<f64> {
    let active = |flow: &&FlowRow| {
        let end = flow.finish_s.unwrap_or(measured.end).min(measured.end);
        flow.start_s.max(measured.start) < end
    };
    flows.iter().filter(active).map(|flow| flow.goodput_bps).collect()
}

fn groups(tables: &Tables, measured: &Range<f64>) -> Vec<GroupSummary> {
    let mut flows = tables.flows.as_slice();
    let mut groups = Vec::with_capacity(tables.groups.len());
    for (number, row) in tables.groups.iter().enumerate() {
        // The flows of a group follow one another, in the order of the groups.
        let count = flows.iter().take_while(|flow| *flow.group == *row.group).count();
        let (own, rest) = flows.split_at(count);
        flows = rest;
        let transfers = tables.transfers.as_ref().filter(|_| own.is_empty());
        let arrived = transfers.map(|all| Arrived::of(all, number, measured.start));
        groups.push(group(row, own, arrived, measured));
    }
    groups
}

/// A group's transfers.
struct Arrived {
    /// Those that were under way after the warm-up.
    active: u64,
    /// Times to finish of those that came after it.
    times: Vec<f64>,
}

impl Arrived {
    fn of(transfers: &Transfers, number: usize, warmup: f64) -> Arrived {
        let own = |group: u32| group as usize == number;
        let finished = || transfers.finished().filter(|&(group, ..)| own(group));
        let over = finished().filter(|&(_, start, fct)| start + fct <= warmup).count();
        let all = transfers.group.iter().filter(|&&group| own(group)).count();
        let counted = finished().filter(|&(_, start, _)| start >= warmup);
        Arrived { active: (all - over) as u64, times: counted.map(|(_, _, fct)| fct).collect() }
    }
}

fn group(
    row: &GroupRow,
    flows: &[FlowRow],
    arrived: Option<Arrived>,
    measured: &Range<f64>,
) -> GroupSummary {
    let goodputs = goodputs(flows, measured);
    let arriving = arrived.is_some();
    let Arrived { active, times } = arrived.unwrap_or_else(|| Arrived {
        active: goodputs.len() as u64,
        times: flows.iter().filter_map(|flow| flow.fct_s).collect(),
    });
    GroupSummary {
        group: row.group.clone(),
        protocol: row.protocol.clone(),
        arriving,
        flows: if arriving { row.flows } else { flows.len() as u64 },
        active_flows: active,
        goodput_bps: Spread::of(&goodputs),
        jain_index_ratio: jain_index(&goodputs),
        total_goodput_bps: row.goodput_bps,
        finished_flows: row.finished,
        fct_s: Spread::of(&times),
        fct_p50_s: row.fct_p50_s,
        fct_p95_s: row.fct_p95_s,
        fct_p99_s: row.fct_p99_s,
        timeouts: row.timeouts,
        retransmitted_pkts: row.retransmitted_pkts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(start_s: f64, finish_s: Option<f64>, goodput_bps: f64) -> FlowRow {
        let fct_s = finish_s.map(|finish| finish - start_s);
        FlowRow { start_s, finish_s, fct_s, goodput_bps, ..FlowRow::default() }
    }

    /// One group of flows that have all started.
    fn tables(flows: Vec<FlowRow>) -> Tables {
        let mut row = GroupRow::default();
        flows.iter().for_each(|flow| row.add(flow));
        Tables { flows, groups: vec![row], ..Tables::default() }
    }

    #[test]
    fn each_group_gets_its_own_flows_and_transfers() {
        let named = |group: &str| FlowRow { group: group.into(), ..flow(0.0, Some(4.0), 2e6) };
        let row = |group: &str, flows| GroupRow {
            group: group.into(),
            flows,
            goodput_bps: 5e6,
            fct_p95_s: Some(2.0),
            ..GroupRow::default()
        };
        let mut transfers = Transfers::default();
        let came = [(1, 2.0, 0.5), (1, 0.5, 0.4), (3, 1.5, 1.5), (1, 3.0, 2.5), (1, 4.0, f64::NAN)];
        for (group, start, fct) in came {
            transfers.push(group, start, 1000);
            *transfers.fct_s.last_mut().unwrap() = fct;
        }
        let tables = Tables {
            flows: vec![named("a"), named("a"), named("c")],
            groups: vec![row("a", 2), row("web", 4), row("c", 1), row("rpc", 1)],
            transfers: Some(transfers),
            ..Tables::default()
        };
        let groups = Summary::of(&tables, 1.0..10.0, None).groups;
        let seen: Vec<_> = groups.iter().map(|g| (g.arriving, g.flows, g.active_flows)).collect();
        assert_eq!(seen, [(false, 2, 2), (true, 4, 3), (false, 1, 1), (true, 1, 1)]);
        assert_eq!(groups[1].fct_s, Some(Spread { min: 0.5, mean: 1.5, max: 2.5 }));
        assert_eq!(groups[3].fct_s, Some(Spread { min: 1.5, mean: 1.5, max: 1.5 }));
        assert_eq!((groups[1].goodput_bps, groups[1].jain_index_ratio), (None, None));
        assert_eq!((groups[1].total_goodput_bps, groups[1].fct_p95_s), (5e6, Some(2.0)));
    }

    #[test]
    fn flows_without_time_after_the_warm_up_have_no_goodput() {
        // Measured from 10 s to 30 s: two flows end before, one would begin at the end.
        let flows = vec![
            flow(0.0, Some(4.0), 0.0),
            flow(1.0, Some(10.0), 0.0),
            flow(2.0, Some(14.0), 3e6),
            flow(12.0, None, 1e6),
            flow(30.0, None, 0.0),
        ];
        let tables = tables(flows);
        let summary = Summary::of(&tables, 10.0..30.0, None);
        let group = &summary.groups[0];
        assert_eq!((group.flows, group.active_flows, group.finished_flows), (5, 2, 3));
        assert_eq!(group.goodput_bps, Some(Spread { min: 1e6, mean: 2e6, max: 3e6 }));
        assert_eq!(summary.goodput_bps, group.goodput_bps);
        // (1 + 3)^2 / (2 * 10) = 0.8.
        assert_eq!(group.jain_index_ratio, Some(0.8));
        // 4 s, 9 s and 12 s.
        assert_eq!(group.fct_s, Some(Spread { min: 4.0, mean: 25.0 / 3.0, max: 12.0 }));
    }

    #[test]
    fn a_group_that_is_over_before_the_warm_up_has_no_goodput_at_all() {
        let tables = tables(vec![flow(0.0, Some(4.0), 0.0)]);
        let group = &Summary::of(&tables, 10.0..30.0, None).groups[0];
        assert_eq!(
            (group.active_flows, group.goodput_bps, group.jain_index_ratio),
            (0, None, None)
        );
    }

    #[test]
    fn a_flow_that_got_nothing_counts() {
        let flows = vec![flow(0.0, None, 0.0), flow(0.0, None, 2e6)];
        let group = &Summary::of(&tables(flows), 10.0..30.0, None).groups[0];
        assert_eq!(group.goodput_bps, Some(Spread { min: 0.0, mean: 1e6, max: 2e6 }));
        assert_eq!(group.fct_s, None);
    }
}

//! The numbers a comparison table shows.

use std::ops::Range;

use serde::{Deserialize, Serialize};

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
    /// Number of flows.
    pub flows: u64,
    /// Of those, flows that were active for some time after the warm-up.
    pub active_flows: u64,
    /// Goodput per active flow.
    pub goodput_bps: Option<Spread>,
    /// Jain's index over the active flows' goodputs.
    pub jain_index_ratio: Option<f64>,
    /// Flows that delivered all they had.
    pub finished_flows: u64,
    /// How long those took, whenever that was.
    pub fct_s: Option<Spread>,
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
    /// The link with the highest utilization: where the run is decided.
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
    /// seconds.
    pub fn of(tables: &Tables, measured: Range<f64>) -> Summary {
        let busiest = tables.links.iter().reduce(|best, link| {
            if link.utilization_ratio > best.utilization_ratio { link } else { best }
        });
        Summary {
            bottleneck: busiest.map(|link| link.name.clone()),
            links: tables.links.clone(),
            groups: groups(&tables.flows, &measured),
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

fn groups(flows: &[FlowRow], measured: &Range<f64>) -> Vec<GroupSummary> {
    flows.chunk_by(|a, b| a.group == b.group).map(|flows| group(flows, measured)).collect()
}

fn group(flows: &[FlowRow], measured: &Range<f64>) -> GroupSummary {
    let goodputs = goodputs(flows, measured);
    let times: Vec<f64> = flows.iter().filter_map(|flow| flow.fct_s).collect();
    GroupSummary {
        group: flows[0].group.clone(),
        protocol: flows[0].protocol.clone(),
        flows: flows.len() as u64,
        active_flows: goodputs.len() as u64,
        goodput_bps: Spread::of(&goodputs),
        jain_index_ratio: jain_index(&goodputs),
        finished_flows: flows.iter().filter(|f| f.finish_s.is_some()).count() as u64,
        fct_s: Spread::of(&times),
        timeouts: flows.iter().map(|f| f.timeouts).sum(),
        retransmitted_pkts: flows.iter().map(|f| f.retransmitted_pkts).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(start_s: f64, finish_s: Option<f64>, goodput_bps: f64) -> FlowRow {
        let fct_s = finish_s.map(|finish| finish - start_s);
        FlowRow { start_s, finish_s, fct_s, goodput_bps, ..FlowRow::default() }
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
        let tables = Tables { flows, ..Tables::default() };
        let summary = Summary::of(&tables, 10.0..30.0);
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
        let tables = Tables { flows: vec![flow(0.0, Some(4.0), 0.0)], ..Tables::default() };
        let group = &Summary::of(&tables, 10.0..30.0).groups[0];
        assert_eq!(
            (group.active_flows, group.goodput_bps, group.jain_index_ratio),
            (0, None, None)
        );
    }

    #[test]
    fn a_flow_that_got_nothing_counts() {
        let flows = vec![flow(0.0, None, 0.0), flow(0.0, None, 2e6)];
        let group = &Summary::of(&Tables { flows, ..Tables::default() }, 10.0..30.0).groups[0];
        assert_eq!(group.goodput_bps, Some(Spread { min: 0.0, mean: 1e6, max: 2e6 }));
        assert_eq!(group.fct_s, None);
    }
}

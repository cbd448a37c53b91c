//! The numbers a comparison table shows.

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
    /// Of `values`; zeros when there are none.
    pub fn of(values: &[f64]) -> Spread {
        if values.is_empty() {
            return Spread::default();
        }
        Spread {
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            mean: values.iter().sum::<f64>() / values.len() as f64,
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
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
    /// Goodput per flow.
    pub goodput_bps: Spread,
    /// Jain's index over the flows' goodputs.
    pub jain_index_ratio: Option<f64>,
    /// Flows that delivered all they had.
    pub finished_flows: u64,
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
    /// Over all flows.
    pub goodput_bps: Spread,
    /// Drops at all links after the warm-up.
    pub drops_pkts: u64,
    /// Drops at all links over the whole run.
    pub total_drops_pkts: u64,
}

impl Summary {
    /// Of a run's tables.
    pub fn of(tables: &Tables) -> Summary {
        let busiest = tables.links.iter().reduce(|best, link| {
            if link.utilization_ratio > best.utilization_ratio { link } else { best }
        });
        Summary {
            bottleneck: busiest.map(|link| link.name.clone()),
            links: tables.links.clone(),
            groups: groups(&tables.flows),
            goodput_bps: Spread::of(&goodputs(tables.flows.iter())),
            drops_pkts: tables.links.iter().map(|l| l.drops_pkts).sum(),
            total_drops_pkts: tables.links.iter().map(|l| l.total_drops_pkts).sum(),
        }
    }
}

fn goodputs<'a>(flows: impl Iterator<Item = &'a FlowRow>) -> Vec<f64> {
    flows.map(|flow| flow.goodput_bps).collect()
}

fn groups(flows: &[FlowRow]) -> Vec<GroupSummary> {
    flows.chunk_by(|a, b| a.group == b.group).map(group).collect()
}

fn group(flows: &[FlowRow]) -> GroupSummary {
    let goodputs = goodputs(flows.iter());
    GroupSummary {
        group: flows[0].group.clone(),
        protocol: flows[0].protocol.clone(),
        flows: flows.len() as u64,
        goodput_bps: Spread::of(&goodputs),
        jain_index_ratio: jain_index(&goodputs),
        finished_flows: flows.iter().filter(|f| f.finish_s.is_some()).count() as u64,
        timeouts: flows.iter().map(|f| f.timeouts).sum(),
        retransmitted_pkts: flows.iter().map(|f| f.retransmitted_pkts).sum(),
    }
}

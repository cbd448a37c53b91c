//! The rows of the tables: a struct for each, a field for each column.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::groups::{GroupRow, Transfers};
use crate::macroflows::MacroRow;

/// One flow of a run. Packets are data packets unless the name says ACK.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowRow {
    /// The flow's number in the run.
    pub flow: u32,
    /// The group of the scenario it belongs to.
    pub group: Arc<str>,
    /// Its protocol's name in the scenario.
    pub protocol: Arc<str>,
    /// Two-way propagation delay of its path.
    pub base_rtt_s: f64,
    /// When it started.
    pub start_s: f64,
    /// When its source stopped offering new data, if it did.
    pub stop_s: Option<f64>,
    /// When the last byte was acknowledged, for a flow that finished.
    pub finish_s: Option<f64>,
    /// From the first send to the last byte acknowledged.
    pub fct_s: Option<f64>,
    /// Data packets sent, retransmissions included.
    pub sent_pkts: u64,
    /// Of those, retransmissions.
    pub retransmitted_pkts: u64,
    /// Data packets that arrived, duplicates included.
    pub arrived_pkts: u64,
    /// Data packets that arrived for the first time.
    pub delivered_pkts: u64,
    /// Bytes of those.
    pub delivered_bytes: u64,
    /// Data packets dropped on the way by queues and in outages.
    pub dropped_pkts: u64,
    /// Data packets lost on a line.
    pub lost_pkts: u64,
    /// Data packets on the way when the run ended.
    pub in_flight_pkts: u64,
    /// ACKs sent by the receiver.
    pub acks_sent_pkts: u64,
    /// ACKs that reached the sender.
    pub acks_arrived_pkts: u64,
    /// ACKs dropped on the way by queues and in outages.
    pub acks_dropped_pkts: u64,
    /// ACKs lost on a line.
    pub acks_lost_pkts: u64,
    /// ACKs on the way when the run ended.
    pub acks_in_flight_pkts: u64,
    /// First-time bytes delivered after the warm-up, over the part of that time in which the flow
    /// was active, in bits per second.
    pub goodput_bps: f64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Fast retransmits (loss events found by duplicate ACKs or SACK).
    pub fast_retransmits: u64,
    /// Smoothed RTT at the end.
    pub srtt_s: Option<f64>,
    /// Smallest RTT sampled.
    pub min_rtt_s: Option<f64>,
}

/// One named link of a run. Plain columns count the time after the warm-up, `total_` ones the whole
/// run; the packet in service is not queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkRow {
    /// The link's number in the run.
    pub link: u32,
    /// Its name.
    pub name: String,
    /// The queue's name in the scenario.
    pub queue: String,
    /// Capacity: at the start if it changes by steps, a trace's mean.
    pub rate_bps: f64,
    /// One-way propagation delay.
    pub owd_s: f64,
    /// The buffer's limit in bytes (packets times the data packet's size if given in packets).
    pub buffer_bytes: u64,
    /// Packets that arrived.
    pub arrivals_pkts: u64,
    /// Packets dropped, by the queue or in an outage.
    pub drops_pkts: u64,
    /// Of those, data packets.
    pub data_drops_pkts: u64,
    /// Packets whose ECN bits the queue changed.
    pub marks_pkts: u64,
    /// Packets whose last bit left.
    pub departures_pkts: u64,
    /// Bytes of those.
    pub departures_bytes: u64,
    /// Of the packets that left, those that the line lost.
    pub lost_pkts: u64,
    /// Bits that left / bits that could have left.
    pub utilization_ratio: f64,
    /// Drops / arrivals.
    pub drop_ratio: f64,
    /// Time-weighted mean queue.
    pub queue_mean_pkts: f64,
    /// Time-weighted mean queue in bytes.
    pub queue_mean_bytes: f64,
    /// The mean as a share of the buffer.
    pub queue_mean_ratio: f64,
    /// The queue that is not exceeded 90 % of the time.
    pub queue_p90_pkts: f64,
    /// The same as a share of the buffer, by bytes.
    pub queue_p90_ratio: f64,
    /// Longest queue.
    pub queue_max_pkts: u64,
    /// Longest queue in bytes.
    pub queue_max_bytes: u64,
    /// Arrivals over the whole run.
    pub total_arrivals_pkts: u64,
    /// Drops over the whole run.
    pub total_drops_pkts: u64,
    /// Of those, data packets.
    pub total_data_drops_pkts: u64,
    /// Marks over the whole run.
    pub total_marks_pkts: u64,
    /// Departures over the whole run.
    pub total_departures_pkts: u64,
    /// Losses on the line over the whole run.
    pub total_lost_pkts: u64,
    /// Packets waiting or in service when the run ended.
    pub queued_end_pkts: u64,
}

/// Whose values a series holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SeriesOf {
    /// One value per flow and instant.
    Flow,
    /// One value per link and instant.
    Link,
}

/// Values against time in long form: three columns of one length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The name with its unit, such as `queue_pkts`.
    pub name: String,
    /// Whose values.
    pub of: SeriesOf,
    /// The instants [s], not decreasing.
    pub t_s: Vec<f64>,
    /// The flow's or link's number.
    pub id: Vec<u32>,
    /// The values.
    pub value: Vec<f64>,
}

/// Where a result comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    /// The scenario's name.
    pub name: String,
    /// `packet`, `fluid` or `linux`.
    pub engine: String,
    /// `done`, or `partial` when the run was stopped before its duration.
    pub state: String,
    /// Clearpipe's version.
    pub version: String,
    /// The version of the engine.
    pub model_version: String,
    /// The versions of all parts that the run used: equal ones give equal fingerprints. Results of
    /// older versions say none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, String>,
    /// The experiment.
    pub seed: u64,
    /// The replication.
    pub rep: u64,
    /// blake3 of resolved scenario, versions of the parts, seed and replication.
    pub identity: String,
    /// 128-bit hash of the event trace, 32 hex digits.
    pub fingerprint: String,
    /// Simulated time.
    pub simulated_s: f64,
    /// Time after which the plain columns count.
    pub warmup_s: f64,
    /// Events handled.
    pub events: u64,
    /// Packets times links crossed, access links included.
    pub packet_hops: u64,
    /// Wall-clock time of the event loop.
    pub wall_s: f64,
    /// `packet_hops / wall_s`.
    pub packet_hops_per_s: f64,
    /// Peak resident memory of the process, where the system tells.
    pub peak_rss_bytes: Option<u64>,
    /// What the user should know about this scenario.
    pub warnings: Vec<String>,
    /// The identity of the run whose state this one went on from, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branched_from: Option<String>,
    /// When it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch_at_s: Option<f64>,
    /// The variant's name and what it changes, as on the command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// How the fluid engine solved its equations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numerics: Option<Numerics>,
}

/// How the fluid engine solved its equations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Numerics {
    /// Steps taken.
    pub steps: u64,
    /// Steps taken back because their error was too large.
    pub rejected_steps: u64,
    /// Shortest step.
    pub step_min_s: f64,
    /// Longest step.
    pub step_max_s: f64,
    /// Do all steps have one length?
    pub fixed_step: bool,
    /// The error estimate: the largest local error of a window in one step, as a part of the
    /// window.
    pub step_error_ratio: f64,
    /// What a step was allowed; steps of one length are not held to it.
    pub tolerance_ratio: f64,
    /// Classes of equal flows.
    pub classes: u64,
}

/// A run's tables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tables {
    /// One row per flow that is there from the start.
    pub flows: Vec<FlowRow>,
    /// One row per named link.
    pub links: Vec<LinkRow>,
    /// One row per group of flows, in the order of the scenario.
    pub groups: Vec<GroupRow>,
    /// One row per transfer that came while the run went on, where a group has such.
    pub transfers: Option<Transfers>,
    /// One row per macro-flow, where the scenario has islands.
    pub macroflows: Vec<MacroRow>,
    /// The series that the scenario asked for.
    pub series: Vec<Series>,
}

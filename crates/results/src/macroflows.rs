//! Macro-flows, which carry packets across an island.

use serde::{Deserialize, Serialize};

/// One macro-flow of an island. Counters are of the whole run; means, ratios and the goodput are of
/// the time after the warm-up. Bytes are those of the packets it carries, without outer headers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MacroRow {
    /// Its number in series and captures, after those of the flows.
    pub flow: u32,
    /// The island's name.
    pub island: String,
    /// The name of its protocol in the scenario.
    pub protocol: String,
    /// The node where it begins.
    pub ingress: String,
    /// The node where it ends.
    pub egress: String,
    /// Propagation delay from ingress to egress and of the feedback.
    pub base_rtt_s: f64,
    /// Packets that came to the ingress.
    pub arrivals_pkts: u64,
    /// Of those, packets that its queue there had no room for.
    pub queue_drops_pkts: u64,
    /// Packets waiting there when the run ended.
    pub queued_end_pkts: u64,
    /// Packets it sent into the island.
    pub sent_pkts: u64,
    /// Packets that came to the egress.
    pub arrived_pkts: u64,
    /// Bytes of those.
    pub delivered_bytes: u64,
    /// Packets dropped inside.
    pub dropped_pkts: u64,
    /// Packets lost on lines inside.
    pub lost_pkts: u64,
    /// Packets inside when the run ended.
    pub in_flight_pkts: u64,
    /// Acknowledgements that the egress sent.
    pub acks_sent_pkts: u64,
    /// Acknowledgements that came to the ingress.
    pub acks_arrived_pkts: u64,
    /// Acknowledgements dropped on the way.
    pub acks_dropped_pkts: u64,
    /// Acknowledgements lost on lines.
    pub acks_lost_pkts: u64,
    /// Acknowledgements on the way when the run ended.
    pub acks_in_flight_pkts: u64,
    /// Bytes delivered at the egress after the warm-up over that time, in bits per second.
    pub goodput_bps: f64,
    /// Drops / arrivals at the ingress.
    pub queue_drop_ratio: f64,
    /// Time-weighted mean queue at the ingress.
    pub queue_mean_pkts: f64,
    /// The same as a share of its limit.
    pub queue_mean_ratio: f64,
    /// The queue that is not exceeded 90 % of the time.
    pub queue_p90_pkts: f64,
    /// Longest queue.
    pub queue_max_pkts: u64,
    /// Mean time that packets waited at the ingress.
    pub wait_mean_s: Option<f64>,
    /// Gaps of which its sender was told, at most one per window.
    pub loss_events: u64,
    /// Times that no acknowledgement came.
    pub timeouts: u64,
    /// Congestion window at the end.
    pub cwnd_pkts: f64,
    /// Smoothed RTT from ingress to egress and back at the end.
    pub srtt_s: Option<f64>,
    /// Smallest RTT sampled.
    pub min_rtt_s: Option<f64>,
}

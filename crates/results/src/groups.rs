//! Groups of flows and the transfers that came while a run went on.

use serde::{Deserialize, Serialize};

use crate::tables::FlowRow;

/// One group of flows of a run, static or arriving. Counters are sums over its flows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupRow {
    /// The group's name in the scenario.
    pub group: String,
    /// Its protocol's name in the scenario.
    pub protocol: String,
    /// Flows that started.
    pub flows: u64,
    /// Of those, flows that finished.
    pub finished: u64,
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
    /// Data packets dropped on the way.
    pub dropped_pkts: u64,
    /// Data packets lost on lines.
    pub lost_pkts: u64,
    /// Data packets on the way when the run ended.
    pub in_flight_pkts: u64,
    /// ACKs sent by the receivers.
    pub acks_sent_pkts: u64,
    /// ACKs that reached the senders.
    pub acks_arrived_pkts: u64,
    /// ACKs dropped on the way.
    pub acks_dropped_pkts: u64,
    /// ACKs lost on lines.
    pub acks_lost_pkts: u64,
    /// ACKs on the way when the run ended.
    pub acks_in_flight_pkts: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Fast retransmits.
    pub fast_retransmits: u64,
    /// First-time bytes delivered after the warm-up by all flows together, over all of that time,
    /// in bits per second.
    pub goodput_bps: f64,
    /// Mean time to finish of the flows that started after the warm-up and finished.
    pub fct_mean_s: Option<f64>,
    /// The time to finish that half of them do not exceed.
    pub fct_p50_s: Option<f64>,
    /// The one that 95 % do not exceed.
    pub fct_p95_s: Option<f64>,
    /// The one that 99 % do not exceed.
    pub fct_p99_s: Option<f64>,
    /// The longest.
    pub fct_max_s: Option<f64>,
}

impl GroupRow {
    /// Adds the counters of a flow that started.
    pub fn add(&mut self, flow: &FlowRow) {
        // Without `..`: a counter that is not summed does not compile.
        let FlowRow {
            flow: _,
            group: _,
            protocol: _,
            base_rtt_s: _,
            start_s: _,
            stop_s: _,
            finish_s,
            fct_s: _,
            sent_pkts,
            retransmitted_pkts,
            arrived_pkts,
            delivered_pkts,
            delivered_bytes,
            dropped_pkts,
            lost_pkts,
            in_flight_pkts,
            acks_sent_pkts,
            acks_arrived_pkts,
            acks_dropped_pkts,
            acks_lost_pkts,
            acks_in_flight_pkts,
            goodput_bps: _,
            timeouts,
            fast_retransmits,
            srtt_s: _,
            min_rtt_s: _,
        } = flow;
        self.flows += 1;
        self.finished += u64::from(finish_s.is_some());
        self.sent_pkts += sent_pkts;
        self.retransmitted_pkts += retransmitted_pkts;
        self.arrived_pkts += arrived_pkts;
        self.delivered_pkts += delivered_pkts;
        self.delivered_bytes += delivered_bytes;
        self.dropped_pkts += dropped_pkts;
        self.lost_pkts += lost_pkts;
        self.in_flight_pkts += in_flight_pkts;
        self.acks_sent_pkts += acks_sent_pkts;
        self.acks_arrived_pkts += acks_arrived_pkts;
        self.acks_dropped_pkts += acks_dropped_pkts;
        self.acks_lost_pkts += acks_lost_pkts;
        self.acks_in_flight_pkts += acks_in_flight_pkts;
        self.timeouts += timeouts;
        self.fast_retransmits += fast_retransmits;
    }

    /// Fills in mean and quantiles of the times to finish [s].
    pub fn set_fct(&mut self, mut times: Vec<f64>) {
        times.sort_by(f64::total_cmp);
        let n = times.len() as f64;
        self.fct_mean_s = (!times.is_empty()).then(|| times.iter().sum::<f64>() / n);
        self.fct_p50_s = quantile(&times, 50);
        self.fct_p95_s = quantile(&times, 95);
        self.fct_p99_s = quantile(&times, 99);
        self.fct_max_s = times.last().copied();
    }
}

/// The least of the sorted values that `percent` of them do not exceed (nearest rank).
fn quantile(sorted: &[f64], percent: usize) -> Option<f64> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.max(1) - 1).copied()
}

/// The transfers that came while a run went on, in the order of their arrival: columns of one
/// length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transfers {
    /// The number of the group among the scenario's.
    pub group: Vec<u32>,
    /// When it came [s].
    pub start_s: Vec<f64>,
    /// What it had to send [bytes].
    pub size_bytes: Vec<u64>,
    /// From its arrival to the last byte acknowledged [s]; NaN while it is unfinished.
    pub fct_s: Vec<f64>,
    /// Data packets sent again.
    pub retransmitted_pkts: Vec<u32>,
}

impl Transfers {
    /// Adds one that has just come.
    pub fn push(&mut self, group: u32, start_s: f64, size_bytes: u64) {
        self.group.push(group);
        self.start_s.push(start_s);
        self.size_bytes.push(size_bytes);
        self.fct_s.push(f64::NAN);
        self.retransmitted_pkts.push(0);
    }

    /// Numbers of group, starts and times to finish of those that finished.
    pub fn finished(&self) -> impl Iterator<Item = (u32, f64, f64)> {
        let rows = self.group.iter().zip(&self.start_s).zip(&self.fct_s);
        rows.filter(|(_, fct)| !fct.is_nan()).map(|((&group, &start), &fct)| (group, start, fct))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 1 to 200: the mean is 100.5; the values at ranks 50 %, 95 % and 99 % are 100, 190 and
    /// 198.
    #[test]
    fn quantiles_are_values_that_occurred() {
        let mut row = GroupRow::default();
        row.set_fct((1..=200).rev().map(f64::from).collect());
        let shown = [row.fct_mean_s, row.fct_p50_s, row.fct_p95_s, row.fct_p99_s, row.fct_max_s];
        assert_eq!(shown, [100.5, 100.0, 190.0, 198.0, 200.0].map(Some));
        // Of three, the second is the median, and the third every higher quantile.
        row.set_fct(vec![3.0, 1.0, 2.0]);
        assert_eq!((row.fct_p50_s, row.fct_p95_s), (Some(2.0), Some(3.0)));
        row.set_fct(vec![7.0]);
        assert_eq!((row.fct_p50_s, row.fct_p99_s), (Some(7.0), Some(7.0)));
        row.set_fct(Vec::new());
        assert_eq!((row.fct_mean_s, row.fct_p50_s, row.fct_max_s), (None, None, None));
    }
}

//! What the papers claim of the cases that Clearpipe ships, on full-length runs.

use clearpipe_net::Outcome;
use results::metrics::jain_index;
use results::{Series, SeriesOf};

use crate::common::{self, series, utilization};

const REPLICATIONS: u64 = 5;

/// The base case's replications, two at a time.
fn replications(scheme: &str) -> Vec<Outcome> {
    let scenario = common::example(&format!("base-case-{scheme}"), &["probe.series=[]"]);
    let mut outcomes: Vec<(u64, Outcome)> = std::thread::scope(|scope| {
        let halves = [0, 1].map(|first| {
            let scenario = &scenario;
            scope.spawn(move || {
                let reps = (first..REPLICATIONS).step_by(2);
                reps.map(|rep| (rep, common::run(scenario, 1, rep))).collect::<Vec<_>>()
            })
        });
        halves.into_iter().flat_map(|half| half.join().expect("no panic")).collect()
    });
    outcomes.sort_by_key(|(rep, _)| *rep);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

fn mean(outcomes: &[Outcome], value: impl Fn(&Outcome) -> f64) -> f64 {
    outcomes.iter().map(value).sum::<f64>() / outcomes.len() as f64
}

fn data_drops(outcome: &Outcome) -> u64 {
    outcome.tables.links.iter().map(|link| link.data_drops_pkts).sum()
}

fn jain(outcome: &Outcome, group: &str) -> f64 {
    let goodputs: Vec<f64> = common::group(outcome, group).map(|flow| flow.goodput_bps).collect();
    jain_index(&goodputs).expect("flows with goodput")
}

/// 150 Mb/s, 80 ms, 30 flows each way (xcp section 5.2, vcp section IV-A).
#[test]
fn base_case() {
    let xcp = replications("xcp");
    let vcp = replications("vcp");
    let red = replications("sack-red");
    for outcome in &xcp {
        assert!(utilization(outcome) >= 0.95);
        assert!(jain(outcome, "fwd") >= 0.99 && jain(outcome, "rev") >= 0.99);
        assert_eq!(data_drops(outcome), 0, "XCP loses nothing after the warm-up");
    }
    for outcome in &vcp {
        assert!(utilization(outcome) >= 0.90);
        assert!(common::link(outcome, "bottleneck").queue_mean_ratio < 0.05);
        assert_eq!(data_drops(outcome), 0, "VCP loses nothing after the warm-up");
    }
    let red = mean(&red, utilization);
    assert!(red < mean(&vcp, utilization) && red < mean(&xcp, utilization), "SACK over RED: {red}");
}

/// Means of a series over `[from, to)`, per id.
fn means(series: &Series, from: f64, to: f64, ids: usize) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); ids];
    for ((&t, &id), &value) in series.t_s.iter().zip(&series.id).zip(&series.value) {
        if t > from && t <= to {
            let (sum, count) = &mut sums[id as usize];
            *sum += value;
            *count += 1.0;
        }
    }
    sums.into_iter().map(|(sum, count)| if count > 0.0 { sum / count } else { 0.0 }).collect()
}

/// Five flows that start 2 s apart share 45 Mb/s fairly less than 2 s after each arrival, and the
/// link stays full (xcp section 5.3, Fig. 10).
#[test]
fn xcp_convergence() {
    let outcome = common::run(&common::example("xcp-fig10", &[]), 1, 0);
    let goodput = series(&outcome, "goodput_bps");
    assert_eq!(goodput.of, SeriesOf::Flow);
    for active in 1..=5 {
        let end = 2.0 * active as f64;
        let rates = means(goodput, end - 0.2, end, 5);
        let (sharing, waiting) = rates.split_at(active);
        assert!(waiting.iter().all(|&rate| rate == 0.0));
        let mean = sharing.iter().sum::<f64>() / active as f64;
        for rate in sharing {
            assert!((rate / mean - 1.0).abs() < 0.10, "{rates:?} just before {end} s");
        }
    }
    let utilization = series(&outcome, "utilization_ratio");
    for step in 5..50 {
        let from = 0.2 * f64::from(step);
        let full = means(utilization, from, from + 0.2, 2)[0];
        assert!(full >= 0.95, "{full} from {from} s");
    }
    assert_eq!(common::link(&outcome, "bottleneck").total_drops_pkts, 0);
}

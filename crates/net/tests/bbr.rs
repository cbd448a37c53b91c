//! BBR in the engine. `--nocapture` prints what was measured.

mod common;

use std::fmt::Write as _;

use clearpipe_net::Outcome;
use results::metrics::jain_index;
use scenario::{Line, Loss, LossModel, Scenario};

/// A dumbbell of 40 ms with samples each 10 ms; `flows` as (name, protocol, count), all from the start.
fn dumbbell(rate: &str, buffer: &str, seconds: u64, flows: &[(&str, &str, u32)]) -> Scenario {
    let mut text = format!(
        "schema = 1\nname = \"bbr\"\nduration = \"{seconds}s\"\nwarmup = \"2s\"\n\
         [transport]\ninitial_window = \"10pkt\"\n[packets]\ndata = \"1000B\"\n\
         [topology]\nkind = \"dumbbell\"\nrate = \"{rate}\"\nrtt = \"40ms\"\nbuffer = \"{buffer}\"\n\
         [protocols.bbr_d]\nkind = \"bbr\"\nrecovery = \"decoupled\"\n\
         [protocols.bbr3_d]\nkind = \"bbr3\"\nrecovery = \"decoupled\"\n\
         [probe]\nevery = \"10ms\"\nseries = [\"queue\", \"sender\", \"goodput\"]\n"
    );
    for (name, protocol, count) in flows {
        write!(text, "[flows.{name}]\nprotocol = \"{protocol}\"\ncount = {count}\n")
            .expect("a string");
    }
    match scenario::parse("bbr.toml", &text, &[]) {
        Ok(parsed) => parsed.scenario,
        Err(error) => panic!("{error}"),
    }
}

/// A flow's or a link's samples of a series in a stretch of time.
fn samples(outcome: &Outcome, name: &str, id: u32, from: f64, to: f64) -> Vec<(f64, f64)> {
    let all = outcome.tables.series.iter();
    let all = all.into_iter().find(|s| s.name == name || s.name.ends_with(&format!("_{name}")) || s.name.ends_with(&format!(".{name}")) );
    let all = all.unwrap_or_else(|| panic!("no {name}"));
    let rows = all.t_s.iter().zip(&all.id).zip(&all.value);
    let rows = rows.filter(|&((&t, &of), _)| of == id && t > from && t <= to);
    rows.map(|((&t, _), &value)| (t, value)).collect()
}

fn mean(samples: &[(f64, f64)]) -> f64 {
    samples.iter().map(|(_, value)| value).sum::<f64>() / samples.len() as f64
}

fn lossy(mut scenario: Scenario, p: f64) -> Scenario {
    let bottleneck = scenario.links.iter_mut().find(|link| link.name == "bottleneck");
    bottleneck.expect("a dumbbell has one").line =
        Line { loss: Some(Loss { model: LossModel::Random(p), data_only: true }), ..Line::default() };
    scenario
}

#[test]
fn look() {
    let utilization = |o: &Outcome| common::link(o, "bottleneck").utilization_ratio;
    for protocol in ["bbr", "bbr_d", "bbr3", "bbr3_d"] {
        for p in [0.0, 0.005, 0.01, 0.015, 0.03, 0.05, 0.1, 0.2] {
            let o = common::run(&lossy(dumbbell("100Mbps", "500pkt", 30, &[("one", protocol, 1)]), p), 1, 0);
            println!("{protocol} loss {p}: {:.3} goodput {:.2} M; {} to", utilization(&o), o.tables.flows[0].goodput_bps/1e6, o.tables.flows[0].timeouts);
        }
        let outcome = common::run(&dumbbell("100Mbps", "1000pkt", 30, &[("two", protocol, 2)]), 1, 0);
        for i in 0..3 { let g: Vec<f64> = (0..2).map(|f| mean(&samples(&outcome, "goodput_bps", f, 10.0*i as f64, 10.0*i as f64+10.0))).collect();
            println!("{protocol} two {g:?} jain {:?}", jain_index(&g)); }
        println!("   util {} queue {}", utilization(&outcome), mean(&samples(&outcome, "queue_pkts", 0, 10.0, 30.0)));
        for (rate, buffer) in [("50Mbps", "500pkt"), ("50Mbps","250pkt"), ("50Mbps", "1000pkt")] {
        for seed in 1..3 {
        let o = common::run(&dumbbell(rate, buffer, 60, &[("one", protocol, 1), ("reno", "sack", 1)]), seed, 0);
        println!("{protocol} vs sack {rate} {buffer}: {:?}", o.tables.flows.iter().map(|f| f.goodput_bps/1e6).collect::<Vec<_>>());
        }}
    }
    let outcome = common::run(&dumbbell("100Mbps", "1000pkt", 3, &[("one", "bbr3", 1)]), 1, 0);
    for s in &outcome.tables.series { println!("{}", s.name); }
    for (protocol, p, until) in [("bbr_d", 0.01, 5.0), ("bbr3_d", 0.01, 12.0), ("bbr3_d", 0.05, 8.0)] {
        let outcome = common::run(&lossy(dumbbell("100Mbps", "1000pkt", 30, &[("one", protocol, 1)]), p), 1, 0);
        println!("{protocol} {p} {:?}", common::link(&outcome, "bottleneck").utilization_ratio);
        for i in 0..120 {
            let t = if i < 20 { 0.05*i as f64 } else { 1.0 + (until - 1.0)/100.0 * (i as f64 - 20.0) };
            let at = |name: &str| samples(&outcome, name, 0, t, t + 0.0101).first().map_or(f64::NAN, |s| s.1);
            println!("{t:.2} state {} gain {:.2} bw {:.2}M min_rtt {:.5} bdp {} cwnd {} inflight {} q {} hi {} lo {}", at("state"), at("pacing_gain"), at("bw")/1e6, at("min_rtt"), at("bdp"), at("cwnd"), at("in_flight"), at("queue_pkts"), if protocol != "bbr_d" { at("inflight_longterm") } else { 0.0 }, if protocol != "bbr_d" { at("inflight_shortterm") } else { 0.0 });
        }
    }
}

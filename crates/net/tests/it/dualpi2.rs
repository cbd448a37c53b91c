//! DualPI2 under flows: what RFC 9332 promises of it. `--nocapture` prints the numbers.

use clearpipe_net::Outcome;

use crate::common;

/// A dumbbell of 40 Mb/s and 20 ms with this queue, whose variables are recorded each 16 ms, and
/// these flows.
fn run(queue: &str, flows: &str) -> Outcome {
    let scenario = common::scenario(&format!(
        "duration = \"60s\"\nwarmup = \"20s\"\n[packets]\ndata = \"1500B\"\n\
         [topology]\nkind = \"dumbbell\"\nrate = \"40Mbps\"\nrtt = \"20ms\"\nbuffer = \"1000pkt\"\n\
         queue = {queue}\n{flows}\n\
         [probe]\nseries = [\"router\"]\n\
         every = \"16ms\"\n"
    ));
    common::run(&scenario, 1, 0)
}

const CLASSIC: &str = "[flows.classic]\nprotocol = { kind = \"sack\", ecn = true }\ncount = 2\n\
                       start = \"uniform(0s, 1s)\"\n";
const SCALABLE: &str = "[flows.scalable]\nprotocol = { kind = \"dctcp\", ect1 = true }\ncount = 2\n\
                        start = \"uniform(0s, 1s)\"\n";

/// Mean over a series' steps of `weight(p)` times how many packets were seen in the step, and how
/// many were picked, after the warm-up.
fn expected_and_picked(outcome: &Outcome, queue: char, weight: impl Fn(f64) -> f64) -> (f64, f64) {
    let of = |name: &str| common::rows_of(outcome, &format!("router_{name}"), 0);
    let (p, seen, picked) = (of("p"), of(&format!("{queue}_seen")), of(&format!("{queue}_picked")));
    let late = p.iter().position(|(t, _)| *t >= 20.0).expect("the run is longer than its warm-up");
    let steps = (late + 1)..p.len();
    let expected = steps.clone().map(|i| weight(p[i - 1].1) * (seen[i].1 - seen[i - 1].1)).sum();
    (expected, picked[p.len() - 1].1 - picked[late].1)
}

/// Section 2.1: p_C = p'^2 and p_L = k p', in the mean of a run of both kinds of flows within 5 %.
/// The step is out of the way, so that all marks are the coupling's.
#[test]
fn the_queues_are_coupled_by_the_square_and_k() {
    for k in [1, 2, 3] {
        let queue = format!("{{ kind = \"dualpi2\", k = {k}, threshold = \"4s\" }}");
        let flows = format!("{CLASSIC}{SCALABLE}").replace("count = 2", "count = 10");
        let outcome = run(&queue, &flows);
        for (name, (expected, picked)) in [
            ("C", expected_and_picked(&outcome, 'c', |p| p * p)),
            ("L", expected_and_picked(&outcome, 'l', |p| (f64::from(k) * p).min(1.0))),
        ] {
            println!("k = {k}, {name}: {picked} picked, {expected:.0} expected");
            assert!((picked / expected - 1.0).abs() < 0.05 + 4.0 / expected.sqrt(), "{name}");
        }
    }
}

/// Linux's defaults: the older head waits 15 ms in the mean, which is the controller's integral; a
/// scalable packet a millisecond or two behind its step; no packet is dropped, and the link is
/// busy. DCTCP's round trip is 15 ms shorter, and so its rate higher: section 2.1 has equal rates
/// at equal round trips only.
#[test]
fn each_queue_has_its_delay() {
    let outcome = run("\"dualpi2\"", &format!("{CLASSIC}{SCALABLE}"));
    let ages = common::rows_of(&outcome, "router_qdelay", 0);
    let late: Vec<f64> = ages.iter().filter(|(t, _)| *t >= 20.0).map(|(_, age)| *age).collect();
    let classic = common::mean(&late);
    let scalable = common::group(&outcome, "scalable").map(|flow| flow.srtt_s.expect("it sent"));
    let scalable = scalable.fold(0.0, f64::max) - 0.02;
    let link = common::link(&outcome, "bottleneck");
    let [c, l] = ["classic", "scalable"].map(|group| common::mean_mbps(&outcome, group));
    println!("classic {classic:.4} s, {c:.1} Mb/s; scalable {scalable:.4} s, {l:.1} Mb/s");
    assert!((classic - 0.015).abs() < 0.001, "{classic}");
    assert!(scalable < 0.003, "{scalable}");
    assert!(link.utilization_ratio > 0.98 && link.total_drops_pkts == 0);
}

/// Section 4.2.2, overload: of 60 Mb/s that answer nothing and are not ECN-capable 40 get through,
/// so a third is dropped by p'^2; p' is 0.58 then, and k p' above 1.
#[test]
fn unresponsive_traffic_is_dropped() {
    let udp = "[flows.flood]\nprotocol = \"udp\"\nrate = \"60Mbps\"\n";
    let outcome = run("\"dualpi2\"", &format!("{udp}{SCALABLE}"));
    let link = common::link(&outcome, "bottleneck");
    let p = common::rows_of(&outcome, "router_p", 0);
    let p =
        common::mean(&p.iter().filter(|(t, _)| *t >= 20.0).map(|(_, p)| *p).collect::<Vec<_>>());
    println!("drops {:.3}, p' {p:.3}", link.drop_ratio);
    assert!((link.drop_ratio - 1.0 / 3.0).abs() < 0.01, "{}", link.drop_ratio);
    assert!((p - f64::sqrt(1.0 / 3.0)).abs() < 0.02, "{p}");
    assert!(link.utilization_ratio > 0.99);
}

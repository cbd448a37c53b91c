//! What the papers claim of XCP, iXCP and P-XCP beyond `claims.rs`. The long runs are ignored:
//! `cargo test --profile ci -p clearpipe-net --test it xcp_family -- --ignored --nocapture` prints
//! their tables.

use clearpipe_net::Outcome;
use scenario::Scenario;

use crate::common::{self, mean, mean_mbps, rows_of, scenario};

fn run(scenario: &Scenario) -> Outcome {
    common::run(scenario, 1, 0)
}

/// An example with all its links' queues and all its groups' protocols of that kind.
fn family(name: &str, queue: &str, protocol: &str, more: &[&str]) -> Scenario {
    let plain = common::example(name, &[]);
    let links = plain.links.iter().filter(|link| !link.name.ends_with(".reverse"));
    let mut sets: Vec<String> =
        links.map(|link| format!("links.{}.queue={queue}", link.name)).collect();
    let groups = plain.groups.iter();
    sets.extend(groups.map(|group| format!("flows.{}.protocol={protocol}", group.name)));
    sets.extend(more.iter().map(|&set| set.to_owned()));
    common::example(name, &sets.iter().map(String::as_str).collect::<Vec<_>>())
}

fn utilization(outcome: &Outcome, link: &str) -> f64 {
    common::link(outcome, link).utilization_ratio
}

fn drops(outcome: &Outcome) -> u64 {
    outcome.tables.links.iter().map(|link| link.total_drops_pkts).sum()
}

/// The mean of a series from one instant to another [s].
fn mean_over(outcome: &Outcome, name: &str, id: u32, from: f64, to: f64) -> f64 {
    let rows = rows_of(outcome, name, id).into_iter();
    mean(&rows.filter(|row| from < row.0 && row.0 <= to).map(|row| row.1).collect::<Vec<_>>())
}

// Theory.

const ALPHA: f64 = 0.4;
const GAMMA: f64 = 0.1;

/// Low, Andrew, Wydrowski's equilibrium on iXCP's two links: the rate x of the short flow beside
/// `n` long ones [Mb/s]. What shuffling and spare bandwidth give each flow, gamma*y/(n + 1), is
/// what shuffling takes from the short one: (gamma*y - alpha*(C - y))*x/y.
fn low(n: f64) -> f64 {
    let (mut below, mut above) = (0.0, 55.0);
    for _ in 0..100 {
        let x = (below + above) / 2.0;
        let y = 100.0 + x;
        let gain = GAMMA * y / (n + 1.0) - (GAMMA * y - ALPHA * (155.0 - y)) * x / y;
        if gain > 0.0 { below = x } else { above = x }
    }
    below
}

#[test]
fn lows_equilibrium_has_the_tables_numbers() {
    for (n, x) in [
        (2.0, 53.38),
        (4.0, 43.02),
        (8.0, 35.49),
        (16.0, 30.56),
        (32.0, 27.58),
        (64.0, 25.88),
        (1024.0, 24.13),
        (1e9, 24.0),
    ] {
        assert!((low(n) - x).abs() < 0.01, "{n} {}", low(n));
    }
    // alpha/(alpha + gamma) of 155 Mb/s.
    assert!(((100.0 + low(1e9)) / 155.0 - 0.8).abs() < 1e-6);
}

// Two bottlenecks: iXCP's figures 4, 5 and 27.

#[test]
fn xcp_leaves_what_lows_model_says_and_ixcp_nothing() {
    let short = ["duration=30s", "flows.long.count=4"];
    let xcp = run(&family("ixcp-fig04", "xcp", "xcp", &short));
    // Within 4 % of 43.02 Mb/s, and the long flows have their 25.
    assert!(
        (mean_mbps(&xcp, "short") / low(4.0) - 1.0).abs() < 0.04,
        "{}",
        mean_mbps(&xcp, "short")
    );
    assert!((mean_mbps(&xcp, "long") / 25.0 - 1.0).abs() < 0.04);
    let ixcp = run(&family("ixcp-fig04", "ixcp", "ixcp", &short));
    assert!(utilization(&ixcp, "l1") > 0.97 && mean_mbps(&ixcp, "short") > 0.9 * 55.0);
    assert!((mean_mbps(&ixcp, "long") / 25.0 - 1.0).abs() < 0.04);
    assert_eq!(drops(&xcp) + drops(&ixcp), 0);
    assert!(common::link(&ixcp, "l1").queue_mean_ratio < 0.1);
}

#[test]
fn pxcp_helps_where_the_bottleneck_comes_first() {
    let short = ["duration=30s"];
    let of = |example, kind| mean_mbps(&run(&family(example, kind, kind, &short)), "short");
    let (xcp, pxcp) = (of("ixcp-fig27", "xcp"), of("ixcp-fig27", "pxcp"));
    assert!(pxcp > xcp + 3.0, "{xcp} {pxcp}");
    // Behind, the router cannot see it: within 10 % of XCP (section IV-H).
    let two = ["duration=30s", "flows.long.count=4"];
    let of = |kind| mean_mbps(&run(&family("ixcp-fig04", kind, kind, &two)), "short");
    assert!((of("pxcp") / of("xcp") - 1.0).abs() < 0.10);
}

// Five bottlenecks: figures 6 to 8.

/// Groups, their max-min rates and their bottlenecks.
const GROUPS: [(&str, f64, &str); 5] = [
    ("g1", 10.0, "l1"),
    ("g2", 8.0, "l2"),
    ("g3", 4.0, "l3"),
    ("g4", 3.0, "l4"),
    ("g5", 2.0, "l5"),
];

#[test]
fn ixcp_fills_five_bottlenecks_max_min() {
    let outcome = run(&family("ixcp-fig07", "ixcp", "ixcp", &["duration=20s", "warmup=10s"]));
    for (group, rate, link) in GROUPS {
        let ratio = mean_mbps(&outcome, group) / rate;
        assert!((ratio - 1.0).abs() < 0.05, "{group} {ratio}");
        assert!(utilization(&outcome, link) > 0.95, "{link}");
    }
}

// Flows that come and go: figures 10 to 14.

/// The three phases: from, to [s], and (flow, max-min rate [Mb/s]); flows 0 long, 1 to 4 s1 to s4,
/// 5 to 7 s5 to s7.
type Phase = (f64, f64, &'static [(u32, f64)]);
const PHASES: [Phase; 3] = [
    (12.0, 20.0, &[(0, 40.0), (1, 110.0), (2, 60.0), (3, 40.0), (4, 40.0)]),
    (
        32.0,
        40.0,
        &[(0, 30.0), (1, 30.0), (2, 70.0), (3, 45.0), (4, 45.0), (5, 30.0), (6, 30.0), (7, 30.0)],
    ),
    (50.0, 60.0, &[(0, 50.0), (1, 100.0), (2, 50.0), (3, 70.0)]),
];

#[test]
fn ixcp_follows_a_bottleneck_that_moves() {
    let outcome = run(&family("ixcp-fig12", "ixcp", "ixcp", &[]));
    for (from, to, flows) in PHASES {
        for &(flow, rate) in flows {
            let got = mean_over(&outcome, "goodput_bps", flow, from, to) / 1e6;
            assert!((got / rate - 1.0).abs() < 0.05, "{from}: flow {flow} has {got}, not {rate}");
        }
    }
}

// XCP's own figures 12 and 16.

#[test]
fn rates_are_in_proportion_to_the_price() {
    let outcome = run(&common::example("xcp-fig12", &[]));
    let rate = |flow, from, to| mean_over(&outcome, "goodput_bps", flow, from, to) / 1e6;
    // 5, 3 1/3, 1 2/3 Mb/s; then 6 2/3 and 3 1/3 (section 6).
    for (flow, mbps) in [(0, 5.0), (1, 10.0 / 3.0), (2, 5.0 / 3.0)] {
        assert!((rate(flow, 2.0, 15.0) / mbps - 1.0).abs() < 0.05, "{flow}");
    }
    for (flow, mbps) in [(1, 20.0 / 3.0), (2, 10.0 / 3.0)] {
        assert!((rate(flow, 17.5, 20.0) / mbps - 1.0).abs() < 0.05, "{flow}");
    }
    let ends: Vec<f64> =
        outcome.tables.flows.iter().map(|flow| flow.finish_s.unwrap_or(f64::NAN)).collect();
    // 80 Mbit at 5 Mb/s; what is left of the second, 80 - 16*10/3, at 20/3; the rest at 10 Mb/s.
    for (end, s) in ends.iter().zip([16.0, 20.0, 24.0]) {
        assert!((end / s - 1.0).abs() < 0.05, "{ends:?}");
    }
}

#[test]
fn an_rtt_ten_times_as_long_gets_the_same_rate() {
    // The transfers of 10 MB end before the rates have met; longer ones show where they go.
    let sets = ["flows.near.size=100MB", "flows.far.size=100MB", "duration=12s"];
    let outcome = run(&common::example("xcp-fig16", &sets));
    let rate = |flow| mean_over(&outcome, "goodput_bps", flow, 8.0, 12.0);
    let (a, b) = (rate(0), rate(1));
    assert!((a - b).abs() / (a + b) < 0.05, "{a} {b}");
    assert!(a + b > 0.95 * 45e6);
}

// A capacity that is not what the router believes, or changes.

#[test]
fn a_capacity_believed_too_high_stands_as_a_queue_and_too_low_stays_unused() {
    let with = |error: &str| {
        let error = format!("queues.router.capacity_error={error}");
        let sets = [error.as_str(), "duration=20s", "warmup=10s", "topology.steps=[]"];
        run(&common::example("xcp-capacity", &sets))
    };
    let high = with("0.1");
    // alpha*d*0.1*C = beta*Q with d = 80 ms + Q/C: Q/C = 0.177*d, Q = 0.215 BDP.
    let q = 0.1 * 0.4 / 0.226;
    let expected = q / (1.0 - q);
    let link = common::link(&high, "bottleneck");
    assert!(link.utilization_ratio > 0.99);
    assert!((link.queue_mean_ratio / expected - 1.0).abs() < 0.15, "{}", link.queue_mean_ratio);
    let low = with("-0.1");
    let link = common::link(&low, "bottleneck");
    assert!((link.utilization_ratio - 0.9).abs() < 0.02, "{}", link.utilization_ratio);
    assert!(link.queue_mean_ratio < 0.02);
    assert_eq!(drops(&high) + drops(&low), 0);
}

/// 100, 50 and again 100 Mb/s, believed right, too low or too high by a tenth: the queue is that of
/// the test above, the link never falls far, and nothing is dropped.
#[test]
fn a_wrong_and_a_changing_capacity_collapse_nothing() {
    for kind in ["xcp", "ixcp", "pxcp"] {
        for (error, believed, queue) in [("-0.1", 0.9, 0.0), ("0.0", 1.0, 0.0), ("0.1", 1.0, 0.215)]
        {
            let sets = [
                format!("queues.router.kind={kind}"),
                format!("flows.fwd.protocol={kind}"),
                format!("queues.router.capacity_error={error}"),
            ];
            let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
            let o = run(&common::example("xcp-capacity", &sets));
            let what = format!("{kind} {error}");
            // What a BDP holds at each rate [packets].
            for (from, to, bdp) in [(10.0, 20.0, 1000.0), (30.0, 40.0, 500.0), (50.0, 60.0, 1000.0)]
            {
                let u = mean_over(&o, "utilization_ratio", 0, from, to);
                assert!((u - believed).abs() < 0.01, "{what} from {from} s: {u}");
                let q = mean_over(&o, "queue_pkts", 0, from, to) / bdp;
                assert!((q - queue).abs() < 0.02, "{what} from {from} s: {q}");
            }
            for (from, to) in [(20.0, 22.0), (40.0, 42.0)] {
                let u = mean_over(&o, "utilization_ratio", 0, from, to);
                assert!(u > 0.9 * believed, "{what} from {from} s: {u}");
            }
            assert_eq!(drops(&o), 0, "{what}");
        }
    }
}

// Senders.

/// Twenty flows on a line that loses 1 % of the data.
fn lossy(protocol: &str, queue: &str) -> f64 {
    let text = format!(
        "duration = \"20s\"\nwarmup = \"5s\"\n[topology]\nkind = \"dumbbell\"\nrate = \"20Mbps\"\n\
         rtt = \"80ms\"\nqueue = \"{queue}\"\nloss = {{ kind = \"random\", p = \"1%\", data_only = true }}\n\
         [flows.fwd]\nprotocol = {protocol}\ncount = 4\n"
    );
    utilization(&run(&scenario(&text)), "bottleneck")
}

#[test]
fn losses_between_increases_are_not_taken_for_congestion() {
    let plain = lossy("{ kind = \"xcp\", recovery = \"sack\" }", "xcp");
    let told = lossy("{ kind = \"xcp\", recovery = \"sack\", losses = \"explicit\" }", "xcp");
    assert!(told > plain + 0.05, "{plain} {told}");
}

#[test]
fn a_flow_asks_for_no_more_than_its_application_wants() {
    // Two greedy flows and one whose application offers 2 of 20 Mb/s: max-min 9, 9, 2.
    let text = "duration = \"20s\"\nwarmup = \"10s\"\n[topology]\nkind = \"dumbbell\"\n\
        rate = \"20Mbps\"\nrtt = \"80ms\"\nqueue = \"ixcp\"\n[flows.greedy]\nprotocol = \"ixcp\"\n\
        count = 2\n[flows.modest]\nprotocol = { kind = \"ixcp\", rate = 2e6 }\n\
        rate = \"2Mbps\"\n[probe]\nseries = [\"cwnd\"]\nevery = \"100ms\"\n";
    let outcome = run(&scenario(text));
    assert!((mean_mbps(&outcome, "modest") / 2.0 - 1.0).abs() < 0.05);
    assert!((mean_mbps(&outcome, "greedy") / 9.0 - 1.0).abs() < 0.05);
    // r*srtt: 2 Mb/s over 80 ms are 20 packets.
    let cwnd = mean_over(&outcome, "cwnd_pkts", 2, 10.0, 20.0);
    assert!((cwnd / 20.0 - 1.0).abs() < 0.10, "{cwnd}");
}

#[test]
fn other_fairness_laws_lead_to_equal_rates_too() {
    for law in ["aimd", "sqrt", "iiad"] {
        let text = format!(
            "duration = \"30s\"\nwarmup = \"20s\"\n[topology]\nkind = \"dumbbell\"\n\
             rate = \"20Mbps\"\nrtt = \"80ms\"\nqueue = {{ kind = \"xcp-law\", preset = \"{law}\" }}\n\
             [flows.first]\nprotocol = \"xcp\"\ncount = 2\n\
             [flows.late]\nprotocol = \"xcp\"\nrtt = \"40ms\"\nstart = \"5s\"\n"
        );
        let outcome = run(&scenario(&text));
        let rates = ["first", "late"].map(|group| mean_mbps(&outcome, group) / (20.0 / 3.0));
        assert!(rates.iter().all(|rate| (rate - 1.0).abs() < 0.05), "{law}: {rates:?}");
    }
}

// Beyond the paper.

#[test]
fn ixcp_plus_gives_one_flow_among_many_what_they_leave() {
    let sets = ["duration=20s", "warmup=10s", "flows.long.count=128"];
    let outcome = run(&family("ixcp-fig04", "ixcp-plus", "ixcp-plus", &sets));
    // iXCP has 0.90 and 0.73 of it, after a minute.
    assert!(utilization(&outcome, "l1") > 0.97, "{}", utilization(&outcome, "l1"));
    assert!(mean_mbps(&outcome, "short") > 0.9 * 55.0, "{}", mean_mbps(&outcome, "short"));
    assert!((mean_mbps(&outcome, "long") / (100.0 / 128.0) - 1.0).abs() < 0.05);
}

/// What the links leave unused of what max-min would have [Mb/s]: with web traffic both are full.
fn unused(outcome: &Outcome) -> f64 {
    (1.0 - utilization(outcome, "l1")) * 155.0 + (1.0 - utilization(outcome, "l2")) * 100.0
}

#[test]
fn ixcp_plus_loses_less_than_half_of_what_xcp_loses_under_web_traffic() {
    let of = |kind| {
        let sets = ["duration=12s", "warmup=4s"];
        unused(&run(&family("ixcp-fig17", kind, kind, &sets)))
    };
    let (xcp, plus) = (of("xcp"), of("ixcp-plus"));
    assert!(plus < 0.5 * xcp, "{xcp} {plus}");
}

/// More than the paper says of iXCP up to 256 flows, for up to 1024.
#[test]
fn ixcp_plus_fills_both_links_with_up_to_1024_flows() {
    for n in [4, 16, 64, 256, 512, 1024] {
        let count = format!("flows.long.count={n}");
        let o = run(&family("ixcp-fig04", "ixcp-plus", "ixcp-plus", &[&count]));
        for link in ["l1", "l2"] {
            let u = utilization(&o, link);
            assert!(u > 0.99, "{n} flows, {link}: {u}");
        }
        let short = mean_mbps(&o, "short") / 55.0;
        assert!(short > 0.98, "{n} flows: {short} of max-min");
    }
}

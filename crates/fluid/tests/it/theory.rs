//! Equilibria and limits that the papers derive.

use crate::common::{dumbbell, fluid, goodputs, near, parse, series};

#[test]
fn xcp_splits_a_bottleneck_equally_whatever_the_rtts() {
    let flows = "count = 4\nrtt = [\"20ms\", \"50ms\", \"100ms\", \"200ms\"]";
    let text = dumbbell("xcp", "50Mbps", "50ms", flows);
    let outcome = fluid(&parse(&text, &["topology.owd=2ms"]));
    for goodput in goodputs(&outcome.tables) {
        assert!(near(goodput, 12.5e6, 0.002), "{goodput}");
    }
    assert!(near(outcome.tables.links[0].utilization_ratio, 1.0, 0.002));
}

#[test]
fn xcp_rates_go_by_the_prices() {
    let text = dumbbell("xcp", "40Mbps", "50ms", "")
        + "[flows.b]\nprotocol = { kind = \"xcp\", price = 3.0 }\n";
    let goodputs = goodputs(&fluid(&parse(&text, &[])).tables);
    assert!(near(goodputs[0], 10e6, 0.005) && near(goodputs[1], 30e6, 0.005), "{goodputs:?}");
}

/// Figure 1 of iXCP's paper: four long flows over 155 and 100 Mb/s and a short one on the first
/// link alone.
fn figure_1(protocol: &str) -> String {
    let link = |name: &str, ends: [&str; 2], rate| {
        format!(
            "[links.{name}]\nfrom = \"{}\"\nto = \"{}\"\nrate = \"{rate}Mbps\"\nowd = \"10ms\"\n\
             queue = \"{protocol}\"\nduplex = true\n",
            ends[0], ends[1]
        )
    };
    let flows = |name: &str, count, to: &str| {
        format!(
            "[flows.{name}]\nprotocol = \"{protocol}\"\ncount = {count}\nfrom = \"a\"\nto = \"{to}\"\n\
             rtt = \"80ms\"\n"
        )
    };
    "schema = 1\nname = \"low\"\nduration = \"60s\"\nwarmup = \"50%\"\n".to_owned()
        + &link("l1", ["a", "b"], 155)
        + &link("l2", ["b", "c"], 100)
        + &flows("long", 4, "c")
        + &flows("short", 1, "b")
}

/// Low, Andrew, Wydrowski, INFOCOM 2005: the long ones have 25 Mb/s each; with y = 100 + x the
/// short one gains (alpha*(C - y) + gamma*y - alpha*(C - y))/5 and loses (gamma*y - alpha*(C -
/// y))*x/y.
#[test]
fn xcp_leaves_bandwidth_unused_where_low_says_so() {
    let (alpha, gamma) = (0.4, 0.1);
    let balance = |x: f64| {
        let y = 100.0 + x;
        let spare = alpha * (155.0 - y);
        gamma * y / 5.0 - (gamma * y - spare) * x / y
    };
    let (mut low, mut high) = (25.0, 55.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if balance(middle) > 0.0 { low = middle } else { high = middle }
    }
    // As the paper has it: 43 Mb/s, and 12 Mb/s unused.
    assert!((low - 43.0).abs() < 0.1 && (55.0 - low - 12.0).abs() < 0.1, "{low}");
    let outcome = fluid(&parse(&figure_1("xcp"), &[]));
    let goodputs = goodputs(&outcome.tables);
    assert!(near(goodputs[4], low * 1e6, 0.002), "{goodputs:?}");
    assert!(near(goodputs[0], 25e6, 0.002));
}

/// iXCP's rates are max-min fair with all links full (section V): the short flow has what is left,
/// 55, where XCP leaves 12 of it.
#[test]
fn ixcp_uses_what_xcp_leaves() {
    let rates = goodputs(&fluid(&parse(&figure_1("ixcp"), &[])).tables);
    assert!(near(rates[0], 25e6, 0.01) && near(rates[4], 55e6, 0.01), "{rates:?}");
}

#[test]
fn ixcp_is_fair_on_one_link() {
    let flows = "count = 4\nrtt = [\"40ms\", \"60ms\", \"80ms\", \"160ms\"]\nstart = \"every(2s)\"";
    let text = dumbbell("ixcp", "40Mbps", "60ms", flows);
    for rate in goodputs(&fluid(&parse(&text, &["topology.owd=5ms"])).tables) {
        assert!(near(rate, 10e6, 0.01), "{rate}");
    }
}

/// Xia et al., section V-A: gamma*C/N + alpha/(kappa*T), here with T = t_rho = t_d = 200 ms, for
/// RTTs of 60 to 200 ms: 98 % of 40 Mb/s are 4900 packets/s, and 1/(0.25*0.2) = 20 packets/s more.
#[test]
fn vcps_model_rests_at_its_equilibrium() {
    for n in 1..=3 {
        let rtts = &["\"60ms\"", "\"100ms\"", "\"200ms\""][..n];
        let flows = format!("count = {n}\nrtt = [{}]", rtts.join(", "));
        let text = dumbbell("vcp", "40Mbps", "100ms", &flows);
        let scenario =
            parse(&text, &["fluid.vcp=miaimd", "duration=1000s", "warmup=90%", "topology.owd=5ms"]);
        let want = (4900.0 / n as f64 + 20.0) * 8000.0;
        for goodput in goodputs(&fluid(&scenario).tables) {
            assert!(near(goodput, want, 0.002), "{n} flows: {goodput}, not {want}");
        }
    }
}

/// Misra, Gong, Towsley: w = sqrt(2/p) with marks, and all flows alike.
#[test]
fn reno_over_red_obeys_the_square_root_formula() {
    let red = "\n[queues.soft]\nkind = \"red\"\nmin_th = 20.0\nmax_th = 400.0\nmax_p = 0.1\nw_q = 0.002\n";
    let text = dumbbell("reno", "20Mbps", "100ms", "count = 20") + red;
    let text = text.replace("protocol = \"reno\"", "protocol = { kind = \"reno\", ecn = true }");
    let sets = [
        "topology.queue=soft",
        "topology.buffer=1MB",
        "probe.series=[\"cwnd\", \"router\", \"srtt\"]",
    ];
    let tables = fluid(&parse(&text, &sets)).tables;
    let last = |name| series(&tables, name, 0).last().expect("a sample").1;
    let (w, p_b) = (last("cwnd_pkts"), last("router_p_b"));
    // One mark in a mean gap of 1.5/p_b - 0.5 packets.
    let p = 1.0 / (1.5 / p_b - 0.5);
    assert!(near(w, (2.0 / p).sqrt(), 0.01), "w = {w}, p = {p}");
    assert!(near(20.0 * w / last("srtt_s"), 2500.0, 0.01));
}

#[test]
fn droptail_loses_what_reno_sends_too_much() {
    let text = dumbbell("reno", "20Mbps", "100ms", "count = 10");
    let outcome = fluid(&parse(&text, &["topology.queue=droptail"]));
    let link = &outcome.tables.links[0];
    // 10 flows with 2500 packets/s at an RTT of 200 ms have w = 50, and rest at p = 2/2500. With
    // the delay of 200 ms they circle around that, and the mean of 2/w^2 over a cycle lies above.
    let p = 2.0 / 2500.0;
    assert!((p..1.5 * p).contains(&link.drop_ratio), "{}", link.drop_ratio);
    assert!((0.7..=1.0).contains(&link.queue_mean_ratio), "{}", link.queue_mean_ratio);
    // What did not leave was dropped, or is on its way: 10 windows of some 50.
    let sent = outcome.tables.flows.iter().map(|flow| flow.sent_pkts).sum::<u64>() as f64;
    let gone = (link.total_departures_pkts + link.total_drops_pkts + link.queued_end_pkts) as f64;
    assert!(near(gone, sent, 0.005), "{gone} {sent}");
}

#[test]
fn a_transfer_takes_its_volume_over_its_rate() {
    let text = dumbbell("xcp", "8Mbps", "40ms", "size = \"10MB\"");
    let tables = fluid(&parse(&text, &["duration=20s", "warmup=0s"])).tables;
    let flow = &tables.flows[0];
    // 10 MB at 1 MB/s, and what the start took: under a second.
    let fct = flow.fct_s.expect("it finishes");
    assert!((10.0..10.9).contains(&fct), "{fct}");
    assert_eq!((flow.delivered_bytes, flow.delivered_pkts), (10_000_000, 10_000));
    assert!(near(tables.links[0].departures_bytes as f64, 1e7, 0.003));
}

#[test]
fn classes_cost_and_not_flows() {
    let one = fluid(&parse(&dumbbell("xcp", "100Mbps", "50ms", "count = 1"), &[]));
    let many = fluid(&parse(&dumbbell("xcp", "100Gbps", "50ms", "count = 1000"), &[]));
    assert_eq!((one.numerics.classes, many.numerics.classes), (1, 1));
    assert!(many.numerics.steps < 2 * one.numerics.steps);
    let goodputs = goodputs(&many.tables);
    assert_eq!(goodputs.len(), 1000);
    assert!(near(goodputs[999], 100e6, 0.002));
}

#[test]
fn what_has_no_fluid_form_is_refused_by_name() {
    let base = dumbbell("xcp", "10Mbps", "50ms", "");
    let cases = [
        ("topology.loss=1%", "links.bottleneck.loss"),
        ("topology.down=[[\"1s\", \"2s\"]]", "links.bottleneck.down"),
        ("flows.a.rate=1Mbps", "flows.a.rate"),
        ("flows.a.arrivals=poisson(3/s)\nflows.a.size=1MB", "flows.a.arrivals"),
        ("transport.delayed_ack=200ms", "transport.delayed_ack"),
        ("transport.undo=dsack", "transport.undo"),
        ("transport.byte_counting=2", "transport.byte_counting"),
        ("probe.series=[\"sender\"]", "probe.series"),
        ("flows.a.protocol={kind=\"xcp\", header_cwnd=\"floor\"}", "header_cwnd"),
        ("flows.a.protocol={kind=\"xcp\", rate=5e6}", "rate"),
        (
            "flows.a.protocol={kind=\"mlcp\", kappa=0.3}\n\
             topology.queue={kind=\"mlcp\", mean_every=\"T\", t=\"20ms\"}",
            "t",
        ),
        ("flows.a.protocol={kind=\"dpcp\", gap=5.0}", "gap"),
        ("flows.a.protocol={kind=\"dpcp\", downgrade_after=9}", "downgrade_after"),
        ("flows.a.protocol={kind=\"dpcp\", pace_large_rtt=false}", "pace_large_rtt"),
        ("flows.a.protocol={kind=\"vcp\", pacing=1.2}", "pacing"),
        ("topology.queue={kind=\"dpcp\", flag_slots=9}", "flag_slots"),
        ("topology.queue={kind=\"vcp\", marking=\"red\"}", "marking"),
        ("topology.queue={kind=\"vcp\", adapt_gamma=true}", "adapt_gamma"),
        ("flows.a.protocol={kind=\"vcp\", ai_scaling=\"window\"}", "ai_scaling"),
        ("flows.a.protocol={kind=\"vcp\", beta=0.7}\nfluid.vcp=miaimd", "beta"),
        ("flows.a.protocol={kind=\"cubic\", slow_start=\"hystart\"}", "slow_start"),
        ("flows.a.protocol={kind=\"reno\", paced=true}", "paced"),
        ("topology.queue={kind=\"red\", by_size=true}", "by_size"),
        ("topology.queue={kind=\"red\", target_delay=\"5ms\"}", "target_delay"),
        ("topology.queue={kind=\"xcp\", overdraw=true}", "overdraw"),
        ("topology.queue={kind=\"xcp\", xi_scale=1.1}", "xi_scale"),
        ("topology.queue={kind=\"xcp\", max_rtt=\"1s\"}", "max_rtt"),
        ("flows.a.protocol=vegas", "flows.a.protocol"),
        ("topology.queue=codel", "queues.codel"),
    ];
    for (sets, key) in cases {
        let sets: Vec<&str> = sets.split('\n').collect();
        let scenario = parse(&base, &sets);
        let error = clearpipe_fluid::check(&scenario).expect_err(key);
        assert!(error.key.contains(key), "{error}");
        assert!(error.reason.contains("fluid form") || error.reason.contains("there"), "{error}");
    }
}

#[test]
fn probes_change_nothing() {
    let text = dumbbell("xcp", "20Mbps", "50ms", "count = 3\nstart = \"every(1s)\"");
    let plain = fluid(&parse(&text, &[]));
    let sets = ["probe.series=[\"cwnd\", \"queue\", \"router\"]", "probe.every=7ms"];
    let probed = fluid(&parse(&text, &sets));
    assert_eq!(plain.fingerprint, probed.fingerprint);
    assert_eq!(plain.tables.flows, probed.tables.flows);
}

/// A parameter that has a fluid form moves the result: each of these matters in its scenario.
#[test]
fn what_is_read_is_used() {
    let scenario = |protocol: &str, rtt: &str, sets: &[&str]| {
        let text = dumbbell(protocol, "2Mbps", rtt, "");
        fluid(&parse(&text, &[&["duration=60s", "warmup=0s"], sets].concat())).fingerprint
    };
    let cases = [
        ("mlcp", "80ms", &["kappa=0.3", "alpha=2.0", "beta_max=0.8", "beta_min=0.5"][..]),
        ("mlcp", "900ms", &["mi_limit=1.5"]),
        ("dpcp", "80ms", &["kappa=0.3", "alpha=2.0", "weight=2.0", "t_rho=100ms", "t_d=100ms"]),
        ("dpcp", "800ms", &["mi_limit=1.5", "bounds=false", "ai_limit_high=400ms"]),
        ("cubic", "80ms", &["c=0.2", "beta=0.8"]),
        ("cubic", "10ms", &["tcp_friendly=false"]),
        ("vcp", "80ms", &["t_rho=100ms", "t_d=100ms", "kappa=0.3", "alpha=2.0"]),
        ("vcp", "200ms", &["beta=0.8"]),
    ];
    for (protocol, rtt, changes) in cases {
        let queue = if protocol == "cubic" { "droptail" } else { protocol };
        let queue = format!("topology.queue={queue}");
        let plain = scenario(protocol, rtt, &[&queue]);
        for change in changes {
            let (key, value) = change.split_once('=').expect("key=value");
            let value =
                if value.ends_with('s') { format!("\"{value}\"") } else { value.to_owned() };
            let set = format!("flows.a.protocol={{kind=\"{protocol}\", {key}={value}}}");
            assert_ne!(scenario(protocol, rtt, &[&queue, &set]), plain, "{protocol} {change}");
        }
    }
    for (kind, rtt, changes) in [
        // MLCP's period moves only where the RTT is far from 200 ms, and slowly down from there.
        ("mlcp", "60ms", &["first_rtt=true", "phi=0.1", "gamma=0.9", "mean_every=\"T\""][..]),
        ("mlcp", "900ms", &["adapt_t_p=false", "kappa_q=0.0", "t=\"40ms\""]),
        ("dpcp", "60ms", &["t_rho=\"100ms\"", "gamma=0.9", "priority=false"]),
        ("vcp", "60ms", &["high_load=0.7", "overload=0.9"]),
    ] {
        let queue = format!("topology.queue={kind}");
        let reverse = "flows.b={protocol=\"xcp\", direction=\"reverse\"}".replace("xcp", kind);
        let plain = scenario(kind, rtt, &[&queue, &reverse]);
        for change in changes {
            let set = format!("topology.queue={{kind=\"{kind}\", {change}}}");
            assert_ne!(scenario(kind, rtt, &[&set, &reverse]), plain, "{kind} {change}");
        }
    }
}

/// Two flows from different instants on a link of 10 Mb/s: they use what their protocol aims at,
/// equally.
#[test]
fn mlcp_and_dpcp_fill_a_link_and_share_it() {
    for (name, least) in [("mlcp", 0.9), ("dpcp", 0.75)] {
        let text = dumbbell(name, "10Mbps", "100ms", "count = 2\nstart = \"every(5s)\"");
        let tables = fluid(&parse(&text, &["duration=400s"])).tables;
        let used = tables.links[0].utilization_ratio;
        assert!((least..=1.0).contains(&used), "{name}: {used}");
        let rates = goodputs(&tables);
        assert!(near(rates[0], rates[1], 0.1), "{name}: {rates:?}");
        assert_eq!(tables.links[0].total_drops_pkts, 0, "{name}");
    }
}

#[test]
fn cubic_fills_a_droptail_link() {
    let text = dumbbell("cubic", "50Mbps", "100ms", "count = 5");
    let tables = fluid(&parse(&text, &["duration=120s", "topology.queue=droptail"])).tables;
    let link = &tables.links[0];
    assert!(link.utilization_ratio > 0.95, "{}", link.utilization_ratio);
    assert!((1e-6..0.01).contains(&link.drop_ratio), "{}", link.drop_ratio);
}

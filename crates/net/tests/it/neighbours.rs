//! The neighbours of XCP and VCP: explicit rates by other laws. `--nocapture` prints what they do.

use clearpipe_net::Outcome;
use results::Series;

use crate::common::{self, series};

/// A dumbbell of 40 Mb/s (5000 packets/s of 1000 B) and 80 ms with `kind` at both ends and routers,
/// and these groups.
fn run(kind: &str, duration: u64, groups: &str) -> Outcome {
    let text = format!(
        "schema = 1\nname = \"{kind}\"\nduration = \"{duration}s\"\nwarmup = \"0s\"\n\
         [packets]\ndata = \"1000B\"\n[topology]\nkind = \"dumbbell\"\nrate = \"40Mbps\"\n\
         rtt = \"80ms\"\nbuffer = \"2bdp\"\nqueue = \"{kind}\"\n{groups}\n\
         [probe]\nevery = \"20ms\"\nseries = [\"goodput\", \"cwnd\", \"utilization\"]\n"
    );
    let parsed = scenario::parse("neighbours.toml", &text, &[]);
    common::run(&parsed.unwrap_or_else(|error| panic!("{error}")).scenario, 1, 0)
}

/// The mean of a series of one id over `(from, to]`.
fn mean(series: &Series, id: u32, (from, to): (f64, f64)) -> f64 {
    let rows = series.t_s.iter().zip(&series.id).zip(&series.value);
    let values = rows.filter(|((t, i), _)| **i == id && **t > from && **t <= to);
    let (sum, count) = values.fold((0.0, 0.0), |(sum, n), (_, value)| (sum + value, n + 1.0));
    assert!(count > 0.0);
    sum / count
}

/// RCP shares a link as a processor: N flows have C/N each a few RTTs after they have come.
#[test]
fn rcp_shares_as_a_processor() {
    for n in [1, 2, 5, 20] {
        let outcome =
            run("rcp", 8, &format!("[flows.f]\nprotocol = \"rcp\"\ncount = {n}\nstart = \"0s\""));
        let goodput = series(&outcome, "goodput_bps");
        let share = 40e6 / f64::from(n);
        // From 15 RTTs on for 5 RTTs, and at the end.
        for (from, to, within) in [(1.2, 1.6, 0.1), (6.0, 8.0, 0.02)] {
            let rates = (0..n).map(|flow| mean(goodput, flow, (from, to)) / share);
            let (least, most) = rates.fold((f64::MAX, 0.0_f64), |(l, m), r| (l.min(r), m.max(r)));
            println!("    {n} flows, {from} to {to} s: {least:.3} to {most:.3} of C/N");
            assert!(least > 1.0 - within && most < 1.0 + within, "{n}: {least} {most}");
        }
        assert_eq!(common::link(&outcome, "bottleneck").total_drops_pkts, 0);
    }
}

/// A flow that comes to four long ones has its rate after one RTT: 100 packets at a rate between
/// C/4, which R is when it comes, and C/5. Its first packet and its last ACK take a round trip
/// each.
#[test]
fn a_short_rcp_flow_takes_its_share_at_once() {
    let groups = "[flows.long]\nprotocol = \"rcp\"\ncount = 4\nstart = \"0s\"\n\
                  [flows.short]\nprotocol = \"rcp\"\nsize = \"100pkt\"\nstart = \"5s\"";
    let outcome = run("rcp", 8, groups);
    let short = common::group(&outcome, "short").next().expect("the flow");
    let fct = short.fct_s.expect("it is over");
    let (least, most) = (99.0 / 1250.0 + 0.16, 99.0 / 1000.0 + 0.16);
    println!("    100 packets in {fct:.4} s; processor sharing: {least:.4} to {most:.4}");
    // Twice a packet's way of three hops, and what waits when there is a fifth flow for an RTT.
    assert!(fct > least && fct < most + 0.02, "{fct}");
}

/// Quick-Start: one RTT after its first packet a sender sends at the rate that was approved, 5.12
/// Mb/s of the 10 asked for, so 51.2 packets in 80 ms.
#[test]
fn quick_start_has_its_rate_after_one_round_trip() {
    let transfer = |kind: &str, queue: &str| {
        let flows = format!("[flows.f]\nprotocol = \"{kind}\"\nsize = \"52pkt\"\nstart = \"0s\"");
        let outcome = run(queue, 3, &flows);
        outcome.tables.flows[0].fct_s.expect("it is over")
    };
    let outcome = run("quickstart", 3, "[flows.f]\nprotocol = \"quickstart\"\nstart = \"0s\"");
    // The answer is there after 80.5 ms; what is sent from then on for an RTT arrives from 121 ms
    // to 201 ms. What the ACKs of those packets let out comes after it.
    let rate = mean(series(&outcome, "goodput_bps"), 0, (0.13, 0.20));
    println!("    {:.2} Mb/s in the round after the answer", rate / 1e6);
    assert!((rate / 5.12e6 - 1.0).abs() < 0.05, "{rate}");
    let (quick, sack) = (transfer("quickstart", "quickstart"), transfer("sack", "droptail"));
    // The first packet, 51 packets paced over 79.7 ms, and the way of the last one.
    println!("    52 packets in {quick:.3} s, by SACK in {sack:.3} s");
    assert!((quick - (0.08 + 50.0 / 640.0 + 0.08)).abs() < 0.005, "{quick}");
    assert!(sack > quick + 0.1);
}

/// A full link approves nothing: the transfer takes as long as by slow start alone.
#[test]
fn quick_start_is_denied_on_a_full_link() {
    let groups = "[flows.long]\nprotocol = \"quickstart\"\ncount = 2\nstart = \"0s\"\n\
                  [flows.short]\nprotocol = \"quickstart\"\nsize = \"20pkt\"\nstart = \"6s\"";
    let outcome = run("quickstart", 9, groups);
    assert!(mean(series(&outcome, "utilization_ratio"), 0, (5.0, 6.0)) > 0.95);
    let short = common::group(&outcome, "short").next().expect("the flow");
    // 1 (the request), then from the window of 2 on: 2, 4, 8 and the last 5: five round trips at
    // least.
    assert!(short.fct_s.is_some_and(|fct| fct > 5.0 * 0.08), "{:?}", short.fct_s);
}

/// Two links in a row, 20 and 60 Mb/s, 80 ms: two long flows over both, one and three others over
/// each. Max-min by progressive filling with target utilization t: the first link is full at
/// t*20/3, which all its flows have; what is left of the second, t*60 - 2*t*20/3, is shared by
/// three.
fn two_links(kind: &str) -> Outcome {
    let link = |name: &str, from: &str, to: &str, rate: &str| {
        format!(
            "[links.{name}]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{rate}\"\nowd = \"10ms\"\n\
             buffer = \"1000pkt\"\nqueue = \"{kind}\"\nduplex = true\n"
        )
    };
    let group = |name: &str, from: &str, to: &str, count: u32, start: &str| {
        format!(
            "[flows.{name}]\nprotocol = \"{kind}\"\nfrom = \"{from}\"\nto = \"{to}\"\n\
             count = {count}\nrtt = \"80ms\"\nstart = \"{start}\"\n"
        )
    };
    let text = [
        format!(
            "schema = 1\nname = \"{kind}\"\nduration = \"30s\"\nwarmup = \"15s\"\n\
             [packets]\ndata = \"1000B\"\n"
        ),
        link("one", "a", "b", "20Mbps"),
        link("two", "b", "c", "60Mbps"),
        group("long", "a", "c", 2, "uniform(0s, 1s)"),
        group("first", "a", "b", 1, "2s"),
        group("second", "b", "c", 3, "uniform(3s, 4s)"),
    ];
    let parsed = scenario::parse("two.toml", &text.concat(), &[]);
    common::run(&parsed.unwrap_or_else(|error| panic!("{error}")).scenario, 1, 0)
}

/// The goodputs of the three groups over what max-min fairness gives them, all flows.
fn check_max_min(outcome: &Outcome, target: f64, within: f64) {
    let low = target * 20e6 / 3.0;
    let high = (target * 60e6 - 2.0 * low) / 3.0;
    for (name, fair) in [("long", low), ("first", low), ("second", high)] {
        for flow in common::group(outcome, name) {
            let ratio = flow.goodput_bps / fair;
            println!("    {name}: {:.3} Mb/s, {ratio:.4} of max-min", flow.goodput_bps / 1e6);
            assert!((ratio - 1.0).abs() < within, "{name}: {ratio}");
        }
    }
    for link in ["one", "two"] {
        let utilization = common::link(outcome, link).utilization_ratio;
        assert!((utilization / target - 1.0).abs() < within, "{link}: {utilization}");
    }
}

/// ACKs go the other way, so the links carry data alone.
#[test]
fn maxnet_is_max_min_fair() {
    check_max_min(&two_links("maxnet"), 0.96, 0.02);
}

#[test]
fn jetmax_is_max_min_fair() {
    check_max_min(&two_links("jetmax"), 0.95, 0.02);
}

/// A lone JetMax flow is within 5 % of gamma*C after the same time at any capacity: five halvings
/// of the distance, the first at the answer after an RTT of 80 ms, as 1 - 2^-5 = 0.969. N is a sum
/// of gaps, and an interval of 100 ms holds one more or less of them: 0.84 % at 10 Mb/s.
#[test]
fn jetmax_needs_as_many_steps_at_any_capacity() {
    for rate in [10, 100, 1000] {
        let text = format!(
            "schema = 1\nname = \"jetmax\"\nduration = \"3s\"\nwarmup = \"0s\"\n\
             [packets]\ndata = \"1000B\"\n[topology]\nkind = \"dumbbell\"\nrate = \"{rate}Mbps\"\n\
             rtt = \"80ms\"\nbuffer = \"2bdp\"\nqueue = \"jetmax\"\n\
             [flows.f]\nprotocol = \"jetmax\"\nstart = \"0s\"\n\
             [probe]\nevery = \"10ms\"\nseries = [\"sender\"]\n"
        );
        let parsed = scenario::parse("jetmax.toml", &text, &[]);
        let parsed = parsed.unwrap_or_else(|error| panic!("{error}"));
        let outcome = common::run(&parsed.scenario, 1, 0);
        let x = outcome.tables.series.iter().find(|s| s.name == "sender_x").expect("its rate");
        let target = 0.95 * f64::from(rate) * 1e6 / 8.0;
        let there = x.value.iter().position(|x| *x > 0.95 * target).expect("it gets there");
        let steps = x.t_s[there] / 0.08;
        println!("    {rate} Mb/s: {:.2} s, {steps:.1} round trips", x.t_s[there]);
        // A serialization per hop and a probe's interval come on top.
        assert!((5.0..5.5).contains(&steps), "{steps}");
        let last = x.value.last().expect("samples") / target;
        assert!((last - 1.0).abs() < 0.01, "{last}");
    }
}

// BMCC.

/// A dumbbell of that rate and RTT with BMCC, or VCP, at both ends and routers.
fn load_factor(kind: &str, path: &str, duration: u64, groups: &str) -> Outcome {
    let text = format!(
        "schema = 1\nname = \"{kind}\"\nduration = \"{duration}s\"\nwarmup = \"10s\"\n\
         [packets]\ndata = \"1000B\"\n[topology]\nkind = \"dumbbell\"\n{path}\n\
         buffer = \"1bdp\"\nqueue = \"{kind}\"\n{groups}\n\
         [probe]\nevery = \"20ms\"\nseries = [\"goodput\"]\n"
    );
    let parsed = scenario::parse("bmcc.toml", &text, &[]);
    common::run(&parsed.unwrap_or_else(|error| panic!("{error}")).scenario, 1, 0)
}

/// Two links in a row. The routers' periods end every 200 ms; 190 ms later the ACKs of all packets
/// that came between 50 and 150 ms are back, and they passed both links in the new period. Of n
/// packets in a row at least 2^k = n/2 leave an error below 2*1.28/2^k (ADPM:
/// crates/cc/src/explicit/load/bmcc.rs).
#[test]
fn bmcc_learns_the_largest_load_of_its_way() {
    let link = |name: &str, from: &str, to: &str, rate: &str| {
        format!(
            "[links.{name}]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{rate}\"\nowd = \"5ms\"\n\
             buffer = \"400pkt\"\nqueue = \"bmcc\"\nduplex = true\n"
        )
    };
    let text = [
        "schema = 1\nname = \"bmcc\"\nduration = \"60s\"\nwarmup = \"0s\"\n\
         [packets]\ndata = \"1000B\"\n"
            .to_owned(),
        link("one", "a", "b", "30Mbps"),
        link("two", "b", "c", "20Mbps"),
        "[flows.long]\nprotocol = \"bmcc\"\nfrom = \"a\"\nto = \"c\"\nrtt = \"40ms\"\nstart = \"0s\"\n\
         [flows.first]\nprotocol = \"udp\"\nrate = \"22Mbps\"\nfrom = \"a\"\nto = \"b\"\nstart = \"30s\"\n\
         [probe]\nevery = \"10ms\"\nseries = [\"goodput\", \"sender\", \"router\"]\n"
            .to_owned(),
    ];
    let parsed = scenario::parse("bmcc.toml", &text.concat(), &[]);
    let outcome = common::run(&parsed.unwrap_or_else(|e| panic!("{e}")).scenario, 1, 0);
    let (goodput, f) = (series(&outcome, "goodput_bps"), series(&outcome, "router_f"));
    let estimate = series(&outcome, "sender_f_hat");
    let at = |series: &Series, t: f64| {
        let rows = series.t_s.iter().zip(&series.value).zip(&series.id);
        let values = rows.filter(move |((time, _), _)| (**time - t).abs() < 1e-6);
        values.map(|((_, value), id)| (*id, *value)).collect::<Vec<_>>()
    };
    let (mut worst, mut bounds, mut by_link) = (0.0_f64, vec![], [0, 0]);
    for period in 2..299 {
        let end = f64::from(period) * 0.2;
        let loads = at(f, end + 0.19);
        let &(link, load) =
            loads.iter().max_by(|a, b| a.1.total_cmp(&b.1)).expect("the links' loads");
        let n = mean(goodput, 0, (end + 0.05, end + 0.15)) * 0.1 / 8000.0;
        let cells = 1_u32 << (n.max(1.0) as u32).ilog2();
        let bound = 2.0 * 1.28 / f64::from(cells);
        let told = at(estimate, end + 0.19)[0].1;
        let error = (told - load.min(1.28)).abs();
        assert!(error < bound, "{end} s: {told} for {load} after {n} packets");
        worst = worst.max(error / bound);
        bounds.push(bound);
        by_link[usize::from(link == loads[0].0)] += 1;
    }
    bounds.sort_by(f64::total_cmp);
    let median = bounds[bounds.len() / 2];
    println!("    error up to {worst:.2} of the bound, whose median is {median:.4}; {by_link:?}");
    // Not for want of packets, and either link was the fuller one.
    assert!(median < 0.05 && by_link.iter().all(|&n| n > 50));
    assert_eq!(outcome.tables.links.iter().map(|link| link.total_drops_pkts).sum::<u64>(), 0);
}

/// The abstract's claims: high utilization, a low queue and next to no losses. Shares: after 0.125
/// of its 41 packets are taken a flow needs 5.1/0.16 RTTs of 80 ms to have them again, 2.6 s, and
/// each time what divides two flows shrinks to 0.875; in 110 s to 0.4 % of what it was.
#[test]
fn bmcc_fills_a_link_and_not_its_queue() {
    let groups = "[flows.f]\nprotocol = \"bmcc\"\ncount = 30\nstart = \"uniform(0s, 2s)\"";
    let path = "rate = \"100Mbps\"\nrtt = \"80ms\"";
    let outcome = load_factor("bmcc", path, 120, groups);
    let link = common::link(&outcome, "bottleneck");
    let goodput = series(&outcome, "goodput_bps");
    let rates = (0..30).map(|flow| mean(goodput, flow, (110.0, 120.0)));
    let (least, most) = rates.fold((f64::MAX, 0.0_f64), |(l, m), r| (l.min(r), m.max(r)));
    println!(
        "    utilization {:.4}, queue {:.1} packets of 1000, {} drops, goodput {:.3} to {:.3} Mb/s",
        link.utilization_ratio,
        link.queue_mean_pkts,
        link.total_drops_pkts,
        least / 1e6,
        most / 1e6
    );
    assert!(link.utilization_ratio >= 0.9 && link.queue_mean_pkts < 50.0);
    assert_eq!(link.drops_pkts, 0);
    assert!(least > 0.9 * most, "{least} {most}");
}

/// Increases are scaled with the RTT, so rates come out near to equal; TCP's would be as 1 to 5.
#[test]
fn bmcc_is_fair_to_long_round_trips() {
    let group = |rtt: u64| {
        format!(
            "[flows.r{rtt}]\nprotocol = \"bmcc\"\nrtt = \"{rtt}ms\"\ncount = 3\nstart = \"uniform(0s, 1s)\"\n"
        )
    };
    let groups = [40, 80, 120, 160, 200].map(group).concat();
    let outcome = load_factor("bmcc", "rate = \"100Mbps\"\nrtt = \"40ms\"", 120, &groups);
    let means = [40, 80, 120, 160, 200].map(|rtt| {
        let name = format!("r{rtt}");
        let rates: Vec<f64> = common::group(&outcome, &name).map(|flow| flow.goodput_bps).collect();
        rates.iter().sum::<f64>() / rates.len() as f64
    });
    println!("    {means:?}");
    let (least, most) = means.iter().fold((f64::MAX, 0.0_f64), |(l, m), &r| (l.min(r), m.max(r)));
    assert!(most < 1.5 * least, "{means:?}");
}

/// A lone flow's time to 80 % of a link.
#[test]
fn bmcc_starts_faster_than_vcp() {
    let time = |kind: &str| {
        let groups = format!("[flows.f]\nprotocol = \"{kind}\"\nstart = \"0s\"");
        let path = "rate = \"100Mbps\"\nrtt = \"80ms\"";
        let outcome = load_factor(kind, path, 60, &groups);
        let goodput = series(&outcome, "goodput_bps");
        let there = goodput.value.iter().position(|&rate| rate > 80e6).expect("it gets there");
        assert_eq!(common::link(&outcome, "bottleneck").total_drops_pkts, 0);
        goodput.t_s[there]
    };
    let [bmcc, vcp] = ["bmcc", "vcp"].map(time);
    println!("    80 % after {bmcc:.2} s, VCP after {vcp:.2} s");
    assert!(3.0 * bmcc < vcp);
}

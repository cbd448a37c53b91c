//! Islands: TCP and others across a core of another protocol (VCP, ToN 2008, section VI-D; XCP,
//! SIGCOMM 2002, section 8.1). Expected shares are those of fairness between macro-flows, queues
//! and drops those that the core's protocol promises; sums of packets and bytes are exact.

use capture::{CaptureOf, Recorder, TraceOf, Window};
use cc::roles::Limit;
use clearpipe_net::{Outcome, simulate_recorded};
use results::{GroupRow, MacroRow};
use scenario::{Capacity, Line, Loss, LossModel, Outage, Scenario, parse};
use units::{Rate, Span, Time};

use crate::common;
use crate::common::{group, link, run};

/// Two ways across a core of 20 Mb/s, `a` to `b` and `c` to `d`, 60 ms there and back; `text` has
/// the flows and the island, if there is one.
fn crossroads(queue: &str, text: &str) -> Scenario {
    let line = |name: &str, from: &str, to: &str, rate: u32, owd: u32| {
        format!(
            "[links.{name}]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{rate}Mbps\"\n\
             owd = \"{owd}ms\"\nbuffer = \"200pkt\"\nduplex = true\n"
        )
    };
    let core = ["edge1", "edge2", "core", "edge3", "edge4"];
    let ends = [("r1", "p"), ("r2", "p"), ("p", "q"), ("q", "r3"), ("q", "r4")];
    let inside = core.iter().zip(ends).map(|(name, (from, to))| {
        let rate = if *name == "core" { 20 } else { 100 };
        line(name, from, to, rate, 5) + &format!("queue = \"{queue}\"\n")
    });
    let outside =
        [("in1", "a", "r1"), ("in2", "c", "r2"), ("out1", "r3", "b"), ("out2", "r4", "d")];
    let outside = outside.iter().map(|(name, from, to)| line(name, from, to, 100, 5));
    let text = format!(
        "schema = 1\nname = \"x\"\nduration = \"90s\"\nwarmup = \"40s\"\n{}{}{text}",
        inside.collect::<String>(),
        outside.collect::<String>(),
    );
    parse("x.toml", &text, &[]).unwrap_or_else(|error| panic!("{error}")).scenario
}

fn flows(name: &str, protocol: &str, count: u32, (from, to): (&str, &str)) -> String {
    format!(
        "[flows.{name}]\nprotocol = \"{protocol}\"\ncount = {count}\nfrom = \"{from}\"\nto = \"{to}\"\n\
         access_owd = \"1ns\"\nstart = \"uniform(0s, 1s)\"\n"
    )
}

/// All that is between the routers, in both directions.
fn island(protocol: &str, more: &str) -> String {
    island_of(&format!("\"{protocol}\""), more)
}

/// The same with a protocol that may have parameters.
fn island_of(protocol: &str, more: &str) -> String {
    let core = ["edge1", "edge2", "core", "edge3", "edge4"];
    let links = core.map(|name| format!("\"{name}\", \"{name}.reverse\"")).join(", ");
    format!("[islands.x]\nlinks = [{links}]\nprotocol = {protocol}\nbuffer = \"100pkt\"\n{more}\n")
}

/// The macro-flow that begins at this node.
fn from<'a>(outcome: &'a Outcome, ingress: &str) -> &'a MacroRow {
    let rows = &outcome.tables.macroflows;
    rows.iter().find(|row| row.ingress == ingress).expect("a macro-flow from there")
}

/// Every packet is in one place, as a macro-flow's, as what it carries, and at the links.
fn check_books(outcome: &Outcome) {
    let tables = &outcome.tables;
    for row in &tables.macroflows {
        assert_eq!(row.arrivals_pkts, row.queue_drops_pkts + row.queued_end_pkts + row.sent_pkts);
        let places = row.arrived_pkts + row.dropped_pkts + row.lost_pkts + row.in_flight_pkts;
        assert_eq!(row.sent_pkts, places);
        assert_eq!(row.acks_sent_pkts, row.arrived_pkts, "each packet is acknowledged");
        let places = row.acks_arrived_pkts + row.acks_dropped_pkts + row.acks_lost_pkts;
        assert_eq!(row.acks_sent_pkts, places + row.acks_in_flight_pkts);
    }
    for flow in &tables.flows {
        let places = flow.arrived_pkts + flow.dropped_pkts + flow.lost_pkts + flow.in_flight_pkts;
        assert_eq!(flow.sent_pkts, places, "data of flow {}", flow.flow);
        let places = flow.acks_arrived_pkts + flow.acks_dropped_pkts + flow.acks_lost_pkts;
        assert_eq!(flow.acks_sent_pkts, places + flow.acks_in_flight_pkts, "ACKs of {}", flow.flow);
    }
    let groups = |of: fn(&GroupRow) -> u64| tables.groups.iter().map(of).sum::<u64>();
    let macros = |of: fn(&MacroRow) -> u64| tables.macroflows.iter().map(of).sum::<u64>();
    let at_links: u64 = tables.links.iter().map(|link| link.total_drops_pkts).sum();
    let dropped =
        groups(|g| g.dropped_pkts + g.acks_dropped_pkts) + macros(|m| m.acks_dropped_pkts);
    assert_eq!(at_links + macros(|m| m.queue_drops_pkts), dropped);
    let on_lines: u64 = tables.links.iter().map(|link| link.total_lost_pkts).sum();
    assert_eq!(on_lines, groups(|g| g.lost_pkts + g.acks_lost_pkts) + macros(|m| m.acks_lost_pkts));
}

fn one_and_ten(protocol: &str) -> (Scenario, Outcome) {
    let text = flows("one", "sack", 1, ("a", "b"))
        + &flows("ten", "sack", 10, ("c", "d"))
        + &island(protocol, "outer = \"20B\"");
    let scenario = crossroads(protocol, &text);
    let outcome = run(&scenario, 1, 0);
    check_books(&outcome);
    (scenario, outcome)
}

/// A macro-flow is one flow to the core, however many it carries: two of them get half each. What
/// TCP needs to see its share, drops and a queue, is at the ingress alone.
fn ways_share_evenly_and_the_core_stays_empty(protocol: &str) {
    let (scenario, outcome) = one_and_ten(protocol);
    let (one, ten) = (from(&outcome, "r1"), from(&outcome, "r2"));
    let core = link(&outcome, "core");
    println!(
        "{protocol}: {:.3} and {:.3} Mb/s, core {:.4} busy, queue {:.4} of its buffer, {} drops; \
         ingresses hold {:.1} and {:.1}, drop {} and {}",
        one.goodput_bps / 1e6,
        ten.goodput_bps / 1e6,
        core.utilization_ratio,
        core.queue_mean_ratio,
        core.total_drops_pkts,
        one.queue_mean_pkts,
        ten.queue_mean_pkts,
        one.queue_drops_pkts,
        ten.queue_drops_pkts,
    );
    assert!((one.goodput_bps / ten.goodput_bps - 1.0).abs() < 0.05);
    assert!(core.utilization_ratio > 0.85 && core.queue_mean_ratio < 0.05);
    let inside = &scenario.islands[0].links;
    assert!(inside.iter().all(|&i| outcome.tables.links[i].total_drops_pkts == 0));
    assert_eq!(outcome.tables.links.iter().map(|l| l.total_drops_pkts).sum::<u64>(), 0);
    assert!(one.queue_drops_pkts > 0 && ten.queue_drops_pkts > 0);
    assert!(one.queue_mean_pkts > 10.0 && ten.queue_mean_pkts > 10.0);
    // Two macro-flows carry the ACKs back.
    assert_eq!(outcome.tables.macroflows.len(), 4);
    // What carries the ACKs has as many packets on the way as the core has data in 30 ms, 74 at
    // most; its window, which nothing limits, has not grown beyond twice that, by RFC 7661.
    let acks = from(&outcome, "r3");
    assert!(acks.cwnd_pkts < 2.0 * 20e6 / 8160.0 * 0.030 + 10.0, "{acks:?}");
    // The core's bytes are the packets' and 20 for each, and 40 for each packet that goes the other
    // way; an RTT's packets may be on either side of the ends of the measured time.
    let packets = (one.goodput_bps + ten.goodput_bps) / 8000.0;
    let bytes_s = packets * 1020.0 + packets * 40.0;
    let busy = bytes_s * 8.0 / 20e6;
    assert!(
        (core.utilization_ratio / busy - 1.0).abs() < 0.002,
        "{} {busy}",
        core.utilization_ratio
    );
    // What a macro-flow delivers is what its flows get.
    for (name, row) in [("one", one), ("ten", ten)] {
        let sum: f64 = group(&outcome, name).map(|flow| flow.goodput_bps).sum();
        assert!((sum / row.goodput_bps - 1.0).abs() < 0.01, "{name}: {sum} {}", row.goodput_bps);
    }
}

#[test]
fn a_vcp_core_shares_by_ways_and_stays_empty() {
    ways_share_evenly_and_the_core_stays_empty("vcp");
}

#[test]
fn an_xcp_core_shares_by_ways_and_stays_empty() {
    ways_share_evenly_and_the_core_stays_empty("xcp");
}

/// Without the island the eleven SACK flows share by flows: the ten get ten times as much or so.
#[test]
fn without_an_island_flows_share_by_flows() {
    let text = flows("one", "sack", 1, ("a", "b")) + &flows("ten", "sack", 10, ("c", "d"));
    let outcome = run(&crossroads("droptail", &text), 1, 0);
    let sum = |name| group(&outcome, name).map(|flow| flow.goodput_bps).sum::<f64>();
    assert!(sum("ten") / sum("one") > 4.0, "{} {}", sum("ten"), sum("one"));
}

/// VCP flows that start apart are not even before a minute or more (theorem 4), alone as well.
fn settled(scenario: Scenario) -> Scenario {
    Scenario { duration: Span::from_secs(150), warmup: Span::from_secs(90), ..scenario }
}

/// Flows that do not answer to congestion get their way's share and no more (XCP, section 8.1).
#[test]
fn unresponsive_flows_cannot_take_more_than_their_ways_share() {
    let udp = flows("blast", "udp", 1, ("c", "d")) + "rate = \"30Mbps\"\n";
    let text = flows("tcp", "sack", 3, ("a", "b")) + &udp + &island("vcp", "");
    let outcome = run(&settled(crossroads("vcp", &text)), 1, 0);
    check_books(&outcome);
    let (tcp, udp) = (from(&outcome, "r1"), from(&outcome, "r2"));
    println!("SACK {:.3}, UDP {:.3} Mb/s", tcp.goodput_bps / 1e6, udp.goodput_bps / 1e6);
    assert!((tcp.goodput_bps / udp.goodput_bps - 1.0).abs() < 0.05);
    assert_eq!(link(&outcome, "core").total_drops_pkts, 0);
}

/// A VCP flow from end to end shares with a macro-flow as it does with another VCP flow.
#[test]
fn native_flows_are_not_mapped_and_share_with_macro_flows() {
    // From border to border, as the macro-flow.
    let native = flows("native", "vcp", 1, ("r1", "r3"));
    let beside = |text: String| {
        let outcome = run(&settled(crossroads("vcp", &(native.clone() + &text))), 1, 0);
        check_books(&outcome);
        assert_eq!(link(&outcome, "core").total_drops_pkts, 0);
        let goodput = group(&outcome, "native").map(|flow| flow.goodput_bps).sum::<f64>();
        (goodput, outcome)
    };
    let (with_vcp, _) = beside(flows("other", "vcp", 1, ("r2", "r4")));
    let across = flows("other", "sack", 5, ("c", "d")) + &island("vcp", "native = [\"native\"]");
    let (with_macro, outcome) = beside(across);
    println!("{:.3} beside VCP, {:.3} beside a macro-flow", with_vcp / 1e6, with_macro / 1e6);
    assert!((with_macro / with_vcp - 1.0).abs() < 0.1);
    assert_eq!(outcome.tables.macroflows.len(), 2, "those of the other group");
}

#[test]
fn an_island_that_maps_nothing_changes_nothing() {
    let text = flows("one", "vcp", 2, ("a", "b")) + &flows("two", "sack", 2, ("c", "d"));
    let plain = crossroads("vcp", &text);
    let island = crossroads("vcp", &(text + &island("vcp", "native = [\"one\", \"two\"]")));
    let [plain, island] = [plain, island].map(|mut scenario| {
        scenario.duration = Span::from_secs(45);
        run(&scenario, 1, 0)
    });
    assert_eq!(plain.fingerprint, island.fingerprint);
    assert_eq!(plain.tables.flows, island.tables.flows);
}

/// The core writes its load codes on the outer header. A flow that reads RFC 3168's would take
/// VCP's overload, 11, for congestion experienced; inside it sees nothing of that, and does as if
/// it had none.
#[test]
fn inner_codes_stay_as_they_are() {
    let outcomes = ["sack", "ecn"].map(|protocol| {
        let text = flows("flows", protocol, 4, ("a", "b"))
            + &flows("cross", protocol, 2, ("c", "d"))
            + &island("vcp", "")
            + "[protocols.ecn]\nkind = \"sack\"\necn = true\n";
        run(&crossroads("vcp", &text), 1, 0)
    });
    assert!(link(&outcomes[0], "core").total_marks_pkts > 1000);
    let [plain, ecn] = outcomes.map(|outcome| {
        let rows = outcome.tables.flows.into_iter();
        rows.map(|row| (row.sent_pkts, row.delivered_bytes, row.srtt_s)).collect::<Vec<_>>()
    });
    assert_eq!(plain, ecn);
}

fn with_core(scenario: &mut Scenario, line: Line) {
    let core = scenario.links.iter_mut().find(|link| link.name == "core");
    core.expect("it has one").line = line;
}

/// A macro-flow under Reno whose link loses two packets of one window, later one: two events, each
/// of which halves the window; the transfer has its bytes all the same, since TCP sends again.
#[test]
fn losses_inside_are_told_once_a_window() {
    let text = flows("one", "sack", 1, ("a", "b")) + "size = \"3MB\"\n" + &island("reno", "");
    let mut scenario = crossroads("droptail", &text);
    let list: Vec<u64> = vec![500, 510, 1500];
    let model = LossModel::List(list.into());
    with_core(
        &mut scenario,
        Line { loss: Some(Loss { model, data_only: true }), ..Line::default() },
    );
    // Room for all of it: nothing else is lost.
    scenario.links.iter_mut().for_each(|link| link.limit = Limit::Packets(4000));
    let outcome = run(&scenario, 1, 0);
    check_books(&outcome);
    let (row, flow) = (from(&outcome, "r1"), group(&outcome, "one").next().expect("one flow"));
    assert_eq!((row.lost_pkts, row.loss_events, row.timeouts), (3, 2, 0));
    assert_eq!((flow.lost_pkts, flow.delivered_bytes), (3, 3_000_000));
    assert!(flow.finish_s.is_some());
}

/// Nothing gets through for two seconds: no acknowledgement tells of it, the timer does.
#[test]
fn a_macro_flow_outlives_an_outage() {
    let text = flows("some", "sack", 3, ("a", "b")) + &island("vcp", "");
    let mut scenario = crossroads("vcp", &text);
    scenario.duration = Span::from_secs(60);
    scenario.warmup = Span::from_secs(30);
    let outages = vec![Outage { from: Span::from_secs(20), to: Span::from_secs(22) }];
    with_core(&mut scenario, Line { outages, outage_drops: true, ..Line::default() });
    let outcome = run(&scenario, 1, 0);
    check_books(&outcome);
    let row = from(&outcome, "r1");
    assert!(row.timeouts > 0 && row.dropped_pkts > 0, "{row:?}");
    assert!(row.goodput_bps > 0.5 * 20e6, "{row:?}");
}

/// Half as much capacity from the middle of the run on: the queue at the ingress takes what the
/// core has no room for.
#[test]
fn a_step_of_the_core_shows_at_the_ingress() {
    let text = flows("some", "sack", 5, ("a", "b")) + &island("vcp", "");
    let mut scenario = crossroads("vcp", &text);
    let step = scenario::Step { at: Span::from_secs(30), rate: Rate(10_000_000) };
    with_core(&mut scenario, Line { capacity: Capacity::Steps(vec![step]), ..Line::default() });
    let outcome = run(&scenario, 1, 0);
    check_books(&outcome);
    let (row, core) = (from(&outcome, "r1"), link(&outcome, "core"));
    assert!((0.8 * 10e6..10e6 / 1.02).contains(&row.goodput_bps), "{row:?}");
    assert!(core.queue_mean_ratio < 0.05 && row.queue_mean_pkts > 10.0, "{core:?}");
}

/// An island of one direction: its feedback goes back over links outside.
#[test]
fn feedback_may_leave_the_island() {
    let text = flows("some", "sack", 2, ("a", "b"))
        + "[islands.x]\nlinks = [\"edge1\", \"core\"]\nprotocol = \"vcp\"\nbuffer = \"100pkt\"\n";
    let outcome = run(&crossroads("vcp", &text), 1, 0);
    check_books(&outcome);
    let [row] = &outcome.tables.macroflows[..] else { panic!("one way") };
    assert_eq!((row.ingress.as_str(), row.egress.as_str()), ("r1", "q"));
    // Two links of 5 ms there and two back.
    assert_eq!(row.base_rtt_s, 0.02);
    assert!(row.min_rtt_s.is_some_and(|rtt| (0.02..0.022).contains(&rtt)), "{row:?}");
    let back = link(&outcome, "edge1.reverse");
    let acks =
        row.acks_arrived_pkts + group(&outcome, "some").map(|f| f.acks_arrived_pkts).sum::<u64>();
    assert!(back.total_arrivals_pkts >= acks && back.total_arrivals_pkts - acks < 100);
    assert!(row.goodput_bps > 0.8 * 20e6 && link(&outcome, "core").queue_mean_ratio < 0.05);
}

/// The series of macro-flows stand beside those of flows, and looking changes nothing.
#[test]
fn macro_flows_have_series() {
    let text = flows("some", "sack", 2, ("a", "b")) + &island("vcp", "");
    let mut scenario = crossroads("vcp", &text);
    (scenario.duration, scenario.warmup) = (Span::from_secs(5), Span::from_secs(1));
    let unseen = run(&scenario, 1, 0);
    for every in [scenario::Every::Change, scenario::Every::Span(Span::from_millis(100))] {
        scenario.probe.every = every;
        scenario.probe.series =
            scenario::Series::ALL.into_iter().filter(|s| s.on_change()).collect();
        let seen = run(&scenario, 1, 0);
        assert_eq!(seen.fingerprint, unseen.fingerprint);
        assert_eq!(seen.tables.macroflows, unseen.tables.macroflows);
        for name in ["macro_cwnd_pkts", "macro_srtt_s", "macro_queue_pkts"] {
            let series = seen.tables.series.iter().find(|series| series.name == name);
            let series = series.unwrap_or_else(|| panic!("{name}"));
            // Two flows, then the macro-flows.
            assert!(series.id.contains(&2) && series.id.contains(&3), "{name}: {every:?}");
            assert!(series.id.iter().all(|&id| id == 2 || id == 3));
        }
    }
}

/// Captures show outer packets inside, and looking changes nothing.
#[test]
fn captures_show_outer_packets() {
    let text = flows("some", "sack", 2, ("a", "b")) + &island("vcp", "");
    let mut scenario = crossroads("vcp", &text);
    (scenario.duration, scenario.warmup) = (Span::from_secs(5), Span::from_secs(1));
    let mut recorder =
        Recorder::new(scenario.links.len(), Window { from: Time::ZERO, to: Time::NEVER });
    for name in ["core", "in1"] {
        let link = scenario.links.iter().position(|link| link.name == name).expect("it has one");
        let wanted = CaptureOf {
            link: link as u32,
            name,
            rate_bps: scenario.links[link].rate.0,
            headers_only: true,
            file: format!("{name}.pcapng"),
        };
        recorder.capture(wanted, Box::new(std::io::sink())).expect("a sink takes everything");
    }
    let (groups, links) = (vec!["some".to_owned()], vec![String::new(); scenario.links.len()]);
    let wanted = TraceOf { links, groups, limit: 1 << 30, file: "trace".to_owned() };
    recorder.trace(wanted, Box::new(std::io::sink())).expect("a sink takes everything");
    let recorded = simulate_recorded(&scenario, (1, 0), recorder, &mut |_| true);
    let (outcome, recorded) = recorded.expect("a sink takes everything");
    assert_eq!(outcome.fingerprint, run(&scenario, 1, 0).fingerprint);
    let captured: Vec<u64> = recorded.captures.iter().map(|(_, packets)| *packets).collect();
    let departed = ["core", "in1"].map(|name| link(&outcome, name).total_departures_pkts);
    assert_eq!(captured, departed);
}

#[test]
fn the_shipped_example_is_what_it_says() {
    let outcome = run(&common::example("vcp-island", &[]), 1, 0);
    check_books(&outcome);
    let (one, ten) = (from(&outcome, "r1"), from(&outcome, "r3"));
    assert!((one.goodput_bps / ten.goodput_bps - 1.0).abs() < 0.05);
    let core = link(&outcome, "core");
    assert!(core.total_drops_pkts == 0 && core.queue_mean_ratio < 0.05);
}

/// Macro-flows of two and of six connections get rates in the ratio of 1 to 3, by a header per RTT
/// (XCP, section 8.1).
#[test]
fn an_xcp_core_weights_ways_by_what_they_carry() {
    let shares = |protocol: &str| {
        let text = flows("two", "sack", 2, ("a", "b"))
            + &flows("six", "sack", 6, ("c", "d"))
            + &island_of(protocol, "outer = \"20B\"");
        let outcome = run(&crossroads("xcp-core", &text), 1, 0);
        check_books(&outcome);
        let core = link(&outcome, "core");
        let (two, six) = (from(&outcome, "r1").goodput_bps, from(&outcome, "r2").goodput_bps);
        println!(
            "{protocol}: {:.3} and {:.3} Mb/s, core {:.4} busy, queue {:.4}, {} drops",
            two / 1e6,
            six / 1e6,
            core.utilization_ratio,
            core.queue_mean_ratio,
            core.total_drops_pkts
        );
        assert!(core.utilization_ratio > 0.9 && core.total_drops_pkts == 0);
        assert!(core.queue_mean_ratio < 0.05);
        six / two
    };
    let weighted = shares("\"xcp-core\"");
    assert!((weighted / 3.0 - 1.0).abs() < 0.05, "{weighted}");
    let equal = shares("{ kind = \"xcp-core\", weighted = false }");
    assert!((equal - 1.0).abs() < 0.05, "{equal}");
}

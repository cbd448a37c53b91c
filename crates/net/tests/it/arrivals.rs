//! Flows that come while the run goes on, drawn sizes, applications with a rate of their own.

use clearpipe_net::{Outcome, Run};
use results::Transfers;
use scenario::{App, Arrivals, DelayLaw, GapLaw, Group, Scenario, Size, SizeLaw, Start};
use units::random::Stream;
use units::{Rate, Span};

use crate::common;

/// A dumbbell with one group, `web`, of one flow, and keys for the other tables.
fn dumbbell(rate: &str, duration: u64, protocol: &str, more: &str) -> Scenario {
    let queue = if matches!(protocol, "xcp" | "vcp") { protocol } else { "droptail" };
    let text = format!(
        "schema = 1\nname = \"arrivals\"\nduration = \"{duration}s\"\nwarmup = \"0s\"\n{more}\n\
         [topology]\nkind = \"dumbbell\"\nrate = \"{rate}\"\nrtt = \"20ms\"\nbuffer = \"30pkt\"\n\
         queue = \"{queue}\"\n\
         [flows.web]\nprotocol = \"{protocol}\"\ncount = 1\ndirection = \"forward\"\n"
    );
    match scenario::parse("arrivals.toml", &text, &[]) {
        Ok(parsed) => parsed.scenario,
        Err(error) => panic!("{error}"),
    }
}

fn arriving(scenario: &mut Scenario, gap: GapLaw, most: Option<u64>, size: Size) {
    let group = &mut scenario.groups[0];
    (group.arrivals, group.count, group.size) = (Some(Arrivals { gap, most }), 0, size);
}

fn transfers(outcome: &Outcome) -> &Transfers {
    outcome.tables.transfers.as_ref().expect("a group with arrivals")
}

/// The same transfers as groups of one flow each, with the starts and sizes that came out.
fn as_static(scenario: &Scenario, transfers: &Transfers) -> Scenario {
    let one = |i: usize| Group {
        name: format!("t{i}"),
        arrivals: None,
        count: 1,
        start: Start::At(Span::from_secs_f64(transfers.start_s[i])),
        stop: None,
        size: Size::Bytes(transfers.size_bytes[i]),
        ..scenario.groups[0].clone()
    };
    Scenario { groups: (0..transfers.start_s.len()).map(one).collect(), ..scenario.clone() }
}

fn times(transfers: &Transfers) -> Vec<Option<f64>> {
    transfers.fct_s.iter().map(|fct| (!fct.is_nan()).then_some(*fct)).collect()
}

/// Gaps of whole microseconds, so that a start in seconds gives back every picosecond.
fn whole_gaps() -> GapLaw {
    GapLaw::Every(Span::from_micros(3_217))
}

/// Twenty transfers too long for one to end before the last has come: no slot is used twice, and
/// everything is as if twenty flows had been listed.
#[test]
fn arriving_transfers_run_as_listed_flows_do() {
    for protocol in ["sack", "newreno", "xcp", "vcp"] {
        let mut scenario = dumbbell("20Mbps", 30, protocol, "");
        let size = Size::Drawn(SizeLaw::BoundedPareto { min: 3e5, max: 1e6, shape: 1.2 });
        arriving(&mut scenario, whole_gaps(), Some(20), size);
        let came = common::run(&scenario, 1, 0);
        let listed = common::run(&as_static(&scenario, transfers(&came)), 1, 0);
        assert_eq!(came.fingerprint, listed.fingerprint, "{protocol}");
        let fct: Vec<_> = listed.tables.flows.iter().map(|flow| flow.fct_s).collect();
        assert_eq!((fct.len(), &times(transfers(&came))), (20, &fct), "{protocol}");
        assert!(fct.iter().all(Option::is_some));
    }
}

/// 2,000 transfers of a few packets over a lossy queue and back, in slots used again and again:
/// each takes as long and is repaired as often as a flow of its own. Delayed ACKs, limited
/// transmit, timeouts and late duplicates of the tenants before are all there.
#[test]
fn a_slot_used_again_is_as_good_as_new() {
    let delayed = "[transport]\ndelayed_ack = \"100ms\"\nlimited_transmit = true";
    let quick = "[transport]\nmin_rto = \"5ms\"\ninitial_rto = \"15ms\"";
    let slow = App::Rate(Rate(500_000));
    for (protocol, more, app) in [
        ("sack", "", App::Greedy),
        ("newreno", delayed, App::Greedy),
        ("reno", quick, App::Greedy),
        ("sack", quick, App::Greedy),
        ("sack", delayed, slow),
    ] {
        let mut scenario = dumbbell("3Mbps", 60, protocol, more);
        let size = Size::Drawn(SizeLaw::Pareto { mean: 1_100.0, shape: 1.3 });
        arriving(&mut scenario, whole_gaps(), Some(2_000), size);
        scenario.groups[0].app = app;
        let mut run = Run::new(&scenario, 1, 0);
        while run.advance(1 << 16) {}
        let (slots, held) = run.flow_slots();
        let came = run.finish();
        let listed = common::run(&as_static(&scenario, transfers(&came)), 1, 0);
        let rows = &listed.tables.flows;
        let fct: Vec<_> = rows.iter().map(|flow| flow.fct_s).collect();
        assert_eq!(times(transfers(&came)), fct, "{protocol} {more}");
        let again: Vec<_> = rows.iter().map(|flow| flow.retransmitted_pkts as u32).collect();
        assert_eq!(transfers(&came).retransmitted_pkts, again);
        let group = &came.tables.groups[0];
        let sum = |value: fn(&results::FlowRow) -> u64| rows.iter().map(value).sum::<u64>();
        assert_eq!(group.timeouts, sum(|f| f.timeouts));
        assert_eq!(group.arrived_pkts, sum(|f| f.arrived_pkts));
        assert_eq!(group.acks_arrived_pkts, sum(|f| f.acks_arrived_pkts));
        assert!(group.timeouts > 0 && group.dropped_pkts > 0, "it was lossy: {group:?}");
        if more == quick {
            let twice = group.arrived_pkts - group.delivered_pkts;
            assert!(twice > 50, "{twice} duplicates");
        }
        assert!(slots < 500 && held == 0, "{slots} slots, {held} held at the end");
    }
}

/// The table of groups against a recount from the rows, by definition instead of by sorting.
#[test]
fn the_groups_row_is_what_its_transfers_are() {
    let mut scenario = dumbbell("8Mbps", 20, "sack", "");
    scenario.warmup = Span::from_secs(5);
    let size = Size::Drawn(SizeLaw::Exponential { mean: 9_000.0 });
    arriving(&mut scenario, GapLaw::Poisson { mean_s: 0.012 }, None, size);
    let outcome = common::run(&scenario, 3, 0);
    let all = transfers(&outcome);
    let counted: Vec<f64> = (0..all.start_s.len())
        .filter(|&i| all.start_s[i] >= 5.0 && !all.fct_s[i].is_nan())
        .map(|i| all.fct_s[i])
        .collect();
    assert!(counted.len() > 500 && counted.len() < all.start_s.len());
    let group = &outcome.tables.groups[0];
    let share_upto =
        |x: f64| counted.iter().filter(|&&fct| fct <= x).count() as f64 / counted.len() as f64;
    let quantiles = [(0.50, group.fct_p50_s), (0.95, group.fct_p95_s), (0.99, group.fct_p99_s)];
    for (share, quantile) in quantiles {
        let quantile = quantile.expect("transfers finished");
        let below = counted.iter().copied().filter(|&fct| fct < quantile).fold(0.0, f64::max);
        assert!(counted.contains(&quantile));
        assert!(share_upto(quantile) >= share && share_upto(below) < share, "{share}");
    }
    let mean = counted.iter().sum::<f64>() / counted.len() as f64;
    assert!((group.fct_mean_s.unwrap() / mean - 1.0).abs() < 1e-12);
    assert_eq!(group.fct_max_s, counted.iter().copied().reduce(f64::max));
    // All that is delivered crosses the bottleneck, and little else does.
    let link = common::link(&outcome, "bottleneck");
    let carried = link.departures_bytes as f64 * 8.0 / 15.0;
    assert!(group.goodput_bps <= carried * 1.001 && group.goodput_bps > 0.95 * carried);
}

/// Poisson arrivals of 400/s for 50 s: 20,000 of them with a standard deviation of 141; gaps with
/// mean 2.5 ms, of which exp(-1) are longer than the mean. Sizes even over 2 to 6 kB: mean 4 kB
/// with a standard deviation of 1155 / sqrt(20000) = 8 B. So the load is 12.8 Mb/s.
#[test]
fn arrivals_and_sizes_follow_their_laws() {
    let mut scenario = dumbbell("50Mbps", 50, "sack", "");
    let law = SizeLaw::Empirical([(2_000.0, 0.0), (6_000.0, 1.0)].into());
    arriving(&mut scenario, GapLaw::Poisson { mean_s: 0.0025 }, None, Size::Drawn(law));
    let outcome = common::run(&scenario, 1, 0);
    let all = transfers(&outcome);
    let n = all.start_s.len() as f64;
    assert!((n - 20_000.0).abs() < 5.0 * 141.0, "{n} arrivals");
    let gaps: Vec<f64> = all.start_s.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let long = gaps.iter().filter(|&&gap| gap > 0.0025).count() as f64 / n;
    assert!((long - 0.367_879).abs() < 5.0 * (0.2325_f64 / n).sqrt(), "{long} are long");
    let mean = all.size_bytes.iter().sum::<u64>() as f64 / n;
    assert!((mean - 4_000.0).abs() < 5.0 * 8.2, "{mean} B");
    let small = all.size_bytes.iter().filter(|&&size| size <= 3_000).count() as f64 / n;
    assert!((small - 0.25).abs() < 5.0 * (0.1875_f64 / n).sqrt(), "{small} are small");
    let goodput = outcome.tables.groups[0].goodput_bps;
    assert!((goodput / 12.8e6 - 1.0).abs() < 0.05, "{goodput} b/s");
}

/// Equal gaps begin at the group's start, and none comes at its stop or after the most there may
/// be.
#[test]
fn start_stop_and_most_bound_the_arrivals() {
    let starts = |stop: Option<u64>, most| {
        let mut scenario = dumbbell("50Mbps", 2, "sack", "");
        scenario.groups[0].start = Start::At(Span::from_millis(200));
        scenario.groups[0].stop = stop.map(Span::from_millis);
        let gap = GapLaw::Every(Span::from_millis(100));
        arriving(&mut scenario, gap, most, Size::Bytes(2_500));
        transfers(&common::run(&scenario, 1, 0)).start_s.clone()
    };
    assert_eq!(starts(Some(500), None), [0.2, 0.3, 0.4]);
    assert_eq!(starts(Some(501), None), [0.2, 0.3, 0.4, 0.5]);
    assert_eq!(starts(None, Some(2)), [0.2, 0.3]);
    assert!(starts(None, Some(0)).is_empty());
    assert_eq!(starts(None, None).len(), 19);
}

/// A static group's sizes are drawn one by one, the same ones however many flows there are.
#[test]
fn static_flows_have_sizes_of_their_own() {
    let sizes = |count: u32, seed| {
        let mut scenario = dumbbell("50Mbps", 20, "sack", "");
        scenario.groups[0].count = count;
        scenario.groups[0].size = Size::Drawn(SizeLaw::Exponential { mean: 20_000.0 });
        let outcome = common::run(&scenario, seed, 0);
        assert!(outcome.tables.flows.iter().all(|flow| flow.finish_s.is_some()));
        outcome.tables.flows.iter().map(|flow| flow.delivered_bytes).collect::<Vec<_>>()
    };
    let (five, nine) = (sizes(5, 1), sizes(9, 1));
    assert_eq!(five, nine[..5]);
    assert_ne!(five, sizes(5, 2));
    let mut stream = Stream::new(1, 0, "flow.web.3.size");
    assert_eq!(five[3], SizeLaw::Exponential { mean: 20_000.0 }.draw(&mut stream));
}

/// An application of 2 Mb/s on a link of 10 Mb/s has 2 Mb/s; so have two of them. In 40 s, 10,001
/// packets are offered; 6 at most are on the way, for 20 ms and a little. A window that opens
/// slowly leaves a backlog, which then makes a queue; SACK's opens before the warm-up is over.
#[test]
fn an_application_has_its_rate_where_there_is_room() {
    for protocol in ["sack", "vcp", "xcp"] {
        let mut scenario = dumbbell("10Mbps", 40, protocol, "");
        scenario.warmup = Span::from_secs(10);
        scenario.groups[0].count = 2;
        scenario.groups[0].start = Start::Every { first: Span::ZERO, gap: Span::from_millis(1) };
        scenario.groups[0].app = App::Rate(Rate(2_000_000));
        let outcome = common::run(&scenario, 1, 0);
        let link = common::link(&outcome, "bottleneck");
        for flow in &outcome.tables.flows {
            assert!((9_994..=10_001).contains(&flow.delivered_pkts), "{flow:?}");
            assert_eq!(flow.dropped_pkts, 0);
            if protocol == "sack" {
                assert!((flow.goodput_bps / 2e6 - 1.0).abs() < 0.001, "{flow:?}");
                assert!(link.queue_max_pkts <= 1);
            }
        }
    }
}

/// What the window holds back stays offered: behind a link of 1 Mb/s, 2 Mb/s offered for 10 s
/// (2,501 packets, the first at once) are delivered in 20 s and not sooner.
#[test]
fn what_is_not_sent_stays_offered() {
    let mut scenario = dumbbell("1Mbps", 60, "sack", "");
    let group = &mut scenario.groups[0];
    let (on, off) = (Span::from_millis(10_001), Span::from_secs(3600));
    let (on, off) = (DelayLaw::Fixed(on), DelayLaw::Fixed(off));
    group.app = App::OnOff { rate: Rate(2_000_000), on, off };
    let outcome = common::run(&scenario, 1, 0);
    let flow = &outcome.tables.flows[0];
    assert_eq!((flow.delivered_pkts, flow.finish_s), (2_501, None));
    // The same with an end: it is finished when the last byte is acknowledged, 20.008 s of service.
    scenario.groups[0].size = Size::Bytes(2_501_000);
    let flow = &common::run(&scenario, 1, 0).tables.flows[0];
    let fct = flow.fct_s.expect("it finishes");
    assert!(fct > 20.008 && fct < 22.0, "{fct} s");
    // A transfer slower than its path takes as long as the application does: 2,500 gaps of 4 ms,
    // then a round trip.
    let mut scenario = dumbbell("10Mbps", 60, "sack", "");
    scenario.groups[0].app = App::Rate(Rate(2_000_000));
    scenario.groups[0].size = Size::Bytes(2_501_000);
    let fct = common::run(&scenario, 1, 0).tables.flows[0].fct_s.expect("it finishes");
    assert!(fct > 10.020 && fct < 10.025, "{fct} s");
}

/// A stop ends an application, too: 1 s of a packet each 4 ms, the first at once and none at 1 s.
#[test]
fn a_stopped_application_offers_no_more() {
    let mut scenario = dumbbell("10Mbps", 10, "sack", "");
    scenario.groups[0].app = App::Rate(Rate(2_000_000));
    scenario.groups[0].stop = Some(Span::from_secs(1));
    let flow = &common::run(&scenario, 1, 0).tables.flows[0];
    assert_eq!(flow.delivered_pkts, 250);
    assert!((1.0..1.1).contains(&flow.finish_s.expect("what is out is delivered")));
}

/// A sender that uses a part of its window does not open it: 4 Mb/s are 10 packets in a round trip
/// of 20 ms. Slow start has sent 31 of the first 50 after five of them and catches up in the sixth,
/// so that its window of 32 to 64 is not full again. If it grew on, it would be at 30,000 in the
/// end.
#[test]
fn an_unused_window_does_not_grow() {
    let series = "[probe]\nseries = [\"cwnd\"]\nevery = \"1s\"\n";
    let mut scenario = dumbbell("10Mbps", 60, "sack", series);
    scenario.groups[0].app = App::Rate(Rate(4_000_000));
    let outcome = common::run(&scenario, 1, 0);
    let cwnd = &outcome.tables.series.iter().find(|s| s.name == "cwnd_pkts").unwrap().value;
    assert!((32.0..=64.0).contains(&cwnd[0]), "{cwnd:?}");
    assert!(cwnd.len() == 60 && cwnd.iter().all(|&later| later == cwnd[0]), "{cwnd:?}");
}

/// One transfer of 50 kB each second, over in about 0.2 s: its series has the slot's number, 0,
/// each time, no value while the slot is free, and no more bytes than were sent.
#[test]
fn a_series_has_values_while_a_flow_holds_the_slot() {
    let series = "[probe]\nseries = [\"goodput\"]\nevery = \"10ms\"\n";
    let mut scenario = dumbbell("10Mbps", 10, "sack", series);
    let gap = GapLaw::Every(Span::from_secs(1));
    arriving(&mut scenario, gap, Some(9), Size::Bytes(50_000));
    let outcome = common::run(&scenario, 1, 0);
    let all = transfers(&outcome);
    let series = &outcome.tables.series[0];
    assert!(series.id.iter().all(|&id| id == 0));
    for (start, fct) in all.start_s.iter().zip(times(all)) {
        let fct = fct.expect("it finishes");
        assert!(fct < 0.5, "{fct} s");
        let during = |t: f64| t > *start && t < start + 1.0;
        let own = || series.t_s.iter().zip(&series.value).filter(|(t, _)| during(**t));
        let bytes: f64 = own().map(|(_, bps)| bps * 0.01 / 8.0).sum();
        // What came since the last sample before the end is in none: at most 10 ms of 10 Mb/s.
        assert!((37_500.0..=50_001.0).contains(&bytes), "{bytes}");
        assert!(own().all(|(t, _)| *t <= start + fct));
    }
}

/// 100,000 short transfers at 60 % load. The number alive at once is what Little's law says, the
/// rate times the mean time: 750/s * 0.1 s, with peaks; slots are as many as were alive at most.
#[test]
fn slots_are_as_many_as_flows_alive() {
    let mut scenario = dumbbell("60Mbps", 134, "sack", "");
    let size = Size::Drawn(SizeLaw::Exponential { mean: 6_000.0 });
    arriving(&mut scenario, GapLaw::Poisson { mean_s: 1.0 / 750.0 }, None, size);
    let mut run = Run::new(&scenario, 1, 0);
    let mut most = 0;
    while run.advance(100) {
        most = most.max(run.flow_slots().1);
    }
    let (slots, _) = run.flow_slots();
    let outcome = run.finish();
    let all = transfers(&outcome);
    assert!(all.start_s.len() > 98_000);
    // Alive at once by the rows alone: between the start and the finish.
    let mut changes: Vec<(f64, i64)> = Vec::new();
    for (start, fct) in all.start_s.iter().zip(times(all)) {
        changes.push((*start, 1));
        changes.extend(fct.map(|fct| (start + fct, -1)));
    }
    changes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let alive = |total: &mut i64, change: &(f64, i64)| {
        *total += change.1;
        Some(*total)
    };
    let peak = changes.iter().scan(0, alive).max().unwrap() as usize;
    assert!(peak <= slots && slots <= peak + peak / 4 + 2, "{slots} slots for {peak} alive");
    assert!(most <= slots && slots < 400, "{slots} slots");
}

/// A million transfers of 10 kB at 60 % of a gigabit: memory for the rows and for the flows alive.
#[test]
fn a_million_transfers_fit_into_little_memory() {
    let mut scenario = dumbbell("1Gbps", 134, "sack", "");
    let size = Size::Drawn(SizeLaw::Exponential { mean: 10_000.0 });
    arriving(&mut scenario, GapLaw::Poisson { mean_s: 1.0 / 7_500.0 }, None, size);
    let mut run = Run::new(&scenario, 1, 0);
    while run.advance(1 << 20) {}
    let (slots, _) = run.flow_slots();
    let outcome = run.finish();
    let group = &outcome.tables.groups[0];
    assert!(group.flows > 1_000_000 && slots < 20_000, "{} flows in {slots} slots", group.flows);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).map(str::trim);
    println!("{} transfers, {slots} slots, peak {peak:?}", group.flows);
    if let Some(kib) = peak.and_then(|text| text.strip_suffix(" kB")?.parse::<u64>().ok()) {
        assert!(kib < 1_000_000, "{kib} kB");
    }
}

/// 5 GB, which 32 bits do not count, arrive to the byte.
#[test]
fn bytes_do_not_wrap() {
    let scenario = common::scenario(
        "duration = \"4s\"\nwarmup = \"0s\"\n[packets]\ndata = \"9000B\"\n\
         [topology]\nkind = \"dumbbell\"\nrate = \"20Gbps\"\nrtt = \"100us\"\nbuffer = \"2bdp\"\n\
         [flows.web]\nprotocol = \"sack\"\narrivals = \"every(10s)\"\nsize = \"5000000001B\"\n",
    );
    let outcome = common::run(&scenario, 1, 0);
    let (group, link) = (&outcome.tables.groups[0], common::link(&outcome, "bottleneck"));
    assert_eq!((group.finished, group.delivered_bytes), (1, 5_000_000_001));
    assert_eq!(transfers(&outcome).size_bytes, [5_000_000_001]);
    // Each packet is of 9000 B, but for the last.
    let whole = 9000 * (link.total_departures_pkts - 1);
    assert!((whole..whole + 9000).contains(&link.departures_bytes), "{link:?}");
    assert!(link.departures_bytes > 5_000_000_000, "{link:?}");
}

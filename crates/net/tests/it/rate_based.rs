//! Protocols that set a rate: UDP by its application, TFRC by its equation. `--nocapture` prints
//! it.

use clearpipe_net::{Outcome, Run};
use results::{FlowRow, GroupRow};
use scenario::{Loss, LossModel, Scenario};

use crate::common;

/// A dumbbell of 10 Mb/s, 40 ms and 20 packets of 1000 B, with one group `f` of these keys.
fn scenario(duration: u64, more: &str, flows: &str) -> Scenario {
    let text = format!(
        "schema = 1\nname = \"rate\"\nduration = \"{duration}s\"\nwarmup = \"0s\"\n{more}\n\
         [packets]\ndata = \"1000B\"\n\
         [topology]\nkind = \"dumbbell\"\nrate = \"10Mbps\"\nrtt = \"40ms\"\nbuffer = \"20pkt\"\n\
         [flows.f]\n{flows}\n"
    );
    let parsed = scenario::parse("rate.toml", &text, &[]);
    parsed.unwrap_or_else(|error| panic!("{error}")).scenario
}

fn udp(duration: u64, flows: &str) -> Outcome {
    common::run(&scenario(duration, "", &format!("protocol = \"udp\"\n{flows}")), 1, 0)
}

/// What became of each packet adds up, and nothing came back.
fn check_one_way(outcome: &Outcome) -> &FlowRow {
    let flow = &outcome.tables.flows[0];
    let gone = flow.arrived_pkts + flow.dropped_pkts + flow.lost_pkts + flow.in_flight_pkts;
    assert_eq!(flow.sent_pkts, gone);
    assert_eq!(flow.delivered_pkts, flow.arrived_pkts);
    assert_eq!((flow.acks_sent_pkts, flow.retransmitted_pkts, flow.timeouts), (0, 0, 0));
    let back = common::link(outcome, "bottleneck.reverse");
    assert_eq!((back.total_arrivals_pkts, back.total_departures_pkts), (0, 0));
    flow
}

/// 4 Mb/s of 1000 B are a packet each 2 ms, from 0 s on: 10,000 in 20 s, and one at 20 s.
#[test]
fn a_constant_bit_rate_is_exact() {
    let outcome = udp(20, "rate = \"4Mbps\"");
    let flow = check_one_way(&outcome);
    assert_eq!((flow.sent_pkts, flow.dropped_pkts), (10_001, 0));
    // One way is 20 ms and three serializations: access 80 us, link 800 us, access 80 us. So what
    // has left by 19.97904 s is there: packets 0 to 9989.
    assert_eq!(flow.arrived_pkts, 9_990);
    assert_eq!(flow.goodput_bps, 9_990.0 * 8000.0 / 20.0);
    assert_eq!(flow.finish_s, None);
    let link = common::link(&outcome, "bottleneck");
    assert!((link.utilization_ratio - 0.4).abs() < 0.001 && link.queue_max_pkts == 0);
}

/// 12.5 Mb/s into 10 Mb/s: the queue fills and then each fifth packet is dropped.
#[test]
fn overload_is_dropped_and_never_sent_again() {
    let outcome = udp(20, "rate = \"12.5Mbps\"");
    let flow = check_one_way(&outcome);
    assert_eq!(flow.sent_pkts, 31_251);
    // 25,000 are served in 20 s; 20 wait.
    assert!((flow.dropped_pkts as f64 - 6_230.0).abs() < 10.0, "{}", flow.dropped_pkts);
    assert!((flow.goodput_bps / 1e7 - 1.0).abs() < 0.002, "{}", flow.goodput_bps);
    assert!(common::link(&outcome, "bottleneck").utilization_ratio > 0.999);
}

/// 250 packets/s for 400 s: 10^5 packets with a standard deviation of 316. The queue in front of
/// the link is M/D/1 with rho = 0.2, where rho^2/(2(1 - rho)) = 0.025 packets wait.
#[test]
fn a_poisson_source_has_its_rate_and_an_m_d_1_queue() {
    let outcome = udp(400, "rate = \"2Mbps\"\ngaps = \"poisson\"");
    let flow = check_one_way(&outcome);
    assert!((flow.sent_pkts as f64 - 1e5).abs() < 1300.0, "{}", flow.sent_pkts);
    assert_eq!(flow.dropped_pkts, 0);
    // At rho = 0.8 it would be 1.6 packets.
    let waiting = common::link(&outcome, "bottleneck").queue_mean_pkts;
    println!("    M/D/1 at 0.2: {waiting:.4} packets wait, 0.0250 expected");
    assert!((waiting / 0.025 - 1.0).abs() < 0.05, "{waiting}");
    let busy = udp(400, "rate = \"8Mbps\"\ngaps = \"poisson\"");
    let waiting = common::link(&busy, "bottleneck").queue_mean_pkts;
    println!("    M/D/1 at 0.8: {waiting:.3} packets wait, 1.600 expected");
    assert!((waiting / 1.6 - 1.0).abs() < 0.05, "{waiting}");
}

/// On for 1 s and off for 3 s on average at 4 Mb/s: 125 packets/s. A cycle's on-time has mean and
/// standard deviation 1 s; over 4000 s (1000 cycles) the standard error is 3/4*sqrt(2/1000), which
/// is 3.4 %.
#[test]
fn an_on_off_source_has_its_share_of_the_rate() {
    let outcome =
        udp(4000, "rate = \"4Mbps\"\non = \"exponential(1s)\"\noff = \"exponential(3s)\"");
    let flow = check_one_way(&outcome);
    let rate = flow.sent_pkts as f64 / 4000.0;
    println!("    on-off: {rate:.1} packets/s, 125 expected");
    assert!((rate / 125.0 - 1.0).abs() < 3.0 * 0.034, "{rate}");
    let outcome = udp(40, "rate = \"4Mbps\"\non = \"1s\"\noff = \"3s\"");
    // 500 packets of each on-second, and the first of the one that begins at 40 s.
    assert_eq!(check_one_way(&outcome).sent_pkts, 5_001);
}

/// 100 packets, one each 2 ms: the last leaves at 198 ms and is there 20.96 ms later. A source that
/// stops is finished when what it has sent is there.
#[test]
fn a_transfer_is_finished_when_nothing_of_it_is_out() {
    let one_way = 0.020_96;
    for (flows, sent, finish) in [
        ("rate = \"4Mbps\"\nsize = \"100pkt\"", 100, 0.198 + one_way),
        ("rate = \"4Mbps\"\nstop = \"201ms\"", 101, 0.2 + one_way),
        // It stops long after its last packet: off from 0.1 s on.
        ("rate = \"4Mbps\"\non = \"100ms\"\noff = \"5s\"\nstop = \"1s\"", 50, 1.0),
    ] {
        for series in ["[]", "[\"cwnd\", \"goodput\"]"] {
            let probe = format!("[probe]\nevery = \"10ms\"\nseries = {series}");
            let flows = format!("protocol = \"udp\"\n{flows}");
            let outcome = common::run(&scenario(3, &probe, &flows), 1, 0);
            let flow = check_one_way(&outcome);
            assert_eq!((flow.sent_pkts, flow.arrived_pkts), (sent, sent));
            let at = flow.finish_s.expect("it is finished");
            assert!((at - finish).abs() < 1e-9, "{at} {finish}");
        }
    }
    // Where the last packet is dropped it ends there: 12.5 Mb/s, 40 packets over a queue of 20.
    let outcome = udp(3, "rate = \"200Mbps\"\naccess_rate = \"1Gbps\"\nsize = \"40pkt\"");
    let flow = check_one_way(&outcome);
    // In 39*40 us no packet or one or two are served, one is in service and 20 wait.
    assert_eq!((flow.arrived_pkts, flow.dropped_pkts), (22, 18));
    assert!(flow.finish_s.is_some());
}

/// 2,000 transfers come at 20/s, each of 10 packets at 1 Mb/s, so 72 ms and the way: about two are
/// alive at once, and their slots are used again.
#[test]
fn arriving_transfers_give_their_slots_back() {
    for more in ["", "[transport]\ndelayed_ack = \"100ms\""] {
        let flows = "protocol = \"udp\"\nrate = \"1Mbps\"\nsize = \"10pkt\"\n\
                     arrivals = \"poisson(20/s)\"\ncount = 2000";
        let scenario = scenario(130, more, flows);
        let mut run = Run::new(&scenario, 1, 0);
        while run.advance(1 << 16) {}
        let (slots, held) = run.flow_slots();
        let outcome = run.finish();
        let group: &GroupRow = &outcome.tables.groups[0];
        assert_eq!((group.sent_pkts, group.arrived_pkts), (20_000, 20_000));
        assert!(slots < 20 && held == 0, "{slots} slots, {held} held at the end");
        let times = &outcome.tables.transfers.as_ref().expect("arrivals").fct_s;
        // 72 ms and the way of 20.96 ms; a packet that meets another's waits up to a few times 0.8
        // ms.
        assert!(times.iter().all(|fct| (0.092_96..0.11).contains(fct)));
        assert!(times.iter().any(|fct| (fct - 0.092_96).abs() < 1e-9));
    }
}

/// A lone TFRC flow over a line that never limits it, RTT 100 ms: rate [packets/s], and the row.
fn tfrc(loss: &str) -> (f64, FlowRow) {
    let text = "schema = 1\nname = \"tfrc\"\nduration = \"400s\"\nwarmup = \"50s\"\n\
         [packets]\ndata = \"1000B\"\n\
         [topology]\nkind = \"dumbbell\"\nrate = \"1Gbps\"\nrtt = \"100ms\"\nbuffer = \"1000pkt\"\n\
         [flows.f]\nprotocol = \"tfrc\"\n";
    let parsed = scenario::parse("tfrc.toml", text, &[]);
    let mut scenario = parsed.unwrap_or_else(|error| panic!("{error}")).scenario;
    let model = match loss.split_once(' ') {
        Some(("every", n)) => LossModel::Every(n.parse().expect("a number")),
        Some(("random", p)) => LossModel::Random(p.parse().expect("a number")),
        _ => panic!("{loss}"),
    };
    let bottleneck = scenario.links.iter_mut().find(|link| link.name == "bottleneck");
    bottleneck.expect("a dumbbell has one").line.loss = Some(Loss { model, data_only: true });
    let outcome = common::run(&scenario, 1, 0);
    let row = outcome.tables.flows[0].clone();
    assert_eq!((row.retransmitted_pkts, row.timeouts), (0, 0));
    assert_eq!(row.delivered_pkts, row.arrived_pkts);
    (row.goodput_bps / 8000.0, row)
}

/// Every n-th packet is lost: every loss interval is n packets, so p is 1/n exactly, and the rate
/// is that of the equation.
#[test]
fn tfrc_has_the_rate_of_its_equation() {
    for n in [40, 100, 1000] {
        let p = 1.0 / f64::from(n);
        let expected = cc::rate::tfrc::throughput(1.0, 0.1, p) * (1.0 - p);
        let (rate, row) = tfrc(&format!("every {n}"));
        println!("    every {n}: {rate:.1} packets/s, {expected:.1} by the equation");
        assert!((rate / expected - 1.0).abs() < 0.03, "{rate} {expected}");
        // A report per RTT of 0.1 s and one per loss.
        let reports = 400.0 / 0.1 + row.lost_pkts as f64;
        let sent = row.acks_sent_pkts as f64;
        assert!(sent < 1.05 * reports && sent > 0.8 * 400.0 / 0.1, "{sent} {reports}");
    }
}

/// Random losses: loss events are a little fewer than losses, and the rate is a mean of a function
/// that is not linear.
#[test]
fn tfrc_is_near_its_equation_with_random_losses() {
    for p in [0.001, 0.01, 0.05] {
        let expected = cc::rate::tfrc::throughput(1.0, 0.1, p) * (1.0 - p);
        let (rate, _) = tfrc(&format!("random {p}"));
        println!("    p = {p}: {rate:.1} packets/s, {expected:.1} by the equation");
        assert!((rate / expected - 1.0).abs() < 0.2, "{rate} {expected}");
    }
}

/// Transfers by TFRC that come and go over a queue that drops: all end, and the slots are free
/// again.
#[test]
fn tfrc_transfers_end_and_give_their_slots_back() {
    let flows = "protocol = \"tfrc\"\nsize = \"pareto(20kB, 1.5)\"\n\
                 arrivals = \"poisson(20/s)\"\ncount = 1000";
    let scenario = scenario(120, "", flows);
    let mut run = Run::new(&scenario, 1, 0);
    while run.advance(1 << 16) {}
    let (slots, held) = run.flow_slots();
    let outcome = run.finish();
    let group: &GroupRow = &outcome.tables.groups[0];
    println!("    {} dropped of {}, {slots} slots", group.dropped_pkts, group.sent_pkts);
    assert_eq!(group.sent_pkts, group.arrived_pkts + group.dropped_pkts);
    assert!(group.acks_sent_pkts > 0 && group.acks_sent_pkts == group.acks_arrived_pkts);
    assert!(slots < 200 && held == 0, "{slots} slots, {held} held at the end");
    let times = &outcome.tables.transfers.as_ref().expect("arrivals").fct_s;
    assert!(times.len() == 1000 && times.iter().all(|fct| *fct > 0.0));
}

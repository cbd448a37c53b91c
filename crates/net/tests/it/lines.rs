//! What a link's line does besides serving, on whole runs. Single packets are worked out by hand.

use clearpipe_net::Outcome;
use scenario::{
    Capacity, DelayLaw, Jitter, Line, Loss, LossModel, Outage, Reorder, Scenario, Step, Trace,
};
use units::{Rate, Span};

use crate::common::{self, mean, series};

fn ms(t: u64) -> Span {
    Span::from_millis(t)
}

/// A dumbbell whose bottleneck has this line.
fn dumbbell(text: &str, line: Line) -> Scenario {
    let text = format!("schema = 1\nname = \"lines\"\n{text}");
    let parsed = scenario::parse("lines.toml", &text, &[]);
    let mut scenario = parsed.unwrap_or_else(|error| panic!("{error}")).scenario;
    let bottleneck = scenario.links.iter_mut().find(|link| link.name == "bottleneck");
    bottleneck.expect("a dumbbell has one").line = line;
    scenario
}

/// One packet of 1000 B over 8 Mb/s: it is in service for 1 ms.
fn one_packet(line: Line) -> Outcome {
    let text = "duration = \"20s\"\nwarmup = \"0s\"\n[transport]\ninitial_rto = \"1s\"\n\
                [packets]\ndata = \"1000B\"\n\
                [topology]\nkind = \"dumbbell\"\nrate = \"8Mbps\"\nrtt = \"100ms\"\nbuffer = \"100pkt\"\n\
                [flows.one]\nprotocol = \"sack\"\nsize = \"1000B\"\nstart = \"2s\"\n";
    common::run(&dumbbell(text, line), 1, 0)
}

/// Picoseconds that the line adds to the transfer of one packet.
fn added(line: Line) -> i64 {
    let fct = |line| {
        let seconds = one_packet(line).tables.flows[0].fct_s.expect("it ends");
        (seconds * 1e12).round() as i64
    };
    fct(line) - fct(Line::default())
}

const MS: i64 = 1_000_000_000;

#[test]
fn a_step_an_outage_or_a_delay_adds_what_it_must() {
    // The packet is at the link after 2 s, and before the steps and outages of 2.1 s.
    let steps = |at, mbps: u64| Line {
        capacity: Capacity::Steps(vec![Step { at: ms(at), rate: Rate(mbps * 1_000_000) }]),
        ..Line::default()
    };
    assert_eq!(added(steps(2100, 1)), 0);
    assert_eq!(added(steps(1000, 1)), 7 * MS);
    let outage = |from, to, outage_drops| Line {
        outages: vec![Outage { from: ms(from), to: ms(to) }],
        outage_drops,
        ..Line::default()
    };
    // Out up to 2.5 s: the packet starts then and not when it came, within 2.0 to 2.1 s.
    let wait = added(outage(1900, 2500, false));
    assert!((400 * MS..500 * MS).contains(&wait), "{wait}");
    let shorter = added(outage(1900, 2400, false));
    assert_eq!(wait - shorter, 100 * MS);
    // Dropped, and sent again after initial_rto = 1 s.
    assert_eq!(added(outage(1900, 2500, true)), 1000 * MS);
    let law = DelayLaw::Fixed(ms(7));
    let jitter =
        |in_order| Line { jitter: Some(Jitter { extra: law, in_order }), ..Line::default() };
    assert_eq!((added(jitter(true)), added(jitter(false))), (7 * MS, 7 * MS));
    let reorder = Some(Reorder { p: 1.0, extra: ms(9) });
    assert_eq!(added(Line { reorder, ..Line::default() }), 9 * MS);
}

#[test]
fn an_outage_in_the_middle_of_a_packet_is_added_to_it() {
    // Where the packet is in service, to half a millisecond: where a tiny outage of 1 ps hurts.
    let hurts = |at: u64| {
        let outage = Outage { from: Span(ms(1).0 * at / 2), to: Span(ms(1).0 * at / 2 + 1) };
        added(Line { outages: vec![outage], ..Line::default() }) == 1
    };
    let first = (4000..4400).find(|&at| hurts(at)).expect("within 200 ms");
    let from = Span(ms(1).0 * first / 2);
    // And the packet waits for all of a long one.
    let line = Line { outages: vec![Outage { from, to: from + ms(300) }], ..Line::default() };
    assert_eq!(added(line), 300 * MS);
    // A step to an eighth: what is left of 1 ms takes 8 times as long.
    let steps = vec![Step { at: from, rate: Rate(1_000_000) }];
    let slowed = added(Line { capacity: Capacity::Steps(steps), ..Line::default() });
    assert!(slowed > 0 && slowed <= 7 * MS, "{slowed}");
    let later = vec![Step { at: Span(from.0 + 100_000_000), rate: Rate(1_000_000) }];
    let less = added(Line { capacity: Capacity::Steps(later), ..Line::default() });
    // 0.1 ms more at the full rate saves seven times that.
    assert_eq!(slowed - less, 7 * MS / 10);
}

#[test]
fn a_lost_packet_was_served_and_its_loss_is_no_drop() {
    let list = |data_only| {
        let loss = Some(Loss { model: LossModel::List([1].into()), data_only });
        Line { loss, ..Line::default() }
    };
    // The retransmission is the second packet, 1 s later.
    assert_eq!(added(list(true)), 1000 * MS);
    let outcome = one_packet(list(false));
    let (link, flow) = (common::link(&outcome, "bottleneck"), &outcome.tables.flows[0]);
    assert_eq!(
        (link.total_lost_pkts, link.total_drops_pkts, link.total_departures_pkts),
        (1, 0, 2)
    );
    assert_eq!(
        (flow.sent_pkts, flow.arrived_pkts, flow.lost_pkts, flow.dropped_pkts),
        (2, 1, 1, 0)
    );
    // The same on the way back: the ACK is lost.
    let outcome = {
        let mut scenario = dumbbell(ONE_ACK, Line::default());
        scenario.links.iter_mut().filter(|link| link.name != "bottleneck").for_each(|link| {
            link.line = list(false);
        });
        common::run(&scenario, 1, 0)
    };
    let flow = &outcome.tables.flows[0];
    assert_eq!((flow.sent_pkts, flow.arrived_pkts, flow.acks_lost_pkts), (2, 2, 1));
}

const ONE_ACK: &str = "duration = \"20s\"\nwarmup = \"0s\"\n\
    [topology]\nkind = \"dumbbell\"\nrate = \"8Mbps\"\nrtt = \"100ms\"\nbuffer = \"100pkt\"\n\
    [flows.one]\nprotocol = \"sack\"\nsize = \"1000B\"\n";

/// The values of link or flow `id` after `from` and up to `to` [s].
fn values(outcome: &Outcome, name: &str, id: u32, from: f64, to: f64) -> Vec<f64> {
    let series = series(outcome, name);
    let rows = series.t_s.iter().zip(&series.id).zip(&series.value);
    rows.filter(|&((&t, &i), _)| i == id && t > from + 1e-9 && t <= to + 1e-9)
        .map(|(_, &value)| value)
        .collect()
}

/// Four flows over 10 Mb/s with an outage from 10 to 12 s.
fn with_outage(outage_drops: bool) -> Outcome {
    let text = "duration = \"30s\"\nwarmup = \"5s\"\n\
        [topology]\nkind = \"dumbbell\"\nrate = \"10Mbps\"\nrtt = \"40ms\"\nbuffer = \"2bdp\"\n\
        [flows.fwd]\nprotocol = \"sack\"\ncount = 4\nstart = \"uniform(0s, 1s)\"\n\
        [probe]\nseries = [\"utilization\", \"queue\", \"drops\", \"goodput\"]\nevery = \"10ms\"\n";
    let outages = vec![Outage { from: Span::from_secs(10), to: Span::from_secs(12) }];
    let outcome =
        common::run(&dumbbell(text, Line { outages, outage_drops, ..Line::default() }), 1, 0);
    let link = common::link(&outcome, "bottleneck");
    let during = |name, from, to| values(&outcome, name, link.link, from, to);
    // Nothing leaves, and the line is as busy as before soon after.
    assert!(during("utilization_ratio", 10.0, 12.0).iter().all(|&u| u == 0.0));
    let after = mean(&during("utilization_ratio", 20.0, 30.0));
    assert!(after > 0.9, "{after}");
    // What was under way when it began arrives: the delay is 20 ms, less is at the link's far end.
    let got: f64 = (0..4).map(|i| mean(&values(&outcome, "goodput_bps", i, 10.0, 10.01))).sum();
    assert!(got > 5e6, "{got}");
    outcome
}

#[test]
fn an_outage_holds_what_waits_or_drops_what_comes() {
    let holds = with_outage(false);
    let number = common::link(&holds, "bottleneck").link;
    let queue = values(&holds, "queue_pkts", number, 10.5, 12.0);
    assert!(queue.windows(2).all(|pair| pair[0] <= pair[1]), "nothing leaves the queue");
    let drops = with_outage(true);
    let queue = values(&drops, "queue_pkts", number, 10.0, 12.0);
    assert!(queue.windows(2).all(|pair| pair[0] == pair[1]), "and nothing comes in: {queue:?}");
    let dropped: f64 = values(&drops, "drops_pkts", number, 10.0, 12.0).iter().sum();
    assert!(dropped > 0.0);
}

/// Where the routers' feedback follows 100 -> 50 -> 100 Mb/s: link utilization and mean queue of
/// windows that begin `settle` seconds after each step.
fn after_steps(protocol: &str, settle: f64) -> Vec<(f64, f64)> {
    let text = format!(
        "duration = \"90s\"\nwarmup = \"10s\"\n\
         [topology]\nkind = \"dumbbell\"\nrate = \"100Mbps\"\nrtt = \"80ms\"\nbuffer = \"1bdp\"\n\
         queue = \"{protocol}\"\n\
         [flows.fwd]\nprotocol = \"{protocol}\"\ncount = 20\nstart = \"uniform(0s, 2s)\"\n\
         [probe]\nseries = [\"utilization\", \"queue\"]\nevery = \"10ms\"\n"
    );
    let rates = [(30, 50_000_000), (60, 100_000_000)];
    let steps = rates.map(|(at, bps)| Step { at: Span::from_secs(at), rate: Rate(bps) });
    let capacity = Capacity::Steps(steps.to_vec());
    let outcome = common::run(&dumbbell(&text, Line { capacity, ..Line::default() }), 1, 0);
    let link = common::link(&outcome, "bottleneck").link;
    let window = |name, from, to| mean(&values(&outcome, name, link, from, to));
    let phases = [(20.0, 30.0), (30.0 + settle, 60.0), (60.0 + settle, 90.0)];
    phases
        .map(|(from, to)| (window("utilization_ratio", from, to), window("queue_pkts", from, to)))
        .to_vec()
}

/// The bandwidth-delay product at 50 Mb/s is 500 packets of 1000 B; 1 s is 12 RTTs.
#[test]
fn xcp_follows_a_step_of_the_capacity() {
    let phases = after_steps("xcp", 1.0);
    println!("xcp: (utilization, mean queue) {phases:?}");
    for (utilization, queue) in phases {
        assert!(utilization > 0.95 && queue < 50.0, "{utilization} {queue}");
    }
}

/// VCP climbs by additive increase: from half the capacity to all of it in some seconds.
#[test]
fn vcp_follows_a_step_of_the_capacity() {
    let phases = after_steps("vcp", 5.0);
    println!("vcp: (utilization, mean queue) {phases:?}");
    for (utilization, queue) in phases {
        assert!(utilization > 0.9 && queue < 50.0, "{utilization} {queue}");
    }
}

/// A trace of one opportunity per millisecond is 12 Mb/s; SACK fills it, XCP nearly.
#[test]
fn a_trace_is_filled() {
    for (queue, protocol, least) in [("droptail", "sack", 0.97), ("xcp", "xcp", 0.9)] {
        let text = format!(
            "duration = \"30s\"\nwarmup = \"10s\"\n\
             [topology]\nkind = \"dumbbell\"\nrate = \"12Mbps\"\nrtt = \"40ms\"\nbuffer = \"2bdp\"\n\
             queue = \"{queue}\"\n\
             [flows.fwd]\nprotocol = \"{protocol}\"\ncount = 4\n"
        );
        let trace = Trace { opportunities_ms: [1].into() };
        let line = Line { capacity: Capacity::Trace(trace), ..Line::default() };
        let outcome = common::run(&dumbbell(&text, line), 1, 0);
        let link = common::link(&outcome, "bottleneck");
        println!("{protocol} over a trace: {}", link.utilization_ratio);
        assert!(link.utilization_ratio > least && link.utilization_ratio <= 1.001);
    }
}

/// Feedback does not see what the line loses: the router counts what arrives and what it drops.
#[test]
fn an_unannounced_loss_leaves_the_queues_columns_alone() {
    let loss = Some(Loss { model: LossModel::Every(50), data_only: true });
    let text = "duration = \"20s\"\nwarmup = \"0s\"\n\
        [topology]\nkind = \"dumbbell\"\nrate = \"10Mbps\"\nrtt = \"40ms\"\nbuffer = \"500pkt\"\n\
        [flows.fwd]\nprotocol = \"sack\"\n";
    let outcome = common::run(&dumbbell(text, Line { loss, ..Line::default() }), 1, 0);
    let (link, flow) = (common::link(&outcome, "bottleneck"), &outcome.tables.flows[0]);
    assert_eq!(link.total_drops_pkts + link.total_marks_pkts, 0);
    assert_eq!(link.total_lost_pkts, link.total_departures_pkts / 50);
    assert_eq!(flow.lost_pkts, link.total_lost_pkts);
    assert!(flow.lost_pkts > 50);
}

/// One packet of 1000 B that meets the bottleneck of 1 Mb/s, over which it takes 8 ms, at 2.012508
/// s: 8 us of access hop at 1 Gb/s and an eighth of the RTT after its start. Measured from `warmup`
/// on.
fn cut(line: Line, (warmup_us, duration_us): (u64, u64)) -> results::LinkRow {
    let text = format!(
        "duration = \"{duration_us}us\"\nwarmup = \"{warmup_us}us\"\n\
         [packets]\ndata = \"1000B\"\n[topology]\nkind = \"dumbbell\"\nrate = \"1Mbps\"\n\
         rtt = \"100ms\"\nbuffer = \"100pkt\"\n[flows.one]\nprotocol = \"sack\"\nsize = \"1000B\"\n\
         start = \"2s\"\naccess_rate = \"1Gbps\"\n"
    );
    common::link(&common::run(&dumbbell(&text, line), 1, 0), "bottleneck").clone()
}

#[test]
fn a_packet_that_the_measured_time_cuts_counts_with_its_bits_inside() {
    const BEGINS: u64 = 2_012_508;
    // The warm-up ends after half of it: 4000 b of the 10 000 b that 10 ms could carry.
    let row = cut(Line::default(), (BEGINS + 4_000, BEGINS + 14_000));
    assert!((row.utilization_ratio - 0.4).abs() < 1e-9, "{row:?}");
    assert_eq!((row.departures_pkts, row.departures_bytes), (1, 1000));
    // The run ends after three quarters of it, and the packet has not departed: 6000 b of 16 000 b.
    let row = cut(Line::default(), (BEGINS - 10_000, BEGINS + 6_000));
    assert!((row.utilization_ratio - 0.375).abs() < 1e-9, "{row:?}");
    assert_eq!((row.departures_pkts, row.queued_end_pkts), (0, 1));
    // Both cut it.
    let row = cut(Line::default(), (BEGINS + 2_000, BEGINS + 6_000));
    assert!((row.utilization_ratio - 1.0).abs() < 1e-9, "{row:?}");
    // 4000 b by the step to 2 Mb/s, the rest in 2 ms: 2000 b of 20 000 b after half of them.
    let at = Span::from_micros(BEGINS + 4_000);
    let steps = Capacity::Steps(vec![Step { at, rate: Rate(2_000_000) }]);
    let line = Line { capacity: steps, ..Line::default() };
    let row = cut(line, (BEGINS + 5_000, BEGINS + 15_000));
    assert!((row.utilization_ratio - 0.1).abs() < 1e-9, "{row:?}");
}

#[test]
fn samples_shorter_than_a_packet_show_a_full_line_as_full() {
    let text = "duration = \"3s\"\nwarmup = \"1003500us\"\n[packets]\ndata = \"1000B\"\n\
                [topology]\nkind = \"dumbbell\"\nrate = \"1Mbps\"\nrtt = \"20ms\"\n\
                buffer = \"100pkt\"\n[flows.one]\nprotocol = \"sack\"\n\
                [probe]\nseries = [\"utilization\"]\nevery = \"1ms\"\nlinks = [\"bottleneck\"]\n";
    let outcome = common::run(&dumbbell(text, Line::default()), 1, 0);
    let utilization = common::link(&outcome, "bottleneck").utilization_ratio;
    assert!((utilization - 1.0).abs() < 1e-12, "{utilization}");
    let samples = values(&outcome, "utilization_ratio", 0, 1.0, 3.0);
    assert!(samples.len() > 1900 && samples.iter().all(|u| (u - 1.0).abs() < 1e-9));
}

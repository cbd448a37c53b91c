//! The policies of one queue at work: long SACK flows over one bottleneck, and what their papers
//! say becomes of them. `--nocapture` prints the figures.

use cc::params::Value;
use cc::registry::{AnyRouterParams, queues};
use cc::roles::{Backlog, Ecn, Limit, PacketKind, Passing, RouterContext, Verdict};
use clearpipe_net::Outcome;
use results::LinkRow;
use scenario::Scenario;
use units::random::Stream;
use units::{Rate, Span, Time};

use crate::common;

/// A dumbbell with as many flows of SACK, with ECN, that start within the first second.
struct Case {
    queue: &'static str,
    rate_mbps: u32,
    rtt_ms: u32,
    buffer: &'static str,
    flows: u32,
    duration_s: u32,
    warmup_s: u32,
}

impl Case {
    fn scenario(&self) -> Scenario {
        let Case { queue, rate_mbps, rtt_ms, buffer, flows, duration_s, warmup_s } = self;
        let text = format!(
            "schema = 1\nname = \"aqm\"\nduration = \"{duration_s}s\"\nwarmup = \"{warmup_s}s\"\n\
             [topology]\nkind = \"dumbbell\"\nrate = \"{rate_mbps}Mbps\"\nrtt = \"{rtt_ms}ms\"\n\
             buffer = \"{buffer}\"\nqueue = {queue}\n[flows.fwd]\n\
             protocol = {{ kind = \"sack\", ecn = true }}\ncount = {flows}\n\
             start = \"uniform(0s, 1s)\"\n"
        );
        scenario::parse("aqm.toml", &text, &[]).unwrap_or_else(|error| panic!("{error}")).scenario
    }

    fn run(&self) -> Outcome {
        common::run(&self.scenario(), 1, 0)
    }

    /// The bottleneck after the warm-up.
    fn bottleneck(&self) -> LinkRow {
        let outcome = self.run();
        let link = common::link(&outcome, "bottleneck");
        println!(
            "{}: utilization {:.4}, queue {:.1} pkts (most {}), marks {:.5}, drops {:.5}",
            self.queue,
            link.utilization_ratio,
            link.queue_mean_pkts,
            link.queue_max_pkts,
            link.marks_pkts as f64 / link.arrivals_pkts as f64,
            link.drop_ratio,
        );
        link.clone()
    }
}

/// The share of arrivals that RED drops while `waiting` packets wait, w_q = 1.
fn red_drops(waiting: u32) -> f64 {
    let mut params = AnyRouterParams::named("red").expect("registered");
    for (name, value) in [
        ("min_th", Value::Number(100.0)),
        ("max_th", Value::Number(200.0)),
        ("max_p", Value::Number(0.2)),
        ("w_q", Value::Number(1.0)),
        ("wait", Value::Flag(false)),
    ] {
        assert_eq!(params.set(name, value), Ok(()));
    }
    let mut red = params.build(&RouterContext {
        link: 0,
        capacity: Rate(8_000_000),
        limit: Limit::Packets(1000),
        packet_bytes: 1000,
        stream: Stream::new(1, 0, "test"),
        host: &cc::foreign::Nobody,
    });
    let backlog = Backlog { packets: waiting, bytes: u64::from(waiting) * 1000 };
    let arrivals = 200_000;
    let dropped = (0..arrivals).filter(|i| {
        let mut ecn = Ecn::NotCapable;
        let (kind, queued_for) = (PacketKind::Data, Span::ZERO);
        let packet = Passing { flow: 0, size: 1000, kind, queued_for, ecn: &mut ecn, header: None };
        let now = Time::ZERO + Span::from_millis(1) * *i;
        red.on_arrival(now, packet, backlog) == Verdict::Drop
    });
    dropped.count() as f64 / arrivals as f64
}

/// p_b is linear from 0 at 100 to 0.2 at 200 packets and on to 1 at 400. With p_b = 1/n the k-th
/// arrival after a drop goes with p_b/(1 - k*p_b) = 1/(n - k): gaps are even on 1..n-1, their mean
/// is n/2.
#[test]
fn red_drops_by_its_formula() {
    for (waiting, n) in [(110, 50.0), (125, 20.0), (150, 10.0), (200, 5.0), (275, 2.0)] {
        let (share, formula) = (red_drops(waiting), 2.0 / n);
        println!("red at {waiting}: {share:.5}, formula {formula:.5}");
        assert!((share / formula - 1.0).abs() < 0.02, "{waiting}: {share} {formula}");
    }
    assert!(red_drops(99) == 0.0 && red_drops(400) == 1.0);
}

#[test]
fn rem_holds_its_queue() {
    let link = Case {
        queue: "\"rem\"",
        rate_mbps: 45,
        rtt_ms: 40,
        buffer: "300pkt",
        flows: 40,
        duration_s: 90,
        warmup_s: 40,
    }
    .bottleneck();
    assert!((link.queue_mean_pkts / 100.0 - 1.0).abs() < 0.12, "{}", link.queue_mean_pkts);
    assert!(link.utilization_ratio > 0.98);
}

#[test]
fn pi_holds_its_queue() {
    // As in the paper: 15 Mb/s of 500-byte packets are 3750 packets/s; here 30 Mb/s of 1000 bytes.
    let link = Case {
        queue: "{ kind = \"pi\", preset = \"hollot-2001\" }",
        rate_mbps: 30,
        rtt_ms: 100,
        buffer: "800pkt",
        flows: 60,
        duration_s: 120,
        warmup_s: 60,
    }
    .bottleneck();
    assert!((link.queue_mean_pkts / 200.0 - 1.0).abs() < 0.12, "{}", link.queue_mean_pkts);
    assert!(link.utilization_ratio > 0.98);
}

#[test]
fn avq_reaches_its_utilization() {
    for gamma in ["0.98", "0.9"] {
        let queue = format!("{{ kind = \"avq\", gamma = {gamma} }}");
        let link = Case {
            queue: queue.leak(),
            rate_mbps: 20,
            rtt_ms: 40,
            buffer: "100pkt",
            flows: 30,
            duration_s: 100,
            warmup_s: 50,
        }
        .bottleneck();
        let gamma: f64 = gamma.parse().expect("a number");
        assert!((link.utilization_ratio - gamma).abs() < 0.02, "{gamma}");
    }
}

/// What the virtual queue takes in is at most its capacity's part and one buffer; the rest is
/// marked. So bytes on the line are at most theta*C*T, the virtual buffer and what was marked.
#[test]
fn the_virtual_queue_bounds_the_utilization() {
    for (theta, marks) in [(0.95, "overflow"), (0.8, "overflow"), (0.8, "busy-period")] {
        let queue = format!("{{ kind = \"vq\", capacity_ratio = {theta}, marks = \"{marks}\" }}");
        let link = Case {
            queue: queue.leak(),
            rate_mbps: 20,
            rtt_ms: 40,
            buffer: "100pkt",
            flows: 30,
            duration_s: 60,
            warmup_s: 20,
        }
        .bottleneck();
        let capacity = 20e6 / 8000.0 * 40.0;
        let marked = link.marks_pkts as f64 / capacity;
        let bound = theta + marked + 100.0 / capacity;
        assert!(link.utilization_ratio <= bound, "{} {bound}", link.utilization_ratio);
        // Marks up to the end of a busy period take far more than the bound asks for.
        let low = if marks == "overflow" { theta - 0.1 } else { 0.0 };
        assert!(link.utilization_ratio > low && marked < 0.1, "{marked}");
        // With less than the real capacity by a fifth nothing ever waits for long.
        assert!(theta > 0.9 || link.queue_mean_pkts < 30.0, "{}", link.queue_mean_pkts);
    }
}

#[test]
fn pie_holds_its_delay() {
    for preset in ["", ", preset = \"rfc8033-b\""] {
        let queue = format!("{{ kind = \"pie\"{preset} }}");
        let link = Case {
            queue: queue.leak(),
            rate_mbps: 20,
            rtt_ms: 80,
            buffer: "250pkt",
            flows: 30,
            duration_s: 80,
            warmup_s: 30,
        }
        .bottleneck();
        // 15 ms at 2500 packets/s.
        let delay_ms = link.queue_mean_pkts / 2.5;
        assert!((delay_ms - 15.0).abs() < 3.0, "{delay_ms}");
        assert!(link.utilization_ratio > 0.95);
    }
}

/// The average within the middle fifth between the thresholds, whatever the load.
#[test]
fn adaptive_red_holds_its_band() {
    for flows in [10, 40] {
        let link = Case {
            queue: "\"ared\"",
            rate_mbps: 45,
            rtt_ms: 40,
            buffer: "300pkt",
            flows,
            duration_s: 120,
            warmup_s: 60,
        }
        .bottleneck();
        // 5625 packets/s: thresholds 14.06 and 42.19, the band 25.3 to 30.9.
        assert!((25.3..30.9).contains(&link.queue_mean_pkts), "{}", link.queue_mean_pkts);
    }
}

#[test]
fn blue_settles_without_overflow() {
    let link = Case {
        queue: "{ kind = \"blue\", d1 = 0.02, d2 = 0.002 }",
        rate_mbps: 20,
        rtt_ms: 40,
        buffer: "250pkt",
        flows: 40,
        duration_s: 120,
        warmup_s: 60,
    }
    .bottleneck();
    assert!(link.data_drops_pkts == 0 && link.utilization_ratio > 0.95);
}

/// Every policy stands a line that changes its capacity and falls silent.
#[test]
fn every_policy_stands_a_changing_line() {
    // A prototype is the business of the program that brings it along.
    for info in queues().filter(|info| info.name != "python") {
        let case = Case {
            queue: format!("\"{}\"", info.name).leak(),
            rate_mbps: 10,
            rtt_ms: 40,
            buffer: "100pkt",
            flows: 5,
            duration_s: 6,
            warmup_s: 0,
        };
        let mut scenario = case.scenario();
        let text = scenario.to_toml().replacen(
            "rate = \"10Mbps\"",
            "rate = \"10Mbps\"\nsteps = [ { at = \"2s\", rate = \"1Mbps\" }, \
             { at = \"4s\", rate = \"40Mbps\" } ]",
            1,
        );
        scenario =
            scenario::parse("aqm.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}")).scenario;
        let outcome = common::run(&scenario, 1, 0);
        let link = common::link(&outcome, "bottleneck");
        assert!(link.departures_pkts > 3000, "{}: {link:?}", info.name);
    }
}

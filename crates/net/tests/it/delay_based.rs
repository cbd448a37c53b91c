//! FAST TCP and Vegas against the queue that their laws say they keep. `--nocapture` prints it.

use clearpipe_net::Outcome;
use results::metrics::jain_index;

use crate::common;

/// So many flows of `protocol` from a start with an empty queue on: 40 Mb/s, 5000 packets/s.
fn share(protocol: &str, params: &str, flows: u32) -> Outcome {
    let text = format!(
        "schema = 1\nname = \"delay\"\nduration = \"40s\"\nwarmup = \"20s\"\n\
         [packets]\ndata = \"1000B\"\n[protocols.p]\nkind = \"{protocol}\"\n{params}\n\
         [topology]\nkind = \"dumbbell\"\nrate = \"40Mbps\"\nrtt = \"40ms\"\nbuffer = \"1000pkt\"\n\
         [flows.f]\nprotocol = \"p\"\ncount = {flows}\nstart = \"0s\"\n"
    );
    let parsed = scenario::parse("delay.toml", &text, &[]);
    let scenario = parsed.unwrap_or_else(|error| panic!("{error}")).scenario;
    common::run(&scenario, 1, 0)
}

/// Mean packets waiting; and what must hold whatever the queue is.
fn queue(outcome: &Outcome) -> f64 {
    let link = common::link(outcome, "bottleneck");
    assert_eq!(link.total_drops_pkts, 0);
    assert!(link.utilization_ratio > 0.999, "{}", link.utilization_ratio);
    link.queue_mean_pkts
}

fn jain(outcome: &Outcome) -> f64 {
    let goodputs: Vec<f64> = common::group(outcome, "f").map(|flow| flow.goodput_bps).collect();
    jain_index(&goodputs).expect("flows with goodput")
}

/// FAST keeps alpha packets of each flow in the queue (ToN 2006, theorem 1): N*alpha, give or take
/// the packet in service and the fraction of a packet that each window is rounded down by.
#[test]
fn fast_keeps_alpha_packets_waiting() {
    for (flows, alpha) in [(1, 20.0), (2, 20.0), (4, 20.0), (1, 100.0)] {
        let outcome = share("fast", &format!("alpha = {alpha:?}"), flows);
        let expected = f64::from(flows) * alpha;
        let (queue, jain) = (queue(&outcome), jain(&outcome));
        println!("    {flows} x {alpha}: {queue:.2} packets wait, Jain {jain:.5}");
        assert!((queue - expected).abs() <= 1.0 + f64::from(flows), "{queue}");
        assert!(jain > 0.995, "{jain}");
    }
}

/// Vegas keeps between alpha and beta packets of each flow in the queue (JSAC 1995, section IV-B).
#[test]
fn vegas_keeps_alpha_to_beta_packets_waiting() {
    for (flows, alpha, beta) in [(1, 1.0, 3.0), (2, 1.0, 3.0), (4, 1.0, 3.0), (2, 8.0, 10.0)] {
        let outcome = share("vegas", &format!("alpha = {alpha:?}\nbeta = {beta:?}"), flows);
        let (queue, n) = (queue(&outcome), f64::from(flows));
        println!("    {flows} x {alpha} to {beta}: {queue:.2} packets wait");
        // One packet is in service, and a window is whole.
        assert!(queue >= n * alpha - 1.0 && queue <= n * beta + 1.0, "{queue}");
        // A flow with one packet in the queue and one with three are both at rest.
        assert!(jain(&outcome) > 0.8);
    }
}

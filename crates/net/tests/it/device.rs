//! The device below a queue, on whole runs. The times at which it takes packets are worked out by
//! hand where it is.

use clearpipe_net::Run;
use results::LinkRow;
use scenario::Scenario;
use units::{Span, Time};

use crate::common;

/// Two flows over a FIFO of so many packets and a device; they meet drops, and not all of it is
/// over when the run ends.
fn fifo(buffer: u32, device: u32, line: &str) -> (Vec<String>, Vec<u64>, f64) {
    let device = match device {
        0 => String::new(),
        packets => format!("device_packets = {packets}\n"),
    };
    let rate = if line.starts_with("trace") { "" } else { "rate = \"8Mbps\"\n" };
    let scenario = common::scenario(&format!(
        "duration = \"5003ms\"\nwarmup = \"1s\"\n[packets]\nack = \"1000B\"\ndata = \"1000B\"\n\
         [topology]\nkind = \"dumbbell\"\n{rate}rtt = \"40ms\"\n\
         buffer = \"{buffer}pkt\"\n{device}{line}\
         [flows.two]\nprotocol = \"sack\"\ncount = 2\nstart = [\"0s\", \"300ms\"]\n"
    ));
    let outcome = common::run(&scenario, 1, 0);
    let flows = outcome.tables.flows.iter().map(|flow| format!("{flow:?}")).collect();
    let bottleneck = common::link(&outcome, "bottleneck");
    let LinkRow {
        total_arrivals_pkts,
        total_drops_pkts,
        total_departures_pkts,
        total_lost_pkts,
        departures_pkts,
        queued_end_pkts,
        utilization_ratio,
        ..
    } = *bottleneck;
    assert!(total_drops_pkts > 0);
    let counts = vec![
        total_arrivals_pkts,
        total_drops_pkts,
        total_departures_pkts,
        total_lost_pkts,
        departures_pkts,
        queued_end_pkts,
    ];
    (flows, counts, utilization_ratio)
}

/// A FIFO of 15 packets above a device of 5 is one of 20: the same packets wait, are dropped and
/// leave at the same times, and the same are there at the end of the warm-up and of the run.
/// Whatever the line does, it does it to the same packets.
#[test]
fn below_a_fifo_it_is_so_much_more_buffer() {
    for line in [
        "",
        "loss = \"0.2%\"\njitter = { delay = \"3ms\", in_order = true }\n",
        "steps = [{ at = \"2s\", rate = \"2Mbps\" }, { at = \"3s\", rate = \"20Mbps\" }]\n\
         down = [[\"3500ms\", \"3600ms\"]]\n",
        "loss = { kind = \"every\", n = 100 }\n",
        // 12 Mb/s, in bursts; a packet of 1000 B ends within an opportunity of 1500 B.
        "trace = [1, 1, 2, 3, 3, 6]\n",
    ] {
        let (flows, counts, share) = fifo(20, 0, line);
        let (below, of_both, shared) = fifo(15, 5, line);
        assert_eq!((flows, counts), (below, of_both), "{line}");
        assert!((share - shared).abs() < 1e-12, "{line}: {share} {shared}");
    }
}

/// CoDel times packets up to the device: with 40 packets of 1 ms each below it, which a window of
/// 30 cannot fill, none ever waits in the queue.
#[test]
fn the_queue_does_not_see_what_the_device_holds() {
    let drops = |device: u32| {
        let scenario = common::scenario(&format!(
            "duration = \"10s\"\nwarmup = \"0s\"\n[packets]\ndata = \"1000B\"\n\
             [topology]\nkind = \"dumbbell\"\nrate = \"8Mbps\"\nrtt = \"4ms\"\n\
             buffer = \"200pkt\"\nqueue = \"codel\"\n{}\
             [flows.one]\nprotocol = \"sack\"\nsize = \"2MB\"\n[transport]\n\
             initial_window = \"30pkt\"\n",
            match device {
                0 => String::new(),
                packets => format!("device_packets = {packets}\n"),
            }
        ));
        let outcome = common::run(&scenario, 1, 0);
        let link = common::link(&outcome, "bottleneck");
        (link.total_drops_pkts, link.queue_max_pkts)
    };
    assert!(drops(0).0 > 0);
    assert_eq!(drops(5000), (0, 0));
}

/// What a device holds is worked out when it is taken: no branch changes the device, or its line.
#[test]
fn a_branch_leaves_the_device_as_it_is() {
    let with = |packets: u32, mbps: u32| -> Scenario {
        common::scenario(&format!(
            "duration = \"2s\"\nwarmup = \"0s\"\n[topology]\nkind = \"dumbbell\"\n\
             rate = \"{mbps}Mbps\"\nrtt = \"40ms\"\nbuffer = \"20pkt\"\n\
             device_packets = {packets}\n[flows.one]\nprotocol = \"sack\"\n"
        ))
    };
    let trunk = with(5, 8);
    let mut run = Run::new(&trunk, 1, 0);
    run.pause_at(Time::ZERO + Span::from_secs(1));
    while run.advance(100_000) {}
    for (other, key) in [(with(6, 8), "device_packets"), (with(5, 9), "rate")] {
        let Err(refused) = run.branch(&other) else { panic!("{key} is taken") };
        assert_eq!(refused.key, format!("links.bottleneck.{key}"));
    }
}

//! The network without devices and clocks: packets made here go in, what comes out is looked at.
#![cfg(target_os = "linux")]

use clearpipe_emulator::network::{Network, Numbering, Outgoing, Wall};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

/// A dumbbell of 8 Mb/s and 80 ms: 1000 bytes take a millisecond.
fn dumbbell(extra: &str) -> String {
    format!(
        "schema = 1\nname = \"t\"\nduration = \"100s\"\nwarmup = \"0s\"\n[packets]\ndata = \"1000B\"\n\
         [topology]\nkind = \"dumbbell\"\nrate = \"8Mbps\"\nrtt = \"80ms\"\n{extra}\n\
         [flows.all]\nprotocol = \"sack\"\ncount = 4\n"
    )
}

fn network(toml: &str, numbering: Numbering) -> Network {
    let scenario = scenario::parse("test", toml, &[]).expect("a scenario").scenario;
    Network::new(scenario, (1, 0), vec![[0, 1]], numbering)
}

/// IPv4 and UDP from port 9 to this one, `length` bytes long.
fn packet(tos: u8, port: u16, length: u16) -> Vec<u8> {
    let mut packet = vec![0x45, tos];
    packet.extend(length.to_be_bytes());
    packet.extend([0, 1, 0, 0, 64, 17, 0, 0, 10, 77, 0, 1, 10, 77, 0, 2, 0, 9]);
    packet.extend(port.to_be_bytes());
    packet.resize(usize::from(length), 0);
    packet
}

/// Everything that comes out up to an instant [ms]: when it was due [us], where, and its bytes.
fn out(network: &mut Network, ms: u64) -> Vec<(u64, usize, Vec<u8>)> {
    let mut all = Vec::new();
    network.advance(Wall::from_ns(ms * MS), &mut |Outgoing { device, bytes, due }| {
        all.push((due.0 / 1_000_000, device, bytes.to_vec()));
    });
    all
}

fn enter(network: &mut Network, ms: u64, device: usize, bytes: &[u8]) -> bool {
    assert_eq!(out(network, ms), []);
    network.enter(Wall::from_ns(ms * MS), device, bytes)
}

#[test]
fn a_packet_takes_its_serialization_and_the_delay() {
    let mut network = network(&dumbbell("buffer = \"2pkt\""), Numbering::Port(20_000));
    network.start(Wall::from_ns(1000 * MS));
    let sent = packet(0, 20_001, 1000);
    // Before the start: 40 ms and nothing else, however many come at once.
    for _ in 0..5 {
        assert!(enter(&mut network, 900, 0, &sent));
    }
    let early = out(&mut network, 999);
    assert_eq!(early, vec![(940_000, 1, sent.clone()); 5]);
    // At 2 s four packets: one is served, two wait, the fourth is dropped.
    for _ in 0..4 {
        assert!(enter(&mut network, 2000, 0, &sent));
    }
    let late = out(&mut network, 2100);
    let due: Vec<u64> = late.iter().map(|(due, ..)| *due).collect();
    assert_eq!(due, [2_041_000, 2_042_000, 2_043_000]);
    // Back: nothing waits there.
    assert!(enter(&mut network, 2200, 1, &sent));
    assert_eq!(out(&mut network, 2300), [(2_241_000, 0, sent)]);
    let ended = network.finish(Wall::from_ns(3000 * MS)).expect("no capture");
    let link = &ended.links[0];
    assert_eq!((link.total_arrivals_pkts, link.total_drops_pkts), (4, 1));
    assert_eq!(link.departures_bytes, 3000);
    // Two waited, for 1 ms and 2 ms, in 2 s: the mean is 3/2000.
    assert!((link.queue_mean_pkts - 0.0015).abs() < 1e-9, "{}", link.queue_mean_pkts);
    assert_eq!((ended.flows[1].sent_pkts, ended.flows[1].dropped_pkts), (9, 1));
    assert_eq!((ended.flows[1].arrived_pkts, ended.flows[0].sent_pkts), (8, 1));
}

#[test]
fn a_device_below_the_queue_holds_packets_that_the_queue_does_not() {
    let extra = "buffer = \"2pkt\"\ndevice_packets = 2";
    let mut network = network(&dumbbell(extra), Numbering::Port(20_000));
    network.start(Wall::from_ns(1000 * MS));
    // At 2 s seven packets: one is served, two are in the device, two wait, two are dropped.
    let sent = packet(0, 20_001, 1000);
    for _ in 0..7 {
        assert!(enter(&mut network, 2000, 0, &sent));
    }
    let due: Vec<u64> = out(&mut network, 2100).iter().map(|(due, ..)| *due).collect();
    assert_eq!(due, [2_041_000, 2_042_000, 2_043_000, 2_044_000, 2_045_000]);
    let ended = network.finish(Wall::from_ns(3000 * MS)).expect("no capture");
    let link = &ended.links[0];
    assert_eq!((link.total_arrivals_pkts, link.total_drops_pkts), (7, 2));
    // The two waited for 1 ms and 2 ms, until the device had room: 3 ms in 2 s.
    assert!((link.queue_mean_pkts - 0.0015).abs() < 1e-9, "{}", link.queue_mean_pkts);
}

/// VCP: a link at 8 Mb/s has gamma*C*t_rho = 0.98*1e6*0.2 = 196 000 bytes a period. 160 packets of
/// 1000 bytes are rho = 0.816: high load, 10. 200 are overload, 11. A packet that says 00 stays so.
#[test]
fn a_router_marks_real_packets() {
    let toml = dumbbell("buffer = \"1MB\"\nqueue = \"vcp\"");
    let codes = |packets: u64, tos: u8| {
        let mut network = network(&toml, Numbering::Any);
        network.start(Wall::from_ns(0));
        let mut seen = Vec::new();
        for i in 0..packets {
            // Spread over the first period, which they reach 10 ms later.
            let at = i * 189 / packets;
            seen.extend(out(&mut network, at));
            assert!(network.enter(Wall::from_ns(at * MS), 0, &packet(tos, 1, 1000)));
        }
        seen.extend(out(&mut network, 250));
        network.enter(Wall::from_ns(250 * MS), 0, &packet(tos, 1, 1000));
        let after = out(&mut network, 400);
        after.last().map(|(_, _, bytes)| bytes[1] & 3)
    };
    assert_eq!(codes(100, 1), Some(1));
    assert_eq!(codes(160, 1), Some(2));
    assert_eq!(codes(200, 1), Some(3));
    assert_eq!(codes(200, 0), Some(0));
}

/// 10.77.0.1 to 10.77.0.2 with a TCP header, these options and 100 bytes, and no checksums.
fn segment(tos: u8, options: &[u8]) -> Vec<u8> {
    let header = 20 + options.len();
    let mut packet = vec![0x45, tos];
    packet.extend((120 + header as u16).to_be_bytes());
    packet.extend([0, 1, 0, 0, 64, 6, 0, 0, 10, 77, 0, 1, 10, 77, 0, 2, 0, 9, 0, 1]);
    packet.extend([0, 0, 0, 9, 0, 0, 0, 5, (header as u8 / 4) << 4, 0x10, 255, 255, 0, 0, 0, 0]);
    packet.extend_from_slice(options);
    packet.resize(120 + header, 0);
    packet
}

/// Bit 6 of TCP's 13th byte, in data that bears a code of the link's protocol.
#[test]
fn a_router_of_a_load_says_that_it_measures() {
    // t_p 1, which the router has at the start, so that it leaves the header.
    let mlcp = |load: u8| segment(0, &[253, 8, 0x4d, 0x4c, load << 4 | 1 << 1, 0, 0, 0]);
    let out = |queue: &str, sent: &[u8]| {
        let mut network =
            network(&dumbbell(&format!("buffer = \"9pkt\"\nqueue = \"{queue}\"")), Numbering::Any);
        network.start(Wall::from_ns(0));
        assert!(network.enter(Wall::from_ns(0), 0, sent));
        out(&mut network, 100).remove(0).2
    };
    for (queue, sent) in [("vcp", segment(1, &[])), ("dpcp", segment(1, &[])), ("mlcp", mlcp(1))] {
        let left = out(queue, &sent);
        assert_eq!(left[32], sent[32] | 2, "{queue}");
        // The checksum's complement takes as much: 0 - 0x0200 in ones' complement.
        assert_eq!(left[36..38], [0xfd, 0xff], "{queue}");
        assert_eq!(out("droptail", &sent), sent);
    }
    // What no host of the protocol has sent.
    for (queue, sent) in [("vcp", segment(0, &[])), ("mlcp", mlcp(0)), ("xcp", segment(1, &[]))] {
        assert_eq!(out(queue, &sent), sent, "{queue}");
    }
    // Ordinary ECN's ECT(0), and CE.
    for (queue, tos) in [("vcp", 2), ("vcp", 3), ("dpcp", 2), ("dpcp", 3)] {
        assert_eq!(out(queue, &segment(tos, &[])), segment(tos, &[]), "{queue} {tos}");
    }
}

/// Whoever drives the network may be late: the counts are those of the run's end.
#[test]
fn nothing_counts_after_the_end() {
    let toml = dumbbell("buffer = \"9pkt\"").replace("100s", "100ms");
    let mut network = network(&toml, Numbering::Any);
    network.start(Wall::from_ns(0));
    for _ in 0..9 {
        let _ = out(&mut network, 85);
        network.enter(Wall::from_ns(85 * MS), 0, &packet(0, 1, 1000));
    }
    assert_eq!(out(&mut network, 5000), []);
    let ended = network.finish(Wall::from_ns(100 * MS)).expect("no capture");
    // They reach the link at 95 ms: five have left at 100 ms, the sixth is in service, three wait.
    let link = &ended.links[0];
    assert_eq!((link.total_departures_pkts, link.queued_end_pkts), (5, 4));
    assert_eq!(ended.flows[0].arrived_pkts, 0);
}

/// A line that loses every third packet; the counts say so.
#[test]
fn a_line_loses_what_the_scenario_says() {
    let toml = dumbbell("loss = { kind = \"every\", n = 3 }");
    let mut network = network(&toml, Numbering::Any);
    network.start(Wall::from_ns(0));
    for i in 0..9 {
        let _ = out(&mut network, i * 10);
        network.enter(Wall::from_ns(i * 10 * MS), 0, &packet(0, 1, 500));
    }
    let _ = out(&mut network, 1000);
    let ended = network.finish(Wall::from_ns(1000 * MS)).expect("no capture");
    assert_eq!((ended.flows[0].arrived_pkts, ended.flows[0].lost_pkts), (6, 3));
    assert_eq!(ended.links[0].lost_pkts, 3);
}

/// Every queue of the registry carries packets: none is lost track of, none comes twice.
#[test]
fn every_queue_carries_real_packets() {
    for queue in cc::registry::queues().filter(|queue| queue.name != "python") {
        let toml = dumbbell(&format!("buffer = \"20pkt\"\nqueue = \"{}\"", queue.name));
        let Ok(parsed) = scenario::parse("test", &toml, &[]) else {
            panic!("{}: {toml}", queue.name);
        };
        let mut network = Network::new(parsed.scenario, (1, 0), vec![[0, 1]], Numbering::Any);
        network.start(Wall::from_ns(0));
        let mut arrived = 0;
        for i in 0..600_u64 {
            let now = i / 2;
            arrived += out(&mut network, now).len();
            network.enter(Wall::from_ns(now * MS), 0, &packet(1, (i % 7) as u16, 1000));
        }
        arrived += out(&mut network, 5000).len();
        let ended = network.finish(Wall::from_ns(5000 * MS)).expect("no capture");
        let sum = |count: fn(&clearpipe_emulator::network::FlowCounts) -> u64| {
            ended.flows.iter().map(count).sum::<u64>()
        };
        assert_eq!(sum(|flow| flow.sent_pkts), 600, "{}", queue.name);
        assert_eq!(sum(|flow| flow.arrived_pkts), arrived as u64, "{}", queue.name);
        assert_eq!(sum(|flow| flow.dropped_pkts), 600 - arrived as u64, "{}", queue.name);
        assert_eq!(ended.links[0].total_drops_pkts, 600 - arrived as u64, "{}", queue.name);
        // In 300 ms the line carries 300 packets, and the buffer holds 20.
        assert!((60..=325).contains(&arrived), "{}: {arrived}", queue.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Whatever bytes come in, at either side: they come out with the same length, or are dropped
    /// and counted.
    #[test]
    fn random_bytes_are_forwarded_or_dropped(
        packets in prop::collection::vec(
            (prop::collection::vec(any::<u8>(), 0..200), 0_usize..2, any::<bool>(), 0_u64..5),
            0..60,
        ),
        queue in prop::sample::select(vec!["droptail", "vcp", "dpcp", "xcp", "mlcp", "fq-codel"]),
    ) {
        let toml = dumbbell(&format!("buffer = \"10pkt\"\nqueue = \"{queue}\""));
        let mut network = network(&toml, Numbering::Any);
        network.start(Wall::from_ns(0));
        let (mut now, mut entered, mut came) = (0, 0, 0);
        for (mut bytes, device, plausible, gap) in packets {
            if plausible && bytes.len() >= 20 {
                let length = (bytes.len() as u16).to_be_bytes();
                bytes[0] = 0x45;
                bytes[2..4].copy_from_slice(&length);
            }
            now += gap;
            came += out(&mut network, now).len();
            entered += u64::from(network.enter(Wall::from_ns(now * MS), device, &bytes));
        }
        came += out(&mut network, now + 1000).len();
        let ended = network.finish(Wall::from_ns((now + 1000) * MS)).expect("no capture");
        let gone: u64 = ended.links.iter().map(|link| link.total_drops_pkts).sum();
        prop_assert_eq!(came as u64 + gone, entered);
    }
}

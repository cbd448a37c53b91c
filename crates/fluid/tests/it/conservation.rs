//! Random networks: everything stays finite and within its bounds, and no packet appears or
//! vanishes.

use std::fmt::Write;

use proptest::prelude::*;

use crate::common::{fluid, parse, series};

/// A chain of links with queues of all kinds, and flows over parts of it.
fn network() -> impl Strategy<Value = String> {
    let link = (1_u32..200, 0_u32..40, 2_u32..300, 0_usize..4);
    let flow = (0_usize..5, 0_usize..6, 1_usize..6, 1_u32..20, 1_u32..300, 0_u32..4, any::<bool>());
    let links = proptest::collection::vec(link, 1..6);
    (links, proptest::collection::vec(flow, 1..6), any::<bool>()).prop_map(|(links, flows, fixed)| {
        let step = if fixed { "2ms" } else { "auto" };
        let mut text = format!(
            "schema = 1\nname = \"random\"\nduration = \"8s\"\nwarmup = \"2s\"\n[fluid]\nstep = \"{step}\"\n\
             [probe]\nseries = [\"cwnd\", \"queue\", \"rate\", \"goodput\"]\n"
        );
        for (i, (rate, owd, buffer, queue)) in links.iter().enumerate() {
            let queue = ["droptail", "red", "xcp", "vcp"][*queue];
            let (from, to) = (i, i + 1);
            // A write to a String cannot fail.
            let _ = writeln!(
                text,
                "[links.l{i}]\nfrom = \"n{from}\"\nto = \"n{to}\"\nrate = \"{rate}Mbps\"\nowd = \"{owd}ms\"\n\
                 buffer = \"{buffer}kB\"\nqueue = \"{queue}\"\nduplex = true"
            );
        }
        for (i, (protocol, first, length, count, rtt, start, sized)) in flows.iter().enumerate() {
            let protocol = ["reno", "sack", "xcp", "vcp", "newreno"][*protocol];
            let first = first % links.len();
            let last = (first + length).min(links.len());
            let size = if *sized { "\"300kB\"" } else { "\"unlimited\"" };
            let rtt = 400 + rtt;
            let _ = writeln!(
                text,
                "[flows.f{i}]\nprotocol = \"{protocol}\"\ncount = {count}\nfrom = \"n{first}\"\nto = \"n{last}\"\n\
                 rtt = \"{rtt}ms\"\nstart = \"{start}s\"\nsize = {size}"
            );
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn random_networks_keep_their_bounds(text in network()) {
        let scenario = parse(&text, &[]);
        let tables = fluid(&scenario).tables;
        for link in &tables.links {
            prop_assert!(link.queue_max_bytes <= link.buffer_bytes + 1, "{link:?}");
            prop_assert!((0.0..=1.000_001).contains(&link.utilization_ratio));
            // Bytes of data and ACKs leave and drop alike on average only: packets to a tenth.
            let gone = link.total_departures_pkts + link.total_drops_pkts + link.queued_end_pkts;
            let came = link.total_arrivals_pkts as f64;
            prop_assert!((gone as f64 - came).abs() <= 5.0 + 0.1 * came, "{link:?}");
        }
        for flow in &tables.flows {
            let known = flow.arrived_pkts + flow.dropped_pkts + flow.in_flight_pkts;
            prop_assert_eq!(flow.sent_pkts, known);
            prop_assert!(flow.goodput_bps.is_finite() && flow.goodput_bps >= 0.0);
            // What is under way is no more than the largest window.
            let cwnd = series(&tables, "cwnd_pkts", flow.flow);
            let most = cwnd.iter().map(|row| row.1).fold(1.0, f64::max);
            prop_assert!(flow.in_flight_pkts as f64 <= 1.1 * most + 3.0, "{flow:?} {most}");
        }
        for series in &tables.series {
            for value in &series.value {
                prop_assert!(value.is_finite() && *value >= 0.0, "{} {value}", series.name);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// With ACK clocks, too, and what flows lose is what the links on their way drop.
    #[test]
    fn random_networks_lose_no_packet_with_ack_clocks(text in network()) {
        let text = ["reno", "sack", "newreno"].iter().fold(text, |text, old| {
            text.replace(&format!("protocol = \"{old}\""), "protocol = \"xcp\"")
        });
        let scenario = parse(&text, &["fluid.sending=acks"]);
        let tables = fluid(&scenario).tables;
        for flow in &tables.flows {
            let known = flow.arrived_pkts + flow.dropped_pkts + flow.in_flight_pkts;
            prop_assert_eq!(flow.sent_pkts, known);
        }
        let dropped: u64 = tables.flows.iter().map(|flow| flow.dropped_pkts).sum();
        // ACKs that a way back drops are no one's packets.
        let links = tables.links.iter().filter(|link| !link.name.contains("reverse"));
        let links: u64 = links.map(|link| link.total_drops_pkts).sum();
        // Rounded by half a packet each.
        let most = (tables.flows.len() + tables.links.len()) as u64 / 2 + 1;
        prop_assert!(dropped.abs_diff(links) <= most, "{} {}", dropped, links);
        for link in &tables.links {
            prop_assert!(link.queue_max_bytes <= link.buffer_bytes + 1, "{link:?}");
            prop_assert!((0.0..=1.000_001).contains(&link.utilization_ratio));
        }
    }
}

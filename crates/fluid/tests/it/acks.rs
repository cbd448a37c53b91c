//! Sources that ACKs clock (`fluid.sending = "acks"`): against packets by hand, and against the
//! packet engine.

use results::Tables;

use crate::common::{dumbbell, fluid, near, parse, series};

fn mean(rows: &[(f64, f64)], from: f64, to: f64) -> f64 {
    let within: Vec<f64> = rows.iter().filter(|r| r.0 > from && r.0 <= to).map(|r| r.1).collect();
    within.iter().sum::<f64>() / within.len() as f64
}

/// A flow of VCP that loads nothing, packet by packet: an ACK adds xi_s = 1.0625^(0.1/0.2) - 1 and
/// lets go what the window has room for. Gives the window at `t`.
fn by_hand(t: f64, rtt: f64) -> f64 {
    let xi_s = units::math::pow(1.0625, rtt / 0.2) - 1.0;
    let (mut w, mut in_flight, mut acks) = (1.0_f64, 1_u32, vec![rtt]);
    let mut next = 0;
    while next < acks.len() && acks[next] <= t {
        let now = acks[next];
        next += 1;
        w += xi_s;
        in_flight -= 1;
        while f64::from(in_flight) < w.floor() {
            in_flight += 1;
            acks.push(now + rtt);
        }
    }
    w
}

#[test]
fn a_window_grows_by_its_acks() {
    let text = dumbbell("vcp", "1Gbps", "100ms", "");
    let sets = [
        "fluid.sending=acks",
        "duration=8s",
        "warmup=0s",
        "probe.series=[\"cwnd\"]",
        "probe.every=50ms",
    ];
    let run = fluid(&parse(&text, &sets));
    // 8 us on the link, twice that for each access hop's share, and ACKs: the packets' own time.
    let rtt = 0.1 + 8e-6 + 16e-6 + 0.32e-6 + 0.64e-6;
    for (t, w) in series(&run.tables, "cwnd_pkts", 0).into_iter().filter(|row| row.0 > 0.3) {
        // Steps of 1 ms: an ACK counts one or two of them late, each of a growth of 30 % a second.
        let [early, late] = [by_hand(t - 0.005, rtt), by_hand(t, rtt)];
        assert!(w > 0.995 * early && w < 1.005 * late, "{t} s: {w}, not {early} to {late}");
    }
}

fn both(text: &str) -> [Tables; 2] {
    let scenario = parse(text, &["fluid.sending=acks"]);
    let packets = net::simulate(&scenario, scenario.seed, 0, &mut |_| true);
    [fluid(&scenario).tables, packets.tables]
}

/// Newcomers get more than a flow's share while their windows grow, as their headers are an RTT
/// old. How early in an interval their first packets come is chance: means over starts 0 to 30 ms
/// later.
#[test]
fn xcp_newcomers_are_as_fast_as_with_packets() {
    let mut times = [[0.0; 2]; 5];
    for late in [0, 10, 20, 30] {
        let mut text = "schema = 1\nname = \"xcp\"\nduration = \"10s\"\n[topology]\nkind = \"dumbbell\"\n\
                        rate = \"45Mbps\"\nrtt = \"40ms\"\nqueue = \"xcp\"\n[probe]\nseries = [\"goodput\"]\n\
                        every = \"20ms\"\n"
            .to_owned();
        let start = |flow: u32| 2000 * flow + if flow > 0 { late } else { 0 };
        for flow in 0..5 {
            text +=
                &format!("[flows.f{flow}]\nprotocol = \"xcp\"\nstart = \"{}ms\"\n", start(flow));
        }
        let runs = both(&text);
        for flow in 0..5_u32 {
            let from = f64::from(start(flow)) / 1e3;
            let of = runs.each_ref().map(|tables| {
                let rows = series(tables, "goodput_bps", flow);
                let later = mean(&rows, 2.0 * f64::from(flow) + 1.0, 2.0 * f64::from(flow) + 2.0);
                // When a mean over half a second is at 80 % of that.
                let mut instants = rows.iter().map(|row| row.0);
                let at = instants.find(|t| mean(&rows, t - 0.25, t + 0.25) >= 0.8 * later);
                (later, at.expect("it gets there") - from)
            });
            assert!(near(of[0].0, of[1].0, 0.05), "flow {flow}: {of:?}");
            for engine in 0..2 {
                times[flow as usize][engine] += of[engine].1 / 4.0;
            }
        }
    }
    // Evenly sent, the last four take 0.71 s.
    for [acks, packets] in times {
        assert!((acks - packets).abs() < 0.07, "{times:?}");
    }
}

/// Windows that go over a whole packet together spend one side of a shuffle before the other.
#[test]
fn ixcp_leaves_what_it_leaves_with_packets() {
    let mut text = "schema = 1\nname = \"two\"\nduration = \"60s\"\nwarmup = \"50%\"\n".to_owned();
    for (i, rate) in [155, 100].into_iter().enumerate() {
        text += &format!(
            "[links.l{i}]\nfrom = \"n{i}\"\nto = \"n{}\"\nrate = \"{rate}Mbps\"\nowd = \"10ms\"\n\
             queue = \"ixcp\"\nduplex = true\n",
            i + 1
        );
    }
    text += "[flows.long]\nprotocol = \"ixcp\"\nfrom = \"n0\"\nto = \"n2\"\nrtt = \"60ms\"\ncount = 16\n\
             [flows.short]\nprotocol = \"ixcp\"\nfrom = \"n0\"\nto = \"n1\"\nrtt = \"40ms\"\n";
    let runs = both(&text);
    for group in 0..2 {
        let [a, b] = runs.each_ref().map(|tables| tables.groups[group].goodput_bps);
        assert!(near(a, b, 0.05), "{group}: {a} {b}");
    }
    // Max-min is 55 Mb/s.
    assert!(runs.iter().all(|tables| tables.groups[1].goodput_bps < 0.93 * 55e6));
}

/// RTTs of 50 and 500 ms: whole packets, each for an ACK, and the first few of the slow flow
/// spaced.
#[test]
fn vcp_two_rtts_leave_mi_packet_by_packet() {
    let text = "schema = 1\nname = \"two\"\nduration = \"16s\"\nwarmup = \"0s\"\n[topology]\nkind = \"dumbbell\"\n\
                rate = \"10Mbps\"\nrtt = \"50ms\"\nbuffer = \"625kB\"\nqueue = \"vcp\"\n[flows.fast]\n\
                protocol = \"vcp\"\nrtt = \"50ms\"\n[flows.slow]\nprotocol = \"vcp\"\nrtt = \"500ms\"\n\
                [probe]\nseries = [\"goodput\"]\nevery = \"100ms\"\n";
    let runs = both(text);
    for flow in 0..2 {
        let rows = runs.each_ref().map(|tables| series(tables, "goodput_bps", flow));
        for from in [4.0, 8.0, 12.0] {
            let [a, b] = rows.each_ref().map(|rows| mean(rows, from, from + 4.0));
            // A packet more or less in 4 s is 2000 bit/s.
            assert!(near(a, b, 0.01) || (a - b).abs() < 2100.0, "flow {flow}, {from} s: {a} {b}");
        }
    }
}

/// Transfers end when they do with packets: after 3 MB of MI and AI, to 1 %.
#[test]
fn transfers_take_as_long_as_with_packets() {
    let text =
        dumbbell("vcp", "20Mbps", "80ms", "count = 3\nstart = \"every(300ms)\"\nsize = \"3MB\"");
    let [acks, packets] = both(&text);
    for (a, b) in acks.flows.iter().zip(&packets.flows) {
        let [a_s, b_s] = [a, b].map(|flow| flow.fct_s.expect("it ends"));
        assert!(near(a_s, b_s, 0.01) && a.delivered_bytes == 3_000_000, "{a_s} {b_s}");
    }
}

/// The last packet of a paced transfer is shorter than the others, and leaves a gap after the one
/// before like them.
#[test]
fn a_paced_transfer_ends_with_its_fraction() {
    for (protocol, rtt, size, bytes) in [
        ("vcp", "1s", "10500B", 10_500),
        ("vcp", "2s", "20500B", 20_500),
        ("dpcp", "1s", "10500B", 10_500),
    ] {
        let [acks, packets] =
            both(&dumbbell(protocol, "10Mbps", rtt, &format!("size = \"{size}\"")));
        let [a, b] = [&acks.flows[0], &packets.flows[0]];
        assert!(a.delivered_bytes == bytes && b.delivered_bytes == bytes, "{a:?}");
        let [a_s, b_s] = [a, b].map(|flow| flow.fct_s.expect("it ends"));
        assert!(near(a_s, b_s, 0.02), "{protocol} {rtt}: {a_s} {b_s}");
    }
}

/// A tenth of a buffer: what is lost is sent again.
#[test]
fn transfers_end_where_packets_are_lost() {
    let text = dumbbell("xcp", "20Mbps", "80ms", "count = 8\nsize = \"1MB\"");
    let run = fluid(&parse(&text, &["fluid.sending=acks", "topology.buffer=5pkt"]));
    assert!(run.tables.links[0].total_drops_pkts > 0);
    for flow in &run.tables.flows {
        assert!(flow.fct_s.is_some() && flow.delivered_bytes == 1_000_000, "{flow:?}");
    }
}

/// No packet is lost or made, at one link or at two: what was sent has come, is on its way or was
/// dropped where links say that they dropped it. Bursts into a buffer of a few packets, with ACKs
/// that wait for nobody.
#[test]
fn what_links_drop_is_what_flows_lose() {
    let row = |rates: [u32; 2], flows: &str| {
        let mut text =
            "schema = 1\nname = \"row\"\nduration = \"20s\"\nwarmup = \"0s\"\n".to_owned();
        for (i, rate) in rates.into_iter().enumerate() {
            text += &format!(
                "[links.l{i}]\nfrom = \"n{i}\"\nto = \"n{}\"\nrate = \"{rate}Mbps\"\nowd = \"7ms\"\n\
                 buffer = \"4pkt\"\nqueue = \"xcp\"\nduplex = true\n",
                i + 1
            );
        }
        text + flows
    };
    let long = "[flows.a]\nprotocol = \"xcp\"\nfrom = \"n0\"\nto = \"n2\"\nrtt = \"90ms\"\ncount = 5\n\
                start = \"every(1.5s)\"\n[flows.b]\nprotocol = \"xcp\"\nfrom = \"n0\"\nto = \"n1\"\n\
                rtt = \"41ms\"\nsize = \"2MB\"\n";
    for text in [row([10, 8], long), row([8, 10], long), row([10, 10], long)] {
        let tables = fluid(&parse(&text, &["fluid.sending=acks"])).tables;
        let dropped: u64 = tables.flows.iter().map(|flow| flow.dropped_pkts).sum();
        let links: u64 = tables.links.iter().map(|link| link.total_drops_pkts).sum();
        assert!(links > 50, "{links}");
        // Each flow's and each link's number is rounded: six and four halves.
        assert!(dropped.abs_diff(links) <= 5, "{dropped} {links}");
        for flow in &tables.flows {
            let known = flow.arrived_pkts + flow.dropped_pkts + flow.in_flight_pkts;
            assert!(flow.sent_pkts == known, "{flow:?}");
            // At 18 Mb/s and 90 ms less than 210 packets are under way.
            assert!(flow.in_flight_pkts < 210, "{flow:?}");
        }
    }
}

#[test]
fn analyses_and_what_answers_losses_are_refused() {
    let acks = "fluid.sending=acks";
    for (protocol, set, key) in [
        ("vcp", "fluid.vcp=miaimd", "fluid.vcp"),
        ("xcp", "fluid.xcp=continuous", "fluid.xcp"),
        ("xcp", "flows.a.protocol=cubic", "flows.a.protocol"),
    ] {
        let scenario = parse(&dumbbell(protocol, "10Mbps", "80ms", ""), &[acks, set]);
        let refused = clearpipe_fluid::simulate(&scenario, 1, 0, &mut |_| true);
        let reason = refused.expect_err("refused");
        assert!(reason.key == key && reason.reason.contains("\"rates\""), "{reason}");
    }
}

fn refusal(text: &str, sets: &[&str]) -> String {
    let scenario = parse(text, sets);
    let refused = clearpipe_fluid::simulate(&scenario, 1, 0, &mut |_| true);
    refused.expect_err("refused").to_string()
}

/// What has no fluid form at all is not said to have one with rates.
#[test]
fn other_protocols_are_refused_as_with_rates() {
    let sets = ["flows.a.protocol=vegas"];
    let rates = refusal(&dumbbell("xcp", "10Mbps", "80ms", ""), &sets);
    let acks = refusal(&dumbbell("xcp", "10Mbps", "80ms", ""), &["fluid.sending=acks", sets[0]]);
    assert!(acks == rates && acks.starts_with("flows.a.protocol: \"vegas\" has no"), "{acks}");
}

/// A quarter of 80 ms (and a bit: the packet's own time) is allowed, more is not; and where 100 GB
/// wait on each way, ACKs take 1600 s, of which steps of 1 us are too many to remember.
#[test]
fn steps_fit_between_packets_and_their_acks() {
    let text = dumbbell("xcp", "1Gbps", "80ms", "");
    fluid(&parse(&text, &["fluid.sending=acks", "duration=1s", "fluid.step=20ms"]));
    let long = refusal(&text, &["fluid.sending=acks", "fluid.step=20.1ms"]);
    assert!(long.starts_with("fluid.step: 0.0201 s") && long.contains("0.0200"), "{long}");
    let sets = ["fluid.sending=acks", "fluid.step=1us", "topology.buffer=100GB"];
    let short = refusal(&text, &sets);
    assert!(short.starts_with("fluid.step: ") && short.contains("1600.080 s"), "{short}");
}

/// Nothing is modelled that the queue was told not to do.
#[test]
fn a_queue_with_other_residues_is_refused() {
    let text =
        dumbbell("ixcp", "10Mbps", "80ms", "").replace("queue = \"ixcp\"", "queue = \"bare\"");
    for residues in ["none", "shared"] {
        let text = format!("{text}[queues.bare]\nkind = \"ixcp\"\nresidues = \"{residues}\"\n");
        for form in ["rates", "acks"] {
            let refused = refusal(&text, &[&format!("fluid.sending={form}")]);
            assert!(refused.starts_with("queues.bare.residues: "), "{refused}");
        }
    }
}

/// Another setting is another run.
#[test]
fn every_setting_is_in_the_identity() {
    let text = dumbbell("xcp", "10Mbps", "80ms", "");
    let mut seen = Vec::new();
    for set in [
        "seed=1",
        "fluid.step=1ms",
        "fluid.tolerance=1e-3",
        "fluid.vcp=miaimd",
        "fluid.xcp=continuous",
        "fluid.sending=acks",
    ] {
        let name = clearpipe_fluid::identity(&parse(&text, &[set]), 1, 0);
        assert!(!seen.contains(&name), "{set}");
        seen.push(name);
    }
}

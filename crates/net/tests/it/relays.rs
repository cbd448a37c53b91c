//! Proxies that end one connection and begin another.

use clearpipe_net::Outcome;
use units::math;

use crate::common::{self, mean_mbps};

/// Two links of these rates in a row with 10 ms each, a transfer or a stream over both by a proxy.
fn chain(rates: [&str; 2], flows: &str) -> Outcome {
    let link = |name: &str, from: &str, to: &str, rate: &str| {
        format!(
            "[links.{name}]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{rate}\"\nowd = \"10ms\"\n\
             buffer = \"200pkt\"\nduplex = true\n"
        )
    };
    let text = [
        "duration = \"30s\"\nwarmup = \"10s\"\n".to_owned(),
        link("one", "a", "p", rates[0]),
        link("two", "p", "b", rates[1]),
        flows.to_owned(),
    ];
    common::run(&common::scenario(&text.concat()), 1, 0)
}

const IN: &str = "[flows.in]\nprotocol = \"sack\"\nfrom = \"a\"\nto = \"p\"\n";
const OUT: &str = "[flows.out]\nprotocol = \"sack\"\nfrom = \"p\"\nto = \"b\"\nrelay = \"in\"\n";

/// Behind a slow link a fast one carries what that brings; before a slow one a fast link does so
/// only where the proxy's buffer is bounded.
#[test]
fn a_chain_is_as_fast_as_its_slowest_link() {
    let slow_first = chain(["5Mbps", "20Mbps"], &format!("{IN}{OUT}"));
    let out = mean_mbps(&slow_first, "out");
    assert!((out / 5.0 - 1.0).abs() < 0.01, "{out}");
    for (buffer, into) in [("", 20.0), ("relay_buffer = \"100pkt\"\n", 5.0)] {
        let outcome = chain(["20Mbps", "5Mbps"], &format!("{IN}{OUT}{buffer}"));
        let (out, got) = (mean_mbps(&outcome, "out"), mean_mbps(&outcome, "in"));
        assert!((out / 5.0 - 1.0).abs() < 0.01, "{out}");
        assert!((got / into - 1.0).abs() < 0.05, "{buffer}: {got}");
        // A hundred packets fit into the second link's buffer: nothing is lost.
        let drops = common::link(&outcome, "two").total_drops_pkts;
        assert_eq!(drops > 0, buffer.is_empty(), "{drops}");
    }
}

/// An application that offers 3 Mb/s does so in front of a proxy, too, whose buffer has no limit.
#[test]
fn a_rate_stays_a_rate_in_front_of_a_proxy() {
    let outcome = chain(["20Mbps", "5Mbps"], &format!("{IN}rate = \"3Mbps\"\n{OUT}"));
    for name in ["in", "out"] {
        let got = mean_mbps(&outcome, name);
        assert!((got / 3.0 - 1.0).abs() < 0.001, "{name}: {got}");
    }
}

/// A transfer of 250 500 B arrives whole, its short last packet too, and the second connection is
/// over when the first is and a way of its own later.
#[test]
fn a_transfer_goes_through_two_proxies() {
    let flows = "[flows.in]\nprotocol = \"sack\"\nfrom = \"a\"\nto = \"p\"\nsize = \"250500B\"\ncount = 3\n\
                 [flows.out]\nprotocol = \"vegas\"\nfrom = \"p\"\nto = \"b\"\nrelay = \"in\"\ncount = 3\n\
                 [flows.back]\nprotocol = \"cubic\"\nfrom = \"b\"\nto = \"p\"\nrelay = \"out\"\ncount = 3\n\
                 relay_buffer = \"20pkt\"\n";
    let outcome = chain(["20Mbps", "10Mbps"], flows);
    for name in ["in", "out", "back"] {
        for flow in common::group(&outcome, name) {
            assert_eq!(flow.delivered_bytes, 250_500, "{name}");
        }
    }
    let ends = |name| {
        let finished = |flow: &results::FlowRow| flow.finish_s.expect("it is over");
        common::group(&outcome, name).map(finished).collect::<Vec<_>>()
    };
    for ((first, second), third) in ends("in").into_iter().zip(ends("out")).zip(ends("back")) {
        // The last packet's ACK is back at `a` when its copy has been under way for 10 ms.
        assert!(second > first && third > second, "{first} {second} {third}");
    }
}

/// Packets per second of TCP with SACK where each packet is lost with probability `p`, round by
/// round: a window w goes unharmed with (1 - p)^w and is w + 1 then; a loss takes a round more, in
/// which half a window leaves, and half the window is left. Where a retransmission is lost too, the
/// timer runs out, and slow start brings that half. sqrt(3/2)/(RTT sqrt(p)) has none of this: it is
/// for a loss at every 1/p-th packet and for repair in no time.
fn in_rounds(p: f64, rtt: f64, rto: f64) -> f64 {
    const MOST: usize = 100;
    let mut share = [0.0; MOST + 1];
    share[10] = 1.0;
    let (mut time, mut packets) = (0.0, 0.0);
    for _ in 0..2000 {
        (time, packets) = (0.0, 0.0);
        let mut next = [0.0; MOST + 1];
        for (w, of) in share.iter().enumerate().skip(1) {
            let (size, half) = (w as f64, (w / 2).max(2));
            let whole = math::pow(1.0 - p, size);
            let again = 1.0 - math::pow(1.0 - p, size * p / (1.0 - whole));
            next[(w + 1).min(MOST)] += of * whole;
            next[half] += of * (1.0 - whole);
            let lost = of * (1.0 - whole);
            packets +=
                of * size + lost * ((half as f64) * (1.0 - again) + (half - 1) as f64 * again);
            // Doublings from one packet to that half.
            let slow_start = f64::from(half.next_power_of_two().ilog2()) * rtt;
            time += of * rtt + lost * (rtt * (1.0 - again) + (rto + slow_start) * again);
        }
        share = next;
    }
    packets / time
}

/// Two connections of 20 ms with 1 % of losses have the rate of such connections, and one over all
/// of the way what TCP's law gives at 590 ms and 1.99 % of losses at most.
#[test]
fn split_connections_have_the_short_paths_rate() {
    let flows = |sets: &[&str]| {
        let sets = [sets, &["duration=100s", "warmup=40s", "probe.series=[]"]].concat();
        common::run(&common::example("satellite-pep", &sets), 1, 0)
    };
    let split = flows(&["flows.in.count=2", "flows.sat.count=2", "flows.out.count=2"]);
    // 20 ms, 80 us for a packet and 3.2 us for its ACK at each end; the timer's least is 1 s.
    let (out, short) = (mean_mbps(&split, "out"), in_rounds(0.01, 0.0201, 1.0) * 8e-3);
    println!("    split {out:.2} Mb/s of {short:.2}");
    assert!((out / short - 1.0).abs() < 0.1, "{out} {short}");
    // Eight fill the satellite's 20 Mb/s.
    let eight = flows(&[]);
    let utilization = common::link(&eight, "sky").utilization_ratio;
    println!("    eight: utilization of the satellite {utilization:.3}");
    assert!(utilization > 0.95, "{utilization}");
    let direct = "flows.direct={ protocol='sack', from='host', to='server' }";
    let beside = flows(&[direct, "flows.in.count=2", "flows.sat.count=2", "flows.out.count=2"]);
    let expected = 1.5_f64.sqrt() / (0.59 * 0.0199_f64.sqrt()) * 8e-3;
    let long = mean_mbps(&beside, "direct");
    println!("    direct {long:.3} Mb/s of {expected:.3}");
    assert!(long < 1.1 * expected && out > 20.0 * long, "{long} {expected}");
}

/// A run in two halves is the same run.
#[test]
fn what_is_watched_changes_nothing() {
    let flows = |probe: &str| {
        let out = format!("{IN}{OUT}relay_buffer = \"50pkt\"\n{probe}");
        chain(["20Mbps", "5Mbps"], &out).fingerprint
    };
    let plain = flows("");
    let probe = |every| format!("[probe]\nseries = [\"cwnd\", \"queue\"]\nevery = \"{every}\"\n");
    assert_eq!(plain, flows(&probe("change")));
    assert_eq!(plain, flows(&probe("50ms")));
}

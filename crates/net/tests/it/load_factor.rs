//! What the papers claim of the protocols with a load factor: VCP, MLCP and the n-bit schemes. The
//! long runs are ignored:
//! `cargo test --profile ci -p clearpipe-net --test it load_factor -- --ignored --nocapture` checks
//! them and prints what was measured.

use clearpipe_net::Outcome;
use results::metrics::jain_index;
use scenario::Scenario;
use units::math::{ln, sqrt};

use crate::common::{self, mean, rows_of, scenario};

/// A dumbbell of that rate and RTT, with the floor of two packets per flow (A4).
fn dumbbell(
    (duration, warmup): (f64, &str),
    (rate, rtt): (&str, &str),
    queue: &str,
    more: &str,
) -> String {
    format!(
        "duration = \"{duration}s\"\nwarmup = \"{warmup}\"\n[topology]\nkind = \"dumbbell\"\n\
         rate = \"{rate}\"\nrtt = \"{rtt}\"\nowd = \"1us\"\nbuffer = \"1bdp\"\n\
         buffer_per_flow = \"2pkt\"\nqueue = {queue}\n{more}"
    )
}

fn flows(name: &str, protocol: &str, more: &str) -> String {
    format!("[flows.{name}]\nprotocol = {protocol}\n{more}\n")
}

fn bottleneck(outcome: &Outcome) -> &results::LinkRow {
    common::link(outcome, "bottleneck")
}

fn goodputs(outcome: &Outcome, group: &str) -> Vec<f64> {
    common::group(outcome, group).map(|flow| flow.goodput_bps).collect()
}

/// Mean and half of the 95 % interval of five replications (t = 2.776).
fn interval(values: &[f64]) -> (f64, f64) {
    assert_eq!(values.len(), 5);
    let m = mean(values);
    let variance = values.iter().map(|x| (x - m) * (x - m)).sum::<f64>() / 4.0;
    (m, 2.776 * sqrt(variance / 5.0))
}

/// `value` of five replications, for a table.
fn five(scenario: &Scenario, value: impl Fn(&Outcome) -> f64) -> (f64, f64) {
    let values: Vec<f64> = (0..5).map(|rep| value(&common::run(scenario, 1, rep))).collect();
    interval(&values)
}

// How fast a scheme fills a link: MLCP section 2.1.

const KAPPA: f64 = 0.35;

/// r(l), eq. (4): RTTs from one packet to 80 % of `k` packets with l levels.
fn r(l: u32, k: f64) -> f64 {
    let (mut rtts, mut window) = (0.0, 1.0);
    for i in 1..=l {
        let load = 0.8 * f64::from(i) / f64::from(l);
        rtts += ln(k * load / window) / ln(1.0 + KAPPA * (1.0 - load) / load);
        window = k * load;
    }
    rtts
}

/// What whole packets add to eq. (4) with one level: a window of w <= x < w + 1 sends w packets,
/// and so grows by w*xi per RTT, not by x*xi.
fn start_up(k: f64, xi: f64) -> f64 {
    let mut rtts = 0.0;
    let mut w = 1.0;
    while w < 0.8 * k {
        rtts += 1.0 / (w * xi) - ln((w + 1.0) / w) / ln(1.0 + xi);
        w += 1.0;
    }
    rtts
}

/// The round map: in a round a window of x packets grows by floor(x)*xi(edge of the load that was
/// measured `lag` rounds before). Rounds until 80 % of `k`, and the most that the window exceeds k
/// by.
fn round_map(l: u32, k: f64, gamma: f64, lag: usize) -> (f64, f64) {
    let edge = |load: f64| 0.8 * ((load * f64::from(l) / 0.8).floor() + 1.0) / f64::from(l);
    let mut windows = vec![1.0];
    let mut filled = None;
    for round in 0..10_000 {
        let x: f64 = windows[round];
        if filled.is_none() && x >= 0.8 * k {
            filled = Some(round as f64);
        }
        let old = if round >= lag { windows[round - lag].floor() } else { 0.0 };
        let load = old / (gamma * k);
        if load >= 0.8 {
            break;
        }
        let e = edge(load);
        windows.push(x + x.floor() * KAPPA * (1.0 - e) / e);
    }
    let most = windows.iter().fold(0.0, |most: f64, &x| most.max(x));
    (filled.unwrap_or(f64::NAN), most - k)
}

/// One flow at an RTT of 200 ms = t_p: RTTs until its window is 80 % of the BDP of `k` packets, and
/// by how many packets it exceeds the BDP at most.
fn fill(bits: &str, rate: &str, k: f64, seconds: f64) -> (f64, f64) {
    let kind = format!("{{ kind = \"nbit\", bits = \"{bits}\" }}");
    // The RTT is 200 ms and a packet's time, for which t_p would be 400 ms.
    let queue = kind.replace(" }", ", adapt_t_p = false }");
    let probe = "[probe]\nseries = [\"cwnd\"]\nevery = \"20ms\"\n";
    let flow = flows("fwd", &kind, "");
    let text = dumbbell((seconds, "0s"), (rate, "200ms"), &queue, &(flow + probe));
    let outcome = common::run(&scenario(&text), 1, 0);
    let cwnd = rows_of(&outcome, "cwnd_pkts", 0);
    let filled = cwnd.iter().find(|row| row.1 >= 0.8 * k).map_or(f64::NAN, |row| row.0);
    let most = cwnd.iter().fold(0.0, |most: f64, row| most.max(row.1));
    (filled / 0.2, most - k)
}

#[test]
fn spaced_packets_take_the_share_of_an_rtt_that_is_asked_for() {
    // A window that stays at 40 packets: the second 40 leave as the ACKs of the first come, 0.08 ms
    // apart, or spaced. 39 gaps of 400.1 ms/40, and half of that; srtt grows by the 3.1 ms of the
    // first burst meanwhile.
    let took = |kind: &str, pacing: &str| {
        let still = format!("{{ kind = \"{kind}\", kappa = 0.0, alpha = 0.0, pacing = {pacing} }}");
        let more = flows("f", &still, "size = \"80kB\"");
        let more =
            format!("[packets]\ndata = \"1000B\"\n[transport]\ninitial_window = \"40pkt\"\n{more}");
        let text = dumbbell((5.0, "0s"), ("100Mbps", "400ms"), &format!("\"{kind}\""), &more);
        let outcome = common::run(&scenario(&text), 1, 0);
        common::group(&outcome, "f").next().expect("a flow").fct_s.expect("it ends")
    };
    for kind in ["vcp", "dpcp", "mlcp"] {
        let at_once = took(kind, "0");
        // Two RTTs, and 79 packets of 0.08 ms less what the wait for ACKs takes of them.
        assert!((0.800..0.810).contains(&at_once), "{kind}: {at_once}");
        for windows in [1.0, 2.0] {
            let more = took(kind, &windows.to_string()) - at_once;
            let gaps = 39.0 * (0.4001 / 40.0 / windows - 0.000_08);
            assert!((more / gaps - 1.0).abs() < 0.01, "{kind} at {windows}: {more} s of {gaps}");
        }
    }
}

#[test]
fn formula_four_gives_the_papers_numbers() {
    // 1 Gb/s, 200 ms: 25 MB in units of 1024 B.
    let k = 25e6 / 1024.0;
    let rtts = [(2, 118.0), (3, 15.0), (4, 11.0), (15, 8.0)];
    for (bits, rtts) in rtts {
        assert_eq!(r((1 << bits) - 3, k).ceil(), rtts);
    }
}

#[test]
fn two_bits_fill_a_link_as_formula_four_says() {
    let (k, (rtts, _)) = (250.0, fill("2", "10Mbps", 250.0, 40.0));
    let expected = r(1, k) + start_up(k, 0.0875);
    assert!((rtts / expected - 1.0).abs() < 0.10, "{rtts} {expected}");
}

#[test]
fn three_and_four_bits_fill_a_link_as_the_round_map_says() {
    for (bits, l) in [("3", 5), ("4", 13)] {
        let k = 250.0;
        let (rtts, _) = fill(bits, "10Mbps", k, 10.0);
        // The code of a period of t_p leaves with the packets of the next one and is back a round
        // later.
        let (fast, slow) = (round_map(l, k, 0.98, 1).0, round_map(l, k, 0.98, 2).0);
        let (least, most) = (fast.min(slow), fast.max(slow));
        assert!((least - 1.5..=most + 1.5).contains(&rtts), "{bits} bits: {rtts}, {fast} {slow}");
    }
}

/// The same on faster links.
#[test]
#[ignore = "half a minute"]
fn fast_links_fill_as_formula_four_and_the_round_map_say() {
    for (rate, k) in [("100Mbps", 2500.0), ("1Gbps", 25_000.0)] {
        for (bits, l) in [("2", 1), ("3", 5), ("4", 13)] {
            let (rtts, over) = fill(bits, rate, k, if l == 1 { 40.0 } else { 8.0 });
            let (four, map) = (r(l, k), round_map(l, k, 0.98, 1));
            println!(
                "{bits} bits, {rate}: {rtts:.1} RTTs, eq. (4) {four:.1}, map {:.1}; overshoot {over:.0}",
                map.0
            );
            if l == 1 {
                let expected = four + start_up(k, 0.0875);
                assert!((rtts / expected - 1.0).abs() < 0.10, "{rate}: {rtts} {expected}");
            } else {
                assert!((rtts - map.0).abs() <= 1.5, "{bits} bits, {rate}: {rtts} {}", map.0);
            }
        }
    }
}

/// Eq. (4) has 6.7 RTTs for fifteen bits and knows no delay of the feedback: with one round of it
/// the window is beyond the pipe after the first, and by far.
#[test]
fn fifteen_bits_leave_the_pipe_behind() {
    let k = 250.0;
    let (rtts, over) = fill("15", "10Mbps", k, 3.0);
    assert!((rtts - round_map(32_765, k, 0.98, 1).0).abs() <= 1.5 && rtts < r(32_765, k) / 2.0);
    assert!(over > 10.0 * k, "{over}");
}

// VCP.

fn vcp_pair(protocol: &str, count: u32, more: &str) -> String {
    let more = format!("count = {count}\n{more}\nstart = \"uniform(0s, 10s)\"");
    flows("fwd", protocol, &more)
        + &flows("rev", protocol, &format!("{more}\ndirection = \"reverse\""))
}

/// 30 flows each way: no drops and under 20 % queue at 500 kb/s and at 1 ms with the buffer's floor
/// (A4); without the floor there are drops (I7).
#[test]
fn vcp_windows_of_one_packet_need_the_floor() {
    for (rate, rtt) in [("500kbps", "80ms"), ("20Mbps", "1ms")] {
        let vcp = format!("{{ kind = \"vcp\", scale_rtt = \"base_rtt\", base_rtt = \"{rtt}\" }}");
        let text = dumbbell((120.0, "20%"), (rate, rtt), "\"vcp\"", &vcp_pair(&vcp, 30, ""));
        let outcome = common::run(&scenario(&text), 1, 0);
        let link = bottleneck(&outcome);
        assert_eq!(link.total_drops_pkts, 0, "{rate} {rtt}");
        // (30 - BDP)/120 = 25/120 and (30 - 2.5)/120 are 0.21 and 0.23.
        assert!(link.queue_mean_ratio < 0.25 && link.utilization_ratio > 0.9, "{link:?}");
        let bare = text.replace("buffer_per_flow = \"2pkt\"\n", "");
        assert!(bottleneck(&common::run(&scenario(&bare), 1, 0)).total_drops_pkts > 100);
    }
}

/// 10 flows of 40 to 310 ms (IV-B): rates come out equal, with eq. (7) inversely proportional to
/// the RTT.
#[test]
fn vcp_rates_are_equal_or_inverse_to_the_rtt() {
    let run = |scaling: &str| {
        let protocol = format!("{{ kind = \"vcp\", ai_scaling = \"{scaling}\" }}");
        let pair = vcp_pair(&protocol, 10, "rtt = \"formula(40ms + 30ms * i)\"");
        let text = dumbbell((300.0, "40%"), ("20Mbps", "40ms"), "\"vcp\"", &pair);
        common::run(&scenario(&text), 1, 0)
    };
    let equal = run("rate");
    assert!(jain_index(&goodputs(&equal, "fwd")).unwrap() >= 0.94);
    assert!(bottleneck(&equal).utilization_ratio > 0.85);
    let slope = slope(&goodputs(&run("window"), "fwd"), |i| 0.04 + 0.03 * i as f64);
    assert!((slope + 1.0).abs() < 0.2, "{slope}");
}

/// The exponent of a power law by least squares.
fn slope(rates: &[f64], rtt: impl Fn(usize) -> f64) -> f64 {
    let points: Vec<(f64, f64)> =
        rates.iter().enumerate().map(|(i, &rate)| (ln(rtt(i)), ln(rate))).collect();
    let n = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), p| (x + p.0 / n, y + p.1 / n));
    let above = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum::<f64>();
    above / points.iter().map(|p| (p.0 - x) * (p.0 - x)).sum::<f64>()
}

/// alpha times 1, 2 and 4 gives rates as 1, 2 and 4 (end of section IV).
#[test]
fn vcp_weights_are_shares() {
    let mut text = dumbbell((600.0, "50%"), ("45Mbps", "80ms"), "\"vcp\"", "");
    for weight in [1, 2, 4] {
        let vcp = format!("{{ kind = \"vcp\", weight = {weight}.0 }}");
        text += &flows(&format!("w{weight}"), &vcp, "count = 2\nstart = \"uniform(0s, 1s)\"");
    }
    let outcome = common::run(&scenario(&text), 1, 0);
    let unit = mean(&goodputs(&outcome, "w1"));
    for weight in [2.0, 4.0] {
        let rate = mean(&goodputs(&outcome, &format!("w{weight}")));
        assert!((rate / unit / weight - 1.0).abs() < 0.05, "{weight}: {}", rate / unit);
    }
}

/// Figure 13: when 50 and 500 ms leave multiplicative increase for the first time, and the lag.
fn leave_mi(vcp: &str, window: u32) -> (f64, f64, f64) {
    let text = dumbbell((60.0, "30s"), ("10Mbps", "500ms"), "\"vcp\"", "")
        + &format!("[transport]\ninitial_window = \"{window}pkt\"\n")
        + &flows("short", vcp, "rtt = \"50ms\"")
        + &flows("long", vcp, "rtt = \"500ms\"")
        + "[probe]\nseries = [\"sender\"]\nevery = \"10ms\"\n";
    let outcome = common::run(&scenario(&text), 1, 0);
    let left = |id| {
        let modes = rows_of(&outcome, "sender_mode", id);
        modes.iter().find(|row| row.1 >= 2.0).expect("additive increase").0
    };
    (left(0), left(1), bottleneck(&outcome).utilization_ratio)
}

/// The paper does not say how many packets a window starts with; ns-2's default is two. With one,
/// whole packets take the 50 ms flow sum(1/(w*xi) - ln((w + 1)/w)/ln(1 + xi)) = 1.8 s more than the
/// fluid's 12.5 s, xi = 1.0625^0.25 - 1.
#[test]
fn vcp_changes_from_mi_to_ai_when_the_paper_says() {
    let (short, long, _) = leave_mi("\"vcp\"", 2);
    assert!((short / 12.06 - 1.0).abs() < 0.20, "{short}");
    assert!((long / 12.37 - 1.0).abs() < 0.20, "{long}");
    assert!((0.1..=0.8).contains(&(long - short)), "{short} {long}");
    let (short, ..) = leave_mi("\"vcp\"", 1);
    let whole = 0.05 * start_up(31.0 / 0.8, 0.015_271_7);
    assert!((short - 12.5 - whole).abs() < 0.6, "{short} {whole}");
}

/// Figure 13 with every reading of the limiter and of t_d: the lag (c1), the times with two
/// packets, and the utilization afterwards (c3, 0.85 less 0.05), which the default misses with 0.79
/// and 0.76.
#[test]
fn vcp_changes_from_mi_to_ai_whatever_the_limiter() {
    for limit in ["mi_limit = 0.3125", "mi_limit = 1.0", "mi_limit = 2.5", "limiters = false"] {
        for t_d in ["200ms", "100ms"] {
            for window in [1, 2] {
                let vcp = format!("{{ kind = \"vcp\", {limit}, t_d = \"{t_d}\" }}");
                let (short, long, used) = leave_mi(&vcp, window);
                let case =
                    format!("{limit}, t_d {t_d}, {window}: {short:.2} s, {long:.2} s, {used:.3}");
                println!("{case}");
                assert!((0.1..=0.8).contains(&(long - short)), "{case}");
                let near = |t: f64, paper: f64| (t / paper - 1.0).abs() < 0.20;
                assert!(window == 1 || near(short, 12.06) && near(long, 12.37), "{case}");
                let default = limit == "mi_limit = 2.5" && t_d == "200ms";
                assert!(used >= 0.80 || default, "{case}");
            }
        }
    }
}

/// A TCP sender with ECN through a VCP router sees congestion in overload only, and loses nothing;
/// one that is not capable is dropped by the buffer's limit.
#[test]
fn tcp_through_a_vcp_router_is_marked_or_dropped() {
    for (ecn, kind) in [(true, "marked"), (false, "dropped")] {
        let sack = format!("{{ kind = \"sack\", ecn = {ecn} }}");
        let text = dumbbell((60.0, "20s"), ("10Mbps", "80ms"), "\"vcp\"", "")
            + &flows("tcp", &sack, "count = 4\nstart = \"uniform(0s, 1s)\"");
        let outcome = common::run(&scenario(&text), 1, 0);
        let link = bottleneck(&outcome);
        assert_eq!(link.drops_pkts > 0, !ecn, "{kind}: {link:?}");
        assert!(link.utilization_ratio > 0.6, "{kind}: {link:?}");
    }
}

/// What SACK with ECN gets beside TCP-friendly VCP over what it gets beside SACK (VI-C).
fn beside(other: &str, (tcp, others): (u32, u32), rate: &str, seconds: f64, rep: u64) -> f64 {
    let get = |other: &str| {
        let queue = "{ kind = \"vcp\", marking = \"red\" }";
        let sack = "{ kind = \"sack\", ecn = true }";
        let start = "start = \"uniform(0s, 10s)\"";
        let text = dumbbell((seconds, "20%"), (rate, "80ms"), queue, "")
            + &flows("tcp", sack, &format!("count = {tcp}\n{start}"))
            + &flows("other", other, &format!("count = {others}\n{start}"));
        mean(&goodputs(&common::run(&scenario(&text), 1, rep), "tcp"))
    };
    get(other) / get("{ kind = \"sack\", ecn = true }")
}

#[test]
fn tcp_beside_friendly_vcp_gets_what_it_gets_beside_tcp() {
    let ratio = beside("\"vcp-friendly\"", (5, 5), "15Mbps", 300.0, 0);
    assert!((ratio - 1.0).abs() < 0.20, "{ratio}");
}

/// At any mix with alpha = 0.2, and with 0.3125 (A13) where TCP is not far in the minority: beside
/// 30 flows 5 of TCP get 0.79 then.
#[test]
#[ignore = "minutes"]
fn tcp_beside_friendly_vcp_at_any_mix() {
    for (tcp, others) in [(5, 5), (15, 15), (30, 5), (5, 30)] {
        for (alpha, other) in
            [(0.3125, "\"vcp-friendly\""), (0.2, "{ kind = \"vcp-friendly\", alpha = 0.2 }")]
        {
            let ratios: Vec<f64> =
                (0..5).map(|rep| beside(other, (tcp, others), "45Mbps", 300.0, rep)).collect();
            let (m, half) = interval(&ratios);
            println!("{tcp:>2} TCP + {others:>2}, alpha {alpha}: {m:.3} +- {half:.3}");
            let few = alpha > 0.2 && tcp < others;
            assert!(few || (m - 1.0).abs() < 0.20, "{tcp} + {others}, alpha {alpha}: {m}");
        }
    }
}

/// Five flows 100 s apart (VCP Fig. 10): the least mean utilization of 10 s after the first 30 s
/// (c1), the largest queue (c2), and how far from the fair share the second flow still is after 100
/// s (c3): the e-fold time is 105 s.
#[test]
#[ignore = "seconds"]
fn vcp_flows_join_without_a_queue_and_slowly() {
    let text = dumbbell((600.0, "0s"), ("45Mbps", "80ms"), "\"vcp\"", "")
        + &flows(
            "fwd",
            "\"vcp\"",
            "count = 5\nstart = \"every(100s)\"\nrtt = \"linspace(40ms, 120ms)\"",
        )
        + &flows(
            "rev",
            "\"vcp\"",
            "count = 5\ndirection = \"reverse\"\nrtt = \"linspace(40ms, 120ms)\"\nstart = \"uniform(0s, 1s)\"",
        )
        + "[probe]\nseries = [\"utilization\", \"queue\", \"goodput\"]\nevery = \"500ms\"\n";
    let outcome = common::run(&scenario(&text), 1, 0);
    let rows = rows_of(&outcome, "utilization_ratio", 0);
    let least = rows[60..]
        .chunks(20)
        .filter(|c| c.len() == 20)
        .map(|c| mean(&c.iter().map(|r| r.1).collect::<Vec<_>>()));
    let least = least.fold(1.0, f64::min);
    let queue = rows_of(&outcome, "queue_pkts", 0).iter().map(|r| r.1).fold(0.0, f64::max);
    let link = bottleneck(&outcome);
    let part = queue * 1000.0 / link.buffer_bytes as f64;
    let phases: Vec<Vec<f64>> = (1..=5_u32)
        .map(|flows| {
            let end = if flows == 5 { 600.0 } else { 100.0 * f64::from(flows) };
            let last = |rows: Vec<(f64, f64)>| -> Vec<f64> {
                rows.iter().filter(|r| r.0 > end - 50.0 && r.0 <= end).map(|r| r.1 / 1e6).collect()
            };
            (0..flows).map(|id| mean(&last(rows_of(&outcome, "goodput_bps", id)))).collect()
        })
        .collect();
    println!(
        "least utilization {least:.3}, largest queue {part:.3} of the buffer, {phases:.1?} Mb/s"
    );
    assert!(least >= 0.85 && part <= 0.2 && link.total_drops_pkts == 0);
    assert!(phases[1][1] < 0.7 * mean(&phases[1]), "{:?}", phases[1]);
    assert!(jain_index(&phases[4]).unwrap() > 0.99, "{:?}", phases[4]);
}

/// How long after `leave` the utilization is back at 95 %, the least of a second from 80 to 90 s,
/// and the largest queue from then on over the buffer; nothing is dropped.
fn demand_step(
    protocol: &str,
    rate: &str,
    base: &str,
    joining: &str,
    leave: f64,
) -> (f64, f64, f64) {
    let queue = format!("\"{protocol}\"");
    let text = dumbbell((leave + 40.0, "0s"), (rate, "158ms"), &queue, "")
        + &flows("base", &queue, &format!("{base}\nstart = \"uniform(0s, 1s)\""))
        + &flows(
            "rev",
            &queue,
            &format!("{base}\nstart = \"uniform(0s, 1s)\"\ndirection = \"reverse\""),
        )
        + &flows("more", &queue, &format!("{joining}\nstart = \"80s\"\nstop = \"{leave}s\""))
        + "[probe]\nseries = [\"utilization\", \"queue\"]\nevery = \"500ms\"\nlinks = [\"bottleneck\"]\n";
    let outcome = common::run(&scenario(&text), 1, 0);
    let rows = rows_of(&outcome, "utilization_ratio", 0);
    let buffer = bottleneck(&outcome).buffer_bytes as f64 / 1000.0;
    let queue = rows_of(&outcome, "queue_pkts", 0);
    let largest = queue.iter().filter(|r| r.0 > 79.0).map(|r| r.1).fold(0.0, f64::max) / buffer;
    let least = rows.windows(2).filter(|w| w[0].0 > 80.0 && w[1].0 <= 90.0);
    let least = least.map(|w| (w[0].1 + w[1].1) / 2.0).fold(1.0, f64::min);
    // The packets of those that leave are on their way for an RTT.
    let low = rows.iter().position(|r| r.0 > leave + 0.5).unwrap();
    let again = rows[low..].iter().find(|r| r.1 >= 0.95).map_or(f64::NAN, |r| r.0 - leave);
    assert_eq!(bottleneck(&outcome).total_drops_pkts, 0);
    (again, least, largest)
}

/// VCP's figure 11: about 5 s, 8 tolerated (c1), half of the buffer (c3), 0.85 (c4). MLCP's figure
/// 14: 2.5 s, 4 tolerated (c1), 0.3 of the buffer (c2), 0.85 (c3).
#[test]
#[ignore = "half a minute"]
fn demand_steps_are_absorbed() {
    let rtts = "count = 50\nrtt = \"formula(60ms + 2ms * i)\"";
    let joining = "count = 150\nrtt = \"formula(60ms + 0.65ms * i)\"";
    let ten = "count = 10\nrtt = \"80ms\"";
    let hundred = "count = 100\nrtt = \"80ms\"";
    for (protocol, rate, base, joining, leave, (most, part)) in [
        ("vcp", "200Mbps", rtts, joining, 160.0, (8.0, 0.5)),
        ("mlcp", "150Mbps", ten, hundred, 140.0, (4.0, 0.3)),
    ] {
        let (again, least, queue) = demand_step(protocol, rate, base, joining, leave);
        println!(
            "{protocol}: 95 % again after {again:.1} s, least {least:.3}, largest queue {queue:.3}"
        );
        assert!(
            again <= most && least >= 0.85 && queue <= part,
            "{protocol}: {again} {least} {queue}"
        );
    }
}

/// Adaptive target utilization (eq. 14), to its default of 0.95: two packets per flow and RTT make
/// gamma = 0.98 overshoot it (2 Mb/s), five undershoot it (5 Mb/s); the step brings both near.
#[test]
fn vcp_gamma_follows_the_target_utilization() {
    let run = |queue: &str, rate: &str| {
        let text = dumbbell((400.0, "200s"), (rate, "80ms"), queue, &vcp_pair("\"vcp\"", 10, ""));
        bottleneck(&common::run(&scenario(&text), 1, 0)).utilization_ratio
    };
    for rate in ["2Mbps", "5Mbps"] {
        let fixed = run("\"vcp\"", rate);
        let moved = run("{ kind = \"vcp\", adapt_gamma = true }", rate);
        assert!((moved - 0.95).abs() < 0.01, "{rate}: {fixed} {moved}");
        assert!((fixed - 0.95).abs() > 0.02, "{rate}: {fixed}");
    }
}

/// Without routers (experimental): fills a link over DropTail and shares it.
#[test]
fn vcp_at_the_end_hosts_alone_fills_a_link() {
    let text = dumbbell((200.0, "50%"), ("20Mbps", "80ms"), "\"droptail\"", "")
        + &flows("fwd", "\"vcp-endhost\"", "count = 4\nstart = \"uniform(0s, 10s)\"");
    let outcome = common::run(&scenario(&text), 1, 0);
    assert!(bottleneck(&outcome).utilization_ratio > 0.9);
    // Half of the fair share at least for each: losses hit all alike.
    let rates = goodputs(&outcome, "fwd");
    assert!(jain_index(&rates).unwrap() > 0.8, "{rates:?}");
}

// MLCP.

/// The mean RTT of all packets chooses t_p, and it stays chosen (section 3.2.2). Downwards theta is
/// 2e-4 at 40 ms: taken once per t_p it needs ten minutes from 200 to 80 ms, each T half a minute.
#[test]
fn mlcp_t_p_follows_the_mean_rtt_and_stays() {
    for (rtt, every, t_p) in [
        ("40ms", "T", 0.08),
        ("40ms", "t_p", 0.2),
        ("150ms", "t_p", 0.2),
        ("300ms", "t_p", 0.4),
        ("700ms", "t_p", 0.8),
        ("1500ms", "t_p", 1.4),
    ] {
        let queue = format!("{{ kind = \"mlcp\", mean_every = \"{every}\" }}");
        let text = dumbbell((120.0, "60s"), ("10Mbps", rtt), &queue, "")
            + &flows("fwd", "\"mlcp\"", "count = 5\nstart = \"uniform(0s, 1s)\"")
            + "[probe]\nseries = [\"router\"]\nevery = \"100ms\"\n";
        let outcome = common::run(&scenario(&text), 1, 0);
        let rows = rows_of(&outcome, "router_t_p", 0);
        let last_minute = rows.iter().filter(|r| r.0 > 60.0).collect::<Vec<_>>();
        let changes = last_minute.windows(2).filter(|w| w[0].1 != w[1].1).count();
        assert!(changes <= 1, "{rtt}: {changes}");
        assert_eq!(last_minute.last().unwrap().1, t_p, "{rtt}");
        let link = bottleneck(&outcome);
        assert!(link.utilization_ratio > 0.85 && link.drops_pkts == 0, "{rtt}: {link:?}");
    }
}

/// Ten flows with RTTs of 40 to 1120 ms, one way, the second half of 600 s: Jain's index at least
/// 0.75 and more than VCP's with its limiters. This is not the set-up of Fig. 15 (30 + 30 flows on
/// 60 Mb/s): there we measure 0.67 at delta 10 and 0.20 at delta 30, less than VCP
/// (record/2026-11-20/load-factor.md).
#[test]
fn mlcp_is_fair_among_ten_rtts_one_way_in_the_second_half() {
    let index = |kind: &str| {
        let more = "count = 10\nrtt = \"formula(40ms + 120ms * i)\"\nstart = \"uniform(0s, 1s)\"";
        let text = dumbbell((600.0, "50%"), ("20Mbps", "40ms"), &format!("\"{kind}\""), "")
            + &flows("fwd", &format!("\"{kind}\""), more);
        jain_index(&goodputs(&common::run(&scenario(&text), 1, 0), "fwd")).unwrap()
    };
    let (mlcp, vcp) = (index("mlcp"), index("vcp"));
    assert!(mlcp >= 0.75 && mlcp > vcp, "{mlcp} {vcp}");
}

/// Jain's index of figure 15's set-up, 30 flows each way with RTTs from 40 to 40 + 116*delta ms on
/// 60 Mb/s for 100 s, where all start together.
fn among_rtts(kind: &str, delta: u32) -> f64 {
    let more = format!("count = 30\nrtt = \"formula(40ms + {}ms * i)\"", 4 * delta);
    let kind = format!("\"{kind}\"");
    let text = dumbbell((100.0, "5%"), ("60Mbps", "40ms"), &kind, "owd = \"10ms\"\n").replacen(
        "owd = \"1us\"\n",
        "",
        1,
    ) + &flows("fwd", &kind, &more)
        + &flows("rev", &kind, &format!("{more}\ndirection = \"reverse\""));
    jain_index(&goodputs(&common::run(&scenario(&text), 1, 0), "fwd")).unwrap()
}

/// Above 0.75 (c1) and more than VCP's (c2).
#[test]
fn mlcp_is_fair_among_thirty_rtts_that_start_together() {
    let (mlcp, vcp) = (among_rtts("mlcp", 10), among_rtts("vcp", 10));
    assert!(mlcp >= 0.75 && mlcp > vcp, "{mlcp} {vcp}");
}

/// At 20 and 30 MLCP is fairer than VCP, too (c2), but below 0.75 (c1 does not hold).
#[test]
#[ignore = "seconds"]
fn mlcp_is_fairer_than_vcp_up_to_rtts_of_seconds() {
    for delta in [5, 20, 30] {
        let (mlcp, vcp) = (among_rtts("mlcp", delta), among_rtts("vcp", delta));
        println!("delta {delta}: MLCP {mlcp:.3}, VCP {vcp:.3}");
        assert!(mlcp > vcp, "{delta}: {mlcp} {vcp}");
    }
}

/// Losses on the line cut nothing: with 5 % lost MLCP keeps the link full, VCP with Reno's cuts
/// does not.
#[test]
fn mlcp_losses_cut_nothing() {
    let utilization = |kind: &str| {
        let text =
            dumbbell((60.0, "20s"), ("10Mbps", "80ms"), &format!("\"{kind}\""), "loss = \"5%\"\n")
                + &flows("fwd", &format!("\"{kind}\""), "count = 2\nstart = \"uniform(0s, 1s)\"");
        bottleneck(&common::run(&scenario(&text), 1, 0)).utilization_ratio
    };
    let (mlcp, vcp) = (utilization("mlcp"), utilization("vcp"));
    assert!(mlcp > 0.8 && vcp < 0.6, "{mlcp} {vcp}");
}

/// A newcomer at 50 s among N - 1 flows (Figs. 7, 8): seconds to 70 % of the fair rate, the mean
/// load of the periods in overload from then on.
fn newcomer(md: &str, inverse: bool, (rate, bps): (&str, f64), n: u32, rep: u64) -> (f64, f64) {
    let kind = format!("{{ kind = \"nbit\", bits = \"3\", inverse = {inverse}, md = \"{md}\" }}");
    let text = dumbbell((200.0, "0s"), (rate, "100ms"), &kind, "")
        + &flows("old", &kind, &format!("count = {}\nstart = \"uniform(0s, 1s)\"", n - 1))
        + &flows("new", &kind, "start = \"uniform(50s, 51s)\"")
        + "[probe]\nseries = [\"goodput\", \"router\"]\nevery = \"100ms\"\nlinks = [\"bottleneck\"]\n";
    let outcome = common::run(&scenario(&text), 1, rep);
    let share = 0.7 * 0.95 * bps / f64::from(n);
    let rows = rows_of(&outcome, "goodput_bps", n - 1);
    let reached = rows
        .windows(10)
        .find(|w| w[0].0 > 50.0 && mean(&w.iter().map(|r| r.1).collect::<Vec<_>>()) >= share);
    let start = rows.iter().find(|r| r.1 > 0.0).unwrap().0;
    let over: Vec<f64> = rows_of(&outcome, "router_sigma", 0)
        .iter()
        .filter(|r| r.0 > 50.0 && r.1 >= 1.0)
        .map(|r| r.1)
        .collect();
    (
        reached.map_or(150.0, |w| w[9].0 - start),
        if over.is_empty() { f64::NAN } else { mean(&over) },
    )
}

/// Figures 7 and 8 without inversely proportional increase: the load in overload is near 100 % for
/// two flows (7 c3), grows with N (8 c2) and stays below 120 %, so that C is B (8 c3).
///
/// That A is the fastest and D three times as fast as B and C with 20 flows (7 c1, 8 c1) does not
/// come out, and no reading can make it: neither a cut nor MI changes the ratio of two rates,
/// additive increase alone does. It turns shares x and 1 - x of a load s into (x*s + a)/(s + 2*a),
/// so that the distance from fair shrinks by s/(s + 2*a) from a cut to the next overload: 0.80 for
/// A, whose cut to 0.675 MI takes up to 0.8 at once, and 0.875 for B. Per bandwidth added these are
/// ln(0.8)/0.2 = -1.12 and ln(0.875)/0.125 = -1.07.
#[test]
#[ignore = "minutes"]
fn schemes_of_decrease_meet_the_same_overload() {
    let mut of_two = f64::NAN;
    for (rate, bps, n) in
        [("10Mbps", 10e6, 2), ("20Mbps", 20e6, 2), ("20Mbps", 20e6, 10), ("20Mbps", 20e6, 20)]
    {
        let [a, b, c, d] = ["A", "B", "C", "D"].map(|md| {
            let all: Vec<_> = (0..5).map(|rep| newcomer(md, false, (rate, bps), n, rep)).collect();
            let of = |value: fn(&(f64, f64)) -> f64| all.iter().map(value).collect::<Vec<_>>();
            let ((m, half), sigma) = (interval(&of(|x| x.0)), mean(&of(|x| x.1)));
            println!("{rate} {n:>2} {md}: {m:6.2} +- {half:5.2} s, load in overload {sigma:.3}");
            (m, sigma)
        });
        assert!(n > 2 || [a, b, c, d].iter().all(|x| x.1 <= 1.05), "{rate}: {a:?} {d:?}");
        if n == 2 {
            of_two = b.1;
        }
        assert!(n < 20 || b.1 > of_two + 0.01, "{} {of_two}", b.1);
        assert!(c.1 < 1.2 && (c.0 / b.0 - 1.0).abs() < 0.2, "{rate} {n}: {b:?} {c:?}");
    }
}

/// The basic setting of section 4 (200 Mb/s, 80 ms, 10 + 10 flows): both readings of gamma (A8)
/// have the paper's utilization and next to no queue; in one FIFO, without R5, they are not to be
/// had.
#[test]
#[ignore = "half a minute"]
fn mlcp_needs_acks_first() {
    for (setting, fine) in
        [("gamma = 0.98", true), ("gamma = 1.0", true), ("priority = false", false)]
    {
        let queue = format!("{{ kind = \"mlcp\", {setting} }}");
        let text =
            dumbbell((100.0, "5%"), ("200Mbps", "80ms"), &queue, &vcp_pair("\"mlcp\"", 10, ""));
        let u = five(&scenario(&text), |o| bottleneck(o).utilization_ratio);
        let q = five(&scenario(&text), |o| bottleneck(o).queue_mean_ratio);
        println!("{setting}: utilization {:.4} +- {:.4}, queue {:.5} +- {:.5}", u.0, u.1, q.0, q.1);
        assert_eq!(u.0 >= 0.9 && q.0 < 0.01, fine, "{setting}: {u:?} {q:?}");
    }
}

//! What the neighbours that the five papers name are known for, each by one published or derived
//! number. `--nocapture` prints what they do.

use clearpipe_net::Outcome;

use crate::common::{self, mean_mbps, rows_of, utilization};

/// 10 Mb/s and 80 ms for three flows with these keys.
fn three(kind: &str, queue: &str, sets: &[&str]) -> Outcome {
    let keys = [
        format!("protocols.host.kind={kind}"),
        format!("queues.router.kind={queue}"),
        "topology.rtt=80ms".to_owned(),
        "duration=60s".to_owned(),
    ];
    let keys: Vec<&str> = keys.iter().map(String::as_str).chain(sets.iter().copied()).collect();
    common::run(&common::example("any-protocol", &keys), 1, 0)
}

/// The flows' goodputs over `share` Mb/s.
fn shares(outcome: &Outcome, share: f64) -> Vec<f64> {
    common::group(outcome, "ftp").map(|flow| flow.goodput_bps / 1e6 / share).collect()
}

fn all_within(shares: &[f64], part: f64) -> bool {
    shares.iter().all(|share| (share - 1.0).abs() < part)
}

/// When a series of id 0 is first at `level` or above.
fn reaches(outcome: &Outcome, name: &str, level: f64) -> f64 {
    let rows = rows_of(outcome, name, 0);
    rows.iter().find(|(_, value)| *value >= level).map_or(f64::INFINITY, |(t, _)| *t)
}

/// Seconds from one packet to 80 % of the target of 100 Mb/s x 200 ms by MPCP's law, ACK by ACK: an
/// ACK adds xi + alpha/w, with xi at the upper edge of what its chain has told so far, and the load
/// factor is that of the round before. The first packet of a chain tells the zone, of which what
/// has not come is the top (0.8); the second one of DPCP's levels, and each more a third of that.
fn by_the_law(packets: usize) -> f64 {
    const TARGET: f64 = 0.98 * 2500.0;
    let known = |load: f64, place: usize| {
        let (mut low, mut high) = match load {
            _ if place == 0 => (0.0, 0.8),
            load if load < 0.2 => (0.0, 0.2),
            load if load < 0.4 => (0.2, 0.4),
            _ => (0.4, 0.8),
        };
        for _ in 2..=place {
            let third = (high - low) / 3.0;
            let part = ((load - low) / third).floor().clamp(0.0, 2.0);
            (low, high) = (low + part * third, low + (part + 1.0) * third);
        }
        high.max(0.2)
    };
    let (mut windows, mut acks) = (vec![1.0], 0);
    loop {
        let rounds = windows.len();
        let load = if rounds > 1 { windows[rounds - 2] / TARGET } else { 0.0 };
        let mut w = windows[rounds - 1];
        let size = w.floor();
        for i in 0..size as u32 {
            let edge: f64 = known(load, acks % packets);
            w += 0.25 * (1.0 - edge) / edge + 1.0 / w;
            acks += 1;
            if w >= 0.8 * TARGET {
                return 0.2 * (rounds as f64 + f64::from(i) / size);
            }
        }
        windows.push(w);
    }
}

/// One flow from one packet to 80 % of 100 Mb/s x 200 ms, against the law. MLCP's eq. 4 would give
/// 4.5, 3.4 and 3.1 s: it takes the load factor as of this moment and every packet as a whole one.
#[test]
fn longer_chains_fill_a_link_sooner() {
    let fill = |packets: &str| {
        let keys = [
            format!("protocols.host.packets={packets}"),
            format!("queues.router.packets={packets}"),
            "duration=40s".to_owned(),
            "probe.every=100ms".to_owned(),
        ];
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let outcome = common::run(&common::example("mpcp-fill", &keys), 1, 0);
        let (time, used) =
            (reaches(&outcome, "cwnd_pkts", 0.8 * 0.98 * 2500.0), utilization(&outcome));
        assert!(used > 0.9 && common::link(&outcome, "bottleneck").total_drops_pkts == 0);
        (time, used)
    };
    for (text, packets) in [("2", 2), ("3", 3), ("4", 4)] {
        let ((time, used), law) = (fill(text), by_the_law(packets));
        println!(
            "    {packets} packets: 80 % after {time:.2} s of {law:.2}, utilization {used:.3}"
        );
        assert!((time / law - 1.0).abs() < 0.1, "{time} {law}");
    }
}

/// With pairs MPCP is DPCP, in every packet of a run with losses.
#[test]
fn mpcp_with_pairs_is_dpcp() {
    let run = |kind: &str, more: &[&str]| {
        let sets = [&["topology.loss=1%", "topology.rate=4Mbps"], more].concat();
        three(kind, kind, &sets).fingerprint
    };
    let pairs = ["protocols.host.packets=2", "queues.router.packets=2"];
    assert_eq!(run("mpcp", &pairs), run("dpcp", &[]));
    assert_ne!(run("mpcp", &[]), run("dpcp", &[]));
}

/// A window after two round trips of feedback: without lost ACKs it grows by what the router gives,
/// and a share p of them takes that share of it from XCP, and nothing from XCP-r.
#[test]
fn xcp_r_loses_no_feedback_with_its_acks() {
    // The window at 280 and at 360 ms: the first feedback is that of one packet.
    let windows = |kind: &str, loss: &str| {
        let text = format!(
            "duration = \"2s\"\nwarmup = \"1s\"\n\
             [links.f]\nfrom = \"a\"\nto = \"b\"\nrate = \"100Mbps\"\nowd = \"20ms\"\nqueue = \"xcp\"\n\
             [links.r]\nfrom = \"b\"\nto = \"a\"\nrate = \"100Mbps\"\nowd = \"20ms\"\nloss = \"{loss}\"\n\
             [flows.ftp]\nprotocol = \"{kind}\"\nfrom = \"a\"\nto = \"b\"\nrtt = \"80ms\"\n\
             [probe]\nseries = [\"cwnd\"]\nevery = \"40ms\"\n"
        );
        let rows = rows_of(&common::run(&common::scenario(&text), 1, 0), "cwnd_pkts", 0);
        (rows[6].1, rows[8].1)
    };
    let (first, all) = windows("xcp", "0%");
    for (loss, p) in [("10%", 0.1), ("20%", 0.2), ("30%", 0.3)] {
        let (xcp, xcp_r) = (windows("xcp", loss), windows("xcp-r", loss));
        assert_eq!((xcp.0, xcp_r.0), (first, first));
        let [lossy, whole] = [xcp, xcp_r].map(|window| (window.1 - first) / (all - first));
        println!(
            "    {loss} of the ACKs lost: XCP gets {lossy:.3} of the feedback, XCP-r {whole:.3}"
        );
        assert!((lossy / (1.0 - p) - 1.0).abs() < 0.1, "{lossy}");
        assert!((whole - 1.0).abs() < 0.02, "{whole}");
    }
}

/// OSU's and ERICA's fixed point is the target, 0.9 of the link, in equal parts; OSU's within its
/// band.
#[test]
fn osu_and_erica_rest_at_their_target() {
    for kind in ["osu", "erica"] {
        let outcome = three(kind, kind, &[]);
        let (shares, used) = (shares(&outcome, 3.0), utilization(&outcome));
        println!("    {kind}: {shares:.3?} of the target's third, utilization {used:.3}");
        assert!(all_within(&shares, 0.1) && (used / 0.9 - 1.0).abs() < 0.1, "{shares:?} {used}");
    }
}

/// ERICA's upstream configuration (Kalyanaraman, thesis, Ohio State University, 1997, chapter 6):
/// of fifteen flows on the first link one goes on to the second, where it leaves 14 fifteenths to
/// two others. "Less than 1/15 the link rate" and "a little less than 7/15" there; here a load of 1
/// to 1.1 times the target of 0.9, at which ERICA lets all flows rise to the largest grant.
#[test]
fn erica_is_fair_in_its_upstream_configuration() {
    let outcome = common::run(&common::example("erica", &[]), 1, 0);
    for (name, part) in [("held", 1.0 / 15.0), ("through", 1.0 / 15.0), ("free", 7.0 / 15.0)] {
        for flow in common::group(&outcome, name) {
            let ratio = flow.goodput_bps / (30e6 * part);
            assert!((ratio / 0.9 - 1.0).abs() < 0.1 && ratio < 1.0, "{name}: {ratio}");
        }
        println!("    {name}: {:.3} of a full link's", mean_mbps(&outcome, name) / 30.0 / part);
    }
}

/// 20 and 60 Mb/s in a row, two flows over both, one over the first and three over the second.
/// Max-min of 0.95 and 0.9 of the capacities: a third of the first, and a third of what is left.
#[test]
fn charny_and_erica_are_max_min_over_two_links() {
    for (kind, target, within) in [("charny", 0.95, 0.02), ("erica", 0.9, 0.1)] {
        let link = |name: &str, from: &str, to: &str, rate: &str| {
            format!(
                "[links.{name}]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{rate}\"\nowd = \"10ms\"\n\
                 buffer = \"1000pkt\"\nqueue = \"{kind}\"\nduplex = true\n"
            )
        };
        let group = |name: &str, from: &str, to: &str, count: u32| {
            format!(
                "[flows.{name}]\nprotocol = \"{kind}\"\nfrom = \"{from}\"\nto = \"{to}\"\n\
                 count = {count}\nrtt = \"80ms\"\nstart = \"uniform(0s, 1s)\"\n"
            )
        };
        let text = [
            "duration = \"20s\"\nwarmup = \"10s\"\n".to_owned(),
            link("one", "a", "b", "20Mbps"),
            link("two", "b", "c", "60Mbps"),
            group("long", "a", "c", 2),
            group("first", "a", "b", 1),
            group("second", "b", "c", 3),
        ];
        let outcome = common::run(&common::scenario(&text.concat()), 1, 0);
        let low = target * 20.0 / 3.0;
        let high = (target * 60.0 - 2.0 * low) / 3.0;
        for (name, fair) in [("long", low), ("first", low), ("second", high)] {
            let ratio = mean_mbps(&outcome, name) / fair;
            println!("    {kind}, {name}: {ratio:.4} of max-min");
            assert!((ratio - 1.0).abs() < within, "{kind} {name}: {ratio}");
        }
    }
}

/// DECbit works at the knee: one packet is there in the mean, the one in service counted, and the
/// line is busy nearly all the time. Rates are another matter: where windows go round in bunches,
/// the packets at the head of a bunch see a shorter queue than those behind them.
#[test]
fn decbit_is_at_the_knee() {
    let outcome = three("decbit", "decbit", &["duration=200s", "warmup=50%"]);
    let link = common::link(&outcome, "bottleneck");
    let here = link.queue_mean_pkts + link.utilization_ratio;
    println!("    utilization {:.3}, {here:.2} packets in the mean", link.utilization_ratio);
    assert!((here - 1.0).abs() < 0.1 && link.total_drops_pkts == 0, "{here}");
    assert!(link.utilization_ratio > 0.85, "{}", link.utilization_ratio);
}

/// In its model multi-level ECN keeps the queue between min_th and max_th, and so here: 20 and 60
/// of a buffer of 120 packets.
#[test]
fn mecn_keeps_its_queue_between_its_thresholds() {
    let sets = ["topology.buffer=120pkt", "flows.ftp.count=10", "queues.router.w_q=0.02"];
    let outcome = three("mecn", "mecn", &sets);
    let link = common::link(&outcome, "bottleneck");
    let (queue, used) = (link.queue_mean_pkts, link.utilization_ratio);
    println!("    queue {queue:.1}, utilization {used:.3}, {} drops", link.total_drops_pkts);
    assert!((20.0..60.0).contains(&queue) && used > 0.97, "{queue} {used}");
}

/// A small buffer, a quarter of the BDP: Reno's window goes from W/2 to W = 1.25 BDP, of which the
/// link carries 1 at most; a cut by RTTmin/RTTmax = 0.8 keeps the link full.
#[test]
fn a_cut_by_the_queue_keeps_a_link_with_a_small_buffer_full() {
    let used = |kind: &str| {
        let sets = ["flows.ftp.count=1", "topology.buffer=25pkt", "duration=300s", "warmup=50%"];
        utilization(&three(kind, "droptail", &sets))
    };
    let (queue, reno) = (used("aimd-queue"), used("sack"));
    // Time from W/2 to BDP to W at one packet per RTT: 0.375 RTTs of mean 0.8125, and 0.25 of
    // (1 + 1.25)/2 that last longer, at 1: (0.375*0.8125 + 0.25*1.125)/(0.375 + 0.25*1.125).
    let model = (0.375 * 0.8125 + 0.25 * 1.125) / (0.375 + 0.25 * 1.125);
    println!("    aimd-queue {queue:.3}, Reno {reno:.3} (model {model:.3})");
    assert!(queue > 0.97 && (reno / model - 1.0).abs() < 0.1, "{queue} {reno}");
}

/// Random losses of 1 % are no congestion to TCP-Jersey, as no router warns; Reno's rate at 80 ms
/// is sqrt(3/2)/(0.08 * 0.1) = 153 packets/s. What Jersey lacks of the link are timeouts of lost
/// retransmissions, which SACK does not find.
#[test]
fn jersey_tells_losses_of_the_line_from_congestion() {
    let red = [
        "queues.router.min_th=15",
        "queues.router.max_th=15",
        "queues.router.w_q=0.02",
        "queues.router.max_p=1.0",
        "queues.router.wait=false",
    ];
    let used = |kind: &str| {
        let sets = [&red[..], &["topology.loss=1%", "flows.ftp.count=1", "topology.buffer=100pkt"]];
        mean_mbps(&three(kind, "red", &sets.concat()), "ftp")
    };
    let (jersey, reno) = (used("jersey"), used("sack"));
    println!("    Jersey {jersey:.2} Mb/s, Reno with SACK {reno:.2}");
    assert!((reno / 1.225 - 1.0).abs() < 0.1 && jersey > 5.0 * reno, "{jersey} {reno}");
}

/// PCP alone on 100 packets per RTT. Its tests succeed from 2 packets per RTT on, with increases of
/// 2, 4, 8, 16 and 32; from 62 one of 64 fails and one of 32 does not, and so on, by halves: the
/// first eight base rates are these whatever the times of the probes. Once it has what there is,
/// the least increase, a packet per RTT, is the most that is left free.
#[test]
fn pcp_finds_the_rate_by_halves() {
    let sets = ["flows.ftp.count=1", "probe.series=['sender']", "probe.every='change'"];
    let outcome = three("pcp", "droptail", &sets);
    let mut bases: Vec<f64> =
        rows_of(&outcome, "sender_base", 0).into_iter().map(|(_, base)| base).collect();
    bases.retain(|base| *base > 0.0);
    bases.dedup();
    let per_rtt: Vec<f64> = bases.iter().take(8).map(|base| 2.0 * base / bases[0]).collect();
    let (used, link) = (utilization(&outcome), common::link(&outcome, "bottleneck"));
    println!("    {per_rtt:.3?}, utilization {used:.3}, queue {:.2}", link.queue_mean_pkts);
    for (rate, expected) in per_rtt.iter().zip([2.0, 6.0, 14.0, 30.0, 62.0, 94.0, 98.0, 100.0]) {
        assert!((rate / expected - 1.0).abs() < 1e-6, "{per_rtt:?}");
    }
    assert!((used - 0.99).abs() < 0.01 && link.queue_mean_pkts < 1.0, "{used}");
    assert_eq!(link.total_drops_pkts, 0);
}

/// Three of them that come one after another have nearly all of the link, in parts that are near
/// each other, with a queue of a few packets and hardly a loss.
#[test]
fn pcp_shares_a_link_with_a_short_queue() {
    let outcome = three("pcp", "droptail", &["duration=200s", "warmup=50%"]);
    let (shares, used) = (shares(&outcome, 10.0 / 3.0), utilization(&outcome));
    let link = common::link(&outcome, "bottleneck");
    let (queue, drops) = (link.queue_mean_pkts, link.total_drops_pkts);
    println!("    shares {shares:.3?}, utilization {used:.3}, queue {queue:.2}, {drops} drops");
    assert!(used > 0.9 && queue < 10.0 && drops < 50, "{used} {queue} {drops}");
    assert!(all_within(&shares, 0.25), "{shares:?}");
}

/// Hybrid Slow Start ends before the buffer overflows, which slow start itself does.
#[test]
fn ack_trains_end_slow_start_without_losses() {
    let drops = |slow_start: &str| {
        let slow_start = format!("protocols.host.slow_start={slow_start}");
        let sets = ["flows.ftp.count=1", "topology.buffer=1bdp", "duration=4s", &slow_start];
        let outcome = three("cubic", "droptail", &sets);
        (common::link(&outcome, "bottleneck").total_drops_pkts, utilization(&outcome))
    };
    let (train, standard) = (drops("ack-train"), drops("standard"));
    println!("    drops and utilization: ACK trains {train:?}, slow start {standard:?}");
    assert!(train.0 == 0 && standard.0 > 20 && train.1 > 0.9, "{train:?} {standard:?}");
}

/// Congestion control without repair (RFC 4341): the window is SACK's and what is lost stays lost.
/// With every 50th packet lost and 80 ms, the sawtooth has 50 packets from W/2 to W: 3/8 W^2 = 50
/// and a mean of 3/4 W = 8.66 packets per RTT. SACK has less, as a round of repair goes by without
/// growth.
#[test]
fn dccp_controls_and_does_not_repair() {
    let run = |recovery: &str, size: &str| {
        let keys =
            [format!("protocols.host.recovery={recovery}"), format!("flows.ftp.size={size}")];
        let loss = "topology.loss={ kind='every', n=50, data_only=true }";
        let sets = [
            loss,
            "flows.ftp.count=1",
            "topology.rate=100Mbps",
            "topology.buffer=1000pkt",
            keys[0].as_str(),
            keys[1].as_str(),
        ];
        three("sack", "droptail", &sets)
    };
    let (dccp, sack) = (run("dccp", "unlimited"), run("sack", "unlimited"));
    let (dccp, sack) = (mean_mbps(&dccp, "ftp"), mean_mbps(&sack, "ftp"));
    let model = 8.66 / 0.08 * 8e-3;
    println!("    DCCP {dccp:.3} Mb/s, SACK {sack:.3}, model {model:.3}");
    assert!((dccp / model - 1.0).abs() < 0.1 && dccp > sack, "{dccp} {sack}");
    // Of 1000 packets each 50th is gone, and nothing is sent again.
    let outcome = run("dccp", "1000pkt");
    let flow = common::group(&outcome, "ftp").next().expect("a flow");
    assert_eq!((flow.sent_pkts, flow.lost_pkts, flow.delivered_bytes), (1000, 20, 980_000));
    assert!(flow.finish_s.is_some());
}

/// Layers of 0.5, 0.5, 1 and 2 Mb/s, and a max-min rate of 0.95*10/4 = 2.375 Mb/s for each of four
/// flows at explicit rates: three layers, 2 Mb/s. Two flows, 4.75 Mb/s: all, 4 Mb/s.
#[test]
fn layers_follow_the_max_min_rate() {
    for (count, rate) in [("4", 2.0), ("2", 4.0)] {
        let count = format!("flows.ftp.count={count}");
        let layers = "flows.ftp.layers=['500kbps', '500kbps', '1Mbps', '2Mbps']";
        let outcome = three("charny", "charny", &[layers, &count]);
        let shares = shares(&outcome, rate);
        println!("    {count}: {shares:.3?} of {rate} Mb/s");
        assert!(all_within(&shares, 0.02), "{shares:?}");
    }
}

/// Rounding to whole units u leaves u/(2 alpha s) of the link unused: 2 % with units of 16 B and
/// packets of 1000 B; XCP's own router leaves nothing.
#[test]
fn whole_feedback_leaves_bandwidth_unused() {
    let unused = |queue: &str, sets: &[&str]| {
        let sets = [&["topology.rate=100Mbps", "flows.ftp.count=5", "warmup=50%"], sets].concat();
        1.0 - utilization(&three("xcp", queue, &sets))
    };
    let (whole, real) = (unused("xcp-integer", &["queues.router.unit=16.0"]), unused("xcp", &[]));
    println!("    unused: {whole:.4} in units of 16 B, {real:.4} in real numbers");
    assert!((whole / 0.02 - 1.0).abs() < 0.1 && real < 0.002, "{whole} {real}");
}

/// UNO's sixteen packets are MLCP's four bits: one flow on 100 Mb/s and 200 ms, where a window has
/// many times sixteen, fills the link as soon and as far.
#[test]
fn one_bit_does_as_mlcps_four() {
    let run = |kind: &str| {
        let keys = [
            format!("protocols.host={{ kind='{kind}' }}"),
            format!("queues.router={{ kind='{kind}' }}"),
            "duration=40s".to_owned(),
        ];
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let outcome = common::run(&common::example("mpcp-fill", &keys), 1, 0);
        (reaches(&outcome, "cwnd_pkts", 0.8 * 0.98 * 2500.0), utilization(&outcome))
    };
    let (uno, mlcp) = (run("uno"), run("mlcp"));
    println!("    80 % after and utilization: UNO {uno:?}, MLCP {mlcp:?}");
    assert!((uno.1 / mlcp.1 - 1.0).abs() < 0.1 && uno.0 < mlcp.0 + 1.0, "{uno:?} {mlcp:?}");
}

//! What a retransmission timeout in recovery leaves of the window.

use clearpipe_net::Outcome;
use scenario::Scenario;

use crate::common;

fn parse(text: &str) -> Scenario {
    match scenario::parse("timeouts.toml", text, &[]) {
        Ok(parsed) => parsed.scenario,
        Err(error) => panic!("{error}"),
    }
}

/// The sender's ssthresh, every 100 ms.
fn ssthresh(outcome: &Outcome) -> Vec<(f64, f64)> {
    let series = outcome.tables.series.iter().find(|series| series.name == "sender_ssthresh");
    let series = series.expect("a series of that name");
    series.t_s.iter().copied().zip(series.value.iter().copied()).collect()
}

/// One flow in slow start from 10 packets, RTT 100 ms; its 71st packet is lost and so is the one
/// that repairs it. The 70 ACKs before let out 10 + 2*70 = 150, of which 80 are out: ssthresh 40,
/// and the retransmission is the 151st. Until the timer expires, a second after the last new ACK at
/// 0.3 s, 40 go out per RTT: then 40 are in the network, of over 300 not acknowledged cumulatively.
/// Two indications of congestion are two halvings of 80: 20 (RFC 5681 section 4.3). CUBIC keeps 0.7
/// each time.
#[test]
fn a_lost_retransmission_reduces_twice() {
    for (protocol, once, twice) in [
        ("kind = \"sack\"", 40.0, 20.0),
        ("kind = \"newreno\"", 40.0, 20.0),
        ("kind = \"reno\"", 40.0, 20.0),
        ("kind = \"cubic\"", 56.0, 39.2),
    ] {
        let text = format!(
            "schema = 1\nera = \"ns2\"\nname = \"twice\"\nduration = \"2s\"\n\
             [transport]\ndup_thresh = 3\nlimited_transmit = false\ninitial_window = \"10pkt\"\nmin_rto = \"1s\"\n\
             [packets]\ndata = \"1000B\"\n\
             [topology]\nkind = \"dumbbell\"\nrate = \"1Gbps\"\nrtt = \"100ms\"\n\
             loss = {{ kind = \"list\", packets = [71, 151], data_only = true }}\n\
             [flows.one]\nprotocol = {{ {protocol} }}\n\
             [probe]\nseries = [\"sender\"]\nevery = \"100ms\"\n"
        );
        let outcome = common::run(&parse(&text), 1, 0);
        let row = &outcome.tables.flows[0];
        println!("{protocol}: {:?}", ssthresh(&outcome));
        assert_eq!((row.lost_pkts, row.timeouts, row.fast_retransmits), (2, 1, 1), "{protocol}");
        for (t, value) in ssthresh(&outcome).into_iter().filter(|&(t, _)| t > 0.45) {
            let expected = if t < 1.35 { once } else { twice };
            assert!((value - expected).abs() < 1e-9, "{protocol} at {t}: {value}");
        }
    }
}

/// Three links in a row with RED that drops. Linux 6.18's Reno fills them through the emulator to
/// 0.993.
#[test]
fn red_in_a_row_stays_full() {
    let text = "schema = 1\nname = \"red\"\nduration = \"40s\"\nwarmup = \"10s\"\n\
         [topology]\nkind = \"parking-lot\"\nlinks = 3\nrate = \"20Mbps\"\nowd = \"10ms\"\n\
         buffer = \"1bdp\"\n\
         queue = { kind = \"red\", min_th_ratio = 0.3333, max_th_ratio = 0.6667, max_p = 0.1 }\n\
         [flows.long]\nprotocol = \"sack\"\ncount = 4\npath = \"long\"\nrtt = \"80ms\"\n\
         start = \"uniform(0s, 1s)\"\n\
         [flows.cross]\nprotocol = \"sack\"\ncount = 2\npath = \"each\"\nrtt = \"40ms\"\n\
         start = \"uniform(0s, 1s)\"\n";
    let outcome = common::run(&parse(text), 1, 0);
    for name in ["l1", "l2", "l3"] {
        let link = common::link(&outcome, name);
        println!("{name}: {:.4}, {} drops", link.utilization_ratio, link.total_drops_pkts);
        assert!((link.utilization_ratio - 0.993).abs() < 0.01, "{name}");
    }
}

/// Losses at random over a line that never limits, RTT 100 ms, minimum RTO 200 ms: packets/s
/// between 20 s and 2000 s in ns-2.35 (Reno and Sack1, window and first window as here, means of
/// five seeds).
#[test]
fn random_losses_cost_what_they_cost_in_ns2() {
    for (protocol, percent, expected) in
        [("reno", 2, 69.8), ("reno", 5, 37.8), ("sack", 2, 77.8), ("sack", 5, 42.0)]
    {
        let text = format!(
            "schema = 1\nera = \"ns2\"\nname = \"random\"\nduration = \"2000s\"\nwarmup = \"20s\"\n\
             [transport]\ninitial_window = \"1pkt\"\ndup_thresh = 3\n[packets]\ndata = \"1000B\"\n\
             [topology]\nkind = \"dumbbell\"\nrate = \"1Gbps\"\nrtt = \"100ms\"\n\
             loss = {{ kind = \"random\", p = \"{percent}%\", data_only = true }}\n\
             [flows.one]\nprotocol = \"{protocol}\"\n"
        );
        let scenario = parse(&text);
        let rates = (0..3).map(|rep| common::run(&scenario, 1, rep).tables.flows[0].goodput_bps);
        let rate = rates.sum::<f64>() / 3.0 / 8000.0;
        println!("{protocol}, {percent} %: {rate:.1} of {expected}, {:.3}", rate / expected);
        assert!((rate / expected - 1.0).abs() < 0.05, "{protocol} {percent}: {rate}");
    }
}

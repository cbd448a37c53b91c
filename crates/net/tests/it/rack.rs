//! RACK-TLP in the network: what it saves beside SACK, in the cases that RFC 8985 is made for.

use crate::common;

/// Reno over 1 Gb/s and 100 ms; `lost` are the data packets, counted from 1, that the line loses.
fn run(recovery: &str, flow: &str, lost: &str) -> results::FlowRow {
    let text = format!(
        "duration = \"5s\"\n\
         [transport]\nmin_rto = \"1s\"\ninitial_window = \"100pkt\"\n\
         [packets]\ndata = \"1000B\"\n\
         [topology]\nkind = \"dumbbell\"\nrate = \"1Gbps\"\nrtt = \"100ms\"\n\
         loss = {{ kind = \"list\", packets = {lost}, data_only = true }}\n\
         [flows.one]\nprotocol = {{ kind = \"sack\", recovery = \"{recovery}\" }}\n{flow}\n"
    );
    let outcome = common::run(&common::scenario(&text), 1, 0);
    outcome.tables.flows[0].clone()
}

/// Section 3.2: of a flight of 100 segments the last three are lost. After one RTT the 97 ACKs are
/// there; two more and the last goes out again; its SACK takes one. It shows two lost, of which PRR
/// lets one out for the one delivered and the other an RTT later (RFC 8985's example has no PRR and
/// sends both): six in all, and some milliseconds for the 100 packets. With SACK the timer's second
/// passes first.
#[test]
fn a_lost_tail_takes_five_round_trips_more() {
    let row = run("rack", "size = \"100kB\"", "[98, 99, 100]");
    assert_eq!((row.lost_pkts, row.retransmitted_pkts), (3, 3));
    assert_eq!((row.timeouts, row.fast_retransmits), (0, 1));
    let took = row.finish_s.expect("it ends");
    assert!((0.6..0.603).contains(&took), "{took}");
    let row = run("sack", "size = \"100kB\"", "[98, 99, 100]");
    assert_eq!((row.timeouts, row.fast_retransmits), (1, 0));
    assert!(row.finish_s.expect("it ends") > 1.1);
}

/// Section 1.2: a retransmission is lost. 100 are out and the first is lost: the first two
/// duplicate ACKs let out one new segment each, the third the retransmission, which is the line's
/// 103rd packet. SACK waits for the timer, RACK for the arrival of what was sent after it.
#[test]
fn a_lost_retransmission_needs_no_timeout() {
    for (recovery, timeouts) in [("sack", 1), ("rack", 0)] {
        let row = run(recovery, "", "[1, 103]");
        assert_eq!(row.lost_pkts, 2, "{recovery}");
        assert_eq!((row.timeouts, row.fast_retransmits), (timeouts, 1), "{recovery}");
    }
}

/// A spike of the delay: 500 packets/s over 10 Mb/s and 100 ms, and from 2 s on the line is silent
/// for 1.6 s, which loses nothing. Probe and timer run out two smoothed RTTs and 1 s later, once.
/// With undo that has sent one packet again, in vain; without it most of what was out, some 50
/// packets. The window is the one of before, so that what the application has offered meanwhile
/// leaves at once.
#[test]
fn a_spike_is_undone_by_f_rto_or_timestamps() {
    let run = |undo: &str, protocol: &str| {
        let text = format!(
            "duration = \"5s\"\n\
             [transport]\nmin_rto = \"1s\"\ninitial_window = \"100pkt\"\nundo = \"{undo}\"\n\
             [packets]\ndata = \"1000B\"\n\
             [topology]\nkind = \"dumbbell\"\nrate = \"10Mbps\"\nrtt = \"100ms\"\n\
             buffer = \"1000pkt\"\ndown = [[\"2s\", \"3.6s\"]]\n\
             [flows.one]\nprotocol = {{ kind = \"{protocol}\", recovery = \"rack\" }}\nrate = \"4Mbps\"\n"
        );
        let outcome = common::run(&common::scenario(&text), 1, 0);
        outcome.tables.flows[0].clone()
    };
    for protocol in ["sack", "cubic"] {
        let off = run("off", protocol);
        assert_eq!((off.timeouts, off.dropped_pkts, off.lost_pkts), (1, 0, 0), "{protocol}");
        assert!(off.retransmitted_pkts > 40, "{protocol}: {}", off.retransmitted_pkts);
        for undo in ["dsack", "timestamps"] {
            let row = run(undo, protocol);
            assert_eq!((row.timeouts, row.retransmitted_pkts), (1, 1), "{protocol} {undo}");
            assert!(row.delivered_pkts > off.delivered_pkts, "{protocol} {undo}");
        }
    }
}

//! The project's own scripts, with numbers worked by hand from the papers.

use std::path::Path;

use clearpipe_packetdrill::{Verdict, run};

fn script(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Everything is as the script says, and each line that expects something can fail: changed, it is
/// the one that differs.
#[track_caller]
fn holds(name: &str, packets: usize, assertions: usize) {
    let text = script(name);
    assert_eq!(run(&text, Path::new(".")), Verdict::Pass { packets, assertions });
    let mut changed = 0;
    for (place, line) in text.lines().enumerate() {
        // Of the handshake the flags and AccECN's option are judged, no numbers.
        let sent = line.contains(" > ") && !line.contains(" 0:0(0)");
        let expects = line.contains("%{ assert") || sent;
        if !expects {
            continue;
        }
        let mut other: Vec<String> = text.lines().map(str::to_owned).collect();
        // In a packet its last field of a header, else its acknowledgement; in code what it says.
        let new = if line.contains("%{") {
            line.replacen("assert ", "assert not ", 1)
        } else if line.contains(" h_") {
            format!("{}7>", line.trim_end_matches('>'))
        } else {
            line.replacen(" ack 1", " ack 2", 1)
        };
        assert_ne!(new, line);
        other[place] = new;
        let verdict = run(&other.join("\n"), Path::new("."));
        let at = place as u32 + 1;
        assert!(matches!(verdict, Verdict::Differs { line, .. } if line == at), "{at}: {verdict}");
        changed += 1;
    }
    assert!(changed >= assertions, "{changed}");
}

#[test]
fn xcp_moves_by_its_feedback() {
    holds("xcp.pkt", 6, 4);
}

#[test]
fn vcp_answers_its_codes() {
    holds("vcp.pkt", 4, 6);
}

#[test]
fn mlcp_answers_its_codes() {
    holds("mlcp.pkt", 6, 8);
}

#[test]
fn dpcp_puts_its_pairs_together() {
    holds("dpcp.pkt", 6, 8);
}

/// RFC 9768's handshake and counters, both ways.
#[test]
fn accecn_is_negotiated_and_counts() {
    holds("accecn.pkt", 3, 3);
    for (right, wrong) in [
        ("> [noecn] SA.", "> [noecn] SW."),
        (
            "SA. 0:0(0) ack 1 <mss 1460,ECN e1b 1 ceb 0",
            "SA. 0:0(0) ack 1 <mss 1460,ECN e1b 1 ceb 7",
        ),
        ("SA. 0:0(0) ack 1 <mss 1460,ECN e1b 1 ceb 0 e0b 1,", "SA. 0:0(0) ack 1 <mss 1460,"),
        ("> [ect0] .5 1:3001", "> [ect0] .6 1:3001"),
        (
            "> [ect0] .6 3001:3001(0) ack 1001 <ECN e1b 1",
            "> [ect0] .6 3001:3001(0) ack 1001 <ECN e1b 2",
        ),
        ("> [ect0] .6 3001", "> [noecn] .6 3001"),
    ] {
        let text = script("accecn.pkt");
        let line = text.lines().position(|line| line.contains(right)).expect("it is there") + 1;
        let verdict = run(&text.replace(right, wrong), Path::new("."));
        let there = matches!(verdict, Verdict::Differs { line: at, .. } if at as usize == line);
        assert!(there, "{wrong}: {verdict}");
    }
}

/// What is left of AccECN where the flags are zeroed on the way, and with a peer of RFC 3168.
#[test]
fn accecn_falls_back() {
    holds("accecn-zeroed.pkt", 2, 0);
    holds("accecn-classic-peer.pkt", 3, 2);
}

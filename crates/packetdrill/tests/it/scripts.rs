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
        // The handshake is the runner's own, and not judged.
        let expects = line.contains("%{ assert") || line.contains(" > ") && !line.contains("S.");
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

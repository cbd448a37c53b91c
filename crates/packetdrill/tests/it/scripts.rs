//! The project's own scripts, with numbers worked by hand from the papers.

use std::path::Path;

use clearpipe_packetdrill::{Verdict, run};

fn script(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Everything is as it says, and nothing is when one expectation is changed: in each line that
/// expects, a digit of what it expects is.
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
        let from = line.find("(1").or_else(|| line.find("== ")).or_else(|| line.find("- "));
        let Some(from) = from.or_else(|| line.find('(')) else { panic!("{line}") };
        let Some(digit) = line[from..].find(|c: char| c.is_ascii_digit()) else { panic!("{line}") };
        let mut other: Vec<String> = text.lines().map(str::to_owned).collect();
        let (before, rest) = line.split_at(from + digit);
        let new = if line.contains("%{") {
            format!("{before}7{rest}")
        } else {
            line.replacen(" ack 1", " ack 2", 1)
        };
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
    holds("xcp.pkt", 7, 4);
}

#[test]
fn vcp_answers_its_codes() {
    holds("vcp.pkt", 5, 6);
}

#[test]
fn mlcp_answers_its_codes() {
    holds("mlcp.pkt", 7, 8);
}

#[test]
fn dpcp_puts_its_pairs_together() {
    holds("dpcp.pkt", 7, 8);
}

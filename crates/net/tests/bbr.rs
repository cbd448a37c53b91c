//! BBR in the engine. `--nocapture` prints what was measured.

mod common;

use std::fmt::Write as _;

use clearpipe_net::Outcome;
use results::Series;
use results::metrics::jain_index;
use scenario::{Line, Loss, LossModel, Scenario};

/// A dumbbell of 40 ms with samples each 10 ms; `flows` as (name, protocol, count), all from the start.
fn dumbbell(rate: &str, buffer: &str, seconds: u64, flows: &[(&str, &str, u32)]) -> Scenario {
    let mut text = format!(
        "schema = 1\nname = \"bbr\"\nduration = \"{seconds}s\"\nwarmup = \"2s\"\n\
         [transport]\ninitial_window = \"10pkt\"\n[packets]\ndata = \"1000B\"\n\
         [topology]\nkind = \"dumbbell\"\nrate = \"{rate}\"\nrtt = \"40ms\"\nbuffer = \"{buffer}\"\n\
         [probe]\nevery = \"10ms\"\nseries = [\"queue\", \"sender\", \"in_flight\", \"goodput\"]\n"
    );
    for (name, protocol, count) in flows {
        write!(text, "[flows.{name}]\nprotocol = \"{protocol}\"\ncount = {count}\n")
            .expect("a string");
    }
    match scenario::parse("bbr.toml", &text, &[]) {
        Ok(parsed) => parsed.scenario,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn look() {
    for protocol in ["bbr", "bbr3"] {
        let outcome = common::run(&dumbbell("100Mbps", "1000pkt", 30, &[("one", protocol, 1)]), 1, 0);
        println!("{protocol} {:?}", common::link(&outcome, "bottleneck"));
        println!("{:?}", outcome.tables.flows[0]);
        for s in &outcome.tables.series { println!("{} {}", s.name, s.t_s.len()); }
    }
}

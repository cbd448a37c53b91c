//! What the integration tests share.
#![allow(dead_code)] // each test file uses its own part

pub mod lines;

use std::path::{Path, PathBuf};

use clearpipe_net::Outcome;
use results::{FlowRow, LinkRow};
use scenario::Scenario;

/// A path below the repository's root.
pub fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// One of the shipped examples, with some keys set.
pub fn example(name: &str, sets: &[&str]) -> Scenario {
    let path = root("python/clearpipe/examples").join(format!("{name}.toml"));
    let text = std::fs::read_to_string(&path).expect("a shipped example");
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    match scenario::parse_with(name, &text, &sets, &scenario::beside(&path)) {
        Ok(parsed) => parsed.scenario,
        Err(error) => panic!("{error}"),
    }
}

/// Replication `rep` of the experiment `seed`.
pub fn run(scenario: &Scenario, seed: u64, rep: u64) -> Outcome {
    let outcome = clearpipe_net::simulate(scenario, seed, rep, &mut |_| true);
    assert_eq!(outcome.error, None);
    outcome
}

/// The link called `name`.
pub fn link<'a>(outcome: &'a Outcome, name: &str) -> &'a LinkRow {
    outcome.tables.links.iter().find(|link| link.name == name).expect("a link of that name")
}

/// The flows of a group.
pub fn group<'a>(outcome: &'a Outcome, name: &'a str) -> impl Iterator<Item = &'a FlowRow> {
    outcome.tables.flows.iter().filter(move |flow| &*flow.group == name)
}

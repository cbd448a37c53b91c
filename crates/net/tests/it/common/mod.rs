//! What the integration tests share.
#![allow(dead_code)] // each test file uses its own part

pub mod lines;

use std::path::{Path, PathBuf};

use clearpipe_net::Outcome;
use results::{FlowRow, LinkRow, Series};
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

/// The scenario of this text, which has neither its schema nor a name.
pub fn scenario(text: &str) -> Scenario {
    let text = format!("schema = 1\nname = \"x\"\n{text}");
    scenario::parse("x.toml", &text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}")).scenario
}

/// The series called `name`.
pub fn series<'a>(outcome: &'a Outcome, name: &str) -> &'a Series {
    let mut all = outcome.tables.series.iter();
    all.find(|series| series.name == name).unwrap_or_else(|| panic!("no series {name}"))
}

/// Its rows of one flow or link: times [s] and values.
pub fn rows_of(outcome: &Outcome, name: &str, id: u32) -> Vec<(f64, f64)> {
    let series = series(outcome, name);
    let rows = series.t_s.iter().zip(&series.id).zip(&series.value);
    rows.filter(|((_, of), _)| **of == id).map(|((t, _), value)| (*t, *value)).collect()
}

/// Of the link `bottleneck`.
pub fn utilization(outcome: &Outcome) -> f64 {
    link(outcome, "bottleneck").utilization_ratio
}

/// Mean goodput of a group's flows [Mb/s].
pub fn mean_mbps(outcome: &Outcome, name: &str) -> f64 {
    mean(&group(outcome, name).map(|flow| flow.goodput_bps / 1e6).collect::<Vec<_>>())
}

/// The arithmetic mean.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

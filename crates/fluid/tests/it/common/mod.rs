//! What the tests share.

use clearpipe_fluid::{Outcome, simulate};
use results::Tables;
use scenario::Scenario;

pub fn parse(text: &str, sets: &[&str]) -> Scenario {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    match scenario::parse("test", text, &sets) {
        Ok(parsed) => parsed.scenario,
        Err(error) => panic!("{error}\n{text}"),
    }
}

pub fn fluid(scenario: &Scenario) -> Outcome {
    match simulate(scenario, scenario.seed, 0, &mut |_| true) {
        Ok(outcome) => outcome,
        Err(error) => panic!("{error}"),
    }
}

/// A dumbbell with forward flows of one protocol.
#[allow(dead_code)]
pub fn dumbbell(protocol: &str, rate: &str, rtt: &str, flows: &str) -> String {
    format!(
        "schema = 1\nname = \"test\"\nduration = \"60s\"\nwarmup = \"50%\"\n[topology]\n\
         kind = \"dumbbell\"\nrate = \"{rate}\"\nrtt = \"{rtt}\"\nqueue = \"{protocol}\"\n\
         [flows.a]\nprotocol = \"{protocol}\"\n{flows}\n"
    )
}

#[allow(dead_code)]
pub fn goodputs(tables: &Tables) -> Vec<f64> {
    tables.flows.iter().map(|flow| flow.goodput_bps).collect()
}

/// Instants and values of one flow's or link's series.
#[allow(dead_code)]
pub fn series(tables: &Tables, name: &str, id: u32) -> Vec<(f64, f64)> {
    let table = tables.series.iter().find(|s| s.name == name).expect("the series");
    let rows = table.t_s.iter().zip(&table.id).zip(&table.value);
    rows.filter(|((_, of), _)| **of == id).map(|((t, _), value)| (*t, *value)).collect()
}

#[allow(dead_code)]
pub fn near(a: f64, b: f64, part: f64) -> bool {
    (a - b).abs() <= part * b.abs()
}

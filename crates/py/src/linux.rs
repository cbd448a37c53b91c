//! The linux engine's Rust half: what a scenario needs, its processes, its tables.

use pyo3::prelude::*;
use scenario::{Parts, Scenario};

use crate::run::Run;

/// What the linux engine needs of a scenario, in JSON.
#[pyfunction]
#[pyo3(signature = (file_name, text, sets=Vec::new(), *, seed=None, rep=0))]
pub fn linux_describe(
    file_name: &str,
    text: &str,
    sets: Vec<String>,
    seed: Option<i128>,
    rep: u64,
) -> PyResult<String> {
    here::describe(file_name, text, sets, seed, rep)
}

/// The version of the linux engine.
#[pyfunction]
pub fn linux_model_version() -> &'static str {
    here::MODEL_VERSION
}

/// Runs the emulator or the flows as this process; its exit code.
#[pyfunction]
pub fn linux_process(py: Python<'_>, arguments: Vec<String>) -> u8 {
    py.detach(|| here::process(&arguments))
}

/// The result of a run, from the reports of its processes in JSON.
#[pyfunction]
#[pyo3(signature = (toml, emulator, traffic, *, rep, wall_s, complete, warnings))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub fn linux_tables(
    toml: &str,
    emulator: &str,
    traffic: &str,
    rep: u64,
    wall_s: f64,
    complete: bool,
    warnings: Vec<String>,
) -> PyResult<Run> {
    let state = if complete { "done" } else { "partial" };
    here::tables(toml, (emulator, traffic), (rep, state), (wall_s, warnings))
}

/// The name of a run on this kernel: another kernel is another model.
pub fn identity(scenario: &Scenario, seed: u64, rep: u64) -> String {
    scenario::identity(scenario, &parts(scenario), seed, rep)
}

/// The versions of what a run of the scenario uses, the kernel among them.
pub fn parts(scenario: &Scenario) -> Parts {
    here::parts(scenario)
}

/// The versions of the engine and the kernel.
pub fn own_parts() -> Parts {
    here::own_parts()
}

#[cfg(target_os = "linux")]
mod here {
    use emulator::realtime::EmulatorReport;
    use emulator::traffic::TrafficReport;
    pub use emulator::{MODEL_VERSION, own_parts, parts};
    use emulator::{assemble, describe as about};
    use pyo3::exceptions::PyValueError;
    use pyo3::prelude::*;
    use results::{Batches, Meta, Stored, Summary};

    use crate::run::{Run, json, parse, peak_rss_bytes};

    pub fn describe(
        file_name: &str,
        text: &str,
        sets: Vec<String>,
        seed: Option<i128>,
        rep: u64,
    ) -> PyResult<String> {
        let parsed = parse(file_name, text, sets, seed)?;
        json(&about::describe(&parsed.scenario, rep))
    }

    pub fn process(arguments: &[String]) -> u8 {
        emulator::main(arguments)
    }

    pub fn tables(
        toml: &str,
        (emulator, traffic): (&str, &str),
        (rep, state): (u64, &str),
        (wall_s, warnings): (f64, Vec<String>),
    ) -> PyResult<Run> {
        let wrong = |error: serde_json::Error| PyValueError::new_err(error.to_string());
        let emulator: EmulatorReport = serde_json::from_str(emulator).map_err(wrong)?;
        let traffic: TrafficReport = serde_json::from_str(traffic).map_err(wrong)?;
        let scenario = parse("the scenario", toml, Vec::new(), None)?.scenario;
        let starts: Vec<f64> =
            about::describe(&scenario, rep).flows.iter().map(|flow| flow.start_s).collect();
        let simulated_s = emulator.network.simulated_s;
        let packets = emulator.forwarded_pkts;
        let meta = Meta {
            name: scenario.name.clone(),
            engine: "linux".to_owned(),
            state: state.to_owned(),
            version: crate::version().to_owned(),
            model_version: emulator::MODEL_VERSION.to_owned(),
            parts: emulator::parts(&scenario),
            seed: scenario.seed,
            rep,
            identity: super::identity(&scenario, scenario.seed, rep),
            // No two runs of a real kernel are equal.
            fingerprint: "none".to_owned(),
            simulated_s,
            warmup_s: scenario.warmup.as_secs(),
            packet_hops: packets,
            wall_s,
            packet_hops_per_s: if wall_s > 0.0 { packets as f64 / wall_s } else { 0.0 },
            peak_rss_bytes: peak_rss_bytes(),
            warnings,
            ..Meta::default()
        };
        let tables = assemble::tables(&scenario, emulator, &traffic, &starts);
        let measured = meta.warmup_s..meta.simulated_s;
        let summary = Summary::of(&tables, measured, scenario.bottleneck());
        let batches = Batches::from(tables);
        Ok(Run(Stored { run_toml: scenario.to_toml(), meta, summary, batches }))
    }
}

#[cfg(not(target_os = "linux"))]
mod here {
    use pyo3::exceptions::PyNotImplementedError;
    use pyo3::prelude::*;
    use scenario::{Parts, Scenario};

    use crate::run::Run;

    pub const MODEL_VERSION: &str = "none";

    pub fn parts(_: &Scenario) -> Parts {
        Parts::new()
    }

    pub fn own_parts() -> Parts {
        Parts::new()
    }

    fn elsewhere() -> PyErr {
        PyNotImplementedError::new_err("the linux engine needs Linux")
    }

    pub fn describe(_: &str, _: &str, _: Vec<String>, _: Option<i128>, _: u64) -> PyResult<String> {
        Err(elsewhere())
    }

    pub fn process(_: &[String]) -> u8 {
        eprintln!("clearpipe: the linux engine needs Linux");
        5
    }

    pub fn tables(
        _: &str,
        _: (&str, &str),
        _: (u64, &str),
        _: (f64, Vec<String>),
    ) -> PyResult<Run> {
        Err(elsewhere())
    }
}

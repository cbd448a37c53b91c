//! The Python binding `clearpipe._core`: arguments in, Arrow tables out, errors mapped.
//!
//! It decides nothing about a simulation. What it adds is what only the caller of an engine may
//! do: read the clock, release the interpreter and look for signals. Tables leave through the
//! Arrow C stream interface, so that no Python library for tables is needed, nor any version of
//! it excluded; pyo3-arrow would add time zones, casts and numpy for the same ten lines.

mod errors;
mod inside;
mod linux;
mod numbers;
mod prototypes;
mod record;
mod run;
mod table;

use std::collections::BTreeMap;

use pyo3::prelude::*;
use scenario::{Parts, Scenario};

/// The compiled core of clearpipe.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::inside::{branch, explain_json};
    #[pymodule_export]
    use super::linux::{linux_describe, linux_model_version, linux_process, linux_tables};
    #[pymodule_export]
    use super::numbers::{csv_cells, numbers, read_numbers};
    #[pymodule_export]
    use super::prototypes::{
        PyAck, PyBacklog, PyDeparting, PyLoss, PyPacket, PyRouterContext, PySenderContext,
    };
    #[pymodule_export]
    use super::record::check_record;
    #[pymodule_export]
    use super::run::{Run, check_writable, read, seal, sealed, simulate};
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::{
        build_info, identities, model_version, parts, protocols_json, queues_json, resolve,
        schema_json, version, versions,
    };
}

/// Clearpipe's version.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Every end-host protocol with its parameters, as JSON.
#[pyfunction]
fn protocols_json() -> String {
    scenario::protocols_json()
}

/// Every queue with its parameters, as JSON.
#[pyfunction]
fn queues_json() -> String {
    scenario::queues_json()
}

/// The version of an engine.
#[pyfunction]
#[pyo3(signature = (engine="packet"))]
fn model_version(engine: &str) -> PyResult<&'static str> {
    run::Engine::named(engine).map(run::Engine::model_version)
}

/// The versions of all parts that there are: of the engines, and of what is registered.
#[pyfunction]
fn versions() -> Parts {
    let packet = net::own_parts().into_iter().chain(net::some_parts());
    let engines = packet.chain(fluid::own_parts()).chain(linux::own_parts());
    scenario::registered().into_iter().chain(engines).collect()
}

/// The versions of the parts that a run of the scenario uses.
#[pyfunction]
#[pyo3(signature = (file_name, text, sets=Vec::new(), *, engine="packet"))]
fn parts(
    py: Python<'_>,
    file_name: &str,
    text: &str,
    sets: Vec<String>,
    engine: &str,
) -> PyResult<Parts> {
    parts_of(py, file_name, &run::parse(file_name, text, sets, None)?.scenario, engine)
}

fn parts_of(py: Python<'_>, file_name: &str, scenario: &Scenario, engine: &str) -> PyResult<Parts> {
    match engine {
        "linux" => Ok(linux::parts(scenario)),
        _ => run::Engine::named(engine)?.parts(py, file_name, scenario),
    }
}

/// How this module was built.
#[pyfunction]
fn build_info() -> BTreeMap<&'static str, &'static str> {
    BTreeMap::from([
        ("target", env!("BUILD_TARGET")),
        ("profile", env!("BUILD_PROFILE")),
        ("rustc", env!("BUILD_RUSTC")),
    ])
}

/// The JSON Schema of scenario files.
#[pyfunction]
fn schema_json() -> String {
    scenario::json_schema().to_string()
}

/// The scenario with every default written out, and what its author should know; an error if the
/// engine cannot run it. With `origins` comments say where values are from.
#[pyfunction]
#[pyo3(signature = (file_name, text, sets=Vec::new(), *, engine="packet", origins=false))]
fn resolve(
    file_name: &str,
    text: &str,
    sets: Vec<String>,
    engine: &str,
    origins: bool,
) -> PyResult<(String, Vec<String>)> {
    let parsed = run::parse(file_name, text, sets, None)?;
    run::Engine::named(engine)?.check(file_name, &parsed.scenario)?;
    let scenario = &parsed.scenario;
    let toml = if origins { scenario.to_toml_with_origins() } else { scenario.to_toml() };
    Ok((toml, errors::texts(&parsed.warnings)))
}

/// The identities of the runs of one scenario with these replications, the versions of the parts
/// that they use, and its bottleneck.
#[pyfunction]
#[pyo3(signature = (file_name, text, sets, *, seed, reps, engine="packet"))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
fn identities(
    py: Python<'_>,
    file_name: &str,
    text: &str,
    sets: Vec<String>,
    seed: u64,
    reps: Vec<u64>,
    engine: &str,
) -> PyResult<(Vec<String>, Parts, Option<String>)> {
    let (real, name) = (engine == "linux", engine);
    let engine = run::Engine::named(if real { "packet" } else { engine })?;
    let scenario = run::parse(file_name, text, sets, None)?.scenario;
    engine.check(file_name, &scenario)?;
    let parts = parts_of(py, file_name, &scenario, name)?;
    let identity = |rep| {
        if real {
            linux::identity(&scenario, seed, rep)
        } else {
            engine.identity(&scenario, &parts, seed, rep)
        }
    };
    let bottleneck = scenario.bottleneck().map(str::to_owned);
    Ok((reps.into_iter().map(identity).collect(), parts, bottleneck))
}

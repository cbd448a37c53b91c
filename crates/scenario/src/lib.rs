//! The scenario file: strict TOML in, a resolved scenario in integer units out.
//!
//! One design decision: a table of the file is declared once (`file.rs`), and that declaration is
//! the reader, the list of allowed keys, the JSON Schema and the reference page. A derive for serde
//! and one for schemars would be shorter, but neither knows in which line a value stands or which
//! key was nearly written, and the two would have to agree. The price is a reader of our own over
//! TOML's tree.
//!
//! A file's way: `syntax` reads TOML, `file` declares the tables, `values` the forms of what stands
//! in them, `attached` the files that they name; `resolve` makes of it the `model` that engines
//! run, and `output` writes that down again.
//!
//! Protocols and queues, their names and parameters, come from [`cc::registry`] alone.

mod attached;
mod error;
mod file;
mod model;
mod output;
mod resolve;
pub mod run_options;
mod syntax;
mod values;

pub use attached::{Load, MAX_FILE_BYTES, beside};
pub use error::{Place, Problem, ScenarioError};
pub use file::fluid::{Fluid, Sending, VcpForm, XcpForm};
pub use file::linux::Ip;
pub use model::era::{Era, Origin, Origins, Setting};
pub use model::identity::identity;
pub use model::line::{
    Capacity, DelayLaw, Device, Jitter, Line, Loss, LossModel, Outage, Reorder, Step, Trace,
};
pub use model::parts::{Parts, parts, registered};
pub use model::traffic::{App, Arrivals, GapLaw, MAX_LAYERS, Size, SizeLaw};
pub use model::{
    AccEcn, Access, Crossing, Every, Group, IdleRestart, Island, Link, LossBase, Of, Packets,
    Probe, Protocol, Queue, RackRtt, RouterPart, Rttvar, Rule, Scenario, Series, Start, Touches,
    Transport, Undo,
};
pub use output::listing::{protocols_json, queues_json};
pub use output::reference::reference_pages;
pub use output::schema::json_schema;
pub use resolve::warnings::Warning;
pub use syntax::declaration::shows;

/// A scenario and what is odd about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// What to run.
    pub scenario: Scenario,
    /// What is allowed but probably not meant.
    pub warnings: Vec<Warning>,
}

/// The rate in `text`, such as `45Mbps` [bit/s], as a scenario's links have it.
///
/// # Errors
/// What is wrong with it.
pub fn rate(text: &str) -> Result<u64, Problem> {
    values::quantity::RATE.parse(text)
}

/// Reads the scenario in `text`, which must stand alone: a file that it names is an error. Messages
/// call it `file_name`; `sets` are `key.path=value` options that replace or add values before
/// anything is checked.
///
/// # Errors
/// The first thing that is wrong, with its line or its option.
pub fn parse(file_name: &str, text: &str, sets: &[String]) -> Result<Parsed, ScenarioError> {
    parse_with(file_name, text, sets, &|_| Err(std::io::Error::other("this text stands alone")))
}

/// Reads the scenario in `text`, and with `load` the files that it names; see [`beside`]. What is
/// wrong in one of those is said with its name, which is taken to stand beside `file_name`.
///
/// # Errors
/// The first thing that is wrong, with its line or its option.
pub fn parse_with(
    file_name: &str,
    text: &str,
    sets: &[String],
    load: &Load<'_>,
) -> Result<Parsed, ScenarioError> {
    parsed(text, sets, load).map_err(|fault| fault.located(file_name, sets))
}

fn parsed(text: &str, sets: &[String], load: &Load<'_>) -> Result<Parsed, error::Fault> {
    let root = syntax::document::read(text, sets)?;
    if root.entry("schema").is_none() {
        return Err(resolve::schema_missing());
    }
    let file = <file::File as syntax::declaration::FileValue>::read(&root)?;
    let scenario = resolve::resolve(&file, load)?;
    let warnings = resolve::warnings::warnings(&root, &file, &scenario);
    Ok(Parsed { scenario, warnings })
}

//! Captures, traces and logs: from what is asked for to files in the result directory.

use std::fs::File;
use std::path::Path;

use capture::qlog::About;
use capture::{CaptureOf, LogOf, Output, RecordError, Recorded, Recorder, TraceOf, Window};
use pyo3::prelude::*;
use scenario::{Parsed, Scenario, ScenarioError, run_options};
use serde_json::json;

use crate::errors;
use crate::run::parse;

const TRACE: &str = "trace.pftrace";
/// What was written, beside it.
const DESCRIPTION: &str = "recorded.json";

/// What is asked for, a dict in Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Wanted {
    capture: Vec<String>,
    headers_only: bool,
    trace: bool,
    trace_limit: String,
    qlog: Vec<String>,
    capture_from: Option<String>,
    capture_to: Option<String>,
}

/// What is written for a scenario.
pub struct Plan {
    /// Links by number, and their files.
    captures: Vec<(usize, String)>,
    headers_only: bool,
    trace: bool,
    trace_limit: u64,
    /// Flows by number, and their groups.
    logs: Vec<(u32, usize)>,
    window: Window,
}

/// The description of what `record` asks for, as it would be written, in JSON.
#[pyfunction]
#[pyo3(signature = (file_name, text, sets=Vec::new(), *, record))]
pub fn check_record(
    file_name: &str,
    text: &str,
    sets: Vec<String>,
    record: Wanted,
) -> PyResult<String> {
    let Parsed { scenario, .. } = parse(file_name, text, sets, None)?;
    Ok(Plan::new(&record, &scenario, file_name)?.wanted(&scenario).to_string())
}

impl Plan {
    /// Everything that can be wrong with what is asked for is wrong here.
    pub fn new(wanted: &Wanted, scenario: &Scenario, file: &str) -> PyResult<Plan> {
        Plan::resolve(wanted, scenario, file).map_err(errors::config)
    }

    fn resolve(wanted: &Wanted, scenario: &Scenario, file: &str) -> Result<Plan, ScenarioError> {
        let links = run_options::links_named(scenario, &wanted.capture, file, "capture")?;
        let start = ("capture_from", wanted.capture_from.as_deref());
        let end = ("capture_to", wanted.capture_to.as_deref());
        let (from, to) = run_options::window(scenario, start, end, file)?;
        Ok(Plan {
            captures: files(scenario, &links),
            headers_only: wanted.headers_only,
            trace: wanted.trace,
            trace_limit: run_options::bytes(&wanted.trace_limit, file, "trace_limit")?,
            logs: run_options::flows_named(scenario, &wanted.qlog, file, "qlog")?,
            window: Window { from, to },
        })
    }

    /// Creates the files in `dir`.
    pub fn open(&self, scenario: &Scenario, rep: u64, dir: &Path) -> PyResult<Recorder> {
        self.recorder(scenario, rep, dir).map_err(|error| errors::record(&error))
    }

    fn recorder(&self, scenario: &Scenario, rep: u64, dir: &Path) -> Result<Recorder, RecordError> {
        let mut recorder = Recorder::new(scenario.links.len(), self.window);
        for (number, name) in &self.captures {
            let link = &scenario.links[*number];
            let (file, out) = create(dir, name)?;
            let wanted = CaptureOf {
                link: *number as u32,
                name: &link.name,
                rate_bps: link.rate.0,
                headers_only: self.headers_only,
                file,
            };
            recorder.capture(wanted, out)?;
        }
        if self.trace {
            let (file, out) = create(dir, TRACE)?;
            let wanted = TraceOf {
                links: scenario.links.iter().map(|link| link.name.clone()).collect(),
                groups: scenario.groups.iter().map(|group| group.name.clone()).collect(),
                limit: self.trace_limit,
                file,
            };
            recorder.trace(wanted, out)?;
        }
        for &(flow, group) in &self.logs {
            let (file, out) = create(dir, &log_name(flow))?;
            let about = about(scenario, rep, group);
            recorder.log(LogOf { flow, about, file }, out)?;
        }
        Ok(recorder)
    }

    /// Writes [`DESCRIPTION`].
    pub fn describe(&self, scenario: &Scenario, written: &Recorded, dir: &Path) -> PyResult<()> {
        let captures = self.captures.iter().zip(&written.captures);
        let packets: serde_json::Map<_, _> =
            captures.map(|((_, file), (_, packets))| (file.clone(), json!(packets))).collect();
        let mut description = json!({
            "wanted": self.wanted(scenario),
            "packets": packets,
            "trace_bytes": written.trace.map(|trace| trace.bytes),
            "trace_stopped_s": written.trace.and_then(|trace| trace.stopped).map(|t| t.as_secs()),
        });
        if !written.logs.is_empty() {
            let events = written.logs.iter().map(|&(flow, events)| (log_name(flow), json!(events)));
            description["events"] = events.collect::<serde_json::Map<_, _>>().into();
        }
        let path = dir.join(DESCRIPTION);
        let failed =
            |source| errors::record(&RecordError { file: path.display().to_string(), source });
        std::fs::write(&path, format!("{description:#}\n")).map_err(failed)
    }

    /// What the user should know of how it went.
    pub fn warning(&self, written: &Recorded) -> Option<String> {
        let stopped = written.trace?.stopped?;
        Some(format!(
            "{TRACE} ends at {} s, where its limit of {} MB was reached: choose a part of the run \
             with capture_from and capture_to, or set trace_limit",
            stopped.as_secs(),
            self.trace_limit as f64 / 1e6,
        ))
    }

    fn wanted(&self, scenario: &Scenario) -> serde_json::Value {
        let name = |number: &usize| scenario.links[*number].name.clone();
        let captures: serde_json::Map<_, _> =
            self.captures.iter().map(|(number, file)| (name(number), json!(file))).collect();
        let Window { from, to } = self.window;
        let mut wanted = json!({
            "captures": captures,
            "headers_only": self.headers_only && !self.captures.is_empty(),
            "trace": self.trace.then_some(TRACE),
            "trace_limit_bytes": self.trace.then_some(self.trace_limit),
            "from_s": from.as_secs(),
            "to_s": (to != units::Time::NEVER).then(|| to.as_secs()),
        });
        if !self.logs.is_empty() {
            wanted["qlog"] = self.logs.iter().map(|&(flow, _)| json!(log_name(flow))).collect();
        }
        wanted
    }
}

/// What a log says of a flow of this group.
fn about(scenario: &Scenario, rep: u64, group: usize) -> About {
    let group = &scenario.groups[group];
    About {
        scenario: scenario.name.clone(),
        group: group.name.clone(),
        protocol: group.protocol.kind.to_owned(),
        draw: (scenario.seed, rep),
        packet_bytes: scenario.packets.data_bytes,
        dup_thresh: scenario.transport.dup_thresh,
        granularity: scenario.transport.rto_granularity,
    }
}

/// The file of a flow's log.
fn log_name(flow: u32) -> String {
    format!("flow-{flow}.sqlog")
}

/// The file of each link: its name, but nothing hidden, and no two that a file system without
/// letter case would take for one.
fn files(scenario: &Scenario, links: &[usize]) -> Vec<(usize, String)> {
    let mut taken: Vec<String> = Vec::new();
    let mut named = Vec::new();
    for &number in links {
        let name = &scenario.links[number].name;
        let plain = match name.strip_prefix(['.', '-']) {
            Some(rest) => format!("_{rest}"),
            None => name.clone(),
        };
        let numbered = (2..).map(|i| format!("{plain}-{i}"));
        let free = |name: &String| !taken.contains(&name.to_lowercase());
        let Some(name) = std::iter::once(plain.clone()).chain(numbered).find(free) else { break };
        taken.push(name.to_lowercase());
        named.push((number, format!("{name}.pcapng")));
    }
    named
}

fn create(dir: &Path, name: &str) -> Result<(String, Output), RecordError> {
    let path = dir.join(name);
    let file = path.display().to_string();
    match File::create(&path) {
        Ok(out) => Ok((file, Box::new(out))),
        Err(source) => Err(RecordError { file, source }),
    }
}

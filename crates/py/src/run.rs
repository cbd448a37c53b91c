//! One run: from text to tables.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use capture::Recorded;
use net::{Outcome, Progress};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use results::{Batches, Draft, Meta, Stored, Summary};
use scenario::{Parsed, Parts, Scenario};

use crate::errors;
use crate::prototypes;
use crate::record::{Plan, Wanted};
use crate::table::Table;

/// How often a run looks for Ctrl-C: rarely enough that waiting for the interpreter, which another
/// thread may keep for 5 ms, costs little.
const SIGNALS_EVERY: Duration = Duration::from_millis(50);

/// A finished run.
#[pyclass(frozen, module = "clearpipe._core")]
pub struct Run(pub Stored);

#[pymethods]
impl Run {
    /// Where the result comes from.
    #[getter]
    fn meta_json(&self) -> PyResult<String> {
        json(&self.0.meta)
    }

    /// The numbers a comparison shows.
    #[getter]
    fn summary_json(&self) -> PyResult<String> {
        json(&self.0.summary)
    }

    /// The resolved scenario.
    #[getter]
    fn run_toml(&self) -> &str {
        &self.0.run_toml
    }

    /// What the scenario's author should know.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.meta.warnings.clone()
    }

    /// The series there are, sorted.
    #[getter]
    fn series_names(&self) -> Vec<String> {
        self.0.batches.series.iter().map(|(name, _)| name.clone()).collect()
    }

    /// One row per flow that is there from the start.
    fn flows(&self) -> Table {
        Table(self.0.batches.flows.clone())
    }

    /// One row per named link.
    fn links(&self) -> Table {
        Table(self.0.batches.links.clone())
    }

    /// One row per group of flows.
    fn groups(&self) -> Table {
        Table(self.0.batches.groups.clone())
    }

    /// One row per transfer that came while the run went on; `None` where no group has such.
    fn transfers(&self) -> Option<Table> {
        self.0.batches.transfers.clone().map(Table)
    }

    /// One row per macro-flow; `None` where the scenario has no islands.
    fn macroflows(&self) -> Option<Table> {
        self.0.batches.macroflows.clone().map(Table)
    }

    /// One row per instant and flow or link.
    fn series(&self, name: &str) -> PyResult<Table> {
        let series = self.0.batches.series.iter().find(|(known, _)| known == name);
        series.map(|(_, batch)| Table(batch.clone())).ok_or_else(|| {
            let names = self.series_names().join(", ");
            PyKeyError::new_err(format!("no series {name:?}; recorded: {names}"))
        })
    }

    /// The same run with another link as its bottleneck; `ValueError` if it has none of that name.
    fn with_bottleneck(&self, link: Option<&str>) -> PyResult<Run> {
        let mut scenario = parse("run.toml", &self.0.run_toml, Vec::new(), None)?.scenario;
        let place = |link: &str| {
            scenario.links.iter().position(|one| one.name == link).ok_or_else(|| {
                let names: Vec<&str> = scenario.links.iter().map(|one| &*one.name).collect();
                let names = names.join(", ");
                PyValueError::new_err(format!("no link is called {link:?}; there are {names}"))
            })
        };
        scenario.bottleneck = link.map(place).transpose()?;
        let mut stored = self.0.clone();
        stored.summary.bottleneck = scenario.bottleneck().map(str::to_owned);
        stored.run_toml = scenario.to_toml();
        Ok(Run(stored))
    }

    /// Writes the result directory; `seal` is called with it before it has its name.
    #[pyo3(signature = (dir, *, replace, seal))]
    fn write(
        &self,
        py: Python<'_>,
        dir: PathBuf,
        replace: bool,
        seal: Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let draft = Draft::open(&dir, replace).map_err(errors::store)?;
        publish(py, draft, &self.0, Some(&seal))
    }

    /// Writes the files and their seal into a new directory, and does not wait for the disk.
    #[pyo3(signature = (dir, *, tables=true))]
    fn write_loose(&self, py: Python<'_>, dir: PathBuf, tables: bool) -> PyResult<()> {
        py.detach(|| results::write_loose(&dir, &self.0, tables)).map_err(errors::store)
    }
}

pub fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value)
        .map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))
}

/// Reads a result directory. Whatever version wrote it, its bottleneck is the link that its
/// scenario names; none, with a warning, if this version cannot read that scenario.
#[pyfunction]
pub fn read(py: Python<'_>, dir: PathBuf) -> PyResult<Run> {
    let mut stored = py.detach(|| results::read_result(&dir)).map_err(errors::store)?;
    stored.summary.bottleneck = match scenario::parse("run.toml", &stored.run_toml, &[]) {
        Ok(parsed) => parsed.scenario.bottleneck().map(str::to_owned),
        Err(error) => {
            let warning = format!("this version cannot read which link it names: {error}");
            stored.meta.warnings.push(warning);
            None
        }
    };
    Ok(Run(stored))
}

/// What the `seal.json` of a result directory is to say.
#[pyfunction]
pub fn seal(py: Python<'_>, dir: PathBuf) -> PyResult<String> {
    py.detach(|| results::seal(&dir)).map_err(errors::store)
}

/// The bytes of files that are as they were sealed (without `names` all are compared and none is
/// given), and what is wrong with the first that is not: its path, and why.
#[pyfunction]
#[pyo3(signature = (dir, names=None))]
pub fn sealed(
    py: Python<'_>,
    dir: PathBuf,
    names: Option<Vec<String>>,
) -> (Vec<Bound<'_, PyBytes>>, Option<(PathBuf, String)>) {
    match py.detach(|| results::sealed(&dir, names.as_deref())) {
        Ok(found) => (found.iter().map(|content| PyBytes::new(py, content)).collect(), None),
        Err(damage) => (Vec::new(), Some((damage.path, damage.reason))),
    }
}

/// Raises what writing a result there would raise.
#[pyfunction]
#[pyo3(signature = (dir, *, replace=false))]
pub fn check_writable(dir: PathBuf, replace: bool) -> PyResult<()> {
    results::check_writable(&dir, replace).map_err(errors::store)
}

/// Writes a result, has it sealed, and gives its directory the name.
fn publish(
    py: Python<'_>,
    draft: Draft,
    result: &Stored,
    seal: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    py.detach(|| draft.write(result)).map_err(errors::store)?;
    seal.map(|seal| seal.call1((draft.path(),))).transpose()?;
    py.detach(|| draft.publish()).map_err(errors::store)
}

/// Runs a scenario without holding the interpreter. With `look`, `on_progress` gets what
/// [`net::Run::look`] says, too; None from the fluid engine. With `out` the result
/// directory is written too, unless the run is stopped; `record` needs it and the packet engine.
/// `seal` is called with that directory before it has its name.
#[pyfunction]
#[pyo3(signature = (
    file_name, text, sets=Vec::new(), *, seed=None, rep=0, on_progress=None, every_s=0.1, look=false,
    out=None, replace=false, seal=None, record=None, engine="packet",
))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub fn simulate(
    py: Python<'_>,
    file_name: &str,
    text: &str,
    sets: Vec<String>,
    seed: Option<i128>,
    rep: u64,
    on_progress: Option<Py<PyAny>>,
    every_s: f64,
    look: bool,
    out: Option<PathBuf>,
    replace: bool,
    seal: Option<Bound<'_, PyAny>>,
    record: Option<Wanted>,
    engine: &str,
) -> PyResult<Run> {
    let engine = Engine::named(engine)?;
    let Parsed { scenario, warnings } = parse(file_name, text, sets, seed)?;
    let plan = record.map(|wanted| Plan::new(&wanted, &scenario, file_name)).transpose()?;
    let open = |dir: &PathBuf| Draft::open(dir, replace).map(|draft| Output { draft, plan });
    let out = out.as_ref().map(open).transpose().map_err(errors::store)?;
    let every = Duration::try_from_secs_f64(every_s).unwrap_or_default();
    let mut watch = Watch::new(on_progress, every);
    watch.looks = look;
    let texts = errors::texts(&warnings);
    let (mut result, recorded) = match engine {
        Engine::Packet => {
            let parts = engine.parts(py, file_name, &scenario)?;
            let about = About { parts, rep, warnings: texts };
            let (outcome, recorded, wall) =
                prototypes::run_with(py, &scenario, file_name, || {
                    timed(&scenario, rep, &mut watch, out.as_ref())
                })??;
            (stored(&scenario, about, outcome, wall), recorded)
        }
        Engine::Fluid => {
            let result = py.detach(|| solved(file_name, &scenario, rep, texts, &mut watch))?;
            (result, Recorded::default())
        }
    };
    watch.raised.map_or(Ok(()), Err)?;
    if let Some(Output { draft, plan }) = out {
        if let Some(plan) = plan {
            result.meta.warnings.extend(plan.warning(&recorded));
            plan.describe(&scenario, &recorded, draft.path())?;
        }
        publish(py, draft, &result, seal.as_ref())?;
    }
    Ok(Run(result))
}

/// What runs a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Every packet.
    Packet,
    /// Delay differential equations.
    Fluid,
}

impl Engine {
    /// The engine of that name.
    pub fn named(name: &str) -> PyResult<Engine> {
        match name {
            "packet" => Ok(Engine::Packet),
            "fluid" => Ok(Engine::Fluid),
            _ => {
                let message = format!("unknown engine {name:?} (allowed: packet, fluid)");
                Err(PyValueError::new_err(message))
            }
        }
    }

    pub fn model_version(self) -> &'static str {
        match self {
            Engine::Packet => net::MODEL_VERSION,
            Engine::Fluid => fluid::MODEL_VERSION,
        }
    }

    /// The versions of what a run of the scenario, read from `file_name`, uses. That of a class in
    /// Python is its code.
    pub fn parts(self, py: Python<'_>, file_name: &str, scenario: &Scenario) -> PyResult<Parts> {
        match self {
            Engine::Packet => {
                let mut parts = prototypes::parts(py, file_name, scenario)?;
                parts.extend(net::parts(scenario));
                Ok(parts)
            }
            Engine::Fluid => Ok(fluid::parts(scenario)),
        }
    }

    /// The name of a run. What `[fluid]` says is part of it for the fluid engine alone.
    pub fn identity(self, scenario: &Scenario, parts: &Parts, seed: u64, rep: u64) -> String {
        match self {
            Engine::Packet => scenario::identity(scenario, parts, seed, rep),
            Engine::Fluid => fluid::identity(scenario, seed, rep),
        }
    }

    /// Raises `ConfigError` if it cannot run the scenario.
    pub fn check(self, file_name: &str, scenario: &Scenario) -> PyResult<()> {
        match self {
            Engine::Packet => Ok(()),
            Engine::Fluid => {
                fluid::check(scenario).map_err(|error| errors::unsupported(file_name, error))
            }
        }
    }
}

/// Where a run's result goes, and what else is written there.
struct Output {
    draft: Draft,
    plan: Option<Plan>,
}

/// Reads a scenario with the files that it names.
pub fn parse(
    file_name: &str,
    text: &str,
    mut sets: Vec<String>,
    seed: Option<i128>,
) -> PyResult<Parsed> {
    // As an option, so that the scenario's own check of the range applies.
    sets.extend(seed.map(|seed| format!("seed={seed}")));
    let load = scenario::beside(Path::new(file_name));
    scenario::parse_with(file_name, text, &sets, &load).map_err(errors::config)
}

#[expect(clippy::disallowed_methods, reason = "the caller of the engine, which reads the clock")]
pub fn now() -> Instant {
    Instant::now()
}

fn timed(
    scenario: &Scenario,
    rep: u64,
    watch: &mut Watch,
    out: Option<&Output>,
) -> PyResult<(Outcome, Recorded, Duration)> {
    let recorder = match out {
        Some(Output { draft, plan: Some(plan) }) => Some(plan.open(scenario, rep, draft.path())?),
        _ => None,
    };
    let start = now();
    let mut goes_on = |run: &net::Run<'_>| watch.sees(run);
    let run = || match recorder {
        Some(recorder) => {
            net::simulate_recorded(scenario, (scenario.seed, rep), recorder, &mut goes_on)
        }
        None => {
            let outcome = net::simulate(scenario, scenario.seed, rep, &mut goes_on);
            Ok((outcome, Recorded::default()))
        }
    };
    let done = catch_unwind(AssertUnwindSafe(run)).map_err(|e| errors::panic(&*e))?;
    let (mut outcome, recorded) = done.map_err(|error| errors::record(&error))?;
    match outcome.error.take() {
        Some(error) => Err(errors::given_up(&error)),
        None => Ok((outcome, recorded, start.elapsed())),
    }
}

/// One run of the fluid engine.
fn solved(
    file_name: &str,
    scenario: &Scenario,
    rep: u64,
    mut warnings: Vec<String>,
    watch: &mut Watch,
) -> PyResult<Stored> {
    let start = now();
    let mut goes_on = |progress: fluid::Progress| {
        watch.goes_on(Progress { now: progress.now, events: progress.steps, packet_hops: 0 })
    };
    let run = || fluid::simulate(scenario, scenario.seed, rep, &mut goes_on);
    let done = catch_unwind(AssertUnwindSafe(run)).map_err(|e| errors::panic(&*e))?;
    let outcome = done.map_err(|error| errors::unsupported(file_name, error))?;
    let wall_s = start.elapsed().as_secs_f64();
    warnings.extend(outcome.warnings);
    let meta = Meta {
        name: scenario.name.clone(),
        engine: "fluid".to_owned(),
        state: if outcome.complete { "done" } else { "partial" }.to_owned(),
        version: crate::version().to_owned(),
        model_version: fluid::MODEL_VERSION.to_owned(),
        parts: fluid::parts(scenario),
        seed: scenario.seed,
        rep,
        identity: fluid::identity(scenario, scenario.seed, rep),
        fingerprint: format!("{:032x}", outcome.fingerprint),
        simulated_s: outcome.end.now.as_secs(),
        warmup_s: scenario.warmup.as_secs(),
        events: outcome.end.steps,
        wall_s,
        peak_rss_bytes: peak_rss_bytes(),
        warnings,
        numerics: Some(outcome.numerics),
        ..Meta::default()
    };
    let measured = meta.warmup_s..meta.simulated_s;
    let summary = Summary::of(&outcome.tables, measured, scenario.bottleneck());
    let batches = Batches::from(outcome.tables);
    Ok(Stored { run_toml: scenario.to_toml(), meta, summary, batches })
}

/// What a run does now and then: let Ctrl-C through and report.
pub struct Watch {
    on_progress: Option<Py<PyAny>>,
    /// Does it want to see links and flows?
    pub looks: bool,
    every: Duration,
    signals: Instant,
    reported: Instant,
    pub raised: Option<PyErr>,
}

impl Watch {
    pub fn new(on_progress: Option<Py<PyAny>>, every: Duration) -> Watch {
        let now = now();
        Watch { on_progress, looks: false, every, signals: now, reported: now, raised: None }
    }

    pub fn goes_on(&mut self, progress: Progress) -> bool {
        self.goes_on_with(|| (progress, None))
    }

    fn sees(&mut self, run: &net::Run<'_>) -> bool {
        let looks = self.looks;
        self.goes_on_with(|| (run.progress(), looks.then(|| run.look())))
    }

    /// What is said of the run is asked for when it is due.
    fn goes_on_with(&mut self, said: impl FnOnce() -> (Progress, Option<net::Look>)) -> bool {
        let now = now();
        if prototypes::failed() {
            return false;
        }
        let due = self.on_progress.is_some() && now - self.reported >= self.every;
        if !due && now - self.signals < SIGNALS_EVERY {
            return true;
        }
        self.signals = now;
        if due {
            self.reported = now;
        }
        match Python::attach(|py| self.report(py, due.then(said))) {
            Ok(goes_on) => goes_on,
            Err(error) => {
                self.raised = Some(error);
                false
            }
        }
    }

    fn report(
        &self,
        py: Python<'_>,
        said: Option<(Progress, Option<net::Look>)>,
    ) -> PyResult<bool> {
        py.check_signals()?;
        let (Some(call), Some((progress, look))) = (&self.on_progress, said) else {
            return Ok(true);
        };
        let Progress { now, events, packet_hops } = progress;
        let call = call.bind(py);
        let answer = if self.looks {
            call.call1((now.as_secs(), events, packet_hops, look.map(looked)))?
        } else {
            call.call1((now.as_secs(), events, packet_hops))?
        };
        // Also NumPy's False; None and all else go on.
        Ok(!answer.eq(false)?)
    }
}

/// A link: packets that wait, bits that left and could have left, drops. A group: flows, the
/// smallest, the largest and the sum of their windows.
type Looked = (Vec<(u32, f64, f64, u64)>, Vec<(u32, f64, f64, f64)>);

fn looked(look: net::Look) -> Looked {
    let links = look.links.iter();
    let groups = look.groups.iter();
    (
        links.map(|l| (l.queue_pkts, l.departed_bits, l.capacity_bits, l.drops)).collect(),
        groups.map(|g| (g.flows, g.least_cwnd_pkts, g.most_cwnd_pkts, g.sum_cwnd_pkts)).collect(),
    )
}

/// What is said of a run before it begins.
pub struct About {
    /// The versions of what it uses.
    pub parts: Parts,
    pub rep: u64,
    pub warnings: Vec<String>,
}

pub fn stored(scenario: &Scenario, about: About, outcome: Outcome, wall: Duration) -> Stored {
    let About { parts, rep, mut warnings } = about;
    let wall_s = wall.as_secs_f64();
    let packet_hops = outcome.end.packet_hops;
    warnings.extend(outcome.warnings);
    let meta = Meta {
        name: scenario.name.clone(),
        engine: "packet".to_owned(),
        state: if outcome.complete { "done" } else { "partial" }.to_owned(),
        version: crate::version().to_owned(),
        model_version: net::MODEL_VERSION.to_owned(),
        identity: scenario::identity(scenario, &parts, scenario.seed, rep),
        parts,
        seed: scenario.seed,
        rep,
        fingerprint: format!("{:032x}", outcome.fingerprint),
        simulated_s: outcome.end.now.as_secs(),
        warmup_s: scenario.warmup.as_secs(),
        events: outcome.end.events,
        packet_hops,
        wall_s,
        packet_hops_per_s: if wall_s > 0.0 { packet_hops as f64 / wall_s } else { 0.0 },
        peak_rss_bytes: peak_rss_bytes(),
        warnings,
        branched_from: None,
        branch_at_s: None,
        variant: None,
        numerics: None,
    };
    let measured = meta.warmup_s..meta.simulated_s;
    let summary = Summary::of(&outcome.tables, measured, scenario.bottleneck());
    Stored { run_toml: scenario.to_toml(), meta, summary, batches: Batches::from(outcome.tables) }
}

/// `VmHWM: 12345 kB`, where there is a /proc.
pub fn peak_rss_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

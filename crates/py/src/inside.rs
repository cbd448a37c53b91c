//! Looking inside a run, and going on from its middle in several ways.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use net::{Outcome, Progress, WATCH_EVENTS};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use scenario::{Parsed, Parts, Scenario};
use units::{Span, Time};

use crate::errors;
use crate::prototypes;
use crate::run::{About, Run, Watch, json, now, parse, stored};

/// What one flow's sender and the routers on its way knew at `at_s`, as JSON; None if stopped.
#[pyfunction]
#[pyo3(signature = (file_name, text, sets=Vec::new(), *, flow, at_s, seed=None, rep=0, on_progress=None))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub fn explain_json(
    py: Python<'_>,
    file_name: &str,
    text: &str,
    sets: Vec<String>,
    flow: u32,
    at_s: f64,
    seed: Option<i128>,
    rep: u64,
    on_progress: Option<Py<PyAny>>,
) -> PyResult<Option<String>> {
    let Parsed { scenario, .. } = parse(file_name, text, sets, seed)?;
    let mut watch = Watch::new(on_progress, Duration::from_millis(100));
    let at = instant(at_s)?;
    let facts = prototypes::run_with(py, &scenario, file_name, || {
        let run =
            || net::explain(&scenario, (scenario.seed, rep), (flow, at), &mut |p| watch.goes_on(p));
        catch_unwind(AssertUnwindSafe(run)).map_err(|e| errors::panic(&*e))
    })??;
    watch.raised.map_or(Ok(()), Err)?;
    let facts = facts.map_err(|refused| errors::refused("", refused))?;
    facts.map(|facts| json(&facts)).transpose()
}

/// Runs a scenario up to `at_s` and goes on from there as each variant. A variant is a name and
/// keys of the resolved scenario with their values. Gives a run for each, in order; `on_progress`
/// gets the variant's number, or None on the way to `at_s`, before the usual arguments.
#[pyfunction]
#[pyo3(signature = (file_name, text, sets=Vec::new(), *, at_s, variants, seed=None, rep=0, on_progress=None))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub fn branch(
    py: Python<'_>,
    file_name: &str,
    text: &str,
    sets: Vec<String>,
    at_s: f64,
    variants: Vec<(String, Vec<String>)>,
    seed: Option<i128>,
    rep: u64,
    on_progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Run>> {
    let Parsed { scenario, warnings } = parse(file_name, text, sets, seed)?;
    let at = instant(at_s)?;
    if at > Time::ZERO + scenario.duration {
        let reason = format!("{at} is beyond the run (allowed: 0 s to {})", scenario.duration);
        return Err(errors::refused("", net::Refused { key: "branch_at".into(), reason }));
    }
    let resolved = scenario.to_toml();
    let mut parsed = Vec::new();
    for (name, sets) in &variants {
        let variant =
            scenario::parse(name, &resolved, sets).map_err(|e| errors::variant(name, &e))?;
        net::Run::check_branch((&scenario, &variant.scenario), (scenario.seed, rep), at)
            .map_err(|refused| errors::refused(&format!("variant {name}: "), refused))?;
        parsed.push(variant.scenario);
    }
    let trunk = Trunk { scenario: &scenario, rep, at };
    // Variants have the classes of the scenario.
    let codes = prototypes::parts(py, file_name, &scenario)?;
    let parts_of =
        |scenario| -> Parts { codes.clone().into_iter().chain(net::parts(scenario)).collect() };
    let outcomes = prototypes::run_with(py, &scenario, file_name, || {
        let run = || trunk.run(&parsed, on_progress.as_ref());
        catch_unwind(AssertUnwindSafe(run)).map_err(|e| errors::panic(&*e))
    })???;
    let texts = errors::texts(&warnings);
    let from = scenario::identity(&scenario, &parts_of(&scenario), scenario.seed, rep);
    let branches = parsed.iter().zip(outcomes).zip(&variants);
    Ok(branches
        .map(|((variant, (outcome, wall)), (name, sets))| {
            let mut parts = parts_of(variant);
            let about = About { parts: parts.clone(), rep, warnings: texts.clone() };
            let mut stored = stored(variant, about, outcome, wall);
            if stored.meta.identity != from {
                // Another run than that of the variant from the start.
                parts.insert("branched".to_owned(), format!("from {from} at {} ps", at.0));
                stored.meta.identity = scenario::identity(variant, &parts, scenario.seed, rep);
            }
            stored.meta.branched_from = Some(from.clone());
            stored.meta.branch_at_s = Some(at.as_secs());
            stored.meta.variant = Some(format!("{name}:{}", sets.join(",")));
            Run(stored)
        })
        .collect())
}

/// What all variants have in common.
struct Trunk<'a> {
    scenario: &'a Scenario,
    rep: u64,
    at: Time,
}

impl Trunk<'_> {
    fn run(
        &self,
        variants: &[Scenario],
        on_progress: Option<&Py<PyAny>>,
    ) -> PyResult<Vec<(Outcome, Duration)>> {
        let start = now();
        let mut trunk = net::Run::new(self.scenario, self.scenario.seed, self.rep);
        trunk.pause_at(self.at);
        if !advance(&mut trunk, on_progress, None)? {
            return Ok(Vec::new());
        }
        let common = start.elapsed();
        let mut outcomes = Vec::new();
        for (number, variant) in variants.iter().enumerate() {
            let start = now();
            let mut run = trunk.branch(variant).map_err(|refused| errors::refused("", refused))?;
            let goes_on = advance(&mut run, on_progress, Some(number))?;
            outcomes.push((run.finish(), common + start.elapsed()));
            if !goes_on {
                break;
            }
        }
        Ok(outcomes)
    }
}

/// Runs to the end or the pause; false when `on_progress` stopped it.
fn advance(
    run: &mut net::Run<'_>,
    on_progress: Option<&Py<PyAny>>,
    number: Option<usize>,
) -> PyResult<bool> {
    let call = Python::attach(|py| {
        let partial = |call: &Py<PyAny>| {
            py.import("functools")?.call_method1("partial", (call, number)).map(Bound::unbind)
        };
        on_progress.map(partial).transpose()
    })?;
    let mut watch = Watch::new(call, Duration::from_millis(100));
    let mut goes_on = |progress: Progress| watch.goes_on(progress);
    while run.advance(WATCH_EVENTS) {
        if !goes_on(run.progress()) {
            return watch.raised.map_or(Ok(false), Err);
        }
    }
    run.error().map_or(Ok(true), |error| Err(errors::given_up(&error)))
}

/// An instant in whole picoseconds, the nearest.
fn instant(at_s: f64) -> PyResult<Time> {
    if !(0.0..1e7).contains(&at_s) {
        return Err(PyValueError::new_err(format!("{at_s} s is no instant of a run")));
    }
    Ok(Time::ZERO + Span::from_secs_f64(at_s))
}

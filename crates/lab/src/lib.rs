//! The engines for JavaScript: a scenario's text in, arrays and JSON out.
//!
//! It decides nothing about a simulation. A run is driven in slices by the worker that owns it
//! ([`Lab::run_to`]), its series leave while it runs, and copies of it are kept on the way
//! ([`Lab::keep`]): an instant that is over is looked at, or branched from, by going on from the
//! last copy before it. A run's memory stays what it is that way, and the same bits come out.
//!
//! A scenario that was read lives as long as the module, some kilobytes each: runs borrow it, and
//! JavaScript cannot.

mod about;
mod fluid_curves;
mod host;
mod packets;
mod series;

use std::path::Path;

use js_sys::{Array, Function, Object};
use net::Run;
use scenario::{Parsed, Scenario};
use units::{Span, Time};
use wasm_bindgen::prelude::*;

use crate::about::Budget;
use crate::fluid_curves::Past;

/// Copies of a run that are kept: when there are more, every other one goes.
const MOST_KEPT: usize = 40;

/// What a run's scenario is called in messages.
const NAME: &str = "scenario.toml";

/// Packets that may be on their way at once.
const MOST_PACKETS: u32 = 1_000_000;

/// Has panics say in the worker's console and in its error what happened.
#[wasm_bindgen(start)]
fn start() {
    std::panic::set_hook(Box::new(|panic| host::panicked(&panic.to_string())));
}

/// Clearpipe's version.
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// Every end-host protocol, as JSON.
#[wasm_bindgen]
pub fn protocols() -> String {
    scenario::protocols_json()
}

/// Every queue, as JSON.
#[wasm_bindgen]
pub fn queues() -> String {
    scenario::queues_json()
}

/// The JSON Schema of a scenario file.
#[wasm_bindgen]
pub fn schema() -> String {
    scenario::json_schema().to_string()
}

/// Files that scenarios name, beside them.
#[wasm_bindgen]
#[derive(Default)]
pub struct Files(Vec<(String, String)>);

#[wasm_bindgen]
impl Files {
    /// None yet.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Files {
        Files::default()
    }

    /// One more.
    pub fn add(&mut self, name: String, text: String) {
        self.0.push((name, text));
    }

    fn load(&self, name: &Path) -> std::io::Result<Vec<u8>> {
        let found = self.0.iter().find(|(known, _)| Path::new(known) == name);
        let missing = || std::io::Error::other("the lab has the files of the examples, no others");
        found.map(|(_, text)| text.clone().into_bytes()).ok_or_else(missing)
    }
}

fn said(error: impl std::fmt::Display) -> JsError {
    JsError::new(&error.to_string())
}

/// Reads a scenario; `file_name` is what messages call it.
fn read(
    file_name: &str,
    text: &str,
    sets: &[String],
    files: &Files,
) -> Result<(&'static Scenario, Vec<String>), JsError> {
    let Parsed { scenario, warnings } =
        scenario::parse_with(file_name, text, sets, &|name| files.load(name)).map_err(said)?;
    let warnings = warnings.iter().map(ToString::to_string).collect();
    Ok((Box::leak(Box::new(scenario)), warnings))
}

/// An instant in whole picoseconds, the nearest.
fn instant(at_s: f64) -> Time {
    Time::ZERO + Span::from_secs_f64(at_s.clamp(0.0, 1e7))
}

fn start_of(scenario: &'static Scenario, rep: u64) -> Run<'static> {
    let mut run = Run::new(scenario, scenario.seed, rep);
    run.limit_packets(MOST_PACKETS);
    run
}

/// A run of the packet engine.
#[wasm_bindgen]
pub struct Lab {
    /// As it was written: what a run is called by.
    written: &'static Scenario,
    /// The same with the lab's probes.
    scenario: &'static Scenario,
    /// Which replication of the scenario's seed it is.
    rep: u64,
    /// Of a branch: what it was before.
    past: Option<Past>,
    warnings: Vec<String>,
    budget: Budget,
    run: Run<'static>,
    /// Where the run stands still or will; it may be sent elsewhere only from there.
    target: Option<Time>,
    paused: bool,
    kept: Vec<(Time, Run<'static>)>,
}

#[wasm_bindgen]
impl Lab {
    /// Replication `rep` of the scenario in `text`, which messages call [`NAME`], at time zero,
    /// that records about `rows` values of series at most.
    ///
    /// # Errors
    /// What is wrong with the scenario, with its line.
    #[wasm_bindgen(constructor)]
    pub fn new(
        text: &str,
        sets: Vec<String>,
        files: &Files,
        rows: u32,
        rep: u32,
    ) -> Result<Lab, JsError> {
        let (written, warnings) = read(NAME, text, &sets, files)?;
        let (scenario, budget) = about::probed(written, rows);
        let rep = u64::from(rep);
        let run = host::with(|| start_of(scenario, rep));
        host::failure()?;
        let (target, paused, kept) = (None, true, Vec::new());
        Ok(Lab { written, scenario, rep, past: None, warnings, budget, run, target, paused, kept })
    }

    /// Reads the scenario in `file_name` as [`Lab::new`] does, and says what a run of it would be;
    /// runs nothing.
    ///
    /// # Errors
    /// As [`Lab::new`].
    pub fn read(
        file_name: &str,
        text: &str,
        sets: Vec<String>,
        files: &Files,
        rows: u32,
    ) -> Result<String, JsError> {
        let (written, warnings) = read(file_name, text, &sets, files)?;
        let (_, budget) = about::probed(written, rows);
        Ok(about::described(written, 0, &budget, &warnings))
    }

    /// The text of a scenario with the options in `sets`, as TOML with nothing left to decide.
    ///
    /// # Errors
    /// As [`Lab::new`].
    pub fn resolve(
        file_name: &str,
        text: &str,
        sets: Vec<String>,
        files: &Files,
    ) -> Result<String, JsError> {
        Ok(read(file_name, text, &sets, files)?.0.to_toml())
    }

    /// Network, flows, name and size of the run, as JSON.
    pub fn described(&self) -> String {
        about::described(self.written, self.rep, &self.budget, &self.warnings)
    }

    /// The scenario with nothing left to decide, as TOML.
    pub fn resolved(&self) -> String {
        self.written.to_toml()
    }

    /// Lets the run go on to `at_s` or its end, by at most `events` events; is it there?
    ///
    /// # Errors
    /// Why the run was given up.
    pub fn run_to(&mut self, at_s: f64, events: u32) -> Result<bool, JsError> {
        let at = instant(at_s);
        if self.paused && self.target.is_none_or(|target| target < at) {
            self.run.pause_at(at);
            self.target = Some(at);
        }
        let run = &mut self.run;
        self.paused = !host::with(|| run.advance(u64::from(events)));
        host::failure()?;
        self.run.error().map_or(Ok(self.paused), |error| Err(said(error)))
    }

    /// How far it is [s].
    pub fn now_s(&self) -> f64 {
        self.run.progress().now.as_secs()
    }

    /// Events handled, and packets times links crossed.
    pub fn work(&self) -> Vec<f64> {
        let progress = self.run.progress();
        vec![progress.events as f64, progress.packet_hops as f64]
    }

    /// Rows of series since the last call, as objects of arrays.
    pub fn series(&mut self) -> Array {
        series::objects(self.run.take_series())
    }

    /// Keeps a copy of the run, which stands still, to come back to.
    pub fn keep(&mut self) {
        let Some(now) = self.target.filter(|_| self.paused) else { return };
        if self.kept.last().is_some_and(|(at, _)| *at >= now) {
            return;
        }
        if self.kept.len() >= MOST_KEPT {
            let mut place = 0;
            self.kept.retain(|_| {
                place += 1;
                place % 2 == 1
            });
        }
        let copy = host::with(|| self.run.clone());
        self.kept.push((now, copy));
    }

    /// What the run has come to: fingerprint, identity, summary and tables, as JSON.
    ///
    /// # Errors
    /// Why the run was given up.
    pub fn result(&self) -> Result<String, JsError> {
        let outcome = host::with(|| self.run.clone().finish());
        if let Some(error) = outcome.error {
            return Err(said(error));
        }
        Ok(about::result(self.written, &outcome))
    }

    /// What crossed the links from `from_s` to `to_s`, at most `most` packets, and the queues
    /// meanwhile: arrays.
    ///
    /// # Errors
    /// Why the run was given up.
    pub fn packets(&self, from_s: f64, to_s: f64, most: u32) -> Result<Object, JsError> {
        let (from, to) = (instant(from_s), instant(to_s));
        let seen = host::with(|| packets::between(self.at(from), self.scenario, (from, to), most));
        host::failure()?;
        Ok(seen)
    }

    /// Another run that is this one up to `at_s` and goes on from there with the keys in `sets` of
    /// the resolved scenario.
    ///
    /// # Errors
    /// What is wrong with a key, or why it cannot be another one from then on.
    pub fn branch(&self, at_s: f64, sets: Vec<String>, rows: u32) -> Result<Lab, JsError> {
        let at = instant(at_s);
        let (written, warnings) =
            read("the branch", &self.written.to_toml(), &sets, &Files::default())?;
        let (scenario, budget) = about::probed(written, rows);
        let refused = |refused: net::Refused| said(format!("{}: {}", refused.key, refused.reason));
        Run::check_branch((self.scenario, scenario), (scenario.seed, self.rep), at)
            .map_err(refused)?;
        let (run, copy) = host::with(|| {
            let mut run = self.at(at).branch(scenario).map_err(refused)?;
            run.pause_at(at);
            while run.advance(net::WATCH_EVENTS) {}
            let copy = run.clone();
            Ok::<_, JsError>((run, copy))
        })?;
        host::failure()?;
        let kept = vec![(at, copy)];
        let past = Some(Past { scenario: self.scenario, at });
        let (rep, target) = (self.rep, Some(at));
        Ok(Lab { written, scenario, rep, past, warnings, budget, run, target, paused: true, kept })
    }

    /// What the fluid engine has beside this run, while `more` says true: `series`, and `until`
    /// where they end before the run does [s].
    ///
    /// # Errors
    /// What has no fluid form, and that `more` said false.
    pub fn fluid(&self, more: &Function) -> Result<Object, JsError> {
        fluid_curves::fluid(self.scenario, self.rep, self.past.as_ref(), more)
    }
}

impl Lab {
    /// The run at an instant that is over, from the last copy before it.
    fn at(&self, at: Time) -> Run<'static> {
        let before = self.kept.iter().rev().find(|(kept, _)| *kept <= at);
        let mut run = match before {
            Some((_, run)) => run.clone(),
            None => start_of(self.scenario, self.rep),
        };
        run.pause_at(at);
        while run.advance(net::WATCH_EVENTS) {}
        run.take_series();
        run
    }
}

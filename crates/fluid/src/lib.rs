//! The fluid engine: a scenario as delay differential equations.
//!
//! A window is a real number that moves as the mean of what its protocol's packets would do to it;
//! a queue is the integral of what arrives beyond the capacity; what a link tells or loses reaches
//! a source after the delay that the path has at that moment. Equal flows are one class, so a
//! million of them cost as much as one. docs/explanation/fluid.md has the equations.
#![forbid(unsafe_code)]

mod ack_clock;
mod arrivals;
mod at_rest;
mod feedback;
mod history;
mod link;
mod load;
mod losses;
mod model;
mod params;
mod sender;
mod series;
mod solver;
mod state;
mod steps;
mod tables;
mod waiting;
mod xcp;

use results::{Numerics, Tables};
use scenario::{Parts, Scenario, Sending};
use units::Time;

use crate::solver::Solver;

/// Equal versions, with equal settings of `[fluid]`, give equal results. It has forms of its own of
/// protocols and queues.
pub const MODEL_VERSION: &str = "fluid-3";

/// The same of sources that ACKs clock.
const CLOCK_VERSION: &str = "clock-2";

/// The versions of the engine's parts.
pub fn own_parts() -> Parts {
    [("fluid engine", MODEL_VERSION), ("fluid clock", CLOCK_VERSION)]
        .map(|(name, version)| (name.to_owned(), version.to_owned()))
        .into()
}

/// The versions of those that a run of the scenario uses.
pub fn parts(scenario: &Scenario) -> Parts {
    let clocked = scenario.fluid.sending == Sending::Acks;
    own_parts().into_iter().filter(|(name, _)| clocked || name != "fluid clock").collect()
}

/// What has no fluid form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// The key of the resolved scenario.
    pub key: String,
    /// What it is, and what there is instead.
    pub reason: String,
}

impl std::fmt::Display for Unsupported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.key, self.reason)
    }
}

impl Unsupported {
    fn protocol(key: &str, kind: &str) -> Unsupported {
        let what = match kind {
            "python" => "a prototype, which decides packet by packet,".to_owned(),
            _ => format!("{kind:?}"),
        };
        let reason = format!("{what} has no fluid form; {}", Unsupported::supported());
        Unsupported { key: key.to_owned(), reason }
    }

    fn queue(key: &str, kind: &str) -> Unsupported {
        Unsupported::protocol(key, kind)
    }

    /// What the engine supports, as far as the registry has it.
    fn supported() -> String {
        let registered: Vec<&str> = cc::registry::protocols().map(|p| p.name).collect();
        let protocols = sender::PROTOCOLS.iter().map(|(name, _)| *name);
        let protocols: Vec<&str> = protocols.filter(|name| registered.contains(name)).collect();
        let registered: Vec<&str> = cc::registry::queues().map(|q| q.name).collect();
        let feedback = link::FEEDBACK.iter().map(|(name, _)| *name);
        let queues: Vec<&str> = ["droptail", "red"]
            .into_iter()
            .chain(feedback)
            .filter(|name| registered.contains(name))
            .collect();
        format!(
            "the fluid engine has the protocols {}, the queues {}, capacity steps, starts, stops and \
             sizes",
            protocols.join(", "),
            queues.join(", ")
        )
    }
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// Steps taken.
    pub steps: u64,
}

/// What a run gives.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The result tables, the same as the packet engine's.
    pub tables: Tables,
    /// 128-bit hash of the trajectory: every link's queue and load at every step, and the windows
    /// at the end.
    pub fingerprint: u128,
    /// Where the run ended.
    pub end: Progress,
    /// False when it was stopped before its duration.
    pub complete: bool,
    /// How it was solved.
    pub numerics: Numerics,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// The name of a run. All that `[fluid]` says is part of it.
pub fn identity(scenario: &Scenario, seed: u64, rep: u64) -> String {
    let fluid = &scenario.fluid;
    let step = fluid.step.map_or("auto".to_owned(), |step| format!("{}ps", step.0));
    let settings = format!(
        "step={step} tolerance={:?} vcp={} xcp={} sending={}",
        fluid.tolerance,
        fluid.vcp.name(),
        fluid.xcp.name(),
        fluid.sending.name()
    );
    let mut parts = parts(scenario);
    parts.insert("[fluid]".to_owned(), settings);
    scenario::identity(scenario, &parts, seed, rep)
}

/// Refuses a scenario that has no fluid form.
///
/// # Errors
/// [`Unsupported`] names the first key that has none and what is supported.
pub fn check(scenario: &Scenario) -> Result<(), Unsupported> {
    model::Model::of(scenario, scenario.seed, 0).map(|_| ())
}

/// Runs `scenario` to its end; the start times are those that the packet engine draws for
/// replication `rep` of the experiment `seed`. `watch` is called every few steps and stops the run
/// by returning false; what it has by then is the outcome.
///
/// # Errors
/// [`Unsupported`] names the first key that has no fluid form and what is supported.
pub fn simulate(
    scenario: &Scenario,
    seed: u64,
    rep: u64,
    watch: &mut dyn FnMut(Progress) -> bool,
) -> Result<Outcome, Unsupported> {
    let model = model::Model::of(scenario, seed, rep)?;
    // Some 10^5 class-steps, a hundredth of a second.
    let every = (100_000 / model.classes.len().max(1)).clamp(1, 64) as u64;
    let mut solver = Solver::new(scenario, model);
    while solver.step() {
        if solver.numerics.steps.is_multiple_of(every) && !watch(solver.progress()) {
            break;
        }
    }
    Ok(tables::outcome(scenario, solver))
}

//! The packet engine's world: packets, links, hosts, flows, probes; every packet of a scenario.
//!
//! One run is one thread and a function of the scenario, the seed and the replication: the same bits
//! on every machine, with probes or without. What is in the agenda decides the speed, so nothing is in
//! it whose time can be worked out: [`world`] says what is left.
#![forbid(unsafe_code)]

mod app;
mod arrivals;
mod build;
mod capacity;
mod fingerprint;
mod flow;
mod line;
mod link;
mod lookahead;
mod packet;
mod probe;
mod special;
mod tables;
mod tap;
mod world;

use capture::{RecordError, Recorded, Recorder};
use results::Tables;
use scenario::Scenario;
use units::Time;

use crate::build::Draw;
use crate::fingerprint::Fingerprint;
use crate::world::World;

/// Equal model versions give equal fingerprints for equal scenario, seed and replication.
pub const MODEL_VERSION: &str = "4";

/// A run has fewer flows alive at once, and fewer links, than this.
pub const MAX_FLOWS: u32 = world::MAX_INDEX;

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// Events handled.
    pub events: u64,
    /// Packets times links crossed, access links included.
    pub packet_hops: u64,
}

/// What a run gives.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The result tables.
    pub tables: Tables,
    /// 128-bit hash of what the network did.
    pub fingerprint: u128,
    /// Where the run ended.
    pub end: Progress,
    /// False when it was stopped before its duration.
    pub complete: bool,
}

/// A run that can be advanced step by step. A clone goes on without the original's recorder.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    scenario: &'a Scenario,
    world: World,
    complete: bool,
}

impl<'a> Run<'a> {
    /// Replication `rep` of the experiment `seed`, at time zero.
    pub fn new(scenario: &'a Scenario, seed: u64, rep: u64) -> Run<'a> {
        Run { scenario, world: build::world(scenario, Draw { seed, rep }), complete: false }
    }

    /// Writes down what happens from now on, which at a run's start is everything.
    pub fn record(&mut self, recorder: Recorder) {
        self.world.record(recorder);
    }

    /// Could the recorder not write something? Then the run may as well be stopped.
    pub fn record_failed(&self) -> bool {
        self.world.taps.failed()
    }

    /// Ends the recording; nothing was written without a recorder.
    ///
    /// # Errors
    /// What could not be written.
    pub fn end_record(&mut self) -> Result<Recorded, RecordError> {
        let end = self.progress().now;
        self.world.taps.take().map_or(Ok(Recorded::default()), |recorder| recorder.finish(end))
    }

    /// Handles up to `events` events; false when the run is over.
    pub fn advance(&mut self, events: u64) -> bool {
        let world = &mut self.world;
        // A trace looks at sources after each event; without one there is nothing to ask meanwhile.
        let (rounds, budget) = if world.taps.tracing() { (events, 1) } else { (1, events) };
        for _ in 0..rounds {
            let next = world.peek_traced();
            self.complete = !world.advance(budget);
            if self.complete {
                break;
            }
            if let Some((now, event)) = next {
                world.trace_event(now, event);
            }
        }
        !self.complete
    }

    /// How far the run is.
    pub fn progress(&self) -> Progress {
        let now = if self.complete { self.world.end } else { self.world.agenda.now() };
        let served: u64 = self.world.links.iter().map(|link| link.departed(now).served).sum();
        Progress {
            now,
            events: self.world.agenda.handled(),
            packet_hops: served + self.world.access_hops,
        }
    }

    /// Slots for flows: how many there are, and how many of them hold a flow. Static flows hold theirs
    /// from start to end, arriving ones while anything of them is left.
    pub fn flow_slots(&self) -> (usize, usize) {
        let slots = self.world.sources.len();
        (slots, slots - self.world.arrivals.free_slots())
    }

    /// The tables of what has happened so far.
    pub fn finish(mut self) -> Outcome {
        let end = self.progress();
        let mut fingerprint = Fingerprint::default();
        for link in &self.world.links {
            fingerprint.combine(link.fingerprint);
        }
        fingerprint.combine(self.world.deliveries);
        let tables = tables::tables(self.scenario, &mut self.world, end.now);
        Outcome { tables, fingerprint: fingerprint.bits(), end, complete: self.complete }
    }
}

/// Events between two calls of a run's `watch`.
pub const WATCH_EVENTS: u64 = 1 << 16;

/// Runs `scenario` to its end in replication `rep` of the experiment `seed`. `watch` is called every
/// [`WATCH_EVENTS`] events and stops the run by returning false; what it has by then is the outcome.
pub fn simulate(
    scenario: &Scenario,
    seed: u64,
    rep: u64,
    watch: &mut dyn FnMut(Progress) -> bool,
) -> Outcome {
    let mut run = Run::new(scenario, seed, rep);
    while run.advance(WATCH_EVENTS) && watch(run.progress()) {}
    run.finish()
}

/// As [`simulate`], with a recorder that writes while it runs.
///
/// # Errors
/// Something could not be written; the run was stopped soon after.
pub fn simulate_recorded(
    scenario: &Scenario,
    draw: (u64, u64),
    recorder: Recorder,
    watch: &mut dyn FnMut(Progress) -> bool,
) -> Result<(Outcome, Recorded), RecordError> {
    let (seed, rep) = draw;
    let mut run = Run::new(scenario, seed, rep);
    run.record(recorder);
    while run.advance(WATCH_EVENTS) && !run.record_failed() && watch(run.progress()) {}
    let recorded = run.end_record()?;
    Ok((run.finish(), recorded))
}

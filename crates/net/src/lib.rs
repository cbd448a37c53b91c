//! The packet engine's world: packets, links, hosts, flows, probes.
#![forbid(unsafe_code)]

use results::Tables;
use scenario::Scenario;
use units::Time;

/// Equal model versions give equal fingerprints for equal scenario, seed and replication.
pub const MODEL_VERSION: &str = "1";

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// Events handled.
    pub events: u64,
    /// Packets times links crossed.
    pub packet_hops: u64,
}

/// A run's outcome.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The result tables.
    pub tables: Tables,
    /// 128-bit hash of the event trace.
    pub fingerprint: u128,
    /// Where the run ended.
    pub end: Progress,
    /// False when `watch` stopped it before its duration.
    pub complete: bool,
}

/// Runs `scenario` in replication `rep` of the experiment `seed`; `watch` is called now and then and ends the run by returning false.
pub fn simulate(_scenario: &Scenario, _seed: u64, _rep: u64, _watch: &mut dyn FnMut(Progress) -> bool) -> Outcome { todo!() }

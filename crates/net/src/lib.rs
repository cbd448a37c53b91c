//! The packet engine's world: packets, links, hosts, flows, probes; every packet of a scenario.
//!
//! One run is one thread and a function of the scenario, the seed and the replication: the same
//! bits on every machine, with probes or without. What is in the agenda decides the speed, so
//! nothing is in it whose time can be worked out: [`world`] says what is left.
//!
//! A `flow` has its two hosts, a `link` its queue, routers and line; `packet` is what goes between
//! them, `islands` what border routers make of several links; `world` holds it all and handles what
//! is due, and `observe` sees it.
#![forbid(unsafe_code)]

mod flow;
mod islands;
mod link;
mod observe;
mod packet;
mod world;

use capture::{RecordError, Recorded, Recorder};
use cc::registry::Recovery;
use results::{Series, Tables};
use scenario::{AccEcn, App, Parts, Scenario};
use units::Time;

pub use crate::link::ports::{Entering, Passed, Ports};
pub use crate::observe::explain::{
    AckFacts, Code, Facts, LinkFacts, LossFacts, PacketFacts, Shown, explain,
};
pub use crate::observe::rows::MAX_ROWS;
pub use crate::packet::MAX_PACKETS;
pub use crate::world::branch::Refused;
pub use crate::world::prototypes::{Named as Prototype, named as prototypes, with_host};

use crate::link::{Counts, Link};
use crate::observe::fingerprint::Fingerprint;
use crate::observe::tables;
use crate::world::build::{self, Draw};
use crate::world::{World, branch};

/// The engine's version. Equal versions of all [`parts`] give equal fingerprints for equal
/// scenario, seed and replication.
pub const MODEL_VERSION: &str = "7";

/// The versions of the engine and of what it always uses.
pub fn own_parts() -> Parts {
    [("packet engine", MODEL_VERSION), ("transport", transport::VERSION)]
        .map(|(name, version)| (name.to_owned(), version.to_owned()))
        .into()
}

/// Name, version, and which scenarios use it.
type Part = (&'static str, &'static str, fn(&Scenario) -> bool);

/// What only some scenarios use.
const SOME: [Part; 3] = [
    // Version 1 assumed a wrap of ACE at a first ACK of any number of packets.
    ("accecn", "2", |scenario| scenario.transport.accecn == AccEcn::Ace),
    // Version 1 let the application send without its rate.
    ("offers before a proxy", "2", offers_before_proxy),
    // Version 1 did not count a retransmission's RTT for RACK.min_RTT.
    ("rack", "2", |scenario| {
        scenario.groups.iter().any(|group| group.protocol.recovery == Recovery::Rack)
    }),
];

/// The versions of what only some scenarios use.
pub fn some_parts() -> Parts {
    SOME.into_iter().map(|(name, version, _)| (name.to_owned(), version.to_owned())).collect()
}

/// The versions of all that a run of the scenario uses.
pub fn parts(scenario: &Scenario) -> Parts {
    let used = SOME.into_iter().filter(|(.., uses)| uses(scenario));
    let some = used.map(|(name, version, _)| (name.to_owned(), version.to_owned()));
    scenario::parts(scenario).into_iter().chain(own_parts()).chain(some).collect()
}

/// Does an application that offers packets at a rate stand before a proxy whose buffer has no
/// limit?
fn offers_before_proxy(scenario: &Scenario) -> bool {
    scenario.groups.iter().any(|group| match group.app {
        App::Relay { of, buffer: None } => {
            !matches!(scenario.groups[of].app, App::Greedy | App::Relay { .. })
        }
        _ => false,
    })
}

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

/// A run at an instant: its links and its groups, in the scenario's order.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// Of links.
    pub links: Vec<LinkNow>,
    /// Of groups of flows.
    pub groups: Vec<GroupNow>,
}

/// A link at an instant; all but the queue counts from the run's start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkNow {
    /// Packets that wait.
    pub queue_pkts: u32,
    /// Bits that have left.
    pub departed_bits: f64,
    /// Bits that could have left.
    pub capacity_bits: f64,
    /// Packets that were dropped.
    pub drops: u64,
}

/// The flows of a group that have begun and are not over.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GroupNow {
    /// How many they are.
    pub flows: u32,
    /// The smallest of their congestion windows, in packets; 0 if there is no flow.
    pub least_cwnd_pkts: f64,
    /// The largest.
    pub most_cwnd_pkts: f64,
    /// All together.
    pub sum_cwnd_pkts: f64,
}

impl GroupNow {
    fn add(&mut self, cwnd_pkts: f64) {
        let first = self.flows == 0;
        self.flows += 1;
        self.sum_cwnd_pkts += cwnd_pkts;
        self.most_cwnd_pkts = self.most_cwnd_pkts.max(cwnd_pkts);
        self.least_cwnd_pkts = if first { cwnd_pkts } else { self.least_cwnd_pkts.min(cwnd_pkts) };
    }
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
    /// What the user should know.
    pub warnings: Vec<String>,
    /// Why the run was given up; what the rest says is then of no use.
    pub error: Option<String>,
}

/// A run that can be advanced step by step, paused at an instant, cloned, and gone on with. A clone
/// goes on without the original's recorder.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    scenario: &'a Scenario,
    draw: Draw,
    world: World,
    /// Has everything up to the world's end happened?
    there: bool,
}

impl<'a> Run<'a> {
    /// Replication `rep` of the experiment `seed`, at time zero.
    pub fn new(scenario: &'a Scenario, seed: u64, rep: u64) -> Run<'a> {
        let draw = Draw { seed, rep };
        Run { scenario, draw, world: build::world(scenario, draw), there: false }
    }

    /// Writes down what happens from now on, which at a run's start is everything.
    pub fn record(&mut self, recorder: Recorder) {
        self.world.record(recorder);
    }

    /// Could the recorder not write something? Then the run may as well be stopped.
    pub fn record_failed(&self) -> bool {
        self.world.taps.failed()
    }

    /// Ends the recording, and with it the run: what hosts that are ahead of the clock have seen
    /// already is recorded as well. Nothing was written, and the run may go on, without a recorder.
    ///
    /// # Errors
    /// What could not be written.
    pub fn end_record(&mut self) -> Result<Recorded, RecordError> {
        if !self.world.taps.recording() {
            return Ok(Recorded::default());
        }
        self.settle();
        let end = self.progress().now;
        self.world.taps.take().map_or(Ok(Recorded::default()), |recorder| recorder.finish(end))
    }

    /// Handles up to `events` events; false when the run is over, or at [`Run::pause_at`].
    pub fn advance(&mut self, events: u64) -> bool {
        let world = &mut self.world;
        // A trace looks at sources after each event; without one there is nothing to ask meanwhile.
        let (rounds, budget) = if world.taps.tracing() { (events, 1) } else { (1, events) };
        for _ in 0..rounds {
            let next = world.peek_traced();
            self.there = !world.advance(budget);
            if self.there || world.crowded {
                break;
            }
            if let Some((now, event)) = next {
                world.trace_event(now, event);
            }
        }
        world.probes.gather(world.agenda.now(), &world.links);
        !self.there && !self.world.crowded
    }

    /// More packets are on their way than may be: the run does not go on. Names the flow that has
    /// most of them out.
    pub fn error(&self) -> Option<String> {
        self.world.crowded.then(|| tables::crowded(self.scenario, &self.world))
    }

    /// Lets the run go up to and with `at`, or to its end if that comes first, and no further. To
    /// be called at the start of a run, or where it paused: then it goes on from there.
    pub fn pause_at(&mut self, at: Time) {
        let end = at.min(self.last()).max(self.world.agenda.now());
        self.world.go_on(end);
        self.there = false;
    }

    /// The same state, from which the run goes on as `scenario`.
    ///
    /// What may differ is the duration, the probes, a link's rate, buffer and queue parameters, and
    /// when flows stop or, if that is still to come, start.
    ///
    /// # Errors
    /// [`Refused`] names the key of a change that would have made the past another one.
    ///
    /// # Panics
    /// If the run has not come to where [`Run::pause_at`] lets it go.
    pub fn branch<'b>(&self, scenario: &'b Scenario) -> Result<Run<'b>, Refused> {
        assert!(self.there, "a run branches where it paused");
        let at = self.world.end;
        branch::check(self.scenario, scenario, self.draw, at)?;
        let mut world = self.world.clone();
        branch::apply(&mut world, self.scenario, scenario, self.draw, at);
        let mut run = Run { scenario, draw: self.draw, world, there: false };
        run.pause_at(Time::NEVER);
        Ok(run)
    }

    /// Would [`Run::branch`] at `at` refuse to go on from `old` as `new`?
    ///
    /// # Errors
    /// As [`Run::branch`].
    pub fn check_branch(
        (old, new): (&Scenario, &Scenario),
        (seed, rep): (u64, u64),
        at: Time,
    ) -> Result<(), Refused> {
        branch::check(old, new, Draw { seed, rep }, at)
    }

    /// The series hold at most so many rows, [`MAX_ROWS`] unless told.
    pub fn limit_rows(&mut self, rows: u64) {
        self.world.probes.rows.limit = rows;
    }

    /// Takes out the rows of series recorded so far, for somebody who reads them while the run goes
    /// on: they are in no later answer, nor in a clone's, nor in [`Run::finish`]'s tables. Each
    /// series goes on, under its place in the answer, and new ones come behind it. Where the run
    /// paused nothing up to then is missing; elsewhere links may be behind the clock.
    pub fn take_series(&mut self) -> Vec<Series> {
        if self.there {
            self.world.probes.rows.gather(Time::NEVER);
        }
        self.world.probes.rows.take()
    }

    /// So many packets may be on their way at once, [`MAX_PACKETS`] unless told.
    pub fn limit_packets(&mut self, packets: u32) {
        self.world.pool.limit = packets;
    }

    /// When the run ends.
    fn last(&self) -> Time {
        Time::ZERO + self.scenario.duration
    }

    /// How far the run is.
    pub fn progress(&self) -> Progress {
        let now = if self.there { self.world.end } else { self.world.agenda.now() };
        let served: u64 = self.world.links.iter().map(|link| link.departed(now).served).sum();
        Progress {
            now,
            events: self.world.agenda.handled(),
            packet_hops: served + self.world.access_hops,
        }
    }

    /// What links and groups of flows are like now, for somebody who watches. Nothing is worked out
    /// for it: a link may be behind the clock, and hosts ahead of it, by up to a path's delay.
    pub fn look(&self) -> Look {
        let (world, now) = (&self.world, self.progress().now);
        let link = |link: &Link| LinkNow {
            queue_pkts: link.queue.backlog().packets,
            departed_bits: link.departed(now).bits_since(&Counts::default()),
            capacity_bits: link.capacity_bits(Time::ZERO, now),
            drops: link.counts.drops,
        };
        let mut groups = vec![GroupNow::default(); self.scenario.groups.len()];
        let flows = world.sources.len() - world.islands.len();
        for source in world.sources[..flows].iter().filter(|one| one.started && !one.finished) {
            groups[source.group as usize].add(source.sender.cwnd());
        }
        Look { links: world.links.iter().map(link).collect(), groups }
    }

    /// Slots for flows: how many there are, and how many of them hold a flow. Static flows hold
    /// theirs from start to end, arriving ones while anything of them is left.
    pub fn flow_slots(&self) -> (usize, usize) {
        let slots = self.world.sources.len() - self.world.islands.len();
        (slots, slots - self.world.arrivals.free_slots())
    }

    /// Lets happen what hosts that are ahead of the clock have seen already.
    fn settle(&mut self) {
        if !self.there && !self.world.crowded {
            self.world.set_end(self.world.ahead());
            while self.advance(u64::MAX) {}
        }
    }

    /// The tables of what has happened up to an instant: the run's end, where it paused, or, if it
    /// was stopped in between, up to a path's delay later than it was.
    pub fn finish(mut self) -> Outcome {
        self.settle();
        let end = self.progress();
        let error = self.error();
        let mut fingerprint = Fingerprint::default();
        for link in &self.world.links {
            fingerprint.combine(link.fingerprint);
        }
        fingerprint.combine(self.world.deliveries);
        if let Some(ingresses) = self.world.islands.fingerprint() {
            fingerprint.combine(ingresses);
        }
        let warnings = self.world.probes.rows.warning().into_iter().collect();
        let tables = tables::tables(self.scenario, &mut self.world, end.now);
        let complete = end.now == self.last() && error.is_none();
        Outcome { tables, fingerprint: fingerprint.bits(), end, complete, warnings, error }
    }
}

/// Events between two calls of a run's `watch`.
pub const WATCH_EVENTS: u64 = 1 << 16;

/// Runs `scenario` to its end in replication `rep` of the experiment `seed`. `watch` sees the run
/// every [`WATCH_EVENTS`] events and stops it by returning false; what it has by then is the
/// outcome.
pub fn simulate(
    scenario: &Scenario,
    seed: u64,
    rep: u64,
    watch: &mut dyn FnMut(&Run<'_>) -> bool,
) -> Outcome {
    let mut run = Run::new(scenario, seed, rep);
    while run.advance(WATCH_EVENTS) && watch(&run) {}
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
    watch: &mut dyn FnMut(&Run<'_>) -> bool,
) -> Result<(Outcome, Recorded), RecordError> {
    let (seed, rep) = draw;
    let mut run = Run::new(scenario, seed, rep);
    run.record(recorder);
    while run.advance(WATCH_EVENTS) && !run.record_failed() && watch(&run) {}
    let recorded = run.end_record()?;
    Ok((run.finish(), recorded))
}

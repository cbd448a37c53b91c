//! Pausing a run at an instant, and going on.
//!
//! Hosts are run ahead of the clock, but never beyond [`World::end`]: with the end at the instant
//! of the pause, everything up to it has happened and nothing after it has. Packets that reach a
//! prompt host after the pause wait in its line with an event, as for a host that is not prompt.
//! Going on, such a host takes events until its line holds no packet of before, and is prompt
//! again.
//!
//! A sample of hosts is such a pause, just before its instant.

use units::Time;

use crate::flow::{Sink, Source};
use crate::world::World;

impl World {
    /// Nothing has happened later than this: hosts may be ahead of the clock by up to a path's
    /// delay.
    pub fn ahead(&self) -> Time {
        let sources = self.sources.iter().map(|source| {
            source.down_hop.free() + self.accesses[source.access as usize].source_owd
        });
        let sinks = self
            .sinks
            .iter()
            .map(|sink| sink.down_hop.free() + self.accesses[sink.access as usize].sink_owd);
        let hosts = sources.chain(sinks).max().unwrap_or(Time::ZERO);
        hosts.max(self.agenda.now()).min(self.end)
    }

    /// The run is to end at `end`.
    pub fn set_end(&mut self, end: Time) {
        self.end = end;
        self.set_reach();
    }

    /// Hosts are run ahead up to the end, and not up to the instant at which they are sampled next.
    pub fn set_reach(&mut self) {
        let before = |sample: Time| Time(sample.0.saturating_sub(1));
        self.source_reach = self.end.min(before(self.probes.next_of_sources()));
        self.sink_reach = self.end.min(before(self.probes.next_of_sinks()));
    }

    /// Goes on to `end` after a pause at the present end.
    pub fn go_on(&mut self, end: Time) {
        self.set_end(end);
        self.hold();
    }

    /// Goes on after a sample.
    pub fn go_on_sampled(&mut self) {
        let reach = |world: &World| (world.source_reach, world.sink_reach);
        let before = reach(self);
        self.set_reach();
        if reach(self) != before {
            self.hold();
        }
    }

    fn hold(&mut self) {
        for source in &mut self.sources {
            hold_source(source, source.prompt || source.held);
        }
        for sink in &mut self.sinks {
            hold_sink(sink, sink.prompt || sink.held);
        }
    }
}

/// Lets a source be prompt, now or when its line is empty; or not.
pub fn hold_source(source: &mut Source, prompt: bool) {
    source.held = prompt && !source.ack_down.is_empty();
    source.prompt = prompt && !source.held;
}

/// As [`hold_source`], for a sink.
pub fn hold_sink(sink: &mut Sink, prompt: bool) {
    sink.held = prompt && !sink.down.is_empty();
    sink.prompt = prompt && !sink.held;
}

//! Pausing a run at an instant, and going on.
//!
//! Hosts are run ahead of the clock, but never beyond [`World::end`]: with the end at the instant
//! of the pause, everything up to it has happened and nothing after it has. Packets that reach a
//! prompt host after the pause wait in its line with an event, as for a host that is not prompt.
//! Going on, such a host takes what its line holds up to the next pause at once. Where more is left
//! it takes events until its line holds no packet of before, and is prompt again.
//!
//! A sample of hosts is such a pause, just before its instant.

use units::Time;

use crate::flow::{Sink, Source};
use crate::world::{Due, World, event};

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
        for flow in 0..self.sources.len() as u32 {
            let source = &self.sources[flow as usize];
            if source.prompt || source.held {
                self.empty_to_source(flow);
            }
        }
        for flow in 0..self.sinks.len() as u32 {
            let sink = &self.sinks[flow as usize];
            if sink.prompt || sink.held {
                self.empty_to_sink(flow);
            }
        }
    }

    /// Runs a source ahead by the ACKs in its line.
    fn empty_to_source(&mut self, flow: u32) {
        let (reach, first) = (self.source_reach, self.sources[flow as usize].ack_down.due());
        while self.sources[flow as usize].ack_down.due() <= reach {
            let line = &mut self.sources[flow as usize].ack_down;
            let due = line.due();
            let Some((id, _)) = line.pop(&self.pool, due) else { break };
            self.settle_source(due, flow);
            self.acknowledged(due, flow, id);
        }
        let source = &mut self.sources[flow as usize];
        hold_source(source, true);
        if source.held && source.ack_down.due() != first {
            self.agenda.at(source.ack_down.due(), event(Due::AckDown, flow));
        }
    }

    /// Runs a sink ahead by the data in its line.
    fn empty_to_sink(&mut self, flow: u32) {
        let (reach, first) = (self.sink_reach, self.sinks[flow as usize].down.due());
        while self.sinks[flow as usize].down.due() <= reach {
            let line = &mut self.sinks[flow as usize].down;
            let due = line.due();
            let Some((id, _)) = line.pop(&self.pool, due) else { break };
            self.deliver(due, flow, id);
        }
        let sink = &mut self.sinks[flow as usize];
        hold_sink(sink, true);
        if sink.held && sink.down.due() != first {
            self.agenda.at(sink.down.due(), event(Due::Down, flow));
        }
    }
}

/// Lets a source be prompt, now or when its line is empty; or not.
pub fn hold_source(source: &mut Source, prompt: bool) {
    source.held = prompt && source.ack_down.due() != Time::NEVER;
    source.prompt = prompt && !source.held;
}

/// As [`hold_source`], for a sink.
pub fn hold_sink(sink: &mut Sink, prompt: bool) {
    sink.held = prompt && sink.down.due() != Time::NEVER;
    sink.prompt = prompt && !sink.held;
}

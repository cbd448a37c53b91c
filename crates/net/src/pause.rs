//! Pausing a run at an instant, and going on.
//!
//! Hosts are run ahead of the clock, but never beyond [`World::end`]: with the end at the instant of
//! the pause, everything up to it has happened and nothing after it has. Packets that reach a prompt
//! host after the pause wait in its line with an event, as for a host that is not prompt. Going on,
//! such a host takes events until its line holds no packet of before, and is prompt again.

use units::Time;

use crate::flow::{Sink, Source};
use crate::world::{Due, World, event};

impl World {
    /// Nothing has happened later than this: hosts may be ahead of the clock by up to a path's delay.
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

    /// Goes on to `end` after a pause at the present end.
    pub fn go_on(&mut self, end: Time) {
        self.end = end;
        for source in &mut self.sources {
            hold_source(source, source.prompt || source.held);
        }
        for sink in &mut self.sinks {
            hold_sink(sink, sink.prompt || sink.held);
        }
    }

    /// The first ACK of those that a pause left in the line is at its source: so are, as soon as one
    /// asks, the others.
    #[cold]
    pub fn release_source(&mut self, now: Time, flow: u32, first: (u32, Option<Time>)) {
        let (id, mut next) = first;
        let source = &mut self.sources[flow as usize];
        (source.held, source.prompt) = (false, true);
        self.settle_source(now, flow);
        self.acknowledged(now, flow, id);
        while let Some(due) = next {
            if due > self.end {
                return self.agenda.at(due, event(Due::AckDown, flow));
            }
            let Some((id, after)) = self.sources[flow as usize].ack_down.pop(&self.pool) else {
                return;
            };
            self.settle_source(due, flow);
            self.acknowledged(due, flow, id);
            next = after;
        }
    }

    /// As [`World::release_source`], for data at its sink.
    #[cold]
    pub fn release_sink(&mut self, now: Time, flow: u32, first: (u32, Option<Time>)) {
        let (id, mut next) = first;
        let sink = &mut self.sinks[flow as usize];
        (sink.held, sink.prompt) = (false, true);
        self.deliver(now, flow, id);
        while let Some(due) = next {
            if due > self.end {
                return self.agenda.at(due, event(Due::Down, flow));
            }
            let Some((id, after)) = self.sinks[flow as usize].down.pop(&self.pool) else { return };
            self.deliver(due, flow, id);
            next = after;
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

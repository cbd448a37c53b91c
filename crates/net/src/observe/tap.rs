//! Taps: what a link's packets and a flow's source show to a [`Recorder`], for captures and traces.
//!
//! A tapped link is not plain, and a source that is traced or logged is not prompt; without a
//! recorder nothing here is called for a packet. What is recorded changes nothing but the number of
//! events.

use capture::{AccEcn, Blocks, Departure, Recorder, Segments, SenderState};
use cc::roles::{Ecn, PacketKind};
use transport::accecn::Told;
use units::Time;

use crate::flow::Source;
use crate::observe::log::Logs;
use crate::packet::{NONE, Packet, Pool};
use crate::world::pause::hold_source;
use crate::world::{Due, INDEX_BITS, MAX_INDEX, World};

/// The recorder of a run, if it has one.
#[derive(Debug, Default)]
pub struct Taps {
    pub(super) recorder: Option<Box<Recorder>>,
    /// Are the sources traced or logged?
    tracing: bool,
    /// Are any logged?
    logging: bool,
    /// For those that are.
    pub(super) logs: Logs,
    /// The number of each packet's life, by its place in the pool.
    lives: Vec<u64>,
    /// Lives so far.
    born: u64,
}

/// Two runs cannot write one file: the recorder stays with the original, and a copy goes on
/// unrecorded.
impl Clone for Taps {
    fn clone(&self) -> Taps {
        Taps::default()
    }
}

impl Taps {
    /// Could something not be written?
    pub fn failed(&self) -> bool {
        self.recorder.as_ref().is_some_and(|recorder| recorder.failed())
    }

    /// Are the sources traced or logged?
    #[inline]
    pub fn tracing(&self) -> bool {
        self.tracing
    }

    /// Is there a recorder?
    pub fn recording(&self) -> bool {
        self.recorder.is_some()
    }

    /// Gives the recorder back.
    pub fn take(&mut self) -> Option<Recorder> {
        (self.tracing, self.logging) = (false, false);
        self.recorder.take().map(|recorder| *recorder)
    }

    /// Is this flow logged?
    pub(super) fn logs_flow(&self, flow: u32) -> bool {
        self.recorder.as_ref().is_some_and(|recorder| recorder.logs(flow))
    }

    /// The life of a packet: a new one where data enters its first named link. Its ACK has its
    /// place in the pool, and so its life.
    fn life(&mut self, id: u32, born: bool) -> u64 {
        let place = id as usize;
        if place >= self.lives.len() {
            self.lives.resize(place + 1, 0);
        }
        if born {
            self.born += 1;
            self.lives[place] = self.born;
        }
        self.lives[place]
    }
}

impl World {
    /// Shows the recorder what it wants to see from now on.
    pub(crate) fn record(&mut self, recorder: Recorder) {
        for (i, link) in self.links.iter_mut().enumerate() {
            link.plain &= !recorder.taps(i);
        }
        self.taps.logging = recorder.logs_any();
        self.taps.tracing = recorder.traces() || self.taps.logging;
        if self.taps.tracing {
            self.sources.iter_mut().for_each(|source| hold_source(source, false));
            self.arrivals.trace();
        }
        self.taps.recorder = Some(Box::new(recorder));
    }

    /// A packet's service at a link that is not plain has started at `start`.
    #[cold]
    #[inline(never)]
    pub(crate) fn tapped(&mut self, start: Time, link: u32, id: u32) {
        if self.taps.recorder.is_none() {
            return;
        }
        let World { taps, links, pool, sources, annals, data_bytes, .. } = self;
        let packet = &pool[id];
        // Traces follow a packet over all links, captures do not.
        let born = packet.kind == PacketKind::Data && packet.hop == 0;
        let life = if taps.tracing { taps.life(id, born) } else { 0 };
        let Some(recorder) = taps.recorder.as_mut().filter(|r| r.taps(link as usize)) else {
            return;
        };
        let sack = blocks(pool, packet);
        let line = &links[link as usize];
        let flow = packet.flow as usize;
        let accecn = accecn(pool, packet, &sources[flow]);
        recorder.departed(Departure {
            link,
            start,
            end: line.service_ends(),
            flow: packet.flow,
            kind: packet.kind,
            seq: packet.seq,
            size: packet.size,
            ecn: packet.ecn,
            signal: packet.signal,
            retransmission: packet.retransmission,
            header: packet.header,
            sack,
            accecn,
            segments: Segments {
                full_bytes: *data_bytes,
                last_seq: sources[flow].last_seq,
                last_bytes: annals[flow].last_bytes,
                first_byte: sources[flow].sender.first_byte(),
            },
            life,
            waiting: line.queue.backlog().packets,
        });
    }

    /// The next event, if what it does to a source is to be traced.
    pub(crate) fn peek_traced(&mut self) -> Option<(Time, u32)> {
        if !self.taps.tracing {
            return None;
        }
        let (now, event) = self.agenda.peek()?;
        if self.taps.logging {
            self.before_event(now, event);
        }
        Some((now, event))
    }

    /// Shows the recorder what an event has done to a source.
    #[cold]
    pub(crate) fn trace_event(&mut self, now: Time, event: u32) {
        if self.taps.logging {
            self.after_event(now);
        }
        let (due, index) = (event >> INDEX_BITS, event & (MAX_INDEX - 1));
        if [Due::AckDown, Due::FlowTimer, Due::Pace].iter().any(|&of| of as u32 == due) {
            self.trace_state(now, index);
        }
    }

    fn trace_state(&mut self, now: Time, flow: u32) {
        let Some(recorder) = &mut self.taps.recorder else { return };
        recorder.sender(now, &sender_state(flow, &self.sources[flow as usize]));
    }
}

/// What a trace shows of a source.
pub(super) fn sender_state(flow: u32, source: &Source) -> SenderState {
    let outbound = &source.outbound;
    SenderState {
        flow,
        group: source.group,
        cwnd: source.sender.cwnd(),
        srtt: outbound.srtt(),
        timeouts: outbound.timeouts(),
        fast_retransmits: outbound.fast_retransmits(),
    }
}

/// AccECN's fields of a packet. Nothing that comes to a source is ECN-capable, so what data says of
/// it is what the counters start at.
fn accecn(pool: &Pool, packet: &Packet, source: &Source) -> Option<AccEcn> {
    source.accecn.as_ref()?;
    let field = match packet.sack() {
        NONE => Told::new(false).ack(),
        side => pool.field(side),
    };
    Some(AccEcn { field, ones: source.code == Ecn::Ect1 })
}

/// The SACK blocks of an ACK.
pub(super) fn blocks(pool: &Pool, packet: &Packet) -> Blocks {
    let mut sack = Blocks::default();
    if packet.sack() != NONE {
        let blocks = pool.sack(packet.sack()).as_slice();
        blocks.iter().for_each(|block| sack.push(block.start, block.end));
    }
    sack
}

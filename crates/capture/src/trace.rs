//! A run as a Perfetto trace.
//!
//! Tracks: `links` with one track per link, on which every packet is a slice from its first bit to
//! its last, and below it a counter of the packets waiting when that first bit left; `flows` with
//! one track per flow, on which timeouts and fast retransmits are instants, and counters of its
//! window and its smoothed RTT. Slices of a data packet and of the ACK that it causes are joined by
//! arrows.

use std::io::{self, Write};

use units::Time;

use crate::proto::{CounterDescriptor, TracePacket, TrackDescriptor, TrackEvent, Type};
use crate::{Departure, SenderState, nanos};
use cc::roles::PacketKind;

/// The one writer of a trace.
const SEQUENCE: u32 = 1;
/// The flag SEQ_INCREMENTAL_STATE_CLEARED.
const STATE_CLEARED: u32 = 1;

// Numbers of tracks; 0 is Perfetto's own.
const LINKS: u64 = 1;
const FLOWS: u64 = 2;
const FIRST_LINK: u64 = 3;

/// A trace being written.
pub struct TraceWriter<W: Write> {
    out: W,
    bytes: u64,
    limit: u64,
    links: u64,
    groups: Vec<String>,
    /// What is known of each flow that has a track.
    flows: Vec<Option<Known>>,
    /// What happened at once, written whole or not at all.
    batch: Vec<u8>,
    stopped: Option<Time>,
}

/// The last state that was written of a source.
#[derive(Clone, Copy)]
struct Known {
    cwnd: f64,
    srtt_ns: Option<u64>,
    timeouts: u32,
    fast_retransmits: u32,
}

impl<W: Write> TraceWriter<W> {
    /// Writes the tracks of the links; nothing is written beyond `limit` bytes.
    pub fn new(
        out: W,
        links: &[String],
        groups: Vec<String>,
        limit: u64,
    ) -> io::Result<TraceWriter<W>> {
        let mut writer = TraceWriter {
            out,
            bytes: 0,
            limit,
            links: links.len() as u64,
            groups,
            flows: Vec::new(),
            batch: Vec::new(),
            stopped: None,
        };
        writer.track(LINKS, None, "links", None);
        writer.track(FLOWS, None, "flows", None);
        for (track, name) in (FIRST_LINK..).step_by(2).zip(links) {
            writer.track(track, Some(LINKS), name, None);
            writer.track(track + 1, Some(track), &format!("{name} queue"), Some("packets"));
        }
        writer.commit(Time::ZERO)?;
        Ok(writer)
    }

    /// A packet's way over a link.
    pub fn departed(&mut self, packet: &Departure) -> io::Result<()> {
        if self.stopped.is_some() {
            return Ok(());
        }
        let track = FIRST_LINK + 2 * u64::from(packet.link);
        let Departure { flow, seq, start, end, .. } = *packet;
        let name = match packet.kind {
            PacketKind::Data if packet.retransmission => {
                format!("flow {flow} seq {seq} retransmission")
            }
            PacketKind::Data => format!("flow {flow} seq {seq}"),
            PacketKind::Ack => format!("flow {flow} ack {seq}"),
        };
        let mut begin = event(Type::SliceBegin, track);
        begin.name = Some(name);
        begin.flow_ids = vec![packet.life];
        self.put(start, begin);
        let mut waiting = event(Type::Counter, track + 1);
        waiting.counter_value = Some(i64::from(packet.waiting));
        self.put(start, waiting);
        self.put(end, event(Type::SliceEnd, track));
        self.commit(end)
    }

    /// A source did something at `now`; what has not changed is not written again.
    pub fn sender(&mut self, now: Time, state: &SenderState) -> io::Result<()> {
        if self.stopped.is_some() {
            return Ok(());
        }
        let flow = state.flow as usize;
        if flow >= self.flows.len() {
            self.flows.resize(flow + 1, None);
        }
        let track = FIRST_LINK + 2 * self.links + 3 * u64::from(state.flow);
        let before = self.flows[flow];
        if before.is_none() {
            self.flow_tracks(track, state);
        }
        let new = Known {
            cwnd: state.cwnd,
            srtt_ns: state.srtt.map(|srtt| srtt.0 / 1000),
            timeouts: state.timeouts,
            fast_retransmits: state.fast_retransmits,
        };
        let old = before.unwrap_or(Known {
            cwnd: f64::NAN,
            srtt_ns: None,
            timeouts: 0,
            fast_retransmits: 0,
        });
        for (name, more) in [
            ("timeout", new.timeouts > old.timeouts),
            ("fast retransmit", new.fast_retransmits > old.fast_retransmits),
        ] {
            if more {
                let mut instant = event(Type::Instant, track);
                instant.name = Some(name.to_owned());
                self.put(now, instant);
            }
        }
        if new.cwnd != old.cwnd {
            let mut cwnd = event(Type::Counter, track + 1);
            cwnd.double_counter_value = Some(new.cwnd);
            self.put(now, cwnd);
        }
        if let Some(ns) = new.srtt_ns.filter(|_| new.srtt_ns != old.srtt_ns) {
            let mut srtt = event(Type::Counter, track + 2);
            srtt.double_counter_value = Some(ns as f64 / 1e6);
            self.put(now, srtt);
        }
        self.flows[flow] = Some(new);
        self.commit(now)
    }

    /// Hands everything to the system; the bytes written, and when the limit was reached.
    pub fn finish(mut self) -> io::Result<(u64, Option<Time>)> {
        self.out.flush()?;
        Ok((self.bytes, self.stopped))
    }

    fn flow_tracks(&mut self, track: u64, state: &SenderState) {
        let group = self.groups.get(state.group as usize).map_or("", String::as_str);
        let name = format!("flow {} {group}", state.flow);
        self.track(track, Some(FLOWS), name.trim_end(), None);
        self.track(track + 1, Some(track), &format!("{} cwnd", name.trim_end()), Some("packets"));
        self.track(track + 2, Some(track), &format!("{} srtt", name.trim_end()), Some("ms"));
    }

    fn track(&mut self, uuid: u64, parent: Option<u64>, name: &str, unit: Option<&str>) {
        let first = self.bytes == 0 && self.batch.is_empty();
        let counter = unit.map(|unit| CounterDescriptor { unit_name: Some(unit.to_owned()) });
        let descriptor = TrackDescriptor {
            uuid: Some(uuid),
            name: Some(name.to_owned()),
            parent_uuid: parent,
            counter,
        };
        self.append(TracePacket {
            sequence_flags: first.then_some(STATE_CLEARED),
            track_descriptor: Some(descriptor),
            ..TracePacket::default()
        });
    }

    fn put(&mut self, t: Time, event: TrackEvent) {
        self.append(TracePacket {
            timestamp: Some(nanos(t)),
            track_event: Some(event),
            ..TracePacket::default()
        });
    }

    /// As the next element of [`crate::proto::Trace::packet`].
    fn append(&mut self, packet: TracePacket) {
        let packet = TracePacket { trusted_packet_sequence_id: Some(SEQUENCE), ..packet };
        prost::encoding::message::encode(1, &packet, &mut self.batch);
    }

    /// Writes what belongs together, if the limit allows it.
    fn commit(&mut self, now: Time) -> io::Result<()> {
        let bytes = self.bytes + self.batch.len() as u64;
        if bytes > self.limit {
            self.stopped = Some(now);
            self.batch = Vec::new();
            return Ok(());
        }
        self.out.write_all(&self.batch)?;
        self.bytes = bytes;
        self.batch.clear();
        Ok(())
    }
}

fn event(kind: Type, track: u64) -> TrackEvent {
    TrackEvent { r#type: Some(kind.into()), track_uuid: Some(track), ..TrackEvent::default() }
}

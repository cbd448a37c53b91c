//! A flow's source as a qlog file: draft-ietf-quic-qlog-main-schema-14 in its sequential form
//! (JSON-SEQ, RFC 7464), with the events of draft-ietf-quic-qlog-quic-events-13.
//!
//! qlog is made for QUIC. What is said here of a source of segments in its terms:
//!
//! - A packet's number is its segment's, so a retransmission has the number of what it repeats. Its
//!   data is a frame of stream 0, whose offset is the number times the payload of a full packet.
//! - An ACK is a received packet, counted as it comes, with an ACK frame: from what was not
//!   acknowledged before up to the cumulative number, and the SACK blocks.
//! - Windows are in bytes on the wire, the unit in which `raw.length` is.
//! - What has no field in the drafts is in one of our own, `clearpipe`, which they allow any event
//!   to have: ECN bits, the protocol's header, its variables.
//!
//! docs/howto/captures.md has the whole table.

use std::io::{self, Write};

use cc::registry::AnyHeader;
use cc::roles::Ecn;
use serde::Serialize;
use serde_json::{Map, Value, json};
use units::{Rate, Span, Time};

use crate::wire::Cut;
use crate::{Blocks, Segments, SenderState};

/// The edition of the events.
pub const EVENTS: &str = "urn:ietf:params:qlog:events:quic-13";
const SIMULATION: &str = "urn:ietf:params:qlog:events:simulation";
const FILE: &str = "urn:ietf:params:qlog:file:sequential";
/// What begins a record (RFC 7464).
const RECORD: u8 = 0x1e;
/// There is no handshake, so all packets are of this type.
const PACKET_TYPE: &str = "1RTT";
/// The variable of a protocol that is its slow start threshold [packets].
const SSTHRESH: &str = "ssthresh";
/// The one that is its window [packets], which is said otherwise.
const CWND: &str = "cwnd";

/// What a log says of its flow before anything happens.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// The scenario's name.
    pub scenario: String,
    /// The flow's group.
    pub group: String,
    /// Its protocol.
    pub protocol: String,
    /// The experiment's seed and the replication.
    pub draw: (u64, u64),
    /// Size of a full packet [bytes on the wire].
    pub packet_bytes: u32,
    /// Duplicate ACKs, or SACKed segments above a hole, that make a loss.
    pub dup_thresh: u32,
    /// G of the retransmission timer (RFC 6298).
    pub granularity: Span,
}

/// Where loss recovery stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mending {
    /// Nothing is being mended.
    Nothing,
    /// Fast recovery.
    Fast,
    /// What was sent before a timeout is sent again.
    Timeout,
}

/// An ACK at its source.
#[derive(Clone, Copy, Debug)]
pub struct AckHeard {
    /// ACKs so far, this one not.
    pub number: u64,
    /// Size on the wire [bytes].
    pub size: u32,
    /// The next segment that the receiver expects.
    pub cumulative: u64,
    /// SACK blocks, the most recent first.
    pub sack: Blocks,
    /// RTT of the segment that caused it, if that was sent once only.
    pub rtt: Option<Span>,
    /// The code that it brings back.
    pub ecn: Ecn,
    /// RFC 3168's ECE.
    pub ece: bool,
    /// The protocol's header.
    pub header: AnyHeader,
}

/// Why a segment was sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// It is lost, or may be.
    Hole,
    /// It is a probe (RFC 8985, section 7).
    Probe,
}

/// A segment that has left.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Its number.
    pub seq: u64,
    /// Size on the wire [bytes].
    pub size: u32,
    /// Its ECN bits.
    pub ecn: Ecn,
    /// RFC 3168's CWR.
    pub cwr: bool,
    /// Why, if it was sent before.
    pub again: Option<Again>,
    /// The protocol's header.
    pub header: AnyHeader,
}

/// What one event did to a source.
#[derive(Debug)]
pub struct News<'a> {
    /// The ACK that it was, if it was one.
    pub ack: Option<AckHeard>,
    /// Segments that count as lost since, in ascending order.
    pub lost: &'a [u64],
    /// Segments sent.
    pub sent: &'a [Sent],
    /// The source after it.
    pub state: SenderState,
    /// Smallest RTT, and the variation of RFC 6298.
    pub rtts: Option<(Span, Span)>,
    /// Segments in the network as recovery estimates it; `None` where ACKs do not say.
    pub in_flight: Option<u32>,
    /// The pace.
    pub pacing: Option<Rate>,
    /// Where loss recovery stands.
    pub mending: Mending,
    /// Are losses found by time?
    pub by_time: bool,
    /// The protocol's variables.
    pub variables: &'a [(&'static str, f64)],
    /// How the flow's data is cut.
    pub segments: Segments,
}

/// A log being written.
pub struct QlogWriter<W: Write> {
    out: W,
    about: About,
    begun: bool,
    events: u64,
    /// What was acknowledged cumulatively.
    acked: u64,
    timeouts: u32,
    mode: &'static str,
    metrics: Metrics,
    variables: Vec<(&'static str, f64)>,
}

/// The fields of `recovery_metrics_updated` that there are; those that have not changed are left
/// out.
#[derive(Clone, Copy, Default, PartialEq, Serialize)]
struct Metrics {
    #[serde(skip_serializing_if = "Option::is_none")]
    min_rtt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    smoothed_rtt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latest_rtt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rtt_variance: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    congestion_window: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_in_flight: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ssthresh: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    packets_in_flight: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pacing_rate: Option<u64>,
}

impl Metrics {
    fn of(news: &News<'_>, before: &Metrics, packet_bytes: u32) -> Metrics {
        let full = u64::from(packet_bytes);
        let bytes = |packets: f64| (packets * f64::from(packet_bytes)).round() as u64;
        let ssthresh = news.variables.iter().find(|(name, _)| *name == SSTHRESH);
        // Before the first loss it is as good as infinite, which no number of bytes is.
        let ssthresh = ssthresh.map(|&(_, packets)| packets).filter(|packets| *packets < 1e12);
        let in_flight = news.in_flight.map(u64::from);
        Metrics {
            min_rtt: news.rtts.map(|(least, _)| ms(least)),
            smoothed_rtt: news.state.srtt.map(ms),
            latest_rtt: news.ack.and_then(|ack| ack.rtt).map(ms).or(before.latest_rtt),
            rtt_variance: news.rtts.map(|(_, variation)| ms(variation)),
            congestion_window: Some(bytes(news.state.cwnd)),
            bytes_in_flight: in_flight.map(|packets| packets * full),
            ssthresh: ssthresh.map(bytes),
            packets_in_flight: in_flight,
            pacing_rate: news.pacing.map(|rate| rate.0),
        }
    }

    /// What is not as it was.
    fn since(&self, before: &Metrics) -> Metrics {
        fn new<T: PartialEq + Copy>(now: Option<T>, before: Option<T>) -> Option<T> {
            now.filter(|_| now != before)
        }
        Metrics {
            min_rtt: new(self.min_rtt, before.min_rtt),
            smoothed_rtt: new(self.smoothed_rtt, before.smoothed_rtt),
            latest_rtt: new(self.latest_rtt, before.latest_rtt),
            rtt_variance: new(self.rtt_variance, before.rtt_variance),
            congestion_window: new(self.congestion_window, before.congestion_window),
            bytes_in_flight: new(self.bytes_in_flight, before.bytes_in_flight),
            ssthresh: new(self.ssthresh, before.ssthresh),
            packets_in_flight: new(self.packets_in_flight, before.packets_in_flight),
            pacing_rate: new(self.pacing_rate, before.pacing_rate),
        }
    }
}

/// A record.
#[derive(Serialize)]
struct Event<'a, D> {
    time: f64,
    name: &'a str,
    data: D,
    #[serde(skip_serializing_if = "Map::is_empty")]
    clearpipe: Map<String, Value>,
}

impl<W: Write> QlogWriter<W> {
    /// Writes the head of the log of the flow of this number.
    pub fn new(out: W, flow: u32, about: About) -> io::Result<QlogWriter<W>> {
        let mut writer = QlogWriter {
            out,
            about,
            begun: false,
            events: 0,
            acked: 0,
            timeouts: 0,
            mode: "",
            metrics: Metrics::default(),
            variables: Vec::new(),
        };
        let About { scenario, group, protocol, draw: (seed, rep), .. } = &writer.about;
        let head = json!({
            "file_schema": FILE,
            "serialization_format": "application/qlog+json-seq",
            "title": format!("{scenario}: flow {flow}"),
            "trace": {
                "description": "The flow's source in a simulation. Times count from its start.",
                "common_fields": {
                    "group_id": format!("flow {flow}"),
                    "time_format": "relative_to_epoch",
                    "reference_time": { "clock_type": "monotonic", "epoch": "unknown" },
                },
                "vantage_point": { "name": format!("flow {flow} {group}"), "type": "client" },
                "event_schemas": [EVENTS, SIMULATION],
            },
        });
        let details = json!({
            "flow": flow, "group": group, "protocol": protocol, "seed": seed, "rep": rep,
        });
        let scenario = json!({ "name": scenario, "details": details });
        writer.record(&head)?;
        writer.event(Time::ZERO, "simulation:scenario", scenario)?;
        Ok(writer)
    }

    /// Something happened to the source at `now`. What is not `wanted` is not written, only known.
    pub fn news(&mut self, now: Time, news: &News<'_>, wanted: bool) -> io::Result<()> {
        if !self.begun {
            self.begun = true;
            self.parameters(now, news)?;
        }
        let timeout = news.state.timeouts > self.timeouts;
        self.timeouts = news.state.timeouts;
        if wanted {
            if let Some(ack) = &news.ack {
                self.received(now, ack)?;
            }
            if timeout {
                let data = json!({ "timer_type": "pto", "event_type": "expired" });
                self.event(now, "quic:timer_updated", data)?;
            }
            for &seq in news.lost {
                let trigger = match (timeout, news.by_time) {
                    (true, _) => "pto_expired",
                    (false, true) => "time_threshold",
                    (false, false) => "reordering_threshold",
                };
                let header = json!({ "packet_type": PACKET_TYPE, "packet_number": seq });
                let data = json!({ "header": header, "trigger": trigger });
                self.event(now, "quic:packet_lost", data)?;
            }
        }
        self.enters(now, news, (timeout, wanted))?;
        if wanted {
            for sent in news.sent {
                self.sent(now, sent, news)?;
            }
            self.measures(now, news)?;
        }
        self.acked = self.acked.max(news.ack.map_or(0, |ack| ack.cumulative));
        Ok(())
    }

    /// Hands everything to the system; the number of events written.
    pub fn finish(mut self) -> io::Result<u64> {
        self.out.flush()?;
        Ok(self.events)
    }

    fn parameters(&mut self, now: Time, news: &News<'_>) -> io::Result<()> {
        let About { packet_bytes, dup_thresh, granularity, .. } = self.about;
        let window = (news.state.cwnd * f64::from(packet_bytes)).round() as u64;
        let data = json!({
            "reordering_threshold": dup_thresh.min(u16::MAX.into()),
            "timer_granularity": (ms(granularity).round() as u64).min(u16::MAX.into()),
            "max_datagram_size": packet_bytes,
            "initial_congestion_window": window,
        });
        self.event(now, "quic:recovery_parameters_set", data)
    }

    fn received(&mut self, now: Time, ack: &AckHeard) -> io::Result<()> {
        let mut ranges: Vec<Value> = Vec::new();
        if ack.cumulative > self.acked {
            ranges.push(range(self.acked, ack.cumulative));
        }
        ranges.extend(ack.sack.as_slice().iter().map(|&(start, end)| range(start, end)));
        let mut frame = Map::new();
        frame.insert("frame_type".to_owned(), json!("ack"));
        if !ranges.is_empty() {
            frame.insert("acked_ranges".to_owned(), Value::Array(ranges));
        }
        let data = json!({
            "header": { "packet_type": PACKET_TYPE, "packet_number": ack.number },
            "frames": [frame],
            "raw": { "length": ack.size },
        });
        let own = own(ack.ecn, ("ece", ack.ece), &ack.header);
        self.put(now, "quic:packet_received", data, own)
    }

    fn sent(&mut self, now: Time, sent: &Sent, news: &News<'_>) -> io::Result<()> {
        let cut = Cut::of(&sent.header, news.segments);
        let payload = cut.payload(sent.size);
        let mut frame = json!({
            "frame_type": "stream",
            "stream_id": 0,
            "offset": cut.offset(sent.seq),
            "raw": { "payload_length": payload },
        });
        if sent.seq == news.segments.last_seq {
            frame["fin"] = json!(true);
        }
        let mut data = json!({
            "header": { "packet_type": PACKET_TYPE, "packet_number": sent.seq },
            "frames": [frame],
            "raw": { "length": sent.size, "payload_length": payload },
        });
        if let Some(again) = sent.again {
            data["trigger"] = json!(match (again, news.mending) {
                (Again::Probe, _) => "pto_probe",
                (Again::Hole, Mending::Timeout) => "retransmit_timeout",
                (Again::Hole, _) => "retransmit_reordered",
            });
        }
        let own = own(sent.ecn, ("cwr", sent.cwr), &sent.header);
        self.put(now, "quic:packet_sent", data, own)
    }

    /// The source is in another state than before: RFC 9002's, where the protocol has a slow start
    /// threshold.
    fn enters(
        &mut self,
        now: Time,
        news: &News<'_>,
        (timeout, wanted): (bool, bool),
    ) -> io::Result<()> {
        let ssthresh = news.variables.iter().find(|(name, _)| *name == SSTHRESH);
        let mode = match (news.mending, ssthresh) {
            (Mending::Fast, _) => "recovery",
            (Mending::Timeout, _) => "timeout",
            (Mending::Nothing, None) => "open",
            (Mending::Nothing, Some(&(_, packets))) if news.state.cwnd < packets => "slow_start",
            (Mending::Nothing, Some(_)) => "congestion_avoidance",
        };
        let old = std::mem::replace(&mut self.mode, mode);
        if old == mode || !wanted {
            return Ok(());
        }
        let marked = news.ack.is_some_and(|ack| ack.ece || ack.ecn == Ecn::Ce);
        let trigger = match mode {
            _ if timeout => Some("timeout"),
            "recovery" => Some("loss"),
            _ if marked && old == "slow_start" => Some("ecn"),
            _ => None,
        };
        let mut data = json!({ "new": mode });
        for (key, value) in [("old", Some(old).filter(|old| !old.is_empty())), ("trigger", trigger)]
        {
            if let Some(value) = value {
                data[key] = json!(value);
            }
        }
        self.event(now, "quic:congestion_state_updated", data)
    }

    fn measures(&mut self, now: Time, news: &News<'_>) -> io::Result<()> {
        let metrics = Metrics::of(news, &self.metrics, self.about.packet_bytes);
        let changed = metrics.since(&self.metrics);
        self.metrics = metrics;
        let mut own = Map::new();
        for &(name, value) in news.variables {
            let known = self.variables.iter_mut().find(|(known, _)| *known == name);
            let new = match known {
                Some((_, known)) => std::mem::replace(known, value) != value,
                None => {
                    self.variables.push((name, value));
                    true
                }
            };
            if new && name != CWND && name != SSTHRESH && value.is_finite() {
                own.insert(name.to_owned(), json!(value));
            }
        }
        if changed == Metrics::default() && own.is_empty() {
            return Ok(());
        }
        self.put(now, "quic:recovery_metrics_updated", changed, own)
    }

    fn event(&mut self, now: Time, name: &str, data: Value) -> io::Result<()> {
        self.put(now, name, data, Map::new())
    }

    fn put(
        &mut self,
        now: Time,
        name: &str,
        data: impl Serialize,
        clearpipe: Map<String, Value>,
    ) -> io::Result<()> {
        self.events += 1;
        self.record(&Event { time: now.0 as f64 / 1e9, name, data, clearpipe })
    }

    fn record(&mut self, record: &impl Serialize) -> io::Result<()> {
        self.out.write_all(&[RECORD])?;
        serde_json::to_writer(&mut self.out, record)?;
        self.out.write_all(b"\n")
    }
}

/// Milliseconds.
fn ms(span: Span) -> f64 {
    span.0 as f64 / 1e9
}

/// `start..end` as qlog has it: with its last number, and one number alone where that is all.
fn range(start: u64, end: u64) -> Value {
    if end == start + 1 { json!([start]) } else { json!([start, end - 1]) }
}

/// What the drafts have no field for.
fn own(ecn: Ecn, (name, flag): (&str, bool), header: &AnyHeader) -> Map<String, Value> {
    let mut own = Map::new();
    let code = match ecn {
        Ecn::NotCapable => None,
        Ecn::Ect0 => Some("ECT(0)"),
        Ecn::Ect1 => Some("ECT(1)"),
        Ecn::Ce => Some("CE"),
    };
    if let Some(code) = code {
        own.insert("ecn".to_owned(), json!(code));
    }
    if flag {
        own.insert(name.to_owned(), json!(true));
    }
    let mut fields = Map::new();
    header.probe(&mut |name, value| {
        if value.is_finite() {
            fields.insert(name.to_owned(), json!(value));
        }
    });
    if !fields.is_empty() {
        own.insert("header".to_owned(), Value::Object(fields));
    }
    own
}

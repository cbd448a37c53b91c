//! Packets of a run written down while it runs: pcapng captures of links ([`wire`] says what is in
//! them), a Perfetto trace ([`trace`]) and logs of sources ([`qlog`]).
//!
//! The crate knows no network: it is handed a [`Departure`] whenever a packet's way over a tapped
//! link is known, and a [`SenderState`] or [`qlog::News`] whenever a source has done something.
//! Nothing is gathered in memory but one departure per link. What cannot be written stops the
//! [`Recorder`], which says so.
#![forbid(unsafe_code)]

mod pcapng;
pub mod proto;
pub mod qlog;
mod recorder;
pub mod trace;
pub mod wire;

use cc::registry::AnyHeader;
use cc::roles::{Ecn, PacketKind};
use transport::accecn::Field;
use units::{Span, Time};

pub use pcapng::Capture;
pub use recorder::{
    CaptureOf, LogOf, Output, RecordError, Recorded, Recorder, TraceEnd, TraceOf, Watcher,
};

/// SACK blocks of an ACK: segments `start..end`, the most recent first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    blocks: [(u64, u64); Blocks::MAX],
    len: usize,
}

impl Blocks {
    /// More than any ACK has: 40 bytes of options take four (RFC 2018 section 3).
    pub const MAX: usize = 4;

    /// Appends a block; a fifth one is dropped.
    pub fn push(&mut self, start: u64, end: u64) {
        if let Some(slot) = self.blocks.get_mut(self.len) {
            *slot = (start, end);
            self.len += 1;
        }
    }

    /// The blocks.
    pub fn as_slice(&self) -> &[(u64, u64)] {
        &self.blocks[..self.len]
    }
}

/// How a flow's data is cut into packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segments {
    /// Size of every packet but the last [bytes on the wire].
    pub full_bytes: u32,
    /// Number of the last segment; `u64::MAX` when there is none.
    pub last_seq: u64,
    /// Size of that packet [bytes on the wire].
    pub last_bytes: u32,
    /// The number of the data's first byte.
    pub first_byte: u32,
}

/// AccECN's fields of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccEcn {
    /// ACE, and the option's counts if there are any.
    pub field: Field,
    /// Do the counts begin with that of ECT(1) (AccECN1)?
    pub ones: bool,
}

/// A packet on the line of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Departure {
    /// The link's number.
    pub link: u32,
    /// Its first bit leaves.
    pub start: Time,
    /// Its last bit leaves.
    pub end: Time,
    /// The flow's number.
    pub flow: u32,
    /// Data or ACK.
    pub kind: PacketKind,
    /// Data: the segment's number. ACK: the next segment expected.
    pub seq: u64,
    /// Size on the wire, as the link was charged for it [bytes].
    pub size: u32,
    /// The two ECN bits with which it leaves.
    pub ecn: Ecn,
    /// RFC 3168: CWR on data, ECE on an ACK.
    pub signal: bool,
    /// Was the data sent before?
    pub retransmission: bool,
    /// The protocol's header with which it leaves.
    pub header: AnyHeader,
    /// SACK blocks of an ACK.
    pub sack: Blocks,
    /// AccECN's fields, where it is used.
    pub accecn: Option<AccEcn>,
    /// How its flow's data is cut.
    pub segments: Segments,
    /// A data packet and the ACK that it causes share this number, and nobody else has it.
    pub life: u64,
    /// Packets waiting when its first bit left.
    pub waiting: u32,
}

/// A source after it has done something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderState {
    /// The flow's number.
    pub flow: u32,
    /// The number of the group it belongs to.
    pub group: u32,
    /// The congestion window [packets].
    pub cwnd: f64,
    /// The smoothed RTT.
    pub srtt: Option<Span>,
    /// Timeouts so far.
    pub timeouts: u32,
    /// Fast retransmits so far.
    pub fast_retransmits: u32,
}

/// The part of a run that is written down: `from <= t < to`, by the time at which the last bit
/// leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its start.
    pub from: Time,
    /// Its end.
    pub to: Time,
}

impl Window {
    /// The whole run.
    pub const ALL: Window = Window { from: Time::ZERO, to: Time::NEVER };

    /// Is `t` inside?
    pub fn holds(&self, t: Time) -> bool {
        self.from <= t && t < self.to
    }
}

/// Nanoseconds, rounded down.
fn nanos(t: Time) -> u64 {
    t.0 / 1000
}

//! What goes into and comes out of the sending half.

use cc::roles::LossKind;
use units::Span;

use crate::sack::Range;

/// A segment to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its number.
    pub seq: u64,
    /// Was it sent before?
    pub retransmission: bool,
    /// RFC 3168's CWR: the window was reduced since the last new segment. Of no meaning when the
    /// connection does not use ECN.
    pub cwr: bool,
}

/// An ACK as it arrives.
#[derive(Clone, Copy, Debug)]
pub struct AckIn<'a> {
    /// The next segment that the receiver expects.
    pub cumulative: u64,
    /// Its SACK blocks, the most recent first.
    pub sack: &'a [Range],
    /// RTT of the segment that caused it, if that was sent once only (Karn).
    pub rtt: Option<Span>,
    /// RFC 3168's ECE.
    pub ece: bool,
}

/// What an ACK changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckOutcome {
    /// Segments now known to be delivered that were not before, by the cumulative number or SACK.
    pub delivered: u32,
    /// Segments that the cumulative number moved over.
    pub acked: u32,
    /// Segments that this ACK, or one before it that delivered nothing, made known to be lost. What
    /// the timer gives up is not among them.
    pub lost: u32,
    /// Congestion that it made known.
    pub loss: Option<LossEvent>,
    /// Is fast recovery under way after it?
    pub recovering: bool,
    /// Is everything delivered and nothing more to come? Always true of a report: ask
    /// [`crate::Outbound::finished`].
    pub finished: bool,
}

/// Congestion, as the congestion controller hears of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossEvent {
    /// How it was noticed.
    pub kind: LossKind,
    /// RFC 5681's FlightSize, without what limited transmit sent (RFC 3042). At a timeout during a
    /// recovery [`crate::Outbound::in_flight`]: FlightSize has there what is SACKed, which grows by
    /// a window per RTT while a lost retransmission waits for the timer, and what an earlier
    /// timeout has given up.
    pub in_flight: u32,
    /// Segments taken for lost.
    pub lost: u32,
    /// Is this the second or a later timeout without an ACK of new data between?
    pub repeated: bool,
}

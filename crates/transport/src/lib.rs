//! Reliability without congestion control: sequence space, loss recovery and the retransmission
//! timer, sans-I/O.
//!
//! The one decision: how much may be sent is somebody else's affair. A congestion controller says
//! the window, which it alone writes; this crate says what the next segment is, which
//! segments are lost, and when the timer runs out. RFC 5681 writes the inflation of the window by
//! duplicate ACKs as an assignment to cwnd; here it is a count of segments that have left the
//! network and is taken off the amount in flight, so that a rate-based or explicit controller runs
//! over the same recovery as Reno and never sees its window written from outside. The price is
//! that a controller cannot tell a retransmission from new data when it is asked for room.
//!
//! Sequence numbers count segments; the wire's codec multiplies by the segment size. `now` is an
//! argument, nothing is fetched, and nothing is allocated before the first loss.
//!
//! - [`Outbound`], the sending half: Tahoe (Jacobson 1988), RFC 5681 (Reno), RFC 6582 (NewReno),
//!   RFC 2018 and RFC 6675 (SACK), SACK with rate halving, SACK decoupled from congestion control,
//!   RACK-TLP (RFC 8985) with PRR (RFC 9937) and, if asked for, undo of what was no loss (DSACK,
//!   F-RTO, Eifel), or no recovery at all, with the timer of RFC 6298,
//!   the reaction to ECN of RFC 3168 and, if asked for, the limited transmit of RFC 3042.
//! - [`Inbound`], the receiving half: cumulative and selective acknowledgements, delayed ACKs, and
//!   RFC 3168's latch of ECE.
//! - [`Bursts`], how a pacer spaces segments that leave together.
//! - [`accecn`], the counters of RFC 9768 of both halves.
//!
//! Where the RFCs leave a choice:
//!
//! - NewReno's timer is the impatient one (RFC 6582, section 3.2 step 3): the first partial ACK
//!   restarts it, later ones do not.
//! - Reno may retransmit fast more than once in a window of data, as it does in the literature;
//!   after a timeout neither Reno nor NewReno does so until more than everything sent before the
//!   timeout is acknowledged (RFC 6582, section 4).
//! - The sender keeps what SACK told it through a timeout (a receiver here never reneges) and
//!   resends in order what is not SACKed (RFC 6675, section 5.1). Until all sent before the timeout
//!   is acknowledged, nothing is declared lost but by the timer.
//! - SACK recovery starts as soon as the first outstanding segment is lost by RFC 6675's `IsLost`,
//!   also when the ACK that ended the recovery before it brought no news of its own.
//! - The back-off ends with the first ACK of new data, be it of a retransmission (RFC 6298 section
//!   5 waits for a sample, which a long repair does not bring: every further loss would cost a
//!   minute).
//! - Tahoe's fast retransmit is a timeout without the back-off of the timer.
//! - Decoupled recovery is for controllers that no loss shall move (MLCP section 3.6): SACK, where
//!   a retransmission is lost by the same rule as other segments, recovery goes on as long as
//!   anything is missing, and any news restarts the timer.
//! - Rate halving is SACK where lost retransmissions are found and news restarts the timer in the
//!   same way, and where an ACK in recovery lets out one segment if the one before let out none, as
//!   long as more than the window is in flight. SACK sends nothing until the window has room.
//! - Without recovery an ACK moves over holes, and the timer only ends a transfer whose last ACK is
//!   out.
//! - A window below one segment counts as one: otherwise nothing would ever be sent again.
#![forbid(unsafe_code)]

pub mod accecn;
mod bursts;
mod exchange;
mod inbound;
mod outbound;
mod prr;
mod rack;
mod ring;
mod rto;
mod sack;
mod scoreboard;
mod undo;

pub use bursts::Bursts;
pub use exchange::{AckIn, AckOutcome, LossEvent, Segment};
pub use inbound::{AckOut, DataOutcome, Inbound};
pub use outbound::account::{Account, Stage};
pub use outbound::{Mending, Outbound};
pub use sack::{Range, SackBlocks};

use cc::registry::Recovery;
use units::Span;

/// Equal versions, with equal settings, do the same; a run's identity names it.
pub const VERSION: &str = "7";

/// What tells that a loss was none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// DSACK (RFC 3708) and F-RTO (RFC 5682).
    Dsack,
    /// These, and timestamps (Eifel, RFC 3522).
    Timestamps,
}

/// What the controller's window is to be after an idle time longer than the timeout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Restart {
    /// RW, the restart window [segments].
    pub window: f32,
    /// Does the window only lose half per timeout that has passed (RFC 2861)? Otherwise it is RW at
    /// once, if that is less (RFC 5681, section 4.1).
    pub decays: bool,
}

/// What both halves of a connection agree upon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// How losses are found and mended.
    pub recovery: Recovery,
    /// Duplicate ACKs, or SACKed segments above a hole, that make a loss (RFC 5681: 3).
    pub dup_thresh: u32,
    /// Least retransmission timeout (RFC 6298 (2.4): 1 s).
    pub min_rto: Span,
    /// Greatest retransmission timeout (RFC 6298 (2.5): at least 60 s).
    pub max_rto: Span,
    /// Retransmission timeout before the first sample (RFC 6298 (2.1): 1 s).
    pub initial_rto: Span,
    /// G, the granularity of its clock, and so the least that the timeout is above the smoothed RTT
    /// (RFC 6298 (2.3)).
    pub rto_granularity: Span,
    /// Does every sample that lowers the RTT's variation count, and not one per RTT?
    pub every_sample: bool,
    /// How long an ACK may wait for a second segment (RFC 5681, section 4.2); `None`: not at all.
    pub delayed_ack: Option<Span>,
    /// So many segments are acknowledged at once at the start though ACKs are delayed.
    pub quick_acks: u32,
    /// Does each of the first two duplicate ACKs release a new segment (RFC 3042)?
    pub limited_transmit: bool,
    /// With [`Recovery::Rack`]: does the transport come down to the controller's new window by
    /// proportional rate reduction (RFC 9937)? Not for controllers that pace themselves through a
    /// recovery.
    pub prr: bool,
    /// With [`Recovery::Rack`]: what may tell that a loss was none, so that its reduction of the
    /// window is taken back; `None`: it never is.
    pub undo: Option<Evidence>,
    /// With [`Recovery::Rack`] and `prr`: does the transport come down by it after an echo of
    /// congestion, too (Linux's CWR)? An ACK that echoes is not safe then, and the controller's
    /// window does not grow until all that was out at the echo is acknowledged.
    pub echo_prr: bool,
    /// With [`Recovery::Rack`]: of the segments that an ACK delivers, is `RACK.rtt` that of the
    /// highest acknowledged cumulatively, and without one of the highest SACKed, as Linux has it,
    /// and not that of the one sent last (RFC 8985, section 6.2, step 2)?
    pub rack_rtt_of_highest: bool,
    /// Without SACK: is a duplicate ACK news of one delivered segment, which the cumulative ACK
    /// after it does not count again (RFC 9937 section 6; Linux's `tcp_add_reno_sack`)?
    pub count_dupacks: bool,
    /// With [`Recovery::Rack`]: once a segment has come later than `dup_thresh` allows, does SACK
    /// count as an acknowledgement for the controller's window (Linux's `tcp_may_raise_cwnd`)? The
    /// cumulative ACK does not count such segments again.
    pub count_sacks: bool,
    /// Does a loss reduce the controller's whole window, as in Linux, and not what was in flight?
    /// For controllers with a window; [`Outbound::reduces_window`] says it.
    pub reduce_window: bool,
    /// What the window is after an idle time, if it is not kept.
    pub restart: Option<Restart>,
    /// Are there no ACKs but reports, which the receiver's protocol sends when it likes? Goes with
    /// [`Recovery::None`]. An ACK is then news of what it reports and no more, no timer runs, the
    /// window counts all that was ever sent, and [`Outbound::ended`] says what is no longer out.
    pub reports: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            recovery: Recovery::Sack,
            dup_thresh: 3,
            min_rto: Span::from_secs(1),
            max_rto: Span::from_secs(60),
            initial_rto: Span::from_secs(1),
            rto_granularity: Span::from_millis(100),
            every_sample: false,
            delayed_ack: None,
            quick_acks: 0,
            limited_transmit: false,
            prr: false,
            undo: None,
            echo_prr: false,
            rack_rtt_of_highest: false,
            count_dupacks: false,
            count_sacks: false,
            reduce_window: false,
            restart: None,
            reports: false,
        }
    }
}

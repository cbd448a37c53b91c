//! How far the emulated delay is from what it should be, end to end: UDP packets that carry their
//! time of sending. The kernel stamps them when they are there, so that no waking of the receiver
//! is in it.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::net::SocketType;
use serde::{Deserialize, Serialize};

use crate::lateness::{Late, Lateness};
use crate::realtime::PRIORITY;
use crate::sys;

/// Bytes of a probe with its headers.
pub const PACKET_BYTES: usize = 100;
const PAYLOAD_BYTES: usize = PACKET_BYTES - 28;
/// The discard service's, at both ends.
const PORT: u16 = 9;

/// What the prober is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbePlan {
    /// The network namespaces' files of both ends.
    pub netns: [String; 2],
    /// Their addresses.
    pub address: [[u8; 4]; 2],
    /// How many packets are sent.
    pub count: u32,
    /// The time between two.
    pub every_s: f64,
    /// How long each should take.
    pub expected_s: f64,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProbeReport {
    /// The distance from the expected delay.
    pub error: Late,
    /// Packets sent that did not come.
    pub missing: u64,
}

/// Sends the packets and measures.
///
/// # Errors
/// What the system says.
pub fn run(plan: &ProbePlan) -> io::Result<ProbeReport> {
    sys::be_punctual(Some(PRIORITY));
    let address = |end: usize| SocketAddr::from((plan.address[end], PORT));
    let open = |end: usize| {
        sys::in_namespace(&plan.netns[end], || {
            let socket = sys::socket(&address(end), SocketType::DGRAM)?;
            rustix::net::bind(&socket, &address(end))?;
            Ok(socket)
        })
    };
    let (source, sink) = (open(0)?, open(1)?);
    sys::stamp_received(&sink)?;
    sys::connect(&source, &address(1))?;
    let every = (plan.every_s * 1e9) as u64;
    let expected = (plan.expected_s * 1e9) as i64;
    let mut error = Lateness::default();
    let (mut sent, mut came) = (0, 0);
    let mut next = sys::monotonic_ns() + every;
    let mut waiting = [PollFd::new(&sink, PollFlags::IN)];
    let mut buffer = [0; 2048];
    let until = next + every * u64::from(plan.count) + 2 * expected as u64 + 200_000_000;
    while came < u64::from(plan.count) && sys::monotonic_ns() < until {
        let now = sys::monotonic_ns();
        if sent < plan.count && now >= next {
            next += every;
            sent += 1;
            let mut packet = [0; PAYLOAD_BYTES];
            packet[..8].copy_from_slice(&sys::realtime_ns().to_be_bytes());
            sys::send(&source, &packet)?;
        }
        let left = next.saturating_sub(sys::monotonic_ns()).min(10_000_000);
        sys::wait(&mut waiting, Duration::from_nanos(left))?;
        while let Some((n, there)) = sys::receive_stamped(&sink, &mut buffer)? {
            let there = there.unwrap_or_else(sys::realtime_ns);
            let sent = buffer[..n].first_chunk().map_or(there, |sent| u64::from_be_bytes(*sent));
            error.add((there as i64 - sent as i64 - expected).unsigned_abs());
            came += 1;
        }
    }
    Ok(ProbeReport { error: error.report(), missing: u64::from(sent) - came })
}

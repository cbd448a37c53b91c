//! packetdrill's scripts against this project's transport and congestion controllers, in virtual
//! time.
//!
//! packetdrill (Cardwell et al., USENIX ATC 2013) drives a kernel's TCP: a script says which system
//! calls are made and which packets arrive, and which packets the kernel must send and when. Here
//! the end host is [`transport::Outbound`] and [`transport::Inbound`] with a sender of the registry
//! of [`cc`], and the clock is the script's.
//!
//! The transport numbers segments, has no handshake and no bytes. What stands between it and a
//! script is the [`host`], which does no more than to translate:
//!
//! - It answers SYNs by itself, and sends its own again. Of the handshake flags and AccECN's option
//!   are compared, no numbers; it says the segment size, SACK, the
//!   use of ECN and the first RTT sample.
//! - It cuts what is written into segments of the peer's MSS and a rest, and numbers them. What the
//!   peer's window does not let out is not offered to the transport.
//! - An acknowledgement or SACK block that ends within a segment counts up to the segment's edge.
//! - A FIN is a segment, or part of the last.
//! - The RTT sample of an ACK is that of the segment sent last of those it delivers, if none of
//!   what it acknowledges was sent more than once (Karn; there are no timestamps).
//! - PSH is not compared. A packet that is expected to be longer than a segment is the segments
//!   that it is made of.
//!
//! What is beyond this (timestamps, urgent data, window probes, Nagle's rests, restart after idle,
//! what queues of the host do) makes a script *not applicable*, with the reason; it never passes.
#![forbid(unsafe_code)]

mod accurate;
mod code;
mod headers;
mod host;
mod lexer;
mod parser;
mod run;
pub mod script;
mod settings;
pub mod table;

pub use parser::parse;
pub use run::{Verdict, run};

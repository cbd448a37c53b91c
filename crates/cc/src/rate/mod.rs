//! Protocols that set a rate rather than a window.

pub mod pcp;
pub mod tfrc;
mod tfrc_history;
pub mod udp;

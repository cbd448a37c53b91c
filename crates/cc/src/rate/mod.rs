//! Protocols that set a rate rather than a window.

pub mod udp;

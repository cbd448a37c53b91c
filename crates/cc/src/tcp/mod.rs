//! Protocols of the end hosts alone.

pub mod reno;
pub mod slow_start;
pub mod window;

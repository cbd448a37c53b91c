//! Protocols of the end hosts alone.

pub mod reno;

//! Protocols of the end hosts alone.

pub mod reno;

pub mod fast;
pub(crate) mod rounds;
pub mod vegas;

//! Protocols of the end hosts alone.

pub mod bbr;
pub mod bbr3;
pub mod delivery;
pub mod model;
pub mod reno;

//! The fluid engine beside theory, a solver of its own and the packet engine.

mod acks;
mod common;
mod conservation;
mod independent;
mod packets;
mod theory;

//! Units, deterministic maths and random streams: the leaf every other crate stands on.
//!
//! Time is an integer number of picoseconds, so that sums are exact and a run has the same bits on
//! every machine. Everything transcendental goes through [`math`] (pure-Rust `libm`), because the
//! platform's own functions are not specified bit by bit. Randomness comes from
//! [`random::Stream`]s, one per named component, so that adding a component does not move the draws
//! of the others.
#![no_std]
#![forbid(unsafe_code)]

pub mod math;
mod quantities;
pub mod random;

pub use quantities::{Bytes, Rate, Span, Time};

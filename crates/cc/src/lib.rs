//! Congestion control: pure protocol logic, one protocol one file.
//!
//! A protocol file holds four parts in this order: parameters, what travels in the packet, the
//! router's part, the end host's part; then tests with numbers worked by hand from the paper. The
//! [`roles`] say what a protocol is asked and told; [`registry`] is the one table that names them.
//!
//! The crate has no clock, no I/O, no allocation and no randomness of its own: `now` is an argument
//! and random streams are handed over at construction. `no_std` without `alloc`, `forbid(unsafe)`
//! and a dependency on [`units`] alone make that a fact of the compiler; `tests/purity.rs` checks
//! what the compiler cannot.
#![no_std]
#![forbid(unsafe_code)]

#[macro_use]
pub mod params;

pub mod aqm;
pub mod explicit;
pub mod registry;
pub mod roles;
pub mod tcp;

//! Other explicit protocols, to compare the two families with: routers that tell flows a rate, or a
//! price that stands for one.

pub mod abc;
pub mod abr;
pub mod charny;
pub mod decbit;
pub mod erica;
pub mod jetmax;
pub mod maxnet;
pub mod osu;
pub mod quickstart;
mod rated;
pub mod rcp;
pub mod scone;

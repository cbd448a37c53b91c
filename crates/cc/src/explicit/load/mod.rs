//! Protocols with a load factor: routers measure how loaded they are and say it in a few bits, and
//! the end hosts know what to do about it. [`factor`] and [`marking`] are what they share.

pub mod bmcc;
pub mod csig;
pub mod dpcp;
pub mod factor;
pub(crate) mod marking;
pub mod mlcp;
pub mod mpcp;
pub mod nbit;
pub mod uno;
pub mod vcp;
pub mod vcp_friendly;

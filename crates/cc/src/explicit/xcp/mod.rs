//! XCP and what is made of it: routers that write into each packet how much its flow's window shall
//! change. [`controlled`] is what they share, [`self::xcp`] is the protocol itself.

pub mod controlled;
pub mod ixcp;
pub mod pxcp;
#[allow(clippy::module_inception)] // the protocol has given its family the name
pub mod xcp;
pub mod xcp_core;
pub mod xcp_division_free;
pub mod xcp_friendly;
pub mod xcp_integer;
pub mod xcp_law;
pub mod xcp_police;
pub mod xcp_r;
pub mod xcpw;

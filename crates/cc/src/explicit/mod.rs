//! Protocols whose routers tell the end hosts what to do.

pub mod bmcc;
pub mod controlled;
pub mod dpcp;
pub mod ixcp;
pub mod ixcp_plus;
pub mod load;
pub mod mlcp;
pub mod nbit;
pub mod pxcp;
pub mod vcp;
pub mod vcp_endhost;
pub mod vcp_friendly;
pub mod xcp;
pub mod xcp_core;
pub mod xcp_division_free;
pub mod xcp_friendly;
pub mod xcp_law;
pub mod xcp_misbehaving;
pub mod xcp_police;

pub mod jetmax;
pub mod maxnet;
pub mod quickstart;
mod rated;
pub mod rcp;

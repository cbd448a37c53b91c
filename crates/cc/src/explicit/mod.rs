//! Protocols whose routers tell the end hosts what to do.

pub mod bmcc;
pub mod dpcp;
pub mod ixcp;
mod levels;
pub mod load;
pub mod mlcp;
pub mod nbit;
pub mod pxcp;
pub mod vcp;
pub mod vcp_endhost;
pub mod vcp_friendly;
pub mod xcp;
mod xcp_common;
pub mod xcp_division_free;

pub mod jetmax;
pub mod maxnet;
pub mod quickstart;
mod rated;
pub mod rcp;

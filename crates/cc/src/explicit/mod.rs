//! Protocols whose routers tell the end hosts what to do.

pub mod dpcp;
pub mod load;
pub mod vcp;
pub mod xcp;

pub mod jetmax;
pub mod maxnet;
pub mod quickstart;
pub mod rcp;

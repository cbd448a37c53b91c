//! Protocols whose routers tell the end hosts what to do.

pub mod experimental;
pub mod load;
pub mod neighbours;
pub mod xcp;

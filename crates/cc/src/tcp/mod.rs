//! Protocols of the end hosts alone.

pub mod aimd_queue;
pub mod bbr;
pub mod bbr3;
pub mod bic;
pub mod binomial;
pub mod compound;
pub mod copa;
pub mod cubic;
pub mod cubic_2005;
pub mod dctcp;
pub mod delivery;
pub mod gaimd;
pub mod hstcp;
pub mod htcp;
pub mod illinois;
pub mod jersey;
pub mod ltcp;
pub mod mecn;
pub mod model;
pub mod prague;
pub mod reno;
pub mod scalable;
pub mod slow_start;
pub mod tahoe;
pub mod westwood;
pub mod window;
pub(crate) mod window_state;

pub mod fast;
pub(crate) mod rounds;
pub mod vegas;

//! Runs of whole scenarios: what comes of them beside theory, books that must balance, and papers'
//! claims.

mod abc;
mod accecn;
mod aqm;
mod arrivals;
mod bbr;
mod claims;
mod common;
mod copa;
mod delay_based;
mod dpcp;
mod dualpi2;
mod inside;
mod islands;
mod lines;
mod load_factor;
mod loss;
mod neighbours;
mod random;
mod rate_based;
mod recording;
mod responses;
mod schedulers;
mod timeouts;
mod xcp_edge;
mod xcp_family;

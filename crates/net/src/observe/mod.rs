//! What is seen of a run, and changes nothing in it.

pub mod explain;
pub mod fingerprint;
pub mod log;
pub mod probe;
pub mod rows;
pub mod tables;
pub mod tap;
pub mod watch;

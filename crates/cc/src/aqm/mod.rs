//! Queues that need no protocol of their own: what to drop, what to mark.

pub mod droptail;
pub mod red;

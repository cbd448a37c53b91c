//! Queues that need no protocol of their own: what to drop, what to mark.

pub mod choke;
pub mod codel;
pub mod csfq;
pub mod dropfront;
pub mod droptail;
pub mod drr;
pub(crate) mod early;
pub mod fq_codel;
pub mod priority;
pub mod red;
pub mod rio;
pub mod wfq;

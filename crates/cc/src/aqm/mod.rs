//! Queues that need no protocol of their own: what to drop, what to mark.

mod policy;

pub(crate) mod adaptation;
pub mod ared;
pub mod avq;
pub mod blue;
pub mod choke;
pub mod codel;
pub mod csfq;
pub mod dropfront;
pub mod droptail;
pub mod drr;
pub mod dualpi2;
pub(crate) mod early;
pub mod fq_codel;
pub mod mecn;
pub mod pi;
pub mod pie;
pub mod priority;
pub mod red;
pub mod rem;
pub mod rio;
pub mod step;
pub mod vq;
pub(crate) mod weighted;
pub mod wfq;

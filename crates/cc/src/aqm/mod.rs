//! Queues that need no protocol of their own: what to drop, what to mark.

mod policy;

pub mod ared;
pub mod avq;
pub mod blue;
pub mod droptail;
pub mod pi;
pub mod pie;
pub mod red;
pub mod rem;
pub mod vq;

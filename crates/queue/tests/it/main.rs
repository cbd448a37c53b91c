//! Queues as a link drives them.

mod csfq;
mod dualpi2;
mod scheduler;

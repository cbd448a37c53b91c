//! Queues as a link drives them.

mod csfq;
mod scheduler;

//! Two transports and a channel between them.

mod channel;
mod naive;
mod receiving;
mod recovery;

//! Two transports and a channel between them.

mod channel;
mod naive;
mod naive_rack;
mod rack;
mod receiving;
mod recovery;
mod undo;

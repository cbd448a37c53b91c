//! What must hold for all protocols and queues, and for their sources.

mod circles;
mod classes;
mod explicit;
mod purity;
mod registry;
mod source;

//! What is written of a scenario, and of scenarios in general.

pub mod listing;
pub mod reference;
pub mod schema;
pub mod toml;

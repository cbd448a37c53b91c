//! What every engine fills: the result tables, the metrics they are made of, and the writer.
//!
//! Tables are plain structs here, one field per column and every column's name ending in its unit,
//! so that the engines and their tests compile without arrow. The `arrow` feature turns them into
//! record batches and Parquet files.
#![forbid(unsafe_code)]

#[cfg(feature = "arrow")]
mod arrow;
mod groups;
mod macroflows;
pub mod metrics;
#[cfg(feature = "arrow")]
mod numbers;
#[cfg(feature = "arrow")]
mod seals;
#[cfg(feature = "arrow")]
mod store;
mod summary;
mod tables;

#[cfg(feature = "arrow")]
pub use arrow::Batches;
pub use groups::{GroupRow, Transfers};
pub use macroflows::MacroRow;
#[cfg(feature = "arrow")]
pub use numbers::{Numbers, Read, Wanted, numbers, read_numbers};
#[cfg(feature = "arrow")]
pub use seals::{Damage, seal, sealed, write_python_float};
#[cfg(feature = "arrow")]
pub use store::{Draft, StoreError, Stored, check_writable, read_result, write_loose};
pub use summary::{GroupSummary, LinkSummary, Spread, Summary};
pub use tables::{FlowRow, LinkRow, Meta, Numerics, Series, SeriesOf, Tables};

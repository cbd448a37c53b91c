//! Scenario files: what is read, what is refused and how, and that it is written again as it was
//! read.

mod bottleneck;
mod errors;
mod examples;
mod features;
mod format;

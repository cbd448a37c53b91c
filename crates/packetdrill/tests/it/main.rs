//! The runner: its language, its verdicts, and the project's own scripts.

mod language;
mod scripts;
mod verdicts;

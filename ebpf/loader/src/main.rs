//! `clearpipe-bpf`: puts Clearpipe's end hosts and routers into the running kernel and takes them
//! out again. What it loads is pinned below /sys/fs/bpf/clearpipe, so that it can end at once; what
//! it has not pinned yet when it is killed, the kernel removes.
//!
//! `run` does so as a service, for as long as it runs.
//!
//! Exit codes: 0 done, 1 failed, 2 usage or a wrong file, 5 the system lacks something.

mod args;
mod commands;
mod config;
mod devices;
mod gso;
mod log;
mod metrics;
mod note;
mod pins;
mod read;
mod registration;
mod service;
mod switch;
mod system;
mod table;

use std::process::ExitCode;

/// Why a command fails.
#[derive(Debug)]
pub enum Error {
    /// The arguments make no sense.
    Usage(String),
    /// A service's file is wrong.
    Config(String),
    /// The system lacks something: exit code 5.
    Missing(String),
    /// Anything else.
    Failed(String),
}

impl Error {
    /// What it says.
    pub fn message(&self) -> &str {
        match self {
            Error::Usage(message)
            | Error::Config(message)
            | Error::Missing(message)
            | Error::Failed(message) => message,
        }
    }
}

/// What every part returns.
pub type Result<T> = std::result::Result<T, Error>;

fn main() -> ExitCode {
    let error = match args::parse(std::env::args().skip(1)).and_then(commands::run) {
        Ok(()) => return ExitCode::SUCCESS,
        Err(error) => error,
    };
    eprintln!("clearpipe-bpf: {}", error.message());
    match error {
        Error::Usage(_) => {
            eprintln!("\n{}", args::USAGE);
            2.into()
        }
        Error::Config(_) => 2.into(),
        Error::Missing(_) => 5.into(),
        Error::Failed(_) => 1.into(),
    }
}

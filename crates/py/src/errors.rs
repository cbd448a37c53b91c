//! Rust's errors as Python's exceptions: the only place where they are matched.

use std::any::Any;
use std::path::Path;

use capture::RecordError;
use fluid::Unsupported;
use net::Refused;
use pyo3::PyErr;
use pyo3::exceptions::{PyFileExistsError, PyOSError};
use results::StoreError;
use scenario::{Place, ScenarioError, Warning};

/// The classes of python/clearpipe/errors.py.
#[allow(missing_docs)]
mod classes {
    pyo3::import_exception!(clearpipe.errors, ConfigError);
    pyo3::import_exception!(clearpipe.errors, RunError);
}
use classes::{ConfigError, RunError};

/// The C library's EEXIST, the same everywhere.
const EEXIST: i32 = 17;

/// A message of bounded length, in which input that it quotes cannot write to a terminal.
fn told(message: &str) -> String {
    let count = message.chars().count();
    let text: String = if count <= MOST_CHARACTERS {
        message.to_owned()
    } else {
        let head: String = message.chars().take(MOST_CHARACTERS - 500).collect();
        let tail: String = message.chars().skip(count - 400).collect();
        format!("{head} [... {} characters ...] {tail}", count - MOST_CHARACTERS + 100)
    };
    let safe = |c: char| match c {
        '\n' => c.to_string(),
        _ if scenario::shows(c) => c.to_string(),
        _ => c.escape_unicode().to_string(),
    };
    text.chars().map(safe).collect()
}

const MOST_CHARACTERS: usize = 2000;

pub fn config(error: ScenarioError) -> PyErr {
    let message = told(&error.to_string());
    let (file, line) = match error.place {
        Place::File(file) => (Some(file), None),
        Place::Line(file, line) => (Some(file), Some(line)),
        Place::Set(_) => (None, None),
    };
    let key = (!error.key.is_empty()).then_some(error.key);
    ConfigError::new_err((message, file, line, key))
}

/// A run that cannot be explained or branched as asked; `about` says in which variant.
pub fn refused(about: &str, Refused { key, reason }: Refused) -> PyErr {
    let message = told(&format!("{about}{key}: {reason}"));
    ConfigError::new_err((message, None::<String>, None::<u32>, Some(key)))
}

/// A scenario that an engine cannot run.
pub fn unsupported(file_name: &str, Unsupported { key, reason }: Unsupported) -> PyErr {
    let message = told(&format!("{file_name}: {key}: {reason}"));
    ConfigError::new_err((message, Some(file_name.to_owned()), None::<u32>, Some(key)))
}

/// A variant that cannot be read.
pub fn variant(name: &str, error: &ScenarioError) -> PyErr {
    let key = (!error.key.is_empty()).then(|| error.key.clone());
    let message = format!("variant {name}: {error}; its keys are those of `show --resolved`");
    ConfigError::new_err((message, None::<String>, None::<u32>, key))
}

pub fn store(error: StoreError) -> PyErr {
    let name = |path: &Path| path.display().to_string();
    match &error {
        StoreError::Io { path, source } => os_error(&name(path), source),
        StoreError::Exists(path) => {
            let message = "the result exists; replace it or choose another directory";
            PyFileExistsError::new_err((EEXIST, message, name(path)))
        }
        StoreError::NotAResult(_) | StoreError::Busy(_) | StoreError::Content { .. } => {
            RunError::new_err(error.to_string())
        }
    }
}

/// A capture or a trace could not be written.
pub fn record(error: &RecordError) -> PyErr {
    os_error(&error.file, &error.source)
}

fn os_error(file: &str, source: &std::io::Error) -> PyErr {
    match source.raw_os_error() {
        // OSError's constructor picks the subclass that belongs to the number.
        Some(number) => PyOSError::new_err((number, os_message(source), file.to_owned())),
        None => RunError::new_err(format!("{file}: {source}")),
    }
}

/// Without the "(os error 13)" that Python says itself.
fn os_message(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

/// A run that the engine gave up.
pub fn given_up(reason: &str) -> PyErr {
    RunError::new_err(reason.to_owned())
}

/// A panic of the engine: a bug, and to be reported as one.
pub fn panic(payload: &(dyn Any + Send)) -> PyErr {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("unknown");
    RunError::new_err(format!("internal error, please report it: {text}"))
}

/// Warnings are no exceptions: a result carries them.
pub fn texts(warnings: &[Warning]) -> Vec<String> {
    warnings.iter().map(ToString::to_string).collect()
}

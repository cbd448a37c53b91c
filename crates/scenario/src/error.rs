//! What is wrong with a scenario file, said in one line: where, which key, which value, what is
//! allowed.

use std::fmt;
use std::path::Path;

use strsim::osa_distance;

/// Why a scenario file was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{place}: {}{problem}", prefix(key))]
pub struct ScenarioError {
    /// The file and line, or the `--set` option.
    pub place: Place,
    /// The key's path, `flows.fwd.protocol`; empty when the file as a whole is meant.
    pub key: String,
    /// What is wrong.
    pub problem: Box<Problem>,
}

fn prefix(key: &str) -> String {
    if key.is_empty() { String::new() } else { format!("{key}: ") }
}

/// Where a value was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Nowhere in particular in this file.
    File(String),
    /// On a line of a file, counted from 1.
    Line(String, usize),
    /// In this `--set` option.
    Set(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File(file) => write!(f, "{file}"),
            Place::Line(file, line) => write!(f, "{file}:{line}"),
            Place::Set(set) => write!(f, "--set {set}"),
        }
    }
}

/// What is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The text is not TOML.
    #[error("not valid TOML: {0}")]
    Syntax(String),
    /// A `--set` option cannot be read.
    #[error("{0}")]
    Set(String),
    /// There is no such key here.
    #[error("unknown key \"{name}\"{}", hint(name, allowed))]
    Key {
        /// What was written.
        name: String,
        /// The keys there are.
        allowed: Vec<String>,
    },
    /// There is nothing of that name.
    #[error("unknown {what} \"{name}\"{}", hint(name, allowed))]
    Name {
        /// What it should be the name of.
        what: &'static str,
        /// What was written.
        name: String,
        /// The names there are.
        allowed: Vec<String>,
    },
    /// The key must be there.
    #[error("missing key (wanted: {0})")]
    Missing(String),
    /// The value is of another type.
    #[error("expected {wanted}, found {found}")]
    Type {
        /// What is wanted.
        wanted: String,
        /// What was written.
        found: String,
    },
    /// A bare number where a unit exists.
    #[error("{value} has no unit; write for example {example} (units: {units})")]
    NoUnit {
        /// What was written.
        value: String,
        /// The same with a unit, in quotes.
        example: String,
        /// The units there are.
        units: String,
    },
    /// A unit that does not exist or does not belong here.
    #[error("unknown unit \"{unit}\" in \"{value}\"{}", hint(unit, allowed))]
    Unit {
        /// The unit.
        unit: String,
        /// The whole text.
        value: String,
        /// The units there are.
        allowed: Vec<String>,
    },
    /// The value is outside its range.
    #[error("{value} is out of range (allowed: {allowed})")]
    Range {
        /// What was written.
        value: String,
        /// The range.
        allowed: String,
    },
    /// Two things that do not go together, or a rule that is broken.
    #[error("{0}")]
    Rule(String),
}

/// `; did you mean "x"? (allowed: ...)`
fn hint(name: &str, allowed: &[String]) -> String {
    let mut text = String::new();
    if let Some(near) = nearest(name, allowed) {
        text += &format!("; did you mean \"{near}\"?");
    }
    let shown: Vec<&str> = allowed.iter().take(100).map(String::as_str).collect();
    let more = if allowed.len() > shown.len() { ", ..." } else { "" };
    let list = if shown.is_empty() { "none".to_owned() } else { shown.join(", ") };
    text + &format!(" (allowed: {list}{more})")
}

/// The allowed name that is likely meant: at most a third of its letters differ, and neighbours in
/// each other's place count once.
fn nearest<'a>(name: &str, allowed: &'a [String]) -> Option<&'a str> {
    if name.len() > 60 {
        return None;
    }
    let name = name.to_lowercase();
    let scored = allowed.iter().map(|a| (osa_distance(&name, &a.to_lowercase()), a));
    let (score, best) = scored.min_by_key(|(score, _)| *score)?;
    (score <= best.len().div_ceil(3) && score < best.len()).then_some(best.as_str())
}

/// Where a value stands, before file name and options are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The file as a whole.
    Whole,
    /// A line, counted from 1.
    Line(usize),
    /// The `--set` option of this number.
    Set(usize),
}

/// Where a value stands and the path of its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    pub origin: Origin,
    pub key: String,
}

impl Spot {
    /// The file itself.
    pub fn root() -> Spot {
        Spot { origin: Origin::Whole, key: String::new() }
    }

    /// The spot of the entry `name` of the table that stands here.
    pub fn child(&self, name: &str) -> Spot {
        let key =
            if self.key.is_empty() { name.to_owned() } else { format!("{}.{name}", self.key) };
        Spot { origin: self.origin, key }
    }

    /// The spot of another entry of the same table.
    pub fn sibling(&self, name: &str) -> Spot {
        let table = self.key.rsplit_once('.').map_or("", |(table, _)| table);
        Spot { origin: self.origin, key: table.to_owned() }.child(name)
    }

    /// An error here.
    pub fn fault(&self, problem: Problem) -> Fault {
        Fault(Box::new(Wrong { spot: self.clone(), problem, within: None }))
    }

    /// A broken rule here.
    pub fn rule(&self, text: impl Into<String>) -> Fault {
        self.fault(Problem::Rule(text.into()))
    }
}

/// An error on its way out.
#[derive(Debug)]
pub(crate) struct Fault(Box<Wrong>);

#[derive(Debug)]
struct Wrong {
    spot: Spot,
    problem: Problem,
    /// The file that the spot names and the line in it, if the fault is in there; 0: in no line.
    within: Option<(String, usize)>,
}

impl Fault {
    /// The same in line `line` of `file`, which the spot names; line 0: in the file as a whole.
    pub fn within(mut self, file: &str, line: usize) -> Fault {
        self.0.within = Some((file.to_owned(), line));
        self
    }

    /// With the names of the file and of the options.
    pub fn located(self, file: &str, sets: &[String]) -> ScenarioError {
        let Wrong { spot, problem, within } = *self.0;
        let place = match (within, spot.origin) {
            (Some((within, line)), _) => {
                let folder = Path::new(file).parent().unwrap_or(Path::new(""));
                let within = folder.join(within).display().to_string();
                if line == 0 { Place::File(within) } else { Place::Line(within, line) }
            }
            (None, Origin::Whole) => Place::File(file.to_owned()),
            (None, Origin::Line(line)) => Place::Line(file.to_owned(), line),
            (None, Origin::Set(i)) => Place::Set(sets.get(i).cloned().unwrap_or_default()),
        };
        ScenarioError { place, key: spot.key, problem: Box::new(problem) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_near_name_is_suggested() {
        let names = ["reno".to_owned(), "newreno".to_owned()];
        assert_eq!(nearest("Rneo", &names), Some("reno"));
        assert_eq!(nearest("cubic", &names), None);
        // Of three letters one may differ.
        let names = ["xcp".to_owned()];
        assert_eq!((nearest("xpc", &names), nearest("pxc", &names)), (Some("xcp"), None));
    }
}

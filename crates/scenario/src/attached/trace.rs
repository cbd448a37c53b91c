//! Traces in mahimahi's format, from a file or in place.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use units::Rate;

use crate::attached::{FileName, Files};
use crate::error::{Fault, Problem, Spot};
use crate::model::line::Trace;
use crate::syntax::declaration::{At, Definitions, FileValue};
use crate::syntax::document::{Node, Raw};

/// The most opportunities of a trace: what 100 Mb/s let through in two minutes.
const MOST: usize = 1_000_000;

/// A file or the numbers themselves.
#[derive(Clone, Debug)]
pub(crate) enum TraceForm {
    File(FileName),
    Inline(Trace),
}

impl FileValue for TraceForm {
    fn form() -> String {
        "file name or list of milliseconds".to_owned()
    }
    fn schema(definitions: &mut Definitions) -> Json {
        let number = json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX });
        let list = json!({ "type": "array", "items": number, "minItems": 1, "maxItems": MOST });
        json!({ "anyOf": [FileName::schema(definitions), list] })
    }
    fn read(node: &Node) -> Result<TraceForm, Fault> {
        let Raw::List(items) = &node.raw else {
            return match node.raw {
                Raw::Text(_) => FileName::read(node).map(TraceForm::File),
                _ => Err(node.mismatch("the name of a file or a list of milliseconds")),
            };
        };
        let mut reader = Reader::default();
        for item in items {
            let Raw::Int(value) = item.raw else {
                return Err(item.mismatch("a whole number of milliseconds"));
            };
            reader.push(value).map_err(|problem| item.spot.fault(problem))?;
        }
        reader.done().map(TraceForm::Inline).map_err(|problem| node.spot.fault(problem))
    }
}

impl At<TraceForm> {
    /// The trace and its mean rate.
    pub fn resolve(&self, files: &Files<'_>) -> Result<(Trace, Rate), Fault> {
        let trace = match &self.value {
            TraceForm::File(name) => {
                files.trace(&At { value: name.clone(), spot: self.spot.clone() })?
            }
            TraceForm::Inline(trace) => trace.clone(),
        };
        let rate = mean(&trace, &self.spot)?;
        Ok((trace, rate))
    }
}

/// The mean rate, rounded down to whole bits per second.
fn mean(trace: &Trace, spot: &Spot) -> Result<Rate, Fault> {
    let bits = trace.opportunities_ms.len() as u128 * u128::from(Trace::BYTES) * 8;
    let last = trace.opportunities_ms.last().copied().unwrap_or_default();
    // Of at most 10^6 opportunities, so it fits.
    let rate = (bits * 1000).checked_div(u128::from(last)).map(u64::try_from);
    match rate {
        Some(Ok(rate)) if rate > 0 => Ok(Rate(rate)),
        _ => Err(spot.rule("the trace's mean rate is below 1bps")),
    }
}

/// The trace in a file, one number per line.
pub(crate) fn in_file(name: &At<FileName>, text: &str) -> Result<Trace, Fault> {
    let file = &name.value.0;
    let mut reader = Reader::default();
    for (i, line) in text.lines().enumerate() {
        let number = line.trim();
        let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let taken = match number.parse::<i64>() {
            Ok(value) if digits => reader.push(value),
            // Too many digits for any integer are out of range, not of another type.
            Err(_) if digits => Err(out_of_range(shortened(number))),
            _ => {
                let wanted = "a whole number of milliseconds".to_owned();
                Err(Problem::Type { wanted, found: format!("{:?}", shortened(number)) })
            }
        };
        taken.map_err(|problem| name.spot.fault(problem).within(file, i + 1))?;
    }
    let lines = text.lines().count();
    reader.done().map_err(|problem| name.spot.fault(problem).within(file, lines))
}

fn out_of_range(value: String) -> Problem {
    Problem::Range { value, allowed: format!("0 to {} ms", u32::MAX) }
}

/// At most forty characters of a line, for messages.
pub(crate) fn shortened(line: &str) -> String {
    match line.char_indices().nth(40) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
    }
}

/// Takes the numbers one by one.
#[derive(Default)]
struct Reader(Vec<u32>);

impl Reader {
    fn push(&mut self, value: i64) -> Result<(), Problem> {
        let Ok(ms) = u32::try_from(value) else {
            return Err(out_of_range(value.to_string()));
        };
        if let Some(before) = self.0.last()
            && ms < *before
        {
            let text = format!("a trace goes forward in time, but {ms} comes after {before}");
            return Err(Problem::Rule(text));
        }
        if self.0.len() == MOST {
            return Err(Problem::Rule(format!("a trace has at most {MOST} opportunities")));
        }
        self.0.push(ms);
        Ok(())
    }

    fn done(self) -> Result<Trace, Problem> {
        match self.0.last() {
            None => Err(Problem::Rule("a trace has at least one opportunity".to_owned())),
            Some(0) => Err(Problem::Rule("the last millisecond of a trace is above 0".to_owned())),
            Some(_) => Ok(Trace { opportunities_ms: Arc::from(self.0) }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_what_a_period_lets_through() {
        // 3 x 1500 B in 2 ms: 36,000 b / 2 ms = 18 Mb/s.
        let trace = Trace { opportunities_ms: [1, 1, 2].into() };
        assert_eq!(mean(&trace, &Spot::root()).unwrap(), Rate(18_000_000));
        // 12,000 b in 7 ms: 1,714,285.7 b/s.
        let trace = Trace { opportunities_ms: [7].into() };
        assert_eq!(mean(&trace, &Spot::root()).unwrap(), Rate(1_714_285));
    }
}

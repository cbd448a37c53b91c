//! Distribution functions of sizes: a file of two columns, or the points in place.

use serde_json::{Value as Json, json};

use crate::attached::trace::shortened;
use crate::attached::{FileName, Files, Points};
use crate::error::{Fault, Problem};
use crate::syntax::declaration::{At, Definitions, FileValue};
use crate::syntax::document::{Node, Raw};
use crate::values::ByteCount;
use crate::values::quantity::{BYTES, Decimal};

/// The most points of a distribution function.
const MOST: usize = 100_000;

/// The largest size [bytes]; the draws stop there.
pub(crate) const MAX_DRAWN: u64 = 1_000_000_000_000_000;

/// A file or the points themselves.
#[derive(Clone, Debug)]
pub(crate) enum CdfForm {
    File(FileName),
    Inline(Points),
}

impl FileValue for CdfForm {
    fn form() -> String {
        "file name or list of [bytes, share]".to_owned()
    }
    fn schema(definitions: &mut Definitions) -> Json {
        let share = json!({ "type": "number", "minimum": 0, "maximum": 1 });
        let pair = json!({
            "type": "array",
            "prefixItems": [ByteCount::schema(definitions), share],
            "minItems": 2,
            "maxItems": 2,
        });
        let list = json!({ "type": "array", "items": pair, "minItems": 1, "maxItems": MOST });
        json!({ "anyOf": [FileName::schema(definitions), list] })
    }
    fn read(node: &Node) -> Result<CdfForm, Fault> {
        let Raw::List(items) = &node.raw else {
            return match node.raw {
                Raw::Text(_) => FileName::read(node).map(CdfForm::File),
                _ => Err(node.mismatch("the name of a file or a list of [bytes, share]")),
            };
        };
        let mut reader = Reader::default();
        for item in items {
            let Raw::List(pair) = &item.raw else {
                return Err(item.mismatch("a pair such as [\"6kB\", 0.15]"));
            };
            let [bytes, share] = &pair[..] else {
                return Err(item.mismatch("a pair such as [\"6kB\", 0.15]"));
            };
            let bytes = ByteCount::read(bytes)?.0;
            let share = match share.raw {
                Raw::Float(value) => value,
                Raw::Int(value) => value as f64,
                _ => return Err(share.mismatch("a number from 0 to 1")),
            };
            reader.push(bytes, share).map_err(|problem| item.spot.fault(problem))?;
        }
        reader.done().map(CdfForm::Inline).map_err(|problem| node.spot.fault(problem))
    }
}

impl At<CdfForm> {
    /// The points.
    pub fn resolve(&self, files: &Files<'_>) -> Result<Points, Fault> {
        match &self.value {
            CdfForm::File(name) => files.cdf(&At { value: name.clone(), spot: self.spot.clone() }),
            CdfForm::Inline(points) => Ok(points.clone()),
        }
    }
}

/// The points in a file: bytes and share on each line, `#` begins a comment.
pub(crate) fn in_file(name: &At<FileName>, text: &str) -> Result<Points, Fault> {
    let file = &name.value.0;
    let mut reader = Reader::default();
    for (i, line) in text.lines().enumerate() {
        let content = line.split('#').next().unwrap_or_default().trim();
        if content.is_empty() {
            continue;
        }
        let fault = |problem| name.spot.fault(problem).within(file, i + 1);
        let columns: Vec<&str> = content.split_ascii_whitespace().take(3).collect();
        let (bytes, share) = match columns[..] {
            [bytes, share] => (Decimal::parse(bytes), Decimal::parse(share)),
            _ => (None, None),
        };
        let (Some(bytes), Some(share)) = (bytes, share) else {
            let wanted = "two columns, bytes and cumulative probability".to_owned();
            let found = format!("{:?}", shortened(content));
            return Err(fault(Problem::Type { wanted, found }));
        };
        let Some(bytes) = bytes.exactly(1) else {
            let text = format!("{} is not a whole number of bytes", columns[0]);
            return Err(fault(Problem::Rule(text)));
        };
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        reader.push(bytes, share.to_f64()).map_err(fault)?;
    }
    let lines = text.lines().count();
    reader.done().map_err(|problem| name.spot.fault(problem).within(file, lines))
}

/// Takes the points one by one.
#[derive(Default)]
struct Reader(Vec<(f64, f64)>);

impl Reader {
    fn push(&mut self, bytes: u64, share: f64) -> Result<(), Problem> {
        let rule = |text: String| Err(Problem::Rule(text));
        if !(0.0..=1.0).contains(&share) {
            let (value, allowed) = (format!("{share:?}"), "a share from 0 to 1".to_owned());
            return Err(Problem::Range { value, allowed });
        }
        if bytes > MAX_DRAWN {
            let (value, allowed) = (BYTES.exact(bytes), format!("at most {MAX_DRAWN}B"));
            return Err(Problem::Range { value, allowed });
        }
        if bytes == 0 && share > 0.0 {
            return rule(format!("a share of {share:?} has no size: 0B begins at 0"));
        }
        let size = bytes as f64; // at most 10^15, so exact
        if let Some((size_before, share_before)) = self.0.last()
            && (size < *size_before || share < *share_before)
        {
            let before = BYTES.exact(*size_before as u64);
            return rule(format!(
                "sizes and shares ascend, but {}, {share:?} comes after {before}, {share_before:?}",
                BYTES.exact(bytes)
            ));
        }
        if self.0.len() == MOST {
            return rule(format!("a distribution has at most {MOST} points"));
        }
        self.0.push((size, share));
        Ok(())
    }

    fn done(self) -> Result<Points, Problem> {
        match self.0.last() {
            Some((_, 1.0)) => Ok(Points::from(self.0)),
            Some((_, share)) => {
                Err(Problem::Rule(format!("a distribution ends with share 1, not {share:?}")))
            }
            None => Err(Problem::Rule("a distribution has at least one point".to_owned())),
        }
    }
}

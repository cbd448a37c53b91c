//! One value for every flow of a group: the same, a list, steps, or a formula.

use serde_json::{Value as Json, json};
use units::{Rate, math};

use crate::error::Fault;
use crate::syntax::declaration::{At, Definitions, FileValue};
use crate::syntax::document::{Node, Raw};
use crate::values::formula::Formula;
use crate::values::quantity::{Decimal, Dimension, RATE, number, split};
use crate::values::{NUMBER, Quantity, arguments, call, text_schema, unknown_call};

/// One value for all flows of a group, or one for each.
#[derive(Clone, Debug)]
pub(crate) enum Spread<T> {
    Same(T),
    /// From the first to the last flow in equal steps.
    Linear(T, T),
    /// From the first to the last flow in equal ratios.
    Logarithmic(T, T),
    Formula(Formula),
    List(Vec<At<T>>),
}

/// How many values are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flows {
    /// One for each of so many flows.
    Count(u32),
    /// Some that flows without number take in turn.
    InTurn,
}

impl<T: Quantity + FileValue> FileValue for Spread<T> {
    fn form() -> String {
        format!(
            "{}, \"linspace(FIRST, LAST)\", \"logspace(FIRST, LAST)\", \"formula(...)\" or list",
            T::form()
        )
    }
    fn schema(definitions: &mut Definitions) -> Json {
        let example = T::DIMENSION.example;
        let linear = format!("linspace({example}, {example})");
        let logarithmic = format!("logspace({example}, {example})");
        let formula = format!("formula({example} * (1 + i / n))");
        let examples = [example, &linear, &logarithmic, &formula];
        let text = text_schema("one value, or steps over the flows", &examples);
        json!({ "anyOf": [text, <Vec<At<T>>>::schema(definitions)] })
    }
    fn read(node: &Node) -> Result<Spread<T>, Fault> {
        let Raw::Text(text) = &node.raw else {
            return match &node.raw {
                Raw::List(_) => FileValue::read(node).map(Spread::List),
                _ => T::read(node).map(Spread::Same),
            };
        };
        if let Some(inside) = formula_text(text) {
            let formula = Formula::read(inside, &T::DIMENSION);
            return formula
                .map(Spread::Formula)
                .map_err(|why| node.spot.rule(format!("the formula {why}")));
        }
        match call(text) {
            None => T::read(node).map(Spread::Same),
            Some(("linspace", texts)) => match arguments(node, &texts)?[..] {
                [first, last] => Ok(Spread::Linear(first, last)),
                _ => Err(node.mismatch("linspace(FIRST, LAST)")),
            },
            Some(("logspace", texts)) => match arguments::<T>(node, &texts)?[..] {
                [first, last] if first.smallest() > 0 && last.smallest() > 0 => {
                    Ok(Spread::Logarithmic(first, last))
                }
                _ => Err(node.mismatch("logspace(FIRST, LAST) with both above zero")),
            },
            Some((name, _)) => Err(unknown_call(node, name, &["linspace", "logspace", "formula"])),
        }
    }
}

/// A rate, or so many times that of the fastest link on a flow's way.
#[derive(Clone, Debug)]
pub(crate) enum LineRate {
    Times(Decimal),
    Rates(At<Spread<Rate>>),
}

impl FileValue for LineRate {
    fn form() -> String {
        format!("{}, or a multiple such as \"2x\"", Spread::<Rate>::form())
    }
    fn schema(definitions: &mut Definitions) -> Json {
        let about = "a multiple of the fastest link on the way, steps included";
        let multiple = json!({
            "type": "string",
            "description": about,
            "pattern": format!(r"^\s*{NUMBER}\s*x\s*$"),
            "examples": ["2x"],
        });
        json!({ "anyOf": [multiple, Spread::<Rate>::schema(definitions)] })
    }
    fn read(node: &Node) -> Result<LineRate, Fault> {
        let fault = |problem| node.spot.fault(problem);
        let value = match &node.raw {
            Raw::Text(text) if call(text).is_none() && formula_text(text).is_none() => {
                let units = [RATE.units, &[("x", 1)]].concat();
                let what = Dimension { units: &units, ..RATE };
                if let (digits, "x") = split(text.trim()) {
                    let multiple = Dimension { name: "a multiple", example: "2x", ..what };
                    let times = number(text, digits, &multiple);
                    return times.map(LineRate::Times).map_err(fault);
                }
                Spread::Same(Rate(what.parse(text).map_err(fault)?))
            }
            _ => Spread::read(node)?,
        };
        Ok(LineRate::Rates(At { value, spot: node.spot.clone() }))
    }
}

/// What stands in `formula(...)`.
fn formula_text(text: &str) -> Option<&str> {
    let rest = text.trim().strip_prefix("formula")?.trim_start();
    rest.strip_prefix('(')?.strip_suffix(')')
}

impl<T> Spread<T> {
    /// How many steps of a formula it takes to work out the values.
    pub fn steps(&self, flows: Flows) -> u64 {
        match (self, flows) {
            (Spread::Formula(formula), Flows::Count(count)) => formula.length * u64::from(count),
            _ => 0,
        }
    }
}

impl<T: Quantity> At<Spread<T>> {
    /// The values of the flows; one if they are all the same.
    pub fn values(&self, flows: Flows) -> Result<Vec<T>, Fault> {
        let count = match (flows, &self.value) {
            (_, Spread::Same(value)) => return Ok(vec![*value]),
            (Flows::InTurn, Spread::List(list)) if list.is_empty() => {
                return Err(self.spot.rule("the list has at least one value"));
            }
            (Flows::InTurn, Spread::List(list)) => {
                return Ok(list.iter().map(|item| item.value).collect());
            }
            (Flows::InTurn, _) => {
                let text = "flows that arrive have no number: one value, or a list that they take \
                            in turn";
                return Err(self.spot.rule(text));
            }
            (Flows::Count(count), _) => count,
        };
        match &self.value {
            Spread::Same(value) => Ok(vec![*value]),
            Spread::Linear(first, last) => Ok(linear(*first, *last, count)),
            Spread::Logarithmic(first, last) => Ok(logarithmic(*first, *last, count)),
            Spread::Formula(formula) => self.formula(formula, count),
            Spread::List(list) if list.len() == count as usize => {
                Ok(list.iter().map(|item| item.value).collect())
            }
            Spread::List(list) => {
                Err(self.spot.rule(format!("{} values for a count of {count}", list.len())))
            }
        }
    }

    fn formula(&self, formula: &Formula, count: u32) -> Result<Vec<T>, Fault> {
        let value = |i| {
            let value = formula.value(i, count, &T::DIMENSION);
            value.map(T::of).map_err(|why| {
                self.spot.rule(format!("for i = {i} and n = {count} the formula {why}"))
            })
        };
        (0..count).map(value).collect()
    }
}

/// `count` values in equal steps, rounded down to whole smallest units.
fn linear<T: Quantity>(first: T, last: T, count: u32) -> Vec<T> {
    let (low, high) = (i128::from(first.smallest()), i128::from(last.smallest()));
    let steps = i128::from(count.saturating_sub(1).max(1));
    let value = |i: u32| low + ((high - low) * i128::from(i)).div_euclid(steps);
    // Between two u64 values, so the conversion cannot fail.
    (0..count).map(|i| T::of(u64::try_from(value(i)).unwrap_or(u64::MAX))).collect()
}

/// `count` values in equal ratios, rounded to the nearest smallest unit; both ends are exact.
fn logarithmic<T: Quantity>(first: T, last: T, count: u32) -> Vec<T> {
    let (low, high) = (first.smallest() as f64, last.smallest() as f64);
    let steps = f64::from(count.saturating_sub(1).max(1));
    let value = |i: u32| match i {
        0 => first,
        _ if i + 1 == count => last,
        // A float becomes an integer by saturation.
        _ => T::of(math::floor(low * math::pow(high / low, f64::from(i) / steps) + 0.5) as u64),
    };
    (0..count).map(value).collect()
}

#[cfg(test)]
mod tests {
    use units::Span;

    use super::*;
    use crate::error::Spot;

    fn values(text: &str, count: u32) -> Vec<Span> {
        let node = Node { raw: Raw::from(text), spot: Spot::root() };
        At::<Spread<Span>>::read(&node).unwrap().values(Flows::Count(count)).unwrap()
    }

    #[test]
    fn linspace_meets_both_ends_exactly() {
        let expected = [40, 80, 120, 160, 200].map(Span::from_millis);
        assert_eq!(values("linspace(40ms, 200ms)", 5), expected);
        assert_eq!(values("linspace(40ms, 200ms)", 1), [Span::from_millis(40)]);
        assert_eq!(values("linspace(10ps, 0ps)", 4), [10, 6, 3, 0].map(Span));
    }

    #[test]
    fn logspace_has_equal_ratios() {
        assert_eq!(values("logspace(10ms, 80ms)", 4), [10, 20, 40, 80].map(Span::from_millis));
        assert_eq!(values("logspace(80ms, 10ms)", 4), [80, 40, 20, 10].map(Span::from_millis));
        assert_eq!(values("logspace(10ms, 80ms)", 1), [Span::from_millis(10)]);
    }

    #[test]
    fn a_formula_counts_from_zero() {
        let expected = [40, 50, 60].map(Span::from_millis);
        assert_eq!(values("formula(40ms + 10ms * i)", 3), expected);
        assert_eq!(values(" formula ( 20ms * (n - 1) + 10ms * i ) ", 3), expected);
    }
}

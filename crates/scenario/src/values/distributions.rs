//! Shares, and distributions of times as texts such as `uniform(0ms, 5ms)`.

use serde_json::{Value as Json, json};
use units::Span;

use crate::error::{Fault, Problem};
use crate::model::line::DelayLaw;
use crate::resolve::network::check_owd;
use crate::syntax::declaration::{At, Definitions, FileValue, defined};
use crate::syntax::document::{Node, Raw};
use crate::values::quantity::{Decimal, Dimension, TIME, number, split};
use crate::values::{arguments, call, quantity_text, text_schema, unknown_call};

/// A share in percent.
const SHARE: Dimension<'static> =
    Dimension { name: "a share", example: "1%", units: &[("%", 1)], written: &[] };

/// A probability or a part of something: percent with the sign, 0 to 1 once it is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Share(pub f64);

impl FileValue for Share {
    fn form() -> String {
        "share".to_owned()
    }
    fn wanted() -> String {
        SHARE.wanted()
    }
    fn schema(definitions: &mut Definitions) -> Json {
        defined(definitions, "Share", |_| {
            json!({
                "type": "string",
                "description": "a share in percent",
                "pattern": r"^\s*\+?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*%\s*$",
                "examples": ["1%", "0.1%"],
            })
        })
    }
    fn read(node: &Node) -> Result<Share, Fault> {
        let text = match &node.raw {
            Raw::Text(text) => text.trim(),
            // A bare number is meant as a part of 1, so that is what is shown.
            Raw::Int(_) | Raw::Float(_) => return Err(node.spot.fault(bare(&node.raw))),
            _ => return Err(node.mismatch(&SHARE.wanted())),
        };
        let share = share(text).map_err(|problem| node.spot.fault(problem))?;
        if share <= 1.0 {
            return Ok(Share(share));
        }
        let allowed = "0% to 100%".to_owned();
        Err(node.spot.fault(Problem::Range { value: format!("\"{text}\""), allowed }))
    }
}

fn bare(raw: &Raw) -> Problem {
    let (value, part) = match raw {
        Raw::Int(value) => (value.to_string(), *value as f64),
        Raw::Float(value) => (format!("{value:?}"), *value),
        _ => (String::new(), 0.0),
    };
    let example = if (0.0..=1.0).contains(&part) { percent(part) } else { format!("{value}%") };
    Problem::NoUnit { value, example: format!("\"{example}\""), units: "%".to_owned() }
}

/// A number of percent as a part of 1; it may be above 1.
pub(crate) fn share(text: &str) -> Result<f64, Problem> {
    let (digits, unit) = split(text.trim());
    let value = number(text, digits, &SHARE)?;
    match unit {
        "%" => Ok(value.shifted(-2).to_f64()),
        "" => Err(SHARE.no_unit(digits)),
        _ => {
            let (unit, value) = (unit.to_owned(), text.to_owned());
            Err(Problem::Unit { unit, value, allowed: SHARE.unit_names() })
        }
    }
}

/// A part of 1 in percent; the text reads back to the same bits.
pub(crate) fn percent(part: f64) -> String {
    if part == 0.0 {
        return "0%".to_owned();
    }
    // The shortest digits that read back: "1.25e-3".
    let text = format!("{part:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent = exponent.parse::<i32>().unwrap_or_default() + 2;
    if !(-12..=20).contains(&exponent) {
        return format!("{mantissa}e{exponent}%");
    }
    let digits = mantissa.replace('.', "");
    let (point, length) = (exponent + 1, digits.len() as i32);
    let zeros = |n: i32| "0".repeat(usize::try_from(n).unwrap_or(0));
    if point <= 0 {
        format!("0.{}{digits}%", zeros(-point))
    } else if point >= length {
        format!("{digits}{}%", zeros(point - length))
    } else {
        let (whole, part) = digits.split_at(usize::try_from(point).unwrap_or(0));
        format!("{whole}.{part}%")
    }
}

/// A number without a unit, as an argument.
pub(crate) fn plain_number(node: &Node, text: &str, name: &str) -> Result<f64, Fault> {
    let value = Decimal::parse(text.strip_prefix('+').unwrap_or(text)).map(Decimal::to_f64);
    value.filter(|value| value.is_finite()).ok_or_else(|| {
        let wanted = format!("{name} (a number)");
        node.spot.fault(Problem::Type { wanted, found: format!("{text:?}") })
    })
}

/// A Pareto shape for which there is a mean.
pub(crate) fn pareto_shape(node: &Node, text: &str) -> Result<f64, Fault> {
    let shape = plain_number(node, text, "a shape")?;
    if shape > 1.0 && shape <= 1000.0 {
        return Ok(shape);
    }
    let (value, allowed) = (format!("the shape {text}"), "above 1, at most 1000".to_owned());
    Err(node.spot.fault(Problem::Range { value, allowed }))
}

const LAWS: [&str; 4] = ["uniform", "exponential", "normal", "pareto"];

impl FileValue for DelayLaw {
    fn form() -> String {
        "time, \"uniform(LOW, HIGH)\", \"exponential(MEAN)\", \"normal(MEAN, SD)\" or \
         \"pareto(MEAN, SHAPE)\""
            .to_owned()
    }
    fn schema(definitions: &mut Definitions) -> Json {
        defined(definitions, "TimeLaw", |_| {
            let examples = [
                "5ms",
                "uniform(0ms, 5ms)",
                "exponential(1s)",
                "normal(5ms, 1ms)",
                "pareto(1s, 1.5)",
            ];
            text_schema("a time or a distribution of times", &examples)
        })
    }
    fn read(node: &Node) -> Result<DelayLaw, Fault> {
        let Some((name, texts)) = call(quantity_text(node, &TIME)?) else {
            return time(node, Span::read(node)?).map(DelayLaw::Fixed);
        };
        match name {
            "uniform" => match times(node, &texts)?[..] {
                [low, high] if low <= high => Ok(DelayLaw::Uniform(low, high)),
                _ => Err(node.mismatch("uniform(LOW, HIGH) with LOW not above HIGH")),
            },
            "exponential" => match times(node, &texts)?[..] {
                [mean] => Ok(DelayLaw::Exponential(mean)),
                _ => Err(node.mismatch("exponential(MEAN)")),
            },
            "normal" => match times(node, &texts)?[..] {
                [mean, sd] => Ok(DelayLaw::Normal { mean, sd }),
                _ => Err(node.mismatch("normal(MEAN, SD)")),
            },
            "pareto" => match texts[..] {
                [mean, shape] => {
                    let mean = times(node, &[mean])?[0];
                    Ok(DelayLaw::Pareto { mean, shape: pareto_shape(node, shape)? })
                }
                _ => Err(node.mismatch("pareto(MEAN, SHAPE)")),
            },
            _ => Err(unknown_call(node, name, &LAWS)),
        }
    }
}

/// Times of at most an hour.
fn times(node: &Node, texts: &[&str]) -> Result<Vec<Span>, Fault> {
    let times: Vec<Span> = arguments(node, texts)?;
    times.into_iter().map(|span| time(node, span)).collect()
}

fn time(node: &Node, value: Span) -> Result<Span, Fault> {
    check_owd(&At { value, spot: node.spot.clone() })
}

/// Is it always zero?
pub(crate) fn is_never(law: &DelayLaw) -> bool {
    match *law {
        DelayLaw::Fixed(span) | DelayLaw::Exponential(span) => span == Span::ZERO,
        DelayLaw::Uniform(_, high) => high == Span::ZERO,
        DelayLaw::Normal { mean, sd } => mean == Span::ZERO && sd == Span::ZERO,
        DelayLaw::Pareto { mean, .. } => mean == Span::ZERO,
    }
}

/// A distribution of times as it is written, without quotes.
pub(crate) fn law_text(law: &DelayLaw) -> String {
    let text = |span: Span| TIME.exact(span.0);
    match *law {
        DelayLaw::Fixed(span) => text(span),
        DelayLaw::Uniform(low, high) => format!("uniform({}, {})", text(low), text(high)),
        DelayLaw::Exponential(mean) => format!("exponential({})", text(mean)),
        DelayLaw::Normal { mean, sd } => format!("normal({}, {})", text(mean), text(sd)),
        DelayLaw::Pareto { mean, shape } => format!("pareto({}, {shape:?})", text(mean)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_is_written_as_a_person_would() {
        for (part, text) in [
            (0.0, "0%"),
            (1.0, "100%"),
            (0.01, "1%"),
            (0.001, "0.1%"),
            (0.125, "12.5%"),
            (0.6, "60%"),
            (12.0, "1200%"),
            (1e-9, "0.0000001%"),
            (1e-30, "1e-28%"),
        ] {
            assert_eq!(percent(part), text);
            assert_eq!(share(text), Ok(part));
        }
    }

    #[test]
    fn any_share_reads_back_to_the_same_bits() {
        let mut stream = units::random::Stream::new(1, 0, "shares");
        for _ in 0..100_000 {
            let part = f64::from_bits(stream.bits() >> 2);
            if part <= 1.0 {
                assert_eq!(share(&percent(part)), Ok(part), "{part:e}");
            }
            let part = stream.unit();
            assert_eq!(share(&percent(part)), Ok(part), "{part:e}");
        }
    }
}

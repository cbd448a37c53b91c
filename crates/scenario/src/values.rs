//! The forms of values that are more than a word or a number.

pub mod distributions;
pub mod formula;
pub mod quantity;
pub mod spread;

use serde_json::{Value as Json, json};
use units::{Rate, Span};

use crate::error::{Fault, Problem};
use crate::model::{Every, Series, Start};
use crate::syntax::declaration::{At, Definitions, FileValue, Word, defined, word_values};
use crate::syntax::document::{Node, Raw};
use crate::values::quantity::{BYTES, Decimal, Dimension, RATE, TIME, number, split};

/// The text of a quantity; a bare number is told its unit.
pub(crate) fn quantity_text<'a>(
    node: &'a Node,
    dimension: &Dimension<'_>,
) -> Result<&'a str, Fault> {
    match &node.raw {
        Raw::Text(text) => Ok(text),
        Raw::Int(value) => Err(node.spot.fault(dimension.no_unit(&value.to_string()))),
        Raw::Float(value) => Err(node.spot.fault(dimension.no_unit(&format!("{value:?}")))),
        _ => Err(node.mismatch(&dimension.wanted())),
    }
}

pub(crate) fn read_quantity(node: &Node, dimension: &Dimension<'_>) -> Result<u64, Fault> {
    let text = quantity_text(node, dimension)?;
    dimension.parse(text).map_err(|problem| node.spot.fault(problem))
}

pub(crate) const NUMBER: &str = r"\+?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?";

fn quantity_schema(dimension: &Dimension<'_>) -> Json {
    let units = dimension.unit_names().join("|");
    json!({
        "type": "string",
        "description": format!("{} with its unit", dimension.name),
        "pattern": format!(r"^\s*{NUMBER}\s*({units})\s*$"),
        "examples": [dimension.example],
    })
}

pub(crate) fn text_schema(about: &str, examples: &[&str]) -> Json {
    json!({ "type": "string", "description": about, "examples": examples })
}

/// A quantity that stands alone in a text, and can so be spread over flows.
pub(crate) trait Quantity: Copy {
    const DIMENSION: Dimension<'static>;
    const TITLE: &'static str;
    fn of(smallest: u64) -> Self;
    fn smallest(self) -> u64;
}

impl Quantity for Span {
    const DIMENSION: Dimension<'static> = TIME;
    const TITLE: &'static str = "Time";
    fn of(smallest: u64) -> Span {
        Span(smallest)
    }
    fn smallest(self) -> u64 {
        self.0
    }
}

impl Quantity for Rate {
    const DIMENSION: Dimension<'static> = RATE;
    const TITLE: &'static str = "Rate";
    fn of(smallest: u64) -> Rate {
        Rate(smallest)
    }
    fn smallest(self) -> u64 {
        self.0
    }
}

macro_rules! quantity_values {
    ($($type:ty),*) => { $(
        impl FileValue for $type {
            fn form() -> String {
                <$type as Quantity>::TITLE.to_lowercase()
            }
            fn wanted() -> String {
                <$type as Quantity>::DIMENSION.wanted()
            }
            fn schema(definitions: &mut Definitions) -> Json {
                let dimension = &<$type as Quantity>::DIMENSION;
                defined(definitions, <$type as Quantity>::TITLE, |_| quantity_schema(dimension))
            }
            fn read(node: &Node) -> Result<$type, Fault> {
                read_quantity(node, &<$type as Quantity>::DIMENSION).map(<$type as Quantity>::of)
            }
        }
    )* };
}

quantity_values!(Span, Rate);

/// A number of bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByteCount(pub u64);

impl FileValue for ByteCount {
    fn form() -> String {
        "bytes".to_owned()
    }
    fn schema(definitions: &mut Definitions) -> Json {
        defined(definitions, "Bytes", |_| quantity_schema(&BYTES))
    }
    fn read(node: &Node) -> Result<ByteCount, Fault> {
        read_quantity(node, &BYTES).map(ByteCount)
    }
}

/// The version of the format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SchemaVersion;

impl FileValue for SchemaVersion {
    fn form() -> String {
        "1".to_owned()
    }
    fn schema(_: &mut Definitions) -> Json {
        json!({ "const": 1 })
    }
    fn read(node: &Node) -> Result<SchemaVersion, Fault> {
        match node.raw {
            Raw::Int(1) => Ok(SchemaVersion),
            _ => {
                let text =
                    format!("{} is not supported; this version reads schema = 1", node.found());
                Err(node.spot.rule(text))
            }
        }
    }
}

/// A share of the duration, or a time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Warmup {
    Share(Decimal),
    Time(Span),
}

impl FileValue for Warmup {
    fn form() -> String {
        "share or time".to_owned()
    }
    fn schema(_: &mut Definitions) -> Json {
        text_schema("a share of the duration, or a time", &["20%", "24s"])
    }
    fn read(node: &Node) -> Result<Warmup, Fault> {
        let text = quantity_text(node, &TIME)?;
        let (digits, unit) = split(text.trim());
        if unit != "%" {
            return Span::read(node).map(Warmup::Time);
        }
        match number(text, digits, &TIME) {
            Ok(share) => Ok(Warmup::Share(share)),
            Err(problem) => Err(node.spot.fault(problem)),
        }
    }
}

/// A limit on what waits, or the size of a transfer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Amount {
    Bytes(u64),
    Packets(u64),
    Bdp(Decimal),
    /// A bandwidth-delay product of full packets, of which every packet counts one.
    BdpPackets(Decimal),
    Unlimited,
}

/// Reads bytes, packets and, if it is allowed, multiples of the bandwidth-delay product.
pub(crate) fn read_amount(node: &Node, bdp: bool) -> Result<Amount, Fault> {
    let units = amount_units(bdp);
    let what = Dimension { name: "an amount", example: "100pkt", units: &units, written: &[] };
    let text = quantity_text(node, &what)?;
    let (digits, unit) = split(text.trim());
    let fail = |problem| node.spot.fault(problem);
    let value = number(text, digits, &what).map_err(fail)?;
    match unit {
        "bdp" if bdp => return Ok(Amount::Bdp(value)),
        "bdp-pkt" if bdp => return Ok(Amount::BdpPackets(value)),
        _ => {}
    }
    if unit == "pkt" {
        let packets = Dimension { units: PACKETS, ..what };
        return packets.parse(text).map(Amount::Packets).map_err(fail);
    }
    what.parse(text).map(Amount::Bytes).map_err(fail)
}

/// Units of an amount; packets and bandwidth-delay products are told apart by their names.
fn amount_units(bdp: bool) -> Vec<(&'static str, u64)> {
    let multiples: &[(&str, u64)] = if bdp { &[("bdp", 1), ("bdp-pkt", 1)] } else { &[] };
    [BYTES.units, PACKETS, multiples].concat()
}

/// Packets alone.
const PACKETS: &[(&str, u64)] = &[("pkt", 1)];

/// A buffer's limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffer(pub Amount);

impl FileValue for Buffer {
    fn form() -> String {
        "bytes, packets, bdp or bdp-pkt".to_owned()
    }
    fn schema(definitions: &mut Definitions) -> Json {
        let units: Vec<&str> = amount_units(true).iter().map(|(unit, _)| *unit).collect();
        let units = units.join("|");
        let about = "bytes, packets, or multiples of capacity times the longest two-way \
                     propagation time of a flow over the link, in bytes (bdp) or full packets (bdp-pkt)";
        defined(definitions, "Buffer", |_| {
            json!({
                "type": "string",
                "description": about,
                "pattern": format!(r"^\s*{NUMBER}\s*({units})\s*$"),
                "examples": ["1bdp", "1bdp-pkt", "1.5MB", "100pkt"],
            })
        })
    }
    fn read(node: &Node) -> Result<Buffer, Fault> {
        read_amount(node, true).map(Buffer)
    }
}

/// Bytes or packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlainAmount(pub Amount);

impl FileValue for PlainAmount {
    fn form() -> String {
        "bytes or packets".to_owned()
    }
    fn schema(_: &mut Definitions) -> Json {
        text_schema("bytes or packets", &["2pkt", "2kB"])
    }
    fn read(node: &Node) -> Result<PlainAmount, Fault> {
        read_amount(node, false).map(PlainAmount)
    }
}

/// A real number of packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window(pub f64);

impl FileValue for Window {
    fn form() -> String {
        "packets".to_owned()
    }
    fn schema(_: &mut Definitions) -> Json {
        text_schema("packets, not always whole", &["1pkt", "10pkt"])
    }
    fn read(node: &Node) -> Result<Window, Fault> {
        let units = PACKETS;
        let what = Dimension { name: "a number of packets", example: "10pkt", units, written: &[] };
        let text = quantity_text(node, &what)?;
        let (digits, unit) = split(text.trim());
        let packets: f64 = match (digits.parse(), unit) {
            (Ok(packets), "pkt") => packets,
            (Ok(_), "") => return Err(node.spot.fault(what.no_unit(digits))),
            _ => return Err(node.mismatch(&what.wanted())),
        };
        if (1.0..=1e6).contains(&packets) {
            return Ok(Window(packets));
        }
        let allowed = "1pkt to 1000000pkt".to_owned();
        Err(node.spot.fault(Problem::Range { value: format!("\"{text}\""), allowed }))
    }
}

/// `"off"` or a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OffOrTime(pub Option<Span>);

impl FileValue for OffOrTime {
    fn form() -> String {
        "\"off\" or time".to_owned()
    }
    fn schema(_: &mut Definitions) -> Json {
        text_schema("off, or a time", &["off", "200ms"])
    }
    fn read(node: &Node) -> Result<OffOrTime, Fault> {
        match &node.raw {
            Raw::Text(text) if text == "off" => Ok(OffOrTime(None)),
            _ => Span::read(node).map(|span| OffOrTime(Some(span))),
        }
    }
}

/// When a value is recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EveryForm(pub Every);

impl FileValue for EveryForm {
    fn form() -> String {
        "time or \"change\"".to_owned()
    }
    fn schema(_: &mut Definitions) -> Json {
        text_schema("a time, or change", &["100ms", "change"])
    }
    fn read(node: &Node) -> Result<EveryForm, Fault> {
        match &node.raw {
            Raw::Text(text) if text == "change" => Ok(EveryForm(Every::Change)),
            Raw::Text(text) if !text.contains(|c: char| c.is_ascii_digit()) => {
                Err(node.mismatch("a time such as \"100ms\", or \"change\""))
            }
            _ => Span::read(node).map(|span| EveryForm(Every::Span(span))),
        }
    }
}

/// `name(argument, argument)` cut into its parts.
pub(crate) fn call(text: &str) -> Option<(&str, Vec<&str>)> {
    let (name, rest) = text.trim().split_once('(')?;
    let inner = rest.strip_suffix(')')?;
    Some((name.trim(), inner.split(',').map(str::trim).collect()))
}

/// Reads every argument of a call as a quantity.
pub(crate) fn arguments<T: Quantity + FileValue>(
    node: &Node,
    texts: &[&str],
) -> Result<Vec<T>, Fault> {
    let read = |text: &&str| T::read(&Node { raw: Raw::from(*text), spot: node.spot.clone() });
    texts.iter().map(read).collect()
}

/// The error for a function that is not one of `allowed`.
pub(crate) fn unknown_call(node: &Node, name: &str, allowed: &[&str]) -> Fault {
    let allowed = allowed.iter().map(|&name| name.to_owned()).collect();
    node.spot.fault(Problem::Name { what: "function", name: name.to_owned(), allowed })
}

impl FileValue for Start {
    fn form() -> String {
        "time, \"uniform(FROM, TO)\", \"every(GAP)\", \"every(GAP, FIRST)\" or list of times"
            .to_owned()
    }
    fn schema(definitions: &mut Definitions) -> Json {
        let examples = ["0s", "uniform(0s, 10s)", "every(2s)", "every(2s, 10s)"];
        let text = text_schema("when the flows start", &examples);
        json!({ "anyOf": [text, <Vec<At<Span>>>::schema(definitions)] })
    }
    fn read(node: &Node) -> Result<Start, Fault> {
        if let Raw::List(_) = node.raw {
            let list: Vec<At<Span>> = FileValue::read(node)?;
            return Ok(Start::List(list.iter().map(|item| item.value).collect()));
        }
        let Some((name, texts)) = call(quantity_text(node, &TIME)?) else {
            return Span::read(node).map(Start::At);
        };
        if !["uniform", "every"].contains(&name) {
            return Err(unknown_call(node, name, &["uniform", "every"]));
        }
        match (name, &arguments(node, &texts)?[..]) {
            ("uniform", &[low, high]) if low <= high => Ok(Start::Uniform(low, high)),
            ("uniform", _) => Err(node.mismatch("uniform(FROM, TO) with FROM not after TO")),
            (_, &[gap]) => Ok(Start::Every { first: Span::ZERO, gap }),
            (_, &[gap, first]) => Ok(Start::Every { first, gap }),
            _ => Err(node.mismatch("every(GAP) or every(GAP, FIRST)")),
        }
    }
}

/// The way of a flow: a word of a shorthand topology or a list of links.
#[derive(Clone, Debug)]
pub(crate) enum Way {
    /// `long`: over all links of a parking lot.
    Long,
    /// `each`: one group for every link.
    Each,
    /// `cross(FIRST, LAST)`: from link FIRST to link LAST, counted from 1.
    Cross(u64, u64),
    /// Named links.
    Links(Vec<At<String>>),
}

impl FileValue for Way {
    fn form() -> String {
        "\"long\", \"cross(LINK)\", \"cross(FIRST, LAST)\", \"each\" or list of links".to_owned()
    }
    fn schema(definitions: &mut Definitions) -> Json {
        let examples = ["long", "cross(3)", "cross(2, 4)", "each"];
        let text = text_schema("the way through a parking lot", &examples);
        json!({ "anyOf": [text, <Vec<At<String>>>::schema(definitions)] })
    }
    fn read(node: &Node) -> Result<Way, Fault> {
        if let Raw::List(_) = node.raw {
            return FileValue::read(node).map(Way::Links);
        }
        let wanted = "\"long\", \"cross(LINK)\", \"cross(FIRST, LAST)\", \"each\" or a list";
        match node.text(wanted)? {
            "long" => Ok(Way::Long),
            "each" => Ok(Way::Each),
            text => cross(text).ok_or_else(|| node.mismatch(wanted)),
        }
    }
}

/// `cross(LINK)` or `cross(FIRST, LAST)`.
fn cross(text: &str) -> Option<Way> {
    let (name, texts) = call(text)?;
    let numbers: Vec<_> = texts.iter().map(|text| text.parse::<u64>()).collect();
    match (name, &numbers[..]) {
        ("cross", [Ok(link)]) => Some(Way::Cross(*link, *link)),
        ("cross", [Ok(first), Ok(last)]) => Some(Way::Cross(*first, *last)),
        _ => None,
    }
}

impl Word for Series {
    const WHAT: &'static str = "series";
    fn all() -> Vec<(&'static str, Series)> {
        Series::ALL.iter().map(|series| (series.name(), *series)).collect()
    }
}

word_values!(Series);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Spot;

    fn read<T: FileValue>(text: &str) -> At<T> {
        At::read(&Node { raw: Raw::from(text), spot: Spot::root() }).unwrap()
    }

    #[test]
    fn starts_have_four_forms() {
        assert_eq!(read::<Start>("2s").value, Start::At(Span::from_secs(2)));
        let uniform = Start::Uniform(Span::ZERO, Span::from_secs(10));
        assert_eq!(read::<Start>("uniform(0s, 10s)").value, uniform);
        let every = Start::Every { first: Span::from_secs(10), gap: Span::from_secs(2) };
        assert_eq!(read::<Start>("every(2s, 10s)").value, every);
    }
}

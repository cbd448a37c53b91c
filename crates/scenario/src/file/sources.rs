//! What the flows of a group send and when they come, as a file says it.

use serde_json::{Value as Json, json};
use units::{Rate, Span};

use crate::attached::Files;
use crate::attached::cdf::{CdfForm, MAX_DRAWN};
use crate::error::{Fault, Problem, Spot};
use crate::file::{FlowFile, Gaps};
use crate::model::line::DelayLaw;
use crate::model::traffic::{App, Arrivals, GapLaw, MAX_LAYERS, Size, SizeLaw};
use crate::model::{Packets, Start};
use crate::resolve::network::{MAX_RATE, check_rate};
use crate::syntax::declaration::{At, Definitions, FileValue, table};
use crate::syntax::document::{Node, Raw};
use crate::values::distributions::{is_never, pareto_shape, percent, plain_number, share};
use crate::values::quantity::{BYTES, Dimension, TIME, number, split};
use crate::values::{Amount, call, read_amount, text_schema, unknown_call};

table! {
    /// Sizes drawn from a distribution function.
    pub(crate) struct CdfSize {
        /// A file of two columns, bytes and cumulative probability from 0 to 1, or the same as a
        /// list of pairs. Both ascend, the last probability is 1; linear in between.
        cdf: CdfForm = required;
    }
}

/// How much a flow sends.
#[derive(Clone, Debug)]
pub(crate) enum SizeForm {
    Fixed(Amount),
    Exponential(Amount),
    Pareto(Amount, f64),
    BoundedPareto(Amount, Amount, f64),
    Cdf(At<CdfForm>),
}

const SIZE_LAWS: [&str; 3] = ["exponential", "pareto", "bounded-pareto"];

impl FileValue for SizeForm {
    fn form() -> String {
        "\"unlimited\", bytes, packets, \"exponential(MEAN)\", \"pareto(MEAN, SHAPE)\", \
         \"bounded-pareto(LEAST, MOST, SHAPE)\" or table"
            .to_owned()
    }
    fn schema(definitions: &mut Definitions) -> Json {
        let examples = [
            "unlimited",
            "1MB",
            "300pkt",
            "exponential(30kB)",
            "pareto(30kB, 1.35)",
            "bounded-pareto(1kB, 1MB, 1.2)",
        ];
        let text = text_schema("unlimited, bytes, packets or a distribution", &examples);
        json!({ "anyOf": [text, CdfSize::schema(definitions)] })
    }
    fn read(node: &Node) -> Result<SizeForm, Fault> {
        let text = match &node.raw {
            Raw::Table(_) => return Ok(SizeForm::Cdf(CdfSize::read(node)?.cdf)),
            Raw::Text(text) if text == "unlimited" => {
                return Ok(SizeForm::Fixed(Amount::Unlimited));
            }
            Raw::Text(text) => text,
            _ => return read_amount(node, false).map(SizeForm::Fixed),
        };
        let Some((name, texts)) = call(text) else {
            return read_amount(node, false).map(SizeForm::Fixed);
        };
        let amount = |text: &str| {
            read_amount(&Node { raw: Raw::from(text), spot: node.spot.clone() }, false)
        };
        match (name, &texts[..]) {
            ("exponential", [mean]) => Ok(SizeForm::Exponential(amount(mean)?)),
            ("exponential", _) => Err(node.mismatch("exponential(MEAN)")),
            ("pareto", [mean, shape]) => {
                Ok(SizeForm::Pareto(amount(mean)?, pareto_shape(node, shape)?))
            }
            ("pareto", _) => Err(node.mismatch("pareto(MEAN, SHAPE)")),
            ("bounded-pareto", [least, most, shape]) => {
                let (least, most) = (amount(least)?, amount(most)?);
                Ok(SizeForm::BoundedPareto(least, most, bounded_shape(node, shape)?))
            }
            ("bounded-pareto", _) => Err(node.mismatch("bounded-pareto(LEAST, MOST, SHAPE)")),
            _ => Err(unknown_call(node, name, &SIZE_LAWS)),
        }
    }
}

/// The shape of a distribution between bounds. Higher powers of sizes would leave the floats.
fn bounded_shape(node: &Node, text: &str) -> Result<f64, Fault> {
    let shape = plain_number(node, text, "a shape")?;
    if shape > 0.0 && shape <= 10.0 {
        return Ok(shape);
    }
    let (value, allowed) = (format!("the shape {text}"), "above 0, at most 10".to_owned());
    Err(node.spot.fault(Problem::Range { value, allowed }))
}

/// The largest transfer [bytes].
const MAX_SIZE: u64 = 1_000_000_000_000_000_000;

impl At<SizeForm> {
    /// How much each flow sends.
    pub fn resolve(&self, packets: Packets, files: &Files<'_>) -> Result<Size, Fault> {
        let drawn = |amount| self.bytes(amount, packets, MAX_DRAWN).map(|bytes| bytes as f64);
        Ok(Size::Drawn(match &self.value {
            SizeForm::Fixed(Amount::Unlimited) => return Ok(Size::Unlimited),
            SizeForm::Fixed(amount) => {
                return self.bytes(*amount, packets, MAX_SIZE).map(Size::Bytes);
            }
            SizeForm::Exponential(mean) => SizeLaw::Exponential { mean: drawn(*mean)? },
            SizeForm::Pareto(mean, shape) => SizeLaw::Pareto { mean: drawn(*mean)?, shape: *shape },
            SizeForm::BoundedPareto(least, most, shape) => {
                let (min, max) = (drawn(*least)?, drawn(*most)?);
                if min >= max {
                    let wanted = "bounded-pareto(LEAST, MOST, SHAPE) with LEAST below MOST";
                    return Err(self.spot.rule(format!("expected {wanted}")));
                }
                SizeLaw::BoundedPareto { min, max, shape: *shape }
            }
            SizeForm::Cdf(cdf) => SizeLaw::Empirical(cdf.resolve(files)?),
        }))
    }

    fn bytes(&self, amount: Amount, packets: Packets, most: u64) -> Result<u64, Fault> {
        let bytes = match amount {
            Amount::Packets(count) => count.checked_mul(u64::from(packets.data_bytes)),
            Amount::Bytes(bytes) => Some(bytes),
            Amount::Bdp(_) | Amount::BdpPackets(_) | Amount::Unlimited => None,
        };
        match bytes {
            Some(bytes) if (1..=most).contains(&bytes) => Ok(bytes),
            bytes => {
                let value = bytes.map_or("the size".to_owned(), |bytes| BYTES.exact(bytes));
                let allowed = format!("1B to {}", BYTES.exact(most));
                Err(self.spot.fault(Problem::Range { value, allowed }))
            }
        }
    }
}

/// How flows come one after another.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ArrivalsForm {
    /// A Poisson process with this mean gap in seconds.
    Poisson(f64),
    Every(Span),
    /// A Poisson process that offers this part of the slowest link's rate.
    Load(f64),
}

const ARRIVALS: [&str; 3] = ["poisson", "every", "load"];

/// Rates of arrivals, and the time in smallest units that each counts by.
const PER_TIME: &[(&str, u64)] = &[
    ("/us", 1_000_000),
    ("/ms", 1_000_000_000),
    ("/s", 1_000_000_000_000),
    ("/min", 60_000_000_000_000),
    ("/h", 3_600_000_000_000_000),
];

impl FileValue for ArrivalsForm {
    fn form() -> String {
        "\"poisson(RATE)\", \"every(GAP)\" or \"load(SHARE)\"".to_owned()
    }
    fn schema(_: &mut Definitions) -> Json {
        let examples = ["poisson(300/s)", "poisson(2ms)", "every(10ms)", "load(60%)"];
        text_schema("how flows come one after another", &examples)
    }
    fn read(node: &Node) -> Result<ArrivalsForm, Fault> {
        let wanted = "\"poisson(RATE)\", \"every(GAP)\" or \"load(SHARE)\"";
        let Some((name, texts)) = call(node.text(wanted)?) else {
            return Err(node.mismatch(wanted));
        };
        let fail = |problem| node.spot.fault(problem);
        match (name, &texts[..]) {
            ("poisson", [text]) => mean_gap(text).map(ArrivalsForm::Poisson).map_err(fail),
            ("poisson", _) => Err(node.mismatch("poisson(RATE), such as poisson(300/s)")),
            ("every", [gap]) => match TIME.parse(gap).map_err(fail)? {
                0 => Err(node.mismatch("every(GAP) with a gap above 0s")),
                gap => Ok(ArrivalsForm::Every(Span(gap))),
            },
            ("every", _) => Err(node.mismatch("every(GAP)")),
            ("load", [text]) => match share(text).map_err(fail)? {
                load if load > 0.0 && load <= 100.0 => Ok(ArrivalsForm::Load(load)),
                _ => {
                    let allowed = "above 0%, at most 10000%".to_owned();
                    Err(fail(Problem::Range { value: format!("\"{text}\""), allowed }))
                }
            },
            ("load", _) => Err(node.mismatch("load(SHARE), such as load(60%)")),
            _ => Err(unknown_call(node, name, &ARRIVALS)),
        }
    }
}

/// The mean gap in seconds of a rate such as `300/s`, or of a time.
fn mean_gap(text: &str) -> Result<f64, Problem> {
    let units = [PER_TIME, TIME.units].concat();
    let what = Dimension { name: "a rate", example: "300/s", units: &units, written: &[] };
    let (digits, unit) = split(text.trim());
    let value = number(text, digits, &what)?.to_f64();
    let named = |list: &[(&str, u64)]| list.iter().find(|(name, _)| *name == unit).map(|u| u.1);
    // A second is 1.0 here, so that seconds read back to the same bits.
    let seconds = |ps: u64| ps as f64 / 1e12;
    let mean_s = match (named(PER_TIME), named(TIME.units)) {
        (Some(ps), _) => seconds(ps) / value,
        (_, Some(ps)) => value * seconds(ps),
        _ if unit.is_empty() => return Err(what.no_unit(digits)),
        _ => {
            let (unit, value) = (unit.to_owned(), text.to_owned());
            return Err(Problem::Unit { unit, value, allowed: what.unit_names() });
        }
    };
    if (1e-12..=1e8).contains(&mean_s) {
        return Ok(mean_s);
    }
    let allowed = "a mean gap of 1ps to 100000000s".to_owned();
    Err(Problem::Range { value: format!("\"{text}\""), allowed })
}

/// The arrivals as they are written, without quotes; the text reads back to the same bits.
pub(crate) fn gap_text(gap: &GapLaw) -> String {
    match gap {
        GapLaw::Poisson { mean_s } => format!("poisson({mean_s:?}s)"),
        GapLaw::Every(gap) => format!("every({})", TIME.exact(gap.0)),
    }
}

/// Sizes as they are written, as a TOML value.
pub(crate) fn size_text(law: &SizeLaw) -> String {
    // Whole numbers up to 10^15, so the conversion is exact.
    let bytes = |bytes: f64| BYTES.exact(bytes as u64);
    match law {
        SizeLaw::Exponential { mean } => format!("\"exponential({})\"", bytes(*mean)),
        SizeLaw::Pareto { mean, shape } => format!("\"pareto({}, {shape:?})\"", bytes(*mean)),
        SizeLaw::BoundedPareto { min, max, shape } => {
            format!("\"bounded-pareto({}, {}, {shape:?})\"", bytes(*min), bytes(*max))
        }
        SizeLaw::Empirical(points) => {
            let point = |(size, share): &(f64, f64)| format!("[\"{}\", {share:?}]", bytes(*size));
            let points: Vec<String> = points.iter().map(point).collect();
            format!("{{ cdf = [{}] }}", points.join(", "))
        }
    }
}

/// The mean size [bytes]; `None`: unlimited.
pub(crate) fn mean_size(size: &Size) -> Option<f64> {
    match size {
        Size::Unlimited => None,
        Size::Bytes(bytes) => Some(*bytes as f64),
        Size::Drawn(law) => Some(law.mean()),
    }
}

/// The mean of the gaps [s].
pub(crate) fn mean_gap_s(gap: &GapLaw) -> f64 {
    match gap {
        GapLaw::Poisson { mean_s } => *mean_s,
        GapLaw::Every(gap) => gap.as_secs(),
    }
}

/// How the flows of `file` come, if they come one after another. `slowest` is the rate of the
/// slowest link on their way.
pub(crate) fn arrivals(
    file: &FlowFile,
    size: &Size,
    slowest: Rate,
) -> Result<Option<Arrivals>, Fault> {
    let Some(form) = &file.arrivals else { return Ok(None) };
    let Some(mean_bytes) = mean_size(size) else {
        let text = "flows that arrive are transfers: size must not be \"unlimited\"";
        return Err(file.size.spot.rule(text));
    };
    if !matches!(file.start.value, Start::At(_)) {
        let text = "with arrivals, start is one time: when the first may come";
        return Err(file.start.spot.rule(text));
    }
    let gap = match form.value {
        ArrivalsForm::Poisson(mean_s) => GapLaw::Poisson { mean_s },
        ArrivalsForm::Every(gap) => GapLaw::Every(gap),
        ArrivalsForm::Load(load) => {
            let mean_s = mean_bytes * 8.0 / (load * slowest.as_bps());
            if !(1e-12..=1e8).contains(&mean_s) {
                let value = format!("a mean gap of {mean_s:e}s for load({})", percent(load));
                let allowed = "1ps to 100000000s".to_owned();
                return Err(form.spot.fault(Problem::Range { value, allowed }));
            }
            GapLaw::Poisson { mean_s }
        }
    };
    Ok(Some(Arrivals { gap, most: file.count.as_ref().map(|count| count.value.0) }))
}

/// How many flows are expected to arrive from `start` to `end`, rounded up.
pub(crate) fn expected(arrivals: &Arrivals, start: Span, end: Span) -> u64 {
    // A float becomes an integer by saturation.
    let expected = ((end - start).as_secs() / mean_gap_s(&arrivals.gap) + 1.0) as u64;
    expected.min(arrivals.most.unwrap_or(u64::MAX))
}

/// What the applications of the flows of `file` offer.
pub(crate) fn app(file: &FlowFile) -> Result<App, Fault> {
    let wants = |spot: &Spot, key: &str, other: &str| spot.rule(format!("{key} needs {other}"));
    let poisson = file.gaps.as_ref().filter(|gaps| gaps.value == Gaps::Poisson);
    if let Some(layers) = &file.layers {
        return layered(file, layers);
    }
    if let Some(time) = &file.layer_time {
        return Err(wants(&time.spot, "layer_time", "layers"));
    }
    if let (Some(gaps), None) = (&file.gaps, &file.rate) {
        return Err(wants(&gaps.spot, "gaps", "rate"));
    }
    if let (Some(gaps), Some(rate)) = (poisson, &file.rate) {
        return match (&file.on, &file.off) {
            (None, None) => app_rate(rate).map(App::Poisson),
            _ => Err(gaps.spot.rule("\"poisson\" cannot be combined with on and off")),
        };
    }
    match (&file.rate, &file.on, &file.off) {
        (None, None, None) => Ok(App::Greedy),
        (None, Some(law), _) => Err(wants(&law.spot, "on", "rate")),
        (None, _, Some(law)) => Err(wants(&law.spot, "off", "rate")),
        (Some(_), Some(on), None) => Err(wants(&on.spot, "on", "off")),
        (Some(_), None, Some(off)) => Err(wants(&off.spot, "off", "on")),
        (Some(rate), None, None) => app_rate(rate).map(App::Rate),
        (Some(rate), Some(on), Some(off)) => {
            let app = App::OnOff { rate: app_rate(rate)?, on: phase(on)?, off: phase(off)? };
            // Else the breaks between two packets would be more than anybody wants to draw.
            let gap_s = 8.0 * 65535.0 / rate.value.as_bps();
            if on.value.about() * 1e8 < gap_s {
                return Err(on
                    .spot
                    .rule("it is over 10^8 times shorter than a packet at that rate"));
            }
            Ok(app)
        }
    }
}

/// A video in layers.
fn layered(file: &FlowFile, layers: &At<Vec<At<Rate>>>) -> Result<App, Fault> {
    if let Some(rate) = &file.rate {
        return Err(rate.spot.rule("use either rate or layers"));
    }
    if layers.value.is_empty() || layers.value.len() > MAX_LAYERS {
        return Err(layers.spot.rule(format!("a video has 1 to {MAX_LAYERS} layers")));
    }
    let (mut sums, mut sum) = ([Rate(0); MAX_LAYERS], 0_u64);
    for (i, layer) in layers.value.iter().enumerate() {
        sum = sum.saturating_add(app_rate(layer)?.0);
        sums[i..].fill(Rate(sum));
    }
    check_rate(Rate(sum), MAX_RATE, &layers.spot)?;
    let every = match &file.layer_time {
        None => Span::from_secs(1),
        Some(time) if time.value >= Span::from_millis(1) => time.value,
        Some(time) => return Err(time.spot.rule("it must be at least 1ms")),
    };
    Ok(App::Layers { sums, every })
}

fn app_rate(rate: &At<Rate>) -> Result<Rate, Fault> {
    check_rate(rate.value, MAX_RATE, &rate.spot)
}

/// A phase that is not always over at once.
fn phase(law: &At<DelayLaw>) -> Result<DelayLaw, Fault> {
    if is_never(&law.value) {
        return Err(law.spot.rule("it must be able to last longer than 0s"));
    }
    Ok(law.value)
}

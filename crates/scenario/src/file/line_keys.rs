//! What a link's line does, as a file says it: steps, traces, outages, losses, jitter, reordering.

use serde_json::{Value as Json, json};
use units::{Rate, Span};

use crate::attached::Files;
use crate::attached::trace::TraceForm;
use crate::error::{Fault, Problem};
use crate::model::line::{
    Capacity, DelayLaw, Device, Jitter, Line, Loss, LossModel, Outage, Reorder, Step,
};
use crate::resolve::network::{MAX_RATE, check_owd, check_rate};
use crate::syntax::declaration::{
    At, Count, Definitions, FileValue, MAX_INTEGER, Word, table, word_values,
};
use crate::syntax::document::{Node, Raw};
use crate::values::OffOrTime;
use crate::values::distributions::{Share, is_never};
use crate::values::quantity::TIME;

table! {
    /// A change of the capacity.
    pub(crate) struct StepFile {
        /// When it happens.
        at: Span = required;
        /// The new capacity, 1bps to 100Tbps.
        rate: Rate = required;
    }
}

/// From one time to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Between(Span, Span);

impl FileValue for Between {
    fn form() -> String {
        "[from, to]".to_owned()
    }
    fn schema(definitions: &mut Definitions) -> Json {
        let time = Span::schema(definitions);
        json!({ "type": "array", "items": time, "minItems": 2, "maxItems": 2 })
    }
    fn read(node: &Node) -> Result<Between, Fault> {
        match &node.raw {
            Raw::List(items) if items.len() == 2 => {
                Ok(Between(Span::read(&items[0])?, Span::read(&items[1])?))
            }
            _ => Err(node.mismatch("a pair of times such as [\"10s\", \"12s\"]")),
        }
    }
}

/// Which packets a line loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LossKind {
    Random,
    GilbertElliott,
    Every,
    List,
}

impl Word for LossKind {
    const WHAT: &'static str = "kind of loss";
    fn all() -> Vec<(&'static str, LossKind)> {
        vec![
            ("random", LossKind::Random),
            ("gilbert-elliott", LossKind::GilbertElliott),
            ("every", LossKind::Every),
            ("list", LossKind::List),
        ]
    }
}

word_values!(LossKind);

table! {
    /// Each packet is lost with the same probability, independently of the others.
    pub(crate) struct RandomLoss {
        /// "random".
        kind: LossKind = required;
        /// The probability.
        p: Share = required;
        /// Whether only data packets are counted and lost.
        data_only: bool = default(false);
    }
}

table! {
    /// Bursts of losses: a two-state Markov chain that starts in the good state and takes one step
    /// per packet.
    pub(crate) struct GilbertElliottLoss {
        /// "gilbert-elliott".
        kind: LossKind = required;
        /// Probability of a step from good to bad.
        to_bad: Share = required;
        /// Probability of a step from bad to good.
        to_good: Share = required;
        /// Probability of a loss in the good state.
        loss_good: Share = default("0%");
        /// Probability of a loss in the bad state.
        loss_bad: Share = default("100%");
        /// Whether only data packets are counted and lost.
        data_only: bool = default(false);
    }
}

table! {
    /// Every nth packet is lost.
    pub(crate) struct EveryLoss {
        /// "every".
        kind: LossKind = required;
        /// Packets from one loss to the next.
        n: Count<1, MAX_INTEGER> = required;
        /// Whether only data packets are counted and lost.
        data_only: bool = default(false);
    }
}

table! {
    /// Named packets are lost.
    pub(crate) struct ListLoss {
        /// "list".
        kind: LossKind = required;
        /// Their numbers, from 1, in ascending order.
        packets: Vec<At<Count<1, MAX_INTEGER>>> = required;
        /// Whether only data packets are counted and lost.
        data_only: bool = default(false);
    }
}

/// A probability or a table that begins with its kind.
#[derive(Clone, Debug)]
pub(crate) enum LossForm {
    Share(Share),
    Random(RandomLoss),
    GilbertElliott(GilbertElliottLoss),
    Every(EveryLoss),
    List(ListLoss),
}

impl FileValue for LossForm {
    fn form() -> String {
        "share or table".to_owned()
    }
    fn schema(definitions: &mut Definitions) -> Json {
        let kinds = [
            ("RandomLoss", RandomLoss::schema(definitions)),
            ("GilbertElliottLoss", GilbertElliottLoss::schema(definitions)),
            ("EveryLoss", EveryLoss::schema(definitions)),
            ("ListLoss", ListLoss::schema(definitions)),
        ];
        for ((name, _), word) in kinds.iter().zip(LossKind::words()) {
            definitions[*name]["properties"]["kind"] = json!({ "const": word });
        }
        let tables = kinds.map(|(_, schema)| schema);
        json!({ "anyOf": [Share::schema(definitions), { "oneOf": tables }] })
    }
    fn read(node: &Node) -> Result<LossForm, Fault> {
        let Raw::Table(_) = node.raw else { return Share::read(node).map(LossForm::Share) };
        let Some(kind) = node.entry("kind") else {
            return Err(node.spot.child("kind").fault(Problem::Missing(LossKind::form())));
        };
        match LossKind::read(kind)? {
            LossKind::Random => RandomLoss::read(node).map(LossForm::Random),
            LossKind::GilbertElliott => {
                GilbertElliottLoss::read(node).map(LossForm::GilbertElliott)
            }
            LossKind::Every => EveryLoss::read(node).map(LossForm::Every),
            LossKind::List => ListLoss::read(node).map(LossForm::List),
        }
    }
}

impl At<LossForm> {
    fn resolve(&self) -> Result<Loss, Fault> {
        let (model, data_only) = match &self.value {
            LossForm::Share(share) => (LossModel::Random(share.0), false),
            LossForm::Random(file) => (LossModel::Random(file.p.value.0), file.data_only.value),
            LossForm::GilbertElliott(file) => {
                let model = LossModel::GilbertElliott {
                    to_bad: file.to_bad.value.0,
                    to_good: file.to_good.value.0,
                    loss_good: file.loss_good.value.0,
                    loss_bad: file.loss_bad.value.0,
                };
                (model, file.data_only.value)
            }
            LossForm::Every(file) => (LossModel::Every(file.n.value.0), file.data_only.value),
            LossForm::List(file) => {
                let packets = &file.packets;
                if packets.value.is_empty() {
                    return Err(packets.spot.rule("the list has at least one packet"));
                }
                for pair in packets.value.windows(2) {
                    let (before, after) = (pair[0].value.0, &pair[1]);
                    if after.value.0 <= before {
                        let text =
                            format!("packets ascend, but {} comes after {before}", after.value.0);
                        return Err(after.spot.rule(text));
                    }
                }
                let numbers = packets.value.iter().map(|packet| packet.value.0).collect();
                (LossModel::List(numbers), file.data_only.value)
            }
        };
        Ok(Loss { model, data_only })
    }
}

table! {
    /// A delay added to each packet.
    pub(crate) struct JitterFile {
        /// The delay.
        delay: DelayLaw = required;
        /// Whether a packet waits for those that entered before it; otherwise it may overtake them.
        in_order: bool = default(false);
    }
}

/// A distribution or a table.
#[derive(Clone, Debug)]
pub(crate) struct JitterForm(Jitter);

impl FileValue for JitterForm {
    fn form() -> String {
        "distribution of times or table".to_owned()
    }
    fn schema(definitions: &mut Definitions) -> Json {
        json!({ "anyOf": [DelayLaw::schema(definitions), JitterFile::schema(definitions)] })
    }
    fn read(node: &Node) -> Result<JitterForm, Fault> {
        Ok(JitterForm(match node.raw {
            Raw::Table(_) => {
                let file = JitterFile::read(node)?;
                Jitter { extra: file.delay.value, in_order: file.in_order.value }
            }
            _ => Jitter { extra: DelayLaw::read(node)?, in_order: false },
        }))
    }
}

table! {
    /// Packets that are held up so that later ones overtake them.
    pub(crate) struct ReorderFile {
        /// Probability that a packet is held up, independently of the others.
        p: Share = required;
        /// How long it is held up, at most 1h.
        delay: Span = required;
    }
}

/// Refuses lists that a topology would copy to its thousand links for too long.
fn at_most<T>(list: &At<Vec<At<T>>>) -> Result<(), Fault> {
    const MOST: usize = 10_000;
    match list.value.len() > MOST {
        true => Err(list.spot.rule(format!("the list has more than {MOST} entries"))),
        false => Ok(()),
    }
}

/// The keys of a table that are about the line.
pub(crate) struct LineKeys<'a> {
    pub rate: &'a Option<At<Rate>>,
    pub steps: &'a Option<At<Vec<At<StepFile>>>>,
    pub trace: &'a Option<At<TraceForm>>,
    pub down: &'a Option<At<Vec<At<Between>>>>,
    pub down_drops: &'a At<bool>,
    pub loss: &'a Option<At<LossForm>>,
    pub jitter: &'a Option<At<JitterForm>>,
    pub reorder: &'a Option<At<ReorderFile>>,
    pub device_packets: &'a At<Count<0, 100_000>>,
    pub device_bql: &'a Option<At<OffOrTime>>,
}

/// The [`LineKeys`] of a table that has them.
macro_rules! line_keys {
    ($file:expr) => {
        $crate::file::line_keys::LineKeys {
            rate: &$file.rate,
            steps: &$file.steps,
            trace: &$file.trace,
            down: &$file.down,
            down_drops: &$file.down_drops,
            loss: &$file.loss,
            jitter: &$file.jitter,
            reorder: &$file.reorder,
            device_packets: &$file.device_packets,
            device_bql: &$file.device_bql,
        }
    };
}
pub(crate) use line_keys;

impl LineKeys<'_> {
    /// The rate and the line. `table` is where `rate` is missed.
    pub fn resolve(
        &self,
        table: &crate::error::Spot,
        files: &Files<'_>,
    ) -> Result<(Rate, Line), Fault> {
        let (rate, capacity) = self.capacity(table, files)?;
        let line = Line {
            capacity,
            outages: self.outages()?,
            outage_drops: self.outage_drops()?,
            loss: self.loss.as_ref().map(At::<LossForm>::resolve).transpose()?,
            jitter: self.jitter()?,
            reorder: self.reorder()?,
        };
        Ok((rate, line))
    }

    fn capacity(
        &self,
        table: &crate::error::Spot,
        files: &Files<'_>,
    ) -> Result<(Rate, Capacity), Fault> {
        let Some(trace) = self.trace else {
            let Some(rate) = self.rate else {
                let wanted = format!("{}, or trace", Rate::wanted());
                return Err(table.child("rate").fault(Problem::Missing(wanted)));
            };
            let rate = check_rate(rate.value, MAX_RATE, &rate.spot)?;
            return Ok((rate, self.steps()?));
        };
        if let Some(rate) = self.rate {
            return Err(rate.spot.rule("a trace has its own rate; leave rate out"));
        }
        if let Some(steps) = self.steps {
            return Err(steps.spot.rule("use either steps or trace, not both"));
        }
        let (trace, rate) = trace.resolve(files)?;
        Ok((check_rate(rate, MAX_RATE, &self.trace_spot(table))?, Capacity::Trace(trace)))
    }

    fn trace_spot(&self, table: &crate::error::Spot) -> crate::error::Spot {
        self.trace.as_ref().map_or(table.clone(), |trace| trace.spot.clone())
    }

    fn steps(&self) -> Result<Capacity, Fault> {
        let Some(files) = self.steps else { return Ok(Capacity::Constant) };
        at_most(files)?;
        let mut steps: Vec<Step> = Vec::new();
        for file in &files.value {
            let StepFile { at, rate } = &file.value;
            let rate = check_rate(rate.value, MAX_RATE, &rate.spot)?;
            if let Some(before) = steps.last().map(|step| step.at)
                && at.value <= before
            {
                let (now, before) = (TIME.exact(at.value.0), TIME.exact(before.0));
                let text = format!("steps ascend in time, but {now} comes after {before}");
                return Err(at.spot.rule(text));
            }
            steps.push(Step { at: at.value, rate });
        }
        Ok(if steps.is_empty() { Capacity::Constant } else { Capacity::Steps(steps) })
    }

    fn outages(&self) -> Result<Vec<Outage>, Fault> {
        let mut outages: Vec<Outage> = Vec::new();
        self.down.as_ref().map_or(Ok(()), at_most)?;
        for between in self.down.as_ref().map_or(&[][..], |list| &list.value) {
            let Between(from, to) = between.value;
            let text = |span: Span| TIME.exact(span.0);
            if from >= to {
                let text = format!("{} is not before {}", text(from), text(to));
                return Err(between.spot.rule(text));
            }
            if let Some(before) = outages.last()
                && from <= before.to
            {
                let text = format!(
                    "outages are in order and apart, but this one begins at {} and the one before \
                     ends at {}",
                    text(from),
                    text(before.to)
                );
                return Err(between.spot.rule(text));
            }
            outages.push(Outage { from, to });
        }
        Ok(outages)
    }

    fn outage_drops(&self) -> Result<bool, Fault> {
        let down = self.down.as_ref().is_some_and(|list| !list.value.is_empty());
        if self.down_drops.value && !down {
            return Err(self.down_drops.spot.rule("down_drops needs down"));
        }
        Ok(self.down_drops.value)
    }

    fn jitter(&self) -> Result<Option<Jitter>, Fault> {
        let Some(jitter) = self.jitter else { return Ok(None) };
        let jitter = jitter.value.0.clone();
        // No delay at all is no jitter: the line stays a plain one.
        Ok((!is_never(&jitter.extra)).then_some(jitter))
    }

    fn reorder(&self) -> Result<Option<Reorder>, Fault> {
        let Some(file) = self.reorder else { return Ok(None) };
        let ReorderFile { p, delay } = &file.value;
        let extra = check_owd(delay)?;
        if extra == Span::ZERO {
            return Err(delay.spot.rule("packets that are held up for 0s are not out of order"));
        }
        Ok(Some(Reorder { p: p.value.0, extra }))
    }

    /// The device below the queue.
    pub fn device(&self) -> Result<Option<Device>, Fault> {
        // At most 100,000.
        let packets = u32::try_from(self.device_packets.value.0).unwrap_or(u32::MAX);
        let bql = self.device_bql.as_ref().filter(|bql| bql.value.0.is_some());
        if let Some(bql) = bql
            && packets == 0
        {
            return Err(bql.spot.rule("device_bql needs device_packets"));
        }
        let bql = bql.and_then(|bql| bql.value.0);
        Ok((packets > 0).then_some(Device { packets, bql }))
    }
}

//! Queues and protocols: names of the registry or of the user, tables of parameters.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use cc::classes::Service;
use cc::params::{Kind, Preset, Refused, Spec, Value};
use cc::registry::{
    AnyRouterParams, AnySenderParams, ProtocolInfo, QueueInfo, Recovery, Role, protocols, queues,
};
use serde_json::{Map, Value as Json, json};
use units::Span;

use crate::error::{Fault, Problem, Spot};
use crate::model::era::{Era, Origin, Origins};
use crate::model::{Protocol, Queue, RouterPart};
use crate::syntax::declaration::{At, Definitions, FileValue, Named, defined, unknown_key};
use crate::syntax::document::{Node, Raw};
use crate::values::quantity::TIME;

/// A name, or a table that begins with a registered kind.
#[derive(Clone, Debug)]
pub(crate) enum Reference {
    Name(String),
    Inline { kind: At<String>, entries: Vec<(String, Node)> },
}

impl Reference {
    fn read(node: &Node, wanted: &str) -> Result<Reference, Fault> {
        match &node.raw {
            Raw::Text(name) => Ok(Reference::Name(name.clone())),
            Raw::Table(entries) => {
                let Some(kind) = node.entry("kind") else {
                    let spot = node.spot.child("kind");
                    return Err(spot.fault(Problem::Missing("a registered name".to_owned())));
                };
                let rest = entries.iter().filter(|(name, _)| name != "kind");
                let entries = rest.cloned().collect();
                Ok(Reference::Inline { kind: At::read(kind)?, entries })
            }
            _ => Err(node.mismatch(wanted)),
        }
    }
}

/// A queue's name or table.
#[derive(Clone, Debug)]
pub(crate) struct QueueRef(Reference);

/// A protocol's name or table.
#[derive(Clone, Debug)]
pub(crate) struct ProtocolRef(Reference);

impl FileValue for QueueRef {
    fn form() -> String {
        "queue's name or table".to_owned()
    }
    fn schema(definitions: &mut Definitions) -> Json {
        let table = |_: &mut Definitions| json!({ "oneOf": queues().map(|info| queue_schema(&info)).collect::<Vec<_>>() });
        let table = defined(definitions, "QueueTable", table);
        json!({ "anyOf": [{ "type": "string" }, table] })
    }
    fn read(node: &Node) -> Result<QueueRef, Fault> {
        Reference::read(node, "a queue's name or table").map(QueueRef)
    }
}

impl FileValue for ProtocolRef {
    fn form() -> String {
        "protocol's name or table".to_owned()
    }
    fn schema(definitions: &mut Definitions) -> Json {
        let table = |definitions: &mut Definitions| {
            let recovery = Recovery::schema(definitions);
            let one = |info: ProtocolInfo| {
                let extra = [("recovery", recovery.clone())];
                part_schema((info.name, info.summary), &extra, info.presets, info.params)
            };
            json!({ "oneOf": protocols().map(one).collect::<Vec<_>>() })
        };
        let table = defined(definitions, "ProtocolTable", table);
        json!({ "anyOf": [{ "type": "string" }, table] })
    }
    fn read(node: &Node) -> Result<ProtocolRef, Fault> {
        Reference::read(node, "a protocol's name or table").map(ProtocolRef)
    }
}

/// What `[queues]` and `[protocols]` define.
pub(crate) struct Catalog {
    pub queues: Vec<(String, Queue)>,
    /// Names of definitions that are feedback queues.
    feedbacks: Vec<String>,
    pub protocols: Vec<(String, Protocol)>,
    era: Era,
}

/// The name of what is written in place, until [`crate::resolve::naming`] finds a better one.
pub(crate) const IN_PLACE: &str = "";

impl Catalog {
    /// Resolves every definition, used or not.
    pub fn new(
        queues: Option<&At<Named<QueueRef>>>,
        protocols: Option<&At<Named<ProtocolRef>>>,
        era: Era,
    ) -> Result<Catalog, Fault> {
        let queues = queues.map_or(&[][..], |named| &named.value.0);
        // Policies first: feedback queues stand over them.
        let is_feedback = |reference: &QueueRef| match &reference.0 {
            Reference::Name(_) => false,
            Reference::Inline { kind, .. } => {
                queue_info(&kind.value).is_some_and(|info| info.role == Role::Feedback)
            }
        };
        let feedbacks = queues.iter().filter(|(_, entry)| is_feedback(&entry.value));
        let feedbacks = feedbacks.map(|(name, _)| name.clone()).collect();
        let mut catalog = Catalog { queues: Vec::new(), feedbacks, protocols: Vec::new(), era };
        for feedback in [false, true] {
            for (name, entry) in queues.iter().filter(|(_, e)| is_feedback(&e.value) == feedback) {
                own_kind(name, &entry.value.0, &entry.spot, &queue_names())?;
                let queue = catalog.queue_named(name, entry)?;
                catalog.queues.push((name.clone(), queue));
            }
        }
        for (name, entry) in protocols.map_or(&[][..], |named| &named.value.0) {
            own_kind(name, &entry.value.0, &entry.spot, &protocol_names())?;
            let protocol = catalog.protocol_named(name, entry)?;
            catalog.protocols.push((name.clone(), protocol));
        }
        Ok(catalog)
    }

    /// The queue that `reference` means.
    pub fn queue(&self, reference: &At<QueueRef>) -> Result<Queue, Fault> {
        match &reference.value.0 {
            Reference::Name(name) => self.queue_called(name, &reference.spot),
            Reference::Inline { .. } => self.queue_named(IN_PLACE, reference),
        }
    }

    /// The protocol that `reference` means.
    pub fn protocol(&self, reference: &At<ProtocolRef>) -> Result<Protocol, Fault> {
        match &reference.value.0 {
            Reference::Name(name) => self.protocol_called(name, &reference.spot),
            Reference::Inline { .. } => self.protocol_named(IN_PLACE, reference),
        }
    }

    fn queue_called(&self, name: &str, spot: &Spot) -> Result<Queue, Fault> {
        if let Some((_, queue)) = self.queues.iter().find(|(own, _)| own == name) {
            return Ok(queue.clone());
        }
        let Some(info) = queue_info(name) else {
            let own = self.queues.iter().map(|(name, _)| name.clone());
            return Err(unknown("queue", name, own.chain(queue_names()).collect(), spot));
        };
        self.queue_of(name, &info, &[], spot)
    }

    fn queue_named(&self, name: &str, reference: &At<QueueRef>) -> Result<Queue, Fault> {
        match &reference.value.0 {
            Reference::Name(_) => Err(wants_table(&reference.spot, "kind = \"droptail\"")),
            Reference::Inline { kind, entries } => {
                let info = queue_info(&kind.value)
                    .ok_or_else(|| unknown("queue", &kind.value, queue_names(), &kind.spot))?;
                self.queue_of(name, &info, entries, &reference.spot)
            }
        }
    }

    fn queue_of(
        &self,
        name: &str,
        info: &QueueInfo,
        entries: &[(String, Node)],
        spot: &Spot,
    ) -> Result<Queue, Fault> {
        let feedback = info.role == Role::Feedback;
        let own: &[&str] = if feedback { &["kind", "over"] } else { &["kind"] };
        let reserved = reserved(own, info.presets);
        // `named` knows every name of the registry.
        let mut params = AnyRouterParams::named(info.name)
            .ok_or_else(|| unknown("queue", info.name, queue_names(), spot))?;
        let mut origins = Origins::default();
        let mut set = |name: &str, value, origin| {
            params.set(name, value)?;
            origins.set(name, origin);
            Ok(())
        };
        set_preset(info.name, info.presets, entries, &mut set)?;
        set_all(info.params, &reserved, entries, set)?;
        let part = RouterPart { kind: info.name, params, origins };
        let name = name.to_owned();
        if !feedback {
            return Ok(Queue { name, policy: part, feedback: None });
        }
        let over = entries.iter().find(|(key, _)| key == "over").map(|(_, node)| node);
        let policy = self.over(over, spot)?;
        if part.params.service() == Service::AcksFirst
            && matches!(policy.params.service(), Service::Classes(_))
        {
            return Err(spot.rule(format!(
                "{} serves ACKs first, but {} has its own order of service; set priority = false or \
                 choose another policy",
                part.kind, policy.kind,
            )));
        }
        Ok(Queue { name, policy, feedback: Some(part) })
    }

    /// The policy that a feedback queue stands over.
    fn over(&self, node: Option<&Node>, spot: &Spot) -> Result<RouterPart, Fault> {
        let Some(node) = node else {
            return Ok(self.queue_called("droptail", spot)?.policy);
        };
        let reference: At<QueueRef> = At::read(node)?;
        match &reference.value.0 {
            Reference::Name(name) if self.feedbacks.contains(name) => Err(not_a_policy(name, node)),
            _ => match self.queue(&reference)? {
                Queue { feedback: None, policy, .. } => Ok(policy),
                Queue { feedback: Some(part), .. } => Err(not_a_policy(part.kind, node)),
            },
        }
    }

    fn protocol_called(&self, name: &str, spot: &Spot) -> Result<Protocol, Fault> {
        if let Some((_, protocol)) = self.protocols.iter().find(|(own, _)| own == name) {
            return Ok(protocol.clone());
        }
        let Some(info) = protocols().find(|info| info.name == name) else {
            let own = self.protocols.iter().map(|(name, _)| name.clone());
            return Err(unknown("protocol", name, own.chain(protocol_names()).collect(), spot));
        };
        protocol_of(name, &info, (&[], self.era), spot)
    }

    fn protocol_named(&self, name: &str, reference: &At<ProtocolRef>) -> Result<Protocol, Fault> {
        match &reference.value.0 {
            Reference::Name(_) => Err(wants_table(&reference.spot, "kind = \"sack\"")),
            Reference::Inline { kind, entries } => {
                let info = protocols().find(|info| info.name == kind.value).ok_or_else(|| {
                    unknown("protocol", &kind.value, protocol_names(), &kind.spot)
                })?;
                protocol_of(name, &info, (entries, self.era), &reference.spot)
            }
        }
    }
}

fn protocol_of(
    name: &str,
    info: &ProtocolInfo,
    (entries, era): (&[(String, Node)], Era),
    spot: &Spot,
) -> Result<Protocol, Fault> {
    let mut params = AnySenderParams::named(info.name)
        .ok_or_else(|| unknown("protocol", info.name, protocol_names(), spot))?;
    let mut origins = Origins::default();
    let mut set = |name: &str, value, origin| {
        params.set(name, value)?;
        origins.set(name, origin);
        Ok(())
    };
    for setting in era.settings().iter().filter(|setting| setting.protocol == info.name) {
        if set(setting.name, setting.value, Origin::Era(era.name())).is_err() {
            // A test sets every setting of every era.
            return Err(spot.rule(format!("the era does not fit the parameter {}", setting.name)));
        }
    }
    set_preset(info.name, info.presets, entries, &mut set)?;
    set_all(info.params, &reserved(&["kind", "recovery"], info.presets), entries, set)?;
    let recovery = entries.iter().find(|(key, _)| key == "recovery");
    if let Some((_, node)) = recovery
        && info.reports
        && Recovery::read(node)? != Recovery::None
    {
        let kind = info.name;
        return Err(node.spot.rule(format!("\"{kind}\" does not retransmit: it must be \"none\"")));
    }
    let recovery = recovery.map(|(_, node)| Recovery::read(node)).transpose()?;
    if entries.iter().any(|(key, _)| key == "recovery") {
        origins.set("recovery", Origin::File);
    } else if era.recovery(info.recovery) != info.recovery {
        origins.set("recovery", Origin::Era(era.name()));
    }
    let recovery = recovery.unwrap_or_else(|| era.recovery(info.recovery));
    Ok(Protocol { name: name.to_owned(), kind: info.name, params, recovery, origins })
}

fn queue_info(name: &str) -> Option<QueueInfo> {
    queues().find(|info| info.name == name)
}

pub(crate) fn queue_names() -> Vec<String> {
    queues().map(|info| info.name.to_owned()).collect()
}

pub(crate) fn protocol_names() -> Vec<String> {
    protocols().map(|info| info.name.to_owned()).collect()
}

fn unknown(what: &'static str, name: &str, allowed: Vec<String>, spot: &Spot) -> Fault {
    spot.fault(Problem::Name { what, name: name.to_owned(), allowed })
}

fn not_a_policy(name: &str, node: &Node) -> Fault {
    let policies = queues().filter(|info| info.role == Role::Policy).map(|info| info.name);
    let policies = policies.collect::<Vec<_>>().join(", ");
    let text = format!("\"{name}\" is a feedback queue and stands over policies only ({policies})");
    node.spot.rule(text)
}

fn wants_table(spot: &Spot, example: &str) -> Fault {
    spot.rule(format!("a definition is a table that begins with {example}"))
}

/// A definition may carry a registered name only if it is of that kind.
fn own_kind(name: &str, value: &Reference, spot: &Spot, kinds: &[String]) -> Result<(), Fault> {
    match value {
        Reference::Inline { kind, .. } if kinds.iter().any(|k| k == name) && kind.value != name => {
            let text = format!(
                "\"{name}\" is a registered kind, so its definition cannot be of kind \"{}\"",
                kind.value
            );
            Err(spot.rule(text))
        }
        _ => Ok(()),
    }
}

/// The key that names a preset.
const PRESET: &str = "preset";

/// The keys that are not parameters.
fn reserved<'a>(own: &[&'a str], presets: &[Preset]) -> Vec<&'a str> {
    let preset = (!presets.is_empty()).then_some(PRESET);
    own.iter().copied().chain(preset).collect()
}

/// Sets what the preset says that `entries` name, if they do; the entries of one table override it.
fn set_preset(
    kind: &str,
    presets: &[Preset],
    entries: &[(String, Node)],
    set: &mut impl FnMut(&str, Value, Origin) -> Result<(), Refused>,
) -> Result<(), Fault> {
    let Some((_, node)) = entries.iter().find(|(key, _)| key == PRESET) else { return Ok(()) };
    if presets.is_empty() {
        return Err(node.spot.rule(format!("\"{kind}\" has no presets")));
    }
    let names = || presets.iter().map(|preset| preset.name.to_owned()).collect::<Vec<_>>();
    let name = node.text(&format!("one of {}", names().join(", ")))?;
    let Some(preset) = presets.iter().find(|preset| preset.name == name) else {
        return Err(unknown("preset", name, names(), &node.spot));
    };
    for &(key, value) in preset.values {
        if set(key, value, Origin::Preset(name.to_owned())).is_err() {
            // A test of the registry sets every preset.
            return Err(node.spot.rule(format!("the preset does not fit the parameter {key}")));
        }
    }
    Ok(())
}

/// Sets every entry that is not `reserved` as a parameter.
fn set_all(
    specs: &[Spec],
    reserved: &[&str],
    entries: &[(String, Node)],
    mut set: impl FnMut(&str, Value, Origin) -> Result<(), Refused>,
) -> Result<(), Fault> {
    for (name, node) in entries.iter().filter(|(name, _)| !reserved.contains(&name.as_str())) {
        let Some(spec) = specs.iter().find(|spec| spec.name == name) else {
            let names: Vec<&str> =
                reserved.iter().copied().chain(specs.iter().map(|spec| spec.name)).collect();
            return Err(unknown_key(name, node, &names));
        };
        let value = parameter(spec, node)?;
        match set(name, value, Origin::File) {
            Ok(()) => {}
            Err(Refused::Range) => return Err(out_of_range(spec, node)),
            Err(Refused::Type | Refused::Unknown) => return Err(node.mismatch(&form(spec))),
        }
    }
    Ok(())
}

/// The value of a parameter.
fn parameter(spec: &Spec, node: &Node) -> Result<Value, Fault> {
    match (spec.kind, &node.raw) {
        (Kind::Flag, Raw::Flag(value)) => Ok(Value::Flag(*value)),
        (Kind::Count, Raw::Int(value)) => {
            u64::try_from(*value).map(Value::Count).map_err(|_| out_of_range(spec, node))
        }
        (Kind::Number, Raw::Float(value)) => Ok(Value::Number(*value)),
        (Kind::Number, Raw::Int(value)) => Ok(Value::Number(*value as f64)),
        (Kind::Span, _) => Span::read(node).map(Value::Span),
        (Kind::Text, Raw::Text(text)) => Ok(Value::Text(kept(text))),
        (Kind::Choice(words), Raw::Text(text)) => {
            let word = words.iter().find(|word| *word == text);
            word.map(|word| Value::Choice(word)).ok_or_else(|| {
                let allowed = words.iter().map(|&word| word.to_owned()).collect();
                unknown("value", text, allowed, &node.spot)
            })
        }
        _ => Err(node.mismatch(&form(spec))),
    }
}

/// The text, for ever; the same text is kept once, so reading files again costs nothing.
fn kept(text: &str) -> &'static str {
    static TEXTS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(kept) = texts.get(text) {
        return kept;
    }
    let kept: &'static str = String::leak(text.to_owned());
    texts.insert(kept);
    kept
}

/// What a user may write for a parameter.
pub(crate) fn form(spec: &Spec) -> String {
    match spec.kind {
        Kind::Flag => "true or false".to_owned(),
        Kind::Count => "a whole number".to_owned(),
        Kind::Number => "a number".to_owned(),
        Kind::Span => "a time such as \"80ms\"".to_owned(),
        Kind::Choice(words) => format!("one of {}", words.join(", ")),
        Kind::Text => "a text".to_owned(),
    }
}

/// The range of a parameter with its unit, if it has one.
pub(crate) fn range(spec: &Spec) -> Option<String> {
    if matches!(spec.kind, Kind::Flag | Kind::Choice(_) | Kind::Text) {
        return None;
    }
    let (low, high) = (spec.low, spec.high);
    let bound = |bound: f64| match spec.kind {
        Kind::Span => TIME.exact(Span::from_secs_f64(bound).0),
        _ => bound.to_string(),
    };
    Some(match (low == f64::NEG_INFINITY, high == f64::INFINITY) {
        (true, true) => "any".to_owned(),
        (false, true) => format!("{} or more", bound(low)),
        (true, false) => format!("{} or less", bound(high)),
        (false, false) => format!("{} to {}", bound(low), bound(high)),
    })
}

fn out_of_range(spec: &Spec, node: &Node) -> Fault {
    let value = match &node.raw {
        Raw::Int(value) => value.to_string(),
        Raw::Float(value) => format!("{value:?}"),
        _ => node.found(),
    };
    let doc = spec.doc.trim().trim_end_matches('.');
    let allowed = format!("{}; {doc}", range(spec).unwrap_or_default());
    node.spot.fault(Problem::Range { value, allowed })
}

fn queue_schema(info: &QueueInfo) -> Json {
    let over = json!({
        "description": "the policy it stands over: a name or a table",
        "default": "droptail",
        "type": ["string", "object"],
    });
    let extra = [("over", over)];
    let extra = if info.role == Role::Feedback { &extra[..] } else { &[] };
    part_schema((info.name, info.summary), extra, info.presets, info.params)
}

fn part_schema(
    (name, summary): (&str, &str),
    extra: &[(&str, Json)],
    presets: &[Preset],
    specs: &[Spec],
) -> Json {
    let mut properties = Map::new();
    properties.insert("kind".to_owned(), json!({ "const": name }));
    for (key, schema) in extra {
        properties.insert((*key).to_owned(), schema.clone());
    }
    if !presets.is_empty() {
        properties.insert(PRESET.to_owned(), preset_schema(presets));
    }
    for spec in specs {
        properties.insert(spec.name.to_owned(), parameter_schema(spec));
    }
    json!({
        "title": name,
        "description": summary,
        "type": "object",
        "properties": properties,
        "required": ["kind"],
        "additionalProperties": false,
    })
}

fn preset_schema(presets: &[Preset]) -> Json {
    let names: Vec<&str> = presets.iter().map(|preset| preset.name).collect();
    let about = |preset: &Preset| format!("{}: {}", preset.name, preset.doc.trim());
    let abouts: Vec<String> = presets.iter().map(about).collect();
    let description =
        format!("Named values of the parameters; other keys override them. {}", abouts.join(" "));
    json!({ "enum": names, "description": description })
}

fn parameter_schema(spec: &Spec) -> Json {
    let mut schema = match spec.kind {
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Count => json!({ "type": "integer" }),
        Kind::Number => json!({ "type": "number" }),
        Kind::Span => json!({ "$ref": "#/$defs/Time" }),
        Kind::Choice(words) => json!({ "enum": words }),
        Kind::Text => json!({ "type": "string" }),
    };
    schema["description"] = Json::from(spec.doc.trim());
    if matches!(spec.kind, Kind::Count | Kind::Number) {
        for (key, bound) in [("minimum", spec.low), ("maximum", spec.high)] {
            if bound.is_finite() {
                schema[key] = Json::from(bound);
            }
        }
    }
    schema
}

//! The registry as JSON, for programs in other languages.

use cc::params::{Kind, Preset, Spec, Value};
use cc::registry::{AnyRouterParams, AnySenderParams, Role};
use cc::roles::Variable;
use serde_json::{Value as Json, json};
use units::Span;

/// Every end-host protocol with its parameters, as JSON.
pub fn protocols_json() -> String {
    let all = cc::registry::protocols().map(|p| {
        let defaults = AnySenderParams::named(p.name);
        json!({
            "name": p.name,
            "version": p.version,
            "summary": p.summary,
            "source": p.source,
            "recovery": p.recovery.name(),
            "router": p.router,
            "open_loop": p.open_loop,
            "params": params(p.params, |name| defaults.as_ref()?.get(name)),
            "presets": presets(p.presets),
            "variables": variables(p.variables),
            "header": variables(p.header),
        })
    });
    Json::from_iter(all).to_string()
}

/// Every queue with its parameters, as JSON.
pub fn queues_json() -> String {
    let all = cc::registry::queues().map(|q| {
        let defaults = AnyRouterParams::named(q.name);
        let role = match q.role {
            Role::Policy => "policy",
            Role::Feedback => "feedback",
        };
        json!({
            "name": q.name,
            "version": q.version,
            "summary": q.summary,
            "source": q.source,
            "role": role,
            "params": params(q.params, |name| defaults.as_ref()?.get(name)),
            "presets": presets(q.presets),
            "variables": variables(q.variables),
        })
    });
    Json::from_iter(all).to_string()
}

fn variables(all: &[Variable]) -> Json {
    let entry = |v: &Variable| json!({ "name": v.name, "unit": v.unit, "doc": v.doc });
    all.iter().map(entry).collect()
}

fn params(specs: &[Spec], default: impl Fn(&str) -> Option<Value>) -> Json {
    specs.iter().map(|spec| param(spec, default(spec.name))).collect()
}

fn param(spec: &Spec, default: Option<Value>) -> Json {
    let (kind, choices) = match spec.kind {
        Kind::Flag => ("flag", None),
        Kind::Count => ("count", None),
        Kind::Number => ("number", None),
        Kind::Span => ("span", None),
        Kind::Choice(words) => ("choice", Some(words)),
        Kind::Text => ("text", None),
    };
    let ranged = !matches!(spec.kind, Kind::Flag | Kind::Choice(_) | Kind::Text);
    json!({
        "name": spec.name,
        "type": kind,
        "default": default.map(as_written),
        "low": ranged.then_some(spec.low),
        "high": ranged.then_some(spec.high),
        "choices": choices,
        "doc": one_line(spec.doc),
    })
}

fn presets(all: &[Preset]) -> Json {
    let entry = |preset: &Preset| {
        let values = preset.values.iter().map(|(key, value)| (*key, as_written(*value)));
        json!({
            "name": preset.name,
            "doc": one_line(preset.doc),
            "values": Json::from_iter(values),
        })
    };
    all.iter().map(entry).collect()
}

fn one_line(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A value as a scenario file would say it.
fn as_written(value: Value) -> Json {
    match value {
        Value::Flag(flag) => json!(flag),
        Value::Count(count) => json!(count),
        Value::Number(number) => json!(number),
        Value::Span(span) => json!(span_text(span)),
        Value::Choice(word) | Value::Text(word) => json!(word),
    }
}

/// In the largest unit of which it is a whole number.
fn span_text(span: Span) -> String {
    let units = [("s", 1_000_000_000_000), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", 1_000)];
    let whole = units.iter().find(|(_, size)| span.0.is_multiple_of(*size));
    let (unit, size) = whole.copied().unwrap_or(("ps", 1));
    format!("{}{unit}", span.0 / size)
}

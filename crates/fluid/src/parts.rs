//! Reading a protocol's or a queue's parameters, and refusing those that have no fluid form.

use std::cell::RefCell;

use cc::params::{Spec, Value};
use cc::registry::{AnyRouterParams, AnySenderParams};
use scenario::{Protocol, RouterPart};

use crate::Unsupported;

/// The parameters of one part of the scenario. What differs from its default must be read.
pub struct Part {
    key: String,
    values: Vec<(&'static Spec, Value, Option<Value>)>,
    read: RefCell<Vec<&'static str>>,
}

impl Part {
    /// Those of a group's protocol.
    pub fn protocol(protocol: &Protocol) -> Part {
        let plain = AnySenderParams::named(protocol.kind);
        let default = |name| plain.as_ref().and_then(|plain| plain.get(name));
        let values = protocol.values().map(|(spec, value)| (spec, value, default(spec.name)));
        Part::of(format!("protocols.{}", protocol.name), values.collect())
    }

    /// Those of a link's queue.
    pub fn queue(name: &str, part: &RouterPart) -> Part {
        let plain = AnyRouterParams::named(part.kind);
        let default = |name| plain.as_ref().and_then(|plain| plain.get(name));
        let values = part.values().map(|(spec, value)| (spec, value, default(spec.name)));
        Part::of(format!("queues.{name}"), values.collect())
    }

    /// For tests, none at all: every parameter has the default that is given where it is read.
    #[cfg(test)]
    pub fn defaults() -> Part {
        Part::of(String::new(), Vec::new())
    }

    fn of(key: String, values: Vec<(&'static Spec, Value, Option<Value>)>) -> Part {
        Part { key, values, read: RefCell::default() }
    }

    fn value(&self, name: &'static str) -> Option<Value> {
        self.read.borrow_mut().push(name);
        self.values.iter().find(|(spec, ..)| spec.name == name).map(|(_, value, _)| *value)
    }

    /// A number, or a time in seconds; `default` where the part has none of that name.
    pub fn number(&self, name: &'static str, default: f64) -> f64 {
        match self.value(name) {
            Some(Value::Number(value)) => value,
            Some(Value::Count(value)) => value as f64,
            Some(Value::Span(span)) => span.as_secs(),
            _ => default,
        }
    }

    /// A flag.
    pub fn flag(&self, name: &'static str, default: bool) -> bool {
        match self.value(name) {
            Some(Value::Flag(value)) => value,
            _ => default,
        }
    }

    /// A word.
    pub fn word(&self, name: &'static str, default: &'static str) -> &'static str {
        match self.value(name) {
            Some(Value::Choice(value)) => value,
            _ => default,
        }
    }

    /// These have no meaning without packets, whatever they are.
    pub fn no_matter(&self, names: &[&'static str]) {
        self.read.borrow_mut().extend(names);
    }

    /// Refuses a parameter that was changed and that nothing has read.
    pub fn all_read(&self) -> Result<(), Unsupported> {
        let read = self.read.borrow();
        let odd = |(spec, value, default): &&(&'static Spec, Value, Option<Value>)| {
            !read.contains(&spec.name) && default.is_some_and(|default| default != *value)
        };
        let Some((spec, ..)) = self.values.iter().find(odd) else { return Ok(()) };
        let names: Vec<&str> =
            self.values.iter().map(|v| v.0.name).filter(|name| read.contains(name)).collect();
        Err(Unsupported {
            key: format!("{}.{}", self.key, spec.name),
            reason: format!(
                "has no fluid form (parameters that have one: {})",
                if names.is_empty() { "none".to_owned() } else { names.join(", ") }
            ),
        })
    }
}

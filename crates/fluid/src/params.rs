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

    /// A protocol's of that name, all at their defaults.
    #[cfg(test)]
    pub fn of_sender(name: &str) -> Part {
        let plain = AnySenderParams::named(name).expect("a protocol");
        let specs = cc::registry::protocols().find(|info| info.name == name).map(|p| p.params);
        let specs = specs.unwrap_or_default().iter();
        let values =
            specs.filter_map(|spec| Some((spec, plain.get(spec.name)?, plain.get(spec.name))));
        Part::of(format!("protocols.{name}"), values.collect())
    }

    /// A queue's of that name, all at their defaults.
    #[cfg(test)]
    pub fn of_router(name: &str) -> Part {
        let plain = AnyRouterParams::named(name).expect("a queue");
        let specs = cc::registry::queues().find(|info| info.name == name).map(|q| q.params);
        let specs = specs.unwrap_or_default().iter();
        let values =
            specs.filter_map(|spec| Some((spec, plain.get(spec.name)?, plain.get(spec.name))));
        Part::of(format!("queues.{name}"), values.collect())
    }

    fn of(key: String, values: Vec<(&'static Spec, Value, Option<Value>)>) -> Part {
        Part { key, values, read: RefCell::default() }
    }

    fn value(&self, name: &'static str) -> Value {
        self.read.borrow_mut().push(name);
        match self.values.iter().find(|(spec, ..)| spec.name == name) {
            Some((_, value, _)) => *value,
            // A test reads all that any fluid form reads.
            None => unreachable!("{} has no parameter {name}", self.key),
        }
    }

    /// A number, or a time in seconds.
    pub fn number(&self, name: &'static str) -> f64 {
        match self.value(name) {
            Value::Number(value) => value,
            Value::Count(value) => value as f64,
            Value::Span(span) => span.as_secs(),
            other => unreachable!("{}.{name}: {other:?}", self.key),
        }
    }

    /// A flag.
    pub fn flag(&self, name: &'static str) -> bool {
        match self.value(name) {
            Value::Flag(value) => value,
            other => unreachable!("{}.{name}: {other:?}", self.key),
        }
    }

    /// A word.
    pub fn word(&self, name: &'static str) -> &'static str {
        match self.value(name) {
            Value::Choice(value) => value,
            other => unreachable!("{}.{name}: {other:?}", self.key),
        }
    }

    /// This one is used, but not read here.
    pub fn used(&self, name: &'static str) {
        self.value(name);
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

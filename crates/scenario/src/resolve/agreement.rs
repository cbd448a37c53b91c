//! What a protocol and the queue that it needs must have alike.

use cc::params::Value;
use cc::registry::protocols;

use crate::error::{Fault, Spot};
use crate::model::Group;
use crate::resolve::network::Draft;

/// Of these protocols, the parameters without which a code does not mean the same to both.
const ALIKE: &[(&str, &[&str])] = &[
    ("nbit", &["bits", "md", "inverse"]),
    ("mpcp", &["packets"]),
    ("vcp-csig", CSIG),
    ("mlcp-csig", CSIG),
    ("nbit-csig", CSIG),
    ("dpcp-csig", CSIG),
    ("bmcc-csig", CSIG),
];

/// How a tag's buckets are read, and the interval that they are of.
const CSIG: &[&str] =
    &["tag_bits", "quantization", "least", "abw_range", "delay_range", "interval"];

/// Refuses a group whose protocol reads codes in another way than a queue on its path writes them.
pub(crate) fn check(group: &Group, links: &[Draft], spot: &Spot) -> Result<(), Fault> {
    let kind = group.protocol.kind;
    let Some((_, names)) = ALIKE.iter().find(|(name, _)| *name == kind) else { return Ok(()) };
    let router = protocols().find(|info| info.name == kind).and_then(|info| info.router);
    for link in group.path.iter().map(|&link| &links[link]) {
        let parts = [Some(&link.queue.policy), link.queue.feedback.as_ref()];
        let Some(part) = parts.into_iter().flatten().find(|part| Some(part.kind) == router) else {
            continue;
        };
        for name in *names {
            let [own, queue] = [group.protocol.params.get(name), part.params.get(name)];
            if let (Some(own), Some(queue)) = (own, queue)
                && own != queue
            {
                let (own, queue, link) = (text(own), text(queue), &link.name);
                return Err(spot.rule(format!(
                    "{name} = {own} does not go with queue \"{}\" on link \"{link}\", which has {name} = \
                     {queue} (allowed: {queue}; \"{kind}\" and its queue need the same {})",
                    part.kind,
                    names.join(", ")
                )));
            }
        }
    }
    Ok(())
}

/// As in a scenario file.
fn text(value: Value) -> String {
    match value {
        Value::Flag(flag) => flag.to_string(),
        Value::Choice(word) | Value::Text(word) => format!("{word:?}"),
        Value::Count(count) => count.to_string(),
        Value::Number(number) => format!("{number:?}"),
        Value::Span(span) => crate::values::quantity::TIME.exact(span.0),
    }
}

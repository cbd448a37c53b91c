//! What queues and protocols are called that were written in place: as their kind, and where that
//! means something else in this scenario, as what they belong to and their kind.

use crate::file::definitions::{Catalog, IN_PLACE, protocol_names, queue_names};
use crate::model::{Group, Island, Link, Protocol, Queue};
use crate::syntax::declaration::NAME_LENGTH;

/// A queue or a protocol. Two that share a name are equal, or a file could not hold both.
trait Part: Clone + PartialEq {
    fn name(&self) -> &str;
    fn called(&self, name: &str) -> Self;
    fn kind(&self) -> &'static str;
    /// The registered kinds, whose names mean nothing else.
    fn kinds() -> Vec<String>;
}

impl Part for Queue {
    fn name(&self) -> &str {
        &self.name
    }
    fn called(&self, name: &str) -> Queue {
        Queue { name: name.to_owned(), ..self.clone() }
    }
    fn kind(&self) -> &'static str {
        self.feedback.as_ref().unwrap_or(&self.policy).kind
    }
    fn kinds() -> Vec<String> {
        queue_names()
    }
}

impl Part for Protocol {
    fn name(&self) -> &str {
        &self.name
    }
    fn called(&self, name: &str) -> Protocol {
        Protocol { name: name.to_owned(), ..self.clone() }
    }
    fn kind(&self) -> &'static str {
        self.kind
    }
    fn kinds() -> Vec<String> {
        protocol_names()
    }
}

/// Gives every queue and protocol that was written in place its name.
pub(crate) fn name_what_is_in_place(
    catalog: &Catalog,
    links: &mut [Link],
    (groups, islands): (&mut [Group], &mut [Island]),
) {
    let queues = links.iter_mut().map(|Link { name, queue, .. }| (&**name, queue));
    name_all(&catalog.queues, queues.collect());
    let protocols = groups.iter_mut().map(|Group { name, protocol, .. }| (&**name, protocol));
    let cores = islands.iter_mut().map(|Island { name, protocol, .. }| (&**name, protocol));
    name_all(&catalog.protocols, protocols.chain(cores).collect());
}

/// Names the nameless `parts`; each comes with what it belongs to.
fn name_all<P: Part>(defined: &[(String, P)], parts: Vec<(&str, &mut P)>) {
    let (nameless, named): (Vec<_>, Vec<_>) =
        parts.into_iter().partition(|(_, part)| part.name() == IN_PLACE);
    let named = named.into_iter().map(|(_, part)| part.clone());
    let taken: Vec<P> = defined.iter().map(|(_, part)| part.clone()).chain(named).collect();
    let kinds = P::kinds();
    let mut given: Vec<P> = Vec::new();
    for (owner, part) in nameless {
        if let Some(same) = given.iter().find(|other| part.called(other.name()) == **other) {
            *part = same.clone();
            continue;
        }
        let free = |new: &P| {
            let other = taken.iter().chain(&given).find(|other| other.name() == new.name());
            other.is_none_or(|other| other == new)
        };
        let new = names(part.kind(), owner, &kinds).map(|name| part.called(&name)).find(free);
        // The names never end.
        if let Some(new) = new {
            given.push(new.clone());
            *part = new;
        }
    }
}

/// Names for something of `kind` that belongs to `owner`, best first, without end.
fn names(kind: &str, owner: &str, kinds: &[String]) -> impl Iterator<Item = String> {
    let first = [kind.to_owned(), format!("{owner}-{kind}")];
    let more = (2_u64..).map(move |i| format!("{kind}-{i}"));
    let fits =
        move |name: &String| name.len() <= NAME_LENGTH && (name == kind || !kinds.contains(name));
    first.into_iter().chain(more).filter(fits)
}

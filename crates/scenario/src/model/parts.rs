//! The parts of the model that a scenario uses, and their versions: what the registry lists.
//! Engines add themselves.

use std::collections::BTreeMap;

use cc::registry::{protocols, queues};

use crate::model::Scenario;

/// Versions of parts by name: a protocol's own, `queue` and a queue's, or what an engine calls its
/// parts.
pub type Parts = BTreeMap<String, String>;

/// Those of the registry that the scenario uses.
pub fn parts(scenario: &Scenario) -> Parts {
    let hosts = scenario.groups.iter().map(|group| &group.protocol);
    let carriers = scenario.islands.iter().map(|island| &island.protocol);
    let ends = hosts.chain(carriers).map(|protocol| protocol.kind.to_owned());
    let both = |link: &crate::Link| {
        let feedback = link.queue.feedback.as_ref().map(|part| queue_name(part.kind));
        [Some(queue_name(link.queue.policy.kind)), feedback]
    };
    let routers = scenario.links.iter().flat_map(both).flatten();
    let used: Vec<String> = ends.chain(routers).collect();
    registered().into_iter().filter(|(name, _)| used.contains(name)).collect()
}

/// All that the registry lists.
pub fn registered() -> Parts {
    let ends = protocols().map(|info| (info.name.to_owned(), info.version.to_string()));
    let routers = queues().map(|info| (queue_name(info.name), info.version.to_string()));
    ends.chain(routers).collect()
}

fn queue_name(kind: &str) -> String {
    format!("queue {kind}")
}

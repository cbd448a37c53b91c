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
    let ends: Vec<&str> = hosts.chain(carriers).map(|protocol| protocol.kind).collect();
    let both = |link: &crate::Link| {
        let feedback = link.queue.feedback.as_ref().map(|part| part.kind);
        [Some(link.queue.policy.kind), feedback]
    };
    let routers: Vec<&str> = scenario.links.iter().flat_map(both).flatten().collect();
    listed(|kind| ends.contains(&kind), |kind| routers.contains(&kind))
}

/// All that the registry lists.
pub fn registered() -> Parts {
    listed(|_| true, |_| true)
}

/// Of what the registry lists, the protocols and the queues of these kinds.
fn listed(is_end: impl Fn(&str) -> bool, is_router: impl Fn(&str) -> bool) -> Parts {
    let ends = protocols().filter(|info| is_end(info.name));
    let ends = ends.map(|info| (info.name.to_owned(), info.version.to_string()));
    let routers = queues().filter(|info| is_router(info.name));
    let routers = routers.map(|info| (queue_name(info.name), info.version.to_string()));
    ends.chain(routers).collect()
}

fn queue_name(kind: &str) -> String {
    format!("queue {kind}")
}

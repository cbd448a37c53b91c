//! Prototypes: protocols and queues that the program brings along ([`cc::foreign`]).

use std::cell::Cell;

use cc::foreign::Nobody;
use cc::roles::Host;
use scenario::Scenario;

thread_local! {
    static HOST: Cell<&'static dyn Host> = const { Cell::new(&Nobody) };
}

/// Puts the host back that was there.
struct Former(&'static dyn Host);

impl Drop for Former {
    fn drop(&mut self) {
        HOST.set(self.0);
    }
}

/// What `run` builds on this thread finds its prototypes with `host`.
pub fn with_host<T>(host: &'static dyn Host, run: impl FnOnce() -> T) -> T {
    let _former = Former(HOST.replace(host));
    run()
}

/// This thread's host.
pub(crate) fn host() -> &'static dyn Host {
    HOST.get()
}

/// A prototype that a scenario names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Named<'a> {
    /// Is it a router? Otherwise it is a sender.
    pub router: bool,
    /// The name of its definition, or of the kind.
    pub definition: &'a str,
    /// Its class.
    pub class: &'static str,
}

/// The prototypes of a scenario, each once.
pub fn named(scenario: &Scenario) -> Vec<Named<'_>> {
    use cc::registry::{AnyRouterParams, AnySenderParams};
    let senders = scenario.groups.iter().filter_map(|group| match &group.protocol.params {
        AnySenderParams::Foreign(params) => {
            let definition = group.protocol.name.as_str();
            Some(Named { router: false, definition, class: params.code.0 })
        }
        _ => None,
    });
    let routers = scenario.links.iter().filter_map(|link| match &link.queue.policy.params {
        AnyRouterParams::Foreign(params) => {
            let definition = link.queue.name.as_str();
            Some(Named { router: true, definition, class: params.code.0 })
        }
        _ => None,
    });
    let mut all: Vec<_> = senders.chain(routers).collect();
    all.sort();
    all.dedup();
    all
}

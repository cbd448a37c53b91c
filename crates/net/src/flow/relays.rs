//! Proxies that end one connection and begin another: what arrives in order at the sink of a flow
//! is what the source of the next one has to send. Split TCP and performance enhancing proxies (RFC
//! 3135, section 2).
//!
//! Both ends that meet in a proxy take all their packets by events, so that the one sees what the
//! other has at that instant; a flow that neither relays nor is relayed pays nothing.
//!
//! - A proxy's limit is on what it has acknowledged to the source before and has not been
//!   acknowledged itself. That source is told of room at once; TCP's window update would come with
//!   the next ACK.

use scenario::{App, Scenario};

use crate::packet::NONE;

/// A flow's neighbours in its chain of connections.
#[derive(Clone, Copy, Debug)]
struct Links {
    /// The flow whose data it carries on, or [`NONE`].
    before: u32,
    /// The flow that carries its data on, or [`NONE`].
    after: u32,
    /// What the proxy behind it holds [packets].
    buffer: u64,
}

/// The chains of all flows.
#[derive(Clone, Debug, Default)]
pub struct Relays {
    /// By flow; empty where nothing is relayed.
    links: Vec<Links>,
}

impl Relays {
    /// Those of a scenario, whose flows are numbered group by group.
    pub fn of(scenario: &Scenario) -> Relays {
        let relay = |app: &App| matches!(app, App::Relay { .. });
        if !scenario.groups.iter().any(|group| relay(&group.app)) {
            return Relays::default();
        }
        let firsts = scenario.groups.iter().scan(0_u32, |next, group| {
            let first = *next;
            *next += group.count;
            Some(first)
        });
        let firsts: Vec<u32> = firsts.collect();
        let count = scenario.groups.iter().map(|group| group.count as usize).sum();
        let mut links = vec![Links { before: NONE, after: NONE, buffer: u64::MAX }; count];
        for (number, group) in scenario.groups.iter().enumerate() {
            let App::Relay { of, buffer } = group.app else { continue };
            for i in 0..group.count {
                let (before, after) = (firsts[of] + i, firsts[number] + i);
                links[after as usize].before = before;
                let behind = &mut links[before as usize];
                (behind.after, behind.buffer) = (after, buffer.unwrap_or(u64::MAX));
            }
        }
        Relays { links }
    }

    /// Which flow carries this one's data on?
    #[inline]
    pub fn after(&self, flow: u32) -> Option<u32> {
        self.links.get(flow as usize).map(|links| links.after).filter(|&after| after != NONE)
    }

    /// Whose data does this flow carry on?
    #[inline]
    pub fn before(&self, flow: u32) -> Option<u32> {
        self.links.get(flow as usize).map(|links| links.before).filter(|&before| before != NONE)
    }

    /// How many packets the proxy behind this flow may hold; `u64::MAX`: any number.
    pub fn buffer(&self, flow: u32) -> u64 {
        self.links.get(flow as usize).map_or(u64::MAX, |links| links.buffer)
    }
}

/// Has a group a proxy at its sinks, and one at its sources?
pub fn ends(scenario: &Scenario, number: usize) -> (bool, bool) {
    let relayed =
        |group: &scenario::Group| matches!(group.app, App::Relay { of, .. } if of == number);
    let relays = matches!(scenario.groups[number].app, App::Relay { .. });
    (scenario.groups.iter().any(relayed), relays)
}

/// The group at the beginning of the chain that ends with this one.
pub fn root(scenario: &Scenario, mut number: usize) -> usize {
    while let App::Relay { of, .. } = scenario.groups[number].app {
        number = of;
    }
    number
}

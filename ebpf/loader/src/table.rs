//! What there is to load: one table, which everything else asks.

/// Where a program stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A congestion control, and what its packets carry.
    Host,
    /// A router on its outgoing device.
    Router,
}

/// What an object counts: the names of the words in one of its maps.
pub type Words = (&'static str, &'static [&'static str]);

/// An end host or a router.
#[derive(Debug)]
pub struct Program {
    /// Its name on the command line, that of its source.
    pub name: &'static str,
    /// End host or router.
    pub role: Role,
    /// Does it own the two ECN bits? Such end hosts share no device.
    pub ecn_bits: bool,
    /// Does it need one packet per buffer at TC?
    pub per_packet: bool,
    /// Has it a TCP option of its own, which a cgroup's program writes?
    pub option: bool,
    /// What `status` shows of it, in this order.
    pub counters: &'static [Words],
}

const HOST: Words = ("host", &["flows", "ended", "fallbacks", "returns"]);
const DPCP: Words = ("counters", &["switched", "undone", "exceptions", "downgrades"]);
/// A router's gauges, and its packets by the code that they left with.
const ROUTER: &[Words] = &[
    ("gauges", &["rho_milli", "periods"]),
    ("counters", &["uncoded", "low", "high", "overload", "bytes"]),
];

/// The same of one that writes feedback, by whose it is: that of the sender or of a router before,
/// its own, and its own below zero.
const FEEDBACK: &[Words] = &[
    ("gauges", &["rho_milli", "periods"]),
    ("counters", &["uncoded", "kept", "own", "less", "bytes"]),
];

const fn host(name: &'static str) -> Program {
    Program {
        name,
        role: Role::Host,
        ecn_bits: false,
        per_packet: true,
        option: false,
        counters: &[HOST],
    }
}

const fn router(name: &'static str) -> Program {
    Program {
        name,
        role: Role::Router,
        ecn_bits: false,
        per_packet: false,
        option: false,
        counters: ROUTER,
    }
}

/// All of them. Where programs are filters, this is their order on a device: a router comes after
/// its host. New ones go to the end of their kind.
pub const PROGRAMS: &[Program] = &[
    Program { ecn_bits: true, counters: &[DPCP, HOST], ..host("dpcp") },
    Program { option: true, ..host("ixcp") },
    Program { option: true, ..host("mlcp") },
    // All of a large packet's segments carry the same.
    Program { ecn_bits: true, per_packet: false, ..host("vcp") },
    Program { option: true, ..host("xcp") },
    Program { ecn_bits: true, counters: &[DPCP, HOST], ..host("dpcp-decoupled") },
    Program { ecn_bits: true, per_packet: false, ..host("vcp-decoupled") },
    router("vcp-router"),
    router("dpcp-router"),
    router("mlcp-router"),
    Program { counters: FEEDBACK, ..router("xcp-router") },
    Program { counters: FEEDBACK, ..router("ixcp-router") },
];

/// The program of a name.
pub fn find(name: &str) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.name == name)
}

/// Is it a router, and no end host?
pub fn is_router(name: &str) -> bool {
    find(name).is_some_and(|program| program.role == Role::Router)
}

/// The names of a kind; routers by the queue that a scenario calls them.
pub fn names(role: Role) -> Vec<String> {
    let of_role = PROGRAMS.iter().filter(|program| program.role == role);
    of_role.map(|program| program.name.trim_end_matches("-router").to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::OBJECTS;

    #[test]
    fn the_table_has_what_is_compiled() {
        let mut listed: Vec<_> = PROGRAMS.iter().map(|program| program.name).collect();
        listed.sort_unstable();
        let compiled: Vec<_> = OBJECTS.iter().map(|(name, _)| *name).collect();
        assert_eq!(listed, compiled);
        for program in PROGRAMS {
            assert_eq!(program.role == Role::Router, program.name.ends_with("-router"));
        }
    }
}

//! Islands: links whose border routers carry the packets that pass in flows of their own.

use std::collections::BTreeSet;

use cc::registry::protocols;
use cc::roles::Limit;

use crate::error::{Fault, Problem};
use crate::file::IslandFile;
use crate::file::definitions::Catalog;
use crate::model::{Crossing, Group, Island, Packets, Protocol};
use crate::resolve::network::Draft;
use crate::resolve::routing::{ends, find_link, route};
use crate::syntax::declaration::{At, Named, check_name};
use crate::values::{Amount, PlainAmount};

/// What islands are resolved against.
pub(crate) struct Land<'a> {
    pub links: &'a [Draft],
    pub groups: &'a [Group],
    pub catalog: &'a Catalog,
    pub packets: Packets,
}

/// The largest packet there is, as everywhere [bytes].
const MAX_PACKET: u64 = 65_535;

impl Land<'_> {
    /// All islands, in the order of the file.
    pub fn islands(&self, file: Option<&At<Named<IslandFile>>>) -> Result<Vec<Island>, Fault> {
        let mut islands: Vec<Island> = Vec::new();
        for (name, entry) in file.map_or(&[][..], |named| &named.value.0) {
            check_name(name, &entry.spot)?;
            let links = self.own_links(&entry.value.links, &islands)?;
            let mut island = Island {
                name: name.clone(),
                protocol: self.protocol(&entry.value)?,
                outer_bytes: self.outer_bytes(&entry.value)?,
                limit: self.limit(&entry.value.buffer)?,
                native: Vec::new(),
                crossings: Vec::new(),
                links,
            };
            island.native = self.native(&entry.value, &island)?;
            island.crossings = self.crossings(entry, &island)?;
            islands.push(island);
        }
        Ok(islands)
    }

    /// The numbers of the links that `names` name, none of which another island has.
    fn own_links(
        &self,
        names: &At<Vec<At<String>>>,
        others: &[Island],
    ) -> Result<Vec<usize>, Fault> {
        let mut links = Vec::new();
        for name in &names.value {
            let link = find_link(self.links, name)?;
            if links.contains(&link) {
                return Err(name.spot.rule(format!("\"{}\" is listed twice", name.value)));
            }
            if let Some(other) = others.iter().find(|other| other.links.contains(&link)) {
                let text = format!("\"{}\" is in island \"{}\" already", name.value, other.name);
                return Err(name.spot.rule(text));
            }
            links.push(link);
        }
        if links.is_empty() {
            return Err(names.spot.rule("an island has at least one link"));
        }
        Ok(links)
    }

    fn protocol(&self, file: &IslandFile) -> Result<Protocol, Fault> {
        let protocol = self.catalog.protocol(&file.protocol)?;
        let windowless =
            |kind| protocols().any(|info| info.name == kind && (info.open_loop || info.reports));
        if windowless(protocol.kind) {
            let text = format!(
                "\"{}\" has no window by which an ingress could release packets; take a protocol \
                 whose packets are all acknowledged",
                protocol.kind
            );
            return Err(file.protocol.spot.rule(text));
        }
        Ok(protocol)
    }

    fn outer_bytes(&self, file: &IslandFile) -> Result<u32, Fault> {
        let Packets { data_bytes, ack_bytes } = self.packets;
        let most = MAX_PACKET - u64::from(data_bytes.max(ack_bytes));
        match u32::try_from(file.outer.value.0) {
            Ok(bytes) if u64::from(bytes) <= most => Ok(bytes),
            _ => {
                let value = format!("{}B", file.outer.value.0);
                let allowed = format!("0B to {most}B, for packets of at most {MAX_PACKET}B");
                Err(file.outer.spot.fault(Problem::Range { value, allowed }))
            }
        }
    }

    fn limit(&self, buffer: &At<PlainAmount>) -> Result<Limit, Fault> {
        let too_large = || buffer.spot.rule("the buffer is too large");
        let too_small = || buffer.spot.rule("the buffer holds no data packet");
        match buffer.value.0 {
            Amount::Packets(0) => Err(too_small()),
            Amount::Packets(count) => {
                u32::try_from(count).map(Limit::Packets).map_err(|_| too_large())
            }
            Amount::Bytes(bytes) if bytes < u64::from(self.packets.data_bytes) => Err(too_small()),
            Amount::Bytes(bytes) => Ok(Limit::Bytes(bytes)),
            // A plain amount is none of these.
            Amount::Bdp(_) | Amount::BdpPackets(_) | Amount::Unlimited => Err(too_large()),
        }
    }

    /// The groups that cross as they are.
    fn native(&self, file: &IslandFile, island: &Island) -> Result<Vec<usize>, Fault> {
        let mut native = BTreeSet::new();
        for name in file.native.as_ref().map_or(&[][..], |list| &list.value) {
            let Some(group) = self.groups.iter().position(|group| group.name == name.value) else {
                let allowed = self.groups.iter().map(|group| group.name.clone()).collect();
                let name_of = name.value.clone();
                let problem = Problem::Name { what: "group", name: name_of, allowed };
                return Err(name.spot.fault(problem));
            };
            let Group { path, reverse, .. } = &self.groups[group];
            if island.runs(path).is_empty() && island.runs(reverse).is_empty() {
                let text = format!("group \"{}\" crosses none of the island's links", name.value);
                return Err(name.spot.rule(text));
            }
            if !native.insert(group) {
                return Err(name.spot.rule(format!("\"{}\" is listed twice", name.value)));
            }
        }
        Ok(native.into_iter().collect())
    }

    /// Each way through the island that the groups' paths take, once.
    fn crossings(&self, entry: &At<IslandFile>, island: &Island) -> Result<Vec<Crossing>, Fault> {
        let mut crossings: Vec<Crossing> = Vec::new();
        for (_, group) in island.mapped(self.groups) {
            for path in [&group.path, &group.reverse] {
                for run in island.runs(path) {
                    let path = &path[run];
                    if crossings.iter().any(|crossing| crossing.path == path) {
                        continue;
                    }
                    // A crossing has at least one link.
                    let (from, to) = ends(self.links, path).unwrap_or_default();
                    let feedback = self.feedback(island, (to, from)).ok_or_else(|| {
                        let text =
                            format!("no way back from \"{to}\" to \"{from}\" for the feedback");
                        entry.spot.rule(text)
                    })?;
                    crossings.push(Crossing { path: path.to_vec(), feedback });
                }
            }
        }
        Ok(crossings)
    }

    /// A route over the island's links, or if there is none over any.
    fn feedback(&self, island: &Island, (from, to): (&str, &str)) -> Option<Vec<usize>> {
        let own: Vec<Draft> = island.links.iter().map(|&link| self.links[link].clone()).collect();
        let inside = route(&own, from, to);
        let inside = inside.map(|path| path.into_iter().map(|i| island.links[i]).collect());
        inside.or_else(|| route(self.links, from, to))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Island, Scenario, parse};

    fn scenario(island: &str) -> Scenario {
        let line = |name: &str, from: &str, to: &str| {
            format!(
                "[links.{name}]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"1Mbps\"\nowd = \"1ms\"\n\
                 buffer = \"50pkt\"\nduplex = true\n"
            )
        };
        let lines = [("a", "n0", "n1"), ("b", "n1", "n2"), ("c", "n2", "n3"), ("d", "n3", "n4")];
        let lines: String = lines.iter().map(|(name, from, to)| line(name, from, to)).collect();
        let text = format!(
            "schema = 1\nname = \"x\"\nduration = \"1s\"\n{lines}\
             [flows.all]\nprotocol = \"sack\"\nfrom = \"n0\"\nto = \"n4\"\n\
             [flows.part]\nprotocol = \"vcp\"\nfrom = \"n1\"\nto = \"n3\"\n\
             [islands.core]\nprotocol = \"vcp\"\nbuffer = \"10pkt\"\n{island}"
        );
        parse("x.toml", &text, &[]).unwrap_or_else(|error| panic!("{error}")).scenario
    }

    fn ways(scenario: &Scenario, island: &Island) -> Vec<(String, String)> {
        let names = |path: &[usize]| {
            path.iter().map(|&i| scenario.links[i].name.clone()).collect::<Vec<_>>().join(" ")
        };
        island.crossings.iter().map(|way| (names(&way.path), names(&way.feedback))).collect()
    }

    #[test]
    fn a_crossing_is_as_long_as_it_can_be_and_its_feedback_stays_inside() {
        let scenario = scenario("links = [\"b\", \"c\", \"b.reverse\", \"c.reverse\"]\n");
        let [there, back] = [("b c", "c.reverse b.reverse"), ("c.reverse b.reverse", "b c")]
            .map(|(path, feedback)| (path.to_owned(), feedback.to_owned()));
        // Both groups take the same two ways.
        assert_eq!(ways(&scenario, &scenario.islands[0]), [there, back]);
    }

    #[test]
    fn a_path_may_cross_twice_and_feedback_leave_the_island() {
        let scenario = scenario("links = [\"b\", \"d\"]\nnative = [\"part\"]\n");
        let [first, second] = [("b", "b.reverse"), ("d", "d.reverse")]
            .map(|(path, feedback)| (path.to_owned(), feedback.to_owned()));
        assert_eq!(ways(&scenario, &scenario.islands[0]), [first, second]);
        assert_eq!(scenario.islands[0].native, [1]);
    }

    #[test]
    fn what_is_written_reads_back() {
        let scenario =
            scenario("links = [\"b\", \"c.reverse\"]\nouter = \"0B\"\nnative = [\"part\"]\n");
        let again = parse("run.toml", &scenario.to_toml(), &[]).unwrap().scenario;
        assert_eq!(again, scenario);
    }
}

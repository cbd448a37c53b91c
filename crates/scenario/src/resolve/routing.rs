//! Ways through the network: the cheapest route, and the check of a list of links.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Fault, Problem, Spot};
use crate::resolve::network::Draft;
use crate::syntax::declaration::At;

/// The route from node `from` to node `to`: least sum of delays, then fewest links, then the links
/// named first, compared link by link from the start. `None` when there is none.
pub(crate) fn route(links: &[Draft], from: &str, to: &str) -> Option<Vec<usize>> {
    let back = distances(links, to);
    let (_, mut node) = back.get_key_value(from).map(|(_, cost)| (cost, from))?;
    let mut path = Vec::new();
    while node != to {
        let cost = back[node];
        let good = |(_, link): &(usize, &Draft)| {
            let rest = back.get(link.to.as_str());
            let through = rest.map(|rest| (rest.0 + u128::from(link.owd.0), rest.1 + 1));
            link.from == node && through == Some(cost)
        };
        let (index, link) = links.iter().enumerate().find(good)?;
        path.push(index);
        node = &link.to;
    }
    Some(path)
}

/// The cost (delay, hops) from every node to `to`, by Dijkstra's algorithm.
fn distances<'a>(links: &'a [Draft], to: &'a str) -> BTreeMap<&'a str, (u128, usize)> {
    let mut arriving: BTreeMap<&str, Vec<&Draft>> = BTreeMap::new();
    for link in links {
        arriving.entry(&link.to).or_default().push(link);
    }
    let mut done: BTreeMap<&str, (u128, usize)> = BTreeMap::new();
    let mut open = BTreeSet::from([((0, 0), to)]);
    while let Some(((delay, hops), node)) = open.pop_first() {
        if done.contains_key(node) {
            continue;
        }
        done.insert(node, (delay, hops));
        for link in arriving.get(node).map_or(&[][..], Vec::as_slice) {
            open.insert(((delay + u128::from(link.owd.0), hops + 1), link.from.as_str()));
        }
    }
    done
}

/// The numbers of the links called `names`, which must follow one another without a loop.
pub(crate) fn follow(
    links: &[Draft],
    names: &[At<String>],
    spot: &Spot,
) -> Result<Vec<usize>, Fault> {
    let mut path: Vec<usize> = Vec::new();
    let mut seen = BTreeSet::new();
    for name in names {
        let index = find_link(links, name)?;
        let link = &links[index];
        match path.last().map(|&last| &links[last]) {
            Some(before) if before.to != link.from => {
                let text = format!(
                    "\"{}\" ends at \"{}\", but \"{}\" begins at \"{}\"",
                    before.name, before.to, link.name, link.from
                );
                return Err(name.spot.rule(text));
            }
            Some(_) => {}
            None => {
                seen.insert(link.from.as_str());
            }
        }
        if !seen.insert(&link.to) {
            let text = format!("the path visits \"{}\" twice", link.to);
            return Err(name.spot.rule(text));
        }
        path.push(index);
    }
    if path.is_empty() { Err(spot.rule("a path has at least one link")) } else { Ok(path) }
}

/// The number of the link of this name.
pub(crate) fn find_link(links: &[Draft], name: &At<String>) -> Result<usize, Fault> {
    links.iter().position(|link| link.name == name.value).ok_or_else(|| {
        let allowed = links.iter().map(|link| link.name.clone()).collect();
        name.spot.fault(Problem::Name { what: "link", name: name.value.clone(), allowed })
    })
}

/// The first and the last node of a path that is not empty.
pub(crate) fn ends<'a>(links: &'a [Draft], path: &[usize]) -> Option<(&'a str, &'a str)> {
    Some((&links[*path.first()?].from, &links[*path.last()?].to))
}

/// Checks that `node` is a node of the network.
pub(crate) fn check_node(links: &[Draft], node: &At<String>) -> Result<(), Fault> {
    let names: BTreeSet<&str> =
        links.iter().flat_map(|link| [link.from.as_str(), link.to.as_str()]).collect();
    if names.contains(node.value.as_str()) {
        return Ok(());
    }
    let allowed = names.into_iter().map(str::to_owned).collect();
    Err(node.spot.fault(Problem::Name { what: "node", name: node.value.clone(), allowed }))
}

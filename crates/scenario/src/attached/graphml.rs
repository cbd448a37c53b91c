//! Maps of networks in GraphML, as the Internet Topology Zoo writes them.
//! Sources: <http://graphml.graphdrawing.org/specification.html>; S. Knight et al., "The Internet
//! Topology Zoo", IEEE JSAC 29(9), 2011, for the keys `label`, `Latitude`, `Longitude` and
//! `LinkSpeedRaw`.

use std::collections::{BTreeMap, BTreeSet};

use roxmltree::{Document, Node as Element, ParsingOptions};
use units::{Rate, Span, math};

use crate::attached::FileName;
use crate::error::{Fault, Problem};
use crate::syntax::declaration::{At, NAME_LENGTH, shows};
use crate::values::quantity::Decimal;

/// A map.
#[derive(Debug, PartialEq)]
pub(crate) struct Map {
    pub nodes: Vec<Place>,
    pub edges: Vec<Edge>,
}

/// A node.
#[derive(Debug, PartialEq)]
pub(crate) struct Place {
    /// Its label, or its id where that is not the only one of its kind.
    pub name: String,
    /// Latitude and longitude in degrees.
    position: Option<(f64, f64)>,
}

/// An edge.
#[derive(Debug, PartialEq)]
pub(crate) struct Edge {
    /// A name that a link can have, and no other edge has.
    pub name: String,
    /// Numbers of its nodes.
    pub ends: [usize; 2],
    pub speed: Option<Rate>,
    /// Where it stands in the file.
    pub line: usize,
}

const MOST_NODES: usize = 10_000;
const MOST_EDGES: usize = 20_000;
/// Elements, attributes and texts of the whole file.
const MOST_PARTS: u32 = 2_000_000;
/// Of one element: the maps that there are have some twenty.
const MOST_ATTRIBUTES: usize = 1000;

/// Light in fibre covers so many metres in a second.
const FIBRE_M_S: f64 = 200_000_000.0;
/// The mean radius of the Earth [m] (IUGG: 2a/3 + b/3 of WGS 84).
const EARTH_M: f64 = 6_371_008.8;

impl Map {
    /// The time that light in fibre takes along the great circle between the ends of `edge`; `None`
    /// when one of them has no position.
    pub fn delay(&self, edge: &Edge) -> Option<Span> {
        let [from, to] = edge.ends.map(|end| self.nodes[end].position);
        let (from, to) = (unit_vector(from?), unit_vector(to?));
        let squares = (0..3).map(|i| (from[i] - to[i]) * (from[i] - to[i]));
        // Never above 1 but by rounding.
        let half = (math::sqrt(squares.sum::<f64>()) / 2.0).min(1.0);
        Some(Span::from_secs_f64(2.0 * math::asin(half) * EARTH_M / FIBRE_M_S))
    }
}

fn unit_vector((latitude, longitude): (f64, f64)) -> [f64; 3] {
    let radians = |degrees: f64| degrees * (core::f64::consts::PI / 180.0);
    let (phi, lambda) = (radians(latitude), radians(longitude));
    let flat = math::cos(phi);
    [flat * math::cos(lambda), flat * math::sin(lambda), math::sin(phi)]
}

/// Reads the text of a file.
pub(crate) fn read(name: &At<FileName>, text: &str) -> Result<Map, Fault> {
    if let Some(line) = crowded(text) {
        let said = format!("an element has more than {MOST_ATTRIBUTES} attributes");
        return Err(name.spot.rule(said).within(&name.value.0, line));
    }
    // A DTD could define entities that grow without bound.
    let options =
        ParsingOptions { allow_dtd: false, nodes_limit: MOST_PARTS, ..Default::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        let line = error.pos().row as usize;
        // The library ends its messages with the place, which is said already.
        let said = error.to_string();
        let said = said.split(" at ").next().unwrap_or_default().to_owned();
        name.spot.rule(format!("not valid XML: {said}")).within(&name.value.0, line)
    })?;
    let mut reader = Reader { name, lines: Lines::of(text), keys: BTreeMap::new() };
    reader.map(&document)
}

/// The line of an element with too many attributes: the library compares each with all others.
fn crowded(text: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(start) = text[from..].find('<').map(|at| from + at) {
        let rest = &text[start..];
        // What has no attributes ends elsewhere than at the next bracket.
        let end = [("<!--", "-->"), ("<![CDATA[", "]]>")]
            .iter()
            .find(|(opens, _)| rest.starts_with(opens))
            .map_or(">", |&(_, closes)| closes);
        let length = rest.find(end).map_or(rest.len(), |at| at + end.len());
        let attributes = rest[..length].bytes().filter(|&byte| byte == b'=').count();
        if end == ">" && attributes > MOST_ATTRIBUTES {
            return Some(text[..start].matches('\n').count() + 1);
        }
        from = start + length;
    }
    None
}

/// Where the lines of a text begin: the library would count from the start for each question.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Lines {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Lines(std::iter::once(0).chain(breaks.map(|(i, _)| i + 1)).collect())
    }

    fn line(&self, element: Element<'_, '_>) -> usize {
        self.0.partition_point(|&start| start <= element.range().start)
    }
}

struct Reader<'a> {
    name: &'a At<FileName>,
    lines: Lines,
    /// The name of a key, by its id and what it is for.
    keys: BTreeMap<(&'a str, &'a str), &'a str>,
}

/// What is called the same in GraphML, whatever its name space.
fn children<'a>(
    element: Element<'a, 'a>,
    name: &'static str,
) -> impl Iterator<Item = Element<'a, 'a>> {
    element.children().filter(move |child| child.tag_name().name() == name)
}

/// A datum and where it stands.
type Datum<'a> = Option<(&'a str, Element<'a, 'a>)>;

impl<'a> Reader<'a> {
    fn fault(&self, element: Element<'_, '_>, text: impl Into<String>) -> Fault {
        self.name.spot.rule(text).within(&self.name.value.0, self.lines.line(element))
    }

    fn map(&mut self, document: &'a Document<'a>) -> Result<Map, Fault> {
        let root = document.root_element();
        if root.tag_name().name() != "graphml" {
            let text = format!("expected a <graphml>, found a <{}>", root.tag_name().name());
            return Err(self.fault(root, text));
        }
        for key in children(root, "key") {
            let id = self.attribute(key, "id")?;
            if let Some(name) = key.attribute("attr.name") {
                self.keys.insert((id, key.attribute("for").unwrap_or("all")), name);
            }
        }
        let mut graphs = children(root, "graph");
        let Some(graph) = graphs.next() else {
            return Err(self.fault(root, "there is no <graph>"));
        };
        if let Some(second) = graphs.next() {
            return Err(self.fault(second, "there is a second <graph>"));
        }
        if let Some(hyper) = children(graph, "hyperedge").next() {
            return Err(self.fault(hyper, "a <hyperedge> is not supported"));
        }
        let (nodes, ids) = self.nodes(graph)?;
        let edges = self.edges(graph, &nodes, &ids)?;
        Ok(Map { nodes, edges })
    }

    fn attribute(&self, element: Element<'a, 'a>, name: &str) -> Result<&'a str, Fault> {
        element.attribute(name).ok_or_else(|| {
            let text = format!("<{}> has no {name}", element.tag_name().name());
            self.fault(element, text)
        })
    }

    /// The datum called `name`, if it is there and not empty.
    fn datum(&self, element: Element<'a, 'a>, name: &str) -> Datum<'a> {
        let what = element.tag_name().name();
        let called = |data: &Element<'a, 'a>| {
            let key = data.attribute("key").unwrap_or_default();
            [what, "all"].iter().any(|what| self.keys.get(&(key, *what)) == Some(&name))
        };
        let data = children(element, "data").find(called)?;
        data.text().map(str::trim).filter(|text| !text.is_empty()).map(|text| (text, data))
    }

    /// The nodes, and their numbers by id.
    fn nodes(
        &self,
        graph: Element<'a, 'a>,
    ) -> Result<(Vec<Place>, BTreeMap<&'a str, usize>), Fault> {
        let mut ids = BTreeMap::new();
        let mut found = Vec::new();
        for node in children(graph, "node") {
            let id = self.attribute(node, "id")?;
            if found.len() == MOST_NODES {
                return Err(self.fault(node, format!("there are more than {MOST_NODES} nodes")));
            }
            if ids.insert(id, found.len()).is_some() {
                return Err(self.fault(node, format!("there are two nodes with the id \"{id}\"")));
            }
            if children(node, "graph").next().is_some() {
                return Err(self.fault(node, "a graph within a node is not supported"));
            }
            found.push((node, id, self.datum(node, "label").map(|(label, _)| label)));
        }
        let mut times: BTreeMap<&str, usize> = BTreeMap::new();
        for label in found.iter().filter_map(|(_, _, label)| *label) {
            *times.entry(label).or_default() += 1;
        }
        let mut nodes = Vec::new();
        for (node, id, label) in found {
            let own = |label: &&str| {
                times[*label] == 1 && ids.get(*label).is_none_or(|&other| other == nodes.len())
            };
            let name = label.filter(own).unwrap_or(id);
            let length = name.chars().count();
            if length == 0 || length > 200 || !name.chars().all(shows) {
                let text = format!("the name {name:?} is not 1 to 200 printable characters");
                return Err(self.fault(node, text));
            }
            nodes.push(Place { name: name.to_owned(), position: self.position(node)? });
        }
        Ok((nodes, ids))
    }

    /// Latitude and longitude, if both are there.
    fn position(&self, node: Element<'a, 'a>) -> Result<Option<(f64, f64)>, Fault> {
        let degrees = |name: &str, most: f64| {
            let Some((text, data)) = self.datum(node, name) else { return Ok(None) };
            let value = text.parse::<f64>().ok().filter(|value| value.abs() <= most);
            value.map(Some).ok_or_else(|| {
                let allowed = format!("-{most} to {most} degrees");
                let problem = Problem::Range { value: format!("{name} {text:?}"), allowed };
                self.name.spot.fault(problem).within(&self.name.value.0, self.lines.line(data))
            })
        };
        Ok(degrees("Latitude", 90.0)?.zip(degrees("Longitude", 180.0)?))
    }

    fn edges(
        &self,
        graph: Element<'a, 'a>,
        nodes: &[Place],
        ids: &BTreeMap<&str, usize>,
    ) -> Result<Vec<Edge>, Fault> {
        let mut edges = Vec::new();
        let mut names = Names::default();
        for edge in children(graph, "edge") {
            if edges.len() == MOST_EDGES {
                return Err(self.fault(edge, format!("there are more than {MOST_EDGES} edges")));
            }
            let end = |which: &str| {
                let id = self.attribute(edge, which)?;
                ids.get(id).copied().ok_or_else(|| {
                    self.fault(edge, format!("there is no node with the {which}'s id \"{id}\""))
                })
            };
            let ends = [end("source")?, end("target")?];
            let [from, to] = ends.map(|end| nodes[end].name.as_str());
            if from == to {
                let text = format!("the edge leads from \"{from}\" to itself");
                return Err(self.fault(edge, text));
            }
            let name = names.free(from, to);
            let (speed, line) = (self.speed(edge)?, self.lines.line(edge));
            edges.push(Edge { name, ends, speed, line });
        }
        if edges.is_empty() {
            return Err(self.fault(graph, "there is no edge"));
        }
        Ok(edges)
    }

    /// Bits per second.
    fn speed(&self, edge: Element<'a, 'a>) -> Result<Option<Rate>, Fault> {
        let Some((text, data)) = self.datum(edge, "LinkSpeedRaw") else { return Ok(None) };
        let whole = Decimal::parse(text).and_then(|speed| speed.exactly(1));
        let speed = whole.and_then(|speed| u64::try_from(speed).ok()).map(Rate);
        let speed =
            speed.filter(|speed| (Rate(1)..=crate::resolve::network::MAX_RATE).contains(speed));
        speed.map(Some).ok_or_else(|| {
            let allowed = "whole bits per second, 1 to 100000000000000".to_owned();
            let problem = Problem::Range { value: format!("LinkSpeedRaw {text:?}"), allowed };
            self.name.spot.fault(problem).within(&self.name.value.0, self.lines.line(data))
        })
    }
}

/// The names that edges have.
#[derive(Default)]
struct Names {
    taken: BTreeSet<String>,
    /// The last number that was tried behind each name.
    last: BTreeMap<String, u64>,
}

impl Names {
    /// `FROM-TO` in the characters of names, with a number if that is taken.
    fn free(&mut self, from: &str, to: &str) -> String {
        let good = |c: char| if c.is_ascii_alphanumeric() || "_.".contains(c) { c } else { '_' };
        // With room for a number and for `.reverse`.
        let half = (NAME_LENGTH - 20) / 2;
        let part = |name: &str| name.chars().map(good).take(half).collect::<String>();
        let plain = format!("{}-{}", part(from), part(to));
        let last = self.last.entry(plain.clone()).or_insert(1);
        let mut name = plain.clone();
        while !self.taken.insert(name.clone()) {
            *last += 1;
            name = format!("{plain}.{last}");
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Spot;

    const HEAD: &str = "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\
        <key attr.name=\"label\" for=\"node\" id=\"n0\"/>\
        <key attr.name=\"Latitude\" for=\"node\" id=\"n1\"/>\
        <key attr.name=\"Longitude\" for=\"node\" id=\"n2\"/>\
        <key attr.name=\"LinkSpeedRaw\" for=\"edge\" id=\"e0\"/><graph>";

    fn map(body: &str) -> Map {
        let name = At { value: FileName("m.graphml".to_owned()), spot: Spot::root() };
        read(&name, &format!("{HEAD}{body}</graph></graphml>")).unwrap()
    }

    fn node(id: &str, label: &str, position: (f64, f64)) -> String {
        format!(
            "<node id=\"{id}\"><data key=\"n0\">{label}</data><data key=\"n1\">{}</data>\
             <data key=\"n2\">{}</data></node>",
            position.0, position.1
        )
    }

    fn edge(from: &str, to: &str) -> String {
        format!("<edge source=\"{from}\" target=\"{to}\"/>")
    }

    #[test]
    fn delays_are_those_of_great_circles() {
        let nodes = [
            node("0", "pole", (90.0, 0.0)),
            node("1", "gulf", (0.0, 0.0)),
            node("2", "far", (0.0, 180.0)),
            // Big Ben and the Statue of Liberty: the usual example of the haversine formula, with
            // 6371 km 5574.84 km apart.
            node("3", "London", (51.5007, -0.1246)),
            node("4", "New York", (40.6892, -74.0445)),
        ];
        let edges = [edge("0", "1"), edge("1", "2"), edge("3", "4")];
        let map = map(&[nodes.concat(), edges.concat()].concat());
        let ms: Vec<f64> =
            map.edges.iter().map(|edge| map.delay(edge).unwrap().as_secs() * 1e3).collect();
        // A quarter and a half of 2 pi 6371.0088 km = 40030.229 km, at 200 km/ms.
        assert!((ms[0] - 40_030.229 / 4.0 / 200.0).abs() < 1e-4, "{ms:?}");
        assert!((ms[1] - 40_030.229 / 2.0 / 200.0).abs() < 1e-4, "{ms:?}");
        assert!((ms[2] - 5574.84 * 6371.0088 / 6371.0 / 200.0).abs() < 1e-4, "{ms:?}");
    }

    #[test]
    fn an_element_has_so_many_attributes_and_no_more() {
        let attributes = |n| (0..n).map(|i| format!(" a{i}='x'")).collect::<String>();
        let text =
            |n| format!("<graphml>\n<!-- {} -->\n<b/>\n<c{}/>", "=".repeat(2000), attributes(n));
        assert_eq!(crowded(&text(MOST_ATTRIBUTES)), None);
        assert_eq!(crowded(&text(MOST_ATTRIBUTES + 1)), Some(4));
        assert_eq!(crowded("<a b='c'"), None);
    }

    #[test]
    fn labels_are_names_where_they_are_unique() {
        let nodes = [
            node("0", "Rome", (0.0, 0.0)),
            node("1", "Oslo", (0.0, 0.0)),
            node("2", "Oslo", (0.0, 0.0)),
            // The id of another node.
            node("3", "1", (0.0, 0.0)),
            "<node id=\"x\"/>".to_owned(),
        ];
        let map = map(&[nodes.concat(), edge("0", "1")].concat());
        let names: Vec<&str> = map.nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["Rome", "1", "2", "3", "x"]);
    }

    #[test]
    fn edges_have_names_of_their_own() {
        let nodes = [node("0", "S\u{e3}o Paulo", (0.0, 0.0)), node("1", "Rome", (0.0, 0.0))];
        let speed = "<edge source=\"0\" target=\"1\"><data key=\"e0\">1.5e9</data></edge>";
        let edges = [edge("0", "1"), edge("0", "1"), edge("1", "0")].concat();
        let map = map(&[nodes.concat(), edges, speed.to_owned()].concat());
        let names: Vec<&str> = map.edges.iter().map(|edge| edge.name.as_str()).collect();
        assert_eq!(
            names,
            ["S_o_Paulo-Rome", "S_o_Paulo-Rome.2", "Rome-S_o_Paulo", "S_o_Paulo-Rome.3"]
        );
        let speeds: Vec<Option<Rate>> = map.edges.iter().map(|edge| edge.speed).collect();
        assert_eq!(speeds, [None, None, None, Some(Rate(1_500_000_000))]);
    }
}

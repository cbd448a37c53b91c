//! The links of a scenario: those of a shorthand topology or the named ones.

use units::{Rate, Span};

use crate::attached::Files;
use crate::attached::graphml;
use crate::error::{Fault, Problem, Spot};
use crate::file::definitions::{Catalog, QueueRef};
use crate::file::line_keys::line_keys;
use crate::file::{Dumbbell, File, LinkFile, MapFile, ParkingLot, Topology};
use crate::model::Queue;
use crate::model::line::{Capacity, Device, Line};
use crate::syntax::declaration::{At, Named, check_name};
use crate::values::quantity::{RATE, TIME};
use crate::values::{Buffer, PlainAmount};

/// A link whose buffer is not yet a number of bytes.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub name: String,
    pub from: String,
    pub to: String,
    pub rate: Rate,
    pub owd: Span,
    pub buffer: At<Buffer>,
    pub per_flow: Option<At<PlainAmount>>,
    pub queue: Queue,
    pub line: Line,
    pub device: Option<Device>,
}

/// Where the links come from, which decides what a flow may say.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// Link 0 is the bottleneck, link 1 the one back.
    Dumbbell { rtt: Span },
    /// Links `0..n` go forward, links `n..2n` back.
    ParkingLot { n: usize, rtt: Option<Span> },
    /// Named links.
    General,
}

/// The network before the flows are known.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub shape: Shape,
    pub links: Vec<Draft>,
}

impl Network {
    pub fn new(file: &File, catalog: &Catalog, files: &Files<'_>) -> Result<Network, Fault> {
        match (&file.topology, &file.links) {
            (Some(_), Some(links)) => {
                Err(links.spot.rule("use either topology or links, not both"))
            }
            (None, None) => {
                let wanted = "[topology], or [links.NAME] for a network of named links";
                let spot = Spot::root().child("topology");
                Err(spot.fault(Problem::Missing(wanted.to_owned())))
            }
            (Some(topology), None) => match &topology.value {
                Topology::Dumbbell(dumbbell) => {
                    dumbbell_links(dumbbell, &topology.spot, catalog, files)
                }
                Topology::ParkingLot(lot) => parking_lot_links(lot, &topology.spot, catalog, files),
                Topology::Map(map) => map_links(map, catalog, files),
            },
            (None, Some(links)) => general_links(links, catalog, files),
        }
    }
}

/// What every link of a shorthand topology shares.
struct Common<'a> {
    rate: Rate,
    owd: Span,
    line: Line,
    device: Option<Device>,
    buffer: &'a At<Buffer>,
    per_flow: &'a Option<At<PlainAmount>>,
    queue: &'a At<QueueRef>,
}

impl Common<'_> {
    fn draft(&self, catalog: &Catalog) -> Result<Draft, Fault> {
        Ok(Draft {
            name: String::new(),
            from: String::new(),
            to: String::new(),
            rate: self.rate,
            owd: self.owd,
            line: self.line.clone(),
            device: self.device,
            buffer: self.buffer.clone(),
            per_flow: self.per_flow.clone(),
            queue: catalog.queue(self.queue)?,
        })
    }
}

impl Draft {
    fn between(&self, name: String, from: String, to: String) -> Draft {
        Draft { name, from, to, ..self.clone() }
    }

    /// Its rate, or the highest of its steps.
    pub fn fastest(&self) -> Rate {
        let steps = match &self.line.capacity {
            Capacity::Steps(steps) => steps.iter().map(|step| step.rate).max(),
            Capacity::Constant | Capacity::Trace(_) => None,
        };
        steps.unwrap_or_default().max(self.rate)
    }

    fn reversed(&self) -> Draft {
        self.between(reverse_name(&self.name), self.to.clone(), self.from.clone())
    }

    /// Is it the way back over the line of `other`, by its name and its ends?
    pub fn is_reverse_of(&self, other: &Draft) -> bool {
        self.name == reverse_name(&other.name) && (&self.from, &self.to) == (&other.to, &other.from)
    }
}

fn reverse_name(link: &str) -> String {
    format!("{link}.reverse")
}

fn dumbbell_links(
    file: &Dumbbell,
    spot: &Spot,
    catalog: &Catalog,
    files: &Files<'_>,
) -> Result<Network, Fault> {
    let rtt = check_owd(&file.rtt)?;
    let owd = file.owd.as_ref().map_or(Ok(Span(rtt.0 / 4)), check_owd)?;
    let (rate, line) = line_keys!(file).resolve(spot, files)?;
    let device = line_keys!(file).device()?;
    let (buffer, queue) = (&file.buffer, &file.queue);
    let per_flow = &file.buffer_per_flow;
    let common = Common { rate, owd, line, device, buffer, per_flow, queue };
    let any = common.draft(catalog)?;
    let bottleneck = any.between("bottleneck".to_owned(), "left".to_owned(), "right".to_owned());
    let links = vec![bottleneck.clone(), bottleneck.reversed()];
    Ok(Network { shape: Shape::Dumbbell { rtt }, links })
}

fn parking_lot_links(
    file: &ParkingLot,
    spot: &Spot,
    catalog: &Catalog,
    files: &Files<'_>,
) -> Result<Network, Fault> {
    let owd = match (&file.owd, &file.link_rtt) {
        (Some(owd), None) => check_owd(owd)?,
        (None, Some(rtt)) => Span(check_owd(rtt)?.0 / 2),
        (Some(_), Some(rtt)) => return Err(rtt.spot.rule("use either owd or link_rtt, not both")),
        (None, None) => {
            let wanted = "owd or link_rtt, a time such as \"10ms\"".to_owned();
            let spot = file.kind.spot.sibling("owd");
            return Err(spot.fault(Problem::Missing(wanted)));
        }
    };
    let (rate, line) = line_keys!(file).resolve(spot, files)?;
    let device = line_keys!(file).device()?;
    let (buffer, queue) = (&file.buffer, &file.queue);
    let per_flow = &file.buffer_per_flow;
    let common = Common { rate, owd, line, device, buffer, per_flow, queue };
    let any = common.draft(catalog)?;
    // At most 1000.
    let n = usize::try_from(file.links.value.0).unwrap_or(usize::MAX);
    let forward =
        (1..=n).map(|i| any.between(format!("l{i}"), format!("n{}", i - 1), format!("n{i}")));
    let forward: Vec<Draft> = forward.collect();
    let back: Vec<Draft> = forward.iter().map(Draft::reversed).collect();
    let rtt = file.rtt.as_ref().map(check_owd).transpose()?;
    Ok(Network { shape: Shape::ParkingLot { n, rtt }, links: [forward, back].concat() })
}

/// The links of a map, there and back.
fn map_links(file: &MapFile, catalog: &Catalog, files: &Files<'_>) -> Result<Network, Fault> {
    let map = graphml::read(&file.file, &files.text(&file.file)?)?;
    let default_rate =
        file.rate.as_ref().map(|rate| check_rate(rate.value, MAX_RATE, &rate.spot)).transpose()?;
    let default_owd = file.owd.as_ref().map(check_owd).transpose()?;
    let (buffer, queue) = (&file.buffer, &file.queue);
    let (rate, owd, line, device) = (Rate(1), Span::ZERO, Line::default(), None);
    let per_flow = &file.buffer_per_flow;
    let common = Common { rate, owd, line, device, buffer, per_flow, queue };
    let any = common.draft(catalog)?;
    let mut links = Vec::new();
    for edge in &map.edges {
        let missing = |what: &str, key: &str| {
            let text = format!("edge \"{}\" has no {what}, and {key} is not there", edge.name);
            file.file.spot.rule(text).within(&file.file.value.0, edge.line)
        };
        let rate = edge.speed.or(default_rate);
        let rate = rate.ok_or_else(|| missing("LinkSpeedRaw", "rate"))?;
        let owd = map.delay(edge).or(default_owd);
        let owd = owd.ok_or_else(|| missing("Latitude and Longitude at both ends", "owd"))?;
        let [from, to] = edge.ends.map(|end| map.nodes[end].name.clone());
        let there = Draft { rate, owd, ..any.between(edge.name.clone(), from, to) };
        let back = there.reversed();
        links.extend([there, back]);
    }
    Ok(Network { shape: Shape::General, links })
}

fn general_links(
    file: &At<Named<LinkFile>>,
    catalog: &Catalog,
    files: &Files<'_>,
) -> Result<Network, Fault> {
    let mut links: Vec<Draft> = Vec::new();
    for (name, entry) in &file.value.0 {
        let link = general_link(name, entry, catalog, files)?;
        let back = entry.value.duplex.value.then(|| link.reversed());
        for link in std::iter::once(link).chain(back) {
            if link.from == link.to {
                let text = format!("link \"{}\" leads from \"{}\" to itself", link.name, link.to);
                return Err(entry.spot.rule(text));
            }
            check_name(&link.name, &entry.spot)?;
            links.push(link);
        }
    }
    let mut names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(file.spot.rule(format!("there are two links called \"{}\"", pair[0])));
    }
    match links.is_empty() {
        true => Err(file.spot.rule("at least one link is needed")),
        false => Ok(Network { shape: Shape::General, links }),
    }
}

fn general_link(
    name: &str,
    entry: &At<LinkFile>,
    catalog: &Catalog,
    files: &Files<'_>,
) -> Result<Draft, Fault> {
    let file = &entry.value;
    let owd = check_owd(&file.owd)?;
    let (rate, line) = line_keys!(file).resolve(&entry.spot, files)?;
    let device = line_keys!(file).device()?;
    let (buffer, queue) = (&file.buffer, &file.queue);
    let per_flow = &file.buffer_per_flow;
    let common = Common { rate, owd, line, device, buffer, per_flow, queue };
    let (from, to) = (file.from.value.clone(), file.to.value.clone());
    Ok(common.draft(catalog)?.between(name.to_owned(), from, to))
}

/// The highest rate of a link.
pub(crate) const MAX_RATE: Rate = Rate(100_000_000_000_000);

/// A rate of 1bps to `most`.
pub(crate) fn check_rate(rate: Rate, most: Rate, spot: &Spot) -> Result<Rate, Fault> {
    if (Rate(1)..=most).contains(&rate) {
        return Ok(rate);
    }
    let allowed = format!("1bps to {}", RATE.exact(most.0));
    Err(spot.fault(Problem::Range { value: RATE.exact(rate.0), allowed }))
}

/// The longest propagation time.
pub(crate) const MAX_DELAY: Span = Span::from_secs(3600);

/// A propagation time of at most an hour.
pub(crate) fn check_owd(time: &At<Span>) -> Result<Span, Fault> {
    if time.value <= MAX_DELAY {
        return Ok(time.value);
    }
    let value = TIME.exact(time.value.0);
    Err(time.spot.fault(Problem::Range { value, allowed: "0s to 1h".to_owned() }))
}

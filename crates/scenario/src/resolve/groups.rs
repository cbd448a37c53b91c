//! The groups of flows: their ways, access hops, starts and sizes.

use std::cell::Cell;
use std::collections::BTreeSet;

use cc::registry::{Recovery, protocols};
use units::{Rate, Span};

use crate::attached::Files;
use crate::error::{Fault, Problem, Spot};
use crate::file::definitions::Catalog;
use crate::file::sources::{app, arrivals, expected};
use crate::file::{Direction, FlowFile};
use crate::model::traffic::{App, Size};
use crate::model::{Access, Group, Packets, Protocol, Start};
use crate::resolve::agreement;
use crate::resolve::network::{MAX_DELAY, MAX_RATE, Network, Shape, check_rate};
use crate::resolve::routing::{check_node, ends, follow, route};
use crate::syntax::declaration::{At, Named, check_name};
use crate::values::quantity::TIME;
use crate::values::spread::{Flows, LineRate, Spread};
use crate::values::{Amount, PlainAmount, Quantity, Way};

/// What the groups are resolved against.
pub(crate) struct Context<'a> {
    pub network: &'a Network,
    pub catalog: &'a Catalog,
    pub packets: Packets,
    pub duration: Span,
    pub files: &'a Files<'a>,
    /// What formulas have left to do.
    pub steps_left: Cell<u64>,
}

/// The most steps that all formulas together may take.
pub(crate) const MAX_STEPS: u64 = 20_000_000;

/// The links of the data, the links of the ACKs and what is added to the group's name.
struct Course {
    suffix: String,
    path: Vec<usize>,
    reverse: Vec<usize>,
}

const MAX_FLOWS: u64 = 10_000_000;
const MAX_GROUPS: usize = 10_000;

impl Context<'_> {
    /// All groups, in the order of the file.
    pub fn groups(&self, file: &At<Named<FlowFile>>) -> Result<Vec<Group>, Fault> {
        let mut groups: Vec<Group> = Vec::new();
        let mut names = BTreeSet::new();
        let mut flows: u64 = 0;
        for (name, entry) in &file.value.0 {
            for course in self.courses(entry)? {
                let group = self.group(name, entry, course, &groups)?;
                agreement::check(&group, &self.network.links, &entry.value.protocol.spot)?;
                check_name(&group.name, &entry.spot)?;
                flows = flows.saturating_add(self.flows(&group));
                if !names.insert(group.name.clone()) {
                    let text = format!("there are two groups called \"{}\"", group.name);
                    return Err(entry.spot.rule(text));
                }
                if flows > MAX_FLOWS {
                    return Err(entry.spot.rule(format!("more than {MAX_FLOWS} flows in all")));
                }
                if groups.len() == MAX_GROUPS {
                    return Err(entry.spot.rule(format!("more than {MAX_GROUPS} groups in all")));
                }
                groups.push(group);
            }
        }
        if groups.is_empty() {
            Err(file.spot.rule("at least one group is needed"))
        } else {
            Ok(groups)
        }
    }

    /// How many flows a group has or is expected to have.
    fn flows(&self, group: &Group) -> u64 {
        let Some(arrivals) = &group.arrivals else { return u64::from(group.count) };
        let end = group.stop.unwrap_or(self.duration).min(self.duration);
        // Lists that are taken in turn take as much room as the flows of a counted group.
        expected(arrivals, group.start.latest(1), end).max(group.access.len() as u64)
    }

    /// The values of the flows of a group, as long as the steps of formulas last.
    fn values<T: Quantity>(&self, spread: &At<Spread<T>>, flows: Flows) -> Result<Vec<T>, Fault> {
        match self.steps_left.get().checked_sub(spread.value.steps(flows)) {
            Some(left) => self.steps_left.set(left),
            None => return Err(spread.spot.rule("the formulas are too long for so many flows")),
        }
        spread.values(flows)
    }

    fn delays(&self, spread: &At<Spread<Span>>, flows: Flows) -> Result<Vec<Span>, Fault> {
        let values = self.values(spread, flows)?;
        values.iter().try_for_each(|&value| check_delay(value, &spread.spot))?;
        Ok(values)
    }

    fn group(
        &self,
        name: &str,
        entry: &At<FlowFile>,
        course: Course,
        before: &[Group],
    ) -> Result<Group, Fault> {
        let file = &entry.value;
        let size = file.size.resolve(self.packets, self.files)?;
        let slowest = course.path.iter().map(|&link| self.network.links[link].rate).min();
        let arrivals = arrivals(file, &size, slowest.unwrap_or_default())?;
        // At most 10^6; those that arrive are not counted.
        let count = file.count.as_ref().map_or(1, |count| count.value.0);
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let (count, flows) = match arrivals {
            Some(_) => (0, Flows::InTurn),
            None => (count, Flows::Count(count)),
        };
        let access = self.access(entry, &course, flows)?;
        let protocol = self.catalog.protocol(&file.protocol)?;
        let (app, size) = match &file.relay {
            None => {
                if let Some(buffer) = &file.relay_buffer {
                    return Err(buffer.spot.rule("relay_buffer needs relay"));
                }
                (app(file)?, size)
            }
            Some(relay) => self.relay(file, relay, (count, &protocol), before)?,
        };
        let open_loop = |kind| protocols().any(|info| info.name == kind && info.open_loop);
        if app == App::Greedy && open_loop(protocol.kind) {
            let kind = protocol.kind;
            let text = format!("\"{kind}\" sends what its application offers, so it needs a rate");
            return Err(file.protocol.spot.rule(text));
        }
        Ok(Group {
            name: format!("{name}{}", course.suffix),
            protocol,
            count,
            arrivals,
            app,
            path: course.path,
            reverse: course.reverse,
            access,
            start: self.start(&file.start, count)?,
            stop: stop(file, count)?,
            size,
        })
    }

    /// What the flows of a group that relays another have to send.
    fn relay(
        &self,
        file: &FlowFile,
        relay: &At<String>,
        (count, protocol): (u32, &Protocol),
        before: &[Group],
    ) -> Result<(App, Size), Fault> {
        let of = before.iter().position(|group| group.name == relay.value).ok_or_else(|| {
            let text = format!("no group before this one is called \"{}\"", relay.value);
            relay.spot.rule(text)
        })?;
        let own = [file.rate.as_ref().map(|rate| &rate.spot), file.on.as_ref().map(|on| &on.spot)];
        let own = own.into_iter().flatten().next();
        if let Some(spot) = own.or(file.off.as_ref().map(|off| &off.spot)) {
            return Err(spot.rule("a relay sends what arrives: rate, on and off are the source's"));
        }
        if file.arrivals.is_some() || before[of].arrivals.is_some() || count != before[of].count {
            let text = format!(
                "\"{}\" has {} flows from the start, and a relay has as many, without arrivals",
                relay.value, before[of].count
            );
            return Err(relay.spot.rule(text));
        }
        if before.iter().any(|group| matches!(group.app, App::Relay { of: one, .. } if one == of)) {
            return Err(relay.spot.rule(format!("\"{}\" has a relay already", relay.value)));
        }
        let reports = |kind| protocols().any(|info| info.name == kind && info.reports);
        if reports(protocol.kind) || reports(before[of].protocol.kind) {
            let text = "a relay carries connections on, and \"udp\" and \"tfrc\" have none";
            return Err(relay.spot.rule(text));
        }
        if matches!(before[of].protocol.recovery, Recovery::None | Recovery::Dccp) {
            let text = "a relay needs data that arrives in order, and this recovery leaves gaps";
            return Err(relay.spot.rule(text));
        }
        let held = match &file.relay_buffer {
            None => None,
            Some(buffer) => Some(self.held(buffer, &before[of])?),
        };
        Ok((App::Relay { of, buffer: held }, before[of].size.clone()))
    }

    /// Packets that a relay of `source` may hold.
    fn held(&self, buffer: &At<PlainAmount>, source: &Group) -> Result<u64, Fault> {
        let packets = match buffer.value.0 {
            Amount::Packets(packets) => packets,
            Amount::Bytes(bytes) => bytes / u64::from(self.packets.data_bytes),
            _ => 0, // not to be written there
        };
        if packets == 0 {
            return Err(buffer.spot.rule("it must hold a packet at least"));
        }
        if !matches!(source.app, App::Greedy | App::Relay { .. }) {
            return Err(buffer
                .spot
                .rule("it limits a source that sends all at once, not one with a rate"));
        }
        Ok(packets)
    }

    /// The ways of a group's flows: one, or one for each group that it stands for.
    fn courses(&self, entry: &At<FlowFile>) -> Result<Vec<Course>, Fault> {
        let file = &entry.value;
        match self.network.shape {
            Shape::General => self.named_course(entry).map(|course| vec![course]),
            Shape::Dumbbell { .. } => {
                refuse_general_keys(file)?;
                if let Some(path) = &file.path {
                    return Err(path.spot.rule("a dumbbell has one path; use direction"));
                }
                Ok(vec![turned(file, Course::new(vec![0], vec![1]))])
            }
            Shape::ParkingLot { n, .. } => {
                refuse_general_keys(file)?;
                let courses = lot_courses(file, n)?;
                Ok(courses.into_iter().map(|course| turned(file, course)).collect())
            }
        }
    }

    /// A way over named links, listed or routed.
    fn named_course(&self, entry: &At<FlowFile>) -> Result<Course, Fault> {
        let (file, links) = (&entry.value, &self.network.links[..]);
        if let Some(direction) = &file.direction {
            let text = "direction belongs to a dumbbell or a parking lot; use path, or from and to";
            return Err(direction.spot.rule(text));
        }
        let path = match (&file.path, &file.from, &file.to) {
            (Some(path), None, None) => match &path.value {
                Way::Links(names) => follow(links, names, &path.spot)?,
                _ => return Err(path.spot.rule("with links, path is a list of links")),
            },
            (None, Some(from), Some(to)) => self.routed(from, to)?,
            (Some(_), Some(node), _) | (Some(_), _, Some(node)) => {
                return Err(node.spot.rule("use either path, or from and to"));
            }
            _ => {
                let wanted = "path, or both from and to".to_owned();
                return Err(entry.spot.child("path").fault(Problem::Missing(wanted)));
            }
        };
        // A path has at least one link.
        let (first, last) = ends(links, &path).unwrap_or_default();
        let reverse = match &file.reverse_path {
            None => route(links, last, first).ok_or_else(|| {
                let text = format!("no way back for the ACKs from \"{last}\" to \"{first}\"");
                entry.spot.rule(text)
            })?,
            Some(names) => {
                let reverse = follow(links, &names.value, &names.spot)?;
                if ends(links, &reverse) != Some((last, first)) {
                    let text = format!("the ACKs' path must lead from \"{last}\" to \"{first}\"");
                    return Err(names.spot.rule(text));
                }
                reverse
            }
        };
        Ok(Course::new(path, reverse))
    }

    fn routed(&self, from: &At<String>, to: &At<String>) -> Result<Vec<usize>, Fault> {
        let links = &self.network.links;
        check_node(links, from)?;
        check_node(links, to)?;
        if from.value == to.value {
            return Err(to.spot.rule("from and to are the same node"));
        }
        route(links, &from.value, &to.value).ok_or_else(|| {
            to.spot.rule(format!("no path from \"{}\" to \"{}\"", from.value, to.value))
        })
    }

    /// The access hops of every flow of a group; one if they are all the same.
    fn access(
        &self,
        entry: &At<FlowFile>,
        course: &Course,
        flows: Flows,
    ) -> Result<Vec<Access>, Fault> {
        let file = &entry.value;
        let rates = self.access_rates(file, course, flows)?;
        let (sources, sinks) = self.access_delays(entry, course, flows)?;
        let longest = rates.len().max(sources.len()).max(sinks.len());
        let lengths = [rates.len(), sources.len(), sinks.len()];
        if let Some(short) = lengths.into_iter().find(|length| *length != 1 && *length != longest) {
            let text = format!(
                "its lists are taken in turn, so they are of one length, not {short} and {longest}"
            );
            return Err(entry.spot.rule(text));
        }
        let all: Vec<Access> = (0..longest)
            .map(|i| Access {
                rate: pick(&rates, i),
                source_owd: pick(&sources, i),
                sink_owd: pick(&sinks, i),
            })
            .collect();
        let same = all.windows(2).all(|pair| pair[0] == pair[1]);
        Ok(if same { all[..1].to_vec() } else { all })
    }

    fn access_rates(
        &self,
        file: &FlowFile,
        course: &Course,
        flows: Flows,
    ) -> Result<Vec<Rate>, Fault> {
        let links = course.path.iter().chain(&course.reverse);
        let fastest = links.map(|&link| self.network.links[link].fastest()).max();
        let fastest = fastest.unwrap_or_default();
        let Some(given) = &file.access_rate else {
            return Ok(vec![Rate(fastest.0 * 10)]);
        };
        let rates = match &given.value {
            LineRate::Rates(rates) => self.values(rates, flows)?,
            LineRate::Times(times) => {
                let rate = times.times(fastest.0.into()).and_then(|rate| u64::try_from(rate).ok());
                vec![Rate(rate.ok_or_else(|| given.spot.rule("it is more than 1000Tbps"))?)]
            }
        };
        for &value in &rates {
            check_rate(value, Rate(MAX_RATE.0 * 10), &given.spot)?;
        }
        Ok(rates)
    }

    /// The delays at the source's and at the sink's side.
    fn access_delays(
        &self,
        entry: &At<FlowFile>,
        course: &Course,
        flows: Flows,
    ) -> Result<(Vec<Span>, Vec<Span>), Fault> {
        let file = &entry.value;
        let sides = [&file.source_owd, &file.sink_owd];
        let given = [&file.rtt, &file.access_owd].into_iter().chain(sides).flatten();
        let given: Vec<&At<Spread<Span>>> = given.collect();
        let both_sides = file.source_owd.is_some() && file.sink_owd.is_some();
        if let [_, second, ..] = given[..]
            && !(both_sides && given.len() == 2)
        {
            let text = "use one of rtt, access_owd, and source_owd with sink_owd";
            return Err(second.spot.rule(text));
        }
        if let Some(rtt) = &file.rtt {
            return self.split_rtts(&self.values(rtt, flows)?, course, &rtt.spot);
        }
        if let Some(owd) = &file.access_owd {
            let values = self.delays(owd, flows)?;
            return Ok((values.clone(), values));
        }
        if sides.iter().all(|side| side.is_none())
            && let Some(rtt) = self.default_rtt()
        {
            return self.split_rtts(&[rtt], course, &entry.spot.child("rtt"));
        }
        let side = |side: &Option<At<Spread<Span>>>| {
            side.as_ref().map_or(Ok(vec![Span::ZERO]), |side| self.delays(side, flows))
        };
        Ok((side(&file.source_owd)?, side(&file.sink_owd)?))
    }

    fn default_rtt(&self) -> Option<Span> {
        match self.network.shape {
            Shape::Dumbbell { rtt } => Some(rtt),
            Shape::ParkingLot { rtt, .. } => rtt,
            Shape::General => None,
        }
    }

    /// What the named links leave of each RTT, split over the four access hops.
    fn split_rtts(
        &self,
        rtts: &[Span],
        course: &Course,
        spot: &Spot,
    ) -> Result<(Vec<Span>, Vec<Span>), Fault> {
        let links = course.path.iter().chain(&course.reverse);
        let named = links.fold(Span::ZERO, |sum, &i| sum + self.network.links[i].owd);
        let mut sides = (Vec::new(), Vec::new());
        for &rtt in rtts {
            check_delay(rtt, spot)?;
            if rtt < named {
                let text = format!(
                    "an rtt of {} is too short: the links on the way take {} there and back",
                    TIME.exact(rtt.0),
                    TIME.exact(named.0)
                );
                return Err(spot.rule(text));
            }
            let half = (rtt - named).0 / 2;
            sides.0.push(Span(half / 2));
            sides.1.push(Span(half - half / 2));
        }
        Ok(sides)
    }

    fn start(&self, start: &At<Start>, count: u32) -> Result<Start, Fault> {
        if let Start::List(list) = &start.value
            && list.len() != count as usize
        {
            let text = format!("{} starts for a count of {count}", list.len());
            return Err(start.spot.rule(text));
        }
        let latest = start.value.latest(count);
        let open_end = matches!(start.value, Start::Uniform(..));
        if latest > self.duration || (latest == self.duration && !open_end) {
            let text = format!(
                "a flow starts at {}, but the run ends at {}",
                TIME.exact(latest.0),
                TIME.exact(self.duration.0)
            );
            return Err(start.spot.rule(text));
        }
        Ok(start.value.clone())
    }
}

impl Course {
    fn new(path: Vec<usize>, reverse: Vec<usize>) -> Course {
        Course { suffix: String::new(), path, reverse }
    }
}

/// With data and ACKs exchanged when the group's direction is reverse.
fn turned(file: &FlowFile, course: Course) -> Course {
    match file.direction.as_ref().map(|direction| direction.value) {
        Some(Direction::Reverse) => {
            Course { suffix: course.suffix, path: course.reverse, reverse: course.path }
        }
        _ => course,
    }
}

fn refuse_general_keys(file: &FlowFile) -> Result<(), Fault> {
    let reverse = file.reverse_path.as_ref().map(|names| &names.spot);
    let nodes = [&file.from, &file.to].into_iter().flatten().map(|node| &node.spot);
    match nodes.chain(reverse).next() {
        Some(spot) => Err(spot.rule("from, to and reverse_path need [links] or a map")),
        None => Ok(()),
    }
}

/// The ways through a parking lot of `n` links.
fn lot_courses(file: &FlowFile, n: usize) -> Result<Vec<Course>, Fault> {
    let Some(path) = &file.path else { return Ok(vec![stretch(1, n, n)]) };
    match &path.value {
        Way::Long => Ok(vec![stretch(1, n, n)]),
        Way::Each => {
            Ok((1..=n).map(|i| Course { suffix: format!(".{i}"), ..stretch(i, i, n) }).collect())
        }
        &Way::Cross(first, last) => {
            let ends = (usize::try_from(first), usize::try_from(last));
            match ends {
                (Ok(first), Ok(last)) if 1 <= first && first <= last && last <= n => {
                    Ok(vec![stretch(first, last, n)])
                }
                _ => {
                    let value = format!("cross({first}, {last})");
                    let allowed = format!("links 1 to {n}, FIRST not after LAST");
                    Err(path.spot.fault(Problem::Range { value, allowed }))
                }
            }
        }
        Way::Links(_) => {
            Err(path.spot.rule("in a parking lot, path is \"long\", \"cross(...)\" or \"each\""))
        }
    }
}

/// From link `first` to link `last` of `n`, counted from 1, and back.
fn stretch(first: usize, last: usize, n: usize) -> Course {
    let path: Vec<usize> = (first - 1..last).collect();
    let reverse = path.iter().rev().map(|link| link + n).collect();
    Course::new(path, reverse)
}

fn pick<T: Copy>(values: &[T], i: usize) -> T {
    values[if values.len() == 1 { 0 } else { i }]
}

fn check_delay(value: Span, spot: &Spot) -> Result<(), Fault> {
    if value <= MAX_DELAY {
        return Ok(());
    }
    let value = TIME.exact(value.0);
    Err(spot.fault(Problem::Range { value, allowed: "0s to 1h".to_owned() }))
}

fn stop(file: &FlowFile, count: u32) -> Result<Option<Span>, Fault> {
    let Some(stop) = &file.stop else { return Ok(None) };
    let latest = file.start.value.latest(count);
    if stop.value > latest {
        return Ok(Some(stop.value));
    }
    let (stops, starts) = (TIME.exact(stop.value.0), TIME.exact(latest.0));
    Err(stop.spot.rule(format!("stops at {stops}, but a flow starts as late as {starts}")))
}

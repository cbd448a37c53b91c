//! What is allowed in a scenario but probably not meant.

use std::fmt;

use cc::foreign::Nobody;
use cc::params::Value;
use cc::registry::Recovery;
use cc::roles::{EcnUse, SenderContext};
use units::Span;
use units::random::Stream;

use crate::file::sources::{mean_gap_s, mean_size};
use crate::file::{File, Topology};
use crate::model::line::{Capacity, LossModel};
use crate::model::{Group, Link, Of, Protocol, Scenario, Touches};
use crate::syntax::document::{Node, Raw};
use crate::values::distributions::percent;
use crate::values::quantity::{RATE, TIME};

/// Something that is allowed but probably not meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// What, where and why.
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// What is allowed but probably not meant.
pub(crate) fn warnings(root: &Node, file: &File, scenario: &Scenario) -> Vec<Warning> {
    let mut messages: Vec<String> = not_varied(root, file).into_iter().collect();
    let is_map = file.topology.as_ref().is_some_and(|t| matches!(t.value, Topology::Map(_)));
    let mut crossed = vec![false; scenario.links.len()];
    for link in scenario.groups.iter().flat_map(|group| group.path.iter().chain(&group.reverse)) {
        crossed[*link] = true;
    }
    // What is said, of which link first and of how many more.
    let mut odd: Vec<(String, &str, usize)> = Vec::new();
    for (i, link) in scenario.links.iter().enumerate() {
        // A map has links that nobody asked for.
        if !is_map && !crossed[i] {
            messages.push(format!("no flow crosses link \"{}\"", link.name));
        }
        odd_line(scenario.duration, link, |text| {
            match odd.iter_mut().find(|(other, ..)| *other == text) {
                Some((_, _, more)) => *more += 1,
                None => odd.push((text, &link.name, 0)),
            }
        });
    }
    for (text, link, more) in odd {
        let more = if more == 0 { String::new() } else { format!(" (and {more} more)") };
        messages.push(format!("link \"{link}\"{more}: {text}"));
    }
    for group in &scenario.groups {
        let key = format!("flows.{}", group.name);
        messages.extend(missing_router(scenario, (&key, group.protocol.kind), &group.path));
        messages.extend(slow_access(scenario, group));
        messages.extend(too_much_offered(scenario, group));
        messages.extend(late_stop(scenario, group));
    }
    for island in &scenario.islands {
        if island.crossings.is_empty() {
            messages.push(format!("islands.{}: no flow crosses it", island.name));
        }
        let key = format!("islands.{}", island.name);
        messages.extend(missing_router(scenario, (&key, island.protocol.kind), &island.links));
    }
    messages.extend(idle_rules(scenario));
    two_thresholds(root, &mut messages);
    for (key, chosen, of) in [
        ("flows", scenario.probe.groups.is_some(), Of::Flow),
        ("links", scenario.probe.links.is_some(), Of::Link),
    ] {
        if chosen && !scenario.probe.series.iter().any(|series| series.of() == of) {
            messages.push(format!("probe.{key}: no series of {key} is recorded"));
        }
    }
    messages.into_iter().map(|message| Warning { message }).collect()
}

/// A queue's threshold that is given in packets and as a part of the buffer, by the file or by the
/// file and its preset: only one of them counts.
fn two_thresholds(node: &Node, messages: &mut Vec<String>) {
    let entries = match &node.raw {
        Raw::Table(entries) => entries,
        Raw::List(items) => return items.iter().for_each(|item| two_thresholds(item, messages)),
        _ => return,
    };
    for (_, entry) in entries {
        two_thresholds(entry, messages);
    }
    let text = |key| node.entry(key).and_then(|node| node.text("").ok());
    let Some(info) = cc::registry::queues().find(|info| Some(info.name) == text("kind")) else {
        return;
    };
    let preset = info.presets.iter().find(|preset| Some(preset.name) == text("preset"));
    let of_preset = |key: &str| {
        let (_, value) = preset?.values.iter().find(|(name, _)| *name == key)?;
        if let Value::Number(value) = value { Some(*value) } else { None }
    };
    let own = |key: &str| match node.entry(key)?.raw {
        Raw::Int(value) => Some(value as f64),
        Raw::Float(value) => Some(value),
        _ => None,
    };
    for threshold in info.params.iter().map(|spec| spec.name) {
        let ratio = format!("{threshold}_ratio");
        if !info.params.iter().any(|spec| spec.name == ratio) {
            continue;
        }
        // Of the threshold of `step` the ratio counts where it is not 0, of others the packets.
        let pair = [ratio.as_str(), threshold];
        let [counts, idle] = if info.name == "step" { pair } else { [pair[1], pair[0]] };
        let winner = own(counts).or_else(|| of_preset(counts)).filter(|value| *value > 0.0);
        if let (Some(value), Some(_)) = (winner, own(idle).filter(|value| *value > 0.0)) {
            let by = if own(counts).is_none() { " of the preset" } else { "" };
            let key = &node.spot.key;
            messages.push(format!("{key}.{idle} does nothing: {counts} = {value}{by} counts"));
        }
    }
}

/// The protocol that is a prototype: nobody can build it here, and nobody knows what it uses.
const PROTOTYPE: &str = "python";

/// Rules of the transport that touch no flow.
fn idle_rules(scenario: &Scenario) -> Vec<String> {
    let transport = &scenario.transport;
    let untouched = |touches| !scenario.groups.iter().any(|g| touched(scenario, g, touches));
    let rules = transport.rules().filter(|rule| untouched(rule.touches));
    let why = |touches| match touches {
        Touches::Rack => "no flow's recovery is \"rack\"",
        Touches::RackAndEcho => "no flow with ECN and a window of TCP has the recovery \"rack\"",
        Touches::DupAcks => "no flow's recovery is \"tahoe\", \"reno\" or \"newreno\"",
        Touches::Window => "no flow has a window of TCP",
        Touches::Pace => "no flow is paced",
        Touches::Marks => "no flow counts marks",
        Touches::DelayedAcks => "no ACK is delayed (delayed_ack)",
    };
    rules.map(|rule| format!("transport.{}: {}", rule.key, why(rule.touches))).collect()
}

/// May a rule touch flows of the group?
fn touched(scenario: &Scenario, group: &Group, touches: Touches) -> bool {
    let Protocol { kind, recovery, params, .. } = &group.protocol;
    let info = cc::registry::protocols().find(|info| info.name == *kind);
    let (reduces, reports) = info.map_or((false, false), |info| (info.reduces, info.reports));
    let sender = || {
        let context = SenderContext {
            packet_bytes: scenario.packets.data_bytes,
            initial_window: scenario.transport.initial_window,
            counting: 0,
            routers: group.path.len() as u32,
            stream: Stream::new(0, 0, ""),
            host: &Nobody,
        };
        (*kind != PROTOTYPE).then(|| params.build(&context).0)
    };
    let rack = *recovery == Recovery::Rack && !reports;
    match touches {
        Touches::Rack => rack,
        Touches::RackAndEcho => {
            rack && reduces && sender().is_none_or(|sender| sender.ecn() != EcnUse::None)
        }
        Touches::DupAcks => {
            matches!(recovery, Recovery::Tahoe | Recovery::Reno | Recovery::NewReno) && !reports
        }
        Touches::Window => reduces,
        Touches::Pace => sender().is_none_or(|sender| sender.paces()),
        Touches::Marks => sender().is_none_or(|sender| sender.counts_marks()),
        Touches::DelayedAcks => scenario.transport.delayed_ack.is_some(),
    }
}

/// More keys are not named one by one.
const MOST_KEYS: usize = 5;

/// A run with the file's own values may be meant, and may be taken for the sweep. One whose varying
/// keys are all set is a point of the sweep: nothing is to be said.
fn not_varied(root: &Node, file: &File) -> Option<String> {
    let Some(sweep) = &file.sweep else {
        let text = "plot: it draws a sweep, and there is no [sweep]";
        return file.plot.is_some().then(|| text.to_owned());
    };
    let mut left: Vec<String> = sweep.value.left(root).map(str::to_owned).collect();
    if left.len() > MOST_KEYS {
        let more = left.len() - (MOST_KEYS - 1);
        left.truncate(MOST_KEYS - 1);
        left.push(format!("{more} more"));
    }
    let (last, others) = left.split_last()?;
    let shown = if others.is_empty() { String::new() } else { others.join(", ") + " and " };
    Some(format!(
        "sweep: this is the file as it stands; `clearpipe sweep run` varies {shown}{last}"
    ))
}

/// What a link's line does too late, always or never.
fn odd_line(duration: Span, link: &Link, mut say: impl FnMut(String)) {
    let text = |span: Span| TIME.exact(span.0);
    let end = text(duration);
    if let Capacity::Steps(steps) = &link.line.capacity
        && let Some(late) = steps.iter().find(|step| step.at >= duration)
    {
        say(format!("the step at {} is after the end at {end}", text(late.at)));
    }
    if let Some(late) = link.line.outages.iter().find(|outage| outage.to > duration) {
        let (from, to) = (text(late.from), text(late.to));
        say(format!("the outage from {from} to {to} is not over at the end at {end}"));
    }
    match link.line.loss.as_ref().map(|loss| &loss.model) {
        Some(LossModel::Random(1.0) | LossModel::Every(1)) => {
            say("every packet is lost".to_owned());
        }
        Some(LossModel::GilbertElliott { to_bad, .. }) if *to_bad == 0.0 => {
            say("the bad state is never reached".to_owned());
        }
        Some(LossModel::GilbertElliott { to_good, .. }) if *to_good == 0.0 => {
            say("the bad state is never left".to_owned());
        }
        _ => {}
    }
    if link.line.reorder.is_some_and(|reorder| reorder.p == 1.0) {
        say("every packet is held up, so that none is overtaken".to_owned());
    }
}

/// Flows that offer as much as the slowest link on their way can carry, or more.
fn too_much_offered(scenario: &Scenario, group: &Group) -> Option<String> {
    let arrivals = group.arrivals.as_ref()?;
    let link = group.path.iter().map(|&i| &scenario.links[i]).min_by_key(|link| link.rate)?;
    let offered_bps = mean_size(&group.size)? * 8.0 / mean_gap_s(&arrivals.gap);
    let load = offered_bps / link.rate.as_bps();
    // A load of 100 % has been a mean gap in between.
    (load > 1.0 - 1e-9).then(|| {
        let (name, rate) = (&group.name, RATE.exact(link.rate.0));
        let (load, link) = (percent((load * 1000.0).round() / 1000.0), &link.name);
        format!("flows.{name}: the arrivals offer {load} of the {rate} of link \"{link}\"")
    })
}

fn late_stop(scenario: &Scenario, group: &Group) -> Option<String> {
    let stop = group.stop.filter(|stop| *stop > scenario.duration && group.arrivals.is_some())?;
    let (stop, end) = (TIME.exact(stop.0), TIME.exact(scenario.duration.0));
    Some(format!("flows.{}: the arrivals stop at {stop}, after the end at {end}", group.name))
}

/// What has a protocol of this kind crosses these links.
fn missing_router(
    scenario: &Scenario,
    (key, kind): (&str, &str),
    links: &[usize],
) -> Option<String> {
    let info = cc::registry::protocols().find(|info| info.name == kind)?;
    let router = info.router?;
    // Another queue that reads and writes the same header will do: the paper's variants are such.
    let reads = |kind: &str| {
        cc::registry::queues().find(|info| info.name == kind).and_then(|info| info.reads)
    };
    let serves = |kind: &str| kind == router || info.reads.is_some() && reads(kind) == info.reads;
    let lacks = |link: &&Link| {
        let queue = &link.queue;
        let kinds = [Some(&queue.policy), queue.feedback.as_ref()];
        !kinds.into_iter().flatten().any(|part| serves(part.kind))
    };
    let path = links.iter().map(|&i| &scenario.links[i]);
    let mut lacking = path.filter(lacks);
    let (first, more) = (format!("\"{}\"", lacking.next()?.name), lacking.count());
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    Some(format!(
        "{key}: protocol \"{kind}\" needs queue \"{router}\", which is not on link {first}{more}"
    ))
}

fn slow_access(scenario: &Scenario, group: &Group) -> Option<String> {
    let slowest = group.access.iter().map(|access| access.rate).min()?;
    let path = group.path.iter().map(|&i| &scenario.links[i]);
    let link = path.clone().min_by_key(|link| link.rate)?;
    if slowest >= link.rate {
        return None;
    }
    let rate = |rate: units::Rate| RATE.exact(rate.0);
    Some(format!(
        "flows.{}: the access rate of {} is below the {} of link \"{}\"",
        group.name,
        rate(slowest),
        rate(link.rate),
        link.name
    ))
}

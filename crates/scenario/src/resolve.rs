//! From the file's tables to the resolved scenario: the order of the steps, and the checks that need
//! more than one table.

use std::fmt;

use units::Span;

use crate::buffers::limits;
use crate::definitions::Catalog;
use crate::error::{Fault, Problem, Spot};
use crate::file::{File, PacketsFile, Preset, ProbeFile, TransportFile};
use crate::groups::Context;
use crate::line::Line;
use crate::naming::name_what_is_in_place;
use crate::network::Network;
use crate::quantity::TIME;
use crate::resolved::{Every, Group, Link, Packets, Probe, Scenario, Transport};
use crate::table::At;
use crate::values::{ByteCount, Warmup};

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

/// The scenario that `file` describes.
pub(crate) fn resolve(file: &File) -> Result<Scenario, Fault> {
    let duration = duration(&file.duration)?;
    let warmup = warmup(&file.warmup, duration)?;
    let packets = packets(&file.packets.value)?;
    let transport = transport(&file.transport.value)?;
    let catalog = Catalog::new(file.queues.as_ref(), file.protocols.as_ref())?;
    let network = Network::new(file, &catalog)?;
    let context = Context { network: &network, catalog: &catalog, packets, duration };
    let mut groups = context.groups(&file.flows)?;
    let limits = limits(&network, &groups, packets)?;
    let links = network.links.into_iter().zip(limits).map(|(draft, limit)| Link {
        name: draft.name,
        from: draft.from,
        to: draft.to,
        rate: draft.rate,
        owd: draft.owd,
        limit,
        queue: draft.queue,
        line: Line::default(),
    });
    let mut links: Vec<Link> = links.collect();
    name_what_is_in_place(&catalog, &mut links, &mut groups);
    Ok(Scenario {
        name: file.name.value.clone(),
        duration,
        warmup,
        seed: file.seed.value.0,
        packets,
        transport,
        links,
        groups,
        probe: probe(&file.probe.value)?,
    })
}

const MAX_DURATION: Span = Span::from_secs(200 * 24 * 3600);

fn duration(duration: &At<Span>) -> Result<Span, Fault> {
    positive(duration, MAX_DURATION, "4800h (200 days)")
}

/// A time above zero and not above `most`.
fn positive(time: &At<Span>, most: Span, most_text: &str) -> Result<Span, Fault> {
    if time.value > Span::ZERO && time.value <= most {
        return Ok(time.value);
    }
    let (value, allowed) = (TIME.exact(time.value.0), format!("above 0s, at most {most_text}"));
    Err(time.spot.fault(Problem::Range { value, allowed }))
}

fn warmup(warmup: &At<Warmup>, duration: Span) -> Result<Span, Fault> {
    let value = match warmup.value {
        Warmup::Time(time) => time,
        Warmup::Share(share) if share.at_least(100) => duration,
        // Below 100 %, so it fits.
        Warmup::Share(share) => {
            let hundredfold = share.times(u128::from(duration.0)).unwrap_or(u128::MAX);
            Span(u64::try_from(hundredfold / 100).unwrap_or(u64::MAX))
        }
    };
    if value < duration {
        return Ok(value);
    }
    let text = format!(
        "a warm-up of {} leaves nothing of the duration of {}",
        TIME.exact(value.0),
        TIME.exact(duration.0)
    );
    Err(warmup.spot.rule(text))
}

fn packets(file: &PacketsFile) -> Result<Packets, Fault> {
    let size = |bytes: &At<ByteCount>| match u16::try_from(bytes.value.0) {
        Ok(size) if size > 0 => Ok(u32::from(size)),
        _ => {
            let value = format!("{}B", bytes.value.0);
            let allowed = "1B to 65535B".to_owned();
            Err(bytes.spot.fault(Problem::Range { value, allowed }))
        }
    };
    Ok(Packets { data_bytes: size(&file.data)?, ack_bytes: size(&file.ack)? })
}

fn transport(file: &TransportFile) -> Result<Transport, Fault> {
    let (min_rto, initial_rto) = match file.preset.value {
        Preset::Rfc => (Span::from_secs(1), Span::from_secs(1)),
        Preset::Ns2 => (Span::from_millis(200), Span::from_secs(3)),
    };
    let hour = |time: &At<Span>| positive(time, Span::from_secs(3600), "1h");
    let max_rto = hour(&file.max_rto)?;
    let within = |given: &Option<At<Span>>, default: Span| match given {
        None => Ok(default.min(max_rto)),
        Some(time) if hour(time)? <= max_rto => Ok(time.value),
        Some(time) => {
            Err(time.spot.rule(format!("it is above max_rto = {}", TIME.exact(max_rto.0))))
        }
    };
    let delayed = &file.delayed_ack;
    let check = |span: Span| hour(&At { value: span, spot: delayed.spot.clone() });
    Ok(Transport {
        min_rto: within(&file.min_rto, min_rto)?,
        max_rto,
        initial_rto: within(&file.initial_rto, initial_rto)?,
        initial_window: file.initial_window.value.0,
        // At most 1000.
        dup_thresh: u32::try_from(file.dup_thresh.value.0).unwrap_or(u32::MAX),
        delayed_ack: delayed.value.0.map(check).transpose()?,
        limited_transmit: file.limited_transmit.value,
    })
}

fn probe(file: &ProbeFile) -> Result<Probe, Fault> {
    let every = positive(&file.every, MAX_DURATION, "4800h (200 days)")?;
    let mut series = Vec::new();
    for one in file.series.as_ref().map_or(&[][..], |list| &list.value) {
        if series.contains(&one.value) {
            return Err(one.spot.rule(format!("\"{}\" is listed twice", one.value.name())));
        }
        series.push(one.value);
    }
    Ok(Probe { series, every: Every::Span(every), groups: None, links: None })
}

/// What is allowed but probably not meant.
pub(crate) fn warnings(file: &File, scenario: &Scenario) -> Vec<Warning> {
    let mut messages = Vec::new();
    let unread = [("sweep", file.sweep.is_some()), ("plot", file.plot.is_some())];
    for (table, _) in unread.iter().filter(|(_, is_there)| *is_there) {
        messages.push(format!("{table}: a run ignores this table"));
    }
    for (i, link) in scenario.links.iter().enumerate() {
        let crosses = |group: &Group| group.path.contains(&i) || group.reverse.contains(&i);
        if !scenario.groups.iter().any(crosses) {
            messages.push(format!("no flow crosses link \"{}\"", link.name));
        }
    }
    for group in &scenario.groups {
        messages.extend(missing_router(scenario, group));
        messages.extend(slow_access(scenario, group));
    }
    messages.into_iter().map(|message| Warning { message }).collect()
}

fn missing_router(scenario: &Scenario, group: &Group) -> Option<String> {
    let info = cc::registry::protocols().find(|info| info.name == group.protocol.kind)?;
    let router = info.router?;
    let lacks = |link: &&Link| {
        let queue = &link.queue;
        let kinds = [Some(&queue.policy), queue.feedback.as_ref()];
        !kinds.into_iter().flatten().any(|part| part.kind == router)
    };
    let path = group.path.iter().map(|&i| &scenario.links[i]);
    let names: Vec<String> = path.filter(lacks).map(|link| format!("\"{}\"", link.name)).collect();
    let (first, more) = (names.first()?, names.len() - 1);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    Some(format!(
        "flows.{}: protocol \"{}\" needs queue \"{router}\", which is not on link {first}{more}",
        group.name, group.protocol.kind
    ))
}

fn slow_access(scenario: &Scenario, group: &Group) -> Option<String> {
    let slowest = group.access.iter().map(|access| access.rate).min()?;
    let path = group.path.iter().map(|&i| &scenario.links[i]);
    let link = path.clone().min_by_key(|link| link.rate)?;
    if slowest >= link.rate {
        return None;
    }
    let rate = |rate: units::Rate| crate::quantity::RATE.exact(rate.0);
    Some(format!(
        "flows.{}: the access rate of {} is below the {} of link \"{}\"",
        group.name,
        rate(slowest),
        rate(link.rate),
        link.name
    ))
}

/// The spot of the `schema` key, for the message when it is missing.
pub(crate) fn schema_missing() -> Fault {
    let text = "missing key; a scenario file begins with schema = 1";
    Spot::root().child("schema").rule(text)
}

//! From the file's tables to the resolved scenario: the order of the steps, and the checks that
//! need more than one table.

mod agreement;
mod bottleneck;
mod buffers;
mod groups;
mod islands;
pub mod naming;
pub mod network;
mod routing;
pub mod warnings;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use units::Span;

use crate::attached::{Files, Load};
use crate::error::{Fault, Problem, Spot};
use crate::file::definitions::Catalog;
use crate::file::{File, PacketsFile, TransportFile};
use crate::model::era::{Era, Origin, Origins};
use crate::model::{Every, Group, Link, Packets, Probe, Scenario, Transport};
use crate::output::toml::transport_values;
use crate::resolve::bottleneck::bottleneck;
use crate::resolve::buffers::limits;
use crate::resolve::groups::{Context, MAX_STEPS};
use crate::resolve::islands::Land;
use crate::resolve::naming::name_what_is_in_place;
use crate::resolve::network::{Network, Shape};
use crate::syntax::declaration::{At, Count};
use crate::values::quantity::TIME;
use crate::values::{ByteCount, Warmup, Way};

/// The scenario that `file` describes.
pub(crate) fn resolve(file: &File, load: &Load<'_>) -> Result<Scenario, Fault> {
    let files = Files::new(load);
    let duration = duration(&file.duration)?;
    let warmup = warmup(&file.warmup, duration)?;
    let packets = packets(&file.packets.value)?;
    let era = file.era.value;
    let transport = transport(&file.transport.value, era)?;
    let catalog = Catalog::new(file.queues.as_ref(), file.protocols.as_ref(), era)?;
    let network = Network::new(file, &catalog, &files)?;
    let context = Context {
        network: &network,
        catalog: &catalog,
        packets,
        duration,
        files: &files,
        steps_left: Cell::new(MAX_STEPS),
    };
    let mut groups = context.groups(&file.flows)?;
    let shape = network.shape.clone();
    let land = Land { links: &network.links, groups: &groups, catalog: &catalog, packets };
    let mut islands = land.islands(file.islands.as_ref())?;
    let bottleneck = bottleneck(file.bottleneck.as_ref(), &network.links, &groups)?;
    let limits = limits(&network, &groups, packets)?;
    let links = network.links.into_iter().zip(limits).map(|(draft, limit)| Link {
        name: draft.name,
        from: draft.from,
        to: draft.to,
        rate: draft.rate,
        owd: draft.owd,
        limit,
        queue: draft.queue,
        line: draft.line,
        device: draft.device,
    });
    let mut links: Vec<Link> = links.collect();
    name_what_is_in_place(&catalog, &mut links, (&mut groups, &mut islands));
    let probe = probe(file, duration, &shape, (&links, &groups))?;
    Ok(Scenario {
        name: file.name.value.clone(),
        duration,
        warmup,
        seed: file.seed.value.0,
        bottleneck,
        packets,
        transport,
        transport_origins: transport_origins(&file.transport.value, &transport, era),
        links,
        groups,
        islands,
        probe,
        fluid: file.fluid.value.resolved(),
        ip: file.linux.value.ip.value,
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

fn transport(file: &TransportFile, era: Era) -> Result<Transport, Fault> {
    let default = era.transport();
    let hour = |time: &At<Span>| positive(time, Span::from_secs(3600), "1h");
    let max_rto = file.max_rto.as_ref().map_or(Ok(default.max_rto), hour)?;
    let within = |given: &Option<At<Span>>, default: Span| match given {
        None => Ok(default.min(max_rto)),
        Some(time) if hour(time)? <= max_rto => Ok(time.value),
        Some(time) => {
            Err(time.spot.rule(format!("it is above max_rto = {}", TIME.exact(max_rto.0))))
        }
    };
    let delayed_ack = match &file.delayed_ack {
        None => default.delayed_ack,
        Some(given) => {
            let check = |span: Span| hour(&At { value: span, spot: given.spot.clone() });
            given.value.0.map(check).transpose()?
        }
    };
    let min_rto = within(&file.min_rto, default.min_rto)?;
    let granularity = default.rto_granularity.min(min_rto);
    let window = file.initial_window.as_ref().map(|given| given.value.0);
    let small = |given: Option<u64>, default| given.map_or(default, |n| n as u32);
    // At most 1000.
    let count = |given: &At<Count<1, 1000>>| u32::try_from(given.value.0).unwrap_or(u32::MAX);
    Ok(Transport {
        min_rto,
        max_rto,
        initial_rto: within(&file.initial_rto, default.initial_rto)?,
        rto_granularity: within(&file.rto_granularity, granularity)?,
        rttvar: file.rttvar.as_ref().map_or(default.rttvar, |given| given.value),
        initial_window: window.unwrap_or(default.initial_window),
        dup_thresh: file.dup_thresh.as_ref().map_or(default.dup_thresh, count),
        delayed_ack,
        limited_transmit: file
            .limited_transmit
            .as_ref()
            .map_or(default.limited_transmit, |x| x.value),
        accecn: file.accecn.as_ref().map_or(default.accecn, |given| given.value),
        undo: file.undo.as_ref().map_or(default.undo, |given| given.value),
        idle_restart: file.idle_restart.as_ref().map_or(default.idle_restart, |x| x.value),
        loss_base: file.loss_base.as_ref().map_or(default.loss_base, |x| x.value),
        echo_prr: file.echo_prr.as_ref().map_or(default.echo_prr, |x| x.value),
        rack_rtt: file.rack_rtt.as_ref().map_or(default.rack_rtt, |x| x.value),
        count_dupacks: file.count_dupacks.as_ref().map_or(default.count_dupacks, |x| x.value),
        count_sacks: file.count_sacks.as_ref().map_or(default.count_sacks, |x| x.value),
        byte_counting: small(file.byte_counting.as_ref().map(|x| x.value.0), default.byte_counting),
        quick_acks: small(file.quick_acks.as_ref().map(|x| x.value.0), default.quick_acks),
        pacing_burst: small(file.pacing_burst.as_ref().map(|x| x.value.0), default.pacing_burst),
    })
}

/// Where the transport's values are from: those keys that `[transport]` has are the file's.
fn transport_origins(file: &TransportFile, transport: &Transport, era: Era) -> Origins {
    let (own, all) = (era.transport(), Era::default().transport());
    let mut origins = Origins::default();
    let values = transport_values(transport).into_iter().zip(transport_values(&own));
    for (((key, value), (_, of_era)), (_, default)) in values.zip(transport_values(&all)) {
        if file.has(key) {
            origins.set(key, Origin::File);
        } else if value != of_era {
            let capped = key == "rto_granularity" && transport.rto_granularity == transport.min_rto;
            origins.set(key, Origin::AtMost(if capped { "min_rto" } else { "max_rto" }));
        } else if of_era != default {
            origins.set(key, Origin::Era(era.name()));
        }
    }
    origins
}

const MAX_SAMPLES: u64 = 100_000_000;

fn probe(
    file: &File,
    duration: Span,
    shape: &Shape,
    (links, groups): (&[Link], &[Group]),
) -> Result<Probe, Fault> {
    let table = &file.probe.value;
    let every = match table.every.value.0 {
        Every::Change => Every::Change,
        Every::Span(span) => {
            let every = At { value: span, spot: table.every.spot.clone() };
            let every = positive(&every, MAX_DURATION, "4800h (200 days)")?;
            let sampled = table.series.as_ref().is_some_and(|list| !list.value.is_empty());
            if sampled && duration.0 / every.0 > MAX_SAMPLES {
                let text = format!("more than {MAX_SAMPLES} samples in a run");
                return Err(table.every.spot.rule(text));
            }
            Every::Span(every)
        }
    };
    let mut series = Vec::new();
    for one in table.series.as_ref().map_or(&[][..], |list| &list.value) {
        if series.contains(&one.value) {
            return Err(one.spot.rule(format!("\"{}\" is listed twice", one.value.name())));
        }
        if every == Every::Change && !one.value.on_change() {
            let text =
                "is a mean over time and does not change at an instant; give probe.every a time";
            return Err(one.spot.rule(format!("\"{}\" {text}", one.value.name())));
        }
        series.push(one.value);
    }
    let link_names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
    let group_names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
    // A group that stands for one on each link can be named as it stands in the file.
    let parts = |name: &str| -> Vec<String> {
        let entry = file.flows.value.0.iter().find(|(own, _)| own == name);
        let path = entry.and_then(|(_, entry)| entry.value.path.as_ref());
        match (shape, path.map(|path| &path.value)) {
            (Shape::ParkingLot { n, .. }, Some(Way::Each)) => {
                (1..=*n).map(|i| format!("{name}.{i}")).collect()
            }
            _ => Vec::new(),
        }
    };
    Ok(Probe {
        series,
        every,
        groups: chosen(table.flows.as_ref(), "group", &group_names, parts)?,
        links: chosen(table.links.as_ref(), "link", &link_names, |_| Vec::new())?,
    })
}

/// The numbers of the things that `list` names, in ascending order; `parts` are the names that one
/// which nothing has stands for.
fn chosen(
    list: Option<&At<Vec<At<String>>>>,
    what: &'static str,
    names: &[&str],
    parts: impl Fn(&str) -> Vec<String>,
) -> Result<Option<Vec<usize>>, Fault> {
    let Some(list) = list else { return Ok(None) };
    let numbers: BTreeMap<&str, usize> =
        names.iter().zip(0..).map(|(&name, i)| (name, i)).collect();
    let mut found = BTreeSet::new();
    for one in &list.value {
        let name = one.value.as_str();
        let own: Vec<usize> = match numbers.get(name) {
            Some(&number) => vec![number],
            None => parts(name).iter().filter_map(|name| numbers.get(&**name).copied()).collect(),
        };
        if own.is_empty() {
            let (name, allowed) = (name.to_owned(), names.iter().map(|&n| n.to_owned()).collect());
            return Err(one.spot.fault(Problem::Name { what, name, allowed }));
        }
        for number in own {
            if !found.insert(number) {
                return Err(one.spot.rule(format!("\"{}\" is listed twice", names[number])));
            }
        }
    }
    Ok(Some(found.into_iter().collect()))
}

/// The spot of the `schema` key, for the message when it is missing.
pub(crate) fn schema_missing() -> Fault {
    let text = "missing key; a scenario file begins with schema = 1";
    Spot::root().child("schema").rule(text)
}

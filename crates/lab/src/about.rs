//! What a run is, and what came of it, as JSON.

use net::Outcome;
use results::Summary;
use scenario::{Every, Link, Of, Probe, Scenario, Series};
use serde_json::{Value as Json, json};
use units::Span;

use crate::fluid_curves;

/// What the lab records: inner variables only where flows are few.
const FEW_FLOWS: u64 = 120;

/// Samples in a run, unless that makes too many rows.
const SAMPLES: u64 = 1200;

/// How large a run is about to be, without a run.
pub struct Budget {
    /// Packets times links crossed, if every link that data crosses were busy all the time with
    /// full packets.
    packet_hops: f64,
    /// Time between two samples.
    every: Span,
    /// Values recorded.
    rows: f64,
}

/// The scenario with the lab's probes, which record at most `rows` values.
pub fn probed(written: &Scenario, rows: u32) -> (&'static Scenario, Budget) {
    let flows = written.flow_count();
    let links = written.links.len() as u64;
    let wanted = |series: &Series| match series {
        Series::Losses | Series::Window => false,
        Series::Sender | Series::Srtt | Series::Rate => flows <= FEW_FLOWS,
        _ => true,
    };
    let series: Vec<Series> = Series::ALL.into_iter().filter(wanted).collect();
    // Inner variables are half a dozen.
    let of = |of: Of| series.iter().filter(|one| one.of() == of).count() as u64 + 5;
    let at_once = of(Of::Flow) * flows.max(1) + of(Of::Link) * links;
    let samples = SAMPLES.min(u64::from(rows) / at_once.max(1)).max(20);
    let every = nice(Span((written.duration.0 / samples).max(1)));
    let rows = at_once as f64 * written.duration.0 as f64 / every.0 as f64;
    let probe = Probe { series, every: Every::Span(every), groups: None, links: None };
    let scenario = Scenario { probe, ..written.clone() };
    let budget = Budget { packet_hops: hops(written), every, rows };
    (Box::leak(Box::new(scenario)), budget)
}

/// The next longer of 1, 2 and 5 times a power of ten.
fn nice(least: Span) -> Span {
    let mut decade = 1;
    loop {
        if let Some(factor) = [1, 2, 5].into_iter().find(|factor| factor * decade >= least.0) {
            return Span(factor * decade);
        }
        decade *= 10;
    }
}

/// A packet crosses its link and two access links, and so does its ACK.
fn hops(scenario: &Scenario) -> f64 {
    let crossed = |number: usize| scenario.groups.iter().any(|group| group.path.contains(&number));
    let links = scenario.links.iter().enumerate().filter(|(number, _)| crossed(*number));
    let bits = |link: &Link| link.rate.as_bps() * scenario.duration.as_secs();
    let packet_bits = 8.0 * f64::from(scenario.packets.data_bytes);
    6.0 * links.map(|(_, link)| bits(link) / packet_bits).sum::<f64>()
}

/// Network, flows, name and size of a run.
pub fn described(scenario: &Scenario, rep: u64, budget: &Budget, warnings: &[String]) -> String {
    let mut first_flow = 0;
    let mut groups = Vec::new();
    for group in &scenario.groups {
        groups.push(json!({
            "name": group.name,
            "protocol": group.protocol.name,
            "kind": group.protocol.kind,
            "count": group.count,
            "arriving": group.arrivals.is_some(),
            "first_flow": first_flow,
            "path": group.path,
            "reverse": group.reverse,
            "rtt_s": scenario.rtt(group, 0).as_secs(),
            "start_s": group.start.latest(group.count).as_secs(),
        }));
        first_flow += group.count;
    }
    let prototypes: Vec<&str> = net::prototypes(scenario).iter().map(|p| p.class).collect();
    let parts = net::parts(scenario);
    json!({
        "name": scenario.name,
        "duration_s": scenario.duration.as_secs(),
        "warmup_s": scenario.warmup.as_secs(),
        "seed": scenario.seed,
        "rep": rep,
        "bottleneck": scenario.bottleneck,
        "data_bytes": scenario.packets.data_bytes,
        "links": scenario.links.iter().map(link).collect::<Vec<_>>(),
        "groups": groups,
        "flows": scenario.flow_count(),
        "prototypes": prototypes,
        "warnings": warnings,
        "parts": parts,
        "identity": scenario::identity(scenario, &parts, scenario.seed, rep),
        "fluid": fluid::check(&fluid_curves::formed(scenario)).map_or_else(|e| Json::from(e.to_string()), |()| Json::Null),
        "every_s": budget.every.as_secs(),
        "packet_hops_about": budget.packet_hops,
        "rows_about": budget.rows,
    })
    .to_string()
}

fn link(link: &Link) -> Json {
    let (bytes, packets) = match link.limit {
        cc::roles::Limit::Bytes(bytes) => (Some(bytes), None),
        cc::roles::Limit::Packets(packets) => (None, Some(packets)),
    };
    json!({
        "name": link.name,
        "from": link.from,
        "to": link.to,
        "rate_bps": link.rate.as_bps(),
        "owd_s": link.owd.as_secs(),
        "limit_bytes": bytes,
        "limit_pkts": packets,
        "queue": link.queue.policy.kind,
        "feedback": link.queue.feedback.as_ref().map(|part| part.kind),
    })
}

/// What came of a run.
pub fn result(scenario: &Scenario, outcome: &Outcome) -> String {
    let measured = scenario.warmup.as_secs()..outcome.end.now.as_secs();
    let tables = &outcome.tables;
    json!({
        "fingerprint": format!("{:032x}", outcome.fingerprint),
        "complete": outcome.complete,
        "simulated_s": outcome.end.now.as_secs(),
        "events": outcome.end.events,
        "packet_hops": outcome.end.packet_hops,
        "warnings": outcome.warnings,
        "summary": Summary::of(tables, measured, scenario.bottleneck()),
        "flows": tables.flows,
        "links": tables.links,
        "groups": tables.groups,
    })
    .to_string()
}

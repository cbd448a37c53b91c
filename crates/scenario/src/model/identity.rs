//! The name of a run: equal for equal runs, whatever the file looked like.

use std::fmt::Write;

use cc::params::{Spec, Value};
use cc::roles::Limit;
use units::Span;

use crate::model::line::Device;
use crate::model::parts::Parts;
use crate::model::{
    AccEcn, Access, Crossing, Group, IdleRestart, Island, Link, LossBase, Probe, Protocol, RackRtt,
    RouterPart, Scenario, Start, Undo,
};

/// The blake3 hash, in hexadecimal digits, of the scenario in integer units, the versions of the
/// parts that run it, the seed and the replication. `scenario.seed` does not enter: `seed` is what
/// is run.
pub fn identity(scenario: &Scenario, parts: &Parts, seed: u64, rep: u64) -> String {
    let mut text = Lines(String::new());
    text.line("parts", &[parts]);
    text.line("run", &[&seed, &rep]);
    scenario_lines(&mut text, scenario);
    blake3::hash(text.0.as_bytes()).to_hex().to_string()
}

/// Lines of words; a text is written with its quotes so that no two scenarios share their lines.
struct Lines(String);

impl Lines {
    fn line(&mut self, name: &str, words: &[&dyn std::fmt::Debug]) {
        self.0.push_str(name);
        for word in words {
            // Writing to a String cannot fail.
            let _ = write!(self.0, " {word:?}");
        }
        self.0.push('\n');
    }
}

fn scenario_lines(text: &mut Lines, scenario: &Scenario) {
    text.line("name", &[&scenario.name]);
    text.line("time_ps", &[&scenario.duration.0, &scenario.warmup.0]);
    text.line("packets_bytes", &[&scenario.packets.data_bytes, &scenario.packets.ack_bytes]);
    let transport = &scenario.transport;
    text.line("rto_ps", &[&transport.min_rto.0, &transport.max_rto.0, &transport.initial_rto.0]);
    text.line("rto_granularity_ps", &[&transport.rto_granularity.0]);
    text.line("rttvar", &[&transport.rttvar.name()]);
    text.line("initial_window_bits", &[&transport.initial_window.to_bits()]);
    text.line("dup_thresh", &[&transport.dup_thresh]);
    text.line("delayed_ack_ps", &[&transport.delayed_ack.map(|delay| delay.0)]);
    text.line("limited_transmit", &[&transport.limited_transmit]);
    // As with `LATER`: runs without it have the name they had.
    if transport.accecn != AccEcn::Off {
        text.line("accecn", &[&transport.accecn.name()]);
    }
    if transport.undo != Undo::Off {
        text.line("undo", &[&transport.undo.name()]);
    }
    if transport.idle_restart != IdleRestart::Off {
        text.line("idle_restart", &[&transport.idle_restart.name()]);
    }
    if transport.loss_base != LossBase::InUse {
        text.line("loss_base", &[&transport.loss_base.name()]);
    }
    if transport.rack_rtt != RackRtt::Latest {
        text.line("rack_rtt", &[&transport.rack_rtt.name()]);
    }
    for (name, on) in [
        ("echo_prr", transport.echo_prr),
        ("count_dupacks", transport.count_dupacks),
        ("count_sacks", transport.count_sacks),
    ] {
        if on {
            text.line(name, &[]);
        }
    }
    if transport.byte_counting != 0 {
        text.line("byte_counting", &[&transport.byte_counting]);
    }
    if transport.quick_acks != 0 {
        text.line("quick_acks", &[&transport.quick_acks]);
    }
    if transport.pacing_burst != 1 {
        text.line("pacing_burst", &[&transport.pacing_burst]);
    }
    for link in &scenario.links {
        link_lines(text, link);
    }
    for group in &scenario.groups {
        group_lines(text, group);
    }
    for island in &scenario.islands {
        island_lines(text, island);
    }
    let series: Vec<&str> = scenario.probe.series.iter().map(|series| series.name()).collect();
    let Probe { every, groups, links, .. } = &scenario.probe;
    text.line("probe", &[&series, every, groups, links]);
}

fn link_lines(text: &mut Lines, link: &Link) {
    text.line("link", &[&link.name, &link.from, &link.to]);
    text.line("rate_bps", &[&link.rate.0]);
    text.line("owd_ps", &[&link.owd.0]);
    match link.limit {
        Limit::Bytes(bytes) => text.line("buffer_bytes", &[&bytes]),
        Limit::Packets(packets) => text.line("buffer_packets", &[&packets]),
    }
    text.line("line", &[&link.line]);
    if let Some(Device { packets, bql }) = link.device {
        text.line("device", &[&packets, &bql.map(|hold| hold.0)]);
    }
    text.line("queue", &[&link.queue.name]);
    for part in [Some(&link.queue.policy), link.queue.feedback.as_ref()].into_iter().flatten() {
        part_lines(text, part);
    }
}

fn part_lines(text: &mut Lines, part: &RouterPart) {
    text.line("part", &[&part.kind]);
    part.values().for_each(|entry| parameter_line(text, part.kind, entry));
}

fn group_lines(text: &mut Lines, group: &Group) {
    text.line("group", &[&group.name, &group.count, &group.path, &group.reverse]);
    protocol_lines(text, &group.protocol);
    for Access { rate, source_owd, sink_owd } in &group.access {
        text.line("access_bps_ps", &[&rate.0, &source_owd.0, &sink_owd.0]);
    }
    match &group.start {
        Start::At(at) => text.line("start_at_ps", &[&at.0]),
        Start::Uniform(low, high) => text.line("start_uniform_ps", &[&low.0, &high.0]),
        Start::Every { first, gap } => text.line("start_every_ps", &[&first.0, &gap.0]),
        Start::List(list) => {
            text.line("start_list_ps", &[&list.iter().map(|at| at.0).collect::<Vec<u64>>()]);
        }
    }
    text.line("stop_ps", &[&group.stop.map(|stop| stop.0)]);
    // Debug writes numbers so that they read back to the same bits.
    text.line("traffic", &[&group.size, &group.arrivals, &group.app]);
}

fn island_lines(text: &mut Lines, island: &Island) {
    let Island { name, links, protocol, outer_bytes, limit, native, crossings } = island;
    text.line("island", &[name, links, native, outer_bytes, limit]);
    protocol_lines(text, protocol);
    for Crossing { path, feedback } in crossings {
        text.line("crossing", &[path, feedback]);
    }
}

fn protocol_lines(text: &mut Lines, protocol: &Protocol) {
    text.line("protocol", &[&protocol.name, &protocol.kind, &protocol.recovery.name()]);
    protocol.values().for_each(|entry| parameter_line(text, protocol.kind, entry));
}

/// Parameters that came after runs had been named, each by the protocol or queue that it is of,
/// with the default that does what those runs did. Where it has that it is not written, so that
/// their names stand. A parameter of that name elsewhere may have been there from the start.
const LATER: [(&str, &str, Value); 16] = [
    ("abc", "mu_window", Value::Span(Span::from_millis(100))),
    ("bbr3", "ect1", Value::Flag(false)),
    ("codel", "ce_threshold", Value::Span(Span::ZERO)),
    ("codel", "newton", Value::Flag(false)),
    ("copa", "velocity", Value::Choice("paper")),
    ("cubic", "update", Value::Choice("rfc9438")),
    ("dctcp", "ce_acks", Value::Choice("off")),
    ("dctcp", "cwr", Value::Flag(false)),
    ("dctcp", "ect1", Value::Flag(false)),
    ("dctcp", "hold", Value::Flag(false)),
    ("dctcp", "update", Value::Choice("rfc8257")),
    ("fq-codel", "link_bytes", Value::Flag(false)),
    ("fq-codel", "newton", Value::Flag(false)),
    ("hstcp", "table", Value::Flag(false)),
    ("rcp", "least_rate", Value::Number(0.0)),
    ("step", "k_ratio", Value::Number(0.0)),
];

fn parameter_line(text: &mut Lines, kind: &str, (spec, value): (&Spec, Value)) {
    if LATER.contains(&(kind, spec.name, value)) {
        return;
    }
    match value {
        Value::Flag(flag) => text.line(spec.name, &[&flag]),
        Value::Count(count) => text.line(spec.name, &[&count]),
        Value::Number(number) => text.line(spec.name, &[&number.to_bits()]),
        Value::Span(span) => text.line(spec.name, &[&span.0]),
        Value::Choice(word) | Value::Text(word) => text.line(spec.name, &[&word]),
    }
}

#[cfg(test)]
mod tests {
    use cc::params::Kind;
    use cc::registry::{AnyRouterParams, AnySenderParams};

    use super::*;

    #[test]
    fn later_parameters_are_there_and_off() {
        for (kind, name, default) in LATER {
            let sender = AnySenderParams::named(kind).and_then(|params| params.get(name));
            let router = AnyRouterParams::named(kind).and_then(|params| params.get(name));
            assert_eq!(sender.or(router), Some(default), "{kind} {name}");
        }
    }

    #[test]
    fn a_parameter_called_like_a_later_one_of_another_part_is_written() {
        let spec = Spec { name: "table", kind: Kind::Flag, low: 0.0, high: 0.0, doc: "" };
        let lines = |kind, on| {
            let mut text = Lines(String::new());
            parameter_line(&mut text, kind, (&spec, Value::Flag(on)));
            text.0
        };
        assert_eq!(lines("hstcp", false), "");
        assert_eq!(lines("hstcp", true), "table true\n");
        assert_eq!(lines("bbr3", false), "table false\n");
    }
}

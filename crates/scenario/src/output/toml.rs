//! The resolved scenario as a scenario file again, with every default visible.

use std::fmt::Write;

use cc::params::{Spec, Value};
use cc::roles::Limit;
use units::{Rate, Span};

use crate::file::fluid::Fluid;
use crate::file::linux::Ip;
use crate::file::sources::{gap_text, size_text};
use crate::model::era::Origins;
use crate::model::line::{Capacity, DelayLaw, Line, Loss, LossModel};
use crate::model::traffic::{App, Size};
use crate::model::{
    Every, Group, Island, Link, Protocol, Queue, RouterPart, Scenario, Start, Transport,
};
use crate::values::distributions::{law_text, percent};
use crate::values::quantity::{BYTES, RATE, TIME};

impl Scenario {
    /// The scenario as a file in the general form: named links, listed paths, explicit access hops.
    /// It parses to the same scenario.
    pub fn to_toml(&self) -> String {
        self.written(false)
    }

    /// The same with a comment at each value of the transport, of protocols and of queues that says
    /// where it is from: the file, a preset, the era, or the papers' default.
    pub fn to_toml_with_origins(&self) -> String {
        self.written(true)
    }

    fn written(&self, origins: bool) -> String {
        let mut out = Out { text: String::new(), origins };
        out.key("schema", "1");
        out.key("name", &quoted(&self.name));
        out.key("duration", &span(self.duration));
        out.key("warmup", &span(self.warmup));
        out.key("seed", &self.seed.to_string());
        if let Some(link) = self.bottleneck() {
            out.key("bottleneck", &quoted(link));
        }
        out.table("packets", None);
        out.key("data", &bytes(u64::from(self.packets.data_bytes)));
        out.key("ack", &bytes(u64::from(self.packets.ack_bytes)));
        transport(&mut out, &self.transport, &self.transport_origins);
        for link in &self.links {
            write_link(&mut out, link);
        }
        for group in &self.groups {
            write_group(&mut out, group, (&self.groups, &self.links));
        }
        for island in &self.islands {
            self.write_island(&mut out, island);
        }
        self.write_definitions(&mut out);
        out.table("probe", None);
        out.key("series", &list(self.probe.series.iter().map(|series| quoted(series.name()))));
        let every = match self.probe.every {
            Every::Span(every) => span(every),
            Every::Change => quoted("change"),
        };
        out.key("every", &every);
        let names = |numbers: &[usize], name: &dyn Fn(usize) -> String| {
            list(numbers.iter().map(|&number| quoted(&name(number))))
        };
        if let Some(groups) = &self.probe.groups {
            out.key("flows", &names(groups, &|i| self.groups[i].name.clone()));
        }
        if let Some(links) = &self.probe.links {
            out.key("links", &names(links, &|i| self.links[i].name.clone()));
        }
        write_fluid(&mut out, &self.fluid);
        // As before there was a choice.
        if self.ip == Ip::V6 {
            out.table("linux", None);
            out.key("ip", "6");
        }
        out.text
    }

    fn write_island(&self, out: &mut Out, island: &Island) {
        let links = island.links.iter().map(|&link| quoted(&self.links[link].name));
        out.table("islands", Some(&island.name));
        out.key("links", &list(links));
        out.key("protocol", &quoted(&island.protocol.name));
        out.key("outer", &bytes(u64::from(island.outer_bytes)));
        let buffer = match island.limit {
            Limit::Bytes(limit) => bytes(limit),
            Limit::Packets(limit) => quoted(&format!("{limit}pkt")),
        };
        out.key("buffer", &buffer);
        if !island.native.is_empty() {
            let names = island.native.iter().map(|&group| quoted(&self.groups[group].name));
            out.key("native", &list(names));
        }
    }

    /// Every queue and protocol once.
    fn write_definitions(&self, out: &mut Out) {
        let mut seen: Vec<&str> = Vec::new();
        for queue in self.links.iter().map(|link| &link.queue) {
            if !seen.contains(&queue.name.as_str()) {
                seen.push(&queue.name);
                write_queue(out, queue);
            }
        }
        seen.clear();
        let islands = self.islands.iter().map(|island| &island.protocol);
        for protocol in self.groups.iter().map(|group| &group.protocol).chain(islands) {
            if !seen.contains(&protocol.name.as_str()) {
                seen.push(&protocol.name);
                write_protocol(out, protocol);
            }
        }
    }
}

struct Out {
    text: String,
    /// Are they told?
    origins: bool,
}

impl Out {
    fn key(&mut self, key: &str, value: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "{key} = {value}");
    }

    /// The same of a value whose origin is known.
    fn key_from(&mut self, key: &str, value: &str, origins: &Origins) {
        match self.origins {
            true => self.key(key, &format!("{value} # {}", origins.told(key))),
            false => self.key(key, value),
        }
    }

    fn table(&mut self, table: &str, name: Option<&str>) {
        let name = name.map_or_else(String::new, |name| format!(".{}", key_name(name)));
        let _ = writeln!(self.text, "\n[{table}{name}]");
    }
}

fn write_fluid(out: &mut Out, fluid: &Fluid) {
    out.table("fluid", None);
    out.key("step", &fluid.step.map_or(quoted("auto"), span));
    // The shortest text that reads back as the same bits; TOML wants a dot or an exponent.
    out.key("tolerance", &format!("{:?}", fluid.tolerance));
    out.key("vcp", &quoted(fluid.vcp.name()));
    out.key("xcp", &quoted(fluid.xcp.name()));
    out.key("sending", &quoted(fluid.sending.name()));
}

fn transport(out: &mut Out, transport: &Transport, origins: &Origins) {
    out.table("transport", None);
    for (key, value) in transport_values(transport) {
        out.key_from(key, &value, origins);
    }
}

/// The transport's keys with their values as they stand in a file.
pub(crate) fn transport_values(transport: &Transport) -> [(&'static str, String); 20] {
    [
        ("min_rto", span(transport.min_rto)),
        ("max_rto", span(transport.max_rto)),
        ("initial_rto", span(transport.initial_rto)),
        ("rto_granularity", span(transport.rto_granularity)),
        ("rttvar", quoted(transport.rttvar.name())),
        ("initial_window", quoted(&format!("{:?}pkt", transport.initial_window))),
        ("dup_thresh", transport.dup_thresh.to_string()),
        ("delayed_ack", transport.delayed_ack.map_or(quoted("off"), span)),
        ("limited_transmit", transport.limited_transmit.to_string()),
        ("accecn", quoted(transport.accecn.name())),
        ("undo", quoted(transport.undo.name())),
        ("idle_restart", quoted(transport.idle_restart.name())),
        ("loss_base", quoted(transport.loss_base.name())),
        ("echo_prr", transport.echo_prr.to_string()),
        ("rack_rtt", quoted(transport.rack_rtt.name())),
        ("count_dupacks", transport.count_dupacks.to_string()),
        ("count_sacks", transport.count_sacks.to_string()),
        ("byte_counting", transport.byte_counting.to_string()),
        ("quick_acks", transport.quick_acks.to_string()),
        ("pacing_burst", transport.pacing_burst.to_string()),
    ]
}

fn write_link(out: &mut Out, link: &Link) {
    out.table("links", Some(&link.name));
    out.key("from", &quoted(&link.from));
    out.key("to", &quoted(&link.to));
    // A trace has its own.
    if !matches!(link.line.capacity, Capacity::Trace(_)) {
        out.key("rate", &rate(link.rate));
    }
    out.key("owd", &span(link.owd));
    let limit = match link.limit {
        Limit::Bytes(limit) => bytes(limit),
        Limit::Packets(limit) => quoted(&format!("{limit}pkt")),
    };
    out.key("buffer", &limit);
    out.key("queue", &quoted(&link.queue.name));
    write_line(out, &link.line);
    if let Some(device) = &link.device {
        out.key("device_packets", &device.packets.to_string());
        if let Some(hold) = device.bql {
            out.key("device_bql", &span(hold));
        }
    }
}

fn write_line(out: &mut Out, line: &Line) {
    match &line.capacity {
        Capacity::Constant => {}
        Capacity::Steps(steps) => {
            let step = |step: &crate::model::line::Step| {
                format!("{{ at = {}, rate = {} }}", span(step.at), rate(step.rate))
            };
            out.key("steps", &list(steps.iter().map(step)));
        }
        Capacity::Trace(trace) => {
            out.key("trace", &lines(trace.opportunities_ms.iter().map(u32::to_string)));
        }
    }
    if !line.outages.is_empty() {
        let pairs = line.outages.iter().map(|o| format!("[{}, {}]", span(o.from), span(o.to)));
        out.key("down", &list(pairs));
        out.key("down_drops", &line.outage_drops.to_string());
    }
    if let Some(loss) = &line.loss {
        out.key("loss", &loss_table(loss));
    }
    if let Some(jitter) = &line.jitter {
        let (delay, in_order) = (law(&jitter.extra), jitter.in_order);
        out.key("jitter", &format!("{{ delay = {delay}, in_order = {in_order} }}"));
    }
    if let Some(reorder) = &line.reorder {
        let (p, delay) = (share(reorder.p), span(reorder.extra));
        out.key("reorder", &format!("{{ p = {p}, delay = {delay} }}"));
    }
}

fn loss_table(loss: &Loss) -> String {
    let model = match &loss.model {
        LossModel::Random(p) => format!("kind = \"random\", p = {}", share(*p)),
        LossModel::GilbertElliott { to_bad, to_good, loss_good, loss_bad } => format!(
            "kind = \"gilbert-elliott\", to_bad = {}, to_good = {}, loss_good = {}, loss_bad = {}",
            share(*to_bad),
            share(*to_good),
            share(*loss_good),
            share(*loss_bad)
        ),
        LossModel::Every(n) => format!("kind = \"every\", n = {n}"),
        LossModel::List(packets) => {
            format!("kind = \"list\", packets = {}", list(packets.iter().map(u64::to_string)))
        }
    };
    format!("{{ {model}, data_only = {} }}", loss.data_only)
}

fn write_group(out: &mut Out, group: &Group, (groups, links): (&[Group], &[Link])) {
    let names = |path: &[usize]| list(path.iter().map(|&link| quoted(&links[link].name)));
    out.table("flows", Some(&group.name));
    out.key("protocol", &quoted(&group.protocol.name));
    match &group.arrivals {
        None => out.key("count", &group.count.to_string()),
        Some(arrivals) => {
            out.key("arrivals", &quoted(&gap_text(&arrivals.gap)));
            if let Some(most) = arrivals.most {
                out.key("count", &most.to_string());
            }
        }
    }
    out.key("path", &names(&group.path));
    out.key("reverse_path", &names(&group.reverse));
    out.key("access_rate", &spread(group.access.iter().map(|access| rate(access.rate))));
    out.key("source_owd", &spread(group.access.iter().map(|access| span(access.source_owd))));
    out.key("sink_owd", &spread(group.access.iter().map(|access| span(access.sink_owd))));
    out.key("start", &start(&group.start));
    if let Some(stop) = group.stop {
        out.key("stop", &span(stop));
    }
    let size = match &group.size {
        Size::Unlimited => quoted("unlimited"),
        Size::Bytes(size) => bytes(*size),
        Size::Drawn(law) => size_text(law),
    };
    out.key("size", &size);
    match &group.app {
        App::Greedy => {}
        App::Rate(offered) => out.key("rate", &rate(*offered)),
        App::Poisson(offered) => {
            out.key("rate", &rate(*offered));
            out.key("gaps", &quoted("poisson"));
        }
        App::OnOff { rate: offered, on, off } => {
            out.key("rate", &rate(*offered));
            out.key("on", &law(on));
            out.key("off", &law(off));
        }
        App::Layers { sums, every } => {
            let mut below = Rate(0);
            let own = sums.iter().map_while(|&sum| {
                let layer = Rate(sum.0 - below.0);
                below = sum;
                (layer.0 > 0).then(|| rate(layer))
            });
            out.key("layers", &list(own));
            out.key("layer_time", &span(*every));
        }
        App::Relay { of, buffer } => {
            out.key("relay", &quoted(&groups[*of].name));
            if let Some(packets) = buffer {
                out.key("relay_buffer", &quoted(&format!("{packets}pkt")));
            }
        }
    }
}

fn start(start: &Start) -> String {
    let text = |span: Span| TIME.exact(span.0);
    match start {
        Start::At(at) => span(*at),
        Start::Uniform(low, high) => quoted(&format!("uniform({}, {})", text(*low), text(*high))),
        Start::Every { first, gap } => quoted(&format!("every({}, {})", text(*gap), text(*first))),
        Start::List(starts) => list(starts.iter().map(|&at| span(at))),
    }
}

fn write_queue(out: &mut Out, queue: &Queue) {
    out.table("queues", Some(&queue.name));
    let top = queue.feedback.as_ref().unwrap_or(&queue.policy);
    out.key("kind", &quoted(top.kind));
    if queue.feedback.is_some() {
        out.key("over", &inline(&queue.policy));
    }
    for (spec, value) in top.values() {
        out.key_from(spec.name, &parameter(value), &top.origins);
    }
}

fn inline(part: &RouterPart) -> String {
    let kind = format!("kind = {}", quoted(part.kind));
    let entry = |(spec, value): (&Spec, Value)| format!(", {} = {}", spec.name, parameter(value));
    format!("{{ {kind}{} }}", part.values().map(entry).collect::<String>())
}

fn write_protocol(out: &mut Out, protocol: &Protocol) {
    out.table("protocols", Some(&protocol.name));
    out.key("kind", &quoted(protocol.kind));
    out.key_from("recovery", &quoted(protocol.recovery.name()), &protocol.origins);
    for (spec, value) in protocol.values() {
        out.key_from(spec.name, &parameter(value), &protocol.origins);
    }
}

/// The value of a parameter as TOML.
pub(crate) fn parameter(value: Value) -> String {
    match value {
        Value::Flag(flag) => flag.to_string(),
        Value::Count(count) => count.to_string(),
        // The shortest text that reads back as the same bits.
        Value::Number(number) => format!("{number:?}"),
        Value::Span(time) => span(time),
        Value::Choice(word) | Value::Text(word) => quoted(word),
    }
}

fn span(span: Span) -> String {
    quoted(&TIME.exact(span.0))
}

fn rate(rate: Rate) -> String {
    quoted(&RATE.exact(rate.0))
}

fn bytes(bytes: u64) -> String {
    quoted(&BYTES.exact(bytes))
}

fn share(part: f64) -> String {
    quoted(&percent(part))
}

fn law(law: &DelayLaw) -> String {
    quoted(&law_text(law))
}

/// A long list over several lines.
fn lines(items: impl Iterator<Item = String>) -> String {
    let mut text = String::from("[");
    for (i, item) in items.enumerate() {
        text.push_str(if i % 16 == 0 { "\n  " } else { " " });
        text.push_str(&item);
        text.push(',');
    }
    text.push_str("\n]");
    text
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

/// One value if they are all the same, else a list.
fn spread(mut items: impl Iterator<Item = String> + Clone) -> String {
    let all = items.clone();
    let first = items.next().unwrap_or_default();
    if items.all(|item| item == first) { first } else { list(all) }
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

fn key_name(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.chars().all(bare) { name.to_owned() } else { quoted(name) }
}

//! What of a scenario the linux engine needs to know, and what it cannot do.

use cc::foreign::Nobody;
use cc::params::Value;
use cc::registry::{AnySenderParams, Recovery};
use cc::roles::{EcnUse, Limit, SenderContext};
use scenario::{App, Every, Group, Ip, Of, Protocol, Scenario, Series};
use serde::Serialize;
use units::random::Stream;

/// The smallest full packets that IPv4 or IPv6, TCP and the options leave room in [bytes].
const MIN_PACKET: u32 = 128;
const MIN_PACKET_V6: u32 = MIN_PACKET + 20;
/// The largest packet of a device.
const MAX_PACKET: u32 = 65_535;
const MAX_COUNT: u32 = 40_000;

/// A scenario for the linux engine.
#[derive(Clone, Debug, Serialize)]
pub struct Description {
    /// The resolved scenario, which stands alone.
    pub toml: String,
    /// The run's name.
    pub name: String,
    /// What the engine cannot do, each with its key.
    pub unsupported: Vec<(String, String)>,
    /// The experiment.
    pub seed: u64,
    /// How long it runs.
    pub duration_s: f64,
    /// When plain columns begin to count.
    pub warmup_s: f64,
    /// The version of IP: 4 or 6.
    pub ip: u8,
    /// Size of a full data packet [bytes].
    pub packet_bytes: u32,
    /// Window at the start [packets].
    pub initial_window: f64,
    /// Least retransmission timeout.
    pub min_rto_s: f64,
    /// May ACKs be delayed?
    pub delayed_acks: bool,
    /// The longest base RTT.
    pub max_rtt_s: f64,
    /// The largest product of a group's bottleneck and RTT, and its buffers [bytes].
    pub window_bytes: u64,
    /// The time between samples of the series.
    pub every_s: Option<f64>,
    /// The flows' series.
    pub series: Vec<&'static str>,
    /// The names of the links.
    pub links: Vec<String>,
    /// The groups.
    pub groups: Vec<GroupOf>,
    /// All flows, in the order of their numbers.
    pub flows: Vec<FlowOf>,
}

/// A group of flows.
#[derive(Clone, Debug, Serialize)]
pub struct GroupOf {
    /// Its name.
    pub name: String,
    /// Its protocol's kind.
    pub protocol: &'static str,
    /// The kernel's congestion control, if it has one that is meant by this kind.
    pub kernel: Option<&'static str>,
    /// Is the protocol one of those whose end hosts are eBPF programs?
    pub explicit: bool,
    /// The programs of its end hosts, if so.
    pub end_host: Option<&'static str>,
    /// Are lost segments found by selective acknowledgements?
    pub sack: bool,
    /// How it uses the ECN bits: none, classic or codes.
    pub ecn: &'static str,
    /// The protocol's parameters that are not the defaults, with their values as text; without
    /// `pacing`.
    pub params: Vec<(String, String)>,
    /// Windows per RTT at which packets are spaced, in per cent; 0: not at all. Of end hosts in
    /// eBPF only.
    pub pacing_percent: Option<u32>,
    /// How many flows.
    pub count: u32,
}

/// A flow.
#[derive(Clone, Debug, Serialize)]
pub struct FlowOf {
    /// The number of its group.
    pub group: usize,
    /// Its number in the group.
    pub number: u32,
    /// When it starts.
    pub start_s: f64,
    /// When it stops.
    pub stop_s: Option<f64>,
    /// What it sends [bytes on the wire].
    pub wire_bytes: Option<u64>,
    /// Is it recorded?
    pub sampled: bool,
}

/// The kind of a protocol or a queue that is a Python class.
const PROTOTYPE: &str = "python";
/// Protocols whose end hosts are eBPF programs.
pub const EXPLICIT: [&str; 5] = ["vcp", "dpcp", "mlcp", "xcp", "ixcp"];

/// The kernel's name of what a protocol of the registry is.
pub fn kernel_name(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "reno" | "newreno" | "sack" => "reno",
        "cubic" => "cubic",
        "bbr" => "bbr",
        "bic" => "bic",
        "vegas" => "vegas",
        "westwood" => "westwood",
        "htcp" => "htcp",
        "hstcp" => "highspeed",
        "scalable" => "scalable",
        "illinois" => "illinois",
        "dctcp" => "dctcp",
        _ => return None,
    })
}

/// What the linux engine needs of a scenario.
pub fn describe(scenario: &Scenario, rep: u64) -> Description {
    let groups: Vec<GroupOf> =
        scenario.groups.iter().map(|group| group_of(scenario, group)).collect();
    let rtts = scenario
        .groups
        .iter()
        .flat_map(|group| (0..group.count.max(1)).map(move |i| scenario.rtt(group, i).as_secs()));
    let every_s = match scenario.probe.every {
        Every::Span(every) if !scenario.probe.series.is_empty() => Some(every.as_secs()),
        _ => None,
    };
    let of_flows = |series: &&Series| series.of() == Of::Flow;
    Description {
        toml: scenario.to_toml(),
        name: scenario.name.clone(),
        unsupported: unsupported(scenario),
        seed: scenario.seed,
        duration_s: scenario.duration.as_secs(),
        warmup_s: scenario.warmup.as_secs(),
        ip: if scenario.ip == Ip::V6 { 6 } else { 4 },
        packet_bytes: scenario.packets.data_bytes,
        initial_window: scenario.transport.initial_window,
        min_rto_s: scenario.transport.min_rto.as_secs(),
        delayed_acks: scenario.transport.delayed_ack.is_some(),
        max_rtt_s: rtts.fold(0.0, f64::max),
        window_bytes: scenario
            .groups
            .iter()
            .map(|group| window(scenario, group))
            .max()
            .unwrap_or(0),
        every_s,
        series: scenario.probe.series.iter().filter(of_flows).map(|series| series.name()).collect(),
        links: scenario.links.iter().map(|link| link.name.clone()).collect(),
        groups,
        flows: flows(scenario, rep),
    }
}

fn group_of(scenario: &Scenario, group: &Group) -> GroupOf {
    let context = SenderContext {
        packet_bytes: scenario.packets.data_bytes,
        initial_window: scenario.transport.initial_window,
        counting: 0,
        stream: Stream::new(0, 0, ""),
        routers: group.path.len() as u32,
        host: &Nobody,
    };
    let Protocol { kind, recovery, .. } = group.protocol;
    // A sender that no kernel has may be a prototype, which needs its host to be built.
    let has_end_host = kernel_name(kind).is_some() || EXPLICIT.contains(&kind);
    let ecn =
        if has_end_host { group.protocol.params.build(&context).0.ecn() } else { EcnUse::None };
    GroupOf {
        name: group.name.clone(),
        protocol: kind,
        kernel: kernel_name(kind),
        explicit: EXPLICIT.contains(&kind),
        end_host: EXPLICIT.into_iter().find(|name| *name == kind).map(|name| {
            if recovery == Recovery::Decoupled { decoupled(name).unwrap_or(name) } else { name }
        }),
        sack: recovery.selective() || EXPLICIT.contains(&kind),
        ecn: match ecn {
            EcnUse::None => "none",
            EcnUse::Classic => "classic",
            EcnUse::Codes(_) => "codes",
        },
        params: changed(&group.protocol).into_iter().filter(|(name, _)| name != PACING).collect(),
        // The cast is of a number from 0 to 1000.
        pacing_percent: EXPLICIT
            .contains(&kind)
            .then(|| (100.0 * pacing(&group.protocol)).round() as u32),
        count: group.count,
    }
}

/// The programs that a loss does not move, of a protocol that has others, too.
fn decoupled(kind: &str) -> Option<&'static str> {
    match kind {
        "vcp" => Some("vcp-decoupled"),
        "dpcp" => Some("dpcp-decoupled"),
        _ => None,
    }
}

/// The parameter of protocols that can space their packets.
const PACING: &str = "pacing";

/// Windows per RTT at which a protocol of the engine's own end hosts spaces packets; 0: not at all.
fn pacing(protocol: &Protocol) -> f64 {
    match protocol.params.get(PACING) {
        Some(Value::Number(windows)) => windows,
        _ => 0.0,
    }
}

/// The parameters that are not the defaults.
fn changed(protocol: &Protocol) -> Vec<(String, String)> {
    let default = AnySenderParams::named(protocol.kind);
    // DPCP's programs of decoupled recovery are those of `decoupled_loss`.
    let decoupled = protocol.kind == "dpcp" && protocol.recovery == Recovery::Decoupled;
    let differs = |name: &str, value: Value| {
        if decoupled && name == "decoupled_loss" {
            return value != Value::Flag(true);
        }
        default.as_ref().and_then(|params| params.get(name)) != Some(value)
    };
    let values = protocol.values().filter(|(spec, value)| differs(spec.name, *value));
    values.map(|(spec, value)| (spec.name.to_owned(), text(value))).collect()
}

/// Has a kernel this recovery, or an end host in eBPF?
fn kernel_recovers(recovery: Recovery) -> bool {
    use Recovery::{Dccp, None, RateHalving, Tahoe};
    !matches!(recovery, Tahoe | RateHalving | Dccp | None)
}

/// Is a parameter with this value what a kernel does, or can be told to do?
fn kernel_does(kind: &str, name: &str, value: &str) -> bool {
    // tcp_ecn is set as the protocol wants it; the kernel's CUBIC has HyStart.
    name == "ecn" || (kind, name, value) == ("cubic", "slow_start", "hystart")
}

fn text(value: Value) -> String {
    match value {
        Value::Flag(flag) => flag.to_string(),
        Value::Count(count) => count.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Span(span) => format!("{}s", span.as_secs()),
        Value::Choice(word) | Value::Text(word) => word.to_owned(),
    }
}

/// What one flow of a group may have under way [bytes].
fn window(scenario: &Scenario, group: &Group) -> u64 {
    let links = || group.path.iter().map(|&link| &scenario.links[link]);
    let rate = links().map(|link| link.rate.0).min().unwrap_or(0);
    let rtt = (0..group.count.max(1)).map(|i| scenario.rtt(group, i).as_secs()).fold(0.0, f64::max);
    let buffers: u64 = links()
        .map(|link| match link.limit {
            Limit::Bytes(bytes) => bytes,
            Limit::Packets(packets) => u64::from(packets) * u64::from(scenario.packets.data_bytes),
        })
        .sum();
    (rate as f64 / 8.0 * rtt) as u64 + buffers
}

fn flows(scenario: &Scenario, rep: u64) -> Vec<FlowOf> {
    let mut flows = Vec::new();
    for (number, group) in scenario.groups.iter().enumerate() {
        let recorded = scenario.probe.groups.as_ref().is_none_or(|some| some.contains(&number));
        for i in 0..group.count {
            let stream = |part: &str| {
                Stream::new(scenario.seed, rep, &format!("flow.{}.{i}{part}", group.name))
            };
            flows.push(FlowOf {
                group: number,
                number: i,
                start_s: group.start.time(i, &mut stream(".start")).as_secs(),
                stop_s: group.stop.map(units::Span::as_secs),
                wire_bytes: group.size.draw(&mut stream(".size")),
                sampled: recorded,
            });
        }
    }
    flows
}

/// What of a scenario the engine cannot do: key and reason.
pub fn unsupported(scenario: &Scenario) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut no = |key: String, reason: &str| all.push((key, reason.to_owned()));
    if !scenario.islands.is_empty() {
        no("islands".to_owned(), "macro-flows are simulated only");
    }
    let (least, range) = match scenario.ip {
        Ip::V4 => (MIN_PACKET, "a device carries packets of 128 to 65535 bytes"),
        Ip::V6 => (MIN_PACKET_V6, "a device carries packets of 148 to 65535 bytes over IPv6"),
    };
    if !(least..=MAX_PACKET).contains(&scenario.packets.data_bytes) {
        no("packets.data".to_owned(), range);
    }
    if scenario.probe.every == Every::Change && !scenario.probe.series.is_empty() {
        no("probe.every".to_owned(), "a kernel is sampled: give a time");
    }
    for (series, why) in [
        (Series::Sender, "sender: a kernel's variables are not seen"),
        (Series::Window, "window: a kernel tells its congestion window only, which is cwnd"),
    ] {
        if scenario.probe.series.contains(&series) {
            no("probe.series".to_owned(), why);
        }
    }
    for rule in scenario.transport.rules() {
        let why = match rule.key {
            "accecn" => "a kernel has its own, or none",
            "undo" => "a kernel undoes reductions by its own rules",
            _ => "a kernel goes by its own rules",
        };
        no(format!("transport.{}", rule.key), why);
    }
    for group in &scenario.groups {
        unsupported_of(scenario, group, &mut no);
    }
    for link in &scenario.links {
        let parts = link.queue.feedback.iter().chain([&link.queue.policy]);
        if parts.clone().any(|part| part.kind == PROTOTYPE) {
            no(format!("links.{}.queue", link.name), "prototypes are simulated only");
        }
    }
    all
}

/// The same of a group of flows.
fn unsupported_of(scenario: &Scenario, group: &Group, no: &mut impl FnMut(String, &str)) {
    let key = |part: &str| format!("flows.{}.{part}", group.name);
    let Protocol { kind, recovery, .. } = group.protocol;
    let explicit = EXPLICIT.contains(&kind);
    if group.arrivals.is_some() {
        no(key("arrivals"), "flows that come while the run goes on are simulated only");
    }
    if group.app != App::Greedy {
        let text = "applications that do not send all at once are simulated only";
        no(key(group.app.key()), text);
    }
    if kind == PROTOTYPE {
        no(key("protocol"), "prototypes are simulated only");
    } else if kernel_name(kind).is_none() && !explicit {
        no(key("protocol"), &format!("{kind}: no kernel has it, and no end host in eBPF"));
    }
    let changed = changed(&group.protocol);
    let refused = changed.iter().filter(|(name, value)| !kernel_does(kind, name, value));
    let names: Vec<&str> = refused.map(|(name, _)| name.as_str()).collect();
    if kernel_name(kind).is_some() && !names.is_empty() {
        let names = names.join(", ");
        no(key("protocol"), &format!("a kernel's {kind} takes no parameters: {names}"));
    }
    let percent = 100.0 * pacing(&group.protocol);
    let whole = (percent - percent.round()).abs() <= 1e-6 && (percent == 0.0 || percent > 0.5);
    if explicit && !whole {
        no(key("protocol"), "pacing: a kernel spaces by whole per cent of a window");
    }
    if !kernel_recovers(recovery) {
        no(key("protocol"), &format!("recovery {}: no kernel has it", recovery.name()));
    }
    if group.count > MAX_COUNT {
        no(key("count"), "there are not so many ports");
    }
    let fastest = group.path.iter().chain(&group.reverse).map(|&l| scenario.links[l].rate).max();
    if group.access.iter().any(|access| fastest.is_some_and(|rate| access.rate < rate)) {
        no(key("access_rate"), "access hops slower than a link are simulated only");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(flows: &str) -> Description {
        let text = format!(
            "schema = 1\nname = \"t\"\nduration = \"10s\"\n[topology]\nkind = \"dumbbell\"\n\
             rate = \"10Mbps\"\nrtt = \"80ms\"\nbuffer = \"1bdp\"\nqueue = \"droptail\"\n{flows}"
        );
        let parsed = scenario::parse("test", &text, &[]).expect("a scenario");
        describe(&parsed.scenario, 0)
    }

    #[test]
    fn a_group_becomes_a_congestion_control_of_the_kernel() {
        let about = described("[flows.a]\nprotocol = \"newreno\"\ncount = 2\nsize = \"10kB\"\n");
        assert_eq!(about.unsupported, []);
        let group = &about.groups[0];
        assert_eq!((group.kernel, group.sack, group.ecn), (Some("reno"), false, "none"));
        assert_eq!((about.flows.len(), about.flows[1].wire_bytes), (2, Some(10_000)));
        // A BDP of 100 kB, and as much in the buffer.
        assert!(about.window_bytes.abs_diff(200_000) < 2_000, "{}", about.window_bytes);
        assert!((about.max_rtt_s - 0.08).abs() < 1e-9);
    }

    #[test]
    fn a_prototype_is_refused_by_its_key() {
        let about = described("[flows.a]\nprotocol = { kind = \"python\", code = \"a.py:A\" }\n");
        let told = "prototypes are simulated only";
        assert_eq!(about.unsupported, [("flows.a.protocol".to_owned(), told.to_owned())]);
    }

    #[test]
    fn a_kernel_undoes_by_its_own_rules() {
        let about = described("[flows.a]\nprotocol = \"cubic\"\n[transport]\nundo = \"dsack\"\n");
        let told = "a kernel undoes reductions by its own rules";
        assert_eq!(about.unsupported, [("transport.undo".to_owned(), told.to_owned())]);
    }

    #[test]
    fn a_kernel_has_rules_of_its_own() {
        let about = described(
            "[flows.a]\nprotocol = \"cubic\"\n[transport]\necho_prr = true\nbyte_counting = 2\n",
        );
        let told = ["echo_prr", "byte_counting"]
            .map(|key| (format!("transport.{key}"), "a kernel goes by its own rules".to_owned()));
        assert_eq!(about.unsupported, told);
    }

    #[test]
    fn the_packet_engines_own_keys_are_refused_each_by_its_name() {
        let refused = |more: &str| described(more).unsupported;
        let flow = "[flows.a]\nprotocol = \"cubic\"\n";
        let acks =
            refused(&format!("{flow}[transport]\nquick_acks = 16\ndelayed_ack = \"40ms\"\n"));
        let rule = "a kernel goes by its own rules";
        assert_eq!(acks, [("transport.quick_acks".to_owned(), rule.to_owned())]);
        for (value, key) in [("ce_acks = \"rfc8257\"", "ce_acks"), ("hold = true", "hold")] {
            let kind = format!("[flows.a]\nprotocol = {{ kind = \"dctcp\", {value} }}\n");
            let told = format!("a kernel's dctcp takes no parameters: {key}");
            assert_eq!(refused(&kind), [("flows.a.protocol".to_owned(), told)]);
        }
        let series = format!("{flow}[probe]\nevery = \"1s\"\nseries = [\"cwnd\", \"window\"]\n");
        let told = "window: a kernel tells its congestion window only, which is cwnd";
        assert_eq!(refused(&series), [("probe.series".to_owned(), told.to_owned())]);
    }

    #[test]
    fn a_kernel_takes_what_it_does_anyway() {
        let params = "kind = \"cubic\", ecn = true, slow_start = \"hystart\"";
        let about = described(&format!("[flows.a]\nprotocol = {{ {params} }}\n"));
        assert_eq!((about.unsupported, about.groups[0].ecn), (Vec::new(), "classic"));
        let about = described("[flows.a]\nprotocol = { kind = \"cubic\", beta = 0.5 }\n");
        let told = "a kernel's cubic takes no parameters: beta";
        assert_eq!(about.unsupported, [("flows.a.protocol".to_owned(), told.to_owned())]);
    }

    #[test]
    fn explicit_protocols_keep_their_parameters() {
        let about = described("[flows.a]\nprotocol = { kind = \"vcp\", beta = 0.75 }\n");
        assert_eq!(about.unsupported, []);
        let group = &about.groups[0];
        assert!(group.explicit && group.sack);
        assert_eq!((group.ecn, group.kernel), ("codes", None));
        assert_eq!(group.params, [("beta".to_owned(), "0.75".to_owned())]);
    }

    #[test]
    fn a_kernel_is_told_how_packets_are_spaced() {
        let pacing = |protocol: &str| {
            let about = described(&format!("[flows.a]\nprotocol = {{ {protocol} }}\n"));
            let group = about.groups[0].clone();
            assert!(group.params.iter().all(|(name, _)| name != "pacing"));
            (group.pacing_percent, about.unsupported.len())
        };
        assert_eq!(pacing("kind = \"vcp\""), (Some(0), 0));
        assert_eq!(pacing("kind = \"vcp\", pacing = 1.15"), (Some(115), 0));
        assert_eq!(pacing("kind = \"dpcp\", pacing = 1"), (Some(100), 0));
        assert_eq!(pacing("kind = \"mlcp\", pacing = 10"), (Some(1000), 0));
        // No parameter of XCP's: as in the packet engine it sends at once.
        assert_eq!(pacing("kind = \"xcp\""), (Some(0), 0));
        assert_eq!(pacing("kind = \"cubic\""), (None, 0));
        assert_eq!(pacing("kind = \"vcp\", pacing = 1.125").1, 1);
    }

    #[test]
    fn losses_that_move_no_window_have_programs_of_their_own() {
        let end_host = |protocol: &str| {
            let about = described(&format!("[flows.a]\nprotocol = {{ {protocol} }}\n"));
            let group = about.groups[0].clone();
            (group.end_host, group.params)
        };
        assert_eq!(end_host("kind = \"vcp\""), (Some("vcp"), Vec::new()));
        let lossy = "kind = \"vcp\", recovery = \"decoupled\"";
        assert_eq!(end_host(lossy), (Some("vcp-decoupled"), Vec::new()));
        let lossy = "kind = \"dpcp\", recovery = \"decoupled\", decoupled_loss = true";
        assert_eq!(end_host(lossy), (Some("dpcp-decoupled"), Vec::new()));
        let halves = [("decoupled_loss".to_owned(), "false".to_owned())];
        assert_eq!(end_host("kind = \"dpcp\", recovery = \"decoupled\"").1, halves);
        assert_eq!(end_host("kind = \"mlcp\"").0, Some("mlcp"));
        assert_eq!(end_host("kind = \"sack\"").0, None);
    }

    #[test]
    fn names_are_those_of_the_registry() {
        assert!(EXPLICIT.iter().all(|name| cc::registry::protocols().any(|p| p.name == *name)));
        let refused = described("[flows.a]\nprotocol = \"tahoe\"\n").unsupported;
        assert_eq!(refused[0].0, "flows.a.protocol");
    }
}

//! From a scenario to classes of equal flows and the links they cross.

use std::collections::BTreeMap;

use cc::classes::Service;
use cc::registry::AnyRouterParams;
use scenario::{
    Access, App, Capacity, Every, Group, Queue, Scenario, Sending, Series, Touches, VcpForm,
    XcpForm,
};
use units::random::Stream;

use crate::Unsupported;
use crate::link::Rule;
use crate::sender::{PROTOCOLS, Sender};
use crate::steps;

/// A class on a link.
#[derive(Clone, Copy, Debug)]
pub struct Crossing {
    pub link: u32,
    /// Data, or the ACKs that answer it?
    pub data: bool,
    /// Does it wait in the queue? ACKs that are served first do not.
    pub waits: bool,
    /// From the source to the queue, nothing waiting on the way [s].
    pub forward: f64,
    /// From the queue to the source, as an ACK [s].
    pub back: f64,
}

/// Flows that share everything.
#[derive(Clone, Debug)]
pub struct Class {
    pub group: u32,
    /// How many.
    pub count: f64,
    /// Its crossings: first and past the last.
    pub crossings: (u32, u32),
    /// Propagation and transmission there and back [s].
    pub base_rtt: f64,
    /// Of that, from the sink back [s].
    pub ack_delay: f64,
    pub start: f64,
    pub stop: f64,
    /// What it sends [packets].
    pub size: f64,
    /// How long a packet and its ACK may at most be on the way [s].
    pub reach: f64,
}

/// A scenario as the engine has it.
#[derive(Debug)]
pub struct Model {
    pub classes: Vec<Class>,
    pub crossings: Vec<Crossing>,
    /// One for each group.
    pub senders: Vec<Sender>,
    pub rules: Vec<Rule>,
    /// The class of each flow, in the order of flows.
    pub class_of: Vec<u32>,
    /// A data packet and an ACK [bytes].
    pub packet: f64,
    pub ack: f64,
    pub initial_window: f64,
}

/// Equal keys make one class.
type Key = (u32, usize, u64, u64);

impl Model {
    pub fn of(scenario: &Scenario, seed: u64, rep: u64) -> Result<Model, Unsupported> {
        check(scenario)?;
        let links = 0..scenario.links.len();
        let rules = links.map(|i| Rule::of(scenario, i)).collect::<Result<_, _>>()?;
        let sender = |group: &Group| {
            let key = format!("flows.{}.protocol", group.name);
            Sender::of(&group.protocol, &key, scenario.fluid.vcp)
        };
        let mut model = Model {
            classes: Vec::new(),
            crossings: Vec::new(),
            senders: scenario.groups.iter().map(sender).collect::<Result<_, _>>()?,
            rules,
            class_of: Vec::new(),
            packet: f64::from(scenario.packets.data_bytes),
            ack: f64::from(scenario.packets.ack_bytes),
            initial_window: scenario.transport.initial_window,
        };
        let mut known: BTreeMap<Key, u32> = BTreeMap::new();
        for (number, group) in scenario.groups.iter().enumerate() {
            for i in 0..group.count {
                let stream =
                    |what: &str| Stream::new(seed, rep, &format!("flow.{}.{i}.{what}", group.name));
                let start = group.start.time(i, &mut stream("start"));
                let size = group.size.draw(&mut stream("size"));
                let access = i as usize % group.access.len();
                let key = (number as u32, access, start.0, size.unwrap_or(u64::MAX));
                let class = *known.entry(key).or_insert_with(|| {
                    let hops = group.access[access];
                    let size = size.map_or(f64::INFINITY, |bytes| bytes as f64 / model.packet);
                    model.add(scenario, (number, hops), start.as_secs(), size)
                });
                model.classes[class as usize].count += 1.0;
                model.class_of.push(class);
            }
        }
        steps::check(scenario, &model)?;
        Ok(model)
    }

    fn add(
        &mut self,
        scenario: &Scenario,
        (number, hops): (usize, Access),
        start: f64,
        size: f64,
    ) -> u32 {
        let group = &scenario.groups[number];
        let bits = |bytes: u32| f64::from(bytes) * 8.0;
        let (data, ack) = (bits(scenario.packets.data_bytes), bits(scenario.packets.ack_bytes));
        let access = hops.rate.as_bps();
        let (up, down) = (hops.source_owd.as_secs(), hops.sink_owd.as_secs());
        let first = self.crossings.len() as u32;
        let mut at = data / access + up;
        let mut waiting = 0.0;
        for (path, bits, is_data) in [(&group.path, data, true), (&group.reverse, ack, false)] {
            for &l in path {
                let link = &scenario.links[l];
                let waits = is_data || !acks_first(&link.queue);
                let crossing =
                    Crossing { link: l as u32, data: is_data, waits, forward: at, back: 0.0 };
                self.crossings.push(crossing);
                at += bits / link.rate.as_bps() + link.owd.as_secs();
                let slowest = self.rules[l].steps.iter().map(|s| s.1).fold(f64::INFINITY, f64::min);
                waiting += if waits { self.rules[l].buffer / slowest } else { 0.0 };
            }
            if is_data {
                at += data / access + down + ack / access + down;
            }
        }
        let base_rtt = at + ack / access + up;
        for crossing in &mut self.crossings[first as usize..] {
            crossing.back = base_rtt - crossing.forward;
        }
        let own = &self.crossings[first as usize..];
        let last = own.iter().rfind(|crossing| crossing.data).map_or(0.0, |last| {
            let link = &scenario.links[last.link as usize];
            last.forward + data / link.rate.as_bps() + link.owd.as_secs()
        });
        self.classes.push(Class {
            group: number as u32,
            count: 0.0,
            crossings: (first, self.crossings.len() as u32),
            base_rtt,
            ack_delay: base_rtt - last - data / access - down,
            start,
            stop: group.stop.map_or(f64::INFINITY, |stop| stop.as_secs().max(start)),
            size,
            reach: base_rtt + waiting,
        });
        self.classes.len() as u32 - 1
    }

    /// The crossings of a class, in order.
    #[inline]
    pub fn path(&self, class: &Class) -> &[Crossing] {
        &self.crossings[class.crossings.0 as usize..class.crossings.1 as usize]
    }

    /// The shortest RTT [s].
    pub fn shortest_rtt(&self) -> f64 {
        self.classes.iter().map(|class| class.base_rtt).fold(f64::INFINITY, f64::min)
    }
}

/// Does the queue serve ACKs before data?
fn acks_first(queue: &Queue) -> bool {
    let asks = |params: &AnyRouterParams| params.service() == Service::AcksFirst;
    asks(&queue.policy.params) || queue.feedback.as_ref().is_some_and(|part| asks(&part.params))
}

/// Refuses what has no form with sources that ACKs clock: analyses, which have rates, and protocols
/// that answer losses, which here come as a share of all packets and there in bursts, of which each
/// is one sign.
fn check_acks(scenario: &Scenario) -> Result<(), Unsupported> {
    let refuse = |key: String, what: &str| {
        let reason = format!(
            "{what} goes with fluid.sending = \"rates\"; with \"acks\" there are xcp, ixcp, vcp, mlcp and dpcp as \
             they are in packets"
        );
        Err(Unsupported { key, reason })
    };
    let fluid = &scenario.fluid;
    if fluid.vcp == VcpForm::Miaimd {
        return refuse("fluid.vcp".into(), "VCP's model");
    }
    if fluid.xcp == XcpForm::Continuous {
        return refuse("fluid.xcp".into(), "XCP's analysis");
    }
    for group in &scenario.groups {
        // Others have no fluid form at all, and are refused for that.
        let known = PROTOCOLS.iter().any(|(name, _)| *name == group.protocol.kind);
        if known && !matches!(group.protocol.kind, "xcp" | "ixcp" | "vcp" | "mlcp" | "dpcp") {
            let key = format!("flows.{}.protocol", group.name);
            return refuse(key, &format!("{:?}", group.protocol.kind));
        }
    }
    Ok(())
}

/// Refuses what has no fluid form.
fn check(scenario: &Scenario) -> Result<(), Unsupported> {
    let refuse = |key: String, what: &str| {
        Err(Unsupported { key, reason: format!("{what}; {}", Unsupported::supported()) })
    };
    if let Some(island) = scenario.islands.first() {
        return refuse(format!("islands.{}", island.name), "an island has no fluid form");
    }
    if scenario.fluid.sending == Sending::Acks {
        check_acks(scenario)?;
    }
    for link in &scenario.links {
        let key = |part: &str| format!("links.{}.{part}", link.name);
        let line = &link.line;
        let odd = [
            ("trace", matches!(line.capacity, Capacity::Trace(_)), "a capacity trace"),
            ("down", !line.outages.is_empty(), "an outage"),
            ("loss", line.loss.is_some(), "loss on the line"),
            ("jitter", line.jitter.is_some(), "jitter"),
            ("reorder", line.reorder.is_some(), "reordering"),
            ("device_packets", link.device.is_some(), "a device below the queue"),
        ];
        if let Some((part, _, what)) = odd.iter().find(|(_, there, _)| *there) {
            return refuse(key(part), &format!("{what} has no fluid form"));
        }
    }
    for group in &scenario.groups {
        let key = |part: &str| format!("flows.{}.{part}", group.name);
        if group.arrivals.is_some() {
            let text = "transfers that arrive by a process have no fluid form; list flows with \
                        start and size instead";
            return refuse(key("arrivals"), text);
        }
        if group.app != App::Greedy {
            let text = "an application that does not send all at once has no fluid form";
            return refuse(key(group.app.key()), text);
        }
    }
    if scenario.transport.delayed_ack.is_some() {
        return refuse("transport.delayed_ack".into(), "delayed ACKs have no fluid form");
    }
    // Fluid feedback is exact, which AccECN comes near.
    if let Some(rule) = scenario.transport.rules().find(|rule| rule.touches != Touches::Marks) {
        let why = if rule.key == "undo" { "undoing reductions" } else { "a rule about packets" };
        return refuse(format!("transport.{}", rule.key), &format!("{why} has no fluid form"));
    }
    if scenario.probe.every == Every::Change && !scenario.probe.series.is_empty() {
        return refuse("probe.every".into(), "everything changes all the time; give a time");
    }
    if scenario.probe.series.contains(&Series::Sender) {
        let text = "the series \"sender\" is packets' inner variables; cwnd, srtt, goodput, rate, \
                    queue, utilization, drops, losses and router are there";
        return refuse("probe.series".into(), text);
    }
    Ok(())
}

//! Series: values against time, sampled at a fixed step or recorded when they change. A run without
//! series has no event here, and a host or a link that nobody watches is not looked at.
//!
//! On change there is no sampling event: a source that is watched is not [`Source::prompt`] and is
//! looked at after each of its events, a link that is not [`Link::plain`] after each arrival,
//! departure and timer. A value that changed is recorded with the time of the change.

use results::{Series as Table, SeriesOf};
use scenario::{Every, Of, Scenario, Series};
use transport::LossEvent;
use units::{Span, Time};

use crate::flow::{Sink, Source};
use crate::link::{Fate, Link};
use crate::packet::Packet;
use crate::rows::{At, Rows, Slots};
use crate::watch::{Visit, Watch};

/// The series of a run.
#[derive(Clone, Debug)]
pub struct Probes {
    wanted_of_flows: Vec<Series>,
    wanted_of_links: Vec<Series>,
    every: Every,
    /// The groups whose flows are recorded; `None`: all.
    groups: Option<Vec<usize>>,
    /// The links that are recorded; `None`: all.
    links: Option<Vec<usize>>,
    /// The last sample.
    last: Time,
    /// The next sample; never on change.
    next: Time,
    pub rows: Rows,
    of_flow: Vec<Slots>,
    of_link: Vec<Slots>,
    flow_totals: Vec<FlowTotals>,
    link_totals: Vec<LinkTotals>,
    /// Size of a full data packet [bytes]: the rate counts a transfer's last packet as one.
    data_bytes: u32,
    /// One flow's story, for `explain`.
    pub watch: Option<Box<Watch>>,
}

/// What a flow had come to at the last sample.
#[derive(Clone, Copy, Debug, Default)]
struct FlowTotals {
    delivered_bytes: u64,
    sent_pkts: u64,
}

/// What a link had come to at the last sample or change.
#[derive(Clone, Copy, Debug, Default)]
struct LinkTotals {
    departed_bytes: u64,
    drops: u64,
    lost: u64,
}

/// Both ends of all flows.
#[derive(Clone, Copy, Debug)]
pub struct Ends<'a> {
    pub sources: &'a [Source],
    pub sinks: &'a [Sink],
}

/// Must a group's sources be looked at when something happens to them?
pub fn samples_source(scenario: &Scenario, group: usize) -> bool {
    let wanted = [Series::Cwnd, Series::Srtt, Series::Rate, Series::Sender];
    samples(scenario, group, &wanted)
}

/// Must a group's sinks be looked at when something happens to them?
pub fn samples_sink(scenario: &Scenario, group: usize) -> bool {
    samples(scenario, group, &[Series::Goodput])
}

fn samples(scenario: &Scenario, group: usize, any_of: &[Series]) -> bool {
    let probe = &scenario.probe;
    probe.groups.as_ref().is_none_or(|groups| groups.contains(&group))
        && probe.series.iter().any(|wanted| any_of.contains(wanted))
}

fn grown<T: Default>(all: &mut Vec<T>, index: usize) -> &mut T {
    if index >= all.len() {
        all.resize_with(index + 1, T::default);
    }
    &mut all[index]
}

impl Probes {
    /// Probes that have recorded nothing yet.
    ///
    /// # Panics
    /// If a series is wanted on change that [`Series::on_change`] excludes; the reader refuses it.
    pub fn new(scenario: &Scenario) -> Probes {
        let mut probes = Probes {
            wanted_of_flows: Vec::new(),
            wanted_of_links: Vec::new(),
            every: Every::Change,
            groups: None,
            links: None,
            last: Time::ZERO,
            next: Time::NEVER,
            rows: Rows::new(),
            of_flow: Vec::new(),
            of_link: Vec::new(),
            flow_totals: Vec::new(),
            link_totals: Vec::new(),
            data_bytes: scenario.packets.data_bytes,
            watch: None,
        };
        probes.set(scenario, Time::ZERO);
        probes
    }

    /// Records what `scenario` asks for, from `now` on.
    fn set(&mut self, scenario: &Scenario, now: Time) {
        let scenario::Probe { series, every, groups, links } = scenario.probe.clone();
        if every == Every::Change
            && let Some(mean) = series.iter().find(|series| !series.on_change())
        {
            panic!("{} is a mean over time and does not change at an instant", mean.name());
        }
        self.last = now;
        self.next = match every {
            Every::Span(every) if !series.is_empty() => {
                let steps = now.0 / every.0.max(1) + 1;
                Time::ZERO + every * steps
            }
            _ => Time::NEVER,
        };
        // The order of the values may be another.
        self.of_flow.clear();
        self.of_link.clear();
        (self.wanted_of_flows, self.wanted_of_links) =
            series.into_iter().partition(|series| series.of() == Of::Flow);
        (self.every, self.groups, self.links) = (every, groups, links);
    }

    /// Records something else from `now` on: means begin now.
    pub fn change(&mut self, scenario: &Scenario, now: Time, links: &[Link], flows: Ends<'_>) {
        self.set(scenario, now);
        for (i, (source, sink)) in flows.sources.iter().zip(flows.sinks).enumerate() {
            *grown(&mut self.flow_totals, i) = FlowTotals::of(source, sink);
        }
        for (i, link) in links.iter().enumerate() {
            *grown(&mut self.link_totals, i) = LinkTotals::of(now, link);
        }
    }

    /// When the next sample is due, if any is.
    pub fn next(&self) -> Option<Time> {
        (self.next != Time::NEVER).then_some(self.next)
    }

    /// Is it `now`?
    pub fn due(&self, now: Time) -> bool {
        self.next == now
    }

    #[inline]
    fn on_change(&self) -> bool {
        self.every == Every::Change
    }

    fn selects_group(&self, group: u32) -> bool {
        self.groups.as_ref().is_none_or(|groups| groups.contains(&(group as usize)))
    }

    fn selects_link(&self, link: u32) -> bool {
        self.links.as_ref().is_none_or(|links| links.contains(&(link as usize)))
    }

    /// Must this link be looked at when something happens at it?
    pub fn watches_link(&self, link: u32) -> bool {
        let recorded =
            self.on_change() && !self.wanted_of_links.is_empty() && self.selects_link(link);
        recorded || self.watch.as_ref().is_some_and(|watch| watch.has_link(link))
    }

    /// Takes a sample, and says when the next is due.
    pub fn sample(&mut self, now: Time, links: &[Link], flows: Ends<'_>) -> Option<Time> {
        if !self.wanted_of_flows.is_empty() {
            for (i, (source, sink)) in flows.sources.iter().zip(flows.sinks).enumerate() {
                if source.started && self.selects_group(source.group) {
                    self.record_flow(now, i as u32, source, Some(sink));
                }
            }
        }
        if !self.wanted_of_links.is_empty() {
            for (i, link) in links.iter().enumerate() {
                if self.selects_link(i as u32) {
                    self.record_link(now, i as u32, link);
                }
            }
        }
        if let Every::Span(every) = self.every {
            self.last = now;
            self.next = now + every;
        }
        self.next()
    }

    /// Values of the start, which later ones are changes of.
    pub fn start(&mut self, now: Time, links: &[Link]) {
        for (i, link) in links.iter().enumerate() {
            if self.watches_link(i as u32) {
                self.on_link(now, i as u32, link);
            }
        }
    }

    // What a watched host or link calls.

    /// Is [`Probes::on_source`] to be told of sources that are not prompt? Not when they are sampled.
    #[inline]
    pub fn looks_at_sources(&self) -> bool {
        self.on_change() || self.watch.is_some()
    }

    /// Something has happened to a source.
    #[cold]
    pub fn on_source(&mut self, now: Time, flow: u32, source: &Source) {
        if self.on_change() && source.started && self.selects_group(source.group) {
            self.record_flow(now, flow, source, None);
        }
        if let Some(watch) = &mut self.watch {
            watch.on_source(now, flow, source);
        }
    }

    /// An ACK is about to be handled.
    #[cold]
    pub fn before_ack(&mut self, now: Time, flow: u32, source: &Source, ack: &Packet) {
        if let Some(watch) = &mut self.watch {
            watch.before_ack(now, flow, source, ack);
        }
    }

    /// An ACK told of congestion.
    #[cold]
    pub fn on_loss(&mut self, now: Time, flow: u32, loss: &LossEvent) {
        if let Some(watch) = &mut self.watch {
            watch.on_loss(now, flow, loss);
        }
    }

    /// Something has happened to a macro-flow, or all are sampled. They are few, so that they are all
    /// recorded, whatever flows and links are chosen.
    #[cold]
    pub fn on_macro(
        &mut self,
        (now, changed): (Time, bool),
        (flow, source): (u32, &Source),
        waiting: u32,
        delivered_bytes: u64,
    ) {
        if changed != self.on_change() {
            return;
        }
        let at = At { now, of: SeriesOf::Flow, id: flow };
        let over = now.since(self.last).as_secs();
        let totals = grown(&mut self.flow_totals, flow as usize);
        let slots = grown(&mut self.of_flow, flow as usize);
        slots.begin();
        let rows = &mut self.rows;
        let mut put = |prefix: &'static str, name: &str, value: Option<f64>| {
            rows.put(slots, (prefix, name), at, (value, changed));
        };
        for &series in self.wanted_of_flows.iter().chain(&self.wanted_of_links) {
            match series {
                Series::Cwnd => put("macro_", "cwnd_pkts", Some(source.sender.cwnd())),
                Series::Srtt => {
                    put("macro_", "srtt_s", source.outbound.srtt().map(Span::as_secs));
                }
                Series::Goodput => {
                    let fresh = advance(&mut totals.delivered_bytes, delivered_bytes);
                    put("macro_", "goodput_bps", Some(fresh * 8.0 / over));
                }
                Series::Sender => {
                    source.sender.probe(&mut |name, inner| put("macro_sender_", name, Some(inner)));
                }
                Series::Queue => put("macro_", "queue_pkts", Some(f64::from(waiting))),
                _ => {}
            }
        }
    }

    /// A macro-flow's means begin now.
    pub fn restart_macro(&mut self, flow: u32, delivered_bytes: u64) {
        grown(&mut self.flow_totals, flow as usize).delivered_bytes = delivered_bytes;
    }

    /// A packet has arrived at a link; all departures up to then are worked out.
    #[cold]
    pub fn on_arrival(&mut self, at: Visit, l: &Link, packet: (u32, &Packet), fate: Fate) {
        if let Some(watch) = &mut self.watch {
            watch.on_arrival(at, l, packet, fate);
        }
        self.on_link(at.now, at.link, l);
    }

    /// A packet's service begins.
    #[cold]
    pub fn on_service(&mut self, at: Visit, l: &Link, packet: (u32, &Packet), queued_for: Span) {
        if let Some(watch) = &mut self.watch {
            watch.on_service(at, l, packet, queued_for);
        }
        self.on_link(at.now, at.link, l);
    }

    /// A packet that waited at a link with classes is dropped.
    #[cold]
    pub fn on_dropped(&mut self, at: Visit, l: &Link, id: u32) {
        if let Some(watch) = &mut self.watch {
            watch.on_dropped(at.link, id);
        }
        self.on_link(at.now, at.link, l);
    }

    /// A packet that has just been served is lost on the line.
    pub fn on_lost(&mut self, link: u32, packet: &Packet) {
        if let Some(watch) = &mut self.watch {
            watch.on_lost(link, packet);
        }
    }

    /// Something has happened at a link.
    #[cold]
    pub fn on_link(&mut self, now: Time, link: u32, l: &Link) {
        if self.on_change() && self.selects_link(link) {
            self.record_link(now, link, l);
        }
    }

    // Values.

    fn record_flow(&mut self, now: Time, flow: u32, source: &Source, sink: Option<&Sink>) {
        let changed = self.on_change();
        let at = At { now, of: SeriesOf::Flow, id: flow };
        let over = now.since(self.last).as_secs();
        let totals = grown(&mut self.flow_totals, flow as usize);
        let slots = grown(&mut self.of_flow, flow as usize);
        slots.begin();
        let rows = &mut self.rows;
        let mut put = |prefix: &'static str, name: &str, value: Option<f64>| {
            rows.put(slots, (prefix, name), at, (value, changed));
        };
        for &series in &self.wanted_of_flows {
            match (series, sink) {
                (Series::Cwnd, _) => put("", "cwnd_pkts", Some(source.sender.cwnd())),
                (Series::Srtt, _) => {
                    put("", "srtt_s", source.outbound.srtt().map(Span::as_secs));
                }
                (Series::Goodput, Some(sink)) => {
                    let fresh = advance(&mut totals.delivered_bytes, sink.delivered_bytes);
                    put("", "goodput_bps", Some(fresh * 8.0 / over));
                }
                (Series::Rate, _) => {
                    let fresh = advance(&mut totals.sent_pkts, source.sent);
                    let bits = fresh * f64::from(self.data_bytes) * 8.0;
                    put("", "rate_bps", Some(bits / over));
                }
                (Series::Sender, _) => {
                    source.sender.probe(&mut |name, inner| put("sender_", name, Some(inner)));
                }
                _ => {}
            }
        }
    }

    fn record_link(&mut self, now: Time, link: u32, l: &Link) {
        let changed = self.on_change();
        // An event is a row even if the one before was the same; no event is no row.
        let events = |n: f64| (!changed || n > 0.0).then_some(n);
        let at = At { now, of: SeriesOf::Link, id: link };
        let totals = grown(&mut self.link_totals, link as usize);
        let slots = grown(&mut self.of_link, link as usize);
        slots.begin();
        let rows = &mut self.rows;
        let mut put = |prefix: &'static str, name: &str, value: Option<f64>, changed: bool| {
            rows.put(slots, (prefix, name), at, (value, changed));
        };
        for &series in &self.wanted_of_links {
            match series {
                Series::Queue => {
                    let waiting = f64::from(l.queue.backlog().packets);
                    put("", "queue_pkts", Some(waiting), changed);
                }
                Series::Utilization => {
                    let served = l.departed(now).served_bytes;
                    let bits = advance(&mut totals.departed_bytes, served) * 8.0;
                    let capacity = l.capacity_bits(self.last, now);
                    let share = if capacity > 0.0 { bits / capacity } else { 0.0 };
                    put("", "utilization_ratio", Some(share), false);
                }
                Series::Drops => {
                    let fresh = advance(&mut totals.drops, l.counts.drops);
                    put("", "drops_pkts", events(fresh), false);
                }
                Series::Losses => {
                    let fresh = advance(&mut totals.lost, l.counts.lost);
                    put("", "losses_pkts", events(fresh), false);
                }
                Series::Router => {
                    for router in l.routers.iter() {
                        router.probe(&mut |name, inner| put("router_", name, Some(inner), changed));
                    }
                }
                _ => {}
            }
        }
    }

    /// Another flow has this number from now on. The series of an arriving flow have its slot's number
    /// and end when it leaves: what it delivered since the last sample is in none.
    pub fn forget_flow(&mut self, flow: u32) {
        if let Some(totals) = self.flow_totals.get_mut(flow as usize) {
            *totals = FlowTotals::default();
        }
        if let Some(slots) = self.of_flow.get_mut(flow as usize) {
            *slots = Slots::default();
        }
    }

    /// The tables.
    pub fn finish(&mut self) -> Vec<Table> {
        self.rows.finish()
    }
}

/// How much a total has grown since it was last looked at.
fn advance(last: &mut u64, total: u64) -> f64 {
    (total - std::mem::replace(last, total)) as f64
}

impl FlowTotals {
    fn of(source: &Source, sink: &Sink) -> FlowTotals {
        FlowTotals { delivered_bytes: sink.delivered_bytes, sent_pkts: source.sent }
    }
}

impl LinkTotals {
    fn of(now: Time, link: &Link) -> LinkTotals {
        let departed_bytes = link.departed(now).served_bytes;
        LinkTotals { departed_bytes, drops: link.counts.drops, lost: link.counts.lost }
    }
}

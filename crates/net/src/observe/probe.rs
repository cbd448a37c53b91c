//! Series: values against time, sampled at a fixed step or recorded when they change. A run without
//! series has no event here, and a host or a link that nobody watches is not looked at.
//!
//! Hosts that are sampled are not run ahead of the clock beyond the next sample
//! ([`crate::world::World::set_reach`]).
//!
//! On change there is no sampling event: a source that is watched is not [`Source::prompt`] and is
//! looked at after each of its events, a link that is not [`Link::plain`] after each arrival,
//! departure and timer. A value that changed is recorded with the time of the change. A sink has no
//! such values.

use cc::registry::AnyRouter;
use results::{Series as Table, SeriesOf};
use scenario::{Every, Of, Scenario, Series};
use transport::LossEvent;
use units::{Span, Time};

use crate::flow::{Sink, Source};
use crate::link::{Counts, Fate, Link, Routers};
use crate::observe::rows::{At, Rows, Slots};
use crate::observe::watch::{Visit, Watch};
use crate::packet::Packet;

/// The series of a run.
#[derive(Clone, Debug)]
pub struct Probes {
    wanted: Wanted,
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

/// A set of series, a bit each.
#[derive(Clone, Copy, Debug, Default)]
struct Wanted(u32);

impl Wanted {
    fn of(series: &[Series]) -> Wanted {
        Wanted(series.iter().fold(0, |bits, &series| bits | 1 << series as u32))
    }

    #[inline]
    fn has(self, series: Series) -> bool {
        self.0 >> series as u32 & 1 != 0
    }

    fn any(self, of: Of) -> bool {
        Series::ALL.into_iter().any(|series| series.of() == of && self.has(series))
    }
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
    departed: Counts,
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
pub fn watches_source(scenario: &Scenario, group: usize) -> bool {
    let probe = &scenario.probe;
    probe.every == Every::Change
        && probe.groups.as_ref().is_none_or(|groups| groups.contains(&group))
        && probe.series.iter().any(|series| series.of() == Of::Flow)
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
            wanted: Wanted::default(),
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
        self.wanted = Wanted::of(&series);
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

    /// When sources are sampled next, if they are.
    pub fn next_of_sources(&self) -> Time {
        let of_sources = |series: Series| series.of() == Of::Flow && series != Series::Goodput;
        let sampled = Series::ALL.into_iter().any(|s| of_sources(s) && self.wanted.has(s));
        if sampled { self.next } else { Time::NEVER }
    }

    /// When sinks are.
    pub fn next_of_sinks(&self) -> Time {
        if self.wanted.has(Series::Goodput) { self.next } else { Time::NEVER }
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
        let recorded = self.on_change() && self.wanted.any(Of::Link) && self.selects_link(link);
        recorded || self.watch.as_ref().is_some_and(|watch| watch.has_link(link))
    }

    /// Takes a sample, and says when the next is due.
    pub fn sample(&mut self, now: Time, links: &[Link], flows: Ends<'_>) -> Option<Time> {
        if self.wanted.any(Of::Flow) {
            for (i, (source, sink)) in flows.sources.iter().zip(flows.sinks).enumerate() {
                if source.started && self.selects_group(source.group) {
                    self.record_flow::<false>(now, i as u32, source, Some(sink));
                }
            }
        }
        if self.wanted.any(Of::Link) {
            for (i, link) in links.iter().enumerate() {
                if self.selects_link(i as u32) {
                    self.record_link::<false, true>(now, i as u32, link);
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

    /// Is [`Probes::on_source`] to be told of sources that are not prompt? Not when they are
    /// sampled.
    #[inline]
    pub fn looks_at_sources(&self) -> bool {
        self.on_change() || self.watch.is_some()
    }

    /// Something has happened to a source.
    #[cold]
    pub fn on_source(&mut self, now: Time, flow: u32, source: &Source) {
        if self.on_change() && source.started && self.selects_group(source.group) {
            self.record_flow::<true>(now, flow, source, None);
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

    /// Something has happened to a macro-flow, or all are sampled. They are few, so that they are
    /// all recorded, whatever flows and links are chosen.
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
        let at = At::new(now, SeriesOf::Flow, flow);
        let over = now.since(self.last).as_secs();
        let totals = grown(&mut self.flow_totals, flow as usize);
        let slots = grown(&mut self.of_flow, flow as usize);
        let mut report = self.rows.report(slots, at);
        if self.wanted.has(Series::Cwnd) {
            report.put(("macro_", "cwnd_pkts"), source.sender.cwnd(), changed);
        }
        if self.wanted.has(Series::Window) {
            report.put(("macro_", "window_pkts"), source.allowed(), changed);
        }
        if self.wanted.has(Series::Srtt) {
            let srtt = source.outbound.srtt().map(Span::as_secs);
            report.put_some(("macro_", "srtt_s"), srtt, changed);
        }
        if self.wanted.has(Series::Goodput) {
            let fresh = advance(&mut totals.delivered_bytes, delivered_bytes) as f64;
            report.put(("macro_", "goodput_bps"), fresh * 8.0 / over, changed);
        }
        if self.wanted.has(Series::Sender) {
            let mut put = |name, inner| report.put(("macro_sender_", name), inner, changed);
            source.sender.probe(&mut put);
        }
        if self.wanted.has(Series::Queue) {
            report.put(("macro_", "queue_pkts"), f64::from(waiting), changed);
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
        if self.on_change() && self.selects_link(at.link) {
            let shows = |router: &AnyRouter| router.shows_arrivals();
            let Routers { policy, feedback } = &l.routers;
            if policy.as_ref().is_some_and(shows) || feedback.as_ref().is_some_and(shows) {
                self.record_link::<true, true>(at.now, at.link, l);
            } else {
                self.record_link::<true, false>(at.now, at.link, l);
            }
        }
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
            self.record_link::<true, true>(now, link, l);
        }
    }

    // Values.

    fn record_flow<const CHANGED: bool>(
        &mut self,
        now: Time,
        flow: u32,
        source: &Source,
        sink: Option<&Sink>,
    ) {
        let at = At::new(now, SeriesOf::Flow, flow);
        let over = now.since(self.last).as_secs();
        let totals = grown(&mut self.flow_totals, flow as usize);
        let slots = grown(&mut self.of_flow, flow as usize);
        let mut report = self.rows.report(slots, at);
        if self.wanted.has(Series::Cwnd) {
            report.put(("", "cwnd_pkts"), source.sender.cwnd(), CHANGED);
        }
        if self.wanted.has(Series::Window) {
            report.put(("", "window_pkts"), source.allowed(), CHANGED);
        }
        if self.wanted.has(Series::Srtt) {
            report.put_some(("", "srtt_s"), source.outbound.srtt().map(Span::as_secs), CHANGED);
        }
        if self.wanted.has(Series::Goodput)
            && let Some(sink) = sink
        {
            let fresh = advance(&mut totals.delivered_bytes, sink.delivered_bytes) as f64;
            report.put(("", "goodput_bps"), fresh * 8.0 / over, CHANGED);
        }
        if self.wanted.has(Series::Rate) {
            let fresh = advance(&mut totals.sent_pkts, source.sent) as f64;
            let bits = fresh * f64::from(self.data_bytes) * 8.0;
            report.put(("", "rate_bps"), bits / over, CHANGED);
        }
        if self.wanted.has(Series::Sender) {
            source.sender.probe(&mut |name, inner| report.put(("sender_", name), inner, CHANGED));
        }
    }

    /// `ROUTERS`: what they show may be another than at the last time.
    fn record_link<const CHANGED: bool, const ROUTERS: bool>(
        &mut self,
        now: Time,
        link: u32,
        l: &Link,
    ) {
        let at = At::new(now, SeriesOf::Link, link);
        let totals = grown(&mut self.link_totals, link as usize);
        let slots = grown(&mut self.of_link, link as usize);
        let mut report = self.rows.report(slots, at);
        if self.wanted.has(Series::Queue) {
            let waiting = f64::from(l.queue.backlog().packets);
            report.put(("", "queue_pkts"), waiting, CHANGED);
        }
        if self.wanted.has(Series::Utilization) {
            let departed = l.departed(now);
            let bits = departed.bits_since(&std::mem::replace(&mut totals.departed, departed));
            let capacity = l.capacity_bits(self.last, now);
            let share = if capacity > 0.0 { bits / capacity } else { 0.0 };
            report.put(("", "utilization_ratio"), share, false);
        }
        // An event is a row even if the one before was the same; no event is no row.
        let events = |n: u64| (!CHANGED || n > 0).then_some(n as f64);
        if self.wanted.has(Series::Drops) {
            let fresh = advance(&mut totals.drops, l.counts.drops);
            report.put_some(("", "drops_pkts"), events(fresh), false);
        }
        if self.wanted.has(Series::Losses) {
            let fresh = advance(&mut totals.lost, l.counts.lost);
            report.put_some(("", "losses_pkts"), events(fresh), false);
        }
        if ROUTERS && self.wanted.has(Series::Router) {
            let mut put = |name, inner| report.put(("router_", name), inner, CHANGED);
            if let Some(feedback) = &l.routers.feedback {
                feedback.probe(&mut put);
            }
            if let Some(policy) = &l.routers.policy {
                policy.probe(&mut put);
            }
        }
    }

    /// Another flow has this number from now on. The series of an arriving flow have its slot's
    /// number and end when it leaves: what it delivered since the last sample is in none.
    pub fn forget_flow(&mut self, flow: u32) {
        if let Some(totals) = self.flow_totals.get_mut(flow as usize) {
            *totals = FlowTotals::default();
        }
        if let Some(slots) = self.of_flow.get_mut(flow as usize) {
            *slots = Slots::default();
        }
    }

    /// Nothing that these links will report is of an instant before the one at which each of them
    /// was looked at last, or before the next service if something waits.
    pub fn gather(&mut self, now: Time, links: &[Link]) {
        let settled = |link: &Link| match link.queue.backlog().packets {
            0 => now,
            _ => now.min(link.busy_until),
        };
        self.rows.gather(links.iter().map(settled).min().unwrap_or(now));
    }

    /// The tables.
    pub fn finish(&mut self) -> Vec<Table> {
        self.rows.finish()
    }
}

/// How much a total has grown since it was last looked at.
fn advance(last: &mut u64, total: u64) -> u64 {
    total - std::mem::replace(last, total)
}

impl FlowTotals {
    fn of(source: &Source, sink: &Sink) -> FlowTotals {
        FlowTotals { delivered_bytes: sink.delivered_bytes, sent_pkts: source.sent }
    }
}

impl LinkTotals {
    fn of(now: Time, link: &Link) -> LinkTotals {
        let Counts { drops, lost, .. } = link.counts;
        LinkTotals { departed: link.departed(now), drops, lost }
    }
}

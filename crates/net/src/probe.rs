//! Series: values against time, sampled at a fixed step. A scenario without series has no event here.

use results::{Series as Table, SeriesOf};
use scenario::{Of, Series};
use units::{Span, Time};

use crate::flow::{Sink, Source};
use crate::link::Link;

/// The series of a run.
#[derive(Clone, Debug)]
pub struct Probes {
    wanted: Vec<Series>,
    every: Span,
    end: Time,
    tables: Vec<Table>,
    /// Bytes delivered per flow at the last sample.
    delivered: Vec<u64>,
    /// Bytes departed per link at the last sample.
    departed: Vec<u64>,
    /// Packets dropped per link at the last sample.
    dropped: Vec<u64>,
}

/// Both ends of all flows.
#[derive(Clone, Copy, Debug)]
pub struct Ends<'a> {
    pub sources: &'a [Source],
    pub sinks: &'a [Sink],
}

/// Whose sample, and when.
#[derive(Clone, Copy, Debug)]
struct At {
    now: Time,
    id: u32,
}

impl Probes {
    /// Probes that have sampled nothing yet.
    pub fn new(probe: &scenario::Probe, end: Time, flows: usize, links: usize) -> Probes {
        Probes {
            wanted: probe.series.clone(),
            every: match probe.every {
                scenario::Every::Span(every) => every,
                scenario::Every::Change => todo!("recorded where the value changes"),
            },
            end,
            tables: Vec::new(),
            delivered: vec![0; flows],
            departed: vec![0; links],
            dropped: vec![0; links],
        }
    }

    /// When the first sample is due, if any is.
    pub fn first(&self) -> Option<Time> {
        (!self.wanted.is_empty()).then_some(Time::ZERO + self.every)
    }

    /// Takes a sample, and says when the next is due.
    pub fn sample(&mut self, now: Time, links: &[Link], flows: Ends<'_>) -> Option<Time> {
        for series in self.wanted.clone() {
            match series.of() {
                Of::Flow => self.sample_flows(now, series, flows),
                Of::Link => self.sample_links(now, series, links),
            }
        }
        let next = now + self.every;
        (next <= self.end).then_some(next)
    }

    /// Another flow has this number from now on. The series of an arriving flow have its slot's number
    /// and end when it leaves: what it delivered since the last sample is in none.
    pub fn forget_flow(&mut self, flow: u32) {
        if self.delivered.len() <= flow as usize {
            self.delivered.resize(flow as usize + 1, 0);
        }
        self.delivered[flow as usize] = 0;
    }

    /// The tables.
    pub fn finish(self) -> Vec<Table> {
        self.tables
    }

    fn sample_flows(&mut self, now: Time, series: Series, flows: Ends<'_>) {
        for (i, (source, sink)) in flows.sources.iter().zip(flows.sinks).enumerate() {
            if !source.started {
                continue;
            }
            let at = At { now, id: i as u32 };
            match series {
                Series::Cwnd => self.put("cwnd_pkts", SeriesOf::Flow, at, source.sender.cwnd()),
                Series::Srtt => {
                    if let Some(srtt) = source.outbound.srtt() {
                        self.put("srtt_s", SeriesOf::Flow, at, srtt.as_secs());
                    }
                }
                Series::Goodput => {
                    let total = sink.delivered_bytes;
                    let fresh = total - std::mem::replace(&mut self.delivered[i], total);
                    let bps = fresh as f64 * 8.0 / self.every.as_secs();
                    self.put("goodput_bps", SeriesOf::Flow, at, bps);
                }
                _ => source.sender.probe(&mut |name, value| {
                    self.put(&format!("sender_{name}"), SeriesOf::Flow, at, value);
                }),
            }
        }
    }

    fn sample_links(&mut self, now: Time, series: Series, links: &[Link]) {
        for (i, link) in links.iter().enumerate() {
            let at = At { now, id: i as u32 };
            match series {
                Series::Queue => {
                    let waiting = f64::from(link.queue.backlog().packets);
                    self.put("queue_pkts", SeriesOf::Link, at, waiting);
                }
                Series::Utilization => {
                    let total = link.departed(now).served_bytes;
                    let fresh = total - std::mem::replace(&mut self.departed[i], total);
                    let from = Time(now.0.saturating_sub(self.every.0));
                    let capacity = link.capacity_bits(from, now);
                    let share = if capacity > 0.0 { fresh as f64 * 8.0 / capacity } else { 0.0 };
                    self.put("utilization_ratio", SeriesOf::Link, at, share);
                }
                Series::Drops => {
                    let total = link.counts.drops;
                    let fresh = total - std::mem::replace(&mut self.dropped[i], total);
                    self.put("drops_pkts", SeriesOf::Link, at, fresh as f64);
                }
                _ => {
                    for router in link.routers.iter() {
                        router.probe(&mut |name, value| {
                            self.put(&format!("router_{name}"), SeriesOf::Link, at, value);
                        });
                    }
                }
            }
        }
    }

    fn put(&mut self, name: &str, of: SeriesOf, at: At, value: f64) {
        let table = match self.tables.iter().position(|t| t.name == name) {
            Some(at) => &mut self.tables[at],
            None => {
                let (t_s, ids, values) = (Vec::new(), Vec::new(), Vec::new());
                self.tables.push(Table { name: name.into(), of, t_s, id: ids, value: values });
                self.tables.last_mut().expect("one was just pushed")
            }
        };
        table.t_s.push(at.now.as_secs());
        table.id.push(at.id);
        table.value.push(value);
    }
}

//! Series: what the scenario's probe asks for, at its instants, linear within a step.

use results::{Series as Table, SeriesOf};
use scenario::{Every, Of, Scenario, Series};

use crate::link::{Feedback, Link};
use crate::model::Model;
use crate::state::State;

/// Rows that a run records at most, as in the packet engine.
const MAX_ROWS: usize = 100_000_000;

/// Records while a run goes on.
pub struct Recorder {
    wanted: Vec<Series>,
    every: f64,
    /// The number of the next sample.
    next: u64,
    /// Flows and links that are recorded: numbers, and of flows the class.
    flows: Vec<(u32, u32)>,
    links: Vec<u32>,
    groups: Option<Vec<usize>>,
    tables: Vec<Table>,
    /// At the last sample: of each class what was sent and delivered, of each link what was served,
    /// what could have been, and what was dropped.
    flow_totals: Vec<(f64, f64)>,
    link_totals: Vec<(f64, f64, f64)>,
    rows: usize,
    /// When the first row was refused [s].
    pub full: Option<f64>,
}

impl Recorder {
    pub fn new(scenario: &Scenario) -> Recorder {
        let probe = &scenario.probe;
        let every = match probe.every {
            Every::Span(every) => every.as_secs(),
            Every::Change => f64::INFINITY,
        };
        let links = match &probe.links {
            Some(links) => links.iter().map(|&link| link as u32).collect(),
            None => (0..scenario.links.len() as u32).collect(),
        };
        Recorder {
            wanted: probe.series.clone(),
            every: if probe.series.is_empty() { f64::INFINITY } else { every },
            next: 1,
            flows: Vec::new(),
            links,
            groups: probe.groups.clone(),
            tables: Vec::new(),
            flow_totals: Vec::new(),
            link_totals: vec![(0.0, 0.0, 0.0); scenario.links.len()],
            rows: 0,
            full: None,
        }
    }

    /// Before the first step.
    pub fn sample_start(&mut self, states: &[State], model: &Model) {
        self.flow_totals = vec![(0.0, 0.0); states.len()];
        let of_flow = self.wanted.iter().any(|series| series.of() == Of::Flow);
        if !of_flow {
            return;
        }
        let groups = &self.groups;
        let chosen = |class: u32| {
            let group = model.classes[class as usize].group as usize;
            groups.as_ref().is_none_or(|groups| groups.contains(&group))
        };
        let numbered = (0_u32..).zip(&model.class_of);
        self.flows = numbered.map(|(i, &class)| (i, class)).filter(|f| chosen(f.1)).collect();
    }

    /// The samples that are due in the step from `from` to `to`.
    pub fn sample(
        &mut self,
        (from, to): (f64, f64),
        states: &[State],
        links: &[Link],
        (q_before, model): (&[f64], &Model),
    ) {
        loop {
            let at = self.next as f64 * self.every;
            if at > to + 1e-12 || !at.is_finite() {
                return;
            }
            self.next += 1;
            let share = if to > from { ((at - from) / (to - from)).clamp(0.0, 1.0) } else { 1.0 };
            self.sample_flows((at, share), states, model);
            self.sample_links((at, share), links, (q_before, model));
        }
    }

    fn sample_flows(&mut self, (at, share): (f64, f64), states: &[State], model: &Model) {
        if self.flows.is_empty() {
            return;
        }
        let mix = |before: f64, now: f64| before + share * (now - before);
        let wanted: Vec<Series> =
            self.wanted.iter().copied().filter(|series| series.of() == Of::Flow).collect();
        let mut totals = std::mem::take(&mut self.flow_totals);
        for &series in &wanted {
            let name = match series {
                Series::Cwnd => "cwnd_pkts",
                Series::Window => "window_pkts",
                Series::Srtt => "srtt_s",
                Series::Goodput => "goodput_bps",
                _ => "rate_bps",
            };
            let values: Vec<Option<f64>> = states
                .iter()
                .zip(&mut totals)
                .zip(&model.classes)
                .map(|((state, totals), class)| {
                    if at < class.start
                        || state.finish.is_some_and(|finish| at > finish + self.every)
                    {
                        return None;
                    }
                    Some(match series {
                        Series::Cwnd | Series::Window => mix(state.w_old, state.w),
                        Series::Srtt => {
                            return state
                                .least_rtt
                                .is_finite()
                                .then(|| mix(state.rtt_old, state.rtt));
                        }
                        Series::Goodput => {
                            let total = state.delivered - (1.0 - share) * state.step_delivered;
                            let fresh = total - std::mem::replace(&mut totals.1, total);
                            fresh * model.packet * 8.0 / self.every
                        }
                        _ => {
                            let total = state.sent - (1.0 - share) * state.step_sent;
                            let fresh = total - std::mem::replace(&mut totals.0, total);
                            fresh * model.packet * 8.0 / self.every
                        }
                    })
                })
                .collect();
            let flows = std::mem::take(&mut self.flows);
            for &(flow, class) in &flows {
                if let Some(value) = values[class as usize] {
                    self.put(name, SeriesOf::Flow, (at, flow), value);
                }
            }
            self.flows = flows;
        }
        self.flow_totals = totals;
    }

    fn sample_links(
        &mut self,
        (at, share): (f64, f64),
        links: &[Link],
        (q_before, model): (&[f64], &Model),
    ) {
        for n in 0..self.links.len() {
            let number = self.links[n];
            let i = number as usize;
            let link = &links[i];
            let put = |recorder: &mut Recorder, name: &str, value: f64| {
                recorder.put(name, SeriesOf::Link, (at, number), value);
            };
            for k in 0..self.wanted.len() {
                let (served, could, dropped) = self.link_totals[i];
                match self.wanted[k] {
                    Series::Queue => {
                        let q = q_before[i] + share * (link.q - q_before[i]);
                        put(self, "queue_pkts", q / model.packet);
                    }
                    Series::Utilization => {
                        let (bytes, most) =
                            (link.totals.served - served, link.totals.capacity - could);
                        let part = if most > 0.0 { (bytes / most).min(1.0) } else { 0.0 };
                        put(self, "utilization_ratio", part);
                        self.link_totals[i].0 = link.totals.served;
                        self.link_totals[i].1 = link.totals.capacity;
                    }
                    Series::Drops => {
                        put(self, "drops_pkts", (link.totals.dropped - dropped) / model.packet);
                        self.link_totals[i].2 = link.totals.dropped;
                    }
                    Series::Losses => put(self, "losses_pkts", 0.0),
                    Series::Router => self.inner(at, number, link, model),
                    _ => {}
                }
            }
        }
    }

    /// A router's inner variables, under the names that the packet engine gives them.
    fn inner(&mut self, at: f64, number: u32, link: &Link, model: &Model) {
        let rule = &model.rules[number as usize];
        let mut put = |name: &str, value: f64| {
            self.put(&format!("router_{name}"), SeriesOf::Link, (at, number), value);
        };
        match &rule.feedback {
            Feedback::Xcp(_) => {
                put("xi_p", link.signal.f[0]);
                put("xi_n", link.signal.f[1]);
                put("y", link.y.bytes());
                put("persistent_queue", link.q);
                if link.y.flows > 0.0 {
                    put("avg_rtt", link.y.flow_rtts / link.y.flows);
                }
            }
            Feedback::Load(_) => {
                if let Some(load) = &link.load {
                    put("rho", load.rho);
                    put("q", load.q);
                    put("code", f64::from(load.code) + 1.0);
                }
            }
            Feedback::None => {}
        }
        if let Some(red) = &rule.red {
            put("avg", link.average);
            put("p_b", red.p_b(link.average));
        }
    }

    fn put(&mut self, name: &str, of: SeriesOf, (at, id): (f64, u32), value: f64) {
        if self.rows >= MAX_ROWS {
            self.full.get_or_insert(at);
            return;
        }
        self.rows += 1;
        let table = match self.tables.iter_mut().position(|table| table.name == name) {
            Some(place) => &mut self.tables[place],
            None => {
                let (t_s, id, value) = (Vec::new(), Vec::new(), Vec::new());
                self.tables.push(Table { name: name.to_owned(), of, t_s, id, value });
                let last = self.tables.len() - 1;
                &mut self.tables[last]
            }
        };
        table.t_s.push(at);
        table.id.push(id);
        table.value.push(value);
    }

    /// The tables.
    pub fn finish(&mut self) -> Vec<Table> {
        std::mem::take(&mut self.tables)
    }
}

//! The method of steps: a predictor and a corrector of second order over histories that are linear
//! between the steps' ends.
//!
//! A step predicts every window (Adams-Bashforth), looks forward (what each class's past and
//! predicted rates bring to every link now), moves the links, looks back (what the ACKs that arrive
//! now met on their way) and corrects the windows (trapezoid). The distance between predictor and
//! corrector is six times the corrector's local error (Milne); steps are as long as that allows, or
//! all of one length.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use results::Numerics;
use results::metrics::Occupancy;
use scenario::{Scenario, Sending};
use units::{Time, math};

use crate::Progress;
use crate::ack_clock::Clock;
use crate::arrivals::Ahead;
use crate::at_rest::{Quick, Step};
use crate::feedback::{Answered, Gain, Kind, Sight, Source, Told, first_told, see};
use crate::history::{Nodes, moved};
use crate::link::{Feedback, Inflow, Link, Signal, Totals, occupancy, time};
use crate::model::Model;
use crate::sender::{Law, Seen};
use crate::series::Recorder;
use crate::state::{EPSILON, State};
use crate::steps;

mod acks;

/// An instant that a step may not cross; ordered.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Instant(f64);

impl Eq for Instant {}
impl PartialOrd for Instant {
    fn partial_cmp(&self, other: &Instant) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Instant {
    fn cmp(&self, other: &Instant) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// How long a jump takes [s].
const JUMP: f64 = 1e-7;
/// The shortest step that is chosen [s].
const SHORTEST: f64 = 1e-6;

/// A run.
pub struct Solver<'a> {
    pub scenario: &'a Scenario,
    pub model: Model,
    pub now: f64,
    end: f64,
    nodes: Nodes,
    /// Of each class, its rates [packets/s] in a ring; where ACKs clock the sources, what was sent
    /// [packets].
    rates: Vec<f64>,
    /// Of each link, its signals in a ring.
    signals: Vec<Signal>,
    told: Vec<Vec<Told>>,
    /// iXCP: the share of a class's packets that name a crossing as bottleneck; empty without iXCP.
    own: Vec<f64>,
    pub states: Vec<State>,
    pub links: Vec<Link>,
    pub before: Vec<Totals>,
    pub q_before: Vec<f64>,
    inflows: Vec<Inflow>,
    /// Of each link, what senders must know of it, and since when nothing has waited there [s].
    kinds: Vec<Kind>,
    quiet_from: Vec<f64>,
    signals_now: Vec<Signal>,
    /// With steps of one length; else empty.
    quick: Quick,
    /// Where ACKs clock the sources; else empty.
    clock: Clock,
    gains: Vec<Gain>,
    /// Links before the present one that change what passes, and the way there [s].
    busy: Vec<(usize, f64)>,
    /// The next step's length, and the last one's (none where a step must not use its derivatives).
    h: f64,
    h_old: Option<f64>,
    h_most: f64,
    fixed: bool,
    horizon: f64,
    agenda: BinaryHeap<Reverse<Instant>>,
    /// Of each link, the classes on it and the way back; for the agenda only.
    on_link: Vec<Vec<f64>>,
    pub numerics: Numerics,
    pub occupancies: Vec<Occupancy>,
    pub at_warmup: Option<(Vec<f64>, Vec<Totals>)>,
    pub recorder: Recorder,
    pub hash: [u64; 2],
    saved: (Vec<State>, Vec<Link>, Vec<f64>),
}

impl<'a> Solver<'a> {
    pub fn new(scenario: &'a Scenario, model: Model) -> Solver<'a> {
        let shortest = model.shortest_rtt();
        let fixed = steps::fixed(scenario, &model);
        let horizon = steps::horizon(&model);
        let places = steps::places(&model, fixed);
        let states = model.classes.iter().map(|class| State::new(&model, class)).collect();
        let links: Vec<Link> = model.rules.iter().map(Link::new).collect();
        let explicit_own =
            model.rules.iter().any(|rule| matches!(&rule.feedback, Feedback::Xcp(xcp) if xcp.own));
        let h_most = (shortest / 4.0).min(0.05);
        let kinds: Vec<Kind> = model.rules.iter().map(Kind::of).collect();
        let acks = scenario.fluid.sending == Sending::Acks;
        let clock = if acks { Clock::new(&model, places) } else { Clock::default() };
        let quick = fixed.filter(|_| !explicit_own && !acks);
        let quick = quick.map(|h| Quick::new(&model, &kinds, h, places)).unwrap_or_default();
        let mut solver = Solver {
            now: 0.0,
            end: scenario.duration.as_secs(),
            nodes: Nodes::new(places, fixed),
            rates: vec![0.0; places * model.classes.len()],
            signals: vec![Signal::default(); places * links.len()],
            told: model.rules.iter().map(|rule| first_told(&rule.feedback)).collect(),
            own: vec![0.0; if explicit_own { model.crossings.len() } else { 0 }],
            states,
            before: vec![Totals::default(); links.len()],
            q_before: vec![0.0; links.len()],
            inflows: vec![Inflow::default(); links.len()],
            kinds,
            quick,
            clock,
            quiet_from: vec![0.0; links.len()],
            signals_now: vec![Signal::default(); links.len()],
            gains: Vec::new(),
            busy: Vec::new(),
            h: fixed.unwrap_or((h_most / 10.0).max(SHORTEST)),
            h_old: None,
            h_most,
            fixed: fixed.is_some(),
            horizon,
            agenda: BinaryHeap::new(),
            on_link: vec![Vec::new(); links.len()],
            numerics: numerics(scenario, &model, fixed.is_some()),
            occupancies: model.rules.iter().map(|rule| occupancy(scenario, rule)).collect(),
            at_warmup: None,
            recorder: Recorder::new(scenario),
            hash: [0xcbf2_9ce4_8422_2325, 0x9e37_79b9_7f4a_7c15],
            saved: (Vec::new(), Vec::new(), Vec::new()),
            links,
            scenario,
            model,
        };
        if !solver.fixed {
            solver.fill_agenda();
        }
        solver
    }

    /// The instants known from the start at which something changes abruptly.
    fn fill_agenda(&mut self) {
        let mut instants: Vec<f64> = Vec::new();
        for class in &self.model.classes {
            let sender = &self.model.senders[class.group as usize];
            instants.extend([class.start, class.stop]);
            instants.push(class.start + sender.silent_rtts * class.base_rtt);
            if matches!(sender.law, Law::Explicit { .. }) {
                // The first packet that carries an RTT reaches its links.
                let path = self.model.path(class).iter().filter(|crossing| crossing.data);
                let first = class.start + class.base_rtt;
                instants.extend(path.map(|crossing| first + crossing.forward));
            }
            let moves = matches!(sender.law, Law::Load(_));
            for crossing in self.model.path(class).iter().filter(|c| c.data && moves) {
                let backs = &mut self.on_link[crossing.link as usize];
                if !backs.contains(&crossing.back) {
                    backs.push(crossing.back);
                }
            }
        }
        let steps = self.model.rules.iter().flat_map(|rule| &rule.steps).map(|step| step.0);
        instants.extend(steps);
        let end = self.end;
        for instant in instants.into_iter().filter(|&at| at > 0.0 && at < end) {
            self.announce(instant);
        }
    }

    /// A step shall end at `instant`, where something jumps, and one just before: what is linear
    /// between two nodes then jumps, too.
    fn announce(&mut self, instant: f64) {
        self.agenda.push(Reverse(Instant(instant - JUMP)));
        self.agenda.push(Reverse(Instant(instant)));
    }

    pub fn progress(&self) -> Progress {
        Progress { now: self.now_time(), steps: self.numerics.steps }
    }

    /// The clock in whole picoseconds; the run's end exactly.
    pub fn now_time(&self) -> Time {
        if self.over() { Time::ZERO + self.scenario.duration } else { time(self.now) }
    }

    pub fn over(&self) -> bool {
        self.now >= self.end - EPSILON
    }

    /// Takes a step; false when the run is over.
    pub fn step(&mut self) -> bool {
        if self.over() {
            return false;
        }
        if self.numerics.steps == 0 {
            self.first_node();
        }
        if self.fixed {
            // Multiplied, not summed: the nodes' times are multiples of the step.
            let to = ((self.numerics.steps + 1) as f64 * self.h).min(self.end);
            let error = self.attempt(to);
            self.keep(to, error);
            return !self.over();
        }
        let (mut to, mut cut) = self.target();
        let tolerance = self.numerics.tolerance_ratio;
        self.saved.0.clone_from(&self.states);
        self.saved.1.clone_from(&self.links);
        self.saved.2.clone_from(&self.own);
        loop {
            let error = self.attempt(to);
            let h = to - self.now;
            let factor = (0.8 * math::cbrt(tolerance / error.max(1e-30))).clamp(0.2, 2.0);
            if error > 2.0 * tolerance && h > SHORTEST {
                self.numerics.rejected_steps += 1;
                self.nodes.pop();
                self.states.clone_from(&self.saved.0);
                self.links.clone_from(&self.saved.1);
                for (now, link) in self.signals_now.iter_mut().zip(&self.links) {
                    *now = link.signal;
                }
                self.own.clone_from(&self.saved.2);
                (to, cut) = (self.now + (h * factor.min(0.7)).max(SHORTEST), false);
                self.h = to - self.now;
                continue;
            }
            let next = h * factor;
            self.h = if cut { self.h.max(next) } else { next }.clamp(SHORTEST, self.h_most);
            self.keep(to, error);
            return !self.over();
        }
    }

    /// What holds at time zero.
    fn first_node(&mut self) {
        for (i, class) in self.model.classes.iter().enumerate() {
            let state = &mut self.states[i];
            if class.start <= 0.0 && !self.clock.runs() {
                let sender = &self.model.senders[class.group as usize];
                state.rate = sender.packets(state.w) / state.rtt;
            }
            self.rates[i * self.nodes.places() + self.nodes.place()] = state.rate;
        }
        self.recorder.sample_start(&self.states, &self.model);
    }

    /// Where the next step ends, and whether something other than its error says so.
    fn target(&mut self) -> (f64, bool) {
        while self.agenda.peek().is_some_and(|next| next.0.0 <= self.now + EPSILON) {
            self.agenda.pop();
        }
        let mut event = self.agenda.peek().map_or(self.end, |next| next.0.0).min(self.end);
        for link in &self.links {
            event = link.load.as_ref().map_or(event, |load| load.end.min(event));
        }
        let to = self.now + self.h;
        if to >= event - EPSILON {
            (event, true)
        } else if to > event - self.h / 2.0 {
            (f64::midpoint(self.now, event), true)
        } else {
            (to, false)
        }
    }

    /// Everything at `to`; the largest local error of a window, as a part of it.
    fn attempt(&mut self, to: f64) -> f64 {
        while !self.fixed && self.nodes.full(to - self.horizon - 2.0 * self.h_most) {
            self.grow();
        }
        let h = to - self.now;
        self.nodes.push(to);
        let (places, place) = (self.nodes.places(), self.nodes.place());
        for (i, signal) in self.signals_now.iter().enumerate() {
            self.signals[i * places + place] = *signal;
        }
        let step = Step { to_s: to, h_s: h, r: self.extrapolates(h), newest: self.nodes.newest() };
        // The last step may be shorter.
        let rests = self.nodes.on_time(to);
        self.look_forward(&step, rests);
        self.move_links(to);
        self.look_back(&step, rests)
    }

    /// What has reached the links until `to`, and what they tell then.
    fn move_links(&mut self, to: f64) {
        let (places, place) = (self.nodes.places(), self.nodes.place());
        let h = to - self.now;
        if self.clock.runs() {
            let of_links = self.links.iter_mut().zip(&self.inflows);
            self.clock.charge(of_links.map(|(link, y)| link.limit(y, h)));
        }
        for (i, link) in self.links.iter_mut().enumerate() {
            if self.clock.runs() {
                // Volumes, not rates at the step's ends.
                link.y = self.inflows[i];
                link.paid = self.clock.paid(i);
            }
            link.advance(&self.model.rules[i], (self.now, to), self.inflows[i]);
            if self.clock.runs() {
                self.clock.keeps(i, self.signals_now[i].early, link.signal.overflow);
                link.signal.delay = self.clock.waited(i, to, link.totals.served, link.q);
            }
            self.signals_now[i] = link.signal;
            // A byte is no queue: near XCP's equilibrium there is always some part of one.
            if link.q > 1.0 || (self.clock.runs() && link.signal.delay > 0.0) {
                self.quiet_from[i] = f64::INFINITY;
            } else if self.quiet_from[i] > to {
                self.quiet_from[i] = to;
            }
            self.signals[i * places + place] = link.signal;
            self.quick.tell(i, place, link.signal.f);
        }
        if self.clock.runs() {
            self.clock.lose(&self.model);
        }
    }

    /// Half of what the step is of the step before, for the predictor, or 0: one whose steps grow
    /// fast goes wrong, and Euler's does not.
    fn extrapolates(&self, h: f64) -> f64 {
        self.h_old.map_or(0.0, |old| if h < 3.0 * old { h / old / 2.0 } else { 0.0 })
    }

    fn grow(&mut self) {
        let old = self.nodes.places();
        let moves = self.nodes.grow();
        self.rates = moved(&self.rates, old, &moves);
        self.signals = moved(&self.signals, old, &moves);
    }

    /// Predicts every class's rate at `to` and sums up what reaches each link then.
    fn look_forward(&mut self, step: &Step, rests: bool) {
        let Step { to_s: to, h_s: h, r, newest } = *step;
        self.inflows.fill(Inflow::default());
        self.quick.settle(&self.quiet_from);
        let (places, place) = (self.nodes.places(), self.nodes.place());
        let ahead = Ahead {
            model: &self.model,
            nodes: self.nodes.finder(),
            places,
            signals: &self.signals,
            now: &self.signals_now,
            kinds: &self.kinds,
            quiet_from: &self.quiet_from,
            own: &self.own,
            step: *step,
        };
        for (i, class) in self.model.classes.iter().enumerate() {
            let state = &mut self.states[i];
            let ring = &mut self.rates[i * places..(i + 1) * places];
            if self.clock.runs() {
                let sender = &self.model.senders[class.group as usize];
                let source = Source { number: i, class, sender };
                self.clock.send(&ahead, (source, state), ring, &mut self.inflows);
                continue;
            }
            if to < class.start || to > state.ended + class.reach {
                ring[place] = 0.0;
                continue;
            }
            let sender = &self.model.senders[class.group as usize];
            if rests && to < state.ended && self.quick.rests(i, step) {
                ring[place] = if self.quick.moves(i) {
                    Quick::predict(state, step) / state.rtt
                } else {
                    sender.packets(state.predict(sender, h, r)) / state.rtt
                };
                self.quick.bring((i, newest), (class.count, state.rtt), ring, &mut self.inflows);
                continue;
            }
            let w = state.predict(sender, h, r);
            let sends = to < state.ended && to < class.stop;
            ring[place] = if sends { sender.packets(w) / state.rtt } else { 0.0 };
            ahead.bring(to, (class, sender, state), ring, (&mut self.inflows, &mut self.busy));
        }
    }

    /// What the ACKs that arrive at `to` say, and what the windows make of it.
    fn look_back(&mut self, step: &Step, rests: bool) -> f64 {
        let Step { to_s: to, h_s: h, r, .. } = *step;
        let mut worst: f64 = 0.0;
        self.quick.settle(&self.quiet_from);
        let places = self.nodes.places();
        for i in 0..self.states.len() {
            if rests
                && to < self.states[i].ended
                && self.quick.rests(i, step)
                && self.quick.moves(i)
            {
                let ring = &mut self.rates[i * places..(i + 1) * places];
                worst = worst.max(self.quick.correct(i, &mut self.states[i], ring, step));
                continue;
            }
            let class = &self.model.classes[i];
            if to < class.start || to > self.states[i].ended + class.reach {
                let state = &mut self.states[i];
                (state.step_sent, state.step_delivered) = (0.0, 0.0);
                continue;
            }
            if self.clock.runs() {
                worst = worst.max(self.look_back_acks(i, step));
                continue;
            }
            let sent_pkts_per_s = self.states[i].rate;
            let answered = Answered { to_s: to, h_s: h, sent_pkts_per_s, flows: 1.0, holds: false };
            let seen = self.see(i, answered);
            let class = &self.model.classes[i];
            let sender = &self.model.senders[class.group as usize];
            let ring = &self.rates[i * places..(i + 1) * places];
            let arriving = self.nodes.finder().locate(to - (seen.rtt - class.ack_delay)).of(ring);
            let state = &mut self.states[i];
            if self.quick.moves(i) {
                // Its path was at rest when the step began, and nothing was noted.
                state.predict(sender, h, r);
            }
            let error = state.correct((sender, class), &seen, (self.now, to), self.model.packet);
            worst = worst.max(error);
            state.count((sender, class), &seen, (to, h), arriving * seen.arrived * seen.pace);
            self.rates[i * places + self.nodes.place()] = state.rate;
        }
        worst
    }

    /// What the ACKs of class `i` that arrive now met.
    #[inline]
    fn see(&mut self, i: usize, answered: Answered) -> Seen {
        let class = &self.model.classes[i];
        let sight = Sight {
            model: &self.model,
            nodes: self.nodes.finder(),
            places: self.nodes.places(),
            rates: &self.rates,
            signals: &self.signals,
            kinds: &self.kinds,
            quiet_from: &self.quiet_from,
            told: &self.told,
        };
        let sender = &self.model.senders[class.group as usize];
        let source = Source { number: i, class, sender };
        see(&sight, source, &mut self.own, &mut self.gains, answered)
    }

    /// The step is kept: what ends at `to` ends, and what is recorded is recorded.
    fn keep(&mut self, to: f64, error: f64) {
        let from = self.now;
        let h = to - from;
        self.now = to;
        self.h_old = Some(h);
        let numerics = &mut self.numerics;
        numerics.steps += 1;
        numerics.step_min_s = numerics.step_min_s.min(h);
        numerics.step_max_s = numerics.step_max_s.max(h);
        numerics.step_error_ratio = numerics.step_error_ratio.max(error);
        self.end_periods();
        for (i, link) in self.links.iter().enumerate() {
            fold(&mut self.hash, link.q.to_bits());
            fold(&mut self.hash, link.y.data.to_bits());
            let packets = (link.q / self.model.packet + 0.5) as u64;
            self.occupancies[i].change(time(to), packets, (link.q + 0.5) as u64);
        }
        let warmup = self.scenario.warmup.as_secs();
        if self.at_warmup.is_none() && to >= warmup {
            let share = if h > 0.0 { ((warmup - from) / h).clamp(0.0, 1.0) } else { 1.0 };
            let delivered = |s: &State| s.delivered - (1.0 - share) * s.step_delivered;
            let classes = self.states.iter().map(delivered).collect();
            let links = self.links.iter().zip(&self.before);
            let links = links.map(|(link, before)| link.totals.between(*before, share)).collect();
            self.at_warmup = Some((classes, links));
        }
        self.recorder.sample((from, to), &self.states, &self.links, (&self.q_before, &self.model));
        for (i, link) in self.links.iter().enumerate() {
            (self.before[i], self.q_before[i]) = (link.totals, link.q);
        }
    }

    /// Load factors whose period is over.
    fn end_periods(&mut self) {
        let mut changed = Vec::new();
        for (i, link) in self.links.iter_mut().enumerate() {
            let Feedback::Load(rule) = &self.model.rules[i].feedback else { continue };
            let Some(load) = link.load.as_mut().filter(|load| load.end <= self.now + EPSILON)
            else {
                continue;
            };
            // MLCP sends the period over which the code was measured.
            let period = load.period;
            load.end_period(rule, load.end, link.c);
            let told = &mut self.told[i];
            if told.last().is_some_and(|last| (last.code, last.period) == (load.code, period)) {
                continue;
            }
            told.push(Told { from: self.now, code: load.code, period });
            if told.len() > 64 {
                let old = self.now - self.horizon;
                let first = told.iter().rposition(|told| told.from <= old).unwrap_or(0);
                told.drain(..first);
            }
            if !self.fixed {
                changed.push(i);
            }
        }
        for i in changed {
            for k in 0..self.on_link[i].len() {
                let at = self.now + self.on_link[i][k];
                self.announce(at);
            }
        }
    }
}

/// Before the first step.
fn numerics(scenario: &Scenario, model: &Model, fixed_step: bool) -> Numerics {
    Numerics {
        step_min_s: f64::INFINITY,
        tolerance_ratio: scenario.fluid.tolerance,
        classes: model.classes.len() as u64,
        fixed_step,
        ..Numerics::default()
    }
}

/// Mixes a word into the trajectory's hash.
pub fn fold(hash: &mut [u64; 2], word: u64) {
    hash[0] = (hash[0] ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
    hash[1] = (hash[1] ^ word.rotate_left(17)).wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(31);
}

#[cfg(test)]
mod tests;

//! The short cut for classes whose path is at rest: with steps of one length, and nothing waiting,
//! every delay is the same number of steps and a part of one at all times. So the instants at which
//! to look up rates and feedback are known beforehand, and nothing on the way changes what passes.

use std::collections::BTreeMap;

use crate::feedback::Kind;
use crate::link::{Inflow, Rule};
use crate::model::{Class, Model};
use crate::sender::{Law, Sender};
use crate::state::State;

/// A delay: so many nodes before the newest one, and a share of the step after that.
#[derive(Clone, Copy, Debug, Default)]
struct Delay {
    nodes: u32,
    share: f32,
}

impl Delay {
    fn new(seconds: f64, h: f64) -> Delay {
        let steps = seconds / h;
        let nodes = steps.ceil();
        // The longest history is far below 2^32 steps.
        Delay { nodes: nodes as u32, share: (nodes - steps) as f32 }
    }

    #[inline]
    fn of(self, ring: &[f64], newest: usize) -> f64 {
        let mask = ring.len() - 1;
        let before = newest.wrapping_sub(self.nodes as usize);
        let (a, b) = (ring[before & mask], ring[(before + 1) & mask]);
        a + f64::from(self.share) * (b - a)
    }
}

/// A delay to or from a link.
#[derive(Clone, Copy, Debug)]
struct Jump {
    link: u32,
    delay: Delay,
}

/// What is known of a class beforehand.
#[derive(Clone, Copy, Debug)]
struct Lane {
    /// Which of `quiet` is its path's; none: never at rest.
    path: Option<u32>,
    /// Its jumps ahead: data, then ACKs.
    ahead: (u32, u32, u32),
    /// Its jumps back, to links with XCP.
    back: (u32, u32),
    /// Explicit and without end: the window is moved here, too.
    whole: bool,
    plain: bool,
    /// Flows (times price) and packets/s that count as flows to a link.
    flows: f64,
    rates_too: f64,
    price: f64,
    base_rtt: f64,
    /// From when on all that is under way has left after the first RTT estimate [s].
    settled: f64,
    /// To what arrives now.
    arriving: Delay,
}

/// What is known beforehand of all.
#[derive(Debug, Default)]
pub struct Quick {
    lanes: Vec<Lane>,
    ahead: Vec<Jump>,
    back: Vec<Jump>,
    /// The links of each path, and since when nothing has waited on any of them [s].
    paths: Vec<Vec<u32>>,
    quiet: Vec<f64>,
    /// XCP's two figures of each link, in a ring.
    feedback: Vec<[f64; 2]>,
    places: usize,
    packet: f64,
    ack: f64,
}

/// The step that ends at `to`.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub to_s: f64,
    /// Its length.
    pub h_s: f64,
    /// Half of its part of the step before, or 0.
    pub r: f64,
    /// The number of the node at its end.
    pub newest: usize,
}

impl Quick {
    /// For steps of one length `h`; iXCP's classes have no short cut.
    pub fn new(model: &Model, kinds: &[Kind], h: f64, places: usize) -> Quick {
        let mut quick = Quick {
            places,
            packet: model.packet,
            ack: model.ack,
            feedback: vec![[0.0; 2]; places * model.rules.len()],
            ..Quick::default()
        };
        let mut known: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        for class in &model.classes {
            let sender = &model.senders[class.group as usize];
            let links: Vec<u32> = model.path(class).iter().map(|crossing| crossing.link).collect();
            let simple = model.path(class).iter().all(|crossing| {
                let link = crossing.link as usize;
                !crossing.data || fits(&model.rules[link], kinds[link], sender)
            });
            let path = simple.then(|| {
                *known.entry(links).or_insert_with_key(|links| {
                    quick.paths.push(links.clone());
                    quick.paths.len() as u32 - 1
                })
            });
            quick.add(model, class, kinds, (path, h));
        }
        quick.quiet = vec![f64::INFINITY; quick.paths.len()];
        quick
    }

    fn add(&mut self, model: &Model, class: &Class, kinds: &[Kind], (path, h): (Option<u32>, f64)) {
        let sender = &model.senders[class.group as usize];
        let (first, begin) = (self.ahead.len() as u32, self.back.len() as u32);
        let mut data = first;
        for crossing in model.path(class) {
            let jump = |seconds| Jump { link: crossing.link, delay: Delay::new(seconds, h) };
            self.ahead.push(jump(crossing.forward));
            data += u32::from(crossing.data);
            if crossing.data && kinds[crossing.link as usize] == Kind::Xcp {
                self.back.push(jump(crossing.back));
            }
        }
        let price = if let Law::Explicit { price } = sender.law { Some(price) } else { None };
        let loads = matches!(sender.law, Law::Load(_));
        self.lanes.push(Lane {
            path,
            ahead: (first, data, self.ahead.len() as u32),
            back: (begin, self.back.len() as u32),
            whole: price.is_some() && class.size.is_infinite(),
            plain: !sender.ecn,
            flows: class.count * price.unwrap_or(0.0),
            rates_too: if loads { 1.0 } else { 0.0 },
            price: price.unwrap_or(0.0),
            base_rtt: class.base_rtt,
            settled: class.start + 2.0 * class.base_rtt,
            arriving: Delay::new(class.base_rtt - class.ack_delay, h),
        });
    }

    /// A link's figures at the node `place`.
    #[inline]
    pub fn tell(&mut self, link: usize, place: usize, figures: [f64; 2]) {
        if self.places > 0 {
            self.feedback[link * self.places + place] = figures;
        }
    }

    /// Since when each path is at rest, from since when each link is.
    pub fn settle(&mut self, quiet_from: &[f64]) {
        for (quiet, links) in self.quiet.iter_mut().zip(&self.paths) {
            *quiet = links.iter().map(|&link| quiet_from[link as usize]).fold(0.0, f64::max);
        }
    }

    /// Has all that class `number` learns at `step`, and at the step before, met nothing that
    /// waits?
    #[inline]
    pub fn rests(&self, number: usize, step: &Step) -> bool {
        let Some(lane) = self.lanes.get(number) else { return false };
        let Some(path) = lane.path else { return false };
        let before = step.to_s - step.h_s;
        before - lane.base_rtt >= self.quiet[path as usize] && before >= lane.settled
    }

    /// Adds to `inflows` what class `number` brings, by the rates in its ring.
    #[inline]
    pub fn bring(
        &self,
        (number, newest): (usize, usize),
        (count, rtt): (f64, f64),
        ring: &[f64],
        inflows: &mut [Inflow],
    ) {
        let lane = &self.lanes[number];
        let (first, data, end) = lane.ahead;
        for jump in &self.ahead[first as usize..data as usize] {
            let rate = jump.delay.of(ring, newest) * count;
            let inflow = &mut inflows[jump.link as usize];
            let bytes = rate * self.packet;
            let flows = lane.flows + lane.rates_too * rate;
            inflow.data += bytes;
            inflow.plain += if lane.plain { bytes } else { 0.0 };
            inflow.flows += flows;
            inflow.flow_rtts += flows * rtt;
        }
        for jump in &self.ahead[data as usize..end as usize] {
            let rate = jump.delay.of(ring, newest) * count;
            inflows[jump.link as usize].acks += rate * self.ack;
        }
    }

    /// Is the window of the class moved here, too?
    #[inline]
    pub fn moves(&self, number: usize) -> bool {
        self.lanes.get(number).is_some_and(|lane| lane.whole)
    }

    /// The window's predicted value; its variables are one here.
    #[inline]
    pub fn predict(state: &State, step: &Step) -> f64 {
        let g = (1.0 + step.r) * state.g[0] - step.r * state.g_old[0];
        (state.y[0] + step.h_s * g).max(1.0)
    }

    /// Moves the window by what the routers say, and counts; the local error as a part of the
    /// window.
    #[inline]
    pub fn correct(&self, number: usize, state: &mut State, ring: &mut [f64], step: &Step) -> f64 {
        let (lane, h) = (&self.lanes[number], step.h_s);
        let sent = state.rate * self.packet;
        let mut feedback = f64::INFINITY;
        for jump in &self.back[lane.back.0 as usize..lane.back.1 as usize] {
            let first = jump.link as usize * self.places;
            let ring = &self.feedback[first..first + self.places];
            let before = step.newest.wrapping_sub(jump.delay.nodes as usize);
            let mask = self.places - 1;
            let (a, b) = (ring[before & mask], ring[(before + 1) & mask]);
            let gain = |xi: [f64; 2]| xi[0] * lane.price - xi[1] * sent;
            let (a, b) = (gain(a), gain(b));
            feedback = feedback.min(a + f64::from(jump.delay.share) * (b - a));
        }
        let g = if feedback.is_finite() { lane.base_rtt * feedback / self.packet } else { 0.0 };
        let predicted = Quick::predict(state, step);
        state.y[0] = (state.y[0] + h / 2.0 * (state.g[0] + g)).max(1.0);
        state.g_old[0] = state.g[0];
        state.g[0] = g;
        (state.w_old, state.rtt_old) = (state.w, state.rtt);
        (state.w, state.rtt, state.least_rtt) = (state.y[0], lane.base_rtt, lane.base_rtt);
        let arriving = lane.arriving.of(ring, step.newest);
        let rate = state.w / lane.base_rtt;
        state.step_sent = h * (state.rate + rate) / 2.0;
        state.step_delivered = h * (state.delivering + arriving) / 2.0;
        (state.rate, state.delivering) = (rate, arriving);
        state.sent += state.step_sent;
        state.delivered += state.step_delivered;
        let mask = ring.len() - 1;
        ring[step.newest & mask] = rate;
        (state.w - predicted).abs() / (6.0 * state.w)
    }
}

/// Does a data packet of this sender meet nothing at a link where nothing waits, except what its
/// own protocol says?
fn fits(rule: &Rule, kind: Kind, sender: &Sender) -> bool {
    let explicit = matches!(sender.law, Law::Explicit { .. });
    let own = match kind {
        Kind::Plain => true,
        Kind::Xcp => explicit,
        Kind::Load | Kind::LoadOverRtt => !explicit,
        Kind::Early | Kind::Ixcp => false,
    };
    own && rule.red.is_none() && rule.buffer > 2.0
}

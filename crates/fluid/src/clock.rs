//! Sources that the ACKs clock, `fluid.sending = "acks"`: what is in flight is the window, in whole packets.
//!
//! With S(t) the packets that a source has sent until t and R(t) the RTT of the ACK that comes at t,
//!
//! > S(t) = max(S before, floor(w) + S(t - R(t)))
//!
//! Where w and R rest, x(t) = x(t - R): a burst comes back as a burst, spaced by the queues on its way, and
//! the rate w/R is its mean over an RTT. (Jacobsson, Andrew, Tang, Johansson, Hjalmarsson, Low, "ACK-clocking
//! dynamics", INFOCOM 2008, has the same law for rates.) All that is counted, at links and at ends, are
//! differences of S, so that no packet is lost or made by interpolation.

use std::collections::VecDeque;

use units::math;

use crate::ahead::Ahead;
use crate::history::Finder;
use crate::link::Inflow;
use crate::model::{Class, Model};
use crate::sender::{Law, Sender};
use crate::sight::Kind;
use crate::state::{EPSILON, State};

/// The parts of the shortest RTT that a step is, and the longest step [s].
pub const STEPS_PER_RTT: f64 = 40.0;
pub const LONGEST: f64 = 1e-3;

/// What has come of a class somewhere.
#[derive(Clone, Copy, Debug, Default)]
struct Came {
    /// Packets.
    sent: f64,
    /// The sum of R/w over them, as their headers say [s].
    weight: f64,
}

/// What changes besides a solver's histories, in which `rates` holds S.
#[derive(Debug, Default)]
pub struct Clock {
    /// Of each class, the sum of R/w over all packets sent [s], in a ring.
    weights: Vec<f64>,
    /// At each crossing, at each source as ACKs, and at each sink [packets].
    at_links: Vec<Came>,
    acked: Vec<Came>,
    arrived: Vec<f64>,
    /// Of each link, when it came and when it leaves, of what waits.
    waiting: Vec<VecDeque<(f64, f64)>>,
}

/// What came back in a step.
#[derive(Clone, Copy, Debug, Default)]
pub struct Acked {
    /// Packets.
    pub packets: f64,
    /// Their sum of R/w [s].
    pub weight: f64,
}

impl Clock {
    pub fn new(model: &Model, places: usize) -> Clock {
        Clock {
            weights: vec![0.0; places * model.classes.len()],
            at_links: vec![Came::default(); model.crossings.len()],
            acked: vec![Came::default(); model.classes.len()],
            arrived: vec![0.0; model.classes.len()],
            waiting: vec![VecDeque::new(); model.rules.len()],
        }
    }

    /// Is this how sources send?
    pub fn runs(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// What the class sends until `to`, a step of `h`, and what of it reaches which link.
    pub fn send(
        &mut self,
        ahead: &Ahead<'_>,
        (i, class, sender, state): (usize, &Class, &Sender, &mut State),
        ring: &mut [f64],
        inflows: &mut [Inflow],
        (to, h, place): (f64, f64, usize),
    ) {
        let before = ring[(place + ring.len() - 1) & (ring.len() - 1)];
        let weights = &mut self.weights[i * ahead.places..(i + 1) * ahead.places];
        let weight = weights[(place + ring.len() - 1) & (ring.len() - 1)];
        let mut sent = before;
        if to >= class.start && to < state.ended && to < class.stop {
            let back = ahead.nodes.locate(to - state.rtt).of(ring);
            sent = before.max(whole(state.w) + back).min(class.size);
        }
        ring[place] = sent;
        let has_estimate = to >= class.start + class.base_rtt - EPSILON;
        let per_packet = if has_estimate { state.rtt / state.w } else { 0.0 };
        weights[place] = weight + per_packet * (sent - before);
        state.sends((sent - before) / h);
        let first = class.crossings.0 as usize;
        let weights = &*weights;
        ahead.bring_volumes((to, h), (class, sender, state), (ring, weights), &mut |k, now| {
            let came = &mut self.at_links[first + k];
            let new = Came { sent: now.0.max(came.sent), weight: now.1.max(came.weight) };
            let old = std::mem::replace(came, new);
            ((new.sent - old.sent) / h, (new.weight - old.weight) / h)
        }, inflows);
    }

    /// What the ACKs of a step that ends at `to` answer.
    pub fn come_back(&mut self, finder: Finder<'_>, i: usize, ring: &[f64], (to, rtt): (f64, f64)) -> Acked {
        let weights = &self.weights[i * ring.len()..(i + 1) * ring.len()];
        let at = finder.locate(to - rtt);
        let came = &mut self.acked[i];
        let new = Came { sent: at.of(ring).max(came.sent), weight: at.of(weights).max(came.weight) };
        let old = std::mem::replace(came, new);
        Acked { packets: new.sent - old.sent, weight: new.weight - old.weight }
    }

    /// What reaches the sink in a step, of what was sent until `at`.
    pub fn arrive(&mut self, finder: Finder<'_>, i: usize, ring: &[f64], at: f64) -> f64 {
        let new = finder.locate(at).of(ring).max(self.arrived[i]);
        new - std::mem::replace(&mut self.arrived[i], new)
    }

    /// How long what leaves link `i` at `to` has waited; what comes then will wait for `delay` [s].
    pub fn waited(&mut self, i: usize, to: f64, delay: f64) -> f64 {
        let waiting = &mut self.waiting[i];
        waiting.push_back((to, to + delay));
        while waiting.len() > 1 && waiting[1].1 <= to {
            waiting.pop_front();
        }
        let (came, leaves) = waiting[0];
        if leaves > to || waiting.len() < 2 {
            return (to - came).max(0.0);
        }
        let (later, then) = waiting[1];
        let share = if then > leaves { (to - leaves) / (then - leaves) } else { 1.0 };
        (to - (came + share * (later - came))).max(0.0)
    }
}

/// Whole packets; a window that is one but for rounding errors is one.
fn whole(w: f64) -> f64 {
    math::floor(w + 1e-9).max(1.0)
}

impl Ahead<'_> {
    /// As [`Ahead::bring`], with volumes: `came` takes a crossing's number and what of the class has reached
    /// it until now, and gives what that is per second in this step.
    fn bring_volumes(
        &self,
        (to, _h): (f64, f64),
        (class, sender, state): (&Class, &Sender, &State),
        (ring, weights): (&[f64], &[f64]),
        came: &mut dyn FnMut(usize, (f64, f64)) -> (f64, f64),
        inflows: &mut [Inflow],
    ) {
        let price = match sender.law {
            Law::Explicit { price } => price,
            _ => 0.0,
        };
        let first = class.crossings.0 as usize;
        let (mut waited, mut kept) = (0.0, 1.0);
        for (k, crossing) in self.model.path(class).iter().enumerate() {
            let link = crossing.link as usize;
            let place = self.nodes.locate(to - crossing.forward - waited);
            let (rate, weight) = came(k, (place.of(ring), place.of(weights)));
            let rate = rate * class.count * kept;
            let (inflow, kind) = (&mut inflows[link], self.kinds[link]);
            if crossing.waits {
                waited += self.now[link].delay;
                kept *= self.now[link].keeps(sender.ecn);
            }
            if !crossing.data {
                inflow.acks += rate * self.model.ack;
                continue;
            }
            let bytes = rate * self.model.packet;
            inflow.data += bytes;
            if !sender.ecn {
                inflow.plain += bytes;
            }
            match kind {
                Kind::Xcp | Kind::Ixcp => {
                    let flows = weight * class.count * price;
                    inflow.flows += flows;
                    inflow.flow_rtts += flows * state.rtt;
                    if let Some(own) = self.own.get(first + k) {
                        inflow.own_flows += own * flows;
                        inflow.own_data += own * bytes;
                    }
                }
                Kind::LoadOverRtt => {
                    inflow.flows += rate;
                    inflow.flow_rtts += rate * state.rtt;
                }
                _ => {}
            }
        }
    }
}

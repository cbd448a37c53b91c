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
use crate::explicit::{Told, cost};
use crate::history::Finder;
use crate::link::Inflow;
use crate::model::{Class, Crossing, Model};
use crate::sender::{Law, Sender};
use crate::sight::Kind;
use crate::state::{EPSILON, State};

/// The parts of the shortest RTT that a step is, and the longest step [s].
pub const STEPS_PER_RTT: f64 = 80.0;
pub const LONGEST: f64 = 5e-4;

/// What has come of a class somewhere.
#[derive(Clone, Copy, Debug, Default)]
struct Came {
    /// Packets.
    sent: f64,
    /// The sum of R/w over them, as their headers say [s].
    weight: f64,
}

/// Packets at a link that keeps account.
#[derive(Clone, Copy, Debug)]
struct Payer {
    link: usize,
    /// Do they name it as their bottleneck?
    own: bool,
    /// What links before it have told them [bytes/s^2].
    held: f64,
    /// The sum of their R/w and bytes, each per second; which share of them this is.
    flows: f64,
    bytes: f64,
    share: f64,
}

/// What changes besides a solver's histories, in which `rates` holds S.
#[derive(Debug, Default)]
pub struct Clock {
    /// Of each class, the sum of R/w over all packets sent [s], in a ring.
    weights: Vec<f64>,
    /// At each crossing, at each source as ACKs, and at each sink [packets].
    at_links: Vec<Came>,
    acked: Vec<Came>,
    arrived: Vec<(f64, f64)>,
    /// When each class last sent something [s].
    last: Vec<f64>,
    /// Of each link, what packets cost it in this step [bytes/s^2].
    paid: Vec<Told>,
    /// Who pays in this step. Only room.
    payers: Vec<Payer>,
    /// The links before the present one: places in the path, and when what is here now left them [s].
    passed: Vec<(usize, usize, f64)>,
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
            arrived: vec![(0.0, 0.0); model.classes.len()],
            last: vec![f64::NEG_INFINITY; model.classes.len()],
            paid: vec![([0.0; 2], [0.0; 2]); model.rules.len()],
            payers: Vec::new(),
            passed: Vec::new(),
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
        (ring, inflows): (&mut [f64], &mut [Inflow]),
        (to, h, place): (f64, f64, usize),
    ) {
        let last = (place + ring.len() - 1) & (ring.len() - 1);
        let mut all = std::mem::take(&mut self.weights);
        let weights = &mut all[i * ahead.places..(i + 1) * ahead.places];
        let before = ring[last];
        let sent = self.released(ahead, (i, class, sender, state), (ring, before), to);
        if sent > before + 1e-9 {
            self.last[i] = to;
        }
        ring[place] = sent;
        let has_estimate = to >= class.start + class.base_rtt - EPSILON;
        let per_packet = if has_estimate { state.rtt / state.w } else { 0.0 };
        weights[place] = weights[last] + per_packet * (sent - before);
        state.sends((sent - before) / h);
        self.bring(ahead, (i, class, sender, state), (ring, weights, inflows), (to, h));
        self.weights = all;
    }

    /// S(to), where it was `before`.
    fn released(
        &self,
        ahead: &Ahead<'_>,
        (i, class, sender, state): (usize, &Class, &Sender, &State),
        (ring, before): (&[f64], f64),
        to: f64,
    ) -> f64 {
        if to < class.start || to >= state.ended || to >= class.stop {
            return before;
        }
        let back = ahead.nodes.locate(to - state.rtt).of(ring);
        // What is acknowledged and did not arrive is sent again.
        let lost = (self.acked[i].sent - state.delivered).max(0.0);
        let all = class.size + lost;
        let sent = before.max((whole(state.w) + back).min(all));
        if let Law::Load(load) = &sender.law
            && let Some(gap) = load.gap(state.w, state.rtt)
        {
            // One at a time; the last one of a transfer may be shorter.
            let next = (before + 1.0).min(sent);
            let free = sent >= before + 1.0 - 1e-9 || sent >= all - 1e-9;
            return if free && to >= self.last[i] + gap - EPSILON { next } else { before };
        }
        sent
    }

    /// What of the class reaches its links and its sink in a step of `h` that ends at `to`.
    fn bring(
        &mut self,
        ahead: &Ahead<'_>,
        (i, class, sender, state): (usize, &Class, &Sender, &State),
        (ring, weights, inflows): (&[f64], &[f64], &mut [Inflow]),
        (to, h): (f64, f64),
    ) {
        let price = match sender.law {
            Law::Explicit { price } => price,
            _ => 0.0,
        };
        let first = class.crossings.0 as usize;
        let mut kept = 1.0;
        let path = ahead.model.path(class);
        let sink = class.base_rtt - class.ack_delay;
        let until = self.way_back(
            ahead,
            path.iter().rposition(|c| c.data).map_or(0, |k| k + 1),
            path,
            (to, sink),
        );
        let new = ahead.nodes.locate(until).of(ring).max(self.arrived[i].0);
        self.arrived[i] = (new, new - self.arrived[i].0);
        for (k, crossing) in path.iter().enumerate() {
            let link = crossing.link as usize;
            let at = self.way_back(ahead, k, path, (to, crossing.forward));
            let place = ahead.nodes.locate(at);
            let came = &mut self.at_links[first + k];
            let sent = place.of(ring).max(came.sent);
            let weight = place.of(weights).max(came.weight);
            let old = std::mem::replace(came, Came { sent, weight });
            let rate = (sent - old.sent) / h * class.count * kept;
            let flows = (weight - old.weight) / h * class.count * price;
            let (inflow, kind) = (&mut inflows[link], ahead.kinds[link]);
            if crossing.waits {
                kept *= ahead.now[link].keeps(sender.ecn);
            }
            if !crossing.data {
                inflow.acks += rate * ahead.model.ack;
                continue;
            }
            let bytes = rate * ahead.model.packet;
            inflow.data += bytes;
            if !sender.ecn {
                inflow.plain += bytes;
            }
            match kind {
                Kind::Xcp | Kind::Ixcp => {
                    inflow.flows += flows;
                    inflow.flow_rtts += flows * state.rtt;
                    if let Some(own) = ahead.own.get(first + k) {
                        inflow.own_flows += own * flows;
                        inflow.own_data += own * bytes;
                    }
                    if flows > 0.0 {
                        let named = ahead.own.get(first..class.crossings.1 as usize);
                        self.note_payers(ahead, named, (k, link), (flows, bytes));
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

    /// When what reaches the `k`-th place of a path at `to` was sent, `forward` from the source to there were
    /// nothing waiting; notes when it left the links before.
    fn way_back(
        &mut self,
        ahead: &Ahead<'_>,
        k: usize,
        path: &[Crossing],
        (to, forward): (f64, f64),
    ) -> f64 {
        self.passed.clear();
        let (mut at, mut from) = (to, forward);
        for (j, crossing) in path[..k].iter().enumerate().rev() {
            at -= from - crossing.forward;
            from = crossing.forward;
            let link = crossing.link as usize;
            self.passed.push((j, link, at));
            if crossing.waits {
                at -= ahead.signal(link, at).delay;
            }
        }
        at - from
    }

    /// Notes who pays at link `link`, the `k`-th of a path, for `flows` and `bytes` per second that links before
    /// it have told something; `named` are the shares of packets that name each link of the path.
    fn note_payers(
        &mut self,
        ahead: &Ahead<'_>,
        named: Option<&[f64]>,
        (k, link): (usize, usize),
        (flows, bytes): (f64, f64),
    ) {
        let gain = |xi: [f64; 2]| xi[0] * flows - xi[1] * bytes;
        let mut gains = Vec::new();
        for &(j, other, left) in &self.passed {
            if matches!(ahead.kinds[other], Kind::Xcp | Kind::Ixcp) {
                let signal = ahead.signal_of_step(other, left);
                gains.push((j, gain(signal.f), gain(signal.own)));
            }
        }
        let mut note = |name: Option<usize>, share: f64| {
            let held = gains.iter().map(
                |&(j, spare, shuffle)| {
                    if name == Some(j) { spare + shuffle } else { spare }
                },
            );
            let held = held.fold(f64::INFINITY, f64::min);
            self.payers.push(Payer { link, own: name == Some(k), held, flows, bytes, share });
        };
        let named = named.unwrap_or_default();
        for (j, &share) in named.iter().enumerate().filter(|one| *one.1 > 0.0) {
            note(Some(j), share);
        }
        note(None, (1.0 - named.iter().sum::<f64>()).max(0.0));
    }

    /// What packets cost the links that tell `told`.
    pub fn charge(&mut self, told: impl Iterator<Item = Told>) {
        let told: Vec<Told> = told.collect();
        self.paid.fill(([0.0; 2], [0.0; 2]));
        for payer in self.payers.drain(..) {
            let Payer { link, own, held, flows, bytes, share } = payer;
            let cost = cost(&told[link], own, held, (flows, bytes));
            for side in 0..2 {
                self.paid[link].0[side] += share * cost.0[side];
                self.paid[link].1[side] += share * cost.1[side];
            }
        }
    }

    /// What packets cost a link in this step [bytes/s^2].
    pub fn paid(&self, link: usize) -> Told {
        self.paid[link]
    }

    /// What the ACKs of a step that ends at `to` answer.
    pub fn come_back(
        &mut self,
        finder: Finder<'_>,
        i: usize,
        ring: &[f64],
        (to, rtt): (f64, f64),
    ) -> Acked {
        let weights = &self.weights[i * ring.len()..(i + 1) * ring.len()];
        let at = finder.locate(to - rtt);
        let came = &mut self.acked[i];
        let new =
            Came { sent: at.of(ring).max(came.sent), weight: at.of(weights).max(came.weight) };
        let old = std::mem::replace(came, new);
        Acked { packets: new.sent - old.sent, weight: new.weight - old.weight }
    }

    /// What of a class has reached its sink in this step [packets].
    pub fn arrived(&self, i: usize) -> f64 {
        self.arrived[i].1
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leaves_a_queue_has_waited_since_it_came() {
        // 4 packets come within 1 ms to a link that takes 1 ms for each: 3 wait at 1 ms, 2 at 2 ms.
        let mut clock = Clock { waiting: vec![VecDeque::new()], ..Clock::default() };
        let ms = |n: u32| f64::from(n) * 1e-3;
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert_eq!(clock.waited(0, 0.0, 0.0), 0.0);
        // What leaves at 1 ms came at 0.25 ms: leaving goes from 0 to 4 ms while coming goes from 0 to 1 ms.
        assert!(near(clock.waited(0, ms(1), ms(3)), 0.75e-3));
        assert!(near(clock.waited(0, ms(2), ms(2)), 1.5e-3));
        assert!(near(clock.waited(0, ms(3), ms(1)), 2.25e-3));
        // At 4 ms the last one goes, that came at 1 ms or at any time since: nothing waits any more.
        assert!(near(clock.waited(0, ms(4), 0.0), 0.0));
        assert_eq!(clock.waited(0, ms(5), 0.0), 0.0);
    }

    #[test]
    fn windows_are_whole_packets() {
        assert_eq!([0.3, 1.0, 1.9, 3.0 - 1e-12].map(whole), [1.0, 1.0, 1.0, 3.0]);
    }
}

//! Sources that the ACKs clock, `fluid.sending = "acks"`: what is in flight is the window, in whole
//! packets.
//!
//! With S(t) the packets that a source has sent until t and R(t) the RTT of the ACK that comes
//! at t,
//!
//! > S(t) = max(S before, floor(w) + S(t - R(t)))
//!
//! Where w and R rest, x(t) = x(t - R): a burst comes back as a burst, spaced by the queues on its
//! way, and the rate w/R is its mean over an RTT. (Jacobsson, Andrew, Tang, Johansson, Hjalmarsson,
//! Low, "ACK-clocking dynamics", INFOCOM 2008, has the same law for rates.) All that is counted, at
//! links and at ends, are differences of S, so that no packet is lost or made by interpolation.

use units::math;

use crate::arrivals::Ahead;
use crate::at_rest::Step;
use crate::feedback::{Gain, Kind, Source};
use crate::history::Finder;
use crate::link::Inflow;
use crate::losses::Lost;
use crate::model::{Class, Crossing, Model};
use crate::sender::Law;
use crate::state::{EPSILON, State};
use crate::waiting::Waiting;
use crate::xcp::{Told, cost};

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

/// What of a class has reached a place of its path.
#[derive(Clone, Debug, Default)]
struct Reached {
    /// Up to which of the packets sent, and their sum of R/w [s].
    of: Came,
    /// Of them, those that were not lost before, and how many of those came in this step.
    came: f64,
    step: f64,
    /// How many were lost here since the start, and in this step.
    dropped: f64,
    dropping: f64,
    /// What the next place has to know.
    lost: Lost,
}

impl Reached {
    /// Now `sent` packets have, of which `lost` were lost before. How many of this step's, and
    /// their share.
    fn until(&mut self, of: Came, lost: f64) -> (f64, f64) {
        let came = (of.sent - lost).max(self.came);
        let sent = of.sent - self.of.sent;
        (self.step, self.came, self.of) = (came - self.came, came, of);
        (self.step, if sent > 0.0 { self.step / sent } else { 1.0 })
    }

    /// Of what came in this step, `kept` was not lost.
    fn keep(&mut self, kept: f64) {
        self.dropping = (1.0 - kept) * self.step;
        self.dropped += self.dropping;
        self.lost.note(self.of.sent, self.of.sent - self.came + self.dropped);
    }
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

/// A link before the present one.
#[derive(Clone, Copy, Debug)]
struct Passed {
    /// Its place in the path.
    place: usize,
    link: usize,
    /// When what is here now left it.
    left_s: f64,
}

/// What changes besides a solver's histories, in which `rates` holds S.
#[derive(Debug, Default)]
pub struct Clock {
    /// Of each class, the sum of R/w over all packets sent [s], in a ring.
    weights: Vec<f64>,
    /// At each crossing, at each sink, and at each source as ACKs.
    at_links: Vec<Reached>,
    arrived: Vec<Reached>,
    acked: Vec<Came>,
    /// Of each link, the shares of this step's arrivals that it has kept: without ECN, with it.
    kept: Vec<[f64; 2]>,
    /// When each class last sent something [s].
    last: Vec<f64>,
    /// Of each link, what packets cost it in this step [bytes/s^2].
    paid: Vec<Told>,
    told: Vec<Told>,
    /// Who pays in this step, and what links before a present one have told. Only room.
    payers: Vec<Payer>,
    gains: Vec<Gain>,
    /// The links before the present one.
    passed: Vec<Passed>,
    /// Of each link, what waits.
    waiting: Vec<Waiting>,
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
            at_links: vec![Reached::default(); model.crossings.len()],
            arrived: vec![Reached::default(); model.classes.len()],
            acked: vec![Came::default(); model.classes.len()],
            kept: vec![[1.0; 2]; model.rules.len()],
            last: vec![f64::NEG_INFINITY; model.classes.len()],
            paid: vec![([0.0; 2], [0.0; 2]); model.rules.len()],
            told: Vec::new(),
            payers: Vec::new(),
            gains: Vec::new(),
            passed: Vec::new(),
            waiting: vec![Waiting::default(); model.rules.len()],
        }
    }

    /// Is this how sources send?
    pub fn runs(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// What the class sends in the step, which `ring` takes, and what of it reaches which link.
    pub fn send(
        &mut self,
        ahead: &Ahead<'_>,
        (source, state): (Source<'_>, &mut State),
        ring: &mut [f64],
        inflows: &mut [Inflow],
    ) {
        let Source { number: i, class, .. } = source;
        let Step { to_s: to, h_s: h, newest, .. } = ahead.step;
        let place = newest & (ring.len() - 1);
        let last = (place + ring.len() - 1) & (ring.len() - 1);
        let mut all = std::mem::take(&mut self.weights);
        let weights = &mut all[i * ahead.places..(i + 1) * ahead.places];
        let before = ring[last];
        let sent = self.released(ahead, (source, state), (ring, before));
        if sent > before + 1e-9 {
            self.last[i] = to;
        }
        ring[place] = sent;
        let has_estimate = to >= class.start + class.base_rtt - EPSILON;
        let per_packet = if has_estimate { state.rtt / state.w } else { 0.0 };
        weights[place] = weights[last] + per_packet * (sent - before);
        state.sends((sent - before) / h);
        self.bring(ahead, (source, state), (ring, weights), inflows);
        self.weights = all;
    }

    /// S(to), where it was `before`.
    fn released(
        &self,
        ahead: &Ahead<'_>,
        (Source { number: i, class, sender }, state): (Source<'_>, &State),
        (ring, before): (&[f64], f64),
    ) -> f64 {
        let to = ahead.step.to_s;
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

    /// What of the class reaches its links and its sink in the step; `ring` and `weights` have what
    /// it has sent.
    fn bring(
        &mut self,
        ahead: &Ahead<'_>,
        (Source { number: i, class, sender }, state): (Source<'_>, &State),
        (ring, weights): (&[f64], &[f64]),
        inflows: &mut [Inflow],
    ) {
        let Step { to_s: to, h_s: h, .. } = ahead.step;
        let price = if let Law::Explicit { price } = sender.law { price } else { 0.0 };
        let first = class.crossings.0 as usize;
        let path = ahead.model.path(class);
        let sink = class.base_rtt - class.ack_delay;
        let links = path.iter().take_while(|crossing| crossing.data).count();
        let until = self.way_back(ahead, links, path, (to, sink));
        let sent = ahead.nodes.locate(until).of(ring).max(self.arrived[i].of.sent);
        let lost = if links > 0 { self.at_links[first + links - 1].lost.among(sent) } else { 0.0 };
        self.arrived[i].until(Came { sent, weight: 0.0 }, lost);
        if links < path.len() {
            self.arrived[i].keep(1.0);
        }
        for (k, crossing) in path.iter().enumerate() {
            let link = crossing.link as usize;
            let at = self.way_back(ahead, k, path, (to, crossing.forward));
            let place = ahead.nodes.locate(at);
            let old = self.at_links[first + k].of;
            let sent = place.of(ring).max(old.sent);
            let weight = place.of(weights).max(old.weight);
            let lost = match k {
                0 if links > 0 => 0.0,
                k if k == links => self.arrived[i].lost.among(sent),
                k => self.at_links[first + k - 1].lost.among(sent),
            };
            let (came, share) = self.at_links[first + k].until(Came { sent, weight }, lost);
            let rate = came / h * class.count;
            let flows = (weight - old.weight) / h * class.count * price * share;
            let (inflow, kind) = (&mut inflows[link], ahead.kinds[link]);
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

    /// When what reaches the `k`-th place of a path at `to` was sent, `forward` from the source to
    /// there were nothing waiting; notes when it left the links before.
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
            self.passed.push(Passed { place: j, link, left_s: at });
            if crossing.waits {
                at -= ahead.signal(link, at).delay;
            }
        }
        at - from
    }

    /// Notes who pays at link `link`, the `k`-th of a path, for `flows` and `bytes` per second that
    /// links before it have told something; `named` are the shares of packets that name each link
    /// of the path.
    fn note_payers(
        &mut self,
        ahead: &Ahead<'_>,
        named: Option<&[f64]>,
        (k, link): (usize, usize),
        (flows, bytes): (f64, f64),
    ) {
        let mut gains = std::mem::take(&mut self.gains);
        for passed in &self.passed {
            if matches!(ahead.kinds[passed.link], Kind::Xcp | Kind::Ixcp) {
                let signal = ahead.signal_of_step(passed.link, passed.left_s);
                gains.push(Gain::told(passed.place, signal, (flows, bytes)));
            }
        }
        let mut note = |name: Option<usize>, share: f64| {
            let held = gains.iter().map(|gain| gain.of(name == Some(gain.crossing)));
            let held = held.fold(f64::INFINITY, f64::min);
            self.payers.push(Payer { link, own: name == Some(k), held, flows, bytes, share });
        };
        let named = named.unwrap_or_default();
        for (j, &share) in named.iter().enumerate().filter(|one| *one.1 > 0.0) {
            note(Some(j), share);
        }
        note(None, (1.0 - named.iter().sum::<f64>()).max(0.0));
        gains.clear();
        self.gains = gains;
    }

    /// What packets cost the links that tell `told`.
    pub fn charge(&mut self, told: impl Iterator<Item = Told>) {
        self.told.clear();
        self.told.extend(told);
        self.paid.fill(([0.0; 2], [0.0; 2]));
        for payer in self.payers.drain(..) {
            let Payer { link, own, held, flows, bytes, share } = payer;
            let cost = cost(&self.told[link], own, held, (flows, bytes));
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

    /// Of class `i`, what has reached its sink in this step, and what its links have lost then
    /// [packets].
    pub fn ends(&self, i: usize, (class, path): (&Class, &[Crossing])) -> (f64, f64) {
        let links = path.iter().zip(&self.at_links[class.crossings.0 as usize..]);
        let links = links.take_while(|(crossing, _)| crossing.data);
        (self.arrived[i].step, links.map(|(_, reached)| reached.dropping).sum())
    }

    /// What link `link` has kept of this step's arrivals: of packets without ECN all but `early`,
    /// and of all that is left all but `overflow`.
    pub fn keeps(&mut self, link: usize, early: f64, overflow: f64) {
        self.kept[link] = [(1.0 - early) * (1.0 - overflow), 1.0 - overflow];
    }

    /// Which packets those were, once it is known of all links.
    pub fn lose(&mut self, model: &Model) {
        for class in &model.classes {
            let ecn = model.senders[class.group as usize].ecn;
            let path = model.path(class);
            let reached = self.at_links[class.crossings.0 as usize..].iter_mut();
            for (k, (crossing, reached)) in path.iter().zip(reached).enumerate() {
                // No one asks what becomes of the ACKs behind their last link.
                if crossing.data || k + 1 < path.len() {
                    let plain = crossing.data && !ecn;
                    reached.keep(self.kept[crossing.link as usize][usize::from(!plain)]);
                }
            }
        }
    }

    /// How long what leaves link `i` at `to` has waited [s], where since the start `served` bytes
    /// have left and `q` wait.
    pub fn waited(&mut self, i: usize, to: f64, served: f64, q: f64) -> f64 {
        self.waiting[i].waited(to, served, q)
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
    fn windows_are_whole_packets() {
        assert_eq!([0.3, 1.0, 1.9, 3.0 - 1e-12].map(whole), [1.0, 1.0, 1.0, 3.0]);
    }
}

//! What the ACK that arrives now met on its way.

use crate::history::Finder;
use crate::link::{Feedback, Rule, Signal};
use crate::model::{Class, Model};
use crate::sender::{Law, Seen, Sender};
use crate::state::EPSILON;

/// A level that a link tells from an instant on.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    pub from: f64,
    pub code: u8,
    pub period: f64,
}

/// What a link tells at the start.
pub fn first_told(feedback: &Feedback) -> Vec<Told> {
    match feedback {
        Feedback::Load(rule) => vec![Told { from: 0.0, code: 0, period: rule.t_rho }],
        _ => Vec::new(),
    }
}

/// What senders must know of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It loses packets when it is full, and does nothing else.
    Plain,
    /// It loses or marks packets before.
    Early,
    Xcp,
    Ixcp,
    Load,
    /// It wants to know the packets' RTTs (MLCP).
    LoadOverRtt,
}

impl Kind {
    pub fn of(rule: &Rule) -> Kind {
        match &rule.feedback {
            Feedback::Xcp(xcp) if xcp.own => Kind::Ixcp,
            Feedback::Xcp(_) => Kind::Xcp,
            Feedback::Load(load) if load.follows => Kind::LoadOverRtt,
            Feedback::Load(_) => Kind::Load,
            Feedback::None if rule.red.is_some() => Kind::Early,
            Feedback::None => Kind::Plain,
        }
    }
}

/// What a class looks back at.
pub struct Sight<'a> {
    pub model: &'a Model,
    pub nodes: Finder<'a>,
    pub places: usize,
    pub rates: &'a [f64],
    pub signals: &'a [Signal],
    pub kinds: &'a [Kind],
    pub quiet_from: &'a [f64],
    pub told: &'a [Vec<Told>],
}

impl Sight<'_> {
    /// What a link says of its load to a packet that leaves it at `at`.
    fn hear_load(&self, seen: &mut Seen, (sender, link): (&Sender, usize), at: f64, rho: f64) {
        match sender.law {
            Law::Load(_) => {
                let told = &self.told[link];
                let last = told.iter().rfind(|told| told.from <= at + EPSILON).or(told.first());
                // Going back, so the later of equal links has the word.
                if let Some(told) = last.filter(|told| told.code > seen.code || !seen.told) {
                    (seen.code, seen.period, seen.told) = (told.code, told.period, true);
                }
            }
            Law::Miaimd(_) => seen.rho = seen.rho.max(rho),
            _ => {}
        }
    }
}

/// A class, its number, and what sends for it.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    pub number: usize,
    pub class: &'a Class,
    pub sender: &'a Sender,
}

/// What the ACKs that arrive at the end of a step answer.
#[derive(Clone, Copy, Debug)]
pub struct Answered {
    pub to_s: f64,
    /// The length of the step.
    pub h_s: f64,
    /// What the flow gives for.
    pub sent_pkts_per_s: f64,
    /// What it gets for: one, or where ACKs clock the source its packets' R/w per second.
    pub flows: f64,
    /// Does what a link tells hold for a step? So it does where ACKs clock the source.
    pub holds: bool,
}

/// What a link gives a flow.
#[derive(Clone, Copy, Debug)]
pub struct Gain {
    /// The place of its crossing, in the path or among all.
    pub crossing: usize,
    pub spare_bytes_per_s2: f64,
    /// What those get besides that name it as their bottleneck (iXCP).
    pub shuffle_bytes_per_s2: f64,
}

impl Gain {
    /// What a link that tells `signal` gives for `flows` and `bytes` per second.
    pub fn told(crossing: usize, signal: &Signal, (flows, bytes): (f64, f64)) -> Gain {
        let gain = |xi: [f64; 2]| xi[0] * flows - xi[1] * bytes;
        let [spare_bytes_per_s2, shuffle_bytes_per_s2] = [signal.f, signal.own].map(gain);
        Gain { crossing, spare_bytes_per_s2, shuffle_bytes_per_s2 }
    }

    /// What packets get that name this link, or another one.
    pub fn of(&self, named: bool) -> f64 {
        if named {
            self.spare_bytes_per_s2 + self.shuffle_bytes_per_s2
        } else {
            self.spare_bytes_per_s2
        }
    }
}

/// What the ACKs met, from their last link to the first of their data. `gains` is only room.
#[inline]
pub fn see(
    sight: &Sight<'_>,
    source: Source<'_>,
    own: &mut [f64],
    gains: &mut Vec<Gain>,
    answered: Answered,
) -> Seen {
    let Source { number, class, sender } = source;
    let Answered { to_s: to, h_s: h, sent_pkts_per_s, flows, holds } = answered;
    let (places, finder) = (sight.places, sight.nodes);
    let first = class.crossings.0 as usize;
    let packet = sight.model.packet;
    let mut seen = Seen::nothing(class.base_rtt);
    let (mut unhit, mut pace) = (1.0, 1.0);
    gains.clear();
    for (k, crossing) in sight.model.path(class).iter().enumerate().rev() {
        let link = crossing.link as usize;
        let at = to - crossing.back - (seen.rtt - class.base_rtt);
        let kind = sight.kinds[link];
        if at >= sight.quiet_from[link] && (!crossing.data || kind == Kind::Plain) {
            continue;
        }
        let place = finder.locate(at);
        let ring = &sight.signals[link * places..(link + 1) * places];
        let signal = Signal::between(&ring[place.before], &ring[place.after], place.share);
        if crossing.waits {
            seen.rtt += signal.delay;
        }
        if crossing.waits && at < sight.quiet_from[link] {
            // When it came to the queue.
            let place = finder.locate(at - signal.delay);
            let came = Signal::between(&ring[place.before], &ring[place.after], place.share);
            pace *= came.pace;
        }
        if !crossing.data {
            continue;
        }
        unhit *= 1.0 - signal.overflow;
        seen.arrived *= 1.0 - signal.overflow;
        if !sender.ecn {
            unhit *= 1.0 - signal.early;
            seen.arrived *= 1.0 - signal.early;
        } else if sender.heeds_marks {
            unhit *= 1.0 - signal.early;
        }
        if let (Law::Explicit { price }, Kind::Xcp | Kind::Ixcp) = (&sender.law, kind) {
            let told = if holds { &ring[place.step()] } else { &signal };
            let gain = Gain::told(first + k, told, (price * flows, sent_pkts_per_s * packet));
            seen.feedback = seen.feedback.min(gain.spare_bytes_per_s2);
            if kind == Kind::Ixcp {
                gains.push(gain);
            }
        } else if matches!(kind, Kind::Load | Kind::LoadOverRtt) {
            sight.hear_load(&mut seen, (sender, link), at, signal.f[0]);
        }
    }
    if !gains.is_empty() {
        seen.feedback = name_bottleneck(own, gains, h / seen.rtt);
    }
    seen.hit = 1.0 - unhit;
    let ring = &sight.rates[number * places..(number + 1) * places];
    seen.rate = finder.locate(to - seen.rtt).of(ring) * pace;
    seen.pace = pace;
    seen
}

/// iXCP: a packet that names link b as its bottleneck gets every link's spare feedback, and b's
/// shuffle feedback besides; the least wins, and the first such link is named next. `own` holds the
/// shares of packets that name each link, the rest names none. Gives the mean feedback; the shares
/// move on by one RTT's way.
fn name_bottleneck(own: &mut [f64], links: &[Gain], rtts: f64) -> f64 {
    let total: f64 = links.iter().map(|link| own[link.crossing]).sum();
    let mut feedback = 0.0;
    let mut next = vec![0.0; links.len()];
    let mut vote = |named: Option<usize>, share: f64| {
        // From the last link of the path to the first: `<=` leaves the first of equals.
        let mut least = (f64::INFINITY, 0);
        for (k, link) in links.iter().enumerate() {
            let gain = link.of(named == Some(k));
            if gain <= least.0 {
                least = (gain, k);
            }
        }
        feedback += share * least.0;
        next[least.1] += share;
    };
    for (k, link) in links.iter().enumerate() {
        vote(Some(k), own[link.crossing]);
    }
    vote(None, (1.0 - total).max(0.0));
    let moved = rtts.min(1.0);
    for (link, next) in links.iter().zip(next) {
        own[link.crossing] += moved * (next - own[link.crossing]);
    }
    feedback
}

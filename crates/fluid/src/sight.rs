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

/// `sent` packets per second are what the flow gives for, and `flows` what it gets for: one, or where ACKs
/// clock the source its packets' R/w per second; then what a link tells holds for a step.
///
/// What the ACK that arrives at `to` met, from its last link to the first of its data.
#[inline]
pub fn see(
    sight: &Sight<'_>,
    (number, class, sender): (usize, &Class, &Sender),
    own: &mut [f64],
    scratch: &mut Vec<(usize, f64, f64)>,
    (to, h, sent, flows, steps): (f64, f64, f64, f64, bool),
) -> Seen {
    let (places, finder) = (sight.places, sight.nodes);
    let first = class.crossings.0 as usize;
    let packet = sight.model.packet;
    let mut seen = Seen::nothing(class.base_rtt);
    let (mut unhit, mut pace) = (1.0, 1.0);
    scratch.clear();
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
            let told = if steps { &ring[place.step()] } else { &signal };
            let given = sent * packet;
            let gain = |xi: [f64; 2]| xi[0] * (price * flows) - xi[1] * given;
            seen.feedback = seen.feedback.min(gain(told.f));
            if kind == Kind::Ixcp {
                scratch.push((first + k, gain(told.f), gain(told.own)));
            }
        } else if matches!(kind, Kind::Load | Kind::LoadOverRtt) {
            sight.hear_load(&mut seen, (sender, link), at, signal.f[0]);
        }
    }
    if !scratch.is_empty() {
        seen.feedback = name_bottleneck(own, scratch, h / seen.rtt);
    }
    seen.hit = 1.0 - unhit;
    let ring = &sight.rates[number * places..(number + 1) * places];
    seen.rate = finder.locate(to - seen.rtt).of(ring) * pace;
    seen.pace = pace;
    seen
}

/// iXCP: a packet that names link b as its bottleneck gets every link's spare feedback, and b's shuffle
/// feedback besides; the least wins, and the first such link is named next. `own` holds the shares of
/// packets that name each link, the rest names none. Gives the mean feedback; the shares move on by one
/// RTT's way.
fn name_bottleneck(own: &mut [f64], links: &[(usize, f64, f64)], rtts: f64) -> f64 {
    let total: f64 = links.iter().map(|link| own[link.0]).sum();
    let mut feedback = 0.0;
    let mut next = vec![0.0; links.len()];
    let mut vote = |named: Option<usize>, share: f64| {
        // From the last link of the path to the first: `<=` leaves the first of equals.
        let mut least = (f64::INFINITY, 0);
        for (k, (_, spare, shuffle)) in links.iter().enumerate() {
            let gain = if named == Some(k) { spare + shuffle } else { *spare };
            if gain <= least.0 {
                least = (gain, k);
            }
        }
        feedback += share * least.0;
        next[least.1] += share;
    };
    for (k, link) in links.iter().enumerate() {
        vote(Some(k), own[link.0]);
    }
    vote(None, (1.0 - total).max(0.0));
    let moved = rtts.min(1.0);
    for (link, next) in links.iter().zip(next) {
        own[link.0] += moved * (next - own[link.0]);
    }
    feedback
}

//! What a class's past rates bring to the links of its path now.

use crate::at_rest::Step;
use crate::feedback::Kind;
use crate::history::Finder;
use crate::link::{Inflow, Signal};
use crate::model::{Class, Model};
use crate::sender::{Law, Sender};
use crate::state::{EPSILON, State};

/// What there is to look at.
pub struct Ahead<'a> {
    pub model: &'a Model,
    pub nodes: Finder<'a>,
    pub places: usize,
    /// Of each link, its signals in a ring, and the last one.
    pub signals: &'a [Signal],
    pub now: &'a [Signal],
    pub kinds: &'a [Kind],
    pub quiet_from: &'a [f64],
    pub own: &'a [f64],
    /// The step at whose end it is looked at.
    pub step: Step,
}

impl Ahead<'_> {
    /// Adds to `inflows` what the class brings at `to`; `ring` has its rates. `busy` is only room
    /// for the links before the present one that change what passes, and the way there [s].
    #[inline]
    pub fn bring(
        &self,
        to: f64,
        (class, sender, state): (&Class, &Sender, &State),
        ring: &[f64],
        (inflows, busy): (&mut [Inflow], &mut Vec<(usize, f64)>),
    ) {
        let estimate_from = class.start + class.base_rtt - EPSILON;
        let price = match sender.law {
            Law::Explicit { price } => price,
            _ => 0.0,
        };
        let first = class.crossings.0 as usize;
        let mut waited = 0.0;
        busy.clear();
        for (k, crossing) in self.model.path(class).iter().enumerate() {
            let link = crossing.link as usize;
            let at = to - crossing.forward - waited;
            let mut rate = self.nodes.locate(at).of(ring) * class.count;
            for &(link, offset) in busy.iter() {
                rate *= self.signal(link, at + offset).passes(sender.ecn);
            }
            let (inflow, kind) = (&mut inflows[link], self.kinds[link]);
            if crossing.waits {
                if self.quiet_from[link] > at || kind == Kind::Early {
                    busy.push((link, crossing.forward + waited));
                }
                waited += self.now[link].delay;
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
            if at < estimate_from {
                continue;
            }
            match kind {
                Kind::Xcp | Kind::Ixcp if price > 0.0 && at < state.ended => {
                    let flows = class.count * price;
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

    pub fn signal(&self, link: usize, at: f64) -> Signal {
        let place = self.nodes.locate(at);
        let ring = &self.signals[link * self.places..(link + 1) * self.places];
        Signal::between(&ring[place.before], &ring[place.after], place.share)
    }

    /// What a link told in the step that `at` lies in.
    pub fn signal_of_step(&self, link: usize, at: f64) -> &Signal {
        let place = self.nodes.locate(at);
        &self.signals[link * self.places + place.step()]
    }
}

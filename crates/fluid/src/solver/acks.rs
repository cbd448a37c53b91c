//! A class's step where ACKs clock it.

use super::Solver;
use crate::at_rest::Step;
use crate::feedback::Answered;

impl Solver<'_> {
    /// What the ACKs that arrive until the step's end say to class `i`, and what its window makes
    /// of it.
    pub(super) fn look_back_acks(&mut self, i: usize, step: &Step) -> f64 {
        let Step { to_s: to, h_s: h, r, .. } = *step;
        let places = self.nodes.places();
        let ring = &self.rates[i * places..(i + 1) * places];
        let acked = self.clock.come_back(self.nodes.finder(), i, ring, (to, self.states[i].rtt));
        let acks = acked.packets / h;
        // XCP's packets of the first RTT bear no estimate and come back without feedback.
        let pays = if acked.weight > 0.0 { acks } else { 0.0 };
        let flows = acked.weight / h;
        let answered = Answered { to_s: to, h_s: h, sent_pkts_per_s: pays, flows, holds: true };
        let mut seen = self.see(i, answered);
        (seen.rate, seen.pace, seen.acks) = (acks, 1.0, Some(acks * seen.rtt));
        let class = &self.model.classes[i];
        let sender = &self.model.senders[class.group as usize];
        let state = &mut self.states[i];
        state.predict(sender, h, r);
        let error = state.correct((sender, class), &seen, (self.now, to), self.model.packet);
        state.count_acks(class, (to, h), self.clock.ends(i, (class, self.model.path(class))));
        error
    }
}

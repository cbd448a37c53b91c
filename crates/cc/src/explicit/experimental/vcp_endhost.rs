//! VCP without routers: EXPERIMENTAL. Xia, Subramanian, Stoica, Kalyanaraman, "One more bit is
//! enough", ToN 2008, section VIII, names it as future work and no more: packet loss is to tell
//! overload, the variation of the RTT to tell high from low load.
//!
//! The sender makes the code itself, once per t_rho, from the smallest RTT of the period: if that
//! is above the smallest RTT ever seen by more than a margin, a queue has stood all the time and
//! the load is high; otherwise it is low. A loss is overload. What the codes do is VCP's.
//!
//! ```math
//! q = rtt_period - rtt_min                  the least RTT of a period t_rho over the least ever
//! m = max(margin_ratio*rtt_min, margin)     low load while q <= m, high load above (C1)
//! cwnd <- cwnd + (1 + xi)^(srtt/t_rho) - 1  per ACK of low load
//! cwnd <- cwnd + alpha*(srtt/t_rho)^2/cwnd  per ACK of high load
//! cwnd <- max(beta*cwnd, 1)                 at a loss, once, then t_rho of freeze
//! ```
//!
//! Everything but these two sentences of the paper is ours:
//! - C1: the margin, the larger of 5 % of the smallest RTT and 2 ms. A queue begins at a load of
//!   100 %, not of 80 %, so multiplicative increase lasts longer than VCP's and a queue stands in
//!   high load.
//! - C2: a loss during the freeze and the additive increase after it is one with the loss before,
//!   as a code would be; a timeout starts again at one packet, as VCP's does.
//! - C3: a period without an RTT sample keeps its code.
//!
//! A path whose base RTT grows looks like high load for ever; flows that arrive at a standing queue
//! take it for their base RTT and stay at low load until it drains.

use units::{Rate, Span, Time};

use crate::explicit::load::vcp::{VcpSender, VcpSenderParams};
use crate::roles::{Ack, Departing, Echo, Ecn, Loss, LossKind, Sender, SenderContext, Variable};

params! {
    /// The sender's parameters.
    pub struct VcpEndhostParams {
        /// t_rho, the period of the estimate, MI's base and the length of the freeze.
        t_rho: Span = Span::from_millis(200) => (1e-6, 100.0);
        /// The load is high from this part of the smallest RTT on, if the other margin is smaller.
        margin_ratio: f64 = 0.05 => (0.0, 10.0);
        /// The load is high from this queueing delay on, if the other margin is smaller.
        margin: Span = Span::from_millis(2) => (0.0, 100.0);
        /// kappa, in xi = kappa*(1 - rho)/rho at the transition point (eq. 5).
        kappa: f64 = 0.25 => (0.0, 10.0);
        /// alpha, the additive increase per t_rho [packets] (eq. 3).
        alpha: f64 = 1.0 => (0.0, 1000.0);
        /// beta, the factor of the decrease (eq. 4).
        beta: f64 = 0.875 => (0.0, 1.0);
    }
}

/// The end host's part, and all of it.
#[derive(Clone, Debug)]
pub struct VcpEndhostSender {
    vcp: VcpSender,
    t_rho: Span,
    margin_ratio: f64,
    margin: Span,
    /// What the last period said.
    code: Ecn,
    /// The smallest RTT of the running period.
    smallest: Option<Span>,
    period_end: Time,
}

impl VcpEndhostSender {
    fn end_period(&mut self, now: Time, min_rtt: Option<Span>) {
        self.period_end = now + self.t_rho;
        if let (Some(smallest), Some(base)) = (self.smallest.take(), min_rtt) {
            let queueing = smallest.as_secs() - base.as_secs();
            let margin = (self.margin_ratio * base.as_secs()).max(self.margin.as_secs());
            self.code = if queueing > margin { Ecn::Ect0 } else { Ecn::Ect1 };
        }
    }
}

impl Sender for VcpEndhostSender {
    type Params = VcpEndhostParams;
    type Header = ();
    type Receiver = Echo<()>;

    fn new(params: &VcpEndhostParams, context: &SenderContext) -> VcpEndhostSender {
        let VcpEndhostParams { t_rho, kappa, alpha, beta, .. } = *params;
        let vcp = VcpSenderParams { t_rho, t_d: t_rho, kappa, alpha, beta, ..Default::default() };
        VcpEndhostSender {
            vcp: VcpSender::new(&vcp, context),
            t_rho,
            margin_ratio: params.margin_ratio,
            margin: params.margin,
            code: Ecn::Ect1,
            smallest: None,
            period_end: Time::ZERO,
        }
    }

    fn on_send(&mut self, _segment: &Departing) {}

    #[inline]
    fn on_ack(&mut self, ack: &Ack<()>) {
        if let Some(rtt) = ack.rtt {
            self.smallest = Some(self.smallest.map_or(rtt, |smallest| smallest.min(rtt)));
        }
        if ack.now >= self.period_end {
            self.end_period(ack.now, ack.min_rtt);
        }
        self.vcp.hear(ack, self.code);
    }

    fn on_loss(&mut self, loss: &Loss) {
        match loss.kind {
            LossKind::Timeout => self.vcp.on_loss(loss),
            LossKind::DupAcks | LossKind::EcnEcho => self.vcp.overload(loss.now),
        }
    }

    #[inline]
    fn cwnd(&self) -> f64 {
        self.vcp.cwnd()
    }

    fn paces(&self) -> bool {
        self.vcp.paces()
    }

    #[inline]
    fn pacing(&self) -> Option<Rate> {
        self.vcp.pacing()
    }

    const VARIABLES: &'static [Variable] = VcpSender::VARIABLES;

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        self.vcp.probe(sink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ack_after, loss, ms, near, sender_context};

    fn ack(s: &mut VcpEndhostSender, at: u64, rtt: u64, base: u64) -> f64 {
        let before = s.cwnd();
        let min_rtt = Some(Span::from_millis(base));
        s.on_ack(&Ack { min_rtt, ..ack_after(ms(at), Span::from_millis(rtt)) });
        s.cwnd() - before
    }

    fn sender() -> VcpEndhostSender {
        VcpEndhostSender::new(&Default::default(), &sender_context(16.0))
    }

    #[test]
    fn a_queue_that_stands_for_a_period_is_high_load() {
        let mut s = sender();
        // No queue: MI, 1.0625^(200/200) - 1.
        assert!(near(ack(&mut s, 1000, 200, 200), 0.0625));
        // 5 % of 200 ms are the margin: one RTT of 205 ms among longer ones leaves the load low.
        ack(&mut s, 1100, 400, 200);
        ack(&mut s, 1150, 205, 200);
        ack(&mut s, 1201, 400, 200);
        assert_eq!(s.code, Ecn::Ect1);
        // A period in which no RTT is below 215 ms: AI, (215/200)^2 over the window.
        ack(&mut s, 1300, 230, 200);
        let cwnd = s.cwnd();
        assert!(near(ack(&mut s, 1402, 215, 200), 1.075 * 1.075 / cwnd));
        // At 10 ms the margin is 2 ms.
        let mut s = sender();
        ack(&mut s, 1000, 11, 10);
        assert_eq!(s.code, Ecn::Ect1);
        ack(&mut s, 1300, 13, 10);
        assert_eq!(s.code, Ecn::Ect0);
    }

    #[test]
    fn a_loss_is_overload_once_until_the_freeze_is_over() {
        let mut s = sender();
        ack(&mut s, 1000, 200, 200);
        let cwnd = s.cwnd();
        let at = |t, kind| Loss { now: ms(t), ..loss(kind, 16) };
        s.on_loss(&at(1010, LossKind::DupAcks));
        s.on_loss(&at(1100, LossKind::DupAcks));
        assert!(near(s.cwnd(), 0.875 * cwnd));
        assert_eq!(ack(&mut s, 1200, 200, 200), 0.0);
        // Frozen until 1210 ms, then additive increase for one RTT, losses or not.
        s.on_loss(&at(1220, LossKind::DupAcks));
        let cwnd = s.cwnd();
        assert!(near(ack(&mut s, 1230, 200, 200), 1.0 / cwnd));
        ack(&mut s, 1411, 200, 200);
        let cwnd = s.cwnd();
        s.on_loss(&at(1420, LossKind::DupAcks));
        assert!(near(s.cwnd(), 0.875 * cwnd));
        s.on_loss(&at(1500, LossKind::Timeout));
        assert_eq!(s.cwnd(), 1.0);
    }

    /// At a base of 125 ms and a margin of as much, an RTT of 250 ms has a queue of the margin: low
    /// load still, as q <= m says, and of a nanosecond more high load.
    #[test]
    fn a_queue_of_the_margin_is_low_load() {
        let params = VcpEndhostParams { margin: Span::from_millis(125), ..Default::default() };
        for (more, code) in [(0, Ecn::Ect1), (1000, Ecn::Ect0)] {
            let mut s = VcpEndhostSender::new(&params, &sender_context(16.0));
            let rtt = Span(Span::from_millis(250).0 + more);
            let min_rtt = Some(Span::from_millis(125));
            s.on_ack(&Ack { min_rtt, ..ack_after(ms(1000), rtt) });
            assert_eq!(s.code, code, "{more}");
        }
    }

    /// Every figure changed, at t_rho = 100 ms: MI by xi = 0.5*0.2/0.8 per ACK at 100 ms; AI by
    /// 3*(200/100)^2 over the window at 200 ms; a loss leaves 0.5, for 100 ms.
    #[test]
    fn the_figures_are_its_parameters() {
        let params = VcpEndhostParams {
            t_rho: Span::from_millis(100),
            margin_ratio: 0.5,
            kappa: 0.5,
            alpha: 3.0,
            beta: 0.5,
            ..Default::default()
        };
        let mut s = VcpEndhostSender::new(&params, &sender_context(16.0));
        // 49 ms of queue are within a half of 100 ms.
        assert!((ack(&mut s, 1000, 100, 100) - 0.125).abs() < 1e-8);
        ack(&mut s, 1101, 149, 100);
        assert_eq!(s.code, Ecn::Ect1);
        ack(&mut s, 1150, 200, 100);
        let cwnd = s.cwnd();
        assert!(near(ack(&mut s, 1202, 200, 100), 12.0 / cwnd));
        let cwnd = s.cwnd();
        s.on_loss(&Loss { now: ms(1210), ..loss(LossKind::DupAcks, 16) });
        assert!(near(s.cwnd(), 0.5 * cwnd));
        assert_eq!(ack(&mut s, 1309, 200, 100), 0.0);
        assert!(ack(&mut s, 1310, 200, 100) > 0.0);
    }
}

//! TCP-friendly VCP. Xia, Subramanian, Stoica, Kalyanaraman, "One more bit is enough", ToN 2008,
//! section VI-C.
//!
//! The end host is VCP's with the additive increase that goes with its decrease under AIMD of TCP's
//! throughput, alpha = 4*(1 - beta^2)/3 = 0.3125 for beta = 0.875 (Yang, Lam, ICNP 2000). It is not
//! scaled with the RTT, as TCP's is not. The router is VCP's (`queue = "vcp"`) with
//! `marking = "red"`: in overload it writes 11 into some packets only, as RED does, and 10 into the
//! others. A TCP sender with ECN takes 11 as congestion and 01 and 10 as none.
//!
//! ```math
//! cwnd <- cwnd + alpha/cwnd  per ACK of high load, alpha = 0.3125
//! cwnd <- max(beta*cwnd, 1)  at a mark 11, beta = 0.875
//! alpha = 4*(1 - beta^2)/3   for TCP's throughput
//! ```
//!
//! Deviations:
//! - D1: those of [`vcp`](super::vcp) and its limiters for MI.
//! - D2: as in ns-2's RED, no mark before count*p_b reaches 1, then p_b/(2 - count*p_b): gaps are
//!   uniform on 1/p_b..2/p_b.
//!
//! Chosen where the paper says nothing:
//! - C1: p_b, "similar to RED" in the paper: the load factor takes the place of the average queue.
//!   p_b rises from 0 at rho = 1 to max_p at rho = max_rho, and from there, gentle, to 1 at a load
//!   as far above 1 again.
//! - C2: max_rho = 1.2, the load factor of a full line behind which half a bandwidth-delay product
//!   of 80 ms waits being 1.12; max_p = 0.1, RED's.

use units::{Rate, Span};

use super::vcp::{AiScaling, ScalingParams, VcpReceiver, VcpSender, VcpSenderParams};
use crate::roles::{Ack, Departing, EcnUse, Loss, Sender, SenderContext, Variable};

params! {
    /// The sender's parameters.
    pub struct VcpFriendlyParams {
        /// alpha, the additive increase per RTT [packets]; 0.2 = 3*(1 - beta)/(1 + beta) is the
        /// other reading (section VI-C).
        alpha: f64 = 0.3125 => (0.0, 1000.0);
        /// beta, the factor of the decrease (eq. 4).
        beta: f64 = 0.875 => (0.0, 1.0);
        /// How the additive increase depends on the RTT.
        ai_scaling: AiScaling = AiScaling::None;
        /// t_rho, the period of the load factor: MI's base and the length of the freeze.
        t_rho: Span = Span::from_millis(200) => (1e-6, 100.0);
        /// kappa, in xi = kappa*(1 - rho)/rho at the transition point (eq. 5).
        kappa: f64 = 0.25 => (0.0, 10.0);
        /// The load factor transition point, where MI ends (section III-B).
        high_load: f64 = 0.8 => (0.01, 1.0);
    }
}

/// The end host's part: VCP's with another additive increase.
#[derive(Clone, Debug)]
pub struct VcpFriendlySender(VcpSender);

impl Sender for VcpFriendlySender {
    type Params = VcpFriendlyParams;
    type Header = ();
    type Receiver = VcpReceiver;

    fn new(params: &VcpFriendlyParams, context: &SenderContext) -> VcpFriendlySender {
        let VcpFriendlyParams { alpha, beta, ai_scaling, t_rho, kappa, high_load } = *params;
        let scaling = ScalingParams { ai_scaling, ..Default::default() };
        let base = VcpSenderParams::default();
        let vcp = VcpSenderParams { alpha, beta, scaling, t_rho, kappa, high_load, ..base };
        VcpFriendlySender(VcpSender::new(&vcp, context))
    }

    fn ecn(&self) -> EcnUse {
        self.0.ecn()
    }

    #[inline]
    fn on_send(&mut self, segment: &Departing) {
        self.0.on_send(segment);
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack<()>) {
        self.0.on_ack(ack);
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.0.on_loss(loss);
    }

    #[inline]
    fn cwnd(&self) -> f64 {
        self.0.cwnd()
    }

    fn paces(&self) -> bool {
        self.0.paces()
    }

    #[inline]
    fn pacing(&self) -> Option<Rate> {
        self.0.pacing()
    }

    const VARIABLES: &'static [Variable] = VcpSender::VARIABLES;

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        self.0.probe(sink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explicit::load::vcp::{Marking, MarkingParams, VcpRouter, VcpRouterParams};
    use crate::roles::{Backlog, Ecn, PacketKind, Passing, Router};
    use crate::tests::{ack_after, ms, near, passing, router_context, sender_context};

    #[test]
    fn the_router_marks_some_and_calls_the_others_high_load() {
        let marks = MarkingParams { marking: Marking::Red, ..Default::default() };
        let params = VcpRouterParams { marks, ..Default::default() };
        // 10 Mb/s: 245 000 bytes per period; 269.5 kB are rho = 1.1.
        let mut router = VcpRouter::new(&params, &router_context(Rate(10_000_000), 100));
        for i in 0..270 {
            let mut ecn = Ecn::NotCapable;
            let size = if i == 0 { 500 } else { 1000 };
            let packet = Passing { size, ..passing(&mut ecn) };
            router.on_arrival(ms(0), packet, Backlog::default());
        }
        for t in (10..=200).step_by(10) {
            router.on_timer(ms(t), Backlog::default());
        }
        let mut depart = |kind, mut ecn| {
            let packet = Passing { kind, ..passing(&mut ecn) };
            router.on_departure(ms(200), packet, Backlog::default());
            ecn
        };
        // TCP's ECT(0) and VCP's 01: 10, or 11 in one of 30.
        let mut marked = 0;
        for i in 0..3000 {
            let sent = if i % 2 == 0 { Ecn::Ect0 } else { Ecn::Ect1 };
            match depart(PacketKind::Data, sent) {
                Ecn::Ce => marked += 1,
                other => assert_eq!(other, Ecn::Ect0),
            }
        }
        assert!((90..=110).contains(&marked), "{marked}");
        assert_eq!(depart(PacketKind::Data, Ecn::NotCapable), Ecn::NotCapable);
        assert_eq!(depart(PacketKind::Data, Ecn::Ce), Ecn::Ce);
        assert_eq!(depart(PacketKind::Ack, Ecn::Ect1), Ecn::Ect1);
    }

    #[test]
    fn the_increase_is_what_goes_with_the_decrease() {
        let mut s = VcpFriendlySender::new(&Default::default(), &sender_context(10.0));
        // 4*(1 - 0.875^2)/3 = 4*0.234375/3 = 0.3125 per RTT, whatever the RTT.
        assert!(near(VcpFriendlyParams::default().alpha, 4.0 * (1.0 - 0.875 * 0.875) / 3.0));
        for rtt in [20, 800] {
            let before = s.cwnd();
            s.on_ack(&Ack { code: Ecn::Ect0, ..ack_after(ms(0), Span::from_millis(rtt)) });
            assert!(near(s.cwnd() - before, 0.3125 / before));
        }
        let before = s.cwnd();
        s.on_ack(&Ack { code: Ecn::Ce, ..ack_after(ms(1), Span::from_millis(80)) });
        assert!(near(s.cwnd(), 0.875 * before));
    }
}

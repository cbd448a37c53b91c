//! P-XCP. Zhou, Yeung, Li, "P-XCP: a transport layer protocol for satellite IP networks", GLOBECOM
//! 2004, as Zan and Yang describe it ("Improving XCP to achieve max-min fair bandwidth allocation",
//! sections IV-H and VI).
//!
//! XCP ([`super::xcp`]) gives spare bandwidth also to flows that another link holds back. A
//! P-XCP router counts all its flows, N, and those whose feedback it cuts, N_b, and hands out N/N_b
//! times the spare bandwidth, so that those who can use it get all. It sees only what links before
//! it have cut; a bottleneck behind it does not show in the header. Sender and header are XCP's.
//!
//! ```math
//! N = sum(rtt*s/cwnd)/d  flows of the link; N_b the same over those that it holds back
//! phi <- phi*N/N_b       where XCP's phi is positive
//! ```
//!
//! Deviations: those of [`super::xcp`] and its R1, as the rest is XCP's, and
//! - D10: N and N_b are sums of s*rtt/(cwnd*d), N over the arrivals, N_b over the departures of the
//!   interval just ended whose header's feedback was larger than this router's. Without such a
//!   departure the factor is 1.
//! - D11: only positive phi is scaled.
//! - D12: the shuffle is eq. (2) with phi as it was before scaling; `shuffle = "scaled"` has the
//!   other reading.

use super::controlled::{Controlled, INPUT, Law, MEAN_RTT, Meter, QUEUE, Stated, XcpRouterParams};
use super::xcp::{Xcp, XcpHeader, h, phi};
use crate::roles::{RouterContext, Variable};

choice! {
    /// Which phi leaves less to shuffle.
    pub enum Shuffle {
        /// The one of eq. (1).
        Unscaled = "unscaled",
        /// The one that is handed out, N/N_b times as large.
        Scaled = "scaled",
    }
}

params! {
    /// The router's parameters.
    pub struct PxcpRouterParams {
        /// XCP's.
        xcp: XcpRouterParams;
        /// Which phi stands in eq. (2): the unscaled one or N/N_b times that.
        shuffle: Shuffle = Shuffle::Unscaled;
    }
}

/// The law: XCP's with positive phi scaled.
#[derive(Clone, Debug, Default)]
pub struct Pxcp {
    xcp: Xcp,
    /// N_b*d: rtt*s/cwnd of the departures of the running interval that this router held back [s].
    sum_held: f64,
    // Of the last interval.
    n: f64,
    n_b: f64,
}

/// The router's part.
pub type PxcpRouter = Controlled<Pxcp>;

impl Law for Pxcp {
    type Params = PxcpRouterParams;
    type Header = XcpHeader;

    fn common(params: &PxcpRouterParams) -> &XcpRouterParams {
        &params.xcp
    }

    fn new(_: &RouterContext) -> Pxcp {
        Pxcp::default()
    }

    fn decide(&mut self, params: &PxcpRouterParams, meter: &Meter) {
        let (common, d, all) = (&params.xcp, meter.avg_rtt, meter.sum_rtt_by_cwnd);
        (self.n, self.n_b) = (all / d, self.sum_held / d);
        let factor = if self.sum_held > 0.0 { all / self.sum_held } else { 1.0 };
        let unscaled = phi(common, meter);
        let phi = if unscaled > 0.0 { factor * unscaled } else { unscaled };
        let less = match params.shuffle {
            Shuffle::Unscaled => unscaled,
            Shuffle::Scaled => phi,
        };
        let h = h(common, meter.y, d, less);
        self.xcp = Xcp::handing(common, meter, (phi, h), meter.sums());
        self.sum_held = 0.0;
    }

    #[inline]
    fn answer(&mut self, params: &PxcpRouterParams, header: &mut XcpHeader, stated: &Stated) {
        let held = header.feedback;
        let offer = self.xcp.shares.offer(stated.terms(), params.xcp.overdraw);
        header.feedback = self.xcp.shares.answer(stated.rtt, held, offer);
        if held > header.feedback {
            self.sum_held += stated.rtt_by_cwnd;
        }
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("phi", "bytes", "change of all flows' windows together, N/N_b times eq. (1)"),
        Variable::new("h", "bytes", "traffic shuffled between the flows, eq. (2)"),
        Variable::new("n", "", "N, the link's flows"),
        Variable::new("n_b", "", "N_b, the flows that the link holds back"),
        Variable::new("xi_p", "", "scale of what every flow gets; 0 when residue_pos is spent"),
        Variable::new("xi_n", "", "scale of what every flow gives; 0 when residue_neg is spent"),
        Variable::new("residue_pos", "bytes/s", "what may still be given in this interval"),
        Variable::new("residue_neg", "bytes/s", "what must still be taken in this interval"),
        QUEUE,
        MEAN_RTT,
        INPUT,
    ];

    fn probe(&self, meter: &Meter, sink: &mut impl FnMut(&'static str, f64)) {
        sink("phi", self.xcp.phi);
        sink("h", self.xcp.h);
        sink("n", self.n);
        sink("n_b", self.n_b);
        self.xcp.shares.probe(sink);
        meter.probe(sink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Rate;

    use crate::roles::{Backlog, Ecn, Passing, Router};
    use crate::tests::{ms, near, router_context};

    /// A packet of 1000 B with a window of 5000 B and an RTT of 100 ms: rtt*s/cwnd = 0.02 s.
    fn packet(feedback: f64) -> XcpHeader {
        XcpHeader { cwnd: 5000.0, rtt: 0.1, feedback }
    }

    fn depart(router: &mut PxcpRouter, mut header: XcpHeader) -> f64 {
        let mut ecn = Ecn::NotCapable;
        let packet = Passing { header: Some(&mut header), ..crate::tests::passing(&mut ecn) };
        router.on_departure(ms(40), packet, Backlog::default());
        header.feedback
    }

    /// A router at 10 Mb/s to which `n` packets come in the first 50 ms, of which `held` leave with
    /// more feedback than its own, which is 0, and the others with less.
    fn router(shuffle: Shuffle, n: u32, held: u32) -> PxcpRouter {
        let xcp = XcpRouterParams { alpha: 0.04, ..Default::default() };
        let params = PxcpRouterParams { xcp, shuffle };
        let mut router = PxcpRouter::new(&params, &router_context(Rate(10_000_000), 100));
        let mut ecn = Ecn::NotCapable;
        for i in 0..n {
            let mut header = packet(f64::INFINITY);
            let passing = Passing { header: Some(&mut header), ..crate::tests::passing(&mut ecn) };
            router.on_arrival(ms(1), passing, Backlog::default());
            depart(&mut router, packet(if i < held { 1.0 } else { -1.0 }));
        }
        router.on_timer(ms(50), Backlog::default());
        router
    }

    #[test]
    fn spare_bandwidth_is_scaled_by_all_over_those_held_back() {
        let mut r = router(Shuffle::Unscaled, 50, 20);
        // d = 0.1, N = 50*0.02/0.1 = 10, N_b = 4. y = 1e6: eq. (1) is 0.04*0.1*250 000 = 1000.
        assert!(near(r.law.n, 10.0) && near(r.law.n_b, 4.0) && near(r.law.xcp.phi, 2500.0));
        // h = 0.1*1e6*0.1 - 1000; residue_pos = (2500 + 9000)/0.1, residue_neg = 9000/0.1.
        assert!(near(r.law.xcp.h, 9000.0));
        assert!(
            near(r.law.xcp.shares.residue_pos, 115_000.0)
                && near(r.law.xcp.shares.residue_neg, 90_000.0)
        );
        // xi_p = 11 500/(0.1*1), xi_n = 9000/(0.1*50 000): f = 0.1*(115 000*0.02 - 1.8*1000).
        assert!(near(depart(&mut r, packet(f64::INFINITY)), 50.0));
    }

    #[test]
    fn the_shuffle_may_take_the_scaled_phi() {
        // h = 0.1*1e6*0.1 - 2500.
        let r = router(Shuffle::Scaled, 50, 20);
        assert!(near(r.law.xcp.phi, 2500.0) && near(r.law.xcp.h, 7500.0));
    }

    #[test]
    fn nobody_held_back_makes_the_factor_one() {
        let r = router(Shuffle::Unscaled, 50, 0);
        assert_eq!(r.law.n_b, 0.0);
        assert!(near(r.law.xcp.phi, 1000.0) && near(r.law.xcp.h, 9000.0));
    }

    #[test]
    fn overload_is_not_scaled() {
        // 100 packets: y = 2e6, phi = 0.04*0.1*(-750 000).
        let r = router(Shuffle::Unscaled, 100, 20);
        assert!(near(r.law.n / r.law.n_b, 5.0) && near(r.law.xcp.phi, -3000.0));
    }

    #[test]
    fn equal_feedback_does_not_count_as_held_back() {
        let mut r = router(Shuffle::Unscaled, 50, 20);
        r.law.sum_held = 0.0;
        let ours = depart(&mut r.clone(), packet(f64::INFINITY));
        assert_eq!(depart(&mut r, packet(ours)), ours);
        assert_eq!(r.law.sum_held, 0.0);
        depart(&mut r, packet(ours * 1.01));
        assert!(near(r.law.sum_held, 0.02));
    }
}

//! XCP with another fairness controller: Katabi, Handley, Rohrs, "Congestion control for high
//! bandwidth-delay product networks", SIGCOMM 2002, section 3.5.2, whose point is that efficiency
//! and fairness are apart, so that any law that leads to fairness may stand in AIMD's place.
//!
//! Here it is that of binomial congestion control (Bansal, Balakrishnan, INFOCOM 2001): a flow of
//! rate x increases in proportion to x^-k and decreases in proportion to x^l. XCP's AIMD is k = 0,
//! l = 1; IIAD is k = 1, l = 0, SQRT is k = l = 1/2. With k + l > 0 rates become equal; how fast,
//! and what a new flow gets at first, is what differs. From dx_i ~ x_i^-k, as eq. (4) follows from
//! dx_i equal for all.
//!
//! ```math
//! x = cwnd/rtt                                      the rate that a packet of s bytes states
//! p_i = xi_p*rtt*s*x^(-(k + 1))                     what it is given
//! n_i = xi_n*rtt*s*x^(l - 1)                        what is taken from it
//! xi_p = (h + max(phi, 0))/(d*sum(s*x^(-(k + 1))))  over the packets of an interval
//! xi_n = (h + max(-phi, 0))/(d*sum(s*x^(l - 1)))
//! ```
//!
//! Everything else is XCP's ([`super::xcp`]), its deviations, R1, its header and its sender with
//! it. With k = 0 and l = 1 the two are the same but for D1.
//!
//! Deviations: those of [`super::xcp`], and
//! - D10: packets without an RTT have no x and no part in the sum of eq. (9).

use units::math;

use super::controlled::{Controlled, INPUT, Law, MEAN_RTT, Meter, QUEUE, Stated, XcpRouterParams};
use super::xcp::{Xcp, XcpHeader};
use crate::roles::{RouterContext, Variable};

params! {
    /// The router's parameters.
    pub struct XcpLawRouterParams {
        /// XCP's.
        xcp: XcpRouterParams;
        /// k, by which increases fall with the rate.
        k: f64 = 0.5 => (0.0, 2.0);
        /// l, by which decreases rise with the rate.
        l: f64 = 0.5 => (0.0, 2.0);
    }
    presets {
        /// XCP's own law.
        "aimd" { k = Number(0.0), l = Number(1.0) }
        /// Bansal and Balakrishnan's SQRT.
        "sqrt" { k = Number(0.5), l = Number(0.5) }
        /// Bansal and Balakrishnan's IIAD, inverse increase and additive decrease.
        "iiad" { k = Number(1.0), l = Number(0.0) }
    }
}

/// The law: XCP's with these powers of the rate.
#[derive(Clone, Debug, Default)]
pub struct Binomial {
    xcp: Xcp,
    /// Sums over the arrivals of the running interval: s*x^-(k+1) and s*x^(l-1).
    sums: (f64, f64),
}

/// s*x^-(k+1) and s*x^(l-1) of a packet.
fn terms(params: &XcpLawRouterParams, header: &XcpHeader, stated: &Stated) -> (f64, f64) {
    let x = header.cwnd / header.rtt;
    let &XcpLawRouterParams { k, l, .. } = params;
    (stated.size * math::pow(x, -(k + 1.0)), stated.size * math::pow(x, l - 1.0))
}

/// The router's part.
pub type XcpLawRouter = Controlled<Binomial>;

impl Law for Binomial {
    type Params = XcpLawRouterParams;
    type Header = XcpHeader;

    fn common(params: &XcpLawRouterParams) -> &XcpRouterParams {
        &params.xcp
    }

    fn new(_: &RouterContext) -> Binomial {
        Binomial::default()
    }

    #[inline]
    fn sample(&mut self, params: &XcpLawRouterParams, header: &XcpHeader, stated: &Stated) {
        let (pos, neg) = terms(params, header, stated);
        self.sums = (self.sums.0 + pos, self.sums.1 + neg);
    }

    fn decide(&mut self, params: &XcpLawRouterParams, meter: &Meter) {
        self.xcp = Xcp::of(&params.xcp, meter, self.sums);
        self.sums = (0.0, 0.0);
    }

    #[inline]
    fn answer(&mut self, params: &XcpLawRouterParams, header: &mut XcpHeader, stated: &Stated) {
        let offer = self.xcp.shares.offer(terms(params, header, stated), params.xcp.overdraw);
        header.feedback = self.xcp.shares.answer(stated.rtt, header.feedback, offer);
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("phi", "bytes", "change of the flows' windows together, eq. (1)"),
        Variable::new("h", "bytes", "traffic shuffled between the flows, eq. (2)"),
        QUEUE,
        MEAN_RTT,
        INPUT,
    ];

    fn probe(&self, meter: &Meter, sink: &mut impl FnMut(&'static str, f64)) {
        sink("phi", self.xcp.phi);
        sink("h", self.xcp.h);
        meter.probe(sink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Rate;

    use crate::roles::{Backlog, Ecn, Passing, Router};
    use crate::tests::{ms, near, router_context};

    /// Packets of 1000 B of two flows at 125 ms, of 8000 and 32 000 B: 64 and 256 kB/s.
    fn packet(cwnd: f64) -> XcpHeader {
        XcpHeader { cwnd, rtt: 0.125, feedback: f64::INFINITY }
    }

    fn pass(router: &mut XcpLawRouter, mut header: XcpHeader, departs: bool) -> f64 {
        let mut ecn = Ecn::NotCapable;
        let packet = Passing { header: Some(&mut header), ..crate::tests::passing(&mut ecn) };
        if departs {
            router.on_departure(ms(60), packet, Backlog::default());
        } else {
            router.on_arrival(ms(1), packet, Backlog::default());
        }
        header.feedback
    }

    /// 10 packets of the one and 40 of the other in 50 ms at 10 Mb/s: y = 1e6, phi = 0.04*0.125*250
    /// 000 = 1250, h = 12 500 - 1250 = 11 250. What an interval gives the two [bytes].
    fn given(k: f64, l: f64) -> (f64, f64) {
        let xcp = XcpRouterParams { alpha: 0.04, ..Default::default() };
        let params = XcpLawRouterParams { xcp, k, l };
        let mut r = XcpLawRouter::new(&params, &router_context(Rate(10_000_000), 100));
        (0..10).for_each(|_| {
            pass(&mut r, packet(8000.0), false);
        });
        (0..40).for_each(|_| {
            pass(&mut r, packet(32_000.0), false);
        });
        r.on_timer(ms(50), Backlog::default());
        assert!(near(r.law.xcp.phi, 1250.0) && near(r.law.xcp.h, 11_250.0));
        (10.0 * pass(&mut r, packet(8000.0), true), 40.0 * pass(&mut r, packet(32_000.0), true))
    }

    /// The scales grow, and not what there is to give.
    #[test]
    fn scaled_xi_gives_sooner_and_no_more() {
        let [plain, scaled] = [1.0, 1.5].map(|xi_scale| {
            let xcp = XcpRouterParams { alpha: 0.04, xi_scale, ..Default::default() };
            let params = XcpLawRouterParams { xcp, ..Default::default() };
            let mut r = XcpLawRouter::new(&params, &router_context(Rate(10_000_000), 100));
            pass(&mut r, packet(8000.0), false);
            r.on_timer(ms(50), Backlog::default());
            r.law.xcp.shares
        });
        assert!(plain.xi_p > 0.0 && near(scaled.xi_p, 1.5 * plain.xi_p));
        assert!(near(scaled.xi_n, 1.5 * plain.xi_n));
        assert!(near(scaled.residue_pos, plain.residue_pos));
    }

    /// 12 500 are given and 11 250 taken, by these parts of the slow flow and of one four times as
    /// fast: AIMD 1:1 and 1:4; SQRT 1:1/2 and 1:2; IIAD 1:1/4 and 1:1.
    #[test]
    fn each_law_gives_and_takes_by_its_powers_of_the_rate() {
        for ((k, l), (gets, gives)) in [
            ((0.0, 1.0), (1.0 / 2.0, 1.0 / 5.0)),
            ((0.5, 0.5), (2.0 / 3.0, 1.0 / 3.0)),
            ((1.0, 0.0), (4.0 / 5.0, 1.0 / 2.0)),
        ] {
            let (slow, fast) = given(k, l);
            assert!(near(slow, 12_500.0 * gets - 11_250.0 * gives), "{k} {l} {slow}");
            assert!(near(slow + fast, 1250.0), "{k} {l}: phi");
        }
    }
}

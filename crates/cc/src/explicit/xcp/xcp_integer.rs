//! XCP in integers, as a router without floating point computes it. Zhang, Henderson, "An
//! implementation and experimental study of the explicit control protocol (XCP)", INFOCOM 2005,
//! found that a header without fractions and integer divisions keep a link from being filled.
//!
//! The router is XCP's ([`super::xcp`]), its deviations and R1 with it, but that the feedback which
//! it writes is a whole number of units u, rounded down. A packet of s bytes so loses half a unit
//! on average, and the efficiency controller makes up for it with spare bandwidth: u/(2 alpha s) of
//! the link stays unused.
//!
//! ```math
//! feedback <- u*floor(feedback/u)  what XCP gives, in whole units u
//! alpha*d*(C - y) = u*y*d/(2*s)  at rest: the spare bandwidth makes up for half a unit per packet
//! ```
//!
//! Deviations: those of [`super::xcp`], and
//! - D10: the interval's sums, phi and the scales xi stay real: what is lost is lost packet by
//!   packet, in the last step, as in a header without fractions.

use units::math;

use super::controlled::{Controlled, INPUT, Law, MEAN_RTT, Meter, QUEUE, Stated, XcpRouterParams};
use super::xcp::{Xcp, XcpHeader};
use crate::roles::{RouterContext, Variable};

params! {
    /// The router's parameters.
    pub struct XcpIntegerRouterParams {
        /// XCP's.
        xcp: XcpRouterParams;
        /// The unit of H_feedback [bytes].
        unit: f64 = 1.0 => (0.001, 1e6);
    }
}

/// The law: XCP's, in whole units.
#[derive(Clone, Debug, Default)]
pub struct Whole {
    xcp: Xcp,
    /// What rounding has taken from the packets of the running interval, and of the last one
    /// [bytes].
    losing: f64,
    lost: f64,
}

/// The router's part.
pub type XcpIntegerRouter = Controlled<Whole>;

impl Law for Whole {
    type Params = XcpIntegerRouterParams;
    type Header = XcpHeader;

    fn common(params: &XcpIntegerRouterParams) -> &XcpRouterParams {
        &params.xcp
    }

    fn new(_: &RouterContext) -> Whole {
        Whole::default()
    }

    fn decide(&mut self, params: &XcpIntegerRouterParams, meter: &Meter) {
        self.xcp = Xcp::of(&params.xcp, meter, meter.sums());
        (self.lost, self.losing) = (self.losing, 0.0);
    }

    #[inline(never)] // the hot path has the dispatch alone
    fn answer(&mut self, params: &XcpIntegerRouterParams, header: &mut XcpHeader, stated: &Stated) {
        let offer = self.xcp.shares.offer(stated.terms(), params.xcp.overdraw);
        let exact = self.xcp.shares.answer(stated.rtt, header.feedback, offer);
        let whole = params.unit * math::floor(exact / params.unit);
        if whole.is_finite() {
            self.losing += exact - whole;
            header.feedback = whole;
        } else {
            header.feedback = exact;
        }
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("phi", "bytes", "change of the flows' windows together, eq. (1)"),
        Variable::new("h", "bytes", "traffic shuffled between the flows, eq. (2)"),
        Variable::new("lost", "bytes", "what rounding took from the last interval's packets"),
        QUEUE,
        MEAN_RTT,
        INPUT,
    ];

    fn probe(&self, meter: &Meter, sink: &mut impl FnMut(&'static str, f64)) {
        sink("phi", self.xcp.phi);
        sink("h", self.xcp.h);
        sink("lost", self.lost);
        meter.probe(sink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Rate;

    use crate::roles::{Backlog, Ecn, Passing, Router};
    use crate::tests::{ms, near, router_context};

    /// 20 packets of 1000 B in 50 ms at 8 Mb/s: y = 400 000, phi = 0.4*0.125*600 000 = 30 000,
    /// h = 0. Windows of 20 000 B at 125 ms: rtt*s/cwnd = 6.25 ms each, 125 ms in all; xi_p = 30
    /// 000/(0.125 * 0.125), and a packet gets rtt*xi_p*0.00625 = 1500 B. In units of 400 B that
    /// is 1200.
    #[test]
    fn feedback_is_a_whole_number_of_units() {
        for (unit, feedback, lost) in [(1.0, 1500.0, 0.0), (400.0, 1200.0, 300.0)] {
            let params = XcpIntegerRouterParams { unit, ..Default::default() };
            let mut router = XcpIntegerRouter::new(&params, &router_context(Rate(8_000_000), 100));
            let full = XcpHeader { cwnd: 20_000.0, rtt: 0.125, feedback: f64::INFINITY };
            let mut ecn = Ecn::NotCapable;
            for _ in 0..20 {
                let mut header = full;
                let packet =
                    Passing { header: Some(&mut header), ..crate::tests::passing(&mut ecn) };
                router.on_arrival(ms(1), packet, Backlog::default());
            }
            router.on_timer(ms(50), Backlog::default());
            let mut header = full;
            let packet = Passing { header: Some(&mut header), ..crate::tests::passing(&mut ecn) };
            router.on_departure(ms(60), packet, Backlog::default());
            assert!((header.feedback - feedback).abs() <= 1.0, "{unit}: {}", header.feedback);
            assert!(near(router.law.losing, lost) || unit == 1.0, "{}", router.law.losing);
        }
    }

    /// A packet that asks for -1500 B leaves with -1600 in units of 400, rounded down; the 100 are
    /// the last interval's after the next. Without a bound on what is asked there is none to round.
    #[test]
    fn rounding_is_down_and_counted_by_interval() {
        let params = XcpIntegerRouterParams { unit: 400.0, ..Default::default() };
        let mut router = XcpIntegerRouter::new(&params, &router_context(Rate(8_000_000), 100));
        let mut ecn = Ecn::NotCapable;
        let mut header = XcpHeader { cwnd: 20_000.0, rtt: 0.125, feedback: -1500.0 };
        let packet = Passing { header: Some(&mut header), ..crate::tests::passing(&mut ecn) };
        router.on_departure(ms(10), packet, Backlog::default());
        assert_eq!((header.feedback, router.law.losing, router.law.lost), (-1600.0, 100.0, 0.0));
        router.on_timer(ms(50), Backlog::default());
        assert_eq!((router.law.losing, router.law.lost), (0.0, 100.0));
    }
}

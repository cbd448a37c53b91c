//! XCP with another fairness controller: Katabi, Handley, Rohrs, "Congestion control for high
//! bandwidth-delay product networks", SIGCOMM 2002, section 3.5.2, whose point is that efficiency and
//! fairness are apart, so that any law that leads to fairness may stand in AIMD's place.
//!
//! Here it is that of binomial congestion control (Bansal, Balakrishnan, INFOCOM 2001): a flow of rate x
//! increases in proportion to x^-k and decreases in proportion to x^l. XCP's AIMD is k = 0, l = 1;
//! IIAD is k = 1, l = 0, SQRT is k = l = 1/2. With k + l > 0 rates become equal; how fast, and what a new
//! flow gets at first, is what differs. From dx_i ~ x_i^-k, as eq. (4) follows from dx_i equal for all:
//!
//! ```text
//! p_i = xi_p rtt_i s_i x_i^-(k+1)    xi_p = (h + max(phi, 0)) / (d sum s_i x_i^-(k+1))
//! n_i = xi_n rtt_i s_i x_i^(l-1)     xi_n = (h + max(-phi, 0)) / (d sum s_i x_i^(l-1))
//! ```
//!
//! with x_i = cwnd_i/rtt_i. Everything else is XCP's ([`crate::explicit::xcp`]), its deviations, R1 and
//! its header and sender with it. With k = 0 and l = 1 the two are the same but for the sum of the
//! bytes, which here is of packets with an RTT:
//!
//! - D1: packets without an RTT have no x and no part in the sum of eq. (9).

use units::{Rate, Span, Time, math};

use crate::explicit::xcp::{XcpHeader, xcp_router_params};
use crate::explicit::xcp_common::{Meter, Shares, believed, ratio};
use crate::roles::{Backlog, Passing, Router, RouterContext, Service, Variable, Verdict};

xcp_router_params! {
    /// The router's parameters.
    pub struct XcpLawRouterParams {
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

/// The router's part.
#[derive(Clone, Debug)]
pub struct XcpLawRouter {
    params: XcpLawRouterParams,
    meter: Meter,
    /// Sums over the arrivals of the running interval: s*x^-(k+1) and s*x^(l-1).
    sums: (f64, f64),
    // The outcome of the last interval, by the paper's names.
    phi: f64,
    h: f64,
    shares: Shares,
}

impl XcpLawRouter {
    /// s*x^-(k+1) and s*x^(l-1) of a packet.
    fn terms(&self, header: &XcpHeader, size: f64) -> (f64, f64) {
        let x = header.cwnd / header.rtt;
        let XcpLawRouterParams { k, l, .. } = self.params;
        (size * math::pow(x, -(k + 1.0)), size * math::pow(x, l - 1.0))
    }

    fn end_interval(&mut self, now: Time) {
        let XcpLawRouterParams { alpha, beta, gamma, target_queue, .. } = self.params;
        let meter = &mut self.meter;
        meter.measure(now);
        let d = meter.avg_rtt;
        self.phi = meter.phi(alpha, beta, target_queue);
        self.h = (gamma * meter.y * d - self.phi.abs()).max(0.0); // eq. (2)
        let (pos, neg) = (self.phi.max(0.0) + self.h, (-self.phi).max(0.0) + self.h);
        self.shares = Shares {
            xi_p: self.params.xi_scale * ratio(pos, d * self.sums.0),
            xi_n: self.params.xi_scale * ratio(neg, d * self.sums.1),
            residue_pos: pos / d,
            residue_neg: neg / d,
        };
        self.sums = (0.0, 0.0);
        meter.restart(now, self.params.min_interval);
    }
}

impl Router for XcpLawRouter {
    type Params = XcpLawRouterParams;
    type Header = XcpHeader;

    fn new(params: &XcpLawRouterParams, context: &RouterContext) -> XcpLawRouter {
        let capacity = believed(context.capacity, params.capacity_error);
        let shortest = (params.min_interval, params.min_queue_window);
        XcpLawRouter {
            meter: Meter::new(capacity, params.initial_interval, shortest, params.max_rtt),
            sums: (0.0, 0.0),
            phi: 0.0,
            h: 0.0,
            shares: Shares::default(),
            params: params.clone(),
        }
    }

    fn service(params: &XcpLawRouterParams) -> Service {
        if params.acks_first { Service::AcksFirst } else { Service::Fifo }
    }

    #[inline]
    fn on_arrival(
        &mut self,
        _now: Time,
        packet: Passing<'_, XcpHeader>,
        backlog: Backlog,
    ) -> Verdict {
        let size = f64::from(packet.size);
        self.meter.arrive(size, backlog);
        if let Some(header) = packet.header
            && header.has_estimate()
        {
            self.meter.sample(header.rtt, header.rtt * size / header.cwnd);
            let (pos, neg) = self.terms(header, size);
            self.sums = (self.sums.0 + pos, self.sums.1 + neg);
        }
        Verdict::Forward
    }

    #[inline]
    fn on_departure(&mut self, _now: Time, packet: Passing<'_, XcpHeader>, _backlog: Backlog) {
        let Some(header) = packet.header else { return };
        if !header.has_estimate() {
            header.pass_without_estimate();
            return;
        }
        let (pos, neg) = self.terms(header, f64::from(packet.size));
        let offer = self.shares.offer(pos, neg, self.params.overdraw);
        header.feedback = self.shares.answer(header.rtt, header.feedback, offer);
    }

    fn next_timer(&self) -> Time {
        self.meter.next_timer()
    }

    fn on_timer(&mut self, now: Time, backlog: Backlog) {
        if now >= self.meter.window_end {
            self.meter.end_queue_window(
                now,
                backlog,
                (self.params.queue_window, self.params.min_queue_window),
            );
        }
        if now >= self.meter.interval_end {
            self.end_interval(now);
        }
    }

    /// The running interval ends as planned; its spare bandwidth is taken from the new capacity.
    fn on_capacity(&mut self, _now: Time, capacity: Rate) {
        self.meter.capacity = believed(capacity, self.params.capacity_error);
    }

    fn retune(&mut self, params: &XcpLawRouterParams, context: &RouterContext) {
        self.params = params.clone();
        self.meter.capacity = believed(context.capacity, params.capacity_error);
        self.meter.max_rtt = params.max_rtt.as_secs();
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("phi", "bytes", "change of the flows' windows together, eq. (1)"),
        Variable::new("h", "bytes", "traffic shuffled between the flows, eq. (2)"),
        Variable::new(
            "persistent_queue",
            "bytes",
            "Q, the queue that did not drain in a propagation delay",
        ),
        Variable::new("avg_rtt", "s", "d, the flows' mean RTT and the control interval"),
        Variable::new("input_traffic", "bytes/s", "y, the rate of arrivals in the last interval"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("phi", self.phi);
        sink("h", self.h);
        sink("persistent_queue", self.meter.persistent_queue);
        sink("avg_rtt", self.meter.avg_rtt);
        sink("input_traffic", self.meter.y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::Ecn;
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

    /// 10 packets of the one and 40 of the other in 50 ms at 10 Mb/s: y = 1e6, phi = 0.04*0.125*250 000
    /// = 1250, h = 12 500 - 1250 = 11 250. What an interval gives the two [bytes].
    fn given(k: f64, l: f64) -> (f64, f64) {
        let params = XcpLawRouterParams { k, l, alpha: 0.04, ..Default::default() };
        let mut r = XcpLawRouter::new(&params, &router_context(Rate(10_000_000), 100));
        (0..10).for_each(|_| {
            pass(&mut r, packet(8000.0), false);
        });
        (0..40).for_each(|_| {
            pass(&mut r, packet(32_000.0), false);
        });
        r.on_timer(ms(50), Backlog::default());
        assert!(near(r.phi, 1250.0) && near(r.h, 11_250.0));
        (10.0 * pass(&mut r, packet(8000.0), true), 40.0 * pass(&mut r, packet(32_000.0), true))
    }

    /// The scales grow, and not what there is to give.
    #[test]
    fn scaled_xi_gives_sooner_and_no_more() {
        let [plain, scaled] = [1.0, 1.5].map(|xi_scale| {
            let params = XcpLawRouterParams { alpha: 0.04, xi_scale, ..Default::default() };
            let mut r = XcpLawRouter::new(&params, &router_context(Rate(10_000_000), 100));
            pass(&mut r, packet(8000.0), false);
            r.on_timer(ms(50), Backlog::default());
            r.shares
        });
        assert!(plain.xi_p > 0.0 && near(scaled.xi_p, 1.5 * plain.xi_p));
        assert!(near(scaled.xi_n, 1.5 * plain.xi_n));
        assert!(near(scaled.residue_pos, plain.residue_pos));
    }

    /// 12 500 are given and 11 250 taken, by these parts of the slow flow and of one four times as fast:
    /// AIMD 1:1 and 1:4; SQRT 1:1/2 and 1:2; IIAD 1:1/4 and 1:1.
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

//! The OSU scheme. Jain, Kalyanaraman, Viswanathan, "The OSU scheme for congestion avoidance using
//! explicit rate indication", ATM Forum 94-0883, 1994; "The OSU scheme for
//! congestion avoidance in ATM networks: lessons learnt and extensions", Performance Evaluation
//! 31(1-2), 1997.
//!
//! A switch measures the load level z of each averaging interval, the input over its target rate.
//! Outside of a target utilization band around 1 every flow is told to divide its rate by z, which
//! brings the load into the band at once and leaves the rates' proportions alone. Within the band
//! flows below the fair share, target/N, and those above it are told different factors, which keep
//! the load in the band and bring the rates together.
//!
//! ```math
//! LAF = z              outside of the band, abs(z - 1) > delta
//! LAF = z/(1 + delta)  within it, of flows below the fair share
//! LAF = z/(1 - delta)  of flows above it
//! ```
//!
//! A cell carries the largest LAF of its way. The source's new rate is the cell's rate over LAF; it
//! takes that if LAF >= 1 and the rate is a decrease, or if LAF < 1 and it is an increase.
//!
//! Deviations: A1 to A3 of [`super::abr`], and
//! - D1: a source changes its rate once per RTT and two averaging intervals, so that the z that it
//!   answers is of traffic with its last change inside. The paper's sources send a control cell per
//!   averaging interval.
//! - D2: the answer to the first packet is the fair share, which ER brings back. The paper
//!   negotiates the first rate.
//! - D3: a rate that is the fair share to the bit is one above it. The scheme's pseudo-code, as
//!   Kalyanaraman's thesis prints it (Ohio State University, 1997, appendix), counts it as one
//!   below.

use units::{Span, Time};

use super::abr::{Grant, Interval, RmCell, Switch, SwitchParams};
use super::rated::{Pace, RATES, Rated, Told};
use crate::roles::{Ack, Departing, Variable};

params! {
    /// The switch's parameters.
    pub struct OsuRouterParams {
        /// What all such switches have.
        switch: SwitchParams;
        /// delta, half the width of the target utilization band.
        delta: f64 = 0.1 => (0.001, 0.9);
    }
}

params! {
    /// The source's parameter.
    pub struct OsuSenderParams {
        /// T, the switches' averaging interval (D1).
        interval: Span = Span::from_millis(50) => (1e-4, 10.0);
    }
}

/// The switch.
pub type OsuRouter = Switch<Band>;

/// Its law.
#[derive(Clone, Debug, Default)]
pub struct Band;

/// LAF for a flow of this rate.
fn factor(params: &OsuRouterParams, interval: &Interval, rate: f64) -> f64 {
    let (z, delta) = (interval.z.clamp(1e-3, 1e3), params.delta);
    if (z - 1.0).abs() > delta {
        z
    } else if rate < interval.fair_share() {
        z / (1.0 + delta)
    } else {
        z / (1.0 - delta)
    }
}

impl Grant for Band {
    type Params = OsuRouterParams;

    fn switch(params: &OsuRouterParams) -> &SwitchParams {
        &params.switch
    }

    fn answer(&mut self, params: &OsuRouterParams, interval: &Interval, cell: &mut RmCell) {
        cell.laf = cell.laf.max(factor(params, interval, cell.rate()));
        cell.er = cell.er.min(interval.fair_share()); // D2
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("z", "", "load level of the last interval: input over the target"),
        Variable::new("n", "", "N, flows that sent in it"),
        Variable::new("fair_share", "bytes/s", "the target over N"),
    ];

    fn probe(&self, interval: &Interval, sink: &mut impl FnMut(&'static str, f64)) {
        sink("z", interval.z);
        sink("n", interval.n);
        sink("fair_share", interval.fair_share());
    }
}

/// The end host's part.
pub type OsuSender = Rated<Osu>;

/// It divides its rate by LAF.
#[derive(Clone, Debug)]
pub struct Osu {
    interval: Span,
    /// No change of the rate before.
    next_change: Time,
}

impl Told for Osu {
    type Params = OsuSenderParams;
    type Header = RmCell;

    fn new(params: &OsuSenderParams) -> Osu {
        Osu { interval: params.interval, next_change: Time::ZERO }
    }

    fn ask(&self, pace: Pace, _: &Departing) -> RmCell {
        RmCell { ccr: pace.rate, er: f64::INFINITY, laf: 0.0 }
    }

    fn answer(&mut self, pace: Pace, ack: &Ack<RmCell>) -> Option<f64> {
        let RmCell { ccr, er, laf } = ack.header;
        if !RATES.contains(&er) || !(1e-4..=1e4).contains(&laf) || ack.now < self.next_change {
            return None;
        }
        let first = pace.rate == 0.0;
        let rate = if first { er } else { ccr / laf };
        let rises = rate > pace.rate;
        if !first && rises == (laf >= 1.0) || !RATES.contains(&rate) {
            return None;
        }
        let rtt = ack.srtt.unwrap_or(Span::ZERO);
        self.next_change = ack.now + rtt + self.interval + self.interval;
        Some(rate)
    }

    const VARIABLES: &'static [Variable] =
        &[Variable::new("tcr", "bytes/s", "the source's rate; 0 before the first answer")];

    fn probe(&self, rate: f64, sink: &mut impl FnMut(&'static str, f64)) {
        sink("tcr", rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Rate;

    use crate::roles::{Router, Sender};
    use crate::tests::{ack_after, ms, near, router_context, sender_context};

    fn router(z: f64, n: f64) -> OsuRouter {
        let context = router_context(Rate(10_000_000), 100);
        let mut router = OsuRouter::new(&OsuRouterParams::default(), &context);
        (router.interval.z, router.interval.n) = (z, n);
        router
    }

    fn laf_of(router: &OsuRouter, rate: f64) -> f64 {
        factor(&router.params, &router.interval, rate)
    }

    /// The target is 1,125,000 bytes/s; with three flows the fair share is 375,000.
    #[test]
    fn within_the_band_flows_are_told_apart() {
        for (z, rate, laf) in [
            (1.5, 100_000.0, 1.5),
            (0.5, 900_000.0, 0.5),
            (1.05, 100_000.0, 1.05 / 1.1),
            (1.05, 900_000.0, 1.05 / 0.9),
            (1.05, 375_000.0, 1.05 / 0.9),
            (0.95, 374_000.0, 0.95 / 1.1),
        ] {
            assert!(near(laf_of(&router(z, 3.0), rate), laf), "{z} {rate}");
        }
    }

    /// Two flows at 900,000 and 225,000 bytes/s, together the target: by (1 - delta) and (1 +
    /// delta) they come to 810,000 and 247,500, at z = 0.94 of the target.
    #[test]
    fn rates_come_together_and_the_load_stays_in_the_band() {
        let mut rates = [900_000.0, 225_000.0];
        for step in 0..40 {
            let z = (rates[0] + rates[1]) / 1_125_000.0;
            let r = router(z, 2.0);
            assert!(step == 0 || (z - 1.0).abs() <= 0.1 + 1e-9, "{z}");
            rates = rates.map(|rate| rate / laf_of(&r, rate));
            if step == 0 {
                assert!(near(rates[0], 810_000.0) && near(rates[1], 247_500.0), "{rates:?}");
            }
        }
        // Each within the band's width of the fair share, 562,500.
        assert!(rates.iter().all(|rate| (rate / 562_500.0 - 1.0).abs() < 0.23), "{rates:?}");
    }

    #[test]
    fn the_source_takes_only_what_the_factor_means() {
        let mut s = OsuSender::new(&OsuSenderParams::default(), &sender_context(10.0));
        let mut hear = |at, ccr, er, laf| {
            let header = RmCell { ccr, er, laf };
            s.on_ack(&Ack { header, ..ack_after(ms(at), Span::from_millis(100)) });
            s.pace.rate
        };
        // The first answer; then nothing for 100 ms and two intervals of 50 ms.
        assert_eq!(hear(100, 0.0, 375_000.0, 0.5), 375_000.0);
        assert_eq!(hear(299, 375_000.0, 1.0, 2.0), 375_000.0);
        assert_eq!(hear(300, 375_000.0, 1.0, 1.25), 300_000.0);
        // An old cell of a higher rate: 900,000/1.2 would be an increase by a factor above 1.
        assert_eq!(hear(500, 900_000.0, 1.0, 1.2), 300_000.0);
        assert_eq!(hear(501, 100_000.0, 1.0, 0.8), 300_000.0);
        assert_eq!(hear(502, 300_000.0, 1.0, 0.75), 400_000.0);
    }

    /// What a cell keeps: the largest factor and the least fair share of its way (D2). A factor of
    /// 1 leaves the rate that the cell was sent with; one of a rate that grew is no decrease.
    #[test]
    fn a_cell_has_the_worst_of_its_way() {
        let mut r = router(1.5, 3.0);
        for (er, laf, left) in
            [(f64::INFINITY, 0.0, (375_000.0, 1.5)), (1000.0, 1.75, (1000.0, 1.75))]
        {
            let mut cell = RmCell { ccr: 100_000.0, er, laf };
            r.law.answer(&r.params, &r.interval, &mut cell);
            assert_eq!((cell.er, cell.laf), left);
        }
        // z has bounds, for a switch that nothing or far too much has come to.
        assert!(near(laf_of(&router(0.0, 1.0), 1.0), 1e-3));
        assert!(near(laf_of(&router(1e5, 1.0), 1.0), 1e3));
    }

    /// A factor or a rate that no router gives is no answer, whatever the other is.
    #[test]
    fn an_answer_out_of_range_is_none() {
        let mut s = OsuSender::new(&OsuSenderParams::default(), &sender_context(10.0));
        let mut hear = |at, ccr, er, laf| {
            let header = RmCell { ccr, er, laf };
            s.on_ack(&Ack { header, ..ack_after(ms(at), Span::from_millis(100)) });
            s.pace.rate
        };
        assert_eq!(hear(100, 0.0, 375_000.0, 0.0), 0.0);
        assert_eq!(hear(101, 0.0, 375_000.0, 1.0), 375_000.0);
        assert_eq!(hear(1000, 375_000.0, f64::INFINITY, 0.75), 375_000.0);
        assert_eq!(hear(1001, 375_000.0, 1.0, 0.75), 500_000.0);
    }
}

//! ERICA, explicit rate indication for congestion avoidance. Jain, Kalyanaraman, Goyal, Fahmy,
//! Viswanathan, "ERICA switch algorithm: a complete description", ATM Forum 96-1172, the basic
//! algorithm and appendix.
//!
//! A switch measures the load factor z of each averaging interval against its target capacity and
//! counts the active flows N. A flow is granted the larger of a fair share, target/N, which brings
//! fairness, and of what it has over z, which brings the load to the target; where the load is not
//! above the target, at least what the most favoured flow had in the interval before, so that all
//! rise to the largest of them.
//!
//! ```math
//! FairShare = target*C/N
//! VCShare = CCR/z
//! ER = max(FairShare, VCShare)                    if z > 1 + delta
//! ER = max(FairShare, VCShare, MaxAllocPrevious)  otherwise
//! ER = FairShare                                  if CCR < FairShare < ER
//! ```
//!
//! The source sends at the ER that comes back, the least of the path.
//!
//! Deviations: A1 to A3 of [`super::abr`], and
//! - D1: the source takes ER as it comes (rate increase factor 1), with no peak rate besides.
//! - D2: neither queue control (ERICA+) nor the averaging of z and N over intervals is there.
//!
//! Between z = 1 and 1 + delta a queue drains by what the target leaves, and flows that join at
//! once ask for several times the capacity first: with a buffer that is too small for that, losses
//! and their timeouts, which ATM's sources have not, keep it from coming to rest.

use super::abr::{Grant, Interval, RmCell, Switch, SwitchParams};
use super::rated::{Pace, RATES, Rated, Told};
use crate::roles::{Ack, Departing, Variable};

params! {
    /// The switch's parameters.
    pub struct EricaRouterParams {
        /// What all such switches have.
        switch: SwitchParams;
        /// delta: up to z = 1 + delta all flows may rise to the largest allocation.
        delta: f64 = 0.1 => (0.0, 1.0);
    }
}

params! {
    /// The sender has none: it does as it is told.
    pub struct EricaSenderParams {}
}

/// The switch.
pub type EricaRouter = Switch<Allocation>;

/// Its law: MaxAllocPrevious and MaxAllocCurrent [bytes/s].
#[derive(Clone, Debug, Default)]
pub struct Allocation {
    max_previous: f64,
    max_current: f64,
}

impl Allocation {
    /// ER for a flow whose rate is `ccr` (appendix, "when a FRM is received").
    fn grant(&mut self, delta: f64, interval: &Interval, ccr: f64) -> f64 {
        let fair = interval.fair_share();
        let z = interval.z.max(1e-6); // nothing has come: all may have everything
        let share = ccr / z;
        let mut er =
            if z > 1.0 + delta { fair.max(share) } else { fair.max(share).max(self.max_previous) };
        // No sudden increase past the fair share.
        if er > fair && ccr < fair {
            er = fair;
        }
        let er = er.min(interval.capacity);
        self.max_current = self.max_current.max(er);
        er
    }
}

impl Grant for Allocation {
    type Params = EricaRouterParams;

    fn switch(params: &EricaRouterParams) -> &SwitchParams {
        &params.switch
    }

    fn end(&mut self, interval: &Interval) {
        self.max_previous = self.max_current;
        self.max_current = interval.fair_share();
    }

    fn answer(&mut self, params: &EricaRouterParams, interval: &Interval, cell: &mut RmCell) {
        cell.er = cell.er.min(self.grant(params.delta, interval, cell.rate()));
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("z", "", "load factor of the last interval: input over the target"),
        Variable::new("n", "", "N, flows that sent in it"),
        Variable::new("fair_share", "bytes/s", "FairShare, the target over N"),
        Variable::new("max_alloc", "bytes/s", "MaxAllocPrevious, the largest grant before"),
    ];

    fn probe(&self, interval: &Interval, sink: &mut impl FnMut(&'static str, f64)) {
        sink("z", interval.z);
        sink("n", interval.n);
        sink("fair_share", interval.fair_share());
        sink("max_alloc", self.max_previous);
    }
}

/// The end host's part.
pub type EricaSender = Rated<Erica>;

/// It sends at the ER that comes back.
#[derive(Clone, Debug)]
pub struct Erica;

impl Told for Erica {
    type Params = EricaSenderParams;
    type Header = RmCell;

    fn new(_: &EricaSenderParams) -> Erica {
        Erica
    }

    fn ask(&self, pace: Pace, _: &Departing) -> RmCell {
        RmCell { ccr: pace.rate, er: f64::INFINITY, laf: 0.0 }
    }

    fn answer(&mut self, _: Pace, ack: &Ack<RmCell>) -> Option<f64> {
        Some(ack.header.er).filter(|er| RATES.contains(er))
    }

    const VARIABLES: &'static [Variable] =
        &[Variable::new("acr", "bytes/s", "allowed rate, the last ER; 0 before the first answer")];

    fn probe(&self, rate: f64, sink: &mut impl FnMut(&'static str, f64)) {
        sink("acr", rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explicit::neighbours::abr::Seen;
    use crate::roles::{Backlog, Router, Sender};
    use crate::tests::{ack_after, departing, ms, near, router_context, sender_context};
    use units::{Rate, Span};

    /// 10 Mb/s: the target is 1,125,000 bytes/s. `rates` are those of the flows, which send for an
    /// interval of 50 ms in packets of 1000 B or what is left.
    fn interval(router: &mut EricaRouter, cells: &mut [Seen], rates: &[f64]) {
        for (cell, rate) in cells.iter_mut().zip(rates) {
            router.interval.carry((rate * 0.05) as u32);
            router.interval.count(cell);
        }
        let now = router.interval.next;
        router.on_timer(now, Backlog::default());
    }

    fn grant(router: &mut EricaRouter, ccr: f64) -> f64 {
        router.law.grant(router.params.delta, &router.interval, ccr)
    }

    fn router() -> EricaRouter {
        EricaRouter::new(&EricaRouterParams::default(), &router_context(Rate(10_000_000), 100))
    }

    #[test]
    fn each_branch_of_the_algorithm() {
        let mut r = router();
        let mut cells = [Seen::default(); 3];
        // 900,000 + 450,000 + 90,000 of 1,125,000 is 1.28: overload. FairShare 375,000.
        interval(&mut r, &mut cells, &[900_000.0, 450_000.0, 90_000.0]);
        assert!(near(r.interval.z, 1.28) && near(r.interval.fair_share(), 375_000.0));
        assert!(near(grant(&mut r, 900_000.0), 703_125.0));
        assert!(near(grant(&mut r, 450_000.0), 375_000.0));
        assert!(near(grant(&mut r, 90_000.0), 375_000.0));
        // 675,000 + 337,500 + 112,500 is the target itself, z = 1: all may have the largest grant
        // of before, 703,125, but for the one that comes from below the fair share.
        interval(&mut r, &mut cells, &[675_000.0, 337_500.0, 112_500.0]);
        assert!(near(r.law.max_previous, 703_125.0));
        assert!(near(grant(&mut r, 675_000.0), 703_125.0));
        assert!(near(grant(&mut r, 400_000.0), 703_125.0));
        assert!(near(grant(&mut r, 112_500.0), 375_000.0));
        // Nothing came: all of it, for who has the fair share.
        interval(&mut r, &mut cells, &[]);
        assert!(near(grant(&mut r, 1_000_000.0), 1_000_000.0_f64.max(1_125_000.0)));
    }

    /// A flow that another link holds at 100,000 bytes/s, and two greedy ones: at rest these have
    /// (1,125,000 - 100,000)/2 each, and z is 1.
    #[test]
    fn at_rest_it_is_max_min_fair() {
        let mut r = router();
        let (mut cells, mut rates) = ([Seen::default(); 3], [100_000.0, 900_000.0, 200_000.0]);
        for _ in 0..200 {
            interval(&mut r, &mut cells, &rates);
            for (rate, limit) in rates.iter_mut().zip([100_000.0, f64::MAX, f64::MAX]) {
                *rate = grant(&mut r, *rate).min(limit);
            }
        }
        assert!((r.interval.z - 1.0).abs() < 0.1, "{}", r.interval.z);
        assert!((rates[1] / 512_500.0 - 1.0).abs() < 0.1, "{rates:?}");
        assert!((rates[1] / rates[2] - 1.0).abs() < 1e-6, "{rates:?}");
    }

    #[test]
    fn the_source_sends_at_er() {
        let mut s = EricaSender::new(&EricaSenderParams::default(), &sender_context(10.0));
        assert_eq!((s.cwnd(), s.pacing()), (1.0, None));
        assert_eq!(s.on_send(&departing()).er, f64::INFINITY);
        let header = RmCell { ccr: 0.0, er: 125_000.0, laf: 0.0 };
        s.on_ack(&Ack { header, ..ack_after(ms(100), Span::from_millis(100)) });
        assert_eq!(s.pacing(), Some(Rate(1_000_000)));
        assert_eq!(s.on_send(&departing()).ccr, 125_000.0);
    }

    /// Up to z = 1 + delta all may rise to the largest grant of before, and who has the fair share
    /// already may go past it (both edges are the algorithm's: ">" and "<").
    #[test]
    fn the_edges_are_the_algorithms() {
        let mut r = router();
        r.params.delta = 0.25;
        (r.interval.n, r.law.max_previous) = (4.0, 500_000.0);
        let fair = 1_125_000.0 / 4.0;
        r.interval.z = 1.25;
        assert!(near(grant(&mut r, fair), 500_000.0));
        assert!(near(grant(&mut r, fair - 1.0), fair));
        // 1.26: 400,000/1.26 is above the fair share.
        r.interval.z = 1.26;
        assert!(near(grant(&mut r, 400_000.0), 400_000.0 / 1.26));
        assert!(near(grant(&mut r, fair), fair));
        // A cell keeps less than it is granted, and a host begins with what the first brings.
        let mut cell = RmCell { ccr: 400_000.0, er: 7.0, laf: 0.0 };
        r.law.answer(&r.params, &r.interval, &mut cell);
        assert_eq!(cell.er, 7.0);
    }
}

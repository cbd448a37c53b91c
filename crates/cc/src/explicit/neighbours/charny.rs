//! Explicit rates by consistent marking. Charny, "An algorithm for rate allocation in a
//! packet-switching network with feedback", MIT/LCS/TR-601, 1994; Charny, Clark, Jain, "Congestion
//! control with explicit rate indication", ICC 1995.
//!
//! A packet carries a stamped rate and a bit. A switch records the stamped rate of every flow, and
//! whether the flow is held elsewhere (marked), which it is if its recorded rate is below what the
//! switch advertises. What marked flows leave is shared equally by the others.
//!
//! ```math
//! mu = (C - sum(r_marked))/(f - f_marked)  the rate that is advertised, with f flows
//! mu = C - sum(r) + max(r)                 where all are marked
//! ```
//!
//! A stamped rate that is not below mu becomes mu, and the bit is set. A source sends at the rate
//! that comes back. With the bit set it stamps that rate from then on, so that every switch learns
//! what the flow is held at; with the bit clear it stamps infinity again. The rates become max-min
//! fair in as many round trips as the network has levels of bottlenecks, times four.
//!
//! Deviations: A1 to A3 of [`super::abr`], and
//! - D1: a flow is marked if its rate is below mu, with itself counted as unmarked; the report
//!   marks at mu, too. At rest both give the same mu, and a new flow is never shown what is left by
//!   all.
//! - D2: marks of the other flows are taken anew when their next packets come, not all at once when
//!   mu moves: a switch has its flows' records in the link's cells and looks at one of them at a
//!   time. Until then mu is too low, never too high.
//! - D3: a flow that sends nothing for two intervals is forgotten.
//! - D4: C is `target` of the capacity, so that queues of transients drain; mu is not below 10^-4
//!   of it.

use units::{Rate, Span, Time};

use super::abr::RmCell;
use super::rated::{Pace, RATES, Rated, Told};
use crate::classes::{Place, Scheduler};
use crate::roles::{Ack, Backlog, Departing, Passing, Router, RouterContext, Variable, Verdict};

params! {
    /// The switch's parameters.
    pub struct CharnyRouterParams {
        /// C over the capacity (D4).
        target: f64 = 0.95 => (0.01, 1.0);
        /// A flow that sends nothing for two of these is forgotten (D3).
        interval: Span = Span::from_millis(500) => (1e-3, 100.0);
    }
}

params! {
    /// The sender has none: it does as it is told.
    pub struct CharnySenderParams {}
}

/// What a switch records of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Record {
    /// The stamped rate, if the flow is marked [bytes/s].
    rate: f64,
    marked: bool,
    /// The interval in which it was seen last; 0 is never.
    seen: u32,
}

/// The flows of an interval: f, f_marked, the sum and the largest of the marked flows' rates.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    flows: f64,
    marked: f64,
    sum: f64,
    largest: f64,
}

impl Sums {
    fn add(&mut self, record: &Record) {
        self.flows += 1.0;
        if record.marked {
            self.marked += 1.0;
            self.sum += record.rate;
            self.largest = self.largest.max(record.rate);
        }
    }

    /// The largest stays, until the sums begin anew.
    fn remove(&mut self, record: &Record) {
        self.flows -= 1.0;
        if record.marked {
            self.marked -= 1.0;
            self.sum -= record.rate;
        }
    }
}

/// The switch.
#[derive(Clone, Debug)]
pub struct CharnyRouter {
    params: CharnyRouterParams,
    /// C [bytes/s].
    capacity: f64,
    /// Of the flows of the last interval and of this one, and of this one alone.
    known: Sums,
    fresh: Sums,
    /// The running interval's number, from 2.
    number: u32,
    next: Time,
}

/// What rounding may do to a rate on its way round.
const EXACT: f64 = 1.0 - 1e-9;

impl CharnyRouter {
    /// mu.
    fn advertised(&self) -> f64 {
        let Sums { flows, marked, sum, largest } = self.known;
        let left = self.capacity - sum;
        let mu = if flows > marked { left / (flows - marked) } else { left + largest };
        mu.max(1e-4 * self.capacity)
    }

    /// A packet of a flow with this stamped rate: the record, and what is advertised to it.
    fn take(&mut self, record: &mut Record, stamped: f64) -> f64 {
        if record.seen + 1 >= self.number {
            self.known.remove(record);
        }
        if record.seen == self.number {
            self.fresh.remove(record);
        }
        self.known.flows += 1.0;
        let marked = stamped < self.advertised() * EXACT;
        self.known.flows -= 1.0;
        *record = Record { rate: if marked { stamped } else { 0.0 }, marked, seen: self.number };
        self.known.add(record);
        self.fresh.add(record);
        self.advertised()
    }

    fn set_capacity(&mut self, capacity: Rate) {
        self.capacity = self.params.target * capacity.bytes_per_sec();
    }
}

impl Router for CharnyRouter {
    type Params = CharnyRouterParams;
    type Header = RmCell;

    fn new(params: &CharnyRouterParams, context: &RouterContext) -> CharnyRouter {
        CharnyRouter {
            params: params.clone(),
            capacity: params.target * context.capacity.bytes_per_sec(),
            known: Sums::default(),
            fresh: Sums::default(),
            number: 2,
            next: Time::ZERO + params.interval,
        }
    }

    fn next_timer(&self) -> Time {
        self.next
    }

    fn on_timer(&mut self, now: Time, _: Backlog) {
        (self.known, self.fresh) = (self.fresh, Sums::default());
        self.number = self.number.saturating_add(1);
        self.next = now + self.params.interval;
    }

    fn on_capacity(&mut self, _now: Time, capacity: Rate) {
        self.set_capacity(capacity);
    }

    fn retune(&mut self, params: &CharnyRouterParams, context: &RouterContext) {
        self.params = params.clone();
        self.set_capacity(context.capacity);
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("mu", "bytes/s", "the advertised rate"),
        Variable::new("f", "", "flows that the switch knows"),
        Variable::new("f_marked", "", "those of them that another link holds"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("mu", self.advertised());
        sink("f", self.known.flows);
        sink("f_marked", self.known.marked);
    }
}

impl Scheduler for CharnyRouter {
    type Cell = Record;

    fn cell(&self, flow: u32) -> u32 {
        flow
    }

    fn admit(
        &mut self,
        _: Time,
        packet: Passing<'_, RmCell>,
        place: &mut Place<'_, Record>,
    ) -> Verdict {
        if let Some(cell) = packet.header {
            let stamped = if cell.er >= 0.0 { cell.er } else { 0.0 };
            let mu = self.take(place.cell, stamped);
            if stamped >= mu * EXACT {
                (cell.er, cell.laf) = (mu.min(stamped), 1.0);
            }
        }
        Verdict::Forward
    }
}

/// The end host's part.
pub type CharnySender = Rated<Charny>;

/// It sends at what comes back, and stamps that while a switch holds it there.
#[derive(Clone, Debug)]
pub struct Charny {
    /// What it stamps [bytes/s].
    stamp: f64,
}

impl Told for Charny {
    type Params = CharnySenderParams;
    type Header = RmCell;

    fn new(_: &CharnySenderParams) -> Charny {
        Charny { stamp: f64::INFINITY }
    }

    fn ask(&self, pace: Pace, _: &Departing) -> RmCell {
        RmCell { ccr: pace.rate, er: self.stamp, laf: 0.0 }
    }

    fn answer(&mut self, _: Pace, ack: &Ack<RmCell>) -> Option<f64> {
        let RmCell { er, laf, .. } = ack.header;
        if !RATES.contains(&er) {
            return None;
        }
        self.stamp = if laf > 0.0 { er } else { f64::INFINITY };
        Some(er)
    }

    fn begin_again(&mut self) {
        self.stamp = f64::INFINITY;
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("rate", "bytes/s", "rate that came back; 0 before the first answer"),
        Variable::new("held", "", "1 if a switch holds the flow at it"),
    ];

    fn probe(&self, rate: f64, sink: &mut impl FnMut(&'static str, f64)) {
        sink("rate", rate);
        sink("held", f64::from(u8::from(self.stamp.is_finite())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::{Ecn, LossKind, Sender};
    use crate::tests::{
        ack_after, in_place, loss, ms, near, passing, router_context, sender_context,
    };

    /// 8 Mb/s are 1,000,000 bytes/s, all of them C.
    fn router(bits: u64) -> CharnyRouter {
        let params = CharnyRouterParams { target: 1.0, ..Default::default() };
        CharnyRouter::new(&params, &router_context(Rate(bits), 100))
    }

    /// Three flows that ask for anything have a third each. One of them is held elsewhere at
    /// 100,000: the others have 450,000. It goes: 500,000 after two intervals.
    #[test]
    fn the_unmarked_flows_share_what_the_marked_leave() {
        let mut r = router(8_000_000);
        let mut records = [Record::default(); 3];
        let mu = records.each_mut().map(|record| r.take(record, f64::INFINITY));
        assert!(near(mu[0], 1e6) && near(mu[1], 5e5) && near(mu[2], 1e6 / 3.0));
        assert!(near(r.take(&mut records[2], 100_000.0), 450_000.0));
        assert!(near(r.known.marked, 1.0));
        for at in [500, 1000] {
            r.on_timer(ms(at), Backlog::default());
            records[..2].iter_mut().for_each(|record| {
                r.take(record, f64::INFINITY);
            });
        }
        assert!(near(r.advertised(), 500_000.0) && near(r.known.flows, 2.0));
    }

    /// Where all are held elsewhere, at 200,000 and 300,000, mu is what is left and the largest.
    #[test]
    fn a_link_that_holds_nobody_offers_what_is_left() {
        let mut r = router(8_000_000);
        let mut records = [Record::default(); 2];
        r.take(&mut records[0], 200_000.0);
        assert!(near(r.take(&mut records[1], 300_000.0), 800_000.0));
        assert!(near(r.known.marked, 2.0));
    }

    /// The example of max-min: links of 1,000,000 and 3,000,000 bytes/s, flow 0 over both, flow 1
    /// over the first, flows 2 and 3 over the second: 500,000, 500,000 and 1,250,000 each.
    #[test]
    fn two_links_become_max_min_fair_within_eight_rounds() {
        let mut links = [router(8_000_000), router(24_000_000)];
        let paths: [&[usize]; 4] = [&[0, 1], &[0], &[1], &[1]];
        let mut records = [[Record::default(); 4]; 2];
        let mut stamps = [f64::INFINITY; 4];
        let mut rates = [0.0; 4];
        for _ in 0..8 {
            for (flow, path) in paths.into_iter().enumerate() {
                let (mut er, mut held) = (stamps[flow], false);
                for &link in path {
                    let mu = links[link].take(&mut records[link][flow], er);
                    if er >= mu * EXACT {
                        (er, held) = (mu.min(er), true);
                    }
                }
                (rates[flow], stamps[flow]) = (er, if held { er } else { f64::INFINITY });
            }
        }
        for (rate, fair) in rates.into_iter().zip([5e5, 5e5, 1.25e6, 1.25e6]) {
            assert!(near(rate, fair), "{rates:?}");
        }
    }

    #[test]
    fn the_source_stamps_what_it_is_held_at() {
        let mut s = CharnySender::new(&CharnySenderParams::default(), &sender_context(10.0));
        let mut hear = |er, laf| {
            let header = RmCell { ccr: 0.0, er, laf };
            s.on_ack(&Ack { header, ..ack_after(ms(100), Span::from_millis(100)) });
            (s.pace.rate, s.told.stamp)
        };
        assert_eq!(hear(125_000.0, 1.0), (125_000.0, 125_000.0));
        assert_eq!(hear(125_000.0, 0.0), (125_000.0, f64::INFINITY));
        s.on_loss(&loss(LossKind::Timeout, 1));
        assert_eq!((s.pacing(), s.told.stamp), (None, f64::INFINITY));
    }

    /// 10^6 bytes/s: who asks for more than is advertised is told that, and held; who asks for less
    /// goes on as it came. A negative rate is none. Where marked flows have more than the capacity,
    /// which has fallen, a ten-thousandth of it is advertised.
    #[test]
    fn a_packet_is_told_what_is_advertised() {
        use crate::roles::Ecn;
        use crate::tests::{in_place, passing};
        let mut r = router(8_000_000);
        let pass = |r: &mut CharnyRouter, record: &mut Record, er| {
            let (mut ecn, mut cell) = (Ecn::NotCapable, RmCell { ccr: 0.0, er, laf: 0.0 });
            in_place(|place| {
                *place.cell = *record;
                let packet = Passing { header: Some(&mut cell), ..passing(&mut ecn) };
                assert_eq!(r.admit(ms(1), packet, place), Verdict::Forward);
                *record = *place.cell;
            });
            (cell.er, cell.laf)
        };
        let mut records = [Record::default(); 2];
        assert_eq!(pass(&mut r, &mut records[0], f64::INFINITY), (1e6, 1.0));
        assert_eq!(pass(&mut r, &mut records[1], 300_000.0), (300_000.0, 0.0));
        let (er, held) = pass(&mut r, &mut records[0], f64::INFINITY);
        assert!(near(er, 700_000.0) && held == 1.0);
        r.on_capacity(ms(2), Rate(1_600_000));
        assert!(near(r.advertised(), 20.0));
        assert_eq!(pass(&mut r, &mut records[1], -5.0), (-5.0, 0.0));
        assert!(near(r.advertised(), 200_000.0));
    }

    /// A cell that is stamped at just the advertised rate is held here: all of 1,000,000 bytes/s
    /// for the only flow. Half of that is below it and passes as it is.
    #[test]
    fn a_stamp_of_just_the_advertised_rate_is_held() {
        for (stamped, laf) in [(1e6, 1.0), (5e5, 0.0)] {
            let (mut r, mut ecn) = (router(8_000_000), Ecn::NotCapable);
            let mut cell = RmCell { ccr: 0.0, er: stamped, laf: 0.0 };
            in_place(|place| {
                let packet = Passing { header: Some(&mut cell), ..passing(&mut ecn) };
                r.admit(ms(0), packet, place);
            });
            assert_eq!((cell.er, cell.laf), (stamped, laf));
        }
    }
}

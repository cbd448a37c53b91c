//! What the rate-based schemes of ATM's available bit rate service share: the fields of a resource
//! management cell, and what a switch measures per averaging interval. ATM Forum, Traffic
//! Management Specification 4.0, 1996, section 5.10; Jain, Kalyanaraman, Goyal, Fahmy, Viswanathan,
//! "ERICA switch algorithm: a complete description", ATM Forum 96-1172.
//!
//! Switches have a state for each flow, which lies in the link's cells ([`crate::classes`]).
//!
//! Deviations of them all:
//! - A1: packets stand for cells, and every data packet bears the fields of an RM cell, where ATM
//!   sends one after Nrm - 1 = 31 others. The ACK is the backward RM cell.
//! - A2: a flow's first packet asks; until its answer comes no other packet leaves. ATM starts at
//!   an initial rate that is negotiated.
//! - A3: two round trips' worth of packets may be out; a loss changes nothing, a timeout begins
//!   again as A2 does. TM 4.0's source rules for silence (CRM, ADTF) are not there.

use units::{Rate, Span, Time};

use crate::classes::{Place, Scheduler};
use crate::params::Params;
use crate::roles::{
    Backlog, Header, PacketKind, Passing, Router, RouterContext, Variable, Verdict,
};

/// The fields of a resource management cell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RmCell {
    /// CCR, the source's rate when it was sent [bytes/s].
    pub ccr: f64,
    /// ER, the rate asked for, then granted [bytes/s].
    pub er: f64,
    /// OSU's LAF, the load adjustment factor; Charny's mark: 1 where a switch holds the rate.
    pub laf: f64,
}

/// Wire units per unit of LAF.
const LAF_UNITS: f64 = 65536.0;

impl Header for RmCell {
    /// Big-endian: CCR and ER [bytes/s] in 64 bits each, of which the largest is infinity, and LAF
    /// [2^-16] in 32.
    const WIRE_BYTES: usize = 20;
    const VARIABLES: &'static [Variable] = &[
        Variable::new("h_ccr", "bytes/s", "CCR, the source's rate when it sent the packet"),
        Variable::new("h_er", "bytes/s", "ER, the rate asked for, then granted"),
        Variable::new("h_laf", "", "load adjustment factor (OSU) or mark (Charny)"),
    ];
    const COMMON: bool = true;

    fn encode(&self, wire: &mut [u8]) {
        // Float-to-integer casts saturate.
        wire[..8].copy_from_slice(&(self.ccr as u64).to_be_bytes());
        wire[8..16].copy_from_slice(&(self.er as u64).to_be_bytes());
        wire[16..20].copy_from_slice(&((self.laf * LAF_UNITS + 0.5) as u32).to_be_bytes());
    }

    fn decode(wire: &[u8]) -> Option<RmCell> {
        let number = |at: usize| Some(u64::from_be_bytes(wire.get(at..at + 8)?.try_into().ok()?));
        let rate = |number| if number == u64::MAX { f64::INFINITY } else { number as f64 };
        let laf = u32::from_be_bytes(wire.get(16..20)?.try_into().ok()?);
        Some(RmCell {
            ccr: rate(number(0)?),
            er: rate(number(8)?),
            laf: f64::from(laf) / LAF_UNITS,
        })
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("h_ccr", self.ccr);
        sink("h_er", self.er);
        sink("h_laf", self.laf);
    }
}

impl RmCell {
    /// CCR if it is a rate that a flow can have, else 0.
    pub(super) fn rate(&self) -> f64 {
        if (0.0..=1e15).contains(&self.ccr) { self.ccr } else { 0.0 }
    }
}

params! {
    /// What every switch has.
    pub struct SwitchParams {
        /// The target utilization, as a part of the capacity.
        target: f64 = 0.9 => (0.01, 1.0);
        /// T, the averaging interval: load and active flows are counted over it.
        interval: Span = Span::from_millis(50) => (1e-4, 10.0);
    }
}

/// In which averaging interval a flow was seen last.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen(u32);

/// Load and active flows of an averaging interval.
#[derive(Clone, Debug)]
pub struct Interval {
    /// The ABR capacity, target*C [bytes/s].
    pub capacity: f64,
    /// z, input rate over ABR capacity, of the last interval.
    pub z: f64,
    /// N, flows that sent in it.
    pub n: f64,
    /// The running interval's number, from 1.
    number: u32,
    bytes: u64,
    flows: u32,
    since: Time,
    /// Its end.
    pub next: Time,
}

impl Interval {
    /// Nothing measured yet.
    pub fn new(params: &SwitchParams, capacity: Rate) -> Interval {
        Interval {
            capacity: params.target * capacity.bytes_per_sec(),
            z: 0.0,
            n: 0.0,
            number: 1,
            bytes: 0,
            flows: 0,
            since: Time::ZERO,
            next: Time::ZERO + params.interval,
        }
    }

    /// Another capacity from now on.
    pub fn set_capacity(&mut self, params: &SwitchParams, capacity: Rate) {
        self.capacity = params.target * capacity.bytes_per_sec();
    }

    /// A packet that takes part of the capacity.
    #[inline]
    pub fn carry(&mut self, size: u32) {
        self.bytes += u64::from(size);
    }

    /// It is of this flow: has the flow sent before in this interval?
    #[inline]
    pub fn count(&mut self, seen: &mut Seen) {
        if seen.0 != self.number {
            seen.0 = self.number;
            self.flows += 1;
        }
    }

    /// The target over N [bytes/s].
    pub fn fair_share(&self) -> f64 {
        self.capacity / self.flows()
    }

    /// The flows that share the link: those of the last interval, or of this one if they are more.
    pub fn flows(&self) -> f64 {
        self.n.max(f64::from(self.flows)).max(1.0)
    }

    /// An interval ends, and the next one begins.
    pub fn end(&mut self, params: &SwitchParams, now: Time) {
        let length = now.since(self.since).as_secs();
        if length > 0.0 {
            self.z = self.bytes as f64 / length / self.capacity;
            self.n = f64::from(self.flows);
        }
        (self.bytes, self.flows, self.since) = (0, 0, now);
        self.number = self.number.wrapping_add(1).max(1);
        self.next = now + params.interval;
    }
}

/// What a switch answers a cell.
pub trait Grant: Default {
    /// Its parameters.
    type Params: Params;
    /// What [`Grant::probe`] shows, in its order.
    const VARIABLES: &'static [Variable];

    /// Those of its parameters that all have.
    fn switch(params: &Self::Params) -> &SwitchParams;
    /// An averaging interval has ended.
    fn end(&mut self, _interval: &Interval) {}
    /// Writes into a cell.
    fn answer(&mut self, params: &Self::Params, interval: &Interval, cell: &mut RmCell);
    /// Its variables and the interval's by the paper's names.
    fn probe(&self, interval: &Interval, sink: &mut impl FnMut(&'static str, f64));
}

/// A switch that measures load and active flows, and grants by the law `G`.
#[derive(Clone, Debug)]
pub struct Switch<G: Grant> {
    pub(super) params: G::Params,
    pub(super) interval: Interval,
    pub(super) law: G,
}

impl<G: Grant> Router for Switch<G> {
    type Params = G::Params;
    type Header = RmCell;

    const VARIABLES: &'static [Variable] = G::VARIABLES;

    fn new(params: &G::Params, context: &RouterContext) -> Switch<G> {
        let interval = Interval::new(G::switch(params), context.capacity);
        Switch { params: params.clone(), interval, law: G::default() }
    }

    fn next_timer(&self) -> Time {
        self.interval.next
    }

    fn on_timer(&mut self, now: Time, _: Backlog) {
        self.interval.end(G::switch(&self.params), now);
        self.law.end(&self.interval);
    }

    fn on_capacity(&mut self, _now: Time, capacity: Rate) {
        self.interval.set_capacity(G::switch(&self.params), capacity);
    }

    fn retune(&mut self, params: &G::Params, context: &RouterContext) {
        self.params = params.clone();
        self.interval.set_capacity(G::switch(params), context.capacity);
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        self.law.probe(&self.interval, sink);
    }
}

impl<G: Grant> Scheduler for Switch<G> {
    type Cell = Seen;

    fn cell(&self, flow: u32) -> u32 {
        flow
    }

    fn admit(
        &mut self,
        _: Time,
        packet: Passing<'_, RmCell>,
        place: &mut Place<'_, Seen>,
    ) -> Verdict {
        self.interval.carry(packet.size);
        if packet.kind == PacketKind::Data {
            self.interval.count(place.cell);
        }
        if let Some(cell) = packet.header {
            self.law.answer(&self.params, &self.interval, cell);
        }
        Verdict::Forward
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ms, near};

    /// 10 Mb/s and a target of 0.9: 1,125,000 bytes/s, of which 45 packets of 1000 B in 50 ms are
    /// 0.8. Two flows send; a third one in the next interval is there at once.
    #[test]
    fn load_and_active_flows_are_counted_per_interval() {
        let params = SwitchParams::default();
        let mut interval = Interval::new(&params, Rate(10_000_000));
        let mut cells = [Seen::default(); 3];
        for i in 0..45 {
            interval.carry(1000);
            interval.count(&mut cells[i % 2]);
        }
        interval.end(&params, ms(50));
        assert!(near(interval.z, 0.8) && near(interval.n, 2.0) && interval.next == ms(100));
        assert!(near(interval.flows(), 2.0));
        cells.iter_mut().for_each(|cell| interval.count(cell));
        assert!(near(interval.flows(), 3.0));
        interval.end(&params, ms(100));
        assert!(near(interval.n, 3.0) && near(interval.z, 0.0));
    }

    #[test]
    fn a_cell_survives_the_wire() {
        let cell = RmCell { ccr: 125_000.0, er: f64::INFINITY, laf: 1.25 };
        let mut wire = [0; RmCell::WIRE_BYTES];
        cell.encode(&mut wire);
        assert_eq!(RmCell::decode(&wire), Some(cell));
        assert_eq!(RmCell::decode(&wire[1..]), None);
    }

    /// ACKs take their part of the capacity and are no flow; an interval that ends as it begins
    /// leaves what was measured, and another capacity counts from then on.
    #[test]
    fn a_switch_measures_what_is_let_in() {
        use crate::explicit::neighbours::erica::{EricaRouter, EricaRouterParams};
        use crate::roles::Ecn;
        use crate::tests::{in_place, passing, router_context};
        let context = router_context(Rate(10_000_000), 100);
        let mut switch = EricaRouter::new(&EricaRouterParams::default(), &context);
        in_place(|place| {
            for (size, kind) in
                [(40, PacketKind::Ack), (1000, PacketKind::Data), (1000, PacketKind::Data)]
            {
                let mut ecn = Ecn::NotCapable;
                let packet = Passing { size, kind, ..passing(&mut ecn) };
                assert_eq!(switch.admit(ms(1), packet, place), Verdict::Forward);
                assert_eq!(switch.interval.flows, u32::from(kind == PacketKind::Data));
            }
        });
        for _ in 0..2 {
            switch.on_timer(ms(50), Backlog::default());
            // 2040 B of the 56,250 of 50 ms.
            assert!(near(switch.interval.z, 2040.0 / 56_250.0) && switch.interval.n == 1.0);
        }
        switch.on_capacity(ms(60), Rate(20_000_000));
        assert!(near(switch.interval.capacity, 2_250_000.0));
    }

    #[test]
    fn a_cells_rate_is_one_that_a_flow_can_have() {
        for (ccr, rate) in [
            (5.0, 5.0),
            (1e15, 1e15),
            (1.1e15, 0.0),
            (-1.0, 0.0),
            (f64::INFINITY, 0.0),
            (f64::NAN, 0.0),
        ] {
            assert_eq!(RmCell { ccr, ..RmCell::default() }.rate(), rate);
        }
    }
}

//! DPCP, the double-packet congestion control protocol. Li, Yousefi'zadeh, "Distributed ECN-based
//! congestion control", section III.
//!
//! VCP's router with nine levels of load in place of three: four bits, of which the first packet of
//! a pair (the MSP) brings the zone and the second (the LSP) the level within it, in the two ECN
//! bits of each. Which of the two a packet is stands in TCP's own numbers: the sender switches
//! sequence and acknowledgment number where it must, so that an MSP has seq > ack and an LSP seq <
//! ack, and both ends switch them back. Below full load the window grows by VCP's multiplicative
//! and additive increase together, with xi of the level's upper edge; in overload it is cut by one
//! of three factors, at once by the strongest, and corrected when the LSP comes. Where packets come
//! in another order the sender falls back to VCP, which MSPs alone are.
//!
//! [`order`] is the packets' order, [`host`] the window; the router is in this file.
//!
//! ```math
//! rho = (lam + kappa_q*q)/(gamma*C*t_rho)        load factor, each t_rho (VCP's eq. 1)
//! cwnd <- cwnd + xi_s + alpha*(srtt/t_d)^2/cwnd  per ACK below 100 %: MI and AI (VCP's eq. 9)
//! xi_s = (1 + xi)^(srtt/t_rho) - 1               MI scaled by the RTT (VCP's eq. 6)
//! xi = kappa*(1 - rho)/rho                       at the level's upper edge in table I
//! cwnd <- 0.43*cwnd                              overload, by the MSP, once; then VCP's S.3
//! cwnd <- beta*cwnd_before  when its LSP comes, with beta of 0.875, 0.6 or 0.43 (table I)
//! ```
//!
//! Deviations:
//! - D1: the receiver's number is never 0. In a tie both numbers are the receiver's, and 0 less 1
//!   has the checksum of 0 in one's complement, so that this tie could not be told.
//! - D2: a host takes as acknowledgment the number that lies in what it has sent; if both or
//!   neither do, as sequence number the one nearer what it waits for. The receiver by nearness
//!   alone, as the paper's "initial order" may be read, goes wrong when its own number lies between
//!   what it waits for and a packet out of order.
//! - D3: erratum, Algorithm 2: the third branch sets MSP_EQ.
//! - D4: erratum, section III-D: a downgraded sender makes every packet an MSP. Skipping the order,
//!   as printed, leaves LSPs where seq < ack.
//! - D5: to a downgraded sender an LSP that is still on its way says nothing, as its code is no
//!   load code; and exceptions do not count again before the first LSP has come back, as the
//!   packets of the time before all were MSPs.
//! - D6: an ACK whose code is 00 (not capable) tells nothing. Pure duplicates are not shown to a
//!   sender here; they neither change the window nor count as exceptions.
//! - D7: an ACK that answers several packets (delayed ACKs) takes back the highest code of their
//!   MSPs. So all ACKs are MSPs, and the sender is VCP's soon.
//! - D8: a loss between the MSP of overload and its LSP ends the pair: the LSP does not raise the
//!   window again.
//! - D9: a packet without these numbers (VCP's, or TCP's with ECN) counts as an MSP, as if its
//!   sender had the higher number: routers read it as a VCP router does.
//! - D10: the flags are a table of fixed size in which flows whose numbers are equal modulo
//!   `flag_slots` share one.
//! - D11: the load factor is taken over the period's real length, and the increases are computed,
//!   as in [`factor`](super::factor).
//!
//! Reconstructed:
//! - R1: kappa, alpha, t_d, the limiters and the pacing of large RTTs, as VCP's.
//! - R2: the downgrade lasts 10 RTTs, and its third relapse is for good.

pub mod host;
pub mod levels;
pub mod order;

use core::fmt;

use units::Span;

use super::factor::{LoadMeter, LoadParams};
use super::marking::{Marking, Marks};
use crate::roles::{Ecn, Passing, Variable};

pub use host::{DpcpReceiver, DpcpSender, DpcpSenderParams};
use levels::EDGES;
pub use order::{DpcpHeader, Part};

params! {
    /// The router's parameters.
    pub struct DpcpRouterParams {
        /// t_rho, the period of the load factor (VCP's).
        t_rho: Span = Span::from_millis(200) => (1e-6, 100.0);
        /// t_q, the period of the queue's samples (VCP's).
        t_q: Span = Span::from_millis(10) => (1e-6, 100.0);
        /// a, the weight of the old average of the queue (VCP's).
        a: f64 = 0.875 => (0.0, 1.0);
        /// kappa_q, how fast the persistent queue drains (VCP's).
        kappa_q: f64 = 0.5 => (0.0, 10.0);
        /// gamma, the target utilization (VCP's).
        gamma: f64 = 0.98 => (0.01, 2.0);
        /// Are ACKs served before data (VCP's)?
        priority: bool = true;
        /// Flags that the router has; flows whose numbers are equal modulo this share one (section
        /// III-C).
        flag_slots: u64 = 4096 => (1.0, 4096.0);
    }
}

/// The zone (the MSP's two bits) and the level within it (the LSP's), 01 to 11.
pub type Level = (Ecn, Ecn);

const CODES: [Ecn; 3] = [Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

/// Table I: the level of a load factor.
pub fn level(rho: f64) -> Level {
    let i = EDGES[..8].iter().take_while(|&&edge| rho >= edge).count();
    (CODES[i / 3], CODES[i % 3])
}

/// What the MSP has told a router of its flow (Algorithm 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flag {
    /// Nothing yet: LSPs pass as they are.
    None,
    /// The path so far is in a lower zone than this link.
    Low,
    /// In a higher one.
    High,
    /// In the same one.
    Equal,
}

/// A flag of two bits per flow, in 1 KiB whatever happens: a router cannot grow with the flows that
/// pass, and needs no hashing, as flows are numbered without gaps. Up to `flag_slots` flows at once
/// nobody shares. Beyond, an LSP may be read with another flow's flag. That is right where both
/// flows' paths so far are in the same zone, and else one level's error in one pair.
#[derive(Clone, Debug)]
struct Flags {
    words: [u64; Flags::MAX / 32],
    slots: u32,
}

impl Flags {
    const MAX: usize = 4096;

    fn new(slots: u64) -> Flags {
        Flags { words: [0; Flags::MAX / 32], slots: Flags::count(slots) }
    }

    fn count(slots: u64) -> u32 {
        slots.clamp(1, Flags::MAX as u64) as u32
    }

    /// Word and shift of a flow's flag.
    #[inline]
    fn place(&self, flow: u32) -> (usize, u32) {
        let slot = flow % self.slots;
        (slot as usize / 32, slot % 32 * 2)
    }

    #[inline]
    fn get(&self, flow: u32) -> Flag {
        let (word, shift) = self.place(flow);
        [Flag::None, Flag::Low, Flag::High, Flag::Equal][(self.words[word] >> shift) as usize & 3]
    }

    #[inline]
    fn set(&mut self, flow: u32, flag: Flag) {
        let (word, shift) = self.place(flow);
        self.words[word] = self.words[word] & !(3 << shift) | (flag as u64) << shift;
    }
}

/// The router's part.
pub type DpcpRouter = Marking<Pairs>;

/// Its marks: the level of its load, in pairs of packets.
#[derive(Clone, Debug)]
pub struct Pairs {
    level: Level,
    flags: Flags,
}

impl Pairs {
    /// Algorithm 2, for a packet of `flow` that carries `theirs`: what it leaves with.
    #[inline]
    fn encode(&mut self, flow: u32, part: Part, theirs: Ecn) -> Ecn {
        let (msp, lsp) = self.level;
        match part {
            Part::Msp => {
                let flag = match msp.cmp(&theirs) {
                    core::cmp::Ordering::Greater => Flag::Low,
                    core::cmp::Ordering::Less => Flag::High,
                    core::cmp::Ordering::Equal => Flag::Equal,
                };
                self.flags.set(flow, flag);
                msp.max(theirs)
            }
            Part::Lsp => match self.flags.get(flow) {
                Flag::Low => lsp,
                Flag::Equal => lsp.max(theirs),
                Flag::High | Flag::None => theirs,
            },
        }
    }
}

impl Marks for Pairs {
    type Params = DpcpRouterParams;
    type Header = DpcpHeader;

    fn measure(params: &DpcpRouterParams) -> (LoadParams, Span) {
        let DpcpRouterParams { t_q, a, kappa_q, gamma, t_rho, .. } = *params;
        (LoadParams { t_q, a, kappa_q, gamma }, t_rho)
    }

    fn acks_first(params: &DpcpRouterParams) -> bool {
        params.priority
    }

    fn new(params: &DpcpRouterParams) -> Pairs {
        Pairs { level: level(0.0), flags: Flags::new(params.flag_slots) }
    }

    fn hear(&mut self, rho: f64) {
        self.level = level(rho);
    }

    fn mark(&mut self, packet: Passing<'_, DpcpHeader>) {
        let part = packet.header.map_or(Part::Msp, |header| header.part()); // D9
        *packet.ecn = self.encode(packet.flow, part, *packet.ecn);
    }

    fn retune(&mut self, params: &DpcpRouterParams, _rho: f64) {
        if Flags::count(params.flag_slots) != self.flags.slots {
            self.flags = Flags::new(params.flag_slots);
        }
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new(
            "rho",
            "",
            "load factor of the last period: arrivals and queue over gamma*C*t_rho",
        ),
        Variable::new("q", "bytes", "persistent queue, an average of samples"),
        Variable::new("msp1", "", "its zone: 1 low load, 2 high load, 3 overload"),
        Variable::new("lsp1", "", "its level within the zone, 1 to 3"),
    ];

    fn probe(&self, meter: &LoadMeter, sink: &mut impl FnMut(&'static str, f64)) {
        sink("rho", meter.rho());
        sink("q", meter.q());
        sink("msp1", f64::from(self.level.0 as u8));
        sink("lsp1", f64::from(self.level.1 as u8));
    }

    fn describe(&self, meter: &LoadMeter, out: &mut dyn fmt::Write) -> fmt::Result {
        let (load, (msp, lsp)) = (100.0 * meter.rho(), self.level);
        let (msp, lsp) = (msp as u8, lsp as u8);
        writeln!(out, "DPCP measured {load:.1} % of its target load: {msp:02b} {lsp:02b}")
    }
}

#[cfg(test)]
mod tests {
    use super::order::Numbers;
    use super::*;
    use units::Rate;

    use crate::roles::{Backlog, PacketKind, Router};
    use crate::tests::{ms, near, passing, router_context};
    use Ecn::{Ce, Ect0, Ect1, NotCapable};

    /// A router at 10 Mb/s: gamma*C*t_rho = 0.98*1.25e6*0.2 = 245 000 bytes.
    fn router() -> DpcpRouter {
        DpcpRouter::new(&DpcpRouterParams::default(), &router_context(Rate(10_000_000), 100))
    }

    /// A packet of `part` with any numbers.
    fn header(part: Part) -> DpcpHeader {
        DpcpHeader::order(part, Numbers { seq: 123_456, ack: 987_654 })
    }

    /// What a packet leaves with; the router must not touch its numbers.
    fn through(router: &mut DpcpRouter, flow: u32, part: Part, code: Ecn) -> Ecn {
        let (mut ecn, mut carried) = (code, header(part));
        let packet = Passing { flow, header: Some(&mut carried), ..passing(&mut ecn) };
        router.on_departure(ms(0), packet, Backlog::default());
        assert_eq!(carried, header(part));
        ecn
    }

    /// Table I; at an edge the next level begins.
    #[test]
    fn nine_levels() {
        let table = [
            (0.0, Ect1, Ect1),
            (0.199, Ect1, Ect1),
            (0.2, Ect1, Ect0),
            (0.399, Ect1, Ect0),
            (0.4, Ect1, Ce),
            (0.799, Ect1, Ce),
            (0.8, Ect0, Ect1),
            (0.85, Ect0, Ect0),
            (0.95, Ect0, Ce),
            (0.999, Ect0, Ce),
            (1.0, Ce, Ect1),
            (1.049, Ce, Ect1),
            (1.05, Ce, Ect0),
            (1.4, Ce, Ce),
            (2.5, Ce, Ce),
        ];
        for (rho, msp, lsp) in table {
            assert_eq!(level(rho), (msp, lsp), "{rho}");
        }
    }

    #[test]
    fn the_load_is_vcps() {
        let mut router = router();
        assert_eq!(router.marks.level, (Ect1, Ect1));
        for _ in 0..220 {
            let mut ecn = Ect1;
            router.on_arrival(ms(0), passing(&mut ecn), Backlog::default());
        }
        for t in (10..=200).step_by(10) {
            assert_eq!(router.next_timer(), ms(t));
            let bytes = if t == 200 { 8000 } else { 0 };
            router.on_timer(ms(t), Backlog { packets: 0, bytes });
        }
        // q = 0.125*8000 = 1000; (220 000 + 500)/245 000 = 0.9: 10 10.
        assert!(near(router.meter.rho(), 0.9));
        assert_eq!(router.marks.level, (Ect0, Ect0));
        // From 10 to 5 Mb/s the same load is 1.8.
        router.on_capacity(ms(200), Rate(5_000_000));
        for _ in 0..220 {
            let mut ecn = Ect1;
            router.on_arrival(ms(300), passing(&mut ecn), Backlog::default());
        }
        for t in (210..=400).step_by(10) {
            router.on_timer(ms(t), Backlog::default());
        }
        assert_eq!(router.marks.level, (Ce, Ce));
        assert!(DpcpRouter::acks_first(&DpcpRouterParams::default()));
    }

    /// Algorithm 2, every branch, the erratum's among them.
    #[test]
    fn the_msp_decides_about_the_lsp() {
        let mut router = router();
        let mut pair = |own: Level, msp, lsp| {
            router.marks.level = own;
            (through(&mut router, 3, Part::Msp, msp), through(&mut router, 3, Part::Lsp, lsp))
        };
        // Lower before: the own level, though its second half is smaller.
        assert_eq!(pair((Ce, Ect1), Ect0, Ce), (Ce, Ect1));
        // Higher before: left as it is, though the own second half is larger.
        assert_eq!(pair((Ect1, Ce), Ect0, Ect1), (Ect0, Ect1));
        // The same zone: the larger half.
        assert_eq!(pair((Ect0, Ce), Ect0, Ect0), (Ect0, Ce));
        assert_eq!(pair((Ect0, Ect1), Ect0, Ect0), (Ect0, Ect0));
    }

    #[test]
    fn a_router_without_a_flag_leaves_lsps_alone() {
        let mut router = router();
        router.marks.level = (Ce, Ce);
        assert_eq!(through(&mut router, 0, Part::Lsp, Ect1), Ect1);
        assert_eq!(through(&mut router, 0, Part::Msp, Ect1), Ce);
        assert_eq!(through(&mut router, 0, Part::Lsp, Ect1), Ce);
        // Flow 1 has a flag of its own, flow 4096 shares flow 0's.
        assert_eq!(through(&mut router, 1, Part::Lsp, Ect1), Ect1);
        assert_eq!(through(&mut router, 4096, Part::Lsp, Ect1), Ce);
        // Another number of flags, and none is known.
        let params = DpcpRouterParams { flag_slots: 10, ..Default::default() };
        router.retune(&params, &router_context(Rate(10_000_000), 100));
        assert_eq!(through(&mut router, 0, Part::Lsp, Ect1), Ect1);
        through(&mut router, 19, Part::Msp, Ect1);
        assert_eq!(through(&mut router, 9, Part::Lsp, Ect1), Ce);
        assert_eq!(through(&mut router, 29, Part::Lsp, Ect1), Ce);
    }

    #[test]
    fn flags_do_not_disturb_each_other() {
        let mut flags = Flags::new(4096);
        let of =
            |flow: u32| [Flag::None, Flag::Low, Flag::High, Flag::Equal][flow as usize * 7 % 4];
        (0..4096).for_each(|flow| flags.set(flow, of(flow)));
        (0..4096).for_each(|flow| flags.set(flow, of(flow + 1)));
        assert!((0..4096).all(|flow| flags.get(flow) == of(flow + 1)));
    }

    /// VCP's packets, ACKs and hosts that know no ECN (D9).
    #[test]
    fn other_packets_pass_as_at_a_vcp_router() {
        let mut router = router();
        router.marks.level = (Ect0, Ect1);
        let mut depart = |kind, mut ecn| {
            let packet = Passing { kind, header: None, ..passing(&mut ecn) };
            router.on_departure(ms(0), packet, Backlog::default());
            ecn
        };
        assert_eq!(depart(PacketKind::Data, Ect1), Ect0);
        assert_eq!(depart(PacketKind::Data, Ce), Ce);
        assert_eq!(depart(PacketKind::Data, NotCapable), NotCapable);
        assert_eq!(depart(PacketKind::Ack, Ect1), Ect1);
    }
}

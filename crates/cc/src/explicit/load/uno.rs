//! UNO: MLCP's load factor by one bit of each packet. Vasic, Kuntimaddi, Kostic, "One bit is
//! enough: a framework for deploying explicit feedback congestion control protocols",
//! COMSNETS 2009.
//!
//! The article's abstract is what was at hand: a framework in which fine-grained feedback, MLCP's
//! load factor first of all, travels in one ECN bit, as several packets' identification fields in
//! the IP header stand for bits that the header does not have, in a way similar to schemes that
//! encode a link's load in marks. With a second bit it carries the RTT as well, which is not here.
//!
//! ```math
//! sigma = (lam + kappa_q*q)/(gamma*C*t_p)  load factor, each t_p; its level is MLCP's code
//! load <- max(load, k)                     an ACK of a marked packet that asked about level k
//! load <- min(load, k - 1)                 of an unmarked one
//! ```
//!
//! EXPERIMENTAL, a reconstruction:
//! - R1: a packet's identification says which of MLCP's levels it asks about, the second to the
//!   fifteenth: a host counts its packets, and the count modulo 16, with its four bits reversed,
//!   is the level. A router whose load code is at or above that level marks the packet, so that
//!   along a way the largest code counts.
//! - R2: the sender keeps a code. A mark at level k raises it to k at least, an unmarked packet at
//!   level k lowers it below k. So up to 16 packets stand for MLCP's four bits.
//! - R3: t_p is 200 ms for all, as the bit that would tell it is not there; the control law is
//!   MLCP's, which hears the code in place of a header.
//!
//! Deviations: those of [`super::mlcp`], and
//! - D1: an ACK that answers several packets (delayed ACKs) tells of the last of them.
//! - D2: packets of other protocols that are ECN-capable are marked in overload.

use units::{Rate, Span};

use super::factor::{LoadMeter, LoadParams};
use super::marking::{Marking, Marks};
use super::mlcp::{self, MlcpHeader, MlcpSender, MlcpSenderParams};
use crate::roles::{
    Ack, Departing, Echo, Ecn, EcnUse, Fields, Header, Loss, Passing, Sender, SenderContext,
    Variable,
};

params! {
    /// The router's parameters.
    pub struct UnoRouterParams {
        /// t_p, the period of the load factor (R3).
        t_p: Span = Span::from_millis(200) => (1e-6, 100.0);
        /// t_q, the period of the queue's samples (MLCP's).
        t_q: Span = Span::from_millis(10) => (1e-6, 100.0);
        /// a, the weight of the old average of the queue (MLCP's).
        a: f64 = 0.875 => (0.0, 1.0);
        /// kappa_q, how fast the persistent queue drains (MLCP's).
        kappa_q: f64 = 0.75 => (0.0, 10.0);
        /// gamma, the target utilization (MLCP's).
        gamma: f64 = 0.98 => (0.01, 2.0);
    }
}

/// What a packet asks about: a number in the identification field of its IP header.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UnoHeader {
    /// The number.
    pub id: u16,
}

/// The lowest of MLCP's codes, the first of overload and the last.
const LOWEST: u8 = 1;
const OVERLOAD: u8 = 8;
const HIGHEST: u8 = 15;

impl UnoHeader {
    /// The level asked about, 2 to 15; of 16 numbers two ask about the highest twice.
    fn level(self) -> u8 {
        let reversed = (self.id as u8 & 15).reverse_bits() >> 4;
        (reversed + LOWEST + 1).min(HIGHEST)
    }
}

impl Header for UnoHeader {
    /// It needs no bytes of its own.
    const WIRE_BYTES: usize = 0;
    const VARIABLES: &'static [Variable] =
        &[Variable::new("h_uno", "", "IP identification: which level the packet asks about")];

    fn encode(&self, _: &mut [u8]) {}

    fn decode(_: &[u8]) -> Option<UnoHeader> {
        None
    }

    fn ip_id(&self) -> Option<u16> {
        Some(self.id)
    }

    fn read(fields: &Fields) -> Option<UnoHeader> {
        Some(UnoHeader { id: fields.ip_id })
    }

    fn code(&self, bits: Ecn) -> Option<&'static str> {
        (bits == Ecn::Ce).then_some("a load at or above the level that the packet asks about")
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("h_uno", f64::from(self.id));
    }
}

/// The router's part.
pub type UnoRouter = Marking<Reached>;

/// Its marks: is the load's code at or above the packet's level?
#[derive(Clone, Debug)]
pub struct Reached {
    load: u8,
}

impl Marks for Reached {
    type Params = UnoRouterParams;
    type Header = UnoHeader;

    fn measure(params: &UnoRouterParams) -> (LoadParams, Span) {
        let UnoRouterParams { t_q, a, kappa_q, gamma, t_p } = *params;
        (LoadParams { t_q, a, kappa_q, gamma }, t_p)
    }

    fn new(_: &UnoRouterParams) -> Reached {
        Reached { load: LOWEST }
    }

    fn hear(&mut self, rho: f64) {
        self.load = mlcp::code(rho);
    }

    fn mark(&mut self, packet: Passing<'_, UnoHeader>) {
        let level = packet.header.map_or(OVERLOAD, |header| header.level());
        if self.load >= level {
            *packet.ecn = Ecn::Ce;
        }
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("sigma", "", "load factor of the last period"),
        Variable::new("q", "bytes", "persistent queue, an average of samples"),
        Variable::new("code", "", "load code: 1 to 5 MI, 6 AI, 7 II, 8 to 15 MD"),
    ];

    fn probe(&self, meter: &LoadMeter, sink: &mut impl FnMut(&'static str, f64)) {
        sink("sigma", meter.rho());
        sink("q", meter.q());
        sink("code", f64::from(self.load));
    }
}

/// The sender's part: MLCP's, with a code that packets narrow one by one.
#[derive(Clone, Debug)]
pub struct UnoSender {
    mlcp: MlcpSender,
    id: u16,
    /// The code as it is known.
    load: u8,
}

impl Sender for UnoSender {
    type Params = MlcpSenderParams;
    type Header = UnoHeader;
    type Receiver = Echo<UnoHeader>;

    fn new(params: &MlcpSenderParams, context: &SenderContext) -> UnoSender {
        UnoSender { mlcp: MlcpSender::new(params, context), id: 0, load: LOWEST }
    }

    fn ecn(&self) -> EcnUse {
        EcnUse::Codes(Ecn::Ect0)
    }

    #[inline(never)] // the hot path has the dispatch alone
    fn on_send(&mut self, _: &Departing) -> UnoHeader {
        self.id = self.id.wrapping_add(1);
        UnoHeader { id: self.id }
    }

    #[inline(never)] // the hot path has the dispatch alone
    fn on_ack(&mut self, ack: &Ack<UnoHeader>) {
        let level = ack.header.level();
        match ack.code {
            Ecn::NotCapable => return,
            Ecn::Ce => self.load = self.load.max(level),
            Ecn::Ect0 | Ecn::Ect1 => self.load = self.load.min(level - 1),
        }
        let header = MlcpHeader::new(self.load, mlcp::FIRST_T_P, ack.srtt);
        self.mlcp.on_ack(&ack.with_header(header));
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.mlcp.on_loss(loss);
    }

    #[inline]
    fn cwnd(&self) -> f64 {
        self.mlcp.cwnd()
    }

    fn paces(&self) -> bool {
        self.mlcp.paces()
    }

    #[inline]
    fn pacing(&self) -> Option<Rate> {
        self.mlcp.pacing()
    }

    const VARIABLES: &'static [Variable] = MlcpSender::VARIABLES;

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        self.mlcp.probe(sink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::{Backlog, Router};
    use crate::tests::{ack_after, departing, ms, passing, router_context, sender_context};

    /// Numbers 0 to 15 ask about the levels 2, 10, 6, 14, 4, 12, 8, 15 (for 16), and so on: any two
    /// in a row are half of the range apart.
    #[test]
    fn sixteen_packets_ask_about_all_levels() {
        let level = |id| UnoHeader { id }.level();
        assert_eq!([0, 1, 2, 3, 4, 5, 6, 7].map(level), [2, 10, 6, 14, 4, 12, 8, 15]);
        let mut levels: [u8; 16] = core::array::from_fn(|id| level(id as u16 + 32));
        levels.sort_unstable();
        assert_eq!(levels, [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 15, 15]);
    }

    /// Whatever the routers' codes are, sixteen packets tell the larger one, and a change likewise.
    #[test]
    fn sixteen_packets_are_four_bits() {
        let context = router_context(Rate(10_000_000), 100);
        let mut routers = [0, 1].map(|_| UnoRouter::new(&UnoRouterParams::default(), &context));
        let mut s = UnoSender::new(&MlcpSenderParams::default(), &sender_context(10.0));
        for (first, second) in [(1, 7), (15, 3), (5, 5), (1, 1), (9, 14)] {
            (routers[0].marks.load, routers[1].marks.load) = (first, second);
            for _ in 0..16 {
                let mut header = s.on_send(&departing());
                let mut ecn = Ecn::Ect0;
                for router in &mut routers {
                    let packet = Passing { header: Some(&mut header), ..passing(&mut ecn) };
                    router.on_departure(ms(0), packet, Backlog::default());
                }
                let ack = ack_after(ms(0), Span::from_millis(80));
                s.on_ack(&Ack { header, code: ecn, ..ack });
            }
            assert_eq!(s.load, first.max(second));
        }
    }

    /// The field is in the IP header, and an option of TCP has none.
    #[test]
    fn nothing_is_read_from_an_option() {
        assert_eq!(UnoHeader::decode(&[]), None);
        assert_eq!(UnoHeader::decode(&[0; 40]), None);
    }
}

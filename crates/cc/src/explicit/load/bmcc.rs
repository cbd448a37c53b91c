//! BMCC, binary marking congestion control. Qazi, Znati, Andrew, "Congestion control using
//! efficient explicit feedback", INFOCOM 2009; Qazi, Andrew, Znati, "Congestion control with
//! multipacket feedback", ToN 2012. Its marks are ADPM's: Andrew, Hanly, Chan, Cui, "Adaptive
//! deterministic packet marking", IEEE Communications Letters 10(11), 2006.
//!
//! Every router measures its load factor f over t_p. A packet has a threshold, which the number in
//! its IP header's identification field stands for, and each router compares f with it: two ECN
//! bits per packet hold the answer for the largest f of the way. The receiver narrows an estimate
//! of f packet by packet and sends it back. The sender answers low load with multiplicative
//! increase by the estimate, high load with additive increase and overload with one multiplicative
//! decrease by the estimate, scaled with the RTT as VCP's.
//!
//! The papers' texts were not at hand beyond their abstracts. From these: load factors, ADPM over
//! the ECN bits with the IP identification as side information, the largest price of the way, and
//! MI-AI-MD by the estimate. Reconstructed from what the authors published beside them:
//! - R1: thresholds are the identification with its 16 bits reversed, so that a host that counts
//!   its packets has one threshold in each 2^k-th of the range among any 2^k packets in a row.
//! - R2: the range is [0, 1.28): it holds MLCP's largest level of 1.2, and 1 is one of its 65 536
//!   steps.
//! - R3: the second bit. The threshold and 1 cut the range into three parts, and the codes 01, 10,
//!   11 say in which of them f lies; so each packet tells overload, whatever its threshold, and a
//!   larger code is a larger f at any threshold, so routers write the larger one.
//! - R4: ACKs take the estimate back in their own identification field, which has no meaning in
//!   packets that are not fragmented (RFC 6864 section 4). Both ways it is 16 bits that packets
//!   have anyway.
//! - R5: the estimate starts one step below 1, where the window grows by addition.
//! - R6: t_p = 200 ms, kappa_q = 0.75, kappa = 0.35, the regions and the factors of decrease, 0.875
//!   at f = 1 falling to 0.675 at 1.2, are MLCP's (by the same first author); xi grows down to f =
//!   0.16, MLCP's lowest level, and counts at most 2.5 periods per RTT.
//! - R7: gamma = 0.98, the queue's average, ACKs first, the freeze of t_p after a decrease, the
//!   limits of the additive increase, pacing and what a loss does are VCP's.
//!
//! ```math
//! f = (lam + kappa_q*q)/(gamma*C*t_p)     load factor, each t_p
//! xi = kappa*(1 - f)/f                    MI below 80 %, by the estimate of f
//! beta = 0.875 - 0.2*(f - 1)/(f_max - 1)  the cut from 100 % on, at least 0.675
//! ```
//!
//! Deviations:
//! - D1: as D1 to D4 of [`vcp`](super::vcp).
//! - D2: a packet of another protocol has no identification here; where f >= 1 it is marked 11 if
//!   it is ECN-capable, and otherwise left as it is.

use units::{Rate, Span, math};

use super::factor::{LoadMeter, LoadParams, xi};
use super::marking::{Marking, Marks};
use super::vcp::{VcpSender, VcpSenderParams};
use crate::roles::{
    Ack, Arrived, Departing, Ecn, EcnUse, Feedback, Fields, Header, Loss, Passing, Receiver,
    Sender, SenderContext, Variable,
};

params! {
    /// The router's parameters.
    pub struct BmccRouterParams {
        /// t_p, the period of the load factor.
        t_p: Span = Span::from_millis(200) => (1e-6, 100.0);
        /// t_q, the period of the queue's samples.
        t_q: Span = Span::from_millis(10) => (1e-6, 100.0);
        /// a, the weight of the old average of the queue.
        a: f64 = 0.875 => (0.0, 1.0);
        /// kappa_q, how fast the persistent queue drains.
        kappa_q: f64 = 0.75 => (0.0, 10.0);
        /// gamma, the target utilization.
        gamma: f64 = 0.98 => (0.01, 2.0);
        /// Are ACKs served before data, as VCP's router does it?
        priority: bool = true;
    }
}

params! {
    /// The sender's parameters.
    pub struct BmccSenderParams {
        /// t_p, the period of the load factor: MI's base and the length of the freeze.
        t_p: Span = Span::from_millis(200) => (1e-6, 100.0);
        /// kappa, in xi = kappa*(1 - f)/f.
        kappa: f64 = 0.35 => (0.0, 10.0);
        /// The load factor below which xi grows no more.
        f_min: f64 = 0.16 => (0.001, 1.0);
        /// The load factor where multiplicative increase ends.
        high_load: f64 = 0.8 => (0.01, 1.0);
        /// alpha, the additive increase per t_p [packets].
        alpha: f64 = 1.0 => (0.0, 1000.0);
        /// beta_max, the factor of the decrease at f = 1.
        beta_max: f64 = 0.875 => (0.0, 1.0);
        /// beta_min, the factor of the decrease at f = f_max.
        beta_min: f64 = 0.675 => (0.0, 1.0);
        /// f_max, the load factor of the strongest decrease.
        f_max: f64 = 1.2 => (1.001, 1.28);
    }
}

/// Steps per unit of the load factor: 65 536 of them are 1.28.
const ONE: u16 = 51_200;

/// A load factor in steps; what is beyond the range is its last step.
pub(super) fn steps(f: f64) -> u16 {
    // A cast of a float saturates.
    (f * f64::from(ONE)) as u16
}

/// The load factor of so many steps.
fn factor(steps: u16) -> f64 {
    f64::from(steps) / f64::from(ONE)
}

/// A packet's threshold (R1).
fn threshold(id: u16) -> u16 {
    id.reverse_bits()
}

/// The part of the range that holds the load factor `f`, for a packet of this threshold (R3).
fn code(f: u16, threshold: u16) -> Ecn {
    if f < threshold.min(ONE) {
        Ecn::Ect1
    } else if f < threshold.max(ONE) {
        Ecn::Ect0
    } else {
        Ecn::Ce
    }
}

/// ADPM's estimate after a packet: moved into the part of the range that the code names, if it is
/// outside.
fn narrowed(estimate: u16, code: Ecn, threshold: u16) -> u16 {
    let (low, high) = (threshold.min(ONE), threshold.max(ONE));
    match code {
        Ecn::NotCapable => estimate,
        Ecn::Ect1 => estimate.min(low.saturating_sub(1)),
        Ecn::Ect0 => estimate.clamp(low, high.saturating_sub(1).max(low)),
        Ecn::Ce => estimate.max(high),
    }
}

/// The end host's part: VCP's reactions, with parameters by the estimate.
#[derive(Clone, Debug)]
pub struct BmccSender {
    vcp: VcpSender,
    /// The next packet's identification.
    id: u16,
    /// The last ACK's estimate, in steps.
    estimate: u16,
    kappa: f64,
    f_min: f64,
    high_load: f64,
    beta_max: f64,
    beta_min: f64,
    f_max: f64,
}

impl BmccSender {
    /// ln(1 + xi) at a load factor, xi = kappa*(1 - f)/f.
    fn ln_mi(&self, f: f64) -> f64 {
        math::ln(1.0 + xi(self.kappa, f.max(self.f_min).min(1.0)))
    }

    /// beta at a load factor: from beta_max at 1 in a straight line to beta_min at f_max.
    fn beta(&self, f: f64) -> f64 {
        let over = ((f - 1.0) / (self.f_max - 1.0)).clamp(0.0, 1.0);
        self.beta_max + (self.beta_min - self.beta_max) * over
    }

    /// The estimate is this one from now on.
    fn learn(&mut self, estimate: u16) {
        self.estimate = estimate;
        let f = factor(estimate);
        self.vcp.set_laws(self.ln_mi(f), self.beta(f));
    }

    /// What an ACK calls for by the estimate, in VCP's codes.
    fn answer(&self) -> Ecn {
        if self.estimate >= ONE {
            Ecn::Ce
        } else if factor(self.estimate) >= self.high_load {
            Ecn::Ect0
        } else {
            Ecn::Ect1
        }
    }
}

/// What travels in a packet besides the two ECN bits: its IP header's identification field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BmccHeader {
    /// Data: the packet's number. ACK: the receiver's estimate, in steps of 1/51 200.
    pub id: u16,
}

impl Header for BmccHeader {
    /// It needs no bytes of its own.
    const WIRE_BYTES: usize = 0;
    const VARIABLES: &'static [Variable] = &[Variable::new(
        "h_id",
        "",
        "IP identification: the packet's number; on ACKs the estimate of the load factor times 51 200",
    )];

    fn encode(&self, _: &mut [u8]) {}

    fn decode(_: &[u8]) -> Option<BmccHeader> {
        Some(BmccHeader::default())
    }

    fn ip_id(&self) -> Option<u16> {
        Some(self.id)
    }

    fn read(fields: &Fields) -> Option<BmccHeader> {
        Some(BmccHeader { id: fields.ip_id })
    }

    fn code(&self, bits: Ecn) -> Option<&'static str> {
        match bits {
            Ecn::NotCapable => None,
            Ecn::Ect1 => Some("below the packet's threshold and 1"),
            Ecn::Ect0 => Some("between the packet's threshold and 1"),
            Ecn::Ce => Some("not below the packet's threshold and 1"),
        }
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("h_id", f64::from(self.id));
    }
}

/// The router's part.
pub type BmccRouter = Marking<Compared>;

/// Its marks: how the load and a packet's threshold compare.
#[derive(Clone, Debug)]
pub struct Compared {
    /// f, in steps.
    load: u16,
}

impl Marks for Compared {
    type Params = BmccRouterParams;
    type Header = BmccHeader;

    fn measure(params: &BmccRouterParams) -> (LoadParams, Span) {
        let BmccRouterParams { t_q, a, kappa_q, gamma, t_p, .. } = *params;
        (LoadParams { t_q, a, kappa_q, gamma }, t_p)
    }

    fn acks_first(params: &BmccRouterParams) -> bool {
        params.priority
    }

    fn new(_: &BmccRouterParams) -> Compared {
        Compared { load: 0 }
    }

    fn hear(&mut self, rho: f64) {
        self.load = steps(rho);
    }

    fn mark(&mut self, packet: Passing<'_, BmccHeader>) {
        match packet.header {
            Some(header) => {
                *packet.ecn = code(self.load, threshold(header.id)).max(*packet.ecn);
            }
            None if self.load >= ONE => *packet.ecn = Ecn::Ce,
            None => {}
        }
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new(
            "f",
            "",
            "load factor of the last period: arrivals and queue over gamma*C*t_p",
        ),
        Variable::new("q", "bytes", "persistent queue, an average of samples"),
    ];

    fn probe(&self, meter: &LoadMeter, sink: &mut impl FnMut(&'static str, f64)) {
        sink("f", meter.rho());
        sink("q", meter.q());
    }
}

/// The receiver's part: the estimate of the load factor, in steps.
#[derive(Clone, Copy, Debug)]
pub struct BmccReceiver {
    estimate: u16,
}

impl Default for BmccReceiver {
    fn default() -> BmccReceiver {
        BmccReceiver { estimate: ONE - 1 } // R5
    }
}

impl Receiver for BmccReceiver {
    type Header = BmccHeader;

    #[inline]
    fn on_data(&mut self, data: &Arrived<BmccHeader>) -> Feedback<BmccHeader> {
        self.estimate = narrowed(self.estimate, data.ecn, threshold(data.header.id));
        Feedback { header: BmccHeader { id: self.estimate }, code: data.ecn }
    }
}

impl Sender for BmccSender {
    type Params = BmccSenderParams;
    type Header = BmccHeader;
    type Receiver = BmccReceiver;

    fn new(params: &BmccSenderParams, context: &SenderContext) -> BmccSender {
        let BmccSenderParams { t_p, alpha, .. } = *params;
        let vcp = VcpSenderParams { t_rho: t_p, t_d: t_p, alpha, ..Default::default() };
        let mut sender = BmccSender {
            vcp: VcpSender::new(&vcp, context),
            // A host's count of packets stands anywhere when a flow begins.
            id: context.stream.clone().bits() as u16,
            estimate: 0,
            kappa: params.kappa,
            f_min: params.f_min,
            high_load: params.high_load,
            beta_max: params.beta_max,
            beta_min: params.beta_min,
            f_max: params.f_max,
        };
        sender.learn(BmccReceiver::default().estimate);
        sender
    }

    fn ecn(&self) -> EcnUse {
        EcnUse::Codes(Ecn::Ect1)
    }

    #[inline]
    fn on_send(&mut self, _segment: &Departing) -> BmccHeader {
        let id = self.id;
        self.id = id.wrapping_add(1);
        BmccHeader { id }
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack<BmccHeader>) {
        if ack.code == Ecn::NotCapable {
            return self.vcp.hear(ack, Ecn::NotCapable);
        }
        if ack.header.id != self.estimate {
            self.learn(ack.header.id);
        }
        self.vcp.hear(ack, self.answer());
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.vcp.on_loss(loss);
    }

    #[inline]
    fn cwnd(&self) -> f64 {
        self.vcp.cwnd()
    }

    fn paces(&self) -> bool {
        self.vcp.paces()
    }

    #[inline]
    fn pacing(&self) -> Option<Rate> {
        self.vcp.pacing()
    }

    const VARIABLES: &'static [Variable] = &[
        VcpSender::VARIABLES[0],
        VcpSender::VARIABLES[1],
        VcpSender::VARIABLES[2],
        Variable::new(
            "code",
            "",
            "what the last ACK's estimate calls for: 0 nothing, 1 MI, 2 AI, 3 MD",
        ),
        VcpSender::VARIABLES[4],
        Variable::new("f_hat", "", "estimate of the largest load factor of the way"),
        Variable::new("beta", "", "factor of a decrease at the estimate"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        self.vcp.probe(sink);
        sink("f_hat", factor(self.estimate));
        sink("beta", self.beta(factor(self.estimate)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::LossKind;
    use crate::roles::{Backlog, PacketKind, Router};
    use crate::tests::{
        ack_after, departing, loss, ms, near, passing, router_context, sender_context,
    };

    fn arrived(id: u16, ecn: Ecn) -> Arrived<BmccHeader> {
        let header = BmccHeader { id };
        Arrived { now: ms(0), seq: 0, expected: 1, size: 1000, header, ecn, pending: None }
    }

    /// ADPM's property (R1): a counter whose bits are reversed fills [0, 1) evenly: 0, 1/2, 1/4,
    /// 3/4, 1/8, ... of 65 536.
    #[test]
    fn counted_packets_have_even_thresholds() {
        let first: [u16; 5] = [0, 1, 2, 3, 4].map(threshold);
        assert_eq!(first, [0, 32_768, 16_384, 49_152, 8192]);
        for (k, start) in [(1, 7_u16), (4, 65_530), (8, 12_345)] {
            let mut seen = [0; 256];
            for i in 0..1_u16 << k {
                seen[usize::from(threshold(start.wrapping_add(i)) >> (16 - k))] += 1;
            }
            assert!(seen[..1 << k].iter().all(|&n| n == 1), "{k}");
        }
    }

    /// f = 0.9 is step 46 080, f = 1.1 is 56 320; 0.64 is step 32 768, the threshold of packet 1,
    /// and 1.12 is 57 344, that of packet 7 (16 384 + 32 768 + 8192).
    #[test]
    fn the_threshold_and_1_cut_the_range_in_three() {
        assert_eq!(
            (steps(0.9), steps(1.1), steps(1.0), steps(9.0)),
            (46_080, 56_320, ONE, u16::MAX)
        );
        assert_eq!((threshold(1), threshold(7)), (32_768, 57_344));
        assert!(near(factor(threshold(1)), 0.64) && near(factor(threshold(7)), 1.12));
        for (f, id, expected) in [
            (0.6, 1, Ecn::Ect1),
            (0.7, 1, Ecn::Ect0),
            (1.01, 1, Ecn::Ce),
            (0.9, 7, Ecn::Ect1),
            (1.1, 7, Ecn::Ect0),
            (1.13, 7, Ecn::Ce),
        ] {
            assert_eq!(code(steps(f), threshold(id)), expected, "{f} {id}");
        }
    }

    /// Packets 0 to 3 have the thresholds 0, 0.64, 0.32 and 0.96; f = 0.5 is above the third and
    /// below the second, f = 1.1 above all.
    #[test]
    fn a_receiver_moves_its_estimate_into_the_part_that_a_code_names() {
        let mut receiver = BmccReceiver::default();
        let mut hear = |id, code| factor(receiver.on_data(&arrived(id, code)).header.id);
        let step = 1.0 / 51_200.0;
        assert!(near(hear(0, Ecn::Ect0), 1.0 - step));
        assert!(near(hear(1, Ecn::Ect1), 0.64 - step));
        assert!(near(hear(2, Ecn::Ect0), 0.64 - step));
        assert!(near(hear(3, Ecn::Ect1), 0.64 - step));
        // Not capable says nothing; overload is 1 at least, and above 1.12 for packet 7.
        assert!(near(hear(3, Ecn::NotCapable), 0.64 - step));
        assert!(near(hear(1, Ecn::Ce), 1.0));
        assert!(near(hear(7, Ecn::Ce), 1.12));
        // Between 1 and 1.12, then below 1.
        assert!(near(hear(7, Ecn::Ect0), 1.12 - step));
        assert!(near(hear(7, Ecn::Ect1), 1.0 - step));
    }

    /// After 2^k packets in a row the thresholds next to f are in neighbouring or the same of 2^k
    /// cells, so less than 2*1.28/2^k apart, and the estimate lies between them.
    #[test]
    fn the_error_is_below_two_cells_after_a_power_of_two_of_packets() {
        let mut receiver = BmccReceiver::default();
        let mut id = 40_000_u16;
        for f in [0.03, 0.97, 0.5, 1.05, 0.999, 1.27, 0.2, 1.3] {
            let f = steps(f);
            for k in 0..=10 {
                for _ in 0..1_u16 << k {
                    receiver.on_data(&arrived(id, code(f, threshold(id))));
                    id = id.wrapping_add(1);
                }
                let error = receiver.estimate.abs_diff(f);
                assert!(u32::from(error) < (2 << 16) >> k, "{f} {k}: {error}");
                // Overload and its end are known after one packet.
                assert_eq!(receiver.estimate >= ONE, f >= ONE);
            }
        }
    }

    /// The largest load factor of the way: the codes of 0.3 and 0.9 are those of 0.9 at any
    /// threshold.
    #[test]
    fn the_larger_code_is_that_of_the_larger_load() {
        for (f, g) in [(0.3, 0.9), (0.9, 1.1), (1.05, 1.2)] {
            for id in 0..=u16::MAX {
                let codes = [steps(f), steps(g)].map(|f| code(f, threshold(id)));
                assert!(codes[0] <= codes[1]);
            }
        }
    }

    #[test]
    fn a_router_compares_its_load_with_the_packets_threshold() {
        // 10 Mb/s: gamma*C*t_p = 0.98*1.25e6*0.2 = 245 000 bytes; 196 packets are f = 0.8.
        let context = router_context(Rate(10_000_000), 100);
        let mut router = BmccRouter::new(&BmccRouterParams::default(), &context);
        let mut ecn = Ecn::Ect1;
        for _ in 0..196 {
            router.on_arrival(ms(0), passing(&mut ecn), Backlog::default());
        }
        for t in (10..=200).step_by(10) {
            router.on_timer(ms(t), Backlog::default());
        }
        assert!(near(router.meter.rho(), 0.8) && router.marks.load.abs_diff(steps(0.8)) <= 1);
        let depart = |router: &mut BmccRouter, id: Option<u16>, mut ecn, kind| {
            let mut header = id.map(|id| BmccHeader { id });
            let packet = Passing { kind, header: header.as_mut(), ..passing(&mut ecn) };
            router.on_departure(ms(200), packet, Backlog::default());
            ecn
        };
        let data = PacketKind::Data;
        // Packet 1 (0.64) is in the middle part, packet 3 (0.96) in the lowest; no code falls.
        assert_eq!(depart(&mut router, Some(1), Ecn::Ect1, data), Ecn::Ect0);
        assert_eq!(depart(&mut router, Some(3), Ecn::Ect1, data), Ecn::Ect1);
        assert_eq!(depart(&mut router, Some(3), Ecn::Ce, data), Ecn::Ce);
        assert_eq!(depart(&mut router, Some(1), Ecn::NotCapable, data), Ecn::NotCapable);
        assert_eq!(depart(&mut router, Some(1), Ecn::Ect1, PacketKind::Ack), Ecn::Ect1);
        assert_eq!(depart(&mut router, None, Ecn::Ect0, data), Ecn::Ect0);
        router.marks.load = ONE;
        assert_eq!(depart(&mut router, None, Ecn::Ect0, data), Ecn::Ce);
        // A queue of 8000 B at the last sample: q = 1000 B, of which 0.75 count: 750/245 000.
        for t in (210..=400).step_by(10) {
            let bytes = if t == 400 { 8000 } else { 0 };
            router.on_timer(ms(t), Backlog { packets: 0, bytes });
        }
        assert!(near(router.meter.rho(), 750.0 / 245_000.0));
    }

    /// What an ACK of this load factor after this time with an RTT of 200 ms adds to the window.
    fn ack(sender: &mut BmccSender, at: u64, rtt: u64, f: f64) -> f64 {
        let before = sender.cwnd();
        let header = BmccHeader { id: steps(f) };
        let code = Ecn::Ect1;
        let rtt = Span::from_millis(rtt);
        sender.on_ack(&Ack { header, code, ..ack_after(ms(at), rtt) });
        sender.cwnd() - before
    }

    fn sender(cwnd: f64) -> BmccSender {
        BmccSender::new(&BmccSenderParams::default(), &sender_context(cwnd))
    }

    /// xi = 0.35*(1 - f)/f: 0.35 at 0.5, 0.0875 + what a step of 1/51 200 is worth at 0.8, 1.8375
    /// at 0.16 and below. At 400 ms 1.35^2 - 1 = 0.8225.
    #[test]
    fn low_load_increases_multiplicatively_by_the_estimate() {
        let mut s = sender(8.0);
        assert!((ack(&mut s, 0, 200, 0.5) - 0.35).abs() < 1e-6);
        assert!((ack(&mut s, 0, 200, 0.7999) - 0.0875).abs() < 1e-4);
        assert!((ack(&mut s, 0, 200, 0.16) - 1.8375).abs() < 1e-3);
        assert!((ack(&mut s, 0, 200, 0.01) - 1.8375).abs() < 1e-6);
        assert!((ack(&mut s, 0, 400, 0.5) - 0.8225).abs() < 1e-6);
    }

    /// (80/200)^2 = 0.16 per window at any estimate from 0.8 on and below 1, and before the first
    /// one.
    #[test]
    fn high_load_increases_additively() {
        for f in [0.81, 0.9, 0.9999] {
            let mut s = sender(4.0);
            assert!(near(4.0 * ack(&mut s, 0, 80, f), 0.16), "{f}");
        }
        let mut s = sender(4.0);
        let start = factor(BmccReceiver::default().estimate);
        assert!(near(4.0 * ack(&mut s, 0, 80, start), 0.16));
        assert_eq!(s.estimate, ONE - 1);
    }

    /// beta = 0.875 - 0.2*(f - 1)/0.2: 0.875 at 1, 0.775 at 1.1, 0.675 from 1.2 on. One cut per
    /// t_p.
    #[test]
    fn overload_decreases_by_the_estimate() {
        for (f, left) in [(1.0, 87.5), (1.1, 77.5), (1.2, 67.5), (1.27, 67.5)] {
            let mut s = sender(100.0);
            ack(&mut s, 1000, 80, f);
            assert!((s.cwnd() - left).abs() < 1e-6, "{f}: {}", s.cwnd());
            assert_eq!(ack(&mut s, 1199, 80, 1.27), 0.0);
            assert!(ack(&mut s, 1201, 80, 1.27) > 0.0);
        }
    }

    #[test]
    fn who_is_not_capable_is_not_heard_and_losses_are_vcps() {
        let mut s = sender(100.0);
        let header = BmccHeader { id: 0 };
        s.on_ack(&Ack { header, ..ack_after(ms(0), Span::from_millis(80)) });
        assert_eq!((s.cwnd(), s.estimate), (100.0, ONE - 1));
        s.on_loss(&loss(LossKind::DupAcks, 100));
        assert_eq!(s.cwnd(), 50.0);
        s.on_loss(&loss(LossKind::Timeout, 50));
        assert_eq!(s.cwnd(), 1.0);
    }

    #[test]
    fn packets_are_counted_in_a_field_that_they_have_anyway() {
        let mut s = sender(4.0);
        s.id = u16::MAX;
        let ids = [0; 3].map(|_| s.on_send(&departing()).id);
        assert_eq!(ids, [u16::MAX, 0, 1]);
        assert_eq!((BmccHeader::WIRE_BYTES, BmccHeader { id: 7 }.ip_id()), (0, Some(7)));
    }

    /// With every figure changed, at t_p = 400 ms: f = 0.9 is AI, 2*(200/400)^2/10; f = 0.5 is MI
    /// by 0.2*0.5/0.5 at an RTT of t_p, f = 0.1 by that of f_min, 0.2*0.75/0.25; 0.7 is above 0.6,
    /// so AI; f = 1.125 is half of the way to f_max: 0.9 and 0.5 make 0.7.
    #[test]
    fn the_senders_figures_are_its_parameters() {
        let params = BmccSenderParams {
            t_p: Span::from_millis(400),
            kappa: 0.2,
            f_min: 0.25,
            high_load: 0.6,
            alpha: 2.0,
            beta_max: 0.9,
            beta_min: 0.5,
            f_max: 1.25,
        };
        for (id, rtt, cwnd) in [
            (46_080, 200, 10.05),
            (25_600, 400, 10.2),
            (5120, 400, 10.6),
            (35_840, 400, 10.2),
            (ONE, 400, 9.0),
            (57_600, 400, 7.0),
            (u16::MAX, 400, 5.0),
        ] {
            let mut s = BmccSender::new(&params, &sender_context(10.0));
            let header = BmccHeader { id };
            s.on_ack(&Ack { header, code: Ecn::Ect0, ..ack_after(ms(0), Span::from_millis(rtt)) });
            // The series of (1 + xi)^x - 1 has nine digits.
            assert!((s.cwnd() - cwnd).abs() < 1e-7, "{id}: {}", s.cwnd());
        }
    }

    /// Its header is in IP's own: a packet without bytes of it has one.
    #[test]
    fn the_header_needs_no_bytes() {
        assert_eq!(BmccHeader::decode(&[]), Some(BmccHeader { id: 0 }));
    }
}

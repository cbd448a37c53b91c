//! MLCP, the multi-level feedback congestion control protocol. Qazi, Znati, "On the design of load
//! factor based congestion control protocols for next-generation networks", sections 2 and 3.
//!
//! Every router measures its load factor sigma over t_p, which follows the mean RTT of the packets,
//! and writes one of sixteen codes into the data packets where it is not smaller than what they
//! carry. The sender answers low load with one of five multiplicative increases, high load with
//! additive, then with inversely proportional increase, and overload with one of eight decreases,
//! at most one per t_p. A loss changes no window: what is lost is sent again, and that is all.
//!
//! `gauge` is what routers measure, `coded` how they tell it.
//!
//! ```math
//! sigma = (lam + kappa_q*q)/(gamma*C*t_p)        load factor, each t_p (eq. 13)
//! cwnd <- cwnd + (1 + xi)^(srtt/t_p) - 1  per ACK, sigma < 80 %: MI in five levels (eqs. 5 and 9)
//! xi = kappa*(1 - sigma_k)/sigma_k  at a level's upper edge: 16, 32, 48, 64 or 80 % (eq. 1)
//! cwnd <- cwnd + alpha*(srtt/t_p)^2/cwnd         80 % to 95 %: AI (eqs. 6 and 12)
//! cwnd <- cwnd + alpha*(srtt/t_p)^2/cwnd^1.5     95 % to 100 %: II (eqs. 7 and 12)
//! cwnd <- max(beta_k*cwnd, 1)  from 100 % on: one of eight cuts, one per t_p (eq. 8)
//! beta_k = beta_max - k*(beta_max - beta_min)/7  from sigma = 1 + k*0.2/7 on (Fig. 6)
//! T_c <- T_c + theta*(T_d - T_c)  each t_p: T_d is the packets' mean RTT (eqs. 14 and 15)
//! theta = T/T_c if T_d >= T_c else T*T_d/(phi*T_c^2)  at most 1 (section 3.2.2)
//! t_p >= T_c                      the least of 80, 200, 400, ... 1400 ms that is (section 3.2.2)
//! ```
//!
//! Deviations:
//! - D1, D2: sigma's period and (1 + xi)^x - 1 as in [`factor`](super::factor).
//! - D3: an ACK whose code is 0 (not capable) changes nothing.
//! - D4: before the first RTT sample the increases are not scaled, and the RTT field is 0, which
//!   the routers leave out of the mean.
//! - D5: an ACK that answers several packets takes back the highest of their codes with its t_p,
//!   and is one ACK to the sender.
//! - D6: t_p changes at the end of a period only, and what a packet is told is the t_p over which
//!   its code was measured.
//! - D7: multiplicative increase counts at most `mi_limit` = 2.5 periods per RTT, VCP's figure. The
//!   paper has no limiter; but where t_p starts, at 200 ms, one ACK after 1.5 s would open the
//!   window by 2500 packets.
//!
//! Reconstructed:
//! - R1: gamma = 0.98, and the weight of the queue's average, a = 0.875: VCP's.
//! - R2: the levels of decrease, from Fig. 6: beta_k = 0.875 - k*0.2/7 from sigma = 1 + k*0.2/7 on.
//! - R3: T_c starts at 200 ms, as t_p does (`first_rtt`: at the first mean).
//! - R4: after a timeout the window is one packet.
//! - R5: ACKs are served first, as by VCP's router; data of the other way do not bunch them then.
//! - R6: T_c takes the mean RTT of the last T once per t_p, with which section 3.2.2 has the
//!   control path run. Its gain theta is made for one sample per T (`mean_every = "T"`).

pub(super) mod coded;
pub(super) mod gauge;

use units::{Rate, Span, Time, math};

use super::factor::{Spacing, SpacingParams, growth, ratio, xi};
use crate::roles::{Ack, Departing, Header, Loss, LossKind, Sender, SenderContext, Variable};
use coded::{Code, Coded, CodedRouter, Highest};
pub(super) use gauge::FIRST_T_P;
use gauge::{Gauge, GaugeParams, Timing, t_p};

params! {
    /// The sender's parameters (section 3.1).
    pub struct MlcpSenderParams {
        /// kappa, in xi = kappa*(1 - sigma)/sigma at a region's upper edge (eq. 1).
        kappa: f64 = 0.35 => (0.0, 10.0);
        /// alpha, the additive increase per t_p [packets] (eqs. 6, 7).
        alpha: f64 = 1.0 => (0.0, 1000.0);
        /// srtt/t_p counts up to this in multiplicative increase (D7).
        mi_limit: f64 = 2.5 => (0.001, 1000.0);
        /// beta_max, the factor of the mildest decrease (2.2.2).
        beta_max: f64 = 0.875 => (0.0, 1.0);
        /// beta_min, the factor of the strongest decrease (2.2.2).
        beta_min: f64 = 0.675 => (0.0, 1.0);
        /// Windows per smoothed RTT at which packets are spaced; 0, as in the paper: they leave at
        /// once when the window allows.
        pacing: f64 = 0.0 => (0.0, 10.0);
    }
}

/// The upper edges of the regions of multiplicative increase (3.1.1).
const MI_EDGES: [f64; 5] = [0.16, 0.32, 0.48, 0.64, 0.80];
/// Where multiplicative increase ends.
pub(super) const TARGET: f64 = 0.80;
/// Where inversely proportional increase begins (2.2.3).
pub(super) const INVERSE: f64 = 0.95;
/// sigma_max, by which the levels of decrease are spread (2.2.2).
pub(super) const SIGMA_MAX: f64 = 1.2;
/// The last level of decrease, counted from 0.
pub(super) const LAST_MD: u8 = 7;
/// The code of the first level, additive and inversely proportional increase and the first
/// decrease.
const LOWEST: u8 = 1;
const AI: u8 = 6;
const II: u8 = 7;
const MD: u8 = 8;

/// The code of a load factor (sections 2.1, 2.2 and 3.1.1).
pub(super) fn code(sigma: f64) -> u8 {
    if sigma < TARGET {
        // The cast is of a number below 5.
        LOWEST + MI_EDGES.iter().filter(|&&edge| sigma >= edge).count() as u8
    } else if sigma < INVERSE {
        AI
    } else if sigma < 1.0 {
        II
    } else {
        MD + md_level(sigma)
    }
}

/// k, the level of decrease of a load factor of 1 or more (Fig. 6).
pub(super) fn md_level(sigma: f64) -> u8 {
    let level = (sigma - 1.0) * f64::from(LAST_MD) / (SIGMA_MAX - 1.0);
    level.clamp(0.0, f64::from(LAST_MD)) as u8
}

/// beta_k, the factor of that level of decrease (Fig. 6).
pub(super) fn beta(level: u8, max: f64, min: f64) -> f64 {
    max - f64::from(level) * (max - min) / f64::from(LAST_MD)
}

/// The window and how it moves, as MLCP and the n-bit schemes share it (section 3.1).
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// [packets]
    pub cwnd: f64,
    pub srtt: Option<Span>,
    /// The code of t_p.
    pub t_p: u8,
    alpha: f64,
    /// The largest srtt/t_p that multiplicative increase counts.
    mi_limit: f64,
    /// No further decrease before then.
    decreased_until: Time,
}

impl Window {
    pub fn new(initial: f64, alpha: f64, mi_limit: f64) -> Window {
        Window {
            cwnd: initial.max(1.0),
            srtt: None,
            t_p: FIRST_T_P,
            alpha,
            mi_limit,
            decreased_until: Time::ZERO,
        }
    }

    /// What an ACK says of the time.
    #[inline]
    pub fn hear(&mut self, srtt: Option<Span>, timing: Timing) {
        self.srtt = srtt;
        self.t_p = timing.t_p();
    }

    /// xi_s of ln(1 + xi) (eq. 9).
    #[inline]
    pub fn xi_s(&self, ln_mi: f64) -> f64 {
        growth(ln_mi * ratio(self.srtt, t_p(self.t_p)).min(self.mi_limit))
    }

    /// alpha_f (eq. 12).
    #[inline]
    pub fn alpha_f(&self) -> f64 {
        let x = ratio(self.srtt, t_p(self.t_p));
        self.alpha * x * x
    }

    #[inline]
    pub fn increase_multiplicatively(&mut self, ln_mi: f64) {
        self.cwnd += self.xi_s(ln_mi); // eq. (5), per ACK
    }

    #[inline]
    pub fn increase_additively(&mut self) {
        self.cwnd += self.alpha_f() / self.cwnd; // eq. (6), per ACK
    }

    #[inline]
    pub fn increase_inversely(&mut self) {
        self.cwnd += self.alpha_f() / (self.cwnd * math::sqrt(self.cwnd)); // eq. (7), per ACK
    }

    #[inline]
    pub fn decrease(&mut self, now: Time, beta: f64) {
        if now >= self.decreased_until {
            self.cwnd = (beta * self.cwnd).max(1.0); // eq. (8)
            self.decreased_until = now + t_p(self.t_p);
        }
    }

    /// Decoupled: of all losses only a timeout moves the window.
    pub fn on_loss(&mut self, loss: &Loss) {
        if loss.kind == LossKind::Timeout {
            self.cwnd = 1.0;
        }
    }
}

/// What travels in a packet: four bits of load, three of t_p, and the sender's RTT (section 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MlcpHeader {
    /// 0: not capable; 1 to 5: multiplicative increase; 6, 7: additive, inversely proportional
    /// increase; 8 to 15: the levels of decrease.
    load: u8,
    timing: Timing,
}

impl MlcpHeader {
    /// A header of a load code of four bits, a t_p code of three and an RTT.
    pub fn new(load: u8, t_p: u8, rtt: Option<Span>) -> MlcpHeader {
        MlcpHeader { load: load & 15, timing: Timing::new(t_p, rtt) }
    }

    /// Is it of a sender that acts on loads?
    pub fn is_capable(&self) -> bool {
        self.load != 0
    }
}

impl Header for MlcpHeader {
    const WIRE_BYTES: usize = 4;
    const VARIABLES: &'static [Variable] = &[
        Variable::new("h_load", "", "load code: 1 to 5 MI, 6 AI, 7 II, 8 to 15 MD"),
        Variable::new("h_t_p", "s", "period over which the load was measured"),
        Variable::new("h_rtt", "s", "the sender's RTT, in whole microseconds"),
    ];

    /// 32 bits, the highest first: load, t_p, RTT in microseconds.
    fn encode(&self, wire: &mut [u8]) {
        let word = u32::from(self.load) << Timing::BITS | self.timing.bits();
        wire[..4].copy_from_slice(&word.to_be_bytes());
    }

    fn decode(wire: &[u8]) -> Option<MlcpHeader> {
        let word = u32::from_be_bytes(wire.get(..4)?.try_into().ok()?);
        Some(MlcpHeader { load: (word >> Timing::BITS) as u8, timing: Timing::from_bits(word) })
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("h_load", f64::from(self.load));
        sink("h_t_p", t_p(self.timing.t_p()).as_secs());
        sink("h_rtt", f64::from(self.timing.rtt()) * 1e-6);
    }
}

impl Coded for MlcpHeader {
    #[inline]
    fn load(&self) -> u32 {
        u32::from(self.load)
    }

    #[inline]
    fn timing(&self) -> Timing {
        self.timing
    }

    #[inline]
    fn tell(&mut self, load: u32, t_p: u8) {
        self.load = load as u8; // a code of four bits
        self.timing.set_t_p(t_p);
    }
}

/// The router's part.
pub type MlcpRouter = CodedRouter<Mlcp>;

/// Its codes: [`code`].
#[derive(Clone, Debug)]
pub struct Mlcp;

impl Code for Mlcp {
    type Params = GaugeParams;
    type Header = MlcpHeader;

    fn gauge(params: &GaugeParams) -> &GaugeParams {
        params
    }

    fn new(_: &GaugeParams) -> Mlcp {
        Mlcp
    }

    fn code(&self, sigma: f64) -> u32 {
        u32::from(code(sigma))
    }

    const VARIABLES: &'static [Variable] = &[
        Gauge::VARIABLES[0],
        Gauge::VARIABLES[1],
        Gauge::VARIABLES[2],
        Gauge::VARIABLES[3],
        Variable::new("code", "", "load code: 1 to 5 MI, 6 AI, 7 II, 8 to 15 MD"),
    ];
}

/// The end host's part.
#[derive(Clone, Debug)]
pub struct MlcpSender {
    window: Window,
    /// The last ACK's code.
    load: u8,
    /// ln(1 + xi) per level of multiplicative increase.
    ln_mi: [f64; MI_EDGES.len()],
    beta_max: f64,
    beta_min: f64,
    spacing: Spacing,
}

impl MlcpSender {
    /// ln(1 + xi) of a code of multiplicative increase.
    #[inline]
    fn ln_mi(&self, load: u8) -> f64 {
        self.ln_mi[usize::from(load - LOWEST)]
    }
}

impl Sender for MlcpSender {
    type Params = MlcpSenderParams;
    type Header = MlcpHeader;
    type Receiver = Highest<MlcpHeader>;

    fn new(params: &MlcpSenderParams, context: &SenderContext) -> MlcpSender {
        let spacing = SpacingParams { pace_large_rtt: false, pacing: params.pacing };
        MlcpSender {
            window: Window::new(context.initial_window, params.alpha, params.mi_limit),
            load: 0,
            ln_mi: MI_EDGES.map(|edge| math::ln(1.0 + xi(params.kappa, edge))),
            beta_max: params.beta_max,
            beta_min: params.beta_min,
            spacing: Spacing::new(&spacing, context.packet_bytes),
        }
    }

    #[inline]
    fn on_send(&mut self, segment: &Departing) -> MlcpHeader {
        MlcpHeader::new(LOWEST, self.window.t_p, segment.srtt)
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack<MlcpHeader>) {
        self.load = ack.header.load;
        if self.load == 0 {
            return;
        }
        self.window.hear(ack.srtt, ack.header.timing);
        match self.load {
            ..AI => self.window.increase_multiplicatively(self.ln_mi(self.load)),
            AI => self.window.increase_additively(),
            II => self.window.increase_inversely(),
            MD.. => {
                let beta = beta(self.load - MD, self.beta_max, self.beta_min);
                self.window.decrease(ack.now, beta);
            }
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.window.on_loss(loss);
    }

    #[inline]
    fn cwnd(&self) -> f64 {
        self.window.cwnd
    }

    fn paces(&self) -> bool {
        self.spacing.paces()
    }

    #[inline]
    fn pacing(&self) -> Option<Rate> {
        self.spacing.rate(self.window.cwnd, self.window.srtt, t_p(self.window.t_p))
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("cwnd", "pkts", "congestion window"),
        Variable::new("code", "", "load code of the last ACK: 1 to 5 MI, 6 AI, 7 II, 8 to 15 MD"),
        Variable::new("xi_s", "", "what an ACK adds under MI, scaled by RTT; 0 otherwise"),
        Variable::new("alpha_f", "pkts", "AI parameter scaled by RTT: an ACK adds alpha_f/cwnd"),
        Variable::new("t_p", "s", "period of the load factor at the bottleneck"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("cwnd", self.window.cwnd);
        sink("code", f64::from(self.load));
        let mi = (LOWEST..AI).contains(&self.load);
        sink("xi_s", if mi { self.window.xi_s(self.ln_mi(self.load)) } else { 0.0 });
        sink("alpha_f", self.window.alpha_f());
        sink("t_p", t_p(self.window.t_p).as_secs());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::Ecn;
    use crate::roles::{Arrived, Backlog, PacketKind, Passing, Receiver, Router};
    use crate::tests::{
        ack_after, departing, loss, ms, near, passing, router_context, sender_context,
    };

    /// 10 Mb/s: gamma*C*t_p = 0.98*1.25e6*0.2 = 245 000 bytes in the first period.
    fn router() -> MlcpRouter {
        MlcpRouter::new(&GaugeParams::default(), &router_context(Rate(10_000_000), 100))
    }

    fn header(load: u8, t_p: u8, rtt: u64) -> MlcpHeader {
        MlcpHeader::new(load, t_p, Some(Span::from_millis(rtt)))
    }

    #[test]
    fn a_load_has_one_of_fifteen_codes() {
        let codes = [
            (0.0, 1),
            (0.159, 1),
            (0.16, 2),
            (0.33, 3),
            (0.5, 4),
            (0.7, 5),
            (0.799, 5),
            (0.8, 6),
            (0.949, 6),
            (0.95, 7),
            (0.999, 7),
            (1.0, 8),
            (1.03, 9),
            (1.19, 14),
            (1.21, 15),
            (9.0, 15),
        ];
        for (sigma, expected) in codes {
            assert_eq!(code(sigma), expected, "{sigma}");
        }
    }

    #[test]
    fn the_feedback_is_seven_bits_and_the_header_32() {
        assert_eq!(MlcpHeader::WIRE_BYTES * 8, 4 + 3 + 25);
        // Every pattern of 32 bits is a header, and every header one pattern.
        for word in [0, 1, 0x1234_5678, 0xf000_0000, 0x0fff_ffff, u32::MAX] {
            let mut wire = [0; 4];
            MlcpHeader::decode(&u32::to_be_bytes(word)).unwrap().encode(&mut wire);
            assert_eq!(u32::from_be_bytes(wire), word);
        }
        // What a router can change of it: 15 codes of load times 8 of t_p, of the 2^7.
        let mut seen = [false; 128];
        for load in 1..=15 {
            for t_p in 0..8 {
                let mut wire = [0; 4];
                header(load, t_p, 80).encode(&mut wire);
                seen[usize::from(wire[0] >> 1)] = true;
                assert_eq!(u32::from_be_bytes(wire) & 0x01ff_ffff, 80_000);
            }
        }
        assert_eq!(seen.iter().filter(|&&seen| seen).count(), 120);
    }

    #[test]
    fn a_router_overwrites_what_is_not_larger() {
        let mut router = router();
        // 220 kB of 245 kB: 0.898, AI; RTTs of 30 ms leave t_p at 200 ms by the end of the period.
        for _ in 0..220 {
            let (mut ecn, mut h) = (Ecn::NotCapable, header(1, 1, 30));
            let packet = Passing { header: Some(&mut h), ..passing(&mut ecn) };
            router.on_arrival(ms(0), packet, Backlog::default());
        }
        for t in (10..=200).step_by(10) {
            router.on_timer(ms(t), Backlog::default());
        }
        assert!(near(router.gauge.sigma(), 220.0 / 245.0));
        let mut depart = |kind, h: MlcpHeader| {
            let (mut ecn, mut h) = (Ecn::NotCapable, h);
            let packet = Passing { kind, header: Some(&mut h), ..passing(&mut ecn) };
            router.on_departure(ms(200), packet, Backlog::default());
            assert_eq!(ecn, Ecn::NotCapable);
            h
        };
        assert_eq!(depart(PacketKind::Data, header(1, 4, 80)), header(6, 1, 80));
        assert_eq!(depart(PacketKind::Data, header(6, 4, 80)), header(6, 1, 80));
        assert_eq!(depart(PacketKind::Data, header(7, 4, 80)), header(7, 4, 80));
        assert_eq!(depart(PacketKind::Data, header(0, 4, 80)), header(0, 4, 80));
        assert_eq!(depart(PacketKind::Ack, header(1, 4, 80)), header(1, 4, 80));
    }

    fn sender(cwnd: f64) -> MlcpSender {
        MlcpSender::new(&MlcpSenderParams::default(), &sender_context(cwnd))
    }

    fn ack(s: &mut MlcpSender, at: u64, rtt: u64, load: u8) -> f64 {
        let before = s.cwnd();
        s.on_ack(&Ack {
            header: header(load, 1, rtt),
            ..ack_after(ms(at), Span::from_millis(rtt))
        });
        s.cwnd() - before
    }

    #[test]
    fn five_levels_increase_by_the_upper_edge() {
        // 0.35*(1 - e)/e at 16, 32, 48, 64, 80 % (section 2.1), at srtt = t_p = 200 ms.
        let steps = [1.8375, 0.74375, 0.379_166_667, 0.196_875, 0.0875];
        for (load, step) in (1..).zip(steps) {
            assert!((ack(&mut sender(10.0), 0, 200, load) - step).abs() < 1e-8);
        }
        // At 80 ms 2.8375^0.4 - 1 = exp(0.4*1.042 923...) - 1.
        let step = math::pow(2.8375, 0.4) - 1.0;
        assert!(near(ack(&mut sender(10.0), 0, 80, 1), step));
        assert_eq!(ack(&mut sender(10.0), 0, 80, 0), 0.0);
    }

    #[test]
    fn above_the_target_additive_then_inverse_then_decrease() {
        // (80/200)^2 = 0.16 over 16, and over 16*4.
        assert!(near(ack(&mut sender(16.0), 0, 80, 6), 0.01));
        assert!(near(ack(&mut sender(16.0), 0, 80, 7), 0.0025));
        let mut s = sender(16.0);
        assert_eq!(ack(&mut s, 1000, 80, 8), -2.0);
        assert_eq!(ack(&mut s, 1199, 80, 15), 0.0);
        // 0.675*14 = 9.45.
        assert!(near(ack(&mut s, 1200, 80, 15), -4.55));
        assert_eq!(ack(&mut sender(1.0), 0, 80, 15), 0.0);
    }

    #[test]
    fn a_sender_asks_with_the_lowest_code_and_its_t_p() {
        let mut s = sender(1.0);
        assert_eq!(s.on_send(&departing()), MlcpHeader::new(1, 1, None));
        s.on_ack(&Ack { header: header(6, 3, 500), ..ack_after(ms(0), Span::from_millis(500)) });
        let srtt = Some(Span::from_millis(500));
        assert_eq!(s.on_send(&Departing { srtt, ..departing() }), header(1, 3, 500));
    }

    #[test]
    fn packets_are_spaced_if_asked_for() {
        let pace = |pacing| {
            let params = MlcpSenderParams { pacing, ..Default::default() };
            let mut s = MlcpSender::new(&params, &sender_context(10.0));
            assert_eq!(s.pacing(), None); // no RTT is known
            // One decrease of an eighth: 8.75 packets of 8000 b in 80 ms are 875 kb/s.
            ack(&mut s, 1000, 80, 8);
            s.pacing().map(|rate| rate.0)
        };
        assert_eq!((pace(0.0), pace(1.0), pace(2.0)), (None, Some(875_000), Some(1_750_000)));
    }

    #[test]
    fn an_ack_of_several_packets_takes_back_the_highest_load() {
        let arrived = |header, pending| Arrived {
            now: Time::ZERO,
            seq: 0,
            expected: 1,
            size: 1000,
            header,
            ecn: Ecn::NotCapable,
            pending,
        };
        let first = Highest::default().on_data(&arrived(header(9, 2, 80), None));
        let both = Highest::default().on_data(&arrived(header(5, 1, 80), Some(first)));
        assert_eq!(both.header, header(9, 2, 80));
        let later = Highest::default().on_data(&arrived(header(9, 3, 80), Some(first)));
        assert_eq!(later.header, header(9, 3, 80));
    }

    #[test]
    fn the_levels_of_decrease_stay_above_the_target() {
        // Fig. 6: 0.875, ..., 0.675; the levels begin 0.2/7 = 0.028 57 apart.
        for (sigma, level) in
            [(1.0, 0), (1.028, 0), (1.029, 1), (1.1, 3), (1.1999, 6), (1.2001, 7), (5.0, 7)]
        {
            assert_eq!(md_level(sigma), level, "{sigma}");
            assert!(sigma * beta(level, 0.875, 0.675) >= 0.8);
        }
        assert!(near(beta(0, 0.875, 0.675), 0.875) && near(beta(7, 0.875, 0.675), 0.675));
        assert!(near(beta(1, 0.875, 0.675), 0.875 - 0.2 / 7.0));
    }

    #[test]
    fn the_window_moves_by_its_equations() {
        let at = |rtt: u64| {
            let mut window = Window::new(16.0, 1.0, 2.5);
            window.hear(Some(Span::from_millis(rtt)), Timing::new(2, None));
            window
        };
        // t_p = 400 ms: xi_s at xi = 1.8375 and 200 ms: 2.8375^0.5 - 1 = 0.684 488...
        let ln = math::ln(2.8375);
        assert!(near(at(200).xi_s(ln), math::sqrt(2.8375) - 1.0));
        // alpha_f = (200/400)^2 = 0.25: AI 0.25/16, II 0.25/(16*4).
        // 3520 ms are 8.8 periods and count as 2.5: 2.8375^2.5 - 1 = 12.56.
        assert!(near(at(3520).xi_s(ln), math::pow(2.8375, 2.5) - 1.0));
        let mut window = at(200);
        window.increase_additively();
        assert!(near(window.cwnd, 16.0 + 0.25 / 16.0));
        let mut window = at(200);
        window.increase_inversely();
        assert!(near(window.cwnd, 16.0 + 0.25 / 64.0));
        let mut window = at(400);
        window.increase_multiplicatively(ln);
        assert!(near(window.cwnd, 17.8375));
    }

    #[test]
    fn a_window_is_cut_at_most_once_per_t_p_and_not_by_losses() {
        let mut window = Window::new(16.0, 1.0, 2.5);
        window.hear(None, Timing::new(2, None));
        window.decrease(ms(1000), 0.875);
        window.decrease(ms(1399), 0.675);
        assert_eq!(window.cwnd, 14.0);
        // No freeze: an increase acts meanwhile.
        window.increase_additively();
        assert!(window.cwnd > 14.0);
        window.decrease(ms(1400), 0.5);
        assert!(window.cwnd < 7.1);
        let before = window.cwnd;
        window.on_loss(&loss(LossKind::DupAcks, 10));
        window.on_loss(&loss(LossKind::EcnEcho, 10));
        assert_eq!(window.cwnd, before);
        window.on_loss(&loss(LossKind::Timeout, 10));
        assert_eq!(window.cwnd, 1.0);
    }

    /// Load code 0 is no sender of MLCP's; each of the other fifteen is.
    #[test]
    fn a_load_code_of_zero_is_not_capable() {
        assert!(!header(0, 3, 80).is_capable());
        assert!((1..=15).all(|load| header(load, 3, 80).is_capable()));
    }

    /// 98 kB are 0.4 of the 245 kB that 10 Mb/s take in the first period, and 0.8 of what 5 Mb/s
    /// do.
    #[test]
    fn a_period_is_measured_by_the_capacity_at_its_end() {
        for (capacity, load) in [(10_000_000, 0.4), (5_000_000, 0.8)] {
            let mut router = router();
            for _ in 0..98 {
                let (mut ecn, mut header) = (Ecn::NotCapable, header(1, 0, 80));
                let packet = Passing { header: Some(&mut header), ..passing(&mut ecn) };
                router.on_arrival(ms(5), packet, Backlog::default());
            }
            router.on_capacity(ms(100), Rate(capacity));
            while router.next_timer() <= ms(200) {
                let at = router.next_timer();
                router.on_timer(at, Backlog::default());
            }
            assert!(near(router.gauge.sigma(), load), "{}", router.gauge.sigma());
        }
    }
}

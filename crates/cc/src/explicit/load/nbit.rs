//! The n-bit schemes: MLCP with another number of levels. Qazi, Znati, "On the design of load
//! factor based congestion control protocols for next-generation networks", section 2.
//!
//! A scheme of n bits splits the load below 80 % into l = 2^n - 3 equal levels, each with the
//! multiplicative increase of its upper edge; above comes additive increase, and from 100 % on one
//! of four schemes of decrease: A and B with one factor, C with two, D with MLCP's eight. The ideal
//! scheme tells the load factor itself. Sender and router must be given the same `bits`, `md` and
//! `inverse`.
//!
//! What travels is the number of the level, no more: n bits with A or B, one symbol more with
//! `inverse` or C, seven more with D. MLCP's code is the one of three bits with `inverse` and D,
//! its sixteen symbols filling four bits.
//!
//! ```math
//! l = 2^n - 3                       levels below 80 %, for n bits
//! xi = kappa*(1 - sigma_k)/sigma_k  at level k's upper edge, sigma_k = 0.8*k/l (eq. 1)
//! ```
//!
//! Deviations: those of [`mlcp`](super::mlcp), and
//! - D8: the ideal scheme tells a number of 32 bits (24 of them significant), and a load below the
//!   finest level of 15 bits, 0.8/32765, as that; a router that has not measured yet tells this one
//!   as well.
//! - D9: the header has a field of 32 bits for the load, of which a scheme of n bits uses its
//!   lowest.
//!
//! Reconstructed:
//! - R7: 2^n - 3 levels leave one symbol for additive increase up to 100 % and one for the
//!   decrease.
//! - R8: scheme C changes from beta_max to beta_min at sigma_max = 120 % (footnote 5).

use units::{Span, math};

use super::factor::xi;
use super::mlcp::coded::{Code, Coded, CodedRouter, Highest};
use super::mlcp::gauge::{Gauge, GaugeParams, Timing, t_p};
use super::mlcp::{INVERSE, LAST_MD, SIGMA_MAX, TARGET, Window, beta, md_level};
use crate::roles::{Ack, Departing, Header, Loss, Sender, SenderContext, Variable};

choice! {
    /// How many bits tell the load below 100 % and that there is overload.
    pub enum Bits {
        /// One level of multiplicative increase.
        Two = "2",
        /// Five levels.
        Three = "3",
        /// Thirteen levels.
        Four = "4",
        /// 32765 levels.
        Fifteen = "15",
        /// The load factor itself.
        Ideal = "ideal",
    }
}

choice! {
    /// The scheme of decrease (section 2.2.2).
    pub enum Md {
        /// beta_min.
        A = "A",
        /// beta_max.
        B = "B",
        /// beta_max below 120 %, beta_min from there on.
        C = "C",
        /// Eight levels from beta_max to beta_min.
        D = "D",
    }
}

params! {
    /// The router's parameters.
    pub struct NbitRouterParams {
        /// n, the bits of the feedback (section 2.1).
        bits: Bits = Bits::Three;
        /// The scheme of decrease (section 2.2.2).
        md: Md = Md::B;
        /// Is the load from 95 % on told apart (section 2.2.3)?
        inverse: bool = false;
        /// What it measures, as MLCP's.
        gauge: GaugeParams;
    }
}

params! {
    /// The sender's parameters.
    pub struct NbitSenderParams {
        /// n, the bits of the feedback (section 2.1): the router's.
        bits: Bits = Bits::Three;
        /// The scheme of decrease (section 2.2.2): the router's.
        md: Md = Md::B;
        /// Is the increase inversely proportional from 95 % on (section 2.2.3): the router's.
        inverse: bool = false;
        /// kappa, in xi = kappa*(1 - sigma)/sigma at a level's upper edge (eq. 1).
        kappa: f64 = 0.35 => (0.0, 10.0);
        /// alpha, the additive increase per t_p [packets] (eqs. 6, 7).
        alpha: f64 = 1.0 => (0.0, 1000.0);
        /// srtt/t_p counts up to this in multiplicative increase.
        mi_limit: f64 = 2.5 => (0.001, 1000.0);
        /// beta_max, the factor of the mildest decrease (2.2.2).
        beta_max: f64 = 0.875 => (0.0, 1.0);
        /// beta_min, the factor of the strongest decrease (2.2.2).
        beta_min: f64 = 0.675 => (0.0, 1.0);
    }
}

/// What a code tells the sender to do.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Action {
    Nothing,
    /// Multiplicative increase as at this load factor.
    Mi(f64),
    Ai,
    Ii,
    /// The level of decrease.
    Md(u8),
}

/// What the codes of a scheme mean; 0 is not capable.
#[derive(Clone, Copy, Debug)]
pub struct Scheme {
    /// l; `None` for infinitely many.
    levels: Option<u32>,
    md: Md,
    inverse: bool,
}

impl Scheme {
    const FINEST: f64 = TARGET / 32_765.0;

    pub(super) fn new(bits: Bits, md: Md, inverse: bool) -> Scheme {
        let levels = |n: u32| (1 << n) - 3;
        let levels = match bits {
            Bits::Two => Some(levels(2)),
            Bits::Three => Some(levels(3)),
            Bits::Four => Some(levels(4)),
            Bits::Fifteen => Some(levels(15)),
            Bits::Ideal => None,
        };
        Scheme { levels, md, inverse }
    }

    /// The code of a load factor.
    pub(super) fn code(&self, sigma: f64) -> u32 {
        let Some(l) = self.levels else {
            // Numbers above 0 have the order of their bits.
            return (sigma.max(Self::FINEST) as f32).to_bits();
        };
        if sigma < TARGET {
            // The cast is of a number between 0 and l.
            return 1 + ((sigma / TARGET * f64::from(l)) as u32).min(l - 1);
        }
        if sigma < 1.0 {
            return l + 1 + u32::from(self.inverse && sigma >= INVERSE);
        }
        let level = match self.md {
            Md::A | Md::B => 0,
            Md::C => u8::from(sigma >= SIGMA_MAX),
            Md::D => md_level(sigma),
        };
        self.first_md(l) + u32::from(level)
    }

    /// The code of the first level of decrease.
    fn first_md(&self, l: u32) -> u32 {
        l + 2 + u32::from(self.inverse)
    }

    fn action(&self, code: u32) -> Action {
        let Some(l) = self.levels else { return self.ideal_action(f32::from_bits(code)) };
        let first_md = self.first_md(l);
        if code == 0 {
            Action::Nothing
        } else if code <= l {
            Action::Mi(TARGET * f64::from(code) / f64::from(l))
        } else if code == l + 1 {
            Action::Ai
        } else if code < first_md {
            Action::Ii
        } else {
            let last = match self.md {
                Md::A | Md::B => 0,
                Md::C => 1,
                Md::D => LAST_MD,
            };
            // The cast is of a number up to 7.
            Action::Md((code - first_md).min(u32::from(last)) as u8)
        }
    }

    fn ideal_action(&self, sigma: f32) -> Action {
        let sigma = f64::from(sigma);
        if sigma.is_nan() || sigma <= 0.0 {
            Action::Nothing
        } else if sigma < TARGET {
            Action::Mi(sigma.max(Self::FINEST))
        } else if sigma < 1.0 {
            if self.inverse && sigma >= INVERSE { Action::Ii } else { Action::Ai }
        } else if self.md == Md::C {
            Action::Md(u8::from(sigma >= SIGMA_MAX))
        } else {
            Action::Md(md_level(sigma))
        }
    }

    /// The factor of a level of decrease.
    fn beta(&self, level: u8, max: f64, min: f64) -> f64 {
        match self.md {
            Md::A => min,
            Md::B => max,
            Md::C => {
                if level == 0 {
                    max
                } else {
                    min
                }
            }
            Md::D => beta(level, max, min),
        }
    }
}

/// What travels in a packet: the code of the load, three bits of t_p, and the sender's RTT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NbitHeader {
    /// The scheme's code; its n bits, or for the ideal scheme the bits of the load factor as a
    /// number of 32 bits (IEEE 754).
    load: u32,
    timing: Timing,
}

impl NbitHeader {
    /// A header of a code, a t_p code of three bits and an RTT.
    pub fn new(load: u32, t_p: u8, rtt: Option<Span>) -> NbitHeader {
        NbitHeader { load, timing: Timing::new(t_p, rtt) }
    }
}

impl Header for NbitHeader {
    const WIRE_BYTES: usize = 8;
    const VARIABLES: &'static [Variable] = &[
        Variable::new("h_load", "", "code of the load; ideal: the bits of the load factor"),
        Variable::new("h_t_p", "s", "period over which the load was measured"),
        Variable::new("h_rtt", "s", "the sender's RTT, in whole microseconds"),
    ];

    /// The code in 32 bits, of which the scheme uses the lowest; four bits of nothing, t_p in
    /// three, the RTT in microseconds in 25.
    fn encode(&self, wire: &mut [u8]) {
        wire[..4].copy_from_slice(&self.load.to_be_bytes());
        wire[4..8].copy_from_slice(&self.timing.bits().to_be_bytes());
    }

    fn decode(wire: &[u8]) -> Option<NbitHeader> {
        let word = |at: usize| Some(u32::from_be_bytes(wire.get(at..at + 4)?.try_into().ok()?));
        Some(NbitHeader { load: word(0)?, timing: Timing::from_bits(word(4)?) })
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("h_load", f64::from(self.load));
        sink("h_t_p", t_p(self.timing.t_p()).as_secs());
        sink("h_rtt", f64::from(self.timing.rtt()) * 1e-6);
    }
}

impl Coded for NbitHeader {
    #[inline]
    fn load(&self) -> u32 {
        self.load
    }

    #[inline]
    fn timing(&self) -> Timing {
        self.timing
    }

    #[inline]
    fn tell(&mut self, load: u32, t_p: u8) {
        self.load = load;
        self.timing.set_t_p(t_p);
    }
}

/// The router's part.
pub type NbitRouter = CodedRouter<Scheme>;

impl Code for Scheme {
    type Params = NbitRouterParams;
    type Header = NbitHeader;

    fn gauge(params: &NbitRouterParams) -> &GaugeParams {
        &params.gauge
    }

    fn new(params: &NbitRouterParams) -> Scheme {
        Scheme::new(params.bits, params.md, params.inverse)
    }

    fn code(&self, sigma: f64) -> u32 {
        Scheme::code(self, sigma)
    }

    const VARIABLES: &'static [Variable] = &[
        Gauge::VARIABLES[0],
        Gauge::VARIABLES[1],
        Gauge::VARIABLES[2],
        Gauge::VARIABLES[3],
        Variable::new("code", "", "code of the load; ideal: the bits of the load factor"),
    ];
}

/// The end host's part.
#[derive(Clone, Debug)]
pub struct NbitSender {
    window: Window,
    scheme: Scheme,
    kappa: f64,
    beta_max: f64,
    beta_min: f64,
    /// The last ACK's code and what it means.
    load: u32,
    action: Action,
    /// ln(1 + xi) while that is multiplicative increase.
    ln_mi: f64,
}

impl NbitSender {
    fn hear(&mut self, load: u32) {
        self.load = load;
        self.action = self.scheme.action(load);
        if let Action::Mi(edge) = self.action {
            self.ln_mi = math::ln(1.0 + xi(self.kappa, edge));
        }
    }
}

impl Sender for NbitSender {
    type Params = NbitSenderParams;
    type Header = NbitHeader;
    type Receiver = Highest<NbitHeader>;

    fn new(params: &NbitSenderParams, context: &SenderContext) -> NbitSender {
        NbitSender {
            window: Window::new(context.initial_window, params.alpha, params.mi_limit),
            scheme: Scheme::new(params.bits, params.md, params.inverse),
            kappa: params.kappa,
            beta_max: params.beta_max,
            beta_min: params.beta_min,
            load: 0,
            action: Action::Nothing,
            ln_mi: 0.0,
        }
    }

    #[inline]
    fn on_send(&mut self, segment: &Departing) -> NbitHeader {
        NbitHeader::new(1, self.window.t_p, segment.srtt)
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack<NbitHeader>) {
        if ack.header.load != self.load {
            self.hear(ack.header.load);
        }
        if self.action == Action::Nothing {
            return;
        }
        self.window.hear(ack.srtt, ack.header.timing);
        match self.action {
            Action::Nothing => {}
            Action::Mi(_) => self.window.increase_multiplicatively(self.ln_mi),
            Action::Ai => self.window.increase_additively(),
            Action::Ii => self.window.increase_inversely(),
            Action::Md(level) => {
                let beta = self.scheme.beta(level, self.beta_max, self.beta_min);
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

    const VARIABLES: &'static [Variable] = &[
        Variable::new("cwnd", "pkts", "congestion window"),
        Variable::new("code", "", "code of the last ACK; ideal: the bits of the load factor"),
        Variable::new("xi_s", "", "what an ACK adds under MI, scaled by RTT; 0 otherwise"),
        Variable::new("alpha_f", "pkts", "AI parameter scaled by RTT: an ACK adds alpha_f/cwnd"),
        Variable::new("t_p", "s", "period of the load factor at the bottleneck"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("cwnd", self.window.cwnd);
        sink("code", f64::from(self.load));
        let mi = matches!(self.action, Action::Mi(_));
        sink("xi_s", if mi { self.window.xi_s(self.ln_mi) } else { 0.0 });
        sink("alpha_f", self.window.alpha_f());
        sink("t_p", t_p(self.window.t_p).as_secs());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ack_after, departing, ms, near, sender_context};

    /// The different codes of all loads up to 150 %, in steps finer than any level.
    fn symbols(bits: Bits, md: Md, inverse: bool) -> (u32, u32) {
        let scheme = Scheme::new(bits, md, inverse);
        let (mut count, mut last) = (0, 0);
        for i in 0..150_000 {
            let code = scheme.code(f64::from(i) * 1e-5);
            assert!(code >= last, "codes rise with the load");
            count += u32::from(code != last);
            last = code;
        }
        (count, last)
    }

    #[test]
    fn a_scheme_has_no_more_symbols_than_its_bits_hold() {
        // With code 0, n bits hold 2^n: 2^n - 3 levels, AI, MD.
        for (bits, n) in [(Bits::Two, 2), (Bits::Three, 3), (Bits::Four, 4), (Bits::Fifteen, 15)] {
            for md in [Md::A, Md::B] {
                assert_eq!(symbols(bits, md, false), ((1 << n) - 1, (1 << n) - 1));
            }
        }
        // One more for C or for II; MLCP's sixteen.
        assert_eq!(symbols(Bits::Three, Md::C, false).1, 8);
        assert_eq!(symbols(Bits::Three, Md::C, true).1, 9);
        assert_eq!(symbols(Bits::Three, Md::D, true), (15, 15));
    }

    #[test]
    fn a_level_is_told_by_its_upper_edge() {
        let edge = |bits, sigma| {
            let scheme = Scheme::new(bits, Md::B, false);
            match scheme.action(scheme.code(sigma)) {
                Action::Mi(edge) => edge,
                other => panic!("{other:?}"),
            }
        };
        // Two bits: 80 %. Three: 16 % each. Four: 80/13 = 6.1538 % each. Fifteen: 80/32765.
        assert_eq!(edge(Bits::Two, 0.01), 0.8);
        assert!(near(edge(Bits::Three, 0.17), 0.32) && near(edge(Bits::Three, 0.799), 0.8));
        assert!(near(edge(Bits::Four, 0.10), 1.6 / 13.0));
        assert!((edge(Bits::Fifteen, 0.5) - 0.5).abs() < 0.8 / 32765.0);
        // The ideal scheme tells seven digits.
        assert!((edge(Bits::Ideal, 0.123_456_7) - 0.123_456_7).abs() < 1e-8);
        assert_eq!(Scheme::new(Bits::Ideal, Md::B, false).action(0), Action::Nothing);
    }

    #[test]
    fn the_schemes_of_decrease_differ_in_their_factors() {
        let beta = |bits, md, sigma| {
            let scheme = Scheme::new(bits, md, true);
            match scheme.action(scheme.code(sigma)) {
                Action::Md(level) => scheme.beta(level, 0.875, 0.675),
                other => panic!("{other:?}"),
            }
        };
        for bits in [Bits::Two, Bits::Three, Bits::Fifteen, Bits::Ideal] {
            assert_eq!([1.0, 1.1, 1.5].map(|s| beta(bits, Md::A, s)), [0.675; 3]);
            assert_eq!([1.0, 1.1, 1.5].map(|s| beta(bits, Md::B, s)), [0.875; 3]);
            let c = [1.0, 1.19, 1.21].map(|s| beta(bits, Md::C, s));
            assert_eq!(c, [0.875, 0.875, 0.675]);
            // 1.1 is in [1 + 3*0.2/7, 1 + 4*0.2/7): 0.875 - 3*0.2/7 = 0.789 285 7.
            assert!(near(beta(bits, Md::D, 1.1), 0.875 - 0.6 / 7.0));
            assert!(near(beta(bits, Md::D, 9.0), 0.675));
        }
        let scheme = Scheme::new(Bits::Three, Md::D, true);
        assert_eq!(scheme.action(scheme.code(0.94)), Action::Ai);
        assert_eq!(scheme.action(scheme.code(0.95)), Action::Ii);
        assert_eq!(Scheme::new(Bits::Three, Md::D, false).action(6), Action::Ai);
    }

    #[test]
    fn the_sender_grows_by_the_factor_of_the_level() {
        let grow = |bits, sigma| {
            let params = NbitSenderParams { bits, ..Default::default() };
            let mut s = NbitSender::new(&params, &sender_context(10.0));
            let code = s.scheme.code(sigma);
            let header = NbitHeader::new(code, 1, None);
            s.on_ack(&Ack { header, ..ack_after(ms(0), Span::from_millis(200)) });
            s.cwnd() - 10.0
        };
        // 0.35*(1 - e)/e at the edges 80 %, 16 %, 80/13 %, and 0.1 itself.
        assert!((grow(Bits::Two, 0.1) - 0.0875).abs() < 1e-8);
        assert!(near(grow(Bits::Three, 0.1), 1.8375));
        assert!(near(grow(Bits::Four, 0.01), 0.35 * (1.0 - 0.8 / 13.0) / (0.8 / 13.0)));
        assert!((grow(Bits::Ideal, 0.1) - 3.15).abs() < 1e-6);
        // AI scaled by (200/200)^2.
        assert!(near(grow(Bits::Four, 0.9), 0.1));
    }

    #[test]
    fn a_sender_asks_with_the_lowest_code() {
        let mut s = NbitSender::new(&NbitSenderParams::default(), &sender_context(1.0));
        let srtt = Some(Span::from_micros(80_123));
        assert_eq!(s.on_send(&Departing { srtt, ..departing() }), NbitHeader::new(1, 1, srtt));
    }

    /// A level ends below its edge: from 80 % on AI, from 95 % on II, from 100 % on MD, and from
    /// 120 % on C's strong decrease (sections 2.1, 2.2.2 and 2.2.3, "80 % to 95 %" and so on).
    #[test]
    fn an_edge_is_of_the_region_above() {
        for bits in [Bits::Two, Bits::Three, Bits::Four, Bits::Fifteen] {
            let scheme = Scheme::new(bits, Md::C, true);
            let action = |sigma| scheme.action(scheme.code(sigma));
            let actions = [TARGET, 0.95, 1.0, 1.2].map(action);
            assert_eq!(actions, [Action::Ai, Action::Ii, Action::Md(0), Action::Md(1)], "{bits:?}");
            assert_eq!(action(TARGET * (1.0 - f64::EPSILON)), Action::Mi(TARGET));
            // A code beyond the last is the last one, and without II there is none.
            assert_eq!(scheme.action(u32::MAX), Action::Md(1));
            let plain = Scheme::new(bits, Md::A, false);
            assert_eq!(plain.action(plain.code(0.99)), Action::Ai);
            assert_eq!(plain.action(u32::MAX), Action::Md(0));
        }
        // The ideal scheme's number of 24 binary digits; 0.96 is between 95 and 100 %.
        let ideal = Scheme::new(Bits::Ideal, Md::C, true);
        let actions = [0.8, 0.96, 1.0, 1.2].map(|sigma| ideal.action(ideal.code(sigma)));
        assert_eq!(actions, [Action::Ai, Action::Ii, Action::Md(0), Action::Md(1)]);
        // Nothing is below the finest level, which an idle link has.
        let Action::Mi(finest) = ideal.action(ideal.code(0.0)) else { panic!() };
        assert!((finest / (0.8 / 32_765.0) - 1.0).abs() < 1e-6);
    }

    /// With t_p = 200 ms at 200 ms and all figures of the protocol changed: MI at the edge 16 %
    /// with kappa 0.2 is 0.2*0.84/0.16 = 1.05 per ACK, at 1 s 2.05^1.5 - 1; AI 3 over the window.
    #[test]
    fn the_senders_figures_are_its_parameters() {
        let params = NbitSenderParams {
            kappa: 0.2,
            alpha: 3.0,
            mi_limit: 1.5,
            beta_max: 0.8,
            beta_min: 0.5,
            md: Md::C,
            ..Default::default()
        };
        let after = |sigma, rtt| {
            let mut s = NbitSender::new(&params, &sender_context(10.0));
            let header = NbitHeader::new(s.scheme.code(sigma), 1, None);
            s.on_ack(&Ack { header, ..ack_after(ms(0), Span::from_millis(rtt)) });
            s.cwnd()
        };
        assert!(near(after(0.1, 200), 11.05) && near(after(0.9, 200), 10.3));
        assert!(near(after(0.1, 1000), 9.0 + math::pow(2.05, 1.5)));
        assert!(near(after(1.1, 200), 8.0) && near(after(1.3, 200), 5.0));
    }
}

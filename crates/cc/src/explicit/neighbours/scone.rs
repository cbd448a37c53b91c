//! SCONE, a network's advice on the rate that a flow may have for long: draft-ietf-scone-protocol
//! (editor's copy a8772ea, August 2026).
//!
//! It is no congestion control. Twice per monitoring period of 67 s a sender lets a packet ask; a
//! network element writes into it the number n of a rate
//! where what an element before it wrote is not lower. The receiver tells the lowest of a period,
//! and a sender that obeys does not exceed it. After a period without advice it is void. An element
//! may police what it has advised, over two periods.
//!
//! ```math
//! rate = 100*10^(n/20)  [kb/s], n from 0 to 126; 127: no advice
//! ```
//!
//! The end host here is CUBIC ([`crate::tcp::cubic`]), which paces at the advice if it obeys. The
//! element is a first-in first-out queue that advises each flow of the same rate, and drops what a
//! flow sends beyond it if it polices.
//!
//! Deviations:
//! - D1: the draft is for QUIC, where advice is in a packet of its own; here it is in a TCP option
//!   of a data packet, and the receiver's answer in the ACK.
//! - D2: a policer is a token bucket of two periods of the advised rate, where the draft's sample
//!   has a sliding window; it begins full.
//! - D3: the period is the element's, the sender's and the receiver's parameter alike; shorter ones
//!   make shorter runs.
//! - D4: the draft's text was not at hand, but for notes on the copy named above.

use units::{Rate, Span, Time, math};

use crate::classes::{Place, Scheduler};
use crate::roles::{
    Ack, Arrived, Departing, EcnUse, Feedback, Header, Loss, PacketKind, Passing, Receiver, Router,
    RouterContext, Sender, SenderContext, Variable, Verdict,
};
use crate::tcp::cubic::{CubicParams, CubicSender};

/// No advice.
const NONE: u8 = 127;
/// The rate of signal 0 [bit/s].
const LEAST_RATE: f64 = 1e5;
/// Signals per tenfold rate.
const PER_DECADE: f64 = 20.0;

/// The rate that a signal means [bit/s].
fn rate_of(signal: u8) -> f64 {
    LEAST_RATE * math::pow(10.0, f64::from(signal) / PER_DECADE)
}

/// The signal of the largest rate that is not above this one [bit/s].
fn signal_of(rate: f64) -> u8 {
    let exact = PER_DECADE * math::ln(rate / LEAST_RATE) / core::f64::consts::LN_10;
    // Rounding of the logarithm must not lose a step.
    math::floor(exact + 1e-9).clamp(0.0, f64::from(NONE - 1)) as u8
}

/// What travels in a packet that asks, and in the ACK that tells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SconeHeader {
    /// Does it ask, or tell?
    pub asks: bool,
    /// The number of the rate, or 127.
    pub signal: u8,
}

impl Default for SconeHeader {
    fn default() -> SconeHeader {
        SconeHeader { asks: false, signal: NONE }
    }
}

impl Header for SconeHeader {
    const WIRE_BYTES: usize = 1;
    const VARIABLES: &'static [Variable] = &[
        Variable::new("h_asks", "", "1 in a packet that asks and in an ACK that tells"),
        Variable::new("h_scone", "", "signal: 20 lg(rate/100 kb/s), 127 for none"),
    ];

    fn encode(&self, wire: &mut [u8]) {
        if let Some(byte) = wire.first_mut() {
            *byte = (u8::from(self.asks) << 7) | (self.signal & NONE);
        }
    }

    fn decode(wire: &[u8]) -> Option<SconeHeader> {
        let byte = wire.first()?;
        Some(SconeHeader { asks: byte >> 7 == 1, signal: byte & NONE })
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("h_asks", f64::from(u8::from(self.asks)));
        sink("h_scone", f64::from(self.signal));
    }
}

params! {
    /// The element's parameters.
    pub struct SconeRouterParams {
        /// Rate that each flow is advised of [bit/s]; told by the largest signal not above it.
        advice: f64 = 2e6 => (1e5, 2e11);
        /// Is what a flow sends beyond it dropped?
        police: bool = false;
        /// The monitoring period.
        period: Span = Span::from_secs(67) => (0.1, 3600.0);
    }
}

/// A flow's tokens.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bucket {
    /// Bytes that it has sent beyond its rate.
    excess: f64,
    /// When that was worked out.
    at: Time,
}

/// The element's part.
#[derive(Clone, Debug)]
pub struct SconeRouter {
    params: SconeRouterParams,
    signal: u8,
    told: u64,
    policed: u64,
}

impl SconeRouter {
    /// Does the flow stay within what was advised, with so many bytes more?
    fn conforms(&self, now: Time, bucket: &mut Bucket, bytes: u32) -> bool {
        let rate = rate_of(self.signal) / 8.0;
        let passed = now.since(bucket.at).as_secs();
        let excess = (bucket.excess - rate * passed).max(0.0);
        bucket.at = now;
        bucket.excess = excess;
        let most = 2.0 * self.params.period.as_secs() * rate;
        if excess + f64::from(bytes) > most {
            return false;
        }
        bucket.excess = excess + f64::from(bytes);
        true
    }
}

impl Router for SconeRouter {
    type Params = SconeRouterParams;
    type Header = SconeHeader;

    fn new(params: &SconeRouterParams, _: &RouterContext) -> SconeRouter {
        let signal = signal_of(params.advice);
        SconeRouter { params: params.clone(), signal, told: 0, policed: 0 }
    }

    fn retune(&mut self, params: &SconeRouterParams, context: &RouterContext) {
        let SconeRouter { told, policed, .. } = *self;
        *self = SconeRouter { told, policed, ..SconeRouter::new(params, context) };
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("signal", "", "what flows are advised of: 20 lg(rate/100 kb/s)"),
        Variable::new("told", "pkts", "packets that it wrote its advice into"),
        Variable::new("policed", "pkts", "packets dropped as beyond the advice"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("signal", f64::from(self.signal));
        sink("told", self.told as f64);
        sink("policed", self.policed as f64);
    }
}

impl Scheduler for SconeRouter {
    type Cell = Bucket;

    fn cell(&self, flow: u32) -> u32 {
        flow
    }

    fn admit(
        &mut self,
        now: Time,
        packet: Passing<'_, SconeHeader>,
        place: &mut Place<'_, Bucket>,
    ) -> Verdict {
        if self.params.police
            && packet.kind == PacketKind::Data
            && !self.conforms(now, place.cell, packet.size)
        {
            self.policed += 1;
            return Verdict::Drop;
        }
        if let Some(header) = packet.header
            && header.asks
            && self.signal < header.signal
        {
            header.signal = self.signal;
            self.told += 1;
        }
        Verdict::Forward
    }
}

params! {
    /// The end host's parameters.
    pub struct SconeParams {
        /// Does it keep to the advice?
        obeys: bool = true;
        /// The monitoring period.
        period: Span = Span::from_secs(67) => (0.1, 3600.0);
    }
}

/// The receiver's part: the lowest advice of the period.
#[derive(Clone, Debug)]
pub struct SconeReceiver {
    period: Span,
    least: u8,
    began: Time,
}

impl Default for SconeReceiver {
    fn default() -> SconeReceiver {
        let SconeParams { period, .. } = SconeParams::default();
        SconeReceiver { period, least: NONE, began: Time::ZERO }
    }
}

impl Receiver for SconeReceiver {
    type Header = SconeHeader;

    fn on_data(&mut self, data: &Arrived<SconeHeader>) -> Feedback<SconeHeader> {
        let mut header = SconeHeader::default();
        if data.header.asks {
            if data.now.since(self.began) >= self.period {
                (self.least, self.began) = (NONE, data.now);
            }
            self.least = self.least.min(data.header.signal);
            header = SconeHeader { asks: true, signal: self.least };
        } else if let Some(pending) = data.pending {
            header = pending.header;
        }
        Feedback { header, code: data.ecn }
    }
}

/// The sender's part.
#[derive(Clone, Debug)]
pub struct SconeSender {
    params: SconeParams,
    cubic: CubicSender,
    /// When it asked last.
    asked: Option<Time>,
    /// The advice, and until when it holds.
    signal: u8,
    until: Time,
}

impl Sender for SconeSender {
    type Params = SconeParams;
    type Header = SconeHeader;
    type Receiver = SconeReceiver;

    const STEADY: bool = true;
    const VARIABLES: &'static [Variable] = &[
        Variable::new("cwnd", "pkts", "CUBIC's window"),
        Variable::new("advice", "bit/s", "rate that it was advised of; 0 for none"),
    ];

    fn new(params: &SconeParams, context: &SenderContext) -> SconeSender {
        SconeSender {
            params: params.clone(),
            cubic: CubicSender::new(&CubicParams::default(), context),
            asked: None,
            signal: NONE,
            until: Time::NEVER,
        }
    }

    fn receiver(params: &SconeParams, _: &SenderContext) -> SconeReceiver {
        SconeReceiver { period: params.period, ..SconeReceiver::default() }
    }

    fn ecn(&self) -> EcnUse {
        EcnUse::None
    }

    /// Asks twice per period.
    fn on_send(&mut self, segment: &Departing) -> SconeHeader {
        self.cubic.on_send(segment);
        let half = Span(self.params.period.0 / 2);
        let asks = self.asked.is_none_or(|asked| segment.now.since(asked) >= half);
        if asks {
            self.asked = Some(segment.now);
        }
        SconeHeader { asks, signal: NONE }
    }

    fn on_ack(&mut self, ack: &Ack<SconeHeader>) {
        if ack.header.asks && ack.header.signal < NONE {
            (self.signal, self.until) = (ack.header.signal, ack.now + self.params.period);
        }
        self.cubic.on_ack(&ack.without_header());
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.cubic.on_loss(loss);
    }

    fn next_timer(&self) -> Time {
        self.until
    }

    /// Advice that was not given again is void.
    fn on_timer(&mut self, _: Time) {
        (self.signal, self.until) = (NONE, Time::NEVER);
    }

    fn cwnd(&self) -> f64 {
        self.cubic.cwnd()
    }

    fn paces(&self) -> bool {
        self.params.obeys
    }

    fn pacing(&self) -> Option<Rate> {
        (self.params.obeys && self.signal < NONE).then(|| Rate(rate_of(self.signal) as u64))
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("cwnd", self.cwnd());
        sink("advice", if self.signal < NONE { rate_of(self.signal) } else { 0.0 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::Ecn;
    use crate::tests::sender_context;
    use crate::tests::{ack_after, departing, in_place, ms, near, passing, router_context};

    /// The draft's examples: 0 is 100 kb/s, 20 is 1 Mb/s, 60 is 100 Mb/s, 126 is 199.5 Gb/s.
    #[test]
    fn signals_are_twenty_per_decade() {
        for (signal, rate) in [(0, 1e5), (20, 1e6), (60, 1e8)] {
            assert!(near(rate_of(signal), rate));
            assert_eq!(signal_of(rate), signal);
        }
        assert!((rate_of(126) / 199.5e9 - 1.0).abs() < 1e-3);
        assert_eq!((signal_of(1e4), signal_of(1e15)), (0, 126));
        // 2 Mb/s is 26.02 of them: 26 is 1.995 Mb/s.
        assert_eq!(signal_of(2e6), 26);
    }

    #[test]
    fn the_lowest_advice_of_a_way_counts() {
        let context = router_context(Rate(10_000_000), 100);
        let mut router = SconeRouter::new(&SconeRouterParams::default(), &context);
        let mut tell = |asks, signal| {
            let (mut ecn, mut header) = (Ecn::NotCapable, SconeHeader { asks, signal });
            let packet = Passing { header: Some(&mut header), ..passing(&mut ecn) };
            in_place(|place| router.admit(ms(0), packet, place));
            header.signal
        };
        assert_eq!((tell(true, NONE), tell(true, 40), tell(true, 5)), (26, 26, 5));
        assert_eq!(tell(false, NONE), NONE);
    }

    /// 100 kb/s with a period of 1 s: 25,000 bytes in two periods. Of 30 packets of 1000 B at once
    /// 25 pass; a second later 12.5 more.
    #[test]
    fn a_policer_lets_two_periods_through() {
        let params = SconeRouterParams { advice: 1e5, police: true, period: Span::from_secs(1) };
        let context = router_context(Rate(10_000_000), 100);
        let router = SconeRouter::new(&params, &context);
        let mut bucket = Bucket::default();
        let mut passed =
            |at| (0..30).filter(|_| router.conforms(ms(at), &mut bucket, 1000)).count();
        assert_eq!((passed(0), passed(1000)), (25, 12));
    }

    /// It asks at once and each half period, obeys for a period, and then no longer.
    #[test]
    fn a_sender_asks_and_obeys() {
        let params = SconeParams { period: Span::from_secs(10), ..SconeParams::default() };
        let mut sender = SconeSender::new(&params, &sender_context(10.0));
        let mut asks = |at| sender.on_send(&Departing { now: ms(at), ..departing() }).asks;
        assert_eq!([0, 4999, 5000, 9000].map(&mut asks), [true, false, true, false]);
        assert_eq!((sender.pacing(), sender.next_timer()), (None, Time::NEVER));
        let header = SconeHeader { asks: true, signal: 20 };
        let ack = Ack { header, ..ack_after(ms(100), Span::from_millis(40)) };
        sender.on_ack(&ack);
        assert_eq!((sender.pacing(), sender.next_timer()), (Some(Rate(1_000_000)), ms(10_100)));
        sender.on_timer(ms(10_100));
        assert_eq!(sender.pacing(), None);
        let mut rogue =
            SconeSender::new(&SconeParams { obeys: false, ..params }, &sender_context(10.0));
        rogue.on_ack(&ack);
        assert_eq!(rogue.pacing(), None);
    }

    /// The lowest of a period; a new one begins with the first that asks after it.
    #[test]
    fn a_receiver_tells_the_lowest_of_a_period() {
        let mut receiver = SconeReceiver { period: Span::from_secs(10), ..Default::default() };
        let mut told = |at, asks, signal| {
            let header = SconeHeader { asks, signal };
            let arrived = Arrived {
                now: ms(at),
                seq: 0,
                expected: 1,
                size: 1000,
                header,
                ecn: Ecn::NotCapable,
                pending: None,
            };
            receiver.on_data(&arrived).header
        };
        assert_eq!(told(0, true, 30), SconeHeader { asks: true, signal: 30 });
        assert_eq!(told(5000, true, 40).signal, 30);
        assert_eq!(told(6000, false, NONE), SconeHeader::default());
        assert_eq!(told(10_000, true, 40).signal, 40);
    }

    #[test]
    fn the_header_is_a_byte() {
        for header in [SconeHeader::default(), SconeHeader { asks: true, signal: 26 }] {
            let mut wire = [0; 1];
            header.encode(&mut wire);
            assert_eq!(SconeHeader::decode(&wire), Some(header));
        }
        assert_eq!(SconeHeader::decode(&[]), None);
    }

    /// Only what tells, and tells a rate, is advice; another holds the last one up no longer.
    #[test]
    fn advice_is_told_and_a_rate() {
        let params = SconeParams { period: Span::from_secs(10), ..SconeParams::default() };
        let mut sender = SconeSender::new(&params, &sender_context(10.0));
        let mut hear = |at, asks, signal| {
            let header = SconeHeader { asks, signal };
            sender.on_ack(&Ack { header, ..ack_after(ms(at), Span::from_millis(40)) });
            (sender.pacing().map(|rate| rate.0), sender.next_timer())
        };
        assert_eq!(hear(0, false, 20), (None, Time::NEVER));
        assert_eq!(hear(1, true, NONE), (None, Time::NEVER));
        assert_eq!(hear(2, true, 20), (Some(1_000_000), ms(10_002)));
        assert_eq!(hear(3, true, NONE), (Some(1_000_000), ms(10_002)));
        assert_eq!(hear(4, false, 60), (Some(1_000_000), ms(10_002)));
    }

    /// Its period is the protocol's parameter; a delayed ACK keeps what waits where it asks
    /// nothing.
    #[test]
    fn the_receivers_period_is_the_parameters() {
        let params = SconeParams { period: Span::from_secs(10), ..SconeParams::default() };
        let mut receiver = SconeSender::receiver(&params, &sender_context(1.0));
        let mut told = |at, asks, signal, pending| {
            let header = SconeHeader { asks, signal };
            let (now, ecn) = (ms(at), Ecn::NotCapable);
            let arrived = Arrived { now, seq: 0, expected: 1, size: 1000, header, ecn, pending };
            receiver.on_data(&arrived)
        };
        let first = told(0, true, 30, None);
        assert_eq!(told(9999, true, 40, None).header.signal, 30);
        assert_eq!(told(10_000, true, 40, None).header.signal, 40);
        assert_eq!(told(10_001, false, NONE, Some(first)).header, first.header);
        assert_eq!(told(10_002, true, 50, Some(first)).header.signal, 40);
    }

    /// 100 kb/s with a period of 1 s: the 26th of 1000 B at once is beyond it, if policed and data.
    #[test]
    fn an_element_counts_what_it_told_and_what_it_dropped() {
        for (police, kind, dropped) in [
            (true, PacketKind::Data, 5.0),
            (true, PacketKind::Ack, 0.0),
            (false, PacketKind::Data, 0.0),
        ] {
            let params = SconeRouterParams { advice: 1e5, police, period: Span::from_secs(1) };
            let context = router_context(Rate(10_000_000), 100);
            let mut router = SconeRouter::new(&params, &context);
            let mut drops = 0.0;
            in_place(|place| {
                for i in 0..30_u8 {
                    // Of four, one asks that has no lower advice yet.
                    let mut header = SconeHeader { asks: i % 2 == 0, signal: i % 4 / 2 };
                    let mut ecn = Ecn::NotCapable;
                    let packet = Passing { kind, header: Some(&mut header), ..passing(&mut ecn) };
                    let verdict = router.admit(ms(0), packet, place);
                    drops += f64::from(u8::from(verdict == Verdict::Drop));
                }
            });
            assert_eq!(drops, dropped);
            // Packets 2, 6, 10, ..., of which 26 is dropped.
            let told = if dropped > 0.0 { 6 } else { 7 };
            assert_eq!((router.signal, router.told), (0, told), "{police} {kind:?}");
            assert_eq!(router.policed as f64, dropped);
        }
    }

    /// One that does not obey asks as well, and is not paced. Each flow has a bucket of its own.
    #[test]
    fn who_does_not_obey_is_not_paced_and_flows_share_no_bucket() {
        let of = |obeys| {
            SconeSender::new(
                &SconeParams { obeys, ..SconeParams::default() },
                &sender_context(10.0),
            )
        };
        assert!(of(true).paces() && !of(false).paces());
        let context = router_context(Rate(10_000_000), 100);
        let router = SconeRouter::new(&SconeRouterParams::default(), &context);
        assert_ne!(router.cell(1), router.cell(2));
    }
}

//! Quick-Start. RFC 4782, for TCP.
//!
//! A flow's first packet carries a rate request in an IP option. Each router on the way approves
//! it, lowers it or sets it to zero, by its spare capacity and what it has approved of late; the
//! receiver returns what is left. The sender then opens its window to rate*RTT at once, paces it
//! out over that round trip, and goes on as Reno does from there.
//!
//! ```math
//! cwnd <- rate*rtt  once, when the approved rate comes back; then as Reno
//! ```
//!
//! Deviations:
//! - D1: the request travels with the first data packet, not with the SYN; until its answer comes
//!   no other packet leaves.
//! - D2: the option's nonce, Report of Approved Rate and TTL check (sections 3.1, 3.3 and 4.4)
//!   guard against routers and hosts that do not take part or cheat; here a request that has not
//!   met a router with Quick-Start on any of its links comes back unseen, and counts as denied.
//! - D3: the router is the example of appendix C (with section 6.3): it approves a request, lowered
//!   if need be, as long as the peak utilization of the last intervals and the rates approved in
//!   them stay below a threshold.
//! - D4: a loss during the round of the burst sets the window as section 4.6.1 says, to what Reno
//!   would have had, which is half of what is out here.

use units::{Rate, Span, Time};

use crate::roles::{
    Ack, Backlog, Departing, Echo, EcnUse, Header, Loss, LossKind, Passing, Router, RouterContext,
    Sender, SenderContext, Variable, Verdict,
};
use crate::tcp::window::half_flight;

params! {
    /// The router's parameters.
    pub struct QuickStartRouterParams {
        /// Up to this part of the capacity requests are approved (appendix C, qs_thresh).
        threshold: f64 = 0.95 => (0.0, 1.0);
        /// The length of an interval over which utilization is measured (appendix C).
        interval: Span = Span::from_millis(150) => (0.001, 10.0);
    }
}

params! {
    /// The sender's parameters.
    pub struct QuickStartSenderParams {
        /// The rate asked for [bit/s]; rounded down to 40 kb/s*2^n, n from 1 to 15 (section 3.1).
        rate: f64 = 10e6 => (80e3, 1.310_72e9);
        /// Does it use ECN (RFC 3168)?
        ecn: bool = false;
    }
}

/// The IP option (section 3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QuickStartHeader {
    /// n of the rate 40 kb/s*2^n; 0 is no rate.
    pub request: u8,
    /// Has a router seen the request (D2)?
    pub seen: bool,
}

/// The rate that a request stands for: K*2^n with K = 40 kb/s [bit/s] (section 3.1).
fn rate_of(request: u8) -> u64 {
    if request == 0 { 0 } else { 40_000 << request.min(15) }
}

/// The highest request not above a rate [bit/s].
fn request_for(rate: f64) -> u8 {
    (1..=15).rev().find(|&n| rate_of(n) as f64 <= rate).unwrap_or(0)
}

impl Header for QuickStartHeader {
    /// The request in the lower four bits, whether it was seen in the highest.
    const WIRE_BYTES: usize = 1;
    const VARIABLES: &'static [Variable] = &[
        Variable::new("h_request", "", "n of the rate 40 kb/s*2^n; 0 is none"),
        Variable::new("h_seen", "", "1 if a router has seen the request"),
    ];

    fn encode(&self, wire: &mut [u8]) {
        wire[0] = self.request.min(15) | u8::from(self.seen) << 7;
    }

    fn decode(wire: &[u8]) -> Option<QuickStartHeader> {
        let byte = *wire.first()?;
        (byte & 0x70 == 0)
            .then_some(QuickStartHeader { request: byte & 15, seen: byte & 0x80 != 0 })
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("h_request", f64::from(self.request));
        sink("h_seen", f64::from(u8::from(self.seen)));
    }
}

/// The router's part (appendix C).
#[derive(Clone, Debug)]
pub struct QuickStartRouter {
    params: QuickStartRouterParams,
    /// [bytes/s]
    capacity: f64,
    /// What has left in the running interval [bytes].
    sent: u64,
    /// The rates of the running interval's last and of the one before [bytes/s].
    recent: [f64; 2],
    /// Rates approved in the running interval and in the one before [bytes/s].
    approved: [f64; 2],
    since: Time,
    next: Time,
}

impl QuickStartRouter {
    /// What may still be approved [bytes/s].
    fn spare(&self) -> f64 {
        let peak = self.recent[0].max(self.recent[1]);
        self.params.threshold * self.capacity - peak - self.approved[0] - self.approved[1]
    }
}

impl Router for QuickStartRouter {
    type Params = QuickStartRouterParams;
    type Header = QuickStartHeader;

    fn new(params: &QuickStartRouterParams, context: &RouterContext) -> QuickStartRouter {
        QuickStartRouter {
            capacity: context.capacity.bytes_per_sec(),
            sent: 0,
            recent: [0.0; 2],
            approved: [0.0; 2],
            since: Time::ZERO,
            next: Time::ZERO + params.interval,
            params: params.clone(),
        }
    }

    #[inline]
    fn on_arrival(
        &mut self,
        _now: Time,
        packet: Passing<'_, QuickStartHeader>,
        _: Backlog,
    ) -> Verdict {
        if let Some(header) = packet.header
            && header.request > 0
        {
            let spare = request_for(8.0 * self.spare());
            header.request = header.request.min(spare);
            header.seen = true;
            self.approved[0] += rate_of(header.request) as f64 / 8.0;
        }
        Verdict::Forward
    }

    #[inline]
    fn on_departure(&mut self, _now: Time, packet: Passing<'_, QuickStartHeader>, _: Backlog) {
        self.sent += u64::from(packet.size);
    }

    fn next_timer(&self) -> Time {
        self.next
    }

    fn on_timer(&mut self, now: Time, _backlog: Backlog) {
        let length = now.since(self.since).as_secs();
        let rate = if length > 0.0 { self.sent as f64 / length } else { 0.0 };
        self.recent = [rate, self.recent[0]];
        self.approved = [0.0, self.approved[0]];
        (self.sent, self.since, self.next) = (0, now, now + self.params.interval);
    }

    fn on_capacity(&mut self, _now: Time, capacity: Rate) {
        self.capacity = capacity.bytes_per_sec();
    }

    fn retune(&mut self, params: &QuickStartRouterParams, context: &RouterContext) {
        self.params = params.clone();
        self.capacity = context.capacity.bytes_per_sec();
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new(
            "spare",
            "bytes/s",
            "what may still be approved; negative when it is too much",
        ),
        Variable::new("approved", "bytes/s", "rates approved in this interval and the one before"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("spare", self.spare());
        sink("approved", self.approved[0] + self.approved[1]);
    }
}

/// How far a sender is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Nothing has left.
    Fresh,
    /// The request is on its way.
    Asking,
    /// The window is being paced out at this rate [bit/s] until then.
    Pacing(Rate, Time),
    /// As Reno.
    Usual,
}

/// The end host's part.
#[derive(Clone, Debug)]
pub struct QuickStartSender {
    /// [packets]
    cwnd: f64,
    /// [packets]; infinite until the first loss.
    ssthresh: f64,
    ecn: bool,
    phase: Phase,
    request: u8,
    packet_bits: f64,
    initial_window: f64,
    /// What the path has approved [bit/s].
    approved: u64,
}

impl Sender for QuickStartSender {
    type Params = QuickStartSenderParams;
    type Header = QuickStartHeader;
    type Receiver = Echo<QuickStartHeader>;

    fn new(params: &QuickStartSenderParams, context: &SenderContext) -> QuickStartSender {
        QuickStartSender {
            cwnd: context.initial_window.max(1.0),
            ssthresh: f64::INFINITY,
            ecn: params.ecn,
            phase: Phase::Fresh,
            request: request_for(params.rate),
            packet_bits: f64::from(context.packet_bytes) * 8.0,
            initial_window: context.initial_window.max(1.0),
            approved: 0,
        }
    }

    fn ecn(&self) -> EcnUse {
        if self.ecn { EcnUse::Classic } else { EcnUse::None }
    }

    #[inline]
    fn on_send(&mut self, _segment: &Departing) -> QuickStartHeader {
        if self.phase != Phase::Fresh {
            return QuickStartHeader::default();
        }
        self.phase = Phase::Asking;
        QuickStartHeader { request: self.request, seen: false }
    }

    fn on_ack(&mut self, ack: &Ack<QuickStartHeader>) {
        match self.phase {
            Phase::Asking => self.take_answer(ack),
            Phase::Pacing(_, until) if ack.now >= until => self.phase = Phase::Usual,
            _ => {}
        }
        // RFC 5681, eqs. (2) and (3), at an ACK that found the window full to the last packet.
        let flight = f64::from(ack.in_flight.saturating_add(ack.delivered));
        if ack.acked == 0 || ack.recovering || ack.ece || flight + 1.0 <= self.cwnd {
            return;
        }
        self.cwnd += if self.cwnd < self.ssthresh { 1.0 } else { 1.0 / self.cwnd };
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.phase = Phase::Usual;
        if !(loss.kind == LossKind::Timeout && loss.repeated) {
            self.ssthresh = half_flight(self.cwnd, loss).max(2.0);
        }
        self.cwnd = match loss.kind {
            LossKind::DupAcks => self.ssthresh,
            LossKind::EcnEcho => self.cwnd.min(self.ssthresh),
            LossKind::Timeout => 1.0,
        };
    }

    #[inline]
    fn cwnd(&self) -> f64 {
        match self.phase {
            Phase::Fresh | Phase::Asking => 1.0,
            Phase::Pacing(..) | Phase::Usual => self.cwnd,
        }
    }

    fn paces(&self) -> bool {
        true
    }

    #[inline]
    fn pacing(&self) -> Option<Rate> {
        match self.phase {
            Phase::Pacing(rate, _) => Some(rate),
            _ => None,
        }
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("cwnd", "pkts", "congestion window"),
        Variable::new("approved", "bit/s", "rate that the path has approved"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("cwnd", self.cwnd());
        sink("approved", self.approved as f64);
    }
}

impl QuickStartSender {
    /// The answer to the request: the window becomes rate*RTT, if that is more than the initial one
    /// (section 4.4).
    fn take_answer(&mut self, ack: &Ack<QuickStartHeader>) {
        self.phase = Phase::Usual;
        let QuickStartHeader { request, seen } = ack.header;
        let (true, Some(rtt)) = (seen, ack.rtt) else { return };
        let rate = rate_of(request);
        let window = rate as f64 * rtt.as_secs().min(1e3) / self.packet_bits;
        if window > self.initial_window {
            self.approved = rate;
            self.cwnd = window;
            self.phase = Phase::Pacing(Rate(rate), ack.now + rtt);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::Ecn;
    use crate::tests::{
        ack, ack_after, departing, loss, ms, near, passing, router_context, sender_context,
    };

    #[test]
    fn requests_are_powers_of_two_of_40_kb_s() {
        assert_eq!([0, 1, 2, 15].map(rate_of), [0, 80_000, 160_000, 1_310_720_000]);
        // 40 kb/s*2^4 = 640 kb/s is the highest below 1 Mb/s.
        assert_eq!([79e3, 80e3, 1e6, 1.310_72e9].map(request_for), [0, 1, 4, 15]);
    }

    fn ask(router: &mut QuickStartRouter, request: u8) -> QuickStartHeader {
        let (mut ecn, mut header) = (Ecn::NotCapable, QuickStartHeader { request, seen: false });
        let packet = Passing { header: Some(&mut header), ..passing(&mut ecn) };
        router.on_arrival(ms(0), packet, Backlog::default());
        header
    }

    #[test]
    fn a_router_approves_what_fits_under_its_threshold() {
        // 0.95*10 Mb/s = 9.5 Mb/s: 5.12 Mb/s (n = 7), then of the 4.38 Mb/s left 2.56 (n = 6), then
        // of 1.82 Mb/s 1.28 (n = 5), of 0.54 Mb/s 0.32 (n = 3).
        let context = router_context(Rate(10_000_000), 100);
        let mut router = QuickStartRouter::new(&QuickStartRouterParams::default(), &context);
        let asked = [7, 7, 7, 7].map(|n| ask(&mut router, n));
        assert_eq!(asked.map(|header| header.request), [7, 6, 5, 3]);
        assert!(asked.iter().all(|header| header.seen));
        assert!(!ask(&mut router, 0).seen);
        // Two intervals later they are forgotten, and what leaves counts: 100,000 B in 150 ms are
        // 5.33 Mb/s, so 4.17 Mb/s are left.
        router.on_timer(ms(150), Backlog::default());
        for _ in 0..100 {
            let mut ecn = Ecn::NotCapable;
            router.on_departure(ms(160), passing(&mut ecn), Backlog::default());
        }
        router.on_timer(ms(300), Backlog::default());
        assert!(near(router.spare(), (9.5e6 - 1e5 * 8.0 / 0.15) / 8.0));
        assert_eq!(ask(&mut router, 7).request, 6);
    }

    fn asking() -> QuickStartSender {
        let params = QuickStartSenderParams::default();
        let mut s = QuickStartSender::new(&params, &sender_context(2.0));
        // 10 Mb/s: 5.12 Mb/s is the highest below.
        assert_eq!(s.on_send(&departing()), QuickStartHeader { request: 7, seen: false });
        assert_eq!(s.on_send(&departing()), QuickStartHeader::default());
        assert_eq!(s.cwnd(), 1.0);
        s
    }

    fn answer(s: &mut QuickStartSender, request: u8, seen: bool) {
        let header = QuickStartHeader { request, seen };
        s.on_ack(&Ack { header, in_flight: 0, ..ack_after(ms(100), Span::from_millis(100)) });
    }

    #[test]
    fn an_approved_rate_is_paced_out_over_one_round_trip() {
        let mut s = asking();
        answer(&mut s, 6, true);
        // 2.56 Mb/s*0.1 s are 32 packets of 8000 bits.
        assert_eq!((s.cwnd(), s.pacing()), (32.0, Some(Rate(2_560_000))));
        s.on_ack(&Ack { now: ms(199), ..ack(1) });
        assert!(s.pacing().is_some() && s.cwnd() == 33.0);
        s.on_ack(&Ack { now: ms(200), ..ack(1) });
        assert_eq!((s.cwnd(), s.pacing()), (34.0, None));
        s.on_loss(&loss(LossKind::DupAcks, 30));
        assert_eq!(s.cwnd(), 15.0);
        s.on_ack(&ack(1));
        assert!(near(s.cwnd(), 15.0 + 1.0 / 15.0));
    }

    #[test]
    fn a_request_that_is_denied_or_unseen_leaves_slow_start() {
        for (request, seen) in [(0, true), (7, false), (1, true)] {
            let mut s = asking();
            // 80 kb/s over 100 ms is one packet: less than the initial window.
            answer(&mut s, request, seen);
            assert_eq!((s.cwnd(), s.pacing()), (2.0, None), "{request} {seen}");
            s.on_ack(&ack(1));
            assert_eq!(s.cwnd(), 3.0);
        }
        let mut s = asking();
        s.on_loss(&loss(LossKind::Timeout, 1));
        assert_eq!((s.cwnd(), s.phase), (1.0, Phase::Usual));
    }

    /// A window of 32 and an ECN echo with 20 in flight: 10. A timeout with those: 1, and slow
    /// start to 5, which a repeated one leaves. Only an ACK of a full window counts, and not one in
    /// recovery, of nothing new or with an echo.
    #[test]
    fn losses_and_acks_are_renos() {
        let mut s = asking();
        answer(&mut s, 6, true);
        s.on_loss(&loss(LossKind::EcnEcho, 20));
        assert_eq!((s.cwnd(), s.pacing()), (10.0, None));
        // Nine out, or eight and the one just delivered, are not ten.
        for (in_flight, cwnd) in [(8, 10.0), (9, 10.1)] {
            s.on_ack(&Ack { in_flight, ..ack(1) });
            assert!(near(s.cwnd(), cwnd), "{in_flight}: {}", s.cwnd());
        }
        let before = s.cwnd();
        s.on_ack(&Ack { recovering: true, ..ack(1) });
        s.on_ack(&Ack { ece: true, ..ack(1) });
        s.on_ack(&Ack { acked: 0, ..ack(1) });
        assert_eq!(s.cwnd(), before);
        // An echo never makes the window larger.
        s.on_loss(&loss(LossKind::EcnEcho, 100));
        assert_eq!(s.cwnd(), before);
        s.on_loss(&loss(LossKind::Timeout, 10));
        s.on_loss(&Loss { repeated: true, ..loss(LossKind::Timeout, 2) });
        let mut cwnds = [0.0; 5];
        for cwnd in &mut cwnds {
            s.on_ack(&ack(1));
            *cwnd = s.cwnd();
        }
        assert_eq!(cwnds, [2.0, 3.0, 4.0, 5.0, 5.2]);
    }

    /// The larger rate of the last two intervals is taken: 150 kB in 150 ms, 1 MB/s, then half. An
    /// interval that ends as it begins has no rate.
    #[test]
    fn the_peak_of_two_intervals_is_in_use() {
        let context = router_context(Rate(16_000_000), 100);
        let params = QuickStartRouterParams { threshold: 0.75, ..Default::default() };
        let mut router = QuickStartRouter::new(&params, &context);
        let mut spare = [0.0; 4];
        for (i, packets) in [150, 75, 0, 0].into_iter().enumerate() {
            for _ in 0..packets {
                let mut ecn = Ecn::NotCapable;
                router.on_departure(ms(0), passing(&mut ecn), Backlog::default());
            }
            router.on_timer(ms(150 * (i as u64 + 1)), Backlog::default());
            spare[i] = router.spare();
        }
        for (spare, expected) in spare.into_iter().zip([5e5, 5e5, 1e6, 1.5e6]) {
            assert!(near(spare, expected), "{spare}");
        }
        router.on_timer(ms(600), Backlog::default());
        assert!(near(router.spare(), 1.5e6));
    }

    /// 2.56 Mb/s for 100 ms are 32 packets: where the window begins with as many, nothing is gained
    /// and nothing is paced (section 4.4).
    #[test]
    fn an_approval_of_the_initial_window_changes_nothing() {
        for (initial, approved) in [(32.0, 0), (31.0, 2_560_000)] {
            let params = QuickStartSenderParams::default();
            let mut s = QuickStartSender::new(&params, &sender_context(initial));
            s.on_send(&departing());
            answer(&mut s, 6, true);
            assert_eq!((s.approved, s.pacing().is_some()), (approved, approved > 0));
        }
    }
}

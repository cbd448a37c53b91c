//! ABC, Accel-Brake Control. Goyal, Agarwal, Netravali, Alizadeh, Balakrishnan, "ABC: a simple
//! explicit congestion controller for wireless networks", NSDI 2020 (arXiv 1905.03429), sections 3
//! and 5; the authors' code (ABC-NSDI2020, b1693cb): cellular_packet_queue.cc, tcp_abc.c,
//! tcp_abccubic.c.
//!
//! Every packet says "accelerate" until a router makes it a "brake". Of the packets that leave at
//! the rate cr a router lets the share f accelerate, and a sender sends two packets for an
//! accelerate and none for a brake, so that in a round trip it sends at 2 f cr. That is to be the
//! target rate tr.
//!
//! ```math
//! x = (n + 1)/mu                          the delay behind n waiting packets
//! tr = eta*mu - mu*max(0, x - d_t)/delta  the target rate
//! f = max(0, min(1, tr/(2*cr)))           the share of accelerates
//! ```
//!
//! Tokens pick the packets: each that leaves adds f, an accelerate takes one, and one that finds no
//! more than one token is a brake. In between senders add one packet per RTT, for fairness. N flows
//! of the round trip T, with mu in packets/s, then have f = 1/2 - N/(2 cr T) and use eta + N/(mu T)
//! of the link. Where that is above 1, the delay is x = d_t + delta (eta - 1 + N/(mu T)). The loop
//! is stable for delta > 2/3 T (Theorem 3.1).
//!
//! At other bottlenecks an accelerate means nothing. So there are two windows, ABC's and one of
//! CUBIC, of which losses reduce the second only; the smaller holds, and neither is above twice
//! what is in flight and five packets.
//!
//! Deviations:
//! - D1: `target = "code"` is the released program's, which has the dequeue rate where the paper
//!   has the capacity in tr: 0.98 cr. What then lets the rate grow are the tokens, 0.49 each, of
//!   opportunities that nobody uses.
//! - D2: mu is what the link tells its routers ([`crate::roles::Router::on_capacity`]): exact on a
//!   constant line, on a trace the mean of each `mu_window`, 100 ms unless set. The program counts
//!   the opportunities of the last 20 ms. cr is over T_w in 100 steps. A packet is marked when it
//!   becomes the next to leave, on a trace an opportunity before the one that it leaves with.
//! - D3: a brake is CE, as in the program. The paper has ECT(0) for it (`brake = "ect0"`), so that
//!   CE stays RFC 3168's: then it reduces CUBIC's window. That reading is from general knowledge of
//!   the paper and was not checked against its text, nor was the Theorem's number.
//! - D4: ACKs pass as they are: they are not ECN-capable.
//! - D5: the paper's router with two classes, by max-min of the largest flows, is not here.
//! - D6: pacing goes by the smoothed RTT; CUBIC is [`crate::tcp::cubic`], with HyStart++ for
//!   HyStart and 0.7 for 717/1024.

use units::{Rate, Span, Time};

use crate::roles::{
    Ack, Backlog, Departing, Echo, Ecn, EcnUse, Loss, LossKind, PacketKind, Passing, Router,
    RouterContext, Sender, SenderContext, Variable,
};
use crate::tcp::cubic::{CubicParams, CubicSender};
use crate::tcp::slow_start::SlowStartKind;

choice! {
    /// What the target rate starts from.
    pub enum Target {
        /// The capacity.
        Paper = "paper",
        /// The rate of departures.
        Code = "code",
    }
}

choice! {
    /// How a brake is written.
    pub enum Brake {
        /// As CE.
        Ce = "ce",
        /// As ECT(0).
        Ect0 = "ect0",
    }
}

params! {
    /// The router's parameters.
    pub struct AbcRouterParams {
        /// eta, the share of the capacity that is aimed at.
        eta: f64 = 0.98 => (0.5, 1.0);
        /// delta, the time in which delay above d_t is to go (exp.sh, for an RTT of 100 ms).
        delta: Span = Span::from_millis(133) => (1e-4, 10.0);
        /// d_t, the delay that is accepted (exp.sh's qdelay_ref).
        d_t: Span = Span::from_millis(50) => (0.0, 10.0);
        /// T_w, over which the rate of departures is measured.
        window: Span = Span::from_millis(20) => (1e-3, 10.0);
        /// Time over which a trace's capacity is measured; the program has T_w (D2).
        mu_window: Span = Span::from_millis(100) => (1e-3, 10.0);
        /// Most tokens.
        token_limit: f64 = 5.0 => (1.0, 1000.0);
        /// What the target rate starts from.
        target: Target = Target::Paper;
        /// How a brake is written.
        brake: Brake = Brake::Ce;
    }
}

/// Steps of the window over which departures are counted.
const STEPS: usize = 100;
/// What an opportunity that nobody uses adds to the tokens.
const UNUSED: f64 = 0.49;

/// Packets that left in the last T_w, by steps.
#[derive(Clone, Copy, Debug)]
struct Departures {
    counts: [u32; STEPS],
    /// The number of the step that is counted now.
    step: u64,
}

impl Departures {
    /// One more: the rate of those that the window still holds [packets/s]. As the window ends with
    /// a packet it holds half a one too many.
    fn count(&mut self, now: Time, window: Span) -> f64 {
        let length = (window.0 / STEPS as u64).max(1);
        let step = now.0 / length;
        for passed in (self.step + 1..=step).take(STEPS) {
            self.counts[passed as usize % STEPS] = 0;
        }
        self.step = step;
        self.counts[step as usize % STEPS] += 1;
        let covered = Span((STEPS as u64 - 1) * length + now.0 % length);
        (f64::from(self.counts.iter().sum::<u32>()) - 0.5) / covered.as_secs()
    }
}

/// The router's part.
#[derive(Clone, Debug)]
pub struct AbcRouter {
    params: AbcRouterParams,
    packet_bytes: u32,
    /// mu [packets/s].
    mu: f64,
    departures: Departures,
    tokens: f64,
    /// When the last packet was through, and nothing waited behind it.
    free: Time,
    emptied: bool,
    f: f64,
    x: f64,
}

impl AbcRouter {
    /// The share of accelerates, with so many packets waiting behind and the rate cr.
    fn share(&self, waiting: u32, cr: f64) -> f64 {
        let params = &self.params;
        let x = (f64::from(waiting) + 1.0) / self.mu;
        let base = match params.target {
            Target::Paper => self.mu,
            Target::Code => cr,
        };
        let above = (x - params.d_t.as_secs()).max(0.0);
        let target = params.eta * base - self.mu / params.delta.as_secs() * above;
        (target / (2.0 * cr)).clamp(0.0, 1.0)
    }
}

impl Router for AbcRouter {
    type Params = AbcRouterParams;
    type Header = ();

    fn new(params: &AbcRouterParams, context: &RouterContext) -> AbcRouter {
        AbcRouter {
            params: params.clone(),
            packet_bytes: context.packet_bytes,
            mu: context.capacity.bytes_per_sec() / f64::from(context.packet_bytes),
            departures: Departures { counts: [0; STEPS], step: 0 },
            tokens: params.token_limit,
            free: Time::ZERO,
            emptied: true,
            f: 0.5,
            x: 0.0,
        }
    }

    fn on_departure(&mut self, now: Time, packet: Passing<'_, ()>, backlog: Backlog) {
        // Where packets wait, no opportunity goes unused, though a trace's may be long in coming.
        let idle = if self.emptied { now.since(self.free).as_secs() } else { 0.0 };
        self.emptied = backlog.packets == 0;
        self.tokens += UNUSED * idle * self.mu;
        let share = f64::from(packet.size) / f64::from(self.packet_bytes);
        self.free = now + Span::from_secs_f64(share / self.mu);
        if packet.kind == PacketKind::Ack || *packet.ecn == Ecn::NotCapable {
            self.tokens = self.tokens.min(self.params.token_limit);
            return;
        }
        let window = self.params.window;
        let cr = self.departures.count(now, window);
        self.f = self.share(backlog.packets, cr);
        self.x = (f64::from(backlog.packets) + 1.0) / self.mu;
        self.tokens += self.f;
        let brake = match self.params.brake {
            Brake::Ce => Ecn::Ce,
            Brake::Ect0 => Ecn::Ect0,
        };
        // A brake stays one, and CE of another queue CE.
        let accelerates = *packet.ecn == Ecn::Ect1
            || (self.params.brake == Brake::Ce && *packet.ecn == Ecn::Ect0);
        if self.tokens > 1.0 {
            self.tokens -= f64::from(u8::from(accelerates));
        } else if accelerates {
            *packet.ecn = brake;
        }
        self.tokens = self.tokens.min(self.params.token_limit);
    }

    fn on_capacity(&mut self, _now: Time, capacity: Rate) {
        self.mu = capacity.bytes_per_sec() / f64::from(self.packet_bytes);
    }

    fn capacity_every(&self) -> Option<Span> {
        Some(self.params.mu_window)
    }

    fn retune(&mut self, params: &AbcRouterParams, context: &RouterContext) {
        self.params = params.clone();
        self.mu = context.capacity.bytes_per_sec() / f64::from(self.packet_bytes);
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("f", "", "share of packets that are to accelerate"),
        Variable::new("x", "s", "queueing delay at the last departure"),
        Variable::new("tokens", "pkts", "accelerates that may leave"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("f", self.f);
        sink("x", self.x);
        sink("tokens", self.tokens);
    }
}

params! {
    /// The sender's parameters.
    pub struct AbcParams {
        /// Is there a second window, CUBIC's, for other bottlenecks (section 5.1)? Without it
        /// losses change nothing but what is sent again.
        dual: bool = true;
        /// Packets added per RTT, for fairness (section 3.1.3).
        additive: f64 = 1.0 => (0.0, 100.0);
        /// How a brake is written; as the routers have it.
        brake: Brake = Brake::Ce;
    }
}

/// The end host's part.
#[derive(Clone, Debug)]
pub struct AbcSender {
    params: AbcParams,
    packet_bits: f64,
    /// w_abc [packets].
    window: f64,
    cubic: CubicSender,
    /// [s]
    srtt: f64,
}

/// What is left of a window that brakes [packets].
const LEAST: f64 = 5.0;

impl AbcSender {
    /// Section 5.1: neither window runs away from what is used.
    fn cap(&mut self, in_flight: u32) {
        let most = 2.0 * f64::from(in_flight) + 5.0;
        self.window = self.window.min(most);
        self.cubic.frame.cwnd = self.cubic.frame.cwnd.min(most);
    }
}

impl Sender for AbcSender {
    type Params = AbcParams;
    type Header = ();
    type Receiver = Echo<()>;

    const VARIABLES: &'static [Variable] = &[
        Variable::new("cwnd", "pkts", "the smaller of both windows"),
        Variable::new("w_abc", "pkts", "window by accelerates and brakes"),
        Variable::new("w_cubic", "pkts", "CUBIC's window, for other bottlenecks"),
    ];

    fn new(params: &AbcParams, context: &SenderContext) -> AbcSender {
        let cubic = CubicParams { slow_start: SlowStartKind::Hystart, ..CubicParams::default() };
        AbcSender {
            params: params.clone(),
            packet_bits: 8.0 * f64::from(context.packet_bytes),
            window: context.initial_window.max(1.0),
            cubic: CubicSender::new(&cubic, context),
            srtt: 0.0,
        }
    }

    fn ecn(&self) -> EcnUse {
        EcnUse::Codes(Ecn::Ect1)
    }

    fn on_send(&mut self, segment: &Departing) {
        self.cubic.on_send(segment);
    }

    fn on_ack(&mut self, ack: &Ack<()>) {
        self.srtt = ack.srtt.map_or(self.srtt, Span::as_secs);
        let packets = f64::from(ack.delivered);
        let foreign = self.params.brake == Brake::Ect0 && ack.code == Ecn::Ce;
        let brakes = match self.params.brake {
            Brake::Ce => ack.code == Ecn::Ce,
            Brake::Ect0 => ack.code == Ecn::Ect0,
        };
        if !brakes {
            self.window += packets;
        } else if self.window > LEAST + packets {
            self.window -= packets;
        }
        self.window += self.params.additive * packets / self.window;
        self.cubic.on_ack(&Ack { ece: foreign, ..*ack });
        if foreign {
            self.on_loss(&Loss {
                now: ack.now,
                kind: LossKind::EcnEcho,
                in_flight: ack.in_flight,
                lost: 0,
                repeated: false,
            });
        }
        self.cap(ack.in_flight);
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.cubic.on_loss(loss);
        self.cap(loss.in_flight);
    }

    fn cwnd(&self) -> f64 {
        if self.params.dual { self.window.min(self.cubic.cwnd()) } else { self.window }
    }

    fn paces(&self) -> bool {
        true
    }

    /// Two windows per RTT.
    fn pacing(&self) -> Option<Rate> {
        (self.srtt > 0.0)
            .then(|| Rate(((2.0 * self.cwnd() * self.packet_bits / self.srtt) as u64).max(1)))
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("cwnd", self.cwnd());
        sink("w_abc", self.window);
        sink("w_cubic", self.cubic.cwnd());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ack, ack_after, lost, ms, near, passing, router_context, sender_context};

    fn router(target: Target) -> AbcRouter {
        let params = AbcRouterParams { target, ..AbcRouterParams::default() };
        // 8 Mb/s of 1000 B: mu = 1000 packets/s.
        AbcRouter::new(&params, &router_context(Rate(8_000_000), 250))
    }

    /// Nothing waits: x = 1 ms, tr = 980. At cr = 1000, f = 0.49; at cr = 500, 0.98, by the code's
    /// target 0.49. With 99 behind: x = 100 ms, 50 above d_t: 980 - 1000*50/133 = 604.06, f =
    /// 0.302. With 199: 200 ms: 980 - 1127.8 < 0.
    #[test]
    fn the_share_follows_rate_and_delay() {
        let paper = router(Target::Paper);
        assert!(near(paper.share(0, 1000.0), 0.49) && near(paper.share(0, 500.0), 0.98));
        assert!(near(paper.share(0, 100.0), 1.0));
        assert!(near(paper.share(99, 1000.0), (980.0 - 50_000.0 / 133.0) / 2000.0));
        assert_eq!(paper.share(199, 1000.0), 0.0);
        assert!(near(router(Target::Code).share(0, 500.0), 0.49));
    }

    /// A packet each ms at 1000/s: f is 0.49 to the half packet of 20 that cr may be off, and as
    /// many accelerate as f adds up to, less the tokens that are left. A brake is never made an
    /// accelerate, takes no token, and what is not ECN-capable passes.
    #[test]
    fn tokens_pick_the_share() {
        let mut router = router(Target::Paper);
        let (mut accelerates, mut shares) = (0, 0.0);
        for t in 0..10_000 {
            let mut ecn = Ecn::Ect1;
            router.on_departure(ms(t), passing(&mut ecn), Backlog::default());
            accelerates += u32::from(ecn == Ecn::Ect1);
            shares += router.f;
            assert!(t < 20 || (router.f - 0.49).abs() < 0.49 * 0.026, "{}", router.f);
        }
        // 5 tokens at first.
        assert!((f64::from(accelerates) - shares).abs() < 6.0, "{accelerates} {shares}");
        let tokens = router.tokens;
        for ecn in [Ecn::Ce, Ecn::NotCapable] {
            let mut after = ecn;
            router.on_departure(ms(10_000), passing(&mut after), Backlog::default());
            assert_eq!(after, ecn);
        }
        assert!(router.tokens > tokens);
    }

    /// 20 opportunities that nobody used add 9.8 tokens, of which 5 are kept.
    #[test]
    fn unused_opportunities_are_tokens() {
        let mut router = router(Target::Code);
        router.tokens = 0.0;
        router.free = ms(0);
        router.on_departure(ms(2), passing(&mut Ecn::NotCapable), Backlog::default());
        assert!(near(router.tokens, 0.98));
        router.on_departure(ms(23), passing(&mut Ecn::NotCapable), Backlog::default());
        assert_eq!(router.tokens, 5.0);
    }

    /// A packet waits for 20 ms, as on a trace that has no opportunity: none went unused.
    #[test]
    fn what_waits_leaves_no_opportunity_unused() {
        let mut router = router(Target::Code);
        router.tokens = 0.0;
        router.free = ms(0);
        router.emptied = false;
        let behind = Backlog { packets: 1, bytes: 1000 };
        router.on_departure(ms(20), passing(&mut Ecn::NotCapable), behind);
        router.on_departure(ms(40), passing(&mut Ecn::NotCapable), Backlog::default());
        assert_eq!(router.tokens, 0.0);
        router.on_departure(ms(43), passing(&mut Ecn::NotCapable), Backlog::default());
        assert!(near(router.tokens, 0.98)); // 2 ms after the last one was through
    }

    /// One packet each 1.37 ms is 729.9/s, by 20 ms with 14 or 15 packets to half a packet; then
    /// one each 0.2 ms.
    #[test]
    fn departures_are_counted_over_a_sliding_window() {
        let mut departures = Departures { counts: [0; STEPS], step: 0 };
        let window = Span::from_millis(20);
        let mut now = Time::ZERO;
        for (gap, rate, within) in [(1370, 729.9, 26.0), (200, 5000.0, 26.0)] {
            for i in 0..500 {
                now = now + Span::from_micros(gap);
                let cr = departures.count(now, window);
                assert!(i < 110 || (cr - rate).abs() < within, "{gap}, {i}: {cr}");
            }
        }
        // What is older is forgotten: half a packet in 19.8 to 20 ms.
        assert!(departures.count(now + Span::from_secs(1), window) < 25.3);
    }

    /// An accelerate adds 1 + 1/w, a brake takes 1 and adds 1/w: 20 + 1 + 1/21, then 21.0476 - 1 +
    /// 1/20.0476.
    #[test]
    fn accelerates_add_and_brakes_take_a_packet() {
        let mut sender = AbcSender::new(&AbcParams::default(), &sender_context(20.0));
        sender.on_ack(&Ack { code: Ecn::Ect1, ..ack(1) });
        assert!(near(sender.window, 21.0 + 1.0 / 21.0));
        let before = sender.window;
        sender.on_ack(&Ack { code: Ecn::Ce, ..ack(1) });
        assert!(near(sender.window, before - 1.0 + 1.0 / (before - 1.0)));
        // 5 + 1 at least for a brake to take one.
        sender.window = 6.0;
        sender.on_ack(&Ack { code: Ecn::Ce, ..ack(1) });
        assert!(near(sender.window, 6.0 + 1.0 / 6.0));
        // Two windows of 8000 bits per 40 ms.
        sender.on_ack(&Ack { code: Ecn::Ce, ..ack_after(ms(0), Span::from_millis(40)) });
        let pace = 2.0 * sender.cwnd() * 8000.0 / 0.04;
        assert_eq!(sender.pacing(), Some(Rate(pace as u64)));
    }

    /// A loss with 100 in flight leaves CUBIC 0.7 of its window and ABC its own; both are capped at
    /// twice what is in flight and 5.
    #[test]
    fn losses_are_cubics_alone() {
        let mut sender = AbcSender::new(&AbcParams::default(), &sender_context(100.0));
        sender.on_loss(&lost(0, 100));
        assert_eq!((sender.window, sender.cubic.cwnd()), (100.0, 70.0));
        assert_eq!(sender.cwnd(), 70.0);
        sender.on_ack(&Ack { code: Ecn::Ce, in_flight: 10, ..ack(1) });
        assert_eq!((sender.window, sender.cubic.cwnd()), (25.0, 25.0));
        let alone = AbcParams { dual: false, ..AbcParams::default() };
        let mut sender = AbcSender::new(&alone, &sender_context(100.0));
        sender.on_loss(&lost(0, 100));
        assert_eq!(sender.cwnd(), 100.0);
    }

    /// With 300 packets behind f is 0, and tokens are what they were: an accelerate needs more than
    /// one (section 3.1.2: "if token > 1") and takes it; a brake and another queue's CE take none.
    #[test]
    fn an_accelerate_takes_a_token_of_more_than_one() {
        let (ce, ect0) = (Brake::Ce, Brake::Ect0);
        for (brake, tokens, came, left, rest) in [
            (ce, 1.0, Ecn::Ect1, Ecn::Ce, 1.0),
            (ce, 1.5, Ecn::Ect1, Ecn::Ect1, 0.5),
            (ce, 0.5, Ecn::Ect0, Ecn::Ce, 0.5),
            (ce, 3.0, Ecn::Ect0, Ecn::Ect0, 2.0),
            (ce, 3.0, Ecn::Ce, Ecn::Ce, 3.0),
            (ect0, 1.0, Ecn::Ect1, Ecn::Ect0, 1.0),
            (ect0, 3.0, Ecn::Ect1, Ecn::Ect1, 2.0),
            (ect0, 3.0, Ecn::Ect0, Ecn::Ect0, 3.0),
            (ect0, 3.0, Ecn::Ce, Ecn::Ce, 3.0),
        ] {
            let params = AbcRouterParams { brake, ..AbcRouterParams::default() };
            let mut router = AbcRouter::new(&params, &router_context(Rate(8_000_000), 250));
            (router.tokens, router.emptied) = (tokens, false);
            let (mut ecn, behind) = (came, Backlog { packets: 300, bytes: 300_000 });
            router.on_departure(ms(1000), passing(&mut ecn), behind);
            assert_eq!((router.f, ecn, router.tokens), (0.0, left, rest), "{brake:?} {came:?}");
            assert!(near(router.x, 0.301));
        }
    }

    /// Where ECT(0) is the brake, CE is another queue's: an accelerate to ABC, a loss to CUBIC.
    #[test]
    fn a_foreign_mark_is_cubics() {
        let params = AbcParams { brake: Brake::Ect0, ..AbcParams::default() };
        let mut sender = AbcSender::new(&params, &sender_context(20.0));
        sender.on_ack(&Ack { code: Ecn::Ect0, ..ack(1) });
        assert!(near(sender.window, 19.0 + 1.0 / 19.0));
        let (window, cubic) = (sender.window, sender.cubic.cwnd());
        sender.on_ack(&Ack { code: Ecn::Ce, ..ack(1) });
        assert!(near(sender.window, window + 1.0 + 1.0 / (window + 1.0)));
        assert!(near(sender.cubic.cwnd(), 0.7 * cubic), "{} {cubic}", sender.cubic.cwnd());
        // Where CE is the brake it is no loss, and without a second window nothing else is.
        let alone = AbcParams { dual: false, additive: 2.0, ..AbcParams::default() };
        let mut sender = AbcSender::new(&alone, &sender_context(20.0));
        let cubic = sender.cubic.cwnd();
        sender.on_ack(&Ack { code: Ecn::Ce, ..ack(2) });
        assert!(near(sender.cwnd(), 18.0 + 4.0 / 18.0) && sender.cubic.cwnd() >= cubic);
    }
}

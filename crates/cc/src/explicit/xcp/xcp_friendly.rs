//! TCP-friendly XCP: Katabi, Handley, Rohrs, "Congestion control for high bandwidth-delay product
//! networks", SIGCOMM 2002, section 8.2.
//!
//! A router keeps XCP's packets and all others apart, in an X-queue with XCP's controllers
//! ([`super::xcp`]) and a T-queue with RED, and serves them by weighted fair queueing. From the
//! T-queue's drop rate follows the window that TCP has on average (eq. 10), from XCP's headers the
//! one that XCP has; each control interval moves the weights towards the smaller of the two (eqs.
//! 11 and 12), and XCP's spare bandwidth is that of its part of the link (eqs. 13 and 14).
//!
//! ```math
//! cwnd_TCP = 1/(sqrt(2*p/3) + 12*p*sqrt(3*p/8)*(1 + 32*p^2))  p: T's drop rate (eq. 10)
//! cwnd_XCP = sum(rtt*s)/sum(rtt*s/cwnd)  over the headers of a control interval (R1)
//! w_T <- w_T + k*(cwnd_XCP - cwnd_TCP)/(cwnd_XCP + cwnd_TCP)  each interval (eqs. 11 and 12)
//! w_X = 1 - w_T
//! phi = alpha*d*(w_X*C - y_X) - beta*Q_X  XCP's part of the link (eqs. 13 and 14)
//! ```
//!
//! A sender asks at its start whether all routers and the receiver speak XCP. Its first packets are
//! offers, headers in which H_cwnd is 0: each router that speaks XCP adds one unit to H_rtt, the
//! receiver one byte to H_feedback, and the sender compares with the number of routers, which the
//! packet's TTL tells. If one is missing, it goes on as TCP Reno.
//!
//! Deviations:
//! - D1: it is windows over RTTs that become equal, the RTT of TCP being XCP's with the T-queue's
//!   delay in place of the X-queue's. That delay is a large part of TCP's RTT, so that equal
//!   windows are far from the equal throughputs that the paper wants; `equalise = "windows"` has
//!   its equations as printed.
//! - D2: offers, ACKs and packets of a sender that has gone back to TCP (they bear an offer that
//!   nobody takes up) are in the T-queue, which drops no ACK early.
//! - D3: without packets of XCP with an RTT in an interval the weights stay.
//! - D4: both queues share the link's buffer; what does not fit costs the longer one its last
//!   packet.
//! - D5: the weights of eqs. (11) and (12) add up to 1, so it is w_T that is kept within its
//!   limits.
//!
//! Reconstructed:
//! - R1: k, the start at equal weights and their limits; p is the T-queue's drops and marks over
//!   its arrivals, averaged over intervals with weight w_p; nothing dropped or marked makes eq.
//!   (11)'s ratio -1. XCP's mean window is a mean over flows, sum(rtt*s)/sum(rtt*s/cwnd).

use units::{Rate, Time, math};

use super::controlled::{Congestion, Stated, XcpRouterParams};
use super::xcp::{XcpHeader, XcpReceiver, XcpRouter, XcpSender, XcpSenderParams};
use crate::aqm::red::{Red, RedParams};
use crate::classes::{Order, Overflow, Place, Plan, Scheduler};
use crate::roles::{
    Ack, Arrived, Backlog, Departing, Feedback, Loss, PacketKind, Passing, Receiver, Router,
    RouterContext, Sender, SenderContext, Variable, Verdict,
};
use crate::tcp::reno::{RenoParams, RenoSender};

choice! {
    /// What the weights make equal.
    pub enum Equalise {
        /// The mean windows, eqs. (11) and (12) as printed.
        Windows = "windows",
        /// The mean windows over the RTTs (D1).
        Throughput = "throughput",
    }
}

params! {
    /// The router's parameters; XCP's own are [`XcpRouterParams`]'s defaults.
    pub struct XcpFriendlyRouterParams {
        /// alpha, share of the spare bandwidth handed out per interval (eq. 13).
        alpha: f64 = 0.4 => (0.0, 10.0);
        /// beta, share of the X-queue drained per interval (eq. 13).
        beta: f64 = 0.226 => (0.0, 10.0);
        /// gamma, share of XCP's traffic shuffled per interval (eq. 2).
        gamma: f64 = 0.1 => (0.0, 1.0);
        /// k, by which the weights move (eqs. 11 and 12).
        k: f64 = 0.1 => (0.0, 1.0);
        /// The least weight; the most is 1 less that.
        least: f64 = 0.05 => (0.001, 0.5);
        /// w_p, the weight of an interval in the average of p.
        w_p: f64 = 0.05 => (0.0001, 1.0);
        /// What the weights make equal.
        equalise: Equalise = Equalise::Throughput;
        /// RED's min_th as a part of the buffer.
        min_th_ratio: f64 = 1.0 / 3.0 => (0.0, 1.0);
        /// RED's max_th as a part of the buffer.
        max_th_ratio: f64 = 2.0 / 3.0 => (0.0, 1.0);
        /// RED's w_q, the weight of a new sample in the average queue.
        w_q: f64 = 0.002 => (1e-9, 1.0);
        /// RED's max_p, the probability at max_th.
        max_p: f64 = 0.1 => (1e-6, 1.0);
        /// Does RED mark capable packets?
        ecn: bool = true;
    }
}

/// The T-queue's class.
const T: u32 = 0;
/// The X-queue's.
const X: u32 = 1;

/// An average over packets of an interval, kept through intervals without any.
#[derive(Clone, Copy, Debug, Default)]
struct Average {
    sum: f64,
    count: f64,
    value: f64,
}

impl Average {
    fn take(&mut self, value: f64) {
        self.sum += value;
        self.count += 1.0;
    }

    fn end(&mut self) -> f64 {
        if self.count > 0.0 {
            self.value = self.sum / self.count;
        }
        (self.sum, self.count) = (0.0, 0.0);
        self.value
    }
}

/// The router's part: a link's policy.
#[derive(Clone, Debug)]
pub struct XcpFriendlyRouter {
    params: XcpFriendlyRouterParams,
    capacity: Rate,
    /// s [bytes].
    packet: f64,
    xcp: XcpRouter,
    red: Red,
    /// What waits in the X-queue.
    x_backlog: Backlog,
    // Of the running interval: the T-queue's arrivals, drops and marks, and sums over XCP's
    // packets.
    arrivals: f64,
    signals: f64,
    sum_rtt: f64,
    sum_rtt_by_cwnd: f64,
    sum_rtt2_by_cwnd: f64,
    t_delay: Average,
    x_delay: Average,
    // The outcome of the last.
    p: f64,
    cwnd_tcp: f64,
    cwnd_xcp: f64,
    w_t: f64,
}

/// The mean window of TCP at a drop rate [packets], eq. (10); infinite without drops.
fn tcp_window(p: f64) -> f64 {
    if p <= 0.0 {
        return f64::INFINITY;
    }
    let timeouts = 12.0 * p * math::sqrt(3.0 * p / 8.0) * (1.0 + 32.0 * p * p);
    1.0 / (math::sqrt(2.0 * p / 3.0) + timeouts)
}

/// (x - t)/(x + t), the step of w_T over k; -1 for an infinite t.
fn step(t: f64, x: f64) -> f64 {
    if t.is_finite() { (x - t) / (x + t) } else { -1.0 }
}

fn xcp_params(params: &XcpFriendlyRouterParams) -> XcpRouterParams {
    let &XcpFriendlyRouterParams { alpha, beta, gamma, .. } = params;
    XcpRouterParams { alpha, beta, gamma, ..XcpRouterParams::default() }
}

fn red_params(params: &XcpFriendlyRouterParams) -> RedParams {
    let &XcpFriendlyRouterParams { min_th_ratio, max_th_ratio, w_q, max_p, ecn, .. } = params;
    RedParams { min_th_ratio, max_th_ratio, w_q, max_p, ecn, ..RedParams::default() }
}

impl XcpFriendlyRouter {
    fn part(&self, weight: f64) -> Rate {
        Rate(((weight * self.capacity.as_bps()) as u64).max(1))
    }

    /// Eqs. (10) to (12) at the end of a control interval.
    fn move_weights(&mut self, now: Time) {
        if self.arrivals > 0.0 {
            self.p += self.params.w_p * (self.signals / self.arrivals - self.p);
        }
        (self.arrivals, self.signals) = (0.0, 0.0);
        let (t_delay, x_delay) = (self.t_delay.end(), self.x_delay.end());
        self.cwnd_tcp = tcp_window(self.p);
        if self.sum_rtt_by_cwnd > 0.0 {
            self.cwnd_xcp = self.sum_rtt / self.sum_rtt_by_cwnd / self.packet;
            let rtt = self.sum_rtt2_by_cwnd / self.sum_rtt_by_cwnd;
            let params = &self.params;
            let (mut t, mut x) = (self.cwnd_tcp, self.cwnd_xcp);
            if params.equalise == Equalise::Throughput {
                // XCP's RTT with the other queue's delay in place of its own.
                (t, x) = (t / (rtt - x_delay + t_delay).max(1e-6), x / rtt);
            }
            let w_t = self.w_t + params.k * step(t, x);
            self.w_t = w_t.clamp(params.least, 1.0 - params.least);
        }
        (self.sum_rtt, self.sum_rtt_by_cwnd, self.sum_rtt2_by_cwnd) = (0.0, 0.0, 0.0);
        self.share(now);
    }

    /// Tells both queues' controllers what their part of the link is.
    fn share(&mut self, now: Time) {
        self.xcp.on_capacity(now, self.part(1.0 - self.w_t));
        self.red.on_capacity(now, self.part(self.w_t));
    }
}

/// Is it XCP's, and no offer?
fn of_xcp(packet: &Passing<'_, XcpHeader>) -> bool {
    packet.header.as_ref().is_some_and(|header| header.cwnd > 0.0)
}

/// The packet as a queue of packets without headers sees it.
fn plain<'a>(packet: Passing<'a, XcpHeader>) -> Passing<'a, ()> {
    let Passing { flow, size, kind, queued_for, ecn, .. } = packet;
    Passing { flow, size, kind, queued_for, ecn, header: None }
}

impl Router for XcpFriendlyRouter {
    type Params = XcpFriendlyRouterParams;
    type Header = XcpHeader;

    fn new(params: &XcpFriendlyRouterParams, context: &RouterContext) -> XcpFriendlyRouter {
        let mut router = XcpFriendlyRouter {
            capacity: context.capacity,
            packet: f64::from(context.packet_bytes),
            xcp: XcpRouter::new(&xcp_params(params), context),
            red: Red::new(&red_params(params), context),
            params: params.clone(),
            x_backlog: Backlog::default(),
            arrivals: 0.0,
            signals: 0.0,
            sum_rtt: 0.0,
            sum_rtt_by_cwnd: 0.0,
            sum_rtt2_by_cwnd: 0.0,
            t_delay: Average::default(),
            x_delay: Average::default(),
            p: 0.0,
            cwnd_tcp: 0.0,
            cwnd_xcp: 0.0,
            w_t: 0.5,
        };
        router.share(Time::ZERO);
        router
    }

    /// XCP's feedback, and the answer to an offer.
    fn on_departure(&mut self, now: Time, packet: Passing<'_, XcpHeader>, _: Backlog) {
        self.xcp.on_departure(now, packet, self.x_backlog);
    }

    fn next_timer(&self) -> Time {
        self.xcp.next_timer()
    }

    fn on_timer(&mut self, now: Time, _: Backlog) {
        let end = self.xcp.interval_end();
        self.xcp.on_timer(now, self.x_backlog);
        if self.xcp.interval_end() != end {
            self.move_weights(now);
        }
    }

    fn on_capacity(&mut self, now: Time, capacity: Rate) {
        self.capacity = capacity;
        self.share(now);
    }

    fn retune(&mut self, params: &XcpFriendlyRouterParams, context: &RouterContext) {
        self.params = params.clone();
        self.capacity = context.capacity;
        self.w_t = self.w_t.clamp(params.least, 1.0 - params.least);
        let part = |weight| RouterContext { capacity: self.part(weight), ..context.clone() };
        let (t, x) = (part(self.w_t), part(1.0 - self.w_t));
        self.xcp.retune(&xcp_params(params), &x);
        self.red.retune(&red_params(params), &t);
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("w_t", "", "weight of the T-queue; the X-queue has the rest of 1"),
        Variable::new("p", "", "drops and marks of the T-queue over its arrivals"),
        Variable::new(
            "cwnd_tcp",
            "pkts",
            "TCP's mean window, eq. (10); 0 where nothing is dropped",
        ),
        Variable::new("cwnd_xcp", "pkts", "XCP's mean window"),
        Variable::new("x_backlog", "bytes", "what waits in the X-queue"),
        Variable::new("t_delay", "s", "mean time in the T-queue in the last interval"),
        Variable::new("x_delay", "s", "mean time in the X-queue in the last interval"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("w_t", self.w_t);
        sink("p", self.p);
        sink("cwnd_tcp", if self.cwnd_tcp.is_finite() { self.cwnd_tcp } else { 0.0 });
        sink("cwnd_xcp", self.cwnd_xcp);
        sink("x_backlog", self.x_backlog.bytes as f64);
        sink("t_delay", self.t_delay.value);
        sink("x_delay", self.x_delay.value);
    }
}

impl Scheduler for XcpFriendlyRouter {
    type Cell = ();

    fn plan(_: &XcpFriendlyRouterParams) -> Plan {
        Plan { order: Order::StartTags, overflow: Overflow::Longest, ..Plan::FIFO }
    }

    fn classify(&mut self, _: Time, packet: Passing<'_, XcpHeader>, _: &mut Place<'_, ()>) -> u32 {
        if of_xcp(&packet) { X } else { T }
    }

    fn admit(
        &mut self,
        now: Time,
        packet: Passing<'_, XcpHeader>,
        place: &mut Place<'_, ()>,
    ) -> Verdict {
        if place.class == X {
            let size = f64::from(packet.size);
            let stated = packet.header.as_ref().and_then(|header| header.stated(size));
            if let Some(Stated { rtt, rtt_by_cwnd, .. }) = stated {
                self.sum_rtt += rtt * size;
                self.sum_rtt_by_cwnd += rtt_by_cwnd;
                self.sum_rtt2_by_cwnd += rtt * rtt_by_cwnd;
            }
            self.x_backlog = place.queue;
            return self.xcp.on_arrival(now, packet, place.queue);
        }
        if packet.kind == PacketKind::Ack {
            return Verdict::Forward;
        }
        self.arrivals += 1.0;
        let before = *packet.ecn;
        let Passing { flow, size, kind, queued_for, ecn, .. } = packet;
        let passing = Passing { flow, size, kind, queued_for, ecn: &mut *ecn, header: None };
        let verdict = self.red.on_arrival(now, passing, place.queue);
        // What does not fit costs the longer queue a packet, which is this one's in all likelihood.
        let lost = verdict == Verdict::Drop || !(place.fits || place.idle);
        self.signals += f64::from(u8::from(lost || *ecn != before));
        verdict
    }

    fn weight(&self, class: u32) -> f64 {
        if class == X { 1.0 - self.w_t } else { self.w_t }
    }

    fn on_head(
        &mut self,
        now: Time,
        packet: Passing<'_, XcpHeader>,
        place: &mut Place<'_, ()>,
    ) -> Verdict {
        let waited = packet.queued_for.as_secs();
        if place.class == X {
            self.x_backlog = place.queue;
            self.x_delay.take(waited);
        } else if packet.kind == PacketKind::Data {
            self.t_delay.take(waited);
            self.red.on_departure(now, plain(packet), place.queue);
        }
        Verdict::Forward
    }
}

params! {
    /// The sender's parameters: XCP's and what the other end can do.
    pub struct XcpFriendlyParams {
        /// XCP's.
        xcp: XcpSenderParams;
        /// Does the receiver speak XCP?
        receiver: bool = true;
    }
}

/// An offer that no router has passed yet.
const OFFER: XcpHeader = XcpHeader { cwnd: 0.0, rtt: 0.0, feedback: 0.0 };
/// What a receiver that speaks XCP writes into an offer's H_feedback [bytes].
const TAKEN: f64 = 1.0;

/// The receiver's part: XCP's, and the answer to an offer. One that does not speak XCP returns an
/// offer of nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct XcpFriendlyReceiver {
    speaks: bool,
}

impl Receiver for XcpFriendlyReceiver {
    type Header = XcpHeader;

    #[inline]
    fn on_data(&mut self, data: &Arrived<XcpHeader>) -> Feedback<XcpHeader> {
        if !self.speaks {
            return Feedback { header: OFFER, code: data.ecn };
        }
        if data.header.cwnd > 0.0 {
            return XcpReceiver::default().on_data(data);
        }
        Feedback { header: XcpHeader { feedback: TAKEN, ..data.header }, code: data.ecn }
    }
}

/// What the sender speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// It has offered XCP, and no answer has come.
    Offering,
    Xcp,
    Tcp,
}

/// The end host's part.
#[derive(Clone, Debug)]
pub struct XcpFriendlySender {
    mode: Mode,
    xcp: XcpSender,
    tcp: RenoSender,
    /// On the way to the receiver.
    routers: u32,
}

impl Sender for XcpFriendlySender {
    type Params = XcpFriendlyParams;
    type Header = XcpHeader;
    type Receiver = XcpFriendlyReceiver;

    fn new(params: &XcpFriendlyParams, context: &SenderContext) -> XcpFriendlySender {
        XcpFriendlySender {
            mode: Mode::Offering,
            xcp: XcpSender::new(&params.xcp, context),
            tcp: RenoSender::new(&RenoParams::default(), context),
            routers: context.routers,
        }
    }

    fn receiver(params: &XcpFriendlyParams, _: &SenderContext) -> XcpFriendlyReceiver {
        XcpFriendlyReceiver { speaks: params.receiver }
    }

    fn on_send(&mut self, segment: &Departing) -> XcpHeader {
        self.tcp.on_send(segment);
        if self.mode == Mode::Xcp { self.xcp.on_send(segment) } else { OFFER }
    }

    fn on_ack(&mut self, ack: &Ack<XcpHeader>) {
        if self.mode == Mode::Offering {
            let agreed = ack.header.feedback == TAKEN && ack.header.routers() == self.routers;
            self.mode = if agreed { Mode::Xcp } else { Mode::Tcp };
        }
        if self.mode == Mode::Tcp {
            self.tcp.on_ack(&ack.without_header());
        } else if ack.header.cwnd > 0.0 {
            self.xcp.on_ack(ack);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        if self.mode != Mode::Xcp {
            self.tcp.on_loss(loss);
        }
        if self.mode != Mode::Tcp {
            self.xcp.on_loss(loss);
        }
    }

    fn cwnd(&self) -> f64 {
        if self.mode == Mode::Tcp { self.tcp.cwnd() } else { self.xcp.cwnd() }
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("cwnd", "pkts", "congestion window"),
        Variable::new("mode", "", "what it speaks: 0 not agreed yet, 1 XCP, 2 TCP"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("cwnd", self.cwnd());
        sink("mode", f64::from(self.mode as u8));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Span;

    use crate::roles::{Ecn, LossKind};
    use crate::tests::{
        ack as plain_ack, departing, in_place, loss, ms, near, router_context, sender_context,
    };

    #[test]
    fn tcps_window_follows_from_the_drop_rate() {
        // p = 1 %: sqrt(2*0.01/3) = 0.0816497, sqrt(0.03/8) = 0.0612372, 12*0.01*that*1.0032 =
        // 0.0073720; 1/0.0890217 = 11.2332.
        assert!((tcp_window(0.01) - 11.2332).abs() < 1e-3, "{}", tcp_window(0.01));
        assert_eq!(tcp_window(0.0), f64::INFINITY);
    }

    #[test]
    fn weights_move_towards_the_smaller_window() {
        assert!(near(step(10.0, 30.0), 0.5) && near(step(30.0, 10.0), -0.5));
        assert_eq!((step(5.0, 5.0), step(f64::INFINITY, 5.0)), (0.0, -1.0));
    }

    /// A router at 10 Mb/s.
    fn router(equalise: Equalise) -> XcpFriendlyRouter {
        let params = XcpFriendlyRouterParams { equalise, ..Default::default() };
        XcpFriendlyRouter::new(&params, &router_context(Rate(10_000_000), 100))
    }

    /// A packet of 1000 B arrives, with a header of XCP's or none, and its class.
    fn arrive(router: &mut XcpFriendlyRouter, header: Option<XcpHeader>, fits: bool) -> u32 {
        let (mut ecn, mut header) = (Ecn::NotCapable, header);
        in_place(|place| {
            let passing = crate::tests::passing(&mut ecn);
            place.class =
                router.classify(ms(1), Passing { header: header.as_mut(), ..passing }, place);
            place.fits = fits;
            let passing = crate::tests::passing(&mut ecn);
            router.admit(ms(1), Passing { header: header.as_mut(), ..passing }, place);
            place.class
        })
    }

    fn xcp(cwnd: f64, rtt: f64) -> Option<XcpHeader> {
        Some(XcpHeader { cwnd, rtt, feedback: f64::INFINITY })
    }

    #[test]
    fn xcp_has_a_queue_of_its_own() {
        let mut r = router(Equalise::Windows);
        assert_eq!(arrive(&mut r, None, true), T);
        assert_eq!(arrive(&mut r, Some(OFFER), true), T);
        assert_eq!(arrive(&mut r, xcp(1000.0, 0.0), true), X);
        assert_eq!(arrive(&mut r, xcp(1000.0, 0.1), true), X);
        assert_eq!((r.arrivals, r.sum_rtt), (2.0, 100.0));
    }

    #[test]
    fn an_interval_moves_the_weights_and_xcps_capacity() {
        let mut r = router(Equalise::Windows);
        assert_eq!((r.weight(T), r.weight(X)), (0.5, 0.5));
        // 100 of TCP, 20 of which are lost: p = 0.05*0.2 = 0.01, 11.2332 packets. XCP: 10 packets
        // of a flow of 10 and 30 of one of 30 packets, both at 100 ms: (10 + 30)/(1 + 1) = 20.
        (0..100).for_each(|i| {
            arrive(&mut r, None, i >= 20);
        });
        (0..10).for_each(|_| {
            arrive(&mut r, xcp(10_000.0, 0.1), true);
        });
        (0..30).for_each(|_| {
            arrive(&mut r, xcp(30_000.0, 0.1), true);
        });
        r.on_timer(ms(50), Backlog::default());
        assert!(near(r.p, 0.01) && near(r.cwnd_xcp, 20.0));
        // 0.5 + 0.1*(20 - 11.2332)/(20 + 11.2332) = 0.5 + 0.1*0.280688.
        assert!((r.w_t - 0.528_069).abs() < 1e-5, "{}", r.w_t);
        // Nobody of XCP's: they stay.
        r.on_timer(ms(150), Backlog::default());
        assert!((r.w_t - 0.528_069).abs() < 1e-5);
    }

    #[test]
    fn the_other_reading_compares_windows_over_rtts() {
        let mut r = router(Equalise::Throughput);
        (0..100).for_each(|i| {
            arrive(&mut r, None, i >= 20);
        });
        (0..20).for_each(|_| {
            arrive(&mut r, xcp(20_000.0, 0.1), true);
        });
        r.t_delay.take(0.1);
        r.x_delay.take(0.02);
        r.on_timer(ms(50), Backlog::default());
        // TCP: 11.2332/(0.1 - 0.02 + 0.1) = 62.4067, XCP: 20/0.1 = 200; the ratio is 0.524349.
        assert!((r.w_t - 0.552_435).abs() < 1e-5, "{}", r.w_t);
    }

    #[test]
    fn weights_have_limits() {
        let mut r = router(Equalise::Windows);
        for t in 1..=30 {
            (0..10).for_each(|_| {
                arrive(&mut r, xcp(10_000.0, 0.05), true);
            });
            r.on_timer(ms(50 * t), Backlog::default());
        }
        assert_eq!(r.w_t, 0.05);
    }

    fn sender(routers: u32) -> XcpFriendlySender {
        let context = SenderContext { routers, ..sender_context(1.0) };
        XcpFriendlySender::new(&XcpFriendlyParams::default(), &context)
    }

    /// What the sender makes of its offer after `speaking` routers.
    fn answered(routers: u32, speaking: u32, receiver: bool) -> XcpFriendlySender {
        let mut s = sender(routers);
        let mut header = s.on_send(&departing());
        assert_eq!(header, OFFER);
        for _ in 0..speaking {
            let mut ecn = Ecn::NotCapable;
            let mut router =
                XcpRouter::new(&XcpRouterParams::default(), &router_context(Rate(1_000_000), 9));
            let packet = Passing { header: Some(&mut header), ..crate::tests::passing(&mut ecn) };
            router.on_departure(ms(1), packet, Backlog::default());
        }
        let mut receiver = XcpFriendlyReceiver { speaks: receiver };
        let arrived = Arrived {
            now: ms(1),
            seq: 0,
            expected: 1,
            size: 1000,
            header,
            ecn: Ecn::NotCapable,
            pending: None,
        };
        let header = receiver.on_data(&arrived).header;
        s.on_ack(&Ack { header, ..plain_ack(1) });
        s
    }

    #[test]
    fn all_routers_and_the_receiver_must_take_the_offer() {
        assert_eq!(answered(3, 3, true).mode, Mode::Xcp);
        assert_eq!(answered(3, 2, true).mode, Mode::Tcp);
        assert_eq!(answered(3, 3, false).mode, Mode::Tcp);
        assert_eq!(answered(0, 0, true).mode, Mode::Xcp);
    }

    #[test]
    fn without_agreement_it_is_reno() {
        let mut s = answered(3, 2, true);
        // Slow start from one packet: the ACK of the offer counts.
        assert_eq!(s.cwnd(), 2.0);
        s.on_ack(&plain_ack(1));
        assert_eq!(s.cwnd(), 3.0);
        assert_eq!(s.on_send(&departing()), OFFER);
        s.on_loss(&loss(LossKind::DupAcks, 8));
        assert_eq!(s.cwnd(), 4.0);
    }

    #[test]
    fn with_agreement_it_is_xcp() {
        let mut s = answered(1, 1, true);
        assert_eq!(s.cwnd(), 1.0);
        let srtt = Some(Span::from_millis(80));
        let sent = s.on_send(&Departing { srtt, ..departing() });
        assert_eq!(sent, XcpHeader { cwnd: 1000.0, rtt: 0.08, feedback: f64::INFINITY });
        let header = XcpHeader { feedback: 6500.0, ..sent };
        s.on_ack(&Ack { header, ..plain_ack(1) });
        // The answer to another of the first window's offers.
        s.on_ack(&Ack { header: XcpHeader { feedback: TAKEN, ..OFFER }, ..plain_ack(1) });
        assert_eq!(s.cwnd(), 7.5);
    }

    #[test]
    fn a_lost_offer_is_made_again() {
        let mut s = sender(2);
        s.on_loss(&loss(LossKind::Timeout, 1));
        assert_eq!((s.on_send(&departing()), s.mode), (OFFER, Mode::Offering));
    }

    /// The X-queue is XCP's at its half of 10 Mb/s: 20 packets of 1000 B in 50 ms at 100 ms, 10 kB
    /// waiting: phi = 0.2*0.1*(625,000 - 400,000) - 0.1*10,000 = 3500, h = 0.5*400,000*0.1 - 3500.
    #[test]
    fn the_x_queue_is_xcps_with_its_gains() {
        let params =
            XcpFriendlyRouterParams { alpha: 0.2, beta: 0.1, gamma: 0.5, ..Default::default() };
        let mut r = XcpFriendlyRouter::new(&params, &router_context(Rate(10_000_000), 100));
        for _ in 0..20 {
            let (mut ecn, mut header) = (Ecn::NotCapable, xcp(20_000.0, 0.1));
            in_place(|place| {
                (place.class, place.queue) = (X, Backlog { packets: 10, bytes: 10_000 });
                let passing = crate::tests::passing(&mut ecn);
                r.admit(ms(1), Passing { header: header.as_mut(), ..passing }, place);
            });
        }
        r.on_timer(ms(50), Backlog::default());
        assert!(near(r.xcp.law.phi, 3500.0), "{}", r.xcp.law.phi);
        assert!(near(r.xcp.law.h, 16_500.0), "{}", r.xcp.law.h);
    }

    /// What is told of RED reaches the T-queue.
    #[test]
    fn the_t_queue_is_red_with_its_parameters() {
        use crate::params::{Params, Value};
        for (name, value) in [
            ("min_th_ratio", Value::Number(0.11)),
            ("max_th_ratio", Value::Number(0.22)),
            ("w_q", Value::Number(0.33)),
            ("max_p", Value::Number(0.44)),
            ("ecn", Value::Flag(false)),
        ] {
            let mut params = XcpFriendlyRouterParams::default();
            assert_eq!(params.set(name, value), Ok(()));
            assert_eq!(red_params(&params).get(name), Some(value), "{name}");
        }
    }

    /// A queue's mean delay is that of the interval's packets, and stays through one without any.
    #[test]
    fn an_average_stays_until_there_is_another() {
        let mut average = Average::default();
        assert_eq!(average.end(), 0.0);
        average.take(3.0);
        average.take(5.0);
        assert_eq!([0; 2].map(|_| average.end()), [4.0, 4.0]);
        average.take(1.0);
        assert_eq!(average.end(), 1.0);
    }

    /// With a least weight of 0.3 the T-queue has 0.7 at most, after a step of its weight and after
    /// new parameters; the X-queue has the rest of the link.
    #[test]
    fn both_queues_keep_the_least_weight() {
        let params = XcpFriendlyRouterParams { least: 0.3, k: 0.5, ..Default::default() };
        let context = router_context(Rate(10_000_000), 100);
        let mut r = XcpFriendlyRouter::new(&params, &context);
        // TCP's windows are small, with half of its packets lost, and XCP's large.
        (r.arrivals, r.signals, r.p) = (100.0, 50.0, 0.5);
        (r.sum_rtt, r.sum_rtt_by_cwnd, r.sum_rtt2_by_cwnd) = (1e3, 1e-3, 1e-4);
        r.w_t = 0.69;
        r.move_weights(ms(100));
        assert_eq!(r.w_t, 0.7);
        r.w_t = 0.9;
        r.retune(&params, &context);
        assert_eq!(r.w_t, 0.7);
    }

    /// A full buffer takes from the longer of its two queues.
    #[test]
    fn the_longer_queue_makes_room() {
        let plan = XcpFriendlyRouter::plan(&XcpFriendlyRouterParams::default());
        assert_eq!((plan.order, plan.overflow), (Order::StartTags, Overflow::Longest));
    }
}

//! EXPERIMENTAL: iXCP that holds its promise with many flows and flows that come and go. After Zan,
//! Yang, "Improving XCP to achieve max-min fair bandwidth allocation", whose protocol
//! [`crate::explicit::xcp::ixcp`] is; the paper stops at the losses of section IV-A (many flows)
//! and IV-E (web traffic), and nothing here is in it.
//!
//! ```math
//! phi_1 = alpha*d*(C - y) - beta*Q        iXCP's, each mean RTT d
//! e <- max(0, e + g*phi_1/d)              at most a part of C (S5)
//! phi = phi_1 + alpha*d*e                 spare bandwidth that is handed out
//! xi_p = max(phi, 0)/(d*sum(rtt*s/cwnd))  over the own flows' packets alone (S1)
//! h = max(0, gamma*y_own*d - abs(phi))    shuffled, among packets that name this link
//! sent = floor(w + u)                     packets of a window of w, u moving over 0 to 1 (S6)
//! ```
//!
//! Header and most of the rest are iXCP's, its deviations with it.
//!
//! What differs, and why:
//! - S1: spare bandwidth is handed out so that the link's own flows together get all of it. In iXCP
//!   each of n + 1 flows gets a part, and those that another link holds back leave theirs unused,
//!   so that one own flow among n takes (n + 1)d/alpha to get what is there, 39 s with 256. Other
//!   flows are offered `others` times what iXCP offers, and what they take is not counted, since
//!   another link cuts it; should it not, twice phi is given until they have become own flows, an
//!   RTT later.
//! - S2: what must be taken back is taken from the own flows first, up to a part of what they send:
//!   what was given to them alone would else be taken from all.
//! - S3: both sides of a shuffle end together. Where the taking ends first, packets leave with
//!   increases only and name another link, and the flow's own part of the shuffle there goes to a
//!   flow that cannot use it.
//! - S4: a sender's bottleneck is the one that most packets name, not the last: one named by a few
//!   in a thousand would take part in the wrong shuffle.
//! - S5: a link whose spare bandwidth is not taken up hands out more than there is: phi has an
//!   integral, e, of what eq. (1) says, never below 0. Flows that end with what they were given
//!   (section IV-E), or that cannot use it, leave a part of each phi unused, and e is what makes up
//!   for that part.
//! - S6: the window is sent to its fraction: floor(w + u), with a u between 0 and 1 that is another
//!   for each flow and moves on by the golden section once per RTT, so that a flow has w packets
//!   out on average and flows with equal windows do not all go over a whole packet together.
//!   Windows are at least a packet; with a flow more than the pipe has packets those are a queue
//!   that stands.
//! - S7: a flow that another link holds back is slower than the own ones: with max-min rates a
//!   link's own flows are its fastest. As long as it is, it is offered a share of the shuffle
//!   besides, h over the number of all flows. Else a link whose spare bandwidth is next to nothing
//!   takes over all flows of one that has a little more at that time, and shuffles its own flows'
//!   traffic to them, which cannot use it: both links swing, with a period of a dozen RTTs.

use units::math;

use crate::explicit::xcp::controlled::{
    Controlled, INPUT, Law, MEAN_RTT, Meter, QUEUE, Stated, XcpRouterParams,
};
use crate::explicit::xcp::ixcp::{ACCESS, IxcpHeader};
use crate::explicit::xcp::xcp::{Shares, Summing, XcpSender, XcpSenderParams, h, phi, ratio, xi_p};
use crate::roles::{Ack, Departing, Loss, RouterContext, Sender, SenderContext, Variable};

params! {
    /// The router's parameters.
    pub struct IxcpPlusRouterParams {
        /// XCP's.
        xcp: XcpRouterParams;
        /// Do the own flows together get all of the spare bandwidth (S1)?
        own_spare: bool = true;
        /// What others are offered over what iXCP offers them (S1).
        others: f64 = 1.0 => (0.0, 1000.0);
        /// Part of the own flows' traffic of an interval that is taken back before others' is (S2).
        own_back: f64 = 0.25 => (0.0, 1.0);
        /// What other flows that are slower than the own ones are offered of the shuffle, over an
        /// equal share for every flow (S7).
        slower: f64 = 1.0 => (0.0, 1000.0);
        /// g, by which e grows with phi/d per interval (S5); 0: no integral.
        integral: f64 = 0.05 => (0.0, 1.0);
        /// The most that e may be, as a part of the capacity (S5).
        most: f64 = 0.3 => (0.0, 10.0);
        /// Do both sides of a shuffle end together (S3)?
        together: bool = true;
    }
}

/// The law: iXCP's, by S1 to S3, S5 and S7.
#[derive(Clone, Debug, Default)]
pub struct IxcpPlus {
    /// The link's identifier.
    link: u32,
    // Sums over the arrivals of the running interval that this link holds back.
    input_traffic_own: f64,
    sum_rtt_by_cwnd_own: f64,
    // The outcome of the last interval.
    y_own: f64,
    /// e [bytes/s].
    integral: f64,
    phi: f64,
    h: f64,
    /// phi given to own flows, and what is taken from all.
    spare: Shares,
    /// xi_p of what others are offered, and of what those are that are slower than `mean`
    /// [bytes/s].
    offered: f64,
    offered_slower: f64,
    mean: f64,
    /// The shuffle, and what is taken from the own flows.
    own: Shares,
}

/// The router's part.
pub type IxcpPlusRouter = Controlled<IxcpPlus>;

impl Law for IxcpPlus {
    type Params = IxcpPlusRouterParams;
    type Header = IxcpHeader;

    fn common(params: &IxcpPlusRouterParams) -> &XcpRouterParams {
        &params.xcp
    }

    fn new(context: &RouterContext) -> IxcpPlus {
        IxcpPlus { link: context.link.saturating_add(1), ..IxcpPlus::default() }
    }

    #[inline]
    fn sample(&mut self, _: &IxcpPlusRouterParams, header: &IxcpHeader, stated: &Stated) {
        if self.is_own(header) {
            self.input_traffic_own += stated.size;
            self.sum_rtt_by_cwnd_own += stated.rtt_by_cwnd;
        }
    }

    fn decide(&mut self, params: &IxcpPlusRouterParams, meter: &Meter) {
        let (common, d, all) = (&params.xcp, meter.avg_rtt, meter.sum_rtt_by_cwnd);
        let (sum, traffic) = (self.sum_rtt_by_cwnd_own, self.input_traffic_own);
        self.y_own = meter.rate(traffic);
        let unscaled = phi(common, meter);
        let most = params.most * meter.capacity;
        self.integral = (self.integral + params.integral * unscaled / d).clamp(0.0, most);
        self.phi = unscaled + params.xcp.alpha * d * self.integral;
        self.h = h(common, self.y_own, d, self.phi);
        let (takers, others) = if params.own_spare { (sum, params.others) } else { (all, 1.0) };
        self.offered = others * xi_p(self.phi.max(0.0), d, all);
        self.offered_slower = self.offered + params.slower * xi_p(self.h, d, all);
        // Bytes and flows times seconds of one interval, which need not be d long.
        self.mean = ratio(traffic, sum);
        let back = (-self.phi).max(0.0);
        let own_back = back.min(params.own_back * self.y_own * d);
        let handed = (self.phi.max(0.0), back - own_back);
        self.spare = Shares::new(common, d, handed, (takers, meter.input_traffic));
        self.own = Shares::new(common, d, (self.h, self.h + own_back), (sum, traffic));
        (self.sum_rtt_by_cwnd_own, self.input_traffic_own) = (0.0, 0.0);
    }

    #[inline]
    fn answer(&mut self, params: &IxcpPlusRouterParams, header: &mut IxcpHeader, stated: &Stated) {
        let (own, overdraw, terms) = (self.is_own(header), params.xcp.overdraw, stated.terms());
        let mut spare = self.spare.offer(terms, overdraw);
        if !own && params.own_spare {
            let slower = stated.size < self.mean * stated.rtt_by_cwnd;
            let offered = if slower { self.offered_slower } else { self.offered };
            spare.0 = offered * stated.rtt_by_cwnd;
        }
        let shuffle = if own { self.own.offer(terms, overdraw) } else { (0.0, 0.0) };
        let paid = header.answer(self.link, own, [spare, shuffle]);
        self.pay(params, own, paid);
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("phi", "bytes", "change of all flows' windows together that is handed out"),
        Variable::new("integral", "bytes/s", "e, what is handed out beyond the capacity"),
        Variable::new("h", "bytes", "traffic shuffled between the flows that the link holds back"),
        Variable::new("xi_p_spare", "", "scale of what every own flow is offered of phi"),
        Variable::new("xi_n_spare", "", "scale of what every flow gives of phi"),
        Variable::new("xi_p_own", "", "scale of what the own flows get of h"),
        Variable::new("xi_n_own", "", "scale of what the own flows give of h and of phi"),
        QUEUE,
        MEAN_RTT,
        INPUT,
        Variable::new("input_traffic_own", "bytes/s", "of y, the packets of own flows"),
    ];

    fn probe(&self, meter: &Meter, sink: &mut impl FnMut(&'static str, f64)) {
        sink("phi", self.phi);
        sink("integral", self.integral);
        sink("h", self.h);
        sink("xi_p_spare", self.spare.xi_p);
        sink("xi_n_spare", self.spare.xi_n);
        sink("xi_p_own", self.own.xi_p);
        sink("xi_n_own", self.own.xi_n);
        meter.probe(sink);
        sink("input_traffic_own", self.y_own);
    }
}

params! {
    /// The sender's parameters.
    pub struct IxcpPlusParams {
        /// XCP's.
        xcp: XcpSenderParams;
        /// Is the window sent to its fraction (S6)?
        fractional: bool = true;
        /// Packets in a row, as a part of a window, that must name another link (S4); 0: the last
        /// one is enough.
        majority: f64 = 0.5 => (0.0, 10.0);
    }
}

impl IxcpPlus {
    /// Is a packet one of the link's own flows, or of none yet?
    fn is_own(&self, header: &IxcpHeader) -> bool {
        header.bottleneck == self.link || header.bottleneck == ACCESS
    }

    /// A packet takes and gives so much of each.
    fn pay(&mut self, params: &IxcpPlusRouterParams, own: bool, [spare, shuffle]: [(f64, f64); 2]) {
        if own || !params.own_spare {
            self.spare.pay(spare);
        } else {
            self.spare.pay((0.0, spare.1));
        }
        if own {
            self.own.pay(shuffle);
            // Both sides of a shuffle end together (S3).
            let ended = self.own.xi_p == 0.0 || self.own.xi_n == 0.0;
            if params.together && self.h > 0.0 && ended {
                (self.own.xi_p, self.own.xi_n) = (0.0, 0.0);
            }
        }
    }
}

/// The end host's part.
#[derive(Clone, Debug)]
pub struct IxcpPlusSender {
    xcp: XcpSender,
    /// u, what is added before the window is rounded down.
    dither: Option<f64>,
    /// ACKs since u has moved.
    acks: f64,
    /// bottleneckId.
    bottleneck: u32,
    /// By how many packets it is ahead of the others.
    votes: u16,
    majority: f32,
}

/// The golden section: its multiples are spread evenly over 0 to 1.
const GOLDEN: f64 = 0.618_033_988_749_895;

impl IxcpPlusSender {
    /// A packet names the link that held it back.
    fn vote(&mut self, named: u32) {
        if named == self.bottleneck {
            let most = f64::from(self.majority) * self.xcp.cwnd();
            self.votes = (self.votes + 1).min(most.min(1000.0) as u16);
        } else if self.votes > 0 {
            self.votes -= 1;
        } else {
            self.bottleneck = named;
        }
    }
}

impl Sender for IxcpPlusSender {
    type Params = IxcpPlusParams;
    type Header = IxcpHeader;
    type Receiver = Summing<IxcpHeader>;

    fn new(params: &IxcpPlusParams, context: &SenderContext) -> IxcpPlusSender {
        let mut stream = context.stream.clone();
        IxcpPlusSender {
            xcp: XcpSender::new(&params.xcp, context),
            dither: params.fractional.then(|| stream.unit()),
            acks: 0.0,
            bottleneck: ACCESS,
            votes: 0,
            majority: params.majority as f32,
        }
    }

    #[inline]
    fn on_send(&mut self, segment: &Departing) -> IxcpHeader {
        IxcpHeader::new(self.xcp.on_send(segment), self.bottleneck)
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack<IxcpHeader>) {
        self.xcp.take(ack.header.xcp());
        self.vote(ack.header.next_bottleneck);
        if let Some(u) = &mut self.dither {
            // As many ACKs as packets may be out are an RTT.
            self.acks += 1.0;
            if self.acks >= math::floor(self.xcp.cwnd() + *u) {
                let moved = *u + GOLDEN;
                (*u, self.acks) = (moved - math::floor(moved), 0.0);
            }
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.xcp.on_loss(loss);
    }

    #[inline]
    fn cwnd(&self) -> f64 {
        let cwnd = self.xcp.cwnd();
        self.dither.map_or(cwnd, |u| math::floor(cwnd + u))
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("window", "pkts", "congestion window"),
        Variable::new("bottleneck", "", "number of the link that holds the flow back; 0 is none"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("window", self.xcp.cwnd());
        sink("bottleneck", f64::from(self.bottleneck));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Rate, Span};

    use crate::roles::{Backlog, Ecn, Passing, Router};
    use crate::tests::{ack as plain_ack, departing, ms, near, router_context, sender_context};

    const LINK: u32 = 8;
    const ELSEWHERE: u32 = 3;

    fn packet(bottleneck: u32, cwnd: f64) -> IxcpHeader {
        let (feedback, rtt) = (f64::INFINITY, 0.0625);
        IxcpHeader { cwnd, feedback, rtt, bottleneck, next_bottleneck: 0 }
    }

    fn pass(router: &mut IxcpPlusRouter, mut header: IxcpHeader, queue: Option<u64>) -> IxcpHeader {
        let mut ecn = Ecn::NotCapable;
        let packet = Passing { header: Some(&mut header), ..crate::tests::passing(&mut ecn) };
        match queue {
            Some(bytes) => {
                router.on_arrival(ms(1), packet, Backlog { packets: 0, bytes });
            }
            None => router.on_departure(ms(60), packet, Backlog::default()),
        }
        header
    }

    /// As iXCP's tests: a router at 10 Mb/s, 20 packets of own flows (10 000 B) and 30 of others
    /// (5000 B), all at 62.5 ms, in 50 ms.
    fn router(alpha: f64, queue: u64) -> IxcpPlusRouter {
        router_with(alpha, queue, 0.0)
    }

    fn router_with(alpha: f64, queue: u64, slower: f64) -> IxcpPlusRouter {
        let xcp = XcpRouterParams { alpha, ..Default::default() };
        let params = IxcpPlusRouterParams { xcp, slower, integral: 0.0, ..Default::default() };
        let context = RouterContext { link: LINK - 1, ..router_context(Rate(10_000_000), 100) };
        let mut router = IxcpPlusRouter::new(&params, &context);
        (0..20).for_each(|_| {
            pass(&mut router, packet(LINK, 10_000.0), Some(queue));
        });
        (0..30).for_each(|_| {
            pass(&mut router, packet(ELSEWHERE, 5000.0), Some(queue));
        });
        router.on_timer(ms(50), Backlog::default());
        router
    }

    #[test]
    fn own_flows_get_all_of_the_spare_bandwidth() {
        // phi = 0.04*0.0625*250 000 = 625; own sum rtt*s/cwnd = 20*0.00625 = 0.125.
        let mut r = router(0.04, 0);
        assert!(near(r.law.phi, 625.0) && near(r.law.spare.xi_p, 625.0 / (0.0625 * 0.125)));
        // Twenty of them get 10 000 = phi/d together, over their RTT: each 500.
        let own = pass(&mut r, packet(LINK, 10_000.0), None);
        // 500 + 1500 - 1500 of the shuffle, as in iXCP.
        assert!(near(own.feedback, 0.0625 * 500.0));
        // Another one is offered iXCP's share, 20 000*0.0125 over its RTT, and pays nothing.
        let before = r.law.spare.residue_pos;
        let other = pass(&mut r, packet(ELSEWHERE, 5000.0), None);
        assert!(near(other.feedback, 0.0625 * 250.0) && { other.next_bottleneck } == LINK);
        assert_eq!(r.law.spare.residue_pos, before);
    }

    #[test]
    fn what_is_taken_back_comes_from_own_flows_first() {
        // phi = 0.4*0.0625*250 000 - 0.226*30 000 = -530; a quarter of 4e5*0.0625 = 25 000 is more.
        let mut r = router(0.4, 30_000);
        assert!(near(r.law.phi, -530.0));
        assert_eq!((r.law.spare.xi_n, r.law.spare.residue_neg), (0.0, 0.0));
        // h = 2500 - 530 = 1970: 2500 are taken from own flows, 1970 given: xi_n = 2500/(0.0625*20
        // 000).
        assert!(near(r.law.own.xi_n, 2.0) && near(r.law.own.residue_pos, 1970.0 / 0.0625));
        let other = pass(&mut r, packet(ELSEWHERE, 5000.0), None);
        assert_eq!({ other.feedback }, 0.0);
        // With a queue of 100 000 B phi is -16 350, of which own flows give 6250 and all 10 100.
        let r = router(0.4, 100_000);
        assert!(near(r.law.own.residue_neg, 6250.0 / 0.0625));
        assert!(near(r.law.spare.xi_n, 10_100.0 / (0.0625 * 50_000.0)));
    }

    #[test]
    fn others_that_are_slower_are_offered_a_share_of_the_shuffle() {
        // h = 0.1*4e5*0.0625 - 625 = 1875, over d = 0.0625 and the sum of all, 20*0.00625 +
        // 30*0.0125 = 0.5: 60 000, of which a packet with rtt*s/cwnd = 0.0125 is offered 750 over
        // its RTT besides 250.
        let mut r = router_with(0.04, 0, 1.0);
        // Own flows: 20 packets of 1000 B over 0.125, each at its 10 000 B/62.5 ms = 160 kB/s.
        assert!(near(r.law.mean, 160_000.0));
        let before = (r.law.spare, r.law.own);
        let slower = pass(&mut r, packet(ELSEWHERE, 5000.0), None);
        assert!(near(slower.feedback, 0.0625 * (250.0 + 750.0)));
        // 15 000 B in 62.5 ms are 240 kB/s: rtt*s/cwnd = 1/240, of 20 000.
        let faster = pass(&mut r, packet(ELSEWHERE, 15_000.0), None);
        assert!(near(faster.feedback, 0.0625 * 20_000.0 / 240.0));
        assert_eq!((r.law.spare, r.law.own), before);
    }

    #[test]
    fn what_is_not_taken_up_is_handed_out_again() {
        let params = IxcpPlusRouterParams::default();
        let mut r = IxcpPlusRouter::new(&params, &router_context(Rate(10_000_000), 100));
        // Nothing comes: eq. (1) is 0.4*0.05*1.25e6 = 25 000, of which e = 0.05*25 000/0.05 per
        // interval.
        r.on_timer(ms(50), Backlog::default());
        assert!(
            near(r.law.integral, 25_000.0) && near(r.law.phi, 25_000.0 + 0.4 * 0.05 * 25_000.0)
        );
        r.on_timer(ms(100), Backlog::default());
        assert!(near(r.law.integral, 50_000.0));
        // 0.3*1.25e6 at most.
        (3..40).for_each(|i| r.on_timer(ms(50 * i), Backlog::default()));
        assert!(near(r.law.integral, 375_000.0));
    }

    #[test]
    fn both_sides_of_a_shuffle_end_together() {
        let mut r = router(0.04, 0);
        // One packet pays all that is left to be taken; the other side ends with it.
        r.law.own.residue_neg = 1.0;
        pass(&mut r, packet(LINK, 10_000.0), None);
        assert!(r.law.own.residue_pos > 0.0);
        assert_eq!((r.law.own.xi_p, r.law.own.xi_n), (0.0, 0.0));
    }

    fn sender(fractional: bool) -> IxcpPlusSender {
        let params = IxcpPlusParams { fractional, ..Default::default() };
        IxcpPlusSender::new(&params, &sender_context(1.0))
    }

    fn ack(sender: &mut IxcpPlusSender, feedback: f64, next_bottleneck: u32) {
        let header = IxcpHeader { feedback, next_bottleneck, ..packet(77, 1000.0) };
        sender.on_ack(&Ack { header, ..plain_ack(1) });
    }

    #[test]
    fn the_window_is_sent_to_its_fraction_on_average() {
        let mut s = sender(true);
        ack(&mut s, 1250.0, LINK);
        // As many ACKs come per RTT as packets are out.
        let mut rtts = 0.0;
        for _ in 0..9000 {
            assert!([2.0, 3.0].contains(&s.cwnd()));
            rtts += 1.0 / s.cwnd();
            ack(&mut s, 0.0, LINK);
        }
        // Of 2.25 packets.
        assert!((9000.0 / rtts - 2.25).abs() < 0.01, "{rtts}");
        let srtt = Some(Span::from_millis(50));
        assert_eq!({ s.on_send(&Departing { srtt, ..departing() }).cwnd }, 2250.0);
        let mut s = sender(false);
        ack(&mut s, 1250.0, LINK);
        assert_eq!(s.cwnd(), 2.25);
    }

    #[test]
    fn a_few_packets_do_not_move_the_bottleneck() {
        let mut s = sender(true);
        ack(&mut s, 9000.0, LINK);
        assert_eq!(s.bottleneck, LINK);
        // Ten packets: five may be ahead.
        (0..20).for_each(|_| ack(&mut s, 0.0, LINK));
        for _ in 0..5 {
            ack(&mut s, 0.0, ELSEWHERE);
            assert_eq!(s.bottleneck, LINK);
        }
        ack(&mut s, 0.0, ELSEWHERE);
        assert_eq!(s.bottleneck, ELSEWHERE);
    }

    /// A shuffle goes on while both sides last; without `together` one may outlast the other; and
    /// what is taken back where there is no shuffle is none of its sides.
    #[test]
    fn a_shuffle_lasts_as_long_as_both_sides() {
        let own = |r: &IxcpPlusRouter| (r.law.own.xi_p, r.law.own.xi_n);
        let mut r = router(0.04, 0);
        let before = own(&r);
        pass(&mut r, packet(LINK, 10_000.0), None);
        assert_eq!(own(&r), before);
        r.params.together = false;
        r.law.own.residue_neg = 1.0;
        pass(&mut r, packet(LINK, 10_000.0), None);
        assert_eq!(own(&r), (before.0, 0.0));
        // phi = -16 350: h = 0, and own flows give.
        let mut r = router(0.4, 100_000);
        let before = own(&r);
        assert!(r.law.h == 0.0 && before.0 == 0.0 && before.1 > 0.0);
        pass(&mut r, packet(LINK, 10_000.0), None);
        assert_eq!(own(&r), before);
    }

    /// A window of two packets and a fraction: after two ACKs, a round trip, the fraction is the
    /// golden section further on, 0.25 + 0.618 = 0.868, and then 1.486, of which 0.486 is left.
    #[test]
    fn the_fraction_of_a_window_moves_by_the_golden_section() {
        let params = IxcpPlusParams { fractional: true, ..Default::default() };
        let mut s = IxcpPlusSender::new(&params, &sender_context(2.0));
        s.dither = Some(0.25);
        let header = IxcpHeader { feedback: 0.0, ..packet(0, 2000.0) };
        for fraction in [0.25, 0.868_033_988_75, 0.868_033_988_75, 0.486_067_977_5] {
            s.on_ack(&Ack { header, ..plain_ack(1) });
            let found = s.dither.expect("a fraction");
            assert!(near(found, fraction), "{found} {fraction}");
        }
    }
}

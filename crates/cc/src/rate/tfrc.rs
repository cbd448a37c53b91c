//! TFRC, TCP-friendly rate control. RFC 5348.
//!
//! The receiver measures the loss event rate p and the rate X_recv at which data arrives, and
//! reports both once per RTT and at each new loss event. The sender paces its packets at the rate
//! that TCP would have at p by the equation of section 3.1, at most twice the rate that arrived.
//! Without reports it halves its rate. Nothing is sent again.
//!
//! ```math
//! X = s/(R*sqrt(2*b*p/3) + t_RTO*3*sqrt(3*b*p/8)*p*(1 + 32*p^2))  (section 3.1)
//! X <- min(X, 2*X_recv)
//! ```
//!
//! Deviations:
//! - D1: the feedback timer has run out when the first packet after its end arrives; no report
//!   leaves between packets.
//! - D2: when a loss event makes a report leave early, X_recv over the last RTT is made of what has
//!   arrived since the last report and of the mean rate before it.
//! - D3: until the first report one packet leaves, and another one each time the nofeedback timer
//!   runs out, not one each second.
//! - D4: an interval is data-limited (section 8.2.1) when in the last two RTTs the application
//!   never had more to send behind a packet.
//! - D5: t_RTO = 4*R (section 3.1), without a minimum; b = 1.
//! - D6: X_recv_set holds the three latest values, which two RTTs bring but with many loss events.
//! - D7: a packet that comes after it was taken for lost changes nothing (section 5.1 allows it).

use units::{Rate, Span, Time, math};

use crate::rate::tfrc_history::History;
use crate::roles::{
    Ack, Arrived, Departing, Echo, Ecn, EcnUse, Header, Loss, Reporter, Sender, SenderContext,
    Variable,
};

params! {
    /// The parameters of both ends.
    pub struct TfrcParams {
        /// Are old loss intervals discounted when the present one is long (section 5.5)?
        discounting: bool = true;
        /// Is the rate corrected for the last RTT sample, which damps oscillation (section 4.5)?
        damping: bool = false;
        /// q, the weight of the old RTT estimate (section 4.3).
        q: f64 = 0.9 => (0.0, 1.0);
        /// t_mbi, the longest time between two packets (section 4.3).
        t_mbi: Span = Span::from_secs(64) => (0.1, 1000.0);
        /// Are packets ECN-capable, and is a mark a loss (section 5.1)?
        ecn: bool = false;
    }
}

/// What both directions carry (section 3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TfrcHeader {
    /// R_i, the sender's RTT estimate [s]; 0 before the first.
    pub rtt: f64,
    /// X_recv, the rate at which data arrived over the last RTT [bytes/s].
    pub x_recv: f64,
    /// p, the loss event rate.
    pub p: f64,
}

/// Wire units per second of RTT.
const RTT_UNITS: f64 = 1e6;
/// Wire units of p = 1.
const P_UNITS: f64 = u32::MAX as f64;

impl Header for TfrcHeader {
    /// Big-endian: RTT [us], X_recv [bytes/s] and p [2^-32], in 32 bits each; all saturate.
    const WIRE_BYTES: usize = 12;
    const VARIABLES: &'static [Variable] = &[
        Variable::new("h_rtt", "s", "the sender's RTT estimate; 0 before the first"),
        Variable::new("h_x_recv", "bytes/s", "rate at which data arrived (reports)"),
        Variable::new("h_p", "", "loss event rate (reports)"),
    ];

    fn encode(&self, wire: &mut [u8]) {
        // Float-to-integer casts saturate. An estimate never rounds to "no estimate".
        let rtt = ((self.rtt * RTT_UNITS + 0.5) as u32).max(u32::from(self.rtt > 0.0));
        wire[..4].copy_from_slice(&rtt.to_be_bytes());
        wire[4..8].copy_from_slice(&((self.x_recv + 0.5) as u32).to_be_bytes());
        wire[8..12].copy_from_slice(&((self.p * P_UNITS + 0.5) as u32).to_be_bytes());
    }

    fn decode(wire: &[u8]) -> Option<TfrcHeader> {
        let word = |at: usize| {
            let bytes = wire.get(at..at + 4)?.try_into().ok()?;
            Some(f64::from(u32::from_be_bytes(bytes)))
        };
        Some(TfrcHeader { rtt: word(0)? / RTT_UNITS, x_recv: word(4)?, p: word(8)? / P_UNITS })
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("h_rtt", self.rtt);
        sink("h_x_recv", self.x_recv);
        sink("h_p", self.p);
    }
}

/// The throughput equation: bytes/s of packets of `s` bytes at an RTT of `r` seconds and a loss
/// event rate of `p` (section 3.1, with t_RTO = 4*R and b = 1).
pub fn throughput(s: f64, r: f64, p: f64) -> f64 {
    let timeouts = 12.0 * math::sqrt(3.0 * p / 8.0) * p * (1.0 + 32.0 * p * p);
    s / (r * (math::sqrt(2.0 * p / 3.0) + timeouts))
}

/// The interval 1/p at which the equation gives `x` (section 6.3.1).
fn interval_for(s: f64, r: f64, x: f64) -> f64 {
    // The rate falls with p: bisection of its logarithm from 10^-10 to 1.
    let (mut low, mut high) = (-23.0, 0.0);
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if throughput(s, r, math::exp(middle)) > x { low = middle } else { high = middle }
    }
    1.0 / math::exp(high)
}

/// The receiver's part (section 6).
#[derive(Clone, Debug)]
pub struct TfrcReporter {
    history: History,
    packet_bytes: f64,
    ecn: bool,
    /// R_m, the sender's RTT in the last packet that had one.
    rtt: Span,
    /// When the last report left.
    reported: Option<Time>,
    /// What has arrived since [bytes].
    bytes: f64,
    /// The rate before it [bytes/s].
    rate_before: f64,
}

impl TfrcReporter {
    /// X_recv, over the last RTT (section 6.2, D2) [bytes/s].
    fn x_recv(&self, now: Time) -> f64 {
        let Some(reported) = self.reported else { return 0.0 };
        let (since, rtt) = (now.since(reported).as_secs(), self.rtt.as_secs());
        let before = self.rate_before * (rtt - since).max(0.0);
        let over = since.max(rtt);
        if over > 0.0 { (self.bytes + before) / over } else { 0.0 }
    }
}

impl Reporter for TfrcReporter {
    type Params = TfrcParams;
    type Header = TfrcHeader;

    fn new(params: &TfrcParams, context: &SenderContext) -> TfrcReporter {
        TfrcReporter {
            history: History::new(params.discounting),
            packet_bytes: f64::from(context.packet_bytes),
            ecn: params.ecn,
            rtt: Span::ZERO,
            reported: None,
            bytes: 0.0,
            rate_before: 0.0,
        }
    }

    fn on_data(&mut self, data: &Arrived<TfrcHeader>) -> Option<TfrcHeader> {
        if (1e-9..=1e4).contains(&data.header.rtt) {
            self.rtt = Span::from_secs_f64(data.header.rtt);
        }
        self.bytes += f64::from(data.size);
        let (x_recv, rtt) = (self.x_recv(data.now), self.rtt);
        let packet_bytes = self.packet_bytes;
        // Section 6.3.1: before the first loss p is that of the rate there was, at least of half a
        // packet per RTT.
        let first = || {
            let r = rtt.as_secs().max(1e-9);
            interval_for(packet_bytes, r, x_recv.max(0.5 * packet_bytes / r))
        };
        let packet = (data.seq, data.now);
        let mut new = self.history.arrived(packet, rtt, first);
        if self.ecn && data.ecn == Ecn::Ce {
            new |= self.history.marked(packet, rtt, first);
        }
        let over = self.reported.is_none_or(|reported| data.now.since(reported) >= rtt);
        if !(over || new) {
            return None;
        }
        (self.reported, self.bytes, self.rate_before) = (Some(data.now), 0.0, x_recv);
        Some(TfrcHeader { rtt: data.header.rtt, x_recv, p: self.history.rate() })
    }
}

/// Values of X_recv_set (D6).
const KEPT: usize = 3;

/// More packets than any run sends: the pacer decides.
const UNLIMITED: f64 = 1e18;

/// The sender's part (section 4).
#[derive(Clone, Debug)]
pub struct Tfrc {
    /// s [bytes].
    s: f64,
    /// X, the allowed rate [bytes/s].
    x: f64,
    /// X_inst, what the pacer gets (section 4.5) [bytes/s].
    x_inst: f64,
    /// R [s]; 0 before the first report.
    r: f64,
    /// The average of the samples' square roots (section 4.5).
    r_sqmean: f64,
    p: f64,
    /// When X was last doubled.
    tld: Time,
    /// X_recv_set [bytes/s] with times, the latest first; infinity is there at the start.
    received: [(f64, Time); KEPT],
    /// The nofeedback timer.
    no_feedback: Time,
    /// Has a packet left since it was set?
    active: bool,
    /// Packets that may have left before the first report (D3).
    unreported: f64,
    /// When a packet last left with more behind it.
    backlogged: Time,
    damping: bool,
    q: f64,
    /// s/t_mbi [bytes/s].
    least: f64,
    ecn: bool,
}

impl Tfrc {
    /// W_init/R (section 4.2).
    fn initial_rate(&self) -> f64 {
        let window = (4.0 * self.s).min((2.0 * self.s).max(4380.0));
        window / self.r
    }

    /// max(X_recv_set).
    fn most_received(&self) -> f64 {
        self.received.iter().fold(0.0, |most, (rate, _)| most.max(*rate))
    }

    /// Keeps the largest value alone (section 4.3, "Maximize X_recv_set").
    fn maximize(&mut self, now: Time, x_recv: f64) {
        let known = self.received.iter().filter(|(rate, _)| rate.is_finite());
        let most = known.fold(x_recv, |most, (rate, _)| most.max(*rate));
        self.received = [(0.0, Time::ZERO); KEPT];
        self.received[0] = (most, now);
    }

    /// Keeps the values of two RTTs (section 4.3, "Update X_recv_set").
    fn update(&mut self, now: Time, x_recv: f64) {
        // The first report says zero, which can be no largest value.
        if x_recv > 0.0 {
            self.received.copy_within(..KEPT - 1, 1);
            self.received[0] = (x_recv, now);
        }
        let two_rtts = Span::from_secs_f64(2.0 * self.r);
        for (rate, at) in &mut self.received {
            if now.since(*at) > two_rtts {
                *rate = 0.0;
            }
        }
    }

    /// Steps (4) of section 4.3 with its limit.
    fn set_rate(&mut self, now: Time, limit: f64) {
        if self.p > 0.0 {
            let x_eq = throughput(self.s, self.r, self.p);
            self.x = x_eq.min(limit).max(self.least);
        } else if now.since(self.tld).as_secs() >= self.r * (1.0 - 1e-9) {
            // Reports come after an RTT, and R is a sum that may be rounded up.
            self.x = (2.0 * self.x).min(limit).max(self.initial_rate());
            self.tld = now;
        }
        self.x = self.x.clamp(self.least, 1e15);
        self.x_inst = self.x;
    }

    /// "Update_Limits" (section 4.4).
    fn limit_to(&mut self, now: Time, rate: f64) {
        self.received = [(0.0, Time::ZERO); KEPT];
        self.received[0] = (rate.max(self.least) / 2.0, now);
        self.set_rate(now, rate.max(self.least));
    }

    /// The nofeedback timer starts: max(4*R, 2*s/X), 2 s before the first report (section 4.4).
    fn start_timer(&mut self, now: Time) {
        let wait = if self.r > 0.0 { (4.0 * self.r).max(2.0 * self.s / self.x) } else { 2.0 };
        self.no_feedback = now + Span::from_secs_f64(wait).max(Span::from_micros(1));
        self.active = false;
    }
}

impl Sender for Tfrc {
    type Params = TfrcParams;
    type Header = TfrcHeader;
    type Receiver = Echo<TfrcHeader>;

    fn new(params: &TfrcParams, context: &SenderContext) -> Tfrc {
        let s = f64::from(context.packet_bytes);
        Tfrc {
            s,
            x: s,
            x_inst: s,
            r: 0.0,
            r_sqmean: 0.0,
            p: 0.0,
            tld: Time::ZERO,
            received: [(f64::INFINITY, Time::ZERO), (0.0, Time::ZERO), (0.0, Time::ZERO)],
            no_feedback: Time::NEVER,
            active: false,
            unreported: 1.0,
            backlogged: Time::ZERO,
            damping: params.damping,
            q: params.q,
            least: s / params.t_mbi.as_secs(),
            ecn: params.ecn,
        }
    }

    fn ecn(&self) -> EcnUse {
        if self.ecn { EcnUse::Codes(Ecn::Ect0) } else { EcnUse::None }
    }

    fn on_send(&mut self, segment: &Departing) -> TfrcHeader {
        if self.no_feedback == Time::NEVER {
            self.received[0].1 = segment.now;
            self.start_timer(segment.now);
        }
        self.active = true;
        if segment.backlogged {
            self.backlogged = segment.now;
        }
        TfrcHeader { rtt: self.r, x_recv: 0.0, p: 0.0 }
    }

    /// A report (section 4.3).
    fn on_ack(&mut self, ack: &Ack<TfrcHeader>) {
        let TfrcHeader { x_recv, p, .. } = ack.header;
        let sample = ack.rtt.map_or(0.0, Span::as_secs);
        if !(1e-9..=1e4).contains(&sample)
            || !(0.0..=1e15).contains(&x_recv)
            || !(0.0..=1.0).contains(&p)
        {
            return;
        }
        let before = (self.r, self.p);
        self.r = if self.r > 0.0 { self.q * self.r + (1.0 - self.q) * sample } else { sample };
        self.p = p;
        let window = Span::from_secs_f64(2.0 * self.r);
        let limited = before.0 > 0.0 && ack.now.since(self.backlogged) > window;
        let limit = if limited {
            if p > before.1 {
                for (rate, _) in &mut self.received {
                    *rate /= 2.0;
                }
                self.maximize(ack.now, 0.85 * x_recv);
                self.most_received()
            } else {
                self.maximize(ack.now, x_recv);
                2.0 * self.most_received()
            }
        } else {
            self.update(ack.now, x_recv);
            2.0 * self.most_received()
        };
        if before.0 == 0.0 {
            // The first report sets the initial rate, which is more than 2*X.
            (self.x, self.tld) = (self.initial_rate(), ack.now);
        }
        self.set_rate(ack.now, limit);
        if self.damping {
            let root = math::sqrt(sample);
            self.r_sqmean =
                if self.r_sqmean > 0.0 { 0.9 * self.r_sqmean + 0.1 * root } else { root };
            self.x_inst = (self.x * self.r_sqmean / root).max(self.least);
        }
        self.start_timer(ack.now);
    }

    /// Nothing but reports says anything of losses.
    fn on_loss(&mut self, _loss: &Loss) {}

    fn next_timer(&self) -> Time {
        self.no_feedback
    }

    /// The nofeedback timer has run out (section 4.4).
    fn on_timer(&mut self, now: Time) {
        let x_recv = self.most_received();
        if self.r == 0.0 {
            self.unreported = (self.unreported + 1.0).min(UNLIMITED);
            (self.x, self.x_inst) =
                ((self.x / 2.0).max(self.least), (self.x / 2.0).max(self.least));
        } else {
            let recover = self.initial_rate();
            let low = if self.p > 0.0 { x_recv < recover } else { self.x < 2.0 * recover };
            if self.active || !low {
                if self.p == 0.0 {
                    self.x = (self.x / 2.0).max(self.least);
                    self.x_inst = self.x;
                } else if throughput(self.s, self.r, self.p) > 2.0 * x_recv {
                    self.limit_to(now, x_recv);
                } else {
                    self.limit_to(now, throughput(self.s, self.r, self.p) / 2.0);
                }
            }
        }
        self.start_timer(now);
    }

    fn cwnd(&self) -> f64 {
        if self.r > 0.0 { UNLIMITED } else { self.unreported }
    }

    fn paces(&self) -> bool {
        true
    }

    fn pacing(&self) -> Option<Rate> {
        // The cast saturates.
        (self.r > 0.0).then(|| Rate(((self.x_inst * 8.0) as u64).max(1)))
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("x", "bytes/s", "X, the allowed rate"),
        Variable::new("p", "", "loss event rate, as last reported"),
        Variable::new("r", "s", "R, the RTT estimate; 0 before the first report"),
        Variable::new("x_recv", "bytes/s", "the most that arrived in the last two RTTs"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("x", self.x);
        sink("p", self.p);
        sink("r", self.r);
        sink("x_recv", self.most_received().min(f64::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ack, departing, ms, near, sender_context};

    #[test]
    fn the_equation_gives_the_rfcs_numbers() {
        // s = 1000, R = 0.1, p = 0.01: sqrt(0.02/3) = 0.081 649 658; sqrt(0.03/8) = 0.061 237 244,
        // times 12*0.01*1.0032 = 0.007 371 984; 1000/(0.1*0.089 021 642) = 112 332.2.
        assert!((throughput(1000.0, 0.1, 0.01) - 112_332.2).abs() < 0.1);
        // p = 1: 0.816 496 58 + 12*0.612 372 44*33 = 243.315 98; 1000/24.331 598 = 41.098 8.
        assert!((throughput(1000.0, 0.1, 1.0) - 41.0988).abs() < 1e-3);
        assert!((interval_for(1000.0, 0.1, 112_332.2) - 100.0).abs() < 1e-3);
    }

    fn tfrc() -> Tfrc {
        Tfrc::new(&TfrcParams::default(), &sender_context(1.0))
    }

    fn report(s: &mut Tfrc, at: u64, rtt: u64, x_recv: f64, p: f64) -> f64 {
        s.on_send(&Departing { now: ms(at), ..departing() });
        let header = TfrcHeader { rtt: 0.0, x_recv, p };
        s.on_ack(&Ack { now: ms(at), rtt: Some(Span::from_millis(rtt)), header, ..ack(1) });
        s.x
    }

    #[test]
    fn the_rate_starts_with_four_packets_and_doubles() {
        let mut s = tfrc();
        assert_eq!((s.cwnd(), s.pacing()), (1.0, None));
        // min(4000, max(2000, 4380)) = 4000 B per 100 ms.
        s.on_send(&departing());
        assert_eq!(s.next_timer(), ms(2000));
        assert!(near(report(&mut s, 100, 100, 0.0, 0.0), 40_000.0));
        assert_eq!(s.pacing(), Some(Rate(320_000)));
        // 50 ms later there is no doubling; at 200 ms there is: infinity is still in the set.
        assert!(near(report(&mut s, 150, 100, 20_000.0, 0.0), 40_000.0));
        assert!(near(report(&mut s, 200, 100, 30_000.0, 0.0), 80_000.0));
        // Now it is over two RTTs old: 2*70,000.
        assert!(near(report(&mut s, 310, 100, 70_000.0, 0.0), 140_000.0));
    }

    #[test]
    fn with_losses_the_rate_is_the_equations_up_to_twice_what_arrived() {
        let mut s = tfrc();
        report(&mut s, 0, 100, 0.0, 0.0);
        let x = report(&mut s, 300, 100, 80_000.0, 0.01);
        assert!((x - 112_332.2).abs() < 0.1, "{x}");
        assert!(near(report(&mut s, 600, 100, 50_000.0, 0.01), 100_000.0));
        // R = 0.9*100 + 0.1*200.
        report(&mut s, 700, 200, 1e6, 0.01);
        assert!(near(s.r, 0.110));
        // 4*R = 440 ms is longer than two packets.
        assert_eq!(s.next_timer(), ms(1140));
    }

    #[test]
    fn without_reports_the_rate_halves() {
        let mut s = tfrc();
        report(&mut s, 0, 100, 0.0, 0.0);
        let x = report(&mut s, 300, 100, 1e6, 0.01);
        s.on_send(&Departing { now: ms(301), ..departing() });
        s.on_timer(ms(700));
        // X_Bps/2 stands in the set halved, so that 2*max(set) is X_Bps/2.
        assert!((s.x - x / 2.0).abs() < 1e-6 && near(s.received[0].0, s.x / 2.0));
        // The equation's 112 kB/s are more than twice the 28 kB/s in the set: to X_recv.
        s.on_send(&Departing { now: ms(701), ..departing() });
        s.on_timer(ms(1100));
        assert!((s.x - x / 4.0).abs() < 1e-6);
        // Idle, with less in the set than the initial rate: it stays.
        s.on_timer(ms(1500));
        assert!((s.x - x / 4.0).abs() < 1e-6);
    }

    #[test]
    fn a_data_limited_sender_is_held_by_the_most_that_arrived() {
        let mut s = tfrc();
        report(&mut s, 0, 100, 0.0, 0.0);
        report(&mut s, 300, 100, 60_000.0, 0.0);
        let limited = Departing { backlogged: false, ..departing() };
        let quiet = |s: &mut Tfrc, at: u64, x_recv: f64, p: f64| {
            s.on_send(&Departing { now: ms(at - 1), ..limited });
            let header = TfrcHeader { rtt: 0.0, x_recv, p };
            s.on_ack(&Ack { now: ms(at), rtt: Some(Span::from_millis(100)), header, ..ack(1) });
            (s.received[0].0, s.x)
        };
        // The largest stays, however old: 2*60,000.
        assert!(near(quiet(&mut s, 900, 10_000.0, 0.0).0, 60_000.0));
        // A loss: half of it, against 0.85*X_recv.
        assert!(near(quiet(&mut s, 1200, 10_000.0, 0.0001).0, 30_000.0));
        assert!(near(quiet(&mut s, 1500, 100_000.0, 0.0002).1, 85_000.0));
    }

    fn arrived(seq: u64, at: u64) -> Arrived<TfrcHeader> {
        let header = TfrcHeader { rtt: 0.1, ..TfrcHeader::default() };
        let (now, expected, ecn) = (ms(at), seq + 1, Ecn::NotCapable);
        Arrived { now, seq, expected, size: 1000, header, ecn, pending: None }
    }

    #[test]
    fn reports_leave_once_per_rtt_and_at_each_loss_event() {
        let mut sink = TfrcReporter::new(&TfrcParams::default(), &sender_context(1.0));
        // One packet each 10 ms, RTT 100 ms: reports at packets 0, 10, 20; 25 is lost, 28 tells.
        let mut reports = [(0, 0.0); 8];
        let mut count = 0;
        for seq in (0..45).filter(|seq| *seq != 25) {
            if let Some(header) = sink.on_data(&arrived(seq, seq * 10)) {
                reports[count] = (seq, header.x_recv);
                count += 1;
                assert_eq!(header.p > 0.0, seq >= 28);
            }
        }
        let expected =
            [(0, 0.0), (10, 100_000.0), (20, 100_000.0), (28, 90_000.0), (38, 100_000.0)];
        assert_eq!(count, 5);
        for (got, want) in reports.iter().zip(expected) {
            // Packet 28: 7 packets in 80 ms, and 20 ms at 100 kB/s: 9000 B in 100 ms.
            assert!(got.0 == want.0 && near(got.1, want.1), "{got:?} {want:?}");
        }
    }

    #[test]
    fn the_first_interval_is_that_of_the_rate_there_was() {
        let mut sink = TfrcReporter::new(&TfrcParams::default(), &sender_context(1.0));
        let mut p = 0.0;
        for seq in (0..29).filter(|seq| *seq != 25) {
            p = sink.on_data(&arrived(seq, seq * 10)).map_or(p, |header| header.p);
        }
        assert!((throughput(1000.0, 0.1, p) / 90_000.0 - 1.0).abs() < 1e-6, "{p}");
    }

    #[test]
    fn a_mark_is_a_loss_if_asked_for() {
        for ecn in [false, true] {
            let params = TfrcParams { ecn, ..TfrcParams::default() };
            let mut sink = TfrcReporter::new(&params, &sender_context(1.0));
            sink.on_data(&arrived(0, 0));
            let marked = Arrived { ecn: Ecn::Ce, ..arrived(1, 10) };
            assert_eq!(sink.on_data(&marked).is_some_and(|header| header.p > 0.0), ecn);
        }
    }

    /// RFC 5348, section 4.4: without losses an idle sender keeps a rate below 2*recover_rate, and
    /// halves that one: 4000 B per 100 ms are 40,000 bytes/s.
    #[test]
    fn an_idle_sender_keeps_less_than_twice_the_recover_rate() {
        for (x, after) in [(79_999.0, 79_999.0), (80_000.0, 40_000.0)] {
            let mut s = tfrc();
            report(&mut s, 100, 100, 0.0, 0.0);
            (s.x, s.active) = (x, false);
            s.on_timer(ms(600));
            assert!(near(s.x, after), "{x}: {}", s.x);
        }
    }

    /// Section 4.5 with RTTs of 40, 90 and 10 ms, whose roots are 0.2, 0.3 and 0.1: R_sqmean is
    /// 0.2, 0.9*0.2 + 0.1*0.3 = 0.21 and 0.9*0.21 + 0.1*0.1 = 0.199, and X_inst is X times R_sqmean
    /// over the root.
    #[test]
    fn damping_goes_by_the_root_of_the_last_sample() {
        let params = TfrcParams { damping: true, ..TfrcParams::default() };
        let mut s = Tfrc::new(&params, &sender_context(1.0));
        for (i, rtt, ratio) in [(1, 40, 1.0), (2, 90, 0.7), (3, 10, 1.99)] {
            let x = report(&mut s, 200 * i, rtt, 1e6, 0.01);
            assert!(near(s.x_inst / x, ratio), "{rtt}: {}", s.x_inst / x);
            assert_eq!(s.pacing(), Some(Rate((s.x_inst * 8.0) as u64)));
        }
        // Without damping it is X itself.
        let mut s = tfrc();
        report(&mut s, 200, 40, 1e6, 0.01);
        report(&mut s, 400, 90, 1e6, 0.01);
        assert_eq!(s.x_inst, s.x);
    }

    /// Section 4.4 and D3: without any report the rate of a packet per second halves each 2 s, down
    /// to a packet in 64 s, and one more packet may leave each time.
    #[test]
    fn without_a_first_report_it_halves_down_to_one_packet_in_64_s() {
        let mut s = tfrc();
        s.on_send(&departing());
        for (i, x) in (1..).zip([500.0, 250.0, 125.0, 62.5, 31.25, 15.625, 15.625, 15.625]) {
            let due = s.next_timer();
            assert_eq!(due, ms(2000 * i));
            s.on_timer(due);
            assert_eq!((s.x, s.x_inst, s.cwnd()), (x, x, i as f64 + 1.0));
        }
    }

    /// Section 4.3: 40,000 bytes/s at first; 300 ms later 80,000, as twice the 60,000 that arrived
    /// is more; and where the application was the limit twice the most that ever arrived, 120,000.
    #[test]
    fn a_data_limited_sender_may_send_twice_the_most_that_arrived() {
        let mut s = tfrc();
        report(&mut s, 0, 100, 0.0, 0.0);
        assert!(near(report(&mut s, 300, 100, 60_000.0, 0.0), 80_000.0));
        s.on_send(&Departing { now: ms(899), backlogged: false, ..departing() });
        let header = TfrcHeader { rtt: 0.0, x_recv: 10_000.0, p: 0.0 };
        s.on_ack(&Ack { now: ms(900), rtt: Some(Span::from_millis(100)), header, ..ack(1) });
        assert!(near(s.x, 120_000.0), "{}", s.x);
    }

    /// Section 4.3: X_recv_set has the values of two RTTs: one 200 ms old counts, at 201 ms it is
    /// gone.
    #[test]
    fn what_arrived_two_round_trips_ago_still_counts() {
        for (at, x) in [(500, 100_000.0), (501, 60_000.0)] {
            let mut s = tfrc();
            report(&mut s, 0, 100, 0.0, 0.0);
            report(&mut s, 300, 100, 50_000.0, 0.0);
            assert!(near(report(&mut s, at, 100, 30_000.0, 0.0), x), "{at}: {}", s.x);
        }
    }

    /// Section 4.4: at p = 1 the equation gives 41.0988 bytes/s at 100 ms (above), so that two
    /// packets take 48.663 s, which is more than four RTTs.
    #[test]
    fn the_nofeedback_timer_waits_for_two_packets() {
        let mut s = tfrc();
        report(&mut s, 0, 100, 0.0, 0.0);
        report(&mut s, 300, 100, 1e6, 1.0);
        assert!((s.next_timer().as_secs() - 0.3 - 48.663).abs() < 2e-3, "{:?}", s.next_timer());
    }

    /// Section 6.3.1: at least half a packet per RTT, 5000 bytes/s, where 200 arrived. There the
    /// equation's bracket is 2: at p = 0.206 428 9, 0.370 970 7 + 12*0.278 228*0.206 428 9*(1 +
    /// 1.363 612).
    #[test]
    fn the_first_interval_is_of_half_a_packet_per_rtt_at_least() {
        let params = TfrcParams { ecn: true, ..TfrcParams::default() };
        let mut sink = TfrcReporter::new(&params, &sender_context(1.0));
        sink.on_data(&arrived(0, 0));
        let marked = Arrived { ecn: Ecn::Ce, ..arrived(1, 5000) };
        let p = sink.on_data(&marked).expect("a loss event").p;
        assert!((p - 0.206_428_9).abs() < 1e-6, "{p}");
    }

    /// A report that makes no sense says nothing: no RTT, a rate or a loss event rate that cannot
    /// be.
    #[test]
    fn reports_that_make_no_sense_are_left_out() {
        let mut s = tfrc();
        report(&mut s, 100, 100, 0.0, 0.0);
        let rtt = Some(Span::from_millis(100));
        for (rtt, x_recv, p) in [
            (None, 1e4, 0.01),
            (Some(Span::ZERO), 1e4, 0.01),
            (rtt, -1.0, 0.01),
            (rtt, f64::NAN, 0.01),
            (rtt, 2e15, 0.01),
            (rtt, 1e4, 1.5),
            (rtt, 1e4, -0.1),
        ] {
            let header = TfrcHeader { rtt: 0.0, x_recv, p };
            s.on_ack(&Ack { now: ms(500), rtt, header, ..ack(1) });
            assert_eq!((s.x, s.p, s.next_timer()), (40_000.0, 0.0, ms(500)), "{x_recv} {p}");
        }
    }

    /// RFC 5348, section 4.4, after losses: an idle sender for which less than the recover rate of
    /// 40,000 bytes/s arrived keeps its rate; one for which as much did goes to X_recv, as the
    /// equation's 112,332 are more than twice that; an active one goes in either case.
    #[test]
    fn an_idle_sender_keeps_what_is_below_the_recover_rate() {
        for (x_recv, active, x) in
            [(40_000.0, false, 40_000.0), (39_999.0, false, 99_000.0), (39_999.0, true, 39_999.0)]
        {
            let mut s = tfrc();
            report(&mut s, 0, 100, 0.0, 0.0);
            report(&mut s, 300, 100, 1e6, 0.01);
            s.received = [(x_recv, ms(300)), (0.0, Time::ZERO), (0.0, Time::ZERO)];
            (s.x, s.active) = (99_000.0, active);
            s.on_timer(ms(700));
            assert!(near(s.x, x), "{x_recv} {active}: {}", s.x);
            // The timer runs anew: max(4*R, 2*s/X) = 400 ms.
            assert_eq!((s.next_timer(), s.active), (ms(1100), false));
        }
    }

    /// RFC 5348, section 4.2: with segments of 3000 B the initial window is min(12,000, max(6000,
    /// 4380)) = 6000 B, with 1500 B min(6000, max(3000, 4380)) = 4380 B; in 100 ms.
    #[test]
    fn the_initial_window_depends_on_the_segment() {
        for (packet_bytes, rate) in [(3000, 60_000.0), (1500, 43_800.0)] {
            let context = SenderContext { packet_bytes, ..sender_context(1.0) };
            let mut s = Tfrc::new(&TfrcParams::default(), &context);
            assert!(near(report(&mut s, 100, 100, 0.0, 0.0), rate), "{}", s.x);
        }
    }

    /// A second report at the instant of the first, before any RTT is known, has no time to divide
    /// by.
    #[test]
    fn a_rate_over_no_time_is_none() {
        let mut reporter = TfrcReporter::new(&TfrcParams::default(), &sender_context(1.0));
        (reporter.reported, reporter.bytes) = (Some(ms(5)), 1000.0);
        assert_eq!(reporter.x_recv(ms(5)), 0.0);
        assert_eq!(reporter.x_recv(ms(105)), 10_000.0);
    }

    /// A sender that had nothing to send for just two RTTs is not yet limited by its data: what it
    /// received longer ago is forgotten. Later the largest value is kept.
    #[test]
    fn data_limit_a_sender_after_more_than_two_rtts() {
        for (now, most) in [(1000, 5000.0), (1001, 10_000.0)] {
            let mut s = tfrc();
            (s.r, s.q, s.backlogged) = (0.1, 1.0, ms(800));
            s.received = [(10_000.0, ms(0)), (0.0, ms(0)), (0.0, ms(0))];
            let header = TfrcHeader { rtt: 0.0, x_recv: 5000.0, p: 0.0 };
            let rtt = Some(Span::from_millis(100));
            s.on_ack(&Ack { now: ms(now), rtt, header, ..ack(1) });
            assert_eq!(s.most_received(), most, "{now}");
        }
    }

    /// Nor is one whose first report it is, however late: what arrived counts whole.
    #[test]
    fn the_first_report_is_of_no_limited_sender() {
        let mut s = tfrc();
        s.on_send(&departing());
        let header = TfrcHeader { rtt: 0.0, x_recv: 5000.0, p: 0.1 };
        let rtt = Some(Span::from_millis(100));
        s.on_ack(&Ack { now: ms(1000), rtt, header, ..ack(1) });
        assert_eq!(s.most_received(), 5000.0);
    }
}

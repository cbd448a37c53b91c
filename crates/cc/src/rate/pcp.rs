//! PCP, the probe control protocol. Anderson, Collins, Krishnamurthy, Zahorjan, "PCP: efficient
//! endpoint congestion control", NSDI 2006, section 3.
//!
//! A sender paces its packets at a base rate. To have more it sends a probe, a short burst at the
//! rate it would like: where the delays of the burst's packets do not grow, the path has that rate
//! to spare, and the sender takes it at once. The increase that is asked for doubles with each
//! success and halves with each failure. Where the delays of packets at the base rate show a queue,
//! all senders slow down by as much as empties it within the next round trip.
//!
//! ```math
//! test = base + increase            what a probe is sent at
//! base <- test                      it is accepted
//! increase <- 2*increase            it is accepted
//! increase <- increase/2            it is not
//! base <- base*(1 - q/RTT)/(1 + g)  a queue at the base rate
//! ```
//!
//! q is the queueing delay of the last round trip, and g by how much of itself it has grown.
//! With a capacity C and senders at (1 + g) C in all, the queue of q C is empty after an RTT of
//! (1 - q/RTT) C: that is the compensation.
//!
//! RECONSTRUCTION: of the public text table 2 and parts of sections 3.2 to 3.5 were at hand, 3.1
//! was not. From the text are: direct jump (table 2); the reduction in proportion, over one round
//! trip (3.2); the first test, a packet in half an RTT, the doubling and the halving (3.3); a third
//! of an earlier base rate (3.4); a tenth of the compensation while it does nothing (3.5).
//! - R1: the delays of a probe grow if the slope of their least-squares line is positive; where
//!   they scatter, the slope is drawn from its normal distribution, so that a test is accepted with
//!   the probability that they do not grow. The text accepts tests "taking into account the
//!   variance", without a formula.
//! - R2: a probe is of `length` packets, or of what the test rate sends in an RTT if that is less,
//!   two at least. It stands in the place of as many packets at the base rate, and the pause behind
//!   it keeps the mean rate at the base.
//! - R3: q is the largest of a round trip's delays less the smallest ever. A round trip after a
//!   compensation is left to its work.
//! - R4: the least increase is a packet per RTT, the same for all, so that senders compete alike
//!   for what is free: with a part of the base, those that have more win. A failure at it doubles
//!   the time to the next probe, from one RTT up to 100 (as remembered of the paper); after a
//!   failure the probe leaves at a random time within it. The text has a back-off without its
//!   numbers.
//! - R5: a compensation has no effect if the smallest delay of the next round trip that is looked
//!   at is not below that before it; "several" of them are three.
//! - R6: the base is never below a packet per RTT.
//!
//! Deviations:
//! - D1: a delay is a packet's round trip, where the paper measures one way: what waits before the
//!   ACKs counts, too, and each packet must have an ACK of its own. Where ACKs are delayed a probe
//!   of two packets brings one delay, which is no slope, and no test is accepted (`era = "rfc"`).
//!   The first packet of data stands for the SYN.
//! - D2: packets of probes are as large as others.
//! - D3: a loss in a probe fails it; another loss is repaired and changes nothing. A timeout begins
//!   again.
//! - D4: flows do not know of each other's base rates: `history` says what was had before.

use units::random::Stream;
use units::{Rate, Span, Time, math};

use crate::roles::{Ack, Departing, Echo, Loss, LossKind, Sender, SenderContext, Variable};

params! {
    /// The sender's parameters.
    pub struct PcpParams {
        /// Packets of a probe (R2).
        length: u64 = 5 => (2.0, 1000.0);
        /// The least increase that is asked for [packets per RTT] (R4).
        least: f64 = 1.0 => (1e-3, 1e6);
        /// The longest time between two probes [RTTs] (R4).
        backoff: f64 = 100.0 => (1.0, 1e6);
        /// So many round trips without effect make the compensation a tenth (R5, section 3.5).
        several: u64 = 3 => (1.0, 1000.0);
        /// The base rate of an earlier flow to the same host, whose third is tested first; 0: none
        /// [bytes/s] (section 3.4).
        history: f64 = 0.0 => (0.0, 1e15);
        /// A change of delay below this is none: what the clock cannot tell.
        resolution: Span = Span(10_000) => (1e-12, 1.0);
    }
}

/// Delays over the times of departure, summed up for a least-squares line.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    n: f64,
    /// Sums of x, y, x^2, x y and y^2, in seconds from the first point.
    sums: [f64; 5],
    first: Option<(Time, Span)>,
    last: f64,
}

impl Line {
    fn add(&mut self, sent: Time, delay: Span) {
        let (from, base) = *self.first.get_or_insert((sent, delay));
        let (x, y) = (sent.since(from).as_secs(), delay.0 as f64 * 1e-12 - base.0 as f64 * 1e-12);
        for (sum, term) in self.sums.iter_mut().zip([x, y, x * x, x * y, y * y]) {
            *sum += term;
        }
        (self.n, self.last) = (self.n + 1.0, self.last.max(x));
    }

    /// The slope and its standard error; `None` of fewer than two points.
    fn slope(&self) -> Option<(f64, f64)> {
        let (n, [x, y, xx, xy, yy]) = (self.n, self.sums);
        let (across, along, up) = (xx - x * x / n, xy - x * y / n, yy - y * y / n);
        if n < 2.0 || across <= 0.0 {
            return None;
        }
        let slope = along / across;
        let rest = (up - slope * along).max(0.0);
        Some((slope, if n > 2.0 { math::sqrt(rest / (n - 2.0) / across) } else { 0.0 }))
    }
}

/// What the probing is at.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// No probe before this time.
    Pause(Time),
    /// So many packets of it have left, out of so many; when the first did, and the last.
    Burst { sent: u64, of: u64, first: Time, last: Time },
    /// All have, and their delays come back.
    Answer { of: u64, first: Time, last: Time },
}

/// The delays of packets at the base rate within a round trip.
#[derive(Clone, Copy, Debug)]
struct Watch {
    /// Packets that left from then on count.
    from: Time,
    /// The first and the last of them, with their delays.
    first: Option<(Time, Span)>,
    last: (Time, Span),
    /// The smallest and the largest delay.
    least: Span,
    most: Span,
}

impl Watch {
    fn from(from: Time) -> Watch {
        Watch {
            from,
            first: None,
            last: (from, Span::ZERO),
            least: Span(u64::MAX),
            most: Span::ZERO,
        }
    }

    fn add(&mut self, sent: Time, delay: Span) {
        self.first.get_or_insert((sent, delay));
        self.last = (sent, delay);
        (self.least, self.most) = (self.least.min(delay), self.most.max(delay));
    }

    /// g, by how much the delay grew in the time in which the packets left.
    fn growth(&self) -> f64 {
        let Some((from, before)) = self.first else { return 0.0 };
        let (to, after) = self.last;
        let time = to.since(from).as_secs();
        let grown = after.0 as f64 * 1e-12 - before.0 as f64 * 1e-12;
        if time > 0.0 { (grown / time).max(0.0) } else { 0.0 }
    }
}

/// The sender.
#[derive(Clone, Debug)]
pub struct Pcp {
    params: PcpParams,
    stream: Stream,
    /// A packet [bytes].
    packet: f64,
    /// The base rate; 0 before the first success [bytes/s].
    base: f64,
    /// What more is asked for [bytes/s].
    increase: f64,
    /// The rate under test [bytes/s].
    test: f64,
    phase: Phase,
    delays: Line,
    /// Between probes that fail at the least increase [RTTs].
    interval: f64,
    /// What the pacer goes by after the packet that leaves next [bytes/s].
    pace: f64,
    /// The smoothed RTT [s]; 0 before the first.
    rtt: f64,
    least_delay: Span,
    watch: Watch,
    /// The queueing delay at the last compensation, and what of it stood all the round trip [s].
    queue: f64,
    standing: f64,
    /// How often in a row that did not fall.
    in_vain: u64,
}

impl Pcp {
    /// A packet per RTT [bytes/s].
    fn slowest(&self) -> f64 {
        self.packet / self.rtt
    }

    /// The increase may not be smaller (R4).
    fn least(&self) -> f64 {
        self.params.least * self.slowest()
    }

    /// Begins as with a new connection.
    fn restart(&mut self) {
        (self.base, self.interval) = (0.0, 1.0);
        (self.queue, self.standing, self.in_vain) = (0.0, 0.0, 0);
        let third = self.params.history / 3.0;
        self.increase = if third > 0.0 { third } else { 2.0 * self.slowest() };
        self.plan();
    }

    /// The next packet is a probe's first.
    fn plan(&mut self) {
        self.increase = self.increase.max(self.least());
        self.test = self.base + self.increase;
        // The cast rounds down and saturates.
        let round = (self.test * self.rtt / self.packet * (1.0 + 1e-9)) as u64;
        let of = round.clamp(2, self.params.length);
        self.phase = Phase::Burst { sent: 0, of, first: Time::ZERO, last: Time::ZERO };
        (self.delays, self.pace) = (Line::default(), self.test);
    }

    /// The pace behind the last packet of a probe: burst and pause take as long as its packets at
    /// the base rate.
    fn pause(&self, of: u64) -> f64 {
        let (of, bytes) = (of as f64, self.packet);
        if self.base > 0.0 {
            bytes / (of * bytes / self.base - (of - 1.0) * bytes / self.test)
        } else {
            self.test
        }
    }

    /// The pace of what is no probe.
    fn steady(&self) -> f64 {
        self.base.max(self.slowest())
    }

    /// The rate was there, or was not.
    fn verdict(&mut self, now: Time, success: bool) {
        if success {
            // Direct jump.
            self.base = self.test;
            (self.increase, self.interval) = (2.0 * self.increase, 1.0);
            self.plan();
            return;
        }
        if self.increase <= self.least() && self.base > 0.0 {
            self.interval = (2.0 * self.interval).min(self.params.backoff);
        }
        self.increase = (self.increase / 2.0).max(self.least());
        if self.base == 0.0 {
            self.plan();
            return;
        }
        let wait = Span::from_secs_f64(self.stream.unit() * self.interval * self.rtt);
        self.phase = Phase::Pause(now + wait);
        self.delays = Line::default();
    }

    /// Did the probe's delays not grow (R1)?
    fn accepts(&mut self) -> bool {
        let Some((slope, error)) = self.delays.slope() else { return false };
        let least = self.params.resolution.as_secs();
        let drawn =
            if error * self.delays.last > least { self.stream.normal(slope, error) } else { slope };
        drawn * self.delays.last <= least
    }

    /// A delay of a packet at the base rate; the queue that a round trip of them shows is emptied.
    fn compensate(&mut self, now: Time, sent: Time, delay: Span) {
        let round = Span::from_secs_f64(self.rtt);
        if sent < self.watch.from {
            return;
        }
        if sent < self.watch.from + round {
            self.watch.add(sent, delay);
            return;
        }
        let above = |delay: Span| delay.0.saturating_sub(self.least_delay.0) as f64 * 1e-12;
        let (queue, standing) = (above(self.watch.most), above(self.watch.least));
        let (growth, resolution) = (self.watch.growth(), self.params.resolution.as_secs());
        if self.watch.first.is_none() || queue <= resolution || self.base == 0.0 {
            self.watch = Watch::from(sent);
            (self.queue, self.standing, self.in_vain) = (0.0, 0.0, 0);
            self.watch.add(sent, delay);
            return;
        }
        let vain = self.standing > resolution && standing >= self.standing;
        self.in_vain = if vain { self.in_vain + 1 } else { 0 };
        let mut less = 1.0 - (1.0 - queue / self.rtt).max(0.0) / (1.0 + growth);
        if self.in_vain >= self.params.several {
            less /= 10.0;
        }
        self.base = (self.base * (1.0 - less)).max(self.slowest());
        (self.queue, self.standing) = (queue, standing);
        self.watch = Watch::from(now + round);
    }
}

impl Sender for Pcp {
    type Params = PcpParams;
    type Header = ();
    type Receiver = Echo<()>;

    fn new(params: &PcpParams, context: &SenderContext) -> Pcp {
        Pcp {
            params: params.clone(),
            stream: context.stream.clone(),
            packet: f64::from(context.packet_bytes),
            base: 0.0,
            increase: 0.0,
            test: 0.0,
            phase: Phase::Pause(Time::ZERO),
            delays: Line::default(),
            interval: 1.0,
            pace: 0.0,
            rtt: 0.0,
            least_delay: Span(u64::MAX),
            watch: Watch::from(Time::ZERO),
            queue: 0.0,
            standing: 0.0,
            in_vain: 0,
        }
    }

    #[inline(never)] // the hot path has the dispatch alone
    fn on_send(&mut self, segment: &Departing) {
        let now = segment.now;
        match self.phase {
            _ if self.rtt == 0.0 => {}
            // What the application has not got says nothing of the path.
            Phase::Burst { .. } if !segment.backlogged => {
                self.phase = Phase::Pause(now + Span::from_secs_f64(self.rtt));
                (self.delays, self.pace) = (Line::default(), self.steady());
            }
            Phase::Burst { sent, of, first, .. } => {
                let (sent, first) = (sent + 1, if sent == 0 { now } else { first });
                self.phase = if sent < of {
                    Phase::Burst { sent, of, first, last: now }
                } else {
                    Phase::Answer { of, first, last: now }
                };
                self.pace = match of - sent {
                    0 => self.steady(),
                    1 => self.pause(of),
                    _ => self.test,
                };
            }
            Phase::Pause(until) if now >= until && segment.backlogged => self.plan(),
            Phase::Pause(_) | Phase::Answer { .. } => self.pace = self.steady(),
        }
    }

    #[inline(never)] // the hot path has the dispatch alone
    fn on_ack(&mut self, ack: &Ack<()>) {
        let Some(delay) = ack.rtt.filter(|rtt| (1e-9..=1e4).contains(&rtt.as_secs())) else {
            return;
        };
        let first = self.rtt == 0.0;
        self.rtt = ack.srtt.unwrap_or(delay).as_secs();
        self.least_delay = self.least_delay.min(delay);
        if first {
            self.restart();
            self.watch = Watch::from(ack.now);
            return;
        }
        let sent = Time(ack.now.0.saturating_sub(delay.0));
        let (of, from, to) = match self.phase {
            Phase::Burst { sent: 0, .. } | Phase::Pause(_) => {
                return self.compensate(ack.now, sent, delay);
            }
            Phase::Burst { of, first, last, .. } => (of + 1, first, last),
            Phase::Answer { of, first, last } => (of, first, last),
        };
        if (from..=to).contains(&sent) {
            self.delays.add(sent, delay);
        } else {
            self.compensate(ack.now, sent, delay);
        }
        if ack.lost > 0 && self.delays.n > 0.0 {
            self.verdict(ack.now, false);
        } else if self.delays.n as u64 >= of || sent > to && to > from {
            let success = self.accepts();
            self.verdict(ack.now, success);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        if loss.kind == LossKind::Timeout && self.rtt > 0.0 {
            self.restart();
        }
    }

    /// At the base rate as many as twice the bandwidth-delay product, so that a path that has
    /// fallen silent is not filled for ever; before, a probe and nothing behind it.
    #[inline]
    fn cwnd(&self) -> f64 {
        let probe = self.params.length as f64;
        match self.phase {
            _ if self.base > 0.0 => 2.0 * (self.base * self.rtt / self.packet + probe),
            Phase::Burst { of, .. } => of as f64,
            _ => 1.0,
        }
    }

    fn paces(&self) -> bool {
        true
    }

    #[inline]
    fn pacing(&self) -> Option<Rate> {
        // The cast saturates.
        (self.pace > 0.0).then(|| Rate(((self.pace * 8.0) as u64).max(1)))
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("base", "bytes/s", "the base rate; 0 before the first test that succeeded"),
        Variable::new("increase", "bytes/s", "what the next test asks for above it"),
        Variable::new("interval", "RTTs", "time to the next probe, at most, after a failure"),
        Variable::new(
            "queue",
            "s",
            "queueing delay at the last compensation; 0 where there is none",
        ),
        Variable::new(
            "in_vain",
            "",
            "compensations in a row after which what stood of it had not fallen",
        ),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("base", self.base);
        sink("increase", self.increase);
        sink("interval", self.interval);
        sink("queue", self.queue);
        sink("in_vain", self.in_vain as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ack, departing, ms, near, sender_context};

    /// (0, 0), (1, 1), (2, 3): the line is 1.5 x - 1/6, the squares that it leaves are 1/6, and its
    /// slope's error sqrt(1/6/1/2).
    #[test]
    fn the_slope_is_that_of_least_squares() {
        let mut line = Line::default();
        assert_eq!(line.slope(), None);
        for (x, y) in [(5000, 100), (6000, 1100), (7000, 3100)] {
            line.add(ms(x), Span::from_millis(y));
        }
        let (slope, error) = line.slope().expect("three points");
        assert!(near(slope, 1.5) && near(error, (1.0_f64 / 12.0).sqrt()), "{slope} {error}");
    }

    /// One packet out and back: an RTT of 100 ms.
    fn pcp() -> Pcp {
        let mut s = Pcp::new(&PcpParams::default(), &sender_context(1.0));
        assert_eq!((s.cwnd(), s.pacing()), (1.0, None));
        s.on_send(&departing());
        hear(&mut s, 100, 100);
        s
    }

    fn hear(s: &mut Pcp, now: u64, rtt: u64) {
        let [rtt, srtt] = [rtt, 100].map(|t| Some(Span::from_millis(t)));
        s.on_ack(&Ack { now: ms(now), rtt, srtt, ..ack(1) });
    }

    fn send(s: &mut Pcp, now: u64) -> f64 {
        s.on_send(&Departing { now: ms(now), ..departing() });
        s.pace
    }

    /// Section 3.3: the first test is a packet in half an RTT, 20,000 bytes/s; what it asks for
    /// more doubles. The packets of a burst are paced at the rate under test and the one behind it
    /// so that they take as long as at the base rate.
    #[test]
    fn a_probe_is_a_burst_at_the_rate_under_test() {
        let mut s = pcp();
        assert_eq!(s.increase, 20_000.0);
        assert_eq!((send(&mut s, 100), s.cwnd()), (20_000.0, 2.0));
        send(&mut s, 150);
        // Nothing leaves behind it until it is known what becomes of it.
        assert_eq!(s.cwnd(), 1.0);
        hear(&mut s, 200, 100);
        hear(&mut s, 250, 100);
        assert_eq!((s.base, s.increase, s.pace), (20_000.0, 40_000.0, 60_000.0));
        // 60,000 bytes/s: five packets in gaps of 16.7 ms, and 5 * 50 - 4 * 16.7 ms behind. A pace
        // is that behind the next packet.
        for at in [300, 317, 333] {
            assert_eq!(send(&mut s, at), 60_000.0);
        }
        assert!(near(1000.0 / send(&mut s, 350), 5.0 * 0.05 - 4.0 / 60.0));
        assert_eq!(send(&mut s, 367), 20_000.0);
        assert!(matches!(s.phase, Phase::Answer { of: 5, .. }));
    }

    /// A loss fails the probe only once packets of the probe have come.
    #[test]
    fn a_loss_before_a_probes_packets_is_none_of_its() {
        let mut s = pcp();
        (s.base, s.increase) = (100_000.0, 64_000.0);
        s.plan();
        for i in 0..5 {
            send(&mut s, 200 + 9 * i);
        }
        let [rtt, srtt] = [Some(Span::from_millis(100)); 2];
        for (now, increase) in [(290, 64_000.0), (300, 32_000.0)] {
            s.on_ack(&Ack { now: ms(now), rtt, srtt, lost: 1, ..ack(1) });
            assert_eq!(s.increase, increase, "{now}");
        }
    }

    /// 100 ms and 1 ms more for each packet: the rate is not there. The increase is halved, down to
    /// a packet per RTT, 10,000 bytes/s, and failures there double the time between probes.
    #[test]
    fn growing_delays_are_a_failure() {
        let mut s = pcp();
        (s.base, s.increase) = (100_000.0, 64_000.0);
        s.plan();
        for i in 0..5 {
            send(&mut s, 200 + 9 * i);
        }
        for i in 0..5 {
            hear(&mut s, 300 + 10 * i, 100 + i);
        }
        assert_eq!((s.base, s.increase, s.interval), (100_000.0, 32_000.0, 1.0));
        assert!(matches!(s.phase, Phase::Pause(until) if until > ms(340) && until < ms(440)));
        let after = [(16_000.0, 1.0), (10_000.0, 1.0), (10_000.0, 2.0), (10_000.0, 4.0)];
        for (increase, interval) in after {
            s.verdict(ms(1000), false);
            assert_eq!((s.increase, s.interval), (increase, interval));
        }
        for _ in 0..10 {
            s.verdict(ms(1000), false);
        }
        assert_eq!(s.interval, 100.0);
        s.test = 110_000.0;
        s.verdict(ms(1000), true);
        assert_eq!((s.base, s.increase, s.interval), (110_000.0, 20_000.0, 1.0));
    }

    #[test]
    fn a_loss_fails_a_probe_and_a_timeout_begins_again() {
        let mut s = pcp();
        (s.base, s.increase) = (100_000.0, 64_000.0);
        s.plan();
        for i in 0..5 {
            send(&mut s, 200 + 9 * i);
        }
        hear(&mut s, 300, 100);
        let rtt = Some(Span::from_millis(100));
        s.on_ack(&Ack { now: ms(318), rtt, srtt: rtt, lost: 1, ..ack(1) });
        assert_eq!((s.base, s.increase), (100_000.0, 32_000.0));
        let loss =
            Loss { now: ms(2000), kind: LossKind::Timeout, in_flight: 5, lost: 5, repeated: false };
        s.on_loss(&loss);
        assert_eq!((s.base, s.increase, s.cwnd()), (0.0, 20_000.0, 2.0));
    }

    /// A round trip of delays from 105 to 110 ms, 5 ms in 50 ms: q = 10 ms, g = 0.1. What is left
    /// is 0.9/1.1 of the base. Then nothing for a round trip.
    #[test]
    fn a_queue_is_emptied_within_a_round_trip() {
        let mut s = pcp();
        (s.base, s.phase) = (110_000.0, Phase::Pause(Time::NEVER));
        for (sent, rtt) in [(100, 105), (150, 110), (201, 104)] {
            hear(&mut s, sent + rtt, rtt);
        }
        assert!(
            near(s.base, 90_000.0) && near(s.queue, 0.010) && near(s.standing, 0.005),
            "{} {}",
            s.base,
            s.queue
        );
        assert_eq!(s.watch.from, ms(405));
        // 20 ms after it, which is more, and stays: at the third time a tenth of 1 - 0.8.
        let mut at = 405;
        for (i, left) in [0.8, 0.8, 0.98, 0.98].into_iter().enumerate() {
            let before = s.base;
            for sent in [at, at + 101] {
                hear(&mut s, sent + 120, 120);
            }
            at += 101 + 120 + 100;
            assert_eq!(s.in_vain, i as u64 + 1);
            assert!(near(s.base / before, left), "{i}: {}", s.base / before);
        }
        // No queue: all is as before.
        for sent in [at, at + 101] {
            hear(&mut s, sent + 100, 100);
        }
        assert_eq!((s.in_vain, s.queue), (0, 0.0));
    }

    /// Section 3.4.
    #[test]
    fn a_third_of_an_earlier_rate_is_tested_first() {
        let params = PcpParams { history: 900_000.0, ..PcpParams::default() };
        let mut s = Pcp::new(&params, &sender_context(1.0));
        hear(&mut s, 100, 100);
        assert_eq!(s.increase, 300_000.0);
    }

    /// A pause ends with the first packet that leaves after it with more behind it.
    #[test]
    fn a_probe_waits_for_its_time_and_for_data() {
        for (now, backlogged, begins) in
            [(499, true, false), (499, false, false), (500, false, false), (500, true, true)]
        {
            let mut s = pcp();
            (s.base, s.phase) = (100_000.0, Phase::Pause(ms(500)));
            s.on_send(&Departing { now: ms(now), backlogged, ..departing() });
            assert_eq!(matches!(s.phase, Phase::Burst { .. }), begins, "{now} {backlogged}");
            assert_eq!(s.pace, if begins { s.test } else { 100_000.0 });
        }
    }

    /// Twice the bandwidth-delay product and a probe: 100,000 bytes/s of 1000 in 100 ms are ten
    /// packets, and five more of a probe: 30.
    #[test]
    fn the_window_holds_twice_the_path() {
        let mut s = pcp();
        s.base = 100_000.0;
        assert!(near(s.cwnd(), 30.0), "{}", s.cwnd());
    }

    /// What the application has not got ends a probe: a pause of a round trip at the base rate.
    #[test]
    fn a_probe_without_data_is_given_up() {
        let mut s = pcp();
        (s.base, s.increase) = (100_000.0, 64_000.0);
        s.plan();
        send(&mut s, 200);
        s.on_send(&Departing { now: ms(209), backlogged: false, ..departing() });
        assert_eq!((s.phase, s.pace, s.delays.n), (Phase::Pause(ms(309)), 100_000.0, 0.0));
        // It failed for no reason of the path's.
        assert_eq!((s.base, s.increase), (100_000.0, 64_000.0));
    }

    /// Before the first RTT a timeout has nothing to begin again.
    #[test]
    fn a_timeout_before_the_first_rtt_changes_nothing() {
        let mut s = Pcp::new(&PcpParams::default(), &sender_context(1.0));
        s.on_send(&departing());
        let loss =
            Loss { now: ms(2000), kind: LossKind::Timeout, in_flight: 1, lost: 1, repeated: false };
        s.on_loss(&loss);
        assert_eq!((s.cwnd(), s.pacing(), s.increase), (1.0, None, 0.0));
        // Losses that duplicate ACKs show are the next ACK's.
        let mut s = pcp();
        s.base = 100_000.0;
        s.on_loss(&Loss { kind: LossKind::DupAcks, ..loss });
        assert_eq!(s.base, 100_000.0);
    }

    /// A line through (0, 2), (1, 2) and (2, 2) s has no slope, however far from 0 its delays are;
    /// that of two points has no error.
    #[test]
    fn a_line_is_of_the_differences() {
        let line = |points: &[(u64, u64)]| {
            let mut line = Line::default();
            points.iter().for_each(|&(x, y)| line.add(ms(x), Span::from_millis(y)));
            line.slope().expect("two points")
        };
        assert_eq!(line(&[(0, 2000), (1000, 2000), (2000, 2000)]), (0.0, 0.0));
        let (slope, error) = line(&[(500, 3000), (1500, 2000)]);
        assert!(near(slope, -1.0) && error == 0.0);
        let mut same = Line::default();
        [10, 20].iter().for_each(|&y| same.add(ms(7), Span::from_millis(y)));
        assert_eq!(same.slope(), None);
    }

    /// A watch is over with the first packet that left a round trip after its beginning: one that
    /// left at 200 ms of a watch from 100 ms on ends it, one at 199 ms is of it.
    #[test]
    fn a_watch_is_of_a_round_trip() {
        for (sent, last, queue) in [(199, (ms(199), 110), 0.0), (200, (ms(150), 110), 0.010)] {
            let mut s = pcp();
            (s.base, s.phase) = (110_000.0, Phase::Pause(Time::NEVER));
            for (sent, rtt) in [(100, 105), (150, 110), (sent, 110)] {
                hear(&mut s, sent + rtt, rtt);
            }
            assert!(near(s.queue, queue), "{sent}: {}", s.queue);
            if queue == 0.0 {
                assert_eq!(s.watch.last, (last.0, Span::from_millis(last.1)));
            }
        }
    }

    /// A base of nothing fails at its least increase, a packet per RTT, and goes on at once: the
    /// time between probes is that of those that have a base.
    #[test]
    fn without_a_base_failures_do_not_back_off() {
        let mut s = pcp();
        (s.base, s.increase) = (0.0, 10_000.0);
        s.verdict(ms(1000), false);
        assert_eq!((s.increase, s.interval), (10_000.0, 1.0));
    }

    /// Delays that lie on a line have no error, and nothing is drawn; those about a line are tried
    /// by chance only where the error over the whole probe is more than the resolution, 1 ms here.
    #[test]
    fn only_an_error_that_shows_is_left_to_chance() {
        // x from the first packet in s, y in ms. On lines: 0.5 ms in 0.1 s, and 2 ms.
        let cases = [
            ([0.0, 0.25, 0.5], true, false),
            ([0.0, 1.0, 2.0], false, false),
            // Means 0.5 ms off the line: a slope of 0.5 ms in 0.1 s, its error 0.0087 by 0.1 s.
            ([0.0, 1.0, 0.5], true, false),
            ([0.0, 5.0, 0.5], true, true),
        ];
        for (delays, accepted, drawn) in cases {
            let params = PcpParams { resolution: Span::from_millis(1), ..PcpParams::default() };
            let mut s = Pcp::new(&params, &sender_context(1.0));
            for (i, delay) in (0..).zip(delays) {
                s.delays.add(ms(50 * i), Span::from_millis(100) + Span::from_secs_f64(delay / 1e3));
            }
            let mut untouched = s.stream.clone();
            let found = s.accepts();
            assert_eq!(s.stream.bits() != untouched.bits(), drawn, "{delays:?}");
            assert!(drawn || found == accepted, "{delays:?}");
        }
    }

    /// The last packet of a probe may come back first: the others are still on their way.
    #[test]
    fn a_probe_is_not_over_with_its_last_packet() {
        let mut s = pcp();
        (s.base, s.increase) = (100_000.0, 64_000.0);
        s.plan();
        for i in 0..5 {
            send(&mut s, 200 + 9 * i);
        }
        hear(&mut s, 336, 100);
        assert_eq!((s.increase, s.delays.n), (64_000.0, 1.0));
        assert!(matches!(s.phase, Phase::Answer { .. }));
    }
}

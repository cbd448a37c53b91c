//! Slow start, for every window that has one: RFC 5681's, RFC 3742's limited one, RFC 9406's
//! HyStart++, and Hybrid Slow Start with its ACK trains (Ha, Rhee, "Hybrid slow start for
//! high-bandwidth and long-distance networks", PFLDnet 2008), and that of Linux's TCP.
//!
//! Deviations:
//! - D1: windows are counted in packets, real-valued.
//! - D2: RFC 9406 counts acknowledged bytes up to L packets per ACK (section 4.2: 8, no limit for a
//!   sender that paces); so does this, but the other two take an ACK for one packet, as RFC 5681
//!   does.
//! - D3: after the first loss, and after a timeout, slow start is RFC 5681's (RFC 9406 section 4.3
//!   recommends HyStart++ for the initial slow start only). So it is with Hybrid Slow Start.
//! - D4: of Hybrid Slow Start's delay test the samples are the first eight of a round, as the
//!   authors' Linux code has it, and the threshold is the paper's; both tests begin at 16 packets.
//! - D5: Linux's is that of 6.1 with CUBIC. It opens the window by every packet delivered, and as
//!   long as the window is less than twice what was out at most in the last window of data, where
//!   F3 of [`crate::tcp::window`] asks for a full one. The smallest RTT is the transport's, the
//!   time that a burst of the sender's is allowed is always its maximum of 1 ms, and what an ACK
//!   would open beyond ssthresh is dropped.
//! - D6: ns-3's is that of 3.37. A train has to be as long as the smallest RTT, and the RTT to grow
//!   by that, at least 4 ms and at most 1 s; the RTT is the smoothed one. After the first loss it
//!   only opens the window by the packets delivered.

use units::{Span, Time};

use crate::roles::Ack;
use crate::tcp::window_state::{Frame, Round};

choice! {
    /// How the window grows below ssthresh.
    pub enum SlowStartKind {
        /// RFC 5681 section 3.1: one packet per ACK.
        Standard = "standard",
        /// RFC 3742: at most max_ssthresh/2 packets per RTT above max_ssthresh.
        Limited = "limited",
        /// RFC 9406: leaves slow start when the RTT grows.
        Hystart = "hystart",
        /// Ha and Rhee 2008: leaves it when a train of ACKs is half an RTT long, or the RTT grows.
        AckTrain = "ack-train",
        /// Linux 6.1 (tcp_cong.c, tcp_cubic.c): one packet per packet delivered, and both tests.
        Linux = "linux",
        /// ns-3 3.37 (TcpCubic): one packet per packet delivered, and both tests with an RTT in
        /// the place of its fractions.
        Ns3 = "ns-3",
    }
}

/// MIN_RTT_THRESH (RFC 9406 section 4.3).
const MIN_RTT_THRESH: Span = Span::from_millis(4);
/// MAX_RTT_THRESH (section 4.3).
const MAX_RTT_THRESH: Span = Span::from_millis(16);
/// MIN_RTT_DIVISOR (section 4.3).
const MIN_RTT_DIVISOR: u64 = 8;
/// N_RTT_SAMPLE (section 4.3).
const N_RTT_SAMPLE: u32 = 8;
/// CSS_GROWTH_DIVISOR (section 4.3).
const CSS_GROWTH_DIVISOR: f64 = 4.0;
/// CSS_ROUNDS (section 4.3).
const CSS_ROUNDS: u32 = 5;
/// L for a sender that does not pace (section 4.3).
const L: u32 = 8;

/// The most between two ACKs of a train (Ha, Rhee; Linux's hystart_ack_delta_us).
const TRAIN_GAP: Span = Span::from_millis(2);
/// The least RTT growth that counts (Ha, Rhee).
const TRAIN_MIN_THRESH: Span = Span::from_millis(2);
/// It is a sixteenth of the RTT, if that is more.
const TRAIN_DIVISOR: u64 = 16;
/// Windows below it end no slow start [packets] (Linux's hystart_low_window).
const TRAIN_LOW_WINDOW: f64 = 16.0;

/// Slow start's state.
#[derive(Clone, Debug)]
pub enum SlowStart {
    /// RFC 5681.
    Standard,
    /// RFC 3742, with max_ssthresh [packets].
    Limited(f64),
    /// RFC 9406.
    Hystart(Hystart),
    /// Ha and Rhee.
    AckTrain(AckTrain),
    /// Linux 6.1.
    Linux(Linux),
    /// ns-3 3.37.
    Ns3(Ns3),
}

impl SlowStart {
    /// Slow start at the start of a flow; `max_ssthresh` [packets] is RFC 3742's.
    pub fn new(kind: SlowStartKind, max_ssthresh: f64, paced: bool) -> SlowStart {
        match kind {
            SlowStartKind::Standard => SlowStart::Standard,
            SlowStartKind::Limited => SlowStart::Limited(max_ssthresh),
            SlowStartKind::Hystart => SlowStart::Hystart(Hystart::new(paced)),
            SlowStartKind::AckTrain => SlowStart::AckTrain(AckTrain::default()),
            SlowStartKind::Linux => SlowStart::Linux(Linux::new(paced)),
            SlowStartKind::Ns3 => SlowStart::Ns3(Ns3::default()),
        }
    }

    /// May the window grow at an ACK that did not find it full? It takes a copy of the ACK, so that
    /// those who do not ask need none in memory.
    #[cold]
    #[inline(never)]
    pub fn grows_unused(&mut self, ack: Ack<()>, frame: &Frame) -> bool {
        match self {
            SlowStart::Linux(linux) if frame.cwnd < frame.ssthresh => linux.is_used(&ack, frame),
            _ => false,
        }
    }

    /// Does it count an ACK for one packet, however many it acknowledges?
    pub fn counts_acks(&self, frame: &Frame) -> bool {
        match self {
            SlowStart::Standard | SlowStart::Limited(_) | SlowStart::AckTrain(_) => true,
            SlowStart::Hystart(_) => frame.ssthresh < f64::INFINITY,
            SlowStart::Linux(_) | SlowStart::Ns3(_) => false,
        }
    }

    /// Opens the window for an ACK of new data.
    #[inline(always)]
    pub fn on_ack(&mut self, ack: &Ack<()>, frame: &mut Frame) {
        match self {
            // RFC 5681 eq. (2): min(N, SMSS), once per ACK however much it acknowledges.
            SlowStart::Standard => frame.cwnd += 1.0,
            SlowStart::Limited(max_ssthresh) => frame.cwnd += limited(frame.cwnd, *max_ssthresh),
            SlowStart::Hystart(hystart) if frame.ssthresh == f64::INFINITY => {
                let ack = *ack; // a copy to refer to: the others need none in memory
                hystart.on_ack(&ack, frame);
            }
            SlowStart::AckTrain(train) if frame.ssthresh == f64::INFINITY => {
                let ack = *ack;
                train.on_ack(&ack, frame);
            }
            SlowStart::Linux(linux) => {
                let ack = *ack;
                linux.on_ack(&ack, frame);
            }
            SlowStart::Ns3(ns3) => {
                let ack = *ack;
                ns3.on_ack(&ack, frame);
            }
            SlowStart::Hystart(_) | SlowStart::AckTrain(_) => frame.cwnd += 1.0,
        }
    }
}

/// RFC 3742 section 2: 1/K packets per ACK, K = int(cwnd/(0.5 max_ssthresh)), above max_ssthresh.
fn limited(cwnd: f64, max_ssthresh: f64) -> f64 {
    if cwnd <= max_ssthresh {
        return 1.0;
    }
    1.0 / units::math::floor(cwnd / (0.5 * max_ssthresh)).max(1.0)
}

/// RFC 9406's state, by its names.
#[derive(Clone, Debug)]
pub struct Hystart {
    round: Round,
    /// lastRoundMinRTT; `Span(u64::MAX)` is infinity.
    last_min: Span,
    /// currentRoundMinRTT.
    current_min: Span,
    /// cssBaselineMinRtt; infinite outside of conservative slow start.
    css_baseline: Span,
    /// rttSampleCount.
    samples: u32,
    /// Rounds of conservative slow start so far.
    css_rounds: u32,
    css: bool,
    /// L [packets].
    limit: u32,
}

const INFINITY: Span = Span(u64::MAX);

impl Hystart {
    fn new(paced: bool) -> Hystart {
        Hystart {
            round: Round::default(),
            last_min: INFINITY,
            current_min: INFINITY,
            css_baseline: INFINITY,
            samples: 0,
            css_rounds: 0,
            css: false,
            limit: if paced { u32::MAX } else { L },
        }
    }

    /// Section 4.2.
    fn on_ack(&mut self, ack: &Ack<()>, frame: &mut Frame) {
        if self.round.is_over(frame) {
            self.start_round();
            if self.css {
                self.css_rounds += 1;
                if self.css_rounds >= CSS_ROUNDS {
                    frame.ssthresh = frame.cwnd;
                    return;
                }
            }
        }
        let packets = f64::from(ack.acked.min(self.limit));
        frame.cwnd += if self.css { packets / CSS_GROWTH_DIVISOR } else { packets };
        if let Some(rtt) = ack.rtt {
            self.current_min = self.current_min.min(rtt);
            self.samples = self.samples.saturating_add(1);
        }
        if self.samples < N_RTT_SAMPLE {
            return;
        }
        if self.css {
            if self.current_min < self.css_baseline {
                self.css_baseline = INFINITY;
                self.css = false;
            }
        } else if self.has_grown() {
            self.css_baseline = self.current_min;
            self.css = true;
            self.css_rounds = 0;
        }
    }

    fn start_round(&mut self) {
        self.last_min = self.current_min;
        self.current_min = INFINITY;
        self.samples = 0;
    }

    /// currentRoundMinRTT >= lastRoundMinRTT + RttThresh.
    fn has_grown(&self) -> bool {
        if self.current_min == INFINITY || self.last_min == INFINITY {
            return false;
        }
        let eighth = Span(self.last_min.0 / MIN_RTT_DIVISOR);
        let threshold = eighth.clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
        self.current_min.0 >= self.last_min.0.saturating_add(threshold.0)
    }
}

/// Hybrid Slow Start's state.
#[derive(Clone, Debug, Default)]
pub struct AckTrain {
    round: Round,
    /// When the present round and its train began, and the train's last ACK.
    began: Time,
    last: Time,
    /// The smallest RTT of the first samples of this round, and of the round before.
    current: Span,
    before: Span,
    samples: u32,
}

impl AckTrain {
    #[inline(never)]
    fn on_ack(&mut self, ack: &Ack<()>, frame: &mut Frame) {
        frame.cwnd += 1.0;
        if self.round.is_over(frame) {
            (self.began, self.last) = (ack.now, ack.now);
            (self.before, self.current, self.samples) = (self.current, INFINITY, 0);
        }
        let over = self.train_is_long(ack) | self.rtt_has_grown(ack);
        if over && frame.cwnd >= TRAIN_LOW_WINDOW {
            frame.ssthresh = frame.cwnd;
        }
    }

    /// ACKs that follow each other closely, over half of the smallest RTT: the window fills the
    /// path one way.
    fn train_is_long(&mut self, ack: &Ack<()>) -> bool {
        if ack.now.since(self.last) > TRAIN_GAP {
            return false;
        }
        self.last = ack.now;
        ack.min_rtt.is_some_and(|rtt| ack.now.since(self.began).0 >= rtt.0 / 2)
    }

    fn rtt_has_grown(&mut self, ack: &Ack<()>) -> bool {
        if let Some(rtt) = ack.rtt
            && self.samples < N_RTT_SAMPLE
        {
            self.current = self.current.min(rtt);
            self.samples += 1;
        }
        if self.samples < N_RTT_SAMPLE || self.before == INFINITY || self.before == Span::ZERO {
            return false;
        }
        let threshold = Span(self.before.0 / TRAIN_DIVISOR).max(TRAIN_MIN_THRESH);
        self.current.0 >= self.before.0.saturating_add(threshold.0)
    }
}

/// The least and the most RTT growth that counts (Linux's HYSTART_DELAY_MIN, HYSTART_DELAY_MAX).
const LINUX_DELAY: [Span; 2] = [Span::from_millis(4), Span::from_millis(16)];
/// What a burst of the sender's adds to a train (the maximum of hystart_ack_delay).
const LINUX_BURST: Span = Span::from_millis(1);

/// The state of Linux's. Packet numbers are those of the frame modulo 2^32.
#[derive(Clone, Debug)]
pub struct Linux {
    /// max_packets_out, cwnd_usage_seq and is_cwnd_limited: the most that was out in a window of
    /// data, where that ends, and was the window full in it?
    most: u32,
    usage: u32,
    full: bool,
    /// `nxt` at the last ACK.
    nxt: u32,
    /// end_seq, round_start and last_ack.
    end: u32,
    began: Time,
    last: Time,
    /// curr_rtt and sample_cnt.
    current: Span,
    samples: u8,
    paced: bool,
}

/// Is a number beyond another?
fn after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

impl Linux {
    fn new(paced: bool) -> Linux {
        let (began, last, current, samples) = (Time::ZERO, Time::ZERO, INFINITY, 0);
        let (most, usage, full, nxt, end) = (0, 0, false, 0, 0);
        Linux { most, usage, full, nxt, end, began, last, current, samples, paced }
    }

    /// tcp_cwnd_validate at what was sent before this ACK, and tcp_is_cwnd_limited.
    fn is_used(&mut self, ack: &Ack<()>, frame: &Frame) -> bool {
        let nxt = frame.nxt as u32;
        if after(nxt, self.nxt) {
            let una = (frame.una as u32).wrapping_sub(ack.acked);
            let out = nxt.wrapping_sub(una);
            let flight = f64::from(ack.in_flight.saturating_add(ack.delivered));
            let full = flight + 1.0 > frame.cwnd;
            if !after(self.usage, una) || full || !self.full && out > self.most {
                (self.full, self.most, self.usage) = (full, out, nxt);
            }
            self.nxt = nxt;
        }
        self.full || frame.cwnd < 2.0 * f64::from(self.most)
    }

    #[inline(never)]
    fn on_ack(&mut self, ack: &Ack<()>, frame: &mut Frame) {
        if !self.is_used(ack, frame) {
            return;
        }
        if let (Some(rtt), Some(min_rtt)) = (ack.rtt, ack.min_rtt)
            && self.is_over(ack.now, (rtt, min_rtt), frame)
        {
            frame.ssthresh = frame.cwnd;
            return;
        }
        frame.cwnd = (frame.cwnd + f64::from(ack.delivered)).min(frame.ssthresh);
    }

    /// hystart_update: does slow start end?
    fn is_over(&mut self, now: Time, (rtt, min_rtt): (Span, Span), frame: &Frame) -> bool {
        if after(frame.una as u32, self.end) {
            (self.end, self.began, self.last) = (frame.nxt as u32, now, now);
            (self.current, self.samples) = (INFINITY, 0);
        }
        if frame.cwnd < TRAIN_LOW_WINDOW {
            return false;
        }
        let mut over = false;
        if now.since(self.last) <= TRAIN_GAP {
            self.last = now;
            let whole = min_rtt + LINUX_BURST;
            let train = if self.paced { whole } else { Span(whole.0 / 2) };
            over = now.since(self.began) > train;
        }
        self.current = self.current.min(rtt);
        if u32::from(self.samples) < N_RTT_SAMPLE {
            self.samples += 1;
            return over;
        }
        let [low, high] = LINUX_DELAY;
        over || self.current > min_rtt + Span(min_rtt.0 / 8).clamp(low, high)
    }
}

/// The least and the most RTT growth that counts (ns-3's HyStartDelayMin, HyStartDelayMax).
const NS3_DELAY: [Span; 2] = [Span::from_millis(4), Span::from_secs(1)];

/// The state of ns-3's.
#[derive(Clone, Debug)]
pub struct Ns3 {
    /// m_endSeq, m_roundStart and m_lastAck.
    end: u64,
    began: Time,
    last: Time,
    /// m_delayMin, m_currRtt and m_sampleCnt.
    least: Span,
    current: Span,
    samples: u32,
}

impl Default for Ns3 {
    fn default() -> Ns3 {
        let (began, last) = (Time::ZERO, Time::ZERO);
        Ns3 { end: 0, began, last, least: INFINITY, current: INFINITY, samples: 0 }
    }
}

impl Ns3 {
    #[inline(never)]
    fn on_ack(&mut self, ack: &Ack<()>, frame: &mut Frame) {
        if frame.ssthresh == f64::INFINITY {
            let delay = ack.srtt.unwrap_or(INFINITY);
            self.least = self.least.min(delay);
            if frame.cwnd >= TRAIN_LOW_WINDOW && self.is_over(ack.now, delay) {
                frame.ssthresh = frame.cwnd;
                return;
            }
            if frame.una > self.end {
                (self.end, self.began, self.last) = (frame.nxt, ack.now, ack.now);
                (self.current, self.samples) = (INFINITY, 0);
            }
        }
        frame.cwnd += f64::from(ack.delivered);
    }

    /// HystartUpdate.
    fn is_over(&mut self, now: Time, delay: Span) -> bool {
        let mut over = false;
        if now.since(self.last) <= TRAIN_GAP {
            self.last = now;
            over = now.since(self.began) > self.least;
        }
        if self.samples < N_RTT_SAMPLE {
            self.current = self.current.min(delay);
            self.samples += 1;
            return over;
        }
        let [low, high] = NS3_DELAY;
        over || self.current.0 > self.least.0.saturating_add(self.least.clamp(low, high).0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ack, ms, near};

    /// Linux: nine packets of a window of ten are out, and each ACK is of two: 12, 14, 16 and 18,
    /// which is twice nine. Of five nothing; of ten, a full window, all.
    #[test]
    fn linux_grows_to_twice_what_was_out() {
        for (out, windows) in [
            (5, &[10.0, 10.0, 10.0][..]),
            (6, &[12.0, 12.0, 12.0]),
            (9, &[12.0, 14.0, 16.0, 18.0, 18.0]),
            (10, &[12.0, 14.0, 16.0, 18.0, 20.0]),
        ] {
            let mut slow_start = SlowStart::new(SlowStartKind::Linux, 0.0, false);
            let mut frame = Frame { nxt: out, ..frame(10.0) };
            for &window in windows {
                let acked = (out - frame.una).min(2) as u32;
                frame.una += u64::from(acked);
                let ack = Ack { in_flight: (out - frame.una) as u32, ..ack(acked) };
                let used = f64::from(ack.in_flight + acked) + 1.0 > frame.cwnd;
                if used || slow_start.grows_unused(ack, &frame) {
                    slow_start.on_ack(&ack, &mut frame);
                }
                assert_eq!(frame.cwnd, window, "{out}");
            }
        }
    }

    /// ns-3, RTT 50 ms: the ACK at 1 s begins a round, from 17 packets on. With one per millisecond
    /// the train is longer than an RTT at 1.051 s, 50 packets later; with one per 3 ms there is
    /// none, and the ninth sample above twice the RTT ends it, after eight packets more.
    #[test]
    fn ns3_has_a_whole_rtt() {
        for (gap, srtt, ended) in
            [(1, 50, Some((51, 67.0))), (3, 101, Some((9, 25.0))), (3, 100, None)]
        {
            let mut slow_start = SlowStart::new(SlowStartKind::Ns3, 0.0, false);
            let mut frame = Frame { nxt: 1000, ..frame(16.0) };
            let mut acked = |i: u64, srtt| {
                frame.una += 1;
                let srtt = Some(Span::from_millis(srtt));
                slow_start.on_ack(&Ack { now: ms(1000 + gap * i), srtt, ..ack(1) }, &mut frame);
                (frame.ssthresh, frame.cwnd)
            };
            assert_eq!(acked(0, 50), (f64::INFINITY, 17.0));
            let found = (1..60).find_map(|i| {
                let (ssthresh, cwnd) = acked(i, srtt);
                (ssthresh < f64::INFINITY).then_some((i, cwnd))
            });
            assert_eq!(found, ended, "{gap} {srtt}");
        }
    }

    /// Linux: with 200 ms before, the ninth RTT sample of a round ends slow start if all nine are
    /// above 200 + min(max(200/8, 4), 16) = 216 ms, with 80 ms above 80 + 80/8 = 90; before the
    /// window grows.
    #[test]
    fn linux_ends_slow_start_at_the_ninth_late_sample() {
        for (before, rtt, ended) in [
            (200, 216, None),
            (200, 217, Some((9, 36.0))),
            (80, 90, None),
            (80, 91, Some((9, 36.0))),
        ] {
            let mut slow_start = SlowStart::new(SlowStartKind::Linux, 0.0, false);
            let mut frame = Frame { una: 10, nxt: 30, ..frame(10.0) };
            let min_rtt = Some(Span::from_millis(before));
            let early = Ack { in_flight: 20, rtt: min_rtt, min_rtt, ..ack(10) };
            slow_start.on_ack(&early, &mut frame);
            assert_eq!(frame.cwnd, 20.0);
            (frame.una, frame.nxt) = (28, 60);
            let mut seen = None;
            for count in 1..=10 {
                frame.una += 2;
                frame.una += u64::from(count == 1); // beyond the end of the round before
                let (now, rtt) = (ms(1000 + 3 * count), Some(Span::from_millis(rtt)));
                let ack = Ack { now, in_flight: 40, rtt, min_rtt, ..ack(2) };
                slow_start.on_ack(&ack, &mut frame);
                if frame.ssthresh < f64::INFINITY && seen.is_none() {
                    seen = Some((count, frame.ssthresh));
                }
            }
            assert_eq!(seen, ended, "{rtt}");
        }
    }

    /// Linux: ACKs 2 ms apart, the smallest RTT 100 ms: a train is too long beyond (100 + 1)/2 ms,
    /// with pacing beyond 101 ms, at which it is not with ACKs 1 ms apart.
    #[test]
    fn linux_measures_trains_of_acks() {
        for (paced, gap, over) in [(false, 2, 52), (true, 2, 102), (true, 1, 102)] {
            let mut slow_start = SlowStart::new(SlowStartKind::Linux, 0.0, paced);
            let mut frame = Frame { nxt: 1000, ..frame(20.0) };
            let rtt = Some(Span::from_millis(100));
            let ends = (0..200).find(|count| {
                frame.una += 1;
                let ack = Ack { now: ms(1000 + gap * count), rtt, min_rtt: rtt, ..ack(1) };
                slow_start.on_ack(&ack, &mut frame);
                frame.ssthresh < f64::INFINITY
            });
            assert_eq!(ends.map(|count| gap * count), Some(over));
        }
    }

    /// ACKs `gap` apart from a round's begin on, the smallest RTT being 100 ms: a train of 50 ms
    /// ends slow start, where gaps are 2 ms at most and the window has 16 packets.
    #[test]
    fn a_train_of_half_an_rtt_ends_slow_start() {
        let end = |gap: u64, from: f64| {
            let mut slow_start = SlowStart::new(SlowStartKind::AckTrain, 0.0, false);
            let mut frame = frame(from);
            let min_rtt = Some(Span::from_millis(100));
            for i in 0..100 {
                frame.una += 1;
                frame.nxt = frame.una.max(1000);
                let ack = Ack { now: ms(1000 + gap * i), min_rtt, rtt: min_rtt, ..ack(1) };
                slow_start.on_ack(&ack, &mut frame);
                if frame.ssthresh < f64::INFINITY {
                    return Some((i * gap, frame.ssthresh));
                }
            }
            None
        };
        assert_eq!(end(1, 20.0), Some((50, 71.0)));
        assert_eq!(end(2, 20.0), Some((50, 46.0)));
        assert_eq!(end(3, 20.0), None);
        // From 1 packet on the window is 16 at the fifteenth ACK, long before.
        assert_eq!(end(1, 1.0), Some((50, 52.0)));
    }

    /// 100 ms before: a sixteenth is 6.25 ms; 20 ms: 2 ms, not 1.25.
    #[test]
    fn the_hybrid_delay_test_is_a_sixteenth_or_2_ms() {
        for (before, fine, grown) in [(100, 106, 107), (20, 21, 22)] {
            for (rtt, over) in [(fine, false), (grown, true)] {
                let mut slow_start = SlowStart::new(SlowStartKind::AckTrain, 0.0, false);
                let mut frame = frame(20.0);
                for rtt in [before, before, rtt] {
                    round(&mut slow_start, &mut frame, 10, rtt);
                }
                assert_eq!(frame.ssthresh < f64::INFINITY, over, "{before} {rtt}");
            }
        }
    }

    /// tcp_is_cwnd_limited: ten packets in flight fill a window of ten, nine do not.
    #[test]
    fn linux_counts_a_window_as_full_at_its_last_packet() {
        for (flight, full) in [(9, false), (10, true)] {
            let mut linux = Linux::new(false);
            let frame = Frame { nxt: u64::from(flight), ..frame(10.0) };
            linux.is_used(&Ack { in_flight: flight - 1, ..ack(1) }, &frame);
            assert_eq!(linux.full, full);
        }
    }

    /// Eight samples of 120 ms after 100 ms are growth; a ninth of 100 ms takes none of it back.
    #[test]
    fn the_hybrid_delay_test_takes_eight_samples() {
        let before = Span::from_millis(100);
        let mut train = AckTrain { before, current: INFINITY, ..AckTrain::default() };
        let sample = |rtt| Ack { rtt: Some(Span::from_millis(rtt)), ..ack(1) };
        for count in 1..=8 {
            assert_eq!(train.rtt_has_grown(&sample(120)), count == 8);
        }
        assert!(train.rtt_has_grown(&sample(100)));
    }

    fn frame(cwnd: f64) -> Frame {
        Frame { cwnd, ..Frame::new(1.0) }
    }

    /// RFC 3742 section 2 with max_ssthresh = 100: below and at it 1 per ACK; at 101 K =
    /// int(2.02) = 2, at 149 K = 2, at 150 K = 3, at 200 K = 4, at 1000 K = 20.
    #[test]
    fn limited_slow_start_adds_fifty_packets_per_window() {
        let cases =
            [(2.0, 1.0), (100.0, 1.0), (101.0, 2.0), (149.0, 2.0), (150.0, 3.0), (1000.0, 20.0)];
        for (cwnd, k) in cases {
            assert!(near(limited(cwnd, 100.0), 1.0 / k), "{cwnd}");
            let mut frame = frame(cwnd);
            SlowStart::new(SlowStartKind::Limited, 100.0, false).on_ack(&ack(1), &mut frame);
            assert!(near(frame.cwnd, cwnd + 1.0 / k), "{cwnd}");
        }
    }

    /// `count` ACKs whose RTT is `rtt` ms, with 10 packets out after each: ten of them are a round.
    fn round(slow_start: &mut SlowStart, frame: &mut Frame, count: u64, rtt: u64) {
        for _ in 0..count {
            frame.una += 1;
            frame.nxt = frame.una + 10;
            let rtt = Some(Span::from_millis(rtt));
            slow_start.on_ack(&Ack { now: ms(0), rtt, ..ack(1) }, frame);
        }
    }

    fn in_css(slow_start: &SlowStart) -> bool {
        matches!(slow_start, SlowStart::Hystart(hystart) if hystart.css)
    }

    /// With a minimum of 100 ms in the round before, RttThresh = 100/8 = 12.5 ms: 112 ms pass, 113
    /// ms do not. With 16 ms it is 4 ms (not 2), with 800 ms 16 ms (not 100).
    #[test]
    fn the_threshold_is_an_eighth_of_the_rtt_between_4_and_16_ms() {
        for (before, fine, grown) in [(100, 112, 113), (16, 19, 20), (800, 815, 816)] {
            for (rtt, css) in [(fine, false), (grown, true)] {
                let mut slow_start = SlowStart::new(SlowStartKind::Hystart, 0.0, false);
                let mut frame = frame(10.0);
                round(&mut slow_start, &mut frame, 10, before);
                round(&mut slow_start, &mut frame, 10, before);
                round(&mut slow_start, &mut frame, 10, rtt);
                assert_eq!(in_css(&slow_start), css, "{before} {rtt}");
            }
        }
    }

    /// Eight samples are needed.
    #[test]
    fn seven_samples_tell_nothing() {
        for (count, css) in [(7, false), (8, true)] {
            let mut slow_start = SlowStart::new(SlowStartKind::Hystart, 0.0, false);
            let mut frame = frame(10.0);
            round(&mut slow_start, &mut frame, 10, 50);
            round(&mut slow_start, &mut frame, 10, 50);
            round(&mut slow_start, &mut frame, count, 100);
            assert_eq!(in_css(&slow_start), css, "{count}");
        }
    }

    /// Conservative slow start adds a quarter per packet; after five rounds, the one that it
    /// began in included, ssthresh is the window.
    #[test]
    fn five_conservative_rounds_end_slow_start() {
        let mut slow_start = SlowStart::new(SlowStartKind::Hystart, 0.0, false);
        let mut frame = frame(10.0);
        for rtt in [50, 50, 100] {
            round(&mut slow_start, &mut frame, 10, rtt);
        }
        // 10 + 10 + 10 + 8 in full, 2 quarters.
        assert!(near(frame.cwnd, 10.0 + 28.0 + 0.5), "{}", frame.cwnd);
        for _ in 0..4 {
            round(&mut slow_start, &mut frame, 10, 100);
            assert_eq!(frame.ssthresh, f64::INFINITY);
        }
        assert!(near(frame.cwnd, 48.5), "{}", frame.cwnd);
        round(&mut slow_start, &mut frame, 1, 100);
        assert_eq!(frame.ssthresh, frame.cwnd);
        assert!(near(frame.cwnd, 48.5));
    }

    /// A round whose smallest RTT is below the baseline takes it back.
    #[test]
    fn a_spike_does_not_end_slow_start() {
        let mut slow_start = SlowStart::new(SlowStartKind::Hystart, 0.0, false);
        let mut frame = frame(10.0);
        for rtt in [50, 50, 100] {
            round(&mut slow_start, &mut frame, 10, rtt);
        }
        assert!(in_css(&slow_start));
        round(&mut slow_start, &mut frame, 10, 99);
        assert!(!in_css(&slow_start));
    }

    /// L = 8 packets per ACK, without limit when pacing; after a loss it is RFC 5681's.
    #[test]
    fn an_ack_opens_the_window_by_eight_packets_at_most() {
        for (paced, grows) in [(false, 8.0), (true, 20.0)] {
            let mut slow_start = SlowStart::new(SlowStartKind::Hystart, 0.0, paced);
            let mut window = frame(30.0);
            slow_start.on_ack(&ack(20), &mut window);
            assert_eq!(window.cwnd, 30.0 + grows);
            window.ssthresh = 100.0;
            slow_start.on_ack(&ack(20), &mut window);
            assert_eq!(window.cwnd, 31.0 + grows);
        }
    }

    /// RFC 9406 section 4.2: without a minimum of the round before there is nothing to compare
    /// with, whatever the RTT.
    #[test]
    fn the_first_round_cannot_end_slow_start() {
        let mut slow_start = SlowStart::new(SlowStartKind::Hystart, 0.0, false);
        let mut frame = frame(10.0);
        // The ACK of packet 1 is a round of its own, without eight samples.
        round(&mut slow_start, &mut frame, 1, 500);
        assert!(!in_css(&slow_start));
        let SlowStart::Hystart(hystart) = &mut slow_start else { panic!("it is HyStart++") };
        hystart.last_min = INFINITY;
        round(&mut slow_start, &mut frame, 10, 1000);
        assert!(!in_css(&slow_start));
    }

    /// RFC 9406 section 4.2: after a spike each packet counts in full again, and the next growth of
    /// the RTT begins conservative slow start anew, with five rounds before it.
    #[test]
    fn slow_start_resumed_is_hystart_again() {
        let mut slow_start = SlowStart::new(SlowStartKind::Hystart, 0.0, false);
        let mut frame = frame(10.0);
        for rtt in [50, 50, 100, 50] {
            round(&mut slow_start, &mut frame, 10, rtt);
        }
        assert!(!in_css(&slow_start));
        let before = frame.cwnd;
        round(&mut slow_start, &mut frame, 7, 100);
        assert!(near(frame.cwnd, before + 7.0));
        round(&mut slow_start, &mut frame, 3, 100);
        assert!(in_css(&slow_start));
        round(&mut slow_start, &mut frame, 40, 100);
        assert_eq!(frame.ssthresh, f64::INFINITY);
        round(&mut slow_start, &mut frame, 1, 100);
        assert_eq!(frame.ssthresh, frame.cwnd);
    }

    /// Linux's `after`, in numbers modulo 2^32: a number is not beyond itself.
    #[test]
    fn a_number_is_beyond_smaller_ones() {
        assert!(after(1, 0) && !after(0, 1) && !after(7, 7));
        assert!(after(3, u32::MAX) && !after(u32::MAX, 3));
    }

    /// tcp_is_cwnd_limited asks for twice what was out in slow start alone: nine of ten packets let
    /// a window grow below ssthresh, and not at it; the others never do.
    #[test]
    fn linux_lets_an_unused_window_grow_below_ssthresh() {
        for (kind, ssthresh, grows) in [
            (SlowStartKind::Linux, 10.5, true),
            (SlowStartKind::Linux, 10.0, false),
            (SlowStartKind::Standard, 10.5, false),
            (SlowStartKind::Hystart, 10.5, false),
        ] {
            let mut slow_start = SlowStart::new(kind, 0.0, false);
            let frame = Frame { ssthresh, nxt: 9, ..frame(10.0) };
            let ack = Ack { in_flight: 8, ..ack(1) };
            assert_eq!(slow_start.grows_unused(ack, &frame), grows, "{ssthresh}");
        }
    }

    /// RFC 3465's count goes by ACKs where RFC 5681's slow start is at work, and by packets where
    /// HyStart++ (before the first loss), Linux's and ns-3's count them themselves.
    #[test]
    fn who_counts_acks() {
        let counts = |kind, ssthresh| {
            SlowStart::new(kind, 100.0, false).counts_acks(&Frame { ssthresh, ..frame(10.0) })
        };
        for (kind, first, later) in [
            (SlowStartKind::Standard, true, true),
            (SlowStartKind::Limited, true, true),
            (SlowStartKind::AckTrain, true, true),
            (SlowStartKind::Hystart, false, true),
            (SlowStartKind::Linux, false, false),
            (SlowStartKind::Ns3, false, false),
        ] {
            assert_eq!(
                (counts(kind, f64::INFINITY), counts(kind, 50.0)),
                (first, later),
                "{kind:?}"
            );
        }
    }

    /// Both tests may be met by one ACK: eight of 30 ms where 28 were before, 2 ms apart from the
    /// round's begin, of which the last is 14 ms into it, half of the smallest RTT.
    #[test]
    fn both_of_the_hybrid_tests_may_be_met_at_once() {
        let before = Span::from_millis(28);
        let (began, last) = (ms(1000), ms(1000));
        let mut train = AckTrain { began, last, before, current: INFINITY, ..AckTrain::default() };
        let mut frame = frame(20.0);
        for i in 0..8 {
            assert_eq!(frame.ssthresh, f64::INFINITY, "{i}");
            let (rtt, min_rtt) = (Some(Span::from_millis(30)), Some(before));
            train.on_ack(&Ack { now: ms(1000 + 2 * i), rtt, min_rtt, ..ack(1) }, &mut frame);
        }
        assert_eq!(frame.ssthresh, 28.0);
    }

    /// tcp_cwnd_validate: the most that was out in a window of data is of an earlier packet where
    /// as much is out again, so that the window ends where it did.
    #[test]
    fn linux_keeps_the_end_of_a_window_with_as_much_out() {
        for (most, usage) in [(5, 20), (4, 21)] {
            let mut linux = Linux::new(false);
            (linux.most, linux.usage, linux.nxt) = (most, 20, 20);
            // 21 sent and 16 acknowledged before this ACK: five are out.
            let frame = Frame { una: 17, nxt: 21, ..frame(100.0) };
            linux.is_used(&Ack { in_flight: 4, ..ack(1) }, &frame);
            assert_eq!((linux.most, linux.usage), (5, usage));
        }
    }
}

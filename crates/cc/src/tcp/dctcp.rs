//! DCTCP, data center TCP. RFC 8257, section 3.
//!
//! The switch marks packets as soon as the queue exceeds a threshold, the receiver echoes each
//! mark, and the sender cuts the window in proportion to the share of marked packets in the last
//! windows. The switch is the queue `step`.
//!
//! Each ACK carries back the code of its data packet ([`EcnUse::Codes`]) rather than RFC 3168's
//! ECE, which would stay set until CWR and so tell less than section 3.2's receiver does; with
//! `accecn` in the scenario, what RFC 9768's counters tell.
//!
//! ```math
//! alpha <- (1 - g)*alpha + g*F  once per window, with F its share of marked packets (eq. 1)
//! cwnd <- cwnd*(1 - alpha/2)    at a mark, once per window (eq. 2)
//! ```
//!
//! Deviations: F1 to F3, F5 and F6 of [`crate::tcp::window`], and
//! - D1: with delayed ACKs the receiver of section 3.2 sends an ACK at once when the marks change,
//!   which is `ce_acks = "rfc8257"`. Without it an ACK is marked if any packet that it answers was
//!   marked, so that alpha is too large. Without delayed ACKs both are the same.
//! - D2: the share is of packets, not bytes; ACKs of all packets count, in recovery too.
//! - D3: marks cut the window once per window of data (section 3.3), an ACK with a mark does not
//!   open it, the others do.
//! - D4: a lost packet halves the window as in Reno (section 3.4).
//! - D5: with `cwr` the window comes down to what a mark leaves of it over the next window of data,
//!   in proportion to what arrives, and does not grow meanwhile: the state CWR of Linux and ns-3,
//!   of which the RFC does not speak. With `hold` it comes down at once, and does not grow either.
//! - D6: with `ce_acks = "ns-3"` the ACK of a change tells of nothing new, and counts in the share
//!   as one packet more, marked if the ACK is: so do ns-3 3.37's TcpDctcp, whose m_priorRcvNxt is
//!   of before the packet that waits, and TcpSocketBase::ProcessAck, which has every ACK without
//!   news for that of one packet.
//! - D7: with `update = "linux"` the arithmetic is of integers, as in Linux's tcp_dctcp.c: alpha is
//!   a number of 1024ths, less its 16th (all of it below 16) and more by the 64ths of F, each
//!   rounded down; a mark takes floor(cwnd*alpha/2) packets, and the part of one that the window
//!   had grown by; a window grows by a packet after as many as it has. So a small window with few
//!   marks is held for a round trip where the RFC's shrinks: 10 packets at alpha = 0.19 stay 10.

use units::math::floor;

use crate::roles::{
    Ack, Arrived, CeAcks, Ecn, EcnUse, Feedback, Loss, Receiver, SenderContext, Variable,
};
use crate::tcp::window::{Avoidance, CWND, Frame, Round, SSTHRESH, Window, in_use, window_params};

choice! {
    /// How alpha and the window are reckoned.
    pub enum DctcpUpdate {
        /// By fractions (RFC 8257, section 3.3).
        Rfc8257 = "rfc8257",
        /// In integers, as Linux's tcp_dctcp.c does.
        Linux = "linux",
    }
}

window_params! {
    ecn = |params| EcnUse::Codes(if params.ect1 { Ecn::Ect1 } else { Ecn::Ect0 });
    /// The sender's parameters.
    pub struct DctcpParams {
        /// g, weight of the last window in alpha (section 4.2: 1/16).
        g: f64 = 0.0625 => (1e-4, 1.0);
        /// alpha at the start (section 3.3: 1).
        alpha_0: f64 = 1.0 => (0.0, 1.0);
        /// Do its packets say that they are L4S's, ECT(1) (RFC 9331 section 4.1), rather than
        /// ECT(0)? Over an L4S queue between few flows or in a data centre: it has not all that
        /// RFC 9331 asks of a sender on the Internet.
        ect1: bool = false;
        /// Does a mark bring the window down over a round trip, without growth, as Linux and ns-3
        /// do (CWR), and not at once?
        cwr: bool = false;
        /// Does a window that a mark has cut not grow until what was out then is acknowledged, as
        /// in Linux and ns-3, though it comes down at once?
        hold: bool = false;
        /// With delayed ACKs: what the receiver does when marks begin or end (section 3.2).
        ce_acks: CeAcks = CeAcks::Off;
        /// How alpha and the window are reckoned: by fractions, or in integers as Linux does.
        update: DctcpUpdate = DctcpUpdate::Rfc8257;
    }
}

/// The end host's part.
pub type DctcpSender = Window<Dctcp>;

/// The other end: an ACK is marked if what it answers was (D1).
#[derive(Clone, Copy, Debug, Default)]
pub struct DctcpReceiver;

impl Receiver for DctcpReceiver {
    type Header = ();

    #[inline]
    fn on_data(&mut self, data: &Arrived<()>) -> Feedback<()> {
        let pending = data.pending.map_or(Ecn::NotCapable, |pending| pending.code);
        Feedback { header: (), code: if pending == Ecn::Ce { Ecn::Ce } else { data.ecn } }
    }
}

/// RFC 8257's state, by its names.
#[derive(Clone, Debug)]
pub struct Dctcp {
    g: f64,
    /// DCTCP.Alpha.
    alpha: f64,
    /// Packets acknowledged in this observation window, and those of them that were marked.
    acked: f64,
    marked: f64,
    window: Round,
    /// Marks up to here belong to a window that was cut.
    cut: u64,
    cwr: bool,
    hold: bool,
    ce_acks: CeAcks,
    /// The window that it comes down to, and by how much per packet; 0 when it does not.
    target: f64,
    fall: f64,
    linux: Option<Counts>,
}

/// With `update = "linux"`.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// Packets that arrived since the window grew (snd_cwnd_cnt).
    grown: u32,
    /// The window at the last mark, and packets that arrived since.
    marked: f64,
    arrived: f64,
}

impl Counts {
    /// tcp_cong_avoid_ai: how many packets a window grows by.
    fn grow(&mut self, w: u32, delivered: u32) -> u32 {
        let full = u32::from(self.grown >= w);
        if full == 1 {
            self.grown = 0;
        }
        self.grown = self.grown.saturating_add(delivered);
        let more = self.grown / w.max(1);
        self.grown -= more * w.max(1);
        full + more
    }
}

/// DCTCP_MAX_ALPHA of Linux: an alpha of 1.
const LINUX_ONE: f64 = 1024.0;

impl Dctcp {
    /// alpha after a window of so many packets, some of them marked.
    fn averaged(&self, marked: f64, acked: f64) -> f64 {
        if self.linux.is_none() {
            return self.alpha + self.g * ((marked / acked).min(1.0) - self.alpha);
        }
        let alpha = LINUX_ONE * self.alpha;
        let less = floor(self.g * alpha);
        let left = if less == 0.0 { 0.0 } else { alpha - less };
        (left + floor(LINUX_ONE * self.g * marked / acked)).min(LINUX_ONE) / LINUX_ONE
    }

    /// What a mark leaves of a window.
    fn cut_to(&self, cwnd: f64) -> f64 {
        let left = match self.linux {
            None => cwnd * (1.0 - self.alpha / 2.0),
            Some(_) => cwnd - floor(cwnd * self.alpha / 2.0),
        };
        left.max(cwnd.min(2.0))
    }

    /// The window on its way down, when so many packets have arrived.
    fn down(&mut self, cwnd: f64, delivered: u32) -> f64 {
        let down = match &mut self.linux {
            None => cwnd - self.fall * f64::from(delivered),
            Some(counts) => {
                counts.arrived += f64::from(delivered);
                counts.marked
                    - floor((counts.marked - self.target) * counts.arrived / counts.marked)
            }
        };
        down.max(self.target)
    }
}

impl Avoidance for Dctcp {
    type Params = DctcpParams;
    type Receiver = DctcpReceiver;

    const VARIABLES: &'static [Variable] =
        &[CWND, SSTHRESH, Variable::new("alpha", "", "estimated share of marked packets")];

    fn new(params: &DctcpParams, _: &SenderContext) -> Dctcp {
        let linux = params.update == DctcpUpdate::Linux;
        Dctcp {
            g: params.g,
            alpha: if linux {
                floor(LINUX_ONE * params.alpha_0) / LINUX_ONE
            } else {
                params.alpha_0
            },
            acked: 0.0,
            marked: 0.0,
            window: Round::default(),
            cut: 0,
            cwr: params.cwr,
            hold: params.hold,
            ce_acks: params.ce_acks,
            target: 0.0,
            fall: 0.0,
            linux: linux.then(Counts::default),
        }
    }

    fn ce_acks(&self) -> CeAcks {
        self.ce_acks
    }

    fn measure(&mut self, ack: &Ack<()>, frame: &mut Frame) {
        let marked = ack.code == Ecn::Ce;
        self.acked += f64::from(ack.delivered);
        self.marked += f64::from(ack.marks);
        if ack.delivered == 0 {
            self.acked += 1.0;
            self.marked += if marked { 1.0 } else { 0.0 };
            return;
        }
        if self.window.is_over(frame) && self.acked > 0.0 {
            self.alpha = self.averaged(self.marked, self.acked);
            (self.acked, self.marked) = (0.0, 0.0);
        }
        if self.target > 0.0 {
            let over = frame.una > self.cut;
            frame.cwnd = if over { self.target } else { self.down(frame.cwnd, ack.delivered) };
            self.target = if over { 0.0 } else { self.target };
        }
        if marked && !ack.recovering && frame.una > self.cut {
            if let Some(counts) = &mut self.linux {
                frame.cwnd = floor(frame.cwnd);
                *counts = Counts { grown: 0, marked: frame.cwnd, arrived: 0.0 };
            }
            let left = self.cut_to(frame.cwnd);
            if self.cwr {
                (self.target, self.fall) = (left, 1.0 - left / frame.cwnd);
            } else {
                frame.cwnd = left;
            }
            frame.ssthresh = left.max(2.0);
            self.cut = frame.nxt;
        }
    }

    fn increase(&mut self, ack: &Ack<()>, frame: &Frame) -> f64 {
        let held = self.target > 0.0 || self.hold && frame.una <= self.cut;
        if ack.code == Ecn::Ce || held {
            return 0.0;
        }
        match &mut self.linux {
            None => 1.0 / frame.cwnd,
            Some(counts) => f64::from(counts.grow(frame.cwnd as u32, ack.delivered)),
        }
    }

    fn decrease(&mut self, loss: &Loss, frame: &Frame) -> f64 {
        (self.cut, self.target) = (frame.nxt, 0.0);
        let half = in_use(frame.cwnd, loss) / 2.0;
        let Some(counts) = &mut self.linux else {
            return half;
        };
        // tcp_init_cwnd_reduction and tcp_enter_loss: snd_cwnd_cnt = 0.
        counts.grown = 0;
        floor(half)
    }

    /// The window is below what it was to come down to, and stays there.
    fn restart(&mut self) {
        self.target = 0.0;
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("alpha", self.alpha);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Value;
    use crate::roles::{Idle, Sender};
    use crate::tests::{ack, avoiding, lost, near, round_trip};

    fn marked() -> Ack<()> {
        Ack { code: Ecn::Ce, marks: 1, ..ack(1) }
    }

    fn plain() -> Ack<()> {
        Ack { code: Ecn::Ect0, ..ack(1) }
    }

    /// alpha = (1 - g) alpha + g F: from 0 with F = 1/4 and g = 1/16 it is 1/64, then 15/16/64 +
    /// 1/64 = 0.0302734375.
    #[test]
    fn alpha_averages_the_share_of_marks() {
        let mut window = avoiding::<Dctcp>(8.0, &[("alpha_0", Value::Number(0.0))]);
        // The first ACK of all is a window of its own.
        window.frame.nxt = 8;
        window.on_ack(&plain());
        for alpha in [0.015_625, 0.030_273_437_5] {
            window.frame.nxt = window.frame.una + 8;
            window.avoidance.window = Round::default();
            assert!(window.avoidance.window.is_over(&window.frame));
            for i in 0..8 {
                window.on_ack(&if i < 2 { marked() } else { plain() });
            }
            assert!(near(window.avoidance.alpha, alpha), "{}", window.avoidance.alpha);
        }
    }

    /// 100 packets, alpha 1/2: a mark leaves 75. The 100 that were out then open nothing, the next
    /// one 1/75.
    #[test]
    fn a_window_that_is_held_does_not_grow_for_a_round_trip() {
        for (hold, cwnd) in [(true, 75.0), (false, 75.0 + 1.0 / 75.0)] {
            let half = [("alpha_0", Value::Number(0.5)), ("g", Value::Number(1e-4))];
            let set = [half[0], half[1], ("hold", Value::Flag(hold))];
            let mut window = avoiding::<Dctcp>(100.0, &set);
            window.frame.nxt = 100;
            window.on_ack(&marked());
            assert!((window.cwnd() - 75.0).abs() < 1e-2);
            let before = window.cwnd();
            window.on_ack(&Ack { in_flight: 90, ..plain() });
            assert!((window.cwnd() - before - (cwnd - 75.0)).abs() < 1e-5, "{}", window.cwnd());
            window.frame.una = 101;
            let before = window.cwnd();
            window.on_ack(&Ack { in_flight: 90, ..plain() });
            assert!((window.cwnd() - before - 1.0 / before).abs() < 1e-9);
        }
    }

    /// Linux's integers: of alpha = 100/1024 a sixteenth is 6, and 64*3/10 = 19 come on top: 113.
    /// Of 10/1024 nothing is left, as its sixteenth is 0.
    #[test]
    fn linux_averages_in_1024ths() {
        for (alpha, marked, after) in [(100.0, 3, 113.0), (10.0, 0, 0.0), (1020.0, 10, 1021.0)] {
            let set = [("update", Value::Choice("linux"))];
            let mut window = avoiding::<Dctcp>(10.0, &set);
            window.frame.nxt = 10;
            window.on_ack(&plain());
            window.avoidance.alpha = alpha / 1024.0;
            window.frame.nxt = window.frame.una + 10;
            window.avoidance.window = Round::default();
            assert!(window.avoidance.window.is_over(&window.frame));
            (0..10).for_each(|i| window.on_ack(&if i < marked { self::marked() } else { plain() }));
            assert_eq!(window.avoidance.alpha * 1024.0, after);
        }
    }

    /// Linux: of 10.9 packets at alpha = 0.1875 floor(0.9375) = 0 are taken, and the 0.9; of 14
    /// floor(1.3125) = 1, after all 14 have arrived and not before.
    #[test]
    fn linux_takes_whole_packets() {
        let set = [
            ("update", Value::Choice("linux")),
            ("alpha_0", Value::Number(0.1875)),
            ("cwr", Value::Flag(true)),
        ];
        for (cwnd, held, after) in [(10.9, 10, 10.0), (14.0, 14, 13.0)] {
            let mut window = avoiding::<Dctcp>(cwnd, &set);
            (window.frame.una, window.frame.nxt) = (1, 101);
            assert!(window.avoidance.window.is_over(&window.frame));
            window.on_ack(&marked());
            for _ in 1..held {
                window.on_ack(&plain());
                assert_eq!(window.cwnd(), f64::from(held));
            }
            window.on_ack(&plain());
            assert_eq!(window.cwnd(), after);
        }
    }

    /// Linux: a window of 4 is 5 after four ACKs, and not yet 6 after four more; half of 5 is 2,
    /// and what had arrived for the next packet counts no longer: two ACKs more are a packet.
    #[test]
    fn linux_grows_by_whole_packets() {
        let mut window = avoiding::<Dctcp>(4.0, &[("update", Value::Choice("linux"))]);
        for cwnd in [4.0, 4.0, 4.0, 5.0, 5.0, 5.0, 5.0, 5.0] {
            window.on_ack(&plain());
            assert_eq!(window.cwnd(), cwnd);
        }
        window.on_loss(&lost(0, 5));
        for cwnd in [2.0, 2.0, 3.0] {
            assert_eq!(window.cwnd(), cwnd);
            window.on_ack(&plain());
        }
    }

    /// ns-3's ACK without news is one packet: of 3 marked and 45 others, with one such ACK at each
    /// change, 4 of 50 count as marked, so that with g = 1/16 alpha goes from 0 to 0.005.
    #[test]
    fn an_ack_without_news_counts_in_ns3() {
        let mut window = avoiding::<Dctcp>(48.0, &[("alpha_0", Value::Number(0.0))]);
        window.frame.nxt = 48;
        window.on_ack(&plain());
        window.avoidance.window = Round::default();
        window.frame.nxt = window.frame.una + 48;
        assert!(window.avoidance.window.is_over(&window.frame));
        let nothing = |ack: Ack<()>| Ack { delivered: 0, acked: 0, marks: 0, ..ack };
        window.on_ack(&nothing(plain()));
        (0..3).for_each(|_| window.on_ack(&marked()));
        window.on_ack(&nothing(marked()));
        (0..45).for_each(|_| window.on_ack(&plain()));
        assert!(near(window.avoidance.alpha, 0.005), "{}", window.avoidance.alpha);
    }

    /// A mark of the last packet before an idle time leaves 75 of 100 packets; the restart window
    /// is 10, from where slow start opens it by one, and not 75.
    #[test]
    fn an_idle_time_ends_a_cut() {
        let set = [
            ("alpha_0", Value::Number(0.5)),
            ("g", Value::Number(1e-4)),
            ("cwr", Value::Flag(true)),
        ];
        let mut window = avoiding::<Dctcp>(100.0, &set);
        window.frame.nxt = 1;
        window.on_ack(&marked());
        window.on_idle(&Idle { window: 10.0, timeouts: None });
        window.frame.nxt = 100;
        window.on_ack(&plain());
        assert_eq!(window.cwnd(), 11.0);
    }

    /// alpha = 0.5: 100 packets become 75, once per window of data.
    #[test]
    fn marks_cut_once_per_window() {
        let set = [("alpha_0", Value::Number(0.5)), ("g", Value::Number(1e-4))];
        let mut window = avoiding::<Dctcp>(100.0, &set);
        window.frame.nxt = 100;
        for _ in 0..100 {
            window.on_ack(&marked());
            assert!((window.cwnd() - 75.0).abs() < 0.01, "{}", window.cwnd());
        }
        window.frame.nxt = 200;
        window.on_ack(&marked());
        assert!((window.cwnd() - 56.25).abs() < 0.02, "{}", window.cwnd());
    }

    /// CWR: alpha = 0.5 leaves 75 of 100 packets, a quarter less for each of 100 that arrive; it
    /// neither grows nor is cut again before all of them have.
    #[test]
    fn a_cut_comes_down_over_a_window_of_data() {
        let set = [
            ("alpha_0", Value::Number(0.5)),
            ("g", Value::Number(1e-4)),
            ("cwr", Value::Flag(true)),
        ];
        let mut window = avoiding::<Dctcp>(100.0, &set);
        window.frame.nxt = 100;
        window.on_ack(&marked());
        assert!((window.cwnd() - 100.0).abs() < 0.01, "{}", window.cwnd());
        for i in 1..100 {
            window.on_ack(&if i < 50 { marked() } else { plain() });
            let down = 100.0 - 0.25 * f64::from(i);
            assert!((window.cwnd() - down).abs() < 0.02, "{i}: {}", window.cwnd());
        }
        window.on_ack(&plain());
        assert!((window.cwnd() - (75.0 + 1.0 / 75.0)).abs() < 0.02, "{}", window.cwnd());
    }

    #[test]
    fn without_marks_and_at_a_loss_it_is_reno() {
        let mut window = avoiding::<Dctcp>(10.0, &[]);
        round_trip(&mut window, 1, &plain());
        assert!(near(window.cwnd(), 10.1));
        window.on_loss(&lost(0, 10));
        assert!(near(window.cwnd(), 5.05));
        assert_eq!(window.ecn(), EcnUse::Codes(Ecn::Ect0));
    }

    #[test]
    fn an_ack_is_marked_if_any_of_its_packets_was() {
        use units::Time;
        let arrived = |ecn, pending: Option<Ecn>| Arrived {
            now: Time::ZERO,
            seq: 0,
            expected: 1,
            size: 1000,
            header: (),
            ecn,
            pending: pending.map(|code| Feedback { header: (), code }),
        };
        for (ecn, pending, code) in [
            (Ecn::Ce, None, Ecn::Ce),
            (Ecn::Ect0, None, Ecn::Ect0),
            (Ecn::Ect0, Some(Ecn::Ce), Ecn::Ce),
            (Ecn::Ce, Some(Ecn::Ect0), Ecn::Ce),
        ] {
            assert_eq!(DctcpReceiver.on_data(&arrived(ecn, pending)).code, code);
        }
    }

    /// RFC 8257 section 3.3: DCTCP.Alpha starts at 1, so the first mark halves the window.
    #[test]
    fn the_first_mark_halves() {
        let mut window = avoiding::<Dctcp>(100.0, &[]);
        window.frame.nxt = 100;
        window.on_ack(&marked());
        assert_eq!(window.cwnd(), 50.0);
        assert_eq!(DctcpParams::default().alpha_0, 1.0);
    }

    /// RFC 8257 section 4.2: all marked from 0, then none: after n windows 1 - (15/16)^n, then
    /// (15/16)^n of that, which for 400 is 6e-12.
    #[test]
    fn alpha_reaches_both_ends_and_no_further() {
        let mut window = avoiding::<Dctcp>(4.0, &[("alpha_0", Value::Number(0.0))]);
        let mut ahead = 0.0;
        for i in 0..800 {
            window.frame.nxt = window.frame.una + 1;
            window.on_ack(&if i < 400 { marked() } else { plain() });
            let alpha = window.avoidance.alpha;
            assert!((0.0..=1.0).contains(&alpha), "{alpha}");
            ahead = if i == 399 { alpha } else { ahead };
        }
        assert!(1.0 - ahead < 1e-10 && window.avoidance.alpha < 1e-10);
    }

    /// RFC 8257 section 3.5: a timeout leaves one packet, also in a window that was cut already; a
    /// mark in a window that a loss has cut cuts no more.
    #[test]
    fn a_timeout_leaves_one_packet_and_a_loss_counts_for_the_marks() {
        use crate::roles::LossKind;
        let mut window = avoiding::<Dctcp>(100.0, &[]);
        window.frame.nxt = 100;
        window.on_loss(&lost(0, 100));
        assert_eq!(window.cwnd(), 50.0);
        window.on_ack(&marked());
        assert_eq!(window.cwnd(), 50.0);
        window.on_loss(&crate::tests::loss(LossKind::Timeout, 50));
        assert_eq!(window.cwnd(), 1.0);
    }

    /// Unlike RFC 8257 section 3.5: a loss in a window of data that a mark has cut halves again.
    #[test]
    fn a_loss_after_a_mark_cuts_a_second_time() {
        let mut window = avoiding::<Dctcp>(100.0, &[]);
        window.frame.nxt = 100;
        window.on_ack(&marked());
        window.on_loss(&lost(0, 50));
        assert_eq!(window.cwnd(), 25.0);
    }

    /// D2: four packets that SACK delivers count; RFC 8257 section 3.3 step 1 leaves them out. And
    /// the window of data ends with the ACK of its last packet, where step 4 waits for one more.
    #[test]
    fn packets_that_sack_delivers_count() {
        let mut window = avoiding::<Dctcp>(8.0, &[("alpha_0", Value::Number(0.0))]);
        window.frame.nxt = 8;
        window.on_ack(&plain());
        window.on_ack(&Ack { acked: 0, delivered: 4, marks: 4, ..marked() });
        assert_eq!((window.avoidance.acked, window.avoidance.marked), (4.0, 4.0));
        window.on_ack(&Ack { acked: 7, delivered: 4, ..plain() });
        // 4 of 8 marked: alpha = 1/16 * 1/2, at the ACK that reaches 8 = WindowEnd.
        assert!(near(window.avoidance.alpha, 0.031_25));
    }

    /// A window of data whose packets SACK had all delivered in the one before has nothing to
    /// average.
    #[test]
    fn a_window_without_packets_leaves_alpha() {
        let mut window = avoiding::<Dctcp>(8.0, &[("alpha_0", Value::Number(0.5))]);
        window.on_ack(&Ack { acked: 1, delivered: 0, ..plain() });
        assert_eq!(window.avoidance.alpha, 0.5);
    }

    /// A window is cut once for all that was out: with 100 packets out at the first mark, the mark
    /// with the last of them, packet 100, cuts nothing; the next does.
    #[test]
    fn the_last_packet_of_a_cut_window_does_not_cut_again() {
        let set = [("alpha_0", Value::Number(0.5)), ("g", Value::Number(1e-4))];
        let mut window = avoiding::<Dctcp>(100.0, &set);
        window.frame.nxt = 100;
        window.on_ack(&marked());
        let after = window.cwnd();
        assert!((after - 75.0).abs() < 1e-2);
        (window.frame.una, window.frame.nxt) = (99, 175);
        window.on_ack(&marked());
        assert_eq!((window.frame.una, window.cwnd() < after), (100, false));
        window.on_ack(&marked());
        assert!(window.cwnd() < 0.8 * after, "{}", window.cwnd());
    }
}

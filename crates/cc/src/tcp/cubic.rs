//! CUBIC. RFC 9438, section 4.
//!
//! The window is a cubic function of the time since congestion avoidance began: concave up to the
//! window of the last loss, flat there, convex beyond. Where Reno would be faster, an estimate of
//! its window takes over. A loss leaves 0.7.
//!
//! ```math
//! W_cubic = C*(t - K)^3 + W_max                  t seconds into congestion avoidance (eq. 1)
//! K = ((W_max - cwnd_epoch)/C)^(1/3)             (eq. 2)
//! W_est <- W_est + 3*(1 - beta)/(1 + beta)/cwnd  per ACK of a packet: Reno's window (eq. 4)
//! cwnd <- beta*cwnd                              at a loss
//! ```
//!
//! Deviations: F1 to F6 of [`crate::tcp::window`], and
//! - D1: a stage of congestion avoidance begins with the first ACK that opens the window in it;
//!   time while the window is unused does not count (section 5.8).
//! - D2: spurious losses (section 4.9) are undone only where the transport looks for them, which is
//!   with `recovery = "rack"` and `transport.undo`; then also after a timeout, for which the RFC
//!   has RFC 4015's answer.
//! - D3: with `update = "linux"` the window follows the function in whole packets, as Linux's
//!   tcp_cubic.c counts them: an ACK adds the packets that it delivers to a count, a packet more is
//!   allowed for each `cnt` of them, and `cnt` is worked out anew when the window has changed or
//!   after HZ/32. The function is that of integers, the Reno-friendly window takes 15/8 of a
//!   window's ACKs per packet, and before the first loss 20 ACKs are a packet at most. The time is
//!   the simulator's where Linux has jiffies, and section 4.9.2's undo is as without.
//!
//! The form of the 2005 paper is `cubic-2005`.

use units::math::cbrt;
use units::{Span, Time};

use crate::roles::{Ack, Loss, LossKind, SenderContext, Variable};
use crate::tcp::window::{Avoidance, CWND, Frame, Plain, SSTHRESH, Window, in_use, window_params};

choice! {
    /// How the window follows the cubic function.
    pub enum CubicUpdate {
        /// By a fraction of a packet per ACK (RFC 9438, section 4.2).
        Rfc9438 = "rfc9438",
        /// In whole packets, by the counts of Linux's tcp_cubic.c.
        Linux = "linux",
    }
}

window_params! {
    /// The sender's parameters.
    pub struct CubicParams {
        /// C, scale of the cubic function [packets/s^3] (section 5.1).
        c: f64 = 0.4 => (1e-6, 1e6);
        /// beta_cubic, what a loss leaves of the window (section 4.6).
        beta: f64 = 0.7 => (0.1, 0.99);
        /// Fast convergence: a smaller W_max after two losses with ever smaller windows (section
        /// 4.7).
        fast_convergence: bool = true;
        /// The Reno-friendly region (section 4.3).
        tcp_friendly: bool = true;
        /// How the window follows the function: by fractions, or in whole packets as Linux counts.
        update: CubicUpdate = CubicUpdate::Rfc9438;
    }
    presets {
        /// Linux 2.6.22's numbers (net/ipv4/tcp_cubic.c, version 2.1): a loss leaves 819/1024.
        "linux-2-6-22" { beta = Number(0.8) }
    }
}

/// The end host's part.
pub type CubicSender = Window<Cubic>;

/// RFC 9438's state, by its names.
#[derive(Clone, Debug)]
pub struct Cubic {
    params: CubicParams,
    /// alpha_cubic = 3 (1 - beta)/(1 + beta) (section 4.3).
    alpha: f64,
    /// W_max [packets]; 0 before the first loss and after a timeout.
    w_max: f64,
    /// cwnd_prior [packets].
    cwnd_prior: f64,
    /// W_est [packets].
    w_est: f64,
    /// K [s].
    k: f64,
    /// epoch_start; [`Time::NEVER`] until congestion avoidance begins.
    epoch: Time,
    /// The last ACK in the stage.
    last: Time,
    /// With `update = "linux"`.
    counts: Option<Counts>,
}

/// Linux's counts, by its names.
#[derive(Clone, Debug, Default)]
struct Counts {
    cnt: u32,
    ack_cnt: u32,
    tcp_cwnd: u32,
    last_cwnd: u32,
    last_time: Time,
    /// tp->snd_cwnd_cnt.
    cwnd_cnt: u32,
    /// There was no loss to return to when the stage began (last_max_cwnd == 0).
    fresh: bool,
}

impl Counts {
    /// tcp_cong_avoid_ai: how many packets more.
    fn take(&mut self, delivered: u32) -> u32 {
        let w = self.cnt.max(1);
        let early = self.cwnd_cnt >= w;
        let before = if early { 0 } else { self.cwnd_cnt };
        let counted = before.saturating_add(delivered);
        self.cwnd_cnt = counted % w;
        u32::from(early) + counted / w
    }
}

/// HZ/32: for so long an unchanged window keeps its count.
const LINUX_PATIENCE: Span = Span::from_micros(31_250);
/// cnt at most, before the first loss.
const LINUX_FRESH: u32 = 20;

impl Cubic {
    /// bictcp_update and tcp_cong_avoid_ai.
    #[cold]
    #[inline(never)]
    fn count(&mut self, ack: &Ack<()>, cwnd: f64) -> f64 {
        let Some(mut counts) = self.counts.take() else { return 0.0 };
        let w = cwnd as u32;
        counts.ack_cnt = counts.ack_cnt.saturating_add(ack.delivered);
        if counts.last_cwnd != w || ack.now.since(counts.last_time) > LINUX_PATIENCE {
            (counts.last_cwnd, counts.last_time) = (w, ack.now);
            if self.epoch == Time::NEVER {
                counts.fresh = self.w_max == 0.0;
                (counts.ack_cnt, counts.tcp_cwnd) = (ack.delivered, w);
                self.begin(ack.now, f64::from(w));
            }
            let t = (ack.now.since(self.epoch) + ack.min_rtt.unwrap_or(Span::ZERO)).as_secs();
            let delta = units::math::floor((self.w_cubic(t) - self.w_max).abs());
            let target = if t < self.k { self.w_max - delta } else { self.w_max + delta };
            let more = (target as u32).saturating_sub(w);
            counts.cnt = w.checked_div(more).unwrap_or(w.saturating_mul(100));
            if counts.fresh {
                counts.cnt = counts.cnt.min(LINUX_FRESH);
            }
            if self.params.tcp_friendly {
                // Linux's scale: 1/alpha_cubic in eighths.
                let scale = (8.0 / self.alpha) as u32;
                let delta = (w.saturating_mul(scale) / 8).max(1);
                let whole = counts.ack_cnt.saturating_sub(1) / delta;
                counts.ack_cnt -= whole * delta;
                counts.tcp_cwnd = counts.tcp_cwnd.saturating_add(whole);
                let ahead = counts.tcp_cwnd.saturating_sub(w);
                counts.cnt = counts.cnt.min(w.checked_div(ahead).unwrap_or(u32::MAX));
            }
            counts.cnt = counts.cnt.max(2);
        }
        let more = counts.take(ack.delivered);
        self.counts = Some(counts);
        f64::from(more)
    }

    /// The stage begins with a window of `cwnd`: eq. (2), or K = 0 when there was no loss to return
    /// to (section 4.8).
    fn begin(&mut self, now: Time, cwnd: f64) {
        (self.epoch, self.w_est) = (now, cwnd);
        if cwnd >= self.w_max {
            (self.w_max, self.k) = (cwnd, 0.0);
        } else {
            self.k = cbrt((self.w_max - cwnd) / self.params.c);
        }
    }

    /// Eq. (1): W_cubic at `t` seconds into the stage.
    fn w_cubic(&self, t: f64) -> f64 {
        let x = t - self.k;
        self.params.c * x * x * x + self.w_max
    }

    /// Eq. (4): Reno's window after `acked` packets more.
    fn estimate(&mut self, acked: u32, cwnd: f64) {
        let alpha = if self.w_est >= self.cwnd_prior { 1.0 } else { self.alpha };
        self.w_est += alpha * f64::from(acked) / cwnd;
    }
}

impl Avoidance for Cubic {
    type Params = CubicParams;
    type Receiver = Plain;

    const VARIABLES: &'static [Variable] = &[
        CWND,
        SSTHRESH,
        Variable::new("w_max", "pkts", "window where the cubic function is flat"),
        Variable::new("k", "s", "time from the start of the stage to w_max"),
        Variable::new("w_est", "pkts", "window that Reno would have"),
    ];

    fn new(params: &CubicParams, _: &SenderContext) -> Cubic {
        Cubic {
            alpha: 3.0 * (1.0 - params.beta) / (1.0 + params.beta),
            params: params.clone(),
            w_max: 0.0,
            cwnd_prior: 0.0,
            w_est: 0.0,
            k: 0.0,
            epoch: Time::NEVER,
            last: Time::ZERO,
            counts: (params.update == CubicUpdate::Linux).then(Counts::default),
        }
    }

    fn unused(&mut self, ack: &Ack<()>) {
        if self.epoch != Time::NEVER {
            self.epoch = (self.epoch + ack.now.since(self.last)).min(ack.now);
            self.last = ack.now;
        }
    }

    fn increase(&mut self, ack: &Ack<()>, frame: &Frame) -> f64 {
        let cwnd = frame.cwnd;
        if self.counts.is_some() {
            self.last = ack.now;
            return self.count(ack, cwnd);
        }
        if self.epoch == Time::NEVER {
            self.begin(ack.now, cwnd);
        }
        self.last = ack.now;
        let t = ack.now.since(self.epoch).as_secs();
        if self.params.tcp_friendly {
            self.estimate(ack.acked, cwnd);
            if self.w_cubic(t) < self.w_est {
                return (self.w_est - cwnd).max(0.0);
            }
        }
        let rtt = ack.srtt.unwrap_or(Span::ZERO).as_secs();
        let target = self.w_cubic(t + rtt).clamp(cwnd, 1.5 * cwnd); // section 4.2
        (target - cwnd) / cwnd
    }

    fn decrease(&mut self, loss: &Loss, frame: &Frame) -> f64 {
        let w = in_use(frame.cwnd, loss);
        let falls = self.params.fast_convergence && w < self.w_max;
        self.w_max = if falls { w * (1.0 + self.params.beta) / 2.0 } else { w };
        if loss.kind == LossKind::Timeout {
            self.w_max = 0.0; // section 4.8: W_max is the window at the start of the stage
        }
        self.cwnd_prior = w;
        self.epoch = Time::NEVER;
        if let Some(counts) = &mut self.counts {
            if loss.kind == LossKind::Timeout {
                *counts = Counts::default();
            }
            // bictcp_recalc_ssthresh: beta is a number of 1024ths.
            let beta = units::math::floor(1024.0 * self.params.beta + 0.5) / 1024.0;
            return units::math::floor(beta * units::math::floor(w));
        }
        self.params.beta * w
    }

    /// Time in which nothing was out does not count: a new stage.
    fn restart(&mut self) {
        self.epoch = Time::NEVER;
    }

    /// Section 4.9.2: the curve and the estimate go on as if nothing had happened.
    fn undo(&mut self, before: &Cubic) {
        *self = before.clone();
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("w_max", self.w_max);
        sink("k", self.k);
        sink("w_est", self.w_est);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Params, Value};
    use crate::roles::Sender;
    use crate::tests::{avoiding, loss, lost, near, timed};

    /// A window that a loss has brought from 1000 to 700 at 0 s, its stage begun at 1 s.
    fn after_loss() -> CubicSender {
        let mut window = avoiding::<Cubic>(1000.0, &[("tcp_friendly", Value::Flag(false))]);
        window.on_loss(&lost(0, 1000));
        assert_eq!(window.cwnd(), 700.0);
        window.on_ack(&timed(1000, 100, 100));
        window
    }

    /// K = cbrt((1000 - 700)/0.4) = cbrt(750) = 9.085603 s.
    #[test]
    fn k_is_the_time_back_to_the_last_maximum() {
        let window = after_loss();
        assert!((window.avoidance.k - 9.085_603).abs() < 1e-6);
    }

    /// Linux 2.6.22: beta = 819/1024, so 1000 leaves 800 and K = cbrt(200/0.4) = cbrt(500) =
    /// 7.937005 s.
    #[test]
    fn linux_has_another_beta() {
        let preset = CubicParams::presets().iter().find(|p| p.name == "linux-2-6-22").expect("it");
        let mut window = avoiding::<Cubic>(1000.0, preset.values);
        window.on_loss(&lost(0, 1000));
        assert!((window.cwnd() - 819.0 * 1000.0 / 1024.0).abs() < 0.5);
        window.on_ack(&timed(1000, 100, 100));
        assert!((window.avoidance.k - 7.937_005).abs() < 1e-6);
    }

    /// W(0) = 0.4*(-9.085603)^3 + 1000 = 700; W(5) = 0.4*(-4.085603)^3 + 1000 = 972.7209; W(K) =
    /// 1000; W(10) = 0.4*0.914397^3 + 1000 = 1000.3058; W(15) = 0.4*5.914397^3 + 1000 = 1082.7542.
    #[test]
    fn w_cubic_is_eq_1() {
        let window = after_loss();
        for (t, w) in [(0.0, 700.0), (5.0, 972.7209), (10.0, 1000.3058), (15.0, 1082.7542)] {
            let got = window.avoidance.w_cubic(t);
            assert!((got - w).abs() < 1e-3, "{t}: {got}");
        }
        assert!(near(window.avoidance.w_cubic(window.avoidance.k), 1000.0));
    }

    /// The first ACK of the stage: target W(0.1 s) = 0.4*(-8.985603)^3 + 1000 = 709.7971, so
    /// 9.7971/700 = 0.0139959 more. With an RTT of 100 s the target is 1.5 windows: 0.5 more.
    #[test]
    fn an_ack_moves_towards_the_window_an_rtt_later() {
        let window = after_loss();
        assert!((window.cwnd() - 700.013_996).abs() < 1e-5, "{}", window.cwnd());
        let mut window = avoiding::<Cubic>(1000.0, &[("tcp_friendly", Value::Flag(false))]);
        window.on_loss(&lost(0, 1000));
        window.on_ack(&timed(1000, 100_000, 100));
        assert!(near(window.cwnd(), 700.5));
    }

    /// alpha = 3*0.3/1.7 = 0.529412: 7 packets, after a loss at 10, grow by it over 7 until W_est
    /// is 10; then by 1. W_cubic lags: C is small here.
    #[test]
    fn small_windows_follow_renos_estimate() {
        let mut window = avoiding::<Cubic>(10.0, &[("c", Value::Number(1e-6))]);
        window.on_loss(&lost(0, 10));
        window.on_ack(&timed(0, 100, 100));
        assert!((window.cwnd() - (7.0 + 0.529_411_76 / 7.0)).abs() < 1e-7, "{}", window.cwnd());
        window.avoidance.w_est = 10.0;
        window.on_ack(&timed(0, 100, 100));
        assert!((window.cwnd() - (10.0 + 1.0 / 7.075_630)).abs() < 1e-6, "{}", window.cwnd());
    }

    /// A loss at 800 after one at 1000: W_max = 800*1.7/2 = 680.
    #[test]
    fn fast_convergence_lowers_w_max() {
        for (on, w_max) in [(true, 680.0), (false, 800.0)] {
            let mut window = avoiding::<Cubic>(1000.0, &[("fast_convergence", Value::Flag(on))]);
            window.on_loss(&lost(0, 1000));
            window.frame.cwnd = 800.0;
            window.on_loss(&lost(1000, 800));
            assert!(near(window.avoidance.w_max, w_max));
            assert!(near(window.cwnd(), 560.0));
        }
    }

    /// After a timeout K = 0 and W_max is the window at the start of congestion avoidance.
    #[test]
    fn after_a_timeout_it_starts_flat() {
        let mut window = avoiding::<Cubic>(100.0, &[]);
        window.on_loss(&loss(LossKind::Timeout, 100));
        assert_eq!((window.cwnd(), window.frame.ssthresh), (1.0, 70.0));
        window.frame.cwnd = 70.0;
        window.on_ack(&timed(5000, 100, 100));
        assert_eq!((window.avoidance.w_max, window.avoidance.k), (70.0, 0.0));
    }

    /// 4 s without a full window do not count.
    #[test]
    fn time_unused_does_not_count() {
        let mut window = after_loss();
        window.on_ack(&Ack { in_flight: 10, ..timed(5000, 100, 100) });
        assert!(near(window.avoidance.epoch.as_secs(), 5.0));
    }

    /// Section 4.2, lower bound of the target: W(0.1 s) = 709.7971 is below a window of 720.
    #[test]
    fn a_target_below_the_window_leaves_it() {
        let mut window = after_loss();
        window.frame.cwnd = 720.0;
        window.on_ack(&timed(1000, 100, 100));
        assert_eq!(window.cwnd(), 720.0);
    }

    /// Section 4.5: 15 s into the stage W(15.1) = 0.4*6.014397^3 + 1000 = 1087.0234. A window of
    /// 1080, beyond W_max, grows by 7.0234/1080 = 0.0065032.
    #[test]
    fn the_convex_region_has_the_same_increment() {
        let mut window = after_loss();
        window.frame.cwnd = 1080.0;
        window.on_ack(&timed(16_000, 100, 100));
        assert!((window.cwnd() - 1_080.006_503).abs() < 1e-6, "{}", window.cwnd());
    }

    /// Section 4.2: "only at the reception of a new ACK".
    #[test]
    fn an_ack_of_nothing_new_does_not_open_the_window() {
        let mut window = after_loss();
        let before = window.cwnd();
        window.on_ack(&Ack { acked: 0, ..timed(3000, 100, 100) });
        assert_eq!(window.cwnd(), before);
    }

    /// Section 4.6: 0.7 of 100 after a loss and after an echo; of 2.5, 1.75 or 2, whichever is
    /// more.
    #[test]
    fn a_loss_and_an_echo_leave_seven_tenths_and_two_packets() {
        for kind in [LossKind::DupAcks, LossKind::EcnEcho] {
            for (from, to) in [(100.0, 70.0), (2.5, 2.0)] {
                let mut window = avoiding::<Cubic>(from, &[]);
                window.on_loss(&loss(kind, from as u32));
                assert!(near(window.cwnd(), to), "{kind:?}");
                assert!(near(window.frame.ssthresh, to), "{kind:?}");
            }
        }
    }

    /// F4: RFC 9438 section 4.6 would go on to one packet.
    #[test]
    fn echoes_stop_at_two_packets() {
        let mut window = avoiding::<Cubic>(2.0, &[]);
        window.on_loss(&loss(LossKind::EcnEcho, 2));
        assert_eq!(window.cwnd(), 2.0);
    }

    /// F5: 40 of a window of 100 in flight. RFC 9438 has W_max = cwnd_prior = 100, ssthresh = 28.
    #[test]
    fn a_window_left_unused_is_no_maximum() {
        let mut window = avoiding::<Cubic>(100.0, &[]);
        window.on_loss(&lost(0, 40));
        assert!(near(window.frame.ssthresh, 28.0));
        assert_eq!((window.avoidance.w_max, window.avoidance.cwnd_prior), (40.0, 40.0));
    }

    /// Section 4.8: W_est starts at 70, the window, and grows by 0.529412/70 with the first ACK.
    #[test]
    fn after_a_timeout_renos_estimate_starts_at_the_window() {
        let mut window = avoiding::<Cubic>(100.0, &[]);
        window.on_loss(&loss(LossKind::Timeout, 100));
        window.frame.cwnd = 70.0;
        window.on_ack(&timed(5000, 100, 100));
        assert!((window.avoidance.w_est - 70.007_563_0).abs() < 1e-6);
    }

    /// RFC 9438 section 4.9.2: after a loss at 1000 and a second stage, one at 720 is undone:
    /// window, ssthresh, W_max, K, epoch, W_est and cwnd_prior are what they were, and the next ACK
    /// grows the window as it would have: at 6 s by (W(5.1) - 720)/720, W(5.1) =
    /// 0.4*(-3.985603)^3 + 1000 = 974.6758.
    #[test]
    fn a_loss_that_was_none_leaves_the_curve() {
        for kind in [LossKind::DupAcks, LossKind::Timeout] {
            let mut window = after_loss();
            window.frame.cwnd = 720.0;
            let before = window.clone();
            window.on_loss(&loss(kind, 720));
            assert!(window.cwnd() < 720.0 && window.frame.ssthresh < 700.0);
            window.on_undo(&before);
            assert_eq!((window.cwnd(), window.frame.ssthresh), (720.0, 700.0));
            assert_eq!((window.avoidance.w_max, window.avoidance.cwnd_prior), (1000.0, 1000.0));
            window.on_ack(&timed(6000, 100, 100));
            let grown = 720.0 + 254.6758 / 720.0;
            assert!((window.cwnd() - grown).abs() < 1e-6, "{kind:?} {}", window.cwnd());
        }
    }

    /// Linux's counts before any loss, from a window of 7 on: W_cubic stays at 7, so cnt = 20. The
    /// window has HZ/32 = 31 ms of patience, so cnt is worked out at 0, 98, 208 and 319 ms only;
    /// Reno's window needs more than 7*15/8 = 13 ACKs, which the 16th finds, and cnt is 7.
    #[test]
    fn linux_counts_whole_packets() {
        let set = [("update", Value::Choice("linux"))];
        let mut window = avoiding::<Cubic>(7.0, &set);
        let times = [0, 98, 100, 102, 104, 106, 108, 110, 208, 211, 213, 215, 217, 219, 221, 319];
        for (at, count) in times.into_iter().zip(1..) {
            window.on_ack(&timed(at, 100, 100));
            assert_eq!(window.cwnd(), if count < 16 { 7.0 } else { 8.0 }, "{at}");
        }
    }

    /// Linux: 1000 leaves floor(1000*717/1024) = 700, K = 9.085603 s, and an RTT of 0.1 s later
    /// 1000 - floor(0.4*8.985603^3 = 290.2) = 710 is the target: a packet for each 700/10 = 70.
    #[test]
    fn linux_waits_for_a_count_of_acks() {
        let set = [("update", Value::Choice("linux")), ("tcp_friendly", Value::Flag(false))];
        let mut window = avoiding::<Cubic>(1000.0, &set);
        window.on_loss(&lost(0, 1000));
        for count in 1..=70 {
            assert_eq!(window.cwnd(), 700.0, "{count}");
            window.on_ack(&timed(1000, 100, 100));
        }
        assert_eq!(window.cwnd(), 701.0);
    }

    /// The same section: a window that is the larger by now stays as it is, curve and ssthresh with
    /// it.
    #[test]
    fn a_larger_window_is_not_put_back() {
        let mut window = avoiding::<Cubic>(100.0, &[]);
        let before = window.clone();
        window.on_loss(&lost(0, 100));
        window.frame.cwnd = 120.0;
        window.on_undo(&before);
        assert_eq!((window.cwnd(), window.avoidance.w_max), (120.0, 100.0));
        assert!(near(window.frame.ssthresh, 70.0));
    }

    /// Section 4.7: "if cwnd < W_max" lowers the maximum; a second loss at the same window does
    /// not.
    #[test]
    fn a_loss_at_the_same_window_keeps_the_maximum() {
        for (second, w_max) in [(1000.0, 1000.0), (999.0, 849.15)] {
            let mut window = avoiding::<Cubic>(1000.0, &[]);
            window.on_loss(&lost(0, 1000));
            window.frame.cwnd = second;
            window.on_loss(&lost(1000, 1000));
            assert!(near(window.avoidance.w_max, w_max), "{}", window.avoidance.w_max);
        }
    }

    /// tcp_cong_avoid_ai with w = 10: 9 and 1 are one packet; 10 are one at once, and what comes
    /// counts anew; 25 are two, and 5 are left. w = 0 counts as 1.
    #[test]
    fn linux_counts_what_is_left() {
        for (cnt, before, delivered, more, left) in [
            (10, 9, 1, 1, 0),
            (10, 8, 1, 0, 9),
            (10, 10, 1, 1, 1),
            (10, 0, 25, 2, 5),
            (0, 0, 3, 3, 0),
        ] {
            let mut counts = Counts { cnt, cwnd_cnt: before, ..Counts::default() };
            assert_eq!((counts.take(delivered), counts.cwnd_cnt), (more, left), "{before}");
        }
    }

    /// bictcp_recalc_ssthresh and bictcp_reset: a timeout forgets the counts, a loss does not;
    /// 717/1024 of 100 whole packets are 70.
    #[test]
    fn linux_forgets_its_counts_at_a_timeout() {
        for (kind, left) in [(LossKind::DupAcks, 7), (LossKind::Timeout, 0)] {
            let mut window = avoiding::<Cubic>(100.9, &[("update", Value::Choice("linux"))]);
            window.avoidance.counts = Some(Counts { cwnd_cnt: 7, ..Counts::default() });
            window.on_loss(&loss(kind, 100));
            let counts = window.avoidance.counts.as_ref().expect("Linux's");
            assert_eq!((window.frame.ssthresh, counts.cwnd_cnt), (70.0, left));
        }
    }

    /// Linux takes the count of an unchanged window anew after more than HZ/32 = 31.25 ms.
    #[test]
    fn linux_keeps_its_count_for_31_250_us() {
        let mut window = avoiding::<Cubic>(100.0, &[("update", Value::Choice("linux"))]);
        for (at, taken) in [(1_000_000, 1_000_000), (1_031_250, 1_000_000), (1_031_251, 1_031_251)]
        {
            let now = Time::ZERO + Span::from_micros(at);
            window.on_ack(&Ack { now, ..timed(0, 100, 100) });
            let counts = window.avoidance.counts.as_ref().expect("Linux's");
            assert_eq!(counts.last_time, Time::ZERO + Span::from_micros(taken), "{at}");
            assert_eq!(window.cwnd(), 100.0);
        }
    }

    /// At K = 1 s W_cubic is W_max, 12, and five packets of ten bring W_est from 11.5 to 12 as
    /// well: that is no less, so the window follows W_cubic(1.1 s) = 12 + 0.4*0.001.
    #[test]
    fn an_estimate_of_just_w_cubic_does_not_lead() {
        let mut cubic = avoiding::<Cubic>(10.0, &[]).avoidance;
        (cubic.epoch, cubic.k, cubic.w_max) = (Time::ZERO, 1.0, 12.0);
        (cubic.w_est, cubic.cwnd_prior) = (11.5, 11.0);
        let ack = Ack { acked: 5, ..timed(1000, 100, 100) };
        let increase = cubic.increase(&ack, &Frame::new(10.0));
        assert_eq!(cubic.w_est, 12.0);
        assert!(near(increase, 2.0004 / 10.0), "{increase}");
    }
}

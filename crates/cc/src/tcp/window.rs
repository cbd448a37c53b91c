//! What all window-based end hosts share: slow start up to ssthresh, the answer to losses, ECN and
//! pacing. A congestion control says how its window grows above ssthresh and what a loss leaves of
//! it ([`Avoidance`]); [`Window`] makes a sender of that.
//!
//! Deviations of them all:
//! - F1: the window is counted in packets of one size, real-valued, not in bytes.
//! - F2: no window inflation: during recovery `cwnd` stands at ssthresh and the transport decides
//!   what a duplicate ACK lets out (RFC 5681 section 3.2, steps 3 to 5).
//! - F3: the window grows only at an ACK that found it full to the last whole packet, so not while
//!   the application leaves it unused (RFC 7661 section 4 allows growth from half a window on, and
//!   a sender that paces does so; so does Linux's slow start, [`crate::tcp::slow_start`]); it is
//!   kept over an idle time (RFC 5681 section 4.1 restarts from the initial window, RFC 7661 lets
//!   it decay) unless `transport.idle_restart` says otherwise.
//! - F4: on ECE the same reduction as on duplicate ACKs, not below 2 packets unless the window is;
//!   a window of one packet does not wait for the timer (RFC 3168 section 6.1.2 would). The
//!   window falls at once, where Linux takes it down over a round trip (PRR in CWR, here
//!   `transport.echo_prr`).
//! - F5: a loss reduces the window that was in use ([`in_use`]): `cwnd` where it was full,
//!   FlightSize where it was not. RFC 5681 eq. (4) has FlightSize; its reason is a window left
//!   unused. Reno keeps to the letter, which costs it the fraction of a packet, but for the timer
//!   ([`half_flight`]). With `transport.loss_base = "window"` all reduce `cwnd`, as Linux does.
//! - F6: a sender that paces sends at 2 cwnd/srtt while cwnd < ssthresh/2 and at 1.2 cwnd/srtt then
//!   (Linux's factors); before the first RTT sample it does not pace.
//! - F7: an ACK opens the window once, however many packets it acknowledges, as RFC 5681 has it;
//!   with `transport.byte_counting` by those that it delivers (RFC 3465).

use core::fmt;

use units::{Rate, Span};

use crate::params::Params;
use crate::roles::{
    Ack, CeAcks, Departing, Echo, EcnUse, Idle, Loss, LossKind, Receiver, Sender, SenderContext,
    Variable,
};
use crate::tcp::slow_start::{SlowStart, SlowStartKind};
pub use crate::tcp::window_state::{Frame, Round};

/// The pacing rate in windows per srtt, in slow start (Linux's tcp_pacing_ss_ratio).
const PACING_SLOW_START: f64 = 2.0;
/// The same in congestion avoidance (tcp_pacing_ca_ratio).
const PACING_AVOIDANCE: f64 = 1.2;

/// What the parameters of all windows say.
#[derive(Clone, Copy, Debug)]
pub struct Common {
    /// How the window grows below ssthresh.
    pub slow_start: SlowStartKind,
    /// RFC 3742's max_ssthresh [packets].
    pub max_ssthresh: f64,
    /// Does it pace?
    pub paced: bool,
    /// How it uses the ECN bits.
    pub ecn: EcnUse,
}

/// Parameters declared with `window_params!`.
pub trait WindowParams: Params {
    /// The part that all windows share.
    fn common(&self) -> Common;
}

/// As `params!`, with the parameters that all windows share at the end. With `ecn = |params| ...;`
/// in front the use of ECN is that, and not the user's choice of RFC 3168 or none.
macro_rules! window_params {
    (@declare [$($ecn:tt)*] $(#[$meta:meta])* pub struct $name:ident { $($own:tt)* }
        $( presets { $($presets:tt)* } )?
    ) => {
        params! {
            $(#[$meta])*
            pub struct $name {
                $($own)*
                $($ecn)*
                /// How the window grows below ssthresh: RFC 5681, RFC 3742, RFC 9406, Ha and Rhee
                /// 2008, or Linux 6.1.
                slow_start: $crate::tcp::slow_start::SlowStartKind =
                    $crate::tcp::slow_start::SlowStartKind::Standard;
                /// max_ssthresh, from which limited slow start is slower [packets] (RFC 3742).
                max_ssthresh: f64 = 100.0 => (2.0, 1e9);
                /// Does it pace, at 2 (slow start) and 1.2 windows per srtt?
                paced: bool = false;
            }
            $( presets { $($presets)* } )?
        }
    };
    (@common $name:ident, $params:ident => $ecn:expr) => {
        impl $crate::tcp::window::WindowParams for $name {
            fn common(&self) -> $crate::tcp::window::Common {
                let $params = self;
                $crate::tcp::window::Common {
                    slow_start: $params.slow_start,
                    max_ssthresh: $params.max_ssthresh,
                    paced: $params.paced,
                    ecn: $ecn,
                }
            }
        }
    };
    (ecn = |$params:ident| $ecn:expr; $(#[$meta:meta])* pub struct $name:ident { $($own:tt)* }) => {
        window_params! { @declare [] $(#[$meta])* pub struct $name { $($own)* } }
        window_params! { @common $name, $params => $ecn }
    };
    ($(#[$meta:meta])* pub struct $name:ident { $($own:tt)* }
        $( presets { $($presets:tt)* } )?
    ) => {
        window_params! { @declare [
            /// Does it use ECN (RFC 3168)?
            ecn: bool = false;
        ] $(#[$meta])* pub struct $name { $($own)* } $( presets { $($presets)* } )? }
        window_params! { @common $name, params => if params.ecn {
            $crate::roles::EcnUse::Classic
        } else {
            $crate::roles::EcnUse::None
        } }
    };
}
pub(crate) use window_params;

/// The window that a loss reduces [packets]: `cwnd` if what was out filled it, else what was out.
/// ECE comes with an ACK that has taken up to two packets out already.
pub fn in_use(cwnd: f64, loss: &Loss) -> f64 {
    let flight = f64::from(loss.in_flight);
    if flight + 3.0 > cwnd { cwnd } else { flight }
}

/// Half of what a loss found in flight [packets]: RFC 5681 eq. (4), which the caller keeps at 2 or
/// above. The timer may find more in flight than the window, which recovery has reduced already;
/// then half of the window: the loss of a retransmission lowers it once more (section 4.3).
pub fn half_flight(cwnd: f64, loss: &Loss) -> f64 {
    let flight = f64::from(loss.in_flight);
    if loss.kind == LossKind::Timeout { flight.min(cwnd) / 2.0 } else { flight / 2.0 }
}

/// Variables that all windows show.
pub const CWND: Variable = Variable::new("cwnd", "pkts", "congestion window");
/// As [`CWND`].
pub const SSTHRESH: Variable =
    Variable::new("ssthresh", "pkts", "slow-start threshold: below it the window doubles per RTT");

/// A congestion control: how the window grows above ssthresh and what a loss leaves of it.
pub trait Avoidance: Sized {
    /// Its parameters.
    type Params: WindowParams;
    /// The other end's part.
    type Receiver: Receiver<Header = ()>;
    /// [`CWND`], [`SSTHRESH`] and what [`Avoidance::probe`] shows.
    const VARIABLES: &'static [Variable];
    /// Does the window restart from one packet after every loss?
    const RESTARTS: bool = false;

    /// The state at the start of a flow.
    fn new(params: &Self::Params, context: &SenderContext) -> Self;
    /// As [`Sender::ce_acks`].
    fn ce_acks(&self) -> CeAcks {
        CeAcks::Off
    }
    /// Any ACK, before the window grows.
    #[inline]
    fn measure(&mut self, _ack: &Ack<()>, _frame: &mut Frame) {}
    /// An ACK that found the window unused (F3).
    #[inline]
    fn unused(&mut self, _ack: &Ack<()>) {}
    /// By how much an ACK opens the window above ssthresh [packets].
    fn increase(&mut self, ack: &Ack<()>, frame: &Frame) -> f64;
    /// The new ssthresh [packets]; the caller keeps it at 2 or above. Not asked at a timeout that
    /// backs off (RFC 5681 section 3.1).
    fn decrease(&mut self, loss: &Loss, frame: &Frame) -> f64;
    /// The window starts again after an idle time ([`Sender::on_idle`]).
    fn restart(&mut self) {}
    /// As [`Sender::on_undo`], where the window was the larger before.
    fn undo(&mut self, _before: &Self) {}
    /// Its own variables, besides `cwnd` and `ssthresh`.
    fn probe(&self, _sink: &mut impl FnMut(&'static str, f64)) {}
    /// As [`Sender::describe`].
    fn describe(&self, _frame: &Frame, _out: &mut dyn fmt::Write) -> fmt::Result {
        Ok(())
    }
}

/// A sender with the congestion control `A`.
#[derive(Clone, Debug)]
pub struct Window<A> {
    pub(crate) frame: Frame,
    pub(crate) avoidance: A,
    slow_start: SlowStart,
    pacer: Option<Pacer>,
    ecn: EcnUse,
    /// [`SenderContext::counting`].
    counting: u32,
}

/// F6's state.
#[derive(Clone, Debug)]
struct Pacer {
    packet_bits: f64,
    /// Zero before the first RTT sample.
    srtt: Span,
}

impl Pacer {
    fn rate(&self, frame: &Frame) -> Option<Rate> {
        if self.srtt == Span::ZERO {
            return None;
        }
        let in_slow_start = frame.cwnd < frame.ssthresh / 2.0;
        let gain = if in_slow_start { PACING_SLOW_START } else { PACING_AVOIDANCE };
        // The cast saturates.
        Some(Rate(((gain * frame.cwnd * self.packet_bits / self.srtt.as_secs()) as u64).max(1)))
    }
}

impl<A: Avoidance> Window<A> {
    /// F3: was the flight that this ACK found within a packet of the window? With pacing: half of
    /// it.
    #[inline]
    fn is_used(&self, ack: &Ack<()>) -> bool {
        let flight = f64::from(ack.in_flight.saturating_add(ack.delivered));
        if self.pacer.is_some() {
            return 2.0 * flight >= self.frame.cwnd;
        }
        flight + 1.0 > self.frame.cwnd
    }

    /// RFC 3465: in slow start (section 2.2) up to L packets of an ACK open the window, above
    /// ssthresh (section 2.1) all. What counts is packets that are news, as in Linux: those of
    /// which SACK has told before do not count again with the cumulative number.
    #[cold]
    #[inline(never)]
    fn count_packets(&mut self, ack: Ack<()>) {
        let Frame { cwnd, ssthresh, .. } = self.frame;
        if cwnd < ssthresh {
            let again = self.slow_start.counts_acks(&self.frame);
            self.slow_start.on_ack(&ack, &mut self.frame);
            if again {
                let more = ack.delivered.min(self.counting) - 1;
                self.frame.cwnd += f64::from(more) * (self.frame.cwnd - cwnd);
            }
            return;
        }
        let one = Ack { delivered: 1, acked: 1, ..ack };
        for _ in 0..ack.delivered {
            let increase = self.avoidance.increase(&one, &self.frame);
            self.frame.cwnd = (self.frame.cwnd + increase).max(1.0);
        }
    }
}

impl<A: Avoidance> Sender for Window<A> {
    type Params = A::Params;
    type Header = ();
    type Receiver = A::Receiver;

    const STEADY: bool = true;
    const REDUCES: bool = true;

    fn new(params: &A::Params, context: &SenderContext) -> Window<A> {
        let Common { slow_start, max_ssthresh, paced, ecn } = params.common();
        let packet_bits = 8.0 * f64::from(context.packet_bytes);
        Window {
            frame: Frame::new(context.initial_window),
            avoidance: A::new(params, context),
            slow_start: SlowStart::new(slow_start, max_ssthresh, paced),
            pacer: paced.then_some(Pacer { packet_bits, srtt: Span::ZERO }),
            ecn,
            counting: context.counting,
        }
    }

    fn ecn(&self) -> EcnUse {
        self.ecn
    }

    /// DCTCP's too.
    fn counts_marks(&self) -> bool {
        self.ecn != EcnUse::None
    }

    fn ce_acks(&self) -> CeAcks {
        self.avoidance.ce_acks()
    }

    #[inline]
    fn on_send(&mut self, segment: &Departing) {
        self.frame.nxt = self.frame.nxt.max(segment.seq.saturating_add(1));
    }

    #[inline(always)] // it would be a call, with all of the ACK in memory
    fn on_ack(&mut self, ack: &Ack<()>) {
        self.frame.una = self.frame.una.saturating_add(u64::from(ack.acked));
        if let Some(pacer) = &mut self.pacer {
            pacer.srtt = ack.srtt.unwrap_or(Span::ZERO);
        }
        self.avoidance.measure(ack, &mut self.frame);
        // RFC 3168 section 6.1.2: an ACK that echoes congestion does not open the window.
        if ack.acked == 0 || ack.recovering || ack.ece {
            return;
        }
        if !self.is_used(ack) && !self.slow_start.grows_unused(*ack, &self.frame) {
            self.avoidance.unused(ack);
            return;
        }
        if ack.delivered > 1 && self.counting > 0 {
            return self.count_packets(*ack);
        }
        if self.frame.cwnd < self.frame.ssthresh {
            self.slow_start.on_ack(ack, &mut self.frame);
        } else {
            let increase = self.avoidance.increase(ack, &self.frame);
            debug_assert!(increase.is_finite(), "{increase}");
            self.frame.cwnd = (self.frame.cwnd + increase).max(1.0);
        }
    }

    /// RFC 5681 section 4.1, or RFC 2861 section 3.1, which keeps three quarters of the window in
    /// ssthresh; the window that halving ends at is RW, as in Linux.
    fn on_idle(&mut self, idle: &Idle) {
        let Frame { cwnd, ssthresh, .. } = &mut self.frame;
        let least = idle.window.min(*cwnd);
        let Some(timeouts) = idle.timeouts else {
            *cwnd = least;
            return self.avoidance.restart();
        };
        *ssthresh = ssthresh.max(0.75 * *cwnd);
        for _ in 0..timeouts.min(64) {
            *cwnd /= 2.0;
        }
        *cwnd = cwnd.max(least);
        self.avoidance.restart();
    }

    fn on_loss(&mut self, loss: &Loss) {
        // A timer that backs off holds ssthresh (section 3.1).
        if !(loss.kind == LossKind::Timeout && loss.repeated) {
            self.frame.ssthresh = self.avoidance.decrease(loss, &self.frame).max(2.0);
        }
        self.frame.cwnd = match loss.kind {
            LossKind::DupAcks if A::RESTARTS => 1.0,
            LossKind::DupAcks => self.frame.ssthresh,
            LossKind::EcnEcho => self.frame.cwnd.min(self.frame.ssthresh),
            LossKind::Timeout => 1.0,
        };
    }

    /// Window and ssthresh are what they were (RFC 9438, section 4.9.2; Linux's
    /// `tcp_undo_cwnd_reduction`). If the window is the larger by now, all stays, as the RFC has
    /// it; Linux would raise ssthresh all the same.
    fn on_undo(&mut self, before: &Window<A>) {
        if self.frame.cwnd < before.frame.cwnd {
            self.avoidance.undo(&before.avoidance);
            self.frame.cwnd = before.frame.cwnd;
            self.frame.ssthresh = self.frame.ssthresh.max(before.frame.ssthresh);
        }
    }

    #[inline]
    fn cwnd(&self) -> f64 {
        self.frame.cwnd
    }

    fn paces(&self) -> bool {
        self.pacer.is_some()
    }

    #[inline]
    fn pacing(&self) -> Option<Rate> {
        self.pacer.as_ref().and_then(|pacer| pacer.rate(&self.frame))
    }

    const VARIABLES: &'static [Variable] = A::VARIABLES;

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("cwnd", self.frame.cwnd);
        sink("ssthresh", self.frame.ssthresh);
        self.avoidance.probe(sink);
    }

    fn describe(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        self.avoidance.describe(&self.frame, out)
    }
}

/// The other end of a window that needs nothing of it.
pub type Plain = Echo<()>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ack, loss, sender_context, timed};

    type Reno = Window<crate::tcp::reno::Reno>;

    fn paced() -> Reno {
        Reno::new(
            &crate::tcp::reno::RenoParams { paced: true, ..Default::default() },
            &sender_context(10.0),
        )
    }

    /// 10 packets of 8000 bits per 100 ms are 800 kb/s: times 2 in slow start and 1.2 after a loss.
    #[test]
    fn pacing_has_linux_factors() {
        let mut reno = paced();
        assert_eq!(reno.pacing(), None);
        reno.on_ack(&Ack { in_flight: 0, ..timed(0, 100, 100) });
        assert_eq!(reno.pacing(), Some(Rate(1_600_000)));
        reno.frame.ssthresh = 19.0;
        assert_eq!(reno.pacing(), Some(Rate(960_000)));
        let unpaced = Reno::new(&Default::default(), &sender_context(10.0));
        assert_eq!(unpaced.pacing(), None);
    }

    /// With pacing half a window in use lets it grow: 4 + 1 of 10, not 3 + 1.
    #[test]
    fn a_paced_window_grows_from_half_its_use_on() {
        for (in_flight, cwnd) in [(4, 11.0), (3, 10.0)] {
            let mut reno = paced();
            reno.on_ack(&Ack { in_flight, ..ack(1) });
            assert_eq!(reno.cwnd(), cwnd);
        }
    }

    /// RFC 3465 with L = 2: an ACK of five packets opens a window in slow start by two, and one of
    /// 10 in congestion avoidance by 1/10 and then, two acknowledged, 1/10.1.
    #[test]
    fn packets_are_counted_up_to_l() {
        let context = SenderContext { counting: 2, ..sender_context(10.0) };
        let mut reno = Reno::new(&Default::default(), &context);
        reno.on_ack(&ack(5));
        assert_eq!(reno.cwnd(), 12.0);
        (reno.frame.cwnd, reno.frame.ssthresh) = (10.0, 10.0);
        reno.on_ack(&ack(2));
        assert!((reno.cwnd() - (10.1 + 1.0 / 10.1)).abs() < 1e-12, "{}", reno.cwnd());
    }

    /// A window of 36 with a restart window of 10: RFC 5681 goes there at once, RFC 2861 by halves,
    /// 18 after one timeout and 10 after two, with 27, three quarters, in ssthresh if that is more.
    #[test]
    fn an_idle_window_restarts() {
        for (timeouts, ssthresh, after) in [
            (None, 20.0, (10.0, 20.0)),
            (Some(1), 20.0, (18.0, 27.0)),
            (Some(2), 40.0, (10.0, 40.0)),
            (Some(u64::MAX), 40.0, (10.0, 40.0)),
        ] {
            let mut reno = Reno::new(&Default::default(), &sender_context(36.0));
            reno.frame.ssthresh = ssthresh;
            reno.on_idle(&Idle { window: 10.0, timeouts });
            assert_eq!((reno.cwnd(), reno.frame.ssthresh), after, "{timeouts:?}");
        }
        let mut small = Reno::new(&Default::default(), &sender_context(4.0));
        small.on_idle(&Idle { window: 10.0, timeouts: None });
        assert_eq!(small.cwnd(), 4.0);
    }

    #[test]
    fn a_round_ends_with_what_was_sent_before_it() {
        let mut frame = Frame { nxt: 10, ..Frame::new(10.0) };
        let mut round = Round::default();
        assert!(!round.is_over(&frame));
        frame.una = 1;
        assert!(round.is_over(&frame));
        (frame.una, frame.nxt) = (9, 18);
        assert!(!round.is_over(&frame));
        frame.una = 10;
        assert!(round.is_over(&frame));
        frame.una = 17;
        assert!(!round.is_over(&frame));
        frame.una = 18;
        assert!(round.is_over(&frame));
    }

    /// Of 10.5 packets 10 are out when the third duplicate ACK comes, 9 when an ACK echoes
    /// congestion.
    #[test]
    fn a_loss_reduces_what_was_in_use() {
        assert_eq!(in_use(10.5, &loss(LossKind::DupAcks, 10)), 10.5);
        assert_eq!(in_use(10.5, &loss(LossKind::EcnEcho, 9)), 10.5);
        assert_eq!(in_use(10.5, &loss(LossKind::DupAcks, 4)), 4.0);
        assert_eq!(in_use(10.5, &loss(LossKind::DupAcks, 40)), 10.5);
    }

    /// RFC 5681: eq. (4) to the letter, and for the timer not more than half the window.
    #[test]
    fn the_timer_halves_no_more_than_the_window() {
        for (kind, in_flight, half) in [
            (LossKind::DupAcks, 11, 5.5),
            (LossKind::EcnEcho, 11, 5.5),
            (LossKind::Timeout, 11, 5.0),
            (LossKind::Timeout, 9, 4.5),
        ] {
            assert_eq!(half_flight(10.0, &loss(kind, in_flight)), half);
        }
    }

    /// RFC 9406 section 4.2: a loss or a mark in conservative slow start ends it, and what grows
    /// the window from then on is congestion avoidance: 1/cwnd per ACK.
    #[test]
    fn a_loss_or_a_mark_ends_conservative_slow_start() {
        for kind in [LossKind::DupAcks, LossKind::EcnEcho] {
            let params = crate::tcp::reno::RenoParams {
                slow_start: SlowStartKind::Hystart,
                ..Default::default()
            };
            let mut reno = Reno::new(&params, &sender_context(40.0));
            for (packets, rtt) in [(10, 50), (10, 50), (8, 100)] {
                for _ in 0..packets {
                    reno.frame.nxt = reno.frame.una + 11;
                    reno.on_ack(&Ack { in_flight: 1000, ..timed(0, rtt, 50) });
                }
            }
            // Conservative by now: a quarter of a packet.
            assert_eq!(reno.cwnd(), 68.0);
            reno.on_ack(&Ack { in_flight: 1000, ..timed(0, 100, 50) });
            assert_eq!(reno.cwnd(), 68.25);
            reno.on_loss(&loss(kind, 68));
            assert_eq!(reno.cwnd(), reno.frame.ssthresh);
            let before = reno.cwnd();
            reno.on_ack(&Ack { in_flight: 1000, ..timed(0, 50, 50) });
            assert!((reno.cwnd() - before - 1.0 / before).abs() < 1e-9);
        }
    }

    /// Linux: the window and ssthresh of before, and ACKs that came meanwhile stay counted.
    #[test]
    fn an_undo_restores_the_window_and_not_the_sequence_space() {
        let mut reno = Reno::new(&Default::default(), &sender_context(20.0));
        let before = reno.clone();
        reno.on_loss(&loss(LossKind::Timeout, 20));
        assert_eq!((reno.cwnd(), reno.frame.ssthresh), (1.0, 10.0));
        reno.on_ack(&ack(1));
        reno.on_undo(&before);
        assert_eq!((reno.cwnd(), reno.frame.ssthresh), (20.0, f64::INFINITY));
        assert_eq!(reno.frame.una, 1);
    }

    /// tcp_update_pacing_rate: "snd_cwnd < snd_ssthresh / 2" is slow start's factor: 10 packets are
    /// not below half of 20. 800 kb/s times 1.2 and 2.
    #[test]
    fn slow_starts_pace_ends_at_half_of_ssthresh() {
        for (ssthresh, rate) in [(20.0, 960_000), (20.5, 1_600_000)] {
            let mut reno = paced();
            reno.on_ack(&Ack { in_flight: 0, ..timed(0, 100, 100) });
            reno.frame.ssthresh = ssthresh;
            assert_eq!(reno.pacing(), Some(Rate(rate)), "{ssthresh}");
        }
    }

    /// Marks are counted where there are any: with ECN.
    #[test]
    fn only_ecn_counts_marks() {
        for (ecn, used) in [(true, EcnUse::Classic), (false, EcnUse::None)] {
            let params = crate::tcp::reno::RenoParams { ecn, ..Default::default() };
            let reno = Reno::new(&params, &sender_context(10.0));
            assert_eq!((reno.ecn(), reno.counts_marks()), (used, ecn));
        }
    }

    /// F3, RFC 5681 and RFC 3168 section 6.1.2: a window grows by an ACK of new data that found it
    /// used up to less than a packet, not in recovery and not with an echo of congestion.
    #[test]
    fn what_opens_a_window() {
        let like = Ack { in_flight: 9, ..ack(1) };
        for (ack, grows) in [
            (like, true),
            (Ack { in_flight: 8, ..like }, false),
            (Ack { acked: 0, ..like }, false),
            (Ack { recovering: true, ..like }, false),
            (Ack { ece: true, ..like }, false),
        ] {
            let mut reno = Reno::new(&Default::default(), &sender_context(10.0));
            reno.on_ack(&ack);
            assert_eq!(reno.cwnd(), if grows { 11.0 } else { 10.0 }, "{ack:?}");
        }
    }

    /// A window that has grown beyond the one before the loss stays, and so does all with it.
    #[test]
    fn an_undo_takes_nothing_away() {
        let mut reno = Reno::new(&Default::default(), &sender_context(20.0));
        let before = reno.clone();
        reno.on_loss(&loss(LossKind::DupAcks, 20));
        reno.frame.cwnd = 20.0;
        reno.on_undo(&before);
        assert_eq!((reno.cwnd(), reno.frame.ssthresh), (20.0, 10.0));
    }

    /// One past what nothing more was sent behind: the same ACK again ends no second round.
    #[test]
    fn a_round_is_not_over_twice() {
        let frame = Frame { una: 10, nxt: 10, ..Frame::new(10.0) };
        let mut round = Round::default();
        assert!(round.is_over(&frame) && !round.is_over(&frame));
        assert!(round.is_over(&Frame { una: 11, nxt: 11, ..frame }));
    }
}

//! Copa. Arun and Balakrishnan, "Copa: practical delay-based congestion control for the Internet",
//! NSDI 2018, section 2; the authors' genericCC (18299d6), markoviancc.cc and rtt-window.cc.
//!
//! The queueing delay is d_q = RTTstanding - RTTmin, the smallest RTT of the last srtt/2 less that
//! of the last 10 s. The target rate 1/(delta d_q) is that of a flow which weighs delay with delta,
//! and the window goes towards it. So a flow keeps about 1/delta packets in the queue.
//!
//! ```math
//! d_q = RTT_standing - RTT_min
//! rate = 1/(delta*d_q)           the target
//! cwnd <- cwnd + v/(delta*cwnd)  per ACK while cwnd/RTT_standing <= rate
//! cwnd <- cwnd - v/(delta*cwnd)  per ACK above
//! ```
//!
//! The velocity v is 1, and doubles each
//! RTT once the window has gone one way for three. Packets are paced at two windows per
//! RTTstanding. It starts by doubling the window per RTT until the target rate is exceeded.
//!
//! Buffer-fillers keep the queue from emptying. So where d_q has not been below a tenth of its
//! range for five RTTs, Copa competes: 1/delta grows by 1 per RTT and is halved at a loss, and
//! delta is 1/2 at most (`mode = "auto"`). Once the queue empties delta is 1/2 again.
//!
//! Deviations:
//! - D1: smallest and largest RTTs over a time are by Nichols's filter of three samples (Linux's
//!   win_minmax), which may forget the extreme a quarter of the time early; genericCC keeps all.
//! - D2: srtt is the transport's (gain 1/8; genericCC 1/16).
//! - D3: RTTs of five srtt tell whether the queue was nearly empty, the paper's five RTTs
//!   (genericCC: four srtt); they are not asked in slow start, whose queue is its own.
//! - D4: v doubles by the paper's rule, and is bounded by genericCC's: v <= delta cwnd, so that the
//!   window at most doubles. `velocity = "code"` is genericCC's: it doubles each RTT in which more
//!   ACKs were on the same side of the target as before, from the first on.
//! - D5: outside the competitive mode losses change nothing (genericCC cuts by 0.7 above a rate of
//!   losses). A timeout starts anew from two packets.
//! - D6: the first two RTTs are not for probing, as in genericCC, which needs them to measure.
//!
//! Several flows of Copa take each other for buffer-fillers and go on competing, with hundreds of
//! packets waiting, where the paper has them empty the queue together: with the paper's velocity
//! from three flows on (20 Mb/s, 40 ms), with the program's, which swings farther, from about five
//! on. genericCC itself does the same with either: docs/evidence/copa.md.

use units::{Rate, Span, Time};

use crate::roles::{Ack, Departing, Echo, Loss, LossKind, Sender, SenderContext, Variable};

choice! {
    /// When v doubles.
    pub enum Velocity {
        /// Each RTT, once the window has gone one way for three.
        Paper = "paper",
        /// Each RTT in which the window goes the way of the one before.
        Code = "code",
    }
}

choice! {
    /// Does it compete with flows that fill buffers?
    pub enum Mode {
        /// When the queue does not empty.
        Auto = "auto",
        /// Never: delta is what is set.
        Default = "default",
    }
}

params! {
    /// The sender's parameters.
    pub struct CopaParams {
        /// delta of the default mode: 1/delta packets are kept in the queue (section 2.1).
        delta: f64 = 0.5 => (0.004, 100.0);
        /// Does it compete with flows that fill buffers (section 2.2)?
        mode: Mode = Mode::Auto;
        /// When the velocity doubles (D4).
        velocity: Velocity = Velocity::Paper;
        /// Time over which RTTmin is the smallest.
        min_window: Span = Span::from_secs(10) => (0.1, 3600.0);
    }
}

/// Least window [packets].
const LEAST: f64 = 2.0;
/// Share of the range of d_q up to which the queue counts as nearly empty.
const NEARLY_EMPTY: f64 = 0.1;
/// srtts over which that is looked for.
const EMPTY_WINDOW: f64 = 5.0;
/// RTTs in one direction before v doubles.
const PATIENCE: u32 = 3;

/// The least of the last samples: the best one, the best since that, and the best since that (D1).
#[derive(Clone, Copy, Debug)]
struct Least {
    samples: [(Time, f64); 3],
}

impl Least {
    const NEW: Least = Least { samples: [(Time::ZERO, f64::INFINITY); 3] };

    fn add(&mut self, window: Span, at: Time, value: f64) {
        let new = (at, value);
        let [first, second, third] = &mut self.samples;
        if value <= first.1 || at.since(third.0) > window {
            self.samples = [new; 3];
            return;
        }
        if value <= second.1 {
            (*second, *third) = (new, new);
        } else if value <= third.1 {
            *third = new;
        }
        let age = at.since(first.0);
        if age > window {
            (*first, *second, *third) = (*second, *third, new);
            if at.since(first.0) > window {
                (*first, *second, *third) = (*second, *third, new);
            }
        } else if second.0 == first.0 && age.0 > window.0 / 4 {
            (*second, *third) = (new, new);
        } else if third.0 == second.0 && age.0 > window.0 / 2 {
            *third = new;
        }
    }

    fn get(&self) -> f64 {
        self.samples[0].1
    }
}

/// The end host's part.
#[derive(Clone, Debug)]
pub struct Copa {
    params: CopaParams,
    packet_bits: f64,
    /// [packets]
    cwnd: f64,
    delta: f64,
    /// v.
    velocity: f64,
    /// Is the window going up?
    up: bool,
    /// RTTs that it has gone the same way.
    same: u32,
    /// The window and the time at which the direction was looked at last.
    looked: (f64, Time),
    /// ACKs below the target since then, less those above it.
    below: i64,
    slow_start: bool,
    /// RTTstanding, RTTmin, and the extremes of five srtts [s]; the largest as the least of -RTT.
    standing: Least,
    least: Least,
    recent: Least,
    recent_most: Least,
    /// When 1/delta was changed last, and when for a loss.
    changed: Time,
    lost: Time,
    competes: bool,
}

impl Copa {
    /// d_q [s].
    fn queueing(&self) -> f64 {
        (self.standing.get() - self.least.get()).max(0.0)
    }

    /// The window at the target rate [packets].
    fn target(&self) -> f64 {
        self.standing.get() / (self.delta * self.queueing())
    }

    fn measure(&mut self, now: Time, rtt: Span, srtt: Span) {
        let (seconds, recent) = (rtt.as_secs(), Span::from_secs_f64(EMPTY_WINDOW * srtt.as_secs()));
        self.least.add(self.params.min_window, now, seconds);
        self.standing.add(Span(srtt.0 / 2), now, seconds);
        self.recent.add(recent, now, seconds);
        self.recent_most.add(recent, now, -seconds);
    }

    /// Section 2.2, at each ACK.
    fn choose_mode(&mut self, now: Time, srtt: Span) {
        if self.params.mode == Mode::Default || self.slow_start {
            return;
        }
        let (least, most) = (self.least.get(), -self.recent_most.get());
        self.competes = self.recent.get() - least > NEARLY_EMPTY * (most - least);
        if !self.competes {
            self.delta = self.params.delta;
        } else if now.since(self.changed) >= srtt {
            self.delta = 1.0 / (1.0 / self.delta + 1.0);
            self.changed = now;
        }
    }

    /// The velocity, once per RTT.
    fn look(&mut self, now: Time, srtt: Span) {
        let (before, at) = self.looked;
        if now.since(at) < srtt {
            return;
        }
        let up = self.cwnd > before;
        if up == self.up {
            self.same += 1;
            if self.same >= PATIENCE {
                self.velocity *= 2.0;
            }
        } else {
            (self.up, self.same, self.velocity) = (up, 0, 1.0);
        }
        self.looked = (self.cwnd, now);
    }

    /// The velocity as genericCC has it (`update_intersend_time`), once per RTT.
    fn look_as_program(&mut self, now: Time, rtt: Span) {
        if now.since(self.looked.1) <= rtt {
            return;
        }
        if self.below != 0 && (self.below > 0) == self.up {
            self.velocity = 2.0 * f64::from(self.velocity as u32);
        } else {
            (self.up, self.velocity) = (!self.up, 1.0);
        }
        (self.looked, self.below) = ((self.cwnd, now), 0);
    }

    /// Section 2.1, for so many packets.
    fn step(&mut self, now: Time, packets: f64) {
        let target = self.target();
        if self.slow_start {
            self.cwnd += packets;
            self.slow_start = self.cwnd < target;
            self.changed = now;
            return;
        }
        let most = self.delta * self.cwnd;
        self.velocity = match self.params.velocity {
            Velocity::Code if self.velocity > most => (self.velocity / 2.0).max(1.0),
            _ => self.velocity.min(most).max(1.0),
        };
        let change = packets * self.velocity / (self.delta * self.cwnd);
        let rises = self.cwnd <= target;
        self.below += if rises { 1 } else { -1 };
        // What has turned round goes on slowly.
        let turned = rises != self.up && self.velocity > 1.0;
        if turned && self.params.velocity == Velocity::Paper {
            (self.velocity, self.same) = (1.0, 0);
        }
        self.cwnd = (if rises { self.cwnd + change } else { self.cwnd - change }).max(LEAST);
    }
}

impl Sender for Copa {
    type Params = CopaParams;
    type Header = ();
    type Receiver = Echo<()>;

    const STEADY: bool = true;
    const VARIABLES: &'static [Variable] = &[
        Variable::new("cwnd", "pkts", "congestion window"),
        Variable::new("delta", "", "weight of delay: 1/delta packets are kept in the queue"),
        Variable::new("v", "", "velocity of the window, in its own steps"),
        Variable::new("d_q", "s", "queueing delay, RTTstanding - RTTmin"),
        Variable::new("competes", "", "1 while it competes with flows that fill buffers"),
    ];

    fn new(params: &CopaParams, context: &SenderContext) -> Copa {
        Copa {
            delta: params.delta,
            params: params.clone(),
            packet_bits: 8.0 * f64::from(context.packet_bytes),
            cwnd: context.initial_window.max(LEAST),
            velocity: 1.0,
            up: true,
            same: 0,
            looked: (0.0, Time::ZERO),
            below: 1, // as the program begins
            slow_start: true,
            standing: Least::NEW,
            least: Least::NEW,
            recent: Least::NEW,
            recent_most: Least::NEW,
            changed: Time::ZERO,
            lost: Time::ZERO,
            competes: false,
        }
    }

    fn on_send(&mut self, _: &Departing) {}

    fn on_ack(&mut self, ack: &Ack<()>) {
        let (Some(rtt), Some(srtt)) = (ack.rtt, ack.srtt) else { return };
        self.measure(ack.now, rtt, srtt);
        self.choose_mode(ack.now, srtt);
        match self.params.velocity {
            _ if self.slow_start => {}
            Velocity::Paper => self.look(ack.now, srtt),
            Velocity::Code => self.look_as_program(ack.now, rtt),
        }
        self.step(ack.now, f64::from(ack.delivered));
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.slow_start &= loss.kind == LossKind::Timeout;
        match loss.kind {
            LossKind::Timeout => {
                (self.cwnd, self.velocity, self.same) = (LEAST, 1.0, 0);
                self.slow_start = true;
            }
            _ if self.competes && loss.now.since(self.lost).as_secs() >= self.standing.get() => {
                self.delta = (2.0 * self.delta).min(self.params.delta);
                (self.lost, self.changed) = (loss.now, loss.now);
            }
            _ => {}
        }
    }

    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    /// Two windows per RTTstanding; none before the first RTT.
    fn paces(&self) -> bool {
        true
    }

    fn pacing(&self) -> Option<Rate> {
        let standing = self.standing.get();
        (standing.is_finite() && standing > 0.0)
            .then(|| Rate(((2.0 * self.cwnd * self.packet_bits / standing) as u64).max(1)))
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("cwnd", self.cwnd);
        sink("delta", self.delta);
        sink("v", self.velocity);
        sink("d_q", if self.least.get().is_finite() { self.queueing() } else { 0.0 });
        sink("competes", f64::from(u8::from(self.competes)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Params, Value};
    use crate::tests::{ack, loss, ms, near, sender_context, timed};

    fn copa(set: &[(&str, Value)]) -> Copa {
        let mut params = CopaParams::default();
        set.iter().for_each(|&(name, value)| assert_eq!(params.set(name, value), Ok(())));
        Copa::new(&params, &sender_context(10.0))
    }

    /// RTTmin 40 ms, RTTstanding 50: the target is 50/(0.5*10) = 10 packets. Slow start adds one
    /// per ACK while the window is below it: 11 ends it; then v/(delta w) = 2/11 down.
    #[test]
    fn the_window_goes_towards_the_target() {
        let mut copa = copa(&[("mode", Value::Choice("default"))]);
        copa.on_ack(&timed(0, 40, 40));
        assert_eq!((copa.cwnd(), copa.slow_start), (11.0, true));
        assert_eq!(copa.target(), f64::INFINITY);
        copa.on_ack(&timed(100, 50, 40));
        assert!(near(copa.target(), 10.0) && !copa.slow_start);
        assert_eq!(copa.cwnd(), 12.0);
        copa.on_ack(&timed(101, 50, 40));
        assert!(near(copa.cwnd(), 12.0 - 2.0 / 12.0), "{}", copa.cwnd());
        // Two windows per 50 ms: 2*11.8333*8000/0.05 = 3.786667 Mb/s.
        assert_eq!(copa.pacing(), Some(Rate(3_786_666)));
        // At 41 ms the target is 41/(0.5*1) = 82 packets: up.
        let before = copa.cwnd();
        copa.on_ack(&timed(200, 41, 40));
        assert!(copa.cwnd() > before);
    }

    /// One RTT each of 100 ms: the direction is the same for the third time, and v is 2, then 4.
    #[test]
    fn the_velocity_doubles_after_three_rtts() {
        let mut copa = copa(&[("mode", Value::Choice("default"))]);
        (copa.slow_start, copa.cwnd) = (false, 1000.0);
        for (i, velocity) in (1..).zip([1.0, 1.0, 2.0, 4.0, 8.0, 16.0]) {
            copa.on_ack(&timed(100 * i, 100, 100));
            assert_eq!(copa.velocity, velocity, "{i}");
        }
        // A queue of 100 ms: 200/(0.5*100) = 4 packets are the target, and v starts over.
        copa.on_ack(&timed(1000, 200, 100));
        assert_eq!(copa.velocity, 1.0);
    }

    /// The program's begins at once: an RTT of 100 ms below the target each, and v is 2, 4, 8.
    /// Above delta cwnd, half of 3 packets, each ACK halves it. The first RTT above the target
    /// gives 1.
    #[test]
    fn the_programs_velocity_doubles_at_once() {
        let program = ("velocity", Value::Choice("code"));
        let mut copa = copa(&[("mode", Value::Choice("default")), program]);
        (copa.slow_start, copa.cwnd) = (false, 1000.0);
        for (i, velocity) in (1..).zip([2.0, 4.0, 8.0]) {
            copa.on_ack(&timed(101 * i, 100, 100));
            assert_eq!(copa.velocity, velocity, "{i}");
        }
        copa.cwnd = 3.0;
        copa.on_ack(&timed(310, 100, 100));
        assert_eq!(copa.velocity, 4.0);
        (copa.below, copa.velocity) = (-3, 4.0);
        copa.on_ack(&timed(600, 100, 100));
        assert_eq!((copa.velocity, copa.up), (1.0, false));
    }

    /// 1/delta goes 2, 3, 4 while the queue stays above a tenth of its range; a loss halves it to
    /// 2; an empty queue ends it.
    #[test]
    fn it_competes_while_the_queue_does_not_empty() {
        let mut copa = copa(&[]);
        copa.on_ack(&timed(0, 40, 40));
        copa.slow_start = false;
        for (at, rtt, inverse) in [(1000, 80, 3.0), (1100, 90, 4.0), (1150, 90, 4.0)] {
            copa.on_ack(&timed(at, rtt, 40));
            assert!(copa.competes && near(1.0 / copa.delta, inverse), "{at}: {}", copa.delta);
        }
        copa.on_loss(&Loss { now: ms(1160), ..loss(LossKind::DupAcks, 20) });
        assert!(near(copa.delta, 0.5));
        copa.on_ack(&timed(1300, 90, 40));
        assert!(near(1.0 / copa.delta, 3.0));
        // Once more in the same RTT changes nothing.
        copa.on_loss(&Loss { now: ms(1170), ..loss(LossKind::DupAcks, 20) });
        assert!(near(1.0 / copa.delta, 3.0));
        copa.on_ack(&timed(1400, 42, 40));
        assert!(!copa.competes && near(copa.delta, 0.5));
    }

    #[test]
    fn a_timeout_starts_anew() {
        let mut copa = copa(&[]);
        copa.on_ack(&ack(5)); // without an RTT it says nothing
        assert_eq!((copa.cwnd(), copa.pacing()), (10.0, None));
        copa.on_loss(&loss(LossKind::Timeout, 10));
        assert_eq!((copa.cwnd(), copa.slow_start), (2.0, true));
    }

    /// The least of 10 s, while 40 ms came at 0 and 50 ms ever since.
    #[test]
    fn the_least_is_forgotten_after_its_time() {
        let mut least = Least::NEW;
        let window = Span::from_secs(10);
        least.add(window, ms(0), 0.04);
        for at in 1..=100 {
            least.add(window, ms(at * 100), 0.05);
            assert_eq!(least.get(), 0.04);
        }
        least.add(window, ms(10_100), 0.05);
        assert_eq!(least.get(), 0.05);
    }

    /// In slow start there is no velocity, in either way of counting.
    #[test]
    fn slow_start_has_no_velocity() {
        for velocity in ["paper", "code"] {
            let mut copa = copa(&[("velocity", Value::Choice(velocity))]);
            for i in 1..=8 {
                copa.on_ack(&timed(101 * i, 100, 100));
                assert_eq!((copa.velocity, copa.slow_start), (1.0, true), "{velocity} {i}");
            }
        }
    }

    /// Nichols's filter over 12 ms: within a quarter of it, 3, nothing more is taken for the second
    /// least, and within a half, 6, nothing for the third.
    #[test]
    fn the_quarter_and_the_half_are_over_after_their_end() {
        let run = |steps: &[(u64, f64, f64)]| {
            let mut least = Least::NEW;
            for &(at, value, got) in steps {
                least.add(Span::from_millis(12), ms(at), value);
                assert_eq!(least.get(), got, "{at}");
            }
        };
        run(&[(0, 0.1, 0.1), (2, 0.2, 0.1), (4, 0.3, 0.1), (13, 0.9, 0.3)]);
        run(&[(0, 0.1, 0.1), (3, 0.2, 0.1), (4, 0.3, 0.1), (13, 0.9, 0.3)]);
        let half = [(0, 0.1, 0.1), (4, 0.2, 0.1), (6, 0.3, 0.1), (7, 0.4, 0.1)];
        run(&[half[0], half[1], half[2], half[3], (13, 0.9, 0.2), (17, 0.9, 0.4)]);
        run(&[(0, 0.1, 0.1), (4, 0.3, 0.1), (5, 0.2, 0.1), (13, 0.9, 0.2)]);
        run(&[(0, 0.1, 0.1), (4, 0.3, 0.1), (12, 0.9, 0.1), (13, 0.9, 0.3)]);
    }

    /// A loss halves 1/delta: 10 to 5, and 3 to no less than the default mode's 2; within an
    /// RTTstanding only once.
    #[test]
    fn a_loss_halves_what_is_kept_in_the_queue() {
        for (delta, then) in [(0.1, 0.2), (1.0 / 3.0, 0.5), (0.5, 0.5)] {
            let mut copa = copa(&[]);
            copa.on_ack(&timed(0, 100, 100));
            (copa.delta, copa.competes, copa.slow_start) = (delta, true, false);
            copa.on_loss(&Loss { now: ms(100), ..loss(LossKind::DupAcks, 20) });
            assert!(near(copa.delta, then), "{delta}: {}", copa.delta);
            assert_eq!((copa.lost, copa.changed), (ms(100), ms(100)));
            copa.delta = 0.1;
            copa.on_loss(&Loss { now: ms(199), ..loss(LossKind::DupAcks, 20) });
            assert_eq!(copa.delta, 0.1);
            copa.competes = false;
            copa.on_loss(&Loss { now: ms(900), ..loss(LossKind::DupAcks, 20) });
            assert_eq!(copa.delta, 0.1);
        }
    }

    /// A window of 100 ms: at 105 ms the least, of 0 ms, is too old, and that of 30 ms is; at 135
    /// ms that of 60 ms, which was kept at half a window as the best behind the second, and not
    /// that of 70 ms.
    #[test]
    fn the_best_since_the_best_is_kept() {
        let (mut least, window) = (Least::NEW, Span::from_millis(100));
        for (at, value, kept) in [
            (0, 10.0, 10.0),
            (30, 12.0, 10.0),
            (60, 15.0, 10.0),
            (70, 16.0, 10.0),
            (105, 20.0, 12.0),
            (135, 20.0, 15.0),
        ] {
            least.add(window, ms(at), value);
            assert_eq!(least.get(), kept, "{at}");
        }
    }

    /// The paper's velocity starts over where the window turns round while it is above 1. At 1
    /// there is nothing to start over, and the RTTs of one direction go on being counted.
    #[test]
    fn a_velocity_of_1_does_not_start_over() {
        for (velocity, same) in [(1.0, 2), (1.5, 0)] {
            let mut copa = copa(&[("mode", Value::Choice("default"))]);
            copa.on_ack(&timed(0, 40, 40));
            // The target is 50/(0.5*10) = 10 packets.
            copa.on_ack(&timed(100, 50, 40));
            (copa.slow_start, copa.cwnd, copa.up) = (false, 20.0, true);
            (copa.velocity, copa.same) = (velocity, 2);
            copa.step(ms(100), 1.0);
            assert!(copa.cwnd < 20.0);
            assert_eq!((copa.velocity, copa.same), (1.0, same));
        }
    }
}

//! A class of flows: what changes.

use crate::load::{Act, Phase};
use crate::model::{Class, Model};
use crate::sender::{Law, Seen, Sender, VARIABLES};

/// Instants nearer than this are one [s].
pub const EPSILON: f64 = 1e-10;

/// A class: what changes. What every step of a class at rest touches comes first, in two cache
/// lines; then what others read.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct State {
    /// The protocol's variables, their derivatives at the last node and at the one before.
    pub y: [f64; VARIABLES],
    pub g: [f64; VARIABLES],
    pub g_old: [f64; VARIABLES],
    /// Window [packets], RTT [s] and rate [packets/s] at the last node.
    pub w: f64,
    pub rtt: f64,
    pub rate: f64,
    /// When it sent its last packet.
    pub ended: f64,
    /// At the last node [packets/s].
    pub delivering: f64,
    /// Totals [packets].
    pub sent: f64,
    pub delivered: f64,
    /// At the node before.
    pub w_old: f64,
    pub rtt_old: f64,
    /// What the last step added to the totals.
    pub step_sent: f64,
    pub step_delivered: f64,
    pub least_rtt: f64,
    pub y_predicted: [f64; VARIABLES],
    act: Act,
    phase: Phase,
    pub slow: bool,
    /// Losses that are expected so far, in slow start.
    losses: f64,
    /// What is left to send [packets].
    left: f64,
    /// When the last ACK came.
    pub finish: Option<f64>,
    pub dropped: f64,
    /// At the last node [packets/s].
    dropping: f64,
    pub hits: f64,
}

impl State {
    pub fn new(model: &Model, class: &Class) -> State {
        let sender = &model.senders[class.group as usize];
        let w = model.initial_window.max(1.0);
        State {
            y: sender.initial(w),
            g: [0.0; VARIABLES],
            g_old: [0.0; VARIABLES],
            y_predicted: sender.initial(w),
            w,
            rtt: class.base_rtt,
            rate: 0.0,
            w_old: w,
            rtt_old: class.base_rtt,
            act: Act { cut: 1.0, ..Act::default() },
            phase: Phase::Free,
            slow: sender.slow_start,
            losses: 0.0,
            left: class.size,
            ended: class.stop,
            finish: None,
            sent: 0.0,
            delivered: 0.0,
            dropped: 0.0,
            step_sent: 0.0,
            step_delivered: 0.0,
            delivering: 0.0,
            dropping: 0.0,
            hits: 0.0,
            least_rtt: f64::INFINITY,
        }
    }

    /// Predicts the window at the end of a step of `h`; `r` is half of its part of the step before,
    /// or 0.
    #[inline]
    pub fn predict(&mut self, sender: &Sender, h: f64, r: f64) -> f64 {
        for k in 0..VARIABLES {
            let g = (1.0 + r) * self.g[k] - r * self.g_old[k];
            self.y_predicted[k] = self.y[k] + h * g;
        }
        sender.window(&self.y_predicted, self.slow)
    }

    /// Corrects the window at the end of a step; the local error as a part of it.
    #[inline]
    pub fn correct(
        &mut self,
        (sender, class): (&Sender, &Class),
        seen: &Seen,
        (from, to): (f64, f64),
        packet: f64,
    ) -> f64 {
        let h = to - from;
        (self.w_old, self.rtt_old, self.rtt) = (self.w, self.rtt, seen.rtt);
        let moves_from = match seen.acks {
            // Nothing comes before; what comes first must count.
            Some(_) => class.start + class.base_rtt - 2.0 * h,
            None => class.start + sender.silent_rtts * class.base_rtt,
        };
        if to < moves_from - EPSILON {
            return 0.0;
        }
        self.least_rtt = self.least_rtt.min(seen.rtt);
        let slope = |y: &[f64; VARIABLES], act: Act, slow: bool| {
            sender.derivative(y, seen, (act, slow), (packet, class.base_rtt))
        };
        let begins = from < moves_from - EPSILON;
        let g = if begins { self.g } else { slope(&self.y_predicted, self.act, self.slow) };
        for (k, g) in g.iter().enumerate() {
            self.y[k] += h / 2.0 * (self.g[k] + g);
        }
        self.y[0] = self.y[0].max(1.0);
        let w = sender.window(&self.y, self.slow);
        let error = (w - sender.window(&self.y_predicted, self.slow)).abs() / (6.0 * w);
        let switches = self.switch(sender, seen, to, h);
        self.g_old = self.g;
        self.g = slope(&self.y, self.act, self.slow);
        if begins || switches {
            self.g_old = self.g;
        }
        self.hits += h * sender.cuts(seen);
        self.w = sender.window(&self.y, self.slow);
        if begins { 0.0 } else { error }
    }

    /// What happens at an instant: levels of load, the end of slow start. True if the window's
    /// slope is no longer what it was.
    fn switch(&mut self, sender: &Sender, seen: &Seen, to: f64, h: f64) -> bool {
        if let Law::Load(load) = &sender.law
            && seen.told
        {
            let told = (seen.rtt, seen.period);
            let (act, cut) = load.obey(&mut self.phase, to, seen.code, told);
            self.y[0] = (self.y[0] * cut).max(1.0);
            let switches = act != self.act || cut < 1.0;
            self.act = act;
            return switches;
        }
        if self.slow {
            self.losses += h * seen.rate * seen.hit;
            if self.losses >= 1.0 {
                self.slow = false;
                sender.end_slow_start(&mut self.y);
                return true;
            }
        }
        false
    }

    /// What it sends in this step, where ACKs clock it [packets/s].
    pub fn sends(&mut self, rate: f64) {
        self.rate = rate;
    }

    /// As [`State::count`], where ACKs clock the source: `came` packets have reached the sink in a
    /// step of `h` and links have lost `dropped`.
    pub fn count_acks(&mut self, class: &Class, (to, h): (f64, f64), (came, dropped): (f64, f64)) {
        self.step_sent = h * self.rate;
        self.step_delivered = came.min(class.size - self.delivered).max(0.0);
        self.dropped += dropped;
        self.sent += self.step_sent;
        self.delivered += self.step_delivered;
        if to < self.ended && self.delivered >= class.size * (1.0 - 1e-12) {
            self.ended = to;
            self.finish = Some(to + class.ack_delay);
        }
    }

    /// Adds up volumes, and ends what has sent everything.
    #[inline]
    pub fn count(
        &mut self,
        (sender, class): (&Sender, &Class),
        seen: &Seen,
        (to, h): (f64, f64),
        delivering: f64,
    ) {
        let old = self.rate;
        let sends = to < self.ended;
        self.rate = if sends { sender.packets(self.w) / self.rtt } else { 0.0 };
        self.step_sent = h * (old + self.rate) / 2.0;
        self.step_delivered = h * (self.delivering + delivering) / 2.0;
        let dropping = seen.rate * (1.0 - seen.arrived);
        self.dropped += h * (self.dropping + dropping) / 2.0;
        (self.delivering, self.dropping) = (delivering, dropping);
        if sends && self.left.is_finite() {
            self.left -= self.step_sent * seen.arrived;
            if self.left <= 0.0 {
                // What was too much was sent at the present rate.
                self.ended = to - (-self.left / (self.rate * seen.arrived).max(1e-9)).min(h);
                self.step_sent += self.left / seen.arrived.max(1e-9);
                self.finish = Some(self.ended + seen.rtt);
                (self.rate, self.left) = (0.0, 0.0);
            }
        }
        if self.left.is_finite() {
            // What arrives of a transfer is no more than the transfer.
            self.step_delivered = self.step_delivered.min(class.size - self.delivered).max(0.0);
        }
        self.sent += self.step_sent;
        self.delivered += self.step_delivered;
    }
}

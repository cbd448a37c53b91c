//! Prague's law in udp_prague's integers: bytes, microseconds and millionths of a byte, so that
//! each step comes out as it does there.

/// RTT at which a flow has the rate that others are to be like [us].
const REF_RTT: u64 = 25_000;
/// Rounds without a mark before growth, at least, and one more for each of these [bytes/s].
const MIN_STEP: u64 = 7;
const RATE_STEP: u64 = 1_920_000;
/// What growth adds to the queue in a round [us].
const QUEUE_GROWTH: u64 = 1_000;
/// Packets that may leave at once are those of this time [us].
const BURST_TIME: u64 = 250;
/// RTT up to which the rate is governed rather than the window [us].
const RATE_MODE_RTT: u64 = 2_000;
/// alpha and shares of marks in 2^-20.
const PROB_SHIFT: u32 = 20;
const MAX_PROB: i64 = 1 << PROB_SHIFT;
/// Least window [packets].
const MIN_PACKETS: u64 = 2;
/// What the window is above the rate, and the pace above or below it [per cent].
const RATE_OFFSET: u64 = 3;
/// [bytes/s]
const MIN_RATE: u64 = 12_500;
const MAX_RATE: u64 = 12_500_000_000;
const MILLION: u64 = 1_000_000;

/// What the law is told once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    /// Sizes that a packet may have [bytes].
    pub packet_bytes: (u64, u64),
    /// Rate before the first ACK [bytes/s].
    pub init_rate: u64,
    /// 1/g: what a round's share of marks is divided by.
    pub alpha_divisor: i64,
    /// alpha at the start.
    pub alpha_0: i64,
    /// Does the step become QUEUE_GROWTH after rounds without a mark?
    pub growth: bool,
    /// Is one packet added per ACK until the first mark or loss?
    pub slow_start: bool,
}

/// Which of the two is governed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Window,
    Rate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Init,
    Avoidance,
    /// A loss has halved in this round.
    Loss,
    /// A mark has reduced in this round.
    Reduced,
}

/// What the peer has got, and what was sent: packets since the start.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub received: i64,
    pub marked: i64,
    pub lost: i64,
    pub sent: i64,
}

/// Where a round began.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    sent: i64,
    /// [us]
    at: i64,
}

impl Mark {
    /// Have a window and a virtual RTT passed?
    fn is_over(self, counts: &Counts, now: i64, vrtt: u64) -> bool {
        counts.received + counts.lost - self.sent > 0 && now - self.at - vrtt as i64 >= 0
    }
}

/// What the last loss took, for when it was none.
#[derive(Clone, Copy, Debug)]
struct Taken {
    window: u64,
    rate: u64,
    rounds: i64,
    /// The losses known before it.
    lost: i64,
    mode: Mode,
}

/// The state of a flow.
#[derive(Clone, Debug)]
pub(super) struct Law {
    setting: Setting,
    /// [us]
    srtt: i64,
    vrtt: u64,
    last: Counts,
    /// The round of alpha, and the counts at its start.
    round: Mark,
    round_counts: Counts,
    loss: Mark,
    taken: Taken,
    reduction: Mark,
    pub state: State,
    pub mode: Mode,
    /// Rounds to wait for growth.
    pub rounds_to_growth: i64,
    pub alpha: i64,
    /// [bytes/s]
    pub rate: u64,
    /// [millionths of a byte]
    pub window: u64,
    pub packet_bytes: u64,
    pub burst: u64,
    /// [packets]
    pub packets: u64,
    starting: bool,
}

fn times(a: u64, b: u64) -> u64 {
    a.saturating_mul(b)
}

/// a/b to the nearest.
fn nearest(a: u64, b: u64) -> u64 {
    let rounded = (u128::from(a) + u128::from(b >> 1)) / u128::from(b.max(1));
    u64::try_from(rounded).unwrap_or(u64::MAX)
}

/// What alpha/2 is of an amount.
fn half_alpha(amount: u64, alpha: i64) -> u64 {
    ((u128::from(amount) * u128::from(alpha.max(0) as u64)) >> (PROB_SHIFT + 1)) as u64
}

fn rounds_at(rate: u64) -> i64 {
    (rate / RATE_STEP + MIN_STEP) as i64
}

impl Law {
    /// At `now` [us], with a window of so many packets.
    pub fn new(setting: Setting, packets: u64, now: i64) -> Law {
        let (_, most) = setting.packet_bytes;
        let mut law = Law {
            setting,
            srtt: 0,
            vrtt: REF_RTT,
            last: Counts::default(),
            round: Mark { sent: 0, at: now },
            round_counts: Counts::default(),
            loss: Mark::default(),
            taken: Taken { window: 0, rate: 0, rounds: 0, lost: 0, mode: Mode::Window },
            reduction: Mark::default(),
            state: State::Init,
            mode: Mode::Window,
            rounds_to_growth: rounds_at(setting.init_rate),
            alpha: setting.alpha_0,
            rate: setting.init_rate,
            window: times(times(packets, most), MILLION),
            packet_bytes: most,
            burst: 1,
            packets,
            starting: setting.slow_start,
        };
        law.sizes(REF_RTT);
        law.packets = (law.window / MILLION).div_ceil(law.packet_bytes).max(MIN_PACKETS);
        law
    }

    /// An RTT sample [us].
    pub fn on_rtt(&mut self, rtt: i64) {
        self.srtt =
            if self.state == State::Init { rtt } else { self.srtt + ((rtt - self.srtt) >> 3) };
        self.vrtt = REF_RTT.max(self.srtt.max(0) as u64);
    }

    /// The retransmission timer ran out: one packet, and the start anew.
    pub fn restart(&mut self, now: i64) {
        let most = self.setting.packet_bytes.1;
        self.state = State::Init;
        self.mode = Mode::Window;
        self.round.at = now;
        self.alpha = 0;
        self.rate = self.setting.init_rate;
        self.window = times(most, MILLION);
        self.burst = 1;
        self.packet_bytes = most;
        self.packets = MIN_PACKETS;
        self.rounds_to_growth = rounds_at(self.rate);
        self.taken.rounds = 0;
        self.starting = self.setting.slow_start;
    }

    /// An ACK brings these counts.
    pub fn on_ack(&mut self, now: i64, counts: Counts) {
        let srtt = self.srtt.max(1) as u64;
        if self.state == State::Init {
            match self.starting {
                true => self.rate = (self.window / srtt).max(1),
                false => self.window = times(srtt, self.rate),
            }
            self.state = State::Avoidance;
        }
        self.choose_mode(srtt);
        self.average(now, &counts);
        self.undo(&counts);
        if self.state == State::Loss && self.loss.is_over(&counts, now, self.vrtt) {
            self.state = State::Avoidance;
        }
        if self.state != State::Loss && counts.lost > self.last.lost {
            self.on_loss(now, &counts);
        }
        let unmarked = (counts.received - self.last.received) - (counts.marked - self.last.marked);
        if self.state != State::Loss && unmarked > 0 {
            self.increase(unmarked as u64, srtt);
        }
        if self.state == State::Reduced && self.reduction.is_over(&counts, now, self.vrtt) {
            self.state = State::Avoidance;
        }
        if self.state == State::Avoidance && counts.marked > self.last.marked {
            self.on_mark(now, &counts);
        }
        self.align(srtt);
        self.last = counts;
    }

    /// Below 2 ms, and below the time from packet to packet, the RTT tells no queue and the rate is
    /// governed. Changing over leaves the rate as it was.
    fn choose_mode(&mut self, srtt: u64) {
        let interval = times(self.packet_bytes, MILLION) / self.rate.max(1);
        if srtt <= RATE_MODE_RTT || srtt <= interval {
            self.mode = Mode::Rate;
            return;
        }
        if self.mode == Mode::Rate {
            self.window = times(srtt, self.rate);
        }
        self.mode = Mode::Window;
    }

    /// alpha, once per round.
    fn average(&mut self, now: i64, counts: &Counts) {
        if !self.round.is_over(counts, now, self.vrtt) {
            return;
        }
        let (marked, received) = (
            counts.marked - self.round_counts.marked,
            counts.received - self.round_counts.received,
        );
        if received > 0 {
            let share = (marked << PROB_SHIFT) / received;
            self.alpha += (share - self.alpha) / self.setting.alpha_divisor;
            self.alpha = self.alpha.min(MAX_PROB);
        }
        self.round = Mark { sent: counts.sent, at: now };
        self.round_counts = *counts;
        self.rounds_to_growth = (self.rounds_to_growth - 1).max(0);
    }

    /// What was lost has come after all: what the loss took is given back.
    fn undo(&mut self, counts: &Counts) {
        let taken = &mut self.taken;
        if (taken.window == 0 && taken.rate == 0) || taken.lost < counts.lost {
            return;
        }
        self.mode = taken.mode;
        match self.mode {
            Mode::Rate => self.rate += core::mem::take(&mut taken.rate),
            Mode::Window => self.window += core::mem::take(&mut taken.window),
        }
        self.rounds_to_growth = (self.rounds_to_growth - taken.rounds).max(0);
        taken.rounds = 0;
        self.state = State::Avoidance;
    }

    fn on_loss(&mut self, now: i64, counts: &Counts) {
        self.starting = false;
        // Until a flow at the reference RTT would be at the bottleneck's rate again.
        let most = self.setting.packet_bytes.1;
        let rounds = times(times(self.rate / 2 / most, REF_RTT) / self.vrtt, REF_RTT) / MILLION;
        let rounds = rounds as i64;
        self.taken.rounds = (self.taken.rounds + rounds - self.rounds_to_growth).min(rounds);
        self.rounds_to_growth = rounds;
        match self.mode {
            Mode::Window => {
                self.taken.window = self.window / 2;
                self.window -= self.taken.window;
            }
            Mode::Rate => {
                self.taken.rate = self.rate / 2;
                self.rate -= self.taken.rate;
            }
        }
        self.state = State::Loss;
        self.taken.mode = self.mode;
        self.taken.lost = self.last.lost;
        self.loss = Mark { sent: counts.sent, at: now };
    }

    /// W += acks packet step/W (srtt/vrtt)^2, or R += acks packet step/(R vrtt^2).
    fn increase(&mut self, acks: u64, srtt: u64) {
        let most = self.setting.packet_bytes.1;
        let growth = times(self.rate, QUEUE_GROWTH) / MILLION;
        let grows = self.setting.growth && self.rounds_to_growth == 0 && growth >= most;
        let step = if grows { growth } else { most };
        let packet = self.packet_bytes;
        match self.mode {
            Mode::Window if self.starting => {
                self.window = self.window.saturating_add(times(times(acks, packet), MILLION));
            }
            Mode::Window => {
                let scale = nearest(times(times(srtt, MILLION), srtt), times(self.vrtt, self.vrtt));
                let per_byte =
                    nearest(times(times(times(acks, packet), scale), MILLION), self.window);
                self.window = self.window.saturating_add(times(per_byte, step));
            }
            Mode::Rate if self.starting => {
                self.rate = self.rate.saturating_add(times(times(acks, packet), MILLION) / srtt);
            }
            Mode::Rate => {
                let packets = nearest(times(self.rate, self.vrtt), times(packet, MILLION));
                // After a timeout the packet is the largest, and nothing is added before it has
                // shrunk; one that cannot shrink counts as a window.
                let (least, most) = self.setting.packet_bytes;
                if packets == 0 && least < most {
                    return;
                }
                let more = nearest(times(times(acks, step), MILLION), self.vrtt);
                self.rate = self.rate.saturating_add(nearest(more, packets.max(1)));
            }
        }
    }

    fn on_mark(&mut self, now: i64, counts: &Counts) {
        self.starting = false;
        self.rounds_to_growth = rounds_at(self.rate);
        match self.mode {
            Mode::Window => self.window -= half_alpha(self.window, self.alpha),
            Mode::Rate => self.rate -= half_alpha(self.rate, self.alpha),
        }
        self.state = State::Reduced;
        self.reduction = Mark { sent: counts.sent, at: now };
    }

    /// Rate, window and sizes follow from what was governed.
    fn align(&mut self, srtt: u64) {
        if self.mode == Mode::Window {
            self.rate = self.window / srtt;
        }
        self.rate = self.rate.clamp(MIN_RATE, MAX_RATE);
        self.window = times(self.rate, srtt).max(1);
        self.sizes(self.vrtt);
        let packets = times(self.window, 100 + RATE_OFFSET) / (100 * MILLION) / self.packet_bytes;
        self.packets = (packets + 1).max(MIN_PACKETS);
    }

    /// Two packets fit into a virtual RTT, if they may be that small.
    fn sizes(&mut self, vrtt: u64) {
        let (least, most) = self.setting.packet_bytes;
        let fitting = times(self.rate, vrtt) / MILLION / MIN_PACKETS;
        self.packet_bytes = fitting.max(least).min(most);
        self.burst = (times(self.rate, BURST_TIME) / MILLION / self.packet_bytes).max(1);
    }

    /// When the pace goes from 3 % above the rate to 3 % below [us].
    pub fn half_round(&self) -> i64 {
        self.round.at + (self.vrtt >> 1) as i64
    }

    /// The pace at `now` [bytes/s]: 3 % above the rate in the first half of a round of alpha, below
    /// it in the second. In slow start twice the rate, and no pace before the first RTT.
    pub fn pace(&self, now: i64) -> Option<u64> {
        if self.starting {
            return (self.state != State::Init).then_some(times(self.rate, 2));
        }
        Some(if now >= self.half_round() {
            times(self.rate, 100) / (100 + RATE_OFFSET)
        } else {
            times(self.rate, 100 + RATE_OFFSET) / 100
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slow start at a rate, as at a window, adds what has arrived: ten packets of 1500 bytes in
    /// 100 ms are 150,000 bytes/s.
    #[test]
    fn slow_start_of_a_rate_adds_what_arrived() {
        let setting = Setting {
            packet_bytes: (150, 1500),
            init_rate: 12_500,
            alpha_divisor: 16,
            alpha_0: 0,
            growth: false,
            slow_start: true,
        };
        let mut law = Law::new(setting, 10, 0);
        (law.mode, law.rate, law.packet_bytes) = (Mode::Rate, 1_000_000, 1500);
        law.increase(10, 100_000);
        assert_eq!(law.rate, 1_150_000);
    }
}

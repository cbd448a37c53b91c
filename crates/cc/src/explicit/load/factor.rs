//! What the protocols with a load factor share: the router's meter (VCP's eq. 1, which MLCP, DPCP
//! and the n-bit family measure with other figures), the arithmetic of the sender's increases, and
//! how a sender spaces packets.
//!
//! - D1: the factor is taken over the real length of the period, which is the planned one unless a
//!   timer is late; at the end of a period the queue is sampled first.
//! - D2: (1 + xi)^x - 1 = exp(z) - 1 with z = x*ln(1 + xi), by a series whose relative error is
//!   below 4e-9 for z <= 1/6 (VCP's 2.5 periods: 0.152), and by `exp` above; z is at most 40, which
//!   matters without limiter only.

use units::{Rate, Span, Time, math};

use crate::roles::{Backlog, Loss, LossKind};

/// What a meter measures with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadParams {
    /// t_q, the period of the queue's samples.
    pub t_q: Span,
    /// a, the weight of the old average of the queue.
    pub a: f64,
    /// kappa_q, the part of the persistent queue that counts as load.
    pub kappa_q: f64,
    /// gamma, the target utilization.
    pub gamma: f64,
}

/// Measures `rho = (lambda + kappa_q*q)/(gamma*C*t)` at the end of each period of length t.
///
/// lambda are the bytes that arrived in the period, before any drop; q is the persistent queue, an
/// average of samples taken every t_q.
#[derive(Clone, Debug)]
pub struct LoadMeter {
    params: LoadParams,
    /// C [bytes/s].
    capacity: f64,
    /// The length of the next period; the running one ends at `period_end`.
    period: Span,
    /// lambda [bytes].
    lambda: u64,
    /// q [bytes].
    q: f64,
    rho: f64,
    /// lambda/(C*t) of the last period.
    offered: f64,
    period_start: Time,
    period_end: Time,
    next_sample: Time,
}

impl LoadMeter {
    /// A meter that starts its first period of length `period` at the start of the run.
    pub fn new(params: LoadParams, period: Span, capacity: Rate) -> LoadMeter {
        LoadMeter {
            capacity: capacity.bytes_per_sec(),
            period,
            lambda: 0,
            q: 0.0,
            rho: 0.0,
            offered: 0.0,
            period_start: Time::ZERO,
            period_end: Time::ZERO + period,
            next_sample: Time::ZERO + params.t_q,
            params,
        }
    }

    /// A packet of `size` bytes arrives; call it before any drop decision.
    #[inline]
    pub fn arrive(&mut self, size: u32) {
        self.lambda += u64::from(size);
    }

    /// When it wants [`LoadMeter::on_timer`].
    #[inline]
    pub fn next_timer(&self) -> Time {
        self.period_end.min(self.next_sample)
    }

    /// Takes the sample that is due and ends the period that is due; true when the factor is new.
    pub fn on_timer(&mut self, now: Time, backlog: Backlog) -> bool {
        if now >= self.next_sample {
            let a = self.params.a;
            self.q = a * self.q + (1.0 - a) * backlog.bytes as f64;
            self.next_sample = now + self.params.t_q;
        }
        let over = now >= self.period_end;
        if over {
            self.end_period(now);
        }
        over
    }

    fn end_period(&mut self, now: Time) {
        let period = now.since(self.period_start).as_secs();
        (self.rho, self.offered) = if period > 0.0 {
            let lambda = self.lambda as f64;
            let target = self.params.gamma * self.capacity;
            (
                (lambda + self.params.kappa_q * self.q) / (target * period),
                lambda / (self.capacity * period),
            )
        } else {
            (0.0, 0.0)
        };
        self.lambda = 0;
        self.period_start = now;
        self.period_end = now + self.period;
    }

    /// The load factor of the last period.
    pub fn rho(&self) -> f64 {
        self.rho
    }

    /// What arrived in the last period over what the line could carry; no queue, no gamma.
    pub fn offered(&self) -> f64 {
        self.offered
    }

    /// q, the persistent queue [bytes].
    pub fn q(&self) -> f64 {
        self.q
    }

    /// gamma as it is now.
    pub fn gamma(&self) -> f64 {
        self.params.gamma
    }

    /// Another gamma; the running period's load is taken with it.
    pub fn set_gamma(&mut self, gamma: f64) {
        self.params.gamma = gamma;
    }

    /// Periods are of this length from the next one on.
    pub fn set_period(&mut self, period: Span) {
        self.period = period;
    }

    /// The period that has just begun, after [`LoadMeter::on_timer`] said true, is the first of
    /// this length.
    pub fn begin_period(&mut self, period: Span) {
        self.period = period;
        self.period_end = self.period_start + period;
    }

    /// The running period ends as planned; its load is taken over the new capacity.
    pub fn set_capacity(&mut self, capacity: Rate) {
        self.capacity = capacity.bytes_per_sec();
    }

    /// Other parameters and another capacity; what was measured and the timers that are set stay.
    pub fn retune(&mut self, params: LoadParams, capacity: Rate) {
        self.params = params;
        self.set_capacity(capacity);
    }
}

/// exp(z) - 1 for the z >= 0 of a scaled multiplicative increase, ln(1 + xi)*rtt/t.
#[inline]
pub fn growth(z: f64) -> f64 {
    if z > 1.0 / 6.0 {
        return math::exp(z.min(40.0)) - 1.0;
    }
    // z + z^2/2! + ... + z^6/6!
    let tail = 1.0 + z * (1.0 / 5.0) * (1.0 + z * (1.0 / 6.0));
    z * (1.0 + z * 0.5 * (1.0 + z * (1.0 / 3.0) * (1.0 + z * 0.25 * tail)))
}

/// xi at a load factor, kappa*(1 - rho)/rho (VCP's eq. 5).
pub fn xi(kappa: f64, rho: f64) -> f64 {
    kappa * (1.0 - rho) / rho
}

/// `rtt/base`; 1 before the first sample.
#[inline]
pub fn ratio(rtt: Option<Span>, base: Span) -> f64 {
    rtt.map_or(1.0, |rtt| rtt.0 as f64 / base.0 as f64)
}

/// VCP's AI scaling limiter: x^2, with linear pieces below `low` (slope `low`) and above `high`
/// (slope 1), the ends over the base RTT.
#[inline]
pub fn limited_square(x: f64, (low, high): (f64, f64)) -> f64 {
    if x < low {
        x * low
    } else if x > high {
        (x - high) + high * high
    } else {
        x * x
    }
}

/// A window of `cwnd` packets after a loss, halved as by Reno; after a timeout one packet.
pub fn after_loss(cwnd: f64, loss: &Loss) -> f64 {
    match loss.kind {
        LossKind::Timeout => 1.0,
        LossKind::DupAcks | LossKind::EcnEcho => (cwnd / 2.0).max(1.0),
    }
}

params! {
    /// Whether a sender spaces its packets.
    pub struct SpacingParams {
        /// Are packets spaced when few of them share an RTT much longer than t_rho?
        pace_large_rtt: bool = true;
        /// Windows per smoothed RTT at which packets are spaced; 0, as in the paper: they leave at
        /// once when the window allows.
        pacing: f64 = 0.0 => (0.0, 10.0);
    }
}

/// How a sender spaces its packets.
#[derive(Clone, Debug)]
pub struct Spacing {
    large_rtt: bool,
    windows: f32,
    packet_bytes: u32,
}

impl Spacing {
    /// For packets of this size.
    pub fn new(params: &SpacingParams, packet_bytes: u32) -> Spacing {
        let SpacingParams { pace_large_rtt, pacing } = *params;
        Spacing { large_rtt: pace_large_rtt, windows: pacing as f32, packet_bytes }
    }

    /// Is there an RTT at which it gives a rate?
    pub fn paces(&self) -> bool {
        self.large_rtt || self.windows > 0.0
    }

    /// The rate of a window of `cwnd` packets, where load factors have periods of this length.
    #[inline]
    pub fn rate(&self, cwnd: f64, srtt: Option<Span>, period: Span) -> Option<Rate> {
        let (srtt, bits) = (srtt?, f64::from(self.packet_bytes) * 8.0);
        if self.windows > 0.0 {
            return spaced(f64::from(self.windows), cwnd, srtt, bits);
        }
        if self.large_rtt { slots(cwnd, srtt, period, bits) } else { None }
    }
}

/// VCP's pacing of an RTT above t_rho: one packet per gap of srtt/2^k, 2^k the smallest power of
/// two that holds the window, while the gap is longer than t_rho/2.
#[inline]
fn slots(cwnd: f64, srtt: Span, t_rho: Span, packet_bits: f64) -> Option<Rate> {
    if srtt <= t_rho || !(2.0..65.0).contains(&cwnd) {
        return None;
    }
    // Both casts are of small positive numbers.
    let slots = (cwnd as u64).next_power_of_two();
    if srtt.0 / slots <= t_rho.0 / 2 {
        return None;
    }
    let rate = packet_bits * slots as f64 / srtt.as_secs();
    Some(Rate((rate as u64).max(1)))
}

/// A window of `cwnd` packets spaced at `windows` of it per smoothed RTT.
#[inline]
fn spaced(windows: f64, cwnd: f64, srtt: Span, packet_bits: f64) -> Option<Rate> {
    // The cast is of a positive number, and saturates.
    let rate = windows * cwnd * packet_bits / srtt.as_secs();
    (srtt > Span::ZERO).then_some(Rate((rate as u64).max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ms, near};

    const PARAMS: LoadParams =
        LoadParams { t_q: Span::from_millis(10), a: 0.875, kappa_q: 0.5, gamma: 0.98 };

    /// A period that ends as it begins has no load, rather than none over none.
    #[test]
    fn a_period_of_no_length_has_no_load() {
        let mut meter = LoadMeter::new(PARAMS, Span::from_millis(200), Rate(10_000_000));
        meter.end_period(Time::ZERO);
        assert_eq!((meter.rho(), meter.offered()), (0.0, 0.0));
    }

    #[test]
    fn the_factor_is_load_and_half_the_queue_over_the_target() {
        // 10 Mb/s, 200 ms: gamma*C*t = 0.98*1.25e6*0.2 = 245 000 bytes.
        let mut meter = LoadMeter::new(PARAMS, Span::from_millis(200), Rate(10_000_000));
        for _ in 0..100 {
            meter.arrive(1000);
        }
        for t in (10..200).step_by(10) {
            assert_eq!(meter.next_timer(), ms(t));
            assert!(!meter.on_timer(ms(t), Backlog::default()));
        }
        // One sample of 8000 B after none: q = 0.125*8000 = 1000.
        assert!(meter.on_timer(ms(200), Backlog { packets: 8, bytes: 8000 }));
        assert!(near(meter.q(), 1000.0) && near(meter.rho(), 100.5 / 245.0));
        // 100 kB of the 250 kB that the line could carry.
        assert!(near(meter.offered(), 0.4));
        // The period that has just begun is the first of another length.
        meter.begin_period(Span::from_millis(80));
        for t in (210..=270).step_by(10) {
            assert!(!meter.on_timer(ms(t), Backlog::default()));
        }
        meter.set_period(Span::from_millis(400));
        assert!(meter.on_timer(ms(280), Backlog::default()));
        assert_eq!(meter.rho(), 0.5 * meter.q() / (0.98 * 1.25e6 * 0.08));
        assert_eq!(meter.period_end, ms(680));
    }

    #[test]
    fn growth_is_a_power_less_one() {
        // 1.0625^2 - 1 = 0.128 906 25, 1.0625^4 - 1 = 0.274 429 32...
        let ln = math::ln(1.0625);
        assert!((growth(2.0 * ln) / 0.128_906_25 - 1.0).abs() < 4e-9);
        assert!(near(growth(4.0 * ln), 0.274_429_321_289_062_5));
        assert_eq!(growth(0.0), 0.0);
        // kappa*(1 - 0.8)/0.8.
        assert!(near(xi(0.25, 0.8), 0.0625) && near(xi(0.35, 0.16), 1.8375));
    }

    #[test]
    fn a_window_is_spaced_over_its_rtt() {
        // 10 packets of 8000 b in 400 ms are 200 kb/s.
        let rate = |windows| spaced(windows, 10.0, Span::from_millis(400), 8000.0);
        assert_eq!((rate(1.0), rate(1.5)), (Some(Rate(200_000)), Some(Rate(300_000))));
        assert_eq!(spaced(1e-9, 1.0, Span::from_millis(400), 8.0), Some(Rate(1)));
        assert_eq!(spaced(1.0, 10.0, Span::ZERO, 8000.0), None);
    }

    #[test]
    fn the_limited_square_has_three_pieces() {
        let limits = (0.1, 2.5);
        // 0.05*0.1; 2^2; (4 - 2.5) + 6.25.
        for (x, g) in [(0.05, 0.005), (2.0, 4.0), (4.0, 7.75)] {
            assert!(near(limited_square(x, limits), g));
        }
        assert_eq!(limited_square(4.0, (0.0, f64::INFINITY)), 16.0);
    }

    /// The paper's senders leave at once when the window allows.
    #[test]
    fn without_a_reason_to_space_there_is_no_pacing() {
        let spacing = |pace_large_rtt, pacing| {
            Spacing::new(&SpacingParams { pace_large_rtt, pacing }, 1000).paces()
        };
        assert_eq!(
            (spacing(false, 0.0), spacing(true, 0.0), spacing(false, 2.0)),
            (false, true, true)
        );
    }
}

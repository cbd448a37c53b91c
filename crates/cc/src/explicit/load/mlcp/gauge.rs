//! What MLCP's routers measure, and those of the n-bit schemes: the load factor over a period that
//! follows the mean RTT (section 3.2, eqs. 13 to 15), and the field of the header that this takes.

use units::{Rate, Span, Time};

use crate::explicit::load::factor::{LoadMeter, LoadParams};
use crate::roles::{Backlog, Variable};

/// S, the lengths that t_p can have; a packet carries the place in this table (3.2.2).
const T_P: [Span; 8] = [
    Span::from_millis(80),
    Span::from_millis(200),
    Span::from_millis(400),
    Span::from_millis(600),
    Span::from_millis(800),
    Span::from_millis(1000),
    Span::from_millis(1200),
    Span::from_millis(1400),
];
/// t_p at the start: 200 ms.
pub const FIRST_T_P: u8 = 1;

/// t_p of a code of three bits.
#[inline]
pub fn t_p(code: u8) -> Span {
    T_P[usize::from(code & 7)]
}

/// The smallest t_p that is not below the mean RTT [s], else the largest.
pub fn t_p_code(mean: f64) -> u8 {
    // The cast is of a number below 8.
    T_P.iter().position(|t| t.as_secs() >= mean).unwrap_or(T_P.len() - 1) as u8
}

/// The code of t_p and the sender's RTT: what MLCP and the n-bit schemes carry beside the load.
///
/// Three bits of t_p, then 25 bits of RTT in microseconds; 0 before the first sample, and all ones
/// for 33.554431 s and more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing(u32);

impl Timing {
    pub const BITS: u32 = 28;
    const RTT_BITS: u32 = 25;
    const RTT_MAX: u32 = (1 << Self::RTT_BITS) - 1;

    pub fn new(t_p: u8, rtt: Option<Span>) -> Timing {
        // 10^6 ps to the microsecond; the cast is of a number of 25 bits.
        let rtt = rtt.map_or(0, |rtt| (rtt.0 / 1_000_000).min(u64::from(Self::RTT_MAX)) as u32);
        Timing(u32::from(t_p & 7) << Self::RTT_BITS | rtt)
    }

    /// Of 28 bits.
    pub fn from_bits(bits: u32) -> Timing {
        Timing(bits & ((1 << Self::BITS) - 1))
    }

    pub fn bits(self) -> u32 {
        self.0
    }

    #[inline]
    pub fn t_p(self) -> u8 {
        (self.0 >> Self::RTT_BITS) as u8
    }

    /// [microseconds]
    #[inline]
    pub fn rtt(self) -> u32 {
        self.0 & Self::RTT_MAX
    }

    #[inline]
    pub fn set_t_p(&mut self, t_p: u8) {
        self.0 = u32::from(t_p & 7) << Self::RTT_BITS | self.rtt();
    }
}

/// T_c, the smoothed mean RTT of the packets (section 3.2.2).
#[derive(Clone, Debug)]
struct MeanRtt {
    /// T [s].
    t: f64,
    phi: f64,
    /// The RTTs of the running T [microseconds] and how many they are.
    sum: u64,
    count: u32,
    /// T_d, the mean of the last T that saw a packet, until T_c has taken it [s].
    t_d: Option<f64>,
    /// [s]; `None` before the first mean, if that is where it starts.
    mean: Option<f64>,
}

impl MeanRtt {
    #[inline]
    fn seen(&mut self, rtt: u32) {
        if rtt > 0 {
            self.sum += u64::from(rtt);
            self.count += 1;
        }
    }

    /// The end of a T.
    fn end(&mut self) {
        if self.count > 0 {
            self.t_d = Some(self.sum as f64 * 1e-6 / f64::from(self.count)); // eq. (14)
            (self.sum, self.count) = (0, 0);
        }
    }

    /// T_c takes T_d.
    fn update(&mut self) {
        let Some(t_d) = self.t_d.take() else { return };
        let t_c = self.mean.unwrap_or(t_d);
        let theta = if t_d >= t_c { self.t / t_c } else { self.t * t_d / (self.phi * t_c * t_c) };
        self.mean = Some(t_c + theta.min(1.0) * (t_d - t_c)); // eq. (15)
    }

    /// [s]
    fn mean(&self) -> f64 {
        self.mean.unwrap_or_else(|| t_p(FIRST_T_P).as_secs())
    }
}

choice! {
    /// When T_c takes the mean RTT of the packets (eq. 15).
    pub enum MeanEvery {
        /// At the end of each T.
        T = "T",
        /// At the end of each t_p, when the load factor is computed: that of the last T.
        Period = "t_p",
    }
}

params! {
    /// The parameters of MLCP's router, and what the others' have of them (section 3.2).
    pub struct GaugeParams {
        /// t_q, the period of the queue's samples (3.2.1).
        t_q: Span = Span::from_millis(10) => (1e-6, 100.0);
        /// a, the weight of the old average of the queue.
        a: f64 = 0.875 => (0.0, 1.0);
        /// kappa_q, how fast the persistent queue drains (eq. 13).
        kappa_q: f64 = 0.75 => (0.0, 10.0);
        /// gamma, the target utilization (eq. 13).
        gamma: f64 = 0.98 => (0.01, 2.0);
        /// T, the period of the mean RTT (eq. 14).
        t: Span = Span::from_millis(10) => (1e-6, 100.0);
        /// phi, by which the mean RTT falls more slowly than it rises (3.2.2).
        phi: f64 = 50.0 => (0.001, 1e6);
        /// Does t_p follow the mean RTT? If not, it stays at 200 ms.
        adapt_t_p: bool = true;
        /// Does T_c start at the first mean RTT rather than at 200 ms?
        first_rtt: bool = false;
        /// When T_c takes the mean RTT of the packets: each t_p with the load factor (3.2.2), or
        /// each T.
        mean_every: MeanEvery = MeanEvery::Period;
        /// Are ACKs served before data, as VCP's router does it?
        priority: bool = true;
    }
}

impl GaugeParams {
    fn load(&self) -> LoadParams {
        let GaugeParams { t_q, a, kappa_q, gamma, .. } = *self;
        LoadParams { t_q, a, kappa_q, gamma }
    }
}

/// What MLCP's router and those of the n-bit schemes measure: sigma over t_p, t_p from the mean
/// RTT.
#[derive(Clone, Debug)]
pub struct Gauge {
    params: GaugeParams,
    meter: LoadMeter,
    rtt: MeanRtt,
    /// The code of the running period's length.
    t_p: u8,
    /// The code of the last period's length: what goes with its load.
    told: u8,
    next_mean: Time,
}

impl Gauge {
    pub fn new(params: &GaugeParams, capacity: Rate) -> Gauge {
        let first = t_p(FIRST_T_P);
        Gauge {
            meter: LoadMeter::new(params.load(), first, capacity),
            rtt: MeanRtt {
                t: params.t.as_secs(),
                phi: params.phi,
                sum: 0,
                count: 0,
                t_d: None,
                mean: (!params.first_rtt).then_some(first.as_secs()),
            },
            t_p: FIRST_T_P,
            told: FIRST_T_P,
            next_mean: Time::ZERO + params.t,
            params: params.clone(),
        }
    }

    /// A packet arrives, with this much timing if it has a header.
    #[inline]
    pub fn arrive(&mut self, size: u32, timing: Option<Timing>) {
        self.meter.arrive(size);
        if let Some(timing) = timing {
            self.rtt.seen(timing.rtt());
        }
    }

    pub fn next_timer(&self) -> Time {
        self.meter.next_timer().min(self.next_mean)
    }

    /// True when sigma is new.
    pub fn on_timer(&mut self, now: Time, backlog: Backlog) -> bool {
        if now >= self.next_mean {
            self.rtt.end();
            if self.params.mean_every == MeanEvery::T {
                self.rtt.update();
            }
            self.next_mean = now + self.params.t;
        }
        let over = self.meter.on_timer(now, backlog);
        if over {
            if self.params.mean_every == MeanEvery::Period {
                self.rtt.update();
            }
            self.told = self.t_p;
            self.t_p = if self.params.adapt_t_p { t_p_code(self.rtt.mean()) } else { FIRST_T_P };
            self.meter.begin_period(t_p(self.t_p));
        }
        over
    }

    pub fn sigma(&self) -> f64 {
        self.meter.rho()
    }

    /// The code of the length over which [`Gauge::sigma`] was measured.
    #[inline]
    pub fn told(&self) -> u8 {
        self.told
    }

    pub fn set_capacity(&mut self, capacity: Rate) {
        self.meter.set_capacity(capacity);
    }

    pub fn retune(&mut self, params: &GaugeParams, capacity: Rate) {
        self.meter.retune(params.load(), capacity);
        (self.rtt.t, self.rtt.phi) = (params.t.as_secs(), params.phi);
        self.params = params.clone();
    }

    pub const VARIABLES: [Variable; 4] = [
        Variable::new(
            "sigma",
            "",
            "load factor of the last period: arrivals and queue over gamma*C*t_p",
        ),
        Variable::new("q", "bytes", "persistent queue, an average of samples"),
        Variable::new("t_p", "s", "period of the load factor, chosen by t_c"),
        Variable::new("t_c", "s", "smoothed mean RTT of the packets"),
    ];

    pub fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("sigma", self.meter.rho());
        sink("q", self.meter.q());
        sink("t_p", t_p(self.t_p).as_secs());
        sink("t_c", self.rtt.mean());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ms, near};

    fn params() -> GaugeParams {
        GaugeParams { mean_every: MeanEvery::T, ..Default::default() }
    }

    fn run(gauge: &mut Gauge, from: u64, to: u64, rtt_ms: u64) {
        for t in (from + 10..=to).step_by(10) {
            gauge.arrive(1000, Some(Timing::new(0, Some(Span::from_millis(rtt_ms)))));
            while gauge.next_timer() <= ms(t) {
                gauge.on_timer(ms(t), Backlog::default());
            }
        }
    }

    #[test]
    fn timing_has_28_bits() {
        let timing = Timing::new(5, Some(Span::from_micros(1_234_567)));
        assert_eq!((timing.t_p(), timing.rtt()), (5, 1_234_567));
        assert_eq!(Timing::new(7, Some(Span(u64::MAX))).bits(), (1 << 28) - 1);
        assert_eq!(Timing::new(1, None).rtt(), 0);
        assert_eq!(Timing::from_bits(u32::MAX).bits(), (1 << 28) - 1);
    }

    #[test]
    fn t_p_is_the_smallest_that_is_not_below_the_mean() {
        let ms = |t: f64| T_P[usize::from(t_p_code(t / 1000.0))].as_secs() * 1000.0;
        for (mean, t_p) in [
            (1.0, 80.0),
            (80.0, 80.0),
            (81.0, 200.0),
            (300.0, 400.0),
            (1300.0, 1400.0),
            (1400.0, 1400.0),
            (3000.0, 1400.0),
        ] {
            assert!(near(ms(mean), t_p), "{mean}");
        }
    }

    #[test]
    fn the_mean_rises_fast_and_falls_slowly() {
        let mut mean = MeanRtt { t: 0.01, phi: 50.0, sum: 0, count: 0, t_d: None, mean: Some(0.2) };
        // No packet with an RTT: nothing changes.
        mean.seen(0);
        mean.end();
        mean.update();
        assert_eq!(mean.mean(), 0.2);
        // Up: theta = 0.01/0.2 = 0.05; T_d = (300 + 500)/2 = 400 ms; 0.2 + 0.05*0.2 = 0.21.
        mean.seen(300_000);
        mean.seen(500_000);
        mean.end();
        mean.update();
        assert!(near(mean.mean(), 0.21));
        // Down: theta = 0.01*0.105/(50*0.21^2) = 1/2100; 0.21 - 0.105/2100 = 0.209 95.
        mean.seen(105_000);
        mean.end();
        mean.update();
        assert!(near(mean.mean(), 0.209_95));
        // From 1 ms up theta would be 10: it is 1.
        mean.mean = Some(0.001);
        mean.seen(2_000_000);
        mean.end();
        mean.update();
        assert!(near(mean.mean(), 2.0));
        mean.mean = None;
        mean.seen(70_000);
        mean.end();
        mean.update();
        assert!(near(mean.mean(), 0.07));
    }

    #[test]
    fn the_period_follows_the_mean_and_is_told_with_its_own_load() {
        // 10 Mb/s: 12 250 bytes per 10 ms fill gamma*C, so a packet per 10 ms is 1/12.25.
        let mut gauge = Gauge::new(&params(), Rate(10_000_000));
        run(&mut gauge, 0, 200, 1000);
        assert!(near(gauge.sigma(), 1.0 / 12.25));
        // Twenty means of 1 s: T_c is above 400 ms, but the load was measured over 200 ms.
        assert!(gauge.rtt.mean() > 0.4);
        assert_eq!(gauge.told(), FIRST_T_P);
        let next = t_p(gauge.t_p);
        assert!(next >= Span::from_millis(600), "{next:?}");
        run(&mut gauge, 200, 200 + next.0 / 1_000_000_000, 1000);
        assert!(near(gauge.sigma(), 1.0 / 12.25));
        assert_eq!(t_p(gauge.told()), next);
        // With each load factor only: the mean of 200 ms rises once, to 0.2 + 0.05*0.8 = 0.24.
        let slow = GaugeParams::default();
        let mut slow = Gauge::new(&slow, Rate(10_000_000));
        run(&mut slow, 0, 200, 1000);
        assert!(near(slow.rtt.mean(), 0.24));
        let mut fixed = Gauge::new(&GaugeParams { adapt_t_p: false, ..params() }, Rate(10_000_000));
        run(&mut fixed, 0, 1000, 1000);
        assert_eq!((fixed.told(), fixed.t_p), (FIRST_T_P, FIRST_T_P));
    }
}

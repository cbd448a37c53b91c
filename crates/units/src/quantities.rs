//! Newtypes of the quantities that cross interfaces.

use core::fmt;
use core::ops::{Add, AddAssign, Mul, Sub};

/// An instant: picoseconds since the start of the run (213 days fit).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

/// A length of time in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub u64);

/// A rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(pub u64);

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

const PS_PER_SECOND: u64 = 1_000_000_000_000;

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// An instant that no run reaches: "no timer is set".
    pub const NEVER: Time = Time(u64::MAX);

    /// Seconds since the start.
    #[inline]
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / PS_PER_SECOND as f64
    }

    /// The time from `earlier` to `self`; zero when `earlier` is later.
    #[inline]
    pub fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);

    /// A span of whole seconds.
    pub const fn from_secs(s: u64) -> Span {
        Span(s * PS_PER_SECOND)
    }

    /// A span of whole milliseconds.
    pub const fn from_millis(ms: u64) -> Span {
        Span(ms * (PS_PER_SECOND / 1000))
    }

    /// A span of whole microseconds.
    pub const fn from_micros(us: u64) -> Span {
        Span(us * (PS_PER_SECOND / 1_000_000))
    }

    /// The nearest span to `s` seconds; negative and non-finite values give zero.
    #[inline]
    pub fn from_secs_f64(s: f64) -> Span {
        // A float-to-integer cast saturates and sends NaN to zero.
        Span((s * PS_PER_SECOND as f64 + 0.5) as u64)
    }

    /// The span in seconds.
    #[inline]
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / PS_PER_SECOND as f64
    }
}

impl Rate {
    /// Bits per second as a float.
    #[inline]
    pub fn as_bps(self) -> f64 {
        self.0 as f64
    }

    /// Bytes per second as a float: the `C` of the papers' formulas.
    #[inline]
    pub fn bytes_per_sec(self) -> f64 {
        self.0 as f64 / 8.0
    }

    /// The time that `bytes` occupy the line: ceil(bits * 10^12 / rate) picoseconds.
    ///
    /// # Panics
    /// If the rate is zero.
    #[inline]
    pub fn serialization(self, bytes: u32) -> Span {
        let bits_ps = u64::from(bytes) * 8;
        match bits_ps.checked_mul(PS_PER_SECOND) {
            Some(scaled) => Span(scaled.div_ceil(self.0)),
            None => {
                let scaled = u128::from(bits_ps) * u128::from(PS_PER_SECOND);
                Span(u64::try_from(scaled.div_ceil(u128::from(self.0))).unwrap_or(u64::MAX))
            }
        }
    }

    /// The bytes that the line carries in `span`, rounded down.
    pub fn bytes_in(self, span: Span) -> Bytes {
        let bytes = u128::from(self.0) * u128::from(span.0) / (8 * u128::from(PS_PER_SECOND));
        Bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

impl Add<Span> for Time {
    type Output = Time;
    #[inline]
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl Add for Span {
    type Output = Span;
    #[inline]
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    #[inline]
    fn add_assign(&mut self, other: Span) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Span;
    /// Saturates at zero.
    #[inline]
    fn sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}

impl Mul<u64> for Span {
    type Output = Span;
    #[inline]
    fn mul(self, n: u64) -> Span {
        Span(self.0.saturating_mul(n))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6} s", self.as_secs())
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6} s", self.as_secs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serialization_is_the_exact_ceiling() {
        // 1000 B at 150 Mb/s: 8000 / 150e6 s = 53.333.. us = 53_333_333.3 ps, rounded up.
        assert_eq!(Rate(150_000_000).serialization(1000), Span(53_333_334));
        // 40 B at 10 Gb/s: 32 ns exactly.
        assert_eq!(Rate(10_000_000_000).serialization(40), Span(32_000));
        // 4 GB at 1 b/s needs more than 64 bits on the way.
        assert_eq!(Rate(8).serialization(u32::MAX), Span(u64::MAX));
    }

    #[test]
    fn bandwidth_delay_product_of_the_base_case() {
        // 150 Mb/s x 80 ms = 1.5 MB.
        assert_eq!(Rate(150_000_000).bytes_in(Span::from_millis(80)), Bytes(1_500_000));
    }

    #[test]
    fn spans_round_to_the_nearest_picosecond() {
        assert_eq!(Span::from_secs_f64(0.08), Span::from_millis(80));
        assert_eq!(Span::from_secs_f64(-1.0), Span::ZERO);
        assert_eq!(Span::from_secs_f64(f64::NAN), Span::ZERO);
    }
}

//! Random streams and samplers, value-pinned: the same draws on every platform and in every
//! release.

use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};

use crate::math;

/// One component's stream of random bits, derived from the run's seed, its replication and the
/// component's name; a new component does not shift the draws of the others.
#[derive(Clone, Debug)]
pub struct Stream(Pcg64);

impl Stream {
    /// The stream of the component called `name` in replication `rep` of the experiment `seed`.
    pub fn new(seed: u64, rep: u64, name: &str) -> Stream {
        // FNV-1a over the name, then splitmix64 whitening of the three words.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in name.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        let mut state = hash;
        let mut word = |salt: u64| {
            state = state.wrapping_add(salt).wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        let words = [word(seed), word(rep), word(seed ^ hash), word(hash)];
        let mut bytes = [0; 32];
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(words) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        Stream(Pcg64::from_seed(bytes))
    }

    /// The next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, 1): the upper 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Uniform in [low, high).
    #[inline]
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Exponential with the given mean, by inverse transform.
    #[inline]
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * math::ln(1.0 - self.unit())
    }

    /// Normal, by Box and Muller; one of the pair is thrown away, so that a draw takes two numbers
    /// from the stream, always.
    #[inline]
    pub fn normal(&mut self, mean: f64, sd: f64) -> f64 {
        let radius = math::sqrt(-2.0 * math::ln(1.0 - self.unit()));
        mean + sd * radius * math::cos(core::f64::consts::TAU * self.unit())
    }

    /// Pareto with the given mean and shape (above 1), by inverse transform: the least value is
    /// `mean * (shape - 1) / shape`.
    #[inline]
    pub fn pareto(&mut self, mean: f64, shape: f64) -> f64 {
        let least = mean * (shape - 1.0) / shape;
        least / math::pow(1.0 - self.unit(), 1.0 / shape)
    }

    /// True with probability `p`.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_seed_replication_and_name() {
        let first = |seed, rep, name| Stream::new(seed, rep, name).bits();
        let base = first(1, 0, "flow.fwd.0");
        assert_eq!(base, first(1, 0, "flow.fwd.0"));
        for other in
            [first(2, 0, "flow.fwd.0"), first(1, 1, "flow.fwd.0"), first(1, 0, "flow.fwd.1")]
        {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn uniform_has_the_right_mean_and_variance() {
        let mut stream = Stream::new(1, 0, "test");
        let n = 100_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..n {
            let x = stream.unit();
            assert!((0.0..1.0).contains(&x));
            sum += x;
            squares += x * x;
        }
        let mean = sum / f64::from(n);
        // Standard error of the mean is sqrt(1/12/n) = 0.0009; five of them.
        assert!((mean - 0.5).abs() < 0.005, "{mean}");
        assert!((squares / f64::from(n) - 1.0 / 3.0).abs() < 0.005);
    }

    #[test]
    fn exponential_has_the_right_mean_and_tail() {
        let mut stream = Stream::new(1, 0, "test");
        let n = 100_000;
        let draws = (0..n).map(|_| stream.exponential(2.0));
        let (mut sum, mut beyond) = (0.0, 0);
        for x in draws {
            sum += x;
            beyond += i32::from(x > 2.0);
        }
        assert!((sum / f64::from(n) - 2.0).abs() < 0.04);
        // P(X > mean) = 1/e = 0.3679.
        assert!((f64::from(beyond) / f64::from(n) - 0.3679).abs() < 0.01);
    }

    #[test]
    fn normal_has_the_right_mean_variance_and_tail() {
        let mut stream = Stream::new(1, 0, "test");
        let n = 100_000;
        let (mut sum, mut squares, mut beyond) = (0.0, 0.0, 0);
        for _ in 0..n {
            let x = stream.normal(3.0, 2.0) - 3.0;
            sum += x;
            squares += x * x;
            beyond += i32::from(x > 2.0);
        }
        assert!((sum / f64::from(n)).abs() < 0.03);
        assert!((squares / f64::from(n) - 4.0).abs() < 0.1);
        // P(X > one standard deviation) = 0.15866.
        assert!((f64::from(beyond) / f64::from(n) - 0.15866).abs() < 0.006);
    }

    #[test]
    fn pareto_has_the_right_least_value_and_tail() {
        let mut stream = Stream::new(1, 0, "test");
        let n = 100_000;
        let mut beyond = 0;
        for _ in 0..n {
            let x = stream.pareto(3.0, 1.5);
            assert!(x >= 1.0);
            beyond += i32::from(x > 4.0);
        }
        // P(X > 4) = (1/4)^1.5 = 0.125.
        assert!((f64::from(beyond) / f64::from(n) - 0.125).abs() < 0.005);
    }
}

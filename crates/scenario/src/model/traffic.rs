//! What the flows of a group have to send, and when they come.

use std::sync::Arc;

use units::random::Stream;
use units::{Rate, Span, math};

use crate::model::line::DelayLaw;

/// How much a flow sends.
#[derive(Clone, Debug, PartialEq)]
pub enum Size {
    /// As much as it may.
    Unlimited,
    /// This many bytes, counted as sizes on the wire.
    Bytes(u64),
    /// A number of bytes drawn for each flow.
    Drawn(SizeLaw),
}

impl Size {
    /// The size of one flow [bytes]; `None`: unlimited. Draws from `stream` if it is random.
    pub fn draw(&self, stream: &mut Stream) -> Option<u64> {
        match self {
            Size::Unlimited => None,
            Size::Bytes(bytes) => Some(*bytes),
            Size::Drawn(law) => Some(law.draw(stream)),
        }
    }
}

/// A distribution of sizes in bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum SizeLaw {
    /// Exponential.
    Exponential {
        /// The mean [bytes].
        mean: f64,
    },
    /// Pareto.
    Pareto {
        /// The mean [bytes].
        mean: f64,
        /// The shape, above 1.
        shape: f64,
    },
    /// Pareto between two bounds.
    BoundedPareto {
        /// The least [bytes].
        min: f64,
        /// The largest [bytes].
        max: f64,
        /// The shape, above 0.
        shape: f64,
    },
    /// A distribution function: (bytes, share of the flows not larger), both ascending, the last
    /// share 1; linear in between, and the first point's share of flows has the first point's size.
    Empirical(Arc<[(f64, f64)]>),
}

impl SizeLaw {
    /// Draws a size: a whole number of bytes, at least 1 and at most 10^15.
    pub fn draw(&self, stream: &mut Stream) -> u64 {
        let bytes = match self {
            SizeLaw::Exponential { mean } => stream.exponential(*mean),
            SizeLaw::Pareto { mean, shape } => stream.pareto(*mean, *shape),
            SizeLaw::BoundedPareto { min, max, shape } => {
                // Inverse transform: F(x) = (1 - (min/x)^a) / (1 - (min/max)^a).
                let part = 1.0 - math::pow(min / max, *shape);
                min / math::pow(1.0 - stream.unit() * part, 1.0 / shape)
            }
            SizeLaw::Empirical(points) => quantile(points, stream.unit()),
        };
        // A float becomes an integer by saturation.
        (math::floor(bytes + 0.5) as u64).clamp(1, 1_000_000_000_000_000)
    }

    /// The mean [bytes].
    pub fn mean(&self) -> f64 {
        match self {
            SizeLaw::Exponential { mean } | SizeLaw::Pareto { mean, .. } => *mean,
            SizeLaw::BoundedPareto { min, max, shape } => {
                let (l, h, a) = (*min, *max, *shape);
                let scale = math::pow(l, a) / (1.0 - math::pow(l / h, a));
                if a == 1.0 {
                    scale * math::ln(h / l)
                } else {
                    scale * a / (a - 1.0) * (math::pow(l, 1.0 - a) - math::pow(h, 1.0 - a))
                }
            }
            SizeLaw::Empirical(points) => {
                let first = points.first().map_or(0.0, |(bytes, share)| bytes * share);
                points.windows(2).fold(first, |sum, pair| {
                    let [(low, before), (high, after)] = [pair[0], pair[1]];
                    sum + (after - before) * (low + high) / 2.0
                })
            }
        }
    }
}

/// Where a distribution function reaches `share`.
fn quantile(points: &[(f64, f64)], share: f64) -> f64 {
    let at = points.partition_point(|(_, upto)| *upto <= share).min(points.len() - 1);
    let (high, after) = points[at];
    match at.checked_sub(1).map(|before| points[before]) {
        None => high,
        Some((low, before)) => low + (high - low) * (share - before) / (after - before),
    }
}

/// Flows that come one after another while the run goes on, each a transfer of its own. `start` of
/// the group is when the first may come, `stop` when no more come.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrivals {
    /// The gaps between them.
    pub gap: GapLaw,
    /// No more than this many come.
    pub most: Option<u64>,
}

/// The time between two arrivals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GapLaw {
    /// A Poisson process with this mean gap [s].
    Poisson {
        /// The mean gap [s].
        mean_s: f64,
    },
    /// Always the same.
    Every(Span),
}

impl GapLaw {
    /// Draws the time to the next arrival.
    pub fn draw(&self, stream: &mut Stream) -> Span {
        match *self {
            // A float becomes an integer by saturation.
            GapLaw::Poisson { mean_s } => Span((stream.exponential(mean_s) * 1e12) as u64),
            GapLaw::Every(gap) => gap,
        }
    }
}

/// The most layers that a video has.
pub const MAX_LAYERS: usize = 8;

/// What the application offers to the transport.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum App {
    /// All it has, at once.
    #[default]
    Greedy,
    /// A packet at a time, at this rate.
    Rate(Rate),
    /// A packet at a time, by a Poisson process with this mean rate of full packets.
    Poisson(Rate),
    /// A packet at a time at this rate while it is on, nothing while it is off. It starts on.
    OnOff {
        /// The rate while it is on.
        rate: Rate,
        /// How long it is on.
        on: DelayLaw,
        /// How long it is off.
        off: DelayLaw,
    },
    /// A packet at a time, at the rate of as many layers as the flow's own rate has room for.
    Layers {
        /// The rate of so many layers together, from one on; the same from the last one on.
        sums: [Rate; MAX_LAYERS],
        /// From one choice to the next.
        every: Span,
    },
    /// What has arrived at the sink of the flow of the same number of another group.
    Relay {
        /// The group's number.
        of: usize,
        /// Packets that may lie between that sink and this flow's acknowledgements.
        buffer: Option<u64>,
    },
}

impl App {
    /// The key of a group that says it.
    pub fn key(&self) -> &'static str {
        match self {
            App::Greedy => "size",
            App::Rate(_) | App::Poisson(_) | App::OnOff { .. } => "rate",
            App::Layers { .. } => "layers",
            App::Relay { .. } => "relay",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_of(law: &SizeLaw, n: u32) -> f64 {
        let mut stream = Stream::new(1, 0, "sizes");
        (0..n).map(|_| law.draw(&mut stream) as f64).sum::<f64>() / f64::from(n)
    }

    #[test]
    fn draws_have_the_stated_means() {
        // Pareto with shape 2.5 has a finite variance: sd = mean / sqrt(a(a-2)) = 0.894 mean.
        let laws = [
            SizeLaw::Exponential { mean: 30_000.0 },
            SizeLaw::Pareto { mean: 30_000.0, shape: 2.5 },
            SizeLaw::BoundedPareto { min: 1_000.0, max: 1e6, shape: 1.2 },
            SizeLaw::BoundedPareto { min: 1_000.0, max: 1e6, shape: 1.0 },
            SizeLaw::Empirical([(1_000.0, 0.5), (2_000.0, 0.5), (4_000.0, 1.0)].into()),
        ];
        for law in laws {
            let (drawn, stated) = (mean_of(&law, 400_000), law.mean());
            assert!((drawn / stated - 1.0).abs() < 0.02, "{law:?}: {drawn} for {stated}");
        }
    }

    #[test]
    fn means_worked_by_hand() {
        // Half of the flows 1000 B, the other half even from 2000 to 4000: 500 + 0.5 * 3000.
        let law = SizeLaw::Empirical([(1_000.0, 0.5), (2_000.0, 0.5), (4_000.0, 1.0)].into());
        assert_eq!(law.mean(), 2000.0);
        // 1/x on [1, e]: the density is 1/(1-1/e)/x^2, the mean 1/(1-1/e) = 1.58198.
        let e = 1.0_f64.exp_m1() + 1.0;
        let law = SizeLaw::BoundedPareto { min: 1.0, max: e, shape: 1.0 };
        assert!((law.mean() - 1.581_976_7).abs() < 1e-6);
    }

    #[test]
    fn a_quantile_is_where_the_distribution_reaches_it() {
        let points = [(1_000.0, 0.5), (3_000.0, 1.0)];
        for (share, bytes) in [(0.0, 1_000.0), (0.49, 1_000.0), (0.5, 1_000.0), (0.75, 2_000.0)] {
            assert_eq!(quantile(&points, share), bytes);
        }
    }
}

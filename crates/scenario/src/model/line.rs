//! What a link's line does to packets besides serving them: capacity that changes, outages, losses,
//! jitter and reordering.

use std::sync::Arc;

use units::random::Stream;
use units::{Rate, Span};

/// A link's line. The default is a plain one: constant capacity, nothing lost, nothing out of
/// order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// How the capacity changes.
    pub capacity: Capacity,
    /// When nothing is served, in order and apart.
    pub outages: Vec<Outage>,
    /// Are packets that arrive in an outage lost? Otherwise the buffer holds them.
    pub outage_drops: bool,
    /// Packets lost on the line, after they were served.
    pub loss: Option<Loss>,
    /// A delay added to each packet.
    pub jitter: Option<Jitter>,
    /// Packets that are held up, so that later ones overtake them.
    pub reorder: Option<Reorder>,
}

impl Line {
    /// May a packet leave the line before one that entered it earlier?
    pub fn reorders(&self) -> bool {
        self.reorder.is_some() || self.jitter.as_ref().is_some_and(|jitter| !jitter.in_order)
    }
}

/// A device that takes packets from the queue before their service begins, first in first out, as
/// a network card's ring does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// Packets that it holds besides the one in service; not zero.
    pub packets: u32,
    /// With byte queue limits: how long what is above need has to last before the limit falls.
    pub bql: Option<Span>,
}

/// How a link's capacity changes over time. A change applies to the bits left of the packet in
/// service.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Capacity {
    /// It is always the link's rate.
    #[default]
    Constant,
    /// It is the link's rate up to the first step, then each step's; in order of time.
    Steps(Vec<Step>),
    /// It is what a trace delivers; the link's rate is the trace's mean.
    Trace(Trace),
}

/// A new capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// From then on.
    pub at: Span,
    /// Not zero.
    pub rate: Rate,
}

/// A trace in mahimahi's format: each number is a millisecond in which [`Trace::BYTES`] may leave.
/// After the last one it starts again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The milliseconds, none before the one in front of it; the last is the period, above zero.
    pub opportunities_ms: Arc<[u32]>,
}

impl Trace {
    /// What one opportunity lets through: one full packet of mahimahi's, or several smaller ones.
    pub const BYTES: u32 = 1500;
}

/// A time in which a link serves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// It begins.
    pub from: Span,
    /// It is over.
    pub to: Span,
}

/// Losses on a line.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    /// Which packets are lost.
    pub model: LossModel,
    /// Are only data packets counted and lost?
    pub data_only: bool,
}

/// Which packets a line loses.
#[derive(Clone, Debug, PartialEq)]
pub enum LossModel {
    /// Each with this probability, independently.
    Random(f64),
    /// Gilbert and Elliott: a chain of two states that takes a step with each packet.
    GilbertElliott {
        /// Probability of the step from good to bad.
        to_bad: f64,
        /// Probability of the step from bad to good.
        to_good: f64,
        /// Probability of a loss in the good state.
        loss_good: f64,
        /// Probability of a loss in the bad state.
        loss_bad: f64,
    },
    /// Every n-th, n at least 1.
    Every(u64),
    /// These, counted from 1, in ascending order.
    List(Arc<[u64]>),
}

/// A delay added to each packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Jitter {
    /// How long.
    pub extra: DelayLaw,
    /// Does a packet wait for those that entered before it? Otherwise it overtakes them.
    pub in_order: bool,
}

/// Packets that are held up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reorder {
    /// Each packet with this probability, independently.
    pub p: f64,
    /// For so long.
    pub extra: Span,
}

/// A distribution of times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DelayLaw {
    /// Always the same.
    Fixed(Span),
    /// Even between the two.
    Uniform(Span, Span),
    /// Exponential with this mean.
    Exponential(Span),
    /// Normal, negative values counted as zero.
    Normal {
        /// The mean.
        mean: Span,
        /// The standard deviation.
        sd: Span,
    },
    /// Pareto.
    Pareto {
        /// The mean.
        mean: Span,
        /// The shape, above 1.
        shape: f64,
    },
}

impl DelayLaw {
    /// The mean [s], or for a normal law something near it: what is below zero counts as zero.
    pub fn about(&self) -> f64 {
        match *self {
            DelayLaw::Fixed(span) | DelayLaw::Exponential(span) => span.as_secs(),
            DelayLaw::Uniform(low, high) => (low.as_secs() + high.as_secs()) / 2.0,
            DelayLaw::Normal { mean, sd } => mean.as_secs().max(0.4 * sd.as_secs()),
            DelayLaw::Pareto { mean, .. } => mean.as_secs(),
        }
    }

    /// Draws a time; at most an hour.
    pub fn draw(&self, stream: &mut Stream) -> Span {
        let ps = match *self {
            DelayLaw::Fixed(span) => return span,
            DelayLaw::Uniform(low, high) => stream.uniform(low.0 as f64, high.0 as f64),
            DelayLaw::Exponential(mean) => stream.exponential(mean.0 as f64),
            DelayLaw::Normal { mean, sd } => stream.normal(mean.0 as f64, sd.0 as f64),
            DelayLaw::Pareto { mean, shape } => stream.pareto(mean.0 as f64, shape),
        };
        // A float becomes an integer by saturation; below zero it is zero.
        Span(ps as u64).min(Span::from_secs(3600))
    }
}

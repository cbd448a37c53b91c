//! Random lines, and what a line can carry, worked out naively.

use scenario::{
    Capacity, DelayLaw, Device, Jitter, Line, Link, Loss, LossModel, Outage, Reorder, Step, Trace,
};
use units::random::Stream;
use units::{Rate, Span};

/// Gives some links of a scenario lines that are not plain; half of the scenarios stay as they are.
pub fn spoil(links: &mut [Link], stream: &mut Stream) {
    if stream.chance(0.5) {
        return;
    }
    for link in links {
        if stream.chance(0.6) {
            let capacity = capacity(stream, link.rate);
            if let Capacity::Trace(trace) = &capacity {
                link.rate = mean(trace);
            }
            link.line = line(stream, capacity);
        }
    }
}

/// Gives some links of a quarter of the scenarios a device below the queue.
pub fn equip(links: &mut [Link], stream: &mut Stream) {
    if stream.chance(0.75) {
        return;
    }
    for link in links {
        if stream.chance(0.5) {
            let packets = 1 + below(stream, 20) as u32;
            let bql = stream.chance(0.5).then(|| span(stream, Span::from_millis(100)));
            link.device = Some(Device { packets, bql });
        }
    }
}

fn below(stream: &mut Stream, n: u64) -> u64 {
    stream.bits() % n
}

fn span(stream: &mut Stream, most: Span) -> Span {
    Span(below(stream, most.0))
}

fn line(stream: &mut Stream, capacity: Capacity) -> Line {
    let jitter = stream.chance(0.4).then(|| jitter(stream));
    let reorder = stream.chance(0.3).then(|| Reorder {
        p: stream.uniform(0.0, 0.3),
        extra: span(stream, Span::from_millis(60)),
    });
    Line {
        capacity,
        outages: outages(stream),
        outage_drops: stream.chance(0.5),
        loss: stream.chance(0.5).then(|| loss(stream)),
        jitter,
        reorder,
    }
}

fn capacity(stream: &mut Stream, rate: Rate) -> Capacity {
    match below(stream, 4) {
        0 => {
            let mut at = Span::ZERO;
            let count = 1 + below(stream, 6);
            let steps = (0..count).map(|_| {
                at += span(stream, Span::from_secs(1));
                let bps = rate.as_bps() * units::math::exp(stream.uniform(-1.5, 1.5));
                Step { at, rate: Rate(bps as u64) }
            });
            Capacity::Steps(steps.collect())
        }
        1 => {
            // At least one opportunity in 100 ms.
            let period = 1 + below(stream, 1000);
            let count = period / 100 + 1 + below(stream, 200);
            let mut list: Vec<u32> = (1..count).map(|_| below(stream, period + 1) as u32).collect();
            list.sort_unstable();
            list.push(period as u32);
            Capacity::Trace(Trace { opportunities_ms: list.into() })
        }
        _ => Capacity::Constant,
    }
}

fn mean(trace: &Trace) -> Rate {
    let period = u64::from(*trace.opportunities_ms.last().expect("not empty"));
    let bits = trace.opportunities_ms.len() as u64 * u64::from(Trace::BYTES) * 8;
    Rate(bits * 1000 / period)
}

fn outages(stream: &mut Stream) -> Vec<Outage> {
    let mut at = Span::ZERO;
    let count = below(stream, 4);
    let outages = (0..count).map(|_| {
        let from = at + span(stream, Span::from_millis(1500));
        at = from + span(stream, Span::from_millis(500)) + Span(1);
        Outage { from, to: at }
    });
    outages.collect()
}

fn loss(stream: &mut Stream) -> Loss {
    let model = match below(stream, 4) {
        0 => LossModel::Random(stream.uniform(0.0, 0.05)),
        1 => LossModel::GilbertElliott {
            to_bad: stream.uniform(0.0, 0.02),
            to_good: stream.uniform(0.2, 1.0),
            loss_good: stream.uniform(0.0, 0.01),
            loss_bad: stream.unit(),
        },
        2 => LossModel::Every(15 + below(stream, 300)),
        _ => {
            let mut list: Vec<u64> =
                (0..below(stream, 30)).map(|_| 1 + below(stream, 300)).collect();
            list.sort_unstable();
            list.dedup();
            LossModel::List(list.into())
        }
    };
    Loss { model, data_only: stream.chance(0.5) }
}

fn jitter(stream: &mut Stream) -> Jitter {
    let most = Span::from_millis(30);
    let (a, b) = (span(stream, most), span(stream, most));
    let extra = match below(stream, 5) {
        0 => DelayLaw::Fixed(a),
        1 => DelayLaw::Uniform(a.min(b), a.max(b)),
        2 => DelayLaw::Exponential(a),
        3 => DelayLaw::Normal { mean: a, sd: b },
        _ => DelayLaw::Pareto { mean: a, shape: stream.uniform(1.2, 3.0) },
    };
    Jitter { extra, in_order: stream.chance(0.5) }
}

/// The bits that can leave a link after `from` and up to `to`.
pub fn bits(link: &Link, from: Span, to: Span) -> f64 {
    let line = &link.line;
    let out = |at: Span| line.outages.iter().any(|outage| outage.from <= at && at < outage.to);
    if let Capacity::Trace(trace) = &line.capacity {
        let period = u64::from(*trace.opportunities_ms.last().expect("not empty"));
        let cycles = to.0 / Span::from_millis(period).0 + 1;
        let all = (0..cycles).flat_map(|cycle| {
            let list = trace.opportunities_ms.iter();
            list.map(move |&at| Span::from_millis(cycle * period + u64::from(at)))
        });
        let within = all.filter(|&at| from < at && at <= to && !out(at)).count();
        return within as f64 * f64::from(Trace::BYTES) * 8.0;
    }
    let steps = match &line.capacity {
        Capacity::Steps(steps) => &steps[..],
        _ => &[],
    };
    let mut edges: Vec<Span> = steps.iter().map(|step| step.at).collect();
    edges.extend(line.outages.iter().flat_map(|outage| [outage.from, outage.to]));
    edges.retain(|&edge| from < edge && edge < to);
    edges.extend([from, to]);
    edges.sort();
    let pieces = edges.windows(2).map(|pair| {
        let step = steps.iter().rev().find(|step| step.at <= pair[0]);
        let rate = step.map_or(link.rate, |step| step.rate).as_bps();
        if out(pair[0]) { 0.0 } else { rate * (pair[1] - pair[0]).as_secs() }
    });
    pieces.sum()
}

//! Links: the fluid queue, RED's average, and what packets learn there.

use cc::roles::Limit;
use results::metrics::Occupancy;
use scenario::{Capacity, Scenario, Sending, XcpForm};
use units::{Span, Time, math};

use crate::Unsupported;
use crate::load::{LoadRule, LoadState};
use crate::params::Part;
use crate::xcp::{Told, XcpRule, XcpState};

/// What arrives at a link at an instant; one cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub struct Inflow {
    /// Data [bytes/s].
    pub data: f64,
    /// ACKs [bytes/s].
    pub acks: f64,
    /// Of the data, that of senders without ECN [bytes/s].
    pub plain: f64,
    /// Flows (XCP: times their prices), or for load factors packets/s.
    pub flows: f64,
    /// The same times their RTTs.
    pub flow_rtts: f64,
    /// Of `flows` and of all data, what iXCP's packets name this link as bottleneck.
    pub own_flows: f64,
    pub own_data: f64,
}

impl Inflow {
    /// All bytes/s.
    pub fn bytes(&self) -> f64 {
        self.data + self.acks
    }

    /// Adds `other`, `times` times.
    pub fn add(&mut self, other: &Inflow, times: f64) {
        self.data += times * other.data;
        self.acks += times * other.acks;
        self.plain += times * other.plain;
        self.flows += times * other.flows;
        self.flow_rtts += times * other.flow_rtts;
        self.own_flows += times * other.own_flows;
        self.own_data += times * other.own_data;
    }
}

/// What packets learn at a link at an instant; one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Signal {
    /// Queueing delay [s].
    pub delay: f64,
    /// How many times as fast as it arrived what arrives now will leave: C/y while something waits.
    pub pace: f64,
    /// Share of the arrivals lost to a full buffer.
    pub overflow: f64,
    /// Share of the packets without ECN that RED drops, and of those with it that it marks.
    pub early: f64,
    /// XCP: xi_p and xi_n [1/s^2 of bytes, 1/s]; the spare ones of iXCP. Load factors: f[0] is rho.
    pub f: [f64; 2],
    /// iXCP: those of the shuffled traffic.
    pub own: [f64; 2],
}

impl Default for Signal {
    fn default() -> Signal {
        let (f, own) = ([0.0; 2], [0.0; 2]);
        Signal { delay: 0.0, pace: 1.0, overflow: 0.0, early: 0.0, f, own }
    }
}

impl Signal {
    /// Of what reaches the link, the rate that leaves it: what is not lost, spaced anew.
    #[inline]
    pub fn passes(&self, ecn: bool) -> f64 {
        self.keeps(ecn) * self.pace
    }

    /// Of what reaches the link, the share that is not lost.
    #[inline]
    pub fn keeps(&self, ecn: bool) -> f64 {
        let kept = if ecn { 1.0 } else { 1.0 - self.early };
        kept * (1.0 - self.overflow)
    }

    /// The signal a share of the way from one to another.
    #[inline]
    pub fn between(a: &Signal, b: &Signal, share: f64) -> Signal {
        let mix = |a: f64, b: f64| a + share * (b - a);
        Signal {
            delay: mix(a.delay, b.delay),
            pace: mix(a.pace, b.pace),
            overflow: mix(a.overflow, b.overflow),
            early: mix(a.early, b.early),
            f: [mix(a.f[0], b.f[0]), mix(a.f[1], b.f[1])],
            own: [mix(a.own[0], b.own[0]), mix(a.own[1], b.own[1])],
        }
    }
}

/// RED: the probability is linear in the average, in two pieces if gentle.
#[derive(Clone, Debug)]
pub struct RedRule {
    min_th: f64,
    max_th: f64,
    max_p: f64,
    /// 0: 1 - exp(-1/C), C in packets/s.
    w_q: f64,
    gentle: bool,
    wait: bool,
    /// Does it mark what is capable of ECN?
    pub marks: bool,
}

impl RedRule {
    fn new(part: &Part, buffer_pkts: f64) -> RedRule {
        let threshold = |name, ratio| {
            let absolute = part.number(name);
            let ratio = part.number(ratio) * buffer_pkts;
            if absolute > 0.0 { absolute } else { ratio }
        };
        RedRule {
            min_th: threshold("min_th", "min_th_ratio"),
            max_th: threshold("max_th", "max_th_ratio"),
            max_p: part.number("max_p"),
            w_q: part.number("w_q"),
            gentle: part.flag("gentle"),
            wait: part.flag("wait"),
            marks: part.flag("ecn"),
        }
    }

    /// p_b (Floyd and Jacobson, section 4).
    pub fn p_b(&self, average: f64) -> f64 {
        if average < self.min_th {
            0.0
        } else if average < self.max_th {
            self.max_p * (average - self.min_th) / (self.max_th - self.min_th)
        } else if self.gentle {
            (self.max_p + (1.0 - self.max_p) * (average / self.max_th - 1.0)).min(1.0)
        } else {
            1.0
        }
    }

    /// The share of packets picked: one over the mean gap. Gaps are even on 1 to 1/p_b, or with
    /// `wait` on 1/p_b to 2/p_b - 1.
    pub fn picked(&self, p_b: f64) -> f64 {
        if p_b <= 0.0 {
            return 0.0;
        }
        let gap = if self.wait { 1.5 / p_b - 0.5 } else { 0.5 / p_b + 0.5 };
        (1.0 / gap).min(1.0)
    }
}

/// What a link tells packets.
#[derive(Clone, Debug)]
pub enum Feedback {
    None,
    Xcp(XcpRule),
    Load(LoadRule),
}

/// A link: what does not change.
#[derive(Clone, Debug)]
pub struct Rule {
    pub red: Option<RedRule>,
    pub feedback: Feedback,
    /// Capacities [bytes/s] from these times on [s].
    pub steps: Vec<(f64, f64)>,
    /// The buffer [bytes].
    pub buffer: f64,
    pub packet: f64,
    pub ack: f64,
}

impl Rule {
    pub fn of(scenario: &Scenario, number: usize) -> Result<Rule, Unsupported> {
        let link = &scenario.links[number];
        let packet = f64::from(scenario.packets.data_bytes);
        let buffer = match link.limit {
            Limit::Bytes(bytes) => bytes as f64,
            Limit::Packets(packets) => f64::from(packets) * packet,
        };
        let queue = &link.queue;
        let key = format!("queues.{}", queue.name);
        let policy = Part::queue(&queue.name, &queue.policy);
        let red = match queue.policy.kind {
            "red" => Some(RedRule::new(&policy, buffer / packet)),
            "droptail" => None,
            other => return Err(Unsupported::queue(&key, other)),
        };
        policy.all_read()?;
        let feedback = match &queue.feedback {
            None => Feedback::None,
            Some(part) => {
                let read = Part::queue(&queue.name, part);
                let mut rule = match FEEDBACK.iter().find(|(name, _)| *name == part.kind) {
                    Some((_, make)) => make(&read, scenario.fluid.xcp),
                    None => return Err(Unsupported::queue(&key, part.kind)),
                };
                read.all_read()?;
                if let Feedback::Xcp(xcp) = &mut rule {
                    xcp.accounts = scenario.fluid.sending == Sending::Acks;
                }
                rule
            }
        };
        let mut steps = vec![(0.0, link.rate.bytes_per_sec())];
        if let Capacity::Steps(list) = &link.line.capacity {
            steps.extend(list.iter().map(|s| (s.at.as_secs(), s.rate.bytes_per_sec())));
        }
        let ack = f64::from(scenario.packets.ack_bytes);
        Ok(Rule { red, feedback, steps, buffer, packet, ack })
    }

    /// Bytes that can leave from `from` to `to`, and the capacity at `to` [bytes/s].
    pub fn capacity(&self, from: f64, to: f64) -> (f64, f64) {
        if let [(_, only)] = self.steps[..] {
            return (only * (to - from), only);
        }
        let mut bytes = 0.0;
        let mut last = self.steps[0].1;
        for (i, &(at, rate)) in self.steps.iter().enumerate() {
            let end = self.steps.get(i + 1).map_or(f64::INFINITY, |next| next.0);
            bytes += rate * (end.min(to) - at.max(from)).max(0.0);
            if at <= to {
                last = rate;
            }
        }
        (bytes, last)
    }
}

type MakeFeedback = fn(&Part, XcpForm) -> Feedback;

/// The fluid forms of queues with feedback, by their names in the registry.
pub const FEEDBACK: &[(&str, MakeFeedback)] = &[
    ("xcp", |part, form| Feedback::Xcp(XcpRule::new(part, form, false))),
    ("ixcp", |part, form| Feedback::Xcp(XcpRule::new(part, form, true))),
    ("vcp", |part, _| Feedback::Load(LoadRule::vcp(part))),
    ("mlcp", |part, _| Feedback::Load(LoadRule::mlcp(part))),
    ("dpcp", |part, _| Feedback::Load(LoadRule::dpcp(part))),
];

/// Totals since the start, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    pub data: f64,
    pub acks: f64,
    pub served: f64,
    pub dropped: f64,
    pub marked: f64,
    /// What could have been served.
    pub capacity: f64,
}

impl Totals {
    fn map(self, other: Totals, mix: impl Fn(f64, f64) -> f64) -> Totals {
        Totals {
            data: mix(self.data, other.data),
            acks: mix(self.acks, other.acks),
            served: mix(self.served, other.served),
            dropped: mix(self.dropped, other.dropped),
            marked: mix(self.marked, other.marked),
            capacity: mix(self.capacity, other.capacity),
        }
    }

    /// What came since `before`.
    pub fn since(self, before: Totals) -> Totals {
        self.map(before, |now, before| now - before)
    }

    /// The totals a share of the way from `before`.
    pub fn between(self, before: Totals, share: f64) -> Totals {
        self.map(before, |now, before| before + share * (now - before))
    }
}

/// A link: what changes.
#[derive(Clone, Debug)]
pub struct Link {
    /// Waiting [bytes].
    pub q: f64,
    /// Capacity [bytes/s].
    pub c: f64,
    /// RED's average [packets].
    pub average: f64,
    pub load: Option<LoadState>,
    /// XCP's and iXCP's, where the router has control intervals.
    xcp: Option<XcpState>,
    /// What packets cost it in this step, where it keeps account [bytes/s^2].
    pub paid: Told,
    /// What arrives at the last node.
    pub y: Inflow,
    pub signal: Signal,
    pub totals: Totals,
}

impl Link {
    pub fn new(rule: &Rule) -> Link {
        let load = match &rule.feedback {
            Feedback::Load(rule) => Some(LoadState::new(rule)),
            _ => None,
        };
        let xcp = match &rule.feedback {
            Feedback::Xcp(rule) => rule.intervals.as_ref().map(XcpState::new),
            _ => None,
        };
        Link {
            q: 0.0,
            c: rule.steps[0].1,
            average: 0.0,
            load,
            xcp,
            paid: ([0.0; 2], [0.0; 2]),
            y: Inflow::default(),
            signal: Signal::default(),
            totals: Totals::default(),
        }
    }

    /// A step from `from` to `to`, where `y` arrives.
    ///
    /// Volumes, not rates, are stepped: what comes in over the step (the mean of its ends) leaves
    /// as far as the capacity goes, waits as far as the buffer goes, and the rest is lost. So the
    /// queue keeps its bounds and no byte appears or vanishes, however long the step.
    pub fn advance(&mut self, rule: &Rule, (from, to): (f64, f64), y: Inflow) {
        let h = to - from;
        let (data, acks) = (h * (self.y.data + y.data) / 2.0, h * (self.y.acks + y.acks) / 2.0);
        let plain = h * (self.y.plain + y.plain) / 2.0;
        let (could, c) = rule.capacity(from, to);
        let early = self.signal.early;
        let dropped = early * plain;
        let inflow = data + acks - dropped;
        let there = self.q + inflow;
        let served = could.min(there);
        let rest = there - served;
        let overflow = (rest - rule.buffer).max(0.0);
        let before = self.q;
        self.q = rest - overflow;
        self.c = c;
        let mean = (before + self.q) / 2.0;
        if let Some(red) = &rule.red {
            self.age(red, rule, (h, mean), (y, before));
        }
        if let Some(load) = &mut self.load
            && let Feedback::Load(rule) = &rule.feedback
        {
            let rtt = (y.flows > 0.0).then(|| y.flow_rtts / y.flows);
            load.advance(rule, h, (data + acks, mean), rtt);
        }
        if let Some(state) = &mut self.xcp
            && let Feedback::Xcp(rule) = &rule.feedback
        {
            state.advance(rule, (from, to), (&self.y, &y), (c, self.q, &self.paid));
        }
        self.totals.data += data;
        self.totals.acks += acks;
        self.totals.served += served;
        self.totals.dropped += dropped + overflow;
        self.totals.capacity += could;
        self.totals.marked += match (&self.load, &rule.red) {
            (Some(load), _) if load.code > 0 => data,
            (_, Some(red)) if red.marks => early * (data - plain),
            _ => 0.0,
        };
        self.y = y;
        self.signal = self.tell(rule, if inflow > 0.0 { overflow / inflow } else { 0.0 });
    }

    /// RED's average moves by w_q at each arrival, and ages by packets' times while nothing waits.
    fn age(
        &mut self,
        red: &RedRule,
        rule: &Rule,
        (h, mean): (f64, f64),
        (y, before): (Inflow, f64),
    ) {
        let idle = before <= 0.0 && self.q <= 0.0;
        let arrivals = y.data / rule.packet + y.acks / rule.ack;
        let pace = if idle { self.c / rule.packet } else { arrivals };
        let forgets = match red.w_q > 0.0 {
            true => math::ln(1.0 - red.w_q.min(1.0 - 1e-12)),
            false => -rule.packet / self.c,
        };
        let keep = math::exp(forgets * pace * h);
        self.average = mean / rule.packet + keep * (self.average - mean / rule.packet);
    }

    /// What XCP's packets are told in a step of `h` in which `y` comes, where the router keeps
    /// account.
    pub fn limit(&mut self, y: &Inflow, h: f64) -> Told {
        self.xcp.as_mut().map_or(([0.0; 2], [0.0; 2]), |state| *state.limit(y, h))
    }

    fn tell(&self, rule: &Rule, overflow: f64) -> Signal {
        let early = rule.red.as_ref().map_or(0.0, |red| red.picked(red.p_b(self.average)));
        let enters = self.y.bytes() - early * self.y.plain;
        let waits = self.q > 0.0 && enters > 0.0;
        // What is lost does not leave.
        let pace = if waits { self.c / (enters * (1.0 - overflow)).max(1e-9) } else { 1.0 };
        let mut signal = Signal {
            delay: self.q / self.c,
            pace: pace.min(100.0),
            overflow,
            early,
            ..Signal::default()
        };
        match &rule.feedback {
            Feedback::None => {}
            Feedback::Xcp(xcp) => {
                (signal.f, signal.own) = match &self.xcp {
                    Some(state) => state.tell(xcp, &self.y),
                    None => xcp.feedback(self.c, self.q, &self.y),
                };
            }
            Feedback::Load(load) => {
                let state = self.load.as_ref().map_or(0.0, |load| load.q);
                let rho =
                    (self.y.bytes() + load.kappa_q * state / load.t_rho) / (load.gamma * self.c);
                signal.f[0] = rho;
            }
        }
        signal
    }
}

/// How long a queue was, by results' measure.
pub fn occupancy(scenario: &Scenario, rule: &Rule) -> Occupancy {
    let smallest = rule.packet.min(rule.ack).max(1.0);
    let warmup = Time::ZERO + scenario.warmup;
    Occupancy::new(warmup, (rule.buffer / smallest) as u64, rule.buffer as u64)
}

/// The instant in the engine's integer time.
pub fn time(seconds: f64) -> Time {
    Time::ZERO + Span::from_secs_f64(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-12 * b.abs().max(1.0)
    }

    fn plain(buffer: f64) -> Rule {
        Rule {
            red: None,
            feedback: Feedback::None,
            steps: vec![(0.0, 1000.0), (2.0, 500.0)],
            buffer,
            packet: 100.0,
            ack: 4.0,
        }
    }

    #[test]
    fn a_queue_fills_overflows_and_drains_by_volume() {
        let rule = plain(300.0);
        let mut link = Link::new(&rule);
        let y = Inflow { data: 1400.0, ..Inflow::default() };
        link.y = y;
        link.advance(&rule, (0.0, 0.5), y); // 700 in, 500 out
        assert!(near(link.q, 200.0) && near(link.signal.delay, 0.2));
        link.advance(&rule, (0.5, 1.0), y); // 700 in, 500 out, 100 over
        assert!(near(link.q, 300.0) && near(link.signal.overflow, 1.0 / 7.0));
        link.y = Inflow::default();
        link.advance(&rule, (1.0, 2.0), Inflow::default());
        assert_eq!((link.q, link.totals.served, link.totals.dropped), (0.0, 1300.0, 100.0));
    }

    #[test]
    fn a_capacity_step_within_a_step_counts_from_its_instant() {
        assert_eq!(plain(0.0).capacity(1.0, 4.0), (2000.0, 500.0));
        assert_eq!(plain(0.0).capacity(0.0, 1.0), (1000.0, 1000.0));
    }

    #[test]
    fn red_is_floyds_line_and_picks_one_in_a_mean_gap() {
        let red = RedRule::new(&Part::of_router("red"), 300.0);
        // Thresholds 100 and 200: 0.1 at 200, gentle up to 1 at 400: 0.55 at 300.
        assert!(near(red.p_b(150.0), 0.05) && near(red.p_b(300.0), 0.55));
        assert!(red.p_b(99.0) == 0.0 && near(red.p_b(500.0), 1.0));
        // Gaps of 20 to 39 at p_b = 0.05: mean 29.5.
        assert!(near(red.picked(0.05), 1.0 / 29.5));
    }
}

//! The routers of XCP and iXCP: Katabi, Handley, Rohrs, SIGCOMM 2002, section 3.5.

use scenario::XcpForm;

use crate::link::Inflow;
use crate::params::Part;
use crate::state::EPSILON;

/// XCP's efficiency and fairness controllers.
#[derive(Clone, Debug)]
pub struct XcpRule {
    pub alpha: f64,
    pub beta: f64,
    pub gamma: f64,
    pub target_queue: f64,
    /// Is the shuffled traffic that of the flows whose bottleneck this is (iXCP)?
    pub own: bool,
    /// Does feedback end when what there was for the interval is spent (appendix A)?
    pub accounts: bool,
    /// None: the router knows everything at every instant, as in the paper's section 4.
    pub intervals: Option<Intervals>,
}

/// The lengths of control intervals and of the windows of the persistent queue [s].
#[derive(Clone, Debug)]
pub struct Intervals {
    initial: f64,
    shortest: f64,
    /// The window of the persistent queue: this share of the propagation delay, and at least so
    /// long.
    window: f64,
    shortest_window: f64,
}

/// xi_p and xi_n [1/s^2 of bytes, 1/s], and those of the shuffled traffic if that is apart.
pub type Told = ([f64; 2], [f64; 2]);

impl XcpRule {
    pub fn new(part: &Part, form: XcpForm, own: bool) -> XcpRule {
        part.used("acks_first"); // by the model's crossings
        let intervals = (form == XcpForm::Intervals).then(|| Intervals {
            initial: part.number("initial_interval"),
            shortest: part.number("min_interval"),
            window: part.number("queue_window"),
            shortest_window: part.number("min_queue_window"),
        });
        XcpRule {
            alpha: part.number("alpha"),
            beta: part.number("beta"),
            gamma: part.number("gamma"),
            target_queue: part.number("target_queue"),
            own,
            accounts: false,
            intervals,
        }
    }

    /// Section 3.5 with sum(rtt*s/cwnd) = N*d per interval d. `c` and what arrives in bytes/s, `q`
    /// in bytes.
    pub fn feedback(&self, c: f64, q: f64, y: &Inflow) -> Told {
        let d = if y.flows > 0.0 { y.flow_rtts / y.flows } else { 0.0 };
        if d <= 0.0 || y.bytes() <= 0.0 {
            return ([0.0; 2], [0.0; 2]);
        }
        // phi/d
        let phi = self.alpha * (c - y.bytes()) - self.beta * (q - self.target_queue) / d;
        let shuffled = if self.own { y.own_data } else { y.bytes() };
        let h = (self.gamma * shuffled - phi.abs()).max(0.0);
        let share = |up: f64, down: f64, flows: f64, bytes: f64| {
            let over = |part: f64, whole: f64| if whole > 0.0 { part / (d * whole) } else { 0.0 };
            [over(up, flows), over(down, bytes)]
        };
        let (up, down) = (phi.max(0.0), (-phi).max(0.0));
        if self.own {
            let own = share(h, h, y.own_flows, y.own_data);
            return (share(up, down, y.flows, y.bytes()), own);
        }
        (share(up + h, down + h, y.flows, y.bytes()), [0.0; 2])
    }
}

/// What packets cost that bring `flows` and `bytes` per second and hold `held` [bytes/s^2], where
/// `told` is told and the shuffled traffic is `own` (appendix A; iXCP's R2).
pub fn cost(told: &Told, own: bool, held: f64, (flows, bytes): (f64, f64)) -> Told {
    let spare = [told.0[0] * flows, told.0[1] * bytes];
    let shuffle = if own { [told.1[0] * flows, told.1[1] * bytes] } else { [0.0; 2] };
    let ours = (spare[0] + shuffle[0]) - (spare[1] + shuffle[1]);
    if ours < held {
        return (spare, shuffle);
    }
    let (pos, neg) = if held > 0.0 { (held, ours - held) } else { (0.0, ours.max(0.0) - held) };
    if !own {
        return ([pos, neg], [0.0; 2]);
    }
    let split = |whole: f64, k: usize| {
        let both = spare[k] + shuffle[k];
        if both > 0.0 { whole * spare[k] / both } else { 0.0 }
    };
    let first = [split(pos, 0), split(neg, 1)];
    (first, [pos - first[0], neg - first[1]])
}

/// A router with control intervals: what changes. An interval ends with the step in which its end
/// lies; what it told goes over into what the next one tells along that step.
#[derive(Clone, Debug)]
pub struct XcpState {
    /// What came since `start`: the inflow times seconds.
    sum: Inflow,
    start: f64,
    end: f64,
    /// d, the flows' mean RTT [s].
    d: f64,
    /// The least queue of the running window and of the last one [bytes].
    lowest: f64,
    persistent: f64,
    window_end: f64,
    /// What the last interval saw and told.
    mean: Inflow,
    told: Told,
    /// Of what it told, what is left to give and to take [bytes/s], and what the last step told.
    left: Told,
    now: Told,
}

impl XcpState {
    pub fn new(intervals: &Intervals) -> XcpState {
        XcpState {
            sum: Inflow::default(),
            start: 0.0,
            end: intervals.initial.max(intervals.shortest),
            d: intervals.initial,
            lowest: f64::INFINITY,
            persistent: 0.0,
            window_end: intervals.initial.max(intervals.shortest_window),
            mean: Inflow::default(),
            told: ([0.0; 2], [0.0; 2]),
            left: ([0.0; 2], [0.0; 2]),
            now: ([0.0; 2], [0.0; 2]),
        }
    }

    /// What packets are told in a step of `h` in which `y` comes: as much as there is left.
    pub fn limit(&mut self, y: &Inflow, h: f64) -> &Told {
        let ((f, own), left) = (self.told, &self.left);
        let limit = |told: f64, left: f64, came: f64| {
            if told * came > left { left.max(0.0) / came } else { told }
        };
        let came = [h * y.flows, h * y.bytes(), h * y.own_flows, h * y.own_data];
        let spare = [limit(f[0], left.0[0], came[0]), limit(f[1], left.0[1], came[1])];
        let shuffle = [limit(own[0], left.1[0], came[2]), limit(own[1], left.1[1], came[3])];
        self.now = (spare, shuffle);
        &self.now
    }

    /// A step of `h` in which packets cost `paid` per second.
    fn spend(&mut self, paid: &Told, h: f64) {
        for side in 0..2 {
            self.left.0[side] -= h * paid.0[side];
            self.left.1[side] -= h * paid.1[side];
        }
    }

    /// What packets are told while `y` arrives. No more is handed out than for what was measured,
    /// so where there is more now each gets the less (the residues of appendix A).
    pub fn tell(&self, rule: &XcpRule, y: &Inflow) -> Told {
        if rule.accounts {
            return self.now;
        }
        let share = |there: f64, now: f64| if now > there { there / now } else { 1.0 };
        let (f, own) = self.told;
        let was = &self.mean;
        let bytes = share(was.bytes(), y.bytes());
        let up = [share(was.flows, y.flows), share(was.own_flows, y.own_flows)];
        let down = share(was.own_data, y.own_data);
        ([f[0] * up[0], f[1] * bytes], [own[0] * up[1], own[1] * down])
    }

    /// A step from `from` to `to` with what arrives at its ends, at a capacity of `c` and with a
    /// queue of `q` at `to`.
    pub fn advance(
        &mut self,
        rule: &XcpRule,
        (from, to): (f64, f64),
        y: (&Inflow, &Inflow),
        (c, q, paid): (f64, f64, &Told),
    ) {
        let Some(intervals) = &rule.intervals else { return };
        self.sum.add(y.0, (to - from) / 2.0);
        self.sum.add(y.1, (to - from) / 2.0);
        if rule.accounts {
            self.spend(paid, to - from);
        }
        self.lowest = self.lowest.min(q);
        if to >= self.window_end - EPSILON {
            self.persistent = self.lowest;
            self.lowest = f64::INFINITY;
            let window = (intervals.window * (self.d - q / c)).max(intervals.shortest_window);
            self.window_end = (self.window_end + window).max(to);
        }
        if to >= self.end - EPSILON {
            self.mean = Inflow::default();
            self.mean.add(&self.sum, 1.0 / (to - self.start));
            let mean = &self.mean;
            if mean.flows > 0.0 {
                self.d = mean.flow_rtts / mean.flows;
            }
            self.told = rule.feedback(c, self.persistent, mean);
            let ((f, own), d) = (self.told, self.d);
            let spare = [f[0] * mean.flows * d, f[1] * mean.bytes() * d];
            self.left = (spare, [own[0] * mean.own_flows * d, own[1] * mean.own_data * d]);
            self.sum = Inflow::default();
            self.start = to;
            self.end = (self.end + self.d.max(intervals.shortest)).max(to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-12 * b.abs().max(1.0)
    }

    fn rule(own: bool) -> XcpRule {
        XcpRule::new(&Part::of_router("xcp"), XcpForm::Intervals, own)
    }

    #[test]
    fn xcp_hands_out_phi_and_shuffles() {
        // Two flows of RTT 0.1 s, 800 of 1000 bytes/s used, no queue: phi/d = 0.4*200 = 80, h = 0:
        // xi_p = 80/(0.1*2) = 400, xi_n = 0.
        let y = Inflow { data: 800.0, flows: 2.0, flow_rtts: 0.2, ..Inflow::default() };
        let (f, own) = rule(false).feedback(1000.0, 0.0, &y);
        assert!(near(f[0], 400.0) && f[1] == 0.0 && own == [0.0; 2]);
        // Full and nothing waits: h = 100: xi_p = 100/0.2 = 500, xi_n = 100/(0.1*1000) = 1.
        let y = Inflow { data: 1000.0, flows: 2.0, flow_rtts: 0.2, ..Inflow::default() };
        let (f, _) = rule(false).feedback(1000.0, 0.0, &y);
        assert!(near(f[0], 500.0) && near(f[1], 1.0));
        // iXCP: 400 of it are this link's, of one flow: h = 40 among them, 40/0.1 and 40/(0.1*400).
        let y = Inflow { own_data: 400.0, own_flows: 1.0, ..y };
        let (f, own) = rule(true).feedback(1000.0, 0.0, &y);
        assert!(f == [0.0; 2] && near(own[0], 400.0) && near(own[1], 1.0));
    }

    #[test]
    fn an_interval_tells_what_the_one_before_saw() {
        let rule = rule(false);
        let mut state = XcpState::new(rule.intervals.as_ref().expect("the default"));
        let y = Inflow { data: 800.0, flows: 2.0, flow_rtts: 0.2, ..Inflow::default() };
        let nothing = Inflow::default();
        // The first one takes 50 ms. Half of it sees y: 400 bytes/s of one flow in the mean, so
        // phi/d = 0.4*600 = 240 and xi_p = 240/(0.1*1).
        state.advance(
            &rule,
            (0.0, 0.025),
            (&nothing, &nothing),
            (1000.0, 0.0, &([0.0; 2], [0.0; 2])),
        );
        state.advance(&rule, (0.025, 0.045), (&y, &y), (1000.0, 0.0, &([0.0; 2], [0.0; 2])));
        assert_eq!(state.told, ([0.0; 2], [0.0; 2]));
        state.advance(&rule, (0.045, 0.05), (&y, &y), (1000.0, 9.0, &([0.0; 2], [0.0; 2])));
        assert!(near(state.told.0[0], 2400.0) && near(state.end, 0.15), "{state:?}");
        // The queue's window began at 50 ms, too, and takes 50 ms less 9 ms: its least is 5 bytes.
        // phi/d = 80 - 0.226*5/0.1 = 68.7, h = 80 - 68.7: xi_p = 80/(0.1*2), xi_n = 11.3/(0.1*800).
        state.advance(&rule, (0.05, 0.1), (&y, &y), (1000.0, 5.0, &([0.0; 2], [0.0; 2])));
        state.advance(&rule, (0.1, 0.15), (&y, &y), (1000.0, 6.0, &([0.0; 2], [0.0; 2])));
        let [xi_p, xi_n] = state.told.0;
        assert!(near(xi_p, 400.0) && near(xi_n, 0.14125), "{state:?}");
    }

    /// The costs of `cc`'s tests of appendix A, of one packet of 1000 bytes.
    #[test]
    fn packets_cost_what_they_take_or_what_they_hold() {
        let none = [0.0; 2];
        let free = f64::INFINITY;
        // Underloaded: 41,548 bytes/s of increase, nothing taken.
        let told = ([41_548.0, 0.0], none);
        assert_eq!(cost(&told, false, free, (1.0, 1.0)), ([41_548.0, 0.0], none));
        // A router before gave 10,000: the rest goes to the other side.
        assert_eq!(cost(&told, false, 1e4, (1.0, 1.0)), ([1e4, 31_548.0], none));
        // It took 1000: both are taken for.
        assert_eq!(cost(&told, false, -1e3, (1.0, 1.0)), ([0.0, 42_548.0], none));
        // This one takes 2000 - 24 and the one before 4000: so much is paid, and nothing given.
        let told = ([24.0, 2000.0], none);
        assert_eq!(cost(&told, false, -4e3, (1.0, 1.0)), ([0.0, 4000.0], none));
        // iXCP: of 30 held, in the ratio of 60 to 20; 80 - 30 to the shuffle where nothing is
        // taken.
        let told = ([60.0, 0.0], [20.0, 0.0]);
        assert_eq!(cost(&told, true, 30.0, (1.0, 1.0)), ([22.5, 0.0], [7.5, 50.0]));
        assert_eq!(cost(&told, false, 30.0, (1.0, 1.0)), ([30.0, 30.0], none));
    }

    #[test]
    fn what_is_spent_is_told_no_more() {
        let rule = XcpRule { accounts: true, ..rule(false) };
        let mut state = XcpState::new(rule.intervals.as_ref().expect("the default"));
        let y = Inflow { data: 800.0, flows: 2.0, flow_rtts: 0.2, ..Inflow::default() };
        let nothing = ([0.0; 2], [0.0; 2]);
        state.advance(&rule, (0.0, 0.05), (&y, &y), (1000.0, 0.0, &nothing));
        // d = 0.1 s, phi/d = 80, h = 0: xi_p = 80/(0.1*2) = 400, and 80 may be given.
        assert!(near(state.limit(&y, 0.01).0[0], 400.0) && near(state.left.0[0], 80.0));
        // 800 bytes/s^2 over 60 ms are 48; what is left is enough for 40 ms.
        let paid = ([800.0, 0.0], [0.0; 2]);
        state.advance(&rule, (0.05, 0.11), (&y, &y), (1000.0, 0.0, &paid));
        assert!(near(state.left.0[0], 32.0));
        // As much in 60 ms more would cost 48: a flow gets 2/3, and then nothing.
        assert!(near(state.limit(&y, 0.06).0[0], 400.0 * 32.0 / 48.0));
        state.advance(&rule, (0.11, 0.13), (&y, &y), (1000.0, 0.0, &([1600.0, 0.0], [0.0; 2])));
        assert!(state.left.0[0].abs() < 1e-9 && state.limit(&y, 0.02).0[0].abs() < 1e-6);
    }
}

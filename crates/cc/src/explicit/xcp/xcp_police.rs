//! The agent that polices XCP's flows at the edge: Katabi, Handley, Rohrs, "Congestion control for
//! high bandwidth-delay product networks", SIGCOMM 2002, section 7.
//!
//! An honest flow says its window and its RTT, and does what feedback says one RTT later. The agent
//! has a state per flow. From time to time it tests one: it takes away a part of the window in the
//! feedback of some packets, grants nothing meanwhile, and looks when the window in the headers
//! falls by that much. All the time it compares what the flow sends in the RTT that it states with
//! the window that it states, and tests it at once when that is too much. So a flow is caught if
//!
//! - it ignores feedback: its window does not fall in time, and falling in its headers alone is the
//!   next case;
//! - it states a smaller window than it has: more than its window leaves before the response;
//! - it states a longer RTT, alone or with a larger window in the same ratio: its window falls long
//!   before the RTT that it states is over;
//! - it sends too much for three RTTs that it states, the window being too small for a test;
//! - it never states an RTT, which no test could wait for.
//!
//! ```math
//! take = theta*cwnd                  what a test takes from the stated window
//! H_cwnd <= peak - take/2            the response; peak is the largest window stated since
//! sent > (1 + ahead)*peak + 2*s      no response in time: the flow ignores feedback
//! sent_rtt > (1 + slack)*cwnd + 2*s  in each of three stated RTTs: it sends too much
//! ```
//!
//! A flagged flow is isolated: it is let in at the mean rate of the flows that are not flagged, or
//! not at all.
//!
//! A response to the first packet of a test is in a header one RTT later at the earliest, so no
//! test of a flow with a true window ends before, whatever it measures; two tests that are not to
//! be taken for one another need two RTTs. Until the first ACK of a test is with the sender it may
//! send the window that it had then, so the response is missing as soon as `1 + ahead` windows and
//! two packets have left, of which the agent need not measure the time. A flow that states a
//! fraction of its window takes that fraction of the time; one that states too long an RTT responds
//! after each true one, and takes two and the wait of D1.
//!
//! The paper has no more than the test with feedback, and that a flow which does not react within
//! an RTT is unresponsive. Everything else is ours:
//! - D1: a flow is flagged for what it does in two tests or three RTTs in a row, since packets that
//!   carry the test may be lost, an RTT may change, and late ACKs after a timeout let a flow send
//!   more than its window at once. The three RTTs are those that the flow states. The second test
//!   after an early response waits until the window falls no more: it would be answered by the
//!   first one's feedback.
//! - D2: a window below `min_window` is not tested: an honest one may be unable to fall.
//! - D3: a price (section 6) makes a flow state a part of its window; `price` is that of the link's
//!   flows.
//! - D4: a flow is known by its number. Transfers that take over the number of a finished one take
//!   over what is known of it.
//! - D5: packets with another protocol's header, or none, and ACKs pass.

use units::random::Stream;
use units::{Span, Time};

use super::controlled::Congestion;
use super::xcp::XcpHeader;
use crate::classes::{Place, Scheduler};
use crate::roles::{Passing, Router, RouterContext, Variable, Verdict};

choice! {
    /// What becomes of a flagged flow.
    pub enum Isolation {
        /// Nothing.
        None = "none",
        /// It is let in at the mean rate of the flows that are not flagged, once that is known.
        Limit = "limit",
        /// It is not let in.
        Drop = "drop",
    }
}

params! {
    /// The agent's parameters; none of them is in the paper.
    pub struct XcpPoliceParams {
        /// theta, the part of its window that a test takes from a flow.
        take: f64 = 0.3 => (0.05, 0.9);
        /// Time from a flow's first RTT estimate to its first test, on average [its RTTs].
        first: f64 = 10.0 => (1.0, 1e6);
        /// Time from a test that was passed to the next, on average [RTTs]; each is drawn between
        /// half and one and a half times that.
        period: f64 = 200.0 => (1.0, 1e9);
        /// A response later than this after a test began is none [the longest RTT stated since].
        late: f64 = 1.45 => (1.2, 10.0);
        /// A response earlier than this belongs to an RTT that is not the stated one [RTTs].
        early: f64 = 0.6 => (0.0, 1.0);
        /// How much more than its window may leave from the beginning of a test to the response,
        /// besides two packets: a later one is none.
        ahead: f64 = 0.1 => (0.0, 10.0);
        /// A flow that sends too much in an RTT is tested at once, unless it passed a test this
        /// short a time ago [RTTs].
        again: f64 = 10.0 => (0.0, 1e9);
        /// How much more than its window a flow may send in an RTT, besides two packets.
        slack: f64 = 0.5 => (0.0, 10.0);
        /// Windows below this are not tested [packets].
        min_window: f64 = 4.0 => (2.0, 1e6);
        /// Packets that a flow may send without stating an RTT.
        silent: u64 = 1000 => (1.0, 1e9);
        /// The price of the link's flows (section 6): a window is that many times what the header
        /// says.
        price: f64 = 1.0 => (0.001, 1000.0);
        /// What becomes of a flagged flow.
        isolation: Isolation = Isolation::Limit;
        /// Time over which the mean rate of the flows that are not flagged is measured.
        measured: Span = Span::from_secs(1) => (0.01, 100.0);
    }
}

/// Part of a window whose packets a test's feedback is written into.
const SPREAD: f64 = 0.15;
/// Part of what a test takes by which the window must have fallen.
const ENOUGH: f32 = 0.5;
/// Tests in a row without a response, or with one too early, for which a flow is flagged.
const FAILED: u8 = 2;
/// RTTs in a row with too much sent, for which a flow is flagged.
const EXCEEDED: u8 = 3;

/// Why a flow is flagged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    /// It ignores feedback.
    Ignores = 1,
    /// It sends more per RTT than its window.
    Exceeds = 2,
    /// It responds before the RTT that it states.
    Early = 3,
    /// It states no RTT.
    Silent = 4,
}

/// A flow is caught, for what it did since then.
struct Caught {
    reason: Reason,
    since: Time,
}

/// What is known of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watched {
    flagged: Option<Reason>,
    /// Tests in a row that it failed, whatever time between them, and the start of the first.
    failed: u8,
    first: Time,
    /// The measuring time of the mean rate in which it has sent last.
    epoch: u32,
    /// Packets without an RTT.
    silent: u32,
    /// RTTs in a row with too much sent, and when the first began; that of the first packet without
    /// one.
    exceeded: u8,
    over: Time,
    /// The running RTT of what is compared with the window: start, length [s], bytes; largest
    /// window stated in it and in the one before, and what the stated rates allow [bytes]; the
    /// packet before. Flagged: time and fill of its bucket.
    since: Time,
    before: Time,
    paced: f32,
    length: f32,
    bytes: f32,
    window: f32,
    window_before: f32,
    /// When a test was passed last.
    passed: Time,
    /// The running test: start, the shortest and the longest RTT stated since [s], what to take,
    /// what has been taken and what was sent since [bytes], the largest window stated since.
    /// Without one (`shortest` 0) the start of the next, and, after a failed one, the window of the
    /// packet before.
    start: Time,
    shortest: f32,
    longest: f32,
    take: f32,
    taken: f32,
    sent: f32,
    peak: f32,
}

impl Watched {
    /// The next test begins at `start`.
    fn wait(&mut self, start: Time) {
        (self.start, self.shortest, self.failed, self.peak) = (start, 0.0, 0, 0.0);
    }

    /// A test begins.
    fn test(&mut self, now: Time, (window, rtt): (f64, f64), part: f64) {
        if self.failed == 0 {
            self.first = now;
        }
        (self.start, self.shortest, self.longest) = (now, rtt as f32, rtt as f32);
        (self.take, self.taken) = ((part * window) as f32, 0.0);
        (self.sent, self.peak) = (0.0, window as f32);
    }

    /// May a test begin, which an early response to the one before could be mistaken for as long as
    /// the window falls?
    fn settled(&mut self, window: f64) -> bool {
        let before = self.peak;
        if self.failed > 0 {
            self.peak = window as f32;
        }
        self.failed == 0 || window as f32 >= before
    }

    /// A packet of so many bytes that states this window and RTT passes: has too much passed in
    /// three RTTs in a row? A window may be sent in a burst as soon as it is there, and, while the
    /// RTT changes, at the rate that both say at each time.
    fn exceeds(&mut self, now: Time, size: f64, (window, rtt): (f64, f64), slack: f64) -> bool {
        let passed = now.since(self.before).as_secs();
        self.before = now;
        self.paced += (window / rtt * passed) as f32;
        if now.since(self.since).as_secs() >= f64::from(self.length) {
            let most = self.window.max(self.window_before).max(self.paced);
            let allowed = (1.0 + slack) * f64::from(most) + 2.0 * size;
            if self.length > 0.0 && f64::from(self.bytes) > allowed {
                if self.exceeded == 0 {
                    self.over = self.since;
                }
                self.exceeded += 1;
            } else {
                self.exceeded = 0;
            }
            (self.since, self.length, self.bytes, self.paced) = (now, rtt as f32, 0.0, 0.0);
            (self.window_before, self.window) = (self.window, 0.0);
        }
        self.bytes += size as f32;
        self.window = self.window.max(window as f32);
        self.exceeded >= EXCEEDED
    }
}

/// The mean rate of the flows that are not flagged.
#[derive(Clone, Debug, Default)]
struct Mean {
    epoch: u32,
    until: Time,
    flows: f64,
    bytes: f64,
    /// Of the last epoch in which one sent, per flow [bytes/s]; 0 before the first is over.
    rate: f64,
}

impl Mean {
    fn pass(&mut self, now: Time, size: f64, epoch: &mut u32, measured: Span) {
        if now >= self.until {
            if self.flows > 0.0 {
                self.rate = self.bytes / self.flows / measured.as_secs();
            }
            (self.epoch, self.until) = (self.epoch.wrapping_add(1).max(1), now + measured);
            (self.flows, self.bytes) = (0.0, 0.0);
        }
        self.bytes += size;
        if *epoch != self.epoch {
            *epoch = self.epoch;
            self.flows += 1.0;
        }
    }
}

/// The agent: a link's policy.
#[derive(Clone, Debug)]
pub struct XcpPolice {
    params: XcpPoliceParams,
    stream: Stream,
    mean: Mean,
    tests: u64,
    flagged: u64,
    /// The flow flagged last, why, and the time that it took.
    last: Option<(u32, Reason)>,
    took: Span,
}

impl XcpPolice {
    /// A time of so many RTTs on average.
    fn after(&mut self, now: Time, rtts: f64, rtt: f64) -> Time {
        now + Span::from_secs_f64(rtts * rtt * self.stream.uniform(0.5, 1.5))
    }

    fn flag(&mut self, now: Time, flow: u32, watched: &mut Watched, caught: Caught) {
        self.took = now.since(caught.since);
        watched.flagged = Some(caught.reason);
        (watched.since, watched.bytes) = (now, 0.0);
        self.flagged += 1;
        self.last = Some((flow, caught.reason));
    }

    /// A packet of a flow that is tested.
    fn examine(
        &mut self,
        now: Time,
        watched: &mut Watched,
        (header, size): (&mut XcpHeader, f64),
        stated: (f64, f64),
    ) -> Option<Caught> {
        let XcpPoliceParams { late, early, ahead, .. } = self.params;
        let (window, rtt) = (stated.0 as f32, stated.1 as f32);
        let elapsed = now.since(watched.start).as_secs();
        watched.peak = watched.peak.max(window);
        watched.longest = watched.longest.max(rtt);
        watched.shortest = watched.shortest.min(rtt);
        watched.sent += size as f32;
        let most = (1.0 + ahead) * f64::from(watched.peak) + 2.0 * size;
        let due = f64::from(watched.sent) > most || elapsed > late * f64::from(watched.longest);
        let fallen = window <= watched.peak - ENOUGH * watched.take;
        if fallen && elapsed >= early * f64::from(watched.shortest) {
            let next = self.after(now, self.params.period, stated.1);
            watched.wait(next);
            watched.passed = now;
            return None;
        }
        if fallen || due {
            watched.failed += 1;
            if watched.failed >= FAILED {
                let reason = match (fallen, watched.exceeded > 0) {
                    (true, _) => Reason::Early,
                    (false, true) => Reason::Exceeds,
                    (false, false) => Reason::Ignores,
                };
                return Some(Caught { reason, since: watched.first });
            }
            if fallen || stated.0 < self.params.min_window * size {
                (watched.start, watched.shortest, watched.peak) = (now, 0.0, window);
                return None;
            }
            watched.test(now, stated, self.params.take);
            watched.sent = size as f32;
            self.tests += 1;
        }
        // What is taken comes from a part of a window's packets; the others get no increase.
        header.feedback = header.feedback.min(0.0);
        let left = f64::from(watched.take - watched.taken);
        if left > 0.0 {
            let part = self.params.take / SPREAD * size;
            header.feedback = header.feedback.min(-part.min(left));
            watched.taken -= header.feedback as f32;
        }
        None
    }

    /// A packet with a header leaves: is it the one by which its flow is caught?
    fn watch(
        &mut self,
        now: Time,
        watched: &mut Watched,
        header: &mut XcpHeader,
        size: f64,
    ) -> Option<Caught> {
        if header.stated(size).is_none() {
            if watched.silent == 0 {
                watched.over = now;
            }
            watched.silent = watched.silent.saturating_add(1);
            let many = u64::from(watched.silent) > self.params.silent;
            return many.then_some(Caught { reason: Reason::Silent, since: watched.over });
        }
        let stated = (header.cwnd * self.params.price, header.rtt);
        if watched.exceeds(now, size, stated, self.params.slack) {
            return Some(Caught { reason: Reason::Exceeds, since: watched.over });
        }
        if watched.shortest > 0.0 {
            return self.examine(now, watched, (header, size), stated);
        }
        if watched.start == Time::ZERO {
            let first = self.after(now, self.params.first, stated.1);
            watched.wait(first);
        }
        let again = self.params.again * stated.1;
        let suspect = watched.exceeded > 0
            && (watched.passed == Time::ZERO || now.since(watched.passed).as_secs() >= again);
        if watched.settled(stated.0)
            && (suspect || now >= watched.start)
            && stated.0 >= self.params.min_window * size
        {
            watched.test(now, stated, self.params.take);
            self.tests += 1;
            return self.examine(now, watched, (header, size), stated);
        }
        None
    }

    /// A packet of a flagged flow arrives.
    fn isolate(&self, now: Time, watched: &mut Watched, size: f64) -> Verdict {
        match self.params.isolation {
            Isolation::None => Verdict::Forward,
            Isolation::Drop => Verdict::Drop,
            // Nobody has been measured: there is nothing that others have.
            Isolation::Limit if self.mean.rate == 0.0 => Verdict::Forward,
            Isolation::Limit => {
                // A bucket of a hundredth of a second, or two packets.
                let most = (0.01 * self.mean.rate).max(2.0 * size);
                let fill = now.since(watched.since).as_secs() * self.mean.rate;
                let fill = (f64::from(watched.bytes) + fill).min(most);
                let verdict = if fill >= size { Verdict::Forward } else { Verdict::Drop };
                let left = if verdict == Verdict::Forward { fill - size } else { fill };
                (watched.since, watched.bytes) = (now, left as f32);
                verdict
            }
        }
    }
}

impl Router for XcpPolice {
    type Params = XcpPoliceParams;
    type Header = XcpHeader;

    fn new(params: &XcpPoliceParams, context: &RouterContext) -> XcpPolice {
        XcpPolice {
            params: params.clone(),
            stream: context.stream.clone(),
            mean: Mean::default(),
            tests: 0,
            flagged: 0,
            last: None,
            took: Span::ZERO,
        }
    }

    fn retune(&mut self, params: &XcpPoliceParams, _: &RouterContext) {
        self.params = params.clone();
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("tests", "", "tests begun"),
        Variable::new("flagged", "", "flows flagged"),
        Variable::new("flagged_flow", "", "number of the flow flagged last; -1 is none"),
        Variable::new(
            "flagged_for",
            "",
            "why: 1 ignores feedback, 2 sends more than its window, 3 responds before its RTT, 4 \
             states no RTT; 0 is none",
        ),
        Variable::new(
            "flagged_after",
            "s",
            "time to that from the first packet with a test's feedback, or the start of the excess or the silence",
        ),
        Variable::new(
            "fair_rate",
            "bytes/s",
            "mean rate of the flows that are not flagged; 0: none measured yet, and no limit",
        ),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("tests", self.tests as f64);
        sink("flagged", self.flagged as f64);
        sink("flagged_flow", self.last.map_or(-1.0, |(flow, _)| f64::from(flow)));
        sink("flagged_for", self.last.map_or(0.0, |(_, reason)| f64::from(reason as u8)));
        sink("flagged_after", self.took.as_secs());
        sink("fair_rate", self.mean.rate);
    }
}

impl Scheduler for XcpPolice {
    type Cell = Watched;

    fn cell(&self, flow: u32) -> u32 {
        flow
    }

    fn admit(
        &mut self,
        now: Time,
        packet: Passing<'_, XcpHeader>,
        place: &mut Place<'_, Watched>,
    ) -> Verdict {
        if packet.header.is_none() {
            return Verdict::Forward;
        }
        let watched = &mut *place.cell;
        if watched.flagged.is_some() {
            return self.isolate(now, watched, f64::from(packet.size));
        }
        self.mean.pass(now, f64::from(packet.size), &mut watched.epoch, self.params.measured);
        Verdict::Forward
    }

    fn on_head(
        &mut self,
        now: Time,
        packet: Passing<'_, XcpHeader>,
        place: &mut Place<'_, Watched>,
    ) -> Verdict {
        let Some(header) = packet.header else { return Verdict::Forward };
        let watched = &mut *place.cell;
        if watched.flagged.is_none()
            && let Some(caught) = self.watch(now, watched, header, f64::from(packet.size))
        {
            self.flag(now, packet.flow, watched, caught);
        }
        Verdict::Forward
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::Ecn;
    use crate::tests::{in_place, ms, near, router_context};
    use units::{Rate, math};

    /// An agent that tests a flow at once, and the flow's cell.
    struct Edge(XcpPolice, Watched);

    fn edge(isolation: Isolation) -> Edge {
        let params = XcpPoliceParams { first: 1.0, isolation, ..Default::default() };
        let mut police = XcpPolice::new(&params, &router_context(Rate(10_000_000), 100));
        // The first test waits for an instant that has passed already.
        let cell = Watched { start: ms(1), ..Watched::default() };
        police.mean.rate = 1e5;
        Edge(police, cell)
    }

    impl Edge {
        /// A packet of 1000 B at `now` [ms] that states this window [packets] and RTT [ms]: the
        /// feedback with which it leaves.
        fn pass(&mut self, now: u64, cwnd: f64, rtt: u64) -> f64 {
            let (Edge(police, cell), mut ecn) = (self, Ecn::NotCapable);
            let mut header =
                XcpHeader { cwnd: 1000.0 * cwnd, rtt: rtt as f64 / 1000.0, feedback: 500.0 };
            in_place(|place| {
                let packet =
                    Passing { header: Some(&mut header), ..crate::tests::passing(&mut ecn) };
                *place.cell = *cell;
                police.on_head(ms(now), packet, place);
                *cell = *place.cell;
            });
            header.feedback
        }

        fn reason(&self) -> Option<Reason> {
            self.0.last.map(|(_, reason)| reason)
        }
    }

    /// A window of 20 packets, one each 5 ms of an RTT of 100: 0.3*20 = 6 packets are taken,
    /// 0.3/0.15 = 2 from each of three.
    #[test]
    fn a_test_takes_a_part_of_the_window_in_a_part_of_an_rtt() {
        let mut edge = edge(Isolation::None);
        let feedback: [f64; 7] = core::array::from_fn(|i| edge.pass(10 + 5 * i as u64, 20.0, 100));
        assert!(feedback[..3].iter().all(|&f| near(f, -2000.0)), "{feedback:?}");
        assert!(feedback[3..].iter().all(|&f| f.abs() < 1e-3), "{feedback:?}");
        // One RTT later the honest flow's window falls packet by packet: half of it is 3 packets.
        for (now, cwnd) in [(110, 18.0), (115, 16.0), (120, 14.0)] {
            edge.pass(now, cwnd, 100);
        }
        let Edge(police, mut cell) = edge;
        let watched = &mut cell;
        // 115 ms + 200 RTTs of 100 ms, from half to one and a half of that.
        assert!(
            watched.shortest == 0.0 && ms(10_115) <= watched.start && watched.start <= ms(30_115)
        );
        assert_eq!((police.tests, police.flagged), (1, 0));
    }

    #[test]
    fn a_flow_that_does_not_respond_is_flagged_after_two_tests() {
        let mut edge = edge(Isolation::None);
        let caught = (0..100).map(|i| 10 + 5 * i).find(|&now| {
            edge.pass(now, 20.0, 100);
            edge.reason().is_some()
        });
        // 1.1*20 + 2 = 24 packets may leave: a test fails with the 25th, 120 ms after its first,
        // and the second begins with it. In time 1.45 RTTs would be 150 ms.
        assert_eq!(caught, Some(10 + 120 + 120));
        assert_eq!(edge.reason(), Some(Reason::Ignores));
        assert_eq!(Some(edge.0.took), caught.map(|now| ms(now).since(ms(10))));
    }

    /// A flow of 20 packets whose ACKs come after 100 ms, one packet per ms at most: when it is
    /// flagged if it states 400 ms and `by` times its window.
    fn lies_about_its_rtt(by: f64) -> (Option<u64>, Edge) {
        let mut edge = edge(Isolation::None);
        let (mut cwnd, mut sent) = (20.0_f64, [None; 400]);
        let caught = (10..400_u64).find(|&now| {
            if let Some(feedback) = now.checked_sub(100).and_then(|then| sent[then as usize]) {
                cwnd = f64::max(cwnd + feedback / 1000.0, 1.0);
            }
            let since = now.saturating_sub(99) as usize;
            if (sent[since..].iter().flatten().count() as f64) < math::floor(cwnd) {
                sent[now as usize] = Some(edge.pass(now, by * cwnd, 400));
            }
            edge.reason().is_some()
        });
        (caught, edge)
    }

    /// Of 20 packets 6 are taken, 2 from each of the first 3. Their ACKs come at 110 to 112 ms;
    /// with the one at 116 there are 13 under way, fewer than 14, and the next packet says 14:
    /// early. The one at 117 says no less and begins the second test, of which 4.2 packets are
    /// taken by 219, and half a packet is given by the one at 116. At 221 there are 9 under way,
    /// fewer than 10.3.
    #[test]
    fn a_flow_that_responds_before_its_rtt_is_flagged_after_two_tests() {
        let (caught, edge) = lies_about_its_rtt(1.0);
        assert_eq!((caught, edge.reason()), (Some(221), Some(Reason::Early)));
        assert_eq!(edge.0.took, ms(221).since(ms(10)));
    }

    /// It states 80 packets, of which 24 are taken, more than it has: it sends none before 129 ms,
    /// and that one says 4. Its feedback, half a packet, makes that 6 at 229, of which 1.8 are
    /// taken, and at 329 the window is a packet again.
    #[test]
    fn a_flow_with_an_rtt_and_a_window_too_large_takes_three_of_its_rtts() {
        let (caught, edge) = lies_about_its_rtt(4.0);
        assert_eq!((caught, edge.reason()), (Some(329), Some(Reason::Early)));
    }

    /// One packet each 5 ms, 20 per RTT of 100 ms, where 8 are stated: after one RTT more than
    /// 1.5*8 + 2. A test of which 1.1*8 + 2 = 10.8 packets may leave fails with the 11th, 50 ms
    /// after its first.
    #[test]
    fn a_flow_that_sends_too_much_is_tested_at_once() {
        for (passed, caught) in [(None, 210), (Some(ms(5)), 310)] {
            let mut edge = edge(Isolation::None);
            let watched = &mut edge.1;
            (watched.start, watched.passed) = (ms(100_000), passed.unwrap_or_default());
            let at = (0..100).map(|i| 10 + 5 * i).find(|&now| {
                edge.pass(now, 8.0, 100);
                edge.reason().is_some()
            });
            // Having passed a test less than ten RTTs ago it is flagged after three RTTs instead.
            assert!(at.is_some_and(|at| (caught..=caught + 15).contains(&at)), "{at:?}");
            assert_eq!(edge.reason(), Some(Reason::Exceeds));
            assert_eq!(edge.0.tests, if passed.is_some() { 0 } else { 2 });
        }
    }

    /// One packet each 5 ms, 20 per RTT of 100 ms. 10 stated: more than 1.5*10 + 2, for three RTTs;
    /// 14 would pass. Four times the RTT: 80 are more than 32, for three times 400 ms, which are
    /// twelve RTTs of its own. None of these windows may be tested.
    #[test]
    fn a_flow_that_sends_more_than_its_window_is_flagged_after_three_stated_rtts() {
        for (cwnd, rtt, after) in
            [(10.0, 100, Some(300)), (14.0, 100, None), (20.0, 400, Some(1200))]
        {
            let mut edge = edge(Isolation::None);
            edge.0.params.min_window = 1000.0;
            let caught = (0..300).map(|i| 10 + 5 * i).find(|&now| {
                edge.pass(now, cwnd, rtt);
                edge.reason().is_some()
            });
            assert_eq!(edge.reason(), after.map(|_| Reason::Exceeds), "{cwnd} {rtt}");
            if let (Some(after), Some(caught)) = (after, caught) {
                // A packet more for each RTT in whose length there is rounding to 24 binary digits.
                assert!((10 + after..=25 + after).contains(&caught), "{caught}");
                assert_eq!(edge.0.took, ms(caught).since(ms(10)));
            }
        }
    }

    #[test]
    fn a_flow_that_states_no_rtt_is_flagged() {
        let mut edge = edge(Isolation::None);
        (0..1000).for_each(|i| {
            edge.pass(i, 20.0, 0);
        });
        assert_eq!(edge.reason(), None);
        edge.pass(1000, 20.0, 0);
        assert_eq!(edge.reason(), Some(Reason::Silent));
        assert_eq!(edge.0.took, Span::from_secs(1));
    }

    #[test]
    fn small_windows_are_not_tested() {
        let mut edge = edge(Isolation::None);
        assert_eq!(edge.pass(10, 3.9, 100), 500.0);
        // 0.3*4 packets, less than the 2 of a longer test.
        assert!(near(edge.pass(20, 4.0, 100), -f64::from(1200.0_f32)));
    }

    #[test]
    fn isolation_lets_in_the_mean_rate_or_nothing() {
        for (isolation, rate, let_in) in [
            (Isolation::None, 1e5, 1000),
            (Isolation::Limit, 1e5, 100),
            (Isolation::Drop, 1e5, 0),
            // Not measured yet, and never if all are flagged before: no limit.
            (Isolation::Limit, 0.0, 1000),
        ] {
            let Edge(mut police, mut cell) = edge(isolation);
            police.mean.rate = rate;
            let caught = Caught { reason: Reason::Ignores, since: ms(0) };
            police.flag(ms(0), 0, &mut cell, caught);
            let (mut ecn, mut header) = (Ecn::NotCapable, XcpHeader::default());
            // 1000 packets in a second, of which 100 kB/s are 100.
            let passed = (1..=1000).filter(|&now| {
                in_place(|place| {
                    let packet =
                        Passing { header: Some(&mut header), ..crate::tests::passing(&mut ecn) };
                    *place.cell = cell;
                    let verdict = police.admit(ms(now), packet, place);
                    cell = *place.cell;
                    verdict == Verdict::Forward
                })
            });
            assert_eq!(passed.count(), let_in, "{isolation:?}");
        }
    }

    /// 4 flows with 50 kB in a second: 12.5 kB/s each.
    #[test]
    fn the_fair_rate_is_the_mean_of_those_that_sent() {
        let mut mean = Mean::default();
        let mut epochs = [0; 4];
        for i in 0..50 {
            mean.pass(ms(20 * i), 1000.0, &mut epochs[i as usize % 4], Span::from_secs(1));
        }
        mean.pass(ms(1000), 1000.0, &mut epochs[0], Span::from_secs(1));
        assert!(near(mean.rate, 12_500.0));
    }

    /// A test of 4 packets takes 1.2; at 3.5 the window has not fallen, and more than 1.1*4 + 2
    /// packets have left with the seventh: the test is failed, but 3.5 are too few for another
    /// (D2), so nothing is taken.
    #[test]
    fn a_window_that_became_small_is_not_tested_again() {
        let mut edge = edge(Isolation::None);
        assert!(near(edge.pass(10, 4.0, 100), -f64::from(1200.0_f32)));
        let feedback: [f64; 6] = core::array::from_fn(|i| edge.pass(11 + i as u64, 3.5, 100));
        assert!(feedback[..5].iter().all(|&f| f == 0.0) && feedback[5] == 500.0, "{feedback:?}");
        assert_eq!((edge.0.tests, edge.1.failed, edge.1.shortest), (1, 1, 0.0));
        // With a window of 4 again it is.
        assert!(edge.pass(20, 4.0, 100) < 0.0);
        assert_eq!(edge.0.tests, 2);
    }

    /// A bucket is a hundredth of a second's worth, or two packets: at 100 kB/s two pass at once
    /// after a pause, at 1 MB/s ten.
    #[test]
    fn a_bucket_holds_two_packets_at_least() {
        for (rate, burst) in [(1e5, 2), (1e6, 10)] {
            let Edge(mut police, mut cell) = edge(Isolation::Limit);
            police.mean.rate = rate;
            police.flag(ms(0), 0, &mut cell, Caught { reason: Reason::Ignores, since: ms(0) });
            let passed = (0..20)
                .filter(|_| police.isolate(ms(5000), &mut cell, 1000.0) == Verdict::Forward)
                .count();
            assert_eq!(passed, burst, "{rate}");
        }
    }

    /// A flow that stated 400 ms states 100 ms from then on, with 8 packets: one each 13 ms is less
    /// than the 80 kB/s that it says, so 31 in the first RTT stated are not too many; at 40 kB/s
    /// (200 ms) 1.5*16,120 + 2000 are fewer than 31,000.
    #[test]
    fn what_the_stated_rates_allow_is_not_too_much() {
        for (rtt, exceeded) in [(0.1, 0), (0.2, 1)] {
            let mut watched = Watched::default();
            watched.exceeds(ms(0), 1000.0, (8000.0, 0.4), 0.5);
            for i in 1..=31 {
                watched.exceeds(ms(13 * i), 1000.0, (8000.0, rtt), 0.5);
            }
            assert_eq!(watched.exceeded, exceeded, "{rtt}");
        }
    }

    /// With a price of 2 a stated window of 2 packets is one of 4, of which 0.3 are taken (D3).
    #[test]
    fn a_window_is_the_price_times_what_is_stated() {
        let mut edge = edge(Isolation::None);
        edge.0.params.price = 2.0;
        assert_eq!(edge.pass(10, 1.9, 100), 500.0);
        assert!(near(edge.pass(20, 2.0, 100), -f64::from(1200.0_f32)));
    }

    /// One that sends too much and passed a test at 1 s is tested again from ten RTTs after it on.
    #[test]
    fn a_suspect_is_tested_again_after_ten_rtts() {
        let mut edge = edge(Isolation::None);
        let watched = &mut edge.1;
        (watched.start, watched.passed, watched.exceeded) = (ms(100_000), ms(1000), 1);
        (watched.since, watched.length) = (ms(1), 1000.0);
        assert_eq!((edge.pass(1999, 8.0, 100), edge.0.tests), (500.0, 0));
        assert!(edge.pass(2000, 8.0, 100) < 0.0 && edge.0.tests == 1);
    }

    /// A window of ten packets of 1000 B in an RTT of 125 ms: with half as much again and two more
    /// 17 may pass, and 18 are too many.
    #[test]
    fn a_window_its_slack_and_two_packets_may_pass_in_an_rtt() {
        for (packets, exceeded) in [(17, 0), (18, 1)] {
            let mut watched = Watched::default();
            for _ in 0..packets {
                assert!(!watched.exceeds(ms(0), 1000.0, (10_000.0, 0.125), 0.5));
            }
            watched.exceeds(ms(125), 1000.0, (10_000.0, 0.125), 0.5);
            assert_eq!(watched.exceeded, exceeded, "{packets}");
        }
    }
}

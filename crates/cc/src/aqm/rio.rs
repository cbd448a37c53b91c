//! RIO, RED with in and out. Clark and Fang, "Explicit allocation of best-effort packet delivery
//! service", ToN 6(4), 1998, section III.
//!
//! At the edge a tagger compares each flow with its service profile: packets within it are in,
//! others out. Routers run two REDs: for in packets with the average of the in packets that wait,
//! for out packets with the average of all, and with lower thresholds.
//!
//! ```math
//! tokens <- min(tokens + profile*t, bucket)  t after the last packet; s bytes are in if they fit
//! avg_in <- (1 - w_q)*avg_in + w_q*q_in                        at the arrival of an in packet
//! avg_total <- (1 - w_q)*avg_total + w_q*q                     at each arrival
//! p_in = max_p_in*(avg_in - min_in)/(max_in - min_in)          of an in packet, spread as RED's
//! p_out = max_p_out*(avg_total - min_out)/(max_out - min_out)  of an out packet
//! ```
//!
//! Deviations:
//! - D1: the tagger is a token bucket per flow (the paper's is a time-sliding-window estimator, and
//!   names the bucket as the other choice). It tags packets that carry no tag; so the first such
//!   link on the path is the edge, and with `tag` off a link is a core one and takes untagged
//!   packets as out.
//! - D2: profiles belong to groups of flows, in the order of the scenario, each flow having one.
//! - D3: ACKs are tagged as data is.

use units::random::Stream;
use units::{Rate, Time};

use crate::aqm::early::{Average, Early};
use crate::classes::{Place, Scheduler};
use crate::roles::{Backlog, Passing, Router, RouterContext, Variable, Verdict};

params! {
    /// Profiles, and the parameters of the two REDs.
    pub struct RioParams {
        /// Is this an edge: are untagged packets tagged?
        tag: bool = true;
        /// Profile of each flow of the first group [bit/s]: the bucket's rate, section III.
        profile0: f64 = 1e6 => (0.0, 1e12);
        /// Profile of each flow of the second group [bit/s].
        profile1: f64 = 1e6 => (0.0, 1e12);
        /// Profile of each flow of the third group [bit/s].
        profile2: f64 = 1e6 => (0.0, 1e12);
        /// Profile of each flow of all further groups [bit/s].
        profile3: f64 = 1e6 => (0.0, 1e12);
        /// Depth of the bucket [full packets].
        bucket: f64 = 10.0 => (1.0, 1e6);
        /// w_q of both averages.
        w_q: f64 = 0.002 => (1e-6, 1.0);
        /// min_in [packets].
        min_in: f64 = 40.0 => (0.0, 1e9);
        /// max_in [packets].
        max_in: f64 = 70.0 => (0.0, 1e9);
        /// P_max_in, the probability at max_in.
        max_p_in: f64 = 0.02 => (1e-6, 1.0);
        /// min_out [packets].
        min_out: f64 = 10.0 => (0.0, 1e9);
        /// max_out [packets].
        max_out: f64 = 30.0 => (0.0, 1e9);
        /// P_max_out, the probability at max_out.
        max_p_out: f64 = 0.2 => (1e-6, 1.0);
    }
}

/// The label of a packet within its profile.
pub const IN: f32 = 1.0;
/// The label of one beyond it.
pub const OUT: f32 = 2.0;

/// A flow's tokens.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bucket {
    /// [bytes]; `None`: the flow has not been seen and its bucket is full.
    tokens: Option<f64>,
    last: Time,
}

impl Bucket {
    /// Takes tokens for a packet, if there are enough; rate [bytes/s], depth and size [bytes].
    fn takes(&mut self, now: Time, (rate, depth): (f64, f64), size: u32) -> bool {
        let fresh = now.since(self.last).as_secs() * rate;
        let tokens = self.tokens.map_or(depth, |tokens| (tokens + fresh).min(depth));
        let within = tokens >= f64::from(size);
        self.tokens = Some(if within { tokens - f64::from(size) } else { tokens });
        self.last = now;
        within
    }
}

/// The router's part.
#[derive(Clone, Debug)]
pub struct Rio {
    tag: bool,
    /// [bytes/s]
    profiles: [f64; 4],
    /// [bytes]
    depth: f64,
    average_in: Average,
    average_total: Average,
    early_in: Early,
    early_out: Early,
    stream: Stream,
}

impl Router for Rio {
    type Params = RioParams;
    type Header = ();

    fn new(params: &RioParams, context: &RouterContext) -> Rio {
        let RioParams { profile0, profile1, profile2, profile3, .. } = *params;
        Rio {
            tag: params.tag,
            profiles: [profile0, profile1, profile2, profile3].map(|bps| bps / 8.0),
            depth: params.bucket * f64::from(context.packet_bytes),
            average_in: Average::new(params.w_q, context.capacity, context.packet_bytes),
            average_total: Average::new(params.w_q, context.capacity, context.packet_bytes),
            early_in: Early::new((params.min_in, params.max_in), params.max_p_in),
            early_out: Early::new((params.min_out, params.max_out), params.max_p_out),
            stream: context.stream.clone(),
        }
    }

    #[inline(never)] // the hot path of links without classes has it in its dispatch
    fn on_departure(&mut self, now: Time, packet: Passing<'_, ()>, backlog: Backlog) {
        if backlog.packets == 0 {
            let idle = now + self.average_in.time(packet.size);
            self.average_in.emptied(idle);
            self.average_total.emptied(idle);
        }
    }

    fn on_capacity(&mut self, _now: Time, capacity: Rate) {
        self.average_in.on_capacity(capacity);
        self.average_total.on_capacity(capacity);
    }

    fn retune(&mut self, params: &RioParams, context: &RouterContext) {
        let fresh = Rio::new(params, context);
        *self = Rio {
            average_in: fresh.average_in.carried(&self.average_in),
            average_total: fresh.average_total.carried(&self.average_total),
            early_in: fresh.early_in.carried(&self.early_in),
            early_out: fresh.early_out.carried(&self.early_out),
            stream: self.stream.clone(),
            ..fresh
        };
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("avg_in", "pkts", "slow average of the in packets that wait"),
        Variable::new("avg_total", "pkts", "slow average of all that wait"),
        Variable::new("p_in", "", "probability for in packets before it is spread"),
        Variable::new("p_out", "", "probability for out packets before it is spread"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("avg_in", self.average_in.value);
        sink("avg_total", self.average_total.value);
        sink("p_in", self.early_in.initial(self.average_in.value));
        sink("p_out", self.early_out.initial(self.average_total.value));
    }
}

impl Scheduler for Rio {
    type Cell = Bucket;

    fn cell(&self, flow: u32) -> u32 {
        flow
    }

    /// In is class 0, out is class 1: the link counts them apart.
    fn classify(
        &mut self,
        now: Time,
        packet: Passing<'_, ()>,
        place: &mut Place<'_, Bucket>,
    ) -> u32 {
        if self.tag && *place.label == 0.0 {
            let profile = (self.profiles[place.group.min(3) as usize], self.depth);
            let within = place.cell.takes(now, profile, packet.size);
            *place.label = if within { IN } else { OUT };
        }
        u32::from(*place.label != IN)
    }

    fn admit(&mut self, now: Time, _: Passing<'_, ()>, place: &mut Place<'_, Bucket>) -> Verdict {
        let all = place.backlog.packets;
        let waiting_in = if place.class == 0 { place.queue.packets } else { all };
        self.average_total.update(now, f64::from(all), all == 0);
        let picked = if place.class == 0 {
            self.average_in.update(now, f64::from(waiting_in), all == 0);
            self.early_in.picks(self.average_in.value, &mut self.stream)
        } else {
            self.early_out.picks(self.average_total.value, &mut self.stream)
        };
        if picked { Verdict::Drop } else { Verdict::Forward }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::Ecn;
    use crate::tests::{in_place, ms, near, passing, router_context};

    /// 80 kb/s are 10 bytes per ms; the bucket holds 2000 bytes.
    #[test]
    fn tokens_come_at_the_profile_and_fill_the_bucket() {
        let mut bucket = Bucket::default();
        let profile = (10_000.0, 2000.0);
        // Full: two packets of 1000 B at once, the third is out and takes nothing.
        assert!(bucket.takes(ms(0), profile, 1000) && bucket.takes(ms(0), profile, 1000));
        assert!(!bucket.takes(ms(0), profile, 1000));
        // 99 ms bring 990 bytes, one more the last 10.
        assert!(!bucket.takes(ms(99), profile, 1000));
        assert!(bucket.takes(ms(100), profile, 1000));
        assert_eq!(bucket.tokens, Some(0.0));
        // Long idle: not more than the depth.
        bucket.takes(ms(100_000), profile, 1000);
        assert_eq!(bucket.tokens, Some(1000.0));
    }

    #[test]
    fn untagged_packets_are_tagged_at_the_edge_alone() {
        let tagged = |tag, label: f32| {
            let params = RioParams { tag, profile1: 0.0, bucket: 1.0, ..RioParams::default() };
            let mut rio = Rio::new(&params, &router_context(Rate(1_000_000), 100));
            let (mut ecn, mut cell, mut seen) = (Ecn::NotCapable, Bucket::default(), label);
            let class = in_place(|place| {
                let mut place = Place {
                    group: 1,
                    label: &mut seen,
                    cell: &mut cell,
                    backlog: place.backlog,
                    queue: place.queue,
                    ..*place
                };
                rio.classify(ms(0), passing(&mut ecn), &mut place);
                rio.classify(ms(0), passing(&mut ecn), &mut place)
            });
            (class, seen)
        };
        // The bucket holds one packet and gets no more; the first tag stays.
        assert_eq!(tagged(true, 0.0), (0, IN));
        assert_eq!(tagged(true, OUT), (1, OUT));
        assert_eq!(tagged(false, IN), (0, IN));
        assert_eq!(tagged(false, 0.0), (1, 0.0));
    }

    /// w_q = 0.5; of 8 waiting 4 are in. In: avg_in = 0.5*4 = 2, avg_total = 0.5*8 = 4. Out: avg_in
    /// stays, avg_total = 4 + 0.5*(8 - 4) = 6.
    #[test]
    fn in_packets_are_averaged_alone_and_with_all() {
        let params = RioParams { w_q: 0.5, ..RioParams::default() };
        let mut rio = Rio::new(&params, &router_context(Rate(1_000_000), 100));
        let waits = |packets| Backlog { packets, bytes: u64::from(packets) * 1000 };
        let mut admit = |class| {
            let mut ecn = Ecn::NotCapable;
            in_place(|place| {
                (place.class, place.backlog, place.queue) = (class, waits(8), waits(4));
                rio.admit(ms(0), passing(&mut ecn), place);
            });
            (rio.average_in.value, rio.average_total.value)
        };
        assert_eq!(admit(0), (2.0, 4.0));
        assert_eq!(admit(1), (2.0, 6.0));
    }

    /// P_in = 0.02*(55 - 40)/(70 - 40) = 0.01 at 55, P_out = 0.2*(20 - 10)/(30 - 10) = 0.1 at 20.
    #[test]
    fn each_kind_has_its_own_thresholds() {
        let rio = Rio::new(&RioParams::default(), &router_context(Rate(1_000_000), 100));
        assert!(near(rio.early_in.initial(55.0), 0.01));
        assert!(near(rio.early_out.initial(20.0), 0.1));
        assert_eq!((rio.early_in.initial(39.0), rio.early_out.initial(30.0)), (0.0, 1.0));
    }

    /// 1 Mb/s: 8 ms per packet. The line is idle from 18 ms; by 98 ms both averages have aged by
    /// ten packet times, and once more for the empty queue: 0.998^11 = 0.978 218 7. A departure
    /// that leaves packets begins no idle time.
    #[test]
    fn an_idle_line_ages_both_averages() {
        let mut rio = Rio::new(&RioParams::default(), &router_context(Rate(1_000_000), 100));
        (rio.average_in.value, rio.average_total.value) = (20.0, 30.0);
        rio.on_departure(ms(10), passing(&mut Ecn::NotCapable), Backlog::default());
        let left = Backlog { packets: 1, bytes: 1000 };
        rio.on_departure(ms(50), passing(&mut Ecn::NotCapable), left);
        let mut ecn = Ecn::NotCapable;
        in_place(|place| rio.admit(ms(98), passing(&mut ecn), place));
        let (of_in, total) = (rio.average_in.value, rio.average_total.value);
        assert!((of_in - 19.564_373).abs() < 1e-5, "{of_in}");
        assert!((total - 29.346_561).abs() < 1e-5, "{total}");
    }

    /// 250,000 bytes/s and a depth of 1000 bytes: a packet of 1000 empties the bucket, 4 ms fill it
    /// and 3 ms do not, and it holds no more than its depth.
    #[test]
    fn a_bucket_fills_at_its_rate_up_to_its_depth() {
        let mut bucket = Bucket::default();
        let mut takes = |at, size| bucket.takes(ms(at), (250_000.0, 1000.0), size);
        assert_eq!([takes(0, 1000), takes(0, 1)], [true, false]);
        assert_eq!([takes(4, 1000), takes(7, 1000), takes(8, 1000)], [true, false, true]);
        assert_eq!([takes(1000, 1001), takes(1000, 1000)], [false, true]);
    }

    /// Groups 0 to 2 have profiles of their own, all others the last one's [bit/s]: of 8 kb/s, in
    /// bytes 1000/s, a packet of 1000 is within it a second after the bucket's one packet, of less
    /// it is not.
    #[test]
    fn each_group_has_its_profile() {
        for (group, profile) in
            [(0, "profile0"), (1, "profile1"), (2, "profile2"), (3, "profile3"), (9, "profile3")]
        {
            use crate::params::{Params, Value};
            for other in ["profile0", "profile1", "profile2", "profile3"] {
                let mut params = RioParams { bucket: 1.0, ..RioParams::default() };
                for name in ["profile0", "profile1", "profile2", "profile3"] {
                    let bps = if name == other { 8000.0 } else { 7000.0 };
                    assert_eq!(params.set(name, Value::Number(bps)), Ok(()));
                }
                let mut rio = Rio::new(&params, &router_context(Rate(1_000_000), 100));
                let (mut ecn, mut cell) = (Ecn::NotCapable, Bucket::default());
                let classes = [0, 1000].map(|at| {
                    let mut label = 0.0;
                    in_place(|place| {
                        let (label, cell) = (&mut label, &mut cell);
                        let mut place = Place { group, label, cell, ..*place };
                        rio.classify(ms(at), passing(&mut ecn), &mut place)
                    })
                });
                assert_eq!(classes, [0, u32::from(profile != other)], "{group} {other}");
            }
        }
    }

    /// Draws go on where they were, whatever stream it is told of.
    #[test]
    fn new_parameters_leave_the_draws() {
        let context = router_context(Rate(8_000_000), 90);
        let mut router = Rio::new(&RioParams::default(), &context);
        let mut before = router.stream.clone();
        let stream = Stream::new(7, 7, "another");
        router.retune(&RioParams::default(), &RouterContext { stream, ..context });
        assert_eq!(router.stream.bits(), before.bits());
    }
}

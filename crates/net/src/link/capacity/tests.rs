use super::*;
use proptest::prelude::*;

const MS: u64 = PS_PER_MS;

fn ms(t: u64) -> Span {
    Span::from_millis(t)
}

fn step(at: u64, mbps: u64) -> Step {
    Step { at: ms(at), rate: Rate(mbps * 1_000_000) }
}

fn outage(from: u64, to: u64) -> Outage {
    Outage { from: ms(from), to: ms(to) }
}

fn steps(steps: &[Step], outages: &[Outage]) -> Schedule {
    Schedule::new(Rate(8_000_000), &Capacity::Steps(steps.to_vec()), outages).unwrap()
}

fn trace(list: &[u32], outages: &[Outage]) -> Schedule {
    let trace = Trace { opportunities_ms: list.into() };
    Schedule::new(Rate(1), &Capacity::Trace(trace), outages).unwrap()
}

fn fresh(schedule: &mut Schedule, start: u64, bytes: u32) -> u64 {
    schedule.finish(Time(start), bytes, false).0
}

#[test]
fn a_constant_capacity_has_no_schedule() {
    assert!(Schedule::new(Rate(1), &Capacity::Constant, &[]).is_none());
}

#[test]
fn a_step_applies_to_the_bits_left() {
    // 1000 B are 8000 b: 1 ms at 8 Mb/s. From 10 ms on 2 Mb/s, from 20 ms on 16 Mb/s.
    let mut line = steps(&[step(10, 2), step(20, 16)], &[]);
    assert_eq!(fresh(&mut line, 3 * MS, 1000), 4 * MS);
    // Half of it before the step, 4000 b at 2 Mb/s after it.
    assert_eq!(fresh(&mut line, 9 * MS + MS / 2, 1000), 12 * MS);
    // Three steps in one packet of 4000 B = 32 000 b from 18 ms: 4000 b, then 28 000 b at 16 Mb/s.
    assert_eq!(fresh(&mut line, 18 * MS, 4000), 20 * MS + 1_750_000_000);
    // 1 b more than 16 b per us: the ceiling. 3 B = 24 b at 16 Mb/s are 1.5 us.
    assert_eq!(fresh(&mut line, 30 * MS, 3), 30 * MS + 1_500_000);
    // It ends exactly with a piece.
    let mut line = steps(&[step(10, 2)], &[]);
    assert_eq!(fresh(&mut line, 9 * MS, 1000), 10 * MS);
    // All of 10 000 B = 80 000 b: 8 ms and so 64 000 b before, 16 000 b at 2 Mb/s after.
    let mut line = steps(&[step(10, 2)], &[]);
    assert_eq!(fresh(&mut line, 2 * MS, 10_000), 18 * MS);
}

#[test]
fn a_packet_in_service_waits_for_the_end_of_an_outage() {
    let mut line = Schedule::new(Rate(8_000_000), &Capacity::Constant, &[outage(10, 30)]).unwrap();
    assert_eq!(fresh(&mut line, 9 * MS + MS / 4, 1000), 30 * MS + MS / 4);
    // A step in the outage counts from its end on.
    let mut line = steps(&[step(20, 4)], &[outage(10, 30), outage(31, 32)]);
    assert_eq!(fresh(&mut line, 15 * MS, 1000), 33 * MS);
}

#[test]
fn the_ceiling_is_taken_once() {
    // 3 b/s up to 1 s, 7 b/s up to 2 s, then 3 b/s: of 16 b there are 6 left after 2 s.
    let schedule =
        [(1, 7), (2, 3)].map(|(at, bps)| Step { at: Span::from_secs(at), rate: Rate(bps) });
    let mut line = Schedule::new(Rate(3), &Capacity::Steps(schedule.to_vec()), &[]).unwrap();
    assert_eq!(fresh(&mut line, 0, 2), 4_000_000_000_000);
    // 8 b from 4.0 s: 8/3 s = 2.666.. s.
    assert_eq!(fresh(&mut line, 4_000_000_000_000, 1), 6_666_666_666_667);
}

#[test]
fn a_trace_lets_packets_out_at_its_instants() {
    let mut line = trace(&[2, 5, 5, 10], &[]);
    // Idle: the next opportunity. One of the same instant is missed.
    assert_eq!(fresh(&mut line, 0, 1500), 2 * MS);
    assert_eq!(fresh(&mut line, 2 * MS, 1500), 5 * MS);
    // Two in one millisecond: the second packet waited and leaves at once.
    assert_eq!(line.finish(Time(5 * MS), 1500, true), Time(5 * MS));
    assert_eq!(line.finish(Time(5 * MS), 1500, true), Time(10 * MS));
    // The period is the last number: 10 + 2, 10 + 5.
    assert_eq!(line.finish(Time(10 * MS), 1500, true), Time(12 * MS));
    assert_eq!(fresh(&mut line, 12 * MS + 1, 1500), 15 * MS);
    // Long idle: 1000 + 2.
    assert_eq!(fresh(&mut line, 1000 * MS, 1500), 1002 * MS);
}

#[test]
fn what_an_opportunity_has_left_serves_only_those_that_wait() {
    let mut line = trace(&[10], &[]);
    // 1000 B leave with 500 B to spare; the next 1000 B take them and 500 B of the next.
    assert_eq!(fresh(&mut line, 0, 1000), 10 * MS);
    assert_eq!(line.finish(Time(10 * MS), 1000, true), Time(20 * MS));
    // 1000 B are left of that: 40 B fit, and nobody waits for the rest.
    assert_eq!(line.finish(Time(20 * MS), 40, true), Time(20 * MS));
    assert_eq!(fresh(&mut line, 25 * MS, 40), 30 * MS);
    // 4000 B need three, and leave 500 B.
    assert_eq!(fresh(&mut line, 30 * MS, 4000), 60 * MS);
    assert_eq!(line.finish(Time(60 * MS), 500, true), Time(60 * MS));
    assert_eq!(line.finish(Time(60 * MS), 1, true), Time(70 * MS));
}

#[test]
fn opportunities_of_an_outage_are_lost() {
    // Every 10 ms; 20 to 50 ms are out: 50 is the first after it, and what was left stays.
    let mut line = trace(&[10], &[outage(20, 50)]);
    assert_eq!(fresh(&mut line, 0, 1000), 10 * MS);
    assert_eq!(line.finish(Time(10 * MS), 1000, true), Time(50 * MS));
    assert_eq!(line.bits(Time(0), Time(100 * MS)), 7.0 * 12_000.0);
    assert_eq!(line.bits(Time(20 * MS), Time(49 * MS)), 0.0);
    // From the bound that is left out to the one that is not.
    assert_eq!(line.bits(Time(10 * MS), Time(60 * MS)), 24_000.0);
}

#[test]
fn a_trace_may_begin_at_zero() {
    // 0, 4, then the period's end and the new beginning together: 4, 8, 8, ...
    let mut line = trace(&[0, 4], &[]);
    assert_eq!(fresh(&mut line, 0, 1500), 4 * MS);
    assert_eq!(line.finish(Time(4 * MS), 1500, true), Time(4 * MS));
    assert_eq!(line.finish(Time(4 * MS), 1500, true), Time(8 * MS));
    assert_eq!(line.bits(Time(0), Time(8 * MS)), 4.0 * 12_000.0);
}

#[test]
fn what_is_left_of_a_packet_leaves_later() {
    // 8000 b from 9.5 ms: 4000 b by 10 ms, then 2 Mb/s to 12 ms.
    let mut line = steps(&[step(10, 2)], &[]);
    let finish = Time(fresh(&mut line, 9 * MS + MS / 2, 1000));
    let left = |at: u64| line.bits_left(Time(at), finish);
    assert_eq!((left(9 * MS + MS / 2), left(10 * MS), left(11 * MS)), (8000.0, 4000.0, 2000.0));
    assert_eq!(left(12 * MS), 0.0);
    // 4000 B need the opportunities at 1, 2 and 3 ms, of the last one 1000 B.
    let mut line = trace(&[1, 2, 3, 4], &[]);
    let finish = Time(fresh(&mut line, 0, 4000));
    assert_eq!(finish, Time(3 * MS));
    let left = [0, MS - 1, MS, 2 * MS, 3 * MS].map(|at| line.bits_left(Time(at), finish));
    assert_eq!(left[..4], [32_000.0, 32_000.0, 20_000.0, 8000.0]);
    // The first of three opportunities at once.
    let mut line = trace(&[1, 1, 1], &[]);
    let finish = Time(fresh(&mut line, 0, 40));
    assert_eq!((finish, line.bits_left(Time(0), finish)), (Time(MS), 320.0));
}

#[test]
fn the_integral_of_steps_and_outages() {
    let line = steps(&[step(10, 2)], &[outage(5, 7)]);
    // 8 ms at 8 Mb/s of the first ten, then 10 ms at 2 Mb/s.
    assert_eq!(line.bits(Time(0), Time(20 * MS)), 84_000.0);
    assert_eq!(line.bits(Time(6 * MS), Time(11 * MS)), 26_000.0);
    assert_eq!(line.bits(Time(5 * MS), Time(7 * MS)), 0.0);
}

fn notices(capacity: &Capacity, count: usize) -> Vec<(u64, Option<u64>)> {
    let mut notices = Notices::new(Rate(120_000), capacity);
    (0..count).map(|_| (notices.next().0 / MS, notices.take().map(|rate| rate.0))).collect()
}

#[test]
fn routers_hear_of_steps_at_once() {
    let capacity = Capacity::Steps(vec![step(10, 2), step(20, 2)]);
    assert_eq!(notices(&capacity, 2), [(10, Some(2_000_000)), (20, None)]);
    let mut notices = Notices::new(Rate(1), &capacity);
    notices.take();
    notices.take();
    assert_eq!(notices.next(), Time::NEVER);
    assert_eq!(Notices::new(Rate(1), &Capacity::Constant).next(), Time::NEVER);
}

#[test]
fn routers_hear_the_mean_of_a_traces_last_bin() {
    // Bins of 0 to 99 ms: one opportunity, 120 kb/s, as they know; 100 to 199: three, then none
    // (counts as one), then that of 300 to 399: one again.
    let trace = Trace { opportunities_ms: [99, 100, 150, 199, 399].into() };
    let heard = notices(&Capacity::Trace(trace), 4);
    assert_eq!(heard, [(100, None), (200, Some(360_000)), (300, Some(120_000)), (400, None)]);
}

/// Of 50 ms each: none, one, two, one and so on; 1500 bytes in 50 ms are 240 kb/s.
#[test]
fn routers_hear_of_a_trace_as_often_as_they_ask() {
    let trace = Trace { opportunities_ms: [99, 100, 149, 199, 399].into() };
    let mut notices = Notices::new(Rate(240_000), &Capacity::Trace(trace));
    notices.every(Span::from_millis(50), Time::ZERO);
    let heard: Vec<_> =
        (0..4).map(|_| (notices.next().0 / MS, notices.take().map(|rate| rate.0))).collect();
    assert_eq!(heard, [(50, None), (100, None), (150, Some(480_000)), (200, Some(240_000))]);
}

/// At 70 ms times of 50 ms become ones of 30 ms: 60 to 90 ms has no opportunity, which counts as
/// one, 90 to 120 ms two and 120 to 150 ms one; 1500 bytes in 30 ms are 400 kb/s.
#[test]
fn routers_may_ask_for_other_times() {
    let trace = Trace { opportunities_ms: [99, 100, 149, 199, 399].into() };
    let mut notices = Notices::new(Rate(240_000), &Capacity::Trace(trace));
    notices.every(Span::from_millis(50), Time::ZERO);
    assert_eq!((notices.next(), notices.take()), (Time(50 * MS), None));
    // The same again changes nothing.
    notices.every(Span::from_millis(50), Time(70 * MS));
    assert_eq!(notices.next(), Time(100 * MS));
    notices.every(Span::from_millis(30), Time(70 * MS));
    let heard: Vec<_> =
        (0..3).map(|_| (notices.next().0 / MS, notices.take().map(|rate| rate.0))).collect();
    assert_eq!(heard, [(90, Some(400_000)), (120, Some(800_000)), (150, Some(400_000))]);
}

fn any_pieces() -> impl Strategy<Value = (u64, Vec<Step>, Vec<Outage>)> {
    let steps = prop::collection::vec((0..200_000_000_000_u64, 1..50_000_000_000_u64), 0..8);
    let edges = prop::collection::btree_set(0..200_000_000_000_u64, 0..9);
    (1..50_000_000_000_u64, steps, edges).prop_map(|(rate, mut steps, edges)| {
        steps.sort_unstable();
        let steps =
            steps.into_iter().map(|(at, bps)| Step { at: Span(at), rate: Rate(bps) }).collect();
        let edges: Vec<u64> = edges.into_iter().collect();
        let outages = edges.chunks_exact(2);
        let outages = outages.map(|e| Outage { from: Span(e[0]), to: Span(e[1]) }).collect();
        (rate, steps, outages)
    })
}

/// Bits times picoseconds per second in [from, to), instant by instant of change.
fn exact(rate: u64, steps: &[Step], outages: &[Outage], from: u64, to: u64) -> u128 {
    let mut edges: Vec<u64> = steps.iter().map(|s| s.at.0).collect();
    edges.extend(outages.iter().flat_map(|o| [o.from.0, o.to.0]));
    edges.extend([from, to]);
    edges.retain(|&edge| from <= edge && edge <= to);
    edges.sort_unstable();
    let mut sum = 0;
    for pair in edges.windows(2) {
        let out = outages.iter().any(|o| o.from.0 <= pair[0] && pair[0] < o.to.0);
        let last = steps.iter().rfind(|s| s.at.0 <= pair[0]);
        let bps = if out { 0 } else { last.map_or(rate, |s| s.rate.0) };
        sum += u128::from(bps) * u128::from(pair[1] - pair[0]);
    }
    sum
}

proptest! {
    /// What is carried between start and end of a service is the packet, but for the last
    /// picosecond; ends never go back; the integral agrees.
    #[test]
    fn a_service_carries_its_packet(
        (rate, steps, outages) in any_pieces(),
        packets in prop::collection::vec((1..20_000_u32, 0..20_000_000_000_u64), 1..40),
    ) {
        let mut line =
            Schedule::new(Rate(rate), &Capacity::Steps(steps.clone()), &outages).unwrap();
        let mut free = 0;
        for (bytes, idle) in packets {
            let start = free + idle;
            let end = line.finish(Time(start), bytes, idle == 0).0;
            prop_assert!(end > start);
            let need = u128::from(bytes) * 8 * PS_PER_SECOND;
            prop_assert!(exact(rate, &steps, &outages, start, end) >= need);
            prop_assert!(exact(rate, &steps, &outages, start, end - 1) < need);
            let bits = exact(rate, &steps, &outages, start, end) as f64 / 1e12;
            let integral = line.bits(Time(start), Time(end));
            prop_assert!((bits - integral).abs() <= 1e-9 * bits, "{bits} {integral}");
            free = end;
        }
    }

    /// Against a list of all opportunities, used up one by one.
    #[test]
    fn a_trace_agrees_with_a_naive_list(
        list in prop::collection::vec(0..30_u32, 1..10),
        edges in prop::collection::btree_set(0..400_u64, 0..7),
        packets in prop::collection::vec((1..4000_u32, 0..40_u64), 1..30),
    ) {
        let mut list = list;
        list.sort_unstable();
        list.push(list[list.len() - 1].max(1));
        let edges: Vec<u64> = edges.into_iter().collect();
        let outages: Vec<Outage> = edges.chunks_exact(2).map(|e| outage(e[0], e[1])).collect();
        let period = u64::from(*list.last().unwrap());
        let all: Vec<u64> = (0..6000 / period)
            .flat_map(|cycle| list.iter().map(move |&at| cycle * period + u64::from(at)))
            .filter(|at| !edges.chunks_exact(2).any(|e| (e[0]..e[1]).contains(at)))
            .collect();
        let mut line = trace(&list, &outages);
        let (mut next, mut left, mut free) = (0, 0, 0);
        for (bytes, idle) in packets {
            let start = free + idle;
            if idle > 0 {
                left = 0;
                while all[next] <= start {
                    next += 1;
                }
            } else if free == 0 {
                continue;
            }
            let mut need = bytes;
            let mut end = start;
            while need > 0 {
                if left == 0 {
                    end = all[next];
                    (next, left) = (next + 1, Trace::BYTES);
                }
                let used = need.min(left);
                (need, left) = (need - used, left - used);
            }
            let got = line.finish(Time(start * MS), bytes, idle == 0);
            prop_assert_eq!(got, Time(end * MS));
            let within = all.iter().filter(|&&at| start < at && at <= end).count();
            prop_assert_eq!(line.bits(Time(start * MS), Time(end * MS)), within as f64 * 12_000.0);
            free = end;
        }
    }
}

//! After warm-up the engine allocates nothing per packet: pools and rings have grown to what the
//! run needs, and double on the rare occasion that a run of losses asks for more.
//!
//! A binary of its own: it counts with a global allocator, which the other tests go without.

#[path = "it/common/mod.rs"]
mod common;

use clearpipe_net::Run;
use scenario::{
    Arrivals, Capacity, DelayLaw, GapLaw, Jitter, Line, Loss, LossModel, Outage, Reorder, Size,
    SizeLaw, Trace,
};
use units::Span;

fn steady(queue: &str, protocol: &str, line: Line) -> u64 {
    let text = format!(
        "schema = 1\nname = \"steady\"\nduration = \"400s\"\nwarmup = \"0s\"\n\
         [topology]\nkind = \"dumbbell\"\nrate = \"20Mbps\"\nrtt = \"40ms\"\nbuffer = \"1bdp\"\n\
         queue = \"{queue}\"\n\
         [flows.fwd]\nprotocol = \"{protocol}\"\ncount = 5\ndirection = \"forward\"\n\
         [flows.rev]\nprotocol = \"{protocol}\"\ncount = 5\ndirection = \"reverse\"\n"
    );
    let mut scenario =
        scenario::parse("steady.toml", &text, &[]).expect("a valid scenario").scenario;
    scenario.links.iter_mut().for_each(|link| link.line = line.clone());
    let mut run = Run::new(&scenario, 1, 0);
    let mut until = |seconds: f64| {
        while run.progress().now.as_secs() < seconds {
            assert!(run.advance(1000), "the run is long enough");
        }
        run.progress().packet_hops
    };
    let before = until(300.0);
    let mut after = 0;
    let counted = allocation_counter::measure(|| after = until(350.0));
    assert!(after - before > 500_000, "the run does something");
    counted.count_total
}

#[test]
fn nothing_is_allocated_per_packet_after_warm_up() {
    for (queue, protocol) in [
        ("xcp", "xcp"),
        ("vcp", "vcp"),
        ("red", "sack"),
        ("droptail", "sack"),
        ("droptail", "reno"),
    ] {
        let allocations = steady(queue, protocol, Line::default());
        let most = if queue == protocol { 0 } else { 4 };
        assert!(allocations <= most, "{allocations} with {protocol} over {queue}");
    }
}

/// On a line with all that a line can have; the trace is 24 Mb/s.
#[test]
fn nor_on_a_line_that_is_not_plain() {
    let ms = Span::from_millis;
    let line = Line {
        capacity: Capacity::Trace(Trace { opportunities_ms: [1, 1, 2, 2].into() }),
        outages: vec![Outage { from: ms(200_000), to: ms(200_500) }],
        outage_drops: true,
        loss: Some(Loss { model: LossModel::Random(0.001), data_only: false }),
        jitter: Some(Jitter { extra: DelayLaw::Exponential(ms(1)), in_order: false }),
        reorder: Some(Reorder { p: 0.01, extra: ms(10) }),
    };
    let allocations = steady("xcp", "xcp", line);
    assert!(allocations <= 4, "{allocations}");
}

/// 200 transfers/s over a short buffer: 10,000 of them in 50 s, with losses. What grows is the
/// table's five columns, and now and then the memory of a slot that has its first loss.
#[test]
fn nothing_is_allocated_per_arriving_flow() {
    let text = "schema = 1\nname = \"steady\"\nduration = \"400s\"\nwarmup = \"0s\"\n\
         [topology]\nkind = \"dumbbell\"\nrate = \"12Mbps\"\nrtt = \"40ms\"\nbuffer = \"10pkt\"\n\
         [flows.web]\nprotocol = \"sack\"\n";
    let mut scenario =
        scenario::parse("steady.toml", text, &[]).expect("a valid scenario").scenario;
    let group = &mut scenario.groups[0];
    group.count = 0;
    group.arrivals = Some(Arrivals { gap: GapLaw::Poisson { mean_s: 0.005 }, most: None });
    group.size = Size::Drawn(SizeLaw::Exponential { mean: 6_000.0 });
    let mut run = Run::new(&scenario, 1, 0);
    let until = |run: &mut Run<'_>, seconds: f64| {
        while run.progress().now.as_secs() < seconds {
            assert!(run.advance(1000), "the run is long enough");
        }
    };
    until(&mut run, 300.0);
    let so_far = |run: &Run<'_>| run.clone().finish().tables.groups[0].clone();
    let before = so_far(&run);
    let counted = allocation_counter::measure(|| until(&mut run, 350.0));
    let after = so_far(&run);
    assert!(after.flows - before.flows > 9_000 && after.dropped_pkts - before.dropped_pkts > 1_000);
    assert!(counted.count_total <= 20, "{} allocations", counted.count_total);
}

/// Web transfers for four fifths of 100 Mb/s, and one of 10 kB every ten seconds.
const DAY: &str = r#"
schema = 1
name = "day"
duration = "24h"
warmup = "0s"
[packets]
data = "1500B"
[topology]
kind = "dumbbell"
rate = "100Mbps"
rtt = "40ms"
buffer = "1bdp"
[flows.web]
protocol = "cubic"
size = { cdf = "web-search.cdf" }
arrivals = "load(80%)"
[flows.clock]
protocol = "cubic"
size = "10kB"
arrivals = "every(10s)"
[probe]
series = ["queue", "utilization"]
links = ["bottleneck"]
every = "60s"
"#;

/// Runs so much of it. After a part of 1/24 what is held grows by the rows of the tables alone:
/// 32 bytes for a transfer, 20 for a sample, and as much again for columns that have doubled. Times
/// are the nearest to what they are in seconds, and the books balance to the packet.
fn of_a_day(duration: Span) {
    let beside = scenario::beside(&common::root("python/clearpipe/examples/day.toml"));
    let mut scenario =
        scenario::parse_with("day.toml", DAY, &[], &beside).expect("a valid scenario").scenario;
    scenario.duration = duration;
    let mut run = Run::new(&scenario, 1, 0);
    while run.progress().now.as_secs() < duration.as_secs() / 24.0 {
        assert!(run.advance(1000), "the run is long enough");
    }
    let counted = allocation_counter::measure(|| while run.advance(1 << 16) {});
    let tables = run.finish().tables;
    let transfers = tables.transfers.expect("groups with arrivals");
    let samples: usize = tables.series.iter().map(|series| series.t_s.len()).sum();
    let rows = 2 * (32 * transfers.start_s.len() + 20 * samples) as i64;
    let grown = counted.bytes_current;
    println!("{grown} bytes more, {rows} of rows; {} transfers", transfers.start_s.len());
    assert!(grown <= rows + (1 << 18), "{grown} bytes more, {rows} of them rows");

    let clock = transfers.group.iter().zip(&transfers.start_s).filter(|(group, _)| **group == 1);
    let ticks = clock.enumerate().map(|(k, (_, &start))| (start, 10.0 * k as f64));
    let ticks: Vec<(f64, f64)> = ticks.collect();
    assert_eq!(ticks.len() as f64, duration.as_secs() / 10.0 + 1.0);
    assert!(ticks.iter().all(|(start, due)| start == due), "every ten seconds");
    for series in &tables.series {
        let minutes = (1..=series.t_s.len()).map(|k| 60.0 * k as f64);
        assert!(series.t_s.iter().copied().eq(minutes), "every minute");
    }
    let data = &tables.links[0];
    let places = data.total_departures_pkts + data.total_drops_pkts + data.queued_end_pkts;
    assert_eq!(data.total_arrivals_pkts, places);
    let sent: u64 = tables.groups.iter().map(|group| group.sent_pkts).sum();
    let waiting: u64 = tables.groups.iter().map(|group| group.in_flight_pkts).sum();
    assert!((data.total_arrivals_pkts..=data.total_arrivals_pkts + waiting).contains(&sent));
    // What is in service at the end has not departed in whole.
    let bits = data.utilization_ratio * 1e8 * duration.as_secs();
    assert!((bits - data.departures_bytes as f64 * 8.0).abs() <= 12_000.0 + 1e-9 * bits);
    let finished = |group: usize| (tables.groups[group].finished, tables.groups[group].flows);
    assert!(finished(0).0 + 100 > finished(0).1 && finished(1).0 + 2 > finished(1).1);
}

#[test]
fn minutes_of_arrivals_keep_memory_times_and_books() {
    of_a_day(Span::from_secs(20 * 60));
}

/// 600 million packets each way.
#[test]
#[ignore = "a minute"]
fn a_day_of_arrivals_keeps_memory_times_and_books() {
    of_a_day(Span::from_secs(24 * 3600));
}

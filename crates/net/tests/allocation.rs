//! After warm-up the engine allocates nothing per packet: pools and rings have grown to what the
//! run needs, and double on the rare occasion that a run of losses asks for more.
//!
//! A binary of its own: it counts with a global allocator, which the other tests go without.

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

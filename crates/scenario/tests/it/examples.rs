//! The example scenarios, checked by hand.

use std::fs;
use std::path::PathBuf;

use cc::registry::Recovery;
use cc::roles::Limit;
use clearpipe_scenario::{
    Every, Parsed, Scenario, Series, Size, Start, Warning, beside, parse, parse_with,
};
use units::{Rate, Span};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../python/clearpipe/examples")
}

fn example(name: &str) -> Parsed {
    let text = fs::read_to_string(folder().join(format!("{name}.toml"))).unwrap();
    parse(name, &text, &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn names<'a>(scenario: &'a Scenario, path: &[usize]) -> Vec<&'a str> {
    path.iter().map(|&link| scenario.links[link].name.as_str()).collect()
}

fn ms(ms: u64) -> Span {
    Span::from_millis(ms)
}

#[test]
fn every_example_parses_without_a_warning() {
    let mut count = 0;
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        count += 1;
        let text = fs::read_to_string(&path).unwrap();
        let parsed = parse_with(&path.display().to_string(), &text, &[], &beside(&path));
        let parsed = parsed.unwrap_or_else(|error| panic!("{error}"));
        // A run of a sweep's file says that it does not read the tables for the runner.
        let is_sweep = text.contains("\n[sweep]");
        let runner = |w: &&Warning| {
            is_sweep && w.message.starts_with("sweep: this is the file as it stands; ")
        };
        let others: Vec<_> = parsed.warnings.iter().filter(|w| !runner(w)).collect();
        assert!(others.is_empty(), "{}: {others:?}", path.display());
        assert_eq!(path.file_stem().unwrap().to_str(), Some(parsed.scenario.name.as_str()));
    }
    assert!(count >= 10, "{count} examples");
}

#[test]
fn the_base_case_by_hand() {
    let scenario = example("base-case-xcp").scenario;
    assert_eq!(scenario.duration, Span::from_secs(120));
    // 20 % of 120 s.
    assert_eq!(scenario.warmup, Span::from_secs(24));
    assert_eq!(scenario.flow_count(), 60);
    for link in &scenario.links {
        // 150 Mb/s x 80 ms = 12 Mb = 1.5 MB.
        assert_eq!(link.limit, Limit::Bytes(1_500_000));
        assert_eq!((link.rate, link.owd), (Rate(150_000_000), ms(20)));
        assert_eq!((link.queue.policy.kind, link.queue.name.as_str()), ("droptail", "xcp"));
        assert_eq!(link.queue.feedback.as_ref().unwrap().kind, "xcp");
    }
    let [forward, reverse] = &scenario.groups[..] else { panic!("two groups") };
    assert_eq!((&forward.path, &forward.reverse), (&vec![0], &vec![1]));
    assert_eq!((&reverse.path, &reverse.reverse), (&vec![1], &vec![0]));
    // 80 ms - 2 x 20 ms = 40 ms over four hops; ten times the bottleneck.
    let access = forward.access(29);
    assert_eq!((access.source_owd, access.sink_owd), (ms(10), ms(10)));
    assert_eq!(access.rate, Rate(1_500_000_000));
    assert_eq!(scenario.rtt(forward, 0), ms(80));
    assert_eq!(forward.start, Start::Uniform(Span::ZERO, Span::from_secs(10)));
    assert_eq!((&forward.size, forward.stop), (&Size::Unlimited, None));
    let series = [Series::Cwnd, Series::Queue, Series::Utilization, Series::Goodput];
    assert_eq!(
        (&scenario.probe.series[..], scenario.probe.every),
        (&series[..], Every::Span(ms(100)))
    );
}

#[test]
fn a_buffer_holds_two_packets_per_flow_if_asked_to() {
    let text = fs::read_to_string(folder().join("base-case-vcp.toml")).unwrap();
    let limit = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
        parse("vcp", &text, &sets).unwrap().scenario.links[0].limit
    };
    // 60 flows x 2 packets x 1000 B = 120 kB, below and above the BDP.
    assert_eq!(limit(&["topology.buffer_per_flow=2pkt"]), Limit::Bytes(1_500_000));
    let slow = ["topology.buffer_per_flow=2pkt", "topology.rate=10Mbps"];
    // 10 Mb/s x 80 ms = 100 kB.
    assert_eq!(limit(&slow[1..]), Limit::Bytes(100_000));
    assert_eq!(limit(&slow), Limit::Bytes(120_000));
    assert_eq!(
        limit(&["topology.buffer_per_flow=2pkt", "topology.buffer=50pkt"]),
        Limit::Packets(120)
    );
    // In packets of 1000 B: 150 Mb/s x 80 ms are 1500, and 1.9999 of 10 Mb/s x 80 ms 199.99.
    assert_eq!(limit(&["topology.buffer=1bdp-pkt"]), Limit::Packets(1500));
    let part = ["topology.buffer=1.9999bdp-pkt", "topology.rate=10Mbps"];
    assert_eq!(limit(&part), Limit::Packets(199));
    let floor = ["topology.buffer=1bdp-pkt", slow[0], slow[1]];
    assert_eq!(limit(&floor), Limit::Packets(120));
}

#[test]
fn red_and_ecn_have_their_parameters() {
    let scenario = example("base-case-sack-red").scenario;
    let queue = &scenario.links[1].queue;
    assert_eq!((queue.name.as_str(), queue.policy.kind), ("gentle-red", "red"));
    assert!(queue.feedback.is_none());
    let third = queue.policy.params.get("min_th_ratio");
    assert_eq!(third, Some(cc::params::Value::Number(1.0 / 3.0)));
    let protocol = &scenario.groups[0].protocol;
    assert_eq!((protocol.name.as_str(), protocol.kind), ("sack-ecn", "sack"));
    assert_eq!(protocol.params.get("ecn"), Some(cc::params::Value::Flag(true)));
}

#[test]
fn flows_join_every_two_seconds() {
    let scenario = example("xcp-fig10").scenario;
    let mut stream = units::random::Stream::new(1, 0, "unused");
    let group = &scenario.groups[0];
    let starts = [0, 1, 2, 3, 4].map(|i| group.start.time(i, &mut stream).as_secs());
    assert_eq!(starts, [0.0, 2.0, 4.0, 6.0, 8.0]);
}

#[test]
fn the_parking_lot_by_hand() {
    let scenario = example("parking-lot").scenario;
    assert_eq!(scenario.links.len(), 10);
    let long = &scenario.groups[0];
    assert_eq!(names(&scenario, &long.path), ["l1", "l2", "l3", "l4", "l5"]);
    assert_eq!(names(&scenario, &long.reverse)[..2], ["l5.reverse", "l4.reverse"]);
    // 120 ms - 10 x 10 ms = 20 ms over four hops.
    assert_eq!((long.access(0).source_owd, scenario.rtt(long, 3)), (ms(5), ms(120)));
    let cross = &scenario.groups[3];
    assert_eq!((cross.name.as_str(), names(&scenario, &cross.path)), ("cross.3", vec!["l3"]));
    let back = &scenario.groups[6];
    assert_eq!(names(&scenario, &back.path), ["l4.reverse", "l3.reverse", "l2.reverse"]);
    assert_eq!(names(&scenario, &back.reverse), ["l2", "l3", "l4"]);
    assert_eq!(back.size, Size::Bytes(5_000_000));
    // The longest flow over every link takes 120 ms: 50 Mb/s x 120 ms = 750 kB.
    assert!(scenario.links.iter().all(|link| link.limit == Limit::Bytes(750_000)));
}

#[test]
fn routes_by_hand() {
    let scenario = example("two-paths").scenario;
    let [bulk, ground, split] = &scenario.groups[..] else { panic!("three groups") };
    assert_eq!(names(&scenario, &bulk.reverse), ["sat.reverse"]);
    // 20 + 50 ms over the ground, 270 ms by satellite.
    assert_eq!(names(&scenario, &ground.path), ["sea", "cable"]);
    assert_eq!(names(&scenario, &split.reverse), ["cable.reverse", "sea.reverse"]);
    assert_eq!(split.protocol.recovery, Recovery::Sack);
    // 2 x 70 ms by the links; 10 ms and 110 ms over four hops.
    assert_eq!(
        (ground.access(0).source_owd, ground.access(7).sink_owd),
        (Span(2_500_000_000), Span(27_500_000_000))
    );
    assert_eq!((scenario.rtt(ground, 0), scenario.rtt(ground, 7)), (ms(150), ms(250)));
    // 2 x 270 ms + 4 x 1 ms = 544 ms; 100 Mb/s x 544 ms = 6.8 MB.
    assert_eq!(scenario.links[0].limit, Limit::Bytes(6_800_000));
    assert_eq!(scenario.links[2].limit, Limit::Packets(100));
    // Ten times the cable, the fastest link on its way.
    assert_eq!(ground.access(0).rate, Rate(300_000_000));
}

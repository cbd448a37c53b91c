//! Captures and traces of whole runs: they change nothing, miss nothing, and can be read back.

use std::collections::BTreeMap;
use std::io::{self, Cursor, Write};
use std::sync::{Arc, Mutex};

use capture::proto::{Trace, TracePacket, Type};
use capture::{CaptureOf, Recorded, Recorder, TraceOf, Window};
use clearpipe_net::{Outcome, Run, simulate_recorded};
use pcap_file::pcapng::{Block, PcapNgReader};
use prost::Message;
use scenario::Scenario;
use units::Time;

use crate::common;

/// Bytes that can be read when their writer is gone.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Everything of a run: its outcome, each link's packets and the trace.
struct Whole {
    outcome: Outcome,
    recorded: Recorded,
    captures: Vec<Vec<u8>>,
    trace: Trace,
    trace_bytes: u64,
}

fn recorder(scenario: &Scenario, window: Window, limit: u64) -> (Recorder, Vec<Shared>, Shared) {
    let mut recorder = Recorder::new(scenario.links.len(), window);
    let outs: Vec<Shared> = scenario.links.iter().map(|_| Shared::default()).collect();
    for (i, (link, out)) in scenario.links.iter().zip(&outs).enumerate() {
        let wanted = CaptureOf {
            link: i as u32,
            name: &link.name,
            rate_bps: link.rate.0,
            headers_only: false,
            file: format!("{}.pcapng", link.name),
        };
        recorder.capture(wanted, Box::new(out.clone())).unwrap();
    }
    let trace = Shared::default();
    let wanted = TraceOf {
        links: scenario.links.iter().map(|link| link.name.clone()).collect(),
        groups: scenario.groups.iter().map(|group| group.name.clone()).collect(),
        limit,
        file: "trace.pftrace".to_owned(),
    };
    recorder.trace(wanted, Box::new(trace.clone())).unwrap();
    (recorder, outs, trace)
}

fn record(scenario: &Scenario, window: Window, limit: u64) -> Whole {
    let (recorder, outs, trace) = recorder(scenario, window, limit);
    let (outcome, recorded) = simulate_recorded(scenario, (1, 0), recorder, &mut |_| true).unwrap();
    let bytes = trace.bytes();
    Whole {
        outcome,
        recorded,
        captures: outs.iter().map(Shared::bytes).collect(),
        trace_bytes: bytes.len() as u64,
        trace: Trace::decode(&bytes[..]).unwrap(),
    }
}

/// Stamps [ns] and bytes of a capture.
fn packets(capture: &[u8]) -> Vec<(u128, Vec<u8>)> {
    let mut reader = PcapNgReader::new(Cursor::new(capture)).unwrap();
    let mut found = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.unwrap() {
            assert_eq!(packet.data.len(), packet.original_len as usize);
            found.push((packet.timestamp.as_nanos(), packet.data.into_owned()));
        }
    }
    found
}

fn scenarios() -> Vec<(&'static str, Scenario)> {
    let short = |name, more: &[&str]| {
        let sets = [
            "duration=4s",
            "warmup=1s",
            "flows.fwd.count=3",
            "flows.rev.count=2",
            "flows.fwd.start=uniform(0s, 0.5s)",
            "flows.rev.start=uniform(0s, 0.5s)",
            "topology.rate=5Mbps",
        ];
        (name, common::example(name, &[&sets, more].concat()))
    };
    vec![
        // Without probes sources are prompt, until a trace is wanted.
        short("base-case-xcp", &["probe.series=[]"]),
        short("base-case-vcp", &[]),
        short("base-case-sack-red", &["topology.buffer=10pkt"]),
        (
            "parking-lot",
            common::example("parking-lot", &["duration=3s", "warmup=1s", "flows.back.start=1s"]),
        ),
    ]
}

#[test]
fn a_recorded_run_is_the_same_run_and_nothing_is_missing() {
    for (name, scenario) in scenarios() {
        let plain = common::run(&scenario, 1, 0);
        let whole = record(&scenario, Window::ALL, u64::MAX);
        assert_eq!(whole.outcome.fingerprint, plain.fingerprint, "{name}");
        assert_eq!(whole.outcome.tables, plain.tables, "{name}");
        for (i, link) in plain.tables.links.iter().enumerate() {
            let packets = packets(&whole.captures[i]);
            assert_eq!(packets.len() as u64, link.total_departures_pkts, "{name} {}", link.name);
            assert_eq!(whole.recorded.captures[i], (i as u32, link.total_departures_pkts));
            assert!(packets.is_sorted_by_key(|packet| packet.0));
            let end = plain.end.now.0 / 1000;
            assert!(packets.iter().all(|packet| packet.0 <= u128::from(end)));
        }
    }
}

#[test]
fn retransmissions_and_selective_acknowledgements_are_seen() {
    let (_, scenario) = scenarios().swap_remove(2);
    let whole = record(&scenario, Window::ALL, u64::MAX);
    let flows = &whole.outcome.tables.flows;
    assert!(flows.iter().map(|flow| flow.retransmitted_pkts).sum::<u64>() > 0);
    let all: Vec<Vec<u8>> =
        whole.captures.iter().flat_map(|bytes| packets(bytes)).map(|packet| packet.1).collect();
    assert!(all.iter().any(|packet| packet.len() > 44 && packet[42] == 5 && packet[9] == 6));
    let names: Vec<&str> = whole.trace.packet.iter().filter_map(name).collect();
    assert!(names.iter().any(|name| name.ends_with("retransmission")));
    let fast: u64 = flows.iter().map(|flow| flow.fast_retransmits).sum();
    assert_eq!(names.iter().filter(|&&name| name == "fast retransmit").count() as u64, fast);
    let timeouts: u64 = flows.iter().map(|flow| flow.timeouts).sum();
    assert_eq!(names.iter().filter(|&&name| name == "timeout").count() as u64, timeouts);
}

/// Prague's ACKs have AccECN1 (kind 174): the n-th says of the first n data packets how many came
/// with CE, in ACE, and how many bytes those had, in ECEB. Data has ACE = 5, and no option.
#[test]
fn accecn_is_seen() {
    let sets = ["duration=4s", "warmup=1s", "topology.rate=10Mbps", "flows.cubic.start=3s"];
    let whole = record(&common::example("l4s-coexistence", &sets), Window::ALL, u64::MAX);
    let of = |capture: &[u8], host: usize| -> Vec<Vec<u8>> {
        let all = packets(capture).into_iter().map(|packet| packet.1);
        all.filter(|packet| packet[host..host + 4] == [10, 0, 0, 1]).collect()
    };
    let (data, acks) = (of(&whole.captures[0], 12), of(&whole.captures[1], 16));
    assert!(data.iter().all(|packet| packet[1] & 1 == 1 && packet[32..34] == [0x51, 0x50]));
    let (mut marked, mut seen) = (0_u32, 0);
    for (packet, ack) in data.iter().zip(&acks) {
        marked += u32::from(packet[1] & 3 == 3);
        let ace = (ack[32] & 1) << 2 | ack[33] >> 6;
        assert_eq!(u32::from(ace), (5 + marked) % 8);
        assert_eq!(ack[40..42], [174, 11]);
        let eceb = u32::from_be_bytes([0, ack[45], ack[46], ack[47]]);
        assert_eq!(eceb, 1500 * marked);
        seen += 1;
    }
    assert!(seen > 1000 && marked > 20, "{seen} ACKs, {marked} marks");
}

fn name(packet: &TracePacket) -> Option<&str> {
    packet.track_event.as_ref()?.name.as_deref()
}

/// Slices of a trace: track, begin, end [ns], arrow; checks on the way that they are balanced.
fn slices(trace: &Trace) -> Vec<(u64, u64, u64, u64)> {
    let mut open: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    let mut last: BTreeMap<u64, u64> = BTreeMap::new();
    let mut found = Vec::new();
    for packet in &trace.packet {
        let Some(event) = &packet.track_event else { continue };
        let (track, t) = (event.track_uuid.unwrap(), packet.timestamp.unwrap());
        let before = last.insert(track, t).unwrap_or(0);
        assert!(t >= before, "time goes back on track {track}");
        match event.r#type() {
            Type::SliceBegin => {
                assert!(open.insert(track, (t, event.flow_ids[0])).is_none(), "two at once");
            }
            Type::SliceEnd => {
                let (begin, arrow) = open.remove(&track).expect("a slice to end");
                found.push((track, begin, t, arrow));
            }
            _ => {}
        }
    }
    assert!(open.is_empty(), "slices that do not end");
    found
}

/// Tracks by name.
fn tracks(trace: &Trace) -> BTreeMap<String, u64> {
    let descriptors = trace.packet.iter().filter_map(|packet| packet.track_descriptor.as_ref());
    let named = descriptors.map(|track| (track.name.clone().unwrap(), track.uuid.unwrap()));
    let found: BTreeMap<String, u64> = named.collect();
    let numbers: std::collections::BTreeSet<_> = found.values().collect();
    assert_eq!(numbers.len(), found.len(), "two tracks with one number");
    found
}

#[test]
fn a_trace_holds_every_departure_and_joins_data_with_acks() {
    for (name, scenario) in scenarios() {
        let whole = record(&scenario, Window::ALL, u64::MAX);
        let slices = slices(&whole.trace);
        let tracks = tracks(&whole.trace);
        for link in &whole.outcome.tables.links {
            let on = slices.iter().filter(|slice| slice.0 == tracks[&link.name]);
            assert_eq!(on.count() as u64, link.total_departures_pkts, "{name} {}", link.name);
            assert!(tracks.contains_key(&format!("{} queue", link.name)));
        }
        assert_eq!(whole.recorded.trace.unwrap().bytes, whole.trace_bytes);
        if name == "parking-lot" {
            continue;
        }
        // One link each way: a number is on one slice, or on a data packet's and its ACK's, later.
        let mut ends: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
        slices.iter().for_each(|s| ends.entry(s.3).or_default().push((s.0, s.1)));
        let (links, flows) = (&whole.outcome.tables.links, &whole.outcome.tables.flows);
        let departures: u64 = links.iter().map(|link| link.total_departures_pkts).sum();
        let arrows = ends.values().filter(|ends| ends.len() == 2).count() as u64;
        let single = ends.values().filter(|ends| ends.len() == 1).count() as u64;
        assert_eq!(2 * arrows + single, departures, "{name}");
        for pair in ends.values().filter(|ends| ends.len() == 2) {
            let mut by_time = pair.clone();
            by_time.sort_by_key(|end| end.1);
            assert_ne!(by_time[0].0, by_time[1].0, "{name}: both ends on one link");
        }
        // Each ACK is the end of one: as many as reached their sender, and those past the link.
        let reached: u64 = flows.iter().map(|flow| flow.acks_arrived_pkts).sum();
        let on_the_way: u64 = flows.iter().map(|flow| flow.acks_in_flight_pkts).sum();
        assert!(arrows >= reached && arrows <= reached + on_the_way, "{name}: {arrows}");
        assert!(arrows > 100, "{name}: {arrows}");
    }
}

#[test]
fn a_trace_shows_windows_and_rtts_and_no_value_twice() {
    let (_, scenario) = scenarios().swap_remove(0);
    let whole = record(&scenario, Window::ALL, u64::MAX);
    let tracks = tracks(&whole.trace);
    for flow in &whole.outcome.tables.flows {
        let values = |what: &str| -> Vec<f64> {
            let track = tracks[&format!("flow {} {} {what}", flow.flow, flow.group)];
            let events = whole.trace.packet.iter().filter_map(|packet| packet.track_event.as_ref());
            let on = events.filter(|event| event.track_uuid == Some(track));
            on.map(|event| event.double_counter_value.unwrap()).collect()
        };
        let (cwnd, srtt) = (values("cwnd"), values("srtt"));
        assert!(cwnd.len() > 10 && cwnd.windows(2).all(|pair| pair[0] != pair[1]));
        // The last value is the one in the table [ms], rounded down to ns.
        let last = flow.srtt_s.unwrap() * 1e3;
        assert!((srtt.last().unwrap() - last).abs() < 1.1e-6, "{srtt:?} {last}");
    }
}

/// Of two transfers that arrive, of seven packets each, one, two and four leave in three rounds; an
/// ACK adds one to the window while that is full, as it is no longer after the third round's first.
/// A sample, which hosts are run ahead to, does not change what is seen.
#[test]
fn a_trace_shows_flows_that_arrive() {
    let text = "duration = \"4s\"\n\
        [links.line]\nfrom = \"a\"\nto = \"b\"\nrate = \"8Mbps\"\nowd = \"10ms\"\nduplex = true\n\
        [flows.web]\nprotocol = \"reno\"\nfrom = \"a\"\nto = \"b\"\ncount = 2\n\
        arrivals = \"every(1s)\"\nsize = \"7kB\"\naccess_owd = \"0s\"\naccess_rate = \"80Mbps\"\n";
    let sampled = "[probe]\nseries = [\"cwnd\"]\nevery = \"3ms\"\n";
    // 0.1 + 1 + 10 + 0.1 ms there, and the ACK a twenty-fifth of the 1.2 ms and 10 ms back.
    let round = 11_200_000 + 10_048_000;
    let after = [round, 2 * round, 2 * round + 1_000_000, 3 * round]; // [ns]
    for text in [text.to_owned(), format!("{text}{sampled}")] {
        let whole = record(&common::scenario(&text), Window::ALL, u64::MAX);
        let cwnd = tracks(&whole.trace).into_iter().filter(|track| track.0.ends_with(" cwnd"));
        let cwnd: Vec<u64> = cwnd.map(|track| track.1).collect();
        let seen: Vec<(u64, f64)> = whole
            .trace
            .packet
            .iter()
            .filter_map(|packet| Some((packet.timestamp?, packet.track_event.as_ref()?)))
            .filter(|(_, event)| cwnd.contains(&event.track_uuid.unwrap()))
            .map(|(t, event)| (t, event.double_counter_value.unwrap()))
            .collect();
        let starts = whole.outcome.tables.transfers.expect("flows arrive").start_s;
        assert_eq!(starts.len(), 2);
        let expected = starts.iter().flat_map(|start| {
            let times = after.map(|after| (start * 1e9).round() as u64 + after);
            times.into_iter().zip([2.0, 3.0, 4.0, 5.0])
        });
        assert_eq!(seen, expected.collect::<Vec<_>>());
    }
}

#[test]
fn a_window_is_a_part_of_the_whole() {
    let (_, scenario) = scenarios().swap_remove(1);
    let whole = record(&scenario, Window::ALL, u64::MAX);
    let (from, to) = (1_500_000_000_000, 2_250_000_000_000);
    let part = record(&scenario, Window { from: Time(from), to: Time(to) }, u64::MAX);
    assert_eq!(part.outcome.fingerprint, whole.outcome.fingerprint);
    for (part, all) in part.captures.iter().zip(&whole.captures) {
        let inside = |t: u128| (u128::from(from)..u128::from(to)).contains(&(t * 1000));
        let mut expected = packets(all);
        expected.retain(|packet| inside(packet.0));
        assert_eq!(packets(part), expected);
        assert!(!expected.is_empty());
    }
    assert!(slices(&part.trace).iter().all(|slice| slice.2 * 1000 >= from && slice.2 * 1000 < to));
}

#[test]
fn a_trace_stops_whole_at_its_limit_and_the_run_goes_on() {
    let (_, scenario) = scenarios().swap_remove(0);
    let whole = record(&scenario, Window::ALL, u64::MAX);
    let part = record(&scenario, Window::ALL, 100_000);
    assert_eq!(part.outcome.tables, whole.outcome.tables);
    assert_eq!(part.captures, whole.captures);
    assert!(part.trace_bytes <= 100_000 && part.trace_bytes > 99_000, "{}", part.trace_bytes);
    let stopped = part.recorded.trace.unwrap().stopped.unwrap();
    assert!(slices(&part.trace).iter().all(|slice| slice.1 <= stopped.0 / 1000));
    assert_eq!(part.trace.packet[..], whole.trace.packet[..part.trace.packet.len()]);
    assert_eq!(whole.recorded.trace.unwrap().stopped, None);
}

#[test]
fn a_stopped_run_is_recorded_up_to_where_it_stopped() {
    let (_, scenario) = scenarios().swap_remove(0);
    let (recorder, outs, _) = recorder(&scenario, Window::ALL, u64::MAX);
    let mut run = Run::new(&scenario, 1, 0);
    run.record(recorder);
    assert!(run.advance(5_000));
    let recorded = run.end_record().unwrap();
    let outcome = run.finish();
    assert!(!outcome.complete);
    for (i, link) in outcome.tables.links.iter().enumerate() {
        assert_eq!(recorded.captures[i].1, link.total_departures_pkts);
        assert_eq!(packets(&outs[i].bytes()).len() as u64, link.total_departures_pkts);
    }
}

#[test]
fn a_clone_goes_on_unrecorded_and_alike() {
    let (_, scenario) = scenarios().swap_remove(0);
    let (recorder, outs, _) = recorder(&scenario, Window::ALL, u64::MAX);
    let mut run = Run::new(&scenario, 1, 0);
    run.record(recorder);
    assert!(run.advance(5_000));
    let mut branch = run.clone();
    assert_eq!(branch.end_record().unwrap(), Recorded::default());
    while branch.advance(1 << 16) {}
    let branch = branch.finish();
    while run.advance(1 << 16) {}
    let recorded = run.end_record().unwrap();
    let outcome = run.finish();
    assert_eq!(branch.fingerprint, outcome.fingerprint);
    let link = &outcome.tables.links[0];
    assert_eq!(recorded.captures[0].1, link.total_departures_pkts);
    assert_eq!(packets(&outs[0].bytes()).len() as u64, link.total_departures_pkts);
}

/// A disk with room for some bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.0 -= bytes.len();
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_stops_the_run_early() {
    let scenario = common::example("base-case-xcp", &["duration=1000s"]);
    let mut recorder = Recorder::new(scenario.links.len(), Window::ALL);
    let wanted = CaptureOf {
        link: 0,
        name: "bottleneck",
        rate_bps: 1,
        headers_only: true,
        file: "full.pcapng".to_owned(),
    };
    recorder.capture(wanted, Box::new(Full(1_000_000))).unwrap();
    let mut looks = 0;
    let mut watch = |_: &Run<'_>| {
        looks += 1;
        true
    };
    let error = simulate_recorded(&scenario, (1, 0), recorder, &mut watch).unwrap_err();
    assert_eq!(error.file, "full.pcapng");
    assert!(looks < 10, "{looks}");
}

#[test]
fn a_watcher_sees_every_packet_of_every_link() {
    let scenario = common::example("xcp-fig10", &["duration=2s", "flows.fwd.count=1"]);
    let all = record(&scenario, Window::ALL, 1 << 30).recorded.captures;
    let (sender, seen) = std::sync::mpsc::channel();
    let mut recorder = Recorder::new(scenario.links.len(), Window::ALL);
    recorder.watch(Box::new(move |packet| sender.send(*packet).unwrap()));
    let (_, recorded) =
        simulate_recorded(&scenario, (1, 0), recorder, &mut |_| true).expect("nothing is written");
    assert_eq!(recorded, Recorded::default());
    let seen: Vec<_> = seen.iter().collect();
    let of = |link: u32| seen.iter().filter(move |packet| packet.link == link);
    let counts: Vec<(u32, u64)> = (0..2).map(|link| (link, of(link).count() as u64)).collect();
    assert_eq!(counts, all);
    // One after another on each line.
    for link in 0..2 {
        let times: Vec<_> = of(link).map(|packet| (packet.start, packet.end)).collect();
        assert!(times.windows(2).all(|pair| pair[0].1 <= pair[1].0));
    }
}

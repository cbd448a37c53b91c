//! Looking inside a run: series on change, one flow's story, and branches.

use clearpipe_net::{Facts, Run, explain};
use results::Series as Table;
use scenario::{Every, Scenario, Series};
use units::{Rate, Span, Time};

use crate::common;

fn scenario(text: &str) -> Scenario {
    match scenario::parse("inside.toml", text, &[]) {
        Ok(parsed) => parsed.scenario,
        Err(error) => panic!("{error}"),
    }
}

/// A base case so short that its flows must start early.
fn base(name: &str, keys: &[&str]) -> Scenario {
    let early = ["flows.fwd.start=uniform(0s, 500ms)", "flows.rev.start=uniform(0s, 500ms)"];
    common::example(&format!("base-case-{name}"), &[&early, keys].concat())
}

fn probing(mut scenario: Scenario, series: &[Series], every: Every) -> Scenario {
    scenario.probe.series = series.to_vec();
    scenario.probe.every = every;
    scenario
}

fn on_change(scenario: Scenario, series: &[Series]) -> Scenario {
    probing(scenario, series, Every::Change)
}

/// A flow that sends four packets at once into 8 Mb/s: 1 ms each, 0.08 ms each over the access hop.
fn four_packets() -> Scenario {
    scenario(
        "schema = 1\nname = \"four\"\nduration = \"1s\"\nwarmup = \"0s\"\n\
         [transport]\ninitial_window = \"4pkt\"\n\
         [links.line]\nfrom = \"a\"\nto = \"b\"\nrate = \"8Mbps\"\nowd = \"10ms\"\n\
         buffer = \"3pkt\"\nqueue = \"droptail\"\nduplex = true\n\
         [flows.only]\nprotocol = \"reno\"\nfrom = \"a\"\nto = \"b\"\nsize = \"4kB\"\n\
         access_rate = \"100Mbps\"\nstart = \"0s\"\n",
    )
}

/// Packets arrive 0.08 ms apart from 0.08 ms on and take 1 ms each: at 1.5 ms the first has left,
/// 0.42 of the second, and two wait.
#[test]
fn a_look_by_hand() {
    let scenario = four_packets();
    let mut run = Run::new(&scenario, 1, 0);
    run.pause_at(Time::ZERO + Span::from_micros(1500));
    while run.advance(1) {}
    let look = run.look();
    let line = look.links[0];
    assert_eq!((line.queue_pkts, line.drops), (2, 0));
    assert!((line.departed_bits - 11_360.0).abs() < 1e-6, "{line:?}");
    assert!((line.capacity_bits - 12_000.0).abs() < 1e-6, "{line:?}");
    let [group] = look.groups[..] else { panic!("{look:?}") };
    assert_eq!((group.flows, group.least_cwnd_pkts, group.most_cwnd_pkts), (1, 4.0, 4.0));
    // When all is over nobody sends and nothing waits.
    run.pause_at(Time::NEVER);
    while run.advance(u64::MAX) {}
    let look = run.look();
    assert_eq!((look.groups[0].flows, look.links[0].queue_pkts), (0, 0));
    assert!((look.links[0].departed_bits - 32_000.0).abs() < 1e-6, "{look:?}");
}

#[test]
fn looking_changes_nothing() {
    let scenario = base("xcp", &["duration=4s"]);
    let mut looks = 0;
    let seen = clearpipe_net::simulate(&scenario, 1, 0, &mut |run| {
        let look = run.look();
        looks += 1;
        assert_eq!(look.groups.iter().map(|group| group.flows).max(), Some(30));
        let utilized = look.links[0].departed_bits / look.links[0].capacity_bits;
        utilized > 0.0 && utilized <= 1.0
    });
    assert!(looks >= 2, "{looks}");
    assert!(seen.complete);
    assert_eq!(seen.fingerprint, common::run(&scenario, 1, 0).fingerprint);
}

fn table<'a>(tables: &'a [Table], name: &str) -> &'a Table {
    tables.iter().find(|table| table.name == name).unwrap_or_else(|| panic!("no {name}"))
}

/// A flow's or link's rows.
fn of(table: &Table, id: u32) -> Vec<(f64, f64)> {
    let rows = table.t_s.iter().zip(&table.id).zip(&table.value);
    rows.filter(|((_, of), _)| **of == id).map(|((t, _), value)| (*t, *value)).collect()
}

/// The value that holds at `t`.
fn value_at(rows: &[(f64, f64)], t: f64) -> Option<f64> {
    rows[..rows.partition_point(|row| row.0 <= t)].last().map(|row| row.1)
}

#[test]
fn a_queue_is_recorded_when_it_changes_and_only_then() {
    let scenario = on_change(four_packets(), &[Series::Queue]);
    let source = scenario.groups[0].access(0).source_owd.as_secs();
    let outcome = common::run(&scenario, 1, 0);
    let rows = of(table(&outcome.tables.series, "queue_pkts"), 0);
    // Arrivals every 0.08 ms, from the second on into the queue; the first is served until 1.08 ms.
    let expected = [
        (0.0, 0.0),
        (source + 0.16e-3, 1.0),
        (source + 0.24e-3, 2.0),
        (source + 0.32e-3, 3.0),
        (source + 1.08e-3, 2.0),
        (source + 2.08e-3, 1.0),
        (source + 3.08e-3, 0.0),
    ];
    assert_eq!(rows.len(), expected.len(), "{rows:?}");
    for (row, expected) in rows.iter().zip(expected) {
        assert!((row.0 - expected.0).abs() < 1e-12 && row.1 == expected.1, "{row:?} {expected:?}");
    }
}

#[test]
fn what_is_sampled_is_what_the_last_change_left() {
    let wanted = [Series::Cwnd, Series::Srtt, Series::Sender, Series::Queue, Series::Router];
    for (name, count) in [("xcp", 20), ("vcp", 20), ("sack-red", 15)] {
        let keys = ["duration=4s", "warmup=1s", "topology.rate=20Mbps"];
        let base = self::base(name, &keys);
        let changes = common::run(&on_change(base.clone(), &wanted), 1, 0);
        // The shorter one is shorter than an access hop: lines to hosts are emptied in part.
        for (micros, samples) in [(130_021, 20), (7013, 380)] {
            let every = Every::Span(Span::from_micros(micros));
            let sampled = common::run(&probing(base.clone(), &wanted, every), 1, 0);
            assert_eq!(changes.fingerprint, sampled.fingerprint);
            assert_eq!(sampled.tables.series.len(), changes.tables.series.len());
            let compared = compare(&sampled.tables.series, &changes.tables.series);
            assert!(compared > samples * count, "{name}: {compared}");
            let sinks = common::run(&probing(base.clone(), &[Series::Goodput], every), 1, 0);
            assert_eq!(changes.fingerprint, sinks.fingerprint);
        }
    }
}

/// How many sampled values are those that the changes before left: all of three flows and links.
fn compare(sampled: &[Table], changes: &[Table]) -> usize {
    let mut compared = 0;
    for sampled in sampled {
        let all = table(changes, &sampled.name);
        for id in [0, 1, 7] {
            let rows = of(all, id);
            for (t, value) in of(sampled, id) {
                assert_eq!(value_at(&rows, t), Some(value), "{} of {id} at {t}", all.name);
                compared += 1;
            }
        }
    }
    compared
}

#[test]
fn each_drop_has_a_row_and_rates_add_up() {
    let keys = ["duration=4s", "warmup=0s", "topology.rate=5Mbps", "topology.queue=droptail"];
    let base = base("sack-red", &keys);
    let outcome = common::run(&on_change(base.clone(), &[Series::Drops, Series::Losses]), 1, 0);
    for link in &outcome.tables.links {
        let rows = of(table(&outcome.tables.series, "drops_pkts"), link.link);
        assert_eq!(rows.len() as u64, link.total_drops_pkts);
        assert!(rows.iter().all(|row| row.1 == 1.0));
    }
    assert!(outcome.tables.links[0].total_drops_pkts > 0);
    assert!(table(&outcome.tables.series, "losses_pkts").t_s.is_empty());

    let every = Every::Span(Span::from_millis(250));
    let sampled = common::run(&probing(base, &[Series::Rate], every), 1, 0);
    let rates = table(&sampled.tables.series, "rate_bps");
    for flow in &sampled.tables.flows {
        let bits: f64 = of(rates, flow.flow).iter().map(|row| row.1 * 0.25).sum();
        let sent = flow.sent_pkts as f64 * 8000.0;
        assert!((bits - sent).abs() < 1e-6 * sent, "flow {}: {bits} of {sent}", flow.flow);
    }
    assert!(sampled.tables.flows.iter().any(|flow| flow.retransmitted_pkts > 0));
}

#[test]
fn only_the_chosen_groups_and_links_are_recorded() {
    for every in [Every::Change, Every::Span(Span::from_millis(100))] {
        let base = base("xcp", &["duration=3s", "warmup=1s"]);
        let mut chosen = probing(base, &[Series::Cwnd, Series::Queue], every);
        (chosen.probe.groups, chosen.probe.links) = (Some(vec![1]), Some(vec![0]));
        let outcome = common::run(&chosen, 1, 0);
        let flows = table(&outcome.tables.series, "cwnd_pkts");
        let group = |id: &u32| &*outcome.tables.flows[*id as usize].group;
        assert!(!flows.id.is_empty() && flows.id.iter().all(|id| group(id) == "rev"));
        let links = table(&outcome.tables.series, "queue_pkts");
        assert!(!links.id.is_empty() && links.id.iter().all(|&id| id == 0));
    }
}

#[test]
fn series_that_are_taken_on_the_way_are_the_whole() {
    let scenario = base("vcp", &["duration=2s", "warmup=0s"]);
    let series = [Series::Cwnd, Series::Queue, Series::Router];
    for every in [Every::Span(Span::from_millis(10)), Every::Change] {
        let scenario = probing(scenario.clone(), &series, every);
        let whole = common::run(&scenario, 1, 0);
        let mut run = Run::new(&scenario, 1, 0);
        let mut parts: Vec<Table> = Vec::new();
        let mut add = |taken: Vec<Table>| {
            for (place, part) in taken.into_iter().enumerate() {
                let Some(known) = parts.get_mut(place) else {
                    parts.push(part);
                    continue;
                };
                assert_eq!(known.name, part.name, "each stays in its place");
                known.t_s.extend(part.t_s);
                known.id.extend(part.id);
                known.value.extend(part.value);
            }
        };
        for half_seconds in 1..=4 {
            run.pause_at(Time::ZERO + Span::from_millis(500 * half_seconds));
            while run.advance(777) {
                add(run.take_series());
            }
            add(run.take_series());
        }
        let rest = run.finish();
        assert_eq!(rest.fingerprint, whole.fingerprint);
        assert!(rest.tables.series.iter().all(|table| table.t_s.is_empty()));
        // Links that change at one instant may stand in another order.
        for (part, table) in parts.iter().zip(&whole.tables.series) {
            for id in 0..4 {
                assert_eq!(of(part, id), of(table, id), "{} of {id}", table.name);
            }
            assert_eq!(part.t_s.len(), table.t_s.len());
        }
        assert_eq!(parts.len(), whole.tables.series.len());
    }
}

#[test]
fn too_many_rows_are_a_warning_not_the_end() {
    let base = base("xcp", &["duration=3s", "warmup=1s"]);
    let scenario = on_change(base, &[Series::Cwnd]);
    let whole = common::run(&scenario, 1, 0);
    assert!(whole.warnings.is_empty());
    let mut run = Run::new(&scenario, 1, 0);
    run.limit_rows(1000);
    while run.advance(1000) {}
    let cut = run.finish();
    assert_eq!(cut.fingerprint, whole.fingerprint);
    let (cut_rows, rows) = (&cut.tables.series[0], &whole.tables.series[0]);
    assert_eq!((cut_rows.t_s.len(), &cut_rows.t_s[..]), (1000, &rows.t_s[..1000]));
    assert!(cut.warnings[0].contains("the first 1000 values"), "{:?}", cut.warnings);
}

/// 3 s of XCP at 1 Gb/s and 100 ms have 12,500 packets on their way.
#[test]
fn too_many_packets_end_the_run_and_name_the_flow() {
    let sets = ["duration=3s", "warmup=1s", "topology.rate=1Gbps", "topology.rtt=100ms"];
    let scenario = base("xcp", &sets);
    let whole = common::run(&scenario, 1, 0);
    assert_eq!((whole.complete, &whole.error), (true, &None));
    let mut run = Run::new(&scenario, 1, 0);
    run.limit_packets(1000);
    while run.advance(1000) {}
    let error = run.error().expect("given up");
    assert!(error.contains("more than 1000 packets are on their way"), "{error}");
    assert!(error.contains(" of them belong to flow ") && error.contains("(group "), "{error}");
    let outcome = run.finish();
    assert_eq!((outcome.complete, outcome.error), (false, Some(error)));
}

#[test]
#[should_panic(expected = "goodput is a mean over time")]
fn a_mean_does_not_change_at_an_instant() {
    Run::new(&on_change(four_packets(), &[Series::Goodput]), 1, 0);
}

// Explain.

fn facts(scenario: &Scenario, flow: u32, at: f64) -> Facts {
    let at = Time::ZERO + Span::from_secs_f64(at);
    explain(scenario, (1, 0), (flow, at), &mut |_| true).expect("allowed").expect("not stopped")
}

fn variable(facts: &Facts, name: &str) -> f64 {
    facts.variables.iter().find(|shown| shown.name == name).and_then(|shown| shown.value).unwrap()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9 * b.abs().max(1e-3)
}

/// Instants of flow 3, right after an ACK, at which a series of the sender has such a value.
fn instants(base: &Scenario, series: &str, wanted: impl Fn(f64) -> bool) -> Vec<f64> {
    let outcome = common::run(&on_change(base.clone(), &[Series::Sender]), 1, 0);
    let rows = of(table(&outcome.tables.series, series), 3);
    rows.into_iter().filter(|row| wanted(row.1)).map(|row| row.0).collect()
}

#[test]
fn xcp_is_told_to_raise_and_to_lower_its_window() {
    let base = base("xcp", &["duration=9s", "warmup=1s"]);
    for sign in [1.0, -1.0] {
        let instants = instants(&base, "sender_h_feedback", |value| value * sign > 0.0);
        let at = instants[instants.len() / 2];
        let told = facts(&base, 3, at);
        let ack = told.last_ack.as_ref().expect("ACKs came");
        assert!(close(ack.at_s, at), "{} at {at}", ack.at_s);
        let feedback = ack.header[2].value.expect("granted");
        assert!(feedback * sign > 0.0);
        // cwnd += H_feedback, in packets of 1000 bytes.
        assert!(close(ack.cwnd_after_pkts - ack.cwnd_before_pkts, feedback / 1000.0));
        assert_eq!(told.cwnd_pkts, ack.cwnd_after_pkts);
        assert_eq!((told.phase, told.kind, told.links.len()), ("running", "xcp", 1));
        let packet = told.links[0].last_packet.as_ref().expect("packets left");
        assert_eq!(packet.header_before[2].value, None, "asks for the largest value");
        // That header comes back: the ACK of this segment brings what the router wrote.
        let granted = packet.header_after[2].value.expect("granted");
        let later = facts(&base, 3, at + 2.0 * told.srtt_s.unwrap());
        assert!(later.una_pkts > packet.segment);
        let seen = common::run(&on_change(base.clone(), &[Series::Sender]), 1, 0);
        let rows = of(table(&seen.tables.series, "sender_h_feedback"), 3);
        assert!(rows.iter().any(|row| row.0 > at && row.1 == granted));
    }
}

/// The increments are the paper's: (1 + 0.0625)^(srtt/200 ms) - 1, (srtt/200 ms)^2/cwnd, and 0.875.
#[test]
fn vcp_goes_through_its_three_modes() {
    let keys = ["duration=12s", "warmup=1s", "topology.rate=10Mbps"];
    let base = base("vcp", &keys);
    for mode in [1.0, 2.0, 3.0] {
        let all = instants(&base, "sender_mode", |value| value == mode);
        let at = all[all.len() / 2];
        let told = facts(&base, 3, at);
        let ack = told.last_ack.as_ref().expect("ACKs came");
        let (before, after) = (ack.cwnd_before_pkts, ack.cwnd_after_pkts);
        let periods = told.srtt_s.unwrap() / 0.2;
        assert_eq!(variable(&told, "mode"), mode);
        let (code, expected) = match mode {
            1.0 => (1, before + units::math::pow(1.0625, periods) - 1.0),
            2.0 => (2, before + periods * periods / before),
            _ => (3, (0.875 * before).max(1.0)),
        };
        assert!((after - expected).abs() < 1e-6, "mode {mode}: {before} to {after}, {expected}");
        // After a freeze, AI goes on for an RTT whatever the codes.
        assert!(ack.code.is_some_and(|shown| shown.bits == code || mode == 2.0), "{:?}", ack.code);
    }
}

#[test]
fn sack_over_red_hears_of_its_marks_and_drops() {
    let keys = ["duration=12s", "warmup=1s", "topology.rate=20Mbps"];
    let base = base("sack-red", &keys);
    let drops = common::run(&base, 1, 0).tables.flows[3].dropped_pkts;
    let told = facts(&base, 3, 12.0);
    let link = &told.links[0];
    assert_eq!(link.kinds, ["red"]);
    assert!(
        link.variables.iter().map(|shown| shown.name).eq(["avg", "max_p", "p_b", "p_a", "count"])
    );
    let loss = told.last_loss.as_ref().expect("congestion");
    assert!(drops > 0 || loss.kind == "ECN echo");
    assert!(loss.cwnd_after_pkts < loss.cwnd_before_pkts);
    let ack = told.last_ack.as_ref().unwrap();
    let (before, after) = (ack.cwnd_before_pkts, ack.cwnd_after_pkts);
    let opened = close(after, before + 1.0 / before) || close(after, before + 1.0);
    assert!(opened || after <= before, "{before} to {after}");
}

#[test]
fn a_story_does_not_change_the_run_and_has_its_limits() {
    let base = base("xcp", &["duration=5s", "warmup=1s"]);
    let outcome = common::run(&base, 1, 0);
    let told = facts(&base, 3, 5.0);
    let row = &outcome.tables.flows[3];
    assert_eq!((told.sent_pkts, told.start_s), (row.sent_pkts, row.start_s));
    assert_eq!(told.srtt_s, row.srtt_s);
    let early = facts(&base, 3, row.start_s - 1e-3);
    assert_eq!((early.phase, early.sent_pkts, early.last_ack), ("waiting", 0, None));
    let refused = |flow, at: f64| {
        let at = Time::ZERO + Span::from_secs_f64(at);
        explain(&base, (1, 0), (flow, at), &mut |_| true).expect_err("not allowed")
    };
    assert!(refused(60, 1.0).reason.contains("allowed: 0 to 59"));
    assert_eq!(refused(3, 5.001).key, "at");
    let finished = facts(&four_packets(), 0, 1.0);
    assert_eq!((finished.phase, finished.una_pkts), ("finished", 4));
}

// Branches.

fn paused(scenario: &Scenario, at: f64) -> Run<'_> {
    let mut run = Run::new(scenario, 1, 0);
    run.pause_at(Time::ZERO + Span::from_secs_f64(at));
    while run.advance(100_000) {}
    run
}

fn to_end(mut run: Run<'_>) -> clearpipe_net::Outcome {
    while run.advance(100_000) {}
    run.finish()
}

#[test]
fn half_the_capacity_begins_at_the_branch() {
    let keys = ["duration=20s", "warmup=8s"];
    let base = base("xcp", &keys);
    let base = probing(base, &[Series::Queue], Every::Span(Span::from_millis(100)));
    let trunk = paused(&base, 12.0);
    let mut half = base.clone();
    half.links[0].rate = Rate(75_000_000);
    let plain = common::run(&base, 1, 0);
    let other = to_end(trunk.branch(&half).expect("allowed"));
    assert!(other.complete && other.fingerprint != plain.fingerprint);
    let link = &other.tables.links[0];
    // 4 s of 150 Mb/s and 8 s of 75 Mb/s could be carried, and no more was.
    let most = 4.0 * 150e6 + 8.0 * 75e6;
    let bits = link.departures_bytes as f64 * 8.0;
    // But for the part of a packet that the measured time cuts at each end.
    assert!((link.utilization_ratio - bits / most).abs() < 8000.0 / most);
    assert!(link.utilization_ratio <= 1.0);
    // XCP knows: section 5.2's utilization comes back, at the new capacity.
    assert!(link.utilization_ratio > 0.9, "{}", link.utilization_ratio);
    let (was, is) = (&plain.tables.series[0], &other.tables.series[0]);
    let common = was.t_s.partition_point(|&t| t <= 12.0);
    assert_eq!(was.value[..common], is.value[..common]);
    assert_ne!(was.value, is.value);
}

#[test]
fn stops_starts_buffers_and_probes_may_change() {
    let keys = [
        "duration=12s",
        "warmup=1s",
        "topology.rate=20Mbps",
        "flows.rev.start=8s",
        "probe.series=[]",
    ];
    let base = base("sack-red", &keys);
    let trunk = paused(&base, 6.0);
    let mut new = base.clone();
    new.groups[0].stop = Some(Span::from_secs(7));
    new.groups[1].start = scenario::Start::At(Span::from_secs(9));
    new.links[0].limit = cc::roles::Limit::Bytes(20_000);
    new.duration = Span::from_secs(14);
    new.probe.series = vec![Series::Queue, Series::Goodput];
    new.probe.every = Every::Span(Span::from_millis(500));
    let other = to_end(trunk.branch(&new).expect("allowed"));
    assert!(other.complete && other.end.now == Time::ZERO + Span::from_secs(14));
    let (fwd, rev) = other.tables.flows.split_at(30);
    assert!(fwd.iter().all(|flow| flow.stop_s == Some(7.0) && flow.finish_s.is_some()));
    assert!(rev.iter().all(|flow| flow.start_s == 9.0 && flow.sent_pkts > 0));
    let goodput = table(&other.tables.series, "goodput_bps");
    // From the first multiple after the branch to the end; all that was delivered since.
    assert_eq!((goodput.t_s.first(), goodput.t_s.last()), (Some(&6.5), Some(&14.0)));
    let sum: f64 = of(goodput, 0).iter().map(|row| row.1 * 0.5 / 8.0).sum();
    let before = to_end(paused(&base, 6.0).branch(&base).unwrap());
    let at_branch = paused(&base, 6.0).finish().tables.flows[0].delivered_bytes;
    assert!(before.complete);
    let fresh = other.tables.flows[0].delivered_bytes - at_branch;
    assert!(close(sum, fresh as f64), "{sum} of {fresh}");
    // What waited at the branch leaves; then the queue stays below the new limit.
    let queue = of(table(&other.tables.series, "queue_pkts"), 0);
    assert!(queue.iter().filter(|row| row.0 > 7.0).all(|row| row.1 * 40.0 <= 20_000.0));
}

/// After a step of the capacity a branch with a buffer that is as good as the old one is the run
/// itself: its routers go on with the capacity of the step and not with the first.
#[test]
fn a_branch_keeps_the_capacity_of_a_step() {
    let keys = ["duration=8s", "warmup=1s", "topology.steps=[{at=\"3s\", rate=\"75Mbps\"}]"];
    for kind in ["xcp", "vcp"] {
        let mut base = base(kind, &keys);
        base.links[0].limit = cc::roles::Limit::Bytes(1_000_000_000);
        let mut new = base.clone();
        new.links[0].limit = cc::roles::Limit::Bytes(1_000_000_001);
        let plain = common::run(&base, 1, 0);
        let other = to_end(paused(&base, 4.0).branch(&new).expect("allowed"));
        assert_eq!(other.fingerprint, plain.fingerprint, "{kind}");
    }
}

/// A proxy's two ends know of each other beyond a branch that samples at other times: the packets
/// are those of the run without it.
#[test]
fn proxies_stay_proxies_where_a_branch_samples_otherwise() {
    let keys = ["duration=8s", "warmup=0s", "flows.in.count=2", "flows.sat.count=2"];
    let keys = [&keys[..], &["flows.out.count=2", "flows.out.relay_buffer=20pkt"]].concat();
    let base = common::example("satellite-pep", &keys);
    let every = |ms| probing(base.clone(), &[Series::Cwnd], Every::Span(Span::from_millis(ms)));
    let plain = common::run(&base, 1, 0);
    let other = to_end(paused(&every(1), 4.0).branch(&every(3)).expect("allowed"));
    assert!(other.complete);
    assert_eq!(other.fingerprint, plain.fingerprint);
    assert_eq!(other.tables.flows, plain.tables.flows);
}

#[test]
fn the_past_stays_as_it_was() {
    let base = base("sack-red", &["duration=5s", "warmup=1s"]);
    let trunk = paused(&base, 4.0);
    type Change = fn(&mut Scenario);
    let changes: [(&str, Change); 15] = [
        ("duration", |s| s.duration = Span::from_secs(3)),
        ("warmup", |s| s.warmup = Span::from_secs(2)),
        ("seed", |s| s.seed = 9),
        ("packets", |s| s.packets.data_bytes = 1500),
        ("transport", |s| s.transport.dup_thresh = 2),
        ("links", |s| s.links[0].name = "other".into()),
        ("links.bottleneck.owd", |s| s.links[0].owd = Span::from_millis(1)),
        ("links.bottleneck.queue", |s| {
            s.links[0].queue =
                self::base("xcp", &["duration=5s", "warmup=1s"]).links[0].queue.clone();
        }),
        ("links.bottleneck.line", |s| s.links[0].line.outage_drops = true),
        ("flows.fwd.count", |s| s.groups[0].count = 31),
        ("flows.fwd.size", |s| s.groups[0].size = scenario::Size::Bytes(5)),
        ("flows.fwd.access", |s| s.groups[0].access[0].rate = Rate(1_000_000)),
        ("flows.fwd.start", |s| s.groups[0].start = scenario::Start::At(Span::ZERO)),
        ("flows.fwd.stop", |s| s.groups[0].stop = Some(Span::from_secs(3))),
        ("flows.fwd.path", |s| s.groups[0].path = vec![1]),
    ];
    for (key, change) in changes {
        let mut new = base.clone();
        change(&mut new);
        assert_eq!(trunk.branch(&new).expect_err(key).key, key);
    }
}

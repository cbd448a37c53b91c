//! Lines, sources, maps, formulas and probes: what is read, by hand, and that it survives a round
//! trip, with random values.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use clearpipe_scenario::{
    App, Arrivals, Capacity, DelayLaw, Every, GapLaw, Group, Jitter, Line, Link, Loss, LossModel,
    Outage, Parsed, Parts, Reorder, Scenario, Size, SizeLaw, Step, Trace, beside, identity, parse,
    parse_with,
};
use proptest::prelude::*;
use units::{Rate, Span};

fn ms(ms: u64) -> Span {
    Span::from_millis(ms)
}

/// A dumbbell of 10 Mb/s with `topology` and `flows` added.
fn text(topology: &str, flows: &str) -> String {
    let rate = if topology.contains("trace") { "" } else { "rate = \"10Mbps\"\n" };
    format!(
        "schema = 1\nname = \"x\"\nduration = \"20s\"\n[topology]\nkind = \"dumbbell\"\n\
         rtt = \"80ms\"\n{rate}{topology}\n[flows.f]\nprotocol = \"sack\"\n{flows}\n"
    )
}

fn parsed(text: &str, files: &[(&str, &str)]) -> Parsed {
    let files: BTreeMap<&str, &str> = files.iter().copied().collect();
    let load = |name: &Path| {
        let text = files.get(name.to_str().unwrap());
        text.map(|text| text.as_bytes().to_vec()).ok_or(io::ErrorKind::NotFound.into())
    };
    parse_with("x.toml", text, &[], &load).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Reads it, and checks that what is written stands alone and reads back to the same.
fn scenario(text: &str, files: &[(&str, &str)]) -> Scenario {
    let scenario = parsed(text, files).scenario;
    let written = scenario.to_toml();
    let again = parse("resolved.toml", &written, &[]);
    let again = again.unwrap_or_else(|error| panic!("{error}\n{written}")).scenario;
    assert_eq!(again, scenario, "{written}");
    assert_eq!(again.to_toml(), written);
    assert_eq!(identity(&again, &Parts::new(), 1, 0), identity(&scenario, &Parts::new(), 1, 0));
    scenario
}

fn links(topology: &str) -> Vec<Link> {
    scenario(&text(topology, ""), &[]).links
}

fn group(flows: &str) -> Group {
    scenario(&text("", flows), &[]).groups.remove(0)
}

fn warnings(topology: &str, flows: &str) -> Vec<String> {
    let parsed = parsed(&text(topology, flows), &[]);
    parsed.warnings.iter().map(ToString::to_string).collect()
}

#[test]
fn a_topologys_line_holds_in_both_directions() {
    let links = links(
        "steps = [{ at = \"0s\", rate = \"1Mbps\" }, { at = \"10s\", rate = \"20Mbps\" }]\n\
         down = [[\"1s\", \"2s\"], [\"3s\", \"4s\"]]\ndown_drops = true\nloss = \"0.1%\"\n\
         jitter = \"uniform(0ms, 5ms)\"\nreorder = { p = \"5%\", delay = \"10ms\" }",
    );
    let steps = [(0, 1_000_000), (10, 20_000_000)];
    let step = |(at, rate)| Step { at: Span::from_secs(at), rate: Rate(rate) };
    let outage = |from| Outage { from: Span::from_secs(from), to: Span::from_secs(from + 1) };
    let line = Line {
        capacity: Capacity::Steps(steps.map(step).to_vec()),
        outages: vec![outage(1), outage(3)],
        outage_drops: true,
        loss: Some(Loss { model: LossModel::Random(0.001), data_only: false }),
        jitter: Some(Jitter { extra: DelayLaw::Uniform(ms(0), ms(5)), in_order: false }),
        reorder: Some(Reorder { p: 0.05, extra: ms(10) }),
    };
    assert_eq!((links[0].rate, &links[0].line), (Rate(10_000_000), &line));
    assert_eq!((links[1].rate, &links[1].line), (Rate(10_000_000), &line));
}

#[test]
fn access_hops_keep_up_with_the_fastest_step() {
    let steps = "steps = [{ at = \"1s\", rate = \"50Mbps\" }, { at = \"2s\", rate = \"1Mbps\" }]";
    let scenario = scenario(&text(steps, ""), &[]);
    assert_eq!(scenario.groups[0].access(0).rate, Rate(500_000_000));
}

#[test]
fn access_hops_are_multiples_of_the_fastest_link() {
    let steps = "steps = [{ at = \"1s\", rate = \"50Mbps\" }, { at = \"2s\", rate = \"1Mbps\" }]";
    let rate = |key: &str| scenario(&text(steps, key), &[]).groups[0].access(0).rate;
    assert_eq!(rate("access_rate = \"2x\""), Rate(100_000_000));
    assert_eq!(rate("access_rate = \" 1.5 x \""), Rate(75_000_000));
    // Rounded down to bits per second.
    assert_eq!(rate("access_rate = \"0.123456789x\""), Rate(6_172_839));
    assert_eq!(rate("access_rate = \"10x\""), rate(""));
}

#[test]
fn a_trace_has_its_mean_rate_from_a_file_or_in_place() {
    // 3 x 1500 B in 4 ms: 9 Mb/s.
    let inline = scenario(&text("trace = [1, 1, 4]", ""), &[]);
    let file = scenario(&text("trace = \"a/b.trace\"", ""), &[("a/b.trace", "1\r\n1\n4\n")]);
    assert_eq!(inline, file);
    for link in &file.links {
        assert_eq!(link.rate, Rate(9_000_000));
        let trace = Trace { opportunities_ms: [1, 1, 4].into() };
        assert_eq!(link.line.capacity, Capacity::Trace(trace));
    }
    // 9 Mb/s x 80 ms.
    assert_eq!(file.links[0].limit, cc::roles::Limit::Bytes(90_000));
}

#[test]
fn losses_have_four_kinds() {
    let loss = |text: &str| links(&format!("loss = {text}"))[0].line.loss.clone().unwrap();
    let of = |model, data_only| Loss { model, data_only };
    assert_eq!(
        loss("{ kind = \"random\", p = \"2.5%\", data_only = true }"),
        of(LossModel::Random(0.025), true)
    );
    assert_eq!(
        loss("{ kind = \"gilbert-elliott\", to_bad = \"1%\", to_good = \"30%\" }"),
        of(
            LossModel::GilbertElliott { to_bad: 0.01, to_good: 0.3, loss_good: 0.0, loss_bad: 1.0 },
            false
        )
    );
    assert_eq!(loss("{ kind = \"every\", n = 100 }"), of(LossModel::Every(100), false));
    let list = "{ kind = \"list\", packets = [3, 17], data_only = true }";
    assert_eq!(loss(list), of(LossModel::List([3, 17].into()), true));
}

#[test]
fn jitter_has_five_laws_and_none_at_all_is_a_plain_line() {
    let jitter = |text: &str| links(&format!("jitter = {text}"))[0].line.jitter.clone();
    let law = |text: &str| jitter(&format!("\"{text}\"")).unwrap().extra;
    assert_eq!(law("5ms"), DelayLaw::Fixed(ms(5)));
    assert_eq!(law("exponential(5ms)"), DelayLaw::Exponential(ms(5)));
    assert_eq!(law("normal(5ms, 1ms)"), DelayLaw::Normal { mean: ms(5), sd: ms(1) });
    assert_eq!(law("pareto(5ms, 1.5)"), DelayLaw::Pareto { mean: ms(5), shape: 1.5 });
    let table = jitter("{ delay = \"uniform(1ms, 2ms)\", in_order = true }");
    assert_eq!(table, Some(Jitter { extra: DelayLaw::Uniform(ms(1), ms(2)), in_order: true }));
    assert_eq!(jitter("\"0ms\""), None);
}

#[test]
fn arrivals_have_three_forms() {
    let arrivals = |flows: &str| group(&format!("size = \"30kB\"\n{flows}")).arrivals.unwrap();
    let poisson = |mean_s, most| Arrivals { gap: GapLaw::Poisson { mean_s }, most };
    assert_eq!(arrivals("arrivals = \"poisson(50/s)\""), poisson(0.02, None));
    assert_eq!(arrivals("arrivals = \"poisson(20ms)\""), poisson(0.02, None));
    assert_eq!(arrivals("arrivals = \"poisson(3000/min)\"\ncount = 7"), poisson(0.02, Some(7)));
    let every = Arrivals { gap: GapLaw::Every(ms(10)), most: None };
    assert_eq!(arrivals("arrivals = \"every(10ms)\""), every);
    // 30 kB = 240 kb; 60 % of 10 Mb/s is 25 of them a second.
    assert_eq!(arrivals("arrivals = \"load(60%)\""), poisson(0.04, None));
}

#[test]
fn flows_that_arrive_are_not_counted_and_take_lists_in_turn() {
    let flows = "arrivals = \"every(10ms)\"\nsize = \"30kB\"\nrtt = [\"80ms\", \"120ms\"]\n\
                 start = \"2s\"\nstop = \"8s\"";
    let scenario = scenario(&text("buffer_per_flow = \"100pkt\"", flows), &[]);
    let group = &scenario.groups[0];
    assert_eq!((group.count, scenario.flow_count(), group.access.len()), (0, 0, 2));
    let rtts = [0, 1, 2, 3].map(|i| scenario.rtt(group, i));
    assert_eq!(rtts, [80, 120, 80, 120].map(ms));
    // The longest of them decides: 10 Mb/s x 120 ms. The number of flows is not known.
    assert_eq!(scenario.links[0].limit, cc::roles::Limit::Bytes(150_000));
}

#[test]
fn sizes_have_laws() {
    let size = |text: &str| match group(&format!("size = {text}")).size {
        Size::Drawn(law) => law,
        other => panic!("{other:?}"),
    };
    assert_eq!(size("\"exponential(30kB)\""), SizeLaw::Exponential { mean: 30_000.0 });
    assert_eq!(size("\"exponential(30pkt)\""), SizeLaw::Exponential { mean: 30_000.0 });
    assert_eq!(size("\"pareto(30kB, 1.35)\""), SizeLaw::Pareto { mean: 30_000.0, shape: 1.35 });
    assert_eq!(
        size("\"bounded-pareto(1kB, 1MB, 1.2)\""),
        SizeLaw::BoundedPareto { min: 1e3, max: 1e6, shape: 1.2 }
    );
    let points = [(6e3, 0.15), (6e3, 0.25), (3e7, 1.0)];
    let inline = size("{ cdf = [[\"6kB\", 0.15], [\"6kB\", 0.25], [\"30MB\", 1]] }");
    assert_eq!(inline, SizeLaw::Empirical(points.into()));
    let file = "# bytes share\n6000 0.15\n\n6e3\t25e-2 # a step\n30000000 1\n";
    let read = scenario(&text("", "size = { cdf = \"a.cdf\" }"), &[("a.cdf", file)]);
    assert_eq!(read.groups[0].size, Size::Drawn(inline));
}

#[test]
fn applications_have_rates_and_breaks() {
    assert_eq!(group("").app, App::Greedy);
    assert_eq!(group("rate = \"2Mbps\"").app, App::Rate(Rate(2_000_000)));
    let (on, off) = (DelayLaw::Exponential(ms(1000)), DelayLaw::Fixed(ms(2000)));
    assert_eq!(
        group("rate = \"2Mbps\"\non = \"exponential(1s)\"\noff = \"2s\"").app,
        App::OnOff { rate: Rate(2_000_000), on, off }
    );
    let poisson = "rate = \"2Mbps\"\ngaps = \"poisson\"";
    assert_eq!(group(poisson).app, App::Poisson(Rate(2_000_000)));
    assert_eq!(group("rate = \"2Mbps\"\ngaps = \"even\"").app, App::Rate(Rate(2_000_000)));
    let refused = |flows: &str| {
        clearpipe_scenario::parse("f.toml", &text("", flows), &[]).expect_err("refused").to_string()
    };
    let said = refused("gaps = \"poisson\"");
    assert!(said.contains("gaps needs rate"), "{said}");
    let said = refused(&format!("{poisson}\non = \"1s\"\noff = \"1s\""));
    assert!(said.contains("\"poisson\" cannot be combined with on and off"), "{said}");
}

#[test]
fn formulas_and_steps_give_each_flow_its_rtt() {
    let rtts = |spread: &str| {
        let flows = format!("count = 4\nrtt = \"{spread}\"");
        let scenario = scenario(&text("", &flows), &[]);
        [0, 1, 2, 3].map(|i| scenario.rtt(&scenario.groups[0], i))
    };
    assert_eq!(rtts("formula(40ms + 10ms * i)"), [40, 50, 60, 70].map(ms));
    assert_eq!(rtts("formula(400ms / 2 ^ (n - 1 - i))"), [50, 100, 200, 400].map(ms));
    assert_eq!(rtts("logspace(50ms, 400ms)"), [50, 100, 200, 400].map(ms));
}

#[test]
fn probes_choose_groups_and_links() {
    let base = "schema = 1\nname = \"lot\"\nduration = \"1s\"\n[topology]\nkind = \"parking-lot\"\n\
                links = 3\nrate = \"10Mbps\"\nowd = \"1ms\"\n[flows.long]\nprotocol = \"sack\"\n\
                [flows.short]\nprotocol = \"sack\"\npath = \"each\"\n[probe]\nevery = \"change\"\n\
                series = [\"cwnd\", \"queue\"]\n";
    let probe = |keys: &str| scenario(&format!("{base}{keys}"), &[]).probe;
    assert_eq!((probe("").groups, probe("").links, probe("").every), (None, None, Every::Change));
    let chosen = probe("flows = [\"short.2\", \"long\"]\nlinks = [\"l3\", \"l1.reverse\"]");
    assert_eq!((chosen.groups, chosen.links), (Some(vec![0, 2]), Some(vec![2, 3])));
    // A group that stands for one on each link.
    assert_eq!(probe("flows = [\"short\"]").groups, Some(vec![1, 2, 3]));
    assert_eq!(probe("flows = []").groups, Some(vec![]));
}

fn example(name: &str) -> (PathBuf, Scenario) {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/clearpipe/examples").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    let parsed = parse_with(name, &text, &[], &beside(&path));
    (path, parsed.unwrap_or_else(|error| panic!("{error}")).scenario)
}

#[test]
fn the_published_means_of_the_flow_sizes() {
    // Both are stated beside the same points in simulators of data centres.
    let (path, web) = example("web-traffic.toml");
    let Size::Drawn(law) = &web.groups[0].size else { panic!("drawn") };
    assert!((law.mean() - 1_711_250.0).abs() < 0.5, "{}", law.mean());
    // 60 % of 100 Mb/s.
    let gap = web.groups[0].arrivals.as_ref().unwrap().gap;
    assert_eq!(gap, GapLaw::Poisson { mean_s: 1_711_250.0 * 8.0 / 60e6 });
    let text = std::fs::read_to_string(&path).unwrap();
    let sets = ["flows.web.size={ cdf = \"data-mining.cdf\" }".to_owned()];
    let mining = parse_with("web", &text, &sets, &beside(&path)).unwrap().scenario;
    let Size::Drawn(law) = &mining.groups[0].size else { panic!("drawn") };
    assert!((law.mean() - 12_658_199.0).abs() < 0.5, "{}", law.mean());
}

#[test]
fn abilene_has_its_links_and_delays() {
    let (_, scenario) = example("abilene.toml");
    assert_eq!(scenario.links.len(), 28);
    let owd = |name: &str| {
        let link = scenario.links.iter().find(|link| link.name == name).unwrap();
        assert_eq!(link.rate, Rate(50_000_000));
        link.owd.as_secs() * 1e3
    };
    // City distances by the usual tables: 1144 km and 1096 km; fibre has 200 km/ms.
    assert!((owd("Chicago-New_York") - 5.72).abs() < 0.03);
    assert!((owd("Seattle-Sunnyvale.reverse") - 5.7).abs() < 0.05);
    let path: Vec<&str> =
        scenario.groups[0].path.iter().map(|&link| scenario.links[link].name.as_str()).collect();
    let north = ["Seattle-Denver", "Denver-Kansas_City", "Kansas_City-Indianapolis"];
    assert_eq!(path, [&north[..], &["Indianapolis-Chicago", "Chicago-New_York"]].concat());
}

#[test]
fn what_is_odd_is_warned_of() {
    let end = "is after the end at 20s";
    let both = "link \"bottleneck\" (and 1 more)";
    for (topology, flows, said) in [
        (
            "steps = [{ at = \"20s\", rate = \"1Mbps\" }]",
            "",
            format!("{both}: the step at 20s {end}"),
        ),
        (
            "down = [[\"1s\", \"2s\"], [\"19s\", \"21s\"]]",
            "",
            format!("{both}: the outage from 19s to 21s is not over at the end at 20s"),
        ),
        ("loss = \"100%\"", "", format!("{both}: every packet is lost")),
        (
            "loss = { kind = \"gilbert-elliott\", to_bad = \"1%\", to_good = \"0%\" }",
            "",
            format!("{both}: the bad state is never left"),
        ),
        (
            "reorder = { p = \"100%\", delay = \"1ms\" }",
            "",
            format!("{both}: every packet is held up, so that none is overtaken"),
        ),
        (
            "",
            "arrivals = \"load(100%)\"\nsize = \"30kB\"",
            "flows.f: the arrivals offer 100% of the 10Mbps of link \"bottleneck\"".to_owned(),
        ),
        (
            "",
            // 240 kb every 20 ms: 12 Mb/s.
            "arrivals = \"every(20ms)\"\nsize = \"30kB\"",
            "flows.f: the arrivals offer 120% of the 10Mbps of link \"bottleneck\"".to_owned(),
        ),
        (
            "",
            "arrivals = \"every(1s)\"\nsize = \"30kB\"\nstop = \"21s\"",
            "flows.f: the arrivals stop at 21s, after the end at 20s".to_owned(),
        ),
        ("", "[probe]\nflows = [\"f\"]", "probe.flows: no series of flows is recorded".to_owned()),
        (
            "",
            "[probe]\nlinks = []\nseries = [\"cwnd\"]",
            "probe.links: no series of links is recorded".to_owned(),
        ),
    ] {
        assert_eq!(warnings(topology, flows), [said], "{topology} {flows}");
    }
    assert_eq!(warnings("", "arrivals = \"load(99%)\"\nsize = \"30kB\""), [""; 0]);
}

/// Rules of the transport, each with flows that it touches and flows that it does not.
#[test]
fn a_rule_that_touches_no_flow_is_told() {
    let warnings = |rule: &str, flow: &str| {
        let rule = rule.to_owned();
        let flow = format!("flows.f.protocol={flow}");
        let sets = [format!("transport.{rule}"), flow];
        parse_with("x", &text("", ""), &sets, &|_: &Path| Err(io::ErrorKind::NotFound.into()))
            .unwrap()
            .warnings
            .into_iter()
            .map(|warning| warning.message)
            .collect::<Vec<String>>()
    };
    let (rack, no_rack) = ("{kind=\"cubic\",recovery=\"rack\"}", "no flow's recovery is \"rack\"");
    let marked = "{kind=\"cubic\",recovery=\"rack\",ecn=true}";
    let no_echo = "no flow with ECN and a window of TCP has the recovery \"rack\"";
    let no_window = "no flow has a window of TCP";
    let all_sack = "no flow's recovery is \"tahoe\", \"reno\" or \"newreno\"";
    for (rule, touched, not, why) in [
        ("undo=\"dsack\"", rack, "\"sack\"", no_rack),
        ("rack_rtt=\"highest\"", rack, "\"sack\"", no_rack),
        ("count_sacks=true", "{kind=\"bbr3\",recovery=\"rack\"}", "\"bbr3\"", no_rack),
        // Without ECN there is no echo; BBR's window is not TCP's; SACK does without PRR.
        ("echo_prr=true", marked, rack, no_echo),
        ("echo_prr=true", marked, "{kind=\"bbr3\",recovery=\"rack\",ecn=true}", no_echo),
        ("echo_prr=true", marked, "{kind=\"cubic\",ecn=true}", no_echo),
        ("idle_restart=\"rfc5681\"", "\"newreno\"", "\"copa\"", no_window),
        ("loss_base=\"window\"", "\"cubic\"", "\"bbr\"", no_window),
        ("byte_counting=2", "\"dctcp\"", "\"vegas\"", no_window),
        ("count_dupacks=true", "\"newreno\"", "\"sack\"", all_sack),
        ("pacing_burst=2", "\"bbr\"", "\"cubic\"", "no flow is paced"),
        ("pacing_burst=2", "{kind=\"cubic\",paced=true}", "\"newreno\"", "no flow is paced"),
        // VCP paces where its round trips are long.
        ("pacing_burst=2", "{kind=\"vcp\",recovery=\"sack\"}", "\"sack\"", "no flow is paced"),
        ("accecn=\"ace\"", "\"dctcp\"", "\"cubic\"", "no flow counts marks"),
    ] {
        let key = rule.split('=').next().unwrap();
        assert!(!warnings(rule, touched).iter().any(|told| told.contains(key)), "{rule} {touched}");
        assert!(warnings(rule, not).contains(&format!("transport.{key}: {why}")), "{rule} {not}");
    }
    // It goes by the transport alone.
    let quick = |delay: &str| {
        let sets = ["transport.quick_acks=1".to_owned(), format!("transport.delayed_ack={delay}")];
        let alone = |_: &Path| Err(io::ErrorKind::NotFound.into());
        parse_with("x", &text("", ""), &sets, &alone).unwrap().warnings
    };
    assert!(quick("200ms").is_empty());
    assert_eq!(quick("off")[0].message, "transport.quick_acks: no ACK is delayed (delayed_ack)");
}

#[test]
fn files_have_limits() {
    let says = |bytes: &'static [u8]| {
        let text = text("trace = \"a.trace\"", "");
        let load = |_: &Path| Ok(bytes.to_vec());
        parse_with("dir/x.toml", &text, &[], &load).unwrap_err().to_string()
    };
    assert_eq!(says(b"1\n\xff\n"), "dir/a.trace:2: topology.trace: not a text (UTF-8)");
    let huge = vec![b'1'; clearpipe_scenario::MAX_FILE_BYTES + 1];
    let text = text("trace = \"a.trace\"", "");
    let error = parse_with("x.toml", &text, &[], &|_| Ok(huge.clone())).unwrap_err().to_string();
    assert_eq!(error, "x.toml:7: topology.trace: the file \"a.trace\" is over 64 MB");
    let many = "1\n".repeat(1_000_001).into_bytes();
    let error = parse_with("x.toml", &text, &[], &|_| Ok(many.clone())).unwrap_err().to_string();
    let said = "a trace has at most 1000000 opportunities";
    assert_eq!(error, format!("a.trace:1000001: topology.trace: {said}"));
    let alone = parse("x.toml", &text, &[]).unwrap_err().to_string();
    let said = "cannot read the file \"a.trace\": this text stands alone";
    assert_eq!(alone, format!("x.toml:7: topology.trace: {said}"));
}

#[test]
fn what_a_short_text_may_ask_for_is_limited() {
    let says = |text: &str| parse("x.toml", text, &[]).unwrap_err().to_string();
    let mut lot = "schema = 1\nname = \"lot\"\nduration = \"1s\"\n[topology]\n\
                   kind = \"parking-lot\"\nlinks = 1000\nrate = \"10Mbps\"\nowd = \"1ms\"\n"
        .to_owned();
    for i in 0..11 {
        lot += &format!("[flows.f{i}]\nprotocol = \"sack\"\npath = \"each\"\n");
    }
    assert_eq!(says(&lot), "x.toml:39: flows.f10: more than 10000 groups in all");
    let step = |i: u32| format!("{{ at = \"{i}ms\", rate = \"1Mbps\" }}");
    let steps: Vec<String> = (0..=10_000).map(step).collect();
    let steps = text(&format!("steps = [{}]", steps.join(", ")), "");
    assert_eq!(says(&steps), "x.toml:8: topology.steps: the list has more than 10000 entries");
    // Seven steps for each of a million flows; the third group has none left.
    let mut formulas = text("", "");
    for i in 0..3 {
        formulas += &format!(
            "[flows.f{i}]\nprotocol = \"sack\"\ncount = 1000000\nrtt = \"formula(1s + 1ms * i / n)\"\n"
        );
    }
    let said = "flows.f2.rtt: the formulas are too long for so many flows";
    assert_eq!(says(&formulas), format!("x.toml:23: {said}"));
}

#[test]
fn a_long_trace_survives_a_round_trip() {
    let lines: Vec<String> = (1..=100_000).map(|i: u32| (i / 8).to_string()).collect();
    let lines = lines.join("\n");
    let scenario = scenario(&text("trace = \"long.trace\"", ""), &[("long.trace", &lines)]);
    // 10^5 x 12 kb in 12.5 s.
    assert_eq!(scenario.links[0].rate, Rate(96_000_000));
}

#[test]
fn maps_are_bounded() {
    let says = |file: String| {
        let text = "schema = 1\nname = \"map\"\nduration = \"1s\"\n[topology]\n\
                    kind = \"graphml\"\nfile = \"m\"\nrate = \"1Mbps\"\nowd = \"1ms\"\n\
                    [flows.f]\nprotocol = \"sack\"\nfrom = \"n0\"\nto = \"n1\"\n";
        let load = |_: &Path| Ok(file.clone().into_bytes());
        parse_with("x.toml", text, &[], &load).unwrap_err().to_string()
    };
    let deep = says("<graphml>".repeat(1_900_000));
    assert!(deep.starts_with("m:1: topology.file: not valid XML: "), "{deep}");
    let parts = format!("<graphml>{}</graphml>", "<a/>".repeat(2_000_001));
    assert_eq!(says(parts), "m:1: topology.file: not valid XML: nodes limit reached");
    let nodes: String = (0..=10_000).map(|i| format!("<node id=\"n{i}\"/>")).collect();
    let nodes = says(format!("<graphml><graph>{nodes}</graph></graphml>"));
    assert_eq!(nodes, "m:1: topology.file: there are more than 10000 nodes");
    let edges = "<edge source=\"n0\" target=\"n1\"/>".repeat(20_001);
    let nodes = "<node id=\"n0\"/><node id=\"n1\"/>";
    let edges = says(format!("<graphml><graph>{nodes}{edges}</graph></graphml>"));
    assert_eq!(edges, "m:1: topology.file: there are more than 20000 edges");
}

#[test]
fn files_are_read_beside_the_scenario() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/clearpipe/examples");
    let load = beside(&examples.join("any.toml"));
    assert!(load(Path::new("cellular.trace")).unwrap().ends_with(b"5000\n"));
    assert!(load(Path::new("../examples/cellular.trace")).is_ok());
    assert_eq!(load(Path::new("none.trace")).unwrap_err().kind(), io::ErrorKind::NotFound);
    assert_eq!(load(Path::new("..")).unwrap_err().to_string(), "not a regular file");
}

/// Random values as a file has them.
fn time() -> BoxedStrategy<String> {
    (0_u64..3_000_000, prop::sample::select(&["ps", "ns", "us", "ms"][..]))
        .prop_map(|(n, unit)| format!("{n}{unit}"))
        .boxed()
}

fn share() -> BoxedStrategy<String> {
    prop_oneof![
        (0.0..=100.0).prop_map(|x: f64| format!("{x:?}%")),
        (0_u32..=100).prop_map(|x| format!("{x}%")),
    ]
    .boxed()
}

fn shape() -> BoxedStrategy<String> {
    (1.01..9.0).prop_map(|x: f64| format!("{x:?}")).boxed()
}

fn law() -> BoxedStrategy<String> {
    prop_oneof![
        time(),
        (time(), time()).prop_map(|(a, b)| format!("uniform({a}, {b})")),
        time().prop_map(|mean| format!("exponential({mean})")),
        (time(), time()).prop_map(|(mean, sd)| format!("normal({mean}, {sd})")),
        (time(), shape()).prop_map(|(mean, shape)| format!("pareto({mean}, {shape})")),
    ]
    .boxed()
}

fn capacity() -> BoxedStrategy<String> {
    let step = (1_u64..1_000_000, 1_u64..1_000_000_000);
    let steps = prop::collection::vec(step, 0..5).prop_map(|steps| {
        let mut at = 0;
        let mut texts = Vec::new();
        for (gap, rate) in steps {
            at += gap;
            texts.push(format!("{{ at = \"{at}ns\", rate = \"{rate}bps\" }}"));
        }
        format!("rate = \"10Mbps\"\nsteps = [{}]\n", texts.join(", "))
    });
    let trace = prop::collection::vec(0_u32..50, 1..40).prop_map(|gaps| {
        let mut now = 1;
        let numbers = gaps.iter().map(|gap| {
            now += gap;
            now.to_string()
        });
        format!("trace = [{}]\n", numbers.collect::<Vec<_>>().join(", "))
    });
    prop_oneof![Just("rate = \"10Mbps\"\n".to_owned()), steps, trace].boxed()
}

fn line() -> BoxedStrategy<String> {
    let down = prop::collection::vec((1_u64..1000, 1_u64..1000), 0..4).prop_map(|pairs| {
        let mut now = 0;
        let mut texts = Vec::new();
        for (gap, length) in pairs {
            texts.push(format!("[\"{}us\", \"{}us\"]", now + gap, now + gap + length));
            now += gap + length;
        }
        let drops = !texts.is_empty();
        format!("down = [{}]\ndown_drops = {drops}\n", texts.join(", "))
    });
    let model = prop_oneof![
        share().prop_map(|p| format!("loss = \"{p}\"\n")),
        (share(), any::<bool>()).prop_map(|(p, data)| {
            format!("loss = {{ kind = \"random\", p = \"{p}\", data_only = {data} }}\n")
        }),
        (share(), share(), share(), share()).prop_map(|(a, b, c, d)| format!(
            "loss = {{ kind = \"gilbert-elliott\", to_bad = \"{a}\", to_good = \"{b}\", \
             loss_good = \"{c}\", loss_bad = \"{d}\" }}\n"
        )),
        (1_u64..=1 << 62).prop_map(|n| format!("loss = {{ kind = \"every\", n = {n} }}\n")),
        prop::collection::btree_set(1_u64..1_000_000, 1..9).prop_map(|packets| {
            let numbers: Vec<String> = packets.iter().map(u64::to_string).collect();
            format!("loss = {{ kind = \"list\", packets = [{}] }}\n", numbers.join(", "))
        }),
    ];
    let jitter = prop_oneof![
        law().prop_map(|law| format!("jitter = \"{law}\"\n")),
        (law(), any::<bool>()).prop_map(|(law, order)| {
            format!("jitter = {{ delay = \"{law}\", in_order = {order} }}\n")
        }),
    ];
    let reorder = (share(), 1_u64..1_000_000)
        .prop_map(|(p, delay)| format!("reorder = {{ p = \"{p}\", delay = \"{delay}ns\" }}\n"));
    let maybe = |text: BoxedStrategy<String>| prop_oneof![Just(String::new()), text];
    (
        capacity(),
        maybe(down.boxed()),
        maybe(model.boxed()),
        maybe(jitter.boxed()),
        maybe(reorder.boxed()),
    )
        .prop_map(|(a, b, c, d, e)| [a, b, c, d, e].concat())
        .boxed()
}

fn size() -> BoxedStrategy<String> {
    let bytes = || (1_u64..1_000_000_000).prop_map(|n| format!("{n}B"));
    prop_oneof![
        bytes().prop_map(|bytes| format!("size = \"{bytes}\"\n")),
        bytes().prop_map(|mean| format!("size = \"exponential({mean})\"\n")),
        (bytes(), shape()).prop_map(|(m, shape)| format!("size = \"pareto({m}, {shape})\"\n")),
        (bytes(), bytes(), shape())
            .prop_map(|(a, b, shape)| format!("size = \"bounded-pareto({a}, {b}, {shape})\"\n")),
        prop::collection::vec((0_u64..1_000_000, 0.0..1.0), 0..6).prop_map(|points| {
            let (mut bytes, mut share) = (1, 0.0_f64);
            let mut texts = Vec::new();
            for (more, part) in points {
                bytes += more;
                share += (1.0 - share) * part;
                texts.push(format!("[\"{bytes}B\", {share:?}]"));
            }
            texts.push(format!("[\"{}B\", 1]", bytes + 1));
            format!("size = {{ cdf = [{}] }}\n", texts.join(", "))
        }),
    ]
    .boxed()
}

fn arrivals() -> BoxedStrategy<String> {
    let form = prop_oneof![
        (1.0..1000.0).prop_map(|x: f64| format!("poisson({x:?}/s)")),
        (1.0..1000.0).prop_map(|x: f64| format!("poisson({x:?}ms)")),
        (1_u64..1000).prop_map(|x| format!("every({x}ms)")),
        (0.1..200.0).prop_map(|x: f64| format!("load({x:?}%)")),
    ];
    let most =
        prop_oneof![Just(String::new()), (1_u32..1000).prop_map(|n| format!("count = {n}\n"))];
    let lists = prop::sample::select(
        &["", "rtt = [\"1s\", \"2s\"]\n", "rtt = \"1s\"\naccess_rate = [\"1Gbps\", \"2Gbps\"]\n"][..],
    );
    (form, most, lists)
        .prop_map(|(form, most, lists)| format!("arrivals = \"{form}\"\n{most}{lists}"))
        .boxed()
}

fn app() -> BoxedStrategy<String> {
    let rate = || (1_u64..1_000_000_000).prop_map(|rate| format!("rate = \"{rate}bps\"\n"));
    prop_oneof![
        Just(String::new()),
        rate(),
        (rate(), law(), law())
            .prop_map(|(rate, on, off)| format!("{rate}on = \"{on}\"\noff = \"{off}\"\n")),
    ]
    .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn any_line_and_source_survives_a_round_trip(
        lines in prop::collection::vec(line(), 1..3),
        (size, arrivals, app) in (size(), prop_oneof![Just(String::new()), arrivals()], app()),
        probe in prop::sample::select(&["", "[probe]\nevery = \"change\"\nflows = [\"f\"]\n"][..]),
    ) {
        let mut text = "schema = 1\nname = \"any\"\nduration = \"20s\"\n".to_owned();
        for (i, line) in lines.iter().enumerate() {
            text += &format!(
                "[links.l{i}]\nfrom = \"n{i}\"\nto = \"n{}\"\nowd = \"1ms\"\nduplex = true\n\
                 buffer = \"50pkt\"\n{line}",
                i + 1
            );
        }
        text += &format!(
            "[flows.f]\nprotocol = \"sack\"\nfrom = \"n0\"\nto = \"n{}\"\n{size}{arrivals}{app}",
            lines.len()
        );
        text += probe;
        // Some values are out of range: uniform(5ms, 1ms), or a load of nearly nothing.
        match parse("any.toml", &text, &[]) {
            Ok(_) => {
                scenario(&text, &[]);
            }
            Err(error) => {
                let said = error.to_string();
                let known = ["uniform(LOW, HIGH)", "LEAST below MOST", "longer than 0s",
                    "flows in all", "a mean gap"];
                prop_assert!(known.iter().any(|known| said.contains(known)), "{said}\n{text}");
            }
        }
    }
}

//! Properties of the format: what is written reads back, what is read never panics, and the
//! committed pages are those of the types.

use std::fs;
use std::path::PathBuf;

use clearpipe_scenario::{
    Era, Parsed, Parts, Scenario, ScenarioError, beside, identity, json_schema, parse, parse_with,
    parts, reference_pages, registered,
};
use proptest::prelude::*;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn example(name: &str) -> String {
    fs::read_to_string(root().join(format!("python/clearpipe/examples/{name}.toml"))).unwrap()
}

const EXAMPLES: [&str; 10] = [
    "base-case-xcp",
    "base-case-vcp",
    "base-case-sack-red",
    "xcp-fig10",
    "parking-lot",
    "two-paths",
    "web-traffic",
    "lossy-satellite",
    "cellular-trace",
    "abilene",
];

/// Reads a text as if it stood among the examples.
fn read(text: &str, sets: &[String]) -> Result<Parsed, ScenarioError> {
    parse_with("x", text, sets, &beside(&root().join("python/clearpipe/examples/x.toml")))
}

fn scenario(name: &str, sets: &[String]) -> Scenario {
    read(&example(name), sets).unwrap_or_else(|error| panic!("{error}")).scenario
}

fn assert_round_trip(scenario: &Scenario) {
    let text = scenario.to_toml();
    let again = parse("resolved.toml", &text, &[]);
    let again = again.unwrap_or_else(|error| panic!("{error}\n{text}")).scenario;
    assert_eq!(&again, scenario, "{text}");
    assert_eq!(again.to_toml(), text);
}

#[test]
fn examples_survive_a_round_trip() {
    EXAMPLES.iter().for_each(|name| assert_round_trip(&scenario(name, &[])));
}

#[test]
fn the_resolved_file_shows_every_default() {
    let text = scenario("xcp-fig10", &[]).to_toml();
    for line in [
        "seed = 1",
        "min_rto = \"1s\"",
        "initial_window = \"1.0pkt\"",
        "[links.\"bottleneck.reverse\"]",
        "buffer = \"225kB\"",
        "access_rate = \"450Mbps\"",
        "source_owd = \"5ms\"",
        "start = \"every(2s, 0s)\"",
        "over = { kind = \"droptail\" }",
        "recovery = \"reno\"",
    ] {
        assert!(text.lines().any(|l| l == line), "no {line} in\n{text}");
    }
}

#[test]
fn eras_and_sections_reach_the_transport() {
    let sets = ["era=ns2", "transport.delayed_ack=200ms", "packets.data=1500B"];
    let scenario = scenario("xcp-fig10", &sets.map(str::to_owned));
    assert_eq!(scenario.transport.min_rto, units::Span::from_millis(200));
    assert_eq!(scenario.transport.delayed_ack, Some(units::Span::from_millis(200)));
    assert_eq!(scenario.packets.data_bytes, 1500);
    assert_round_trip(&scenario);
}

/// A preset of a queue sets what it lists, other keys override it, and what is written for the run
/// names values and not presets.
#[test]
fn presets_of_queues_are_resolved_to_their_values() {
    let queue = |table: &str| {
        let sets = [format!("topology.queue={table}")];
        let scenario = scenario("base-case-sack-red", &sets);
        assert_round_trip(&scenario);
        let text = scenario.to_toml();
        assert!(!text.contains("preset"), "{text}");
        text
    };
    let text = queue("{ kind = \"red\", preset = \"floyd-1993\" }");
    for line in ["min_th = 5.0", "max_th = 15.0", "gentle = false", "counts = \"packets\""] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let text = queue("{ kind = \"red\", max_th = 20, preset = \"floyd-1993\", gentle = true }");
    for line in ["min_th = 5.0", "max_th = 20.0", "gentle = true", "max_p = 0.02"] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let text = queue("{ kind = \"rem\", preset = \"ns2\" }");
    assert!(text.contains("interval = \"2ms\"") && text.contains("q_ref = 20.0"), "{text}");
}

/// The schema and the reference page list them.
#[test]
fn presets_are_listed_where_they_exist() {
    let schema = json_schema();
    let tables = schema["$defs"]["QueueTable"]["oneOf"].as_array().unwrap();
    let preset = |kind: &str| {
        let table = tables.iter().find(|table| table["title"] == kind).unwrap();
        &table["properties"]["preset"]
    };
    assert_eq!(preset("rem")["enum"], serde_json::json!(["xcp-2002", "ns2"]));
    assert!(preset("rem")["description"].as_str().unwrap().contains("SIGCOMM 2002"));
    assert!(preset("droptail").is_null());
    let pages = reference_pages();
    let (_, queues) = pages.iter().find(|(path, _)| path == "scenario/queues.md").unwrap();
    assert!(queues.lines().any(|row| row.starts_with("| [pi]") && row.contains("`hollot-2001`")));
}

/// What `text` with these options is warned of.
fn warned(text: &str, sets: &[&str]) -> Vec<String> {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let parsed = parse("sweep.toml", text, &sets).unwrap_or_else(|error| panic!("{error}"));
    parsed.warnings.iter().map(ToString::to_string).collect()
}

#[test]
fn the_runners_tables_are_left_alone() {
    let text = example("xcp-fig10") + "\n[sweep]\nrates = [1, 2]\n[plot]\nx = \"rate\"\n";
    let parsed = parse("sweep.toml", &text, &[]).unwrap();
    assert_eq!(parsed.scenario, scenario("xcp-fig10", &[]));
    assert!(parsed.warnings.is_empty(), "nothing varies");
    let alone = example("xcp-fig10") + "\n[plot]\nx = \"rate\"\n";
    assert_eq!(warned(&alone, &[]), ["plot: it draws a sweep, and there is no [sweep]"]);
}

/// A run with the file's own values may be taken for the sweep; a point of it, all of whose keys
/// are set, as the sweep and its report's commands do, may not.
#[test]
fn a_run_of_a_sweeps_file_says_what_it_does_not_vary() {
    let sweep = "\n[sweep]\nvary.\"topology.rtt\" = [\"40ms\", \"80ms\"]\n[[sweep.zip]]\n\
                 name = \"scheme\"\nlabels = [\"a\", \"b\"]\n\
                 \"flows.fwd.protocol\" = [\"xcp\", \"sack\"]\n\
                 \"topology.queue\" = [\"xcp\", \"droptail\"]\n";
    let text = example("base-case-xcp") + sweep;
    let said = |keys: &str| {
        format!("sweep: this is the file as it stands; `clearpipe sweep run` varies {keys}")
    };
    let keys = "topology.rtt, flows.fwd.protocol and topology.queue";
    assert_eq!(warned(&text, &[]), [said(keys)]);
    let scheme = ["flows.fwd.protocol=\"xcp\"", "topology.queue=\"xcp\""];
    assert_eq!(warned(&text, &scheme), [said("topology.rtt")]);
    assert_eq!(warned(&text, &["topology.rtt=40ms", scheme[0], scheme[1]]), [""; 0]);
    // A table that holds the key as the file has it does not set it.
    let other = warned(&text, &["topology.rate=100Mbps", scheme[0], scheme[1]]);
    assert_eq!(other, [said("topology.rtt")]);
    let many: Vec<String> = (0..9).map(|i| format!("vary.\"flows.f{i}.count\" = [1]\n")).collect();
    let many = example("base-case-xcp") + "\n[sweep]\n" + &many.concat();
    let few = "flows.f0.count, flows.f1.count, flows.f2.count, flows.f3.count and 5 more";
    assert_eq!(warned(&many, &[]), [said(few)]);
}

/// An editor that has the schema completes and checks both tables; what it refuses and takes is
/// tried with real validators in `python/tests/test_schema.py`.
#[test]
fn the_schema_knows_the_sweeps_tables() {
    let schema = json_schema();
    let sweep = &schema["$defs"]["SweepFile"];
    assert_eq!(schema["properties"]["sweep"]["$ref"], "#/$defs/SweepFile");
    assert_eq!(sweep["additionalProperties"], false);
    let pattern = sweep["properties"]["vary"]["propertyNames"]["pattern"].as_str().unwrap();
    for key in ["topology", "flows", "probe", "duration", "bottleneck"] {
        assert!(pattern.contains(key), "{pattern}");
    }
    assert!(!pattern.contains("seed") && !pattern.contains("sweep"), "{pattern}");
    // A link's capacity in a dumbbell, a parking lot and a map: one kind of value.
    let rate = &schema["$defs"]["Varying"]["properties"]["topology.rate"]["anyOf"];
    assert_eq!(rate.as_array().unwrap().len(), 2, "{rate}");
}

/// The names of all queues and of all protocols.
fn part_names(text: &str) -> (Vec<String>, Vec<String>) {
    let scenario =
        parse("parts.toml", text, &[]).unwrap_or_else(|error| panic!("{error}")).scenario;
    assert_round_trip(&scenario);
    let queues = scenario.links.iter().map(|link| link.queue.name.clone());
    let protocols = scenario.groups.iter().map(|group| group.protocol.name.clone());
    (queues.collect(), protocols.collect())
}

const CHAIN: &str = "schema = 1\nname = \"chain\"\nduration = \"1s\"\n";

fn link(name: &str, queue: &str) -> String {
    format!(
        "[links.{name}]\nfrom = \"a\"\nto = \"b\"\nrate = \"1Mbps\"\nowd = \"1ms\"\n\
         duplex = true\nbuffer = \"10pkt\"\nqueue = {queue}\n"
    )
}

fn flow(name: &str, protocol: &str) -> String {
    format!("[flows.{name}]\nfrom = \"a\"\nto = \"b\"\nprotocol = {protocol}\n")
}

#[test]
fn what_is_written_in_place_is_called_as_its_kind() {
    let (red, ecn) = ("{ kind = \"red\", max_p = 0.2 }", "{ kind = \"sack\", ecn = true }");
    let flows = [flow("f", ecn), flow("g", "{ kind = \"reno\" }"), flow("h", ecn)].concat();
    let (queues, protocols) = part_names(&[CHAIN, &link("l", red), &flows].concat());
    assert_eq!(queues, ["red", "red"]);
    assert_eq!(protocols, ["sack", "reno", "sack"]);
}

#[test]
fn what_is_written_in_place_never_shares_the_name_of_something_else() {
    let (red, ecn) = ("{ kind = \"red\", max_p = 0.2 }", "{ kind = \"sack\", ecn = true }");
    let flows = [flow("f", ecn), flow("g", "\"sack\""), flow("h", "{ kind = \"sack\" }")].concat();
    let links = [link("l", "\"red\""), link("m", red)].concat();
    // The same name as `f` would get is defined, and so is a queue that nobody uses.
    let defined = "[protocols.f-sack]\nkind = \"reno\"\n[queues.m-red]\nkind = \"droptail\"\n";
    let (queues, protocols) = part_names(&[CHAIN, &links, &flows, defined].concat());
    assert_eq!(queues, ["red", "red", "red-2", "red-2"]);
    assert_eq!(protocols, ["sack-2", "sack", "sack"]);
    let (queues, protocols) = part_names(&[CHAIN, &links, &flows].concat());
    assert_eq!(queues, ["red", "red", "m-red", "m-red"]);
    assert_eq!(protocols, ["f-sack", "sack", "sack"]);
}

#[test]
fn a_long_name_leaves_room_for_none_before_the_kind() {
    let long = "x".repeat(98);
    let other = flow("g", "\"sack\"");
    let ecn = flow(&long, "{ kind = \"sack\", ecn = true }");
    let (_, protocols) = part_names(&[CHAIN, &link("l", "\"red\""), &ecn, &other].concat());
    assert_eq!(protocols, ["sack-2", "sack"]);
}

/// An engine's version.
fn version(version: &str) -> Parts {
    [("engine".to_owned(), version.to_owned())].into()
}

/// The parts with another version of one of them, if it is among them.
fn bumped(parts: &Parts, name: &str) -> Parts {
    let other = |(part, version): (&String, &String)| {
        (part.clone(), if part == name { format!("{version}+") } else { version.clone() })
    };
    parts.iter().map(other).collect()
}

#[test]
fn identity_depends_on_the_versions_of_what_is_used() {
    let name =
        |scenario: &Scenario, bump: &str| identity(scenario, &bumped(&parts(scenario), bump), 1, 0);
    let xcp = scenario("base-case-xcp", &[]);
    let bbr = scenario("base-case-xcp", &["flows.fwd.protocol=\"bbr\"".to_owned()]);
    assert_ne!(name(&bbr, ""), name(&bbr, "bbr"));
    assert_eq!(name(&xcp, ""), name(&xcp, "bbr"));
    // A queue is none of the end host's parts, though both are called so.
    assert_ne!(name(&xcp, "xcp"), name(&xcp, "queue xcp"));
    assert_ne!(name(&xcp, ""), name(&xcp, "queue xcp"));
}

#[test]
fn parts_are_all_that_is_used_and_no_more() {
    let names = |scenario: &Scenario| parts(scenario).into_keys().collect::<Vec<_>>();
    // A feedback part and the policy under it, and another queue on the second link.
    let two = "links.there.queue={kind=\"xcp\",over=\"red\"}".to_owned();
    let mixed = scenario("two-paths", &[two.replace("there", "sat")]);
    let found = names(&mixed);
    for name in ["queue xcp", "queue red"] {
        assert!(found.iter().any(|part| part == name), "{name}: {found:?}");
    }
    let island = scenario("vcp-island", &[]);
    let carrier = island.islands[0].protocol.kind;
    let hosts: Vec<&str> = island.groups.iter().map(|group| group.protocol.kind).collect();
    assert!(!hosts.contains(&carrier), "{hosts:?}");
    assert!(names(&island).iter().any(|part| part == carrier), "{:?}", names(&island));
    assert!(names(&island).iter().all(|part| registered().contains_key(part)));
    assert_eq!(registered()["queue mlcp"], "2");
    assert_eq!(registered()["mlcp"], "1");
}

#[test]
fn the_timer_has_what_its_era_says() {
    let timer = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
        let scenario = scenario("base-case-xcp", &sets);
        let name = identity(&scenario, &Parts::new(), 1, 0);
        let transport = scenario.transport;
        ((transport.rto_granularity.0 / 1_000_000_000, transport.rttvar.name()), name)
    };
    let (papers, plain) = timer(&[]);
    assert_eq!(papers, (100, "rtt"));
    assert_eq!(timer(&["era=papers"]).1, plain);
    assert_eq!(timer(&["era=ns2"]).0, (30, "ack"));
    assert_eq!(timer(&["era=ns2", "transport.rttvar=rtt"]).0, (30, "rtt"));
    // No coarser than the timeouts that are asked for, unless that is asked for, too.
    assert_eq!(timer(&["transport.min_rto=5ms"]).0, (5, "rtt"));
    let both = ["transport.min_rto=5ms", "transport.rto_granularity=20ms"];
    assert_eq!(timer(&both).0, (20, "rtt"));
    assert_eq!(timer(&["transport.rto_granularity=100ms"]).1, plain);
    assert_ne!(timer(&["transport.rto_granularity=99ms"]).1, plain);
    assert_ne!(timer(&["transport.rttvar=ack"]).1, plain);
}

/// Linux 6.1's include/net/tcp.h: TCP_RTO_MIN HZ/5, TCP_RTO_MAX 120 HZ, TCP_TIMEOUT_INIT 1 HZ,
/// TCP_INIT_CWND 10, TCP_DELACK_MIN HZ/25.
#[test]
fn hosts_of_linux_have_the_kernels_constants() {
    let scenario = scenario("base-case-xcp", &["era=linux-6.1".to_owned()]);
    let transport = scenario.transport;
    let ms = units::Span::from_millis;
    assert_eq!((transport.min_rto, transport.max_rto), (ms(200), ms(120_000)));
    assert_eq!((transport.initial_rto, transport.rto_granularity), (ms(1000), ms(200)));
    assert_eq!((transport.initial_window, transport.delayed_ack), (10.0, Some(ms(40))));
    assert_round_trip(&scenario);
}

/// An era sets what the file does not; a preset and a key of the file stand above it.
#[test]
fn an_era_is_below_what_the_file_says() {
    let cubic = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
        let protocol = &scenario("xcp-fig10", &sets).groups[0].protocol;
        let name = if protocol.kind == "bbr" { "aggregation" } else { "slow_start" };
        protocol.params.get(name).map(|value| format!("{value:?}"))
    };
    let text = |word: &str| Some(format!("Choice({word:?})"));
    let flows = "flows.fwd.protocol=cubic";
    assert_eq!(cubic(&[flows]), text("standard"));
    assert_eq!(cubic(&[flows, "era=ns2"]), text("standard"));
    assert_eq!(cubic(&[flows, "era=rfc"]), text("hystart"));
    assert_eq!(cubic(&[flows, "era=linux-6.1"]), text("hystart"));
    let own = "flows.fwd.protocol={kind=\"cubic\",slow_start=\"limited\"}";
    assert_eq!(cubic(&[own, "era=linux-6.1"]), text("limited"));
    assert_eq!(cubic(&["flows.fwd.protocol=bbr"]), Some("Flag(false)".to_owned()));
    assert_eq!(cubic(&["flows.fwd.protocol=bbr", "era=linux-6.1"]), Some("Flag(true)".to_owned()));
}

/// Linux mends by time what SACK mends here; a recovery that a protocol has by its name, and one
/// that the file says, stay.
#[test]
fn hosts_of_linux_recover_by_rack() {
    let recovery = |flows: &str, era: &str| {
        let sets = [format!("flows.fwd.protocol={flows}"), format!("era={era}")];
        scenario("xcp-fig10", &sets).groups[0].protocol.recovery.name()
    };
    assert_eq!(recovery("cubic", "papers"), "sack");
    assert_eq!(recovery("cubic", "rfc"), "sack");
    assert_eq!(recovery("cubic", "linux-6.1"), "rack");
    assert_eq!(recovery("newreno", "linux-6.1"), "newreno");
    assert_eq!(recovery("{kind=\"cubic\",recovery=\"sack\"}", "linux-6.1"), "sack");
}

/// Every parameter that an era sets is there and takes the value.
#[test]
fn every_setting_of_every_era_fits() {
    for era in Era::ALL {
        for setting in era.settings() {
            let mut params = cc::registry::AnySenderParams::named(setting.protocol).unwrap();
            let before = params.get(setting.name);
            assert!(params.set(setting.name, setting.value).is_ok(), "{setting:?}");
            assert_ne!(params.get(setting.name), before, "{setting:?} is the default");
        }
    }
}

/// A key that the file has is the file's, whatever its value; what another key holds down is
/// neither the era's nor the default.
#[test]
fn origins_of_the_transport_are_those_of_its_keys() {
    let told = |sets: &[String], key: &str| {
        let text = scenario("xcp-fig10", sets).to_toml_with_origins();
        let line = text.lines().find(|line| line.starts_with(&format!("{key} = "))).unwrap();
        line.split_once(" # ").unwrap().1.to_owned()
    };
    for (key, value) in Era::default().values() {
        let name = key.strip_prefix("transport.").unwrap();
        assert_eq!(told(&[], name), "default", "{key}");
        assert_eq!(told(&[format!("{key}={value}")], name), "file", "{key}");
    }
    let low = ["era=linux-6.1".to_owned(), "transport.max_rto=100ms".to_owned()];
    for key in ["min_rto", "initial_rto"] {
        assert_eq!(told(&low, key), "at most max_rto", "{key}");
    }
    assert_eq!(told(&low, "rto_granularity"), "at most min_rto");
    assert_eq!(told(&low, "initial_window"), "era linux-6.1");
}

#[test]
fn origins_are_told_beside_values() {
    let sets = [
        "era=linux-6.1",
        "transport.initial_window=4pkt",
        "topology.queue={kind=\"red\",preset=\"vcp-2005\",max_p=0.2}",
        "flows.fwd.protocol={kind=\"cubic\",beta=0.8}",
    ];
    let text = scenario("xcp-fig10", &sets.map(str::to_owned)).to_toml_with_origins();
    for line in [
        "min_rto = \"200ms\" # era linux-6.1",
        "initial_window = \"4.0pkt\" # file",
        "dup_thresh = 3 # default",
        "slow_start = \"hystart\" # era linux-6.1",
        "recovery = \"rack\" # era linux-6.1",
        "beta = 0.8 # file",
        "fast_convergence = true # default",
        "gentle = true # preset vcp-2005",
        "max_p = 0.2 # file",
    ] {
        assert!(text.lines().any(|l| l == line), "no {line} in\n{text}");
    }
    let again = parse("r", &text, &[]).unwrap().scenario;
    assert_eq!(again, scenario("xcp-fig10", &sets.map(str::to_owned)));
}

#[test]
fn identity_depends_on_everything_that_is_run() {
    let base = scenario("base-case-xcp", &[]);
    let name = identity(&base, &version("1"), 1, 0);
    assert_eq!(name.len(), 64);
    assert_eq!(name, identity(&base.clone(), &version("1"), 1, 0));
    let resolved = parse("r", &base.to_toml(), &[]).unwrap().scenario;
    assert_eq!(name, identity(&resolved, &version("1"), 1, 0));
    let changed = scenario("base-case-xcp", &["queues.xcp={kind=\"xcp\",gamma=0.2}".to_owned()]);
    // What came later and is off leaves the name.
    let with = |set: &str| scenario("base-case-xcp", &[set.to_owned()]);
    let off = with("transport.undo=off");
    assert_eq!(name, identity(&off, &version("1"), 1, 0));
    let [dsack, timestamps] =
        ["dsack", "timestamps"].map(|undo| with(&format!("transport.undo={undo}")));
    assert_ne!(identity(&dsack, &version("1"), 1, 0), identity(&timestamps, &version("1"), 1, 0));
    let others = [
        identity(&dsack, &version("1"), 1, 0),
        identity(&timestamps, &version("1"), 1, 0),
        identity(&base, &version("2"), 1, 0),
        identity(&base, &version("1"), 2, 0),
        identity(&base, &version("1"), 1, 1),
        identity(&changed, &version("1"), 1, 0),
    ];
    assert!(!others.contains(&name));
}

#[test]
fn odd_scenarios_are_warned_of() {
    let warn = |name: &str, sets: &[&str]| -> Vec<String> {
        let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
        let parsed = read(&example(name), &sets).unwrap();
        parsed.warnings.iter().map(ToString::to_string).collect()
    };
    assert_eq!(
        warn("xcp-fig10", &["topology.queue=red"]),
        ["flows.fwd: protocol \"xcp\" needs queue \"xcp\", which is not on link \"bottleneck\""]
    );
    // Schemes that have a header in common do not read each other's.
    for (host, queue) in
        [("erica", "osu"), ("osu", "charny"), ("charny", "erica"), ("dpcp", "mpcp")]
    {
        let kinds = [host, queue].map(|kind| format!("kind='{kind}'"));
        let (own, other) = (&kinds[0], &kinds[1]);
        let host_is = format!("protocols.host={{ {own} }}");
        let pair = |queue: &str| {
            warn("any-protocol", &[&host_is, &format!("queues.router={{ {queue} }}")])
        };
        assert_eq!(
            pair(other),
            [format!(
                "flows.ftp: protocol \"{host}\" needs queue \"{host}\", which is not on link \"bottleneck\""
            )]
        );
        assert_eq!(pair(own), [""; 0]);
    }
    // A variant of XCP's router serves XCP.
    let variant = ["protocols.host.kind=xcp", "queues.router.kind=xcp-integer"];
    assert_eq!(warn("any-protocol", &variant), [""; 0]);
    assert_eq!(
        warn("xcp-fig10", &["flows.fwd.access_rate=10Mbps"]),
        ["flows.fwd: the access rate of 10Mbps is below the 45Mbps of link \"bottleneck\""]
    );
    let lonely = "links.moon={from=\"paris\",to=\"moon\",rate=\"1Mbps\",owd=\"1250ms\"}";
    assert_eq!(warn("two-paths", &[lonely]), ["no flow crosses link \"moon\""]);
}

/// A threshold in packets and as a part of the buffer: `step` goes by the part, all others by the
/// packets, also by those of a preset.
#[test]
fn of_two_thresholds_the_one_that_counts_is_told() {
    let file = example("any-protocol");
    let warned = |queue: &str| warned(&file, &[&format!("queues.router={{ {queue} }}")]);
    for (queue, told) in [
        ("kind='step', k=65, k_ratio=0.2", "k does nothing: k_ratio = 0.2 counts"),
        ("kind='red', min_th=5, min_th_ratio=0.1", "min_th_ratio does nothing: min_th = 5 counts"),
        (
            "kind='pi', preset='hollot-2001', q_ref_ratio=0.5",
            "q_ref_ratio does nothing: q_ref = 200 of the preset counts",
        ),
    ] {
        let found = warned(queue);
        assert!(found.contains(&format!("queues.router.{told}")), "{found:?}");
    }
    for queue in [
        "kind='step', k=65",
        "kind='step', k=65, k_ratio=0",
        "kind='red', min_th=0, min_th_ratio=0.1",
        "kind='red', min_th=5, max_th_ratio=0.5",
        "kind='pi', preset='hollot-2001', q_ref=50",
    ] {
        assert!(!warned(queue).iter().any(|text| text.contains("does nothing")), "{queue}");
    }
}

#[test]
fn the_committed_reference_is_the_types_own() {
    let folder = root().join("docs/reference");
    for (path, text) in reference_pages() {
        let file = fs::read_to_string(folder.join(&path)).unwrap_or_default();
        assert!(file == text, "{path} is stale: make docs-reference");
    }
}

#[test]
fn the_committed_schema_is_the_types_own() {
    let path = root().join("python/clearpipe/scenario.schema.json");
    let file = fs::read_to_string(path).unwrap_or_default();
    // As values: the order of keys depends on who else uses serde_json in the build.
    assert!(
        serde_json::from_str::<serde_json::Value>(&file).ok() == Some(json_schema()),
        "stale: cargo run -p clearpipe-scenario --example schema > \
         python/clearpipe/scenario.schema.json"
    );
}

/// Pieces that mutated files are made of.
const PIECES: [&str; 30] = [
    "\"",
    "[",
    "]",
    "{",
    "}",
    "=",
    ".",
    "\n",
    "#",
    "-",
    "e",
    "9",
    "99999999999999999999",
    "1e999",
    "bdp",
    "bdp-pkt",
    "x",
    "pkt",
    "ps",
    "linspace(",
    "every(",
    "cross(",
    ",",
    "\u{fc}",
    "true",
    "[links.a]\n",
    "%",
    "formula(",
    "load(",
    "exponential(",
];

fn values() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        any::<f64>().prop_map(|x| format!("{x:?}")),
        "[0-9]{1,3}(\\.[0-9]{1,3})?(e[0-9]{1,3})?",
    ];
    let unit = "(ps|ns|us|ms|s|min|h|bps|Mbps|Tbps|B|kB|KiB|pkt|bdp|bdp-pkt|%|x)?";
    prop_oneof![
        2 => (number, unit).prop_map(|(number, unit)| format!("{number}{unit}")),
        4 => "[1-9][0-9]{0,2}(\\.[0-9])?(ms|Mbps|kB)",
        4 => "[1-9][0-9]{0,2}(pkt|bdp|bdp-pkt|%|x)?",
        2 => "(linspace|logspace|uniform|normal|exponential|pareto|poisson|load|every|cross)\\([0-9]{1,2}(\\.5)?(m?s|/s|%|kB)?(, [0-9]{1,2}m?s?)?\\)",
        2 => "formula\\(([0-9]{1,2}(ms|Mbps)?|i|n|[-+*/^]|[()]){1,9}\\)",
        2 => "(long|each|red|xcp|vcp|sack|unlimited|off|true|\\[\\]|\\{\\})",
        1 => any::<String>(),
    ]
}

fn keys() -> impl Strategy<Value = String> {
    let table = "(topology|flows\\.(long|cross|bulk|ground|fwd|web|video|coasts)|links\\.(sat|sea|new|down)|transport)";
    let key = "(rate|rtt|owd|links|buffer|buffer_per_flow|queue|protocol|count|path|from|to|start\
               |stop|size|arrivals|on|off|steps|trace|down|loss|jitter|reorder|access_rate|access_owd|source_owd|sink_owd|min_rto|initial_window)";
    let top = "(duration|warmup|seed|name|packets\\.data|packets\\.ack|probe\\.every)";
    prop_oneof![(table, key).prop_map(|(table, key)| format!("{table}.{key}")), top]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_text_makes_it_panic(text in any::<String>(), set in any::<String>()) {
        let _ = parse("x", &text, std::slice::from_ref(&set));
        let _ = parse("x", &example("two-paths"), &[set]);
    }

    #[test]
    fn no_mutated_file_makes_it_panic(
        name in prop::sample::select(&EXAMPLES[..]),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..4,
            prop::sample::select(&PIECES[..])), 1..4),
    ) {
        let mut text: Vec<char> = example(name).chars().collect();
        for (at, cut, piece) in edits {
            let start = at.index(text.len());
            let end = (start + cut).min(text.len());
            text.splice(start..end, piece.chars());
        }
        let text: String = text.into_iter().collect();
        if let Ok(parsed) = read(&text, &[]) {
            assert_round_trip(&parsed.scenario);
        }
    }

    #[test]
    fn what_is_accepted_survives_a_round_trip(
        name in prop::sample::select(&EXAMPLES[..]),
        sets in prop::collection::vec((keys(), values()), 1..3),
    ) {
        let sets: Vec<String> = sets.iter().map(|(key, value)| format!("{key}={value}")).collect();
        if let Ok(parsed) = read(&example(name), &sets) {
            prop_assume!(parsed.scenario.groups.iter().all(|group| group.access.len() < 10_000));
            assert_round_trip(&parsed.scenario);
        }
    }
}

//! Which link a scenario names: by its key, or plain from the network and the data's ways.

use clearpipe_scenario::{Parts, Scenario, identity, parse};

const DUMBBELL: &str = include_str!("errors/dumbbell.toml");
const LOT: &str = include_str!("errors/parking_lot.toml");
const TWO: &str = include_str!("errors/named.toml");

/// One link with its reverse, and one without.
const DUPLEX: &str = r#"
schema = 1
name = "duplex"
duration = "10s"
links = { line = { from = "a", to = "b", rate = "10Mbps", owd = "10ms", duplex = true } }
flows = { f = { protocol = "sack", from = "a", to = "b" } }
"#;

fn scenario(text: &str, sets: &[&str]) -> Scenario {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    parse("x.toml", text, &sets).unwrap_or_else(|error| panic!("{error}")).scenario
}

fn named(text: &str, sets: &[&str]) -> Option<String> {
    scenario(text, sets).bottleneck().map(str::to_owned)
}

const BACK: &str = "flows.back={ protocol = \"cubic\", direction = \"reverse\", count = 10 }";

#[test]
fn one_link_there_and_back_is_named_by_the_way_of_the_data() {
    let is = |name: &str| Some(name.to_owned());
    assert_eq!(named(DUMBBELL, &[]), is("bottleneck"));
    // However many flows go back.
    assert_eq!(named(DUMBBELL, &[BACK]), is("bottleneck"));
    assert_eq!(named(DUMBBELL, &["flows.fwd.count=1", BACK]), is("bottleneck"));
    let back = "flows.fwd.direction=reverse";
    assert_eq!(named(DUMBBELL, &[back]), is("bottleneck.reverse"));
    assert_eq!(named(DUMBBELL, &[back, BACK]), is("bottleneck.reverse"));
    assert_eq!(named(DUPLEX, &[]), is("line"));
    assert_eq!(named(DUPLEX, &["flows.f.from=b", "flows.f.to=a"]), is("line.reverse"));
    let island = "islands.i={ links = [\"line\"], protocol = \"sack\", buffer = \"10pkt\" }";
    assert_eq!(named(DUPLEX, &[island]), is("line"));
    assert_eq!(named(LOT, &["topology.links=1", "flows.short.path=long"]), is("l1"));
}

#[test]
fn other_networks_name_none_unless_the_file_does() {
    assert_eq!(named(LOT, &[]), None);
    assert_eq!(named(TWO, &[]), None);
    assert_eq!(named(LOT, &["bottleneck=l2"]).as_deref(), Some("l2"));
    assert_eq!(named(TWO, &["bottleneck=two.reverse"]).as_deref(), Some("two.reverse"));
    let key = "bottleneck=bottleneck.reverse";
    assert_eq!(named(DUMBBELL, &[key]).as_deref(), Some("bottleneck.reverse"));
    // Two links over the same two nodes are no line there and back without the name of one.
    let apart = "\
schema = 1
name = \"apart\"
duration = \"10s\"
links.up = { from = \"a\", to = \"b\", rate = \"10Mbps\", owd = \"10ms\" }
links.down = { from = \"b\", to = \"a\", rate = \"10Mbps\", owd = \"10ms\" }
flows.f = { protocol = \"sack\", from = \"a\", to = \"b\" }
";
    assert_eq!(named(apart, &[]), None);
}

#[test]
fn the_resolved_file_says_it_and_reads_back() {
    for (text, sets, line) in [
        (DUMBBELL, &[][..], Some("bottleneck = \"bottleneck\"")),
        (LOT, &[], None),
        (LOT, &["bottleneck=l2"], Some("bottleneck = \"l2\"")),
    ] {
        let scenario = scenario(text, sets);
        let resolved = scenario.to_toml();
        let said = resolved.lines().find(|found| found.starts_with("bottleneck = "));
        assert_eq!(said, line);
        assert_eq!(parse("resolved.toml", &resolved, &[]).unwrap().scenario, scenario);
        // What versions wrote that did not have the key is read by the same rule.
        if sets.is_empty() {
            let old: String = resolved
                .lines()
                .filter(|&l| Some(l) != said)
                .map(|l| l.to_owned() + "\n")
                .collect();
            assert_eq!(parse("resolved.toml", &old, &[]).unwrap().scenario, scenario);
        }
    }
}

#[test]
fn a_runs_identity_does_not_see_it() {
    let name = |sets: &[&str]| identity(&scenario(LOT, sets), &Parts::new(), 1, 0);
    assert_eq!(name(&[]), name(&["bottleneck=l1"]));
    assert_eq!(name(&[]), name(&["bottleneck=l3.reverse"]));
    assert_ne!(name(&[]), name(&["duration=11s"]));
}

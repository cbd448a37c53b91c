//! Tests of the fluid forms whose protocols the registry may not have: a scenario of a registered one, with
//! senders and routers put in their place.

use scenario::{Scenario, VcpForm};

use crate::link::{FEEDBACK, Feedback};
use crate::model::Model;
use crate::parts::Part;
use crate::sender::{Law, PROTOCOLS, Sender};
use crate::solver::Solver;
use crate::tables;
use results::Tables;

fn parse(text: &str) -> Scenario {
    match scenario::parse("test", text, &[]) {
        Ok(parsed) => parsed.scenario,
        Err(error) => panic!("{error}"),
    }
}

/// Runs a scenario with protocol and queues of another name, by the tables that the registry's names use.
fn run_as(scenario: &Scenario, name: &str) -> Tables {
    let mut model = Model::of(scenario, 1, 0).expect("a fluid form");
    let part = Part::defaults();
    let law = PROTOCOLS.iter().find(|(own, _)| *own == name).expect("a protocol").1;
    for sender in &mut model.senders {
        let law = law(&part, VcpForm::Switching);
        let classic = matches!(law, Law::Reno | Law::Cubic(_));
        *sender = Sender { slow_start: classic, law, ..sender.clone() };
    }
    if let Some((_, make)) = FEEDBACK.iter().find(|(own, _)| *own == name) {
        for rule in &mut model.rules {
            if !matches!(rule.feedback, Feedback::None) {
                rule.feedback = make(&part);
            }
        }
    }
    let mut solver = Solver::new(scenario, model);
    while solver.step() {}
    tables::outcome(scenario, solver).tables
}

fn goodputs(tables: &Tables) -> Vec<f64> {
    tables.flows.iter().map(|flow| flow.goodput_bps).collect()
}

fn near(a: f64, b: f64, part: f64) -> bool {
    (a - b).abs() <= part * b.abs()
}

/// iXCP's rates are max-min fair with all links full (section V): four long flows over 155 and 100 Mb/s have
/// 25 each, the short one on the first link what is left, 55, where XCP leaves 12 of it.
#[test]
fn ixcp_uses_what_xcp_leaves() {
    let text = "schema = 1\nname = \"low\"\nduration = \"60s\"\nwarmup = \"50%\"\n[links.l1]\nfrom = \"a\"\nto = \"b\"\n\
                rate = \"155Mbps\"\nowd = \"10ms\"\nqueue = \"xcp\"\nduplex = true\n[links.l2]\nfrom = \"b\"\nto = \"c\"\n\
                rate = \"100Mbps\"\nowd = \"10ms\"\nqueue = \"xcp\"\nduplex = true\n[flows.long]\nprotocol = \"xcp\"\n\
                count = 4\nfrom = \"a\"\nto = \"c\"\nrtt = \"80ms\"\n[flows.short]\nprotocol = \"xcp\"\nfrom = \"a\"\n\
                to = \"b\"\nrtt = \"80ms\"\n";
    let rates = goodputs(&run_as(&parse(text), "ixcp"));
    assert!(near(rates[0], 25e6, 0.01) && near(rates[4], 55e6, 0.01), "{rates:?}");
}

#[test]
fn ixcp_is_fair_on_one_link() {
    let text = "schema = 1\nname = \"one\"\nduration = \"40s\"\nwarmup = \"50%\"\n[topology]\nkind = \"dumbbell\"\n\
                rate = \"40Mbps\"\nrtt = \"60ms\"\nowd = \"5ms\"\nqueue = \"xcp\"\n[flows.a]\nprotocol = \"xcp\"\n\
                count = 4\nrtt = [\"40ms\", \"60ms\", \"80ms\", \"160ms\"]\nstart = \"every(2s)\"\n";
    let tables = run_as(&parse(text), "ixcp");
    for rate in goodputs(&tables) {
        assert!(near(rate, 10e6, 0.01), "{rate}");
    }
}

/// Two flows from different instants on a link of 10 Mb/s: they use what their protocol aims at, equally.
fn pair(rtt: &str, duration: &str) -> Scenario {
    parse(&format!(
        "schema = 1\nname = \"pair\"\nduration = \"{duration}\"\nwarmup = \"50%\"\n[topology]\nkind = \"dumbbell\"\n\
         rate = \"10Mbps\"\nrtt = \"{rtt}\"\nqueue = \"vcp\"\n[flows.a]\nprotocol = \"vcp\"\ncount = 2\n\
         start = \"every(5s)\"\n"
    ))
}

#[test]
fn mlcp_and_dpcp_fill_a_link_and_share_it() {
    for (name, least) in [("mlcp", 0.9), ("dpcp", 0.75)] {
        let tables = run_as(&pair("100ms", "400s"), name);
        let used = tables.links[0].utilization_ratio;
        assert!((least..=1.0).contains(&used), "{name}: {used}");
        let rates = goodputs(&tables);
        assert!(near(rates[0], rates[1], 0.1), "{name}: {rates:?}");
        assert_eq!(tables.links[0].total_drops_pkts, 0, "{name}");
    }
}

#[test]
fn cubic_fills_a_droptail_link() {
    let text = "schema = 1\nname = \"cubic\"\nduration = \"120s\"\nwarmup = \"50%\"\n[topology]\nkind = \"dumbbell\"\n\
                rate = \"50Mbps\"\nrtt = \"100ms\"\nqueue = \"droptail\"\n[flows.a]\nprotocol = \"reno\"\ncount = 5\n";
    let tables = run_as(&parse(text), "cubic");
    let link = &tables.links[0];
    assert!(link.utilization_ratio > 0.95, "{}", link.utilization_ratio);
    assert!((1e-6..0.01).contains(&link.drop_ratio), "{}", link.drop_ratio);
}

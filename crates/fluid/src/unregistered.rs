//! Tests of iXCP, which the registry may not have: scenarios of XCP with iXCP's laws put in.

use scenario::{Scenario, VcpForm};

use crate::link::FEEDBACK;
use crate::model::Model;
use crate::parts::Part;
use crate::sender::{PROTOCOLS, Sender};
use crate::solver::Solver;
use crate::tables;
use results::Tables;

fn parse(text: &str) -> Scenario {
    match scenario::parse("test", text, &[]) {
        Ok(parsed) => parsed.scenario,
        Err(error) => panic!("{error}"),
    }
}

/// Runs an XCP scenario with iXCP's laws, by the tables that the registry's names use.
fn run(scenario: &Scenario) -> Tables {
    let mut model = Model::of(scenario, 1, 0).expect("a fluid form");
    let law = PROTOCOLS.iter().find(|(name, _)| *name == "ixcp").expect("a protocol").1;
    for sender in &mut model.senders {
        let law = law(&Part::of_sender("xcp"), VcpForm::Switching);
        *sender = Sender { law, ..sender.clone() };
    }
    let (_, make) = FEEDBACK.iter().find(|(name, _)| *name == "ixcp").expect("a queue");
    for rule in &mut model.rules {
        rule.feedback = make(&Part::of_router("xcp"));
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
    let rates = goodputs(&run(&parse(text)));
    assert!(near(rates[0], 25e6, 0.01) && near(rates[4], 55e6, 0.01), "{rates:?}");
}

#[test]
fn ixcp_is_fair_on_one_link() {
    let text = "schema = 1\nname = \"one\"\nduration = \"40s\"\nwarmup = \"50%\"\n[topology]\nkind = \"dumbbell\"\n\
                rate = \"40Mbps\"\nrtt = \"60ms\"\nowd = \"5ms\"\nqueue = \"xcp\"\n[flows.a]\nprotocol = \"xcp\"\n\
                count = 4\nrtt = [\"40ms\", \"60ms\", \"80ms\", \"160ms\"]\nstart = \"every(2s)\"\n";
    let tables = run(&parse(text));
    for rate in goodputs(&tables) {
        assert!(near(rate, 10e6, 0.01), "{rate}");
    }
}

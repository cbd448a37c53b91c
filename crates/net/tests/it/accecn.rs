//! AccECN in runs: RFC 9768's counters in place of what ACKs of an ideal network tell.

use clearpipe_net::Outcome;

use crate::common;

/// Two flows of this protocol over DualPI2 at 40 Mb/s and 20 ms, with these keys of the transport.
fn run(protocol: &str, transport: &str) -> Outcome {
    let scenario = common::scenario(&format!(
        "duration = \"30s\"\nwarmup = \"10s\"\n[transport]\n{transport}\n\
         [topology]\nkind = \"dumbbell\"\nrate = \"40Mbps\"\nrtt = \"20ms\"\nbuffer = \"1000pkt\"\n\
         queue = \"dualpi2\"\n[flows.f]\nprotocol = {protocol}\ncount = 2\n\
         start = \"uniform(0s, 1s)\"\n"
    ));
    common::run(&scenario, 1, 0)
}

fn marks_and_goodput(outcome: &Outcome) -> (u64, f64) {
    (common::link(outcome, "bottleneck").marks_pkts, common::mean_mbps(outcome, "f"))
}

/// Where each packet is acknowledged at once and no ACK is lost, the counters tell what the codes
/// did: the run is the same packet by packet, with ACE alone and with the option.
#[test]
fn without_delayed_acks_it_is_ideal_feedback() {
    for protocol in
        ["{ kind = \"dctcp\", ect1 = true }", "{ kind = \"bbr3\", ecn = true, ect1 = true }"]
    {
        let ideal = run(protocol, "accecn = \"off\"");
        for accecn in ["ace", "option"] {
            let counted = run(protocol, &format!("accecn = \"{accecn}\""));
            assert_eq!(counted.fingerprint, ideal.fingerprint, "{protocol}, {accecn}");
        }
        assert!(marks_and_goodput(&ideal).0 > 100, "{protocol}");
    }
}

/// A protocol of RFC 3168 reduces once per window of data, as with the latched echo, so it gets the
/// same goodput within the noise of where marks fall (5 %).
#[test]
fn classic_senders_answer_as_before() {
    for kind in ["sack", "cubic"] {
        let protocol = format!("{{ kind = \"{kind}\", ecn = true }}");
        let (_, before) = marks_and_goodput(&run(&protocol, "accecn = \"off\""));
        for accecn in ["ace", "option"] {
            let outcome = run(&protocol, &format!("accecn = \"{accecn}\""));
            let (marks, after) = marks_and_goodput(&outcome);
            println!("{kind}, {accecn}: {marks} marks, {before:.2} and {after:.2} Mb/s");
            assert!(marks > 20 && (after / before - 1.0).abs() < 0.05, "{kind}");
        }
    }
}

/// DCTCP's alpha, the mean of both flows, over the share of packets that the queue marked, both
/// after 10 s: how much of what was marked the sender hears.
fn heard(transport: &str, loss: &str) -> f64 {
    let scenario = common::scenario(&format!(
        "duration = \"40s\"\nwarmup = \"10s\"\n[transport]\n{transport}\n\
         [links.there]\nfrom = \"a\"\nto = \"b\"\nrate = \"40Mbps\"\nowd = \"10ms\"\n\
         buffer = \"1000pkt\"\nqueue = \"dualpi2\"\n\
         [links.back]\nfrom = \"b\"\nto = \"a\"\nrate = \"40Mbps\"\nowd = \"10ms\"\n\
         buffer = \"1000pkt\"\nloss = \"{loss}\"\n\
         [flows.f]\nprotocol = {{ kind = \"dctcp\", ect1 = true }}\ncount = 2\n\
         path = [\"there\"]\nreverse_path = [\"back\"]\n\
         [probe]\nseries = [\"sender\"]\nevery = \"5ms\"\n"
    ));
    let outcome = common::run(&scenario, 1, 0);
    let alphas =
        [0, 1].into_iter().flat_map(|flow| common::rows_of(&outcome, "sender_alpha", flow));
    let late: Vec<f64> = alphas.filter(|(t, _)| *t > 10.0).map(|(_, alpha)| alpha).collect();
    let link = common::link(&outcome, "there");
    let share = link.marks_pkts as f64 / link.arrivals_pkts as f64;
    println!(
        "{transport:?}, {loss} of ACKs lost: marked {share:.4}, alpha {:.4}",
        common::mean(&late)
    );
    common::mean(&late) / share
}

/// With delayed ACKs DCTCP's receiver marks an ACK if one of its two packets was (D1 there), so
/// alpha comes out too large; the counters tell them apart. So do they with three ACKs of ten lost,
/// as the next one makes up for them.
#[test]
fn no_mark_is_lost_or_told_twice() {
    let delayed = |accecn: &str| heard(&format!("delayed_ack = \"40ms\"\naccecn = {accecn}"), "0%");
    assert!(delayed("\"off\"") > 1.2);
    for accecn in ["\"ace\"", "\"option\""] {
        let all = [delayed(accecn), heard(&format!("accecn = {accecn}"), "30%")];
        assert!(all.iter().all(|ratio| (ratio - 1.0).abs() < 0.1), "{accecn}: {all:?}");
    }
}

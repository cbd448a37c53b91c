//! Copa at work: what it keeps in the queue, and how it competes. `--nocapture` prints the numbers.

use clearpipe_net::Outcome;

use crate::common;

fn run(buffer: &str, flows: &str) -> Outcome {
    let scenario = common::scenario(&format!(
        "duration = \"60s\"\nwarmup = \"20s\"\n[topology]\nkind = \"dumbbell\"\nrate = \"20Mbps\"\n\
         rtt = \"40ms\"\nbuffer = \"{buffer}\"\nqueue = \"droptail\"\n{flows}\n"
    ));
    common::run(&scenario, 1, 0)
}

/// Section 2.1: a flow keeps about 1/delta = 2 packets in the queue, and the oscillation that finds
/// RTTmin takes it to 0 and to 2.5/delta = 5; so between half and three times of N/delta in the
/// mean, with the link busy and rates alike. Not so with more: docs/evidence/copa.md.
#[test]
fn flows_keep_a_few_packets_each_in_the_queue() {
    for flows in [1, 2] {
        let copa = format!(
            "[flows.f]\nprotocol = \"copa\"\ncount = {flows}\n\
                            start = \"uniform(0s, 2s)\""
        );
        let outcome = run("1000pkt", &copa);
        let link = common::link(&outcome, "bottleneck");
        let rates: Vec<f64> = common::group(&outcome, "f").map(|flow| flow.goodput_bps).collect();
        let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
        let fairness = rates.iter().sum::<f64>().powi(2) / squares / f64::from(flows);
        println!(
            "{flows} flows: queue {:.1} packets, utilization {:.3}, fairness {fairness:.3}",
            link.queue_mean_pkts, link.utilization_ratio
        );
        let share = link.queue_mean_pkts / (2.0 * f64::from(flows));
        assert!((0.5..3.0).contains(&share), "{flows}: {share}");
        assert!(link.utilization_ratio > 0.95 && fairness > 0.9, "{flows}: {fairness}");
    }
}

/// Section 2.2: beside a flow that fills a buffer of two delay-bandwidth products the default mode
/// starves; the other gets several times as much.
#[test]
fn it_competes_with_buffer_fillers() {
    let share = |mode: &str| {
        let flows = format!(
            "[flows.copa]\nprotocol = {{ kind = \"copa\", mode = \"{mode}\" }}\n\
             [flows.cubic]\nprotocol = \"cubic\"\n"
        );
        let outcome = run("2bdp", &flows);
        let [copa, cubic] = ["copa", "cubic"].map(|group| common::mean_mbps(&outcome, group));
        println!("{mode}: Copa {copa:.2} Mb/s, CUBIC {cubic:.2} Mb/s");
        copa / (copa + cubic)
    };
    let (default, auto) = (share("default"), share("auto"));
    assert!(default < 0.15 && auto > 0.25, "{default} {auto}");
}

/// Three flows by genericCC's velocity keep 9 to 10 packets waiting, the program itself as a
/// referee says; by the paper's, in it and here, they take each other for buffer-fillers:
/// docs/evidence/copa.md.
#[test]
fn the_programs_velocity_empties_the_queue_more_often() {
    let waiting = |velocity: &str| {
        let copa = format!(
            "[flows.f]\nprotocol = {{ kind = \"copa\", velocity = \"{velocity}\" }}\ncount = 3\n\
             start = \"uniform(0s, 2s)\"\n[packets]\ndata = \"1500B\"\n"
        );
        let outcome = run("2000pkt", &copa);
        outcome.tables.links[0].queue_mean_pkts
    };
    let (code, paper) = (waiting("code"), waiting("paper"));
    println!("{code:.1} packets by the program's velocity, {paper:.1} by the paper's");
    assert!((6.0..12.0).contains(&code), "{code}");
    assert!(paper > 100.0, "{paper}");
}

//! ABC at work: its fixed point, and its stability on both sides of the bound. `--nocapture` prints
//! the numbers.

use clearpipe_net::{Outcome, Run};
use scenario::Scenario;
use units::{Span, Time};

use crate::common;

/// So many ABC flows over 20 Mb/s, 2500 packets/s, with a base round trip of 100 ms.
fn run(flows: u32, queue: &str) -> Outcome {
    let scenario = common::scenario(&format!(
        "duration = \"100s\"\nwarmup = \"40s\"\n[topology]\nkind = \"dumbbell\"\nrate = \"20Mbps\"\n\
         rtt = \"100ms\"\nbuffer = \"1000pkt\"\nqueue = {queue}\n[flows.f]\nprotocol = \"abc\"\n\
         count = {flows}\nstart = \"uniform(0s, 1s)\"\n\
         [probe]\nseries = [\"router\"]\nevery = \"10ms\"\n"
    ));
    common::run(&scenario, 1, 0)
}

/// Mean and standard deviation of the delay after the warm-up [s].
fn delay(outcome: &Outcome) -> (f64, f64) {
    let rows = common::rows_of(outcome, "router_x", 0);
    let late: Vec<f64> = rows.iter().filter(|(t, _)| *t > 40.0).map(|(_, x)| *x).collect();
    let mean = common::mean(&late);
    let squares: Vec<f64> = late.iter().map(|x| (x - mean) * (x - mean)).collect();
    (mean, common::mean(&squares).sqrt())
}

/// Few flows leave the queue empty and use eta + N/(mu T) of the link: 0.98 + 1/250 and 0.98 +
/// 3/250. With 20 the delay x solves x = d_t + delta (eta - 1 + N/(mu (T + x))): 54.2 ms, by
/// iteration from 50 ms: 0.05 + 0.133 (-0.02 + 20/(2500*0.15)) = 54.4, then 54.2; with 40 likewise
/// 60.6 ms.
#[test]
fn it_settles_at_its_fixed_point() {
    for (flows, utilization) in [(1, 0.984), (3, 0.992)] {
        let outcome = run(flows, "\"abc\"");
        let busy = common::utilization(&outcome);
        println!("{flows} flows: utilization {busy:.4}, theory {utilization}");
        assert!((busy - utilization).abs() < 0.01, "{flows}: {busy}");
    }
    for (flows, theory) in [(20, 0.0542), (40, 0.0606)] {
        let outcome = run(flows, "\"abc\"");
        let (mean, sd) = delay(&outcome);
        println!("{flows} flows: {mean:.4} s (sd {sd:.4}), theory {theory}");
        assert!((mean / theory - 1.0).abs() < 0.1, "{flows}: {mean}");
        assert!(common::utilization(&outcome) > 0.99);
    }
}

/// Theorem 3.1: delta > 2/3 tau. The round trip with its 50 ms of queue is 150 ms: delta = 150 ms
/// is stable, delta = 50 ms, a third, is not. In equilibrium x is above d_t by delta (eta - 1 +
/// N/(mu T)), delta times 0.033. A stable loop keeps within that; the other swings through d_t,
/// where nothing holds the rate back, by more than its whole distance from it.
#[test]
fn it_is_stable_above_two_thirds_of_the_round_trip() {
    let swing = |delta_ms: u32| {
        let queue = format!("{{ kind = \"abc\", delta = \"{delta_ms}ms\" }}");
        let (mean, sd) = delay(&run(20, &queue));
        let above = f64::from(delta_ms) / 1e3 * (0.98 - 1.0 + 20.0 / (2500.0 * 0.15));
        println!("delta {delta_ms} ms: {mean:.4} s, sd {sd:.4}, {:.2} of {above:.4}", sd / above);
        sd / above
    };
    let (stable, unstable) = (swing(150), swing(50));
    assert!(stable < 0.7 && unstable > 1.5, "{stable} {unstable}");
}

/// Where no router brakes, CUBIC's window holds, and the two get like rates over drop-tail.
#[test]
fn over_drop_tail_it_is_cubic() {
    let scenario = common::scenario(
        "duration = \"120s\"\nwarmup = \"40s\"\n[topology]\nkind = \"dumbbell\"\nrate = \"20Mbps\"\n\
         rtt = \"40ms\"\nbuffer = \"1bdp\"\nqueue = \"droptail\"\n\
         [flows.abc]\nprotocol = \"abc\"\ncount = 2\nstart = \"uniform(0s, 1s)\"\n\
         [flows.cubic]\nprotocol = \"cubic\"\ncount = 2\nstart = \"uniform(0s, 1s)\"\n",
    );
    let outcome = common::run(&scenario, 1, 0);
    let [abc, cubic] = ["abc", "cubic"].map(|group| common::mean_mbps(&outcome, group));
    println!("ABC {abc:.2} Mb/s, CUBIC {cubic:.2} Mb/s");
    assert!((0.5..2.0).contains(&(abc / cubic)), "{abc} {cubic}");
}

/// Two flows over a trace whose capacity is measured over so many milliseconds.
fn over_a_trace(mu_window_ms: u32) -> Scenario {
    common::scenario(&format!(
        "duration = \"8s\"\nwarmup = \"0s\"\n\
         [links.l]\nfrom = \"x\"\nto = \"y\"\nowd = \"20ms\"\nbuffer = \"200pkt\"\n\
         trace = [1, 3, 4, 9, 15, 16, 17, 18, 19, 22, 30, 31, 33, 37, 70, 72, 74, 75, 80, 130]\n\
         queue = {{ kind = \"abc\", mu_window = \"{mu_window_ms}ms\" }}\n\
         [links.r]\nfrom = \"y\"\nto = \"x\"\nrate = \"10Mbps\"\nowd = \"20ms\"\n\
         [flows.f]\nfrom = \"x\"\nto = \"y\"\nprotocol = \"abc\"\ncount = 2\n"
    ))
}

fn to_end(mut run: Run<'_>) -> Outcome {
    while run.advance(100_000) {}
    run.finish()
}

/// A branch at the start is the run with its value; one later differs from then on. Notices of each
/// 30 ms do not fall together with those of each 100 ms that were due.
#[test]
fn a_branch_measures_a_trace_over_another_time() {
    let (trunk, other) = (over_a_trace(100), over_a_trace(30));
    let branched = |at: Span| {
        let mut run = Run::new(&trunk, 1, 0);
        run.pause_at(Time::ZERO + at);
        while run.advance(100_000) {}
        to_end(run.branch(&other).expect("allowed")).fingerprint
    };
    let [plain, fresh] = [&trunk, &other].map(|scenario| common::run(scenario, 1, 0).fingerprint);
    assert_ne!(plain, fresh);
    assert_eq!(branched(Span::ZERO), fresh);
    let late = branched(Span::from_secs(2));
    assert!(late != plain && late != fresh);
}

//! SCONE at work: advice obeyed, ignored, and policed. `--nocapture` prints the numbers.

use crate::common;

/// Goodput [Mb/s] of a flow that obeys or not over 20 Mb/s with advice of 2 Mb/s, policed or not,
/// with a monitoring period of 5 s, and packets dropped per packet arrived.
fn run(obeys: bool, police: bool) -> (f64, f64) {
    let scenario = common::scenario(&format!(
        "duration = \"60s\"\nwarmup = \"20s\"\n[topology]\nkind = \"dumbbell\"\nrate = \"20Mbps\"\n\
         rtt = \"40ms\"\nbuffer = \"1bdp\"\n\
         queue = {{ kind = \"scone\", advice = 2e6, police = {police}, period = \"5s\" }}\n\
         [flows.f]\nprotocol = {{ kind = \"scone\", obeys = {obeys}, period = \"5s\" }}\n"
    ));
    let outcome = common::run(&scenario, 1, 0);
    let link = common::link(&outcome, "bottleneck");
    println!(
        "obeys {obeys}, policed {police}: {:.2} Mb/s, drops {:.4}",
        common::mean_mbps(&outcome, "f"),
        link.drop_ratio
    );
    (common::mean_mbps(&outcome, "f"), link.drop_ratio)
}

/// Signal 26, 1.995 Mb/s, is what a flow gets that obeys, without a drop, policed or not; one that
/// does not gets the link, or, policed, no more than the advice.
#[test]
fn advice_is_obeyed_ignored_or_policed() {
    for police in [false, true] {
        let (rate, drops) = run(true, police);
        assert!((rate / 1.995 - 1.0).abs() < 0.02 && drops == 0.0, "{rate} {drops}");
    }
    assert!(run(false, false).0 > 15.0);
    let (rate, drops) = run(false, true);
    assert!(rate < 2.1 && drops > 0.0, "{rate} {drops}");
}

//! Load factors by a CSIG tag. `--nocapture` prints the numbers.

use crate::common;

/// Utilization and drops of ten flows over 20 Mb/s and 40 ms.
fn run(protocol: &str, bits: u32) -> (f64, u64) {
    let tag = format!("tag_bits = {bits}");
    let scenario = common::scenario(&format!(
        "duration = \"60s\"\nwarmup = \"20s\"\n[topology]\nkind = \"dumbbell\"\nrate = \"20Mbps\"\n\
         rtt = \"40ms\"\nbuffer = \"1bdp\"\nqueue = {{ kind = \"csig\", {tag} }}\n\
         [flows.f]\nprotocol = {{ kind = \"{protocol}\", {tag} }}\ncount = 10\n"
    ));
    let outcome = common::run(&scenario, 1, 0);
    let link = common::link(&outcome, "bottleneck");
    println!(
        "{protocol}, {bits} bits: {:.3}, queue {:.0} B, {} drops",
        link.utilization_ratio, link.queue_mean_bytes, link.drops_pkts
    );
    (link.utilization_ratio, link.drops_pkts)
}

/// Of one width, two bits call a load of 75 % and more overload, and three one of 87.5 %; the
/// senders cut there to 7/8, so that the mean lies between 7/8 of that and that. With 16 bits the
/// line is full at gamma, 98 %.
#[test]
fn the_edge_of_the_first_bucket_bounds_the_load() {
    for protocol in ["vcp-csig", "mlcp-csig", "nbit-csig", "dpcp-csig", "bmcc-csig"] {
        for (bits, full) in [(2, 0.75), (3, 0.875), (16, 0.98)] {
            let (utilization, drops) = run(protocol, bits);
            assert!(utilization < full && utilization > 0.8 * full, "{protocol}: {utilization}");
            assert_eq!(drops, 0, "{protocol}");
        }
    }
}

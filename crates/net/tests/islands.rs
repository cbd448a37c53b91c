mod common;

#[test]
fn look() {
    let scenario = common::example("vcp-island", &[]);
    let outcome = common::run(&scenario, 1, 0);
    for row in &outcome.tables.macroflows {
        println!("{row:#?}");
    }
    for link in &outcome.tables.links {
        println!("{} util {:.4} queue {:.4} {:.2} drops {}", link.name, link.utilization_ratio, link.queue_mean_ratio, link.queue_mean_pkts, link.total_drops_pkts);
    }
    for group in &outcome.tables.groups {
        println!("{} {} dropped {} timeouts {}", group.group, group.goodput_bps, group.dropped_pkts, group.timeouts);
    }
}

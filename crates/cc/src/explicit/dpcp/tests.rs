//! The router's part.

use super::order::Numbers;
use super::*;
use crate::tests::{ms, near, passing, router_context};
use Ecn::{Ce, Ect0, Ect1, NotCapable};

/// A router at 10 Mb/s: gamma*C*t_rho = 0.98*1.25e6*0.2 = 245 000 bytes.
fn router() -> DpcpRouter {
    DpcpRouter::new(&DpcpRouterParams::default(), &router_context(Rate(10_000_000), 100))
}

/// A packet of `part` with any numbers.
fn header(part: Part) -> DpcpHeader {
    DpcpHeader::order(part, Numbers { seq: 123_456, ack: 987_654 })
}

/// What a packet leaves with; the router must not touch its numbers.
fn through(router: &mut DpcpRouter, flow: u32, part: Part, code: Ecn) -> Ecn {
    let (mut ecn, mut carried) = (code, header(part));
    let packet = Passing { flow, header: Some(&mut carried), ..passing(&mut ecn) };
    router.on_departure(ms(0), packet, Backlog::default());
    assert_eq!(carried, header(part));
    ecn
}

/// Table I; at an edge the next level begins.
#[test]
fn nine_levels() {
    let table = [
        (0.0, Ect1, Ect1),
        (0.199, Ect1, Ect1),
        (0.2, Ect1, Ect0),
        (0.399, Ect1, Ect0),
        (0.4, Ect1, Ce),
        (0.799, Ect1, Ce),
        (0.8, Ect0, Ect1),
        (0.85, Ect0, Ect0),
        (0.95, Ect0, Ce),
        (0.999, Ect0, Ce),
        (1.0, Ce, Ect1),
        (1.049, Ce, Ect1),
        (1.05, Ce, Ect0),
        (1.4, Ce, Ce),
        (2.5, Ce, Ce),
    ];
    for (rho, msp, lsp) in table {
        assert_eq!(level(rho), (msp, lsp), "{rho}");
    }
}

#[test]
fn the_load_is_vcps() {
    let mut router = router();
    assert_eq!(router.level, (Ect1, Ect1));
    for _ in 0..220 {
        let mut ecn = Ect1;
        router.on_arrival(ms(0), passing(&mut ecn), Backlog::default());
    }
    for t in (10..=200).step_by(10) {
        assert_eq!(router.next_timer(), ms(t));
        let bytes = if t == 200 { 8000 } else { 0 };
        router.on_timer(ms(t), Backlog { packets: 0, bytes });
    }
    // q = 0.125*8000 = 1000; (220 000 + 500)/245 000 = 0.9: 10 10.
    assert!(near(router.meter.rho(), 0.9));
    assert_eq!(router.level, (Ect0, Ect0));
    // From 10 to 5 Mb/s the same load is 1.8.
    router.on_capacity(ms(200), Rate(5_000_000));
    for _ in 0..220 {
        let mut ecn = Ect1;
        router.on_arrival(ms(300), passing(&mut ecn), Backlog::default());
    }
    for t in (210..=400).step_by(10) {
        router.on_timer(ms(t), Backlog::default());
    }
    assert_eq!(router.level, (Ce, Ce));
    assert_eq!(DpcpRouter::service(&DpcpRouterParams::default()), Service::AcksFirst);
}

/// Algorithm 2, every branch, the erratum's among them.
#[test]
fn the_msp_decides_about_the_lsp() {
    let mut router = router();
    let mut pair = |own: Level, msp, lsp| {
        router.level = own;
        (through(&mut router, 3, Part::Msp, msp), through(&mut router, 3, Part::Lsp, lsp))
    };
    // Lower before: the own level, though its second half is smaller.
    assert_eq!(pair((Ce, Ect1), Ect0, Ce), (Ce, Ect1));
    // Higher before: left as it is, though the own second half is larger.
    assert_eq!(pair((Ect1, Ce), Ect0, Ect1), (Ect0, Ect1));
    // The same zone: the larger half.
    assert_eq!(pair((Ect0, Ce), Ect0, Ect0), (Ect0, Ce));
    assert_eq!(pair((Ect0, Ect1), Ect0, Ect0), (Ect0, Ect0));
}

#[test]
fn a_router_without_a_flag_leaves_lsps_alone() {
    let mut router = router();
    router.level = (Ce, Ce);
    assert_eq!(through(&mut router, 0, Part::Lsp, Ect1), Ect1);
    assert_eq!(through(&mut router, 0, Part::Msp, Ect1), Ce);
    assert_eq!(through(&mut router, 0, Part::Lsp, Ect1), Ce);
    // Flow 1 has a flag of its own, flow 4096 shares flow 0's.
    assert_eq!(through(&mut router, 1, Part::Lsp, Ect1), Ect1);
    assert_eq!(through(&mut router, 4096, Part::Lsp, Ect1), Ce);
    // Another number of flags, and none is known.
    let params = DpcpRouterParams { flag_slots: 10, ..Default::default() };
    router.retune(&params, &router_context(Rate(10_000_000), 100));
    assert_eq!(through(&mut router, 0, Part::Lsp, Ect1), Ect1);
    through(&mut router, 19, Part::Msp, Ect1);
    assert_eq!(through(&mut router, 9, Part::Lsp, Ect1), Ce);
    assert_eq!(through(&mut router, 29, Part::Lsp, Ect1), Ce);
}

#[test]
fn flags_do_not_disturb_each_other() {
    let mut flags = Flags::new(4096);
    let of = |flow: u32| [Flag::None, Flag::Low, Flag::High, Flag::Equal][flow as usize * 7 % 4];
    (0..4096).for_each(|flow| flags.set(flow, of(flow)));
    (0..4096).for_each(|flow| flags.set(flow, of(flow + 1)));
    assert!((0..4096).all(|flow| flags.get(flow) == of(flow + 1)));
}

/// VCP's packets, ACKs and hosts that know no ECN (D9).
#[test]
fn other_packets_pass_as_at_a_vcp_router() {
    let mut router = router();
    router.level = (Ect0, Ect1);
    let mut depart = |kind, mut ecn| {
        let packet = Passing { kind, header: None, ..passing(&mut ecn) };
        router.on_departure(ms(0), packet, Backlog::default());
        ecn
    };
    assert_eq!(depart(PacketKind::Data, Ect1), Ect0);
    assert_eq!(depart(PacketKind::Data, Ce), Ce);
    assert_eq!(depart(PacketKind::Data, NotCapable), NotCapable);
    assert_eq!(depart(PacketKind::Ack, Ect1), Ect1);
}

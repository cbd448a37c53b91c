use units::{Rate, Time};

use super::*;
use crate::params::Params;
use crate::roles::{Backlog, Ecn, Limit, PacketKind, Passing, Router};
use crate::tests::{departing, ms, near, router_context, sender_context};

fn queued(bytes: u64) -> Backlog {
    Backlog { packets: u32::try_from(bytes / 1000).unwrap(), bytes }
}

fn context() -> RouterContext {
    RouterContext { limit: Limit::Bytes(100_000), ..router_context(Rate(10_000_000), 0) }
}

/// A router at 10 Mb/s: C = 1.25e6 bytes/s.
fn router(params: &XcpRouterParams) -> XcpRouter {
    XcpRouter::new(params, &context())
}

fn demand(cwnd: f64, rtt: f64) -> XcpHeader {
    XcpHeader { cwnd, rtt, feedback: f64::INFINITY }
}

fn passing<'a>(header: Option<&'a mut XcpHeader>, ecn: &'a mut Ecn) -> Passing<'a, XcpHeader> {
    let kind = PacketKind::Data;
    Passing { flow: 0, size: 1000, kind, queued_for: Span::ZERO, ecn, header }
}

fn arrive(router: &mut XcpRouter, mut header: XcpHeader, queue: u64) {
    let mut ecn = Ecn::NotCapable;
    router.on_arrival(ms(1), passing(Some(&mut header), &mut ecn), queued(queue));
}

fn depart(router: &mut XcpRouter, mut header: XcpHeader) -> f64 {
    let mut ecn = Ecn::NotCapable;
    router.on_departure(ms(60), passing(Some(&mut header), &mut ecn), queued(0));
    header.feedback
}

/// Ten packets in the first 50 ms, each of cwnd 5000 B and rtt 100 ms, the queue never below
/// 2000 B.
fn underloaded() -> XcpRouter {
    let mut router = router(&XcpRouterParams::default());
    for i in 0..10 {
        arrive(&mut router, demand(5000.0, 0.1), if i == 4 { 2000 } else { 3000 });
    }
    router.on_timer(ms(50), queued(0));
    router
}

/// Eighty packets in the first 50 ms, each of cwnd 20 000 B and rtt 50 ms, queue 4000 B.
fn overloaded() -> XcpRouter {
    let mut router = router(&XcpRouterParams::default());
    for _ in 0..80 {
        arrive(&mut router, demand(20_000.0, 0.05), 4000);
    }
    router.on_timer(ms(50), queued(0));
    router
}

#[test]
fn spare_bandwidth_is_all_handed_out() {
    let mut router = underloaded();
    // y = 10 000 B / 50 ms = 200 000 B/s. sum rtt/cwnd = 10*0.1*1000/5000 = 0.2, sum rtt^2/cwnd
    // = 0.02, d = 0.1. phi = 0.4*0.1*(1 250 000 - 200 000) - 0.226*2000 = 42 000 - 452.
    assert!(near(router.meter.avg_rtt, 0.1) && near(router.meter.y, 200_000.0));
    assert!(near(router.law.phi, 41_548.0));
    // gamma*y*d = 2000 is below phi: nothing is shuffled.
    assert_eq!(
        (router.law.h, router.law.shares.xi_n, router.law.shares.residue_neg),
        (0.0, 0.0, 0.0)
    );
    // xi_p = 41 548/(0.1*0.2); residue_pos = 41 548/0.1.
    assert!(
        near(router.law.shares.xi_p, 2_077_400.0) && near(router.law.shares.residue_pos, 415_480.0)
    );
    assert_eq!(router.meter.interval_end, ms(150));
    // Each of ten identical packets of the next interval gets a tenth.
    for _ in 0..9 {
        assert!(near(depart(&mut router, demand(5000.0, 0.1)), 4154.8));
    }
    assert!(near(router.law.shares.residue_pos, 41_548.0));
}

#[test]
fn overload_is_taken_back_and_shuffled() {
    let mut router = overloaded();
    // y = 80 000/0.05 = 1.6e6. sums 80*0.05*1000/20 000 = 0.2 and 0.01, d = 0.05.
    // phi = 0.4*0.05*(-350 000) - 0.226*4000 = -7000 - 904. h = 0.1*1.6e6*0.05 - 7904 = 96.
    assert!(near(router.law.phi, -7904.0) && near(router.law.h, 96.0));
    // xi_p = 96/(0.05*0.2), xi_n = 8000/(0.05*80 000); residues 96/0.05 and 8000/0.05.
    assert!(near(router.law.shares.xi_p, 9600.0) && near(router.law.shares.xi_n, 2.0));
    assert!(
        near(router.law.shares.residue_pos, 1920.0)
            && near(router.law.shares.residue_neg, 160_000.0)
    );
    // pos = 9600*0.05^2*1000/20 000 = 1.2, neg = 2*0.05*1000 = 100; 80 times -98.8 is phi.
    let handed: f64 = (0..80).map(|_| depart(&mut router, demand(20_000.0, 0.05))).sum();
    assert!((handed + 7904.0).abs() < 99.0, "{handed}");
    assert!(near(handed / 80.0, -98.8));
}

#[test]
fn feedback_sums_to_phi_over_d_among_unequal_flows() {
    // 20 packets of (cwnd 10 000 B, rtt 40 ms) and 40 of (40 000 B, 160 ms) in 50 ms.
    let flows = [(20, 10_000.0, 0.04), (40, 40_000.0, 0.16)];
    let mut router = router(&XcpRouterParams::default());
    for (n, cwnd, rtt) in flows {
        (0..n).for_each(|_| arrive(&mut router, demand(cwnd, rtt), 0));
    }
    router.on_timer(ms(50), queued(0));
    // rtt*s/cwnd is 0.004 for both: sums 0.24 and 0.0032 + 0.0256 = 0.0288, d = 0.12.
    // y = 1.2e6, phi = 0.4*0.12*50 000 = 2400, h = 0.1*1.2e6*0.12 - 2400 = 12 000.
    assert!(
        near(router.meter.avg_rtt, 0.12)
            && near(router.law.phi, 2400.0)
            && near(router.law.h, 12_000.0)
    );
    let mut rate = 0.0;
    for (n, cwnd, rtt) in flows {
        (0..n - 1).for_each(|_| rate += depart(&mut router, demand(cwnd, rtt)) / rtt);
    }
    // pos/rtt = 14 400/(0.12*0.24)*0.004 = 2000, neg/rtt = 12 000/(0.12*60 000)*1000 = 5000/3:
    // 58 of 60 packets carry 58*1000/3 B/s of phi/d = 20 000 B/s.
    assert!(near(rate, 58_000.0 / 3.0));
}

#[test]
fn smaller_feedback_from_before_stays_and_is_charged() {
    // f = 4154.8 at rtt 0.1, residues 415 480 and 0.
    let mut r = underloaded();
    let kept = depart(&mut r, XcpHeader { feedback: 1000.0, ..demand(5000.0, 0.1) });
    assert_eq!(kept, 1000.0);
    assert!(
        near(r.law.shares.residue_pos, 415_480.0 - 10_000.0)
            && near(r.law.shares.residue_neg, -31_548.0)
    );
    // Negative while this router would give: residue_neg pays both.
    let mut r = underloaded();
    assert_eq!(depart(&mut r, XcpHeader { feedback: -100.0, ..demand(5000.0, 0.1) }), -100.0);
    assert!(
        near(r.law.shares.residue_pos, 415_480.0)
            && near(r.law.shares.residue_neg, -1000.0 - 41_548.0)
    );
    // Negative while this router would take 98.8: residue_neg pays what is held, 200/0.05.
    let mut r = overloaded();
    assert_eq!(depart(&mut r, XcpHeader { feedback: -200.0, ..demand(20_000.0, 0.05) }), -200.0);
    assert!(near(r.law.shares.residue_pos, 1920.0) && near(r.law.shares.residue_neg, 156_000.0));
}

#[test]
fn the_capacity_of_the_intervals_end_counts() {
    let mut router = router(&XcpRouterParams::default());
    for _ in 0..10 {
        arrive(&mut router, demand(5000.0, 0.1), 2000);
    }
    // C becomes 2.5e6 bytes/s: phi = 0.4*0.1*(2 500 000 - 200 000) - 0.226*2000.
    router.on_capacity(ms(20), Rate(20_000_000));
    let timer = router.next_timer();
    router.on_timer(ms(50), queued(0));
    assert!(near(router.law.phi, 91_548.0), "{}", router.law.phi);
    assert_eq!(timer, ms(50));
}

#[test]
fn a_spent_residue_ends_its_feedback() {
    let mut router = overloaded();
    // Each packet costs 24 of residue_pos = 1920 and 2000 of residue_neg = 160 000.
    for _ in 0..82 {
        depart(&mut router, demand(20_000.0, 0.05));
    }
    assert_eq!((router.law.shares.xi_p, router.law.shares.xi_n), (0.0, 0.0));
    assert_eq!(depart(&mut router, demand(20_000.0, 0.05)), 0.0);
}

/// A flow of a tiny window that was not there in the last interval asks for more than there is.
#[test]
fn no_packet_gets_more_than_is_left() {
    // xi_p = 2 077 400, rtt*s/cwnd = 0.1*1000/100 = 1: 2 077 400 of residue_pos = 415 480.
    let mut limited = underloaded();
    let feedback = depart(&mut limited, demand(100.0, 0.1));
    assert!(near(feedback, 41_548.0), "rtt times what is left: {feedback}");
    assert_eq!((limited.law.shares.residue_pos, limited.law.shares.xi_p), (0.0, 0.0));
    let mut printed = underloaded();
    printed.params.overdraw = true;
    assert!(near(depart(&mut printed, demand(100.0, 0.1)), 207_740.0));
    assert_eq!(printed.law.shares.xi_p, 0.0);
}

#[test]
fn a_packet_without_an_rtt_counts_as_traffic_only() {
    let mut router = router(&XcpRouterParams::default());
    arrive(&mut router, demand(1000.0, 0.0), 0);
    arrive(&mut router, XcpHeader { cwnd: 0.0, ..demand(0.0, 0.1) }, 0);
    let mut ecn = Ecn::NotCapable;
    router.on_arrival(ms(2), passing(None, &mut ecn), queued(0));
    router.on_timer(ms(50), queued(0));
    // d stays 50 ms: phi = 0.4*0.05*(1 250 000 - 60 000).
    assert!(
        near(router.meter.y, 60_000.0)
            && near(router.law.phi, 23_800.0)
            && near(router.meter.avg_rtt, 0.05)
    );
    assert_eq!(router.law.shares.xi_p, 0.0);
    let before = (router.law.shares.residue_pos, router.law.shares.residue_neg);
    assert_eq!(depart(&mut router, demand(1000.0, 0.0)), 0.0);
    assert_eq!(depart(&mut router, XcpHeader { feedback: -5.0, ..demand(1000.0, 0.0) }), -5.0);
    assert_eq!(before, (router.law.shares.residue_pos, router.law.shares.residue_neg));
}

#[test]
fn the_persistent_queue_is_the_minimum_of_the_last_finished_window() {
    let mut router = underloaded();
    // avg_rtt was 50 ms when the window ended, nothing waited: the next one ends at 100 ms.
    assert_eq!((router.meter.persistent_queue, router.meter.window_end), (2000.0, ms(100)));
    for queue in [9000, 7000, 8000] {
        arrive(&mut router, demand(5000.0, 0.1), queue);
    }
    // 100 ms less 37 500 B / 1.25e6 B/s = 30 ms of queueing.
    router.on_timer(ms(100), queued(37_500));
    assert_eq!((router.meter.persistent_queue, router.meter.window_end), (7000.0, ms(170)));
    // Nothing arrived; 250 000 B are 200 ms, more than avg_rtt: the shortest window.
    router.on_timer(ms(170), queued(250_000));
    assert_eq!((router.meter.persistent_queue, router.meter.window_end), (0.0, ms(172)));
    // As the authors' code has it: half of 100 ms less 30 ms.
    let mut half = underloaded();
    half.params.queue_window = 0.5;
    half.on_timer(ms(100), queued(37_500));
    assert_eq!(half.meter.window_end, ms(135));
}

#[test]
fn rtts_above_the_bound_count_as_it_in_the_mean() {
    let mut params = XcpRouterParams::default();
    params.set("max_rtt", crate::params::Value::Span(Span::from_millis(100))).unwrap();
    let mut told = router(&XcpRouterParams::default());
    told.retune(&params, &context());
    for mut router in [router(&params), told] {
        // As `feedback_sums_to_phi_over_d_among_unequal_flows`, but of 160 ms 100 count.
        (0..20).for_each(|_| arrive(&mut router, demand(10_000.0, 0.04), 0));
        (0..40).for_each(|_| arrive(&mut router, demand(40_000.0, 0.16), 0));
        router.on_timer(ms(50), queued(0));
        // Sums 0.24 and 0.0032 + 40*0.004*0.1 = 0.0192, d = 0.08. phi = 0.4*0.08*50 000 = 1600,
        // h = 0.1*1.2e6*0.08 - 1600 = 8000.
        assert!(near(router.meter.avg_rtt, 0.08));
        assert!(near(router.law.phi, 1600.0) && near(router.law.h, 8000.0));
        assert_eq!(router.meter.interval_end, ms(130));
        // xi_p = 9600/(0.08*0.24) = 500 000, xi_n = 8000/(0.08*60 000) = 5/3. Feedback is over the
        // RTT of the header all the same: 0.16*(500 000*0.004 - 1000*5/3).
        assert!(near(depart(&mut router, demand(40_000.0, 0.16)), 160.0 / 3.0));
    }
}

#[test]
fn scaled_xi_hands_out_sooner_and_no_more() {
    let mut params = XcpRouterParams::default();
    params.set("xi_scale", crate::params::Value::Number(1.1)).unwrap();
    let mut router = router(&params);
    for _ in 0..80 {
        arrive(&mut router, demand(20_000.0, 0.05), 4000);
    }
    router.on_timer(ms(50), queued(0));
    // As `overloaded`, 9600 and 2 by 1.1; what there is to hand out stays.
    assert!(near(router.law.shares.xi_p, 10_560.0) && near(router.law.shares.xi_n, 2.2));
    let (pos, neg) = (router.law.shares.residue_pos, router.law.shares.residue_neg);
    assert!(near(pos, 1920.0) && near(neg, 160_000.0));
}

#[test]
fn the_interval_has_a_lower_bound_and_a_target_queue_shifts_phi() {
    let mut params = XcpRouterParams::default();
    params.set("target_queue", crate::params::Value::Number(1000.0)).unwrap();
    let mut router = router(&params);
    arrive(&mut router, demand(1000.0, 0.0005), 3000);
    router.on_timer(ms(50), queued(0));
    // d = 0.5 ms: phi = 0.4*0.0005*(1 250 000 - 20 000) - 0.226*(3000 - 1000) = 246 - 452.
    assert!(near(router.law.phi, -206.0));
    assert_eq!(router.meter.interval_end, ms(51));
}

fn sender(params: &XcpSenderParams) -> XcpSender {
    XcpSender::new(params, &sender_context(1.0))
}

fn send(sender: &mut XcpSender, srtt: Option<Span>) -> XcpHeader {
    sender.on_send(&Departing { srtt, ..departing() })
}

fn ack(sender: &mut XcpSender, feedback: f64) {
    sender.on_ack(&Ack {
        now: ms(100),
        delivered: 1,
        acked: 1,
        lost: 0,
        rtt: None,
        srtt: None,
        min_rtt: None,
        in_flight: 0,
        recovering: false,
        header: XcpHeader { feedback, ..XcpHeader::default() },
        code: Ecn::NotCapable,
        ece: false,
        marks: 0,
    });
}

#[test]
fn the_window_moves_by_the_feedback_and_stays_at_one_packet() {
    let mut sender = sender(&XcpSenderParams::default());
    assert_eq!(send(&mut sender, None), demand(1000.0, 0.0));
    ack(&mut sender, f64::INFINITY);
    assert_eq!(sender.cwnd(), 1.0);
    ack(&mut sender, 6500.0);
    assert_eq!(sender.cwnd(), 7.5);
    assert_eq!(send(&mut sender, Some(Span::from_millis(80))), demand(7500.0, 0.08));
    let loss = |kind| Loss { now: ms(1), kind, in_flight: 7, lost: 1, repeated: false };
    sender.on_loss(&loss(LossKind::DupAcks));
    assert_eq!(sender.cwnd(), 3.75);
    sender.on_loss(&loss(LossKind::Timeout));
    assert_eq!(sender.cwnd(), 1.0);
    ack(&mut sender, 4000.0);
    ack(&mut sender, -9000.0);
    assert_eq!(sender.cwnd(), 1.0);
}

#[test]
fn a_loss_between_two_increases_cuts_nothing() {
    let params = XcpSenderParams { losses: Losses::Explicit, ..Default::default() };
    let loss = |kind| Loss { now: ms(1), kind, in_flight: 7, lost: 1, repeated: false };
    // Feedback before and after a loss, and the window of 8 packets that it leaves: 1 + 7 = 8,
    // then 8 or 4, then what the feedback after it says.
    for (before, after, cwnd) in
        [(7000.0, 500.0, 8.5), (7000.0, -500.0, 3.5), (7000.0, 0.0, 4.0), (-1.0, 500.0, 4.5)]
    {
        let mut sender = sender(&params);
        ack(&mut sender, 7000.0 - before);
        ack(&mut sender, before);
        assert_eq!(sender.cwnd(), 8.0);
        sender.on_loss(&loss(LossKind::DupAcks));
        ack(&mut sender, f64::INFINITY);
        ack(&mut sender, after);
        assert_eq!(sender.cwnd(), cwnd, "{before} {after}");
        ack(&mut sender, -500.0);
        assert_eq!(sender.cwnd(), cwnd - 0.5);
    }
    // The timer leaves one packet, and no verdict is awaited any longer.
    let mut sender = sender(&params);
    ack(&mut sender, 7000.0);
    sender.on_loss(&loss(LossKind::DupAcks));
    sender.on_loss(&loss(LossKind::Timeout));
    ack(&mut sender, 3000.0);
    ack(&mut sender, -1000.0);
    assert_eq!(sender.cwnd(), 3.0);
}

#[test]
fn a_router_may_believe_in_another_capacity() {
    let params = XcpRouterParams { capacity_error: -0.1, ..XcpRouterParams::default() };
    let mut router = router(&params);
    for _ in 0..10 {
        arrive(&mut router, demand(5000.0, 0.1), 2000);
    }
    router.on_timer(ms(50), queued(0));
    // C = 0.9*1.25e6: phi = 0.4*0.1*(1 125 000 - 200 000) - 0.226*2000.
    assert!(near(router.law.phi, 36_548.0));
    router.on_capacity(ms(60), Rate(20_000_000));
    assert!(near(router.meter.capacity, 2.25e6));
}

#[test]
fn without_shuffling_nothing_is_taken_from_a_full_link() {
    // gamma = 0 (section 3.5.2): underloaded() as before, and where phi < 0 only phi is taken.
    let params = XcpRouterParams { gamma: 0.0, ..XcpRouterParams::default() };
    let mut router = router(&params);
    for _ in 0..80 {
        arrive(&mut router, demand(20_000.0, 0.05), 4000);
    }
    router.on_timer(ms(50), queued(0));
    // overloaded()'s phi = -7904: xi_n = 7904/(0.05*80 000).
    assert_eq!((router.law.h, router.law.shares.xi_p), (0.0, 0.0));
    assert!(near(router.law.shares.xi_n, 1.976));
}

#[test]
fn the_demand_is_the_missing_window_over_its_packets() {
    // r = 8 Mb/s = 1e6 B/s at srtt 100 ms needs 100 000 B; cwnd 20 000 B is 20 packets:
    // (100 000 - 20 000)/20.
    let mut sender = sender(&XcpSenderParams { rate: 8e6, ..XcpSenderParams::default() });
    ack(&mut sender, 19_000.0);
    assert_eq!(send(&mut sender, Some(Span::from_millis(100))).feedback, 4000.0);
    assert_eq!(send(&mut sender, None).feedback, f64::INFINITY);
}

#[test]
fn price_and_rounding_shape_the_header_only() {
    let params =
        XcpSenderParams { header_cwnd: HeaderCwnd::Floor, price: 2.0, ..Default::default() };
    let mut sender = sender(&params);
    ack(&mut sender, 6500.0);
    // floor(7.5) packets of 1000 B, over the price 2.
    assert_eq!(send(&mut sender, None).cwnd, 3500.0);
    assert_eq!(sender.cwnd(), 7.5);
}

#[test]
fn an_ack_of_several_packets_takes_back_their_sum() {
    let arrived = |feedback, pending| {
        let header = XcpHeader { feedback, ..XcpHeader::default() };
        Arrived {
            now: Time::ZERO,
            seq: 0,
            expected: 1,
            size: 1000,
            header,
            ecn: Ecn::NotCapable,
            pending,
        }
    };
    let first = XcpReceiver::default().on_data(&arrived(30.0, None));
    assert_eq!(first.header.feedback, 30.0);
    let both = XcpReceiver::default().on_data(&arrived(-12.0, Some(first)));
    assert_eq!(both.header.feedback, 18.0);
}

#[test]
fn the_wire_form_is_rtt_cwnd_feedback() {
    let header = XcpHeader { cwnd: 258.0, rtt: 0.000_003, feedback: -1.0 };
    let mut wire = [0; 16];
    header.encode(&mut wire);
    assert_eq!(wire, [0, 0, 0, 3, 0, 0, 1, 2, 255, 255, 255, 255, 255, 255, 0, 0]);
    assert_eq!(XcpHeader::decode(&wire), Some(header));
    assert_eq!(XcpHeader::decode(&wire[..15]), None);
    // An offer that one router has passed.
    let offer = XcpHeader { cwnd: 0.0, rtt: 0.000_001, feedback: 0.0 };
    let bytes = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(XcpHeader::decode(&bytes), Some(offer));
    // Units of 2^-16 bytes, the nearest: three quarters of one are one.
    let header = XcpHeader { feedback: 0.75 / 65536.0, ..header };
    header.encode(&mut wire);
    assert_eq!(wire[8..], [0, 0, 0, 0, 0, 0, 0, 1]);
    demand(1500.0, 0.0).encode(&mut wire);
    assert_eq!(XcpHeader::decode(&wire), Some(demand(1500.0, 0.0)));
}

/// The largest feedback of the wire form is that of no router (D2): the window stays.
#[test]
fn the_largest_feedback_of_the_wire_says_nothing() {
    let mut wire = [0; 16];
    wire[8..].copy_from_slice(&i64::MAX.to_be_bytes());
    let header = XcpHeader::decode(&wire).unwrap();
    let mut sender = XcpSender::new(&XcpSenderParams::default(), &sender_context(10.0));
    sender.on_ack(&Ack { header, ..crate::tests::ack(1) });
    assert_eq!(sender.cwnd(), 10.0);
    let back = XcpHeader { feedback: LARGEST_FEEDBACK, ..header };
    sender.on_ack(&Ack { header: back, ..crate::tests::ack(1) });
    assert_eq!(sender.cwnd(), 10.0);
}

/// Feedback is rounded to the nearest unit: 0.6 of one is 1, 0.4 is 0, -0.6 is -1.
#[test]
fn feedback_is_rounded_to_its_unit() {
    let written = |units: f64| {
        let mut wire = [0; 16];
        let feedback = units / FEEDBACK_UNITS;
        XcpHeader { cwnd: 0.0, rtt: 0.0, feedback }.encode(&mut wire);
        i64::from_be_bytes(wire[8..].try_into().unwrap())
    };
    assert_eq!([0.6, 0.4, -0.6].map(written), [1, 0, -1]);
}

/// A parameter, of which ns-3's and the draft's routers know nothing.
#[test]
fn acks_go_first_where_the_parameter_says_so() {
    let of = |acks_first| {
        XcpRouter::acks_first(&XcpRouterParams { acks_first, ..XcpRouterParams::default() })
    };
    assert!(of(true) && !of(false));
}

use super::*;
use crate::params::{Params, Value};
use crate::roles::LossKind;
use crate::tests::{loss, ms, near, passing, router_context, sender_context, timed};

/// A router at 10 Mb/s: gamma*C*t_rho = 0.98*1.25e6*0.2 = 245 000 bytes.
fn router() -> VcpRouter {
    let context = router_context(Rate(10_000_000), 100);
    VcpRouter::new(&VcpRouterParams::default(), &context)
}

/// `router` after a period from `start` with so many arrivals and that queue at its very end.
fn after(router: &mut VcpRouter, start: u64, arrivals: u32, queue: u64) {
    for _ in 0..arrivals {
        let mut ecn = Ecn::Ect1;
        router.on_arrival(ms(start), passing(&mut ecn), Backlog::default());
    }
    for t in (start + 10..=start + 200).step_by(10) {
        assert_eq!(router.next_timer(), ms(t));
        let bytes = if t == start + 200 { queue } else { 0 };
        router.on_timer(ms(t), Backlog { packets: 0, bytes });
    }
}

#[test]
fn the_load_factor_has_three_codes() {
    let mut router = router();
    assert_eq!(router.code, Ecn::Ect1);
    // 195 and 197 kB of 245 kB: 0.796 and 0.804; 244 and 246: 0.996 and 1.004.
    let codes = [(195, Ecn::Ect1), (197, Ecn::Ect0), (244, Ecn::Ect0), (246, Ecn::Ce)];
    for (i, (arrivals, code)) in (0..).zip(codes) {
        after(&mut router, 200 * i, arrivals, 0);
        assert!(near(router.meter.rho(), f64::from(arrivals) / 245.0));
        assert_eq!(router.code, code);
    }
}

/// Overload begins at the capacity: with gamma = 1, 250 kB in 200 ms of 10 Mb/s.
#[test]
fn a_load_of_one_is_overload() {
    let params = VcpRouterParams { gamma: 1.0, ..Default::default() };
    let mut router = VcpRouter::new(&params, &router_context(Rate(10_000_000), 100));
    after(&mut router, 0, 250, 0);
    assert_eq!((router.meter.rho(), router.code), (1.0, Ecn::Ce));
}

#[test]
fn the_load_is_over_the_capacity_of_the_periods_end() {
    let mut router = router();
    // Half of 10 Mb/s halves what fills the period: 196 000 bytes of 122 500.
    router.on_capacity(ms(0), Rate(5_000_000));
    after(&mut router, 0, 196, 0);
    assert!(near(router.meter.rho(), 1.6) && router.code == Ecn::Ce);
}

#[test]
fn who_is_not_capable_is_load_and_nothing_else() {
    let mut router = router();
    for _ in 0..250 {
        let mut ecn = Ecn::NotCapable;
        let arriving = passing(&mut ecn);
        assert_eq!(router.on_arrival(ms(0), arriving, Backlog::default()), Verdict::Forward);
    }
    after(&mut router, 0, 0, 0);
    // 250 of 245 kB: overload, which the others are told.
    assert!(near(router.meter.rho(), 250.0 / 245.0) && router.code == Ecn::Ce);
    let mut ecn = Ecn::NotCapable;
    router.on_departure(ms(200), passing(&mut ecn), Backlog::default());
    assert_eq!(ecn, Ecn::NotCapable);
}

#[test]
fn a_tcp_sender_sees_overload_only() {
    // TCP with ECN sends 10: low and high load leave it, overload makes 11 of it (RFC 3168's CE).
    let mut router = router();
    for (i, (arrivals, seen)) in (0..).zip([(100, 2), (220, 2), (300, 3)]) {
        after(&mut router, 200 * i, arrivals, 0);
        let mut ecn = Ecn::Ect0;
        let now = ms(200 * (i + 1));
        router.on_departure(now, passing(&mut ecn), Backlog::default());
        assert_eq!(ecn as u8, seen);
    }
}

#[test]
fn gamma_moves_by_its_step_towards_the_target_utilization() {
    let mut params = VcpRouterParams::default();
    assert_eq!(params.set("adapt_gamma", Value::Flag(true)), Ok(()));
    let context = router_context(Rate(10_000_000), 100);
    let mut router = VcpRouter::new(&params, &context);
    // 230 of the 250 kB that the line can carry in a period: u = 0.92 < 0.95 after ten of them.
    for i in 0..10 {
        assert_eq!(router.meter.gamma(), 0.98);
        after(&mut router, 200 * i, 230, 0);
    }
    assert!(near(router.meter.gamma(), 0.99));
    // 240 kB: 0.96. The tenth period from now moves it back.
    (10..20).for_each(|i| after(&mut router, 200 * i, 240, 0));
    assert!(near(router.meter.gamma(), 0.98));
    // Never above 0.999.
    (20..60).for_each(|i| after(&mut router, 200 * i, 0, 0));
    assert_eq!(router.meter.gamma(), 0.999);
}

#[test]
fn half_the_average_queue_counts_as_load() {
    let mut router = router();
    // One sample of 8000 B after none: q = 0.125*8000 = 1000; rho = (244 000 + 500)/245 000.
    after(&mut router, 0, 244, 8000);
    assert!(near(router.meter.q(), 1000.0) && near(router.meter.rho(), 244.5 / 245.0));
    // The next sample: 0.875*1000 + 0.125*16 000.
    router.on_timer(ms(210), Backlog { packets: 0, bytes: 16_000 });
    assert!(near(router.meter.q(), 2875.0));
}

#[test]
fn a_router_raises_the_code_of_data_only() {
    let mut router = router();
    after(&mut router, 0, 220, 0);
    assert_eq!(router.code, Ecn::Ect0);
    let mut depart = |kind, mut ecn| {
        let packet = Passing { kind, ..passing(&mut ecn) };
        router.on_departure(ms(200), packet, Backlog::default());
        ecn
    };
    assert_eq!(depart(PacketKind::Data, Ecn::Ect1), Ecn::Ect0);
    assert_eq!(depart(PacketKind::Data, Ecn::Ce), Ecn::Ce);
    assert_eq!(depart(PacketKind::Data, Ecn::NotCapable), Ecn::NotCapable);
    assert_eq!(depart(PacketKind::Ack, Ecn::Ect1), Ecn::Ect1);
    assert!(VcpRouter::acks_first(&VcpRouterParams::default()));
}

fn sender(params: &VcpSenderParams, cwnd: f64) -> VcpSender {
    VcpSender::new(params, &sender_context(cwnd))
}

/// What an ACK with this code adds to the window; the smallest RTT is 40 ms.
fn ack(sender: &mut VcpSender, at: u64, srtt: u64, code: Ecn) -> f64 {
    let before = sender.cwnd;
    sender.on_ack(&Ack { code, ..timed(at, srtt, 40) });
    sender.cwnd - before
}

#[test]
fn low_load_increases_multiplicatively_up_to_the_limit() {
    let mut s = sender(&VcpSenderParams::default(), 8.0);
    // xi = 0.25*0.2/0.8 = 0.0625 at srtt = t_rho.
    assert!(near(s.ln_mi, 0.060_624_621_8));
    assert!(near(ack(&mut s, 0, 200, Ecn::Ect1), 0.0625));
    // 1.0625^0.4 - 1 = exp(0.024 249 848 7) - 1.
    assert!(near(ack(&mut s, 0, 80, Ecn::Ect1), 0.024_546_267_5));
    // 800 ms are 4 periods and count as 2.5: exp(0.151 561 554 5) - 1.
    assert!(near(ack(&mut s, 0, 800, Ecn::Ect1), 0.163_649_927_5));
    // The series: 1.0625^2 - 1 = 0.128 906 25.
    let xi_s = ack(&mut s, 0, 400, Ecn::Ect1);
    assert!((xi_s / 0.128_906_25 - 1.0).abs() < 4e-9);
    // Without limiter 1.0625^4 - 1.
    let mut s = sender(&VcpSenderParams { limiters: false, ..Default::default() }, 8.0);
    assert!(near(ack(&mut s, 0, 800, Ecn::Ect1), 0.274_429_321_3));
}

#[test]
fn high_load_increases_additively_in_three_pieces() {
    let step =
        |params: &VcpSenderParams, srtt| 4.0 * ack(&mut sender(params, 4.0), 0, srtt, Ecn::Ect0);
    // t_d = 200 ms: x = 0.4 and g = 0.16; L = 0.1, R = 2.5.
    let normal = VcpSenderParams::default();
    assert!(near(step(&normal, 80), 0.16));
    // x = 0.05 below L: 0.05*0.1. x = 5 above R: 2.5 + 6.25.
    assert!(near(step(&normal, 10), 0.005));
    assert!(near(step(&normal, 1000), 8.75));
    // t_d = 100 ms: x = 0.8; L = 0.2, R = 5: x = 10 gives 5 + 25.
    let short = VcpSenderParams { t_d: Span::from_millis(100), ..Default::default() };
    assert!(near(step(&short, 80), 0.64) && near(step(&short, 1000), 30.0));
    // Weight 3 on min_rtt = 40 ms: 3*0.2^2. No limiter: 5^2.
    let scaled_by = |scale_rtt| ScalingParams { scale_rtt, ..Default::default() };
    let scaling = scaled_by(ScaleRtt::MinRtt);
    let heavy = VcpSenderParams { weight: 3.0, scaling, ..Default::default() };
    assert!(near(step(&heavy, 80), 0.12));
    let scaling = scaled_by(ScaleRtt::BaseRtt);
    assert!(near(step(&VcpSenderParams { scaling, ..Default::default() }, 500), 0.16));
    let free = VcpSenderParams { limiters: false, ..Default::default() };
    assert!(near(step(&free, 1000), 25.0));
}

#[test]
fn equal_windows_and_tcp_like_increase_are_other_scalings() {
    let step = |ai_scaling, srtt| {
        let scaling = ScalingParams { ai_scaling, ..Default::default() };
        let params = VcpSenderParams { scaling, weight: 2.0, ..Default::default() };
        4.0 * ack(&mut sender(&params, 4.0), 0, srtt, Ecn::Ect0)
    };
    // Eq. (7): 2*80/200; without limiter at 10 ms: 2*0.05. Per RTT: 2.
    assert!(near(step(AiScaling::Window, 80), 0.8) && near(step(AiScaling::Window, 10), 0.1));
    assert!(near(step(AiScaling::None, 80), 2.0) && near(step(AiScaling::None, 1000), 2.0));
}

#[test]
fn overload_cuts_once_then_freezes_then_increases_additively_for_one_srtt() {
    let mut s = sender(&VcpSenderParams::default(), 16.0);
    assert_eq!(ack(&mut s, 1000, 80, Ecn::Ce), -2.0);
    for (at, code) in [(1001, Ecn::Ce), (1100, Ecn::Ect1), (1199, Ecn::Ect0)] {
        assert_eq!(ack(&mut s, at, 80, code), 0.0);
    }
    // A loss cut leaves the freeze as it is.
    s.on_loss(&loss(LossKind::DupAcks, 14));
    assert_eq!(s.cwnd(), 7.0);
    assert_eq!(ack(&mut s, 1199, 80, Ecn::Ect1), 0.0);
    // 1200 to 1280 ms: 0.16/cwnd whatever comes.
    for (at, code) in [(1200, Ecn::Ce), (1240, Ecn::Ect1), (1279, Ecn::NotCapable)] {
        let cwnd = s.cwnd();
        assert!(near(ack(&mut s, at, 80, code), 0.16 / cwnd));
    }
    let cwnd = s.cwnd();
    assert!(near(ack(&mut s, 1280, 80, Ecn::Ce), -cwnd / 8.0));
    s.on_loss(&loss(LossKind::Timeout, 14));
    assert_eq!(s.cwnd(), 1.0);
    assert_eq!(ack(&mut s, 3000, 80, Ecn::Ce), 0.0);
}

#[test]
fn few_packets_in_a_large_rtt_are_spaced() {
    let pace = |cwnd, srtt| {
        let mut s = sender(&VcpSenderParams::default(), cwnd);
        ack(&mut s, 0, srtt, Ecn::NotCapable);
        s.pacing()
    };
    // 300 ms in 2 gaps of 150 ms: 8000 b/0.15 s; in 4 of 75 ms, below 100 ms: none.
    assert_eq!(pace(2.9, 300), Some(Rate(53_333)));
    assert_eq!(pace(3.0, 300), None);
    // 1 s in 8 gaps of 125 ms.
    assert_eq!(pace(5.0, 1000), Some(Rate(64_000)));
    assert_eq!(pace(1.9, 1000), None);
    assert_eq!(pace(2.0, 200), None);
    // 64 packets in 64 gaps of 156.25 ms; 65 are too many.
    assert_eq!(pace(64.0, 10_000), Some(Rate(51_200)));
    assert_eq!(pace(65.0, 20_000), None);
}

#[test]
fn pacing_spaces_every_window() {
    let pace = |pacing, cwnd, srtt| {
        let spacing = SpacingParams { pacing, ..Default::default() };
        let params = VcpSenderParams { spacing, ..Default::default() };
        let mut s = sender(&params, cwnd);
        assert_eq!(s.pacing(), None); // no RTT is known
        ack(&mut s, 0, srtt, Ecn::NotCapable);
        s.pacing().map(|rate| rate.0)
    };
    // 1.5*100 packets of 8000 b in 80 ms; 2 in 300 ms, where pace_large_rtt alone has one in 150
    // ms.
    assert_eq!(pace(1.5, 100.0, 80), Some(15_000_000));
    assert_eq!(pace(1.5, 2.0, 300), Some(80_000));
    assert_eq!(pace(0.0, 100.0, 80), None);
}

#[test]
fn an_ack_of_several_packets_takes_back_the_highest_code() {
    let arrived = |ecn, pending| Arrived {
        now: Time::ZERO,
        seq: 0,
        expected: 1,
        size: 1000,
        header: (),
        ecn,
        pending,
    };
    let first = VcpReceiver.on_data(&arrived(Ecn::Ce, None));
    assert_eq!(first.code, Ecn::Ce);
    assert_eq!(VcpReceiver.on_data(&arrived(Ecn::Ect1, Some(first))).code, Ecn::Ce);
}

/// A gamma that has moved is kept as long as it may move; where it no longer may, the
/// parameter's holds.
#[test]
fn gamma_is_kept_while_it_adapts() {
    let mut params = VcpRouterParams::default();
    assert_eq!(params.set("adapt_gamma", Value::Flag(true)), Ok(()));
    let context = router_context(Rate(10_000_000), 100);
    let mut router = VcpRouter::new(&params, &context);
    router.meter.set_gamma(0.9);
    router.retune(&params, &context);
    assert_eq!(router.meter.gamma(), 0.9);
    router.retune(&VcpRouterParams::default(), &context);
    assert_eq!(router.meter.gamma(), 0.98);
    router.meter.set_gamma(0.9);
    router.retune(&params, &context);
    assert_eq!(router.meter.gamma(), 0.98);
}

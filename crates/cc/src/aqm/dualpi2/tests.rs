use super::*;
use crate::params::{Params, Value};
use crate::roles::Backlog;
use crate::tests::{in_place, ms, near, passing, router_context};

fn dual(set: &[(&str, Value)]) -> DualPi2 {
    let mut params = DualPi2Params::default();
    set.iter().for_each(|&(name, value)| assert_eq!(params.set(name, value), Ok(()), "{name}"));
    DualPi2::new(&params, &router_context(Rate(8_000_000), 100))
}

/// A packet of this code with `waiting` packets behind it, `behind` of them in its own queue, after
/// so many microseconds.
fn head(dual: &mut DualPi2, mut ecn: Ecn, waiting: u32, behind: u32, wait: u64) -> (Verdict, Ecn) {
    let verdict = in_place(|place| {
        place.class = dual.classify(ms(0), passing(&mut ecn), place);
        place.backlog = Backlog { packets: waiting, bytes: u64::from(waiting) * 1000 };
        place.queue = Backlog { packets: behind, bytes: u64::from(behind) * 1000 };
        let queued_for = Span::from_micros(wait);
        dual.on_head(ms(0), Passing { queued_for, ..passing(&mut ecn) }, place)
    });
    (verdict, ecn)
}

/// Linux's units: 41/256 per second in 64 ns is 0.160 156 25 * 64e-9 * (2^32 - 1) = 44.02, so 44,
/// and 819/256 is 879.5, so 879. From p' = 0 with the head 25 ms old, 10 ms above the target and 25
/// ms more than before: (10e6*44 + 25e6*879)/64 = 350,234,375, which is 0.081 545.
#[test]
fn p_follows_the_delay_in_linux_units() {
    assert_eq!((scaled(41.0 / 256.0), scaled(819.0 / 256.0)), (44, 879));
    let mut dual = dual(&[]);
    dual.on_heads([Some(ms(75)), Some(ms(90))]);
    dual.on_timer(ms(100), Backlog::default());
    assert_eq!(dual.pi2.p, 350_234_375);
    let mut shown = [0.0; 3];
    dual.probe(&mut |name, value| match name {
        "p" => shown[0] = value,
        "p_c" => shown[1] = value,
        "p_l" => shown[2] = value,
        _ => {}
    });
    // 350,234,375/4,294,967,295, its square, and twice of it.
    assert!(near(shown[0], 0.081_545_295) && near(shown[1], 0.006_649_635_1), "{shown:?}");
    assert!(near(shown[2], 0.163_090_59), "{shown:?}");
    // The same age again: (10e6*44)/64 = 6,875,000 more. The L queue's head counts if it is older.
    dual.on_heads([None, Some(ms(91))]);
    dual.on_timer(ms(116), Backlog::default());
    assert_eq!(dual.pi2.p, 357_109_375);
    // Nothing waits: (-15e6*44 - 25e6*879)/64 = -353,671,875, which leaves 3,437,500, then none.
    dual.on_heads([None, None]);
    dual.on_timer(ms(132), Backlog::default());
    assert_eq!(dual.pi2.p, 3_437_500);
    dual.on_timer(ms(148), Backlog::default());
    assert_eq!((dual.pi2.p, dual.pi2.last), (0, 0));
}

/// These draws, and no more.
fn drawn<const N: usize>(draws: [u32; N]) -> impl FnMut() -> u32 {
    let mut draws = draws.into_iter();
    move || draws.next().expect("no more draws")
}

/// Draws at, and one above, the probabilities: C needs two, L one below k p'.
#[test]
fn classic_packets_take_two_draws_and_scalable_ones_one() {
    let coupling = Coupling { p: 1000, k: 2, overload: Overload::Drop };
    assert_eq!(coupling.classic(true, drawn([1000, 1000])), Act::Mark);
    assert_eq!(coupling.classic(false, drawn([1000, 1000])), Act::Drop);
    assert_eq!(coupling.classic(true, drawn([1001])), Act::Pass);
    assert_eq!(coupling.classic(true, drawn([0, 1001])), Act::Pass);
    assert_eq!(coupling.scalable(0, drawn([2000])), Act::Mark);
    assert_eq!(coupling.scalable(0, drawn([2001])), Act::Pass);
    assert_eq!(coupling.scalable(3000, drawn([3000])), Act::Mark);
}

/// From p' = 1/2 + 1/2^32 on k p' is above 1.
#[test]
fn overload_drops_classic_packets_and_marks_all_scalable_ones() {
    for (overload, scalable) in [(Overload::Drop, Act::Drop), (Overload::Overflow, Act::Mark)] {
        let coupling = Coupling { p: 1 << 31, k: 2, overload };
        assert_eq!(coupling.classic(true, || 0), Act::Drop);
        assert_eq!(coupling.scalable(0, || 0), scalable);
        assert_eq!(coupling.scalable(0, || u32::MAX), Act::Mark);
    }
    // Without drops p' ends at 1/k, where nothing is overloaded.
    let mut dual = dual(&[("overload", Value::Choice("overflow"))]);
    dual.on_heads([Some(ms(0)), None]);
    dual.on_timer(ms(1000), Backlog::default());
    assert_eq!(dual.pi2.p, u32::MAX / 2);
}

#[test]
fn ect1_and_ce_go_to_the_l_queue() {
    let mut dual = dual(&[]);
    for (mut ecn, class) in [(Ecn::NotCapable, C), (Ecn::Ect1, L), (Ecn::Ect0, C), (Ecn::Ce, L)] {
        assert_eq!(in_place(|place| dual.classify(ms(0), passing(&mut ecn), place)), class);
        let ack = Passing { kind: PacketKind::Ack, ..passing(&mut ecn) };
        assert_eq!(in_place(|place| dual.classify(ms(0), ack, place)), C);
    }
}

#[test]
fn less_than_two_packets_behind_are_spared() {
    let mut dual = dual(&[]);
    dual.pi2.p = MAX_PROB;
    assert_eq!(head(&mut dual, Ecn::Ect0, 1, 1, 0), (Verdict::Forward, Ecn::Ect0));
    assert_eq!(head(&mut dual, Ecn::Ect0, 2, 2, 0), (Verdict::Drop, Ecn::Ect0));
}

/// The step marks above 1 ms, not at it, or above so many packets behind.
#[test]
fn the_step_marks_what_waited_longer() {
    let mut dual = dual(&[]);
    for (wait, ecn) in [(1000, Ecn::Ect1), (1001, Ecn::Ce)] {
        assert_eq!(head(&mut dual, Ecn::Ect1, 1, 0, wait), (Verdict::Forward, ecn), "{wait}");
    }
    assert_eq!(head(&mut dual, Ecn::Ect0, 1, 0, 1001).1, Ecn::Ect0);
    let mut dual = self::dual(&[("step_packets", Value::Count(3))]);
    for (behind, ecn) in [(3, Ecn::Ect1), (4, Ecn::Ce)] {
        assert_eq!(head(&mut dual, Ecn::Ect1, 1, behind, 9000).1, ecn, "{behind}");
    }
}

/// RFC 9332's ramp: 0 at 0.8 ms, a half at 1 ms, 1 at 1.2 ms, none without a packet behind; beside
/// a coupled probability the larger of the two counts.
#[test]
fn the_ramp_rises_over_its_range() {
    let mut params = DualPi2Params::default();
    let preset = DualPi2Params::presets().iter().find(|preset| preset.name == "rfc9332").unwrap();
    preset.values.iter().for_each(|&(name, value)| assert_eq!(params.set(name, value), Ok(())));
    let mut dual = DualPi2::new(&params, &router_context(Rate(8_000_000), 100));
    let mut share = |p: u32, wait, behind| {
        dual.pi2.p = p;
        let marked = (0..4000).filter(|_| head(&mut dual, Ecn::Ect1, 9, behind, wait).1 == Ecn::Ce);
        marked.count() as f64 / 4000.0
    };
    assert_eq!((share(0, 800, 1), share(0, 1200, 1), share(0, 1200, 0)), (0.0, 1.0, 0.0));
    // Standard error sqrt(1/4/4000) = 0.008; four of them.
    assert!((share(0, 1000, 1) - 0.5).abs() < 0.032);
    assert!((share(MAX_PROB / 8, 1000, 1) - 0.5).abs() < 0.032);
    assert!((share(MAX_PROB / 8 * 3, 1000, 1) - 0.75).abs() < 0.028);
}

/// Means over 10^5 packets: p_C = p'^2 and p_L = k p'. Standard errors at p' = 0.1: sqrt(0.01 *
/// 0.99/1e5) = 0.0003 and sqrt(0.2 * 0.8/1e5) = 0.0013; four of them.
#[test]
fn shares_are_the_square_and_the_double() {
    let mut dual = dual(&[]);
    dual.pi2.p = MAX_PROB / 10;
    let mut share = |ecn| {
        let picked = (0..100_000).filter(|_| head(&mut dual, ecn, 9, 9, 0).1 == Ecn::Ce);
        picked.count() as f64 / 1e5
    };
    assert!((share(Ecn::Ect0) - 0.01).abs() < 0.0012);
    assert!((share(Ecn::Ect1) - 0.2).abs() < 0.0052);
}

/// At a square of 1/4 a C packet whose sender takes marks is marked, any other dropped.
#[test]
fn only_capable_data_is_marked() {
    let (data, ack) = (PacketKind::Data, PacketKind::Ack);
    for (kind, code, marked) in
        [(data, Ecn::Ect0, true), (data, Ecn::NotCapable, false), (ack, Ecn::Ect0, false)]
    {
        let mut dual = dual(&[]);
        dual.pi2.p = (1 << 31) - 1;
        let mut seen = [0; 2];
        for _ in 0..200 {
            let mut ecn = code;
            let mut packet = Passing { kind, ..passing(&mut ecn) };
            let dropped = dual.decide(&mut packet, C, 100_000, 0) == Verdict::Drop;
            seen[0] += u32::from(!dropped && ecn == Ecn::Ce);
            seen[1] += u32::from(dropped);
        }
        // 50, sd 6.
        assert!((20..80).contains(&seen[usize::from(!marked)]), "{seen:?}");
        assert_eq!(seen[usize::from(marked)], 0);
    }
}

/// After the first update of the test above new parameters leave p' and the age before: a head that
/// is as old as before adds 10e6*44/64 = 6,875,000 and nothing for a trend. Where p' ends at 1/k it
/// is brought down to it, 2^32 - 1 over 4.
#[test]
fn new_parameters_leave_the_probability_and_its_trend() {
    let context = router_context(Rate(8_000_000), 100);
    let mut dual = dual(&[]);
    dual.on_heads([Some(ms(75)), None]);
    dual.on_timer(ms(100), Backlog::default());
    dual.retune(&DualPi2Params::default(), &context);
    dual.on_heads([Some(ms(91)), None]);
    dual.on_timer(ms(116), Backlog::default());
    assert_eq!(dual.pi2.p, 357_109_375);
    dual.pi2.p = MAX_PROB;
    let params = DualPi2Params { overload: Overload::Overflow, k: 4, ..DualPi2Params::default() };
    dual.retune(&params, &context);
    assert_eq!((dual.pi2.p, dual.pi2.most), (MAX_PROB / 4, MAX_PROB / 4));
    assert_eq!(dual.pi2.last, 25_000_000);
}

/// What the coupling decided over is counted by queue: of three heads in C with p' = 1 two are
/// dropped and one, without packets behind it, was not asked about; with p' = 0 nothing is picked.
#[test]
fn decisions_are_counted_by_queue() {
    let mut dual = dual(&[]);
    dual.pi2.p = MAX_PROB;
    for waiting in [5, 5, 1] {
        head(&mut dual, Ecn::NotCapable, waiting, waiting, 0);
    }
    dual.pi2.p = 0;
    for _ in 0..4 {
        head(&mut dual, Ecn::Ect1, 5, 5, 0);
    }
    for (name, value) in [("c_seen", 2.0), ("c_picked", 2.0), ("l_seen", 4.0), ("l_picked", 0.0)] {
        let mut shown = f64::NAN;
        dual.probe(&mut |variable, value| shown = if variable == name { value } else { shown });
        assert_eq!(shown, value, "{name}");
    }
}

/// `drop_early`: decided on arrival, with what waits then, and no more at the head; what the limit
/// drops is not asked about.
#[test]
fn the_coupled_decision_may_be_made_on_arrival() {
    for (early, fits, waiting, on_arrival, at_head) in [
        (true, true, 2, Verdict::Drop, Verdict::Forward),
        (true, true, 1, Verdict::Forward, Verdict::Forward),
        (true, false, 2, Verdict::Forward, Verdict::Forward),
        (false, true, 2, Verdict::Forward, Verdict::Drop),
    ] {
        let mut dual = dual(&[("drop_early", Value::Flag(early))]);
        dual.pi2.p = MAX_PROB;
        let mut ecn = Ecn::NotCapable;
        let arrival = in_place(|place| {
            place.backlog = Backlog { packets: waiting, bytes: u64::from(waiting) * 1000 };
            place.fits = fits;
            dual.admit(ms(0), passing(&mut ecn), place)
        });
        let head = head(&mut dual, Ecn::NotCapable, waiting, waiting, 0).0;
        assert_eq!((arrival, head), (on_arrival, at_head), "{early} {fits} {waiting}");
    }
}

/// `scheduler` and `wc`: a credit of 10 to 90, 30 to 70, or C's head older by the shift.
#[test]
fn the_plan_is_the_schedulers() {
    let plan = |set: &[(&str, Value)]| DualPi2::plan(&dual(set).params).order;
    assert_eq!(plan(&[]), Order::Credit(10, 90));
    assert_eq!(plan(&[("wc", Value::Count(30))]), Order::Credit(30, 70));
    let shifted = [("scheduler", Value::Choice("ts-fifo"))];
    assert_eq!(plan(&shifted), Order::TimeShifted(Span::from_millis(50)));
}

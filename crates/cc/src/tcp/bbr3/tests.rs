//! Numbers worked by hand from the draft.

use super::*;
use crate::roles::Ecn;
use crate::tests::{ack, ack_after, departing, loss, ms, near, sender_context};

const RTT: Span = Span::from_millis(40);

fn bbr() -> Bbr3 {
    Bbr3::new(&Bbr3Params::default(), &sender_context(10.0))
}

/// In a state of ProbeBW on a path of 1000 packets/s and 40 ms, a BDP of 40 packets, with a window
/// of 80; 1000 packets are delivered.
fn probing(state: State) -> Bbr3 {
    let mut bbr = bbr();
    (bbr.max_bw, bbr.bw) = ([1000.0, 0.0], 1000.0);
    (bbr.least.min_rtt, bbr.least.probe_rtt_min_delay) = (Some(RTT), Some(RTT));
    bbr.cwnd = 80;
    (bbr.pipe.full_bw_reached, bbr.has_seen_rtt) = (true, true);
    (bbr.state, bbr.cycle.wait) = (state, Span::from_millis(2500));
    bbr.set_pacing(1.0);
    bbr.sampler.on_ack(&ack(1000));
    bbr
}

fn sample(rate: f64) -> RateSample {
    RateSample { rate, valid: true, delivered: 40, newly_acked: 1, ..RateSample::default() }
}

fn lossy(tx_in_flight: u32, lost: u32, newly_lost: u32) -> RateSample {
    RateSample { tx_in_flight, lost, newly_lost, ..sample(1000.0) }
}

#[test]
fn the_first_rate_is_a_window_per_round_trip() {
    // 10*8000 bits in 1 ms, times 2.77: 221.6 Mb/s; in 40 ms 5.54 Mb/s.
    let mut bbr = bbr();
    assert!(near(bbr.pacing, 221.6e6));
    let header = bbr.on_send(&departing());
    bbr.on_ack(&Ack { header, in_flight: 9, ..ack_after(ms(40), RTT) });
    assert!(near(bbr.pacing, 5.54e6) && bbr.cwnd == 11);
    assert_eq!((bbr.bw, bbr.least.min_rtt), (25.0, Some(RTT)));
}

#[test]
fn gains_are_those_of_the_table() {
    let gains = |state| probing(state).gains();
    assert_eq!(gains(State::Startup), (2.77, 2.0));
    assert_eq!(gains(State::Drain), (0.5, 2.0));
    assert_eq!((gains(State::Down), gains(State::Cruise)), ((0.9, 2.0), (1.0, 2.0)));
    assert_eq!((gains(State::Refill), gains(State::Up)), ((1.0, 2.0), (1.25, 2.25)));
    assert_eq!(gains(State::ProbeRtt), (1.0, 0.5));
}

#[test]
fn volumes_are_multiples_of_the_bdp() {
    let mut bbr = probing(State::Cruise);
    assert_eq!((bbr.bdp(1000.0, 1.0), bbr.inflight(1000.0, 2.0)), (40, 80));
    assert_eq!(probing(State::Up).inflight(1000.0, 1.25), 52);
    // Three quanta of at least two packets; at 80 Mb/s of 10 kB.
    bbr.least.min_rtt = Some(Span::from_millis(1));
    assert_eq!(bbr.inflight(1000.0, 1.0), 6);
    bbr.pacing = 80e6;
    assert_eq!(bbr.inflight(1000.0, 1.0), 30);
    bbr.bounds.inflight_longterm = 100;
    assert_eq!(bbr.inflight_with_headroom(), 85);
    bbr.bounds.inflight_longterm = 5;
    assert_eq!(bbr.inflight_with_headroom(), 4);
    bbr.least.min_rtt = None;
    assert_eq!(bbr.bdp(1000.0, 1.0), 10);
}

/// In doubles 0.7 * 90 is 62.999 999 999 999 99, of which 62 would be left.
#[test]
fn rounding_errors_are_no_packet() {
    assert_eq!((share(90, 0.7), share(89, 0.7), share(NO_BOUND, 0.7)), (63, 62, NO_BOUND));
    assert_eq!((ceil(250.000_000_000_1 * 0.04), ceil(10.001), floor(9.999)), (10, 11, 9));
}

#[test]
fn startup_ends_at_a_plateau_or_at_losses() {
    let mut bbr = probing(State::Startup);
    (bbr.pipe.full_bw_reached, bbr.round_start) = (false, true);
    for (rate, count) in [(100.0, 0), (124.0, 1), (125.0, 0), (150.0, 1), (156.0, 2)] {
        bbr.check_full_bw(&sample(rate));
        assert_eq!((bbr.pipe.full_bw_count, bbr.pipe.full_bw_reached), (count, false));
    }
    bbr.check_full_bw(&sample(156.0));
    bbr.check_startup(&sample(156.0));
    assert_eq!((bbr.pipe.full_bw_now, bbr.state), (true, State::Drain));
    bbr.check_drain(&Ack { in_flight: 41, ..ack(1) });
    assert_eq!(bbr.state, State::Drain);
    bbr.check_drain(&Ack { in_flight: 40, ..ack(1) });
    assert_eq!(bbr.state, State::Down);

    // Losses: six ACKs that show some, a round, recovery, and more than 2 % of 300.
    let mut bbr = probing(State::Startup);
    bbr.pipe.full_bw_reached = false;
    bbr.episode.on_ack(&Ack { recovering: true, ..ack::<Stamp>(0) });
    for n in 1..=6 {
        bbr.bounds.loss_round_start = n == 6;
        bbr.bounds.inflight_latest = 90;
        bbr.check_startup(&lossy(300, if n == 6 { 7 } else { 6 }, 1));
        assert_eq!(bbr.state == State::Drain, n == 6);
    }
    assert_eq!(bbr.bounds.inflight_longterm, 90);
}

/// 0.7 of the bounds or what is delivered, whichever is more, once per round of losses; not while
/// probing.
#[test]
fn losses_lower_the_short_term_bounds_once_per_round() {
    let mut bbr = probing(State::Cruise);
    (bbr.bounds.loss_in_round, bbr.bounds.loss_round_start) = (true, true);
    (bbr.bounds.bw_latest, bbr.bounds.inflight_latest) = (900.0, 36);
    bbr.update_signals(&sample(0.0));
    assert_eq!((bbr.bounds.bw_shortterm, bbr.bounds.inflight_shortterm), (900.0, 56));
    assert!(!bbr.bounds.loss_in_round);
    bbr.update_signals(&sample(0.0));
    assert_eq!(bbr.bounds.inflight_shortterm, 56);
    bbr.bounds.loss_in_round = true;
    (bbr.bounds.bw_latest, bbr.bounds.inflight_latest) = (100.0, 10);
    bbr.update_signals(&sample(0.0));
    assert!(near(bbr.bounds.bw_shortterm, 630.0));
    assert_eq!(bbr.bounds.inflight_shortterm, 39); // 39.2
    bbr.set_cwnd(1);
    assert_eq!(bbr.cwnd, 39);
    let mut up = probing(State::Up);
    (up.bounds.loss_in_round, up.bounds.loss_round_start) = (true, true);
    up.update_signals(&sample(0.0));
    assert_eq!(up.bounds.inflight_shortterm, NO_BOUND);
}

/// 3 of 100 lost, of them 2 before: 2 % of 99 is less than 2, so not even a part of this packet
/// fits:
/// 99. With 2 of 100 nothing happens.
#[test]
fn more_than_two_percent_of_losses_end_a_probe_and_bound_what_is_in_flight() {
    let mut bbr = probing(State::Up);
    bbr.cycle.samples = true;
    bbr.on_lost(ms(0), &mut lossy(100, 2, 1));
    assert_eq!((bbr.state, bbr.bounds.inflight_longterm), (State::Up, NO_BOUND));
    bbr.on_lost(ms(0), &mut lossy(100, 3, 1));
    assert_eq!((bbr.state, bbr.bounds.inflight_longterm), (State::Down, 99));
    // Once per probe.
    bbr.on_lost(ms(0), &mut lossy(50, 30, 1));
    assert_eq!(bbr.bounds.inflight_longterm, 99);
    // Not below 0.7 of the BDP or of the window; not at all where the application was the limit.
    for (limited, bound) in [(false, 28), (true, NO_BOUND)] {
        let mut bbr = probing(State::Up);
        bbr.cycle.samples = true;
        bbr.on_lost(ms(0), &mut RateSample { limited, ..lossy(20, 3, 1) });
        assert_eq!((bbr.state, bbr.bounds.inflight_longterm), (State::Down, bound));
    }
}

#[test]
fn the_long_term_bound_rises_by_1_2_4_packets_per_round() {
    let mut bbr = probing(State::Refill);
    (bbr.bounds.inflight_longterm, bbr.round_start) = (80, true);
    bbr.update_cycle(&ack(1), &sample(1000.0));
    assert_eq!((bbr.state, bbr.cycle.samples), (State::Up, true));
    // One more per 80 ACKs, then per 40, then per 20.
    bbr.cwnd_limited = [true, false];
    for per in [80, 40, 20] {
        assert_eq!(bbr.cycle.up_count, per);
        bbr.round_start = false;
        let bound = bbr.bounds.inflight_longterm;
        bbr.probe_upward(&RateSample { newly_acked: per - 1, ..sample(1000.0) });
        assert_eq!(bbr.bounds.inflight_longterm, bound);
        bbr.round_start = true;
        bbr.probe_upward(&sample(1000.0));
        assert_eq!(bbr.bounds.inflight_longterm, bound + 1);
        bbr.bounds.inflight_longterm = 80;
    }
    // What was in flight without harm raises it anyway.
    bbr.adapt_long_term(ms(0), &RateSample { tx_in_flight: 95, ..sample(1000.0) });
    assert!(bbr.bounds.inflight_longterm >= 95);
}

/// A window below the bound does not use it, and raises it by nothing.
#[test]
fn the_long_term_bound_stays_above_a_smaller_window() {
    for (cwnd, bound) in [(80, 81), (81, 82)] {
        let mut bbr = probing(State::Up);
        (bbr.bounds.inflight_longterm, bbr.cwnd, bbr.cwnd_limited) = (81, cwnd, [true, false]);
        (bbr.round_start, bbr.cycle.up_count) = (false, 80);
        bbr.probe_upward(&RateSample { newly_acked: 80, ..sample(1000.0) });
        assert_eq!(bbr.bounds.inflight_longterm, bound);
    }
}

/// C.is_cwnd_limited: the tenth packet fills the window of 10. It is remembered for the round it is
/// sent in and the next.
#[test]
fn a_window_once_full_limits_its_round_and_the_next() {
    let mut bbr = bbr();
    let sent = |bbr: &mut Bbr3, in_flight| {
        bbr.on_send(&Departing { in_flight, ..departing() });
        bbr.cwnd_limited()
    };
    assert!(!sent(&mut bbr, 8));
    assert!(sent(&mut bbr, 9));
    assert!(sent(&mut bbr, 3));
    for limited in [true, false] {
        bbr.next_round = bbr.sampler.delivered();
        bbr.update_max_bw(&RateSample { prior_delivered: bbr.next_round, ..sample(1000.0) });
        assert_eq!((bbr.round_start, bbr.cwnd_limited()), (true, limited));
    }
}

#[test]
fn a_cycle_goes_down_cruises_refills_and_goes_up() {
    let mut bbr = probing(State::Down);
    bbr.bounds.inflight_longterm = 40;
    let step = |bbr: &mut Bbr3, at, in_flight, round_start| {
        bbr.round_start = round_start;
        bbr.update_cycle(&Ack { now: ms(at), in_flight, ..ack(1) }, &sample(1000.0));
        bbr.state
    };
    // To 34 = 40 - 15 %, and no more than the BDP.
    assert_eq!(step(&mut bbr, 10, 35, false), State::Down);
    assert_eq!(step(&mut bbr, 10, 34, false), State::Cruise);
    // Until 2.5 s after the cycle's start, or 40 rounds: the BDP, as Reno.
    assert_eq!(step(&mut bbr, 2500, 34, false), State::Cruise);
    bbr.cycle.rounds = 39;
    assert_eq!(step(&mut bbr, 2500, 34, false), State::Cruise);
    let mut reno = bbr.clone();
    reno.cycle.rounds = 40;
    assert_eq!(step(&mut reno, 2500, 34, false), State::Refill);
    bbr.bounds.inflight_shortterm = 30;
    assert_eq!(step(&mut bbr, 2501, 34, false), State::Refill);
    assert_eq!(bbr.bounds.inflight_shortterm, NO_BOUND);
    assert_eq!(step(&mut bbr, 2510, 34, false), State::Refill);
    assert_eq!(step(&mut bbr, 2541, 40, true), State::Up);
    // Not while the bound holds it down; at a plateau else.
    (bbr.pipe.full_bw_now, bbr.cwnd_limited) = (true, [true, false]);
    assert_eq!(step(&mut bbr, 2600, 40, false), State::Up);
    (bbr.pipe.full_bw_now, bbr.bounds.inflight_longterm) = (true, NO_BOUND);
    assert_eq!(step(&mut bbr, 2600, 40, false), State::Down);
    assert!(
        (Span::from_secs(2)..Span::from_secs(3)).contains(&bbr.cycle.wait) && bbr.cycle.rounds < 2
    );
    // A round later the filter forgets the cycle before the last.
    bbr.max_bw = [1200.0, 1000.0];
    step(&mut bbr, 2641, 60, true);
    assert_eq!(bbr.max_bw, [1000.0, 0.0]);
}

/// A probe lost too much at a bound of 100. The next UP ends once 100 are in flight before an ACK,
/// 99 after it; a round without losses later comes REFILL rather than CRUISE, and the UP behind it
/// stays at the bound.
#[test]
fn after_losses_a_probe_is_a_precaution_first() {
    let mut bbr = probing(State::Up);
    (bbr.cycle.too_high, bbr.bounds.inflight_longterm, bbr.cwnd) = (true, 100, 100);
    let step = |bbr: &mut Bbr3, in_flight, round_start| {
        bbr.round_start = round_start;
        bbr.update_cycle(&Ack { now: ms(100), in_flight, ..ack(1) }, &sample(1000.0));
        (bbr.state, bbr.cycle.too_high, bbr.cycle.precautionary)
    };
    assert_eq!(step(&mut bbr, 98, false), (State::Up, true, false));
    assert_eq!(step(&mut bbr, 99, false), (State::Down, false, true));
    assert_eq!(step(&mut bbr, 99, false), (State::Down, false, true));
    let mut safe = bbr.clone();
    assert_eq!(step(&mut safe, 99, true), (State::Refill, false, false));
    assert_eq!(step(&mut safe, 99, true), (State::Up, false, false));
    assert_eq!(step(&mut safe, 99, false), (State::Up, false, false));
    // Losses in the round behind it: no REFILL, and the next probe is a precaution again.
    bbr.cycle.samples = true;
    bbr.on_lost(ms(100), &mut lossy(100, 3, 1));
    assert_eq!(step(&mut bbr, 99, true), (State::Down, true, true));
}

/// In UP, with a bound of 90 and a window of 80: a duplicate ACK's loss makes it DOWN with a lower
/// bound. If the next ACK that moves on is for what was sent before the retransmission, nothing
/// was lost; if it is for the retransmission, something was.
#[test]
fn a_recovery_for_nothing_is_undone() {
    for (seq, undone) in [(0, true), (1, false)] {
        let mut bbr = probing(State::Up);
        (bbr.bounds.inflight_longterm, bbr.cycle.samples) = (90, true);
        let before = bbr.on_send(&Departing { now: ms(10), ..departing() });
        bbr.on_loss(&loss(LossKind::DupAcks, 40));
        assert_eq!((bbr.undo.state, bbr.undo.inflight_longterm), (None, 90));
        bbr.on_lost(ms(50), &mut lossy(40, 3, 1));
        assert_eq!((bbr.state, bbr.undo.state), (State::Down, Some(State::Up)));
        assert_eq!(bbr.bounds.inflight_longterm, 39);
        let again = Departing { now: ms(50), retransmission: true, ..departing() };
        let headers = [before, bbr.on_send(&again)];
        bbr.cwnd = 40;
        // A duplicate says nothing.
        assert!(!bbr.undo.is_spurious(&Ack { header: before, ..ack(0) }, Mending::Recovery));
        let header = headers[seq];
        if bbr.undo.is_spurious(&Ack { header, ..ack(1) }, Mending::Recovery) {
            bbr.undo_loss();
        }
        let (state, bound, cwnd) =
            if undone { (State::Refill, 90, 80) } else { (State::Down, 39, 40) };
        assert_eq!((bbr.state, bbr.bounds.inflight_longterm, bbr.cwnd), (state, bound, cwnd));
        assert_eq!((bbr.undo.undone, bbr.undo.watching), (u32::from(undone), false));
    }
}

/// Startup that losses ended goes on, and so it does after ProbeRTT.
#[test]
fn startup_goes_on_after_losses_that_were_none() {
    for (now, then) in [(State::Drain, State::Startup), (State::ProbeRtt, State::ProbeRtt)] {
        let mut bbr = probing(now);
        (bbr.undo.state, bbr.undo.bw_shortterm) = (Some(State::Startup), f64::INFINITY);
        (bbr.bounds.bw_shortterm, bbr.bounds.loss_in_round) = (500.0, true);
        bbr.undo_loss();
        assert_eq!((bbr.state, bbr.pipe.full_bw_reached), (then, false));
        assert_eq!((bbr.bounds.bw_shortterm, bbr.undo.state), (f64::INFINITY, None));
        assert!(!bbr.bounds.loss_in_round);
    }
}

#[test]
fn probe_rtt_halves_the_bdp_each_five_seconds() {
    let mut bbr = probing(State::Cruise);
    let mut on_ack = |at: u64, in_flight| {
        let header = bbr.on_send(&Departing { now: ms(at), in_flight, ..departing() });
        let rtt = Span::from_millis(42);
        bbr.on_ack(&Ack { header, in_flight, ..ack_after(ms(at), rtt) });
        (bbr.state, bbr.cwnd)
    };
    (0..2).for_each(|_| assert_eq!(on_ack(2000, 40).0, State::Cruise));
    assert_ne!(on_ack(5000, 40).0, State::ProbeRtt);
    assert_eq!(on_ack(5001, 40), (State::ProbeRtt, 20));
    assert_eq!(on_ack(5040, 20), (State::ProbeRtt, 20));
    assert_eq!(on_ack(5240, 20).0, State::ProbeRtt);
    let (state, cwnd) = on_ack(5241, 20);
    assert!(state == State::Cruise && cwnd >= 80, "{cwnd}");
    // The RTT is that of the last ten seconds, 40 ms up to then.
    let later = Some(Span::from_millis(42));
    assert_eq!((bbr.least.min_rtt, bbr.least.probe_rtt_min_delay), (Some(RTT), later));
    bbr.on_ack(&ack_after(ms(10_001), Span::from_millis(45)));
    assert_eq!(bbr.least.min_rtt, later);
}

#[test]
fn a_timeout_starts_from_one_packet_and_bounds_a_probe() {
    let mut bbr = probing(State::Up);
    bbr.cycle.samples = true;
    bbr.on_loss(&Loss { lost: 50, ..loss(LossKind::Timeout, 500) });
    assert_eq!((bbr.cwnd, bbr.prior_cwnd, bbr.bounds.inflight_longterm), (1, 80, 50));
    assert_eq!(bbr.state, State::Down);
    bbr.on_ack(&ack(1));
    assert_eq!(bbr.cwnd, 50);
}

/// Half the packets of a round marked: alpha = 1 + (0.5 - 1)/16 = 0.968 75 takes 32.3 % off 80.
#[test]
fn marks_take_off_a_third_of_alpha() {
    let params = Bbr3Params { ecn: true, ..Bbr3Params::default() };
    let plain = probing(State::Cruise);
    let mut bbr = Bbr3 { marks: Bbr3::new(&params, &sender_context(10.0)).marks, ..plain };
    assert_eq!((bbr.ecn(), self::bbr().ecn()), (EcnUse::Codes(Ecn::Ect0), EcnUse::None));
    for code in [Ecn::Ce, Ecn::Ect0] {
        bbr.marks.on_ack(&Ack { code, marks: if code == Ecn::Ce { 10 } else { 0 }, ..ack(10) });
    }
    bbr.bounds.loss_round_start = true;
    bbr.update_signals(&sample(0.0));
    assert_eq!((bbr.marks.alpha, bbr.marks.high), (0.968_75, true));
    assert_eq!((bbr.bounds.inflight_shortterm, bbr.bounds.bw_shortterm), (54, f64::INFINITY)); // 54.17
    // It ends a probe.
    (bbr.state, bbr.cycle.samples) = (State::Up, true);
    bbr.adapt_long_term(ms(0), &RateSample { tx_in_flight: 90, ..sample(1000.0) });
    assert_eq!((bbr.state, bbr.bounds.inflight_longterm), (State::Down, 90));
}

#[test]
fn acks_in_bursts_raise_the_window() {
    let mut bbr = probing(State::Cruise);
    // 30 at once where 1000/s are expected, then 10 after 10 ms: 30, then 40 - 10.
    bbr.update_aggregation(ms(100), &RateSample { newly_acked: 30, ..sample(0.0) });
    assert_eq!(bbr.aggregates.most(), 30.0);
    bbr.update_aggregation(ms(110), &RateSample { newly_acked: 15, ..sample(0.0) });
    assert!((bbr.aggregates.most() - 35.0).abs() < 1e-3);
    bbr.set_cwnd(100);
    assert!((115..=116).contains(&bbr.cwnd), "{}", bbr.cwnd); // 80 and 35, rounded up
}

/// CheckStartupHighLoss (section 5.3.1.3) asks for all three: recovery, six ACKs with losses in the
/// round and more than 2 % of 300 packets lost; and D8 for two rounds of marks. It asks at the end
/// of a round of the loss clock, where the count of ACKs begins anew.
#[test]
fn startup_ends_by_losses_only_if_all_is_there() {
    for (recovering, before, newly_lost, lost, marked_rounds, ends) in [
        (true, 5, 1, 7, 0, true),
        (true, 6, 0, 7, 0, true),
        (true, 5, 0, 7, 0, false),
        (true, 4, 1, 7, 0, false),
        (false, 5, 1, 7, 0, false),
        (true, 5, 1, 6, 0, false),
        (false, 0, 0, 0, 1, false),
        (false, 0, 0, 0, 2, true),
    ] {
        let mut bbr = probing(State::Startup);
        bbr.pipe.full_bw_reached = false;
        bbr.episode.on_ack(&Ack { recovering, ..ack::<Stamp>(0) });
        (bbr.pipe.loss_events, bbr.marks.startup_rounds) = (before, marked_rounds);
        let sample = lossy(300, lost, newly_lost);
        bbr.bounds.loss_round_start = false;
        bbr.clone().check_startup(&sample);
        assert_eq!(bbr.state, State::Startup);
        bbr.bounds.loss_round_start = true;
        bbr.check_startup(&sample);
        assert_eq!(bbr.state == State::Drain, ends, "{recovering} {before} {lost}");
        assert_eq!(bbr.pipe.loss_events, 0);
        // The BDP, as nothing is known of what was delivered.
        let bound = if ends { 40 } else { NO_BOUND };
        assert_eq!(bbr.bounds.inflight_longterm, bound);
    }
}

/// HandleSpuriousLossDetection (section 5.5.11): UP goes on by way of REFILL, but not in UP itself
/// or in ProbeRTT.
#[test]
fn a_probe_goes_on_unless_it_is_running_or_has_to_wait() {
    for (now, then) in [
        (State::Down, State::Refill),
        (State::Cruise, State::Refill),
        (State::Up, State::Up),
        (State::ProbeRtt, State::ProbeRtt),
    ] {
        let mut bbr = probing(now);
        bbr.undo.state = Some(State::Up);
        bbr.undo_loss();
        assert_eq!((bbr.state, bbr.undo.state), (then, None));
    }
}

/// SaveCwnd (section 5.6.4.4): the window in good times, and else the most.
#[test]
fn the_window_before_trouble_is_saved() {
    for (state, recovering, saved) in [
        (State::Cruise, false, 40),
        (State::ProbeRtt, false, 80),
        (State::Cruise, true, 80),
        (State::ProbeRtt, true, 80),
    ] {
        let mut bbr = probing(state);
        bbr.episode.on_ack(&Ack { recovering, ..ack::<Stamp>(0) });
        (bbr.cwnd, bbr.prior_cwnd) = (40, 80);
        bbr.save_cwnd();
        assert_eq!(bbr.prior_cwnd, saved, "{state:?} {recovering}");
    }
}

/// SetCwnd (section 5.6.4.6): "C.cwnd < BBR.max_inflight" grows before the pipe is full, up to it
/// afterwards; two BDPs are 80 packets.
#[test]
fn the_window_grows_up_to_its_maximum() {
    for (full, cwnd, acked, after) in
        [(false, 79, 5, 84), (false, 80, 5, 80), (true, 79, 5, 80), (true, 100, 5, 80)]
    {
        let mut bbr = probing(State::Startup);
        (bbr.pipe.full_bw_reached, bbr.cwnd) = (full, cwnd);
        bbr.set_cwnd(acked);
        assert_eq!(bbr.cwnd, after, "{full} {cwnd}");
    }
}

/// AdaptLongTermModel (section 5.3.3.7): what was in flight raises a bound that there is, if the
/// sample is one and not too much was lost: 2 of 95 are more than 2 %.
#[test]
fn only_a_good_sample_raises_the_long_term_bound() {
    for (bound, valid, lost, after) in [
        (80, true, 1, 95),
        (80, true, 2, 80),
        (80, false, 0, 80),
        (100, true, 0, 100),
        (NO_BOUND, true, 0, NO_BOUND),
    ] {
        let mut bbr = probing(State::Cruise);
        bbr.bounds.inflight_longterm = bound;
        let rs = RateSample { valid, ..lossy(95, lost, 0) };
        assert!(!bbr.adapt_long_term(ms(0), &rs));
        assert_eq!(bbr.bounds.inflight_longterm, after, "{valid} {lost}");
    }
}

/// What is yes or no is shown as 1 or 0.
#[test]
fn truths_are_shown_as_numbers() {
    let shown = |bbr: &Bbr3, name| {
        let mut found = None;
        bbr.probe(&mut |variable, value| {
            found = if variable == name { Some(value) } else { found }
        });
        found
    };
    let (fresh, mut bbr) = (bbr(), bbr());
    (bbr.pipe.full_bw_now, bbr.pipe.full_bw_reached, bbr.idle_restart) = (true, true, true);
    (bbr.cycle.too_high, bbr.cycle.precautionary, bbr.sampled.1) = (true, true, true);
    for name in [
        "full_bw_now",
        "full_bw_reached",
        "idle_restart",
        "prev_probe_too_high",
        "prev_probe_precautionary",
        "app_limited",
    ] {
        assert_eq!((shown(&fresh, name), shown(&bbr, name)), (Some(0.0), Some(1.0)), "{name}");
    }
}

/// CheckDrainDone (section 5.3.2): the BDP of 40, or more than three rounds.
#[test]
fn drain_ends_after_three_rounds_at_last() {
    for (in_flight, rounds, then) in
        [(41, 3, State::Drain), (41, 4, State::Down), (40, 0, State::Down)]
    {
        let mut bbr = probing(State::Drain);
        (bbr.drain_start_round, bbr.round_count) = (u32::MAX, u32::MAX.wrapping_add(rounds));
        bbr.check_drain(&Ack { in_flight, ..ack(1) });
        assert_eq!(bbr.state, then, "{in_flight} {rounds}");
    }
}

/// UpdateLatestDeliverySignals and AdvanceLatestDeliverySignals (section 5.5.10.3): the most of a
/// round of the loss clock, which is over with the ACK of a packet sent after its beginning; what
/// is no sample changes nothing.
#[test]
fn the_latest_signals_are_those_of_a_round() {
    let mut bounds = Bounds { loss_round: 100, ..Bounds::NEW };
    let of = |rate, delivered, prior_delivered, valid| RateSample {
        rate,
        delivered,
        prior_delivered,
        valid,
        ..RateSample::default()
    };
    for (sample, latest, starts) in [
        (of(500.0, 20, 99, true), (500.0, 20), false),
        (of(400.0, 30, 99, true), (500.0, 30), false),
        (of(900.0, 90, 100, false), (500.0, 30), false),
        (of(300.0, 10, 100, true), (500.0, 30), true),
    ] {
        bounds.update_latest(&sample, 140);
        assert_eq!((bounds.bw_latest, bounds.inflight_latest), latest);
        assert_eq!(bounds.loss_round_start, starts);
        bounds.advance_latest(&sample);
    }
    // The next round begins with the sample that ended this one.
    assert_eq!((bounds.bw_latest, bounds.inflight_latest, bounds.loss_round), (300.0, 10, 140));
}

/// UpdateMaxBw (section 5.5.5): a sample that the application limits counts if it is as high, one
/// without a rate never; IsTimeToCruise asks for the headroom and for the BDP of max_bw.
#[test]
fn limited_samples_only_raise_the_rate() {
    for (rate, limited, max_bw) in
        [(900.0, false, 900.0), (900.0, true, 0.0), (1000.0, true, 1000.0), (0.0, false, 0.0)]
    {
        let mut bbr = probing(State::Cruise);
        bbr.update_max_bw(&RateSample { limited, ..sample(rate) });
        assert_eq!(bbr.max_bw, [1000.0, max_bw], "{rate} {limited}");
    }
    for (bound, in_flight, then) in [
        (40, 34, State::Cruise),
        (40, 35, State::Down),
        (100, 40, State::Cruise),
        (100, 41, State::Down),
        (NO_BOUND, 40, State::Cruise),
    ] {
        let mut bbr = probing(State::Down);
        (bbr.bounds.inflight_longterm, bbr.round_start) = (bound, false);
        let rs = RateSample { valid: false, ..RateSample::default() };
        bbr.update_cycle(&Ack { in_flight, ..ack(1) }, &rs);
        assert_eq!(bbr.state, then, "{bound} {in_flight}");
    }
}

/// The Eifel detection (D4) goes by the first retransmission of a recovery: not by what is new, nor
/// by a second one, nor where nothing is watched.
#[test]
fn the_first_retransmission_is_remembered() {
    let sent = |at, retransmission| Departing { now: ms(at), retransmission, ..departing() };
    let stamp = |at| {
        let mut sampler = RateSampler::NEW;
        sampler.on_send(&sent(at, false), 10.0)
    };
    let spurious = |undo: &mut Undo, at| {
        undo.is_spurious(&Ack { header: stamp(at), ..ack(1) }, Mending::Recovery)
    };
    let mut undo = Undo::default();
    undo.on_send(&sent(5, true));
    assert!(!spurious(&mut undo, 1), "nothing is watched");
    undo.watch();
    undo.on_send(&sent(10, false));
    assert!(!spurious(&mut undo, 1) && undo.watching, "nothing was sent again yet");
    undo.on_send(&sent(20, true));
    undo.on_send(&sent(30, true));
    let mut later = undo;
    assert!(spurious(&mut undo, 19) && !undo.watching);
    assert!(!spurious(&mut later, 20) && !later.watching);
}

/// HandleRestartFromIdle (section 5.4.1): in ProbeRTT it may end that, in ProbeBW the rate is the
/// estimate's, else nothing changes; and only where nothing is in flight after a gap.
#[test]
fn a_restart_from_idle_ends_probe_rtt() {
    for (state, in_flight, limited, then) in [
        (State::ProbeRtt, 0, true, State::Cruise),
        (State::ProbeRtt, 1, true, State::ProbeRtt),
        (State::ProbeRtt, 0, false, State::ProbeRtt),
        (State::Startup, 0, true, State::Startup),
        (State::Drain, 0, true, State::Drain),
    ] {
        let mut bbr = probing(state);
        bbr.least.probe_rtt_done = Some(ms(100));
        if limited {
            bbr.sampler.mark_limited(0);
        }
        bbr.on_send(&Departing { now: ms(101), in_flight, ..departing() });
        assert_eq!(bbr.state, then, "{state:?} {in_flight} {limited}");
        assert_eq!(bbr.idle_restart, in_flight == 0 && limited);
    }
    for (state, pacing) in [(State::Cruise, 7.92e6), (State::Startup, 1e9)] {
        let mut bbr = probing(state);
        bbr.pacing = 1e9;
        bbr.sampler.mark_limited(0);
        bbr.on_send(&departing());
        assert!(near(bbr.pacing, pacing), "{state:?}");
    }
}

/// Rates are shown in bit/s, of packets of 8000 bits.
#[test]
fn rates_are_shown_in_bits() {
    let mut bbr = probing(State::Cruise);
    (bbr.undo.bw_shortterm, bbr.bounds.bw_shortterm, bbr.sampled.0) = (500.0, 600.0, 700.0);
    for (name, bits) in [
        ("undo_bw_shortterm", 4e6),
        ("bw_shortterm", 4.8e6),
        ("delivery_rate", 5.6e6),
        ("bw", 8e6),
        ("max_bw", 8e6),
    ] {
        let mut shown = f64::NAN;
        bbr.probe(&mut |variable, value| shown = if variable == name { value } else { shown });
        assert_eq!(shown, bits, "{name}");
    }
}

/// SetCwnd (section 5.6.4.6): below C.InitialCwnd delivered, ten, the window grows whatever the
/// model.
#[test]
fn a_window_grows_until_ten_are_delivered() {
    for (delivered, after) in [(9, 85), (10, 80)] {
        let mut bbr = bbr();
        (bbr.max_bw, bbr.bw, bbr.cwnd, bbr.pacing) = ([25.0, 0.0], 25.0, 80, 1e6);
        bbr.least.min_rtt = Some(RTT);
        bbr.sampler.on_ack(&ack(delivered));
        bbr.set_cwnd(5);
        assert_eq!(bbr.cwnd, after, "{delivered}");
    }
}

/// SetSendQuantum: a millisecond of the rate, two packets at least and 64 KiB at most, of which
/// three are room: 6, 30 and 196 packets of 1000 bytes; never less than four packets.
#[test]
fn the_quantum_has_bounds() {
    let mut bbr = probing(State::Cruise);
    for (pacing, inflight) in [(8e6, 6), (80e6, 30), (1e10, 196)] {
        bbr.pacing = pacing;
        assert_eq!(bbr.quantize(1), inflight, "{pacing}");
    }
    (bbr.packet_bytes, bbr.pacing) = (65_536, 8e6);
    assert_eq!(bbr.quantize(1), 6);
}

/// The end of a recovery restores the window (section 5.6.4.4), to which the ACK adds its packet:
/// it is one that no rate had let expect, so that extra_acked is 1. The end of nothing restores
/// none.
#[test]
fn the_end_of_recovery_restores_the_window() {
    for (recovering, cwnd) in [(true, 81), (false, 41)] {
        let mut bbr = probing(State::Cruise);
        (bbr.cwnd, bbr.prior_cwnd) = (40, 80);
        bbr.episode.on_ack(&Ack { recovering, ..ack::<Stamp>(0) });
        bbr.on_ack(&ack(1));
        assert_eq!(bbr.cwnd, cwnd, "{recovering}");
    }
}

/// Linux's (v3) alpha moves by a sixteenth to each round's own share: all marked, then none.
#[test]
fn marks_are_counted_anew_in_each_round() {
    let mut marks = Marks::new(true, false);
    marks.on_ack(&Ack { marks: 10, ..ack(10) });
    assert!(marks.end_round() && near(marks.alpha, 1.0));
    marks.on_ack(&ack(10));
    assert!(!marks.end_round() && near(marks.alpha, 0.9375), "{}", marks.alpha);
}

/// What is lost while the application limits the flow is no bound: a timeout's 40 packets set
/// inflight_longterm otherwise.
#[test]
fn a_timeout_of_a_limited_flow_is_no_bound() {
    for (limited, bound) in [(false, 40), (true, 500)] {
        let mut bbr = probing(State::Cruise);
        (bbr.cycle.samples, bbr.bounds.inflight_longterm, bbr.cwnd) = (true, 500, 40);
        if limited {
            bbr.sampler.mark_limited(40);
        }
        bbr.on_loss(&Loss { lost: 40, ..loss(LossKind::Timeout, 0) });
        assert!(bbr.cycle.too_high);
        assert_eq!(bbr.bounds.inflight_longterm, bound);
    }
}

/// MinRTTFilterLen is 10 s: at just 10 s the least RTT is still the old one.
#[test]
fn the_least_rtt_is_kept_for_ten_seconds() {
    for (now, least) in [(10_000, 40), (10_001, 50)] {
        let mut bbr = probing(State::Cruise);
        (bbr.least.min_rtt, bbr.least.min_rtt_stamp) = (Some(RTT), Time::ZERO);
        bbr.least.probe_rtt_min_delay = Some(Span::from_millis(50));
        bbr.least.probe_rtt_min_stamp = ms(8000);
        bbr.update_min_rtt(&Ack { now: ms(now), ..ack(1) });
        assert_eq!(bbr.least.min_rtt, Some(Span::from_millis(least)), "{now}");
    }
}

/// A restart from idle is over with the first ACK that delivers something.
#[test]
fn an_ack_that_delivers_nothing_ends_no_idle_restart() {
    for (delivered, restarting) in [(0, true), (1, false)] {
        let mut bbr = probing(State::Cruise);
        bbr.idle_restart = true;
        bbr.check_probe_rtt(&ack(1), &RateSample { delivered, ..RateSample::default() });
        assert_eq!(bbr.idle_restart, restarting, "{delivered}");
    }
}

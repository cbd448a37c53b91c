use super::law::State;
use super::*;
use units::Span;

use crate::tests::{ack_after, loss, ms, sender_context};

/// udp_prague's own.
const UDP: Setting = Setting {
    packet_bytes: (150, 1400),
    init_rate: 12_500,
    alpha_divisor: 16,
    alpha_0: 0,
    growth: true,
    slow_start: false,
};

/// splitmix64, and FNV-1a over the bytes of words.
struct Words {
    state: u64,
    digest: u64,
}

impl Words {
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn note(&mut self, words: &[u64]) {
        for byte in words.iter().flat_map(|word| word.to_le_bytes()) {
            self.digest = (self.digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

/// So many random flows of so many ACKs: RTTs of 0.3 to 200 ms, up to all packets marked, losses,
/// reordering and, rarely, timeouts. What is known after each ACK goes into the digest.
fn fuzzed(flows: u64, acks: u64, seed: u64) -> u64 {
    const RTTS: [u64; 8] = [300, 1500, 5000, 12_000, 25_000, 40_000, 100_000, 200_000];
    let mut words = Words { state: seed, digest: 0xcbf2_9ce4_8422_2325 };
    for _ in 0..flows {
        let (mut law, mut now) = (Law::new(UDP, 10, 1), 1_i64);
        let chosen = words.next();
        let base = RTTS[chosen as usize & 7];
        let gap = 1 + (chosen >> 8) % (base / 2);
        let (marks, losses) = ((chosen >> 40) & 63, (chosen >> 46) & 7);
        let mut counts = Counts { sent: 10, ..Counts::default() };
        for _ in 0..acks {
            let r = words.next();
            now += 1 + ((r >> 32) % (2 * gap)) as i64;
            let packets = 1 + (r & 7) % (1 + ((r >> 3) & 3) * 2);
            counts.received += packets as i64;
            counts.marked += (0..packets).filter(|i| (r >> (8 + i)) & 63 < marks).count() as i64;
            if (r >> 16) & 511 < losses {
                counts.lost += 1 + ((r >> 25) & 3) as i64;
            } else if counts.lost > 0 && (r >> 16) & 511 >= 504 {
                counts.lost -= 1;
            }
            counts.sent = counts.received + counts.lost + 10 + ((r >> 28) & 15) as i64 * 4;
            law.on_rtt((base + (r >> 20) % (base / 4 + 1)) as i64);
            if (r >> 52) & 4095 == 0 {
                law.restart(now);
            }
            law.on_ack(now, counts);
            let state = match law.state {
                State::Init => 0,
                State::Avoidance => 1,
                State::Loss => 2,
                State::Reduced => 3,
            };
            let pace = law.pace(now).expect("it always paces");
            words.note(&[pace, law.packets, law.burst, law.packet_bytes, law.rate, law.window]);
            words.note(&[law.alpha as u64, law.rounds_to_growth as u64, state]);
        }
    }
    words.digest
}

/// The digests are those of udp_prague's prague_cc.cpp (e8e3435), driven by the same numbers: 10^6
/// flows of 20 ACKs, and 2000 of 5000.
#[test]
fn every_ack_comes_out_as_in_udp_prague() {
    assert_eq!(fuzzed(1_000_000, 20, 1), 0x030c_6be2_b93b_78b0);
    assert_eq!(fuzzed(2000, 5000, 2), 0xb556_70f3_ee80_d0b0);
}

/// One of those flows in full: the time [us], packets received, marked and lost so far, sent, the
/// RTT [us]; then rate [bytes/s], window [millionths of a byte], packets, alpha [2^-20] by
/// prague_cc.cpp.
#[test]
fn a_flow_in_full() {
    let mut law = Law::new(UDP, 10, 1);
    for (now, [received, marked, lost, sent], rtt, after) in [
        (19_052, [2, 0, 0, 40], 40_631, [33_666, 1_367_883_246, 3, 0]),
        (22_675, [3, 0, 0, 65], 47_237, [49_858, 2_066_913_248, 3, 0]),
        (56_079, [5, 1, 0, 39], 44_037, [65_807, 2_749_284_846, 3, 13_107]),
        (56_381, [7, 2, 0, 65], 43_337, [82_172, 3_448_923_184, 3, 13_107]),
        (91_125, [8, 3, 0, 18], 41_669, [82_246, 3_448_903_764, 3, 13_107]),
        (112_920, [9, 3, 0, 67], 49_956, [93_562, 4_017_178_032, 3, 13_107]),
        (140_250, [11, 5, 0, 73], 40_318, [94_282, 4_017_167_456, 3, 13_107]),
        (165_275, [14, 5, 0, 72], 49_042, [126_252, 5_480_851_824, 5, 13_107]),
        (195_245, [17, 5, 2, 69], 48_651, [62_189, 2_740_420_474, 3, 13_107]),
        (197_120, [19, 5, 2, 83], 41_042, [62_727, 2_740_417_176, 3, 13_107]),
        (209_360, [20, 6, 2, 44], 48_316, [61_907, 2_740_375_262, 3, 13_107]),
        (226_378, [25, 6, 2, 73], 47_383, [61_367, 2_740_343_385, 3, 13_107]),
    ] {
        law.on_rtt(rtt);
        law.on_ack(now, Counts { received, marked, lost, sent });
        assert_eq!([law.rate, law.window, law.packets, law.alpha as u64], after, "{now}");
    }
}

/// A flow at 50 ms that governs its window: 20 packets of 1000 B, 400,000 bytes/s.
fn at_20_packets() -> Law {
    let setting = Setting { packet_bytes: (1000, 1000), init_rate: 400_000, ..UDP };
    let mut law = Law::new(setting, 10, 0);
    law.on_rtt(50_000);
    law.on_ack(0, Counts { sent: 20, ..Counts::default() });
    assert_eq!((law.window, law.mode), (20_000_000_000, Mode::Window));
    law
}

/// By hand: an ACK adds 1000^2/20,000 = 50 bytes; at 10 ms, with 4 packets, 1000^2/4000 = 250 bytes
/// times (10/25)^2 = 40.
#[test]
fn an_ack_adds_a_packet_over_the_window() {
    let mut law = at_20_packets();
    law.on_ack(1000, Counts { received: 1, sent: 21, ..Counts::default() });
    // The rate is whole bytes/s, and the window follows from it.
    assert_eq!((law.rate, law.window), (401_000, 20_050_000_000));
    let setting = Setting { packet_bytes: (1000, 1000), init_rate: 400_000, ..UDP };
    let mut law = Law::new(setting, 10, 0);
    law.on_rtt(10_000);
    law.on_ack(0, Counts { sent: 4, ..Counts::default() });
    law.on_ack(1000, Counts { received: 1, sent: 5, ..Counts::default() });
    assert_eq!((law.rate, law.window), (404_000, 4_040_000_000));
}

/// By hand: a quarter of a round's packets marked with alpha = 0 is alpha = 1/64, 16,384/2^20,
/// which takes 1/128 off 400,000: 396,875 bytes/s; not again in that round. A loss halves.
#[test]
fn marks_reduce_by_half_of_alpha_and_losses_by_half() {
    let mut law = at_20_packets();
    // A window and 50 ms after the start: 15 unmarked add 15*50 bytes.
    let counts = Counts { received: 20, marked: 5, lost: 0, sent: 40 };
    law.on_ack(51_000, counts);
    assert_eq!(law.alpha, 16_384);
    // (20,000 + 750) (1 - 1/128) = 20,587.89 bytes; over 50 ms 411,757 bytes/s.
    assert_eq!((law.state, law.rate), (State::Reduced, 411_757));
    let more = Counts { received: 21, marked: 6, ..counts };
    law.on_ack(52_000, more);
    assert_eq!(law.rate, 411_757);
    law.on_ack(53_000, Counts { lost: 1, ..more });
    assert_eq!((law.state, law.rate), (State::Loss, 205_878));
    // It had only been reordered.
    law.on_ack(54_000, more);
    assert_eq!((law.state, law.rate), (State::Avoidance, 411_756));
}

/// 9 rounds: after 7 (and none for less than 15.36 Mb/s) the step is 1 ms of the rate, if that is
/// more than a packet: at 80 Mb/s 10,000 bytes, ten packets of 1000.
#[test]
fn growth_comes_after_quiet_rounds() {
    let setting = Setting { packet_bytes: (1000, 1000), init_rate: 10_000_000, ..UDP };
    for (growth, steps) in [(true, 10), (false, 1)] {
        let mut law = Law::new(Setting { growth, ..setting }, 10, 0);
        law.on_rtt(50_000);
        let mut counts = Counts { sent: 1, ..Counts::default() };
        law.on_ack(0, counts);
        // 10e6/1.92e6 = 5 rounds more.
        assert_eq!(law.rounds_to_growth, 12);
        law.rounds_to_growth = 0;
        let before = law.window;
        counts.received = 1;
        law.on_ack(1000, counts);
        // 1000 * 1000/500,000 = 2 bytes per step; rates are whole bytes/s, 0.05 bytes of window.
        assert_eq!(law.window - before, steps * 2_000_000, "{growth}");
    }
}

#[test]
fn it_paces_above_the_rate_and_then_below() {
    let mut prague = Prague::new(&PragueParams::default(), &sender_context(10.0));
    assert_eq!((prague.cwnd(), prague.ecn()), (10.0, EcnUse::Codes(Ecn::Ect1)));
    assert!(prague.counts_marks());
    prague.on_ack(&ack_after(ms(40), Span::from_millis(40)));
    // 40 ms of 12,500 bytes/s are half a packet: the rate is governed. One ACK adds
    // (1000*10^6/40,000)/(12,500*40,000/10^9) to the nearest whole: 25,000/1.
    assert_eq!(prague.law.rate, 37_500);
    // A round began with this ACK, and is half over 20 ms later.
    assert_eq!(prague.pacing(), Some(Rate(38_625 * 8)));
    assert_eq!(prague.next_timer(), ms(60));
    prague.on_timer(ms(60));
    assert_eq!(prague.pacing(), Some(Rate(36_407 * 8)));
    assert_eq!(prague.next_timer(), Time::NEVER);
    prague.on_loss(&Loss { now: ms(50), ..loss(LossKind::Timeout, 1) });
    assert_eq!((prague.cwnd(), prague.next_timer()), (2.0, ms(70)));
    assert_eq!(prague.pacing(), Some(Rate(12_875 * 8)));
    prague.on_timer(ms(70));
    assert_eq!(prague.pacing(), Some(Rate(12_135 * 8)));
}

/// tcp_prague's: the window doubles per RTT until a mark. alpha, 1 at the start, is 15/16 after a
/// round without one: 500,000 bytes/s times 1 - 15/32 are 265,625.
#[test]
fn slow_start_ends_with_a_mark() {
    let params =
        PragueParams { alpha_0: 1.0, growth: false, slow_start: true, ..PragueParams::default() };
    let mut prague = Prague::new(&params, &sender_context(10.0));
    assert_eq!(prague.pacing(), None);
    let acked = |at| ack_after::<()>(ms(at), Span::from_millis(40));
    for _ in 0..10 {
        prague.on_send(&crate::tests::departing());
        prague.on_ack(&acked(40));
    }
    // 20 packets and 3 %, and one, rounded down; twice 500,000 bytes/s.
    assert_eq!(prague.cwnd(), 21.0);
    assert_eq!(prague.pacing(), Some(Rate(8_000_000)));
    prague.on_ack(&Ack { code: Ecn::Ce, marks: 1, ..acked(41) });
    assert_eq!(prague.law.rate, 265_625);
}

/// Rounds end by what was sent: ten packets are out when the first ACK ends the first round, so the
/// next one is over with the eleventh ACK, ten of which are marked: alpha = (1 - 0)/16.
#[test]
fn a_round_is_over_with_what_was_sent_in_it() {
    let mut prague = Prague::new(&PragueParams::default(), &sender_context(10.0));
    (0..10).for_each(|_| prague.on_send(&crate::tests::departing()));
    let acked = |at| ack_after::<()>(ms(at), Span::from_millis(40));
    prague.on_ack(&acked(40));
    prague.on_send(&crate::tests::departing());
    for i in 2..=11 {
        assert_eq!(prague.law.alpha, 0, "{i}");
        prague.on_ack(&Ack { code: Ecn::Ce, marks: 1, ..acked(80 + i) });
    }
    assert_eq!(prague.law.alpha, 65_536);
}

/// What the timer gave up counts as lost with the next ACK, which halves rather than adds: half of
/// 12,500 bytes/s is below the least rate, 12,500. Of two packets delivered no three can be marked.
#[test]
fn what_a_timeout_gives_up_is_lost() {
    let mut prague = Prague::new(&PragueParams::default(), &sender_context(10.0));
    prague.on_ack(&ack_after(ms(40), Span::from_millis(40)));
    prague.on_loss(&Loss { now: ms(500), lost: 5, ..loss(LossKind::Timeout, 5) });
    prague.on_ack(&ack_after(ms(540), Span::from_millis(40)));
    assert_eq!((prague.law.state, prague.law.rate), (State::Loss, 12_500));
    assert_eq!((prague.counts.received, prague.counts.lost), (2, 5));
    prague.on_ack(&Ack { delivered: 2, marks: 3, lost: 1, ..ack_after(ms(541), Span::ZERO) });
    let counts = prague.counts;
    assert_eq!((counts.received, counts.marked, counts.lost), (4, 2, 6));
    // Duplicate ACKs are told of by the ACKs' own counts.
    prague.on_loss(&Loss { now: ms(542), lost: 9, ..loss(LossKind::DupAcks, 5) });
    assert_eq!(prague.counts.lost, 6);
}

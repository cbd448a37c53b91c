//! The end hosts' part.

use super::super::*;
use crate::explicit::load::dpcp::{DpcpRouter, DpcpRouterParams, level};

use crate::roles::LossKind;
use crate::roles::{Backlog, Passing, Router};
use crate::tests::{ack_after, departing, loss, ms, near, passing, router_context, sender_context};
use Ecn::{Ce, Ect0, Ect1, NotCapable};
use Part::{Lsp, Msp};
use units::Time;
use units::random::Stream;

/// A stream of its own for each number.
fn stream(number: u32) -> Stream {
    let mut stream = sender_context(1.0).stream;
    (0..number).for_each(|_| {
        stream.bits();
    });
    stream
}

fn sender(params: &DpcpSenderParams, cwnd: f64) -> DpcpSender {
    DpcpSender::new(params, &sender_context(cwnd))
}

fn at(cwnd: f64) -> DpcpSender {
    sender(&DpcpSenderParams::default(), cwnd)
}

/// An ACK of `part` with `code` after an RTT of `rtt` ms; by how much the window changes.
fn ack(s: &mut DpcpSender, now: u64, rtt: u64, part: Part, code: Ecn) -> f64 {
    let before = s.cwnd();
    s.on_send(&Departing { seq: s.wire.nxt, ..departing() });
    let numbers = Numbers { seq: s.wire.peer, ack: s.wire.track.at(s.wire.una + 1) };
    let header = DpcpHeader::order(part, numbers);
    s.on_ack(&Ack { header, code, ..ack_after(ms(now), Span::from_millis(rtt)) });
    assert_eq!(s.wire.misread, 0);
    s.cwnd() - before
}

/// xi at the upper edges (experiment dpcp-tab1-c3), at an RTT of t_rho, where alpha_s is 1.
#[test]
fn below_full_load_both_increases_go_together() {
    // 0.25*(1 - rho)/rho for 0.2, 0.4, 0.8, 0.85, 0.95 and 1.
    let xi = [1.0, 0.375, 0.0625, 0.25 * 0.15 / 0.85, 0.25 * 0.05 / 0.95, 0.0];
    for (i, xi) in xi.into_iter().enumerate() {
        let mut s = at(8.0);
        let (msp, lsp) = ([Ect1, Ect0][i / 3], [Ect1, Ect0, Ce][i % 3]);
        // The MSP alone is taken for the highest level of its zone, at the first ACK.
        let edge = [0.0625, 0.0][i / 3];
        assert!(near(ack(&mut s, 0, 200, Msp, msp), edge + 1.0 / 8.0), "{i}");
        let cwnd = s.cwnd();
        let step = ack(&mut s, 1, 200, Lsp, lsp);
        assert!((step - (xi + 1.0 / cwnd)).abs() < 1e-8, "{i}: {step}");
        // The next MSP makes the second half 11 again.
        ack(&mut s, 2, 200, Msp, msp);
        assert_eq!((s.load.digits[0], s.load.digits[1]), (msp as u8, 3));
    }
}

#[test]
fn long_and_short_rtts_scale_the_increases_within_bounds() {
    let step = |bounds, rtt| {
        let mut s = sender(&DpcpSenderParams { bounds, ..Default::default() }, 4.0);
        ack(&mut s, 0, rtt, Msp, Ect1);
        s.vcp.cwnd = 4.0;
        ack(&mut s, 1, rtt, Lsp, Ect1)
    };
    let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-8, "{a} {b}");
    // 1 s is 5 periods: 2^2.5 - 1, and (5 - 2.5) + 2.5^2 over 4; without bounds 2^5 - 1 and 5^2.
    close(step(true, 1000), 5.656_854_249_492_38 - 1.0 + 8.75 / 4.0);
    close(step(false, 1000), 31.0 + 25.0 / 4.0);
    // 400 ms is inside: 2^2 - 1 and 2^2. 10 ms: 2^0.05 - 1, and 0.05*0.1 or 0.05^2.
    close(step(true, 400), 3.0 + 1.0);
    close(step(true, 10), 0.035_264_923_841_377_58 + 0.005 / 4.0);
    close(step(false, 10), 0.035_264_923_841_377_58 + 0.0025 / 4.0);
}

#[test]
fn overload_cuts_at_once_and_the_lsp_corrects_it() {
    for (lsp, after) in [(Ect1, 87.5), (Ect0, 60.0), (Ce, 43.0)] {
        let mut s = at(100.0);
        ack(&mut s, 1000, 80, Msp, Ce);
        assert_eq!(s.cwnd(), 43.0);
        ack(&mut s, 1199, 80, Lsp, lsp);
        assert!(near(s.cwnd(), after), "{lsp:?} {}", s.cwnd());
        // No second correction, and no second cut within t_rho.
        for (at, part) in [(1199, Msp), (1199, Lsp)] {
            assert_eq!(ack(&mut s, at, 80, part, Ce), 0.0);
        }
        // Then AI for one RTT: alpha_s = 0.4^2, whatever comes.
        for (at, part, code) in [(1200, Msp, Ce), (1240, Lsp, Ce), (1279, Msp, Ect1)] {
            let cwnd = s.cwnd();
            assert!(near(ack(&mut s, at, 80, part, code), 0.16 / cwnd));
        }
        // An LSP of overload whose MSP came before does not cut; the next MSP does.
        s.load.digits[0] = 3;
        assert_eq!(ack(&mut s, 1280, 80, Lsp, Ce), 0.0);
        let cwnd = s.cwnd();
        assert!(near(ack(&mut s, 1281, 80, Msp, Ce), 0.43 * cwnd - cwnd));
    }
    // Never below a packet.
    let mut s = at(1.5);
    ack(&mut s, 0, 80, Msp, Ce);
    assert_eq!(s.cwnd(), 1.0);
    ack(&mut s, 0, 80, Lsp, Ect1);
    assert!(near(s.cwnd(), 1.3125));
}

#[test]
fn a_late_or_lost_lsp_or_a_loss_leaves_the_strongest_cut() {
    // The LSP comes 200 ms after the cut: the freeze is over.
    let mut s = at(100.0);
    ack(&mut s, 1000, 80, Msp, Ce);
    assert!(near(ack(&mut s, 1200, 80, Lsp, Ect1), 0.16 / 43.0));
    // Another MSP comes first, so the next LSP belongs to that.
    let mut s = at(100.0);
    ack(&mut s, 1000, 80, Msp, Ce);
    ack(&mut s, 1001, 80, Msp, Ce);
    assert_eq!(ack(&mut s, 1002, 80, Lsp, Ect1), 0.0);
    assert_eq!((s.cwnd(), s.fall_back.exceptions), (43.0, 1));
    // A loss in between (D8).
    let mut s = at(100.0);
    ack(&mut s, 1000, 80, Msp, Ce);
    s.on_loss(&loss(LossKind::DupAcks, 100));
    assert_eq!(ack(&mut s, 1002, 80, Lsp, Ect1), 0.0);
    assert_eq!(s.cwnd(), 21.5);
}

/// Experiment dpcp-tab1-c2, and the note on it: from a level's upper edge the cut ends in high
/// load, from its lower edge it may end in low load.
#[test]
fn a_cut_from_the_upper_edge_ends_in_high_load() {
    for (edge, md, after) in [(1.05, md(1.05), 0.91875), (1.4, md(1.4), 0.84), (2.0, md(2.0), 0.86)]
    {
        assert!(near(edge * md, after) && level(edge * md).0 == Ect0);
    }
    assert!(level(1.05 * md(1.4)).0 == Ect1 && level(1.4 * md(2.0)).0 == Ect1);
}

#[test]
fn losses_are_answered_as_by_reno_or_not_at_all() {
    let mut s = at(9.0);
    s.on_loss(&loss(LossKind::DupAcks, 9));
    assert_eq!(s.cwnd(), 4.5);
    s.on_loss(&loss(LossKind::Timeout, 9));
    assert_eq!(s.cwnd(), 1.0);
    let mut s = sender(&DpcpSenderParams { decoupled_loss: true, ..Default::default() }, 9.0);
    for kind in [LossKind::DupAcks, LossKind::Timeout] {
        s.on_loss(&loss(kind, 9));
    }
    assert_eq!(s.cwnd(), 9.0);
}

/// Section III-D: the higher of two MSPs; a second LSP counts for nothing.
#[test]
fn parts_out_of_turn() {
    let mut s = at(8.0);
    // A first LSP has no MSP: 01 and 11.
    ack(&mut s, 0, 200, Lsp, Ect1);
    assert_eq!((s.load.digits[0], s.load.digits[1], s.fall_back.exceptions), (1, 3, 1));
    let mut hear = |part, code| {
        ack(&mut s, 0, 200, part, code);
        (s.load.digits[0], s.load.digits[1], s.fall_back.exceptions, s.fall_back.downgrades)
    };
    assert_eq!(hear(Msp, Ect0), (2, 3, 1, 0));
    assert_eq!(hear(Msp, Ect1), (2, 3, 2, 0));
    assert_eq!(hear(Lsp, Ect0), (2, 2, 2, 0));
    assert_eq!(hear(Lsp, Ect1), (2, 3, 3, 0));
    assert_eq!(hear(Msp, Ect1), (1, 3, 3, 0));
    assert_eq!(hear(Msp, Ect0), (2, 3, 4, 0));
    assert_eq!(hear(Lsp, Ce), (2, 3, 4, 0));
    // An ACK that is not capable is none of them.
    assert_eq!(hear(Lsp, NotCapable), (2, 3, 4, 0));
    assert_eq!(hear(Msp, Ect1), (1, 3, 4, 0));
}

fn sent(s: &mut DpcpSender) -> Part {
    s.on_send(&Departing { seq: s.wire.nxt, ..departing() }).part()
}

#[test]
fn three_in_a_row_make_it_vcp_for_ten_rtts_and_four_times_for_good() {
    let mut s = at(1000.0);
    assert_eq!([sent(&mut s), sent(&mut s), sent(&mut s)], [Msp, Lsp, Msp]);
    let mut now = 0;
    for time in 1..=4 {
        let parts = if time % 2 == 0 { [Lsp, Lsp, Lsp] } else { [Msp, Msp, Msp] };
        s.load.come = if time % 2 == 0 { 1 } else { 2 };
        for part in parts {
            assert_eq!(s.fall_back.mode, Mode::Pairs);
            ack(&mut s, now, 100, part, Ect0);
            now += 1;
        }
        assert_eq!(s.fall_back.downgrades, time);
        // Every packet is an MSP, in whatever order the numbers are.
        assert_eq!([sent(&mut s), sent(&mut s), sent(&mut s)], [Msp; 3]);
        // One on its way (D5), VCP's codes, and no exceptions.
        let before = s.fall_back.exceptions;
        assert_eq!(ack(&mut s, now, 100, Lsp, Ce), 0.0);
        let cwnd = s.cwnd();
        assert!(near(ack(&mut s, now, 100, Msp, Ect0), 0.25 / cwnd));
        assert!((ack(&mut s, now, 100, Msp, Ect1) - 0.030_776).abs() < 1e-6); // 1.0625^0.5 - 1
        assert_eq!(s.fall_back.exceptions, before);
        if time == 4 {
            break;
        }
        // The third ACK came a millisecond before: 10*100 ms after it pairs are sent again.
        ack(&mut s, now + 998, 100, Msp, Ect0);
        assert_eq!(sent(&mut s), Msp);
        ack(&mut s, now + 999, 100, Msp, Ect0);
        assert_eq!(s.fall_back.mode, Mode::Resuming);
        assert_eq!([sent(&mut s), sent(&mut s), sent(&mut s)], [Msp, Lsp, Msp]);
        // MSPs of the time before do not count, and the first LSP completes the last of them.
        (0..5).for_each(|_| assert!(ack(&mut s, now + 1000, 100, Msp, Ect0) > 0.0));
        ack(&mut s, now + 1001, 100, Lsp, Ect0);
        assert_eq!(
            (s.fall_back.mode, s.load.digits[0], s.load.digits[1], s.fall_back.in_row),
            (Mode::Pairs, 2, 2, 1)
        );
        now += 2000;
    }
    assert_eq!(s.fall_back.mode, Mode::Settled);
    ack(&mut s, now + 1_000_000, 100, Msp, Ect0);
    assert_eq!((s.fall_back.mode, sent(&mut s)), (Mode::Settled, Msp));
}

/// Downgraded it is VCP, bit by bit, whatever comes.
#[test]
fn the_fall_back_is_vcp_itself() {
    let mut stream = stream(0);
    for (rtt, pacing) in [(10, 0.0), (80, 0.0), (200, 1.2), (350, 0.0), (900, 0.0)] {
        let spacing = SpacingParams { pacing, ..Default::default() };
        let params = DpcpSenderParams { spacing: spacing.clone(), ..Default::default() };
        let mut s = DpcpSender::new(&params, &sender_context(20.0));
        s.fall_back.mode = Mode::Settled;
        let params = VcpSenderParams { spacing, ..Default::default() };
        let mut vcp = VcpSender::new(&params, &sender_context(20.0));
        let mut now = 0;
        for _ in 0..3000 {
            now += stream.bits() % 40;
            let code = [Ect1, Ect0, Ce, Ect0, NotCapable][stream.bits() as usize % 5];
            let rtt = rtt + stream.bits() % 20;
            ack(&mut s, now, rtt, Msp, code);
            vcp.on_ack(&Ack { code, ..ack_after(ms(now), Span::from_millis(rtt)) });
            if stream.chance(0.01) {
                s.on_loss(&loss(LossKind::DupAcks, 9));
                vcp.on_loss(&loss(LossKind::DupAcks, 9));
            }
            assert_eq!((s.cwnd(), s.pacing()), (vcp.cwnd(), vcp.pacing()));
        }
    }
}

/// A path of routers at fixed levels, and the two hosts at its ends.
struct Path {
    sender: DpcpSender,
    receiver: DpcpReceiver,
    routers: [Option<DpcpRouter>; 5],
}

/// What one packet of the path becomes: the ACK's header and code.
fn cross(path: &mut Path, segment: u64, expected: u64, size: u32) -> Feedback<DpcpHeader> {
    let mut header = path.sender.on_send(&Departing { seq: segment, size, ..departing() });
    let mut ecn = Ect1;
    let at_start = header;
    for router in path.routers.iter_mut().flatten() {
        let packet = Passing { header: Some(&mut header), ..passing(&mut ecn) };
        router.on_departure(Time::ZERO, packet, Backlog::default());
    }
    // Routers tell nothing but by the two bits.
    assert_eq!(header, at_start);
    path.receiver.on_data(&Arrived {
        now: Time::ZERO,
        seq: segment,
        expected,
        size,
        header,
        ecn,
        pending: None,
    })
}

fn path(loads: &[f64]) -> Path {
    let context = sender_context(1.0);
    let params = DpcpSenderParams::default();
    let router = |rho: &f64| {
        let context = router_context(Rate(1_000_000), 100);
        let mut router = DpcpRouter::new(&DpcpRouterParams::default(), &context);
        router.marks.level = level(*rho);
        router
    };
    Path {
        sender: DpcpSender::new(&params, &context),
        receiver: DpcpSender::receiver(&params, &context),
        routers: core::array::from_fn(|i| loads.get(i).map(router)),
    }
}

/// Experiment dpcp-alg2-c1: after a pair, the level is that of the most loaded link.
#[test]
fn the_sender_learns_the_level_of_the_most_loaded_link() {
    let mut stream = stream(1);
    for draw in 0..1000 {
        let count = [1, 2, 3, 5][draw % 4];
        let loads: [f64; 5] = core::array::from_fn(|_| stream.uniform(0.0, 2.2));
        let loads = &loads[..count];
        let mut path = path(loads);
        for segment in 0..2 {
            let back = cross(&mut path, segment, segment + 1, 1000);
            let Feedback { header, code } = back;
            path.sender.on_ack(&Ack { header, code, ..ack_after(ms(0), Span::from_millis(200)) });
        }
        let most = level(loads.iter().copied().fold(0.0, f64::max));
        let s = &path.sender;
        assert_eq!((s.load.digits[0], s.load.digits[1]), (most.0 as u8, most.1 as u8), "{loads:?}");
        assert_eq!((s.wire.misread, s.fall_back.exceptions), (0, 0));
    }
}

/// Experiment dpcp-alg1 through both hosts: the parts alternate, and the numbers come back right
/// though the first ones are anything, wrap round, meet each other, and packets get lost or
/// overtake each other; a short last segment included.
#[test]
fn both_hosts_read_each_other_from_any_first_numbers() {
    let mut stream = stream(2);
    let mut stale = 0;
    for draw in 0..600_u32 {
        let mut path = path(&[0.9]);
        let first = if draw % 3 == 0 { u32::MAX - 40_000 } else { stream.bits() as u32 };
        // In the way of the data, a segment's first byte, or anywhere.
        let own = match draw % 4 {
            0 => first.wrapping_add(960 * (stream.bits() % 100) as u32),
            1 => first.wrapping_add((stream.bits() % 96_000) as u32),
            2 => first,
            _ => stream.bits() as u32,
        };
        path.sender.wire.track.first = first;
        path.sender.wire.peer = own.max(1);
        path.receiver.next = first;
        path.receiver.own = own.max(1);
        let mut held = None;
        let mut here = [false; 101];
        for segment in 0..100 {
            let turn = match stream.bits() % 10 {
                0 if held.is_none() && segment < 99 => {
                    held = Some(segment);
                    [None, None]
                }
                1 => [Some(segment), held.take()],
                _ => [Some(segment), None],
            };
            for segment in turn.into_iter().flatten() {
                let size = if segment == 99 { 500 } else { 1000 };
                let before = here.iter().position(|&got| !got).unwrap() as u64;
                here[segment as usize] = true;
                let expected = here.iter().position(|&got| !got).unwrap() as u64;
                let back = cross(&mut path, segment, expected, size);
                stale += u32::from(back.header.stale);
                let acked = (expected - before) as u32;
                path.sender.on_ack(&Ack {
                    header: back.header,
                    code: back.code,
                    acked,
                    ..ack_after(ms(0), Span::from_millis(200))
                });
                assert_eq!(path.sender.wire.misread, 0, "{draw}: {segment}");
            }
        }
        assert_eq!(path.sender.wire.una, held.unwrap_or(100));
    }
    assert!(stale > 100, "{stale}");
}

/// The two ends know each other's numbers from the start, as after a handshake.
#[test]
fn both_ends_start_from_the_same_numbers() {
    let mut seen = [0; 3];
    for (i, first) in (0..).zip(&mut seen) {
        let context = SenderContext { stream: stream(i), ..sender_context(1.0) };
        let params = DpcpSenderParams { gap: 960.0, ..Default::default() };
        for (params, gap) in [(DpcpSenderParams::default(), None), (params, Some(960))] {
            let s = DpcpSender::new(&params, &context);
            let r = DpcpSender::receiver(&params, &context);
            assert_eq!((r.next, r.own), (s.first_byte(), s.wire.peer));
            assert!(gap.is_none_or(|gap| s.wire.peer.wrapping_sub(s.first_byte()) == gap));
            *first = s.first_byte();
        }
    }
    assert!(seen[0] != seen[1] && seen[1] != seen[2]);
}

/// D7.
#[test]
fn an_ack_of_several_packets_takes_back_the_highest_msp() {
    let answer = |parts: [(Part, Ecn); 2]| {
        let mut path = path(&[]);
        let mut pending = None;
        for (i, (part, ecn)) in parts.into_iter().enumerate() {
            let numbers =
                Numbers { seq: path.sender.wire.track.at(i as u64), ack: path.sender.wire.peer };
            let back = path.receiver.on_data(&Arrived {
                now: Time::ZERO,
                seq: i as u64,
                expected: i as u64 + 1,
                size: 1000,
                header: DpcpHeader::order(part, numbers),
                ecn,
                pending,
            });
            pending = Some(back);
        }
        let back = pending.unwrap();
        path.sender.wire.nxt = 2;
        let Feedback { header, code } = back;
        path.sender.on_ack(&Ack { header, code, acked: 2, ..ack_after(ms(0), Span::ZERO) });
        assert_eq!(path.sender.wire.misread, 0);
        (header.part(), code)
    };
    assert_eq!(answer([(Msp, Ect1), (Lsp, Ce)]), (Msp, Ect1));
    assert_eq!(answer([(Lsp, Ce), (Msp, Ect0)]), (Msp, Ect0));
    assert_eq!(answer([(Msp, Ce), (Msp, Ect0)]), (Msp, Ce));
    assert_eq!(answer([(Lsp, Ce), (Lsp, Ect0)]), (Lsp, Ect0));
}

/// Both first numbers are random unless a gap is told, of which 0 is a tie (section III-B).
#[test]
fn a_gap_is_between_the_first_numbers() {
    let first = |gap| {
        let params = DpcpSenderParams { gap, ..Default::default() };
        let Numbers { seq, ack } = handshake(&params, &sender_context(1.0));
        ack.wrapping_sub(seq)
    };
    assert_eq!([0.0, 1.0, 960.0, 2_147_483_648.0].map(first), [0, 1, 960, 1 << 31]);
    assert!(![0, u32::MAX].contains(&first(-1.0)));
}

/// Section III-B: an ACK's numbers, put in order again, are the one acknowledged and the one
/// that the peer has; either alone may be wrong. One that overtook others acknowledges less.
#[test]
fn numbers_that_no_peer_would_send_are_counted() {
    let misread = |acked: u32, behind: u32, off: u32| {
        let mut s = at(8.0);
        for seq in 0..4 {
            s.on_send(&Departing { seq, ..departing() });
        }
        let ack = s.wire.track.at(u64::from(acked)).wrapping_sub(behind);
        let numbers = Numbers { seq: s.wire.peer.wrapping_add(off), ack };
        let header = DpcpHeader::order(Msp, numbers);
        let ack = ack_after(ms(0), Span::from_millis(200));
        s.on_ack(&Ack { header, acked, code: Ect1, ..ack });
        s.wire.misread
    };
    assert_eq!((misread(1, 0, 0), misread(0, 1000, 0)), (0, 0));
    assert_eq!((misread(1, 500, 0), misread(1, 0, 5)), (1, 1));
    assert_eq!((misread(0, (1 << 31) - 1, 0), misread(0, 1 << 31, 0)), (0, 1));
}

/// A sender that falls back at an MSP takes that MSP's zone, and not the larger of two that came
/// in a row.
#[test]
fn the_msp_at_which_it_falls_back_counts() {
    let mut s = at(8.0);
    s.fall_back.after = 2;
    ack(&mut s, 0, 200, Msp, Ect0);
    ack(&mut s, 1, 200, Msp, Ect1);
    assert!(matches!(s.fall_back.mode, Mode::Vcp(_)));
    assert_eq!(s.load.digits[0], Ect1 as u8);
}

//! RACK-TLP and PRR, rule by rule, with numbers worked by hand from RFC 8985 and RFC 9937.

use cc::registry::Recovery;
use cc::roles::LossKind;
use clearpipe_transport::{AckIn, AckOutcome, Config, LossEvent, Outbound, Range};
use units::{Span, Time};

fn at(milliseconds: u64) -> Time {
    Time::ZERO + Span::from_millis(milliseconds)
}

fn sender(total: Option<u64>, prr: bool) -> Outbound {
    let config = Config { recovery: Recovery::Rack, prr, ..Config::default() };
    Outbound::new(&config, total)
}

/// Sends all that the window allows; the segments' numbers.
fn send(sender: &mut Outbound, now: Time, window: u64) -> Vec<u64> {
    let mut sent = Vec::new();
    while let Some(segment) = sender.next_segment(now, window) {
        sender.on_sent(now);
        sent.push(segment.seq);
    }
    sent
}

/// An ACK, with an RTT sample if there is one [ms].
fn ack(
    sender: &mut Outbound,
    now: Time,
    cumulative: u64,
    blocks: &[(u64, u64)],
    rtt: Option<u64>,
) -> AckOutcome {
    let sack: Vec<Range> = blocks.iter().map(|&(start, end)| Range { start, end }).collect();
    let rtt = rtt.map(Span::from_millis);
    sender.on_ack(now, &AckIn { cumulative, sack: &sack, rtt, ece: false })
}

fn dup_acks(in_flight: u32, lost: u32) -> Option<LossEvent> {
    Some(LossEvent { kind: LossKind::DupAcks, in_flight, lost, repeated: false })
}

/// One segment and its ACK after 100 ms: SRTT = min_RTT = 100 ms, RTO 1 s, and 1 to 10 go out.
fn warmed(total: Option<u64>, prr: bool) -> Outbound {
    let mut tcp = sender(total, prr);
    assert_eq!(send(&mut tcp, at(0), 1), [0]);
    ack(&mut tcp, at(100), 1, &[], Some(100));
    assert_eq!(send(&mut tcp, at(100), 10), (1..=10).collect::<Vec<_>>());
    tcp
}

/// Three segments SACKed make the reordering window nothing while no reordering was seen: at the
/// third SACK segment 1, sent before them a round trip ago, is lost.
#[test]
fn the_third_sack_finds_a_loss() {
    let mut tcp = warmed(None, false);
    for (time, end) in [(200, 3), (201, 4)] {
        assert_eq!(ack(&mut tcp, at(time), 1, &[(2, end)], Some(100)).loss, None);
        // Limited transmit by the pipe: one more for one SACKed.
        assert_eq!(send(&mut tcp, at(time), 10), [end + 8]);
    }
    let outcome = ack(&mut tcp, at(202), 1, &[(2, 5)], Some(100));
    // Twelve are out, two of them by limited transmit.
    assert_eq!((outcome.loss, outcome.lost), (dup_acks(10, 1), 1));
    assert!(outcome.recovering);
    // 12 - 3 SACKed - 1 lost in flight; the lost one goes out whatever the window.
    assert_eq!(tcp.in_flight(), 8);
    assert_eq!(send(&mut tcp, at(202), 5), [1]);
    assert_eq!(tcp.in_flight(), 9);
    // The ACK of all that was out ends it.
    assert!(!ack(&mut tcp, at(302), 13, &[], None).recovering);
}

/// One SACK alone: a quarter of min_RTT to wait. Segment 1 left at 100 ms; RTT 100 ms, and so it is
/// lost at 100 + 100 + 25 ms, by the timer.
#[test]
fn a_lone_sack_waits_for_the_reordering_window() {
    let mut tcp = warmed(None, false);
    assert_eq!(ack(&mut tcp, at(200), 1, &[(2, 3)], Some(100)).loss, None);
    assert_eq!(tcp.deadline(), at(225));
    let loss = tcp.on_timer(at(225));
    assert_eq!(loss, dup_acks(10, 1));
    assert_eq!(send(&mut tcp, at(225), 1), [1]);
    // Next is the retransmission timer, 1 s after the last cumulative ACK.
    assert_eq!(tcp.deadline(), at(1100));
}

/// Segment 1 comes 10 ms after 2: nothing is lost, and from then on three SACKs alone are no
/// evidence, for there is reordering.
#[test]
fn reordering_within_the_window_is_no_loss() {
    let mut tcp = warmed(None, false);
    ack(&mut tcp, at(200), 1, &[(2, 3)], Some(100));
    let outcome = ack(&mut tcp, at(210), 3, &[], Some(110));
    assert_eq!((outcome.loss, outcome.delivered), (None, 1));
    send(&mut tcp, at(210), 10);
    // 4, 5 and 6 are SACKed, 3 is not: it left at 100 ms. The RTT is 111 ms, min_RTT 100.
    let outcome = ack(&mut tcp, at(211), 3, &[(4, 7)], Some(111));
    assert_eq!(outcome.loss, None);
    assert_eq!(tcp.deadline(), at(100 + 111 + 25));
    assert_eq!(tcp.on_timer(at(236)), dup_acks(10, 1));
}

/// A retransmission is lost: what was sent after it arrives, and it is sent again, without a
/// timeout. The controller hears of one loss only.
#[test]
fn a_lost_retransmission_is_found() {
    let mut tcp = warmed(None, false);
    let outcome = ack(&mut tcp, at(200), 1, &[(2, 5)], Some(100));
    assert_eq!(outcome.loss, dup_acks(10, 1));
    // Ten are out, three SACKed; the window has room for two more.
    assert_eq!(send(&mut tcp, at(200), 9), [1, 11, 12]);
    // The rest of the first flight; then 11, sent after the retransmission of 1.
    let outcome = ack(&mut tcp, at(201), 1, &[(2, 11)], Some(100));
    assert_eq!((outcome.loss, outcome.lost), (None, 0));
    send(&mut tcp, at(201), 3);
    let outcome = ack(&mut tcp, at(300), 1, &[(2, 12)], Some(100));
    assert_eq!((outcome.loss, outcome.lost), (None, 1));
    assert_eq!(send(&mut tcp, at(300), 3)[0], 1);
    assert_eq!((tcp.timeouts(), tcp.fast_retransmits()), (0, 1));
}

/// An ACK of a retransmission and of what was sent long before: the RTT is that of the segment sent
/// last, 100 ms, not the 210 ms of the highest. So segment 1, sent again at 200 ms and before 2, is
/// lost at 300.
#[test]
fn the_rtt_is_that_of_the_segment_sent_last() {
    let mut tcp = warmed(None, false);
    assert_eq!(ack(&mut tcp, at(200), 1, &[(3, 6)], Some(100)).loss, dup_acks(10, 2));
    assert_eq!(send(&mut tcp, at(200), 1), [1]);
    assert_eq!(send(&mut tcp, at(210), 7), [2]);
    let outcome = ack(&mut tcp, at(310), 1, &[(2, 11)], Some(100));
    assert_eq!((outcome.delivered, outcome.lost), (6, 1));
    assert_eq!(send(&mut tcp, at(310), 2)[0], 1);
}

/// Segments 11 and 12, sent in the recovery of 1, are lost with its retransmission. The second one
/// of 1 ends that recovery; 11 and 12 are losses of another window, and begin a second one.
#[test]
fn losses_of_what_recovery_has_sent_begin_another() {
    let mut tcp = warmed(None, true);
    assert_eq!(ack(&mut tcp, at(200), 1, &[(2, 5)], Some(100)).loss, dup_acks(10, 1));
    assert_eq!(send(&mut tcp, at(200), 9), [1, 11, 12]);
    ack(&mut tcp, at(210), 1, &[(2, 11)], Some(100));
    assert_eq!(send(&mut tcp, at(210), 9), (13..=18).collect::<Vec<_>>());
    let outcome = ack(&mut tcp, at(310), 1, &[(2, 11), (13, 19)], Some(100));
    assert_eq!((outcome.loss, outcome.lost), (None, 3));
    assert_eq!(send(&mut tcp, at(310), 3), [1, 11, 12]);
    let outcome = ack(&mut tcp, at(410), 11, &[(13, 19)], None);
    // 11 to 18 are out.
    assert_eq!((outcome.loss, outcome.lost), (dup_acks(8, 2), 0));
    assert!(outcome.recovering);
    assert!(!ack(&mut tcp, at(411), 19, &[], None).recovering);
    assert_eq!(tcp.fast_retransmits(), 2);
}

/// Section 3.2's example in small: of ten segments the last three are lost. Two SRTTs after the
/// last ACK the highest goes out again; its SACK shows the two before it lost, and they are mended
/// in fast recovery, without a timeout.
#[test]
fn the_tail_is_probed_and_mended() {
    let mut tcp = warmed(Some(11), false);
    // 1 to 7 arrive; 8 to 10 do not.
    let outcome = ack(&mut tcp, at(200), 8, &[], Some(100));
    assert_eq!(outcome.delivered, 7);
    assert_eq!(send(&mut tcp, at(200), 10), [0; 0]);
    assert_eq!(tcp.deadline(), at(200 + 2 * 100));
    assert_eq!(tcp.on_timer(at(400)), None);
    assert_eq!(send(&mut tcp, at(400), 1), [10]);
    // The retransmission timer is in the probe's place: 1 s from the probe.
    assert_eq!(tcp.deadline(), at(1400));
    let outcome = ack(&mut tcp, at(500), 8, &[(10, 11)], None);
    // The probe left at 400 ms, 8 and 9 at 100: lost after 100 + RTT 100 + 25 ms.
    assert_eq!((outcome.loss, outcome.lost), (dup_acks(3, 2), 2));
    assert_eq!(send(&mut tcp, at(500), 10), [8, 9]);
    let outcome = ack(&mut tcp, at(600), 11, &[], None);
    assert!(outcome.finished && !outcome.recovering);
    assert_eq!((tcp.timeouts(), tcp.deadline()), (0, Time::NEVER));
}

/// The least sample is of a segment that waited behind another, 100 ms; the probe, alone, is back
/// after 99. By its timestamp that is the path's RTT, and no sign of the first copy: what was sent
/// before the probe is lost at once.
#[test]
fn a_probe_that_is_back_sooner_than_any_sample_counts_by_its_timestamp() {
    for timestamps in [false, true] {
        let mut tcp = warmed(Some(11), false);
        let probe = tcp.deadline();
        assert_eq!(tcp.on_timer(probe), None);
        assert_eq!(send(&mut tcp, probe, 10), [10]);
        let back = probe + Span::from_millis(99);
        if timestamps {
            tcp.on_timestamp(Span::from_millis(99));
        }
        let outcome = ack(&mut tcp, back, 1, &[(10, 11)], None);
        assert_eq!(outcome.lost, if timestamps { 9 } else { 0 }, "timestamps: {timestamps}");
    }
}

/// Where there is new data, that is the probe; it goes out beyond the window. No second probe
/// before an RTT sample: the next thing is the retransmission timer.
#[test]
fn new_data_is_the_probe_if_there_is_any() {
    let mut tcp = warmed(None, false);
    assert_eq!(tcp.deadline(), at(300));
    assert_eq!(tcp.on_timer(at(300)), None);
    assert!(tcp.has_room(10));
    assert_eq!(send(&mut tcp, at(300), 10), [11]);
    assert_eq!(tcp.deadline(), at(1300));
    let event = tcp.on_timer(at(1300)).expect("the retransmission timer");
    // Eleven out, one of them beyond the window; all were sent more than a round trip ago.
    assert_eq!((event.kind, event.in_flight, event.lost), (LossKind::Timeout, 10, 11));
    assert_eq!(send(&mut tcp, at(1300), 1), [1]);
}

/// A single segment is out: the probe waits 200 ms longer for a delayed ACK.
#[test]
fn a_lone_segments_ack_may_be_delayed() {
    let mut tcp = sender(Some(2), false);
    send(&mut tcp, at(0), 1);
    ack(&mut tcp, at(100), 1, &[], Some(100));
    send(&mut tcp, at(100), 1);
    assert_eq!(tcp.deadline(), at(100 + 2 * 100 + 200));
}

/// Before the first RTT sample there is no probe, and nothing puts the retransmission timer off.
#[test]
fn a_first_flight_that_is_lost_waits_for_the_first_timeout() {
    let mut tcp = sender(Some(2), false);
    assert_eq!(send(&mut tcp, at(0), 10), [0, 1]);
    assert_eq!(tcp.deadline(), at(1000));
    let event = tcp.on_timer(at(1000)).expect("the retransmission timer");
    assert_eq!((event.kind, event.lost), (LossKind::Timeout, 2));
    assert_eq!(send(&mut tcp, at(1000), 1), [0]);
}

/// The probe repairs the only loss: its ACK covers the probe with no sign that the segment came
/// twice, and the next ACK beyond it says that there was a loss. A DSACK says that there was none.
#[test]
fn a_loss_that_the_probe_repairs_counts() {
    for spurious in [false, true] {
        let mut tcp = warmed(Some(20), false);
        tcp.offer(11);
        ack(&mut tcp, at(200), 10, &[], Some(100));
        // 2 SRTT, and 200 ms for a lone segment.
        assert_eq!(tcp.deadline(), at(200 + 200 + 200));
        assert_eq!(tcp.on_timer(at(600)), None);
        assert_eq!(send(&mut tcp, at(600), 10), [10]);
        let blocks: &[(u64, u64)] = if spurious { &[(10, 11)] } else { &[] };
        assert_eq!(ack(&mut tcp, at(700), 11, blocks, None).loss, None);
        tcp.offer(12);
        assert_eq!(send(&mut tcp, at(710), 10), [11]);
        let outcome = ack(&mut tcp, at(810), 12, &[], Some(100));
        assert_eq!(outcome.loss, (!spurious).then(|| dup_acks(0, 1)).flatten());
        assert!(!outcome.recovering);
    }
}

/// A DSACK widens the reordering window by a quarter of min_RTT, to 50 ms.
#[test]
fn dsack_widens_the_reordering_window() {
    let mut tcp = warmed(None, false);
    // 1 is late and was not lost: it goes out again with 11, 12 and 13.
    ack(&mut tcp, at(200), 1, &[(2, 5)], Some(100));
    assert_eq!(send(&mut tcp, at(200), 10), [1, 11, 12, 13]);
    ack(&mut tcp, at(205), 5, &[], None);
    let outcome = ack(&mut tcp, at(300), 11, &[(1, 2)], Some(100));
    assert!(!outcome.recovering);
    assert_eq!(send(&mut tcp, at(300), 10), (14..=20).collect::<Vec<_>>());
    // 20 arrives before all others. 11 to 13 left at 200 ms: lost at 350; 14 to 19 at 300: they
    // have until 450.
    let outcome = ack(&mut tcp, at(400), 11, &[(20, 21)], Some(100));
    assert_eq!(outcome.loss, dup_acks(10, 3));
    assert_eq!(tcp.deadline(), at(450));
}

/// PRR over RACK: twenty out, the first lost, and the controller's new window ten. RecoverFS is 20:
/// with limited transmit 22 out, less 3 SACKed, and one of them by this ACK.
#[test]
fn prr_lets_out_every_second_segment() {
    let mut tcp = sender(None, true);
    send(&mut tcp, at(0), 1);
    ack(&mut tcp, at(100), 1, &[], Some(100));
    assert_eq!(send(&mut tcp, at(100), 20).len(), 20);
    let mut sent = Vec::new();
    for k in 1..=19 {
        let outcome = ack(&mut tcp, at(200 + k), 1, &[(2, 2 + k)], Some(100));
        assert_eq!(outcome.loss.is_some(), k == 3);
        sent.push(send(&mut tcp, at(200 + k), if k < 3 { 20 } else { 10 }).len());
    }
    // ceil(j / 2) after j of the recovery's ACKs, until ten are in flight.
    assert_eq!(sent, [1, 1, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0]);
    assert_eq!(tcp.in_flight(), 10);
}

/// Linux's CWR: ten are out when an ACK echoes congestion, and the controller's window falls to 7.
/// RecoverFS is 10; ceil(0.7 k) may be sent after k are delivered, so of four ACKs the fourth lets
/// out none. The window does not grow until 11 is acknowledged, which was next at the echo.
#[test]
fn an_echo_comes_down_by_prr() {
    let config = Config { recovery: Recovery::Rack, prr: true, ..Config::default() };
    for (echo_prr, allowed) in [(true, [1, 1, 1, 0]), (false, [0, 0, 0, 1])] {
        let mut tcp = Outbound::new(&Config { echo_prr, ..config }, None);
        assert_eq!(send(&mut tcp, at(0), 1), [0]);
        ack(&mut tcp, at(100), 1, &[], Some(100));
        assert_eq!(send(&mut tcp, at(100), 10).len(), 10);
        for (cumulative, allowed) in (2..).zip(allowed) {
            let ece = cumulative == 2;
            let told = AckIn { cumulative, sack: &[], rtt: None, ece };
            let outcome = tcp.on_ack(at(200), &told);
            assert_eq!(outcome.loss.map(|loss| loss.kind), ece.then_some(LossKind::EcnEcho));
            assert_eq!(outcome.recovering, echo_prr, "{cumulative}");
            assert_eq!(send(&mut tcp, at(200), 7).len(), allowed, "{cumulative}");
        }
        assert_eq!(ack(&mut tcp, at(200), 10, &[], None).recovering, echo_prr);
        assert!(!ack(&mut tcp, at(200), 11, &[], None).recovering);
    }
}

/// An echo below the window, as in Linux: three in flight and a window of 7 let out one for one; an
/// ACK that echoes is not safe.
#[test]
fn an_echo_is_not_safe() {
    let mut tcp = Outbound::new(
        &Config { recovery: Recovery::Rack, prr: true, echo_prr: true, ..Config::default() },
        None,
    );
    tcp.offer(4);
    assert_eq!(send(&mut tcp, at(0), 10).len(), 4);
    tcp.on_ack(at(100), &AckIn { cumulative: 1, sack: &[], rtt: None, ece: true });
    assert_eq!(tcp.account(7).window, 4);
}

/// RTT 10 ms; of 1 to 10, sent at 10 ms, 2, 3 and 9 are SACKed at 20 ms, so that 1 and 4 to 8 are
/// lost and 1 is sent again. At 32 ms 4 is acknowledged as well as 1: 1 was sent last, 12 ms
/// before, and 4 is the highest, sent 22 ms before. 4 was late, so the reordering window is 2.5 ms:
/// 10, sent 22 ms before, is lost by 12 + 2.5 ms and not by 22 + 2.5.
#[test]
fn the_rtt_is_of_the_latest_or_of_the_highest() {
    for (rack_rtt_of_highest, lost) in [(false, 1), (true, 0)] {
        let config = Config { recovery: Recovery::Rack, rack_rtt_of_highest, ..Config::default() };
        let mut tcp = Outbound::new(&config, None);
        assert_eq!(send(&mut tcp, at(0), 1), [0]);
        ack(&mut tcp, at(10), 1, &[], Some(10));
        assert_eq!(send(&mut tcp, at(10), 10).len(), 10);
        assert_eq!(ack(&mut tcp, at(20), 1, &[(2, 4), (9, 10)], None).lost, 6);
        assert_eq!(send(&mut tcp, at(20), 1), [1]);
        assert_eq!(ack(&mut tcp, at(32), 5, &[(9, 10)], None).lost, lost);
    }
}

/// 10 is SACKed, then 4, then all of 1 to 10 are acknowledged. With 4 seven come late, more than
/// three, and it counts at once; of the rest nine are left, of which eight are news.
#[test]
fn sacks_count_where_packets_come_late() {
    for (count_sacks, counted) in [(false, [0, 0, 10]), (true, [0, 1, 9])] {
        let config = Config { recovery: Recovery::Rack, count_sacks, ..Config::default() };
        let mut tcp = Outbound::new(&config, None);
        assert_eq!(send(&mut tcp, at(0), 1), [0]);
        ack(&mut tcp, at(100), 1, &[], Some(100));
        assert_eq!(send(&mut tcp, at(100), 10).len(), 10);
        let acks = [(1, &[(10, 11)][..], 1), (1, &[(4, 5), (10, 11)][..], 1), (11, &[][..], 8)];
        for ((cumulative, blocks, delivered), counted) in acks.into_iter().zip(counted) {
            let outcome = ack(&mut tcp, at(200), cumulative, blocks, None);
            assert_eq!((outcome.delivered, outcome.acked), (delivered, counted), "{cumulative}");
        }
        let account = tcp.account(10);
        assert_eq!((account.reordering, account.late), (10, 2));
    }
}

/// 10 is SACKed, 9 and 8 after it, which is late, but no more than three at a time. 4 is later, and
/// from then on SACKs count: 4 and 5. Of what the cumulative number passes then, 1 to 3 count, and
/// at last 6, 7 and the three SACKed first.
#[test]
fn what_sacks_have_not_counted_counts_with_the_cumulative_number() {
    let config = Config { recovery: Recovery::Rack, count_sacks: true, ..Config::default() };
    let mut tcp = Outbound::new(&config, None);
    assert_eq!(send(&mut tcp, at(0), 1), [0]);
    ack(&mut tcp, at(100), 1, &[], Some(100));
    assert_eq!(send(&mut tcp, at(100), 10).len(), 10);
    let above = (8, 11);
    for (cumulative, blocks, counted) in [
        (1, &[(10, 11)][..], 0),
        (1, &[(9, 11)], 0),
        (1, &[above], 0),
        (1, &[(4, 5), above], 1),
        (1, &[(4, 6), above], 1),
        (2, &[(4, 6), above], 1),
        (3, &[(4, 6), above], 1),
        (6, &[above], 1),
        (11, &[], 5),
    ] {
        let outcome = ack(&mut tcp, at(200), cumulative, blocks, None);
        assert_eq!(outcome.acked, counted, "{cumulative} {blocks:?}");
    }
}

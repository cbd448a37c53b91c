//! Undo of what was no loss, ACK by ACK, with numbers worked by hand from RFC 3522, RFC 3708 and
//! RFC 5682, and from what Linux does where they leave it open.

use cc::registry::Recovery;
use cc::roles::LossKind;
use clearpipe_transport::{AckIn, AckOutcome, Config, Evidence, Outbound, Range};
use units::{Span, Time};

use Evidence::{Dsack, Timestamps};

fn at(milliseconds: u64) -> Time {
    Time::ZERO + Span::from_millis(milliseconds)
}

/// Sends all that the window allows; the segments' numbers.
fn send(sender: &mut Outbound, now: u64, window: u64) -> Vec<u64> {
    let mut sent = Vec::new();
    while let Some(segment) = sender.next_segment(at(now), window) {
        sender.on_sent(at(now));
        sent.push(segment.seq);
    }
    sent
}

/// An ACK caused by a segment that left at `sent` and was no retransmission, if there is one.
fn ack(
    sender: &mut Outbound,
    now: u64,
    cumulative: u64,
    blocks: &[(u64, u64)],
    sent: Option<u64>,
) -> AckOutcome {
    let sack: Vec<Range> = blocks.iter().map(|&(start, end)| Range { start, end }).collect();
    let rtt = sent.map(|sent| Span::from_millis(now - sent));
    sender.on_ack(at(now), &AckIn { cumulative, sack: &sack, rtt, ece: false })
}

/// One segment and its ACK after 100 ms: SRTT = min_RTT = 100 ms, RTO 1 s; 1 to 10 leave at 100 ms.
fn warmed(undo: Option<Evidence>, total: Option<u64>) -> Outbound {
    let config = Config { recovery: Recovery::Rack, prr: true, undo, ..Config::default() };
    let mut tcp = Outbound::new(&config, total);
    assert_eq!(send(&mut tcp, 0, 1), [0]);
    ack(&mut tcp, 100, 1, &[], Some(0));
    assert_eq!(send(&mut tcp, 100, 10), (1..=10).collect::<Vec<_>>());
    tcp
}

/// Nothing comes back. At 300 ms, two SRTTs later, the probe sends 11; a second after that the
/// timer runs out and 1 goes out again.
fn timed_out(undo: Option<Evidence>) -> Outbound {
    let mut tcp = warmed(undo, None);
    assert_eq!((tcp.deadline(), tcp.on_timer(at(300))), (at(300), None));
    assert_eq!(send(&mut tcp, 300, 10), [11]);
    assert_eq!(tcp.deadline(), at(1300));
    let loss = tcp.on_timer(at(1300)).expect("the timer has run out");
    assert_eq!((loss.kind, loss.in_flight, loss.lost), (LossKind::Timeout, 10, 11));
    assert_eq!(tcp.take_undo_point(), undo.is_some());
    assert!(!tcp.take_undo_point(), "it is said once");
    assert_eq!(send(&mut tcp, 1300, 1), [1]);
    assert_eq!(tcp.in_flight(), 1);
    tcp
}

/// A spike of the delay (RFC 3522 section 3.2): the first ACK after the timeout answers the segment
/// that left at 100 ms, not the one of 1300 ms. All but that one is in flight again.
#[test]
fn a_timestamp_undoes_a_timeout_at_once() {
    let mut tcp = timed_out(Some(Timestamps));
    let outcome = ack(&mut tcp, 1350, 2, &[], Some(100));
    assert_eq!((outcome.loss, outcome.lost, outcome.recovering), (None, 0, false));
    assert!(tcp.take_undone() && !tcp.take_undone());
    assert_eq!((tcp.undone(), tcp.in_flight()), (1, 10));
    // The window is what it was: the next ACKs let out one new segment each, and nothing again.
    assert_eq!(send(&mut tcp, 1350, 10), []);
    ack(&mut tcp, 1351, 3, &[], Some(100));
    assert_eq!(send(&mut tcp, 1351, 10), [12]);
    assert_eq!((tcp.retransmitted(), tcp.timeouts()), (1, 1));
}

/// The same without timestamps, RFC 5682 section 3.1: the first ACK could be that of the
/// retransmission, so two new segments go out (step 2b); the second is of segment 2, which was sent
/// once only: the timeout was spurious (step 3b).
#[test]
fn f_rto_undoes_a_timeout_at_the_second_ack() {
    let mut tcp = timed_out(Some(Dsack));
    ack(&mut tcp, 1350, 2, &[], Some(100));
    assert!(!tcp.take_undone());
    assert_eq!(send(&mut tcp, 1350, 2), [12, 13], "new data, though 2 to 11 count as lost");
    let outcome = ack(&mut tcp, 1351, 3, &[], Some(100));
    assert_eq!((outcome.loss, outcome.lost), (None, 0));
    assert!(tcp.take_undone());
    // 3 to 13.
    assert_eq!((tcp.undone(), tcp.in_flight()), (1, 11));
    assert_eq!(send(&mut tcp, 1351, 11), []);
    assert_eq!(tcp.retransmitted(), 1);
}

/// Without undo the same ACKs send again what was only late.
#[test]
fn without_undo_a_spike_is_sent_again() {
    let mut tcp = timed_out(None);
    ack(&mut tcp, 1350, 2, &[], Some(100));
    assert_eq!(send(&mut tcp, 1350, 2), [2, 3]);
    ack(&mut tcp, 1351, 3, &[], Some(100));
    assert!(!tcp.take_undone());
    assert_eq!((tcp.undone(), tcp.retransmitted()), (0, 3));
}

/// 1 to 11 are lost. The retransmission's ACK lets two new segments out, whose SACK says so (step
/// 3a): nothing is undone, and the rest is sent again.
#[test]
fn f_rto_finds_a_real_loss() {
    for evidence in [Dsack, Timestamps] {
        let mut tcp = timed_out(Some(evidence));
        ack(&mut tcp, 1400, 2, &[], None);
        assert_eq!(send(&mut tcp, 1400, 2), [12, 13]);
        ack(&mut tcp, 1500, 2, &[(12, 13)], Some(1400));
        assert_eq!(send(&mut tcp, 1500, 3), [2, 3]);
        ack(&mut tcp, 1501, 2, &[(12, 14)], Some(1400));
        assert_eq!(send(&mut tcp, 1501, 4), [4, 5]);
        ack(&mut tcp, 1600, 6, &[(12, 14)], None);
        assert_eq!(send(&mut tcp, 1600, 8), (6..=11).chain([14, 15]).collect::<Vec<_>>());
        ack(&mut tcp, 1700, 14, &[], None);
        assert_eq!((tcp.undone(), tcp.take_undone()), (0, false), "{evidence:?}");
    }
}

/// Step 3a again: once a duplicate ACK has told of a loss, the late arrival of 5, which was not
/// sent again yet, undoes nothing.
#[test]
fn a_duplicate_ack_ends_f_rto() {
    let mut tcp = timed_out(Some(Dsack));
    ack(&mut tcp, 1400, 2, &[], None);
    assert_eq!(send(&mut tcp, 1400, 2), [12, 13]);
    ack(&mut tcp, 1500, 2, &[(12, 13)], Some(1400));
    assert_eq!(send(&mut tcp, 1500, 3), [2, 3]);
    ack(&mut tcp, 1501, 2, &[(5, 6), (12, 13)], Some(100));
    assert_eq!((tcp.undone(), tcp.take_undone()), (0, false));
}

/// A second ACK that moves the number over what was sent again alone tells nothing; without new
/// data to send F-RTO gives up at the first.
#[test]
fn f_rto_needs_new_data() {
    let mut tcp = warmed(Some(Dsack), Some(11));
    // The probe is 10 again; a second later the timer.
    assert_eq!(tcp.on_timer(at(300)), None);
    assert_eq!(send(&mut tcp, 300, 10), [10]);
    assert_eq!(tcp.on_timer(at(1300)).map(|loss| loss.kind), Some(LossKind::Timeout));
    assert_eq!(send(&mut tcp, 1300, 1), [1]);
    ack(&mut tcp, 1350, 2, &[], Some(100));
    assert_eq!(send(&mut tcp, 1350, 2), [2, 3], "the lost ones, for want of new ones");
    ack(&mut tcp, 1351, 3, &[], Some(100));
    assert_eq!(tcp.undone(), 0);
}

/// A timeout that backs off is one reduction with that before it, and undone with it.
#[test]
fn a_second_timeout_is_undone_with_the_first() {
    let mut tcp = timed_out(Some(Timestamps));
    let loss = tcp.on_timer(at(3300)).expect("two seconds later");
    assert!(loss.repeated && !tcp.take_undo_point());
    assert_eq!(send(&mut tcp, 3300, 1), [1]);
    // As late as the retransmission's ACK would be.
    ack(&mut tcp, 3400, 2, &[], Some(100));
    assert!(tcp.take_undone());
    assert_eq!(tcp.in_flight(), 10);
}

/// 1 is late: the SACKs of 2, 3 and 4 send it again at 200 ms.
fn reordered(undo: Option<Evidence>) -> Outbound {
    let mut tcp = warmed(undo, None);
    let outcome = ack(&mut tcp, 200, 1, &[(2, 5)], Some(100));
    assert_eq!(outcome.loss.map(|loss| (loss.kind, loss.lost)), Some((LossKind::DupAcks, 1)));
    assert!(tcp.take_undo_point());
    // PRR: three of ten delivered let ceil(3*5/10) = 2 out.
    assert_eq!(send(&mut tcp, 200, 5), [1, 11]);
    tcp
}

/// Timestamps (RFC 3522): at 210 ms the segment of 100 ms arrives, before the retransmission could.
#[test]
fn a_timestamp_undoes_a_fast_retransmit() {
    let mut tcp = reordered(Some(Timestamps));
    let outcome = ack(&mut tcp, 210, 5, &[], Some(100));
    assert!(tcp.take_undone() && !outcome.recovering);
    // 5 to 11 are out: three more to the window of ten.
    assert_eq!(send(&mut tcp, 210, 10), [12, 13, 14]);
    // Proportional rate reduction is over: a larger window is filled at once.
    assert_eq!(send(&mut tcp, 210, 20).len(), 10);
}

/// DSACK (RFC 3708): the retransmission has arrived too, be it told within the recovery, at its end
/// or after it.
#[test]
fn a_dsack_undoes_a_fast_retransmit() {
    for (acks, undone) in [
        (&[(210, 5, &[][..]), (300, 6, &[(1, 2)])][..], 1),
        (&[(210, 5, &[]), (300, 11, &[(1, 2)])], 1),
        (&[(210, 5, &[]), (220, 11, &[]), (300, 11, &[(1, 2)])], 1),
        (&[(210, 5, &[]), (220, 11, &[])], 0),
    ] {
        let mut tcp = reordered(Some(Dsack));
        for &(now, cumulative, blocks) in acks {
            assert!(!tcp.take_undone());
            ack(&mut tcp, now, cumulative, blocks, Some(100));
        }
        assert_eq!(tcp.take_undone(), undone == 1, "{acks:?}");
        assert_eq!(tcp.undone(), undone);
        assert!(!tcp.recovering());
    }
}

/// Two are sent again, one was needed: one DSACK is not enough. A DSACK of what was sent before the
/// recovery does not count.
#[test]
fn a_real_loss_beside_a_spurious_one_stays() {
    for (second, undone) in [((1, 2), 0), ((2, 3), 1)] {
        let mut tcp = warmed(Some(Dsack), None);
        ack(&mut tcp, 200, 1, &[(3, 6)], Some(100));
        assert_eq!(send(&mut tcp, 200, 10)[..2], [1, 2]);
        ack(&mut tcp, 300, 11, &[(1, 2)], None);
        assert_eq!(tcp.undone(), 0);
        // That of 1 once more would be one too many: it is counted, as Linux counts.
        if second == (2, 3) {
            ack(&mut tcp, 301, 11, &[second], None);
        } else {
            ack(&mut tcp, 301, 11, &[(0, 1)], None);
        }
        assert_eq!(tcp.undone(), undone);
    }
}

/// The retransmission arrives, and nothing twice.
#[test]
fn a_real_loss_is_not_undone() {
    for evidence in [Dsack, Timestamps] {
        let mut tcp = reordered(Some(evidence));
        ack(&mut tcp, 201, 1, &[(2, 11)], Some(100));
        ack(&mut tcp, 300, 11, &[], None);
        assert!(!tcp.recovering());
        send(&mut tcp, 300, 5);
        ack(&mut tcp, 400, 12, &[], Some(300));
        assert_eq!((tcp.undone(), tcp.take_undone()), (0, false));
    }
}

/// A mark within the recovery is congestion, whatever became of the segment, and however it is
/// told: by ECE, by AccECN to a controller of RFC 3168, which hears of one reduction per window of
/// data only, or to one that counts.
#[test]
fn what_a_mark_confirms_stays() {
    let marked = |ece: bool, tell: fn(&mut Outbound)| {
        let mut tcp = reordered(Some(Dsack));
        tcp.on_ack(at(210), &AckIn { cumulative: 5, sack: &[], rtt: None, ece });
        tell(&mut tcp);
        ack(&mut tcp, 300, 6, &[(1, 2)], None);
        tcp.undone()
    };
    assert_eq!(marked(false, |_| ()), 1);
    assert_eq!(marked(true, |_| ()), 0);
    assert_eq!(marked(false, |tcp| assert_eq!(tcp.echo(1), None)), 0);
    assert_eq!(marked(false, Outbound::on_marks), 0);
}

/// 1 and 6 are late, 11 is lost, which left within the recovery. With 6 all that was out before it
/// has arrived, and not by a retransmission: the reduction is undone, and 11, sent again by then or
/// not, begins a recovery of its own, as it does where nothing is undone (RFC 8985, section 9.3).
#[test]
fn a_loss_within_an_undone_recovery_begins_another() {
    for (undo, again) in
        [(None, false), (None, true), (Some(Timestamps), false), (Some(Timestamps), true)]
    {
        let mut tcp = warmed(undo, None);
        let outcome = ack(&mut tcp, 200, 1, &[(2, 6), (7, 11)], Some(100));
        assert_eq!(outcome.loss.map(|loss| loss.lost), Some(2));
        assert_eq!(tcp.take_undo_point(), undo.is_some());
        // Eight are delivered and nothing is in flight.
        assert_eq!(send(&mut tcp, 200, 10), [1, 6, 11, 12, 13, 14, 15, 16]);
        // 6 is out again and may be lost yet: nothing is undone.
        assert_eq!(ack(&mut tcp, 210, 6, &[(7, 11)], Some(100)).loss, None);
        assert_eq!(tcp.undone(), 0);
        // What left with 6 and 11 at 200 ms has arrived, after RACK.rtt of 100 ms: they are lost.
        assert_eq!(ack(&mut tcp, 300, 6, &[(12, 17), (7, 11)], Some(200)).lost, 2);
        if again {
            assert_eq!(send(&mut tcp, 300, 10)[..2], [6, 11]);
        }
        let out = tcp.nxt() - 11;
        let outcome = ack(&mut tcp, 305, 11, &[(12, 17)], Some(100));
        let loss = outcome.loss.expect("11 is lost");
        assert_eq!((loss.kind, loss.lost), (LossKind::DupAcks, 1));
        assert_eq!((u64::from(loss.in_flight), outcome.recovering), (out, true));
        assert_eq!((tcp.take_undone(), tcp.take_undo_point()), (undo.is_some(), undo.is_some()));
        assert_eq!(tcp.is_lost(11), !again);
        if !again {
            assert_eq!(send(&mut tcp, 305, 8)[0], 11);
        }
        // 11 arrives, once: that reduction stays.
        let end = tcp.nxt();
        assert!(!ack(&mut tcp, 405, end, &[], None).recovering);
        assert_eq!(tcp.undone(), u32::from(undo.is_some()));
    }
}

/// 1 is late and 2 is lost. By the time that the retransmission of 1 is known to have been needless
/// that of 2 has not gone out: the reduction for 1 is undone, and 2 has one of its own.
#[test]
fn what_is_lost_at_a_dsack_begins_a_recovery() {
    let mut tcp = warmed(Some(Dsack), None);
    let outcome = ack(&mut tcp, 200, 1, &[(3, 6)], Some(100));
    assert_eq!(outcome.loss.map(|loss| loss.lost), Some(2));
    assert!(tcp.take_undo_point());
    // Five are in flight, which is the window: the first retransmission alone.
    assert_eq!(send(&mut tcp, 200, 5), [1]);
    assert_eq!(ack(&mut tcp, 210, 2, &[(3, 6)], Some(100)).loss, None);
    let outcome = ack(&mut tcp, 211, 2, &[(1, 2), (3, 6)], None);
    assert_eq!((tcp.take_undone(), tcp.take_undo_point()), (true, true));
    let loss = outcome.loss.expect("2 is lost");
    assert_eq!((loss.kind, loss.lost, loss.repeated), (LossKind::DupAcks, 1, false));
    // 2 to 10 are outstanding.
    assert_eq!((loss.in_flight, outcome.recovering), (9, true));
    assert_eq!(send(&mut tcp, 211, 5), [2]);
    // The rest arrives, and 2 once.
    for (now, to) in [(212, 7), (213, 8), (214, 9), (215, 11)] {
        assert_eq!(ack(&mut tcp, now, 2, &[(3, to)], Some(100)).loss, None);
    }
    let outcome = ack(&mut tcp, 311, 11, &[], None);
    assert_eq!((outcome.loss, outcome.recovering, tcp.undone()), (None, false, 1));
}

/// Two needless probes, the second on its way when 11 seems lost. All that left at 400 ms is late:
/// what speaks for that is when the second probe left, not the first, which had been acknowledged.
#[test]
fn an_acknowledged_probe_counts_no_more() {
    let mut tcp = warmed(Some(Timestamps), None);
    tcp.offer(11);
    assert_eq!(tcp.on_timer(at(300)), None);
    assert_eq!(send(&mut tcp, 300, 10), [10]);
    ack(&mut tcp, 310, 11, &[], Some(100));
    ack(&mut tcp, 400, 11, &[(10, 11)], None);
    tcp.offer(21);
    assert_eq!(send(&mut tcp, 400, 10), (11..=20).collect::<Vec<_>>());
    let due = tcp.deadline();
    assert!(at(600) < due && due < at(650), "two smoothed RTTs");
    assert_eq!(tcp.on_timer(due), None);
    assert_eq!(send(&mut tcp, 650, 10), [20]);
    let outcome = ack(&mut tcp, 660, 11, &[(12, 20)], Some(400));
    assert_eq!(outcome.loss.map(|loss| loss.lost), Some(1));
    assert_eq!(send(&mut tcp, 660, 5), [11]);
    ack(&mut tcp, 670, 21, &[], Some(400));
    assert_eq!(tcp.undone(), 1);
}

/// After an undo the next loss is one as any: it is found and reported, and can be undone again.
#[test]
fn the_next_loss_begins_anew() {
    let mut tcp = reordered(Some(Timestamps));
    ack(&mut tcp, 210, 5, &[], Some(100));
    assert!(tcp.take_undone());
    assert_eq!(send(&mut tcp, 210, 10), [12, 13, 14]);
    // 6 to 10 arrive without 5, ten being out: at the third SACK there is nothing to wait for.
    let outcome = ack(&mut tcp, 300, 5, &[(6, 11)], Some(100));
    assert_eq!(outcome.loss.map(|loss| (loss.kind, loss.lost)), Some((LossKind::DupAcks, 1)));
    assert!(tcp.take_undo_point());
    assert_eq!(send(&mut tcp, 300, 5)[0], 5);
    ack(&mut tcp, 310, 11, &[], Some(100));
    assert_eq!((tcp.take_undone(), tcp.undone()), (true, 2));
}

/// What was lost is in flight again in the order in which it left, so that RACK finds losses among
/// it as before.
#[test]
fn losses_among_what_was_restored_are_found() {
    let mut tcp = timed_out(Some(Timestamps));
    ack(&mut tcp, 1350, 2, &[], Some(100));
    assert!(tcp.take_undone());
    // 11 arrives, which left 200 ms after the others. RACK.rtt is 1060 ms and a quarter of 100 ms
    // the reordering window: 2 to 10, of 100 ms, are lost since 1185 ms.
    let outcome = ack(&mut tcp, 1360, 2, &[(11, 12)], Some(300));
    assert_eq!(outcome.loss.map(|loss| loss.lost), Some(9));
    assert_eq!(send(&mut tcp, 1360, 5)[0], 2);
}

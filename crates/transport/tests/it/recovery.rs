//! Loss recovery and the timer, rule by rule, with numbers worked by hand from the RFCs.

use cc::registry::Recovery;
use cc::roles::LossKind;
use clearpipe_transport::{AckIn, AckOutcome, Config, LossEvent, Outbound, Range};
use units::{Span, Time};

fn sender(recovery: Recovery) -> Outbound {
    Outbound::new(&Config { recovery, ..Config::default() }, None)
}

fn at(seconds: f64) -> Time {
    Time::ZERO + Span::from_secs_f64(seconds)
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

fn sack(sender: &mut Outbound, now: Time, cumulative: u64, blocks: &[(u64, u64)]) -> AckOutcome {
    let sack: Vec<Range> = blocks.iter().map(|&(start, end)| Range { start, end }).collect();
    sender.on_ack(now, &AckIn { cumulative, sack: &sack, rtt: None, ece: false })
}

fn ack(sender: &mut Outbound, cumulative: u64) -> AckOutcome {
    sack(sender, at(0.1), cumulative, &[])
}

fn dup_acks(in_flight: u32, lost: u32) -> Option<LossEvent> {
    Some(LossEvent { kind: LossKind::DupAcks, in_flight, lost, repeated: false })
}

/// An application that offers little by little: the window of 10 lets out what is offered, and all
/// that is offered being acknowledged is not the end.
#[test]
fn what_is_offered_limits_what_is_sent() {
    let mut tcp = Outbound::new(&Config::default(), Some(6));
    tcp.offer(0);
    assert!(!tcp.has_room(10) && !tcp.finished());
    tcp.offer(2);
    assert_eq!(send(&mut tcp, at(0.0), 10), [0, 1]);
    assert!(!ack(&mut tcp, 2).finished);
    assert_eq!(tcp.deadline(), Time::NEVER);
    tcp.offer(5);
    assert_eq!(send(&mut tcp, at(0.1), 2), [2, 3]);
    assert!(!tcp.all_offered());
    // Offered and held back, then let out; more than the transfer has is not offered.
    tcp.offer(7);
    assert!(tcp.all_offered());
    assert_eq!(send(&mut tcp, at(0.1), 10), [4, 5]);
    assert!(ack(&mut tcp, 6).finished);
}

/// A stop leaves what is out: an application that had offered 5 and sent 2 is finished with 2.
#[test]
fn a_stop_ends_an_offer() {
    let mut tcp = Outbound::new(&Config::default(), None);
    tcp.offer(5);
    assert_eq!(send(&mut tcp, at(0.0), 2), [0, 1]);
    tcp.stop();
    assert!(!tcp.has_room(10) && !tcp.finished());
    assert!(ack(&mut tcp, 2).finished);
}

/// RFC 5681, section 3.2: segments 0 to 7 are out and 0 is lost.
#[test]
fn third_duplicate_retransmits_and_inflates() {
    let mut tcp = sender(Recovery::Reno);
    assert_eq!(send(&mut tcp, at(0.0), 8), [0, 1, 2, 3, 4, 5, 6, 7]);
    for _ in 0..2 {
        let outcome = ack(&mut tcp, 0);
        assert_eq!((outcome.loss, outcome.delivered), (None, 0));
        assert!(!tcp.has_room(8));
    }
    let third = ack(&mut tcp, 0);
    assert_eq!((third.loss, third.recovering), (dup_acks(8, 1), true));
    // cwnd = ssthresh + 3 = 4 + 3 against a FlightSize of 8: the retransmission and no more.
    assert_eq!(send(&mut tcp, at(0.1), 4), [0]);
    assert_eq!(tcp.in_flight(), 5);
    // The fourth duplicate makes it 8 against 8, the fifth 9.
    assert_eq!(ack(&mut tcp, 0).loss, None);
    assert!(!tcp.has_room(4));
    ack(&mut tcp, 0);
    assert_eq!(send(&mut tcp, at(0.1), 4), [8]);
    // The ACK of new data ends it, and the inflation with it: 9 of 9 acknowledged, 4 allowed.
    let full = ack(&mut tcp, 8);
    assert_eq!((full.acked, full.delivered, full.recovering), (8, 8, false));
    assert_eq!(send(&mut tcp, at(0.2), 4), [9, 10, 11]);
}

/// Two losses in a window: Reno leaves at the first new ACK and needs three more duplicates.
#[test]
fn reno_recovers_once_per_loss() {
    let mut tcp = sender(Recovery::Reno);
    send(&mut tcp, at(0.0), 10);
    for _ in 0..3 {
        ack(&mut tcp, 0);
    }
    assert_eq!(send(&mut tcp, at(0.1), 5), [0]);
    assert!(!ack(&mut tcp, 4).recovering);
    assert_eq!(send(&mut tcp, at(0.1), 5), [] as [u64; 0]);
    ack(&mut tcp, 4);
    ack(&mut tcp, 4);
    assert_eq!(ack(&mut tcp, 4).loss, dup_acks(6, 1));
    assert_eq!(send(&mut tcp, at(0.2), 3), [4]);
    assert_eq!((tcp.fast_retransmits(), tcp.retransmitted()), (2, 2));
}

/// RFC 6582, section 3.2: segments 0 to 9 are out, 0, 4 and 7 are lost; seven duplicates come.
#[test]
fn newreno_mends_one_hole_per_partial_ack() {
    let mut tcp = sender(Recovery::NewReno);
    send(&mut tcp, at(0.0), 10);
    for n in 1..=7 {
        assert_eq!(ack(&mut tcp, 0).loss.is_some(), n == 3);
    }
    // 5 + 7 = 12 against 10: the retransmission and two new segments.
    assert_eq!(send(&mut tcp, at(0.1), 5), [0, 10, 11]);
    // Partial ACK to 4: deflate 12 by 4, add 1; 9 against 8 outstanding: the hole, one new one.
    let partial = sack(&mut tcp, at(0.2), 4, &[]);
    assert_eq!((partial.acked, partial.loss, partial.recovering), (4, None, true));
    assert_eq!(send(&mut tcp, at(0.2), 5), [4, 12]);
    assert_eq!(tcp.deadline(), at(1.2));
    // The two new segments' duplicates, then the second partial ACK: 11 - 3 + 1 = 9 against 6.
    ack(&mut tcp, 4);
    ack(&mut tcp, 4);
    assert_eq!(send(&mut tcp, at(0.2), 5), [13, 14]);
    assert!(sack(&mut tcp, at(0.3), 7, &[]).recovering);
    // Impatient: the timer of the first partial ACK still runs.
    assert_eq!(tcp.deadline(), at(1.2));
    assert_eq!(send(&mut tcp, at(0.3), 5), [7, 15]);
    // recover was 9: an ACK of it all ends the recovery.
    let full = sack(&mut tcp, at(0.4), 13, &[]);
    assert_eq!((full.acked, full.recovering), (6, false));
    assert_eq!((tcp.deadline(), tcp.fast_retransmits()), (at(1.4), 1));
    assert_eq!(send(&mut tcp, at(0.4), 5), [16, 17]);
}

/// RFC 6582, section 4: after a timeout, duplicates of what was sent before it start nothing.
#[test]
fn no_fast_retransmit_until_recover_is_passed() {
    for recovery in [Recovery::Reno, Recovery::NewReno] {
        let mut tcp = sender(recovery);
        send(&mut tcp, at(0.0), 6);
        let event = tcp.on_timeout(at(1.0));
        assert_eq!((event.in_flight, event.lost, event.repeated), (6, 6, false));
        assert_eq!(tcp.in_flight(), 0);
        // Go-back-N; the window of 1, then of 4.
        assert_eq!(send(&mut tcp, at(1.0), 1), [0]);
        ack(&mut tcp, 1);
        assert_eq!(send(&mut tcp, at(1.1), 4), [1, 2, 3, 4]);
        for _ in 0..5 {
            assert_eq!(ack(&mut tcp, 1).loss, None);
        }
        assert_eq!(ack(&mut tcp, 6).acked, 5);
        assert_eq!(send(&mut tcp, at(1.2), 5), [6, 7, 8, 9, 10]);
        // una = recover exactly: not more than recover.
        for _ in 0..4 {
            assert_eq!(ack(&mut tcp, 6).loss, None);
        }
        ack(&mut tcp, 7);
        let kinds: Vec<bool> = (0..3).map(|_| ack(&mut tcp, 7).loss.is_some()).collect();
        assert_eq!(kinds, [false, false, true]);
    }
}

/// RFC 3042: each of the first two duplicates lets one segment go, outside of FlightSize.
#[test]
fn limited_transmit_sends_two() {
    let config = Config { limited_transmit: true, ..Config::default() };
    for recovery in [Recovery::Tahoe, Recovery::Reno, Recovery::NewReno, Recovery::Sack] {
        let mut tcp = Outbound::new(&Config { recovery, ..config }, None);
        send(&mut tcp, at(0.0), 4);
        for n in 1..=3 {
            let outcome = match recovery {
                Recovery::Sack => sack(&mut tcp, at(0.1), 0, &[(1, 1 + n)]),
                _ => ack(&mut tcp, 0),
            };
            if n == 3 {
                assert_eq!(outcome.loss, dup_acks(4, 1));
            } else {
                assert_eq!(send(&mut tcp, at(0.1), 4), [3 + n]);
            }
        }
        assert_eq!(tcp.outstanding(), 6);
    }
}

/// Segments 0 to 7 are out, 0 and 4 are lost: three duplicates, and all is sent again from the
/// first on as after a timeout; the ACK of 0 moves over what the receiver has.
#[test]
fn tahoe_goes_back() {
    let mut tcp = sender(Recovery::Tahoe);
    send(&mut tcp, at(0.0), 8);
    assert_eq!([ack(&mut tcp, 0).loss, ack(&mut tcp, 0).loss], [None, None]);
    let third = ack(&mut tcp, 0);
    assert_eq!((third.loss, third.recovering), (dup_acks(8, 1), false));
    assert_eq!(send(&mut tcp, at(0.1), 1), [0]);
    assert_eq!(ack(&mut tcp, 0).loss, None);
    assert_eq!(send(&mut tcp, at(0.1), 1), []);
    assert_eq!(ack(&mut tcp, 4).acked, 4);
    assert_eq!(send(&mut tcp, at(0.2), 2), [4, 5]);
    // All there is: the number moves over what had come before.
    assert_eq!(ack(&mut tcp, 8).acked, 4);
    assert_eq!(send(&mut tcp, at(0.3), 3), [8, 9, 10]);
    // Duplicates of what was sent for nothing mean no loss; those beyond do.
    assert_eq!([1, 2, 3].map(|_| ack(&mut tcp, 8).loss.is_some()), [false; 3]);
    assert_eq!(ack(&mut tcp, 9).acked, 1);
    assert_eq!([1, 2, 3].map(|_| ack(&mut tcp, 9).loss.is_some()), [false, false, true]);
}

/// Both find lost retransmissions; only the second tells the controller of losses.
const FINDING: [Recovery; 2] = [Recovery::Decoupled, Recovery::RateHalving];

/// Segments 0 to 9 are out and 0 is lost, twice: the first retransmission goes out when 10 is next,
/// so it is lost when three of 10 and on are there. The controller of a decoupled one hears
/// nothing.
#[test]
fn a_lost_retransmission_is_found() {
    for recovery in FINDING {
        let mut tcp = sender(recovery);
        send(&mut tcp, at(0.0), 10);
        let seen = sack(&mut tcp, at(0.1), 0, &[(1, 4)]);
        let heard = recovery == Recovery::RateHalving;
        assert_eq!((seen.loss, seen.delivered), (dup_acks(10, 1).filter(|_| heard), 3));
        assert_eq!(seen.recovering, heard);
        // Pipe: 10 - 3 SACKed - 1 lost, so that four may go.
        assert_eq!(send(&mut tcp, at(0.1), 10), [0, 10, 11, 12]);
        assert_eq!(sack(&mut tcp, at(0.1), 0, &[(1, 10)]).delivered, 6);
        assert_eq!(send(&mut tcp, at(0.1), 10), [13, 14, 15, 16, 17, 18]);
        sack(&mut tcp, at(0.2), 0, &[(1, 12)]);
        assert_eq!(send(&mut tcp, at(0.2), 10), [19, 20]);
        assert_eq!(sack(&mut tcp, at(0.2), 0, &[(1, 13)]).loss, None);
        assert_eq!(tcp.in_flight(), 8);
        assert_eq!(send(&mut tcp, at(0.2), 10), [0, 21]);
        // The timer runs from the last news: 0.2 s and the initial second.
        assert_eq!(tcp.deadline(), at(1.2));
        assert_eq!(sack(&mut tcp, at(0.3), 13, &[]).acked, 13);
        assert_eq!((tcp.in_flight(), tcp.retransmitted(), tcp.fast_retransmits()), (9, 2, 1));
    }
}

/// After a timeout what was sent again and lost again is found in the same way.
#[test]
fn a_lost_retransmission_is_found_after_a_timeout() {
    for recovery in FINDING {
        let mut tcp = sender(recovery);
        send(&mut tcp, at(0.0), 2);
        tcp.on_timeout(at(1.0));
        assert_eq!(send(&mut tcp, at(1.0), 4), [0, 1, 2, 3]);
        // 0 was lost again; with 4, which is sent after it, three are there beyond.
        sack(&mut tcp, at(1.1), 0, &[(1, 3)]);
        assert_eq!(send(&mut tcp, at(1.1), 4), [4, 5]);
        sack(&mut tcp, at(1.2), 0, &[(1, 5)]);
        assert_eq!(send(&mut tcp, at(1.2), 4), [0, 6, 7]);
    }
}

/// Ten are out, 0 is lost and the window is 5 from then on. After three have come and 0 has gone, 7
/// are in flight. SACK waits until 4 are; rate halving sends one for the second that leaves, and so
/// on down to 5.
#[test]
fn rate_halving_sends_one_for_two() {
    let none: [u64; 0] = [];
    for (recovery, sent) in [
        (Recovery::Sack, [&none[..], &[], &[10], &[11], &[12], &[13]]),
        (Recovery::RateHalving, [&[], &[10], &[], &[11], &[12], &[13]]),
    ] {
        let mut tcp = sender(recovery);
        send(&mut tcp, at(0.0), 10);
        assert_eq!(sack(&mut tcp, at(0.1), 0, &[(1, 4)]).loss, dup_acks(10, 1));
        assert_eq!((send(&mut tcp, at(0.1), 5), tcp.in_flight()), (vec![0], 7));
        for (end, sent) in (5..).zip(sent) {
            sack(&mut tcp, at(0.1), 0, &[(1, end)]);
            assert_eq!(send(&mut tcp, at(0.1), 5), sent, "{recovery:?} {end}");
        }
        assert_eq!(tcp.in_flight(), 5);
    }
}

/// Of ten, 0 is lost, and so is 10, which goes out meanwhile. The ACK that ends the recovery finds
/// it lost with 7 SACKed above: of 8 outstanding those are not in flight, but for the three that
/// make a loss.
#[test]
fn what_a_recovery_has_sacked_is_not_in_flight_in_the_next() {
    let mut tcp = sender(Recovery::RateHalving);
    send(&mut tcp, at(0.0), 10);
    sack(&mut tcp, at(0.1), 0, &[(1, 4)]);
    assert_eq!(send(&mut tcp, at(0.1), 10), [0, 10, 11, 12]);
    sack(&mut tcp, at(0.1), 0, &[(1, 9)]);
    assert_eq!(send(&mut tcp, at(0.1), 10), [13, 14, 15, 16, 17]);
    assert_eq!(sack(&mut tcp, at(0.2), 10, &[(11, 18)]).loss, dup_acks(4, 1));
}

/// Where nothing is sent again a hole is passed over, and the timer only ends the transfer.
#[test]
fn without_recovery_holes_are_passed_over() {
    let config = Config { recovery: Recovery::None, ..Config::default() };
    let mut tcp = Outbound::new(&config, Some(6));
    assert_eq!(send(&mut tcp, at(0.0), 4), [0, 1, 2, 3]);
    assert_eq!(tcp.deadline(), Time::NEVER);
    assert_eq!((ack(&mut tcp, 3).acked, tcp.in_flight()), (3, 1));
    for _ in 0..4 {
        assert_eq!(ack(&mut tcp, 2).loss, None);
    }
    assert_eq!(send(&mut tcp, at(0.1), 4), [4, 5]);
    assert_eq!(tcp.deadline(), at(1.1));
    tcp.on_timeout(at(1.1));
    assert!(tcp.finished() && tcp.deadline() == Time::NEVER);
    assert_eq!(tcp.retransmitted(), 0);

    let mut sink = clearpipe_transport::Inbound::new(&config);
    for (seq, cumulative, delivered) in [(0, 1, 1), (3, 4, 2), (1, 4, 3), (4, 5, 4)] {
        let seen = sink.on_data(at(0.0), seq, false, false);
        assert!(seen.new && seen.ack_now);
        assert_eq!((sink.cumulative(), sink.delivered()), (cumulative, delivered));
    }
}

/// RFC 6298, section 5.
#[test]
fn timer_runs_while_anything_is_outstanding() {
    let mut tcp = sender(Recovery::Reno);
    assert_eq!(tcp.deadline(), Time::NEVER);
    send(&mut tcp, at(0.0), 2);
    // (5.1): the later segment does not restart it.
    tcp.on_sent(at(0.5));
    assert_eq!(tcp.deadline(), at(1.0));
    // (5.3), with a sample of 600 ms: rto = 600 + 4 * 300.
    let rtt = Some(Span::from_millis(600));
    tcp.on_ack(at(0.6), &AckIn { cumulative: 1, sack: &[], rtt, ece: false });
    assert_eq!(tcp.deadline(), at(2.4));
    assert_eq!((tcp.srtt(), tcp.min_rtt()), (rtt, rtt));
    // (5.2)
    ack(&mut tcp, 2);
    assert_eq!(tcp.deadline(), Time::NEVER);
    // (5.4) to (5.6), twice.
    assert_eq!(send(&mut tcp, at(10.0), 1), [2]);
    assert_eq!(tcp.deadline(), at(11.8));
    assert!(!tcp.on_timeout(at(11.8)).repeated);
    assert_eq!(tcp.deadline(), at(15.4));
    assert_eq!(send(&mut tcp, at(11.8), 0), [2]);
    assert!(tcp.on_timeout(at(15.4)).repeated);
    assert_eq!(tcp.rto(), Span::from_millis(7200));
    assert_eq!(send(&mut tcp, at(15.4), 0), [2]);
    // Karn: the ACK of a retransmission carries no sample; but it ends the back-off, at 1.8 s
    // again.
    ack(&mut tcp, 3);
    assert_eq!(send(&mut tcp, at(20.0), 1), [3]);
    assert_eq!(tcp.deadline(), at(21.8));
    let event = tcp.on_timeout(at(21.8));
    assert_eq!((event.repeated, tcp.timeouts()), (false, 3));
    tcp.on_ack(at(21.9), &AckIn { cumulative: 4, sack: &[], rtt, ece: false });
    // srtt 600, rttvar 3/4 * 300 = 225: 600 + 900.
    assert_eq!(tcp.rto(), Span::from_millis(1500));
}

/// RFC 6675: 20 segments are out, 2 to 5 (n = 4) are lost, the window halves to 10.
#[test]
fn sack_mends_several_losses_in_one_round_trip() {
    let mut tcp = sender(Recovery::Sack);
    assert_eq!(send(&mut tcp, at(0.0), 20).len(), 20);
    assert_eq!(ack(&mut tcp, 2).acked, 2);
    assert_eq!(send(&mut tcp, at(0.1), 20), [20, 21]);
    assert_eq!(sack(&mut tcp, at(0.1), 2, &[(6, 7)]).delivered, 1);
    assert_eq!(sack(&mut tcp, at(0.1), 2, &[(6, 8)]).delivered, 1);
    assert_eq!((tcp.in_flight(), tcp.outstanding()), (18, 20));
    // Three above all of them: 2 to 5 are lost, pipe is 20 - 3 - 4 = 13, and the first
    // retransmission goes out whatever the window.
    assert_eq!(sack(&mut tcp, at(0.1), 2, &[(6, 9)]).loss, dup_acks(20, 4));
    assert_eq!(tcp.in_flight(), 13);
    assert_eq!(send(&mut tcp, at(0.1), 10), [2]);
    // Each ACK takes one off: below 10 at the fifth.
    for end in 10..14 {
        sack(&mut tcp, at(0.1), 2, &[(6, end)]);
        assert!(!tcp.has_room(10));
    }
    sack(&mut tcp, at(0.1), 2, &[(6, 14)]);
    assert_eq!(send(&mut tcp, at(0.1), 10), [3]);
    // One ACK for eight segments: the other two holes, then new data (NextSeg (2)).
    assert_eq!(sack(&mut tcp, at(0.1), 2, &[(6, 22)]).delivered, 8);
    assert_eq!(send(&mut tcp, at(0.1), 10), [4, 5, 22, 23, 24, 25, 26, 27]);
    // RecoveryPoint was 21: 22 is the first ACK beyond it.
    let partial = ack(&mut tcp, 5);
    assert_eq!((partial.acked, partial.delivered, partial.recovering), (3, 3, true));
    let full = ack(&mut tcp, 22);
    assert_eq!((full.acked, full.delivered, full.recovering), (17, 1, false));
    assert_eq!((tcp.fast_retransmits(), tcp.retransmitted()), (1, 4));
}

/// What is taken for lost is told once, with the first ACK that delivers something: of 0 to 9 the
/// edge makes 0 and 1 lost, later 4 and 5; what the timer gives up it says itself. Without SACK it
/// is one per duplicate-ACK event and one per partial ACK.
#[test]
fn each_loss_is_told_once() {
    let mut tcp = sender(Recovery::Sack);
    send(&mut tcp, at(0.0), 10);
    assert_eq!(sack(&mut tcp, at(0.1), 0, &[(2, 4)]).lost, 0);
    assert_eq!(sack(&mut tcp, at(0.1), 0, &[(6, 7), (2, 4)]).lost, 2);
    assert_eq!(sack(&mut tcp, at(0.1), 0, &[(6, 8), (2, 4)]).lost, 0);
    // Three above 4 and 5: 6, 7 and 8.
    assert_eq!(sack(&mut tcp, at(0.1), 0, &[(6, 9), (2, 4)]).lost, 2);
    assert_eq!(send(&mut tcp, at(0.1), 2), [0]);
    // In the network: 0 again and 9.
    assert_eq!(tcp.on_timeout(at(2.0)).lost, 2);
    assert_eq!(ack(&mut tcp, 1).lost, 0);

    let mut tcp = sender(Recovery::NewReno);
    send(&mut tcp, at(0.0), 8);
    for _ in 0..3 {
        assert_eq!(ack(&mut tcp, 0).lost, 0); // it delivers nothing
    }
    // With the partial ACK's own.
    assert_eq!(ack(&mut tcp, 3).lost, 2);
    assert_eq!(ack(&mut tcp, 8).lost, 0);
}

/// RFC 6675's NextSeg (3) and (4), with no new data left.
#[test]
fn sack_retransmits_on_suspicion_and_rescues_the_tail() {
    let mut tcp = Outbound::new(&Config::default(), Some(10));
    assert_eq!(send(&mut tcp, at(0.0), 20).len(), 10);
    // 0, 4 and 9 are missing; three above 0 and one above 4 are SACKed.
    sack(&mut tcp, at(0.1), 0, &[(1, 3)]);
    assert!(sack(&mut tcp, at(0.1), 0, &[(5, 6), (1, 3)]).recovering);
    // (1) gives 0; no new data; (3) gives 3 and 4, below the SACKed 5; (4) not yet.
    assert_eq!(send(&mut tcp, at(0.1), 20), [0, 3, 4]);
    // 3 was late and not lost. HighACK passes RescueRxt: the highest hole, once.
    sack(&mut tcp, at(0.2), 4, &[(5, 9)]);
    assert_eq!(send(&mut tcp, at(0.2), 20), [9]);
    sack(&mut tcp, at(0.3), 9, &[]);
    assert_eq!(send(&mut tcp, at(0.3), 20), [] as [u64; 0]);
    assert!(ack(&mut tcp, 10).finished);
}

/// RFC 6675, section 5.1: after a timeout the holes go out in order, what is SACKed does not, and
/// no recovery starts below the recovery point.
#[test]
fn sack_resends_holes_only_after_a_timeout() {
    let mut tcp = sender(Recovery::Sack);
    send(&mut tcp, at(0.0), 10);
    sack(&mut tcp, at(0.1), 0, &[(2, 4), (8, 9)]);
    assert!(tcp.recovering());
    let event = tcp.on_timeout(at(1.0));
    // 0 and 1 were lost already and not sent again: 4, 5, 6, 7 and 9 were in flight.
    assert_eq!((event.in_flight, event.lost), (5, 5));
    assert!(!tcp.recovering());
    assert_eq!(send(&mut tcp, at(1.0), 4), [0, 1, 4, 5]);
    // 0 is lost once more; no fast retransmit although four above it are SACKed by now.
    assert_eq!(sack(&mut tcp, at(1.1), 0, &[(1, 6), (8, 9)]).loss, None);
    assert_eq!(tcp.in_flight(), 1);
    assert_eq!(send(&mut tcp, at(1.1), 4), [6, 7, 9]);
    assert_eq!(sack(&mut tcp, at(1.2), 10, &[]).acked, 10);
    assert_eq!(send(&mut tcp, at(1.2), 5), [10, 11, 12, 13, 14]);
    // HighACK has reached the recovery point: from here on recovery may start again.
    assert_eq!(sack(&mut tcp, at(1.3), 10, &[(11, 14)]).loss, dup_acks(5, 1));
}

/// 100 segments are out, 0 is lost and so is its retransmission. Half the window is SACKed when the
/// timer runs out, or all of it, or what was sent since as well: 50 are in the network each time,
/// by what the halved window lets out, while FlightSize is 100, 149 and 199.
#[test]
fn a_timeout_in_recovery_finds_what_is_in_the_network() {
    for recovery in [Recovery::Sack, Recovery::Decoupled] {
        for (sacked, outstanding) in [(51, 100), (100, 149), (150, 199)] {
            let mut tcp = sender(recovery);
            assert_eq!(send(&mut tcp, at(0.0), 100).len(), 100);
            sack(&mut tcp, at(0.1), 0, &[(1, 4)]);
            // 100 - 3 SACKed - 1 lost = 96.
            assert_eq!((tcp.in_flight(), send(&mut tcp, at(0.1), 50)), (96, vec![0]));
            for end in 5..=sacked.min(100) {
                sack(&mut tcp, at(0.1), 0, &[(1, end)]);
                send(&mut tcp, at(0.1), 50);
            }
            if sacked > 100 {
                // Another round of 49 or 50: a decoupled recovery finds 0 lost again and resends
                // it.
                for end in 101..=sacked {
                    sack(&mut tcp, at(0.2), 0, &[(1, end)]);
                    send(&mut tcp, at(0.2), 50);
                }
            }
            assert_eq!((tcp.in_flight(), tcp.outstanding()), (50, outstanding), "{recovery:?}");
            let event = tcp.on_timeout(at(1.2));
            assert_eq!((event.in_flight, event.lost, event.repeated), (50, 50, false));
            // Nothing is in the network by now; ssthresh is held anyway.
            let event = tcp.on_timeout(at(3.2));
            assert_eq!((event.in_flight, event.repeated), (0, true));
        }
    }
}

/// Segments 0 to 9 are out, 0 is lost twice, seven duplicates come and the window halves to 5: 12
/// are outstanding, 12 - 7 in the network.
#[test]
fn a_timeout_in_fast_recovery_leaves_out_what_duplicates_tell_of() {
    for recovery in [Recovery::Reno, Recovery::NewReno] {
        let mut tcp = sender(recovery);
        send(&mut tcp, at(0.0), 10);
        for _ in 0..7 {
            ack(&mut tcp, 0);
        }
        assert_eq!(send(&mut tcp, at(0.1), 5), [0, 10, 11]);
        let event = tcp.on_timeout(at(1.1));
        assert_eq!((event.in_flight, event.lost), (5, 5), "{recovery:?}");
    }
    // Tahoe has given up all but the segment that it sent again.
    let mut tcp = sender(Recovery::Tahoe);
    send(&mut tcp, at(0.0), 10);
    for _ in 0..7 {
        ack(&mut tcp, 0);
    }
    assert_eq!(send(&mut tcp, at(0.1), 1), [0]);
    assert_eq!(tcp.on_timeout(at(1.1)).in_flight, 1);
}

/// RFC 3168, section 6.1.2: at most one reaction per window of data; CWR on the next new segment.
#[test]
fn ece_counts_once_per_window() {
    let mut tcp = sender(Recovery::NewReno);
    send(&mut tcp, at(0.0), 4);
    let ece = |tcp: &mut Outbound, cumulative| {
        tcp.on_ack(at(0.1), &AckIn { cumulative, sack: &[], rtt: None, ece: true })
    };
    let event = ece(&mut tcp, 1).loss.expect("congestion");
    assert_eq!((event.kind, event.in_flight, event.lost), (LossKind::EcnEcho, 3, 0));
    let cwr: Vec<bool> =
        (0..2).filter_map(|_| tcp.next_segment(at(0.1), 5)).map(|segment| segment.cwr).collect();
    assert_eq!(cwr, [true, false]);
    // 0 to 3 were out at the reaction: not before 4 or later is acknowledged.
    assert_eq!(ece(&mut tcp, 2).loss, None);
    assert_eq!(ece(&mut tcp, 4).loss, None);
    assert_eq!(ece(&mut tcp, 5).loss.map(|loss| loss.kind), Some(LossKind::EcnEcho));
    // In fast recovery, and for the window it was about, the loss has said it all.
    send(&mut tcp, at(0.2), 8);
    for n in 0..4 {
        assert_eq!(
            ece(&mut tcp, 5).loss.map(|loss| loss.kind),
            (n == 2).then_some(LossKind::DupAcks)
        );
    }
    let nxt = tcp.nxt();
    assert_eq!(ece(&mut tcp, nxt).loss, None);
}

#[test]
fn stop_lets_what_is_out_drain() {
    let mut tcp = sender(Recovery::Sack);
    send(&mut tcp, at(0.0), 3);
    tcp.stop();
    assert!(!tcp.finished());
    assert!(!ack(&mut tcp, 2).finished);
    assert!(!tcp.has_room(10));
    assert!(ack(&mut tcp, 3).finished);
    assert!(Outbound::new(&Config::default(), Some(0)).finished());
}

/// A window with many holes is mended segment by segment, and the timer never runs out.
#[test]
fn window_of_100_000_with_10_000_holes() {
    let mut tcp = sender(Recovery::Sack);
    let sent = send(&mut tcp, at(0.0), 100_000);
    let mut blocks: Vec<(u64, u64)> = Vec::new();
    for seq in sent.into_iter().filter(|seq| seq % 10 != 0) {
        match blocks.first_mut() {
            Some(block) if block.1 == seq => block.1 += 1,
            _ => blocks.insert(0, (seq, seq + 1)),
        }
        blocks.truncate(3);
        sack(&mut tcp, at(0.1), 0, &blocks);
    }
    assert_eq!(
        send(&mut tcp, at(0.1), 50_000).iter().filter(|seq| **seq < 100_000).count(),
        10_000
    );
    for hole in 1..=10_000 {
        assert_eq!(ack(&mut tcp, 10 * hole).delivered, 1);
    }
    assert_eq!((tcp.recovering(), tcp.fast_retransmits()), (false, 1));
}

#[test]
fn idle_connection_is_small() {
    let size = size_of::<Outbound>() + size_of::<clearpipe_transport::Inbound>();
    assert!(size <= 350, "{size}");
}

/// The numbers of segments do not wrap: beyond 2^32 of them two losses, one on each side of it, are
/// found and mended as those of the first window would be.
#[test]
#[ignore = "seconds"]
fn four_billion_segments_are_none_too_many() {
    const LIMIT: u64 = 1 << 32;
    let mut tcp = sender(Recovery::Sack);
    while tcp.nxt() < LIMIT - 4 {
        let (una, window) = (tcp.una(), (LIMIT - 4 - tcp.nxt()).min(1 << 16));
        while tcp.next_segment(at(0.0), window).is_some() {
            tcp.on_sent(at(0.0));
        }
        let all = u32::try_from(window).unwrap();
        assert_eq!(ack(&mut tcp, una + window).acked, all);
    }
    let sent = send(&mut tcp, at(0.0), 12);
    assert_eq!((sent[0], sent.len()), (LIMIT - 4, 12));
    // All but the third and the sixth arrive.
    let blocks = [(LIMIT + 2, LIMIT + 8), (LIMIT - 1, LIMIT + 1)];
    let outcome = sack(&mut tcp, at(0.1), LIMIT - 2, &blocks);
    assert_eq!((outcome.acked, outcome.delivered, outcome.lost), (2, 10, 2));
    assert_eq!(outcome.loss.map(|loss| loss.kind), Some(LossKind::DupAcks));
    assert!(tcp.is_lost(LIMIT - 2) && tcp.is_lost(LIMIT + 1));
    assert_eq!(send(&mut tcp, at(0.1), 2), [LIMIT - 2, LIMIT + 1]);
    let whole = ack(&mut tcp, LIMIT + 8);
    assert_eq!((whole.acked, whole.recovering, tcp.retransmitted()), (10, false, 2));
}

/// Linux without SACK: a duplicate ACK is a segment delivered, which the ACK of the hole does not
/// count again; that of the hole itself is one at least. In NewReno's recovery a partial ACK takes
/// as much off as it acknowledges, less the hole.
#[test]
fn duplicate_acks_are_segments_delivered() {
    let config = Config { recovery: Recovery::NewReno, count_dupacks: true, ..Config::default() };
    let mut tcp = Outbound::new(&config, None);
    assert_eq!(send(&mut tcp, at(0.0), 10).len(), 10);
    for (cumulative, delivered, acked) in [
        (0, 1, 0),
        (0, 1, 0),
        (2, 1, 2),
        (4, 2, 2),
        (4, 1, 0),
        (5, 1, 1),
        // Three duplicates and a recovery up to 10; a partial ACK of three, and one of the rest.
        (5, 1, 0),
        (5, 1, 0),
        (5, 1, 0),
        (8, 1, 3),
        (10, 1, 2),
    ] {
        let outcome = ack(&mut tcp, cumulative);
        assert_eq!((outcome.delivered, outcome.acked), (delivered, acked), "{cumulative}");
    }
}

/// A timeout of 1 s: nothing was sent for more than that, and something is to be. RFC 2861 counts
/// the timeouts that have passed.
#[test]
fn an_idle_time_is_longer_than_the_timeout() {
    for (decays, counts) in [(false, [None, None]), (true, [Some(1), Some(2)])] {
        let restart = Some(clearpipe_transport::Restart { window: 10.0, decays });
        let mut tcp = Outbound::new(&Config { restart, ..Config::default() }, None);
        assert_eq!(tcp.idle(at(9.0), at(0.0)), None);
        assert_eq!(send(&mut tcp, at(0.0), 1), [0]);
        assert_eq!(tcp.idle(at(9.0), at(0.0)), None);
        ack(&mut tcp, 1);
        assert_eq!(tcp.idle(at(1.0), at(0.0)), None);
        for (now, timeouts) in [1.5, 2.5].into_iter().zip(counts) {
            let idle = cc::roles::Idle { window: 10.0, timeouts };
            assert_eq!(tcp.idle(at(now), at(0.0)), Some(idle));
        }
        tcp.offer(1);
        assert_eq!(tcp.idle(at(9.0), at(0.0)), None);
    }
}

//! The receiving half, rule by rule.

use clearpipe_transport::{Config, Inbound};
use units::{Span, Time};

fn receiver() -> Inbound {
    Inbound::new(&Config::default())
}

/// A segment arrives; the ACK as (cumulative, blocks).
fn take(receiver: &mut Inbound, seq: u64) -> (u64, Vec<(u64, u64)>) {
    receiver.on_data(Time::ZERO, seq, false, false);
    let ack = receiver.ack(Time::ZERO);
    let blocks = receiver.sack_blocks();
    assert_eq!(ack.sack, !blocks.is_empty());
    (ack.cumulative, blocks.as_slice().iter().map(|block| (block.start, block.end)).collect())
}

// RFC 2018, section 7: eight segments of 500 octets from 5000 on; segment n is octet 5000 + 500 n.

#[test]
fn last_four_dropped() {
    let mut receiver = receiver();
    for seq in 0..4 {
        assert_eq!(take(&mut receiver, seq), (seq + 1, vec![]));
    }
}

#[test]
fn first_dropped() {
    let mut receiver = receiver();
    // 5500: ACK 5000, SACK 5500-6000; .. 8500: ACK 5000, SACK 5500-9000.
    for seq in 1..8 {
        assert_eq!(take(&mut receiver, seq), (0, vec![(1, seq + 1)]));
    }
}

#[test]
fn every_second_dropped() {
    let mut receiver = receiver();
    assert_eq!(take(&mut receiver, 0), (1, vec![]));
    assert_eq!(take(&mut receiver, 2), (1, vec![(2, 3)]));
    assert_eq!(take(&mut receiver, 4), (1, vec![(4, 5), (2, 3)]));
    assert_eq!(take(&mut receiver, 6), (1, vec![(6, 7), (4, 5), (2, 3)]));
    // "Suppose at this point, the 4th packet is received out of order": 6000-7500, 8000-8500.
    assert_eq!(take(&mut receiver, 3), (1, vec![(2, 5), (6, 7)]));
    // "Suppose at this point, the 2nd segment is received": ACK 7500, SACK 8000-8500.
    assert_eq!(take(&mut receiver, 1), (5, vec![(6, 7)]));
    assert_eq!(take(&mut receiver, 5), (7, vec![]));
}

#[test]
fn blocks_beyond_the_third_come_back_when_there_is_room() {
    let mut receiver = receiver();
    for seq in [2, 4, 6, 8] {
        take(&mut receiver, seq);
    }
    assert_eq!(take(&mut receiver, 10), (0, vec![(10, 11), (8, 9), (6, 7)]));
    assert_eq!(take(&mut receiver, 9), (0, vec![(8, 11), (6, 7), (4, 5)]));
    // The block that the last segment fell into comes first, also for a second copy.
    assert_eq!(take(&mut receiver, 4), (0, vec![(4, 5), (8, 11), (6, 7)]));
    assert_eq!((receiver.duplicates(), receiver.delivered()), (1, 6));
}

#[test]
fn forgotten_blocks_are_walked() {
    let mut receiver = receiver();
    for seq in (2..400).filter(|seq| seq % 20 != 0) {
        take(&mut receiver, seq);
    }
    // Twenty blocks, eight remembered: those around 20 and 40 are not.
    assert_eq!(take(&mut receiver, 40).1[0], (21, 60));
    assert_eq!(take(&mut receiver, 20).1[0], (2, 60));
}

#[test]
fn duplicates_are_not_new_and_are_acknowledged_at_once() {
    let config = Config { delayed_ack: Some(Span::from_millis(200)), ..Config::default() };
    let mut receiver = Inbound::new(&config);
    assert!(receiver.on_data(Time::ZERO, 0, false, false).new);
    let again = receiver.on_data(Time::ZERO, 0, false, false);
    assert!(!again.new && again.ack_now);
}

/// RFC 5681, section 4.2.
#[test]
fn delayed_acks_wait_for_a_second_segment_or_the_timer() {
    let delay = Span::from_millis(200);
    let config = Config { delayed_ack: Some(delay), ..Config::default() };
    let mut receiver = Inbound::new(&config);
    let now = Time::ZERO + Span::from_secs(1);
    assert!(!receiver.on_data(now, 0, false, false).ack_now);
    assert_eq!(receiver.deadline(), now + delay);
    assert!(receiver.on_data(now, 1, false, false).ack_now);
    assert_eq!(receiver.ack(now).cumulative, 2);
    assert_eq!(receiver.deadline(), Time::NEVER);
    // Out of order, and what fills the gap: at once.
    assert!(receiver.on_data(now, 3, false, false).ack_now);
    receiver.ack(now);
    assert!(receiver.on_data(now, 2, false, false).ack_now);
    assert_eq!(receiver.ack(now).cumulative, 4);
}

/// Of five segments the first is acknowledged at once, as by ns-3 (TcpSocketBase::ProcessSynRcvd),
/// and then every second.
#[test]
fn quick_acks_are_not_delayed() {
    let delayed_ack = Some(Span::from_millis(200));
    let mut receiver = Inbound::new(&Config { delayed_ack, quick_acks: 1, ..Config::default() });
    let mut at_once = |seq| {
        let ack_now = receiver.on_data(Time::ZERO, seq, false, false).ack_now;
        ack_now.then(|| receiver.ack(Time::ZERO).cumulative)
    };
    let acks: Vec<_> = (0..5).map(&mut at_once).collect();
    assert_eq!(acks, [Some(1), None, Some(3), None, Some(5)]);
}

/// What acknowledges nothing by itself but sends reports does not begin with ACKs either.
#[test]
fn quick_acks_are_none_of_a_receiver_that_reports() {
    let mut receiver = Inbound::new(&Config { reports: true, quick_acks: 2, ..Config::default() });
    let now = Time::ZERO + Span::from_millis(1);
    for seq in 0..4 {
        assert!(!receiver.on_data(now, seq, false, false).ack_now, "{seq}");
    }
}

/// RFC 3168, section 6.1.3.
#[test]
fn ece_is_latched_until_cwr() {
    let mut receiver = receiver();
    let mut echo = |seq, ce, cwr| {
        receiver.on_data(Time::ZERO, seq, ce, cwr);
        receiver.ack(Time::ZERO).ece
    };
    assert!(!echo(0, false, false));
    assert!(echo(1, true, false));
    assert!(echo(2, false, false));
    assert!(!echo(3, false, true));
    assert!(echo(4, true, true));
    assert!(!echo(5, false, true));
}

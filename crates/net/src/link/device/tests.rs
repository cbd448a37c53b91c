use super::*;

fn us(n: u64) -> Time {
    Time::ZERO + Span::from_micros(n)
}

/// A device and a line of 1000 B per 100 us.
fn device(packets: u32, bql: Option<Span>) -> Device {
    Device::new(scenario::Device { packets, bql })
}

/// A packet of 1000 B is taken; when does its service begin, and when is the next taken?
fn take(device: &mut Device, now: u64) -> (u64, u64) {
    let begin = device.begin(us(now));
    let end = begin + Span::from_micros(100);
    let next = device.take(us(now), Held { begin, end, size: 1000, unused: 0.0, lost: None });
    (begin.0 / 1_000_000, next.0 / 1_000_000)
}

/// Room for two besides the one in service: three are taken at once, the fourth when the second
/// begins its service, at 100 us. At 250 us the service ends at 400 us, and two wait.
#[test]
fn a_ring_takes_packets_before_their_service() {
    let mut ring = device(2, None);
    assert_eq!(take(&mut ring, 0), (0, 0));
    assert_eq!(take(&mut ring, 0), (100, 0));
    assert_eq!(take(&mut ring, 0), (200, 100));
    assert_eq!(take(&mut ring, 100), (300, 200));
    assert_eq!((ring.held(us(100)).count(), ring.held(us(250)).count()), (3, 2));
    assert_eq!(ring.line_until(), us(400));
    // Idle from 400 us on: as at first.
    assert_eq!(take(&mut ring, 1000), (1000, 1000));
    assert_eq!(ring.held(us(1000)).count(), 1);
}

/// Byte limits from nothing, worked by dql_completed with the packets 1 to 6 of 1000 B. At 0 us the
/// first is completed at once, over a limit of 0 and with nothing in progress: starved, the limit
/// is 1000, and 2000 may be queued in all. The third goes beyond it, and is still taken. At 100 us
/// the second is completed; 2000 were queued, 1000 over the limit, but one is in progress: the
/// limit stays, 3000 may be queued, so the fourth is taken. At 200 us the third is completed, which
/// was all that was queued at 100 us, when it was over the limit: starved, the limit is 2000 and
/// 5000 may be queued: the fifth fits, the sixth goes beyond. At 300 us 6000 may be.
#[test]
fn byte_limits_hold_what_keeps_the_line_busy() {
    let mut ring = device(100, Some(Span::from_millis(1)));
    assert_eq!(take(&mut ring, 0), (0, 0));
    assert_eq!(take(&mut ring, 0), (100, 0));
    assert_eq!(take(&mut ring, 0), (200, 100));
    assert_eq!(take(&mut ring, 100), (300, 200));
    assert_eq!(take(&mut ring, 200), (400, 200));
    assert_eq!(take(&mut ring, 200), (500, 300));
}

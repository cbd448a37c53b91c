//! Delivery-rate samples: how fast the path has lately delivered, ACK by ACK. Cheng, Cardwell,
//! Yeganeh, Jacobson, draft-cheng-iccrg-delivery-rate-estimation-02; the same text is section 4.1
//! of draft-ietf-ccwg-bbr-06.
//!
//! A sample counts what was delivered between a packet's sending and its ACK and divides by the
//! longer of the two times in which that was sent and acknowledged: the ACK rate alone is too high
//! where ACKs are compressed, the send rate alone while a queue is building up. A sample whose
//! packet was sent while the application had no more to send is marked, as it says nothing of the
//! path.
//!
//! What a sender remembers of a packet ([`Stamp`]) rides in the packet's header slot, out and back
//! by [`crate::roles::Echo`]: no table per flow, and nothing to search. A real sender keeps it
//! beside the packet in its queue, so it takes no room on the wire and captures do not show it.
//!
//! Deviations:
//! - D1: packets of one size are counted, not bytes; the numbers are modulo 2^32, as in Linux.
//! - D2: an ACK for several packets samples the one that caused it (or that the receiver took in
//!   last, with delayed ACKs), without a search for the newest: only reordering makes it another.
//! - D3: the flow counts as limited by the application from the packet behind which there is
//!   nothing to send and room in the window, where the draft looks when more is offered; the mark,
//!   delivered plus in flight, is the same number. Whether lost packets wait for their
//!   retransmission is not asked: new data behind them would have been sent first or not exist.
//! - D4: spans that only divide are single-precision floats, 6e-8 of the value; 28 bytes hold it
//!   all.

use units::{Span, Time};

use crate::roles::{Ack, Departing, Header};

/// What the sender remembers of a packet (the draft's P). The default is that of no packet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stamp {
    /// P.send_time, lower half first: aligned to 8 bytes it would not fit beside the tag of all
    /// headers.
    sent: [u32; 2],
    /// P.send_time - P.first_send_time [s].
    send_elapsed: f32,
    /// P.send_time - P.delivered_time [s].
    since_delivery: f32,
    /// P.delivered.
    delivered: u32,
    /// P.lost.
    lost: u32,
    /// P.tx_in_flight, this packet included, and [`LIMITED`]; 0 in no packet's stamp.
    flight: u32,
}

/// P.is_app_limited.
const LIMITED: u32 = 1 << 31;

impl Stamp {
    /// Is it that of a packet?
    pub fn is_known(&self) -> bool {
        self.flight != 0
    }

    /// When the packet was sent.
    pub fn sent(&self) -> Time {
        Time(u64::from(self.sent[0]) | u64::from(self.sent[1]) << 32)
    }
}

impl Header for Stamp {
    const WIRE_BYTES: usize = 0;
    fn encode(&self, _: &mut [u8]) {}
    fn decode(_: &[u8]) -> Option<Stamp> {
        None
    }
}

/// What an ACK says of the path (the draft's RS).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateSample {
    /// RS.delivery_rate [packets/s]; 0 if the ACK gives none.
    pub rate: f64,
    /// RS.interval [s].
    pub interval: f64,
    /// Did the ACK bring back what was remembered of its packet? If not, only the two `newly_` are
    /// known.
    pub valid: bool,
    /// RS.is_app_limited.
    pub limited: bool,
    /// RS.prior_delivered: packets delivered when this ACK's packet was sent, modulo 2^32.
    pub prior_delivered: u32,
    /// RS.delivered: packets delivered since.
    pub delivered: u32,
    /// RS.tx_in_flight: packets in flight when it was sent, itself included.
    pub tx_in_flight: u32,
    /// RS.lost: packets taken for lost since.
    pub lost: u32,
    /// RS.newly_acked.
    pub newly_acked: u32,
    /// RS.newly_lost.
    pub newly_lost: u32,
}

/// The connection's part (the draft's C).
#[derive(Clone, Debug)]
pub struct RateSampler {
    /// C.delivered_time.
    delivered_time: Time,
    /// C.first_send_time.
    first_send_time: Time,
    /// C.delivered.
    delivered: u32,
    /// C.lost.
    lost: u32,
    /// C.app_limited, if `limited`.
    limit: u32,
    limited: bool,
}

impl RateSampler {
    /// For a flow that has sent nothing.
    pub const NEW: RateSampler = RateSampler {
        delivered_time: Time::ZERO,
        first_send_time: Time::ZERO,
        delivered: 0,
        lost: 0,
        limit: 0,
        limited: false,
    };

    /// C.delivered: packets delivered so far, modulo 2^32.
    #[inline]
    pub fn delivered(&self) -> u32 {
        self.delivered
    }

    /// C.app_limited: has the application left a gap whose packets are not all delivered?
    #[inline]
    pub fn limited(&self) -> bool {
        self.limited
    }

    /// A packet leaves, of a window of `cwnd` packets: what to remember of it.
    #[inline]
    pub fn on_send(&mut self, segment: &Departing, cwnd: f64) -> Stamp {
        let Departing { now, in_flight, backlogged, .. } = *segment;
        if in_flight == 0 {
            (self.first_send_time, self.delivered_time) = (now, now);
        }
        let flight = in_flight.saturating_add(1).min(LIMITED - 1);
        let stamp = Stamp {
            sent: [now.0 as u32, (now.0 >> 32) as u32],
            send_elapsed: now.since(self.first_send_time).as_secs() as f32,
            since_delivery: now.since(self.delivered_time).as_secs() as f32,
            delivered: self.delivered,
            lost: self.lost,
            flight: flight | if self.limited { LIMITED } else { 0 },
        };
        if !backlogged && f64::from(flight) < cwnd {
            self.mark_limited(flight);
        }
        stamp
    }

    /// MarkConnectionAppLimited: samples of packets sent from now on do not count, until all of the
    /// `in_flight` packets are delivered.
    #[inline]
    pub fn mark_limited(&mut self, in_flight: u32) {
        (self.limited, self.limit) = (true, self.delivered.wrapping_add(in_flight));
    }

    /// The timer has given up so many packets.
    pub fn on_timeout(&mut self, lost: u32) {
        self.lost = self.lost.wrapping_add(lost);
    }

    /// An ACK has come.
    #[inline]
    pub fn on_ack(&mut self, ack: &Ack<Stamp>) -> RateSample {
        self.delivered = self.delivered.wrapping_add(ack.delivered);
        self.lost = self.lost.wrapping_add(ack.lost);
        self.delivered_time = ack.now;
        if self.limited && after(self.delivered, self.limit) {
            self.limited = false;
        }
        let (newly_acked, newly_lost) = (ack.delivered, ack.lost);
        let stamp = &ack.header;
        if !stamp.is_known() {
            return RateSample { newly_acked, newly_lost, ..RateSample::default() };
        }
        self.first_send_time = stamp.sent();
        let ack_elapsed = ack.now.since(stamp.sent()).as_secs() + f64::from(stamp.since_delivery);
        let interval = ack_elapsed.max(f64::from(stamp.send_elapsed));
        let delivered = self.delivered.wrapping_sub(stamp.delivered);
        // Shorter than any RTT: a retransmission for nothing, whose data had arrived before.
        let reliable = interval > 0.0 && interval >= ack.min_rtt.map_or(0.0, Span::as_secs);
        RateSample {
            rate: if reliable { f64::from(delivered) / interval } else { 0.0 },
            interval,
            valid: true,
            limited: stamp.flight & LIMITED != 0,
            prior_delivered: stamp.delivered,
            delivered,
            tx_in_flight: stamp.flight & !LIMITED,
            lost: self.lost.wrapping_sub(stamp.lost),
            newly_acked,
            newly_lost,
        }
    }
}

/// Is count `a` beyond `b`, both modulo 2^32 and less than 2^31 apart?
#[inline]
pub fn after(a: u32, b: u32) -> bool {
    (b.wrapping_sub(a) as i32) < 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ack, departing, ms, near};

    /// Sends a packet with so many in flight before it.
    fn send(sampler: &mut RateSampler, at: Time, in_flight: u32) -> Stamp {
        sampler.on_send(&Departing { now: at, in_flight, ..departing() }, 100.0)
    }

    fn acked(sampler: &mut RateSampler, at: Time, header: Stamp, delivered: u32) -> RateSample {
        sampler.on_ack(&Ack { now: at, header, ..ack(delivered) })
    }

    #[test]
    fn it_travels_in_the_slot_of_a_header_and_not_on_the_wire() {
        assert_eq!(size_of::<Stamp>(), 28);
        assert_eq!(Stamp::WIRE_BYTES, 0);
        let mut sampler = RateSampler::NEW;
        send(&mut sampler, ms(5), 0).encode(&mut []);
    }

    /// One packet each 10 ms, an RTT of 40 ms: four in flight. The ACK of packet 4, sent with that
    /// of packet 0 at 40 ms, comes at 80 ms; 1, 2, 3 and 4 were delivered in the 40 ms since.
    #[test]
    fn a_sample_is_what_a_round_trip_delivered() {
        let mut sampler = RateSampler::NEW;
        let stamps: [Stamp; 4] =
            core::array::from_fn(|i| send(&mut sampler, ms(10 * i as u64), i as u32));
        let first = acked(&mut sampler, ms(40), stamps[0], 1);
        // The first packet: 1 in 40 ms.
        assert!(near(first.rate, 25.0) && first.tx_in_flight == 1, "{first:?}");
        let fifth = send(&mut sampler, ms(40), 3);
        for (i, stamp) in (5..8).zip(&stamps[1..]) {
            acked(&mut sampler, ms(10 * i), *stamp, 1);
        }
        let sample = acked(&mut sampler, ms(80), fifth, 1);
        assert!(near(sample.rate, 100.0), "{sample:?}");
        assert_eq!((sample.prior_delivered, sample.delivered, sample.tx_in_flight), (1, 4, 4));
        assert!(sample.valid && !sample.limited && near(sample.interval, 0.04));
    }

    /// ACK compression: ten packets leave 10 ms apart, 0 to 90 ms, and their ACKs come within 0.9
    /// ms, up to 100.9 ms; so do the next ten, from 101 to 191 ms, with ACKs up to 191.9 ms.
    /// Between the ACKs of the last of each ten lie 91 ms, between their sendings 101: 10 in 101
    /// ms.
    #[test]
    fn the_ack_rate_never_exceeds_the_send_rate() {
        let mut sampler = RateSampler::NEW;
        let mut last = RateSample::default();
        for start in [0, 101] {
            let stamps: [Stamp; 10] =
                core::array::from_fn(|i| send(&mut sampler, ms(start + 10 * i as u64), 1));
            let acks = if start == 0 { ms(100) } else { ms(191) };
            for (i, stamp) in (0..).zip(stamps) {
                last = acked(&mut sampler, acks + Span::from_micros(100 * i), stamp, 1);
                // 10 ms from packet to packet: never above 100 packets/s.
                assert!(last.rate <= 100.0, "{last:?}");
            }
        }
        assert!((last.rate / (10.0 / 0.101) - 1.0).abs() < 1e-6, "{last:?}");
    }

    /// Packet 1 is the last that the application has. It marks delivered + in flight = 0 + 2; what
    /// is sent before more than those two are delivered is limited, packet 2 and no later one.
    #[test]
    fn samples_across_a_gap_are_marked() {
        let mut sampler = RateSampler::NEW;
        let first = send(&mut sampler, ms(0), 0);
        let last = Departing { now: ms(1), in_flight: 1, backlogged: false, ..departing() };
        // A full window is no gap.
        let mut full = sampler.clone();
        full.on_send(&last, 2.0);
        assert!(!full.limited());
        let second = sampler.on_send(&last, 3.0);
        assert!(sampler.limited());
        assert!(!acked(&mut sampler, ms(40), first, 1).limited);
        assert!(!acked(&mut sampler, ms(41), second, 1).limited);
        assert!(sampler.limited());
        let third = send(&mut sampler, ms(500), 0);
        let sample = acked(&mut sampler, ms(540), third, 1);
        // Idle time does not count: 1 in 40 ms, not in 499.
        assert!(sample.limited && near(sample.rate, 25.0), "{sample:?}");
        assert!(!sampler.limited());
        let fourth = send(&mut sampler, ms(541), 0);
        assert!(!acked(&mut sampler, ms(581), fourth, 1).limited);
    }

    #[test]
    fn losses_since_a_packet_was_sent_are_counted() {
        let mut sampler = RateSampler::NEW;
        let (first, second) = (send(&mut sampler, ms(0), 0), send(&mut sampler, ms(1), 1));
        let lossy = Ack { now: ms(40), header: first, lost: 3, ..ack(1) };
        assert_eq!(sampler.on_ack(&lossy).lost, 3);
        let third = send(&mut sampler, ms(40), 1);
        let sample = sampler.on_ack(&Ack { now: ms(41), header: second, lost: 1, ..ack(1) });
        assert_eq!((sample.lost, sample.newly_lost), (4, 1));
        sampler.on_timeout(5);
        let fourth = send(&mut sampler, ms(42), 1);
        assert_eq!(acked(&mut sampler, ms(80), third, 1).lost, 6);
        assert_eq!(acked(&mut sampler, ms(82), fourth, 1).lost, 0);
    }

    /// An ACK that comes 1 ms after its packet where 40 ms are the least was another
    /// transmission's.
    #[test]
    fn what_is_faster_than_any_round_trip_is_no_sample() {
        let mut sampler = RateSampler::NEW;
        send(&mut sampler, ms(0), 0);
        let again = send(&mut sampler, ms(39), 0);
        let min_rtt = Some(Span::from_millis(40));
        let sample = sampler.on_ack(&Ack { now: ms(40), header: again, min_rtt, ..ack(1) });
        assert!(sample.rate == 0.0 && sample.valid && sample.delivered == 1);
        let foreign = sampler.on_ack(&Ack { now: ms(41), min_rtt, ..ack(1) });
        assert!(!foreign.valid && foreign.rate == 0.0 && foreign.newly_acked == 1);
    }

    #[test]
    fn counts_go_round() {
        assert!(after(1, 0) && !after(0, 1) && !after(7, 7));
        assert!(after(2, u32::MAX - 3) && !after(u32::MAX - 3, 2));
    }

    /// A flight beyond 31 bits, which no run has, is the most there is, and no mark of a gap.
    #[test]
    fn a_flight_has_31_bits() {
        let mut sampler = RateSampler::NEW;
        let stamp = send(&mut sampler, ms(0), u32::MAX);
        let sample = acked(&mut sampler, ms(40), stamp, 1);
        assert_eq!((sample.tx_in_flight, sample.limited), (u32::MAX >> 1, false));
    }
}

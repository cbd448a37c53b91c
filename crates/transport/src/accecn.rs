//! AccECN, more accurate ECN feedback in TCP. RFC 9768 (2025), section 3.2 and appendix A.
//!
//! The receiver counts the packets that came with CE (r.cep), and the bytes that came with CE,
//! ECT(0) and ECT(1). Every ACK carries the lowest three bits of r.cep, the ACE field in the place
//! of three TCP flags, and, if the option is on, 24 bits of each count of bytes. The sender keeps
//! the same counters and works out how many packets were marked since the last ACK. As three bits
//! wrap, it takes the safest likely number when an ACK is about more packets than that
//! ([`Heard::on_ack`], appendix A.2), unless the option tells it better.
//!
//! In place of RFC 3168's echo, which the receiver repeats until it sees CWR, and of the code of
//! one packet per ACK, a controller hears how many were marked. One that knows RFC 3168 only
//! reduces once per window of data, as it did.
//!
//! Deviations:
//! - A1: a run has no handshake, so nothing is negotiated there and no mangling looked for:
//!   counters start as they do after one in which nothing was marked. [`handshake`] is what the
//!   host of packetdrill's scripts negotiates with (sections 3.1, 3.2.2.3, 3.2.2.4).
//! - A2: bytes are those of whole packets, headers inside, on both ends; MSS is a full packet.
//! - A3: with the option on every ACK has it, and with all three counts (section 3.2.3.3 lets a
//!   receiver leave it out where nothing changed). Its 11 bytes are not charged: an ACK is as long
//!   as the scenario says.
//! - A4: an ACK is superseded if it delivers nothing; there are no timestamps to break the tie.
//! - A5: as appendix A.2.1 suggests, the safest likely number counts only while ACKs are about few
//!   packets, with Linux's average (gain 1/64) and limit (4).

use cc::roles::Ecn;

pub mod handshake;
pub mod wire;

/// 2^3: the ACE field has three bits.
const DIVACE: u32 = 8;
/// 2^24: the fields of the option.
const DIVOPT: u32 = 1 << 24;
/// Initial value of both ends' counters of packets (section 3.2.1).
const CEP_0: u32 = 5;
/// Initial value of the counters of ECT bytes (section 3.2.1).
const ECT_0: u32 = 1;
/// n, the marks that trigger an ACK (section 3.2.2.5.1).
const TRIGGER: u32 = 2;
/// Appendix A.2.2.
const SAFETY_FACTOR: u32 = 2;
/// Packets per ACK, in the mean, up to which a wrap of ACE is assumed (A5).
const FEW: f64 = 4.0;

/// What an ACK carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Field {
    /// ACE: r.cep modulo 8.
    pub ace: u8,
    /// The option, if there is one.
    pub option: Option<Bytes>,
}

/// The option's fields, 24 bits each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bytes {
    /// ECEB, of CE.
    pub eceb: u32,
    /// EE0B, of ECT(0).
    pub ee0b: u32,
    /// EE1B, of ECT(1).
    pub ee1b: u32,
}

/// The counters of one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counters {
    /// Packets with CE.
    pub cep: u32,
    /// Bytes with CE.
    pub ceb: u32,
    /// Bytes with ECT(0).
    pub e0b: u32,
    /// Bytes with ECT(1).
    pub e1b: u32,
}

impl Default for Counters {
    fn default() -> Counters {
        Counters { cep: CEP_0, ceb: 0, e0b: ECT_0, e1b: ECT_0 }
    }
}

/// The receiver's end.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// r.cep and so on.
    pub counters: Counters,
    option: bool,
    /// Marks since the last ACK.
    marks: u32,
    last: Ecn,
}

impl Told {
    /// Nothing has come yet; `option`: do ACKs carry the option?
    pub fn new(option: bool) -> Told {
        Told { option, ..Told::default() }
    }

    /// A data packet of so many bytes arrives: is an ACK due at once (section 3.2.2.5.1)? Because
    /// CE follows another code, or because two marks have come since the last ACK.
    pub fn on_data(&mut self, ecn: Ecn, bytes: u32) -> bool {
        let changed = ecn == Ecn::Ce && self.last != Ecn::Ce;
        self.last = ecn;
        let Counters { cep, ceb, e0b, e1b } = &mut self.counters;
        let count = match ecn {
            Ecn::NotCapable => return false,
            Ecn::Ect0 => e0b,
            Ecn::Ect1 => e1b,
            Ecn::Ce => {
                *cep = cep.wrapping_add(1);
                self.marks += 1;
                ceb
            }
        };
        *count = count.wrapping_add(bytes);
        changed || self.marks >= TRIGGER
    }

    /// An ACK leaves with this.
    pub fn ack(&mut self) -> Field {
        self.marks = 0;
        let Counters { cep, ceb, e0b, e1b } = self.counters;
        let option = self.option.then_some(Bytes {
            eceb: ceb % DIVOPT,
            ee0b: e0b % DIVOPT,
            ee1b: e1b % DIVOPT,
        });
        Field { ace: (cep % DIVACE) as u8, option }
    }
}

/// The sender's end.
#[derive(Clone, Debug)]
pub struct Heard {
    /// s.cep and so on.
    pub counters: Counters,
    /// MSS [bytes].
    packet_bytes: u32,
    /// Packets per ACK, in the mean; 0 before the first.
    acked: f64,
}

/// The least that a counter of so many values has advanced from `from` to read `field`.
fn advance(from: u32, field: u32, values: u32) -> u32 {
    (field % values + values - from % values) % values
}

impl Heard {
    /// Nothing is known yet; full packets are so many bytes.
    pub fn new(packet_bytes: u32) -> Heard {
        Heard { counters: Counters::default(), packet_bytes, acked: 0.0 }
    }

    /// An ACK that delivers so many packets for the first time: how many of those, and of others
    /// that it tells of besides, were marked.
    pub fn on_ack(&mut self, field: Field, delivered: u32) -> u32 {
        if delivered == 0 {
            return 0;
        }
        let packets = f64::from(delivered);
        self.acked += if self.acked == 0.0 { packets } else { (packets - self.acked) / 64.0 };
        let few = self.acked <= FEW;
        let marked_bytes = field.option.map(|option| {
            let Counters { ceb, e0b, e1b, .. } = &mut self.counters;
            let take = |counter: &mut u32, field| {
                let more = advance(*counter, field, DIVOPT);
                *counter = counter.wrapping_add(more);
                more
            };
            take(e0b, option.ee0b);
            take(e1b, option.ee1b);
            take(ceb, option.eceb)
        });
        let least = advance(self.counters.cep, u32::from(field.ace), DIVACE);
        let marks = match marked_bytes {
            Some(bytes) => with_option(least, delivered, bytes, self.packet_bytes),
            None if few => safest(least, delivered),
            None => least,
        };
        self.counters.cep = self.counters.cep.wrapping_add(marks);
        marks
    }
}

/// Appendix A.2.1: dSafer.cep, the most marks among `packets` newly acknowledged that agree with
/// ACE; `least`, d.cep, where even that is more than there were packets.
fn safest(least: u32, packets: u32) -> u32 {
    match packets.checked_sub(least) {
        Some(others) => packets - others % DIVACE,
        None => least,
    }
}

/// Appendix A.2.2: the same where the marked bytes are known, too.
fn with_option(least: u32, packets: u32, marked_bytes: u32, mss: u32) -> u32 {
    let safer = safest(least, packets);
    let (bytes, mss) = (u64::from(marked_bytes), u64::from(mss));
    // sSafer = d.ceb/dSafer.cep below MSS/2, without the division.
    let small = bytes * u64::from(SAFETY_FACTOR) < mss * u64::from(safer);
    if safer > least && bytes <= mss * u64::from(least) && small { least } else { safer }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of appendix A.1.
    #[test]
    fn bytes_are_decoded_modulo_2_to_the_24() {
        assert_eq!(33_554_433 % DIVOPT, 1);
        assert_eq!(advance(33_554_433, 1461, DIVOPT), 1460);
        let mut heard = Heard::new(1460);
        heard.counters.ceb = 33_554_433;
        let option = Bytes { eceb: 1461, ee0b: 1, ee1b: 1 };
        assert_eq!(heard.on_ack(Field { ace: 6, option: Some(option) }, 1), 1);
        assert_eq!(heard.counters.ceb, 33_555_893);
    }

    /// The examples of appendix A.2.1: ACE up by 2 is 2 marks of 9 packets, 10 of 10.
    #[test]
    fn a_wrap_of_ace_is_assumed_where_it_was_possible() {
        assert_eq!((safest(2, 9), safest(2, 10)), (2, 10));
        assert_eq!((safest(0, 7), safest(0, 8), safest(3, 1)), (0, 8, 3));
        // After an ACK of one packet the mean is below 4; ACE goes from 5, its initial value, to 7.
        let mut heard = Heard::new(1460);
        assert_eq!(heard.on_ack(Field { ace: 5, option: None }, 1), 0);
        assert_eq!(heard.on_ack(Field { ace: 7, option: None }, 10), 10);
        assert_eq!(heard.counters.cep, 15);
        // Where the first ACK is about ten, ACKs are rare (A5), and 2 is what is assumed.
        let mut heard = Heard::new(1460);
        assert_eq!(heard.on_ack(Field { ace: 7, option: None }, 10), 2);
    }

    /// The three examples of appendix A.2.2, MSS = 1460: s infinite, 730 and 1457; sSafer 182.5,
    /// 146 and 680.
    #[test]
    fn marked_bytes_tell_whether_ace_wrapped() {
        assert_eq!(with_option(0, 8, 1460, 1460), 8);
        assert_eq!(with_option(2, 10, 1460, 1460), 2);
        assert_eq!(with_option(7, 15, 10_200, 1460), 7);
        // Ten full packets that were all marked.
        assert_eq!(with_option(2, 10, 14_600, 1460), 10);
    }

    /// Section 3.2.2 and 3.2.3: the packets start at 5, ECT bytes at 1, CE bytes at 0. ACE of the
    /// 11th mark: (5 + 11) mod 8 = 0.
    #[test]
    fn counters_start_at_their_initial_values() {
        let mut told = Told::new(true);
        let fresh = Bytes { eceb: 0, ee0b: 1, ee1b: 1 };
        assert_eq!(told.ack(), Field { ace: 5, option: Some(fresh) });
        told.on_data(Ecn::Ect0, 100);
        told.on_data(Ecn::Ect1, 1000);
        (0..11).for_each(|_| assert!(!told.on_data(Ecn::NotCapable, 7)));
        for _ in 0..11 {
            told.on_data(Ecn::Ce, 10);
        }
        let bytes = Bytes { eceb: 110, ee0b: 101, ee1b: 1001 };
        assert_eq!(told.ack(), Field { ace: 0, option: Some(bytes) });
        assert_eq!(Told::new(false).ack(), Field { ace: 5, option: None });
    }

    /// Section 3.2.2.5.1: an ACK at the first mark after another code, and at each second one.
    #[test]
    fn marks_trigger_acks() {
        let mut told = Told::new(false);
        assert!(!told.on_data(Ecn::Ect1, 1));
        assert!(told.on_data(Ecn::Ce, 1));
        told.ack();
        assert!(!told.on_data(Ecn::Ce, 1));
        assert!(told.on_data(Ecn::Ce, 1));
        told.ack();
        assert!(!told.on_data(Ecn::Ect1, 1));
        assert!(told.on_data(Ecn::Ce, 1));
    }

    /// Whatever ACKs get lost, as long as none is about more than seven packets, the sender's count
    /// is the receiver's; with the option up to fifteen: with k full packets marked of them and ACE
    /// up by k or k - 8, either k bytes times MSS are more than ACE explains, or k of at most k + 8
    /// are less than half.
    #[test]
    fn both_ends_agree_after_lost_acks() {
        let mut stream = units::random::Stream::new(1, 0, "accecn");
        for (option, longest) in [(false, 7), (true, 15)] {
            let (mut told, mut heard) = (Told::new(option), Heard::new(1000));
            for _ in 0..10_000 {
                let packets = 1 + (stream.bits() % longest) as u32;
                for _ in 0..packets {
                    let ecn = if stream.chance(0.4) { Ecn::Ce } else { Ecn::Ect1 };
                    told.on_data(ecn, 1000);
                }
                heard.on_ack(told.ack(), packets);
                assert_eq!(heard.counters.cep, told.counters.cep);
            }
        }
    }

    /// A superseded ACK changes nothing.
    #[test]
    fn an_ack_of_nothing_new_is_not_read() {
        let mut heard = Heard::new(1000);
        assert_eq!(heard.on_ack(Field { ace: 4, option: None }, 0), 0);
        assert_eq!(heard.counters, Counters::default());
    }
}

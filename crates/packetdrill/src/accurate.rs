//! AccECN on a host: what the handshake has agreed, and the counters of a connection.
//!
//! The transport has the counters and the handshake's tables ([`transport::accecn`]); here are the
//! flags and options of packets, and what Linux decides where RFC 9768 leaves a choice: all packets
//! of a connection with AccECN are ECN-capable, also ACKs and retransmissions, and the option is
//! AccECN1.

use cc::roles::Ecn;
use transport::accecn::handshake::{self, Mode, Speaks};
use transport::accecn::{Bytes, Counters, Field, Heard, Told};

use crate::script::{EcnBits, Packet, TcpOption};
use crate::settings::Settings;

/// The three flags as scripts' letters, AE, CWR and ECE.
pub(crate) fn letters(flags: u8) -> String {
    let names = [(0b100, 'A'), (0b010, 'W'), (0b001, 'E')];
    names.into_iter().filter(|(bit, _)| flags & bit != 0).map(|(_, name)| name).collect()
}

/// The three flags of a packet.
pub(crate) fn flags(packet: &Packet) -> u8 {
    u8::from(packet.has('A')) << 2 | u8::from(packet.has('W')) << 1 | u8::from(packet.has('E'))
}

/// The ECN field with which a packet arrives.
pub(crate) fn ecn(packet: &Packet) -> Ecn {
    match packet.ecn {
        Some(EcnBits::Are(1)) => Ecn::Ect1,
        Some(EcnBits::Are(2)) => Ecn::Ect0,
        Some(EcnBits::Are(3)) => Ecn::Ce,
        _ => Ecn::NotCapable,
    }
}

/// What a host with this tcp_ecn asks for.
pub(crate) fn asks(tcp_ecn: u8) -> Speaks {
    match tcp_ecn {
        3 => Speaks::AccEcn,
        1 | 4 => Speaks::Classic,
        _ => Speaks::Nothing,
    }
}

/// What it agrees to.
pub(crate) fn agrees(tcp_ecn: u8) -> Speaks {
    match tcp_ecn {
        3..=5 => Speaks::AccEcn,
        1 | 2 => Speaks::Classic,
        _ => Speaks::Nothing,
    }
}

/// The counts of an option; what it leaves out has not changed (RFC 9768, section 3.2.3).
fn counts(packet: &Packet, known: &Counters) -> Option<Bytes> {
    let option = packet.options.iter().flatten().find_map(|option| match option {
        TcpOption::AccEcn(counts) => Some(counts),
        _ => None,
    })?;
    let or = |count: Option<u32>, known: u32| count.unwrap_or(known & 0xff_ffff);
    Some(Bytes {
        eceb: or(option.eceb, known.ceb),
        ee0b: or(option.ee0b, known.e0b),
        ee1b: or(option.ee1b, known.e1b),
    })
}

/// What the handshake has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    pub mode: Mode,
    /// Was the SYN/ACK that arrived marked?
    pub marked: bool,
    /// Was the one that was sent marked, by what the client says?
    pub heard_mark: bool,
    /// May packets be ECN-capable? Not if flags were zeroed or the ECN field mangled on the way
    /// (RFC 9768, sections 3.2.2.1, 3.2.2.3 and 3.2.2.4).
    pub capable: bool,
    /// Do packets carry the option?
    pub option: bool,
    /// May they, once the peer's do?
    pub allowed: bool,
}

impl Start {
    pub(crate) const NONE: Start = Start {
        mode: Mode::NotEcn,
        marked: false,
        heard_mark: false,
        capable: true,
        option: false,
        allowed: false,
    };

    /// A server has got a SYN.
    pub(crate) fn server(settings: &Settings, packet: &Packet) -> (Start, u8) {
        let (mode, reply) = handshake::syn_ack(agrees(settings.ecn), flags(packet), ecn(packet));
        // Section 3.2.2.1 counts a mark on the SYN/ACK, not one on the SYN.
        let option = settings.ecn_option;
        (Start { mode, option, allowed: option, ..Start::NONE }, reply)
    }

    /// A client has got a SYN/ACK.
    pub(crate) fn client(settings: &Settings, packet: &Packet) -> Start {
        let mode = handshake::agreed(asks(settings.ecn), flags(packet));
        let arrived = ecn(packet);
        let told = handshake::reflection(flags(packet));
        let mangled = told.is_some_and(|told| handshake::is_mangled(Ecn::NotCapable, told));
        let allowed = settings.ecn_option;
        let option = allowed && counts(packet, &Counters::default()).is_some();
        let capable = mode != Mode::AccEcn || !mangled || !settings.ecn_fallback;
        Start { mode, marked: arrived == Ecn::Ce, heard_mark: false, capable, option, allowed }
    }

    /// A server has got the ACK of its SYN/ACK, which was Not-ECT; `late`: only after one without
    /// flags had been sent.
    pub(crate) fn on_third(&mut self, settings: &Settings, packet: &Packet, late: bool) {
        let data = packet.end > packet.start;
        if self.mode != Mode::AccEcn {
            return;
        }
        let told = flags(packet);
        if told == 0 && late {
            self.mode = Mode::NotEcn;
        }
        self.capable &= told != 0;
        if data {
            return; // ACE, no reflection
        }
        let reflection = handshake::reflection(told);
        self.heard_mark = reflection == Some(Ecn::Ce);
        if settings.ecn_fallback {
            let mangled = |told| handshake::is_mangled(Ecn::NotCapable, told);
            let mangled = reflection.is_some_and(mangled);
            self.capable &= !mangled;
            self.heard_mark &= !mangled;
        }
    }
}

/// A connection's counters.
#[derive(Clone, Debug)]
pub(crate) struct Accurate {
    pub heard: Heard,
    pub told: Told,
    pub capable: bool,
    pub option: bool,
    pub allowed: bool,
    /// Has nothing come since the handshake?
    fresh: bool,
}

impl Accurate {
    pub(crate) fn new(start: &Start, mss: u32) -> Option<Accurate> {
        if start.mode != Mode::AccEcn {
            return None;
        }
        let (mut heard, mut told) = (Heard::new(mss), Told::new(true));
        heard.counters.cep += u32::from(start.heard_mark);
        told.counters.cep += u32::from(start.marked);
        let Start { capable, option, allowed, .. } = *start;
        Some(Accurate { heard, told, capable, option, allowed, fresh: true })
    }

    /// Flags and option of a packet that leaves.
    pub(crate) fn leaves(&mut self) -> (String, Option<Bytes>) {
        let Field { ace, option } = self.told.ack();
        (letters(ace), option.filter(|_| self.option))
    }

    /// A packet arrives; is an ACK due at once?
    pub(crate) fn arrives(&mut self, packet: &Packet) -> bool {
        // Section 3.2.2.4: the first packet cannot have ACE = 0, so the flags were zeroed.
        if std::mem::take(&mut self.fresh) {
            self.capable &= flags(packet) != 0;
        }
        let now = self.told.on_data(ecn(packet), packet.end - packet.start);
        now && packet.end > packet.start
    }

    /// What the peer's counters say of so many packets delivered: how many were marked. A peer that
    /// has begun to send the option gets it too.
    pub(crate) fn hears(&mut self, packet: &Packet, delivered: u32) -> u32 {
        let option = counts(packet, &self.heard.counters);
        self.option |= option.is_some() && self.allowed;
        self.heard.on_ack(Field { ace: flags(packet), option }, delivered)
    }
}

//! AccECN's handshake: RFC 9768, sections 3.1.2, 3.1.3, 3.2.2.1, 3.2.2.3 and 3.2.2.4.
//!
//! The three TCP flags AE, CWR and ECE are one number, AE its highest bit: 0b111 on the SYN asks
//! for AccECN, 0b011 for RFC 3168's ECN. A SYN/ACK for AccECN says with which ECN field the SYN
//! came, and so does the ACK of the SYN/ACK for that; all later packets have ACE in the flags.

use cc::roles::Ecn;

/// What a host asks for, or agrees to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaks {
    /// No ECN.
    Nothing,
    /// RFC 3168.
    Classic,
    /// AccECN, or RFC 3168 with a peer that has only that.
    AccEcn,
}

/// What a connection uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// No ECN.
    NotEcn,
    /// RFC 3168's echo.
    Classic,
    /// AccECN.
    AccEcn,
}

/// The flags of a client's SYN (table 2).
pub fn syn(client: Speaks) -> u8 {
    match client {
        Speaks::Nothing => 0b000,
        Speaks::Classic => 0b011,
        Speaks::AccEcn => 0b111,
    }
}

/// What a server makes of a SYN with these flags that came with `ecn`, and the flags of its
/// SYN/ACK. Flags that AccECN does not know count as 0b111 (section 3.1.3).
pub fn syn_ack(server: Speaks, flags: u8, ecn: Ecn) -> (Mode, u8) {
    let classic = flags & 0b011 == 0b011;
    match (server, flags & 0b111) {
        (Speaks::AccEcn, 0b011) => (Mode::Classic, 0b001),
        (Speaks::Classic, _) if classic => (Mode::Classic, 0b001),
        (Speaks::Nothing | Speaks::Classic, _) | (_, 0b000) => (Mode::NotEcn, 0b000),
        (Speaks::AccEcn, _) => (Mode::AccEcn, reflected(ecn)),
    }
}

/// What a client makes of a SYN/ACK with these flags (table 2). 0b101 is for future use and counts
/// as AccECN (section 3.1.3); 0b111 is the reflection of a broken server.
pub fn agreed(client: Speaks, flags: u8) -> Mode {
    match (client, flags & 0b111) {
        (Speaks::Nothing, _) | (Speaks::AccEcn, 0b000 | 0b111) => Mode::NotEcn,
        (Speaks::AccEcn, 0b001) => Mode::Classic,
        (Speaks::AccEcn, _) => Mode::AccEcn,
        // RFC 3168 section 6.1.1: ECE without CWR; it knows no AE.
        (Speaks::Classic, flags) if flags & 0b011 == 0b001 => Mode::Classic,
        (Speaks::Classic, _) => Mode::NotEcn,
    }
}

/// The flags that say with which ECN field a SYN, or a SYN/ACK, came (tables 2 and 3).
pub fn reflected(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotCapable => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}

/// What these flags say (tables 2 and 4); `None` where they are unused, and for 0b000, after which
/// a server sends no ECN-capable packets (section 3.2.2.1, note 1 of table 4).
pub fn reflection(flags: u8) -> Option<Ecn> {
    let all = [Ecn::NotCapable, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
    all.into_iter().find(|&ecn| reflected(ecn) == flags & 0b111)
}

/// Has the ECN field been changed on the way as no router may (section 3.2.2.3)? What was not
/// capable became so, or the other way round, or CE became something else. A host that learns of it
/// sends no ECN-capable packets.
pub fn is_mangled(sent: Ecn, arrived: Ecn) -> bool {
    let capable = |ecn| ecn != Ecn::NotCapable;
    capable(sent) != capable(arrived) || sent == Ecn::Ce && arrived != Ecn::Ce
}

#[cfg(test)]
mod tests {
    use super::*;
    use Speaks::{AccEcn, Classic, Nothing};

    /// Table 2: a client's and a server's abilities; SYN, SYN/ACK and the mode of both. The server
    /// gets the SYN as Not-ECT, ECT(1), ECT(0) and CE.
    #[test]
    fn the_handshake_is_table_2() {
        for (ecn, flags) in
            [(Ecn::NotCapable, 0b010), (Ecn::Ect1, 0b011), (Ecn::Ect0, 0b100), (Ecn::Ce, 0b110)]
        {
            assert_eq!(syn_ack(AccEcn, syn(AccEcn), ecn), (Mode::AccEcn, flags));
            assert_eq!(agreed(AccEcn, flags), Mode::AccEcn);
            assert_eq!(reflection(flags), Some(ecn));
        }
        for (client, server, asks, answers, mode) in [
            (AccEcn, Classic, 0b111, 0b001, Mode::Classic),
            (AccEcn, Nothing, 0b111, 0b000, Mode::NotEcn),
            (Classic, AccEcn, 0b011, 0b001, Mode::Classic),
            (Classic, Classic, 0b011, 0b001, Mode::Classic),
            (Classic, Nothing, 0b011, 0b000, Mode::NotEcn),
            (Nothing, AccEcn, 0b000, 0b000, Mode::NotEcn),
            (Nothing, Classic, 0b000, 0b000, Mode::NotEcn),
        ] {
            assert_eq!(syn(client), asks);
            assert_eq!(syn_ack(server, asks, Ecn::NotCapable), (mode, answers));
            assert_eq!(agreed(client, answers), mode);
        }
        // A broken server that sends the SYN's flags back.
        assert_eq!(agreed(AccEcn, 0b111), Mode::NotEcn);
    }

    /// Section 3.1.3, forward compatibility: what is not used yet is AccECN.
    #[test]
    fn unused_flags_are_accecn() {
        for flags in [0b001, 0b010, 0b100, 0b101, 0b110] {
            assert_eq!(syn_ack(AccEcn, flags, Ecn::Ce), (Mode::AccEcn, 0b110), "{flags:03b}");
        }
        assert_eq!(agreed(AccEcn, 0b101), Mode::AccEcn);
        let told: Vec<u8> = (0..8).filter(|&flags| reflection(flags).is_some()).collect();
        assert_eq!(told, [0b010, 0b011, 0b100, 0b110]);
    }

    #[test]
    fn only_ect_and_ce_may_change() {
        use Ecn::{Ce, Ect0, Ect1, NotCapable};
        for (sent, arrived) in [(NotCapable, NotCapable), (Ect0, Ect0), (Ect0, Ce), (Ect1, Ce)] {
            assert!(!is_mangled(sent, arrived));
        }
        for (sent, arrived) in
            [(NotCapable, Ect0), (NotCapable, Ce), (Ect0, NotCapable), (Ce, Ect0), (Ce, NotCapable)]
        {
            assert!(is_mangled(sent, arrived));
        }
    }
}

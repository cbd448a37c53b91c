//! AccECN's TCP option: RFC 9768, section 3.2.3.
//!
//! Kind, length, and up to three counts of 24 bits, big-endian. Kind 172 (AccECN0) has EE0B, ECEB,
//! EE1B, kind 174 (AccECN1) EE1B, ECEB, EE0B; counts at the end may be left out, so that it has 11,
//! 8, 5 or 2 bytes (table 5). Of another length, what is no whole count is padding.

use super::Bytes;

/// AccECN0, with ECT(0) first.
pub const KIND_0: u8 = 172;
/// AccECN1, with ECT(1) first.
pub const KIND_1: u8 = 174;
/// Its bytes with all three counts.
pub const LENGTH: usize = 11;

/// The counts of an option; `None` where it has been left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// EE0B.
    pub ee0b: Option<u32>,
    /// ECEB.
    pub eceb: Option<u32>,
    /// EE1B.
    pub ee1b: Option<u32>,
}

/// The option with all counts; `ones`: ECT(1) first.
pub fn encode(bytes: &Bytes, ones: bool) -> [u8; LENGTH] {
    let Bytes { eceb, ee0b, ee1b } = *bytes;
    let (kind, fields) =
        if ones { (KIND_1, [ee1b, eceb, ee0b]) } else { (KIND_0, [ee0b, eceb, ee1b]) };
    let mut option = [0; LENGTH];
    (option[0], option[1]) = (kind, LENGTH as u8);
    for (place, field) in option[2..].chunks_exact_mut(3).zip(fields) {
        place.copy_from_slice(&field.to_be_bytes()[1..]);
    }
    option
}

/// What an option says, kind and length first; `None` where it is none of AccECN's, or cut off.
pub fn decode(option: &[u8]) -> Option<Counts> {
    let (&kind, rest) = option.split_first()?;
    let (&length, fields) = rest.split_first()?;
    if usize::from(length) != option.len() {
        return None;
    }
    let mut read = fields.chunks_exact(3).map(|f| u32::from_be_bytes([0, f[0], f[1], f[2]]));
    let (first, eceb, last) = (read.next(), read.next(), read.next());
    match kind {
        KIND_0 => Some(Counts { ee0b: first, eceb, ee1b: last }),
        KIND_1 => Some(Counts { ee0b: last, eceb, ee1b: first }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand from figure 4: 1 = 00 00 01, 1460 = 00 05 b4, 16,777,215 = ff ff ff.
    #[test]
    fn both_orders_have_their_bytes() {
        let bytes = Bytes { eceb: 1460, ee0b: 1, ee1b: 0xff_ffff };
        let zero = [172, 11, 0, 0, 1, 0, 5, 0xb4, 0xff, 0xff, 0xff];
        let one = [174, 11, 0xff, 0xff, 0xff, 0, 5, 0xb4, 0, 0, 1];
        assert_eq!((encode(&bytes, false), encode(&bytes, true)), (zero, one));
        let all = Counts { ee0b: Some(1), eceb: Some(1460), ee1b: Some(0xff_ffff) };
        assert_eq!((decode(&zero), decode(&one)), (Some(all), Some(all)));
    }

    /// Table 5: the last counts may be missing. Section 3.2.3, forward compatibility: of another
    /// length, whole counts are read and the rest is padding.
    #[test]
    fn counts_may_be_left_out() {
        let none = Counts::default();
        let first = Counts { ee1b: Some(7), ..none };
        let two = Counts { eceb: Some(9), ..first };
        assert_eq!(decode(&[174, 2]), Some(none));
        assert_eq!(decode(&[174, 5, 0, 0, 7]), Some(first));
        assert_eq!(decode(&[174, 8, 0, 0, 7, 0, 0, 9]), Some(two));
        assert_eq!(decode(&[172, 5, 0, 0, 7]), Some(Counts { ee0b: Some(7), ..none }));
        assert_eq!(decode(&[174, 4, 0, 0]), Some(none));
        assert_eq!(decode(&[174, 6, 0, 0, 7, 1]), Some(first));
        let all = Counts { ee0b: Some(1), ..two };
        assert_eq!(decode(&[174, 14, 0, 0, 7, 0, 0, 9, 0, 0, 1, 0, 0, 5]), Some(all));
        for wrong in [&[][..], &[174], &[174, 5, 0, 0], &[174, 2, 0], &[173, 2]] {
            assert_eq!(decode(wrong), None, "{wrong:?}");
        }
    }
}

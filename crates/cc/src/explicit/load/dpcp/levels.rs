//! Levels of the load factor and their digits: DPCP's nine (table I), and their parts where a chain
//! has more than two packets ([`super::super::mpcp`]).

/// The most packets that a chain has.
pub const CHAIN: usize = 4;

/// A level: each packet's code, from 1 to 3, the most significant one first. Those beyond the chain
/// are 3.
pub type Digits = [u8; CHAIN];

/// The upper edges of DPCP's levels (table I); the last level has everything above, too.
pub(super) const EDGES: [f64; 9] = [0.2, 0.4, 0.8, 0.85, 0.95, 1.0, 1.05, 1.4, 2.0];

/// The factors of DPCP's decreases (table I) and the upper edges that they belong to.
const MD: [(f64, f64); 3] = [(1.05, 0.875), (1.4, 0.6), (2.0, 0.43)];

/// In how many equal parts a chain of so many packets divides each of DPCP's levels.
fn parts(packets: u8) -> u32 {
    3_u32.pow(u32::from(packets.max(2) - 2))
}

/// The ends of DPCP's level.
fn ends(level: usize) -> (f64, f64) {
    let below = if level == 0 { 0.0 } else { EDGES[level - 1] };
    (below, EDGES[level])
}

/// The level of a load factor, in the digits of a chain.
pub fn digits(rho: f64, packets: u8) -> Digits {
    let level = EDGES[..8].iter().take_while(|&&edge| rho >= edge).count();
    let ((low, high), parts) = (ends(level), parts(packets));
    let inside = (rho - low) / (high - low) * f64::from(parts);
    // The cast rounds down and saturates.
    let mut rest = (inside.max(0.0) as u32).min(parts - 1);
    let mut digits = [3; CHAIN];
    for digit in digits[2..usize::from(packets.max(2))].iter_mut().rev() {
        *digit = (rest % 3 + 1) as u8;
        rest /= 3;
    }
    (digits[0], digits[1]) = ((level / 3 + 1) as u8, (level % 3 + 1) as u8);
    digits
}

/// The upper edge of a level.
pub fn edge(digits: &Digits, packets: u8) -> f64 {
    let at = |i: usize| u32::from(digits[i].clamp(1, 3) - 1);
    let (low, high) = ends((3 * at(0) + at(1)) as usize);
    let part = (2..usize::from(packets)).fold(0, |part, i| 3 * part + at(i));
    let above = parts(packets) - 1 - part;
    high - (high - low) * f64::from(above) / f64::from(parts(packets))
}

/// The factor of the decrease at an upper edge: table I's at its edges, linear between them.
pub fn md(edge: f64) -> f64 {
    let between = |(low, most): (f64, f64), (high, least): (f64, f64)| {
        least + (most - least) * (high - edge) / (high - low)
    };
    match edge {
        edge if edge <= MD[0].0 => MD[0].1,
        edge if edge <= MD[1].0 => between(MD[0], MD[1]),
        _ => between(MD[1], MD[2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::near;

    /// Table I, to the bit.
    #[test]
    fn pairs_have_the_papers_levels_and_factors() {
        for (level, high) in EDGES.into_iter().enumerate() {
            let (msp, lsp) = ((level / 3 + 1) as u8, (level % 3 + 1) as u8);
            assert_eq!(digits(ends(level).0, 2), [msp, lsp, 3, 3]);
            assert_eq!(edge(&[msp, lsp, 3, 3], 2), high);
            // What has not come yet is taken as 3.
            assert_eq!(edge(&[msp, lsp, 3, 3], 4), high);
        }
        assert_eq!([1.05, 1.4, 2.0].map(md), [0.875, 0.6, 0.43]);
    }

    /// A packet more divides each level into three, two into nine: 0.85 to 0.95 has edges 0.01/0.9
    /// apart. 0.9 is in the fifth ninth, 2 2, below 0.85 + 0.1*5/9 = 0.905 555...
    #[test]
    fn four_packets_divide_each_level_into_nine() {
        assert_eq!(digits(0.9, 4), [2, 2, 2, 2]);
        assert!(near(edge(&[2, 2, 2, 2], 4), 0.85 + 0.5 / 9.0));
        assert_eq!(digits(0.9, 3), [2, 2, 2, 3]);
        assert!(near(edge(&[2, 2, 2, 3], 3), 0.85 + 0.2 / 3.0));
        assert_eq!(digits(0.0, 4), [1, 1, 1, 1]);
        assert_eq!(digits(0.79, 4), [1, 3, 3, 3]);
        assert_eq!(digits(7.0, 4), [3, 3, 3, 3]);
        // 1.225 is half-way from 1.05 to 1.4: (0.875 + 0.6)/2; 1.7 half-way to 2.
        assert!(near(md(1.225), 0.7375) && near(md(1.7), 0.515) && near(md(1.01), 0.875));
    }

    /// 81 levels of four packets; each edge is the next level's first value, and is above what it
    /// holds.
    #[test]
    fn an_edge_is_where_the_next_level_begins() {
        for packets in 2..=4 {
            let (mut last, mut levels) = (0.0, 1);
            for i in 0..22_000 {
                let rho = f64::from(i) * 1e-4;
                let upper = edge(&digits(rho, packets), packets);
                assert!(rho < upper + 1e-9 || rho >= 2.0 - 1e-9, "{rho} {upper}");
                assert!(upper >= last, "{rho}");
                levels += u32::from(upper > last && last > 0.0);
                last = upper;
            }
            assert_eq!(levels, 3_u32.pow(u32::from(packets)));
        }
    }
}

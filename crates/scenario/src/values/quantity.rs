//! Quantities with units, exact: decimal digits times a power of ten times a whole factor.

use crate::error::Problem;

/// A decimal number that is not negative: `digits * 10^exponent`, digits without trailing zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    digits: u128,
    exponent: i32,
}

/// A kind of quantity and its units.
#[derive(Debug)]
pub(crate) struct Dimension<'a> {
    /// What it is, with its article.
    pub name: &'static str,
    /// A typical one.
    pub example: &'static str,
    /// Units and what they are in the smallest one, from small to large.
    pub units: &'a [(&'static str, u64)],
    /// The units that [`Dimension::exact`] writes with.
    pub written: &'static [&'static str],
}

/// Picoseconds.
pub(crate) const TIME: Dimension<'static> = Dimension {
    name: "a time",
    example: "80ms",
    units: &[
        ("ps", 1),
        ("ns", 1_000),
        ("us", 1_000_000),
        ("ms", 1_000_000_000),
        ("s", 1_000_000_000_000),
        ("min", 60_000_000_000_000),
        ("h", 3_600_000_000_000_000),
    ],
    written: &["ps", "ns", "us", "ms", "s"],
};

/// Bits per second.
pub(crate) const RATE: Dimension<'static> = Dimension {
    name: "a rate",
    example: "45Mbps",
    units: &[
        ("bps", 1),
        ("kbps", 1_000),
        ("Mbps", 1_000_000),
        ("Gbps", 1_000_000_000),
        ("Tbps", 1_000_000_000_000),
    ],
    written: &["bps", "kbps", "Mbps", "Gbps", "Tbps"],
};

/// Bytes.
pub(crate) const BYTES: Dimension<'static> = Dimension {
    name: "a number of bytes",
    example: "1.5MB",
    units: &[
        ("B", 1),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
    ],
    written: &["B", "kB", "MB", "GB"],
};

impl Decimal {
    const ZERO: Decimal = Decimal { digits: 0, exponent: 0 };

    /// Reads `12`, `1.5`, `.5`, `1e3`; at most 20 significant digits.
    pub fn parse(text: &str) -> Option<Decimal> {
        let (mantissa, exponent) = match text.find(['e', 'E']) {
            Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all: String = [whole, fraction].concat();
        if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let digits = all.trim_start_matches('0');
        let short = digits.trim_end_matches('0');
        if short.is_empty() {
            return Some(Decimal::ZERO);
        }
        let cut = i32::try_from(digits.len() - short.len()).ok()?;
        let after = i32::try_from(fraction.len()).ok()?;
        let exponent = exponent.checked_add(cut)?.checked_sub(after)?;
        (short.len() <= 20).then_some(Decimal { digits: short.parse().ok()?, exponent })
    }

    /// `self * factor`, rounded down; `None` when 128 bits do not hold it.
    pub fn times(self, factor: u128) -> Option<u128> {
        self.scaled(factor).map(|(quotient, _)| quotient)
    }

    /// `self * factor` if it is a whole number.
    pub fn exactly(self, factor: u128) -> Option<u128> {
        self.scaled(factor).and_then(|(quotient, whole)| whole.then_some(quotient))
    }

    /// `self * factor` rounded down, and whether nothing was cut off.
    fn scaled(self, factor: u128) -> Option<(u128, bool)> {
        let product = self.digits.checked_mul(factor)?;
        let power = 10_u128.checked_pow(self.exponent.unsigned_abs());
        match (product, self.exponent, power) {
            (0, ..) => Some((0, true)),
            (_, 0.., power) => Some((product.checked_mul(power?)?, true)),
            (_, _, Some(power)) => Some((product / power, product % power == 0)),
            (_, _, None) => Some((0, false)),
        }
    }

    /// `self * 10^by`.
    pub fn shifted(self, by: i32) -> Decimal {
        Decimal { exponent: self.exponent.saturating_add(by), ..self }
    }

    /// The nearest float.
    pub fn to_f64(self) -> f64 {
        // What the standard library reads is rounded correctly; zero's exponent may be anything.
        format!("{}e{}", self.digits, self.exponent).parse().unwrap_or(f64::INFINITY)
    }

    /// Is it at least `limit`?
    pub fn at_least(self, limit: u64) -> bool {
        self.times(1).is_none_or(|value| value >= u128::from(limit))
    }
}

/// A text cut into its number and its unit.
pub(crate) fn split(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    let digit = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_digit);
    let sign = |i: usize| matches!(bytes.get(i), Some(b'+' | b'-'));
    let mut end = usize::from(sign(0));
    while digit(end) || bytes.get(end) == Some(&b'.') {
        end += 1;
    }
    if end > 0 && matches!(bytes.get(end), Some(b'e' | b'E')) {
        let first = end + 1 + usize::from(sign(end + 1));
        if digit(first) {
            end = first;
            while digit(end) {
                end += 1;
            }
        }
    }
    (&text[..end], text[end..].trim())
}

/// The number of a quantity that must not be negative.
pub(crate) fn number(text: &str, number: &str, what: &Dimension<'_>) -> Result<Decimal, Problem> {
    if let Some(magnitude) = number.strip_prefix('-')
        && Decimal::parse(magnitude).is_some()
    {
        let allowed = format!("{} that is not negative", what.name);
        return Err(Problem::Range { value: format!("\"{text}\""), allowed });
    }
    let plain = number.strip_prefix('+').unwrap_or(number);
    Decimal::parse(plain)
        .ok_or_else(|| Problem::Type { wanted: what.wanted(), found: format!("{text:?}") })
}

impl Dimension<'_> {
    /// `a time such as "80ms"`
    pub fn wanted(&self) -> String {
        format!("{} such as \"{}\"", self.name, self.example)
    }

    /// The units' names.
    pub fn unit_names(&self) -> Vec<String> {
        self.units.iter().map(|(name, _)| (*name).to_owned()).collect()
    }

    /// The unit that an example is written in, and for times seconds, too: a number alone may be a
    /// delay as well as a duration.
    fn usual_units(&self) -> impl Iterator<Item = &str> {
        let usual = split(self.example).1;
        let second = (self.zero_unit() == "s" && usual != "s").then_some("s");
        [usual].into_iter().chain(second)
    }

    /// The error for a bare number.
    pub fn no_unit(&self, value: &str) -> Problem {
        let examples: Vec<String> =
            self.usual_units().map(|unit| format!("\"{value}{unit}\"")).collect();
        Problem::NoUnit {
            value: value.to_owned(),
            example: examples.join(" or "),
            units: self.unit_names().join(", "),
        }
    }

    /// The quantity in its smallest unit.
    pub fn parse(&self, text: &str) -> Result<u64, Problem> {
        let text = text.trim();
        let (digits, unit) = split(text);
        let value = number(text, digits, self)?;
        if unit.is_empty() {
            return Err(self.no_unit(digits));
        }
        let Some((_, factor)) = self.units.iter().find(|(name, _)| *name == unit) else {
            let (unit, value) = (unit.to_owned(), text.to_owned());
            return Err(Problem::Unit { unit, value, allowed: self.unit_names() });
        };
        self.whole(text, value, *factor)
    }

    fn whole(&self, text: &str, value: Decimal, factor: u64) -> Result<u64, Problem> {
        let smallest = self.units[0].0;
        let Some(floor) = value.times(u128::from(factor)) else {
            return Err(self.too_large(text));
        };
        match value.exactly(u128::from(factor)).map(u64::try_from) {
            Some(Ok(whole)) => Ok(whole),
            Some(Err(_)) => Err(self.too_large(text)),
            None if floor > u128::from(u64::MAX) => Err(self.too_large(text)),
            None => Err(Problem::Rule(format!(
                "\"{text}\" is not a whole number of {smallest}; the nearest below is \
                 \"{floor}{smallest}\""
            ))),
        }
    }

    fn too_large(&self, text: &str) -> Problem {
        let allowed = format!("{} below {}{}", self.name, u64::MAX, self.units[0].0);
        Problem::Range { value: format!("\"{text}\""), allowed }
    }

    /// The quantity in the largest unit that it is a whole number of.
    pub fn exact(&self, value: u64) -> String {
        let fits = |(name, factor): &&(&str, u64)| {
            self.written.contains(name) && value.is_multiple_of(*factor) && value != 0
        };
        let zero_unit = self.units.iter().find(|(name, _)| *name == self.zero_unit());
        let best = self.units.iter().rev().find(fits).or(zero_unit);
        best.map_or_else(String::new, |(name, factor)| format!("{}{name}", value / factor))
    }

    /// The unit of zero.
    fn zero_unit(&self) -> &str {
        if self.units[0].0 == "ps" { "s" } else { self.units[0].0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_exact() {
        assert_eq!(TIME.parse("0.1ms"), Ok(100_000_000));
        assert_eq!(TIME.parse("80ms"), Ok(80_000_000_000));
        assert_eq!(TIME.parse("1.5 min"), Ok(90_000_000_000_000));
        assert_eq!(TIME.parse("1e3ns"), Ok(1_000_000));
        assert_eq!(TIME.parse("25e-1us"), Ok(2_500_000));
        assert_eq!(TIME.parse("53333334ps"), Ok(53_333_334));
        assert_eq!(TIME.parse("+.5s"), Ok(500_000_000_000));
        assert_eq!(RATE.parse("45Mbps"), Ok(45_000_000));
        assert_eq!(RATE.parse("2.488320Gbps"), Ok(2_488_320_000));
        assert_eq!(BYTES.parse("1.5MB"), Ok(1_500_000));
        assert_eq!(BYTES.parse("1.5KiB"), Ok(1536));
        assert_eq!(BYTES.parse("2MiB"), Ok(2_097_152));
        assert_eq!(TIME.parse("0e99999s"), Ok(0));
    }

    #[test]
    fn what_is_wrong_with_a_quantity_is_said() {
        let says = |dimension: &Dimension, text| dimension.parse(text).unwrap_err().to_string();
        assert_eq!(
            says(&TIME, "80"),
            "80 has no unit; write for example \"80ms\" or \"80s\" \
             (units: ps, ns, us, ms, s, min, h)"
        );
        assert_eq!(
            says(&BYTES, "1500"),
            "1500 has no unit; write for example \"1500MB\" (units: B, kB, MB, GB, KiB, MiB)"
        );
        assert_eq!(
            says(&RATE, "45mbps"),
            "unknown unit \"mbps\" in \"45mbps\"; did you mean \"Mbps\"? \
             (allowed: bps, kbps, Mbps, Gbps, Tbps)"
        );
        assert_eq!(
            says(&RATE, "-45Mbps"),
            "\"-45Mbps\" is out of range (allowed: a rate that is not negative)"
        );
        assert_eq!(says(&TIME, "fast"), "expected a time such as \"80ms\", found \"fast\"");
        assert_eq!(
            says(&TIME, "0.0015ns"),
            "\"0.0015ns\" is not a whole number of ps; the nearest below is \"1ps\""
        );
        assert_eq!(
            says(&TIME, "1e30s"),
            "\"1e30s\" is out of range (allowed: a time below 18446744073709551615ps)"
        );
    }

    #[test]
    fn exact_text_uses_the_largest_whole_unit() {
        assert_eq!(TIME.exact(120_000_000_000_000), "120s");
        assert_eq!(TIME.exact(53_333_334), "53333334ps");
        assert_eq!(TIME.exact(0), "0s");
        assert_eq!(RATE.exact(1_500_000_000), "1500Mbps");
        assert_eq!(BYTES.exact(1_500_000), "1500kB");
        assert_eq!(BYTES.exact(0), "0B");
    }

    #[test]
    fn a_share_rounds_down() {
        let half = Decimal::parse("0.5").unwrap();
        assert_eq!(half.times(7), Some(3));
        assert!(Decimal::parse("100").unwrap().at_least(100));
        assert!(!Decimal::parse("99.9").unwrap().at_least(100));
    }
}

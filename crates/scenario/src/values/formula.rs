//! Arithmetic over quantities, `40ms + 10ms * i`: exact with fractions of 128-bit integers, and
//! with floats where those do not reach.

use units::math;

use crate::values::quantity::{Decimal, Dimension, split};

/// The longest formula in bytes, and the deepest in parentheses and signs.
const LONGEST: usize = 500;
const DEEPEST: usize = 32;

/// A formula that was read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Formula {
    tree: Tree,
    /// Numbers, names and operators in it.
    pub length: u64,
}

#[derive(Clone, Debug, PartialEq)]
enum Tree {
    Value(Value),
    I,
    N,
    Negative(Box<Tree>),
    Pair(Box<Tree>, Operator, Box<Tree>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Plus,
    Minus,
    Times,
    Over,
    Power,
}

/// A number times a power of the quantity's smallest unit.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Value {
    number: Number,
    power: i32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    /// Numerator and denominator, which is above zero; without common factors unless both are
    /// small.
    Exact(i128, i128),
    Float(f64),
}

impl Formula {
    /// Reads a formula over quantities of `dimension`.
    ///
    /// # Errors
    /// What is wrong with it, to follow "the formula ".
    pub fn read(text: &str, dimension: &Dimension<'_>) -> Result<Formula, String> {
        if text.len() > LONGEST {
            return Err(format!("is longer than {LONGEST} characters"));
        }
        let mut reader = Reader { rest: text, dimension, length: 0 };
        let tree = reader.sum(0)?;
        match reader.peek() {
            None => Ok(Formula { tree, length: reader.length }),
            Some(_) => Err(reader.unexpected("an operator")),
        }
    }

    /// Its value for the `i`-th of `n` flows in smallest units: rounded down if it is exact, else
    /// to the nearest.
    ///
    /// # Errors
    /// Why it has none, to follow "the formula ".
    pub fn value(&self, i: u32, n: u32, dimension: &Dimension<'_>) -> Result<u64, String> {
        let value = self.tree.value(i128::from(i), i128::from(n))?;
        if value.power != 1 {
            let wanted = dimension.wanted();
            return Err(format!("does not give {wanted} but {}", power_text(value.power)));
        }
        let whole = match value.number {
            Number::Exact(above, below) => above.div_euclid(below),
            Number::Float(float) => math::floor(float + 0.5) as i128,
        };
        if value.number.to_f64() < 0.0 {
            return Err(format!("gives {} that is negative", dimension.name));
        }
        u64::try_from(whole).map_err(|_| format!("gives {} that is too large", dimension.name))
    }
}

fn power_text(power: i32) -> String {
    match power {
        0 => "a number without a unit".to_owned(),
        _ => format!("one to the power of {power}"),
    }
}

struct Reader<'a> {
    rest: &'a str,
    dimension: &'a Dimension<'a>,
    length: u64,
}

impl Reader<'_> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn take(&mut self, wanted: char) -> bool {
        let there = self.peek() == Some(wanted);
        if there {
            self.rest = &self.rest[wanted.len_utf8()..];
            self.length += 1;
        }
        there
    }

    fn unexpected(&self, wanted: &str) -> String {
        let shown: String = self.rest.chars().take(20).collect();
        match shown.as_str() {
            "" => format!("ends where {wanted} should stand"),
            _ => format!("has \"{shown}\" where {wanted} should stand"),
        }
    }

    fn sum(&mut self, depth: usize) -> Result<Tree, String> {
        let mut tree = self.product(depth)?;
        loop {
            let operator = match () {
                () if self.take('+') => Operator::Plus,
                () if self.take('-') => Operator::Minus,
                () => return Ok(tree),
            };
            tree = pair(tree, operator, self.product(depth)?);
        }
    }

    fn product(&mut self, depth: usize) -> Result<Tree, String> {
        let mut tree = self.signed(depth)?;
        loop {
            let operator = match () {
                () if self.take('*') => Operator::Times,
                () if self.take('/') => Operator::Over,
                () => return Ok(tree),
            };
            tree = pair(tree, operator, self.signed(depth)?);
        }
    }

    /// A sign binds less than a power: `-2^2` is -4.
    fn signed(&mut self, depth: usize) -> Result<Tree, String> {
        if depth > DEEPEST {
            return Err(format!("is nested more than {DEEPEST} deep"));
        }
        if self.take('-') {
            return Ok(Tree::Negative(Box::new(self.signed(depth + 1)?)));
        }
        let base = self.atom(depth)?;
        if self.take('^') {
            return Ok(pair(base, Operator::Power, self.signed(depth + 1)?));
        }
        Ok(base)
    }

    fn atom(&mut self, depth: usize) -> Result<Tree, String> {
        if self.take('(') {
            let tree = self.sum(depth + 1)?;
            return if self.take(')') { Ok(tree) } else { Err(self.unexpected("\")\"")) };
        }
        match self.peek() {
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_alphabetic() => match self.word() {
                "i" => Ok(Tree::I),
                "n" => Ok(Tree::N),
                word => Err(format!("has the unknown name \"{word}\" (allowed: i, n)")),
            },
            _ => Err(self.unexpected("a number, a quantity, i, n or \"(\"")),
        }
    }

    fn word(&mut self) -> &str {
        let end = self.rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        self.length += 1;
        word
    }

    fn number(&mut self) -> Result<Tree, String> {
        let (digits, _) = split(self.rest);
        let after = self.rest[digits.len()..].trim_start();
        let unit = after.find(|c: char| !c.is_alphabetic()).map_or(after, |end| &after[..end]);
        self.length += 1;
        let value = if unit.is_empty() {
            let decimal = Decimal::parse(digits).ok_or_else(|| self.unexpected("a number"))?;
            Value { number: Number::of(decimal), power: 0 }
        } else {
            let quantity = self.dimension.parse(&format!("{digits}{unit}"));
            let quantity = quantity.map_err(|problem| format!("is wrong: {problem}"))?;
            Value { number: Number::Exact(i128::from(quantity), 1), power: 1 }
        };
        self.rest = if unit.is_empty() { &self.rest[digits.len()..] } else { &after[unit.len()..] };
        Ok(Tree::Value(value))
    }
}

fn pair(left: Tree, operator: Operator, right: Tree) -> Tree {
    Tree::Pair(Box::new(left), operator, Box::new(right))
}

impl Tree {
    fn value(&self, i: i128, n: i128) -> Result<Value, String> {
        let whole = |number| Ok(Value { number: Number::Exact(number, 1), power: 0 });
        match self {
            Tree::Value(value) => Ok(*value),
            Tree::I => whole(i),
            Tree::N => whole(n),
            Tree::Negative(tree) => {
                let value = tree.value(i, n)?;
                Ok(Value { number: Number::Exact(-1, 1).times(value.number)?, ..value })
            }
            Tree::Pair(left, operator, right) => {
                operator.apply(left.value(i, n)?, right.value(i, n)?)
            }
        }
    }
}

impl Operator {
    fn apply(self, left: Value, right: Value) -> Result<Value, String> {
        let (a, b) = (left.number, right.number);
        let same = if left.power == right.power {
            Ok(left.power)
        } else {
            let (left, right) = (power_text(left.power), power_text(right.power));
            let what = if self == Operator::Plus { "adds" } else { "subtracts" };
            let quantity = |text: String| text.replace("one to the power of 1", "a quantity");
            Err(format!("{what} {} and {}", quantity(left), quantity(right)))
        };
        let power = |power: Option<i32>| power.ok_or_else(too_far);
        Ok(match self {
            Operator::Plus => Value { number: a.plus(b)?, power: same? },
            Operator::Minus => {
                Value { number: a.plus(Number::Exact(-1, 1).times(b)?)?, power: same? }
            }
            Operator::Times => {
                Value { number: a.times(b)?, power: power(left.power.checked_add(right.power))? }
            }
            Operator::Over => {
                Value { number: a.over(b)?, power: power(left.power.checked_sub(right.power))? }
            }
            Operator::Power if right.power != 0 => {
                return Err("has a quantity as an exponent".to_owned());
            }
            Operator::Power => Value { number: a.power(b)?, power: power_of(left.power, b)? },
        })
    }
}

fn too_far() -> String {
    "leaves the range of numbers".to_owned()
}

/// The power of the unit after taking a value to the power of `exponent`.
fn power_of(power: i32, exponent: Number) -> Result<i32, String> {
    match (power, exponent.reduced()) {
        (0, _) => Ok(0),
        (_, Number::Exact(whole, 1)) => {
            let whole = i32::try_from(whole).map_err(|_| too_far())?;
            power.checked_mul(whole).ok_or_else(too_far)
        }
        _ => Err("takes a quantity to a power that is not whole".to_owned()),
    }
}

impl Number {
    fn of(decimal: Decimal) -> Number {
        let scaled = |e: u32| {
            let below = 10_i128.checked_pow(e)?;
            let above = decimal.exactly(below.unsigned_abs())?;
            Some(Number::Exact(i128::try_from(above).ok()?, below))
        };
        // Within 18 digits after the point.
        (0..=18).find_map(scaled).unwrap_or(Number::Float(decimal.to_f64()))
    }

    fn to_f64(self) -> f64 {
        match self {
            Number::Exact(above, below) => above as f64 / below as f64,
            Number::Float(float) => float,
        }
    }

    fn float(float: f64) -> Result<Number, String> {
        if float.is_finite() { Ok(Number::Float(float)) } else { Err(too_far()) }
    }

    fn reduced(self) -> Number {
        let Number::Exact(above, below) = self else { return self };
        let (mut a, mut b) = (above.unsigned_abs(), below.unsigned_abs());
        while b != 0 {
            (a, b) = (b, a % b);
        }
        // It divides `below`, so it fits and is not zero.
        let common = i128::try_from(a).unwrap_or(1).max(1);
        Number::Exact(above / common, below / common)
    }

    /// An exact result without common factors once it has grown, or else the float.
    fn or(exact: Option<(i128, i128)>, float: impl FnOnce() -> f64) -> Result<Number, String> {
        let small = |number: i128| number.unsigned_abs() < 1 << 62;
        match exact {
            Some((above, below)) if below == 1 || (small(above) && small(below)) => {
                Ok(Number::Exact(above, below))
            }
            Some((above, below)) => Ok(Number::Exact(above, below).reduced()),
            None => Number::float(float()),
        }
    }

    fn plus(self, other: Number) -> Result<Number, String> {
        let float = || self.to_f64() + other.to_f64();
        let (Number::Exact(a, b), Number::Exact(c, d)) = (self, other) else {
            return Number::float(float());
        };
        let exact = || {
            let above = a.checked_mul(d)?.checked_add(c.checked_mul(b)?)?;
            Some((above, b.checked_mul(d)?))
        };
        let exact = if b == d { a.checked_add(c).map(|above| (above, b)) } else { exact() };
        Number::or(exact, float)
    }

    fn times(self, other: Number) -> Result<Number, String> {
        let float = || self.to_f64() * other.to_f64();
        let (Number::Exact(a, b), Number::Exact(c, d)) = (self, other) else {
            return Number::float(float());
        };
        let exact = || Some((a.checked_mul(c)?, b.checked_mul(d)?));
        Number::or(exact(), float)
    }

    fn over(self, other: Number) -> Result<Number, String> {
        if other.to_f64() == 0.0 {
            return Err("divides by zero".to_owned());
        }
        match other {
            Number::Exact(c, d) if c != i128::MIN => {
                self.times(Number::Exact(d * c.signum(), c.abs()))
            }
            _ => Number::float(self.to_f64() / other.to_f64()),
        }
    }

    fn power(self, exponent: Number) -> Result<Number, String> {
        if let Number::Exact(times, 1) = exponent.reduced()
            && let Ok(times) = i32::try_from(times)
            && let Number::Exact(above, below) = self
        {
            let (count, positive) = (times.unsigned_abs(), times >= 0);
            let exact = above.checked_pow(count).zip(below.checked_pow(count));
            if let Some((above, below)) = exact {
                let power = Number::or(Some((above, below)), || 0.0)?;
                return if positive { Ok(power) } else { Number::Exact(1, 1).over(power) };
            }
        }
        let (base, exponent) = (self.to_f64(), exponent.to_f64());
        if base == 0.0 && exponent < 0.0 {
            return Err("divides by zero".to_owned());
        }
        if base < 0.0 && math::floor(exponent) != exponent {
            return Err("takes a negative number to a power that is not whole".to_owned());
        }
        Number::float(math::pow(base, exponent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::quantity::{RATE, TIME};

    fn value(text: &str, i: u32, n: u32) -> Result<u64, String> {
        Formula::read(text, &TIME)?.value(i, n, &TIME)
    }

    const MS: u64 = 1_000_000_000;

    #[test]
    fn values_by_hand() {
        for (text, expected) in [
            ("40ms + 10ms * i", 70 * MS),
            ("40 ms+10ms*i", 70 * MS),
            ("(1 + i) * 1ms ^ 1", 4 * MS),
            ("10ms * 2 ^ i", 80 * MS),
            ("10ms * -2 ^ 2 + 50ms", 10 * MS),
            // Powers stand to the right: 2^(3^2) = 512.
            ("1ms * 2 ^ i ^ 2", 512 * MS),
            ("100ms - 20ms - 10ms", 70 * MS),
            ("80ms / 4 / 2", 10 * MS),
            // 100 ms / 3, rounded down.
            ("100ms * (i / (n - 1)) ^ 2 / 3 * 3 / 3", 33_333_333_333),
            ("0.1ms * 3", 300_000_000),
            // 3 * 3 ms^2 / 3 ms.
            ("i * 1ms * 3ms / (i * 1ms)", 3 * MS),
            ("1ms * 2 ^ 0.5", 1_414_213_562),
            ("8ms * 2 ^ -i", MS),
            ("1e-3s", MS),
        ] {
            assert_eq!(value(text, 3, 4), Ok(expected), "{text}");
        }
        let formula = Formula::read("10Mbps * (n - i)", &RATE).unwrap();
        assert_eq!(formula.value(1, 3, &RATE), Ok(20_000_000));
    }

    #[test]
    fn thirds_add_up_exactly() {
        assert_eq!(value("1s / 3 + 1s / 3 + 1s / 3", 0, 1), Ok(1000 * MS));
        assert_eq!(value("1s / 7 * 7", 0, 1), Ok(1000 * MS));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let long = format!("1ms{}", " + 1ms".repeat(100));
        let deep = format!("{}1ms{}", "(".repeat(40), ")".repeat(40));
        for (text, said) in [
            ("40 + i", "does not give a time such as \"80ms\" but a number without a unit"),
            ("1ms * 1ms", "does not give a time such as \"80ms\" but one to the power of 2"),
            ("1ms / 1ms", "does not give a time such as \"80ms\" but a number without a unit"),
            ("1ms + 1", "adds a quantity and a number without a unit"),
            ("1 - 1ms", "subtracts a number without a unit and a quantity"),
            ("1ms - 1ms * i", "gives a time that is negative"),
            ("1ms * 10 ^ 30", "gives a time that is too large"),
            ("1ms * 10 ^ 300 * 10 ^ 300", "leaves the range of numbers"),
            ("1ms / (i - 3)", "divides by zero"),
            ("1ms * 0 ^ -1", "divides by zero"),
            ("1ms * (0 - 2) ^ 0.5", "takes a negative number to a power that is not whole"),
            ("1ms ^ 0.5", "takes a quantity to a power that is not whole"),
            ("2 ^ 1ms", "has a quantity as an exponent"),
            ("1ms *", "ends where a number, a quantity, i, n or \"(\" should stand"),
            ("(1ms", "ends where \")\" should stand"),
            ("1ms 2", "has \"2\" where an operator should stand"),
            ("1ms * j", "has the unknown name \"j\" (allowed: i, n)"),
            (
                "1Mbps",
                "is wrong: unknown unit \"Mbps\" in \"1Mbps\" (allowed: ps, ns, us, ms, s, min, h)",
            ),
            (&long, "is longer than 500 characters"),
            (&deep, "is nested more than 32 deep"),
        ] {
            assert_eq!(value(text, 3, 4), Err(said.to_owned()), "{text}");
        }
    }

    #[test]
    fn random_text_has_a_value_or_an_error() {
        let mut stream = units::random::Stream::new(1, 0, "formulas");
        let pieces = ["1ms", "2", "i", "n", "+", "-", "*", "/", "^", "(", ")", ".5", "1e30", " "];
        for _ in 0..200_000 {
            let length = stream.bits() % 12;
            let piece = |_| pieces[(stream.bits() % pieces.len() as u64) as usize];
            let text: String = (0..length).map(piece).collect();
            let _ = value(&text, 3, 4);
        }
    }
}

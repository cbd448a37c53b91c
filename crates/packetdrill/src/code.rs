//! Statements about a connection.
//!
//! packetdrill hands `%{ ... }%` to Python. Here they are read by a small evaluator that knows
//! assertions, assignments, arithmetic, comparisons and nothing that reaches beyond its variables:
//! a foreign file's text is never run as a program.

use std::collections::BTreeMap;

use crate::lexer::shortened;

/// Why a statement does not hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Broken {
    /// An assertion is false: the assertion, and its names with their values.
    False(String, String),
    /// It cannot be read, or asks for what is not known.
    Unknown(String),
}

/// The variables of a script, which live from one piece of code to the next.
#[derive(Clone, Debug, Default)]
pub struct Code {
    variables: BTreeMap<String, f64>,
    /// Assertions that held.
    pub held: usize,
}

type Known<'a> = &'a dyn Fn(&str) -> Result<f64, String>;

impl Code {
    /// Runs statements; `known` answers for names that they have not set, or says why not.
    ///
    /// # Errors
    /// The first statement that does not hold, with its line after the first.
    pub fn run(&mut self, text: &str, known: Known<'_>) -> Result<(), (u32, Broken)> {
        for (line, statement) in statements(text) {
            self.statement(&statement, known).map_err(|broken| (line, broken))?;
        }
        Ok(())
    }

    fn statement(&mut self, text: &str, known: Known<'_>) -> Result<(), Broken> {
        let (mut reader, unread) = Reader::new(text);
        if matches!(reader.peek(), Some(Piece::Name(name)) if name == "print") {
            return Ok(());
        }
        if let Some(broken) = unread {
            return Err(Broken::Unknown(broken));
        }
        if reader.name("assert") {
            let mut asked = Vec::new();
            let value = reader.whole(self, known, &mut asked)?;
            if !reader.done() && !reader.sign(",") {
                return Err(reader.unread());
            }
            if value == 0.0 {
                let claim = before_comma(text.trim_start_matches("assert"));
                if asked.is_empty() {
                    asked.push("that it is false".to_owned());
                }
                return Err(Broken::False(claim.to_owned(), asked.join(", ")));
            }
            self.held += 1;
            return Ok(());
        }
        let Some(Piece::Name(name)) = reader.peek().cloned() else { return Err(reader.unread()) };
        reader.at += 1;
        let Some(Piece::Sign(sign)) = reader.peek().cloned() else { return Err(reader.unread()) };
        reader.at += 1;
        let value = reader.whole(self, known, &mut Vec::new())?;
        if !reader.done() {
            return Err(reader.unread());
        }
        let value = match sign.strip_suffix('=') {
            Some("") => value,
            Some(operator) if !"=!<>".contains(operator) => {
                let old = self.value(&name, known)?;
                combine(operator, old, value).ok_or_else(|| reader.unread())?
            }
            _ => return Err(reader.unread()),
        };
        self.variables.insert(name, value);
        Ok(())
    }

    fn value(&self, name: &str, known: Known<'_>) -> Result<f64, Broken> {
        match self.variables.get(name) {
            Some(value) => Ok(*value),
            None => known(name).map_err(Broken::Unknown),
        }
    }
}

/// The part before the first comma outside of parentheses.
fn before_comma(text: &str) -> &str {
    let mut depth = 0;
    let end = text.find(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    });
    text[..end.unwrap_or(text.len())].trim()
}

/// Statements with their lines, counted from 0; comments are left out.
fn statements(text: &str) -> Vec<(u32, String)> {
    let mut found = Vec::new();
    let (mut statement, mut line, mut begun) = (String::new(), 0, 0);
    let (mut depth, mut quote, mut comment) = (0, None, false);
    for c in text.chars().chain(['\n']) {
        let ends = quote.is_none() && depth <= 0 && (c == '\n' || c == ';' && !comment);
        if ends {
            if !statement.trim().is_empty() {
                found.push((begun, statement.trim().to_owned()));
            }
            statement.clear();
        } else if !comment {
            match quote {
                Some(mark) => quote = (c != mark).then_some(mark),
                None if c == '#' => comment = true,
                None if c == '"' || c == '\'' => quote = Some(c),
                None => depth += i32::from(c == '(') - i32::from(c == ')'),
            }
            if !comment {
                if statement.trim().is_empty() {
                    begun = line;
                }
                statement.push(c);
            }
        }
        if c == '\n' {
            (line, comment) = (line + 1, false);
        }
    }
    found
}

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Number(f64),
    Name(String),
    Text,
    Sign(String),
}

/// Signs, the longer ones first.
const SIGNS: [&str; 31] = [
    "//=", "<<", ">>", "==", "!=", "<=", ">=", "//", "+=", "-=", "*=", "/=", "|=", "&=", "%=", "<",
    ">", "+", "-", "*", "/", "%", "|", "&", "(", ")", ",", "=", "[", "]", ".",
];

struct Reader<'t> {
    text: &'t str,
    pieces: Vec<Piece>,
    at: usize,
    /// Parentheses and signs that what is read now stands in.
    depth: usize,
}

/// Deeper is not read: the evaluator calls itself.
const DEEPEST: usize = 50;

impl<'t> Reader<'t> {
    /// The pieces of a statement, up to the first that is none.
    fn new(text: &'t str) -> (Reader<'t>, Option<String>) {
        let (mut rest, mut pieces, mut unread) = (text.trim_start(), Vec::new(), None);
        while let Some(first) = rest.chars().next() {
            let number = first.is_ascii_digit();
            let inside = |c: char| c.is_ascii_alphanumeric() || c == '_' || number && c == '.';
            let mut word = &rest[..rest.len() - rest.trim_start_matches(inside).len()];
            if number && word.ends_with('e') && rest[word.len()..].starts_with('-') {
                let power = rest[word.len() + 1..].trim_start_matches(|c: char| c.is_ascii_digit());
                word = &rest[..rest.len() - power.len()];
            }
            let (piece, length) = if number {
                let hex = word.strip_prefix("0x").and_then(|hex| i64::from_str_radix(hex, 16).ok());
                match hex.map_or_else(|| word.parse().ok(), |number| Some(number as f64)) {
                    Some(number) => (Piece::Number(number), word.len()),
                    None => break,
                }
            } else if first.is_ascii_alphabetic() || first == '_' {
                (Piece::Name(word.to_owned()), word.len())
            } else if first == '\'' || first == '"' {
                match rest[1..].find(first) {
                    Some(length) => (Piece::Text, length + 2),
                    None => break,
                }
            } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                (Piece::Sign((*sign).to_owned()), sign.len())
            } else {
                unread = Some(beyond(text));
                break;
            };
            pieces.push(piece);
            rest = rest[length..].trim_start();
        }
        (Reader { text, pieces, at: 0, depth: 0 }, unread)
    }

    fn peek(&self) -> Option<&Piece> {
        self.pieces.get(self.at)
    }

    fn done(&self) -> bool {
        self.at >= self.pieces.len()
    }

    fn unread(&self) -> Broken {
        Broken::Unknown(beyond(self.text))
    }

    fn sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Some(Piece::Sign(text)) if text == sign);
        self.at += usize::from(found);
        found
    }

    fn name(&mut self, name: &str) -> bool {
        let found = matches!(self.peek(), Some(Piece::Name(text)) if text == name);
        self.at += usize::from(found);
        found
    }

    /// What `read` reads, one deeper.
    fn inner(
        &mut self,
        read: fn(&mut Self, &Code, Known<'_>, &mut Vec<String>) -> Answer,
        code: &Code,
        known: Known<'_>,
        asked: &mut Vec<String>,
    ) -> Answer {
        if self.depth == DEEPEST {
            return Err(self.unread());
        }
        self.depth += 1;
        let value = read(self, code, known, asked)?;
        self.depth -= 1;
        Ok(value)
    }

    /// An expression; `asked` gets the names that it asks for, with their values.
    fn whole(&mut self, code: &Code, known: Known<'_>, asked: &mut Vec<String>) -> Answer {
        let mut either = self.all(code, known, asked)?;
        while self.name("or") {
            let other = self.all(code, known, asked)?;
            either = if either == 0.0 { other } else { either };
        }
        Ok(either)
    }

    fn all(&mut self, code: &Code, known: Known<'_>, asked: &mut Vec<String>) -> Answer {
        let mut both = self.not(code, known, asked)?;
        while self.name("and") {
            let other = self.not(code, known, asked)?;
            both = if both == 0.0 { both } else { other };
        }
        Ok(both)
    }

    fn not(&mut self, code: &Code, known: Known<'_>, asked: &mut Vec<String>) -> Answer {
        if self.name("not") {
            return Ok(truth(self.inner(Reader::not, code, known, asked)? == 0.0));
        }
        let mut left = self.binary(0, code, known, asked)?;
        let mut holds = None;
        while let Some(Piece::Sign(sign)) = self.peek().cloned()
            && ["==", "!=", "<", "<=", ">", ">="].contains(&sign.as_str())
        {
            self.at += 1;
            let right = self.binary(0, code, known, asked)?;
            let now = match sign.as_str() {
                "==" => left == right,
                "!=" => left != right,
                "<" => left < right,
                "<=" => left <= right,
                ">" => left > right,
                _ => left >= right,
            };
            holds = Some(holds.unwrap_or(true) && now);
            left = right;
        }
        Ok(holds.map_or(left, truth))
    }

    /// Operators of one strength and all that bind more strongly.
    fn binary(
        &mut self,
        strength: usize,
        code: &Code,
        known: Known<'_>,
        asked: &mut Vec<String>,
    ) -> Answer {
        const STRENGTHS: [&[&str]; 5] =
            [&["|"], &["&"], &["<<", ">>"], &["+", "-"], &["*", "//", "/", "%"]];
        let Some(operators) = STRENGTHS.get(strength) else {
            return self.single(code, known, asked);
        };
        let mut left = self.binary(strength + 1, code, known, asked)?;
        while let Some(Piece::Sign(sign)) = self.peek().cloned()
            && operators.contains(&sign.as_str())
        {
            self.at += 1;
            let right = self.binary(strength + 1, code, known, asked)?;
            left = combine(&sign, left, right).ok_or_else(|| self.unread())?;
        }
        Ok(left)
    }

    fn single(&mut self, code: &Code, known: Known<'_>, asked: &mut Vec<String>) -> Answer {
        if self.sign("-") {
            return Ok(-self.inner(Reader::single, code, known, asked)?);
        }
        if self.sign("(") {
            let value = self.inner(Reader::whole, code, known, asked)?;
            return if self.sign(")") { Ok(value) } else { Err(self.unread()) };
        }
        let piece = self.peek().cloned();
        self.at += 1;
        match piece {
            Some(Piece::Number(number)) => Ok(number),
            Some(Piece::Name(name)) if name == "True" || name == "False" => {
                Ok(truth(name == "True"))
            }
            Some(Piece::Name(name)) if name == "abs" && self.sign("(") => {
                let value = self.inner(Reader::whole, code, known, asked)?;
                if self.sign(")") { Ok(value.abs()) } else { Err(self.unread()) }
            }
            Some(Piece::Name(name)) => {
                let value = code.value(&name, known)?;
                let told = format!("{name} is {value}");
                let constant = name.chars().all(|c| !c.is_ascii_lowercase());
                if !constant && !asked.contains(&told) && !name.starts_with("TCP_CA_") {
                    asked.push(told);
                }
                Ok(value)
            }
            _ => Err(self.unread()),
        }
    }
}

type Answer = Result<f64, Broken>;

fn beyond(text: &str) -> String {
    format!("`{}` is beyond what is evaluated here", shortened(text))
}

fn truth(holds: bool) -> f64 {
    if holds { 1.0 } else { 0.0 }
}

fn combine(operator: &str, left: f64, right: f64) -> Option<f64> {
    let whole = |f: fn(i64, i64) -> i64| f(left as i64, right as i64) as f64;
    let shift = u32::try_from(right as i64).ok().filter(|bits| *bits < 63);
    Some(match operator {
        "+" => left + right,
        "-" => left - right,
        "*" => left * right,
        "/" if right != 0.0 => left / right,
        "//" if right != 0.0 => (left / right).floor(),
        "%" if right != 0.0 => left - (left / right).floor() * right,
        "|" => whole(|a, b| a | b),
        "&" => whole(|a, b| a & b),
        "<<" => shift.map(|bits| ((left as i64) << bits) as f64)?,
        ">>" => shift.map(|bits| ((left as i64) >> bits) as f64)?,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(name: &str) -> Result<f64, String> {
        match name {
            "tcpi_snd_cwnd" => Ok(10.0),
            other => Err(format!("{other} is not known")),
        }
    }

    #[test]
    fn what_holds_holds_and_variables_stay() {
        let mut code = Code::default();
        for text in [
            "assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd",
            "print(tcpi_snd_cwnd); assert tcpi_snd_cwnd == 10, 'cwnd=%d' % tcpi_snd_cwnd",
            "cwnd = 8",
            "cwnd += 2; assert tcpi_snd_cwnd == cwnd",
            "\nassert tcpi_snd_cwnd > 0x9  # a comment; with signs\nassert not cwnd == 3, (1,\n2)",
            "assert 1 < 2 < 3 and (7 // 2 == 3 or 1 / 0)",
            "assert (6 & 3) == 2 and 2 + 3 * 4 == 14 and 7 % 4 == 3 and 1 << 3 == 8",
            "assert abs(2 - cwnd) == 8 and -2 < 0 and True and 25e-1 == 2.5",
        ] {
            let done = code.run(text, &known);
            // `or` does not leave out what comes after it: 1/0 is the one thing beyond.
            assert_eq!(done.is_ok(), !text.contains("1 / 0"), "{text}: {done:?}");
        }
        assert_eq!(code.held, 7);
    }

    #[test]
    fn a_false_assertion_says_what_its_names_are() {
        let mut code = Code::default();
        let text = "a = 1\n\nassert (tcpi_snd_cwnd, a)[0] or True\n";
        assert!(matches!(code.run(text, &known), Err((2, Broken::Unknown(_)))));
        let text = "a = 4\nassert tcpi_snd_cwnd == a + 1, tcpi_snd_cwnd";
        let claim = Broken::False(
            "tcpi_snd_cwnd == a + 1".to_owned(),
            "tcpi_snd_cwnd is 10, a is 4".to_owned(),
        );
        assert_eq!(code.run(text, &known), Err((1, claim)));
        let claim = Broken::False("1 == 2".to_owned(), "that it is false".to_owned());
        assert_eq!(code.run("assert 1 == 2", &known), Err((0, claim)));
    }

    #[test]
    fn nothing_else_is_evaluated() {
        let unknown = Broken::Unknown("tcpi_reordering is not known".to_owned());
        let text = "assert tcpi_reordering == 3";
        assert_eq!(Code::default().run(text, &known), Err((0, unknown)));
        for text in ["import os", "os.system('true')", "a.b = 1", "assert [1]", "for", "x = $"] {
            let done = Code::default().run(text, &known);
            assert!(matches!(done, Err((0, Broken::Unknown(_)))), "{text}: {done:?}");
        }
    }

    #[test]
    fn nothing_is_read_however_deep() {
        let nested = |begin: &str, end: &str, deep| {
            let text = format!("assert {}1{}", begin.repeat(deep), end.repeat(deep));
            Code::default().run(&text, &known)
        };
        for (begin, end) in [("(", ")"), ("-", ""), ("not ", ""), ("abs(", ")"), ("-(", ")")] {
            assert_eq!(nested(begin, end, 20), Ok(()), "{begin}");
            let done = nested(begin, end, 100_000);
            let Err((0, Broken::Unknown(reason))) = done else { panic!("{begin}: {done:?}") };
            assert!(reason.len() < 150, "{reason}");
        }
    }
}

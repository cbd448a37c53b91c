//! From text to tokens.

use crate::script::Fault;

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    /// Letters, digits and underscores, not a number.
    Word(String),
    /// A whole number.
    Number(i64),
    /// A number with a point, as it stands there.
    Real(String),
    /// `"..."`.
    Text(String),
    /// Between backquotes.
    Shell(String),
    /// Between `%{` and `}%`.
    Code(String),
    /// `--name`.
    Option(String),
    /// `...`.
    Ellipsis,
    /// Any other character.
    Sign(char),
}

impl Token {
    /// As it is shown in an error.
    pub(crate) fn told(&self) -> String {
        match self {
            Token::Word(text) | Token::Real(text) => format!("`{}`", shortened(text)),
            Token::Number(number) => format!("`{number}`"),
            Token::Text(text) => format!("\"{}\"", shortened(text)),
            Token::Shell(_) => "a command".to_owned(),
            Token::Code(_) => "code".to_owned(),
            Token::Option(name) => format!("`--{}`", shortened(name)),
            Token::Ellipsis => "`...`".to_owned(),
            Token::Sign(sign) => format!("`{}`", sign.escape_debug()),
        }
    }
}

/// The beginning of a text, for messages.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(100) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// A token with its line.
pub(crate) type Placed = (u32, Token);

/// All tokens of a text.
///
/// # Errors
/// A comment, text, command or code that does not end.
pub(crate) fn tokens(text: &str) -> Result<Vec<Placed>, Fault> {
    let mut lexer = Lexer { rest: text, line: 1 };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.next()? {
        tokens.push(token);
    }
    Ok(tokens)
}

struct Lexer<'a> {
    rest: &'a str,
    line: u32,
}

impl<'a> Lexer<'a> {
    fn next(&mut self) -> Result<Option<Placed>, Fault> {
        self.skip_blank()?;
        let line = self.line;
        let Some(first) = self.rest.chars().next() else { return Ok(None) };
        let token = if let Some(after) = self.rest.strip_prefix("%{") {
            Token::Code(self.enclosed(after, "}%", "%{")?.trim_matches([' ', '\t']).to_owned())
        } else if first == '`' {
            Token::Shell(self.enclosed(&self.rest[1..], "`", "`")?.to_owned())
        } else if first == '"' {
            Token::Text(self.enclosed(&self.rest[1..], "\"", "\"")?.to_owned())
        } else if self.rest.starts_with("...") {
            self.take(3);
            Token::Ellipsis
        } else if let Some(after) = self.rest.strip_prefix("--") {
            let length = word_length(after);
            self.take(2);
            Token::Option(self.take(length).to_owned())
        } else {
            self.number_or_word(first)
        };
        Ok(Some((line, token)))
    }

    fn number_or_word(&mut self, first: char) -> Token {
        let sign = usize::from(first == '-');
        let whole = digits(&self.rest[sign..]);
        let after = &self.rest[sign + whole..];
        let parts = after.strip_prefix('.').map_or(0, digits);
        if parts > 0 {
            return Token::Real(self.take(sign + whole + 1 + parts).to_owned());
        }
        let letters = word_length(&self.rest[sign..]);
        if whole > 0 && letters == whole {
            let text = self.take(sign + whole);
            return text.parse().map_or_else(|_| Token::Word(text.to_owned()), Token::Number);
        }
        if sign == 0 && letters > 0 {
            let text = self.take(letters);
            let hex = text.strip_prefix("0x").and_then(|hex| i64::from_str_radix(hex, 16).ok());
            return hex.map_or_else(|| Token::Word(text.to_owned()), Token::Number);
        }
        self.take(first.len_utf8());
        Token::Sign(first)
    }

    fn skip_blank(&mut self) -> Result<(), Fault> {
        loop {
            let blank = self.rest.len() - self.rest.trim_start().len();
            self.take(blank);
            if self.rest.starts_with("//") {
                self.take(self.rest.find('\n').unwrap_or(self.rest.len()));
            } else if let Some(after) = self.rest.strip_prefix("/*") {
                self.enclosed(after, "*/", "/*")?;
            } else {
                return Ok(());
            }
        }
    }

    /// What is between two marks, of which `after` is behind the first; goes on behind the second.
    fn enclosed(&mut self, after: &'a str, end: &str, begin: &str) -> Result<&'a str, Fault> {
        let Some(length) = after.find(end) else {
            return Err(Fault::syntax(self.line, format!("`{begin}` without `{end}`")));
        };
        self.take(self.rest.len() - after.len() + length + end.len());
        Ok(&after[..length])
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.line += taken.matches('\n').count() as u32;
        self.rest = rest;
        taken
    }
}

fn digits(text: &str) -> usize {
    text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len()
}

fn word_length(text: &str) -> usize {
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.len() - text.trim_start_matches(inside).len()
}

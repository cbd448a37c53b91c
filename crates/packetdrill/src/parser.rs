//! From tokens to a [`Script`].

use transport::accecn::wire::Counts;

use crate::accurate;
use crate::lexer::{Placed, Token, tokens};
use crate::script::{
    Action, Argument, Call, EcnBits, Event, Fault, Packet, Script, TcpOption, When,
};

/// Reads a script.
///
/// # Errors
/// What is wrong with it and in which line, or what it is about that is not modelled.
pub fn parse(text: &str) -> Result<Script, Fault> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0, lists: 0 };
    let options = parser.options()?;
    if let Some((name, _)) = options.iter().find(|(name, _)| !KNOWN.contains(&name.as_str())) {
        return Err(Fault::beyond(1, format!("the option --{name}")));
    }
    parser.define(&options);
    let setup = match parser.peek() {
        Some(Token::Shell(text)) => Some((parser.line(), text.clone())),
        _ => None,
    };
    parser.at += usize::from(setup.is_some());
    let mut events = Vec::new();
    while parser.peek().is_some() {
        match parser.peek() {
            // What puts the machine back as it was: there is nothing to put back.
            Some(Token::Shell(_)) if parser.at + 1 == parser.tokens.len() => break,
            _ => events.push(parser.event()?),
        }
    }
    if events.is_empty() {
        return Err(Fault::syntax(parser.line(), "there is no event"));
    }
    Ok(Script { options, setup, events })
}

struct Parser {
    tokens: Vec<Placed>,
    at: usize,
    /// Lists that the argument read now stands in.
    lists: usize,
}

/// Deeper is not read: the parser calls itself.
const DEEPEST: usize = 50;

/// Options; those of addresses mean nothing here, and `era` is none of packetdrill's.
const KNOWN: [&str; 10] = [
    "tcp_ts_tick_usecs",
    "tolerance_usecs",
    "tolerance_percent",
    "define",
    "era",
    "ip_version",
    "local_ip",
    "remote_ip",
    "gateway_ip",
    "netmask_ip",
];

/// Protocols and headers that scripts may be about.
const OTHERS: [&str; 8] = ["udp", "icmp", "ipv4", "ipv6", "gre", "mpls", "encap", "GREv0"];

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(_, token)| token)
    }

    /// Of the next token, or of the last.
    fn line(&self) -> u32 {
        let last = self.tokens.len().saturating_sub(1);
        self.tokens.get(self.at.min(last)).map_or(1, |&(line, _)| line)
    }

    fn next(&mut self, wanted: &str) -> Result<Token, Fault> {
        let line = self.line();
        let token = self.peek().cloned();
        self.at += 1;
        token.ok_or_else(|| Fault::syntax(line, format!("expected {wanted}, got the end")))
    }

    fn wrong<T>(&self, wanted: &str) -> Result<T, Fault> {
        let got = self.peek().map_or_else(|| "the end".to_owned(), Token::told);
        Err(Fault::syntax(self.line(), format!("expected {wanted}, got {got}")))
    }

    fn skip(&mut self, sign: char) -> bool {
        let found = self.peek() == Some(&Token::Sign(sign));
        self.at += usize::from(found);
        found
    }

    fn sign(&mut self, sign: char) -> Result<(), Fault> {
        if self.skip(sign) { Ok(()) } else { self.wrong(&format!("`{sign}`")) }
    }

    fn word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Word(text)) if text == word);
        self.at += usize::from(found);
        found
    }

    fn number(&mut self, wanted: &str) -> Result<u32, Fault> {
        if let Some(&Token::Number(number)) = self.peek()
            && let Ok(number) = u32::try_from(number)
        {
            self.at += 1;
            return Ok(number);
        }
        self.wrong(wanted)
    }

    fn options(&mut self) -> Result<Vec<(String, String)>, Fault> {
        let mut options = Vec::new();
        while let Some(Token::Option(name)) = self.peek() {
            let name = name.clone();
            let line = self.line();
            self.at += 1;
            let mut value = String::new();
            while self.peek().is_some() && self.line() == line {
                match self.next("a value")? {
                    Token::Sign('=') if value.is_empty() => {}
                    Token::Word(text) | Token::Real(text) | Token::Text(text) => value += &text,
                    Token::Number(number) => value += &number.to_string(),
                    Token::Sign(sign) => value.push(sign),
                    other => {
                        let message = format!("expected a value of --{name}, got {}", other.told());
                        return Err(Fault::syntax(line, message));
                    }
                }
            }
            options.push((name, value));
        }
        Ok(options)
    }

    /// `--define=NAME=value`: the name stands for the value from there on.
    fn define(&mut self, options: &[(String, String)]) {
        for (_, value) in options.iter().filter(|(name, _)| name == "define") {
            let Some((name, value)) = value.split_once('=') else { continue };
            for (_, token) in &mut self.tokens[self.at..] {
                if matches!(token, Token::Word(word) if word == name) {
                    *token =
                        value.parse().map_or_else(|_| Token::Word(value.to_owned()), Token::Number);
                }
            }
        }
    }

    fn event(&mut self) -> Result<Event, Fault> {
        let line = self.line();
        let when = self.when()?;
        let action = match self.peek() {
            Some(Token::Sign('<')) => Action::Inject(self.packet()?),
            Some(Token::Sign('>')) => Action::Expect(self.packet()?),
            Some(Token::Shell(text)) => Action::Command(text.clone()),
            Some(Token::Code(text)) => Action::Code(text.clone()),
            Some(Token::Ellipsis | Token::Word(_)) => Action::Call(self.call()?),
            _ => return self.wrong("a packet, a call, a command or code"),
        };
        self.at += usize::from(matches!(action, Action::Command(_) | Action::Code(_)));
        let range = matches!(when, When::Any | When::Between(..) | When::Within(..));
        if range && !matches!(action, Action::Expect(_)) {
            let message = "only a packet that must be sent may have `*` or a range of times";
            return Err(Fault::syntax(line, message));
        }
        Ok(Event { line, when, action })
    }

    fn when(&mut self) -> Result<When, Fault> {
        if self.skip('*') {
            return Ok(When::Any);
        }
        let relative = self.skip('+');
        let from = self.time()?;
        if !self.skip('~') {
            return Ok(if relative { When::After(from) } else { When::At(from) });
        }
        if relative {
            self.sign('+')?;
        }
        let line = self.line();
        let to = self.time()?;
        if to < from {
            return Err(Fault::syntax(line, "the range of times is backwards"));
        }
        Ok(if relative { When::Within(from, to) } else { When::Between(from, to) })
    }

    /// Seconds, as [us].
    fn time(&mut self) -> Result<u64, Fault> {
        let seconds = match self.peek() {
            Some(Token::Number(seconds)) => Some(*seconds as f64),
            Some(Token::Real(text)) => text.parse::<f64>().ok(),
            _ => None,
        };
        match seconds {
            Some(seconds) if (0.0..=1e6).contains(&seconds) => {
                self.at += 1;
                Ok((seconds * 1e6).round() as u64)
            }
            _ => self.wrong("a time in seconds"),
        }
    }

    fn packet(&mut self) -> Result<Packet, Fault> {
        self.at += 1;
        let mut packet = Packet { options: Some(Vec::new()), ..Packet::default() };
        if self.skip('[') || self.skip('(') {
            packet.ecn = Some(self.bits()?);
        }
        if let Some(Token::Word(word)) = self.peek()
            && OTHERS.contains(&word.as_str())
        {
            return Err(Fault::beyond(self.line(), format!("`{word}` packets")));
        }
        if let (Some(Token::Number(_)), Some((_, Token::Sign('>')))) =
            (self.peek(), self.tokens.get(self.at + 1))
        {
            return Err(Fault::beyond(self.line(), "a packet of another connection (ports)"));
        }
        packet.flags = self.flags()?;
        self.numbers(&mut packet)?;
        if self.word("ack") {
            packet.ack = Some(self.number("an acknowledgement number")?);
        }
        if self.word("win") {
            let line = self.line();
            packet.window = match self.number("a window")? {
                window @ 0..=0xffff => Some(window),
                _ => return Err(Fault::syntax(line, "a window is at most 65535")),
            };
        }
        if self.word("urg") {
            return Err(Fault::beyond(self.line(), "urgent data"));
        }
        if self.skip('<') {
            packet.options = self.tcp_options()?;
        }
        Ok(packet)
    }

    fn bits(&mut self) -> Result<EcnBits, Fault> {
        let bits = match self.peek() {
            Some(Token::Word(word)) => match word.as_str() {
                "noecn" => EcnBits::Are(0),
                "ect1" => EcnBits::Are(1),
                "ect0" => EcnBits::Are(2),
                "ce" => EcnBits::Are(3),
                "ect01" => EcnBits::Ect,
                other => {
                    let reason = format!("`{other}` of the IP header");
                    return Err(Fault::beyond(self.line(), reason));
                }
            },
            _ => return self.wrong("noecn, ect0, ect1, ect01 or ce"),
        };
        self.at += 1;
        if !self.skip(')') {
            self.sign(']')?;
        }
        Ok(bits)
    }

    /// Letters and a point for ACK, before or behind which AccECN's three bits may be a digit; they
    /// become the letters of their flags.
    fn flags(&mut self) -> Result<String, Fault> {
        let mut flags = String::new();
        if let Some(Token::Word(word)) = self.peek() {
            if let Some(wrong) = word.chars().find(|letter| !"FSRPEWCAUN01234567".contains(*letter))
            {
                return self.wrong(&format!("TCP flags, of which `{wrong}` is none"));
            }
            flags.push_str(word);
            self.at += 1;
        }
        if self.skip('.') {
            flags.push('.');
        } else if let Some(Token::Real(text)) = self.peek()
            && text.starts_with('.')
        {
            flags.push_str(text);
            self.at += 1;
        }
        if flags.is_empty() && !self.skip('-') {
            return self.wrong("TCP flags");
        }
        let digit = |flag: char| flag.to_digit(8);
        let ace: String =
            flags.chars().filter_map(digit).map(|ace| accurate::letters(ace as u8)).collect();
        flags.retain(|flag| digit(flag).is_none());
        Ok(ace + &flags)
    }

    fn numbers(&mut self, packet: &mut Packet) -> Result<(), Fault> {
        let line = self.line();
        packet.start = self.number("a sequence number")?;
        self.sign(':')?;
        packet.end = self.number("a sequence number")?;
        self.sign('(')?;
        let length = self.number("a length")?;
        self.sign(')')?;
        if packet.start.checked_add(length) != Some(packet.end) {
            let (start, end) = (packet.start, packet.end);
            let message = format!("{start}:{end} are not {length} bytes");
            return Err(Fault::syntax(line, message));
        }
        Ok(())
    }

    fn tcp_options(&mut self) -> Result<Option<Vec<TcpOption>>, Fault> {
        if self.peek() == Some(&Token::Ellipsis) {
            self.at += 1;
            self.sign('>')?;
            return Ok(None);
        }
        let mut options = Vec::new();
        loop {
            options.extend(self.tcp_option()?);
            if self.skip('>') {
                return Ok(Some(options));
            }
            self.sign(',')?;
        }
    }

    fn tcp_option(&mut self) -> Result<Option<TcpOption>, Fault> {
        let line = self.line();
        let Some(Token::Word(word)) = self.peek().cloned() else {
            return self.wrong("a TCP option");
        };
        self.at += 1;
        Ok(match word.as_str() {
            "nop" | "eol" => None,
            "mss" => match self.number("a segment size")? {
                0 => return Err(Fault::syntax(line, "a segment size is at least 1")),
                mss => Some(TcpOption::Mss(mss)),
            },
            "sackOK" => Some(TcpOption::SackOk),
            "wscale" => Some(TcpOption::Scale(self.number("a shift")?)),
            "TS" => {
                for part in ["val", "ecr"] {
                    if !self.word(part) {
                        return self.wrong(&format!("`{part}`"));
                    }
                    self.number("a timestamp")?;
                }
                Some(TcpOption::Timestamp)
            }
            "code" => match self.number("the two ECN bits")? {
                code @ 0..=3 => Some(TcpOption::Code(code as u8)),
                _ => return Err(Fault::syntax(line, "the two ECN bits are 0 to 3")),
            },
            "sack" => Some(TcpOption::Sack(self.blocks()?)),
            "ECN" => Some(TcpOption::AccEcn(self.counts()?)),
            "md5" | "FO" | "FOEXP" => {
                return Err(Fault::beyond(line, format!("the TCP option `{word}`")));
            }
            _ => Some(TcpOption::Fields(word, self.fields()?)),
        })
    }

    fn blocks(&mut self) -> Result<Vec<(u32, u32)>, Fault> {
        let mut blocks = Vec::new();
        while blocks.is_empty() || matches!(self.peek(), Some(Token::Number(_))) {
            let line = self.line();
            let left = self.number("a block's first byte")?;
            self.sign(':')?;
            let right = self.number("a block's end")?;
            if right <= left {
                return Err(Fault::syntax(line, format!("{left}:{right} is no block")));
            }
            blocks.push((left, right));
        }
        Ok(blocks)
    }

    /// AccECN's counts.
    fn counts(&mut self) -> Result<Counts, Fault> {
        let mut counts = Counts::default();
        while let Some(Token::Word(name)) = self.peek().cloned() {
            let count = match name.as_str() {
                "e0b" => &mut counts.ee0b,
                "ceb" => &mut counts.eceb,
                "e1b" => &mut counts.ee1b,
                _ => return self.wrong("e0b, ceb or e1b"),
            };
            self.at += 1;
            let line = self.line();
            *count = match self.number("a count of bytes")? {
                number @ 0..=0xff_ffff => Some(number),
                _ => return Err(Fault::syntax(line, "a count has 24 bits")),
            };
        }
        Ok(counts)
    }

    /// Names with their values, for a protocol's header.
    fn fields(&mut self) -> Result<Vec<(String, f64)>, Fault> {
        let mut fields = Vec::new();
        while let Some(Token::Word(name)) = self.peek().cloned() {
            self.at += 1;
            let value = match self.peek() {
                Some(Token::Number(number)) => Some(*number as f64),
                Some(Token::Real(text)) => text.parse().ok(),
                _ => None,
            };
            let Some(value) = value else { return self.wrong(&format!("a value of {name}")) };
            self.at += 1;
            fields.push((name, value));
        }
        Ok(fields)
    }

    fn call(&mut self) -> Result<Call, Fault> {
        let mut until = None;
        if self.peek() == Some(&Token::Ellipsis) {
            self.at += 1;
            until = Some(self.time()?);
        }
        let Token::Word(name) = self.next("a call")? else {
            self.at -= 1;
            return self.wrong("the name of a call");
        };
        self.sign('(')?;
        let arguments = self.arguments(')')?;
        self.sign('=')?;
        let result = self.argument()?;
        let mut errno = None;
        if let Some(Token::Word(word)) = self.peek() {
            errno = Some(word.clone());
            self.at += 1;
        }
        if self.skip('(') {
            while !self.skip(')') {
                self.next("`)`")?;
            }
        }
        Ok(Call { until, name, arguments, result, errno })
    }

    fn arguments(&mut self, end: char) -> Result<Vec<Argument>, Fault> {
        let mut arguments = Vec::new();
        while !self.skip(end) {
            if !arguments.is_empty() {
                self.sign(',')?;
            }
            arguments.push(self.argument()?);
        }
        Ok(arguments)
    }

    fn argument(&mut self) -> Result<Argument, Fault> {
        Ok(match self.next("an argument")? {
            Token::Ellipsis => Argument::Any,
            Token::Number(number) => Argument::Number(number),
            Token::Text(mut text) => {
                while let Some(Token::Text(more)) = self.peek() {
                    text.push_str(more);
                    self.at += 1;
                }
                self.at += usize::from(self.peek() == Some(&Token::Ellipsis));
                Argument::Text(text)
            }
            Token::Word(mut word) => {
                while self.skip('|') {
                    let Token::Word(more) = self.next("a name")? else {
                        self.at -= 1;
                        return self.wrong("a name");
                    };
                    word = format!("{word}|{more}");
                }
                Argument::Word(word)
            }
            Token::Sign('[') => {
                if self.lists == DEEPEST {
                    return self.wrong("fewer lists in lists");
                }
                self.lists += 1;
                let list = self.arguments(']')?;
                self.lists -= 1;
                Argument::List(list)
            }
            Token::Sign('{') => {
                let mut depth = 1;
                while depth > 0 {
                    match self.next("`}`")? {
                        Token::Sign('{') => depth += 1,
                        Token::Sign('}') => depth -= 1,
                        _ => {}
                    }
                }
                Argument::Braces
            }
            _ => {
                self.at -= 1;
                return self.wrong("an argument");
            }
        })
    }
}

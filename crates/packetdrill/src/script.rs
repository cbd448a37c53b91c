//! What a script says: the events of packetdrill's language, as far as this runner knows it.

use std::fmt;

use transport::accecn::wire::Counts;

/// A script.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// `--name=value` lines.
    pub options: Vec<(String, String)>,
    /// Shell text before the first event, with its line.
    pub setup: Option<(u32, String)>,
    /// In their order.
    pub events: Vec<Event>,
}

/// Something that is done, or that must happen.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Its line.
    pub line: u32,
    /// When.
    pub when: When,
    /// What.
    pub action: Action,
}

/// An event's time [us].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Since the start.
    At(u64),
    /// After the event before.
    After(u64),
    /// Whenever it happens.
    Any,
    /// Between two times since the start.
    Between(u64, u64),
    /// Between two times after the event before.
    Within(u64, u64),
}

/// An event.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A packet that arrives.
    Inject(Packet),
    /// A packet that must be sent.
    Expect(Packet),
    /// A system call.
    Call(Call),
    /// Shell text.
    Command(String),
    /// Statements about the connection.
    Code(String),
}

/// What a packet's two ECN bits must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnBits {
    /// These.
    Are(u8),
    /// 01 or 10.
    Ect,
}

/// A TCP segment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Packet {
    /// `[ect0]` and the like.
    pub ecn: Option<EcnBits>,
    /// Letters of the TCP flags, `.` for ACK.
    pub flags: String,
    /// Sequence number of the first byte; numbers count from the SYN.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
    /// The acknowledgement number.
    pub ack: Option<u32>,
    /// The window field.
    pub window: Option<u32>,
    /// Its options; `None` is `<...>`, any.
    pub options: Option<Vec<TcpOption>>,
}

impl Packet {
    /// Is this flag set?
    pub fn has(&self, flag: char) -> bool {
        self.flags.contains(flag)
    }
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Packet { flags, start, end, .. } = self;
        write!(f, "{flags} {start}:{end}({})", end - start)?;
        self.ack.map_or(Ok(()), |ack| write!(f, " ack {ack}"))
    }
}

/// An option of a TCP header.
#[derive(Clone, Debug, PartialEq)]
pub enum TcpOption {
    /// `mss`.
    Mss(u32),
    /// `sackOK`.
    SackOk,
    /// `wscale`.
    Scale(u32),
    /// `TS val ... ecr ...`.
    Timestamp,
    /// `ECN`, AccECN's option; its order is not compared.
    AccEcn(Counts),
    /// `sack`, sequence numbers.
    Sack(Vec<(u32, u32)>),
    /// The ECN bits of its data packet, which an ACK carries back. Not in packetdrill.
    Code(u8),
    /// A protocol's header: its name, and its fields with their values. Not in packetdrill.
    Fields(String, Vec<(String, f64)>),
}

/// A system call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// When it returns, if it blocks [us after the event before].
    pub until: Option<u64>,
    /// Its name.
    pub name: String,
    /// What it is called with.
    pub arguments: Vec<Argument>,
    /// What it returns.
    pub result: Argument,
    /// The name of its error.
    pub errno: Option<String>,
}

/// An argument of a system call, or its result.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// `...`.
    Any,
    /// A number.
    Number(i64),
    /// A name, or several with `|` between them.
    Word(String),
    /// `"..."`.
    Text(String),
    /// `[...]`.
    List(Vec<Argument>),
    /// `{...}`, unread.
    Braces,
}

/// Why a script cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It is no script of this language.
    #[error("line {line}: {message}")]
    Syntax {
        /// Where.
        line: u32,
        /// What was read and what may stand there.
        message: String,
    },
    /// It is about something that is not modelled.
    #[error("line {line}: {reason}")]
    NotModelled {
        /// Where.
        line: u32,
        /// What.
        reason: String,
    },
}

impl Fault {
    /// A fault of the script.
    pub fn syntax(line: u32, message: impl Into<String>) -> Fault {
        Fault::Syntax { line, message: message.into() }
    }

    /// A script beyond what is modelled.
    pub fn beyond(line: u32, reason: impl Into<String>) -> Fault {
        Fault::NotModelled { line, reason: reason.into() }
    }
}

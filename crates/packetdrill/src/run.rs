//! Runs a script.

use std::fmt;
use std::path::Path;

use scenario::Era;
use transport::accecn::Counters;
use transport::{Account, Stage};
use units::{Span, Time};

use crate::code::{Broken, Code};
use crate::headers;
use crate::host::{Connection, Host, Trouble, Wire};
use crate::parser::parse;
use crate::script::{
    Action, Argument, Call, EcnBits, Event, Fault, Packet, Script, TcpOption, When,
};
use crate::settings::Settings;

/// How far off a time may be, at least [us], and as a part of the time since the event before:
/// packetdrill's own defaults.
const TOLERANCE_US: u64 = 4000;
const TOLERANCE_PERCENT: f64 = 12.5;
/// The last moment of a script [us].
const LATEST_US: u64 = 1_000_000_000_000;
/// tcpi_snd_ssthresh before the first loss.
const INFINITE: f64 = 0x7fff_ffff_u32 as f64;

/// What came of a script.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Everything that it expects happened.
    Pass {
        /// Packets that were expected, those of the handshake aside.
        packets: usize,
        /// Assertions.
        assertions: usize,
    },
    /// Something else happened.
    Differs {
        /// Where it was expected.
        line: u32,
        /// What was.
        expected: String,
        /// What happened.
        got: String,
    },
    /// It is about something that is not modelled.
    NotApplicable {
        /// Where.
        line: u32,
        /// What.
        reason: String,
    },
    /// It cannot be read.
    Bad {
        /// Where.
        line: u32,
        /// Why.
        message: String,
    },
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Pass { packets, assertions } => {
                write!(f, "pass: {packets} packets, {assertions} assertions")
            }
            Verdict::Differs { line, expected, got } => {
                write!(f, "differs at line {line}: expected {expected}, got {got}")
            }
            Verdict::NotApplicable { line, reason } => {
                write!(f, "not applicable: {reason} (line {line})")
            }
            Verdict::Bad { line, message } => write!(f, "bad script: line {line}: {message}"),
        }
    }
}

impl From<Fault> for Verdict {
    fn from(fault: Fault) -> Verdict {
        match fault {
            Fault::Syntax { line, message } => Verdict::Bad { line, message },
            Fault::NotModelled { line, reason } => Verdict::NotApplicable { line, reason },
        }
    }
}

/// Runs the script `text`, whose commands name files from `folder` on.
pub fn run(text: &str, folder: &Path) -> Verdict {
    let script = match parse(text) {
        Ok(script) => script,
        Err(fault) => return fault.into(),
    };
    let done = Runner::new(&script, folder).and_then(|mut runner| {
        for event in &script.events {
            runner.event(event)?;
        }
        let (packets, assertions) = (runner.packets, runner.code.held);
        if packets + assertions == 0 {
            let reason = "nothing is expected beyond the handshake".to_owned();
            return Err(Verdict::NotApplicable { line: script.events[0].line, reason });
        }
        Ok(Verdict::Pass { packets, assertions })
    });
    done.unwrap_or_else(|verdict| verdict)
}

type Step<T = ()> = Result<T, Verdict>;

struct Runner<'s> {
    host: Host,
    folder: &'s Path,
    code: Code,
    now: Time,
    /// The time of the event before, if it is a packet that arrived; all such times are [us].
    anchor: Option<u64>,
    /// Of the event before.
    before: u64,
    tolerance_us: u64,
    tolerance_percent: f64,
    packets: usize,
}

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_micros(us)
}

fn us(time: Time) -> u64 {
    time.since(Time::ZERO).0 / Span::from_micros(1).0
}

impl<'s> Runner<'s> {
    fn new(script: &Script, folder: &'s Path) -> Step<Runner<'s>> {
        let mut settings = Settings::default();
        if let Some((line, text)) = &script.setup {
            settings.follow(text, folder, *line)?;
        }
        let mut runner = Runner {
            host: Host::new(settings, Era::Linux61),
            folder,
            code: Code::default(),
            now: Time::ZERO,
            anchor: None,
            before: 0,
            tolerance_us: TOLERANCE_US,
            tolerance_percent: TOLERANCE_PERCENT,
            packets: 0,
        };
        for (name, value) in &script.options {
            runner.option(name, value)?;
        }
        Ok(runner)
    }

    fn option(&mut self, name: &str, value: &str) -> Step {
        let bad = || Verdict::Bad { line: 1, message: format!("--{name}={value}") };
        match name {
            "tolerance_usecs" => self.tolerance_us = value.parse().map_err(|_| bad())?,
            "tolerance_percent" => self.tolerance_percent = value.parse().map_err(|_| bad())?,
            "era" => {
                let era = Era::ALL.iter().find(|era| era.name() == value);
                self.host.era = *era.ok_or_else(bad)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn event(&mut self, event: &Event) -> Step {
        let offset = match (&event.action, self.anchor) {
            (Action::Inject(_), Some(anchor)) => anchor,
            _ => us(self.now),
        };
        let (from, to) = match event.when {
            When::At(time) => (time, time),
            When::Between(from, to) => (from, to),
            When::After(time) => (offset + time, offset + time),
            When::Within(from, to) => (offset + from, offset + to),
            When::Any => (offset, offset),
        };
        let line = event.line;
        if to > LATEST_US {
            let message = format!("the event is later than {} s", LATEST_US / 1_000_000);
            return Err(Verdict::Bad { line, message });
        }
        if let Action::Expect(packet) = &event.action {
            self.expect(line, event.when, (from, to), packet)?;
        } else {
            self.wait(line, at(from))?;
            match &event.action {
                Action::Inject(packet) => {
                    let done = self.host.receive(self.now, packet);
                    self.trouble(line, done)?;
                }
                Action::Call(call) => self.call(line, call)?,
                Action::Code(text) => self.check(line, text)?,
                Action::Command(text) => {
                    let mut settings = self.host.settings.clone();
                    settings.follow(text, self.folder, line)?;
                    let mut own = self.host.settings.clone();
                    if let Some(connection) = &mut self.host.connection {
                        own.blocked = settings.blocked;
                        connection.blocked = settings.blocked;
                    }
                    self.host.show_option(settings.ecn_option);
                    own.ecn_option = settings.ecn_option;
                    if settings != own && self.host.connection.is_some() {
                        let reason = "settings that change while a connection is there".to_owned();
                        return Err(Verdict::NotApplicable { line, reason });
                    }
                    self.host.settings = settings;
                }
                Action::Expect(_) => {}
            }
        }
        self.anchor = matches!(event.action, Action::Inject(_)).then_some(from);
        self.before = from;
        Ok(())
    }

    fn trouble<T>(&self, line: u32, done: Result<T, Trouble>) -> Step<T> {
        done.map_err(|trouble| match trouble {
            Trouble::NotModelled(reason) => Verdict::NotApplicable { line, reason },
            Trouble::Behind(expected, got) => Verdict::Differs { line, expected, got },
        })
    }

    /// Lets everything happen that is due by then.
    fn wait(&mut self, line: u32, until: Time) -> Step {
        while self.host.deadline() <= until {
            self.step(line)?;
        }
        self.now = self.now.max(until);
        Ok(())
    }

    /// Lets the next thing happen.
    fn step(&mut self, line: u32) -> Step {
        self.now = self.now.max(self.host.deadline());
        let done = self.host.on_timer(self.now);
        self.trouble(line, done)
    }

    fn expect(&mut self, line: u32, when: When, (from, to): (u64, u64), packet: &Packet) -> Step {
        if packet.has('R') || packet.window.is_some() && !packet.has('S') {
            let reset = packet.has('R');
            let reason = if reset { "a reset" } else { "the window that the host offers" };
            return Err(Verdict::NotApplicable { line, reason: reason.to_owned() });
        }
        let part = self.tolerance_percent / 100.0 * from.saturating_sub(self.before) as f64;
        let slack = self.tolerance_us.max(part as u64);
        let any = when == When::Any;
        let latest = if any { Time::NEVER } else { at(to + slack) };
        let earliest = if any { Time::ZERO } else { at(from.saturating_sub(slack)) };
        let differs = |got: String| Verdict::Differs { line, expected: packet.to_string(), got };
        let mut at_byte = packet.start;
        loop {
            while self.host.out.is_empty() {
                if self.host.deadline() > latest || self.host.deadline() == Time::NEVER {
                    return Err(differs(format!("nothing until {:.6} s", latest.as_secs())));
                }
                self.step(line)?;
            }
            let Some(wire) = self.host.out.pop_front() else { continue };
            if let Some(got) = self.mismatch(packet, at_byte, &wire) {
                return Err(differs(got));
            }
            if wire.at < earliest || wire.at > latest {
                let wanted = format!("{packet} at {:.6} s", at(from).as_secs());
                let got = format!("it at {:.6} s", wire.at.as_secs());
                return Err(Verdict::Differs { line, expected: wanted, got });
            }
            self.now = self.now.max(wire.at);
            at_byte = wire.end;
            if at_byte >= packet.end {
                let judged = !wire.handshake || self.host.settings.ecn > 2;
                self.packets += usize::from(judged);
                return Ok(());
            }
        }
    }

    /// What is not as expected of a packet, of which the part from `start` on is yet to come.
    fn mismatch(&self, packet: &Packet, start: u32, wire: &Wire) -> Option<String> {
        let letters = |flags: &str| {
            let mut letters: Vec<char> = flags.chars().filter(|c| *c != 'P').collect();
            letters.sort_unstable();
            letters
        };
        let last = wire.end >= packet.end;
        let mut wanted = letters(&packet.flags);
        if !last {
            wanted.retain(|flag| *flag != 'F');
        }
        let handshake = packet.has('S') && wire.flags.contains('S');
        let told = wire.told();
        if handshake {
            let wrong = letters(&wire.flags) != wanted || self.option_differs(packet, wire);
            return wrong.then_some(told);
        }
        let acks = packet.ack.is_none_or(|ack| ack == wire.ack);
        let bytes = wire.start == start && wire.end <= packet.end;
        if letters(&wire.flags) != wanted || !bytes || !acks {
            return Some(told);
        }
        let right = match packet.ecn {
            None => true,
            Some(EcnBits::Are(bits)) => bits == wire.ecn,
            Some(EcnBits::Ect) => wire.ecn == 1 || wire.ecn == 2,
        };
        if !right {
            let name = ["noecn", "ect1", "ect0", "ce"][usize::from(wire.ecn & 3)];
            return Some(format!("[{name}] {told}"));
        }
        self.options_mismatch(packet, wire)
    }

    fn options_mismatch(&self, packet: &Packet, wire: &Wire) -> Option<String> {
        let options = packet.options.as_ref()?;
        let mut blocks: &[(u32, u32)] = &[];
        for option in options {
            match option {
                TcpOption::Sack(wanted) => blocks = wanted,
                TcpOption::Fields(_, fields) => {
                    if let Some((name, got)) = headers::difference(&wire.header, fields) {
                        let value = got.map_or_else(|| "none".to_owned(), |got| got.to_string());
                        return Some(format!("{} with {name} {value}", wire.told()));
                    }
                }
                _ => {}
            }
        }
        (blocks != wire.sack || self.option_differs(packet, wire)).then(|| wire.told())
    }

    /// Is AccECN's option another than the packet's, in one of the counts that it has, or there
    /// where it has none?
    fn option_differs(&self, packet: &Packet, wire: &Wire) -> bool {
        let Some(options) = &packet.options else { return false };
        let wanted = options.iter().find_map(|option| match option {
            TcpOption::AccEcn(counts) => Some(counts),
            _ => None,
        });
        match (wanted, wire.option) {
            (None, got) => got.is_some(),
            (Some(_), None) => true,
            (Some(wanted), Some(got)) => {
                let differs = |wanted: Option<u32>, got| wanted.is_some_and(|count| count != got);
                differs(wanted.ee0b, got.ee0b)
                    || differs(wanted.eceb, got.eceb)
                    || differs(wanted.ee1b, got.ee1b)
            }
        }
    }

    fn call(&mut self, line: u32, call: &Call) -> Step {
        let beyond = |reason: String| Verdict::NotApplicable { line, reason };
        let connects = call.name == "connect" || call.name == "accept";
        if !connects && (call.errno.is_some() || call.result == Argument::Number(-1)) {
            return Err(beyond(format!("an error of {}", call.name)));
        }
        if !connects && call.until.is_some() {
            return Err(beyond(format!("a {} that blocks", call.name)));
        }
        let now = self.now;
        match call.name.as_str() {
            "socket" | "bind" | "fcntl" => Ok(()),
            "listen" => {
                self.host.listen();
                Ok(())
            }
            "connect" => {
                self.host.connect(now);
                Ok(())
            }
            "accept" if self.host.is_open() => Ok(()),
            "accept" => Err(beyond("accept that waits for a connection".to_owned())),
            "setsockopt" => self.set_option(line, call),
            "write" | "send" | "sendto" => self.write(line, call),
            "read" | "recv" => self.read(line, call),
            "close" => {
                let done = self.host.close(now);
                self.trouble(line, done)
            }
            other => Err(beyond(format!("the call {other}"))),
        }
    }

    fn write(&mut self, line: u32, call: &Call) -> Step {
        let beyond = |reason: String| Verdict::NotApplicable { line, reason };
        let plain = matches!(call.arguments.get(3), None | Some(Argument::Number(0)));
        if !plain {
            return Err(beyond(format!("flags of {}", call.name)));
        }
        let bytes = match call.arguments.get(2) {
            Some(bytes @ Argument::Number(number)) if *bytes == call.result => *number,
            _ => return Err(beyond(format!("a {} that takes a part or fails", call.name))),
        };
        let Ok(bytes) = u32::try_from(bytes) else {
            let message = format!("{} of {bytes} bytes", call.name);
            return Err(Verdict::Bad { line, message });
        };
        let done = self.host.write(self.now, bytes);
        self.trouble(line, done)
    }

    fn read(&mut self, line: u32, call: &Call) -> Step {
        let name = &call.name;
        let Some(connection) = &mut self.host.connection else {
            return Err(Verdict::Bad { line, message: format!("{name} without a connection") });
        };
        let (Some(&Argument::Number(room)), &Argument::Number(wanted)) =
            (call.arguments.get(2), &call.result)
        else {
            let reason = format!("a {name} whose size or result is no number");
            return Err(Verdict::NotApplicable { line, reason });
        };
        let there = i64::from(connection.readable() - connection.read).min(room);
        if wanted != there {
            let expected = format!("{name} = {wanted}");
            return Err(Verdict::Differs { line, expected, got: there.to_string() });
        }
        connection.read += u32::try_from(there).unwrap_or(0);
        Ok(())
    }

    fn set_option(&mut self, line: u32, call: &Call) -> Step {
        let (name, value) = match call.arguments.as_slice() {
            [_, _, Argument::Word(name), value, ..] => (name.as_str(), value),
            _ => ("", &Argument::Any),
        };
        match (name, value) {
            ("SO_REUSEADDR" | "SO_SNDBUF" | "SO_RCVBUF" | "IP_TOS" | "IP_MTU_DISCOVER", _) => {
                Ok(())
            }
            ("TCP_NODELAY", Argument::List(list)) => {
                self.host.prompt = list.first() != Some(&Argument::Number(0));
                Ok(())
            }
            ("TCP_CONGESTION", Argument::Text(name)) if self.host.connection.is_none() => {
                self.host.settings.protocol.clone_from(name);
                Ok(())
            }
            ("TCP_CONGESTION", Argument::Text(name)) => Err(Verdict::NotApplicable {
                line,
                reason: format!("{name} set as the congestion control of a connection"),
            }),
            _ => {
                let reason = format!("the socket option {name}");
                Err(Verdict::NotApplicable { line, reason })
            }
        }
    }

    fn check(&mut self, line: u32, text: &str) -> Step {
        let connection = self.host.connection.as_ref();
        let known = |name: &str| ask(connection, name);
        self.code.run(text, &known).map_err(|(after, broken)| match broken {
            Broken::False(claim, values) => {
                Verdict::Differs { line: line + after, expected: claim, got: values }
            }
            Broken::Unknown(reason) => Verdict::NotApplicable { line: line + after, reason },
        })
    }
}

/// The value of a name of TCP_INFO, or of a variable of the controller.
fn ask(connection: Option<&Connection>, name: &str) -> Result<f64, String> {
    let states = ["TCP_CA_Open", "TCP_CA_Disorder", "TCP_CA_CWR", "TCP_CA_Recovery", "TCP_CA_Loss"];
    if let Some(place) = states.iter().position(|state| *state == name) {
        return Ok(place as f64);
    }
    let Some(connection) = connection else { return Err(format!("{name} before a connection")) };
    let Connection { outbound, sender, .. } = connection;
    let Account { stage, window, sacked, lost, again, reordering, late } =
        outbound.account(sender.window());
    let micros = |span: Option<Span>| span.map_or(0.0, |span| (span.0 / 1_000_000) as f64);
    Ok(match name {
        "tcpi_snd_cwnd" => window as f64,
        "tcpi_snd_ssthresh" => variable(connection, "ssthresh")
            .map(|ssthresh| ssthresh.floor().min(INFINITE))
            .ok_or_else(|| format!("{name} of a controller without ssthresh"))?,
        "tcpi_ca_state" => match stage {
            Stage::Open => 0.0,
            Stage::Disorder => 1.0,
            Stage::Reduced => 2.0,
            Stage::Recovery => 3.0,
            Stage::Loss => 4.0,
        },
        "tcpi_unacked" => outbound.outstanding() as f64,
        "tcpi_sacked" => sacked as f64,
        "tcpi_lost" => lost as f64,
        "tcpi_retrans" => again as f64,
        "tcpi_reordering" => reordering.max(u64::from(connection.dup_thresh)) as f64,
        "tcpi_reord_seen" => f64::from(late),
        "tcpi_total_retrans" => outbound.retransmitted() as f64,
        "tcpi_rtt" => micros(outbound.srtt()),
        "tcpi_min_rtt" => micros(outbound.min_rtt()),
        "tcpi_rto" => micros(Some(outbound.rto())),
        "tcpi_snd_mss" => f64::from(connection.mss()),
        "tcpi_delivered_ce"
        | "tcpi_delivered_ce_bytes"
        | "tcpi_delivered_e0_bytes"
        | "tcpi_delivered_e1_bytes" => delivered(connection, name)?,
        "tcpi_notsent_bytes" => f64::from(connection.unsent()),
        "pacing_rate" => connection.pace().map_or(0.0, |rate| rate.bytes_per_sec()),
        other => variable(connection, other)
            .ok_or_else(|| format!("{other} is not known of this transport"))?,
    })
}

/// What AccECN's counters say of the packets that were sent; they do not start at 0 (RFC 9768,
/// section 3.2.2 and 3.2.3).
fn delivered(connection: &Connection, name: &str) -> Result<f64, String> {
    let Some(accurate) = &connection.accurate else { return Err(format!("{name} without AccECN")) };
    let (now, first) = (accurate.heard.counters, Counters::default());
    Ok(f64::from(match name {
        "tcpi_delivered_ce" => now.cep.wrapping_sub(first.cep),
        "tcpi_delivered_ce_bytes" => now.ceb.wrapping_sub(first.ceb),
        "tcpi_delivered_e0_bytes" => now.e0b.wrapping_sub(first.e0b),
        _ => now.e1b.wrapping_sub(first.e1b),
    }))
}

fn variable(connection: &Connection, name: &str) -> Option<f64> {
    let mut found = None;
    connection.sender.probe(&mut |field, value| {
        if field == name {
            found = Some(value);
        }
    });
    found
}

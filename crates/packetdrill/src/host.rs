//! An end host with one connection: the transport, a controller, and what translates between their
//! segments and the sequence numbers of packets.

use std::collections::VecDeque;

use cc::foreign::Nobody;
use cc::params::Value;
use cc::registry::{AnyHeader, AnyReceiver, AnySender, AnySenderParams, Recovery, protocols};
use cc::roles::{Ack, Arrived, Departing, Ecn, EcnUse, Feedback, Loss, SenderContext};
use scenario::{Era, Rttvar};
use transport::accecn::Bytes;
use transport::accecn::handshake::{self, Mode};
use transport::{
    AckIn, AckOutcome, Bursts, Config, Evidence, Inbound, LossEvent, Outbound, Range, Restart,
    SackBlocks,
};
use units::random::Stream;
use units::{Rate, Span, Time};

use crate::accurate::{self, Accurate, Start};
use crate::headers;
use crate::script::{EcnBits, Packet, TcpOption};
use crate::settings::Settings;

/// The host's own MSS.
const OWN_MSS: u32 = 1460;
/// Headers of IP and TCP [bytes].
const HEADERS: u32 = 40;

/// A packet that the host has sent.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    pub at: Time,
    pub flags: String,
    pub start: u32,
    pub end: u32,
    pub ack: u32,
    pub ecn: u8,
    pub sack: Vec<(u32, u32)>,
    /// AccECN's option.
    pub option: Option<Bytes>,
    pub header: AnyHeader,
    /// Is it one of the handshake's, which is not the transport's?
    pub handshake: bool,
}

impl Wire {
    /// As scripts write it.
    pub(crate) fn told(&self) -> String {
        let Wire { flags, start, end, ack, .. } = self;
        let length = end - start;
        let mut told = format!("{flags} {start}:{end}({length}) ack {ack}");
        if !self.sack.is_empty() {
            let blocks: Vec<String> = self.sack.iter().map(|(l, r)| format!("{l}:{r}")).collect();
            told += &format!(" <sack {}>", blocks.join(" "));
        }
        if let Some(Bytes { eceb, ee0b, ee1b }) = self.option {
            told += &format!(" <ECN e1b {ee1b} ceb {eceb} e0b {ee0b}>");
        }
        told
    }
}

/// Why a host does not do what a script wants of it.
pub(crate) enum Trouble {
    /// It is not modelled.
    NotModelled(String),
    /// The script goes on from something that the host has not done: what that is, and what it has
    /// done.
    Behind(String, String),
}

/// Whatever the host does may not be modelled.
pub(crate) type Done<T = ()> = Result<T, Trouble>;

fn beyond<T>(reason: impl Into<String>) -> Done<T> {
    Err(Trouble::NotModelled(reason.into()))
}

/// A segment that was sent.
#[derive(Clone, Copy, Debug)]
struct Segment {
    start: u32,
    /// One past its last byte; a FIN counts as one.
    end: u32,
    fin: bool,
    sent: Time,
    again: bool,
    delivered: bool,
    /// What it carried when it went out last.
    header: AnyHeader,
    ecn: Ecn,
}

/// How far the handshake has come.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    Closed,
    Listening,
    /// The SYN, or the SYN-ACK, went out then.
    Waiting(Time),
    Open,
}

/// What the peer's SYN says, and ours.
#[derive(Clone, Copy, Debug)]
struct Agreed {
    mss: u32,
    scale: u32,
    sack: bool,
    ecn: bool,
    accurate: Start,
}

/// The wait before a SYN or SYN/ACK is sent again [s], and how often that is done. A client's waits
/// are all the same (Linux's tcp_syn_linear_timeouts), a server's double.
const SYN_WAIT: f64 = 1.0;
const SYN_TRIES: u32 = 4;

/// A SYN or SYN/ACK that may have to be sent again.
#[derive(Clone, Copy, Debug)]
struct Resend {
    at: Time,
    tries: u32,
    server: bool,
    /// AE, CWR and ECE.
    flags: u8,
}

/// The end host.
pub(crate) struct Host {
    pub settings: Settings,
    pub era: Era,
    /// TCP_NODELAY.
    pub prompt: bool,
    /// What it has sent and the script has not looked at.
    pub out: VecDeque<Wire>,
    pub connection: Option<Connection>,
    stage: Stage,
    agreed: Agreed,
    resend: Option<Resend>,
}

/// A connection.
pub(crate) struct Connection {
    pub outbound: Outbound,
    pub sender: AnySender,
    inbound: Inbound,
    /// The peer's part of the protocol.
    peer: AnyReceiver,
    agreed: Agreed,
    prompt: bool,
    probes: bool,
    /// The least that tcpi_reordering says.
    pub dup_thresh: u32,
    segments: Vec<Segment>,
    /// One past the last byte written.
    written: u32,
    closed: bool,
    /// The right edge of the peer's window.
    edge: u32,
    /// The ends of the segments received in order.
    received: Vec<u32>,
    pub read: u32,
    /// Has the peer sent a FIN?
    finished: bool,
    /// Is an ACK due?
    pending: bool,
    /// AccECN's counters, if it was agreed.
    pub accurate: Option<Accurate>,
    pace_free: Time,
    bursts: Bursts,
    /// Does the device take nothing?
    pub blocked: bool,
    /// When the next probe of a window of zero is due, and after how many without an answer.
    zero_at: Time,
    zeros: u32,
    /// The controller before a loss that may turn out to be none.
    before: Option<Box<AnySender>>,
}

impl Host {
    pub(crate) fn new(settings: Settings, era: Era) -> Host {
        Host {
            settings,
            era,
            prompt: false,
            out: VecDeque::new(),
            connection: None,
            stage: Stage::Closed,
            agreed: Agreed::unknown(OWN_MSS),
            resend: None,
        }
    }

    pub(crate) fn listen(&mut self) {
        self.stage = Stage::Listening;
    }

    pub(crate) fn connect(&mut self, now: Time) {
        self.stage = Stage::Waiting(now);
        let flags = handshake::syn(accurate::asks(self.settings.ecn));
        self.resend = Some(Resend { at: Time::NEVER, tries: 0, server: false, flags });
        self.ask(now);
    }

    /// Sends the SYN or SYN/ACK, for the second time as it was but for the option, after that
    /// without ECN (RFC 9768, section 3.1.4).
    fn ask(&mut self, now: Time) {
        let Some(Resend { at, tries, server, flags }) = &mut self.resend else { return };
        let shift = if *server { *tries } else { 0 };
        *at = match *tries < SYN_TRIES {
            true => now + Span::from_secs_f64(SYN_WAIT * f64::from(1 << shift)),
            false => Time::NEVER,
        };
        let ecn = if *tries < 2 { accurate::letters(*flags) } else { String::new() };
        let (first, server) = (*tries == 0, *server);
        let end = if server { "." } else { "" };
        self.reply(now, &format!("S{ecn}{end}"), 0, u32::from(server));
        let Start { mode, option, .. } = self.agreed.accurate;
        if let Some(last) = self.out.back_mut()
            && (server && first && option && mode == Mode::AccEcn)
        {
            last.option = Some(FRESH);
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.stage == Stage::Open
    }

    /// A packet of the handshake, which is this host's own affair.
    fn reply(&mut self, at: Time, flags: &str, number: u32, ack: u32) {
        let (flags, sack, header) = (flags.to_owned(), Vec::new(), AnyHeader::None);
        let handshake = true;
        self.out.push_back(Wire {
            at,
            flags,
            start: number,
            end: number,
            ack,
            ecn: 0,
            sack,
            option: None,
            header,
            handshake,
        });
    }

    /// An ACK of the peer's SYN/ACK: of AccECN its flags say how that came.
    fn third(&mut self, now: Time, packet: &Packet, number: u32) {
        let Start { mode, capable, option, .. } = self.agreed.accurate;
        if mode != Mode::AccEcn {
            return self.reply(now, ".", number, 1);
        }
        let flags = accurate::letters(handshake::reflected(accurate::ecn(packet)));
        self.reply(now, &format!("{flags}."), number, 1);
        if let Some(last) = self.out.back_mut() {
            last.ecn = if capable { Ecn::Ect0 as u8 } else { 0 };
            last.option = option.then_some(FRESH);
        }
    }

    /// A packet arrives.
    pub(crate) fn receive(&mut self, now: Time, packet: &Packet) -> Done {
        if packet.has('R') {
            return beyond("a reset");
        }
        if packet.has('S') {
            return self.on_syn(now, packet);
        }
        match self.stage {
            Stage::Waiting(since) if packet.ack == Some(1) => {
                let late = self.resend.is_some_and(|resend| resend.tries >= 2);
                self.agreed.accurate.on_third(&self.settings, packet, late);
                self.agreed.ecn &= self.agreed.accurate.mode != Mode::NotEcn;
                self.open(now, since)?;
            }
            Stage::Open => {}
            _ => return beyond("a packet before the handshake"),
        }
        let Some(connection) = &mut self.connection else { return Ok(()) };
        connection.receive(now, packet)?;
        if packet.ack.is_some() {
            connection.look_for_idle(now);
        }
        connection.send(now, &mut self.out)?;
        connection.acknowledge(now, &mut self.out);
        Ok(())
    }

    fn on_syn(&mut self, now: Time, packet: &Packet) -> Done {
        if packet.end != packet.start {
            return beyond("data in a SYN");
        }
        let reply = packet.has('.');
        let since = match (self.stage, reply) {
            (Stage::Listening, false) => now,
            (Stage::Waiting(since), false) if self.resend.is_some_and(|r| r.server) => {
                return self.on_second_syn(now, since, packet);
            }
            (Stage::Open, true) if self.connection.as_ref().is_some_and(|c| c.sent_to() == 1) => {
                self.third(now, packet, 1);
                return Ok(());
            }
            (Stage::Waiting(since), true) => since,
            _ => return beyond("a SYN that is sent again or not asked for"),
        };
        self.agreed = self.agree(packet, reply)?;
        if reply {
            self.third(now, packet, 1);
            self.open(now, since)?;
            if let Some(connection) = &mut self.connection {
                connection.edge = 1 + packet.window.unwrap_or(0);
            }
            return Ok(());
        }
        self.stage = Stage::Waiting(now);
        self.ask(now);
        Ok(())
    }

    /// The client's SYN comes again, perhaps with other flags: the mode stays, but where one of the
    /// two asked for no ECN the packets are not ECN-capable (RFC 9768, section 3.1.5).
    fn on_second_syn(&mut self, now: Time, since: Time, packet: &Packet) -> Done {
        let start = &mut self.agreed.accurate;
        start.capable &= accurate::flags(packet) != 0;
        if start.mode == Mode::AccEcn
            && let Some(resend) = &mut self.resend
        {
            resend.flags = handshake::reflected(accurate::ecn(packet));
            resend.tries = resend.tries.max(1);
        }
        self.stage = Stage::Waiting(since);
        self.ask(now);
        Ok(())
    }

    fn agree(&mut self, packet: &Packet, reply: bool) -> Done<Agreed> {
        let mut agreed = Agreed::unknown(536);
        for option in packet.options.iter().flatten() {
            match option {
                TcpOption::Mss(mss) => agreed.mss = *mss.min(&OWN_MSS),
                TcpOption::SackOk => agreed.sack = self.settings.sack,
                TcpOption::Scale(scale) => agreed.scale = *scale,
                TcpOption::Timestamp => return beyond("timestamps (RFC 7323)"),
                TcpOption::AccEcn(_) => {}
                _ => return beyond("another option in a SYN than mss, sackOK and wscale"),
            }
        }
        agreed.accurate = if reply {
            Start::client(&self.settings, packet)
        } else {
            let (start, flags) = Start::server(&self.settings, packet);
            self.resend = Some(Resend { at: Time::NEVER, tries: 0, server: true, flags });
            start
        };
        agreed.ecn = agreed.accurate.mode != Mode::NotEcn;
        Ok(agreed)
    }

    /// The handshake is over, and gives the first RTT sample.
    fn open(&mut self, now: Time, since: Time) -> Done {
        let mut connection = Connection::new(self)?;
        let rtt = Some(now.since(since));
        connection.outbound.on_ack(now, &AckIn { cumulative: 0, sack: &[], rtt, ece: false });
        self.connection = Some(connection);
        self.stage = Stage::Open;
        self.resend = None;
        Ok(())
    }

    /// The application has written so many bytes.
    pub(crate) fn write(&mut self, now: Time, bytes: u32) -> Done {
        let Some(connection) = &mut self.connection else {
            return beyond("data written before the connection is there");
        };
        connection.prompt = self.prompt;
        connection.written += bytes;
        connection.look_for_idle(now);
        connection.send(now, &mut self.out)
    }

    pub(crate) fn close(&mut self, now: Time) -> Done {
        let Some(connection) = &mut self.connection else {
            return beyond("close before the connection is there");
        };
        connection.closed = true;
        connection.send(now, &mut self.out)
    }

    /// Packets carry AccECN's option from now on, or do not.
    pub(crate) fn show_option(&mut self, show: bool) {
        self.settings.ecn_option = show;
        if let Some(accurate) = self.connection.as_mut().and_then(|c| c.accurate.as_mut()) {
            (accurate.option, accurate.allowed) = (accurate.option && show, show);
        }
    }

    /// When something happens by itself.
    pub(crate) fn deadline(&self) -> Time {
        let resend = self.resend.map_or(Time::NEVER, |resend| resend.at);
        self.connection.as_ref().map_or(resend, Connection::deadline)
    }

    /// It does.
    pub(crate) fn on_timer(&mut self, now: Time) -> Done {
        let Some(connection) = &mut self.connection else {
            if let Some(resend) = &mut self.resend {
                resend.tries += 1;
            }
            self.ask(now);
            return Ok(());
        };
        connection.on_timer(now, &mut self.out)
    }
}

impl Agreed {
    /// Before the peer's SYN.
    fn unknown(mss: u32) -> Agreed {
        Agreed { mss, scale: 0, sack: false, ecn: false, accurate: Start::NONE }
    }
}

/// The option before anything has arrived (RFC 9768, section 3.2.1).
const FRESH: Bytes = Bytes { eceb: 0, ee0b: 1, ee1b: 1 };

/// The transport of an era, for a protocol and a recovery.
fn config(settings: &Settings, era: Era, recovery: Recovery, reduces: bool) -> Config {
    let transport = era.transport();
    // Scripts are about a kernel, of which the era leaves out what was not modelled when it came.
    let linux = era == Era::Linux61;
    let restart = Restart { window: transport.initial_window as f32, decays: true };
    Config {
        recovery,
        reports: false,
        dup_thresh: settings.dup_thresh,
        min_rto: transport.min_rto,
        max_rto: transport.max_rto,
        initial_rto: transport.initial_rto,
        rto_granularity: transport.rto_granularity,
        every_sample: transport.rttvar == Rttvar::Ack,
        delayed_ack: transport.delayed_ack,
        quick_acks: transport.quick_acks,
        limited_transmit: transport.limited_transmit,
        prr: reduces && recovery == Recovery::Rack,
        undo: linux.then_some(Evidence::Dsack),
        echo_prr: linux,
        rack_rtt_of_highest: linux,
        count_dupacks: linux,
        count_sacks: linux,
        reduce_window: linux && reduces,
        restart: settings.idle_restart.then_some(restart),
    }
}

/// The parameters of a protocol in an era, on a host with these settings.
fn parameters(settings: &Settings, era: Era, ecn: bool) -> Done<AnySenderParams> {
    let name = settings.protocol.as_str();
    let Some(mut params) = AnySenderParams::named(name) else {
        return beyond(format!("the congestion control {name}"));
    };
    for setting in era.settings().iter().filter(|setting| setting.protocol == name) {
        // An era sets what there is; a test of the scenarios' crate sees to it.
        let _ = params.set(setting.name, setting.value);
    }
    // Scripts are about a kernel; no era has its slow start.
    if era == Era::Linux61 {
        let _ = params.set("slow_start", Value::Choice("linux"));
        if name == "cubic" {
            let _ = params.set("update", Value::Choice("linux"));
        }
    }
    for (name, on) in [("ecn", ecn), ("paced", settings.paced)] {
        if on && params.get(name) == Some(Value::Flag(false)) {
            let _ = params.set(name, Value::Flag(true));
        }
    }
    Ok(params)
}

impl Connection {
    fn new(host: &Host) -> Done<Connection> {
        let (settings, agreed) = (&host.settings, host.agreed);
        let params = parameters(settings, host.era, agreed.ecn)?;
        let info = protocols().find(|info| info.name == settings.protocol);
        let Some(info) = info.filter(|info| !info.reports && !info.open_loop) else {
            return beyond(format!("a host that sends by {}", settings.protocol));
        };
        let usual = host.era.recovery(info.recovery);
        let recovery = if usual.selective() && !agreed.sack { Recovery::NewReno } else { usual };
        let context = SenderContext {
            packet_bytes: agreed.mss + HEADERS,
            initial_window: host.era.transport().initial_window,
            counting: if host.era == Era::Linux61 { u32::MAX } else { 0 },
            routers: 1,
            stream: Stream::new(1, 0, "packetdrill"),
            host: &Nobody,
        };
        let (sender, peer) = params.build(&context);
        let config = config(settings, host.era, recovery, info.reduces);
        let mut outbound = Outbound::new(&config, None);
        outbound.offer(0);
        Ok(Connection {
            outbound,
            sender,
            inbound: Inbound::new(&config),
            peer,
            agreed,
            prompt: host.prompt,
            probes: settings.probes,
            dup_thresh: settings.dup_thresh,
            segments: Vec::new(),
            written: 1,
            closed: false,
            edge: 1,
            received: Vec::new(),
            read: 1,
            finished: false,
            pending: false,
            accurate: Accurate::new(&agreed.accurate, agreed.mss),
            pace_free: Time::ZERO,
            bursts: Bursts::new(settings.burst),
            blocked: settings.blocked,
            zero_at: Time::NEVER,
            zeros: 0,
            before: None,
        })
    }

    /// One past what was ever sent.
    fn sent_to(&self) -> u32 {
        self.segments.last().map_or(1, |segment| segment.end)
    }

    /// The next byte expected of the peer.
    pub(crate) fn expected(&self) -> u32 {
        self.received.last().copied().unwrap_or(1)
    }

    /// One past the last byte that can be read.
    pub(crate) fn readable(&self) -> u32 {
        self.expected() - u32::from(self.finished)
    }

    /// Bytes written and not sent.
    pub(crate) fn unsent(&self) -> u32 {
        self.written.saturating_sub(self.sent_to())
    }

    pub(crate) fn mss(&self) -> u32 {
        self.agreed.mss
    }

    fn deadline(&self) -> Time {
        let paces = self.sender.pacing().is_some();
        let pace = if paces && !self.blocked && self.outbound.has_room(self.sender.window()) {
            self.pace_free
        } else {
            Time::NEVER
        };
        self.outbound
            .deadline()
            .min(self.sender.next_timer())
            .min(self.inbound.deadline())
            .min(pace)
            .min(self.zero_at)
    }

    fn on_timer(&mut self, now: Time, out: &mut VecDeque<Wire>) -> Done {
        if self.sender.next_timer() <= now {
            self.sender.on_timer(now);
        }
        if self.inbound.deadline() <= now {
            self.pending = true;
            self.acknowledge(now, out);
        }
        if self.outbound.deadline() <= now {
            match self.outbound.on_timer(now) {
                Some(loss) => self.report(now, &loss),
                None if !self.probes && !self.outbound.recovering() => {
                    return beyond("tcp_early_retrans = 0 where a tail loss probe is due");
                }
                None => {}
            }
        }
        if self.zero_at <= now {
            self.probe_zero(now, out);
        }
        self.send(now, out)
    }

    /// Data waits, nothing is out and the peer's window is zero: a probe of it is due after a
    /// timeout, and the next after twice as long (RFC 9293, section 3.8.6.1).
    fn look_at_edge(&mut self, now: Time) {
        let shut =
            self.outbound.outstanding() == 0 && self.unsent() > 0 && self.edge <= self.sent_to();
        if !shut {
            (self.zero_at, self.zeros) = (Time::NEVER, 0);
        } else if self.zero_at == Time::NEVER {
            self.zero_at = now + self.outbound.rto() * (1 << self.zeros.min(16));
        }
    }

    /// The probe is the number of a byte that the peer has, without data, as Linux's is.
    fn probe_zero(&mut self, at: Time, out: &mut VecDeque<Wire>) {
        (self.zero_at, self.zeros) = (Time::NEVER, self.zeros + 1);
        let number = self.sent_to() - 1;
        self.pure(at, number, out);
    }

    /// Tells the controller if it has been idle for long.
    fn look_for_idle(&mut self, now: Time) {
        self.offer();
        let last = self.segments.last().map_or(Time::ZERO, |segment| segment.sent);
        if let Some(idle) = self.outbound.idle(now, last) {
            self.sender.on_idle(&idle);
        }
    }

    fn report(&mut self, now: Time, event: &LossEvent) {
        let &LossEvent { kind, mut in_flight, lost, repeated } = event;
        if self.outbound.reduces_window() {
            in_flight = u32::try_from(self.sender.window()).unwrap_or(u32::MAX);
        }
        if self.outbound.take_undo_point() {
            self.before = Some(Box::new(self.sender.clone()));
        }
        self.sender.on_loss(&Loss { now, kind, in_flight, lost, repeated });
    }

    /// Tells the transport how many segments there are to send.
    fn offer(&mut self) {
        let from = self.sent_to();
        let finished = self.segments.last().is_some_and(|last| last.fin);
        let usable = self.written.min(self.edge);
        let mut more = usable.saturating_sub(from) / self.agreed.mss;
        let rest = self.written.saturating_sub(from + more * self.agreed.mss);
        let all = !finished && self.written <= self.edge && rest < self.agreed.mss;
        more += u32::from(all && rest > 0);
        // A FIN of its own, where no data is left that it can go with.
        more += u32::from(all && self.closed && more == 0);
        self.outbound.offer(self.segments.len() as u64 + u64::from(more));
    }

    /// Sends what window and pacer allow.
    fn send(&mut self, now: Time, out: &mut VecDeque<Wire>) -> Done {
        self.offer();
        self.look_at_edge(now);
        loop {
            let paced_out = self.sender.pacing().is_some() && self.pace_free > now;
            if self.blocked || paced_out && !self.bursts.goes_on(now) {
                return Ok(());
            }
            let window = self.sender.window();
            let in_flight = self.outbound.in_flight();
            let Some(segment) = self.outbound.next_segment(now, window) else { return Ok(()) };
            self.outbound.on_sent(now);
            let place = segment.seq as usize;
            match self.segments.get_mut(place) {
                Some(sent) => (sent.sent, sent.again) = (now, true),
                None => self.cut(now)?,
            }
            let Segment { start, end, fin, .. } = self.segments[place];
            let size = end - start - u32::from(fin) + HEADERS;
            let header = self.sender.on_send(Departing {
                now,
                size,
                srtt: self.outbound.srtt(),
                seq: segment.seq,
                in_flight,
                backlogged: self.outbound.backlogged(),
                retransmission: segment.retransmission,
            });
            if let Some(rate) = self.sender.pacing() {
                self.pace_free = self.bursts.on_send(now, self.pace_free, rate.serialization(size));
            }
            let wire = self.wire(now, (segment, place), header);
            (self.segments[place].header, self.segments[place].ecn) = (header, code_of(wire.ecn));
            out.push_back(wire);
        }
    }

    /// The next segment of what is written.
    fn cut(&mut self, now: Time) -> Done {
        let start = self.sent_to();
        let end = self.written.min(start + self.agreed.mss);
        let fin = self.closed && end == self.written;
        let rest = end - start < self.agreed.mss && !fin;
        if rest && !self.prompt && self.outbound.outstanding() > 1 {
            return beyond("Nagle's algorithm, for a rest while data is out");
        }
        let end = end + u32::from(fin);
        self.segments.push(Segment {
            start,
            end,
            fin,
            sent: now,
            again: false,
            delivered: false,
            header: AnyHeader::None,
            ecn: Ecn::NotCapable,
        });
        Ok(())
    }

    fn wire(
        &mut self,
        at: Time,
        (sent, place): (transport::Segment, usize),
        header: AnyHeader,
    ) -> Wire {
        let Segment { start, end, fin, .. } = self.segments[place];
        let using = self.sender.ecn();
        // RFC 3168 section 6.1.5: retransmissions are not ECN-capable.
        let incapable = match &self.accurate {
            Some(accurate) => !accurate.capable,
            None => sent.retransmission && using == EcnUse::Classic,
        };
        let ecn = if incapable { 0 } else { using.code() as u8 };
        let mut flags = String::new();
        if fin {
            flags.push('F');
        }
        let (told, option) = self.told(at);
        flags += &told;
        if sent.cwr && using == EcnUse::Classic && self.accurate.is_none() {
            flags.push('W');
        }
        self.pending = false;
        let (end, ack, sack) = (end - u32::from(fin), self.expected(), Vec::new());
        Wire { at, flags, start, end, ack, ecn, sack, option, header, handshake: false }
    }

    /// The flags of an ACK, and AccECN's option.
    fn told(&mut self, at: Time) -> (String, Option<Bytes>) {
        let told = self.inbound.ack(at);
        match &mut self.accurate {
            Some(accurate) => {
                let (flags, option) = accurate.leaves();
                (flags + ".", option)
            }
            None if told.ece && self.agreed.ecn => ("E.".to_owned(), None),
            None => (".".to_owned(), None),
        }
    }

    /// Sends an ACK, if one is due and no data has taken it along.
    fn acknowledge(&mut self, at: Time, out: &mut VecDeque<Wire>) {
        if std::mem::take(&mut self.pending) && !self.blocked {
            self.pure(at, self.sent_to(), out);
        }
    }

    /// Sends a packet without data.
    fn pure(&mut self, at: Time, number: u32, out: &mut VecDeque<Wire>) {
        let (flags, option) = self.told(at);
        let capable = self.accurate.as_ref().is_some_and(|accurate| accurate.capable);
        let (ack, header) = (self.expected(), AnyHeader::None);
        out.push_back(Wire {
            at,
            flags,
            start: number,
            end: number,
            ack,
            ecn: if capable { self.sender.ecn().code() as u8 } else { 0 },
            sack: Vec::new(),
            option,
            header,
            handshake: false,
        });
    }

    fn receive(&mut self, now: Time, packet: &Packet) -> Done {
        let carries = packet.end > packet.start || packet.has('F');
        let due = self.accurate.as_mut().is_some_and(|accurate| accurate.arrives(packet));
        if let Some(ack) = packet.ack {
            self.on_ack(now, packet, ack, carries)?;
        }
        if carries {
            self.on_data(now, packet)?;
        }
        self.pending |= due;
        Ok(())
    }

    fn on_data(&mut self, now: Time, packet: &Packet) -> Done {
        let (fin, cwr) = (packet.has('F'), packet.has('W'));
        let end = packet.end + u32::from(fin);
        let place = match packet.start.cmp(&self.expected()) {
            std::cmp::Ordering::Equal => {
                self.received.push(end);
                self.received.len() as u64 - 1
            }
            std::cmp::Ordering::Greater => return beyond("data out of order at the host"),
            std::cmp::Ordering::Less => return beyond("data that the host has already"),
        };
        self.finished |= fin;
        let marked = packet.ecn == Some(EcnBits::Are(Ecn::Ce as u8)) && self.accurate.is_none();
        let cwr = cwr && self.accurate.is_none();
        let outcome = self.inbound.on_data(now, place, marked, cwr);
        // RFC 5681 section 4.2 lets an ACK wait for a second segment; none follows a FIN.
        if outcome.ack_now || fin {
            self.pending = true;
        }
        Ok(())
    }

    fn on_ack(&mut self, now: Time, packet: &Packet, ack: u32, carries: bool) -> Done {
        if ack > self.sent_to() {
            let got = format!("what is sent ends at {}", self.sent_to());
            return Err(Trouble::Behind(format!("an ACK of {ack}"), got));
        }
        let before = self.edge;
        let blocks = self.blocks(packet);
        let cumulative = self.segments.partition_point(|segment| segment.end <= ack) as u64;
        let una = self.outbound.una();
        // RFC 9293 section 3.10.7.4: not from an ACK that is older than what is known.
        if let Some(window) = packet.window.filter(|_| cumulative >= una) {
            self.edge = ack.saturating_add(window << self.agreed.scale.min(14));
        }
        // RFC 5681 section 2: a duplicate ACK carries nothing and leaves the window as it was.
        let news = carries || self.edge != before;
        if cumulative == una && blocks.is_empty() && news && self.outbound.outstanding() > 0 {
            return Ok(());
        }
        let (rtt, news) = self.sample(now, cumulative, &blocks);
        let ece =
            packet.has('E') && self.sender.ecn() == EcnUse::Classic && self.accurate.is_none();
        let mut seen = self.outbound.on_ack(now, &AckIn { cumulative, sack: &blocks, rtt, ece });
        let marks = self.accurate.as_mut().map(|a| a.hears(packet, seen.delivered));
        if marks.is_some_and(|marks| marks > 0)
            && self.sender.ecn() == EcnUse::Classic
            && seen.loss.is_none()
        {
            seen.loss = self.outbound.echo(seen.delivered);
        }
        if self.outbound.take_undone()
            && let Some(before) = self.before.take()
        {
            self.sender.on_undo(&before);
        }
        if let Some(loss) = seen.loss {
            self.report(now, &loss);
        }
        if seen.delivered > 0 {
            let feedback = self.feedback(now, packet, &news)?;
            self.tell(now, feedback, (rtt, ece), &seen);
        }
        Ok(())
    }

    /// Blocks in segments: a segment of which a block has a part only is not SACKed.
    fn blocks(&self, packet: &Packet) -> Vec<Range> {
        let options = packet.options.iter().flatten();
        let blocks = options.filter_map(|option| match option {
            TcpOption::Sack(blocks) => Some(blocks),
            _ => None,
        });
        let inside = blocks.flatten().map(|&(left, right)| Range {
            start: self.segments.partition_point(|segment| segment.start < left) as u64,
            end: self.segments.partition_point(|segment| segment.end <= right) as u64,
        });
        inside.filter(|block| block.start < block.end).take(SackBlocks::MAX).collect()
    }

    /// The RTT sample, and the segments that are news.
    fn sample(&mut self, now: Time, cumulative: u64, blocks: &[Range]) -> (Option<Span>, Vec<u64>) {
        let una = self.outbound.una();
        let mut latest: Option<Segment> = None;
        let ranges = [Range { start: una.min(cumulative), end: cumulative }];
        let (mut ambiguous, mut news) = (false, Vec::new());
        for place in ranges.iter().chain(blocks).flat_map(|range| range.start..range.end) {
            let segment = &mut self.segments[place as usize];
            if std::mem::replace(&mut segment.delivered, true) {
                continue;
            }
            news.push(place);
            ambiguous |= segment.again && place < cumulative;
            if !segment.again && latest.is_none_or(|last| last.sent <= segment.sent) {
                latest = Some(*segment);
            }
        }
        (latest.filter(|_| !ambiguous).map(|segment| now.since(segment.sent)), news)
    }

    /// What the peer's part of the protocol returns for these segments, of which the packet says
    /// how they arrived: with which ECN bits, and with which fields of the header. Where it says
    /// nothing they arrived as they were sent.
    fn feedback(&mut self, now: Time, packet: &Packet, news: &[u64]) -> Done<Feedback<AnyHeader>> {
        let mut feedback = Feedback::default();
        for &place in news {
            let Segment { start, end, fin, mut header, mut ecn, .. } =
                self.segments[place as usize];
            for option in packet.options.iter().flatten() {
                match option {
                    TcpOption::Code(code) => ecn = code_of(*code),
                    TcpOption::Fields(name, fields) => {
                        header =
                            headers::changed(header, name, fields).map_err(Trouble::NotModelled)?;
                    }
                    _ => {}
                }
            }
            feedback = self.peer.on_data(Arrived {
                now,
                seq: place,
                expected: self.outbound.una(),
                size: end - start - u32::from(fin) + HEADERS,
                header,
                ecn,
                pending: None,
            });
        }
        Ok(feedback)
    }

    fn tell(
        &mut self,
        now: Time,
        Feedback { header, code }: Feedback<AnyHeader>,
        (rtt, ece): (Option<Span>, bool),
        seen: &AckOutcome,
    ) {
        let coded = matches!(self.sender.ecn(), EcnUse::Codes(_));
        let code = if coded { code } else { Ecn::NotCapable };
        self.sender.on_ack(Ack {
            now,
            delivered: seen.delivered,
            acked: seen.acked,
            lost: seen.lost,
            rtt,
            srtt: self.outbound.srtt(),
            min_rtt: self.outbound.min_rtt(),
            in_flight: self.outbound.in_flight(),
            recovering: seen.recovering,
            header,
            code,
            ece,
            marks: if code == Ecn::Ce { seen.delivered } else { 0 },
        });
    }

    /// The pace, if the controller has one.
    pub(crate) fn pace(&self) -> Option<Rate> {
        self.sender.pacing()
    }
}

/// The meaning of two bits.
fn code_of(bits: u8) -> Ecn {
    [Ecn::NotCapable, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(bits & 3)]
}

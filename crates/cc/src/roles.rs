//! What a protocol is asked and told. One value of [`Sender`] and [`Receiver`] per flow, one of
//! [`Router`] per output link. Nothing is fetched: `now` and every measurement are arguments.

use core::fmt::{self, Debug};

use units::random::Stream;
use units::{Rate, Span, Time};

use crate::params::Params;

/// The two ECN bits of the IP header. RFC 3168 reads them as below; VCP and its relatives as a
/// two-bit load code (01 low, 10 high, 11 overload).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Ecn {
    /// 00: not ECN-capable.
    #[default]
    NotCapable = 0b00,
    /// 01: ECT(1); VCP's low load.
    Ect1 = 0b01,
    /// 10: ECT(0); VCP's high load.
    Ect0 = 0b10,
    /// 11: congestion experienced; VCP's overload.
    Ce = 0b11,
}

/// How a sender uses the two ECN bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnUse {
    /// Packets go out as not capable.
    None,
    /// RFC 3168: packets go out as ECT(0), the receiver latches CE into ECE until it sees CWR, and
    /// the transport reports at most one [`LossKind::EcnEcho`] per window of data.
    Classic,
    /// Packets go out with this code and every ACK carries back the code of its data packet.
    Codes(Ecn),
}

impl EcnUse {
    /// The code of new data.
    pub fn code(self) -> Ecn {
        match self {
            EcnUse::None => Ecn::NotCapable,
            EcnUse::Classic => Ecn::Ect0,
            EcnUse::Codes(code) => code,
        }
    }
}

/// An inner variable that a probe shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The paper's symbol in ASCII.
    pub name: &'static str,
    /// Its unit; empty for a pure number.
    pub unit: &'static str,
    /// What it means, in a phrase that goes on after the name.
    pub doc: &'static str,
}

impl Variable {
    /// A variable, for a protocol's table.
    pub const fn new(name: &'static str, unit: &'static str, doc: &'static str) -> Variable {
        Variable { name, unit, doc }
    }
}

/// The fields of a TCP header that a protocol writes itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpFields {
    /// The sequence number.
    pub seq: u32,
    /// The acknowledgment number.
    pub ack: u32,
    /// Is the checksum wrong? It is that of two numbers as large as the larger then.
    pub stale: bool,
}

/// Fields that every packet has and a protocol may have its header in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// Those of TCP, if it is TCP's.
    pub tcp: Option<TcpFields>,
    /// The identification field of the IP header.
    pub ip_id: u16,
}

/// What a protocol adds to its packets.
pub trait Header: Copy + Default + Debug + PartialEq {
    /// Bytes that [`Header::encode`] writes.
    const WIRE_BYTES: usize;
    /// What [`Header::probe`] shows, in its order.
    const VARIABLES: &'static [Variable] = &[];
    /// Have schemes it in common that mean different things by its fields? Then no scheme's queue
    /// can stand in for another's.
    const COMMON: bool = false;
    /// Writes the wire form into the first [`Header::WIRE_BYTES`] bytes of `wire`.
    fn encode(&self, wire: &mut [u8]);
    /// Reads the wire form; `None` when it is too short or makes no sense.
    fn decode(wire: &[u8]) -> Option<Self>;
    /// What it writes into fields that TCP has anyway; it takes no bytes of its own then.
    fn tcp(&self) -> Option<TcpFields> {
        None
    }
    /// What it writes into the identification field of the IP header.
    fn ip_id(&self) -> Option<u16> {
        None
    }
    /// Reads what is in such fields, where that is all of it: [`Header::WIRE_BYTES`] is 0 then, and
    /// every packet bears the header.
    fn read(_fields: &Fields) -> Option<Self> {
        None
    }
    /// What the two ECN bits beside it mean, where it gives them another meaning than [`Ecn`]'s.
    fn code(&self, _bits: Ecn) -> Option<&'static str> {
        None
    }
    /// Its fields by the paper's names.
    fn probe(&self, _sink: &mut impl FnMut(&'static str, f64)) {}
}

impl Header for () {
    const WIRE_BYTES: usize = 0;
    fn encode(&self, _: &mut [u8]) {}
    fn decode(_: &[u8]) -> Option<()> {
        Some(())
    }
}

/// What a sender is built from besides its parameters.
#[derive(Clone, Debug)]
pub struct SenderContext {
    /// Size of a full data packet on the wire, headers inside [bytes].
    pub packet_bytes: u32,
    /// Window at the start [packets].
    pub initial_window: f64,
    /// L of appropriate byte counting (RFC 3465): for how many of the packets that an ACK delivers
    /// a window of TCP grows in slow start, and above ssthresh for all. 0: once per ACK, as its
    /// protocol has it.
    pub counting: u32,
    /// Routers with a queue on the way to the receiver, which a packet's TTL tells real hosts.
    pub routers: u32,
    /// The flow's own random stream.
    pub stream: Stream,
    /// Where prototypes live.
    pub host: &'static dyn Host,
}

/// A data packet about to leave.
#[derive(Clone, Copy, Debug)]
pub struct Departing {
    /// The time.
    pub now: Time,
    /// Size on the wire [bytes].
    pub size: u32,
    /// Smoothed RTT (RFC 6298), `None` before the first sample.
    pub srtt: Option<Span>,
    /// Number of its data in the sequence space of full packets, from 0.
    pub seq: u64,
    /// Packets in the network before this one, as the loss recovery estimates it.
    pub in_flight: u32,
    /// Has the application more to send behind it? If not, what follows is limited by the
    /// application and says nothing of the path.
    pub backlogged: bool,
    /// Is this the second or a later transmission of its data?
    pub retransmission: bool,
}

/// An ACK that reports newly delivered data; pure duplicates are not shown to the sender.
#[derive(Clone, Copy, Debug)]
pub struct Ack<H> {
    /// The time.
    pub now: Time,
    /// Packets that this ACK reports as delivered for the first time, by its cumulative number or
    /// by SACK.
    pub delivered: u32,
    /// Packets that the cumulative number moved over.
    pub acked: u32,
    /// Packets that ACKs made known to be lost since the last one that was shown, those of a
    /// [`LossKind::DupAcks`] inside. What the timer gives up is in [`Loss::lost`] alone.
    pub lost: u32,
    /// RTT of the packet that caused the ACK, if it was sent once only (Karn).
    pub rtt: Option<Span>,
    /// Smoothed RTT (RFC 6298) with this ACK's sample taken in; `None` before the first.
    pub srtt: Option<Span>,
    /// Smallest RTT seen on this flow.
    pub min_rtt: Option<Span>,
    /// Packets in the network after this ACK, as the loss recovery estimates it.
    pub in_flight: u32,
    /// Is fast recovery under way (RFC 5681 section 3.2)? Not after a timeout.
    pub recovering: bool,
    /// The protocol's header as it reached the receiver.
    pub header: H,
    /// The ECN bits of the data packet ([`EcnUse::Codes`] only).
    pub code: Ecn,
    /// RFC 3168's ECN-Echo ([`EcnUse::Classic`] only); with AccECN: were any packets marked?
    pub ece: bool,
    /// Packets that it tells were marked with CE. Where ACKs carry the code of their data packet
    /// back ([`EcnUse::Codes`]) all that it delivers or none; with AccECN what the counters say.
    pub marks: u32,
}

impl<H> Ack<H> {
    /// The same as a protocol without a header reads it.
    #[inline]
    pub fn without_header(&self) -> Ack<()> {
        self.with_header(())
    }

    /// The same with another header, for a protocol that is built upon one.
    #[inline]
    pub fn with_header<G>(&self, header: G) -> Ack<G> {
        let &Ack { now, delivered, acked, lost, rtt, srtt, min_rtt, in_flight, .. } = self;
        let &Ack { recovering, code, ece, marks, .. } = self;
        Ack {
            now,
            delivered,
            acked,
            lost,
            rtt,
            srtt,
            min_rtt,
            in_flight,
            recovering,
            header,
            code,
            ece,
            marks,
        }
    }
}

/// What made a sender learn of congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossKind {
    /// Fast retransmit: duplicate ACKs or SACK blocks.
    DupAcks,
    /// The retransmission timer.
    Timeout,
    /// RFC 3168's ECE; nothing was lost.
    EcnEcho,
}

/// One loss event: at most one per window of data, besides timeouts.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// The time.
    pub now: Time,
    /// How it was noticed.
    pub kind: LossKind,
    /// Packets sent and not yet acknowledged when it was noticed (RFC 5681's FlightSize); at a
    /// timeout during a recovery those of them in the network, as the recovery estimates it.
    pub in_flight: u32,
    /// Packets taken for lost.
    pub lost: u32,
    /// Is this the second or a later timeout without an ACK of new data between?
    pub repeated: bool,
}

/// A time in which nothing was out, longer than the retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Idle {
    /// RW, the restart window [packets] (RFC 5681, section 4.1).
    pub window: f64,
    /// How many timeouts long, if the window loses half for each (RFC 2861); otherwise it is RW at
    /// once.
    pub timeouts: Option<u64>,
}

/// The end host's part; one value per flow.
pub trait Sender: Sized {
    /// Its parameters.
    type Params: Params;
    /// What it adds to a packet; `()` when the ECN bits are all it needs.
    type Header: Header;
    /// The other end's part; [`Echo`] when it only returns what arrived.
    type Receiver: Receiver<Header = Self::Header>;

    /// What [`Sender::probe`] shows, in its order.
    const VARIABLES: &'static [Variable];
    /// Does it send what the application offers at once, whatever becomes of it? Then the
    /// application must have a rate.
    const OPEN_LOOP: bool = false;
    /// Does a loss reduce its window at once, and is it left to the transport how what is in flight
    /// comes down to that (RFC 9937)?
    const REDUCES: bool = false;
    /// Does [`Sender::on_send`] leave what the sender answers, its window, its pace and its timer,
    /// as it was?
    const STEADY: bool = false;
    /// What one flow's state takes [bytes].
    const STATE_BYTES: usize = size_of::<Self>();

    /// The state at the start of a flow.
    fn new(params: &Self::Params, context: &SenderContext) -> Self;
    /// The other end's state at the start of a flow.
    fn receiver(_params: &Self::Params, _context: &SenderContext) -> Self::Receiver {
        Self::Receiver::default()
    }
    /// The number of its data's first byte on the wire, if the protocol needs that to be another
    /// than 0 ([`Header::tcp`]).
    fn first_byte(&self) -> u32 {
        0
    }
    /// How it uses the ECN bits; asked once.
    fn ecn(&self) -> EcnUse {
        EcnUse::None
    }
    /// Does it read what AccECN tells ([`Ack::marks`]) in place of its packets' codes? All that use
    /// RFC 3168's ECN can do with it; asked once.
    fn counts_marks(&self) -> bool {
        self.ecn() == EcnUse::Classic
    }
    /// With [`EcnUse::Codes`] and delayed ACKs: what its receiver does when marks begin or end;
    /// asked once.
    fn ce_acks(&self) -> CeAcks {
        CeAcks::Off
    }
    /// It is a macro-flow, and carries so many flows from now on.
    fn carries(&mut self, _flows: u32) {}
    /// A data packet leaves: the header it carries.
    fn on_send(&mut self, _segment: &Departing) -> Self::Header {
        Self::Header::default()
    }
    /// New data was delivered.
    fn on_ack(&mut self, ack: &Ack<Self::Header>);
    /// Congestion was noticed.
    fn on_loss(&mut self, loss: &Loss);
    /// What it last heard of as a loss by duplicate ACKs or the timer, and all such since, was
    /// none: packets were late. `before` is its state before that. A sender that keeps a window
    /// goes back to the one it had, if that is the larger; what it has learned since stays.
    fn on_undo(&mut self, _before: &Self) {}
    /// It is about to send again after an idle time. Asked of it only where that is to make its
    /// window smaller; a sender that keeps none does nothing.
    fn on_idle(&mut self, _idle: &Idle) {}
    /// When it wants [`Sender::on_timer`]; read again after every other call.
    fn next_timer(&self) -> Time {
        Time::NEVER
    }
    /// The timer it asked for.
    fn on_timer(&mut self, _now: Time) {}
    /// The congestion window [packets], real-valued; the transport sends up to its floor.
    fn cwnd(&self) -> f64;
    /// May [`Sender::pacing`] give a rate? Asked once.
    fn paces(&self) -> bool {
        false
    }
    /// The rate that packets must not exceed one by one, if the protocol paces.
    fn pacing(&self) -> Option<Rate> {
        None
    }
    /// Its inner variables by the paper's names, as in [`Sender::VARIABLES`].
    fn probe(&self, sink: &mut impl FnMut(&'static str, f64));
    /// What it is doing, in words: lines that each end.
    fn describe(&self, _out: &mut dyn fmt::Write) -> fmt::Result {
        Ok(())
    }
}

/// A data packet at its receiver.
#[derive(Clone, Copy, Debug)]
pub struct Arrived<H> {
    /// The time.
    pub now: Time,
    /// Number of its data ([`Departing::seq`]).
    pub seq: u64,
    /// The number that the receiver waits for, with this packet taken in: what the next ACK
    /// acknowledges.
    pub expected: u64,
    /// Size on the wire [bytes].
    pub size: u32,
    /// The protocol's header.
    pub header: H,
    /// The ECN bits.
    pub ecn: Ecn,
    /// What an earlier packet had to say, if its ACK is delayed and has not left.
    pub pending: Option<Feedback<H>>,
}

choice! {
    /// What a receiver with delayed ACKs does when marks begin or end.
    pub enum CeAcks {
        /// Nothing: an ACK answers marked and other packets together.
        Off = "off",
        /// RFC 8257 section 3.2: two ACKs leave at once, one of what waits, by the state before,
        /// and one of the packet that has come, by the new one.
        Rfc8257 = "rfc8257",
        /// ns-3 3.37 (TcpDctcp::CeState0to1, CeState1to0): one ACK leaves, by the state before; its
        /// number is one that was told already, and the sender hears of it as of one packet more.
        Ns3 = "ns-3",
    }
}

/// What an ACK takes back.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Feedback<H> {
    /// The header the ACK carries to the sender.
    pub header: H,
    /// The ECN bits the ACK carries to the sender ([`EcnUse::Codes`] only).
    pub code: Ecn,
}

/// The receiver's part; one value per flow.
pub trait Receiver: Sized + Clone + Default {
    /// The protocol's header.
    type Header: Header;
    /// A data packet arrived: what the next ACK takes back.
    fn on_data(&mut self, data: &Arrived<Self::Header>) -> Feedback<Self::Header>;
}

/// The receiver that returns what arrived.
#[derive(Clone, Copy, Debug, Default)]
pub struct Echo<H>(core::marker::PhantomData<H>);

impl<H: Header> Receiver for Echo<H> {
    type Header = H;
    #[inline]
    fn on_data(&mut self, data: &Arrived<H>) -> Feedback<H> {
        Feedback { header: data.header, code: data.ecn }
    }
}

/// A receiver that chooses which packets to acknowledge; one value per flow. Where the registry
/// names one, nothing is sent again, no ACK is delayed, a transfer is over when all its packets
/// have arrived or are lost, the window counts all packets ever sent, and the protocol's
/// [`Receiver`] is [`Echo`]. It lies apart from the other state of a flow and may be large.
pub trait Reporter: Sized + Clone {
    /// Its protocol's parameters.
    type Params: Params;
    /// The protocol's header.
    type Header: Header;
    /// The state at the start of a flow.
    fn new(params: &Self::Params, context: &SenderContext) -> Self;
    /// A data packet arrived: the header of the ACK that leaves at once, if one does.
    fn on_data(&mut self, data: &Arrived<Self::Header>) -> Option<Self::Header>;
}

/// What a buffer's limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Bytes waiting.
    Bytes(u64),
    /// Packets waiting.
    Packets(u32),
}

/// What a router is built from besides its parameters.
#[derive(Clone, Debug)]
pub struct RouterContext {
    /// The link's number in the network.
    pub link: u32,
    /// The link's capacity at the start ([`Router::on_capacity`]).
    pub capacity: Rate,
    /// The buffer's limit.
    pub limit: Limit,
    /// Size of a full data packet [bytes]: the field's "packet" where a limit is in bytes.
    pub packet_bytes: u32,
    /// The router's own random stream.
    pub stream: Stream,
    /// Where prototypes live.
    pub host: &'static dyn Host,
}

/// Data or acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// Carries data.
    Data,
    /// A pure acknowledgement.
    Ack,
}

/// A packet at a router.
#[derive(Debug)]
pub struct Passing<'a, H> {
    /// The flow's number.
    pub flow: u32,
    /// Size on the wire [bytes].
    pub size: u32,
    /// Data or ACK.
    pub kind: PacketKind,
    /// How long it waited here (zero on arrival).
    pub queued_for: Span,
    /// Its ECN bits.
    pub ecn: &'a mut Ecn,
    /// The protocol's header; `None` for ACKs and for another protocol's packet.
    pub header: Option<&'a mut H>,
}

/// What waits at a link; the packet in service is not part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets waiting.
    pub packets: u32,
    /// Bytes waiting.
    pub bytes: u64,
}

/// What becomes of an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Let it in (the buffer's limit still applies).
    Forward,
    /// Drop it.
    Drop,
    /// Drop it and the waiting packet that was drawn ([`crate::classes`]).
    DropBoth,
}

/// The router's part: a policy on the queue of one output link. What it does with the packets that
/// wait is [`crate::classes::Scheduler`]'s.
pub trait Router: Sized {
    /// Its parameters.
    type Params: Params;
    /// The header it reads and writes.
    type Header: Header;
    /// Does it do nothing at all? Then a link need not ask it.
    const IDLE: bool = false;
    /// What [`Router::probe`] shows, in its order.
    const VARIABLES: &'static [Variable] = &[];
    /// May an arrival change what [`Router::probe`] shows? Where it is recorded on change, nobody
    /// need look then.
    const SHOWS_ARRIVALS: bool = true;

    /// The state at the start of a run.
    fn new(params: &Self::Params, context: &RouterContext) -> Self;
    /// Does it want ACKs served before data, from a queue of their own that shares the limit?
    fn acks_first(_params: &Self::Params) -> bool {
        false
    }
    /// A packet arrives, before any drop decision; `backlog` does not hold it.
    fn on_arrival(
        &mut self,
        _now: Time,
        _packet: Passing<'_, Self::Header>,
        _backlog: Backlog,
    ) -> Verdict {
        Verdict::Forward
    }
    /// A packet leaves the queue and its first bit goes out; `backlog` no longer holds it.
    fn on_departure(&mut self, _now: Time, _packet: Passing<'_, Self::Header>, _backlog: Backlog) {}
    /// When it wants [`Router::on_timer`]; read again after each such call only.
    fn next_timer(&self) -> Time {
        Time::NEVER
    }
    /// The timer it asked for.
    fn on_timer(&mut self, _now: Time, _backlog: Backlog) {}
    /// The link's capacity is another one from now on; never zero. Timers stay as they are. A link
    /// that carries nothing for a while does not change its capacity.
    fn on_capacity(&mut self, _now: Time, _capacity: Rate) {}
    /// How often it is to hear, where the capacity is a trace's, of the mean since the last time;
    /// asked when the link is made and when it is retuned. The shortest time of a link's routers
    /// holds for all of them, 100 ms where none has one.
    fn capacity_every(&self) -> Option<Span> {
        None
    }
    /// Other parameters, capacity or limit from now on. What was measured stays; timers that are
    /// set run as they were.
    fn retune(&mut self, params: &Self::Params, context: &RouterContext);
    /// Its inner variables by the paper's names, as in [`Router::VARIABLES`].
    fn probe(&self, _sink: &mut impl FnMut(&'static str, f64)) {}
    /// As [`Sender::describe`].
    fn describe(&self, _out: &mut dyn fmt::Write) -> fmt::Result {
        Ok(())
    }
}

/// What a prototype's packets carry: up to three numbers, which mean what it likes.
pub type Numbers = [f64; 3];

/// What a sender wants until it is called again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wishes {
    /// Congestion window [packets].
    pub cwnd: f64,
    /// As [`Sender::next_timer`].
    pub timer: Time,
    /// As [`Sender::pacing`].
    pub pacing: Option<Rate>,
}

/// A new sender of a prototype.
#[derive(Clone, Copy, Debug)]
pub struct Hosted {
    /// Its number with the host.
    pub object: u32,
    /// What it wants at first.
    pub wishes: Wishes,
    /// How it uses the ECN bits.
    pub ecn: EcnUse,
    /// Does it write headers, so that it is called for each departing packet?
    pub writes: bool,
}

/// A new router of a prototype.
#[derive(Clone, Copy, Debug)]
pub struct HostedRouter {
    /// Its number with the host.
    pub object: u32,
    /// When it wants its timer.
    pub timer: Time,
    /// Is it called for departures?
    pub departures: bool,
}

/// Where prototypes live. Objects are named by numbers that the host gives out.
pub trait Host: Sync + Debug {
    /// A sender of this class.
    fn sender(&self, class: &'static str, context: &SenderContext) -> Hosted;
    /// As [`Sender::on_send`].
    fn on_send(&self, object: u32, segment: &Departing) -> (Wishes, Numbers);
    /// As [`Sender::on_ack`].
    fn on_ack(&self, object: u32, ack: &Ack<Numbers>) -> Wishes;
    /// As [`Sender::on_loss`].
    fn on_loss(&self, object: u32, loss: &Loss) -> Wishes;
    /// As [`Sender::on_timer`]; the timer it wishes for is later than now, or the clock stood
    /// still.
    fn on_timer(&self, object: u32, now: Time) -> Wishes;
    /// A router of this class.
    fn router(&self, class: &'static str, context: &RouterContext) -> HostedRouter;
    /// As [`Router::on_arrival`].
    fn on_arrival(
        &self,
        object: u32,
        now: Time,
        packet: Passing<'_, Numbers>,
        backlog: Backlog,
    ) -> Verdict;
    /// As [`Router::on_departure`].
    fn on_departure(&self, object: u32, now: Time, packet: Passing<'_, Numbers>, backlog: Backlog);
    /// As [`Router::on_timer`]; gives the next time, later than now.
    fn on_router_timer(&self, object: u32, now: Time, backlog: Backlog) -> Time;
    /// As [`Router::on_capacity`].
    fn on_capacity(&self, object: u32, now: Time, capacity: Rate);
    /// A copy of an object.
    fn duplicate(&self, object: u32) -> u32;
    /// Nobody will ask for it again.
    fn release(&self, object: u32);
}

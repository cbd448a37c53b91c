//! THE table: one line per header, per end-host protocol and per queue. Enums, names, parameters,
//! documentation and property tests are expanded from it; nothing else lists protocols.

use core::any::TypeId;
use core::fmt;

use units::{Rate, Span, Time};

use crate::boxed::Boxed;
use crate::classes::{Place, Scheduler, Service};
use crate::explicit::{experimental, load, neighbours, xcp};
use crate::params::{Params, Preset, Refused, Spec, Value};
use crate::roles::{
    Ack, Arrived, Backlog, CeAcks, Departing, Ecn, EcnUse, Feedback, Fields, Header, Idle, Loss,
    PacketKind, Passing, Receiver, Reporter, Router, RouterContext, Sender, SenderContext,
    TcpFields, Variable, Verdict,
};
use crate::{aqm, foreign, rate, tcp};

/// How lost data is found and sent again; the window's reaction is the protocol's own affair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Fast retransmit alone: three duplicate ACKs do what the timer does (Jacobson 1988).
    Tahoe,
    /// RFC 5681 fast retransmit and fast recovery, ended by the first ACK of new data.
    Reno,
    /// RFC 6582: partial ACKs keep the recovery going.
    NewReno,
    /// RFC 2018 and RFC 6675: selective acknowledgements.
    Sack,
    /// The same with rate halving, one segment for two that have left from the loss on (Mathis,
    /// Semke, Mahdavi, "The Rate-Halving Algorithm for TCP Congestion Control", 1999), and lost
    /// retransmissions are found like other losses: Linux until 3.1, and ns-2's TCP-Linux.
    RateHalving,
    /// SACK, and lost retransmissions are found like other losses; the controller hears of
    /// timeouts only (MLCP section 3.6, DPCP section III-C).
    Decoupled,
    /// SACK, and a segment is lost when one sent later has arrived and a round trip and a
    /// reordering window have passed since it went out; a probe takes the timer's place where the
    /// last segments are lost (RACK-TLP, RFC 8985). A window that a loss reduces is come down to by
    /// proportional rate reduction (PRR, RFC 9937).
    Rack,
    /// RFC 4340 and RFC 4341: losses are found as by SACK and told to the controller, and nothing
    /// is sent again.
    Dccp,
    /// Nothing is sent again; what is lost is passed over.
    None,
}

impl Recovery {
    /// All of them.
    pub const ALL: [Recovery; 9] = [
        Recovery::Tahoe,
        Recovery::Reno,
        Recovery::NewReno,
        Recovery::Sack,
        Recovery::RateHalving,
        Recovery::Decoupled,
        Recovery::Rack,
        Recovery::Dccp,
        Recovery::None,
    ];

    /// The name in scenario files.
    pub fn name(self) -> &'static str {
        match self {
            Recovery::Tahoe => "tahoe",
            Recovery::Reno => "reno",
            Recovery::NewReno => "newreno",
            Recovery::Sack => "sack",
            Recovery::RateHalving => "rate-halving",
            Recovery::Decoupled => "decoupled",
            Recovery::Rack => "rack",
            Recovery::Dccp => "dccp",
            Recovery::None => "none",
        }
    }

    /// Does the receiver say which segments beyond the cumulative number it has?
    pub fn selective(self) -> bool {
        use Recovery::{Dccp, Decoupled, Rack, RateHalving, Sack};
        matches!(self, Sack | RateHalving | Decoupled | Rack | Dccp)
    }

    /// Is a lost retransmission found before the timer runs out?
    pub fn finds_lost_retransmissions(self) -> bool {
        matches!(self, Recovery::RateHalving | Recovery::Decoupled | Recovery::Rack)
    }
}

/// What a queue of the registry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Decides what to drop or to mark.
    Policy,
    /// Computes a protocol's feedback and stands over a policy (`over = "..."`).
    Feedback,
}

/// One end-host protocol as users see it.
#[derive(Clone, Copy, Debug)]
pub struct ProtocolInfo {
    /// Its name in scenario files.
    pub name: &'static str,
    /// Grows when it does something else with the same settings; a run's identity names it.
    pub version: u32,
    /// One line.
    pub summary: &'static str,
    /// Where it is specified.
    pub source: &'static str,
    /// Its loss recovery unless the scenario says otherwise.
    pub recovery: Recovery,
    /// The queue that must be on the path for it to work as meant.
    pub router: Option<&'static str>,
    /// As [`Sender::OPEN_LOOP`].
    pub open_loop: bool,
    /// As [`Sender::REDUCES`].
    pub reduces: bool,
    /// Does its receiver choose which packets to acknowledge ([`Reporter`])?
    pub reports: bool,
    /// As [`Sender::STATE_BYTES`].
    pub state_bytes: usize,
    /// Its parameters.
    pub params: &'static [Spec],
    /// Named sets of their values.
    pub presets: &'static [Preset],
    /// The sender's inner variables that a probe shows.
    pub variables: &'static [Variable],
    /// The fields of its header.
    pub header: &'static [Variable],
    /// The type of its header, which tells the queues that can stand in for its own; `None` where
    /// the ECN bits or TCP's fields are all, and of a header that is [`Header::COMMON`].
    pub reads: Option<TypeId>,
}

/// One queue as users see it.
#[derive(Clone, Copy, Debug)]
pub struct QueueInfo {
    /// Its name in scenario files.
    pub name: &'static str,
    /// As [`ProtocolInfo::version`].
    pub version: u32,
    /// One line.
    pub summary: &'static str,
    /// Where it is specified.
    pub source: &'static str,
    /// What it is.
    pub role: Role,
    /// Its parameters.
    pub params: &'static [Spec],
    /// Named sets of their values.
    pub presets: &'static [Preset],
    /// Its inner variables that a probe shows.
    pub variables: &'static [Variable],
    /// The type of the header that it reads, as [`ProtocolInfo::reads`].
    pub reads: Option<TypeId>,
}

/// The type of a header that has fields, which mean the same to all that have it.
fn kind_of<H: Header + 'static>() -> Option<TypeId> {
    (!H::VARIABLES.is_empty() && !H::COMMON).then(TypeId::of::<H>)
}

/// Is a header with fields in those of TCP and IP?
fn in_fields<H: Header>() -> bool {
    H::WIRE_BYTES == 0 && !H::VARIABLES.is_empty()
}

/// The version that a line of the table says; most say none.
macro_rules! version {
    () => {
        1
    };
    ($version:literal) => {
        $version
    };
}

/// A header of the table: into the closed set of all headers, and out of it.
pub trait Listed: Header {
    /// Into the closed set.
    fn wrap(self) -> AnyHeader;
    /// Out of it; `None` when the packet is another protocol's.
    fn open(any: &mut AnyHeader) -> Option<&mut Self>;
}

impl Listed for () {
    fn wrap(self) -> AnyHeader {
        AnyHeader::None
    }
    fn open(_: &mut AnyHeader) -> Option<&mut ()> {
        None
    }
}

macro_rules! headers {
    ($( $variant:ident($type:ty) $( = $exid:literal )?; )*) => {
        /// Any protocol's header.
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub enum AnyHeader {
            /// No header: the ECN bits or plain TCP.
            #[default]
            None,
            $( #[doc = concat!(stringify!($variant), "'s header.")] $variant($type), )*
        }

        $( impl Listed for $type {
            #[inline]
            fn wrap(self) -> AnyHeader {
                AnyHeader::$variant(self)
            }
            #[inline]
            fn open(any: &mut AnyHeader) -> Option<&mut $type> {
                match any {
                    AnyHeader::$variant(header) => Some(header),
                    _ => None,
                }
            }
        } )*

        impl AnyHeader {
            /// Every header's identifier, in the order of the table.
            pub const EXIDS: &'static [u16] = &[$( $( $exid, )? )*];

            /// What names the header in a TCP option (RFC 6994's ExID); `None` for one that is in
            /// no option.
            pub fn exid(&self) -> Option<u16> {
                match self {
                    AnyHeader::None => None,
                    $( AnyHeader::$variant(_) => [$( $exid )?].first().copied(), )*
                }
            }
            /// As [`Header::WIRE_BYTES`].
            pub fn wire_bytes(&self) -> usize {
                match self {
                    AnyHeader::None => 0,
                    $( AnyHeader::$variant(_) => <$type as Header>::WIRE_BYTES, )*
                }
            }
            /// As [`Header::encode`].
            pub fn encode(&self, wire: &mut [u8]) {
                match self {
                    AnyHeader::None => {}
                    $( AnyHeader::$variant(header) => header.encode(wire), )*
                }
            }
            /// As [`Header::tcp`].
            pub fn tcp(&self) -> Option<TcpFields> {
                match self {
                    AnyHeader::None => None,
                    $( AnyHeader::$variant(header) => header.tcp(), )*
                }
            }
            /// As [`Header::ip_id`].
            pub fn ip_id(&self) -> Option<u16> {
                match self {
                    AnyHeader::None => None,
                    $( AnyHeader::$variant(header) => header.ip_id(), )*
                }
            }
            /// As [`Header::code`].
            pub fn code(&self, bits: Ecn) -> Option<&'static str> {
                match self {
                    AnyHeader::None => None,
                    $( AnyHeader::$variant(header) => header.code(bits), )*
                }
            }
            /// As [`Header::decode`] of the header that `exid` names; `None` too if it names none.
            pub fn decode(exid: u16, wire: &[u8]) -> Option<AnyHeader> {
                match exid {
                    $( $( $exid => <$type as Header>::decode(wire).map(Listed::wrap), )? )*
                    _ => None,
                }
            }
            /// As [`Header::probe`].
            pub fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
                match self {
                    AnyHeader::None => {}
                    $( AnyHeader::$variant(header) => header.probe(sink), )*
                }
            }
        }
    };
}

macro_rules! protocols {
    ($( $variant:ident { name: $name:literal, $( version: $version:literal, )?
        sender: $type:ty, $( reporter: $reporter:ty, )? recovery: $recovery:ident,
        router: $router:expr, summary: $summary:literal, source: $source:literal } )*) => {
        /// The parameters of any end-host protocol.
        #[derive(Clone, Debug, PartialEq)]
        pub enum AnySenderParams {
            $( #[doc = $summary] $variant(<$type as Sender>::Params), )*
        }

        #[derive(Clone, Debug)]
        #[repr(u8)] // as AnyRouter
        enum SenderKind {
            $( $variant($type), )*
        }

        impl SenderKind {
            fn answers(&self) -> Answers {
                match self { $( SenderKind::$variant(s) => Answers::of(s), )* }
            }
        }

        /// Any sender.
        ///
        /// What it answers changes with the events it is told of, and is asked for more often than
        /// that: it is kept.
        #[derive(Clone, Debug)]
        pub struct AnySender {
            answers: Answers,
            kind: SenderKind,
        }

        /// Any receiver.
        #[derive(Clone, Debug)]
        pub enum AnyReceiver {
            $( #[doc = $summary] $variant(<$type as Sender>::Receiver), )*
        }

        /// Every end-host protocol.
        pub fn protocols() -> impl Iterator<Item = ProtocolInfo> {
            [ $( ProtocolInfo {
                name: $name,
                version: version!($( $version )?),
                summary: $summary,
                source: $source,
                recovery: Recovery::$recovery,
                router: $router,
                open_loop: <$type as Sender>::OPEN_LOOP,
                reduces: <$type as Sender>::REDUCES,
                state_bytes: <$type as Sender>::STATE_BYTES,
                reports: !<[&str]>::is_empty(&[$( stringify!($reporter) )?]),
                params: <$type as Sender>::Params::specs(),
                presets: <$type as Sender>::Params::presets(),
                variables: <$type as Sender>::VARIABLES,
                header: <<$type as Sender>::Header as Header>::VARIABLES,
                reads: kind_of::<<$type as Sender>::Header>(),
            }, )* ].into_iter()
        }

        impl AnySenderParams {
            /// The default parameters of the protocol called `name`.
            pub fn named(name: &str) -> Option<AnySenderParams> {
                match name {
                    $( $name => Some(AnySenderParams::$variant(Default::default())), )*
                    _ => None,
                }
            }
            /// Sets the parameter called `name`.
            ///
            /// # Errors
            /// As [`Params::set`].
            pub fn set(&mut self, name: &str, value: Value) -> Result<(), Refused> {
                match self { $( AnySenderParams::$variant(p) => p.set(name, value), )* }
            }
            /// The present value of the parameter called `name`.
            pub fn get(&self, name: &str) -> Option<Value> {
                match self { $( AnySenderParams::$variant(p) => p.get(name), )* }
            }
            /// The receiver that chooses what to acknowledge, if the protocol has one.
            pub fn reporter(&self, context: &SenderContext) -> Option<AnyReporter> {
                match self {
                    $( AnySenderParams::$variant(_params) => {
                        None $( .or_else(|| {
                            Some(AnyReporter::$variant(<$reporter>::new(_params, context)))
                        }) )?
                    } )*
                }
            }
            /// The sender and the receiver that these parameters describe.
            pub fn build(&self, context: &SenderContext) -> (AnySender, AnyReceiver) {
                match self {
                    $( AnySenderParams::$variant(p) => (
                        AnySender::of(SenderKind::$variant(Sender::new(p, context))),
                        AnyReceiver::$variant(<$type as Sender>::receiver(p, context)),
                    ), )*
                }
            }
        }

        impl AnySender {
            fn of(kind: SenderKind) -> AnySender {
                AnySender { answers: kind.answers(), kind }
            }
            /// As [`Sender::ecn`].
            pub fn ecn(&self) -> EcnUse {
                match &self.kind { $( SenderKind::$variant(s) => s.ecn(), )* }
            }
            /// As [`Sender::counts_marks`].
            pub fn counts_marks(&self) -> bool {
                match &self.kind { $( SenderKind::$variant(s) => s.counts_marks(), )* }
            }
            /// As [`Sender::paces`].
            pub fn paces(&self) -> bool {
                match &self.kind { $( SenderKind::$variant(s) => s.paces(), )* }
            }
            /// As [`Sender::first_byte`].
            pub fn first_byte(&self) -> u32 {
                match &self.kind { $( SenderKind::$variant(s) => s.first_byte(), )* }
            }
            /// As [`Sender::ce_acks`].
            pub fn ce_acks(&self) -> CeAcks {
                match &self.kind { $( SenderKind::$variant(s) => s.ce_acks(), )* }
            }
            /// As [`Sender::carries`].
            pub fn carries(&mut self, flows: u32) {
                match &mut self.kind { $( SenderKind::$variant(s) => s.carries(flows), )* }
                self.answers = self.kind.answers();
            }
            /// As [`Sender::on_send`]. What the segment is turned into is made for the one protocol
            /// that reads it: what that does not read is never worked out. So with the other events
            /// of packets.
            #[inline(always)] // for the hot path, which is not the only caller
            pub fn on_send<S>(&mut self, segment: S) -> AnyHeader
            where
                Departing: From<S>,
            {
                match &mut self.kind {
                    $( SenderKind::$variant(s) => {
                        let header = s.on_send(&Departing::from(segment)).wrap();
                        if <$type as Sender>::STEADY {
                            debug_assert_eq!(self.answers, Answers::of(s));
                        } else {
                            self.answers = Answers::of(s);
                        }
                        header
                    } )*
                }
            }
            /// As [`Sender::on_ack`]; a header of another protocol reads as the default one.
            #[inline(always)] // as above
            pub fn on_ack<A>(&mut self, ack: A)
            where
                Ack<AnyHeader>: From<A>,
            {
                match &mut self.kind {
                    $( SenderKind::$variant(s) => {
                        s.on_ack(&opened(&mut Ack::from(ack)));
                        self.answers = Answers::of(s);
                    } )*
                }
            }
            /// As [`Sender::on_loss`].
            pub fn on_loss(&mut self, loss: &Loss) {
                match &mut self.kind { $( SenderKind::$variant(s) => s.on_loss(loss), )* }
                self.answers = self.kind.answers();
            }
            /// As [`Sender::on_undo`]; the state of another protocol is no state before.
            pub fn on_undo(&mut self, before: &AnySender) {
                match (&mut self.kind, &before.kind) {
                    $( (SenderKind::$variant(s), SenderKind::$variant(b)) => s.on_undo(b), )*
                    _ => debug_assert!(false, "a sender stays of its protocol"),
                }
                self.answers = self.kind.answers();
            }
            /// As [`Sender::on_idle`].
            pub fn on_idle(&mut self, idle: &Idle) {
                match &mut self.kind { $( SenderKind::$variant(s) => s.on_idle(idle), )* }
                self.answers = self.kind.answers();
            }
            /// As [`Sender::next_timer`].
            #[inline]
            pub fn next_timer(&self) -> Time {
                self.answers.next_timer
            }
            /// As [`Sender::on_timer`].
            pub fn on_timer(&mut self, now: Time) {
                match &mut self.kind { $( SenderKind::$variant(s) => s.on_timer(now), )* }
                self.answers = self.kind.answers();
            }
            /// As [`Sender::cwnd`].
            pub fn cwnd(&self) -> f64 {
                match &self.kind { $( SenderKind::$variant(s) => s.cwnd(), )* }
            }
            /// The same in whole packets, at least one.
            #[inline]
            pub fn window(&self) -> u64 {
                u64::from(self.answers.window)
            }
            /// As [`Sender::pacing`].
            #[inline]
            pub fn pacing(&self) -> Option<Rate> {
                (self.answers.pacing != Rate(0)).then_some(self.answers.pacing)
            }
            /// As [`Sender::probe`].
            pub fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
                match &self.kind { $( SenderKind::$variant(s) => s.probe(sink), )* }
            }
            /// As [`Sender::describe`].
            pub fn describe(&self, out: &mut dyn fmt::Write) -> fmt::Result {
                match &self.kind { $( SenderKind::$variant(s) => s.describe(out), )* }
            }
        }

        impl AnyReceiver {
            /// As [`Receiver::on_data`].
            #[inline(always)]
            pub fn on_data<D>(&mut self, data: D) -> Feedback<AnyHeader>
            where
                Arrived<AnyHeader>: From<D>,
            {
                match self {
                    $( AnyReceiver::$variant(r) => {
                        let back = r.on_data(&received(&mut Arrived::from(data)));
                        Feedback { header: back.header.wrap(), code: back.code }
                    } )*
                }
            }
        }

        /// Any receiver that chooses what to acknowledge.
        #[derive(Clone, Debug)]
        #[allow(clippy::large_enum_variant)] // few flows have one, apart from their other state
        pub enum AnyReporter {
            $( $( #[doc = $summary] $variant($reporter), )? )*
        }

        impl AnyReporter {
            /// As [`Reporter::on_data`].
            pub fn on_data(&mut self, data: &mut Arrived<AnyHeader>) -> Option<AnyHeader> {
                match self {
                    $( $( AnyReporter::$variant(r) => {
                        let header: Option<<$reporter as Reporter>::Header> =
                            r.on_data(&received(data));
                        header.map(Listed::wrap)
                    } )? )*
                }
            }
        }
    };
}

/// The order of service that a queue asks for, by what its line of the table calls it.
macro_rules! service {
    (router, $type:ty, $params:expr) => {
        match <$type as Router>::acks_first($params) {
            true => Service::AcksFirst,
            false => Service::Fifo,
        }
    };
    (scheduler, $type:ty, $params:expr) => {
        Service::Classes(<$type as Scheduler>::plan($params))
    };
}

/// What a scheduler answers.
macro_rules! asked {
    (router, $answer:expr) => {
        unreachable!("a link that is asked for classes has a scheduler")
    };
    (scheduler, $answer:expr) => {
        $answer
    };
}

/// The type of what a queue keeps in a cell.
macro_rules! cell {
    (router, $type:ty) => {
        ()
    };
    (scheduler, $type:ty) => {
        <$type as Scheduler>::Cell
    };
}

/// What a scheduler keeps in a cell; a fresh one if the cell held something else.
macro_rules! kept {
    ($cell:ident, $variant:ident) => {{
        if !matches!($cell, AnyCell::$variant(_)) {
            *$cell = AnyCell::$variant(Default::default());
        }
        match $cell {
            AnyCell::$variant(kept) => kept,
            _ => unreachable!("it has just been put there"),
        }
    }};
}

macro_rules! queues {
    ($( $variant:ident { name: $name:literal, $kind:ident: $type:ty,
        $( version: $version:literal, )? role: $role:ident, summary: $summary:literal, source: $source:literal } )*) => {
        /// The parameters of any queue.
        #[derive(Clone, Debug, PartialEq)]
        pub enum AnyRouterParams {
            $( #[doc = $summary] $variant(<$type as Router>::Params), )*
        }

        /// Any router.
        #[derive(Clone, Debug)]
        #[allow(clippy::large_enum_variant)] // one per link, never moved after the start
        #[repr(u8)] // a tag of its own: to read one that lies in a niche takes longer
        pub enum AnyRouter {
            $( #[doc = $summary] $variant($type), )*
        }

        /// What any scheduler keeps for a flow or a class.
        #[derive(Clone, Copy, Debug, Default)]
        pub enum AnyCell {
            /// Nothing yet.
            #[default]
            Empty,
            $( #[doc = $summary] $variant(cell!($kind, $type)), )*
        }

        /// Every queue.
        pub fn queues() -> impl Iterator<Item = QueueInfo> {
            [ $( QueueInfo {
                name: $name,
                version: version!($( $version )?),
                summary: $summary,
                source: $source,
                role: Role::$role,
                params: <$type as Router>::Params::specs(),
                presets: <$type as Router>::Params::presets(),
                variables: <$type as Router>::VARIABLES,
                reads: kind_of::<<$type as Router>::Header>(),
            }, )* ].into_iter()
        }

        impl AnyRouterParams {
            /// The default parameters of the queue called `name`.
            pub fn named(name: &str) -> Option<AnyRouterParams> {
                match name {
                    $( $name => Some(AnyRouterParams::$variant(Default::default())), )*
                    _ => None,
                }
            }
            /// Sets the parameter called `name`.
            ///
            /// # Errors
            /// As [`Params::set`].
            pub fn set(&mut self, name: &str, value: Value) -> Result<(), Refused> {
                match self { $( AnyRouterParams::$variant(p) => p.set(name, value), )* }
            }
            /// The present value of the parameter called `name`.
            pub fn get(&self, name: &str) -> Option<Value> {
                match self { $( AnyRouterParams::$variant(p) => p.get(name), )* }
            }
            /// The order of service it asks for.
            pub fn service(&self) -> Service {
                match self { $( AnyRouterParams::$variant(p) => service!($kind, $type, p), )* }
            }
            /// Does the router do nothing at all?
            pub fn idle(&self) -> bool {
                match self { $( AnyRouterParams::$variant(_) => <$type as Router>::IDLE, )* }
            }
            /// Does it read a header that every packet bears ([`Header::read`])?
            pub fn reads_fields(&self) -> bool {
                match self {
                    $( AnyRouterParams::$variant(_) => in_fields::<<$type as Router>::Header>(), )*
                }
            }
            /// As [`Header::read`], of the header that it reads.
            pub fn read(&self, fields: &Fields) -> Option<AnyHeader> {
                match self {
                    $( AnyRouterParams::$variant(_) => {
                        <$type as Router>::Header::read(fields).map(Listed::wrap)
                    } )*
                }
            }
            /// The router that these parameters describe.
            pub fn build(&self, context: &RouterContext) -> AnyRouter {
                match self {
                    $( AnyRouterParams::$variant(p) => AnyRouter::$variant(Router::new(p, context)), )*
                }
            }
        }

        impl AnyRouter {
            /// As [`Router::on_arrival`].
            #[inline(always)]
            pub fn on_arrival(
                &mut self, now: Time, packet: Passing<'_, AnyHeader>, backlog: Backlog,
            ) -> Verdict {
                match self {
                    $( AnyRouter::$variant(r) => r.on_arrival(now, typed(packet), backlog), )*
                }
            }
            /// As [`Router::on_departure`].
            #[inline(always)]
            pub fn on_departure(
                &mut self, now: Time, packet: Passing<'_, AnyHeader>, backlog: Backlog,
            ) {
                match self {
                    $( AnyRouter::$variant(r) => r.on_departure(now, typed(packet), backlog), )*
                }
            }
            /// As [`Scheduler::cell`]. All up to [`AnyRouter::on_head`] are asked of schedulers
            /// alone.
            pub fn cell(&self, flow: u32) -> u32 {
                match self { $( AnyRouter::$variant(_r) => asked!($kind, _r.cell(flow)), )* }
            }
            /// As [`Scheduler::draw`].
            pub fn draw(&mut self, now: Time, backlog: Backlog) -> Option<u32> {
                match self { $( AnyRouter::$variant(_r) => asked!($kind, _r.draw(now, backlog)), )* }
            }
            /// As [`Scheduler::classify`].
            pub fn classify(
                &mut self, now: Time, packet: Passing<'_, AnyHeader>, place: &mut Place<'_, AnyCell>,
            ) -> u32 {
                match self {
                    $( AnyRouter::$variant(_r) => asked!($kind, _r.classify(
                        now, typed(packet), &mut placed(place, |cell| kept!(cell, $variant)),
                    )), )*
                }
            }
            /// As [`Scheduler::admit`].
            pub fn admit(
                &mut self, now: Time, packet: Passing<'_, AnyHeader>, place: &mut Place<'_, AnyCell>,
            ) -> Verdict {
                match self {
                    $( AnyRouter::$variant(_r) => asked!($kind, _r.admit(
                        now, typed(packet), &mut placed(place, |cell| kept!(cell, $variant)),
                    )), )*
                }
            }
            /// As [`Scheduler::weight`].
            pub fn weight(&self, class: u32) -> f64 {
                match self { $( AnyRouter::$variant(_r) => asked!($kind, _r.weight(class)), )* }
            }
            /// As [`Scheduler::on_heads`].
            pub fn on_heads(&mut self, since: [Option<Time>; 2]) {
                match self { $( AnyRouter::$variant(_r) => asked!($kind, _r.on_heads(since)), )* }
            }
            /// As [`Scheduler::on_head`].
            pub fn on_head(
                &mut self, now: Time, packet: Passing<'_, AnyHeader>, place: &mut Place<'_, AnyCell>,
            ) -> Verdict {
                match self {
                    $( AnyRouter::$variant(_r) => asked!($kind, _r.on_head(
                        now, typed(packet), &mut placed(place, |cell| kept!(cell, $variant)),
                    )), )*
                }
            }
            /// As [`Router::next_timer`].
            pub fn next_timer(&self) -> Time {
                match self { $( AnyRouter::$variant(r) => r.next_timer(), )* }
            }
            /// As [`Router::on_timer`].
            pub fn on_timer(&mut self, now: Time, backlog: Backlog) {
                match self { $( AnyRouter::$variant(r) => r.on_timer(now, backlog), )* }
            }
            /// As [`Router::on_capacity`].
            pub fn on_capacity(&mut self, now: Time, capacity: Rate) {
                match self { $( AnyRouter::$variant(r) => r.on_capacity(now, capacity), )* }
            }
            /// As [`Router::SHOWS_ARRIVALS`].
            pub fn shows_arrivals(&self) -> bool {
                match self {
                    $( AnyRouter::$variant(_) => {
                        <$type as Router>::SHOWS_ARRIVALS && !<$type as Router>::IDLE
                    } )*
                }
            }
            /// As [`Router::capacity_every`].
            pub fn capacity_every(&self) -> Option<Span> {
                match self { $( AnyRouter::$variant(r) => r.capacity_every(), )* }
            }
            /// As [`Router::retune`]; false when the parameters are another kind's.
            pub fn retune(&mut self, params: &AnyRouterParams, context: &RouterContext) -> bool {
                match (self, params) {
                    $( (AnyRouter::$variant(r), AnyRouterParams::$variant(p)) => r.retune(p, context), )*
                    _ => return false,
                }
                true
            }
            /// As [`Router::probe`].
            pub fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
                match self { $( AnyRouter::$variant(r) => r.probe(sink), )* }
            }
            /// As [`Router::describe`].
            pub fn describe(&self, out: &mut dyn fmt::Write) -> fmt::Result {
                match self { $( AnyRouter::$variant(r) => r.describe(out), )* }
            }
        }
    };
}

/// What a sender answers until its next event.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Answers {
    /// The window in whole packets, at least one.
    window: u32,
    /// Zero: none.
    pacing: Rate,
    next_timer: Time,
}

impl Answers {
    #[inline(always)]
    fn of(sender: &impl Sender) -> Answers {
        let pacing = sender.pacing();
        debug_assert!(pacing != Some(Rate(0)), "a pace of nothing");
        debug_assert!(pacing.is_none() || sender.paces(), "a pace of one that has none");
        Answers {
            window: (sender.cwnd() as u32).max(1), // rounds down and saturates
            pacing: pacing.unwrap_or(Rate(0)),
            next_timer: sender.next_timer(),
        }
    }
}

/// The ACK as its own protocol reads it.
#[inline(always)]
fn opened<H: Listed>(ack: &mut Ack<AnyHeader>) -> Ack<H> {
    let header = H::open(&mut ack.header).copied().unwrap_or_default();
    Ack {
        header,
        now: ack.now,
        delivered: ack.delivered,
        acked: ack.acked,
        lost: ack.lost,
        rtt: ack.rtt,
        srtt: ack.srtt,
        min_rtt: ack.min_rtt,
        in_flight: ack.in_flight,
        recovering: ack.recovering,
        code: ack.code,
        ece: ack.ece,
        marks: ack.marks,
    }
}

/// The data packet as its own protocol's receiver reads it.
#[inline(always)]
fn received<H: Listed>(data: &mut Arrived<AnyHeader>) -> Arrived<H> {
    let opened = |header: &mut AnyHeader| H::open(header).copied().unwrap_or_default();
    let pending = data.pending.as_mut();
    Arrived {
        now: data.now,
        seq: data.seq,
        expected: data.expected,
        size: data.size,
        header: opened(&mut data.header),
        ecn: data.ecn,
        pending: pending.map(|p| Feedback { header: opened(&mut p.header), code: p.code }),
    }
}

/// The packet as one protocol's router reads it.
#[inline(always)]
fn typed<'a, H: Listed>(packet: Passing<'a, AnyHeader>) -> Passing<'a, H> {
    let header = match packet.kind {
        PacketKind::Data => packet.header.and_then(H::open),
        PacketKind::Ack => None,
    };
    Passing {
        header,
        flow: packet.flow,
        size: packet.size,
        kind: packet.kind,
        queued_for: packet.queued_for,
        ecn: packet.ecn,
    }
}

/// The place of a packet as one scheduler sees it.
#[inline(always)]
fn placed<'b, C>(
    place: &'b mut Place<'_, AnyCell>,
    kept: impl FnOnce(&'b mut AnyCell) -> &'b mut C,
) -> Place<'b, C> {
    Place {
        backlog: place.backlog,
        class: place.class,
        queue: place.queue,
        group: place.group,
        label: place.label,
        cell: kept(place.cell),
        drawn: place.drawn,
        idle: place.idle,
        fits: place.fits,
        again: place.again,
    }
}

// The number is the ExID of the header's TCP option in captures: two letters in ASCII. None of them
// is registered with IANA, and none of IANA's may be taken (RFC 6994 section 3.1). A header without
// one is in fields that TCP or IP has anyway, or, as a stamp, on no wire: the sender remembers it.
headers! {
    Xcp(xcp::xcp::XcpHeader) = 0x5843; // "XC"
    Foreign(crate::roles::Numbers) = 0x5059; // "PY"
    Tfrc(rate::tfrc::TfrcHeader) = 0x5446; // "TF"
    Rcp(neighbours::rcp::RcpHeader) = 0x5243; // "RC"
    QuickStart(neighbours::quickstart::QuickStartHeader) = 0x5153; // "QS"
    MaxNet(neighbours::maxnet::MaxNetHeader) = 0x4d4e; // "MN"
    JetMax(neighbours::jetmax::JetMaxHeader) = 0x4a4d; // "JM"
    Mlcp(load::mlcp::MlcpHeader) = 0x4d4c; // "ML"
    Nbit(load::nbit::NbitHeader) = 0x4e42; // "NB"
    Ixcp(xcp::ixcp::IxcpHeader) = 0x4958; // "IX"
    DivisionFree(xcp::xcp_division_free::DivisionFreeHeader) = 0x5844; // "XD"
    XcpCore(xcp::xcp_core::XcpCoreHeader) = 0x584f; // "XO"
    Dpcp(load::dpcp::DpcpHeader);
    Bmcc(load::bmcc::BmccHeader);
    Stamp(tcp::delivery::Stamp);
    Abr(neighbours::abr::RmCell) = 0x4142; // "AB"
    Uno(load::uno::UnoHeader);
    Scone(neighbours::scone::SconeHeader) = 0x534e; // "SN"
    Csig(load::csig::CsigHeader) = 0x4353; // "CS"
}

protocols! {
    Reno { name: "reno", sender: tcp::reno::RenoSender, recovery: Reno, router: None,
        summary: "TCP Reno: slow start, congestion avoidance, fast recovery",
        source: "RFC 5681" }
    NewReno { name: "newreno", sender: tcp::reno::RenoSender, recovery: NewReno, router: None,
        summary: "TCP NewReno: Reno's window, with recovery from several losses per window",
        source: "RFC 5681, RFC 6582" }
    Sack { name: "sack", sender: tcp::reno::RenoSender, recovery: Sack, router: None,
        summary: "TCP SACK: Reno's window with selective acknowledgements",
        source: "RFC 5681, RFC 2018, RFC 6675" }
    Xcp { name: "xcp", sender: xcp::xcp::XcpSender, recovery: Reno, router: Some("xcp"),
        summary: "XCP: routers write each packet's window change into its header",
        source: "Katabi, Handley, Rohrs, SIGCOMM 2002" }
    Vcp { name: "vcp", sender: load::vcp::VcpSender, recovery: Reno, router: Some("vcp"),
        summary: "VCP: two bits of load factor; MI, AI or MD at the end host",
        source: "Xia, Subramanian, Stoica, Kalyanaraman, ToN 2008" }
    Foreign { name: "python", sender: foreign::ForeignSender, recovery: Sack, router: None,
        summary: "A prototype: a Python class, a subclass of clearpipe.Sender",
        source: "the class that the parameter names" }
    Bbr { name: "bbr", sender: Boxed<tcp::bbr::Bbr>, recovery: Sack, router: None,
        summary: "BBR version 1: paces at the bottleneck's rate, with at most two BDPs in flight",
        source: "Cardwell, Cheng, Gunn, Yeganeh, Jacobson, ACM Queue 2016; Linux 5.0's tcp_bbr.c" }
    // 2: double precision, and instants exact where they were whole milliseconds.
    // 3: edition 06 of its draft, with precautionary probes and the undo of spurious recoveries.
    Bbr3 { name: "bbr3", version: 3, sender: Boxed<tcp::bbr3::Bbr3>, recovery: Sack,
        router: None,
        summary: "BBR version 3: bounded by losses above 2 %, leaves headroom, probes every 2 to 3 s",
        source: "draft-ietf-ccwg-bbr-06" }
    Dpcp { name: "dpcp", sender: Boxed<load::dpcp::DpcpSender>, recovery: Reno,
        router: Some("dpcp"),
        summary: "DPCP: four bits of load factor over pairs of packets, two in each",
        source: "Li, Yousefi'zadeh, Distributed ECN-based congestion control, section III" }
    Hstcp { name: "hstcp", sender: Boxed<tcp::hstcp::HstcpSender>, recovery: Sack, router: None,
        summary: "HighSpeed TCP: increase and decrease that depend on the window",
        source: "RFC 3649" }
    Scalable { name: "scalable", sender: Boxed<tcp::scalable::ScalableSender>, recovery: Sack, router: None,
        summary: "Scalable TCP: a constant increase per ACK, a decrease by an eighth",
        source: "Kelly, CCR 33(2), 2003" }
    Htcp { name: "htcp", sender: Boxed<tcp::htcp::HtcpSender>, recovery: Sack, router: None,
        summary: "H-TCP: the increase grows with the time since the last loss; adaptive backoff",
        source: "Leith, Shorten, PFLDnet 2004; draft-leith-tcp-htcp-06" }
    Bic { name: "bic", version: 2, sender: Boxed<tcp::bic::BicSender>, recovery: Sack, router: None,
        summary: "BIC: binary search for the window of the last loss",
        source: "Xu, Harfoush, Rhee, INFOCOM 2004" }
    Cubic { name: "cubic", sender: Boxed<tcp::cubic::CubicSender>, recovery: Sack, router: None,
        summary: "CUBIC: a cubic function of the time since the last loss",
        source: "RFC 9438" }
    Cubic2005 { name: "cubic-2005", sender: Boxed<tcp::cubic_2005::Cubic2005Sender>, recovery: Sack, router: None,
        summary: "CUBIC as first published, with S_max and beta = 0.2",
        source: "Rhee, Xu, PFLDnet 2005" }
    Tahoe { name: "tahoe", sender: tcp::tahoe::TahoeSender, recovery: Tahoe, router: None,
        summary: "TCP Tahoe: every loss starts again from one packet",
        source: "Jacobson, SIGCOMM 1988" }
    Dctcp { name: "dctcp", sender: Boxed<tcp::dctcp::DctcpSender>, recovery: Sack, router: None,
        summary: "DCTCP: a decrease in proportion to the share of marked packets",
        source: "RFC 8257" }
    Westwood { name: "westwood", sender: Boxed<tcp::westwood::WestwoodSender>, recovery: Sack, router: None,
        summary: "TCP Westwood+: a loss reduces the window to what the measured rate needs",
        source: "Grieco, Mascolo, CCR 34(2), 2004" }
    Illinois { name: "illinois", sender: Boxed<tcp::illinois::IllinoisSender>, recovery: Sack, router: None,
        summary: "TCP-Illinois: AIMD whose parameters follow the queueing delay",
        source: "Liu, Basar, Srikant, Performance Evaluation 65, 2008" }
    Compound { name: "compound", sender: Boxed<tcp::compound::CompoundSender>, recovery: Sack, router: None,
        summary: "Compound TCP: Reno plus a delay-based window",
        source: "Tan, Song, Zhang, Sridharan, INFOCOM 2006; draft-sridharan-tcpm-ctcp-02" }
    Ltcp { name: "ltcp", sender: Boxed<tcp::ltcp::LtcpSender>, recovery: Sack, router: None,
        summary: "Layered TCP: as many packets per RTT as the window has layers",
        source: "Bhandarkar, Jain, Reddy, PFLDnet 2005; draft-bhandarkar-ltcp-01" }
    Gaimd { name: "gaimd", sender: tcp::gaimd::GaimdSender, recovery: Sack, router: None,
        summary: "General AIMD(alpha, beta), TCP-friendly with (0.31, 7/8)",
        source: "Yang, Lam, ICNP 2000" }
    Binomial { name: "binomial", sender: tcp::binomial::BinomialSender, recovery: Sack, router: None,
        summary: "Binomial congestion control: SQRT, IIAD, or k and l",
        source: "Bansal, Balakrishnan, INFOCOM 2001" }
    Fast { name: "fast", sender: tcp::fast::Fast, recovery: Sack, router: None,
        summary: "FAST TCP: keeps alpha packets in the queues",
        source: "Wei, Jin, Low, Hegde, ToN 2006" }
    Vegas { name: "vegas", sender: tcp::vegas::Vegas, recovery: Reno, router: None,
        summary: "TCP Vegas: one packet more or less per RTT, by its backlog in the queues",
        source: "Brakmo, Peterson, JSAC 1995" }
    Udp { name: "udp", sender: rate::udp::Udp, reporter: rate::udp::UdpReporter,
        recovery: None, router: None,
        summary: "UDP: sends what the application offers, without ACKs or congestion control",
        source: "RFC 768" }
    Tfrc { name: "tfrc", sender: Boxed<rate::tfrc::Tfrc>,
        reporter: rate::tfrc::TfrcReporter, recovery: None, router: None,
        summary: "TFRC: TCP's rate by an equation, smoothly and without retransmission",
        source: "RFC 5348" }
    Rcp { name: "rcp", sender: neighbours::rcp::RcpSender, recovery: Sack,
        router: Some("rcp"), summary: "RCP: every flow paces at the one rate that its links offer",
        source: "Dukkipati, Kobayashi, Zhang-Shen, McKeown, IWQoS 2005" }
    QuickStart { name: "quickstart", sender: neighbours::quickstart::QuickStartSender,
        recovery: Sack, router: Some("quickstart"),
        summary: "Quick-Start: SACK whose first packet asks the routers for a rate",
        source: "RFC 4782" }
    MaxNet { name: "maxnet", sender: neighbours::maxnet::MaxNetSender, recovery: Sack,
        router: Some("maxnet"), summary: "MaxNet: a rate set by the largest price on the path",
        source: "Wydrowski, Zukerman, IEEE Communications Letters 2002" }
    JetMax { name: "jetmax", sender: neighbours::jetmax::JetMaxSender, recovery: Sack,
        router: Some("jetmax"), summary: "JetMax: the bottleneck shares what other flows leave among its own",
        source: "Zhang, Leonard, Loguinov, INFOCOM 2006" }
    VcpFriendly { name: "vcp-friendly", sender: load::vcp_friendly::VcpFriendlySender,
        recovery: Reno, router: Some("vcp"),
        summary: "TCP-friendly VCP: alpha follows TCP's throughput; needs marking = \"red\" at the router",
        source: "Xia, Subramanian, Stoica, Kalyanaraman, ToN 2008, section VI-C" }
    VcpEndhost { name: "vcp-endhost", sender: Boxed<experimental::vcp_endhost::VcpEndhostSender>,
        recovery: Sack, router: None,
        summary: "EXPERIMENTAL: VCP without routers: load from RTT variation, overload from losses",
        source: "after Xia, Subramanian, Stoica, Kalyanaraman, ToN 2008, section VIII: future work" }
    Mlcp { name: "mlcp", sender: load::mlcp::MlcpSender, recovery: Decoupled, router: Some("mlcp"),
        summary: "MLCP: four bits of load factor over a period that follows the mean RTT; ignores losses",
        source: "Qazi, Znati, On the design of load factor based congestion control protocols" }
    Nbit { name: "nbit", sender: load::nbit::NbitSender, recovery: Decoupled, router: Some("nbit"),
        summary: "MLCP's relatives: 2, 3, 4, 15 or infinitely many bits, four decrease schemes",
        source: "Qazi, Znati, On the design of load factor based congestion control protocols, section 2" }
    Bmcc { name: "bmcc", sender: Boxed<load::bmcc::BmccSender>, recovery: Sack,
        router: Some("bmcc"),
        summary: "BMCC: a load factor sent bit by bit, with each packet's IP identification as threshold",
        source: "Qazi, Andrew, Znati, ToN 2012; ADPM: Andrew, Hanly, Chan, Cui, Comm. Letters 2006" }
    Ixcp { name: "ixcp", sender: xcp::ixcp::IxcpSender, recovery: Reno, router: Some("ixcp"),
        summary: "iXCP: XCP whose packets name their bottleneck, the only link that shuffles them",
        source: "Zan, Yang, Improving XCP to achieve max-min fair bandwidth allocation, section III" }
    DivisionFree { name: "xcp-division-free", sender: xcp::xcp_division_free::DivisionFreeSender,
        recovery: Reno, router: Some("xcp-division-free"),
        summary: "XCP with a header that spares routers the division",
        source: "Katabi, Handley, Rohrs, SIGCOMM 2002, appendix A" }
    Pxcp { name: "pxcp", sender: xcp::xcp::XcpSender, recovery: Reno, router: Some("pxcp"),
        summary: "P-XCP: XCP's sender, for routers that scale spare bandwidth by N/N_b",
        source: "Zhou, Yeung, Li, GLOBECOM 2004, as Zan and Yang describe it (sections IV-H and VI)" }
    Misbehaving { name: "xcp-misbehaving", sender: experimental::xcp_misbehaving::MisbehavingSender,
        recovery: Reno, router: Some("xcp"),
        summary: "EXPERIMENTAL: XCP senders that ignore feedback or lie about window and RTT",
        source: "after Katabi, Handley, Rohrs, SIGCOMM 2002, section 7" }
    XcpFriendly { name: "xcp-friendly", sender: Boxed<xcp::xcp_friendly::XcpFriendlySender>,
        recovery: Reno, router: None,
        summary: "XCP that falls back to TCP Reno on paths without XCP routers",
        source: "Katabi, Handley, Rohrs, SIGCOMM 2002, section 8.2; RFC 5681" }
    XcpCore { name: "xcp-core", sender: xcp::xcp_core::XcpCoreSender, recovery: Reno,
        router: Some("xcp-core"),
        summary: "XCP between border routers: one header per RTT, windows weighted by the flows carried",
        source: "Katabi, Handley, Rohrs, SIGCOMM 2002, section 8.1" }
    IxcpPlus { name: "ixcp-plus", sender: experimental::ixcp_plus::IxcpPlusSender, recovery: Reno,
        router: Some("ixcp-plus"),
        summary: "EXPERIMENTAL: iXCP with fractional windows and a bottleneck by majority",
        source: "after Zan, Yang, Improving XCP to achieve max-min fair bandwidth allocation" }
    Mpcp { name: "mpcp", sender: Boxed<load::mpcp::MpcpSender>, recovery: Reno,
        router: Some("mpcp"),
        summary: "EXPERIMENTAL: DPCP with chains of up to four packets, two bits of the load factor in each",
        source: "after Li, Yousefi'zadeh, Distributed ECN-based congestion control, section V; CCR 39(5), 2009" }
    XcpR { name: "xcp-r", sender: xcp::xcp_r::XcpRSender, recovery: Reno, router: Some("xcp"),
        summary: "XCP-r: the receiver adds up the feedback, so that none is lost with an ACK",
        source: "Lopez-Pacheco, Pham, MICC-ICON 2005, as Zan and Yang cite it (section VI)" }
    Osu { name: "osu", sender: neighbours::osu::OsuSender, recovery: Sack, router: Some("osu"),
        summary: "OSU scheme: every flow divides its rate by the load, and by a little more or less",
        source: "Jain, Kalyanaraman, Viswanathan, ATM Forum 94-0883; Performance Evaluation 31, 1997" }
    Erica { name: "erica", sender: neighbours::erica::EricaSender, recovery: Sack,
        router: Some("erica"), summary: "ERICA: the larger of the fair share and the rate over the load",
        source: "Jain, Kalyanaraman, Goyal, Fahmy, Viswanathan, ATM Forum 96-1172" }
    Charny { name: "charny", sender: neighbours::charny::CharnySender, recovery: Sack,
        router: Some("charny"),
        summary: "Explicit rates by consistent marking: equal parts of what flows limited elsewhere leave",
        source: "Charny, MIT/LCS/TR-601, 1994; Charny, Clark, Jain, ICC 1995" }
    Decbit { name: "decbit", sender: neighbours::decbit::DecbitSender, recovery: Sack,
        router: Some("decbit"), summary: "DECbit: the majority of the bits in every second window decides",
        source: "Ramakrishnan, Jain, TOCS 8(2), 1990" }
    Mecn { name: "mecn", sender: Boxed<tcp::mecn::MecnSender>, recovery: Sack,
        router: Some("mecn"), summary: "Multi-level ECN: a different decrease for each level of congestion",
        source: "Durresi, Sridharan, Liu, Goyal, Jain, SCI 2001" }
    Jersey { name: "jersey", sender: Boxed<tcp::jersey::JerseySender>, recovery: Sack, router: None,
        summary: "TCP-Jersey: the estimated bandwidth sets the window if routers warn; other losses do not",
        source: "Xu, Tian, Ansari, JSAC 22(4), 2004" }
    AimdQueue { name: "aimd-queue", sender: Boxed<tcp::aimd_queue::AimdQueueSender>, recovery: Sack,
        router: None, summary: "AIMD that decreases to RTTmin/RTTmax, so that small buffers keep the link full",
        source: "Shorten, Leith, ToN 15(4), 2007" }
    Uno { name: "uno", sender: load::uno::UnoSender, recovery: Decoupled, router: Some("uno"),
        summary: "EXPERIMENTAL: UNO: MLCP with its load factor spread over one bit of sixteen packets",
        source: "after Vasic, Kuntimaddi, Kostic, COMSNETS 2009" }
    Prague { name: "prague", sender: Boxed<tcp::prague::Prague>, recovery: Sack, router: None,
        summary: "Prague: L4S's scalable control by the share of marks, independent of RTTs up to 25 ms",
        source: "L4STeam/udp_prague; draft-briscoe-iccrg-prague-congestion-control; RFC 9331" }
    Copa { name: "copa", sender: Boxed<tcp::copa::Copa>, recovery: Sack, router: None,
        summary: "Copa: a target rate from the queueing delay; competes if others fill the buffer",
        source: "Arun, Balakrishnan, NSDI 2018" }
    Abc { name: "abc", sender: Boxed<neighbours::abc::AbcSender>, recovery: Sack,
        router: Some("abc"),
        summary: "ABC: each packet says accelerate or brake; CUBIC's window for other bottlenecks",
        source: "Goyal, Agarwal, Netravali, Alizadeh, Balakrishnan, NSDI 2020" }
    Xcpw { name: "xcpw", sender: xcp::xcp::XcpSender, recovery: Reno, router: Some("xcpw"),
        summary: "XCPw: XCP's sender, for routers that recompute the feedback for every packet",
        source: "Goyal, Agarwal, Netravali, Alizadeh, Balakrishnan, NSDI 2020: their code" }
    Scone { name: "scone", sender: Boxed<neighbours::scone::SconeSender>, recovery: Sack,
        router: Some("scone"),
        summary: "SCONE: CUBIC that asks the network for rate advice, and may follow it",
        source: "draft-ietf-scone-protocol; RFC 9438" }
    Pcp { name: "pcp", sender: Boxed<rate::pcp::Pcp>, recovery: Sack, router: None,
        summary: "EXPERIMENTAL: PCP: bursts at the rate it would like, taken where no delay grows",
        source: "after Anderson, Collins, Krishnamurthy, Zahorjan, NSDI 2006" }
    VcpCsig { name: "vcp-csig", sender: Boxed<load::csig::CsigSender<load::csig::VcpLaw>>,
        recovery: Reno, router: Some("csig"),
        summary: "VCP's end host with its load factor from a CSIG tag of n bits",
        source: "draft-ravi-ippm-csig-01; Xia, Subramanian, Stoica, Kalyanaraman, ToN 2008" }
    MlcpCsig { name: "mlcp-csig", sender: Boxed<load::csig::CsigSender<load::csig::MlcpLaw>>,
        recovery: Decoupled, router: Some("csig"),
        summary: "MLCP's end host with its load factor from a CSIG tag of n bits",
        source: "draft-ravi-ippm-csig-01; Qazi, Znati, On the design of load factor based congestion control protocols" }
    NbitCsig { name: "nbit-csig", sender: Boxed<load::csig::CsigSender<load::csig::NbitLaw>>,
        recovery: Decoupled, router: Some("csig"),
        summary: "An n-bit scheme's end host with its load factor from a CSIG tag",
        source: "draft-ravi-ippm-csig-01; Qazi, Znati, On the design of load factor based congestion control protocols" }
    DpcpCsig { name: "dpcp-csig", sender: Boxed<load::csig::CsigSender<load::csig::DpcpLaw>>,
        recovery: Reno, router: Some("csig"),
        summary: "DPCP's end host with its load factor from one CSIG tag of n bits, without pairs",
        source: "draft-ravi-ippm-csig-01; Li, Yousefi'zadeh, Distributed ECN-based congestion control" }
    BmccCsig { name: "bmcc-csig", sender: Boxed<load::csig::CsigSender<load::csig::BmccLaw>>,
        recovery: Sack, router: Some("csig"),
        summary: "BMCC's end host with its load factor from a CSIG tag of n bits",
        source: "draft-ravi-ippm-csig-01; Qazi, Andrew, Znati, ToN 2012" }
}

queues! {
    DropTail { name: "droptail", router: aqm::droptail::DropTail, role: Policy,
        summary: "First in, first out; arrivals beyond the limit are dropped",
        source: "RFC 7567" }
    Red { name: "red", router: aqm::red::Red, role: Policy,
        summary: "Random early detection, gentle, with ECN",
        source: "Floyd, Jacobson, ToN 1993; gentle: Floyd 2000; RFC 3168" }
    Xcp { name: "xcp", router: xcp::xcp::XcpRouter, role: Feedback,
        summary: "XCP's efficiency and fairness controllers",
        source: "Katabi, Handley, Rohrs, SIGCOMM 2002, section 3.5 and appendix A" }
    Vcp { name: "vcp", router: load::vcp::VcpRouter, role: Feedback,
        summary: "VCP's load factor, quantised to two bits; ACKs are served first",
        source: "Xia, Subramanian, Stoica, Kalyanaraman, ToN 2008, section III" }
    Foreign { name: "python", router: foreign::ForeignRouter, role: Policy,
        summary: "A prototype: a Python class, a subclass of clearpipe.Router",
        source: "the class that the parameter names" }
    Ared { name: "ared", router: aqm::ared::Ared, role: Policy,
        summary: "Adaptive RED: max_p follows the average queue",
        source: "Floyd, Gummadi, Shenker 2001" }
    Rem { name: "rem", router: aqm::rem::Rem, role: Policy,
        summary: "Random exponential marking: a price from the queue and the input rate",
        source: "Athuraliya, Li, Low, Yin, IEEE Network 2001" }
    Avq { name: "avq", router: aqm::avq::Avq, role: Policy,
        summary: "Adaptive virtual queue: marks what a slower queue would drop",
        source: "Kunniyur, Srikant, SIGCOMM 2001" }
    Vq { name: "vq", router: aqm::vq::Vq, role: Policy,
        summary: "Virtual queue at a fixed fraction of the capacity",
        source: "Gibbens, Kelly, Automatica 1999; ns-2's Vq" }
    Pi { name: "pi", router: aqm::pi::Pi, role: Policy,
        summary: "Proportional-integral controller of the queue",
        source: "Hollot, Misra, Towsley, Gong, INFOCOM 2001" }
    Pie { name: "pie", router: aqm::pie::Pie, role: Policy,
        summary: "PIE: proportional-integral controller of the delay",
        source: "RFC 8033" }
    Blue { name: "blue", router: aqm::blue::Blue, role: Policy,
        summary: "Blue: a probability from losses and idle times",
        source: "Feng, Shin, Kandlur, Saha, ToN 2002" }
    Dpcp { name: "dpcp", router: load::dpcp::DpcpRouter, role: Feedback,
        summary: "DPCP's load factor in nine levels, two bits in each packet of a pair",
        source: "Li, Yousefi'zadeh, Distributed ECN-based congestion control, section III-C" }
    Rcp { name: "rcp", router: neighbours::rcp::RcpRouter, role: Feedback,
        summary: "RCP's rate, the same for all flows",
        source: "Dukkipati, Kobayashi, Zhang-Shen, McKeown, IWQoS 2005, section 3" }
    QuickStart { name: "quickstart", router: neighbours::quickstart::QuickStartRouter,
        role: Feedback, summary: "Quick-Start's approval of rate requests",
        source: "RFC 4782, section 3.3 and appendix C" }
    MaxNet { name: "maxnet", router: neighbours::maxnet::MaxNetRouter, role: Feedback,
        summary: "MaxNet's price of a link",
        source: "Wydrowski, Zukerman, IEEE Communications Letters 2002" }
    JetMax { name: "jetmax", router: neighbours::jetmax::JetMaxRouter, role: Feedback,
        summary: "JetMax's count of a link's own flows, and its offer to them",
        source: "Zhang, Leonard, Loguinov, INFOCOM 2006" }
    DropFront { name: "dropfront", scheduler: aqm::dropfront::DropFront, role: Policy,
        summary: "First in, first out; an arrival beyond the limit drops from the front",
        source: "Lakshman, Neidhardt, Ott, INFOCOM 1996" }
    Choke { name: "choke", scheduler: aqm::choke::Choke, role: Policy,
        summary: "CHOKe: drops an arrival and a random waiting packet if both are of one flow",
        source: "Pan, Prabhakar, Psounis, INFOCOM 2000" }
    Rio { name: "rio", scheduler: aqm::rio::Rio, role: Policy,
        summary: "RIO: two REDs, for packets within and beyond their flow's profile",
        source: "Clark, Fang, ToN 1998" }
    Csfq { name: "csfq", scheduler: aqm::csfq::Csfq, role: Policy,
        summary: "CSFQ core: drops by the packet's label and the estimated fair rate",
        source: "Stoica, Shenker, Zhang, SIGCOMM 1998" }
    CsfqEdge { name: "csfq-edge", scheduler: aqm::csfq::CsfqEdge, role: Policy,
        summary: "CSFQ edge: labels packets with their flow's rate, then acts as a core",
        source: "Stoica, Shenker, Zhang, SIGCOMM 1998" }
    Drr { name: "drr", scheduler: aqm::drr::Drr, role: Policy,
        summary: "Deficit round robin over flows or groups; drops from the longest queue",
        source: "Shreedhar, Varghese, SIGCOMM 1995" }
    Wfq { name: "wfq", scheduler: aqm::wfq::Wfq, role: Policy,
        summary: "Weighted fair queueing by start tags, over flows or groups",
        source: "Goyal, Vin, Cheng, SIGCOMM 1996" }
    Priority { name: "priority", scheduler: aqm::priority::Priority, role: Policy,
        summary: "Strict priority: ACKs before data, or one group before the next",
        source: "RFC 2475, RFC 3246" }
    CoDel { name: "codel", scheduler: aqm::codel::CoDel, role: Policy,
        summary: "Controlled delay: drops at the head while packets wait too long",
        source: "RFC 8289" }
    FqCoDel { name: "fq-codel", scheduler: aqm::fq_codel::FqCoDel, role: Policy,
        summary: "Hashed flow queues, new ones first, with CoDel in each",
        source: "RFC 8290" }
    // Version 2 of these two: `mean_every` has another default. A resolved scenario says the
    // default, so runs tell it anyway; the version tells it of files that leave the key out.
    Mlcp { name: "mlcp", router: load::mlcp::MlcpRouter, version: 2, role: Feedback,
        summary: "MLCP's load factor in sixteen levels, over a period that follows the mean RTT",
        source: "Qazi, Znati, On the design of load factor based congestion control protocols, section 3.2" }
    Nbit { name: "nbit", router: load::nbit::NbitRouter, version: 2, role: Feedback,
        summary: "MLCP's load factor in as many levels as the scheme's bits hold",
        source: "Qazi, Znati, On the design of load factor based congestion control protocols, section 2" }
    Bmcc { name: "bmcc", router: load::bmcc::BmccRouter, role: Feedback,
        summary: "BMCC's load factor, compared with each packet's threshold; ACKs are served first",
        source: "Qazi, Andrew, Znati, ToN 2012; ADPM: Andrew, Hanly, Chan, Cui, Comm. Letters 2006" }
    Ixcp { name: "ixcp", router: xcp::ixcp::IxcpRouter, role: Feedback,
        summary: "iXCP: XCP's controllers, the fairness controller for the link's own flows only",
        source: "Zan, Yang, Improving XCP to achieve max-min fair bandwidth allocation, section III" }
    DivisionFree { name: "xcp-division-free",
        router: xcp::xcp_division_free::DivisionFreeRouter,
        role: Feedback, summary: "XCP's controllers for the header without divisions",
        source: "Katabi, Handley, Rohrs, SIGCOMM 2002, appendix A" }
    Pxcp { name: "pxcp", router: xcp::pxcp::PxcpRouter, role: Feedback,
        summary: "P-XCP: XCP's controllers with the spare bandwidth scaled by N/N_b",
        source: "Zhou, Yeung, Li, GLOBECOM 2004, as Zan and Yang describe it (sections IV-H and VI)" }
    XcpPolice { name: "xcp-police", scheduler: xcp::xcp_police::XcpPolice, role: Policy,
        summary: "Tests XCP flows at the edge with feedback; flags and isolates those that misbehave",
        source: "Katabi, Handley, Rohrs, SIGCOMM 2002, section 7" }
    XcpFriendly { name: "xcp-friendly", scheduler: xcp::xcp_friendly::XcpFriendlyRouter,
        role: Policy, summary: "A queue for XCP and a RED queue for all others, weighted to make their rates equal",
        source: "Katabi, Handley, Rohrs, SIGCOMM 2002, section 8.2" }
    XcpCore { name: "xcp-core", router: xcp::xcp_core::XcpCoreRouter, role: Feedback,
        summary: "XCP's controllers for the control packets of macro-flows",
        source: "Katabi, Handley, Rohrs, SIGCOMM 2002, section 8.1" }
    IxcpPlus { name: "ixcp-plus",
        router: experimental::ixcp_plus::IxcpPlusRouter, role: Feedback,
        summary: "EXPERIMENTAL: iXCP whose links give spare bandwidth to the flows they hold back",
        source: "after Zan, Yang, Improving XCP to achieve max-min fair bandwidth allocation" }
    XcpLaw { name: "xcp-law", router: xcp::xcp_law::XcpLawRouter, role: Feedback,
        summary: "XCP with a binomial law in place of AIMD in the fairness controller",
        source: "Katabi, Handley, Rohrs, SIGCOMM 2002, section 3.5.2; Bansal, Balakrishnan, INFOCOM 2001" }
    Mpcp { name: "mpcp", router: load::mpcp::MpcpRouter, role: Feedback,
        summary: "EXPERIMENTAL: DPCP's load factor in up to 81 levels, two bits in each packet of a chain",
        source: "after Li, Yousefi'zadeh, Distributed ECN-based congestion control, section V; CCR 39(5), 2009" }
    Osu { name: "osu", scheduler: neighbours::osu::OsuRouter, role: Policy,
        summary: "OSU scheme's switch: measures the load of an interval against a band around its target",
        source: "Jain, Kalyanaraman, Viswanathan, ATM Forum 94-0883; Performance Evaluation 31, 1997" }
    Erica { name: "erica", scheduler: neighbours::erica::EricaRouter, role: Policy,
        summary: "ERICA's switch: load, active flows, and the largest grant of the previous interval",
        source: "Jain, Kalyanaraman, Goyal, Fahmy, Viswanathan, ATM Forum 96-1172" }
    Charny { name: "charny", scheduler: neighbours::charny::CharnyRouter, role: Policy,
        summary: "Charny's switch: records every flow's rate and advertises what is left for the others",
        source: "Charny, MIT/LCS/TR-601, 1994; Charny, Clark, Jain, ICC 1995" }
    Decbit { name: "decbit", router: neighbours::decbit::DecbitRouter, role: Policy,
        summary: "DECbit: marks while the average queue of two busy cycles is one packet or more",
        source: "Ramakrishnan, Jain, TOCS 8(2), 1990" }
    Mecn { name: "mecn", router: aqm::mecn::Mecn, role: Policy,
        summary: "Multi-level ECN: RED with a mark for incipient and one for moderate congestion",
        source: "Durresi, Sridharan, Liu, Goyal, Jain, SCI 2001" }
    XcpInteger { name: "xcp-integer", router: xcp::xcp_integer::XcpIntegerRouter, role: Feedback,
        summary: "XCP whose feedback is in whole units, as in a router without fractions",
        source: "after Zhang, Henderson, INFOCOM 2005" }
    Uno { name: "uno", router: load::uno::UnoRouter, role: Feedback,
        summary: "EXPERIMENTAL: UNO: marks if MLCP's load code is at or above the packet's level",
        source: "after Vasic, Kuntimaddi, Kostic, COMSNETS 2009" }
    DualPi2 { name: "dualpi2", scheduler: aqm::dualpi2::DualPi2, role: Policy,
        summary: "L4S's coupled dual queue: classic packets picked with p'^2, scalable ones with k p'",
        source: "RFC 9332; Linux's sch_dualpi2.c" }
    // 2: on a trace, opportunities count as unused only where nothing waits. Constant lines have
    // the runs that they had.
    Abc { name: "abc", router: neighbours::abc::AbcRouter, version: 2, role: Feedback,
        summary: "ABC's accelerates and brakes, one bit per packet",
        source: "Goyal, Agarwal, Netravali, Alizadeh, Balakrishnan, NSDI 2020, section 3" }
    Xcpw { name: "xcpw", router: xcp::xcpw::XcpwRouter, role: Feedback,
        summary: "XCP's feedback at every departure over a sliding window, without fairness control",
        source: "Goyal, Agarwal, Netravali, Alizadeh, Balakrishnan, NSDI 2020: their code" }
    Scone { name: "scone", scheduler: neighbours::scone::SconeRouter, role: Policy,
        summary: "SCONE: advises each flow of a rate and may police it; first in, first out",
        source: "draft-ietf-scone-protocol" }
    Step { name: "step", router: aqm::step::Step, role: Policy,
        summary: "A step: marks what finds more than a threshold waiting, as switches for DCTCP do",
        source: "Alizadeh et al., SIGCOMM 2010, section 3.1; RFC 8257, section 3.1" }
    Csig { name: "csig", router: load::csig::CsigRouter, role: Feedback,
        summary: "CSIG: the available bandwidth or delay of the worst hop, in a tag of n bits",
        source: "draft-ravi-ippm-csig-01; UEC's CSIG in SAI 1.18" }
}

//! THE table: one line per header, per end-host protocol and per queue. Enums, names, parameters,
//! documentation and property tests are expanded from it; nothing else lists protocols.

use units::{Rate, Time};

use crate::params::{Params, Refused, Spec, Value};
use crate::roles::{
    Ack, Arrived, Backlog, Departing, EcnUse, Feedback, Header, Loss, PacketKind, Passing,
    Receiver, Router, RouterContext, Sender, SenderContext, Service, Variable, Verdict,
};

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
    /// The same, and lost retransmissions are found like other losses; the controller hears of
    /// timeouts only (MLCP section 3.6, DPCP section III-C).
    Decoupled,
    /// Nothing is sent again; what is lost is passed over.
    None,
}

impl Recovery {
    /// All of them.
    pub const ALL: [Recovery; 6] = [
        Recovery::Tahoe,
        Recovery::Reno,
        Recovery::NewReno,
        Recovery::Sack,
        Recovery::Decoupled,
        Recovery::None,
    ];

    /// The name in scenario files.
    pub fn name(self) -> &'static str {
        match self {
            Recovery::Tahoe => "tahoe",
            Recovery::Reno => "reno",
            Recovery::NewReno => "newreno",
            Recovery::Sack => "sack",
            Recovery::Decoupled => "decoupled",
            Recovery::None => "none",
        }
    }

    /// Does the receiver say which segments beyond the cumulative number it has?
    pub fn selective(self) -> bool {
        matches!(self, Recovery::Sack | Recovery::Decoupled)
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
    /// One line.
    pub summary: &'static str,
    /// Where it is specified.
    pub source: &'static str,
    /// Its loss recovery unless the scenario says otherwise.
    pub recovery: Recovery,
    /// The queue that must be on the path for it to work as meant.
    pub router: Option<&'static str>,
    /// Its parameters.
    pub params: &'static [Spec],
    /// The sender's inner variables that a probe shows.
    pub variables: &'static [Variable],
    /// The fields of its header.
    pub header: &'static [Variable],
}

/// One queue as users see it.
#[derive(Clone, Copy, Debug)]
pub struct QueueInfo {
    /// Its name in scenario files.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Where it is specified.
    pub source: &'static str,
    /// What it is.
    pub role: Role,
    /// Its parameters.
    pub params: &'static [Spec],
    /// Its inner variables that a probe shows.
    pub variables: &'static [Variable],
}

macro_rules! headers {
    ($( $variant:ident($type:ty) = $exid:literal; )*) => {
        /// Any protocol's header.
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub enum AnyHeader {
            /// No header: the ECN bits or plain TCP.
            #[default]
            None,
            $( #[doc = concat!(stringify!($variant), "'s header.")] $variant($type), )*
        }

        impl AnyHeader {
            /// Every header's identifier, in the order of the table.
            pub const EXIDS: &'static [u16] = &[$( $exid ),*];

            /// What names the header in a TCP option (RFC 6994's ExID); `None` without a header.
            pub fn exid(&self) -> Option<u16> {
                match self {
                    AnyHeader::None => None,
                    $( AnyHeader::$variant(_) => Some($exid), )*
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
            /// As [`Header::decode`] of the header that `exid` names; `None` too if it names none.
            pub fn decode(exid: u16, wire: &[u8]) -> Option<AnyHeader> {
                match exid {
                    $( $exid => <$type as Header>::decode(wire).map(Header::wrap), )*
                    _ => None,
                }
            }
            /// As [`Header::probe`].
            pub fn probe(&self, sink: &mut dyn FnMut(&'static str, f64)) {
                match self {
                    AnyHeader::None => {}
                    $( AnyHeader::$variant(header) => header.probe(sink), )*
                }
            }
        }
    };
}

macro_rules! protocols {
    ($( $variant:ident { name: $name:literal, sender: $type:ty, recovery: $recovery:ident,
        router: $router:expr, summary: $summary:literal, source: $source:literal } )*) => {
        /// The parameters of any end-host protocol.
        #[derive(Clone, Debug, PartialEq)]
        pub enum AnySenderParams {
            $( #[doc = $summary] $variant(<$type as Sender>::Params), )*
        }

        /// Any sender.
        #[derive(Clone, Debug)]
        pub enum AnySender {
            $( #[doc = $summary] $variant($type), )*
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
                summary: $summary,
                source: $source,
                recovery: Recovery::$recovery,
                router: $router,
                params: <$type as Sender>::Params::specs(),
                variables: <$type as Sender>::VARIABLES,
                header: <<$type as Sender>::Header as Header>::VARIABLES,
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
            /// The sender and the receiver that these parameters describe.
            pub fn build(&self, context: &SenderContext) -> (AnySender, AnyReceiver) {
                match self {
                    $( AnySenderParams::$variant(p) => (
                        AnySender::$variant(Sender::new(p, context)),
                        AnyReceiver::$variant(<$type as Sender>::receiver(p, context)),
                    ), )*
                }
            }
        }

        impl AnySender {
            /// As [`Sender::ecn`].
            pub fn ecn(&self) -> EcnUse {
                match self { $( AnySender::$variant(s) => s.ecn(), )* }
            }
            /// As [`Sender::on_send`].
            #[inline]
            pub fn on_send(&mut self, segment: &Departing) -> AnyHeader {
                match self { $( AnySender::$variant(s) => s.on_send(segment).wrap(), )* }
            }
            /// As [`Sender::on_ack`]; a header of another protocol reads as the default one.
            #[inline]
            pub fn on_ack(&mut self, ack: &mut Ack<AnyHeader>) {
                match self { $( AnySender::$variant(s) => s.on_ack(&opened(ack)), )* }
            }
            /// As [`Sender::on_loss`].
            pub fn on_loss(&mut self, loss: &Loss) {
                match self { $( AnySender::$variant(s) => s.on_loss(loss), )* }
            }
            /// As [`Sender::next_timer`].
            #[inline]
            pub fn next_timer(&self) -> Time {
                match self { $( AnySender::$variant(s) => s.next_timer(), )* }
            }
            /// As [`Sender::on_timer`].
            pub fn on_timer(&mut self, now: Time) {
                match self { $( AnySender::$variant(s) => s.on_timer(now), )* }
            }
            /// As [`Sender::cwnd`].
            #[inline]
            pub fn cwnd(&self) -> f64 {
                match self { $( AnySender::$variant(s) => s.cwnd(), )* }
            }
            /// As [`Sender::pacing`].
            #[inline]
            pub fn pacing(&self) -> Option<Rate> {
                match self { $( AnySender::$variant(s) => s.pacing(), )* }
            }
            /// As [`Sender::probe`].
            pub fn probe(&self, sink: &mut dyn FnMut(&'static str, f64)) {
                match self { $( AnySender::$variant(s) => s.probe(sink), )* }
            }
        }

        impl AnyReceiver {
            /// As [`Receiver::on_data`].
            #[inline]
            pub fn on_data(&mut self, data: &mut Arrived<AnyHeader>) -> Feedback<AnyHeader> {
                match self {
                    $( AnyReceiver::$variant(r) => {
                        let back = r.on_data(&received(data));
                        Feedback { header: back.header.wrap(), code: back.code }
                    } )*
                }
            }
        }
    };
}

macro_rules! queues {
    ($( $variant:ident { name: $name:literal, router: $type:ty, role: $role:ident,
        summary: $summary:literal, source: $source:literal } )*) => {
        /// The parameters of any queue.
        #[derive(Clone, Debug, PartialEq)]
        pub enum AnyRouterParams {
            $( #[doc = $summary] $variant(<$type as Router>::Params), )*
        }

        /// Any router.
        #[derive(Clone, Debug)]
        #[allow(clippy::large_enum_variant)] // one per link, never moved after the start
        pub enum AnyRouter {
            $( #[doc = $summary] $variant($type), )*
        }

        /// Every queue.
        pub fn queues() -> impl Iterator<Item = QueueInfo> {
            [ $( QueueInfo {
                name: $name,
                summary: $summary,
                source: $source,
                role: Role::$role,
                params: <$type as Router>::Params::specs(),
                variables: <$type as Router>::VARIABLES,
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
                match self { $( AnyRouterParams::$variant(p) => <$type as Router>::service(p), )* }
            }
            /// Does the router do nothing at all?
            pub fn idle(&self) -> bool {
                match self { $( AnyRouterParams::$variant(_) => <$type as Router>::IDLE, )* }
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
            /// As [`Router::retune`]; false when the parameters are another kind's.
            pub fn retune(&mut self, params: &AnyRouterParams, context: &RouterContext) -> bool {
                match (self, params) {
                    $( (AnyRouter::$variant(r), AnyRouterParams::$variant(p)) => r.retune(p, context), )*
                    _ => return false,
                }
                true
            }
            /// As [`Router::probe`].
            pub fn probe(&self, sink: &mut dyn FnMut(&'static str, f64)) {
                match self { $( AnyRouter::$variant(r) => r.probe(sink), )* }
            }
        }
    };
}

/// The ACK as its own protocol reads it.
#[inline(always)]
fn opened<H: Header>(ack: &mut Ack<AnyHeader>) -> Ack<H> {
    let header = H::open(&mut ack.header).copied().unwrap_or_default();
    Ack {
        header,
        now: ack.now,
        delivered: ack.delivered,
        acked: ack.acked,
        rtt: ack.rtt,
        srtt: ack.srtt,
        min_rtt: ack.min_rtt,
        in_flight: ack.in_flight,
        recovering: ack.recovering,
        code: ack.code,
        ece: ack.ece,
    }
}

/// The data packet as its own protocol's receiver reads it.
#[inline(always)]
fn received<H: Header>(data: &mut Arrived<AnyHeader>) -> Arrived<H> {
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
fn typed<'a, H: Header>(packet: Passing<'a, AnyHeader>) -> Passing<'a, H> {
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

// The number is the ExID of the header's TCP option in captures: two letters in ASCII. None of them
// is registered with IANA, and none of IANA's may be taken (RFC 6994 section 3.1).
headers! {
    Xcp(crate::explicit::xcp::XcpHeader) = 0x5843; // "XC"
    Mlcp(crate::explicit::mlcp::MlcpHeader) = 0x4d4c; // "ML"
    Nbit(crate::explicit::nbit::NbitHeader) = 0x4e42; // "NB"
}

protocols! {
    Reno { name: "reno", sender: crate::tcp::reno::Reno, recovery: Reno, router: None,
        summary: "TCP Reno: slow start, congestion avoidance, fast recovery",
        source: "RFC 5681" }
    NewReno { name: "newreno", sender: crate::tcp::reno::Reno, recovery: NewReno, router: None,
        summary: "TCP NewReno: Reno's window with recovery from several losses per window",
        source: "RFC 5681, RFC 6582" }
    Sack { name: "sack", sender: crate::tcp::reno::Reno, recovery: Sack, router: None,
        summary: "TCP SACK: Reno's window with selective acknowledgements",
        source: "RFC 5681, RFC 2018, RFC 6675" }
    Xcp { name: "xcp", sender: crate::explicit::xcp::XcpSender, recovery: Reno, router: Some("xcp"),
        summary: "XCP: the router writes each packet's change of window",
        source: "Katabi, Handley, Rohrs, SIGCOMM 2002" }
    Vcp { name: "vcp", sender: crate::explicit::vcp::VcpSender, recovery: Reno, router: Some("vcp"),
        summary: "VCP: two bits of load factor, MI, AI or MD at the end host",
        source: "Xia, Subramanian, Stoica, Kalyanaraman, ToN 2008" }
    VcpFriendly { name: "vcp-friendly", sender: crate::explicit::vcp_friendly::VcpFriendlySender,
        recovery: Reno, router: Some("vcp"),
        summary: "TCP-friendly VCP: alpha by TCP's throughput; for a router with marking = \"red\"",
        source: "Xia, Subramanian, Stoica, Kalyanaraman, ToN 2008, section VI-C" }
    VcpEndhost { name: "vcp-endhost", sender: crate::explicit::vcp_endhost::VcpEndhostSender,
        recovery: Sack, router: None,
        summary: "EXPERIMENTAL: VCP without routers, load from the RTT's variation, overload from losses",
        source: "after Xia, Subramanian, Stoica, Kalyanaraman, ToN 2008, section VIII: future work" }
    Mlcp { name: "mlcp", sender: crate::explicit::mlcp::MlcpSender, recovery: Decoupled, router: Some("mlcp"),
        summary: "MLCP: four bits of load factor over a period that follows the mean RTT; losses cut nothing",
        source: "Qazi, Znati, On the design of load factor based congestion control protocols" }
    Nbit { name: "nbit", sender: crate::explicit::nbit::NbitSender, recovery: Decoupled, router: Some("nbit"),
        summary: "MLCP's relatives with 2, 3, 4, 15 or infinitely many bits and four schemes of decrease",
        source: "Qazi, Znati, On the design of load factor based congestion control protocols, section 2" }
}

queues! {
    DropTail { name: "droptail", router: crate::aqm::droptail::DropTail, role: Policy,
        summary: "First in first out, arrivals beyond the limit are dropped",
        source: "RFC 7567" }
    Red { name: "red", router: crate::aqm::red::Red, role: Policy,
        summary: "Random early detection, gentle, with ECN",
        source: "Floyd, Jacobson, ToN 1993; gentle: Floyd 2000; RFC 3168" }
    Xcp { name: "xcp", router: crate::explicit::xcp::XcpRouter, role: Feedback,
        summary: "XCP's efficiency and fairness controllers",
        source: "Katabi, Handley, Rohrs, SIGCOMM 2002, section 3.5 and appendix A" }
    Vcp { name: "vcp", router: crate::explicit::vcp::VcpRouter, role: Feedback,
        summary: "VCP's load factor, quantised to two bits; ACKs are served first",
        source: "Xia, Subramanian, Stoica, Kalyanaraman, ToN 2008, section III" }
    Mlcp { name: "mlcp", router: crate::explicit::mlcp::MlcpRouter, role: Feedback,
        summary: "MLCP's load factor in sixteen levels, over a period that follows the mean RTT",
        source: "Qazi, Znati, On the design of load factor based congestion control protocols, section 3.2" }
    Nbit { name: "nbit", router: crate::explicit::nbit::NbitRouter, role: Feedback,
        summary: "MLCP's load factor in as many levels as the scheme's bits hold",
        source: "Qazi, Znati, On the design of load factor based congestion control protocols, section 2" }
}

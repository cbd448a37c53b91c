//! One flow's story, for `explain`: the last ACK, the last sign of congestion, and what became of
//! the last packet at each link. Kept while a run goes; [`crate::observe::explain`] tells it.

use cc::registry::AnyHeader;
use cc::roles::{Ecn, LossKind, PacketKind};
use transport::LossEvent;
use units::{Span, Time};

use crate::flow::Source;
use crate::link::{Fate, Link};
use crate::packet::{NONE, Packet};

/// What is known of the flow that is watched.
#[derive(Clone, Debug)]
pub struct Watch {
    pub flow: u32,
    /// When it sent a packet last.
    pub sent_at: Option<Time>,
    pub ack: Option<AckSeen>,
    pub loss: Option<LossSeen>,
    /// Its data's links, in order.
    pub links: Vec<LinkSeen>,
    /// The source at its last event.
    before: Before,
    /// The ACK and the loss that the running event is about.
    ack_now: Option<AckSeen>,
    loss_now: Option<LossEvent>,
}

/// Which link is looked at, and when.
#[derive(Clone, Copy, Debug)]
pub struct Visit {
    pub now: Time,
    pub link: u32,
}

/// A link of the path.
#[derive(Clone, Debug)]
pub struct LinkSeen {
    pub link: u32,
    /// The flow's last data packet that left it or was dropped.
    pub last: Option<PacketSeen>,
    /// Those that came and have not left, with their handles.
    waiting: Vec<(u32, PacketSeen)>,
    /// The link's marks at the last look.
    marks: u64,
}

/// An ACK, and what it changed.
#[derive(Clone, Copy, Debug)]
pub struct AckSeen {
    pub at: Time,
    /// The next segment that the receiver expected.
    pub cumulative: u64,
    /// Did it carry SACK blocks?
    pub sack: bool,
    /// Its RTT sample; none if its data was sent twice.
    pub rtt: Option<Span>,
    pub ece: bool,
    pub code: Ecn,
    pub header: AnyHeader,
    pub before: Before,
    pub after: Before,
}

/// A sign of congestion.
#[derive(Clone, Copy, Debug)]
pub struct LossSeen {
    pub at: Time,
    pub kind: LossKind,
    /// Segments that were taken for lost.
    pub lost: Option<u32>,
    pub before: Before,
    pub after: Before,
}

/// The source at one instant.
#[derive(Clone, Copy, Debug, Default)]
pub struct Before {
    pub cwnd: f64,
    pub in_flight: u32,
    pub una: u64,
    sent: u64,
    timeouts: u32,
}

impl Before {
    fn of(source: &Source) -> Before {
        Before {
            cwnd: source.sender.cwnd(),
            in_flight: source.outbound.in_flight(),
            una: source.outbound.una(),
            sent: source.sent,
            timeouts: source.outbound.timeouts(),
        }
    }
}

/// A data packet at a link.
#[derive(Clone, Copy, Debug)]
pub struct PacketSeen {
    pub seq: u64,
    pub retransmission: bool,
    pub arrived: Time,
    /// What waited when it came [packets].
    pub met: u32,
    /// When its service began, and how long it had waited; `None`: it was dropped.
    pub served: Option<(Time, Span)>,
    /// Did the line lose it?
    pub lost: bool,
    /// Did this link change its ECN bits?
    pub marked: bool,
    /// What they were; `None` if a mark on arrival has overwritten them.
    pub code_in: Option<Ecn>,
    pub code_out: Ecn,
    pub header_in: AnyHeader,
    pub header_out: AnyHeader,
}

impl Watch {
    /// A story that has not begun, of a flow with this source whose data crosses these links.
    pub fn new(flow: u32, source: &Source, links: &[u32]) -> Watch {
        let seen = |&link| LinkSeen { link, last: None, waiting: Vec::new(), marks: 0 };
        Watch {
            flow,
            sent_at: None,
            ack: None,
            loss: None,
            links: links.iter().map(seen).collect(),
            before: Before::of(source),
            ack_now: None,
            loss_now: None,
        }
    }

    pub fn has_link(&self, link: u32) -> bool {
        self.links.iter().any(|seen| seen.link == link)
    }

    pub fn before_ack(&mut self, now: Time, flow: u32, source: &Source, ack: &Packet) {
        if flow != self.flow {
            return;
        }
        let before = Before::of(source);
        self.ack_now = Some(AckSeen {
            at: now,
            cumulative: ack.seq,
            sack: ack.sack() != NONE,
            rtt: (!ack.retransmission).then(|| now.since(ack.sent_at)),
            ece: ack.signal,
            code: ack.ecn,
            header: ack.header,
            before,
            after: before,
        });
    }

    pub fn on_loss(&mut self, _now: Time, flow: u32, loss: &LossEvent) {
        if flow == self.flow {
            self.loss_now = Some(*loss);
        }
    }

    /// The source's event is over.
    pub fn on_source(&mut self, now: Time, flow: u32, source: &Source) {
        if flow != self.flow {
            return;
        }
        let (before, after) = (self.before, Before::of(source));
        if let Some(ack) = self.ack_now.take() {
            self.ack = Some(AckSeen { after, ..ack });
        }
        let told = self.loss_now.take().map(|loss| (loss.kind, Some(loss.lost)));
        let timeout = (after.timeouts > before.timeouts).then_some((LossKind::Timeout, None));
        if let Some((kind, lost)) = told.or(timeout) {
            self.loss = Some(LossSeen { at: now, kind, lost, before, after });
        }
        if after.sent > before.sent {
            self.sent_at = Some(now);
        }
        self.before = after;
    }

    pub fn on_arrival(&mut self, at: Visit, l: &Link, (id, packet): (u32, &Packet), fate: Fate) {
        let Some(place) = self.links.iter_mut().find(|seen| seen.link == at.link) else { return };
        let marked = std::mem::replace(&mut place.marks, l.counts.marks) < l.counts.marks;
        if packet.flow != self.flow || packet.kind != PacketKind::Data {
            return;
        }
        let met = l.queue.backlog().packets - u32::from(fate == Fate::Wait);
        let seen = PacketSeen {
            seq: packet.seq,
            retransmission: packet.retransmission,
            arrived: at.now,
            met,
            served: None,
            lost: false,
            marked,
            code_in: (!marked).then_some(packet.ecn),
            code_out: packet.ecn,
            header_in: packet.header,
            header_out: packet.header,
        };
        match fate {
            Fate::Dropped => place.last = Some(seen),
            Fate::Serve | Fate::Wait => place.waiting.push((id, seen)),
        }
    }

    pub fn on_service(
        &mut self,
        at: Visit,
        l: &Link,
        (id, packet): (u32, &Packet),
        queued_for: Span,
    ) {
        let Some(seen) = self.links.iter_mut().find(|seen| seen.link == at.link) else { return };
        let marked = std::mem::replace(&mut seen.marks, l.counts.marks) < l.counts.marks;
        let Some(i) = seen.waiting.iter().position(|&(waiting, _)| waiting == id) else { return };
        let (_, before) = seen.waiting.remove(i);
        seen.last = Some(PacketSeen {
            served: Some((at.now, queued_for)),
            marked: before.marked || marked,
            code_out: packet.ecn,
            header_out: packet.header,
            ..before
        });
    }

    /// A packet is dropped out of a link's queue.
    pub fn on_dropped(&mut self, link: u32, id: u32) {
        let Some(seen) = self.links.iter_mut().find(|seen| seen.link == link) else { return };
        if let Some(i) = seen.waiting.iter().position(|&(waiting, _)| waiting == id) {
            seen.last = Some(seen.waiting.remove(i).1);
        }
    }

    /// The line has lost the packet that left the link's queue last.
    pub fn on_lost(&mut self, link: u32, packet: &Packet) {
        let Some(seen) = self.links.iter_mut().find(|seen| seen.link == link) else { return };
        if packet.flow == self.flow
            && packet.kind == PacketKind::Data
            && let Some(last) = &mut seen.last
        {
            last.lost = true;
        }
    }
}

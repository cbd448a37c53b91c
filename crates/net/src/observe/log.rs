//! Logs of sources ([`capture::qlog`]): what an event does to a source that is logged is what is
//! different after it, so nothing on a packet's way knows of logs.

use std::collections::BTreeSet;

use capture::qlog::{AckHeard, Again, News, Sent};
use capture::{Segments, qlog};
use transport::{Mending, Outbound};
use units::Time;

use crate::flow::Source;
use crate::observe::tap::{blocks, sender_state};
use crate::packet::NONE;
use crate::world::{Due, INDEX_BITS, MAX_INDEX, World};

/// What is remembered for logs.
#[derive(Debug, Default)]
pub struct Logs {
    /// The sources that the next event may reach.
    before: Vec<Before>,
    /// By flow: the segments that count as lost and were not sent again since.
    waiting: Vec<BTreeSet<u64>>,
    lost: Vec<u64>,
    sent: Vec<Sent>,
    variables: Vec<(&'static str, f64)>,
}

/// A source before an event.
#[derive(Debug)]
struct Before {
    flow: u32,
    ack: Option<AckHeard>,
    /// The last packet in the line from the source.
    last: u32,
}

impl Logs {
    /// Finds the segments that count as lost since the last event: those that wait to be sent
    /// again, and those that were sent again at once, but for those that waited before.
    fn find_lost(&mut self, flow: u32, outbound: &Outbound) {
        let flow = flow as usize;
        if flow >= self.waiting.len() {
            self.waiting.resize_with(flow + 1, BTreeSet::new);
        }
        let mut now = BTreeSet::new();
        outbound.lost_segments(&mut |seq| _ = now.insert(seq));
        let before = std::mem::replace(&mut self.waiting[flow], now);
        let again = self.sent.iter().filter(|sent| sent.again == Some(Again::Hole));
        let resent = again.map(|sent| sent.seq).filter(|&seq| outbound.resent_as_lost(seq));
        let mut lost: BTreeSet<u64> = resent.collect();
        lost.extend(&self.waiting[flow]);
        self.lost.clear();
        self.lost.extend(lost.difference(&before));
    }
}

impl World {
    /// The sources that this event may reach: a host's own, and those next to it in a chain of
    /// proxies.
    fn reached(&self, event: u32) -> [Option<u32>; 2] {
        let (due, flow) = (event >> INDEX_BITS, event & (MAX_INDEX - 1));
        let is = |of: Due| of as u32 == due;
        if is(Due::AckDown) {
            [Some(flow), self.relays.before(flow)]
        } else if is(Due::FlowTimer) || is(Due::Pace) {
            [Some(flow), None]
        } else if is(Due::Down) {
            [None, self.relays.after(flow)]
        } else {
            [None, None]
        }
    }

    /// Looks at what the next event may reach.
    #[cold]
    pub(crate) fn before_event(&mut self, now: Time, event: u32) {
        let acknowledges = event >> INDEX_BITS == Due::AckDown as u32;
        self.taps.logs.before.clear();
        for (place, flow) in self.reached(event).into_iter().enumerate() {
            let Some(flow) = flow.filter(|&flow| self.taps.logs_flow(flow)) else { continue };
            let source = &self.sources[flow as usize];
            let comes = acknowledges && place == 0 && source.ack_down.due() == now;
            let ack = if comes { self.ack_at(now, source) } else { None };
            let last = source.up.last();
            self.taps.logs.before.push(Before { flow, ack, last });
        }
    }

    /// The ACK that is about to reach a source.
    fn ack_at(&self, now: Time, source: &Source) -> Option<AckHeard> {
        let id = source.ack_down.packets().head();
        if id == NONE {
            return None;
        }
        let packet = &self.pool[id];
        Some(AckHeard {
            number: source.acks_arrived,
            size: packet.size,
            cumulative: packet.seq,
            sack: blocks(&self.pool, packet),
            rtt: (!packet.retransmission).then(|| now.since(packet.sent_at)),
            ecn: packet.ecn,
            ece: packet.signal,
            header: packet.header,
        })
    }

    /// Shows the recorder what the event that was looked at has done.
    #[cold]
    pub(crate) fn after_event(&mut self, now: Time) {
        let mut before = std::mem::take(&mut self.taps.logs.before);
        for one in before.drain(..) {
            self.log(now, &one);
        }
        self.taps.logs.before = before;
    }

    fn log(&mut self, now: Time, before: &Before) {
        let flow = before.flow;
        let source = &self.sources[flow as usize];
        if !source.started {
            return;
        }
        let outbound = &source.outbound;
        let logs = &mut self.taps.logs;
        logs.sent.clear();
        for packet in source.up.behind(&self.pool, before.last) {
            let again = packet.retransmission.then(|| {
                if outbound.resent_as_probe(packet.seq) { Again::Probe } else { Again::Hole }
            });
            let (seq, size, ecn, header) = (packet.seq, packet.size, packet.ecn, packet.header);
            logs.sent.push(Sent { seq, size, ecn, cwr: packet.signal, again, header });
        }
        logs.find_lost(flow, outbound);
        logs.variables.clear();
        let annals = &self.annals[flow as usize];
        source.sender.probe(&mut |name, value| logs.variables.push((name, value)));
        let news = News {
            ack: before.ack,
            lost: &logs.lost,
            sent: &logs.sent,
            state: sender_state(flow, source),
            rtts: outbound.min_rtt().zip(outbound.rtt_variation()),
            in_flight: (!annals.reports).then(|| outbound.in_flight()),
            pacing: source.sender.pacing(),
            mending: match outbound.mending() {
                Mending::Nothing => qlog::Mending::Nothing,
                Mending::Fast => qlog::Mending::Fast,
                Mending::Timeout => qlog::Mending::Timeout,
            },
            by_time: outbound.finds_by_time(),
            variables: &logs.variables,
            segments: Segments {
                full_bytes: self.data_bytes,
                last_seq: source.last_seq,
                last_bytes: annals.last_bytes,
                first_byte: source.sender.first_byte(),
            },
        };
        if let Some(recorder) = &mut self.taps.recorder {
            recorder.news(now, &news);
        }
    }
}

//! Both halves over a channel that loses, reorders and duplicates, under windows that jump.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use cc::registry::Recovery;
use cc::roles::LossKind;
use clearpipe_transport::{AckIn, Config, Evidence, Inbound, Outbound, SackBlocks};
use proptest::prelude::*;
use units::random::Stream;
use units::{Span, Time};

use crate::naive::Naive;
use crate::naive_rack::NaiveRack;

#[derive(Clone, Copy, Debug)]
struct Channel {
    loss: f64,
    duplication: f64,
    marking: f64,
    /// Delays are uniform in 10 ms to this [ms].
    max_delay: f64,
    max_cwnd: f64,
}

#[derive(Clone, Debug)]
enum Packet {
    Data { seq: u64, cwr: bool, ce: bool, sent: Option<Time> },
    Ack { cumulative: u64, sack: SackBlocks, ece: bool, sent: Option<Time> },
}

/// One transfer, its channel and, for SACK and RACK, the naive sender beside the real one.
struct Run {
    channel: Channel,
    total: u64,
    now: Time,
    stream: Stream,
    sender: Outbound,
    receiver: Inbound,
    /// Are lost segments given up ([`Recovery::Dccp`])?
    gives_up: bool,
    naive: Option<Naive>,
    rack: Option<NaiveRack>,
    /// Does the receiver tell what has come twice?
    tells_twice: bool,
    arrivals: BinaryHeap<Reverse<(Time, u64)>>,
    packets: BTreeMap<u64, Packet>,
    received: BTreeSet<u64>,
    delivered: u64,
    /// The segment time of the last data packet, for the delayed ACK.
    echo: Option<Time>,
}

impl Run {
    fn new(config: &Config, channel: Channel, total: u64, seed: u64) -> Run {
        let sack = config.recovery == Recovery::Sack;
        Run {
            channel,
            total,
            now: Time::ZERO,
            stream: Stream::new(seed, 0, "channel"),
            sender: Outbound::new(config, Some(total)),
            receiver: Inbound::new(config),
            gives_up: config.recovery == Recovery::Dccp,
            naive: sack.then(|| Naive::new(total, config.dup_thresh, config.limited_transmit)),
            rack: (config.recovery == Recovery::Rack && config.undo.is_none())
                .then(|| NaiveRack::new(config.dup_thresh)),
            tells_twice: config.recovery == Recovery::Rack,
            arrivals: BinaryHeap::new(),
            packets: BTreeMap::new(),
            received: BTreeSet::new(),
            delivered: 0,
            echo: None,
        }
    }

    /// Where nothing is sent again: all ends, in whatever way. A gap that is forgotten before any
    /// ACK of it has come through counts as delivered.
    fn finish_without_repair(&mut self) {
        self.send();
        for _ in 0..200_000 {
            if self.sender.finished() {
                break;
            }
            self.step();
        }
        assert!(self.sender.finished(), "still at {} of {}", self.sender.una(), self.total);
        assert_eq!((self.sender.nxt(), self.sender.retransmitted()), (self.total, 0));
        assert!(self.delivered <= self.total);
        assert_eq!((self.sender.deadline(), self.sender.in_flight()), (Time::NEVER, 0));
    }

    fn finish(&mut self) {
        self.send();
        for _ in 0..200_000 {
            if self.sender.finished() {
                break;
            }
            self.step();
            self.check();
        }
        assert!(self.sender.finished(), "still at {} of {}", self.sender.una(), self.total);
        assert_eq!((self.received.len() as u64, self.delivered), (self.total, self.total));
        assert_eq!(self.receiver.delivered(), self.total);
        assert_eq!(self.sender.deadline(), Time::NEVER);
        assert_eq!(self.sender.in_flight(), 0);
    }

    /// The next thing that happens.
    fn step(&mut self) {
        let arrival = self.arrivals.peek().map_or(Time::NEVER, |next| next.0.0);
        let timers = self.sender.deadline().min(self.receiver.deadline());
        assert!(arrival.min(timers) < Time::NEVER, "nothing will ever happen again");
        self.now = arrival.min(timers);
        if arrival <= timers {
            let Reverse((_, id)) = self.arrivals.pop().expect("peeked at");
            match self.packets.remove(&id).expect("on its way") {
                Packet::Data { seq, cwr, ce, sent } => self.on_data(seq, cwr, ce, sent),
                ack @ Packet::Ack { .. } => self.on_ack(&ack),
            }
        } else if self.receiver.deadline() <= self.sender.deadline() {
            self.acknowledge();
        } else {
            self.on_timeout();
        }
        self.send();
    }

    fn on_data(&mut self, seq: u64, cwr: bool, ce: bool, sent: Option<Time>) {
        let outcome = self.receiver.on_data(self.now, seq, ce, cwr);
        // What comes after it was given up counts for nothing.
        let new = self.received.insert(seq);
        assert!(outcome.new == new || self.gives_up && new, "segment {seq}");
        self.echo = sent;
        if outcome.ack_now {
            self.acknowledge();
        }
        assert!(outcome.ack_now || self.receiver.deadline() < Time::NEVER);
    }

    fn acknowledge(&mut self) {
        let ack = self.receiver.ack(self.now);
        let sack = if ack.sack { self.receiver.sack_blocks() } else { SackBlocks::default() };
        let gap = (0..).find(|seq| !self.received.contains(seq));
        assert!(Some(ack.cumulative) == gap || self.gives_up && gap < Some(ack.cumulative));
        for (place, block) in sack.as_slice().iter().enumerate() {
            assert!((block.start..block.end).all(|seq| self.received.contains(&seq)));
            // RFC 2883: what has come twice is within what has come.
            if self.tells_twice && place == 0 {
                continue;
            }
            assert!(!self.received.contains(&(block.start - 1)));
            assert!(!self.received.contains(&block.end));
        }
        let (cumulative, ece, sent) = (ack.cumulative, ack.ece, self.echo);
        self.carry(&Packet::Ack { cumulative, sack, ece, sent });
    }

    fn on_ack(&mut self, packet: &Packet) {
        let Packet::Ack { cumulative, sack, ece, sent } = packet else { unreachable!() };
        let rtt = sent.map(|sent| self.now.since(sent));
        let ack = AckIn { cumulative: *cumulative, sack: sack.as_slice(), rtt, ece: *ece };
        let una = self.sender.una();
        let outcome = self.sender.on_ack(self.now, &ack);
        self.delivered += u64::from(outcome.delivered);
        assert_eq!(self.sender.una(), una + u64::from(outcome.acked));
        assert_eq!(outcome.finished, self.sender.finished());
        assert_eq!(outcome.recovering, self.sender.recovering());
        let times = self.times();
        if let Some(rack) = &mut self.rack {
            rack.on_ack(self.now, *cumulative, sack.as_slice(), times);
        }
        let fast = outcome.loss.is_some_and(|loss| loss.kind == LossKind::DupAcks);
        let Some(naive) = &mut self.naive else { return };
        assert_eq!(fast, naive.on_ack(*cumulative, sack.as_slice()));
        assert_eq!(naive.una + naive.sacked.len() as u64, self.delivered);
        if let Some(loss) = outcome.loss.filter(|_| fast) {
            let holes = (naive.una..naive.nxt).filter(|seq| !naive.sacked.contains(seq));
            assert_eq!(holes.filter(|&seq| naive.is_lost(seq)).count(), loss.lost as usize);
            // (4.3), whatever the window.
            let segment = self.sender.next_segment(self.now, 1).expect("fast retransmit");
            assert_eq!((segment.seq, segment.retransmission), (self.sender.una(), true));
            self.transmit(segment.seq, true, segment.cwr);
        }
    }

    fn on_timeout(&mut self) {
        let found = self.sender.on_timer(self.now);
        let (least, srtt) = self.times();
        if let Some(rack) = &mut self.rack {
            match found.map(|loss| loss.kind) {
                Some(LossKind::Timeout) => rack.on_timeout(self.now, least, srtt),
                _ => rack.detect_loss(self.now, least, srtt),
            }
            return self.check();
        }
        if self.tells_twice {
            return; // RACK with undo, beside which there is no naive sender
        }
        let loss = found.expect("a timer that finds no loss");
        assert_eq!(loss.kind, LossKind::Timeout);
        assert_eq!(self.sender.in_flight(), 0);
        let Some(naive) = &mut self.naive else { return };
        naive.on_timeout();
        let first = naive.resend_first();
        assert_eq!(self.sender.next_segment(self.now, 1).map(|segment| segment.seq), Some(first));
        self.transmit(first, true, false);
    }

    /// RACK.min_RTT and SRTT.
    fn times(&self) -> (Span, Span) {
        let known = |span: Option<Span>| span.unwrap_or(Span::ZERO);
        (known(self.sender.min_rtt()), known(self.sender.srtt()))
    }

    fn send(&mut self) {
        let cwnd = self.stream.uniform(0.5, self.channel.max_cwnd);
        let window = (cwnd as u64).max(1);
        loop {
            let room = self.sender.has_room(window);
            let nxt = self.sender.nxt();
            let segment = self.sender.next_segment(self.now, window);
            assert_eq!(room, segment.is_some());
            if let Some(naive) = &mut self.naive {
                assert_eq!(segment.map(|segment| segment.seq), naive.next(window));
            }
            let Some(segment) = segment else { break };
            assert_eq!(segment.retransmission, segment.seq < nxt);
            self.transmit(segment.seq, segment.retransmission, segment.cwr);
            self.check();
        }
    }

    fn check(&self) {
        assert!(u64::from(self.sender.in_flight()) <= self.sender.outstanding());
        let idle = self.sender.outstanding() == 0;
        assert_eq!(idle, self.sender.deadline() == Time::NEVER);
        if let Some(rack) = &self.rack {
            assert_eq!(u64::from(self.sender.in_flight()), rack.pipe());
            for seq in self.sender.una()..self.sender.nxt() {
                assert_eq!(rack.is_lost(seq), self.sender.is_lost(seq), "segment {seq}");
            }
        }
        let Some(naive) = &self.naive else { return };
        let pipe = naive.pipe().min(self.sender.outstanding());
        assert_eq!(u64::from(self.sender.in_flight()), pipe);
        assert_eq!(naive.in_recovery, self.sender.recovering());
        for seq in (naive.una..naive.nxt).filter(|seq| !naive.sacked.contains(seq)) {
            assert_eq!(naive.is_lost(seq), self.sender.is_lost(seq), "segment {seq}");
        }
    }

    fn transmit(&mut self, seq: u64, again: bool, cwr: bool) {
        self.sender.on_sent(self.now);
        if let Some(rack) = &mut self.rack {
            rack.transmit(seq, self.now);
        }
        let ce = self.stream.chance(self.channel.marking);
        let sent = (!again).then_some(self.now);
        self.carry(&Packet::Data { seq, cwr, ce, sent });
    }

    fn carry(&mut self, packet: &Packet) {
        let copies = 1 + u64::from(self.stream.chance(self.channel.duplication));
        for _ in 0..copies {
            if self.stream.chance(self.channel.loss) {
                continue;
            }
            let delay = self.stream.uniform(0.010, self.channel.max_delay / 1000.0);
            let id = self.packets.keys().last().map_or(0, |id| id + 1);
            self.arrivals.push(Reverse((self.now + Span::from_secs_f64(delay), id)));
            self.packets.insert(id, packet.clone());
        }
    }
}

fn reliable() -> impl Iterator<Item = Recovery> {
    let repairs = |recovery: &Recovery| !matches!(recovery, Recovery::None | Recovery::Dccp);
    Recovery::ALL.into_iter().filter(repairs)
}

fn configs() -> impl Strategy<Value = Config> {
    let recovery = prop::sample::select(reliable().collect::<Vec<_>>());
    let delayed = prop::option::of(Just(Span::from_millis(40)));
    (recovery, 1..5_u32, delayed, any::<bool>(), any::<bool>()).prop_map(
        |(recovery, dup_thresh, delayed_ack, limited_transmit, prr)| Config {
            recovery,
            dup_thresh,
            min_rto: Span::from_millis(100),
            max_rto: Span::from_secs(2),
            delayed_ack,
            limited_transmit,
            prr,
            ..Config::default()
        },
    )
}

fn channels() -> impl Strategy<Value = Channel> {
    (0.0..0.3, 0.0..0.1, 0.0..0.1, 10.0..60.0, 1.0..80.0).prop_map(
        |(loss, duplication, marking, max_delay, max_cwnd)| Channel {
            loss,
            duplication,
            marking,
            max_delay,
            max_cwnd,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 250,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_transfer_finishes_and_delivers_each_segment_once(
        config in configs(),
        channel in channels(),
        total in 0..300_u64,
        seed in any::<u64>(),
    ) {
        let mut run = Run::new(&config, channel, total, seed);
        run.finish();
        // Another one in its memory is as good as new.
        let mut next = Run::new(&config, channel, total, seed.wrapping_add(1));
        next.sender.take_memory(run.sender);
        next.receiver.take_memory(run.receiver);
        next.finish();
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 250,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn without_repair_every_transfer_ends_and_nothing_is_sent_twice(
        config in configs(),
        channel in channels(),
        total in 0..2500_u64,
        seed in any::<u64>(),
    ) {
        let config = Config { recovery: Recovery::Dccp, ..config };
        let channel = Channel { duplication: 0.0, ..channel };
        Run::new(&config, channel, total, seed).finish_without_repair();
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 250,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn with_undo_every_transfer_finishes_too(
        config in configs(),
        channel in channels(),
        undo in prop::sample::select(vec![Evidence::Dsack, Evidence::Timestamps]),
        total in 0..300_u64,
        seed in any::<u64>(),
    ) {
        let undo = Some(undo);
        Run::new(&Config { recovery: Recovery::Rack, undo, ..config }, channel, total, seed).finish();
    }
}

#[test]
fn heavy_loss_both_ways() {
    for recovery in reliable() {
        let config = Config { recovery, max_rto: Span::from_secs(2), ..Config::default() };
        let channel =
            Channel { loss: 0.3, duplication: 0.0, marking: 0.0, max_delay: 40.0, max_cwnd: 30.0 };
        for seed in 0..10 {
            Run::new(&config, channel, 500, seed).finish();
        }
    }
}

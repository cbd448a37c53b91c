//! DualPI2 beside Linux's: the fate of 10^6 packets at a link of 100 Mb/s, each with the time of
//! its departure, and every p', equal those of sch_dualpi2.c (Linux 6.17) built in user space with
//! the same draws. The digests below are that program's output.

use cc::classes::Place;
use cc::params::Value;
use cc::registry::{AnyCell, AnyRouter, AnyRouterParams};
use cc::roles::{Ecn, Limit, PacketKind, Passing, RouterContext, Verdict};
use clearpipe_queue::{Queue, Waiting};
use units::random::Stream;
use units::{Rate, Span, Time};

const PACKETS: u64 = 1_000_000;
/// A byte takes so long [ns].
const BYTE_NS: u64 = 80;
const MTU: u32 = 1500;
/// The most that packets are apart, in turns of 20,000 packets [ns]: 75 to 230 Mb/s.
const GAPS: [u64; 6] = [240_000, 200_000, 150_000, 300_000, 230_000, 100_000];

/// splitmix64, and FNV-1a over the bytes of words.
struct Words {
    state: u64,
    digest: u64,
}

impl Words {
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn note(&mut self, words: &[u64]) {
        for byte in words.iter().flat_map(|word| word.to_le_bytes()) {
            self.digest = (self.digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

struct Packet {
    size: u32,
    /// As it came, and as it is.
    came: Ecn,
    ecn: Ecn,
    class: u32,
}

struct Link {
    router: AnyRouter,
    queue: Queue,
    limit: u32,
    busy: u64,
    packets: Vec<Packet>,
    words: Words,
    /// Passed, marked and dropped.
    fates: [u64; 3],
}

fn time(ns: u64) -> Time {
    Time::ZERO + Span(ns * 1000)
}

impl Link {
    fn new(seed: u64, limit: u32, set: &[(&str, Value)]) -> Link {
        let mut params = AnyRouterParams::named("dualpi2").expect("a queue");
        set.iter().for_each(|&(name, value)| assert_eq!(params.set(name, value), Ok(()), "{name}"));
        let packets = Limit::Packets(limit);
        let router = params.build(&RouterContext {
            link: 0,
            capacity: Rate(100_000_000),
            limit: packets,
            packet_bytes: MTU,
            stream: Stream::new(1, 0, "dualpi2"),
            host: &cc::foreign::Nobody,
        });
        let words = Words { state: seed, digest: 0xcbf2_9ce4_8422_2325 };
        let queue = Queue::new(params.service(), packets, MTU);
        Link { router, queue, limit, busy: 0, packets: Vec::new(), words, fates: [0; 3] }
    }

    /// Asks the router of a packet that is at the head, or arrives.
    fn ask(&mut self, now: u64, id: usize, wait: Option<Span>) -> Verdict {
        let backlog = self.queue.backlog();
        let fits = backlog.packets < self.limit;
        let packet = &mut self.packets[id];
        let (mut label, mut cell) = (0.0, AnyCell::Empty);
        let mut place = Place {
            backlog,
            class: packet.class,
            queue: self.queue.class_backlog(packet.class),
            group: 0,
            label: &mut label,
            cell: &mut cell,
            drawn: None,
            idle: false,
            fits,
            again: false,
        };
        let queued_for = wait.unwrap_or(Span::ZERO);
        let (size, kind) = (packet.size, PacketKind::Data);
        let mut ecn = packet.ecn;
        let passing = Passing { flow: 0, size, kind, queued_for, ecn: &mut ecn, header: None };
        let verdict = match wait {
            Some(_) => self.router.on_head(time(now), passing, &mut place),
            None => {
                let ecn = &mut packet.came.clone();
                let classed = Passing { flow: 0, size, kind, queued_for, ecn, header: None };
                packet.class = self.router.classify(time(now), classed, &mut place);
                place.class = packet.class;
                self.router.admit(time(now), passing, &mut place)
            }
        };
        packet.ecn = ecn;
        verdict
    }

    fn fate(&mut self, now: u64, id: usize, fate: usize) {
        self.fates[fate] += 1;
        self.words.note(&[id as u64, fate as u64, now]);
    }

    fn timer(&mut self, now: u64) {
        self.router.on_heads(self.queue.heads());
        self.router.on_timer(time(now), self.queue.backlog());
        let mut p = 0.0;
        self.router.probe(&mut |name, value| p = if name == "p" { value } else { p });
        self.words.note(&[(p * f64::from(u32::MAX)).round() as u64]);
    }

    /// The line is free.
    fn depart(&mut self, now: u64) {
        while let Some(chosen) = self.queue.select(|_| 1.0) {
            let (_, waiting) = self.queue.take_head(chosen).expect("it is selected");
            let id = waiting.handle as usize;
            let verdict = self.ask(now, id, Some(time(now).since(waiting.since)));
            if verdict == Verdict::Forward {
                self.queue.served(chosen, waiting.size, 1.0);
                self.busy = now + u64::from(waiting.size) * BYTE_NS;
                let marked = self.packets[id].ecn != self.packets[id].came;
                self.fate(now, id, usize::from(marked));
                return;
            }
            self.fate(now, id, 2);
        }
    }

    fn arrive(&mut self, now: u64, size: u32, ecn: Ecn) {
        let idle = self.busy <= now;
        if idle && self.queue.backlog().packets == 0 {
            self.queue.rest();
        }
        let id = self.packets.len();
        self.packets.push(Packet { size, came: ecn, ecn, class: 0 });
        let fits = self.queue.backlog().packets < self.limit;
        if !fits || self.ask(now, id, None) == Verdict::Drop {
            return self.fate(now, id, 2);
        }
        let class = self.packets[id].class;
        let waiting = Waiting { handle: id as u32, size, since: time(now) };
        self.queue.push_class(class, waiting);
        if idle {
            self.depart(now);
        }
    }

    fn run(&mut self, update: u64) {
        let (mut at, mut timer) = (1000, update);
        for i in 0..=PACKETS {
            let word = self.words.next();
            let gap = (word >> 32) % GAPS[(i / 20_000) as usize % GAPS.len()];
            let next = if i == PACKETS { at + 1_000_000_000 } else { at + gap };
            loop {
                let waits = self.queue.backlog().packets > 0;
                let due = if waits { self.busy } else { u64::MAX };
                if timer <= next && timer <= due {
                    self.timer(timer);
                    timer += update;
                } else if waits && due <= next {
                    self.depart(due);
                } else {
                    break;
                }
            }
            if i < PACKETS {
                at = next;
                let size = [40, 500, 500, 500].get(word as usize & 15).copied().unwrap_or(MTU);
                let ecn = match (word >> 4) & 15 {
                    0..6 => Ecn::Ect1,
                    6 => Ecn::Ce,
                    7..11 => Ecn::Ect0,
                    _ => Ecn::NotCapable,
                };
                self.arrive(at, size, ecn);
            }
        }
    }
}

/// The limit, what is set, t_update [ms], what passed, was marked and dropped, and the digest.
type Case<'a> = (u32, &'a [(&'a str, Value)], u64, [u64; 3], u64);

/// Linux's defaults; a step of 5 packets; overflow and C at half the weight; decisions on arrival
/// with other times and gains; gains ten times as large, k = 1 and a short buffer. Passed, marked,
/// dropped and the digest are those of the program above.
#[test]
fn marks_and_drops_are_those_of_linux() {
    let ms = |ms| Value::Span(Span::from_millis(ms));
    let cases: [Case<'_>; 5] = [
        (1000, &[], 16, [793_472, 90_025, 116_503], 0x495a_7fe0_e306_2703),
        (
            1000,
            &[("step_packets", Value::Count(5))],
            16,
            [792_384, 90_469, 117_147],
            0x58fb_391b_d4c5_1ec3,
        ),
        (
            1000,
            &[("overload", Value::Choice("overflow")), ("wc", Value::Count(50))],
            16,
            [773_817, 122_531, 103_652],
            0x9cd2_486a_e694_f969,
        ),
        (
            1000,
            &[
                ("alpha", Value::Number(38.0 / 256.0)),
                ("beta", Value::Number(3.0)),
                ("k", Value::Count(3)),
                ("target", ms(5)),
                ("t_update", ms(15)),
                ("threshold", ms(2)),
                ("wc", Value::Count(1)),
                ("drop_early", Value::Flag(true)),
            ],
            15,
            [774_278, 96_863, 128_859],
            0x6f3c_d35c_ca52_7455,
        ),
        (
            200,
            &[
                ("alpha", Value::Number(410.0 / 256.0)),
                ("beta", Value::Number(8190.0 / 256.0)),
                ("k", Value::Count(1)),
            ],
            16,
            [740_548, 145_440, 114_012],
            0x13cf_d2e1_ee5e_c30e,
        ),
    ];
    for (seed, (limit, set, update, fates, digest)) in (1..).zip(cases) {
        let mut link = Link::new(seed, limit, set);
        link.run(update * 1_000_000);
        assert_eq!(link.fates, fates, "{seed}");
        assert_eq!(link.words.digest, digest, "{seed}");
    }
}

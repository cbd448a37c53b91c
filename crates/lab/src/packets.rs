//! Single packets of a short part of a run, for a drawing.

use std::sync::mpsc::channel;

use capture::{Departure, Recorder, Window};
use cc::roles::PacketKind;
use js_sys::{Float64Array, Object, Uint8Array, Uint32Array};
use net::Run;
use scenario::{Every, Probe, Scenario, Series};
use units::Time;

use crate::series::{objects, set};

/// Bits in `flags`.
const ACK: u8 = 1;
const RETRANSMISSION: u8 = 2;
const SIGNAL: u8 = 4;

/// Events handled between two looks at how many packets there are.
const EVENTS: u64 = 1 << 12;

/// Goes on with `run`, which stands at `from`, and shows each packet from its first bit on, with
/// queues and drops whenever they change. Ends early, at `to`, when there are `most` of them.
pub fn between(
    run: Run<'static>,
    scenario: &Scenario,
    (from, to): (Time, Time),
    most: u32,
) -> Object {
    let probe = Probe {
        series: vec![Series::Queue, Series::Drops],
        every: Every::Change,
        groups: None,
        links: None,
    };
    let closer = Scenario { probe, ..scenario.clone() };
    let mut run = match run.branch(&closer) {
        Ok(run) => run,
        Err(refused) => unreachable!("probes may be others at any time: {}", refused.reason),
    };
    let (sender, receiver) = channel::<Departure>();
    let mut recorder = Recorder::new(scenario.links.len(), Window::ALL);
    // Who listens is here until the recorder is gone.
    recorder.watch(Box::new(move |packet| sender.send(*packet).unwrap_or_default()));
    run.record(recorder);
    run.pause_at(to);
    let mut seen: Vec<Departure> = Vec::new();
    while run.advance(EVENTS) && seen.len() < most as usize {
        seen.extend(receiver.try_iter());
    }
    let reached = run.progress().now;
    drop(run.end_record());
    seen.extend(receiver.try_iter());
    seen.sort_by_key(|packet| packet.start);
    let object = arrays(&seen);
    set(&object, "from", from.as_secs());
    set(&object, "to", reached.as_secs());
    set(&object, "series", objects(run.take_series()));
    object
}

fn arrays(seen: &[Departure]) -> Object {
    let mut headers = Vec::new();
    let mut places = vec![0];
    for packet in seen {
        packet.header.probe(&mut |_, value| headers.push(value));
        places.push(headers.len() as u32);
    }
    let flags = |packet: &Departure| {
        let bit = |is: bool, bit| if is { bit } else { 0 };
        bit(packet.kind == PacketKind::Ack, ACK)
            | bit(packet.retransmission, RETRANSMISSION)
            | bit(packet.signal, SIGNAL)
    };
    let floats = |of: fn(&Departure) -> f64| {
        Float64Array::from(&seen.iter().map(of).collect::<Vec<_>>()[..])
    };
    let counts =
        |of: fn(&Departure) -> u32| Uint32Array::from(&seen.iter().map(of).collect::<Vec<_>>()[..]);
    let bytes = |of: &dyn Fn(&Departure) -> u8| {
        Uint8Array::from(&seen.iter().map(of).collect::<Vec<_>>()[..])
    };
    let object = Object::new();
    set(&object, "start", floats(|packet| packet.start.as_secs()));
    set(&object, "end", floats(|packet| packet.end.as_secs()));
    set(&object, "seq", floats(|packet| packet.seq as f64));
    set(&object, "link", counts(|packet| packet.link));
    set(&object, "flow", counts(|packet| packet.flow));
    set(&object, "size", counts(|packet| packet.size));
    set(&object, "waiting", counts(|packet| packet.waiting));
    set(&object, "ecn", bytes(&|packet| packet.ecn as u8));
    set(&object, "flags", bytes(&flags));
    set(&object, "header", Float64Array::from(&headers[..]));
    set(&object, "header_at", Uint32Array::from(&places[..]));
    object
}

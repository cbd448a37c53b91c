//! VCP's and DPCP's integers against the simulator's.

mod common;

use cc::explicit::load::dpcp::order::{DpcpHeader, Numbers, Part, Sent};
use cc::explicit::load::dpcp::{DpcpSender, DpcpSenderParams};
use cc::explicit::load::vcp::{VcpSender, VcpSenderParams};
use cc::roles::{Ecn, Sender};
use clearpipe_arithmetic::{Dpcp, MAX_CWND, Vcp};
use common::{Bound, CODES, ack, context, draw, packets, q32};
use units::random::Stream;

/// The bound of vcp_math.h.
const BOUND: Bound = Bound { units: 8.0, share: 1e-6 };

/// One ACK after another of random codes, RTTs and times: from the same window both move it by the
/// same amount.
#[test]
fn vcp_moves_the_window_as_the_simulator() {
    let mut stream = Stream::new(1, 0, "vcp");
    for run in 0..50 {
        let mut rust = VcpSender::new(&VcpSenderParams::default(), &context(1.0 + run as f64));
        let mut kernel = Vcp::default();
        let mut now_us = 1_000_000;
        for _ in 0..4000 {
            now_us += draw(&mut stream, 20_000);
            // 1 ms to 2 s, on both sides of all limits.
            let srtt_us = 1000 + draw(&mut stream, 2_000_000) as u32;
            // Overload is rare, so that there is something to cut.
            let code = if draw(&mut stream, 20) == 0 { 3 } else { draw(&mut stream, 3) as u32 };
            let before = rust.cwnd();
            if before > 1e5 {
                break;
            }
            kernel.cwnd = q32(before);
            rust.on_ack(&ack(now_us, Some(srtt_us), CODES[code as usize], ()));
            kernel.ack(now_us, srtt_us, code, 1);
            BOUND.holds(rust.cwnd() - before, kernel.cwnd as i64 - q32(before) as i64, before);
        }
    }
}

/// Errors add up no faster than the bound says: both go their own ways for 20,000 ACKs.
#[test]
fn vcp_does_not_drift() {
    let mut stream = Stream::new(2, 0, "vcp");
    let mut rust = VcpSender::new(&VcpSenderParams::default(), &context(10.0));
    let mut kernel = Vcp { cwnd: q32(10.0), ..Vcp::default() };
    let (mut now_us, mut moved) = (1_000_000, 0.0);
    for acks in 1..=20_000_u32 {
        now_us += 1000;
        let srtt_us = 70_000 + draw(&mut stream, 20_000) as u32;
        let code = if acks % 500 == 0 { 3 } else { 1 + u32::from(acks % 7 != 0) };
        let before = rust.cwnd();
        rust.on_ack(&ack(now_us, Some(srtt_us), CODES[code as usize], ()));
        kernel.ack(now_us, srtt_us, code, 1);
        moved += (rust.cwnd() - before).abs();
        let allowed = f64::from(acks) * 8.0 / 4_294_967_296.0 + 1e-6 * moved;
        assert!((rust.cwnd() - packets(kernel.cwnd)).abs() <= allowed, "{acks}: {allowed}");
    }
    assert!(rust.cwnd() > 10.0);
}

/// From any state, with any input, the window stays sane.
#[test]
fn a_million_random_inputs_leave_vcp_sane() {
    let mut stream = Stream::new(3, 0, "vcp");
    for _ in 0..1_000_000 {
        let mut kernel = Vcp {
            cwnd: (stream.bits() % (MAX_CWND << 32)).max(1 << 32),
            until_us: stream.bits() >> draw(&mut stream, 64),
            phase: stream.bits() as u32 % 4,
        };
        let (now_us, srtt_us) = (stream.bits() >> draw(&mut stream, 64), stream.bits() as u32);
        kernel.ack(now_us, srtt_us, stream.bits() as u32, stream.bits() as u32);
        assert!((1 << 32..=MAX_CWND << 32).contains(&kernel.cwnd), "{kernel:?}");
    }
}

/// The load factor, its exceptions, the fall-back to VCP and back: the same window after every ACK.
#[test]
fn dpcp_moves_the_window_as_the_simulator() {
    let mut stream = Stream::new(4, 0, "dpcp");
    let (mut fell, mut cuts) = (0, 0);
    for run in 0..50 {
        let sender = context(10.0 + f64::from(run));
        let mut rust = DpcpSender::new(&DpcpSenderParams::default(), &sender);
        let mut kernel = Dpcp::start();
        let (mut now_us, mut part) = (1_000_000, 0);
        for _ in 0..4000 {
            now_us += draw(&mut stream, 20_000);
            let srtt_us = 1000 + draw(&mut stream, 1_000_000) as u32;
            // Mostly in turn; runs of one kind bring the exceptions.
            if draw(&mut stream, if run % 2 == 0 { 1000 } else { 8 }) != 0 {
                part = 1 - part;
            }
            let code = match draw(&mut stream, 30) {
                0 => 0,
                1..3 => 3,
                more => 1 + (more % 2) as u32,
            };
            let before = rust.cwnd();
            if before > 1e5 {
                break;
            }
            kernel.vcp.cwnd = q32(before);
            let meant = if part == 0 { Part::Msp } else { Part::Lsp };
            let header = DpcpHeader::order(meant, Numbers { seq: 77, ack: 4_000_000_000 });
            rust.on_ack(&ack(now_us, Some(srtt_us), CODES[code as usize], header));
            kernel.ack(now_us, srtt_us, (part, code), 1);
            BOUND.holds(rust.cwnd() - before, kernel.vcp.cwnd as i64 - q32(before) as i64, before);
            cuts += u32::from(rust.cwnd() < before);
        }
        fell += kernel.downgrades;
        let mut exceptions = f64::NAN;
        rust.probe(&mut |name, value| {
            if name == "exceptions" {
                exceptions = value;
            }
        });
        assert_eq!(exceptions, f64::from(kernel.exceptions));
    }
    assert!(fell > 20 && cuts > 100, "{fell} {cuts}");
}

#[test]
fn a_million_random_inputs_leave_dpcp_sane() {
    let mut stream = Stream::new(5, 0, "dpcp");
    let mut kernel = Dpcp::start();
    let mut now_us = 0;
    for i in 0..1_000_000 {
        if i % 100 == 0 {
            kernel.vcp.cwnd = (stream.bits() % (MAX_CWND << 32)).max(1 << 32);
        }
        now_us += stream.bits() >> (30 + draw(&mut stream, 30));
        let (part, code) = (stream.bits() as u32 & 1, stream.bits() as u32 & 3);
        kernel.ack(now_us, stream.bits() as u32, (part, code), stream.bits() as u32);
        assert!((1 << 32..=MAX_CWND << 32).contains(&kernel.vcp.cwnd), "{kernel:?}");
        assert!((1..=3).contains(&kernel.msp) && (1..=3).contains(&kernel.lsp), "{kernel:?}");
    }
}

/// Both ends read the order as the simulator does, and undo it (ties apart, which are sent as they
/// are).
#[test]
fn numbers_are_undone_as_in_the_simulator() {
    let mut stream = Stream::new(6, 0, "dpcp");
    for _ in 0..200_000 {
        let own = stream.bits() as u32;
        let una = own.wrapping_sub(draw(&mut stream, 1 << 24) as u32);
        let gap = [1, 1000, 1 << 31, stream.bits() as u32][draw(&mut stream, 4) as usize];
        let expected = own.wrapping_add(gap);
        let meant = Numbers {
            seq: expected.wrapping_add(draw(&mut stream, 1 << 20) as u32),
            ack: una.wrapping_add(draw(&mut stream, 1 << 24) as u32 % own.wrapping_sub(una).max(1)),
        };
        if meant.seq == meant.ack {
            continue;
        }
        let sent = Sent { from: una, to: own };
        for part in [Part::Msp, Part::Lsp] {
            let wire = DpcpHeader::order(part, meant);
            assert_eq!(Dpcp::part(wire.seq, wire.ack), part as u32);
            let switched = Dpcp::switched(wire.seq, wire.ack, sent.from, sent.to, expected);
            let undone = wire.undo(sent, expected);
            let (seq, ack) = if switched { (wire.ack, wire.seq) } else { (wire.seq, wire.ack) };
            assert_eq!((seq, ack), (undone.seq, undone.ack), "{meant:?} {sent:?} {expected}");
        }
    }
    assert_eq!(Ecn::Ce as u8, 3);
}

//! The integers of the protocols with a TCP option against the simulator's.

mod common;

use cc::explicit::load::mlcp::{MlcpHeader, MlcpSender, MlcpSenderParams};
use cc::explicit::xcp::ixcp::IxcpHeader;
use cc::explicit::xcp::xcp::{XcpHeader, XcpSender, XcpSenderParams};
use cc::roles::{Ecn, Header, Sender};
use clearpipe_arithmetic::{MAX_CWND, Mlcp, Xcp, XcpRound, believe};
use common::{Bound, ack, context, draw, q32};
use units::Span;
use units::random::Stream;

/// The bound of mlcp_math.h.
const BOUND: Bound = Bound { units: 64.0, share: 2e-6 };

#[test]
fn mlcp_moves_the_window_as_the_simulator() {
    let mut stream = Stream::new(1, 0, "mlcp");
    let mut cuts = 0;
    for run in 0..200 {
        let initial = f64::from(run) * 50.0 + 1.5;
        let mut rust = MlcpSender::new(&MlcpSenderParams::default(), &context(initial));
        let mut kernel = Mlcp { t_p: 1, ..Mlcp::default() };
        let mut now_us = 2_000_000;
        for _ in 0..1000 {
            now_us += draw(&mut stream, 50_000);
            let srtt_us = 1000 + draw(&mut stream, 2_000_000) as u32;
            // Most codes increase; decreases and MI are rarer, so that the window stays small.
            let load = match draw(&mut stream, 20) {
                0 => draw(&mut stream, 6) as u32,
                1..4 => 8 + draw(&mut stream, 8) as u32,
                more => 6 + (more % 2) as u32,
            };
            let t_p = draw(&mut stream, 8) as u8;
            let before = rust.cwnd();
            if before > 1e5 {
                break;
            }
            kernel.cwnd = q32(before);
            let header = MlcpHeader::new(load as u8, t_p, Some(Span::from_millis(80)));
            rust.on_ack(&ack(now_us, Some(srtt_us), Ecn::NotCapable, header));
            kernel.ack(now_us, srtt_us, Mlcp::word(load, u32::from(t_p), 80_000), 1);
            BOUND.holds(rust.cwnd() - before, kernel.cwnd as i64 - q32(before) as i64, before);
            cuts += u32::from(rust.cwnd() < before);
        }
    }
    assert!(cuts > 1000, "{cuts}");
}

#[test]
fn a_million_random_inputs_leave_mlcp_sane() {
    let mut stream = Stream::new(2, 0, "mlcp");
    for _ in 0..1_000_000 {
        let mut kernel = Mlcp {
            cwnd: (stream.bits() % (MAX_CWND << 32)).max(1 << 32),
            decreased_until_us: stream.bits() >> draw(&mut stream, 64),
            t_p: stream.bits() as u32,
        };
        let (now_us, srtt_us) = (stream.bits() >> draw(&mut stream, 64), stream.bits() as u32);
        kernel.ack(now_us, srtt_us, stream.bits() as u32, stream.bits() as u32);
        assert!((1 << 32..=MAX_CWND << 32).contains(&kernel.cwnd), "{kernel:?}");
    }
}

#[test]
fn mlcps_header_is_the_simulators() {
    let mut stream = Stream::new(3, 0, "mlcp");
    for _ in 0..10_000 {
        let (load, t_p) = (draw(&mut stream, 16) as u32, draw(&mut stream, 8) as u32);
        let rtt_us = (stream.bits() as u32) >> draw(&mut stream, 32);
        let rtt = Some(Span::from_micros(u64::from(rtt_us)));
        let mut wire = [0; 4];
        MlcpHeader::new(load as u8, t_p as u8, rtt).encode(&mut wire);
        assert_eq!(Mlcp::word(load, t_p, rtt_us).to_be_bytes(), wire);
    }
}

/// The sum is the simulator's to the last bit.
#[test]
fn xcp_adds_what_comes_back() {
    let mut stream = Stream::new(4, 0, "xcp");
    for _ in 0..200 {
        let mut rust = XcpSender::new(&XcpSenderParams::default(), &context(10.0));
        let mut kernel = Xcp { cwnd: 10_000 << 16 };
        for _ in 0..1000 {
            // Up to 100 kB more, or less.
            let units = draw(&mut stream, 200_000 << 16) as i64 - (100_000 << 16);
            let units = units >> draw(&mut stream, 32);
            let units = units.min(kernel.cwnd as i64);
            let feedback = units as f64 / 65_536.0;
            let header = XcpHeader { cwnd: 1e4, rtt: 0.1, feedback };
            rust.on_ack(&ack(0, None, Ecn::NotCapable, header));
            kernel.feedback(units, 1000);
            assert_eq!(kernel.cwnd as f64 / 65_536.0 / 1000.0, rust.cwnd());
        }
    }
}

#[test]
fn no_ack_more_than_doubles_xcps_window() {
    let mut kernel = Xcp { cwnd: 10_000 << 16 };
    kernel.feedback(i64::MAX, 1000);
    assert_eq!(kernel.cwnd, 20_000 << 16);
    kernel.feedback(i64::MIN, 1000);
    assert_eq!(kernel.cwnd, 1000 << 16);
}

#[test]
fn a_million_random_inputs_leave_xcp_sane() {
    let mut stream = Stream::new(5, 0, "xcp");
    let mut kernel = Xcp { cwnd: 10_000 << 16 };
    for i in 0..1_000_000 {
        let packet = 100 + draw(&mut stream, 9000) as u32;
        if i % 100 == 0 {
            kernel.cwnd = draw(&mut stream, (MAX_CWND * u64::from(packet)) << 16);
        }
        kernel.feedback(stream.bits() as i64 >> draw(&mut stream, 64), packet);
        let least = u64::from(packet) << 16;
        assert!((least..=least * MAX_CWND).contains(&kernel.cwnd), "{kernel:?} {packet}");
    }
}

#[test]
fn xcps_and_ixcps_headers_are_the_simulators() {
    let mut stream = Stream::new(6, 0, "xcp");
    for _ in 0..100_000 {
        // Up to a minute, as far as the kernel's side counts.
        let rtt_us = (stream.bits() as u32 >> draw(&mut stream, 32)).min(60_000_000);
        let cwnd = (1 << 16) + (stream.bits() >> (17 + draw(&mut stream, 30)));
        let feedback = stream.bits() as i64 >> (12 + draw(&mut stream, 40));
        let kernel = Xcp { cwnd };
        let rtt = f64::from(rtt_us) / 1e6;
        let in_bytes = cwnd as f64 / 65_536.0;
        let mut wire = [0; 16];
        let value = feedback as f64 / 65_536.0;
        XcpHeader { cwnd: in_bytes, rtt, feedback: value }.encode(&mut wire);
        assert_eq!(kernel.header(rtt_us, feedback), wire);
        let mut wire = [0; 24];
        let header = IxcpHeader {
            cwnd: in_bytes,
            feedback: value,
            rtt: rtt as f32,
            bottleneck: 7,
            next_bottleneck: 0,
        };
        header.encode(&mut wire);
        assert_eq!(kernel.ixcp_header(rtt_us, feedback, 7), wire, "{rtt_us}");
    }
    // What an unlimited source asks for.
    let mut wire = [0; 16];
    XcpHeader { cwnd: 1000.0, rtt: 0.0, feedback: f64::INFINITY }.encode(&mut wire);
    assert_eq!(Xcp { cwnd: 1000 << 16 }.header(0, i64::MAX), wire);
}

/// 16 times more and less, and what the first packets of a connection say: nothing.
#[test]
fn an_echo_is_believed_that_is_the_senders_own() {
    for (rtt_us, srtt_us) in [(80_000, 80_000), (80_000, 1_200_000), (80_000, 5_001), (0, 80_000)] {
        assert_eq!(believe(rtt_us, srtt_us), [true; 3], "{rtt_us} {srtt_us}");
        assert_eq!(believe(srtt_us, rtt_us), [true; 3], "{srtt_us} {rtt_us}");
    }
    for (rtt_us, srtt_us) in [(80_000, 1_290_000), (80_000, 4_900), (1, 17), (30_000_000, 8000)] {
        assert_eq!(believe(rtt_us, srtt_us), [false; 3], "{rtt_us} {srtt_us}");
        assert_eq!(believe(srtt_us, rtt_us), [false; 3], "{srtt_us} {rtt_us}");
    }
}

/// A router that always gives the most: every ACK would double the window.
#[test]
fn no_round_trip_makes_a_window_64_times_larger() {
    const PACKET: u32 = 1000;
    let packets = |count: u64| (count * u64::from(PACKET)) << 16;
    let mut xcp = Xcp { cwnd: packets(10) };
    let mut round = XcpRound::default();
    // Numbers wrap in the middle.
    let mut una = 0_u32.wrapping_sub(5 * PACKET);
    let mut nxt = una.wrapping_add(10 * PACKET);
    let mut acks = |xcp: &mut Xcp, count: u32, nxt: u32| {
        for _ in 0..count {
            una = una.wrapping_add(PACKET);
            let before = xcp.cwnd;
            xcp.feedback(i64::MAX, PACKET);
            xcp.bound(&mut round, before, una, nxt);
        }
    };
    // The first ACK begins a round trip that ends with what is sent by then.
    acks(&mut xcp, 5, nxt);
    assert_eq!(xcp.cwnd, packets(320));
    nxt = nxt.wrapping_add(600 * PACKET);
    acks(&mut xcp, 4, nxt);
    assert_eq!(xcp.cwnd, packets(640));
    // The tenth ends it: another begins at 640 packets.
    acks(&mut xcp, 2, nxt);
    assert_eq!(xcp.cwnd, packets(2560));
    acks(&mut xcp, 500, nxt);
    assert_eq!(xcp.cwnd, packets(40_960));
    // What a loss has left is where it begins anew.
    xcp.cwnd = packets(2);
    acks(&mut xcp, 50, nxt);
    assert_eq!(xcp.cwnd, packets(128));
}

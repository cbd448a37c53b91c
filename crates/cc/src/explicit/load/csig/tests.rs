use super::hosts::{AskParams, Law};
use super::*;
use crate::params::First;
use crate::roles::{Ack, Ecn, Loss, LossKind, Sender};
use crate::tests::{ack_after, departing, loss, ms, near, passing, router_context, sender_context};

fn tag(tag_bits: u64, quantization: Quantization) -> TagParams {
    TagParams { tag_bits, quantization, ..Default::default() }
}

/// Five bits of one width: 1/32 each. Two exponential ones from 1/32 on: 2^-5, 2^(-10/3) = 0.0992,
/// 2^(-5/3) = 0.3150.
#[test]
fn buckets_are_of_one_width_or_of_one_factor() {
    let five = Buckets::new(&tag(5, Quantization::Linear));
    for (x, bucket) in [(0.0, 0), (0.031, 0), (0.032, 1), (0.5, 16), (0.999, 31), (7.0, 31)] {
        assert_eq!(five.of(x), bucket, "{x}");
    }
    assert_eq!((five.edge(0), five.edge(16), five.edge(31)), (0.0, 0.5, 0.968_75));
    let two = Buckets::new(&tag(2, Quantization::Exponential));
    for (x, bucket) in [(0.0, 0), (0.03, 0), (0.04, 1), (0.0993, 2), (0.3149, 2), (0.3151, 3)] {
        assert_eq!(two.of(x), bucket, "{x}");
    }
    assert_eq!(two.edge(0), 0.0);
    for (bucket, edge) in [(1, 0.031_25), (2, 0.099_212_565_748), (3, 0.314_980_262_474)] {
        assert!((two.edge(bucket) - edge).abs() < 1e-12, "{bucket}");
    }
    for n in 1..=20 {
        for quantization in [Quantization::Linear, Quantization::Exponential] {
            let buckets = Buckets::new(&tag(n, quantization));
            for bucket in (0..=buckets.last).step_by(1 + buckets.last as usize / 500) {
                assert_eq!(buckets.of(buckets.edge(bucket)), bucket, "{n}, {quantization:?}");
            }
        }
    }
}

/// A port that has sent so many packets of 1000 B in its first 200 ms.
fn port(params: &TagParams, rate: u64, link: u32, packets: u32) -> CsigRouter {
    let context = RouterContext { link, ..router_context(Rate(rate), 100) };
    let mut router = CsigRouter::new(params, &context);
    for _ in 0..packets {
        let mut ecn = Ecn::NotCapable;
        let packet = Passing { header: None, ..passing(&mut ecn) };
        router.on_departure(ms(0), packet, Backlog::default());
    }
    assert_eq!(router.next_timer(), ms(200));
    router.on_timer(ms(200), Backlog::default());
    router
}

/// What a packet that has waited leaves with.
fn through(router: &mut CsigRouter, mut header: CsigHeader, waited: Span) -> CsigHeader {
    let mut ecn = Ecn::Ect1;
    let packet = Passing { header: Some(&mut header), queued_for: waited, ..passing(&mut ecn) };
    router.on_departure(ms(200), packet, Backlog::default());
    assert_eq!(ecn, Ecn::Ect1);
    header
}

/// 10 Mb/s carry 250 kB in 200 ms. After 200 kB ABW/C is 0.2, bucket 6 of 32, and ABW 2 Mb/s, which
/// is bucket 0 of 100 Mb/s; 50 ms of waiting are a quarter of 200 ms, bucket 8.
#[test]
fn a_port_tells_what_it_did_not_send() {
    let params = TagParams::default();
    let mut router = port(&params, 10_000_000, 3, 200);
    let mut told = |signal, waited| {
        through(&mut router, CsigHeader::asking(signal), Span::from_millis(waited))
    };
    assert_eq!(told(Signal::AbwC, 0), CsigHeader::told(Signal::AbwC, 6, 3));
    assert_eq!(told(Signal::Abw, 0), CsigHeader::told(Signal::Abw, 0, 3));
    assert_eq!(told(Signal::Delay, 50), CsigHeader::told(Signal::Delay, 8, 3));
    // A queue that is empty is as good as the tag.
    assert_eq!(told(Signal::Delay, 0), CsigHeader::asking(Signal::Delay));
    assert_eq!(router.wrote, 3);
    // More than the line carries is not less than nothing; those four and 300 packets were sent.
    for _ in 0..300 {
        through(&mut router, CsigHeader::default(), Span::ZERO);
    }
    router.on_timer(ms(400), Backlog::default());
    assert_eq!((router.share, router.told), (0.0, [0, 0]));
    // An interval without packets: all of it; half the capacity is as much of it.
    router.on_timer(ms(600), Backlog::default());
    router.on_capacity(ms(600), Rate(5_000_000));
    assert_eq!((router.share, router.told[1]), (1.0, 31));
}

/// Nothing was measured yet: idle. Packets without a tag, and ACKs, pass as they are.
#[test]
fn a_port_leaves_others_alone() {
    let context = router_context(Rate(10_000_000), 100);
    let mut router = CsigRouter::new(&TagParams::default(), &context);
    let first = through(&mut router, CsigHeader::asking(Signal::AbwC), Span::ZERO);
    assert_eq!(first, CsigHeader::told(Signal::AbwC, 31, 0));
    let none = CsigHeader::default();
    assert_eq!(through(&mut router, none, Span::from_millis(100)), none);
    let (mut ecn, mut header) = (Ecn::Ect0, CsigHeader::asking(Signal::AbwC));
    let ack = Passing { kind: PacketKind::Ack, header: Some(&mut header), ..passing(&mut ecn) };
    router.on_departure(ms(0), ack, Backlog::default());
    assert_eq!(header, CsigHeader::asking(Signal::AbwC));
    assert!(!CsigRouter::acks_first(&TagParams::default()));
}

/// Two lines: 100 Mb/s, half used (1.25 MB of 2.5 MB): ABW 50 Mb/s; 10 Mb/s, a fifth used (50 kB of
/// 250 kB): ABW 8 Mb/s, bucket 2 of 100 Mb/s. The one has the smaller share, the other the smaller
/// bandwidth, whichever comes first; equals leave the tag as it is.
#[test]
fn the_worst_of_a_way_stays() {
    let params = TagParams::default();
    let (fast, slow) = (port(&params, 100_000_000, 1, 1250), port(&params, 10_000_000, 2, 50));
    for (signal, value, locator) in [(Signal::AbwC, 16, 1), (Signal::Abw, 2, 2)] {
        for way in [[&fast, &slow], [&slow, &fast]] {
            let mut header = CsigHeader::asking(signal);
            for router in way {
                header = through(&mut router.clone(), header, Span::ZERO);
            }
            assert_eq!(header, CsigHeader::told(signal, value, locator));
        }
    }
    let mut slow = slow;
    let [long, short] = [80, 20].map(Span::from_millis);
    let first = through(&mut slow, CsigHeader::asking(Signal::Delay), short);
    assert_eq!(first, CsigHeader::told(Signal::Delay, 3, 2)); // 0.1*32 = 3.2
    assert_eq!(through(&mut fast.clone(), first, short), first);
    let worse = CsigHeader::told(Signal::Delay, 12, 1); // 0.4*32 = 12.8
    assert_eq!(through(&mut fast.clone(), first, long), worse);
}

/// LM 3, T 1, S 6: 0003, then 1 and 00006, then 00. T 3 is the draft's extended signal, which
/// nobody here asks for.
#[test]
fn the_wire_has_the_wide_tag() {
    let header = CsigHeader::told(Signal::AbwC, 6, 3);
    let mut wire = [0; 6];
    header.encode(&mut wire);
    assert_eq!(wire, [0x00, 0x03, 0x10, 0x00, 0x06, 0x00]);
    assert_eq!(CsigHeader::decode(&wire), Some(header));
    wire[2] = 0x30;
    assert_eq!(CsigHeader::decode(&wire), None);
    assert_eq!(CsigHeader::decode(&wire[..5]), None);
    CsigHeader::default().encode(&mut wire);
    assert_eq!(CsigHeader::decode(&wire), Some(CsigHeader::default()));
}

#[test]
fn a_delayed_ack_tells_the_worse_tag() {
    let data = |header, pending| Arrived {
        now: ms(0),
        seq: 0,
        expected: 1,
        size: 1000,
        header,
        ecn: Ecn::NotCapable,
        pending: Some(Feedback { header: pending, code: Ecn::NotCapable }),
    };
    let told = |signal, value| CsigHeader::told(signal, value, 1);
    for (late, early, goes_back) in [
        (told(Signal::AbwC, 6), told(Signal::AbwC, 4), 4),
        (told(Signal::AbwC, 6), told(Signal::AbwC, 9), 6),
        (told(Signal::Delay, 6), told(Signal::Delay, 9), 9),
        (told(Signal::Delay, 6), told(Signal::AbwC, 9), 6),
    ] {
        assert_eq!(CsigReceiver.on_data(&data(late, early)).header.value, goes_back);
    }
}

/// A sender with a window of 100 packets and an ACK of a round trip of 200 ms.
fn sender<L: Law>(ask: AskParams, set: impl Fn(&mut L::Params, AskParams)) -> CsigSender<L> {
    let mut params = L::Params::default();
    set(&mut params, ask);
    CsigSender::new(&params, &sender_context(100.0))
}

fn tells<L: Law>(sender: &mut CsigSender<L>, now: u64, header: CsigHeader) {
    let ack = ack_after(ms(now), Span::from_millis(200));
    sender.on_ack(&Ack { header, ..ack });
}

/// A variable that it shows.
fn shown<L: Law>(sender: &CsigSender<L>, wanted: &str) -> f64 {
    let mut found = f64::NAN;
    sender.probe(&mut |name, value| {
        if name == wanted {
            found = value;
        }
    });
    found
}

fn share(value: u32) -> CsigHeader {
    CsigHeader::told(Signal::AbwC, value, 1)
}

/// Five bits, gamma 0.98. Bucket 8 is a load of 0.75/0.98 = 0.765: MI adds xi = 0.0625. Bucket 6 is
/// 0.8125/0.98 = 0.829: AI adds 1/cwnd. Bucket 0 is 1/0.98: MD to 7/8.
#[test]
fn vcp_reads_its_zone() {
    let mut vcp = sender::<VcpLaw>(AskParams::default(), |params, ask| params.ask = ask);
    tells(&mut vcp, 0, CsigHeader::default());
    assert_eq!(vcp.cwnd(), 100.0);
    tells(&mut vcp, 0, share(8));
    assert!(near(vcp.cwnd(), 100.0625));
    tells(&mut vcp, 0, share(6));
    assert!(near(vcp.cwnd(), 100.0625 + 1.0 / 100.0625));
    let before = vcp.cwnd();
    tells(&mut vcp, 1, share(0));
    assert!(near(vcp.cwnd(), 0.875 * before));
    // No switch has spoken: nothing is known to be used.
    tells(&mut vcp, 1000, CsigHeader::asking(Signal::AbwC));
    assert_eq!(["rho", "abw_c", "d"].map(|name| shown(&vcp, name)), [0.0, 1.0, 0.0]);
}

/// xi = kappa*(1 - sigma)/sigma at MLCP's upper edges: bucket 8 is in the level up to 0.8, 0.35/4 =
/// 0.0875; bucket 28, 0.125/0.98 = 0.128, in the one up to 0.16, 0.35*5.25 = 1.8375. From 95 % on,
/// bucket 2 (0.9566), 1/cwnd^1.5. The t_p of 200 ms is the round trip.
#[test]
fn mlcp_reads_its_code() {
    let mut mlcp = sender::<MlcpLaw>(AskParams::default(), |params, ask| params.ask = ask);
    tells(&mut mlcp, 0, share(8));
    assert!(near(mlcp.cwnd(), 100.0875));
    tells(&mut mlcp, 0, share(28));
    assert!(near(mlcp.cwnd(), 100.0875 + 1.8375));
    let before = mlcp.cwnd();
    tells(&mut mlcp, 0, share(2));
    assert!(near(mlcp.cwnd(), before + 1.0 / (before * math::sqrt(before))));
}

/// With all of the tag's bits an n-bit scheme is ideal: xi of the load itself, 0.765 306...
#[test]
fn an_n_bit_scheme_reads_the_load() {
    let mut nbit = sender::<NbitLaw>(AskParams::default(), |params, ask| {
        params.ask = ask;
        params.own.bits = crate::explicit::load::nbit::Bits::Ideal;
    });
    tells(&mut nbit, 0, share(8));
    // 0.35*(0.98 - 0.75)/0.75; the load travels in 24 significant bits.
    assert!((nbit.cwnd() - 100.0 - 0.35 * 0.23 / 0.75).abs() < 1e-6);
}

/// The BMCC host's xi is of the load itself, in steps of 1/51 200.
#[test]
fn bmcc_reads_its_estimate() {
    let mut bmcc = sender::<BmccLaw>(AskParams::default(), |params, ask| params.ask = ask);
    tells(&mut bmcc, 0, share(8));
    assert!((bmcc.cwnd() - 100.0 - 0.35 * 0.23 / 0.75).abs() < 1e-4);
    // Full, but no queue is told: 1/0.98 is a cut to 0.875 - 0.2*0.0204/0.2 = 0.8546.
    let before = bmcc.cwnd();
    tells(&mut bmcc, 1, share(0));
    assert!((bmcc.cwnd() / before - (0.875 - (1.0 / 0.98 - 1.0))).abs() < 1e-4);
}

/// Overload has levels only where the queue is told: bandwidth alone is 1/0.98 = 1.020, DPCP's
/// mildest, 0.875. A delay of half the range, 100 ms, comes into the average with an eighth, 12.5
/// ms: (1 + 0.5*0.0125/0.2)/0.98 = 1.052, the next level, 0.6.
#[test]
fn the_delay_tells_how_much_overload_there_is() {
    let ask = || AskParams { queue_delay: true, ..Default::default() };
    for (first, factor) in [(share(31), 0.875), (CsigHeader::told(Signal::Delay, 16, 1), 0.6)] {
        let mut dpcp = sender::<DpcpLaw>(ask(), |params, ask| params.ask = ask);
        tells(&mut dpcp, 0, first);
        let before = dpcp.cwnd();
        assert!(before > 100.0);
        tells(&mut dpcp, 1, share(0));
        assert!(near(dpcp.cwnd(), factor * before), "{factor}");
        // Frozen for 200 ms.
        tells(&mut dpcp, 100, share(31));
        assert!(near(dpcp.cwnd(), factor * before), "{factor}");
    }
    let mut dpcp = sender::<DpcpLaw>(ask(), |params, ask| params.ask = ask);
    let asks = [0; 4].map(|_| dpcp.on_send(&departing()));
    let delay = CsigHeader::asking(Signal::Delay);
    let load = CsigHeader::asking(Signal::AbwC);
    assert_eq!(asks, [delay, load, delay, load]);
}

/// A host that asks for ABW knows no capacity but the range: 2 of 32 of it left is 0.9375/0.98.
#[test]
fn bandwidth_alone_needs_a_capacity() {
    let ask = AskParams { signal: First(Signal::Abw), ..Default::default() };
    let mut vcp = sender::<VcpLaw>(ask, |params, ask| params.ask = ask);
    assert_eq!(vcp.on_send(&departing()), CsigHeader::asking(Signal::Abw));
    tells(&mut vcp, 0, CsigHeader::told(Signal::Abw, 2, 1));
    assert!(near(shown(&vcp, "rho"), 0.9375 / 0.98));
}

/// Losses are the protocols' own affair: VCP halves, MLCP does nothing.
#[test]
fn a_loss_is_the_protocols_affair() {
    let lost: Loss = loss(LossKind::DupAcks, 100);
    let mut vcp = sender::<VcpLaw>(AskParams::default(), |params, ask| params.ask = ask);
    vcp.on_loss(&lost);
    assert_eq!(vcp.cwnd(), 50.0);
    let mut mlcp = sender::<MlcpLaw>(AskParams::default(), |params, ask| params.ask = ask);
    mlcp.on_loss(&lost);
    assert_eq!(mlcp.cwnd(), 100.0);
}

/// Bucket 0 of exponential ones ends below its upper edge, which rounding must not move.
#[test]
fn the_first_bucket_ends_below_its_edge() {
    let buckets = Buckets::new(&tag(20, Quantization::Exponential));
    let least = TagParams::default().least;
    assert_eq!([0.0, least * (1.0 - f64::EPSILON), least].map(|x| buckets.of(x)), [0, 0, 1]);
}

/// An interval that ends as it begins leaves what the last one told; an unused one after it has
/// all.
#[test]
fn an_interval_of_no_length_tells_nothing() {
    let mut router = port(&TagParams::default(), 10_000_000, 0, 125);
    let told = |router: &mut CsigRouter| {
        through(router, CsigHeader::asking(Signal::AbwC), Span::ZERO).value
    };
    // Half of 250 kB: bucket 16 of 32.
    assert_eq!(told(&mut router), 16);
    router.on_timer(ms(200), Backlog::default());
    assert_eq!((told(&mut router), router.next_timer()), (16, ms(400)));
    router.on_timer(ms(400), Backlog::default());
    // One packet of 1000 B: 0.996 of it.
    assert_eq!(told(&mut router), 31);
}

/// The period that stands for the interval: 400 ms are MLCP's third, over which an RTT of 400 ms
/// counts once: at no load 1.8375 packets per ACK.
#[test]
fn an_intervals_length_is_mlcps_period() {
    for (interval, rtt) in [(80, 80), (200, 200), (400, 400), (1400, 1400)] {
        let mut params = MlcpCsigParams::default();
        params.tag.interval = Span::from_millis(interval);
        let mut s = CsigSender::<MlcpLaw>::new(&params, &crate::tests::sender_context(10.0));
        let header = CsigHeader::asking(Signal::AbwC);
        s.on_ack(&Ack { header, ..ack_after(ms(0), Span::from_millis(rtt)) });
        assert!((s.cwnd() - 11.8375).abs() < 1e-7, "{interval}: {}", s.cwnd());
        let mut params = NbitCsigParams::default();
        params.tag.interval = Span::from_millis(interval);
        let mut s = CsigSender::<NbitLaw>::new(&params, &crate::tests::sender_context(10.0));
        s.on_ack(&Ack { header, ..ack_after(ms(0), Span::from_millis(rtt)) });
        assert!((s.cwnd() - 11.8375).abs() < 1e-7, "{interval}: {}", s.cwnd());
    }
}

/// A link as bad as the tag's changes nothing: the tag goes on naming the first of them.
#[test]
fn only_a_worse_link_takes_the_tag() {
    for (signal, better, worse) in
        [(Signal::Abw, 6, 4), (Signal::AbwC, 6, 4), (Signal::Delay, 4, 6)]
    {
        let tag = CsigHeader::told(signal, 5, 1);
        let yields = [better, 5, worse].map(|value| tag.yields(signal, value));
        assert_eq!(yields, [false, false, true], "{signal:?}");
    }
}

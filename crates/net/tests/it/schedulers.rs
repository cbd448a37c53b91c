//! Queues of links with classes in the engine: what RFCs and papers promise of them. `--nocapture`
//! prints the numbers.

use clearpipe_net::Outcome;
use results::FlowRow;
use scenario::Scenario;

use crate::common;

/// A dumbbell of `rate` and packets of 1000 B, between whose ends these flows run.
fn scenario(rate: &str, rtt: &str, buffer: u32, queue: &str, flows: &str) -> Scenario {
    let text = format!(
        "schema = 1\nname = \"schedulers\"\nduration = \"60s\"\nwarmup = \"10s\"\n\
         [packets]\ndata = \"1000B\"\n\
         [topology]\nkind = \"dumbbell\"\nrate = \"{rate}\"\nrtt = \"{rtt}\"\nbuffer = \"{buffer}pkt\"\n\
         queue = {queue}\n{flows}\n"
    );
    let parsed = scenario::parse("schedulers.toml", &text, &[]);
    parsed.unwrap_or_else(|error| panic!("{error}\n{text}")).scenario
}

fn run(rate: &str, rtt: &str, buffer: u32, queue: &str, flows: &str) -> Outcome {
    common::run(&scenario(rate, rtt, buffer, queue, flows), 1, 0)
}

fn goodput(outcome: &Outcome, group: &str) -> f64 {
    common::group(outcome, group).map(|flow| flow.goodput_bps).sum()
}

/// Mean queueing delay at the bottleneck [s] and its utilization.
fn standing(outcome: &Outcome, rate: f64) -> (f64, f64) {
    let link = common::link(outcome, "bottleneck");
    (link.queue_mean_bytes * 8.0 / rate, link.utilization_ratio)
}

/// How much later than at its least a flow's packets come back, at the end of the run [s].
fn delay(flow: &FlowRow) -> f64 {
    flow.srtt_s.expect("it has sent") - flow.min_rtt_s.expect("it has sent")
}

/// What one flow that halves its window whenever the queue has been above TARGET for an INTERVAL
/// makes of a link: the window climbs by a packet a round trip from W/2 to W = C (RTT + TARGET) +
/// INTERVAL/(RTT + TARGET); the queue is what exceeds C RTT, and the line idles for what lacks.
/// Mean queueing delay [s] and utilization.
fn sawtooth(rtt: f64, target: f64) -> (f64, f64) {
    let packets_per_second = 1250.0;
    let bdp = packets_per_second * rtt;
    let most = bdp + packets_per_second * target + 0.1 / (rtt + target);
    let (mut queue, mut sent, mut rounds) = (0.0, 0.0, 0.0);
    let mut window = most / 2.0;
    while window < most {
        // A round trip is longer by what waits.
        let round = f64::max(window / bdp, 1.0);
        queue += f64::max(window - bdp, 0.0) * round;
        sent += window;
        rounds += round;
        window += 1.0;
    }
    (queue / rounds / packets_per_second, sent / rounds / bdp)
}

/// RFC 8289 section 3.2: the queue of one long flow is a good one, that of its own bursts and of
/// the time it takes to halve its window; drop-tail keeps its buffer full. The RFC gives no number
/// for the mean: that of the sawtooth above stands for it, with a millisecond and 3 % for bursts.
#[test]
fn codel_keeps_the_standing_queue_near_its_target() {
    let flow = "[flows.one]\nprotocol = \"newreno\"";
    for (rtt, target) in [(20, 5), (50, 5), (100, 5), (20, 20), (50, 20)] {
        let (delay, busy) = sawtooth(f64::from(rtt) / 1e3 + 1e-3, f64::from(target) / 1e3);
        println!("{rtt} ms, target {target} ms: sawtooth {delay:.4} s, {busy:.3}");
        for kind in ["codel", "fq-codel"] {
            let queue = format!("{{ kind = \"{kind}\", target = \"{target}ms\" }}");
            let outcome = run("10Mbps", &format!("{rtt}ms"), 500, &queue, flow);
            let (mean, utilization) = standing(&outcome, 1e7);
            println!("    {kind} {mean:.4} s, {utilization:.3}");
            assert!((mean - delay).abs() < 0.001, "{kind} {mean} {delay}");
            assert!((utilization - busy).abs() < 0.03, "{kind} {utilization} {busy}");
            assert!(mean <= f64::from(target) / 1e3);
        }
        let tail = run("10Mbps", &format!("{rtt}ms"), 500, "\"droptail\"", flow);
        assert!(standing(&tail, 1e7).0 > 20.0 * delay);
    }
}

/// RFC 8290 section 1: a flow that sends less than its share waits for no other. At 100 kb/s a
/// packet each 80 ms it finds its queue new: it waits for the packet in service, 0.8 ms at most,
/// and perhaps for another new queue. With CoDel alone it shares the queue of the others.
#[test]
fn fq_codel_isolates_a_sparse_flow() {
    let flows = "[flows.bulk]\nprotocol = \"sack\"\ncount = 4\n\
                 [flows.sparse]\nprotocol = \"sack\"\nrate = \"100kbps\"";
    let of = |queue: &str| {
        let outcome = run("10Mbps", "50ms", 500, queue, flows);
        let sparse = common::group(&outcome, "sparse").next().expect("it is there").clone();
        (
            delay(&sparse),
            sparse.dropped_pkts,
            common::link(&outcome, "bottleneck").utilization_ratio,
        )
    };
    let (fq, codel, tail) = (of("\"fq-codel\""), of("\"codel\""), of("\"droptail\""));
    println!("fq-codel {fq:?}, codel {codel:?}, droptail {tail:?}");
    assert!(fq.0 <= 0.0016 && fq.1 == 0 && fq.2 > 0.85, "{fq:?}");
    assert!(codel.0 > 2.0 * fq.0 && tail.0 > 0.1);
}

const UNEQUAL: &str = "[flows.near]\nprotocol = \"sack\"\nrtt = \"20ms\"\n\
                       [flows.far]\nprotocol = \"sack\"\nrtt = \"100ms\"";

/// Round trips of 20 and 100 ms. First in, first out, the near one gets more than its half; by flow
/// each gets the half, by weights 3 and 1 three quarters and one, as long as its queue never runs
/// empty.
#[test]
fn drr_and_wfq_share_by_weight_and_not_by_round_trip() {
    let of = |queue: &str| {
        let outcome = run("10Mbps", "20ms", 400, queue, UNEQUAL);
        let (near, far) = (goodput(&outcome, "near"), goodput(&outcome, "far"));
        (near / (near + far), (near + far) / 1e7)
    };
    let (fifo, _) = of("\"droptail\"");
    println!("droptail: near has {fifo:.3}");
    assert!(fifo > 0.55, "{fifo}");
    for kind in ["drr", "wfq"] {
        let (equal, all) = of(&format!("\"{kind}\""));
        let (weighted, all_weighted) =
            of(&format!("{{ kind = \"{kind}\", by = \"group\", w0 = 1.0, w1 = 3.0 }}"));
        println!(
            "{kind}: {equal:.4} of {all:.3}, with weights 1 and 3 {weighted:.4} of {all_weighted:.3}"
        );
        assert!((equal - 0.5).abs() < 0.01 && all > 0.97, "{kind} {equal}");
        assert!((weighted - 0.25).abs() < 0.01 && all_weighted > 0.97, "{kind} {weighted}");
    }
}

/// The first group offers 4 Mb/s of 10 and waits for one packet in service at most (0.8 ms); the
/// second gets the rest.
#[test]
fn priority_serves_the_first_group_before_the_next() {
    let flows = "[flows.high]\nprotocol = \"sack\"\nrate = \"4Mbps\"\n\
                 [flows.low]\nprotocol = \"sack\"\ncount = 4";
    let queue = "{ kind = \"priority\", by = \"group\", per_class = 200 }";
    let outcome = run("10Mbps", "50ms", 400, queue, flows);
    let (high, low) = (goodput(&outcome, "high"), goodput(&outcome, "low"));
    let row = common::group(&outcome, "high").next().expect("it is there");
    println!("high {high:.0}, low {low:.0}, delay {:.5} s", delay(row));
    assert!((high / 4e6 - 1.0).abs() < 0.01 && row.dropped_pkts == 0);
    assert!((low / 6e6 - 1.0).abs() < 0.02);
    assert!(delay(row) <= 0.0016, "{}", delay(row));
}

/// When a lone flow's window falls for the first time.
fn first_cut(queue: &str) -> f64 {
    let flow = "[flows.one]\nprotocol = \"sack\"\n[probe]\nseries = [\"cwnd\"]\nevery = \"1ms\"";
    let outcome = run("10Mbps", "50ms", 100, queue, flow);
    let cwnd = &outcome.tables.series[0];
    let fall = cwnd.value.windows(2).position(|pair| pair[1] < pair[0]).expect("it falls");
    cwnd.t_s[fall + 1]
}

/// Both buffers overflow at the same instant. At the tail, the three packets that betray the loss
/// come behind 100 that wait, 80 ms; at the front, behind none.
#[test]
fn drop_from_front_tells_of_a_loss_a_queueing_delay_earlier() {
    let (tail, front) = (first_cut("\"droptail\""), first_cut("\"dropfront\""));
    println!("the window falls at {tail:.3} s and {front:.3} s");
    assert!((tail - front - 0.08).abs() <= 0.004, "{tail} {front}");
}

/// Clark and Fang: within their profile flows keep what they were promised. Five flows of 1.4 Mb/s
/// and five of 0.2 Mb/s over 10 Mb/s, four fifths of which are promised.
#[test]
fn rio_keeps_profiles_apart() {
    let flows = "[flows.gold]\nprotocol = \"sack\"\ncount = 5\nstart = \"uniform(0s, 1s)\"\n\
                 [flows.base]\nprotocol = \"sack\"\ncount = 5\nstart = \"uniform(0s, 1s)\"";
    let of = |queue: &str| {
        let outcome = run("10Mbps", "50ms", 200, queue, flows);
        (goodput(&outcome, "gold") / 5.0, goodput(&outcome, "base") / 5.0)
    };
    let rio = of("{ kind = \"rio\", profile0 = 1.4e6, profile1 = 0.2e6 }");
    let red = of("\"red\"");
    println!("rio {rio:?}, red {red:?}");
    assert!((red.0 / red.1 - 1.0).abs() < 0.3, "{red:?}");
    assert!(rio.0 > 0.8 * 1.4e6 && rio.1 > 0.2e6 && rio.0 > 2.0 * rio.1, "{rio:?}");
}

// Open-loop sources.

/// Section 4.1 of the paper: 1 Mb/s, 32 TCP flows and a UDP flow of 2 Mb/s, a buffer of 300
/// packets, thresholds 100 and 200. With RED UDP has nearly all (96 %); with CHOKe near 250 kb/s
/// (23 %, figure 4).
#[test]
fn choke_penalises_what_does_not_respond() {
    let flows = "[flows.tcp]\nprotocol = \"reno\"\ncount = 32\nstart = \"uniform(0s, 2s)\"\n\
                 [flows.udp]\nprotocol = \"udp\"\nrate = \"2Mbps\"";
    let of = |queue: &str| goodput(&run("1Mbps", "20ms", 300, queue, flows), "udp") / 1e6;
    let (choke, red) = (of("\"choke\""), of("{ kind = \"red\", gentle = false, max_p = 0.02 }"));
    println!("UDP's share with CHOKe {choke:.3}, with RED {red:.3}");
    assert!(red > 0.9, "{red}");
    assert!((choke - 0.23).abs() < 0.06, "{choke}");
}

/// The paper's first experiment: 10 Mb/s, 64 KB, 32 CBR flows of which flow i sends i + 1 times its
/// fair share of 0.3125 Mb/s.
#[test]
fn csfq_gives_each_cbr_flow_its_fair_share() {
    let flows: String = (1..=32)
        .map(|i| format!("[flows.f{i}]\nprotocol = \"udp\"\nrate = \"{}bps\"\n", 312_500 * i))
        .collect();
    let of = |queue: &str| {
        let outcome = run("10Mbps", "4ms", 64, queue, &flows);
        let share = |i: usize| outcome.tables.flows[i].goodput_bps / 312_500.0;
        (0..32).map(share).collect::<Vec<f64>>()
    };
    let (csfq, tail) = (of("\"csfq-edge\""), of("\"droptail\""));
    println!("csfq {csfq:.2?}\ndroptail {tail:.2?}");
    assert!(csfq.iter().all(|share| (share - 1.0).abs() < 0.15), "{csfq:?}");
    // The phases of the clocks decide.
    assert!(
        tail.iter().any(|share| *share < 0.5) && tail.iter().any(|share| *share > 1.5),
        "{tail:?}"
    );
}

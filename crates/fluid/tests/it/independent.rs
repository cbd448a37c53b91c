//! The engine against a method of steps that shares nothing with it.

use crate::common::{dumbbell, fluid, near, parse, series};

/// One XCP flow that does not fill the queue: Euler steps of 20 us over whole histories.
/// Gives the window at every 50 ms.
fn euler(c: f64, rtt: f64, forward: f64, seconds: f64) -> Vec<f64> {
    const H: f64 = 2e-5;
    let (alpha, gamma, s) = (0.4, 0.1, 1000.0);
    let steps = (seconds / H) as usize;
    let back = rtt - forward;
    let (mut x, mut xi) = (Vec::with_capacity(steps), Vec::with_capacity(steps));
    let (mut w, mut windows) = (1.0_f64, Vec::new());
    for n in 0..steps {
        let t = n as f64 * H;
        let past = |v: &Vec<f64>, delay: f64| {
            let n = ((t - delay) / H).round();
            if n < 0.0 || v.is_empty() { 0.0 } else { v[(n as usize).min(v.len() - 1)] }
        };
        x.push(w * s / rtt);
        let y = past(&x, forward);
        let seen = t - forward >= rtt;
        let phi = alpha * (c - y);
        let h = (gamma * y - phi.abs()).max(0.0);
        let gain = if seen && y > 0.0 {
            (phi.max(0.0) + h) / rtt - ((-phi).max(0.0) + h) / (rtt * y) * x[n]
        } else {
            0.0
        };
        // The loss of the flow is by its own rate now: kept apart from what the link says.
        xi.push((gain, phi, h, y));
        let m = ((t - back) / H).round();
        if t >= 2.0 * rtt && m >= 0.0 {
            let (_, phi, h, y) = xi[m as usize];
            if y > 0.0 && (t - back) - forward >= rtt {
                let up = (phi.max(0.0) + h) / rtt;
                let down = ((-phi).max(0.0) + h) / (rtt * y);
                w += H * rtt * (up - down * w * s / rtt) / s;
            }
        }
        if n % 2500 == 0 {
            windows.push(w);
        }
    }
    windows
}

#[test]
fn xcp_follows_the_same_path() {
    // 100 Mb/s: a packet takes 80 us on the link and 8 us on each of two access hops of 1 Gb/s, an
    // ACK 3.2 us and twice 0.32 us. 80 ms: 20 ms for each link, 10 ms for each access hop.
    let text = dumbbell("xcp", "100Mbps", "80ms", "");
    let sets = [
        "probe.series=[\"cwnd\"]",
        "probe.every=50ms",
        "duration=3s",
        "warmup=0s",
        "fluid.xcp=continuous",
    ];
    let auto = fluid(&parse(&text, &sets));
    let fixed = fluid(&parse(&text, &[&sets[..], &["fluid.step=1ms"]].concat()));
    let rtt = 0.08 + 80e-6 + 16e-6 + 3.2e-6 + 0.64e-6;
    let truth = euler(12.5e6, rtt, 0.01 + 8e-6, 3.0);
    // A step of 1 ms delays the first feedback by up to 1 ms of a ramp of 5000 packets/s: 5 of 200.
    for (outcome, part) in [(&auto, 0.005), (&fixed, 0.025)] {
        let cwnd = series(&outcome.tables, "cwnd_pkts", 0);
        // The row of 50 ms is the second of the truth's values.
        for ((t, w), want) in cwnd.iter().zip(&truth[1..]) {
            assert!(near(*w, *want, part), "at {t} s: {w}, not {want}");
        }
        assert!(near(cwnd.last().expect("rows").1, 1000.0 * rtt / 0.08, 0.001));
    }
}

#[test]
fn a_tenth_of_the_step_changes_little() {
    let flows = "count = 5\nrtt = [\"20ms\", \"40ms\", \"80ms\", \"120ms\", \"200ms\"]\nstart = \"every(1s)\"";
    let text = dumbbell("xcp", "45Mbps", "80ms", flows);
    let run = |step: &str| {
        fluid(&parse(&text, &[step, "topology.owd=1ms", "duration=10s", "warmup=0s"])).tables
    };
    let (coarse, fine) = (run("fluid.step=4ms"), run("fluid.step=400us"));
    for (a, b) in coarse.flows.iter().zip(&fine.flows) {
        assert!(near(a.goodput_bps, b.goodput_bps, 0.01), "{} {}", a.goodput_bps, b.goodput_bps);
    }
}

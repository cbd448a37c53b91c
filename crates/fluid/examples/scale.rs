//! How long many distinct flows take: `scale [FLOWS [LINKS [SECONDS [STEP]]]]`, by default 10^5
//! flows with RTTs of 20 to 200 ms over 5 of 10^3 links each, 60 s, once with the step that the
//! engine chooses and, if STEP is given, with that one too; then says how far the rates of the two
//! are apart.

use std::fmt::Write;
use std::time::Instant;

use clearpipe_fluid::{Outcome, simulate};

const PER_GROUP: usize = 100;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut next =
        |default: usize| arguments.next().map_or(default, |a| a.parse().expect("number"));
    let (flows, links, seconds) = (next(100_000), next(1000), next(60));
    let finer = arguments.next();
    let coarse = timed(flows, links, seconds, None);
    if let Some(step) = finer {
        compare(&coarse, &timed(flows, links, seconds, Some(&step)));
    }
}

/// A ring of links; group g's path are the five links from a place of its own on.
fn text(flows: usize, links: usize, seconds: usize, step: Option<&str>) -> String {
    let groups = flows.div_ceil(PER_GROUP);
    let mut text = format!(
        "schema = 1\nname = \"scale\"\nduration = \"{seconds}s\"\nwarmup = \"50%\"\n[fluid]\nstep = \"{}\"\n",
        step.unwrap_or("auto")
    );
    // A write to a String cannot fail.
    let _ = writeln!(text, "[queues.q]\nkind = \"xcp\"");
    for l in 0..links {
        // 400 to 800 Mb/s for about 5*100 flows each.
        let rate = 400 + (l * 7919) % 401;
        let to = (l + 1) % links;
        let _ = writeln!(
            text,
            "[links.l{l}]\nfrom = \"n{l}\"\nto = \"n{to}\"\nrate = \"{rate}Mbps\"\nowd = \"1ms\"\n\
             buffer = \"5MB\"\nqueue = \"q\""
        );
        let _ = writeln!(
            text,
            "[links.b{l}]\nfrom = \"n{to}\"\nto = \"n{l}\"\nrate = \"100Gbps\"\nowd = \"1ms\"\nbuffer = \"1MB\""
        );
    }
    for g in 0..groups {
        let first = g * 104_729 % links;
        let name = |prefix: &str, k: usize| format!("\"{prefix}{}\"", (first + k) % links);
        let path: Vec<String> = (0..5).map(|k| name("l", k)).collect();
        let back: Vec<String> = (0..5).rev().map(|k| name("b", k)).collect();
        let rtt = |i: usize| format!("\"{}us\"", 20_000 + (g * PER_GROUP + i) * 7919 % 180_000);
        let rtts: Vec<String> = (0..PER_GROUP).map(rtt).collect();
        let _ = writeln!(
            text,
            "[flows.g{g}]\nprotocol = \"xcp\"\ncount = {PER_GROUP}\npath = [{}]\nreverse_path = [{}]\n\
             rtt = [{}]\nstart = \"uniform(0s, 1s)\"",
            path.join(", "),
            back.join(", "),
            rtts.join(", ")
        );
    }
    text
}

fn timed(flows: usize, links: usize, seconds: usize, step: Option<&str>) -> Outcome {
    let text = text(flows, links, seconds, step);
    let parsed = scenario::parse("scale", &text, &[]).expect("a scenario");
    let scenario = parsed.scenario;
    let (start, before) = (now(), processor_seconds());
    let outcome = simulate(&scenario, 1, 0, &mut |_| true).expect("a fluid form");
    let (wall, n) = (start.elapsed().as_secs_f64(), outcome.numerics);
    let processor = processor_seconds() - before;
    println!(
        "{flows} flows, {links} links, {seconds} s: {} classes, {} steps of {:.2} to {:.2} ms in {processor:.1} s of \
         processor time ({wall:.1} s), {:.1} ns per class and step, {} MB",
        n.classes,
        n.steps,
        n.step_min_s * 1e3,
        n.step_max_s * 1e3,
        processor * 1e9 / (n.classes * n.steps) as f64,
        peak_mb()
    );
    outcome
}

#[expect(clippy::disallowed_methods, reason = "a benchmark")]
fn now() -> Instant {
    Instant::now()
}

/// What this process has used, in user mode (field 14 of Linux's proc(5), in hundredths of a
/// second).
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(") ").next().unwrap_or_default();
    fields
        .split(' ')
        .nth(11)
        .and_then(|ticks| ticks.parse::<f64>().ok())
        .map_or(f64::NAN, |t| t / 100.0)
}

fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}

fn compare(a: &Outcome, b: &Outcome) {
    let pairs = || a.tables.flows.iter().zip(&b.tables.flows);
    let off = |a: f64, b: f64| (a / b.max(1.0) - 1.0).abs();
    spread(
        "mean rates in the second half",
        pairs().map(|(a, b)| off(a.goodput_bps, b.goodput_bps)),
    );
    let volume = pairs().map(|(a, b)| off(a.delivered_bytes as f64, b.delivered_bytes as f64));
    spread("volumes since the start", volume);
}

fn spread(what: &str, off: impl Iterator<Item = f64>) {
    let mut off: Vec<f64> = off.collect();
    off.sort_by(f64::total_cmp);
    let at = |share: f64| off[((off.len() - 1) as f64 * share) as usize] * 100.0;
    println!(
        "{what} differ by {:.4} % (median), {:.4} % (99 %), {:.4} % (most)",
        at(0.5),
        at(0.99),
        at(1.0)
    );
}

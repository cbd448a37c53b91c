use super::*;
use scenario::DelayLaw;
use units::math;

fn stream(name: &str) -> Stream {
    Stream::new(1, 0, name)
}

fn losses(model: LossModel, data_only: bool) -> Losses {
    Losses::new(&Loss { model, data_only }, stream("loss"))
}

/// Share of losses among so many packets, and mean length of a run of losses.
fn measure(losses: &mut Losses, packets: u32) -> (f64, f64) {
    let (mut lost, mut runs, mut before) = (0, 0, false);
    for _ in 0..packets {
        let now = losses.next(PacketKind::Data);
        lost += u32::from(now);
        runs += u32::from(now && !before);
        before = now;
    }
    (f64::from(lost) / f64::from(packets), f64::from(lost) / f64::from(runs))
}

#[test]
fn random_losses_have_their_share_and_no_memory() {
    let n = 200_000;
    let (share, run) = measure(&mut losses(LossModel::Random(0.2), false), n);
    // Standard error sqrt(0.2*0.8/n) = 0.0009; a run has length 1/(1 - p).
    assert!((share - 0.2).abs() < 0.0045, "{share}");
    assert!((run - 1.25).abs() < 0.02, "{run}");
    assert_eq!(measure(&mut losses(LossModel::Random(0.0), false), 1000).0, 0.0);
    assert_eq!(measure(&mut losses(LossModel::Random(1.0), false), 1000).0, 1.0);
}

#[test]
fn gilbert_elliott_has_the_share_and_the_bursts_of_the_formulas() {
    let chain = |loss_good, loss_bad| LossModel::GilbertElliott {
        to_bad: 0.01,
        to_good: 0.25,
        loss_good,
        loss_bad,
    };
    let n = 1_000_000;
    // In the bad state for 0.01/0.26 of the packets, 1/0.25 at a time.
    let (share, run) = measure(&mut losses(chain(0.0, 1.0), false), n);
    // 10 000 bursts of variance 12: 1 % each is about three standard errors.
    assert!((share / (0.01 / 0.26) - 1.0).abs() < 0.05, "{share}");
    assert!((run / 4.0 - 1.0).abs() < 0.05, "{run}");
    // Losses in both: 0.25/0.26*0.02 + 0.01/0.26*0.5 = 0.038 46.
    let (share, _) = measure(&mut losses(chain(0.02, 0.5), false), n);
    assert!((share / 0.038_46 - 1.0).abs() < 0.03, "{share}");
}

#[test]
fn a_chain_that_always_steps_loses_every_other_packet() {
    let model =
        LossModel::GilbertElliott { to_bad: 1.0, to_good: 1.0, loss_good: 0.0, loss_bad: 1.0 };
    let mut losses = losses(model, false);
    let lost: Vec<bool> = (0..4).map(|_| losses.next(PacketKind::Data)).collect();
    assert_eq!(lost, [true, false, true, false]);
}

#[test]
fn every_third_and_those_of_a_list() {
    let which = |losses: &mut Losses| -> Vec<u64> {
        (1..=10).filter(|_| losses.next(PacketKind::Data)).collect()
    };
    assert_eq!(which(&mut losses(LossModel::Every(3), false)), [3, 6, 9]);
    assert_eq!(which(&mut losses(LossModel::Every(1), false)).len(), 10);
    assert_eq!(which(&mut losses(LossModel::List([1, 2, 7, 99].into()), false)), [1, 2, 7]);
    assert_eq!(which(&mut losses(LossModel::List([].into()), false)), [0_u64; 0]);
}

#[test]
fn data_only_neither_counts_nor_loses_acks() {
    let kinds = [PacketKind::Data, PacketKind::Ack];
    let lost = |data_only| -> Vec<bool> {
        let mut losses = losses(LossModel::Every(2), data_only);
        (0..8).map(|i| losses.next(kinds[i % 2])).collect()
    };
    assert_eq!(lost(true), [false, false, true, false, false, false, true, false]);
    assert_eq!(lost(false), [false, true, false, true, false, true, false, true]);
}

fn line(line: &scenario::Line) -> Line {
    let streams =
        Streams { loss: stream("loss"), jitter: stream("jitter"), reorder: stream("reorder") };
    Line::new(Rate(1_000_000), line, streams).expect("not plain")
}

fn jitter(extra: DelayLaw, in_order: bool) -> scenario::Line {
    scenario::Line { jitter: Some(Jitter { extra, in_order }), ..Default::default() }
}

/// The delays added to packets that come out 1 ms apart.
fn delays(line: &mut Line, packets: u64) -> Vec<(u64, u64)> {
    (0..packets)
        .map(|i| {
            let due = i * 1_000_000_000;
            (due, line.out(Time(due)).0)
        })
        .collect()
}

#[test]
fn a_plain_line_is_none() {
    let streams = || Streams { loss: stream("a"), jitter: stream("b"), reorder: stream("c") };
    assert!(Line::new(Rate(1), &scenario::Line::default(), streams()).is_none());
}

#[test]
fn jitter_in_order_waits_for_those_before() {
    let law = DelayLaw::Uniform(Span::ZERO, Span::from_millis(20));
    let mut line = line(&jitter(law, true));
    assert!(line.crossing.is_none());
    let out = delays(&mut line, 10_000);
    assert!(out.is_sorted_by_key(|&(_, out)| out));
    assert!(out.iter().all(|&(due, out)| due <= out && out < due + 20_000_000_000));
    // A packet draws less than the 19 ms behind it allow: many come out with the one before.
    assert!(out.windows(2).any(|pair| pair[0].1 == pair[1].1));
}

#[test]
fn jitter_out_of_order_has_its_law() {
    let mut line = line(&jitter(DelayLaw::Exponential(Span::from_millis(5)), false));
    assert!(line.crossing.is_some());
    let out = delays(&mut line, 100_000);
    let extra: Vec<f64> = out.iter().map(|(due, out)| (out - due) as f64 * 1e-9).collect();
    let mean = extra.iter().sum::<f64>() / extra.len() as f64;
    // Standard error 5/sqrt(100 000) = 0.016 ms.
    assert!((mean - 5.0).abs() < 0.08, "{mean}");
    let beyond = extra.iter().filter(|&&x| x > 10.0).count() as f64 / extra.len() as f64;
    assert!((beyond - math::exp(-2.0)).abs() < 0.006, "{beyond}");
}

#[test]
fn reordering_holds_up_its_share() {
    let reorder = Some(Reorder { p: 0.05, extra: Span::from_millis(10) });
    let mut line = line(&scenario::Line { reorder, ..Default::default() });
    let out = delays(&mut line, 100_000);
    assert!(out.iter().all(|&(due, out)| out == due || out == due + 10_000_000_000));
    let held = out.iter().filter(|(due, out)| out > due).count() as f64 / 1e5;
    // Standard error sqrt(0.05*0.95/100 000) = 0.0007.
    assert!((held - 0.05).abs() < 0.0035, "{held}");
}

#[test]
fn those_held_up_on_a_line_in_order_hold_nobody_else_up() {
    let law = DelayLaw::Fixed(Span::from_millis(2));
    let reorder = Some(Reorder { p: 0.5, extra: Span::from_millis(10) });
    let mut line = line(&scenario::Line { reorder, ..jitter(law, true) });
    let out = delays(&mut line, 1000);
    let extra = |ms: u64| out.iter().filter(|&&(due, out)| out == due + ms * 1_000_000_000).count();
    assert_eq!(extra(2) + extra(12), 1000);
    assert!((400..600).contains(&extra(12)));
}

#[test]
fn packets_come_out_by_time_then_in_order_of_entry() {
    let mut line = Crossing::default();
    assert!(line.push(7, Time(50)));
    assert!(line.push(8, Time(30)));
    assert!(!line.push(9, Time(50)) && !line.push(3, Time(50)));
    // The event of 50 is not the one that counts while that of 30 is pending.
    assert!(!line.fires(Time(50)) && line.fires(Time(30)) && !line.fires(Time(30)));
    assert_eq!((line.pop(Time(30)), line.pop(Time(30))), (Some(8), None));
    assert_eq!((line.rearm(), line.rearm()), (Some(Time(50)), None));
    assert!(line.fires(Time(50)));
    let rest: Vec<_> = std::iter::from_fn(|| line.pop(Time(50))).collect();
    assert_eq!((rest, line.rearm()), (vec![7, 9, 3], None));
}

#[test]
fn outages_drop_from_their_begin_up_to_their_end() {
    let outage = |from, to| Outage { from: Span(from), to: Span(to) };
    let outages = vec![outage(10, 20), outage(20, 25), outage(40, 41)];
    let mut file = scenario::Line { outages, outage_drops: true, ..Default::default() };
    let refused =
        |line: &Line| -> Vec<u64> { (0..50).filter(|&t| line.refuses(Time(t))).collect() };
    let during: Vec<u64> = (10..25).chain([40]).collect();
    assert_eq!(refused(&line(&file)), during);
    file.outage_drops = false;
    assert_eq!(refused(&line(&file)), [0_u64; 0]);
}

//! What must hold for every policy of links with classes, whatever happens to it.

use clearpipe_cc::classes::{Place, Service};
use clearpipe_cc::params::{Kind, Value};
use clearpipe_cc::registry::{AnyCell, AnyRouter, AnyRouterParams, Role, queues};
use clearpipe_cc::roles::{Backlog, Ecn, Limit, PacketKind, Passing, RouterContext, Verdict};
use proptest::prelude::*;
use proptest::sample::select;
use units::random::Stream;
use units::{Rate, Span, Time};

#[derive(Clone, Debug)]
struct Step {
    flow: u32,
    size: u32,
    data: bool,
    ecn: Ecn,
    label: f32,
    group: u32,
    waits: u32,
    gap: Span,
    queued_for: Span,
    again: bool,
    fits: bool,
}

fn span() -> impl Strategy<Value = Span> {
    prop_oneof![
        6 => (0..2_000_u64).prop_map(Span::from_millis),
        2 => (0..1_000_u64).prop_map(Span::from_micros),
        1 => select(vec![Span::ZERO, Span(1), Span::from_secs(1_000_000)]),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let flow = prop_oneof![4 => 0..5_u32, 1 => any::<u32>()];
    let size = prop_oneof![4 => Just(1000), 1 => Just(40), 1 => any::<u32>()];
    let ecn = select(vec![Ecn::NotCapable, Ecn::Ect1, Ecn::Ect0, Ecn::Ce]);
    let label = select(vec![0.0_f32, 1.0, 2.0, 1e3, 1e9, f32::MAX, f32::MIN_POSITIVE]);
    let waits = prop_oneof![4 => 0..300_u32, 1 => any::<u32>()];
    (
        (flow, size, any::<bool>(), ecn, label),
        (0..6_u32, waits, span(), span()),
        any::<(bool, bool)>(),
    )
        .prop_map(
            |((flow, size, data, ecn, label), (group, waits, gap, queued_for), flags)| {
                let (again, fits) = flags;
                Step { flow, size, data, ecn, label, group, waits, gap, queued_for, again, fits }
            },
        )
}

/// Each policy with classes, its parameters at random places of their ranges.
fn routers(tuning: Option<&[f64]>, capacity: u64) -> Vec<(&'static str, AnyRouter)> {
    let mut all = Vec::new();
    for info in queues().filter(|info| info.role == Role::Policy) {
        let mut params = AnyRouterParams::named(info.name).unwrap();
        for (spec, &at) in info.params.iter().zip(tuning.unwrap_or_default()) {
            let x = spec.low + at * (spec.high - spec.low);
            let value = match spec.kind {
                Kind::Flag => Value::Flag(at >= 0.5),
                Kind::Count => Value::Count(x as u64),
                Kind::Number => Value::Number(x.clamp(spec.low, spec.high)),
                Kind::Span => Value::Span(Span::from_secs_f64(x)),
                Kind::Text => Value::Text("a:B"),
                Kind::Choice(words) => {
                    Value::Choice(words[((words.len() - 1) as f64 * at).round() as usize])
                }
            };
            assert_eq!(params.set(spec.name, value), Ok(()), "{}.{}", info.name, spec.name);
        }
        if matches!(params.service(), Service::Classes(_)) {
            all.push((
                info.name,
                params.build(&RouterContext {
                    link: 0,
                    capacity: Rate(capacity),
                    limit: Limit::Packets(100),
                    packet_bytes: 1000,
                    stream: Stream::new(1, 0, "test"),
                    host: &clearpipe_cc::foreign::Nobody,
                }),
            ));
        }
    }
    all
}

/// One packet's arrival and its turn at the head.
fn pass(
    router: &mut AnyRouter,
    now: Time,
    step: &Step,
    cell: &mut AnyCell,
    name: &str,
) -> (Vec<Verdict>, Ecn, u32) {
    let backlog = Backlog { packets: step.waits, bytes: u64::from(step.waits) * 1000 };
    let kind = if step.data { PacketKind::Data } else { PacketKind::Ack };
    let (mut ecn, mut label) = (step.ecn, step.label);
    let draws = router.draw(now, backlog);
    assert!(draws.is_none_or(|n| n < step.waits), "{name}: draws what is not there");
    let mut verdicts = Vec::new();
    let mut ask = |head: bool, class: u32, router: &mut AnyRouter| {
        let mut place = Place {
            backlog,
            class,
            queue: backlog,
            group: step.group,
            label: &mut label,
            cell: &mut *cell,
            drawn: draws.map(|n| n % 5),
            idle: step.waits == 0,
            fits: step.fits,
            again: step.again,
        };
        let queued_for = if head { step.queued_for } else { Span::ZERO };
        let (flow, size) = (step.flow, step.size);
        if head {
            let verdict = router.on_head(
                now,
                Passing { flow, size, kind, queued_for, ecn: &mut ecn, header: None },
                &mut place,
            );
            assert_ne!(verdict, Verdict::DropBoth, "{name}");
            verdicts.push(verdict);
            return class;
        }
        let class = router.classify(
            now,
            Passing { flow, size, kind, queued_for, ecn: &mut ecn, header: None },
            &mut place,
        );
        place.class = class;
        let verdict = router.admit(
            now,
            Passing { flow, size, kind, queued_for, ecn: &mut ecn, header: None },
            &mut place,
        );
        let pair = place.drawn == Some(flow);
        assert!(verdict != Verdict::DropBoth || pair, "{name}: no pair of one flow");
        verdicts.push(verdict);
        class
    };
    let class = ask(false, 0, router);
    assert_eq!(router.cell(step.flow), router.cell(step.flow));
    assert!(class <= step.flow.max(65_536), "{name}: class {class}");
    let weight = router.weight(class);
    assert!(weight > 0.0 && weight.is_finite(), "{name}: {weight}");
    ask(true, class, router);
    assert!(label.is_finite() && label >= 0.0, "{name}: {label}");
    if !step.data || step.ecn == Ecn::NotCapable {
        assert_eq!(ecn, step.ecn, "{name}: a mark on what may not be marked");
    }
    router.probe(&mut |variable, value| assert!(value.is_finite(), "{name}: {variable} {value}"));
    (verdicts, ecn, label.to_bits())
}

proptest! {
    #[test]
    fn policies_stand_anything(
        steps in proptest::collection::vec(step(), 1..80),
        tuning in proptest::option::of(proptest::collection::vec(0.0..=1.0_f64, 32)),
        capacity in select(vec![1_u64, 10_000, 10_000_000, 400_000_000_000]),
    ) {
        for (name, mut router) in routers(tuning.as_deref(), capacity) {
            let (mut now, mut cell) = (Time::ZERO, AnyCell::Empty);
            for step in &steps {
                now = now + step.gap;
                pass(&mut router, now, step, &mut cell, name);
            }
        }
    }
}

/// What was measured stays: one that is told its own parameters again goes on as if nothing had
/// been said, with the same marks, labels and drops.
#[test]
fn a_policy_told_the_same_again_goes_on() {
    let twice = routers(None, 10_000_000).into_iter().zip(routers(None, 10_000_000));
    for ((name, mut told), (_, mut left)) in twice {
        let params = AnyRouterParams::named(name).unwrap();
        let context = RouterContext {
            link: 0,
            capacity: Rate(10_000_000),
            limit: Limit::Packets(100),
            packet_bytes: 1000,
            stream: Stream::new(7, 7, "another"),
            host: &clearpipe_cc::foreign::Nobody,
        };
        let mut now = Time::ZERO;
        let mut cells = [AnyCell::Empty, AnyCell::Empty];
        for n in 0..2_000_u32 {
            let step = Step {
                flow: n % 3,
                size: 1000,
                data: n % 7 > 0,
                ecn: if n % 2 == 0 { Ecn::Ect0 } else { Ecn::NotCapable },
                label: 1e5 * (n % 5) as f32,
                group: n % 2,
                // Idle at times, and up to 90 packets that have waited up to 90 ms.
                waits: (n / 4) % 91,
                gap: Span::from_micros(u64::from(500 + n % 11 * 100)),
                queued_for: Span::from_millis(u64::from((n / 4) % 91)),
                again: false,
                fits: n % 50 > 0,
            };
            now = now + step.gap;
            let [of_told, of_left] = &mut cells;
            let one = |router: &mut AnyRouter, cell: &mut AnyCell| {
                if router.next_timer() <= now {
                    router.on_timer(now, Backlog { packets: step.waits, bytes: 0 });
                }
                let empty = Backlog::default();
                let mut ecn = Ecn::NotCapable;
                let (size, kind, queued_for) = (1000, PacketKind::Data, Span::ZERO);
                let last = Passing { flow: 0, size, kind, queued_for, ecn: &mut ecn, header: None };
                router.on_departure(now, last, empty);
                router.on_heads([Some(Time(now.0.saturating_sub(step.queued_for.0))), None]);
                pass(router, now, &step, cell, name)
            };
            let found = one(&mut told, of_told);
            assert_eq!(found, one(&mut left, of_left), "{name}, step {n}");
            assert!(told.retune(&params, &context));
            assert_eq!(format!("{told:?}"), format!("{left:?}"), "{name}, step {n}");
        }
    }
}

/// The ten of the registry, so that the test above has something to test.
#[test]
fn there_are_policies_with_classes() {
    let names: Vec<_> = routers(None, 10_000_000).into_iter().map(|(name, _)| name).collect();
    for name in
        ["dropfront", "choke", "rio", "csfq", "csfq-edge", "drr", "wfq", "priority", "codel"]
    {
        assert!(names.contains(&name), "{name}");
    }
}

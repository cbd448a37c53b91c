//! The length of steps, where all have one, and how far back they are remembered.

use scenario::{Scenario, Sending};
use units::math;

use crate::Unsupported;
use crate::ack_clock;
use crate::link::Feedback;
use crate::model::Model;

/// More class-crossings than this are solved with steps of one length unless told.
const LARGE: usize = 20_000;
/// The longest history of steps of one length [values].
const MOST_PAST: usize = 1 << 27;
/// The steps that are remembered where the tolerance chooses them, at first.
const FIRST: usize = 256;

/// The length of all steps [s], if they have one: as the scenario says, or because there is much to
/// solve.
pub fn fixed(scenario: &Scenario, model: &Model) -> Option<f64> {
    let chosen = scenario.fluid.step.map(|step| step.as_secs());
    if scenario.fluid.sending == Sending::Acks && chosen.is_none() {
        let step = (model.shortest_rtt() / ack_clock::STEPS_PER_RTT).min(ack_clock::LONGEST);
        return on_period(model, Some(step));
    }
    let large = model.crossings.len() > LARGE;
    let own = || large.then(|| (model.shortest_rtt() / 4.0).clamp(1e-4, 0.02));
    on_period(model, chosen.or_else(own))
}

/// A period of a load factor is a whole number of steps.
fn on_period(model: &Model, step: Option<f64>) -> Option<f64> {
    let period = model.rules.iter().find_map(|rule| match &rule.feedback {
        Feedback::Load(load) if load.follows => Some(0.04),
        Feedback::Load(load) => Some(load.t_rho),
        _ => None,
    });
    step.map(|h| period.map_or(h, |period| period / -math::floor(-period / h)))
}

/// How long packets and their ACKs may at most be on the way [s].
pub fn horizon(model: &Model) -> f64 {
    model.classes.iter().map(|class| class.reach).fold(0.0, f64::max).max(0.01)
}

/// How many steps are remembered, of which all have the length `fixed`, if any: as many as the
/// horizon has, as far as memory allows.
pub fn places(model: &Model, fixed: Option<f64>) -> usize {
    let most = (MOST_PAST / model.classes.len().max(1)).max(64);
    let needed = |h: f64| (horizon(model) / h) as usize + 4;
    fixed.map_or(FIRST, |h| needed(h).min(most).next_power_of_two())
}

/// Refuses steps of one length that are too long for sources that ACKs clock, or so short that not
/// all is remembered that ACKs answer.
pub fn check(scenario: &Scenario, model: &Model) -> Result<(), Unsupported> {
    let Some(h) = fixed(scenario, model) else { return Ok(()) };
    let acks = scenario.fluid.sending == Sending::Acks;
    let refuse = |reason: String| Err(Unsupported { key: "fluid.step".into(), reason });
    let most = model.shortest_rtt() / 4.0;
    if let Some(step) = scenario.fluid.step.map(|step| step.as_secs()).filter(|h| acks && *h > most)
    {
        return refuse(format!(
            "{step} s is too long for fluid.sending = \"acks\": a step is at most a quarter of the shortest RTT, \
             here {most:.6} s"
        ));
    }
    // Evenly sent, what is older than anything remembered was sent at the oldest rate.
    let longest = model.classes.iter().map(|class| class.base_rtt).fold(0.0, f64::max);
    let needed = if acks { horizon(model) } else { longest };
    let (kept, classes) = (places(model, Some(h)) as f64 * h, model.classes.len());
    if kept < needed {
        return refuse(format!(
            "steps of {h:.6} s are remembered for {kept:.3} s with so many classes of flows ({classes}), and their \
             ACKs may take {needed:.3} s; take longer steps or smaller buffers"
        ));
    }
    Ok(())
}

//! The fluid engine's curves beside a run.

use js_sys::{Function, Object};
use scenario::{Capacity, Scenario, Series, Step};
use units::{Span, Time};
use wasm_bindgen::prelude::*;

use crate::said;
use crate::series::{objects, set};

/// What a branch was before.
pub struct Past {
    pub scenario: &'static Scenario,
    pub at: Time,
}

/// The scenario for the fluid engine, which has no packets' inner variables.
pub fn formed(scenario: &Scenario) -> Scenario {
    let mut scenario = scenario.clone();
    scenario.probe.series.retain(|series| *series != Series::Sender);
    scenario
}

/// As [`crate::Lab::fluid`] says.
pub fn fluid(
    scenario: &Scenario,
    rep: u64,
    past: Option<&Past>,
    more: &Function,
) -> Result<Object, JsError> {
    let (scenario, until) = match past {
        None => (formed(scenario), None),
        Some(past) => match stepped(past, scenario).filter(|one| fluid::check(one).is_ok()) {
            Some(both) => (both, None),
            None => {
                let mut before = formed(past.scenario);
                before.probe = formed(scenario).probe;
                (before, Some(past.at))
            }
        },
    };
    let wanted = &mut |_| more.call0(&JsValue::NULL).is_ok_and(|answer| answer.is_truthy());
    let outcome = fluid::simulate(&scenario, scenario.seed, rep, wanted).map_err(said)?;
    if !outcome.complete {
        return Err(said("the fluid engine takes too long here"));
    }
    let object = Object::new();
    set(&object, "series", objects(outcome.tables.series));
    set(&object, "until", until.map_or(JsValue::NULL, |at| at.as_secs().into()));
    Ok(object)
}

/// One scenario whose fluid run is the past up to the branch and the branch from then on: a link's
/// rate steps there. None if more than rates, starts and stops to come and the duration differ:
/// buffers and parameters of queues have one value in a fluid run.
fn stepped(past: &Past, branch: &Scenario) -> Option<Scenario> {
    let mut both = formed(branch);
    for (before, link) in past.scenario.links.iter().zip(&mut both.links) {
        if before.rate != link.rate {
            let step = Step { at: Span(past.at.0), rate: link.rate };
            link.line.capacity = Capacity::Steps(vec![step]);
            link.rate = before.rate;
        }
        let same = before.limit == link.limit && before.queue == link.queue;
        if !same {
            return None;
        }
    }
    Some(both)
}

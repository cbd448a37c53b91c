//! Senders that are JavaScript classes: the host of [`cc::foreign`]. The worker has the objects, as
//! `globalThis.clearpipeHost`; the first exception ends the calls, and the run.

use cc::roles::{
    Ack, Backlog, Departing, Ecn, EcnUse, Host, Hosted, HostedRouter, Loss, LossKind, Numbers,
    Passing, RouterContext, SenderContext, Verdict, Wishes,
};
use units::{Rate, Span, Time};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = clearpipeHost)]
    fn sender(class: &str, packet_bytes: u32, initial_window: f64, seed: f64) -> u32;
    #[wasm_bindgen(js_namespace = clearpipeHost)]
    fn ecn(object: u32) -> u32;
    #[wasm_bindgen(js_namespace = clearpipeHost)]
    fn onAck(object: u32, numbers: &[f64]) -> f64;
    #[wasm_bindgen(js_namespace = clearpipeHost)]
    fn onLoss(object: u32, now: f64, kind: u32, in_flight: u32, lost: u32, repeated: bool) -> f64;
    #[wasm_bindgen(js_namespace = clearpipeHost)]
    fn onTimer(object: u32, now: f64) -> f64;
    #[wasm_bindgen(js_namespace = clearpipeHost)]
    fn cwnd(object: u32) -> f64;
    #[wasm_bindgen(js_namespace = clearpipeHost)]
    fn timer(object: u32) -> f64;
    #[wasm_bindgen(js_namespace = clearpipeHost)]
    fn pacing(object: u32) -> f64;
    #[wasm_bindgen(js_namespace = clearpipeHost)]
    fn duplicate(object: u32) -> u32;
    #[wasm_bindgen(js_namespace = clearpipeHost)]
    fn release(object: u32);
    #[wasm_bindgen(js_namespace = clearpipeHost)]
    fn refuse(message: &str);
    #[wasm_bindgen(js_namespace = clearpipeHost)]
    fn failed() -> Option<String>;
    /// Says why the module stops.
    #[wasm_bindgen(js_namespace = clearpipeHost)]
    pub fn panicked(message: &str);
}

/// What is built meanwhile finds its prototypes in the worker.
pub fn with<T>(run: impl FnOnce() -> T) -> T {
    net::with_host(&Worker, run)
}

/// What a class threw, if one did.
pub fn failure() -> Result<(), JsError> {
    failed().map_or(Ok(()), |message| Err(JsError::new(&message)))
}

/// The worker as the host of prototypes.
#[derive(Debug)]
struct Worker;

/// A time that is over before the call has ended means so much later.
const SOON: Span = Span::from_micros(1);

/// NaN: there is none.
fn seconds(span: Option<Span>) -> f64 {
    span.map_or(f64::NAN, Span::as_secs)
}

/// What a sender says. The worker has checked the numbers: a window is 1 packet or more.
fn wishes(object: u32, cwnd: f64, now: Time) -> Wishes {
    let (at, pace) = (timer(object), pacing(object));
    let timer = match Time::ZERO + Span::from_secs_f64(at.max(0.0)) {
        _ if at.is_nan() => Time::NEVER,
        at if at > now => at,
        _ => now + SOON,
    };
    Wishes { cwnd, timer, pacing: (!pace.is_nan()).then_some(Rate(pace as u64)) }
}

impl Host for Worker {
    fn sender(&self, class: &'static str, context: &SenderContext) -> Hosted {
        // 53 bits are a whole number in JavaScript.
        let seed = (context.stream.clone().bits() >> 11) as f64;
        let object = sender(class, context.packet_bytes, context.initial_window, seed);
        let ecn = match ecn(object) {
            1 => EcnUse::Classic,
            2 => EcnUse::Codes(Ecn::Ect1),
            _ => EcnUse::None,
        };
        let wishes = wishes(object, cwnd(object), Time::ZERO);
        Hosted { object, wishes, ecn, writes: false }
    }

    fn on_send(&self, object: u32, segment: &Departing) -> (Wishes, Numbers) {
        (wishes(object, cwnd(object), segment.now), Numbers::default())
    }

    fn on_ack(&self, object: u32, ack: &Ack<Numbers>) -> Wishes {
        let flag = |is: bool| if is { 1.0 } else { 0.0 };
        let numbers = [
            ack.now.as_secs(),
            f64::from(ack.delivered),
            f64::from(ack.acked),
            f64::from(ack.lost),
            seconds(ack.rtt),
            seconds(ack.srtt),
            seconds(ack.min_rtt),
            f64::from(ack.in_flight),
            flag(ack.recovering),
            f64::from(ack.code as u8),
            flag(ack.ece),
        ];
        wishes(object, onAck(object, &numbers), ack.now)
    }

    fn on_loss(&self, object: u32, loss: &Loss) -> Wishes {
        let kind = match loss.kind {
            LossKind::DupAcks => 0,
            LossKind::Timeout => 1,
            LossKind::EcnEcho => 2,
        };
        let now = loss.now.as_secs();
        let cwnd = onLoss(object, now, kind, loss.in_flight, loss.lost, loss.repeated);
        wishes(object, cwnd, loss.now)
    }

    fn on_timer(&self, object: u32, now: Time) -> Wishes {
        wishes(object, onTimer(object, now.as_secs()), now)
    }

    fn router(&self, class: &'static str, _: &RouterContext) -> HostedRouter {
        refuse(&format!("{class}: a queue in JavaScript is not there; write a sender"));
        HostedRouter { object: u32::MAX, timer: Time::NEVER, departures: false }
    }

    fn on_arrival(&self, _: u32, _: Time, _: Passing<'_, Numbers>, _: Backlog) -> Verdict {
        Verdict::Forward
    }

    fn on_departure(&self, _: u32, _: Time, _: Passing<'_, Numbers>, _: Backlog) {}

    fn on_router_timer(&self, _: u32, _: Time, _: Backlog) -> Time {
        Time::NEVER
    }

    fn on_capacity(&self, _: u32, _: Time, _: Rate) {}

    fn duplicate(&self, object: u32) -> u32 {
        duplicate(object)
    }

    fn release(&self, object: u32) {
        release(object);
    }
}

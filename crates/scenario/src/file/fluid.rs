//! The `[fluid]` table: what only the fluid engine reads.

use serde_json::{Value as Json, json};
use units::Span;

use crate::error::{Fault, Problem};
use crate::syntax::declaration::{Definitions, FileValue, Word, table, word_values};
use crate::syntax::document::{Node, Raw};

/// How the fluid engine solves its equations. No other engine reads it, and it is not in a run's
/// identity unless that run is the fluid engine's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fluid {
    /// The length of a step; `None`: as the tolerance allows, or with [`Sending::Acks`] an
    /// eightieth of the shortest RTT and at most 0.5 ms.
    pub step: Option<Span>,
    /// What a step may add to the error of a window, as a part of the window.
    pub tolerance: f64,
    /// Which form VCP has.
    pub vcp: VcpForm,
    /// Which form XCP's and iXCP's routers have.
    pub xcp: XcpForm,
    /// When a source sends what its window allows.
    pub sending: Sending,
}

impl Default for Fluid {
    fn default() -> Fluid {
        Fluid {
            step: None,
            tolerance: 1e-4,
            vcp: VcpForm::Switching,
            xcp: XcpForm::Intervals,
            sending: Sending::Rates,
        }
    }
}

/// VCP's two fluid forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VcpForm {
    /// The load factor is measured once per period and quantised, and the window switches between
    /// MI, AI and MD, as in the protocol.
    Switching,
    /// The MIAIMD model of the paper's section V: the load factor is known exactly and all the
    /// time.
    Miaimd,
}

impl VcpForm {
    /// The word in scenario files.
    pub fn name(self) -> &'static str {
        match self {
            VcpForm::Switching => "switching",
            VcpForm::Miaimd => "miaimd",
        }
    }
}

impl Word for VcpForm {
    const WHAT: &'static str = "form of VCP";
    fn all() -> Vec<(&'static str, VcpForm)> {
        [VcpForm::Switching, VcpForm::Miaimd].map(|form| (form.name(), form)).to_vec()
    }
}

word_values!(VcpForm);

/// The two fluid forms of XCP's and iXCP's routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XcpForm {
    /// What a control interval has measured is handed out over the next one, as in the protocol.
    Intervals,
    /// The router knows its load, its queue and its flows' RTTs exactly and all the time.
    Continuous,
}

impl XcpForm {
    /// The word in scenario files.
    pub fn name(self) -> &'static str {
        match self {
            XcpForm::Intervals => "intervals",
            XcpForm::Continuous => "continuous",
        }
    }
}

impl Word for XcpForm {
    const WHAT: &'static str = "form of XCP";
    fn all() -> Vec<(&'static str, XcpForm)> {
        [XcpForm::Intervals, XcpForm::Continuous].map(|form| (form.name(), form)).to_vec()
    }
}

word_values!(XcpForm);

/// When a source sends what its window allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sending {
    /// All the time, at the rate of the window over the RTT, as theory has it.
    Rates,
    /// As ACKs let it, a window of whole packets being in flight, and routers keep account of what
    /// is left of an interval's feedback, as in the protocols: what was sent in a burst comes back
    /// in one.
    Acks,
}

impl Sending {
    /// The word in scenario files.
    pub fn name(self) -> &'static str {
        match self {
            Sending::Rates => "rates",
            Sending::Acks => "acks",
        }
    }
}

impl Word for Sending {
    const WHAT: &'static str = "way of sending";
    fn all() -> Vec<(&'static str, Sending)> {
        [Sending::Rates, Sending::Acks].map(|form| (form.name(), form)).to_vec()
    }
}

word_values!(Sending);

table! {
    /// How the fluid engine solves its equations; other engines ignore it.
    pub(crate) struct FluidFile {
        /// Length of a step. `auto` adapts it to meet the tolerance, or fixes it if classes of
        /// flows cross links more than 20,000 times. With `sending = "acks"` all steps have one
        /// length: `auto` is an eightieth of the shortest RTT and at most 0.5 ms, a given step is
        /// at most a quarter of the shortest RTT, and `tolerance` is not used.
        step: StepForm = default("auto");
        /// Error that one step may add to a window, relative to the window. Steps of fixed length
        /// ignore it.
        tolerance: Tolerance = default(0.0001);
        /// VCP as the protocol, with codes that switch, or as the paper's MIAIMD model.
        vcp: VcpForm = default("switching");
        /// XCP's and iXCP's routers as in the protocol, with control intervals, or as in its
        /// analysis.
        xcp: XcpForm = default("intervals");
        /// Sources send a window evenly over each RTT, or whole packets as ACKs allow.
        sending: Sending = default("rates");
    }
}

impl FluidFile {
    /// The table's values.
    pub fn resolved(&self) -> Fluid {
        Fluid {
            step: self.step.value.0,
            tolerance: self.tolerance.value.0,
            vcp: self.vcp.value,
            xcp: self.xcp.value,
            sending: self.sending.value,
        }
    }
}

/// `"auto"` or a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepForm(pub Option<Span>);

impl FileValue for StepForm {
    fn form() -> String {
        "\"auto\" or time".to_owned()
    }
    fn schema(_: &mut Definitions) -> Json {
        json!({ "type": "string", "description": "auto, or a time", "examples": ["auto", "1ms"] })
    }
    fn read(node: &Node) -> Result<StepForm, Fault> {
        if matches!(&node.raw, Raw::Text(text) if text == "auto") {
            return Ok(StepForm(None));
        }
        let step = Span::read(node)?;
        if (Span::from_micros(1)..=Span::from_secs(10)).contains(&step) {
            return Ok(StepForm(Some(step)));
        }
        let value = format!("{} s", step.as_secs());
        Err(node.spot.fault(Problem::Range { value, allowed: "1us to 10s".to_owned() }))
    }
}

/// A relative error, 1e-9 to 0.1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tolerance(pub f64);

impl FileValue for Tolerance {
    fn form() -> String {
        "number, 1e-9 to 0.1".to_owned()
    }
    fn schema(_: &mut Definitions) -> Json {
        json!({ "type": "number", "minimum": 1e-9, "maximum": 0.1 })
    }
    fn read(node: &Node) -> Result<Tolerance, Fault> {
        let Raw::Float(value) = node.raw else {
            return Err(node.mismatch("a number such as 1e-4"));
        };
        if (1e-9..=0.1).contains(&value) {
            return Ok(Tolerance(value));
        }
        let (value, allowed) = (format!("{value:?}"), "1e-9 to 0.1".to_owned());
        Err(node.spot.fault(Problem::Range { value, allowed }))
    }
}

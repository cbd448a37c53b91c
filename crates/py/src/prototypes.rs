//! Senders and routers that are Python classes: the host of [`cc::foreign`].
//!
//! Objects live in a table of the thread that runs. The first exception ends the calls; the run
//! stops at its next look at the clock, and the exception is what the caller gets.

use std::cell::RefCell;
use std::collections::BTreeMap;

use cc::roles::{
    Ack, Backlog, Departing, Ecn, EcnUse, Host, Hosted, HostedRouter, Loss, LossKind, Numbers,
    PacketKind, Passing, RouterContext, SenderContext, Verdict, Wishes,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use pyo3::{PyTypeInfo, intern};
use scenario::{Parts, Scenario};
use units::{Rate, Span, Time};

/// The fields of a header, as Python sees them.
type Fields = (f64, f64, f64);

/// What a sender starts with.
#[pyclass(frozen, get_all, name = "SenderContext", module = "clearpipe._core")]
pub struct PySenderContext {
    /// Size of a full data packet on the wire [bytes].
    packet_bytes: u32,
    /// Window at the start [packets].
    initial_window: f64,
    /// Seed of the flow's own random numbers.
    seed: u64,
}

/// What a router starts with.
#[pyclass(frozen, get_all, name = "RouterContext", module = "clearpipe._core")]
pub struct PyRouterContext {
    /// The link's number.
    link: u32,
    /// The link's capacity [bit/s].
    capacity_bps: f64,
    /// Size of a full data packet [bytes].
    packet_bytes: u32,
    /// The buffer's limit [bytes], or None if it is in packets.
    limit_bytes: Option<u64>,
    /// The buffer's limit [packets], or None if it is in bytes.
    limit_packets: Option<u32>,
    /// Seed of the router's own random numbers.
    seed: u64,
}

/// A data packet about to leave.
#[pyclass(frozen, get_all, name = "Departing", module = "clearpipe._core")]
pub struct PyDeparting {
    /// The time [s].
    now: f64,
    /// Size on the wire [bytes].
    size: u32,
    /// Number of its data, from 0.
    seq: u64,
    /// Smoothed RTT [s]; None before the first sample.
    srtt: Option<f64>,
    /// Packets in the network before this one.
    in_flight: u32,
    /// Was its data sent before?
    retransmission: bool,
}

/// An ACK that reports newly delivered data.
#[pyclass(frozen, get_all, name = "Ack", module = "clearpipe._core")]
pub struct PyAck {
    /// The time [s].
    now: f64,
    /// Packets reported as delivered for the first time.
    delivered: u32,
    /// Packets that the cumulative number moved over.
    acked: u32,
    /// RTT of the packet that caused it [s]; None if that was sent twice.
    rtt: Option<f64>,
    /// Smoothed RTT [s].
    srtt: Option<f64>,
    /// Smallest RTT seen [s].
    min_rtt: Option<f64>,
    /// Packets in the network after it.
    in_flight: u32,
    /// Is fast recovery under way?
    recovering: bool,
    /// The header as it reached the receiver.
    header: Fields,
    /// The ECN bits of the data packet, 0 to 3 (with `ecn = "codes"`).
    code: u8,
    /// ECN-Echo (with `ecn = "classic"`).
    ece: bool,
}

/// A loss event.
#[pyclass(frozen, get_all, name = "Loss", module = "clearpipe._core")]
pub struct PyLoss {
    /// The time [s].
    now: f64,
    /// "dupacks", "timeout" or "ecn".
    kind: &'static str,
    /// Packets sent and not yet acknowledged when it was noticed.
    in_flight: u32,
    /// Packets taken for lost.
    lost: u32,
    /// Is this the second or a later timeout without an ACK of new data between?
    repeated: bool,
}

/// A packet at a router. `ecn` and `header` of a data packet may be written.
#[pyclass(name = "Packet", module = "clearpipe._core")]
pub struct PyPacket {
    /// The time [s].
    #[pyo3(get)]
    now: f64,
    /// The flow's number.
    #[pyo3(get)]
    flow: u32,
    /// Size on the wire [bytes].
    #[pyo3(get)]
    size: u32,
    /// Is it an acknowledgement?
    #[pyo3(get)]
    is_ack: bool,
    /// How long it waited here [s]; 0 on arrival.
    #[pyo3(get)]
    queued_for: f64,
    ecn: Ecn,
    header: Option<Numbers>,
}

#[pymethods]
impl PyPacket {
    /// The ECN bits, 0 to 3.
    #[getter]
    fn ecn(&self) -> u8 {
        self.ecn as u8
    }

    /// Marks the packet.
    #[setter]
    fn set_ecn(&mut self, bits: u8) -> PyResult<()> {
        let ecn = match bits {
            0 => Ecn::NotCapable,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            3 => Ecn::Ce,
            _ => return Err(PyValueError::new_err(format!("{bits} are no two bits (0 to 3)"))),
        };
        if self.is_ack || (ecn == Ecn::NotCapable) != (self.ecn == Ecn::NotCapable) {
            let reason =
                "a router marks data packets that are ECN-capable (bits 1 to 3), no others";
            return Err(PyValueError::new_err(reason));
        }
        self.ecn = ecn;
        Ok(())
    }

    /// The three numbers of a prototype's data packet; None for others.
    #[getter]
    fn header(&self) -> Option<Fields> {
        self.header.map(Into::into)
    }

    /// Writes the header.
    #[setter]
    fn set_header(&mut self, fields: Fields) -> PyResult<()> {
        let Some(header) = &mut self.header else {
            return Err(PyValueError::new_err("this packet has no header to write"));
        };
        *header = fields.into();
        Ok(())
    }
}

/// What waits at a link.
#[pyclass(frozen, get_all, name = "Backlog", module = "clearpipe._core")]
pub struct PyBacklog {
    /// Packets waiting.
    packets: u32,
    /// Bytes waiting.
    bytes: u64,
}

/// A prototype's instance and what the engine calls of it.
struct Object {
    instance: Py<PyAny>,
    /// Its methods: `on_ack` or `on_arrival`, and `on_send` or `on_departure`.
    first: Py<PyAny>,
    second: Py<PyAny>,
    /// What it wanted last.
    wishes: Wishes,
}

/// The prototypes of the run on this thread.
#[derive(Default)]
struct Table {
    classes: BTreeMap<(bool, &'static str), Py<PyAny>>,
    objects: Vec<Option<Object>>,
    free: Vec<u32>,
    failure: Option<PyErr>,
}

thread_local! {
    static TABLE: RefCell<Option<Table>> = const { RefCell::new(None) };
}

fn with_table<T>(look: impl FnOnce(&mut Table) -> T) -> Option<T> {
    TABLE.with_borrow_mut(|table| table.as_mut().map(look))
}

/// Puts back the table that was there: a prototype may run scenarios of its own.
struct Former(Option<Table>);

impl Drop for Former {
    fn drop(&mut self) {
        // Dropping objects may run Python code, so not while the table is borrowed.
        drop(TABLE.replace(self.0.take()));
    }
}

/// Has a prototype failed?
pub fn failed() -> bool {
    with_table(|table| table.failure.is_some()) == Some(true)
}

/// The versions of the scenario's classes: hashes of their code.
pub fn parts(py: Python<'_>, file_name: &str, scenario: &Scenario) -> PyResult<Parts> {
    let mut found = Parts::new();
    for net::Prototype { router, definition, class } in net::prototypes(scenario) {
        let loader = py.import("clearpipe.prototype")?;
        let version = loader.call_method1("version", (class, file_name, router, definition))?;
        found.insert(format!("code {class}"), version.extract()?);
    }
    Ok(found)
}

/// Runs `run`, without the interpreter if there are no prototypes in the scenario, which was read
/// from `file_name`.
pub fn run_with<T: Send>(
    py: Python<'_>,
    scenario: &Scenario,
    file_name: &str,
    run: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let named = net::prototypes(scenario);
    if named.is_empty() {
        return Ok(py.detach(run));
    }
    let loader = py.import("clearpipe.prototype")?;
    let mut table = Table::default();
    for prototype in named {
        let net::Prototype { router, definition, class } = prototype;
        let loaded = loader.call_method1("load", (class, file_name, router, definition))?;
        table.classes.insert((router, class), loaded.unbind());
    }
    let _former = Former(TABLE.replace(Some(table)));
    let done = net::with_host(&PYTHON, run);
    match with_table(|table| table.failure.take()).flatten() {
        Some(failure) => Err(failure),
        None => Ok(done),
    }
}

/// Python as the host of prototypes.
#[derive(Debug)]
struct PythonHost;

static PYTHON: PythonHost = PythonHost;

const NOTHING: Wishes = Wishes { cwnd: 1.0, timer: Time::NEVER, pacing: None };

impl PythonHost {
    /// Does `call`, unless a prototype has failed; what it raises is the failure.
    fn attempt<T>(call: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
        if failed() {
            return None;
        }
        Python::attach(|py| match call(py) {
            Ok(value) => Some(value),
            Err(error) => {
                with_table(|table| {
                    table.failure.get_or_insert(error);
                });
                None
            }
        })
    }

    fn add(object: Object) -> u32 {
        let added = with_table(|table| match table.free.pop() {
            Some(id) => {
                table.objects[id as usize] = Some(object);
                id
            }
            None => {
                table.objects.push(Some(object));
                (table.objects.len() - 1) as u32
            }
        });
        added.unwrap_or(u32::MAX)
    }

    fn last(id: u32) -> Wishes {
        let last = with_table(|t| t.objects.get(id as usize)?.as_ref().map(|o| o.wishes));
        last.flatten().unwrap_or(NOTHING)
    }

    /// Calls a method of a sender and reads what it wishes then.
    fn tell(
        id: u32,
        (now, asked): (Time, Asked),
        call: impl FnOnce(Python<'_>, &Methods) -> PyResult<()>,
    ) -> Wishes {
        let told = Self::attempt(|py| {
            let methods = Methods::of(py, id)?;
            call(py, &methods)?;
            let wishes = wishes(methods.instance.bind(py), now, asked)?;
            with_table(|table| {
                if let Some(Some(object)) = table.objects.get_mut(id as usize) {
                    object.wishes = wishes;
                }
            });
            Ok(wishes)
        });
        // The timer of one that failed never fires again: the run must come to its end.
        told.unwrap_or_else(|| Wishes { timer: Time::NEVER, ..Self::last(id) })
    }

    fn create<'py, C: PyTypeInfo>(
        py: Python<'py>,
        (router, class): (bool, &'static str),
        context: Bound<'py, C>,
        methods: [&str; 2],
    ) -> PyResult<(Bound<'py, PyAny>, Object)> {
        let known = with_table(|t| t.classes.get(&(router, class)).map(|c| c.clone_ref(py)));
        let known = known.flatten().ok_or_else(|| PyTypeError::new_err("no such prototype"))?;
        let instance = known.bind(py).call1((context,))?;
        let [first, second] = methods.map(|name| instance.getattr(name).map(Bound::unbind));
        let object = Object {
            instance: instance.clone().unbind(),
            first: first?,
            second: second?,
            wishes: NOTHING,
        };
        Ok((instance, object))
    }
}

/// An object's references, taken out of the table for the time of a call.
struct Methods {
    instance: Py<PyAny>,
    first: Py<PyAny>,
    second: Py<PyAny>,
}

impl Methods {
    fn of(py: Python<'_>, id: u32) -> PyResult<Methods> {
        let found = with_table(|table| {
            let object = table.objects.get(id as usize)?.as_ref()?;
            Some(Methods {
                instance: object.instance.clone_ref(py),
                first: object.first.clone_ref(py),
                second: object.second.clone_ref(py),
            })
        });
        found.flatten().ok_or_else(|| PyTypeError::new_err("the prototype is gone"))
    }
}

fn seconds(span: Option<Span>) -> Option<f64> {
    span.map(Span::as_secs)
}

/// The error of an attribute that has no allowed value: "S.cwnd is 0.5: ... is allowed".
fn refused(object: &Bound<'_, PyAny>, attribute: &str, allowed: &str) -> PyErr {
    let text = object.get_type().qualname().and_then(|class| {
        let value = object.getattr(attribute)?.repr()?;
        Ok(format!("{class}.{attribute} is {value}: {allowed} is allowed"))
    });
    text.map_or_else(|error| error, PyValueError::new_err)
}

/// Largest window of a prototype [packets].
const MAX_CWND: f64 = 1e7;

/// What a sender's attributes say.
fn wishes(sender: &Bound<'_, PyAny>, now: Time, asked: Asked) -> PyResult<Wishes> {
    let py = sender.py();
    let cwnd = sender.getattr(intern!(py, "cwnd"))?.extract::<f64>().ok();
    let cwnd = cwnd.filter(|cwnd| (1.0..=MAX_CWND).contains(cwnd)).ok_or_else(|| {
        refused(sender, "cwnd", &format!("a finite number of packets, 1 to {MAX_CWND},"))
    })?;
    let pacing = match sender.getattr(intern!(py, "pacing"))?.extract::<Option<f64>>() {
        Ok(None) => None,
        Ok(Some(bps)) if (1.0..1e18).contains(&bps) => Some(Rate(bps as u64)),
        _ => return Err(refused(sender, "pacing", "None or a number of bit/s, 1 to 1e18,")),
    };
    Ok(Wishes { cwnd, timer: timer(sender, now, asked)?, pacing })
}

/// After which call an object's timer is read.
#[derive(Clone, Copy, PartialEq)]
enum Asked {
    /// `on_timer`, before which the timer was taken back: what stands there is new.
    OnTimer,
    /// Another one.
    Otherwise,
}

/// A time that is over before the call has ended means so much later.
const SOON: Span = Span::from_micros(1);

/// When an object wants its timer: later than now, or never.
fn timer(object: &Bound<'_, PyAny>, now: Time, asked: Asked) -> PyResult<Time> {
    let secs = match object.getattr(intern!(object.py(), "timer"))?.extract::<Option<f64>>() {
        Ok(None) => return Ok(Time::NEVER),
        Ok(Some(secs)) if !secs.is_nan() => secs,
        _ => return Err(refused(object, "timer", "None or a time in seconds")),
    };
    let at = Time::ZERO + Span::from_secs_f64(secs.max(0.0));
    // As Python sees it too: now in seconds may be rounded up.
    if at > now && secs > now.as_secs() {
        return Ok(at);
    }
    if asked == Asked::OnTimer {
        let allowed = format!("None or a time after now ({})", now.as_secs());
        return Err(refused(object, "timer", &allowed));
    }
    Ok(now + SOON)
}

/// Is this method another than that of the base class?
fn overridden(instance: &Bound<'_, PyAny>, base: &str, method: &str) -> PyResult<bool> {
    let py = instance.py();
    let base = py.import("clearpipe.prototype")?.getattr(base)?.getattr(method)?;
    Ok(!instance.get_type().getattr(method)?.is(&base))
}

fn ecn_use(sender: &Bound<'_, PyAny>) -> PyResult<EcnUse> {
    let word = sender.getattr("ecn")?.extract::<String>();
    match word.as_deref() {
        Ok("none") => Ok(EcnUse::None),
        Ok("classic") => Ok(EcnUse::Classic),
        Ok("codes") => Ok(EcnUse::Codes(Ecn::Ect1)),
        _ => Err(refused(sender, "ecn", "\"none\", \"classic\" or \"codes\"")),
    }
}

impl Host for PythonHost {
    fn sender(&self, class: &'static str, context: &SenderContext) -> Hosted {
        let created = Self::attempt(|py| {
            let context = PySenderContext {
                packet_bytes: context.packet_bytes,
                initial_window: context.initial_window,
                seed: context.stream.clone().bits(),
            };
            let context = Bound::new(py, context)?;
            let key = (false, class);
            let (sender, object) = Self::create(py, key, context, ["on_ack", "on_send"])?;
            let (wishes, ecn) = (wishes(&sender, Time::ZERO, Asked::Otherwise)?, ecn_use(&sender)?);
            let writes = overridden(&sender, "Sender", "on_send")?;
            let object = Self::add(Object { wishes, ..object });
            Ok(Hosted { object, wishes, ecn, writes })
        });
        let nothing =
            Hosted { object: u32::MAX, wishes: NOTHING, ecn: EcnUse::None, writes: false };
        created.unwrap_or(nothing)
    }

    fn on_send(&self, object: u32, segment: &Departing) -> (Wishes, Numbers) {
        let mut header = Numbers::default();
        let wishes = Self::tell(object, (segment.now, Asked::Otherwise), |py, methods| {
            let segment = PyDeparting {
                now: segment.now.as_secs(),
                size: segment.size,
                seq: segment.seq,
                srtt: seconds(segment.srtt),
                in_flight: segment.in_flight,
                retransmission: segment.retransmission,
            };
            let answer = methods.second.bind(py).call1((segment,))?;
            if !answer.is_none() {
                let fields = answer.extract::<Fields>()?;
                header = fields.into();
            }
            Ok(())
        });
        (wishes, header)
    }

    fn on_ack(&self, object: u32, ack: &Ack<Numbers>) -> Wishes {
        Self::tell(object, (ack.now, Asked::Otherwise), |py, methods| {
            let ack = PyAck {
                now: ack.now.as_secs(),
                delivered: ack.delivered,
                acked: ack.acked,
                rtt: seconds(ack.rtt),
                srtt: seconds(ack.srtt),
                min_rtt: seconds(ack.min_rtt),
                in_flight: ack.in_flight,
                recovering: ack.recovering,
                header: ack.header.into(),
                code: ack.code as u8,
                ece: ack.ece,
            };
            methods.first.bind(py).call1((ack,)).map(drop)
        })
    }

    fn on_loss(&self, object: u32, loss: &Loss) -> Wishes {
        Self::tell(object, (loss.now, Asked::Otherwise), |py, methods| {
            let loss = PyLoss {
                now: loss.now.as_secs(),
                kind: match loss.kind {
                    LossKind::DupAcks => "dupacks",
                    LossKind::Timeout => "timeout",
                    LossKind::EcnEcho => "ecn",
                },
                in_flight: loss.in_flight,
                lost: loss.lost,
                repeated: loss.repeated,
            };
            methods.instance.bind(py).call_method1(intern!(py, "on_loss"), (loss,)).map(drop)
        })
    }

    fn on_timer(&self, object: u32, now: Time) -> Wishes {
        Self::tell(object, (now, Asked::OnTimer), |py, methods| {
            let sender = methods.instance.bind(py);
            sender.setattr(intern!(py, "timer"), py.None())?;
            sender.call_method1(intern!(py, "on_timer"), (now.as_secs(),)).map(drop)
        })
    }

    fn router(&self, class: &'static str, context: &RouterContext) -> HostedRouter {
        let created = Self::attempt(|py| {
            let (limit_bytes, limit_packets) = match context.limit {
                cc::roles::Limit::Bytes(bytes) => (Some(bytes), None),
                cc::roles::Limit::Packets(packets) => (None, Some(packets)),
            };
            let context = PyRouterContext {
                link: context.link,
                capacity_bps: context.capacity.as_bps(),
                packet_bytes: context.packet_bytes,
                limit_bytes,
                limit_packets,
                seed: context.stream.clone().bits(),
            };
            let context = Bound::new(py, context)?;
            let methods = ["on_arrival", "on_departure"];
            let (router, object) = Self::create(py, (true, class), context, methods)?;
            let timer = timer(&router, Time::ZERO, Asked::Otherwise)?;
            let departures = overridden(&router, "Router", "on_departure")?;
            Ok(HostedRouter { object: Self::add(object), timer, departures })
        });
        let nothing = HostedRouter { object: u32::MAX, timer: Time::NEVER, departures: false };
        created.unwrap_or(nothing)
    }

    fn on_arrival(
        &self,
        object: u32,
        now: Time,
        packet: Passing<'_, Numbers>,
        backlog: Backlog,
    ) -> Verdict {
        let lets_in = Self::attempt(|py| {
            let methods = Methods::of(py, object)?;
            let answer = pass(py, &methods.first, now, packet, backlog)?;
            // Who says nothing lets it in.
            if answer.is_none() { Ok(true) } else { answer.is_truthy() }
        });
        if lets_in == Some(false) { Verdict::Drop } else { Verdict::Forward }
    }

    fn on_departure(&self, object: u32, now: Time, packet: Passing<'_, Numbers>, backlog: Backlog) {
        Self::attempt(|py| {
            let methods = Methods::of(py, object)?;
            pass(py, &methods.second, now, packet, backlog).map(drop)
        });
    }

    fn on_router_timer(&self, object: u32, now: Time, backlog: Backlog) -> Time {
        let next = Self::attempt(|py| {
            let methods = Methods::of(py, object)?;
            let router = methods.instance.bind(py);
            router.setattr(intern!(py, "timer"), py.None())?;
            let backlog = PyBacklog { packets: backlog.packets, bytes: backlog.bytes };
            router.call_method1(intern!(py, "on_timer"), (now.as_secs(), backlog))?;
            timer(router, now, Asked::OnTimer)
        });
        next.unwrap_or(Time::NEVER)
    }

    fn on_capacity(&self, object: u32, now: Time, capacity: Rate) {
        Self::attempt(|py| {
            let router = Methods::of(py, object)?.instance;
            let arguments = (now.as_secs(), capacity.as_bps());
            router.bind(py).call_method1(intern!(py, "on_capacity"), arguments).map(drop)
        });
    }

    /// A deep copy, in Python's sense.
    fn duplicate(&self, object: u32) -> u32 {
        let copy = Self::attempt(|py| {
            let instance = Methods::of(py, object)?.instance;
            let copy = py.import("copy")?.call_method1("deepcopy", (instance,))?;
            let base = py.import("clearpipe.prototype")?.getattr("Router")?;
            let router = copy.is_instance(&base)?;
            let names = if router { ["on_arrival", "on_departure"] } else { ["on_ack", "on_send"] };
            let [first, second] = names.map(|name| copy.getattr(name).map(Bound::unbind));
            let wishes = Self::last(object);
            let (first, second) = (first?, second?);
            Ok(Self::add(Object { instance: copy.unbind(), first, second, wishes }))
        });
        copy.unwrap_or(u32::MAX)
    }

    fn release(&self, object: u32) {
        let gone = with_table(|table| {
            let gone = table.objects.get_mut(object as usize)?.take()?;
            table.free.push(object);
            Some(gone)
        });
        // Dropping it may run Python code, so not while the table is borrowed.
        drop(gone);
    }
}

/// Shows a packet to a router's method, and takes over what that wrote.
fn pass<'py>(
    py: Python<'py>,
    method: &Py<PyAny>,
    now: Time,
    packet: Passing<'_, Numbers>,
    backlog: Backlog,
) -> PyResult<Bound<'py, PyAny>> {
    let shown = PyPacket {
        now: now.as_secs(),
        flow: packet.flow,
        size: packet.size,
        is_ack: packet.kind == PacketKind::Ack,
        queued_for: packet.queued_for.as_secs(),
        ecn: *packet.ecn,
        header: packet.header.as_deref().copied(),
    };
    let shown = Bound::new(py, shown)?;
    let backlog = Bound::new(py, PyBacklog { packets: backlog.packets, bytes: backlog.bytes })?;
    let arguments = PyTuple::new(py, [shown.as_any(), backlog.as_any()])?;
    let answer = method.bind(py).call1(arguments)?;
    let shown = shown.borrow();
    *packet.ecn = shown.ecn;
    if let (Some(header), Some(written)) = (packet.header, shown.header) {
        *header = written;
    }
    Ok(answer)
}

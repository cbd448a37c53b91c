//! What a run writes down, and where.

use std::fmt;
use std::io::{self, BufWriter, Write};

use units::Time;

use crate::pcapng::Capture;
use crate::qlog::{About, News, QlogWriter};
use crate::trace::TraceWriter;
use crate::{Departure, SenderState, Window};

/// Where bytes go.
pub type Output = Box<dyn Write + Send>;

/// Somebody who sees packets as they leave, instead of a file.
pub type Watcher = Box<dyn FnMut(&Departure) + Send>;

/// The bytes handed to the system at once.
const BUFFER_BYTES: usize = 1 << 17;

/// A capture that is wanted.
pub struct CaptureOf<'a> {
    /// The link's number.
    pub link: u32,
    /// Its name.
    pub name: &'a str,
    /// Its capacity [bit/s].
    pub rate_bps: u64,
    /// Without the payloads' zeros?
    pub headers_only: bool,
    /// What an error calls the file.
    pub file: String,
}

/// A trace that is wanted.
pub struct TraceOf {
    /// The names of all links.
    pub links: Vec<String>,
    /// The names of all groups.
    pub groups: Vec<String>,
    /// The most bytes it takes; then it stops, and the run goes on.
    pub limit: u64,
    /// What an error calls the file.
    pub file: String,
}

/// A log that is wanted.
pub struct LogOf {
    /// The flow's number.
    pub flow: u32,
    /// What it says of the flow.
    pub about: About,
    /// What an error calls the file.
    pub file: String,
}

/// A file could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {source}")]
pub struct RecordError {
    /// Which.
    pub file: String,
    /// Why.
    pub source: io::Error,
}

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Links captured, and their packets, in the order of the links.
    pub captures: Vec<(u32, u64)>,
    /// The trace, if there is one.
    pub trace: Option<TraceEnd>,
    /// Flows logged, and their events, in the order of the flows.
    pub logs: Vec<(u32, u64)>,
}

/// How a trace ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEnd {
    /// Bytes written.
    pub bytes: u64,
    /// When the limit was reached, if it was.
    pub stopped: Option<Time>,
}

/// Writes the captures, the trace and the logs of one run.
///
/// A departure is held until the link's next one or the end, since its last bit may leave after a
/// run is over. After an error it takes everything and writes nothing; [`Recorder::failed`] says
/// so.
pub struct Recorder {
    window: Window,
    links: Vec<Tap>,
    trace: Option<(String, TraceWriter<BufWriter<Output>>)>,
    /// By flow.
    logs: Vec<Option<Log>>,
    watcher: Option<Watcher>,
    error: Option<RecordError>,
}

type Log = (String, QlogWriter<BufWriter<Output>>);

#[derive(Default)]
struct Tap {
    held: Option<Departure>,
    capture: Option<(String, Capture<BufWriter<Output>>)>,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("window", &self.window).finish_non_exhaustive()
    }
}

impl Recorder {
    /// Nothing is wanted yet of a network with this many links.
    pub fn new(links: usize, window: Window) -> Recorder {
        let links = (0..links).map(|_| Tap::default()).collect();
        Recorder { window, links, trace: None, logs: Vec::new(), watcher: None, error: None }
    }

    /// Wants a link's packets.
    ///
    /// # Errors
    /// The head of the file cannot be written.
    ///
    /// # Panics
    /// If there is no such link.
    pub fn capture(&mut self, wanted: CaptureOf<'_>, out: Output) -> Result<(), RecordError> {
        let CaptureOf { link, name, rate_bps, headers_only, file } = wanted;
        let out = BufWriter::with_capacity(BUFFER_BYTES, out);
        match Capture::new(out, name, rate_bps, headers_only) {
            Ok(capture) => {
                self.links[link as usize].capture = Some((file, capture));
                Ok(())
            }
            Err(source) => Err(RecordError { file, source }),
        }
    }

    /// Wants a trace.
    ///
    /// # Errors
    /// The head of the file cannot be written.
    pub fn trace(&mut self, wanted: TraceOf, out: Output) -> Result<(), RecordError> {
        let TraceOf { links, groups, limit, file } = wanted;
        let out = BufWriter::with_capacity(BUFFER_BYTES, out);
        match TraceWriter::new(out, &links, groups, limit) {
            Ok(trace) => {
                self.trace = Some((file, trace));
                Ok(())
            }
            Err(source) => Err(RecordError { file, source }),
        }
    }

    /// Wants the log of a flow.
    ///
    /// # Errors
    /// The head of the file cannot be written.
    pub fn log(&mut self, wanted: LogOf, out: Output) -> Result<(), RecordError> {
        let LogOf { flow, about, file } = wanted;
        let out = BufWriter::with_capacity(BUFFER_BYTES, out);
        match QlogWriter::new(out, flow, about) {
            Ok(log) => {
                let flow = flow as usize;
                if flow >= self.logs.len() {
                    self.logs.resize_with(flow + 1, || None);
                }
                self.logs[flow] = Some((file, log));
                Ok(())
            }
            Err(source) => Err(RecordError { file, source }),
        }
    }

    /// Wants to see the packets of all links, each link's in their order.
    pub fn watch(&mut self, watcher: Watcher) {
        self.watcher = Some(watcher);
    }

    /// Are the departures of this link wanted?
    pub fn taps(&self, link: usize) -> bool {
        self.traces() || self.watcher.is_some() || self.links[link].capture.is_some()
    }

    /// Are the sources' states wanted?
    pub fn traces(&self) -> bool {
        self.trace.is_some()
    }

    /// Is any flow's log wanted?
    pub fn logs_any(&self) -> bool {
        !self.logs.is_empty()
    }

    /// Is this flow's?
    pub fn logs(&self, flow: u32) -> bool {
        self.logs.get(flow as usize).is_some_and(Option::is_some)
    }

    /// Could something not be written?
    pub fn failed(&self) -> bool {
        self.error.is_some()
    }

    /// A packet leaves a link. A link's departures come in their order.
    pub fn departed(&mut self, packet: Departure) {
        let tap = &mut self.links[packet.link as usize];
        if let Some(before) = tap.held.replace(packet) {
            self.write(&before);
        }
    }

    /// A source has done something.
    pub fn sender(&mut self, now: Time, state: &SenderState) {
        if self.error.is_some() || !self.window.holds(now) {
            return;
        }
        if let Some((file, trace)) = &mut self.trace {
            note(&mut self.error, file, trace.sender(now, state));
        }
    }

    /// Something has happened to a source.
    pub fn news(&mut self, now: Time, news: &News<'_>) {
        if self.error.is_some() {
            return;
        }
        if let Some(Some((file, log))) = self.logs.get_mut(news.state.flow as usize) {
            let wanted = self.window.holds(now);
            note(&mut self.error, file, log.news(now, news, wanted));
        }
    }

    fn write(&mut self, packet: &Departure) {
        if self.error.is_some() || !self.window.holds(packet.end) {
            return;
        }
        if let Some(watcher) = &mut self.watcher {
            watcher(packet);
        }
        if let Some((file, capture)) = &mut self.links[packet.link as usize].capture {
            note(&mut self.error, file, capture.write(packet));
        }
        if let Some((file, trace)) = &mut self.trace {
            note(&mut self.error, file, trace.departed(packet));
        }
    }

    /// The run ended at `end`: writes what left by then and hands all to the system.
    ///
    /// # Errors
    /// The first file that could not be written.
    pub fn finish(mut self, end: Time) -> Result<Recorded, RecordError> {
        for link in 0..self.links.len() {
            if let Some(packet) = self.links[link].held.take().filter(|held| held.end <= end) {
                self.write(&packet);
            }
        }
        if let Some(error) = self.error {
            return Err(error);
        }
        let mut recorded = Recorded::default();
        for (link, tap) in self.links.into_iter().enumerate() {
            if let Some((file, capture)) = tap.capture {
                let packets = capture.finish().map_err(|source| RecordError { file, source })?;
                recorded.captures.push((link as u32, packets));
            }
        }
        if let Some((file, trace)) = self.trace {
            let (bytes, stopped) = trace.finish().map_err(|source| RecordError { file, source })?;
            recorded.trace = Some(TraceEnd { bytes, stopped });
        }
        for (flow, log) in self.logs.into_iter().enumerate() {
            if let Some((file, log)) = log {
                let events = log.finish().map_err(|source| RecordError { file, source })?;
                recorded.logs.push((flow as u32, events));
            }
        }
        Ok(recorded)
    }
}

/// Keeps the first error.
fn note(error: &mut Option<RecordError>, file: &str, written: io::Result<()>) {
    if let Err(source) = written
        && error.is_none()
    {
        *error = Some(RecordError { file: file.to_owned(), source });
    }
}

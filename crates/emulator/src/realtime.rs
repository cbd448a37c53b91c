//! The emulator: a network, TUN devices, a real clock.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::budget::Budget;
use crate::lateness::{Late, Lateness};
use crate::network::{Capture, Ended, Network, Outgoing, Wall};
use crate::plan::{CaptureTo, Device, EmulatorPlan, Watch};
use crate::sys::{self, Scheduling};

/// Packets taken from one device before what is due is looked at again.
const BATCH: usize = 64;
/// The emulator's priority under SCHED_FIFO.
pub const PRIORITY: i32 = 10;
/// The longest time for which the clock is watched instead of sleeping.
const MAX_WATCH_NS: u64 = 100_000;
/// Nothing that the emulator does takes so long: who did not run for this time was stopped [ns].
const STOPPED_NS: u64 = 20_000_000;
/// The budget is looked at this often, as the processor's clock is a system call [ns].
const COUNT_NS: u64 = 200_000;
/// A wait that takes longer than this was a sleep.
const SLEPT_NS: u64 = 5_000;
/// The largest IPv4 packet.
const MAX_PACKET: usize = 65_535;
/// Bytes of a capture handed to the system at once.
const CAPTURE_BUFFER: usize = 1 << 20;

/// Why the emulator did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// The plan, or the scenario in it, is not valid.
    #[error("{0}")]
    Plan(String),
    /// A device could not be made.
    #[error("device {name} in {netns}: {source}")]
    Device {
        /// The namespace.
        netns: String,
        /// The device's name.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// A capture cannot be written.
    #[error("{path}: {source}")]
    Capture {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// The system said no on the way.
    #[error("{what}: {source}")]
    System {
        /// What was done.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
}

fn system(what: &'static str) -> impl FnOnce(io::Error) -> Failed {
    move |source| Failed::System { what, source }
}

/// What the emulator says at its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EmulatorReport {
    /// What the network counted.
    pub network: Ended,
    /// Did it run with SCHED_FIFO?
    pub realtime: bool,
    /// How late packets left.
    pub late: Late,
    /// Packets that were not whole IP.
    pub foreign_pkts: u64,
    /// Packets that a device did not take.
    pub refused_pkts: u64,
    /// Packets handed to devices.
    pub forwarded_pkts: u64,
    /// How often the system did not let the emulator run for more than 20 ms.
    pub stops: u64,
    /// For how long in all.
    pub stopped_s: f64,
    /// How often it rested by itself, not to be stopped.
    pub rests: u64,
    /// For how long the clock was watched.
    pub watched_s: f64,
    /// Processor time over the whole life.
    pub cpu_s: f64,
    /// Real time over the whole life.
    pub wall_s: f64,
}

/// What the emulator says when packets can come.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Ready {
    /// Always true.
    pub ready: bool,
    /// Does it run with SCHED_FIFO?
    pub realtime: bool,
}

/// Makes the devices, says so on `out` by a line of JSON, and carries packets until the run is
/// over.
///
/// Lines on stdin tell it more: `start NS` is when the run starts [ns of CLOCK_MONOTONIC], `stop`
/// ends it, as the end of stdin does, and SIGTERM and SIGINT.
///
/// # Errors
/// [`Failed`] says what went wrong; the devices are gone then, as they are at the end.
pub fn emulate(plan: &EmulatorPlan, out: &mut impl Write) -> Result<EmulatorReport, Failed> {
    let parsed = scenario::parse("the scenario", &plan.scenario, &[])
        .map_err(|error| Failed::Plan(error.to_string()))?;
    let numbers = plan.groups.iter().flatten();
    if plan.groups.len() != parsed.scenario.groups.len()
        || numbers.clone().any(|&device| device >= plan.devices.len())
    {
        return Err(Failed::Plan("groups: one pair of devices for each group".to_owned()));
    }
    let groups = plan.groups.clone();
    let mut network = Network::new(parsed.scenario, (plan.seed, plan.rep), groups, plan.numbering);
    for wanted in &plan.captures {
        let capture = open_capture(&network, wanted)?;
        network.capture(wanted.link, capture);
    }
    let devices: Rc<[OwnedFd]> = plan.devices.iter().map(open_device).collect::<Result<_, _>>()?;
    sys::catch_signals();
    let scheduling = sys::be_punctual(plan.realtime.then_some(PRIORITY));
    let realtime = scheduling == Scheduling::Realtime;
    let budget = match plan.watch {
        Watch::Budget => Some(Budget::of_system(scheduling)),
        Watch::Always => Some(Budget::new(1.0)),
        Watch::Never => None,
    };
    sys::set_nonblocking(&io::stdin()).map_err(system("stdin"))?;
    let ready = serde_json::to_string(&Ready { ready: true, realtime });
    let ready = ready.map_err(|error| Failed::Plan(error.to_string()))?;
    writeln!(out, "{ready}").and_then(|()| out.flush()).map_err(system("stdout"))?;
    let mut emulator = Emulator::new(network, devices, budget, plan.endless);
    let born = sys::monotonic_ns();
    emulator.run()?;
    let Emulator { network, late, refused_pkts, forwarded_pkts, now, clock, .. } = emulator;
    let foreign_pkts = network.foreign_pkts;
    let end = network.end().min(now);
    let network = network.finish(end).map_err(system("a capture"))?;
    Ok(EmulatorReport {
        network,
        realtime,
        late: late.report(),
        foreign_pkts,
        refused_pkts,
        forwarded_pkts,
        stops: clock.stops,
        stopped_s: clock.stopped_ns as f64 * 1e-9,
        rests: clock.rests,
        watched_s: clock.watched_ns as f64 * 1e-9,
        cpu_s: sys::cpu_ns() as f64 * 1e-9,
        wall_s: (sys::monotonic_ns() - born) as f64 * 1e-9,
    })
}

fn open_device(device: &Device) -> Result<OwnedFd, Failed> {
    let Device { netns, name } = device;
    sys::in_namespace(netns, || sys::open_tun(name)).map_err(|source| Failed::Device {
        netns: netns.clone(),
        name: name.clone(),
        source,
    })
}

fn open_capture(network: &Network, wanted: &CaptureTo) -> Result<Capture, Failed> {
    let path = wanted.path.display().to_string();
    let Some(link) = network.scenario().links.get(wanted.link) else {
        return Err(Failed::Plan(format!("captures: there is no link {}", wanted.link)));
    };
    let file = File::create(&wanted.path);
    let capture = file.and_then(|file| {
        let out: Box<dyn Write + Send> = Box::new(BufWriter::with_capacity(CAPTURE_BUFFER, file));
        Capture::new(out, &link.name, link.rate.0, wanted.headers_only)
    });
    capture.map_err(|source| Failed::Capture { path, source })
}

struct Emulator {
    network: Network,
    devices: Rc<[OwnedFd]>,
    late: Lateness,
    refused_pkts: u64,
    forwarded_pkts: u64,
    endless: bool,
    /// What has come on stdin of a line that is not whole.
    line: Vec<u8>,
    told_to_stop: bool,
    now: Wall,
    clock: Clock,
    buffer: Vec<u8>,
}

/// Waiting, and what is known of how the system lets us.
struct Clock {
    /// None: the clock is never watched.
    budget: Option<Budget>,
    /// How much later than asked the system wakes us [ns].
    early_ns: u64,
    /// When the last wait ended [ns].
    woken_ns: u64,
    /// When the budget was looked at last: by the clock, and by the processor's [ns].
    counted_ns: (u64, u64),
    watched_ns: u64,
    stops: u64,
    stopped_ns: u64,
    rests: u64,
}

impl Clock {
    fn new(budget: Option<Budget>, now_ns: u64) -> Clock {
        Clock {
            budget,
            early_ns: 0,
            woken_ns: now_ns,
            counted_ns: (now_ns, sys::thread_cpu_ns()),
            watched_ns: 0,
            stops: 0,
            stopped_ns: 0,
            rests: 0,
        }
    }

    /// How much earlier than needed to ask to be woken [ns].
    fn early(&self) -> u64 {
        let allowed = self.budget.as_ref().is_some_and(|budget| budget.allows(self.early_ns));
        if allowed { self.early_ns } else { 0 }
    }

    /// A wait from `now` until `woken`, which was to end at `asked` at the latest.
    fn waited(&mut self, now: u64, asked: u64, woken: u64) {
        let busy = now - self.woken_ns;
        for ns in [busy, woken.saturating_sub(asked.max(now))] {
            if ns > STOPPED_NS {
                self.stops += 1;
                self.stopped_ns += ns;
            }
        }
        self.woken_ns = woken;
        if woken - self.counted_ns.0 >= COUNT_NS {
            self.count(woken);
        }
    }

    /// Tells the budget what has passed: a wait that did not sleep took processor time, too.
    fn count(&mut self, now: u64) {
        let Some(budget) = &mut self.budget else { return };
        let cpu = sys::thread_cpu_ns();
        let (passed, busy) = (now - self.counted_ns.0, cpu - self.counted_ns.1);
        budget.passed(passed.saturating_sub(busy), busy);
        self.counted_ns = (now, cpu);
    }

    /// Rests if work has taken more of the core than the system gives for long.
    fn rest(&mut self) {
        let ns = self.budget.as_ref().map_or(0, Budget::rest);
        if ns > 0 {
            std::thread::sleep(Duration::from_nanos(ns));
            let now = sys::monotonic_ns();
            (self.woken_ns, self.rests) = (now, self.rests + 1);
            self.count(now);
        }
    }

    fn watch_until(&mut self, due: u64) {
        let from = sys::monotonic_ns();
        let mut now = from;
        while now < due {
            std::hint::spin_loop();
            now = sys::monotonic_ns();
        }
        self.watched_ns += now - from;
    }
}

impl Emulator {
    fn new(
        mut network: Network,
        devices: Rc<[OwnedFd]>,
        budget: Option<Budget>,
        endless: bool,
    ) -> Emulator {
        let now_ns = sys::monotonic_ns();
        let now = Wall::from_ns(now_ns);
        if endless {
            network.start(now);
        }
        Emulator {
            network,
            devices,
            late: Lateness::default(),
            refused_pkts: 0,
            forwarded_pkts: 0,
            endless,
            line: Vec::new(),
            told_to_stop: false,
            now,
            clock: Clock::new(budget, now_ns),
            buffer: vec![0; MAX_PACKET],
        }
    }

    fn over(&self) -> bool {
        let ended = !self.endless && self.now >= self.network.end();
        ended || self.told_to_stop || sys::stopped()
    }

    fn run(&mut self) -> Result<(), Failed> {
        let (devices, stdin) = (Rc::clone(&self.devices), io::stdin());
        let inputs = devices.iter().map(AsFd::as_fd).chain([stdin.as_fd()]);
        let mut waiting: Vec<_> =
            inputs.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        let control = devices.len();
        while !self.over() {
            self.clock.rest();
            let now = match self.sleep(&mut waiting)? {
                Some(earlier) => Wall::from_ns(earlier),
                None => Wall::from_ns(sys::monotonic_ns()),
            };
            self.advance(now);
            for (device, ready) in waiting[..control].iter().enumerate() {
                if !ready.revents().is_empty() {
                    self.take(device)?;
                }
            }
            if !waiting[control].revents().is_empty() {
                self.listen()?;
            }
        }
        Ok(())
    }

    /// Waits for what is due next or for what comes. The system wakes us late, by much the same
    /// each time. So it is asked to do so earlier, and the rest is spent watching the clock, where
    /// there is time for that; and what woke us came that much earlier: at the instant that is
    /// given.
    fn sleep(&mut self, waiting: &mut [PollFd<'_>]) -> Result<Option<u64>, Failed> {
        let due = self.network.next().0 / 1000;
        let now = sys::monotonic_ns();
        // A second is soon enough to see a signal that came just before the wait.
        let until = due.min(now + 1_000_000_000);
        let early = self.clock.early();
        let asked = until.saturating_sub(early).max(now);
        let timeout = Duration::from_nanos(asked - now);
        sys::wait(waiting, timeout).map_err(system("waiting"))?;
        let woken = sys::monotonic_ns();
        self.clock.waited(now, asked, woken);
        if waiting.iter().any(|one| !one.revents().is_empty()) {
            let came = woken.saturating_sub(self.clock.early_ns).max(now);
            return Ok((woken > now + SLEPT_NS).then_some(came));
        }
        if asked == now && until <= now {
            return Ok(None);
        }
        if asked > now {
            // A moving average over eight times.
            let late = woken.saturating_sub(asked).min(MAX_WATCH_NS);
            self.clock.early_ns = (7 * self.clock.early_ns + late) / 8;
        }
        if due == until && early > 0 {
            self.clock.watch_until(due);
        }
        Ok(None)
    }

    /// Does what is due by now.
    fn advance(&mut self, now: Wall) {
        let Emulator { network, devices, late, refused_pkts, forwarded_pkts, .. } = self;
        self.now = self.now.max(now);
        network.advance(self.now, &mut |Outgoing { device, bytes, due }| {
            let written = sys::write(&devices[device], bytes);
            late.add(Wall::from_ns(sys::monotonic_ns()).0.saturating_sub(due.0) / 1000);
            match written {
                Ok(Some(_)) => *forwarded_pkts += 1,
                // The device is down, or its queue is full.
                Ok(None) | Err(_) => *refused_pkts += 1,
            }
        });
    }

    /// Takes what a device has; the first packet came at the present instant.
    fn take(&mut self, device: usize) -> Result<(), Failed> {
        for i in 0..BATCH {
            let read = match sys::read(&self.devices[device], &mut self.buffer) {
                Ok(Some(read)) => read,
                Ok(None) => return Ok(()),
                // While the device is down.
                Err(error) if error.raw_os_error() == Some(Errno::IO.raw_os_error()) => {
                    return Ok(());
                }
                Err(error) => return Err(system("a device")(error)),
            };
            if i > 0 {
                self.advance(Wall::from_ns(sys::monotonic_ns()));
            }
            self.network.enter(self.now, device, &self.buffer[..read]);
        }
        Ok(())
    }

    /// Takes what stdin has.
    fn listen(&mut self) -> Result<(), Failed> {
        let mut bytes = [0; 256];
        match sys::read(&io::stdin(), &mut bytes).map_err(system("stdin"))? {
            None => return Ok(()),
            Some(0) => self.told_to_stop = true,
            Some(n) => self.line.extend_from_slice(&bytes[..n]),
        }
        while let Some(end) = self.line.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.line.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let mut words = line.split_whitespace();
            match (words.next(), words.next().and_then(|ns| ns.parse().ok())) {
                (Some("start"), Some(ns)) => self.network.start(Wall::from_ns(ns)),
                (Some("stop"), None) => self.told_to_stop = true,
                _ => return Err(Failed::Plan(format!("stdin: not a command: {}", line.trim()))),
            }
        }
        Ok(())
    }
}

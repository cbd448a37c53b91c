//! TCP flows of this kernel, both ends in one process, measured by TCP_INFO and by what arrives.
//!
//! Each flow has sockets of its own in its two network namespaces. It connects before it starts, so
//! that data begins at the start, as in the packet engine. What is read is thrown away.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::net::{Shutdown, SocketType, sockopt};
use serde::{Deserialize, Serialize};

use crate::plan::{FlowPlan, TrafficPlan};
use crate::sys;

/// Sockets are looked at this often: rarely enough to leave the processor to the kernel.
const TICK: Duration = Duration::from_micros(500);
/// Bytes read or written at once.
const CHUNK: usize = 1 << 18;
/// Connections that a listener keeps until they are accepted.
const BACKLOG: i32 = 16;
/// What a socket may hold that TCP has not sent [bytes].
const UNSENT: i32 = 1 << 18;
/// A socket that is closed, or whose process is killed, is gone at once. Else it would go on to
/// send, and hold its network namespace and its congestion control, for minutes.
const ABORTED: Option<Duration> = Some(Duration::ZERO);

/// What the kernel tells of a TCP socket; `struct tcp_info` of Linux 6.1 and later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TcpInfo {
    /// Largest payload of a segment [bytes].
    pub snd_mss_bytes: u32,
    /// Congestion window [packets].
    pub cwnd_pkts: u32,
    /// Smoothed RTT.
    pub srtt_s: f64,
    /// Smallest RTT.
    pub min_rtt_s: f64,
    /// Segments sent again.
    pub retransmitted_pkts: u64,
    /// Segments with data sent, those again inside.
    pub sent_pkts: u64,
    /// Payload sent, what was sent again inside.
    pub sent_bytes: u64,
    /// Payload acknowledged.
    pub acked_bytes: u64,
    /// Retransmission timeouts; 0 before Linux 6.7, which does not tell.
    pub timeouts: u64,
    /// Time in which the receiver's window held it back.
    pub rwnd_limited_s: f64,
    /// Time in which the socket's buffer held it back.
    pub sndbuf_limited_s: f64,
}

impl TcpInfo {
    /// Of a socket.
    ///
    /// # Errors
    /// What the system says.
    pub fn of(fd: &impl AsFd) -> io::Result<TcpInfo> {
        let mut bytes = [0; 512];
        let length = sys::tcp_info(fd, &mut bytes)?;
        Ok(TcpInfo::read(&bytes[..length.min(bytes.len())]))
    }

    /// From the bytes of the structure; what an older kernel leaves out is 0.
    fn read(bytes: &[u8]) -> TcpInfo {
        let u16_at = |at: usize| {
            let word = bytes.get(at..at + 2).and_then(|word| word.try_into().ok());
            word.map_or(0, u16::from_ne_bytes)
        };
        let u32_at = |at: usize| {
            let word = bytes.get(at..at + 4).and_then(|word| word.try_into().ok());
            word.map_or(0, u32::from_ne_bytes)
        };
        let u64_at = |at: usize| {
            let word = bytes.get(at..at + 8).and_then(|word| word.try_into().ok());
            word.map_or(0, u64::from_ne_bytes)
        };
        let us = |us: u32| f64::from(us) * 1e-6;
        TcpInfo {
            snd_mss_bytes: u32_at(16),
            cwnd_pkts: u32_at(80),
            srtt_s: us(u32_at(68)),
            // Before the first sample it is ~0.
            min_rtt_s: if u32_at(148) == u32::MAX { 0.0 } else { us(u32_at(148)) },
            retransmitted_pkts: u64::from(u32_at(100)),
            sent_pkts: u64::from(u32_at(156)),
            sent_bytes: u64_at(200),
            acked_bytes: u64_at(120),
            timeouts: u64::from(u16_at(240)),
            rwnd_limited_s: u64_at(176) as f64 * 1e-6,
            sndbuf_limited_s: u64_at(184) as f64 * 1e-6,
        }
    }
}

/// A value of a series: when, of which flow, and the value.
pub type Point = (f64, u32, f64);

/// What came of one flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowReport {
    /// When its first data was handed to TCP.
    pub start_s: Option<f64>,
    /// When its last byte was acknowledged, if it had an end.
    pub finish_s: Option<f64>,
    /// Payload that arrived.
    pub received_bytes: u64,
    /// Of that, what had arrived at the warm-up's end.
    pub received_at_warmup_bytes: u64,
    /// What the kernel says at the end, or at the flow's.
    pub info: TcpInfo,
    /// The congestion control that the socket had.
    pub congestion: String,
    /// Why it failed, if it did.
    pub error: Option<String>,
}

/// What came of all flows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrafficReport {
    /// In the order of the plan.
    pub flows: Vec<FlowReport>,
    /// cwnd [packets].
    pub cwnd_pkts: Vec<Point>,
    /// Smoothed RTT [s].
    pub srtt_s: Vec<Point>,
    /// Payload that arrived since the last sample [bit/s].
    pub goodput_bps: Vec<Point>,
    /// Payload sent since the last sample [bit/s].
    pub rate_bps: Vec<Point>,
    /// How late the latest sample was.
    pub sampled_late_s: f64,
}

/// A flow that cannot be set up, or a system call that fails.
#[derive(Debug, thiserror::Error)]
#[error("flow {flow}: {what}: {source}")]
pub struct TrafficError {
    /// Its number.
    pub flow: usize,
    /// What was done.
    pub what: &'static str,
    /// Why it failed.
    pub source: io::Error,
}

/// Runs the flows until the run's end.
///
/// # Errors
/// A flow cannot be set up. What happens to one later is in its report.
pub fn run(plan: &TrafficPlan) -> Result<TrafficReport, TrafficError> {
    sys::catch_signals();
    let nowhere = |what| move |source| TrafficError { flow: 0, what, source };
    if let Some(cgroup) = &plan.cgroup {
        // A socket is in the cgroup of the process that makes it; 0 is the one that writes.
        std::fs::write(cgroup.join("cgroup.procs"), "0").map_err(nowhere("its cgroup"))?;
    }
    sys::allow_files(3 * plan.flows.len() as u64 + 64).map_err(nowhere("so many files"))?;
    let mut flows = Vec::with_capacity(plan.flows.len());
    for (number, flow) in plan.flows.iter().enumerate() {
        flows.push(Flow::new(number, flow)?);
    }
    let mut traffic = Traffic { plan, flows, report: TrafficReport::default(), last: None };
    traffic.run();
    let Traffic { flows, mut report, .. } = traffic;
    report.flows = flows.into_iter().map(|flow| flow.report).collect();
    Ok(report)
}

struct Traffic<'a> {
    plan: &'a TrafficPlan,
    flows: Vec<Flow<'a>>,
    report: TrafficReport,
    /// When the last sample was taken.
    last: Option<f64>,
}

impl Traffic<'_> {
    fn now(&self) -> f64 {
        (sys::monotonic_ns() as f64 - self.plan.zero_ns as f64) * 1e-9
    }

    fn run(&mut self) {
        let mut chunk = vec![0; CHUNK];
        let mut warm = false;
        let mut next = self.plan.every_s;
        loop {
            let now = self.now();
            if !warm && now >= self.plan.warmup_s {
                warm = true;
                for flow in &mut self.flows {
                    flow.report.received_at_warmup_bytes = flow.report.received_bytes;
                }
            }
            if let (Some(due), Some(every)) = (next, self.plan.every_s)
                && now >= due
            {
                self.report.sampled_late_s = self.report.sampled_late_s.max(now - due);
                self.sample(now);
                next = Some((now / every).floor() * every + every);
            }
            let ended = self.flows.iter().all(Flow::has_ended);
            let over = now >= self.plan.duration_s || ended || sys::stopped();
            for flow in &mut self.flows {
                if let Err(error) = flow.step(now, self.plan.packet_bytes, &mut chunk) {
                    flow.fail(&error);
                }
            }
            if over {
                break;
            }
            std::thread::sleep(TICK);
        }
        for flow in &mut self.flows {
            flow.look();
        }
    }

    fn sample(&mut self, now: f64) {
        let wanted = |name: &str| self.plan.series.iter().any(|series| series == name);
        let (cwnd, srtt) = (wanted("cwnd"), wanted("srtt"));
        let (goodput, rate) = (wanted("goodput"), wanted("rate"));
        let since = self.last.map_or(now, |last| now - last);
        for (number, flow) in self.flows.iter_mut().enumerate() {
            if !flow.plan.sampled || flow.report.start_s.is_none() {
                continue;
            }
            let before = (flow.counted.0, flow.counted.1);
            flow.look();
            let info = flow.report.info;
            flow.counted = (flow.report.received_bytes, info.sent_bytes);
            let number = number as u32;
            if flow.source.is_some() && cwnd {
                self.report.cwnd_pkts.push((now, number, f64::from(info.cwnd_pkts)));
            }
            if flow.source.is_some() && srtt && info.srtt_s > 0.0 {
                self.report.srtt_s.push((now, number, info.srtt_s));
            }
            let bps = |bytes: u64, before: u64| (bytes - before) as f64 * 8.0 / since;
            if goodput && since > 0.0 {
                self.report.goodput_bps.push((now, number, bps(flow.counted.0, before.0)));
            }
            if rate && since > 0.0 {
                self.report.rate_bps.push((now, number, bps(flow.counted.1, before.1)));
            }
        }
        self.last = Some(now);
    }
}

/// Both ends of a flow.
struct Flow<'a> {
    plan: &'a FlowPlan,
    listener: Option<OwnedFd>,
    source: Option<OwnedFd>,
    sink: Option<OwnedFd>,
    /// Payload still to be handed to TCP; `None`: no end.
    left: Option<u64>,
    connecting: bool,
    /// Has the source said that no more comes?
    closed: bool,
    report: FlowReport,
    /// Received and sent at the last sample.
    counted: (u64, u64),
}

/// The address of an end of a flow.
fn address(plan: &FlowPlan, end: usize, port: u16) -> SocketAddr {
    SocketAddr::new(plan.address[end], port)
}

impl<'a> Flow<'a> {
    /// The sink listens already.
    fn new(number: usize, plan: &'a FlowPlan) -> Result<Flow<'a>, TrafficError> {
        let failed = |what| move |source| TrafficError { flow: number, what, source };
        let listener = sys::in_namespace(&plan.netns[1], || {
            let at = address(plan, 1, plan.port);
            let listener = sys::socket(&at, SocketType::STREAM)?;
            sockopt::set_socket_reuseaddr(&listener, true)?;
            sockopt::set_socket_linger(&listener, ABORTED)?; // and so every sink
            // Echoing receivers belong to the protocol, too.
            sockopt::set_tcp_congestion(&listener, &plan.congestion)?;
            rustix::net::bind(&listener, &at)?;
            rustix::net::listen(&listener, BACKLOG)?;
            Ok(listener)
        });
        let listener = listener.map_err(failed("the sink's socket"))?;
        Ok(Flow {
            plan,
            listener: Some(listener),
            source: None,
            sink: None,
            left: None,
            connecting: false,
            closed: false,
            report: FlowReport::default(),
            counted: (0, 0),
        })
    }

    fn has_ended(&self) -> bool {
        self.report.finish_s.is_some() || self.report.error.is_some()
    }

    fn fail(&mut self, error: &io::Error) {
        self.report.error.get_or_insert(error.to_string());
        (self.source, self.sink, self.listener) = (None, None, None);
    }

    /// What the kernel says now.
    fn look(&mut self) {
        if let Some(info) = self.source.as_ref().and_then(|source| TcpInfo::of(source).ok()) {
            self.report.info = info;
        }
    }

    fn step(&mut self, now: f64, packet_bytes: u32, chunk: &mut [u8]) -> io::Result<()> {
        if self.report.error.is_some() || self.report.finish_s.is_some() {
            return Ok(());
        }
        if self.source.is_none() && !self.closed && now >= self.plan.connect_s {
            self.connect()?;
        }
        if let Some(listener) = &self.listener
            && let Some(sink) = sys::accept(listener)?
        {
            (self.sink, self.listener) = (Some(sink), None);
        }
        if let Some(sink) = &self.sink {
            loop {
                match sys::discard(sink, chunk)? {
                    None => break,
                    Some(0) => {
                        // Its FIN tells the source that all has arrived.
                        sockopt::set_socket_linger(sink, None)?;
                        self.sink = None;
                        break;
                    }
                    Some(n) => self.report.received_bytes += n as u64,
                }
            }
        }
        self.step_source(now, packet_bytes, chunk)
    }

    fn connect(&mut self) -> io::Result<()> {
        let plan = self.plan;
        let source = sys::in_namespace(&plan.netns[0], || {
            let sink = address(plan, 1, plan.port);
            let source = sys::socket(&sink, SocketType::STREAM)?;
            sockopt::set_tcp_congestion(&source, &plan.congestion)?;
            sockopt::set_socket_linger(&source, ABORTED)?;
            sys::limit_unsent(&source, UNSENT)?;
            sockopt::set_tcp_nodelay(&source, true)?;
            rustix::net::bind(&source, &address(plan, 0, 0))?;
            sys::connect(&source, &sink)?;
            Ok(source)
        })?;
        self.report.congestion = sockopt::tcp_congestion(&source)?;
        (self.source, self.connecting) = (Some(source), true);
        Ok(())
    }

    fn step_source(&mut self, now: f64, packet_bytes: u32, chunk: &mut [u8]) -> io::Result<()> {
        let Some(source) = &self.source else { return Ok(()) };
        if self.connecting {
            let mut ready = [PollFd::new(source, PollFlags::OUT)];
            sys::wait(&mut ready, Duration::ZERO)?;
            if ready[0].revents().is_empty() {
                return Ok(());
            }
            sockopt::socket_error(source)??;
            self.connecting = false;
        }
        if now < self.plan.start_s {
            return Ok(());
        }
        if self.report.start_s.is_none() {
            self.report.start_s = Some(now);
            let mss = f64::from(TcpInfo::of(source)?.snd_mss_bytes.max(1));
            let share = (mss / f64::from(packet_bytes.max(1))).min(1.0);
            self.left = self.plan.wire_bytes.map(|bytes| ((bytes as f64 * share) as u64).max(1));
        }
        if self.plan.stop_s.is_some_and(|stop| now >= stop) && !self.closed {
            self.left = Some(0);
        }
        while !self.closed {
            let most = self.left.map_or(chunk.len() as u64, |left| left.min(chunk.len() as u64));
            if most == 0 {
                rustix::net::shutdown(source, Shutdown::Write)?;
                self.closed = true;
                break;
            }
            // Room is what TCP_NOTSENT_LOWAT says, which only poll tells.
            let mut ready = [PollFd::new(source, PollFlags::OUT)];
            sys::wait(&mut ready, Duration::ZERO)?;
            if !ready[0].revents().contains(PollFlags::OUT) {
                break;
            }
            match sys::send(source, &chunk[..most as usize])? {
                None => break,
                Some(n) => self.left = self.left.map(|left| left - n as u64),
            }
        }
        if self.closed && sys::discard(source, chunk)? == Some(0) {
            self.report.finish_s = Some(now);
            self.look();
            self.source = None;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_structure_leaves_zeros() {
        assert_eq!(TcpInfo::read(&[]), TcpInfo::default());
        let mut bytes = [0; 104];
        bytes[16..20].copy_from_slice(&1448_u32.to_ne_bytes());
        bytes[68..72].copy_from_slice(&80_000_u32.to_ne_bytes());
        bytes[80..84].copy_from_slice(&10_u32.to_ne_bytes());
        bytes[100..104].copy_from_slice(&3_u32.to_ne_bytes());
        let info = TcpInfo::read(&bytes);
        assert_eq!((info.snd_mss_bytes, info.cwnd_pkts, info.retransmitted_pkts), (1448, 10, 3));
        assert!((info.srtt_s - 0.08).abs() < 1e-12);
        assert_eq!((info.min_rtt_s, info.sent_bytes, info.timeouts), (0.0, 0, 0));
    }
}

//! What a process of the linux engine is told, as JSON.

use std::net::IpAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::network::Numbering;

/// What the emulator is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmulatorPlan {
    /// The scenario's text, with nothing in it that names another file.
    pub scenario: String,
    /// The experiment.
    pub seed: u64,
    /// The replication.
    pub rep: u64,
    /// The devices, in the order of their numbers.
    pub devices: Vec<Device>,
    /// For each group the numbers of its sources' and its sinks' device.
    pub groups: Vec<[usize; 2]>,
    /// How flows are numbered.
    pub numbering: Numbering,
    /// The links to be captured.
    #[serde(default)]
    pub captures: Vec<CaptureTo>,
    /// Is SCHED_FIFO to be asked for?
    #[serde(default = "yes")]
    pub realtime: bool,
    /// When is the clock watched instead of sleeping?
    #[serde(default)]
    pub watch: Watch,
    /// Does the run begin at once, and end when it is told so?
    #[serde(default)]
    pub endless: bool,
}

/// When the emulator watches the clock for the last microseconds before something is due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Watch {
    /// While it stays within the kernel's budget ([`crate::budget`]).
    #[default]
    Budget,
    /// Whatever that does; to measure what it does.
    Always,
    /// Never.
    Never,
}

fn yes() -> bool {
    true
}

/// A TUN device to be made.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// The network namespace's file.
    pub netns: String,
    /// The device's name in it.
    pub name: String,
}

/// A link whose packets are written down.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaptureTo {
    /// The link's number.
    pub link: usize,
    /// The file.
    pub path: PathBuf,
    /// Without payload?
    pub headers_only: bool,
}

/// What the process with the TCP flows is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrafficPlan {
    /// The flows, in the order of their numbers.
    pub flows: Vec<FlowPlan>,
    /// The directory of the cgroup (v2) that the sockets are to be in.
    #[serde(default)]
    pub cgroup: Option<PathBuf>,
    /// When the run starts [ns of CLOCK_MONOTONIC].
    pub zero_ns: u64,
    /// How long it runs.
    pub duration_s: f64,
    /// When plain columns begin to count.
    pub warmup_s: f64,
    /// The time between two samples of the series, if any are wanted.
    pub every_s: Option<f64>,
    /// The series wanted: cwnd, srtt, goodput, rate.
    pub series: Vec<String>,
    /// Size of a full data packet on the wire [bytes]: what goodput counts.
    pub packet_bytes: u32,
}

/// One TCP flow.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowPlan {
    /// The network namespaces' files of source and sink.
    pub netns: [String; 2],
    /// Their addresses.
    pub address: [IpAddr; 2],
    /// The sink's port.
    pub port: u16,
    /// The kernel's name of its congestion control.
    pub congestion: String,
    /// When it begins to send.
    pub start_s: f64,
    /// When it connects, which is earlier, perhaps before the run.
    pub connect_s: f64,
    /// When it stops sending new data.
    pub stop_s: Option<f64>,
    /// What it sends: bytes on the wire in full packets.
    pub wire_bytes: Option<u64>,
    /// Is it in the series?
    pub sampled: bool,
}

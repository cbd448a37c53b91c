//! Real packets in real time through the simulator's own links.
//!
//! One process owns TUN devices inside network namespaces and carries packets between them: through
//! queues, routers and lines that are those of the packet engine ([`net::Ports`]), by a real clock.
//! [`wire`] is what a router sees of a real packet, [`network`] the way of a packet, [`realtime`]
//! the clock and the devices, [`traffic`] TCP flows that are measured by the kernel, [`sys`] system
//! calls as all of these want their answers.
#![cfg(target_os = "linux")]

pub mod assemble;
pub mod budget;
pub mod describe;
pub mod lateness;
pub mod network;
pub mod plan;
pub mod probe;
pub mod realtime;
pub mod sys;
pub mod traffic;
pub mod wire;

use std::env;
use std::fs;
use std::io;

use scenario::{Ip, Parts, Scenario};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Equal versions measure the same thing.
pub const MODEL_VERSION: &str = "5";

/// The versions of what a run of the scenario uses: the queues are those of the packet engine, the
/// end hosts the kernel's or written for it. IPv6 is a part, as IPv4 was before there was a choice.
pub fn parts(scenario: &Scenario) -> Parts {
    let queues =
        scenario::parts(scenario).into_iter().filter(|(name, _)| name.starts_with("queue "));
    let ip = (scenario.ip == Ip::V6).then(|| ("ip".to_owned(), "6".to_owned()));
    queues.chain(own_parts()).chain(ip).collect()
}

/// The versions of the engine and of the kernel.
pub fn own_parts() -> Parts {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    [("linux engine", MODEL_VERSION), ("kernel", kernel.trim())]
        .map(|(name, version)| (name.to_owned(), version.to_owned()))
        .into()
}

const USAGE: &str = "usage: clearpipe-emulator emulate|traffic|probe PLAN.json REPORT.json";

/// Runs a part of the linux engine by its command line: `emulate PLAN REPORT`,
/// `traffic PLAN REPORT` or `probe PLAN REPORT`. The process ends with its parent. Gives the exit
/// code: 0 done, 1 failed, 2 usage.
pub fn main(arguments: &[String]) -> u8 {
    if let Err(error) = follow_parent() {
        eprintln!("clearpipe-emulator: {error}");
        return 1;
    }
    let done = match arguments {
        [what, plan, report] if what == "emulate" => read(plan).and_then(|plan| {
            let done = realtime::emulate(&plan, &mut io::stdout());
            write(report, &done.map_err(|error| error.to_string())?)
        }),
        [what, plan, report] if what == "traffic" => read(plan).and_then(|plan| {
            let done = traffic::run(&plan);
            write(report, &done.map_err(|error| error.to_string())?)
        }),
        [what, plan, report] if what == "probe" => read(plan).and_then(|plan| {
            let done = probe::run(&plan);
            write(report, &done.map_err(|error| error.to_string())?)
        }),
        _ => {
            eprintln!("{USAGE}");
            return 2;
        }
    };
    match done {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("clearpipe-emulator: {error}");
            1
        }
    }
}

/// Ends with the process that started it, which names itself in $CLEARPIPE_PARENT.
fn follow_parent() -> Result<(), String> {
    let parent = match env::var("CLEARPIPE_PARENT") {
        Ok(text) => match text.parse() {
            Ok(parent) => Some(parent),
            Err(_) => return Err(format!("CLEARPIPE_PARENT={text}: a process's number is wanted")),
        },
        Err(_) => None,
    };
    sys::die_with_parent(parent).map_err(|error| error.to_string())
}

fn read<T: DeserializeOwned>(path: &str) -> Result<T, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    serde_json::from_str(&text).map_err(|error| format!("{path}: {error}"))
}

fn write(path: &str, value: &impl Serialize) -> Result<(), String> {
    let text = serde_json::to_string(value).map_err(|error| format!("{path}: {error}"))?;
    fs::write(path, text).map_err(|error| format!("{path}: {error}"))
}

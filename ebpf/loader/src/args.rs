//! The command line.

use std::net::SocketAddr;

use crate::log::Format;
use crate::{Error, Result};

/// How it is used.
pub const USAGE: &str = "\
usage: clearpipe-bpf load NAME --dev DEV [--netns NS] [--cgroup DIR] [--initial-window N]
                     [--rate BITS_PER_SECOND] [--link NUMBER] [--for-all]
       clearpipe-bpf unload [NAME] [--dev DEV] [--netns NS] | unload --config FILE
       clearpipe-bpf run --config FILE [--metrics ADDRESS:PORT] [--log-format text|json]
       clearpipe-bpf check [--config FILE]
       clearpipe-bpf status [--json]
       clearpipe-bpf off | on
       clearpipe-bpf cleanup | names | --help | --version
load: NAME is a protocol (an end host on that device) or PROTOCOL-router, which needs --rate; names
lists both. --link: the number by which ixcp-router names its link, unlike all others on a path;
default: a random one. --cgroup: a cgroup v2 directory whose sockets may use a TCP option (mlcp,
xcp, ixcp); default: the root. --initial-window: packets. --for-all: every user may choose the
protocol, not only CAP_NET_ADMIN. The last three hold for the whole kernel: load every device with
the same.
run is a service: it loads what FILE names, keeps it loaded, and unloads it at SIGTERM; SIGHUP makes
it read FILE again. off is the kill switch: routers touch nothing and end hosts are Reno until on.
cleanup removes what has lost its device, or was left half loaded, and says what it was; check says
what is wrong with FILE, or what the kernel lacks.";

/// A command with its options.
#[derive(Debug)]
pub enum Command {
    /// Loads and attaches.
    Load(Load),
    /// Detaches; all that is named, or all.
    Unload {
        /// The protocol, or all.
        name: Option<String>,
        /// The device, or all.
        place: Option<Place>,
    },
    /// What is loaded, and what it has counted.
    Status {
        /// As JSON?
        json: bool,
    },
    /// Takes off what a service's file names.
    UnloadConfig(String),
    /// The service.
    Run(Run),
    /// The kill switch.
    Switch {
        /// Off, or on again?
        off: bool,
    },
    /// How it is used.
    Help,
    /// Which version it is.
    Version,
    /// Detaches what has lost its device and says what it was, a line each.
    Cleanup,
    /// Fails if the system lacks something, or a service's file is wrong.
    Check {
        /// The file.
        config: Option<String>,
    },
    /// What there is to load.
    Names,
}

/// A device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// A name below /run/netns; `None` is the network namespace of the caller.
    pub netns: Option<String>,
    /// The device's name.
    pub dev: String,
}

/// The service.
#[derive(Debug)]
pub struct Run {
    /// Its file.
    pub config: String,
    /// Where metrics are served, in place of what the file says.
    pub metrics: Option<SocketAddr>,
    /// How it logs, in place of what the file says.
    pub log: Option<Format>,
}

/// What to load, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// The protocol or router.
    pub name: String,
    /// The device.
    pub place: Place,
    /// The cgroup v2 directory.
    pub cgroup: Option<String>,
    /// Packets; 0 leaves the kernel's.
    pub initial_window: u32,
    /// May every user choose it?
    pub for_all: bool,
    /// A router's capacity [bit/s].
    pub rate: Option<u64>,
    /// The number of iXCP's link.
    pub link: Option<u32>,
}

impl Load {
    /// Without settings.
    pub fn plain(name: String, place: Place) -> Load {
        Load {
            name,
            place,
            cgroup: None,
            initial_window: 0,
            for_all: false,
            rate: None,
            link: None,
        }
    }
}

/// Reads the command line.
pub fn parse(args: impl Iterator<Item = String>) -> Result<Command> {
    let mut words = Vec::new();
    let (mut netns, mut dev, mut cgroup, mut rate) = (None, None, None, None);
    let (mut initial_window, mut for_all, mut json, mut link) = (0, false, false, None);
    let (mut config, mut metrics, mut log) = (None, None, None);
    let mut args = args;
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| usage(format!("{arg} needs a value")));
        match arg.as_str() {
            "--netns" => netns = Some(name(value()?, "--netns")?),
            "--dev" => dev = Some(name(value()?, "--dev")?),
            "--cgroup" => cgroup = Some(value()?),
            "--initial-window" => initial_window = number(&value()?, "--initial-window", 1 << 20)?,
            "--for-all" => for_all = true,
            "--json" => json = true,
            "--config" => config = Some(value()?),
            "--metrics" => metrics = Some(address(&value()?)?),
            "--log-format" => log = Some(format(&value()?)?),
            "-h" | "--help" => return Ok(Command::Help),
            "-V" | "--version" => return Ok(Command::Version),
            "--rate" => match number(&value()?, "--rate", 1_000_000_000_000)? {
                // A byte a second.
                low @ ..8 => return Err(usage(format!("--rate {low}: is less than 8"))),
                number => rate = Some(number),
            },
            "--link" => match number(&value()?, "--link", u32::MAX.into())? {
                0 => return Err(usage("--link 0 is the sender's access link".to_owned())),
                number => link = Some(number as u32),
            },
            _ if arg.starts_with('-') => return Err(usage(format!("unknown option {arg}"))),
            _ => words.push(arg),
        }
    }
    let place = dev.map(|dev| Place { netns: netns.clone(), dev });
    if place.is_none() && netns.is_some() {
        return Err(usage("--netns needs --dev".to_owned()));
    }
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    if config.is_some() && !matches!(words[..], ["run" | "check" | "unload"]) {
        return Err(usage("--config is for run, check and unload".to_owned()));
    }
    if (metrics.is_some() || log.is_some()) && words != ["run"] {
        return Err(usage("--metrics and --log-format are for run".to_owned()));
    }
    if json && words != ["status"] {
        return Err(usage("--json is for status".to_owned()));
    }
    match words[..] {
        ["run"] => {
            let config = config.ok_or_else(|| usage("run needs --config".to_owned()))?;
            Ok(Command::Run(Run { config, metrics, log }))
        }
        ["unload"] if place.is_none() && config.is_some() => {
            Ok(Command::UnloadConfig(config.unwrap_or_default()))
        }
        ["load", name] => Ok(Command::Load(Load {
            name: name.to_owned(),
            place: place.ok_or_else(|| usage("load needs --dev".to_owned()))?,
            cgroup,
            initial_window: initial_window as u32,
            for_all,
            rate,
            link,
        })),
        ["unload"] => Ok(Command::Unload { name: None, place }),
        ["unload", name] => Ok(Command::Unload { name: Some(name.to_owned()), place }),
        ["status"] => Ok(Command::Status { json }),
        ["off"] => Ok(Command::Switch { off: true }),
        ["on"] => Ok(Command::Switch { off: false }),
        ["cleanup"] => Ok(Command::Cleanup),
        ["check"] => Ok(Command::Check { config }),
        ["names"] => Ok(Command::Names),
        _ => Err(usage(format!("unknown command {:?}", words.join(" ")))),
    }
}

fn usage(message: String) -> Error {
    Error::Usage(message)
}

fn number(text: &str, option: &str, most: u64) -> Result<u64> {
    match text.parse() {
        Ok(number) if number <= most => Ok(number),
        _ => Err(usage(format!("{option} {text}: allowed are whole numbers up to {most}"))),
    }
}

fn address(text: &str) -> Result<SocketAddr> {
    let wanted = "an address and port such as 127.0.0.1:9653";
    text.parse().map_err(|_| usage(format!("--metrics {text}: wanted is {wanted}")))
}

fn format(text: &str) -> Result<Format> {
    Format::of(text).ok_or_else(|| usage(format!("--log-format {text}: allowed are text and json")))
}

/// Names become part of paths.
pub fn plain_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !text.is_empty() && !text.starts_with('.') && text.chars().all(plain)
}

fn name(text: String, option: &str) -> Result<String> {
    if !plain_name(&text) {
        return Err(usage(format!("{option} {text:?}: letters, digits, - _ and . make a name")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<Command> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn what_is_asked_for_is_what_is_written() {
        let Ok(Command::Load(load)) =
            of("load vcp --netns n.1 --dev eth0.7 --initial-window 2 --cgroup /sys/fs/cgroup/x")
        else {
            panic!("no load")
        };
        let place = Place { netns: Some("n.1".to_owned()), dev: "eth0.7".to_owned() };
        assert_eq!((load.name.as_str(), load.place), ("vcp", place.clone()));
        assert_eq!((load.initial_window, load.rate), (2, None));
        assert_eq!(load.cgroup.as_deref(), Some("/sys/fs/cgroup/x"));
        let Ok(Command::Unload { name: None, place: off }) = of("unload --netns n.1 --dev eth0.7")
        else {
            panic!("no unload")
        };
        assert_eq!(off, Some(place));
    }

    #[test]
    fn what_makes_no_sense_is_usage() {
        for line in [
            "",
            "lod vcp",
            "load vcp",
            "load --dev v0",
            "load vcp --dev",
            "load vcp --dev v0 --speed 3",
            "load vcp --dev v0 --initial-window 2000000",
            "load vcp --dev v0 --rate fast",
            "load vcp-router --dev v0 --rate 7",
            "load ixcp-router --dev v0 --rate 8000 --link 0",
            "load ixcp-router --dev v0 --rate 8000 --link 4294967296",
            "load vcp --dev ../v0",
            "load vcp --dev v0 --netns ..",
            "unload --netns n",
            "run",
            "run --config f --metrics 9653",
            "run --config f --log-format xml",
            "load vcp --dev v0 --config f",
            "status --config f",
            "off now",
            "load vcp --dev v0 --json",
        ] {
            assert!(matches!(of(line), Err(Error::Usage(_))), "{line}");
        }
    }
}

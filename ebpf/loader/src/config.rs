//! The service's file: the `[links]` of a scenario, with the device that each of them is here, the
//! end hosts, and the service itself.

use std::fs::File;
use std::io::Read as _;
use std::net::SocketAddr;
use std::ops::RangeInclusive;

use scenario::{Place as Line, Problem, ScenarioError};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::args::{Load, Place, plain_name};
use crate::log::Format;
use crate::table::{self, Role};
use crate::{Error, Result};

const LINK: [&str; 9] = ["device", "netns", "queue", "rate", "link", "from", "to", "owd", "buffer"];
/// Keys of a scenario's link that a router on a device has from where it is.
const OF_THE_LINE: [&str; 4] = ["from", "to", "owd", "buffer"];
const HOST: [&str; 5] = ["devices", "netns", "cgroup", "initial_window", "for_all"];
const SERVICE: [&str; 2] = ["metrics", "log_format"];
const RATES: RangeInclusive<u64> = 1_000..=1_000_000_000_000;
const MAX_WINDOW: i64 = 1 << 20;
/// A file of all links that a kernel could have is smaller [bytes].
const MAX_FILE: u64 = 1 << 20;

/// What a file says.
#[derive(Debug, Default)]
pub struct Config {
    /// What to load, and where.
    pub loads: Vec<Load>,
    /// Where metrics are served, if anywhere.
    pub metrics: Option<SocketAddr>,
    /// How the service logs.
    pub log: Option<Format>,
    /// Keys that are a scenario's and have no effect here.
    pub unused: Vec<String>,
}

type Entry<'a> = (Spanned<std::borrow::Cow<'a, str>>, Spanned<DeValue<'a>>);

/// Where something stands: the place in the text and the key's path.
#[derive(Clone, Debug)]
struct At {
    start: usize,
    key: String,
}

impl At {
    fn child(&self, entry: &Entry<'_>) -> At {
        let name = entry.0.get_ref();
        let key =
            if self.key.is_empty() { name.to_string() } else { format!("{}.{name}", self.key) };
        At { start: entry.0.span().start, key }
    }
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
}

/// Reads a file.
pub fn read(file: &str) -> Result<Config> {
    let mut text = String::new();
    File::open(file)
        .and_then(|opened| opened.take(MAX_FILE + 1).read_to_string(&mut text))
        .map_err(|error| Error::Config(format!("{file}: {error}")))?;
    if text.len() as u64 > MAX_FILE {
        return Err(Error::Config(format!("{file}: is larger than {MAX_FILE} bytes")));
    }
    parse(file, &text)
}

/// On one line, and nothing that a terminal would obey.
fn printable(text: &str) -> String {
    let escaped =
        |c: char| if c.is_control() { c.escape_default().collect() } else { c.to_string() };
    text.chars().map(escaped).collect()
}

/// Reads its text.
fn parse(file: &str, text: &str) -> Result<Config> {
    let reader = Reader { file, text };
    let root = At { start: 0, key: String::new() };
    let table = DeTable::parse(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let message = error.message().lines().collect::<Vec<_>>().join("; ");
        reader.wrong(&At { start, key: String::new() }, Problem::Syntax(message))
    })?;
    let mut config = Config::default();
    for entry in sorted(table.into_inner()) {
        let at = root.child(&entry);
        match entry.0.get_ref().as_ref() {
            "links" => {
                for link in reader.table(&at, entry.1)? {
                    let load = reader.link(&at.child(&link), link.1, &mut config.unused)?;
                    reader.add(&mut config, &at.child_of(&link.0), load)?;
                }
            }
            "hosts" => {
                for host in reader.table(&at, entry.1)? {
                    let at = at.child_of(&host.0);
                    for load in reader.host(&at, host.0.get_ref(), host.1)? {
                        reader.add(&mut config, &at, load)?;
                    }
                }
            }
            "service" => reader.service(&at, entry.1, &mut config)?,
            _ => return Err(reader.unknown(&at, &entry, &["links", "hosts", "service"])),
        }
    }
    if config.loads.is_empty() {
        let said = "names nothing to load (wanted: a table links.NAME or hosts.PROTOCOL)";
        return Err(Error::Config(format!("{file}: {said}")));
    }
    Ok(config)
}

/// The entries in the order of the text.
fn sorted(table: DeTable<'_>) -> Vec<Entry<'_>> {
    let mut entries: Vec<_> = table.into_iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// How a value is shown in an error.
fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("{text:?}"),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

impl At {
    fn child_of(&self, key: &Spanned<std::borrow::Cow<'_, str>>) -> At {
        At { start: key.span().start, key: format!("{}.{}", self.key, key.get_ref()) }
    }
}

impl Reader<'_> {
    fn wrong(&self, at: &At, problem: Problem) -> Error {
        let before = &self.text[..at.start.min(self.text.len())];
        let line = before.matches('\n').count() + 1;
        let place = Line::Line(self.file.to_owned(), line);
        let key = at.key.clone();
        let error = ScenarioError { place, key, problem: Box::new(problem) };
        Error::Config(printable(&error.to_string()))
    }

    fn mismatch(&self, at: &At, wanted: &str, value: &DeValue<'_>) -> Error {
        self.wrong(at, Problem::Type { wanted: wanted.to_owned(), found: shown(value) })
    }

    fn unknown(&self, at: &At, entry: &Entry<'_>, allowed: &[&str]) -> Error {
        let name = entry.0.get_ref().to_string();
        let allowed = allowed.iter().map(|&key| key.to_owned()).collect();
        self.wrong(at, Problem::Key { name, allowed })
    }

    fn missing(&self, at: &At, key: &str, wanted: &str) -> Error {
        let at = At { key: format!("{}.{key}", at.key), ..at.clone() };
        self.wrong(&at, Problem::Missing(wanted.to_owned()))
    }

    fn table<'a>(&self, at: &At, value: Spanned<DeValue<'a>>) -> Result<Vec<Entry<'a>>> {
        match value.into_inner() {
            DeValue::Table(table) => Ok(sorted(table)),
            other => Err(self.mismatch(at, "a table", &other)),
        }
    }

    fn text(&self, at: &At, value: &DeValue<'_>, wanted: &str) -> Result<String> {
        match value {
            DeValue::String(text) => Ok(text.to_string()),
            other => Err(self.mismatch(at, wanted, other)),
        }
    }

    fn name(&self, at: &At, value: &DeValue<'_>) -> Result<String> {
        let text = self.text(at, value, "a name such as \"eth0\"")?;
        if plain_name(&text) {
            return Ok(text);
        }
        let allowed = "letters, digits, - _ and . not at its beginning".to_owned();
        Err(self.wrong(at, Problem::Range { value: format!("{text:?}"), allowed }))
    }

    /// A scenario's names of queues: text, or a table with a kind.
    fn queue(&self, at: &At, value: Spanned<DeValue<'_>>) -> Result<String> {
        let wanted = "a router's name such as \"vcp\"";
        let name = match value.into_inner() {
            DeValue::Table(table) => {
                let mut kind = None;
                for entry in sorted(table) {
                    let at = at.child(&entry);
                    match entry.0.get_ref().as_ref() {
                        "kind" => kind = Some(self.text(&at, entry.1.get_ref(), wanted)?),
                        // The programs have the papers' parameters only.
                        _ => return Err(self.unknown(&at, &entry, &["kind"])),
                    }
                }
                kind.ok_or_else(|| self.missing(at, "kind", wanted))?
            }
            other => self.text(at, &other, wanted)?,
        };
        let allowed = table::names(Role::Router);
        if allowed.contains(&name) {
            return Ok(format!("{name}-router"));
        }
        Err(self.wrong(at, Problem::Name { what: "router", name, allowed }))
    }

    fn rate(&self, at: &At, value: &DeValue<'_>) -> Result<u64> {
        let text = match value {
            DeValue::Integer(number) => number.to_string(),
            other => self.text(at, other, "a rate such as \"45Mbps\"")?,
        };
        let rate = scenario::rate(&text).map_err(|problem| self.wrong(at, problem))?;
        if RATES.contains(&rate) {
            return Ok(rate);
        }
        let allowed = "1kbps to 1Tbps".to_owned();
        Err(self.wrong(at, Problem::Range { value: format!("{text:?}"), allowed }))
    }

    fn link(&self, at: &At, value: Spanned<DeValue<'_>>, unused: &mut Vec<String>) -> Result<Load> {
        let (mut device, mut netns, mut queue, mut rate) = (None, None, None, None);
        let mut number = None;
        for entry in self.table(at, value)? {
            let at = at.child(&entry);
            let key = entry.0.get_ref().to_string();
            match key.as_str() {
                "device" => device = Some(self.name(&at, entry.1.get_ref())?),
                "netns" => netns = Some(self.name(&at, entry.1.get_ref())?),
                "queue" => queue = Some(self.queue(&at, entry.1)?),
                "rate" => rate = Some(self.rate(&at, entry.1.get_ref())?),
                "link" => number = Some((self.number(&at, entry.1.get_ref())?, at)),
                key if OF_THE_LINE.contains(&key) => unused.push(printable(&at.key)),
                _ => return Err(self.unknown(&at, &entry, &LINK)),
            }
        }
        let dev = device.ok_or_else(|| self.missing(at, "device", "the name of a device"))?;
        let name = queue.ok_or_else(|| {
            self.missing(at, "queue", &format!("one of {}", table::names(Role::Router).join(", ")))
        })?;
        let rate = rate.ok_or_else(|| self.missing(at, "rate", "a rate such as \"45Mbps\""))?;
        if let Some((_, at)) = number.as_ref().filter(|_| name != "ixcp-router") {
            let queue = name.trim_end_matches("-router");
            let rule = format!("is for ixcp, which names its link, and {queue} does not");
            return Err(self.wrong(at, Problem::Rule(rule)));
        }
        let link = number.map(|(number, _)| number);
        Ok(Load { rate: Some(rate), link, ..Load::plain(name, Place { netns, dev }) })
    }

    fn host(&self, at: &At, name: &str, value: Spanned<DeValue<'_>>) -> Result<Vec<Load>> {
        let allowed = table::names(Role::Host);
        if !allowed.iter().any(|one| one == name) {
            let (what, name) = ("protocol", name.to_owned());
            return Err(self.wrong(at, Problem::Name { what, name, allowed }));
        }
        let (mut devices, mut load) = (None, Load::plain(name.to_owned(), Place::default()));
        for entry in self.table(at, value)? {
            let at = at.child(&entry);
            let value = entry.1.get_ref();
            match entry.0.get_ref().as_ref() {
                "devices" => devices = Some(self.devices(&at, value)?),
                "netns" => load.place.netns = Some(self.name(&at, value)?),
                "cgroup" => {
                    if !table::find(name).is_some_and(|program| program.option) {
                        let rule = format!("is for TCP options, and {name} has none");
                        return Err(self.wrong(&at, Problem::Rule(rule)));
                    }
                    let wanted = "a directory of cgroup v2";
                    let path = self.text(&at, value, wanted)?;
                    if path.contains(char::is_control) {
                        return Err(self.mismatch(&at, wanted, value));
                    }
                    load.cgroup = Some(path);
                }
                "initial_window" => load.initial_window = self.window(&at, value)?,
                "for_all" => match value {
                    DeValue::Boolean(value) => load.for_all = *value,
                    other => return Err(self.mismatch(&at, "true or false", other)),
                },
                _ => return Err(self.unknown(&at, &entry, &HOST)),
            }
        }
        let devices = devices.ok_or_else(|| self.missing(at, "devices", "a list of devices"))?;
        let on = |dev| Load { place: Place { dev, ..load.place.clone() }, ..load.clone() };
        Ok(devices.into_iter().map(on).collect())
    }

    fn devices(&self, at: &At, value: &DeValue<'_>) -> Result<Vec<String>> {
        match value {
            DeValue::Array(items) if !items.is_empty() => items
                .iter()
                .enumerate()
                .map(|(i, item)| {
                    let at = At { start: item.span().start, key: format!("{}[{i}]", at.key) };
                    self.name(&at, item.get_ref())
                })
                .collect(),
            other => Err(self.mismatch(at, "a list such as [\"eth0\"]", other)),
        }
    }

    fn window(&self, at: &At, value: &DeValue<'_>) -> Result<u32> {
        let allowed = format!("0 to {MAX_WINDOW} packets; 0 leaves the kernel's");
        self.whole(at, value, 0..=MAX_WINDOW, allowed)
    }

    /// That of iXCP's link.
    fn number(&self, at: &At, value: &DeValue<'_>) -> Result<u32> {
        let allowed = format!("1 to {}; 0 is the sender's access link", u32::MAX);
        self.whole(at, value, 1..=u32::MAX.into(), allowed)
    }

    fn whole(
        &self,
        at: &At,
        value: &DeValue<'_>,
        range: RangeInclusive<i64>,
        allowed: String,
    ) -> Result<u32> {
        let DeValue::Integer(number) = value else {
            return Err(self.mismatch(at, "a whole number", value));
        };
        let read = i64::from_str_radix(number.as_str(), number.radix()).ok();
        let whole = read.filter(|read| range.contains(read)).and_then(|read| read.try_into().ok());
        whole.ok_or_else(|| self.wrong(at, Problem::Range { value: number.to_string(), allowed }))
    }

    fn service(&self, at: &At, value: Spanned<DeValue<'_>>, config: &mut Config) -> Result<()> {
        for entry in self.table(at, value)? {
            let at = at.child(&entry);
            let value = entry.1.get_ref();
            match entry.0.get_ref().as_ref() {
                "metrics" => {
                    let wanted = "an address and port such as \"127.0.0.1:9653\"";
                    let text = self.text(&at, value, wanted)?;
                    let parsed = text.parse().map_err(|_| self.mismatch(&at, wanted, value))?;
                    config.metrics = Some(parsed);
                }
                "log_format" => {
                    let text = self.text(&at, value, "\"text\" or \"json\"")?;
                    let format = Format::of(&text);
                    let wanted = "\"text\" or \"json\"";
                    config.log = Some(format.ok_or_else(|| self.mismatch(&at, wanted, value))?);
                }
                _ => return Err(self.unknown(&at, &entry, &SERVICE)),
            }
        }
        Ok(())
    }

    /// Adds what does not contradict the others.
    fn add(&self, config: &mut Config, at: &At, load: Load) -> Result<()> {
        let (dev, name) = (&load.place.dev, &load.name);
        let bits = |load: &Load| table::find(&load.name).is_some_and(|program| program.ecn_bits);
        for other in config.loads.iter().filter(|other| other.place == load.place) {
            let what = &other.name;
            let rule = match (load.rate, other.rate) {
                (Some(_), Some(_)) => format!("{dev} has a router, {what}, already"),
                _ if what == name => format!("{name} is named twice for {dev}"),
                _ if bits(&load) && bits(other) => {
                    format!("{dev} has {what}, which uses the same ECN bits")
                }
                _ => continue,
            };
            return Err(self.wrong(at, Problem::Rule(rule)));
        }
        config.loads.push(load);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
[links.wan]
device = "eth0"
queue = "vcp"
rate = "2.5Gbps"
owd = "20ms"

[links.lan]
device = "eth1.7"
netns = "inner"
queue = { kind = "mlcp" }
rate = "20Mbps"

[hosts.vcp]
devices = ["eth0", "eth2"]
for_all = true

[hosts.xcp]
devices = ["eth0"]
cgroup = "/sys/fs/cgroup/x"
initial_window = 4

[service]
metrics = "[::1]:9653"
log_format = "json"
"#;

    #[test]
    fn what_is_written_is_loaded() {
        let config = parse("f.toml", GOOD).unwrap();
        let told: Vec<_> = config
            .loads
            .iter()
            .map(|load| {
                let Place { netns, dev } = &load.place;
                (load.name.as_str(), netns.as_deref(), dev.as_str(), load.rate, load.for_all)
            })
            .collect();
        assert_eq!(
            told,
            [
                ("vcp-router", None, "eth0", Some(2_500_000_000), false),
                ("mlcp-router", Some("inner"), "eth1.7", Some(20_000_000), false),
                ("vcp", None, "eth0", None, true),
                ("vcp", None, "eth2", None, true),
                ("xcp", None, "eth0", None, false),
            ]
        );
        assert_eq!(config.loads[4].cgroup.as_deref(), Some("/sys/fs/cgroup/x"));
        assert_eq!(config.loads[4].initial_window, 4);
        assert_eq!(config.metrics, "[::1]:9653".parse().ok());
        assert_eq!((config.log, config.unused), (Some(Format::Json), vec!["links.wan.owd".into()]));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let link = |line: &str| format!("[links.w]\ndevice = \"e\"\nqueue = \"vcp\"\n{line}\n");
        let rate = "rate = \"1Mbps\"\n";
        for (text, said) in [
            (
                link("rate = \"20mbps\""),
                "f:4: links.w.rate: unknown unit \"mbps\" in \"20mbps\"; did you mean \"Mbps\"? (allowed: bps, kbps, Mbps, Gbps, Tbps)",
            ),
            (
                link("rate = 20"),
                "f:4: links.w.rate: 20 has no unit; write for example \"20Mbps\" (units: bps, kbps, Mbps, Gbps, Tbps)",
            ),
            (
                link("rate = \"1bps\""),
                "f:4: links.w.rate: \"1bps\" is out of range (allowed: 1kbps to 1Tbps)",
            ),
            (link(""), "f:1: links.w.rate: missing key (wanted: a rate such as \"45Mbps\")"),
            (
                link("loss = \"1%\""),
                "f:4: links.w.loss: unknown key \"loss\" (allowed: device, netns, queue, rate, link, from, to, owd, buffer)",
            ),
            (
                format!("[links.w]\ndevice = \"../e\"\nqueue = \"vcp\"\n{rate}"),
                "f:2: links.w.device: \"../e\" is out of range (allowed: letters, digits, - _ and . not at its beginning)",
            ),
            (
                format!("[links.w]\ndevice = \"e\"\nqueue = \"vpc\"\n{rate}"),
                "f:3: links.w.queue: unknown router \"vpc\"; did you mean \"vcp\"? (allowed: ",
            ),
            (
                format!("[links.w]\nqueue = {{ kind = \"vcp\", xi = 2 }}\n{rate}"),
                "f:2: links.w.queue.xi: unknown key \"xi\" (allowed: kind)",
            ),
            (
                format!("{}[links.v]\ndevice = \"e\"\nqueue = \"dpcp\"\n{rate}", link(rate)),
                "f:6: links.v: e has a router, vcp-router, already",
            ),
            (
                "[hosts.cubic]\ndevices = [\"e\"]".into(),
                "f:1: hosts.cubic: unknown protocol \"cubic\" (allowed: dpcp, ixcp, mlcp, vcp, xcp, dpcp-decoupled, vcp-decoupled)",
            ),
            (
                "[hosts.vcp]\ndevices = \"e\"".into(),
                "f:2: hosts.vcp.devices: expected a list such as [\"eth0\"], found \"e\"",
            ),
            (
                "[hosts.vcp]\ndevices = [\"e\"]\ncgroup = \"/x\"".into(),
                "f:3: hosts.vcp.cgroup: is for TCP options, and vcp has none",
            ),
            (
                "[hosts.vcp]\ndevices = [\"e\"]\n[hosts.dpcp]\ndevices = [\"e\"]".into(),
                "f:3: hosts.dpcp: e has vcp, which uses the same ECN bits",
            ),
            (
                "[hosts.xcp]\ndevices = [\"e\"]\ninitial_window = 2000000".into(),
                "f:3: hosts.xcp.initial_window: 2000000 is out of range (allowed: 0 to 1048576 packets; 0 leaves the kernel's)",
            ),
            (
                "[service]\nmetrics = \"9653\"".into(),
                "f:2: service.metrics: expected an address and port such as \"127.0.0.1:9653\", found \"9653\"",
            ),
            (
                link("rate = \"1Mbps\"\nlink = 7"),
                "f:5: links.w.link: is for ixcp, which names its link, and vcp does not",
            ),
            (
                link("link = 0"),
                "f:4: links.w.link: 0 is out of range (allowed: 1 to 4294967295; 0 is the sender's access link)",
            ),
            // A terminal obeys nothing of it.
            (
                "[hosts.\"a\\u001b[2J\\n\"]\n".into(),
                "f:1: hosts.a\\u{1b}[2J\\n: unknown protocol \"a\\u{1b}[2J\\n\"",
            ),
            (
                "[hosts.xcp]\ncgroup = \"/x\\u0000\"".into(),
                "f:2: hosts.xcp.cgroup: expected a directory of cgroup v2, found \"/x\\0\"",
            ),
            (
                "[flows.a]\n".into(),
                "f:1: flows: unknown key \"flows\" (allowed: links, hosts, service)",
            ),
            ("[links\n".into(), "f:1: not valid TOML: "),
            (
                String::new(),
                "f: names nothing to load (wanted: a table links.NAME or hosts.PROTOCOL)",
            ),
        ] {
            let Err(Error::Config(message)) = parse("f", &text) else { panic!("{text}") };
            assert!(message.starts_with(said), "{text}\n{message}\n{said}");
        }
    }

    #[test]
    fn a_links_number_is_ixcps() {
        let text = "[links.w]\ndevice = \"e\"\nqueue = \"ixcp\"\nrate = \"1Mbps\"\nlink = 0xff\n";
        assert_eq!(parse("f", text).unwrap().loads[0].link, Some(255));
        assert_eq!(parse("f", &text.replace("link = 0xff\n", "")).unwrap().loads[0].link, None);
    }

    #[test]
    fn what_is_no_file_of_ours_ends_soon() {
        for (file, said) in [
            ("/dev/zero", "/dev/zero: is larger than 1048576 bytes"),
            ("/nowhere", "/nowhere: No such file or directory (os error 2)"),
            ("/", "/: Is a directory (os error 21)"),
        ] {
            let Err(Error::Config(message)) = read(file) else { panic!("{file}") };
            assert_eq!(message, said);
        }
        let deep = format!("a = {}{}", "[".repeat(100_000), "]".repeat(100_000));
        let Err(Error::Config(message)) = parse("f", &deep) else { panic!("deep") };
        assert!(message.starts_with("f:1: not valid TOML: ") && message.len() < 1000, "{message}");
    }
}

//! What is loaded and what it has counted: for `status`, for metrics, and for the service.

use std::process::Command;

use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType};
use serde_json::{Value, json};

use crate::args::Place;
use crate::pins::{Attached, Directory};
use crate::table::{self, is_router};
use crate::{commands, devices, registration, switch};

/// The root queueing discipline of a device, as `tc` shows it.
#[derive(Debug)]
pub struct Queue {
    /// tbf, htb, ...
    pub kind: String,
    /// What waits [bytes].
    pub bytes: u64,
    /// The same in packets.
    pub packets: u64,
    /// Packets dropped so far.
    pub drops: u64,
}

/// An object, which is an end host of the whole kernel or a router on one device.
#[derive(Debug)]
pub struct Loaded {
    /// The name in the table.
    pub name: String,
    /// Is all of it there?
    pub registered: bool,
    /// The version and digest of the loader that made it; `None` of one that left none.
    pub build: Option<String>,
    /// What it counts, by name; the sums of all processors.
    pub counters: Vec<(&'static str, u64)>,
    /// Where it is attached.
    pub devices: Vec<(Attached, bool)>,
    /// A router's capacity [bit/s].
    pub rate_bps: Option<u64>,
    /// A router's queue, if `tc` tells it.
    pub queue: Option<Queue>,
}

impl Loaded {
    /// A counter.
    pub fn counter(&self, name: &str) -> Option<u64> {
        self.counters.iter().find(|(one, _)| *one == name).map(|(_, value)| *value)
    }

    /// Its devices, each once, and whether it is gone.
    pub fn places(&self) -> Vec<(&Place, bool)> {
        let mut places: Vec<(&Place, bool)> = Vec::new();
        for (attached, gone) in &self.devices {
            match places.iter_mut().find(|(place, _)| *place == &attached.place) {
                Some((_, any)) => *any |= gone,
                None => places.push((&attached.place, *gone)),
            }
        }
        places
    }
}

/// All that is loaded.
pub fn all() -> Vec<Loaded> {
    Directory::all().iter().map(one).collect()
}

fn one(directory: &Directory) -> Loaded {
    let name = directory.object();
    let attached = directory.attached();
    let router = is_router(&name);
    let at = attached.first().map(|attached| attached.place.clone()).filter(|_| router);
    let with_state = |attached: Attached| {
        let gone = devices::is_gone(&attached);
        (attached, gone)
    };
    Loaded {
        registered: router || registration::is_there(directory),
        build: commands::build_of(directory),
        counters: counters(directory, &name),
        rate_bps: if router { rate(directory) } else { None },
        queue: at.and_then(|place| queue(&place)),
        devices: attached.into_iter().map(with_state).collect(),
        name,
    }
}

/// A router's capacity is the first word of its settings [bytes/s].
fn rate(directory: &Directory) -> Option<u64> {
    let map = MapHandle::from_pinned_path(directory.pin("config")).ok()?;
    let value = map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).ok()??;
    Some(u64::from_ne_bytes(*value.first_chunk()?) * 8)
}

fn counters(directory: &Directory, name: &str) -> Vec<(&'static str, u64)> {
    let words = table::find(name).map_or(&[][..], |program| program.counters);
    let mut all = Vec::new();
    for (map, names) in words {
        if let Ok(map) = MapHandle::from_pinned_path(directory.pin(map)) {
            let read = (0..map.max_entries()).flat_map(|key| sum(&values(&map, key)));
            all.extend(names.iter().copied().zip(read));
        }
    }
    all
}

/// What a map has under a key; of each processor if it has one there.
fn values(map: &MapHandle, key: u32) -> Vec<Vec<u8>> {
    let key = key.to_ne_bytes();
    match map.map_type() {
        MapType::PercpuArray => map.lookup_percpu(&key, MapFlags::ANY).ok().flatten(),
        _ => map.lookup(&key, MapFlags::ANY).ok().flatten().map(|value| vec![value]),
    }
    .unwrap_or_default()
}

/// The sums of their words.
fn sum(values: &[Vec<u8>]) -> Vec<u64> {
    let mut sums = Vec::new();
    for value in values {
        let words = value.chunks_exact(8).filter_map(<[u8]>::first_chunk);
        for (at, word) in words.enumerate() {
            sums.resize(sums.len().max(at + 1), 0_u64);
            sums[at] = sums[at].wrapping_add(u64::from_ne_bytes(*word));
        }
    }
    sums
}

fn queue(place: &Place) -> Option<Queue> {
    let mut told = Vec::new();
    let ran = devices::inside(place, |_| {
        let mut tc = Command::new("tc");
        let asked = tc.args(["-s", "-j", "qdisc", "show", "dev", &place.dev]).output();
        told = asked.map(|output| output.stdout).unwrap_or_default();
        Ok(())
    });
    ran.ok().and_then(|_| root_queue(&told))
}

fn root_queue(told: &[u8]) -> Option<Queue> {
    let all: Value = serde_json::from_slice(told).ok()?;
    let root = all.as_array()?.iter().find(|one| one["root"] == true)?;
    let number = |key: &str| root[key].as_u64().unwrap_or(0);
    Some(Queue {
        kind: root["kind"].as_str()?.to_owned(),
        bytes: number("backlog"),
        packets: number("qlen"),
        drops: number("drops"),
    })
}

/// What is loaded, as JSON.
pub fn as_json(all: &[Loaded]) -> Value {
    let device = |(attached, gone): &(Attached, bool)| {
        json!({"netns": attached.place.netns, "dev": attached.place.dev,
               "direction": attached.direction, "gone": gone})
    };
    let object = |loaded: &Loaded| {
        let counters: serde_json::Map<_, _> = loaded
            .counters
            .iter()
            .map(|(name, value)| ((*name).to_owned(), json!(value)))
            .collect();
        let mut object = json!({
            "name": loaded.name,
            "registered": loaded.registered,
            "build": loaded.build,
            "off": switch::is_off(),
            "counters": counters,
            "devices": loaded.devices.iter().map(device).collect::<Vec<_>>(),
        });
        if let Some(rate) = loaded.rate_bps {
            object["rate_bps"] = json!(rate);
        }
        if let Some(queue) = &loaded.queue {
            object["queue"] = json!({"kind": queue.kind, "bytes": queue.bytes,
                                     "packets": queue.packets, "drops": queue.drops});
        }
        object
    };
    all.iter().map(object).collect()
}

/// What is loaded, for a person.
pub fn as_text(all: &[Loaded]) -> String {
    let mut lines = Vec::new();
    if switch::is_off() {
        lines.push("switched off: routers touch nothing, end hosts are Reno".to_owned());
    }
    if all.is_empty() {
        lines.push("nothing is loaded".to_owned());
    }
    for loaded in all {
        let places = loaded.places();
        let places = places.iter().map(|(place, gone)| {
            let netns = place.netns.as_ref().map(|netns| format!(" in {netns}"));
            let gone = if *gone { " (gone)" } else { "" };
            format!("{}{}{gone}", place.dev, netns.unwrap_or_default())
        });
        let places = places.collect::<Vec<_>>().join(", ");
        let whole = if loaded.registered { "" } else { ", not registered" };
        let whose = match loaded.build.as_deref() {
            Some(commands::BUILD) => String::new(),
            Some(theirs) => format!(", of clearpipe-bpf {theirs}"),
            None => ", of an older clearpipe-bpf".to_owned(),
        };
        lines.push(format!("{} on {places}{whole}{whose}", loaded.name));
        let count = |name: &str| loaded.counter(name).unwrap_or(0);
        if is_router(&loaded.name) {
            let rho = count("rho_milli");
            let rate = loaded.rate_bps.unwrap_or(0) as f64 / 1e6;
            let queue = loaded.queue.as_ref().map_or("queue unknown".to_owned(), |queue| {
                let Queue { kind, bytes, packets, drops } = queue;
                format!("{kind} holds {bytes} B in {packets} packets, dropped {drops}")
            });
            let (whole, thousandths) = (rho / 1000, rho % 1000);
            lines.push(format!("  {rate} Mb/s, load {whole}.{thousandths:03}; {queue}"));
        }
        if loaded.counter("flows").is_some() {
            let now = count("flows").saturating_sub(count("ended"));
            lines.push(format!("  {now} flows now"));
        }
        let counted = loaded.counters.iter().filter(|(name, _)| *name != "rho_milli");
        let counted: Vec<_> = counted.map(|(name, value)| format!("{name} {value}")).collect();
        if !counted.is_empty() {
            lines.push(format!("  so far: {}", counted.join(", ")));
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_queue_is_read() {
        // iproute2 6.1, a TBF that holds two packets, and clsact beside it.
        let told = br#"[{"kind":"tbf","handle":"8001:","root":true,"refcnt":2,
            "options":{"rate":2500000,"burst":5118,"lat":99},"bytes":3028,"packets":2,"drops":7,
            "overlimits":3,"requeues":0,"backlog":3028,"qlen":2},
            {"kind":"clsact","handle":"ffff:","parent":"ffff:fff1","drops":1}]"#;
        let queue = root_queue(told).unwrap();
        assert_eq!((queue.kind.as_str(), queue.bytes, queue.packets), ("tbf", 3028, 2));
        assert_eq!(queue.drops, 7);
        assert!(root_queue(b"").is_none());
    }

    #[test]
    fn the_processors_words_are_added() {
        let one = [5_u64.to_ne_bytes(), 7_u64.to_ne_bytes()].concat();
        let other = [2_u64.to_ne_bytes(), 1_u64.to_ne_bytes()].concat();
        assert_eq!(sum(&[one, other]), [7, 8]);
        assert_eq!(sum(&[]), [0; 0]);
    }
}

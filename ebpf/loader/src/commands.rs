//! load, unload, status.

use std::os::fd::AsRawFd;

use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType, ObjectBuilder, ProgramMut};

use crate::args::{Command, Load, Place};
use crate::pins::Directory;
use crate::{Error, Result, devices, registration, system};

/// The compiled programs by name.
const OBJECTS: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/objects.rs"));

/// What a device's gso_max_segs is unless somebody sets it.
const GSO_MAX_SEGS: u32 = 65535;

/// The protocols that use the two ECN bits, and so share no device.
const ECN_BITS: [&str; 2] = ["vcp", "dpcp"];

fn is_router(name: &str) -> bool {
    name.ends_with("-router")
}

/// Does the protocol need one packet per buffer at TC? VCP's packets may all carry the same.
fn is_per_packet(name: &str) -> bool {
    !is_router(name) && name != "vcp"
}

/// Runs a command.
pub fn run(command: Command) -> Result<()> {
    match command {
        Command::Names => {
            OBJECTS.iter().for_each(|(name, _)| println!("{name}"));
            Ok(())
        }
        Command::Status => {
            println!("{}", status());
            Ok(())
        }
        Command::Cleanup => {
            let _lock = system::lock()?;
            cleanup()
        }
        Command::Check => system::check(),
        Command::Load(load) => {
            let _lock = system::lock()?;
            libbpf_rs::set_print(None);
            self::load(&load)
        }
        Command::Unload { name, place } => {
            let _lock = system::lock()?;
            unload(name.as_deref(), place.as_ref())
        }
    }
}

fn load(load: &Load) -> Result<()> {
    let Some((_, object)) = OBJECTS.iter().find(|(name, _)| *name == load.name) else {
        let names: Vec<_> = OBJECTS.iter().map(|(name, _)| *name).collect();
        return Err(Error::Usage(format!("{}: there are {}", load.name, names.join(", "))));
    };
    if is_router(&load.name) != load.rate.is_some() {
        return Err(Error::Usage("--rate is what a router needs, and only a router".to_owned()));
    }
    system::prepare()?;
    check_others(load)?;
    let router = is_router(&load.name);
    let directory = Directory::of(&load.name, router.then_some(&load.place));
    // A loader that was killed leaves an object without its registration.
    if router {
        system::prepare_router()?;
    }
    if router || !registration::is_there(&directory) {
        registration::remove(&directory)?;
        directory.create()?;
        if let Err(error) = load_object(load, object, &directory) {
            registration::remove(&directory)?;
            return Err(error);
        }
    }
    configure(load, &directory)?;
    let attached = attach(load, &directory);
    if attached.is_err() && directory.attached().is_empty() {
        registration::remove(&directory)?;
    }
    attached
}

/// Two protocols cannot have the same bits of the same packets.
fn check_others(load: &Load) -> Result<()> {
    if !ECN_BITS.contains(&load.name.as_str()) {
        return Ok(());
    }
    for other in ECN_BITS.iter().filter(|&&name| name != load.name) {
        let there = Directory::of(other, None).attached();
        if there.iter().any(|at| at.place == load.place && !devices::is_gone(at)) {
            let dev = &load.place.dev;
            return Err(Error::Failed(format!("{dev} has {other}, which uses the same ECN bits")));
        }
    }
    Ok(())
}

/// Loads an object, pins its programs and maps, and registers its congestion control.
fn load_object(load: &Load, bytes: &[u8], directory: &Directory) -> Result<()> {
    let whats_wrong = |what: &str, error: libbpf_rs::Error| {
        Error::Failed(format!("{}: {what}: {error:#}", load.name))
    };
    let linked = system::features()?.struct_ops_link;
    let mut open = ObjectBuilder::default()
        .name(load.name.replace('-', "_"))
        .and_then(|builder| builder.open_memory(bytes))
        .map_err(|error| whats_wrong("cannot be read", error))?;
    registration::prepare(&mut open, linked);
    let mut object =
        open.load().map_err(|error| whats_wrong("the kernel does not take it", error))?;
    for mut program in object.progs_mut() {
        let name = program.name().to_string_lossy().into_owned();
        if !name.starts_with("cc_") {
            program.pin(directory.pin(&name)).map_err(|error| whats_wrong(&name, error))?;
        }
    }
    if let Some(program) = object.progs_mut().find(|program| program.name() == "options") {
        attach_cgroup(load, &program, directory)?;
    }
    for mut map in object.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        if map.map_type() == MapType::StructOps {
            registration::register(&mut map, directory, linked)?;
        } else if ["config", "state", "counters"].contains(&name.as_str()) {
            map.pin(directory.pin(&name)).map_err(|error| whats_wrong(&name, error))?;
        }
    }
    Ok(())
}

fn attach_cgroup(load: &Load, program: &ProgramMut<'_>, directory: &Directory) -> Result<()> {
    let cgroup = system::cgroup(load.cgroup.as_deref())?;
    let mut link = program
        .attach_cgroup(cgroup.as_raw_fd())
        .map_err(|error| Error::Failed(format!("{}: cgroup: {error:#}", load.name)))?;
    link.pin(directory.pin("cgroup"))
        .map_err(|error| Error::Failed(format!("{}: cgroup: {error:#}", load.name)))
}

/// Writes `struct config`.
fn configure(load: &Load, directory: &Directory) -> Result<()> {
    let path = directory.pin("config");
    let wrong = |error: libbpf_rs::Error| Error::Failed(format!("{}: {error:#}", path.display()));
    let map = MapHandle::from_pinned_path(&path).map_err(wrong)?;
    let value: Vec<u8> = match load.rate {
        // Capacity [bytes/s].
        Some(rate) => (rate / 8).to_ne_bytes().to_vec(),
        // The window, and 0 for the default number of RTTs until Reno takes over.
        None => [load.initial_window.to_ne_bytes(), 0_u32.to_ne_bytes()].concat(),
    };
    map.update(&0_u32.to_ne_bytes(), &value, MapFlags::ANY).map_err(wrong)
}

fn attach(load: &Load, directory: &Directory) -> Result<()> {
    let place = &load.place;
    let absent = || Error::Failed(format!("no device {} in {}", place.dev, where_is(place)));
    if !system::enter(place)? {
        return Err(absent());
    }
    let device = system::device(&place.dev)?.ok_or_else(absent)?;
    if is_router(&load.name) {
        return devices::attach(directory, place, &device, "egress");
    }
    if ECN_BITS.contains(&load.name.as_str()) {
        system::check_ecn()?;
    }
    if is_per_packet(&load.name) {
        system::set_gso(&place.dev, 1)?;
    }
    for direction in ["ingress", "egress"] {
        // Protocols with an option of their own have nothing to do at egress.
        if directory.pin(&format!("{direction}_raw")).exists() {
            devices::attach(directory, place, &device, direction)?;
        }
    }
    Ok(())
}

fn where_is(place: &Place) -> String {
    place.netns.as_ref().map_or("this network namespace".to_owned(), |name| format!("netns {name}"))
}

/// Removes links whose device is gone, objects that were left half loaded, and objects whose last
/// device is gone.
fn cleanup() -> Result<()> {
    for directory in Directory::all() {
        let (gone, there): (Vec<_>, Vec<_>) =
            directory.attached().into_iter().partition(devices::is_gone);
        for attached in &gone {
            crate::pins::unpin(&attached.path)?;
            let place = &attached.place;
            println!("{} on {} in {}", directory.object(), place.dev, where_is(place));
        }
        if there.is_empty() {
            registration::remove(&directory)?;
            println!("{}", directory.object());
        }
    }
    Ok(())
}

/// Removes what is named; an object without devices goes with its last one.
fn unload(name: Option<&str>, place: Option<&Place>) -> Result<()> {
    let named = |directory: &Directory| name.is_none_or(|name| directory.object() == name);
    for directory in Directory::all().into_iter().filter(named) {
        let (mine, others): (Vec<_>, Vec<_>) = directory
            .attached()
            .into_iter()
            .partition(|attached| place.is_none_or(|place| attached.place == *place));
        for attached in &mine {
            devices::detach(attached)?;
        }
        if others.is_empty() {
            registration::remove(&directory)?;
        }
        let per_packet = is_per_packet(&directory.object());
        for attached in mine.iter().filter(|attached| per_packet && attached.direction == "ingress")
        {
            restore(&attached.place);
        }
    }
    Ok(())
}

/// The device as it was, if it is still there.
fn restore(place: &Place) {
    let _ = devices::inside(place, |_| system::set_gso(&place.dev, GSO_MAX_SEGS));
}

/// What is pinned, as JSON.
fn status() -> String {
    let objects: Vec<String> = Directory::all()
        .iter()
        .map(|directory| {
            let devices: Vec<String> = directory
                .attached()
                .iter()
                .map(|attached| {
                    let netns = attached.place.netns.as_ref();
                    format!(
                        r#"{{"netns": {}, "dev": "{}", "direction": "{}", "gone": {}}}"#,
                        netns.map_or("null".to_owned(), |netns| format!("\"{netns}\"")),
                        attached.place.dev,
                        attached.direction,
                        devices::is_gone(attached)
                    )
                })
                .collect();
            let whole = is_router(&directory.object()) || registration::is_there(directory);
            format!(
                r#"{{"name": "{}", "registered": {whole}, "counters": [{}], "devices": [{}]}}"#,
                directory.object(),
                counters(directory).join(", "),
                devices.join(", ")
            )
        })
        .collect();
    format!("[{}]", objects.join(", "))
}

/// What an object counts, in its own order; empty if it counts nothing.
fn counters(directory: &Directory) -> Vec<String> {
    let Ok(map) = MapHandle::from_pinned_path(directory.pin("counters")) else { return Vec::new() };
    let value = |key: u32| map.lookup(&key.to_ne_bytes(), MapFlags::ANY).ok().flatten();
    (0..map.max_entries())
        .filter_map(|key| {
            let bytes = value(key)?.try_into().ok()?;
            Some(u64::from_ne_bytes(bytes).to_string())
        })
        .collect()
}

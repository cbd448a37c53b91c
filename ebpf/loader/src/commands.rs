//! load, unload, status.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

use libbpf_rs::query::LinkTypeInfo;
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, MapType, ObjectBuilder, Program, ProgramMut};

use crate::args::{Command, Load, Place};
use crate::pins::{self, Directory};
use crate::system::{self, Device, c_string, failed};
use crate::{Error, Result};

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
        Command::Check => {
            let _lock = system::lock()?;
            system::prepare()
        }
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
    if router || !directory.pin("cc").exists() {
        directory.remove()?;
        directory.create()?;
        if let Err(error) = load_object(load, object, &directory) {
            directory.remove()?;
            return Err(error);
        }
    }
    configure(load, &directory)?;
    let attached = attach(load, &directory);
    if attached.is_err() && directory.attached().is_empty() {
        directory.remove()?;
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
        if there.iter().any(|at| at.place == load.place && !is_gone(&at.path)) {
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
    let open = ObjectBuilder::default()
        .name(load.name.replace('-', "_"))
        .and_then(|builder| builder.open_memory(bytes))
        .map_err(|error| whats_wrong("cannot be read", error))?;
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
            let mut link = map.attach_struct_ops().map_err(|error| {
                whats_wrong(
                    "registering it as congestion control (is one of its name there?)",
                    error,
                )
            })?;
            link.pin(directory.pin("cc")).map_err(|error| whats_wrong("cc", error))?;
            // The pin holds it from here on.
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
        return attach_one(directory, place, &device, "egress");
    }
    system::check_ecn()?;
    if is_per_packet(&load.name) {
        system::set_gso(&place.dev, 1)?;
    }
    for direction in ["ingress", "egress"] {
        // Protocols with an option of their own have nothing to do at egress.
        if directory.pin(&format!("{direction}_raw")).exists() {
            attach_one(directory, place, &device, direction)?;
        }
    }
    Ok(())
}

fn where_is(place: &Place) -> String {
    place.netns.as_ref().map_or("this network namespace".to_owned(), |name| format!("netns {name}"))
}

/// Puts the program of a direction last on a device and pins the link.
fn attach_one(
    directory: &Directory,
    place: &Place,
    device: &Device,
    direction: &str,
) -> Result<()> {
    let pin = directory.link(place, direction);
    pins::unpin(&pin)?;
    let layer = if device.ether { "ether" } else { "raw" };
    let path = directory.pin(&format!("{direction}_{layer}"));
    let program = Program::fd_from_pinned_path(&path)
        .map_err(|error| Error::Failed(format!("{}: {error:#}", path.display())))?;
    let kind = match direction {
        "ingress" => libbpf_sys::BPF_TCX_INGRESS,
        _ => libbpf_sys::BPF_TCX_EGRESS,
    };
    let text = c_string(&pin.to_string_lossy())?;
    // SAFETY: open descriptors, no options, a C string; the link is closed by its owner.
    unsafe {
        let link =
            libbpf_sys::bpf_link_create(program.as_raw_fd(), device.index, kind, std::ptr::null());
        if link < 0 {
            return Err(failed(format!("{} {direction}", place.dev)));
        }
        let link = OwnedFd::from_raw_fd(link);
        if libbpf_sys::bpf_obj_pin(link.as_raw_fd(), text.as_ptr()) != 0 {
            return Err(failed(pin.display()));
        }
    }
    Ok(())
}

/// Removes links whose device is gone, objects that were left half loaded, and objects whose last
/// device is gone.
fn cleanup() -> Result<()> {
    for directory in Directory::all() {
        let (gone, there): (Vec<_>, Vec<_>) =
            directory.attached().into_iter().partition(|attached| is_gone(&attached.path));
        for attached in &gone {
            pins::unpin(&attached.path)?;
            let place = &attached.place;
            println!("{} on {} in {}", directory.object(), place.dev, where_is(place));
        }
        if there.is_empty() {
            directory.remove()?;
            println!("{}", directory.object());
        }
    }
    Ok(())
}

/// Is a pinned link's device gone?
fn is_gone(path: &Path) -> bool {
    let info = Link::open(path).and_then(|link| link.info());
    match info.map(|info| info.info) {
        Ok(LinkTypeInfo::Tcx(tcx)) => tcx.ifindex == 0,
        _ => true,
    }
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
            pins::unpin(&attached.path)?;
        }
        if others.is_empty() {
            directory.remove()?;
        }
        let per_packet = is_per_packet(&directory.object());
        for attached in mine.iter().filter(|attached| per_packet && attached.direction == "ingress")
        {
            restore(&attached.place);
        }
    }
    Ok(())
}

/// The device as it was, if it is still there; it is another process that changes namespace.
fn restore(place: &Place) {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            if let Ok(true) = system::enter(place)
                && let Ok(Some(_)) = system::device(&place.dev)
            {
                let _ = system::set_gso(&place.dev, GSO_MAX_SEGS);
            }
        });
    });
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
                        is_gone(&attached.path)
                    )
                })
                .collect();
            let whole = is_router(&directory.object()) || exists(&directory.pin("cc"));
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

fn exists(path: &Path) -> bool {
    path.exists()
}

//! load, unload, and what little the others need.

use std::os::fd::AsRawFd;

use libbpf_rs::query::LinkTypeInfo;
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, MapType, ObjectBuilder, ProgramMut};

use crate::args::{Command, Load, Place, USAGE};
use crate::pins::{Attached, Directory};
use crate::table::{self, PROGRAMS, Program, is_router};
use crate::{
    Error, Result, config, devices, gso, note, read, registration, service, switch, system,
};

/// The compiled programs by name.
pub const OBJECTS: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/objects.rs"));

/// Of the loader: its version, and a digest of the programs (build.rs).
pub const BUILD: &str = env!("CLEARPIPE_BUILD");
const BUILD_PIN: &str = "build";

/// Does the protocol need one packet per buffer at TC?
fn is_per_packet(name: &str) -> bool {
    table::find(name).is_some_and(|program| program.per_packet)
}

/// Has the protocol a TCP option of its own?
fn has_option(name: &str) -> bool {
    table::find(name).is_some_and(|program| program.option)
}

/// Does it own the two ECN bits?
fn has_ecn_bits(name: &str) -> bool {
    table::find(name).is_some_and(|program| program.ecn_bits)
}

/// Runs a command.
pub fn run(command: Command) -> Result<()> {
    match command {
        Command::Names => {
            OBJECTS.iter().for_each(|(name, _)| println!("{name}"));
            Ok(())
        }
        Command::Help => {
            println!("{USAGE}");
            Ok(())
        }
        Command::Version => {
            println!("clearpipe-bpf {BUILD}");
            Ok(())
        }
        Command::Status { json } => {
            let all = read::all();
            match json {
                true => println!("{}", read::as_json(&all)),
                false => println!("{}", read::as_text(&all)),
            }
            Ok(())
        }
        Command::Switch { off } => {
            let _lock = system::lock()?;
            let done = switch::set(off)?;
            println!("{}", switched(off, &done));
            Ok(())
        }
        Command::Run(run) => service::run(&run),
        Command::UnloadConfig(config) => {
            let config = config::read(&config)?;
            let _lock = system::lock()?;
            unload_all(&config.loads)
        }
        Command::Cleanup => {
            let _lock = system::lock()?;
            cleanup()
        }
        Command::Check { config } => check(config.as_deref()),
        Command::Load(load) => {
            let _lock = system::lock()?;
            self::load(&load)
        }
        Command::Unload { name, place } => {
            let _lock = system::lock()?;
            unload(name.as_deref(), place.as_ref())
        }
    }
}

/// What was switched, in words.
fn switched(off: bool, names: &[String]) -> String {
    let routers = names.iter().filter(|name| is_router(name)).count();
    let hosts = names.len() - routers;
    match off {
        true => format!("off: {routers} routers touch no packet, {hosts} end hosts are Reno"),
        false => format!("on: {routers} routers, {hosts} end hosts"),
    }
}

/// The file first, which needs no rights.
fn check(config: Option<&str>) -> Result<()> {
    let Some(file) = config else { return system::check() };
    let config = config::read(file)?;
    for key in &config.unused {
        println!("{file}: {key}: describes the line and has no effect here");
    }
    system::check()?;
    for load in &config.loads {
        if is_router(&load.name) {
            system::prepare_router()?;
        }
        if !devices::inside(&load.place, |_| Ok(()))? {
            return Err(absent(&load.place));
        }
    }
    println!("{file}: {} programs to load, and all devices are there", config.loads.len());
    Ok(())
}

/// Takes what a file names off its devices, as far as that goes.
pub fn unload_all(loads: &[Load]) -> Result<()> {
    let each = loads.iter().map(|load| unload(Some(&load.name), Some(&load.place)));
    each.fold(Ok(()), Result::and)
}

/// Loads an object if it is not there, and attaches it to a device. Its thread is in the device's
/// network namespace from then on.
pub fn load(load: &Load) -> Result<()> {
    libbpf_rs::set_print(None);
    let Some((_, object)) = OBJECTS.iter().find(|(name, _)| *name == load.name) else {
        let names: Vec<_> = OBJECTS.iter().map(|(name, _)| *name).collect();
        return Err(Error::Usage(format!("{}: there are {}", load.name, names.join(", "))));
    };
    if is_router(&load.name) != load.rate.is_some() {
        return Err(Error::Usage("--rate is what a router needs, and only a router".to_owned()));
    }
    if load.link.is_some() && load.name != "ixcp-router" {
        return Err(Error::Usage("--link is for ixcp-router, which names its link".to_owned()));
    }
    if load.for_all && is_router(&load.name) {
        return Err(Error::Usage("--for-all is for protocols, which sockets choose".to_owned()));
    }
    if load.cgroup.is_some() && !has_option(&load.name) {
        let name = &load.name;
        return Err(Error::Usage(format!("--cgroup is for TCP options, and {name} has none")));
    }
    system::prepare()?;
    check_others(load)?;
    let router = is_router(&load.name);
    let directory = Directory::of(&load.name, router.then_some(&load.place));
    if router {
        system::prepare_router()?;
    }
    // A loader that was killed leaves an object without its registration, or without devices.
    let in_use = || directory.attached().iter().any(|at| !devices::is_gone(at));
    let there = !router && registration::is_there(&directory) && in_use();
    if there {
        check_build(&directory)?;
        check_same(load, &directory)?;
    }
    let done = if there { Ok(()) } else { make(load, object, &directory) };
    let allowed = || if load.for_all { system::allow(&load.name) } else { Ok(()) };
    let done = done.and_then(|()| allowed()).and_then(|()| attach(load, &directory));
    if done.is_err() && directory.attached().is_empty() {
        registration::remove(&directory)?;
    }
    done
}

/// Loads an object that is not there, with its settings.
fn make(load: &Load, object: &[u8], directory: &Directory) -> Result<()> {
    let off = switch::shared();
    registration::remove(directory)?;
    directory.create()?;
    note::write(&directory.pin(BUILD_PIN), BUILD.as_bytes())?;
    load_object(load, object, directory, off.as_ref())?;
    configure(load, directory)
}

/// The version and a digest of the programs, of the loader that made an object; `None` of one that
/// left none.
pub fn build_of(directory: &Directory) -> Option<String> {
    let bytes = note::read(&directory.pin(BUILD_PIN)).ok().flatten();
    bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// A further device gets the programs that are there: they have to be those of this loader.
fn check_build(directory: &Directory) -> Result<()> {
    let theirs = build_of(directory);
    if theirs.as_deref() == Some(BUILD) {
        return Ok(());
    }
    let name = directory.object();
    let theirs = theirs
        .map_or("an older clearpipe-bpf".to_owned(), |build| format!("clearpipe-bpf {build}"));
    Err(Error::Failed(format!(
        "{name} is loaded by {theirs}, and this is {BUILD}: unload {name} first, or use that one"
    )))
}

/// An object serves the whole kernel: a further device has to do with the settings it was loaded
/// with.
fn check_same(load: &Load, directory: &Directory) -> Result<()> {
    let name = &load.name;
    let differs = |what: String| {
        Err(Error::Failed(format!(
            "{name} is loaded with {what}, which holds for the whole kernel: give the same, or \
             unload {name} first"
        )))
    };
    let path = directory.pin("config");
    let wrong = |error: libbpf_rs::Error| Error::Failed(format!("{}: {error:#}", path.display()));
    let map = MapHandle::from_pinned_path(&path).map_err(wrong)?;
    let value = map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).map_err(wrong)?;
    let window =
        value.as_deref().and_then(<[u8]>::first_chunk).map(|head| u32::from_ne_bytes(*head));
    match window {
        Some(window) if window == load.initial_window => {}
        Some(0) => return differs("the kernel's initial window".to_owned()),
        Some(window) => return differs(format!("--initial-window {window}")),
        None => return Err(Error::Failed(format!("{}: holds no settings", path.display()))),
    }
    let path = directory.pin("cgroup");
    if !path.exists() {
        return Ok(());
    }
    let info = Link::open(&path).and_then(|link| link.info());
    let info = info.map_err(|error| Error::Failed(format!("{}: {error:#}", path.display())))?;
    // One that is above the wanted one has its sockets, too.
    let covers = system::cgroups_from(load.cgroup.as_deref())?;
    match info.info {
        LinkTypeInfo::Cgroup(cgroup) if !covers.contains(&cgroup.cgroup_id) => {
            differs(format!("another --cgroup (its inode is {})", cgroup.cgroup_id))
        }
        _ => Ok(()),
    }
}

/// Two protocols cannot have the same bits of the same packets.
fn check_others(load: &Load) -> Result<()> {
    if !has_ecn_bits(&load.name) {
        return Ok(());
    }
    let own = |program: &&Program| program.ecn_bits && program.name != load.name;
    for other in PROGRAMS.iter().filter(own).map(|program| program.name) {
        let there = Directory::of(other, None).attached();
        if there.iter().any(|at| at.place == load.place && !devices::is_gone(at)) {
            let dev = &load.place.dev;
            return Err(Error::Failed(format!("{dev} has {other}, which uses the same ECN bits")));
        }
    }
    Ok(())
}

/// Loads an object, pins its programs and maps, and registers its congestion control.
fn load_object(
    load: &Load,
    bytes: &[u8],
    directory: &Directory,
    off: Option<&MapHandle>,
) -> Result<()> {
    let whats_wrong = |what: &str, error: libbpf_rs::Error| {
        Error::Failed(format!("{}: {what}: {error:#}", load.name))
    };
    let linked = system::features()?.struct_ops_link;
    let mut open = ObjectBuilder::default()
        .name(load.name.replace('-', "_"))
        .and_then(|builder| builder.open_memory(bytes))
        .map_err(|error| whats_wrong("cannot be read", error))?;
    registration::prepare(&mut open, linked);
    switch::prepare(&mut open, off).map_err(|error| whats_wrong("the kill switch", error))?;
    let mut object =
        open.load().map_err(|error| whats_wrong("the kernel does not take it", error))?;
    for mut map in object.maps_mut() {
        let kept = switch::keep(&mut map, directory);
        kept.map_err(|error| whats_wrong("the kill switch", error))?;
    }
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
        } else if ["config", "gauges", "counters", "host"].contains(&name.as_str()) {
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
        // Capacity [bytes/s], and the link's number.
        Some(rate) => {
            let link = load.link.map_or_else(system::random_link, Ok)?;
            [(rate / 8).to_ne_bytes(), u64::from(link).to_ne_bytes()].concat()
        }
        // The window, and 0 for the default number of RTTs until Reno takes over.
        None => [load.initial_window.to_ne_bytes(), 0_u32.to_ne_bytes()].concat(),
    };
    map.update(&0_u32.to_ne_bytes(), &value, MapFlags::ANY).map_err(wrong)
}

fn attach(load: &Load, directory: &Directory) -> Result<()> {
    let place = &load.place;
    if !system::enter(place)? {
        return Err(absent(place));
    }
    let device = system::device(&place.dev)?.ok_or_else(|| absent(place))?;
    if has_ecn_bits(&load.name) {
        system::check_ecn()?;
    }
    let limited = if is_per_packet(&load.name) { gso::limit(place, &device) } else { Ok(()) };
    let attached = limited.and_then(|()| {
        let directions = directions(directory);
        directions.iter().try_for_each(|at| devices::attach(directory, place, &device, at))
    });
    let Err(error) = attached else { return Ok(()) };
    // Half of it is worse than nothing.
    match take_off(directory, place).and_then(|()| restore(place)) {
        Ok(_) => Err(error),
        Err(left) => Err(Error::Failed(format!(
            "{}; and taking it off again: {}",
            error.message(),
            left.message()
        ))),
    }
}

/// The directions that an object has programs for: protocols with an option of their own have
/// nothing to do at egress, and a router only there.
fn directions(directory: &Directory) -> Vec<&'static str> {
    let there = |direction: &&str| directory.pin(&format!("{direction}_raw")).exists();
    ["ingress", "egress"].into_iter().filter(there).collect()
}

/// Takes an object off a device, as far as that goes.
fn take_off(directory: &Directory, place: &Place) -> Result<()> {
    let mine = directory.attached().into_iter().filter(|at| at.place == *place);
    mine.map(|at| devices::detach(&at)).fold(Ok(()), Result::and)
}

/// The device as it was, unless a protocol is there that needs one packet per buffer.
fn restore(place: &Place) -> Result<bool> {
    // By number: since it got another name the next protocol was loaded with that one.
    let index = gso::index(place);
    let is_there = |at: &Attached| {
        let same = at.place == *place
            || (at.place.netns == place.netns && index.is_some() && devices::index(at) == index);
        same && !devices::is_gone(at)
    };
    let needs = |directory: &Directory| {
        is_per_packet(&directory.object()) && directory.attached().iter().any(is_there)
    };
    if Directory::all().iter().any(needs) { Ok(false) } else { gso::restore(place) }
}

fn absent(place: &Place) -> Error {
    Error::Failed(format!("no device {} in {}", place.dev, where_is(place)))
}

/// Is all of it on its device?
pub fn is_whole(load: &Load) -> bool {
    let router = is_router(&load.name);
    let directory = Directory::of(&load.name, router.then_some(&load.place));
    let attached = directory.attached();
    let mine = attached.iter().filter(|at| at.place == load.place && !devices::is_gone(at));
    (router || registration::is_there(&directory))
        && mine.count() == directions(&directory).len().max(1)
}

/// A place in words.
pub fn where_is(place: &Place) -> String {
    place.netns.as_ref().map_or("this network namespace".to_owned(), |name| format!("netns {name}"))
}

/// Removes links whose device is gone, what was left half loaded, and objects whose last device is
/// gone; gives devices back what they had.
fn cleanup() -> Result<()> {
    let mut failed = Vec::new();
    let mut done = |what: String, result: Result<bool>| match result {
        Ok(true) => println!("{what}"),
        Ok(false) => {}
        Err(error) => failed.push(format!("{what}: {}", error.message())),
    };
    for directory in Directory::all() {
        let object = directory.object();
        let wanted = directions(&directory).len();
        let all = directory.attached();
        let whole = |at: &Attached| {
            !devices::is_gone(at)
                && all.iter().filter(|one| one.place == at.place).count() == wanted
        };
        for attached in all.iter().filter(|at| !whole(at)) {
            let place = &attached.place;
            let what = format!("{object} on {} in {}", place.dev, where_is(place));
            done(what, devices::detach(attached).map(|()| true));
        }
        if directory.attached().is_empty() {
            done(object, registration::remove(&directory).map(|()| true));
        }
    }
    for place in gso::kept() {
        let what = format!("gso_max_segs of {} in {}", place.dev, where_is(&place));
        done(what, restore(&place));
    }
    done("what was half kept of a device".to_owned(), gso::tidy().map(|()| false));
    if failed.is_empty() { Ok(()) } else { Err(Error::Failed(failed.join("; "))) }
}

/// Removes what is named; an object without devices goes with its last one.
fn unload(name: Option<&str>, place: Option<&Place>) -> Result<()> {
    let named = |directory: &Directory| name.is_none_or(|name| directory.object() == name);
    // A device that has got another name since something was kept of it.
    let mut numbers = Vec::new();
    for directory in Directory::all().into_iter().filter(named) {
        let (mine, others): (Vec<_>, Vec<_>) = directory
            .attached()
            .into_iter()
            .partition(|attached| place.is_none_or(|place| attached.place == *place));
        for attached in &mine {
            numbers.extend(devices::index(attached));
            devices::detach(attached)?;
        }
        if others.is_empty() {
            registration::remove(&directory)?;
        }
    }
    let is_its = |kept: &Place, place: &Place| {
        let number = gso::index(kept);
        kept == place
            || (kept.netns == place.netns && number.is_some_and(|number| numbers.contains(&number)))
    };
    let mut given = gso::kept().into_iter();
    given.try_for_each(|kept| match place {
        Some(place) if !is_its(&kept, place) => Ok(()),
        _ => restore(&kept).map(drop),
    })?;
    gso::tidy()
}

//! The kill switch: one map that all objects share, and a file, so that what is loaded while it is
//! off starts so.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use libbpf_rs::{MapCore, MapFlags, MapHandle, MapMut, OpenObject};

use crate::pins::Directory;
use crate::{Error, Result};

/// The map's name, and that of its pin in each object's directory.
const MAP: &str = "off";
const KEY: [u8; 4] = [0; 4];
/// There while it is off; it outlives the service, but no reboot.
const FILE: &str = "/run/clearpipe-bpf.off";

fn pins() -> Vec<PathBuf> {
    Directory::all().iter().map(|directory| directory.pin(MAP)).collect()
}

/// Is it off?
pub fn is_off() -> bool {
    Path::new(FILE).exists()
}

/// The map of the objects that are loaded, for one that is about to be.
pub fn shared() -> Option<MapHandle> {
    pins().iter().find_map(|pin| MapHandle::from_pinned_path(pin).ok())
}

/// Before loading: the object gets the others' map.
pub fn prepare(object: &mut OpenObject, shared: Option<&MapHandle>) -> libbpf_rs::Result<()> {
    use std::os::fd::AsFd;

    let map = object.maps_mut().find(|map| map.name() == MAP);
    match (map, shared) {
        (Some(mut map), Some(shared)) => map.reuse_fd(shared.as_fd()),
        _ => Ok(()),
    }
}

/// After loading, before anything is attached.
pub fn keep(map: &mut MapMut<'_>, directory: &Directory) -> libbpf_rs::Result<()> {
    if map.name() != MAP {
        return Ok(());
    }
    map.update(&KEY, &u32::from(is_off()).to_ne_bytes(), MapFlags::ANY)?;
    map.pin(directory.pin(MAP))
}

/// Switches what is loaded, and says what it was.
pub fn set(off: bool) -> Result<Vec<String>> {
    let wrong = |error: std::io::Error| Error::Failed(format!("{FILE}: {error}"));
    if off {
        File::create(FILE).map_err(wrong)?;
    } else {
        match fs::remove_file(FILE) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(wrong(error)),
            _ => {}
        }
    }
    let (mut done, mut failed) = (Vec::new(), Vec::new());
    for directory in Directory::all() {
        let name = directory.object();
        let map = MapHandle::from_pinned_path(directory.pin(MAP));
        let value = u32::from(off).to_ne_bytes();
        match map.and_then(|map| map.update(&KEY, &value, MapFlags::ANY)) {
            Ok(()) => done.push(name),
            Err(error) => failed.push(format!("{name} ({error:#})")),
        }
    }
    match failed[..] {
        [] => Ok(done),
        // One of an older version, or one that is half loaded.
        _ => Err(Error::Failed(format!("cannot be switched: {}", failed.join(", ")))),
    }
}

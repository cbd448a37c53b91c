//! A congestion control's registration.
//!
//! From Linux 6.4 on it is a link: pinned it stays, and without a pin it goes with the loader.
//! Before, it is an entry of the struct_ops map that stays until it is deleted, so the map is
//! pinned before it is registered.

use std::fs;

use libbpf_rs::{MapCore, MapHandle, MapMut, MapType, OpenObject};

use crate::pins::Directory;
use crate::{Error, Result};

const LINK: &str = "cc";
const MAP: &str = "cc_map";
/// The map while it is being registered.
const MAP_NEW: &str = "cc_new";

/// Is it registered, as far as the pins know?
pub fn is_there(directory: &Directory) -> bool {
    [LINK, MAP].iter().any(|name| directory.pin(name).exists())
}

/// Before loading: kernels without such links know no such flag.
pub fn prepare(object: &mut OpenObject, linked: bool) {
    for mut map in object.maps_mut() {
        if map.map_type() == MapType::StructOps && !linked {
            let _ = map.set_map_flags(0);
        }
    }
}

/// Registers it and pins what holds it.
pub fn register(map: &mut MapMut<'_>, directory: &Directory, linked: bool) -> Result<()> {
    let wrong = |error: libbpf_rs::Error| {
        let name = directory.object();
        Error::Failed(format!("{name}: registering it (is one of its name there?): {error:#}"))
    };
    if linked {
        return map
            .attach_struct_ops()
            .and_then(|mut link| link.pin(directory.pin(LINK)))
            .map_err(wrong);
    }
    map.pin(directory.pin(MAP_NEW)).map_err(wrong)?;
    map.attach_struct_ops().map_err(wrong)?.disconnect();
    fs::rename(directory.pin(MAP_NEW), directory.pin(MAP))
        .map_err(|error| Error::Failed(format!("{MAP}: {error}")))
}

/// Ends a registration and removes all pins.
pub fn remove(directory: &Directory) -> Result<()> {
    for name in [MAP, MAP_NEW] {
        if let Ok(map) = MapHandle::from_pinned_path(directory.pin(name)) {
            // Fails where it was not registered yet.
            let _ = map.delete(&0_u32.to_ne_bytes());
        }
    }
    directory.remove()
}

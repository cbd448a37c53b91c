//! One packet per buffer at TC, for the protocols that write every packet by itself. What a device
//! had before is pinned beside the objects, as a map of one number, until its last such protocol
//! goes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType};

use crate::args::Place;
use crate::pins::{self, entries, unpin};
use crate::system::BPFFS;
use crate::{Error, Result, devices};

const KEY: [u8; 4] = [0; 4];

fn root() -> PathBuf {
    Path::new(BPFFS).join("clearpipe-gso")
}

fn pin(place: &Place) -> PathBuf {
    root().join(pins::name(place))
}

/// The devices that something is kept of.
pub fn kept() -> Vec<Place> {
    let names = entries(&root()).into_iter();
    let mut places: Vec<_> =
        names.filter_map(|path| pins::place(&path.file_name()?.to_string_lossy())).collect();
    places.sort_by_key(pins::name);
    places
}

/// Keeps what the device has and sets it to one; the process is in the device's namespace.
pub fn limit(place: &Place) -> Result<()> {
    let now = get(&place.dev)?;
    // One already: by another protocol, which has kept what was before, or by its owner.
    if now == 1 {
        return Ok(());
    }
    keep(place, now)?;
    set(&place.dev, 1)
}

fn keep(place: &Place, segments: u32) -> Result<()> {
    let path = pin(place);
    let wrong = |error: libbpf_rs::Error| Error::Failed(format!("{}: {error:#}", path.display()));
    if let Ok(map) = MapHandle::from_pinned_path(&path) {
        return map.update(&KEY, &segments.to_ne_bytes(), MapFlags::ANY).map_err(wrong);
    }
    fs::create_dir_all(root())
        .map_err(|error| Error::Failed(format!("{}: {error}", root().display())))?;
    let options = libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_sys::bpf_map_create_opts>() as libbpf_sys::size_t,
        ..Default::default()
    };
    let mut map =
        MapHandle::create(MapType::Array, Some("gso"), 4, 4, 1, &options).map_err(wrong)?;
    map.update(&KEY, &segments.to_ne_bytes(), MapFlags::ANY).map_err(wrong)?;
    map.pin(&path).map_err(wrong)
}

/// The device as it was, if it is still there; true if something was kept of it.
pub fn restore(place: &Place) -> Result<bool> {
    let path = pin(place);
    if !path.exists() {
        return Ok(false);
    }
    let wrong = |what: &str| Error::Failed(format!("{}: {what}", path.display()));
    let map = MapHandle::from_pinned_path(&path).map_err(|error| wrong(&format!("{error:#}")))?;
    let value = map.lookup(&KEY, MapFlags::ANY).map_err(|error| wrong(&format!("{error:#}")))?;
    let value = value.and_then(|bytes| bytes.try_into().ok());
    let segments = u32::from_ne_bytes(value.ok_or_else(|| wrong("holds no number"))?);
    let given = devices::inside(place, |_| match get(&place.dev)? {
        1 => set(&place.dev, segments),
        // Somebody has set it since.
        _ => Ok(()),
    });
    // A device may go meanwhile.
    if given.is_err() && devices::inside(place, |_| Ok(()))? {
        given?;
    }
    unpin(&path)?;
    // The last one takes the directory along.
    let _ = fs::remove_dir(root());
    Ok(true)
}

fn ip(arguments: &[&str]) -> Result<String> {
    let done = Command::new("ip")
        .args(arguments)
        .output()
        .map_err(|_| Error::Missing("`ip` (package iproute2) is needed".to_owned()))?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&done.stderr).trim().to_owned();
    Err(Error::Failed(format!("ip {}: {said}", arguments.join(" "))))
}

/// What a device has, in this network namespace.
fn get(dev: &str) -> Result<u32> {
    let told = ip(&["-d", "link", "show", "dev", dev])?;
    gso_max_segs(&told)
        .ok_or_else(|| Error::Failed(format!("`ip -d link show dev {dev}` tells no gso_max_segs")))
}

fn gso_max_segs(told: &str) -> Option<u32> {
    told.split_whitespace().skip_while(|&word| word != "gso_max_segs").nth(1)?.parse().ok()
}

fn set(dev: &str, segments: u32) -> Result<()> {
    ip(&["link", "set", "dev", dev, "gso_max_segs", &segments.to_string()]).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ip_tells_is_read() {
        // iproute2 6.1
        let told = "2: v0@if3: <BROADCAST> mtu 1500\n    link/ether 0e:aa:bb:cc:dd:ee promiscuity 0 \
                    minmtu 68 maxmtu 65535 \n    veth numtxqueues 1 gso_max_size 65536 \
                    gso_max_segs 4096 tso_max_size 524280\n";
        assert_eq!(gso_max_segs(told), Some(4096));
        assert_eq!(gso_max_segs("2: v0: mtu 1500"), None);
    }
}

//! One packet per buffer at TC, for the protocols that write every packet by itself. What a device
//! had before is pinned beside the objects until its last such protocol goes, with the device's
//! number: its name may have become another by then.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::args::Place;
use crate::pins::{self, entries, unpin};
use crate::system::{self, BPFFS, Device};
use crate::{Error, Result, devices, note};

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
pub fn limit(place: &Place, device: &Device) -> Result<()> {
    let now = get(&place.dev)?;
    // One already: by another protocol, which has kept what was before, or by its owner.
    if now == 1 {
        return Ok(());
    }
    keep(place, device, now)?;
    set(&place.dev, 1)
}

fn keep(place: &Place, device: &Device, segments: u32) -> Result<()> {
    fs::create_dir_all(root())
        .map_err(|error| Error::Failed(format!("{}: {error}", root().display())))?;
    let index = device.index.to_ne_bytes();
    note::write(&pin(place), &[segments.to_ne_bytes(), index].concat())
}

/// What a device had, and its number; a loader before this one kept none.
struct Kept {
    segments: u32,
    index: Option<i32>,
}

impl Kept {
    fn read(place: &Place) -> Result<Option<Kept>> {
        let path = pin(place);
        let Some(bytes) = note::read(&path)? else { return Ok(None) };
        let word = |at: usize| bytes.get(at..at + 4).and_then(<[u8]>::first_chunk).copied();
        let Some(segments) = word(0) else {
            return Err(Error::Failed(format!("{}: holds no number", path.display())));
        };
        let index = word(4).map(i32::from_ne_bytes);
        Ok(Some(Kept { segments: u32::from_ne_bytes(segments), index }))
    }

    /// The name of the device now, if it is still there.
    fn dev(&self, place: &Place) -> Result<Option<String>> {
        let found = devices::within(place, || match self.index {
            Some(index) => system::device_name(index),
            None => Ok(system::device(&place.dev)?.map(|_| place.dev.clone())),
        });
        Ok(found?.flatten())
    }
}

/// The number of the device that something is kept of.
pub fn index(place: &Place) -> Option<i32> {
    Kept::read(place).ok().flatten()?.index
}

/// The device as it was, if it is still there, whatever its name is now; true if something was kept
/// of it.
pub fn restore(place: &Place) -> Result<bool> {
    let Some(kept) = Kept::read(place)? else { return Ok(false) };
    if let Some(dev) = kept.dev(place)? {
        let given = devices::within(place, || match get(&dev)? {
            1 => set(&dev, kept.segments),
            // Somebody has set it since.
            _ => Ok(()),
        });
        // A device may go, or get another name, meanwhile.
        if given.is_err() && kept.dev(place)?.is_some_and(|now| now == dev) {
            given?;
        }
    }
    unpin(&pin(place))?;
    tidy()?;
    Ok(true)
}

/// Removes what was not kept to its end; the last that is kept takes the directory along.
pub fn tidy() -> Result<()> {
    note::tidy(&root())?;
    let _ = fs::remove_dir(root());
    Ok(())
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

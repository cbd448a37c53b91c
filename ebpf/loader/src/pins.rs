//! What is pinned, and under which names.
//!
//! ```text
//! /sys/fs/bpf/clearpipe/OBJECT/PROGRAM        programs, to attach them to further devices
//!                              MAP            what can be set or read
//!                              cc             the congestion control's registration (a link)
//!                              cc_map         the same before Linux 6.4 (a map)
//!                              cgroup         sock_ops in a cgroup
//!                              build          the version and digest of the loader (a note)
//!                              links/NETNS:DEV:DIRECTION   before Linux 6.6 the program itself
//! ```
//! A protocol's end host is one OBJECT, its name; a router is one per device, NAME@NETNS:DEV. The
//! namespace of the caller is `+`, and `.` is written `=` (bpffs allows no dots). What devices were
//! before is beside it: /sys/fs/bpf/clearpipe-gso/NETNS:DEV.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::args::Place;
use crate::system::BPFFS;
use crate::{Error, Result};

/// The directory of everything.
pub fn root() -> PathBuf {
    Path::new(BPFFS).join("clearpipe")
}

/// A place as part of a name.
pub fn name(place: &Place) -> String {
    format!("{}:{}", place.netns.as_deref().unwrap_or("+"), place.dev).replace('.', "=")
}

/// The place of a name.
pub fn place(name: &str) -> Option<Place> {
    let plain = name.replace('=', ".");
    let (netns, dev) = plain.split_once(':')?;
    let netns = (netns != "+").then(|| netns.to_owned());
    Some(Place { netns, dev: dev.to_owned() })
}

/// An object's directory.
#[derive(Clone, Debug)]
pub struct Directory(pub PathBuf);

/// A pinned link to a device.
#[derive(Clone, Debug)]
pub struct Attached {
    /// The pin.
    pub path: PathBuf,
    /// The device.
    pub place: Place,
    /// ingress or egress.
    pub direction: String,
}

impl Directory {
    /// Of an end host, or of a router on a device.
    pub fn of(name: &str, router_at: Option<&Place>) -> Directory {
        let file = match router_at {
            Some(place) => format!("{name}@{}", self::name(place)),
            None => name.to_owned(),
        };
        Directory(root().join(file))
    }

    /// The one that a link is pinned in.
    pub fn holding(link: &Path) -> Directory {
        Directory(link.ancestors().nth(2).unwrap_or(link).to_owned())
    }

    /// All there are.
    pub fn all() -> Vec<Directory> {
        let mut all: Vec<_> = entries(&root()).into_iter().map(Directory).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }

    /// The protocol or router.
    pub fn object(&self) -> String {
        let file = self.0.file_name().unwrap_or_default().to_string_lossy();
        file.split('@').next().unwrap_or_default().to_owned()
    }

    /// A pin in it.
    pub fn pin(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The pin of a link.
    pub fn link(&self, place: &Place, direction: &str) -> PathBuf {
        self.0.join("links").join(format!("{}:{direction}", name(place)))
    }

    /// The links to devices.
    pub fn attached(&self) -> Vec<Attached> {
        let mut found: Vec<_> = entries(&self.0.join("links"))
            .into_iter()
            .filter_map(|path| {
                let file = path.file_name()?.to_string_lossy().into_owned();
                let (device, direction) = file.rsplit_once(':')?;
                let place = place(device)?;
                Some(Attached { path: path.clone(), place, direction: direction.to_owned() })
            })
            .collect();
        found.sort_by(|a, b| a.path.cmp(&b.path));
        found
    }

    /// Makes it, empty.
    pub fn create(&self) -> Result<()> {
        let links = self.0.join("links");
        fs::create_dir_all(&links)
            .map_err(|error| Error::Failed(format!("{}: {error}", links.display())))
    }

    /// Removes it with all pins: links first, so that nothing runs any more.
    pub fn remove(&self) -> Result<()> {
        let links = self.0.join("links");
        let mut pins = entries(&links);
        pins.extend(entries(&self.0).into_iter().filter(|path| *path != links));
        pins.iter().try_for_each(|pin| unpin(pin))?;
        for directory in [&links, &self.0] {
            ignore_absent(fs::remove_dir(directory), directory)?;
        }
        // The last one takes the root along.
        let _ = fs::remove_dir(root());
        Ok(())
    }
}

/// Removes a pin; what is absent is removed already.
pub fn unpin(path: &Path) -> Result<()> {
    ignore_absent(fs::remove_file(path), path)
}

fn ignore_absent(result: std::io::Result<()>, path: &Path) -> Result<()> {
    match result {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(Error::Failed(format!("{}: {error}", path.display())))
        }
        _ => Ok(()),
    }
}

/// What is in a directory; nothing if it is not there.
pub fn entries(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_places_and_back() {
        let here = Place { netns: None, dev: "eth0.100".to_owned() };
        let there = Place { netns: Some("clearpipe-1-2-s0".to_owned()), dev: "cp0".to_owned() };
        assert_eq!(name(&here), "+:eth0=100");
        for at in [here, there] {
            assert!(!name(&at).contains(['.', '/']));
            assert_eq!(place(&name(&at)), Some(at.clone()));
            let router = Directory::of("vcp-router", Some(&at));
            assert_eq!(router.object(), "vcp-router");
            let link = router.link(&at, "egress");
            assert_eq!(Directory::holding(&link).0, router.0);
        }
    }
}

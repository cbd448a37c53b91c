//! Bytes that outlive the loader: the value of a map that is pinned.

use std::path::Path;

use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType};

use crate::{Error, Result};

const KEY: [u8; 4] = [0; 4];

/// Pins bytes at a path, instead of what was there.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let wrong = |error: libbpf_rs::Error| Error::Failed(format!("{}: {error:#}", path.display()));
    crate::pins::unpin(path)?;
    let options = libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_sys::bpf_map_create_opts>() as libbpf_sys::size_t,
        ..Default::default()
    };
    let size = bytes.len() as u32; // a few words
    let map = MapHandle::create(MapType::Array, Some("note"), 4, size, 1, &options);
    let mut map = map.map_err(wrong)?;
    map.update(&KEY, bytes, MapFlags::ANY).map_err(wrong)?;
    map.pin(path).map_err(wrong)
}

/// The bytes that are pinned at a path, if any are.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    if !path.exists() {
        return Ok(None);
    }
    let wrong = |error: libbpf_rs::Error| Error::Failed(format!("{}: {error:#}", path.display()));
    let map = MapHandle::from_pinned_path(path).map_err(wrong)?;
    map.lookup(&KEY, MapFlags::ANY).map_err(wrong)
}

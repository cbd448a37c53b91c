//! Bytes that outlive the loader: the value of a map that is pinned.

use std::fs;
use std::path::{Path, PathBuf};

use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType};

use crate::{Error, Result};

const KEY: [u8; 4] = [0; 4];

/// The name of a note that is not in its place yet, in the same directory: no place has it.
const UNFINISHED: &str = "unfinished";

fn unfinished(directory: &Path) -> PathBuf {
    directory.join(UNFINISHED)
}

/// Pins bytes at a path, in one step instead of what was there: whoever reads meanwhile, or after
/// the loader was killed, finds the old bytes or the new ones. bpffs is memory: there is nothing to
/// flush.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let wrong = |error: libbpf_rs::Error| Error::Failed(format!("{}: {error:#}", path.display()));
    let beside = unfinished(path.parent().unwrap_or(path));
    crate::pins::unpin(&beside)?;
    let options = libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_sys::bpf_map_create_opts>() as libbpf_sys::size_t,
        ..Default::default()
    };
    let size = bytes.len() as u32; // a few words
    let map = MapHandle::create(MapType::Array, Some("note"), 4, size, 1, &options);
    let mut map = map.map_err(wrong)?;
    map.update(&KEY, bytes, MapFlags::ANY).map_err(wrong)?;
    map.pin(&beside).map_err(wrong)?;
    fs::rename(&beside, path).map_err(|error| Error::Failed(format!("{}: {error}", path.display())))
}

/// Removes what a loader that was killed while it wrote has left in a directory.
pub fn tidy(directory: &Path) -> Result<()> {
    crate::pins::unpin(&unfinished(directory))
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::system;

    /// A directory of bpffs for one test; `None` without the rights to make one.
    struct Own(PathBuf);

    impl Own {
        fn new(name: &str) -> Option<Own> {
            let directory = Path::new(system::BPFFS)
                .join(format!("clearpipe-note-{name}-{}", std::process::id()));
            if system::prepare().is_err() || fs::create_dir(&directory).is_err() {
                eprintln!("skipped: no BPF here");
                return None;
            }
            Some(Own(directory))
        }
    }

    impl Drop for Own {
        fn drop(&mut self) {
            for pin in crate::pins::entries(&self.0) {
                let _ = fs::remove_file(pin);
            }
            let _ = fs::remove_dir(&self.0);
        }
    }

    #[test]
    fn a_note_that_cannot_be_written_leaves_the_old_one() {
        let Some(own) = Own::new("old") else { return };
        let path = own.0.join("n");
        write(&path, b"four").expect("the first");
        // The kernel has no maps of values without bytes.
        assert!(write(&path, b"").is_err());
        assert_eq!(read(&path).expect("a note"), Some(b"four".to_vec()));
    }

    #[test]
    fn what_a_killed_loader_left_is_in_nobodys_way() {
        let Some(own) = Own::new("left") else { return };
        let (path, left) = (own.0.join("n"), own.0.join(UNFINISHED));
        write(&left, b"left").expect("what was left");
        assert_eq!(crate::pins::place(UNFINISHED), None);
        write(&path, b"mine").expect("a note");
        assert_eq!((read(&path).expect("it"), left.exists()), (Some(b"mine".to_vec()), false));
        write(&left, b"left").expect("what was left");
        tidy(&own.0).expect("tidy");
        assert!(path.exists() && !left.exists());
    }

    #[test]
    fn a_reader_finds_the_old_bytes_or_the_new_ones() {
        let Some(own) = Own::new("reader") else { return };
        let path = own.0.join("n");
        // Longer than a word, so that one that is half written would show.
        let values = [[0x11_u8; 256], [0xee_u8; 256]];
        write(&path, &values[0]).expect("the first");
        let done = AtomicBool::new(false);
        let looks = std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut looks = 0;
                while !done.load(Ordering::Relaxed) {
                    let found = read(&path).expect("readable").expect("always there");
                    assert!(values.iter().any(|value| found == *value), "{found:02x?}");
                    looks += 1;
                }
                looks
            });
            for turn in 0..300 {
                write(&path, &values[turn % 2]).expect("the next");
            }
            done.store(true, Ordering::Relaxed);
            reader.join().expect("the reader")
        });
        assert!(looks > 10, "looked {looks} times only");
    }
}

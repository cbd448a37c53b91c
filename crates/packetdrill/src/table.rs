//! Runs a folder of scripts and says what came of them.

use std::path::{Path, PathBuf};

use crate::run::{Verdict, run};

/// The scripts in a folder and all folders in it, by their paths in it, in order.
///
/// # Errors
/// A folder that cannot be read.
pub fn scripts(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let (mut found, mut open) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next)? {
            let path = entry?.path();
            // Not through links: they may lead back.
            if path.is_dir() && !path.is_symlink() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "pkt") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Runs the script in a file.
///
/// # Errors
/// A file that cannot be read.
pub fn run_file(path: &Path) -> std::io::Result<Verdict> {
    let text = std::fs::read_to_string(path)?;
    Ok(run(&text, path.parent().unwrap_or(Path::new("."))))
}

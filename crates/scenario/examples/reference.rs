//! Writes the reference of the scenario file into a folder: `reference docs/reference`.

use std::path::PathBuf;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = PathBuf::from(env::args().nth(1).unwrap_or_else(|| "docs/reference".to_owned()));
    fs::create_dir_all(folder.join("scenario"))?;
    for (path, text) in clearpipe_scenario::reference_pages() {
        fs::write(folder.join(path), text)?;
    }
    Ok(())
}

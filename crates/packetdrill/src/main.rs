//! `clearpipe-packetdrill FOLDER`: runs the scripts in a folder and prints a table.

use std::path::Path;
use std::process::ExitCode;

use clearpipe_packetdrill::Verdict;
use clearpipe_packetdrill::table::{run_file, scripts};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder] = arguments.as_slice() else {
        eprintln!("usage: clearpipe-packetdrill FOLDER");
        return ExitCode::from(2);
    };
    let folder = Path::new(folder);
    let paths = match scripts(folder) {
        Ok(paths) => paths,
        Err(error) => {
            eprintln!("{}: {error}", folder.display());
            return ExitCode::from(2);
        }
    };
    let mut bad = false;
    for path in paths {
        let name = path.strip_prefix(folder).unwrap_or(&path).display();
        match run_file(&path) {
            Ok(verdict) => {
                bad |= matches!(verdict, Verdict::Bad { .. });
                println!("{name}: {verdict}");
            }
            Err(error) => {
                bad = true;
                println!("{name}: {error}");
            }
        }
    }
    ExitCode::from(u8::from(bad))
}

//! Runs a folder of scripts and says what came of them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::run::{Verdict, run};

/// The scripts in a folder and all folders in it, in the order of their paths; of a file, itself.
///
/// # Errors
/// A folder that cannot be read, or has no script.
pub fn scripts(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    if folder.is_file() {
        return Ok(vec![folder.to_path_buf()]);
    }
    let (mut found, mut open) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next)? {
            let path = entry?.path();
            // Not through links: they may lead back.
            if path.is_dir() && !path.is_symlink() {
                open.push(path);
            } else if path.is_file() && path.extension().is_some_and(|end| end == "pkt") {
                found.push(path);
            }
        }
    }
    if found.is_empty() {
        return Err(std::io::Error::other("there is no .pkt file in it"));
    }
    found.sort();
    Ok(found)
}

/// Runs the script in a file.
///
/// # Errors
/// A file that cannot be read.
pub fn run_file(path: &Path) -> std::io::Result<Verdict> {
    let Ok(text) = String::from_utf8(std::fs::read(path)?) else {
        return Ok(Verdict::Bad { line: 1, message: "the file is not UTF-8 text".to_owned() });
    };
    Ok(run(&text, path.parent().unwrap_or(Path::new("."))))
}

/// Why scripts do not pass, by their paths' ends.
pub type Reasons = BTreeMap<String, String>;

/// Reads reasons: TOML, a table `why` of scripts with a text for each.
///
/// # Errors
/// Text that is no such table.
pub fn reasons(text: &str) -> Result<Reasons, String> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
    let Some(toml::Value::Table(why)) = table.get("why") else {
        return Err("there is no table `why`".to_owned());
    };
    let pairs = why.iter().map(|(script, reason)| match reason.as_str() {
        Some(reason) => Ok((script.clone(), reason.to_owned())),
        None => Err(format!("why.{script}: expected a text")),
    });
    pairs.collect()
}

/// A page's table: of each script its path, what came of it, and why it is not a pass.
///
/// # Errors
/// A reason for a script that passes or is not there; a script that does not pass and has none.
pub fn markdown(verdicts: &[(String, Verdict)], reasons: &Reasons) -> Result<String, String> {
    let passes = |verdict: &Verdict| matches!(verdict, Verdict::Pass { .. });
    for name in reasons.keys() {
        match verdicts.iter().find(|(script, _)| script == name) {
            None => return Err(format!("why.{name}: there is no such script")),
            Some((_, verdict)) if passes(verdict) => {
                return Err(format!("why.{name}: the script passes"));
            }
            Some(_) => {}
        }
    }
    let mut table = String::from("| script | verdict | why |\n|---|---|---|\n");
    for (script, verdict) in verdicts {
        let why = match reasons.get(script) {
            Some(why) => why.as_str(),
            None if passes(verdict) => "",
            None => return Err(format!("{script} has no reason: {verdict}")),
        };
        let told = verdict.to_string().replace('|', "\\|");
        // Writing to a String cannot fail.
        let _ = writeln!(table, "| `{script}` | {told} | {} |", why.trim());
    }
    Ok(table)
}

/// How many there are of each kind, in words.
pub fn sums(verdicts: &[(String, Verdict)]) -> String {
    let mut counts = [0; 4];
    for (_, verdict) in verdicts {
        counts[match verdict {
            Verdict::Pass { .. } => 0,
            Verdict::Differs { .. } => 1,
            Verdict::NotApplicable { .. } => 2,
            Verdict::Bad { .. } => 3,
        }] += 1;
    }
    let [pass, differ, beyond, bad] = counts;
    let total = verdicts.len();
    format!("{total} scripts: {pass} pass, {differ} differ, {beyond} not applicable, {bad} bad")
}

//! `clearpipe-packetdrill FOLDER...`: runs the scripts in folders, or single ones, and prints what
//! came of them.
//!
//! With `--page FILE --why FILE --source TEXT` it writes the table into a page as well, between its
//! two marks, with the reasons of a TOML file and the name of the scripts' source.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clearpipe_packetdrill::Verdict;
use clearpipe_packetdrill::table::{markdown, reasons, run_file, scripts, sums};

const USAGE: &str =
    "usage: clearpipe-packetdrill FOLDER|FILE... [--page FILE --why FILE --source TEXT]";
/// What is between them is written here.
const MARKS: [&str; 2] = ["<!-- packetdrill: begin -->\n", "<!-- packetdrill: end -->"];

#[derive(Default)]
struct Arguments {
    folders: Vec<PathBuf>,
    page: Option<String>,
    why: Option<String>,
    source: Option<String>,
}

fn arguments() -> Result<Arguments, String> {
    let mut given = Arguments::default();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let place = match word.as_str() {
            "--page" => &mut given.page,
            "--why" => &mut given.why,
            "--source" => &mut given.source,
            option if option.starts_with("--") => return Err(format!("{option}: {USAGE}")),
            _ => {
                given.folders.push(PathBuf::from(word));
                continue;
            }
        };
        *place = Some(words.next().ok_or_else(|| format!("{word} needs a value: {USAGE}"))?);
    }
    if given.folders.is_empty() { Err(USAGE.to_owned()) } else { Ok(given) }
}

/// The verdict of every script, by its path in the folder that all given ones are in.
fn verdicts(folders: &[PathBuf]) -> Result<Vec<(String, Verdict)>, String> {
    let mut all = Vec::new();
    for folder in folders {
        let told = |error: std::io::Error| format!("{}: {error}", folder.display());
        // Of several folders the name of each goes before its scripts'.
        let alone = folders.len() == 1 && folder.is_dir();
        let root = if alone { folder } else { folder.parent().unwrap_or(folder) };
        for path in scripts(folder).map_err(told)? {
            let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            let verdict =
                run_file(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            all.push((name, verdict));
        }
    }
    Ok(all)
}

/// Puts a table into a page.
fn write_page(page: &Path, body: &str) -> Result<(), String> {
    let told = |error: std::io::Error| format!("{}: {error}", page.display());
    let text = std::fs::read_to_string(page).map_err(told)?;
    let parts = text.split_once(MARKS[0]).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(MARKS[1])?;
        Some((before, after))
    });
    let Some((before, after)) = parts else {
        return Err(format!("{}: there is no {} with its end", page.display(), MARKS[0].trim()));
    };
    let new = format!("{before}{}{body}\n{}{after}", MARKS[0], MARKS[1]);
    let beside = page.with_extension("new");
    std::fs::write(&beside, new).map_err(told)?;
    std::fs::rename(&beside, page).map_err(told)
}

fn run() -> Result<bool, String> {
    let given = arguments()?;
    let all = verdicts(&given.folders)?;
    for (script, verdict) in &all {
        println!("{script}: {verdict}");
    }
    println!("{}", sums(&all));
    if let Some(page) = &given.page {
        let (Some(why), Some(source)) = (&given.why, &given.source) else {
            return Err(format!("--page goes with --why and --source: {USAGE}"));
        };
        let text = std::fs::read_to_string(why).map_err(|error| format!("{why}: {error}"))?;
        let reasons = reasons(&text).map_err(|error| format!("{why}: {error}"))?;
        let table = markdown(&all, &reasons)?;
        write_page(Path::new(page), &format!("{source}. {}.\n\n{table}", sums(&all)))?;
    }
    Ok(all.iter().any(|(_, verdict)| matches!(verdict, Verdict::Bad { .. })))
}

fn main() -> ExitCode {
    if std::env::args().skip(1).any(|word| word == "--help" || word == "-h") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    match run() {
        Ok(bad) => ExitCode::from(u8::from(bad)),
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

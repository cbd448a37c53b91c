//! Sources as words: the code without comments, strings and tests.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The code without comments, strings, characters and lifetimes, as words and single signs.
pub fn tokens(source: &str) -> Vec<String> {
    let chars: Vec<char> = source.chars().collect();
    let at = |i: usize| chars.get(i).copied().unwrap_or('\n');
    let mut out = Vec::new();
    let mut i = 0;
    while i < chars.len() {
        let c = chars[i];
        if c == '/' && at(i + 1) == '/' {
            while at(i) != '\n' {
                i += 1;
            }
        } else if c == '/' && at(i + 1) == '*' {
            i += 2;
            while i < chars.len() && !(at(i) == '*' && at(i + 1) == '/') {
                i += 1;
            }
            i += 2;
        } else if c == '"' {
            i += 1;
            while i < chars.len() && at(i) != '"' {
                i += 1 + usize::from(at(i) == '\\');
            }
            i += 1;
        } else if c == '\'' {
            // A character ends with a quote, a lifetime does not.
            let end = (i + 2..i + 5).find(|&j| at(j) == '\'');
            i = match end {
                Some(end) => end + 1,
                None => (i + 1..).find(|&j| !(at(j).is_alphanumeric() || at(j) == '_')).unwrap(),
            };
        } else if c.is_alphanumeric() || c == '_' {
            let end = (i..).find(|&j| !(at(j).is_alphanumeric() || at(j) == '_')).unwrap();
            out.push(chars[i..end].iter().collect());
            i = end;
        } else {
            if !c.is_whitespace() {
                out.push(c.to_string());
            }
            i += 1;
        }
    }
    out
}

/// The source above its test module; an offence when the module is not the end of the file. A
/// module that is a file of its own is read as all others are.
pub fn without_tests(source: &str) -> Result<&str, String> {
    if let Some(code) = source.strip_suffix("\n#[cfg(test)]\nmod tests;\n") {
        return Ok(code);
    }
    let Some((code, tests)) = source.split_once("\n#[cfg(test)]\nmod tests {\n") else {
        return Ok(source);
    };
    match tests.split_once("\n}\n") {
        Some((_, "")) => Ok(code),
        _ => Err("code after the test module".into()),
    }
}

/// The folder of a crate.
pub fn crate_dir(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

/// All files in a folder.
pub fn sources(dir: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else {
            found.insert(path);
        }
    }
}

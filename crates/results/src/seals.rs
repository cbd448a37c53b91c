//! Seals: hashes of a result's files, so that what was changed or cut off afterwards is told. They
//! guard against accidents and edits, not against somebody who writes a new seal.
//!
//! `seal.json` has of each file its size and its hash (BLAKE2b of 128 bits), and a hash of those.
//! Of `meta.json` it is the hash of everything but times, so that equal runs are equal: of the JSON
//! text that Python's `json.dumps(meta, sort_keys=True)` gives.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use blake2b_simd::Params;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::store::StoreError;

/// The file beside those that it seals.
pub const SEAL: &str = "seal.json";

pub(crate) const META: &str = "meta.json";

/// What every result has, whatever of its tables is kept.
const ALWAYS: [&str; 3] = [META, "run.toml", "summary.json"];

/// What depends on the machine and the hour.
const TIMES: [&str; 4] = ["wall_s", "packet_hops_per_s", "peak_rss_bytes", "version"];

/// A file that is not what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Which.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: String,
}

/// Hashes and sizes of a result's files, by their names.
#[derive(Debug, Serialize, Deserialize)]
struct Seal {
    result: String,
    files: BTreeMap<String, String>,
    bytes: BTreeMap<String, u64>,
}

/// What `seal.json` is to say of a result directory.
///
/// # Errors
/// [`StoreError::Io`] for a file that cannot be read.
pub fn seal(dir: &Path) -> Result<String, StoreError> {
    let mut names: Vec<String> = ALWAYS.map(str::to_owned).to_vec();
    names.extend(tables(dir, "")?);
    names.extend(tables(&dir.join("series"), "series/")?);
    let (mut files, mut bytes) = (BTreeMap::new(), BTreeMap::new());
    for name in names {
        let path = dir.join(&name);
        let content = fs::read(&path).map_err(|source| StoreError::Io { path, source })?;
        files.insert(name.clone(), digest(&name, &content));
        bytes.insert(name, content.len() as u64);
    }
    let text = serde_json::to_string(&Seal { result: whole(&files), files, bytes });
    let path = dir.join(SEAL);
    let text = text.map_err(|error| StoreError::Content { path, reason: error.to_string() })?;
    Ok(format!("{text}\n"))
}

/// The tables in a directory, if there is one.
fn tables(dir: &Path, head: &str) -> Result<Vec<String>, StoreError> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|source| StoreError::Io { path: dir.to_owned(), source })?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|source| StoreError::Io { path: dir.to_owned(), source })?;
        if let Some(name) = entry.file_name().to_str().filter(|name| name.ends_with(".parquet")) {
            found.push(format!("{head}{name}"));
        }
    }
    Ok(found)
}

/// The bytes of some files of a result, which are those that were written; without `names`, all
/// that are sealed are compared, and none is given.
///
/// # Errors
/// What is wrong with the first that is something else, or with the seal.
pub fn sealed(dir: &Path, names: Option<&[String]>) -> Result<Vec<Vec<u8>>, Damage> {
    let result = SealedResult::open(dir)?;
    match names {
        Some(names) => names.iter().map(|name| result.content(name)).collect(),
        None => {
            for name in result.seal.files.keys() {
                result.content(name)?;
            }
            Ok(Vec::new())
        }
    }
}

/// A result whose seal is whole.
pub(crate) struct SealedResult<'a> {
    dir: &'a Path,
    seal: Seal,
}

impl SealedResult<'_> {
    pub(crate) fn open(dir: &Path) -> Result<SealedResult<'_>, Damage> {
        Ok(SealedResult { dir, seal: read(dir)? })
    }

    /// The bytes of a file, which are those that were written.
    pub(crate) fn content(&self, name: &str) -> Result<Vec<u8>, Damage> {
        let (content, hash) = self.sized(name)?;
        if digest(name, &content) == hash { Ok(content) } else { Err(self.changed(name)) }
    }

    /// What `meta.json` says but for times, which is what was written.
    pub(crate) fn meta(&self) -> Result<serde_json::Map<String, Value>, Damage> {
        let (content, hash) = self.sized(META)?;
        let meta = lasting(&content).filter(|meta| meta_digest(meta) == hash);
        meta.ok_or_else(|| self.changed(META))
    }

    /// A file as long as the one that was written, and the hash of that.
    fn sized(&self, name: &str) -> Result<(Vec<u8>, &str), Damage> {
        let path = self.dir.join(name);
        let (Some(hash), Some(&size)) = (self.seal.files.get(name), self.seal.bytes.get(name))
        else {
            return Err(Damage { path, reason: "not sealed".to_owned() });
        };
        let content = match fs::read(&path) {
            Ok(content) => content,
            Err(error) => return Err(Damage { path, reason: told(&error) }),
        };
        let found = content.len() as u64;
        if found != size {
            return Err(Damage { path, reason: format!("{found} bytes, {size} written") });
        }
        Ok((content, hash))
    }

    fn changed(&self, name: &str) -> Damage {
        Damage { path: self.dir.join(name), reason: "not the bytes that were written".to_owned() }
    }
}

fn read(dir: &Path) -> Result<Seal, Damage> {
    let path = dir.join(SEAL);
    let damage = |reason: String| Damage { path: path.clone(), reason };
    let text = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(damage("missing".to_owned()));
        }
        text => text.map_err(|error| damage(format!("not readable ({})", told(&error))))?,
    };
    let seal: Seal =
        serde_json::from_slice(&text).map_err(|error| damage(format!("not readable ({error})")))?;
    if seal.result != whole(&seal.files) || !seal.files.keys().eq(seal.bytes.keys()) {
        return Err(damage("not the bytes that were written".to_owned()));
    }
    match ALWAYS.into_iter().find(|name| !seal.files.contains_key(*name)) {
        Some(lacking) => Err(damage(format!("seals no {lacking}"))),
        None => Ok(seal),
    }
}

/// The system's words without its number.
fn told(error: &io::Error) -> String {
    let text = error.to_string();
    text.split_once(" (os error").map_or(text.clone(), |(words, _)| words.to_owned())
}

fn hash(content: &[u8]) -> String {
    Params::new().hash_length(16).hash(content).to_hex().to_string()
}

/// The hash of the hashes.
fn whole(files: &BTreeMap<String, String>) -> String {
    let files = files.iter().map(|(name, hash)| (name.clone(), Value::from(hash.as_str())));
    hash(python_json(&Value::Object(files.collect())).as_bytes())
}

fn digest(name: &str, content: &[u8]) -> String {
    if name != META {
        return hash(content);
    }
    match lasting(content) {
        Some(meta) => meta_digest(&meta),
        None => hash(&[b"not JSON ", content].concat()),
    }
}

/// What a result's `meta.json` says of more than the machine and the hour.
fn lasting(content: &[u8]) -> Option<serde_json::Map<String, Value>> {
    match serde_json::from_slice(content) {
        Ok(Value::Object(mut meta)) => {
            meta.retain(|key, _| !TIMES.contains(&key.as_str()));
            Some(meta)
        }
        _ => None,
    }
}

fn meta_digest(meta: &serde_json::Map<String, Value>) -> String {
    let mut out = String::new();
    write_python_fields(&mut out, meta);
    hash(out.as_bytes())
}

/// What Python's `json.dumps(value, sort_keys=True)` gives.
fn python_json(value: &Value) -> String {
    let mut out = String::new();
    write_python_json(&mut out, value);
    out
}

fn write_python_json(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) if number.is_f64() => {
            write_python_float(out, number.as_f64().unwrap_or_default());
        }
        Value::Number(number) => out.push_str(&number.to_string()),
        Value::String(text) => write_python_text(out, text),
        Value::Array(values) => {
            out.push('[');
            for (i, value) in values.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                write_python_json(out, value);
            }
            out.push(']');
        }
        Value::Object(fields) => write_python_fields(out, fields),
    }
}

fn write_python_fields(out: &mut String, fields: &serde_json::Map<String, Value>) {
    let mut fields: Vec<_> = fields.iter().collect();
    // By code points, as Python compares texts, which is by the bytes of UTF-8, too.
    fields.sort_by_key(|(key, _)| *key);
    out.push('{');
    for (i, (key, value)) in fields.into_iter().enumerate() {
        out.push_str(if i > 0 { ", " } else { "" });
        write_python_text(out, key);
        out.push_str(": ");
        write_python_json(out, value);
    }
    out.push('}');
}

/// What Python's `repr` gives of a finite number.
pub fn write_python_float(out: &mut String, value: f64) {
    let text = Value::from(value).to_string();
    match value.abs() {
        // Here both write the digits with the point among them.
        1e-4..1e16 => out.push_str(&text),
        _ => out.push_str(&python_float(&text)),
    }
}

/// Python's `repr` of a number whose shortest digits, the nearest of them and of two as near the
/// even one, `text` has: with an exponent, of two digits and a sign, below 1e-4 and from 1e16 on.
/// (Rust's own formatting takes the greater of two that are as near.)
fn python_float(text: &str) -> String {
    let (sign, text) = text.strip_prefix('-').map_or(("", text), |text| ("-", text));
    let (number, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let all = format!("{whole}{part}");
    let digits = all.trim_start_matches('0');
    // The number is 0.DIGITS x 10^point.
    let leading = (all.len() - digits.len()) as i32;
    let point = exponent.parse::<i32>().unwrap_or(0) + whole.len() as i32 - leading;
    let digits = digits.trim_end_matches('0');
    let count = digits.len() as i32;
    match point {
        _ if digits.is_empty() => format!("{sign}0.0"),
        1..=16 if point >= count => format!("{sign}{digits:0<0$}.0", point as usize),
        1..=16 => format!("{sign}{}.{}", &digits[..point as usize], &digits[point as usize..]),
        -3..=0 => format!("{sign}0.{}{digits}", "0".repeat(-point as usize)),
        _ => {
            let (first, rest) = digits.split_at(1);
            let dot = if rest.is_empty() { "" } else { "." };
            let (at, way) = (point - 1, if point > 0 { '+' } else { '-' });
            format!("{sign}{first}{dot}{rest}e{way}{:02}", at.abs())
        }
    }
}

/// All but printable ASCII is escaped, in UTF-16.
fn write_python_text(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(character),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    // Writing to a text does not fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
}

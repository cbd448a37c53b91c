//! The result directory: written whole or not at all, and read back.
//!
//! Everything is written to `.partial-NAME` beside the target, flushed to the disk and renamed, so
//! a directory of the target's name is a complete result whenever the writer dies. What a killed
//! writer left is removed by the next one of the same name. Replacing takes two renames: a writer
//! killed between them leaves the old result as `.replaced-NAME`, and the next one restores it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::arrow::Batches;
use crate::seals::{SEAL, seal};
use crate::summary::Summary;
use crate::tables::Meta;

/// What a result directory holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// `run.toml`: the resolved scenario.
    pub run_toml: String,
    /// `meta.json`.
    pub meta: Meta,
    /// `summary.json`.
    pub summary: Summary,
    /// `flows.parquet`, `links.parquet`, `groups.parquet`, where flows arrive `transfers.parquet`,
    /// where there are islands `macroflows.parquet`, and `series/*.parquet`.
    pub batches: Batches,
}

const TRANSFERS: &str = "transfers.parquet";
const MACROFLOWS: &str = "macroflows.parquet";

/// Why a result was not written or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The target is a complete result, and replacing it was not asked for.
    #[error("{}: exists; choose another directory or ask to replace it", .0.display())]
    Exists(PathBuf),
    /// The target holds something that Clearpipe did not write, or a path that names no directory.
    #[error("{}: not a result directory", .0.display())]
    NotAResult(PathBuf),
    /// Another process writes this result now.
    #[error("{}: being written by another process", .0.display())]
    Busy(PathBuf),
    /// The file system says no.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file's content is not what it should be.
    #[error("{}: {reason}", path.display())]
    Content {
        /// Which file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

fn io_at(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    move |source| StoreError::Io { path: path.to_owned(), source }
}

fn content_at<E: ToString>(path: &Path) -> impl FnOnce(E) -> StoreError {
    move |reason| StoreError::Content { path: path.to_owned(), reason: reason.to_string() }
}

/// A result directory being written: what a run writes while it runs goes to [`Draft::path`], and
/// nothing is left of it unless [`Draft::publish`] comes to its end.
pub struct Draft(Place);

impl Draft {
    /// Starts one; whatever `dir` holds is untouched until the end. A result that exists is
    /// replaced only if `replace` says so.
    ///
    /// # Errors
    /// [`StoreError`]; of a directory that is there and is no result in any case.
    pub fn open(dir: &Path, replace: bool) -> Result<Draft, StoreError> {
        Place::open(dir, replace).map(Draft)
    }

    /// Where files can be put meanwhile; not of a name that a result has.
    pub fn path(&self) -> &Path {
        &self.0.partial
    }

    /// Adds the result's files.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn write(&self, result: &Stored) -> Result<(), StoreError> {
        write_files(&self.0.partial, result)
    }

    /// Gives the directory its name, when all that it has is on the disk.
    ///
    /// # Errors
    /// [`StoreError::Io`]; what was there before is unchanged then.
    pub fn publish(self) -> Result<(), StoreError> {
        sync_all(&self.0.partial)?;
        self.0.publish()
    }
}

/// Can a result be written to `dir`? Meant to be asked before the run; leaves nothing behind.
///
/// # Errors
/// The one that [`Draft::open`] would give.
pub fn check_writable(dir: &Path, replace: bool) -> Result<(), StoreError> {
    let target = std::path::absolute(dir).map_err(io_at(dir))?;
    let parents = || target.ancestors().skip(1);
    let before = parents().find(|folder| folder.exists());
    let place = Place::open(dir, replace)?;
    fs::remove_dir_all(&place.partial).map_err(io_at(&place.partial))?;
    drop(place);
    // What was made for the question goes again, unless somebody has put something there meanwhile.
    for folder in parents().take_while(|folder| Some(*folder) != before) {
        if fs::remove_dir(folder).is_err() {
            break;
        }
    }
    Ok(())
}

/// Writes a result's files with their seal into the new directory `dir` without waiting for the
/// disk (seven waits take ten times as long as a small run): for a caller that publishes the
/// directory itself; the seal tells a file that a crash of the system cut off. Without `tables`
/// there are only `run.toml`, `meta.json` and `summary.json`.
///
/// # Errors
/// [`StoreError`]; `dir` is left as far as it came.
pub fn write_loose(dir: &Path, result: &Stored, tables: bool) -> Result<(), StoreError> {
    fs::create_dir(dir).map_err(io_at(dir))?;
    write_texts(dir, result)?;
    if tables {
        write_tables(dir, result)?;
    }
    write_file(&dir.join(SEAL), seal(dir)?.as_bytes())
}

fn write_files(dir: &Path, result: &Stored) -> Result<(), StoreError> {
    write_texts(dir, result)?;
    write_tables(dir, result)
}

fn write_texts(dir: &Path, result: &Stored) -> Result<(), StoreError> {
    write_file(&dir.join("run.toml"), result.run_toml.as_bytes())?;
    write_json(&dir.join("meta.json"), &result.meta)?;
    write_json(&dir.join("summary.json"), &result.summary)
}

fn write_tables(dir: &Path, result: &Stored) -> Result<(), StoreError> {
    write_table(&dir.join("flows.parquet"), &result.batches.flows)?;
    write_table(&dir.join("links.parquet"), &result.batches.links)?;
    write_table(&dir.join("groups.parquet"), &result.batches.groups)?;
    if let Some(transfers) = &result.batches.transfers {
        write_table(&dir.join(TRANSFERS), transfers)?;
    }
    if let Some(macroflows) = &result.batches.macroflows {
        write_table(&dir.join(MACROFLOWS), macroflows)?;
    }
    let series = dir.join("series");
    fs::create_dir(&series).map_err(io_at(&series))?;
    for (name, batch) in &result.batches.series {
        write_table(&series.join(format!("{name}.parquet")), batch)?;
    }
    Ok(())
}

/// Reads a result directory.
///
/// # Errors
/// [`StoreError::NotAResult`] without a `meta.json`, else what is wrong with which file.
pub fn read_result(dir: &Path) -> Result<Stored, StoreError> {
    if !is_result(dir) {
        return Err(StoreError::NotAResult(dir.to_owned()));
    }
    let toml = dir.join("run.toml");
    let (transfers, macroflows) = (dir.join(TRANSFERS), dir.join(MACROFLOWS));
    Ok(Stored {
        run_toml: fs::read_to_string(&toml).map_err(io_at(&toml))?,
        meta: read_json(&dir.join("meta.json"))?,
        summary: read_json(&dir.join("summary.json"))?,
        batches: Batches {
            flows: read_table(&dir.join("flows.parquet"))?,
            links: read_table(&dir.join("links.parquet"))?,
            groups: read_table(&dir.join("groups.parquet"))?,
            transfers: transfers.is_file().then(|| read_table(&transfers)).transpose()?,
            macroflows: macroflows.is_file().then(|| read_table(&macroflows)).transpose()?,
            series: read_series(&dir.join("series"))?,
        },
    })
}

fn is_result(dir: &Path) -> bool {
    dir.join("meta.json").is_file()
}

/// Where a result is being written: the partial directory is ours until it is dropped.
struct Place {
    target: PathBuf,
    parent: PathBuf,
    partial: PathBuf,
    /// What is replaced waits here while the names change.
    old: PathBuf,
    /// Lives as long as this writer; a system that cannot lock directories does without.
    _lock: Option<File>,
}

impl Place {
    fn open(dir: &Path, replace: bool) -> Result<Place, StoreError> {
        let target = std::path::absolute(dir).map_err(io_at(dir))?;
        let not_a_result = || StoreError::NotAResult(dir.to_owned());
        let name = target.file_name().ok_or_else(not_a_result)?.to_string_lossy().into_owned();
        let parent = target.parent().ok_or_else(not_a_result)?.to_owned();
        fs::create_dir_all(&parent).map_err(io_at(&parent))?;
        let partial = parent.join(format!(".partial-{name}"));
        let old = parent.join(format!(".replaced-{name}"));
        let lock = claim(&partial)?;
        let place = Place { target, parent, partial, old, _lock: lock };
        place.recover()?;
        match fs::symlink_metadata(&place.target) {
            Err(_) => Ok(place),
            Ok(_) if is_result(&place.target) && replace => Ok(place),
            Ok(_) if is_result(&place.target) => Err(StoreError::Exists(dir.to_owned())),
            Ok(_) if is_empty_dir(&place.target) => Ok(place),
            Ok(_) => Err(not_a_result()),
        }
    }

    /// Undoes or ends what a writer was doing when it died between the two renames of `publish`.
    fn recover(&self) -> Result<(), StoreError> {
        if !self.old.exists() {
            return Ok(());
        }
        if self.target.exists() {
            return fs::remove_dir_all(&self.old).map_err(io_at(&self.old));
        }
        fs::rename(&self.old, &self.target).map_err(io_at(&self.target))
    }

    fn publish(&self) -> Result<(), StoreError> {
        if is_result(&self.target) {
            fs::rename(&self.target, &self.old).map_err(io_at(&self.target))?;
        }
        let renamed = fs::rename(&self.partial, &self.target).map_err(io_at(&self.target));
        if self.old.exists() {
            self.recover()?;
        }
        renamed?;
        sync(&self.parent)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // After `publish` there is nothing of this name; otherwise the writing has failed.
        let _ = fs::remove_dir_all(&self.partial);
    }
}

/// An empty directory `partial` that no other process claims until the file returned is closed.
fn claim(partial: &Path) -> Result<Option<File>, StoreError> {
    let busy = |lock: Option<File>| match lock.as_ref().map(File::try_lock) {
        Some(Err(fs::TryLockError::WouldBlock)) => Err(StoreError::Busy(partial.to_owned())),
        _ => Ok(lock),
    };
    if partial.exists() {
        let _stale = busy(File::open(partial).ok())?;
        fs::remove_dir_all(partial).map_err(io_at(partial))?;
    }
    fs::create_dir(partial).map_err(io_at(partial))?;
    busy(File::open(partial).ok())
}

fn is_empty_dir(path: &Path) -> bool {
    fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

/// Makes a directory's entries durable, where the system can.
fn sync(dir: &Path) -> Result<(), StoreError> {
    match File::open(dir) {
        Ok(file) => file.sync_all().map_err(io_at(dir)),
        Err(_) => Ok(()),
    }
}

/// Makes a directory durable with all that it holds.
fn sync_all(dir: &Path) -> Result<(), StoreError> {
    for entry in fs::read_dir(dir).map_err(io_at(dir))? {
        let path = entry.map_err(io_at(dir))?.path();
        if path.is_dir() {
            sync_all(&path)?;
        } else {
            // Opened to be written to: Windows flushes no others.
            let file = File::options().write(true).open(&path).map_err(io_at(&path))?;
            file.sync_all().map_err(io_at(&path))?;
        }
    }
    sync(dir)
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    fs::write(path, bytes).map_err(io_at(path))
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), StoreError> {
    let mut text = serde_json::to_string_pretty(value).map_err(content_at(path))?;
    text.push('\n');
    write_file(path, text.as_bytes())
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, StoreError> {
    let text = fs::read_to_string(path).map_err(io_at(path))?;
    serde_json::from_str(&text).map_err(content_at(path))
}

/// Columns of fewer rows are written without a dictionary: setting one up for each takes two thirds
/// of the time that a table of a few rows takes, and in so few there is little to share.
const DICTIONARY_FROM_ROWS: usize = 256;

/// The bytes depend on the batch alone: no time, no machine.
fn write_table(path: &Path, batch: &RecordBatch) -> Result<(), StoreError> {
    let mut file = Kept { file: File::create(path).map_err(io_at(path))?, error: None };
    let written = write_batch(&mut file, batch);
    // Parquet's own error would tell of a full disk in words only.
    if let Some(error) = file.error {
        return Err(io_at(path)(error));
    }
    written.map_err(content_at(path))
}

fn write_batch(file: &mut Kept, batch: &RecordBatch) -> parquet::errors::Result<()> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_dictionary_enabled(batch.num_rows() >= DICTIONARY_FROM_ROWS)
        .build();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties))?;
    writer.write(batch)?;
    writer.close().map(|_| ())
}

/// A file that keeps the first error of a write.
struct Kept {
    file: File,
    error: Option<io::Error>,
}

impl Kept {
    fn keep<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| {
            let kind = error.kind();
            self.error.get_or_insert(error);
            kind.into()
        })
    }
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes);
        self.keep(written)
    }
    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.file.flush();
        self.keep(flushed)
    }
}

/// One batch, however the file is chunked.
fn read_table(path: &Path) -> Result<RecordBatch, StoreError> {
    let file = File::open(path).map_err(io_at(path))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(content_at(path))?;
    let schema = builder.schema().clone();
    let rows = usize::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or(0);
    let mut reader = builder.with_batch_size(rows.max(1)).build().map_err(content_at(path))?;
    match reader.next() {
        None => Ok(RecordBatch::new_empty(schema)),
        Some(batch) => batch.map_err(content_at(path)),
    }
}

fn read_series(dir: &Path) -> Result<Vec<(String, RecordBatch)>, StoreError> {
    let mut series = Vec::new();
    for entry in fs::read_dir(dir).map_err(io_at(dir))? {
        let path = entry.map_err(io_at(dir))?.path();
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned());
        if let Some(name) = name.filter(|_| path.extension().is_some_and(|e| e == "parquet")) {
            series.push((name, read_table(&path)?));
        }
    }
    series.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(series)
}

//! The files that a scenario names: traces, distributions, maps. Nothing here but [`beside`]
//! touches a file system; what reads them is handed over, so that tests and fuzzers need no files.

pub mod cdf;
pub mod graphml;
pub mod trace;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::error::{Fault, Problem};
use crate::model::line::Trace;
use crate::syntax::declaration::{At, Definitions, FileValue, shows};
use crate::syntax::document::Node;

/// Reads the file that a scenario names, by the name that stands there.
pub type Load<'a> = dyn Fn(&Path) -> io::Result<Vec<u8>> + 'a;

/// The largest file that a scenario may name [bytes].
pub const MAX_FILE_BYTES: usize = 64_000_000;

/// Reads files whose names are relative to the folder of the file `scenario`. Reads no more of them
/// than it takes to see that one is over [`MAX_FILE_BYTES`].
pub fn beside(scenario: &Path) -> impl Fn(&Path) -> io::Result<Vec<u8>> + use<> {
    let folder = scenario.parent().unwrap_or(Path::new("")).to_path_buf();
    move |name| {
        let path = folder.join(name);
        // A pipe or a device might never end, or never begin.
        if !std::fs::metadata(&path)?.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        let mut bytes = Vec::new();
        let most = MAX_FILE_BYTES as u64 + 1;
        std::fs::File::open(&path)?.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// The name of a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FileName(pub String);

impl FileValue for FileName {
    fn form() -> String {
        "file name".to_owned()
    }
    fn schema(_: &mut Definitions) -> Json {
        let about = "a file; its name is relative to the scenario file's folder";
        json!({ "type": "string", "description": about, "minLength": 1, "maxLength": 1000 })
    }
    fn read(node: &Node) -> Result<FileName, Fault> {
        let text = node.text("the name of a file")?;
        let length = text.chars().count();
        if length == 0 || length > 1000 || !text.chars().all(shows) {
            let allowed = "1 to 1000 printable characters".to_owned();
            return Err(node.spot.fault(Problem::Range { value: format!("{text:?}"), allowed }));
        }
        Ok(FileName(text.to_owned()))
    }
}

/// A distribution function as it was read.
pub(crate) type Points = Arc<[(f64, f64)]>;

/// Reads files, and each of them once.
pub(crate) struct Files<'a> {
    load: &'a Load<'a>,
    traces: RefCell<BTreeMap<String, Trace>>,
    cdfs: RefCell<BTreeMap<String, Points>>,
}

impl<'a> Files<'a> {
    pub fn new(load: &'a Load<'a>) -> Files<'a> {
        Files { load, traces: RefCell::default(), cdfs: RefCell::default() }
    }

    /// The text of a file.
    pub fn text(&self, name: &At<FileName>) -> Result<String, Fault> {
        let file = &name.value.0;
        let bytes = (self.load)(Path::new(file)).map_err(|error| {
            name.spot.rule(format!("cannot read the file \"{file}\": {}", io_text(&error)))
        })?;
        if bytes.len() > MAX_FILE_BYTES {
            let most = MAX_FILE_BYTES / 1_000_000;
            return Err(name.spot.rule(format!("the file \"{file}\" is over {most} MB")));
        }
        String::from_utf8(bytes).map_err(|error| {
            let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
            name.spot.rule("not a text (UTF-8)").within(file, line)
        })
    }

    /// The trace in a file.
    pub fn trace(&self, name: &At<FileName>) -> Result<Trace, Fault> {
        self.once(&self.traces, name, crate::attached::trace::in_file)
    }

    /// The distribution function in a file.
    pub fn cdf(&self, name: &At<FileName>) -> Result<Points, Fault> {
        self.once(&self.cdfs, name, crate::attached::cdf::in_file)
    }

    fn once<T: Clone>(
        &self,
        known: &RefCell<BTreeMap<String, T>>,
        name: &At<FileName>,
        read: impl Fn(&At<FileName>, &str) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if let Some(value) = known.borrow().get(&name.value.0) {
            return Ok(value.clone());
        }
        let value = read(name, &self.text(name)?)?;
        known.borrow_mut().insert(name.value.0.clone(), value.clone());
        Ok(value)
    }
}

/// The message of an error; what the operating system says has one wording on every system.
fn io_text(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "no permission".to_owned(),
        _ => error.to_string(),
    }
}

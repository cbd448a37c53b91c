//! The numbers of a run by their full names, and those of many runs at once: read in threads, each
//! compared with its seal and its identity.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::seals::{Damage, META, SealedResult};

/// What stands between two names of a key: no text has this byte.
const END: u8 = 0xff;

/// The columns that hold a smallest, a mean and a largest value, and how their numbers are called.
const SPREADS: [(&str, [&str; 3]); 2] = [
    ("goodput_bps", ["goodput_min_bps", "goodput_mean_bps", "goodput_max_bps"]),
    ("fct_s", ["fct_min_s", "fct_mean_s", "fct_max_s"]),
];

/// Every finite number of a run's summary, by its full name and, of `bottleneck` and where there is
/// one group, by its column alone.
///
/// # Errors
/// What is not as a summary's is.
pub fn numbers(
    summary: &[u8],
    bottleneck: Option<&str>,
) -> Result<(Vec<String>, Vec<f64>), serde_json::Error> {
    let mut flat = Flat::default();
    flat.read(summary, bottleneck)?;
    let names = Names::of(&flat.key);
    let values = flat.values(&names);
    Ok((names.names, values))
}

/// A run to be read.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Its name, and its directory's.
    pub identity: String,
    /// The link that numbers without a link's name are of.
    pub bottleneck: Option<String>,
}

/// What a table needs of a run.
#[derive(Debug)]
pub struct Numbers {
    /// How its numbers are called: a place in [`Read::names`].
    pub names: usize,
    /// As many as names.
    pub values: Vec<f64>,
    /// The engine's version.
    pub model_version: String,
    /// Of the outcome.
    pub fingerprint: String,
    /// The versions of what it used: a place in [`Read::parts`].
    pub parts: usize,
}

/// Many runs, and what they have in common.
#[derive(Debug)]
pub struct Read {
    /// In the order in which they were asked for.
    pub runs: Vec<Result<Numbers, Damage>>,
    /// Names of numbers.
    pub names: Vec<Vec<String>>,
    /// Versions of parts.
    pub parts: Vec<BTreeMap<String, String>>,
}

/// The numbers of runs of a store, whose directories are `root`/ab/IDENTITY: `meta.json` and
/// `summary.json` of each are those that were written, and of the run that was asked for.
#[must_use]
pub fn read_numbers(root: &Path, wanted: &[Wanted]) -> Read {
    const AT_ONCE: usize = 64;
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.min(wanted.len().div_ceil(AT_ONCE));
    let (next, common) = (AtomicUsize::new(0), Mutex::new(Common::default()));
    let work = || {
        let mut reader = Reader { common: &common, flat: Flat::default(), last: None };
        let mut found = Vec::new();
        loop {
            let start = next.fetch_add(AT_ONCE, Ordering::Relaxed);
            let Some(mine) = wanted.get(start..).filter(|mine| !mine.is_empty()) else {
                break found;
            };
            for (place, one) in mine.iter().enumerate().take(AT_ONCE) {
                found.push((start + place, reader.read(root, one)));
            }
        }
    };
    let mut found: Vec<(usize, Result<Numbers, Damage>)> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut found = work();
        for other in others {
            found.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        found
    });
    found.sort_unstable_by_key(|(place, _)| *place);
    let Common { names, parts, .. } = common.into_inner().unwrap_or_else(PoisonError::into_inner);
    Read {
        runs: found.into_iter().map(|(_, one)| one).collect(),
        names: names.iter().map(|names| names.names.clone()).collect(),
        parts,
    }
}

/// The names of a run's numbers.
#[derive(Debug)]
struct Names {
    /// Each once.
    names: Vec<String>,
    /// Where among all that a summary has the number of each is: of those that are called the same
    /// the last one's.
    places: Vec<usize>,
}

impl Names {
    fn of(key: &[u8]) -> Names {
        let mut known: BTreeMap<&[u8], usize> = BTreeMap::new();
        let mut found = Names { names: Vec::new(), places: Vec::new() };
        // After the last one's end nothing follows.
        let names = key.strip_suffix(&[END]).map(|key| key.split(|&byte| byte == END));
        for (place, name) in names.into_iter().flatten().enumerate() {
            if let Some(&at) = known.get(name) {
                found.places[at] = place;
            } else {
                known.insert(name, found.names.len());
                found.names.push(String::from_utf8_lossy(name).into_owned());
                found.places.push(place);
            }
        }
        found
    }
}

/// What threads have found that many runs have in common.
#[derive(Default)]
struct Common {
    keys: BTreeMap<Vec<u8>, usize>,
    names: Vec<Arc<Names>>,
    parts: Vec<BTreeMap<String, String>>,
}

impl Common {
    fn names(&mut self, key: &[u8]) -> (usize, Arc<Names>) {
        let place = self.keys.get(key).copied().unwrap_or_else(|| {
            self.keys.insert(key.to_owned(), self.names.len());
            self.names.push(Arc::new(Names::of(key)));
            self.names.len() - 1
        });
        (place, Arc::clone(&self.names[place]))
    }

    fn parts(&mut self, found: &Map<String, Value>) -> Option<usize> {
        let same = |known: &BTreeMap<String, String>| {
            known.len() == found.len()
                && found.iter().all(|(name, version)| known.get(name).is_some_and(|v| version == v))
        };
        if let Some(place) = self.parts.iter().position(same) {
            return Some(place);
        }
        let text =
            |(name, version): (&String, &Value)| Some((name.clone(), version.as_str()?.to_owned()));
        self.parts.push(found.iter().map(text).collect::<Option<_>>()?);
        Some(self.parts.len() - 1)
    }
}

/// What reads, one run after another.
struct Reader<'a> {
    common: &'a Mutex<Common>,
    flat: Flat,
    /// The names of the run before, which are most likely those of the next.
    last: Option<(Vec<u8>, usize, Arc<Names>)>,
}

impl Reader<'_> {
    fn read(&mut self, root: &Path, one: &Wanted) -> Result<Numbers, Damage> {
        let dir = root.join(one.identity.get(..2).unwrap_or_default()).join(&one.identity);
        let sealed = SealedResult::open(&dir)?;
        let meta = sealed.meta()?;
        let summary = sealed.content("summary.json")?;
        if meta.get("identity").and_then(Value::as_str) != Some(&one.identity) {
            let reason = "the result of another run".to_owned();
            return Err(Damage { path: dir.join(META), reason });
        }
        let found = self.found(&meta, &summary, one.bottleneck.as_deref());
        found.ok_or_else(|| Damage { path: dir, reason: "damaged".to_owned() })
    }

    /// `None` for what is sealed and yet not as results are.
    fn found(
        &mut self,
        meta: &Map<String, Value>,
        summary: &[u8],
        bottleneck: Option<&str>,
    ) -> Option<Numbers> {
        let text = |name| Some(meta.get(name)?.as_str()?.to_owned());
        let (model_version, fingerprint) = (text("model_version")?, text("fingerprint")?);
        let versions = meta.get("parts")?.as_object()?;
        let parts = self.common.lock().unwrap_or_else(PoisonError::into_inner).parts(versions)?;
        self.flat.read(summary, bottleneck).ok()?;
        let key = &self.flat.key;
        if self.last.as_ref().is_none_or(|(last, ..)| last != key) {
            let mut common = self.common.lock().unwrap_or_else(PoisonError::into_inner);
            let (place, names) = common.names(key);
            self.last = Some((key.clone(), place, names));
        }
        let (_, names, known) = self.last.as_ref()?;
        let values = self.flat.values(known);
        Some(Numbers { names: *names, values, model_version, fingerprint, parts })
    }
}

/// A summary's numbers in a row, under names that lie one behind the other.
#[derive(Default)]
struct Flat {
    key: Vec<u8>,
    found: Vec<f64>,
}

impl Flat {
    fn read(&mut self, summary: &[u8], bottleneck: Option<&str>) -> Result<(), serde_json::Error> {
        self.key.clear();
        self.found.clear();
        let Summary { links, groups, spreads } = serde_json::from_slice(summary)?;
        for row in &links {
            self.add(&["links.", row.text("name")?, "."], row)?;
        }
        for row in &groups {
            self.add(&["groups.", row.text("group")?, "."], row)?;
        }
        if let Some(link) = bottleneck {
            for row in links.iter().filter(|row| row.text("name").is_ok_and(|name| name == link)) {
                self.add(&[], row)?;
            }
        }
        if let [only] = &groups[..] {
            self.add(&[], only)?;
        }
        self.add(&[], &spreads)
    }

    /// The numbers of a row, their names behind these words.
    fn add(&mut self, head: &[&str], Row(cells): &Row<'_>) -> Result<(), serde_json::Error> {
        for (column, cell) in cells {
            let spread = SPREADS.iter().find(|(name, _)| name == column);
            match (spread, cell) {
                (Some((_, names)), Cell::Spread(values)) => {
                    for (name, value) in names.iter().zip(values) {
                        self.number(head, name, *value);
                    }
                }
                (Some(_), Cell::Nothing) => {}
                (Some(_), _) => return Err(lacking(&format!("the numbers of {column}"))),
                // The number by which tables are joined is no measure.
                (None, Cell::Number(value)) if !matches!(&**column, "link" | "flow") => {
                    self.number(head, column, *value);
                }
                (None, _) => {}
            }
        }
        Ok(())
    }

    fn number(&mut self, head: &[&str], name: &str, value: f64) {
        if value.is_finite() {
            head.iter().for_each(|word| self.key.extend_from_slice(word.as_bytes()));
            self.key.extend_from_slice(name.as_bytes());
            self.key.push(END);
            self.found.push(value);
        }
    }

    fn values(&self, names: &Names) -> Vec<f64> {
        names.places.iter().map(|&place| self.found[place]).collect()
    }
}

fn lacking(what: &str) -> serde_json::Error {
    de::Error::custom(format!("a summary lacks {what}"))
}

/// A summary as it is written, by whatever version, columns in their order.
struct Summary<'a> {
    links: Vec<Row<'a>>,
    groups: Vec<Row<'a>>,
    /// Of all flows.
    spreads: Row<'a>,
}

/// The columns of a row of a summary.
#[derive(Default)]
struct Row<'a>(Vec<(Cow<'a, str>, Cell<'a>)>);

impl Row<'_> {
    fn text(&self, column: &str) -> Result<&str, serde_json::Error> {
        match self.0.iter().find(|(name, _)| name == column) {
            Some((_, Cell::Text(text))) => Ok(text),
            _ => Err(lacking(column)),
        }
    }
}

enum Cell<'a> {
    Number(f64),
    Text(Cow<'a, str>),
    /// The smallest, the mean and the largest.
    Spread([f64; 3]),
    Nothing,
    /// A truth value, or what this version does not know.
    Other,
}

impl<'de: 'a, 'a> Deserialize<'de> for Summary<'a> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_map(SummaryVisitor)
    }
}

struct SummaryVisitor;

impl<'de> Visitor<'de> for SummaryVisitor {
    type Value = Summary<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a summary")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Summary<'de>, A::Error> {
        let (mut links, mut groups, mut spreads) = (None, None, Row::default());
        while let Some(Text(key)) = map.next_key()? {
            match &*key {
                "links" => links = Some(map.next_value()?),
                "groups" => groups = Some(map.next_value()?),
                name if SPREADS.iter().any(|(known, _)| *known == name) => {
                    spreads.0.push((key, map.next_value()?));
                }
                _ => map.next_value::<IgnoredAny>().map(|_| ())?,
            }
        }
        let links = links.ok_or_else(|| de::Error::missing_field("links"))?;
        let groups = groups.ok_or_else(|| de::Error::missing_field("groups"))?;
        Ok(Summary { links, groups, spreads })
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Row<'a> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_map(RowVisitor)
    }
}

struct RowVisitor;

impl<'de> Visitor<'de> for RowVisitor {
    type Value = Row<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a row of a summary")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Row<'de>, A::Error> {
        let mut cells = Vec::with_capacity(48);
        while let Some((Text(column), cell)) = map.next_entry()? {
            cells.push((column, cell));
        }
        Ok(Row(cells))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Cell<'a> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_any(CellVisitor)
    }
}

struct CellVisitor;

impl<'de> Visitor<'de> for CellVisitor {
    type Value = Cell<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a cell of a summary")
    }

    fn visit_f64<E>(self, value: f64) -> Result<Cell<'de>, E> {
        Ok(Cell::Number(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Cell<'de>, E> {
        Ok(Cell::Number(value as f64))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Cell<'de>, E> {
        Ok(Cell::Number(value as f64))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Cell<'de>, E> {
        Ok(Cell::Other)
    }

    fn visit_unit<E>(self) -> Result<Cell<'de>, E> {
        Ok(Cell::Nothing)
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Cell<'de>, E> {
        Ok(Cell::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Cell<'de>, E> {
        Ok(Cell::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Cell<'de>, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Cell::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Cell<'de>, A::Error> {
        let mut found = [None; 3];
        while let Some((Text(key), cell)) = map.next_entry::<_, Cell<'de>>()? {
            let place = ["min", "mean", "max"].iter().position(|name| *name == key);
            if let (Some(place), Cell::Number(value)) = (place, cell) {
                found[place] = Some(value);
            }
        }
        Ok(match found {
            [Some(min), Some(mean), Some(max)] => Cell::Spread([min, mean, max]),
            _ => Cell::Other,
        })
    }
}

/// A text that is not copied where it stands in the file as it is.
struct Text<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        match CellVisitor::text(source)? {
            Cell::Text(text) => Ok(Text(text)),
            _ => Err(de::Error::custom("not a text")),
        }
    }
}

impl CellVisitor {
    fn text<'de, D: Deserializer<'de>>(source: D) -> Result<Cell<'de>, D::Error> {
        source.deserialize_str(CellVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUMMARY: &str = r#"{"bottleneck": null,
        "links": [{"link": 0, "name": "a\u00e9", "queue": "red", "drops_pkts": 3, "srtt_s": null},
                  {"link": 1, "name": "b", "queue": "red", "drops_pkts": 4, "ratio": 0.25}],
        "groups": [{"group": "g", "arriving": false, "flows": 2, "drops_pkts": 9,
                    "goodput_bps": {"min": 1.5, "mean": 2, "max": 3}, "fct_s": null}],
        "goodput_bps": {"max": 30, "min": 10, "mean": 20}, "drops_pkts": 7}"#;

    fn pairs(summary: &str, bottleneck: Option<&str>) -> Vec<(String, f64)> {
        let (names, values) = numbers(summary.as_bytes(), bottleneck).expect("a summary");
        names.into_iter().zip(values).collect()
    }

    #[test]
    fn a_number_is_called_by_its_table_its_row_and_its_column() {
        let found = pairs(SUMMARY, Some("b"));
        let told: Vec<(&str, f64)> = found.iter().map(|(name, v)| (&**name, *v)).collect();
        let wanted = [
            ("links.a\u{e9}.drops_pkts", 3.0),
            ("links.b.drops_pkts", 4.0),
            ("links.b.ratio", 0.25),
            ("groups.g.flows", 2.0),
            ("groups.g.drops_pkts", 9.0),
            ("groups.g.goodput_min_bps", 1.5),
            ("groups.g.goodput_mean_bps", 2.0),
            ("groups.g.goodput_max_bps", 3.0),
            // The link's first, and in its place what the only group calls the same.
            ("drops_pkts", 9.0),
            ("ratio", 0.25),
            ("flows", 2.0),
            // Of all flows, not of the group.
            ("goodput_min_bps", 10.0),
            ("goodput_mean_bps", 20.0),
            ("goodput_max_bps", 30.0),
        ];
        assert_eq!(told, wanted);
    }

    #[test]
    fn no_link_gives_no_short_names_of_links() {
        for none in [None, Some("c")] {
            let found = pairs(SUMMARY, none);
            assert!(found.iter().all(|(name, _)| name != "ratio"), "{none:?}");
            assert!(found.contains(&("drops_pkts".to_owned(), 9.0)), "the group's");
        }
    }

    #[test]
    fn two_groups_have_no_short_names() {
        let two = SUMMARY.replace(r#""groups": ["#, r#""groups": [{"group": "h", "flows": 5}, "#);
        let found = pairs(&two, None);
        assert!(found.contains(&("groups.h.flows".to_owned(), 5.0)));
        assert!(found.iter().all(|(name, _)| name != "flows"));
    }

    #[test]
    fn what_is_no_summary_is_an_error() {
        for broken in [
            SUMMARY.replace("\"links\"", "\"lonks\""),
            SUMMARY.replace("\"group\"", "\"grope\""),
            SUMMARY.replace("\"mean\": 2,", ""),
            SUMMARY.replace("\"mean\": 2,", "\"mean\": null,"),
            SUMMARY.replace("\"fct_s\": null", "\"fct_s\": 2.0"),
            SUMMARY[1..].to_owned(),
        ] {
            assert_ne!(broken, SUMMARY);
            assert!(numbers(broken.as_bytes(), None).is_err(), "{broken}");
        }
    }
}

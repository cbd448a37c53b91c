//! The file as a tree of values that know where they were written, with the `--set` options laid
//! over it.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Fault, Origin, Problem, Spot};

/// A value of the file.
#[derive(Clone, Debug)]
pub(crate) enum Raw {
    Text(String),
    Int(i64),
    Float(f64),
    Flag(bool),
    Date,
    List(Vec<Node>),
    /// In the order of the file.
    Table(Vec<(String, Node)>),
}

/// A value and where it was written.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub raw: Raw,
    pub spot: Spot,
}

impl From<&str> for Raw {
    fn from(text: &str) -> Raw {
        Raw::Text(text.to_owned())
    }
}

impl From<i64> for Raw {
    fn from(value: i64) -> Raw {
        Raw::Int(value)
    }
}

impl From<f64> for Raw {
    fn from(value: f64) -> Raw {
        Raw::Float(value)
    }
}

impl From<bool> for Raw {
    fn from(value: bool) -> Raw {
        Raw::Flag(value)
    }
}

impl Node {
    /// The value in words, for messages.
    pub fn found(&self) -> String {
        match &self.raw {
            Raw::Text(text) => format!("{text:?}"),
            Raw::Int(value) => format!("the number {value}"),
            Raw::Float(value) => format!("the number {value:?}"),
            Raw::Flag(value) => format!("{value}"),
            Raw::Date => "a date".to_owned(),
            Raw::List(_) => "a list".to_owned(),
            Raw::Table(_) => "a table".to_owned(),
        }
    }

    /// The error "expected `wanted`, found this".
    pub fn mismatch(&self, wanted: &str) -> Fault {
        self.spot.fault(Problem::Type { wanted: wanted.to_owned(), found: self.found() })
    }

    /// The entries of a table.
    pub fn entries(&self) -> Result<&[(String, Node)], Fault> {
        match &self.raw {
            Raw::Table(entries) => Ok(entries),
            _ => Err(self.mismatch("a table")),
        }
    }

    /// The text of a string.
    pub fn text(&self, wanted: &str) -> Result<&str, Fault> {
        match &self.raw {
            Raw::Text(text) => Ok(text),
            _ => Err(self.mismatch(wanted)),
        }
    }

    /// The entry called `name` of a table.
    pub fn entry(&self, name: &str) -> Option<&Node> {
        match &self.raw {
            Raw::Table(entries) => entries.iter().find(|(key, _)| key == name).map(|(_, n)| n),
            _ => None,
        }
    }
}

/// Reads the text of a file and lays `sets` over it.
pub(crate) fn read(text: &str, sets: &[String]) -> Result<Node, Fault> {
    let lines = Lines::of(text);
    let spot = Spot::root();
    let mut root = match DeTable::parse(text) {
        Ok(table) => Node { raw: lines.table(table.into_inner(), &spot)?, spot },
        Err(error) => return Err(lines.syntax(&error)),
    };
    for (i, set) in sets.iter().enumerate() {
        apply(&mut root, set, Origin::Set(i))?;
    }
    Ok(root)
}

/// Turns byte offsets into line numbers.
struct Lines {
    /// Offset of each line's first byte.
    starts: Vec<usize>,
    /// When set, everything stands here and lines do not matter.
    fixed: Option<Origin>,
}

impl Lines {
    fn of(text: &str) -> Lines {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(breaks.map(|(i, _)| i + 1)).collect();
        Lines { starts, fixed: None }
    }

    fn origin(&self, offset: usize) -> Origin {
        let line = self.starts.partition_point(|&start| start <= offset);
        self.fixed.unwrap_or(Origin::Line(line))
    }

    fn syntax(&self, error: &toml::de::Error) -> Fault {
        let origin = error.span().map_or(Origin::Whole, |span| self.origin(span.start));
        let text = error.message().lines().collect::<Vec<_>>().join("; ");
        Spot { origin, key: String::new() }.fault(Problem::Syntax(text))
    }

    fn table(&self, table: DeTable<'_>, spot: &Spot) -> Result<Raw, Fault> {
        let mut entries: Vec<_> = table.into_iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let entries = entries.into_iter().map(|(key, value)| {
            let mut spot = spot.child(key.get_ref());
            spot.origin = self.origin(key.span().start);
            let node = Node { raw: self.raw(value.into_inner(), &spot)?, spot };
            Ok((key.into_inner().into_owned(), node))
        });
        Ok(Raw::Table(entries.collect::<Result<_, Fault>>()?))
    }

    fn list(&self, items: Vec<Spanned<DeValue<'_>>>, spot: &Spot) -> Result<Raw, Fault> {
        let nodes = items.into_iter().enumerate().map(|(i, item)| {
            let origin = self.origin(item.span().start);
            let spot = Spot { origin, key: format!("{}[{i}]", spot.key) };
            Ok(Node { raw: self.raw(item.into_inner(), &spot)?, spot })
        });
        Ok(Raw::List(nodes.collect::<Result<_, Fault>>()?))
    }

    fn raw(&self, value: DeValue<'_>, spot: &Spot) -> Result<Raw, Fault> {
        Ok(match value {
            DeValue::String(text) => Raw::Text(text.into_owned()),
            DeValue::Boolean(value) => Raw::Flag(value),
            DeValue::Datetime(_) => Raw::Date,
            DeValue::Array(items) => return self.list(items.into_iter().collect(), spot),
            DeValue::Table(table) => return self.table(table, spot),
            DeValue::Integer(digits) => {
                match i64::from_str_radix(digits.as_str(), digits.radix()) {
                    Ok(value) => Raw::Int(value),
                    Err(_) => {
                        let text = format!("{digits} does not fit a 64-bit integer");
                        return Err(spot.rule(text));
                    }
                }
            }
            DeValue::Float(digits) => match digits.as_str().parse() {
                Ok(value) => Raw::Float(value),
                Err(_) => return Err(spot.rule(format!("{} is not a number", digits.as_str()))),
            },
        })
    }
}

/// Lays one `key.path=value` over the tree.
fn apply(root: &mut Node, set: &str, origin: Origin) -> Result<(), Fault> {
    let spot = Spot { origin, key: String::new() };
    let bad = |why: &str| spot.fault(Problem::Set(why.to_owned()));
    let Some((path, value)) = set.split_once('=') else {
        return Err(bad("expected key.path=value"));
    };
    let path = key_path(path.trim()).ok_or_else(|| bad("the key path is not valid"))?;
    let spot = Spot { origin, key: path.join(".") };
    let raw = set_value(value.trim(), &spot)?;
    let mut node = root;
    for name in &path {
        node = descend(node, name, origin)?;
    }
    *node = Node { raw, spot };
    Ok(())
}

/// The entry `name` of `node`, made if it is not there.
fn descend<'a>(node: &'a mut Node, name: &str, origin: Origin) -> Result<&'a mut Node, Fault> {
    let spot = Spot { origin, key: node.spot.child(name).key };
    let found = node.found();
    let Raw::Table(entries) = &mut node.raw else {
        let what = format!("\"{}\" is {found}, not a table", node.spot.key);
        return Err(spot.fault(Problem::Set(what)));
    };
    let index = entries.iter().position(|(key, _)| key == name).unwrap_or_else(|| {
        entries.push((name.to_owned(), Node { raw: Raw::Table(Vec::new()), spot }));
        entries.len() - 1
    });
    Ok(&mut entries[index].1)
}

/// The names of a dotted key, at most eight.
pub(crate) fn key_path(text: &str) -> Option<Vec<String>> {
    if text.chars().any(|c| c.is_control() || c == '[' || c == '#') {
        return None;
    }
    let source = format!("{text} = 0");
    let mut table = DeTable::parse(&source).ok()?.into_inner();
    let mut path = Vec::new();
    loop {
        let (key, value) = table.into_iter().next()?;
        path.push(key.into_inner().into_owned());
        match value.into_inner() {
            DeValue::Table(inner) => table = inner,
            _ => return (path.len() <= 8).then_some(path),
        }
    }
}

/// A TOML value, or else the text itself.
fn set_value(text: &str, spot: &Spot) -> Result<Raw, Fault> {
    let source = format!("value = {text}");
    let lines = Lines { starts: vec![0], fixed: Some(spot.origin) };
    if let Ok(table) = DeTable::parse(&source) {
        let mut table = table.into_inner();
        if table.len() == 1
            && let Some(value) = table.remove("value")
        {
            return lines.raw(value.into_inner(), spot);
        }
    }
    Ok(Raw::Text(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str, set: &str) -> Node {
        read(text, &[set.to_owned()]).unwrap()
    }

    #[test]
    fn a_set_value_is_toml_or_else_text() {
        let at = |sets: &str| format!("{:?}", set("", sets).entry("a").unwrap().raw);
        assert_eq!(at("a=45Mbps"), "Text(\"45Mbps\")");
        assert_eq!(at("a = \"45Mbps\""), "Text(\"45Mbps\")");
        assert_eq!(at("a=3"), "Int(3)");
        assert_eq!(at("a=true"), "Flag(true)");
        assert_eq!(at("a=linspace(40ms, 200ms)"), "Text(\"linspace(40ms, 200ms)\")");
        assert_eq!(at("a=1\nb=2"), "Text(\"1\\nb=2\")");
    }

    #[test]
    fn a_set_replaces_or_adds_at_any_depth() {
        let node = set("[links.\"a.b\"]\nrate = \"1Mbps\"\n", "links.\"a.b\".rate=2Mbps");
        let rate = node.entry("links").and_then(|n| n.entry("a.b")?.entry("rate")).unwrap();
        assert_eq!(rate.text("").unwrap(), "2Mbps");
        assert_eq!(rate.spot.origin, Origin::Set(0));
    }

    #[test]
    fn lines_count_from_one_and_order_is_the_files() {
        let node = set("b = 1\n[t.y]\nc = [\n1,\n2]\n[t.x]\n", "d=1");
        assert_eq!(node.entry("b").unwrap().spot.origin, Origin::Line(1));
        let table = node.entry("t").unwrap();
        let Raw::List(items) = &table.entry("y").unwrap().entry("c").unwrap().raw else {
            panic!("not a list")
        };
        assert_eq!(items[1].spot, Spot { origin: Origin::Line(5), key: "t.y.c[1]".to_owned() });
        let names: Vec<&str> = table.entries().unwrap().iter().map(|(k, _)| &**k).collect();
        assert_eq!(names, ["y", "x"]);
    }
}

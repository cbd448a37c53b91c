//! How the file's tables are declared: one line per key gives the reader, the list of allowed keys,
//! the default, the JSON Schema and the reference page.

use serde_json::{Map, Value as Json, json};

use crate::error::{Fault, Problem, Spot};
use crate::syntax::document::{Node, Raw};

/// Named parts of the JSON Schema.
pub(crate) type Definitions = Map<String, Json>;

/// A type that a key of the file can have.
pub(crate) trait FileValue: Sized {
    /// What a user may write, in a few words.
    fn form() -> String;
    /// The same for a message, with an example where that helps.
    fn wanted() -> String {
        Self::form()
    }
    /// The same as JSON Schema.
    fn schema(definitions: &mut Definitions) -> Json;
    /// Reads it.
    fn read(node: &Node) -> Result<Self, Fault>;
}

/// A value and where it was written.
#[derive(Clone, Debug)]
pub(crate) struct At<T> {
    pub value: T,
    pub spot: Spot,
}

impl<T: FileValue> At<T> {
    pub fn read(node: &Node) -> Result<At<T>, Fault> {
        Ok(At { value: T::read(node)?, spot: node.spot.clone() })
    }
}

/// Must a key be there, and what holds if it is not?
#[derive(Clone, Debug)]
pub(crate) enum Presence {
    Required,
    Default(String),
    Optional(&'static str),
    Section,
}

/// One key of a table.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub name: &'static str,
    pub doc: String,
    pub form: String,
    pub presence: Presence,
    pub schema: Json,
}

/// A table with a fixed set of keys, declared with [`table!`].
pub(crate) trait Table {
    /// What it is for.
    const DOC: &'static str;
    /// Its keys, in the order of declaration.
    fn keys(definitions: &mut Definitions) -> Vec<Key>;
}

/// The entries of a table whose keys are all known.
pub(crate) struct Fields<'a> {
    node: &'a Node,
}

impl<'a> Fields<'a> {
    /// Checks that `node` is a table with no other keys than `names`.
    pub fn open(node: &'a Node, names: &[&str]) -> Result<Fields<'a>, Fault> {
        for (name, entry) in node.entries()? {
            if !names.contains(&name.as_str()) {
                return Err(unknown_key(name, entry, names));
            }
        }
        Ok(Fields { node })
    }

    pub fn required<T: FileValue>(&self, name: &str) -> Result<At<T>, Fault> {
        match self.node.entry(name) {
            Some(entry) => At::read(entry),
            None => Err(self.node.spot.child(name).fault(Problem::Missing(T::wanted()))),
        }
    }

    pub fn or<T: FileValue>(&self, name: &str, default: impl Into<Raw>) -> Result<At<T>, Fault> {
        match self.node.entry(name) {
            Some(entry) => At::read(entry),
            None => At::read(&Node { raw: default.into(), spot: self.node.spot.child(name) }),
        }
    }

    pub fn optional<T: FileValue>(&self, name: &str) -> Result<Option<At<T>>, Fault> {
        self.node.entry(name).map(At::read).transpose()
    }
}

/// The error for a key that is not one of `names`.
pub(crate) fn unknown_key(name: &str, entry: &Node, names: &[&str]) -> Fault {
    let allowed = names.iter().map(|&name| name.to_owned()).collect();
    entry.spot.fault(Problem::Key { name: name.to_owned(), allowed })
}

/// Declares a table: `key: Type = required;`, `= default(literal);`, `= optional("what then");` or
/// `= section;` for a table that may be left out.
macro_rules! table {
    (@type required $type:ty) => { $crate::syntax::declaration::At<$type> };
    (@type default $type:ty) => { $crate::syntax::declaration::At<$type> };
    (@type section $type:ty) => { $crate::syntax::declaration::At<$type> };
    (@type optional $type:ty) => { Option<$crate::syntax::declaration::At<$type>> };
    (@read $fields:ident, $name:expr, required) => { $fields.required($name)? };
    (@read $fields:ident, $name:expr, default $text:literal) => { $fields.or($name, $text)? };
    (@read $fields:ident, $name:expr, optional $text:literal) => { $fields.optional($name)? };
    (@read $fields:ident, $name:expr, section) => {
        $fields.or($name, $crate::syntax::document::Raw::Table(Vec::new()))?
    };
    (@presence required) => { $crate::syntax::declaration::Presence::Required };
    (@presence section) => { $crate::syntax::declaration::Presence::Section };
    (@presence default $text:literal) => {
        $crate::syntax::declaration::Presence::Default(stringify!($text).to_owned())
    };
    (@presence optional $text:literal) => { $crate::syntax::declaration::Presence::Optional($text) };
    (
        $(#[doc = $doc:literal])+
        pub(crate) struct $name:ident {
            $(
                $(#[doc = $key_doc:literal])+
                $key:ident : $type:ty = $mode:ident $(($text:literal))?;
            )*
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug)]
        #[allow(dead_code)] // a key may be there to be allowed only
        pub(crate) struct $name {
            $( $(#[doc = $key_doc])+ pub $key: table!(@type $mode $type), )*
        }

        impl $crate::syntax::declaration::Table for $name {
            const DOC: &'static str = concat!($($doc),+);
            fn keys(definitions: &mut $crate::syntax::declaration::Definitions) -> Vec<$crate::syntax::declaration::Key> {
                vec![ $( $crate::syntax::declaration::Key {
                    name: stringify!($key),
                    doc: concat!($($key_doc),+).trim().to_owned(),
                    form: <$type as $crate::syntax::declaration::FileValue>::form(),
                    presence: table!(@presence $mode $($text)?),
                    schema: <$type as $crate::syntax::declaration::FileValue>::schema(definitions),
                }, )* ]
            }
        }

        impl $crate::syntax::declaration::FileValue for $name {
            fn form() -> String {
                "table".to_owned()
            }
            fn schema(definitions: &mut $crate::syntax::declaration::Definitions) -> serde_json::Value {
                $crate::syntax::declaration::defined(definitions, stringify!($name), |definitions| {
                    $crate::syntax::declaration::table_schema::<$name>(definitions)
                })
            }
            fn read(node: &$crate::syntax::document::Node) -> Result<$name, $crate::error::Fault> {
                let fields = $crate::syntax::declaration::Fields::open(node, &[$( stringify!($key) ),*])?;
                Ok($name {
                    $( $key: table!(@read fields, stringify!($key), $mode $($text)?), )*
                })
            }
        }
    };
}
pub(crate) use table;

/// A reference to the definition `name`, made by `make` when it is not there yet.
pub(crate) fn defined(
    definitions: &mut Definitions,
    name: &str,
    make: impl FnOnce(&mut Definitions) -> Json,
) -> Json {
    if !definitions.contains_key(name) {
        definitions.insert(name.to_owned(), Json::Null);
        let schema = make(definitions);
        definitions.insert(name.to_owned(), schema);
    }
    json!({ "$ref": format!("#/$defs/{name}") })
}

/// The schema of a table with a fixed set of keys.
pub(crate) fn table_schema<T: Table>(definitions: &mut Definitions) -> Json {
    let keys = T::keys(definitions);
    let required: Vec<&str> = keys
        .iter()
        .filter(|key| matches!(key.presence, Presence::Required))
        .map(|key| key.name)
        .collect();
    let properties: Map<String, Json> =
        keys.iter().map(|key| (key.name.to_owned(), key_schema(key))).collect();
    json!({
        "type": "object",
        "description": T::DOC.trim(),
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// A key's schema with its description and default.
fn key_schema(key: &Key) -> Json {
    let mut schema = key.schema.clone();
    schema["description"] = Json::from(key.doc.as_str());
    if let Presence::Default(text) = &key.presence
        && let Ok(default) = serde_json::from_str::<Json>(text)
    {
        schema["default"] = default;
    }
    schema
}

/// Tables by name, in the order of the file.
#[derive(Clone, Debug)]
pub(crate) struct Named<T>(pub Vec<(String, At<T>)>);

impl<T: FileValue> FileValue for Named<T> {
    fn form() -> String {
        "tables by name".to_owned()
    }
    fn schema(definitions: &mut Definitions) -> Json {
        json!({
            "type": "object",
            "propertyNames": { "pattern": NAME_PATTERN },
            "additionalProperties": T::schema(definitions),
        })
    }
    fn read(node: &Node) -> Result<Named<T>, Fault> {
        let read = |(name, entry): &(String, Node)| {
            check_name(name, &entry.spot)?;
            Ok((name.clone(), At::read(entry)?))
        };
        Ok(Named(node.entries()?.iter().map(read).collect::<Result<_, Fault>>()?))
    }
}

const NAME_PATTERN: &str = "^[A-Za-z0-9_.-]{1,100}$";

/// The longest name.
pub(crate) const NAME_LENGTH: usize = 100;

/// Names end up in tables, file names and messages: letters, digits, `_`, `-` and `.`.
pub(crate) fn check_name(name: &str, spot: &Spot) -> Result<(), Fault> {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    if (1..=NAME_LENGTH).contains(&name.len()) && name.bytes().all(good) {
        return Ok(());
    }
    let text =
        format!("the name {name:?} is not 1 to {NAME_LENGTH} of the characters A-Z a-z 0-9 _ - .");
    Err(spot.rule(text))
}

/// A type that is written as one of a list of words.
pub(crate) trait Word: Copy + 'static {
    /// What it is, for messages.
    const WHAT: &'static str;
    /// The words and what they stand for.
    fn all() -> Vec<(&'static str, Self)>;

    /// The words.
    fn words() -> Vec<String> {
        Self::all().iter().map(|(word, _)| (*word).to_owned()).collect()
    }
}

/// Makes every listed [`Word`] a [`FileValue`].
macro_rules! word_values {
    ($($type:ty),*) => { $(
        impl $crate::syntax::declaration::FileValue for $type {
            fn form() -> String {
                let words = <$type as $crate::syntax::declaration::Word>::words();
                if words.len() > 4 {
                    return <$type as $crate::syntax::declaration::Word>::WHAT.to_owned();
                }
                words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(" or ")
            }
            fn schema(_: &mut $crate::syntax::declaration::Definitions) -> serde_json::Value {
                serde_json::json!({ "enum": <$type as $crate::syntax::declaration::Word>::words() })
            }
            fn read(node: &$crate::syntax::document::Node) -> Result<$type, $crate::error::Fault> {
                $crate::syntax::declaration::read_word(node)
            }
        }
    )* };
}
pub(crate) use word_values;

/// Reads one of a list of words.
pub(crate) fn read_word<T: Word>(node: &Node) -> Result<T, Fault> {
    let text = node.text(&format!("one of {}", T::words().join(", ")))?;
    let found = T::all().into_iter().find(|(word, _)| *word == text);
    found.map(|(_, value)| value).ok_or_else(|| {
        let name = text.to_owned();
        node.spot.fault(Problem::Name { what: T::WHAT, name, allowed: T::words() })
    })
}

impl FileValue for bool {
    fn form() -> String {
        "true or false".to_owned()
    }
    fn schema(_: &mut Definitions) -> Json {
        json!({ "type": "boolean" })
    }
    fn read(node: &Node) -> Result<bool, Fault> {
        match node.raw {
            Raw::Flag(value) => Ok(value),
            _ => Err(node.mismatch("true or false")),
        }
    }
}

/// A whole number from `LOW` to `HIGH`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Count<const LOW: u64, const HIGH: u64>(pub u64);

impl<const LOW: u64, const HIGH: u64> FileValue for Count<LOW, HIGH> {
    fn form() -> String {
        match HIGH {
            MAX_INTEGER => format!("whole number from {LOW}"),
            _ => format!("whole number, {LOW} to {HIGH}"),
        }
    }
    fn schema(_: &mut Definitions) -> Json {
        json!({ "type": "integer", "minimum": LOW, "maximum": HIGH })
    }
    fn read(node: &Node) -> Result<Self, Fault> {
        let Raw::Int(value) = node.raw else { return Err(node.mismatch("a whole number")) };
        match u64::try_from(value) {
            Ok(count) if (LOW..=HIGH).contains(&count) => Ok(Count(count)),
            _ => Err(node.spot.fault(Problem::Range {
                value: value.to_string(),
                allowed: format!("{LOW} to {HIGH}"),
            })),
        }
    }
}

/// The largest integer that TOML has.
pub(crate) const MAX_INTEGER: u64 = i64::MAX as u64;

/// Does a character show, and leave its neighbours where they are? Controls do not, nor do those
/// that turn the direction of writing or end a line (Unicode Standard Annex 9).
pub fn shows(c: char) -> bool {
    let turns =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !c.is_control() && !turns && !matches!(c, '\u{2028}' | '\u{2029}')
}

/// A line of printable text.
impl FileValue for String {
    fn form() -> String {
        "text".to_owned()
    }
    fn schema(_: &mut Definitions) -> Json {
        json!({ "type": "string", "minLength": 1, "maxLength": 200 })
    }
    fn read(node: &Node) -> Result<String, Fault> {
        let text = node.text("a text in quotes")?;
        let length = text.chars().count();
        if length == 0 || length > 200 || !text.chars().all(shows) {
            let allowed = "1 to 200 printable characters".to_owned();
            return Err(node.spot.fault(Problem::Range { value: format!("{text:?}"), allowed }));
        }
        Ok(text.to_owned())
    }
}

impl<T: FileValue> FileValue for Vec<At<T>> {
    fn form() -> String {
        format!("list of {}", T::form())
    }
    fn schema(definitions: &mut Definitions) -> Json {
        json!({ "type": "array", "items": T::schema(definitions) })
    }
    fn read(node: &Node) -> Result<Vec<At<T>>, Fault> {
        match &node.raw {
            Raw::List(items) => items.iter().map(At::read).collect(),
            _ => Err(node.mismatch("a list in [ ]")),
        }
    }
}

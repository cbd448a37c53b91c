//! Parameters that can be listed, set by name and read back: what scenario files, `clearpipe list`
//! and the documentation are made of. Declared with [`params!`] and [`choice!`].

use units::Span;

/// A parameter's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// Yes or no.
    Flag(bool),
    /// A whole number.
    Count(u64),
    /// A real number in the unit that the parameter's description states.
    Number(f64),
    /// A length of time.
    Span(Span),
    /// One of a list of words.
    Choice(&'static str),
    /// Any text.
    Text(&'static str),
}

/// The type of a parameter, as a user sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`.
    Flag,
    /// A whole number.
    Count,
    /// A real number.
    Number,
    /// A time with its unit.
    Span,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Any text.
    Text,
}

/// What is known of one parameter.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// The name used in scenario files, the paper's symbol in ASCII.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// The smallest value allowed (seconds for a time); no meaning for flags, choices and texts.
    pub low: f64,
    /// The largest value allowed.
    pub high: f64,
    /// Symbol, unit, section.
    pub doc: &'static str,
}

/// Values for some of the parameters under a name, as a paper or a tool used them.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The name used in scenario files.
    pub name: &'static str,
    /// What it is and where it is from.
    pub doc: &'static str,
    /// Parameters by name with their values; the others keep their defaults.
    pub values: &'static [(&'static str, Value)],
}

/// Why a parameter was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There is no parameter of that name.
    Unknown,
    /// The value is of another type.
    Type,
    /// The value is outside the allowed range, or not finite.
    Range,
}

/// A protocol's parameters. `Default` gives the paper's values.
pub trait Params: Clone + Default {
    /// All parameters, in the order of declaration.
    const SPECS: &'static [Spec];
    /// The same.
    fn specs() -> &'static [Spec] {
        Self::SPECS
    }
    /// Its named sets of values.
    fn presets() -> &'static [Preset] {
        &[]
    }
    /// Sets the parameter called `name`.
    ///
    /// # Errors
    /// [`Refused`] says why; the parameters are unchanged then.
    fn set(&mut self, name: &str, value: Value) -> Result<(), Refused>;
    /// The present value of the parameter called `name`.
    fn get(&self, name: &str) -> Option<Value>;
}

/// A Rust type that can be a parameter.
pub trait ParamValue: Copy {
    /// How a user sees it.
    const KIND: Kind;
    /// As a [`Value`].
    fn value(self) -> Value;
    /// From a [`Value`] of the right type.
    fn from_value(value: Value) -> Option<Self>;
    /// The number that a range applies to, if any.
    fn magnitude(self) -> Option<f64>;
}

macro_rules! plain_value {
    ($type:ty, $kind:ident, $self:ident => $magnitude:expr) => {
        impl ParamValue for $type {
            const KIND: Kind = Kind::$kind;
            fn value(self) -> Value {
                Value::$kind(self)
            }
            fn from_value(value: Value) -> Option<Self> {
                match value {
                    Value::$kind(v) => Some(v),
                    _ => None,
                }
            }
            fn magnitude($self) -> Option<f64> {
                $magnitude
            }
        }
    };
}

plain_value!(bool, Flag, self => None);
plain_value!(u64, Count, self => Some(self as f64));
plain_value!(f64, Number, self => Some(self));
plain_value!(Span, Span, self => Some(self.as_secs()));

/// A parameter that is a text. Whoever reads scenario files keeps it for ever; there are few.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text(pub &'static str);

impl ParamValue for Text {
    const KIND: Kind = Kind::Text;
    fn value(self) -> Value {
        Value::Text(self.0)
    }
    fn from_value(value: Value) -> Option<Text> {
        match value {
            Value::Text(text) => Some(Text(text)),
            _ => None,
        }
    }
    fn magnitude(self) -> Option<f64> {
        None
    }
}

/// A choice of which only the first `N` words may be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct First<T, const N: usize>(pub T);

impl<T: ParamValue, const N: usize> ParamValue for First<T, N> {
    const KIND: Kind = match T::KIND {
        Kind::Choice(words) => Kind::Choice(words.split_at(N).0),
        other => other,
    };
    fn value(self) -> Value {
        self.0.value()
    }
    fn from_value(value: Value) -> Option<Self> {
        match (Self::KIND, value) {
            (Kind::Choice(words), Value::Choice(word)) if words.contains(&word) => {
                T::from_value(value).map(First)
            }
            _ => None,
        }
    }
    fn magnitude(self) -> Option<f64> {
        None
    }
}

/// Puts `value` into `field`. Choices and flags have no range; NaN is in none.
///
/// # Errors
/// As [`Params::set`].
pub fn put<T: ParamValue>(
    field: &mut T,
    (low, high): (f64, f64),
    value: Value,
) -> Result<(), Refused> {
    let value = T::from_value(value).ok_or(Refused::Type)?;
    if !value.magnitude().is_none_or(|x| x >= low && x <= high) {
        return Err(Refused::Range);
    }
    *field = value;
    Ok(())
}

/// How many specs these parts have.
pub const fn total(parts: &[&[Spec]]) -> usize {
    let (mut count, mut i) = (0, 0);
    while i < parts.len() {
        count += parts[i].len();
        i += 1;
    }
    count
}

/// The specs of these parts in a row, all `N` of them.
pub const fn joined<const N: usize>(parts: &[&[Spec]]) -> [Spec; N] {
    let mut all = [Spec { name: "", kind: Kind::Flag, low: 0.0, high: 0.0, doc: "" }; N];
    let (mut count, mut i) = (0, 0);
    while i < parts.len() {
        let mut k = 0;
        while k < parts[i].len() {
            all[count] = parts[i][k];
            count += 1;
            k += 1;
        }
        i += 1;
    }
    all
}

/// Declares a struct of parameters: `name: type = default => (low, high);` with a doc comment that
/// gives symbol, unit and section; flags and choices have no range. `name: type;` is a group:
/// another such struct, whose parameters a user sees and sets as if they stood there themselves.
/// Presets may follow, each with a sentence that names its source:
/// `presets { /// DOC "name" { parameter = Number(0.5), ... } }`.
#[macro_export]
macro_rules! params {
    (@range) => { (0.0, 0.0) };
    (@range $low:expr, $high:expr) => { ($low, $high) };
    (@default $type:ty) => { <$type>::default() };
    (@default $type:ty, $default:expr) => { $default };
    (@specs $type:ty, $spec:expr) => { <$type as $crate::params::Params>::SPECS };
    (@specs $type:ty, $spec:expr, $default:expr) => { &[$spec] };
    (@set $field:expr, $own:expr, $name:ident, $value:ident, $range:expr) => {
        match $crate::params::Params::set(&mut $field, $name, $value) {
            Err($crate::params::Refused::Unknown) => {}
            done => return done,
        }
    };
    (@set $field:expr, $own:expr, $name:ident, $value:ident, $range:expr, $default:expr) => {
        if $name == $own {
            return $crate::params::put(&mut $field, $range, $value);
        }
    };
    (@get $field:expr, $own:expr, $name:ident) => {
        if let Some(value) = $crate::params::Params::get(&$field, $name) {
            return Some(value);
        }
    };
    (@get $field:expr, $own:expr, $name:ident, $default:expr) => {
        if $name == $own {
            return Some($crate::params::ParamValue::value($field));
        }
    };
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])+
                $field:ident : $type:ty $(= $default:expr $(=> ($low:expr, $high:expr))?)?;
            )*
        }
        $( presets { $(
            $(#[doc = $preset_doc:literal])+
            $preset:literal { $( $key:ident = $kind:ident($value:expr) ),* $(,)? }
        )* } )?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $( $(#[doc = $doc])+ pub $field: $type, )*
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $( $field: $crate::params!(@default $type $(, $default)?), )* }
            }
        }

        impl $crate::params::Params for $name {
            const SPECS: &'static [$crate::params::Spec] = {
                const PARTS: &[&[$crate::params::Spec]] = &[ $( $crate::params!(
                    @specs $type,
                    $crate::params::Spec {
                        name: stringify!($field),
                        kind: <$type as $crate::params::ParamValue>::KIND,
                        low: $crate::params!(@range $($($low, $high)?)?).0,
                        high: $crate::params!(@range $($($low, $high)?)?).1,
                        doc: concat!($($doc),+),
                    }
                    $(, $default)?
                ), )* ];
                &$crate::params::joined::<{ $crate::params::total(PARTS) }>(PARTS)
            };

            $( fn presets() -> &'static [$crate::params::Preset] {
                const PRESETS: &[$crate::params::Preset] = &[ $( $crate::params::Preset {
                    name: $preset,
                    doc: concat!($($preset_doc),+),
                    values: &[ $( (stringify!($key), $crate::params::Value::$kind($value)) ),* ],
                } ),* ];
                PRESETS
            } )?

            #[allow(unused_variables)] // a protocol without parameters
            fn set(
                &mut self,
                name: &str,
                value: $crate::params::Value,
            ) -> Result<(), $crate::params::Refused> {
                $( $crate::params!(
                    @set self.$field, stringify!($field), name, value,
                    $crate::params!(@range $($($low, $high)?)?) $(, $default)?
                ); )*
                Err($crate::params::Refused::Unknown)
            }

            #[allow(unused_variables)]
            fn get(&self, name: &str) -> Option<$crate::params::Value> {
                $( $crate::params!(@get self.$field, stringify!($field), name $(, $default)?); )*
                None
            }
        }
    };
}

/// Declares a parameter that is one of a list of words: `Variant = "word"`.
#[macro_export]
macro_rules! choice {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $( $(#[$vmeta:meta])* $variant:ident = $word:literal ),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $( $(#[$vmeta])* $variant, )+ }

        impl $crate::params::ParamValue for $name {
            const KIND: $crate::params::Kind = $crate::params::Kind::Choice(&[$($word),+]);
            fn value(self) -> $crate::params::Value {
                $crate::params::Value::Choice(match self { $( $name::$variant => $word, )+ })
            }
            fn from_value(value: $crate::params::Value) -> Option<Self> {
                match value {
                    $( $crate::params::Value::Choice($word) => Some($name::$variant), )+
                    _ => None,
                }
            }
            fn magnitude(self) -> Option<f64> { None }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    choice! {
        /// A test choice.
        pub enum Colour {
            /// Red.
            Red = "red",
            /// Blue.
            Blue = "blue",
        }
    }

    params! {
        /// A group of parameters.
        pub struct Rest {
            /// A weight.
            weight: f64 = 2.0 => (1.0, 3.0);
            /// A colour that is not blue.
            warm: First<Colour, 1> = First(Colour::Red);
        }
    }

    params! {
        /// Test parameters.
        pub struct Toy {
            /// A gain.
            gain: f64 = 0.5 => (0.0, 1.0);
            /// A period.
            period: Span = Span::from_millis(10) => (0.001, 1.0);
            /// A switch.
            on: bool = true;
            /// A colour.
            colour: Colour = Colour::Red;
            /// More of them.
            more: Rest;
            /// The last.
            last: u64 = 7 => (0.0, 9.0);
        }
        presets {
            /// As nobody used it.
            "still" { gain = Number(0.0), period = Span(Span::from_secs(1)) }
            /// The default in blue.
            "blue" { colour = Choice("blue") }
        }
    }

    #[test]
    fn values_are_set_by_name_within_their_range() {
        let mut toy = Toy::default();
        assert_eq!(toy.set("gain", Value::Number(0.25)), Ok(()));
        assert_eq!(toy.get("gain"), Some(Value::Number(0.25)));
        assert_eq!(toy.set("gain", Value::Number(1.5)), Err(Refused::Range));
        assert_eq!(toy.set("gain", Value::Number(f64::NAN)), Err(Refused::Range));
        assert_eq!(toy.set("gain", Value::Flag(true)), Err(Refused::Type));
        assert_eq!(toy.set("period", Value::Span(Span::from_secs(2))), Err(Refused::Range));
        assert_eq!(toy.set("colour", Value::Choice("blue")), Ok(()));
        assert_eq!(toy.set("colour", Value::Choice("green")), Err(Refused::Type));
        assert_eq!(toy.set("shape", Value::Flag(true)), Err(Refused::Unknown));
        assert_eq!(toy, Toy { gain: 0.25, colour: Colour::Blue, ..Toy::default() });
    }

    #[test]
    fn a_groups_parameters_are_as_if_they_stood_in_its_place() {
        let mut toy = Toy::default();
        assert_eq!(
            (toy.get("weight"), toy.get("last")),
            (Some(Value::Number(2.0)), Some(Value::Count(7)))
        );
        assert_eq!(toy.set("weight", Value::Number(3.0)), Ok(()));
        assert_eq!(toy.set("weight", Value::Number(3.5)), Err(Refused::Range));
        assert_eq!(toy.set("warm", Value::Choice("blue")), Err(Refused::Type));
        assert_eq!(toy.set("warm", Value::Choice("red")), Ok(()));
        assert_eq!(toy.set("last", Value::Count(9)), Ok(()));
        assert_eq!(toy.set("more", Value::Number(1.0)), Err(Refused::Unknown));
        let more = Rest { weight: 3.0, ..Rest::default() };
        assert_eq!(toy, Toy { more, last: 9, ..Toy::default() });
    }

    #[test]
    fn presets_are_names_and_values() {
        let [still, blue] = Toy::presets() else { panic!("two presets") };
        assert_eq!((still.name, still.doc.trim()), ("still", "As nobody used it."));
        let second = Value::Span(Span::from_secs(1));
        assert_eq!(still.values, [("gain", Value::Number(0.0)), ("period", second)]);
        assert_eq!(blue.values, [("colour", Value::Choice("blue"))]);
    }

    #[test]
    fn specs_tell_what_a_user_may_write() {
        let names: [&str; 7] = core::array::from_fn(|i| Toy::specs()[i].name);
        assert_eq!(names, ["gain", "period", "on", "colour", "weight", "warm", "last"]);
        assert_eq!(Toy::specs()[3].kind, Kind::Choice(&["red", "blue"]));
        assert_eq!(Toy::specs()[5].kind, Kind::Choice(&["red"]));
        assert_eq!(Toy::specs()[0].doc.trim(), "A gain.");
    }
}

//! Where is everything about one setting? In one row of a table: its name, kind, default, limits and meaning, whether it
//! can change while a crawl runs, and what WIRE called it.
//!
//! From the rows come the struct with the checked values, the parser, the commented file and `docs/settings.md`.

/// A part of the settings with a name of its own.
pub(crate) trait Section {
    /// As in square brackets in the file.
    fn name(&self) -> &'static str;

    /// What it is about.
    fn about(&self) -> &'static [&'static str];

    /// All settings with their values.
    fn rows(&self) -> Vec<Row>;

    /// Changes one setting; says in a sentence what is wrong with a value.
    fn set(&mut self, name: &str, written: &toml::Value) -> Result<(), SetError>;

    /// The same with a value given as one bare word, where numbers need no other form than text.
    fn set_word(&mut self, name: &str, word: &str) -> Result<(), SetError> {
        let bare = word.parse().map(toml::Value::Integer).or_else(|_| word.parse().map(toml::Value::Boolean));
        let as_bare = bare.map(|bare| self.set(name, &bare));
        match (as_bare, self.set(name, &toml::Value::String(word.to_owned()))) {
            (Ok(Ok(())), _) | (_, Ok(())) => Ok(()),
            (Ok(Err(error)), _) | (Err(_), Err(error)) => Err(error),
        }
    }
}

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) kind: &'static str,
    /// As it stands in the file.
    pub(crate) value: String,
    pub(crate) meaning: &'static [&'static str],
    /// Whether a running crawl takes a new value when it is told to read the file again.
    pub(crate) at_once: bool,
    /// The path of the variable in WIRE's configuration.
    pub(crate) wire: Option<&'static str>,
}

/// Why a setting was not set.
#[derive(Debug)]
pub(crate) enum SetError {
    /// There is none of this name.
    Unknown,
    /// The value is wrong: a sentence.
    Wrong(String),
}

/// Defines a section from its rows.
macro_rules! section {
    (
        $(#[doc = $about:literal])+
        $name:literal, $Section:ident {
            $(
                $(#[doc = $meaning:literal])+
                $field:ident: $Kind:ty = $default:expr
                    $(, within $range:expr)? $(, wire $wire:literal)? $(, applies $running:tt)?;
            )+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq)]
        pub(crate) struct $Section {
            $($(#[doc = $meaning])+ pub(crate) $field: $Kind,)+
        }

        impl Default for $Section {
            fn default() -> $Section {
                $Section { $($field: $default,)+ }
            }
        }

        impl $crate::settings::section::Section for $Section {
            fn name(&self) -> &'static str {
                $name
            }

            fn about(&self) -> &'static [&'static str] {
                &[$($about),+]
            }

            fn rows(&self) -> Vec<$crate::settings::section::Row> {
                use $crate::settings::value::Value;
                vec![$($crate::settings::section::Row {
                    name: stringify!($field),
                    kind: <$Kind as Value>::KIND,
                    value: self.$field.write(),
                    meaning: &[$($meaning),+],
                    at_once: !<[&str]>::is_empty(&[$(stringify!($running))?]),
                    wire: <[&str]>::first(&[$($wire)?]).copied(),
                }),+]
            }

            fn set(
                &mut self,
                name: &str,
                written: &toml::Value,
            ) -> Result<(), $crate::settings::section::SetError> {
                use $crate::settings::section::SetError;
                use $crate::settings::value::Value;
                match name {
                    $(stringify!($field) => {
                        let value = <$Kind as Value>::read(written).map_err(SetError::Wrong)?;
                        $($crate::settings::section::within(&value, &$range)?;)?
                        self.$field = value;
                    })+
                    _ => return Err(SetError::Unknown),
                }
                Ok(())
            }
        }
    };
}

pub(crate) use section;

/// Whether a value lies between its limits.
pub(crate) fn within<V: super::value::Value + PartialOrd>(
    value: &V,
    range: &std::ops::RangeInclusive<V>,
) -> Result<(), SetError> {
    if range.contains(value) {
        return Ok(());
    }
    let [value, least, most] = [value, range.start(), range.end()].map(V::write);
    Err(SetError::Wrong(format!("{value} is out of bounds; write a value from {least} to {most}")))
}

//! Definition of settings: one row of a table per setting, with its name, kind, default, range and meaning, whether a
//! running crawl reloads it, and the variable of WIRE that it replaces.
//!
//! The rows generate the struct with the checked values, the parser, the commented file and `docs/settings.md`.

/// A section of the settings file.
pub(crate) trait Section {
    /// Name, as in square brackets in the file.
    fn name(&self) -> &'static str;

    /// Comment above the section, one entry per line.
    fn about(&self) -> &'static [&'static str];

    /// All settings with their values.
    fn rows(&self) -> Vec<SettingRow>;

    /// Sets one setting.
    fn set(&mut self, name: &str, written: &toml::Value) -> Result<(), SetError>;

    /// Sets one setting from a word of the command line or of a seed list: TOML, or a string or a list without quotes.
    fn set_word(&mut self, name: &str, word: &str) -> Result<(), SetError> {
        let toml = toml::from_str::<toml::Table>(&format!("value = {word}")).ok();
        let toml = toml.and_then(|mut table| table.remove("value"));
        let string = toml::Value::String(word.to_owned());
        let list = word.split(',').map(|entry| toml::Value::String(entry.trim().to_owned())).collect();
        // The first error describes the kind of value best.
        let mut first_error = None;
        for value in toml.into_iter().chain([string, toml::Value::Array(list)]) {
            match self.set(name, &value) {
                Ok(()) => return Ok(()),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        first_error.map_or(Ok(()), Err)
    }
}

/// One setting and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SettingRow {
    pub(crate) name: &'static str,
    pub(crate) kind: &'static str,
    /// As written in the file.
    pub(crate) value: String,
    pub(crate) meaning: &'static [&'static str],
    /// Whether a running crawl applies a new value on SIGHUP.
    pub(crate) reloadable: bool,
    /// Path of the variable in WIRE's configuration.
    pub(crate) wire: Option<&'static str>,
}

/// Error of [`Section::set`].
#[derive(Debug)]
pub(crate) enum SetError {
    /// The section has no setting of this name.
    Unknown,
    /// Invalid value, with a message that names no setting.
    Invalid(String),
}

/// Name of a setting: that of its field, without the prefix of raw identifiers (`r#match`).
pub(crate) fn setting_name(field: &'static str) -> &'static str {
    field.strip_prefix("r#").unwrap_or(field)
}

/// Defines a section from its rows.
macro_rules! section {
    (
        $(#[doc = $about:literal])+
        $name:literal, $Section:ident {
            $(
                $(#[doc = $meaning:literal])+
                $field:ident: $Kind:ty = $default:expr
                    $(, within $range:expr)? $(, wire $wire:literal)? $(, reload $yes:tt)?;
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

            fn rows(&self) -> Vec<$crate::settings::section::SettingRow> {
                use $crate::settings::value::Value;
                vec![$($crate::settings::section::SettingRow {
                    name: $crate::settings::section::setting_name(stringify!($field)),
                    kind: <$Kind as Value>::KIND,
                    value: self.$field.write(),
                    meaning: &[$($meaning),+],
                    reloadable: !<[&str]>::is_empty(&[$(stringify!($yes))?]),
                    wire: <[&str]>::first(&[$($wire)?]).copied(),
                }),+]
            }

            fn set(
                &mut self,
                name: &str,
                written: &toml::Value,
            ) -> Result<(), $crate::settings::section::SetError> {
                use $crate::settings::section::{SetError, setting_name};
                use $crate::settings::value::Value;
                match name {
                    $(_ if name == setting_name(stringify!($field)) => {
                        let value = <$Kind as Value>::read(written).map_err(SetError::Invalid)?;
                        $($crate::settings::section::check_range(&value, &$range)?;)?
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

/// Checks that a value lies within its range.
pub(crate) fn check_range<V: super::value::Value + PartialOrd>(
    value: &V,
    range: &std::ops::RangeInclusive<V>,
) -> Result<(), SetError> {
    if range.contains(value) {
        return Ok(());
    }
    let [value, min, max] = [value, range.start(), range.end()].map(V::write);
    Err(SetError::Invalid(format!("{value} out of range ({min} to {max})")))
}

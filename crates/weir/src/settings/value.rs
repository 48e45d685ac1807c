//! Kinds of values of settings: how each is read, written, and which message an invalid value gets.
//!
//! A message names no setting; the caller, which knows the name, prepends it.

use std::time::Duration;

/// Kind of value of a setting.
pub(crate) trait Value: Sized {
    /// Name of the kind in the documentation.
    const KIND: &'static str;

    /// Reads a value. The error is a message for the user.
    fn read(written: &toml::Value) -> Result<Self, String>;

    /// Writes the value as TOML.
    fn write(&self) -> String;
}

/// Parses a value of the command line.
pub(crate) fn parse_value<V: Value>(text: &str) -> Result<V, String> {
    V::read(&toml::Value::String(text.to_owned()))
}

/// Quotes a TOML value for an error message.
pub(crate) fn quoted(written: &toml::Value) -> String {
    match written {
        toml::Value::String(text) => format!("`{}`", shortened(text)),
        toml::Value::Array(_) => "`[...]`".to_owned(),
        toml::Value::Table(_) => "`{...}`".to_owned(),
        toml::Value::Integer(number) => format!("`{number}`"),
        toml::Value::Float(number) => format!("`{number:?}`"),
        toml::Value::Boolean(flag) => format!("`{flag}`"),
        toml::Value::Datetime(date) => format!("`{date}`"),
    }
}

fn shortened(text: &str) -> String {
    const MAX_CHARS: usize = 80;
    let short: String = text.chars().take(MAX_CHARS).flat_map(char::escape_default).collect();
    if text.chars().nth(MAX_CHARS).is_some() { format!("{short}...") } else { short }
}

macro_rules! whole_numbers {
    ($($Number:ty),*) => {$(
        impl Value for $Number {
            const KIND: &'static str = "number";

            fn read(written: &toml::Value) -> Result<$Number, String> {
                let number = written.as_integer().and_then(|number| number.try_into().ok());
                number.ok_or_else(|| {
                    format!("invalid number {}; example: 100 (0 to {}, without quotes)", quoted(written), <$Number>::MAX)
                })
            }

            fn write(&self) -> String {
                let digits = self.to_string();
                let mut text = String::new();
                for (index, digit) in digits.chars().enumerate() {
                    if index > 0 && digits.len() > 4 && (digits.len() - index).is_multiple_of(3) {
                        text.push('_');
                    }
                    text.push(digit);
                }
                text
            }
        }
    )*};
}

whole_numbers!(u8, u16, u32);

impl Value for f32 {
    const KIND: &'static str = "number";

    fn read(written: &toml::Value) -> Result<f32, String> {
        let whole = written.as_integer().map(|number| number as f64);
        let number = written.as_float().or(whole).filter(|number| number.is_finite());
        let invalid = || format!("invalid number {}; example: 0.5 (without quotes)", quoted(written));
        number.map(|number| number as f32).ok_or_else(invalid)
    }

    fn write(&self) -> String {
        // Debug output always has a decimal point, which TOML requires for floats.
        format!("{self:?}")
    }
}

impl Value for bool {
    const KIND: &'static str = "true or false";

    fn read(written: &toml::Value) -> Result<bool, String> {
        let invalid = || format!("invalid boolean {}; use true or false, without quotes", quoted(written));
        written.as_bool().ok_or_else(invalid)
    }

    fn write(&self) -> String {
        self.to_string()
    }
}

impl Value for String {
    const KIND: &'static str = "string";

    fn read(written: &toml::Value) -> Result<String, String> {
        let text = written
            .as_str()
            .ok_or_else(|| format!("invalid string {}; write it in quotes", quoted(written)))?;
        if text.chars().any(char::is_control) {
            // The text is not quoted: it may be a cookie.
            return Err("the string contains a control character; remove it".to_owned());
        }
        Ok(text.trim().to_owned())
    }

    fn write(&self) -> String {
        // `read` rejects control characters, so these are the only two characters to escape in TOML.
        format!("\"{}\"", self.replace('\\', "\\\\").replace('"', "\\\""))
    }
}

/// An optional value; the string `none` disables the setting.
impl<V: Value> Value for Option<V> {
    const KIND: &'static str = V::KIND;

    fn read(written: &toml::Value) -> Result<Option<V>, String> {
        if written.as_str() == Some("none") { Ok(None) } else { V::read(written).map(Some) }
    }

    fn write(&self) -> String {
        self.as_ref().map_or_else(|| "\"none\"".to_owned(), V::write)
    }
}

/// Maximum number of entries of a list.
const MAX_LIST_ENTRIES: usize = 100_000;

impl<V: Value> Value for Vec<V> {
    const KIND: &'static str = V::KIND;

    fn read(written: &toml::Value) -> Result<Vec<V>, String> {
        let list = written.as_array();
        let list =
            list.ok_or_else(|| format!("invalid list {}; write it in square brackets", quoted(written)))?;
        if list.len() > MAX_LIST_ENTRIES {
            return Err(format!("the list has {} entries, maximum {MAX_LIST_ENTRIES}", list.len()));
        }
        list.iter().map(V::read).collect()
    }

    fn write(&self) -> String {
        const WIDTH: usize = 110;
        let entries: Vec<String> = self.iter().map(V::write).collect();
        let line = format!("[{}]", entries.join(", "));
        if line.len() <= WIDTH {
            return line;
        }
        let mut text = "[".to_owned();
        let mut room = 0;
        for entry in &entries {
            if room < entry.len() + 2 {
                text.push_str("\n   ");
                room = WIDTH - 4;
            }
            text.push_str(&format!(" {entry},"));
            room -= (entry.len() + 2).min(room);
        }
        text.push_str("\n]");
        text
    }
}

/// Number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Size(pub(crate) u64);

const SIZES: [(&str, u64); 7] = [
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("kB", 1_000),
    ("KiB", 1 << 10),
    ("B", 1),
];

impl Value for Size {
    const KIND: &'static str = "size";

    fn read(written: &toml::Value) -> Result<Size, String> {
        let invalid = || format!("invalid size {}; examples: \"400 kB\", \"512 MiB\"", quoted(written));
        let (number, unit) = written.as_str().and_then(number_and_unit).ok_or_else(invalid)?;
        let (_, unit) = SIZES.iter().find(|(name, _)| *name == unit).ok_or_else(invalid)?;
        // The limit is far below 2^53, up to which an f64 holds integers exactly.
        let bytes = number * *unit as f64;
        if bytes < 1e15 { Ok(Size(bytes.round() as u64)) } else { Err(invalid()) }
    }

    fn write(&self) -> String {
        let whole = |(_, unit): &&(&str, u64)| self.0 > 0 && self.0.is_multiple_of(*unit);
        let (name, unit) = SIZES.iter().find(whole).unwrap_or(&("B", 1));
        format!("\"{} {name}\"", self.0 / unit)
    }
}

const TIMES: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

impl Value for Duration {
    const KIND: &'static str = "duration";

    fn read(written: &toml::Value) -> Result<Duration, String> {
        let invalid = || {
            let value = quoted(written);
            let number = written.as_integer().map(|number| number.to_string());
            let text = written.as_str().map(|text| text.trim().to_owned());
            match number.or(text).filter(|text| text.parse::<f64>().is_ok_and(|number| number >= 0.0)) {
                Some(number) => {
                    format!(
                        "{value} has no unit; use \"{number}s\", \"{number}ms\", \"{number}m\", \"{number}h\" or \"{number}d\""
                    )
                }
                None => format!("invalid duration {value}; examples: \"15s\", \"500ms\", \"2h\", \"1d\""),
            }
        };
        let (number, unit) = written.as_str().and_then(number_and_unit).ok_or_else(invalid)?;
        let (_, unit) = TIMES.iter().find(|(name, _)| *name == unit).ok_or_else(invalid)?;
        let ms = number * *unit as f64;
        // About thirty years.
        if ms < 1e12 { Ok(Duration::from_millis(ms.round() as u64)) } else { Err(invalid()) }
    }

    fn write(&self) -> String {
        let ms = self.as_millis() as u64;
        let whole = |(_, unit): &&(&str, u64)| ms > 0 && ms.is_multiple_of(*unit);
        let (name, unit) = TIMES.iter().find(whole).unwrap_or(&("s", 1_000));
        format!("\"{}{name}\"", ms / unit)
    }
}

/// Splits `1.5 GB` or `15s` into number and unit.
fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let digits = text.find(|char: char| !char.is_ascii_digit() && char != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    Some((number.parse().ok()?, unit.trim()))
}

/// Implements [`Value`] for an enum whose values are words.
macro_rules! choices {
    ($Type:ty, $kind:literal, $($value:path = $word:literal),+) => {
        impl $crate::settings::value::Value for $Type {
            const KIND: &'static str = $kind;

            fn read(written: &toml::Value) -> Result<$Type, String> {
                match written.as_str() {
                    $(Some($word) => Ok($value),)+
                    _ => Err(format!(
                        "invalid {} {}; use {}",
                        $kind,
                        $crate::settings::value::quoted(written),
                        [$(concat!("\"", $word, "\"")),+].join(" or "),
                    )),
                }
            }

            fn write(&self) -> String {
                match self {
                    $($value => concat!("\"", $word, "\"").to_owned(),)+
                }
            }
        }
    };
}

pub(crate) use choices;

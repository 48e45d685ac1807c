//! Which kinds of values can a setting have? Each kind knows how it is read, how it is written, and what to say to
//! somebody who wrote something else.
//!
//! A sentence about a wrong value names no setting: whoever knows its name puts it before.

use std::time::Duration;

/// A kind of value.
pub(crate) trait Value: Sized {
    /// What it is called in the documentation.
    const KIND: &'static str;

    /// Reads it; else says in a sentence what is wrong and what to write.
    fn read(written: &toml::Value) -> Result<Self, String>;

    /// As it stands in the file.
    fn write(&self) -> String;
}

/// Reads a value given as text on the command line.
pub(crate) fn word<V: Value>(text: &str) -> Result<V, String> {
    V::read(&toml::Value::String(text.to_owned()))
}

/// What was written, for a sentence about it.
pub(crate) fn quoted(written: &toml::Value) -> String {
    match written {
        toml::Value::String(text) => format!("`{}`", shortened(text)),
        toml::Value::Array(_) => "a list".to_owned(),
        toml::Value::Table(_) => "a table".to_owned(),
        toml::Value::Integer(number) => format!("`{number}`"),
        toml::Value::Float(number) => format!("`{number:?}`"),
        toml::Value::Boolean(flag) => format!("`{flag}`"),
        toml::Value::Datetime(_) => "a date".to_owned(),
    }
}

fn shortened(text: &str) -> String {
    const LIMIT_CHARS: usize = 80;
    let short: String = text.chars().take(LIMIT_CHARS).flat_map(char::escape_default).collect();
    if text.chars().nth(LIMIT_CHARS).is_some() { format!("{short}...") } else { short }
}

macro_rules! whole_numbers {
    ($($Number:ty),*) => {$(
        impl Value for $Number {
            const KIND: &'static str = "number";

            fn read(written: &toml::Value) -> Result<$Number, String> {
                let number = written.as_integer().and_then(|number| number.try_into().ok());
                number.ok_or_else(|| {
                    format!("{} is no number from 0 to {}; write digits without quotes", quoted(written), <$Number>::MAX)
                })
            }

            fn write(&self) -> String {
                let digits = self.to_string();
                let mut text = String::new();
                for (place, digit) in digits.chars().enumerate() {
                    if place > 0 && digits.len() > 4 && (digits.len() - place).is_multiple_of(3) {
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
        let wrong = || format!("{} is no number; write one such as 0.5, without quotes", quoted(written));
        number.map(|number| number as f32).ok_or_else(wrong)
    }

    fn write(&self) -> String {
        // Always with a point, as TOML wants it.
        format!("{self:?}")
    }
}

impl Value for bool {
    const KIND: &'static str = "true or false";

    fn read(written: &toml::Value) -> Result<bool, String> {
        let wrong =
            || format!("{} is neither true nor false; write one of them without quotes", quoted(written));
        written.as_bool().ok_or_else(wrong)
    }

    fn write(&self) -> String {
        self.to_string()
    }
}

impl Value for String {
    const KIND: &'static str = "text";

    fn read(written: &toml::Value) -> Result<String, String> {
        let text =
            written.as_str().ok_or_else(|| format!("{} is no text; write it in quotes", quoted(written)))?;
        if text.chars().any(char::is_control) {
            return Err(format!("`{}` has a control character; leave it out", shortened(text)));
        }
        Ok(text.trim().to_owned())
    }

    fn write(&self) -> String {
        // Control characters are never read, so these two are all that TOML wants escaped.
        format!("\"{}\"", self.replace('\\', "\\\\").replace('"', "\\\""))
    }
}

/// A value that may be missing: the word `none`.
impl<V: Value> Value for Option<V> {
    const KIND: &'static str = V::KIND;

    fn read(written: &toml::Value) -> Result<Option<V>, String> {
        if written.as_str() == Some("none") { Ok(None) } else { V::read(written).map(Some) }
    }

    fn write(&self) -> String {
        self.as_ref().map_or_else(|| "\"none\"".to_owned(), V::write)
    }
}

/// A list has no more entries than this.
const LIST_LIMIT: usize = 100_000;

impl<V: Value> Value for Vec<V> {
    const KIND: &'static str = V::KIND;

    fn read(written: &toml::Value) -> Result<Vec<V>, String> {
        let list = written.as_array();
        let list =
            list.ok_or_else(|| format!("{} is no list; write it in square brackets", quoted(written)))?;
        if list.len() > LIST_LIMIT {
            return Err(format!("the list has {} entries, and may have {LIST_LIMIT}", list.len()));
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

/// A number of bytes.
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
        let wrong = || {
            format!(
                "{} is no size; write a number and a unit in quotes, such as \"400 kB\" or \"512 MiB\"",
                quoted(written)
            )
        };
        let (number, unit) = written.as_str().and_then(number_and_unit).ok_or_else(wrong)?;
        let (_, unit) = SIZES.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
        // The largest is far below what a float holds exactly.
        let bytes = number * *unit as f64;
        if bytes < 1e15 { Ok(Size(bytes.round() as u64)) } else { Err(wrong()) }
    }

    fn write(&self) -> String {
        let whole = |(_, unit): &&(&str, u64)| self.0 > 0 && self.0.is_multiple_of(*unit);
        let (name, unit) = SIZES.iter().find(whole).unwrap_or(&("B", 1));
        format!("\"{} {name}\"", self.0 / unit)
    }
}

const TIMES: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

impl Value for Duration {
    const KIND: &'static str = "time";

    fn read(written: &toml::Value) -> Result<Duration, String> {
        let wrong = || {
            let what = quoted(written);
            let number = written.as_integer().map(|number| number.to_string());
            let text = written.as_str().map(|text| text.trim().to_owned());
            match number.or(text).filter(|text| text.parse::<f64>().is_ok_and(|number| number >= 0.0)) {
                Some(number) => format!(
                    "{what} has no unit; write \"{number}s\" for seconds, or \"{number}ms\", \"{number}m\", \"{number}h\", \
                     \"{number}d\""
                ),
                None => format!(
                    "{what} is no time; write a number and a unit, such as \"15s\", \"500ms\", \"2h\" or \"1d\""
                ),
            }
        };
        let (number, unit) = written.as_str().and_then(number_and_unit).ok_or_else(wrong)?;
        let (_, unit) = TIMES.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
        let ms = number * *unit as f64;
        // Some thirty years.
        if ms < 1e12 { Ok(Duration::from_millis(ms.round() as u64)) } else { Err(wrong()) }
    }

    fn write(&self) -> String {
        let ms = self.as_millis() as u64;
        let whole = |(_, unit): &&(&str, u64)| ms > 0 && ms.is_multiple_of(*unit);
        let (name, unit) = TIMES.iter().find(whole).unwrap_or(&("s", 1_000));
        format!("\"{}{name}\"", ms / unit)
    }
}

/// `1.5 GB` or `15s`.
fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let digits = text.find(|char: char| !char.is_ascii_digit() && char != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    Some((number.parse().ok()?, unit.trim()))
}

/// A kind whose values are words; each word is given with what it means.
macro_rules! words {
    ($Type:ty, $kind:literal, $($value:path = $word:literal),+) => {
        impl $crate::settings::value::Value for $Type {
            const KIND: &'static str = $kind;

            fn read(written: &toml::Value) -> Result<$Type, String> {
                match written.as_str() {
                    $(Some($word) => Ok($value),)+
                    _ => Err(format!(
                        "{} is none of the words for it; write {}",
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

pub(crate) use words;

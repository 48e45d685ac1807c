//! How are pages kept?

use store::Keep;

use crate::settings::section::section;
use crate::settings::value::{Size, Value, quoted};

section! {
    /// How pages are kept.
    "pages", PagesSection {
        /// Which versions of a page `weir compact` leaves: "all", "latest", or a number of the newest.
        keep: Keep = Keep::All;
        /// A WARC file is not appended to beyond this size.
        roll_over: Size = Size(1_000_000_000), within Size(1)..=Size(1 << 40);
        /// How much they are compressed, from 1 (fast) to 12 (small).
        compression_level: u8 = 1, within 1..=12;
        /// Whether `weir crawl` keeps its requests beside the answers, as WARC records of their own.
        requests: bool = false;
    }
}

impl Value for Keep {
    const KIND: &'static str = "word or number";

    fn read(written: &toml::Value) -> Result<Keep, String> {
        match written {
            toml::Value::Integer(count) => parse_keep(&count.to_string()),
            toml::Value::String(word) => parse_keep(word),
            other => Err(format!(
                "{} says not what to keep; write \"all\", \"latest\", or a number from 1 on",
                quoted(other)
            )),
        }
    }

    fn write(&self) -> String {
        match self {
            Keep::All => "\"all\"".to_owned(),
            Keep::Latest => "\"latest\"".to_owned(),
            Keep::Versions(count) => count.to_string(),
        }
    }
}

/// Which versions are kept, in a word.
pub(crate) fn parse_keep(word: &str) -> Result<Keep, String> {
    match word {
        "all" => Ok(Keep::All),
        "latest" => Ok(Keep::Latest),
        number => match number.parse() {
            Ok(count) if count > 0 => Ok(Keep::Versions(count)),
            _ => Err(format!("`{word}` says not what to keep; write all, latest, or a number from 1 on")),
        },
    }
}

//! WARC storage.

use store::RetentionPolicy;

use crate::settings::section::section;
use crate::settings::value::{Size, Value, quoted};

section! {
    /// WARC storage.
    "warc", WarcSection {
        /// Versions of a page that `weir compact` keeps: "all", "latest" or a number.
        keep_versions: RetentionPolicy = RetentionPolicy::All;
        /// Maximum size of a WARC file; above it, a new file is started.
        max_file_size: Size = Size(1_000_000_000), within Size(1)..=Size(1 << 40);
        /// gzip level, 1 (fast) to 12 (small).
        compression_level: u8 = 1, within 1..=12;
        /// Also store request records.
        request_records: bool = false;
    }
}

impl Value for RetentionPolicy {
    const KIND: &'static str = "choice or number";

    fn read(written: &toml::Value) -> Result<RetentionPolicy, String> {
        match written {
            toml::Value::Integer(count) => parse_keep_versions(&count.to_string()),
            toml::Value::String(word) => parse_keep_versions(word),
            other => {
                Err(format!("invalid number of versions {}; use all, latest or a number", quoted(other)))
            }
        }
    }

    fn write(&self) -> String {
        match self {
            RetentionPolicy::All => "\"all\"".to_owned(),
            RetentionPolicy::Latest => "\"latest\"".to_owned(),
            RetentionPolicy::Versions(count) => count.to_string(),
        }
    }
}

/// Parses the versions to keep: `all`, `latest` or a number.
pub(crate) fn parse_keep_versions(word: &str) -> Result<RetentionPolicy, String> {
    match word {
        "all" => Ok(RetentionPolicy::All),
        "latest" => Ok(RetentionPolicy::Latest),
        number => match number.parse() {
            Ok(count) if count > 0 => Ok(RetentionPolicy::Versions(count)),
            _ => Err(format!("invalid number of versions `{word}`; use all, latest or a number")),
        },
    }
}

//! Crawler-trap rules.

use std::ops::RangeInclusive;

use crate::settings::section::section;
use crate::settings::value::{Size, Value, quoted};

section! {
    /// Crawler-trap rules: URLs that exceed one of these limits are rejected.
    "traps", TrapsSection {
        /// Maximum URL length.
        max_url_length: Size = Size(1_024), within Size(64)..=Size(16_000), reload yes;
        /// Maximum number of path segments.
        max_path_segments: u16 = 20, within 1..=10_000, reload yes;
        /// Maximum number of equal path segments.
        max_segment_repeats: u16 = 3, within 1..=10_000, reload yes;
        /// Maximum number of consecutive repetitions of a sequence of two or more segments (/a/b/a/b = 2).
        max_sequence_repeats: u16 = 2, within 1..=10_000, reload yes;
        /// Maximum number of query parameters.
        max_query_parameters: u16 = 12, within 0..=10_000, reload yes;
        /// Years followed in calendar URLs; "none" = all.
        calendar_years: Option<Years> = Some(Years(1990..=2035)), reload yes;
    }
}

/// Range of years.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Years(pub(crate) RangeInclusive<u16>);

impl Value for Years {
    const KIND: &'static str = "years";

    fn read(written: &toml::Value) -> Result<Years, String> {
        let years = written.as_str().and_then(|text| text.split_once('-'));
        let years =
            years.and_then(|(first, last)| Some((first.trim().parse().ok()?, last.trim().parse().ok()?)));
        match years {
            Some((first, last)) if first <= last => Ok(Years(first..=last)),
            _ => {
                Err(format!("invalid range of years {}; examples: \"1990-2035\", \"none\"", quoted(written)))
            }
        }
    }

    fn write(&self) -> String {
        format!("\"{}-{}\"", self.0.start(), self.0.end())
    }
}

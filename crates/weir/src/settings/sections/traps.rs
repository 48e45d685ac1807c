//! Which URLs look like endlessly many that a program makes up?

use std::ops::RangeInclusive;

use crate::settings::section::section;
use crate::settings::value::{Size, Value, quoted};

section! {
    /// Which URLs look like endlessly many that a program makes up, and are left out. Each number is the most that is still
    /// accepted.
    "traps", TrapsSection {
        /// Length of the URL.
        url: Size = Size(1_024), within Size(64)..=Size(16_000);
        /// Parts of its path between slashes.
        segments: u16 = 20, within 1..=10_000;
        /// How often the same part may occur.
        same_segment: u16 = 3, within 1..=10_000;
        /// How often the same two or more parts may follow one another: /a/b/a/b has 2.
        same_run: u16 = 2, within 1..=10_000;
        /// Parameters of its query.
        parameters: u16 = 12, within 0..=10_000;
        /// The years in which calendars are followed; "none" follows them for ever.
        years: Option<Years> = Some(Years(1990..=2035));
    }
}

/// Years from one to another.
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
            _ => Err(format!(
                "{} is no time in years; write one such as \"1990-2035\", or \"none\"",
                quoted(written)
            )),
        }
    }

    fn write(&self) -> String {
        format!("\"{}-{}\"", self.0.start(), self.0.end())
    }
}

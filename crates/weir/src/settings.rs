//! What does the user want of a collection? `weir.toml`, first as written, then checked.
//!
//! Whatever the file does not say has a default. A name that nobody knows is an error that suggests the nearest one:
//! a setting with a typing mistake must not be silently without effect.

use std::fs;
use std::io;
use std::path::Path;

use serde::Deserialize;
use store::{Keep, PageSettings};

use crate::failure::WrongUse;

/// The file in a collection's folder.
pub(crate) const FILE: &str = "weir.toml";

/// The settings of a collection, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Which versions of a page a compaction leaves.
    pub(crate) keep: Keep,
    /// A WARC file is not appended to beyond this size.
    pub(crate) roll_over_bytes: u64,
    /// From 1, fast, to 12, small.
    pub(crate) compression_level: u8,
    /// The crawl stays on hosts with these endings; anywhere if there are none.
    pub(crate) accept: Vec<String>,
}

impl Default for Settings {
    fn default() -> Settings {
        let PageSettings { roll_over_bytes, level, .. } = PageSettings::default();
        Settings { keep: Keep::All, roll_over_bytes, compression_level: level, accept: Vec::new() }
    }
}

/// The file as it is written.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Written {
    accept: Vec<String>,
    pages: WrittenPages,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WrittenPages {
    keep: Option<WordOrNumber>,
    roll_over: Option<String>,
    compression_level: Option<u8>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WordOrNumber {
    Number(u32),
    Word(String),
}

/// Every name there is, with its section.
const NAMES: [&str; 5] = ["accept", "pages", "pages.keep", "pages.roll_over", "pages.compression_level"];

impl Settings {
    /// Reads the settings of a collection; without the file, all of them are the defaults.
    pub(crate) fn load(folder: &Path) -> anyhow::Result<Settings> {
        let path = folder.join(FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Settings::default()),
            Err(error) => return Err(WrongUse(format!("cannot read {}: {error}", path.display())).into()),
        };
        let wrong = |what| WrongUse(format!("{}: {what}", path.display()));
        Ok(Settings::parse(&text).map_err(wrong)?)
    }

    fn parse(text: &str) -> Result<Settings, String> {
        let table: toml::Table = toml::from_str(text).map_err(|error| error.to_string())?;
        known_names(&table, "")?;
        let written: Written = table.try_into().map_err(|error: toml::de::Error| error.to_string())?;
        let mut settings = Settings::default();
        for suffix in &written.accept {
            settings.accept.push(checked_suffix(suffix)?);
        }
        let WrittenPages { keep, roll_over, compression_level } = written.pages;
        if let Some(keep) = keep {
            settings.keep = match keep {
                WordOrNumber::Number(count) => parse_keep(&count.to_string()),
                WordOrNumber::Word(word) => parse_keep(&word),
            }?;
        }
        if let Some(size) = roll_over {
            settings.roll_over_bytes = parse_size(&size)?;
        }
        if let Some(level) = compression_level {
            if !(1..=12).contains(&level) {
                return Err(format!("compression_level is {level}, and must be from 1 to 12"));
            }
            settings.compression_level = level;
        }
        Ok(settings)
    }

    /// As a file that explains itself.
    pub(crate) fn to_toml(&self) -> String {
        let accept: Vec<String> = self.accept.iter().map(|suffix| format!("{suffix:?}")).collect();
        let keep = match self.keep {
            Keep::All => "all".to_owned(),
            Keep::Latest => "latest".to_owned(),
            Keep::Versions(count) => count.to_string(),
        };
        format!(
            "# Settings of this collection. What is not said here has the value shown here at first.\n\
             \n\
             # The crawl stays on hosts that end so; an empty list lets it go anywhere.\n\
             accept = [{}]\n\
             \n\
             [pages]\n\
             # Which versions of a page `weir compact` leaves: \"all\", \"latest\", or a number of the newest.\n\
             keep = \"{keep}\"\n\
             # A WARC file is not appended to beyond this size.\n\
             roll_over = \"{}\"\n\
             # From 1 (fast) to 12 (small).\n\
             compression_level = {}\n",
            accept.join(", "),
            written_size(self.roll_over_bytes),
            self.compression_level,
        )
    }

    /// What the store is to know of it.
    pub(crate) fn page_settings(&self) -> PageSettings {
        PageSettings {
            roll_over_bytes: self.roll_over_bytes,
            level: self.compression_level,
            info: warc_info(),
            ..PageSettings::default()
        }
    }
}

/// What WARC files say about themselves.
pub(crate) fn warc_info() -> Vec<(String, String)> {
    vec![("software".to_owned(), concat!("weir/", env!("CARGO_PKG_VERSION")).to_owned())]
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

/// A host suffix such as `.example.org` in its canonical form.
pub(crate) fn checked_suffix(text: &str) -> Result<String, String> {
    let bare = text.trim().trim_start_matches("*.").trim_start_matches('.');
    let wrong = || format!("`{text}` is no ending of a host name, such as .example.org");
    if bare.is_empty() || bare.contains([':', '/', '?', '#', '@', '\\']) {
        return Err(wrong());
    }
    let url = model::UrlRules::default().canonical(&format!("http://{bare}/")).map_err(|_| wrong())?;
    Ok(format!(".{}", url.host()))
}

fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no size; write a number and a unit, such as 1 GB or 512 MiB");
    let digits = text.find(|char: char| !char.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let unit = UNITS.iter().find(|(name, _)| *name == unit.trim()).ok_or_else(wrong)?;
    number.checked_mul(unit.1).filter(|bytes| *bytes > 0).ok_or_else(wrong)
}

/// Exactly, in the largest unit.
fn written_size(bytes: u64) -> String {
    let unit = UNITS.iter().find(|(_, unit)| bytes.is_multiple_of(*unit)).unwrap_or(&("B", 1));
    format!("{} {}", bytes / unit.1, unit.0)
}

const UNITS: [(&str, u64); 7] = [
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("kB", 1_000),
    ("KiB", 1 << 10),
    ("B", 1),
];

/// Looks for a name that nobody knows.
fn known_names(table: &toml::Table, section: &str) -> Result<(), String> {
    for (key, value) in table {
        let name = format!("{section}{key}");
        if !NAMES.contains(&name.as_str()) {
            let nearest =
                NAMES.iter().min_by_key(|known| distance(known, &name)).copied().unwrap_or_default();
            let guess = if distance(nearest, &name) <= 3 {
                format!("is `{nearest}` meant?")
            } else {
                format!("there are {}", NAMES.join(", "))
            };
            return Err(format!("there is no setting `{name}`; {guess}"));
        }
        if let Some(table) = value.as_table() {
            known_names(table, &format!("{name}."))?;
        }
    }
    Ok(())
}

/// How many letters must be put in, taken out or replaced to make one word of the other (Levenshtein).
fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (above, from) in from.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = above + 1;
        for (left, to) in to.bytes().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[left + 1];
            row[left + 1] = replaced.min(row[left] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(Settings::parse("").unwrap(), Settings::default());
        let settings = Settings {
            keep: Keep::Versions(3),
            roll_over_bytes: 512 << 20,
            compression_level: 6,
            accept: vec![".example.org".to_owned(), ".xn--bcher-kva.example".to_owned()],
        };
        for settings in [Settings::default(), settings] {
            assert_eq!(Settings::parse(&settings.to_toml()).unwrap(), settings);
        }
        assert_eq!(Settings::parse("[pages]\nkeep = 2").unwrap().keep, Keep::Versions(2));
        assert_eq!(Settings::parse("accept = ['*.Example.ORG']").unwrap().accept, [".example.org"]);
    }

    #[test]
    fn wrong_settings_are_refused_with_a_hint() {
        let error = |text: &str| Settings::parse(text).unwrap_err();
        assert_eq!(error("[pages]\nkep = 1"), "there is no setting `pages.kep`; is `pages.keep` meant?");
        assert!(error("colour = 'red'").starts_with("there is no setting `colour`; there are accept, "));
        assert!(error("[pages]\nkeep = 'some'").contains("`some`"));
        assert!(error("[pages]\nkeep = 0").contains("number from 1"));
        for size in ["0 GB", "1", "GB", "1 parsec", "99999999999 GB"] {
            assert!(error(&format!("[pages]\nroll_over = '{size}'")).contains("is no size"), "{size}");
        }
        assert!(error("[pages]\ncompression_level = 13").contains("from 1 to 12"));
        for suffix in ["", ".", "a b", "http://a/", "a/b", "a:80", "me@a"] {
            assert!(error(&format!("accept = ['{suffix}']")).contains("no ending"), "{suffix}");
        }
        assert!(error("keep").contains("expected"), "{}", error("keep"));
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_size("1 GB"), Ok(1_000_000_000));
        assert_eq!(parse_size("512MiB"), Ok(512 << 20));
        assert_eq!(written_size(1_000_000_000), "1 GB");
        assert_eq!(written_size(512 << 20), "512 MiB");
        assert_eq!(written_size(7), "7 B");
    }
}

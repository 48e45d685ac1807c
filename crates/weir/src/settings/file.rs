//! Reading and writing of the settings file.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::section::{Section, SetError, SettingRow};
use super::{Settings, SiteSection, suggestion};
use crate::exit::UsageError;

/// Name of the settings file in the directory of a collection.
pub(crate) const FILE: &str = "weir.toml";

/// Maximum size of a settings file. A file written by hand is far smaller.
const MAX_FILE_BYTES: u64 = 16 << 20;
/// Mode of a new settings file.
const PRIVATE_MODE: u32 = 0o600;

impl Settings {
    /// Reads the settings of a collection; the defaults if the file does not exist.
    pub(crate) fn load(dir: &Path) -> anyhow::Result<Settings> {
        // The collection may come from a stranger: a pipe would block, and a link would disclose another file.
        store::check_settings_file(dir).map_err(|error| UsageError(error.to_string()))?;
        let path = dir.join(FILE);
        match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Settings::default()),
            _ => Settings::load_file(&path),
        }
    }

    /// Reads a settings file outside a collection.
    pub(crate) fn load_file(path: &Path) -> anyhow::Result<Settings> {
        let mut text = String::new();
        let read = fs::File::open(path).and_then(|file| file.take(MAX_FILE_BYTES).read_to_string(&mut text));
        let cannot = |error: io::Error| UsageError(format!("cannot read {}: {error}", path.display()));
        read.map_err(cannot)?;
        let invalid = |message: String| {
            let lines: Vec<String> =
                message.lines().map(|line| format!("{}: {line}", path.display())).collect();
            UsageError(lines.join("\n"))
        };
        Ok(Settings::parse(&text).map_err(invalid)?)
    }

    /// Parses the text of a settings file. The error is a message for the user, with a line for each error in the file.
    pub(crate) fn parse(text: &str) -> Result<Settings, String> {
        let table: toml::Table = toml::from_str(text).map_err(|error| syntax_error(text, &error))?;
        let mut settings = Settings::default();
        let mut errors = Errors::default();
        for (name, value) in &table {
            if name == SITE {
                settings.sites = sites(value, &mut errors);
                continue;
            }
            let mut sections = settings.sections_mut().into_iter();
            match (sections.find(|section| section.name() == name), value.as_table()) {
                (Some(section), Some(table)) => fill(section, table, &[name], &mut errors),
                (Some(_), None) => {
                    errors.add(&[name], format!("`{name}` is a section; write [{name}] above its settings"));
                }
                (None, _) => errors.add(&[name], unknown(name)),
            }
        }
        errors.into_result(text).map(|()| settings)
    }

    /// Creates the settings file of a new collection, readable by its owner only: it can contain passwords.
    pub(crate) fn create_file(&self, path: &Path) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE_MODE).open(path)?;
        file.write_all(self.to_toml().as_bytes())
    }

    /// Writes the settings as a commented file.
    pub(crate) fn to_toml(&self) -> String {
        let mut text = INTRODUCTION.to_owned();
        for section in self.sections() {
            push_section(&mut text, section);
        }
        let site = SiteSection::default();
        text.push_str("\n#");
        site.about().iter().for_each(|line| text.push_str(&format!("{line}\n#")));
        text.push_str(" Example:\n#\n");
        text.push_str(SITE_EXAMPLE);
        text.push_str("#\n# Settings of an entry:\n");
        for row in site.rows() {
            let _ = writeln!(text, "#   {:14}{}", row.name, row.meaning.concat().trim());
        }
        text + &sites_to_toml(&self.sites)
    }

    /// Full names of the settings that differ in `new`, each with whether a running crawl reloads it.
    pub(crate) fn changes(&self, new: &Settings) -> Vec<(String, bool)> {
        let mut changes = Vec::new();
        for (old, new) in self.sections().into_iter().zip(new.sections()) {
            let rows = different_rows(new, old).into_iter();
            changes.extend(rows.map(|row| (format!("{}.{}", new.name(), row.name), row.reloadable)));
        }
        if self.sites != new.sites {
            changes.push((SITE.to_owned(), true));
        }
        changes
    }
}

const SITE: &str = "site";

const INTRODUCTION: &str = "\
# Settings of this collection, with their defaults; docs/settings.md lists all of them. A setting that is removed has
# its default. A running crawl reloads this file on SIGHUP and prints which changes it applies.
";

const SITE_EXAMPLE: &str = "\
#   [[site]]
#   match = \".example.org\"
#   delay = \"30s\"
#   max_pages = 1000
";

/// Appends `[[site]]` entries to a settings file.
pub(crate) fn append_sites(path: &Path, sites: &[SiteSection]) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).mode(PRIVATE_MODE).open(path)?;
    file.write_all(sites_to_toml(sites).as_bytes())
}

/// Message of a syntax error, with its position. The line itself is not quoted: it may contain a password.
fn syntax_error(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("line {}, column {column}: {}", before.matches('\n').count() + 1, error.message().trim())
}

/// Writes `[[site]]` entries, each with the settings that differ from the defaults.
fn sites_to_toml(sites: &[SiteSection]) -> String {
    let (mut text, default) = (String::new(), SiteSection::default());
    for site in sites {
        text.push_str("\n[[site]]\n");
        for row in different_rows(site, &default) {
            let _ = writeln!(text, "{} = {}", row.name, row.value);
        }
    }
    text
}

fn push_section(text: &mut String, section: &dyn Section) {
    text.push('\n');
    section.about().iter().for_each(|line| text.push_str(&format!("#{line}\n")));
    let _ = writeln!(text, "[{}]", section.name());
    for row in section.rows() {
        row.meaning.iter().for_each(|line| text.push_str(&format!("#{line}\n")));
        let _ = writeln!(text, "{} = {}", row.name, row.value);
    }
}

/// Rows of a section whose value differs from that in another section of the same type.
fn different_rows(section: &dyn Section, other: &dyn Section) -> Vec<SettingRow> {
    let rows = section.rows().into_iter().zip(other.rows());
    rows.filter(|(row, other)| row.value != other.value).map(|(row, _)| row).collect()
}

/// Errors of a file, each with the keys that lead to its place.
#[derive(Default)]
struct Errors(Vec<(Vec<String>, String)>);

impl Errors {
    fn add(&mut self, keys: &[&str], message: String) {
        self.0.push((keys.iter().map(|key| (*key).to_owned()).collect(), message));
    }

    /// Message with all errors in the order of their lines.
    fn into_result(self, text: &str) -> Result<(), String> {
        if self.0.is_empty() {
            return Ok(());
        }
        let document = toml::de::DeTable::parse(text).ok();
        let line = |keys: &[String]| {
            let start = key_start(document.as_ref()?.get_ref(), keys)?;
            Some(text.get(..start)?.matches('\n').count() + 1)
        };
        let mut errors: Vec<(usize, String)> =
            self.0.into_iter().map(|(keys, message)| (line(&keys).unwrap_or(0), message)).collect();
        errors.sort_by_key(|(line, _)| *line);
        let lines = errors.into_iter().map(|(line, message)| match line {
            0 => message,
            line => format!("line {line}: {message}"),
        });
        Err(lines.collect::<Vec<String>>().join("\n"))
    }
}

/// Position of the key at the end of a path; a number selects an entry of a list.
fn key_start(table: &toml::de::DeTable<'_>, keys: &[String]) -> Option<usize> {
    let (first, rest) = keys.split_first()?;
    let (key, value) = table.iter().find(|(key, _)| key.get_ref() == first)?;
    let start = key.span().start;
    let (table, rest) = match (value.get_ref(), rest) {
        (toml::de::DeValue::Table(table), rest) => (table, rest),
        (toml::de::DeValue::Array(list), [index, rest @ ..]) => {
            let entry = list.get(index.parse::<usize>().ok()?)?;
            let toml::de::DeValue::Table(table) = entry.get_ref() else { return Some(start) };
            if rest.is_empty() {
                return Some(entry.span().start);
            }
            (table, rest)
        }
        _ => return Some(start),
    };
    key_start(table, rest).or(Some(start))
}

/// Sets all settings of a TOML table, which is at the end of `path`.
fn fill(section: &mut dyn Section, table: &toml::Table, path: &[&str], errors: &mut Errors) {
    for (name, value) in table {
        let full = format!("{}.{name}", section.name());
        let message = match section.set(name, value) {
            Ok(()) => continue,
            Err(SetError::Unknown) => unknown(&full),
            Err(SetError::Invalid(message)) => format!("{full}: {message}"),
        };
        errors.add(&[path, &[name]].concat(), message);
    }
}

fn sites(value: &toml::Value, errors: &mut Errors) -> Vec<SiteSection> {
    let tables =
        value.as_array().map(|list| list.iter().map(toml::Value::as_table).collect::<Option<Vec<_>>>());
    let Some(Some(tables)) = tables else {
        let message = "`site` is a list of entries; write [[site]], in double brackets, above each";
        errors.add(&[SITE], message.to_owned());
        return Vec::new();
    };
    let mut sites = Vec::with_capacity(tables.len());
    for (index, table) in tables.into_iter().enumerate() {
        let mut site = SiteSection::default();
        let number = index.to_string();
        if !table.contains_key("match") {
            errors.add(
                &[SITE, &number],
                format!("entry {} of [[site]] has no `match`; example: match = \".example.org\"", index + 1),
            );
        }
        fill(&mut site, table, &[SITE, &number], errors);
        sites.push(site);
    }
    sites
}

/// Message about an unknown setting, with a suggestion.
pub(super) fn unknown(name: &str) -> String {
    let names = |section: &dyn Section| {
        let rows = section.rows().into_iter();
        rows.map(|row| format!("{}.{}", section.name(), row.name)).collect::<Vec<String>>()
    };
    let mut known: Vec<String> = Settings::default().sections().into_iter().flat_map(names).collect();
    known.extend(names(&SiteSection::default()));
    format!("unknown setting `{name}`; {}", suggestion::suggest(name, &known))
}

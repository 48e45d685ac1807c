//! How do settings come from their file and into it?

use std::fmt::Write;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

use super::section::{Row, Section, SetError};
use super::{Settings, SiteSection, names};
use crate::failure::WrongUse;

/// The file in a collection's folder.
pub(crate) const FILE: &str = "weir.toml";

/// Nobody writes longer files by hand.
const LIMIT_BYTES: u64 = 16 << 20;

impl Settings {
    /// Reads the settings of a collection; without the file, all of them are the defaults.
    pub(crate) fn load(folder: &Path) -> anyhow::Result<Settings> {
        let path = folder.join(FILE);
        if path.exists() { Settings::load_file(&path) } else { Ok(Settings::default()) }
    }

    /// Reads the settings of a file, wherever it lies.
    pub(crate) fn load_file(path: &Path) -> anyhow::Result<Settings> {
        let mut text = String::new();
        let read = fs::File::open(path).and_then(|file| file.take(LIMIT_BYTES).read_to_string(&mut text));
        let cannot = |error: io::Error| WrongUse(format!("cannot read {}: {error}", path.display()));
        read.map_err(cannot)?;
        let wrong = |what| WrongUse(format!("{}: {what}", path.display()));
        Ok(Settings::parse(&text).map_err(wrong)?)
    }

    /// Reads the text of a file; else says in a sentence what is wrong and what to write.
    pub(crate) fn parse(text: &str) -> Result<Settings, String> {
        let table: toml::Table = toml::from_str(text).map_err(|error| error.to_string())?;
        let mut settings = Settings::default();
        for (name, value) in &table {
            if name == SITE {
                settings.sites = sites(value)?;
                continue;
            }
            let mut sections = settings.sections_mut().into_iter();
            match (sections.find(|section| section.name() == name), value.as_table()) {
                (Some(section), Some(table)) => fill(section, table, &format!("{name}."))?,
                (Some(_), None) => {
                    return Err(format!("`{name}` is a section; write [{name}] above its settings"));
                }
                (None, _) => return Err(unknown(name)),
            }
        }
        Ok(settings)
    }

    /// As a file that explains itself.
    pub(crate) fn to_toml(&self) -> String {
        let mut text = INTRODUCTION.to_owned();
        for section in self.sections() {
            push_section(&mut text, section);
        }
        let every = SiteSection::default();
        text.push_str("\n#");
        every.about().iter().for_each(|line| text.push_str(&format!("{line}\n#")));
        text.push_str(" For example:\n#\n");
        text.push_str(SITE_EXAMPLE);
        text.push_str("#\n# What an entry may have:\n");
        for row in every.rows() {
            let _ = writeln!(text, "#   {:14}{}", row.name, row.meaning.concat().trim());
        }
        text + &sites_to_toml(&self.sites)
    }

    /// The names of the settings that differ in `new`, each with whether a running crawl can take it.
    pub(crate) fn changes(&self, new: &Settings) -> Vec<(String, bool)> {
        let mut changes = Vec::new();
        for (old, new) in self.sections().into_iter().zip(new.sections()) {
            let rows = different(new, old).into_iter();
            changes.extend(rows.map(|row| (format!("{}.{}", new.name(), row.name), row.at_once)));
        }
        if self.sites != new.sites {
            changes.push((SITE.to_owned(), true));
        }
        changes
    }
}

const SITE: &str = "site";

const INTRODUCTION: &str = "\
# Settings of this collection. What is not said here has the value that is shown here at first; docs/settings.md lists
# them all. A crawl that runs reads this file again when it gets the signal HUP, and takes what it can take.
";

const SITE_EXAMPLE: &str = "\
#   [[site]]
#   site = \".example.org\"
#   wait = \"30s\"
#   pages = 1000
";

/// Entries for sites, as they stand in the file.
pub(crate) fn sites_to_toml(sites: &[SiteSection]) -> String {
    let (mut text, every) = (String::new(), SiteSection::default());
    for site in sites {
        text.push_str("\n[[site]]\n");
        for row in different(site, &every) {
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

/// The settings of a section that are not as in another.
fn different(section: &dyn Section, other: &dyn Section) -> Vec<Row> {
    let rows = section.rows().into_iter().zip(other.rows());
    rows.filter(|(row, other)| row.value != other.value).map(|(row, _)| row).collect()
}

/// Sets what a table says.
fn fill(section: &mut dyn Section, table: &toml::Table, prefix: &str) -> Result<(), String> {
    for (name, value) in table {
        let full = format!("{prefix}{name}");
        section.set(name, value).map_err(|error| match error {
            SetError::Unknown => unknown(&full),
            SetError::Wrong(what) => format!("{full}: {what}"),
        })?;
    }
    Ok(())
}

fn sites(value: &toml::Value) -> Result<Vec<SiteSection>, String> {
    let tables =
        value.as_array().map(|list| list.iter().map(toml::Value::as_table).collect::<Option<Vec<_>>>());
    let Some(Some(tables)) = tables else {
        return Err("`site` is a list of entries; write [[site]], in two brackets, above each".to_owned());
    };
    let mut sites = Vec::with_capacity(tables.len());
    for (number, table) in tables.into_iter().enumerate() {
        let mut site = SiteSection::default();
        if !table.contains_key("site") {
            return Err(format!(
                "entry {} of [[site]] is for no site; write a line such as site = \".example.org\"",
                number + 1
            ));
        }
        fill(&mut site, table, "site.")?;
        sites.push(site);
    }
    Ok(sites)
}

fn unknown(name: &str) -> String {
    let of = |section: &dyn Section| {
        let rows = section.rows().into_iter();
        rows.map(|row| format!("{}.{}", section.name(), row.name)).collect::<Vec<String>>()
    };
    let mut known: Vec<String> = Settings::default().sections().into_iter().flat_map(of).collect();
    known.extend(of(&SiteSection::default()));
    format!("there is no setting `{name}`; {}", names::guess(name, &known))
}

//! Seeds from the command line and from lists, each with optional settings of its site.

use model::{CanonicalUrl, UrlRules};

use crate::input;
use crate::output::Printer;
use crate::settings::{Section, SetError, SiteMatch, SiteSection};

/// Valid seeds, and the number of invalid ones.
#[derive(Default)]
pub(crate) struct Seeds {
    pub(crate) urls: Vec<CanonicalUrl>,
    /// Settings given with seeds.
    pub(crate) sites: Vec<SiteSection>,
    pub(crate) invalid: u64,
}

impl Seeds {
    /// Adds one seed: a URL, followed by `name=value` for each setting of its site. An invalid seed is printed on stderr.
    pub(crate) fn add(
        &mut self,
        rules: &UrlRules,
        source: &str,
        line: &str,
        printer: &mut Printer,
    ) -> anyhow::Result<()> {
        match seed(rules, line) {
            Ok((url, site)) => {
                self.urls.push(url);
                self.sites.extend(site);
                Ok(())
            }
            Err(message) => {
                self.invalid += 1;
                printer.warn(&format!("{source}: {message}"))
            }
        }
    }

    /// Adds the seeds of a list, one per line; `#` at the start of a line or after white space begins a comment. `-` is standard
    /// input.
    pub(crate) fn add_list(
        &mut self,
        rules: &UrlRules,
        list: &str,
        printer: &mut Printer,
    ) -> anyhow::Result<()> {
        let mut number = 0;
        input::for_each_line_of(list, printer, |line, printer| {
            number += 1;
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                return Ok(());
            }
            self.add(rules, &format!("{list} line {number}"), line, printer)
        })
    }
}

fn seed(rules: &UrlRules, line: &str) -> Result<(CanonicalUrl, Option<SiteSection>), String> {
    let mut words = line.split_whitespace().take_while(|word| !word.starts_with('#'));
    let text = words.next().unwrap_or_default();
    let url = rules.canonical(text).map_err(|reason| format!("invalid seed {text}: {reason}"))?;
    let mut site = SiteSection { r#match: SiteMatch::from_url(&url), ..SiteSection::default() };
    let mut is_different = false;
    for word in words {
        let (name, value) = word.split_once('=').ok_or_else(|| {
            format!("invalid setting `{word}` after a seed; examples: delay=5s, max_pages=100")
        })?;
        site.set_word(name, value).map_err(|error| match error {
            SetError::Invalid(message) => format!("{name}: {message}"),
            SetError::Unknown => {
                let names: Vec<&str> = site.rows().iter().skip(1).map(|row| row.name).collect();
                format!("unknown setting `{name}` after a seed; known: {}", names.join(", "))
            }
        })?;
        is_different = true;
    }
    Ok((url, is_different.then_some(site)))
}

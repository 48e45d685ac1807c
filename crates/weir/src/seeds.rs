//! Where does a crawl start? Seeds from the command line and from lists, each with what is different for its site.

use model::{CanonicalUrl, UrlRules};

use crate::input;
use crate::printer::Printer;
use crate::settings::{Section, SetError, SiteMatch, SiteSection};

/// Seeds that can be used, and how many cannot.
#[derive(Default)]
pub(crate) struct Seeds {
    pub(crate) urls: Vec<CanonicalUrl>,
    /// What is different for the sites of some seeds.
    pub(crate) sites: Vec<SiteSection>,
    pub(crate) bad: u64,
}

impl Seeds {
    /// Takes one seed: a URL, and `name=value` behind it for each setting of its site. A bad one is told on stderr.
    pub(crate) fn take(
        &mut self,
        rules: &UrlRules,
        place: &str,
        line: &str,
        printer: &mut Printer,
    ) -> anyhow::Result<()> {
        match seed(rules, line) {
            Ok((url, site)) => {
                self.urls.push(url);
                self.sites.extend(site);
                Ok(())
            }
            Err(sentence) => {
                self.bad += 1;
                printer.complain(&format!("{place}: {sentence}"))
            }
        }
    }

    /// Takes the seeds of a list, one per line; `#` begins a comment. `-` is standard input.
    pub(crate) fn take_list(
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
            self.take(rules, &format!("{list} line {number}"), line, printer)
        })
    }
}

fn seed(rules: &UrlRules, line: &str) -> Result<(CanonicalUrl, Option<SiteSection>), String> {
    let mut words = line.split_whitespace();
    let text = words.next().unwrap_or_default();
    let url = rules.canonical(text).map_err(|reason| format!("{text} is no seed: {reason}"))?;
    let mut site = SiteSection { site: SiteMatch::of(&url), ..SiteSection::default() };
    let mut is_different = false;
    for word in words {
        let (name, value) = word.split_once('=').ok_or_else(|| {
            format!("`{word}` behind a seed is no setting; write one such as wait=5s or pages=100")
        })?;
        site.set_word(name, value).map_err(|error| match error {
            SetError::Wrong(what) => format!("{name}: {what}"),
            SetError::Unknown => {
                let names: Vec<&str> = site.rows().iter().skip(1).map(|row| row.name).collect();
                format!("a seed has no setting `{name}`; there are {}", names.join(", "))
            }
        })?;
        is_different = true;
    }
    Ok((url, is_different.then_some(site)))
}

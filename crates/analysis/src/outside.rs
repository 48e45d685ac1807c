//! Where do links lead that lead to no page of the collection? To which registered domains and which files, and why they
//! were not followed.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use model::{CanonicalUrl, ExtensionLists, Reason, UrlClass, UrlRules};
use store::{DerivedTable, FileRow, FileRows, Manifest, OutsideRow, OutsideRows, links_outside};

use crate::bv::write_synced;
use crate::error::Result;

/// Links to more domains than these are counted together, reason by reason.
const MOST_DOMAINS: usize = 5_000_000;
const OTHERS: &str = "others";
const UNKNOWN: &str = "unknown";
/// What is embedded and has no extension that is known.
const OTHER_FILES: (&str, &str) = ("", "other");

/// What is known of links that lead to no page.
#[derive(Debug, Default)]
pub(crate) struct LinksOutside {
    /// How many there are, as of the last parse of each page.
    pub(crate) links: u64,
    /// How many there are for each reason.
    reasons: Vec<(String, u64)>,
    /// Of each domain, or host that has none, the links for each reason, by its place in `reasons`. What is no URL is not
    /// among them.
    domains: HashMap<String, Vec<u64>>,
    /// How many lead to files, by extension and kind.
    files: BTreeMap<(String, &'static str), u64>,
}

impl LinksOutside {
    pub(crate) fn count(collection: &Path, manifest: &Manifest) -> Result<LinksOutside> {
        let rules = UrlRules::default();
        let lists = ExtensionLists::new(ExtensionLists::DEFAULT.iter().copied());
        let mut outside = LinksOutside::default();
        links_outside(collection, manifest, |url, reason| {
            let reason = reason.unwrap_or(UNKNOWN);
            let place = outside.add_reason(reason);
            let Ok(url) = rules.canonical(url) else { return };
            outside.add_domain(url.registered_domain().unwrap_or(url.host()), place);
            if reason == Reason::NotAPage.as_str() {
                outside.add_file(&url, &lists);
            }
        })?;
        Ok(outside)
    }

    /// Reasons are few: they are looked for one by one.
    fn add_reason(&mut self, reason: &str) -> usize {
        self.links += 1;
        let known = self.reasons.iter().position(|(name, _)| name == reason);
        let place = known.unwrap_or_else(|| {
            self.reasons.push((reason.to_owned(), 0));
            self.reasons.len() - 1
        });
        self.reasons[place].1 += 1;
        place
    }

    fn add_domain(&mut self, domain: &str, reason: usize) {
        let name = if self.domains.len() < MOST_DOMAINS || self.domains.contains_key(domain) {
            domain
        } else {
            OTHERS
        };
        if !self.domains.contains_key(name) {
            self.domains.insert(name.to_owned(), Vec::new());
        }
        let Some(counts) = self.domains.get_mut(name) else { return };
        if counts.len() <= reason {
            counts.resize(reason + 1, 0);
        }
        counts[reason] += 1;
    }

    fn add_file(&mut self, url: &CanonicalUrl, lists: &ExtensionLists) {
        let class = url.class(lists);
        let kind = class.as_str().strip_prefix("logged:").filter(|_| matches!(class, UrlClass::Logged(_)));
        let key = match (url.extension(), kind) {
            (Some(extension), Some(kind)) => (extension.to_ascii_lowercase(), kind),
            _ => (OTHER_FILES.0.to_owned(), OTHER_FILES.1),
        };
        *self.files.entry(key).or_default() += 1;
    }

    /// Reasons with the number of links.
    pub(crate) fn reasons(&self) -> BTreeMap<&str, u64> {
        self.reasons.iter().map(|(reason, links)| (reason.as_str(), *links)).collect()
    }

    /// Domains with the number of links, those with most first.
    pub(crate) fn domains(&self) -> Vec<(&str, u64)> {
        let sums = self.domains.iter().map(|(domain, counts)| (domain.as_str(), counts.iter().sum()));
        let mut domains: Vec<(&str, u64)> = sums.collect();
        domains.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        domains
    }

    /// Writes the tables `outside`, those with most links first, and `files`.
    pub(crate) fn write_tables(&self, collection: &Path, generation: u64) -> Result<()> {
        let mut table = DerivedTable::<OutsideRows>::create(collection, generation)?;
        for (domain, _) in self.domains() {
            let counts = self.domains.get(domain).into_iter().flatten();
            for ((reason, _), links) in self.reasons.iter().zip(counts).filter(|(_, links)| **links > 0) {
                let links = links.cast_signed();
                table.push(&OutsideRow { domain, tld: top_level_domain(domain), reason, links })?;
            }
        }
        table.finish()?;
        let mut table = DerivedTable::<FileRows>::create(collection, generation)?;
        for ((extension, kind), links) in &self.files {
            table.push(&FileRow { extension, kind, links: links.cast_signed() })?;
        }
        Ok(table.finish()?)
    }
}

/// Writes a line for each domain: its name, a tab, the number.
pub(crate) fn write_domains(path: &Path, by_links: &[(&str, u64)]) -> Result<()> {
    let lines: String = by_links.iter().map(|(domain, links)| format!("{domain}\t{links}\n")).collect();
    write_synced(path, lines.as_bytes())
}

/// Of a domain; an address has none, nor has what stands for many domains.
fn top_level_domain(domain: &str) -> Option<&str> {
    let label = domain.rsplit('.').next()?;
    let is_name = label.bytes().any(|byte| byte.is_ascii_alphabetic()) && !label.ends_with(']');
    (is_name && domain != OTHERS).then_some(label)
}

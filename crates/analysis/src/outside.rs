//! Where do links lead that lead to no page of the collection? To which registered domains, and why they were not followed.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use model::UrlRules;
use store::{Manifest, links_outside};

use crate::bv::write_synced;
use crate::error::Result;

/// Links to more domains than these are counted together.
const MOST_DOMAINS: usize = 5_000_000;
const OTHERS: &str = "others";

/// The domains outside.
#[derive(Debug)]
pub(crate) struct OutsideDomains {
    /// Links that lead to no page, as of the last parse of each page.
    pub(crate) links: u64,
    /// How many there are for each reason.
    pub(crate) reasons: BTreeMap<String, u64>,
    /// How many lead to each domain, or to each host that has none; the most first. What is no URL is not among them.
    pub(crate) by_links: Vec<(String, u64)>,
}

impl OutsideDomains {
    pub(crate) fn count(collection: &Path, manifest: &Manifest) -> Result<OutsideDomains> {
        let rules = UrlRules::default();
        let mut links = 0;
        let mut reasons: BTreeMap<String, u64> = BTreeMap::new();
        let mut domains: HashMap<String, u64> = HashMap::new();
        links_outside(collection, manifest, |url, reason| {
            links += 1;
            add(&mut reasons, reason.unwrap_or("unknown"));
            let Ok(url) = rules.canonical(url) else { return };
            let domain = url.registered_domain().unwrap_or(url.host());
            match domains.get_mut(domain) {
                Some(count) => *count += 1,
                None => {
                    let name = if domains.len() < MOST_DOMAINS { domain } else { OTHERS };
                    *domains.entry(name.to_owned()).or_default() += 1;
                }
            }
        })?;
        let mut by_links: Vec<(String, u64)> = domains.into_iter().collect();
        by_links.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Ok(OutsideDomains { links, reasons, by_links })
    }

    /// Writes a line for each domain: its name, a tab, the number.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let lines: String =
            self.by_links.iter().map(|(domain, links)| format!("{domain}\t{links}\n")).collect();
        write_synced(path, lines.as_bytes())
    }
}

/// Reasons are few; no name is copied twice.
fn add(counts: &mut BTreeMap<String, u64>, name: &str) {
    match counts.get_mut(name) {
        Some(count) => *count += 1,
        None => drop(counts.insert(name.to_owned(), 1)),
    }
}

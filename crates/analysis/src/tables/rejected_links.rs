//! Links that lead to no page of the collection: by registered domain, by file extension and by reason.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use model::{CanonicalUrl, ExtensionLists, Reason, UrlClass, UrlRules};
use store::{
    DerivedTable, LinkedFileRow, LinkedFileRows, Manifest, RejectedLinkRow, RejectedLinkRows,
    for_each_unresolved_link,
};

use crate::error::Result;
use crate::graph::bv::write_synced;

/// Maximum number of domains; links to further domains are counted together, per reason.
const MAX_DOMAINS: usize = 5_000_000;
const OTHERS: &str = "others";
const UNKNOWN: &str = "unknown";
/// Embedded resources without a known extension.
const OTHER_FILES: (&str, &str) = ("", "other");

/// Counts of rejected links.
#[derive(Debug, Default)]
pub(crate) struct RejectedLinks {
    /// Number of links, as of the last parse of each page.
    pub(crate) links: u64,
    /// Number of links by reason.
    reasons: Vec<(String, u64)>,
    /// For each domain, or host without one, the number of links by index into `reasons`. Invalid URLs are not
    /// included.
    domains: HashMap<String, Vec<u64>>,
    /// Number of links to files, by extension and class.
    files: BTreeMap<(String, &'static str), u64>,
}

impl RejectedLinks {
    /// Counts the rejected links of a commit.
    pub(crate) fn read(collection: &Path, manifest: &Manifest) -> Result<RejectedLinks> {
        let rules = UrlRules::default();
        let lists = ExtensionLists::new(ExtensionLists::DEFAULT.iter().copied());
        let mut rejected = RejectedLinks::default();
        for_each_unresolved_link(collection, manifest, |link| {
            let reason = link.reason.unwrap_or(UNKNOWN);
            let index = rejected.add_reason(reason);
            let Ok(url) = rules.canonical(link.target_url) else { return };
            rejected.add_domain(url.registered_domain().unwrap_or(url.host()), index);
            if reason == Reason::FileExtension.as_str() {
                rejected.add_file(&url, &lists);
            }
        })?;
        Ok(rejected)
    }

    /// Counts a reason. There are few, so the search is linear.
    fn add_reason(&mut self, reason: &str) -> usize {
        self.links += 1;
        let known = self.reasons.iter().position(|(name, _)| name == reason);
        let index = known.unwrap_or_else(|| {
            self.reasons.push((reason.to_owned(), 0));
            self.reasons.len() - 1
        });
        self.reasons[index].1 += 1;
        index
    }

    fn add_domain(&mut self, domain: &str, reason: usize) {
        let name = if self.domains.len() < MAX_DOMAINS || self.domains.contains_key(domain) {
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

    /// Reasons with their number of links.
    pub(crate) fn reasons(&self) -> BTreeMap<&str, u64> {
        self.reasons.iter().map(|(reason, links)| (reason.as_str(), *links)).collect()
    }

    /// Domains with their number of links, descending.
    pub(crate) fn domains(&self) -> Vec<(&str, u64)> {
        let sums = self.domains.iter().map(|(domain, counts)| (domain.as_str(), counts.iter().sum()));
        let mut domains: Vec<(&str, u64)> = sums.collect();
        domains.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        domains
    }

    /// Writes the tables `rejected_links`, domains with the most links first, and `linked_files`.
    pub(crate) fn write_tables(&self, collection: &Path, generation: u64) -> Result<()> {
        let mut table = DerivedTable::<RejectedLinkRows>::create(collection, generation)?;
        for (domain, _) in self.domains() {
            let counts = self.domains.get(domain).into_iter().flatten();
            for ((reason, _), links) in self.reasons.iter().zip(counts).filter(|(_, links)| **links > 0) {
                let links = links.cast_signed();
                table.push(&RejectedLinkRow {
                    registered_domain: domain,
                    url_host_tld: top_level_domain(domain),
                    reason,
                    link_count: links,
                })?;
            }
        }
        table.finish()?;
        let mut table = DerivedTable::<LinkedFileRows>::create(collection, generation)?;
        for ((extension, kind), links) in &self.files {
            table.push(&LinkedFileRow { extension, kind, link_count: links.cast_signed() })?;
        }
        Ok(table.finish()?)
    }
}

/// Writes one line per domain: its name, a tab, the number of links.
pub(crate) fn write_domains(path: &Path, by_links: &[(&str, u64)]) -> Result<()> {
    let lines: String = by_links.iter().map(|(domain, links)| format!("{domain}\t{links}\n")).collect();
    write_synced(path, lines.as_bytes())
}

/// Top-level domain of a domain; an IP address and the collective entry have none.
fn top_level_domain(domain: &str) -> Option<&str> {
    let label = domain.rsplit('.').next()?;
    let is_name = label.bytes().any(|byte| byte.is_ascii_alphabetic()) && !label.ends_with(']');
    (is_name && domain != OTHERS).then_some(label)
}

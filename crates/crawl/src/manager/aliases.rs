//! Detection of sites that are aliases of other sites.

use std::collections::HashMap;
use std::net::IpAddr;

use model::SiteId;
use store::{Collection, Result};

/// Marks sites with the same address, robots.txt and front page as another site as its aliases. Virtual hosts that share an
/// address have different front pages.
pub(super) fn mark_aliases(collection: &mut Collection) -> Result<()> {
    type SiteFingerprint = (IpAddr, u64, u64);
    let parts = collection.site_state.reader().scan(
        |fingerprints: &mut Vec<(SiteId, SiteFingerprint)>, site, record| {
            if let (Some(address), None) = (record.address, record.alias_of)
                && record.front_page_hash != 0
                && record.robots_fetched_s != 0
            {
                fingerprints.push((site, (address, record.robots_hash(), record.front_page_hash)));
            }
        },
    )?;
    let mut fingerprints: Vec<(SiteId, SiteFingerprint)> = parts.concat();
    fingerprints.sort_unstable_by_key(|(site, _)| *site);
    let mut first: HashMap<SiteFingerprint, SiteId> = HashMap::with_capacity(fingerprints.len());
    let mut aliases = Vec::new();
    for (site, fingerprint) in fingerprints {
        match first.get(&fingerprint) {
            Some(original) => aliases.push((site, *original)),
            None => {
                first.insert(fingerprint, site);
            }
        }
    }
    let sites: Vec<SiteId> = aliases.iter().map(|(site, _)| *site).collect();
    collection.site_state.update(&sites, |index, record| record.alias_of = Some(aliases[index].1))
}

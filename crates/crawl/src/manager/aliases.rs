//! Which sites are others by another name?

use std::collections::HashMap;
use std::net::IpAddr;

use model::SiteId;
use store::{Collection, Result};

/// A site with the address, the robots.txt and the front page of another is that other, by another name. Virtual hosts
/// that share an address have front pages of their own.
pub(super) fn mark_aliases(collection: &mut Collection) -> Result<()> {
    type Face = (IpAddr, u64, u64);
    let parts = collection.sites.reader().scan(|faces: &mut Vec<(SiteId, Face)>, site, record| {
        if let (Some(address), None) = (record.address, record.alias_of)
            && record.front_hash != 0
            && record.robots_fetched_s != 0
        {
            faces.push((site, (address, record.robots_hash(), record.front_hash)));
        }
    })?;
    let mut faces: Vec<(SiteId, Face)> = parts.concat();
    faces.sort_unstable_by_key(|(site, _)| *site);
    let mut first: HashMap<Face, SiteId> = HashMap::with_capacity(faces.len());
    let mut aliases = Vec::new();
    for (site, face) in faces {
        match first.get(&face) {
            Some(original) => aliases.push((site, *original)),
            None => {
                first.insert(face, site);
            }
        }
    }
    let sites: Vec<SiteId> = aliases.iter().map(|(site, _)| *site).collect();
    collection.sites.update(&sites, |index, record| record.alias_of = Some(aliases[index].1))
}

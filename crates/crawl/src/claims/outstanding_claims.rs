//! Claims of batches that other processes fetch.

use std::collections::HashSet;

use harvest::dispatcher::address_policy;
use harvest::files::work_dirs::WorkDir;
use harvest::item::batch::Batch;
use model::{AddressGroup, SiteId};
use store::Collection;

use crate::error::Error;

/// Claims of the batches in the collection directory that other processes fetch.
#[derive(Debug, Default)]
pub(crate) struct OutstandingClaims {
    pub(crate) sites: HashSet<SiteId>,
    /// Addresses of the batches.
    pub(crate) addresses: HashSet<AddressGroup>,
    /// Hosts of the sites, and hosts to which their robots.txt redirects.
    pub(crate) hosts: HashSet<String>,
}

impl OutstandingClaims {
    /// Claims of all batches outside this process.
    pub(crate) fn load(collection: &Collection) -> Result<OutstandingClaims, Error> {
        let mut claims = OutstandingClaims::without_workers(collection)?;
        for (_, dir) in WorkDir::Leased.list(collection.dir())? {
            claims.add(&Batch::read(&dir)?);
        }
        Ok(claims)
    }

    /// Claims of the batches of the separate programs, without those of workers of this crawl.
    pub(crate) fn without_workers(collection: &Collection) -> Result<OutstandingClaims, Error> {
        let mut claims = OutstandingClaims::default();
        for (_, dir) in WorkDir::Batches.list(collection.dir())? {
            claims.add(&Batch::read(&dir)?);
        }
        Ok(claims)
    }

    /// Adds the claims of a batch.
    pub(crate) fn add(&mut self, batch: &Batch) {
        self.sites.extend(batch.sites.iter().map(|site| site.site));
        self.addresses.extend(address_policy::claimed_addresses(batch));
        for site in &batch.sites {
            self.hosts.insert(site.name.clone());
            self.hosts.extend(site.robots_redirects.iter().map(|redirect| redirect.name.clone()));
        }
    }
}

/// Claimed sites, sites that share an address with one of them, and sites to which a robots.txt of them redirects: each may be
/// contacted by one process at a time.
pub(crate) fn sites_at_claimed_addresses(
    collection: &Collection,
    claims: &OutstandingClaims,
) -> Result<HashSet<SiteId>, Error> {
    if claims.sites.is_empty() {
        return Ok(HashSet::new());
    }
    let reader = collection.site_state.reader();
    let parts = reader.scan(|all: &mut Vec<(SiteId, AddressGroup)>, site, record| {
        all.extend(record.address.map(|address| (site, address.into())));
    })?;
    let known = parts.into_iter().flatten();
    let near = known.filter(|(_, address)| claims.addresses.contains(address)).map(|(site, _)| site);
    let named = claims.hosts.iter().filter_map(|name| collection.urls.reader().find_site(name));
    Ok(near.chain(claims.sites.iter().copied()).chain(named).collect())
}

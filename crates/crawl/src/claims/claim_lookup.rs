//! Check of a resolved batch against the claims of other batches.

use std::collections::HashSet;

use harvest::dispatcher::batch_resolver::ResolvedAddresses;
use harvest::item::batch::Batch;
use model::{AddressGroup, SiteId};
use store::Collection;

use crate::error::Error;

/// Lookup of the claims of other batches.
pub(crate) struct ClaimLookup<'t> {
    pub(crate) address: &'t dyn Fn(AddressGroup) -> bool,
    /// Hosts to which a robots.txt of another batch redirects.
    pub(crate) name: &'t dyn Fn(&str) -> bool,
    /// Whether a site is in an open batch, this one included.
    pub(crate) site: &'t dyn Fn(SiteId) -> bool,
}

/// Stores the resolved addresses in batch and collection, and removes the sites with a claimed address or host; returns their
/// number. A site that cannot be resolved stays: the worker returns it if it is resolved to a claimed address later.
pub(crate) fn assign(
    addresses: &ResolvedAddresses,
    collection: &mut Collection,
    batch: &mut Batch,
    claims: &ClaimLookup<'_>,
    now_s: u32,
) -> Result<usize, Error> {
    store_addresses(addresses, collection, batch, now_s)?;
    let before = batch.sites.len();
    let own_sites: HashSet<SiteId> = batch.sites.iter().map(|site| site.site).collect();
    let known = collection.urls.reader();
    let is_claimed = |name: &str| {
        let site = known.find_site(name);
        (claims.name)(name) || site.is_some_and(|site| !own_sites.contains(&site) && (claims.site)(site))
    };
    batch.sites.retain(|site| {
        let mut names = site.robots_redirects.iter().map(|redirect| redirect.name.as_str());
        !site.addresses().any(|address| (claims.address)(address))
            && !(claims.name)(&site.name)
            && !names.any(is_claimed)
    });
    Ok(before - batch.sites.len())
}

/// Stores resolved addresses in the site records and in the batch.
fn store_addresses(
    addresses: &ResolvedAddresses,
    collection: &mut Collection,
    batch: &mut Batch,
    now_s: u32,
) -> Result<(), Error> {
    let sites: Vec<SiteId> = addresses.sites.iter().map(|(site, ..)| *site).collect();
    collection.site_state.update(&sites, |index, record| {
        let (_, address, expires_s) = addresses.sites[index];
        (record.address, record.address_expires_s) = (Some(address), expires_s);
    })?;
    for site in &mut batch.sites {
        if let Ok(index) = sites.binary_search(&site.site) {
            let (_, address, expires_s) = addresses.sites[index];
            (site.address, site.address_expires_s) = (Some(address), expires_s);
        } else if !site.is_resolved(now_s) {
            // The old address has expired.
            site.address = None;
        }
    }
    for ((index, own), address, _) in &addresses.robots_redirects {
        batch.sites[*index].robots_redirects[*own].address = Some(*address);
    }
    Ok(())
}

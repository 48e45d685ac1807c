//! Claims of leased batches on addresses and hosts.
//!
//! Only one client may contact an address or a host at a time, and clients on different machines do not share a clock. So while a
//! site is leased, no other batch gets a site at its address, or a host to which its robots.txt redirects.

use std::collections::HashMap;
use std::hash::Hash;

use harvest::item::batch::Batch;
use model::{AddressGroup, SiteId};

/// Claimed addresses and hosts, with the sites that claim them.
#[derive(Debug, Default)]
pub(crate) struct AddressClaims {
    addresses: ClaimCounts<AddressGroup>,
    /// Hosts to which a robots.txt redirects.
    hosts: ClaimCounts<String>,
}

impl AddressClaims {
    /// Claims the addresses and hosts of a batch.
    pub(crate) fn claim(&mut self, batch: &Batch) {
        for site in &batch.sites {
            self.addresses.claim(site.site, site.addresses());
            self.hosts.claim(site.site, site.robots_redirects.iter().map(|redirect| redirect.name.clone()));
        }
    }

    /// Releases the claims of a finished site.
    pub(crate) fn release(&mut self, site: SiteId) {
        self.addresses.release(site);
        self.hosts.release(site);
    }

    pub(crate) fn is_claimed(&self, address: AddressGroup) -> bool {
        !self.addresses.counts.is_empty() && self.addresses.counts.contains_key(&address)
    }

    pub(crate) fn is_host_claimed(&self, name: &str) -> bool {
        self.hosts.counts.contains_key(name)
    }
}

/// Keys, each with the number of sites that claim it.
#[derive(Debug)]
struct ClaimCounts<K> {
    by_site: HashMap<SiteId, Vec<K>>,
    counts: HashMap<K, u32>,
}

impl<K> Default for ClaimCounts<K> {
    fn default() -> ClaimCounts<K> {
        ClaimCounts { by_site: HashMap::new(), counts: HashMap::new() }
    }
}

impl<K: Clone + Eq + Hash> ClaimCounts<K> {
    fn claim(&mut self, site: SiteId, keys: impl Iterator<Item = K>) {
        let keys: Vec<K> = keys.collect();
        if keys.is_empty() || self.by_site.contains_key(&site) {
            return;
        }
        keys.iter().for_each(|key| *self.counts.entry(key.clone()).or_default() += 1);
        self.by_site.insert(site, keys);
    }

    fn release(&mut self, site: SiteId) {
        for key in self.by_site.remove(&site).unwrap_or_default() {
            if let Some(sites) = self.counts.get_mut(&key) {
                *sites -= 1;
                if *sites == 0 {
                    self.counts.remove(&key);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::test_site;
    use harvest::item::batch::{BatchSite, RobotsRedirect};

    #[test]
    fn an_address_is_claimed_until_the_last_of_its_sites_is_released() {
        let site = |number, address: &str, refers| BatchSite {
            site: SiteId(number),
            address: Some(address.parse().unwrap()),
            robots_redirects: refers,
            ..test_site()
        };
        let redirect = RobotsRedirect {
            name: "http://c.example".to_owned(),
            address: Some("192.0.2.4".parse().unwrap()),
        };
        let mut claims = AddressClaims::default();
        let sites = vec![
            site(1, "192.0.2.1", vec![]),
            site(2, "::ffff:192.0.2.1", vec![]),
            site(3, "192.0.2.3", vec![redirect]),
        ];
        let batch = Batch { sites, ..Batch::default() };
        claims.claim(&batch);
        claims.claim(&batch);
        let address = |last: u8| AddressGroup::from(std::net::IpAddr::from([192, 0, 2, last]));
        claims.release(SiteId(1));
        assert!(claims.is_claimed(address(1)));
        claims.release(SiteId(2));
        claims.release(SiteId(2));
        assert!(!claims.is_claimed(address(1)));
        assert!(
            claims.is_claimed(address(3))
                && claims.is_claimed(address(4))
                && claims.is_host_claimed("http://c.example")
        );
        claims.release(SiteId(3));
        assert!(
            !claims.is_claimed(address(3))
                && !claims.is_claimed(address(4))
                && !claims.is_host_claimed("http://c.example")
        );
    }
}

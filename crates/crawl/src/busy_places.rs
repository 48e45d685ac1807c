//! Where are workers? An address must have one visitor at a time, and so must a site; visitors on different machines cannot agree on
//! a clock. So while a site of a batch is away, no other batch gets a site at its address, nor one that its robots.txt leads to.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;

use model::SiteId;

use crate::batch::Batch;

/// Places, and which sites are why.
#[derive(Debug, Default)]
pub(crate) struct BusyPlaces {
    addresses: Counted<IpAddr>,
    /// Sites by name that are asked on behalf of those.
    names: Counted<String>,
}

impl BusyPlaces {
    /// A batch goes there.
    pub(crate) fn occupy(&mut self, batch: &Batch) {
        for site in &batch.sites {
            self.addresses.occupy(site.site, site.addresses());
            self.names.occupy(site.site, site.refers.iter().map(|referral| referral.name.clone()));
        }
    }

    /// A site came back.
    pub(crate) fn leave(&mut self, site: SiteId) {
        self.addresses.leave(site);
        self.names.leave(site);
    }

    pub(crate) fn has(&self, address: IpAddr) -> bool {
        !self.addresses.counts.is_empty() && self.addresses.counts.contains_key(&address.to_canonical())
    }

    pub(crate) fn has_name(&self, name: &str) -> bool {
        self.names.counts.contains_key(name)
    }
}

/// Keys, and how many sites each is busy for.
#[derive(Debug)]
struct Counted<K> {
    of_sites: HashMap<SiteId, Vec<K>>,
    counts: HashMap<K, u32>,
}

impl<K> Default for Counted<K> {
    fn default() -> Counted<K> {
        Counted { of_sites: HashMap::new(), counts: HashMap::new() }
    }
}

impl<K: Clone + Eq + Hash> Counted<K> {
    fn occupy(&mut self, site: SiteId, keys: impl Iterator<Item = K>) {
        let keys: Vec<K> = keys.collect();
        if keys.is_empty() || self.of_sites.contains_key(&site) {
            return;
        }
        keys.iter().for_each(|key| *self.counts.entry(key.clone()).or_default() += 1);
        self.of_sites.insert(site, keys);
    }

    fn leave(&mut self, site: SiteId) {
        for key in self.of_sites.remove(&site).unwrap_or_default() {
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
    use crate::batch::{BatchSite, Referral, test_site};

    #[test]
    fn an_address_is_busy_until_the_last_of_its_sites_is_back() {
        let site = |number, address: &str, refers| BatchSite {
            site: SiteId(number),
            address: Some(address.parse().unwrap()),
            refers,
            ..test_site()
        };
        let referral =
            Referral { name: "http://c.example".to_owned(), address: Some("192.0.2.4".parse().unwrap()) };
        let mut busy = BusyPlaces::default();
        let sites = vec![
            site(1, "192.0.2.1", vec![]),
            site(2, "::ffff:192.0.2.1", vec![]),
            site(3, "192.0.2.3", vec![referral]),
        ];
        let batch = Batch { sites, ..Batch::default() };
        busy.occupy(&batch);
        busy.occupy(&batch);
        let address = |last: u8| IpAddr::from([192, 0, 2, last]);
        busy.leave(SiteId(1));
        assert!(busy.has(address(1)));
        busy.leave(SiteId(2));
        busy.leave(SiteId(2));
        assert!(!busy.has(address(1)));
        assert!(busy.has(address(3)) && busy.has(address(4)) && busy.has_name("http://c.example"));
        busy.leave(SiteId(3));
        assert!(!busy.has(address(3)) && !busy.has(address(4)) && !busy.has_name("http://c.example"));
    }
}

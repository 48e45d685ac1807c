//! At which addresses are workers? An address must have one visitor at a time, and visitors on different machines cannot agree on a
//! clock: so while a site of a batch is away, no other batch gets a site at its address.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use model::SiteId;

use crate::batch::Batch;

/// Addresses, and which sites are why.
#[derive(Debug, Default)]
pub(crate) struct BusyAddresses {
    of_sites: HashMap<SiteId, IpAddr>,
    sites: HashMap<IpAddr, u32>,
}

impl BusyAddresses {
    /// A batch goes there.
    pub(crate) fn occupy(&mut self, batch: &Batch) {
        for site in &batch.sites {
            let Some(address) = site.address.map(|address| address.to_canonical()) else { continue };
            if self.of_sites.insert(site.site, address).is_none() {
                *self.sites.entry(address).or_default() += 1;
            }
        }
    }

    /// A site came back.
    pub(crate) fn leave(&mut self, site: SiteId) {
        let Some(address) = self.of_sites.remove(&site) else { return };
        if let Some(sites) = self.sites.get_mut(&address) {
            *sites -= 1;
            if *sites == 0 {
                self.sites.remove(&address);
            }
        }
    }

    pub(crate) fn has(&self, address: IpAddr) -> bool {
        !self.sites.is_empty() && self.sites.contains_key(&address.to_canonical())
    }

    pub(crate) fn all(&self) -> HashSet<IpAddr> {
        self.sites.keys().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{BatchSite, test_site};

    #[test]
    fn an_address_is_busy_until_the_last_of_its_sites_is_back() {
        let site = |number, address: &str| BatchSite {
            site: SiteId(number),
            address: Some(address.parse().unwrap()),
            ..test_site()
        };
        let mut busy = BusyAddresses::default();
        let sites = vec![site(1, "192.0.2.1"), site(2, "::ffff:192.0.2.1"), site(3, "192.0.2.3")];
        busy.occupy(&Batch { sites, ..Batch::default() });
        let address: IpAddr = "192.0.2.1".parse().unwrap();
        busy.leave(SiteId(1));
        assert!(busy.has(address));
        busy.leave(SiteId(2));
        busy.leave(SiteId(2));
        assert!(!busy.has(address));
        assert_eq!(busy.all(), ["192.0.2.3".parse().unwrap()].into());
    }
}

//! Which addresses may a crew of harvesters ask, while others are at work elsewhere? An address must have one visitor at a
//! time, and visitors on different machines cannot agree on a clock. So a batch that is lent owns the addresses of its
//! sites, and:
//!
//! - who harvests it asks no site at any other address: a site that has moved goes back, with its new address;
//! - who crawls meanwhile asks nobody at those addresses, whatever name leads there.
//!
//! robots.txt may lie on any other host. One request for it goes also to an address that nobody owns: else a site that
//! refers to another one could not be harvested elsewhere at all.

use std::collections::HashSet;
use std::net::IpAddr;

use crate::batch::Batch;

/// Where to go and where not to.
#[derive(Debug, Default)]
pub(crate) struct Territory {
    /// Sites are asked nowhere else; nothing stands for anywhere.
    own: Option<HashSet<IpAddr>>,
    /// Others are at work there.
    others: HashSet<IpAddr>,
}

impl Territory {
    /// Everywhere but at the addresses of these, which others work at.
    pub(crate) fn without(others: HashSet<IpAddr>) -> Territory {
        Territory { own: None, others }
    }

    /// What belongs to these batches, which were lent.
    pub(crate) fn of_lent(batches: &[Batch]) -> Territory {
        let own: HashSet<IpAddr> = batches.iter().flat_map(addresses).collect();
        let others = batches.iter().flat_map(|batch| &batch.owned_by_others);
        let others = others.map(IpAddr::to_canonical).filter(|address| !own.contains(address)).collect();
        Territory { own: Some(own), others }
    }

    /// The first of a site's addresses where it may be asked. A site of a lent batch is asked where it was when the batch was
    /// made, and nowhere else: another of the batch's addresses may have been given free meanwhile.
    pub(crate) fn for_site(&self, addresses: &[IpAddr], known: Option<IpAddr>) -> Option<IpAddr> {
        let known = known.map(|address| address.to_canonical());
        let may_be = |address: &IpAddr| match &self.own {
            Some(_) => known == Some(address.to_canonical()),
            None => self.is_own(*address),
        };
        addresses.iter().copied().find(may_be)
    }

    /// The address for a single request: one of ours if there is one, else any that is nobody's.
    pub(crate) fn for_errand(&self, addresses: &[IpAddr]) -> Option<IpAddr> {
        let is_free = |address: &IpAddr| !self.others.contains(&address.to_canonical());
        let own = addresses.iter().copied().find(|address| self.is_own(*address));
        own.or_else(|| addresses.iter().copied().find(is_free))
    }

    fn is_own(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        match &self.own {
            Some(own) => own.contains(&address),
            None => !self.others.contains(&address),
        }
    }
}

/// The addresses that a batch owns while it is lent.
pub(crate) fn addresses(batch: &Batch) -> impl Iterator<Item = IpAddr> {
    batch.sites.iter().filter_map(|site| site.address).map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn who_crawls_stays_away_from_what_is_lent() {
        let territory = Territory::without([address("192.0.2.1")].into());
        let both = [address("::ffff:192.0.2.1"), address("192.0.2.2")];
        assert_eq!(territory.for_site(&both, None), Some(both[1]));
        assert_eq!(territory.for_site(&both[..1], None), None);
        assert_eq!(territory.for_errand(&both[..1]), None);
    }

    #[test]
    fn who_harvests_a_lent_batch_stays_at_its_addresses() {
        let site = |address: &str| crate::batch::BatchSite {
            address: Some(address.parse().unwrap()),
            ..crate::batch::test_site()
        };
        let batch = Batch {
            sites: vec![site("192.0.2.1")],
            owned_by_others: vec![address("192.0.2.3")],
            ..Batch::default()
        };
        let territory = Territory::of_lent(&[batch]);
        let all = ["192.0.2.3", "192.0.2.2", "192.0.2.1"].map(address);
        assert_eq!(territory.for_site(&all, Some(all[2])), Some(all[2]));
        assert_eq!(territory.for_site(&all[..2], Some(all[2])), None, "it has moved");
        assert_eq!(territory.for_site(&all, None), None, "nobody knew where it is");
        assert_eq!(territory.for_errand(&all), Some(all[2]));
        assert_eq!(territory.for_errand(&all[..2]), Some(all[1]));
        assert_eq!(territory.for_errand(&all[..1]), None);
    }
}

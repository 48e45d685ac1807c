//! Which addresses may a crew of harvesters ask, while others are at work elsewhere? An address must have one visitor at a
//! time, and visitors on different machines cannot agree on a clock. So a batch that is lent owns the addresses of its
//! sites, and those of the sites that their robots.txt has led to, and:
//!
//! - who harvests it asks nobody at any other address: a site that has moved goes back with its new address, one whose robots.txt
//!   leads to another one with that one's name;
//! - who crawls meanwhile asks nobody at those addresses, whatever name leads there.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use model::SiteId;

use crate::batch::{Batch, BatchSite, Referral};
use crate::referrals;

/// Where to go and where not to.
#[derive(Debug)]
pub(crate) enum Territory {
    /// Everywhere but at these addresses, where others are at work, and at these sites, which are theirs.
    Without { addresses: HashSet<IpAddr>, names: HashSet<String> },
    /// Where the sites of lent batches are, and these others that they refer to.
    Lent(HashMap<SiteId, Vec<Referral>>),
}

/// How somebody comes to a robots.txt that a site refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrandWay {
    /// He has to ask where it is.
    Ask,
    /// It is there.
    To(IpAddr),
    /// It cannot be reached.
    Nowhere,
    /// He may not go there: it was not lent.
    NotLent,
}

impl Territory {
    /// What belongs to these batches, which were lent.
    pub(crate) fn of_lent(batches: &[Batch]) -> Territory {
        let sites = batches.iter().flat_map(|batch| &batch.sites);
        let refer = sites.filter(|site| !site.refers.is_empty());
        Territory::Lent(refer.map(|site| (site.site, site.refers.clone())).collect())
    }

    /// The first of a site's addresses where it may be asked. A site of a lent batch is asked where it was when the batch was
    /// made, and nowhere else: another of the batch's addresses may have been given free meanwhile.
    pub(crate) fn for_site(&self, addresses: &[IpAddr], known: Option<IpAddr>) -> Option<IpAddr> {
        let known = known.map(|address| address.to_canonical());
        let may_be = |address: &IpAddr| match self {
            Territory::Lent(_) => known == Some(address.to_canonical()),
            Territory::Without { addresses, .. } => !addresses.contains(&address.to_canonical()),
        };
        addresses.iter().copied().find(may_be)
    }

    /// The way to a site of this name, on behalf of another.
    pub(crate) fn errand(&self, for_site: SiteId, name: &str) -> ErrandWay {
        let refer = match self {
            Territory::Without { names, .. } if names.contains(name) => return ErrandWay::Nowhere,
            Territory::Without { .. } => return ErrandWay::Ask,
            Territory::Lent(refer) => refer,
        };
        let own = refer.get(&for_site).map_or(&[][..], Vec::as_slice);
        match own.iter().find(|referral| referral.name == name) {
            Some(referral) => referral.address.map_or(ErrandWay::Nowhere, ErrandWay::To),
            None if own.len() >= referrals::MOST => ErrandWay::Nowhere,
            None => ErrandWay::NotLent,
        }
    }
}

/// The addresses that a batch owns while it is lent.
pub(crate) fn addresses(batch: &Batch) -> impl Iterator<Item = IpAddr> {
    batch.sites.iter().flat_map(BatchSite::addresses)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::test_site;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn who_crawls_stays_away_from_what_is_lent() {
        let territory = Territory::Without {
            addresses: [address("192.0.2.1")].into(),
            names: ["http://a.example".to_owned()].into(),
        };
        let both = [address("::ffff:192.0.2.1"), address("192.0.2.2")];
        assert_eq!(territory.for_site(&both, None), Some(both[1]));
        assert_eq!(territory.for_site(&both[..1], None), None);
        assert_eq!(territory.errand(SiteId(1), "http://b.example"), ErrandWay::Ask);
        assert_eq!(territory.errand(SiteId(1), "http://a.example"), ErrandWay::Nowhere);
    }

    #[test]
    fn who_harvests_a_lent_batch_stays_where_it_was_lent() {
        let referral = |name: &str, address| Referral { name: format!("http://{name}.example"), address };
        let refers = vec![referral("b", Some(address("192.0.2.2"))), referral("c", None)];
        let site = BatchSite { refers, ..test_site() };
        let batch = Batch { sites: vec![site], ..Batch::default() };
        assert_eq!(addresses(&batch).collect::<Vec<_>>(), ["192.0.2.1", "192.0.2.2"].map(address));
        let territory = Territory::of_lent(&[batch]);
        let all = ["192.0.2.3", "192.0.2.2", "192.0.2.1"].map(address);
        assert_eq!(territory.for_site(&all, Some(all[2])), Some(all[2]));
        assert_eq!(territory.for_site(&all[..2], Some(all[2])), None, "it has moved");
        assert_eq!(territory.for_site(&all, None), None, "nobody knew where it is");
        let way = |site, name| territory.errand(SiteId(site), name);
        assert_eq!(way(3, "http://b.example"), ErrandWay::To(all[1]));
        assert_eq!(way(3, "http://c.example"), ErrandWay::Nowhere);
        assert_eq!(way(3, "http://d.example"), ErrandWay::NotLent);
        assert_eq!(way(4, "http://b.example"), ErrandWay::NotLent, "it was lent to another site");
    }
}

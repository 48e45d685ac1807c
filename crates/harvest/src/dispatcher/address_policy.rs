//! Policy for the addresses that a pool of harvesters may contact while batches are leased to workers.
//!
//! An address must be contacted by one process at a time, because processes on different machines cannot share a clock. So
//! a leased batch claims the addresses of its sites and of the hosts that their robots.txt files redirect to:
//!
//! - The worker contacts no other address. A site that has moved is returned with its new address, and one whose robots.txt
//!   redirects to another host with the name of that host.
//! - Other processes contact none of those addresses, regardless of the name that resolves to them.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use model::{AddressGroup, SiteId};

use crate::item::batch::{Batch, BatchSite, RobotsRedirect};
use crate::item::robots_policy::MAX_ROBOTS_REDIRECTS;

/// Policy for addresses.
#[derive(Debug)]
pub enum AddressPolicy {
    /// All addresses and hosts, except those that leased batches claim.
    AllExcept {
        /// Claimed addresses.
        addresses: HashSet<AddressGroup>,
        /// Claimed hosts: scheme, host and port.
        names: HashSet<String>,
    },
    /// Only the addresses of leased sites, and of the hosts that their robots.txt files redirect to.
    LeasedOnly(HashMap<SiteId, Vec<RobotsRedirect>>),
}

/// Route to a host that a robots.txt redirects to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RobotsRoute {
    /// The name must be resolved.
    Resolve,
    /// The host has this address.
    Address(IpAddr),
    /// The host is unreachable or claimed by another batch.
    Unreachable,
    /// The host was not leased with the batch.
    NotLeased,
}

impl AddressPolicy {
    /// Policy for the harvester of leased batches.
    pub fn for_leased(batches: &[Batch]) -> AddressPolicy {
        let sites = batches.iter().flat_map(|batch| &batch.sites);
        let redirects = sites.filter(|site| !site.robots_redirects.is_empty());
        AddressPolicy::LeasedOnly(redirects.map(|site| (site.site, site.robots_redirects.clone())).collect())
    }

    /// First address of a site that may be contacted. A site of a leased batch is only contacted at the address it had when
    /// the batch was created: another address of the batch can have been released in the meantime.
    pub fn allowed_address(&self, addresses: &[IpAddr], known: Option<IpAddr>) -> Option<IpAddr> {
        let known = known.map(AddressGroup::from);
        let is_allowed = |address: &IpAddr| match self {
            AddressPolicy::LeasedOnly(_) => known == Some(AddressGroup::from(*address)),
            AddressPolicy::AllExcept { addresses, .. } => !addresses.contains(&AddressGroup::from(*address)),
        };
        addresses.iter().copied().find(is_allowed)
    }

    /// Route to a host that the robots.txt of a site redirects to.
    pub fn robots_route(&self, site: SiteId, name: &str) -> RobotsRoute {
        let redirects = match self {
            AddressPolicy::AllExcept { names, .. } if names.contains(name) => {
                return RobotsRoute::Unreachable;
            }
            AddressPolicy::AllExcept { .. } => return RobotsRoute::Resolve,
            AddressPolicy::LeasedOnly(redirects) => redirects,
        };
        let of_site = redirects.get(&site).map_or(&[][..], Vec::as_slice);
        match of_site.iter().find(|redirect| redirect.name == name) {
            Some(redirect) => redirect.address.map_or(RobotsRoute::Unreachable, RobotsRoute::Address),
            None if of_site.len() >= usize::from(MAX_ROBOTS_REDIRECTS) => RobotsRoute::Unreachable,
            None => RobotsRoute::NotLeased,
        }
    }
}

/// Addresses that a batch claims while it is leased.
pub fn claimed_addresses(batch: &Batch) -> impl Iterator<Item = AddressGroup> {
    batch.sites.iter().flat_map(BatchSite::addresses)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::batch::test_site;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn claimed_addresses_and_hosts_are_not_contacted() {
        let policy = AddressPolicy::AllExcept {
            addresses: [address("192.0.2.1").into(), address("2001:db8::1").into()].into(),
            names: ["http://a.example".to_owned()].into(),
        };
        let both = [address("::ffff:192.0.2.1"), address("192.0.2.2")];
        assert_eq!(policy.allowed_address(&both, None), Some(both[1]));
        assert_eq!(policy.allowed_address(&both[..1], None), None);
        assert_eq!(policy.allowed_address(&[address("2001:db8::2")], None), None, "the same network");
        assert_eq!(policy.robots_route(SiteId(1), "http://b.example"), RobotsRoute::Resolve);
        assert_eq!(policy.robots_route(SiteId(1), "http://a.example"), RobotsRoute::Unreachable);
    }

    #[test]
    fn only_leased_addresses_are_contacted() {
        let redirect =
            |name: &str, address| RobotsRedirect { name: format!("http://{name}.example"), address };
        let robots_redirects = vec![redirect("b", Some(address("192.0.2.2"))), redirect("c", None)];
        let site = BatchSite { robots_redirects, ..test_site() };
        let batch = Batch { sites: vec![site], ..Batch::default() };
        assert_eq!(
            claimed_addresses(&batch).collect::<Vec<_>>(),
            ["192.0.2.1", "192.0.2.2"].map(|text| address(text).into())
        );
        let policy = AddressPolicy::for_leased(&[batch]);
        let all = ["192.0.2.3", "192.0.2.2", "192.0.2.1"].map(address);
        assert_eq!(policy.allowed_address(&all, Some(all[2])), Some(all[2]));
        assert_eq!(policy.allowed_address(&all[..2], Some(all[2])), None, "the site has moved");
        assert_eq!(policy.allowed_address(&all, None), None, "the address was unknown");
        let route = |site, name| policy.robots_route(SiteId(site), name);
        assert_eq!(route(3, "http://b.example"), RobotsRoute::Address(all[1]));
        assert_eq!(route(3, "http://c.example"), RobotsRoute::Unreachable);
        assert_eq!(route(3, "http://d.example"), RobotsRoute::NotLeased);
        assert_eq!(route(4, "http://b.example"), RobotsRoute::NotLeased, "it was leased for another site");
    }
}

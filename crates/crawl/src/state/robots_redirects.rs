//! Hosts to which the robots.txt of a site redirects.
//!
//! Harvesters in this process follow such a redirect themselves. A batch that is leased to a worker must hold the claims of
//! all hosts that it contacts before it is published: so the worker returns the site, the redirect is recorded here, and the
//! next batch with the site includes the address of the other host. The entries of a site are removed when its robots.txt
//! has been fetched.

use harvest::item::robots_policy::MAX_ROBOTS_REDIRECTS;
use model::SiteId;

use crate::state::crawl_state::CrawlState;

/// Maximum number of hosts of a site; a robots.txt with more redirects counts as unreachable.
const MAX_HOSTS: usize = MAX_ROBOTS_REDIRECTS as usize;

/// Records a redirect of a site to a host.
pub(crate) fn record(state: &mut CrawlState, site: SiteId, host: &str) {
    let hosts = state.robots_redirects.entry(site).or_default();
    if hosts.len() < MAX_HOSTS {
        hosts.insert(host.to_owned());
    }
}

/// Hosts to which a site redirects.
pub(crate) fn hosts(state: &CrawlState, site: SiteId) -> impl Iterator<Item = &str> {
    state.robots_redirects.get(&site).into_iter().flatten().map(String::as_str)
}

/// Removes the redirects of a site, whose robots.txt has been fetched.
pub(crate) fn remove(state: &mut CrawlState, site: SiteId) {
    state.robots_redirects.remove(&site);
}

/// All redirects: each site with each host that its robots.txt redirects to.
pub(crate) fn all(state: &CrawlState) -> impl Iterator<Item = (SiteId, &str)> {
    state.robots_redirects.iter().flat_map(|(site, hosts)| hosts.iter().map(|host| (*site, host.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_redirects_of_a_site_are_limited() {
        let mut state = CrawlState::default();
        record(&mut state, SiteId(1), "http://a.example");
        (0..9).for_each(|number| record(&mut state, SiteId(11), &format!("http://{number}.example")));
        assert_eq!(hosts(&state, SiteId(1)).collect::<Vec<_>>(), ["http://a.example"]);
        assert_eq!(hosts(&state, SiteId(11)).count(), MAX_HOSTS);
        assert_eq!(hosts(&state, SiteId(2)).count(), 0);
        assert_eq!(all(&state).filter(|(site, _)| *site == SiteId(11)).count(), MAX_HOSTS);
        remove(&mut state, SiteId(11));
        assert_eq!(all(&state).collect::<Vec<_>>(), [(SiteId(1), "http://a.example")]);
    }
}

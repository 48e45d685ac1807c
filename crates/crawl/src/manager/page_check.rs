//! Check of a page against the current settings.

use std::net::IpAddr;

use harvest::settings::crawl_settings::CrawlSettings;
use model::{CanonicalUrl, Reason};
use store::PageFlags;

/// Checks a page against the settings, which may have changed since it was discovered.
pub(crate) fn check_settings(
    settings: &CrawlSettings,
    url: &CanonicalUrl,
    depth: u8,
    flags: PageFlags,
) -> std::result::Result<(), Reason> {
    let class = settings.gathering.scope.check_page(url, flags.hops_outside())?;
    // A host that is an IP address can be checked without a DNS lookup.
    let address = url.host().trim_matches(['[', ']']).parse::<IpAddr>();
    if address.is_ok_and(|address| !settings.fetch.network_filter.permits(address)) {
        return Err(Reason::IpBlocked);
    }
    if flags.redirects() > settings.limits.redirects {
        return Err(Reason::TooManyRedirects);
    }
    settings.limits.check_depth(class, depth)?;
    let max_depth = settings.override_for(url).and_then(|site| site.max_depth);
    if max_depth.is_some_and(|max_depth| depth > max_depth) { Err(Reason::TooDeep) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use harvest::SiteOverride;

    use super::*;
    use crate::test_collection::{canonical, override_for};

    #[test]
    fn a_host_that_is_a_blocked_ip_address_is_rejected_before_any_request() {
        let check = |url| check_settings(&CrawlSettings::default(), &canonical(url), 0, PageFlags::default());
        for url in ["http://127.0.0.1/", "http://10.1.2.3:8080/", "http://[::1]/"] {
            assert_eq!(check(url), Err(Reason::IpBlocked), "{url}");
        }
        assert_eq!(check("http://8.8.8.8/"), Ok(()));
        assert_eq!(check("http://localhost.example/"), Ok(()));
    }

    #[test]
    fn the_maximum_depth_of_a_site_applies_to_its_pages_only() {
        let mut settings = CrawlSettings::default();
        settings.site_overrides.push(SiteOverride { max_depth: Some(1), ..override_for("a.example") });
        let check = |url, depth| check_settings(&settings, &canonical(url), depth, PageFlags::default());
        assert_eq!(check("http://a.example/x", 1), Ok(()));
        assert_eq!(check("http://a.example/x", 2), Err(Reason::TooDeep));
        assert_eq!(check("http://b.example/x", 2), Ok(()));
    }
}

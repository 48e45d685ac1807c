//! Check of a page against the current settings.

use std::net::IpAddr;

use harvest::settings::crawl_settings::CrawlSettings;
use model::{CanonicalUrl, Reason};

/// Checks a page against the settings, which may have changed since it was discovered.
pub(super) fn check_settings(
    settings: &CrawlSettings,
    url: &CanonicalUrl,
    depth: u8,
) -> std::result::Result<(), Reason> {
    settings.gathering.scope.check(url)?;
    // A host that is an IP address can be checked without a DNS lookup.
    let address = url.host().trim_matches(['[', ']']).parse::<IpAddr>();
    if address.is_ok_and(|address| !settings.fetch.network_filter.permits(address)) {
        return Err(Reason::IpBlocked);
    }
    let max_depth = settings.override_for(url).and_then(|site| site.max_depth);
    if max_depth.is_some_and(|max_depth| depth > max_depth) { Err(Reason::TooDeep) } else { Ok(()) }
}

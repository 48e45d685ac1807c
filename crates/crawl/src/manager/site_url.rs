//! URL of the front page of a site.

use harvest::settings::crawl_settings::CrawlSettings;
use model::{CanonicalUrl, SiteId};
use store::UrlReader;

/// URL of the front page of a site.
pub(crate) fn front_page(urls: &UrlReader, settings: &CrawlSettings, site: SiteId) -> Option<CanonicalUrl> {
    let name = urls.site_name(site)?;
    settings.gathering.rules.canonical(&format!("{name}/")).ok()
}

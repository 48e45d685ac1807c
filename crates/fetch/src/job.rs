//! What is to be asked, and of whom?

use std::net::IpAddr;
use std::time::Instant;

use model::CanonicalUrl;

use crate::site_request::SiteRequest;

/// One request.
#[derive(Debug, Clone, Copy)]
pub struct FetchJob<'j> {
    /// The page.
    pub url: &'j CanonicalUrl,
    /// Where its host is. A host that is itself an address is asked there and nowhere else.
    pub address: IpAddr,
    /// What this site gets beyond what all sites get.
    pub extra: &'j SiteRequest,
    /// The entity tag of the copy we have.
    pub if_none_match: Option<&'j str>,
    /// The date of the copy we have, as the server wrote it.
    pub if_modified_since: Option<&'j str>,
    /// The longest body that is read.
    pub body_bytes: usize,
    /// Whether any media type will do, as for robots.txt and sitemaps.
    pub any_media_type: bool,
    /// Not sent any more after this time, however long the connection took: another may be asking there by then.
    pub send_before: Option<Instant>,
}

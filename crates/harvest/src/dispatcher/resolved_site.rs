//! Address of a site, as the dispatcher passes it to a harvester.

use std::net::IpAddr;

/// Resolved address of a site.
#[derive(Debug)]
pub(crate) struct ResolvedSite {
    pub(crate) address: IpAddr,
    pub(crate) resolved_s: u32,
    pub(crate) address_expires_s: u32,
    /// Time of the last request for the robots.txt of another site; 0 if there is none.
    pub(crate) last_request_ms: u64,
}

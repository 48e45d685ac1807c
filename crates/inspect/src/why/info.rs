//! Data of a report about a URL. The field names are part of the JSON interface.

use serde::Serialize;

use super::budget::BudgetInfo;
use super::priority::PriorityInfo;

/// Report about a URL. The field names are part of the JSON interface.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UrlReport {
    /// Canonical URL, or the input if it has none.
    pub url: String,
    /// Page id.
    pub page_id: Option<u32>,
    /// `discovered`, `queued`, `fetched`, `failed`, `rejected`; `unknown` for a URL that is not in the collection, and
    /// `invalid-url` for one that cannot be fetched at all.
    pub stage: &'static str,
    /// Reason why it was not fetched.
    pub reason: Option<&'static str>,
    /// Stage as a short text.
    pub summary: String,
    /// Fetches, oldest first.
    pub fetches: Vec<FetchInfo>,
    /// Class by the URL: `static`, `dynamic`, or a file class.
    pub url_class: Option<&'static str>,
    /// Page record; `None` if it is not in the collection.
    pub page: Option<PageInfo>,
    /// Site record; `None` if the site is unknown.
    pub site: Option<SiteInfo>,
    /// Decision of robots.txt.
    pub robots: Option<RobotsInfo>,
    /// Priority, as the manager would compute it now.
    pub priority: Option<PriorityInfo>,
    /// Budgets of the day, the site and the domain.
    pub budget: Option<BudgetInfo>,
    /// Obstacles to its next fetch.
    pub notes: Vec<String>,
    /// Some pages that link to it.
    pub inlinks_sample: Vec<InlinkInfo>,
}

/// Values of a page record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PageInfo {
    /// Whether it is a seed.
    pub is_seed: bool,
    /// Link depth from the entry page of its site.
    pub depth: u8,
    /// Number of consecutive redirects that led to it.
    pub redirect_depth: u8,
    /// Number of pages that link to it.
    pub inlinks: u32,
    /// Number of fetches.
    pub fetch_count: u16,
    /// Number of observed changes.
    pub change_count: u16,
    /// Time of the first fetch.
    pub first_fetch_ms: Option<u64>,
    /// Time of the last fetch.
    pub last_fetch_ms: Option<u64>,
    /// Earliest time of the next fetch.
    pub next_fetch_after_ms: Option<u64>,
    /// HTTP status of the last response; 0 if there is none.
    pub status: u16,
    /// Page with the same content.
    pub duplicate_of: Option<String>,
}

/// Values of a site record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SiteInfo {
    /// Scheme, host and port.
    pub site: String,
    /// Site id.
    pub site_id: u32,
    /// Site of which it is an alias.
    pub alias_of: Option<String>,
    /// IP address.
    pub ip_address: Option<String>,
    /// Known pages.
    pub pages_known: u32,
    /// Pages whose last fetch succeeded.
    pub pages_fetched: u32,
    /// Pages in an open batch.
    pub pages_queued: u32,
    /// Maximum number of pages.
    pub max_pages: u64,
    /// Consecutive failures.
    pub consecutive_failures: u16,
    /// Delay between two requests.
    pub delay_ms: u64,
    /// End of the back-off, if it is in one.
    pub back_off_until_ms: Option<u64>,
    /// Sites at the same IP address, including itself; they are fetched one at a time.
    pub sites_at_ip: u64,
    /// Time of the next poll of robots.txt; `None` before the first request.
    pub next_robots_poll_ms: Option<u64>,
    /// Time at which sitemaps were requested last.
    pub sitemaps_read_ms: Option<u64>,
    /// Time of the next poll of sitemaps.
    pub next_sitemap_poll_ms: Option<u64>,
    /// URLs of other sites in its sitemaps that were refused, because the robots.txt of these sites does not name the sitemap.
    pub sitemap_refusals: u32,
}

/// Decision of robots.txt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RobotsInfo {
    /// Time of the fetch.
    pub fetched_ms: u64,
    /// HTTP status; 0 without a response.
    pub status: u16,
    /// Whether the page is allowed.
    pub allowed: bool,
    /// Matching rule.
    pub rule: Option<String>,
    /// Line of the rule.
    pub line: Option<u32>,
}

/// One fetch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FetchInfo {
    /// Time of the fetch, in Unix milliseconds.
    pub fetched_ms: i64,
    /// HTTP status; 0 without a response.
    pub status: i16,
    /// Outcome.
    pub outcome: String,
    /// Reason of a failure or truncation.
    pub reason: Option<String>,
    /// Target of a redirect.
    pub redirect_url: Option<String>,
    /// MIME type declared by the server.
    pub mime_type: Option<String>,
    /// Size of the body, as transferred.
    pub body_bytes: i64,
    /// Time from the request to the last byte.
    pub duration_ms: Option<i32>,
    /// IP address.
    pub ip_address: Option<String>,
    /// Whether the content had changed.
    pub changed: Option<bool>,
    /// WARC file of the record.
    pub warc_filename: Option<String>,
    /// Offset of the record in the file.
    pub warc_record_offset: Option<i64>,
}

/// In-link of the page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InlinkInfo {
    /// URL of the linking page.
    pub url: String,
    /// Name of the element.
    pub kind: String,
    /// Anchor text.
    pub anchor: Option<String>,
    /// Reason why the link was not followed.
    pub reason: Option<String>,
}

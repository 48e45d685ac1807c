//! Verification of fetches in a harvest directory, which are parsed and encoded here.

use crate::item::fetched_page::FetchedPage;
use crate::item::http_head::HttpHead;
use crate::settings::crawl_settings::CrawlSettings;
use crate::verification::leased_batch::{IMPOSSIBLE_TIME, verify_address};
use crate::verification::time_bounds::TimeBounds;

/// Maximum number of protocol names, one per layer, and their length.
const MAX_PROTOCOLS: usize = 4;
const MAX_PROTOCOL_BYTES: usize = 32;
/// Head and body may have these lengths regardless of the settings: the harvester may have read an older version of them.
const MIN_MAX_HEAD_BYTES: usize = 1 << 20;
const MIN_MAX_BODY_BYTES: usize = 16 << 20;

/// Verifies a fetch: its status is that of the stored head, the time is possible, the address permitted, and lengths are
/// within their limits.
pub fn verify_fetched(
    page: &FetchedPage,
    bounds: &TimeBounds,
    settings: &CrawlSettings,
) -> Result<(), &'static str> {
    verify_address(page.address, settings)?;
    if !u64::try_from(page.fetched_ms).is_ok_and(|time_ms| bounds.contains(time_ms)) {
        return Err(IMPOSSIBLE_TIME);
    }
    if HttpHead(&page.head).status().unwrap_or(0) != page.status {
        return Err("the status is not that of the stored response");
    }
    if page.status == 0 && (page.failure.is_none() || !page.body.is_empty()) {
        return Err("there is neither a response nor the reason for none");
    }
    let fetch = &settings.fetch;
    if page.head.len() > fetch.max_head_bytes.saturating_mul(2).max(MIN_MAX_HEAD_BYTES)
        || page.body.len() > fetch.max_body_bytes.saturating_mul(2).max(MIN_MAX_BODY_BYTES)
    {
        return Err("the response is longer than the maximum");
    }
    let is_long = |name: &String| name.len() > MAX_PROTOCOL_BYTES;
    if page.protocols.len() > MAX_PROTOCOLS || page.protocols.iter().any(is_long) {
        return Err("the response has too many or too long protocol names");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use model::{Reason, UrlRules};

    use super::*;

    #[test]
    fn a_lie_about_a_fetch_is_found() {
        let page = || FetchedPage {
            url: UrlRules::default().canonical("http://a.example/").unwrap(),
            fetched_ms: 1_794_731_400_125,
            address: Some([1, 2, 3, 4].into()),
            protocols: vec!["h2".to_owned()],
            status: 200,
            head: b"HTTP/2 200 OK\r\n\r\n".to_vec(),
            body: b"x".to_vec(),
            truncated: None,
            request: Vec::new(),
            failure: None,
            latency_ms: None,
            duration_ms: None,
        };
        let settings = CrawlSettings::default();
        let bounds = TimeBounds::new(&settings, 1_794_731_400_000, 1_794_731_401_000);
        let verify = |page: &FetchedPage| verify_fetched(page, &bounds, &settings);
        assert_eq!(verify(&page()), Ok(()));
        let none =
            FetchedPage { status: 0, head: vec![], body: vec![], failure: Some(Reason::TooSlow), ..page() };
        assert_eq!(verify(&none), Ok(()));
        for lie in [
            FetchedPage { fetched_ms: -1, ..page() },
            FetchedPage { fetched_ms: i64::MAX, ..page() },
            FetchedPage { address: Some([127, 0, 0, 1].into()), ..page() },
            FetchedPage { status: 404, ..page() },
            FetchedPage { status: 0, ..page() },
            FetchedPage { head: b"nothing".to_vec(), ..page() },
            FetchedPage { head: [page().head, vec![b'x'; 2 << 20]].concat(), ..page() },
            FetchedPage { body: vec![0; 20 << 20], ..page() },
            FetchedPage { protocols: vec!["x".repeat(100)], ..page() },
            FetchedPage { failure: None, ..none.clone() },
        ] {
            assert!(verify(&lie).is_err(), "{:?}", (lie.fetched_ms, lie.status, lie.address));
        }
    }
}

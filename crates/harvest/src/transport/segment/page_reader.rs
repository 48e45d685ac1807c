//! Reader of the pages of a segment: verifies a page against its record and the batch that was leased.

use model::{CanonicalUrl, Reason, Truncation, UrlRules};
use parse::{ContentKind, Fingerprint, LinkKind, RobotsDirectives};
use warc::VerifiedCapture;

use crate::files::harvest_dir::head_as_received;
use crate::gatherer::response::{MAX_INVALID_URL_BYTES, ResponseParts, cut, describe_response, link_target};
use crate::gatherer::{MAX_ANCHOR_BYTES, MAX_REL_BYTES};
use crate::item::fetch_outcome::FetchOutcome;
use crate::item::gathered_page::{GatheredDocument, GatheredLink, GatheredLinks, GatheredPage, LinkTarget};
use crate::item::http_head::HttpHead;
use crate::settings::crawl_settings::CrawlSettings;
use crate::settings::gather_settings::GatherSettings;
use crate::transport::segment::entry::{MAX_LINKS, SegmentDocument, SegmentLink, SegmentPage};
use crate::verification::leased_batch::{IMPOSSIBLE_TIME, OpenPage, VerificationContext, verify_address};
use crate::verification::time_bounds::TimeBounds;

/// Maximum size of the records of all pages of a segment without compression: that of a segment of the usual 8 MiB with the
/// maximum compression ratio of deflate.
pub(super) const MAX_RECORDS_BYTES: usize = 9 << 30;
/// A record may have this size regardless of the settings, because workers can apply a change later than the coordinator.
const MIN_MAX_RECORD_BYTES: usize = 16 << 20;
/// Maximum length of the names of charsets and languages.
const MAX_NAME_BYTES: usize = 64;
/// Maximum length of a URL that is only recorded.
const MAX_URL_BYTES: usize = 8 << 10;
/// Longest time from a request to its end.
const MAX_DURATION_MS: u32 = 86_400_000;

/// Verifies the pages of one segment.
pub(super) struct PageReader<'r> {
    pub(super) records: &'r [u8],
    pub(super) context: &'r VerificationContext<'r>,
    pub(super) bounds: TimeBounds,
    /// Decompressed bytes of records that may still be read.
    pub(super) records_bytes_left: usize,
}

/// Cause of a rejection.
type Cause = &'static str;

impl PageReader<'_> {
    /// Verifies a page that was leased.
    pub(super) fn read(
        &mut self,
        page: &SegmentPage<'_>,
        leased: OpenPage<'_>,
    ) -> Result<GatheredPage, Cause> {
        let settings = self.context.settings;
        let url = canonical(leased.url, &settings.gathering.rules)
            .ok_or("the URL is not canonical by the current rules")?;
        let failure = page.failure.map(|code| Reason::from_code(code).ok_or("the failure is unknown"));
        let parts = PageParts {
            url,
            failure: failure.transpose()?,
            latency_ms: page.latency_ms.filter(|time_ms| *time_ms <= MAX_DURATION_MS),
            duration_ms: page.duration_ms.filter(|time_ms| *time_ms <= MAX_DURATION_MS),
            truncated: page.truncated.map(Truncation::parse),
        };
        let mut gathered = match page.record {
            None => self.read_without_response(page, parts, settings)?,
            Some(range) => self.read_response(range, parts, settings)?,
        };
        let address = gathered.address;
        verify_address(address, settings)?;
        let is_leased = |address: std::net::IpAddr| leased.address == Some(address.into());
        if address.is_some_and(|address| !is_leased(address)) {
            return Err("the IP address is not that of the site");
        }
        let fetched_ms = u64::try_from(gathered.fetched_ms).unwrap_or(0);
        if !self.bounds.contains(fetched_ms) {
            return Err(IMPOSSIBLE_TIME);
        }
        read_content(page, &mut gathered, &settings.gathering)?;
        Ok(gathered)
    }

    fn read_without_response(
        &self,
        page: &SegmentPage<'_>,
        parts: PageParts,
        settings: &CrawlSettings,
    ) -> Result<GatheredPage, Cause> {
        if parts.failure.is_none() {
            return Err("there is neither a response nor the reason for none");
        }
        let response = parts.response(page.fetched_ms, page.address, 0, &[], &[], &[]);
        Ok(describe_response(&settings.gathering, response))
    }

    fn read_response(
        &mut self,
        (start, length): (u64, u64),
        mut parts: PageParts,
        settings: &CrawlSettings,
    ) -> Result<GatheredPage, Cause> {
        let end = usize::try_from(start.saturating_add(length)).ok();
        let range = usize::try_from(start).ok().zip(end);
        let members = range.and_then(|(start, end)| self.records.get(start..end));
        let members = members.ok_or("the record is outside of the segment")?.to_vec();
        let fetch = &settings.fetch;
        let max_record_bytes = fetch
            .max_body_bytes
            .saturating_add(fetch.max_head_bytes)
            .saturating_mul(2)
            .max(MIN_MAX_RECORD_BYTES);
        let url = parts.url.as_str();
        let capture = VerifiedCapture::verify(members, url, max_record_bytes, &mut self.records_bytes_left)?;
        let head = head_as_received(capture.head(), &capture.protocols);
        let status = HttpHead(&head).status().ok_or("the response has no status")?;
        // The gatherer marks a body that it cannot decode as truncated; the record does not.
        parts.truncated = capture.truncated.or(parts.truncated);
        let response = parts.response(
            capture.fetched_at_ms,
            capture.ip_address,
            status,
            &capture.protocols,
            &head,
            capture.body(),
        );
        let mut gathered = describe_response(&settings.gathering, response);
        gathered.record = Some(Ok(capture.encoded));
        Ok(gathered)
    }
}

/// Values of a page that no record states.
struct PageParts {
    url: CanonicalUrl,
    failure: Option<Reason>,
    latency_ms: Option<u32>,
    duration_ms: Option<u32>,
    truncated: Option<Truncation>,
}

impl PageParts {
    fn response<'r>(
        self,
        fetched_ms: i64,
        address: Option<std::net::IpAddr>,
        status: u16,
        protocols: &'r [String],
        head: &'r [u8],
        body: &'r [u8],
    ) -> ResponseParts<'r> {
        ResponseParts {
            url: self.url,
            fetched_ms,
            address,
            status,
            outcome: FetchOutcome::of_fetch(status, self.failure),
            protocols,
            head,
            body,
            failure: self.failure,
            truncated: self.truncated,
            latency_ms: self.latency_ms,
            duration_ms: self.duration_ms,
        }
    }
}

/// Reads document and links, which only a page with content has.
fn read_content(
    page: &SegmentPage<'_>,
    gathered: &mut GatheredPage,
    settings: &GatherSettings,
) -> Result<(), Cause> {
    let Some(document) = &page.document else {
        return if page.links.is_empty() { Ok(()) } else { Err("a page without content has links") };
    };
    if !gathered.outcome.has_content() {
        return Err("a response without content has a document");
    }
    if page.links.len() > MAX_LINKS {
        return Err("the page has more links than the maximum");
    }
    gathered.document = Some(read_document(document, settings));
    let mut links = GatheredLinks::default();
    for link in &page.links {
        read_link(link, &gathered.url, &mut links, settings)?;
    }
    gathered.links = links;
    Ok(())
}

fn read_document(document: &SegmentDocument<'_>, settings: &GatherSettings) -> GatheredDocument {
    let limits = &settings.options.limits;
    let kinds = [ContentKind::Html, ContentKind::Text, ContentKind::Feed];
    let kind = kinds.into_iter().find(|kind| kind.as_str() == document.kind);
    let (bits, unavailable_after) = document.robots;
    let (simhash, minhash) = document.fingerprint;
    let language = document.language.filter(|(_, confidence)| (0.0..=1.0).contains(confidence));
    let name = |text: &str| cut(text, MAX_NAME_BYTES);
    GatheredDocument {
        kind: kind.unwrap_or(ContentKind::Other),
        title: cut(document.title, limits.title_bytes),
        description: cut(document.description, limits.title_bytes),
        language: language.map(|(code, confidence)| (name(code).into(), confidence)),
        language_declared: name(document.language_declared),
        charset: name(document.charset),
        charset_source: document.charset_source.map(|source| name(source).into()),
        canonical: document.canonical.map(|url| cut(url, MAX_URL_BYTES)),
        robots: RobotsDirectives::from_bits(bits, unavailable_after),
        published_ms: document.published_ms,
        modified_ms: document.modified_ms,
        raw_bytes: document.raw_bytes.min(limits.input_bytes as u64),
        text_bytes: document.text_bytes.min(limits.text_bytes as u64),
        words: document.words,
        relevance: document.relevance,
        text_hash: document.text_hash,
        change_hash: document.change_hash,
        front_page_hash: document.front_page_hash,
        fingerprint: Fingerprint { simhash, minhash },
    }
}

/// Appends a link. A URL that is not canonical by the current rules, or out of scope, is recorded and not followed.
fn read_link(
    link: &SegmentLink<'_>,
    page: &CanonicalUrl,
    links: &mut GatheredLinks,
    settings: &GatherSettings,
) -> Result<(), Cause> {
    let kind = LinkKind::from_code(link.kind).ok_or("a link is of an unknown kind")?;
    if !link.position.is_finite() {
        return Err("the position of a link is not a number");
    }
    if link.followed.is_some() && !kind.leads_to_page() {
        return Err("a link to an embedded resource is followed");
    }
    match (kind.leads_to_page(), link.internal) {
        (false, _) => links.embedded += 1,
        (true, true) => links.internal += 1,
        (true, false) => links.external += 1,
    }
    let followed =
        link.followed.and_then(|relevance| Some((relevance, canonical(link.url, &settings.rules)?)));
    let target = match followed {
        Some((relevance, url)) => link_target(settings, &url, url.site() != page.site(), relevance, links),
        None => {
            let max_bytes = if link.reason.is_some() { MAX_URL_BYTES } else { MAX_INVALID_URL_BYTES };
            LinkTarget::Unfollowed(links.store_text(link.url, max_bytes), link.reason)
        }
    };
    let gathered = GatheredLink {
        target,
        rel: links.store_text(link.rel, MAX_REL_BYTES),
        anchor: links.store_text(link.anchor, MAX_ANCHOR_BYTES),
        kind,
        context: link.context,
        position: link.position.clamp(0.0, 1.0),
        internal: link.internal,
    };
    links.all.push(gathered);
    Ok(())
}

fn canonical(url: &str, rules: &UrlRules) -> Option<CanonicalUrl> {
    rules.canonical(url).ok().filter(|canonical| canonical.as_str() == url)
}

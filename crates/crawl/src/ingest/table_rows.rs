//! Rows of the tables: fetches, documents, links and the site log.

use harvest::item::gathered_page::{GatheredDocument, GatheredPage, LinkTarget};
use model::{CanonicalUrl, PageId, Reason, SiteId, UrlRules};
use parse::ContentKind;
use store::{
    AppendResult, Collection, DocumentRow, FetchRow, LinkRow, PageRecord, Result, SiteLogRow, SiteRecord,
};

use crate::ingest::page_links::PageLinks;
use crate::ingest::page_policy::PagePolicy;
use crate::ingest::visit::VisitComparison;

/// Adds a row to the table `fetches`.
pub(crate) fn push_fetch(
    collection: &mut Collection,
    id: PageId,
    record: &PageRecord,
    page: &GatheredPage,
    visit: VisitComparison,
    digest: Option<&str>,
    stored: Option<AppendResult>,
) {
    let url = &page.url;
    let location = stored.map(|stored| stored.location);
    let file = location.map(|location| format!("pages/{}", location.file_name()));
    let document = page.document.as_ref();
    let host = Host::new(url);
    collection.tables.fetches.rows.push(&FetchRow {
        url_surtkey: &url.surt(),
        url: url.as_str(),
        url_host_name: url.host(),
        url_host_tld: host.tld,
        url_host_registry_suffix: host.suffix,
        url_host_registered_domain: host.registered_domain,
        url_protocol: url.scheme().as_str(),
        url_port: (url.port() != url.scheme().default_port()).then(|| i32::from(url.port())),
        url_path: url.path(),
        url_query: url.query(),
        fetch_time: page.fetched_ms,
        fetch_status: page.status as i16,
        fetch_redirect: page.redirect.as_deref(),
        content_digest: digest,
        content_mime_type: page.mime_declared.as_deref(),
        content_mime_detected: document.and_then(|document| mime_detected(document, page)),
        content_charset: document.and_then(|document| some(&document.charset)),
        content_languages: document.and_then(|document| Some(document.language.as_ref()?.0.as_ref())),
        content_truncated: page.truncated.map(model::Truncation::as_str),
        warc_filename: file.as_deref(),
        warc_record_offset: location.map(|location| location.offset as i64),
        warc_record_length: location.map(|location| int(u64::from(location.length))),
        page_id: id.0,
        site_id: record.site.0,
        depth: i16::from(record.depth),
        outcome: page.outcome.as_str(),
        reason: page.failure.map(Reason::as_str),
        ip_address: page.address.map(|address| address.to_string()).as_deref(),
        http_version: page.http_version.as_deref(),
        server: page.server.as_deref(),
        content_length: page.content_bytes as i64,
        latency_ms: page.latency_ms.map(|time| int(u64::from(time))),
        duration_ms: page.duration_ms.map(|time| int(u64::from(time))),
        main_text_hash: document.map(|document| document.text_hash.cast_signed()).filter(|hash| *hash != 0),
        changed: visit.changed,
        duplicate_of: record.duplicate_of.map(|page| page.0),
    });
}

/// Adds a row to the table `documents`, if the content was parsed.
pub(crate) fn push_document(collection: &mut Collection, id: PageId, site: SiteId, page: &GatheredPage) {
    let Some(document) = &page.document else { return };
    collection.tables.documents.rows.push(&DocumentRow {
        page_id: id.0,
        site_id: site.0,
        url: page.url.as_str(),
        fetch_time: page.fetched_ms,
        title: some(&document.title),
        description: some(&document.description),
        language: document.language.as_ref().map(|(code, _)| code.as_ref()),
        language_confidence: document.language.as_ref().map(|(_, confidence)| *confidence),
        language_declared: some(&document.language_declared),
        charset: some(&document.charset),
        charset_source: document.charset_source.as_deref(),
        canonical_url: document.canonical.as_deref(),
        robots_directives: some(&document.robots.to_string()),
        published_time: document.published_ms,
        modified_time: document.modified_ms,
        decoded_length: document.raw_bytes as i64,
        simplified_length: None,
        text_length: document.text_bytes as i64,
        word_count: int(u64::from(document.words)),
        main_text_hash: document.text_hash.cast_signed(),
        simhash: document.fingerprint.simhash.cast_signed(),
        minhash: document.fingerprint.minhash.map(u64::cast_signed),
        internal_links: int(u64::from(page.links.internal)),
        external_links: int(u64::from(page.links.external)),
        embedded_links: int(u64::from(page.links.embedded)),
    });
}

/// Adds the links of a page to the table `links`. `targets` are the pages of the followed links, as far as the policy admits
/// them.
pub(crate) fn push_links(
    collection: &mut Collection,
    page: &PageLinks,
    targets: &[Option<PageId>],
    policy: &PagePolicy,
) {
    for link in &page.links.all {
        let reason = match link.target {
            LinkTarget::Followed(index) if targets.get(index as usize) == Some(&None) => {
                let site = collection.urls.reader().find_site(site_of(page.links.url(link.target)));
                Some(policy.rejection_reason(site).as_str())
            }
            LinkTarget::Followed(_) => None,
            LinkTarget::Unfollowed(_, reason) => reason.map(Reason::as_str),
        };
        collection.tables.links.rows.push(&LinkRow {
            source_page_id: page.id.0,
            target_page_id: match link.target {
                LinkTarget::Followed(index) => {
                    targets.get(index as usize).copied().flatten().map(|page| page.0)
                }
                LinkTarget::Unfollowed(..) => None,
            },
            target_url: page.links.url(link.target),
            fetch_time: page.fetched_ms,
            element: link.kind.as_str(),
            rel: page.links.non_empty_text(link.rel),
            anchor: page.links.non_empty_text(link.anchor),
            is_internal: link.internal,
            text_position: link.position,
            reason,
        });
    }
}

/// Scheme, host and port of a canonical URL: all before its third slash.
fn site_of(url: &str) -> &str {
    let slashes = url.bytes().enumerate().filter(|(_, byte)| *byte == b'/');
    slashes.map(|(index, _)| index).nth(2).map_or(url, |end| &url[..end])
}

/// Adds a row for each site to the table `site_log`, with its current state.
pub fn describe_sites(collection: &mut Collection, now_ms: i64) -> Result<()> {
    let rules = UrlRules::default();
    let Collection { site_state: sites, urls, tables, .. } = collection;
    let parts = sites.reader().scan(|records: &mut Vec<(SiteId, SiteRecord)>, id, record| {
        records.push((id, *record));
    })?;
    let mut records = parts.concat();
    records.sort_unstable_by_key(|(id, _)| *id);
    for (id, record) in records {
        let Some(name) = urls.reader().site_name(id) else { continue };
        // The name of a site always forms a canonical URL.
        let Ok(url) = rules.canonical(&format!("{name}/")) else { continue };
        let address = record.address.map(|address| address.to_string());
        let row = site_row(id, name, &url, &record);
        tables.site_log.rows.push(&SiteLogRow {
            observed_time: now_ms,
            ip_address: address.as_deref(),
            ..row
        });
    }
    Ok(())
}

fn site_row<'a>(id: SiteId, name: &'a str, url: &'a CanonicalUrl, record: &SiteRecord) -> SiteLogRow<'a> {
    let host = Host::new(url);
    SiteLogRow {
        site_id: id.0,
        site: name,
        url_host_name: url.host(),
        url_host_registered_domain: host.registered_domain,
        url_host_tld: host.tld,
        observed_time: 0,
        ip_address: None,
        alias_of: record.alias_of.map(|site| site.0),
        robots_status: (record.robots_fetched_s != 0).then_some(record.robots_status as i16),
        crawl_delay_ms: (record.crawl_delay_ms != 0).then(|| int(u64::from(record.crawl_delay_ms))),
        pages_known: i64::from(record.pages_known),
        pages_queued: i64::from(record.pages_queued),
        pages_fetched: i64::from(record.pages_fetched),
        pages_static: i64::from(record.pages_static),
        pages_dynamic: i64::from(record.pages_dynamic),
        failed_fetches: i64::from(record.failed_requests),
        bytes_received: record.bytes_received as i64,
    }
}

/// Parts of a host name; `None` for an IP address.
struct Host<'u> {
    tld: Option<&'u str>,
    suffix: Option<&'u str>,
    registered_domain: Option<&'u str>,
}

impl<'u> Host<'u> {
    fn new(url: &'u CanonicalUrl) -> Host<'u> {
        let registered_domain = url.registered_domain();
        Host {
            tld: url.top_level_domain(),
            suffix: registered_domain.and_then(|domain| Some(domain.split_once('.')?.1)),
            registered_domain,
        }
    }
}

/// MIME type by which the body was parsed; the declared one if it is a more specific match.
fn mime_detected<'p>(document: &GatheredDocument, page: &'p GatheredPage) -> Option<&'p str> {
    let declared = page.mime_declared.as_deref();
    match document.kind {
        ContentKind::Html => {
            declared.filter(|declared| *declared == "application/xhtml+xml").or(Some("text/html"))
        }
        ContentKind::Text => Some("text/plain"),
        ContentKind::Feed => {
            declared.filter(|declared| declared.ends_with("+xml")).or(Some("application/xml"))
        }
        ContentKind::Other => None,
    }
}

fn some(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

/// Converts a count; larger values do not occur in practice and are clamped.
fn int(value: u64) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}

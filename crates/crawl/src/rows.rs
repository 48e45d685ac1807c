//! What do the tables say about a fetch, a document, its links, and all sites?

use model::{CanonicalUrl, PageId, Reason, SiteId, UrlRules};
use parse::PageKind;
use store::{
    Appended, Collection, DocumentRow, FetchRow, LinkRow, PageRecord, Resolved, Result, SiteRecord, SiteRow,
};

use crate::found::Found;
use crate::gathered::{Gathered, GatheredDocument, Target};
use crate::rules::Rules;
use crate::visit::Visit;

pub(crate) fn push_fetch(
    collection: &mut Collection,
    id: PageId,
    record: &PageRecord,
    page: &Gathered,
    visit: Visit,
    digest: Option<&str>,
    stored: Option<Appended>,
) {
    let url = &page.url;
    let location = stored.map(|stored| stored.location);
    let file = location.map(|location| format!("pages/{}", location.file_name()));
    let document = page.document.as_ref();
    let host = Host::of(url);
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
        content_truncated: page.truncated.map(store::Truncated::name),
        warc_filename: file.as_deref(),
        warc_record_offset: location.map(|location| location.offset as i64),
        warc_record_length: location.map(|location| int(u64::from(location.length))),
        page_id: id.0,
        site_id: record.site.0,
        depth: i16::from(record.depth),
        outcome: page.outcome.as_str(),
        reason: page.failure.map(Reason::as_str),
        address: page.address.map(|address| address.to_string()).as_deref(),
        http_version: page.http_version.as_deref(),
        server: page.server.as_deref(),
        content_length: page.content_bytes as i64,
        latency_ms: page.latency_ms.map(|time| int(u64::from(time))),
        duration_ms: page.duration_ms.map(|time| int(u64::from(time))),
        text_digest: document.map(|document| document.text_hash.cast_signed()).filter(|hash| *hash != 0),
        changed: visit.changed,
        duplicate_of: record.duplicate_of.map(|page| page.0),
    });
}

/// Nothing where there was no content to be read.
pub(crate) fn push_document(collection: &mut Collection, id: PageId, site: SiteId, page: &Gathered) {
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
        canonical: document.canonical.as_deref(),
        robots: some(&document.robots.to_string()),
        published: document.published_ms,
        modified: document.modified_ms,
        raw_length: document.raw_bytes as i64,
        kept_length: None,
        text_length: document.text_bytes as i64,
        words: int(u64::from(document.words)),
        text_digest: document.text_hash.cast_signed(),
        simhash: document.fingerprint.simhash.cast_signed(),
        minhash: document.fingerprint.minhash.map(u64::cast_signed),
        links_internal: int(u64::from(page.links.internal)),
        links_external: int(u64::from(page.links.external)),
        links_embedded: int(u64::from(page.links.embedded)),
    });
}

/// `targets` are the pages that the followed links lead to, as far as the rules admitted them.
pub(crate) fn push_links(collection: &mut Collection, page: &Found, targets: &[PageId], rules: &Rules) {
    for link in &page.links.all {
        let reason = match link.target {
            Target::Followed(place) if targets.get(place as usize) == Some(&Resolved::REFUSED) => {
                let site = collection.urls.known().find_site(site_of(page.links.url(link.target)));
                Some(rules.refusal(site).as_str())
            }
            Target::Followed(_) => None,
            Target::Noted(_, reason) => reason.map(Reason::as_str),
        };
        collection.tables.links.rows.push(&LinkRow {
            source_page_id: page.id.0,
            target_page_id: match link.target {
                Target::Followed(place) => {
                    targets.get(place as usize).filter(|page| **page != Resolved::REFUSED).map(|page| page.0)
                }
                Target::Noted(..) => None,
            },
            target_url: page.links.url(link.target),
            fetch_time: page.fetched_ms,
            kind: link.kind.as_str(),
            rel: page.links.some_text(link.rel),
            anchor: page.links.some_text(link.anchor),
            internal: link.internal,
            position: link.position,
            reason,
        });
    }
}

/// Scheme, host and port of a canonical URL: all before its third slash.
fn site_of(url: &str) -> &str {
    let slashes = url.bytes().enumerate().filter(|(_, byte)| *byte == b'/');
    slashes.map(|(place, _)| place).nth(2).map_or(url, |end| &url[..end])
}

/// Adds a row for every site to the table of sites, as it is now.
pub fn describe_sites(collection: &mut Collection, now_ms: i64) -> Result<()> {
    let rules = UrlRules::default();
    let Collection { sites, urls, tables, .. } = collection;
    let parts = sites.reader().scan(|records: &mut Vec<(SiteId, SiteRecord)>, id, record| {
        records.push((id, *record));
    })?;
    let mut records = parts.concat();
    records.sort_unstable_by_key(|(id, _)| *id);
    for (id, record) in records {
        let Some(name) = urls.known().site_name(id) else { continue };
        // What was a canonical URL's site makes one again.
        let Ok(url) = rules.canonical(&format!("{name}/")) else { continue };
        let address = record.address.map(|address| address.to_string());
        let row = site_row(id, name, &url, &record);
        tables.sites.rows.push(&SiteRow { time: now_ms, address: address.as_deref(), ..row });
    }
    Ok(())
}

fn site_row<'a>(id: SiteId, name: &'a str, url: &'a CanonicalUrl, record: &SiteRecord) -> SiteRow<'a> {
    let host = Host::of(url);
    SiteRow {
        site_id: id.0,
        site: name,
        host: url.host(),
        registered_domain: host.registered_domain,
        tld: host.tld,
        time: 0,
        address: None,
        alias_of: record.alias_of.map(|site| site.0),
        robots_status: (record.robots_fetched_s != 0).then_some(record.robots_status as i16),
        crawl_delay_ms: (record.crawl_delay_ms != 0).then(|| int(u64::from(record.crawl_delay_ms))),
        pages_known: i64::from(record.pages_known),
        pages_queued: i64::from(record.pages_queued),
        pages_fetched: i64::from(record.pages_fetched),
        pages_static: i64::from(record.pages_static),
        pages_dynamic: i64::from(record.pages_dynamic),
        errors: i64::from(record.errors),
        bytes: record.bytes as i64,
    }
}

/// A host name in parts; an address has none.
struct Host<'u> {
    tld: Option<&'u str>,
    suffix: Option<&'u str>,
    registered_domain: Option<&'u str>,
}

impl<'u> Host<'u> {
    fn of(url: &'u CanonicalUrl) -> Host<'u> {
        let registered_domain = url.registered_domain();
        Host {
            tld: url.top_level_domain(),
            suffix: registered_domain.and_then(|domain| Some(domain.split_once('.')?.1)),
            registered_domain,
        }
    }
}

/// The type that a body was read as; the header may be more exact about the same.
fn mime_detected<'p>(document: &GatheredDocument, page: &'p Gathered) -> Option<&'p str> {
    let declared = page.mime_declared.as_deref();
    match document.kind {
        PageKind::Html => {
            declared.filter(|declared| *declared == "application/xhtml+xml").or(Some("text/html"))
        }
        PageKind::Text => Some("text/plain"),
        PageKind::Feed => declared.filter(|declared| declared.ends_with("+xml")).or(Some("application/xml")),
        PageKind::Other => None,
    }
}

fn some(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

/// Counts beyond 31 bits are not met; were one, the largest number stands for it.
fn int(value: u64) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}

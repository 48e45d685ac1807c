//! Segments: blobs in which a worker sends parsed pages and events to the coordinator.
//!
//! ```text
//! WARC records, concatenated: any WARC tool can read the pages of a segment
//! items in their order, as postcard, compressed with zstd
//! XXH3 of everything before, lengths of both parts, version
//! ```
//!
//! A segment is input from another machine. It is checked wherever it could corrupt the collection: URLs must be canonical
//! by the current rules, and offsets must be within their buffers.

use std::io::Read;
use std::net::IpAddr;

use model::{CanonicalUrl, Reason, Truncation, UrlRules};
use parse::{ContentKind, Fingerprint, LinkKind, RobotsDirectives};
use serde::{Deserialize, Serialize};
use warc::{EncodedRecord, EncodedRecordMeta};
use xxhash_rust::xxh3::xxh3_64;

use crate::item::fetch_outcome::FetchOutcome;
use crate::item::gathered_page::{GatheredDocument, GatheredLink, GatheredLinks, GatheredPage, LinkTarget};
use crate::item::harvest_event::HarvestEvent;
use crate::item::harvest_item::HarvestItem;

/// Maximum length of a segment.
pub const MAX_SEGMENT_BYTES: u64 = 256 << 20;
/// Maximum length of the decompressed items.
const MAX_ITEMS_BYTES: u64 = 512 << 20;
const VERSION: u32 = 2;
const FOOTER_BYTES: usize = 8 + 8 + 8 + 4;

/// Error of reading a segment.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SegmentError {
    /// The checksum or the structure is wrong.
    #[error("the segment is corrupt")]
    Corrupt,
    /// Version of another program.
    #[error("the segment has version {0}; this program reads version {VERSION}")]
    OtherVersion(u32),
}

/// Writer of segments.
#[derive(Debug, Default)]
pub struct SegmentWriter {
    records: Vec<u8>,
    items: Vec<u8>,
    count: usize,
}

impl SegmentWriter {
    /// Whether there is no item.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Current length before compression.
    pub fn bytes(&self) -> usize {
        self.records.len() + self.items.len()
    }

    /// Appends a page.
    pub fn push_page(&mut self, page: &GatheredPage) {
        let line = SegmentPage::of(page, self.records.len() as u64);
        if let Some(Ok(record)) = &page.record {
            self.records.extend_from_slice(record.members());
        }
        self.push(&SegmentEntry::Page(Box::new(line)));
    }

    /// Appends an event.
    pub fn push_event(&mut self, event: &HarvestEvent) {
        // Events have optional fields that are skipped, which needs a self-describing format.
        if let Ok(event) = serde_json::to_string(event) {
            self.push(&SegmentEntry::Event(&event));
        }
    }

    fn push(&mut self, line: &SegmentEntry<'_>) {
        self.count += 1;
        let items = std::mem::take(&mut self.items);
        // Writing these types to a vector cannot fail.
        self.items = postcard::to_extend(line, items).unwrap_or_default();
    }

    /// Returns the segment; the writer is empty afterwards.
    pub fn finish(&mut self) -> std::io::Result<Vec<u8>> {
        let mut segment = std::mem::take(&mut self.records);
        let records_bytes = segment.len() as u64;
        let items = zstd::bulk::compress(&std::mem::take(&mut self.items), 1)?;
        self.count = 0;
        segment.extend_from_slice(&items);
        let hash = xxh3_64(&segment);
        for number in [hash, records_bytes, items.len() as u64] {
            segment.extend_from_slice(&number.to_le_bytes());
        }
        segment.extend_from_slice(&VERSION.to_le_bytes());
        Ok(segment)
    }
}

/// Reads a segment. A page whose URL is not canonical by the current rules is dropped; the coordinator treats it as not
/// fetched.
pub fn read_segment(segment: &[u8], rules: &UrlRules) -> Result<Vec<HarvestItem>, SegmentError> {
    let (content, footer) = split_footer(segment)?;
    let number = |index: usize| Some(u64::from_le_bytes(*footer.get(index..)?.first_chunk()?));
    let (Some(hash), Some(records_bytes), Some(items_bytes)) = (number(0), number(8), number(16)) else {
        return Err(SegmentError::Corrupt);
    };
    if xxh3_64(content) != hash || records_bytes.checked_add(items_bytes) != Some(content.len() as u64) {
        return Err(SegmentError::Corrupt);
    }
    // Not longer than the content, so that the conversion is lossless.
    let records_bytes = records_bytes as usize;
    let (records, items) = content.split_at(records_bytes);
    let items = unpack(items).map_err(|_| SegmentError::Corrupt)?;
    let (mut remaining, mut all) = (items.as_slice(), Vec::new());
    while !remaining.is_empty() {
        let (entry, after): (SegmentEntry<'_>, &[u8]) =
            postcard::take_from_bytes(remaining).map_err(|_| SegmentError::Corrupt)?;
        remaining = after;
        match entry {
            SegmentEntry::Event(event) => {
                let event = serde_json::from_str(event).map_err(|_| SegmentError::Corrupt)?;
                all.push(HarvestItem::Event(event));
            }
            SegmentEntry::Page(page) => {
                let page = page.gathered(records, rules)?;
                all.extend(page.map(|page| HarvestItem::Gathered(Box::new(page))));
            }
        }
    }
    Ok(all)
}

fn unpack(compressed: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut items = Vec::new();
    zstd::stream::read::Decoder::with_buffer(compressed)?.take(MAX_ITEMS_BYTES).read_to_end(&mut items)?;
    Ok(items)
}

fn split_footer(segment: &[u8]) -> Result<(&[u8], &[u8]), SegmentError> {
    let at = segment.len().checked_sub(FOOTER_BYTES).ok_or(SegmentError::Corrupt)?;
    let (content, footer) = segment.split_at(at);
    let version = footer.last_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    if version == VERSION { Ok((content, footer)) } else { Err(SegmentError::OtherVersion(version)) }
}

#[derive(Serialize, Deserialize)]
enum SegmentEntry<'a> {
    #[serde(borrow)]
    Page(Box<SegmentPage<'a>>),
    Event(&'a str),
}

/// Parsed page.
#[derive(Serialize, Deserialize)]
struct SegmentPage<'a> {
    url: &'a str,
    dynamic: bool,
    fetched_ms: i64,
    address: Option<IpAddr>,
    status: u16,
    failure: Option<u8>,
    latency_ms: Option<u32>,
    duration_ms: Option<u32>,
    truncated: Option<&'a str>,
    http_version: Option<&'a str>,
    server: Option<&'a str>,
    mime_declared: Option<&'a str>,
    content_bytes: u64,
    content_hash: u64,
    modified_s: Option<u32>,
    redirect: Option<&'a str>,
    /// Offset, length and metadata of the record; `None` if nothing is to be stored.
    record: Option<(u64, u64, EncodedRecordMeta)>,
    #[serde(borrow)]
    document: Option<SegmentDocument<'a>>,
    internal: u32,
    external: u32,
    embedded: u32,
    #[serde(borrow)]
    links: Vec<SegmentLink<'a>>,
}

#[derive(Serialize, Deserialize)]
struct SegmentDocument<'a> {
    kind: &'a str,
    title: &'a str,
    description: &'a str,
    language: Option<(&'a str, f32)>,
    language_declared: &'a str,
    charset: &'a str,
    charset_source: Option<&'a str>,
    canonical: Option<&'a str>,
    robots: (u8, Option<i64>),
    published_ms: Option<i64>,
    modified_ms: Option<i64>,
    raw_bytes: u64,
    text_bytes: u64,
    words: u32,
    relevance: u16,
    text_hash: u64,
    fingerprint: (u64, Option<u64>),
}

/// Link: a followed URL has its dynamic flag and estimated relevance, another one the reason why it is not followed.
#[derive(Serialize, Deserialize)]
struct SegmentLink<'a> {
    url: &'a str,
    followed: Option<(bool, u16)>,
    reason: Option<Reason>,
    kind: u8,
    context: u16,
    position: f32,
    internal: bool,
    rel: &'a str,
    anchor: &'a str,
}

fn owned(text: Option<&str>) -> Option<String> {
    text.map(str::to_owned)
}

impl<'a> SegmentPage<'a> {
    fn of(page: &'a GatheredPage, offset: u64) -> SegmentPage<'a> {
        let record = page.record.as_ref().and_then(|record| record.as_ref().ok());
        let links = &page.links;
        SegmentPage {
            url: page.url.as_str(),
            dynamic: page.dynamic,
            fetched_ms: page.fetched_ms,
            address: page.address,
            status: page.status,
            failure: page.failure.map(Reason::code),
            latency_ms: page.latency_ms,
            duration_ms: page.duration_ms,
            truncated: page.truncated.map(Truncation::as_str),
            http_version: page.http_version.as_deref(),
            server: page.server.as_deref(),
            mime_declared: page.mime_declared.as_deref(),
            content_bytes: page.content_bytes,
            content_hash: page.content_hash,
            modified_s: page.modified_s,
            redirect: page.redirect.as_deref(),
            record: record.map(|record| (offset, record.members().len() as u64, record.meta())),
            document: page.document.as_ref().map(SegmentDocument::of),
            internal: links.internal,
            external: links.external,
            embedded: links.embedded,
            links: links.all.iter().map(|link| SegmentLink::of(links, link)).collect(),
        }
    }

    /// Rebuilds the page; `None` if its URL is not canonical by the current rules.
    fn gathered(self, records: &[u8], rules: &UrlRules) -> Result<Option<GatheredPage>, SegmentError> {
        let Some(url) = canonical(self.url, rules) else { return Ok(None) };
        let record = match self.record {
            None => None,
            Some((start, length, meta)) => {
                let index =
                    usize::try_from(start).ok().zip(usize::try_from(start.saturating_add(length)).ok());
                let members = index.and_then(|(start, end)| records.get(start..end));
                Some(Ok(EncodedRecord::from_parts(meta, members.ok_or(SegmentError::Corrupt)?.to_vec())))
            }
        };
        let mut links = GatheredLinks::default();
        self.links.iter().for_each(|link| link.append_to(&mut links, rules));
        (links.internal, links.external, links.embedded) = (self.internal, self.external, self.embedded);
        Ok(Some(GatheredPage {
            url,
            dynamic: self.dynamic,
            fetched_ms: self.fetched_ms,
            address: self.address,
            status: self.status,
            outcome: FetchOutcome::from_status(self.status),
            failure: self.failure.and_then(Reason::from_code),
            latency_ms: self.latency_ms,
            duration_ms: self.duration_ms,
            truncated: self.truncated.map(Truncation::parse),
            http_version: owned(self.http_version),
            server: owned(self.server),
            mime_declared: owned(self.mime_declared),
            content_bytes: self.content_bytes,
            content_hash: self.content_hash,
            modified_s: self.modified_s,
            redirect: owned(self.redirect),
            record,
            document: self.document.map(SegmentDocument::document),
            links,
        }))
    }
}

impl<'a> SegmentDocument<'a> {
    fn of(document: &'a GatheredDocument) -> SegmentDocument<'a> {
        let language = document.language.as_ref();
        SegmentDocument {
            kind: document.kind.as_str(),
            title: document.title.as_str(),
            description: document.description.as_str(),
            language: language.map(|(code, confidence)| (code.as_ref(), *confidence)),
            language_declared: document.language_declared.as_str(),
            charset: document.charset.as_str(),
            charset_source: document.charset_source.as_deref(),
            canonical: document.canonical.as_deref(),
            robots: (document.robots.bits(), document.robots.unavailable_after),
            published_ms: document.published_ms,
            modified_ms: document.modified_ms,
            raw_bytes: document.raw_bytes,
            text_bytes: document.text_bytes,
            words: document.words,
            relevance: document.relevance,
            text_hash: document.text_hash,
            fingerprint: (document.fingerprint.simhash, document.fingerprint.minhash),
        }
    }

    fn document(self) -> GatheredDocument {
        let kinds = [ContentKind::Html, ContentKind::Text, ContentKind::Feed];
        let kind = kinds.into_iter().find(|kind| kind.as_str() == self.kind);
        let (bits, unavailable_after) = self.robots;
        let (simhash, minhash) = self.fingerprint;
        GatheredDocument {
            kind: kind.unwrap_or(ContentKind::Other),
            title: self.title.to_owned(),
            description: self.description.to_owned(),
            language: self.language.map(|(code, confidence)| (code.to_owned().into(), confidence)),
            language_declared: self.language_declared.to_owned(),
            charset: self.charset.to_owned(),
            charset_source: self.charset_source.map(|source| source.to_owned().into()),
            canonical: owned(self.canonical),
            robots: RobotsDirectives::from_bits(bits, unavailable_after),
            published_ms: self.published_ms,
            modified_ms: self.modified_ms,
            raw_bytes: self.raw_bytes,
            text_bytes: self.text_bytes,
            words: self.words,
            relevance: self.relevance,
            text_hash: self.text_hash,
            fingerprint: Fingerprint { simhash, minhash },
        }
    }
}

impl<'a> SegmentLink<'a> {
    fn of(links: &'a GatheredLinks, link: &GatheredLink) -> SegmentLink<'a> {
        let (followed, reason) = match link.target {
            LinkTarget::Followed(index) => {
                let index = index as usize;
                (Some((links.dynamic.get(index).copied().unwrap_or(false), links.relevance(index))), None)
            }
            LinkTarget::Unfollowed(_, reason) => (None, reason),
        };
        SegmentLink {
            url: links.url(link.target),
            followed,
            reason,
            kind: link.kind.code(),
            context: link.context,
            position: link.position,
            internal: link.internal,
            rel: links.text(link.rel),
            anchor: links.text(link.anchor),
        }
    }

    /// Appends the link to a page. A followed link whose URL is not canonical by the current rules becomes unfollowed.
    fn append_to(&self, links: &mut GatheredLinks, rules: &UrlRules) {
        let Some(kind) = LinkKind::from_code(self.kind) else { return };
        let url = self.followed.and_then(|followed| Some((followed, canonical(self.url, rules)?)));
        let target = match url {
            Some(((dynamic, relevance), url)) => links.follow(&url, dynamic, relevance),
            None => LinkTarget::Unfollowed(links.store_text(self.url, usize::MAX), self.reason),
        };
        let gathered = GatheredLink {
            target,
            rel: links.store_text(self.rel, usize::MAX),
            anchor: links.store_text(self.anchor, usize::MAX),
            kind,
            context: self.context,
            position: self.position,
            internal: self.internal,
        };
        links.all.push(gathered);
    }
}

fn canonical(url: &str, rules: &UrlRules) -> Option<CanonicalUrl> {
    rules.canonical(url).ok().filter(|canonical| canonical.as_str() == url)
}

#[cfg(test)]
mod tests {
    use model::{PageId, SiteId};
    use proptest::prelude::*;

    use super::*;
    use crate::gatherer::Gatherer;
    use crate::item::fetched_page::FetchedPage;
    use crate::settings::focus::Focus;
    use crate::settings::gather_settings::GatherSettings;

    fn page(path: &str, status: u16, body: &str) -> GatheredPage {
        let fetched = FetchedPage {
            url: UrlRules::default().canonical(&format!("http://a.example/{path}")).unwrap(),
            fetched_ms: 1_794_731_400_125,
            address: Some([192, 0, 2, 1].into()),
            protocols: vec!["h2".to_owned()],
            status,
            head: format!("HTTP/1.1 {status} x\r\nServer: s\r\nContent-Type: text/html\r\n\r\n").into_bytes(),
            body: body.as_bytes().to_vec(),
            truncated: Some(Truncation::Time),
            request: Vec::new(),
            failure: None,
            latency_ms: Some(3),
            duration_ms: Some(4),
        };
        let settings = GatherSettings { focus: Focus::new("läßt", &[]), ..GatherSettings::default() };
        Gatherer::new(&settings).gather(&fetched)
    }

    const BODY: &str = "<title>t</title><meta name=robots content=noarchive><link rel=canonical href=/c><p>Der Hund läßt die Katze \
        nicht ins Haus, und die Katze den Hund nicht in den Garten.<a href='/a?b=1' rel='next nofollow'>no</a> <a href=/ü>läßt</a> \
        <img src=i.png> <a href='mailto:x'>m</a><h1><a href=http://b.example/>b</a></h1>";

    fn segment(pages: &[GatheredPage], events: &[HarvestEvent]) -> Vec<u8> {
        let mut writer = SegmentWriter::default();
        pages.iter().for_each(|page| writer.push_page(page));
        events.iter().for_each(|event| writer.push_event(event));
        let segment = writer.finish().unwrap();
        assert!(writer.is_empty());
        segment
    }

    #[test]
    fn pages_and_events_are_read_back_as_written() {
        let pages = [page("", 200, BODY), page("r", 301, ""), page("e", 500, "oh"), page("n", 304, "")];
        let events = [
            HarvestEvent::SiteBackedOff { site: SiteId(1), until_ms: 5, consecutive_errors: 1 },
            HarvestEvent::PageReturned { page: PageId(7), reason: None },
        ];
        let back = read_segment(&segment(&pages, &events), &UrlRules::default()).unwrap();
        let expected = pages.into_iter().map(|page| HarvestItem::Gathered(Box::new(page)));
        let expected: Vec<HarvestItem> = expected.chain(events.into_iter().map(HarvestItem::Event)).collect();
        assert_eq!(format!("{back:#?}"), format!("{expected:#?}"));
    }

    #[test]
    fn a_segment_starts_with_readable_warc_records() {
        let pages = [page("", 200, BODY), page("e", 500, "oh")];
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("segment.warc.gz");
        let (segment, records) = (segment(&pages, &[]), records_of(&pages));
        std::fs::write(&path, &segment[..records]).unwrap();
        let urls: Vec<String> = warc::WarcReader::open(&path)
            .unwrap()
            .map(|record| record.unwrap().header.url().unwrap().to_owned())
            .collect();
        assert_eq!(urls, ["http://a.example/", "http://a.example/e"]);
    }

    fn records_of(pages: &[GatheredPage]) -> usize {
        let prepared = pages.iter().filter_map(|page| page.record.as_ref());
        prepared.map(|prepared| prepared.as_ref().unwrap().members().len()).sum()
    }

    #[test]
    fn another_version_is_rejected_with_its_number() {
        let mut segment = segment(&[], &[]);
        *segment.last_mut().unwrap() = 1;
        assert_eq!(
            read_segment(&segment, &UrlRules::default()).err(),
            Some(SegmentError::OtherVersion(VERSION + (1 << 24)))
        );
    }

    proptest! {
        #[test]
        fn corruption_is_detected(index in 0.0..1.0f64, bit in 0..8u32, cut in 0..40usize) {
            let whole = segment(&[page("", 200, BODY)], &[]);
            let mut corrupt = whole.clone();
            let index = (index * corrupt.len() as f64) as usize;
            corrupt[index] ^= 1 << bit;
            corrupt.truncate(whole.len() - cut);
            prop_assert!(read_segment(&corrupt, &UrlRules::default()).is_err());
        }

        #[test]
        fn corruption_of_the_footer_is_detected(index in 1..=FOOTER_BYTES, bit in 0..8u32) {
            let mut corrupt = segment(&[page("", 200, BODY)], &[]);
            let index = corrupt.len() - index;
            corrupt[index] ^= 1 << bit;
            prop_assert!(read_segment(&corrupt, &UrlRules::default()).is_err());
        }

        #[test]
        fn arbitrary_content_with_a_valid_hash_does_not_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let items = zstd::bulk::compress(&bytes, 1).unwrap();
            bytes.extend_from_slice(&items);
            let hash = xxh3_64(&bytes);
            let records = (bytes.len() - items.len()) as u64;
            [hash, records, items.len() as u64].iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
            bytes.extend_from_slice(&VERSION.to_le_bytes());
            let _ = read_segment(&bytes, &UrlRules::default());
        }
    }
}

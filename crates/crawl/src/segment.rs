//! How does what a worker has gathered travel to the collection? In segments: some pages, read and compressed, and the news
//! between them, as one piece of bytes.
//!
//! ```text
//! records of WARC, one behind the other: whoever finds a segment alone can read its pages with any tool
//! pieces in their order, in postcard, compressed by zstd
//! XXH3 of all before, lengths of both parts, version
//! ```
//!
//! A segment comes from another machine. What it says is checked where the collection could be harmed: URLs must be canonical by
//! the rules of today, places within their text.

use std::io::Read;
use std::net::IpAddr;

use model::{CanonicalUrl, Reason, UrlRules};
use parse::{Fingerprint, LinkKind, PageKind, RobotsDirectives};
use serde::{Deserialize, Serialize};
use store::{Prepared, PreparedLabel, Truncated};
use xxhash_rust::xxh3::xxh3_64;

use crate::gathered::{Gathered, GatheredDocument, GatheredLink, GatheredLinks, Target};
use crate::harvest::HarvestNews;
use crate::harvester::Piece;
use crate::outcome::Outcome;

/// The longest that is taken.
pub(crate) const SEGMENT_LIMIT_BYTES: u64 = 256 << 20;
/// What the pieces of one may occupy when they are unpacked.
const PIECES_LIMIT_BYTES: u64 = 512 << 20;
const VERSION: u32 = 1;
const FOOTER_BYTES: usize = 8 + 8 + 8 + 4;

/// A segment that cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SegmentError {
    #[error("it is not what was written")]
    Damaged,
    #[error("it is of version {0}, and this program reads version {VERSION}")]
    OtherVersion(u32),
}

/// A segment that is being written.
#[derive(Debug, Default)]
pub(crate) struct SegmentWriter {
    records: Vec<u8>,
    pieces: Vec<u8>,
    count: usize,
}

impl SegmentWriter {
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How long it is by now.
    pub(crate) fn bytes(&self) -> usize {
        self.records.len() + self.pieces.len()
    }

    pub(crate) fn push_page(&mut self, page: &Gathered) {
        let line = PageLine::of(page, self.records.len() as u64);
        if let Some(Ok(prepared)) = &page.prepared {
            self.records.extend_from_slice(prepared.members());
        }
        self.push(&Line::Page(Box::new(line)));
    }

    pub(crate) fn push_news(&mut self, news: &HarvestNews) {
        // News have fields that are left out where they say nothing, which only JSON knows.
        if let Ok(news) = serde_json::to_string(news) {
            self.push(&Line::News(&news));
        }
    }

    fn push(&mut self, line: &Line<'_>) {
        self.count += 1;
        let pieces = std::mem::take(&mut self.pieces);
        // A vector takes everything, and these types can all be written.
        self.pieces = postcard::to_extend(line, pieces).unwrap_or_default();
    }

    /// The segment; this one is empty again.
    pub(crate) fn finish(&mut self) -> std::io::Result<Vec<u8>> {
        let mut segment = std::mem::take(&mut self.records);
        let records_bytes = segment.len() as u64;
        let pieces = zstd::bulk::compress(&std::mem::take(&mut self.pieces), 1)?;
        self.count = 0;
        segment.extend_from_slice(&pieces);
        let hash = xxh3_64(&segment);
        for number in [hash, records_bytes, pieces.len() as u64] {
            segment.extend_from_slice(&number.to_le_bytes());
        }
        segment.extend_from_slice(&VERSION.to_le_bytes());
        Ok(segment)
    }
}

/// Reads a segment. A page whose URL is not canonical by these rules is left out, which the collection sees as not visited.
pub(crate) fn read_segment(segment: &[u8], rules: &UrlRules) -> Result<Vec<Piece>, SegmentError> {
    let (content, footer) = split_footer(segment)?;
    let number = |place: usize| Some(u64::from_le_bytes(*footer.get(place..)?.first_chunk()?));
    let (Some(hash), Some(records_bytes), Some(pieces_bytes)) = (number(0), number(8), number(16)) else {
        return Err(SegmentError::Damaged);
    };
    if xxh3_64(content) != hash || records_bytes.checked_add(pieces_bytes) != Some(content.len() as u64) {
        return Err(SegmentError::Damaged);
    }
    // No longer than what is in memory.
    let records_bytes = records_bytes as usize;
    let (records, pieces) = content.split_at(records_bytes);
    let pieces = unpack(pieces).map_err(|_| SegmentError::Damaged)?;
    let (mut rest, mut all) = (pieces.as_slice(), Vec::new());
    while !rest.is_empty() {
        let (line, behind): (Line<'_>, &[u8]) =
            postcard::take_from_bytes(rest).map_err(|_| SegmentError::Damaged)?;
        rest = behind;
        match line {
            Line::News(news) => {
                let news = serde_json::from_str(news).map_err(|_| SegmentError::Damaged)?;
                all.push(Piece::News(news));
            }
            Line::Page(page) => {
                let page = page.gathered(records, rules)?;
                all.extend(page.map(|page| Piece::Gathered(Box::new(page))));
            }
        }
    }
    Ok(all)
}

fn unpack(compressed: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut pieces = Vec::new();
    zstd::stream::read::Decoder::with_buffer(compressed)?
        .take(PIECES_LIMIT_BYTES)
        .read_to_end(&mut pieces)?;
    Ok(pieces)
}

fn split_footer(segment: &[u8]) -> Result<(&[u8], &[u8]), SegmentError> {
    let at = segment.len().checked_sub(FOOTER_BYTES).ok_or(SegmentError::Damaged)?;
    let (content, footer) = segment.split_at(at);
    let version = footer.last_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    if version == VERSION { Ok((content, footer)) } else { Err(SegmentError::OtherVersion(version)) }
}

#[derive(Serialize, Deserialize)]
enum Line<'a> {
    #[serde(borrow)]
    Page(Box<PageLine<'a>>),
    News(&'a str),
}

/// A visit of a page.
#[derive(Serialize, Deserialize)]
struct PageLine<'a> {
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
    /// Where the record begins, its length, and what is known of it; nothing if there is nothing to be stored.
    record: Option<(u64, u64, PreparedLabel)>,
    #[serde(borrow)]
    document: Option<DocumentLine<'a>>,
    internal: u32,
    external: u32,
    embedded: u32,
    #[serde(borrow)]
    links: Vec<LinkLine<'a>>,
}

#[derive(Serialize, Deserialize)]
struct DocumentLine<'a> {
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

/// A link; a URL that is followed says whether it is dynamic and how relevant it promises to be, another one why it is not.
#[derive(Serialize, Deserialize)]
struct LinkLine<'a> {
    url: &'a str,
    followed: Option<(bool, u16)>,
    reason: Option<u8>,
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

impl<'a> PageLine<'a> {
    fn of(page: &'a Gathered, offset: u64) -> PageLine<'a> {
        let record = page.prepared.as_ref().and_then(|prepared| prepared.as_ref().ok());
        let links = &page.links;
        PageLine {
            url: page.url.as_str(),
            dynamic: page.dynamic,
            fetched_ms: page.fetched_ms,
            address: page.address,
            status: page.status,
            failure: page.failure.map(Reason::code),
            latency_ms: page.latency_ms,
            duration_ms: page.duration_ms,
            truncated: page.truncated.map(Truncated::name),
            http_version: page.http_version.as_deref(),
            server: page.server.as_deref(),
            mime_declared: page.mime_declared.as_deref(),
            content_bytes: page.content_bytes,
            content_hash: page.content_hash,
            modified_s: page.modified_s,
            redirect: page.redirect.as_deref(),
            record: record.map(|record| (offset, record.members().len() as u64, record.label())),
            document: page.document.as_ref().map(DocumentLine::of),
            internal: links.internal,
            external: links.external,
            embedded: links.embedded,
            links: links.all.iter().map(|link| LinkLine::of(links, link)).collect(),
        }
    }

    /// The page as it was; nothing if its URL is not canonical any more.
    fn gathered(self, records: &[u8], rules: &UrlRules) -> Result<Option<Gathered>, SegmentError> {
        let Some(url) = canonical(self.url, rules) else { return Ok(None) };
        let prepared = match self.record {
            None => None,
            Some((start, length, label)) => {
                let place =
                    usize::try_from(start).ok().zip(usize::try_from(start.saturating_add(length)).ok());
                let members = place.and_then(|(start, end)| records.get(start..end));
                Some(Ok(Prepared::of(label, members.ok_or(SegmentError::Damaged)?.to_vec())))
            }
        };
        let mut links = GatheredLinks::default();
        self.links.iter().for_each(|link| link.keep(&mut links, rules));
        (links.internal, links.external, links.embedded) = (self.internal, self.external, self.embedded);
        Ok(Some(Gathered {
            url,
            dynamic: self.dynamic,
            fetched_ms: self.fetched_ms,
            address: self.address,
            status: self.status,
            outcome: Outcome::of(self.status),
            failure: self.failure.and_then(Reason::from_code),
            latency_ms: self.latency_ms,
            duration_ms: self.duration_ms,
            truncated: self.truncated.map(Truncated::parse),
            http_version: owned(self.http_version),
            server: owned(self.server),
            mime_declared: owned(self.mime_declared),
            content_bytes: self.content_bytes,
            content_hash: self.content_hash,
            modified_s: self.modified_s,
            redirect: owned(self.redirect),
            prepared,
            document: self.document.map(DocumentLine::document),
            links,
        }))
    }
}

impl<'a> DocumentLine<'a> {
    fn of(document: &'a GatheredDocument) -> DocumentLine<'a> {
        let language = document.language.as_ref();
        DocumentLine {
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
        let kinds = [PageKind::Html, PageKind::Text, PageKind::Feed];
        let kind = kinds.into_iter().find(|kind| kind.as_str() == self.kind);
        let (bits, unavailable_after) = self.robots;
        let (simhash, minhash) = self.fingerprint;
        GatheredDocument {
            kind: kind.unwrap_or(PageKind::Other),
            title: self.title.to_owned(),
            description: self.description.to_owned(),
            language: self.language.map(|(code, confidence)| (code.to_owned().into(), confidence)),
            language_declared: self.language_declared.to_owned(),
            charset: self.charset.to_owned(),
            charset_source: self.charset_source.map(|source| source.to_owned().into()),
            canonical: owned(self.canonical),
            robots: RobotsDirectives::of_bits(bits, unavailable_after),
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

impl<'a> LinkLine<'a> {
    fn of(links: &'a GatheredLinks, link: &GatheredLink) -> LinkLine<'a> {
        let (followed, reason) = match link.target {
            Target::Followed(place) => {
                let place = place as usize;
                (Some((links.dynamic.get(place).copied().unwrap_or(false), links.relevance(place))), None)
            }
            Target::Noted(_, reason) => (None, reason.map(Reason::code)),
        };
        LinkLine {
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

    /// A link that was followed is noted, if it is no URL by the rules of today.
    fn keep(&self, links: &mut GatheredLinks, rules: &UrlRules) {
        let Some(kind) = LinkKind::from_code(self.kind) else { return };
        let url = self.followed.and_then(|followed| Some((followed, canonical(self.url, rules)?)));
        let target = match url {
            Some(((dynamic, relevance), url)) => links.follow(&url, dynamic, relevance),
            None => Target::Noted(links.keep(self.url, usize::MAX), self.reason.and_then(Reason::from_code)),
        };
        let kept = GatheredLink {
            target,
            rel: links.keep(self.rel, usize::MAX),
            anchor: links.keep(self.anchor, usize::MAX),
            kind,
            context: self.context,
            position: self.position,
            internal: self.internal,
        };
        links.all.push(kept);
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
    use crate::fetched::Fetched;
    use crate::focus::Focus;
    use crate::gatherer::{GatherSettings, Gatherer};

    fn page(path: &str, status: u16, body: &str) -> Gathered {
        let fetched = Fetched {
            url: UrlRules::default().canonical(&format!("http://a.example/{path}")).unwrap(),
            fetched_ms: 1_794_731_400_125,
            address: Some([192, 0, 2, 1].into()),
            protocols: vec!["h2".to_owned()],
            status,
            head: format!("HTTP/1.1 {status} x\r\nServer: s\r\nContent-Type: text/html\r\n\r\n").into_bytes(),
            body: body.as_bytes().to_vec(),
            truncated: Some(Truncated::Time),
            request: Vec::new(),
            failure: None,
            latency_ms: Some(3),
            duration_ms: Some(4),
        };
        let settings = GatherSettings { focus: Focus::new("läßt", &[]), ..GatherSettings::default() };
        Gatherer::new(&settings).read(&fetched)
    }

    const BODY: &str = "<title>t</title><meta name=robots content=noarchive><link rel=canonical href=/c><p>Der Hund läßt die Katze \
        nicht ins Haus, und die Katze den Hund nicht in den Garten.<a href='/a?b=1' rel='next nofollow'>no</a> <a href=/ü>läßt</a> \
        <img src=i.png> <a href='mailto:x'>m</a><h1><a href=http://b.example/>b</a></h1>";

    fn segment(pages: &[Gathered], news: &[HarvestNews]) -> Vec<u8> {
        let mut writer = SegmentWriter::default();
        pages.iter().for_each(|page| writer.push_page(page));
        news.iter().for_each(|news| writer.push_news(news));
        let segment = writer.finish().unwrap();
        assert!(writer.is_empty());
        segment
    }

    #[test]
    fn pages_and_news_come_back_as_they_were() {
        let pages = [page("", 200, BODY), page("r", 301, ""), page("e", 500, "oh"), page("n", 304, "")];
        let news = [
            HarvestNews::BackOff { site: SiteId(1), until_ms: 5, errors_in_a_row: 1 },
            HarvestNews::Back { page: PageId(7), reason: None },
        ];
        let back = read_segment(&segment(&pages, &news), &UrlRules::default()).unwrap();
        let expected = pages.into_iter().map(|page| Piece::Gathered(Box::new(page)));
        let expected: Vec<Piece> = expected.chain(news.into_iter().map(Piece::News)).collect();
        assert_eq!(format!("{back:#?}"), format!("{expected:#?}"));
    }

    #[test]
    fn records_come_first_so_that_any_tool_reads_them() {
        let pages = [page("", 200, BODY), page("e", 500, "oh")];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("segment.warc.gz");
        let (segment, records) = (segment(&pages, &[]), records_of(&pages));
        std::fs::write(&path, &segment[..records]).unwrap();
        let urls: Vec<String> = store::WarcReader::open(&path)
            .unwrap()
            .map(|record| record.unwrap().header.url().unwrap().to_owned())
            .collect();
        assert_eq!(urls, ["http://a.example/", "http://a.example/e"]);
    }

    fn records_of(pages: &[Gathered]) -> usize {
        let prepared = pages.iter().filter_map(|page| page.prepared.as_ref());
        prepared.map(|prepared| prepared.as_ref().unwrap().members().len()).sum()
    }

    #[test]
    fn another_version_is_told_by_its_number() {
        let mut segment = segment(&[], &[]);
        *segment.last_mut().unwrap() = 1;
        assert_eq!(
            read_segment(&segment, &UrlRules::default()).err(),
            Some(SegmentError::OtherVersion(1 + (1 << 24)))
        );
    }

    proptest! {
        #[test]
        fn no_damage_goes_unnoticed(place in 0.0..1.0f64, bit in 0..8u32, cut in 0..40usize) {
            let whole = segment(&[page("", 200, BODY)], &[]);
            let mut damaged = whole.clone();
            let place = (place * damaged.len() as f64) as usize;
            damaged[place] ^= 1 << bit;
            damaged.truncate(whole.len() - cut);
            prop_assert!(read_segment(&damaged, &UrlRules::default()).is_err());
        }

        #[test]
        fn no_damage_of_the_footer_goes_unnoticed(place in 1..=FOOTER_BYTES, bit in 0..8u32) {
            let mut damaged = segment(&[page("", 200, BODY)], &[]);
            let place = damaged.len() - place;
            damaged[place] ^= 1 << bit;
            prop_assert!(read_segment(&damaged, &UrlRules::default()).is_err());
        }

        #[test]
        fn nothing_that_has_the_right_hash_does_harm(mut bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let pieces = zstd::bulk::compress(&bytes, 1).unwrap();
            bytes.extend_from_slice(&pieces);
            let hash = xxh3_64(&bytes);
            let records = (bytes.len() - pieces.len()) as u64;
            [hash, records, pieces.len() as u64].iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
            bytes.extend_from_slice(&VERSION.to_le_bytes());
            let _ = read_segment(&bytes, &UrlRules::default());
        }
    }
}

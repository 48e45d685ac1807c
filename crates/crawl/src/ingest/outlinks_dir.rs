//! Directory with the outlinks of stored pages, written by the gatherer for the seeder.
//!
//! In a crawl, outlinks stay in memory. The separate programs exchange them as a directory:
//!
//! ```text
//! outlinks.jsonl  a line for each page with links to follow, and for each sitemap
//! OUTLINKS        written last: batch id, count and XXH3 of the lines; a directory without it is incomplete
//! ```

use std::io;
use std::path::Path;

use harvest::files::checksummed_jsonl::{ChecksummedJsonlReader, ChecksummedJsonlWriter};
use harvest::files::sealed_dir::{SealedDirError, SealedDirWriter};
use harvest::files::{checksummed_jsonl, sealed_dir};
use harvest::item::fetch_outcome::FetchOutcome;
use harvest::item::gathered_page::{GatheredLink, GatheredLinks, LinkTarget};
use harvest::item::harvest_event::UrlList;
use model::{PageId, Reason, UrlRules};
use parse::LinkKind;
use serde::{Deserialize, Serialize};

use crate::ingest::page_links::PageLinks;

/// Line of the file.
pub(crate) enum OutlinksLine {
    /// Page and its outlinks.
    Page(PageLinks),
    /// URLs of a sitemap or feed.
    Sitemap(UrlList),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OutlinksJson {
    Page(OutlinksJsonPage),
    Sitemap(UrlList),
}

#[derive(Serialize, Deserialize)]
struct OutlinksJsonPage {
    page: PageId,
    url: String,
    fetched_ms: i64,
    outcome: FetchOutcome,
    first: bool,
    #[serde(default)]
    cash: f32,
    links: Vec<OutlinksJsonLink>,
}

/// Link: a followed one has `dynamic`, another one a `reason`.
#[derive(Serialize, Deserialize)]
struct OutlinksJsonLink {
    url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dynamic: Option<bool>,
    #[serde(default, skip_serializing_if = "is_zero")]
    relevance: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<Reason>,
    kind: u8,
    context: u16,
    position: f32,
    internal: bool,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    rel: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    anchor: String,
}

#[derive(Serialize, Deserialize)]
struct OutlinksSeal {
    batch: u64,
    lines: u64,
    xxh3: u64,
}

const LINES_FILE: &str = "outlinks.jsonl";
const SEAL_FILE: &str = "OUTLINKS";

/// Writer of an outlinks directory.
pub(crate) struct OutlinksWriter {
    batch: u64,
    dir: SealedDirWriter,
    lines: ChecksummedJsonlWriter,
}

impl OutlinksWriter {
    /// Creates the directory, which must not exist.
    pub(crate) fn create(dir: &Path, batch: u64) -> Result<OutlinksWriter, SealedDirError> {
        let dir = SealedDirWriter::create(dir)?;
        let lines = ChecksummedJsonlWriter::new(dir.create_file(LINES_FILE)?);
        Ok(OutlinksWriter { batch, dir, lines })
    }

    pub(crate) fn push(&mut self, page: &PageLinks) -> Result<(), SealedDirError> {
        let links = page.links.all.iter().map(|link| link_line(&page.links, link)).collect();
        self.write(&OutlinksJson::Page(OutlinksJsonPage {
            page: page.id,
            url: page.url.as_str().to_owned(),
            fetched_ms: page.fetched_ms,
            outcome: page.outcome,
            first: page.is_first,
            cash: page.cash,
            links,
        }))
    }

    pub(crate) fn push_sitemap(&mut self, list: UrlList) -> Result<(), SealedDirError> {
        self.write(&OutlinksJson::Sitemap(list))
    }

    fn write(&mut self, line: &OutlinksJson) -> Result<(), SealedDirError> {
        self.lines.push(line).map_err(|source| self.dir.write_error(source))
    }

    pub(crate) fn seal(self) -> Result<(), SealedDirError> {
        let OutlinksWriter { batch, dir, lines } = self;
        let (lines, xxh3) = lines.finish().map_err(|source| dir.write_error(source))?;
        dir.seal(SEAL_FILE, &OutlinksSeal { batch, lines, xxh3 })
    }
}

fn link_line(links: &GatheredLinks, link: &GatheredLink) -> OutlinksJsonLink {
    let (dynamic, relevance, reason) = match link.target {
        LinkTarget::Followed(index) => {
            (links.dynamic.get(index as usize).copied(), links.relevance(index as usize), None)
        }
        LinkTarget::Unfollowed(_, reason) => (None, 0, reason),
    };
    OutlinksJsonLink {
        url: links.url(link.target).to_owned(),
        dynamic,
        relevance,
        reason,
        kind: link.kind.code(),
        context: link.context,
        position: link.position,
        internal: link.internal,
        rel: links.text(link.rel).to_owned(),
        anchor: links.text(link.anchor).to_owned(),
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "signature required by serde")]
fn is_zero(relevance: &u16) -> bool {
    *relevance == 0
}

/// Reader of an outlinks directory, line by line.
pub(crate) struct OutlinksReader<'r> {
    lines: ChecksummedJsonlReader,
    rules: &'r UrlRules,
}

impl<'r> OutlinksReader<'r> {
    /// Opens a directory and verifies its checksum.
    pub(crate) fn open(dir: &Path, rules: &'r UrlRules) -> Result<OutlinksReader<'r>, SealedDirError> {
        sealed_dir::read(dir, SEAL_FILE, |dir, seal| {
            let seal: OutlinksSeal = serde_json::from_slice(seal)?;
            let path = dir.join(LINES_FILE);
            checksummed_jsonl::verify(&path, seal.xxh3)?;
            Ok(OutlinksReader { lines: ChecksummedJsonlReader::open(&path)?, rules })
        })
    }

    pub(crate) fn next(&mut self) -> io::Result<Option<OutlinksLine>> {
        let line = match self.lines.read_next()? {
            None => return Ok(None),
            Some(OutlinksJson::Sitemap(list)) => {
                return Ok(Some(OutlinksLine::Sitemap(list)));
            }
            Some(OutlinksJson::Page(line)) => line,
        };
        let mut links = GatheredLinks::default();
        line.links.iter().for_each(|link| self.add_link(link, &mut links));
        let invalid = |_| io::Error::new(io::ErrorKind::InvalidData, format!("invalid URL {}", line.url));
        Ok(Some(OutlinksLine::Page(PageLinks {
            id: line.page,
            url: self.rules.canonical(&line.url).map_err(invalid)?,
            fetched_ms: line.fetched_ms,
            outcome: line.outcome,
            is_first: line.first,
            cash: line.cash,
            links,
        })))
    }

    /// Adds a link; a followed one becomes unfollowed if the current URL rules reject it.
    fn add_link(&self, link: &OutlinksJsonLink, links: &mut GatheredLinks) {
        let Some(kind) = LinkKind::from_code(link.kind) else { return };
        let target = match (link.dynamic, self.rules.canonical(&link.url)) {
            (Some(dynamic), Ok(url)) => links.follow(&url, dynamic, link.relevance),
            _ => LinkTarget::Unfollowed(links.store_text(&link.url, usize::MAX), link.reason),
        };
        let gathered = GatheredLink {
            target,
            rel: links.store_text(&link.rel, usize::MAX),
            anchor: links.store_text(&link.anchor, usize::MAX),
            kind,
            context: link.context,
            position: link.position,
            internal: link.internal,
        };
        links.all.push(gathered);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use harvest::gatherer::Gatherer;
    use harvest::item::fetched_page::FetchedPage;
    use harvest::item::harvest_event::{SitemapUrl, UrlListKind};
    use harvest::settings::focus::Focus;
    use harvest::settings::gather_settings::GatherSettings;
    use model::SiteId;

    fn page_links() -> PageLinks {
        let body = "<a href='/a?b=1' rel='next nofollow'>no</a> <a href=/ü>läßt</a> <img src=i.png> <a href='mailto:x'>m</a>\
                    <h1><a href=http://b.example/>b</a></h1>";
        let fetched = FetchedPage {
            url: UrlRules::default().canonical("http://a.example/").unwrap(),
            fetched_ms: 1_794_731_400_125,
            address: None,
            protocols: Vec::new(),
            status: 200,
            head: b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n".to_vec(),
            body: body.as_bytes().to_vec(),
            truncated: None,
            request: Vec::new(),
            failure: None,
            latency_ms: None,
            duration_ms: None,
        };
        let settings = GatherSettings { focus: Focus::new("läßt", &[]), ..GatherSettings::default() };
        PageLinks::from_page(Gatherer::new(&settings).gather(&fetched), PageId(7), true, 0.25)
    }

    fn links(page: &PageLinks) -> Vec<String> {
        let links = &page.links;
        let described = links.all.iter().map(|link| {
            let target = match link.target {
                LinkTarget::Followed(index) => {
                    let index = index as usize;
                    format!(
                        "followed, dynamic {}, relevance {}",
                        links.dynamic[index],
                        links.relevance(index)
                    )
                }
                LinkTarget::Unfollowed(_, reason) => format!("unfollowed {reason:?}"),
            };
            let texts = (links.url(link.target), links.text(link.rel), links.text(link.anchor));
            format!("{target} {texts:?} {:?}", (link.kind, link.context, link.position, link.internal))
        });
        described.collect()
    }

    #[test]
    fn links_survive_writing_and_reading() {
        let temp_dir = tempfile::tempdir().unwrap();
        let dir = temp_dir.path().join("000001");
        let before = page_links();
        assert_eq!(links(&before).len(), 5);
        let mut writer = OutlinksWriter::create(&dir, 1).unwrap();
        writer.push(&before).unwrap();
        let named = UrlList {
            site: SiteId(2),
            file: "http://a.example/sitemap.xml".to_owned(),
            kind: UrlListKind::Sitemap,
            urls: vec![SitemapUrl { url: "http://a.example/s".to_owned(), modified_s: 3 }],
        };
        writer.push_sitemap(named.clone()).unwrap();
        writer.seal().unwrap();

        let rules = UrlRules::default();
        let mut reader = OutlinksReader::open(&dir, &rules).unwrap();
        let Some(OutlinksLine::Page(after)) = reader.next().unwrap() else { panic!("no page") };
        assert_eq!(links(&after), links(&before));
        let fields = |page: &PageLinks| {
            (page.id, page.url.clone(), page.fetched_ms, page.outcome, page.is_first, page.cash)
        };
        assert_eq!(fields(&after), fields(&before));
        let Some(OutlinksLine::Sitemap(list)) = reader.next().unwrap() else { panic!("no list") };
        assert_eq!(list, named);
        assert!(reader.next().unwrap().is_none());

        let path = dir.join(LINES_FILE);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replacen("b.example", "c.example", 1)).unwrap();
        let error = OutlinksReader::open(&dir, &rules).err().unwrap().to_string();
        assert!(error.contains("outlinks.jsonl"), "{error}");
    }
}

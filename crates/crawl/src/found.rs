//! Where do stored pages lead? What the gatherer leaves for the seeder.
//!
//! In a crawl, links go from one to the other in memory. Between separate programs they lie in a folder:
//!
//! ```text
//! found.jsonl     a line for each page whose links count, and for each list of pages that a site names itself
//! FOUND           written last: number, count, XXH3 of the above; a folder without it is not complete
//! ```

use std::io;
use std::path::Path;

use model::{CanonicalUrl, PageId, Reason, SiteId, UrlRules};
use parse::LinkKind;
use serde::{Deserialize, Serialize};

use crate::closed_folder::{self, FolderError, OpenFolder};
use crate::gathered::{Gathered, GatheredLink, GatheredLinks, Target};
use crate::harvest::FoundPage;
use crate::json_lines::{self, LineReader, LineWriter};
use crate::outcome::Outcome;

/// A page that is stored, and its links.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) id: PageId,
    pub(crate) url: CanonicalUrl,
    pub(crate) fetched_ms: i64,
    pub(crate) outcome: Outcome,
    /// Whether the page was never visited before.
    pub(crate) first: bool,
    /// What it passes on to the pages that it links to.
    pub(crate) cash: f32,
    pub(crate) links: GatheredLinks,
}

impl Found {
    pub(crate) fn of(page: Gathered, id: PageId, first: bool, cash: f32) -> Found {
        let Gathered { url, fetched_ms, outcome, links, .. } = page;
        Found { id, url, fetched_ms, outcome, first, cash, links }
    }
}

/// What a line of the folder holds.
pub(crate) enum FoundLine {
    /// A page and its links.
    Page(Found),
    /// Pages that a site names itself.
    Named { site: SiteId, pages: Vec<FoundPage> },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Page(PageLine),
    Named { site: SiteId, pages: Vec<FoundPage> },
}

#[derive(Serialize, Deserialize)]
struct PageLine {
    page: PageId,
    url: String,
    fetched_ms: i64,
    outcome: Outcome,
    first: bool,
    #[serde(default)]
    cash: f32,
    links: Vec<LinkLine>,
}

/// A link; a URL that is followed says whether it is dynamic, another one why it is not.
#[derive(Serialize, Deserialize)]
struct LinkLine {
    url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dynamic: Option<bool>,
    #[serde(default, skip_serializing_if = "is_zero")]
    relevance: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<u8>,
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
struct Closing {
    number: u64,
    lines: u64,
    xxh3: u64,
}

const LINES: &str = "found.jsonl";
const FOUND: &str = "FOUND";

/// Writes the folder.
pub(crate) struct FoundWriter {
    number: u64,
    folder: OpenFolder,
    lines: LineWriter,
}

impl FoundWriter {
    /// Begins a folder, which must not exist.
    pub(crate) fn begin(folder: &Path, number: u64) -> Result<FoundWriter, FolderError> {
        let folder = OpenFolder::begin(folder)?;
        let lines = LineWriter::new(folder.file(LINES)?);
        Ok(FoundWriter { number, folder, lines })
    }

    pub(crate) fn push(&mut self, found: &Found) -> Result<(), FolderError> {
        let links = found.links.all.iter().map(|link| link_line(&found.links, link)).collect();
        self.write(&Line::Page(PageLine {
            page: found.id,
            url: found.url.as_str().to_owned(),
            fetched_ms: found.fetched_ms,
            outcome: found.outcome,
            first: found.first,
            cash: found.cash,
            links,
        }))
    }

    pub(crate) fn push_named(&mut self, site: SiteId, pages: Vec<FoundPage>) -> Result<(), FolderError> {
        self.write(&Line::Named { site, pages })
    }

    fn write(&mut self, line: &Line) -> Result<(), FolderError> {
        self.lines.push(line).map_err(|source| self.folder.failed(source))
    }

    pub(crate) fn close(self) -> Result<(), FolderError> {
        let FoundWriter { number, folder, lines } = self;
        let (lines, xxh3) = lines.finish().map_err(|source| folder.failed(source))?;
        folder.close(FOUND, &Closing { number, lines, xxh3 })
    }
}

fn link_line(links: &GatheredLinks, link: &GatheredLink) -> LinkLine {
    let (dynamic, relevance, reason) = match link.target {
        Target::Followed(place) => {
            (links.dynamic.get(place as usize).copied(), links.relevance(place as usize), None)
        }
        Target::Noted(_, reason) => (None, 0, reason.map(Reason::code)),
    };
    LinkLine {
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

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(relevance: &u16) -> bool {
    *relevance == 0
}

/// Reads the folder, line by line.
pub(crate) struct FoundReader<'r> {
    lines: LineReader,
    rules: &'r UrlRules,
}

impl<'r> FoundReader<'r> {
    /// Opens a folder, once all of it was compared with what was written.
    pub(crate) fn open(folder: &Path, rules: &'r UrlRules) -> Result<FoundReader<'r>, FolderError> {
        closed_folder::read(folder, FOUND, |folder, closing| {
            let closing: Closing = serde_json::from_slice(closing)?;
            let path = folder.join(LINES);
            json_lines::verify(&path, closing.xxh3)?;
            Ok(FoundReader { lines: LineReader::open(&path)?, rules })
        })
    }

    pub(crate) fn next(&mut self) -> io::Result<Option<FoundLine>> {
        let line = match self.lines.next()? {
            None => return Ok(None),
            Some(Line::Named { site, pages }) => return Ok(Some(FoundLine::Named { site, pages })),
            Some(Line::Page(line)) => line,
        };
        let mut links = GatheredLinks::default();
        line.links.iter().for_each(|link| self.keep(link, &mut links));
        let no_url = |_| io::Error::new(io::ErrorKind::InvalidData, format!("{} is no URL", line.url));
        Ok(Some(FoundLine::Page(Found {
            id: line.page,
            url: self.rules.canonical(&line.url).map_err(no_url)?,
            fetched_ms: line.fetched_ms,
            outcome: line.outcome,
            first: line.first,
            cash: line.cash,
            links,
        })))
    }

    /// A link that was followed is noted, if it is no URL by the rules of today.
    fn keep(&self, link: &LinkLine, links: &mut GatheredLinks) {
        let Some(kind) = LinkKind::from_code(link.kind) else { return };
        let target = match (link.dynamic, self.rules.canonical(&link.url)) {
            (Some(dynamic), Ok(url)) => links.follow(&url, dynamic, link.relevance),
            _ => Target::Noted(links.keep(&link.url, usize::MAX), link.reason.and_then(Reason::from_code)),
        };
        let kept = GatheredLink {
            target,
            rel: links.keep(&link.rel, usize::MAX),
            anchor: links.keep(&link.anchor, usize::MAX),
            kind,
            context: link.context,
            position: link.position,
            internal: link.internal,
        };
        links.all.push(kept);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::fetched::Fetched;
    use crate::focus::Focus;
    use crate::gatherer::{GatherSettings, Gatherer};

    fn found() -> Found {
        let body = "<a href='/a?b=1' rel='next nofollow'>no</a> <a href=/ü>läßt</a> <img src=i.png> <a href='mailto:x'>m</a>\
                    <h1><a href=http://b.example/>b</a></h1>";
        let fetched = Fetched {
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
        Found::of(Gatherer::new(&settings).read(&fetched), PageId(7), true, 0.25)
    }

    fn links(found: &Found) -> Vec<String> {
        let links = &found.links;
        let described = links.all.iter().map(|link| {
            let target = match link.target {
                Target::Followed(place) => {
                    let place = place as usize;
                    format!(
                        "followed, dynamic {}, relevance {}",
                        links.dynamic[place],
                        links.relevance(place)
                    )
                }
                Target::Noted(_, reason) => format!("noted {reason:?}"),
            };
            let texts = (links.url(link.target), links.text(link.rel), links.text(link.anchor));
            format!("{target} {texts:?} {:?}", (link.kind, link.context, link.position, link.internal))
        });
        described.collect()
    }

    #[test]
    fn links_come_back_as_they_were() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("000001");
        let before = found();
        assert_eq!(links(&before).len(), 5);
        let mut writer = FoundWriter::begin(&folder, 1).unwrap();
        writer.push(&before).unwrap();
        let named = vec![FoundPage { url: "http://a.example/s".to_owned(), modified_s: 3 }];
        writer.push_named(SiteId(2), named.clone()).unwrap();
        writer.close().unwrap();

        let rules = UrlRules::default();
        let mut reader = FoundReader::open(&folder, &rules).unwrap();
        let Some(FoundLine::Page(after)) = reader.next().unwrap() else { panic!("no page") };
        assert_eq!(links(&after), links(&before));
        let what = |found: &Found| {
            (found.id, found.url.clone(), found.fetched_ms, found.outcome, found.first, found.cash)
        };
        assert_eq!(what(&after), what(&before));
        let Some(FoundLine::Named { site, pages }) = reader.next().unwrap() else { panic!("no list") };
        assert_eq!((site, pages), (SiteId(2), named));
        assert!(reader.next().unwrap().is_none());

        let path = folder.join(LINES);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replacen("b.example", "c.example", 1)).unwrap();
        let error = FoundReader::open(&folder, &rules).err().unwrap().to_string();
        assert!(error.contains("found.jsonl is not what was written"), "{error}");
    }
}

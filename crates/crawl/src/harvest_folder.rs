//! What does a harvester leave for the gatherer? A closed folder with everything that came back, in its order.
//!
//! ```text
//! pages.warc.gz   the answers, as WARC 1.1, one gzip member a record
//! harvest.jsonl   a line for each visit, with the place of its record, and for everything else that was learned
//! HARVEST         written last: number of the batch, counts, XXH3 of both; a folder without it is not complete
//! ```

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use model::{PageId, Reason};
use serde::{Deserialize, Serialize};
use store::{Preparer, Truncated, WarcKind, WarcReader};
use xxhash_rust::xxh3::Xxh3;

use crate::closed_folder::{self, FolderError, OpenFolder};
use crate::error::Error;
use crate::fetched::Fetched;
use crate::harvest::{HarvestNews, ReasonCode};
use crate::json_lines::{self, LineReader, LineWriter};

/// One line.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Visit(VisitLine),
    News(HarvestNews),
}

/// A page that was asked for.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct VisitLine {
    pub(crate) page: PageId,
    pub(crate) url: String,
    fetched_ms: i64,
    status: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<ReasonCode>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    latency_ms: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    address: Option<IpAddr>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    protocols: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    truncated: Option<String>,
    /// Where the record is; no length without an answer.
    offset: u64,
    length: u64,
}

#[derive(Serialize, Deserialize)]
struct Closing {
    number: u64,
    visits: u64,
    lines: u64,
    lines_xxh3: u64,
    warc_xxh3: u64,
}

const WARC: &str = "pages.warc.gz";
const LINES: &str = "harvest.jsonl";
const HARVEST: &str = "HARVEST";

/// Writes the folder.
pub(crate) struct HarvestWriter {
    number: u64,
    folder: OpenFolder,
    lines: LineWriter,
    warc: BufWriter<File>,
    warc_hash: Xxh3,
    warc_bytes: u64,
    visits: u64,
    preparer: Preparer,
}

impl HarvestWriter {
    /// Begins the harvest of this batch in a folder that must not exist.
    pub(crate) fn begin(
        folder: &Path,
        number: u64,
        agent: &str,
        now_ms: i64,
    ) -> Result<HarvestWriter, Error> {
        let folder = OpenFolder::begin(folder)?;
        let mut preparer = Preparer::new(1);
        let info = preparer.warcinfo(WARC, now_ms, &[("software".to_owned(), agent.to_owned())])?;
        let mut writer = HarvestWriter {
            number,
            lines: LineWriter::new(folder.file(LINES)?),
            warc: BufWriter::new(folder.file(WARC)?),
            folder,
            warc_hash: Xxh3::new(),
            warc_bytes: 0,
            visits: 0,
            preparer,
        };
        writer.append(&info)?;
        Ok(writer)
    }

    /// Adds a visit.
    pub(crate) fn push_visit(&mut self, page: PageId, fetched: &Fetched) -> Result<(), Error> {
        let offset = self.warc_bytes;
        if fetched.status != 0 {
            let protocols: Vec<&str> = fetched.protocols.iter().map(String::as_str).collect();
            let prepared = self.preparer.prepare(&fetched.capture(&protocols, None))?;
            self.append(prepared.members())?;
        }
        self.visits += 1;
        self.write(&Line::Visit(VisitLine {
            page,
            url: fetched.url.as_str().to_owned(),
            fetched_ms: fetched.fetched_ms,
            status: fetched.status,
            failure: fetched.failure.map(ReasonCode::from),
            latency_ms: fetched.latency_ms,
            duration_ms: fetched.duration_ms,
            address: fetched.address,
            protocols: fetched.protocols.clone(),
            truncated: fetched.truncated.map(|truncated| truncated.name().to_owned()),
            offset,
            length: self.warc_bytes - offset,
        }))
    }

    /// Adds anything else.
    pub(crate) fn push_news(&mut self, news: HarvestNews) -> Result<(), Error> {
        self.write(&Line::News(news))
    }

    /// Gives the folder its name. Tells how many visits it has.
    pub(crate) fn close(self) -> Result<u64, Error> {
        let HarvestWriter { number, folder, lines, mut warc, warc_hash, visits, .. } = self;
        let synced = warc.flush().and_then(|()| warc.get_ref().sync_all());
        let (lines, lines_xxh3) =
            synced.and_then(|()| lines.finish()).map_err(|source| folder.failed(source))?;
        let closing = Closing { number, visits, lines, lines_xxh3, warc_xxh3: warc_hash.digest() };
        folder.close(HARVEST, &closing)?;
        Ok(visits)
    }

    fn write(&mut self, line: &Line) -> Result<(), Error> {
        Ok(self.lines.push(line).map_err(|source| self.folder.failed(source))?)
    }

    fn append(&mut self, members: &[u8]) -> Result<(), Error> {
        self.warc.write_all(members).map_err(|source| self.folder.failed(source))?;
        self.warc_hash.update(members);
        self.warc_bytes += members.len() as u64;
        Ok(())
    }
}

/// What a line holds.
pub(crate) enum HarvestPiece {
    /// A visit, and the answer's head and body.
    Visit(Box<VisitLine>, Vec<u8>, Vec<u8>),
    News(HarvestNews),
}

/// Reads the folder, line by line.
pub(crate) struct HarvestReader {
    pub(crate) number: u64,
    folder: PathBuf,
    lines: LineReader,
    records: WarcReader,
}

impl HarvestReader {
    /// Opens a folder, once all of it was compared with what was written.
    pub(crate) fn open(folder: &Path) -> Result<HarvestReader, FolderError> {
        closed_folder::read(folder, HARVEST, |folder, closing| {
            let closing: Closing = serde_json::from_slice(closing)?;
            json_lines::verify(&folder.join(LINES), closing.lines_xxh3)?;
            json_lines::verify(&folder.join(WARC), closing.warc_xxh3)?;
            Ok(HarvestReader {
                number: closing.number,
                folder: folder.to_owned(),
                lines: LineReader::open(&folder.join(LINES))?,
                records: WarcReader::open(&folder.join(WARC)).map_err(invalid)?,
            })
        })
    }

    /// The next piece, if there is one.
    pub(crate) fn next(&mut self) -> Result<Option<HarvestPiece>, FolderError> {
        let failed = |source| FolderError::Io { what: "read", folder: self.folder.clone(), source };
        let visit = match self.lines.next().map_err(failed)? {
            None => return Ok(None),
            Some(Line::News(news)) => return Ok(Some(HarvestPiece::News(news))),
            Some(Line::Visit(visit)) => visit,
        };
        let (mut head, mut body) = (Vec::new(), Vec::new());
        if visit.length > 0 {
            let record = loop {
                let record = self.records.next().ok_or_else(|| invalid("its records are too few"));
                let record = record.and_then(|record| record.map_err(invalid)).map_err(failed)?;
                if record.header.kind() == WarcKind::Response {
                    break record;
                }
            };
            if record.header.url() != Some(visit.url.as_str()) {
                return Err(failed(invalid(format!("the record of {} is another's", visit.url))));
            }
            head = visit.as_received(record.head());
            body = record.body().into_owned();
        }
        Ok(Some(HarvestPiece::Visit(Box::new(visit), head, body)))
    }
}

impl VisitLine {
    /// Archives write every head as one of HTTP/1.1.
    fn as_received(&self, head: &[u8]) -> Vec<u8> {
        match head.strip_prefix(b"HTTP/1.1 ") {
            Some(rest) if self.protocols.iter().any(|name| name == "h2") => [b"HTTP/2 ", rest].concat(),
            _ => head.to_vec(),
        }
    }

    /// The visit as it was before it was written.
    pub(crate) fn fetched(self, url: model::CanonicalUrl, head: Vec<u8>, body: Vec<u8>) -> Fetched {
        use Truncated::{Disconnect, Length, Time};
        let truncated = self.truncated.as_deref().map(|name| {
            let known = [Length, Time, Disconnect].into_iter().find(|kind| kind.name() == name);
            known.unwrap_or(Truncated::Unspecified)
        });
        Fetched {
            url,
            fetched_ms: self.fetched_ms,
            address: self.address,
            protocols: self.protocols,
            status: self.status,
            head,
            body,
            truncated,
            request: Vec::new(),
            failure: self.failure.and_then(|reason| Reason::from_code(reason.0)),
            latency_ms: self.latency_ms,
            duration_ms: self.duration_ms,
        }
    }
}

fn invalid(what: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use model::{SiteId, UrlRules};

    use super::*;

    fn visit(path: &str, status: u16) -> Fetched {
        let answered = status != 0;
        Fetched {
            url: UrlRules::default().canonical(&format!("http://a.example/{path}")).unwrap(),
            fetched_ms: 1_794_731_400_125,
            address: answered.then(|| [192, 0, 2, 1].into()),
            protocols: if answered { vec!["h2".to_owned(), "tls/1.3".to_owned()] } else { Vec::new() },
            status,
            head: if answered { b"HTTP/2 404 \r\nServer: x\r\n\r\n".to_vec() } else { Vec::new() },
            body: if answered { b"body".to_vec() } else { Vec::new() },
            truncated: answered.then_some(Truncated::Time),
            request: Vec::new(),
            failure: (!answered).then_some(Reason::TooSlow),
            latency_ms: Some(3),
            duration_ms: answered.then_some(4),
        }
    }

    #[test]
    fn what_came_back_comes_back() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("000001");
        let visits = [visit("a", 404), visit("b", 0), visit("c", 404)];
        let news = HarvestNews::BackOff { site: SiteId(1), until_ms: 5, errors_in_a_row: 1 };
        let mut writer = HarvestWriter::begin(&folder, 9, "weir", 0).unwrap();
        for (number, visit) in visits.iter().enumerate() {
            writer.push_visit(PageId(number as u32), visit).unwrap();
        }
        writer.push_news(news.clone()).unwrap();
        assert!(HarvestReader::open(&folder).is_err(), "it is not closed");
        assert_eq!(writer.close().unwrap(), 3);

        let mut reader = HarvestReader::open(&folder).unwrap();
        assert_eq!(reader.number, 9);
        for (number, expected) in visits.iter().enumerate() {
            let Some(HarvestPiece::Visit(line, head, body)) = reader.next().unwrap() else {
                panic!("no visit")
            };
            assert_eq!((line.page, line.url.as_str()), (PageId(number as u32), expected.url.as_str()));
            let fetched = line.fetched(expected.url.clone(), head, body);
            assert_eq!(format!("{fetched:?}"), format!("{expected:?}"));
        }
        let Some(HarvestPiece::News(told)) = reader.next().unwrap() else { panic!("no news") };
        assert_eq!(told, news);
        assert!(reader.next().unwrap().is_none());

        let mut warc = fs::read(folder.join(WARC)).unwrap();
        *warc.last_mut().unwrap() ^= 1;
        fs::write(folder.join(WARC), warc).unwrap();
        let error = HarvestReader::open(&folder).err().unwrap().to_string();
        assert!(error.contains("pages.warc.gz is not what was written"), "{error}");
    }
}

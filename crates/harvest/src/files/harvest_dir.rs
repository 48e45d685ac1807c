//! Directory of a harvest: written by a standalone harvester, read by the gatherer.
//!
//! ```text
//! pages.warc.gz   responses as WARC 1.1, one gzip member per record
//! harvest.jsonl   one line per fetch, with the location of its record, and per event, in their order
//! HARVEST         written last: id of the batch, counts, XXH3 of both; a directory without it is incomplete
//! ```

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use model::{PageId, Reason, Truncation};
use serde::{Deserialize, Serialize};
use warc::{RecordEncoder, WarcReader, WarcType};
use xxhash_rust::xxh3::Xxh3;

use crate::files::checksummed_jsonl::{ChecksummedJsonlReader, ChecksummedJsonlWriter};
use crate::files::sealed_dir::{SealedDirError, SealedDirWriter};
use crate::files::{checksummed_jsonl, sealed_dir};
use crate::item::fetched_page::FetchedPage;
use crate::item::harvest_event::HarvestEvent;

/// Line of `harvest.jsonl`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum HarvestLine {
    Fetch(FetchLine),
    Event(HarvestEvent),
}

/// Page that was requested.
#[derive(Debug, Serialize, Deserialize)]
pub struct FetchLine {
    /// Page.
    pub page: PageId,
    /// URL.
    pub url: String,
    fetched_ms: i64,
    status: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<Reason>,
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
    /// Location of the record; the length is 0 without a response.
    offset: u64,
    length: u64,
}

#[derive(Serialize, Deserialize)]
struct HarvestSeal {
    batch: u64,
    fetches: u64,
    lines: u64,
    lines_xxh3: u64,
    warc_xxh3: u64,
}

const WARC: &str = "pages.warc.gz";
const LINES: &str = "harvest.jsonl";
const HARVEST: &str = "HARVEST";

/// Writer of a harvest.
pub struct HarvestWriter {
    batch: u64,
    dir: SealedDirWriter,
    lines: ChecksummedJsonlWriter,
    warc: BufWriter<File>,
    warc_hash: Xxh3,
    warc_bytes: u64,
    fetches: u64,
    encoder: RecordEncoder,
}

impl HarvestWriter {
    /// Creates the harvest of a batch in a directory that must not exist.
    pub fn create(dir: &Path, batch: u64, agent: &str, now_ms: i64) -> Result<HarvestWriter, SealedDirError> {
        let dir = SealedDirWriter::create(dir)?;
        let mut encoder = RecordEncoder::new(1);
        let info = encoder.warcinfo(WARC, now_ms, &[("software".to_owned(), agent.to_owned())]);
        let info = info.map_err(|error| dir.write_error(invalid(error)))?;
        let mut writer = HarvestWriter {
            batch,
            lines: ChecksummedJsonlWriter::new(dir.create_file(LINES)?),
            warc: BufWriter::new(dir.create_file(WARC)?),
            dir,
            warc_hash: Xxh3::new(),
            warc_bytes: 0,
            fetches: 0,
            encoder,
        };
        writer.append(&info)?;
        Ok(writer)
    }

    /// Appends a fetch.
    pub fn push_fetch(&mut self, page: PageId, fetched: &FetchedPage) -> Result<(), SealedDirError> {
        let offset = self.warc_bytes;
        if fetched.status != 0 {
            let protocols: Vec<&str> = fetched.protocols.iter().map(String::as_str).collect();
            let record = self.encoder.encode(&fetched.capture(&protocols, None));
            let record = record.map_err(|error| self.dir.write_error(invalid(error)))?;
            self.append(record.members())?;
        }
        self.fetches += 1;
        self.write(&HarvestLine::Fetch(FetchLine {
            page,
            url: fetched.url.as_str().to_owned(),
            fetched_ms: fetched.fetched_ms,
            status: fetched.status,
            failure: fetched.failure,
            latency_ms: fetched.latency_ms,
            duration_ms: fetched.duration_ms,
            address: fetched.address,
            protocols: fetched.protocols.clone(),
            truncated: fetched.truncated.map(|truncated| truncated.as_str().to_owned()),
            offset,
            length: self.warc_bytes - offset,
        }))
    }

    /// Appends an event.
    pub fn push_event(&mut self, event: HarvestEvent) -> Result<(), SealedDirError> {
        self.write(&HarvestLine::Event(event))
    }

    /// Seals the directory; returns the number of fetches.
    pub fn seal(self) -> Result<u64, SealedDirError> {
        let HarvestWriter { batch, dir, lines, mut warc, warc_hash, fetches, .. } = self;
        let synced = warc.flush().and_then(|()| warc.get_ref().sync_all());
        let (lines, lines_xxh3) =
            synced.and_then(|()| lines.finish()).map_err(|source| dir.write_error(source))?;
        let seal = HarvestSeal { batch, fetches, lines, lines_xxh3, warc_xxh3: warc_hash.digest() };
        dir.seal(HARVEST, &seal)?;
        Ok(fetches)
    }

    fn write(&mut self, line: &HarvestLine) -> Result<(), SealedDirError> {
        self.lines.push(line).map_err(|source| self.dir.write_error(source))
    }

    fn append(&mut self, members: &[u8]) -> Result<(), SealedDirError> {
        self.warc.write_all(members).map_err(|source| self.dir.write_error(source))?;
        self.warc_hash.update(members);
        self.warc_bytes += members.len() as u64;
        Ok(())
    }
}

/// Record of a harvest.
pub enum HarvestRecord {
    /// Fetch, with head and body of the response.
    Fetch(Box<FetchLine>, Vec<u8>, Vec<u8>),
    /// Event.
    Event(HarvestEvent),
}

/// Reader of a harvest.
pub struct HarvestReader {
    /// Batch that was harvested.
    pub batch: u64,
    dir: PathBuf,
    lines: ChecksummedJsonlReader,
    records: WarcReader,
}

impl HarvestReader {
    /// Opens a directory and verifies its checksums.
    pub fn open(dir: &Path) -> Result<HarvestReader, SealedDirError> {
        sealed_dir::read(dir, HARVEST, |dir, seal| {
            let seal: HarvestSeal = serde_json::from_slice(seal)?;
            checksummed_jsonl::verify(&dir.join(LINES), seal.lines_xxh3)?;
            checksummed_jsonl::verify(&dir.join(WARC), seal.warc_xxh3)?;
            Ok(HarvestReader {
                batch: seal.batch,
                dir: dir.to_owned(),
                lines: ChecksummedJsonlReader::open(&dir.join(LINES))?,
                records: WarcReader::open(&dir.join(WARC)).map_err(invalid)?,
            })
        })
    }

    /// Reads the next record; `None` at the end.
    pub fn read_next(&mut self) -> Result<Option<HarvestRecord>, SealedDirError> {
        let failed = |source| SealedDirError::Io { operation: "read", dir: self.dir.clone(), source };
        let fetch = match self.lines.read_next().map_err(failed)? {
            None => return Ok(None),
            Some(HarvestLine::Event(event)) => return Ok(Some(HarvestRecord::Event(event))),
            Some(HarvestLine::Fetch(fetch)) => fetch,
        };
        let (mut head, mut body) = (Vec::new(), Vec::new());
        if fetch.length > 0 {
            let record = loop {
                let record = self.records.next().ok_or_else(|| invalid("pages.warc.gz has too few records"));
                let record = record.and_then(|record| record.map_err(invalid)).map_err(failed)?;
                if record.header.warc_type() == WarcType::Response {
                    break record;
                }
            };
            if record.header.url() != Some(fetch.url.as_str()) {
                return Err(failed(invalid(format!(
                    "pages.warc.gz has another record in place of {}",
                    fetch.url
                ))));
            }
            head = head_as_received(record.head(), &fetch.protocols);
            body = record.body().into_owned();
        }
        Ok(Some(HarvestRecord::Fetch(Box::new(fetch), head, body)))
    }
}

impl FetchLine {
    /// Rebuilds the page that was written.
    pub fn into_page(self, url: model::CanonicalUrl, head: Vec<u8>, body: Vec<u8>) -> FetchedPage {
        let truncated = self.truncated.as_deref().map(Truncation::parse);
        FetchedPage {
            url,
            fetched_ms: self.fetched_ms,
            address: self.address,
            protocols: self.protocols,
            status: self.status,
            head,
            body,
            truncated,
            request: Vec::new(),
            failure: self.failure,
            latency_ms: self.latency_ms,
            duration_ms: self.duration_ms,
        }
    }
}

/// Restores the HTTP/2 status line of a stored head: WARC writers store every head as HTTP/1.1.
pub(crate) fn head_as_received(head: &[u8], protocols: &[String]) -> Vec<u8> {
    match head.strip_prefix(b"HTTP/1.1 ") {
        Some(rest) if protocols.iter().any(|name| name == "h2") => [b"HTTP/2 ", rest].concat(),
        _ => head.to_vec(),
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

    fn page(path: &str, status: u16) -> FetchedPage {
        let has_response = status != 0;
        FetchedPage {
            url: UrlRules::default().canonical(&format!("http://a.example/{path}")).unwrap(),
            fetched_ms: 1_794_731_400_125,
            address: has_response.then(|| [192, 0, 2, 1].into()),
            protocols: if has_response { vec!["h2".to_owned(), "tls/1.3".to_owned()] } else { Vec::new() },
            status,
            head: if has_response { b"HTTP/2 404 \r\nServer: x\r\n\r\n".to_vec() } else { Vec::new() },
            body: if has_response { b"body".to_vec() } else { Vec::new() },
            truncated: has_response.then_some(Truncation::Time),
            request: Vec::new(),
            failure: (!has_response).then_some(Reason::TooSlow),
            latency_ms: Some(3),
            duration_ms: has_response.then_some(4),
        }
    }

    #[test]
    fn a_harvest_is_read_back_as_written() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("000001");
        let pages = [page("a", 404), page("b", 0), page("c", 404)];
        let event = HarvestEvent::SiteBackedOff { site: SiteId(1), until_ms: 5, consecutive_errors: 1 };
        let mut writer = HarvestWriter::create(&dir, 9, "weir", 0).unwrap();
        for (index, page) in pages.iter().enumerate() {
            writer.push_fetch(PageId(index as u32), page).unwrap();
        }
        writer.push_event(event.clone()).unwrap();
        assert!(HarvestReader::open(&dir).is_err(), "the directory is not sealed");
        assert_eq!(writer.seal().unwrap(), 3);

        let mut reader = HarvestReader::open(&dir).unwrap();
        assert_eq!(reader.batch, 9);
        for (index, expected) in pages.iter().enumerate() {
            let Some(HarvestRecord::Fetch(line, head, body)) = reader.read_next().unwrap() else {
                panic!("no fetch")
            };
            assert_eq!((line.page, line.url.as_str()), (PageId(index as u32), expected.url.as_str()));
            let fetched = line.into_page(expected.url.clone(), head, body);
            assert_eq!(format!("{fetched:?}"), format!("{expected:?}"));
        }
        let Some(HarvestRecord::Event(read)) = reader.read_next().unwrap() else { panic!("no event") };
        assert_eq!(read, event);
        assert!(reader.read_next().unwrap().is_none());

        let mut warc = fs::read(dir.join(WARC)).unwrap();
        *warc.last_mut().unwrap() ^= 1;
        fs::write(dir.join(WARC), warc).unwrap();
        let error = HarvestReader::open(&dir).err().unwrap().to_string();
        assert!(error.contains("pages.warc.gz is corrupt"), "{error}");
    }
}

//! How does a page become bytes of a WARC file? As a response record, with a request and a metadata record behind it
//! on demand; or, if its body is stored already, as a revisit record that says where.
//!
//! A [`Preparer`] does the work that takes time (digests, compression) and needs no store: one per thread. Digests are
//! SHA-1 in base 32. The payload digest is over the body as it is stored, which is without chunks and with its content
//! encoding: what the standard calls the payload, and what `warcio check` looks at.

use std::hash::{BuildHasher, RandomState};

use libdeflater::{CompressionLvl, Compressor};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128_with_seed;

use super::date::{timestamp, warc_date};
use super::digest::{Digest, DigestKey};
use super::header::{WarcHeader, WarcKind};
use super::http_head::{header_value, status, stored_head};
use super::record::{Capture, WarcRecord};
use crate::cdxj::{CdxjLine, cdx_key};
use crate::error::{Error, Result};

/// No block is longer.
pub(crate) const MAX_BLOCK_BYTES: usize = 1 << 30;

/// A page, compressed and ready to be appended.
#[derive(Debug)]
pub struct Prepared {
    /// The response, and behind it what goes with it.
    pub(crate) members: Vec<u8>,
    /// Length of the first member.
    pub(crate) response_bytes: usize,
    pub(crate) payload_bytes: u64,
    pub(crate) digest: DigestKey,
    pub(crate) fetched_at_ms: i64,
    /// Complete but for the place.
    pub(crate) line: CdxjLine,
}

impl Prepared {
    /// SHA-1 of the body, in base 32.
    pub fn digest(&self) -> &str {
        &self.line.digest
    }

    /// The record as it stands in a file: complete gzip members.
    pub fn members(&self) -> &[u8] {
        &self.members
    }

    /// All but the members, for a page that travels.
    pub fn label(&self) -> PreparedLabel {
        let Prepared { response_bytes, payload_bytes, digest, fetched_at_ms, ref line, .. } = *self;
        PreparedLabel { response_bytes, payload_bytes, digest, fetched_at_ms, line: line.clone() }
    }

    /// A page that has travelled.
    pub fn of(label: PreparedLabel, members: Vec<u8>) -> Prepared {
        let PreparedLabel { response_bytes, payload_bytes, digest, fetched_at_ms, line } = label;
        // A label may come from anywhere; the first member is not longer than all of them.
        let response_bytes = response_bytes.min(members.len());
        Prepared { members, response_bytes, payload_bytes, digest, fetched_at_ms, line }
    }
}

/// What is known of a [`Prepared`] page beside its members.
#[derive(Debug, Serialize, Deserialize)]
pub struct PreparedLabel {
    response_bytes: usize,
    payload_bytes: u64,
    digest: DigestKey,
    fetched_at_ms: i64,
    line: CdxjLine,
}

/// Compresses pages; one per thread.
pub struct Preparer {
    compressor: Compressor,
    ids: RecordIds,
    /// The record before it is compressed, and after; both are used again.
    record: Vec<u8>,
    compressed: Vec<u8>,
}

impl Preparer {
    /// Compresses at this level of libdeflate: 1 is fastest, 12 smallest.
    pub fn new(level: u8) -> Preparer {
        let level = CompressionLvl::new(i32::from(level.clamp(1, 12))).unwrap_or_default();
        Preparer {
            compressor: Compressor::new(level),
            ids: RecordIds::new(),
            record: Vec::new(),
            compressed: Vec::new(),
        }
    }

    /// Does everything about a page that needs no store.
    pub fn prepare(&mut self, page: &Capture<'_>) -> Result<Prepared> {
        let head = stored_head(page.head, page.body.len());
        let (block_digest, payload_digest) = Digest::of_block_and_payload(&head, page.body);
        let url = safe_value(page.url);
        let id = self.ids.next();
        let mut header = common_fields(WarcKind::Response, &id, page.fetched_at_ms);
        header.push("WARC-Target-URI", url.as_str());
        if let Some(address) = page.address {
            header.push("WARC-IP-Address", address.to_string());
        }
        for protocol in page.protocols {
            header.push("WARC-Protocol", safe_value(protocol));
        }
        if let Some(truncated) = page.truncated {
            header.push("WARC-Truncated", truncated.name());
        }
        header.push("Content-Type", "application/http;msgtype=response");
        header.push("WARC-Payload-Digest", payload_digest.to_string());
        header.push("WARC-Block-Digest", block_digest.to_string());

        let mut members = Vec::new();
        self.push_record(header, &[&head, page.body], &mut members)?;
        let response_bytes = members.len();
        if let Some(request) = page.request {
            let header = self.companion(WarcKind::Request, &url, &id, page.fetched_at_ms);
            self.push_block(header, "application/http;msgtype=request", request, &mut members)?;
        }
        if !page.metadata.is_empty() {
            let header = self.companion(WarcKind::Metadata, &url, &id, page.fetched_at_ms);
            self.push_block(header, "application/warc-fields", &warc_fields(page.metadata), &mut members)?;
        }
        Ok(Prepared {
            members,
            response_bytes,
            payload_bytes: page.body.len() as u64,
            digest: payload_digest.key(page.body.len() as u64),
            fetched_at_ms: page.fetched_at_ms,
            line: index_line(url, page.fetched_at_ms, &head, &payload_digest),
        })
    }

    /// The record that begins a file.
    pub fn warcinfo(&mut self, name: &str, date_ms: i64, fields: &[(String, String)]) -> Result<Vec<u8>> {
        let id = self.ids.next();
        let mut header = common_fields(WarcKind::Warcinfo, &id, date_ms);
        header.push("WARC-Filename", name);
        let mut all = vec![("format", "WARC File Format 1.1"), ("conformsTo", STANDARD)];
        all.extend(fields.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        let mut member = Vec::new();
        self.push_block(header, "application/warc-fields", &warc_fields(&all), &mut member)?;
        Ok(member)
    }

    /// A record that says something else about what another record holds: its text, its links. The same twice gives the same
    /// bytes.
    pub fn derived(
        &mut self,
        kind: WarcKind,
        of: &WarcRecord,
        content_type: &str,
        block: &[u8],
    ) -> Result<Vec<u8>> {
        let field = |name| of.header.get(name).unwrap_or_default();
        let original = field("WARC-Record-ID");
        let id = record_id(xxh3_128_with_seed(original.as_bytes(), kind as u64));
        let mut header = WarcHeader::default();
        header.push("WARC-Type", kind.name());
        header.push("WARC-Record-ID", id);
        header.push("WARC-Date", field("WARC-Date"));
        header.push("WARC-Target-URI", of.header.url().unwrap_or_default());
        header.push("WARC-Refers-To", original);
        let mut member = Vec::new();
        self.push_block(header, content_type, block, &mut member)?;
        Ok(member)
    }

    /// Says that the payload of `response` would be that of `original`, and how that is known; takes over the id, for
    /// other records refer to it.
    pub(crate) fn revisit(
        &mut self,
        response: &WarcRecord,
        original: &WarcRecord,
        profile: RevisitProfile,
    ) -> Result<Vec<u8>> {
        let payload_digest = original.header.get("WARC-Payload-Digest").unwrap_or_default();
        // Whoever replays the head of a 304 shows nothing; without one, the head of the original counts.
        let head = match profile {
            RevisitProfile::IdenticalPayload => response.head(),
            RevisitProfile::ServerNotModified => b"",
        };
        let mut header = WarcHeader::default();
        for (name, value) in &response.header.fields {
            match name.as_str() {
                "WARC-Type" => header.push(name, WarcKind::Revisit.name()),
                "WARC-Block-Digest" => header.push(name, Digest::of(head).to_string()),
                "Content-Type" if head.is_empty() => {}
                "WARC-Payload-Digest" => header.push(name, payload_digest),
                "Content-Length" => {}
                _ => header.push(name, value.as_str()),
            }
        }
        header.push("WARC-Profile", profile.uri());
        let of_original = [
            ("WARC-Refers-To", "WARC-Record-ID"),
            ("WARC-Refers-To-Target-URI", "WARC-Target-URI"),
            ("WARC-Refers-To-Date", "WARC-Date"),
        ];
        for (name, source) in of_original {
            header.push(name, original.header.get(source).unwrap_or_default());
        }
        let mut member = Vec::new();
        self.push_record(header, &[head], &mut member)?;
        Ok(member)
    }

    fn companion(&mut self, kind: WarcKind, url: &str, of: &str, date_ms: i64) -> WarcHeader {
        let mut header = common_fields(kind, &self.ids.next(), date_ms);
        header.push("WARC-Target-URI", url);
        header.push("WARC-Concurrent-To", of);
        header
    }

    fn push_block(
        &mut self,
        mut header: WarcHeader,
        kind: &str,
        block: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        header.push("Content-Type", kind);
        header.push("WARC-Block-Digest", Digest::of(block).to_string());
        self.push_record(header, &[block], out)
    }

    /// Appends a record as a gzip member.
    fn push_record(&mut self, mut header: WarcHeader, block: &[&[u8]], out: &mut Vec<u8>) -> Result<()> {
        let block_bytes = block.iter().map(|part| part.len()).sum::<usize>();
        if block_bytes > MAX_BLOCK_BYTES {
            return Err(Error::Full { what: "a page of more than 1 GiB cannot be stored" });
        }
        header.push("Content-Length", block_bytes.to_string());
        self.record.clear();
        header.write(&mut self.record);
        for part in block {
            self.record.extend_from_slice(part);
        }
        self.record.extend_from_slice(b"\r\n\r\n");
        let bound = self.compressor.gzip_compress_bound(self.record.len());
        if self.compressed.len() < bound {
            self.compressed.resize(bound, 0);
        }
        let length = self.compressor.gzip_compress(&self.record, &mut self.compressed);
        // The bound is libdeflate's own.
        let length =
            length.map_err(|_| Error::Full { what: "a record is longer compressed than it can be" })?;
        out.extend_from_slice(&self.compressed[..length]);
        Ok(())
    }
}

/// How it is known that a payload is that of another record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RevisitProfile {
    /// It came, and was compared.
    IdenticalPayload,
    /// The server said so, and did not send it.
    ServerNotModified,
}

impl RevisitProfile {
    fn uri(self) -> &'static str {
        match self {
            RevisitProfile::IdenticalPayload => IDENTICAL_PAYLOAD,
            RevisitProfile::ServerNotModified => NOT_MODIFIED,
        }
    }
}

const STANDARD: &str = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/";
const IDENTICAL_PAYLOAD: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
const NOT_MODIFIED: &str = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";

fn common_fields(kind: WarcKind, id: &str, date_ms: i64) -> WarcHeader {
    let mut header = WarcHeader::default();
    header.push("WARC-Type", kind.name());
    header.push("WARC-Record-ID", id);
    header.push("WARC-Date", warc_date(date_ms));
    header
}

/// What the index says about a page, but for its place.
pub(crate) fn index_line(url: String, date_ms: i64, head: &[u8], digest: &Digest) -> CdxjLine {
    let mime = header_value(head, "Content-Type").unwrap_or_default();
    let mime = mime.split(|byte| matches!(byte, b';' | b',' | b' ')).next().unwrap_or_default();
    let mime = String::from_utf8_lossy(mime);
    CdxjLine {
        key: cdx_key(&url),
        timestamp: timestamp(date_ms),
        url,
        mime: if mime.is_empty() { "unk".to_owned() } else { mime.into_owned() },
        status: status(head).unwrap_or("-").to_owned(),
        digest: digest.base32(),
        ..CdxjLine::default()
    }
}

fn warc_fields(fields: &[(&str, &str)]) -> Vec<u8> {
    let lines =
        fields.iter().map(|(name, value)| format!("{name}: {}\r\n", value.replace(['\r', '\n'], " ")));
    lines.collect::<String>().into_bytes()
}

/// A value that stays on its line: URLs have neither spaces nor control characters, and where one has, they are
/// written as it should have written them.
fn safe_value(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for char in value.chars() {
        if char.is_ascii_control() || char == ' ' {
            out.push_str(&format!("%{:02X}", u32::from(char)));
        } else {
            out.push(char);
        }
    }
    out
}

/// Ids that nobody else has: 128 bits from a generator that starts at random, in the form of a version 4 UUID.
struct RecordIds {
    seed: [u64; 2],
    count: u64,
}

impl RecordIds {
    fn new() -> RecordIds {
        // The standard library's own source of random seeds: one a thread, and each state differs.
        let random = |part: u8| RandomState::new().hash_one(part);
        RecordIds { seed: [random(0), random(1)], count: 0 }
    }

    fn next(&mut self) -> String {
        self.count += 1;
        let input = [self.count.to_le_bytes(), self.seed[1].to_le_bytes()].concat();
        record_id(xxh3_128_with_seed(&input, self.seed[0]))
    }
}

/// An id in the form of a version 4 UUID.
fn record_id(random: u128) -> String {
    let versioned = random & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let hex = format!("{versioned:032x}");
    format!("<urn:uuid:{}-{}-{}-{}-{}>", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

#[cfg(test)]
mod tests {
    use super::super::member::gunzip;
    use super::super::record::{DigestVerdict, Truncated};
    use super::*;
    use std::path::Path;

    fn page() -> Capture<'static> {
        Capture {
            url: "http://example.com/a b",
            fetched_at_ms: 1_794_731_400_125,
            address: Some([192, 0, 2, 1].into()),
            protocols: &["h2", "tls/1.3"],
            head: b"HTTP/2 200\r\ncontent-type: text/html; charset=utf-8\r\n\r\n",
            body: b"<html>",
            truncated: Some(Truncated::Time),
            request: None,
            metadata: &[],
        }
    }

    fn record(member: &[u8]) -> WarcRecord {
        WarcRecord::parse(gunzip(member, Path::new("test"), 0).unwrap()).unwrap()
    }

    #[test]
    fn a_page_becomes_a_response_record() {
        let prepared = Preparer::new(1).prepare(&page()).unwrap();
        let record = record(&prepared.members);
        assert_eq!(record.header.kind(), WarcKind::Response);
        assert_eq!(record.header.url(), Some("http://example.com/a%20b"));
        assert_eq!(record.header.date_ms(), Some(1_794_731_400_125));
        assert_eq!(record.header.get("WARC-IP-Address"), Some("192.0.2.1"));
        assert_eq!(record.header.get("WARC-Protocol"), Some("h2"));
        assert_eq!(record.truncated(), Some(Truncated::Time));
        assert_eq!(record.payload(), b"<html>");
        assert!(record.head().starts_with(b"HTTP/1.1 200 \r\n"));
        assert_eq!(record.verify(), DigestVerdict::Right);
        let line = &prepared.line;
        assert_eq!((line.mime.as_str(), line.status.as_str()), ("text/html", "200"));
    }

    #[test]
    fn a_url_cannot_add_fields() {
        let evil = Capture { url: "http://a/\r\nWARC-Type: warcinfo", ..page() };
        let prepared = Preparer::new(1).prepare(&evil).unwrap();
        let record = record(&prepared.members);
        assert_eq!(record.header.url(), Some("http://a/%0D%0AWARC-Type:%20warcinfo"));
        assert_eq!(record.header.kind(), WarcKind::Response);
    }

    #[test]
    fn ids_are_different_and_of_version_four() {
        let mut ids = (RecordIds::new(), RecordIds::new());
        let mut seen = std::collections::HashSet::new();
        for _ in 0..1_000 {
            for id in [ids.0.next(), ids.1.next()] {
                assert_eq!((id.len(), &id[24..25]), (47, "4"), "{id}");
                assert!("89ab".contains(&id[29..30]), "{id}");
                assert!(seen.insert(id));
            }
        }
    }
}

//! Encoder of WARC records: a response record, optionally followed by a request and a metadata record; or a revisit
//! record if the body is stored already.
//!
//! A [`RecordEncoder`] does the expensive work (digests, compression) and needs no open archive: one per thread. The
//! payload digest covers the body as it is stored, without transfer coding and with content encoding. The standard
//! calls this the payload, and `warcio check` verifies it.

use std::hash::{BuildHasher, RandomState};
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use libdeflater::{CompressionLvl, Compressor};
use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::cdxj::{CdxjEntry, cdxj_key};
use crate::date::{cdx_timestamp, warc_date};
use crate::digest::{PayloadKey, Sha1Digest};
use crate::error::{Error, Result};
use crate::header::{WarcHeader, WarcType};
use crate::http_head::{header_value, status, stored_head};
use crate::record::{Capture, WarcRecord};

/// Maximum size of the block of a record.
pub(crate) const MAX_BLOCK_BYTES: usize = 1 << 30;

/// Size of a block above which a record is compressed as a stream: slower, without two more copies of it in memory.
const LARGE_BLOCK_BYTES: usize = 4 << 20;

/// Compressed records of a capture, ready to be appended to a file.
#[derive(Debug)]
pub struct EncodedRecord {
    /// The response, followed by its request and metadata records.
    members: Vec<u8>,
    /// Size of the first member.
    response_bytes: usize,
    payload_bytes: u64,
    payload_key: PayloadKey,
    fetched_at_ms: i64,
    /// Index entry of the response.
    pub cdxj: CdxjEntry,
}

impl EncodedRecord {
    /// SHA-1 of the body, in base 32.
    pub fn digest(&self) -> &str {
        &self.cdxj.digest
    }

    /// All records as complete gzip members.
    pub fn members(&self) -> &[u8] {
        &self.members
    }

    /// Gzip member of the response record.
    pub fn response(&self) -> &[u8] {
        &self.members[..self.response_bytes]
    }

    /// Size of the body in bytes.
    pub fn payload_bytes(&self) -> u64 {
        self.payload_bytes
    }

    /// Key by which duplicates of the body are looked up.
    pub fn payload_key(&self) -> PayloadKey {
        self.payload_key
    }

    /// Time of the response in Unix milliseconds.
    pub fn fetched_at_ms(&self) -> i64 {
        self.fetched_at_ms
    }

    /// Replaces the response record by a revisit record; the other records stay.
    pub fn replace_response(&mut self, revisit: &[u8]) {
        self.members.splice(..self.response_bytes, revisit.iter().copied());
        self.response_bytes = revisit.len();
    }

    pub(crate) fn new(
        members: Vec<u8>,
        response_bytes: usize,
        payload_bytes: u64,
        payload_key: PayloadKey,
        fetched_at_ms: i64,
        cdxj: CdxjEntry,
    ) -> EncodedRecord {
        EncodedRecord { members, response_bytes, payload_bytes, payload_key, fetched_at_ms, cdxj }
    }
}

/// Encoder of captures; one per thread.
pub struct RecordEncoder {
    compressor: Compressor,
    stream_level: Compression,
    ids: RecordIds,
    /// Buffers for the record before and after compression, reused.
    record: Vec<u8>,
    compressed: Vec<u8>,
}

impl RecordEncoder {
    /// Creates an encoder with a compression level of libdeflate, from 1 (fastest) to 12 (smallest).
    pub fn new(level: u8) -> RecordEncoder {
        // `RandomState` is seeded by the operating system once per thread, and each instance differs.
        RecordEncoder::with_id_seed(level, [0, 1].map(|part: u8| RandomState::new().hash_one(part)))
    }

    /// Creates an encoder whose record ids depend on a seed.
    pub fn with_id_seed(level: u8, seed: [u64; 2]) -> RecordEncoder {
        // zlib has fewer levels.
        let stream_level = Compression::new(u32::from(level.clamp(1, 9)));
        let level = CompressionLvl::new(i32::from(level.clamp(1, 12))).unwrap_or_default();
        RecordEncoder {
            compressor: Compressor::new(level),
            stream_level,
            ids: RecordIds { seed, count: 0 },
            record: Vec::new(),
            compressed: Vec::new(),
        }
    }

    /// Encodes a capture.
    pub fn encode(&mut self, page: &Capture<'_>) -> Result<EncodedRecord> {
        let head = stored_head(page.head, page.body.len());
        let (block_digest, payload_digest) = Sha1Digest::of_block_and_payload(&head, page.body);
        let url = safe_value(page.url);
        let id = self.ids.next();
        let header = response_header(page, &id, &payload_digest, &block_digest);
        let mut members = Vec::new();
        self.push_record(header, &[&head, page.body], &mut members)?;
        let response_bytes = members.len();
        if let Some(request) = page.request {
            let header = self.concurrent_record(WarcType::Request, &url, &id, page.fetched_at_ms);
            self.push_block(header, CONTENT_TYPE_REQUEST, request, &mut members)?;
        }
        if !page.metadata.is_empty() {
            let header = self.concurrent_record(WarcType::Metadata, &url, &id, page.fetched_at_ms);
            self.push_block(header, CONTENT_TYPE_FIELDS, &warc_fields(page.metadata), &mut members)?;
        }
        Ok(EncodedRecord {
            members,
            response_bytes,
            payload_bytes: page.body.len() as u64,
            payload_key: payload_digest.key(page.body.len() as u64),
            fetched_at_ms: page.fetched_at_ms,
            cdxj: cdxj_entry_for(url, page.fetched_at_ms, &head, &payload_digest),
        })
    }

    /// Encodes the warcinfo record at the start of a file.
    pub fn warcinfo(&mut self, name: &str, date_ms: i64, fields: &[(String, String)]) -> Result<Vec<u8>> {
        let id = self.ids.next();
        let mut header = common_fields(WarcType::Warcinfo, &id, date_ms);
        header.push("WARC-Filename", name);
        let mut all = vec![("format", "WARC File Format 1.1"), ("conformsTo", WARC_SPEC_URL)];
        all.extend(fields.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        let mut member = Vec::new();
        self.push_block(header, CONTENT_TYPE_FIELDS, &warc_fields(&all), &mut member)?;
        Ok(member)
    }

    /// Encodes a record derived from another: its text, its links. The output is deterministic, also its record id.
    pub fn conversion_record(
        &mut self,
        warc_type: WarcType,
        source: &WarcRecord,
        content_type: &str,
        block: &[u8],
    ) -> Result<Vec<u8>> {
        let field = |name| source.header.get(name).unwrap_or_default();
        let original = field("WARC-Record-ID");
        let id = record_id(xxh3_128_with_seed(original.as_bytes(), warc_type as u64));
        let mut header = WarcHeader::default();
        header.push("WARC-Type", warc_type.as_str());
        header.push("WARC-Record-ID", id);
        header.push("WARC-Date", field("WARC-Date"));
        header.push("WARC-Target-URI", source.header.url().unwrap_or_default());
        header.push("WARC-Refers-To", original);
        let mut member = Vec::new();
        self.push_block(header, content_type, block, &mut member)?;
        Ok(member)
    }

    /// Encodes a revisit record in place of `response`, whose payload is that of `original`. It keeps the id of
    /// `response`, because the request and metadata records refer to it.
    pub fn revisit(
        &mut self,
        response: &WarcRecord,
        original: &WarcRecord,
        profile: RevisitProfile,
    ) -> Result<Vec<u8>> {
        let payload_digest = original.header.get("WARC-Payload-Digest").unwrap_or_default();
        // Replay tools would show the head of a 304 without content; without a head, they use that of the original.
        let head = match profile {
            RevisitProfile::IdenticalPayload => response.head(),
            RevisitProfile::ServerNotModified => b"",
        };
        let mut header = WarcHeader::default();
        for (name, value) in &response.header.fields {
            match name.as_str() {
                "WARC-Type" => header.push(name, WarcType::Revisit.as_str()),
                "WARC-Block-Digest" => header.push(name, Sha1Digest::of(head).to_string()),
                "Content-Type" if head.is_empty() => {}
                "WARC-Payload-Digest" => header.push(name, payload_digest),
                "Content-Length" => {}
                _ => header.push(name, value.as_str()),
            }
        }
        header.push("WARC-Profile", profile.uri());
        let references = [
            ("WARC-Refers-To", "WARC-Record-ID"),
            ("WARC-Refers-To-Target-URI", "WARC-Target-URI"),
            ("WARC-Refers-To-Date", "WARC-Date"),
        ];
        for (name, source) in references {
            header.push(name, original.header.get(source).unwrap_or_default());
        }
        let mut member = Vec::new();
        self.push_record(header, &[head], &mut member)?;
        Ok(member)
    }

    fn concurrent_record(
        &mut self,
        warc_type: WarcType,
        url: &str,
        response_id: &str,
        date_ms: i64,
    ) -> WarcHeader {
        concurrent_header(warc_type, &self.ids.next(), url, response_id, date_ms)
    }

    fn push_block(
        &mut self,
        mut header: WarcHeader,
        content_type: &str,
        block: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        header.push("Content-Type", content_type);
        header.push("WARC-Block-Digest", Sha1Digest::of(block).to_string());
        self.push_record(header, &[block], out)
    }

    /// Appends a record as a gzip member.
    fn push_record(&mut self, mut header: WarcHeader, block: &[&[u8]], out: &mut Vec<u8>) -> Result<()> {
        let block_bytes = block.iter().map(|part| part.len()).sum::<usize>();
        if block_bytes > MAX_BLOCK_BYTES {
            return Err(Error::RecordTooLarge { bytes: block_bytes, maximum: MAX_BLOCK_BYTES });
        }
        finish_header(&mut header, block_bytes);
        self.record.clear();
        header.write(&mut self.record);
        // Cannot happen: writing to memory does not fail, and libdeflate itself computes the bound.
        let impossible = || Error::RecordTooLarge { bytes: block_bytes, maximum: MAX_BLOCK_BYTES };
        if block_bytes > LARGE_BLOCK_BYTES {
            *out = self.compress_stream(block, std::mem::take(out)).map_err(|_| impossible())?;
            return Ok(());
        }
        for part in block {
            self.record.extend_from_slice(part);
        }
        self.record.extend_from_slice(b"\r\n\r\n");
        let bound = self.compressor.gzip_compress_bound(self.record.len());
        if self.compressed.len() < bound {
            self.compressed.resize(bound, 0);
        }
        let length = self.compressor.gzip_compress(&self.record, &mut self.compressed);
        out.extend_from_slice(&self.compressed[..length.map_err(|_| impossible())?]);
        Ok(())
    }

    /// Appends the header in `record` and a large block as a gzip member to `out`.
    fn compress_stream(&self, block: &[&[u8]], out: Vec<u8>) -> std::io::Result<Vec<u8>> {
        let mut encoder = GzEncoder::new(out, self.stream_level);
        encoder.write_all(&self.record)?;
        for part in block {
            encoder.write_all(part)?;
        }
        encoder.write_all(b"\r\n\r\n")?;
        encoder.finish()
    }
}

/// Profile of a revisit record (WARC 1.1, section 6.7): the evidence for an identical payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RevisitProfile {
    /// The payload was received and compared.
    IdenticalPayload,
    /// The server sent 304 (Not Modified) without a payload.
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

const WARC_SPEC_URL: &str = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/";
const IDENTICAL_PAYLOAD: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
const NOT_MODIFIED: &str = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";

fn common_fields(warc_type: WarcType, id: &str, date_ms: i64) -> WarcHeader {
    let mut header = WarcHeader::default();
    header.push("WARC-Type", warc_type.as_str());
    header.push("WARC-Record-ID", id);
    header.push("WARC-Date", warc_date(date_ms));
    header
}

/// Content types of the blocks of concurrent records.
pub(crate) const CONTENT_TYPE_REQUEST: &str = "application/http;msgtype=request";
pub(crate) const CONTENT_TYPE_FIELDS: &str = "application/warc-fields";

/// Header of the response record of a capture, without the length of its block.
pub(crate) fn response_header(
    page: &Capture<'_>,
    id: &str,
    payload_digest: &Sha1Digest,
    block_digest: &Sha1Digest,
) -> WarcHeader {
    let mut header = common_fields(WarcType::Response, id, page.fetched_at_ms);
    header.push("WARC-Target-URI", safe_value(page.url));
    if let Some(address) = page.ip_address {
        header.push("WARC-IP-Address", address.to_string());
    }
    for protocol in page.protocols {
        header.push("WARC-Protocol", safe_value(protocol));
    }
    if let Some(truncated) = page.truncated {
        header.push("WARC-Truncated", truncated.as_str());
    }
    header.push("Content-Type", "application/http;msgtype=response");
    header.push("WARC-Payload-Digest", payload_digest.to_string());
    header.push("WARC-Block-Digest", block_digest.to_string());
    header
}

/// Header of a record about the capture with the id `response_id`, without content type, digest and length of its block.
pub(crate) fn concurrent_header(
    warc_type: WarcType,
    id: &str,
    url: &str,
    response_id: &str,
    date_ms: i64,
) -> WarcHeader {
    let mut header = common_fields(warc_type, id, date_ms);
    header.push("WARC-Target-URI", url);
    header.push("WARC-Concurrent-To", response_id);
    header
}

/// Appends the last field of every header.
pub(crate) fn finish_header(header: &mut WarcHeader, block_bytes: usize) {
    header.push("Content-Length", block_bytes.to_string());
}

/// Index entry of a capture.
pub fn cdxj_entry_for(url: String, date_ms: i64, head: &[u8], digest: &Sha1Digest) -> CdxjEntry {
    let mime = header_value(head, "Content-Type").unwrap_or_default();
    let is_end = |byte: &u8| matches!(byte, b';' | b',' | b' ') || byte.is_ascii_control();
    let mime = mime.split(is_end).next().unwrap_or_default();
    let mime = String::from_utf8_lossy(mime);
    CdxjEntry {
        key: cdxj_key(&url),
        timestamp: cdx_timestamp(date_ms),
        url,
        mime: if mime.is_empty() { "unk".to_owned() } else { mime.into_owned() },
        status: status(head).unwrap_or("-").to_owned(),
        digest: digest.base32(),
    }
}

fn warc_fields(fields: &[(&str, &str)]) -> Vec<u8> {
    let lines =
        fields.iter().map(|(name, value)| format!("{name}: {}\r\n", value.replace(['\r', '\n'], " ")));
    lines.collect::<String>().into_bytes()
}

/// Percent-encodes spaces and control characters, which valid URLs do not contain, so that a value cannot add header
/// lines.
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

/// Generator of unique record ids: version 4 UUIDs from a random seed and a counter.
struct RecordIds {
    seed: [u64; 2],
    count: u64,
}

impl RecordIds {
    fn next(&mut self) -> String {
        self.count += 1;
        let input = [self.count.to_le_bytes(), self.seed[1].to_le_bytes()].concat();
        record_id(xxh3_128_with_seed(&input, self.seed[0]))
    }
}

/// Formats a record id as a version 4 UUID.
fn record_id(random: u128) -> String {
    let versioned = random & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let hex = format!("{versioned:032x}");
    format!("<urn:uuid:{}-{}-{}-{}-{}>", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use model::Truncation;

    use super::*;
    use crate::gzip::gunzip;
    use crate::record::DigestCheck;

    fn page() -> Capture<'static> {
        Capture {
            url: "http://example.com/a b",
            fetched_at_ms: 1_794_731_400_125,
            ip_address: Some([192, 0, 2, 1].into()),
            protocols: &["h2", "tls/1.3"],
            head: b"HTTP/2 200\r\ncontent-type: text/html; charset=utf-8\r\n\r\n",
            body: b"<html>",
            truncated: Some(Truncation::Time),
            request: None,
            metadata: &[],
        }
    }

    fn record(member: &[u8]) -> WarcRecord {
        WarcRecord::parse(gunzip(member, Path::new("test"), 0).unwrap()).unwrap()
    }

    #[test]
    fn a_page_becomes_a_response_record() {
        let encoded = RecordEncoder::new(1).encode(&page()).unwrap();
        let record = record(encoded.members());
        assert_eq!(record.header.warc_type(), WarcType::Response);
        assert_eq!(record.header.url(), Some("http://example.com/a%20b"));
        assert_eq!(record.header.date_ms(), Some(1_794_731_400_125));
        assert_eq!(record.header.get("WARC-IP-Address"), Some("192.0.2.1"));
        assert_eq!(record.header.get("WARC-Protocol"), Some("h2"));
        assert_eq!(record.truncated(), Some(Truncation::Time));
        assert_eq!(record.payload(), b"<html>");
        assert!(record.head().starts_with(b"HTTP/1.1 200 \r\n"));
        assert_eq!(record.verify(), DigestCheck::Valid);
        let entry = &encoded.cdxj;
        assert_eq!((entry.mime.as_str(), entry.status.as_str()), ("text/html", "200"));
    }

    #[test]
    fn a_url_cannot_add_header_fields() {
        let evil = Capture { url: "http://a/\r\nWARC-Type: warcinfo", ..page() };
        let encoded = RecordEncoder::new(1).encode(&evil).unwrap();
        let record = record(encoded.members());
        assert_eq!(record.header.url(), Some("http://a/%0D%0AWARC-Type:%20warcinfo"));
        assert_eq!(record.header.warc_type(), WarcType::Response);
    }

    #[test]
    fn a_large_record_is_compressed_without_a_copy_and_read_like_any_other() {
        let body = vec![b'x'; LARGE_BLOCK_BYTES + 1];
        let mut encoder = RecordEncoder::new(12);
        let encoded = encoder.encode(&Capture { body: &body, ..page() }).unwrap();
        assert!(encoder.record.capacity() < 10_000 && encoder.compressed.capacity() < 10_000);
        let record = record(encoded.response());
        assert!(record.payload() == body && record.verify() == DigestCheck::Valid);
    }

    #[test]
    fn record_ids_are_unique_version_4_uuids() {
        let mut ids = (RecordEncoder::new(1).ids, RecordEncoder::new(1).ids);
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

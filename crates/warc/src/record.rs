//! Input and output of the crate: a [`Capture`] to be written, and a [`WarcRecord`] that was read.

use std::borrow::Cow;
use std::io::{self, Write};
use std::net::IpAddr;
use std::ops::Range;

use model::Truncation;

use crate::chunked::dechunk;
use crate::digest::Sha1Digest;
use crate::header::{WarcHeader, WarcType};
use crate::http_head::{head_bytes, is_chunked};

/// Response of a server, to be stored.
#[derive(Debug, Clone, Copy)]
pub struct Capture<'a> {
    /// Requested URL.
    pub url: &'a str,
    /// Time of the response in Unix milliseconds.
    pub fetched_at_ms: i64,
    /// IP address of the server.
    pub ip_address: Option<IpAddr>,
    /// Protocols, one name per layer: `h2`, `tls/1.3`.
    pub protocols: &'a [&'a str],
    /// Status line and header fields as received.
    pub head: &'a [u8],
    /// Body without transfer coding, and with its content encoding.
    pub body: &'a [u8],
    /// Reason why the body is incomplete.
    pub truncated: Option<Truncation>,
    /// Request as it was sent, if it is to be stored.
    pub request: Option<&'a [u8]>,
    /// Fields of the metadata record; no record is written if empty.
    pub metadata: &'a [(&'a str, &'a str)],
}

/// Record that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WarcRecord {
    /// Header fields.
    pub header: WarcHeader,
    bytes: Vec<u8>,
    block: Range<usize>,
}

/// Result of comparing a record with its digests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DigestCheck {
    /// All digests match.
    Valid,
    /// There is no digest that can be checked.
    Unchecked,
    /// A digest does not match.
    Mismatch {
        /// Name of the digest, with both values.
        cause: String,
    },
}

impl WarcRecord {
    pub(crate) fn new(header: WarcHeader, bytes: Vec<u8>, block: Range<usize>) -> WarcRecord {
        WarcRecord { header, bytes, block }
    }

    /// Parses a record that takes up all of `bytes`, such as the content of a gzip member.
    pub fn parse(bytes: Vec<u8>) -> Result<WarcRecord, String> {
        let (header, start) = WarcHeader::parse(&bytes)?;
        let length = header.content_length().ok_or("the record has no Content-Length")?;
        let end = usize::try_from(length).ok().and_then(|length| start.checked_add(length));
        match end.and_then(|end| bytes.get(end..)) {
            Some(b"\r\n\r\n") => Ok(WarcRecord::new(header, bytes, start..start + length as usize)),
            _ => Err(format!("the size of the record is not the {length} bytes of its Content-Length")),
        }
    }

    /// Header of the record as it was read, with the empty line.
    pub(crate) fn header_bytes(&self) -> &[u8] {
        &self.bytes[..self.block.start]
    }

    /// Everything after the header of the record.
    pub fn block(&self) -> &[u8] {
        &self.bytes[self.block.clone()]
    }

    /// Status line and header fields of an HTTP message, with the empty line; empty in records of other types.
    pub fn head(&self) -> &[u8] {
        &self.block()[..self.head_bytes()]
    }

    /// Everything after the HTTP head, as stored.
    pub fn payload(&self) -> &[u8] {
        &self.block()[self.head_bytes()..]
    }

    /// Payload without transfer coding, and with its content encoding.
    pub fn body(&self) -> Cow<'_, [u8]> {
        let dechunked = is_chunked(self.head()).then(|| dechunk(self.payload())).flatten();
        dechunked.map_or(Cow::Borrowed(self.payload()), Cow::Owned)
    }

    /// Everything after the header of the record, in the buffer of the record.
    pub fn into_block(mut self) -> Vec<u8> {
        self.bytes.truncate(self.block.end);
        self.bytes.drain(..self.block.start);
        self.bytes
    }

    /// [Head](WarcRecord::head) and [body](WarcRecord::body); the body is not copied unless it is chunked.
    pub fn into_head_and_body(self) -> (Vec<u8>, Vec<u8>) {
        let head = self.head().to_vec();
        if let Cow::Owned(body) = self.body() {
            return (head, body);
        }
        let mut body = self.into_block();
        body.drain(..head.len());
        (head, body)
    }

    /// Reason why the body is incomplete.
    pub fn truncated(&self) -> Option<Truncation> {
        self.header.get("WARC-Truncated").map(Truncation::parse)
    }

    /// Writes the record, uncompressed.
    pub fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.header.bytes())?;
        out.write_all(self.block())?;
        out.write_all(b"\r\n\r\n")
    }

    /// Compares the record with its digests. Writers compute the payload digest with or without transfer coding; both
    /// are accepted. Digests other than SHA-1 are not checked, nor are those of revisit records, because their payload
    /// is in another record.
    pub fn verify(&self) -> DigestCheck {
        let stored = |name| self.header.get(name).filter(|text| Sha1Digest::is_sha1(text));
        let (block, payload) = (stored("WARC-Block-Digest"), stored("WARC-Payload-Digest"));
        if (block.is_none() && payload.is_none()) || self.header.warc_type() == WarcType::Revisit {
            return DigestCheck::Unchecked;
        }
        let (found_block, found_payload) = Sha1Digest::of_block_and_payload(self.head(), self.payload());
        let mismatch = |name: &str, stored: &str, found: Sha1Digest| DigestCheck::Mismatch {
            cause: format!("{name} digest {found}, expected {stored}"),
        };
        if let Some(block) = block.filter(|block| Sha1Digest::parse(block) != Some(found_block)) {
            return mismatch("block", block, found_block);
        }
        match payload.filter(|payload| Sha1Digest::parse(payload) != Some(found_payload)) {
            Some(payload) if Sha1Digest::parse(payload) != Some(Sha1Digest::of(&self.body())) => {
                mismatch("payload", payload, found_payload)
            }
            _ => DigestCheck::Valid,
        }
    }

    fn head_bytes(&self) -> usize {
        let http =
            matches!(self.header.warc_type(), WarcType::Response | WarcType::Request | WarcType::Revisit);
        let block = self.block();
        if http && is_http(block) { head_bytes(block) } else { 0 }
    }
}

/// Whether a block begins with a status line or request line of HTTP.
fn is_http(block: &[u8]) -> bool {
    let line = block.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii_end();
    line.starts_with(b"HTTP/") || line.windows(6).rev().take(8).any(|part| part == b" HTTP/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: &str, block: &[u8]) -> WarcRecord {
        let mut header = WarcHeader::default();
        header.push("WARC-Type", kind);
        WarcRecord::new(header, block.to_vec(), 0..block.len())
    }

    #[test]
    fn head_and_body_are_separated() {
        let response = record("response", b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody");
        assert_eq!(
            (response.head(), response.payload()),
            (&b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n"[..], &b"body"[..])
        );
        let parts = response.into_head_and_body();
        assert_eq!(parts, (b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n".to_vec(), b"body".to_vec()));
        assert_eq!(record("request", b"GET / HTTP/1.1\r\n\r\n").payload(), b"");
        assert_eq!(record("resource", b"HTTP/1.1 is a protocol").payload(), b"HTTP/1.1 is a protocol");
        assert_eq!(
            record("response", b"no protocol at all\n\nbody").payload(),
            b"no protocol at all\n\nbody"
        );
    }

    #[test]
    fn payload_digests_match_with_and_without_chunks() {
        let block = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nWiki\r\n0\r\n\r\n";
        let mut response = record("response", block);
        assert_eq!(response.body(), b"Wiki".as_slice());
        assert_eq!(response.verify(), DigestCheck::Unchecked);
        for payload in [&b"Wiki"[..], b"4\r\nWiki\r\n0\r\n\r\n"] {
            response.header.fields.truncate(1);
            response.header.push("WARC-Payload-Digest", Sha1Digest::of(payload).to_string());
            assert_eq!(response.verify(), DigestCheck::Valid);
        }
        response.header.push("WARC-Block-Digest", Sha1Digest::of(b"other").to_string());
        assert!(matches!(response.verify(), DigestCheck::Mismatch { .. }));
    }
}

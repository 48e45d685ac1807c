//! What is a page on its way into the store, and what is a record on its way out?

use std::borrow::Cow;
use std::net::IpAddr;
use std::ops::Range;

use super::chunked::dechunk;
use super::digest::Digest;
use super::header::{WarcHeader, WarcKind};
use super::http_head::{head_bytes, is_chunked};

/// One answer of a server, as it is to be stored.
#[derive(Debug, Clone, Copy)]
pub struct Capture<'a> {
    /// What was asked for.
    pub url: &'a str,
    /// When, in Unix milliseconds.
    pub fetched_at_ms: i64,
    /// Who answered.
    pub address: Option<IpAddr>,
    /// What was spoken, one name per layer: `h2`, `tls/1.3`.
    pub protocols: &'a [&'a str],
    /// Status line and header lines as received.
    pub head: &'a [u8],
    /// The body without its chunks, and with its content encoding.
    pub body: &'a [u8],
    /// Why the body is not complete, where it is not.
    pub truncated: Option<Truncated>,
    /// The request as it was sent, where it is to be kept.
    pub request: Option<&'a [u8]>,
    /// Fields of a metadata record; none if empty.
    pub metadata: &'a [(&'a str, &'a str)],
}

/// Why a body is not complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Truncated {
    /// It is longer than allowed.
    Length,
    /// It took longer than allowed.
    Time,
    /// The connection broke.
    Disconnect,
    /// For another reason.
    Unspecified,
}

impl Truncated {
    /// As WARC-Truncated names it.
    pub fn name(self) -> &'static str {
        match self {
            Truncated::Length => "length",
            Truncated::Time => "time",
            Truncated::Disconnect => "disconnect",
            Truncated::Unspecified => "unspecified",
        }
    }

    /// What a name means.
    pub fn parse(name: &str) -> Truncated {
        let known = [Truncated::Length, Truncated::Time, Truncated::Disconnect];
        known
            .into_iter()
            .find(|reason| reason.name().eq_ignore_ascii_case(name))
            .unwrap_or(Truncated::Unspecified)
    }
}

/// A record that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WarcRecord {
    /// Its fields.
    pub header: WarcHeader,
    bytes: Vec<u8>,
    block: Range<usize>,
}

/// What the digests of a record say about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DigestVerdict {
    /// All that it has are right.
    Right,
    /// It has none that could be checked.
    Unchecked,
    /// One of them is wrong.
    Wrong {
        /// Which, with both values.
        what: String,
    },
}

impl WarcRecord {
    pub(crate) fn new(header: WarcHeader, bytes: Vec<u8>, block: Range<usize>) -> WarcRecord {
        WarcRecord { header, bytes, block }
    }

    /// Reads a record that takes up all of `bytes`, as one of ours does in its member.
    pub(crate) fn parse(bytes: Vec<u8>) -> Result<WarcRecord, String> {
        let (header, start) = WarcHeader::parse(&bytes)?;
        let length = header.content_length().ok_or("the record has no Content-Length")?;
        let end = usize::try_from(length).ok().and_then(|length| start.checked_add(length));
        match end.and_then(|end| bytes.get(end..)) {
            Some(b"\r\n\r\n") => Ok(WarcRecord::new(header, bytes, start..start + length as usize)),
            _ => Err(format!("the record is not {length} bytes long, as its header says")),
        }
    }

    /// Everything behind the record's own header.
    pub fn block(&self) -> &[u8] {
        &self.bytes[self.block.clone()]
    }

    /// Status line and header lines of an HTTP message, with the empty line; nothing in records of other kinds.
    pub fn head(&self) -> &[u8] {
        &self.block()[..self.head_bytes()]
    }

    /// What is behind the head as it lies in the file.
    pub fn payload(&self) -> &[u8] {
        &self.block()[self.head_bytes()..]
    }

    /// The payload without chunks; its content encoding remains.
    pub fn body(&self) -> Cow<'_, [u8]> {
        let dechunked = is_chunked(self.head()).then(|| dechunk(self.payload())).flatten();
        dechunked.map_or(Cow::Borrowed(self.payload()), Cow::Owned)
    }

    /// Why the body is not complete, where it is not.
    pub fn truncated(&self) -> Option<Truncated> {
        self.header.get("WARC-Truncated").map(Truncated::parse)
    }

    /// Compares the record with its digests. A payload digest may have been made with the chunks or without: writers
    /// differ in that, and both are accepted. Digests of another kind than SHA-1 are not checked, and neither are those
    /// of revisit records: what they digest is in another record.
    pub fn verify(&self) -> DigestVerdict {
        let stored = |name| self.header.get(name).filter(|text| Digest::is_sha1(text));
        let (block, payload) = (stored("WARC-Block-Digest"), stored("WARC-Payload-Digest"));
        if (block.is_none() && payload.is_none()) || self.header.kind() == WarcKind::Revisit {
            return DigestVerdict::Unchecked;
        }
        let (found_block, found_payload) = Digest::of_block_and_payload(self.head(), self.payload());
        let wrong = |name: &str, stored: &str, found: Digest| DigestVerdict::Wrong {
            what: format!("{name} digest {found}, expected {stored}"),
        };
        if let Some(block) = block.filter(|block| Digest::parse(block) != Some(found_block)) {
            return wrong("block", block, found_block);
        }
        match payload.filter(|payload| Digest::parse(payload) != Some(found_payload)) {
            Some(payload) if Digest::parse(payload) != Some(Digest::of(&self.body())) => {
                wrong("payload", payload, found_payload)
            }
            _ => DigestVerdict::Right,
        }
    }

    fn head_bytes(&self) -> usize {
        let http = matches!(self.header.kind(), WarcKind::Response | WarcKind::Request | WarcKind::Revisit);
        let block = self.block();
        if http && is_http(block) { head_bytes(block) } else { 0 }
    }
}

/// Whether a block begins with a status line or a request line.
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
    fn head_and_body_are_told_apart() {
        let response = record("response", b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody");
        assert_eq!(
            (response.head(), response.payload()),
            (&b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n"[..], &b"body"[..])
        );
        assert_eq!(record("request", b"GET / HTTP/1.1\r\n\r\n").payload(), b"");
        assert_eq!(record("resource", b"HTTP/1.1 is a protocol").payload(), b"HTTP/1.1 is a protocol");
        assert_eq!(
            record("response", b"no protocol at all\n\nbody").payload(),
            b"no protocol at all\n\nbody"
        );
    }

    #[test]
    fn digests_are_checked_with_chunks_and_without() {
        let block = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nWiki\r\n0\r\n\r\n";
        let mut response = record("response", block);
        assert_eq!(response.body(), b"Wiki".as_slice());
        assert_eq!(response.verify(), DigestVerdict::Unchecked);
        for payload in [&b"Wiki"[..], b"4\r\nWiki\r\n0\r\n\r\n"] {
            response.header.fields.truncate(1);
            response.header.push("WARC-Payload-Digest", Digest::of(payload).to_string());
            assert_eq!(response.verify(), DigestVerdict::Right);
        }
        response.header.push("WARC-Block-Digest", Digest::of(b"other").to_string());
        assert!(matches!(response.verify(), DigestVerdict::Wrong { .. }));
    }
}

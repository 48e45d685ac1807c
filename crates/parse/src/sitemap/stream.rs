//! Text stream of a sitemap: decompressed, decoded to UTF-8, and limited.

use std::io::{self, BufRead, Chain, Cursor, Read, Take};

use encoding_rs::Decoder;
use flate2::bufread::MultiGzDecoder;

use super::{MAX_SITEMAP_NODE_BYTES, SitemapLimit, SitemapLimits};
use crate::charset::xml_encoding;

/// Size of a chunk; also the part that is searched for an encoding declaration.
const CHUNK_BYTES: u64 = 16 * 1024;

/// The source with its first two bytes prepended again, limited to one byte more than the maximum.
type Raw<R> = Take<Chain<Cursor<Vec<u8>>, R>>;

/// The source, decompressed if necessary.
enum Expanded<R> {
    Plain(Raw<R>),
    Gzip(Box<MultiGzDecoder<Raw<R>>>),
}

/// Text for reading through [`BufRead`]; always whole characters. An error is a reached limit if `limit_reached` returns
/// one, otherwise an error of the source.
pub(super) struct Stream<R> {
    source: Expanded<R>,
    limits: SitemapLimits,
    /// Set with the first chunk.
    decoder: Option<Decoder>,
    bytes: Vec<u8>,
    text: Vec<u8>,
    /// Number of bytes of `text` that have been read.
    read: usize,
    at_end: bool,
    /// Error to return after `text` has been read: text before an error is used.
    fault: Option<io::Error>,
    limit_reached: Option<SitemapLimit>,
    expanded_bytes: u64,
    position_bytes: u64,
    /// Text bytes since the last call of `start_node`.
    node_bytes: usize,
}

impl<R: BufRead> Stream<R> {
    pub(super) fn open(mut source: R, limits: SitemapLimits) -> io::Result<Stream<R>> {
        let mut first = Vec::with_capacity(2);
        source.by_ref().take(2).read_to_end(&mut first)?;
        let gzip = first == [0x1F, 0x8B];
        let raw = Cursor::new(first).chain(source).take(limits.read_bytes.saturating_add(1));
        let source =
            if gzip { Expanded::Gzip(Box::new(MultiGzDecoder::new(raw))) } else { Expanded::Plain(raw) };
        Ok(Stream {
            source,
            limits,
            decoder: None,
            bytes: Vec::new(),
            text: Vec::new(),
            read: 0,
            at_end: false,
            fault: None,
            limit_reached: None,
            expanded_bytes: 0,
            position_bytes: 0,
            node_bytes: 0,
        })
    }

    /// Skips white space and returns the next byte.
    pub(super) fn first_byte(&mut self) -> io::Result<Option<u8>> {
        loop {
            self.start_node();
            let text = self.fill_buf()?;
            let blank = text.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let first = text.get(blank).copied();
            let at_end = text.is_empty();
            self.consume(blank);
            if first.is_some() || at_end {
                return Ok(first);
            }
        }
    }

    /// Starts a new markup or text node, which has its own limit.
    pub(super) fn start_node(&mut self) {
        self.node_bytes = 0;
    }

    /// The limit that caused an error.
    pub(super) fn limit_reached(&self) -> Option<SitemapLimit> {
        self.limit_reached
    }

    /// Number of text bytes that have been read.
    pub(super) fn position_bytes(&self) -> u64 {
        self.position_bytes
    }

    fn stop(&mut self, limit: SitemapLimit) {
        self.limit_reached = Some(limit);
        self.fault = Some(io::Error::other("a limit was reached"));
    }

    /// Reads and decodes the next chunk.
    fn refill(&mut self) {
        self.bytes.clear();
        let outcome = match &mut self.source {
            Expanded::Plain(source) => source.take(CHUNK_BYTES).read_to_end(&mut self.bytes),
            Expanded::Gzip(source) => source.take(CHUNK_BYTES).read_to_end(&mut self.bytes),
        };
        self.at_end = outcome.as_ref().is_ok_and(|&count| (count as u64) < CHUNK_BYTES);
        self.fault = outcome.err();
        let room = self.limits.expanded_bytes - self.expanded_bytes;
        if self.bytes.len() as u64 > room {
            self.bytes.truncate(room as usize);
            self.stop(SitemapLimit::ExpandedBytes);
        }
        self.expanded_bytes += self.bytes.len() as u64;
        let unread = match &self.source {
            Expanded::Plain(raw) => raw.limit(),
            Expanded::Gzip(source) => source.get_ref().limit(),
        };
        if unread == 0 {
            self.stop(SitemapLimit::ReadBytes);
        }
        self.decode();
    }

    fn decode(&mut self) {
        let mut bytes = self.bytes.as_slice();
        let decoder = self.decoder.get_or_insert_with(|| {
            let (encoding, mark_bytes) = xml_encoding(bytes);
            bytes = &bytes[mark_bytes..];
            encoding.new_decoder_without_bom_handling()
        });
        let last = self.at_end || self.fault.is_some();
        // Sufficient for the worst case, so that one call decodes the whole chunk.
        let max_bytes = decoder.max_utf8_buffer_length(bytes.len()).unwrap_or(0);
        self.text.resize(max_bytes, 0);
        let (_, _, written, _) = decoder.decode_to_utf8(bytes, &mut self.text, last);
        self.text.truncate(written);
        self.read = 0;
    }
}

impl<R: BufRead> BufRead for Stream<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.node_bytes > MAX_SITEMAP_NODE_BYTES {
            self.stop(SitemapLimit::NodeBytes);
            self.read = self.text.len();
        }
        while self.read == self.text.len() {
            if let Some(fault) = &self.fault {
                return Err(fault.kind().into());
            }
            if self.at_end {
                return Ok(&[]);
            }
            self.refill();
        }
        Ok(&self.text[self.read..])
    }

    fn consume(&mut self, count: usize) {
        self.read += count;
        self.node_bytes += count;
        self.position_bytes += count as u64;
    }
}

impl<R: BufRead> Read for Stream<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(out)?;
        self.consume(count);
        Ok(count)
    }
}

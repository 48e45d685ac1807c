//! Block of the link log: encoding of the links of consecutive pages.
//!
//! A link file is a sequence of frames (see [`crate::file::frames`]), each with a block of pages in ascending order; pages
//! ascend from block to block too. The payload of a frame:
//!
//! ```text
//! u8       1, the version of this format
//! u32      length of the rest before compression
//! zstd     varints: number of pages, number of links; then seven streams, each as its length (varint) and its bytes:
//!            sources     for each page a varint: its id less that of the page before
//!            counts      for each page a varint: the number of its links
//!            targets     for each link a zigzag varint: its target less that of the link before in the same page; for
//!                        the first link of a page, less that of the first link of the page before that has links
//!            kinds       for each link a byte
//!            contexts    for each link a varint
//!            anchors     for each link a varint: the length of its text
//!            positions   for each link a zigzag varint: its position less that of the link before in the same page
//! ```
//!
//! Pages of one site repeat their menus: with targets as differences, the same menu is the same bytes on every page, and
//! zstd writes it once.

use model::PageId;

use super::link::{Link, MAX_LINKS_PER_PAGE};
use crate::file::varint;
use crate::file::varint::{unzigzag, zigzag};

const VERSION: u8 = 1;
const HEADER_BYTES: usize = 5;
const ZSTD_LEVEL: i32 = 3;
const STREAMS: usize = 7;
/// Number of links or pages at which a block is complete.
pub(super) const BLOCK_ITEMS: usize = 1 << 16;
/// Upper bound of the size of a decoded block; bounds the allocation for corrupt input.
const MAX_DECODED_BYTES: usize = (MAX_LINKS_PER_PAGE + BLOCK_ITEMS) * 24;

/// Pages and their links.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// Pages, each with the end of its links in `links`.
    pages: Vec<(PageId, usize)>,
    links: Vec<Link>,
}

impl Block {
    pub(super) fn push(&mut self, source: PageId, links: &[Link]) {
        self.links.extend_from_slice(links);
        self.pages.push((source, self.links.len()));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.pages.len() >= BLOCK_ITEMS || self.links.len() >= BLOCK_ITEMS
    }

    pub(super) fn clear(&mut self) {
        self.pages.clear();
        self.links.clear();
    }

    /// Page at an index.
    pub(super) fn source(&self, index: usize) -> Option<PageId> {
        self.pages.get(index).map(|(source, _)| *source)
    }

    /// Links of the page at an index.
    pub(super) fn links(&self, index: usize) -> &[Link] {
        let end = |index: usize| self.pages.get(index).map_or(0, |(_, end)| *end);
        let start = index.checked_sub(1).map_or(0, end);
        self.links.get(start..end(index)).unwrap_or_default()
    }

    /// Encodes the payload of a frame.
    pub(super) fn encode(&self) -> std::io::Result<Vec<u8>> {
        let streams = self.streams();
        let mut body = Vec::new();
        varint::put(&mut body, self.pages.len() as u64);
        varint::put(&mut body, self.links.len() as u64);
        for stream in streams {
            varint::put(&mut body, stream.len() as u64);
            body.extend_from_slice(&stream);
        }
        let compressed = zstd::bulk::compress(&body, ZSTD_LEVEL)?;
        let mut payload = Vec::with_capacity(HEADER_BYTES + compressed.len());
        payload.push(VERSION);
        payload.extend_from_slice(&(body.len() as u32).to_le_bytes());
        payload.extend_from_slice(&compressed);
        Ok(payload)
    }

    fn streams(&self) -> [Vec<u8>; STREAMS] {
        let mut streams = [const { Vec::new() }; STREAMS];
        let [sources, counts, targets, kinds, contexts, anchors, positions] = &mut streams;
        let mut first_target = 0;
        let mut last_source = 0;
        for (index, (source, _)) in self.pages.iter().enumerate() {
            let links = self.links(index);
            varint::put(sources, u64::from(source.0 - last_source));
            varint::put(counts, links.len() as u64);
            last_source = source.0;
            let (mut last_target, mut last_position) = (first_target, 0);
            for link in links {
                varint::put(targets, zigzag(i64::from(link.target.0) - last_target));
                kinds.push(link.kind);
                varint::put(contexts, u64::from(link.context));
                varint::put(anchors, u64::from(link.anchor_chars));
                varint::put(positions, zigzag(i64::from(link.position) - last_position));
                (last_target, last_position) = (i64::from(link.target.0), i64::from(link.position));
            }
            first_target = links.first().map_or(first_target, |link| i64::from(link.target.0));
        }
        streams
    }

    /// Replaces the content by the decoded payload of a frame; the error is the cause.
    pub(super) fn decode(&mut self, payload: &[u8]) -> Result<(), &'static str> {
        let (header, compressed) = payload.split_first_chunk::<HEADER_BYTES>().ok_or("truncated block")?;
        let [version, l0, l1, l2, l3] = *header;
        if version != VERSION {
            return Err("unknown version of a block");
        }
        let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        if length > MAX_DECODED_BYTES {
            return Err("a block exceeds the maximum size");
        }
        let body =
            zstd::bulk::decompress(compressed, length).map_err(|_| "a block cannot be decompressed")?;
        self.decode_body(&body).ok_or("the streams of a block are inconsistent")
    }

    fn decode_body(&mut self, mut body: &[u8]) -> Option<()> {
        self.clear();
        let pages = usize::try_from(varint::take(&mut body)?).ok()?;
        let links = usize::try_from(varint::take(&mut body)?).ok()?;
        let mut streams = [&[][..]; STREAMS];
        for stream in &mut streams {
            let length = usize::try_from(varint::take(&mut body)?).ok()?;
            (*stream, body) = body.split_at_checked(length)?;
        }
        let [mut sources, mut counts, mut targets, kinds, mut contexts, mut anchors, mut positions] = streams;
        // Each page and link takes at least one byte: bounds the loops for corrupt input.
        if pages > sources.len() || links != kinds.len() {
            return None;
        }
        let mut kinds = kinds.iter();
        let (mut source, mut first_target) = (0u32, 0i64);
        for _ in 0..pages {
            source = source.checked_add(varint::take(&mut sources)?.try_into().ok()?)?;
            let count = usize::try_from(varint::take(&mut counts)?).ok()?;
            let start = self.links.len();
            let (mut target, mut position) = (first_target, 0i64);
            for _ in 0..count {
                target = target.checked_add(unzigzag(varint::take(&mut targets)?))?;
                position = position.checked_add(unzigzag(varint::take(&mut positions)?))?;
                self.links.push(Link {
                    target: PageId(target.try_into().ok()?),
                    kind: *kinds.next()?,
                    context: varint::take(&mut contexts)?.try_into().ok()?,
                    anchor_chars: varint::take(&mut anchors)?.try_into().ok()?,
                    position: position.try_into().ok()?,
                });
            }
            first_target = self.links.get(start).map_or(first_target, |link| i64::from(link.target.0));
            self.pages.push((PageId(source), self.links.len()));
        }
        (self.links.len() == links).then_some(())
    }
}

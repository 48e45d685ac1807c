//! Segments: blobs in which a worker sends parsed pages and events to the coordinator.
//!
//! ```text
//! WARC records, concatenated: any WARC tool can read the pages of a segment
//! items in their order, as postcard, compressed with zstd
//! XXH3 of everything before, lengths of both parts, version
//! ```
//!
//! A segment is input from another machine. Its items are verified against the batch that was leased before they leave this
//! module.

pub(crate) mod entry;
mod page_reader;

use std::io::Read;

use xxhash_rust::xxh3::xxh3_64;

use crate::item::gathered_page::GatheredPage;
use crate::item::harvest_event::HarvestEvent;
use crate::item::harvest_item::HarvestItem;
use crate::transport::segment::entry::{SegmentEntry, SegmentPage};
use crate::transport::segment::page_reader::{MAX_RECORDS_BYTES, PageReader};
use crate::verification::leased_batch::{LeasedBatch, VerificationContext, VerifiedItems};

/// Maximum length of a segment.
pub const MAX_SEGMENT_BYTES: u64 = 256 << 20;
/// Maximum length of the decompressed items: a segment is sent when it has 8 MiB, and one sitemap can add its maximum size.
const MAX_ITEMS_BYTES: u64 = 128 << 20;
const VERSION: u32 = 5;
const FOOTER_BYTES: usize = 8 + 8 + 8 + 4;

/// Error of reading a segment.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SegmentError {
    /// The checksum or the structure is wrong.
    #[error("the segment is corrupt")]
    Corrupt,
    /// Version of another program.
    #[error("the segment has version {0}; this program reads version {VERSION}")]
    OtherVersion(u32),
}

/// Writer of segments.
#[derive(Debug, Default)]
pub struct SegmentWriter {
    records: Vec<u8>,
    items: Vec<u8>,
    count: usize,
}

impl SegmentWriter {
    /// Whether there is no item.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Current length before compression.
    pub fn bytes(&self) -> usize {
        self.records.len() + self.items.len()
    }

    /// Appends the page with this index in the batch.
    pub fn push_page(&mut self, index: u32, page: &GatheredPage) {
        let line = SegmentPage::of(index, page, self.records.len() as u64);
        if let Some(Ok(record)) = &page.record {
            self.records.extend_from_slice(record.members());
        }
        self.push(&SegmentEntry::Page(Box::new(line)));
    }

    /// Appends an event.
    pub fn push_event(&mut self, event: &HarvestEvent) {
        // Events have optional fields that are skipped, which needs a self-describing format.
        if let Ok(event) = serde_json::to_string(event) {
            self.push(&SegmentEntry::Event(&event));
        }
    }

    fn push(&mut self, line: &SegmentEntry<'_>) {
        self.count += 1;
        let items = std::mem::take(&mut self.items);
        // Writing these types to a vector cannot fail.
        self.items = postcard::to_extend(line, items).unwrap_or_default();
    }

    /// Returns the segment; the writer is empty afterwards.
    pub fn finish(&mut self) -> std::io::Result<Vec<u8>> {
        let (records, items) = (std::mem::take(&mut self.records), std::mem::take(&mut self.items));
        self.count = 0;
        encode_segment(records, &items)
    }
}

/// Builds a segment of records and encoded items.
fn encode_segment(records: Vec<u8>, items: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut segment = records;
    let records_bytes = segment.len() as u64;
    let items = zstd::bulk::compress(items, 1)?;
    segment.extend_from_slice(&items);
    let hash = xxh3_64(&segment);
    for number in [hash, records_bytes, items.len() as u64] {
        segment.extend_from_slice(&number.to_le_bytes());
    }
    segment.extend_from_slice(&VERSION.to_le_bytes());
    Ok(segment)
}

/// Reads a segment of a worker and verifies its items against the batch that was leased. A page whose item is dropped is
/// returned, so that it can be selected again. After an error nothing of the batch has changed.
pub fn read_segment(
    segment: &[u8],
    batch: &mut LeasedBatch,
    context: &VerificationContext<'_>,
) -> Result<VerifiedItems, SegmentError> {
    let (records, items) = decode_segment(segment)?;
    check_structure(records, &items)?;
    let mut remaining = items.as_slice();
    let bounds = batch.time_bounds(context);
    let mut reader = PageReader { records, context, bounds, records_bytes_left: MAX_RECORDS_BYTES };
    let mut out = VerifiedItems::default();
    while let Some(entry) = next_entry(&mut remaining)? {
        match entry {
            UnverifiedEntry::Event(event) => batch.accept_event(event, context, &mut out),
            UnverifiedEntry::Page(page) => read_page(&page, batch, &mut reader, &mut out),
        }
    }
    Ok(out)
}

/// Checks the structure of all items, without keeping them in memory, and that no two pages share a record: each could
/// decompress it again.
fn check_structure(records: &[u8], mut items: &[u8]) -> Result<(), SegmentError> {
    let mut referenced_bytes = 0_u64;
    while let Some(entry) = next_entry(&mut items)? {
        if let UnverifiedEntry::Page(page) = entry {
            let length = page.record.map_or(0, |(_, length)| length);
            referenced_bytes = referenced_bytes.saturating_add(length);
        }
    }
    if referenced_bytes > records.len() as u64 { Err(SegmentError::Corrupt) } else { Ok(()) }
}

fn read_page(
    page: &SegmentPage<'_>,
    batch: &mut LeasedBatch,
    reader: &mut PageReader<'_>,
    out: &mut VerifiedItems,
) {
    let leased = match batch.open_page(page.page) {
        Ok(leased) => leased,
        Err(cause) => return out.rejections.add(format_args!("page with index {}", page.page), cause),
    };
    match reader.read(page, leased) {
        Ok(gathered) => {
            batch.deliver(page.page);
            out.items.push(HarvestItem::Gathered(Box::new(gathered)));
        }
        Err(cause) => {
            out.rejections.add(leased.url, cause);
            out.items.extend(batch.return_page(page.page));
        }
    }
}

/// Item that is not verified yet.
enum UnverifiedEntry<'a> {
    Page(Box<SegmentPage<'a>>),
    Event(HarvestEvent),
}

/// Decodes the next of the remaining items; `None` at their end.
fn next_entry<'a>(remaining: &mut &'a [u8]) -> Result<Option<UnverifiedEntry<'a>>, SegmentError> {
    if remaining.is_empty() {
        return Ok(None);
    }
    let (entry, after): (SegmentEntry<'a>, &'a [u8]) =
        postcard::take_from_bytes(remaining).map_err(|_| SegmentError::Corrupt)?;
    *remaining = after;
    Ok(Some(match entry {
        SegmentEntry::Event(event) => {
            UnverifiedEntry::Event(serde_json::from_str(event).map_err(|_| SegmentError::Corrupt)?)
        }
        SegmentEntry::Page(page) => UnverifiedEntry::Page(page),
    }))
}

/// Splits a segment into records and decompressed items.
fn decode_segment(segment: &[u8]) -> Result<(&[u8], Vec<u8>), SegmentError> {
    let (content, footer) = split_footer(segment)?;
    let number = |index: usize| Some(u64::from_le_bytes(*footer.get(index..)?.first_chunk()?));
    let (Some(hash), Some(records_bytes), Some(items_bytes)) = (number(0), number(8), number(16)) else {
        return Err(SegmentError::Corrupt);
    };
    if xxh3_64(content) != hash || records_bytes.checked_add(items_bytes) != Some(content.len() as u64) {
        return Err(SegmentError::Corrupt);
    }
    // Not longer than the content, so that the conversion is lossless.
    let (records, items) = content.split_at(records_bytes as usize);
    let items = unpack(items).map_err(|_| SegmentError::Corrupt)?;
    if items.len() as u64 > MAX_ITEMS_BYTES {
        return Err(SegmentError::Corrupt);
    }
    Ok((records, items))
}

fn unpack(compressed: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut items = Vec::new();
    zstd::stream::read::Decoder::with_buffer(compressed)?
        .take(MAX_ITEMS_BYTES + 1)
        .read_to_end(&mut items)?;
    Ok(items)
}

fn split_footer(segment: &[u8]) -> Result<(&[u8], &[u8]), SegmentError> {
    let at = segment.len().checked_sub(FOOTER_BYTES).ok_or(SegmentError::Corrupt)?;
    let (content, footer) = segment.split_at(at);
    let version = footer.last_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    if version == VERSION { Ok((content, footer)) } else { Err(SegmentError::OtherVersion(version)) }
}

#[cfg(test)]
mod tests;

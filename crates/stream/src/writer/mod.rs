//! Serialisation of the pages of a stream, page by page, in one of the output formats.
//!
//! The same query of the same commit always yields the same bytes, so that a client can resume at a byte offset.

mod json;

use std::collections::VecDeque;

use model::PageId;
use store::{Cancellation, PageRef, PageStream, PageStreamItem, Result, Snapshot, StoredPage};
use warc::{RecordEncoder, WarcType};

use crate::page_view::{PageView, PageViewer};
use crate::query::output::{OutputColumn, OutputFormat, OutputOptions};
use crate::query::stream_query::StreamQuery;

/// URLs looked up at once: single lookups take ten times as long.
const URLS_PER_LOOKUP: usize = 1 << 12;

/// Compression level of the records created here (WET, WAT).
const COMPRESSION_LEVEL: u8 = 1;

/// Writer of the pages of a query in an output format.
pub struct StreamWriter<'s> {
    snapshot: &'s Snapshot,
    stream: PageStream<'s>,
    output: OutputOptions,
    viewer: PageViewer,
    encoder: RecordEncoder,
    urls: VecDeque<(PageRef, String)>,
    error_rows: bool,
}

/// Result of one step of a [`StreamWriter`].
#[derive(Debug)]
pub enum StreamItem {
    /// The page was written.
    Page(PageRef),
    /// The record of the page is corrupt; nothing was written.
    Corrupt(PageRef, store::Error),
}

impl<'s> StreamWriter<'s> {
    /// Opens a stream.
    pub fn open(snapshot: &'s Snapshot, query: &StreamQuery) -> Result<StreamWriter<'s>> {
        StreamWriter::open_cancellable(snapshot, query, &Cancellation::default())
    }

    /// Opens a stream that ends with an error at the next page after it was cancelled.
    pub(crate) fn open_cancellable(
        snapshot: &'s Snapshot,
        query: &StreamQuery,
        cancellation: &Cancellation,
    ) -> Result<StreamWriter<'s>> {
        let columns = match query.output.format {
            OutputFormat::Jsonl => query.output.columns.clone(),
            OutputFormat::Simplified => vec![OutputColumn::Simplified],
            OutputFormat::Warc | OutputFormat::Urls => Vec::new(),
            OutputFormat::Text | OutputFormat::Wet | OutputFormat::Wat => {
                vec![OutputColumn::Text, OutputColumn::Links]
            }
        };
        Ok(StreamWriter {
            snapshot,
            stream: PageStream::open_cancellable(snapshot, &query.request, cancellation)?,
            output: query.output.clone(),
            viewer: PageViewer::new(&columns),
            encoder: RecordEncoder::new(COMPRESSION_LEVEL),
            urls: VecDeque::new(),
            error_rows: false,
        })
    }

    /// Number of pages that were considered so far, whether they matched or not.
    pub(crate) fn pages_examined(&self) -> u64 {
        self.stream.pages_examined()
    }

    /// Also writes a row for each corrupt page, in formats with rows: for clients that get no other report.
    #[must_use]
    pub fn with_error_rows(self) -> StreamWriter<'s> {
        StreamWriter { error_rows: true, ..self }
    }

    /// Appends the next page to `out`; `None` at the end of the stream.
    pub fn write_next(&mut self, out: &mut Vec<u8>) -> Result<Option<StreamItem>> {
        let given = self.next_item(out)?;
        if let (Some(StreamItem::Corrupt(page, error)), true, OutputFormat::Jsonl) =
            (&given, self.error_rows, self.output.format)
        {
            json::write_error(page, self.stream.cursor_after(page), error, out);
        }
        Ok(given)
    }

    fn next_item(&mut self, out: &mut Vec<u8>) -> Result<Option<StreamItem>> {
        match self.output.format {
            OutputFormat::Warc => {
                let next = self.stream.next_member(self.output.verify)?;
                Ok(next.map(|streamed| write_item(streamed, |member| out.extend_from_slice(member))))
            }
            OutputFormat::Urls => self.next_url(out),
            _ => {
                let Some(streamed) = self.stream.next_page()? else { return Ok(None) };
                match streamed {
                    PageStreamItem::Page(page, stored) => {
                        self.write(page, &stored, out)?;
                        Ok(Some(StreamItem::Page(page)))
                    }
                    PageStreamItem::Corrupt(page, error) => Ok(Some(StreamItem::Corrupt(page, error))),
                }
            }
        }
    }

    /// Skips the first `bytes` of the output; the rest of the page in which they end is appended to `out`.
    pub fn skip_bytes(&mut self, bytes: u64, out: &mut Vec<u8>) -> Result<()> {
        let mut remaining = bytes;
        // The length of records that are forwarded as they are is known without reading them.
        while self.output.format == OutputFormat::Warc && !self.output.verify {
            let Some(length) = self.stream.peek_record_bytes()?.filter(|length| *length <= remaining) else {
                break;
            };
            self.stream.next_ref()?;
            remaining -= length;
        }
        while remaining > 0 {
            let before = out.len();
            if self.write_next(out)?.is_none() {
                break;
            }
            let page = (out.len() - before) as u64;
            let skipped = page.min(remaining);
            out.drain(before..before + skipped as usize);
            remaining -= skipped;
        }
        Ok(())
    }

    /// Length of the output, where it is known without reading the pages.
    pub fn total_bytes(&self) -> Result<Option<u64>> {
        if self.output.format != OutputFormat::Warc || self.output.verify {
            return Ok(None);
        }
        self.stream.member_bytes()
    }

    fn write(&mut self, page: PageRef, stored: &StoredPage, out: &mut Vec<u8>) -> Result<()> {
        let view = self.viewer.view(page, self.stream.cursor_after(&page), stored);
        match self.output.format {
            OutputFormat::Jsonl => json::write_row(&view, &self.output.columns, out),
            OutputFormat::Simplified => {
                write_text(&view, view.document.map(|document| document.simplified_html.as_str()), out);
            }
            OutputFormat::Wet => {
                let Some(document) = view.document.filter(|document| !document.text.is_empty()) else {
                    return Ok(());
                };
                let text = document.text.as_bytes();
                out.extend(self.encoder.conversion_record(
                    WarcType::Conversion,
                    stored.record(),
                    "text/plain",
                    text,
                )?);
            }
            OutputFormat::Wat => {
                let payload = json::wat_payload(&view);
                out.extend(self.encoder.conversion_record(
                    WarcType::Metadata,
                    stored.record(),
                    "application/json",
                    &payload,
                )?);
            }
            _ => write_text(&view, view.document.map(|document| document.text.as_str()), out),
        }
        Ok(())
    }

    fn next_url(&mut self, out: &mut Vec<u8>) -> Result<Option<StreamItem>> {
        if self.urls.is_empty()
            && let Some(damaged) = self.look_up_urls()?
        {
            return Ok(Some(damaged));
        }
        Ok(self.urls.pop_front().map(|(page, url)| {
            out.extend_from_slice(url.as_bytes());
            out.push(b'\n');
            StreamItem::Page(page)
        }))
    }

    /// Looks up the next URLs; stops at a corrupt record and returns it.
    fn look_up_urls(&mut self) -> Result<Option<StreamItem>> {
        let mut pages: Vec<PageRef> = Vec::new();
        let mut damaged = None;
        while pages.len() < URLS_PER_LOOKUP && damaged.is_none() {
            match self.stream.next_ref()? {
                Some(PageStreamItem::Page(page, ())) => pages.push(page),
                Some(PageStreamItem::Corrupt(page, error)) => {
                    damaged = Some(StreamItem::Corrupt(page, error));
                }
                None => break,
            }
        }
        let mut ids: Vec<PageId> = pages.iter().map(|page| page.page).collect();
        ids.sort_unstable();
        let urls = self.snapshot.urls.urls(&ids)?;
        self.urls.extend(pages.into_iter().map(|page| {
            let found = ids.binary_search(&page.page).ok().and_then(|index| urls[index].clone());
            (page, found.unwrap_or_default())
        }));
        Ok(damaged)
    }
}

fn write_item<T>(streamed: PageStreamItem<T>, write: impl FnOnce(T)) -> StreamItem {
    match streamed {
        PageStreamItem::Page(page, content) => {
            write(content);
            StreamItem::Page(page)
        }
        PageStreamItem::Corrupt(page, error) => StreamItem::Corrupt(page, error),
    }
}

fn write_text(view: &PageView<'_>, text: Option<&str>, out: &mut Vec<u8>) {
    // A form feed ends the page.
    let text = text.unwrap_or_default().replace('\u{c}', " ");
    for part in [view.stored.url(), "\n\n", text.trim_end(), "\n\u{c}\n"] {
        out.extend_from_slice(part.as_bytes());
    }
}

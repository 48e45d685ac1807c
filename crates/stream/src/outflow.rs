//! How do the pages of a stream become bytes? Page by page, in one of the formats.
//!
//! The same wish to the same commit gives the same bytes, so that whoever has the first so many of them can ask for the rest.

mod base64;
mod json;

use std::collections::VecDeque;

use model::PageId;
use store::{PagePlace, PageStream, Preparer, Result, Snapshot, StoredPage, Streamed, WarcKind};

use crate::ask::Ask;
use crate::form::{Column, Form, Format};
use crate::page_view::{PageView, Viewer};

/// URLs are looked up so many at a time: one by one would take ten times as long.
const URLS_AT_ONCE: usize = 1 << 12;

/// Compression of records that are made here.
const LEVEL: u8 = 1;

/// The pages that somebody asked for, as bytes.
pub struct Outflow<'s> {
    snapshot: &'s Snapshot,
    stream: PageStream<'s>,
    form: Form,
    viewer: Viewer,
    preparer: Preparer,
    urls: VecDeque<(PagePlace, String)>,
    reports: bool,
}

/// What one step of an outflow gave.
#[derive(Debug)]
pub enum Given {
    /// The bytes of a page.
    Page(PagePlace),
    /// Nothing: the record of this page is damaged.
    Damaged(PagePlace, store::Error),
}

impl<'s> Outflow<'s> {
    /// Begins a stream.
    pub fn open(snapshot: &'s Snapshot, ask: &Ask) -> Result<Outflow<'s>> {
        let columns = match ask.form.format {
            Format::Jsonl => ask.form.columns.clone(),
            Format::Kept => vec![Column::Kept],
            Format::Warc | Format::Urls => Vec::new(),
            Format::Text | Format::Wet | Format::Wat => vec![Column::Text, Column::Links],
        };
        Ok(Outflow {
            snapshot,
            stream: PageStream::open(snapshot, &ask.request)?,
            form: ask.form.clone(),
            viewer: Viewer::new(&columns),
            preparer: Preparer::new(LEVEL),
            urls: VecDeque::new(),
            reports: false,
        })
    }

    /// With a row about each page that is damaged, in formats that have rows: for who cannot be told otherwise.
    #[must_use]
    pub fn with_reports(self) -> Outflow<'s> {
        Outflow { reports: true, ..self }
    }

    /// Appends the next page to `out`; nothing is left if nothing is given.
    pub fn next_into(&mut self, out: &mut Vec<u8>) -> Result<Option<Given>> {
        let given = self.next_given(out)?;
        if let (Some(Given::Damaged(place, error)), true, Format::Jsonl) =
            (&given, self.reports, self.form.format)
        {
            json::write_error(place, self.stream.position_behind(place), error, out);
        }
        Ok(given)
    }

    fn next_given(&mut self, out: &mut Vec<u8>) -> Result<Option<Given>> {
        match self.form.format {
            Format::Warc => {
                let next = self.stream.next_member(self.form.verify)?;
                Ok(next.map(|streamed| given(streamed, |member| out.extend_from_slice(member))))
            }
            Format::Urls => self.next_url(out),
            _ => {
                let Some(streamed) = self.stream.next_page()? else { return Ok(None) };
                match streamed {
                    Streamed::Page(place, stored) => {
                        self.write(place, &stored, out)?;
                        Ok(Some(Given::Page(place)))
                    }
                    Streamed::Damaged(place, error) => Ok(Some(Given::Damaged(place, error))),
                }
            }
        }
    }

    /// Leaves out the first so many bytes of what would come; the rest of the page that they end in is put into `out`.
    pub fn skip(&mut self, bytes: u64, out: &mut Vec<u8>) -> Result<()> {
        let mut left = bytes;
        // The length of what is forwarded unread is known without reading.
        while self.form.format == Format::Warc && !self.form.verify {
            let Some(length) = self.stream.peek_length()?.filter(|length| *length <= left) else { break };
            self.stream.next_place()?;
            left -= length;
        }
        while left > 0 {
            let before = out.len();
            if self.next_into(out)?.is_none() {
                break;
            }
            let page = (out.len() - before) as u64;
            let gone = page.min(left);
            out.drain(before..before + gone as usize);
            left -= gone;
        }
        Ok(())
    }

    /// How many bytes will come, where that is known without reading them.
    pub fn total_bytes(&self) -> Result<Option<u64>> {
        if self.form.format != Format::Warc || self.form.verify {
            return Ok(None);
        }
        self.stream.member_bytes()
    }

    fn write(&mut self, place: PagePlace, stored: &StoredPage, out: &mut Vec<u8>) -> Result<()> {
        let view = self.viewer.view(place, self.stream.position_behind(&place), stored);
        match self.form.format {
            Format::Jsonl => json::write_row(&view, &self.form.columns, out),
            Format::Kept => write_text(&view, view.document.map(|document| document.kept.as_str()), out),
            Format::Wet => {
                let Some(document) = view.document.filter(|document| !document.text.is_empty()) else {
                    return Ok(());
                };
                let text = document.text.as_bytes();
                out.extend(self.preparer.derived(
                    WarcKind::Conversion,
                    stored.record(),
                    "text/plain",
                    text,
                )?);
            }
            Format::Wat => {
                let about = json::about(&view);
                out.extend(self.preparer.derived(
                    WarcKind::Metadata,
                    stored.record(),
                    "application/json",
                    &about,
                )?);
            }
            _ => write_text(&view, view.document.map(|document| document.text.as_str()), out),
        }
        Ok(())
    }

    fn next_url(&mut self, out: &mut Vec<u8>) -> Result<Option<Given>> {
        if self.urls.is_empty()
            && let Some(damaged) = self.look_up_urls()?
        {
            return Ok(Some(damaged));
        }
        Ok(self.urls.pop_front().map(|(place, url)| {
            out.extend_from_slice(url.as_bytes());
            out.push(b'\n');
            Given::Page(place)
        }))
    }

    /// Looks up the next URLs; ends early, and tells, where a record is damaged.
    fn look_up_urls(&mut self) -> Result<Option<Given>> {
        let mut places: Vec<PagePlace> = Vec::new();
        let mut damaged = None;
        while places.len() < URLS_AT_ONCE && damaged.is_none() {
            match self.stream.next_place()? {
                Some(Streamed::Page(place, ())) => places.push(place),
                Some(Streamed::Damaged(place, error)) => damaged = Some(Given::Damaged(place, error)),
                None => break,
            }
        }
        let mut ids: Vec<PageId> = places.iter().map(|place| place.page).collect();
        ids.sort_unstable();
        let urls = self.snapshot.urls.urls(&ids)?;
        self.urls.extend(places.into_iter().map(|place| {
            let found = ids.binary_search(&place.page).ok().and_then(|at| urls[at].clone());
            (place, found.unwrap_or_default())
        }));
        Ok(damaged)
    }
}

fn given<T>(streamed: Streamed<T>, write: impl FnOnce(T)) -> Given {
    match streamed {
        Streamed::Page(place, content) => {
            write(content);
            Given::Page(place)
        }
        Streamed::Damaged(place, error) => Given::Damaged(place, error),
    }
}

fn write_text(view: &PageView<'_>, text: Option<&str>, out: &mut Vec<u8>) {
    // What could be taken for the end of the page.
    let text = text.unwrap_or_default().replace('\u{c}', " ");
    for part in [view.stored.url(), "\n\n", text.trim_end(), "\n\u{c}\n"] {
        out.extend_from_slice(part.as_bytes());
    }
}

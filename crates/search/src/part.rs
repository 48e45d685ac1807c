//! How is one part of the pages brought up to date? Some thousand pages at a time are judged, then read by the crew.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use model::PageId;
use store::{PageRecord, Snapshot};
use tantivy::IndexWriter;
use tantivy::query::doc_predicate_query::{DocPredicateQuery, FunctionPredicate};
use tantivy::{DocId, SegmentReader};

use crate::anchors::Anchors;
use crate::crew::{Crew, Outcome};
use crate::entry::Entry;
use crate::error::Result;
use crate::index::{IndexSummary, Indexed};
use crate::plan::{Step, Task, Work, duplicates, hash_of_anchors, judge};
use crate::seen::{PART_PAGES, Seen, State};

/// So many pages are judged at a time: what of them is in memory stays small, and what is read of them is in the order of the
/// files.
const JUDGED_PAGES: usize = 1 << 14;

/// Brings one part up to date; tells whether a row has changed. The anchors come with whether they are others than those that
/// are in the index.
pub(crate) fn index_part(
    crew: &Crew<'_>,
    writer: &IndexWriter<Entry>,
    part: usize,
    rows: &mut Vec<Seen>,
    anchors: (Option<&Anchors>, bool),
    summary: &mut IndexSummary,
    told: &mut dyn FnMut(Indexed),
) -> Result<bool> {
    let known = crew.snapshot().pages.pages();
    let first = (part * PART_PAGES) as u32;
    let pages = (known - first).min(PART_PAGES as u32) as usize;
    rows.resize(pages, Seen::default());
    let mut is_changed = false;
    for from in (0..pages).step_by(JUDGED_PAGES) {
        let rows = &mut rows[from..pages.min(from + JUDGED_PAGES)];
        let start = first + from as u32;
        let mut progress = Indexed { looked_at: start.into(), known: known.into(), ..Indexed::default() };
        let range = start..start + rows.len() as u32;
        let judged = Judged::new(crew.snapshot(), range.clone(), rows, anchors, summary)?;
        is_changed |= !judged.is_empty();
        delete(writer, judged.to_delete())?;
        let mut unwanted = Vec::new();
        let Judged { gone, tasks, .. } = judged;
        for (page, is_indexed) in gone {
            rows[(page.0 - start) as usize] = Seen::default();
            summary.removed += u64::from(is_indexed);
        }
        crew.read(tasks, writer, &mut |outcome| {
            note(&outcome, &mut rows[(outcome.page.0 - start) as usize], &mut unwanted, summary);
            (progress.read, progress.read_bytes) = (summary.read, summary.read_bytes);
            told(progress);
        })?;
        delete(writer, unwanted)?;
        rows.iter().filter_map(|row| row.state.left_out()).for_each(|why| summary.left_out.add(why));
        progress.looked_at = range.end.into();
        told(Indexed { read: summary.read, read_bytes: summary.read_bytes, ..progress });
    }
    Ok(is_changed)
}

/// Notes what came of reading a page.
fn note(outcome: &Outcome, row: &mut Seen, unwanted: &mut Vec<PageId>, summary: &mut IndexSummary) {
    *row = Seen { state: outcome.state, ..outcome.seen };
    let is_indexed = outcome.state == State::Indexed;
    match (outcome.work, is_indexed) {
        (Work::Add, true) => summary.added += 1,
        (Work::Change, true) => summary.changed += 1,
        (Work::Change, false) => summary.removed += 1,
        (Work::LookAtHead, false) => {
            unwanted.push(outcome.page);
            summary.removed += 1;
        }
        (Work::Add, false) | (Work::LookAtHead, true) => {}
    }
    summary.read += 1;
    summary.read_bytes += outcome.bytes;
}

/// Some pages, and what has to be done about them.
struct Judged {
    /// Those that something is noted of and that must not be in the index, with whether they are.
    gone: Vec<(PageId, bool)>,
    /// Those to read.
    tasks: Vec<Task>,
}

impl Judged {
    fn new(
        snapshot: &Snapshot,
        range: Range<u32>,
        rows: &[Seen],
        (anchors, anchors_changed): (Option<&Anchors>, bool),
        summary: &mut IndexSummary,
    ) -> Result<Judged> {
        let ids: Vec<PageId> = range.clone().map(PageId).collect();
        let records = snapshot.pages.get_many(&ids)?;
        let pages: Vec<(PageId, PageRecord)> = ids.into_iter().zip(records).collect();
        let is_duplicate = duplicates(&pages, &originals(snapshot, &pages)?);
        let words_of_all = match anchors.filter(|_| anchors_changed) {
            Some(anchors) => anchors.of(range.clone())?,
            None => HashMap::new(),
        };
        let mut gone = Vec::new();
        let mut tasks = Vec::new();
        for (((page, record), last), is_duplicate) in pages.into_iter().zip(rows).zip(is_duplicate) {
            let words = words_of_all.get(&page.0).map_or("", String::as_str);
            match judge(&record, *last, anchors_changed.then_some(words), is_duplicate) {
                Step::Keep => {}
                Step::Remove(why) => {
                    why.into_iter().for_each(|why| summary.left_out.add(why));
                    if *last != Seen::default() {
                        gone.push((page, last.state == State::Indexed));
                    }
                }
                Step::Read(work, location, seen) => tasks.push(Task {
                    page,
                    record,
                    location,
                    url: String::new(),
                    anchors: String::new(),
                    work,
                    seen,
                }),
            }
        }
        let mut judged = Judged { gone, tasks };
        judged.add_words(snapshot, anchors, anchors_changed.then_some(words_of_all), range)?;
        Ok(judged)
    }

    /// Gives each task the page's URL and what others call it, and puts them into the order of the files.
    fn add_words(
        &mut self,
        snapshot: &Snapshot,
        anchors: Option<&Anchors>,
        known: Option<HashMap<u32, String>>,
        range: Range<u32>,
    ) -> Result<()> {
        let pages: Vec<PageId> = self.tasks.iter().map(|task| task.page).collect();
        if pages.is_empty() {
            return Ok(());
        }
        let mut words = match (known, anchors) {
            (Some(known), _) => known,
            (None, Some(anchors)) => anchors.of(range)?,
            (None, None) => HashMap::new(),
        };
        for (task, url) in self.tasks.iter_mut().zip(snapshot.urls.urls(&pages)?) {
            task.url = url.unwrap_or_default();
            task.anchors = words.remove(&task.page.0).unwrap_or_default();
            task.seen.anchors = hash_of_anchors(&task.anchors);
        }
        self.tasks.sort_unstable_by_key(|task| (task.location.file, task.location.offset));
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.gone.is_empty() && self.tasks.is_empty()
    }

    /// What is in the index and has to go before anything is added.
    fn to_delete(&self) -> Vec<PageId> {
        let changed = self.tasks.iter().filter(|task| task.work == Work::Change).map(|task| task.page);
        let gone = self.gone.iter().filter(|(_, is_indexed)| *is_indexed).map(|(page, _)| *page);
        gone.chain(changed).collect()
    }
}

/// The pages whose content others have.
fn originals(snapshot: &Snapshot, pages: &[(PageId, PageRecord)]) -> Result<HashMap<PageId, PageRecord>> {
    let originals: HashSet<PageId> = pages.iter().filter_map(|(_, record)| record.duplicate_of).collect();
    let mut originals: Vec<PageId> = originals.into_iter().collect();
    originals.sort_unstable();
    let records = snapshot.pages.get_many(&originals)?;
    Ok(originals.into_iter().zip(records).collect())
}

/// Takes pages out of the index. They are looked for in the column of ids: terms for the ids would cost more than that.
fn delete(writer: &IndexWriter<Entry>, mut pages: Vec<PageId>) -> Result<()> {
    pages.sort_unstable();
    if pages.is_empty() {
        return Ok(());
    }
    let pages: Arc<[PageId]> = pages.into();
    let predicate = FunctionPredicate::from(move |segment: &SegmentReader| {
        let ids = segment.fast_fields().u64("page_id")?;
        let pages = Arc::clone(&pages);
        Ok(move |doc: DocId| {
            ids.first(doc).is_some_and(|id| pages.binary_search_by_key(&id, |page| page.0.into()).is_ok())
        })
    });
    writer.delete_query(Box::new(DocPredicateQuery::from(predicate)))?;
    Ok(())
}

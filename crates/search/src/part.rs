//! How is one part of the pages brought up to date? Some thousand pages at a time are judged, then read by the crew.

use std::collections::{HashMap, HashSet};
use std::ops::{ControlFlow, Range};

use model::PageId;
use store::{PageRecord, PageSet, Snapshot};
use tantivy::IndexWriter;

use crate::anchors::Anchors;
use crate::crew::{Crew, Outcome};
use crate::deletions::Deletions;
use crate::entry::Entry;
use crate::error::Result;
use crate::index::{DamagedPage, IndexSummary, Indexed};
use crate::plan::{Step, Task, Work, hash_of_anchors, judge, originals_of};
use crate::seen::{PART_PAGES, Seen, State, earlier};

/// So many pages are judged at a time: what of them is in memory stays small, and what is read of them is in the order of the
/// files.
const JUDGED_PAGES: usize = 1 << 14;

/// So many pages that cannot be read are told by name.
const MOST_NAMED: usize = 20;

/// Which pages are looked at. Whether a copy is left out depends on what came of its original, which may be any page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pass {
    /// Those with content of their own.
    Originals,
    /// Those with the content of another.
    Copies,
}

/// What the parts of one pass have in common.
pub(crate) struct PartWork<'w> {
    pub(crate) pass: Pass,
    pub(crate) crew: &'w Crew<'w>,
    pub(crate) writer: &'w IndexWriter<Entry>,
    pub(crate) deletions: &'w Deletions,
    pub(crate) anchors: Option<&'w Anchors>,
    /// Whether the anchors are others than those that are in the index.
    pub(crate) anchors_changed: bool,
    /// Pages that ask not to be found, and thus stand for no other.
    pub(crate) unwanted: &'w PageSet,
}

/// What came of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PartOutcome {
    /// Whether a row is another now.
    pub(crate) is_changed: bool,
    /// Whether there are copies, for the pass that looks at these.
    pub(crate) has_copies: bool,
    /// Whether somebody broke it off; the rows say how far it came.
    pub(crate) is_stopped: bool,
    /// When the first page asks not to be found any more; 0 if none does.
    pub(crate) until_s: u32,
}

/// Brings one part up to date.
pub(crate) fn index_part(
    work: &PartWork<'_>,
    part: usize,
    rows: &mut Vec<Seen>,
    summary: &mut IndexSummary,
    told: &mut dyn FnMut(Indexed) -> ControlFlow<()>,
) -> Result<PartOutcome> {
    let known = work.crew.snapshot().pages.pages();
    let first = (part * PART_PAGES) as u32;
    let pages = (known - first).min(PART_PAGES as u32) as usize;
    rows.resize(pages, Seen::default());
    let mut outcome = PartOutcome::default();
    for from in (0..pages).step_by(JUDGED_PAGES) {
        let rows = &mut rows[from..pages.min(from + JUDGED_PAGES)];
        let start = first + from as u32;
        let looked_at = if work.pass == Pass::Copies { known } else { start };
        let mut progress = Indexed { looked_at: looked_at.into(), known: known.into(), ..Indexed::default() };
        let end = start + rows.len() as u32;
        let judged = Judged::new(work, start..end, rows, summary)?;
        outcome.is_changed |= !judged.gone.is_empty() || !judged.tasks.is_empty();
        outcome.has_copies |= judged.is_looked_at.contains(&false);
        for page in judged.gone {
            let row = std::mem::take(&mut rows[(page.0 - start) as usize]);
            if row.state == State::Indexed {
                work.deletions.add(page);
                summary.removed += 1;
            }
        }
        let flow = work.crew.read(judged.tasks, work.writer, &mut |outcome| {
            let row = &mut rows[(outcome.page.0 - start) as usize];
            note(outcome, row, work.deletions, summary);
            (progress.read, progress.read_bytes) = (summary.read, summary.read_bytes);
            told(progress)
        })?;
        for row in rows.iter().zip(judged.is_looked_at).filter_map(|(row, is)| is.then_some(row)) {
            row.state.left_out().into_iter().for_each(|why| summary.left_out.add(why));
            if row.state == State::Indexed {
                outcome.until_s = earlier(outcome.until_s, row.until_s);
            }
        }
        progress.looked_at = progress.looked_at.max(end.into());
        (progress.read, progress.read_bytes) = (summary.read, summary.read_bytes);
        outcome.is_stopped = told(progress).is_break() || flow.is_break();
        if outcome.is_stopped {
            break;
        }
    }
    Ok(outcome)
}

/// Notes what came of reading a page.
fn note(outcome: Outcome, row: &mut Seen, deletions: &Deletions, summary: &mut IndexSummary) {
    *row = outcome.seen;
    let is_indexed = outcome.seen.state == State::Indexed;
    match (outcome.work, is_indexed) {
        (Work::Add, true) => summary.added += 1,
        (Work::Change, true) => summary.changed += 1,
        (Work::Change | Work::LookAtHead, false) => summary.removed += 1,
        (Work::Add, false) | (Work::LookAtHead, true) => {}
    }
    if outcome.work == Work::Change || (outcome.work == Work::LookAtHead && !is_indexed) {
        deletions.add(outcome.page);
    }
    if let Some((url, why)) = outcome.damage.filter(|_| summary.damaged.len() < MOST_NAMED) {
        summary.damaged.push(DamagedPage { url, why });
    }
    summary.read += 1;
    summary.read_bytes += outcome.bytes;
}

/// Some pages, and what has to be done about them.
struct Judged {
    /// Which of them belong to the pass.
    is_looked_at: Vec<bool>,
    /// Those that something is noted of and that must not be in the index.
    gone: Vec<PageId>,
    /// Those to read.
    tasks: Vec<Task>,
}

impl Judged {
    fn new(
        work: &PartWork<'_>,
        range: Range<u32>,
        rows: &[Seen],
        summary: &mut IndexSummary,
    ) -> Result<Judged> {
        let snapshot = work.crew.snapshot();
        let ids: Vec<PageId> = range.clone().map(PageId).collect();
        let records = snapshot.pages.get_many(&ids)?;
        let pages: Vec<(PageId, PageRecord)> = ids.into_iter().zip(records).collect();
        let originals = originals_of(&pages, &originals(snapshot, &pages)?);
        let is_copies = work.pass == Pass::Copies;
        let stands_alone = |original: &Option<PageId>| match original {
            Some(original) => is_copies && work.unwanted.has(*original),
            None => !is_copies,
        };
        let needs_words = work.anchors_changed && originals.iter().any(stands_alone);
        let words_of_all = match work.anchors.filter(|_| needs_words) {
            Some(anchors) => anchors.of(range.clone())?,
            None => HashMap::new(),
        };
        let is_looked_at = originals.iter().map(|original| original.is_some() == is_copies).collect();
        let mut judged = Judged { is_looked_at, gone: Vec::new(), tasks: Vec::new() };
        for (((page, record), last), original) in pages.into_iter().zip(rows).zip(originals) {
            if original.is_some() != is_copies {
                continue;
            }
            let words = words_of_all.get(&page.0).map_or("", String::as_str);
            let words = work.anchors_changed.then_some(words);
            match judge(&record, *last, words, !stands_alone(&original), work.crew.now_s()) {
                Step::Keep => {}
                Step::Remove(why) => {
                    why.into_iter().for_each(|why| summary.left_out.add(why));
                    if *last != Seen::default() {
                        judged.gone.push(page);
                    }
                }
                Step::Read(work, location, seen) => {
                    let (url, anchors) = (String::new(), String::new());
                    judged.tasks.push(Task { page, record, location, url, anchors, work, seen });
                }
            }
        }
        judged.add_words(snapshot, work.anchors, work.anchors_changed.then_some(words_of_all), range)?;
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
}

/// The pages whose content others have.
fn originals(snapshot: &Snapshot, pages: &[(PageId, PageRecord)]) -> Result<HashMap<PageId, PageRecord>> {
    let originals: HashSet<PageId> = pages.iter().filter_map(|(_, record)| record.duplicate_of).collect();
    let mut originals: Vec<PageId> = originals.into_iter().collect();
    originals.sort_unstable();
    let records = snapshot.pages.get_many(&originals)?;
    Ok(originals.into_iter().zip(records).collect())
}

/// Takes in the pages of a part that ask not to be found.
pub(crate) fn add_unwanted(unwanted: &mut PageSet, part: usize, rows: &[Seen]) {
    for (page, _) in (part * PART_PAGES..).zip(rows).filter(|(_, row)| row.state == State::Noindex) {
        unwanted.set(PageId(page as u32), true);
    }
}

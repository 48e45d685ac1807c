//! Update of one range of pages: plans some thousand pages at a time, then lets the reader pool read them.

use std::collections::{HashMap, HashSet};
use std::ops::{ControlFlow, Range};

use model::PageId;
use store::{PageRecord, PageSet, Snapshot};
use tantivy::IndexWriter;

use crate::error::Result;
use crate::indexing::anchor_reader::AnchorReader;
use crate::indexing::deletions::Deletions;
use crate::indexing::index_document::IndexDocument;
use crate::indexing::page_state::{IndexedState, PageStatus, RANGE_PAGES, earliest_expiry};
use crate::indexing::plan::{PlanStep, ReadKind, ReadTask, hash_anchors, originals_of, plan_page};
use crate::indexing::reader_pool::{ReadOutcome, ReaderPool};
use crate::indexing::summary::{DamagedPage, IndexProgress, IndexSummary};

/// Number of pages planned at a time: few enough for memory, enough to read them in the order of the files.
const PLANNED_PAGES: usize = 1 << 14;

/// Maximum number of damaged pages reported by URL.
const MAX_NAMED_DAMAGED: usize = 20;

/// Pass of a run. Whether a duplicate is excluded depends on its original, which may be in any range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pass {
    /// Pages with content of their own.
    Originals,
    /// Pages with the content of another page.
    Duplicates,
}

/// Context of the range updates of one pass.
pub(crate) struct RangeUpdate<'w> {
    pub(crate) pass: Pass,
    pub(crate) pool: &'w ReaderPool<'w>,
    pub(crate) writer: &'w IndexWriter<IndexDocument>,
    pub(crate) deletions: &'w Deletions,
    pub(crate) anchors: Option<&'w AnchorReader>,
    /// Whether the anchor texts differ from the indexed ones.
    pub(crate) anchors_changed: bool,
    /// Pages excluded by noindex; they cannot represent their duplicates.
    pub(crate) noindex: &'w PageSet,
}

/// Outcome of a range update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RangeOutcome {
    /// Whether a page state has changed.
    pub(crate) is_changed: bool,
    /// Whether the range has pages for the pass over duplicates.
    pub(crate) has_duplicates: bool,
    /// Whether the callback stopped the run; the page states show what was done.
    pub(crate) is_stopped: bool,
    /// Earliest `unavailable_after` of the indexed pages, in Unix seconds; 0 for none.
    pub(crate) next_expiry_s: u32,
}

/// Updates one range.
pub(crate) fn update_range(
    update: &RangeUpdate<'_>,
    range: usize,
    rows: &mut Vec<IndexedState>,
    summary: &mut IndexSummary,
    on_progress: &mut dyn FnMut(IndexProgress) -> ControlFlow<()>,
) -> Result<RangeOutcome> {
    let known = update.pool.snapshot().page_state.pages();
    let first = (range * RANGE_PAGES) as u32;
    let pages = (known - first).min(RANGE_PAGES as u32) as usize;
    rows.resize(pages, IndexedState::default());
    let mut outcome = RangeOutcome::default();
    for from in (0..pages).step_by(PLANNED_PAGES) {
        let rows = &mut rows[from..pages.min(from + PLANNED_PAGES)];
        let start = first + from as u32;
        let pages_scanned = if update.pass == Pass::Duplicates { known } else { start };
        let mut progress = IndexProgress {
            pages_scanned: pages_scanned.into(),
            pages_known: known.into(),
            ..IndexProgress::default()
        };
        let end = start + rows.len() as u32;
        let plan = RangePlan::new(update, start..end, rows, summary)?;
        outcome.is_changed |= !plan.removed.is_empty() || !plan.tasks.is_empty();
        outcome.has_duplicates |= plan.in_pass.contains(&false);
        for page in plan.removed {
            let row = std::mem::take(&mut rows[(page.0 - start) as usize]);
            if row.status == PageStatus::Indexed {
                update.deletions.add(page);
                summary.removed += 1;
            }
        }
        let flow = update.pool.read(plan.tasks, update.writer, &mut |outcome| {
            let row = &mut rows[(outcome.page.0 - start) as usize];
            record_outcome(outcome, row, update.deletions, summary);
            (progress.pages_read, progress.read_bytes) = (summary.pages_read, summary.read_bytes);
            on_progress(progress)
        })?;
        for row in rows.iter().zip(plan.in_pass).filter_map(|(row, is)| is.then_some(row)) {
            row.status.exclusion().into_iter().for_each(|reason| summary.excluded.add(reason));
            if row.status == PageStatus::Indexed {
                outcome.next_expiry_s = earliest_expiry(outcome.next_expiry_s, row.expires_s);
            }
        }
        progress.pages_scanned = progress.pages_scanned.max(end.into());
        (progress.pages_read, progress.read_bytes) = (summary.pages_read, summary.read_bytes);
        outcome.is_stopped = on_progress(progress).is_break() || flow.is_break();
        if outcome.is_stopped {
            break;
        }
    }
    Ok(outcome)
}

/// Records the outcome of reading a page.
fn record_outcome(
    outcome: ReadOutcome,
    row: &mut IndexedState,
    deletions: &Deletions,
    summary: &mut IndexSummary,
) {
    *row = outcome.state;
    let is_indexed = outcome.state.status == PageStatus::Indexed;
    match (outcome.kind, is_indexed) {
        (ReadKind::Add, true) => summary.added += 1,
        (ReadKind::Update, true) => summary.updated += 1,
        (ReadKind::Update | ReadKind::CheckHeaders, false) => summary.removed += 1,
        (ReadKind::Add, false) | (ReadKind::CheckHeaders, true) => {}
    }
    // The index has no update: a changed page was added as a new document, and the old one is deleted.
    if outcome.kind == ReadKind::Update || (outcome.kind == ReadKind::CheckHeaders && !is_indexed) {
        deletions.add(outcome.page);
    }
    if let Some((url, error)) = outcome.damage.filter(|_| summary.damaged.len() < MAX_NAMED_DAMAGED) {
        summary.damaged.push(DamagedPage { url, error });
    }
    summary.pages_read += 1;
    summary.read_bytes += outcome.body_bytes;
}

/// Plan for some consecutive pages.
struct RangePlan {
    /// Whether each page belongs to the pass.
    in_pass: Vec<bool>,
    /// Pages with a state that must not be in the index.
    removed: Vec<PageId>,
    /// Pages to read.
    tasks: Vec<ReadTask>,
}

impl RangePlan {
    fn new(
        update: &RangeUpdate<'_>,
        range: Range<u32>,
        rows: &[IndexedState],
        summary: &mut IndexSummary,
    ) -> Result<RangePlan> {
        let snapshot = update.pool.snapshot();
        let ids: Vec<PageId> = range.clone().map(PageId).collect();
        let records = snapshot.page_state.get_many(&ids)?;
        let pages: Vec<(PageId, PageRecord)> = ids.into_iter().zip(records).collect();
        let originals = originals_of(&pages, &read_originals(snapshot, &pages)?);
        let is_duplicate_pass = update.pass == Pass::Duplicates;
        let is_represented_by_itself = |original: &Option<PageId>| match original {
            Some(original) => is_duplicate_pass && update.noindex.contains(*original),
            None => !is_duplicate_pass,
        };
        let needs_anchors = update.anchors_changed && originals.iter().any(is_represented_by_itself);
        let all_anchors = match update.anchors.filter(|_| needs_anchors) {
            Some(anchors) => anchors.read(range.clone())?,
            None => HashMap::new(),
        };
        let in_pass = originals.iter().map(|original| original.is_some() == is_duplicate_pass).collect();
        let mut plan = RangePlan { in_pass, removed: Vec::new(), tasks: Vec::new() };
        for (((page, record), last), original) in pages.into_iter().zip(rows).zip(originals) {
            if original.is_some() != is_duplicate_pass {
                continue;
            }
            let page_anchors = all_anchors.get(&page.0).map_or("", String::as_str);
            let page_anchors = update.anchors_changed.then_some(page_anchors);
            match plan_page(
                &record,
                *last,
                page_anchors,
                !is_represented_by_itself(&original),
                update.pool.now_s(),
            ) {
                PlanStep::Keep => {}
                PlanStep::Remove(reason) => {
                    reason.into_iter().for_each(|reason| summary.excluded.add(reason));
                    if *last != IndexedState::default() {
                        plan.removed.push(page);
                    }
                }
                PlanStep::Read(kind, location, state) => {
                    let (url, anchors) = (String::new(), String::new());
                    plan.tasks.push(ReadTask { page, record, location, url, anchors, kind, state });
                }
            }
        }
        plan.add_urls_and_anchors(
            snapshot,
            update.anchors,
            update.anchors_changed.then_some(all_anchors),
            range,
        )?;
        Ok(plan)
    }

    /// Adds URL and anchor texts to the tasks, and sorts them by file and offset.
    fn add_urls_and_anchors(
        &mut self,
        snapshot: &Snapshot,
        anchors: Option<&AnchorReader>,
        known: Option<HashMap<u32, String>>,
        range: Range<u32>,
    ) -> Result<()> {
        let pages: Vec<PageId> = self.tasks.iter().map(|task| task.page).collect();
        if pages.is_empty() {
            return Ok(());
        }
        let mut page_anchors = match (known, anchors) {
            (Some(known), _) => known,
            (None, Some(anchors)) => anchors.read(range)?,
            (None, None) => HashMap::new(),
        };
        for (task, url) in self.tasks.iter_mut().zip(snapshot.urls.urls(&pages)?) {
            task.url = url.unwrap_or_default();
            task.anchors = page_anchors.remove(&task.page.0).unwrap_or_default();
            task.state.anchor_hash = hash_anchors(&task.anchors);
        }
        self.tasks.sort_unstable_by_key(|task| (task.location.file, task.location.offset));
        Ok(())
    }
}

/// Reads the records of the originals of duplicates.
fn read_originals(
    snapshot: &Snapshot,
    pages: &[(PageId, PageRecord)],
) -> Result<HashMap<PageId, PageRecord>> {
    let originals: HashSet<PageId> = pages.iter().filter_map(|(_, record)| record.duplicate_of).collect();
    let mut originals: Vec<PageId> = originals.into_iter().collect();
    originals.sort_unstable();
    let records = snapshot.page_state.get_many(&originals)?;
    Ok(originals.into_iter().zip(records).collect())
}

/// Adds the pages of a range that are excluded by noindex.
pub(crate) fn add_noindex(noindex: &mut PageSet, range: usize, rows: &[IndexedState]) {
    for (page, _) in (range * RANGE_PAGES..).zip(rows).filter(|(_, row)| row.status == PageStatus::Noindex) {
        noindex.set(PageId(page as u32), true);
    }
}

//! One run of the indexer over all ranges of pages, with regular commits.
//!
//! Originals come first, duplicates afterwards: by then it is known which originals are excluded by noindex and cannot represent
//! their duplicates.

use std::ops::ControlFlow;

use store::{PageSet, Snapshot};
use tantivy::{Index, IndexWriter};

use crate::error::{Error, Result};
use crate::index::commit_payload::CommitPayload;
use crate::index::index_dir::IndexDir;
use crate::index::schema::Fields;
use crate::index::vocabulary::Vocabulary;
use crate::indexing::anchor_reader::AnchorReader;
use crate::indexing::deletions::Deletions;
use crate::indexing::index_document::IndexDocument;
use crate::indexing::page_range::{Pass, RangeOutcome, RangeUpdate, add_noindex, update_range};
use crate::indexing::page_state::{IndexedState, RANGE_PAGES, earliest_expiry, read_range, write_range};
use crate::indexing::reader_pool::ReaderPool;
use crate::indexing::segment_merge::{merge_segments, open_writer};
use crate::indexing::summary::{IndexProgress, IndexSettings, IndexSummary};
use crate::text::tokenizer::{PageTokenizer, TOKENIZER};
use crate::text::word_counts::WordCounts;

/// Number of pages read or removed between two commits.
const COMMIT_PAGES: u64 = 200_000;

/// Minimum memory limit; below it segments become too small.
const MIN_MEMORY_BYTES: usize = 64 << 20;

/// One run of the indexer.
pub(crate) struct IndexRun<'r> {
    pub(crate) snapshot: &'r Snapshot,
    pub(crate) settings: &'r IndexSettings,
    pub(crate) dir: &'r IndexDir,
    pub(crate) anchors: Option<AnchorReader>,
    /// Payload of the last commit.
    pub(crate) last_payload: CommitPayload,
    /// Time for comparisons with `unavailable_after`, in Unix seconds.
    pub(crate) now_s: i64,
    pub(crate) summary: IndexSummary,
    pub(crate) on_progress: &'r mut dyn FnMut(IndexProgress) -> ControlFlow<()>,
}

impl IndexRun<'_> {
    /// Updates the index, commits, and merges segments.
    pub(crate) fn run(&mut self, (index, fields): (Index, Fields)) -> Result<()> {
        let counts = WordCounts::new();
        index.tokenizers().register(TOKENIZER, PageTokenizer::with_counts(&counts));
        let memory_bytes = self.settings.memory_bytes.max(MIN_MEMORY_BYTES);
        let before = index.searchable_segment_ids()?;
        let mut writer = open_writer(&index, self.settings.threads, memory_bytes / 2)?;
        let pool = ReaderPool::new(self.snapshot, fields, self.settings, self.now_s, memory_bytes / 8);
        let mut next = self.next_payload();
        let next_expiry_s = self.update_all(&pool, &mut writer, &mut next, &counts)?;
        next.generation = self.snapshot.manifest.generation;
        next.anchors_generation = self.anchors.as_ref().map_or(0, AnchorReader::generation);
        (next.excluded, next.next_expiry_s) = (self.summary.excluded, next_expiry_s.into());
        self.commit(&mut writer, &mut next, &counts)?;
        merge_segments(&index, &mut writer, &before)?;
        writer.wait_merging_threads()?;
        Ok(())
    }

    /// Payload of the next commit. The fields about the whole collection keep their last values until the end of the run.
    fn next_payload(&self) -> CommitPayload {
        let mut next = self.last_payload.clone();
        next.range_commits.resize((self.snapshot.page_state.pages() as usize).div_ceil(RANGE_PAGES), 0);
        next.commit += 1;
        next
    }

    /// Updates all ranges. Returns the earliest `unavailable_after` of the indexed pages, or 0. If stopped, it commits before it
    /// returns [`Error::Stopped`].
    fn update_all(
        &mut self,
        pool: &ReaderPool<'_>,
        writer: &mut IndexWriter<IndexDocument>,
        next: &mut CommitPayload,
        counts: &WordCounts,
    ) -> Result<u32> {
        let known = self.snapshot.page_state.pages();
        let mut noindex = PageSet::new(known as usize, false);
        let mut has_duplicates = vec![true; next.range_commits.len()];
        let mut deletions = Deletions::begin(writer, known)?;
        let (mut since_commit, mut next_expiry_s) = (0, 0);
        for pass in [Pass::Originals, Pass::Duplicates] {
            for (range, has_duplicates) in has_duplicates.iter_mut().enumerate() {
                if pass == Pass::Duplicates && !*has_duplicates {
                    continue;
                }
                let anchors = self.anchors.as_ref();
                let anchors_changed =
                    self.last_payload.anchors_generation != anchors.map_or(0, AnchorReader::generation);
                let before = self.summary.pages_read + self.summary.removed;
                let mut rows = self.read_rows(range, next)?;
                let update = RangeUpdate {
                    pass,
                    pool,
                    writer,
                    deletions: &deletions,
                    anchors,
                    anchors_changed,
                    noindex: &noindex,
                };
                let outcome = update_range(&update, range, &mut rows, &mut self.summary, self.on_progress)?;
                add_noindex(&mut noindex, range, &rows);
                self.write_rows(range, &rows, &outcome, next)?;
                *has_duplicates = outcome.has_duplicates;
                next_expiry_s = earliest_expiry(next_expiry_s, outcome.next_expiry_s);
                since_commit += self.summary.pages_read + self.summary.removed - before;
                if outcome.is_stopped {
                    self.commit(writer, next, counts)?;
                    return Err(Error::Stopped);
                }
                if since_commit >= COMMIT_PAGES {
                    self.commit(writer, next, counts)?;
                    deletions = Deletions::begin(writer, known)?;
                    since_commit = 0;
                }
            }
        }
        Ok(next_expiry_s)
    }

    /// Reads the states of the pages of a range.
    fn read_rows(&self, range: usize, next: &CommitPayload) -> Result<Vec<IndexedState>> {
        match next.range_commits[range] {
            0 => Ok(Vec::new()),
            commit => read_range(&self.dir.pages_path(range, commit)),
        }
    }

    /// Writes the states of the pages of a range if they have changed.
    fn write_rows(
        &self,
        range: usize,
        rows: &[IndexedState],
        outcome: &RangeOutcome,
        next: &mut CommitPayload,
    ) -> Result<()> {
        if outcome.is_changed {
            write_range(&self.dir.pages_path(range, next.commit), rows)?;
            next.range_commits[range] = next.commit;
        }
        Ok(())
    }

    /// Commits all updates so far, and removes the files that only the previous commit used.
    fn commit(
        &mut self,
        writer: &mut IndexWriter<IndexDocument>,
        next: &mut CommitPayload,
        counts: &WordCounts,
    ) -> Result<()> {
        let mut prepared = writer.prepare_commit()?;
        // prepare_commit joins the indexing threads; their tokenizers have added all counts.
        let new = counts.take();
        if !new.is_empty() {
            let words = match next.words_commit {
                0 => Vocabulary::default(),
                commit => Vocabulary::read(&self.dir.words_path(commit))?,
            };
            words.merged(new).write(&self.dir.words_path(next.commit))?;
            next.words_commit = next.commit;
        }
        prepared.set_payload(&next.to_line());
        prepared.commit()?;
        self.last_payload = next.clone();
        self.dir.remove_unreferenced(&self.last_payload.files(self.dir))?;
        next.commit += 1;
        Ok(())
    }
}

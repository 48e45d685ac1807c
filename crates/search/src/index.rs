//! How does the index follow the collection? It reads the pages of a snapshot that are new or have changed since it last did,
//! and forgets those that are gone.
//!
//! Pages are gone through by id, some thousand at a time. What was seen of each tells what to do ([`crate::plan`]); those to be
//! read are read in the order of the files by several threads ([`crate::crew`]), while tantivy's threads make terms of them and
//! write. Every so often there is a commit, which names the files of what was seen: who dies in between loses no more than
//! that, and nothing is there twice.

use std::time::{Duration, Instant};

use parse::html::Options;
use store::Snapshot;
use tantivy::index::SegmentId;
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy, MergePolicy, NoMergePolicy};
use tantivy::{Index, IndexWriter};

use crate::anchors::Anchors;
use crate::crew::Crew;
use crate::entry::Entry;
use crate::error::{Error, Result};
use crate::left_out::LeftOutCounts;
use crate::note::Note;
use crate::part::index_part;
use crate::schema::{Fields, schema};
use crate::seen::{PART_PAGES, read_part, write_part};
use crate::text_folder::TextFolder;
use crate::text_index::open_index;
use crate::tokenizer::{PageTokenizer, TOKENIZER};
use crate::vocabulary::Vocabulary;
use crate::word_counts::WordCounts;

/// How the index is made.
#[derive(Debug, Clone)]
pub struct IndexSettings {
    /// Whether the places of words are kept, for phrases and distances.
    pub positions: bool,
    /// What indexing may take of memory.
    pub memory_bytes: usize,
    /// On so many cores.
    pub threads: usize,
    /// How much of a page is read, and the crawler's name: `noindex` may be said to it alone.
    pub options: Options,
}

/// How far indexing has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Indexed {
    /// Pages looked at, of all that are known.
    pub looked_at: u64,
    /// All pages that are known.
    pub known: u64,
    /// Pages read, since they are new or have changed.
    pub read: u64,
    /// Bytes of their bodies.
    pub read_bytes: u64,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct IndexSummary {
    /// The commit of the collection that the index follows now.
    pub generation: u64,
    /// Pages in the index.
    pub pages: u64,
    /// Pages that were not in the index before.
    pub added: u64,
    /// Pages that were, and say something else now.
    pub changed: u64,
    /// Pages that were, and are gone or do not want to be found any more.
    pub removed: u64,
    /// Pages that are not in it.
    pub left_out: LeftOutCounts,
    /// Pages read by this run.
    pub read: u64,
    /// Bytes of their bodies.
    pub read_bytes: u64,
    /// Bytes of the bodies of all pages in the index.
    pub body_bytes: u64,
    /// Bytes of the index.
    pub index_bytes: u64,
    /// How long it took.
    pub duration: Duration,
}

/// After so many pages there is a commit.
const COMMIT_PAGES: u64 = 200_000;

/// Less memory is of no use.
const LEAST_MEMORY_BYTES: usize = 64 << 20;

/// Tantivy's least for a thread, and some more.
const LEAST_WRITER_BYTES: usize = 16 << 20;

/// So many segments of one run are left as they are: to merge them takes longer than searches gain.
const MOST_NEW_SEGMENTS: usize = 4;

/// Larger segments are not merged: that would take longer than it gains.
const MOST_MERGED_PAGES: u32 = 5_000_000;

/// A segment of which more is deleted is written anew.
const MOST_DELETED: f32 = 0.2;

/// Brings the index of a collection up to date with a snapshot. It may run beside a crawl and beside searches; if nothing has
/// changed since the last time it takes no time.
pub fn index(
    snapshot: &Snapshot,
    settings: &IndexSettings,
    told: &mut dyn FnMut(Indexed),
) -> Result<IndexSummary> {
    let start = Instant::now();
    let folder = TextFolder::of(snapshot.folder());
    let _lock = folder.lock()?;
    let mut summary = match bring_up_to_date(snapshot, settings, &folder, told) {
        // Whatever is wrong with it: all of it follows from the collection.
        Err(Error::Unreadable { .. }) => {
            folder.discard_index()?;
            bring_up_to_date(snapshot, settings, &folder, told)?
        }
        summary => summary?,
    };
    measure(&folder, &mut summary)?;
    summary.duration = start.elapsed();
    Ok(summary)
}

fn bring_up_to_date(
    snapshot: &Snapshot,
    settings: &IndexSettings,
    folder: &TextFolder,
    told: &mut dyn FnMut(Indexed),
) -> Result<IndexSummary> {
    let (open, note) = match open_to_go_on(folder, settings)? {
        Some(open) => open,
        None => (create(folder, settings)?, Note::default()),
    };
    let anchors = Anchors::open(snapshot.folder())?;
    let is_same = note.generation == snapshot.manifest.generation
        && note.anchors == anchors.as_ref().map_or(0, Anchors::generation);
    let (left_out, generation) = (note.left_out, note.generation);
    if is_same {
        return Ok(IndexSummary { left_out, generation, ..IndexSummary::default() });
    }
    folder.sweep(&note.files(folder))?;
    let anchors = anchors.map(Anchors::find_groups).transpose()?;
    let summary = IndexSummary { generation: snapshot.manifest.generation, ..IndexSummary::default() };
    let mut run = Run { snapshot, settings, folder, anchors, note, summary, told };
    run.run(open)?;
    Ok(run.summary)
}

/// The index as it was left, with what its last commit says of itself; `None` if there is none, or another one is wanted.
fn open_to_go_on(folder: &TextFolder, settings: &IndexSettings) -> Result<Option<((Index, Fields), Note)>> {
    let Some((index, fields, positions)) = open_index(folder)? else { return Ok(None) };
    let payload = index.load_metas()?.payload;
    let note = payload.as_deref().and_then(Note::parse);
    let is_wanted = positions == settings.positions;
    Ok(note.filter(|_| is_wanted).map(|note| ((index, fields), note)))
}

fn create(folder: &TextFolder, settings: &IndexSettings) -> Result<(Index, Fields)> {
    folder.discard_index()?;
    let path = folder.index();
    std::fs::create_dir_all(&path).map_err(|source| Error::Io {
        operation: "create",
        path: path.clone(),
        source,
    })?;
    let (schema, fields) = schema(settings.positions);
    Ok((Index::create_in_dir(&path, schema)?, fields))
}

/// What there is in the end.
fn measure(folder: &TextFolder, summary: &mut IndexSummary) -> Result<()> {
    let Some((index, _, _)) = open_index(folder)? else { return Ok(()) };
    let searcher = index.reader()?.searcher();
    summary.pages = searcher.num_docs();
    for segment in searcher.segment_readers() {
        let sizes = segment.fast_fields().u64("size")?;
        summary.body_bytes += segment.doc_ids_alive().filter_map(|doc| sizes.first(doc)).sum::<u64>();
    }
    summary.index_bytes = folder.bytes()?;
    Ok(())
}

/// One run.
struct Run<'r> {
    snapshot: &'r Snapshot,
    settings: &'r IndexSettings,
    folder: &'r TextFolder,
    anchors: Option<Anchors>,
    note: Note,
    summary: IndexSummary,
    told: &'r mut dyn FnMut(Indexed),
}

impl Run<'_> {
    fn run(&mut self, (index, fields): (Index, Fields)) -> Result<()> {
        let counts = WordCounts::new();
        index.tokenizers().register(TOKENIZER, PageTokenizer::counting(&counts));
        let memory_bytes = self.settings.memory_bytes.max(LEAST_MEMORY_BYTES);
        let before = index.searchable_segment_ids()?;
        let mut writer = writer(&index, self.settings.threads, memory_bytes / 2)?;
        let crew = Crew::new(self.snapshot, fields, self.settings, memory_bytes / 8);
        let mut since_commit = 0;
        let known = self.snapshot.pages.pages();
        let mut next = Note { left_out: LeftOutCounts::default(), ..self.note.clone() };
        next.parts.resize((known as usize).div_ceil(PART_PAGES), 0);
        next.commit += 1;
        let old_anchors = self.note.anchors;
        let anchors_changed = old_anchors != self.anchors.as_ref().map_or(0, Anchors::generation);
        for part in 0..next.parts.len() {
            let mut rows = match next.parts[part] {
                0 => Vec::new(),
                commit => read_part(&self.folder.pages(part, commit))?,
            };
            let before = self.summary.read + self.summary.removed;
            let is_changed = index_part(
                &crew,
                &writer,
                part,
                &mut rows,
                (self.anchors.as_ref(), anchors_changed),
                &mut self.summary,
                self.told,
            )?;
            since_commit += self.summary.read + self.summary.removed - before;
            if is_changed {
                write_part(&self.folder.pages(part, next.commit), &rows)?;
                next.parts[part] = next.commit;
            }
            if since_commit >= COMMIT_PAGES && part + 1 < next.parts.len() {
                self.commit(&mut writer, &mut next, &counts)?;
                since_commit = 0;
            }
        }
        next.left_out = self.summary.left_out;
        next.generation = self.snapshot.manifest.generation;
        next.anchors = self.anchors.as_ref().map_or(0, Anchors::generation);
        self.commit(&mut writer, &mut next, &counts)?;
        merge_segments(&index, &mut writer, &before)?;
        writer.wait_merging_threads()?;
        Ok(())
    }

    /// Makes everything so far last, and gives the next commit its number.
    fn commit(
        &mut self,
        writer: &mut IndexWriter<Entry>,
        next: &mut Note,
        counts: &WordCounts,
    ) -> Result<()> {
        let mut prepared = writer.prepare_commit()?;
        // The threads that counted have ended with this.
        let new = counts.take();
        if !new.is_empty() {
            let words = match next.words {
                0 => Vocabulary::default(),
                commit => Vocabulary::read(&self.folder.words(commit))?,
            };
            words.with(new).write(&self.folder.words(next.commit))?;
            next.words = next.commit;
        }
        prepared.set_payload(&next.to_line());
        prepared.commit()?;
        self.note = next.clone();
        self.folder.sweep(&self.note.files(self.folder))?;
        next.commit += 1;
        Ok(())
    }
}

fn writer(index: &Index, threads: usize, memory_bytes: usize) -> Result<IndexWriter<Entry>> {
    let threads = threads.clamp(1, (memory_bytes / LEAST_WRITER_BYTES).max(1));
    // Tantivy's addresses are of 32 bits.
    let per_thread = (memory_bytes / threads).clamp(LEAST_WRITER_BYTES, 2 << 30);
    let options = IndexWriterOptions::builder()
        .num_worker_threads(threads)
        .memory_budget_per_thread(per_thread)
        .num_merge_threads(1)
        .build();
    let writer = index.writer_with_options(options)?;
    writer.set_merge_policy(Box::new(NoMergePolicy));
    // What a run left that was killed goes first: this one will give the same names to its own files.
    writer.garbage_collect_files().wait()?;
    Ok(writer)
}

/// Makes few segments of many: smaller, and searched faster. If a run wrote many they become one; others are merged when there are
/// several of about the same size, or when much of them is deleted.
fn merge_segments(index: &Index, writer: &mut IndexWriter<Entry>, before: &[SegmentId]) -> Result<()> {
    let segments = index.searchable_segment_metas()?;
    let new = segments.iter().filter(|segment| !before.contains(&segment.id()));
    let new: Vec<(SegmentId, u32)> = new.map(|segment| (segment.id(), segment.num_docs())).collect();
    // Files are kept for who knows a segment's description.
    drop(segments);
    if new.len() > MOST_NEW_SEGMENTS {
        merge_new(writer, &new)?;
    }
    let mut policy = LogMergePolicy::default();
    policy.set_max_docs_before_merge(MOST_MERGED_PAGES as usize);
    policy.set_del_docs_ratio_before_merge(MOST_DELETED);
    let candidates = policy.compute_merge_candidates(&index.searchable_segment_metas()?);
    for candidate in candidates {
        writer.merge(&candidate.0).wait()?;
    }
    writer.garbage_collect_files().wait()?;
    Ok(())
}

/// Merges segments one behind the other, as long as they do not become too large.
fn merge_new(writer: &mut IndexWriter<Entry>, segments: &[(SegmentId, u32)]) -> Result<()> {
    let mut rest = segments;
    while !rest.is_empty() {
        let mut pages = 0_u32;
        let fits = rest.iter().take_while(|(_, more)| {
            pages = pages.saturating_add(*more);
            pages <= MOST_MERGED_PAGES
        });
        let (group, behind) = rest.split_at(fits.count().max(1));
        let group: Vec<SegmentId> = group.iter().map(|(segment, _)| *segment).collect();
        if group.len() > 1 {
            writer.merge(&group).wait()?;
        }
        rest = behind;
    }
    Ok(())
}

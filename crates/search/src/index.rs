//! How does the index follow the collection? It reads the pages of a snapshot that are new or have changed since it last did,
//! and forgets those that are gone.
//!
//! Pages are gone through by id, some thousand at a time. What was seen of each tells what to do ([`crate::plan`]); those to be
//! read are read in the order of the files by several threads ([`crate::crew`]), while tantivy's threads make terms of them and
//! write. Every so often there is a commit, which names the files of what was seen: who dies in between loses no more than
//! that, and nothing is there twice.

use std::ops::ControlFlow;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parse::html::Options;
use store::Snapshot;
use tantivy::Index;

use crate::anchors::Anchors;
use crate::error::{Context, Error, Result};
use crate::left_out::LeftOutCounts;
use crate::note::Note;
use crate::run::Run;
use crate::schema::{Fields, schema};
use crate::text_folder::TextFolder;
use crate::text_index::open_index;

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
#[derive(Debug, Clone, PartialEq, Default)]
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
    /// The first of those that cannot be read.
    pub damaged: Vec<DamagedPage>,
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

/// A page that is not in the index since what is stored of it cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedPage {
    /// Its URL.
    pub url: String,
    /// What is wrong.
    pub why: String,
}

/// Brings the index of a collection up to date with a snapshot. It may run beside a crawl and beside searches; if nothing has
/// changed since the last time it takes no time. `told` hears of every page, and may break it off: what was done is committed,
/// the error is [`Error::Stopped`], and the next run goes on.
pub fn index(
    snapshot: &Snapshot,
    settings: &IndexSettings,
    told: &mut dyn FnMut(Indexed) -> ControlFlow<()>,
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
    told: &mut dyn FnMut(Indexed) -> ControlFlow<()>,
) -> Result<IndexSummary> {
    let (open, note) = match open_to_go_on(folder, settings)? {
        Some(open) => open,
        None => (create(folder, settings)?, Note::default()),
    };
    let anchors = Anchors::open(snapshot.folder())?;
    let now_s = now_s(snapshot);
    let (left_out, generation) = (note.left_out, note.generation);
    // What is damaged is looked at again, and somebody may have asked to be found until today.
    let is_same = generation == snapshot.manifest.generation
        && note.anchors == anchors.as_ref().map_or(0, Anchors::generation)
        && left_out.damaged == 0
        && (note.until_s == 0 || note.until_s as i64 > now_s);
    if is_same {
        return Ok(IndexSummary { left_out, generation, ..IndexSummary::default() });
    }
    folder.sweep(&note.files(folder))?;
    let anchors = anchors.map(Anchors::find_groups).transpose()?;
    let summary = IndexSummary { generation: snapshot.manifest.generation, ..IndexSummary::default() };
    let mut run = Run { snapshot, settings, folder, anchors, note, now_s, summary, told };
    run.run(open)?;
    Ok(run.summary)
}

/// Now; no earlier than the commit, whatever the clock says.
fn now_s(snapshot: &Snapshot) -> i64 {
    let clock_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
    clock_s.max(snapshot.manifest.committed_ms / 1_000)
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
    std::fs::create_dir_all(&path).context("create", &path)?;
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

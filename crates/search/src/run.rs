//! What does one run do? It goes through all parts of the pages, and commits every so often.
//!
//! Pages with content of their own come first, copies of others afterwards: by then it is known which originals ask not to be
//! found, and stand for nobody.

use std::ops::ControlFlow;

use store::{PageSet, Snapshot};
use tantivy::{Index, IndexWriter};

use crate::anchors::Anchors;
use crate::crew::Crew;
use crate::deletions::Deletions;
use crate::entry::Entry;
use crate::error::{Error, Result};
use crate::index::{IndexSettings, IndexSummary, Indexed};
use crate::merging::{merge_segments, writer};
use crate::note::Note;
use crate::part::{PartOutcome, PartWork, Pass, add_unwanted, index_part};
use crate::schema::Fields;
use crate::seen::{PART_PAGES, Seen, earlier, read_part, write_part};
use crate::text_folder::TextFolder;
use crate::tokenizer::{PageTokenizer, TOKENIZER};
use crate::vocabulary::Vocabulary;
use crate::word_counts::WordCounts;

/// After so many pages there is a commit.
const COMMIT_PAGES: u64 = 200_000;

/// Less memory is of no use.
const LEAST_MEMORY_BYTES: usize = 64 << 20;

/// One run.
pub(crate) struct Run<'r> {
    pub(crate) snapshot: &'r Snapshot,
    pub(crate) settings: &'r IndexSettings,
    pub(crate) folder: &'r TextFolder,
    pub(crate) anchors: Option<Anchors>,
    /// What the last commit says of itself.
    pub(crate) note: Note,
    /// The moment by which pages are judged.
    pub(crate) now_s: i64,
    pub(crate) summary: IndexSummary,
    pub(crate) told: &'r mut dyn FnMut(Indexed) -> ControlFlow<()>,
}

impl Run<'_> {
    /// Brings an index up to date.
    pub(crate) fn run(&mut self, (index, fields): (Index, Fields)) -> Result<()> {
        let counts = WordCounts::new();
        index.tokenizers().register(TOKENIZER, PageTokenizer::counting(&counts));
        let memory_bytes = self.settings.memory_bytes.max(LEAST_MEMORY_BYTES);
        let before = index.searchable_segment_ids()?;
        let mut writer = writer(&index, self.settings.threads, memory_bytes / 2)?;
        let crew = Crew::new(self.snapshot, fields, self.settings, self.now_s, memory_bytes / 8);
        let mut next = self.next_note();
        let until_s = self.go_through(&crew, &mut writer, &mut next, &counts)?;
        next.generation = self.snapshot.manifest.generation;
        next.anchors = self.anchors.as_ref().map_or(0, Anchors::generation);
        (next.left_out, next.until_s) = (self.summary.left_out, until_s.into());
        self.commit(&mut writer, &mut next, &counts)?;
        merge_segments(&index, &mut writer, &before)?;
        writer.wait_merging_threads()?;
        Ok(())
    }

    /// What the next commit says of itself, as far as it is known before: of the collection as a whole, what the last one said.
    fn next_note(&self) -> Note {
        let mut next = self.note.clone();
        next.parts.resize((self.snapshot.pages.pages() as usize).div_ceil(PART_PAGES), 0);
        next.commit += 1;
        next
    }

    /// Goes through all parts; tells when the first page asks not to be found any more, or 0. Who is stopped commits what there
    /// is.
    fn go_through(
        &mut self,
        crew: &Crew<'_>,
        writer: &mut IndexWriter<Entry>,
        next: &mut Note,
        counts: &WordCounts,
    ) -> Result<u32> {
        let known = self.snapshot.pages.pages();
        let mut unwanted = PageSet::new(known as usize, false);
        let mut has_copies = vec![true; next.parts.len()];
        let mut deletions = Deletions::begin(writer, known)?;
        let (mut since_commit, mut until_s) = (0, 0);
        for pass in [Pass::Originals, Pass::Copies] {
            for (part, has_copies) in has_copies.iter_mut().enumerate() {
                if pass == Pass::Copies && !*has_copies {
                    continue;
                }
                let anchors = self.anchors.as_ref();
                let anchors_changed = self.note.anchors != anchors.map_or(0, Anchors::generation);
                let before = self.summary.read + self.summary.removed;
                let mut rows = self.rows(part, next)?;
                let work = PartWork {
                    pass,
                    crew,
                    writer,
                    deletions: &deletions,
                    anchors,
                    anchors_changed,
                    unwanted: &unwanted,
                };
                let outcome = index_part(&work, part, &mut rows, &mut self.summary, self.told)?;
                add_unwanted(&mut unwanted, part, &rows);
                self.keep(part, &rows, &outcome, next)?;
                *has_copies = outcome.has_copies;
                until_s = earlier(until_s, outcome.until_s);
                since_commit += self.summary.read + self.summary.removed - before;
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
        Ok(until_s)
    }

    /// What is noted of the pages of a part.
    fn rows(&self, part: usize, next: &Note) -> Result<Vec<Seen>> {
        match next.parts[part] {
            0 => Ok(Vec::new()),
            commit => read_part(&self.folder.pages(part, commit)),
        }
    }

    /// Writes what is noted of the pages of a part, if it is another now.
    fn keep(&self, part: usize, rows: &[Seen], outcome: &PartOutcome, next: &mut Note) -> Result<()> {
        if outcome.is_changed {
            write_part(&self.folder.pages(part, next.commit), rows)?;
            next.parts[part] = next.commit;
        }
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

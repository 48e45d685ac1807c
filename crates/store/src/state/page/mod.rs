//! State of all pages: one record per page, from the moment its URL is discovered.
//!
//! [`record`] defines [`PageRecord`] and its layout on disk. The manager scans all records to choose a batch
//! ([`PageStateReader::top_k`]), so the fields that it needs have their own columns. [`crate::state::records`] stores and
//! commits the records.
//!
//! This module has no policy: scores, change rates and times are computed elsewhere and only stored here.

mod record;
mod top_k;

use std::path::Path;

use model::{PageId, Reason, SiteId};

use crate::error::Result;
use crate::manifest::{FileEntry, Manifest};
use crate::state::records::{ColumnChunk, RecordTable, RecordWriter, Schema};
use record::{COLUMN_BYTES, ROW_BYTES};

pub use record::{PageFlags, PageRecord, PageStage};
pub use top_k::{ScoredPage, TopK};

/// Number of pages per segment file.
pub(crate) const SEGMENT_RECORDS: u32 = 1 << 20;

const SCHEMA: Schema =
    Schema { name: "pages", column_bytes: &COLUMN_BYTES, segment_records: SEGMENT_RECORDS };

/// State of all pages, open for writing.
pub struct PageState {
    reader: PageStateReader,
    changes: RecordWriter,
}

impl PageState {
    /// Opens the state at a commit; an empty manifest begins a collection. About `max_dirty_pages` changed records are
    /// kept in memory.
    pub fn open(dir: &Path, manifest: &Manifest, max_dirty_pages: usize) -> Result<PageState> {
        PageState::with(dir, manifest, SCHEMA, max_dirty_pages)
    }

    fn with(dir: &Path, manifest: &Manifest, schema: Schema, max_dirty_pages: usize) -> Result<PageState> {
        let reader = PageStateReader::with(dir, manifest, schema)?;
        Ok(PageState { reader, changes: RecordWriter::open(dir, manifest, schema, max_dirty_pages)? })
    }

    /// Current state, including uncommitted changes.
    pub fn reader(&self) -> &PageStateReader {
        &self.reader
    }

    /// Whether a commit is due: changes stay in memory until then.
    pub fn should_commit(&self) -> bool {
        self.changes.should_commit(&self.reader.records)
    }

    /// Appends pages with the next ids; returns the first of these.
    pub fn append(&mut self, records: impl IntoIterator<Item = PageRecord>) -> Result<PageId> {
        let rows = records.into_iter().map(|record| record.encode());
        self.changes.append(&mut self.reader.records, rows).map(PageId)
    }

    /// Calls `change` with the index in `pages` and the record of each page, and stores the changed record. Any order and
    /// duplicates are allowed; ascending ids are fastest.
    pub fn update(&mut self, pages: &[PageId], mut change: impl FnMut(usize, &mut PageRecord)) -> Result<()> {
        let ids: Vec<u32> = pages.iter().map(|page| page.0).collect();
        self.changes.update(&mut self.reader.records, &ids, |index, row| {
            let mut record = PageRecord::decode(row);
            change(index, &mut record);
            *row = record.encode();
        })
    }

    /// Commits all changes; returns all files of the state at this commit.
    pub fn commit(&mut self, generation: u64) -> Result<Vec<FileEntry>> {
        self.changes.commit(&mut self.reader.records, generation)
    }
}

/// State of all pages, for reading: of one commit, or of a [`PageState`].
#[derive(Debug)]
pub struct PageStateReader {
    records: RecordTable<ROW_BYTES>,
}

impl PageStateReader {
    /// Opens the state at a commit.
    pub fn open(dir: &Path, manifest: &Manifest) -> Result<PageStateReader> {
        PageStateReader::with(dir, manifest, SCHEMA)
    }

    fn with(dir: &Path, manifest: &Manifest, schema: Schema) -> Result<PageStateReader> {
        Ok(PageStateReader { records: RecordTable::open(dir, manifest, schema)? })
    }

    /// Number of pages; all ids are below.
    pub fn pages(&self) -> u32 {
        self.records.count()
    }

    /// Reads the record of a page.
    pub fn get(&self, page: PageId) -> Result<Option<PageRecord>> {
        Ok(self.records.get(page.0)?.map(|row| PageRecord::decode(&row)))
    }

    /// Reads the records of pages, in their order; ascending ids are fastest.
    pub fn get_many(&self, pages: &[PageId]) -> Result<Vec<PageRecord>> {
        let ids: Vec<u32> = pages.iter().map(|page| page.0).collect();
        let mut rows = Vec::with_capacity(ids.len());
        self.records.read(&ids, &mut rows)?;
        Ok(rows.iter().map(PageRecord::decode).collect())
    }

    /// Calls `visit` with every page once. Each core has its own state and gets its pages in ascending order; the states
    /// are the result. Only the requested columns are read; the fields of the others are zero.
    pub fn scan<S: Default + Send>(
        &self,
        columns: &[PageColumn],
        visit: impl Fn(&mut S, &ScanRow) + Sync,
    ) -> Result<Vec<S>> {
        let columns: Vec<usize> = columns.iter().map(|column| *column as usize).collect();
        self.records.scan(&columns, |state, chunk| for_each_row(chunk, |row| visit(state, row)))
    }

    /// Scans the whole record of every page.
    pub fn scan_records<S: Default + Send>(
        &self,
        visit: impl Fn(&mut S, PageId, &PageRecord) + Sync,
    ) -> Result<Vec<S>> {
        let columns: Vec<usize> = (0..COLUMN_BYTES.len()).collect();
        self.records.scan(&columns, |state, chunk| {
            let mut row = [0; ROW_BYTES];
            for index in 0..chunk.len() {
                chunk.row(index, &mut row);
                visit(state, PageId(chunk.first() + index as u32), &PageRecord::decode(&row));
            }
        })
    }

    /// Returns the `k` pages with the highest scores, highest first, with at most `per_site` of one site. Pages without
    /// a score (or with NaN) are skipped; of equal scores, the lower id comes first.
    pub fn top_k(
        &self,
        k: usize,
        per_site: usize,
        score: impl Fn(&ScanRow) -> Option<f32> + Sync,
    ) -> Result<Vec<(PageId, f32)>> {
        let (mut lists, _) =
            self.top_k_lists(1, k, per_site, |_: &mut (), row| score(row).map(|score| (0, score)))?;
        Ok(lists.remove(0).into_iter().map(|best| (best.page, best.score)).collect())
    }

    /// Computes several top-k lists in one scan. `score` returns the list of a page and its score, and may use a state
    /// per core; the states are returned with the lists.
    pub fn top_k_lists<S: Default + Send>(
        &self,
        lists: usize,
        k: usize,
        per_site: usize,
        score: impl Fn(&mut S, &ScanRow) -> Option<(usize, f32)> + Sync,
    ) -> Result<(Vec<Vec<ScoredPage>>, Vec<S>)> {
        let parts = self.scan(&PageColumn::ALL, |(state, tops): &mut (S, Vec<TopK>), row| {
            if let Some((list, score)) = score(state, row) {
                if tops.is_empty() {
                    tops.extend((0..lists).map(|_| TopK::new(k, per_site)));
                }
                tops[list].push(row.page, row.site, score);
            }
        })?;
        let mut all: Vec<TopK> = (0..lists).map(|_| TopK::new(k, per_site)).collect();
        let mut states = Vec::with_capacity(parts.len());
        for (state, tops) in parts {
            states.push(state);
            all.iter_mut().zip(tops).for_each(|(all, part)| all.merge(part));
        }
        Ok((all.into_iter().map(TopK::finish).collect(), states))
    }

    /// Reads and verifies everything on disk; the first corruption is the error.
    pub fn check(&self) -> Result<()> {
        self.records.check()
    }
}

/// Column that can be scanned without reading the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum PageColumn {
    /// [`ScanRow::site`].
    Site = 0,
    /// [`ScanRow::depth`], [`ScanRow::stage`], [`ScanRow::reason`], [`ScanRow::flags`].
    StageAndFlags = 1,
    /// [`ScanRow::earliest_visit_s`].
    EarliestVisit = 2,
    /// [`ScanRow::last_visit_s`].
    LastVisit = 3,
    /// [`ScanRow::changes_per_day`].
    ChangeRate = 4,
    /// [`ScanRow::inlinks`].
    Inlinks = 5,
    /// [`ScanRow::cash`].
    Cash = 6,
    /// [`ScanRow::cash_history`].
    CashHistory = 7,
    /// [`ScanRow::topic_relevance`], [`ScanRow::url_score`].
    Scores = 8,
}

impl PageColumn {
    /// All columns.
    pub const ALL: [PageColumn; 9] = [
        PageColumn::Site,
        PageColumn::StageAndFlags,
        PageColumn::EarliestVisit,
        PageColumn::LastVisit,
        PageColumn::ChangeRate,
        PageColumn::Inlinks,
        PageColumn::Cash,
        PageColumn::CashHistory,
        PageColumn::Scores,
    ];
}

/// Fields of a [`PageRecord`] by which pages are chosen, with the same meaning.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "they are those of PageRecord")]
pub struct ScanRow {
    pub page: PageId,
    pub site: SiteId,
    pub depth: u8,
    pub stage: PageStage,
    pub reason: Option<Reason>,
    pub flags: PageFlags,
    pub earliest_visit_s: u32,
    pub last_visit_s: u32,
    pub changes_per_day: f32,
    pub inlinks: u32,
    pub cash: f32,
    pub cash_history: f32,
    pub topic_relevance: u16,
    pub url_score: u16,
}

impl ScanRow {
    /// Takes the fields of a record.
    pub fn from_record(page: PageId, record: &PageRecord) -> ScanRow {
        ScanRow {
            page,
            site: record.site,
            depth: record.depth,
            stage: record.stage,
            reason: record.reason,
            flags: record.flags,
            earliest_visit_s: record.earliest_visit_s,
            last_visit_s: record.last_visit_s,
            changes_per_day: record.changes_per_day,
            inlinks: record.inlinks,
            cash: record.cash,
            cash_history: record.cash_history,
            topic_relevance: record.topic_relevance,
            url_score: record.url_score,
        }
    }
}

fn for_each_row(chunk: &ColumnChunk, mut visit: impl FnMut(&ScanRow)) {
    let records = chunk.len();
    let column = |column: PageColumn| &chunk.column(column as usize).as_chunks::<4>().0[..records];
    let sites = column(PageColumn::Site);
    let stage_and_flags = column(PageColumn::StageAndFlags);
    let earliest_visit = column(PageColumn::EarliestVisit);
    let last_visit = column(PageColumn::LastVisit);
    let change_rate = column(PageColumn::ChangeRate);
    let inlinks = column(PageColumn::Inlinks);
    let cash = column(PageColumn::Cash);
    let cash_history = column(PageColumn::CashHistory);
    let scores = column(PageColumn::Scores);
    for index in 0..records {
        let (depth, stage, reason, flags) = record::decode_stage_and_flags(stage_and_flags[index]);
        let [relevance_low, relevance_high, location_low, location_high] = scores[index];
        visit(&ScanRow {
            page: PageId(chunk.first() + index as u32),
            site: SiteId(u32::from_le_bytes(sites[index])),
            depth,
            stage,
            reason,
            flags,
            earliest_visit_s: u32::from_le_bytes(earliest_visit[index]),
            last_visit_s: u32::from_le_bytes(last_visit[index]),
            changes_per_day: f32::from_le_bytes(change_rate[index]),
            inlinks: u32::from_le_bytes(inlinks[index]),
            cash: f32::from_le_bytes(cash[index]),
            cash_history: f32::from_le_bytes(cash_history[index]),
            topic_relevance: u16::from_le_bytes([relevance_low, relevance_high]),
            url_score: u16::from_le_bytes([location_low, location_high]),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::RecordLocation;
    use proptest::prelude::*;
    use std::fs::{self, OpenOptions};
    use std::io::Write;

    /// Small, so that a few pages make many segments and checkpoints.
    const SMALL: Schema = Schema { segment_records: 50, ..SCHEMA };
    const CHANGED_PAGES: usize = 60;

    #[derive(Debug, Clone)]
    enum PageStateOp {
        Append(usize),
        /// Updates the pages with these ids, modulo the number of pages.
        Update(Vec<u32>),
        Commit,
        /// Crashes before a commit, with an incomplete frame at the end of each log.
        Crash,
    }

    fn operation() -> impl Strategy<Value = PageStateOp> {
        prop_oneof![
            2 => (0usize..120).prop_map(PageStateOp::Append),
            5 => prop::collection::vec(any::<u32>(), 0..40).prop_map(PageStateOp::Update),
            3 => Just(PageStateOp::Commit),
            1 => Just(PageStateOp::Crash),
        ]
    }

    fn page(number: u32) -> PageRecord {
        let stored =
            Some(RecordLocation { file: number, offset: u64::from(number) << 9, length: number % 3 });
        PageRecord {
            topic_relevance: number as u16,
            content_hash: u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15),
            record_location: stored.filter(|stored| stored.length > 0),
            ..PageRecord::new(SiteId(number % 9), (number % 5) as u8, PageFlags::DYNAMIC)
        }
    }

    fn visit(record: &mut PageRecord, now_s: u32) {
        record.fetch_count += 1;
        record.last_visit_s = now_s;
        record.change_hash ^= u64::from(now_s) << 20;
        record.stage = PageStage::Fetched;
    }

    fn all(reader: &PageStateReader) -> Vec<PageRecord> {
        let pages: Vec<PageId> = (0..reader.pages()).map(PageId).collect();
        reader.get_many(&pages).unwrap()
    }

    fn manifest(generation: u64, files: Vec<FileEntry>) -> Manifest {
        Manifest { generation, files, ..Manifest::empty() }
    }

    /// State, its commits and their expected content.
    struct Model {
        dir: tempfile::TempDir,
        state: PageState,
        truth: Vec<PageRecord>,
        commits: Vec<(Manifest, Vec<PageRecord>)>,
        now_s: u32,
    }

    impl Model {
        fn new() -> Model {
            let dir = tempfile::tempdir().unwrap();
            fs::create_dir(dir.path().join("state")).unwrap();
            let state = PageState::with(dir.path(), &Manifest::empty(), SMALL, CHANGED_PAGES).unwrap();
            let commits = vec![(Manifest::empty(), Vec::new())];
            Model { dir, state, truth: Vec::new(), commits, now_s: 1 }
        }

        fn apply(&mut self, step: &PageStateOp) {
            self.now_s += 1;
            match step {
                PageStateOp::Append(count) => self.append(*count),
                PageStateOp::Update(numbers) => self.update(numbers),
                PageStateOp::Commit => self.commit(),
                PageStateOp::Crash => self.crash(),
            }
        }

        fn append(&mut self, count: usize) {
            let start = self.truth.len() as u32;
            let records: Vec<PageRecord> = (start..start + count as u32).map(page).collect();
            assert_eq!(self.state.append(records.iter().copied()).unwrap(), PageId(start));
            self.truth.extend(records);
        }

        fn update(&mut self, numbers: &[u32]) {
            let Some(pages) = u32::try_from(self.truth.len()).ok().filter(|pages| *pages > 0) else { return };
            let pages: Vec<PageId> = numbers.iter().map(|number| PageId(number % pages)).collect();
            pages.iter().for_each(|page| visit(&mut self.truth[page.index()], self.now_s));
            let now_s = self.now_s;
            self.state.update(&pages, |_, record| visit(record, now_s)).unwrap();
        }

        fn commit(&mut self) {
            let generation = self.commits.len() as u64;
            let files = self.state.commit(generation).unwrap();
            self.commits.push((manifest(generation, files), self.truth.clone()));
        }

        fn crash(&mut self) {
            let (manifest, truth) = self.commits.last().unwrap().clone();
            for entry in manifest.files.iter().filter(|entry| entry.name.ends_with(".log")) {
                let path = self.dir.path().join(&entry.name);
                OpenOptions::new().append(true).open(path).unwrap().write_all(b"half a frame").unwrap();
            }
            self.state = PageState::with(self.dir.path(), &manifest, SMALL, CHANGED_PAGES).unwrap();
            self.truth = truth;
        }

        fn check(&self) {
            assert_eq!(all(self.state.reader()), self.truth);
            for (manifest, truth) in &self.commits {
                let reader = PageStateReader::with(self.dir.path(), manifest, SMALL).unwrap();
                assert_eq!(&all(&reader), truth, "generation {}", manifest.generation);
                reader.check().unwrap();
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn the_state_and_all_its_snapshots_equal_a_plain_list(steps in prop::collection::vec(operation(), 1..60)) {
            let mut model = Model::new();
            steps.iter().for_each(|step| model.apply(step));
            model.check();
        }

        #[test]
        fn scans_return_every_page(steps in prop::collection::vec(operation(), 1..40)) {
            let mut model = Model::new();
            steps.iter().for_each(|step| model.apply(step));
            let reader = model.state.reader();
            let parts: Vec<Vec<(PageId, PageRecord)>> =
                reader.scan_records(|seen: &mut Vec<_>, page, record| seen.push((page, *record))).unwrap();
            let mut seen: Vec<_> = parts.into_iter().flatten().collect();
            seen.sort_by_key(|(page, _)| *page);
            prop_assert!(seen.into_iter().eq((0..).map(PageId).zip(model.truth.iter().copied())));

            let columns = [PageColumn::Site, PageColumn::LastVisit];
            let parts: Vec<Vec<ScanRow>> = reader.scan(&columns, |seen: &mut Vec<_>, row| seen.push(*row)).unwrap();
            let mut seen: Vec<ScanRow> = parts.into_iter().flatten().collect();
            seen.sort_by_key(|row| row.page);
            for (row, record) in seen.iter().zip(&model.truth) {
                prop_assert_eq!((row.site, row.last_visit_s, row.topic_relevance), (record.site, record.last_visit_s, 0));
            }
            prop_assert_eq!(seen.len(), model.truth.len());
        }
    }

    #[test]
    fn the_best_pages_are_chosen_with_a_limit_per_site() {
        let mut model = Model::new();
        model.append(1_000);
        model.commit();
        model.update(&[999, 998, 5]);
        let score = |row: &ScanRow| (row.last_visit_s == 0).then_some(f32::from(row.topic_relevance));
        let top = model.state.reader().top_k(20, 2, score).unwrap();
        // Nine sites of two pages each; the two best pages of all were visited already.
        let expected: Vec<u32> = (980..998).rev().collect();
        assert_eq!(top.iter().map(|(page, _)| page.0).collect::<Vec<_>>(), expected);
        assert_eq!(top[0].1, 997.0);
    }

    /// State with twenty segments, most with a delta, and some changes in the log.
    fn model_with_deltas() -> Model {
        let mut model = Model::new();
        model.append(1_000);
        model.commit();
        model.update(&(0..60).map(|number| number * 16).collect::<Vec<u32>>());
        model.commit();
        model.update(&[3, 500, 999]);
        model.commit();
        let names: Vec<&str> =
            model.commits.last().unwrap().0.files.iter().map(|file| file.name.as_str()).collect();
        for (suffix, minimum) in [(".columns", 20), (".delta", 10), (".log", 1)] {
            assert!(names.iter().filter(|name| name.ends_with(suffix)).count() >= minimum, "{names:?}");
        }
        model
    }

    #[test]
    fn scattered_changes_are_written_as_deltas() {
        let mut model = model_with_deltas();
        model.check();
        model.crash();
        model.update(&(0..1_000).collect::<Vec<u32>>());
        model.commit();
        model.check();
        let files = &model.commits.last().unwrap().0.files;
        assert!(files.iter().filter(|file| file.name.ends_with(".delta")).count() < 10, "they were merged");
    }

    #[test]
    fn a_flipped_byte_is_detected_with_its_file() {
        let model = model_with_deltas();
        let (manifest, _) = model.commits.last().unwrap();
        for entry in &manifest.files {
            let path = model.dir.path().join(&entry.name);
            let bytes = fs::read(&path).unwrap();
            for at in (0..bytes.len()).step_by(bytes.len() / 10 + 1) {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1;
                fs::write(&path, flipped).unwrap();
                let reader = PageStateReader::with(model.dir.path(), manifest, SMALL);
                let error = reader.and_then(|reader| reader.check()).unwrap_err();
                assert!(error.to_string().contains(&entry.name), "byte {at} of {}: {error}", entry.name);
            }
            fs::write(&path, bytes).unwrap();
        }
    }

    #[test]
    fn a_state_with_a_missing_segment_is_not_opened() {
        let mut model = Model::new();
        model.append(130);
        model.commit();
        let (manifest, _) = model.commits.last().unwrap();
        assert!(manifest.files[0].name.ends_with(".columns"), "{manifest:?}");
        let incomplete = Manifest { files: manifest.files[1..].to_vec(), ..manifest.clone() };
        let error = PageStateReader::with(model.dir.path(), &incomplete, SMALL).unwrap_err();
        assert!(error.to_string().contains("corrupt"), "{error}");
    }

    #[test]
    fn an_unknown_page_cannot_be_read_or_changed() {
        let mut model = Model::new();
        model.append(3);
        assert_eq!(model.state.reader().get(PageId(3)).unwrap(), None);
        assert!(model.state.update(&[PageId(3)], |_, _| {}).is_err());
        assert!(model.state.reader().get_many(&[PageId(3)]).is_err());
    }

    #[test]
    fn many_changes_of_few_pages_do_not_grow_the_log() {
        let mut model = Model::new();
        model.append(20);
        for _ in 0..200 {
            model.update(&(0..20).collect::<Vec<u32>>());
            model.commit();
        }
        let files = &model.commits.last().unwrap().0.files;
        assert_eq!(files.len(), 1, "a log and no segment");
        assert!(files[0].length() < 2 * 60 * ROW_BYTES as u64, "{}", files[0].length());
        model.check();
    }
}

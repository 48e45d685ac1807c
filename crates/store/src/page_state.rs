//! What is known about each page, and which pages come next?
//!
//! One record per page, from the moment its URL is known ([`PageRecord`]; [`record`] has the layout on disk). The
//! manager looks through all of them to choose a batch ([`PageStateReader::top_k`]), so what it needs lies in columns of
//! its own. How records are kept, changed and committed is [`crate::records`]' business.
//!
//! This module does not judge: scores, change rates and times are computed elsewhere, and only remembered here.

mod record;
mod top_k;

use std::path::Path;

use model::{PageId, SiteId};

use crate::error::Result;
use crate::manifest::{FileEntry, Manifest};
use crate::records::{Changes, Chunk, Records, Schema};
use record::{COLUMN_BYTES, ROW_BYTES};

pub use record::{PageFlags, PageRecord, Stage};
pub use top_k::{Best, TopK};

/// So many pages share a segment file.
pub(crate) const SEGMENT_RECORDS: u32 = 1 << 20;

const SCHEMA: Schema =
    Schema { name: "pages", column_bytes: &COLUMN_BYTES, segment_records: SEGMENT_RECORDS };

/// The state of all pages, for the one who changes it.
pub struct PageState {
    reader: PageStateReader,
    changes: Changes,
}

impl PageState {
    /// Opens the state at the commit of a manifest; an empty one begins a collection. About so many changed pages are
    /// kept in memory.
    pub fn open(folder: &Path, manifest: &Manifest, changed_pages: usize) -> Result<PageState> {
        PageState::with(folder, manifest, SCHEMA, changed_pages)
    }

    fn with(folder: &Path, manifest: &Manifest, schema: Schema, changed_pages: usize) -> Result<PageState> {
        let reader = PageStateReader::with(folder, manifest, schema)?;
        Ok(PageState { reader, changes: Changes::open(folder, manifest, schema, changed_pages)? })
    }

    /// The state as it is now, with the changes that are not committed.
    pub fn reader(&self) -> &PageStateReader {
        &self.reader
    }

    /// Whether a commit should come soon: changes stay in memory until then.
    pub fn is_full(&self) -> bool {
        self.changes.are_full(&self.reader.records)
    }

    /// Adds pages; they get the next ids, the first of which is told.
    pub fn append(&mut self, records: impl IntoIterator<Item = PageRecord>) -> Result<PageId> {
        let rows = records.into_iter().map(|record| record.encode());
        self.changes.append(&mut self.reader.records, rows).map(PageId)
    }

    /// Passes the record of each page to `change`, with the page's index in `pages`, and keeps what it makes of it.
    /// Pages may come in any order, and more than once; in ascending order it is fast.
    pub fn update(&mut self, pages: &[PageId], mut change: impl FnMut(usize, &mut PageRecord)) -> Result<()> {
        let numbers: Vec<u32> = pages.iter().map(|page| page.0).collect();
        self.changes.update(&mut self.reader.records, &numbers, |index, row| {
            let mut record = PageRecord::decode(row);
            change(index, &mut record);
            *row = record.encode();
        })
    }

    /// Makes all changes last; tells all files of the state at this commit.
    pub fn commit(&mut self, generation: u64) -> Result<Vec<FileEntry>> {
        self.changes.commit(&mut self.reader.records, generation)
    }
}

/// The state of all pages, for reading: that of one commit, or that of a [`PageState`].
#[derive(Debug)]
pub struct PageStateReader {
    records: Records<ROW_BYTES>,
}

impl PageStateReader {
    /// Opens the state at the commit of a manifest.
    pub fn open(folder: &Path, manifest: &Manifest) -> Result<PageStateReader> {
        PageStateReader::with(folder, manifest, SCHEMA)
    }

    fn with(folder: &Path, manifest: &Manifest, schema: Schema) -> Result<PageStateReader> {
        Ok(PageStateReader { records: Records::open(folder, manifest, schema)? })
    }

    /// How many pages there are; their ids are all below.
    pub fn pages(&self) -> u32 {
        self.records.count()
    }

    /// All about one page; `None` if there is no such page.
    pub fn get(&self, page: PageId) -> Result<Option<PageRecord>> {
        Ok(self.records.get(page.0)?.map(|row| PageRecord::decode(&row)))
    }

    /// All about each of these pages, in their order; fast if they ascend.
    pub fn get_many(&self, pages: &[PageId]) -> Result<Vec<PageRecord>> {
        let numbers: Vec<u32> = pages.iter().map(|page| page.0).collect();
        let mut rows = Vec::with_capacity(numbers.len());
        self.records.read(&numbers, &mut rows)?;
        Ok(rows.iter().map(PageRecord::decode).collect())
    }

    /// Shows `step` every page once. Each core has a state of its own and sees its pages in ascending order; the states
    /// are the result. Only the wanted columns are read: the fields of the others are zero.
    pub fn scan<S: Default + Send>(
        &self,
        columns: &[Column],
        step: impl Fn(&mut S, &ScanRow) + Sync,
    ) -> Result<Vec<S>> {
        let columns: Vec<usize> = columns.iter().map(|column| *column as usize).collect();
        self.records.fold(&columns, |state, chunk| for_each_row(chunk, |row| step(state, row)))
    }

    /// The same with the whole record of every page.
    pub fn scan_records<S: Default + Send>(
        &self,
        step: impl Fn(&mut S, PageId, &PageRecord) + Sync,
    ) -> Result<Vec<S>> {
        let columns: Vec<usize> = (0..COLUMN_BYTES.len()).collect();
        self.records.fold(&columns, |state, chunk| {
            let mut row = [0; ROW_BYTES];
            for index in 0..chunk.len() {
                chunk.row(index, &mut row);
                step(state, PageId(chunk.first() + index as u32), &PageRecord::decode(&row));
            }
        })
    }

    /// The `k` pages with the highest scores, best first, with at most `per_site` of one site. Pages without a score
    /// (or with NaN) are left out; of equal scores, the lower id comes first.
    pub fn top_k(
        &self,
        k: usize,
        per_site: usize,
        score: impl Fn(&ScanRow) -> Option<f32> + Sync,
    ) -> Result<Vec<(PageId, f32)>> {
        let (mut lists, _) =
            self.top_lists(1, k, per_site, |_: &mut (), row| score(row).map(|score| (0, score)))?;
        Ok(lists.remove(0).into_iter().map(|best| (best.page, best.score)).collect())
    }

    /// The same for several lists in one scan: `judge` tells to which list a page belongs, and with which score. Each core has
    /// a state of its own for what `judge` wants to remember; the states come back with the lists.
    pub fn top_lists<S: Default + Send>(
        &self,
        lists: usize,
        k: usize,
        per_site: usize,
        judge: impl Fn(&mut S, &ScanRow) -> Option<(usize, f32)> + Sync,
    ) -> Result<(Vec<Vec<Best>>, Vec<S>)> {
        let parts = self.scan(&Column::ALL, |(state, tops): &mut (S, Vec<TopK>), row| {
            if let Some((list, score)) = judge(state, row) {
                if tops.is_empty() {
                    tops.extend((0..lists).map(|_| TopK::new(k, per_site)));
                }
                tops[list].offer(row.page, row.site, score);
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

    /// Reads everything that is on disk; the first damage is the error.
    pub fn check(&self) -> Result<()> {
        self.records.check()
    }
}

/// What can be looked through without reading the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Column {
    /// [`ScanRow::site`].
    Site = 0,
    /// [`ScanRow::depth`], [`ScanRow::stage`], [`ScanRow::reason`], [`ScanRow::flags`].
    Marks = 1,
    /// [`ScanRow::not_before_s`].
    NotBefore = 2,
    /// [`ScanRow::last_visit_s`].
    LastVisit = 3,
    /// [`ScanRow::changes_per_day`].
    ChangeRate = 4,
    /// [`ScanRow::in_links`].
    InLinks = 5,
    /// [`ScanRow::cash`].
    Cash = 6,
    /// [`ScanRow::cash_history`].
    CashHistory = 7,
    /// [`ScanRow::relevance`], [`ScanRow::location`].
    Merit = 8,
}

impl Column {
    /// All of them.
    pub const ALL: [Column; 9] = [
        Column::Site,
        Column::Marks,
        Column::NotBefore,
        Column::LastVisit,
        Column::ChangeRate,
        Column::InLinks,
        Column::Cash,
        Column::CashHistory,
        Column::Merit,
    ];
}

/// The part of a [`PageRecord`] by which pages are chosen; its fields mean the same.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "they are those of PageRecord")]
pub struct ScanRow {
    pub page: PageId,
    pub site: SiteId,
    pub depth: u8,
    pub stage: Stage,
    pub reason: u8,
    pub flags: PageFlags,
    pub not_before_s: u32,
    pub last_visit_s: u32,
    pub changes_per_day: f32,
    pub in_links: u32,
    pub cash: f32,
    pub cash_history: f32,
    pub relevance: u16,
    pub location: u16,
}

impl ScanRow {
    /// The row of a page.
    pub fn of(page: PageId, record: &PageRecord) -> ScanRow {
        ScanRow {
            page,
            site: record.site,
            depth: record.depth,
            stage: record.stage,
            reason: record.reason,
            flags: record.flags,
            not_before_s: record.not_before_s,
            last_visit_s: record.last_visit_s,
            changes_per_day: record.changes_per_day,
            in_links: record.in_links,
            cash: record.cash,
            cash_history: record.cash_history,
            relevance: record.relevance,
            location: record.location,
        }
    }
}

fn for_each_row(chunk: &Chunk, mut each: impl FnMut(&ScanRow)) {
    let records = chunk.len();
    let column = |column: Column| &chunk.column(column as usize).as_chunks::<4>().0[..records];
    let sites = column(Column::Site);
    let marks = column(Column::Marks);
    let not_before = column(Column::NotBefore);
    let last_visit = column(Column::LastVisit);
    let change_rate = column(Column::ChangeRate);
    let in_links = column(Column::InLinks);
    let cash = column(Column::Cash);
    let cash_history = column(Column::CashHistory);
    let merit = column(Column::Merit);
    for index in 0..records {
        let (depth, stage, reason, flags) = record::marks(marks[index]);
        let [relevance_low, relevance_high, location_low, location_high] = merit[index];
        each(&ScanRow {
            page: PageId(chunk.first() + index as u32),
            site: SiteId(u32::from_le_bytes(sites[index])),
            depth,
            stage,
            reason,
            flags,
            not_before_s: u32::from_le_bytes(not_before[index]),
            last_visit_s: u32::from_le_bytes(last_visit[index]),
            changes_per_day: f32::from_le_bytes(change_rate[index]),
            in_links: u32::from_le_bytes(in_links[index]),
            cash: f32::from_le_bytes(cash[index]),
            cash_history: f32::from_le_bytes(cash_history[index]),
            relevance: u16::from_le_bytes([relevance_low, relevance_high]),
            location: u16::from_le_bytes([location_low, location_high]),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page_store::PageLocation;
    use proptest::prelude::*;
    use std::fs::{self, OpenOptions};
    use std::io::Write;

    /// Small enough that a few pages make many segments and checkpoints.
    const SMALL: Schema = Schema { segment_records: 50, ..SCHEMA };
    const CHANGED_PAGES: usize = 60;

    #[derive(Debug, Clone)]
    enum Step {
        Append(usize),
        /// Of pages by these numbers, modulo the number of pages.
        Update(Vec<u32>),
        Commit,
        /// Without a commit, and with something half-written at the end of each log.
        Crash,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            2 => (0usize..120).prop_map(Step::Append),
            5 => prop::collection::vec(any::<u32>(), 0..40).prop_map(Step::Update),
            3 => Just(Step::Commit),
            1 => Just(Step::Crash),
        ]
    }

    fn page(number: u32) -> PageRecord {
        let stored = Some(PageLocation { file: number, offset: u64::from(number) << 9, length: number % 3 });
        PageRecord {
            relevance: number as u16,
            content_hash: u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15),
            stored: stored.filter(|stored| stored.length > 0),
            ..PageRecord::new(SiteId(number % 9), (number % 5) as u8, PageFlags::DYNAMIC)
        }
    }

    fn visit(record: &mut PageRecord, now_s: u32) {
        record.visits += 1;
        record.last_visit_s = now_s;
        record.text_hash ^= u64::from(now_s) << 20;
        record.stage = Stage::Fetched;
    }

    fn all(reader: &PageStateReader) -> Vec<PageRecord> {
        let pages: Vec<PageId> = (0..reader.pages()).map(PageId).collect();
        reader.get_many(&pages).unwrap()
    }

    fn manifest(generation: u64, files: Vec<FileEntry>) -> Manifest {
        Manifest { generation, files, ..Manifest::empty() }
    }

    /// The state, its commits and what each must be.
    struct Model {
        folder: tempfile::TempDir,
        state: PageState,
        truth: Vec<PageRecord>,
        commits: Vec<(Manifest, Vec<PageRecord>)>,
        now_s: u32,
    }

    impl Model {
        fn new() -> Model {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join("state")).unwrap();
            let state = PageState::with(folder.path(), &Manifest::empty(), SMALL, CHANGED_PAGES).unwrap();
            let commits = vec![(Manifest::empty(), Vec::new())];
            Model { folder, state, truth: Vec::new(), commits, now_s: 1 }
        }

        fn take(&mut self, step: &Step) {
            self.now_s += 1;
            match step {
                Step::Append(count) => self.append(*count),
                Step::Update(numbers) => self.update(numbers),
                Step::Commit => self.commit(),
                Step::Crash => self.crash(),
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
                let path = self.folder.path().join(&entry.name);
                OpenOptions::new().append(true).open(path).unwrap().write_all(b"half a frame").unwrap();
            }
            self.state = PageState::with(self.folder.path(), &manifest, SMALL, CHANGED_PAGES).unwrap();
            self.truth = truth;
        }

        fn check(&self) {
            assert_eq!(all(self.state.reader()), self.truth);
            for (manifest, truth) in &self.commits {
                let reader = PageStateReader::with(self.folder.path(), manifest, SMALL).unwrap();
                assert_eq!(&all(&reader), truth, "generation {}", manifest.generation);
                reader.check().unwrap();
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn the_state_and_all_its_snapshots_are_what_a_plain_list_is(steps in prop::collection::vec(step(), 1..60)) {
            let mut model = Model::new();
            steps.iter().for_each(|step| model.take(step));
            model.check();
        }

        #[test]
        fn scans_see_every_page_as_it_is(steps in prop::collection::vec(step(), 1..40)) {
            let mut model = Model::new();
            steps.iter().for_each(|step| model.take(step));
            let reader = model.state.reader();
            let parts: Vec<Vec<(PageId, PageRecord)>> =
                reader.scan_records(|seen: &mut Vec<_>, page, record| seen.push((page, *record))).unwrap();
            let mut seen: Vec<_> = parts.into_iter().flatten().collect();
            seen.sort_by_key(|(page, _)| *page);
            prop_assert!(seen.into_iter().eq((0..).map(PageId).zip(model.truth.iter().copied())));

            let columns = [Column::Site, Column::LastVisit];
            let parts: Vec<Vec<ScanRow>> = reader.scan(&columns, |seen: &mut Vec<_>, row| seen.push(*row)).unwrap();
            let mut seen: Vec<ScanRow> = parts.into_iter().flatten().collect();
            seen.sort_by_key(|row| row.page);
            for (row, record) in seen.iter().zip(&model.truth) {
                prop_assert_eq!((row.site, row.last_visit_s, row.relevance), (record.site, record.last_visit_s, 0));
            }
            prop_assert_eq!(seen.len(), model.truth.len());
        }
    }

    #[test]
    fn the_best_pages_are_chosen_with_a_limit_for_each_site() {
        let mut model = Model::new();
        model.append(1_000);
        model.commit();
        model.update(&[999, 998, 5]);
        let score = |row: &ScanRow| (row.last_visit_s == 0).then_some(f32::from(row.relevance));
        let top = model.state.reader().top_k(20, 2, score).unwrap();
        // Nine sites of two pages each; the two best pages of all were visited already.
        let expected: Vec<u32> = (980..998).rev().collect();
        assert_eq!(top.iter().map(|(page, _)| page.0).collect::<Vec<_>>(), expected);
        assert_eq!(top[0].1, 997.0);
    }

    /// Twenty segments, of which most have a delta, and some changes in the log.
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
        for (suffix, fewest) in [(".columns", 20), (".delta", 10), (".log", 1)] {
            assert!(names.iter().filter(|name| name.ends_with(suffix)).count() >= fewest, "{names:?}");
        }
        model
    }

    #[test]
    fn few_changes_all_over_are_kept_beside_the_segments() {
        let mut model = model_with_deltas();
        model.check();
        model.crash();
        model.update(&(0..1_000).collect::<Vec<u32>>());
        model.commit();
        model.check();
        let files = &model.commits.last().unwrap().0.files;
        assert!(
            files.iter().filter(|file| file.name.ends_with(".delta")).count() < 10,
            "they were folded in"
        );
    }

    #[test]
    fn a_flipped_byte_is_found_and_its_file_named() {
        let model = model_with_deltas();
        let (manifest, _) = model.commits.last().unwrap();
        for entry in &manifest.files {
            let path = model.folder.path().join(&entry.name);
            let bytes = fs::read(&path).unwrap();
            for at in (0..bytes.len()).step_by(bytes.len() / 10 + 1) {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1;
                fs::write(&path, flipped).unwrap();
                let reader = PageStateReader::with(model.folder.path(), manifest, SMALL);
                let error = reader.and_then(|reader| reader.check()).unwrap_err();
                assert!(error.to_string().contains(&entry.name), "byte {at} of {}: {error}", entry.name);
            }
            fs::write(&path, bytes).unwrap();
        }
    }

    #[test]
    fn a_state_with_a_segment_missing_is_not_opened() {
        let mut model = Model::new();
        model.append(130);
        model.commit();
        let (manifest, _) = model.commits.last().unwrap();
        assert!(manifest.files[0].name.ends_with(".columns"), "{manifest:?}");
        let incomplete = Manifest { files: manifest.files[1..].to_vec(), ..manifest.clone() };
        let error = PageStateReader::with(model.folder.path(), &incomplete, SMALL).unwrap_err();
        assert!(error.to_string().contains("damaged"), "{error}");
    }

    #[test]
    fn a_page_that_is_not_there_is_none_and_cannot_be_changed() {
        let mut model = Model::new();
        model.append(3);
        assert_eq!(model.state.reader().get(PageId(3)).unwrap(), None);
        assert!(model.state.update(&[PageId(3)], |_, _| {}).is_err());
        assert!(model.state.reader().get_many(&[PageId(3)]).is_err());
    }

    #[test]
    fn many_changes_of_few_pages_do_not_let_the_log_grow() {
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

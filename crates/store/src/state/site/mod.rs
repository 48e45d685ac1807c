//! State of all sites: one record per site, from the moment its name is discovered.
//!
//! [`record`] defines [`SiteRecord`] and its layout on disk; [`crate::state::records`] stores it, like those of pages. The
//! text of robots.txt stays on disk and is read on demand ([`robots_texts`]).
//!
//! This module has no policy: whether a page is allowed or a site is due is computed elsewhere.

mod record;
mod robots_texts;

use std::path::Path;

use model::SiteId;
use xxhash_rust::xxh3::xxh3_64;

use crate::error::Result;
use crate::manifest::{FileEntry, Manifest};
use crate::state::records::{RecordTable, RecordWriter, Schema};
use record::{ROW_BYTES, TextLocation};
use robots_texts::{RobotsTexts, RobotsTextsWriter};

pub use record::SiteRecord;

/// Number of sites per segment file.
pub(crate) const SEGMENT_RECORDS: u32 = 1 << 14;

const SCHEMA: Schema = Schema { name: "sites", column_bytes: &[ROW_BYTES], segment_records: SEGMENT_RECORDS };

/// Maximum size of a file of robots.txt texts.
const TEXT_FILE_BYTES: u64 = 64 << 20;

/// State of all sites, open for writing.
pub struct SiteState {
    reader: SiteStateReader,
    changes: RecordWriter,
    texts: RobotsTextsWriter,
}

impl SiteState {
    /// Opens the state at a commit; an empty manifest begins a collection. About `max_dirty_sites` changed records are
    /// kept in memory.
    pub fn open(dir: &Path, manifest: &Manifest, max_dirty_sites: usize) -> Result<SiteState> {
        SiteState::with(dir, manifest, SCHEMA, max_dirty_sites, TEXT_FILE_BYTES)
    }

    fn with(
        dir: &Path,
        manifest: &Manifest,
        schema: Schema,
        max_dirty_sites: usize,
        file_bytes: u64,
    ) -> Result<SiteState> {
        let reader = SiteStateReader::with(dir, manifest, schema)?;
        let changes = RecordWriter::open(dir, manifest, schema, max_dirty_sites)?;
        let in_use = reader.locations(|_| true)?.into_iter().map(|(_, location)| location);
        let texts = RobotsTextsWriter::open(dir, manifest, in_use, file_bytes)?;
        Ok(SiteState { reader, changes, texts })
    }

    /// Current state, including uncommitted changes.
    pub fn reader(&self) -> &SiteStateReader {
        &self.reader
    }

    /// Whether a commit is due: changes stay in memory until then.
    pub fn should_commit(&self) -> bool {
        self.changes.should_commit(&self.reader.records)
    }

    /// Appends sites with the next ids; returns the first of these.
    pub fn append(&mut self, records: impl IntoIterator<Item = SiteRecord>) -> Result<SiteId> {
        let rows = records.into_iter().map(|record| record.encode());
        self.changes.append(&mut self.reader.records, rows).map(SiteId)
    }

    /// Calls `change` with the index in `sites` and the record of each site, and stores the changed record.
    pub fn update(&mut self, sites: &[SiteId], mut change: impl FnMut(usize, &mut SiteRecord)) -> Result<()> {
        let ids: Vec<u32> = sites.iter().map(|site| site.0).collect();
        self.changes.update(&mut self.reader.records, &ids, |index, row| {
            let mut record = SiteRecord::decode(row);
            change(index, &mut record);
            *row = record.encode();
        })
    }

    /// Replaces the text of robots.txt of a site; an empty text deletes it.
    pub fn set_robots_text(&mut self, site: SiteId, text: &[u8]) -> Result<()> {
        let Some(old) = self.reader.get(site)? else { return self.update(&[site], |_, _| {}) };
        let hash = if text.is_empty() { 0 } else { xxh3_64(text) };
        if hash == old.robots_hash {
            return Ok(());
        }
        let location = (hash != 0).then(|| self.texts.append(&mut self.reader.texts, text)).transpose()?;
        self.update(&[site], |_, record| (record.robots_hash, record.robots_text) = (hash, location))?;
        old.robots_text.into_iter().for_each(|location| self.texts.release(location));
        Ok(())
    }

    /// Commits all changes; returns all files of the state at this commit.
    pub fn commit(&mut self, generation: u64) -> Result<Vec<FileEntry>> {
        if let Some(file) = self.texts.mostly_garbage() {
            self.compact_file(file)?;
        }
        let mut files = self.changes.commit(&mut self.reader.records, generation)?;
        let reader = &self.reader;
        files.extend(self.texts.commit(|file| {
            let locations = reader.locations(|location| location.file == file)?;
            Ok(locations.iter().map(|(_, location)| u64::from(location.bytes)).sum())
        })?);
        Ok(files)
    }

    /// Copies the texts in use from a file to the newest one, and removes the file.
    fn compact_file(&mut self, file: u32) -> Result<()> {
        let locations = self.reader.locations(|location| location.file == file)?;
        let sites: Vec<SiteId> = locations.iter().map(|(site, _)| *site).collect();
        let mut copies = Vec::with_capacity(locations.len());
        for (_, location) in &locations {
            copies.push(self.texts.copy(&self.reader.texts, *location)?);
        }
        self.update(&sites, |index, record| record.robots_text = Some(copies[index]))?;
        self.texts.remove_file(&mut self.reader.texts, file)
    }
}

/// State of all sites, for reading: of one commit, or of a [`SiteState`].
#[derive(Debug)]
pub struct SiteStateReader {
    records: RecordTable<ROW_BYTES>,
    texts: RobotsTexts,
}

impl SiteStateReader {
    /// Opens the state at a commit.
    pub fn open(dir: &Path, manifest: &Manifest) -> Result<SiteStateReader> {
        SiteStateReader::with(dir, manifest, SCHEMA)
    }

    fn with(dir: &Path, manifest: &Manifest, schema: Schema) -> Result<SiteStateReader> {
        let records = RecordTable::open(dir, manifest, schema)?;
        Ok(SiteStateReader { records, texts: RobotsTexts::open(dir, manifest)? })
    }

    /// Number of sites; all ids are below.
    pub fn sites(&self) -> u32 {
        self.records.count()
    }

    /// Reads the record of a site.
    pub fn get(&self, site: SiteId) -> Result<Option<SiteRecord>> {
        Ok(self.records.get(site.0)?.map(|row| SiteRecord::decode(&row)))
    }

    /// Reads the text of robots.txt of a site.
    pub fn robots_text(&self, site: SiteId) -> Result<Option<Vec<u8>>> {
        let location = self.get(site)?.and_then(|record| record.robots_text);
        location.map(|location| self.texts.read(location)).transpose()
    }

    /// Calls `visit` with every site once. Each core has its own state and gets its sites in ascending order; the states
    /// are the result.
    pub fn scan<S: Default + Send>(
        &self,
        visit: impl Fn(&mut S, SiteId, &SiteRecord) + Sync,
    ) -> Result<Vec<S>> {
        self.records.scan(&[0], |state, chunk| {
            let (rows, _) = chunk.column(0).as_chunks::<ROW_BYTES>();
            for (id, row) in (chunk.first()..).zip(rows) {
                visit(state, SiteId(id), &SiteRecord::decode(row));
            }
        })
    }

    /// Reads and verifies everything on disk; the first corruption is the error.
    pub fn check(&self) -> Result<()> {
        self.records.check()?;
        self.texts.check()
    }

    /// Locations of the texts that match, by site.
    fn locations(
        &self,
        matches: impl Fn(TextLocation) -> bool + Sync,
    ) -> Result<Vec<(SiteId, TextLocation)>> {
        let parts: Vec<Vec<(SiteId, TextLocation)>> = self.scan(|locations: &mut Vec<_>, site, record| {
            locations.extend(
                record.robots_text.filter(|location| matches(*location)).map(|location| (site, location)),
            );
        })?;
        let mut locations: Vec<(SiteId, TextLocation)> = parts.into_iter().flatten().collect();
        locations.sort_unstable_by_key(|(site, _)| *site);
        Ok(locations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;

    const SMALL: Schema = Schema { segment_records: 8, ..SCHEMA };
    const CHANGED_SITES: usize = 12;
    const SMALL_FILE_BYTES: u64 = 400;

    #[derive(Debug, Clone)]
    enum SiteStateOp {
        Append(usize),
        /// Updates the site with this id, modulo the number of sites.
        Request(u32),
        Robots(u32, u8),
        Commit,
        Crash,
    }

    fn operation() -> impl Strategy<Value = SiteStateOp> {
        prop_oneof![
            1 => (0usize..6).prop_map(SiteStateOp::Append),
            4 => any::<u32>().prop_map(SiteStateOp::Request),
            6 => (any::<u32>(), any::<u8>()).prop_map(|(site, text)| SiteStateOp::Robots(site, text)),
            2 => Just(SiteStateOp::Commit),
            1 => Just(SiteStateOp::Crash),
        ]
    }

    /// Text that zstd cannot compress well; 0 is the empty one.
    fn text(seed: u8) -> Vec<u8> {
        let mut hash = u64::from(seed);
        let mut bytes = Vec::new();
        for _ in 0..seed % 16 {
            hash = xxh3_64(&hash.to_le_bytes());
            bytes.extend_from_slice(&hash.to_le_bytes());
        }
        bytes
    }

    type Truth = Vec<(SiteRecord, Vec<u8>)>;

    struct Model {
        dir: tempfile::TempDir,
        state: SiteState,
        truth: Truth,
        commits: Vec<(Manifest, Truth)>,
    }

    impl Model {
        fn new() -> Model {
            let dir = tempfile::tempdir().unwrap();
            fs::create_dir(dir.path().join("state")).unwrap();
            let state =
                SiteState::with(dir.path(), &Manifest::empty(), SMALL, CHANGED_SITES, SMALL_FILE_BYTES)
                    .unwrap();
            Model { dir, state, truth: Vec::new(), commits: vec![(Manifest::empty(), Vec::new())] }
        }

        fn apply(&mut self, step: &SiteStateOp) {
            let of = |number: u32| number.checked_rem(self.truth.len() as u32).map(SiteId);
            match step {
                SiteStateOp::Append(count) => {
                    let record = SiteRecord::new(*count as u32);
                    let first = self.state.append(vec![record; *count]).unwrap();
                    assert_eq!(first.index(), self.truth.len());
                    self.truth.extend(vec![(record, Vec::new()); *count]);
                }
                SiteStateOp::Request(number) => {
                    let Some(site) = of(*number) else { return };
                    let request = |record: &mut SiteRecord| record.earliest_request_ms += 15_000;
                    request(&mut self.truth[site.index()].0);
                    self.state.update(&[site], |_, record| request(record)).unwrap();
                }
                SiteStateOp::Robots(number, seed) => {
                    let Some(site) = of(*number) else { return };
                    self.truth[site.index()].1 = text(*seed);
                    self.state.set_robots_text(site, &text(*seed)).unwrap();
                }
                SiteStateOp::Commit => {
                    let generation = self.commits.len() as u64;
                    let files = self.state.commit(generation).unwrap();
                    let manifest = Manifest { generation, files, ..Manifest::empty() };
                    self.commits.push((manifest, self.truth.clone()));
                }
                SiteStateOp::Crash => {
                    let (manifest, truth) = self.commits.last().unwrap().clone();
                    self.delete_unreferenced();
                    self.state =
                        SiteState::with(self.dir.path(), &manifest, SMALL, CHANGED_SITES, SMALL_FILE_BYTES)
                            .unwrap();
                    self.truth = truth;
                }
            }
        }

        /// Deletes unreferenced files, as opening a collection does.
        fn delete_unreferenced(&self) {
            let named = |name: &str| {
                let mut files = self.commits.iter().flat_map(|(manifest, _)| &manifest.files);
                files.any(|file| file.name == format!("state/{name}"))
            };
            for entry in fs::read_dir(self.dir.path().join("state")).unwrap() {
                let path = entry.unwrap().path();
                if !named(path.file_name().unwrap().to_str().unwrap()) {
                    fs::remove_file(path).unwrap();
                }
            }
        }

        fn check(&self) {
            check(self.state.reader(), &self.truth);
            for (manifest, truth) in &self.commits {
                let reader = SiteStateReader::with(self.dir.path(), manifest, SMALL).unwrap();
                reader.check().unwrap();
                check(&reader, truth);
            }
        }
    }

    fn check(reader: &SiteStateReader, truth: &Truth) {
        assert_eq!(reader.sites() as usize, truth.len());
        for (site, (expected, text)) in (0..).map(SiteId).zip(truth) {
            let record = reader.get(site).unwrap().unwrap();
            assert_eq!(
                (record.earliest_request_ms, record.first_seen_s),
                (expected.earliest_request_ms, expected.first_seen_s)
            );
            assert_eq!(&reader.robots_text(site).unwrap().unwrap_or_default(), text);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn the_state_and_all_its_snapshots_equal_a_plain_list(steps in prop::collection::vec(operation(), 1..150)) {
            let mut model = Model::new();
            steps.iter().for_each(|step| model.apply(step));
            model.check();
        }
    }

    #[test]
    fn the_space_of_unused_texts_is_freed() {
        let mut model = Model::new();
        model.apply(&SiteStateOp::Append(5));
        for round in 0..200u32 {
            model.apply(&SiteStateOp::Robots(round, (round * 16 + 15) as u8 ^ 16));
            model.apply(&SiteStateOp::Commit);
        }
        let files = &model.commits.last().unwrap().0.files;
        let texts: Vec<u64> =
            files.iter().filter(|file| file.name.ends_with(".texts")).map(FileEntry::length).collect();
        assert!(texts.len() < 10 && texts.iter().sum::<u64>() < 4_000, "{texts:?}");
        model.check();
    }

    #[test]
    fn the_number_of_a_file_is_never_reused() {
        let mut model = Model::new();
        model.apply(&SiteStateOp::Append(4));
        // A complete file, then one without texts in use, then a text in the next one.
        (0..4).for_each(|site| model.apply(&SiteStateOp::Robots(site, site as u8 * 16 + 15)));
        model.apply(&SiteStateOp::Commit);
        (0..4).for_each(|site| model.apply(&SiteStateOp::Robots(site, 0)));
        model.apply(&SiteStateOp::Commit);
        model.apply(&SiteStateOp::Crash);
        model.apply(&SiteStateOp::Robots(0, 79));
        model.apply(&SiteStateOp::Commit);
        let files = &model.commits.last().unwrap().0.files;
        assert!(files.iter().any(|file| file.name == "state/robots-0000000001.texts"), "{files:?}");
        model.check();
    }

    #[test]
    fn a_flipped_byte_in_a_text_is_detected_with_its_file() {
        let mut model = Model::new();
        model.apply(&SiteStateOp::Append(1));
        model.apply(&SiteStateOp::Robots(0, 15));
        model.apply(&SiteStateOp::Commit);
        let (manifest, _) = model.commits.last().unwrap();
        let name = "state/robots-0000000000.texts";
        let path = model.dir.path().join(name);
        let mut bytes = fs::read(&path).unwrap();
        bytes[20] ^= 1;
        fs::write(&path, bytes).unwrap();
        let reader = SiteStateReader::with(model.dir.path(), manifest, SMALL).unwrap();
        for error in [reader.check().unwrap_err(), reader.robots_text(SiteId(0)).unwrap_err()] {
            assert!(error.to_string().contains(name), "{error}");
        }
    }

    #[test]
    fn an_unknown_site_has_no_robots_text() {
        let mut model = Model::new();
        assert!(model.state.set_robots_text(SiteId(0), b"User-agent: *").is_err());
        assert_eq!(model.state.reader().robots_text(SiteId(0)).unwrap(), None);
    }
}

//! What is known about each site: where it is, what it allows, when it may be asked again, and what came of it so far?
//!
//! One record per site, from the moment its name is known ([`SiteRecord`]; [`record`] has the layout on disk), kept like
//! those of pages by [`crate::records`]. The text of its robots.txt stays on disk until it is asked for ([`texts`]).
//!
//! This module knows no rules: whether a page is allowed or a site is due is computed elsewhere.

mod record;
mod texts;

use std::path::Path;

use model::SiteId;
use xxhash_rust::xxh3::xxh3_64;

use crate::error::Result;
use crate::manifest::{FileEntry, Manifest};
use crate::records::{Changes, Records, Schema};
use record::{Place, ROW_BYTES};
use texts::{Texts, TextsWriter};

pub use record::SiteRecord;

/// So many sites share a segment file.
pub(crate) const SEGMENT_RECORDS: u32 = 1 << 14;

const SCHEMA: Schema = Schema { name: "sites", column_bytes: &[ROW_BYTES], segment_records: SEGMENT_RECORDS };

/// A file of robots texts is not appended to beyond this.
const TEXT_FILE_BYTES: u64 = 64 << 20;

/// The state of all sites, for the one who changes it.
pub struct SiteState {
    reader: SiteStateReader,
    changes: Changes,
    texts: TextsWriter,
}

impl SiteState {
    /// Opens the state at the commit of a manifest; an empty one begins a collection. About so many changed sites are
    /// kept in memory.
    pub fn open(folder: &Path, manifest: &Manifest, changed_sites: usize) -> Result<SiteState> {
        SiteState::with(folder, manifest, SCHEMA, changed_sites, TEXT_FILE_BYTES)
    }

    fn with(
        folder: &Path,
        manifest: &Manifest,
        schema: Schema,
        changed_sites: usize,
        file_bytes: u64,
    ) -> Result<SiteState> {
        let reader = SiteStateReader::with(folder, manifest, schema)?;
        let changes = Changes::open(folder, manifest, schema, changed_sites)?;
        let in_use = reader.places(|_| true)?.into_iter().map(|(_, place)| place);
        let texts = TextsWriter::open(folder, manifest, in_use, file_bytes)?;
        Ok(SiteState { reader, changes, texts })
    }

    /// The state as it is now, with the changes that are not committed.
    pub fn reader(&self) -> &SiteStateReader {
        &self.reader
    }

    /// Whether a commit should come soon: changes stay in memory until then.
    pub fn is_full(&self) -> bool {
        self.changes.are_full(&self.reader.records)
    }

    /// Adds sites; they get the next ids, the first of which is told.
    pub fn append(&mut self, records: impl IntoIterator<Item = SiteRecord>) -> Result<SiteId> {
        let rows = records.into_iter().map(|record| record.encode());
        self.changes.append(&mut self.reader.records, rows).map(SiteId)
    }

    /// Passes the record of each site to `change`, with the site's index in `sites`, and keeps what it makes of it.
    pub fn update(&mut self, sites: &[SiteId], mut change: impl FnMut(usize, &mut SiteRecord)) -> Result<()> {
        let numbers: Vec<u32> = sites.iter().map(|site| site.0).collect();
        self.changes.update(&mut self.reader.records, &numbers, |index, row| {
            let mut record = SiteRecord::decode(row);
            change(index, &mut record);
            *row = record.encode();
        })
    }

    /// Keeps the text of a site's robots.txt in place of the last one; an empty text is none.
    pub fn set_robots_text(&mut self, site: SiteId, text: &[u8]) -> Result<()> {
        let Some(old) = self.reader.get(site)? else { return self.update(&[site], |_, _| {}) };
        let hash = if text.is_empty() { 0 } else { xxh3_64(text) };
        if hash == old.robots_hash {
            return Ok(());
        }
        let place = (hash != 0).then(|| self.texts.append(&mut self.reader.texts, text)).transpose()?;
        self.update(&[site], |_, record| (record.robots_hash, record.robots_text) = (hash, place))?;
        old.robots_text.into_iter().for_each(|place| self.texts.release(place));
        Ok(())
    }

    /// Makes all changes last; tells all files of the state at this commit.
    pub fn commit(&mut self, generation: u64) -> Result<Vec<FileEntry>> {
        if let Some(file) = self.texts.wasteful() {
            self.empty(file)?;
        }
        let mut files = self.changes.commit(&mut self.reader.records, generation)?;
        let reader = &self.reader;
        files.extend(self.texts.commit(|file| {
            let places = reader.places(|place| place.file == file)?;
            Ok(places.iter().map(|(_, place)| u64::from(place.bytes)).sum())
        })?);
        Ok(files)
    }

    /// Copies what is in use in a file of texts to the newest one, and gives the file up.
    fn empty(&mut self, file: u32) -> Result<()> {
        let places = self.reader.places(|place| place.file == file)?;
        let sites: Vec<SiteId> = places.iter().map(|(site, _)| *site).collect();
        let mut copies = Vec::with_capacity(places.len());
        for (_, place) in &places {
            copies.push(self.texts.copy(&self.reader.texts, *place)?);
        }
        self.update(&sites, |index, record| record.robots_text = Some(copies[index]))?;
        self.texts.give_up(&mut self.reader.texts, file)
    }
}

/// The state of all sites, for reading: that of one commit, or that of a [`SiteState`].
#[derive(Debug)]
pub struct SiteStateReader {
    records: Records<ROW_BYTES>,
    texts: Texts,
}

impl SiteStateReader {
    /// Opens the state at the commit of a manifest.
    pub fn open(folder: &Path, manifest: &Manifest) -> Result<SiteStateReader> {
        SiteStateReader::with(folder, manifest, SCHEMA)
    }

    fn with(folder: &Path, manifest: &Manifest, schema: Schema) -> Result<SiteStateReader> {
        let records = Records::open(folder, manifest, schema)?;
        Ok(SiteStateReader { records, texts: Texts::open(folder, manifest)? })
    }

    /// How many sites there are; their ids are all below.
    pub fn sites(&self) -> u32 {
        self.records.count()
    }

    /// All about one site; `None` if there is no such site.
    pub fn get(&self, site: SiteId) -> Result<Option<SiteRecord>> {
        Ok(self.records.get(site.0)?.map(|row| SiteRecord::decode(&row)))
    }

    /// The text of a site's robots.txt; `None` if there is none.
    pub fn robots_text(&self, site: SiteId) -> Result<Option<Vec<u8>>> {
        let place = self.get(site)?.and_then(|record| record.robots_text);
        place.map(|place| self.texts.read(place)).transpose()
    }

    /// Shows `step` every site once. Each core has a state of its own and sees its sites in ascending order; the states
    /// are the result.
    pub fn scan<S: Default + Send>(
        &self,
        step: impl Fn(&mut S, SiteId, &SiteRecord) + Sync,
    ) -> Result<Vec<S>> {
        self.records.fold(&[0], |state, chunk| {
            let (rows, _) = chunk.column(0).as_chunks::<ROW_BYTES>();
            for (number, row) in (chunk.first()..).zip(rows) {
                step(state, SiteId(number), &SiteRecord::decode(row));
            }
        })
    }

    /// Reads everything that is on disk; the first damage is the error.
    pub fn check(&self) -> Result<()> {
        self.records.check()?;
        self.texts.check()
    }

    /// The texts whose place is wanted, by site.
    fn places(&self, wanted: impl Fn(Place) -> bool + Sync) -> Result<Vec<(SiteId, Place)>> {
        let parts: Vec<Vec<(SiteId, Place)>> = self.scan(|places: &mut Vec<_>, site, record| {
            places.extend(record.robots_text.filter(|place| wanted(*place)).map(|place| (site, place)));
        })?;
        let mut places: Vec<(SiteId, Place)> = parts.into_iter().flatten().collect();
        places.sort_unstable_by_key(|(site, _)| *site);
        Ok(places)
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
    enum Step {
        Append(usize),
        /// A request to the site of this number, modulo the number of sites.
        Request(u32),
        Robots(u32, u8),
        Commit,
        Crash,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            1 => (0usize..6).prop_map(Step::Append),
            4 => any::<u32>().prop_map(Step::Request),
            6 => (any::<u32>(), any::<u8>()).prop_map(|(site, text)| Step::Robots(site, text)),
            2 => Just(Step::Commit),
            1 => Just(Step::Crash),
        ]
    }

    /// Texts that zstd cannot make much shorter; 0 is the empty one.
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
        folder: tempfile::TempDir,
        state: SiteState,
        truth: Truth,
        commits: Vec<(Manifest, Truth)>,
    }

    impl Model {
        fn new() -> Model {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join("state")).unwrap();
            let state =
                SiteState::with(folder.path(), &Manifest::empty(), SMALL, CHANGED_SITES, SMALL_FILE_BYTES)
                    .unwrap();
            Model { folder, state, truth: Vec::new(), commits: vec![(Manifest::empty(), Vec::new())] }
        }

        fn take(&mut self, step: &Step) {
            let of = |number: u32| number.checked_rem(self.truth.len() as u32).map(SiteId);
            match step {
                Step::Append(count) => {
                    let record = SiteRecord::new(*count as u32);
                    let first = self.state.append(vec![record; *count]).unwrap();
                    assert_eq!(first.index(), self.truth.len());
                    self.truth.extend(vec![(record, Vec::new()); *count]);
                }
                Step::Request(number) => {
                    let Some(site) = of(*number) else { return };
                    let request = |record: &mut SiteRecord| record.next_request_ms += 15_000;
                    request(&mut self.truth[site.index()].0);
                    self.state.update(&[site], |_, record| request(record)).unwrap();
                }
                Step::Robots(number, seed) => {
                    let Some(site) = of(*number) else { return };
                    self.truth[site.index()].1 = text(*seed);
                    self.state.set_robots_text(site, &text(*seed)).unwrap();
                }
                Step::Commit => {
                    let generation = self.commits.len() as u64;
                    let files = self.state.commit(generation).unwrap();
                    let manifest = Manifest { generation, files, ..Manifest::empty() };
                    self.commits.push((manifest, self.truth.clone()));
                }
                Step::Crash => {
                    let (manifest, truth) = self.commits.last().unwrap().clone();
                    self.remove_unnamed();
                    self.state = SiteState::with(
                        self.folder.path(),
                        &manifest,
                        SMALL,
                        CHANGED_SITES,
                        SMALL_FILE_BYTES,
                    )
                    .unwrap();
                    self.truth = truth;
                }
            }
        }

        /// As the collection does when it is opened.
        fn remove_unnamed(&self) {
            let named = |name: &str| {
                let mut files = self.commits.iter().flat_map(|(manifest, _)| &manifest.files);
                files.any(|file| file.name == format!("state/{name}"))
            };
            for entry in fs::read_dir(self.folder.path().join("state")).unwrap() {
                let path = entry.unwrap().path();
                if !named(path.file_name().unwrap().to_str().unwrap()) {
                    fs::remove_file(path).unwrap();
                }
            }
        }

        fn check(&self) {
            check(self.state.reader(), &self.truth);
            for (manifest, truth) in &self.commits {
                let reader = SiteStateReader::with(self.folder.path(), manifest, SMALL).unwrap();
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
                (record.next_request_ms, record.first_seen_s),
                (expected.next_request_ms, expected.first_seen_s)
            );
            assert_eq!(&reader.robots_text(site).unwrap().unwrap_or_default(), text);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn the_state_and_all_its_snapshots_are_what_a_plain_list_is(steps in prop::collection::vec(step(), 1..150)) {
            let mut model = Model::new();
            steps.iter().for_each(|step| model.take(step));
            model.check();
        }
    }

    #[test]
    fn texts_no_longer_in_use_give_their_space_back() {
        let mut model = Model::new();
        model.take(&Step::Append(5));
        for round in 0..200u32 {
            model.take(&Step::Robots(round, (round * 16 + 15) as u8 ^ 16));
            model.take(&Step::Commit);
        }
        let files = &model.commits.last().unwrap().0.files;
        let texts: Vec<u64> =
            files.iter().filter(|file| file.name.ends_with(".texts")).map(FileEntry::length).collect();
        assert!(texts.len() < 10 && texts.iter().sum::<u64>() < 4_000, "{texts:?}");
        model.check();
    }

    #[test]
    fn the_number_of_a_file_is_not_used_again() {
        let mut model = Model::new();
        model.take(&Step::Append(4));
        // A full file, then one of which nothing is in use, then a text in the next one.
        (0..4).for_each(|site| model.take(&Step::Robots(site, site as u8 * 16 + 15)));
        model.take(&Step::Commit);
        (0..4).for_each(|site| model.take(&Step::Robots(site, 0)));
        model.take(&Step::Commit);
        model.take(&Step::Crash);
        model.take(&Step::Robots(0, 79));
        model.take(&Step::Commit);
        let files = &model.commits.last().unwrap().0.files;
        assert!(files.iter().any(|file| file.name == "state/robots-0000000001.texts"), "{files:?}");
        model.check();
    }

    #[test]
    fn a_flipped_byte_in_a_text_is_found_and_its_file_named() {
        let mut model = Model::new();
        model.take(&Step::Append(1));
        model.take(&Step::Robots(0, 15));
        model.take(&Step::Commit);
        let (manifest, _) = model.commits.last().unwrap();
        let name = "state/robots-0000000000.texts";
        let path = model.folder.path().join(name);
        let mut bytes = fs::read(&path).unwrap();
        bytes[20] ^= 1;
        fs::write(&path, bytes).unwrap();
        let reader = SiteStateReader::with(model.folder.path(), manifest, SMALL).unwrap();
        for error in [reader.check().unwrap_err(), reader.robots_text(SiteId(0)).unwrap_err()] {
            assert!(error.to_string().contains(name), "{error}");
        }
    }

    #[test]
    fn a_site_that_is_not_there_has_no_robots() {
        let mut model = Model::new();
        assert!(model.state.set_robots_text(SiteId(0), b"User-agent: *").is_err());
        assert_eq!(model.state.reader().robots_text(SiteId(0)).unwrap(), None);
    }
}

//! How is the space of superseded versions given back?
//!
//! By rewriting files in which they take up much: members that stay are copied as they are. A version is superseded
//! if the policy does not keep it, and no record that stays refers to it for its body. What goes with a response (its
//! request, its metadata) lies behind it and shares its lot.
//!
//! The work needs only committed files, and writes to the scratch folder, so it can go on beside a crawl. Meanwhile no
//! new record may refer to an old one, for that may be about to vanish. Memory: 12 bytes and more for each revisit record
//! that stays, and the places of the records in the files rewritten, which are at most [`MAX_FILES`] at a time.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::location::{file_name, rewritten};
use super::reader::{PageReader, check_digests};
use super::{Background, PageLocation, PageStore, parse_record};
use crate::cdxj::{CdxjFile, CdxjLine, CdxjWriter, adopt, merge};
use crate::error::{Result, damaged};
use crate::failpoint::failpoint;
use crate::growing::GrowingFile;
use crate::layout::SCRATCH;
use crate::manifest::{FileEntry, Manifest};
use crate::warc::{Members, Preparer, WarcKind, parse_date};

/// Which versions of a page are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Every one.
    All,
    /// The newest.
    Latest,
    /// So many of the newest, at least one.
    Versions(u32),
}

impl Keep {
    fn versions(self) -> usize {
        match self {
            Keep::All => usize::MAX,
            Keep::Latest => 1,
            Keep::Versions(count) => count.max(1) as usize,
        }
    }
}

/// More files are not rewritten at a time.
const MAX_FILES: usize = 16;

/// A file is rewritten if it gives back at least a fifth.
const MIN_DEAD_SHARE: f64 = 0.2;

/// A compaction that is to be run, on any thread.
pub struct Compaction {
    folder: PathBuf,
    /// Complete files and the index, as of the last commit.
    manifest: Manifest,
    keep: Keep,
    roll_over_bytes: u64,
    info: Vec<(String, String)>,
    level: u8,
    old_parts: Vec<[FileEntry; 2]>,
    stem: String,
}

/// What a compaction made.
pub struct Compacted {
    old_parts: Vec<[FileEntry; 2]>,
    new_part: Option<[FileEntry; 2]>,
    new_files: BTreeMap<u32, FileEntry>,
    relocations: Relocations,
}

/// Where records have gone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Relocations {
    files: BTreeSet<u32>,
    /// Sorted by the old place.
    moved: Vec<(PageLocation, PageLocation)>,
}

impl Relocations {
    /// The new place of a record; none if it was dropped. Records of files that were not rewritten stay.
    pub fn new_place(&self, old: PageLocation) -> Option<PageLocation> {
        if !self.files.contains(&old.file) {
            return Some(old);
        }
        let found = self.moved.binary_search_by_key(&old, |(old, _)| *old);
        found.ok().map(|at| self.moved[at].1)
    }

    /// Old and new place of every record that has moved.
    pub fn moved(&self) -> &[(PageLocation, PageLocation)] {
        &self.moved
    }

    /// Whether nothing has changed.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

impl PageStore {
    /// Drops superseded versions, and waits for it. To be called after a commit; the next commit makes it last.
    pub fn compact(&mut self, keep: Keep) -> Result<Relocations> {
        match self.start_compaction(keep)? {
            Some(compaction) => self.finish_compaction(compaction.run()?),
            None => Ok(Relocations::default()),
        }
    }

    /// Begins a compaction; none if there is nothing to do, if another or a merge is under way, or if something is not
    /// yet committed.
    pub fn start_compaction(&mut self, keep: Keep) -> Result<Option<Compaction>> {
        if keep == Keep::All || !self.lines.is_empty() || !matches!(self.background, Background::Nothing) {
            return Ok(None);
        }
        self.roll_over()?;
        let before = self.complete.last_key_value().map_or(0, |(id, _)| id + 1);
        self.background = Background::Compaction { before };
        let old_parts = self.index.parts().to_vec();
        let files = self.complete.values().chain(old_parts.iter().flatten()).cloned().collect();
        Ok(Some(Compaction {
            folder: self.folder.clone(),
            manifest: Manifest { files, ..Manifest::empty() },
            keep,
            roll_over_bytes: self.settings.roll_over_bytes,
            info: self.settings.info.clone(),
            level: self.settings.level,
            old_parts,
            stem: self.index.next_stem(),
        }))
    }

    /// Takes over what a compaction made; it counts from the next commit on, and so do the new places.
    pub fn finish_compaction(&mut self, compacted: Compacted) -> Result<Relocations> {
        self.background = Background::Nothing;
        let Compacted { old_parts, new_part, new_files, relocations } = compacted;
        if let Some(new_part) = new_part {
            self.index.replace(&old_parts, new_part)?;
        }
        self.complete.retain(|id, _| !relocations.files.contains(id));
        for (id, entry) in new_files {
            self.complete.insert(id, adopt(&self.folder, entry)?);
        }
        self.duplicates.relocate(|old| relocations.new_place(old));
        Ok(relocations)
    }
}

impl Compaction {
    /// Does the work; the store can be used meanwhile.
    pub fn run(self) -> Result<Compacted> {
        let reader = PageReader::open(&self.folder, &self.manifest)?;
        let versions = Versions::of(&reader.index, self.keep);
        let needed = versions.needed_originals()?;
        let chosen = self.choose(&reader, versions.dead_bytes(&needed)?);
        if chosen.is_empty() {
            return Ok(Compacted {
                old_parts: Vec::new(),
                new_part: None,
                new_files: BTreeMap::new(),
                relocations: Relocations::default(),
            });
        }
        let mut dropped = HashSet::new();
        versions.for_each_superseded(&needed, |line| {
            if chosen.contains(&line.location.file) {
                dropped.insert(line.location);
            }
        })?;
        failpoint("compaction: begins");
        let (new_files, moved) = self.rewrite(&reader, &chosen, &dropped)?;
        failpoint("compaction: pages rewritten");
        let relocations = Relocations { files: chosen, moved };
        let new_part = self.rewrite_index(&reader.index, &relocations)?;
        failpoint("compaction: ends");
        Ok(Compacted { old_parts: self.old_parts, new_part: Some(new_part), new_files, relocations })
    }

    /// The files that give back most.
    fn choose(&self, reader: &PageReader, dead_bytes: HashMap<u32, u64>) -> BTreeSet<u32> {
        let share = |id: &u32, dead: u64| {
            let length = reader.files.get(id).map_or(u64::MAX, |file| file.entry.length());
            dead as f64 / length as f64
        };
        let mut worth: Vec<(u32, u64)> = dead_bytes
            .into_iter()
            .filter(|(id, dead)| share(id, *dead) >= MIN_DEAD_SHARE && rewritten(*id).is_some())
            .collect();
        worth.sort_by_key(|(id, dead)| (std::cmp::Reverse(*dead), *id));
        worth.into_iter().take(MAX_FILES).map(|(id, _)| id).collect()
    }

    fn rewrite(
        &self,
        reader: &PageReader,
        chosen: &BTreeSet<u32>,
        dropped: &HashSet<PageLocation>,
    ) -> Result<Rewritten> {
        let mut output = Output::new(self);
        for (id, file) in &reader.files {
            if !chosen.contains(id) {
                // What follows must not move to before this file.
                output.close()?;
                continue;
            }
            let dead: u64 =
                dropped.iter().filter(|place| place.file == *id).map(|place| u64::from(place.length)).sum();
            output.begin_input(*id, file.entry.length() - dead)?;
            let mut keeping = false;
            let mut raw = Vec::new();
            for member in Members::new(&file.file, &file.path, 0, file.entry.length()) {
                let member = member?;
                let old = PageLocation { file: *id, offset: member.offset, length: member.length as u32 };
                let record = parse_record(member.bytes, &file.path, member.offset)?;
                check_digests(&record, &file.path, &old)?;
                match record.header.kind() {
                    WarcKind::Warcinfo => continue,
                    WarcKind::Response | WarcKind::Revisit => keeping = !dropped.contains(&old),
                    _ => {}
                }
                if keeping {
                    file.read_raw(&old, &mut raw)?;
                    output.push(old, &raw, record.header.get("WARC-Date").and_then(parse_date))?;
                }
            }
        }
        output.finish()
    }

    /// Copies the index with the new places, without what was dropped.
    fn rewrite_index(&self, index: &[CdxjFile], relocations: &Relocations) -> Result<[FileEntry; 2]> {
        let mut writer = CdxjWriter::create(&self.folder, &format!("{SCRATCH}/{}", self.stem))?;
        // Lines of one key and time may change their order with their places.
        let mut same: Vec<String> = Vec::new();
        let mut same_start = String::new();
        merge(index, |file, text| {
            let mut line = file.decode(text)?;
            let Some(location) = relocations.new_place(line.location) else { return Ok(()) };
            line.location = location;
            line.original = line.original.and_then(|original| relocations.new_place(original));
            let start = format!("{} {} ", line.key, line.timestamp);
            if start != same_start {
                flush(&mut same, &mut writer)?;
                same_start = start;
            }
            same.push(encode(&line, &self.folder)?);
            Ok(())
        })?;
        flush(&mut same, &mut writer)?;
        writer.finish()
    }
}

fn flush(lines: &mut Vec<String>, writer: &mut CdxjWriter) -> Result<()> {
    lines.sort_unstable();
    lines.drain(..).try_for_each(|line| writer.push(&line))
}

fn encode(line: &CdxjLine, folder: &Path) -> Result<String> {
    line.encode().map_err(|error| damaged(&folder.join("pages"), "in the index", error.to_string()))
}

/// New files, and the places of their records before and now.
type Rewritten = (BTreeMap<u32, FileEntry>, Vec<(PageLocation, PageLocation)>);

/// The files that a compaction writes. Each takes the place of the first input that it has records of, and is made of
/// neighbours only: so files stay in crawl order.
struct Output<'c> {
    compaction: &'c Compaction,
    preparer: Preparer,
    current: Option<(u32, GrowingFile)>,
    /// What the next file is called after.
    next_id: u32,
    files: BTreeMap<u32, FileEntry>,
    moved: Vec<(PageLocation, PageLocation)>,
}

impl<'c> Output<'c> {
    fn new(compaction: &'c Compaction) -> Output<'c> {
        Output {
            compaction,
            preparer: Preparer::new(compaction.level),
            current: None,
            next_id: 0,
            files: BTreeMap::new(),
            moved: Vec::new(),
        }
    }

    fn begin_input(&mut self, id: u32, live_bytes: u64) -> Result<()> {
        let filled = self.current.as_ref().map_or(0, |(_, file)| file.length());
        if filled + live_bytes > self.compaction.roll_over_bytes {
            self.close()?;
        }
        self.next_id = rewritten(id).unwrap_or(id);
        Ok(())
    }

    fn push(&mut self, old: PageLocation, member: &[u8], date_ms: Option<i64>) -> Result<()> {
        let (id, file) = match &mut self.current {
            Some(current) => current,
            vacant => {
                let name = file_name(self.next_id);
                let mut file = GrowingFile::create(&self.compaction.folder, &format!("{SCRATCH}/{name}"))?;
                let date_ms = date_ms.unwrap_or_default();
                file.append(&self.preparer.warcinfo(&name, date_ms, &self.compaction.info)?)?;
                vacant.insert((self.next_id, file))
            }
        };
        self.moved.push((old, PageLocation { file: *id, offset: file.length(), length: old.length }));
        file.append(member)
    }

    fn close(&mut self) -> Result<()> {
        if let Some((id, mut file)) = self.current.take() {
            self.files.insert(id, file.commit()?);
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Rewritten> {
        self.close()?;
        Ok((self.files, self.moved))
    }
}

/// Decides which versions stay.
pub(super) struct Versions<'i> {
    index: &'i [CdxjFile],
    keep: usize,
}

impl<'i> Versions<'i> {
    pub(super) fn of(index: &'i [CdxjFile], keep: Keep) -> Versions<'i> {
        Versions { index, keep: keep.versions() }
    }

    /// Records that have the body of others that stay.
    fn needed_originals(&self) -> Result<HashSet<(u32, u64)>> {
        let mut needed = HashSet::new();
        self.for_each(|line, kept| {
            if let Some(original) = line.original.filter(|_| kept) {
                needed.insert((original.file, original.offset));
            }
        })?;
        Ok(needed)
    }

    fn dead_bytes(&self, needed: &HashSet<(u32, u64)>) -> Result<HashMap<u32, u64>> {
        let mut dead = HashMap::new();
        self.for_each_superseded(needed, |line| {
            *dead.entry(line.location.file).or_default() += u64::from(line.location.length);
        })?;
        Ok(dead)
    }

    fn for_each_superseded(
        &self,
        needed: &HashSet<(u32, u64)>,
        mut each: impl FnMut(&CdxjLine),
    ) -> Result<()> {
        self.for_each(|line, kept| {
            if !kept && !needed.contains(&(line.location.file, line.location.offset)) {
                each(line);
            }
        })
    }

    /// Calls `each` with every line and whether the policy keeps it.
    pub(super) fn for_each(&self, mut each: impl FnMut(&CdxjLine, bool)) -> Result<()> {
        let mut same_key: Vec<CdxjLine> = Vec::new();
        merge(self.index, |file, text| {
            let line = file.decode(text)?;
            if same_key.last().is_some_and(|last| last.key != line.key) {
                decide(&mut same_key, self.keep, &mut each);
            }
            same_key.push(line);
            Ok(())
        })?;
        decide(&mut same_key, self.keep, &mut each);
        Ok(())
    }
}

/// Empties the lines of one key; keeps the newest of each URL. A server's word that a version still held is no version:
/// the last one stays as long as that version does.
fn decide(lines: &mut Vec<CdxjLine>, keep: usize, each: &mut impl FnMut(&CdxjLine, bool)) {
    lines.sort_by(|a, b| (&a.url, &b.timestamp, b.location).cmp(&(&b.url, &a.timestamp, a.location)));
    for versions in lines.chunk_by(|a, b| a.url == b.url) {
        let (mut age, mut confirmed) = (0, false);
        for line in versions {
            if line.is_not_modified() {
                each(line, age < keep && (!confirmed || keep == usize::MAX));
                confirmed = true;
            } else {
                each(line, age < keep);
                (age, confirmed) = (age + 1, false);
            }
        }
    }
    lines.clear();
}

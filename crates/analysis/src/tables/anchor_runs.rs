//! External sort of anchor texts by target page, text and site. Links are sorted in memory; when the memory is full they are
//! written to disk as a run, and the runs are merged. Equal links are counted.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Context, Result};

/// Number of runs that are merged into one, so that the number of open files and buffers is limited.
const MAX_RUNS: usize = 128;
/// Buffer of a run that is read.
const READ_BYTES: usize = 1 << 16;
/// Memory of a different text besides its bytes: its entry in the hash table.
const TEXT_BYTES: usize = 40;

/// Links with the same target, text and site.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct AnchorLinks {
    pub(crate) target: u32,
    /// UTF-8.
    pub(crate) text: Vec<u8>,
    pub(crate) site: u32,
    pub(crate) links: u32,
}

/// A link in memory; the text is a range of the shared buffer.
#[derive(Clone, Copy)]
struct Link {
    target: u32,
    site: u32,
    text: u32,
    length: u16,
}

/// Collects and sorts links.
pub(crate) struct AnchorSorter {
    scratch: ScratchDir,
    links: Vec<Link>,
    max_links: usize,
    texts: Vec<u8>,
    /// Start and length of each different text, by its hash.
    known: HashMap<u64, (u32, u16)>,
    max_text_bytes: usize,
    runs: Vec<PathBuf>,
    runs_written: u32,
}

/// Directory for runs, removed on drop.
pub(crate) struct ScratchDir(PathBuf);

impl ScratchDir {
    fn create(path: &Path) -> Result<ScratchDir> {
        if path.exists() {
            fs::remove_dir_all(path).context("remove", path)?;
        }
        fs::create_dir_all(path).context("create", path)?;
        Ok(ScratchDir(path.to_owned()))
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        // A leftover is removed by the next sort.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl AnchorSorter {
    /// Creates a sorter; `scratch` is a new directory for the runs that do not fit into `memory_bytes`.
    pub(crate) fn create(scratch: &Path, memory_bytes: u64) -> Result<AnchorSorter> {
        // Offsets into the texts are u32.
        let half = usize::try_from(memory_bytes / 2).unwrap_or(usize::MAX).min(u32::MAX as usize);
        Ok(AnchorSorter {
            scratch: ScratchDir::create(scratch)?,
            links: Vec::new(),
            max_links: (half / size_of::<Link>()).max(1),
            texts: Vec::new(),
            known: HashMap::new(),
            max_text_bytes: half,
            runs: Vec::new(),
            runs_written: 0,
        })
    }

    /// Adds a link; texts above 64 KiB are truncated.
    pub(crate) fn push(&mut self, target: u32, text: &str, site: u32) -> Result<()> {
        let text = &text[..text.floor_char_boundary(usize::from(u16::MAX))];
        let used = self.texts.len() + self.known.len() * TEXT_BYTES;
        if self.links.len() == self.max_links || used + text.len() + TEXT_BYTES > self.max_text_bytes {
            self.spill()?;
        }
        if self.links.capacity() == 0 {
            // At once: a growing vector would need up to three times the memory.
            self.links.reserve_exact(self.max_links);
        }
        let (text, length) = self.store(text.as_bytes());
        self.links.push(Link { target, site, text, length });
        Ok(())
    }

    fn store(&mut self, text: &[u8]) -> (u32, u16) {
        let hash = xxh3_64(text);
        if let Some((start, length)) = self.known.get(&hash)
            && self.texts[*start as usize..][..usize::from(*length)] == *text
        {
            return (*start, *length);
        }
        let stored = (self.texts.len() as u32, text.len() as u16);
        self.texts.extend_from_slice(text);
        self.known.insert(hash, stored);
        stored
    }

    /// Writes the links in memory as a run.
    fn spill(&mut self) -> Result<()> {
        if self.links.is_empty() {
            return Ok(());
        }
        let mut source = self.take_memory();
        let path = self.write_run(|item| source.next(item))?;
        self.runs.push(path);
        // The vectors are reused.
        if let RunSource::Memory { mut links, mut texts, .. } = source {
            links.clear();
            texts.clear();
            (self.links, self.texts) = (links, texts);
        }
        if self.runs.len() >= MAX_RUNS {
            let runs = std::mem::take(&mut self.runs);
            let mut merger = AnchorMerger::open(runs.iter().map(|path| RunSource::open(path)))?;
            let path = self.write_run(|item| merger.next(item))?;
            drop(merger);
            runs.iter().try_for_each(|run| fs::remove_file(run).context("remove", run))?;
            self.runs.push(path);
        }
        Ok(())
    }

    fn take_memory(&mut self) -> RunSource {
        let (mut links, texts) = (std::mem::take(&mut self.links), std::mem::take(&mut self.texts));
        self.known.clear();
        let text = |link: &Link| &texts[link.text as usize..][..usize::from(link.length)];
        links.sort_unstable_by(|a, b| (a.target, text(a), a.site).cmp(&(b.target, text(b), b.site)));
        RunSource::Memory { links, texts, next: 0 }
    }

    fn write_run(&mut self, mut next: impl FnMut(&mut AnchorLinks) -> Result<bool>) -> Result<PathBuf> {
        let path = self.scratch.0.join(format!("anchors-{}", self.runs_written));
        self.runs_written += 1;
        let mut file = BufWriter::with_capacity(1 << 20, File::create(&path).context("create", &path)?);
        let mut item = AnchorLinks::default();
        while next(&mut item)? {
            write_item(&mut file, &item).context("write", &path)?;
        }
        file.flush().context("write", &path)?;
        Ok(path)
    }

    /// Ends the input and starts the merge.
    pub(crate) fn into_merger(mut self) -> Result<(AnchorMerger, ScratchDir)> {
        let memory = self.take_memory();
        let files: Vec<Result<RunSource>> = self.runs.iter().map(|path| RunSource::open(path)).collect();
        let merger = AnchorMerger::open(files.into_iter().chain([Ok(memory)]))?;
        Ok((merger, self.scratch))
    }
}

fn write_item(file: &mut impl Write, item: &AnchorLinks) -> std::io::Result<()> {
    file.write_all(&item.target.to_le_bytes())?;
    file.write_all(&item.site.to_le_bytes())?;
    file.write_all(&item.links.to_le_bytes())?;
    file.write_all(&(item.text.len() as u16).to_le_bytes())?;
    file.write_all(&item.text)
}

/// Sorted links, in memory or in a file.
enum RunSource {
    Memory { links: Vec<Link>, texts: Vec<u8>, next: usize },
    File { file: BufReader<File>, path: PathBuf },
}

impl RunSource {
    fn open(path: &Path) -> Result<RunSource> {
        let file = File::open(path).context("open", path)?;
        Ok(RunSource::File { file: BufReader::with_capacity(READ_BYTES, file), path: path.to_owned() })
    }

    /// Replaces `out` by the next item; returns false at the end.
    fn next(&mut self, out: &mut AnchorLinks) -> Result<bool> {
        match self {
            RunSource::Memory { links, texts, next } => {
                let Some(link) = links.get(*next) else { return Ok(false) };
                let text = |link: &Link| &texts[link.text as usize..][..usize::from(link.length)];
                let is_same = |other: &&Link| {
                    (other.target, other.site) == (link.target, link.site) && text(other) == text(link)
                };
                let count = links[*next..].iter().take_while(is_same).count();
                (out.target, out.site, out.links) = (link.target, link.site, count as u32);
                out.text.clear();
                out.text.extend_from_slice(text(link));
                *next += count;
                Ok(true)
            }
            RunSource::File { file, path } => read_item(file, out).context("read", path),
        }
    }
}

fn read_item(file: &mut impl Read, out: &mut AnchorLinks) -> std::io::Result<bool> {
    let mut head = [0; 14];
    match file.read_exact(&mut head) {
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(false),
        outcome => outcome?,
    }
    let number = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    (out.target, out.site, out.links) = (number(0), number(4), number(8));
    out.text.resize(usize::from(u16::from_le_bytes([head[12], head[13]])), 0);
    file.read_exact(&mut out.text)?;
    Ok(true)
}

/// Iterator over all links, sorted.
pub(crate) struct AnchorMerger {
    sources: Vec<RunSource>,
    /// Next item of each source.
    heads: BinaryHeap<Reverse<(AnchorLinks, usize)>>,
}

impl AnchorMerger {
    fn open(sources: impl IntoIterator<Item = Result<RunSource>>) -> Result<AnchorMerger> {
        let mut merger = AnchorMerger { sources: Vec::new(), heads: BinaryHeap::new() };
        for (number, source) in sources.into_iter().enumerate() {
            let (mut source, mut item) = (source?, AnchorLinks::default());
            if source.next(&mut item)? {
                merger.heads.push(Reverse((item, number)));
            }
            merger.sources.push(source);
        }
        Ok(merger)
    }

    /// Replaces `out` by the next item; returns false at the end.
    pub(crate) fn next(&mut self, out: &mut AnchorLinks) -> Result<bool> {
        let Some(mut head) = self.heads.peek_mut() else { return Ok(false) };
        let Reverse((item, number)) = &mut *head;
        std::mem::swap(out, item);
        if self.sources[*number].next(item)? {
            return Ok(true);
        }
        std::collections::binary_heap::PeekMut::pop(head);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_memory_gives_the_same_order_and_counts() {
        let dir = tempfile::tempdir().unwrap();
        let links: Vec<(u32, String, u32)> = (0..20_000u32)
            .map(|number| (number * 7 % 300, format!("text {}", number * 13 % 50), number % 4))
            .collect();
        let sorted = |memory_bytes: u64| {
            let scratch = dir.path().join("scratch");
            let mut sorter = AnchorSorter::create(&scratch, memory_bytes).unwrap();
            for (target, text, site) in &links {
                sorter.push(*target, text, *site).unwrap();
            }
            let runs = sorter.runs_written;
            let (mut merger, _scratch) = sorter.into_merger().unwrap();
            let (mut items, mut item) = (Vec::<AnchorLinks>::new(), AnchorLinks::default());
            while merger.next(&mut item).unwrap() {
                match items.last_mut() {
                    Some(last)
                        if (last.target, &last.text, last.site) == (item.target, &item.text, item.site) =>
                    {
                        last.links += item.links;
                    }
                    _ => items.push(item.clone()),
                }
            }
            (items, runs)
        };
        let (all, runs) = sorted(1 << 30);
        assert_eq!(runs, 0);
        assert!(all.is_sorted());
        assert_eq!(all.iter().map(|item| item.links as usize).sum::<usize>(), links.len());
        for memory_bytes in [100_000, 2_000, 0] {
            let (again, runs) = sorted(memory_bytes);
            assert!(again == all && runs > 1, "{memory_bytes} bytes");
        }
        assert!(!dir.path().join("scratch").exists());
    }
}

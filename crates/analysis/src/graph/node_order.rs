//! Order of the nodes: pages by SURT key, so that the pages of a host, and the hosts of a domain, are adjacent. Most
//! links then lead to near nodes and take few bits.
//!
//! Hosts are sorted first, then pages by host and path. Of two URLs that differ only in the scheme, the page of the
//! site with the smaller id comes first. The relative order of two pages depends on their URLs alone: new pages are
//! inserted between old ones and never reorder them, which lets a new graph reuse the lists of the previous one.
//!
//! The sort runs in memory if the memory suffices; otherwise it merges sorted runs on disk.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use model::{SiteId, UrlRules};
use store::UrlReader;

use crate::error::{Context, Result};
use crate::threads::Threads;

/// Order of pages and of sites.
pub(crate) struct NodeOrder {
    /// Page of each node.
    pub(crate) pages: Vec<u32>,
    /// Position of the site of each node in `sites`.
    pub(crate) site_nodes: Vec<u32>,
    /// Sites in the order of their hosts.
    pub(crate) sites: Vec<u32>,
    /// For each position in `sites`, the first position with the same host.
    pub(crate) hosts: Vec<u32>,
}

/// Memory of an entry without its path.
const ENTRY_BYTES: usize = size_of::<PageEntry>();

/// Sorts all pages with at most `memory_bytes` of memory; `scratch` is a directory for the runs that do not fit.
pub(crate) fn node_order(
    urls: &UrlReader,
    scratch: &Path,
    memory_bytes: u64,
    threads: Threads,
) -> Result<NodeOrder> {
    let (sites, hosts, position_of_site) = order_sites(urls);
    let mut runs = SpilledRuns { scratch: scratch.to_owned(), runs: Vec::new(), threads };
    let mut chunk = SortChunk::default();
    // Offsets into the paths are u32.
    let limit = usize::try_from(memory_bytes).unwrap_or(usize::MAX).min(u32::MAX as usize / 2);
    let mut failed = None;
    urls.scan(model::PageId(0), |page, site, path| {
        let position = position_of_site[site.index()];
        chunk.push(hosts[position as usize], position, page.0, path.as_bytes());
        if chunk.bytes() > limit
            && let Err(error) = runs.spill(std::mem::take(&mut chunk))
        {
            failed.get_or_insert(error);
        }
        Ok(())
    })?;
    failed.map_or(Ok(()), Err)?;
    let pages = urls.pages() as usize;
    let mut order =
        NodeOrder { pages: Vec::with_capacity(pages), site_nodes: Vec::with_capacity(pages), sites, hosts };
    runs.merge(chunk, |entry| {
        order.pages.push(entry.page);
        order.site_nodes.push(entry.site);
    })?;
    Ok(order)
}

/// Returns the sites in order, the first position of the host of each, and the position of each site.
fn order_sites(urls: &UrlReader) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
    let rules = UrlRules::default();
    let key = |site: u32| {
        let name = urls.site_name(SiteId(site)).unwrap_or_default();
        rules.canonical(&format!("{name}/")).map_or_else(|_| name.to_owned(), |url| url.surt())
    };
    let mut keys: Vec<(String, u32)> = (0..urls.sites()).map(|site| (key(site), site)).collect();
    keys.sort_unstable();
    let mut hosts: Vec<u32> = Vec::with_capacity(keys.len());
    let mut positions = vec![0; keys.len()];
    for (position, (key, site)) in keys.iter().enumerate() {
        let same = position > 0 && keys[position - 1].0 == *key;
        hosts.push(if same { hosts[position - 1] } else { position as u32 });
        positions[*site as usize] = position as u32;
    }
    (keys.into_iter().map(|(_, site)| site).collect(), hosts, positions)
}

/// A page to be sorted.
#[derive(Debug, Clone, Copy)]
struct PageEntry {
    /// The first bytes of the path, most significant first: they decide most comparisons.
    prefix: u64,
    host: u32,
    site: u32,
    page: u32,
    path_start: u32,
    path_length: u32,
}

#[derive(Default)]
struct SortChunk {
    entries: Vec<PageEntry>,
    paths: Vec<u8>,
}

impl SortChunk {
    fn push(&mut self, host: u32, site: u32, page: u32, path: &[u8]) {
        let mut prefix = [0; 8];
        let known = path.len().min(8);
        prefix[..known].copy_from_slice(&path[..known]);
        let (path_start, path_length) = (self.paths.len() as u32, path.len() as u32);
        self.paths.extend_from_slice(path);
        self.entries.push(PageEntry {
            prefix: u64::from_be_bytes(prefix),
            host,
            site,
            page,
            path_start,
            path_length,
        });
    }

    fn bytes(&self) -> usize {
        self.paths.len() + self.entries.len() * ENTRY_BYTES
    }

    /// Sorts the entries in one part per thread, and returns the length of a part.
    fn sort(&mut self, threads: Threads) -> usize {
        let SortChunk { entries, paths } = self;
        let path = |entry: &PageEntry| &paths[entry.path_start as usize..][..entry.path_length as usize];
        let size = entries.len().div_ceil(threads.0).max(1);
        threads.map(entries.chunks_mut(size).collect(), |part: &mut [PageEntry]| {
            part.sort_unstable_by(|a, b| {
                (a.host, a.prefix)
                    .cmp(&(b.host, b.prefix))
                    .then_with(|| (path(a), a.site).cmp(&(path(b), b.site)))
            });
        });
        size
    }
}

/// Sorted runs on disk.
struct SpilledRuns {
    scratch: PathBuf,
    runs: Vec<PathBuf>,
    threads: Threads,
}

impl SpilledRuns {
    fn spill(&mut self, mut chunk: SortChunk) -> Result<()> {
        let size = chunk.sort(self.threads);
        for part in chunk.entries.chunks(size) {
            let path = self.scratch.join(format!("pages-{}", self.runs.len()));
            write_run(&path, part, &chunk.paths).context("write", &path)?;
            self.runs.push(path);
        }
        Ok(())
    }

    /// Calls `f` with every entry in order, from the runs and from the last chunk.
    fn merge(self, mut chunk: SortChunk, mut f: impl FnMut(&SortKey)) -> Result<()> {
        let mut streams: Vec<RunReader<'_>> = Vec::new();
        for path in &self.runs {
            let file = File::open(path).context("open", path)?;
            streams.push(RunReader::Disk(BufReader::with_capacity(1 << 18, file), path));
        }
        let size = chunk.sort(self.threads);
        for part in chunk.entries.chunks(size) {
            streams.push(RunReader::Memory(part.iter(), &chunk.paths));
        }
        let mut heads = BinaryHeap::new();
        for (number, stream) in streams.iter_mut().enumerate() {
            heads.extend(stream.next()?.map(|key| Reverse((key, number))));
        }
        while let Some(Reverse((key, number))) = heads.pop() {
            f(&key);
            heads.extend(streams[number].next()?.map(|key| Reverse((key, number))));
        }
        Ok(())
    }
}

/// Sort key. The fields are in the order of comparison.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct SortKey {
    host: u32,
    path: Vec<u8>,
    site: u32,
    page: u32,
}

enum RunReader<'c> {
    Memory(std::slice::Iter<'c, PageEntry>, &'c [u8]),
    Disk(BufReader<File>, &'c Path),
}

impl RunReader<'_> {
    fn next(&mut self) -> Result<Option<SortKey>> {
        match self {
            RunReader::Memory(entries, paths) => Ok(entries.next().map(|entry| SortKey {
                host: entry.host,
                path: paths[entry.path_start as usize..][..entry.path_length as usize].to_vec(),
                site: entry.site,
                page: entry.page,
            })),
            RunReader::Disk(file, path) => read_key(file).context("read", path),
        }
    }
}

fn write_run(path: &Path, entries: &[PageEntry], paths: &[u8]) -> std::io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 18, File::create(path)?);
    for entry in entries {
        for number in [entry.host, entry.site, entry.page, entry.path_length] {
            file.write_all(&number.to_le_bytes())?;
        }
        file.write_all(&paths[entry.path_start as usize..][..entry.path_length as usize])?;
    }
    file.flush()
}

fn read_key(file: &mut BufReader<File>) -> std::io::Result<Option<SortKey>> {
    let mut head = [0; 16];
    match file.read_exact(&mut head) {
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
        result => result?,
    }
    let number = |index: usize| u32::from_le_bytes(*head.as_chunks().0.get(index).unwrap_or(&[0; 4]));
    let mut path = vec![0; number(3) as usize];
    file.read_exact(&mut path)?;
    Ok(Some(SortKey { host: number(0), path, site: number(1), page: number(2) }))
}

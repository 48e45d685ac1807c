//! In which order do pages stand in the graph? By SURT key: pages of a host lie together, hosts of a domain too. Links
//! mostly lead to near nodes then, and take few bits.
//!
//! Hosts are put in order first, then the pages by host and path; of two URLs that differ in the scheme only, the site
//! with the smaller number comes first. The order of two pages depends on their URLs alone: new pages come in between,
//! and never change the order of old ones.
//!
//! Sorted in memory as long as it suffices, and beyond that in runs on disk that are merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use model::{SiteId, UrlRules};
use store::UrlReader;

use crate::cores::Cores;
use crate::error::{Context, Result};

/// The order of pages and of sites.
pub(crate) struct NodeOrder {
    /// The page of each node.
    pub(crate) pages: Vec<u32>,
    /// The place of each node's site in `sites`.
    pub(crate) site_places: Vec<u32>,
    /// The sites in the order of their hosts.
    pub(crate) sites: Vec<u32>,
    /// For each place in `sites` the first place with the same host.
    pub(crate) hosts: Vec<u32>,
}

/// What an entry takes beside its path.
const ENTRY_BYTES: usize = size_of::<Entry>();

/// Pages of which so much memory may be taken are sorted at a time; `scratch` is a folder for the rest.
pub(crate) fn node_order(
    urls: &UrlReader,
    scratch: &Path,
    memory_bytes: u64,
    cores: Cores,
) -> Result<NodeOrder> {
    let (sites, hosts, place_of_site) = order_sites(urls);
    let mut runs = Runs { scratch: scratch.to_owned(), runs: Vec::new(), cores };
    let mut chunk = Chunk::default();
    let limit = usize::try_from(memory_bytes).unwrap_or(usize::MAX).min(u32::MAX as usize / 2);
    let mut failed = None;
    urls.scan(model::PageId(0), |page, site, path| {
        let place = place_of_site[site.index()];
        chunk.push(hosts[place as usize], place, page.0, path.as_bytes());
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
        NodeOrder { pages: Vec::with_capacity(pages), site_places: Vec::with_capacity(pages), sites, hosts };
    runs.merge(chunk, |entry| {
        order.pages.push(entry.page);
        order.site_places.push(entry.site);
    })?;
    Ok(order)
}

/// The sites in order, the first place of each one's host, and each site's place.
fn order_sites(urls: &UrlReader) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
    let rules = UrlRules::default();
    let key = |site: u32| {
        let name = urls.site_name(SiteId(site)).unwrap_or_default();
        rules.canonical(&format!("{name}/")).map_or_else(|_| name.to_owned(), |url| url.surt())
    };
    let mut keys: Vec<(String, u32)> = (0..urls.sites()).map(|site| (key(site), site)).collect();
    keys.sort_unstable();
    let mut hosts: Vec<u32> = Vec::with_capacity(keys.len());
    let mut places = vec![0; keys.len()];
    for (place, (key, site)) in keys.iter().enumerate() {
        let same = place > 0 && keys[place - 1].0 == *key;
        hosts.push(if same { hosts[place - 1] } else { place as u32 });
        places[*site as usize] = place as u32;
    }
    (keys.into_iter().map(|(_, site)| site).collect(), hosts, places)
}

/// A page that waits to be put in order.
#[derive(Debug, Clone, Copy)]
struct Entry {
    /// The first bytes of the path, most significant first: they decide most comparisons.
    prefix: u64,
    host: u32,
    site: u32,
    page: u32,
    path_start: u32,
    path_length: u32,
}

#[derive(Default)]
struct Chunk {
    entries: Vec<Entry>,
    paths: Vec<u8>,
}

impl Chunk {
    fn push(&mut self, host: u32, site: u32, page: u32, path: &[u8]) {
        let mut prefix = [0; 8];
        let known = path.len().min(8);
        prefix[..known].copy_from_slice(&path[..known]);
        let (path_start, path_length) = (self.paths.len() as u32, path.len() as u32);
        self.paths.extend_from_slice(path);
        self.entries.push(Entry {
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

    /// Puts the entries in order, in as many parts as there are cores; tells how long a part is.
    fn sort(&mut self, cores: Cores) -> usize {
        let Chunk { entries, paths } = self;
        let path = |entry: &Entry| &paths[entry.path_start as usize..][..entry.path_length as usize];
        let size = entries.len().div_ceil(cores.0).max(1);
        cores.map(entries.chunks_mut(size).collect(), |part: &mut [Entry]| {
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
struct Runs {
    scratch: PathBuf,
    runs: Vec<PathBuf>,
    cores: Cores,
}

impl Runs {
    fn spill(&mut self, mut chunk: Chunk) -> Result<()> {
        let size = chunk.sort(self.cores);
        for part in chunk.entries.chunks(size) {
            let path = self.scratch.join(format!("pages-{}", self.runs.len()));
            write_run(&path, part, &chunk.paths).context("write", &path)?;
            self.runs.push(path);
        }
        Ok(())
    }

    /// Calls `each` with every entry in order: those of the runs, and of the last chunk.
    fn merge(self, mut chunk: Chunk, mut each: impl FnMut(&Key)) -> Result<()> {
        let mut streams: Vec<Stream<'_>> = Vec::new();
        for path in &self.runs {
            let file = File::open(path).context("open", path)?;
            streams.push(Stream::Disk(BufReader::with_capacity(1 << 18, file), path));
        }
        let size = chunk.sort(self.cores);
        for part in chunk.entries.chunks(size) {
            streams.push(Stream::Memory(part.iter(), &chunk.paths));
        }
        let mut heads = BinaryHeap::new();
        for (number, stream) in streams.iter_mut().enumerate() {
            heads.extend(stream.next()?.map(|key| Reverse((key, number))));
        }
        while let Some(Reverse((key, number))) = heads.pop() {
            each(&key);
            heads.extend(streams[number].next()?.map(|key| Reverse((key, number))));
        }
        Ok(())
    }
}

/// What decides the order, in this order; the page is what is wanted.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    host: u32,
    path: Vec<u8>,
    site: u32,
    page: u32,
}

enum Stream<'c> {
    Memory(std::slice::Iter<'c, Entry>, &'c [u8]),
    Disk(BufReader<File>, &'c Path),
}

impl Stream<'_> {
    fn next(&mut self) -> Result<Option<Key>> {
        match self {
            Stream::Memory(entries, paths) => Ok(entries.next().map(|entry| Key {
                host: entry.host,
                path: paths[entry.path_start as usize..][..entry.path_length as usize].to_vec(),
                site: entry.site,
                page: entry.page,
            })),
            Stream::Disk(file, path) => read_key(file).context("read", path),
        }
    }
}

fn write_run(path: &Path, entries: &[Entry], paths: &[u8]) -> std::io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 18, File::create(path)?);
    for entry in entries {
        for number in [entry.host, entry.site, entry.page, entry.path_length] {
            file.write_all(&number.to_le_bytes())?;
        }
        file.write_all(&paths[entry.path_start as usize..][..entry.path_length as usize])?;
    }
    file.flush()
}

fn read_key(file: &mut BufReader<File>) -> std::io::Result<Option<Key>> {
    let mut head = [0; 16];
    match file.read_exact(&mut head) {
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
        result => result?,
    }
    let number = |index: usize| u32::from_le_bytes(*head.as_chunks().0.get(index).unwrap_or(&[0; 4]));
    let mut path = vec![0; number(3) as usize];
    file.read_exact(&mut path)?;
    Ok(Some(Key { host: number(0), path, site: number(1), page: number(2) }))
}

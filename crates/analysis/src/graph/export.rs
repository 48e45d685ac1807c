//! Export of the graph for other tools: files of WebGraph, and a text file with one line per node.
//!
//! ```text
//! OUT/pages.graph .offsets .properties       arcs between pages
//! OUT/pages-t.graph .offsets .properties     the same arcs, transposed
//! OUT/pages.urls                             line n is the URL of node n, from 0
//! OUT/sites.graph .offsets .properties       arcs between sites
//! OUT/sites.urls                             line n is the site of node n
//! OUT/sites.weights                          line n is the number of links that arc n stands for
//! ```

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use model::{PageId, SiteId};
use store::UrlReader;

use crate::error::{Context, Result};
use crate::graph::link_graph::LinkGraph;

/// URLs are looked up in batches, in the order of their ids, because the URL table is sorted by id.
const URLS_PER_BATCH: usize = 1 << 18;
const EXTENSIONS: [&str; 3] = ["graph", "offsets", "properties"];

/// WebGraph's Rust readers read whole words.
const WORD_BYTES: u64 = 8;

/// Files that were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExportedGraph {
    /// Number of files.
    pub files: u64,
    /// Total size.
    pub bytes: u64,
}

/// Exports a graph to a directory, which is created. Existing files are not replaced.
pub fn export_webgraph(graph: &LinkGraph, urls: &UrlReader, out: &Path) -> Result<ExportedGraph> {
    fs::create_dir_all(out).context("create", out)?;
    for (ours, theirs) in [("forward", "pages"), ("backward", "pages-t"), ("sites", "sites")] {
        for extension in EXTENSIONS {
            let from = graph.dir().join(ours).with_extension(extension);
            let to = out.join(theirs).with_extension(extension);
            let mut content = File::open(&from).context("open", &from)?;
            let mut copy = File::create_new(&to).context("create", &to)?;
            let bytes = io::copy(&mut content, &mut copy).context("copy", &from)?;
            if extension != "properties" {
                pad_to_word(&to, bytes)?;
            }
        }
    }
    write_lines(&out.join("pages.urls"), |lines| write_urls(&graph.pages()?, urls, lines))?;
    let sites = graph.sites()?;
    write_lines(&out.join("sites.urls"), |lines| {
        sites.iter().try_for_each(|site| lines.line(urls.site_name(SiteId(*site)).unwrap_or_default()))
    })?;
    let weights = graph.site_graph()?.weights;
    write_lines(&out.join("sites.weights"), |lines| {
        weights.iter().try_for_each(|weight| lines.line(&weight.to_string()))
    })?;
    let mut exported = ExportedGraph::default();
    for entry in fs::read_dir(out).context("list", out)? {
        let entry = entry.context("list", out)?;
        exported.files += 1;
        exported.bytes += entry.metadata().context("read", &entry.path())?.len();
    }
    Ok(exported)
}

/// Pads a file with zeros to whole words: WebGraph's Rust readers read words, and treat an incomplete one as the end of
/// the file.
fn pad_to_word(path: &Path, bytes: u64) -> Result<()> {
    let file = File::options().write(true).open(path).context("open", path)?;
    file.set_len(bytes.next_multiple_of(WORD_BYTES)).context("write", path)
}

/// Writes the URLs of pages, in the order of `pages`.
fn write_urls(pages: &[u32], urls: &UrlReader, lines: &mut Lines<'_>) -> Result<()> {
    for batch in pages.chunks(URLS_PER_BATCH) {
        let mut by_id: Vec<(PageId, usize)> = batch.iter().map(|page| PageId(*page)).zip(0..).collect();
        by_id.sort_unstable();
        let ids: Vec<PageId> = by_id.iter().map(|(page, _)| *page).collect();
        let mut in_order = vec![String::new(); batch.len()];
        for ((_, position), url) in by_id.into_iter().zip(urls.urls(&ids)?) {
            in_order[position] = url.unwrap_or_default();
        }
        in_order.iter().try_for_each(|url| lines.line(url))?;
    }
    Ok(())
}

/// Writer of a text file, line by line.
struct Lines<'p> {
    path: &'p Path,
    file: BufWriter<File>,
}

impl Lines<'_> {
    fn line(&mut self, text: &str) -> Result<()> {
        self.file
            .write_all(text.as_bytes())
            .and_then(|()| self.file.write_all(b"\n"))
            .context("write", self.path)
    }
}

fn write_lines(path: &Path, write: impl FnOnce(&mut Lines<'_>) -> Result<()>) -> Result<()> {
    let file = BufWriter::with_capacity(1 << 18, File::create_new(path).context("create", path)?);
    let mut lines = Lines { path, file };
    write(&mut lines)?;
    lines.file.flush().context("write", path)
}

//! How do others get the graph? As files of WebGraph, and a line of text for each node.
//!
//! ```text
//! OUT/pages.graph .offsets .properties       who links to whom
//! OUT/pages-t.graph .offsets .properties     the same turned round
//! OUT/pages.urls                             line n is the URL of node n, from 0 on
//! OUT/sites.graph .offsets .properties       the graph of sites
//! OUT/sites.urls                             line n is the site of its node n
//! OUT/sites.weights                          line n is the number of links that its arc n stands for
//! ```

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use model::{PageId, SiteId};
use store::UrlReader;

use crate::error::{Context, Result};
use crate::link_graph::LinkGraph;

/// URLs are looked up so many at a time, in the order of their ids.
const URLS_AT_ONCE: usize = 1 << 18;
const EXTENSIONS: [&str; 3] = ["graph", "offsets", "properties"];

/// What others read at a time.
const WORD_BYTES: u64 = 8;

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExportedGraph {
    /// How many files.
    pub files: u64,
    /// How long they are together.
    pub bytes: u64,
}

/// Writes a graph into a folder, which is made.
pub fn export_webgraph(graph: &LinkGraph, urls: &UrlReader, out: &Path) -> Result<ExportedGraph> {
    fs::create_dir_all(out).context("create", out)?;
    for (ours, theirs) in [("forward", "pages"), ("backward", "pages-t"), ("sites", "sites")] {
        for extension in EXTENSIONS {
            let from = graph.folder().join(ours).with_extension(extension);
            let to = out.join(theirs).with_extension(extension);
            let bytes = fs::copy(&from, &to).context("copy", &from)?;
            if extension != "properties" {
                fill_up(&to, bytes)?;
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

/// Zeros to the end of a word: the tools in Rust read words and take a part of one for the end of the file.
fn fill_up(path: &Path, bytes: u64) -> Result<()> {
    let file = File::options().write(true).open(path).context("open", path)?;
    file.set_len(bytes.next_multiple_of(WORD_BYTES)).context("write", path)
}

/// The URLs of pages, in their order.
fn write_urls(pages: &[u32], urls: &UrlReader, lines: &mut Lines<'_>) -> Result<()> {
    for some in pages.chunks(URLS_AT_ONCE) {
        let mut by_id: Vec<(PageId, usize)> = some.iter().map(|page| PageId(*page)).zip(0..).collect();
        by_id.sort_unstable();
        let ids: Vec<PageId> = by_id.iter().map(|(page, _)| *page).collect();
        let mut in_order = vec![String::new(); some.len()];
        for ((_, place), url) in by_id.into_iter().zip(urls.urls(&ids)?) {
            in_order[place] = url.unwrap_or_default();
        }
        in_order.iter().try_for_each(|url| lines.line(url))?;
    }
    Ok(())
}

/// Lines of a file.
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
    let file = BufWriter::with_capacity(1 << 18, File::create(path).context("create", path)?);
    let mut lines = Lines { path, file };
    write(&mut lines)?;
    lines.file.flush().context("write", path)
}

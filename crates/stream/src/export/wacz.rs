//! Export of a commit as one WACZ 1.1.1 file: a ZIP of WARC files, their index and a list of pages, which opens in a browser.
//!
//! The WARC files are written first, to a new temporary directory beside the file, and moved into it one by one. Existing files and
//! directories are not touched. The index is compressed in chunks of lines, with a list of the chunks (ZipNum), so that a remote reader fetches little of it.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use libdeflater::{CompressionLvl, Compressor};
use serde_json::json;
use sha2::{Digest, Sha256};
use store::{
    PageFilter, PageStream, PageStreamItem, PageStreamRequest, RecordLocation, Result, RetentionPolicy,
    Snapshot,
};

use super::failed;
use super::warc::export_warc;
use super::zip::ZipWriter;
use super::{ExportSummary, OnDamage};
use crate::page_view::PageViewer;
use crate::query::output::OutputColumn;

/// Lines per compressed chunk of the index.
const INDEX_LINES: usize = 1_024;
const VERSION: &str = "1.1.1";
/// Number of names tried for the temporary directory; killed exports of the same process id may have left some.
const MAX_TEMP_NAMES: u32 = 100;

/// Writes the pages of the selected sites to the file `out`. `info` goes into the first record of each WARC file. Damaged records
/// are reported, counted and skipped.
pub fn export_wacz(
    snapshot: &Snapshot,
    selection: &PageFilter,
    retention: RetentionPolicy,
    info: &[(String, String)],
    out: &Path,
    on_damage: OnDamage<'_>,
) -> Result<ExportSummary> {
    let dir = TempDir::create_beside(out)?;
    let sites = selection.find_sites(snapshot)?;
    let summary = export_warc(snapshot, sites.as_ref(), retention, info, &dir.0, on_damage)?;
    write_pages(snapshot, selection, &dir.0.join("pages.jsonl"))?;
    // Renamed to its final name when it is complete.
    let complete = dir.0.join("complete.wacz");
    let bytes = pack(&dir.0, summary.files as u32, snapshot.manifest.committed_ms, &complete)
        .and_then(|bytes| rename_new(&complete, out).map(|()| bytes))
        .map_err(failed("write", out))?;
    Ok(ExportSummary { files: 1, bytes, ..summary })
}

/// Renames a file, but does not replace another one.
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    // A rename replaces an existing file, so the name is taken first.
    File::create_new(to)?;
    fs::rename(from, to)
}

/// Temporary directory that did not exist before, removed on drop.
struct TempDir(PathBuf);

impl TempDir {
    fn create_beside(out: &Path) -> Result<TempDir> {
        let mut attempt = 0;
        loop {
            let mut path = out.as_os_str().to_owned();
            path.push(format!(".{}-{attempt}.tmp", std::process::id()));
            let path = PathBuf::from(path);
            match fs::create_dir(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < MAX_TEMP_NAMES => {
                    attempt += 1;
                }
                created => return created.map(|()| TempDir(path.clone())).map_err(failed("create", &path)),
            }
        }
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        // Best effort: a leftover directory is harmless.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Writes the list of pages that a viewer shows: HTML pages with status 2xx.
fn write_pages(snapshot: &Snapshot, selection: &PageFilter, path: &Path) -> Result<()> {
    let selection = PageFilter {
        statuses: vec![2],
        mime_types: vec!["text/html".to_owned(), "application/xhtml+xml".to_owned()],
        ..selection.clone()
    };
    let request = PageStreamRequest { filter: selection, ..PageStreamRequest::default() };
    let mut stream = PageStream::open(snapshot, &request)?;
    let mut viewer = PageViewer::new(&[OutputColumn::Title]);
    let file = File::create_new(path).map_err(failed("create", path))?;
    let mut out = io::BufWriter::new(file);
    let header = json!({"format": "json-pages-1.0", "id": "pages", "title": "All Pages"});
    writeln!(out, "{header}").map_err(failed("write", path))?;
    while let Some(streamed) = stream.next_page()? {
        let (place, stored) = match streamed {
            PageStreamItem::Page(place, stored) => (place, stored),
            // Reported when its record was to be copied.
            PageStreamItem::Corrupt(..) => continue,
        };
        let view = viewer.view(place, stream.cursor_after(&place), &stored);
        let title = view.document.map_or("", |document| document.title.as_str());
        let id = format!("page-{}", place.page.0);
        let line = json!({"id": id, "url": stored.url(), "ts": view.fetch_time(), "title": title});
        writeln!(out, "{line}").map_err(failed("write", path))?;
    }
    out.flush().map_err(failed("write", path))
}

fn pack(dir: &Path, warc_files: u32, committed_ms: i64, out: &Path) -> io::Result<u64> {
    let mut zip = ZipWriter::create(out)?;
    for number in 0..warc_files {
        let name = RecordLocation::in_numbered_file(number).file_name();
        let path = dir.join(&name);
        zip.add(&format!("archive/{name}"), &mut File::open(&path)?)?;
        fs::remove_file(&path)?;
    }
    let (index, chunk_list) = (dir.join("index.cdx.gz"), dir.join("index.idx"));
    compress_index(&dir.join("index.cdxj"), &index, &chunk_list)?;
    zip.add("indexes/index.cdx.gz", &mut File::open(&index)?)?;
    zip.add("indexes/index.idx", &mut File::open(&chunk_list)?)?;
    zip.add("pages/pages.jsonl", &mut File::open(dir.join("pages.jsonl"))?)?;
    let package = package(&zip, committed_ms);
    zip.add("datapackage.json", &mut package.as_bytes())?;
    let digest = json!({"path": "datapackage.json", "hash": format!("sha256:{}", hash(package.as_bytes()))});
    zip.add("datapackage-digest.json", &mut digest.to_string().as_bytes())?;
    zip.finish()
}

/// The `datapackage.json`: all files of the ZIP with their hashes.
fn package(zip: &ZipWriter, committed_ms: i64) -> String {
    let resources: Vec<_> = zip
        .entries()
        .iter()
        .map(|entry| {
            let name = entry.name.rsplit('/').next().unwrap_or_default();
            let hash = format!("sha256:{}", entry.sha256);
            json!({"name": name, "path": entry.name, "hash": hash, "bytes": entry.bytes})
        })
        .collect();
    let created =
        parse::format_date(committed_ms.div_euclid(1_000)).replacen(' ', "T", 1).replace(" UTC", "Z");
    let package = json!({
        "profile": "data-package",
        "wacz_version": VERSION,
        "software": concat!("weir ", env!("CARGO_PKG_VERSION")),
        "created": created,
        "resources": resources,
    });
    format!("{package:#}")
}

/// Compresses the index in chunks, and writes the list of chunks.
fn compress_index(index: &Path, compressed: &Path, chunk_list: &Path) -> io::Result<()> {
    let mut lines = BufReader::new(File::open(index)?);
    let (mut out, mut list) = (File::create_new(compressed)?, File::create_new(chunk_list)?);
    let meta = json!({"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"});
    writeln!(list, "!meta 0 {meta}")?;
    let mut compressor = Compressor::new(CompressionLvl::default());
    let mut offset = 0;
    loop {
        let mut chunk = String::new();
        for _ in 0..INDEX_LINES {
            if lines.by_ref().read_line(&mut chunk)? == 0 {
                break;
            }
        }
        if chunk.is_empty() {
            return Ok(());
        }
        let mut member = vec![0; compressor.gzip_compress_bound(chunk.len())];
        let length = compressor.gzip_compress(chunk.as_bytes(), &mut member).map_err(io::Error::other)?;
        out.write_all(&member[..length])?;
        let key = chunk.splitn(3, ' ').take(2).collect::<Vec<_>>().join(" ");
        let digest = format!("sha256:{}", hash(&member[..length]));
        let location = json!({"offset": offset, "length": length, "digest": digest});
        writeln!(list, "{key} {location}")?;
        offset += length;
    }
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

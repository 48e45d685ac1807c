//! The pages of a commit as one file that opens in a browser: WACZ 1.1.1, a ZIP of WARC files, their index and a list of pages.
//!
//! The WARC files are made first, beside the file, and moved into it one by one. The index is compressed in pieces of some
//! lines, with a list of the pieces (ZipNum), so that a reader far away fetches little of it.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use libdeflater::{CompressionLvl, Compressor};
use serde_json::json;
use sha2::{Digest, Sha256};
use store::{Keep, PageStream, Result, Selection, Snapshot, StreamRequest, Streamed};

use super::warc::export_warc;
use super::zip::ZipWriter;
use super::{Exported, failed};
use crate::form::Column;
use crate::page_view::Viewer;

/// Lines of the index that are compressed together.
const INDEX_LINES: usize = 1_024;
const VERSION: &str = "1.1.1";

/// Writes the pages of the selected sites to the file `out`. `info` goes into the first record of each WARC file.
pub fn export_wacz(
    snapshot: &Snapshot,
    selection: &Selection,
    keep: Keep,
    info: &[(String, String)],
    out: &Path,
) -> Result<Exported> {
    let mut parts = out.as_os_str().to_owned();
    parts.push(".parts");
    let parts = Parts(PathBuf::from(parts));
    let sites = selection.find_sites(snapshot)?;
    let exported = export_warc(snapshot, sites.as_ref(), keep, info, &parts.0)?;
    write_pages(snapshot, selection, &parts.0.join("pages.jsonl"))?;
    // It gets its name when it is complete.
    let complete = parts.0.join("complete.wacz");
    let bytes = pack(&parts.0, snapshot.manifest.committed_ms, &complete)
        .and_then(|bytes| fs::rename(&complete, out).map(|()| bytes))
        .map_err(failed("write", out))?;
    Ok(Exported { files: 1, bytes, ..exported })
}

/// A folder that is gone in the end.
struct Parts(PathBuf);

impl Drop for Parts {
    fn drop(&mut self) {
        // What is left of it is in nobody's way.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The pages that a reader is shown first: those of HTML that were found.
fn write_pages(snapshot: &Snapshot, selection: &Selection, path: &Path) -> Result<()> {
    let selection = Selection {
        statuses: vec![2],
        mime_types: vec!["text/html".to_owned(), "application/xhtml+xml".to_owned()],
        ..selection.clone()
    };
    let request = StreamRequest { selection, ..StreamRequest::default() };
    let mut stream = PageStream::open(snapshot, &request)?;
    let mut viewer = Viewer::new(&[Column::Title]);
    let file = File::create(path).map_err(failed("create", path))?;
    let mut out = io::BufWriter::new(file);
    let header = json!({"format": "json-pages-1.0", "id": "pages", "title": "All Pages"});
    writeln!(out, "{header}").map_err(failed("write", path))?;
    while let Some(streamed) = stream.next_page()? {
        let (place, stored) = match streamed {
            Streamed::Page(place, stored) => (place, stored),
            Streamed::Damaged(_, error) => return Err(error),
        };
        let view = viewer.view(place, stream.position_behind(&place), &stored);
        let title = view.document.map_or("", |document| document.title.as_str());
        let id = format!("page-{}", place.page.0);
        let line = json!({"id": id, "url": stored.url(), "ts": view.time(), "title": title});
        writeln!(out, "{line}").map_err(failed("write", path))?;
    }
    out.flush().map_err(failed("write", path))
}

fn pack(parts: &Path, committed_ms: i64, out: &Path) -> io::Result<u64> {
    let mut zip = ZipWriter::create(out)?;
    let mut archives: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(parts)? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "gz") {
            archives.push(path);
        }
    }
    archives.sort();
    for path in &archives {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        zip.add(&format!("archive/{name}"), &mut File::open(path)?)?;
        fs::remove_file(path)?;
    }
    let (index, pieces) = (parts.join("index.cdx.gz"), parts.join("index.idx"));
    compress_index(&parts.join("index.cdxj"), &index, &pieces)?;
    zip.add("indexes/index.cdx.gz", &mut File::open(&index)?)?;
    zip.add("indexes/index.idx", &mut File::open(&pieces)?)?;
    zip.add("pages/pages.jsonl", &mut File::open(parts.join("pages.jsonl"))?)?;
    let package = package(&zip, committed_ms);
    zip.add("datapackage.json", &mut package.as_bytes())?;
    let digest = json!({"path": "datapackage.json", "hash": format!("sha256:{}", hash(package.as_bytes()))});
    zip.add("datapackage-digest.json", &mut digest.to_string().as_bytes())?;
    zip.finish()
}

/// What is in the file, with the hash of each part.
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
    let created = parse::date_text(committed_ms.div_euclid(1_000)).replacen(' ', "T", 1).replace(" UTC", "Z");
    let package = json!({
        "profile": "data-package",
        "wacz_version": VERSION,
        "software": concat!("weir ", env!("CARGO_PKG_VERSION")),
        "created": created,
        "resources": resources,
    });
    format!("{package:#}")
}

/// Compresses an index piece by piece, and lists the pieces.
fn compress_index(index: &Path, compressed: &Path, pieces: &Path) -> io::Result<()> {
    let mut lines = BufReader::new(File::open(index)?);
    let (mut out, mut list) = (File::create(compressed)?, File::create(pieces)?);
    let meta = json!({"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"});
    writeln!(list, "!meta 0 {meta}")?;
    let mut compressor = Compressor::new(CompressionLvl::default());
    let mut offset = 0;
    loop {
        let mut piece = String::new();
        for _ in 0..INDEX_LINES {
            if lines.by_ref().read_line(&mut piece)? == 0 {
                break;
            }
        }
        if piece.is_empty() {
            return Ok(());
        }
        let mut member = vec![0; compressor.gzip_compress_bound(piece.len())];
        let length = compressor.gzip_compress(piece.as_bytes(), &mut member).map_err(io::Error::other)?;
        out.write_all(&member[..length])?;
        let key = piece.splitn(3, ' ').take(2).collect::<Vec<_>>().join(" ");
        let digest = format!("sha256:{}", hash(&member[..length]));
        let place = json!({"offset": offset, "length": length, "digest": digest});
        writeln!(list, "{key} {place}")?;
        offset += length;
    }
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

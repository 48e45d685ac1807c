//! Export of a commit as WARC files with a CDXJ index.
//!
//! Records are copied as they are stored, in the order of the index, so that both are written sequentially and the pages of a
//! site are adjacent. A revisit record is exported together with the record it refers to.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use store::{RecordLocation, Result, RetentionPolicy, SiteSet, Snapshot};
use warc::RecordEncoder;

use super::create_dir;
use super::failed;
use super::{ExportSummary, OnDamage, is_damage};

/// Maximum size of a WARC file, unless a single record is larger.
const MAX_FILE_BYTES: u64 = 1_000_000_000;

/// Copies the versions retained by `retention` of the pages of `sites` (`None`: all sites) to `out/*.warc.gz`, and writes their
/// index `out/index.cdxj`. Existing files are not replaced. `info` goes into the warcinfo record of each file. Damaged records
/// are reported, counted and skipped.
pub fn export_warc(
    snapshot: &Snapshot,
    sites: Option<&SiteSet>,
    retention: RetentionPolicy,
    info: &[(String, String)],
    out: &Path,
    on_damage: OnDamage<'_>,
) -> Result<ExportSummary> {
    create_dir(out)?;
    let mut export = WarcExport::create(out, info, snapshot.manifest.committed_ms)?;
    let mut member = Vec::new();
    let names: Option<HashSet<&str>> =
        sites.map(|sites| sites.iter().filter_map(|site| snapshot.urls.site_name(site)).collect());
    snapshot.page_store.for_each_retained(
        retention,
        |url| names.as_ref().is_none_or(|names| names.contains(site_of(url))),
        |version| {
            // Verifies the digests: a corrupt record is not exported.
            let read = snapshot.page_store.read_record(&version.location(), store::VerifyLevel::Digests);
            match read.and_then(|_| snapshot.page_store.read_member(&version.location(), &mut member)) {
                Err(error) if is_damage(&error) => {
                    on_damage(version.url(), &error);
                    export.summary.damaged += 1;
                    return Ok(());
                }
                outcome => outcome?,
            }
            let location = export.push(&member)?;
            export.push_line(&version.cdxj_line(location)?)
        },
    )?;
    export.finish()
}

/// Scheme, host and port of a URL.
fn site_of(url: &str) -> &str {
    let host = url.find("://").map_or(0, |colon| colon + 3);
    url[host..].find('/').map_or(url, |slash| &url[..host + slash])
}

/// WARC files and index being written.
struct WarcExport<'i> {
    dir: PathBuf,
    info: &'i [(String, String)],
    date_ms: i64,
    encoder: RecordEncoder,
    index_path: PathBuf,
    index: BufWriter<File>,
    current: Option<OpenWarcFile>,
    summary: ExportSummary,
}

/// WARC file being written.
struct OpenWarcFile {
    path: PathBuf,
    file: BufWriter<File>,
    length: u64,
}

impl<'i> WarcExport<'i> {
    fn create(dir: &Path, info: &'i [(String, String)], date_ms: i64) -> Result<WarcExport<'i>> {
        let index_path = dir.join("index.cdxj");
        let index = File::create_new(&index_path).map_err(failed("create", &index_path))?;
        Ok(WarcExport {
            dir: dir.to_owned(),
            info,
            date_ms,
            encoder: RecordEncoder::new(1),
            index_path,
            index: BufWriter::new(index),
            current: None,
            summary: ExportSummary::default(),
        })
    }

    /// Appends a record; returns its location.
    fn push(&mut self, member: &[u8]) -> Result<RecordLocation> {
        let length = self.current.as_ref().map_or(0, |current| current.length);
        if length > 0 && length + member.len() as u64 > MAX_FILE_BYTES {
            self.close_file()?;
        }
        if self.current.is_none() {
            self.current = Some(self.open_file()?);
        }
        let mut location = RecordLocation::in_numbered_file(self.summary.files as u32 - 1);
        let Some(current) = &mut self.current else { return Ok(location) };
        (location.offset, location.length) = (current.length, member.len() as u32);
        current.push(member)?;
        self.summary.records += 1;
        Ok(location)
    }

    fn push_line(&mut self, line: &str) -> Result<()> {
        writeln!(self.index, "{line}").map_err(failed("write", &self.index_path))
    }

    fn open_file(&mut self) -> Result<OpenWarcFile> {
        let name = RecordLocation::in_numbered_file(self.summary.files as u32).file_name();
        let path = self.dir.join(&name);
        let file = File::create_new(&path).map_err(failed("create", &path))?;
        self.summary.files += 1;
        let mut current = OpenWarcFile { path, file: BufWriter::new(file), length: 0 };
        current.push(&self.encoder.warcinfo(&name, self.date_ms, self.info)?)?;
        Ok(current)
    }

    fn close_file(&mut self) -> Result<()> {
        let Some(mut current) = self.current.take() else { return Ok(()) };
        self.summary.bytes += current.length;
        current.file.flush().map_err(failed("write", &current.path))
    }

    fn finish(mut self) -> Result<ExportSummary> {
        self.close_file()?;
        self.index.flush().map_err(failed("write", &self.index_path))?;
        Ok(self.summary)
    }
}

impl OpenWarcFile {
    fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.length += bytes.len() as u64;
        self.file.write_all(bytes).map_err(failed("write", &self.path))
    }
}

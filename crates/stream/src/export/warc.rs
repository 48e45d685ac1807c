//! The pages of a commit as a web archive of their own: WARC files and their index.
//!
//! Records are copied as they are stored, compressed and with their digests, in the order of the index; so both are
//! written front to back, and pages of a site lie together. A record whose body is that of another comes with the other.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use store::{Keep, PageLocation, Preparer, Result, SiteSet, Snapshot};

use super::{Exported, create_folder, failed};

/// No file is longer, unless one record is.
const FILE_BYTES: u64 = 1_000_000_000;

/// Copies the versions that `keep` keeps of the pages of these sites, or of all, to `out/*.warc.gz`, and their index to
/// `out/index.cdxj`. `info` goes into the first record of each file.
pub fn export_warc(
    snapshot: &Snapshot,
    sites: Option<&SiteSet>,
    keep: Keep,
    info: &[(String, String)],
    out: &Path,
) -> Result<Exported> {
    create_folder(out)?;
    let mut archive = Archive::create(out, info, snapshot.manifest.committed_ms)?;
    let mut member = Vec::new();
    let names: Option<HashSet<&str>> =
        sites.map(|sites| sites.iter().filter_map(|site| snapshot.urls.site_name(site)).collect());
    snapshot.bodies.for_each_kept(
        keep,
        |url| names.as_ref().is_none_or(|names| names.contains(site_of(url))),
        |version| {
            // Reading it checks it: damage is not passed on.
            snapshot.bodies.read_record(&version.location(), store::Verify::Digests)?;
            snapshot.bodies.read_member(&version.location(), &mut member)?;
            let place = archive.push(&member)?;
            archive.push_line(&version.cdxj_line(place)?)
        },
    )?;
    archive.finish()
}

/// Scheme, host and port of a URL.
fn site_of(url: &str) -> &str {
    let host = url.find("://").map_or(0, |colon| colon + 3);
    url[host..].find('/').map_or(url, |slash| &url[..host + slash])
}

/// The files under construction.
struct Archive<'i> {
    folder: PathBuf,
    info: &'i [(String, String)],
    date_ms: i64,
    preparer: Preparer,
    index_path: PathBuf,
    index: BufWriter<File>,
    current: Option<Current>,
    exported: Exported,
}

struct Current {
    path: PathBuf,
    file: BufWriter<File>,
    length: u64,
}

impl<'i> Archive<'i> {
    fn create(folder: &Path, info: &'i [(String, String)], date_ms: i64) -> Result<Archive<'i>> {
        let index_path = folder.join("index.cdxj");
        let index = File::create(&index_path).map_err(failed("create", &index_path))?;
        Ok(Archive {
            folder: folder.to_owned(),
            info,
            date_ms,
            preparer: Preparer::new(1),
            index_path,
            index: BufWriter::new(index),
            current: None,
            exported: Exported::default(),
        })
    }

    /// Appends a record; tells its place.
    fn push(&mut self, member: &[u8]) -> Result<PageLocation> {
        let length = self.current.as_ref().map_or(0, |current| current.length);
        if length > 0 && length + member.len() as u64 > FILE_BYTES {
            self.close()?;
        }
        if self.current.is_none() {
            self.current = Some(self.begin()?);
        }
        let mut place = PageLocation::in_numbered_file(self.exported.files as u32 - 1);
        let Some(current) = &mut self.current else { return Ok(place) };
        (place.offset, place.length) = (current.length, member.len() as u32);
        current.push(member)?;
        self.exported.items += 1;
        Ok(place)
    }

    fn push_line(&mut self, line: &str) -> Result<()> {
        writeln!(self.index, "{line}").map_err(failed("write", &self.index_path))
    }

    fn begin(&mut self) -> Result<Current> {
        let name = PageLocation::in_numbered_file(self.exported.files as u32).file_name();
        let path = self.folder.join(&name);
        let file = File::create(&path).map_err(failed("create", &path))?;
        self.exported.files += 1;
        let mut current = Current { path, file: BufWriter::new(file), length: 0 };
        current.push(&self.preparer.warcinfo(&name, self.date_ms, self.info)?)?;
        Ok(current)
    }

    fn close(&mut self) -> Result<()> {
        let Some(mut current) = self.current.take() else { return Ok(()) };
        self.exported.bytes += current.length;
        current.file.flush().map_err(failed("write", &current.path))
    }

    fn finish(mut self) -> Result<Exported> {
        self.close()?;
        self.index.flush().map_err(failed("write", &self.index_path))?;
        Ok(self.exported)
    }
}

impl Current {
    fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.length += bytes.len() as u64;
        self.file.write_all(bytes).map_err(failed("write", &self.path))
    }
}

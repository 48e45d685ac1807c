//! Export of the pages of a commit as plain files `host/path`: the newest version of each page with status 2xx, without
//! content encoding. Links in the pages are not rewritten.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use parse::{DecodeEnd, decode_content, max_decoded_bytes};
use store::{PageFilter, PageStream, PageStreamItem, PageStreamRequest, Result, Snapshot, StoredPage};

use super::create_dir;
use super::failed;
use super::file_name::{alternative_name, file_name, flat_name};
use super::{ExportSummary, OnDamage};

/// Maximum size of an export in relation to the stored bodies, so that decompression bombs cannot fill the disk: real pages
/// are compressed to a tenth.
const MAX_EXPANSION: u64 = 32;
/// Size up to which the relation is not checked: few pages can all be compressed well.
const UNCHECKED_BYTES: u64 = 1 << 30;

/// Maximum number of names that are tried for a page. A site can only occupy a name with a page of its own.
const MAX_NAME_ATTEMPTS: u32 = 64;
/// Of these, names in the directory of the page; the others are in that of the host.
const NAMES_IN_DIRECTORY: u32 = 4;
/// Maximum length of a directory name; file systems allow 255 bytes.
const MAX_DIR_NAME_BYTES: usize = 240;

/// Writes the selected pages to `out`. Pages that cannot be written, and damaged ones, are counted and skipped.
pub fn export_mirror(
    snapshot: &Snapshot,
    selection: &PageFilter,
    out: &Path,
    on_damage: OnDamage<'_>,
) -> Result<ExportSummary> {
    create_dir(out)?;
    let mut mirror = Mirror { out, stored_bytes: 0, summary: ExportSummary::default() };
    let request = PageStreamRequest { filter: selection.clone(), ..PageStreamRequest::default() };
    let mut stream = PageStream::open(snapshot, &request)?;
    while let Some(streamed) = stream.next_page()? {
        match streamed {
            // The status of the stored version counts: the last fetch may have been a 304 (not modified).
            PageStreamItem::Page(_, stored)
                if stored.status().is_none_or(|status| (200..300).contains(&status)) =>
            {
                mirror.write(&stored)?;
            }
            PageStreamItem::Page(..) => {}
            PageStreamItem::Corrupt(page, error) => {
                let url = snapshot.urls.url(page.page)?.unwrap_or_default();
                on_damage(&url, &error);
                mirror.summary.damaged += 1;
            }
        }
    }
    Ok(mirror.summary)
}

/// Export in progress.
struct Mirror<'o> {
    out: &'o Path,
    /// Size of the bodies as stored.
    stored_bytes: u64,
    summary: ExportSummary,
}

impl Mirror<'_> {
    fn write(&mut self, stored: &StoredPage) -> Result<()> {
        let text = |name| stored.header(name).map(|value| String::from_utf8_lossy(value).into_owned());
        let body = stored.body();
        let encoding = text("Content-Encoding").unwrap_or_default();
        let decoded = decode_content(&body, &encoding, max_decoded_bytes(body.len()));
        let is_skipped = match decoded.end {
            DecodeEnd::Complete | DecodeEnd::Broken => {
                !self.admits(body.len() as u64, decoded.bytes.len() as u64)
            }
            DecodeEnd::LimitReached | DecodeEnd::Undecodable => true,
        };
        if is_skipped {
            self.summary.skipped += 1;
            return Ok(());
        }
        let name = file_name(stored.url(), extension(&text("Content-Type").unwrap_or_default()));
        let Some((mut file, path)) = create(self.out, &name, stored.url())? else {
            self.summary.skipped += 1;
            return Ok(());
        };
        file.write_all(&decoded.bytes).map_err(failed("write", &path))?;
        self.summary.records += 1;
        self.summary.files += 1;
        self.summary.bytes += decoded.bytes.len() as u64;
        self.summary.decode_errors += u64::from(decoded.end == DecodeEnd::Broken);
        Ok(())
    }

    /// Whether the export stays within its maximum size with a page of these sizes.
    fn admits(&mut self, stored_bytes: u64, decoded_bytes: u64) -> bool {
        self.stored_bytes += stored_bytes;
        let max_bytes = UNCHECKED_BYTES.saturating_add(self.stored_bytes.saturating_mul(MAX_EXPANSION));
        self.summary.bytes.saturating_add(decoded_bytes) <= max_bytes
    }
}

/// Creates a new file and its directories; uses an alternative name where a file, or a file in place of a directory, exists.
/// `None` if no name is free.
fn create(out: &Path, name: &str, url: &str) -> Result<Option<(File, PathBuf)>> {
    for attempt in 0..MAX_NAME_ATTEMPTS {
        let path = match attempt {
            0 => free_path(out, name),
            1..NAMES_IN_DIRECTORY => free_path(out, &alternative_name(name, url, attempt)),
            _ => out.join(flat_name(name, url, attempt)),
        };
        let created = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| File::create_new(&path));
        match created {
            Ok(file) => return Ok(Some((file, path))),
            Err(error) if is_name_error(&error) => {}
            Err(error) => return Err(failed("create", &path)(error)),
        }
    }
    Ok(None)
}

/// Path of a file; a directory whose name is that of a file gets a tilde.
fn free_path(out: &Path, name: &str) -> PathBuf {
    let (dirs, file) = name.rsplit_once('/').unwrap_or(("", name));
    let mut path = out.to_owned();
    for part in dirs.split('/') {
        let mut part = part.to_owned();
        while path.join(&part).is_file() && part.len() < MAX_DIR_NAME_BYTES {
            part.push('~');
        }
        path.push(part);
    }
    path.join(file)
}

/// Whether an error is due to the name, so that another one may succeed. All others (disk full, no permission) end the export.
fn is_name_error(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::AlreadyExists
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::IsADirectory
            | io::ErrorKind::InvalidFilename
            | io::ErrorKind::InvalidInput
    )
}

/// File extension of a content type.
fn extension(content_type: &str) -> Option<&'static str> {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match essence.as_str() {
        "text/html" | "application/xhtml+xml" => Some("html"),
        "text/plain" => Some("txt"),
        "text/css" => Some("css"),
        "text/xml" | "application/xml" | "application/rss+xml" | "application/atom+xml" => Some("xml"),
        "application/json" => Some("json"),
        "application/javascript" | "text/javascript" => Some("js"),
        "application/pdf" => Some("pdf"),
        "image/png" => Some("png"),
        "image/jpeg" => Some("jpg"),
        "image/gif" => Some("gif"),
        "image/svg+xml" => Some("svg"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_whose_name_is_used_by_a_file_gets_another_name() {
        let dir = tempfile::tempdir().unwrap();
        for (name, expected) in
            [("h/a", "h/a"), ("h/a~", "h/a~"), ("h/a/b", "h/a~~/b"), ("h/a/c/d", "h/a~~/c/d")]
        {
            create(dir.path(), name, "http://h/").unwrap();
            assert!(dir.path().join(expected).is_file(), "{name}");
        }
    }

    #[test]
    fn every_page_gets_a_file_although_a_site_occupies_its_alternative_names() {
        let dir = tempfile::tempdir().unwrap();
        let url = "http://h/a.html";
        let mut names = vec!["h/a.html".to_owned()];
        names.extend((1..NAMES_IN_DIRECTORY + 3).map(|attempt| alternative_name("h/a.html", url, attempt)));
        for name in &names {
            assert!(create(dir.path(), name, "http://h/other").unwrap().is_some(), "{name}");
        }
        let (_, path) = create(dir.path(), "h/a.html", url).unwrap().unwrap();
        assert!(path.starts_with(dir.path().join("h")), "{path:?}");
        let tildes = |count| format!("h/a{}", "~".repeat(count));
        (0..MAX_DIR_NAME_BYTES + 5).for_each(|count| {
            create(dir.path(), &tildes(count), &tildes(count)).unwrap().unwrap();
        });
        let below = |name: &str| create(dir.path(), name, "http://h/a/b").unwrap().unwrap().1;
        assert!(below("h/a/b.html").ends_with(flat_name("h/a/b.html", "http://h/a/b", NAMES_IN_DIRECTORY)));
    }

    #[test]
    fn all_pages_together_have_a_maximum_size() {
        let dir = tempfile::tempdir().unwrap();
        let mut mirror = Mirror { out: dir.path(), stored_bytes: 0, summary: ExportSummary::default() };
        let (bomb, expanded) = (16 << 10, 16 << 20);
        let mut admit = |stored, decoded| {
            let is_admitted = mirror.admits(stored, decoded);
            mirror.summary.bytes += if is_admitted { decoded } else { 0 };
            is_admitted
        };
        let admitted = (0..1_000).filter(|_| admit(bomb, expanded)).count();
        assert!((64..100).contains(&admitted), "{admitted}");
        assert!((0..1_000).all(|_| admit(10_000, 100_000)), "real pages");
    }
}

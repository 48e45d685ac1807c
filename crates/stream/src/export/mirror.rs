//! Export of the pages of a commit as plain files `host/path`: the newest version of each page with status 2xx, without
//! content encoding. Links in the pages are not rewritten.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use parse::{DecodeEnd, decode_content};
use store::{PageFilter, PageStream, PageStreamItem, PageStreamRequest, Result, Snapshot, StoredPage};

use super::ExportSummary;
use super::create_dir;
use super::failed;
use super::file_name::alternative_name;
use super::file_name::file_name;

/// Maximum size of a decoded body.
const MAX_BODY_BYTES: usize = 256 << 20;

/// Writes the selected pages to `out`.
pub fn export_mirror(snapshot: &Snapshot, selection: &PageFilter, out: &Path) -> Result<ExportSummary> {
    create_dir(out)?;
    let mut summary = ExportSummary::default();
    let request = PageStreamRequest { filter: selection.clone(), ..PageStreamRequest::default() };
    let mut stream = PageStream::open(snapshot, &request)?;
    while let Some(streamed) = stream.next_page()? {
        match streamed {
            // The status of the stored version counts: the last fetch may have been a 304 (not modified).
            PageStreamItem::Page(_, stored)
                if stored.status().is_none_or(|status| (200..300).contains(&status)) =>
            {
                write(&stored, out, &mut summary)?;
            }
            PageStreamItem::Page(..) => {}
            PageStreamItem::Corrupt(_, error) => return Err(error),
        }
    }
    Ok(summary)
}

fn write(stored: &StoredPage, out: &Path, summary: &mut ExportSummary) -> Result<()> {
    let text = |name| stored.header(name).map(|value| String::from_utf8_lossy(value).into_owned());
    let body = stored.body();
    let decoded = decode_content(&body, &text("Content-Encoding").unwrap_or_default(), MAX_BODY_BYTES);
    let name = file_name(stored.url(), extension(&text("Content-Type").unwrap_or_default()));
    let mut file = create(out, &name, stored.url())?;
    file.write_all(&decoded.bytes).map_err(failed("write", &out.join(&name)))?;
    summary.records += 1;
    summary.files += 1;
    summary.bytes += decoded.bytes.len() as u64;
    summary.decode_errors += u64::from(decoded.end != DecodeEnd::Complete);
    Ok(())
}

/// Creates a new file and its directories; uses an alternative name where a file, or a file in place of a directory, exists.
fn create(out: &Path, name: &str, url: &str) -> Result<File> {
    let (dirs, file) = name.rsplit_once('/').unwrap_or(("", name));
    let mut dir = out.to_owned();
    for part in dirs.split('/') {
        let mut part = part.to_owned();
        while dir.join(&part).is_file() {
            part.push('~');
        }
        dir.push(part);
    }
    fs::create_dir_all(&dir).map_err(failed("create", &dir))?;
    let path = dir.join(file);
    match File::create_new(&path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let alternative = dir.join(alternative_name(file, url));
            File::create_new(&alternative).map_err(failed("create", &alternative))
        }
        outcome => outcome.map_err(failed("create", &path)),
    }
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
}

//! The pages of a commit as plain files in a tree `host/path`: the newest version of each page that was found, without
//! the compression it was sent with. Links in the pages are left as they are.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use parse::{Ended, decode_content};
use store::{PageStream, Result, Selection, Snapshot, StoredPage, StreamRequest, Streamed};

use super::file_name::{file_name, other_name};
use super::{Exported, create_folder, failed};

/// No body is decoded further.
const BODY_LIMIT_BYTES: usize = 256 << 20;

/// Writes the selected pages to `out`.
pub fn export_mirror(snapshot: &Snapshot, selection: &Selection, out: &Path) -> Result<Exported> {
    create_folder(out)?;
    let mut exported = Exported::default();
    let request = StreamRequest { selection: selection.clone(), ..StreamRequest::default() };
    let mut stream = PageStream::open(snapshot, &request)?;
    while let Some(streamed) = stream.next_page()? {
        match streamed {
            // The status is that of the stored version: the last visit may have brought no more than the news that it is
            // still right.
            Streamed::Page(_, stored)
                if stored.status().is_none_or(|status| (200..300).contains(&status)) =>
            {
                write(&stored, out, &mut exported)?;
            }
            Streamed::Page(..) => {}
            Streamed::Damaged(_, error) => return Err(error),
        }
    }
    Ok(exported)
}

fn write(stored: &StoredPage, out: &Path, exported: &mut Exported) -> Result<()> {
    let text = |name| stored.header(name).map(|value| String::from_utf8_lossy(value).into_owned());
    let body = stored.body();
    let decoded = decode_content(&body, &text("Content-Encoding").unwrap_or_default(), BODY_LIMIT_BYTES);
    let name = file_name(stored.url(), extension(&text("Content-Type").unwrap_or_default()));
    let mut file = create(out, &name, stored.url())?;
    file.write_all(&decoded.bytes).map_err(failed("write", &out.join(&name)))?;
    exported.items += 1;
    exported.files += 1;
    exported.bytes += decoded.bytes.len() as u64;
    exported.undecoded += u64::from(decoded.ended != Ended::Complete);
    Ok(())
}

/// Creates a file that is not there yet, under another name if need be. The folders on the way are created, too; one
/// whose name a file has is called otherwise.
fn create(out: &Path, name: &str, url: &str) -> Result<File> {
    let (folders, file) = name.rsplit_once('/').unwrap_or(("", name));
    let mut folder = out.to_owned();
    for part in folders.split('/') {
        let mut part = part.to_owned();
        while folder.join(&part).is_file() {
            part.push('~');
        }
        folder.push(part);
    }
    fs::create_dir_all(&folder).map_err(failed("create", &folder))?;
    let path = folder.join(file);
    match File::create_new(&path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let other = folder.join(other_name(file, url));
            File::create_new(&other).map_err(failed("create", &other))
        }
        outcome => outcome.map_err(failed("create", &path)),
    }
}

/// What a file of this type is called, for the types that pages have.
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
    fn a_folder_whose_names_are_taken_by_files_is_called_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        for (name, expected) in
            [("h/a", "h/a"), ("h/a~", "h/a~"), ("h/a/b", "h/a~~/b"), ("h/a/c/d", "h/a~~/c/d")]
        {
            create(folder.path(), name, "http://h/").unwrap();
            assert!(folder.path().join(expected).is_file(), "{name}");
        }
    }
}

//! Corpus of real pages: the HTML of three Debian documentation packages, about 130 MB by many authors and
//! generators.
//!
//! The packages are downloaded and unpacked once, into the directory `WEIR_CORPUS` or `target/corpus`. Installed
//! packages are never read, because an administrator may have removed or changed their files.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use flate2::read::GzDecoder;

const PACKAGES: &[&str] = &["libboost1.74-doc", "postgresql-doc-15", "python3.11-doc"];

/// Maximum length of a page; no page of the three packages is longer.
const PAGE_LIMIT_BYTES: u64 = 64 << 20;

/// A page as sent by a server, decompressed.
pub(crate) struct Page {
    /// Path relative to the corpus directory.
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
}

/// Returns the pages in the order of their paths, in memory. If they exceed the limit, every second (third, ...)
/// page, so that a small corpus is still mixed.
pub(crate) fn load(limit_bytes: usize) -> anyhow::Result<Vec<Page>> {
    let dir = dir();
    let mut paths = Vec::new();
    for package in PACKAGES {
        unpack(package, &dir).with_context(|| format!("cannot get the Debian package {package}"))?;
        find_pages(&dir.join(package), &mut paths)?;
    }
    paths.sort();
    let mut pages = paths.iter().map(|path| read_page(path, &dir)).collect::<anyhow::Result<Vec<Page>>>()?;
    let stride = total_bytes(&pages).div_ceil(limit_bytes.max(1)).max(1);
    let mut index = 0..;
    pages.retain(|_| index.next().is_some_and(|index: usize| index.is_multiple_of(stride)));
    let bytes = total_bytes(&pages);
    writeln!(io::stdout(), "corpus: {} pages, {:.1} MB", pages.len(), bytes as f64 / 1e6)?;
    Ok(pages)
}

fn total_bytes(pages: &[Page]) -> usize {
    pages.iter().map(|page| page.bytes.len()).sum()
}

fn dir() -> PathBuf {
    if let Some(dir) = std::env::var_os("WEIR_CORPUS") {
        return PathBuf::from(dir);
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    target.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target")).join("corpus")
}

/// Downloads and unpacks a package, unless it exists.
fn unpack(package: &str, dir: &Path) -> anyhow::Result<()> {
    let unpacked = dir.join(package);
    if unpacked.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(dir)?;
    let archive = match find_archive(package, dir)? {
        Some(archive) => archive,
        None => {
            run(Command::new("apt-get").args(["download", package]).current_dir(dir)).with_context(|| {
                format!("put {package}_*.deb into {} by hand, from a mirror of Debian 12", dir.display())
            })?;
            find_archive(package, dir)?.context("apt-get downloaded no file")?
        }
    };
    // Renamed when complete, so that an interrupted run leaves no incomplete corpus.
    let partial = dir.join(format!("{package}.partial"));
    run(Command::new("dpkg-deb").arg("-x").arg(&archive).arg(&partial))?;
    Ok(fs::rename(partial, unpacked)?)
}

fn find_archive(package: &str, dir: &Path) -> io::Result<Option<PathBuf>> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".deb") && name.split('_').next() == Some(package) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
    if !status.success() {
        bail!("{command:?} ended with {status}");
    }
    Ok(())
}

/// Adds every page below a directory; symbolic links are not followed, so that each page counts once.
fn find_pages(dir: &Path, pages: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            find_pages(&entry.path(), pages)?;
        } else if kind.is_file() && is_page(&entry.file_name().to_string_lossy()) {
            pages.push(entry.path());
        }
    }
    Ok(())
}

fn is_page(name: &str) -> bool {
    [".html", ".htm", ".html.gz"].iter().any(|ending| name.ends_with(ending))
}

fn read_page(path: &Path, dir: &Path) -> anyhow::Result<Page> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let mut source: Box<dyn Read> = if path.extension().is_some_and(|extension| extension == "gz") {
        Box::new(GzDecoder::new(file))
    } else {
        Box::new(file)
    };
    let mut bytes = Vec::new();
    source
        .by_ref()
        .take(PAGE_LIMIT_BYTES)
        .read_to_end(&mut bytes)
        .with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Page { path: path.strip_prefix(dir).unwrap_or(path).to_owned(), bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_known_by_their_names() {
        for page in ["index.html", "a.htm", "b.html.gz"] {
            assert!(is_page(page), "{page}");
        }
        for other in ["html", "a.gz", "a.css", "a.html.js"] {
            assert!(!is_page(other), "{other}");
        }
    }
}

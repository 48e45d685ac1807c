//! Which pages are measured? Real ones that anybody can get: the HTML of three Debian documentation packages, about
//! 130 MB written by people and by many different generators.
//!
//! The packages are downloaded and unpacked once, into the folder named by `WEIR_CORPUS` or else `target/corpus`.
//! Nothing is ever read from an installed package, whose files an administrator may have removed or changed.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use flate2::read::GzDecoder;

const PACKAGES: &[&str] = &["libboost1.74-doc", "postgresql-doc-15", "python3.11-doc"];

/// A longer page is cut; none of the three packages has one.
const PAGE_LIMIT_BYTES: u64 = 64 << 20;

/// A page as its server would send it, decompressed.
pub(crate) struct Page {
    /// Relative to the folder of the corpus.
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
}

/// The pages in the order of their paths, all in memory; where that is more than `limit_bytes`, every second (third,
/// ...) page, so that a small corpus is still a mixed one.
pub(crate) fn load(limit_bytes: usize) -> anyhow::Result<Vec<Page>> {
    let folder = folder();
    let mut paths = Vec::new();
    for package in PACKAGES {
        unpack(package, &folder)
            .with_context(|| format!("cannot get the pages of the Debian package {package}"))?;
        find_pages(&folder.join(package), &mut paths)?;
    }
    paths.sort();
    let mut pages =
        paths.iter().map(|path| read_page(path, &folder)).collect::<anyhow::Result<Vec<Page>>>()?;
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

fn folder() -> PathBuf {
    if let Some(folder) = std::env::var_os("WEIR_CORPUS") {
        return PathBuf::from(folder);
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    target.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target")).join("corpus")
}

/// Makes `folder/package` hold the files of the package, unless it is there.
fn unpack(package: &str, folder: &Path) -> anyhow::Result<()> {
    let unpacked = folder.join(package);
    if unpacked.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    let archive = match find_archive(package, folder)? {
        Some(archive) => archive,
        None => {
            run(Command::new("apt-get").args(["download", package]).current_dir(folder)).with_context(
                || {
                    format!(
                        "put {package}_*.deb into {} by hand, from a mirror of Debian 12",
                        folder.display()
                    )
                },
            )?;
            find_archive(package, folder)?.context("apt-get has downloaded nothing")?
        }
    };
    // Renamed when complete, so that a run that was interrupted leaves no half corpus behind.
    let partial = folder.join(format!("{package}.partial"));
    run(Command::new("dpkg-deb").arg("-x").arg(&archive).arg(&partial))?;
    Ok(fs::rename(partial, unpacked)?)
}

fn find_archive(package: &str, folder: &Path) -> io::Result<Option<PathBuf>> {
    for entry in fs::read_dir(folder)? {
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

/// Adds every page under `folder`; links are not followed, so that each counts once.
fn find_pages(folder: &Path, pages: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
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

fn read_page(path: &Path, folder: &Path) -> anyhow::Result<Page> {
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
    Ok(Page { path: path.strip_prefix(folder).unwrap_or(path).to_owned(), bytes })
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

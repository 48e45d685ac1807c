//! What do others want of a collection? Its pages as a web archive, its tables, or a tree of plain files.

mod file_name;
mod mirror;
mod tables;
mod warc;

use std::fs;
use std::io;
use std::path::Path;

use model::SiteId;
use store::{Error, Result, Snapshot};

pub use mirror::export_mirror;
pub use tables::export_tables;
pub use warc::export_warc;

/// What came of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Exported {
    /// Pages, or tables' files.
    pub items: u64,
    /// Files written.
    pub files: u64,
    /// Their length together.
    pub bytes: u64,
    /// Bodies that could not be decoded to their end and are written as far as they could.
    pub undecoded: u64,
}

/// Which pages are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// Those of these sites; of all if there are none here.
    sites: Vec<(SiteId, String)>,
}

impl Selection {
    /// All pages.
    pub fn all() -> Selection {
        Selection::default()
    }

    /// Adds a site, as `https://example.com`, or as a host with whatever scheme it was met; tells whether it is known.
    pub fn add_site(&mut self, snapshot: &Snapshot, name: &str) -> bool {
        let name = name.trim_end_matches('/');
        let names = if name.contains("://") {
            vec![name.to_owned()]
        } else {
            ["http", "https", "ftp", "gopher"].map(|scheme| format!("{scheme}://{name}")).to_vec()
        };
        let found = names.into_iter().filter_map(|name| Some((snapshot.urls.find_site(&name)?, name)));
        let before = self.sites.len();
        self.sites.extend(found);
        self.sites.len() > before
    }

    fn has_site(&self, site: SiteId) -> bool {
        self.sites.is_empty() || self.sites.iter().any(|(wanted, _)| *wanted == site)
    }

    fn has_url(&self, url: &str) -> bool {
        let is_of = |name: &str| url.strip_prefix(name).is_some_and(|path| path.starts_with('/'));
        self.sites.is_empty() || self.sites.iter().any(|(_, name)| is_of(name))
    }
}

/// Says which operation on which file of the export failed.
fn failed(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io { operation, path, source }
}

fn create_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(failed("create", path))
}

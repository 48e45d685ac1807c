//! Refusal of symbolic links that lead out of a collection, and of devices and pipes in it.
//!
//! A collection may come from a stranger. Its links could make a reader disclose, and a writer overwrite or delete, files
//! that do not belong to it; a pipe would block its reader, and a device would never end. The directory of the collection
//! itself may be reached through a link, and so may files that Weir does not name.

use std::fs::{self, FileType};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::{Context, Error, Result};
use crate::layout;

/// Checks the file that is read before all others.
pub(crate) fn refuse_for_manifest(dir: &Path) -> Result<()> {
    refuse(dir, [layout::MANIFEST].into_iter())
}

/// Checks the settings file of a collection, or of another directory.
pub fn check_settings_file(dir: &Path) -> Result<()> {
    refuse(dir, [layout::SETTINGS].into_iter())
}

/// Checks everything that readers open.
pub(crate) fn refuse_for_reading(dir: &Path) -> Result<()> {
    refuse(dir, layout::COMPONENTS.into_iter().chain(layout::READ_BESIDE_COMMITS))
}

/// Checks everything that writers and readers open.
pub(crate) fn refuse_for_writing(dir: &Path) -> Result<()> {
    refuse_for_reading(dir)?;
    refuse(dir, layout::WRITTEN_BESIDE_COMMITS.into_iter())
}

fn refuse(dir: &Path, names: impl Iterator<Item = &'static str>) -> Result<()> {
    let mut link_check = LinkCheck { dir, canonical_dir: None };
    names.into_iter().try_for_each(|name| link_check.visit(dir.join(name)))
}

struct LinkCheck<'d> {
    dir: &'d Path,
    /// Resolved when the first link is found.
    canonical_dir: Option<PathBuf>,
}

impl LinkCheck<'_> {
    /// Checks a file, or a directory with everything below it.
    fn visit(&mut self, path: PathBuf) -> Result<()> {
        let kind = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            metadata => metadata.context("read", &path)?.file_type(),
        };
        let mut dirs = Vec::new();
        self.check(path, kind, &mut dirs)?;
        while let Some(dir) = dirs.pop() {
            // A writer may delete directories at the same time.
            let entries = match fs::read_dir(&dir) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                entries => entries.context("list", &dir)?,
            };
            for entry in entries {
                let entry = entry.context("list", &dir)?;
                let kind = match entry.file_type() {
                    Err(error) if error.kind() == ErrorKind::NotFound => continue,
                    kind => kind.context("list", &dir)?,
                };
                self.check(entry.path(), kind, &mut dirs)?;
            }
        }
        Ok(())
    }

    /// Checks one entry, and adds it to `dirs` if it is a directory.
    fn check(&mut self, path: PathBuf, kind: FileType, dirs: &mut Vec<PathBuf>) -> Result<()> {
        if kind.is_dir() {
            dirs.push(path);
        } else if kind.is_symlink() {
            return self.check_target(path);
        } else if !kind.is_file() {
            return Err(Error::SpecialFile { path });
        }
        Ok(())
    }

    /// Accepts a link to a file of the collection. One that leads nowhere is refused: writing would create its target.
    /// One to a directory is refused, too: it could contain links of its own.
    fn check_target(&mut self, link: PathBuf) -> Result<()> {
        let dir = match &self.canonical_dir {
            Some(dir) => dir,
            None => self.canonical_dir.insert(fs::canonicalize(self.dir).context("read", self.dir)?),
        };
        match fs::canonicalize(&link) {
            Ok(target) if target.starts_with(dir) && target.is_file() => Ok(()),
            _ => Err(Error::OutsideLink { target: fs::read_link(&link).unwrap_or_default(), path: link }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::collection::{Collection, StoreSettings};
    use crate::snapshot::Snapshot;

    #[test]
    fn links_out_of_the_collection_are_refused_and_nothing_is_changed() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("letter"), "dear").unwrap();
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("collection");
        drop(Collection::create(&dir, StoreSettings::default()).unwrap());
        for (name, target) in [
            ("scratch", home.path().to_owned()),
            ("pages/weir-000007.warc.gz", home.path().join("letter")),
            ("text", home.path().to_owned()),
            ("graph/7", home.path().to_owned()),
            ("manifests/0000000007.pin", home.path().join("created")),
            ("ranks", PathBuf::from("../..")),
        ] {
            let link = dir.join(name);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            let _ = fs::remove_dir(&link);
            symlink(&target, &link).unwrap();
            let error = Collection::open(&dir, StoreSettings::default()).err().unwrap();
            assert!(matches!(error, Error::OutsideLink { .. }), "{name}: {error}");
            assert!(error.to_string().contains(&link.display().to_string()), "{error}");
            if name != "scratch" {
                let error = Snapshot::open(&dir, None).err().unwrap();
                assert!(matches!(error, Error::OutsideLink { .. }), "{name}: {error}");
            }
            fs::remove_file(&link).unwrap();
        }
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(home.path().join("letter")).unwrap(), "dear");
        Collection::open(&dir, StoreSettings::default()).unwrap();
    }

    #[test]
    fn links_to_files_of_the_collection_and_to_it_are_accepted() {
        let temp = tempfile::tempdir().unwrap();
        let (dir, alias) = (temp.path().join("collection"), temp.path().join("alias"));
        drop(Collection::create(&dir, StoreSettings::default()).unwrap());
        symlink(&dir, &alias).unwrap();
        fs::write(dir.join("pages/elsewhere"), "").unwrap();
        symlink("elsewhere", dir.join("pages/link")).unwrap();
        symlink("/nonexistent", dir.join("notes")).unwrap();
        symlink("pages/elsewhere", dir.join("weir.toml")).unwrap();
        check_settings_file(&alias).unwrap();
        Snapshot::open(&alias, None).unwrap();
        Collection::open(&alias, StoreSettings::default()).unwrap();
    }

    #[test]
    fn links_to_directories_of_the_collection_are_refused_because_of_their_own_links() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("collection");
        drop(Collection::create(&dir, StoreSettings::default()).unwrap());
        fs::create_dir(dir.join("elsewhere")).unwrap();
        symlink(temp.path(), dir.join("elsewhere/index")).unwrap();
        symlink("elsewhere", dir.join("text")).unwrap();
        let error = Snapshot::open(&dir, None).err().unwrap();
        assert!(matches!(error, Error::OutsideLink { .. }), "{error}");
    }

    #[test]
    fn sockets_pipes_and_devices_are_refused_before_they_are_opened() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("collection");
        drop(Collection::create(&dir, StoreSettings::default()).unwrap());
        let socket = dir.join("pages/socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let error = Snapshot::open(&dir, None).err().unwrap();
        assert!(matches!(error, Error::SpecialFile { .. }), "{error}");
        fs::remove_file(&socket).unwrap();
        fs::remove_file(dir.join("MANIFEST")).unwrap();
        symlink("/dev/zero", dir.join("MANIFEST")).unwrap();
        let error = Collection::open(&dir, StoreSettings::default()).err().unwrap();
        assert!(matches!(error, Error::OutsideLink { .. }), "{error}");
        let error = Snapshot::open(&dir, None).err().unwrap();
        assert!(matches!(error, Error::OutsideLink { .. }), "{error}");
    }
}

//! How is a folder a depot? Every name is a file, which is whole or not there, and stays through a power cut.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::broker::{BrokerError, Depot, check_object_name, too_long};

/// A folder that all machines see, or all processes of one machine.
pub struct FolderDepot {
    folder: PathBuf,
}

impl FolderDepot {
    /// Opens a folder, which is made if it is not there.
    pub fn open(folder: &Path) -> Result<FolderDepot, BrokerError> {
        fs::create_dir_all(folder)
            .map_err(|error| BrokerError::Refused(format!("the depot {}: {error}", folder.display())))?;
        Ok(FolderDepot { folder: folder.to_owned() })
    }

    fn path(&self, name: &str) -> Result<PathBuf, BrokerError> {
        check_object_name(name)?;
        Ok(self.folder.join(name))
    }
}

impl Depot for FolderDepot {
    fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), BrokerError> {
        let path = self.path(name)?;
        write_whole(&path, &bytes).map_err(|error| unavailable("put into the depot", &path, &error))
    }

    fn get(&self, name: &str, limit_bytes: u64) -> Result<Option<Vec<u8>>, BrokerError> {
        let path = self.path(name)?;
        let failed = |error: io::Error| unavailable("get from the depot", &path, &error);
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.folder.exists() => return Ok(None),
            file => file.map_err(failed)?,
        };
        let mut bytes = Vec::new();
        file.take(limit_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > limit_bytes {
            return Err(too_long(name, limit_bytes));
        }
        Ok(Some(bytes))
    }

    fn remove(&self, name: &str) -> Result<(), BrokerError> {
        let path = self.path(name)?;
        removed(&path, fs::remove_file(&path))
    }

    fn remove_all(&self, folder: &str) -> Result<(), BrokerError> {
        let path = self.path(folder)?;
        removed(&path, fs::remove_dir_all(&path))
    }
}

fn removed(path: &Path, outcome: io::Result<()>) -> Result<(), BrokerError> {
    match outcome {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(unavailable("remove from the depot", path, &error))
        }
        _ => Ok(()),
    }
}

/// The file has its name only when all of it is on the disk.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new().prefix(".put-").tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    File::open(folder)?.sync_all()
}

fn unavailable(what: &'static str, path: &Path, error: &io::Error) -> BrokerError {
    BrokerError::Unavailable { what, source: format!("{}: {error}", path.display()).into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_brings_back_what_is_not_too_long() {
        let folder = tempfile::tempdir().unwrap();
        let depot = FolderDepot::open(&folder.path().join("depot")).unwrap();
        depot.put("000007/000001", b"bytes".to_vec()).unwrap();
        assert_eq!(depot.get("000007/000001", 5).unwrap().as_deref(), Some(&b"bytes"[..]));
        assert!(matches!(depot.get("000007/000001", 4), Err(BrokerError::Refused(_))));
        depot.remove_all("000007").unwrap();
        depot.remove_all("000007").unwrap();
        assert_eq!(depot.get("000007/000001", 5).unwrap(), None);
        fs::remove_dir(folder.path().join("depot")).unwrap();
        assert!(matches!(depot.get("000007/000001", 5), Err(BrokerError::Unavailable { .. })));
    }
}

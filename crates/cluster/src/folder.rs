//! How is a folder a depot? Every name is a file, which is whole or not there, and stays through a power cut.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crawl::{BrokerError, Depot};

use crate::names::check_object_name;

/// A folder that all machines see, or all processes of one machine.
pub(crate) struct FolderDepot {
    folder: PathBuf,
}

impl FolderDepot {
    pub(crate) fn open(path: &str) -> Result<FolderDepot, BrokerError> {
        if !path.starts_with('/') {
            return Err(BrokerError::Refused(format!("`file://{path}` is no folder: file:///folder is")));
        }
        fs::create_dir_all(path)
            .map_err(|error| BrokerError::Refused(format!("the depot file://{path}: {error}")))?;
        Ok(FolderDepot { folder: PathBuf::from(path) })
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

    fn get(&self, name: &str, limit_bytes: u64) -> Result<Vec<u8>, BrokerError> {
        let path = self.path(name)?;
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => BrokerError::Refused(format!("`{name}` is not in the depot")),
            _ => unavailable("get from the depot", &path, &error),
        };
        let file = File::open(&path).map_err(failed)?;
        let mut bytes = Vec::new();
        file.take(limit_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > limit_bytes {
            return Err(too_long(name, limit_bytes));
        }
        Ok(bytes)
    }

    fn remove(&self, name: &str) -> Result<(), BrokerError> {
        let path = self.path(name)?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(unavailable("remove from the depot", &path, &error))
            }
            _ => Ok(()),
        }
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

pub(crate) fn too_long(name: &str, limit_bytes: u64) -> BrokerError {
    BrokerError::Refused(format!("`{name}` in the depot is longer than {limit_bytes} bytes"))
}

fn unavailable(what: &'static str, path: &Path, error: &io::Error) -> BrokerError {
    BrokerError::Unavailable { what, source: format!("{}: {error}", path.display()).into() }
}

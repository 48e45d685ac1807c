//! Blob store in a directory: one file per blob, written atomically and durably.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::transport::blob_store::{BlobStore, blob_too_large, check_blob_name};
use crate::transport::broker::BrokerError;

/// Blob store in a directory that all processes share, on one machine or on a shared file system.
pub struct DirBlobStore {
    dir: PathBuf,
}

impl DirBlobStore {
    /// Opens a directory, which is created if it does not exist.
    pub fn open(dir: &Path) -> Result<DirBlobStore, BrokerError> {
        fs::create_dir_all(dir).map_err(|error| {
            BrokerError::Refused(format!("cannot create the blob store {}: {error}", dir.display()))
        })?;
        Ok(DirBlobStore { dir: dir.to_owned() })
    }

    fn path(&self, name: &str) -> Result<PathBuf, BrokerError> {
        check_blob_name(name)?;
        Ok(self.dir.join(name))
    }
}

impl BlobStore for DirBlobStore {
    fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), BrokerError> {
        let path = self.path(name)?;
        write_atomically(&path, &bytes).map_err(|error| unavailable("write to the blob store", &path, &error))
    }

    fn get(&self, name: &str, max_bytes: u64) -> Result<Option<Vec<u8>>, BrokerError> {
        let path = self.path(name)?;
        let failed = |error: io::Error| unavailable("read from the blob store", &path, &error);
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.dir.exists() => return Ok(None),
            file => file.map_err(failed)?,
        };
        let mut bytes = Vec::new();
        file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > max_bytes {
            return Err(blob_too_large(name, max_bytes));
        }
        Ok(Some(bytes))
    }

    fn remove(&self, name: &str) -> Result<(), BrokerError> {
        let path = self.path(name)?;
        removed(&path, fs::remove_file(&path))
    }

    fn remove_prefix(&self, prefix: &str) -> Result<(), BrokerError> {
        let path = self.path(prefix)?;
        removed(&path, fs::remove_dir_all(&path))
    }
}

fn removed(path: &Path, outcome: io::Result<()>) -> Result<(), BrokerError> {
    match outcome {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(unavailable("delete from the blob store", path, &error))
        }
        _ => Ok(()),
    }
}

/// Writes a temporary file, syncs it and renames it, so that a blob is complete or missing.
fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let dir = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    fs::create_dir_all(dir)?;
    let mut file = tempfile::Builder::new().prefix(".put-").tempfile_in(dir)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    File::open(dir)?.sync_all()
}

fn unavailable(what: &'static str, path: &Path, error: &io::Error) -> BrokerError {
    BrokerError::Unavailable { operation: what, source: format!("{}: {error}", path.display()).into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blob_is_read_back_unless_it_is_too_long() {
        let temp = tempfile::tempdir().unwrap();
        let blobs = DirBlobStore::open(&temp.path().join("blobs")).unwrap();
        blobs.put("000007/000001", b"bytes".to_vec()).unwrap();
        assert_eq!(blobs.get("000007/000001", 5).unwrap().as_deref(), Some(&b"bytes"[..]));
        assert!(matches!(blobs.get("000007/000001", 4), Err(BrokerError::BlobTooLarge { .. })));
        blobs.remove_prefix("000007").unwrap();
        blobs.remove_prefix("000007").unwrap();
        assert_eq!(blobs.get("000007/000001", 5).unwrap(), None);
        fs::remove_dir(temp.path().join("blobs")).unwrap();
        assert!(matches!(blobs.get("000007/000001", 5), Err(BrokerError::Unavailable { .. })));
    }
}

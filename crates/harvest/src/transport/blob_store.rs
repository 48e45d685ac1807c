//! Store for data that is too long for messages: segments of a harvest and long batches.

use crate::transport::broker::BrokerError;

/// Store for data that is too long for messages. Names are paths with slashes.
pub trait BlobStore: Send + Sync {
    /// Stores a blob. A name is only ever used for the same content.
    fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), BrokerError>;

    /// Reads a blob; `None` if it does not exist, an error if it is longer than `max_bytes`.
    fn get(&self, name: &str, max_bytes: u64) -> Result<Option<Vec<u8>>, BrokerError>;

    /// Deletes a blob, if it exists.
    fn remove(&self, name: &str) -> Result<(), BrokerError>;

    /// Deletes all blobs below a prefix, which is followed by a slash in their names.
    fn remove_prefix(&self, prefix: &str) -> Result<(), BrokerError>;
}

const MAX_BLOB_NAME_BYTES: usize = 512;

/// Checks that a name has no part with a special meaning to a file system.
pub fn check_blob_name(name: &str) -> Result<(), BrokerError> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let word = |word: &str| !word.is_empty() && !word.starts_with('.') && word.bytes().all(fits);
    if name.len() > MAX_BLOB_NAME_BYTES || !name.split('/').all(word) {
        return Err(BrokerError::Refused(format!("`{name}` is not a valid blob name")));
    }
    Ok(())
}

/// Error for a blob that exceeds the maximum length.
pub fn blob_too_large(name: &str, max_bytes: u64) -> BrokerError {
    BrokerError::BlobTooLarge { name: name.to_owned(), max_bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leads_out_of_the_store() {
        for name in ["", "/", "a/", "/a", "a//b", "..", "a/../b", "a/.hidden", "a b", "a\\b", "a\0"] {
            assert!(check_blob_name(name).is_err(), "{name}");
        }
        assert!(check_blob_name("harvest/7-a.b_c/0.zst").is_ok());
    }
}

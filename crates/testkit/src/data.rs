//! Conformance data: the sets in this crate, and larger ones beside the repository.

use std::path::{Path, PathBuf};

use crate::skip::skip;

/// Returns the path of a file or directory in `crates/testkit/data`.
pub fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name)
}

/// Returns the path of a file or directory in `shared/data` beside the repository, for sets that are too large for the
/// repository. `None` if it is missing and tests may be skipped.
///
/// # Panics
/// If it is missing and tests may not be skipped; see [`skip`].
pub fn shared_data(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = root.ancestors().map(|dir| dir.join("shared/data").join(name)).find(|path| path.exists());
    if found.is_none() {
        skip(&format!("shared/data/{name} is missing"));
    }
    found
}

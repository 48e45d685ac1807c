//! Names of all files and directories of a collection.
//!
//! ```text
//! DIR/weir.toml                     settings; not part of a commit
//! DIR/LOCK                          lock of the one writing process
//! DIR/MANIFEST                      the newest commit: a hard link to the manifest of that generation
//! DIR/manifests/GENERATION          the retained commits
//! DIR/manifests/GENERATION.pin      a named snapshot; the content is its name
//! DIR/scratch/                      files of background work, not yet referenced by a manifest
//! DIR/parquet/TABLE/                hard links to the Parquet files of the newest commit, for external tools
//! DIR/ranks/                        rank columns of the last analysis; not part of a commit
//! DIR/graph/                        the link graph of the last analysis; not part of a commit
//! DIR/text/                         the text index; not part of a commit
//! DIR/urls/ state/ pages/ tables/ links/    files of the components, all referenced by manifests
//! ```

use std::path::{Path, PathBuf};

pub(crate) const LOCK: &str = "LOCK";
pub(crate) const MANIFEST: &str = "MANIFEST";
/// Link to the next manifest, before it is renamed to `MANIFEST`.
pub(crate) const NEXT_MANIFEST: &str = "MANIFEST.next";
pub(crate) const MANIFESTS: &str = "manifests";
/// Directory of background work; a file moves to its component in the commit that references it.
pub(crate) const SCRATCH: &str = "scratch";
const PIN: &str = "pin";
const EXPIRED: &str = "expired";

/// Directories whose files are all referenced by manifests; other files in them are deleted.
pub(crate) const COMPONENTS: [&str; 5] = ["urls", "state", "pages", "tables", "links"];

/// Path of the manifest of a commit.
pub(crate) fn manifest(dir: &Path, generation: u64) -> PathBuf {
    dir.join(MANIFESTS).join(format!("{generation:010}"))
}

/// Path of the file that pins a commit.
pub(crate) fn pin(dir: &Path, generation: u64) -> PathBuf {
    manifest(dir, generation).with_extension(PIN)
}

/// Path of a manifest that is being deleted.
pub(crate) fn expired(dir: &Path, generation: u64) -> PathBuf {
    manifest(dir, generation).with_extension(EXPIRED)
}

/// Parses the generation from the name of a manifest whose deletion was interrupted.
pub(crate) fn expired_generation(file_name: &str) -> Option<u64> {
    file_name.strip_suffix(EXPIRED)?.strip_suffix('.').and_then(generation)
}

/// Parses the generation from the name of a manifest; `None` for pins and leftovers.
pub(crate) fn generation(file_name: &str) -> Option<u64> {
    file_name.bytes().all(|byte| byte.is_ascii_digit()).then(|| file_name.parse().ok()).flatten()
}

//! Every name on disk, in one place.
//!
//! ```text
//! DIR/weir.toml                     settings; not part of a commit
//! DIR/LOCK                          held by the one process that writes
//! DIR/MANIFEST                      the newest commit: a hard link to the manifest of that generation
//! DIR/manifests/GENERATION          the commits that are kept, each a snapshot
//! DIR/manifests/GENERATION.pin      a snapshot that somebody wants to keep; its content is the snapshot's name
//! DIR/scratch/                      files of long background work, which no manifest names yet
//! DIR/parquet/TABLE/                links to the Parquet files of the newest commit, for people and their tools
//! DIR/ranks/                        what the last analysis found, by page and site; no part of a commit
//! DIR/graph/                        the link graph of the last analysis; no part of a commit
//! DIR/text/                         the index of the text; no part of a commit
//! DIR/urls/ state/ pages/ tables/ links/    the components' files, all named in manifests
//! ```

use std::path::{Path, PathBuf};

pub(crate) const LOCK: &str = "LOCK";
pub(crate) const MANIFEST: &str = "MANIFEST";
/// The next manifest, before it takes the place of the last one.
pub(crate) const NEXT_MANIFEST: &str = "MANIFEST.next";
pub(crate) const MANIFESTS: &str = "manifests";
/// Where background work writes: a file moves to its component in the commit that names it.
pub(crate) const SCRATCH: &str = "scratch";
const PIN: &str = "pin";
const EXPIRED: &str = "expired";

/// The folders that hold nothing but what manifests name.
pub(crate) const COMPONENTS: [&str; 5] = ["urls", "state", "pages", "tables", "links"];

/// The manifest of a commit.
pub(crate) fn manifest(folder: &Path, generation: u64) -> PathBuf {
    folder.join(MANIFESTS).join(format!("{generation:010}"))
}

/// The file that pins a commit.
pub(crate) fn pin(folder: &Path, generation: u64) -> PathBuf {
    manifest(folder, generation).with_extension(PIN)
}

/// A manifest on its way out.
pub(crate) fn expired(folder: &Path, generation: u64) -> PathBuf {
    manifest(folder, generation).with_extension(EXPIRED)
}

/// The generation of a manifest that was on its way out when the process died.
pub(crate) fn expired_generation(file_name: &str) -> Option<u64> {
    file_name.strip_suffix(EXPIRED)?.strip_suffix('.').and_then(generation)
}

/// The generation of a manifest, by its file name; `None` for pins and leftovers.
pub(crate) fn generation(file_name: &str) -> Option<u64> {
    file_name.bytes().all(|byte| byte.is_ascii_digit()).then(|| file_name.parse().ok()).flatten()
}

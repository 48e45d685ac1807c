//! Names of all files and directories of a collection.
//!
//! ```text
//! DIR/weir.toml                     settings; not part of a commit
//! DIR/LOCK                          lock of the one writing process
//! DIR/MANIFEST                      the newest commit: a hard link to the manifest of that generation
//! DIR/manifests/GENERATION          the retained commits
//! DIR/manifests/GENERATION.pin      a named snapshot; the content is its name and a checksum
//! DIR/scratch/                      files of background work, not yet referenced by a manifest
//! DIR/parquet/TABLE/                hard links to the Parquet files of the newest commit, for external tools
//! DIR/ranks/                        rank columns of the last analysis; not part of a commit
//! DIR/graph/                        the link graph of the last analysis; not part of a commit
//! DIR/text/                         the text index; not part of a commit
//! DIR/urls/ state/ pages/ tables/ links/    files of the components, all referenced by manifests
//! ```

use std::path::{Path, PathBuf};

pub(crate) const LOCK: &str = "LOCK";
pub(crate) const SETTINGS: &str = "weir.toml";
pub(crate) const MANIFEST: &str = "MANIFEST";
/// Link to the next manifest, before it is renamed to `MANIFEST`.
pub(crate) const NEXT_MANIFEST: &str = "MANIFEST.next";
pub(crate) const MANIFESTS: &str = "manifests";
/// List of the files of derived data, in `text/` and in the directory of a graph.
pub(crate) const FILE_LIST: &str = "FILES";
/// Directory of background work; a file moves to its component in the commit that references it.
pub(crate) const SCRATCH: &str = "scratch";
const PIN: &str = "pin";
const UNFINISHED_PIN: &str = "pin.unfinished";
const EXPIRED: &str = "expired";

/// Directories whose files are referenced by manifests. Files with names of [`is_component_file`] that no manifest references are deleted.
pub(crate) const COMPONENTS: [&str; 5] = ["urls", "state", "pages", "tables", "links"];

/// Directories of data that is derived from commits.
pub(crate) const DERIVED: [&str; 4] = ["graph", "parquet", "ranks", "text"];

/// Other files and directories that readers open.
pub(crate) const READ_BESIDE_COMMITS: [&str; 6] = [MANIFEST, MANIFESTS, "ranks", "graph", "text", "parquet"];

/// Other files and directories that only writers open. Those of a crawl in progress are named in docs/format.md.
pub(crate) const WRITTEN_BESIDE_COMMITS: [&str; 11] = [
    LOCK,
    NEXT_MANIFEST,
    SCRATCH,
    "batches",
    "harvests",
    "outlinks",
    "journal",
    "leased",
    "quarantine",
    "workers",
    "broker-identity",
];

/// Names of the files of the components except tables: directory, prefix and suffix. Numbers are between prefix and suffix.
const COMPONENT_FILES: [(&str, &str, &str); 16] = [
    ("urls", "head-", ""),
    ("urls", "run-", ""),
    ("urls", "sites", ""),
    ("urls", "text", ""),
    ("urls", "text-index", ""),
    ("state", "pages-", ".columns"),
    ("state", "pages-", ".delta"),
    ("state", "pages-", ".log"),
    ("state", "sites-", ".columns"),
    ("state", "sites-", ".delta"),
    ("state", "sites-", ".log"),
    ("state", "robots-", ".texts"),
    ("pages", "weir-", ".warc.gz"),
    ("pages", "", ".cdxj"),
    ("pages", "", ".checksums"),
    ("links", "", ".links"),
];

/// Whether a component writes files of this name. Other files in its directory belong to the user.
pub(crate) fn is_component_file(component: &str, file_name: &str) -> bool {
    if component == "tables" {
        let stem = file_name.strip_suffix(".parquet").unwrap_or_default();
        let stem = stem.strip_suffix("-merged").unwrap_or(stem);
        // The name of a rewritten file has `-rN`.
        let stem = match stem.rsplit_once("-r") {
            Some((first, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => first,
            _ => stem,
        };
        return stem.rsplit_once('-').is_some_and(|(_, number)| generation(number).is_some());
    }
    COMPONENT_FILES.iter().any(|(dir, prefix, suffix)| {
        let numbers = file_name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(suffix));
        // The name of a rewritten WARC file has `-rN`.
        let is_number = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'r');
        *dir == component && numbers.is_some_and(|numbers| numbers.bytes().all(is_number))
    })
}

/// Whether a name consists of a directory of `COMPONENTS` and the name of a file in it. Names of a manifest are joined to the path of the
/// collection, and must not lead out of it.
pub(crate) fn is_component_path(name: &str) -> bool {
    name.split_once('/').is_some_and(|(dir, file)| COMPONENTS.contains(&dir) && is_plain_name(file))
}

/// Whether a name leads to a file of derived data, by its path relative to the directory of the collection.
pub(crate) fn is_derived_path(name: &str) -> bool {
    // Tantivy has files whose names begin with a dot.
    let is_plain = |part: &str| is_plain_name(part.strip_prefix('.').unwrap_or(part));
    let mut parts = name.split('/');
    let dir = parts.next().unwrap_or_default();
    let mut parts = parts.peekable();
    DERIVED.contains(&dir) && parts.peek().is_some() && parts.all(is_plain)
}

/// Whether Weir creates files or directories of this name directly in the directory of a collection.
pub fn is_collection_entry(name: &str) -> bool {
    let known = [&COMPONENTS[..], &READ_BESIDE_COMMITS, &WRITTEN_BESIDE_COMMITS, &[SETTINGS]];
    known.iter().any(|names| names.contains(&name))
}

/// Whether a name has only letters, digits and `-._`, and does not begin with a dot.
pub(crate) fn is_plain_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    !name.is_empty() && !name.starts_with('.') && name.bytes().all(is_plain)
}

/// Path of the manifest of a commit.
pub(crate) fn manifest(dir: &Path, generation: u64) -> PathBuf {
    dir.join(MANIFESTS).join(format!("{generation:010}"))
}

/// Path of the file that pins a commit.
pub(crate) fn pin(dir: &Path, generation: u64) -> PathBuf {
    manifest(dir, generation).with_extension(PIN)
}

/// Path of a pin that is being written.
pub(crate) fn unfinished_pin(dir: &Path, generation: u64) -> PathBuf {
    manifest(dir, generation).with_extension(UNFINISHED_PIN)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_components_are_distinguished_from_those_of_users() {
        for (component, name) in [
            ("urls", "head-0000000001"),
            ("urls", "run-0000000001-0"),
            ("urls", "text-index"),
            ("state", "pages-00001-0000000007.columns"),
            ("state", "sites-0000000007.log"),
            ("state", "robots-0000000000.texts"),
            ("pages", "weir-000007-r1.warc.gz"),
            ("pages", "0000000001-0.cdxj"),
            ("links", "0000000001-0000000002.links"),
            ("tables", "site_log-0000000001-merged.parquet"),
            ("tables", "fetches-0000000001-r12.parquet"),
        ] {
            assert!(is_component_file(component, name), "{name}");
            assert!(is_component_path(&format!("{component}/{name}")), "{name}");
        }
        for (component, name) in [
            ("pages", "notes.txt"),
            ("pages", "mine.warc.gz"),
            ("pages", "weir-000007.warc.gz.bak"),
            ("pages", "text"),
            ("urls", "text.old"),
            ("tables", "mine.parquet"),
        ] {
            assert!(!is_component_file(component, name), "{name}");
        }
    }

    #[test]
    fn no_path_of_a_manifest_leads_out_of_the_collection() {
        for name in [
            "",
            "pages",
            "pages/",
            "/etc/passwd",
            "pages/../x",
            "pages/..",
            "../x",
            "weir.toml",
            "pages/a/b",
            "pages/a\0",
        ] {
            assert!(!is_component_path(name), "{name}");
        }
    }
}

//! Retention of page versions: the policy, and the selection of versions in the index.

use std::collections::{HashMap, HashSet};

use super::index::{CdxjFileReader, IndexEntry, merge};
use crate::error::Result;

/// Policy that decides which versions of a page are retained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetentionPolicy {
    /// All versions.
    All,
    /// Only the newest version, and the newest successful one.
    Latest,
    /// This number of the newest versions, at least one, and the newest successful one.
    Versions(u32),
}

impl RetentionPolicy {
    /// Number of versions of a page to retain.
    fn versions(self) -> usize {
        match self {
            RetentionPolicy::All => usize::MAX,
            RetentionPolicy::Latest => 1,
            RetentionPolicy::Versions(count) => count.max(1) as usize,
        }
    }
}

/// Selector of the versions that a policy retains.
pub(super) struct VersionSelector<'i> {
    index: &'i [CdxjFileReader],
    max_versions: usize,
}

impl<'i> VersionSelector<'i> {
    pub(super) fn new(index: &'i [CdxjFileReader], policy: RetentionPolicy) -> VersionSelector<'i> {
        VersionSelector { index, max_versions: policy.versions() }
    }

    /// Locations of the records with the payload of retained revisit records.
    pub(super) fn needed_originals(&self) -> Result<HashSet<(u32, u64)>> {
        let mut needed = HashSet::new();
        self.for_each(|entry, retained| {
            if let Some(original) = entry.original_location.filter(|_| retained) {
                needed.insert((original.file, original.offset));
            }
        })?;
        Ok(needed)
    }

    /// Bytes of superseded records in each file.
    pub(super) fn garbage_bytes(&self, needed: &HashSet<(u32, u64)>) -> Result<HashMap<u32, u64>> {
        let mut garbage = HashMap::new();
        self.for_each_superseded(needed, |entry| {
            *garbage.entry(entry.location.file).or_default() += u64::from(entry.location.length);
        })?;
        Ok(garbage)
    }

    /// Calls `visit` with every entry that is neither retained nor needed.
    pub(super) fn for_each_superseded(
        &self,
        needed: &HashSet<(u32, u64)>,
        mut visit: impl FnMut(&IndexEntry),
    ) -> Result<()> {
        self.for_each(|entry, retained| {
            if !retained && !needed.contains(&(entry.location.file, entry.location.offset)) {
                visit(entry);
            }
        })
    }

    /// Calls `visit` with every entry and whether the policy retains it.
    pub(super) fn for_each(&self, mut visit: impl FnMut(&IndexEntry, bool)) -> Result<()> {
        let mut same_key: Vec<IndexEntry> = Vec::new();
        merge(self.index, |file, text| {
            let entry = file.decode(text)?;
            if same_key.last().is_some_and(|last| last.cdxj.key != entry.cdxj.key) {
                select_versions(&mut same_key, self.max_versions, &mut visit);
            }
            same_key.push(entry);
            Ok(())
        })?;
        select_versions(&mut same_key, self.max_versions, &mut visit);
        Ok(())
    }
}

/// Selects the newest versions of each URL among the entries of one key, and clears `entries`. The newest successful version
/// is always retained, so that an error or redirect does not remove the content of a page. A 304 response is not a version:
/// the last one is retained as long as the version that it confirms.
fn select_versions(
    entries: &mut Vec<IndexEntry>,
    max_versions: usize,
    visit: &mut impl FnMut(&IndexEntry, bool),
) {
    entries.sort_by(|a, b| {
        (&a.cdxj.url, &b.cdxj.timestamp, b.location).cmp(&(&b.cdxj.url, &a.cdxj.timestamp, a.location))
    });
    for versions in entries.chunk_by(|a, b| a.cdxj.url == b.cdxj.url) {
        let (mut age, mut confirmed, mut has_success) = (0, false, false);
        for entry in versions {
            let is_new = age < max_versions;
            if entry.cdxj.is_not_modified() {
                visit(entry, (is_new || !has_success) && (!confirmed || max_versions == usize::MAX));
                confirmed = true;
            } else {
                let is_first_success = !has_success && entry.cdxj.is_success();
                visit(entry, is_new || is_first_success);
                has_success |= is_first_success;
                // A 304 response after an error confirms the content before the error.
                (age, confirmed) = (age + 1, confirmed && !entry.cdxj.is_success());
            }
        }
    }
    entries.clear();
}

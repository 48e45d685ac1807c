//! Versions to copy into another archive: those that a policy retains, and those with their payloads.

use std::collections::HashSet;

use super::location::RecordLocation;
use super::reader::PageStoreReader;
use super::retention::{RetentionPolicy, VersionSelector};
use crate::error::{Result, corrupt};
use crate::pages::index::IndexEntry;

/// Version of a page to be copied.
#[derive(Debug, Clone)]
pub struct RetainedVersion {
    entry: IndexEntry,
}

impl RetainedVersion {
    /// URL of the page.
    pub fn url(&self) -> &str {
        &self.entry.cdxj.url
    }

    /// Location of its record.
    pub fn location(&self) -> RecordLocation {
        self.entry.location
    }

    /// Encodes its index line for another location.
    pub fn cdxj_line(&self, location: RecordLocation) -> Result<String> {
        // The new location of the original is not known yet; the record itself identifies the original.
        let entry = IndexEntry { location, original_location: None, ..self.entry.clone() };
        entry.encode().map_err(|error| corrupt("pages".as_ref(), "in the index", error.to_string()))
    }
}

impl PageStoreReader {
    /// Calls `visit` with the versions that a policy retains of the URLs accepted by `filter`, and with the records of
    /// their payloads, in the order of an index. Memory: a few bytes for each revisit record among them.
    pub fn for_each_retained(
        &self,
        policy: RetentionPolicy,
        filter: impl Fn(&str) -> bool,
        mut visit: impl FnMut(&RetainedVersion) -> Result<()>,
    ) -> Result<()> {
        let versions = VersionSelector::new(&self.index, policy);
        let mut needed: HashSet<RecordLocation> = HashSet::new();
        versions.for_each(|entry, retained| {
            needed.extend(entry.original_location.filter(|_| retained && filter(&entry.cdxj.url)));
        })?;
        let mut same_key: Vec<RetainedVersion> = Vec::new();
        let mut outcome = Ok(());
        versions.for_each(|entry, retained| {
            if outcome.is_err() || !(retained && filter(&entry.cdxj.url) || needed.contains(&entry.location))
            {
                return;
            }
            if same_key.last().is_some_and(|last| last.entry.cdxj.key != entry.cdxj.key) {
                outcome = flush(&mut same_key, &mut visit);
            }
            same_key.push(RetainedVersion { entry: entry.clone() });
        })?;
        outcome.and_then(|()| flush(&mut same_key, &mut visit))
    }

    /// Replaces the content of `out` by the gzip member of a record.
    pub fn read_member(&self, location: &RecordLocation, out: &mut Vec<u8>) -> Result<()> {
        self.file(location)?.read_raw(location, out)
    }
}

fn flush(
    versions: &mut Vec<RetainedVersion>,
    mut visit: impl FnMut(&RetainedVersion) -> Result<()>,
) -> Result<()> {
    let order =
        |version: &RetainedVersion| (version.entry.cdxj.timestamp.clone(), version.entry.cdxj.url.clone());
    versions.sort_by_cached_key(order);
    versions.drain(..).try_for_each(|version| visit(&version))
}

//! Which records would another archive need? The versions that a policy keeps, and those whose bodies they share.

use std::collections::HashSet;

use super::compaction::Versions;
use super::reader::PageReader;
use super::{Keep, PageLocation};
use crate::cdxj::CdxjLine;
use crate::error::{Result, damaged};

/// A version of a page that is to be copied.
#[derive(Debug, Clone)]
pub struct KeptVersion {
    line: CdxjLine,
}

impl KeptVersion {
    /// The page.
    pub fn url(&self) -> &str {
        &self.line.url
    }

    /// Where its record is.
    pub fn location(&self) -> PageLocation {
        self.line.location
    }

    /// The line of an index that finds it at another place.
    pub fn cdxj_line(&self, location: PageLocation) -> Result<String> {
        // Where the body of another record is copied to is not known yet; the record itself says which one it is.
        let line = CdxjLine { location, original: None, ..self.line.clone() };
        line.encode().map_err(|error| damaged("pages".as_ref(), "in the index", error.to_string()))
    }
}

impl PageReader {
    /// Calls `each` with the versions that a policy keeps of the wanted URLs, and with those that they share a body with,
    /// in the order of an index. Memory: some bytes for each revisit record among them.
    pub fn for_each_kept(
        &self,
        keep: Keep,
        wanted: impl Fn(&str) -> bool,
        mut each: impl FnMut(&KeptVersion) -> Result<()>,
    ) -> Result<()> {
        let versions = Versions::of(&self.index, keep);
        let mut needed: HashSet<PageLocation> = HashSet::new();
        versions.for_each(|line, kept| {
            needed.extend(line.original.filter(|_| kept && wanted(&line.url)));
        })?;
        let mut same_key: Vec<KeptVersion> = Vec::new();
        let mut outcome = Ok(());
        versions.for_each(|line, kept| {
            if outcome.is_err() || !(kept && wanted(&line.url) || needed.contains(&line.location)) {
                return;
            }
            if same_key.last().is_some_and(|last| last.line.key != line.key) {
                outcome = flush(&mut same_key, &mut each);
            }
            same_key.push(KeptVersion { line: line.clone() });
        })?;
        outcome.and_then(|()| flush(&mut same_key, &mut each))
    }

    /// Replaces the content of `out` by the gzip member of a record, as it is stored.
    pub fn read_member(&self, location: &PageLocation, out: &mut Vec<u8>) -> Result<()> {
        self.file(location)?.read_raw(location, out)
    }
}

fn flush(versions: &mut Vec<KeptVersion>, mut each: impl FnMut(&KeptVersion) -> Result<()>) -> Result<()> {
    let order = |version: &KeptVersion| (version.line.timestamp.clone(), version.line.url.clone());
    versions.sort_by_cached_key(order);
    versions.drain(..).try_for_each(|version| each(&version))
}

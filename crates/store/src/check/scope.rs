//! Data that is affected by the corruption of a file, derived from its name.

use std::ops::Range;

use crate::state::{page, site};
use crate::tables::is_committed;

/// Data that is lost or unreliable. A range is one of ids; `None` means any.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CorruptionScope {
    /// The whole commit.
    Commit,
    /// The URLs of pages.
    Urls(Option<Range<u32>>),
    /// Lookup of page ids by URL.
    UrlLookup,
    /// The state of pages.
    PageState(Option<Range<u32>>),
    /// The state of sites.
    SiteState(Option<Range<u32>>),
    /// The robots.txt of sites.
    RobotsTexts,
    /// The stored page with this URL; `None` means some pages of the file.
    StoredPage(Option<String>),
    /// CDXJ index of the stored pages.
    PageIndex,
    /// The links of pages.
    Links,
    /// Rows of a table.
    Table(String),
    /// Name of a snapshot.
    SnapshotName,
    /// The link graph of the last analysis, and results of its steps.
    LinkGraph,
    /// Rank column of the last analysis.
    Ranks(String),
    /// Statistics of an analysis, the input of reports.
    Statistics,
    /// The text index.
    TextIndex,
}

impl CorruptionScope {
    /// Whether the data is a result of an analysis, which can be computed again.
    pub fn is_of_analysis(&self) -> bool {
        match self {
            CorruptionScope::LinkGraph | CorruptionScope::Ranks(_) | CorruptionScope::Statistics => true,
            CorruptionScope::Table(name) => !is_committed(name),
            _ => false,
        }
    }

    /// Derives the scope from the name of a file.
    pub(super) fn from_file(name: &str) -> CorruptionScope {
        let (dir, file) = name.split_once('/').unwrap_or(("", name));
        match dir {
            "urls" if file == "text" => CorruptionScope::Urls(None),
            "urls" if file.starts_with("run-") => CorruptionScope::UrlLookup,
            "state" if file.starts_with("robots-") => CorruptionScope::RobotsTexts,
            "state" if file.starts_with("pages-") => {
                CorruptionScope::PageState(segment_range(file, page::SEGMENT_RECORDS))
            }
            "state" => CorruptionScope::SiteState(segment_range(file, site::SEGMENT_RECORDS)),
            "pages" if is_warc(file) => CorruptionScope::StoredPage(None),
            "pages" => CorruptionScope::PageIndex,
            "links" => CorruptionScope::Links,
            "parquet" => CorruptionScope::Table(file.split('/').next().unwrap_or(file).to_owned()),
            "manifests" if file.ends_with(".pin") => CorruptionScope::SnapshotName,
            "ranks" => {
                CorruptionScope::Ranks(file.rsplit_once('-').map_or(file, |(column, _)| column).to_owned())
            }
            "graph" if file.starts_with("statistics-") => CorruptionScope::Statistics,
            "graph" => CorruptionScope::LinkGraph,
            "text" => CorruptionScope::TextIndex,
            "tables" => CorruptionScope::Table(file.split('-').next().unwrap_or(file).to_owned()),
            _ => CorruptionScope::Commit,
        }
    }
}

pub(super) fn is_warc(name: &str) -> bool {
    name.ends_with(".warc.gz")
}

/// Ids in a segment, by the name of its file.
fn segment_range(file: &str, records: u32) -> Option<Range<u32>> {
    let segment: u32 =
        file.strip_suffix(".columns").or(file.strip_suffix(".delta"))?.split('-').nth(1)?.parse().ok()?;
    let first = segment.checked_mul(records)?;
    Some(first..first.saturating_add(records))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scope_follows_from_the_file_name() {
        assert_eq!(CorruptionScope::from_file("MANIFEST"), CorruptionScope::Commit);
        assert_eq!(CorruptionScope::from_file("urls/head-0000000001"), CorruptionScope::Commit);
        assert_eq!(CorruptionScope::from_file("urls/text"), CorruptionScope::Urls(None));
        let second = page::SEGMENT_RECORDS..2 * page::SEGMENT_RECORDS;
        let name = "state/pages-00001-0000000007.columns";
        assert_eq!(CorruptionScope::from_file(name), CorruptionScope::PageState(Some(second)));
        assert_eq!(
            CorruptionScope::from_file("state/pages-0000000007.log"),
            CorruptionScope::PageState(None)
        );
        assert_eq!(
            CorruptionScope::from_file("pages/weir-000000.warc.gz"),
            CorruptionScope::StoredPage(None)
        );
        assert_eq!(
            CorruptionScope::from_file("tables/links-0000000001.parquet"),
            CorruptionScope::Table("links".to_owned())
        );
    }
}

//! What is lost with a file? Its name tells, where nobody knows better.

use std::ops::Range;

use crate::page_state;
use crate::site_state;

/// What cannot be read, or cannot be trusted. A range is one of ids; without one it may be any.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Affects {
    /// The whole commit.
    Commit,
    /// The URLs of pages.
    Urls(Option<Range<u32>>),
    /// Whether a URL is known, and as which page.
    UrlLookUp,
    /// The state of pages.
    PageState(Option<Range<u32>>),
    /// The state of sites.
    SiteState(Option<Range<u32>>),
    /// The robots.txt of sites.
    RobotsTexts,
    /// A stored page by its URL; without one, some of the pages in the file.
    StoredPage(Option<String>),
    /// Finding stored pages by their URLs.
    PageIndex,
    /// The links of pages.
    Links,
    /// Rows of a table.
    Table(String),
}

impl Affects {
    /// As far as the name of a file tells.
    pub(super) fn of_file(name: &str) -> Affects {
        let (folder, file) = name.split_once('/').unwrap_or(("", name));
        match folder {
            "urls" if file == "text" => Affects::Urls(None),
            "urls" if file.starts_with("run-") => Affects::UrlLookUp,
            "state" if file.starts_with("robots-") => Affects::RobotsTexts,
            "state" if file.starts_with("pages-") => {
                Affects::PageState(segment_range(file, page_state::SEGMENT_RECORDS))
            }
            "state" => Affects::SiteState(segment_range(file, site_state::SEGMENT_RECORDS)),
            "pages" if super::is_warc(file) => Affects::StoredPage(None),
            "pages" => Affects::PageIndex,
            "links" => Affects::Links,
            "tables" => Affects::Table(file.split('-').next().unwrap_or(file).to_owned()),
            _ => Affects::Commit,
        }
    }
}

/// The ids in a segment, by the name of its file.
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
    fn a_name_tells_what_is_lost() {
        assert_eq!(Affects::of_file("MANIFEST"), Affects::Commit);
        assert_eq!(Affects::of_file("urls/head-0000000001"), Affects::Commit);
        assert_eq!(Affects::of_file("urls/text"), Affects::Urls(None));
        let second = page_state::SEGMENT_RECORDS..2 * page_state::SEGMENT_RECORDS;
        let name = "state/pages-00001-0000000007.columns";
        assert_eq!(Affects::of_file(name), Affects::PageState(Some(second)));
        assert_eq!(Affects::of_file("state/pages-0000000007.log"), Affects::PageState(None));
        assert_eq!(Affects::of_file("pages/weir-000000.warc.gz"), Affects::StoredPage(None));
        assert_eq!(Affects::of_file("tables/links-0000000001.parquet"), Affects::Table("links".to_owned()));
    }
}

//! Order, partitions and cursors of a page stream.

use std::fmt;
use std::str::FromStr;

use model::{PageId, SiteId};

use crate::error::Error;
use crate::pages::RecordLocation;

/// Order of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum PageOrder {
    /// Order of the WARC files: as fetched.
    #[default]
    Crawl,
    /// Grouped by site; within a site in the order of the WARC files.
    Site,
}

/// Partition of a stream for parallel readers; together the partitions have every page once. In crawl order they divide the
/// pages, in site order whole sites.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamPartition {
    number: u32,
    count: u32,
}

impl StreamPartition {
    /// All pages.
    pub const ALL: StreamPartition = StreamPartition { number: 1, count: 1 };

    /// Partition `number` of `count`, from 1; `None` if it does not exist.
    pub fn new(number: u32, count: u32) -> Option<StreamPartition> {
        (1..=count).contains(&number).then_some(StreamPartition { number, count })
    }

    /// Whether a page belongs to the partition.
    pub(super) fn contains(self, order: PageOrder, page: PageId, site: SiteId) -> bool {
        let id = match order {
            PageOrder::Crawl => page.0,
            PageOrder::Site => site.0,
        };
        id % self.count == self.number - 1
    }
}

impl Default for StreamPartition {
    fn default() -> StreamPartition {
        StreamPartition::ALL
    }
}

impl FromStr for StreamPartition {
    type Err = String;

    fn from_str(text: &str) -> Result<StreamPartition, String> {
        let numbers = text
            .split_once('/')
            .and_then(|(number, count)| Some((number.parse().ok()?, count.parse().ok()?)));
        let partition = numbers.and_then(|(number, count)| StreamPartition::new(number, count));
        partition.ok_or_else(|| "expected I/K with I from 1 to K, such as 2/3".to_owned())
    }
}

impl fmt::Display for StreamPartition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.number, self.count)
    }
}

/// Page of a stream with the location of its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRef {
    /// Page.
    pub page: PageId,
    /// Site of the page.
    pub site: SiteId,
    /// Location of the record.
    pub location: RecordLocation,
}

/// Position in a stream after a page, from which it can be resumed. It is valid for one commit and one order, with any
/// filter. As text it consists of numbers separated by dots. The cursors of a stream ascend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamCursor {
    /// Generation of the commit.
    pub generation: u64,
    /// Order of the stream.
    pub order: PageOrder,
    pub(super) key: StreamSortKey,
}

/// Sort key of a stream: site (0 in crawl order), file, offset.
pub(super) type StreamSortKey = (u32, u32, u64);

impl PageRef {
    pub(super) fn key(&self, order: PageOrder) -> StreamSortKey {
        let site = match order {
            PageOrder::Crawl => 0,
            PageOrder::Site => self.site.0,
        };
        (site, self.location.file, self.location.offset)
    }
}

impl fmt::Display for StreamCursor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (generation, (site, file, offset)) = (self.generation, self.key);
        match self.order {
            PageOrder::Crawl => write!(out, "{generation}.{file}.{offset}"),
            PageOrder::Site => write!(out, "{generation}.{site}.{file}.{offset}"),
        }
    }
}

impl FromStr for StreamCursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<StreamCursor, Error> {
        let wrong = || Error::InvalidCursor {
            cursor: text.chars().take(100).collect(),
            cause: "it is not a cursor; use one that a stream returned".to_owned(),
        };
        let numbers: Option<Vec<u64>> = text.split('.').take(5).map(|number| number.parse().ok()).collect();
        let (generation, order, site, file, offset) = match numbers.as_deref() {
            Some(&[generation, file, offset]) => (generation, PageOrder::Crawl, 0, file, offset),
            Some(&[generation, site, file, offset]) => (generation, PageOrder::Site, site, file, offset),
            _ => return Err(wrong()),
        };
        let small = |number: u64| u32::try_from(number).map_err(|_| wrong());
        Ok(StreamCursor { generation, order, key: (small(site)?, small(file)?, offset) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_and_partitions_are_formatted_and_parsed() {
        for text in ["7.1024.99", "7.3.1024.281474976710656"] {
            assert_eq!(text.parse::<StreamCursor>().unwrap().to_string(), text);
        }
        for text in ["", "7", "7.1", "7.1.2.3.4", "7.4294967296.1", "a.b.c", "-1.2.3", "1..2"] {
            let error = text.parse::<StreamCursor>().unwrap_err().to_string();
            assert!(error.contains("not a cursor"), "{error}");
        }
        assert_eq!("2/3".parse::<StreamPartition>().unwrap().to_string(), "2/3");
        for text in ["", "0/3", "4/3", "1", "1/0", "1/2/3", "x/y"] {
            assert!(text.parse::<StreamPartition>().is_err(), "{text}");
        }
    }
}

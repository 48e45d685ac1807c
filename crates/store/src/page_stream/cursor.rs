//! In which order do pages come, to whom, and where does a broken stream go on?

use std::fmt;
use std::str::FromStr;

use model::{PageId, SiteId};

use crate::error::Error;
use crate::pages::RecordLocation;

/// The order of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum PageOrder {
    /// As the pages lie in their files: in the order in which they were fetched.
    #[default]
    Crawl,
    /// Site after site; those of a site as they lie in their files.
    Site,
}

/// One share of a stream that several read side by side; together they get every page once. In crawl order pages are dealt
/// out one by one, in the order of sites whole sites are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamPartition {
    number: u32,
    of: u32,
}

impl StreamPartition {
    /// Everything.
    pub const ALL: StreamPartition = StreamPartition { number: 1, of: 1 };

    /// StreamPartition `number` of `of`, counted from 1; none if there is no such part.
    pub fn new(number: u32, of: u32) -> Option<StreamPartition> {
        (1..=of).contains(&number).then_some(StreamPartition { number, of })
    }

    /// Whether a page belongs to it.
    pub(super) fn has(self, order: PageOrder, page: PageId, site: SiteId) -> bool {
        let number = match order {
            PageOrder::Crawl => page.0,
            PageOrder::Site => site.0,
        };
        number % self.of == self.number - 1
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
        let numbers =
            text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        let part = numbers.and_then(|(number, of)| StreamPartition::new(number, of));
        part.ok_or_else(|| format!("`{text}` is no part; the parts of three are 1/3, 2/3 and 3/3"))
    }
}

impl fmt::Display for StreamPartition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.number, self.of)
    }
}

/// A page that a stream gives, and where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRef {
    /// The page.
    pub page: PageId,
    /// Its site.
    pub site: SiteId,
    /// Its record.
    pub location: RecordLocation,
}

/// A place in a stream, behind a page: whoever goes on from there gets the next one. It is good for one commit and one order,
/// with whatever selection; as text, it is some numbers with dots. Those of a stream ascend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamCursor {
    /// The commit.
    pub generation: u64,
    /// The order of the stream.
    pub order: PageOrder,
    pub(super) key: StreamSortKey,
}

/// What places are put in order by: site (0 where that does not count), file, offset.
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
    fn positions_and_parts_survive_as_text() {
        for text in ["7.1024.99", "7.3.1024.281474976710656"] {
            assert_eq!(text.parse::<StreamCursor>().unwrap().to_string(), text);
        }
        for text in ["", "7", "7.1", "7.1.2.3.4", "7.4294967296.1", "a.b.c", "-1.2.3", "1..2"] {
            let error = text.parse::<StreamCursor>().unwrap_err().to_string();
            assert!(error.contains("no position"), "{error}");
        }
        assert_eq!("2/3".parse::<StreamPartition>().unwrap().to_string(), "2/3");
        for text in ["", "0/3", "4/3", "1", "1/0", "1/2/3", "x/y"] {
            assert!(text.parse::<StreamPartition>().is_err(), "{text}");
        }
    }
}

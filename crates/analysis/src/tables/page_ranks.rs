//! Rank columns of pages and sites, if they belong to the analysed commit.

use std::ops::Range;
use std::path::Path;

use store::{RankColumn, RankTarget, RankValue};

use crate::error::Result;

/// A column that may be missing.
pub(crate) struct OptionalColumn<V>(Option<RankColumn<V>>);

impl<V: RankValue> OptionalColumn<V> {
    pub(crate) fn open(
        collection: &Path,
        of: RankTarget,
        name: &str,
        generation: u64,
    ) -> Result<OptionalColumn<V>> {
        let column = RankColumn::open(collection, of, name)?;
        Ok(OptionalColumn(column.filter(|column| column.generation() == generation)))
    }

    /// Reads the values of a range.
    pub(crate) fn read(&self, ids: &Range<u32>) -> Result<ColumnValues<V>> {
        let values = self.0.as_ref().map(|column| column.read(ids.clone())).transpose()?;
        Ok(ColumnValues { start: ids.start, values: values.unwrap_or_default() })
    }
}

/// Values of consecutive pages or sites.
pub(crate) struct ColumnValues<V> {
    start: u32,
    values: Vec<V>,
}

impl<V: Copy> ColumnValues<V> {
    pub(crate) fn get(&self, id: u32) -> Option<V> {
        self.values.get((id - self.start) as usize).copied()
    }
}

impl ColumnValues<u32> {
    /// Value of a column in which 0 means none, and other values are ids + 1.
    pub(crate) fn get_id(&self, id: u32) -> Option<u32> {
        self.get(id)?.checked_sub(1)
    }
}

macro_rules! columns {
    ($(#[$doc:meta])* $Columns:ident, $Read:ident, $of:expr, { $($name:ident: $Value:ty = $file:literal,)+ }) => {
        $(#[$doc])*
        pub(crate) struct $Columns {
            $($name: OptionalColumn<$Value>,)+
        }

        /// Values of a range.
        pub(crate) struct $Read {
            $(pub(crate) $name: ColumnValues<$Value>,)+
        }

        impl $Columns {
            pub(crate) fn open(collection: &Path, generation: u64) -> Result<$Columns> {
                Ok($Columns { $($name: OptionalColumn::open(collection, $of, $file, generation)?,)+ })
            }

            pub(crate) fn read(&self, ids: &Range<u32>) -> Result<$Read> {
                Ok($Read { $($name: self.$name.read(ids)?,)+ })
            }
        }
    };
}

columns! {
    /// Rank columns of pages.
    PageColumns, PageRankValues, RankTarget::Pages, {
        in_degree: u32 = "in-degree",
        out_degree: u32 = "out-degree",
        pagerank: f32 = "pagerank",
        link_rank: f32 = "link-rank",
        hub: f32 = "hub",
        authority: f32 = "authority",
        component: u32 = "component",
        part: u32 = "part",
        duplicate_group: u32 = "duplicate-group",
        near_group: u32 = "near-group",
    }
}

columns! {
    /// Rank columns of sites.
    SiteColumns, SiteRankValues, RankTarget::Sites, {
        in_degree: u32 = "in-degree",
        out_degree: u32 = "out-degree",
        pagerank: f32 = "pagerank",
        site_rank: f32 = "site-rank",
        harmonic: f32 = "harmonic",
        component: u32 = "component",
        part: u32 = "part",
        mirror_of: u32 = "mirror-of",
    }
}

//! What did the steps before find of each page or site? Their columns, as far as they are of this commit.

use std::ops::Range;
use std::path::Path;

use store::{RankColumn, RankValue, Ranked};

use crate::error::Result;

/// A column that may not be there.
pub(super) struct MaybeColumn<V>(Option<RankColumn<V>>);

impl<V: RankValue> MaybeColumn<V> {
    pub(super) fn open(collection: &Path, of: Ranked, name: &str, generation: u64) -> Result<MaybeColumn<V>> {
        let column = RankColumn::open(collection, of, name)?;
        Ok(MaybeColumn(column.filter(|column| column.generation() == generation)))
    }

    /// Some of its numbers.
    pub(super) fn read(&self, ids: &Range<u32>) -> Result<Numbers<V>> {
        let numbers = self.0.as_ref().map(|column| column.read(ids.clone())).transpose()?;
        Ok(Numbers { start: ids.start, numbers: numbers.unwrap_or_default() })
    }
}

/// Numbers of consecutive pages or sites.
pub(super) struct Numbers<V> {
    start: u32,
    numbers: Vec<V>,
}

impl<V: Copy> Numbers<V> {
    pub(super) fn of(&self, id: u32) -> Option<V> {
        self.numbers.get((id - self.start) as usize).copied()
    }
}

impl Numbers<u32> {
    /// Columns in which 0 stands for nothing, and all else for the number before it.
    pub(super) fn id_of(&self, id: u32) -> Option<u32> {
        self.of(id)?.checked_sub(1)
    }
}

macro_rules! columns {
    ($(#[$doc:meta])* $Columns:ident, $Read:ident, $of:expr, { $($name:ident: $Value:ty = $file:literal,)+ }) => {
        $(#[$doc])*
        pub(super) struct $Columns {
            $($name: MaybeColumn<$Value>,)+
        }

        /// Some of their numbers.
        pub(super) struct $Read {
            $(pub(super) $name: Numbers<$Value>,)+
        }

        impl $Columns {
            pub(super) fn open(collection: &Path, generation: u64) -> Result<$Columns> {
                Ok($Columns { $($name: MaybeColumn::open(collection, $of, $file, generation)?,)+ })
            }

            pub(super) fn read(&self, ids: &Range<u32>) -> Result<$Read> {
                Ok($Read { $($name: self.$name.read(ids)?,)+ })
            }
        }
    };
}

columns! {
    /// Those of pages.
    PageColumns, PageNumbers, Ranked::Pages, {
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
    /// Those of sites.
    SiteColumns, SiteNumbers, Ranked::Sites, {
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

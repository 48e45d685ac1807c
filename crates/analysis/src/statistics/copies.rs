//! How many pages share a text? The sizes of groups of duplicates and of near duplicates.

use std::collections::HashMap;

use store::{PageRow, Statistic};

use super::Description;
use super::distribution::{Seen, describe};
use crate::analyzer::{Analyzer, Reads};
use crate::power_law::Values;

const SAME: &str = "duplicate-groups";
const NEAR: &str = "near-duplicate-groups";
const OF: &str = "groups";

/// Counts the pages of each group; 8 bytes and some more a group.
#[derive(Debug, Clone, Default)]
pub(super) struct Copies {
    same: HashMap<u32, u32>,
    near: HashMap<u32, u32>,
}

impl Analyzer for Copies {
    const READS: Reads = Reads::PAGES;
    type Finding = Vec<Statistic>;

    fn page(&mut self, page: &PageRow<'_>) {
        for (groups, group) in
            [(&mut self.same, page.duplicate_group), (&mut self.near, page.near_duplicate_group)]
        {
            if let Some(group) = group {
                *groups.entry(group).or_default() += 1;
            }
        }
    }

    fn merge(&mut self, other: Copies) {
        for (groups, more) in [(&mut self.same, other.same), (&mut self.near, other.near)] {
            more.into_iter().for_each(|(group, pages)| *groups.entry(group).or_default() += pages);
        }
    }

    fn finish(self) -> Vec<Statistic> {
        let sizes = |(name, groups): (&str, HashMap<u32, u32>)| {
            let mut seen = Seen::default();
            groups.into_values().for_each(|pages| seen.add(f64::from(pages)));
            seen.finish(name, OF, Some(Values::Discrete))
        };
        [(SAME, self.same), (NEAR, self.near)].map(sizes).into()
    }
}

pub(super) fn descriptions() -> Vec<Description> {
    let of = |name, column: &str, meaning| {
        let values = format!(
            "select cast(count(*) as double) as x from pages where {column} is not null group by {column}"
        );
        describe(name, meaning, OF, &values)
    };
    vec![
        of(SAME, "duplicate_group", "Pages that have the same text, by group."),
        of(NEAR, "near_duplicate_group", "Pages that have nearly the same text, by group."),
    ]
}

//! Sizes of the clusters of exact and near duplicates.

use std::collections::HashMap;

use store::{PageRow, Statistic};

use super::description::Description;
use super::distribution::{DistributionSketch, describe};
use crate::scan::analyzer::{Analyzer, Inputs};
use crate::sketch::power_law::ValueKind;

const EXACT: &str = "duplicate-groups";
const NEAR: &str = "near-duplicate-groups";
const OF: &str = "groups";

/// Counts the pages of each cluster; about 8 bytes per cluster.
#[derive(Debug, Clone, Default)]
pub(super) struct DuplicateClusters {
    exact: HashMap<u32, u32>,
    near: HashMap<u32, u32>,
}

impl Analyzer for DuplicateClusters {
    const INPUTS: Inputs = Inputs::PAGES;
    type Output = Vec<Statistic>;

    fn page(&mut self, page: &PageRow<'_>) {
        for (groups, group) in
            [(&mut self.exact, page.duplicate_group), (&mut self.near, page.near_duplicate_group)]
        {
            if let Some(group) = group {
                *groups.entry(group).or_default() += 1;
            }
        }
    }

    fn merge(&mut self, other: DuplicateClusters) {
        for (groups, more) in [(&mut self.exact, other.exact), (&mut self.near, other.near)] {
            more.into_iter().for_each(|(group, pages)| *groups.entry(group).or_default() += pages);
        }
    }

    fn finish(self) -> Vec<Statistic> {
        let sizes = |(name, groups): (&str, HashMap<u32, u32>)| {
            let mut sketch = DistributionSketch::default();
            groups.into_values().for_each(|pages| sketch.add(f64::from(pages)));
            sketch.finish(name, OF, Some(ValueKind::Discrete))
        };
        [(EXACT, self.exact), (NEAR, self.near)].map(sizes).into()
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
        of(EXACT, "duplicate_group", "Pages per cluster of exact duplicates."),
        of(NEAR, "near_duplicate_group", "Pages per cluster of near duplicates."),
    ]
}

//! How do the pages found divide by site, language, year and type?

use std::collections::HashMap;

use tantivy::DocId;
use tantivy::columnar::StrColumn;

use super::columns::{Columns, text_of};
use crate::error::Result;

/// Pages that are counted at most, of each segment.
const MOST_COUNTED: u32 = 1_000_000;
/// Values that are told of, most frequent first.
const MOST_TOLD: usize = 10;

/// How the pages found divide. If not all of them were counted, there are at least so many of each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facets {
    /// Pages that were counted: all that were found ([`super::Answer::total`]), unless there are very many.
    pub counted: u64,
    /// By site: `https://example.org`.
    pub sites: Vec<FacetCount>,
    /// By the code of the language.
    pub languages: Vec<FacetCount>,
    /// By the year of their date.
    pub years: Vec<FacetCount>,
    /// By the type of their content.
    pub types: Vec<FacetCount>,
}

/// Pages with one value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FacetCount {
    /// The value.
    pub value: String,
    /// Pages.
    pub pages: u64,
}

/// Counts of a whole index.
#[derive(Debug, Default)]
pub(super) struct FacetCounts {
    counted: u64,
    sites: HashMap<u64, u64>,
    languages: HashMap<String, u64>,
    years: HashMap<i64, u64>,
    types: HashMap<String, u64>,
}

/// Counts of one segment, by numbers.
pub(super) struct SegmentFacets {
    columns: Columns,
    counted: u32,
    sites: HashMap<u64, u64>,
    languages: Vec<u64>,
    days: HashMap<i64, u64>,
    types: Vec<u64>,
}

const DAY_S: i64 = 86_400;

impl SegmentFacets {
    pub(super) fn new(columns: Columns) -> SegmentFacets {
        let places =
            |column: &Option<StrColumn>| vec![0; column.as_ref().map_or(0, |column| column.num_terms())];
        SegmentFacets {
            languages: places(&columns.language),
            types: places(&columns.mime),
            columns,
            counted: 0,
            sites: HashMap::new(),
            days: HashMap::new(),
        }
    }

    pub(super) fn count(&mut self, doc: DocId) {
        if self.counted >= MOST_COUNTED {
            return;
        }
        self.counted += 1;
        *self.sites.entry(self.columns.site.get_val(doc)).or_default() += 1;
        if let Some(date_s) = self.columns.date_s(doc) {
            *self.days.entry(date_s.div_euclid(DAY_S)).or_default() += 1;
        }
        count_text(self.columns.language.as_ref(), doc, &mut self.languages);
        count_text(self.columns.mime.as_ref(), doc, &mut self.types);
    }

    pub(super) fn counts(self) -> Result<FacetCounts> {
        let mut years = HashMap::new();
        for (day, pages) in self.days {
            *years.entry(year(day)).or_default() += pages;
        }
        Ok(FacetCounts {
            counted: self.counted.into(),
            sites: self.sites,
            languages: texts(self.columns.language.as_ref(), &self.languages)?,
            years,
            types: texts(self.columns.mime.as_ref(), &self.types)?,
        })
    }
}

fn count_text(column: Option<&StrColumn>, doc: DocId, counts: &mut [u64]) {
    let number = column.and_then(|column| column.ords().first(doc));
    if let Some(count) = number.and_then(|number| counts.get_mut(number as usize)) {
        *count += 1;
    }
}

fn texts(column: Option<&StrColumn>, counts: &[u64]) -> Result<HashMap<String, u64>> {
    let mut found = HashMap::new();
    let Some(column) = column else { return Ok(found) };
    for (number, pages) in (0..).zip(counts).filter(|(_, pages)| **pages > 0) {
        if let Some(text) = text_of(column, number)? {
            found.insert(text, *pages);
        }
    }
    Ok(found)
}

/// The year of a day since 1970.
fn year(day: i64) -> i64 {
    let text = parse::date_text(day.saturating_mul(DAY_S));
    text.split('-').next().and_then(|year| year.parse().ok()).unwrap_or_default()
}

impl FacetCounts {
    pub(super) fn add(&mut self, other: FacetCounts) {
        self.counted += other.counted;
        add(&mut self.sites, other.sites);
        add(&mut self.languages, other.languages);
        add(&mut self.years, other.years);
        add(&mut self.types, other.types);
    }

    pub(super) fn named(self, site_name: impl Fn(u64) -> String) -> Facets {
        Facets {
            counted: self.counted,
            sites: told(self.sites, site_name),
            languages: told(self.languages, |code| code),
            years: told(self.years, |year| year.to_string()),
            types: told(self.types, |mime| mime),
        }
    }
}

fn add<K: std::hash::Hash + Eq>(counts: &mut HashMap<K, u64>, others: HashMap<K, u64>) {
    for (key, pages) in others {
        *counts.entry(key).or_default() += pages;
    }
}

fn told<K: Ord>(counts: HashMap<K, u64>, name: impl Fn(K) -> String) -> Vec<FacetCount> {
    let mut counts: Vec<(K, u64)> = counts.into_iter().collect();
    counts.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts.truncate(MOST_TOLD);
    counts.into_iter().map(|(key, pages)| FacetCount { value: name(key), pages }).collect()
}

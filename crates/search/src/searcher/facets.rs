//! Facets: counts of matches by site, language, year and MIME type.

use std::collections::HashMap;

use tantivy::DocId;
use tantivy::columnar::StrColumn;

use super::fast_fields::FastFields;
use super::fast_fields::ordinal_text;
use crate::error::Result;

/// Maximum number of counted matches per segment.
const MAX_COUNTED_HITS: u32 = 1_000_000;
/// Maximum number of values per facet.
const MAX_VALUES: usize = 10;

/// Counts of matches by value. They are lower bounds if not all matches were counted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facets {
    /// Number of counted matches: all ([`super::SearchResult::total`]), unless there are very many.
    pub hits_counted: u64,
    /// By site, such as `https://example.org`.
    pub sites: Vec<FacetCount>,
    /// By language code.
    pub languages: Vec<FacetCount>,
    /// By year of the date.
    pub years: Vec<FacetCount>,
    /// By MIME type.
    pub mime_types: Vec<FacetCount>,
}

/// Count of one value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FacetCount {
    /// Value.
    pub value: String,
    /// Number of pages.
    pub pages: u64,
}

/// Counts of all segments.
#[derive(Debug, Default)]
pub(super) struct FacetCounts {
    hits_counted: u64,
    sites: HashMap<u64, u64>,
    languages: HashMap<String, u64>,
    years: HashMap<i64, u64>,
    mime_types: HashMap<String, u64>,
}

/// Counts of one segment, by term ordinal.
pub(super) struct SegmentFacets {
    fast_fields: FastFields,
    hits_counted: u32,
    sites: HashMap<u64, u64>,
    languages: Vec<u64>,
    days: HashMap<i64, u64>,
    mime_types: Vec<u64>,
}

const DAY_S: i64 = 86_400;

impl SegmentFacets {
    pub(super) fn new(fast_fields: FastFields) -> SegmentFacets {
        let zeros =
            |column: &Option<StrColumn>| vec![0; column.as_ref().map_or(0, |column| column.num_terms())];
        SegmentFacets {
            languages: zeros(&fast_fields.language),
            mime_types: zeros(&fast_fields.mime_type),
            fast_fields,
            hits_counted: 0,
            sites: HashMap::new(),
            days: HashMap::new(),
        }
    }

    pub(super) fn count(&mut self, doc: DocId) {
        if self.hits_counted >= MAX_COUNTED_HITS {
            return;
        }
        self.hits_counted += 1;
        *self.sites.entry(self.fast_fields.site.get_val(doc)).or_default() += 1;
        if let Some(date_s) = self.fast_fields.date_s(doc) {
            *self.days.entry(date_s.div_euclid(DAY_S)).or_default() += 1;
        }
        count_text(self.fast_fields.language.as_ref(), doc, &mut self.languages);
        count_text(self.fast_fields.mime_type.as_ref(), doc, &mut self.mime_types);
    }

    pub(super) fn counts(self) -> Result<FacetCounts> {
        let mut years = HashMap::new();
        for (day, pages) in self.days {
            *years.entry(year_of_day(day)).or_default() += pages;
        }
        Ok(FacetCounts {
            hits_counted: self.hits_counted.into(),
            sites: self.sites,
            languages: counts_by_text(self.fast_fields.language.as_ref(), &self.languages)?,
            years,
            mime_types: counts_by_text(self.fast_fields.mime_type.as_ref(), &self.mime_types)?,
        })
    }
}

fn count_text(column: Option<&StrColumn>, doc: DocId, counts: &mut [u64]) {
    let number = column.and_then(|column| column.ords().first(doc));
    if let Some(count) = number.and_then(|number| counts.get_mut(number as usize)) {
        *count += 1;
    }
}

fn counts_by_text(column: Option<&StrColumn>, counts: &[u64]) -> Result<HashMap<String, u64>> {
    let mut found = HashMap::new();
    let Some(column) = column else { return Ok(found) };
    for (number, pages) in (0..).zip(counts).filter(|(_, pages)| **pages > 0) {
        if let Some(text) = ordinal_text(column, number)? {
            found.insert(text, *pages);
        }
    }
    Ok(found)
}

/// Year of a day, counted from 1970-01-01.
fn year_of_day(day: i64) -> i64 {
    let text = parse::format_date(day.saturating_mul(DAY_S));
    text.split('-').next().and_then(|year| year.parse().ok()).unwrap_or_default()
}

impl FacetCounts {
    pub(super) fn merge(&mut self, other: FacetCounts) {
        self.hits_counted += other.hits_counted;
        merge_counts(&mut self.sites, other.sites);
        merge_counts(&mut self.languages, other.languages);
        merge_counts(&mut self.years, other.years);
        merge_counts(&mut self.mime_types, other.mime_types);
    }

    pub(super) fn into_facets(self, site_name: impl Fn(u64) -> String) -> Facets {
        Facets {
            hits_counted: self.hits_counted,
            sites: top_values(self.sites, site_name),
            languages: top_values(self.languages, |code| code),
            years: top_values(self.years, |year| year.to_string()),
            mime_types: top_values(self.mime_types, |mime_type| mime_type),
        }
    }
}

fn merge_counts<K: std::hash::Hash + Eq>(counts: &mut HashMap<K, u64>, others: HashMap<K, u64>) {
    for (key, pages) in others {
        *counts.entry(key).or_default() += pages;
    }
}

fn top_values<K: Ord>(counts: HashMap<K, u64>, name: impl Fn(K) -> String) -> Vec<FacetCount> {
    let mut counts: Vec<(K, u64)> = counts.into_iter().collect();
    counts.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts.truncate(MAX_VALUES);
    counts.into_iter().map(|(key, pages)| FacetCount { value: name(key), pages }).collect()
}

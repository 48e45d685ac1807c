//! Where do the links of the search page lead? To the same question with one thing changed.

use crate::asked::{Asked, address};
use crate::finding::{SORTS, Wanted};

/// The way from one answer to others.
pub(crate) struct Way<'w> {
    wanted: &'w Wanted,
    sort: &'w str,
    fold: &'w str,
    explain: &'w str,
    count: &'w str,
}

impl<'w> Way<'w> {
    pub(crate) fn new(asked: &'w Asked, wanted: &'w Wanted) -> Way<'w> {
        let text = |name| asked.text(name).unwrap_or_default();
        Way { wanted, sort: text("sort"), fold: text("fold"), explain: text("explain"), count: text("count") }
    }

    fn to(&self, query: &str, filters: &[&str], sort: &str, fold: &str, from: usize) -> String {
        let from = if from == 0 { String::new() } else { from.to_string() };
        let mut fields = vec![("q", query)];
        fields.extend(filters.iter().map(|filter| ("f", *filter)));
        let sort = if sort == SORTS[0].0 { "" } else { sort };
        fields.extend([
            ("sort", sort),
            ("fold", fold),
            ("explain", self.explain),
            ("count", self.count),
            ("from", &from),
        ]);
        address("/", &fields)
    }

    fn filters(&self) -> Vec<&str> {
        self.wanted.filters.iter().map(String::as_str).collect()
    }

    pub(crate) fn with(&self, filter: &str) -> String {
        let mut filters = self.filters();
        if !filters.contains(&filter) {
            filters.push(filter);
        }
        self.to(&self.wanted.query, &filters, self.sort, self.fold, 0)
    }

    pub(crate) fn without(&self, filter: &str) -> String {
        let mut filters = self.filters();
        filters.retain(|own| *own != filter);
        self.to(&self.wanted.query, &filters, self.sort, self.fold, 0)
    }

    pub(crate) fn from(&self, from: usize) -> String {
        self.to(&self.wanted.query, &self.filters(), self.sort, self.fold, from)
    }

    pub(crate) fn sorted(&self, sort: &str) -> String {
        self.to(&self.wanted.query, &self.filters(), sort, self.fold, 0)
    }

    pub(crate) fn unfolded(&self) -> String {
        self.to(&self.wanted.query, &self.filters(), self.sort, "false", 0)
    }

    pub(crate) fn asking(&self, query: &str) -> String {
        // What is suggested stands for the query with its filters.
        self.to(query, &[], self.sort, self.fold, 0)
    }

    /// What the form carries on besides the query.
    pub(crate) fn hidden(&self) -> Vec<(&'static str, String)> {
        let filters = self.wanted.filters.iter().map(|filter| ("f", filter.clone()));
        let sort = Some(("sort", self.sort.to_owned())).filter(|(_, sort)| !sort.is_empty());
        filters.chain(sort).collect()
    }
}

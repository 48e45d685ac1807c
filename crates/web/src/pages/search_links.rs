//! Links of the search page: URLs of the current search with one parameter changed.

use crate::pages::search_request::{SORTS, SearchRequest};
use crate::state::params::{Params, url_with_query};

/// Builds the links of a page of results.
pub(crate) struct LinkBuilder<'r> {
    request: &'r SearchRequest,
    sort: &'r str,
    collapse: &'r str,
    explain: &'r str,
    limit: &'r str,
    mode: &'r str,
}

impl<'r> LinkBuilder<'r> {
    pub(crate) fn new(params: &'r Params, request: &'r SearchRequest) -> LinkBuilder<'r> {
        let text = |name| params.get(name).unwrap_or_default();
        LinkBuilder {
            request,
            sort: text("sort"),
            collapse: text("collapse"),
            explain: text("explain"),
            limit: text("limit"),
            mode: text("mode"),
        }
    }

    fn build(&self, query: &str, filters: &[&str], sort: &str, collapse: &str, offset: usize) -> String {
        let offset = if offset == 0 { String::new() } else { offset.to_string() };
        let mut params = vec![("q", query)];
        params.extend(filters.iter().map(|filter| ("filter", *filter)));
        let sort = if sort == SORTS[0].0 { "" } else { sort };
        params.extend([
            ("sort", sort),
            ("collapse", collapse),
            ("explain", self.explain),
            ("limit", self.limit),
            ("mode", self.mode),
            ("offset", &offset),
        ]);
        url_with_query("/", &params)
    }

    fn filters(&self) -> Vec<&str> {
        self.request.filters.iter().map(String::as_str).collect()
    }

    /// The search with a further filter.
    pub(crate) fn with(&self, filter: &str) -> String {
        let mut filters = self.filters();
        if !filters.contains(&filter) {
            filters.push(filter);
        }
        self.build(&self.request.query, &filters, self.sort, self.collapse, 0)
    }

    /// The search without one of its filters.
    pub(crate) fn without(&self, filter: &str) -> String {
        let mut filters = self.filters();
        filters.retain(|own| *own != filter);
        self.build(&self.request.query, &filters, self.sort, self.collapse, 0)
    }

    /// Another page of the results.
    pub(crate) fn at_offset(&self, offset: usize) -> String {
        self.build(&self.request.query, &self.filters(), self.sort, self.collapse, offset)
    }

    /// The results in another order.
    pub(crate) fn sorted(&self, sort: &str) -> String {
        self.build(&self.request.query, &self.filters(), sort, self.collapse, 0)
    }

    /// The results with near duplicates.
    pub(crate) fn without_collapsing(&self) -> String {
        self.build(&self.request.query, &self.filters(), self.sort, "false", 0)
    }

    /// The search for another query, without filters: a suggestion already contains them.
    pub(crate) fn for_query(&self, query: &str) -> String {
        self.build(query, &[], self.sort, self.collapse, 0)
    }

    /// The cached copy of a page, with the words of the query highlighted.
    pub(crate) fn cached(&self, url: &str) -> String {
        url_with_query("/cached", &[("url", url), ("q", &self.request.query), ("mode", self.mode)])
    }

    /// Hidden fields of the search form.
    pub(crate) fn hidden(&self) -> Vec<(&'static str, String)> {
        let filters = self.request.filters.iter().map(|filter| ("filter", filter.clone()));
        let sort = Some(("sort", self.sort.to_owned())).filter(|(_, sort)| !sort.is_empty());
        let mode = Some(("mode", self.mode.to_owned())).filter(|(_, mode)| !mode.is_empty());
        filters.chain(sort).chain(mode).collect()
    }
}

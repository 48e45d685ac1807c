//! The interface for single-pass analyses: an [`Analyzer`] sees rows and documents one by one, and returns its output
//! at the end.
//!
//! Several analyzers run in one pass: a tuple of analyzers is an analyzer. Each thread has a copy of the initial
//! analyzer and sees a part of the rows; the parts are merged in the order of the rows. [`TableScan`](crate::TableScan)
//! runs the pass.
//!
//! Building blocks: [`Counter`](crate::Counter), [`Histogram`](crate::Histogram), [`Moments`](crate::Moments),
//! [`Quantiles`](crate::Quantiles), [`TopK`](crate::TopK), [`HyperLogLog`](crate::HyperLogLog).

use parse::Document;
use store::{FetchRow, LinkRow, PageRow, SiteRow};

/// Kinds of rows and documents that an analyzer reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inputs(u8);

impl Inputs {
    /// No input.
    pub const NONE: Inputs = Inputs(0);
    /// Pages, fetched or not: rows of the table `pages`.
    pub const PAGES: Inputs = Inputs(1);
    /// Sites: rows of the table `sites`.
    pub const SITES: Inputs = Inputs(2);
    /// Fetches: rows of the table `fetches`.
    pub const FETCHES: Inputs = Inputs(4);
    /// Links as of the last parse of their page: rows of the table `links`.
    pub const LINKS: Inputs = Inputs(8);
    /// Documents, parsed from the stored pages.
    pub const DOCUMENTS: Inputs = Inputs(16);

    /// The union of both.
    #[must_use]
    pub const fn and(self, other: Inputs) -> Inputs {
        Inputs(self.0 | other.0)
    }

    /// Reports whether all of `other` are included.
    pub const fn contains(self, other: Inputs) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Analysis in a single pass. Each thread starts with a clone of the initial state.
pub trait Analyzer: Clone + Send + Sync {
    /// Inputs of the analyzer; it receives no others.
    const INPUTS: Inputs;
    /// Result type.
    type Output;

    /// Adds a page.
    fn page(&mut self, _page: &PageRow<'_>) {}

    /// Adds a site.
    fn site(&mut self, _site: &SiteRow<'_>) {}

    /// Adds a fetch.
    fn fetch(&mut self, _fetch: &FetchRow<'_>) {}

    /// Adds a link.
    fn link(&mut self, _link: &LinkRow<'_>) {}

    /// Adds the newest stored version of a page, parsed.
    fn document(&mut self, _page: &PageRow<'_>, _document: &Document) {}

    /// Merges the state of another clone, which has seen later rows.
    fn merge(&mut self, other: Self);

    /// Returns the result.
    fn finish(self) -> Self::Output;
}

macro_rules! tuples {
    ($(($($Name:ident $index:tt),+);)+) => {$(
        impl<$($Name: Analyzer),+> Analyzer for ($($Name,)+) {
            const INPUTS: Inputs = Inputs::NONE$(.and($Name::INPUTS))+;
            type Output = ($($Name::Output,)+);

            fn page(&mut self, page: &PageRow<'_>) {
                $(self.$index.page(page);)+
            }

            fn site(&mut self, site: &SiteRow<'_>) {
                $(self.$index.site(site);)+
            }

            fn fetch(&mut self, fetch: &FetchRow<'_>) {
                $(self.$index.fetch(fetch);)+
            }

            fn link(&mut self, link: &LinkRow<'_>) {
                $(self.$index.link(link);)+
            }

            fn document(&mut self, page: &PageRow<'_>, document: &Document) {
                $(self.$index.document(page, document);)+
            }

            fn merge(&mut self, other: Self) {
                $(self.$index.merge(other.$index);)+
            }

            fn finish(self) -> Self::Output {
                ($(self.$index.finish(),)+)
            }
        }
    )+};
}

tuples! {
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
}

//! How is something new found out about a collection? An [`Analyzer`] sees its rows and documents one by one, and says in
//! the end what it has found.
//!
//! Several run in one pass: a tuple of analyzers is one. Each thread has a copy of the fresh one and sees a part; the parts
//! are merged in the order of the rows. What goes through the collection is a [`Survey`](crate::Survey).
//!
//! Ready to be used inside: [`Tally`](crate::Tally), [`Histogram`](crate::Histogram), [`Moments`](crate::Moments),
//! [`Quantiles`](crate::Quantiles), [`TopK`](crate::TopK), [`Distinct`](crate::Distinct).

use parse::Document;
use store::{FetchRow, LinkRow, PageRow, SiteRankRow};

/// Which rows and documents an analyzer wants to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reads(u8);

impl Reads {
    /// None.
    pub const NOTHING: Reads = Reads(0);
    /// Pages, fetched or not: rows of the table `pages`.
    pub const PAGES: Reads = Reads(1);
    /// Sites: rows of the table `site_ranks`.
    pub const SITES: Reads = Reads(2);
    /// Visits: rows of the table `fetches`.
    pub const FETCHES: Reads = Reads(4);
    /// Links as of the last parse of the page that has them: rows of the table `links`.
    pub const LINKS: Reads = Reads(8);
    /// The documents themselves, parsed anew.
    pub const DOCUMENTS: Reads = Reads(16);

    /// Both these and the others.
    #[must_use]
    pub const fn and(self, other: Reads) -> Reads {
        Reads(self.0 | other.0)
    }

    /// Whether these are among them.
    pub const fn has(self, other: Reads) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Finds something out in one pass. A fresh one is what every thread begins with.
pub trait Analyzer: Clone + Send + Sync {
    /// What it wants to see; of all else it hears nothing.
    const READS: Reads;
    /// What it finds.
    type Finding;

    /// A page.
    fn page(&mut self, _page: &PageRow<'_>) {}

    /// A site.
    fn site(&mut self, _site: &SiteRankRow<'_>) {}

    /// A visit.
    fn fetch(&mut self, _fetch: &FetchRow<'_>) {}

    /// A link.
    fn link(&mut self, _link: &LinkRow<'_>) {}

    /// The last stored version of a page, as it reads.
    fn document(&mut self, _page: &PageRow<'_>, _document: &Document) {}

    /// Takes in what another copy has seen.
    fn merge(&mut self, other: Self);

    /// What was found.
    fn finish(self) -> Self::Finding;
}

macro_rules! tuples {
    ($(($($Name:ident $place:tt),+);)+) => {$(
        impl<$($Name: Analyzer),+> Analyzer for ($($Name,)+) {
            const READS: Reads = Reads::NOTHING$(.and($Name::READS))+;
            type Finding = ($($Name::Finding,)+);

            fn page(&mut self, page: &PageRow<'_>) {
                $(self.$place.page(page);)+
            }

            fn site(&mut self, site: &SiteRankRow<'_>) {
                $(self.$place.site(site);)+
            }

            fn fetch(&mut self, fetch: &FetchRow<'_>) {
                $(self.$place.fetch(fetch);)+
            }

            fn link(&mut self, link: &LinkRow<'_>) {
                $(self.$place.link(link);)+
            }

            fn document(&mut self, page: &PageRow<'_>, document: &Document) {
                $(self.$place.document(page, document);)+
            }

            fn merge(&mut self, other: Self) {
                $(self.$place.merge(other.$place);)+
            }

            fn finish(self) -> Self::Finding {
                ($(self.$place.finish(),)+)
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

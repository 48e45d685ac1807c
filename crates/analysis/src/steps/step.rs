//! The steps of an analysis, and what each of them writes.

use serde::{Deserialize, Serialize};
use store::{
    AnchorRows, ComponentRows, DomainRows, LinkedFileRows, PageRows, RankRows, RankTarget, RejectedLinkRows,
    Rows, SiteRows,
};

/// A step of an analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// The link graph itself.
    Graph,
    /// In-degree and out-degree of each page.
    Degrees,
    /// PageRank of pages, and its sum by site.
    #[serde(rename = "pagerank")]
    PageRank,
    /// PageRank with weighted links.
    LinkRank,
    /// Hubs and authorities (HITS).
    Hits,
    /// Strongly connected components and the bow tie, of pages and of sites.
    Structure,
    /// Exact and near duplicates of pages, and mirrors of sites.
    Similarity,
    /// Anchor texts of each page: the table `anchors`.
    Anchors,
    /// Distances between pages.
    Distances,
    /// SiteRank and harmonic centrality of sites.
    Sites,
    /// Links that were not followed, by domain and reason.
    RejectedLinks,
    /// The tables of pages, sites and domains.
    Tables,
    /// The statistics of a report.
    Statistics,
}

impl Step {
    /// All steps, in the order in which they run.
    pub const ALL: [Step; 13] = [
        Step::Graph,
        Step::Degrees,
        Step::PageRank,
        Step::LinkRank,
        Step::Hits,
        Step::Structure,
        Step::Similarity,
        Step::Anchors,
        Step::Distances,
        Step::Sites,
        Step::RejectedLinks,
        Step::Tables,
        Step::Statistics,
    ];

    /// Name of the step in output and in file names.
    pub fn as_str(self) -> &'static str {
        match self {
            Step::Graph => "graph",
            Step::Degrees => "degrees",
            Step::PageRank => "pagerank",
            Step::LinkRank => "link-rank",
            Step::Hits => "hits",
            Step::Structure => "structure",
            Step::Similarity => "similarity",
            Step::Anchors => "anchors",
            Step::Distances => "distances",
            Step::Sites => "sites",
            Step::RejectedLinks => "rejected-links",
            Step::Tables => "tables",
            Step::Statistics => "statistics",
        }
    }

    /// Rank columns that the step writes.
    pub(super) fn columns(self) -> &'static [(RankTarget, &'static str)] {
        use RankTarget::{Pages, Sites};
        match self {
            Step::Graph | Step::Anchors | Step::Distances | Step::RejectedLinks => &[],
            Step::Tables | Step::Statistics => &[],
            Step::Degrees => &[(Pages, "in-degree"), (Pages, "out-degree")],
            Step::PageRank => &[(Pages, "pagerank"), (Sites, "pagerank")],
            Step::LinkRank => &[(Pages, "link-rank")],
            Step::Hits => &[(Pages, "hub"), (Pages, "authority")],
            Step::Structure => {
                &[(Pages, "component"), (Pages, "part"), (Sites, "component"), (Sites, "part")]
            }
            Step::Similarity => &[(Pages, "duplicate-group"), (Pages, "near-group"), (Sites, "mirror-of")],
            Step::Sites => {
                &[(Sites, "site-rank"), (Sites, "harmonic"), (Sites, "in-degree"), (Sites, "out-degree")]
            }
        }
    }

    /// Tables that the step writes.
    pub(super) fn tables(self) -> &'static [&'static str] {
        match self {
            Step::Anchors => &[AnchorRows::NAME],
            Step::RejectedLinks => &[RejectedLinkRows::NAME, LinkedFileRows::NAME],
            Step::Tables => {
                &[PageRows::NAME, RankRows::NAME, ComponentRows::NAME, SiteRows::NAME, DomainRows::NAME]
            }
            _ => &[],
        }
    }

    /// Whether the step combines the results of the steps before it, and is out of date when one of them has run.
    pub(super) fn is_derived(self) -> bool {
        matches!(self, Step::Tables | Step::Statistics)
    }
}

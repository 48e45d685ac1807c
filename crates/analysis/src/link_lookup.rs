//! Lookup of pages by their link relation to a URL, as of the last analysis.

use std::cell::OnceCell;
use std::path::PathBuf;

use model::{CanonicalUrl, LinkRelation, UrlError, UrlRules};
use store::{LastParses, LinkRows, Snapshot, TableReader};

use crate::error::Error;
use crate::graph::link_graph::LinkGraph;
use crate::link_neighbours::link_neighbours;

/// Finds the neighbours of pages by URL. The graph is opened on first use.
pub struct LinkLookup<'l> {
    snapshot: &'l Snapshot,
    rules: &'l UrlRules,
    graph: OnceCell<LinkGraph>,
}

/// Error of a lookup.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LookupError {
    /// The collection has no link graph.
    #[error("no link graph; run `weir analyze {}`", collection.display())]
    NotAnalysed {
        /// The collection.
        collection: PathBuf,
    },
    /// The URL is invalid.
    #[error("invalid URL `{url}`: {error}")]
    InvalidUrl {
        /// The URL as given.
        url: String,
        /// Cause.
        error: UrlError,
    },
    /// The page is not in the collection.
    #[error("{url} is not in the collection")]
    UnknownPage {
        /// URL of the page.
        url: String,
    },
    /// The graph or the collection cannot be read.
    #[error(transparent)]
    Analysis(#[from] Error),
}

impl From<store::Error> for LookupError {
    fn from(error: store::Error) -> LookupError {
        LookupError::Analysis(error.into())
    }
}

impl<'l> LinkLookup<'l> {
    /// Creates a lookup for the pages of a snapshot; `rules` canonicalise the URLs.
    pub fn new(snapshot: &'l Snapshot, rules: &'l UrlRules) -> LinkLookup<'l> {
        LinkLookup { snapshot, rules, graph: OnceCell::new() }
    }

    /// Returns the ids, in ascending order, of the pages that have this relation to the page with this URL. The pages that link to a URL
    /// outside of the collection are found by a scan of the table `links`.
    pub fn pages(&self, relation: LinkRelation, url: &str) -> Result<Vec<u32>, LookupError> {
        let graph = self.graph()?;
        let canonical = self.rules.canonical(url);
        let url = canonical.map_err(|error| LookupError::InvalidUrl { url: url.to_owned(), error })?;
        if let Some(page) = self.snapshot.urls.find(&url)? {
            return Ok(link_neighbours(graph, page.0, relation)?);
        }
        let linking =
            if relation == LinkRelation::LinksTo { self.pages_linking_outside(&url)? } else { Vec::new() };
        if linking.is_empty() {
            return Err(LookupError::UnknownPage { url: url.as_str().to_owned() });
        }
        Ok(linking)
    }

    /// Pages whose last version links to a URL that is not in the collection.
    fn pages_linking_outside(&self, url: &CanonicalUrl) -> Result<Vec<u32>, LookupError> {
        let (dir, manifest) = (self.snapshot.dir(), &self.snapshot.manifest);
        let parses = LastParses::read(dir, manifest)?;
        let columns = ["source_page_id", "target_page_id", "target_url", "fetch_time"];
        let links = TableReader::<LinkRows>::open_committed(dir, manifest)?.with_columns(&columns);
        // Links that were rejected may be stored as written.
        let is_same = |target: &str| {
            target == url.as_str()
                || (target.contains(url.host())
                    && self.rules.canonical(target).is_ok_and(|target| target.as_str() == url.as_str()))
        };
        let mut pages = Vec::new();
        links.for_each_row(|link| {
            if link.target_page_id.is_none() && is_same(link.target_url) && parses.is_current(link) {
                pages.push(link.source_page_id);
            }
        })?;
        pages.sort_unstable();
        pages.dedup();
        Ok(pages)
    }

    fn graph(&self) -> Result<&LinkGraph, LookupError> {
        if let Some(graph) = self.graph.get() {
            return Ok(graph);
        }
        let collection = self.snapshot.dir();
        let graph = LinkGraph::newest(collection)?;
        let graph = graph.ok_or_else(|| LookupError::NotAnalysed { collection: collection.to_owned() })?;
        Ok(self.graph.get_or_init(|| graph))
    }
}

//! Which pages does somebody mean who names a page and how others lie to it? As the last analysis knows them.

use std::cell::OnceCell;
use std::path::PathBuf;

use model::{Neighbours, Rejected, UrlRules};
use store::Snapshot;

use crate::error::Error;
use crate::link_graph::LinkGraph;
use crate::neighbours::neighbours;

/// Finds the neighbours of pages by their URLs. The graph is opened when it is first needed.
pub struct LinkLookup<'l> {
    snapshot: &'l Snapshot,
    rules: &'l UrlRules,
    graph: OnceCell<LinkGraph>,
}

/// Why they cannot be told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// Nobody has looked at the links yet.
    #[error("links are not known before an analysis: run `weir analyze {}`", folder.display())]
    NotAnalysed {
        /// The collection.
        folder: PathBuf,
    },
    /// That names no page.
    #[error("`{url}` is no URL: {rejected}")]
    NoUrl {
        /// As it was written.
        url: String,
        /// Why not.
        rejected: Rejected,
    },
    /// The page is none of the collection's.
    #[error("the collection does not know {url}")]
    Unknown {
        /// Its URL.
        url: String,
    },
    /// The graph or the collection cannot be read.
    #[error(transparent)]
    Analysis(#[from] Error),
}

impl From<store::Error> for LinkError {
    fn from(error: store::Error) -> LinkError {
        LinkError::Analysis(error.into())
    }
}

impl<'l> LinkLookup<'l> {
    /// For the pages of a snapshot, named by URLs that these rules make canonical.
    pub fn new(snapshot: &'l Snapshot, rules: &'l UrlRules) -> LinkLookup<'l> {
        LinkLookup { snapshot, rules, graph: OnceCell::new() }
    }

    /// The pages that lie so to the one with this URL, in the order of their ids.
    pub fn pages(&self, wanted: Neighbours, url: &str) -> Result<Vec<u32>, LinkError> {
        let graph = self.graph()?;
        let canonical = self.rules.canonical(url);
        let url = canonical.map_err(|rejected| LinkError::NoUrl { url: url.to_owned(), rejected })?;
        let page = self.snapshot.urls.find(&url)?;
        let page = page.ok_or_else(|| LinkError::Unknown { url: url.as_str().to_owned() })?;
        Ok(neighbours(graph, page.0, wanted)?)
    }

    fn graph(&self) -> Result<&LinkGraph, LinkError> {
        if let Some(graph) = self.graph.get() {
            return Ok(graph);
        }
        let folder = self.snapshot.folder();
        let graph = LinkGraph::newest(folder)?;
        let graph = graph.ok_or_else(|| LinkError::NotAnalysed { folder: folder.to_owned() })?;
        Ok(self.graph.get_or_init(|| graph))
    }
}

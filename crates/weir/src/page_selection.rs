//! Selection of pages of a collection by URL, by site or by a condition.

use std::collections::BTreeSet;

use model::{PageId, UrlRules};
use store::{PageColumn, PageFilter, PageStream, PageStreamItem, PageStreamRequest, Predicate, Snapshot};

use crate::exit::UsageError;
use crate::site_selection;

/// Options that select pages.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct PageSelection {
    /// URLs of the pages.
    #[arg(value_name = "URL", required_unless_present_any = ["sites", "condition"])]
    urls: Vec<String>,

    /// All pages of this site: scheme and host, or the host alone for any scheme and port; repeatable.
    #[arg(long = "site", value_name = "SITE", conflicts_with = "urls")]
    sites: Vec<String>,

    /// Stored pages with this condition, such as "status = 404 and host like '%.org'"; see `weir cat --help`.
    #[arg(long = "where", value_name = "CONDITION", conflicts_with = "urls")]
    condition: Option<String>,
}

impl PageSelection {
    /// Selected pages, sorted. An unknown URL or site is an error.
    pub(crate) fn pages(&self, snapshot: &Snapshot, rules: &UrlRules) -> anyhow::Result<Vec<PageId>> {
        let mut pages = BTreeSet::new();
        for text in &self.urls {
            let url = rules.canonical(text).map_err(|error| UsageError(format!("{text}: {error}")))?;
            let unknown = || {
                let dir = snapshot.dir().display();
                let message =
                    format!("{url} is not in the collection; add it with `weir seeder {dir} --seed {url}`");
                UsageError(message)
            };
            pages.insert(snapshot.urls.find(&url)?.ok_or_else(unknown)?);
        }
        if let Some(condition) = &self.condition {
            let predicate: Predicate =
                condition.parse().map_err(|error| UsageError(format!("--where: {error}")))?;
            let filter =
                PageFilter { sites: self.sites.clone(), predicate: Some(predicate), ..PageFilter::all() };
            pages.extend(stored_pages(snapshot, filter)?);
        } else if !self.sites.is_empty() {
            pages.extend(pages_of_sites(snapshot, &self.sites)?);
        }
        Ok(pages.into_iter().collect())
    }
}

fn pages_of_sites(snapshot: &Snapshot, sites: &[String]) -> anyhow::Result<Vec<PageId>> {
    let filter = PageFilter { sites: sites.to_vec(), ..PageFilter::all() };
    let sites = site_selection::find(snapshot, &filter)?.unwrap_or_default();
    let parts = snapshot.page_state.scan(&[PageColumn::Site], |pages: &mut Vec<PageId>, row| {
        if sites.contains(row.site) {
            pages.push(row.page);
        }
    })?;
    Ok(parts.concat())
}

fn stored_pages(snapshot: &Snapshot, filter: PageFilter) -> anyhow::Result<Vec<PageId>> {
    site_selection::find(snapshot, &filter)?;
    let mut stream =
        PageStream::open(snapshot, &PageStreamRequest { filter, ..PageStreamRequest::default() })?;
    let mut pages = Vec::new();
    while let Some(item) = stream.next_ref()? {
        if let PageStreamItem::Page(page, ()) = item {
            pages.push(page.page);
        }
    }
    Ok(pages)
}

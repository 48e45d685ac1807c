//! Selection of sites by name, with suggestions for unknown names.

use store::{PageFilter, SiteSet, Snapshot};

use crate::exit::UsageError;

/// Finds the sites of a selection. An unknown name is a usage error with a suggestion.
pub(crate) fn find(snapshot: &Snapshot, selection: &PageFilter) -> anyhow::Result<Option<SiteSet>> {
    let error = match selection.find_sites(snapshot) {
        Ok(sites) => return Ok(sites),
        Err(error) => error,
    };
    let store::Error::UnknownSite { name, .. } = &error else { return Err(error.into()) };
    let hint = inspect::suggest_sites(snapshot, name).map_or_else(String::new, |hint| format!("; {hint}"));
    Err(UsageError(format!("{error}{hint}")).into())
}

//! PageFilter of sites by name, with suggestions for unknown names.

use store::{PageFilter, SiteSet, Snapshot};

use crate::exit::UsageError;

/// Finds the sites of a selection. An unknown name is a usage error with a suggestion.
pub(crate) fn find(snapshot: &Snapshot, selection: &PageFilter) -> anyhow::Result<Option<SiteSet>> {
    match selection.find_sites(snapshot) {
        Err(store::Error::UnknownSite { kind: what, name }) => {
            let meant = inspect::suggest_sites(snapshot, &name);
            let meant = meant.map_or_else(String::new, |meant| format!("; {meant}"));
            Err(UsageError(format!("the collection knows no {what} {name}{meant}")).into())
        }
        found => Ok(found?),
    }
}

//! Which sites did somebody mean who named some? Those of a selection, or a sentence with those that may have been meant.

use store::{Selection, SiteSet, Snapshot};

use crate::failure::WrongUse;

/// The sites of a selection; if one is not known, what may have been meant.
pub(crate) fn find(snapshot: &Snapshot, selection: &Selection) -> anyhow::Result<Option<SiteSet>> {
    match selection.find_sites(snapshot) {
        Err(store::Error::UnknownSite { what, name }) => {
            let meant = crawl::suggest_sites(snapshot, &name);
            let meant = meant.map_or_else(String::new, |meant| format!("; {meant}"));
            Err(WrongUse(format!("the collection knows no {what} {name}{meant}")).into())
        }
        found => Ok(found?),
    }
}

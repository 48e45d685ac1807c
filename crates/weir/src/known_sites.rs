<<<<<<< HEAD
=======
<<<<<<< HEAD
>>>>>>> web
//! Which sites did somebody mean who named some? Those of a selection, or a sentence with those that may have been meant.

use store::{Selection, SiteSet, Snapshot};

<<<<<<< HEAD
=======
=======
//! How is somebody told who named a site or a page that the collection does not know?

use model::Rejected;
use store::{Selection, SiteSet, Snapshot};

pub(crate) use crawl::suggest_sites as suggestion;

>>>>>>> main
>>>>>>> web
use crate::failure::WrongUse;

/// The sites of a selection; if one is not known, what may have been meant.
pub(crate) fn find(snapshot: &Snapshot, selection: &Selection) -> anyhow::Result<Option<SiteSet>> {
    match selection.find_sites(snapshot) {
        Err(store::Error::UnknownSite { what, name }) => {
            let meant = crawl::suggest_sites(snapshot, &name);
            let meant = meant.map_or_else(String::new, |meant| format!("; {meant}"));
<<<<<<< HEAD
=======
<<<<<<< HEAD
=======
            let meant = suggestion(snapshot, &name).map_or_else(String::new, |meant| format!("; {meant}"));
>>>>>>> main
>>>>>>> web
            Err(WrongUse(format!("the collection knows no {what} {name}{meant}")).into())
        }
        found => Ok(found?),
    }
}
<<<<<<< HEAD
=======
<<<<<<< HEAD
=======

/// What to type instead of something that is no URL.
pub(crate) fn mistyped(snapshot: &Snapshot, input: &str, rejected: &Rejected) -> crawl::Error {
    crawl::mistyped_url(snapshot, input, rejected.clone())
}
>>>>>>> main
>>>>>>> web

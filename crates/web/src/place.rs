//! Which page is meant? By its URL, as somebody typed it, or by its number.

use model::{CanonicalUrl, PageId};
use store::Snapshot;

use crate::asked::Asked;
use crate::desk::Desk;
use crate::failure::Failure;

/// A URL, and the page it is of, if the collection knows it.
pub(crate) struct Place {
    pub(crate) url: CanonicalUrl,
    pub(crate) page: Option<PageId>,
}

impl Place {
    /// The page that the fields `url` or `id` name.
    pub(crate) fn of(desk: &Desk, snapshot: &Snapshot, asked: &Asked) -> Result<Place, Failure> {
        let text = match asked.number("id", 0..=u32::MAX)? {
            Some(id) => snapshot
                .urls
                .url(PageId(id))?
                .ok_or_else(|| Failure::NotThere(format!("the collection has no page number {id}")))?,
            None => asked.text("url")?.to_owned(),
        };
        if text.is_empty() {
            return Err(Failure::WrongQuestion(
                "say which page: url=https://example.org/, or id=NUMBER".to_owned(),
            ));
        }
        let url = desk.settings.rules.gather.rules.canonical(&text).map_err(|rejected| {
            let text = crate::shown::url(&text);
            Failure::WrongQuestion(format!(
                "`{text}` is no URL: {rejected}; write one such as https://example.org/"
            ))
        })?;
        let page = snapshot.urls.find(&url)?;
        Ok(Place { url, page })
    }

    /// The same, where the collection has to know it.
    pub(crate) fn known(
        desk: &Desk,
        snapshot: &Snapshot,
        asked: &Asked,
    ) -> Result<(CanonicalUrl, PageId), Failure> {
        let Place { url, page } = Place::of(desk, snapshot, asked)?;
        let page = page.ok_or_else(|| {
            Failure::NotThere(format!("the collection does not know {}", crate::shown::url(url.as_str())))
        })?;
        Ok((url, page))
    }
}

//! Page named by the parameters of a request: by URL or by page id.

use model::{CanonicalUrl, PageId};
use store::Snapshot;

use crate::state::api_error::ApiError;
use crate::state::app_state::AppState;
use crate::state::params::Params;

/// Canonical URL, and the page if it is in the collection.
pub(crate) struct PageRef {
    pub(crate) url: CanonicalUrl,
    pub(crate) page: Option<PageId>,
}

impl PageRef {
    /// Resolves the parameter `page_id` or `url`.
    pub(crate) fn resolve(
        state: &AppState,
        snapshot: &Snapshot,
        params: &Params,
    ) -> Result<PageRef, ApiError> {
        let text = match params.number("page_id", 0..=u32::MAX)? {
            Some(id) => snapshot
                .urls
                .url(PageId(id))?
                .ok_or_else(|| ApiError::NotFound(format!("page {id} is not in the collection")))?,
            None => params.get("url")?.to_owned(),
        };
        if text.is_empty() {
            return Err(ApiError::BadRequest(
                "missing parameter `url` or `page_id`; example: url=https://example.org/".to_owned(),
            ));
        }
        let url = state.settings.crawl.gathering.rules.canonical(&text).map_err(|error| {
            let text = crate::sanitize::display_text::url(&text);
            ApiError::BadRequest(format!("invalid URL `{text}`: {error}; example: https://example.org/"))
        })?;
        let page = snapshot.urls.find(&url)?;
        Ok(PageRef { url, page })
    }

    /// Resolves a page that must be in the collection.
    pub(crate) fn resolve_known(
        state: &AppState,
        snapshot: &Snapshot,
        params: &Params,
    ) -> Result<(CanonicalUrl, PageId), ApiError> {
        let PageRef { url, page } = PageRef::resolve(state, snapshot, params)?;
        let page = page.ok_or_else(|| {
            ApiError::NotFound(format!(
                "{} is not in the collection",
                crate::sanitize::display_text::url(url.as_str())
            ))
        })?;
        Ok((url, page))
    }
}

//! State shared by all handlers: collection, caches, request parameters and errors.

pub(crate) mod api_error;
pub(crate) mod app_state;
pub(crate) mod clock;
pub(crate) mod params;
pub(crate) mod refreshing;
pub(crate) mod report_cache;
pub(crate) mod searcher_cache;
pub(crate) mod snapshot_cache;
pub(crate) mod status_cache;

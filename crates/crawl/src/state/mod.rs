//! State of a crawl that is committed together with the collection.

pub(crate) mod cooldowns;
pub(crate) mod crawl_state;
pub(crate) mod day_counter;
pub(crate) mod ingest_progress;
pub(crate) mod log_cursors;
pub(crate) mod robots_redirects;
pub(crate) mod shared_cash;
pub(crate) mod stages;
pub(crate) mod template_budgets;

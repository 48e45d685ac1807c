//! Data that flows through a crawl: batches on the way out, pages and events on the way back.

pub mod batch;
pub mod fetch_outcome;
pub mod fetched_page;
pub mod gathered_page;
pub mod harvest_event;
pub mod harvest_item;
pub mod http_head;
pub mod log_cursor;
pub(crate) mod outbox;
pub mod robots_policy;
pub mod robots_response;
pub mod validators;

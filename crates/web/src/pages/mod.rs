//! HTML pages, and the endpoints of the HTTP API that return the same data as JSON.

pub(crate) mod cached_page;
pub(crate) mod dashboard;
pub(crate) mod layout;
pub(crate) mod login;
pub(crate) mod page_details;
pub(crate) mod page_ref;
pub(crate) mod report_page;
pub(crate) mod search_links;
pub(crate) mod search_page;
pub(crate) mod search_request;
pub(crate) mod similar;
pub(crate) mod site;
pub(crate) mod sites;
pub(crate) mod snapshots;
pub(crate) mod sparkline;

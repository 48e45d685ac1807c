//! Read-only questions about a commit of a collection: its status, its sites, and why a URL was fetched or not.
//!
//! This crate never writes to a collection.

mod error;
mod robots_state;
mod site_suggestions;
mod sites;
mod status;
mod why;

pub use error::Error;
pub use robots_state::RobotsState;
pub use site_suggestions::{invalid_url_error, suggest_sites};
pub use sites::{SiteQuery, SiteSort, SiteSummary, list_sites, site_summary};
pub use status::{CollectionStatus, SiteCounts};
pub use why::{
    BudgetInfo, FetchInfo, InlinkInfo, PageInfo, PriorityInfo, RobotsInfo, SiteInfo, TermInfo, UrlReport,
    explain_url,
};

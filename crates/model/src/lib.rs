//! Which things does Weir speak of, and what is always true of them?
//!
//! A [`CanonicalUrl`] names one page in one way, whoever links to it and however; [`UrlRules`] make it from what
//! people write; [`Rejected`] says why something is not a page we could fetch, [`Reason`] why a page was not fetched. From the canonical form follow
//! its site, its [registered domain](CanonicalUrl::registered_domain), its SURT key, its [`UrlClass`] and its
//! [`PageHash`].
//!
//! This crate never does I/O and never reads a clock: the same input gives the same answer, always.

mod canonical_url;
#[cfg(test)]
mod conformance;
mod fast_join;
mod ids;
mod neighbours;
mod page_hash;
mod parameter_list;
mod readable;
mod reason;
mod rejected;
mod rule;
mod surt;
#[cfg(test)]
mod test_data;
mod url_class;
mod url_rules;

pub use canonical_url::{CanonicalUrl, Scheme};
pub use ids::{PageId, SiteId};
pub use neighbours::Neighbours;
pub use page_hash::{PageHash, UrlHasher};
pub use parameter_list::{DIGEST_PARAMETERS, ParameterList, SESSION_PARAMETERS, TRACKING_PARAMETERS};
pub use reason::Reason;
pub use rejected::Rejected;
pub use url_class::{ExtensionLists, Group, UrlClass};
pub use url_rules::UrlRules;

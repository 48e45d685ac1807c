//! Basic types of Weir: canonical URLs, ids of sites and pages, reasons, and page hashes.
//!
//! [`UrlRules`] turn a URL as written into a [`CanonicalUrl`], the one name of a page, or into a [`UrlError`]. The
//! canonical form determines the site, the [registered domain](CanonicalUrl::registered_domain), the SURT key, the
//! [`UrlClass`] and the [`PageHash`] of a page. A [`Reason`] states why a page was rejected or its fetch failed.
//!
//! This crate never does I/O and never reads a clock: the same input always gives the same result.

mod address_group;
mod base64;
mod canonical_rules;
mod canonical_url;
mod canonicalize;
mod civil;
#[cfg(test)]
mod conformance;
mod display_url;
mod fast_path;
mod head_fields;
mod ids;
mod link_relation;
mod page_hash;
mod parameter_list;
mod port_filter;
mod reason;
mod surt;
#[cfg(test)]
mod test_data;
mod truncation;
mod untrusted_text;
mod url_batch;
mod url_class;
mod url_error;
mod url_rules;

pub use address_group::AddressGroup;
pub use base64::base64;
pub use canonical_url::{CanonicalUrl, Scheme};
pub use civil::{civil_from_days, days_from_civil};
pub use head_fields::{header_fields, header_values, is_blank_line, split_field};
pub use ids::{PageId, SiteId};
pub use link_relation::LinkRelation;
pub use page_hash::{PageHash, UrlHasher};
pub use parameter_list::{ParameterList, SESSION_HASH_PARAMETERS, SESSION_PARAMETERS, TRACKING_PARAMETERS};
pub use port_filter::PortFilter;
pub use reason::Reason;
pub use truncation::Truncation;
pub use untrusted_text::{csv_field, is_hidden_format, is_unsafe_to_print, printable_line};
pub use url_batch::UrlBatch;
pub use url_class::{ExtensionLists, FileClass, UrlClass};
pub use url_error::UrlError;
pub use url_rules::UrlRules;

//! Settings of URL canonicalisation.

use crate::parameter_list::{
    ParameterList, SESSION_HASH_PARAMETERS, SESSION_PARAMETERS, TRACKING_PARAMETERS,
};

/// Settings of canonicalisation. Two URLs are comparable only if they were canonicalised by the same rules.
///
/// Rules without a setting (fragment, user, host, port, dot segments, percent-encoding) are part of the guarantees of
/// [`CanonicalUrl`](crate::CanonicalUrl). The rules are idempotent: a canonical URL is its own canonical form.
#[derive(Debug, Clone)]
pub struct UrlRules {
    /// Whether session ids are removed from path and query.
    pub drop_session_ids: bool,
    /// Parameters that always carry a session id.
    pub session_parameters: ParameterList,
    /// Parameters that carry a session id if their value is a hex digest.
    pub session_hash_parameters: ParameterList,
    /// Whether tracking parameters are removed.
    pub drop_tracking: bool,
    /// Tracking parameters.
    pub tracking_parameters: ParameterList,
    /// Whether query parameters are sorted by name. Off by default: some programs depend on the order.
    pub sort_query: bool,
    /// Maximum length of a canonical URL. A reference of more than four times this length is rejected without parsing.
    pub max_length_bytes: u16,
}

impl Default for UrlRules {
    fn default() -> UrlRules {
        UrlRules {
            drop_session_ids: true,
            session_parameters: ParameterList::new(SESSION_PARAMETERS.iter().copied()),
            session_hash_parameters: ParameterList::new(SESSION_HASH_PARAMETERS.iter().copied()),
            drop_tracking: true,
            tracking_parameters: ParameterList::new(TRACKING_PARAMETERS.iter().copied()),
            sort_query: false,
            max_length_bytes: 2048,
        }
    }
}

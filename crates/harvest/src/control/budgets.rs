//! Request budgets: per day, per site and per domain.

use serde::Serialize;

/// Budgets of the settings and their use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Budgets {
    /// Page requests of the current UTC day.
    pub requests_today: u64,
    /// Maximum page requests per day; `None` for unlimited.
    pub max_requests_per_day: Option<u64>,
    /// End of the day, in Unix milliseconds.
    pub day_end_ms: u64,
    /// Maximum page requests per site and day; `None` for unlimited.
    pub max_requests_per_site_per_day: Option<u64>,
    /// Number of sites that have reached their daily limit.
    pub sites_at_daily_limit: u64,
    /// Number of sites whose registered domain has reached its page budget: no further page is fetched for the first time.
    pub sites_at_domain_budget: u64,
}

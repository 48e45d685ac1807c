//! State of the robots.txt of a site.

use harvest::item::robots_policy::RobotsPolicy;
use harvest::item::robots_response::RobotsResponse;
use serde::Serialize;
use store::SiteRecord;

/// Result of the last fetch of robots.txt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RobotsState {
    /// Not fetched yet.
    NotFetched,
    /// Rules, or an empty file.
    Rules,
    /// Missing, which allows everything.
    Missing,
    /// Unreachable, which disallows everything.
    Unreachable,
}

impl RobotsState {
    /// State by a site record.
    pub fn from_record(site: &SiteRecord) -> RobotsState {
        if site.robots_fetched_s == 0 {
            return RobotsState::NotFetched;
        }
        let response =
            RobotsResponse { fetched_s: site.robots_fetched_s, status: site.robots_status, text: Vec::new() };
        match (RobotsPolicy::from_response(&response, ""), site.robots_status) {
            (RobotsPolicy::Unreachable, _) => RobotsState::Unreachable,
            (RobotsPolicy::Rules(_), 200..300) => RobotsState::Rules,
            (RobotsPolicy::Rules(_), _) => RobotsState::Missing,
        }
    }

    /// Name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            RobotsState::NotFetched => "not_fetched",
            RobotsState::Rules => "rules",
            RobotsState::Missing => "missing",
            RobotsState::Unreachable => "unreachable",
        }
    }
}

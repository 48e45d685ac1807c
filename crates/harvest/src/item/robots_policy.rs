//! Meaning of a response to a request for robots.txt (RFC 9309, section 2.3.1).

use parse::RobotsRules;

use crate::item::robots_response::RobotsResponse;

/// Policy of a site for this crawler.
#[derive(Debug)]
pub enum RobotsPolicy {
    /// Rules of the file. Without a file (4xx) they are empty and allow everything.
    Rules(RobotsRules),
    /// The file is unreachable: everything is disallowed until it can be fetched.
    Unreachable,
}

/// Maximum redirects of a request for robots.txt; RFC 9309 recommends at least five.
pub const MAX_ROBOTS_REDIRECTS: u8 = 5;

impl RobotsPolicy {
    /// Interprets a response: 2xx has rules; 4xx and too many redirects allow everything; all others disallow everything. So
    /// does 429, which is a throttling response and says nothing about the file.
    pub fn from_response(response: &RobotsResponse, agent: &str) -> RobotsPolicy {
        match response.status {
            200..=299 => RobotsPolicy::Rules(RobotsRules::parse(&response.text, agent)),
            429 => RobotsPolicy::Unreachable,
            300..=499 => RobotsPolicy::Rules(RobotsRules::default()),
            _ => RobotsPolicy::Unreachable,
        }
    }

    /// `Crawl-delay` of the rules; 0 if there is none.
    pub fn crawl_delay_ms(&self) -> u64 {
        match self {
            RobotsPolicy::Rules(rules) => {
                let delay = rules.crawl_delay.unwrap_or_default();
                u64::try_from(delay.as_millis()).unwrap_or(u64::MAX)
            }
            RobotsPolicy::Unreachable => 0,
        }
    }
}

/// Whether a stored response can still be used: `max_age_s` if it was reachable, `retry_s` if not.
pub fn is_fresh(response: &RobotsResponse, now_s: u32, max_age_s: u32, retry_s: u32) -> bool {
    let reachable = !matches!(RobotsPolicy::from_response(response, ""), RobotsPolicy::Unreachable);
    let lifetime_s = if reachable { max_age_s } else { retry_s };
    now_s < response.fetched_s.saturating_add(lifetime_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(status: u16) -> Option<bool> {
        let copy = RobotsResponse { fetched_s: 0, status, text: b"User-agent: *\nDisallow: /\n".to_vec() };
        match RobotsPolicy::from_response(&copy, "weir") {
            RobotsPolicy::Rules(rules) => Some(rules.decide("/a").allowed),
            RobotsPolicy::Unreachable => None,
        }
    }

    #[test]
    fn status_codes_map_to_policies_as_in_rfc_9309() {
        let cases = [
            (200, Some(false)),
            (204, Some(false)),
            (301, Some(true)),
            (401, Some(true)),
            (404, Some(true)),
            (429, None),
            (500, None),
            (503, None),
            (0, None),
            (999, None),
        ];
        for (status, expected) in cases {
            assert_eq!(allows(status), expected, "{status}");
        }
    }

    #[test]
    fn a_response_expires_after_its_maximum_age_and_a_failure_sooner() {
        let copy = |status| RobotsResponse { fetched_s: 100, status, text: vec![] };
        assert!(is_fresh(&copy(404), 199, 100, 10) && !is_fresh(&copy(404), 200, 100, 10));
        assert!(is_fresh(&copy(503), 109, 100, 10) && !is_fresh(&copy(503), 110, 100, 10));
    }
}

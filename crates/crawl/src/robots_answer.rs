//! What does the answer to a request for robots.txt allow? RFC 9309, section 2.3.1.

use parse::RobotsRules;

use crate::batch::RobotsCopy;

/// What a site allows.
#[derive(Debug)]
pub enum Robots {
    /// These rules hold. Without a file (4xx) they are empty, and allow everything.
    Rules(RobotsRules),
    /// The file cannot be had: everything is forbidden until it can.
    Unreachable,
}

/// Most redirects on the way to a robots.txt.
pub(crate) const REDIRECTS: u8 = 5;

impl Robots {
    /// 2xx brings rules; 4xx means there are none; all else, and too many redirects count as 4xx, forbids. 429 asks us to
    /// go away, which is not the same as allowing everything.
    pub fn of(copy: &RobotsCopy, agent: &str) -> Robots {
        match copy.status {
            200..=299 => Robots::Rules(RobotsRules::parse(&copy.text, agent)),
            429 => Robots::Unreachable,
            300..=499 => Robots::Rules(RobotsRules::default()),
            _ => Robots::Unreachable,
        }
    }

    /// The wait that it asks for; 0 if it does not.
    pub(crate) fn crawl_delay_ms(&self) -> u64 {
        match self {
            Robots::Rules(rules) => {
                let delay = rules.crawl_delay.unwrap_or_default();
                u64::try_from(delay.as_millis()).unwrap_or(u64::MAX)
            }
            Robots::Unreachable => 0,
        }
    }
}

/// Whether a copy is still good.
pub(crate) fn is_fresh(copy: &RobotsCopy, now_s: u32, period_s: u32, retry_s: u32) -> bool {
    let reachable = !matches!(Robots::of(copy, ""), Robots::Unreachable);
    let good_for_s = if reachable { period_s } else { retry_s };
    now_s < copy.fetched_s.saturating_add(good_for_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(status: u16) -> Option<bool> {
        let copy = RobotsCopy { fetched_s: 0, status, text: b"User-agent: *\nDisallow: /\n".to_vec() };
        match Robots::of(&copy, "weir") {
            Robots::Rules(rules) => Some(rules.decide("/a").allowed),
            Robots::Unreachable => None,
        }
    }

    #[test]
    fn every_status_has_its_meaning() {
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
    fn a_copy_is_good_for_its_period_and_a_failure_for_less() {
        let copy = |status| RobotsCopy { fetched_s: 100, status, text: vec![] };
        assert!(is_fresh(&copy(404), 199, 100, 10) && !is_fresh(&copy(404), 200, 100, 10));
        assert!(is_fresh(&copy(503), 109, 100, 10) && !is_fresh(&copy(503), 110, 100, 10));
    }
}

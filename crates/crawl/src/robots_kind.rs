//! What is known of a site's robots.txt?

use serde::Serialize;
use store::SiteRecord;

use crate::batch::RobotsCopy;
use crate::robots_answer::Robots;

/// What came when it was last asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RobotsKind {
    /// It was not asked for.
    Unknown,
    /// Rules, or an empty file.
    Rules,
    /// There is none, which allows everything.
    None,
    /// It cannot be had, which forbids everything.
    Unreachable,
}

impl RobotsKind {
    /// By what is recorded of a site.
    pub fn of(site: &SiteRecord) -> RobotsKind {
        if site.robots_fetched_s == 0 {
            return RobotsKind::Unknown;
        }
        let copy =
            RobotsCopy { fetched_s: site.robots_fetched_s, status: site.robots_status, text: Vec::new() };
        match (Robots::of(&copy, ""), site.robots_status) {
            (Robots::Unreachable, _) => RobotsKind::Unreachable,
            (Robots::Rules(_), 200..300) => RobotsKind::Rules,
            (Robots::Rules(_), _) => RobotsKind::None,
        }
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            RobotsKind::Unknown => "unknown",
            RobotsKind::Rules => "rules",
            RobotsKind::None => "none",
            RobotsKind::Unreachable => "unreachable",
        }
    }
}

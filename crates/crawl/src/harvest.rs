//! What comes back from a harvest, piece by piece?

use std::net::IpAddr;

use model::{PageId, Reason, SiteId};
use serde::{Deserialize, Serialize};

use crate::batch::RobotsCopy;
use crate::clock::seconds;

/// News that are no answer to a request for a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HarvestNews {
    /// The turn of a page came, and it was not asked for.
    Left { page: PageId, reason: ReasonCode },
    /// The turn of a page did not come, and will in another batch; the reason is that of its site, if any.
    Back { page: PageId, reason: Option<ReasonCode> },
    /// robots.txt was asked for.
    Robots { site: SiteId, robots: RobotsCopy },
    /// robots.txt leads to another site, which must be lent together with this one.
    Refers { site: SiteId, name: String },
    /// A site is to be left alone for longer than usual.
    BackOff { site: SiteId, until_ms: u64, errors_in_a_row: u16 },
    /// A site was asked at this address by somebody who tells nothing else of it: on an errand, or before all was dropped. Both
    /// are to be left alone until then.
    Asked { name: String, address: Option<IpAddr>, ended_ms: u64, until_ms: u64 },
    /// The site itself names pages, with the times of their last change where it tells them.
    Found { site: SiteId, pages: Vec<FoundPage> },
    /// There is nothing left to do for a site.
    Done(SiteReport),
}

impl HarvestNews {
    /// Tells all times by another clock.
    pub(crate) fn set_times(&mut self, other: impl Fn(u64) -> u64) {
        match self {
            HarvestNews::BackOff { until_ms, .. } => *until_ms = other(*until_ms),
            HarvestNews::Asked { ended_ms, until_ms, .. } => {
                (*ended_ms, *until_ms) = (other(*ended_ms), other(*until_ms));
            }
            HarvestNews::Done(report) => {
                report.next_request_ms = other(report.next_request_ms);
                report.back_off_until_ms = other(report.back_off_until_ms);
                for time_s in
                    [&mut report.resolved_s, &mut report.resolve_again_s, &mut report.sitemaps_read_s]
                {
                    *time_s = seconds(other(u64::from(*time_s) * 1_000));
                }
            }
            HarvestNews::Robots { robots, .. } => {
                robots.fetched_s = seconds(other(u64::from(robots.fetched_s) * 1_000));
            }
            HarvestNews::Left { .. }
            | HarvestNews::Back { .. }
            | HarvestNews::Refers { .. }
            | HarvestNews::Found { .. } => {}
        }
    }
}

/// A page that a sitemap names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FoundPage {
    pub(crate) url: String,
    pub(crate) modified_s: u32,
}

/// What a harvester knows about a site when it is done with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SiteReport {
    pub(crate) site: SiteId,
    pub(crate) address: Option<IpAddr>,
    /// When the name was resolved, or could not be.
    pub(crate) resolved_s: u32,
    pub(crate) resolve_again_s: u32,
    pub(crate) next_request_ms: u64,
    pub(crate) errors_in_a_row: u16,
    pub(crate) back_off_until_ms: u64,
    /// What it asked for by answering that we come too often.
    #[serde(default)]
    pub(crate) asked_wait_ms: u64,
    /// When sitemaps were read; 0 if they were not.
    pub(crate) sitemaps_read_s: u32,
}

/// A reason as its byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct ReasonCode(pub(crate) u8);

impl From<Reason> for ReasonCode {
    fn from(reason: Reason) -> ReasonCode {
        ReasonCode(reason.code())
    }
}

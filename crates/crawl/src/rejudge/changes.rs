//! Settings that differ from those of the last crawl, and the reasons that depend on them.

use std::collections::BTreeMap;

use model::Reason;

/// Changed settings and the reasons that depend on them.
#[derive(Debug, Default)]
pub(super) struct ChangedReasons {
    /// Names of the changed settings.
    pub(super) settings: Vec<String>,
    reasons: Vec<Reason>,
}

impl ChangedReasons {
    /// Compares the digests of the last crawl, by the name of the setting, with those of now.
    pub(super) fn between(before: &BTreeMap<String, u64>, now: &BTreeMap<String, u64>) -> ChangedReasons {
        let settings: Vec<String> = now
            .iter()
            .filter(|(name, digest)| before.get(*name) != Some(digest))
            .map(|(name, _)| name.clone())
            .collect();
        let depends = |reason: &Reason| {
            reason.settings().iter().any(|name| settings.iter().any(|changed| changed == name))
        };
        let reasons = Reason::all().filter(depends).collect();
        ChangedReasons { settings, reasons }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.reasons.is_empty()
    }

    /// Whether a reason depends on a changed setting.
    pub(super) fn contains(&self, reason: Reason) -> bool {
        self.reasons.contains(&reason)
    }

    /// Whether pages without a reason may be excluded now.
    pub(super) fn may_exclude(&self) -> bool {
        self.reasons.iter().any(|reason| reason.excludes() || *reason == Reason::TooManyRedirects)
            || self.contains(Reason::IpBlocked)
    }
}

/// Whether the number of pages decides, which is counted separately.
pub(super) fn is_count_limit(reason: Reason) -> bool {
    matches!(reason, Reason::SitePageLimit | Reason::CollectionLimit | Reason::DomainBudget)
}

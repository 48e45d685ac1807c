//! Stage of a URL as a short text, and the obstacles to its fetch.

use model::{Reason, UrlClass};
use store::{Inlink, PageRecord, PageStage, SiteRecord};

use super::info::RobotsInfo;

/// Name of the stage, reason and summary.
pub(crate) type StageText = (&'static str, Option<Reason>, String);

/// Stage of a page of the collection.
pub(crate) fn known(
    record: &PageRecord,
    site: Option<&SiteRecord>,
    robots: Option<&RobotsInfo>,
) -> StageText {
    let is_unfetched = matches!(record.stage, PageStage::Discovered | PageStage::Queued);
    let alias = site.filter(|site| is_unfetched && site.alias_of.is_some()).map(|_| Reason::SiteAlias);
    // A page that waits for its site has no reason of its own.
    let robots = robots.filter(|robots| is_unfetched && !robots.allowed).map(robots_reason);
    let reason = alias.or(record.reason).or(robots);
    let cause = reason.map_or_else(|| "unknown reason".to_owned(), |reason| reason.to_string());
    match record.stage {
        PageStage::Discovered
            if matches!(
                reason,
                Some(Reason::DomainBudget | Reason::SitePageLimit | Reason::RobotsDisallowed)
            ) =>
        {
            ("discovered", reason, format!("discovered; not selected: {cause}"))
        }
        PageStage::Discovered if reason.is_some() => {
            ("discovered", reason, format!("discovered; retry pending: {cause}"))
        }
        PageStage::Discovered => ("discovered", reason, "discovered, not yet in a batch".to_owned()),
        PageStage::Queued => ("queued", reason, "queued in an open batch".to_owned()),
        PageStage::Fetched if reason.is_some() => {
            ("fetched", reason, format!("fetched incompletely: {cause}"))
        }
        PageStage::Fetched => ("fetched", reason, "fetched".to_owned()),
        PageStage::Failed => ("failed", reason, format!("last fetch failed: {cause}")),
        PageStage::Rejected => ("rejected", reason, format!("rejected: {cause}")),
    }
}

/// Stage of a URL that is not in the collection.
pub(crate) fn unknown(
    checked: &Result<UrlClass, Reason>,
    links: &[Inlink],
    robots: Option<&RobotsInfo>,
    is_alias: bool,
) -> StageText {
    let stage = |reason: Reason| ("unknown", Some(reason), format!("not in the collection: {reason}"));
    if let Err(reason) = checked {
        return stage(*reason);
    }
    // A link that was found but not followed carries the reason.
    let reasons = links.iter().filter_map(|link| link.reason.as_deref());
    let reason = reasons.filter_map(|name| Reason::all().find(|reason| reason.as_str() == name)).next();
    if let Some(reason) = reason.or(is_alias.then_some(Reason::SiteAlias)) {
        return stage(reason);
    }
    if let Some(robots) = robots.filter(|robots| !robots.allowed) {
        return stage(robots_reason(robots));
    }
    let summary = "not in the collection: in scope, but no fetched page links to it";
    ("unknown", None, summary.to_owned())
}

/// Obstacles to the next fetch of a page.
pub(crate) fn notes(
    record: Option<&PageRecord>,
    checked: &Result<UrlClass, Reason>,
    robots: Option<&RobotsInfo>,
    site: Option<&SiteRecord>,
    now_ms: u64,
) -> Vec<String> {
    let mut notes = Vec::new();
    let Some(record) = record else { return notes };
    if let Err(reason) = checked
        && record.stage != PageStage::Rejected
    {
        notes.push(format!("rejected by the current settings: {reason}"));
    }
    if matches!(record.stage, PageStage::Fetched | PageStage::Rejected) {
        return notes;
    }
    if let Some(robots) = robots.filter(|robots| !robots.allowed) {
        notes.push(robots_reason(robots).to_string());
    }
    if u64::from(record.earliest_visit_s) * 1_000 > now_ms {
        let time = time(i64::from(record.earliest_visit_s) * 1_000);
        notes.push(format!("next attempt after {time}"));
    }
    if let Some(until_ms) = site.map(|site| site.back_off_until_ms).filter(|until_ms| *until_ms > now_ms) {
        notes.push(format!("site in back-off until {}", time(until_ms as i64)));
    }
    notes
}

/// Reason why robots.txt does not allow a page. Disallowed without a rule means that robots.txt is unreachable.
fn robots_reason(robots: &RobotsInfo) -> Reason {
    if robots.rule.is_some() { Reason::RobotsDisallowed } else { Reason::RobotsUnreachable }
}

fn time(time_ms: i64) -> String {
    parse::format_date(time_ms / 1_000)
}

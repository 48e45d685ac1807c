//! What is the state of a URL, in a sentence, and what stands in its way?

use model::{Reason, UrlClass};
use store::{InLink, PageRecord, SiteRecord, Stage};

use super::RobotsStory;

/// The name of a state, the reason, and a sentence.
pub(super) type State = (&'static str, Option<Reason>, String);

pub(super) fn known(record: &PageRecord, site: Option<&SiteRecord>) -> State {
    let waits = matches!(record.stage, Stage::New | Stage::Queued);
    let alias = site.filter(|site| waits && site.alias_of.is_some()).map(|_| Reason::Alias);
    let reason = alias.or(Reason::from_code(record.reason));
    let why = reason.map_or_else(|| "no reason was recorded".to_owned(), |reason| reason.to_string());
    match record.stage {
        Stage::New if reason.is_some() => ("new", reason, format!("it waits: {why}")),
        Stage::New => ("new", reason, "it is known, and waits to be chosen".to_owned()),
        Stage::Queued => ("queued", reason, "it is in a batch that is being fetched".to_owned()),
        Stage::Fetched => ("fetched", reason, "it was fetched".to_owned()),
        Stage::Failed => ("failed", reason, format!("the last visit brought nothing: {why}")),
        Stage::Rejected => ("rejected", reason, format!("it is not fetched: {why}")),
    }
}

pub(super) fn unknown(
    judged: &Result<UrlClass, Reason>,
    links: &[InLink],
    robots: Option<&RobotsStory>,
    is_alias: bool,
) -> State {
    let state =
        |reason: Reason| ("unknown", Some(reason), format!("it is no page of this collection: {reason}"));
    if let Err(reason) = judged {
        return state(*reason);
    }
    // A link that was seen and not followed has the reason with it.
    let refused = links.iter().filter_map(|link| link.reason.as_deref());
    let refused = refused.filter_map(|name| Reason::all().find(|reason| reason.as_str() == name)).next();
    if let Some(reason) = refused.or(is_alias.then_some(Reason::Alias)) {
        return state(reason);
    }
    if robots.is_some_and(|robots| !robots.allowed) {
        return state(Reason::RobotsForbid);
    }
    let because =
        "it is no page of this collection: nothing is against it, but no page that was read links to it";
    ("unknown", None, because.to_owned())
}

/// What stands in the way of a page that has not failed or been rejected for good.
pub(super) fn notes(
    record: Option<&PageRecord>,
    judged: &Result<UrlClass, Reason>,
    robots: Option<&RobotsStory>,
    site: Option<&SiteRecord>,
    now_ms: u64,
) -> Vec<String> {
    let mut notes = Vec::new();
    let Some(record) = record else { return notes };
    if let Err(reason) = judged
        && record.stage != Stage::Rejected
    {
        notes.push(format!("by the settings as they are now it would be left out: {reason}"));
    }
    if matches!(record.stage, Stage::Fetched | Stage::Rejected) {
        return notes;
    }
    if let Some(robots) = robots.filter(|robots| !robots.allowed) {
        // What is forbidden without a rule is so because there are none to be had.
        let reason = if robots.rule.is_some() { Reason::RobotsForbid } else { Reason::RobotsUnreachable };
        notes.push(reason.to_string());
    }
    if u64::from(record.not_before_s) * 1_000 > now_ms {
        let when = time(i64::from(record.not_before_s) * 1_000);
        notes.push(format!("it is not tried before {when}"));
    }
    if let Some(until_ms) = site.map(|site| site.back_off_until_ms).filter(|until_ms| *until_ms > now_ms) {
        notes.push(format!("its site failed, and is left alone until {}", time(until_ms as i64)));
    }
    notes
}

fn time(time_ms: i64) -> String {
    parse::date_text(time_ms / 1_000)
}

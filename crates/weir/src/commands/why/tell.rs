//! How is the story of a URL told to people?

use crawl::{BudgetStory, LinkStory, PageStory, RobotsStory, SiteStory, Story, VisitStory, Worth};
use model::Reason;

use crate::printer::{Meaning, Printer, printable};
use crate::process::now_ms;
use crate::words::{count, counted, duration, size, time};

pub(super) fn tell(story: &Story, printer: &mut Printer) -> anyhow::Result<()> {
    printer.line(&printable(&story.url))?;
    let meaning = match story.state {
        "fetched" => Meaning::Good,
        "new" | "queued" => Meaning::Aside,
        _ => Meaning::Bad,
    };
    printer.line(&format!("  {}", printer.paint(meaning, &story.because)))?;
    for note in &story.notes {
        printer.line(&format!("  {note}"))?;
    }
    if let (Some(page), Some(number)) = (&story.page, story.page_id) {
        line(printer, "page", &page_line(page, number, story.class))?;
        if let Some(original) = &page.duplicate_of {
            line(printer, "", &format!("its content is that of {original}"))?;
        }
    }
    if let Some(worth) = &story.worth {
        line(printer, "quality", &quality_line(worth))?;
        line(printer, "profit", &profit_line(worth))?;
    }
    if let Some(site) = &story.site {
        line(printer, "site", &site_line(site))?;
        for part in site_parts(site) {
            line(printer, "", &part)?;
        }
    }
    if let Some(budget) = story.budget.as_ref().and_then(budget_line) {
        line(printer, "budget", &budget)?;
    }
    match (&story.robots, &story.site) {
        (Some(robots), _) => line(printer, "robots", &robots_line(robots))?,
        (None, Some(_)) => line(printer, "robots", "robots.txt was not asked for yet")?,
        (None, None) => {}
    }
    for (number, visit) in story.history.iter().enumerate() {
        line(printer, if number == 0 { "visits" } else { "" }, &visit_line(visit))?;
    }
    for (number, link) in story.linked_from.iter().enumerate() {
        line(printer, if number == 0 { "links" } else { "" }, &link_line(link))?;
    }
    Ok(())
}

fn line(printer: &mut Printer, name: &str, text: &str) -> anyhow::Result<()> {
    let name = printer.paint(Meaning::Aside, &format!("{name:8}"));
    printer.line(&format!("  {name}  {}", printable(text).replace('\n', " ")))
}

fn page_line(page: &PageStory, number: u32, class: Option<&str>) -> String {
    let place = match (page.seed, page.depth) {
        (true, _) => "a seed".to_owned(),
        (false, depth) => format!("{} deep", counted(u64::from(depth), "link")),
    };
    let mut parts = vec![format!("number {}", count(u64::from(number))), place];
    parts.extend(class.map(str::to_owned));
    parts.push(format!("{} to it", counted(u64::from(page.in_links), "link")));
    if page.redirects > 0 {
        parts.push(format!("behind {}", counted(u64::from(page.redirects), "redirect")));
    }
    parts.push(match page.visits {
        0 => "never visited".to_owned(),
        visits => counted(u64::from(visits), "visit"),
    });
    parts.join(", ")
}

fn quality_line(worth: &Worth) -> String {
    let parts: Vec<String> =
        worth.terms.iter().map(|part| format!("{} {:.3}", part.term, part.value)).collect();
    format!("{:.3} = {}", worth.quality, parts.join(" + "))
}

fn profit_line(worth: &Worth) -> String {
    let mut parts = vec![format!("{:.3} for {}", worth.profit, worth.aim)];
    parts.push(match worth.fresh {
        Some(_) if worth.known_stale => "its site says that it has changed".to_owned(),
        Some(fresh) => format!("{:.0} % sure to be as it was seen", fresh * 100.0),
        None => "nobody has seen it".to_owned(),
    });
    parts.push(match worth.changes_per_day {
        // Nobody says every 1 days.
        often if often > 0.6 => format!("changes {often:.1} times a day"),
        rarely => format!("changes every {:.0} days", 1.0 / rarely.max(1e-6)),
    });
    parts.extend(worth.due_ms.map(|due_ms| match due_ms {
        due_ms if due_ms <= now_ms() => "due".to_owned(),
        due_ms => format!("due from {} on", time(due_ms as i64)),
    }));
    parts.join(", ")
}

fn site_line(site: &SiteStory) -> String {
    format!(
        "{}: {} known, {} fetched of at most {}, {} queued",
        site.site,
        counted(u64::from(site.pages_known), "page"),
        count(u64::from(site.pages_fetched)),
        count(site.most_pages),
        count(u64::from(site.pages_queued)),
    )
}

fn site_parts(site: &SiteStory) -> Vec<String> {
    let seconds = site.wait_ms as f64 / 1_000.0;
    let mut parts = Vec::new();
    parts.extend(site.alias_of.as_ref().map(|other| format!("it is another name of {other}")));
    let address =
        site.address.as_ref().map_or_else(|| "no address is known".to_owned(), |at| format!("at {at}"));
    parts.push(format!("{address}; {seconds} s between two requests"));
    if site.sites_at_address > 1 {
        let sites = count(site.sites_at_address);
        parts.push(format!(
            "{sites} sites have this address and are asked in turn: a slow one holds up the others"
        ));
    }
    if site.errors_in_a_row > 0 {
        parts.push(format!("{} in a row", counted(u64::from(site.errors_in_a_row), "error")));
    }
    parts
        .extend(site.back_off_until_ms.map(|until_ms| format!("left alone until {}", time(until_ms as i64))));
    parts
}

/// Nothing as long as nobody comes near a limit.
fn budget_line(budget: &BudgetStory) -> Option<String> {
    let mut parts = Vec::new();
    let BudgetStory { domain, domain_pages, domain_most_pages, requests_today, .. } = budget;
    if domain_pages * 2 >= *domain_most_pages {
        parts.push(format!("{domain} has {} of {} pages", count(*domain_pages), count(*domain_most_pages)));
    }
    if let Some(most) = budget.requests_per_day {
        parts.push(format!("{} of {} requests today", count(*requests_today), count(most)));
    }
    if let Some(left) = budget.site_requests_left {
        parts.push(format!("{} left for its site today", count(left)));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn robots_line(robots: &RobotsStory) -> String {
    let asked = format!("asked {}", time(robots.fetched_ms as i64));
    let verdict = match (&robots.rule, robots.line, robots.allowed) {
        (Some(rule), Some(line), true) => format!("allowed by line {line}: {rule}"),
        (Some(rule), Some(line), false) => format!("forbidden by line {line}: {rule}"),
        (_, _, true) if (200..300).contains(&robots.status) => "allowed: no rule is about it".to_owned(),
        (_, _, true) => format!("allowed: there is no robots.txt (status {})", robots.status),
        (_, _, false) => format!("forbidden as long as robots.txt cannot be had (status {})", robots.status),
    };
    format!("{verdict}; {asked}")
}

fn visit_line(visit: &VisitStory) -> String {
    let mut parts = vec![time(visit.time_ms), visit.outcome.replace('_', " ")];
    if visit.status != 0 {
        parts.push(format!("status {}", visit.status));
    }
    let sentence = visit.reason.as_ref().map(|name| {
        Reason::all()
            .find(|reason| reason.as_str() == name)
            .map_or_else(|| name.clone(), |reason| reason.to_string())
    });
    parts.extend(sentence);
    parts.extend(visit.redirect.as_ref().map(|target| format!("to {target}")));
    if visit.bytes > 0 {
        parts.push(size(visit.bytes as u64));
    }
    parts.extend(visit.mime_type.clone());
    parts.extend(visit.duration_ms.map(|ms| match ms {
        0..10_000 => format!("{ms} ms"),
        _ => duration(ms as u64 / 1_000),
    }));
    parts.extend(visit.changed.map(|changed| if changed { "changed" } else { "not changed" }.to_owned()));
    parts.join(", ")
}

fn link_line(link: &LinkStory) -> String {
    let anchor = link.anchor.as_ref().filter(|anchor| !anchor.is_empty());
    let anchor = anchor.map_or_else(String::new, |anchor| format!(" \"{anchor}\""));
    let reason = link.reason.as_ref().map_or_else(String::new, |reason| format!(" (not followed: {reason})"));
    format!("{} <{}>{anchor}{reason}", link.url, link.kind)
}

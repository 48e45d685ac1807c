//! Text output of `weir why`.

use inspect::{BudgetInfo, FetchInfo, InlinkInfo, PageInfo, PriorityInfo, RobotsInfo, SiteInfo, UrlReport};
use model::Reason;

use crate::human::{self, duration, plural, timestamp};
use crate::output::{Printer, TextStyle, printable};
use crate::system::now_ms;

pub(crate) fn print(report: &UrlReport, printer: &mut Printer) -> anyhow::Result<()> {
    printer.line(&printable(&report.url))?;
    let style = match report.stage {
        "fetched" => TextStyle::Good,
        "discovered" | "queued" => TextStyle::Dim,
        _ => TextStyle::Bad,
    };
    printer.line(&format!("  {}", printer.style(style, &report.summary)))?;
    for note in &report.notes {
        printer.line(&format!("  {note}"))?;
    }
    if let (Some(page), Some(id)) = (&report.page, report.page_id) {
        line(printer, "page", &page_line(page, id, report.url_class))?;
        if let Some(original) = &page.duplicate_of {
            line(printer, "", &format!("exact duplicate of {original}"))?;
        }
    }
    if let Some(priority) = &report.priority {
        line(printer, "quality", &quality_line(priority))?;
        line(printer, "priority", &priority_line(priority))?;
    }
    if let Some(site) = &report.site {
        line(printer, "site", &site_line(site))?;
        for part in site_parts(site) {
            line(printer, "", &part)?;
        }
    }
    if let Some(budget) = report.budget.as_ref().and_then(budget_line) {
        line(printer, "budget", &budget)?;
    }
    match (&report.robots, &report.site) {
        (Some(robots), _) => line(printer, "robots", &robots_line(robots))?,
        (None, Some(_)) => line(printer, "robots", "robots.txt not fetched")?,
        (None, None) => {}
    }
    for (index, fetch) in report.fetches.iter().enumerate() {
        line(printer, if index == 0 { "fetches" } else { "" }, &fetch_line(fetch))?;
    }
    for (index, link) in report.inlinks_sample.iter().enumerate() {
        line(printer, if index == 0 { "inlinks" } else { "" }, &link_line(link))?;
    }
    Ok(())
}

fn line(printer: &mut Printer, name: &str, text: &str) -> anyhow::Result<()> {
    let name = printer.style(TextStyle::Dim, &format!("{name:8}"));
    printer.line(&format!("  {name}  {}", printable(text).replace('\n', " ")))
}

fn page_line(page: &PageInfo, id: u32, class: Option<&str>) -> String {
    let origin = match (page.is_seed, page.depth) {
        (true, _) => "seed".to_owned(),
        (false, depth) => format!("depth {depth}"),
    };
    let mut parts = vec![format!("page {}", human::number(u64::from(id))), origin];
    parts.extend(class.map(str::to_owned));
    parts.push(plural(u64::from(page.inlinks), "inlink"));
    if page.redirect_depth > 0 {
        parts.push(plural(u64::from(page.redirect_depth), "redirect"));
    }
    parts.push(match page.fetch_count {
        0 => "never fetched".to_owned(),
        fetches => plural(u64::from(fetches), "fetch"),
    });
    parts.join(", ")
}

fn quality_line(priority: &PriorityInfo) -> String {
    let parts: Vec<String> =
        priority.terms.iter().map(|part| format!("{} {:.3}", part.name, part.contribution)).collect();
    format!("{:.3} = {}", priority.quality, parts.join(" + "))
}

fn priority_line(priority: &PriorityInfo) -> String {
    let mut parts = vec![format!("{:.3} ({})", priority.value, priority.objective)];
    parts.push(match priority.freshness {
        Some(_) if priority.reported_changed => "sitemap reports a change".to_owned(),
        Some(freshness) => format!("freshness {:.0} %", freshness * 100.0),
        None => "never fetched".to_owned(),
    });
    parts.push(match priority.changes_per_day {
        // Above 0.6 the interval would be rounded to "every 1 days".
        rate if rate > 0.6 => format!("changes {rate:.1} times per day"),
        rate => format!("changes every {:.0} days", 1.0 / rate.max(1e-6)),
    });
    parts.extend(priority.due_ms.map(|due_ms| match due_ms {
        due_ms if due_ms <= now_ms() => "due".to_owned(),
        due_ms => format!("due at {}", timestamp(due_ms as i64)),
    }));
    parts.join(", ")
}

fn site_line(site: &SiteInfo) -> String {
    format!(
        "{}: {} known, {} fetched (maximum {}), {} queued",
        site.site,
        plural(u64::from(site.pages_known), "page"),
        human::number(u64::from(site.pages_fetched)),
        human::number(site.max_pages),
        human::number(u64::from(site.pages_queued)),
    )
}

fn site_parts(site: &SiteInfo) -> Vec<String> {
    let seconds = site.delay_ms as f64 / 1_000.0;
    let mut parts = Vec::new();
    parts.extend(site.alias_of.as_ref().map(|other| format!("alias of {other}")));
    let address = site.ip_address.as_ref().map_or_else(|| "IP unknown".to_owned(), |ip| format!("IP {ip}"));
    parts.push(format!("{address}; delay {seconds} s"));
    if site.sites_at_ip > 1 {
        let sites = human::number(site.sites_at_ip);
        parts.push(format!("{sites} sites share this IP and are fetched one at a time"));
    }
    let mut polls = Vec::new();
    polls.extend(
        site.next_robots_poll_ms.map(|due_ms| format!("robots.txt after {}", timestamp(due_ms as i64))),
    );
    polls.extend(
        site.next_sitemap_poll_ms.map(|due_ms| format!("sitemaps after {}", timestamp(due_ms as i64))),
    );
    if !polls.is_empty() {
        parts.push(format!("next polls: {}", polls.join(", ")));
    }
    if site.sitemap_refusals > 0 {
        let refused = plural(u64::from(site.sitemap_refusals), "URL");
        parts
            .push(format!("{refused} of other sites in its sitemaps refused: not named in their robots.txt"));
    }
    if site.consecutive_failures > 0 {
        parts.push(plural(u64::from(site.consecutive_failures), "consecutive failure"));
    }
    parts.extend(
        site.back_off_until_ms.map(|until_ms| format!("in back-off until {}", timestamp(until_ms as i64))),
    );
    parts
}

/// Use of the budgets; `None` if no limit is near.
fn budget_line(budget: &BudgetInfo) -> Option<String> {
    let mut parts = Vec::new();
    let BudgetInfo { domain, domain_pages, domain_max_pages: domain_most_pages, requests_today, .. } = budget;
    if domain_pages * 2 >= *domain_most_pages {
        parts.push(format!(
            "{domain} has {} of {} pages",
            human::number(*domain_pages),
            human::number(*domain_most_pages)
        ));
    }
    if let Some(limit) = budget.max_requests_per_day {
        parts.push(format!("{} of {} requests today", human::number(*requests_today), human::number(limit)));
    }
    if let Some(remaining) = budget.site_requests_remaining {
        parts.push(format!("{} requests remaining for the site today", human::number(remaining)));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn robots_line(robots: &RobotsInfo) -> String {
    let fetched = format!("fetched {}", timestamp(robots.fetched_ms as i64));
    let verdict = match (&robots.rule, robots.line, robots.allowed) {
        (Some(rule), Some(line), true) => format!("allowed by line {line}: {rule}"),
        (Some(rule), Some(line), false) => format!("disallowed by line {line}: {rule}"),
        (_, _, true) if (200..300).contains(&robots.status) => "allowed: no matching rule".to_owned(),
        (_, _, true) => format!("allowed: no robots.txt (HTTP {})", robots.status),
        (_, _, false) => format!("disallowed: robots.txt unreachable (HTTP {})", robots.status),
    };
    format!("{verdict}; {fetched}")
}

fn fetch_line(fetch: &FetchInfo) -> String {
    let mut parts = vec![timestamp(fetch.fetched_ms), fetch.outcome.replace('_', " ")];
    if fetch.status != 0 {
        parts.push(format!("HTTP {}", fetch.status));
    }
    let reason = fetch.reason.as_ref().map(|name| {
        Reason::all()
            .find(|reason| reason.as_str() == name)
            .map_or_else(|| name.clone(), |reason| reason.to_string())
    });
    parts.extend(reason);
    parts.extend(fetch.redirect_url.as_ref().map(|target| format!("to {target}")));
    if fetch.body_bytes > 0 {
        parts.push(human::bytes(fetch.body_bytes as u64));
    }
    parts.extend(fetch.mime_type.clone());
    parts.extend(fetch.duration_ms.map(|ms| match ms {
        0..10_000 => format!("{ms} ms"),
        _ => duration(ms as u64 / 1_000),
    }));
    parts.extend(fetch.changed.map(|changed| if changed { "changed" } else { "unchanged" }.to_owned()));
    parts.join(", ")
}

fn link_line(link: &InlinkInfo) -> String {
    let anchor = link.anchor.as_ref().filter(|anchor| !anchor.is_empty());
    let anchor = anchor.map_or_else(String::new, |anchor| format!(" \"{anchor}\""));
    let reason = link.reason.as_ref().map_or_else(String::new, |reason| format!(" (not followed: {reason})"));
    format!("{} <{}>{anchor}{reason}", link.url, link.kind)
}

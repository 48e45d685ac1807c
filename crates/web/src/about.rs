//! What is known of one page? Its story, what it says, its ranks, its versions, and where its links lead.

use std::sync::Arc;

use askama::Template;
use axum::Json;
use axum::extract::State;
use axum::response::Html;
use crawl::{Story, story};
use model::{CanonicalUrl, PageId};
use report::words;
use serde::Serialize;
use store::{RankColumn, RankValue, Ranked, Snapshot, list_ranks};

use crate::asked::{Asked, address};
use crate::desk::Desk;
use crate::failure::Failure;
use crate::frame::{Frame, Part, page};
use crate::place::Place;
use crate::shown;
use crate::sites::now_ms;
use crate::stored::{Stored, versions};

const MOST_VERSIONS: usize = 50;
const MOST_LINKS: usize = 200;
/// Those that mean something by themselves; others are numbers of groups.
const SHOWN_RANKS: [&str; 6] = ["authority", "hub", "in-degree", "link-rank", "out-degree", "pagerank"];

/// Everything about a page. Scripts rely on the names.
#[derive(Serialize)]
pub(crate) struct About {
    #[serde(flatten)]
    story: Story,
    title: Option<String>,
    description: Option<String>,
    /// By the last analysis.
    ranks: Vec<Rank>,
    /// Newest first.
    versions: Vec<Version>,
    /// Links of the stored version, in their order.
    links: Vec<OutLink>,
    /// How many it has.
    links_total: usize,
}

#[derive(Serialize)]
struct Rank {
    name: String,
    value: f64,
}

#[derive(Serialize)]
struct Version {
    fetched_ms: i64,
    status: Option<u16>,
    digest: String,
    /// Whether its body is that of another version.
    revisit: bool,
}

#[derive(Serialize)]
struct OutLink {
    url: String,
    text: String,
    kind: &'static str,
    /// Whether the collection knows the page.
    known: bool,
}

pub(crate) async fn api(State(desk): State<Arc<Desk>>, asked: Asked) -> Result<Json<About>, Failure> {
    desk.work(move |desk| about(desk, &asked).map(Json)).await
}

fn about(desk: &Desk, asked: &Asked) -> Result<About, Failure> {
    let snapshot = desk.snapshot()?;
    let Place { url, page } = Place::of(desk, &snapshot, asked)?;
    let mut about = About {
        story: story(&snapshot, &desk.settings.rules, url.as_str(), now_ms())?,
        title: None,
        description: None,
        ranks: Vec::new(),
        versions: Vec::new(),
        links: Vec::new(),
        links_total: 0,
    };
    let Some(page) = page else { return Ok(about) };
    about.ranks = ranks(&snapshot, page)?;
    let version = |version: store::PageVersion| Version {
        fetched_ms: version.fetched_at_ms,
        status: version.status,
        digest: version.digest,
        revisit: version.revisit,
    };
    about.versions = versions(&snapshot, url.as_str(), MOST_VERSIONS)?.into_iter().map(version).collect();
    if let Some(stored) = Stored::read(&snapshot, page, url.as_str(), None)? {
        about.read(desk, &snapshot, &url, &stored)?;
    }
    Ok(about)
}

impl About {
    /// What the stored version says.
    fn read(
        &mut self,
        desk: &Desk,
        snapshot: &Snapshot,
        url: &CanonicalUrl,
        stored: &Stored,
    ) -> Result<(), Failure> {
        let document = stored.document(url);
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        (self.title, self.description) = (some(&document.title), some(&document.description));
        let mut targets = Vec::new();
        document.resolve(url, &desk.settings.rules.gather.rules, |resolved| {
            self.links_total += 1;
            if let (Ok(target), true) = (resolved.target, targets.len() < MOST_LINKS) {
                targets.push((target.clone(), resolved.link.text.to_owned(), resolved.link.kind.as_str()));
            }
        });
        for (target, text, kind) in targets {
            let known = snapshot.urls.find(&target)?.is_some();
            self.links.push(OutLink { url: target.as_str().to_owned(), text, kind, known });
        }
        Ok(())
    }
}

fn ranks(snapshot: &Snapshot, page: PageId) -> Result<Vec<Rank>, Failure> {
    let mut ranks = Vec::new();
    for entry in list_ranks(snapshot.folder())?.into_iter().filter(|entry| entry.of == Ranked::Pages) {
        let value = if entry.suffix == f32::SUFFIX {
            rank::<f32>(snapshot, &entry.name, page)?.map(f64::from)
        } else {
            rank::<u32>(snapshot, &entry.name, page)?.map(f64::from)
        };
        ranks.extend(value.map(|value| Rank { name: entry.name, value }));
    }
    Ok(ranks)
}

fn rank<V: RankValue>(snapshot: &Snapshot, name: &str, page: PageId) -> store::Result<Option<V>> {
    match RankColumn::<V>::open(snapshot.folder(), Ranked::Pages, name)? {
        Some(column) => column.get(page.0),
        None => Ok(None),
    }
}

#[derive(Template)]
#[template(path = "page.html")]
struct View {
    frame: Frame,
    title: String,
    url: String,
    original: Option<String>,
    cached: Option<String>,
    similar: Option<String>,
    site: Option<(String, String)>,
    linking: String,
    description: String,
    facts: Vec<(&'static str, String, String)>,
    terms: Vec<(&'static str, String, String, u32)>,
    visits: Vec<VisitRow>,
    versions: Vec<(String, String, String, &'static str)>,
    linked_from: Vec<LinkRow>,
    links: Vec<LinkRow>,
    links_total: String,
    ranks: Vec<(String, String)>,
    about: About,
}

struct VisitRow {
    when: String,
    outcome: String,
    bytes: String,
    took: String,
    note: String,
}

struct LinkRow {
    address: String,
    url: String,
    text: String,
    kind: String,
    note: String,
}

pub(crate) async fn html(State(desk): State<Arc<Desk>>, asked: Asked) -> Result<Html<String>, Failure> {
    desk.work(move |desk| page(&view(desk, about(desk, &asked)?))).await
}

fn view(desk: &Desk, about: About) -> View {
    let story = &about.story;
    let url = story.url.clone();
    let title = about.title.as_deref().map_or_else(|| shown::url(&url), shown::title);
    View {
        frame: Frame::new(desk, Part::Other, &title),
        url: shown::url(&url),
        original: Some(url.clone()).filter(|url| shown::is_link(url)),
        cached: (!about.versions.is_empty()).then(|| address("/cached", &[("url", &url)])),
        similar: story.page_id.map(|_| address("/similar", &[("url", &url)])),
        site: story
            .site
            .as_ref()
            .map(|site| (shown::url(&site.site), address("/site", &[("name", &site.site)]))),
        linking: address("/", &[("q", &format!("links-to:{url}"))]),
        description: shown::shown(about.description.as_deref().unwrap_or_default(), shown::TEXT_CHARACTERS),
        facts: facts(story),
        terms: terms(story),
        visits: story.history.iter().rev().map(visit_row).collect(),
        versions: about.versions.iter().map(|version| version_row(&url, version)).collect(),
        linked_from: story
            .linked_from
            .iter()
            .map(|link| {
                let note = if link.reason.is_some() { "not followed" } else { "" };
                link_row(&link.url, link.anchor.as_deref().unwrap_or_default(), &link.kind, note)
            })
            .collect(),
        links: about
            .links
            .iter()
            .map(|link| {
                link_row(
                    &link.url,
                    &link.text,
                    link.kind,
                    if link.known { "" } else { "not in the collection" },
                )
            })
            .collect(),
        links_total: words::counted(about.links_total as u64, "link"),
        ranks: about
            .ranks
            .iter()
            .filter(|rank| SHOWN_RANKS.contains(&rank.name.as_str()))
            .map(|rank| (rank.name.replace('-', " "), number(rank.value)))
            .collect(),
        title,
        about,
    }
}

/// A number of any size in few characters.
fn number(value: f64) -> String {
    match value {
        whole if whole.fract() == 0.0 && whole.abs() < 1e15 => words::count(whole as u64),
        small if small.abs() < 0.001 => format!("{small:.2e}"),
        value => format!("{value:.4}"),
    }
}

fn facts(story: &Story) -> Vec<(&'static str, String, String)> {
    let Some(page) = &story.page else { return Vec::new() };
    let time = |ms: Option<u64>| ms.map_or_else(|| "never".to_owned(), |ms| words::time(ms as i64));
    let count = |number: u32| words::count(u64::from(number));
    let mut facts = vec![
        ("Page number", story.page_id.map(&count).unwrap_or_default(), String::new()),
        ("Depth", page.depth.to_string(), if page.seed { "a seed".to_owned() } else { String::new() }),
        ("Links in", count(page.in_links), String::new()),
        ("Visits", count(u32::from(page.visits)), format!("changed {} times", page.changes)),
        ("First visit", time(page.first_visit_ms), String::new()),
        ("Last visit", time(page.last_visit_ms), format!("status {}", page.status)),
    ];
    if let Some(due_ms) = story.worth.as_ref().and_then(|worth| worth.due_ms).filter(|due_ms| *due_ms > 0) {
        facts.push(("Next visit from", words::time(due_ms as i64), String::new()));
    }
    if let Some(robots) = &story.robots {
        let rule = robots.rule.as_deref().map(|rule| shown::shown(rule, 80)).unwrap_or_default();
        let line = robots.line.map_or_else(String::new, |line| format!("line {line}: {rule}"));
        facts.push(("robots.txt", if robots.allowed { "allows it" } else { "forbids it" }.to_owned(), line));
    }
    if let Some(original) = &page.duplicate_of {
        facts.push(("Duplicate of", shown::url(original), String::new()));
    }
    facts
}

/// Name, score, share of the quality, and that share of the whole in percent.
fn terms(story: &Story) -> Vec<(&'static str, String, String, u32)> {
    let Some(worth) = &story.worth else { return Vec::new() };
    let row = |term: &crawl::WorthTerm| {
        let percent = (term.value / worth.quality.max(f32::MIN_POSITIVE) * 100.0).clamp(0.0, 100.0);
        (term.term, format!("{:.3}", term.score), format!("{:.3}", term.value), percent as u32)
    };
    worth.terms.iter().filter(|term| term.weight > 0.0).map(row).collect()
}

fn visit_row(visit: &crawl::VisitStory) -> VisitRow {
    let status = if visit.status == 0 { String::new() } else { format!(" ({})", visit.status) };
    let changed = match visit.changed {
        Some(true) => "changed",
        Some(false) => "not changed",
        None => "",
    };
    let redirect = visit.redirect.as_deref().map(|url| format!("to {}", shown::url(url)));
    let notes = [visit.reason.clone(), redirect, Some(changed.to_owned())];
    let notes: Vec<String> = notes.into_iter().flatten().filter(|note| !note.is_empty()).collect();
    VisitRow {
        when: words::time(visit.time_ms),
        outcome: format!("{}{status}", visit.outcome.replace('_', " ")),
        bytes: words::size(visit.bytes.max(0) as u64),
        took: visit.duration_ms.map(|ms| format!("{ms} ms")).unwrap_or_default(),
        note: notes.join(", "),
    }
}

fn version_row(url: &str, version: &Version) -> (String, String, String, &'static str) {
    let at = version.fetched_ms.to_string();
    (
        address("/cached", &[("url", url), ("at", &at)]),
        words::time(version.fetched_ms),
        version.status.map(|status| status.to_string()).unwrap_or_default(),
        if version.revisit { "as before" } else { "" },
    )
}

fn link_row(url: &str, text: &str, kind: &str, note: &str) -> LinkRow {
    LinkRow {
        address: address("/page", &[("url", url)]),
        url: shown::url(url),
        text: shown::shown(text, shown::TITLE_CHARACTERS),
        kind: kind.to_owned(),
        note: note.to_owned(),
    }
}

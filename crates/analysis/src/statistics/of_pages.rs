//! Statistics of pages: rows of the table `pages`.

use store::{PageRow, PageRows};

use super::distribution::Distribution;
use super::groups::{Groups, Key, KeyOf, KeySql, NumberOf};
use super::sheet::{Figure, How, Sheet};
use super::top::{Id, IdOf, Top};

pub(super) fn sheet() -> Sheet<PageRows> {
    Sheet { figures: figures(), groups: groups(), distributions: distributions(), tops: tops() }
}

fn is(condition: bool) -> Option<f64> {
    Some(f64::from(u8::from(condition)))
}

fn number<N: Into<f64>>(number: Option<N>) -> Option<f64> {
    number.map(Into::into)
}

/// Whole numbers up to 2^53 stay what they are.
fn count(count: Option<i64>) -> Option<f64> {
    count.map(|count| count as f64)
}

#[rustfmt::skip]
fn figures() -> Vec<Figure<PageRows>> {
    vec![
        sum("pages", "count(*)", |_| Some(1.0)),
        sum("pages-visited", "coalesce(sum(case when visits > 0 then 1 else 0 end), 0)", |p| is(p.visits > 0)),
        sum("pages-fetched", "coalesce(sum(case when stage = 'fetched' then 1 else 0 end), 0)", |p| is(p.stage == "fetched")),
        sum("pages-failed", "coalesce(sum(case when stage = 'failed' then 1 else 0 end), 0)", |p| is(p.stage == "failed")),
        sum("pages-rejected", "coalesce(sum(case when stage = 'rejected' then 1 else 0 end), 0)", |p| is(p.stage == "rejected")),
        sum("pages-dynamic", "coalesce(sum(case when dynamic then 1 else 0 end), 0)", |p| is(p.dynamic)),
        sum("visits", "coalesce(sum(visits), 0)", |p| Some(f64::from(p.visits))),
        sum("bytes", "coalesce(sum(content_length), 0)", |p| count(p.content_length)),
        sum("words", "coalesce(sum(words), 0)", |p| number(p.words)),
        sum("links", "coalesce(sum(out_degree), 0)", |p| count(p.out_degree)),
        sum("links-internal", "coalesce(sum(links_internal), 0)", |p| number(p.links_internal)),
        sum("links-external", "coalesce(sum(links_external), 0)", |p| number(p.links_external)),
        sum("links-embedded", "coalesce(sum(links_embedded), 0)", |p| number(p.links_embedded)),
        Figure { name: "first-visit", sql: "min(extract(epoch from first_visit))", of: |p| seconds(p.first_visit), how: How::Min },
        Figure { name: "last-visit", sql: "max(extract(epoch from last_visit))", of: |p| seconds(p.last_visit), how: How::Max },
    ]
}

fn sum(name: &'static str, sql: &'static str, of: NumberOf<PageRows>) -> Figure<PageRows> {
    Figure { name, sql, of, how: How::Sum }
}

fn seconds(unix_ms: Option<i64>) -> Option<f64> {
    unix_ms.map(|ms| ms as f64 / 1_000.0)
}

fn groups() -> Vec<Groups<PageRows>> {
    let mut groups = content_groups();
    groups.extend(crawl_groups());
    groups
}

const PARSED: &str = "text_length is not null";
const FETCHED_SQL: &str = "sum(case when stage = 'fetched' then 1 else 0 end)";

/// Counts pages.
fn by(name: &'static str, meaning: &'static str, sql: KeySql, key: KeyOf<PageRows>) -> Groups<PageRows> {
    Groups::<PageRows>::new(name, meaning, "pages", sql, key)
}

/// What pages are.
#[rustfmt::skip]
fn content_groups() -> Vec<Groups<PageRows>> {
    vec![
        by("mime-types", "Pages with content, by its type.",
            ("mime", "mime", "content_length is not null"), |p| Key::of(p.content_length.is_some(), p.mime)).diverse(),
        by("charsets", "Pages that were parsed, by encoding.",
            ("charset", "charset", PARSED), |p| Key::of(p.text_length.is_some(), p.charset)).diverse(),
        by("languages", "Pages that were parsed, by the language detected.",
            ("language", "language", PARSED), |p| Key::of(p.text_length.is_some(), p.language)).diverse(),
        by("static-dynamic", "Known pages: `dynamic` ones have a query or name a program in the URL.",
            ("kind", "case when dynamic then 'dynamic' else 'static' end", ""),
            |p| Key::Text(if p.dynamic { "dynamic" } else { "static" }))
            .and_sum("fetched", FETCHED_SQL, |p| is(p.stage == "fetched")),
        by("technologies", "Known pages whose URL names a program, by program.",
            ("technology", "technology", "technology is not null"), |p| Key::of(p.technology.is_some(), p.technology))
            .and_sum("fetched", FETCHED_SQL, |p| is(p.stage == "fetched")).diverse(),
        by("duplicates", "Pages that were parsed: whether another had the same bytes, text or nearly the same text first.",
            ("copy", COPY_SQL, PARSED), copy),
        by("structure-pages", "Pages by part of the bow tie.",
            ("part", "part", "part is not null"), |p| Key::of(p.part.is_some(), p.part)),
    ]
}

const COPY_SQL: &str = "case when duplicate_of is not null then 'same bytes' \
    when duplicate_group <> page_id then 'same text' \
    when near_duplicate_group <> page_id then 'nearly the same text' else 'none' end";

fn copy<'a>(page: &'a PageRow<'_>) -> Key<'a> {
    let is_copy = |group: Option<u32>| group.is_some_and(|first| first != page.page_id);
    Key::of(
        page.text_length.is_some(),
        Some(match page {
            _ if page.duplicate_of.is_some() => "same bytes",
            _ if is_copy(page.duplicate_group) => "same text",
            _ if is_copy(page.near_duplicate_group) => "nearly the same text",
            _ => "none",
        }),
    )
}

/// What became of pages in the crawl.
#[rustfmt::skip]
fn crawl_groups() -> Vec<Groups<PageRows>> {
    vec![
        by("stages", "Known pages, by how far the crawl has come with them.",
            ("stage", "stage", ""), |p| Key::Text(p.stage)),
        by("status-codes", "Pages that were visited, by the status of the last answer; 0 when there was none.",
            ("status", "status", "visits > 0"), |p| Key::of(p.visits > 0, p.status.map(i64::from))),
        by("reasons", "Pages that were not fetched, by reason, where there is one.",
            ("reason", "reason", "reason is not null and stage <> 'fetched'"),
            |p| Key::of(p.reason.is_some() && p.stage != "fetched", p.reason)),
        by("protocols", "Known pages, by protocol.",
            ("protocol", "url_protocol", ""), |p| Key::Text(p.url_protocol))
            .and_sum("fetched", FETCHED_SQL, |p| is(p.stage == "fetched")),
        by("depths", "Known pages, by links from where their site was entered, with the means of links to them and PageRank.",
            ("depth", "depth", ""), |p| Key::Integer(p.depth.into()))
            .and_sum("fetched", FETCHED_SQL, |p| is(p.stage == "fetched"))
            .and_mean("in_degree", "avg(in_degree)", |p| count(p.in_degree))
            .and_mean("pagerank", "avg(pagerank)", |p| number(p.pagerank))
            .in_order(),
        by("broken-links", "Pages whose last visit failed, by the status of the answer, and links to them.",
            ("status", "status", "stage = 'failed'"), |p| Key::of(p.stage == "failed", p.status.map(i64::from)))
            .and_sum("links", "sum(in_degree)", |p| count(p.in_degree)),
        by("visits", "Pages that were visited, by the number of visits.",
            ("visits", "visits", "visits > 0"), |p| Key::of(p.visits > 0, Some(i64::from(p.visits)))).in_order(),
        by("changes", "Pages that could be compared with an earlier visit, by how many visits found a change.",
            ("changes", "changes", "compared > 0"), |p| Key::of(p.compared > 0, Some(i64::from(p.changes)))).in_order(),
        by("change-rates", "The same pages by the days between changes, as estimated: at most so many; nothing where none was seen.",
            ("days", RATE_SQL, "compared > 0"), change_rate).in_order(),
    ]
}

const RATE_SQL: &str = "case when changes = 0 or changes_per_day is null then null when changes_per_day >= 1 then 1 \
    when changes_per_day * 7 >= 1 then 7 when changes_per_day * 30 >= 1 then 30 \
    when changes_per_day * 365 >= 1 then 365 else 36500 end";

fn change_rate<'a>(page: &'a PageRow<'_>) -> Key<'a> {
    let rate = page.changes_per_day.filter(|_| page.changes > 0);
    let days = rate
        .map(|rate| [1, 7, 30, 365].into_iter().find(|days| rate * *days as f32 >= 1.0).unwrap_or(36_500));
    Key::of(page.compared > 0, days)
}

#[rustfmt::skip]
fn distributions() -> Vec<Distribution<PageRows>> {
    vec![
        of("page-size", "Bytes of the content of pages, as transferred.", "content_length", |p| count(p.content_length)).continuous(),
        of("text-length", "Bytes of the text of pages.", "text_length", |p| count(p.text_length)).continuous(),
        of("words", "Words of the text of pages.", "words", |p| number(p.words)),
        of("title-length", "Characters of the titles of pages.", "title_length", |p| number(p.title_length)),
        of("url-length", "Characters of the URLs of all known pages.", "length(url)", |p| Some(p.url.chars().count() as f64)),
        of("page-age", "Days since pages were modified, or published.", "age_days", |p| number(p.age_days)),
        of("in-degree", "Pages that link to a page.", "in_degree", |p| count(p.in_degree)).discrete(),
        of("out-degree", "Pages that a page links to.", "out_degree", |p| count(p.out_degree)).discrete(),
        of("pagerank", "PageRank of pages.", "pagerank", |p| number(p.pagerank)).continuous(),
        of("link-rank", "PageRank of pages with links of unequal weight.", "link_rank", |p| number(p.link_rank)).continuous(),
        of("hub", "How good hubs pages are (HITS).", "hub", |p| number(p.hub)).continuous(),
        of("authority", "How good authorities pages are (HITS).", "authority", |p| number(p.authority)).continuous(),
    ]
}

fn of(
    name: &'static str,
    meaning: &'static str,
    sql: &'static str,
    number: NumberOf<PageRows>,
) -> Distribution<PageRows> {
    Distribution::<PageRows>::new(name, meaning, "pages", sql, number)
}

/// Of pages with the same number, the first is better.
const ID: (&str, IdOf<PageRows>) = ("page_id", |page| Id::Number(page.page_id));

fn tops() -> Vec<Top<PageRows>> {
    vec![
        Top::<PageRows>::new(
            "top-pages",
            "The pages with the highest PageRank.",
            &["url", "pagerank", "in_degree", "depth"],
            ("pagerank", |p| number(p.pagerank)),
            ID,
            |p| {
                vec![
                    p.url.into(),
                    number(p.pagerank).into(),
                    count(p.in_degree).into(),
                    f64::from(p.depth).into(),
                ]
            },
        ),
        Top::<PageRows>::new(
            "top-authorities",
            "The best authorities (HITS).",
            &["url", "authority", "in_degree"],
            ("authority", |p| number(p.authority)),
            ID,
            |p| vec![p.url.into(), number(p.authority).into(), count(p.in_degree).into()],
        ),
        Top::<PageRows>::new(
            "top-hubs",
            "The best hubs (HITS).",
            &["url", "hub", "out_degree"],
            ("hub", |p| number(p.hub)),
            ID,
            |p| vec![p.url.into(), number(p.hub).into(), count(p.out_degree).into()],
        ),
        Top::<PageRows>::new(
            "top-linked",
            "The pages that most pages link to.",
            &["url", "in_degree", "pagerank"],
            ("in_degree", |p| count(p.in_degree)),
            ID,
            |p| vec![p.url.into(), count(p.in_degree).into(), number(p.pagerank).into()],
        ),
    ]
}

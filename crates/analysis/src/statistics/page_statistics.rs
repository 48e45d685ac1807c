//! Statistics of pages: rows of the table `pages`.

use store::{PageRow, PageRows};

use super::distribution::Distribution;
use super::groups::{GroupBy, Key, KeyFn, KeySql, NumberFn};
use super::table_statistics::{Aggregate, Figure, TableStatistics};
use super::top::{Id, IdFn, Top};

pub(super) fn page_statistics() -> TableStatistics<PageRows> {
    TableStatistics { figures: figures(), groups: groups(), distributions: distributions(), tops: tops() }
}

fn is(condition: bool) -> Option<f64> {
    Some(f64::from(u8::from(condition)))
}

fn number<N: Into<f64>>(number: Option<N>) -> Option<f64> {
    number.map(Into::into)
}

/// Converts a count; exact up to 2^53.
fn count(count: Option<i64>) -> Option<f64> {
    count.map(|count| count as f64)
}

#[rustfmt::skip]
fn figures() -> Vec<Figure<PageRows>> {
    vec![
        sum("pages", "count(*)", |_| Some(1.0)),
        sum("pages-attempted", "coalesce(sum(case when fetch_count > 0 then 1 else 0 end), 0)", |p| is(p.fetch_count > 0)),
        sum("pages-fetched", "coalesce(sum(case when stage = 'fetched' then 1 else 0 end), 0)", |p| is(p.stage == "fetched")),
        sum("pages-failed", "coalesce(sum(case when stage = 'failed' then 1 else 0 end), 0)", |p| is(p.stage == "failed")),
        sum("pages-truncated", "coalesce(sum(case when stage = 'fetched' and reason in ('body-truncated', 'total-timeout') then 1 else 0 end), 0)",
            |p| is(p.stage == "fetched" && matches!(p.reason, Some("body-truncated" | "total-timeout")))),
        sum("pages-rejected", "coalesce(sum(case when stage = 'rejected' then 1 else 0 end), 0)", |p| is(p.stage == "rejected")),
        sum("pages-dynamic", "coalesce(sum(case when is_dynamic then 1 else 0 end), 0)", |p| is(p.is_dynamic)),
        sum("fetches", "coalesce(sum(fetch_count), 0)", |p| Some(f64::from(p.fetch_count))),
        sum("bytes", "coalesce(sum(content_length), 0)", |p| count(p.content_length)),
        sum("words", "coalesce(sum(word_count), 0)", |p| number(p.word_count)),
        sum("links", "coalesce(sum(out_degree), 0)", |p| count(p.out_degree)),
        sum("internal-links", "coalesce(sum(internal_links), 0)", |p| number(p.internal_links)),
        sum("external-links", "coalesce(sum(external_links), 0)", |p| number(p.external_links)),
        sum("embedded-links", "coalesce(sum(embedded_links), 0)", |p| number(p.embedded_links)),
        Figure { name: "first-fetch", sql: "min(extract(epoch from first_fetch_time))", of: |p| seconds(p.first_fetch_time), aggregate: Aggregate::Min },
        Figure { name: "last-fetch", sql: "max(extract(epoch from last_fetch_time))", of: |p| seconds(p.last_fetch_time), aggregate: Aggregate::Max },
    ]
}

fn sum(name: &'static str, sql: &'static str, of: NumberFn<PageRows>) -> Figure<PageRows> {
    Figure { name, sql, of, aggregate: Aggregate::Sum }
}

fn seconds(unix_ms: Option<i64>) -> Option<f64> {
    unix_ms.map(|ms| ms as f64 / 1_000.0)
}

fn groups() -> Vec<GroupBy<PageRows>> {
    let mut groups = content_groups();
    groups.extend(crawl_groups());
    groups
}

const PARSED: &str = "text_length is not null";
const FETCHED_SQL: &str = "sum(case when stage = 'fetched' then 1 else 0 end)";

/// Counts pages.
fn by(name: &'static str, meaning: &'static str, sql: KeySql, key: KeyFn<PageRows>) -> GroupBy<PageRows> {
    GroupBy::<PageRows>::new(name, meaning, "pages", sql, key)
}

/// Statistics of the content of pages.
#[rustfmt::skip]
fn content_groups() -> Vec<GroupBy<PageRows>> {
    vec![
        by("mime-types", "Pages with content, by MIME type.",
            ("mime_type", "mime_type", "content_length is not null"), |p| Key::counted_if(p.content_length.is_some(), p.mime_type)).with_diversity(),
        by("charsets", "Parsed pages by charset.",
            ("charset", "charset", PARSED), |p| Key::counted_if(p.text_length.is_some(), p.charset)).with_diversity(),
        by("languages", "Parsed pages by detected language.",
            ("language", "language", PARSED), |p| Key::counted_if(p.text_length.is_some(), p.language)).with_diversity(),
        by("static-dynamic", "Known pages by URL class: `dynamic` URLs have a query or the extension of a program.",
            ("kind", "case when is_dynamic then 'dynamic' else 'static' end", ""),
            |p| Key::Text(if p.is_dynamic { "dynamic" } else { "static" }))
            .and_sum("fetched", FETCHED_SQL, |p| is(p.stage == "fetched")),
        by("technologies", "Known pages by server-side technology, recognised by the URL.",
            ("technology", "technology", "technology is not null"), |p| Key::counted_if(p.technology.is_some(), p.technology))
            .and_sum("fetched", FETCHED_SQL, |p| is(p.stage == "fetched")).with_diversity(),
        by("duplicates", "Parsed pages by kind of duplicate: an earlier page has the same bytes, the same text or nearly the same text.",
            ("duplicate_kind", DUPLICATE_SQL, PARSED), duplicate_kind),
        by("structure-pages", "Pages by bow-tie part.",
            ("bow_tie_part", "bow_tie_part", "bow_tie_part is not null"), |p| Key::counted_if(p.bow_tie_part.is_some(), p.bow_tie_part)),
    ]
}

const DUPLICATE_SQL: &str = "case when duplicate_of is not null then 'same bytes' \
    when duplicate_group <> page_id then 'same text' \
    when near_duplicate_group <> page_id then 'nearly the same text' else 'none' end";

fn duplicate_kind<'a>(page: &'a PageRow<'_>) -> Key<'a> {
    let is_copy = |group: Option<u32>| group.is_some_and(|first| first != page.page_id);
    Key::counted_if(
        page.text_length.is_some(),
        Some(match page {
            _ if page.duplicate_of.is_some() => "same bytes",
            _ if is_copy(page.duplicate_group) => "same text",
            _ if is_copy(page.near_duplicate_group) => "nearly the same text",
            _ => "none",
        }),
    )
}

/// Statistics of the crawl.
#[rustfmt::skip]
fn crawl_groups() -> Vec<GroupBy<PageRows>> {
    vec![
        by("stages", "Known pages by stage.",
            ("stage", "stage", ""), |p| Key::Text(p.stage)),
        by("status-codes", "Pages with at least one fetch, by HTTP status of the last fetch; 0 if there was no response.",
            ("fetch_status", "fetch_status", "fetch_count > 0"), |p| Key::counted_if(p.fetch_count > 0, p.fetch_status.map(i64::from))),
        by("reasons", "Pages that were not fetched, by reason; pages without a reason are not counted.",
            ("reason", "reason", "reason is not null and stage <> 'fetched'"),
            |p| Key::counted_if(p.reason.is_some() && p.stage != "fetched", p.reason)),
        by("protocols", "Known pages by protocol.",
            ("protocol", "url_protocol", ""), |p| Key::Text(p.url_protocol))
            .and_sum("fetched", FETCHED_SQL, |p| is(p.stage == "fetched")),
        by("depths", "Known pages by link depth from the entry page of their site, with mean in-degree and mean PageRank.",
            ("depth", "depth", ""), |p| Key::Integer(p.depth.into()))
            .and_sum("fetched", FETCHED_SQL, |p| is(p.stage == "fetched"))
            .and_mean("in_degree", "avg(in_degree)", |p| count(p.in_degree))
            .and_mean("pagerank", "avg(pagerank)", |p| number(p.pagerank))
            .ordered_by_key(),
        by("broken-links", "Pages whose last fetch failed, by HTTP status, with the number of links to them.",
            ("fetch_status", "fetch_status", "stage = 'failed'"), |p| Key::counted_if(p.stage == "failed", p.fetch_status.map(i64::from)))
            .and_sum("links", "sum(in_degree)", |p| count(p.in_degree)),
        by("fetches-per-page", "Pages with at least one fetch, by number of fetches.",
            ("fetches", "fetch_count", "fetch_count > 0"), |p| Key::counted_if(p.fetch_count > 0, Some(i64::from(p.fetch_count)))).ordered_by_key(),
        by("changes", "Pages with at least one revisit whose content was compared, by number of changes found.",
            ("changes", "change_count", "revisits_compared > 0"), |p| Key::counted_if(p.revisits_compared > 0, Some(i64::from(p.change_count)))).ordered_by_key(),
        by("change-rates", "Pages with at least one revisit whose content was compared, by estimated number of days between changes (upper bound of each class; null if no change was found).",
            ("days", RATE_SQL, "revisits_compared > 0"), change_rate).ordered_by_key(),
    ]
}

const RATE_SQL: &str = "case when change_count = 0 or changes_per_day is null then null when changes_per_day >= 1 then 1 \
    when changes_per_day * 7 >= 1 then 7 when changes_per_day * 30 >= 1 then 30 \
    when changes_per_day * 365 >= 1 then 365 else 36500 end";

fn change_rate<'a>(page: &'a PageRow<'_>) -> Key<'a> {
    let rate = page.changes_per_day.filter(|_| page.change_count > 0);
    let days = rate
        .map(|rate| [1, 7, 30, 365].into_iter().find(|days| rate * *days as f32 >= 1.0).unwrap_or(36_500));
    Key::counted_if(page.revisits_compared > 0, days)
}

#[rustfmt::skip]
fn distributions() -> Vec<Distribution<PageRows>> {
    vec![
        of("page-size", "Content size of pages in bytes, as transferred.", "content_length", |p| count(p.content_length)).continuous(),
        of("text-length", "Text size of pages in bytes.", "text_length", |p| count(p.text_length)).continuous(),
        of("words", "Number of words per page.", "word_count", |p| number(p.word_count)),
        of("title-length", "Title length of pages in characters.", "title_chars", |p| number(p.title_chars)),
        of("url-length", "URL length of known pages in characters.", "length(url)", |p| Some(p.url.chars().count() as f64)),
        of("page-age", "Age of pages in days, since their modification or publication.", "age_days", |p| number(p.age_days)),
        of("in-degree", "In-degree of pages: number of pages that link to a page.", "in_degree", |p| count(p.in_degree)).discrete(),
        of("out-degree", "Out-degree of pages: number of pages that a page links to.", "out_degree", |p| count(p.out_degree)).discrete(),
        of("pagerank", "PageRank of pages.", "pagerank", |p| number(p.pagerank)).continuous(),
        of("link-rank", "PageRank of pages with weighted links.", "link_rank", |p| number(p.link_rank)).continuous(),
        of("hub", "Hub value of pages (HITS).", "hub", |p| number(p.hub)).continuous(),
        of("authority", "Authority value of pages (HITS).", "authority", |p| number(p.authority)).continuous(),
    ]
}

fn of(
    name: &'static str,
    meaning: &'static str,
    sql: &'static str,
    number: NumberFn<PageRows>,
) -> Distribution<PageRows> {
    Distribution::<PageRows>::new(name, meaning, "pages", sql, number)
}

/// Of pages with equal numbers, the one with the smaller id comes first.
const ID: (&str, IdFn<PageRows>) = ("page_id", |page| Id::Number(page.page_id));

fn tops() -> Vec<Top<PageRows>> {
    vec![
        Top::<PageRows>::new(
            "top-pages",
            "Pages with the highest PageRank.",
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
            "Pages with the highest authority value (HITS).",
            &["url", "authority", "in_degree"],
            ("authority", |p| number(p.authority)),
            ID,
            |p| vec![p.url.into(), number(p.authority).into(), count(p.in_degree).into()],
        ),
        Top::<PageRows>::new(
            "top-hubs",
            "Pages with the highest hub value (HITS).",
            &["url", "hub", "out_degree"],
            ("hub", |p| number(p.hub)),
            ID,
            |p| vec![p.url.into(), number(p.hub).into(), count(p.out_degree).into()],
        ),
        Top::<PageRows>::new(
            "top-linked",
            "Pages with the highest in-degree.",
            &["url", "in_degree", "pagerank"],
            ("in_degree", |p| count(p.in_degree)),
            ID,
            |p| vec![p.url.into(), count(p.in_degree).into(), number(p.pagerank).into()],
        ),
    ]
}

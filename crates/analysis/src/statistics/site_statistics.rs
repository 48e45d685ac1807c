//! Statistics of sites: rows of the table `sites`.

use store::{SiteRow, SiteRows};

use super::distribution::Distribution;
use super::groups::{GroupBy, Key, NumberFn};
use super::table_statistics::{Aggregate, Figure, TableStatistics};
use super::top::{Id, IdFn, Top};

pub(super) fn site_statistics() -> TableStatistics<SiteRows> {
    TableStatistics { figures: figures(), groups: groups(), distributions: distributions(), tops: tops() }
}

fn number(number: Option<f32>) -> Option<f64> {
    number.map(f64::from)
}

fn figures() -> Vec<Figure<SiteRows>> {
    vec![
        Figure { name: "sites", sql: "count(*)", of: |_| Some(1.0), aggregate: Aggregate::Sum },
        Figure {
            name: "sites-fetched",
            sql: "coalesce(sum(case when pages_fetched > 0 then 1 else 0 end), 0)",
            of: |s| Some(f64::from(u8::from(s.pages_fetched > 0))),
            aggregate: Aggregate::Sum,
        },
    ]
}

fn groups() -> Vec<GroupBy<SiteRows>> {
    let sites = "sites";
    vec![
        GroupBy::<SiteRows>::new(
            "robots",
            "Sites whose robots.txt was requested, by HTTP status of the response; 0 if there was none.",
            sites,
            ("status", "robots_status", "robots_status is not null"),
            |s| Key::counted_if(s.robots_status.is_some(), s.robots_status.map(i64::from)),
        ),
        GroupBy::<SiteRows>::new(
            "servers",
            "Sites by server software, without its version.",
            sites,
            ("server", SERVER_SQL, "server is not null"),
            server,
        )
        .with_diversity(),
        GroupBy::<SiteRows>::new(
            "http-versions",
            "Sites by HTTP version of the last response.",
            sites,
            ("http_version", "http_version", "http_version is not null"),
            |s| Key::counted_if(s.http_version.is_some(), s.http_version),
        ),
        GroupBy::<SiteRows>::new(
            "site-protocols",
            "Sites by protocol.",
            sites,
            ("url_protocol", "url_protocol", ""),
            |s| Key::Text(s.url_protocol),
        )
        .and_sum("fetched", "sum(case when pages_fetched > 0 then 1 else 0 end)", |s| {
            Some(f64::from(u8::from(s.pages_fetched > 0)))
        }),
        GroupBy::<SiteRows>::new(
            "structure-sites",
            "Sites by bow-tie part.",
            sites,
            ("bow_tie_part", "bow_tie_part", "bow_tie_part is not null"),
            |s| Key::counted_if(s.bow_tie_part.is_some(), s.bow_tie_part),
        ),
    ]
}

const SERVER_SQL: &str = "split_part(split_part(server, '/', 1), ' ', 1)";

/// Product name in the `Server` header, without version and comments.
fn server<'a>(site: &'a SiteRow<'_>) -> Key<'a> {
    let product = site.server.map(|server| server.split(['/', ' ']).next().unwrap_or_default());
    Key::counted_if(product.is_some(), product)
}

#[rustfmt::skip]
fn distributions() -> Vec<Distribution<SiteRows>> {
    vec![
        of("site-pages", "Known pages per site.", "pages_known", |s| Some(s.pages_known as f64)).discrete(),
        of("site-fetched", "Fetched pages per site.", "pages_fetched", |s| Some(s.pages_fetched as f64)).discrete(),
        of("site-bytes", "Content size per site in bytes.", "content_bytes", |s| Some(s.content_bytes as f64)).continuous(),
        of("site-links", "Links on the pages of a site.", "internal_links + external_links",
            |s| Some((s.internal_links + s.external_links) as f64)).discrete(),
        of("site-in-degree", "In-degree of sites: number of sites that link to a site.", "in_degree", |s| s.in_degree.map(|n| n as f64)).discrete(),
        of("site-out-degree", "Out-degree of sites: number of sites that a site links to.", "out_degree", |s| s.out_degree.map(|n| n as f64)).discrete(),
        of("site-rank", "SiteRank: PageRank on the site graph.", "site_rank", |s| number(s.site_rank)).continuous(),
        of("site-harmonic", "Harmonic centrality of sites.", "harmonic_centrality", |s| number(s.harmonic_centrality)),
        of("site-age-min", "Age of the newest page of a site in days.", "age_days_min", |s| number(s.age_days_min)),
        of("site-age-mean", "Mean age of the pages of a site in days.", "age_days_mean", |s| number(s.age_days_mean)),
        of("site-age-max", "Age of the oldest page of a site in days.", "age_days_max", |s| number(s.age_days_max)),
        of("site-depth", "Maximum depth of the pages of a site.", "depth_max", |s| s.depth_max.map(f64::from)),
        of("site-latency", "Time to the first byte in milliseconds, median of the pages of a site.", "latency_ms", |s| number(s.latency_ms)),
        of("site-speed", "Transfer rate in bytes per second, median of the pages of a site.", "bytes_per_second",
            |s| number(s.bytes_per_second)),
    ]
}

fn of(
    name: &'static str,
    meaning: &'static str,
    sql: &'static str,
    number: NumberFn<SiteRows>,
) -> Distribution<SiteRows> {
    Distribution::<SiteRows>::new(name, meaning, "sites", sql, number)
}

/// Of sites with the same number, the first is better.
const ID: (&str, IdFn<SiteRows>) = ("site_id", |site| Id::Number(site.site_id));

fn tops() -> Vec<Top<SiteRows>> {
    vec![
        Top::<SiteRows>::new(
            "top-sites",
            "Sites with the highest SiteRank.",
            &["site", "site_rank", "harmonic_centrality", "in_degree", "pages_fetched"],
            ("site_rank", |s| number(s.site_rank)),
            ID,
            |s| {
                let in_degree = s.in_degree.map(|n| n as f64);
                vec![
                    s.site.into(),
                    number(s.site_rank).into(),
                    number(s.harmonic_centrality).into(),
                    in_degree.into(),
                    (s.pages_fetched as f64).into(),
                ]
            },
        ),
        Top::<SiteRows>::new(
            "largest-sites",
            "Sites with the most fetched pages.",
            &["site", "pages_fetched", "pages_known", "content_bytes"],
            ("pages_fetched", |s| Some(s.pages_fetched as f64)),
            ID,
            |s| {
                vec![
                    s.site.into(),
                    (s.pages_fetched as f64).into(),
                    (s.pages_known as f64).into(),
                    (s.content_bytes as f64).into(),
                ]
            },
        ),
    ]
}

//! Statistics of sites: rows of the table `site_ranks`.

use store::{SiteRankRow, SiteRankRows};

use super::distribution::Distribution;
use super::groups::{Groups, Key, NumberOf};
use super::sheet::{Figure, How, Sheet};
use super::top::{Id, IdOf, Top};

pub(super) fn sheet() -> Sheet<SiteRankRows> {
    Sheet { figures: figures(), groups: groups(), distributions: distributions(), tops: tops() }
}

fn number(number: Option<f32>) -> Option<f64> {
    number.map(f64::from)
}

fn figures() -> Vec<Figure<SiteRankRows>> {
    vec![
        Figure { name: "sites", sql: "count(*)", of: |_| Some(1.0), how: How::Sum },
        Figure {
            name: "sites-fetched",
            sql: "coalesce(sum(case when pages_fetched > 0 then 1 else 0 end), 0)",
            of: |s| Some(f64::from(u8::from(s.pages_fetched > 0))),
            how: How::Sum,
        },
    ]
}

fn groups() -> Vec<Groups<SiteRankRows>> {
    let sites = "sites";
    vec![
        Groups::<SiteRankRows>::new(
            "robots",
            "Sites that were asked for their robots.txt, by the status of the answer; 0 when there was none.",
            sites,
            ("status", "robots_status", "robots_status is not null"),
            |s| Key::of(s.robots_status.is_some(), s.robots_status.map(i64::from)),
        ),
        Groups::<SiteRankRows>::new(
            "servers",
            "Sites by the software that they name, without its version.",
            sites,
            ("server", SERVER_SQL, "server is not null"),
            server,
        )
        .diverse(),
        Groups::<SiteRankRows>::new(
            "http-versions",
            "Sites by the version of HTTP of their last answer.",
            sites,
            ("http_version", "http_version", "http_version is not null"),
            |s| Key::of(s.http_version.is_some(), s.http_version),
        ),
        Groups::<SiteRankRows>::new(
            "site-protocols",
            "Sites by protocol.",
            sites,
            ("protocol", "protocol", ""),
            |s| Key::Text(s.protocol),
        )
        .and_sum("fetched", "sum(case when pages_fetched > 0 then 1 else 0 end)", |s| {
            Some(f64::from(u8::from(s.pages_fetched > 0)))
        }),
        Groups::<SiteRankRows>::new(
            "structure-sites",
            "Sites by part of the bow tie.",
            sites,
            ("part", "part", "part is not null"),
            |s| Key::of(s.part.is_some(), s.part),
        ),
    ]
}

const SERVER_SQL: &str = "split_part(split_part(server, '/', 1), ' ', 1)";

/// What stands before the version and what else servers tell of themselves.
fn server<'a>(site: &'a SiteRankRow<'_>) -> Key<'a> {
    let product = site.server.map(|server| server.split(['/', ' ']).next().unwrap_or_default());
    Key::of(product.is_some(), product)
}

#[rustfmt::skip]
fn distributions() -> Vec<Distribution<SiteRankRows>> {
    vec![
        of("site-pages", "Known pages of a site.", "pages_known", |s| Some(s.pages_known as f64)).discrete(),
        of("site-fetched", "Fetched pages of a site.", "pages_fetched", |s| Some(s.pages_fetched as f64)).discrete(),
        of("site-bytes", "Bytes of the content of a site's pages.", "bytes", |s| Some(s.bytes as f64)).continuous(),
        of("site-links", "Links to pages on the pages of a site.", "links_internal + links_external",
            |s| Some((s.links_internal + s.links_external) as f64)).discrete(),
        of("site-in-degree", "Sites that link to a site.", "in_degree", |s| s.in_degree.map(|n| n as f64)).discrete(),
        of("site-out-degree", "Sites that a site links to.", "out_degree", |s| s.out_degree.map(|n| n as f64)).discrete(),
        of("site-rank", "PageRank of sites on the graph of sites.", "site_rank", |s| number(s.site_rank)).continuous(),
        of("site-harmonic", "Harmonic centrality of sites.", "harmonic", |s| number(s.harmonic)),
        of("site-age-min", "Age of the youngest page of a site, in days.", "age_days_min", |s| number(s.age_days_min)),
        of("site-age-mean", "Mean age of the pages of a site, in days.", "age_days_mean", |s| number(s.age_days_mean)),
        of("site-age-max", "Age of the oldest page of a site, in days.", "age_days_max", |s| number(s.age_days_max)),
        of("site-depth", "Depth of the deepest page of a site.", "depth_max", |s| s.depth_max.map(f64::from)),
        of("site-latency", "Milliseconds to the first byte, the median of a site's pages.", "latency_ms", |s| number(s.latency_ms)),
        of("site-speed", "Bytes a second at which pages came, the median of a site's pages.", "bytes_per_second",
            |s| number(s.bytes_per_second)),
    ]
}

fn of(
    name: &'static str,
    meaning: &'static str,
    sql: &'static str,
    number: NumberOf<SiteRankRows>,
) -> Distribution<SiteRankRows> {
    Distribution::<SiteRankRows>::new(name, meaning, "sites", sql, number)
}

/// Of sites with the same number, the first is better.
const ID: (&str, IdOf<SiteRankRows>) = ("site_id", |site| Id::Number(site.site_id));

fn tops() -> Vec<Top<SiteRankRows>> {
    vec![
        Top::<SiteRankRows>::new(
            "top-sites",
            "The sites with the highest PageRank on the graph of sites.",
            &["site", "site_rank", "harmonic", "in_degree", "pages_fetched"],
            ("site_rank", |s| number(s.site_rank)),
            ID,
            |s| {
                let in_degree = s.in_degree.map(|n| n as f64);
                vec![
                    s.site.into(),
                    number(s.site_rank).into(),
                    number(s.harmonic).into(),
                    in_degree.into(),
                    (s.pages_fetched as f64).into(),
                ]
            },
        ),
        Top::<SiteRankRows>::new(
            "largest-sites",
            "The sites with most fetched pages.",
            &["site", "pages_fetched", "pages_known", "bytes"],
            ("pages_fetched", |s| Some(s.pages_fetched as f64)),
            ID,
            |s| {
                vec![
                    s.site.into(),
                    (s.pages_fetched as f64).into(),
                    (s.pages_known as f64).into(),
                    (s.bytes as f64).into(),
                ]
            },
        ),
    ]
}

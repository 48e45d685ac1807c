//! Statistics of domains, components, rejected links and linked files.

use store::{ComponentRows, DomainRows, LinkedFileRows, RejectedLinkRows};

use super::distribution::Distribution;
use super::groups::{GroupBy, Key};
use super::table_statistics::{Aggregate, Figure, TableStatistics};
use super::top::{Id, Top};

/// Reason of links to other parts of the Web.
const OUT_OF_SCOPE: &str = "out-of-scope";

pub(super) fn domains() -> TableStatistics<DomainRows> {
    let figures: Vec<Figure<DomainRows>> =
        vec![Figure { name: "domains", sql: "count(*)", of: |_| Some(1.0), aggregate: Aggregate::Sum }];
    let groups = vec![
        GroupBy::<DomainRows>::new(
            "tlds",
            "Domains by top-level domain, with their sites and pages.",
            "domains",
            ("url_host_tld", "url_host_tld", ""),
            |d| Key::from(d.url_host_tld),
        )
        .and_sum("sites", "sum(sites)", |d| Some(d.sites as f64))
        .and_sum("pages", "sum(pages_known)", |d| Some(d.pages_known as f64))
        .and_sum("fetched", "sum(pages_fetched)", |d| Some(d.pages_fetched as f64))
        .and_sum("bytes", "sum(content_bytes)", |d| Some(d.content_bytes as f64))
        .with_diversity(),
    ];
    let distributions = vec![
        Distribution::<DomainRows>::new("domain-sites", "Sites per domain.", "domains", "sites", |d| {
            Some(d.sites as f64)
        })
        .discrete(),
        Distribution::<DomainRows>::new(
            "domain-pages",
            "Known pages per domain.",
            "domains",
            "pages_known",
            |d| Some(d.pages_known as f64),
        )
        .discrete(),
    ];
    let tops = vec![Top::<DomainRows>::new(
        "top-domains",
        "Domains with the most fetched pages.",
        &[
            "url_host_registered_domain",
            "pages_fetched",
            "pages_known",
            "sites",
            "content_bytes",
            "pagerank_sum",
        ],
        ("pages_fetched", |d| Some(d.pages_fetched as f64)),
        ("url_host_registered_domain", |d| Id::Text(d.url_host_registered_domain.to_owned())),
        |d| {
            let pagerank = d.pagerank_sum.map(f64::from);
            let numbers =
                [d.pages_fetched, d.pages_known, d.sites, d.content_bytes].map(|number| number as f64);
            let [fetched, pages, sites, bytes] = numbers;
            vec![
                d.url_host_registered_domain.into(),
                fetched.into(),
                pages.into(),
                sites.into(),
                bytes.into(),
                pagerank.into(),
            ]
        },
    )];
    TableStatistics { figures, groups, distributions, tops }
}

pub(super) fn components() -> TableStatistics<ComponentRows> {
    let figures: Vec<Figure<ComponentRows>> =
        vec![Figure { name: "components", sql: "count(*)", of: |_| Some(1.0), aggregate: Aggregate::Sum }];
    let distributions = vec![
        Distribution::<ComponentRows>::new(
            "component-size",
            "Pages per strongly connected component.",
            "components",
            "pages",
            |c| Some(c.pages as f64),
        )
        .discrete(),
    ];
    TableStatistics { figures, groups: Vec::new(), distributions, tops: Vec::new() }
}

pub(super) fn rejected_links() -> TableStatistics<RejectedLinkRows> {
    let figures: Vec<Figure<RejectedLinkRows>> = vec![Figure {
        name: "rejected-links",
        sql: "coalesce(sum(link_count), 0)",
        of: |o| Some(o.link_count as f64),
        aggregate: Aggregate::Sum,
    }];
    let links = |groups: GroupBy<RejectedLinkRows>| {
        groups.summing("links", "sum(link_count)", |o| Some(o.link_count as f64))
    };
    let groups = vec![
        links(GroupBy::<RejectedLinkRows>::new(
            "out-of-scope-domains",
            "Out-of-scope links by domain.",
            "links",
            ("registered_domain", "registered_domain", "reason = 'out-of-scope'"),
            |o| Key::counted_if(o.reason == OUT_OF_SCOPE, Some(o.registered_domain)),
        )),
        links(GroupBy::<RejectedLinkRows>::new(
            "out-of-scope-tlds",
            "Out-of-scope links by top-level domain.",
            "links",
            ("url_host_tld", "url_host_tld", "reason = 'out-of-scope'"),
            |o| Key::counted_if(o.reason == OUT_OF_SCOPE, o.url_host_tld),
        )),
        links(GroupBy::<RejectedLinkRows>::new(
            "rejected-link-reasons",
            "Rejected links by reason.",
            "links",
            ("reason", "reason", ""),
            |o| Key::Text(o.reason),
        )),
    ];
    TableStatistics { figures, groups, distributions: Vec::new(), tops: Vec::new() }
}

pub(super) fn files() -> TableStatistics<LinkedFileRows> {
    let links = |groups: GroupBy<LinkedFileRows>| {
        groups.summing("links", "sum(link_count)", |f| Some(f.link_count as f64))
    };
    let groups = vec![
        links(GroupBy::<LinkedFileRows>::new(
            "linked-files",
            "Links to files that are not fetched, by file class.",
            "links",
            ("kind", "kind", ""),
            |f| Key::Text(f.kind),
        )),
        links(GroupBy::<LinkedFileRows>::new(
            "file-extensions",
            "Links to files that are not fetched, by file extension.",
            "links",
            ("extension", "extension", "extension <> ''"),
            |f| Key::counted_if(!f.extension.is_empty(), Some(f.extension)),
        )),
    ];
    TableStatistics { figures: Vec::new(), groups, distributions: Vec::new(), tops: Vec::new() }
}

//! Statistics of domains, components and links to the outside: rows of `domains`, `components`, `outside` and `files`.

use store::{ComponentRows, DomainRows, FileRows, OutsideRows};

use super::distribution::Distribution;
use super::groups::{Groups, Key};
use super::sheet::{Figure, How, Sheet};
use super::top::{Id, Top};

/// The reason of links to other parts of the Web.
const OUT_OF_SCOPE: &str = "out-of-scope";

pub(super) fn domains() -> Sheet<DomainRows> {
    let figures: Vec<Figure<DomainRows>> =
        vec![Figure { name: "domains", sql: "count(*)", of: |_| Some(1.0), how: How::Sum }];
    let groups = vec![
        Groups::<DomainRows>::new(
            "tlds",
            "Domains by the last label of their name, with their sites and pages.",
            "domains",
            ("tld", "tld", ""),
            |d| Key::from(d.tld),
        )
        .and_sum("sites", "sum(sites)", |d| Some(d.sites as f64))
        .and_sum("pages", "sum(pages)", |d| Some(d.pages as f64))
        .and_sum("fetched", "sum(pages_fetched)", |d| Some(d.pages_fetched as f64))
        .and_sum("bytes", "sum(bytes)", |d| Some(d.bytes as f64))
        .diverse(),
    ];
    let distributions = vec![
        Distribution::<DomainRows>::new("domain-sites", "Sites of a domain.", "domains", "sites", |d| {
            Some(d.sites as f64)
        })
        .discrete(),
        Distribution::<DomainRows>::new(
            "domain-pages",
            "Known pages of a domain.",
            "domains",
            "pages",
            |d| Some(d.pages as f64),
        )
        .discrete(),
    ];
    let tops = vec![Top::<DomainRows>::new(
        "top-domains",
        "The domains with most fetched pages.",
        &["registered_domain", "pages_fetched", "pages", "sites", "bytes", "pagerank"],
        ("pages_fetched", |d| Some(d.pages_fetched as f64)),
        ("registered_domain", |d| Id::Text(d.registered_domain.to_owned())),
        |d| {
            let pagerank = d.pagerank.map(f64::from);
            let numbers = [d.pages_fetched, d.pages, d.sites, d.bytes].map(|number| number as f64);
            let [fetched, pages, sites, bytes] = numbers;
            vec![
                d.registered_domain.into(),
                fetched.into(),
                pages.into(),
                sites.into(),
                bytes.into(),
                pagerank.into(),
            ]
        },
    )];
    Sheet { figures, groups, distributions, tops }
}

pub(super) fn components() -> Sheet<ComponentRows> {
    let figures: Vec<Figure<ComponentRows>> =
        vec![Figure { name: "components", sql: "count(*)", of: |_| Some(1.0), how: How::Sum }];
    let distributions = vec![
        Distribution::<ComponentRows>::new(
            "component-size",
            "Pages of a strongly connected component.",
            "components",
            "pages",
            |c| Some(c.pages as f64),
        )
        .discrete(),
    ];
    Sheet { figures, groups: Vec::new(), distributions, tops: Vec::new() }
}

pub(super) fn outside() -> Sheet<OutsideRows> {
    let figures: Vec<Figure<OutsideRows>> = vec![Figure {
        name: "links-outside",
        sql: "coalesce(sum(links), 0)",
        of: |o| Some(o.links as f64),
        how: How::Sum,
    }];
    let links = |groups: Groups<OutsideRows>| groups.summing("links", "sum(links)", |o| Some(o.links as f64));
    let groups = vec![
        links(Groups::<OutsideRows>::new(
            "outside-domains",
            "Links to pages that are out of scope, by domain.",
            "links",
            ("domain", "domain", "reason = 'out-of-scope'"),
            |o| Key::of(o.reason == OUT_OF_SCOPE, Some(o.domain)),
        )),
        links(Groups::<OutsideRows>::new(
            "outside-tlds",
            "The same links by the last label of the host name.",
            "links",
            ("tld", "tld", "reason = 'out-of-scope'"),
            |o| Key::of(o.reason == OUT_OF_SCOPE, o.tld),
        )),
        links(Groups::<OutsideRows>::new(
            "outside-reasons",
            "Links that lead to no page of the collection, by the reason why they were not followed.",
            "links",
            ("reason", "reason", ""),
            |o| Key::Text(o.reason),
        )),
    ];
    Sheet { figures, groups, distributions: Vec::new(), tops: Vec::new() }
}

pub(super) fn files() -> Sheet<FileRows> {
    let links = |groups: Groups<FileRows>| groups.summing("links", "sum(links)", |f| Some(f.links as f64));
    let groups = vec![
        links(Groups::<FileRows>::new(
            "linked-files",
            "Links to files that are no pages, by what they are.",
            "links",
            ("kind", "kind", ""),
            |f| Key::Text(f.kind),
        )),
        links(Groups::<FileRows>::new(
            "file-extensions",
            "The same links by the extension of the file.",
            "links",
            ("extension", "extension", "extension <> ''"),
            |f| Key::of(!f.extension.is_empty(), Some(f.extension)),
        )),
    ];
    Sheet { figures: Vec::new(), groups, distributions: Vec::new(), tops: Vec::new() }
}

//! Tests of the settings: each configured share occurs in the ground truth. Each setting is tested alone, on plain
//! sites.

use simweb::{
    Declared, Health, LinkGroundTruth, LinkPosition, PageGroundTruth, PathClass, Ports, ReplicaKind,
    RobotsKind, Settings, Site, SiteGroundTruth, World,
};

const SHARE: f64 = 0.2;

fn world(sites: u64, pages: u64, set: &[(&str, f64)]) -> World {
    let mut settings = Settings { sites, pages, ..Settings::plain() };
    set.iter().for_each(|(name, value)| settings.set(name, *value).unwrap());
    World::new(settings, Ports { http: 80, https: 443 }).unwrap()
}

/// Returns the share of `true` among the items for which `part` returns a value.
fn share<T>(all: impl Iterator<Item = T>, part: impl Fn(&T) -> Option<bool>) -> f64 {
    let (mut whole, mut found) = (0u32, 0u32);
    for fits in all.filter_map(|one| part(&one)) {
        whole += 1;
        found += u32::from(fits);
    }
    assert!(whole > 1_000, "only {whole} were looked at");
    f64::from(found) / f64::from(whole)
}

fn assert_near(name: &str, found: f64, tolerance: f64) {
    assert!((found - SHARE).abs() < tolerance, "{name}: {SHARE} set, {found} found");
}

#[test]
fn shares_of_sites_are_as_configured() {
    let robots = |kind| move |site: &SiteGroundTruth| site.robots == kind;
    let health = |kind| move |site: &SiteGroundTruth| site.health == kind;
    type Counted = Box<dyn Fn(&SiteGroundTruth) -> bool>;
    let cases: [(&str, Counted); 27] = [
        ("https", Box::new(|site| site.url.starts_with("https://"))),
        ("mirrors", Box::new(|site| site.replica == Some(ReplicaKind::Mirror))),
        ("aliases", Box::new(|site| site.replica == Some(ReplicaKind::Alias))),
        ("legacy_charsets", Box::new(|site| site.charset != "utf-8")),
        ("undeclared_charsets", Box::new(|site| site.charset_declared == Declared::Nowhere)),
        ("robots_missing", Box::new(robots(RobotsKind::Missing))),
        ("robots_disallow_some", Box::new(robots(RobotsKind::DisallowSome))),
        ("robots_disallow_all", Box::new(robots(RobotsKind::DisallowAll))),
        ("robots_crawl_delay", Box::new(|site| site.crawl_delay_s == Some(2))),
        ("robots_server_error", Box::new(robots(RobotsKind::ServerError))),
        ("robots_forbidden", Box::new(robots(RobotsKind::Forbidden))),
        ("robots_redirected", Box::new(robots(RobotsKind::Redirected))),
        ("robots_slow", Box::new(robots(RobotsKind::Slow))),
        ("robots_huge", Box::new(robots(RobotsKind::Huge))),
        ("robots_malformed", Box::new(robots(RobotsKind::Malformed))),
        ("sitemaps", Box::new(|site| site.sitemap.is_some())),
        ("robots_rdf", Box::new(|site| site.robots_rdf)),
        ("session_ids", Box::new(|site| site.session.is_some())),
        ("traps", Box::new(|site| site.trap.is_some())),
        ("rate_limited", Box::new(|site| site.rate_limit_ms.is_some())),
        ("slow", Box::new(health(Health::Slow))),
        ("slow_body", Box::new(health(Health::SlowBody))),
        ("flaky", Box::new(health(Health::Flaky))),
        ("down", Box::new(health(Health::Down))),
        ("unresponsive", Box::new(health(Health::Unresponsive))),
        ("nxdomain", Box::new(health(Health::NxDomain))),
        ("servfail", Box::new(health(Health::ServFail))),
    ];
    for (name, fits) in cases {
        let world = world(5_000, 10_000, &[(name, SHARE)]);
        let sites = world.site_indexes().skip(1).map(|index| world.site_ground_truth(index));
        assert_near(name, share(sites, |site| Some(fits(site))), 0.02);
    }
}

#[test]
fn shares_of_sites_without_ground_truth_are_as_configured() {
    type Counted = fn(&Site) -> bool;
    let cases: [(&str, Counted); 3] = [
        ("compressed", |site| site.compressed),
        ("chunked", |site| site.chunked),
        ("validators", |site| site.validators),
    ];
    for (name, fits) in cases {
        let world = world(5_000, 10_000, &[(name, SHARE)]);
        let sites = world.site_indexes().skip(1).map(|index| world.site(index));
        assert_near(name, share(sites, |site| Some(fits(site))), 0.02);
    }
    let world = world(5_000, 10_000, &[("virtual_hosts", SHARE)]);
    let guests = world.site_indexes().filter(|index| index % 8 != 0);
    let moved = |index: &u32| Some(world.site_by_ip(world.ip_address(*index)) != Some(*index));
    assert_near("virtual_hosts", share(guests, moved), 0.02);
}

#[test]
fn languages_are_weighted_as_configured() {
    let world = world(5_000, 10_000, &[("english", 3.0), ("greek", 1.0), ("spanish", 1.0)]);
    let total: f64 = 5.0 + 0.10 + 0.07 + 0.05 + 0.04 + 0.04 + 0.03 + 0.03 + 0.03 + 0.02;
    for (code, weight) in [("en", 3.0), ("el", 1.0), ("es", 1.0), ("de", 0.1)] {
        let sites = world.site_indexes().skip(1).map(|index| world.site(index));
        let found = share(sites, |site| Some(site.language.code() == code));
        assert!((found - weight / total).abs() < 0.02, "{code}: {found}");
    }
}

/// Leaves of all sites except the portal.
fn leaves(world: &World) -> impl Iterator<Item = (Site, PageGroundTruth)> + '_ {
    let sites = world.site_indexes().skip(1).map(|index| world.site(index));
    sites.flat_map(move |site| {
        let first = site.linked.saturating_sub(1).div_ceil(8).max(1);
        (first..site.linked).map(move |page| (site, world.page_ground_truth(&site, page)))
    })
}

#[test]
fn shares_of_pages_are_as_configured() {
    let kinds = [
        ("duplicates", "duplicate"),
        ("near_duplicates", "near_duplicate"),
        ("redirects", "redirect"),
        ("meta_refresh", "meta_refresh"),
        ("not_found", "not_found"),
        ("gone", "gone"),
        ("soft_404", "soft_404"),
        ("server_error_pages", "server_error"),
        ("truncated", "truncated"),
        ("reset", "reset"),
        ("text_pages", "text"),
        ("pdf_pages", "pdf"),
        ("image_pages", "image"),
    ];
    for (name, kind) in kinds {
        let world = world(200, 30_000, &[(name, SHARE)]);
        assert_near(name, share(leaves(&world), |(_, page)| Some(page.kind == kind)), 0.01);
    }
    type Counted = fn(&Site, &PageGroundTruth) -> bool;
    let cases: [(&str, Counted); 6] = [
        ("dynamic", |_, page| page.path_class == PathClass::Dynamic),
        ("private", |_, page| {
            matches!(page.path_class, PathClass::Private | PathClass::Draft | PathClass::Open)
        }),
        ("other_language", |site, page| page.language != Some(site.language)),
        ("noindex", |_, page| page.noindex),
        ("nofollow", |_, page| page.nofollow),
        ("changing_pages", |_, page| page.changes_per_day > 0.0),
    ];
    for (name, fits) in cases {
        let world = world(200, 30_000, &[(name, SHARE)]);
        assert_near(name, share(leaves(&world), |(site, page)| Some(fits(site, page))), 0.01);
    }
    let world = world(200, 30_000, &[("isolated", SHARE)]);
    let sites = world.site_indexes().skip(1).map(|index| world.site(index));
    let pages = sites.flat_map(|site| (0..site.pages).map(move |page| page >= site.linked));
    assert_near("isolated", share(pages, |isolated| Some(*isolated)), 0.01);
}

#[test]
fn shares_of_redirects_are_as_configured() {
    let redirects = |name| {
        let others = ["redirect_loops", "redirect_chains", "external_redirects"].map(|other| (other, 0.0));
        world(400, 40_000, &[&others[..], &[("redirects", 1.0), (name, SHARE)]].concat())
    };
    let loops = redirects("redirect_loops");
    assert_near("loops", share(leaves(&loops), |(_, page)| Some(page.redirect_to.is_none())), 0.01);
    let chains = redirects("redirect_chains");
    assert_near("chains", share(leaves(&chains), |(_, page)| Some(page.redirect_hops? > 1)), 0.01);
    let abroad = redirects("external_redirects");
    let leads_away = |(site, page): &(Site, PageGroundTruth)| {
        Some(abroad.page_by_url(page.redirect_to.as_ref()?)?.site != site.index)
    };
    assert_near("abroad", share(leaves(&abroad), leads_away), 0.015);
}

#[test]
fn shares_of_links_are_as_configured() {
    let away =
        |link: &LinkGroundTruth, site: &Site| link.target_page.is_none_or(|page| page.site != site.index);
    type Counted<'a> = &'a dyn Fn(&LinkGroundTruth, &Site) -> Option<bool>;
    let cases: [(&str, Counted<'_>); 5] = [
        ("nofollow_links", &|link, _| Some(link.nofollow)),
        ("tracking_links", &|link, _| Some(link.has_tracking)),
        ("external_links", &|link, site| Some(away(link, site))),
        ("nxdomain_links", &|link, site| away(link, site).then(|| link.target.starts_with("http://lost"))),
        ("closed_port_links", &|link, site| away(link, site).then(|| link.target.ends_with(":1/"))),
    ];
    for (name, fits) in cases {
        let world = world(300, 3_000, &[(name, SHARE)]);
        let sites = world.site_indexes().skip(1).map(|index| world.site(index));
        let links = sites.flat_map(|site| {
            let links: Vec<LinkGroundTruth> = (0..site.pages)
                .flat_map(|page| world.links_ground_truth(&site, page).collect::<Vec<_>>())
                .collect();
            links.into_iter().map(move |link| (site, link))
        });
        let free = links.filter(|(_, link)| link.position == LinkPosition::Text);
        assert_near(name, share(free, |(site, link)| fits(link, site)), 0.015);
    }
}

//! Statistical properties of the synthetic Web, without sockets.

use std::collections::{HashMap, HashSet};

use simweb::{Declared, Language, PageKind, PageRef, Ports, Settings, SimRequest, Site, World};

const PORTS: Ports = Ports { http: 80, https: 443 };

fn world(settings: Settings) -> World {
    World::new(settings, PORTS).unwrap()
}

fn path(world: &World, site: &Site, page: u32) -> String {
    let url = world.url(PageRef { site: site.index, page });
    url[url.match_indices('/').nth(2).unwrap().0..].to_owned()
}

fn body(world: &World, site: &Site, page: u32, seconds: u64) -> Vec<u8> {
    world.respond(site, &SimRequest::new(&path(world, site, page), seconds)).body
}

/// Pages of all sites, the same for the same `count`.
fn sample(world: &World, count: u32) -> impl Iterator<Item = (Site, u32)> + '_ {
    let sites = world.settings.sites as u32;
    (0..count).map(move |n| {
        let site = world.site(n.wrapping_mul(2_654_435_761) % sites);
        (site, n.wrapping_mul(40_503) % site.linked)
    })
}

#[test]
fn a_hundred_million_pages_on_a_hundred_thousand_sites_can_be_addressed() {
    let world = world(Settings { sites: 100_000, pages: 100_000_000, ..Settings::default() });
    let total: u64 = world.site_indexes().map(|index| u64::from(world.site(index).pages)).sum();
    assert!((90_000_000..115_000_000).contains(&total), "{total} pages");
    for n in 0..20_000u32 {
        let site = world.site(n.wrapping_mul(2_654_435_761) % 100_000);
        let page = PageRef { site: site.index, page: n.wrapping_mul(40_503) % site.pages };
        let url = world.url(page);
        assert_eq!(world.page_by_url(&url), Some(page), "{url}");
        assert_eq!(world.site_by_name(&world.name(site.index)), Some(site.index));
    }
    let largest = world.site(0).pages.max(world.site(1).pages);
    let last = body(&world, &world.site(1), world.site(1).pages - 1, 0);
    assert!(!last.is_empty() && largest > 100_000);
}

#[test]
fn names_and_ip_addresses_are_resolved_to_their_sites() {
    let world = world(Settings {
        sites: 5_000,
        virtual_hosts: 0.3,
        aliases: 0.1,
        mirrors: 0.1,
        ..Settings::default()
    });
    let mut names = HashSet::new();
    let mut domains = HashMap::<String, u32>::new();
    for index in world.site_indexes() {
        let name = world.name(index);
        assert_eq!(world.site_by_name(&name), Some(index), "{name}");
        assert!(names.insert(name.clone()), "{name} twice");
        let labels: Vec<&str> = name.rsplit('.').collect();
        *domains.entry(labels[1].to_owned()).or_default() += 1;
        if let Some(first) = world.site_by_ip(world.ip_address(index)) {
            assert_eq!(world.ip_address(first), world.ip_address(index));
        }
        let site = world.site(index);
        assert_eq!(site.replica.is_some(), site.content != index);
    }
    assert!(domains.values().any(|&hosts| hosts >= 4) && domains.values().any(|&hosts| hosts == 1));
    let addresses: HashSet<_> = world.site_indexes().map(|index| world.ip_address(index)).collect();
    assert!((2_500..4_600).contains(&addresses.len()), "{} addresses", addresses.len());
    for unknown in [
        "",
        "test",
        "x.test",
        "www.test",
        "portal.test.test",
        "www99999999999.a.test",
        "riverstone1.test.",
        "a-b99.test",
    ] {
        assert_eq!(world.site_by_name(unknown), None, "{unknown}");
    }
}

#[test]
fn the_number_of_ip_addresses_is_configurable() {
    let world = world(Settings { sites: 500, max_ips: 300, ..Settings::plain() });
    let addresses: HashSet<_> = world.site_indexes().map(|index| world.ip_address(index)).collect();
    assert_eq!(addresses.len(), 300);
}

#[test]
fn page_sizes_and_link_counts_are_as_configured() {
    let world = world(Settings { sites: 300, pages: 100_000, ..Settings::plain() });
    let sizes: Vec<f64> =
        sample(&world, 2_000).map(|(site, page)| body(&world, &site, page, 0).len() as f64).collect();
    let mean = sizes.iter().sum::<f64>() / sizes.len() as f64;
    assert!((18_000.0..22_000.0).contains(&mean), "mean size {mean}");
    let large = sizes.iter().filter(|&&size| size > 2.0 * mean).count();
    let small = sizes.iter().filter(|&&size| size < 0.6 * mean).count();
    assert!(large > 60 && small > 300, "{large} large, {small} small");
    for (site, page) in sample(&world, 500) {
        let links = world.links_ground_truth(&site, page).count();
        assert!((40..=60).contains(&links), "{links} links");
    }
}

#[test]
fn in_degrees_follow_a_power_law_and_most_links_are_internal() {
    let world = world(Settings { sites: 100, pages: 5_000, ..Settings::plain() });
    let (mut degrees, mut own, mut all) = (HashMap::<PageRef, u32>::new(), 0, 0);
    for site in world.site_indexes().map(|index| world.site(index)) {
        for link in (0..site.pages).flat_map(|page| world.links_ground_truth(&site, page).collect::<Vec<_>>())
        {
            let target = link.target_page.unwrap();
            *degrees.entry(target).or_default() += 1;
            own += u32::from(target.site == site.index);
            all += 1;
        }
    }
    let share = f64::from(own) / f64::from(all);
    assert!((0.6..0.95).contains(&share), "{share} of the links stay in their site");
    let mut sorted: Vec<u32> = degrees.values().copied().collect();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let reached = sorted.len() as u64;
    let total: u64 = world.site_indexes().map(|index| u64::from(world.site(index).linked)).sum();
    assert_eq!(reached, total, "every page has a link");
    let top: u32 = sorted[..sorted.len() / 100].iter().sum();
    assert!(f64::from(top) / f64::from(all) > 0.2, "one page in a hundred has {top} of {all} links");
    assert!(sorted[sorted.len() / 2] < 40, "the median page has {} inlinks", sorted[sorted.len() / 2]);
}

#[test]
fn languages_are_recognised_by_a_detector() {
    let world = world(Settings { sites: 400, pages: 40_000, ..Settings::plain() });
    let (mut right, mut all, mut seen) = (0, 0, HashSet::new());
    for (site, index) in sample(&world, 1_500) {
        let page = world.page(&site, index);
        let html = String::from_utf8(body(&world, &site, index, 0)).unwrap();
        let text = visible(&html);
        let found = whatlang::detect(&text).unwrap().lang();
        seen.insert(page.language);
        all += 1;
        right += u32::from(found == expected(page.language));
    }
    assert_eq!(seen.len(), Language::ALL.len());
    assert!(f64::from(right) / f64::from(all) > 0.98, "{right} of {all}");
}

fn visible(html: &str) -> String {
    let body = html.split_once("<body>").unwrap().1;
    let mut text = String::new();
    for piece in body.split('<') {
        text.push_str(piece.split_once('>').map_or("", |(_, text)| text));
        text.push(' ');
    }
    text
}

fn expected(language: Language) -> whatlang::Lang {
    match language {
        Language::English => whatlang::Lang::Eng,
        Language::Spanish => whatlang::Lang::Spa,
        Language::Portuguese => whatlang::Lang::Por,
        Language::French => whatlang::Lang::Fra,
        Language::German => whatlang::Lang::Deu,
        Language::Italian => whatlang::Lang::Ita,
        Language::Turkish => whatlang::Lang::Tur,
        Language::Russian => whatlang::Lang::Rus,
        Language::Greek => whatlang::Lang::Ell,
        Language::Arabic => whatlang::Lang::Ara,
        Language::Japanese => whatlang::Lang::Jpn,
        Language::Chinese => whatlang::Lang::Cmn,
    }
}

#[test]
fn charsets_are_declared_as_in_the_ground_truth() {
    let settings = Settings {
        sites: 80,
        pages: 8_000,
        legacy_charsets: 0.4,
        undeclared_charsets: 0.2,
        text_pages: 0.1,
        not_found: 0.05,
        gone: 0.05,
        soft_404: 0.05,
        meta_refresh: 0.05,
        flaky: 0.0,
        down: 0.0,
        unresponsive: 0.0,
        ..Settings::default()
    };
    let world = world(settings);
    let mut seen = HashSet::new();
    for (site, page) in sample(&world, 4_000) {
        let truth = world.page_ground_truth(&site, page);
        let answer = world.respond(&site, &SimRequest::new(&path(&world, &site, page), 0));
        let header = answer.content_type.contains("charset=");
        let meta = String::from_utf8_lossy(&answer.body).contains("<meta charset=");
        let bom = answer.body.starts_with(b"\xef\xbb\xbf");
        let found = match (header, meta, bom) {
            (true, true, false) => Declared::Both,
            (true, false, false) => Declared::Header,
            (false, true, false) => Declared::Meta,
            (false, false, true) => Declared::Bom,
            (false, false, false) => Declared::Nowhere,
            _ => panic!("{} declares twice", truth.url),
        };
        let expected = truth.charset_declared;
        assert_eq!(expected.is_some(), truth.charset.is_some(), "{}", truth.url);
        assert!(
            expected.unwrap_or(Declared::Nowhere) == found,
            "{}: {expected:?} expected, {found:?} found",
            truth.url
        );
        seen.insert((truth.kind, format!("{expected:?}")));
    }
    assert!(seen.len() > 40, "{seen:?}");
}

#[test]
fn page_ranks_are_equal_to_those_of_a_dense_matrix() {
    let world = world(Settings { sites: 6, pages: 150, seed: 5, ..Settings::default() });
    let sites = world.site_indexes().map(|index| world.site(index));
    let pages: Vec<PageRef> =
        sites.flat_map(|site| (0..site.pages).map(move |page| PageRef { site: site.index, page })).collect();
    let n = pages.len();
    let place = |page: PageRef| pages.iter().position(|&known| known == page).unwrap();
    let mut matrix = vec![vec![1.0 / n as f64; n]; n];
    for (row, page) in matrix.iter_mut().zip(&pages) {
        let site = world.site(page.site);
        let targets: Vec<usize> = world
            .links_ground_truth(&site, page.page)
            .filter_map(|link| link.target_page)
            .map(place)
            .collect();
        if !targets.is_empty() {
            row.fill(0.0);
            targets.iter().for_each(|&target| row[target] += 1.0 / targets.len() as f64);
        }
    }
    let mut ranks = vec![1.0 / n as f64; n];
    for _ in 0..300 {
        ranks = (0..n)
            .map(|to| 0.15 / n as f64 + 0.85 * (0..n).map(|from| ranks[from] * matrix[from][to]).sum::<f64>())
            .collect();
    }
    let expected = world.page_ranks();
    for (page, rank) in pages.iter().zip(&ranks) {
        assert!(
            (expected.get(*page) - rank).abs() < 1e-9,
            "{page:?}: {} returned, {rank} computed",
            expected.get(*page)
        );
    }
    assert!((pages.iter().map(|&page| expected.get(page)).sum::<f64>() - 1.0).abs() < 1e-9);
    assert!(expected.get(pages[0]) > 2.0 / n as f64, "the portal is important");
    assert_eq!(
        expected.get(PageRef { site: 0, page: 1 << 30 }) + expected.get(PageRef { site: 99, page: 0 }),
        0.0
    );
}

#[test]
fn duplicates_are_equal_and_near_duplicates_overlap_as_in_the_ground_truth() {
    let world = world(Settings {
        sites: 20,
        pages: 3_000,
        duplicates: 0.2,
        near_duplicates: 0.2,
        near_duplicate_change: 0.1,
        ..Settings::plain()
    });
    let (mut exact, mut near) = (0, 0);
    for site in world.site_indexes().map(|index| world.site(index)) {
        for index in 0..site.linked.min(200) {
            match world.page(&site, index).kind {
                PageKind::Duplicate { of } => {
                    assert!(body(&world, &site, index, 9_999) == body(&world, &site, of, 9_999));
                    exact += 1;
                }
                PageKind::NearDuplicate { of } => {
                    let text =
                        |page| sentences(&String::from_utf8(body(&world, &site, page, 9_999)).unwrap());
                    let (copy, original) = (text(index), text(of));
                    let kept = copy.iter().filter(|sentence| original.contains(*sentence)).count();
                    let overlap = world.page_ground_truth(&site, index).overlap.unwrap();
                    let found = kept as f64 / original.len() as f64;
                    assert!((overlap - found).abs() < 0.03, "{overlap} expected, {found} found");
                    near += 1;
                }
                _ => {}
            }
        }
    }
    assert!(exact > 100 && near > 100, "{exact} exact, {near} near");
}

/// Returns the sentences of the article, without the links between them.
fn sentences(html: &str) -> HashSet<String> {
    let mut text = String::new();
    for paragraph in html.split("<p>").skip(1).map(|part| part.split("</p>").next().unwrap_or("")) {
        for piece in paragraph.split("<a ") {
            text.push_str(piece.split_once("</a>").map_or(piece, |(_, after)| after.trim_start()));
        }
    }
    text.replace('。', ". ").split(". ").filter(|sentence| !sentence.is_empty()).map(str::to_owned).collect()
}

fn paragraphs(html: &str) -> Vec<String> {
    html.split("<p>").map(|part| part.split("</p>").next().unwrap_or("").to_owned()).collect()
}

#[test]
fn pages_change_at_the_rate_of_the_ground_truth() {
    let settings = Settings {
        sites: 5,
        pages: 400,
        changing_pages: 1.0,
        changes_per_day: 0.5,
        change_rate_sigma: 0.0,
        validators: 1.0,
        ..Settings::plain()
    };
    let world = world(settings);
    let site = world.site(1);
    let (days, mut changes) = (200, 0);
    for page in 0..site.linked.min(60) {
        assert_eq!(world.page_ground_truth(&site, page).changes_per_day, 0.5);
        let path = path(&world, &site, page);
        let etags = (0..=days).map(|day| world.respond(&site, &SimRequest::new(&path, day * 86_400)).etag);
        let mut etags: Vec<_> = etags.collect();
        etags.dedup();
        changes += etags.len() - 1;
    }
    // A day without a change has the probability e^-0.5.
    let expected = f64::from(site.linked.min(60)) * days as f64 * (1.0 - (-0.5f64).exp());
    let error = (expected * (-0.5f64).exp()).sqrt();
    assert!((changes as f64 - expected).abs() < 4.0 * error, "{changes} changes seen, {expected} expected");
}

#[test]
fn a_change_modifies_only_a_part_of_the_text() {
    let world = world(Settings {
        sites: 3,
        pages: 300,
        changing_pages: 1.0,
        changes_per_day: 0.01,
        change_rate_sigma: 0.0,
        ..Settings::plain()
    });
    let site = world.site(1);
    let mut changed = 0;
    for page in 0..40 {
        let (before, after) = (body(&world, &site, page, 0), body(&world, &site, page, 60 * 86_400));
        let (before, after) = (String::from_utf8(before).unwrap(), String::from_utf8(after).unwrap());
        if before != after {
            changed += 1;
            let (old, new) = (paragraphs(&before), paragraphs(&after));
            let kept = new.iter().filter(|paragraph| old.contains(paragraph)).count();
            assert!(kept * 2 > new.len().min(old.len()) || new.len() < 8, "{kept} of {} kept", new.len());
        }
    }
    assert!((5..35).contains(&changed), "{changed} of 40 changed");
}

#[test]
fn unknown_paths_are_not_found() {
    let world = world(Settings { sites: 10, ..Settings::default() });
    let site = world.site(1);
    let known = path(&world, &site, 3);
    let bent = [
        known.to_uppercase(),
        format!("{known}x"),
        format!("/x{known}"),
        known.replace("-3", "-03"),
        known.replace("-3", "-4"),
    ];
    for path in bent
        .iter()
        .map(String::as_str)
        .chain(["", "x", "?", "/?id=", "/?id=3", "//", "/-", "/-.", "/%00", "/é-3"])
    {
        assert_eq!(world.respond(&site, &SimRequest::new(path, 0)).status, 404, "{path}");
    }
}

#[test]
fn every_setting_is_documented_with_its_default() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/simweb.md");
    let document = std::fs::read_to_string(file).unwrap();
    for setting in Settings::all() {
        let row = format!("| `{}` | {} | {} |", setting.name, setting.default, setting.meaning);
        assert!(document.contains(&row), "docs/simweb.md lacks: {row}");
    }
}

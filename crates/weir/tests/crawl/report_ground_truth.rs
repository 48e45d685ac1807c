//! Reports of a completely crawled synthetic Web compared with its ground truth, and reports of tiny collections.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use analysis::{Quantiles, ValueKind, fit_power_law};
use serde_json::Value;
use simweb::{Endpoints, PageGroundTruth, Settings, SimWeb};
use store::PowerLaw;

use crate::process::{Collection, run};
use crate::servers::{Server, hosts};

/// Settings to fetch every page once, also those linked only from duplicates.
const ALL: &str = "scope.follow_duplicates = true\n[politeness]\ndelay = '1ms'\nlarge_site_delay = '1ms'\n\
    back_off = '1ms'\nmax_back_off = '1ms'\nretry_delay = '1h'\n[crawl]\nmax_idle = '100ms'\n[sitemaps]\nrobots_rdf = false\n";

/// Web with all properties that a report counts, and without pages that a polite crawler cannot fetch.
fn web() -> SimWeb {
    let settings = Settings {
        sites: 60,
        pages: 2_500,
        mirrors: 0.08,
        legacy_charsets: 0.4,
        duplicates: 0.06,
        near_duplicates: 0.06,
        redirects: 0.05,
        redirect_chains: 0.0,
        redirect_loops: 0.0,
        not_found: 0.04,
        gone: 0.02,
        server_error_pages: 0.01,
        text_pages: 0.03,
        other_language: 0.05,
        ..Settings::plain()
    };
    SimWeb::start(settings, &Endpoints::default()).unwrap()
}

/// Ground truth of all pages and the links between them.
struct GroundTruth {
    pages: BTreeMap<String, PageGroundTruth>,
    /// Source and target, each pair once; a redirect is a link to its target.
    arcs: BTreeSet<(String, String)>,
}

impl GroundTruth {
    fn new(web: &SimWeb) -> GroundTruth {
        let mut truth = GroundTruth { pages: BTreeMap::new(), arcs: BTreeSet::new() };
        for site in web.world.site_indexes().map(|index| web.world.site(index)) {
            for index in 0..site.pages {
                let page = web.world.page_ground_truth(&site, index);
                assert!(page.reachable && page.allowed, "{}", page.url);
                let links = web.world.links_ground_truth(&site, index).map(|link| link.target);
                let targets = links.chain(page.redirect_to.clone());
                // A link of a page to itself is not an arc.
                let targets = targets.filter(|target| *target != page.url);
                truth.arcs.extend(targets.map(|target| (page.url.clone(), target)));
                truth.pages.insert(page.url.clone(), page);
            }
        }
        truth
    }

    /// Pages with text.
    fn texts(&self) -> impl Iterator<Item = &PageGroundTruth> {
        self.pages.values().filter(|page| page.status == 200)
    }

    /// The original of an exact duplicate.
    fn bytes_of<'t>(&'t self, page: &'t PageGroundTruth) -> &'t PageGroundTruth {
        page.duplicate_of.as_ref().map_or(page, |original| &self.pages[original])
    }

    /// The original of a duplicate or near duplicate.
    fn text_of<'t>(&'t self, page: &'t PageGroundTruth) -> &'t PageGroundTruth {
        let page = self.bytes_of(page);
        page.near_duplicate_of.as_ref().map_or(page, |original| self.bytes_of(&self.pages[original]))
    }

    /// Number of pages that link to each page.
    fn in_degrees(&self) -> Vec<u64> {
        let mut degrees: BTreeMap<&str, u64> = self.pages.keys().map(|url| (url.as_str(), 0)).collect();
        for (_, target) in &self.arcs {
            *degrees.get_mut(target.as_str()).unwrap() += 1;
        }
        degrees.into_values().collect()
    }
}

fn counts<K: Ord>(keys: impl Iterator<Item = K>) -> BTreeMap<K, u64> {
    let mut counts = BTreeMap::new();
    keys.for_each(|key| *counts.entry(key).or_default() += 1);
    counts
}

/// A collection with its report.
struct Report {
    collection: Collection,
    out: PathBuf,
    steps: Vec<Value>,
}

impl Report {
    fn create(collection: Collection) -> Report {
        collection.crawl(&[]);
        let out = collection.path().with_extension("report");
        let output = |arguments: &[&str]| {
            let output = run(&[arguments, &["--json"]].concat());
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        };
        let steps = output(&["analyze", &collection.dir()]);
        let steps = steps.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        output(&["report", &collection.dir(), "--out", out.to_str().unwrap()]);
        Report { collection, out, steps }
    }

    fn page(&self) -> String {
        fs::read_to_string(self.out.join("report.html")).unwrap()
    }

    /// First column of the data of a figure, with the number in the second.
    fn data(&self, figure: &str) -> BTreeMap<String, u64> {
        let text = fs::read_to_string(data_file(&self.out, figure)).unwrap();
        let row = |line: &str| {
            let (key, number) = line.split_once(',').unwrap();
            (key.to_owned(), number.parse().unwrap())
        };
        text.lines().skip(1).map(row).collect()
    }

    fn fit(&self, statistic: &str) -> PowerLaw {
        let (_, all) = store::read_statistics(&self.collection.path()).unwrap().unwrap();
        all.into_iter().find(|one| one.name == statistic).unwrap().power_law_fit.unwrap()
    }
}

fn data_file(out: &Path, figure: &str) -> PathBuf {
    out.join("data").join(figure).with_extension("csv")
}

/// Name of the decoder of a charset label.
fn decoder(label: &str) -> String {
    let name = match label {
        "iso-8859-1" => "windows-1252",
        "iso-8859-9" => "windows-1254",
        other => other,
    };
    name.to_owned()
}

#[test]
fn a_report_equals_the_ground_truth_of_a_web() {
    let web = web();
    let truth = GroundTruth::new(&web);
    let report = Report::create(Collection::of_web(&web, ALL));
    assert!(truth.pages.len() > 2_000);

    // All pages were fetched, so that there is no sampling error.
    let statuses = counts(truth.pages.values().map(|page| page.status.to_string()));
    assert!(statuses.len() > 6, "{statuses:?}");
    assert_eq!(report.data("status-codes"), statuses);
    let languages = counts(truth.texts().map(|page| page.language.unwrap().code().to_owned()));
    assert!(languages.len() > 6, "{languages:?}");
    assert_eq!(report.data("languages"), languages);
    let charsets = counts(truth.texts().map(|page| decoder(page.charset.unwrap())));
    assert!(charsets.len() > 4, "{charsets:?}");
    assert_eq!(report.data("charsets"), charsets);
    check_duplicates(&report, &truth);
    check_mirrors(&report, &web);
    check_in_degrees(&report, &truth);
}

/// Checks the numbers of exact and near duplicates.
fn check_duplicates(report: &Report, truth: &GroundTruth) {
    let reported = report.data("duplicates");
    let of = |kind: &str| reported.get(kind).copied().unwrap_or(0);
    let all = truth.texts().count() as u64;
    let distinct = |original: &dyn Fn(&PageGroundTruth) -> String| {
        truth.texts().map(original).collect::<BTreeSet<String>>().len() as u64
    };
    let bodies = distinct(&|page| truth.bytes_of(page).url.clone());
    let texts = distinct(&|page| truth.text_of(page).url.clone());
    assert!(all - bodies > 200 && bodies - texts > 80, "{all} pages, {bodies} bodies, {texts} texts");
    assert_eq!(reported.values().sum::<u64>(), all);
    assert_eq!(of("same bytes"), all - bodies, "{reported:?}");
    assert_eq!(of("same text"), 0, "{reported:?}");
    // Fingerprints miss some near duplicates, but have no false positives here.
    let (expected, near) = (bodies - texts, of("nearly the same text"));
    assert!(near <= expected && near * 10 >= expected * 9, "{near} of {expected}: {reported:?}");
}

/// Checks that exactly the mirrored sites are found.
fn check_mirrors(report: &Report, web: &SimWeb) {
    let step = report.steps.iter().find(|step| step["step"] == "similarity").unwrap();
    let mut found: Vec<BTreeSet<String>> = Vec::new();
    for mirror in step["result"]["largest_mirrors"].as_array().unwrap() {
        let host = |field: &str| mirror[field].as_str().unwrap().split(['/', ':']).nth(3).unwrap().to_owned();
        join(&mut found, host("site"), host("of"));
    }
    let mut expected = Vec::new();
    for site in web.world.site_indexes().map(|index| web.world.site_ground_truth(index)) {
        if let Some(original) = site.replica_of {
            join(&mut expected, site.name, original);
        }
    }
    found.sort();
    expected.sort();
    assert!(expected.len() > 4, "{expected:?}");
    assert_eq!(found, expected);
}

/// Puts two sites into one group.
fn join(groups: &mut Vec<BTreeSet<String>>, one: String, other: String) {
    match groups.iter_mut().find(|group| group.contains(&one) || group.contains(&other)) {
        Some(group) => group.extend([one, other]),
        None => groups.push([one, other].into()),
    }
}

/// Checks the number of links and the fitted power law.
fn check_in_degrees(report: &Report, truth: &GroundTruth) {
    let degrees = truth.in_degrees();
    let mut quantiles = Quantiles::default();
    degrees.iter().for_each(|degree| quantiles.add(*degree as f64));
    let expected = fit_power_law(&quantiles.finish(), ValueKind::Discrete).unwrap();
    let summary = fs::read_to_string(data_file(&report.out, "summary")).unwrap();
    assert!(summary.contains(&format!("\nlinks,{}\n", truth.arcs.len())), "{summary}");
    let text = fs::read_to_string(data_file(&report.out, "in-degree")).unwrap();
    for bin in text.lines().skip(1) {
        let numbers: Vec<f64> = bin.split(',').map(|number| number.parse().unwrap()).collect();
        let (from, to) = (numbers[0], numbers[1]);
        let is_in =
            |degree: &&u64| if to > from { (from..to).contains(&(**degree as f64)) } else { **degree == 0 };
        assert_eq!(degrees.iter().filter(is_in).count() as f64, numbers[2], "{bin}");
    }
    let fit = report.fit("in-degree");
    let error = (expected.alpha - 1.0) / (expected.tail as f64).sqrt();
    assert!((fit.alpha - expected.alpha).abs() < error / 100.0, "{fit:?} is not {expected:?}");
    // Popularity is proportional to 1/rank within and between sites, which gives about 2; menus and local links increase it.
    assert!((2.0 - 3.0 * error..2.5 + 3.0 * error).contains(&fit.alpha), "{fit:?}");
    assert!(report.page().contains(&format!("exponent α = {:.2} from", expected.alpha)));
}

/// HTML of the report of a small site whose pages have no links.
fn report_of_small_site(name: &str, ip: [u8; 4], pages: u32) -> String {
    let site = Server::site(name, ip, |path, peer| peer.page(&format!("<p>Here is {path}, and no way on.")));
    let seeds: Vec<String> =
        (0..pages).map(|page| site.url(["/", "/a", "/b", "/c"][page as usize])).collect();
    let report = Report::create(Collection::new(&seeds, &(hosts(&[&site]) + ALL)));
    let summary = fs::read_to_string(data_file(&report.out, "summary")).unwrap();
    assert!(summary.contains(&format!("\npages-fetched,{pages}\n")), "{summary}");
    assert_eq!(report.data("status-codes"), [("200".to_owned(), pages.into())].into());
    let page = report.page();
    let is_no_number = |word: &str| ["nan", "inf", "infinity"].contains(&word.to_lowercase().as_str());
    for section in page.split("<section") {
        assert!(!section.split(|letter: char| !letter.is_alphanumeric()).any(is_no_number), "{section}");
        for picture in section.split("<svg").skip(1) {
            let is_drawn =
                ["fill", "series", "dot"].map(|mark| picture.contains(&format!("class=\"{mark} ")));
            assert!(is_drawn.contains(&true), "empty axes: {section}");
        }
    }
    page
}

#[test]
fn a_report_of_a_tiny_collection_has_texts_instead_of_empty_figures() {
    for (name, ip, pages) in [("alone", [127, 77, 9, 1], 1), ("apart", [127, 77, 9, 2], 4)] {
        let page = report_of_small_site(name, ip, pages);
        for message in [
            "There are no links between pages.",
            "There are no links between sites.",
            "No link leads to a page whose last fetch failed.",
            "No page was compared with an earlier fetch: there were no revisits.",
            "No two pages have the same text.",
            "No page states a date.",
            "No page has a title.",
            "No site has a known page below its entry page.",
        ] {
            assert!(page.contains(message), "{name}: {message}");
        }
        for wrong in ["No page has been fetched.", "No site is known.", "No site has responded."] {
            assert!(!page.contains(wrong), "{name}: {wrong}");
        }
        for figure in
            ["in-degree", "out-degree", "depth-in-degree", "changes", "change-rates", "site-in-degree"]
        {
            let rest = page.split_once(&format!("id=\"{figure}\"")).unwrap().1;
            assert!(
                !rest.split("<section").next().unwrap().contains("<svg"),
                "{name}: {figure} has empty axes"
            );
        }
    }
}

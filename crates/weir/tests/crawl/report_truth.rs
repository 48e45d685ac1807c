//! Does a report tell the truth? That of a synthetic Web, which was crawled to its last page, is known; and where there is next to
//! nothing to tell, it should say so in words.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use analysis::{Quantiles, Values, fit_power_law};
use serde_json::Value;
use simweb::{Endpoints, PageTruth, Settings, SimWeb};
use store::PowerLaw;

use crate::process::{Collection, run};
use crate::servers::{Server, hosts};

/// Every page is visited once, also those that only a copy leads to.
const ALL: &str = "scope.links_of_duplicates = true\n[politeness]\nwait = '1ms'\nlarge_site_wait = '1ms'\n\
    back_off = '1ms'\nmost_back_off = '1ms'\npage_retry = '1h'\n[crawl]\nlongest_pause = '100ms'\n[sitemaps]\nrobots_rdf = false\n";

/// All that a report tells shares of, but nothing that keeps a polite crawler from a page.
fn web() -> SimWeb {
    let settings = Settings {
        sites: 60,
        pages: 2_500,
        mirrors: 0.08,
        legacy_encodings: 0.4,
        duplicates: 0.06,
        near_duplicates: 0.06,
        redirects: 0.05,
        redirect_chains: 0.0,
        redirect_loops: 0.0,
        missing: 0.04,
        gone: 0.02,
        error_pages: 0.01,
        text_pages: 0.03,
        foreign: 0.05,
        ..Settings::plain()
    };
    SimWeb::start(settings, &Endpoints::default()).unwrap()
}

/// What is true of all pages and the links between them.
struct Truth {
    pages: BTreeMap<String, PageTruth>,
    /// Source and target, each pair once; a redirect leads to its target.
    arcs: BTreeSet<(String, String)>,
}

impl Truth {
    fn of(web: &SimWeb) -> Truth {
        let mut truth = Truth { pages: BTreeMap::new(), arcs: BTreeSet::new() };
        for site in web.world.site_indexes().map(|index| web.world.site(index)) {
            for index in 0..site.pages {
                let page = web.world.page_truth(&site, index);
                assert!(page.reachable && page.allowed, "{}", page.url);
                let links = web.world.links_truth(&site, index).map(|link| link.target);
                let leads_to = links.chain(page.redirect_to.clone());
                truth.arcs.extend(leads_to.map(|target| (page.url.clone(), target)));
                truth.pages.insert(page.url.clone(), page);
            }
        }
        truth
    }

    /// Pages with a text.
    fn texts(&self) -> impl Iterator<Item = &PageTruth> {
        self.pages.values().filter(|page| page.status == 200)
    }

    /// The page whose bytes a page has.
    fn bytes_of<'t>(&'t self, page: &'t PageTruth) -> &'t PageTruth {
        page.duplicate_of.as_ref().map_or(page, |original| &self.pages[original])
    }

    /// The page whose text a page has, or nearly has.
    fn text_of<'t>(&'t self, page: &'t PageTruth) -> &'t PageTruth {
        let page = self.bytes_of(page);
        page.near_duplicate_of.as_ref().map_or(page, |original| self.bytes_of(&self.pages[original]))
    }

    /// How many pages link to each page.
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
    fn of(collection: Collection) -> Report {
        collection.crawl(&[]);
        let out = collection.path().with_extension("report");
        let said = |arguments: &[&str]| {
            let output = run(&[arguments, &["--json"]].concat());
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        };
        let steps = said(&["analyze", &collection.dir()]);
        let steps = steps.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        said(&["report", &collection.dir(), "--out", out.to_str().unwrap()]);
        Report { collection, out, steps }
    }

    fn page(&self) -> String {
        fs::read_to_string(self.out.join("report.html")).unwrap()
    }

    /// The first column of a figure's data, with the number beside it.
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
        all.into_iter().find(|one| one.name == statistic).unwrap().fit.unwrap()
    }
}

fn data_file(out: &Path, figure: &str) -> PathBuf {
    out.join("data").join(figure).with_extension("csv")
}

/// What the encodings of labels are called by those who decode them.
fn encoding(label: &str) -> String {
    let name = match label {
        "iso-8859-1" => "windows-1252",
        "iso-8859-9" => "windows-1254",
        other => other,
    };
    name.to_owned()
}

#[test]
fn a_report_tells_the_truth_about_a_web() {
    let web = web();
    let truth = Truth::of(&web);
    let report = Report::of(Collection::of_web(&web, ALL));
    assert!(truth.pages.len() > 2_000);

    // Nothing was left out, so there is no sampling error: shares are what they are.
    let statuses = counts(truth.pages.values().map(|page| page.status.to_string()));
    assert!(statuses.len() > 6, "{statuses:?}");
    assert_eq!(report.data("status-codes"), statuses);
    let languages = counts(truth.texts().map(|page| page.language.unwrap().code().to_owned()));
    assert!(languages.len() > 6, "{languages:?}");
    assert_eq!(report.data("languages"), languages);
    let encodings = counts(truth.texts().map(|page| encoding(page.encoding.unwrap())));
    assert!(encodings.len() > 4, "{encodings:?}");
    assert_eq!(report.data("charsets"), encodings);
    check_copies(&report, &truth);
    check_mirrors(&report, &web);
    check_in_degrees(&report, &truth);
}

/// Of the pages with the same bytes all but one are copies; of those with nearly the same text, too.
fn check_copies(report: &Report, truth: &Truth) {
    let told = report.data("duplicates");
    let of = |copy: &str| told.get(copy).copied().unwrap_or(0);
    let all = truth.texts().count() as u64;
    let different = |original: &dyn Fn(&PageTruth) -> String| {
        truth.texts().map(original).collect::<BTreeSet<String>>().len() as u64
    };
    let bodies = different(&|page| truth.bytes_of(page).url.clone());
    let texts = different(&|page| truth.text_of(page).url.clone());
    assert!(all - bodies > 200 && bodies - texts > 80, "{all} pages, {bodies} bodies, {texts} texts");
    assert_eq!(told.values().sum::<u64>(), all);
    assert_eq!(of("same bytes"), all - bodies, "{told:?}");
    assert_eq!(of("same text"), 0, "{told:?}");
    // Whether a text is near enough is told by a fingerprint, which overlooks some; but it makes nothing up.
    let (near, nearly) = (bodies - texts, of("nearly the same text"));
    assert!(nearly <= near && nearly * 10 >= near * 9, "{nearly} of {near}: {told:?}");
}

/// Sites that copy another, and no others.
fn check_mirrors(report: &Report, web: &SimWeb) {
    let step = report.steps.iter().find(|step| step["step"] == "similarity").unwrap();
    let mut found: Vec<BTreeSet<String>> = Vec::new();
    for mirror in step["found"]["largest_mirrors"].as_array().unwrap() {
        let host = |field: &str| mirror[field].as_str().unwrap().split(['/', ':']).nth(3).unwrap().to_owned();
        join(&mut found, host("site"), host("of"));
    }
    let mut wanted = Vec::new();
    for site in web.world.site_indexes().map(|index| web.world.site_truth(index)) {
        if let Some(original) = site.copy_of {
            join(&mut wanted, site.name, original);
        }
    }
    found.sort();
    wanted.sort();
    assert!(wanted.len() > 4, "{wanted:?}");
    assert_eq!(found, wanted);
}

/// Puts two sites into one group.
fn join(groups: &mut Vec<BTreeSet<String>>, one: String, other: String) {
    match groups.iter_mut().find(|group| group.contains(&one) || group.contains(&other)) {
        Some(group) => group.extend([one, other]),
        None => groups.push([one, other].into()),
    }
}

/// The same number of links, and the same law, as said beneath the figure.
fn check_in_degrees(report: &Report, truth: &Truth) {
    let degrees = truth.in_degrees();
    let mut quantiles = Quantiles::default();
    degrees.iter().for_each(|degree| quantiles.add(*degree as f64));
    let wanted = fit_power_law(&quantiles.finish(), Values::Discrete).unwrap();
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
    let error = (wanted.alpha - 1.0) / (wanted.tail as f64).sqrt();
    assert!((fit.alpha - wanted.alpha).abs() < error / 100.0, "{fit:?} is not {wanted:?}");
    // Popularity falls as 1/rank, inside of sites and among them, which gives some 2; menus and links to near pages make it steeper.
    assert!((2.0 - 3.0 * error..2.5 + 3.0 * error).contains(&fit.alpha), "{fit:?}");
    assert!(report.page().contains(&format!("exponent α = {:.2} from", wanted.alpha)));
}

/// What is said of so many pages of a little site that lead nowhere.
fn words_about(name: &str, ip: [u8; 4], pages: u32) -> String {
    let site = Server::site(name, ip, |path, peer| peer.page(&format!("<p>Here is {path}, and no way on.")));
    let seeds: Vec<String> =
        (0..pages).map(|page| site.url(["/", "/a", "/b", "/c"][page as usize])).collect();
    let report = Report::of(Collection::new(&seeds, &(hosts(&[&site]) + ALL)));
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
fn where_there_is_little_a_report_says_so_in_words() {
    for (name, ip, pages) in [("alone", [127, 77, 9, 1], 1), ("apart", [127, 77, 9, 2], 4)] {
        let page = words_about(name, ip, pages);
        for sentence in [
            "There are no links between pages.",
            "There are no links between sites.",
            "No link leads to a page whose last visit failed.",
            "No page has been compared with an earlier visit: there were no revisits.",
            "No two pages have the same text.",
            "No page states a date.",
            "No page has a title.",
            "No site has a page below those by which it was entered.",
        ] {
            assert!(page.contains(sentence), "{name}: {sentence}");
        }
        for wrong in [
            "No page has been visited.",
            "No site is known.",
            "Nothing has been visited.",
            "No site has answered.",
        ] {
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

//! Are copies, near copies and mirrors found, and nothing else? By a Web whose truth is known, and by pages that say nothing.

use std::collections::BTreeMap;
use std::path::Path;

use ::simweb::{Ask, Kind, PageRef, Ports, Settings, World};
use analysis::{Alike, Cores, LinkGraph, Step, analyze, linked_alike, similar_texts};
use model::{PageId, UrlRules};
use parse::{Document, Fingerprint};
use store::{
    AnchorRows, Capture, Collection, DocumentRow, Link, LinkRow, PageFlags, PageRecord, RankColumn, Ranked,
    Snapshot, Stage, StoreSettings, TableReader, UrlBatch,
};
use xxhash_rust::xxh3::xxh3_64;

use super::sample::MEMORY;

/// A page of a collection.
struct Stored {
    url: String,
    body: String,
    /// Pages by their numbers, and the words of the link.
    links: Vec<(u32, &'static str)>,
}

impl Stored {
    fn new(url: &str, text: &str) -> Stored {
        let body = format!("<html><title>{url}</title><main><p>{text}</p></main>");
        Stored { url: url.to_owned(), body, links: Vec::new() }
    }
}

/// A collection in which each of these pages was fetched; tells their ids.
fn collect(folder: &Path, pages: &[Stored]) -> Vec<PageId> {
    let mut collection = Collection::create(folder, StoreSettings::default()).unwrap();
    let mut batch = UrlBatch::new();
    pages.iter().for_each(|page| batch.push(&UrlRules::default().canonical(&page.url).unwrap()));
    let describe = |new: &store::NewPage| PageRecord::new(new.site, 0, PageFlags(0));
    let ids = collection.resolve(&batch, 0, describe).unwrap().pages;
    for (page, id) in pages.iter().zip(&ids) {
        let capture = Capture {
            url: &page.url,
            fetched_at_ms: 1_000,
            address: None,
            protocols: &[],
            head: b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n",
            body: page.body.as_bytes(),
            truncated: None,
            request: None,
            metadata: &[],
        };
        let stored = collection.bodies.append(&capture, None).unwrap().location;
        let update = |_: usize, record: &mut PageRecord| {
            (record.stage, record.stored) = (Stage::Fetched, Some(stored));
        };
        collection.pages.update(&[*id], update).unwrap();
        push_document(&mut collection, *id, page);
        let link = |target: PageId| Link { target, kind: 0, context: 0, anchor_chars: 5, position: 0 };
        collection.links.append(*id, page.links.iter().map(|(to, _)| link(ids[*to as usize]))).unwrap();
        for (to, anchor) in &page.links {
            collection.tables.links.rows.push(&LinkRow {
                source_page_id: id.0,
                target_page_id: Some(ids[*to as usize].0),
                target_url: &pages[*to as usize].url,
                fetch_time: 1_000,
                kind: "a",
                rel: None,
                anchor: Some(anchor),
                internal: true,
                position: 0.0,
                reason: None,
            });
        }
    }
    collection.commit(2_000).unwrap();
    ids
}

/// As a crawl does it.
fn push_document(collection: &mut Collection, id: PageId, page: &Stored) {
    let mut document = Document::default();
    document.read(
        page.body.as_bytes(),
        Some("text/html; charset=utf-8"),
        None,
        &parse::html::Options::default(),
    );
    let text = document.main_text();
    let fingerprint = Fingerprint::of(&text);
    let digest = if text.is_empty() { 0 } else { xxh3_64(text.as_bytes()) };
    collection.tables.documents.rows.push(&DocumentRow {
        page_id: id.0,
        site_id: 0,
        url: &page.url,
        fetch_time: 1_000,
        title: None,
        description: None,
        language: None,
        language_confidence: None,
        language_declared: None,
        charset: None,
        charset_source: None,
        canonical: None,
        robots: None,
        published: None,
        modified: None,
        raw_length: 0,
        kept_length: None,
        text_length: text.len() as i64,
        words: 0,
        text_digest: digest.cast_signed(),
        simhash: fingerprint.simhash.cast_signed(),
        minhash: fingerprint.minhash.map(u64::cast_signed),
        links_internal: 0,
        links_external: 0,
        links_embedded: 0,
    });
}

/// What the step says, after an analysis.
fn found(folder: &Path, step: Step) -> serde_json::Value {
    let reports = analyze(folder, &MEMORY, &mut |_| ()).unwrap();
    reports.into_iter().find(|report| report.step == step).unwrap().found
}

fn column(folder: &Path, of: Ranked, name: &str) -> Vec<u32> {
    RankColumn::<u32>::open(folder, of, name).unwrap().unwrap().read_all().unwrap()
}

/// How many pairs there are of the same group, of the same family, and of both.
fn pairs<K: Ord>(of_pages: impl Iterator<Item = (u32, K)>) -> [u64; 3] {
    let (mut groups, mut families, mut both) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut keys: BTreeMap<K, u32> = BTreeMap::new();
    for (page, (group, family)) in (0..).zip(of_pages) {
        let next = keys.len() as u32;
        let family = *keys.entry(family).or_insert(next);
        // Who is in no group is one of its own.
        let group = if group == 0 { u64::from(u32::MAX) + page } else { u64::from(group) };
        *groups.entry(group).or_insert(0u64) += 1;
        *families.entry(family).or_insert(0u64) += 1;
        *both.entry((group, family)).or_insert(0u64) += 1;
    }
    let count = |sizes: Vec<u64>| sizes.into_iter().map(|size| size * (size - 1) / 2).sum();
    [
        count(groups.into_values().collect()),
        count(families.into_values().collect()),
        count(both.into_values().collect()),
    ]
}

#[test]
fn copies_near_copies_and_mirrors_are_those_of_the_synthetic_web() {
    let settings = Settings {
        sites: 60,
        pages: 3_000,
        seed: 11,
        mirrors: 0.15,
        aliases: 0.0,
        duplicates: 0.1,
        near_duplicates: 0.2,
        ..Settings::default()
    };
    let world = World::new(settings, Ports { http: 80, https: 443 }).unwrap();
    let (pages, truth): (Vec<Stored>, Vec<Family>) = written_pages(&world).into_iter().unzip();
    let folder = tempfile::tempdir().unwrap();
    let ids = collect(folder.path(), &pages);
    let figures = found(folder.path(), Step::Similarity);
    let judge = |name: &str, exact: bool| {
        let groups = column(folder.path(), Ranked::Pages, name);
        let family = |(site, content, nearly): Family| (site, content, if exact { nearly } else { 0 });
        let of_page = |(id, truth): (&PageId, &Family)| (groups[id.index()], family(*truth));
        let [grouped, true_pairs, both] = pairs(ids.iter().zip(&truth).map(of_page));
        (both as f64 / grouped as f64, both as f64 / true_pairs as f64, true_pairs)
    };
    let (precision, recall, pairs) = judge("duplicate-group", true);
    eprintln!("same texts: precision {precision:.4}, recall {recall:.4} of {pairs} pairs");
    assert!(precision > 0.99 && recall > 0.97, "same: {precision} {recall}");
    let (precision, recall, pairs) = judge("near-group", false);
    eprintln!("near texts: precision {precision:.4}, recall {recall:.4} of {pairs} pairs; {figures}");
    assert!(precision > 0.99 && recall > 0.9, "near: {precision} {recall}");
    judge_mirrors(&world, folder.path());
}

/// Whose text a page has: a site, a page of it, and itself if it says it with other words.
type Family = (u32, u32, u32);

/// The pages of a Web that have a text, as a crawl keeps them, but in one encoding.
fn written_pages(world: &World) -> Vec<(Stored, Family)> {
    let mut pages = Vec::new();
    for index in world.site_indexes() {
        let site = world.site(index);
        for number in 0..site.pages {
            let page = world.page(&site, number);
            let is_near = matches!(page.kind, Kind::NearDuplicate { .. });
            if !is_near && !matches!(page.kind, Kind::Html | Kind::Duplicate { .. }) {
                continue;
            }
            let url = world.url(PageRef { site: index, page: number });
            let path = &url[url.match_indices('/').nth(2).unwrap().0..];
            let answer = world.answer(&site, &Ask::new(path, 0));
            if answer.status != 200 {
                continue;
            }
            let head = format!("text/html; charset={}", site.charset.label);
            let body = parse::decode(&answer.body, Some(&head), None).text.into_owned();
            let family = (site.content, page.content(), if is_near { number } else { u32::MAX });
            pages.push((Stored { url, body, links: Vec::new() }, family));
        }
    }
    pages
}

/// Are all copies of sites found that are large enough, and no others?
fn judge_mirrors(world: &World, folder: &Path) {
    let snapshot = Snapshot::open(folder, None).unwrap();
    let mirrors = column(folder, Ranked::Sites, "mirror-of");
    let site_id = |index: u32| {
        let url = world.url(PageRef { site: index, page: 0 });
        snapshot.urls.find_site(url.trim_end_matches('/'))
    };
    let content: BTreeMap<u32, u32> = world
        .site_indexes()
        .filter_map(|index| Some((site_id(index)?.0, world.site(index).content)))
        .collect();
    let group = |id: u32| if mirrors[id as usize] == 0 { id + 1 } else { mirrors[id as usize] };
    let (mut right, mut missed) = (0, 0);
    for index in world.site_indexes() {
        let site = world.site(index);
        let (Some(own), Some(original)) = (site_id(index), site_id(site.content)) else { continue };
        assert_eq!(content[&(group(own.0) - 1)], site.content, "{}", world.name(index));
        if site.copy.is_some() {
            let is_found = group(own.0) == group(original.0);
            right += usize::from(is_found);
            // A small site has too few pages.
            missed += usize::from(!is_found && site.pages >= 12);
        }
    }
    eprintln!("mirrors: {right} found, {missed} missed");
    assert!(right >= 4 && missed == 0);
}

const WEIR: &str = "A weir is a barrier across the width of a river that alters the flow of water and raises its level \
     so that boats can pass the shallows and mills can turn, and fish climb it by a ladder of pools.";
const BREAD: &str = "Knead flour, yeast, salt and warm milk to a smooth dough, let it rest for an hour below a cloth, then \
     bake the loaf in a hot oven until its crust is brown and it sounds hollow when knocked.";

#[test]
fn a_page_is_like_those_with_its_words_and_with_its_links() {
    let changed = WEIR.replace("a ladder of pools", "itself");
    let mut pages = vec![
        Stored::new("http://a.test/weir", WEIR),
        Stored::new("http://b.test/copy", WEIR),
        Stored::new("http://c.test/near", &changed),
        Stored::new("http://d.test/bread", BREAD),
        Stored::new("http://d.test/links", "See these."),
        Stored::new("http://e.test/more", "And these."),
        Stored::new("http://f.test/nothing", ""),
    ];
    pages[4].links = vec![(0, "Weirs"), (3, "Bread"), (4, "here")];
    pages[5].links = vec![(0, "Weirs"), (3, "loaf")];
    let folder = tempfile::tempdir().unwrap();
    let ids = collect(folder.path(), &pages);
    let figures = found(folder.path(), Step::Similarity);
    assert_eq!(
        (&figures["judged"], &figures["same"]["pages"], &figures["near"]["pages"]),
        (&4.into(), &2.into(), &3.into()),
        "{figures}"
    );
    let snapshot = Snapshot::open(folder.path(), None).unwrap();
    let texts = similar_texts(&snapshot, ids[0], &[], Cores(2)).unwrap().unwrap();
    let order: Vec<u32> = texts.iter().map(|text| text.page).collect();
    assert_eq!(order[..3], [ids[0].0, ids[1].0, ids[2].0], "{texts:?}");
    assert!(texts[2].is_near && texts[2].cosine > 0.5 && texts[3].cosine < 0.1, "{texts:?}");
    assert_eq!(texts[1].title, "http://b.test/copy");
    assert!(similar_texts(&snapshot, ids[6], &[], Cores(1)).unwrap().is_none(), "it says nothing");

    let graph = LinkGraph::newest(folder.path()).unwrap().unwrap();
    let alike = linked_alike(&graph, ids[0].0).unwrap().unwrap();
    assert_eq!((alike[0].page, alike[0].way, alike[0].common_links), (ids[3].0, Alike::CitedTogether, 2));
    assert!((alike[0].score - 1.0).abs() < 1e-6);
    let linking = linked_alike(&graph, ids[4].0).unwrap().unwrap();
    assert_eq!((linking[0].page, linking[0].way), (ids[5].0, Alike::LinkingAlike));
    assert_eq!(linked_alike(&graph, 7_000).unwrap(), None);

    let mut anchors = Vec::new();
    let reader = TableReader::<AnchorRows>::derived(folder.path()).unwrap().unwrap();
    reader
        .for_each_row(|row| anchors.push((row.page_id, row.anchor.to_owned(), row.links, row.sites)))
        .unwrap();
    let expected = [(ids[0].0, "Weirs", 2, 2), (ids[3].0, "Bread", 1, 1), (ids[3].0, "loaf", 1, 1)];
    assert_eq!(anchors, expected.map(|(page, words, links, sites)| (page, words.to_owned(), links, sites)));
}

#[test]
fn nothing_and_one_page_are_like_nothing() {
    for pages in [vec![], vec![Stored::new("http://a.test/", WEIR)]] {
        let folder = tempfile::tempdir().unwrap();
        let ids = collect(folder.path(), &pages);
        let figures = found(folder.path(), Step::Similarity);
        assert_eq!((&figures["near"]["groups"], &figures["mirrors"]), (&0.into(), &0.into()));
        assert_eq!(found(folder.path(), Step::Anchors)["pages"], 0);
        for id in ids {
            let snapshot = Snapshot::open(folder.path(), None).unwrap();
            assert_eq!(similar_texts(&snapshot, id, &[], Cores(1)).unwrap().unwrap().len(), 1);
            let graph = LinkGraph::newest(folder.path()).unwrap().unwrap();
            assert_eq!(linked_alike(&graph, id.0).unwrap(), Some(Vec::new()));
        }
    }
}

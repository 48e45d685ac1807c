//! Duplicates, near duplicates and mirrors: on a synthetic Web with ground truth, and on pages without text.

use std::collections::BTreeMap;
use std::path::Path;

use ::simweb::{PageKind, PageRef, Ports, Settings, SimRequest, World};
use analysis::{
    LinkGraph, LinkSimilarity, SimilarityResult, StepResult, Threads, analyze, similar_by_links,
    similar_texts,
};
use model::UrlBatch;
use model::{PageId, UrlRules};
use parse::{Document, Fingerprint};
use store::{
    AnchorRows, Cancellation, Collection, DocumentRow, Link, LinkRow, PageFlags, PageRecord, PageStage,
    RankColumn, RankTarget, Snapshot, StoreSettings, TableReader,
};
use warc::Capture;
use xxhash_rust::xxh3::xxh3_64;

use super::sample::MEMORY;

/// A page of a collection.
struct Stored {
    url: String,
    body: String,
    /// Target pages by index, and anchor texts.
    links: Vec<(u32, &'static str)>,
}

impl Stored {
    fn new(url: &str, text: &str) -> Stored {
        let body = format!("<html><title>{url}</title><main><p>{text}</p></main>");
        Stored { url: url.to_owned(), body, links: Vec::new() }
    }
}

/// Creates a collection in which each of these pages was fetched, and returns their ids.
fn collect(dir: &Path, pages: &[Stored]) -> Vec<PageId> {
    let mut collection = Collection::create(dir, StoreSettings::default()).unwrap();
    let mut batch = UrlBatch::new();
    pages.iter().for_each(|page| batch.push(&UrlRules::default().canonical(&page.url).unwrap()));
    let describe = |new: &store::NewPage| PageRecord::new(new.site, 0, PageFlags(0));
    let ids = collection.resolve(&batch, 0, describe).unwrap().pages;
    for (page, id) in pages.iter().zip(&ids) {
        let capture = Capture {
            url: &page.url,
            fetched_at_ms: 1_000,
            ip_address: None,
            protocols: &[],
            head: b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n",
            body: page.body.as_bytes(),
            truncated: None,
            request: None,
            metadata: &[],
        };
        let stored = collection.page_store.append(&capture, None).unwrap().location;
        let update = |_: usize, record: &mut PageRecord| {
            (record.stage, record.record_location) = (PageStage::Fetched, Some(stored));
        };
        collection.page_state.update(&[*id], update).unwrap();
        push_document(&mut collection, *id, page);
        let link = |target: PageId| Link { target, kind: 0, context: 0, anchor_chars: 5, position: 0 };
        collection.links.append(*id, page.links.iter().map(|(to, _)| link(ids[*to as usize]))).unwrap();
        for (to, anchor) in &page.links {
            collection.tables.links.rows.push(&LinkRow {
                source_page_id: id.0,
                target_page_id: Some(ids[*to as usize].0),
                target_url: &pages[*to as usize].url,
                fetch_time: 1_000,
                element: "a",
                rel: None,
                anchor: Some(anchor),
                is_internal: true,
                text_position: 0.0,
                reason: None,
            });
        }
    }
    collection.commit(2_000).unwrap();
    ids
}

/// Adds the row of a document as a crawl does.
fn push_document(collection: &mut Collection, id: PageId, page: &Stored) {
    let mut document = Document::default();
    document.read(
        page.body.as_bytes(),
        Some("text/html; charset=utf-8"),
        None,
        &parse::html::Options::default(),
    );
    let text = document.main_text();
    let fingerprint = Fingerprint::from_text(&text);
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
        canonical_url: None,
        robots_directives: None,
        published_time: None,
        modified_time: None,
        decoded_length: 0,
        simplified_length: None,
        text_length: text.len() as i64,
        word_count: 0,
        main_text_hash: digest.cast_signed(),
        simhash: fingerprint.simhash.cast_signed(),
        minhash: fingerprint.minhash.map(u64::cast_signed),
        internal_links: 0,
        external_links: 0,
        embedded_links: 0,
    });
}

/// Analyses the collection, and returns the result of the step `similarity` and the number of pages with anchors.
fn similarity_and_anchors(dir: &Path) -> (SimilarityResult, u64) {
    let reports = analyze(dir, &MEMORY, &mut |_| ()).unwrap();
    let mut results = reports.into_iter().filter_map(|report| report.result);
    let similarity = results.find_map(|result| match result {
        StepResult::Similarity(similarity) => Some(similarity),
        _ => None,
    });
    let anchors = results.find_map(|result| match result {
        StepResult::Anchors(anchors) => Some(anchors.pages),
        _ => None,
    });
    (similarity.unwrap(), anchors.unwrap())
}

fn column(dir: &Path, of: RankTarget, name: &str) -> Vec<u32> {
    RankColumn::<u32>::open(dir, of, name).unwrap().unwrap().read_all().unwrap()
}

/// Number of pairs in the same group, of the same family, and both.
fn pairs<K: Ord>(of_pages: impl Iterator<Item = (u32, K)>) -> [u64; 3] {
    let (mut groups, mut families, mut both) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut keys: BTreeMap<K, u32> = BTreeMap::new();
    for (page, (group, family)) in (0..).zip(of_pages) {
        let next = keys.len() as u32;
        let family = *keys.entry(family).or_insert(next);
        // A page without a group is a group of its own.
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
fn duplicates_near_duplicates_and_mirrors_equal_the_ground_truth() {
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
    let dir = tempfile::tempdir().unwrap();
    let ids = collect(dir.path(), &pages);
    let (result, _) = similarity_and_anchors(dir.path());
    let evaluate = |name: &str, exact: bool| {
        let groups = column(dir.path(), RankTarget::Pages, name);
        let family = |(site, content, nearly): Family| (site, content, if exact { nearly } else { 0 });
        let of_page = |(id, truth): (&PageId, &Family)| (groups[id.index()], family(*truth));
        let [grouped, true_pairs, both] = pairs(ids.iter().zip(&truth).map(of_page));
        (both as f64 / grouped as f64, both as f64 / true_pairs as f64, true_pairs)
    };
    let (precision, recall, pairs) = evaluate("duplicate-group", true);
    eprintln!("same texts: precision {precision:.4}, recall {recall:.4} of {pairs} pairs");
    assert!(precision > 0.99 && recall > 0.97, "same: {precision} {recall}");
    let (precision, recall, pairs) = evaluate("near-group", false);
    eprintln!("near texts: precision {precision:.4}, recall {recall:.4} of {pairs} pairs; {result:?}");
    assert!(precision > 0.99 && recall > 0.9, "near: {precision} {recall}");
    check_mirrors(&world, dir.path());
}

/// Origin of the text of a page: a site, a page of it, and the page itself if it is a near duplicate.
type Family = (u32, u32, u32);

/// Pages of a synthetic Web that have a text, as a crawl stores them, but in one charset.
fn written_pages(world: &World) -> Vec<(Stored, Family)> {
    let mut pages = Vec::new();
    for index in world.site_indexes() {
        let site = world.site(index);
        for number in 0..site.pages {
            let page = world.page(&site, number);
            let is_near = matches!(page.kind, PageKind::NearDuplicate { .. });
            if !is_near && !matches!(page.kind, PageKind::Html | PageKind::Duplicate { .. }) {
                continue;
            }
            let url = world.url(PageRef { site: index, page: number });
            let path = &url[url.match_indices('/').nth(2).unwrap().0..];
            let response = world.respond(&site, &SimRequest::new(path, 0));
            if response.status != 200 {
                continue;
            }
            let head = format!("text/html; charset={}", site.charset.label);
            let body = parse::decode(&response.body, Some(&head), None).text.into_owned();
            let family = (site.content, page.content(), if is_near { number } else { u32::MAX });
            pages.push((Stored { url, body, links: Vec::new() }, family));
        }
    }
    pages
}

/// Checks that exactly the mirrors that are large enough are found.
fn check_mirrors(world: &World, dir: &Path) {
    let snapshot = Snapshot::open(dir, None).unwrap();
    let mirrors = column(dir, RankTarget::Sites, "mirror-of");
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
        if site.replica.is_some() {
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
fn a_page_is_similar_to_pages_with_its_words_and_with_its_links() {
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
    let dir = tempfile::tempdir().unwrap();
    let ids = collect(dir.path(), &pages);
    let (result, _) = similarity_and_anchors(dir.path());
    assert_eq!(
        (result.pages_compared, result.exact_duplicates.pages, result.near_duplicates.pages),
        (4, 2, 3),
        "{result:?}"
    );
    let snapshot = Snapshot::open(dir.path(), None).unwrap();
    let texts = similar_texts(&snapshot, ids[0], &[], Threads(2), &Cancellation::default()).unwrap().unwrap();
    let order: Vec<u32> = texts.iter().map(|text| text.page).collect();
    assert_eq!(order[..3], [ids[0].0, ids[1].0, ids[2].0], "{texts:?}");
    assert!(texts[2].is_near && texts[2].cosine > 0.5 && texts[3].cosine < 0.1, "{texts:?}");
    assert_eq!(texts[1].title, "http://b.test/copy");
    assert!(
        similar_texts(&snapshot, ids[6], &[], Threads(1), &Cancellation::default()).unwrap().is_none(),
        "it has no text"
    );

    let graph = LinkGraph::newest(dir.path()).unwrap().unwrap();
    let similar = similar_by_links(&graph, ids[0].0).unwrap().unwrap();
    assert_eq!(
        (similar[0].page, similar[0].similarity, similar[0].common_links),
        (ids[3].0, LinkSimilarity::CoCitation, 2)
    );
    assert!((similar[0].score - 1.0 / 1.5).abs() < 1e-6, "{similar:?}");
    let linking = similar_by_links(&graph, ids[4].0).unwrap().unwrap();
    assert_eq!((linking[0].page, linking[0].similarity), (ids[5].0, LinkSimilarity::Coupling));
    assert_eq!(similar_by_links(&graph, 7_000).unwrap(), None);

    let mut anchors = Vec::new();
    let reader = TableReader::<AnchorRows>::open_derived(dir.path()).unwrap().unwrap();
    reader
        .for_each_row(|row| {
            anchors.push((row.page_id, row.anchor.to_owned(), row.link_count, row.site_count));
        })
        .unwrap();
    let expected = [(ids[0].0, "Weirs", 2, 2), (ids[3].0, "Bread", 1, 1), (ids[3].0, "loaf", 1, 1)];
    assert_eq!(anchors, expected.map(|(page, text, links, sites)| (page, text.to_owned(), links, sites)));
}

#[test]
fn links_from_pages_that_link_to_everything_count_little() {
    let mut pages: Vec<Stored> = (0..60)
        .map(|number| Stored::new(&format!("http://a.test/{number}"), &format!("Page {number}.")))
        .collect();
    pages[50].links = (0..50).map(|page| (page, "navigation")).collect();
    pages[51].links = (0..50).map(|page| (page, "navigation")).collect();
    pages[52].links = vec![(7, "task"), (31, "task")];
    let dir = tempfile::tempdir().unwrap();
    let ids = collect(dir.path(), &pages);
    similarity_and_anchors(dir.path());
    let graph = LinkGraph::newest(dir.path()).unwrap().unwrap();
    let similar = similar_by_links(&graph, ids[7].0).unwrap().unwrap();
    assert_eq!((similar[0].page, similar[0].common_links), (ids[31].0, 3));
    assert!(similar[0].score > 0.4 && similar[1].score < 0.1, "{:?}", &similar[..2]);
}

#[test]
fn an_empty_collection_and_a_single_page_have_no_similar_pages() {
    for pages in [vec![], vec![Stored::new("http://a.test/", WEIR)]] {
        let dir = tempfile::tempdir().unwrap();
        let ids = collect(dir.path(), &pages);
        let (result, pages_with_anchors) = similarity_and_anchors(dir.path());
        assert_eq!((result.near_duplicates.groups, result.mirrors, pages_with_anchors), (0, 0, 0));
        for id in ids {
            let snapshot = Snapshot::open(dir.path(), None).unwrap();
            assert_eq!(
                similar_texts(&snapshot, id, &[], Threads(1), &Cancellation::default())
                    .unwrap()
                    .unwrap()
                    .len(),
                1
            );
            let graph = LinkGraph::newest(dir.path()).unwrap().unwrap();
            assert_eq!(similar_by_links(&graph, id.0).unwrap(), Some(Vec::new()));
        }
    }
}

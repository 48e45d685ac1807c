//! Page streams: for any filter, number of partitions and interruptions, every matching page is returned once, in order.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use model::UrlBatch;
use model::{PageId, UrlRules};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use store::{
    Collection, DocumentRow, Error, PageFilter, PageFlags, PageOrder, PageRecord, PageStream, PageStreamItem,
    PageStreamRequest, Predicate, Snapshot, StoreSettings, StreamCursor, StreamPartition,
};
use warc::Capture;

const SITES: [&str; 4] =
    ["https://a.test", "http://www.a.test:8080", "https://b.example", "http://b.example"];
const LANGUAGES: [&str; 3] = ["en", "es", "ja"];
const TYPES: [&str; 3] = ["text/html; charset=utf-8", "text/plain", "image/png"];
const STATUSES: [u16; 3] = [200, 404, 301];
const PAGES: usize = 120;

/// Expected values of page `number`.
#[derive(Debug, Clone)]
struct Truth {
    url: String,
    site: usize,
    language: usize,
    kind: usize,
    status: u16,
    time_ms: i64,
    body: String,
    title: Option<String>,
    /// Whether the page has a row in the table `documents`.
    documented: bool,
    stored: bool,
}

fn truth(number: usize) -> Truth {
    let site = number * 7 % 11 % SITES.len();
    // Some bodies equal those of other pages: they are stored as revisit records.
    let words = if number % 10 == 9 { number - 9 } else { number };
    Truth {
        url: format!("{}/page/{number}", SITES[site]),
        site,
        language: number % 3,
        kind: number % 5 % 3,
        status: STATUSES[number % 7 % 3],
        time_ms: 1_700_000_000_000 + 1_000 * (number as i64),
        body: format!("page {words} ").repeat(100 + words),
        title: (number % 4 != 1).then(|| format!("Seite {number}: 100 % süß")),
        documented: number % 17 != 3,
        stored: number % 13 != 5,
    }
}

/// Writes the pages, some in two versions, in several commits and files.
fn make(dir: &Path) {
    let mut settings = StoreSettings::default();
    settings.page_store.max_file_bytes = 4_000;
    let mut collection = Collection::create(dir, settings).unwrap();
    let mut batch = UrlBatch::new();
    let truths: Vec<Truth> = (0..PAGES).map(truth).collect();
    truths.iter().for_each(|truth| batch.push(&UrlRules::default().canonical(&truth.url).unwrap()));
    let describe = |page: &store::NewPage| PageRecord::new(page.site, 0, PageFlags::default());
    let pages = collection.resolve(&batch, 1, describe).unwrap().pages;
    for number in (0..PAGES).filter(|number| number % 4 == 0) {
        let old = Truth { body: "an old version ".repeat(50), language: 2, ..truths[number].clone() };
        store_page(&mut collection, pages[number], &old);
    }
    collection.commit(1).unwrap();
    for number in (0..PAGES).rev() {
        store_page(&mut collection, pages[number], &truths[number]);
        if number % 40 == 0 {
            collection.commit(2).unwrap();
        }
    }
}

fn store_page(collection: &mut Collection, page: PageId, truth: &Truth) {
    if !truth.stored {
        return;
    }
    let head = format!("HTTP/1.1 {} X\r\nContent-Type: {}\r\n\r\n", truth.status, TYPES[truth.kind]);
    let capture = Capture {
        url: &truth.url,
        fetched_at_ms: truth.time_ms,
        ip_address: None,
        protocols: &[],
        head: head.as_bytes(),
        body: truth.body.as_bytes(),
        truncated: None,
        request: Some(b"GET / HTTP/1.1\r\n\r\n"),
        metadata: &[],
    };
    let stored = collection.page_store.append(&capture, None).unwrap().location;
    let note = |_: usize, page: &mut PageRecord| {
        (page.record_location, page.content_bytes) = (Some(stored), truth.body.len() as u32);
    };
    collection.page_state.update(&[page], note).unwrap();
    if !truth.documented {
        return;
    }
    let language = Some(LANGUAGES[truth.language]);
    let row = DocumentRow {
        page_id: page.0,
        language,
        url: &truth.url,
        fetch_time: truth.time_ms,
        title: truth.title.as_deref(),
        ..Default::default()
    };
    collection.tables.documents.rows.push(&row);
}

fn snapshot() -> &'static Snapshot {
    static SNAPSHOT: OnceLock<(tempfile::TempDir, Snapshot)> = OnceLock::new();
    &SNAPSHOT
        .get_or_init(|| {
            let dir = tempfile::tempdir().unwrap();
            make(dir.path());
            let snapshot = Snapshot::open(dir.path(), None).unwrap();
            (dir, snapshot)
        })
        .1
}

/// Whether a page matches a filter; independent implementation.
fn matches_filter(filter: &PageFilter, truth: &Truth) -> bool {
    let host = SITES[truth.site].split("://").nth(1).unwrap().split(':').next().unwrap();
    let lists = |list: &[String], meets: &dyn Fn(&str) -> bool| {
        list.is_empty() || list.iter().any(|item| meets(item))
    };
    truth.stored
        && lists(&filter.sites, &|site| site == SITES[truth.site] || site == host)
        && lists(&filter.domains, &|domain| host == domain || host.ends_with(&format!(".{domain}")))
        && lists(&filter.languages, &|language| truth.documented && language == LANGUAGES[truth.language])
        && lists(&filter.mime_types, &|mime| {
            TYPES[truth.kind].split(';').next() == Some(mime) || (mime == "text/*" && truth.kind < 2)
        })
        && (filter.statuses.is_empty()
            || filter.statuses.iter().any(|wanted| [truth.status, truth.status / 100].contains(wanted)))
        && filter.since_ms.is_none_or(|since| truth.time_ms >= since)
        && filter.before_ms.is_none_or(|before| truth.time_ms < before)
}

/// Reads a partition, interrupted after each of the given numbers of pages, by one of the three read methods.
fn read_part(request: &PageStreamRequest, breaks: &[usize], way: usize) -> Vec<(PageId, StreamCursor)> {
    let mut given = Vec::new();
    let mut request = request.clone();
    let mut breaks = breaks.iter();
    loop {
        let mut stream = PageStream::open(snapshot(), &request).unwrap();
        let most = breaks.next().copied().unwrap_or(usize::MAX);
        for _ in 0..most {
            let place = match way {
                0 => stream.next_ref().unwrap().map(page_of),
                1 => stream.next_member(false).unwrap().map(page_of),
                _ => stream.next_page().unwrap().map(page_of),
            };
            let Some(place) = place else { return given };
            assert_eq!(stream.cursor(), Some(stream.cursor_after(&place)));
            given.push((place.page, stream.cursor().unwrap()));
        }
        // As text, as a remote client would send it.
        request.after = stream.cursor().map(|position| position.to_string().parse().unwrap());
    }
}

/// Comparison as text, with its expected result; `None` if the value is null.
type Written = (&'static str, fn(&Truth) -> Option<bool>);

const TESTS: [Written; 15] = [
    ("status = 200", |truth| Some(truth.status == 200)),
    ("STATUS in (301, 404)", |truth| Some(truth.status != 200)),
    ("mime_type not like 'text/%'", |truth| Some(truth.kind == 2)),
    ("fetch_time >= '2023-11-14T22:14:20Z'", |truth| Some(truth.time_ms >= 1_700_000_060_000)),
    ("url like '%/page/_'", |truth| Some(truth.url.len() == SITES[truth.site].len() + 7)),
    ("body_bytes<1000", |truth| Some(truth.body.len() < 1_000)),
    ("site = 'https://a.test'", |truth| Some(truth.site == 0)),
    ("host <> 'b.example'", |truth| Some(truth.site < 2)),
    ("inlinks > -1", |_| Some(true)),
    ("duplicate_of is not null", |_| Some(false)),
    ("first_fetch_time < '2030'", |_| None),
    ("language != 'en'", |truth| truth.documented.then_some(truth.language != 0)),
    ("title like 'Seite%: 100 _ s__'", |truth| (truth.documented && truth.title.is_some()).then_some(true)),
    ("title is null", |truth| Some(!truth.documented || truth.title.is_none())),
    ("word_count<=0", |truth| truth.documented.then_some(true)),
];

/// Boolean combination of comparisons.
#[derive(Debug, Clone)]
enum Tree {
    Test(usize),
    Not(Box<Tree>),
    And(Box<(Tree, Tree)>),
    Or(Box<(Tree, Tree)>),
}

impl Tree {
    fn text(&self) -> String {
        match self {
            Tree::Test(number) => TESTS[*number].0.to_owned(),
            Tree::Not(inner) => format!("not ({})", inner.text()),
            Tree::And(both) => format!("({}) and ({})", both.0.text(), both.1.text()),
            Tree::Or(both) => format!("({})or({})", both.0.text(), both.1.text()),
        }
    }

    fn holds(&self, truth: &Truth) -> Option<bool> {
        match self {
            Tree::Test(number) => TESTS[*number].1(truth),
            Tree::Not(inner) => inner.holds(truth).map(|holds| !holds),
            Tree::And(both) => match (both.0.holds(truth), both.1.holds(truth)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            Tree::Or(both) => match (both.0.holds(truth), both.1.holds(truth)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
        }
    }
}

fn trees() -> impl Strategy<Value = Tree> {
    (0..TESTS.len()).prop_map(Tree::Test).prop_recursive(4, 8, 2, |inner| {
        let two = (inner.clone(), inner.clone()).prop_map(Box::new);
        prop_oneof![
            inner.prop_map(|inner| Tree::Not(Box::new(inner))),
            two.clone().prop_map(Tree::And),
            two.prop_map(Tree::Or),
        ]
    })
}

fn page_of<T>(streamed: PageStreamItem<T>) -> store::PageRef {
    match streamed {
        PageStreamItem::Page(place, _) => place,
        PageStreamItem::Corrupt(place, error) => panic!("{place:?}: {error}"),
    }
}

fn selections() -> impl Strategy<Value = PageFilter> {
    let some = |words: &'static [&'static str]| {
        subsequence(words, 0..=words.len().min(2))
            .prop_map(|words| words.iter().map(ToString::to_string).collect())
    };
    let time = || prop_oneof![3 => Just(None), 1 => (0..PAGES as i64).prop_map(|n| Some(1_700_000_000_000 + 1_000 * n))];
    let status = prop_oneof![2 => Just(vec![]), 1 => select(vec![vec![2], vec![404], vec![3, 200]])];
    (
        some(&["https://a.test", "b.example", "http://b.example"]),
        some(&["a.test", "example"]),
        some(&LANGUAGES),
        some(&["text/html", "text/*", "image/png"]),
        status,
        (time(), time()),
    )
        .prop_map(|(sites, domains, languages, mime_types, statuses, (since_ms, before_ms))| {
            PageFilter {
                sites,
                domains,
                languages,
                statuses,
                mime_types,
                since_ms,
                before_ms,
                predicate: None,
            }
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn partitions_together_return_every_page_once_and_in_order(
        filter in selections(),
        tree in prop::option::of(trees()),
        order in select(vec![PageOrder::Crawl, PageOrder::Site]),
        parts in 1..5u32,
        breaks in prop::collection::vec(0..20usize, 0..6),
        window_pages in 1..50usize,
        way in 0..3usize,
    ) {
        let predicate = tree.as_ref().map(|tree| tree.text().parse::<Predicate>());
        // Too many separate conditions on documents are rejected.
        prop_assume!(!matches!(predicate, Some(Err(_))));
        let filter = PageFilter { predicate: predicate.map(Result::unwrap), ..filter };
        let mut given: BTreeMap<u32, u32> = BTreeMap::new();
        for part in (1..=parts).map(|number| StreamPartition::new(number, parts).unwrap()) {
            let request = PageStreamRequest { filter: filter.clone(), order, partition: part, window_pages, ..Default::default() };
            let pages = read_part(&request, &breaks, way);
            let sites: Vec<u32> = pages.iter().map(|(page, _)| snapshot().page_state.get(*page).unwrap().unwrap().site.0).collect();
            prop_assert!(order == PageOrder::Crawl || sites.is_sorted());
            pages.iter().for_each(|(page, _)| *given.entry(page.0).or_default() += 1);
        }
        let meant: BTreeMap<u32, u32> =
            (0..PAGES).map(|number| (number, truth(number)))
                .filter(|(_, truth)| matches_filter(&filter, truth))
                .filter(|(_, truth)| tree.as_ref().is_none_or(|tree| tree.holds(truth) == Some(true)))
                .map(|(number, _)| (number as u32, 1)).collect();
        prop_assert_eq!(given, meant);
    }
}

#[test]
fn pages_have_their_bodies_and_the_maximum_is_respected() {
    let request = PageStreamRequest { max_pages: 50, ..Default::default() };
    let mut stream = PageStream::open(snapshot(), &request).unwrap();
    let mut last = None;
    for _ in 0..50 {
        let Some(PageStreamItem::Page(place, page)) = stream.next_page().unwrap() else { panic!() };
        let truth = truth(place.page.0 as usize);
        assert_eq!((page.url(), page.status()), (truth.url.as_str(), Some(truth.status)));
        assert_eq!(page.body(), truth.body.as_bytes());
        assert!(last < Some(place.location));
        last = Some(place.location);
    }
    assert!(stream.next_page().unwrap().is_none());
}

#[test]
fn a_cancelled_stream_ends_at_the_next_page() {
    let cancellation = store::Cancellation::default();
    let predicate = "url like '%' and url is not null".parse().unwrap();
    let filter = PageFilter { predicate: Some(predicate), ..PageFilter::all() };
    let request = PageStreamRequest { filter, ..Default::default() };
    let mut stream = PageStream::open_cancellable(snapshot(), &request, &cancellation).unwrap();
    assert!(stream.next_page().unwrap().is_some());
    assert!(stream.next_ref().unwrap().is_some());
    assert_eq!(stream.pages_examined(), 2);
    cancellation.cancel();
    assert!(matches!(stream.next_page(), Err(Error::Cancelled)));
    assert!(matches!(stream.next_member(false), Err(Error::Cancelled)));
    assert!(matches!(stream.next_ref(), Err(Error::Cancelled)));
    assert_eq!(stream.pages_examined(), 2);
    // The documents are not read to the end either.
    let filter = PageFilter { languages: vec!["en".to_owned()], ..PageFilter::all() };
    let request = PageStreamRequest { filter, ..Default::default() };
    let opened = PageStream::open_cancellable(snapshot(), &request, &cancellation);
    assert!(matches!(opened.err(), Some(Error::Cancelled)));
}

#[test]
fn members_are_returned_unchanged() {
    let mut stream = PageStream::open(snapshot(), &PageStreamRequest::default()).unwrap();
    let mut pages = 0;
    while let Some(PageStreamItem::Page(place, member)) = stream.next_member(false).unwrap() {
        let file = snapshot().dir().join("pages").join(place.location.file_name());
        let start = place.location.offset as usize;
        assert_eq!(member, &std::fs::read(file).unwrap()[start..start + place.location.length as usize]);
        pages += 1;
    }
    assert_eq!(pages, (0..PAGES).filter(|number| truth(*number).stored).count());
}

#[test]
fn a_corrupt_record_is_returned_as_an_item_and_the_stream_continues() {
    let dir = tempfile::tempdir().unwrap();
    make(dir.path());
    let snapshot = Snapshot::open(dir.path(), None).unwrap();
    let place = snapshot.page_state.get(PageId(69)).unwrap().unwrap().record_location.unwrap();
    let file = dir.path().join("pages").join(place.file_name());
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[place.offset as usize + 40] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let count = |next: &mut dyn FnMut() -> Option<Result<u32, u32>>| {
        let (mut pages, mut corrupt) = (0, Vec::new());
        while let Some(outcome) = next() {
            outcome.map_or_else(|page| corrupt.push(page), |_| pages += 1);
        }
        (pages, corrupt)
    };
    fn result_of<T>(streamed: PageStreamItem<T>) -> Result<u32, u32> {
        match streamed {
            PageStreamItem::Page(place, _) => Ok(place.page.0),
            PageStreamItem::Corrupt(place, error) => {
                assert!(matches!(error, Error::Corrupt { .. }), "{error}");
                Err(place.page.0)
            }
        }
    }
    let stored = (0..PAGES).filter(|number| truth(*number).stored).count();
    // The body of page 60 is in the corrupt record, that of page 69.
    let mut stream = PageStream::open(&snapshot, &PageStreamRequest::default()).unwrap();
    let (pages, mut corrupt) = count(&mut || stream.next_page().unwrap().map(result_of));
    corrupt.sort_unstable();
    assert_eq!((pages, corrupt), (stored - 2, vec![60, 69]));
    let mut stream = PageStream::open(&snapshot, &PageStreamRequest::default()).unwrap();
    assert_eq!(count(&mut || stream.next_member(true).unwrap().map(result_of)).0, stored - 2);
    let mut stream = PageStream::open(&snapshot, &PageStreamRequest::default()).unwrap();
    assert_eq!(count(&mut || stream.next_member(false).unwrap().map(result_of)).0, stored, "not verified");
}

#[test]
fn a_cursor_is_valid_for_its_commit_and_order() {
    let mut stream = PageStream::open(snapshot(), &PageStreamRequest::default()).unwrap();
    assert_eq!(stream.cursor(), None);
    stream.next_ref().unwrap();
    let from = stream.cursor();
    let request = PageStreamRequest { after: from, order: PageOrder::Site, ..Default::default() };
    let error = PageStream::open(snapshot(), &request).err().unwrap().to_string();
    assert!(error.contains("another order"), "{error}");
    let (_, place) =
        from.unwrap().to_string().split_once('.').map(|(g, p)| (g.to_owned(), p.to_owned())).unwrap();
    let from = Some(format!("1.{place}").parse().unwrap());
    let error =
        PageStream::open(snapshot(), &PageStreamRequest { after: from, ..Default::default() }).err().unwrap();
    assert!(error.to_string().contains("it belongs to generation 1, this is generation"), "{error}");
    let filter = PageFilter { sites: vec!["c.test".to_owned()], ..PageFilter::all() };
    let request = PageStreamRequest { filter, ..Default::default() };
    let error = PageStream::open(snapshot(), &request).err().unwrap().to_string();
    assert_eq!(error, "no site `c.test` in the collection");
}

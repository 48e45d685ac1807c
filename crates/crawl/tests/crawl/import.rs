//! Import of WARC files: pages are ingested, and stored byte for byte.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crawl::{ImportEvent, ImportSummary, import};
use harvest::GatherSettings;
use model::{PageId, UrlRules};
use store::{Collection, PageFlags, PageRecord, PageStage, Snapshot, StoreSettings, VerifyLevel};
use warc::{WarcReader, WarcRecord, WarcType};

/// WARC file under construction.
#[derive(Default)]
struct Archive(Vec<u8>);

impl Archive {
    fn record(mut self, kind: &str, url: &str, date: &str, more: &str, block: &[u8]) -> Archive {
        let header = format!(
            "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\nWARC-Date: {date}\r\n{more}Content-Length: {}\r\n\r\n",
            block.len()
        );
        self.0.extend_from_slice(header.as_bytes());
        self.0.extend_from_slice(block);
        self.0.extend_from_slice(b"\r\n\r\n");
        self
    }

    /// Adds an HTML page, fetched at this hour.
    fn page(self, url: &str, hour: u32, html: &str) -> Archive {
        self.response(url, hour, "200 OK\r\nContent-Type: text/html", html.as_bytes())
    }

    fn response(self, url: &str, hour: u32, head: &str, body: &[u8]) -> Archive {
        let block = [format!("HTTP/1.1 {head}\r\n\r\n").as_bytes(), body].concat();
        let more = "Content-Type: application/http; msgtype=response\r\nWARC-IP-Address: 192.0.2.7\r\n";
        self.record("response", url, &format!("2024-05-17T{hour:02}:00:00Z"), more, &block)
    }

    fn write(&self, dir: &Path) -> PathBuf {
        let path = dir.join("archive.warc");
        fs::write(&path, &self.0).unwrap();
        path
    }
}

/// Temporary directory with a new collection.
fn collection() -> (tempfile::TempDir, Collection) {
    let dir = tempfile::tempdir().unwrap();
    let collection = Collection::create(&dir.path().join("web"), StoreSettings::default()).unwrap();
    (dir, collection)
}

fn import_files(collection: &mut Collection, files: &[PathBuf]) -> (ImportSummary, Vec<String>) {
    let mut errors = Vec::new();
    let summary = import(
        collection,
        files,
        &GatherSettings::default(),
        || 1_800_000_000_000,
        |event| {
            if let ImportEvent::FileError(error) = event {
                errors.push(error.to_string());
            }
        },
    );
    (summary.unwrap(), errors)
}

/// Imports one archive and opens the result.
fn imported(archive: &Archive) -> (tempfile::TempDir, ImportSummary, Snapshot) {
    let (dir, mut collection) = collection();
    let file = archive.write(dir.path());
    let (summary, errors) = import_files(&mut collection, &[file]);
    assert_eq!(errors, [""; 0]);
    let snapshot = Snapshot::open(collection.dir(), None).unwrap();
    (dir, summary, snapshot)
}

fn page(snapshot: &Snapshot, url: &str) -> Option<(PageId, PageRecord)> {
    let url = UrlRules::default().canonical(url).unwrap();
    let id = snapshot.urls.find(&url).unwrap()?;
    Some((id, snapshot.page_state.get(id).unwrap().unwrap()))
}

fn links(snapshot: &Snapshot) -> HashMap<PageId, Vec<PageId>> {
    let mut all = HashMap::new();
    let collect = |source, links: &[store::Link]| {
        all.insert(source, links.iter().map(|link| link.target).collect());
        Ok(())
    };
    snapshot.links.for_each(collect).unwrap();
    all
}

#[test]
fn sample_archives_are_stored_byte_for_byte() {
    let samples = testkit::data("warc");
    let is_warc = |path: &PathBuf| path.to_string_lossy().contains("arc");
    let files: Vec<PathBuf> =
        fs::read_dir(&samples).unwrap().map(|entry| entry.unwrap().path()).filter(is_warc).collect();
    assert!(files.len() >= 16);
    let (_dir, mut collection) = collection();
    let (summary, errors) = import_files(&mut collection, &files);
    assert_eq!(summary.files, files.len() as u64);
    assert_eq!(summary.damaged_files, 3, "{errors:?}");
    let snapshot = Snapshot::open(collection.dir(), None).unwrap();
    let mut compared = 0;
    for file in &files {
        let Ok(records) = WarcReader::open(file) else { continue };
        for record in records.filter_map(Result::ok) {
            compared += u64::from(is_read_back(&snapshot, &record));
        }
    }
    assert!(compared >= 10 && compared <= summary.pages + summary.already_stored, "{compared} {summary:?}");
}

/// Checks that a page record is stored byte for byte; false for other records.
fn is_read_back(snapshot: &Snapshot, record: &WarcRecord) -> bool {
    let expected = match record.header.warc_type() {
        WarcType::Response if record.head().starts_with(b"HTTP/") => record.body(),
        WarcType::Resource => record.block().into(),
        _ => return false,
    };
    let Some(url) = record.header.url().and_then(|url| UrlRules::default().canonical(url).ok()) else {
        return false;
    };
    let versions = snapshot.page_store.versions(url.as_str()).unwrap();
    let expected_s = record.header.date_ms().unwrap() / 1000;
    let mut same_time =
        versions.iter().filter(|version| version.fetched_at_ms / 1000 == expected_s).peekable();
    assert!(same_time.peek().is_some(), "{url} is missing");
    assert!(
        same_time.any(|version| snapshot
            .page_store
            .read(&version.location, VerifyLevel::Digests)
            .unwrap()
            .body()
            == expected),
        "{url} differs"
    );
    true
}

#[test]
fn pages_links_and_sites_are_counted() {
    let archive = Archive::default()
        .page(
            "http://a.test/",
            1,
            "<title>A</title><a href=/b>b</a> <a href=/b#c>again</a> <a href=http://b.test/x?y=1>x</a> <a href=/a.pdf>f</a>\
             <a href=/private rel=nofollow>p</a> <a href='javascript:x()'>j</a><img src=/i.png><a href=/>self</a> <a href=#top>t</a>\
             <a href=/#end>e</a>",
        )
        .page("http://a.test/b", 2, "<meta name=robots content=nofollow><a href=/hidden>h</a>")
        .response("http://a.test/old", 3, "301 Moved\r\nLocation: /b", b"")
        .response("http://a.test/gone", 4, "404 Not Found\r\nContent-Type: text/html", b"<a href=/never>n</a>");
    let (_dir, summary, snapshot) = imported(&archive);
    assert_eq!((summary.records, summary.pages, summary.records_skipped), (4, 4, 0));
    assert_eq!(summary.links, 8 + 1 + 1);

    let (home_id, home) = page(&snapshot, "http://a.test/").unwrap();
    assert_eq!((home.stage, home.status, home.fetch_count, home.depth), (PageStage::Fetched, 200, 1, 0));
    assert_eq!(home.inlinks, 0, "a page's link to itself does not count");
    let (b_id, b) = page(&snapshot, "http://a.test/b").unwrap();
    assert_eq!(b.inlinks, 2, "from the home page once, and from the redirect");
    let (x_id, x) = page(&snapshot, "http://b.test/x?y=1").unwrap();
    assert_eq!((x.stage, x.depth, x.inlinks), (PageStage::Discovered, 1, 1));
    assert!(x.flags.has(PageFlags::DYNAMIC));
    let (gone_id, gone) = page(&snapshot, "http://a.test/gone").unwrap();
    assert_eq!((gone.stage, gone.status), (PageStage::Failed, 404));
    for absent in
        ["http://a.test/a.pdf", "http://a.test/private", "http://a.test/hidden", "http://a.test/never"]
    {
        assert_eq!(page(&snapshot, absent), None, "{absent}");
    }
    let links = links(&snapshot);
    assert_eq!(links[&home_id], [b_id, b_id, x_id, home_id]);
    assert_eq!(links[&b_id], []);
    assert!(!links.contains_key(&gone_id));

    let [a, b] = [home.site, x.site].map(|site| snapshot.site_state.get(site).unwrap().unwrap());
    assert_eq!((a.pages_known, a.pages_fetched, a.failed_requests, a.inlinks), (4, 3, 1, 0));
    assert_eq!((b.pages_known, b.pages_dynamic, b.pages_fetched, b.inlinks), (1, 1, 0, 1));
    assert_eq!(a.address.unwrap().to_string(), "192.0.2.7");
}

#[test]
fn exact_duplicates_refer_to_the_first_copy_and_their_links_are_not_followed() {
    let html = format!("<p>{}</p><a href=deeper/>on</a>", "words ".repeat(200));
    let archive = Archive::default()
        .page("http://a.test/x/", 1, &html)
        .page("http://a.test/x/y/", 2, &html)
        .page("http://a.test/z", 3, "<a href=/x/y/>another</a>");
    let (_dir, _, snapshot) = imported(&archive);
    let (original_id, original) = page(&snapshot, "http://a.test/x/").unwrap();
    let (copy_id, copy) = page(&snapshot, "http://a.test/x/y/").unwrap();
    assert_eq!((original.duplicate_of, copy.duplicate_of), (None, Some(original_id)));
    assert!(copy.flags.has(PageFlags::DUPLICATE));
    assert!(page(&snapshot, "http://a.test/x/deeper/").is_some());
    assert_eq!(page(&snapshot, "http://a.test/x/y/deeper/"), None);
    assert!(!links(&snapshot).contains_key(&copy_id));
    let stored = snapshot.page_store.read(&copy.record_location.unwrap(), VerifyLevel::Digests).unwrap();
    assert_eq!(stored.body(), html.as_bytes());
}

#[test]
fn fetches_are_compared_in_any_import_order() {
    let text =
        |word: &str| format!("<main>{}</main>", format!("{word} is what this page is about. ").repeat(30));
    let frame = |text: &str, advertisement: u32| format!("{text}<footer>{advertisement}</footer>");
    let (one, two) = (text("Water"), text("Fire"));
    let archive = Archive::default()
        .page("http://a.test/", 4, &frame(&one, 1))
        .page("http://a.test/", 5, &frame(&one, 2))
        .page("http://a.test/", 6, &frame(&two, 2))
        .page("http://a.test/", 7, &frame(&two, 2))
        .record(
            "revisit",
            "http://a.test/",
            "2024-05-17T08:00:00Z",
            "WARC-Profile: http://netpreserve.org/warc/1.0/revisit/server-not-modified\r\n",
            b"HTTP/1.1 304 Not Modified\r\n\r\n",
        )
        .page("http://a.test/", 3, "<p>older than all</p><a href=/old>o</a>");
    let (_dir, summary, snapshot) = imported(&archive);
    assert_eq!(summary.pages, 6);
    let (_, record) = page(&snapshot, "http://a.test/").unwrap();
    assert_eq!(
        (record.fetch_count, record.change_count, record.status, record.stage),
        (6, 1, 304, PageStage::Fetched)
    );
    assert_eq!(record.unchanged_time_s, 3 * 3600, "a new advertisement is not a change");
    assert_eq!(record.last_visit_s - record.first_visit_s, 5 * 3600);
    assert_eq!(record.last_visit_s - record.last_change_s, 2 * 3600);
    let newest = snapshot.page_store.read(&record.record_location.unwrap(), VerifyLevel::Digests).unwrap();
    assert_eq!(newest.body(), frame(&two, 2).as_bytes());
    assert_eq!(snapshot.page_store.versions("http://a.test/").unwrap().len(), 5);
    assert_eq!(page(&snapshot, "http://a.test/old"), None);
}

#[test]
fn fetches_that_are_already_stored_are_ignored() {
    let body = "<p>the same</p>";
    let unchanged = "WARC-Profile: http://netpreserve.org/warc/1.0/revisit/server-not-modified\r\n";
    let archive = Archive::default()
        .page("http://a.test/", 1, body)
        .page("http://a.test/", 1, "<p>two in one second</p>")
        .page("http://a.test/", 3, body)
        .record(
            "revisit",
            "http://a.test/",
            "2024-05-17T02:00:00Z",
            unchanged,
            b"HTTP/1.1 304 Not Modified\r\n\r\n",
        )
        .response("http://a.test/gone", 2, "404 Not Found", b"");
    let (dir, mut collection) = collection();
    let file = archive.write(dir.path());
    // Before and after a commit, and after reopening the collection.
    let (first, _) = import_files(&mut collection, &[file.clone(), file.clone()]);
    assert_eq!((first.pages, first.already_stored, first.body_bytes), (4, 6, 15 + 24 + 15));
    drop(collection);
    let mut collection = Collection::open(&dir.path().join("web"), StoreSettings::default()).unwrap();
    let before = collection.manifest().unwrap().clone();
    let (second, _) = import_files(&mut collection, &[file]);
    assert_eq!(collection.manifest().unwrap(), &before);
    assert_eq!((second.pages, second.already_stored, second.links, second.body_bytes), (0, 5, 0, 0));
    let snapshot = Snapshot::open(collection.dir(), None).unwrap();
    let (_, record) = page(&snapshot, "http://a.test/").unwrap();
    assert_eq!(record.fetch_count, 3);
    assert_eq!(snapshot.site_state.get(record.site).unwrap().unwrap().bytes_received, 15 + 24 + 15);
    assert_eq!(snapshot.page_store.versions("http://a.test/").unwrap().len(), 3);

    let later = Archive::default().page("http://a.test/", 4, body).write(dir.path());
    let (third, _) = import_files(&mut collection, &[later]);
    assert_eq!((third.pages, third.already_stored), (1, 0));
}

#[test]
fn plain_and_zstd_files_with_one_or_many_frames_are_read() {
    let records: Vec<Vec<u8>> = (0..30)
        .map(|number| {
            let html = format!("<p>{}</p>", format!("page {number} ").repeat(number * 50));
            Archive::default().page(&format!("http://a.test/{number}"), 1, &html).0
        })
        .collect();
    let plain = records.concat();
    let zstd = |bytes: &[u8]| zstd::encode_all(bytes, 3).unwrap();
    let one_frame = zstd(&plain);
    let frame_each = records.iter().flat_map(|record| zstd(record)).collect();
    for (name, bytes) in [("a.warc", plain), ("a.warc.zst", one_frame), ("b.warc.zst", frame_each)] {
        let (dir, mut collection) = collection();
        let file = dir.path().join(name);
        fs::write(&file, bytes).unwrap();
        let (summary, errors) = import_files(&mut collection, std::slice::from_ref(&file));
        assert_eq!((summary.pages, errors.len()), (30, 0), "{name}: {errors:?}");
        let snapshot = Snapshot::open(collection.dir(), None).unwrap();
        for record in WarcReader::open(&file).unwrap() {
            assert!(is_read_back(&snapshot, &record.unwrap()), "{name}");
        }
    }
}

#[test]
fn pages_with_content_encoding_are_parsed_and_stored_unchanged() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(b"<a href=/next>next</a>").unwrap();
    let body = encoder.finish().unwrap();
    let head = "200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip";
    let (_dir, _, snapshot) = imported(&Archive::default().response("http://a.test/", 1, head, &body));
    let (_, record) = page(&snapshot, "http://a.test/").unwrap();
    assert!(page(&snapshot, "http://a.test/next").is_some());
    assert_eq!(
        snapshot.page_store.read(&record.record_location.unwrap(), VerifyLevel::Digests).unwrap().body(),
        body
    );
}

#[test]
fn records_that_are_not_pages_are_skipped() {
    let archive = Archive::default()
        .record("warcinfo", "", "2024-05-17T00:00:00Z", "", b"software: none")
        .record(
            "response",
            "dns:a.test",
            "2024-05-17T00:00:00Z",
            "Content-Type: text/dns\r\n",
            b"a.test. A 192.0.2.7",
        )
        .record("response", "http://a.test/", "2024-05-17T00:00:00Z", "", b"no head at all")
        .record("response", "http://a.test/", "yesterday", "", b"HTTP/1.1 200 OK\r\n\r\n")
        .record(
            "resource",
            "http://a.test/r",
            "2024-05-17T00:00:00Z",
            "Content-Type: text/plain\r\n",
            b"text",
        )
        .record("request", "http://a.test/", "2024-05-17T00:00:00Z", "", b"GET / HTTP/1.1\r\n\r\n");
    let (_dir, summary, snapshot) = imported(&archive);
    assert_eq!((summary.records, summary.pages, summary.records_skipped), (6, 1, 3));
    let (_, record) = page(&snapshot, "http://a.test/r").unwrap();
    let stored = snapshot.page_store.read(&record.record_location.unwrap(), VerifyLevel::Digests).unwrap();
    assert_eq!(stored.body(), b"text".as_slice());
    assert!(stored.head().windows(26).any(|part| part == b"X-Crawler-Record: resource"));
}

#[test]
fn wet_records_are_imported_as_plain_text_pages() {
    let date = "2024-05-17T00:00:00Z";
    let archive = Archive::default()
        .record(
            "conversion",
            "http://a.test/t",
            date,
            "Content-Type: text/plain\r\n",
            "caf\u{e9} f\u{fc}r alle".as_bytes(),
        )
        .record("conversion", "http://a.test/p", date, "Content-Type: image/png\r\n", b"PNG");
    let (_dir, summary, snapshot) = imported(&archive);
    assert_eq!((summary.records, summary.pages, summary.records_skipped), (2, 1, 0));
    let (_, record) = page(&snapshot, "http://a.test/t").unwrap();
    let stored = snapshot.page_store.read(&record.record_location.unwrap(), VerifyLevel::Digests).unwrap();
    assert_eq!(stored.header("Content-Type"), Some(b"text/plain; charset=utf-8".as_slice()));
    assert_eq!(stored.header("X-Crawler-Record"), Some(b"conversion".as_slice()));
}

#[test]
fn records_before_an_error_and_other_files_are_imported() {
    let (dir, mut collection) = collection();
    let mut archive = Archive::default().page("http://a.test/1", 1, "one").page("http://a.test/2", 2, "two");
    let length = archive.0.len();
    archive.0.truncate(length - 6);
    let broken = archive.write(dir.path());
    let whole = dir.path().join("whole.warc");
    fs::write(&whole, Archive::default().page("http://a.test/3", 3, "three").0).unwrap();
    let (summary, errors) = import_files(&mut collection, &[broken, whole]);
    assert_eq!((summary.files, summary.damaged_files, summary.pages), (2, 1, 2));
    assert!(errors[0].contains("archive.warc") && errors[0].contains("record 2"), "{errors:?}");
    let snapshot = Snapshot::open(collection.dir(), None).unwrap();
    assert!(page(&snapshot, "http://a.test/1").is_some() && page(&snapshot, "http://a.test/3").is_some());
    assert!(page(&snapshot, "http://a.test/2").is_none());
}

#[test]
fn revisit_records_get_their_body_by_digest_in_any_order() {
    let html = format!("<p>{}</p><a href=/next>next</a>", "words ".repeat(200));
    let digest = warc::Sha1Digest::of(html.as_bytes());
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Own: 1\r\n\r\n";
    let revisit = |archive: Archive, url: &str, hour: u32, more: &str| {
        let more = format!(
            "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest\r\n\
             WARC-Payload-Digest: {digest}\r\n{more}"
        );
        archive.record("revisit", url, &format!("2024-05-17T{hour:02}:00:00Z"), &more, head)
    };
    // Before its original, and without a reference; later changed; of a body that is nowhere.
    let early = revisit(
        Archive::default(),
        "http://a.test/early",
        2,
        "WARC-Refers-To-Target-URI: http://b.test/\r\n",
    )
    .page("http://a.test/early", 3, "<p>changed</p>");
    let early = revisit(early, "http://a.test/plain", 2, "");
    let lost = "WARC-Profile: identical\r\nWARC-Payload-Digest: sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\r\n\
                WARC-Refers-To-Target-URI: http://c.test/\r\n";
    let early = early.record("revisit", "http://a.test/lost", "2024-05-17T02:00:00Z", lost, head);
    let (dir, mut collection) = collection();
    let first = early.write(dir.path());
    let second = dir.path().join("second.warc");
    fs::write(&second, Archive::default().page("http://b.test/", 1, &html).0).unwrap();
    let (summary, errors) = import_files(&mut collection, &[first, second]);
    assert_eq!((summary.pages, summary.records_skipped, summary.records, errors.len()), (4, 1, 5, 0));
    let snapshot = Snapshot::open(collection.dir(), None).unwrap();
    let (original, _) = page(&snapshot, "http://b.test/").unwrap();
    for url in ["http://a.test/early", "http://a.test/plain"] {
        let versions = snapshot.page_store.versions(url).unwrap();
        let stored = snapshot.page_store.read(&versions[0].location, VerifyLevel::Digests).unwrap();
        assert_eq!((stored.status(), stored.body()), (Some(200), html.as_bytes().into()));
        assert_eq!(stored.header("X-Own"), Some(b"1".as_slice()), "the head is that of the revisit record");
    }
    let (_, plain) = page(&snapshot, "http://a.test/plain").unwrap();
    assert_eq!(plain.duplicate_of, Some(original));
    let (_, early) = page(&snapshot, "http://a.test/early").unwrap();
    assert_eq!((early.fetch_count, early.change_count, early.content_bytes), (2, 1, 14));
    assert!(
        fs::read_dir(collection.dir().join("scratch")).unwrap().next().is_none(),
        "no deferred records are left"
    );
}

#[test]
fn a_malformed_record_is_skipped_and_the_next_ones_are_imported() {
    let first = Archive::default().page("http://a.test/1", 1, "one");
    for (name, broken) in [
        ("no length", b"WARC/1.0\r\nWARC-Type: response\r\n\r\nbody\r\n\r\n".to_vec()),
        ("odd header", b"WARC/1.0\r\nnonsense\r\n\r\nbody\r\n\r\n".to_vec()),
        ("too short", {
            let page =
                Archive::default().page("http://a.test/short", 1, "a longer body\nWARC is no record").0;
            let mut text = String::from_utf8(page).unwrap();
            let length = text.find("Content-Length: ").unwrap() + 16;
            text.replace_range(length..length + 2, "60");
            text.into_bytes()
        }),
        ("too large", b"WARC/1.0\r\nContent-Length: 99999999999999999999\r\n\r\nbody\r\n\r\n".to_vec()),
        ("garbage", vec![0xff; 100_000]),
    ] {
        let next = Archive::default().page("http://a.test/2", 2, "two").page("http://a.test/3", 3, "three");
        let archive = Archive([&first.0[..], &broken, b"\n", &next.0].concat());
        let (dir, mut collection) = collection();
        let file = archive.write(dir.path());
        let (summary, errors) = import_files(&mut collection, &[file]);
        assert_eq!((summary.damaged_files, errors.len()), (1, 1), "{name}: {errors:?}");
        assert!(
            errors[0].contains("archive.warc, record ") && errors[0].ends_with("; it is skipped"),
            "{errors:?}"
        );
        let snapshot = Snapshot::open(collection.dir(), None).unwrap();
        for url in ["http://a.test/1", "http://a.test/2", "http://a.test/3"] {
            assert!(page(&snapshot, url).is_some(), "{name}: {url}");
        }
    }
}

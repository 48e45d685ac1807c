//! Page store: stored pages are read back, also by external WARC tools.

#![allow(clippy::print_stderr, reason = "skipped tests print a message")]

mod venv {
    //! Python tools for the tests of this crate.
    #![allow(unused_imports, reason = "not every test uses both")]

    pub(crate) use testkit::run;

    pub(crate) fn venv() -> Option<std::path::PathBuf> {
        testkit::venv(env!("CARGO_MANIFEST_DIR"))
    }
}

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use model::Truncation;
use store::{
    AppendResult, Manifest, PageStore, PageStoreReader, PageStoreSettings, RecordLocation, RetentionPolicy,
    VerifyLevel,
};
use warc::{Capture, DigestCheck, RecordEncoder, WarcReader, WarcRecord, WarcType};

use venv::{run, venv};

const MS: i64 = 1_794_731_400_000;
const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nX-Odd:  kept \r\n\r\n";

fn capture<'a>(url: &'a str, fetched_at_ms: i64, body: &'a [u8]) -> Capture<'a> {
    Capture {
        url,
        fetched_at_ms,
        ip_address: Some([192, 0, 2, 7].into()),
        protocols: &["http/1.1"],
        head: HEAD,
        body,
        truncated: None,
        request: None,
        metadata: &[],
    }
}

/// Body of some kilobytes that compresses badly, unique for each seed.
fn body(seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        b'a' + (state % 26) as u8
    };
    std::iter::repeat_with(next).take(3_000 + seed as usize % 500).collect()
}

fn settings(max_file_bytes: u64) -> PageStoreSettings {
    let info = [("software", "weir"), ("isPartOf", "test"), ("robots", "obey")];
    let info = info.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    PageStoreSettings { max_file_bytes, warcinfo: info, ..PageStoreSettings::default() }
}

/// Page store with its commits.
struct Pages {
    dir: tempfile::TempDir,
    store: PageStore,
    manifest: Manifest,
}

impl Pages {
    fn new(max_file_bytes: u64) -> Pages {
        let dir = tempfile::tempdir().unwrap();
        let manifest = Manifest::empty();
        let store = PageStore::open(dir.path(), &manifest, settings(max_file_bytes)).unwrap();
        Pages { dir, store, manifest }
    }

    fn append(&mut self, url: &str, ms: i64, body: &[u8]) -> AppendResult {
        self.store.append(&capture(url, ms, body), None).unwrap()
    }

    fn not_modified(&mut self, url: &str, ms: i64, version: RecordLocation) -> Option<AppendResult> {
        let head = b"HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n";
        let page = Capture { head, ..capture(url, ms, b"") };
        let prepared = RecordEncoder::new(1).encode(&page).unwrap();
        self.store.append_not_modified(prepared, version).unwrap()
    }

    fn commit(&mut self) {
        let generation = self.manifest.generation + 1;
        let files = self.store.commit(generation).unwrap();
        self.manifest = Manifest { generation, files, ..Manifest::empty() };
    }

    fn reopen(&mut self, max_file_bytes: u64) {
        self.store = PageStore::open(self.dir.path(), &self.manifest, settings(max_file_bytes)).unwrap();
    }

    fn reader(&self) -> PageStoreReader {
        PageStoreReader::open(self.dir.path(), &self.manifest).unwrap()
    }

    fn bytes_on_disk(&self) -> u64 {
        self.manifest.files_in("pages").map(store::FileEntry::length).sum()
    }

    fn dir(&self) -> PathBuf {
        self.dir.path().join("pages")
    }
}

fn read_body(reader: &PageStoreReader, location: &RecordLocation) -> Vec<u8> {
    reader.read(location, VerifyLevel::Digests).unwrap().body().into_owned()
}

#[test]
fn pages_are_read_by_location_and_by_url_and_time() {
    let mut pages = Pages::new(1 << 30);
    let mut stored = Vec::new();
    for commit in 0..20 {
        for site in 0..5 {
            let (url, number) = (format!("https://www.example.com/Page?n={site}"), commit * 5 + site);
            let ms = MS + number as i64 * 60_000;
            stored.push((url.clone(), ms, pages.append(&url, ms, &body(number)).location, body(number)));
        }
        pages.commit();
    }
    let reader = pages.reader();
    for (url, ms, location, body) in &stored {
        let page = reader.read(location, VerifyLevel::Digests).unwrap();
        assert_eq!((page.url(), page.fetched_at_ms(), page.head()), (url.as_str(), *ms, HEAD));
        assert_eq!(&page.body()[..], body);
        let found = reader.nearest(url, *ms + 1_000).unwrap().unwrap();
        assert_eq!((found.location, found.fetched_at_ms, found.status), (*location, *ms, Some(200)));
    }
    let versions = reader.versions("https://www.example.com/Page?n=3").unwrap();
    assert_eq!(versions.len(), 20);
    assert!(versions.is_sorted_by_key(|version| version.fetched_at_ms));
    // Same key, but another page.
    assert_eq!(reader.versions("http://example.com/page?n=3").unwrap(), []);
    let indexes = pages.manifest.files_in("pages").filter(|file| file.name.ends_with(".cdxj")).count();
    assert!(indexes < 12, "{indexes} index files after 20 commits");
}

#[test]
fn uncommitted_pages_are_not_visible() {
    let mut pages = Pages::new(1 << 30);
    let first = pages.append("http://a/1", MS, &body(1)).location;
    pages.commit();
    pages.append("http://a/2", MS, &body(2));
    // An incomplete member is on disk.
    let warc = pages.dir().join(first.file_name());
    let mut bytes = std::fs::read(&warc).unwrap();
    bytes.extend_from_slice(&[0x1f, 0x8b, 8, 0, 0]);
    std::fs::write(&warc, bytes).unwrap();
    let reader = pages.reader();
    assert_eq!(reader.records().count(), 2, "the warcinfo record and the page");
    assert_eq!(reader.check(|_| Ok(())).unwrap().corruptions, []);
    pages.reopen(1 << 30);
    let second = pages.append("http://a/3", MS, &body(3)).location;
    assert_eq!(second.offset, first.offset + u64::from(first.length), "it replaces the incomplete one");
    pages.commit();
    assert_eq!(read_body(&pages.reader(), &second), body(3));
    assert_eq!(pages.reader().check(|_| Ok(())).unwrap().corruptions, []);
    // The earlier reader still has its own commit.
    assert_eq!(reader.records().count(), 2);
}

#[test]
fn a_body_is_stored_once() {
    let mut pages = Pages::new(1 << 30);
    let original = pages.append("http://a/1", MS, &body(1));
    let twin = pages.append("http://b/2", MS + 1_500, &body(1));
    assert_eq!((original.duplicate_of, twin.duplicate_of), (None, Some(original.location)));
    assert!(twin.location.length < 1_000, "{}", twin.location.length);
    pages.commit();
    // The dedup window is empty, but the caller passes the last version.
    pages.reopen(1 << 30);
    let again = capture("http://b/2", MS + 90_000, b"");
    let again = Capture { body: &body(1), ..again };
    let third = pages.store.append(&again, Some(twin.location)).unwrap();
    assert_eq!(third.duplicate_of, Some(original.location), "found through the revisit record");
    let changed = pages.store.append(&Capture { body: &body(2), ..again }, Some(third.location)).unwrap();
    assert_eq!(changed.duplicate_of, None);
    let tiny = [0, 1].map(|n| pages.append("http://a/tiny", MS + n, b"moved").duplicate_of);
    assert_eq!(tiny, [None, None], "too small for a revisit record");
    pages.commit();

    let reader = pages.reader();
    let page = reader.read(&twin.location, VerifyLevel::Digests).unwrap();
    assert_eq!((page.url(), &page.body()[..], page.head()), ("http://b/2", &body(1)[..], HEAD));
    let header = &page.record().header;
    assert_eq!(header.warc_type(), WarcType::Revisit);
    assert_eq!(header.get("WARC-Refers-To-Target-URI"), Some("http://a/1"));
    assert_eq!(header.get("WARC-Refers-To-Date"), Some("2026-11-15T08:30:00Z"));
    assert_eq!(read_body(&reader, &third.location), body(1));
    assert_eq!(reader.check(|_| Ok(())).unwrap().corruptions, []);
}

#[test]
fn request_and_metadata_records_follow_their_response() {
    let mut pages = Pages::new(1 << 30);
    let page = Capture {
        request: Some(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        metadata: &[("via", "http://seed/"), ("hopsFromSeed", "L")],
        truncated: Some(Truncation::Length),
        ..capture("http://a/", MS, b"cut")
    };
    pages.store.append(&page, None).unwrap();
    pages.commit();
    let records: Vec<WarcRecord> = pages.reader().records().map(|record| record.unwrap().1).collect();
    let kinds: Vec<WarcType> = records.iter().map(|record| record.header.warc_type()).collect();
    assert_eq!(kinds, [WarcType::Warcinfo, WarcType::Response, WarcType::Request, WarcType::Metadata]);
    assert!(records[0].block().starts_with(b"format: WARC File Format 1.1\r\n"));
    assert!(records[0].block().ends_with(b"software: weir\r\nisPartOf: test\r\nrobots: obey\r\n"));
    assert_eq!(records[1].truncated(), Some(Truncation::Length));
    assert_eq!(records[2].head(), page.request.unwrap());
    assert_eq!(records[3].block(), b"via: http://seed/\r\nhopsFromSeed: L\r\n");
    for record in &records[2..] {
        assert_eq!(record.header.get("WARC-Concurrent-To"), records[1].header.get("WARC-Record-ID"));
        assert_eq!(record.verify(), DigestCheck::Valid);
    }
    assert_eq!(pages.reader().check(|_| Ok(())).unwrap().corruptions, []);
}

#[test]
fn new_files_begin_at_the_maximum_size_and_stay_in_crawl_order() {
    let mut pages = Pages::new(20_000);
    let mut urls = Vec::new();
    for number in 0..60 {
        let url = format!("http://a/{}", (number * 37) % 60);
        pages.append(&url, MS + number as i64, &body(number));
        urls.push(url);
        if number % 7 == 0 {
            pages.commit();
        }
        if number % 20 == 0 {
            pages.commit();
            pages.reopen(20_000);
        }
    }
    pages.commit();
    let files: Vec<u64> = pages
        .manifest
        .files_in("pages")
        .filter(|f| f.name.ends_with(".warc.gz"))
        .map(store::FileEntry::length)
        .collect();
    assert!(files.len() > 6 && files.iter().all(|length| *length <= 20_000), "{files:?}");
    let reader = pages.reader();
    let found: Vec<String> = reader
        .records()
        .map(|record| record.unwrap().1.header)
        .filter(|header| header.warc_type() == WarcType::Response)
        .map(|header| header.url().unwrap().to_owned())
        .collect();
    assert_eq!(found, urls);
    assert_eq!(reader.check(|_| Ok(())).unwrap().records, 60 + files.len() as u64);
}

#[test]
fn pages_are_encoded_on_many_threads() {
    let mut pages = Pages::new(1 << 30);
    let prepared: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4u64)
            .map(|thread| {
                scope.spawn(move || {
                    let mut preparer = RecordEncoder::new(6);
                    let numbers = (0..25).map(|number| thread * 25 + number);
                    let prepare = |number| {
                        preparer.encode(&capture(&format!("http://a/{number}"), MS, &body(number))).unwrap()
                    };
                    numbers.map(prepare).collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let places: Vec<RecordLocation> =
        prepared.into_iter().map(|page| pages.store.append_encoded(page, None).unwrap().location).collect();
    pages.commit();
    let reader = pages.reader();
    for (number, place) in places.iter().enumerate() {
        assert_eq!(read_body(&reader, place), body(number as u64));
    }
}

#[test]
fn compaction_drops_superseded_versions_and_frees_their_space() {
    for (keep, versions_left) in
        [(RetentionPolicy::All, 8), (RetentionPolicy::Versions(3), 3), (RetentionPolicy::Latest, 1)]
    {
        let mut pages = Pages::new(60_000);
        let mut places: BTreeMap<(u64, u64), RecordLocation> = BTreeMap::new();
        for version in 0..8 {
            for page in 0..30 {
                let place = pages.append(
                    &format!("http://a/{page}"),
                    MS + version as i64 * 5_000,
                    &body(version * 30 + page),
                );
                places.insert((page, version), place.location);
            }
            pages.commit();
        }
        let (before, old_reader) = (pages.bytes_on_disk(), pages.reader());
        let order = |reader: &PageStoreReader| -> Vec<String> {
            let headers = reader.records().map(|record| record.unwrap().1.header);
            headers.filter_map(|header| Some(format!("{} {}", header.date_ms()?, header.url()?))).collect()
        };
        let old_order = order(&old_reader);
        // More files than one compaction rewrites: repeated until nothing is left to do.
        loop {
            let relocations = pages.store.compact(keep).unwrap();
            pages.commit();
            if relocations.is_empty() {
                break;
            }
            places.retain(|_, place| relocations.new_location(*place).map(|new| *place = new).is_some());
        }
        let reader = pages.reader();
        assert_eq!(places.len(), 30 * versions_left, "{keep:?}");
        for ((page, version), place) in &places {
            assert!(*version >= 8 - versions_left as u64);
            assert_eq!(read_body(&reader, place), body(version * 30 + page));
        }
        for page in 0..30 {
            assert_eq!(reader.versions(&format!("http://a/{page}")).unwrap().len(), versions_left);
        }
        assert_eq!(reader.check(|_| Ok(())).unwrap().corruptions, []);
        let expected = before as f64 * versions_left as f64 / 8.0;
        assert!(
            (pages.bytes_on_disk() as f64) < expected * 1.1 + 5_000.0,
            "{keep:?}: {}",
            pages.bytes_on_disk()
        );
        let new_order = order(&reader);
        let mut rest = old_order.iter();
        assert!(new_order.iter().all(|record| rest.any(|old| old == record)), "still in crawl order");
        assert_eq!(order(&old_reader), old_order, "an older snapshot is unchanged");

        // The store can be written to.
        pages.reopen(60_000);
        let place = pages.append("http://a/new", MS, &body(999)).location;
        assert!(places.values().all(|old| *old < place));
        pages.commit();
        assert_eq!(read_body(&pages.reader(), &place), body(999));
    }
}

#[test]
fn compaction_retains_the_newest_successful_version() {
    for (status, last) in
        [("500 Error", true), ("404 Not Found", true), ("302 Found", true), ("200 OK", false)]
    {
        let mut pages = Pages::new(1 << 30);
        for version in 0..5 {
            pages.append("http://a/", MS + version * 1_000, &body(version as u64));
        }
        let confirmed = pages.append("http://b/", MS, &body(7)).location;
        pages.not_modified("http://b/", MS + 1_000, confirmed).unwrap();
        let head = format!("HTTP/1.1 {status}\r\nContent-Type: text/html\r\n\r\n");
        for url in ["http://a/", "http://b/"] {
            for (seconds, seed) in [(10, 21), (11, 22)] {
                let body = body(seed);
                let page = Capture { head: head.as_bytes(), ..capture(url, MS + seconds * 1_000, &body) };
                pages.store.append(&page, None).unwrap();
            }
        }
        pages.commit();
        pages.store.compact(RetentionPolicy::Latest).unwrap();
        pages.commit();
        let reader = pages.reader();
        let statuses = |url: &str| -> Vec<Option<u16>> {
            reader.versions(url).unwrap().iter().map(|version| version.status).collect()
        };
        let newest = status[..3].parse().ok();
        let expected = if last { vec![Some(200), newest] } else { vec![Some(200)] };
        assert_eq!(statuses("http://a/"), expected);
        let expected = if last { vec![Some(200), None, newest] } else { vec![Some(200)] };
        assert_eq!(statuses("http://b/"), expected, "the 304 stays with the version that it confirms");
        if last {
            let kept = reader.versions("http://a/").unwrap()[0].location;
            assert_eq!(read_body(&reader, &kept), body(4));
        }
    }
}

#[test]
fn compaction_retains_needed_payloads_and_concurrent_records() {
    let mut pages = Pages::new(1 << 30);
    let original = pages.append("http://a/", MS, &body(1)).location;
    let twin = pages.append("http://b/", MS, &body(1)).location;
    let request: &[u8] = b"GET / HTTP/1.1\r\n\r\n";
    for version in 1..6 {
        let body = body(10 + version);
        let page =
            Capture { request: Some(request), ..capture("http://a/", MS + version as i64 * 1_000, &body) };
        pages.store.append(&page, None).unwrap();
    }
    pages.commit();
    let relocations = pages.store.compact(RetentionPolicy::Latest).unwrap();
    pages.commit();
    let reader = pages.reader();
    let twin = relocations.new_location(twin).unwrap();
    assert_eq!(read_body(&reader, &twin), body(1));
    assert!(relocations.new_location(original).is_some());
    assert_eq!(reader.versions("http://a/").unwrap().len(), 2, "the newest, and the one with the payload");
    let requests =
        reader.records().filter(|record| record.as_ref().unwrap().1.header.warc_type() == WarcType::Request);
    assert_eq!(requests.count(), 1);
    assert_eq!(reader.check(|_| Ok(())).unwrap().corruptions, []);
    // Nothing is left to do.
    assert!(pages.store.compact(RetentionPolicy::Latest).unwrap().is_empty());
}

#[test]
fn a_304_response_refers_to_the_confirmed_version() {
    let mut pages = Pages::new(1 << 30);
    let first = pages.append("http://a/", MS, &body(1)).location;
    pages.commit();
    let same = pages.store.append(&capture("http://a/", MS + 1_000, &body(1)), Some(first)).unwrap();
    assert_eq!(same.duplicate_of, Some(first));
    pages.commit();
    let words: Vec<RecordLocation> = (2..5)
        .map(|second| pages.not_modified("http://a/", MS + second * 1_000, same.location).unwrap().location)
        .collect();
    pages.commit();
    let reader = pages.reader();
    let record = reader.read(&words[0], VerifyLevel::Digests).unwrap();
    assert_eq!((record.status(), &record.body()[..]), (Some(200), &body(1)[..]));
    assert_eq!(record.record().block(), b"");
    let field = |name| record.record().header.get(name).unwrap().to_owned();
    assert_eq!(field("WARC-Profile"), "http://netpreserve.org/warc/1.1/revisit/server-not-modified");
    let original = reader.read_record(&first, VerifyLevel::Digests).unwrap();
    for (name, of_original) in [
        ("WARC-Refers-To", "WARC-Record-ID"),
        ("WARC-Refers-To-Date", "WARC-Date"),
        ("WARC-Refers-To-Target-URI", "WARC-Target-URI"),
        ("WARC-Payload-Digest", "WARC-Payload-Digest"),
    ] {
        assert_eq!(Some(field(name).as_str()), original.header.get(of_original), "{name}");
    }
    assert_eq!(reader.check(|_| Ok(())).unwrap().corruptions, []);

    // A 304 response is not a version: the newest version and the last confirmation are retained.
    for number in 0..50 {
        pages.append(&format!("http://b/{number}"), MS, &body(100 + number));
        pages.append(&format!("http://b/{number}"), MS + 1_000, &body(200 + number));
    }
    pages.commit();
    let relocations = pages.store.compact(RetentionPolicy::Latest).unwrap();
    pages.commit();
    let stays: Vec<bool> = words.iter().map(|word| relocations.new_location(*word).is_some()).collect();
    assert_eq!(stays, [false, false, true]);
    let place = |old| relocations.new_location(old).unwrap();
    let reader = pages.reader();
    assert_eq!(read_body(&reader, &place(same.location)), body(1));
    assert_eq!(read_body(&reader, &place(words[2])), body(1));
    assert_eq!(reader.check(|_| Ok(())).unwrap().corruptions, []);
}

#[test]
fn response_heads_are_read_without_bodies_and_corrupt_records_are_skipped() {
    let mut pages = Pages::new(1 << 30);
    let committed = pages.append("http://a/", MS, &body(1)).location;
    pages.commit();
    let pending = pages.append("http://b/", MS, &body(2)).location;
    let nowhere = RecordLocation { file: 77 << 10, ..committed };
    let broken = RecordLocation { offset: committed.offset + 1, ..committed };
    let beyond = RecordLocation { offset: 1 << 40, ..committed };
    let long: Vec<u8> = (3..30).flat_map(body).collect();
    let long_head = [b"HTTP/1.1 200 OK\r\nX: ".as_slice(), &long, b"\r\n\r\n"].concat();
    let long = Capture { head: &long_head, ..capture("http://c/", MS, b"") };
    let long = pages.store.append(&long, None).unwrap().location;
    let mut read = Vec::new();
    let places = [committed, pending, nowhere, broken, beyond, long];
    pages
        .store
        .read_response_heads(&places, |number, header, head| {
            read.push((number, header.url().unwrap().to_owned(), head.to_vec()));
        })
        .unwrap();
    assert_eq!(
        read,
        [(0, "http://a/".to_owned(), HEAD.to_vec()), (1, "http://b/".to_owned(), HEAD.to_vec())]
    );
}

#[test]
fn pages_can_be_stored_during_a_compaction() {
    let mut pages = Pages::new(1 << 30);
    for version in 0..4 {
        pages.append("http://a/", MS + version * 1_000, &body(version as u64));
    }
    pages.commit();
    let compaction = pages.store.start_compaction(RetentionPolicy::Latest).unwrap().unwrap();
    assert!(pages.store.start_compaction(RetentionPolicy::Latest).unwrap().is_none(), "one at a time");
    // This body may be dropped, so no new record may refer to it.
    let again = pages.append("http://c/", MS, &body(0));
    assert_eq!(again.duplicate_of, None);
    pages.commit();
    let compacted = std::thread::spawn(move || compaction.run().unwrap()).join().unwrap();
    let newer = pages.append("http://d/", MS, &body(0));
    assert_eq!(newer.duplicate_of, Some(again.location), "but to new ones");
    let relocations = pages.store.finish_compaction(compacted).unwrap();
    assert_eq!(relocations.new_location(again.location), Some(again.location));
    pages.commit();
    let reader = pages.reader();
    assert_eq!(reader.versions("http://a/").unwrap().len(), 1);
    assert_eq!(read_body(&reader, &newer.location), body(0));
    assert_eq!(reader.check(|_| Ok(())).unwrap().corruptions, []);
}

#[test]
fn pages_can_be_stored_during_a_merge_of_the_index() {
    let mut pages = Pages::new(1 << 30);
    pages.append("http://a/", MS, &body(0));
    pages.commit();
    // Commits do not merge the index during a compaction, so that a merge is due afterwards.
    let compaction = pages.store.start_compaction(RetentionPolicy::Latest).unwrap().unwrap();
    for number in 1..20 {
        pages.append(&format!("http://a/{number}"), MS, &body(number));
        pages.commit();
    }
    pages.store.finish_compaction(compaction.run().unwrap()).unwrap();
    let merge = pages.store.start_merge().unwrap();
    assert!(pages.store.start_compaction(RetentionPolicy::Latest).unwrap().is_none(), "one at a time");
    pages.append("http://a/beside", MS, &body(20));
    pages.commit();
    let merged = std::thread::spawn(move || merge.run().unwrap()).join().unwrap();
    pages.store.finish_merge(merged).unwrap();
    pages.commit();
    let indexes = pages.manifest.files_in("pages").filter(|file| file.name.ends_with(".cdxj")).count();
    assert!(indexes <= 2, "{indexes}");
    pages.reopen(1 << 30);
    let reader = pages.reader();
    for url in ["http://a/", "http://a/7", "http://a/19", "http://a/beside"] {
        assert_eq!(reader.versions(url).unwrap().len(), 1, "{url}");
    }
    assert_eq!(reader.check(|_| Ok(())).unwrap().corruptions, []);
}

#[test]
fn a_flipped_byte_is_detected_and_never_returns_a_wrong_page() {
    let mut pages = Pages::new(1 << 30);
    let mut places = Vec::new();
    for number in 0..3 {
        places.push(pages.append(&format!("http://a/{number}"), MS, &body(number)[..700]).location);
    }
    pages.commit();
    let path = pages.dir().join(places[0].file_name());
    let bytes = std::fs::read(&path).unwrap();
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        std::fs::write(&path, flipped).unwrap();
        let reader = pages.reader();
        let corruptions = reader.check(|_| Ok(())).unwrap().corruptions;
        assert!(
            !corruptions.is_empty() && corruptions.iter().all(|corruption| corruption.path == path),
            "byte {at}: {corruptions:?}"
        );
        for (number, place) in places.iter().enumerate() {
            match reader.read(place, VerifyLevel::Checksum) {
                Ok(page) => assert_eq!(&page.body()[..], &body(number as u64)[..700], "byte {at}"),
                Err(error) => {
                    assert!(error.to_string().contains("weir-000000.warc.gz is corrupt at byte"), "{error}");
                    let named = corruptions.iter().any(|corruption| {
                        corruption.offset == Some(place.offset)
                            && corruption.url == Some(format!("http://a/{number}"))
                    });
                    assert!(named, "byte {at}: {corruptions:?}");
                }
            }
        }
    }
}

/// Directory of WARC and ARC files of other programs.
fn samples() -> PathBuf {
    testkit::data("warc")
}

/// Reads all records up to the first error, and the error.
fn read_all(path: &Path) -> (Vec<WarcRecord>, Option<String>) {
    let reader = match WarcReader::open(path) {
        Ok(reader) => reader,
        Err(error) => return (Vec::new(), Some(error.to_string())),
    };
    let (mut records, mut failure) = (Vec::new(), None);
    for record in reader {
        match record {
            Ok(record) => records.push(record),
            Err(error) => failure = Some(error.to_string()),
        }
    }
    (records, failure)
}

#[test]
fn records_above_a_maximum_size_are_skipped_on_request() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.warc");
    let record = |bytes: usize| {
        let block = "x".repeat(bytes);
        format!("WARC/1.1\r\nWARC-Type: resource\r\nContent-Length: {bytes}\r\n\r\n{block}\r\n\r\n")
    };
    std::fs::write(&path, [10, 501, 500, 100_000, 20].map(record).concat()).unwrap();
    let mut reader = WarcReader::open(&path).unwrap().skip_records_above(500);
    let sizes: Vec<usize> = reader.by_ref().map(|record| record.unwrap().block().len()).collect();
    assert_eq!((sizes, reader.skipped()), (vec![10, 500, 20], 2));
    std::fs::write(&path, &record(10_000)[..9_000]).unwrap();
    let cut = WarcReader::open(&path).unwrap().skip_records_above(500).next();
    assert!(cut.unwrap().unwrap_err().to_string().contains("of 10000 bytes"));
}

#[test]
fn files_of_other_programs_are_read_and_errors_are_clear() {
    let dir = samples();
    // Name, number of records, number of wrong digests, error message.
    let expected: &[(&str, usize, usize, Option<&str>)] = &[
        ("bad.arc", 1, 0, Some("invalid length of an ARC record")),
        ("example-bad-non-chunked.warc.gz", 6, 0, None),
        ("example-bad.warc.gz.bad", 6, 0, None),
        ("example-digest.warc", 4, 1, None),
        ("example-iana.org-chunked.warc", 3, 0, None),
        ("example-resource.warc.gz", 3, 0, None),
        ("example-space-in-target-uri.warc.gz", 2, 0, None),
        ("example-space-in-url.arc", 1, 0, Some("the file ends after 1579 of 1591 bytes")),
        ("example-trunc.warc", 3, 1, Some("record 4 (byte 2560")),
        ("example-wget-bad-target-uri.warc.gz", 6, 0, None),
        ("example-wrong-chunks.warc.gz", 2, 1, None),
        ("example.arc", 2, 0, None),
        ("example.arc.gz", 2, 0, None),
        ("example.warc", 6, 0, None),
        ("example.warc.gz", 6, 0, None),
        ("post-test.warc.gz", 6, 0, None),
    ];
    let mut found = Vec::new();
    for (name, ..) in expected {
        let (records, failure) = read_all(&dir.join(name));
        let wrong = records.iter().filter(|r| matches!(r.verify(), DigestCheck::Mismatch { .. })).count();
        found.push((*name, records.len(), wrong, failure));
    }
    for ((name, records, wrong, failure), (_, expected_records, expected_wrong, expected)) in
        found.iter().zip(expected)
    {
        assert_eq!((records, wrong), (expected_records, expected_wrong), "{name}: {failure:?}");
        match expected {
            Some(text) => assert!(failure.as_ref().unwrap().contains(text), "{name}: {failure:?}"),
            None => assert_eq!(*failure, None, "{name}"),
        }
    }
}

#[test]
fn chunked_pages_of_other_programs_are_stored_without_chunks() {
    let dir = samples();
    let mut pages = Pages::new(1 << 30);
    let mut stored = Vec::new();
    for name in ["example-iana.org-chunked.warc", "example.warc", "example-wget-bad-target-uri.warc.gz"] {
        for record in read_all(&dir.join(name)).0 {
            let url = record.header.url().unwrap_or_default();
            if record.header.warc_type() == WarcType::Response && url.starts_with("http") {
                let body = record.body();
                let page =
                    Capture { head: record.head(), ..capture(url, record.header.date_ms().unwrap(), &body) };
                let place = pages.store.append(&page, None).unwrap().location;
                stored.push((place, body.into_owned()));
            }
        }
    }
    assert!(stored.len() >= 3, "{}", stored.len());
    pages.commit();
    let reader = pages.reader();
    for (place, body) in stored {
        let page = reader.read(&place, VerifyLevel::Digests).unwrap();
        assert_eq!(&page.body()[..], body);
        let head = String::from_utf8_lossy(page.head()).to_lowercase();
        assert!(!head.contains("\ntransfer-encoding"), "{head}");
    }
}

#[test]
fn all_compressions_of_a_warc_file_are_read_alike() {
    let mut pages = Pages::new(1 << 30);
    for number in 0..20 {
        pages.append(&format!("http://a/{number}"), MS, &body(number));
    }
    pages.commit();
    let reader = pages.reader();
    let expected: Vec<WarcRecord> = reader.records().map(|record| record.unwrap().1).collect();
    let plain = |record: &WarcRecord| {
        let fields = record.header.fields.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
        let header = format!("WARC/1.1\r\n{}\r\n", fields.collect::<String>());
        [header.as_bytes(), record.block(), b"\r\n\r\n"].concat()
    };
    let texts: Vec<Vec<u8>> = expected.iter().map(plain).collect();
    let zstd = |text: &Vec<u8>| zstd::encode_all(text.as_slice(), 3).unwrap();
    let dictionary = texts[1].clone();
    let with_dictionary = |text: &Vec<u8>| {
        zstd::bulk::Compressor::with_dictionary(3, &dictionary).unwrap().compress(text).unwrap()
    };
    let skippable = |content: &[u8]| {
        [&0x184d_2a5d_u32.to_le_bytes(), &(content.len() as u32).to_le_bytes(), content].concat()
    };
    let frames: Vec<u8> = texts.iter().flat_map(with_dictionary).collect();
    let forms = [
        ("members.warc.gz", std::fs::read(pages.dir().join("weir-000000.warc.gz")).unwrap()),
        ("plain.warc", texts.concat()),
        ("frames.warc.zst", texts.iter().flat_map(zstd).collect()),
        ("dictionary.warc.zst", [skippable(&dictionary), frames.clone()].concat()),
        ("packed.warc.zst", [skippable(&zstd(&dictionary)), frames].concat()),
    ];
    for (name, bytes) in forms {
        let path = pages.dir.path().join(name);
        std::fs::write(&path, &bytes).unwrap();
        let (records, failure) = read_all(&path);
        assert_eq!(failure, None, "{name}");
        assert_eq!(records.len(), expected.len(), "{name}");
        for (record, expected) in records.iter().zip(&expected) {
            assert_eq!((&record.header, record.block()), (&expected.header, expected.block()), "{name}");
        }
        // Truncated anywhere, it returns the records before, and an error.
        std::fs::write(&path, &bytes[..bytes.len() - 1_500]).unwrap();
        let (records, failure) = read_all(&path);
        assert!(failure.is_some(), "{name}");
        assert!((15..expected.len()).contains(&records.len()), "{name}: {}", records.len());
    }
}

/// Pages of all kinds in two files and several commits, with the expected bodies.
fn crawled() -> (Pages, Vec<(String, i64, Vec<u8>)>) {
    let mut pages = Pages::new(100_000);
    let mut expected = Vec::new();
    for number in 0..60u64 {
        let url = format!("http://www.Example.com/Path{}?b={number}&a=1", number / 2);
        let ms = MS + number as i64 * 1_000 + 125;
        let body = body(if number % 5 == 4 { number - 1 } else { number });
        let length = body.len();
        let head = match number % 4 {
            0 => {
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/plain\r\n\r\n".to_owned()
            }
            1 => "HTTP/2 200\r\ncontent-type: text/plain\r\n\r\n".to_owned(),
            2 => format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nContent-Type: text/plain\r\n\r\n"),
            _ => "HTTP/1.1 200 OK\r\nContent-Length: 99999\r\nContent-Type: text/plain\r\n\r\n".to_owned(),
        };
        let page = Capture {
            head: head.as_bytes(),
            protocols: if number % 4 == 1 { &["h2", "tls/1.3"] } else { &[] },
            truncated: (number % 4 == 3).then_some(Truncation::Disconnect),
            request: (number % 6 == 0).then_some(b"GET /Path HTTP/1.1\r\nHost: www.example.com\r\n\r\n"),
            metadata: if number % 7 == 0 { &[("via", "http://seed/")] } else { &[] },
            ..capture(&url, ms, &body)
        };
        let stored = pages.store.append(&page, None).unwrap();
        expected.push((url.clone(), ms, body.clone()));
        if number % 10 == 3 {
            let later_ms = ms + 600_000;
            pages.not_modified(&url, later_ms, stored.location).unwrap();
            expected.push((url.clone(), later_ms, body.clone()));
        }
        if number % 9 == 0 {
            pages.commit();
        }
    }
    let empty = Capture { head: b"HTTP/1.1 204 No Content\r\n\r\n", ..capture("http://a/empty", MS, b"") };
    pages.store.append(&empty, None).unwrap();
    pages.commit();
    (pages, expected)
}

fn warc_paths(pages: &Pages) -> Vec<PathBuf> {
    let names = pages.manifest.files_in("pages").filter(|file| file.name.ends_with(".warc.gz"));
    names.map(|file| pages.dir.path().join(&file.name)).collect()
}

#[test]
fn warcio_and_fastwarc_accept_the_files() {
    let Some(bin) = venv() else { return };
    let (mut pages, expected) = crawled();
    // Once as crawled, and once compacted.
    for round in 0..2 {
        let reader = pages.reader();
        let records = reader.records().count();
        let paths = warc_paths(&pages);
        let verdicts = run(Command::new(bin.join("warcio")).arg("check").arg("-v").args(&paths));
        assert!(!verdicts.contains("failed") && verdicts.matches("digest pass").count() > 50, "{verdicts}");
        let fields = "offset,warc-type,warc-target-uri";
        let index = run(Command::new(bin.join("warcio")).args(["index", "-f", fields]).args(&paths));
        assert_eq!(index.lines().count(), records, "{index}");
        for (location, record) in reader.records().map(Result::unwrap) {
            let kind = record.header.warc_type().as_str();
            let line = format!("\"offset\": \"{}\", \"warc-type\": \"{kind}\"", location.offset);
            assert!(index.contains(&line), "{line}");
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/read_warc.py");
        let read = run(Command::new(bin.join("python")).arg(script).args(&paths));
        assert_eq!(read.trim(), format!("{records} records, 0 wrong digests"), "round {round}");
        if round == 0 {
            assert!(records > expected.len());
            let newer = Capture { body: &body(1_000), ..capture(&expected[0].0, MS + 999_000, b"") };
            for _ in 0..20 {
                pages.store.append(&newer, None).unwrap();
            }
            pages.commit();
            pages.store.compact(RetentionPolicy::Latest).unwrap();
            pages.commit();
        }
    }
}

#[test]
fn surt_computes_the_same_keys() {
    let Some(bin) = venv() else { return };
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let script = dir.join("python/cdx_keys.py");
    let keys_file = dir.join("../../warc/tests/data/cdx_keys.tsv");
    let table = std::fs::read_to_string(&keys_file).unwrap();
    let keys = run(Command::new(bin.join("python")).arg(script).arg(&keys_file));
    assert_eq!(keys, table, "the table equals the output of the surt package");
    for line in keys.lines() {
        let (url, key) = line.split_once('\t').unwrap();
        assert_eq!(warc::cdxj_key(url), key, "{url}");
    }
}

#[test]
fn pywb_replays_the_pages() {
    let Some(bin) = venv() else { return };
    let (pages, expected) = crawled();
    let work = tempfile::tempdir().unwrap();
    for (number, (_, _, body)) in expected.iter().enumerate() {
        std::fs::write(work.path().join(format!("{number}.body")), body).unwrap();
    }
    let list: String = expected.iter().map(|(url, ms, _)| format!("{}\t{url}\n", timestamp(*ms))).collect();
    std::fs::write(work.path().join("pages.tsv"), list).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/replay.py");
    let replayed = run(Command::new(bin.join("python")).arg(script).arg(pages.dir()).arg(work.path()));
    assert_eq!(replayed.trim(), format!("{} pages replayed", expected.len()));
}

/// Timestamp of the index; all pages are within one hour.
fn timestamp(ms: i64) -> String {
    let seconds = (ms - MS) / 1_000;
    format!("2026111508{:02}{:02}", 30 + seconds / 60, seconds % 60)
}

//! Reads a collection with changed files and valid checksums in the manifest, as from a stranger: every read ends, with a
//! result or an error.
//!
//! The input selects a file of a small collection and patches it: a number of the file, then patches of an offset (two
//! bytes), a length (one byte) and as many bytes. A patch of length 0 truncates the file.
#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use harvest::GatherSettings;
use libfuzzer_sys::fuzz_target;
use model::{PageId, UrlRules};
use store::{
    Collection, FileEntry, Manifest, PageOrder, PageStream, PageStreamRequest, Snapshot, StoreSettings, check,
};
use xxhash_rust::xxh3::xxh3_64;

const PAGES: [(&str, &str); 4] = [
    (
        "http://a.example/",
        "<title>A</title><h1>Words</h1><a href=/b>b</a> <a href='http://c.example/d?e=1'>c</a>",
    ),
    ("http://a.example/b", "<p>The dog and the cat live in the house with the garden.<a href=/>a</a>"),
    ("https://c.example/d?e=1", "<p>Text &amp; more text"),
    ("http://a.example/copy", "<p>Text &amp; more text"),
];

/// A valid collection, with the content of its files.
struct Original {
    dir: PathBuf,
    manifest: Manifest,
    files: Vec<Vec<u8>>,
}

static ORIGINAL: LazyLock<Original> = LazyLock::new(|| {
    // The store contains panics of the Parquet reader. Any other one ends the target, because it reaches the caller.
    std::panic::set_hook(Box::new(|panic| {
        if !panic.location().is_some_and(|location| location.file().contains("/parquet-")) {
            eprintln!("{panic}\n{}", std::backtrace::Backtrace::force_capture());
        }
    }));
    // `fuzz/run` has its temporary files in memory.
    let dir = std::env::temp_dir().join(format!("weir-fuzz-collection-{}", std::process::id()));
    let mut archive = String::new();
    for (url, html) in PAGES {
        let block = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{html}");
        archive += &format!(
            "WARC/1.1\r\nWARC-Type: response\r\nWARC-Date: 2026-05-17T10:00:00Z\r\nWARC-Target-URI: {url}\r\n\
             Content-Type: application/http; msgtype=response\r\nContent-Length: {}\r\n\r\n{block}\r\n\r\n",
            block.len()
        );
    }
    let mut collection = Collection::create(&dir, StoreSettings::default()).expect("a new collection");
    let path = dir.join("archive.warc");
    fs::write(&path, archive).expect("the temporary directory is writable");
    let settings = GatherSettings::default();
    crawl::import(&mut collection, &[path], &settings, || 1_800_000_000_000, |_| {}).expect("an import");
    drop(collection);
    let manifest = Snapshot::open(&dir, None).expect("a snapshot").manifest.clone();
    let files = manifest.files.iter().map(|file| fs::read(dir.join(&file.name)).expect("a file")).collect();
    Original { dir, manifest, files }
});

fn patch(file: &mut Vec<u8>, mut patches: &[u8]) {
    while let [high, low, length, rest @ ..] = patches {
        let offset = usize::from(u16::from_be_bytes([*high, *low])) % (file.len() + 1);
        let (bytes, rest) = rest.split_at(usize::from(*length).min(rest.len()));
        if *length == 0 {
            file.truncate(offset);
        }
        let end = file.len().min(offset + bytes.len());
        file[offset..end].copy_from_slice(&bytes[..end - offset]);
        patches = rest;
    }
}

/// Reads everything; errors are valid results.
fn read(snapshot: &Snapshot) -> store::Result<()> {
    let rules = UrlRules::default();
    let _ = snapshot.urls.scan(PageId(0), |_, _, _| Ok(()));
    for page in (0..snapshot.urls.pages().min(100)).map(PageId) {
        let Ok(Some(url)) = snapshot.urls.url(page) else { continue };
        let _ = snapshot.page_store.versions(&url);
        if let Ok(url) = rules.canonical(&url) {
            let _ = snapshot.urls.find(&url);
        }
    }
    let _ = snapshot.page_state.scan_records(|_: &mut (), _, _| ());
    let _ = snapshot.links.for_each(|_, _| Ok(()));
    let _ = snapshot.page_store.records().take(100).filter(Result::is_ok).count();
    for order in [PageOrder::Crawl, PageOrder::Site] {
        let request = PageStreamRequest { order, ..PageStreamRequest::default() };
        let mut stream = PageStream::open(snapshot, &request)?;
        while stream.next_page()?.is_some() {}
    }
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    let [number, patches @ ..] = data else { return };
    let Original { dir, manifest, files } = &*ORIGINAL;
    let index = usize::from(*number) % files.len();
    let mut file = files[index].clone();
    patch(&mut file, patches);
    let mut manifest = manifest.clone();
    let name = manifest.files[index].name.clone();
    manifest.files[index] = FileEntry::complete(&name, file.len() as u64, xxh3_64(&file));
    let encoded = store::fuzzing::encode_manifest(&manifest).expect("a manifest is valid JSON");
    let current = dir.join("MANIFEST");
    // In place: the manifest of the generation is a link to the same file.
    fs::write(&current, encoded).expect("the collection is writable");
    fs::write(dir.join(&name), &file).expect("the collection is writable");
    if let Ok(snapshot) = Snapshot::open(dir, None) {
        let _ = read(&snapshot);
    }
    let _ = check(dir, None, |_| ());
    fs::write(dir.join(&name), &files[index]).expect("the collection is writable");
});

//! `weir index`, also after it was killed or interrupted.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{objects, run_text};
use testkit::text_collection::Sample;

#[test]
fn the_summary_counts_added_and_excluded_pages() {
    let mut sample = Sample::new();
    for n in 0..3 {
        sample.visit(&format!("http://a.test/{n}"), &page(n, 0));
    }
    sample.visit_with("http://a.test/gone", 404, "", "gone");
    sample.visit("http://a.test/secret", "<meta name=robots content=noindex>");
    sample.collection.commit(0).unwrap();
    let Sample { folder: temp, collection, .. } = sample;
    let dir = temp.path();
    let (code, out, err) = run_text(dir, &["index", "DIR"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], "3 pages in the index: 3 added, 0 changed, 0 removed");
    assert_eq!(lines[1], "excluded: 1 without content, 1 noindex");
    assert!(lines[3].contains("pages/s"), "{out}");
    let again = &objects(dir, &["index", "DIR"])[0];
    assert_eq!((&again["pages"], &again["added"], &again["pages_read"]), (&3.into(), &0.into(), &0.into()));
    assert_eq!(again["excluded"]["noindex"], 1);
    // The index is not part of a commit: `compact` and `check` do not touch it.
    drop(collection);
    assert_eq!(run_text(dir, &["compact", "DIR"]).0, 0);
    assert_eq!(run_text(dir, &["check", "DIR"]).0, 0);
    assert_eq!(objects(dir, &["index", "DIR"])[0]["added"], 0);
    std::fs::write(dir.join("weir.toml"), "[search]\npositions = false\n").unwrap();
    assert_eq!(objects(dir, &["index", "DIR"])[0]["added"], 3);
}

#[test]
fn a_missing_collection_and_an_invalid_setting_are_usage_errors() {
    let temp = tempfile::tempdir().unwrap();
    let (code, out, err) = run_text(temp.path(), &["index", "DIR/none"]);
    assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{err}");
    let mut sample = Sample::new();
    sample.collection.commit(0).unwrap();
    std::fs::write(sample.path().join("weir.toml"), "[search]\nindex_memory = '1 MB'\n").unwrap();
    let (code, _, err) = run_text(sample.path(), &["index", "DIR"]);
    assert_eq!((code, err.lines().count()), (2, 1), "{err}");
}

#[test]
fn the_run_after_a_kill_completes_the_index() {
    const PAGES: usize = 1_500;
    let mut sample = Sample::new();
    let visit = |sample: &mut Sample, n: usize, version: usize| {
        sample.visit(&format!("http://s{}.test/{n}", n % 5), &page(n, version));
    };
    (0..PAGES).for_each(|n| visit(&mut sample, n, 0));
    sample.collection.commit(0).unwrap();
    let mut killed = kill_index(sample.path());
    assert_eq!(objects(sample.path(), &["index", "DIR"])[0]["pages"], PAGES);
    // Again with changed, deleted and new pages.
    (0..PAGES).step_by(2).for_each(|n| visit(&mut sample, n, 1));
    (0..PAGES).step_by(7).for_each(|n| {
        sample.visit_with(&format!("http://s{}.test/{n}", n % 5), 404, "", "gone");
    });
    (PAGES..PAGES + 200).for_each(|n| visit(&mut sample, n, 0));
    sample.collection.commit(1).unwrap();
    killed += kill_index(sample.path());
    assert!(killed > 0, "every run ended before it was killed");
    objects(sample.path(), &["index", "DIR"]);
    let grown = testkit::index_dump::terms(sample.path());
    std::fs::remove_dir_all(sample.path().join("text")).unwrap();
    objects(sample.path(), &["index", "DIR"]);
    assert!(grown == testkit::index_dump::terms(sample.path()));
}

#[test]
fn an_interrupted_run_stops_soon_and_the_next_one_continues() {
    const PAGES: usize = 3_000;
    let mut sample = Sample::new();
    for n in 0..PAGES {
        sample.visit(&format!("http://s{}.test/{n}", n % 5), &page(n, 0));
    }
    sample.collection.commit(0).unwrap();
    let mut child = start_index(sample.path());
    let start = Instant::now();
    while !sample.path().join("text/index/meta.json").exists() {
        assert!(start.elapsed() < Duration::from_secs(30) && child.try_wait().unwrap().is_none());
        std::thread::yield_now();
    }
    let interrupted = Instant::now();
    let killed = Command::new("kill").arg("-INT").arg(child.id().to_string()).status().unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(interrupted.elapsed() < Duration::from_secs(4), "{:?}", interrupted.elapsed());
    assert_eq!(objects(sample.path(), &["index", "DIR"])[0]["pages"], PAGES);
    let grown = testkit::index_dump::terms(sample.path());
    std::fs::remove_dir_all(sample.path().join("text")).unwrap();
    objects(sample.path(), &["index", "DIR"]);
    assert!(grown == testkit::index_dump::terms(sample.path()));
}

#[test]
fn a_damaged_page_is_named() {
    let mut sample = Sample::new();
    sample.visit("http://a.test/whole", &page(1, 0));
    sample.visit("http://a.test/damaged", &page(2, 0));
    sample.collection.commit(0).unwrap();
    let dir = sample.path();
    let files = std::fs::read_dir(dir.join("pages")).unwrap().map(|entry| entry.unwrap().path());
    let file = files.filter(|path| path.to_string_lossy().ends_with(".warc.gz")).last().unwrap();
    let mut bytes = std::fs::read(&file).unwrap();
    let offset = bytes.len() - 100;
    bytes[offset] ^= 0xff;
    std::fs::write(&file, bytes).unwrap();
    let (code, out, err) = run_text(dir, &["index", "DIR"]);
    assert_eq!((code, err.lines().count()), (0, 1), "{err}");
    assert!(err.starts_with("weir: skipped http://a.test/damaged: "), "{err}");
    assert!(out.contains("1 page in the index") && out.contains("excluded: 1 damaged"), "{out}");
    assert!(run_text(dir, &["index", "DIR", "--json"]).1.contains("\"damaged\":1"));
}

/// Starts `weir index` repeatedly and kills it a little later each time, until it completes. Returns the number of kills.
fn kill_index(dir: &Path) -> u32 {
    let mut killed = 0;
    let mut wait = Duration::from_millis(10);
    loop {
        let mut child = start_index(dir);
        let end = Instant::now() + wait;
        wait = wait * 4 / 3;
        while Instant::now() < end {
            if let Some(status) = child.try_wait().unwrap() {
                assert!(status.success());
                return killed;
            }
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        killed += 1;
    }
}

fn start_index(dir: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.arg("index").arg(dir).stdout(Stdio::null()).spawn().unwrap()
}

/// A page with random words and words that all pages have.
fn page(number: usize, version: usize) -> String {
    let mut state = (number * 31 + version) as u64;
    let mut text = format!("<title>Page {number}</title><h1>Version {version}</h1>");
    for _ in 0..300 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push_str(&format!(" the word{} of river", (state >> 33) % 5_000));
    }
    text
}

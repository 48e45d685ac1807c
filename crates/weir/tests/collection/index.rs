//! `weir index`, also when it is killed.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::texts::Sample;
use super::{dump, objects, told};

#[test]
fn what_came_of_it_is_told() {
    let mut sample = Sample::new();
    for n in 0..3 {
        sample.visit(&format!("http://a.test/{n}"), &page(n, 0));
    }
    sample.visit_with("http://a.test/gone", 404, "", "gone");
    sample.visit("http://a.test/secret", "<meta name=robots content=noindex>");
    sample.collection.commit(0).unwrap();
    let Sample { folder, collection, .. } = sample;
    let dir = folder.path();
    let (code, out, err) = told(dir, &["index", "DIR"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], "3 pages in the index: 3 added, 0 changed, 0 removed");
    assert_eq!(lines[1], "left out: 1 without content, 1 ask not to be found");
    assert!(lines[3].contains("pages/s"), "{out}");
    let again = &objects(dir, &["index", "DIR"])[0];
    assert_eq!((&again["pages"], &again["added"], &again["pages_read"]), (&3.into(), &0.into(), &0.into()));
    assert_eq!(again["left_out"]["noindex"], 1);
    // What is no part of a commit is left alone by who writes and who checks.
    drop(collection);
    assert_eq!(told(dir, &["compact", "DIR"]).0, 0);
    assert_eq!(told(dir, &["check", "DIR"]).0, 0);
    assert_eq!(objects(dir, &["index", "DIR"])[0]["added"], 0);
    std::fs::write(dir.join("weir.toml"), "[search]\npositions = false\n").unwrap();
    assert_eq!(objects(dir, &["index", "DIR"])[0]["added"], 3);
}

#[test]
fn what_cannot_be_indexed_is_refused_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let (code, out, err) = told(folder.path(), &["index", "DIR/none"]);
    assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{err}");
    let mut sample = Sample::new();
    sample.collection.commit(0).unwrap();
    std::fs::write(sample.path().join("weir.toml"), "[search]\nmemory = '1 MB'\n").unwrap();
    let (code, _, err) = told(sample.path(), &["index", "DIR"]);
    assert_eq!((code, err.lines().count()), (2, 1), "{err}");
}

#[test]
fn an_index_that_was_killed_is_right_after_the_next_run() {
    const PAGES: usize = 1_500;
    let mut sample = Sample::new();
    let visit = |sample: &mut Sample, n: usize, version: usize| {
        sample.visit(&format!("http://s{}.test/{n}", n % 5), &page(n, version));
    };
    (0..PAGES).for_each(|n| visit(&mut sample, n, 0));
    sample.collection.commit(0).unwrap();
    let mut killed = kill_index(sample.path());
    assert_eq!(objects(sample.path(), &["index", "DIR"])[0]["pages"], PAGES);
    // Again with pages that have changed, gone and come.
    (0..PAGES).step_by(2).for_each(|n| visit(&mut sample, n, 1));
    (0..PAGES).step_by(7).for_each(|n| {
        sample.visit_with(&format!("http://s{}.test/{n}", n % 5), 404, "", "gone");
    });
    (PAGES..PAGES + 200).for_each(|n| visit(&mut sample, n, 0));
    sample.collection.commit(1).unwrap();
    killed += kill_index(sample.path());
    assert!(killed > 0, "nothing was killed in time");
    objects(sample.path(), &["index", "DIR"]);
    let grown = dump::terms(sample.path());
    std::fs::remove_dir_all(sample.path().join("text")).unwrap();
    objects(sample.path(), &["index", "DIR"]);
    assert!(grown == dump::terms(sample.path()));
}

#[test]
fn who_is_interrupted_ends_soon_and_goes_on() {
    const PAGES: usize = 3_000;
    let mut sample = Sample::new();
    for n in 0..PAGES {
        sample.visit(&format!("http://s{}.test/{n}", n % 5), &page(n, 0));
    }
    sample.collection.commit(0).unwrap();
    let mut child = start_index(sample.path());
    let begun = Instant::now();
    while !sample.path().join("text/index/meta.json").exists() {
        assert!(begun.elapsed() < Duration::from_secs(30) && child.try_wait().unwrap().is_none());
        std::thread::yield_now();
    }
    let asked = Instant::now();
    let killed = Command::new("kill").arg("-INT").arg(child.id().to_string()).status().unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(asked.elapsed() < Duration::from_secs(4), "{:?}", asked.elapsed());
    assert_eq!(objects(sample.path(), &["index", "DIR"])[0]["pages"], PAGES);
    let grown = dump::terms(sample.path());
    std::fs::remove_dir_all(sample.path().join("text")).unwrap();
    objects(sample.path(), &["index", "DIR"]);
    assert!(grown == dump::terms(sample.path()));
}

#[test]
fn a_page_that_cannot_be_read_is_named() {
    let mut sample = Sample::new();
    sample.visit("http://a.test/whole", &page(1, 0));
    sample.visit("http://a.test/damaged", &page(2, 0));
    sample.collection.commit(0).unwrap();
    let dir = sample.path();
    let files = std::fs::read_dir(dir.join("pages")).unwrap().map(|entry| entry.unwrap().path());
    let file = files.filter(|path| path.to_string_lossy().ends_with(".warc.gz")).last().unwrap();
    let mut bytes = std::fs::read(&file).unwrap();
    let place = bytes.len() - 100;
    bytes[place] ^= 0xff;
    std::fs::write(&file, bytes).unwrap();
    let (code, out, err) = told(dir, &["index", "DIR"]);
    assert_eq!((code, err.lines().count()), (0, 1), "{err}");
    assert!(err.starts_with("weir: left out: http://a.test/damaged: "), "{err}");
    assert!(out.contains("1 page in the index") && out.contains("left out: 1 cannot be read"), "{out}");
    assert!(told(dir, &["index", "DIR", "--json"]).1.contains("\"damaged\":1"));
}

/// Starts to index again and again, and kills it each time a little later, until it ends by itself; tells how often it was killed.
fn kill_index(folder: &Path) -> u32 {
    let mut killed = 0;
    let mut wait = Duration::from_millis(10);
    loop {
        let mut child = start_index(folder);
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

fn start_index(folder: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.arg("index").arg(folder).stdout(Stdio::null()).spawn().unwrap()
}

/// A page of its own words and of those that all have.
fn page(number: usize, version: usize) -> String {
    let mut state = (number * 31 + version) as u64;
    let mut text = format!("<title>Page {number}</title><h1>Version {version}</h1>");
    for _ in 0..300 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push_str(&format!(" the word{} of river", (state >> 33) % 5_000));
    }
    text
}

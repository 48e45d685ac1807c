//! A process that is killed at any moment: whatever it had acknowledged is there afterwards, whole, and nothing else.
//!
//! The test runs itself as the process to be killed. That process commits one round after the other, each a function of
//! its number alone, so that the parent can tell from the number of the last commit what the collection must hold.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use model::{PageId, UrlRules};
use store::{
    Capture, Collection, Keep, Link, LinkRow, PageFlags, PageRecord, PageSettings, Snapshot, Stage, UrlBatch, Verify,
};

const FOLDER: &str = "WEIR_CRASH_FOLDER";
/// New pages of a round.
const NEW_PAGES: u64 = 40;
/// Pages of a round that were visited before.
const OLD_PAGES: u64 = 10;

/// Small files, so that they roll over, are merged and compacted all the time.
fn settings() -> PageSettings {
    PageSettings { roll_over_bytes: 20_000, ..PageSettings::default() }
}

fn url(page: u64) -> String {
    format!("http://site{}.test/dir/{page}?x={}", page % 7, page * 31)
}

/// The rounds in which a page is visited: the first time in its own.
fn last_visit(page: u64, rounds: u64) -> u64 {
    let own = page / NEW_PAGES + 1;
    let again = (own + 1..=rounds).rev().find(|&round| revisited(round).any(|old| old == page));
    again.unwrap_or(own)
}

fn revisited(round: u64) -> impl Iterator<Item = u64> {
    let known = (round - 1) * NEW_PAGES;
    (0..OLD_PAGES.min(known)).map(move |number| (number * 7_919 + round * 13) % known)
}

fn body(page: u64, round: u64) -> Vec<u8> {
    format!("page {page} as of round {round} ").repeat(20 + page as usize % 30).into_bytes()
}

/// The process that is killed; without the variable it is a test that has nothing to do.
#[test]
fn writer() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let mut collection = Collection::open(Path::new(&folder), settings()).unwrap();
    println!("committed {}", collection.manifest().unwrap().generation);
    loop {
        let round = collection.manifest().unwrap().generation + 1;
        write_round(&mut collection, round);
        assert_eq!(collection.commit(round as i64).unwrap().generation, round);
        println!("committed {round}");
        if round.is_multiple_of(6) {
            collection.compact(Keep::Latest).unwrap();
        }
    }
}

fn write_round(collection: &mut Collection, round: u64) {
    let first = (round - 1) * NEW_PAGES;
    let mut pages: Vec<u64> = (first..first + NEW_PAGES).chain(revisited(round)).collect();
    pages.dedup();
    let rules = UrlRules::default();
    let mut batch = UrlBatch::new();
    for &page in &pages {
        batch.push(&rules.canonical(&url(page)).unwrap());
    }
    let resolved =
        collection.resolve(&batch, round as u32, |new| PageRecord::new(new.site, 1, PageFlags::default())).unwrap();
    let mut stored = Vec::new();
    for (&page, &id) in pages.iter().zip(&resolved.pages) {
        assert_eq!(u64::from(id.0), page, "ids are given in the order of the pages");
        let (url, body) = (url(page), body(page, round));
        let capture = Capture {
            url: &url,
            fetched_at_ms: 1_700_000_000_000 + round as i64 * 1_000,
            address: None,
            protocols: &[],
            head: b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n",
            body: &body,
            truncated: None,
            request: None,
            metadata: &[],
        };
        stored.push(collection.bodies.append(&capture, None).unwrap().location);
        let link = Link { target: PageId(id.0 / 2), kind: 0, context: 0, anchor_chars: 3, position: 0 };
        collection.links.append(id, [link]).unwrap();
        collection.tables.links.rows.push(&LinkRow {
            source_page_id: id.0,
            target_page_id: Some(id.0 / 2),
            target_url: &url,
            fetch_time: round as i64,
            kind: "a",
            rel: None,
            anchor: None,
            internal: true,
            position: 0.0,
        });
    }
    // Ascending and each once, as updates want them.
    let mut updates: Vec<_> = resolved.pages.iter().copied().zip(stored).collect();
    updates.sort_by_key(|(page, _)| *page);
    let ids: Vec<PageId> = updates.iter().map(|(page, _)| *page).collect();
    collection
        .pages
        .update(&ids, |at, page| {
            page.stage = Stage::Fetched;
            page.last_visit_s = round as u32;
            page.stored = Some(updates[at].1);
        })
        .unwrap();
}

/// Everything the collection must hold after so many rounds, and nothing more.
fn verify(folder: &Path) -> u64 {
    let snapshot = Snapshot::open(folder, None).unwrap();
    let rounds = snapshot.manifest.generation;
    let count = rounds * NEW_PAGES;
    assert_eq!(u64::from(snapshot.urls.pages()), count);
    assert_eq!(u64::from(snapshot.pages.pages()), count);
    let rules = UrlRules::default();
    for page in 0..count {
        let id = PageId(page as u32);
        assert_eq!(snapshot.urls.url(id).unwrap(), Some(url(page)));
        assert_eq!(snapshot.urls.find(&rules.canonical(&url(page)).unwrap()).unwrap(), Some(id));
        let record = snapshot.pages.get(id).unwrap().unwrap();
        assert_eq!(record.stage, Stage::Fetched, "page {page}");
        let stored = snapshot.bodies.read(&record.stored.unwrap(), Verify::Digests).unwrap();
        assert_eq!(stored.url(), url(page));
        let visit = last_visit(page, rounds);
        assert_eq!(u64::from(record.last_visit_s), visit, "page {page}");
        assert_eq!(stored.body(), body(page, visit), "page {page}");
    }
    let mut sources = 0;
    snapshot.links.for_each(|_, links| Ok(sources += links.len() as u64)).unwrap();
    assert!(sources >= count, "{sources} links of {count} pages");
    rounds
}

struct Writer {
    child: Child,
    committed: Receiver<u64>,
}

impl Writer {
    fn start(folder: &Path, failpoint: Option<&str>) -> Writer {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "writer", "--nocapture"]).env(FOLDER, folder);
        command.env_remove("WEIR_FAILPOINT").stdout(Stdio::piped()).stderr(Stdio::null());
        if let Some(failpoint) = failpoint {
            command.env("WEIR_FAILPOINT", failpoint);
        }
        let mut child = command.spawn().unwrap();
        let stdout = child.stdout.take().unwrap();
        let (send, committed) = channel();
        std::thread::spawn(move || read_commits(stdout, |round| send.send(round).is_ok()));
        Writer { child, committed }
    }

    /// Kills it a while after it has opened the collection; the last round that it acknowledged.
    fn kill_after(mut self, while_: Duration) -> u64 {
        let opened = self.committed.recv().unwrap();
        std::thread::sleep(while_);
        self.child.kill().unwrap();
        self.wait().max(opened)
    }

    /// Waits until it ends by itself; the last round that it acknowledged.
    fn wait(mut self) -> u64 {
        self.child.wait().unwrap();
        self.committed.iter().last().unwrap_or(0)
    }
}

fn read_commits(stdout: ChildStdout, mut each: impl FnMut(u64) -> bool) {
    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
        if let Some(round) = line.strip_prefix("committed ").and_then(|round| round.parse().ok())
            && !each(round)
        {
            return;
        }
    }
}

/// A different moment each time, and the same ones in every run.
fn moments(seed: u64) -> impl Iterator<Item = Duration> {
    let mut state = seed;
    std::iter::from_fn(move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Some(Duration::from_micros((state >> 33) % 250_000))
    })
}

#[test]
fn two_hundred_kills_lose_nothing_that_was_acknowledged() {
    let mut kills = 0;
    let mut commits = 0;
    let mut moments = moments(7);
    while kills < 200 {
        // A collection for some kills only, so that verifying it stays quick.
        let folder = tempfile::tempdir().unwrap();
        drop(Collection::create(folder.path(), settings()).unwrap());
        for _ in 0..20 {
            let acknowledged = Writer::start(folder.path(), None).kill_after(moments.next().unwrap());
            let rounds = verify(folder.path());
            assert!(rounds >= acknowledged, "round {acknowledged} was acknowledged, {rounds} is there");
            kills += 1;
        }
        commits += verify(folder.path());
    }
    assert!(commits > kills / 2, "only {commits} commits: the process was killed before it could do anything");
}

#[test]
fn a_stop_at_each_step_of_a_commit_leaves_a_whole_collection() {
    for step in [
        "commit: urls",
        "commit: page state",
        "commit: site state",
        "commit: bodies",
        "commit: links",
        "commit: tables",
        "commit: files synced",
        "commit: manifest written",
        "commit: manifest synced",
        "commit: manifest linked",
        "commit: manifest renamed",
        "commit: done",
        "sweep: commit expires",
        "sweep: commits expired",
        "sweep: file removed",
    ] {
        let folder = tempfile::tempdir().unwrap();
        drop(Collection::create(folder.path(), settings()).unwrap());
        for times in [1, 9] {
            let acknowledged = Writer::start(folder.path(), Some(&format!("{step}#{times}"))).wait();
            let rounds = verify(folder.path());
            assert!(rounds >= acknowledged && rounds <= acknowledged + 1, "{step}: {acknowledged}, {rounds}");
        }
        // And it goes on.
        let before = verify(folder.path());
        let after = Writer::start(folder.path(), Some("commit: done#3")).wait();
        assert!(after >= before, "{step}");
    }
}

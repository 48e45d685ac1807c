//! A process that is killed at any moment: whatever it had acknowledged is there afterwards, whole, and nothing else.
//!
//! The test runs itself as the process to be killed.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use store::{Collection, RetentionPolicy};

use crate::rounds::{settings, verify, write_round};

const DIR: &str = "WEIR_CRASH_FOLDER";

/// The process that is killed; without the variable it is a test that has nothing to do.
#[test]
fn writer() {
    let Some(dir) = std::env::var_os(DIR) else { return };
    let mut collection = Collection::open(Path::new(&dir), settings()).unwrap();
    println!("committed {}", collection.manifest().unwrap().generation);
    loop {
        let round = collection.manifest().unwrap().generation + 1;
        write_round(&mut collection, round).unwrap();
        assert_eq!(collection.commit(round as i64).unwrap().generation, round);
        println!("committed {round}");
        // Rarely enough for the index to be merged in between.
        if round.is_multiple_of(12) {
            collection.compact(RetentionPolicy::Latest).unwrap();
        }
        assert!(round < 1_000, "whoever was to end this had no reason to");
    }
}

struct Writer {
    child: Child,
    /// What it says: `committed ROUND`, and if it was asked for, every step.
    says: Receiver<String>,
}

/// What is known of a writer that has ended.
#[derive(Default)]
struct Ended {
    /// The last round that it acknowledged.
    committed: u64,
    /// How often it had begun a work and not yet ended it; the name of the work.
    open: BTreeMap<String, i32>,
}

impl Ended {
    fn hear(&mut self, line: &str) {
        if let Some(round) = line.strip_prefix("committed ").and_then(|round| round.parse().ok()) {
            self.committed = round;
        } else if let Some(work) = line.strip_suffix(": begins") {
            *self.open.entry(work.to_owned()).or_default() += 1;
        } else if let Some(work) = line.strip_suffix(": ends") {
            *self.open.entry(work.to_owned()).or_default() -= 1;
        }
    }
}

impl Writer {
    fn start(dir: &Path, environment: (&str, &str)) -> Writer {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "kills::writer", "--nocapture"]).env(DIR, dir);
        command.env(environment.0, environment.1).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (send, says) = channel();
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| send.send(line)));
        Writer { child, says }
    }

    /// A writer that tells its steps.
    fn telling(dir: &Path) -> Writer {
        Writer::start(dir, ("WEIR_FAILPOINT_LOG", "/dev/stdout"))
    }

    /// A writer that stops itself at a step.
    fn stopping(dir: &Path, failpoint: &str) -> Writer {
        Writer::start(dir, ("WEIR_FAILPOINT", failpoint))
    }

    /// Kills it a while after it has said something that starts so.
    fn kill_after(mut self, words: &str, while_: Duration) -> Ended {
        let mut ended = Ended::default();
        loop {
            let line = self.says.recv().unwrap();
            ended.hear(&line);
            if line.starts_with(words) {
                break;
            }
        }
        std::thread::sleep(while_);
        self.child.kill().unwrap();
        self.wait(ended)
    }

    /// Waits until it stops itself; the last round that it acknowledged.
    fn committed(self) -> u64 {
        self.wait(Ended::default()).committed
    }

    fn wait(mut self, mut ended: Ended) -> Ended {
        let status = self.child.wait().unwrap();
        assert!(status.signal().is_some(), "it ended by itself: {status}");
        self.says.iter().for_each(|line| ended.hear(&line));
        ended
    }
}

/// A different moment each time, and the same ones in every run.
fn moments(seed: u64) -> impl FnMut(Duration) -> Duration {
    let mut state = seed;
    move |at_most| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        at_most.mul_f64((state >> 33) as f64 / 2f64.powi(31))
    }
}

/// What a kill must hit at least once: the work, and for how long to wait at most after it has begun.
const WORKS: [(&str, Duration); 7] = [
    ("commit", Duration::from_millis(10)),
    ("merge of URLs", Duration::from_millis(1)),
    ("merge of links", Duration::from_millis(1)),
    ("merge of the index", Duration::from_millis(1)),
    ("merge of a table", Duration::from_millis(1)),
    ("checkpoint", Duration::from_millis(1)),
    ("compaction", Duration::from_millis(1)),
];

#[test]
fn two_hundred_kills_lose_nothing_that_was_acknowledged() {
    let mut commits = 0;
    let mut hits: BTreeMap<String, i32> = BTreeMap::new();
    let mut moments = moments(7);
    let at_work = WORKS.map(|(work, at_most)| (format!("{work}: begins"), at_most));
    let at_any_time = ("committed".to_owned(), Duration::from_millis(200));
    let mut aims = at_work.into_iter().chain([at_any_time]).cycle();
    for _ in 0..10 {
        // A collection for some kills only, so that verifying it stays quick.
        let dir = tempfile::tempdir().unwrap();
        drop(Collection::create(dir.path(), settings()).unwrap());
        for (words, at_most) in aims.by_ref().take(20) {
            let ended = Writer::telling(dir.path()).kill_after(&words, moments(at_most));
            let (acknowledged, rounds) = (ended.committed, verify(dir.path()));
            assert!(rounds >= acknowledged, "round {acknowledged} was acknowledged, {rounds} is there");
            for (work, open) in ended.open {
                *hits.entry(work).or_default() += open;
            }
        }
        commits += verify(dir.path());
    }
    assert!(commits > 100, "only {commits} commits: the process was killed before it could do anything");
    println!("kills during {hits:?}, and {commits} commits");
    for (work, _) in WORKS {
        assert!(hits.get(work).is_some_and(|kills| *kills > 0), "no kill during a {work}: {hits:?}");
    }
}

#[test]
fn a_stop_at_each_step_leaves_a_whole_collection() {
    for step in [
        "commit: begins",
        "urls: run and text written",
        "urls: head written",
        "commit: urls",
        "commit: page state",
        "commit: site state",
        "commit: page store",
        "links: file written",
        "commit: links",
        "commit: tables",
        "commit: files synced",
        "commit: manifest written",
        "commit: manifest synced",
        "commit: manifest linked",
        "commit: manifest renamed",
        "commit: done",
        "commit: ends",
        "sweep: commit expires",
        "sweep: commits expired",
        "sweep: file removed",
        "checkpoint: begins",
        "checkpoint: segment written",
        "checkpoint: ends",
        "merge of URLs: begins",
        "merge of URLs: ends",
        "urls: merged run in place",
        "merge of links: begins",
        "merge of links: ends",
        "merge of the index: begins",
        "merge of the index: ends",
        "merge of a table: begins",
        "merge of a table: ends",
        "compaction: begins",
        "compaction: pages rewritten",
        "compaction: ends",
    ] {
        let dir = tempfile::tempdir().unwrap();
        drop(Collection::create(dir.path(), settings()).unwrap());
        for times in [1, 3] {
            let acknowledged = Writer::stopping(dir.path(), &format!("{step}#{times}")).committed();
            let rounds = verify(dir.path());
            assert!(rounds >= acknowledged && rounds <= acknowledged + 1, "{step}: {acknowledged}, {rounds}");
        }
        // And it goes on: two rounds are acknowledged before the third stops.
        let before = verify(dir.path());
        let after = Writer::stopping(dir.path(), "commit: done#3").committed();
        assert_eq!(after, before + 2, "{step}");
        assert_eq!(verify(dir.path()), before + 3, "{step}");
    }
}

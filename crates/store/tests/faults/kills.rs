//! Killed process: after a kill at any time, the collection has exactly the acknowledged commits, or one more.
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

const DIR: &str = "WEIR_CRASH_DIR";

/// Process to be killed; without the environment variable, an empty test.
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
        // Rarely, so that the index is merged in between.
        if round.is_multiple_of(12) {
            collection.compact(RetentionPolicy::Latest).unwrap();
        }
        assert!(round < 1_000, "the process was not killed");
    }
}

struct Writer {
    child: Child,
    /// Standard output: `committed ROUND`, and optionally every step.
    says: Receiver<String>,
}

/// State of a writer that has ended.
#[derive(Default)]
struct Ended {
    /// Last acknowledged round.
    committed: u64,
    /// Operations that were begun and not ended, by name.
    open: BTreeMap<String, i32>,
}

impl Ended {
    fn record(&mut self, line: &str) {
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

    /// Starts a writer that logs its steps.
    fn with_log(dir: &Path) -> Writer {
        Writer::start(dir, ("WEIR_FAILPOINT_LOG", "/dev/stdout"))
    }

    /// Starts a writer that aborts at a step.
    fn with_failpoint(dir: &Path, failpoint: &str) -> Writer {
        Writer::start(dir, ("WEIR_FAILPOINT", failpoint))
    }

    /// Kills the process some time after it has printed a line with a prefix.
    fn kill_after(mut self, prefix: &str, delay: Duration) -> Ended {
        let mut ended = Ended::default();
        loop {
            let line = self.says.recv().unwrap();
            ended.record(&line);
            if line.starts_with(prefix) {
                break;
            }
        }
        std::thread::sleep(delay);
        self.child.kill().unwrap();
        self.wait(ended)
    }

    /// Waits until the process aborts; returns the last acknowledged round.
    fn committed(self) -> u64 {
        self.wait(Ended::default()).committed
    }

    fn wait(mut self, mut ended: Ended) -> Ended {
        let status = self.child.wait().unwrap();
        assert!(status.signal().is_some(), "the process was not killed: {status}");
        self.says.iter().for_each(|line| ended.record(&line));
        ended
    }
}

/// Pseudorandom delays, the same in every run.
fn delays(seed: u64) -> impl FnMut(Duration) -> Duration {
    let mut state = seed;
    move |max_delay| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        max_delay.mul_f64((state >> 33) as f64 / 2f64.powi(31))
    }
}

/// Operations during which a kill must occur at least once, each with the maximum delay after its start.
const OPERATIONS: [(&str, Duration); 7] = [
    ("commit", Duration::from_millis(10)),
    ("merge of URLs", Duration::from_millis(1)),
    ("merge of links", Duration::from_millis(1)),
    ("merge of the index", Duration::from_millis(1)),
    ("merge of a table", Duration::from_millis(1)),
    ("checkpoint", Duration::from_millis(1)),
    ("compaction", Duration::from_millis(1)),
];

#[test]
fn two_hundred_kills_lose_no_acknowledged_commit() {
    let mut commits = 0;
    let mut hits: BTreeMap<String, i32> = BTreeMap::new();
    let mut random_delay = delays(7);
    let during = OPERATIONS.map(|(operation, max_delay)| (format!("{operation}: begins"), max_delay));
    let any_time = ("committed".to_owned(), Duration::from_millis(200));
    let mut targets = during.into_iter().chain([any_time]).cycle();
    for _ in 0..10 {
        // Each collection is used for a few kills only, so that verification stays fast.
        let dir = tempfile::tempdir().unwrap();
        drop(Collection::create(dir.path(), settings()).unwrap());
        for (prefix, max_delay) in targets.by_ref().take(20) {
            let ended = Writer::with_log(dir.path()).kill_after(&prefix, random_delay(max_delay));
            let (acknowledged, rounds) = (ended.committed, verify(dir.path()));
            assert!(
                rounds >= acknowledged,
                "round {acknowledged} was acknowledged, but only {rounds} are stored"
            );
            for (work, open) in ended.open {
                *hits.entry(work).or_default() += open;
            }
        }
        commits += verify(dir.path());
    }
    assert!(commits > 100, "only {commits} commits: the process was killed before it could do anything");
    println!("kills during {hits:?}, and {commits} commits");
    for (work, _) in OPERATIONS {
        assert!(hits.get(work).is_some_and(|kills| *kills > 0), "no kill during a {work}: {hits:?}");
    }
}

#[test]
fn an_abort_at_each_step_leaves_a_consistent_collection() {
    for step in [
        "commit: begins",
        "urls: run and text written",
        "urls: header written",
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
        "cleanup: commit expires",
        "cleanup: commits expired",
        "cleanup: file removed",
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
            let acknowledged = Writer::with_failpoint(dir.path(), &format!("{step}#{times}")).committed();
            let rounds = verify(dir.path());
            assert!(rounds >= acknowledged && rounds <= acknowledged + 1, "{step}: {acknowledged}, {rounds}");
        }
        // Writing continues: two rounds are acknowledged before the third aborts.
        let before = verify(dir.path());
        let after = Writer::with_failpoint(dir.path(), "commit: done#3").committed();
        assert_eq!(after, before + 2, "{step}");
        assert_eq!(verify(dir.path()), before + 3, "{step}");
    }
}

//! A process that is killed at any moment: whatever it had acknowledged is there afterwards, whole, and nothing else.
//!
//! The test runs itself as the process to be killed.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use store::{Collection, Keep};

use crate::rounds::{settings, verify, write_round};

const FOLDER: &str = "WEIR_CRASH_FOLDER";

/// The process that is killed; without the variable it is a test that has nothing to do.
#[test]
fn writer() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let mut collection = Collection::open(Path::new(&folder), settings()).unwrap();
    println!("committed {}", collection.manifest().unwrap().generation);
    loop {
        let round = collection.manifest().unwrap().generation + 1;
        write_round(&mut collection, round).unwrap();
        assert_eq!(collection.commit(round as i64).unwrap().generation, round);
        println!("committed {round}");
        if round.is_multiple_of(6) {
            collection.compact(Keep::Latest).unwrap();
        }
    }
}

struct Writer {
    child: Child,
    committed: Receiver<u64>,
}

impl Writer {
    fn start(folder: &Path, failpoint: Option<&str>) -> Writer {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "kills::writer", "--nocapture"]).env(FOLDER, folder);
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
    assert!(
        commits > kills / 2,
        "only {commits} commits: the process was killed before it could do anything"
    );
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
        // And it goes on: two rounds are acknowledged before the third stops.
        let before = verify(folder.path());
        let after = Writer::start(folder.path(), Some("commit: done#3")).wait();
        assert_eq!(after, before + 2, "{step}");
        assert_eq!(verify(folder.path()), before + 3, "{step}");
    }
}

//! The program and its collection: how tests start, stop and question it.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;
use simweb::{PageRef, SimWeb};
use store::{PageRecord, Snapshot};
use tempfile::TempDir;

/// No condition is waited for longer than this.
fn patience() -> Duration {
    Duration::from_secs(if crate::long() { 900 } else { 90 })
}

/// A collection in a folder of its own.
pub(crate) struct Collection {
    folder: TempDir,
}

impl Collection {
    pub(crate) fn new(seeds: &[impl AsRef<str>], settings: &str) -> Collection {
        let collection = Collection { folder: tempfile::tempdir().unwrap() };
        let list = collection.folder.path().join("seeds");
        let lines: Vec<&str> = seeds.iter().map(AsRef::as_ref).collect();
        fs::write(&list, lines.join("\n")).unwrap();
        let made = run(&["init", &collection.dir(), "--seeds", list.to_str().unwrap()]);
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        collection.set(settings);
        collection
    }

    /// A collection that begins at the portal of a synthetic Web.
    pub(crate) fn of_web(web: &SimWeb, settings: &str) -> Collection {
        let portal = web.world.url(PageRef { site: 0, page: 0 });
        let collection = Collection::new(&[portal], "");
        collection.set(&(reach(web) + settings));
        collection
    }

    /// Writes its settings; they begin outside of any section.
    pub(crate) fn set(&self, settings: &str) {
        fs::write(self.path().join("weir.toml"), settings).unwrap();
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("c")
    }

    pub(crate) fn dir(&self) -> String {
        self.path().into_os_string().into_string().unwrap()
    }

    /// What the journals hold that a run has not put in order.
    pub(crate) fn journals(&self) -> Option<String> {
        let files = fs::read_dir(self.path().join("journal")).ok()?;
        Some(files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap_or_default()).collect())
    }

    /// Starts a crawl.
    pub(crate) fn start(&self, arguments: &[&str]) -> Crawl {
        let mut command = weir();
        command.args(["crawl", &self.dir(), "--json", "--progress"]).args(arguments);
        Crawl::new(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Starts one of the four programs that a crawl consists of.
    pub(crate) fn start_role(&self, name: &str) -> Crawl {
        self.start_as(&[name, &self.dir(), "--json"])
    }

    /// Starts the program with these arguments.
    pub(crate) fn start_as(&self, arguments: &[&str]) -> Crawl {
        self.start_with(arguments, [])
    }

    /// The same with variables of the environment.
    pub(crate) fn start_with<'v>(
        &self,
        arguments: &[&str],
        variables: impl IntoIterator<Item = (&'v str, &'v str)>,
    ) -> Crawl {
        let mut command = weir();
        command.args(arguments).envs(variables);
        Crawl::new(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Crawls to the end, and tells the summary.
    pub(crate) fn crawl(&self, arguments: &[&str]) -> Value {
        let ended = self.start(arguments).wait();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        ended.summary()
    }

    /// The story of a URL.
    pub(crate) fn why(&self, url: &str) -> Value {
        let output = run(&["why", &self.dir(), url, "--json"]);
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// The URLs of all pages with such a record.
    pub(crate) fn urls(&self, wanted: impl Fn(&PageRecord) -> bool) -> std::collections::BTreeSet<String> {
        let snapshot = Snapshot::open(&self.path(), None).unwrap();
        let all = (0..snapshot.pages.pages()).map(model::PageId);
        let found = all.filter(|page| wanted(&snapshot.pages.get(*page).unwrap().unwrap()));
        found.map(|page| snapshot.urls.url(page).unwrap().unwrap()).collect()
    }

    /// Whether everything in it is as it should be.
    pub(crate) fn assert_sound(&self) {
        let output = run(&["check", &self.dir()]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

/// Settings by which a synthetic Web can be reached.
pub(crate) fn reach(web: &SimWeb) -> String {
    format!(
        "dns.servers = ['{}']\nnetwork.allowed = ['127.0.0.0/8']\nscope.accept = ['.test']\n",
        web.dns.unwrap()
    )
}

fn weir() -> Command {
    Command::new(env!("CARGO_BIN_EXE_weir"))
}

pub(crate) fn run(arguments: &[&str]) -> Output {
    weir().args(arguments).output().unwrap()
}

/// A crawl that runs.
pub(crate) struct Crawl {
    child: Child,
    stdout: JoinHandle<String>,
    lines: Arc<Mutex<String>>,
    stderr: JoinHandle<()>,
}

/// A crawl that has ended.
pub(crate) struct Ended {
    /// None if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    pub(crate) fn summary(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|_| panic!("no summary: {}", self.stderr))
    }
}

impl Crawl {
    fn new(mut child: Child) -> Crawl {
        let (mut out, err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let lines = Arc::new(Mutex::new(String::new()));
        let kept = Arc::clone(&lines);
        Crawl {
            child,
            stdout: std::thread::spawn(move || {
                let mut text = String::new();
                out.read_to_string(&mut text).unwrap();
                text
            }),
            stderr: std::thread::spawn(move || {
                for line in BufReader::new(err).lines() {
                    let mut kept = kept.lock().unwrap();
                    kept.push_str(&line.unwrap());
                    kept.push('\n');
                }
            }),
            lines,
        }
    }

    /// What it has said on stderr so far.
    pub(crate) fn told(&self) -> String {
        self.lines.lock().unwrap().clone()
    }

    /// Waits until it has said something.
    pub(crate) fn wait_for(&mut self, text: &str) {
        let lines = Arc::clone(&self.lines);
        self.until(|| lines.lock().unwrap().contains(text));
    }

    /// Waits for a condition, which must come while the crawl runs.
    pub(crate) fn until(&mut self, condition: impl Fn() -> bool) {
        let held = self.until_or_end(condition);
        assert!(held, "the crawl ended first: {}", self.lines.lock().unwrap());
    }

    /// Waits for a condition, or the end of the crawl; tells whether the condition came.
    pub(crate) fn until_or_end(&mut self, condition: impl Fn() -> bool) -> bool {
        let began = Instant::now();
        while !condition() {
            if self.child.try_wait().unwrap().is_some() {
                return condition();
            }
            assert!(began.elapsed() < patience(), "in vain: {}", self.lines.lock().unwrap());
            std::thread::sleep(Duration::from_millis(10));
        }
        true
    }

    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    /// Ends it without a chance to put anything in order; tells when, in Unix microseconds.
    pub(crate) fn kill(mut self) -> u64 {
        self.child.kill().unwrap();
        // It is dead when it has been waited for.
        self.child.wait().unwrap();
        let killed_us = now_us();
        self.wait();
        killed_us
    }

    /// The number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn wait(mut self) -> Ended {
        let began = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            if began.elapsed() > patience() {
                self.child.kill().unwrap();
                panic!("it does not end: {}", self.lines.lock().unwrap());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let code = self.child.wait().unwrap().code();
        let stdout = self.stdout.join().unwrap();
        self.stderr.join().unwrap();
        let stderr = self.lines.lock().unwrap().clone();
        Ended { code, stdout, stderr }
    }
}

/// The most memory a process had so far, in bytes; none when it has ended.
pub(crate) fn memory_bytes(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// Unix time in microseconds.
pub(crate) fn now_us() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_micros() as u64
}

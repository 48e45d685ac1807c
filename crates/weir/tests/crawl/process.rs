//! Collections and processes of tests: start, stop, output.

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

/// Timeout of all conditions.
fn timeout() -> Duration {
    Duration::from_secs(if crate::long() { 900 } else { 90 })
}

/// Collection in a temporary directory.
pub(crate) struct Collection {
    temp: TempDir,
}

impl Collection {
    pub(crate) fn new(seeds: &[impl AsRef<str>], settings: &str) -> Collection {
        let collection = Collection { temp: tempfile::tempdir().unwrap() };
        let list = collection.temp.path().join("seeds");
        let lines: Vec<&str> = seeds.iter().map(AsRef::as_ref).collect();
        fs::write(&list, lines.join("\n")).unwrap();
        let created = run(&["init", &collection.dir(), "--seeds", list.to_str().unwrap()]);
        assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stderr));
        collection.set(settings);
        collection
    }

    /// Creates a collection with the portal of a synthetic Web as its seed.
    pub(crate) fn of_web(web: &SimWeb, settings: &str) -> Collection {
        let portal = web.world.url(PageRef { site: 0, page: 0 });
        let collection = Collection::new(&[portal], "");
        collection.set(&(reach(web) + settings));
        collection
    }

    /// Writes the settings file.
    pub(crate) fn set(&self, settings: &str) {
        fs::write(self.path().join("weir.toml"), settings).unwrap();
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.temp.path().join("c")
    }

    pub(crate) fn dir(&self) -> String {
        self.path().into_os_string().into_string().unwrap()
    }

    /// Text of the journals; `None` after a graceful end.
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

    /// Starts a crawl in a process that can open this number of files.
    pub(crate) fn start_with_open_files(&self, max_open_files: u32, arguments: &[&str]) -> Crawl {
        let mut command = Command::new("sh");
        let script = format!("ulimit -n {max_open_files} && exec \"$0\" \"$@\"");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_weir")]);
        command.args(["crawl", &self.dir(), "--json", "--progress"]).args(arguments);
        Crawl::new(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Starts one of the four programs of a crawl.
    pub(crate) fn start_role(&self, name: &str) -> Crawl {
        self.start_as(&[name, &self.dir(), "--json"])
    }

    /// Starts the program with these arguments.
    pub(crate) fn start_as(&self, arguments: &[&str]) -> Crawl {
        self.start_with(arguments, [])
    }

    /// Starts the program with arguments and environment variables.
    pub(crate) fn start_with<'v>(
        &self,
        arguments: &[&str],
        variables: impl IntoIterator<Item = (&'v str, &'v str)>,
    ) -> Crawl {
        let mut command = weir();
        command.args(arguments).envs(variables);
        Crawl::new(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Crawls to the end and returns the summary.
    pub(crate) fn crawl(&self, arguments: &[&str]) -> Value {
        let ended = self.start(arguments).wait();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        ended.summary()
    }

    /// Output of `weir why`.
    pub(crate) fn why(&self, url: &str) -> Value {
        let output = run(&["why", &self.dir(), url, "--json"]);
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// URLs of all pages whose record fulfils a condition.
    pub(crate) fn urls(&self, condition: impl Fn(&PageRecord) -> bool) -> std::collections::BTreeSet<String> {
        let snapshot = Snapshot::open(&self.path(), None).unwrap();
        let all = (0..snapshot.page_state.pages()).map(model::PageId);
        let found = all.filter(|page| condition(&snapshot.page_state.get(*page).unwrap().unwrap()));
        found.map(|page| snapshot.urls.url(page).unwrap().unwrap()).collect()
    }

    /// Checks the collection with `weir check`.
    pub(crate) fn assert_sound(&self) {
        let output = run(&["check", &self.dir()]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

/// Settings to reach a synthetic Web.
pub(crate) fn reach(web: &SimWeb) -> String {
    format!(
        "dns.servers = ['{}']\nnetwork.allowed_networks = ['127.0.0.0/8']\nscope.accept = ['.test']\n",
        web.dns.unwrap()
    )
}

fn weir() -> Command {
    Command::new(env!("CARGO_BIN_EXE_weir"))
}

pub(crate) fn run(arguments: &[&str]) -> Output {
    weir().args(arguments).output().unwrap()
}

/// Running process.
pub(crate) struct Crawl {
    child: Child,
    stdout: JoinHandle<String>,
    lines: Arc<Mutex<String>>,
    stderr: JoinHandle<()>,
}

/// Result of a process.
pub(crate) struct Ended {
    /// `None` if a signal ended it.
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
        let thread_lines = Arc::clone(&lines);
        Crawl {
            child,
            stdout: std::thread::spawn(move || {
                let mut text = String::new();
                out.read_to_string(&mut text).unwrap();
                text
            }),
            stderr: std::thread::spawn(move || {
                for line in BufReader::new(err).lines() {
                    let mut lines = thread_lines.lock().unwrap();
                    lines.push_str(&line.unwrap());
                    lines.push('\n');
                }
            }),
            lines,
        }
    }

    /// Text on stderr so far.
    pub(crate) fn stderr_so_far(&self) -> String {
        self.lines.lock().unwrap().clone()
    }

    /// Waits for a text on stderr.
    pub(crate) fn wait_for(&mut self, text: &str) {
        let lines = Arc::clone(&self.lines);
        self.until(|| lines.lock().unwrap().contains(text));
    }

    /// Waits for a condition, which must occur while the process runs.
    pub(crate) fn until(&mut self, condition: impl Fn() -> bool) {
        let held = self.until_or_end(condition);
        assert!(held, "the process ended first: {}", self.lines.lock().unwrap());
    }

    /// Waits for a condition or the end of the process. Returns whether the condition holds.
    pub(crate) fn until_or_end(&mut self, condition: impl Fn() -> bool) -> bool {
        let began = Instant::now();
        while !condition() {
            if self.child.try_wait().unwrap().is_some() {
                return condition();
            }
            assert!(began.elapsed() < timeout(), "timeout: {}", self.lines.lock().unwrap());
            std::thread::sleep(Duration::from_millis(10));
        }
        true
    }

    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    /// Sends SIGKILL. Returns the time, in Unix microseconds.
    pub(crate) fn kill(mut self) -> u64 {
        self.child.kill().unwrap();
        // The process is dead only after `wait`.
        self.child.wait().unwrap();
        let killed_us = now_us();
        self.wait();
        killed_us
    }

    /// Process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn wait(mut self) -> Ended {
        let began = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            if began.elapsed() > timeout() {
                self.child.kill().unwrap();
                panic!("the process does not end: {}", self.lines.lock().unwrap());
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

/// Peak memory of a process so far, in bytes; `None` when it has ended.
pub(crate) fn memory_bytes(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// Unix time in microseconds.
pub(crate) fn now_us() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_micros() as u64
}

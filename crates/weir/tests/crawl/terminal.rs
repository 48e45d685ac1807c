//! `weir crawl` and `weir demo` on a synthetic Web, as their users and the shell see them.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use simweb::{Endpoints, PageRef, Settings, SimWeb};

fn weir() -> Command {
    Command::new(env!("CARGO_BIN_EXE_weir"))
}

fn run(arguments: &[&str]) -> Output {
    weir().args(arguments).output().unwrap()
}

/// A small Web without faults, and a collection that may crawl it with this wait.
fn web_and_collection(folder: &Path, wait: &str) -> SimWeb {
    let mut settings = Settings::plain();
    settings.set("sites", 10.0).unwrap();
    settings.set("pages", 200.0).unwrap();
    let web = SimWeb::start(settings.checked().unwrap(), &Endpoints::default()).unwrap();
    let dir = folder.join("c").into_os_string().into_string().unwrap();
    let portal = web.world.url(PageRef { site: 0, page: 0 });
    assert!(run(&["init", &dir, "--seed", &portal, "--accept", ".test"]).status.success());
    write_settings(folder, &web, wait);
    web
}

fn write_settings(folder: &Path, web: &SimWeb, wait: &str) {
    let text = format!(
        "[crawl]\nlongest_pause = '1s'\n[politeness]\nwait = '{wait}'\nlarge_site_wait = '{wait}'\n\
         [dns]\nservers = ['{}']\n[network]\nallowed = ['127.0.0.0/8']\n[scope]\naccept = ['.test']\n",
        web.dns.unwrap()
    );
    fs::write(folder.join("c/weir.toml"), text).unwrap();
}

fn dir(folder: &Path) -> String {
    folder.join("c").into_os_string().into_string().unwrap()
}

fn spawn(folder: &Path) -> Child {
    let mut command = weir();
    command.args(["crawl", &dir(folder), "--json", "--progress"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Reads lines of stderr up to one that contains a text.
fn wait_for(lines: &mut impl BufRead, text: &str) -> String {
    let mut line = String::new();
    while !line.contains(text) {
        line.clear();
        assert_ne!(lines.read_line(&mut line).unwrap(), 0, "the crawl ended without `{text}`");
    }
    line
}

/// The rest of both outputs, and the exit code.
fn finish(mut child: Child, stderr: &mut impl Read) -> (i32, String, String) {
    let (mut out, mut err) = (String::new(), String::new());
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    stderr.read_to_string(&mut err).unwrap();
    (child.wait().unwrap().code().unwrap(), out, err)
}

#[test]
fn a_crawl_finds_the_web_and_sums_it_up() {
    let folder = tempfile::tempdir().unwrap();
    let web = web_and_collection(folder.path(), "1ms");
    let output = run(&["crawl", &dir(folder.path()), "--json"]);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!((output.status.code(), err.as_ref()), (Some(0), ""), "{out}");
    let summary: serde_json::Value = serde_json::from_str(&out).unwrap();
    for name in ["pages_known", "pages_fetched", "sites", "bytes", "links", "cycle"] {
        assert!(summary[name].as_u64().unwrap() > 0, "{name}: {summary}");
    }
    for name in ["seconds", "cpu_seconds", "pages_per_second"] {
        assert!(summary[name].as_f64().unwrap() > 0.0, "{name}: {summary}");
    }
    assert!(summary["pages_fetched"].as_u64().unwrap() > 100, "{summary}");
    assert_eq!((&summary["pages_queued"], &summary["stopped"]), (&0.into(), &false.into()), "{summary}");

    let portal = web.world.url(PageRef { site: 0, page: 0 });
    let why = run(&["why", &dir(folder.path()), &portal, "--json"]);
    let story: serde_json::Value = serde_json::from_slice(&why.stdout).unwrap();
    assert_eq!(
        (story["state"].as_str(), story["history"][0]["status"].as_u64()),
        (Some("fetched"), Some(200))
    );
}

#[test]
fn a_limit_ends_it_sooner() {
    let folder = tempfile::tempdir().unwrap();
    let _web = web_and_collection(folder.path(), "1ms");
    let output = run(&["crawl", &dir(folder.path()), "--pages", "20", "--json"]);
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(summary["stopped"], true, "{summary}");
    assert!((1..=20).contains(&summary["pages_now"].as_u64().unwrap()), "{summary}");
}

#[test]
fn an_interrupted_crawl_stops_in_order_and_says_so_to_the_shell() {
    let folder = tempfile::tempdir().unwrap();
    let _web = web_and_collection(folder.path(), "200ms");
    for name in ["INT", "TERM"] {
        let mut child = spawn(folder.path());
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        wait_for(&mut stderr, "pages, ");
        signal(&child, name);
        wait_for(&mut stderr, "stopping: requests under way are waited for; once more stops at once");
        let (code, out, _) = finish(child, &mut stderr);
        let summary: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!((code, &summary["stopped"]), (130, &true.into()), "{summary}");
    }
    assert_eq!(run(&["check", &dir(folder.path())]).status.code(), Some(0));
}

#[test]
fn a_running_crawl_takes_new_settings() {
    let folder = tempfile::tempdir().unwrap();
    let web = web_and_collection(folder.path(), "200ms");
    let mut child = spawn(folder.path());
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    wait_for(&mut stderr, "pages, ");
    fs::write(folder.path().join("c/weir.toml"), "[politeness]\nwait = 1").unwrap();
    signal(&child, "HUP");
    wait_for(&mut stderr, "the settings stay as they are: ");
    write_settings(folder.path(), &web, "1ms");
    signal(&child, "HUP");
    let line = wait_for(&mut stderr, "new settings hold from now on");
    assert!(line.contains("politeness.wait, politeness.large_site_wait"), "{line}");
    let (code, out, err) = finish(child, &mut stderr);
    assert_eq!(code, 0, "{err}");
    let summary: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(summary["stopped"], false, "{summary}");
}

#[test]
fn the_demo_makes_a_collection_and_replaces_nothing_but_itself() {
    let folder = tempfile::tempdir().unwrap();
    let dir = dir(folder.path());
    let arguments = ["demo", &dir, "--sites", "10", "--pages", "100"];
    let first = run(&arguments);
    let out = String::from_utf8_lossy(&first.stdout);
    assert_eq!(first.status.code(), Some(0), "{}", String::from_utf8_lossy(&first.stderr));
    assert!(out.contains("What to look at next:") && out.contains(&format!("weir status {dir}")), "{out}");
    let second = run(&[&arguments[..], &["--json"]].concat());
    let summary: serde_json::Value = serde_json::from_slice(&second.stdout).unwrap();
    assert!(summary["pages_fetched"].as_u64().unwrap() > 20, "{summary}");
    fs::remove_file(folder.path().join("c/demo")).unwrap();
    let third = run(&arguments);
    assert_eq!(third.status.code(), Some(2));
    let sentence = format!("weir: {dir} is there and is no demo; name another folder\n");
    assert_eq!(String::from_utf8_lossy(&third.stderr), sentence);
}

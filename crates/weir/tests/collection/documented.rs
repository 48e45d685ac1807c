//! Every command line of README.md and docs/ that needs no network is run as it is written, by a shell.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Names of collections in the documents; all are copies of one.
const COLLECTIONS: [&str; 6] = ["DIR", "DIR2", "chile", "example", "test-2026", "web"];

/// Commands that are not run here, by a part of their line and the reason.
const NOT_RUN: [(&str, &str); 16] = [
    ("weir crawl", "needs the sites"),
    ("weir demo", "creates the collection of this test"),
    ("weir serve", "runs until it is stopped"),
    ("http://127.0.0.1:9347/", "needs the server of the line before"),
    ("weir simweb", "runs until it is stopped, or writes seeds for a crawl"),
    ("weir worker", "needs a broker"),
    ("weir simulate", "has tests of its own, and takes minutes on a large Web"),
    ("init test-2026", "needs the seeds of the simulated Web"),
    ("weir sql", "needs a feature, and a query"),
    ("--pdf", "needs a feature"),
    ("--compare DIR2", "the same collection twice is refused"),
    ("--compare test-2026", "needs the collection of the next year"),
    ("weir snapshots", "a commit has only one name, and no crawl makes another"),
    ("--compare NAME", "a name of an example"),
    (" /srv/", "a path of an example"),
    (" /backup/", "a path of an example"),
];

#[test]
fn every_documented_command_runs_as_it_is_written() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    prepare(dir);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut counts = BTreeMap::new();
    let mut failures = Vec::new();
    for (document, text) in documents(&root) {
        for line in commands(&text) {
            if NOT_RUN.iter().any(|(part, _)| line.contains(part)) {
                continue;
            }
            // A collection is created beside the existing ones.
            let command = line.replace("weir init ", &format!("weir init {document}-"));
            let output = shell(dir, &with_known_page(dir, &command));
            let stderr = String::from_utf8_lossy(&output.stderr);
            *counts.entry(document.clone()).or_insert(0) += 1;
            if !output.status.success()
                || output.stdout.is_empty() && stderr.is_empty() && !line.contains('>')
            {
                failures.push(format!("{document}: `{line}`: {}: {stderr}", output.status));
            }
        }
    }
    assert!(failures.is_empty(), "\n{}\n", failures.join("\n"));
    assert!(counts.values().sum::<u32>() >= 35 && counts.contains_key("README.md"), "{counts:?}");
}

/// A crawled and analysed collection under every name that the documents use, and the files that they mention.
fn prepare(dir: &Path) {
    let run = |line: &str| {
        let output = shell(dir, line);
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    };
    run("weir demo web --no-serve && weir index web && weir snapshots web --create spring");
    for name in COLLECTIONS.iter().filter(|name| **name != "web") {
        run(&format!("cp -r web {name}"));
    }
    run("weir cat web --format urls | head -1 > known-page && weir cat web > pages.warc.gz");
    fs::write(dir.join("seeds.txt"), "https://www.example.cl/\n").unwrap();
    fs::write(dir.join("robots.txt"), "User-agent: *\nDisallow: /private/\n").unwrap();
    fs::write(dir.join("urls.txt"), "https://example.com/a\n").unwrap();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    std::os::unix::fs::symlink(corpus, dir.join("fuzz")).unwrap();
}

fn documents(root: &Path) -> Vec<(String, String)> {
    let docs = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = docs.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    paths.sort();
    paths.insert(0, root.join("README.md"));
    let read = |path: std::path::PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, fs::read_to_string(&path).unwrap().replace("\\\n", " "))
    };
    paths.into_iter().map(read).collect()
}

/// Command lines of code blocks, without prompt and explanation.
fn commands(text: &str) -> Vec<String> {
    let mut fenced = false;
    let mut found = Vec::new();
    for line in text.lines() {
        fenced ^= line.starts_with("```");
        let code = line.trim_start();
        let code = code.strip_prefix("$ ").unwrap_or(code);
        let is_example = code.starts_with("weir ") && !code.contains("...") && !code.contains("COMMAND");
        if is_example && (fenced || line.starts_with("    ")) {
            let end = code.find("   ").or_else(|| code.find(" #")).unwrap_or(code.len());
            found.push(code[..end].trim_end().to_owned());
        }
    }
    found
}

/// Names a page of the collection where the document has an address of its own.
fn with_known_page(dir: &Path, line: &str) -> String {
    let asks_for_page =
        ["weir why", "weir similar", "weir anchors"].iter().any(|start| line.starts_with(start));
    if !asks_for_page {
        return line.to_owned();
    }
    let known = fs::read_to_string(dir.join("known-page")).unwrap();
    let is_page = |word: &&str| word.starts_with("http") || *word == "URL";
    line.split(' ').map(|word| if is_page(&word) { known.trim() } else { word }).collect::<Vec<_>>().join(" ")
}

fn shell(dir: &Path, line: &str) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_weir")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    Command::new("bash").args(["-c", line]).current_dir(dir).env("PATH", path).output().unwrap()
}

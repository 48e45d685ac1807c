//! `weir check`: every flipped bit is detected.

use std::fs;
use std::path::{Path, PathBuf};

use super::{objects, run_text, sample};

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Damage done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Damage {
    Flip(usize),
    Cut,
    Append,
    Delete,
}

/// Reasons why a damage of a file is not reported; docs/operations.md has the same list.
fn exception(name: &str, damage: Damage, newest: &str) -> Option<&'static str> {
    let (file, is_deleted) = (name.rsplit('/').next().unwrap(), damage == Damage::Delete);
    match name {
        "weir.toml" => Some("the user edits it"),
        _ if file == "LOCK" || file.ends_with(".lock") => Some("it is empty; its lock is what counts"),
        _ if name.ends_with(".pin") && is_deleted => Some("the snapshot was deleted"),
        _ if name.starts_with("manifests/") && is_deleted && name != newest => Some("old commits expire"),
        _ => None,
    }
}

/// Corrupt files that a check reports; for a check that is not possible, the error.
fn reported(dir: &Path) -> String {
    let mut names = String::new();
    let outcome = store::check(dir, None, |event| {
        if let store::CheckEvent::Corruption(corruption) = event {
            names.push_str(&format!("{} {}: {}\n", corruption.file, corruption.location, corruption.cause));
        }
    });
    match outcome {
        Ok(report) => names + &report.remarks.join("\n"),
        Err(error) => error.to_string(),
    }
}

/// Damages a file, and returns the report of the check.
fn check_damaged(dir: &Path, path: &Path, bytes: &[u8], damage: Damage) -> String {
    match damage {
        Damage::Flip(at) => {
            let mut flipped = bytes.to_vec();
            flipped[at] ^= 1;
            fs::write(path, flipped).unwrap();
        }
        Damage::Append => fs::write(path, [bytes, b"\0"].concat()).unwrap(),
        Damage::Cut => fs::write(path, &bytes[..bytes.len() - 1]).unwrap(),
        Damage::Delete => fs::remove_file(path).unwrap(),
    }
    let report = reported(dir);
    fs::write(path, bytes).unwrap();
    report
}

#[test]
fn any_file_that_is_changed_cut_extended_or_deleted_is_named() {
    let temp = tempfile::tempdir().unwrap();
    let dir = &temp.path().join("c");
    let mut collection = sample::make(dir, 1);
    // Only pages with content are indexed.
    let pages: Vec<model::PageId> = (0..5).map(model::PageId).collect();
    collection
        .page_state
        .update(&pages, |index, page| (page.content_hash, page.content_bytes) = (index as u64 + 1, 1))
        .unwrap();
    collection.commit(1_794_731_500_000).unwrap();
    drop(collection);
    fs::write(dir.join("weir.toml"), "[crawl]\n").unwrap();
    let weir = |arguments: &[&str]| assert_eq!(run_text(dir, arguments).0, 0, "{arguments:?}");
    weir(&["snapshots", "DIR", "--create", "spring"]);
    weir(&["index", "DIR"]);
    weir(&["report", "DIR"]);
    assert_eq!(reported(dir), "");
    let newest = store::find_snapshot(dir, None).unwrap().generation;
    let newest = format!("manifests/{newest:010}");
    let files = files(dir);
    assert!(
        files.len() > 90 && files.iter().any(|path| path.extension().is_some_and(|end| end == "idx")),
        "{files:?}"
    );
    let mut exceptions = Vec::new();
    for path in files {
        let name = path.strip_prefix(dir).unwrap().to_str().unwrap();
        let bytes = fs::read(&path).unwrap();
        let mut damages = vec![Damage::Delete, Damage::Append];
        if !bytes.is_empty() {
            damages.extend([Damage::Cut, Damage::Flip(bytes.len() / 2), Damage::Flip(bytes.len() - 1)]);
        }
        // Files below `parquet` are hard links to those of the tables.
        let alias = name.strip_prefix("parquet/").map_or(name, |linked| linked.split_once('/').unwrap().1);
        for damage in damages {
            let report = check_damaged(dir, &path, &bytes, damage);
            let is_named = report.contains(name) || (damage != Damage::Delete && report.contains(alias));
            match exception(name, damage, &newest) {
                Some(_) => exceptions.push(name.to_owned()),
                None => assert!(is_named, "{damage:?} of {name}: {report}"),
            }
        }
    }
    exceptions.dedup();
    assert!(exceptions.len() < 12, "{exceptions:?}");
    assert_eq!(reported(dir), "", "everything is restored");
}

#[test]
fn errors_are_printed_with_what_they_affect_and_set_the_exit_code() {
    let temp = tempfile::tempdir().unwrap();
    let dir = &temp.path().join("c");
    drop(sample::make(dir, 1));
    assert_eq!(run_text(dir, &["index", "DIR"]).0, 0);
    assert_eq!(run_text(dir, &["analyze", "DIR"]).0, 0);
    for (part, affected) in [
        ("text/index/meta.json", "the text index"),
        ("ranks/pages-pagerank-", "the ranks pages-pagerank of the last analysis"),
        ("graph/statistics-", "statistics for reports"),
        ("/forward.graph", "the link graph of the last analysis"),
        ("parquet/sites/", "rows of the table sites"),
    ] {
        let path = files(dir).into_iter().find(|path| path.to_str().unwrap().contains(part)).unwrap();
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, [&bytes[..], b"x"].concat()).unwrap();
        let (code, out, err) = run_text(dir, &["check", "DIR"]);
        assert_eq!((code, err.as_str()), (1, ""), "{out}");
        assert!(out.contains(part) && out.contains(&format!("\n  affects {affected}\n")), "{out}");
        fs::write(&path, bytes).unwrap();
    }
    fs::write(dir.join("ranks/notes.txt"), "of a user").unwrap();
    let (code, out, _) = run_text(dir, &["check", "DIR"]);
    assert!(code == 0 && out.contains("ranks/notes.txt is not referenced by any commit\n"), "{out}");
}

#[test]
fn bytes_after_the_committed_end_are_remarked_in_growing_files_and_errors_in_others() {
    let temp = tempfile::tempdir().unwrap();
    let dir = &temp.path().join("c");
    drop(sample::make(dir, 1));
    let extend = |name: &str| {
        let path = files(dir).into_iter().find(|path| path.to_str().unwrap().contains(name)).unwrap();
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, [&bytes[..], b"surplus"].concat()).unwrap();
        (path, bytes)
    };
    let (grown, committed) = extend("/pages/weir-");
    let (code, out, _) = run_text(dir, &["check", "DIR"]);
    assert!(code == 0 && out.contains("warc.gz has 7 bytes after its commit: "), "{out}");
    drop(store::Collection::open(dir, store::StoreSettings::default()).unwrap());
    assert_eq!(fs::read(&grown).unwrap(), committed, "the next command that writes removes them");
    let (path, committed) = extend(".cdxj");
    let (code, out, _) = run_text(dir, &["check", "DIR"]);
    let found = format!("at its end: {} bytes, expected {}\n", committed.len() + 7, committed.len());
    assert!(code == 1 && out.contains(&found) && out.contains("affects the CDXJ index"), "{out}");
    fs::write(path, committed).unwrap();
    assert_eq!(run_text(dir, &["check", "DIR"]).0, 0);
}

#[test]
fn a_copy_without_symbolic_links_is_checked_too() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(dir, 1));
    for path in files(&dir.join("parquet")).into_iter().chain([dir.join("MANIFEST")]) {
        let mut bytes = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, &bytes).unwrap();
        assert_eq!(run_text(dir, &["check", "DIR"]).0, 0);
        bytes[40] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let (code, out, _) = run_text(dir, &["check", "DIR"]);
        assert!(code == 1 && out.contains(path.strip_prefix(dir).unwrap().to_str().unwrap()), "{out}");
        bytes[40] ^= 1;
        fs::write(&path, &bytes).unwrap();
    }
}

#[test]
fn missing_and_truncated_files_are_found() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(dir, 2));
    let manifest = store::find_snapshot(dir, None).unwrap();
    for entry in &manifest.files {
        let path = dir.join(&entry.name);
        let bytes = fs::read(&path).unwrap();
        if bytes.is_empty() {
            continue;
        }
        fs::remove_file(&path).unwrap();
        let (code, out, _) = run_text(dir, &["check", "DIR"]);
        assert!(code == 1 && out.contains(&entry.name), "{out}");
        fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        let (code, out, _) = run_text(dir, &["check", "DIR"]);
        assert!(code == 1 && out.contains(&entry.name), "{out}");
        fs::write(&path, &bytes).unwrap();
    }
    assert_eq!(run_text(dir, &["check", "DIR"]).0, 0);
}

#[test]
fn all_errors_are_listed_with_the_affected_pages() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(dir, 1));
    let flip = |name: &str, at: u64| {
        let path = dir.join(name);
        let mut bytes = fs::read(&path).unwrap();
        bytes[at as usize] ^= 1;
        fs::write(path, bytes).unwrap();
    };
    let snapshot = store::Snapshot::open(dir, None).unwrap();
    for page in [1, 3] {
        let location =
            snapshot.page_state.get(model::PageId(page)).unwrap().unwrap().record_location.unwrap();
        flip("pages/weir-000000.warc.gz", location.offset + u64::from(location.length) / 2);
    }
    flip("links/0000000002-0000000002.links", 20);
    fs::write(dir.join("urls/stranger"), "x").unwrap();

    let (code, out, _) = run_text(dir, &["check", "DIR"]);
    assert_eq!(code, 1);
    for text in [
        "  affects the stored page https://a.test/docs/Guide\n",
        "  affects the stored page http://b.test:8080/\n",
        "  affects the links of some pages\n",
        "urls/stranger is not referenced by any commit",
    ] {
        assert!(out.contains(text), "{text}\n{out}");
    }
    let (code, out, _) = run_text(dir, &["check", "DIR", "--json"]);
    let findings: Vec<serde_json::Value> =
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(findings.iter().any(|finding| finding["url"] == "https://a.test/docs/Guide"), "{out}");
    let summary = findings.last().unwrap();
    assert_eq!(
        (code, &summary["ok"], &summary["unreferenced_files"][0]),
        (1, &false.into(), &"urls/stranger".into())
    );
}

#[test]
fn a_page_state_that_points_to_the_record_of_another_page_is_found() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    let mut collection = sample::make(dir, 1);
    let other = collection.page_state.reader().get(model::PageId(0)).unwrap().unwrap().record_location;
    collection.page_state.update(&[model::PageId(1)], |_, page| page.record_location = other).unwrap();
    collection.page_state.update(&[model::PageId(2)], |_, page| page.site = model::SiteId(1)).unwrap();
    collection.commit(1).unwrap();
    let (code, out, _) = run_text(dir, &["check", "DIR"]);
    assert_eq!(code, 1);
    assert!(out.contains("found the record of https://a.test/, expected page 1"), "{out}");
    assert!(out.contains("https://a.test/docs/guide?x=1 does not belong to site 1"), "{out}");
}

#[test]
fn a_collection_without_errors_prints_one_line() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    // The check does not need the lock of the writer.
    let _writer = sample::make(dir, 1);
    let (code, out, err) = run_text(dir, &["check", "DIR"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.starts_with("ok: ") && out.ends_with(" 6 pages, 7 records\n"), "{out}");
}

#[test]
fn a_damaged_analysis_and_text_index_are_made_again() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(dir, 2));
    for command in ["analyze", "index"] {
        assert_eq!(run_text(dir, &[command, "DIR"]).0, 0);
    }
    let damage = |start: &str| {
        let is_chosen = |path: &&PathBuf| {
            let name = path.strip_prefix(dir).unwrap().to_string_lossy().into_owned();
            name.starts_with(start) && fs::metadata(path).unwrap().len() > 8
        };
        let path = files(dir).iter().find(is_chosen).unwrap().clone();
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(path, bytes).unwrap();
    };
    for start in ["ranks/pages-pagerank", "graph/00", "graph/statistics-", "parquet/pages/", "text/index/"] {
        damage(start);
        assert_eq!(run_text(dir, &["check", "DIR"]).0, 1, "{start}");
        let (code, out, err) = run_text(dir, &["check", "DIR", "--repair"]);
        assert!(code == 0 && err.contains("weir: repairing the "), "{start}: {out}{err}");
        assert_eq!(objects(dir, &["check", "DIR"])[0]["ok"], true, "{start}");
    }
    assert_eq!(run_text(dir, &["search", "DIR", "version"]).0, 0);

    // Stored data cannot be made again.
    damage("pages/weir-");
    let (code, _, err) = run_text(dir, &["check", "DIR", "--repair"]);
    assert!(code == 1 && err.contains("cannot repair"), "{err}");
}

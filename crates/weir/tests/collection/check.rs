//! `weir check`: every flipped bit is detected.

use std::fs;
use std::path::{Path, PathBuf};

use super::{objects, run_text, sample};

/// Files that are not part of a commit, so that they have no checksum.
const UNCHECKED: [&str; 2] = ["LOCK", "weir.toml"];

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

#[test]
fn a_flipped_byte_in_any_file_is_found_and_the_file_is_named() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(dir, 3));
    let files: Vec<PathBuf> =
        files(dir).into_iter().filter(|path| fs::metadata(path).unwrap().len() > 0).collect();
    assert!(files.len() > 25, "{files:?}");
    for path in files {
        let name = path.strip_prefix(dir).unwrap().to_str().unwrap();
        if UNCHECKED.contains(&name) {
            continue;
        }
        // `parquet` contains symbolic links to the files of the tables.
        let name = name.strip_prefix("parquet/").map_or(name, |linked| linked.split_once('/').unwrap().1);
        let bytes = fs::read(&path).unwrap();
        for at in (0..bytes.len()).step_by(bytes.len() / 4 + 1).chain([bytes.len() - 1]) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            fs::write(&path, &flipped).unwrap();
            let (code, out, err) = run_text(dir, &["check", "DIR"]);
            assert_eq!((code, err.as_str()), (1, ""), "byte {at} of {name}: {out}");
            assert!(out.contains(name) && out.contains("\n  affects "), "byte {at} of {name}: {out}");
        }
        fs::write(&path, &bytes).unwrap();
    }
    assert_eq!(objects(dir, &["check", "DIR"])[0]["ok"], true);
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

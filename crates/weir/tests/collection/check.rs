//! `weir check`: no flipped bit escapes it.

use std::fs;
use std::path::{Path, PathBuf};

use super::{objects, sample, told};

/// Files that are not part of a commit: nobody knows what should be in them.
const UNCHECKED: [&str; 2] = ["LOCK", "weir.toml"];

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
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
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    drop(sample::make(dir, 3));
    let files: Vec<PathBuf> =
        files(dir).into_iter().filter(|path| fs::metadata(path).unwrap().len() > 0).collect();
    assert!(files.len() > 25, "{files:?}");
    for path in files {
        let name = path.strip_prefix(dir).unwrap().to_str().unwrap();
        if UNCHECKED.contains(&name) {
            continue;
        }
        // The view of the tables is links to their files.
        let name = name.strip_prefix("parquet/").map_or(name, |linked| linked.split_once('/').unwrap().1);
        let bytes = fs::read(&path).unwrap();
        for at in (0..bytes.len()).step_by(bytes.len() / 4 + 1).chain([bytes.len() - 1]) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            fs::write(&path, &flipped).unwrap();
            let (code, out, err) = told(dir, &["check", "DIR"]);
            assert_eq!((code, err.as_str()), (1, ""), "byte {at} of {name}: {out}");
            assert!(out.contains(name) && out.contains("\n  affects "), "byte {at} of {name}: {out}");
        }
        fs::write(&path, &bytes).unwrap();
    }
    assert_eq!(objects(dir, &["check", "DIR"])[0]["sound"], true);
}

#[test]
fn a_copy_without_links_is_checked_too() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    drop(sample::make(dir, 1));
    for path in files(&dir.join("parquet")).into_iter().chain([dir.join("MANIFEST")]) {
        let mut bytes = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, &bytes).unwrap();
        assert_eq!(told(dir, &["check", "DIR"]).0, 0);
        bytes[40] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let (code, out, _) = told(dir, &["check", "DIR"]);
        assert!(code == 1 && out.contains(path.strip_prefix(dir).unwrap().to_str().unwrap()), "{out}");
        bytes[40] ^= 1;
        fs::write(&path, &bytes).unwrap();
    }
}

#[test]
fn files_that_are_gone_or_cut_off_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    drop(sample::make(dir, 2));
    let manifest = store::find_snapshot(dir, None).unwrap();
    for entry in &manifest.files {
        let path = dir.join(&entry.name);
        let bytes = fs::read(&path).unwrap();
        if bytes.is_empty() {
            continue;
        }
        fs::remove_file(&path).unwrap();
        let (code, out, _) = told(dir, &["check", "DIR"]);
        assert!(code == 1 && out.contains(&entry.name), "{out}");
        fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        let (code, out, _) = told(dir, &["check", "DIR"]);
        assert!(code == 1 && out.contains(&entry.name), "{out}");
        fs::write(&path, &bytes).unwrap();
    }
    assert_eq!(told(dir, &["check", "DIR"]).0, 0);
}

#[test]
fn it_goes_on_and_tells_which_pages_are_affected() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    drop(sample::make(dir, 1));
    let flip = |name: &str, at: u64| {
        let path = dir.join(name);
        let mut bytes = fs::read(&path).unwrap();
        bytes[at as usize] ^= 1;
        fs::write(path, bytes).unwrap();
    };
    let snapshot = store::Snapshot::open(dir, None).unwrap();
    for page in [1, 3] {
        let place = snapshot.pages.get(model::PageId(page)).unwrap().unwrap().stored.unwrap();
        flip("pages/weir-000000.warc.gz", place.offset + u64::from(place.length) / 2);
    }
    flip("links/0000000002-0000000002.links", 20);
    fs::write(dir.join("urls/stranger"), "x").unwrap();

    let (code, out, _) = told(dir, &["check", "DIR"]);
    assert_eq!(code, 1);
    for words in [
        "  affects the stored page https://a.test/docs/Guide\n",
        "  affects the stored page http://b.test:8080/\n",
        "  affects the links of some pages\n",
        "urls/stranger belongs to no commit",
    ] {
        assert!(out.contains(words), "{words}\n{out}");
    }
    let (code, out, _) = told(dir, &["check", "DIR", "--json"]);
    let answers: Vec<serde_json::Value> =
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(answers.iter().any(|answer| answer["url"] == "https://a.test/docs/Guide"), "{out}");
    let end = answers.last().unwrap();
    assert_eq!((code, &end["sound"], &end["unnamed"][0]), (1, &false.into(), &"urls/stranger".into()));
}

#[test]
fn a_page_whose_state_leads_elsewhere_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let mut collection = sample::make(dir, 1);
    let other = collection.pages.reader().get(model::PageId(0)).unwrap().unwrap().stored;
    collection.pages.update(&[model::PageId(1)], |_, page| page.stored = other).unwrap();
    collection.pages.update(&[model::PageId(2)], |_, page| page.site = model::SiteId(1)).unwrap();
    collection.commit(1).unwrap();
    let (code, out, _) = told(dir, &["check", "DIR"]);
    assert_eq!(code, 1);
    assert!(out.contains("there is https://a.test/, where page 1 should be"), "{out}");
    assert!(out.contains("https://a.test/docs/guide?x=1 is not of the site 1"), "{out}");
}

#[test]
fn a_sound_collection_is_told_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    // Somebody may be writing.
    let _writer = sample::make(dir, 1);
    let (code, out, err) = told(dir, &["check", "DIR"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.starts_with("sound: ") && out.ends_with(" 6 pages, 7 records\n"), "{out}");
}

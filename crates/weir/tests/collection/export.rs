//! `weir export`.

use std::fs;
use std::path::Path;
use std::process::Command;

use store::{Snapshot, VerifyLevel};
use warc::{WarcReader, WarcRecord, WarcType};

use super::venv::{run, venv};
use super::{objects, run_text, sample};

fn records(path: &Path) -> Vec<WarcRecord> {
    WarcReader::open(path).unwrap().map(Result::unwrap).collect()
}

fn response<'r>(records: &'r [WarcRecord], url: &str) -> &'r WarcRecord {
    records.iter().find(|record| record.header.url() == Some(url)).unwrap()
}

#[test]
fn a_warc_export_has_the_newest_versions_and_an_index() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(&dir.join("c"), 3));
    let output = &objects(dir, &["export", "DIR/c", "--format", "warc", "DIR/out"])[0];
    assert_eq!((&output["records"], &output["files"]), (&6.into(), &1.into()));
    let records = records(&dir.join("out/weir-000000.warc.gz"));
    assert_eq!((records.len(), records[0].header.warc_type()), (7, WarcType::Warcinfo));
    assert_eq!(response(&records, sample::URLS[1]).payload(), sample::body(1, 2));
    let copy = response(&records, sample::URLS[4]);
    assert_eq!(copy.header.warc_type(), WarcType::Revisit);
    let original = copy.header.get("WARC-Refers-To-Target-URI").unwrap();
    assert_eq!(response(&records, original).payload(), sample::body(4, 2));

    // Each line of the index points to its record.
    let index = fs::read_to_string(dir.join("out/index.cdxj")).unwrap();
    let mut lines: Vec<&str> = index.lines().collect();
    assert_eq!(lines.len(), 6);
    assert!(lines.is_sorted());
    lines.dedup();
    let bytes = fs::read(dir.join("out/weir-000000.warc.gz")).unwrap();
    for line in lines {
        let json: serde_json::Value = serde_json::from_str(line.splitn(3, ' ').nth(2).unwrap()).unwrap();
        let number = |name: &str| json[name].as_str().unwrap().parse::<usize>().unwrap();
        let member = &bytes[number("offset")..number("offset") + number("length")];
        fs::write(dir.join("one.warc.gz"), member).unwrap();
        let one = self::records(&dir.join("one.warc.gz"));
        assert_eq!((one.len(), one[0].header.url()), (1, json["url"].as_str()));
    }
}

#[test]
fn a_wacz_file_passes_the_validator() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(&dir.join("c"), 3));
    let output = &objects(dir, &["export", "DIR/c", "--format", "wacz", "DIR/c.wacz", "--site", "a.test"])[0];
    assert_eq!((&output["records"], &output["files"]), (&3.into(), &1.into()));
    let names: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "temporary files remain: {names:?}");
    let (code, _, err) = run_text(dir, &["export", "DIR/c", "--format", "wacz", "DIR/c.wacz"]);
    assert_eq!((code, err.as_str()), (2, "weir: DIR/c.wacz already exists\n"));
    let Some(bin) = venv() else { return };
    let file = dir.join("c.wacz");
    let output = run(Command::new(bin.join("wacz")).arg("validate").arg("-f").arg(&file));
    assert!(output.contains("Validation succeeded"), "{output}");
    let list =
        "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); print(z.testzip(), *sorted(z.namelist()))";
    let output = run(Command::new(bin.join("python")).args(["-c", list]).arg(&file));
    let parts = "archive/weir-000000.warc.gz datapackage-digest.json datapackage.json indexes/index.cdx.gz \
                 indexes/index.idx pages/pages.jsonl";
    assert_eq!(output.trim_end(), format!("None {parts}"));
}

#[test]
fn pywb_replays_the_pages_of_a_wacz_file() {
    let Some(bin) = venv() else { return };
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(&dir.join("c"), 3));
    objects(dir, &["export", "DIR/c", "--format", "wacz", "DIR/c.wacz"]);
    let work = dir.join("work");
    fs::create_dir(&work).unwrap();
    // All pages but the last, which is a 404; the fifth is a revisit record.
    let pages = &sample::URLS[..5];
    let list: String = pages.iter().map(|url| format!("20261115083200\t{url}\n")).collect();
    fs::write(work.join("pages.tsv"), list).unwrap();
    for number in 0..pages.len() {
        fs::write(work.join(format!("{number}.body")), sample::body(number, 2)).unwrap();
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/tests/python/replay.py");
    let output = run(Command::new(bin.join("python")).arg(script).arg(dir.join("c.wacz")).arg(&work));
    assert_eq!(output.trim(), "5 pages replayed");
}

#[test]
fn versions_and_sites_can_be_selected() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(&dir.join("c"), 3));
    let records = |arguments: &[&str]| {
        let output = &objects(dir, &[&["export", "DIR/c", "--format", "warc"], arguments].concat())[0];
        output["records"].as_u64().unwrap()
    };
    assert_eq!(records(&["DIR/all", "--all-versions"]), 18);
    assert_eq!(records(&["DIR/site", "--site", "a.test"]), 3);
    assert_eq!(records(&["DIR/old", "--snapshot", "2", "--all-versions"]), 6);
    let (code, _, err) =
        run_text(dir, &["export", "DIR/c", "--format", "warc", "DIR/none", "--site", "https://c.test"]);
    assert_eq!((code, err.as_str()), (2, "weir: no site `https://c.test` in the collection\n"));
}

#[test]
fn a_mirror_has_the_bodies_of_the_fetched_pages() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(&dir.join("c"), 2));
    let (code, out, err) = run_text(dir, &["export", "DIR/c", "--format", "mirror", "DIR/out"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.starts_with("exported 5 records (5 files, "), "{out}");
    let file = |name: &str| fs::read(dir.join("out").join(name)).unwrap();
    assert_eq!(file("a.test/index.html"), sample::body(0, 1));
    assert_eq!(
        file("b.test%3A8080/copy.html"),
        sample::body(4, 1),
        "the body of a duplicate is in another record"
    );
    let docs: Vec<_> =
        fs::read_dir(dir.join("out/a.test/docs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(docs.len(), 2, "{docs:?}");
    assert!(!dir.join("out/b.test%3A8080/gone.html").exists());
}

#[test]
fn a_mirror_has_pages_whose_last_fetch_was_not_modified() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    let mut collection = sample::make(&dir.join("c"), 1);
    collection.page_state.update(&[model::PageId(0)], |_, page| page.status = 304).unwrap();
    collection.commit(1).unwrap();
    drop(collection);
    let output =
        &objects(dir, &["export", "DIR/c", "--format", "mirror", "DIR/out", "--site", "https://a.test/"])[0];
    assert_eq!(output["records"], 3);
    assert!(dir.join("out/a.test/index.html").exists());
}

#[test]
fn a_parquet_export_has_the_tables_of_the_commit() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(&dir.join("c"), 2));
    let output = &objects(dir, &["export", "DIR/c", "--format", "parquet", "DIR/out"])[0];
    let manifest = Snapshot::open(&dir.join("c"), None).unwrap().manifest;
    assert_eq!(output["files"].as_u64().unwrap() as usize, manifest.files_in("tables").count());
    for entry in manifest.files_in("tables") {
        let name = entry.name.strip_prefix("tables/").unwrap();
        let copy = dir.join("out").join(name.split('-').next().unwrap()).join(name);
        assert_eq!(fs::read(copy).unwrap(), fs::read(dir.join("c").join(&entry.name)).unwrap());
    }
}

#[test]
fn a_parquet_export_has_the_tables_of_the_analysis_of_its_commit() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    let mut collection = sample::make(&dir.join("c"), 2);
    objects(dir, &["analyze", "DIR/c"]);
    objects(dir, &["export", "DIR/c", "--format", "parquet", "DIR/out"]);
    let copies = |out: &str, table: &str| fs::read_dir(dir.join(out).join(table)).map_or(0, Iterator::count);
    for table in
        ["pages", "ranks", "components", "sites", "domains", "rejected_links", "linked_files", "anchors"]
    {
        assert_eq!(copies("out", table), 1, "{table}");
    }
    collection.commit(1).unwrap();
    objects(dir, &["export", "DIR/c", "--format", "parquet", "DIR/later"]);
    assert_eq!((copies("later", "pages"), copies("later", "fetches") > 0), (0, true));
}

#[test]
fn existing_files_are_not_overwritten() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(&dir.join("c"), 1));
    for format in ["warc", "parquet", "mirror"] {
        let refused = run_text(dir, &["export", "DIR/c", "--format", format, "DIR/c"]);
        let message = "weir: DIR/c is not an empty directory\n";
        assert_eq!(refused, (2, String::new(), message.to_owned()));
    }
    let (code, _, err) =
        run_text(dir, &["export", "DIR/c", "--format", "parquet", "DIR/out", "--site", "a.test"]);
    assert!(code == 2 && err.contains("--site cannot be used with --format parquet"), "{err}");
}

#[test]
fn a_damaged_record_is_skipped_and_reported() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    let collection = sample::make(&dir.join("c"), 1);
    let location =
        collection.page_state.reader().get(model::PageId(0)).unwrap().unwrap().record_location.unwrap();
    drop(collection);
    let path = dir.join("c/pages/weir-000000.warc.gz");
    let mut bytes = fs::read(&path).unwrap();
    bytes[location.offset as usize + 30] ^= 1;
    fs::write(&path, bytes).unwrap();
    let snapshot = Snapshot::open(&dir.join("c"), None).unwrap();
    assert!(snapshot.page_store.read(&location, VerifyLevel::Checksum).is_err());
    // Page 5 is not in a mirror, because its status is 404.
    for (format, records) in [("warc", 5), ("wacz", 5), ("mirror", 4)] {
        let arguments = ["export", "DIR/c", "--format", format, &format!("DIR/out.{format}")];
        let (code, out, err) = run_text(dir, &arguments);
        assert_eq!(code, 1);
        assert!(out.starts_with(&format!("exported {records} records (")), "{out}");
        let cause =
            format!("{} skipped: DIR/c/pages/weir-000000.warc.gz is corrupt at byte", sample::URLS[0]);
        assert!(err.contains(&cause), "{err}");
        assert!(err.contains("1 record damaged and skipped; run `weir check DIR/c`"), "{err}");
    }
}

#[test]
fn a_wacz_export_neither_removes_nor_packs_files_of_the_user() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(&dir.join("c"), 1));
    let mut letters = Vec::new();
    for name in ["c.wacz.dir", "c.wacz.parts", "c.wacz.tmp"] {
        fs::create_dir(dir.join(name)).unwrap();
        letters.push(dir.join(name).join("letter.gz"));
    }
    letters.iter().for_each(|letter| fs::write(letter, "dear").unwrap());
    objects(dir, &["export", "DIR/c", "--format", "wacz", "DIR/c.wacz"]);
    for letter in &letters {
        assert_eq!(fs::read_to_string(letter).unwrap(), "dear");
    }
    let package = fs::read(dir.join("c.wacz")).unwrap();
    assert!(!package.windows(9).any(|part| part == b"letter.gz"));
    assert_eq!(fs::read_dir(dir).unwrap().count(), 5, "no temporary files are left");
}

/// URL, second, status, digest and outcome of a fetch, and whether it is a duplicate.
type FetchFacts = (String, i64, i16, Option<String>, String, bool);

/// All fetches; each has a readable version.
fn fetches(dir: &Path) -> Vec<FetchFacts> {
    let snapshot = Snapshot::open(dir, None).unwrap();
    let rows = store::TableReader::<store::FetchRows>::open_committed(dir, &snapshot.manifest).unwrap();
    let mut fetches = Vec::new();
    rows.for_each_row(|row| {
        fetches.push((
            row.url.to_owned(),
            row.fetch_time / 1_000,
            row.fetch_status,
            row.content_digest.map(str::to_owned),
            row.outcome.to_owned(),
            row.duplicate_of.is_some(),
        ));
        let versions = snapshot.page_store.versions(row.url).unwrap();
        let version = versions.iter().find(|version| version.fetched_at_ms / 1_000 == row.fetch_time / 1_000);
        snapshot.page_store.read(&version.unwrap().location, VerifyLevel::Digests).unwrap();
    })
    .unwrap();
    fetches.sort_unstable();
    fetches
}

#[test]
fn an_export_is_imported_without_loss() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    // Every page changes, then is unchanged, then changes again; two pages are always equal, and one is their duplicate at times.
    let body = |page: u32, version: u32| {
        let text = match page {
            1 | 2 => format!("twins {version} "),
            3 if version == 2 => "twins 2 ".to_owned(),
            _ => format!("page {page} version {} ", version / 2),
        };
        format!("<title>{text}</title><p>{}</p><a href=/next>next</a>", text.repeat(100))
    };
    let mut archive = String::new();
    for version in 0..4 {
        for page in 0..6 {
            let (status, body) = if page == 5 {
                ("404 Not Found", "gone".to_owned())
            } else {
                ("200 OK", body(page, version))
            };
            let block = format!("HTTP/1.1 {status}\r\nContent-Type: text/html\r\n\r\n{body}");
            archive += &format!(
                "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://{}.test/{page}\r\n\
                 WARC-Date: 2024-05-{:02}T00:00:0{page}Z\r\nContent-Length: {}\r\n\r\n{block}\r\n\r\n",
                // The original of a duplicate comes after it in the order of the index.
                ["z", "y", "b", "c", "a", "d"][page as usize],
                version + 1,
                block.len()
            );
        }
    }
    fs::write(dir.join("in.warc"), archive).unwrap();
    for name in ["c", "again", "packed"] {
        drop(store::Collection::create(&dir.join(name), store::StoreSettings::default()).unwrap());
    }
    objects(dir, &["import", "DIR/c", "DIR/in.warc"]);
    let expected = fetches(&dir.join("c"));
    assert_eq!(expected.len(), 24);
    assert!(expected.iter().any(|fetch| fetch.5), "there are duplicates");
    objects(dir, &["export", "DIR/c", "--format", "warc", "--all-versions", "DIR/out"]);
    let revisits = records(&dir.join("out/weir-000000.warc.gz"))
        .iter()
        .filter(|record| record.header.warc_type() == WarcType::Revisit)
        .count();
    assert!(revisits > 5, "{revisits}");
    let imported = &objects(dir, &["import", "DIR/again", "DIR/out/weir-000000.warc.gz"])[0];
    assert_eq!((&imported["pages"], &imported["records_skipped"]), (&24.into(), &0.into()));
    assert_eq!(fetches(&dir.join("again")), expected);
    assert_eq!(objects(dir, &["check", "DIR/again"])[0]["ok"], true);
    let again = &objects(dir, &["import", "DIR/again", "DIR/out/weir-000000.warc.gz"])[0];
    assert_eq!((&again["pages"], &again["already_stored"]), (&0.into(), &24.into()));
    objects(dir, &["export", "DIR/c", "--format", "wacz", "--all-versions", "DIR/c.wacz"]);
    objects(dir, &["import", "DIR/packed", "DIR/c.wacz"]);
    assert_eq!(fetches(&dir.join("packed")), expected);
}

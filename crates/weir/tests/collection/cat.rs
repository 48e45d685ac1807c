//! `weir cat`.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use warc::{WarcReader, WarcType};

use super::{objects, run_text, sample, weir};

fn urls(dir: &Path, arguments: &[&str]) -> Vec<String> {
    let (code, out, err) = run_text(dir, &[&["cat", "DIR/c", "--format", "urls"], arguments].concat());
    assert_eq!((code, err.as_str()), (0, ""));
    out.lines().map(str::to_owned).collect()
}

#[test]
fn records_are_written_as_they_are_stored() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(&dir.join("c"), 2));
    let output = weir(dir, &["cat", "DIR/c"]);
    assert!(output.status.success());
    let stored = fs::read(dir.join("c/pages/weir-000000.warc.gz")).unwrap();
    assert!(stored.ends_with(&output.stdout), "the newest versions are the last in the file");
    let copy = dir.join("copy.warc.gz");
    fs::write(&copy, &output.stdout).unwrap();
    let records: Vec<_> = WarcReader::open(&copy).unwrap().map(Result::unwrap).collect();
    assert_eq!(records.iter().filter_map(|record| record.header.url()).collect::<Vec<_>>(), sample::URLS);
    assert_eq!(records.iter().filter(|record| record.header.warc_type() == WarcType::Revisit).count(), 1);
    assert_eq!(weir(dir, &["cat", "DIR/c", "--verify"]).stdout, output.stdout);
}

#[test]
fn compressed_records_are_not_written_to_a_terminal() {
    let temp = tempfile::tempdir().unwrap();
    drop(sample::make(&temp.path().join("c"), 1));
    let command = format!("{} cat {}/c", env!("CARGO_BIN_EXE_weir"), temp.path().display());
    // `script` runs the command on a pseudo-terminal and returns its exit code.
    let output = Command::new("script").args(["-qec", &command, "/dev/null"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("--format text"), "{text}");
}

#[test]
fn json_rows_have_the_columns_of_a_page() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(&dir.join("c"), 2));
    let rows = objects(dir, &["cat", "DIR/c"]);
    assert_eq!(rows.len(), 6);
    let (copy, gone) = (&rows[4], &rows[5]);
    assert_eq!((&copy["url"], &copy["title"]), (&sample::URLS[4].into(), &"Page 3, version 1".into()));
    assert_eq!(
        (&copy["status"], &copy["mime_type"], &copy["page_id"]),
        (&200.into(), &"text/html".into(), &4.into())
    );
    assert_eq!(copy["fetch_time"], "2026-11-15T08:31:00Z");
    assert!(copy["text"].as_str().unwrap().len() > 500);
    assert!(gone["status"] == 404 && gone["text"].is_null());

    // A stream can be resumed after the fourth row.
    let position = rows[3]["cursor"].as_str().unwrap();
    assert_eq!(objects(dir, &["cat", "DIR/c", "--after", position]), rows[4..]);
    let chosen = objects(dir, &["cat", "DIR/c", "--columns", "title,url", "--limit", "1"]);
    assert_eq!(chosen[0].to_string(), r#"{"title":"Page 0, version 1","url":"https://a.test/"}"#);
}

#[test]
fn pages_can_be_filtered_and_split_into_shards() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(&dir.join("c"), 2));
    assert_eq!(urls(dir, &[]), sample::URLS);
    assert_eq!(urls(dir, &["--site", "a.test"]), sample::URLS[..3]);
    assert_eq!(urls(dir, &["--domain", "b.test", "--status", "4xx"]), sample::URLS[5..]);
    assert_eq!(urls(dir, &["--limit", "2"]), sample::URLS[..2]);
    assert_eq!(urls(dir, &["--since", "2026-11-15T08:31:00Z"]).len(), 6);
    assert_eq!(urls(dir, &["--before", "2026-11-15T08:31:00Z"]).len(), 0);
    assert_eq!(urls(dir, &["--before", "2026-11-15T08:31:00Z", "--snapshot", "2"]).len(), 6);
    assert_eq!(urls(dir, &["--where", "status >= 400 or url like '%copy%'"]), sample::URLS[4..]);
    assert_eq!(urls(dir, &["--where", "not site like 'https:%' and status = 200"]), sample::URLS[3..5]);
    let mut shards = [urls(dir, &["--shard", "1/2"]), urls(dir, &["--shard", "2/2"])].concat();
    shards.sort_unstable();
    let mut all = sample::URLS.to_vec();
    all.sort_unstable();
    assert_eq!(shards, all);
}

#[test]
fn texts_are_separated_by_form_feeds() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(&dir.join("c"), 1));
    let (code, out, _) = run_text(dir, &["cat", "DIR/c", "--format", "text"]);
    let pages: Vec<&str> = out.split_terminator("\n\u{c}\n").collect();
    assert_eq!((code, pages.len()), (0, 6));
    assert!(pages[1].starts_with("https://a.test/docs/Guide\n\n"), "{}", pages[1]);
    let (_, html, _) = run_text(dir, &["cat", "DIR/c", "--format", "simplified-html", "--limit", "1"]);
    assert!(html.starts_with("https://a.test/\n\n<html>"), "{html}");
    assert!(html.contains("<title>Page 0, version 0</title>") && html.contains("<p>"), "{html}");
}

#[test]
fn wet_and_wat_are_valid_warc_files() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(&dir.join("c"), 1));
    for (format, kind, pages) in [("wet", WarcType::Conversion, 5), ("wat", WarcType::Metadata, 6)] {
        let path = dir.join(format!("{format}.warc.gz"));
        let output = weir(dir, &["cat", "DIR/c", "--format", format]).stdout;
        assert_eq!(output, weir(dir, &["cat", "DIR/c", "--format", format]).stdout, "the same twice");
        fs::write(&path, output).unwrap();
        let records: Vec<_> = WarcReader::open(&path).unwrap().map(Result::unwrap).collect();
        assert_eq!(records.len(), pages);
        assert!(records.iter().all(|record| record.header.warc_type() == kind && !record.block().is_empty()));
        assert!(records.iter().all(|record| record.verify() == warc::DigestCheck::Valid));
    }
}

#[test]
fn a_closed_pipe_is_not_a_failure() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(&dir.join("c"), 1));
    for format in ["warc", "jsonl", "urls"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        command.args(["cat", dir.join("c").to_str().unwrap(), "--format", format]);
        let output =
            command.stdout(writer).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), b"".as_slice()));
    }
}

#[test]
fn a_damaged_record_is_skipped_with_a_warning() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    let collection = sample::make(&dir.join("c"), 1);
    let location =
        collection.page_state.reader().get(model::PageId(1)).unwrap().unwrap().record_location.unwrap();
    drop(collection);
    let path = dir.join("c/pages/weir-000000.warc.gz");
    let mut bytes = fs::read(&path).unwrap();
    bytes[location.offset as usize + 30] ^= 1;
    fs::write(&path, bytes).unwrap();
    let (code, out, err) = run_text(dir, &["cat", "DIR/c", "--format", "jsonl", "--columns", "url"]);
    assert_eq!((code, out.lines().count()), (1, 5));
    assert!(err.contains("page 1 skipped: DIR/c/pages/weir-000000.warc.gz is corrupt at byte"), "{err}");
    assert!(err.ends_with("weir: 1 page damaged and skipped; run `weir check DIR/c`\n"), "{err}");
    assert_eq!(weir(dir, &["cat", "DIR/c", "--verify"]).status.code(), Some(1));
}

#[test]
fn wrong_options_are_reported_in_one_line() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(&dir.join("c"), 1));
    for (arguments, expected) in [
        (
            &["--format", "pdf"][..],
            "weir: invalid value `pdf` of format: expected one of: warc, jsonl, text, urls, simplified-html, wet, wat\n",
        ),
        (
            &["--shard", "3/2"],
            "weir: invalid value `3/2` of shard: expected I/K with I from 1 to K, such as 2/3\n",
        ),
        (
            &["--where", "status = 200 and body_bytes >"],
            "weir: invalid value `status = 200 and body_bytes >` of where: at character 30: expected a number, found the end\n",
        ),
        (&["--site", "c.test"], "weir: no site `c.test` in the collection\n"),
        (
            &["--site", "https://b.test"],
            "weir: no site `https://b.test` in the collection; known sites of this host: http://b.test:8080\n",
        ),
        (&["--after", "9.0.0"], "weir: no snapshot `9`; list them with `weir snapshots DIR/c`\n"),
        (
            &["--after", "1.0.0", "--snapshot", "2"],
            "weir: cannot resume the stream after 1.0.0: it belongs to generation 1, this is generation 2\n",
        ),
        (&["--snapshot", "nine"], "weir: no snapshot `nine`; list them with `weir snapshots DIR/c`\n"),
    ] {
        let output = run_text(dir, &[&["cat", "DIR/c"], arguments].concat());
        assert_eq!(output, (2, String::new(), expected.to_owned()));
    }
}

//! Import of a WARC file written by wget: all bodies are the same in the collection.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use model::UrlRules;
use simweb::{Endpoints, Settings, SimWeb};
use store::{Snapshot, VerifyLevel};
use warc::{WarcReader, WarcType};

/// Pages of many kinds and charsets, on sites that share an IP address, so that no DNS server is needed.
fn web() -> SimWeb {
    let settings = Settings {
        seed: 5,
        sites: 5,
        pages: 60,
        page_bytes: 4_000.0,
        legacy_charsets: 0.5,
        chunked: 0.5,
        duplicates: 0.1,
        redirects: 0.1,
        not_found: 0.1,
        text_pages: 0.1,
        image_pages: 0.1,
        dynamic: 0.3,
        ..Settings::plain()
    };
    SimWeb::start(settings, &Endpoints { single_ip: true, ..Endpoints::default() }).unwrap()
}

/// Crawls all pages with wget and returns the path of the WARC file.
fn crawl(web: &SimWeb, dir: &Path) -> PathBuf {
    let archive = dir.join("crawl");
    let output = Command::new("wget")
        .args(["--recursive", "--level=inf", "--span-hosts", "--no-verbose", "--delete-after", "--tries=1"])
        .args(["--no-config", "-e", "robots=off", "-e", "use_proxy=yes"])
        // As a proxy the server gets the requests for all hosts.
        .args(["-e", &format!("http_proxy=http://{}", web.http)])
        .arg(format!("--directory-prefix={}", dir.join("files").display()))
        .arg(format!("--warc-file={}", archive.display()))
        .arg(format!("http://portal.test:{}/", web.http.port()))
        .output()
        .expect("wget is needed: install it, or run ./test, which does");
    // Exit code 8: some responses were errors, as intended.
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 8)), "{}: {err}", output.status);
    archive.with_extension("warc.gz")
}

/// URL and body of each response in the WARC file.
fn bodies(archive: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut bodies = BTreeMap::new();
    for record in WarcReader::open(archive).unwrap() {
        let record = record.unwrap();
        if record.header.warc_type() == WarcType::Response {
            // Some versions of wget write the URL in angle brackets.
            let url = record.header.get("WARC-Target-URI").unwrap().trim_matches(['<', '>']).to_owned();
            // The target of a redirect is fetched again.
            bodies.insert(url, record.body().into_owned());
        }
    }
    bodies
}

#[test]
fn the_pages_of_wget_are_imported_byte_for_byte() {
    let temp = tempfile::tempdir().unwrap();
    let archive = crawl(&web(), temp.path());
    let expected = bodies(&archive);
    assert!(expected.len() > 50, "wget found only {} pages", expected.len());

    let collection = temp.path().join("web");
    for arguments in [vec!["init"], vec!["import"], vec!["check"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        command.args(&arguments).arg(&collection);
        if arguments == ["import"] {
            command.arg(&archive);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    let snapshot = Snapshot::open(&collection, None).unwrap();
    let rules = UrlRules::default();
    for (url, body) in &expected {
        let url = rules.canonical(url).unwrap();
        let id = snapshot.urls.find(&url).unwrap().unwrap();
        let stored = snapshot.page_state.get(id).unwrap().unwrap().record_location.unwrap();
        let page = snapshot.page_store.read(&stored, VerifyLevel::Digests).unwrap();
        assert_eq!(page.url(), url.as_str());
        assert!(page.body() == body.as_slice(), "{url} differs");
    }
}

//! An archive that somebody else's crawler made of a Web: `wget` crawls the synthetic one, and what `weir import` makes
//! of its file is compared with what is in it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests may fail loudly too")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use model::UrlRules;
use simweb::{Endpoints, Settings, SimWeb};
use store::{Snapshot, Verify, WarcKind, WarcReader};

/// Pages of many kinds and encodings, on sites that share an address so that nobody needs a name server.
fn web() -> SimWeb {
    let settings = Settings {
        seed: 5,
        sites: 5,
        pages: 60,
        page_bytes: 4_000.0,
        legacy_encodings: 0.5,
        chunked: 0.5,
        duplicates: 0.1,
        redirects: 0.1,
        missing: 0.1,
        text_pages: 0.1,
        image_pages: 0.1,
        dynamic: 0.3,
        ..Settings::plain()
    };
    SimWeb::start(settings, &Endpoints { one_address: true, ..Endpoints::default() }).unwrap()
}

/// Lets wget follow all links; the archive that it writes.
fn crawl(web: &SimWeb, folder: &Path) -> PathBuf {
    let archive = folder.join("crawl");
    let output = Command::new("wget")
        .args(["--recursive", "--level=inf", "--span-hosts", "--no-verbose", "--delete-after", "--tries=1"])
        .args(["--no-config", "-e", "robots=off", "-e", "use_proxy=yes"])
        // To ask everything of one address it is enough to be told that this is a proxy.
        .args(["-e", &format!("http_proxy=http://{}", web.http)])
        .arg(format!("--directory-prefix={}", folder.join("files").display()))
        .arg(format!("--warc-file={}", archive.display()))
        .arg(format!("http://portal.test:{}/", web.http.port()))
        .output()
        .expect("wget is needed: install it, or run ./test, which does");
    // 8: the server answered some requests with an error, as it should.
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 8)), "{}: {said}", output.status);
    archive.with_extension("warc.gz")
}

/// What is in the archive: URL and body of each answer.
fn bodies(archive: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut bodies = BTreeMap::new();
    for record in WarcReader::open(archive).unwrap() {
        let record = record.unwrap();
        if record.header.kind() == WarcKind::Response {
            // Some versions of wget put the URL into angle brackets.
            let url = record.header.get("WARC-Target-URI").unwrap().trim_matches(['<', '>']).to_owned();
            // A page that a redirect leads to is asked for again.
            bodies.insert(url, record.body().into_owned());
        }
    }
    bodies
}

#[test]
fn what_wget_has_crawled_is_read_back_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let archive = crawl(&web(), folder.path());
    let expected = bodies(&archive);
    assert!(expected.len() > 50, "wget found only {} pages", expected.len());

    let collection = folder.path().join("web");
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
        let stored = snapshot.pages.get(id).unwrap().unwrap().stored.unwrap();
        let page = snapshot.bodies.read(&stored, Verify::Digests).unwrap();
        assert_eq!(page.url(), url.as_str());
        assert!(page.body() == body.as_slice(), "{url} differs");
    }
}

//! `weir.toml`, as those see it who wrote something wrong.

use std::fs;
use std::path::Path;

use super::{sample, told};

/// What a command says that reads these settings.
fn complaint(dir: &Path, settings: &str) -> String {
    fs::write(dir.join("weir.toml"), settings).unwrap();
    let (code, out, err) = told(dir, &["sites", "DIR"]);
    assert_eq!((code, out.as_str()), (2, ""), "{err}");
    err
}

#[test]
fn an_error_names_file_and_setting_and_says_what_to_write() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    drop(sample::make(dir, 0));
    let complaints = [
        "[politeness]\nwiat = '5s'",
        "[politeness]\nwait = 5",
        "accept = ['.example.org']",
        "[fetch]\nbody = '400k'",
        "[fetch]\nroots = 'missing.pem'",
        "[crawl]\nstrategy = 'fast'",
        "[[site]]\nsite = 'http://a.test/'",
        "[pages\n",
    ]
    .map(|settings| complaint(dir, settings));
    insta::assert_snapshot!(complaints.concat(), @r#"
    weir: DIR/weir.toml: there is no setting `politeness.wiat`; is `politeness.wait` meant?
    weir: DIR/weir.toml: politeness.wait: `5` has no unit; write "5s" for seconds, or "5ms", "5m", "5h", "5d"
    weir: DIR/weir.toml: there is no setting `accept`; is `scope.accept` meant?
    weir: DIR/weir.toml: fetch.body: `400k` is no size; write a number and a unit in quotes, such as "400 kB" or "512 MiB"
    weir: weir.toml: fetch.roots: cannot read DIR/missing.pem: No such file or directory (os error 2); write the name of a file, or ""
    weir: DIR/weir.toml: crawl.strategy: `fast` is none of the words for it; write "wire" or "breadth-first" or "larger-sites-first" or "bfs-larger-sites" or "backlinks" or "opic" or "batch-pagerank" or "partial-pagerank" or "focused" or "random"
    weir: DIR/weir.toml: site.site: `http://a.test/` names no site; write a host such as "www.example.org", an ending such as ".example.org", or the start of a SURT such as "org,example,"
    weir: DIR/weir.toml: TOML parse error at line 1, column 7
      |
    1 | [pages
      |       ^
    unclosed table, expected `]`
    "#);
}

#[test]
fn whoever_asks_others_says_who_asks() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    assert_eq!(told(dir, &["init", "DIR/c", "--seed", "https://www.example.org/"]).0, 0);
    let (code, out, err) = told(dir, &["crawl", "DIR/c"]);
    assert_eq!((code, out.as_str()), (2, ""));
    insta::assert_snapshot!(err, @r#"weir: whoever runs www.example.org must be able to reach you: write your web page or mail address into DIR/c/weir.toml, in section [crawl], such as contact = "https://example.org/crawl", or give --contact"#);
    let (code, _, err) = told(dir, &["crawl", "DIR/c", "--contact", "me"]);
    assert_eq!(code, 2);
    assert!(
        err.contains("`me` is neither the URL of a web page nor a mail address; write one such as"),
        "{err}"
    );
}

//! Error messages about `weir.toml`.

use std::fs;
use std::path::Path;

use super::{run_text, sample};

/// Error of a command that reads these settings.
fn error(dir: &Path, settings: &str) -> String {
    fs::write(dir.join("weir.toml"), settings).unwrap();
    let (code, out, err) = run_text(dir, &["sites", "DIR"]);
    assert_eq!((code, out.as_str()), (2, ""), "{err}");
    err
}

#[test]
fn an_error_names_the_file_and_the_setting_and_has_an_example() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(dir, 0));
    let errors = [
        "[politeness]\ndealy = '5s'",
        "[politeness]\ndelay = 5",
        "accept = ['.example.org']",
        "[fetch]\nmax_body_size = '400k'",
        "[fetch]\nca_file = 'missing.pem'",
        "[crawl]\nstrategy = 'fast'",
        "[[site]]\nmatch = 'http://a.test/'",
        "[warc\n",
    ]
    .map(|settings| error(dir, settings));
    insta::assert_snapshot!(errors.concat(), @r#"
    weir: DIR/weir.toml: line 2: unknown setting `politeness.dealy`; did you mean `politeness.delay`?
    weir: DIR/weir.toml: line 2: politeness.delay: `5` has no unit; use "5s", "5ms", "5m", "5h" or "5d"
    weir: DIR/weir.toml: line 1: unknown setting `accept`; did you mean `scope.accept`?
    weir: DIR/weir.toml: line 2: fetch.max_body_size: invalid size `400k`; examples: "400 kB", "512 MiB"
    weir: weir.toml: fetch.ca_file: cannot read DIR/missing.pem: No such file or directory (os error 2)
    weir: DIR/weir.toml: line 2: crawl.strategy: invalid choice `fast`; use "wire" or "breadth-first" or "larger-sites-first" or "bfs-larger-sites" or "backlinks" or "opic" or "batch-pagerank" or "partial-pagerank" or "focused" or "random"
    weir: DIR/weir.toml: line 2: site.match: invalid site pattern `http://a.test/`; examples: "www.example.org", ".example.org", "org,example," (SURT prefix)
    weir: DIR/weir.toml: line 1, column 6: unclosed table, expected `]`
    "#);
}

#[test]
fn a_crawl_of_other_machines_needs_a_contact() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    assert_eq!(run_text(dir, &["init", "DIR/c", "--seed", "https://www.example.org/"]).0, 0);
    let (code, out, err) = run_text(dir, &["crawl", "DIR/c"]);
    assert_eq!((code, out.as_str()), (2, ""));
    insta::assert_snapshot!(err, @r#"weir: crawl.contact is required to fetch from www.example.org: set a contact URL or e-mail address in DIR/c/weir.toml, section [crawl], such as contact = "https://example.org/crawl", or use --contact"#);
    let (code, _, err) = run_text(dir, &["crawl", "DIR/c", "--contact", "me"]);
    assert_eq!(code, 2);
    assert!(err.contains("invalid contact `me`; examples: "), "{err}");
}

#[test]
fn a_pipe_in_place_of_the_settings_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(dir, 0));
    let _ = fs::remove_file(dir.join("weir.toml"));
    assert!(std::process::Command::new("mkfifo").arg(dir.join("weir.toml")).status().unwrap().success());
    let (code, _, err) = run_text(dir, &["status", "DIR"]);
    assert!(code == 2 && err.contains("weir.toml is not a regular file"), "{err}");
}

#[test]
fn a_link_from_the_settings_to_a_file_outside_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    let (dir, other) = (temp.path().join("c"), temp.path().join("secrets"));
    drop(sample::make(&dir, 0));
    fs::write(&other, "password = 1").unwrap();
    let _ = fs::remove_file(dir.join("weir.toml"));
    std::os::unix::fs::symlink(&other, dir.join("weir.toml")).unwrap();
    let (code, _, err) = run_text(&dir, &["status", "DIR"]);
    assert!(code == 2 && err.contains("weir.toml is a symbolic link") && !err.contains("password"), "{err}");
}

#[test]
fn files_named_by_settings_are_limited_and_regular() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(dir, 0));
    assert!(std::process::Command::new("mkfifo").arg(dir.join("pipe")).status().unwrap().success());
    for setting in ["[fetch]\nca_file = \"pipe\"", "[focus]\nexample_pages = [\"pipe\"]"] {
        fs::write(dir.join("weir.toml"), setting).unwrap();
        let (code, _, err) = run_text(dir, &["crawl", "DIR", "--contact", "https://example.org/"]);
        assert!(code == 2 && err.contains("/pipe: not a regular file"), "{err}");
    }
}

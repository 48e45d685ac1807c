//! `weir init`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{objects, run_text};

#[test]
fn only_the_owner_can_read_the_settings_file() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    fs::write(dir.join("seeds.txt"), "https://a.test/ basic_auth=user:password\n").unwrap();
    let (code, _, err) = run_text(dir, &["init", "DIR/c", "--seeds", "DIR/seeds.txt"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let settings = dir.join("c/weir.toml");
    assert!(fs::read_to_string(&settings).unwrap().contains("user:password"));
    assert_eq!(fs::metadata(&settings).unwrap().permissions().mode() & 0o777, 0o600);
    fs::remove_file(&settings).unwrap();
    let (code, _, err) = run_text(dir, &["seeder", "DIR/c", "--seeds", "DIR/seeds.txt"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(fs::metadata(&settings).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_collection_is_created_with_its_seeds_and_settings() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    let seeds = "# mine\n\nhttps://B.test/x\r\nhttps://a.test/ delay=1m max_pages=100 skip=false\nhttp://c.test:81/ max_depth=3\n";
    fs::write(dir.join("seeds.txt"), seeds).unwrap();
    let arguments = [
        &["init", "DIR/c", "--seed", "https://a.test", "--seeds", "DIR/seeds.txt", "--accept", "*.Test"][..],
        &["--contact", "me@example.org"],
    ];
    let (code, out, err) = run_text(dir, &arguments.concat());
    assert_eq!((code, err.as_str()), (0, ""));
    insta::assert_snapshot!(out, @r"
    created DIR/c: 3 seeds on 3 sites
    settings: DIR/c/weir.toml
    ");
    let settings = fs::read_to_string(dir.join("c/weir.toml")).unwrap();
    for line in [
        "contact = \"me@example.org\"",
        "accept = [\".test\"]",
        "delay = \"15s\"",
        "max_body_size = \"10 MB\"",
    ] {
        assert!(settings.lines().any(|found| found == line), "{line}");
    }
    insta::assert_snapshot!(settings.split_once("# Settings of single sites.").unwrap().1, @r#"
     Each entry begins with `[[site]]`; the first matching entry applies.
    # Example:
    #
    #   [[site]]
    #   match = ".example.org"
    #   delay = "30s"
    #   max_pages = 1000
    #
    # Settings of an entry:
    #   match         Host ("www.example.org"), host suffix (".example.org") or SURT prefix ("org,example:8080)") of the sites.
    #   skip          Exclude these sites from the crawl.
    #   delay         Delay between two requests.
    #   max_pages     Maximum number of known pages.
    #   max_depth     Maximum link depth.
    #   headers       Additional request headers.
    #   cookies       Cookie header: "name=value; other=value".
    #   basic_auth    User name and password for HTTP basic authentication, "user:password".
    #   robots_agent  Product token for robots.txt instead of crawl.agent.

    [[site]]
    match = "a.test"
    skip = false
    delay = "1m"
    max_pages = 100

    [[site]]
    match = "test,c:81)"
    max_depth = 3
    "#);
    let snapshot = store::Snapshot::open(&dir.join("c"), None).unwrap();
    for page in 0..3 {
        let page = snapshot.page_state.get(model::PageId(page)).unwrap().unwrap();
        assert!(page.flags.has(store::PageFlags::SEED) && page.depth == 0);
    }
    assert_eq!(objects(dir, &["check", "DIR/c"])[0]["ok"], true);
}

#[test]
fn invalid_seeds_are_listed_and_skipped() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    let seeds = "https://a.test/ # home\nb.test\n\nmailto:me\nhttps://a.test/ delay=5\nhttps://a.test/ x\nhttps://a.test/ x=1\n";
    fs::write(dir.join("seeds.txt"), seeds).unwrap();
    let (code, out, err) = run_text(dir, &["init", "DIR/c", "--seeds", "DIR/seeds.txt", "--seed", "/x"]);
    assert_eq!(code, 0);
    assert!(out.contains("1 seed on 1 site"), "{out}");
    insta::assert_snapshot!(err, @r#"
    weir: --seed: invalid seed /x: URL has no scheme (missing `https://`?)
    weir: DIR/seeds.txt line 2: invalid seed b.test: URL has no scheme (missing `https://`?)
    weir: DIR/seeds.txt line 4: invalid seed mailto:me: unsupported scheme `mailto` (http, https, ftp, gopher)
    weir: DIR/seeds.txt line 5: delay: `5` has no unit; use "5s", "5ms", "5m", "5h" or "5d"
    weir: DIR/seeds.txt line 6: invalid setting `x` after a seed; examples: delay=5s, max_pages=100
    weir: DIR/seeds.txt line 7: unknown setting `x` after a seed; known: skip, delay, max_pages, max_depth, headers, cookies, basic_auth, robots_agent
    weir: 6 invalid seeds skipped
    "#);
    let (code, _, err) = run_text(dir, &["init", "DIR/none", "--seed", "/x", "--seed", "y"]);
    assert_eq!((code, dir.join("none").exists()), (2, false));
    assert!(err.ends_with("weir: 2 invalid seeds and no valid one; nothing was changed\n"), "{err}");
}

#[test]
fn an_existing_directory_is_not_changed() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    assert_eq!(run_text(dir, &["init", "DIR/c"]).0, 0);
    let again = run_text(dir, &["init", "DIR/c"]);
    assert_eq!(again, (2, String::new(), "weir: DIR/c already contains a collection\n".to_owned()));
    fs::create_dir(dir.join("full")).unwrap();
    fs::write(dir.join("full/letter"), "dear").unwrap();
    let (code, _, err) = run_text(dir, &["init", "DIR/full"]);
    assert_eq!(code, 2);
    assert_eq!(err, "weir: DIR/full is not an empty directory\n");
    let (code, _, err) = run_text(dir, &["init", "DIR/d", "--accept", "a b"]);
    assert_eq!((code, dir.join("d").exists()), (2, false));
    assert!(err.contains("invalid host suffix `a b`; example: \".example.org\""), "{err}");
}

#[test]
fn a_demo_replaces_only_what_a_demo_has_made() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    fs::write(dir.join("letter"), "dear").unwrap();
    let refused = |marker: &str| {
        fs::write(dir.join("demo"), marker).unwrap();
        let (code, _, err) = run_text(dir, &["demo", "DIR", "--pages", "1", "--no-serve"]);
        assert_eq!(code, 2, "{err}");
        assert_eq!(fs::read_to_string(dir.join("letter")).unwrap(), "dear");
        err
    };
    assert_eq!(refused("a file of a user"), "weir: DIR is not a demo; use an empty or new directory\n");
    let marker = "made by weir demo, which replaces this directory\n";
    assert_eq!(refused(marker), "weir: DIR/letter is not part of the demo; move it away\n");
}

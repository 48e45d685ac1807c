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
    scope: .test
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
    #   robots        "obey" or "ignore" robots.txt. To ignore it needs a legal basis, such as legal deposit, or the permission of the site: confirm it once with `weir crawl --i-have-permission`; the warcinfo record lists the sites.
    #   accept        URLs of these sites that are in scope, by the rules of scope.accept: ["/docs/", "/blog/"].
    #   reject        URLs of these sites to reject, by the rules of scope.reject.

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
fn the_default_scope_is_the_hosts_of_the_seeds() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    let scope_of = |name: &str, options: &[&str]| {
        let collection = format!("DIR/{name}");
        let arguments = [&["init", &collection, "--seed", "https://a.test/docs/"][..], options].concat();
        let (code, out, err) = run_text(dir, &arguments);
        assert_eq!((code, err.as_str()), (0, ""));
        out.lines().find_map(|line| line.strip_prefix("scope: ")).unwrap().to_owned()
    };
    assert_eq!(scope_of("hosts", &[]), "hosts of the seeds: a.test, www.a.test");
    assert_eq!(scope_of("web", &["--accept", "*"]), "the whole Web");
    assert_eq!(scope_of("docs", &["--accept", "https://a.test/docs/"]), "https://a.test/docs/");
    let decision = |name: &str, url: &str| {
        let object = &objects(dir, &["url", "--collection", &format!("DIR/{name}"), url])[0];
        let text = |name: &str| object[name].as_str().unwrap_or_default().to_owned();
        (object["in_scope"].as_bool().unwrap(), text("setting"), text("rule"))
    };
    let row = |in_scope, setting: &str, rule: &str| (in_scope, setting.to_owned(), rule.to_owned());
    assert_eq!(decision("hosts", "http://www.a.test/x"), row(true, "scope.accept", "www.a.test"));
    assert_eq!(decision("hosts", "http://b.test/"), row(false, "scope.accept", ""));
    assert_eq!(decision("web", "http://b.test/"), row(true, "scope.accept", "*"));
    assert_eq!(decision("docs", "http://a.test/docs/1"), row(true, "scope.accept", "https://a.test/docs/"));
    assert_eq!(decision("docs", "http://a.test/news/"), row(false, "scope.accept", ""));
    let (_, text, _) = run_text(
        dir,
        &["url", "--collection", "DIR/web", "--set", "scope.reject=*login", "https://a.test/Login"],
    );
    assert!(text.contains("out of scope: rejected-by-pattern (scope.reject = \"*login\")"), "{text}");
}

#[test]
fn a_preset_and_set_options_are_written_to_the_settings_file() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    let arguments =
        ["init", "DIR/c", "--preset", "site", "--set", "politeness.delay=3s", "--reject", "*logout"];
    assert_eq!(run_text(dir, &arguments).0, 0);
    let settings = fs::read_to_string(dir.join("c/weir.toml")).unwrap();
    for line in ["max_depth_static = 50", "delay = \"3s\"", "reject = [\"*logout\"]"] {
        assert!(settings.lines().any(|found| found == line), "{line}");
    }
    let (code, _, err) = run_text(dir, &["status", "DIR/c", "--set", "politeness.dely=1s"]);
    assert!(code == 2 && err.contains("did you mean `politeness.delay`?"), "{err}");
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
    weir: DIR/seeds.txt line 7: unknown setting `x` after a seed; known: skip, delay, max_pages, max_depth, headers, cookies, basic_auth, robots_agent, robots, accept, reject
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
    assert!(err.contains("cannot use the rule `a b`: use `*a b` for URLs that contain it"), "{err}");
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

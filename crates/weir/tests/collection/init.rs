//! `weir init`.

use std::fs;

use super::{objects, told};

#[test]
fn a_collection_is_made_with_its_seeds_and_settings() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let seeds = "# mine\n\nhttps://B.test/x\r\nhttps://a.test/ wait=1m pages=100 skip=false\nhttp://c.test:81/ depth=3\n";
    fs::write(dir.join("seeds.txt"), seeds).unwrap();
    let arguments = [
        &["init", "DIR/c", "--seed", "https://a.test", "--seeds", "DIR/seeds.txt", "--accept", "*.Test"][..],
        &["--contact", "me@example.org"],
    ];
    let (code, out, err) = told(dir, &arguments.concat());
    assert_eq!((code, err.as_str()), (0, ""));
    insta::assert_snapshot!(out, @r"
    made DIR/c with 3 seeds on 3 sites
    its settings are in DIR/c/weir.toml
    ");
    let settings = fs::read_to_string(dir.join("c/weir.toml")).unwrap();
    for line in
        ["contact = \"me@example.org\"", "accept = [\".test\"]", "wait = \"15s\"", "body = \"400 kB\""]
    {
        assert!(settings.lines().any(|found| found == line), "{line}");
    }
    insta::assert_snapshot!(settings.split_once("# What is different").unwrap().1, @r#"
     for some sites. Each entry begins with `[[site]]`; where several fit, the first counts.
    # For example:
    #
    #   [[site]]
    #   site = ".example.org"
    #   wait = "30s"
    #   pages = 1000
    #
    # What an entry may have:
    #   site          For which sites: a host, an ending of hosts (".example.org"), or the beginning of a site in SURT form ("org,example:8080)").
    #   skip          Whether it is left out.
    #   wait          How long to wait between two requests.
    #   pages         How many pages of it may be known.
    #   depth         How many links from where it was entered a page may lie away.
    #   headers       Headers of each request.
    #   cookies       Cookies of each request: "name=value; other=value".
    #   login         Name and password, "name:password", for sites that ask for them (HTTP basic authentication).
    #   robots_agent  The name by which its robots.txt is read, instead of that of the crawl.

    [[site]]
    site = "a.test"
    skip = false
    wait = "1m"
    pages = 100

    [[site]]
    site = "test,c:81)"
    depth = 3
    "#);
    let snapshot = store::Snapshot::open(&dir.join("c"), None).unwrap();
    for page in 0..3 {
        let page = snapshot.pages.get(model::PageId(page)).unwrap().unwrap();
        assert!(page.flags.has(store::PageFlags::SEED) && page.depth == 0);
    }
    assert_eq!(objects(dir, &["check", "DIR/c"])[0]["sound"], true);
}

#[test]
fn bad_seeds_are_told_one_by_one_and_nothing_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let seeds = "https://a.test/\nb.test\n\nmailto:me\nhttps://a.test/ wait=5\nhttps://a.test/ x\nhttps://a.test/ x=1\n";
    fs::write(dir.join("seeds.txt"), seeds).unwrap();
    let (code, out, err) = told(dir, &["init", "DIR/c", "--seeds", "DIR/seeds.txt", "--seed", "/x"]);
    assert_eq!((code, out.as_str()), (2, ""));
    insta::assert_snapshot!(err, @r#"
    weir: --seed: /x is no seed: it has no scheme (is `https://` missing?)
    weir: DIR/seeds.txt line 2: b.test is no seed: it has no scheme (is `https://` missing?)
    weir: DIR/seeds.txt line 4: mailto:me is no seed: the scheme `mailto` is not fetched, only http, https, ftp and gopher are
    weir: DIR/seeds.txt line 5: wait: `5` has no unit; write "5s" for seconds, or "5ms", "5m", "5h", "5d"
    weir: DIR/seeds.txt line 6: `x` behind a seed is no setting; write one such as wait=5s or pages=100
    weir: DIR/seeds.txt line 7: a seed has no setting `x`; there are skip, wait, pages, depth, headers, cookies, login, robots_agent
    weir: 6 seeds cannot be used; nothing was done
    "#);
    assert!(!dir.join("c").exists());
}

#[test]
fn what_is_there_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    assert_eq!(told(dir, &["init", "DIR/c"]).0, 0);
    let again = told(dir, &["init", "DIR/c"]);
    assert_eq!(again, (2, String::new(), "weir: DIR/c holds a collection already\n".to_owned()));
    fs::create_dir(dir.join("full")).unwrap();
    fs::write(dir.join("full/letter"), "dear").unwrap();
    let (code, _, err) = told(dir, &["init", "DIR/full"]);
    assert_eq!(code, 2);
    assert_eq!(err, "weir: DIR/full is not empty; a collection needs a folder of its own\n");
    let (code, _, err) = told(dir, &["init", "DIR/d", "--accept", "a b"]);
    assert_eq!((code, dir.join("d").exists()), (2, false));
    assert!(err.contains("`a b` is no ending of a host name; write one such as \".example.org\""), "{err}");
}

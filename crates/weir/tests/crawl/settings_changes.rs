//! Changes of the settings between two crawls and during one: decisions follow them.

use serde_json::Value;

use crate::process::{Collection, run};
use crate::servers::{Server, hosts};

const QUICK: &str =
    "[politeness]\ndelay = '1ms'\n[crawl]\nmax_idle = '100ms'\n[sitemaps]\nrobots_rdf = false\n";

/// Chain of pages, each with a link to the next.
fn chain(name: &str, ip: [u8; 4]) -> Server {
    Server::site(name, ip, |path, peer| {
        let number: u32 = path.trim_matches('/').parse().unwrap_or(0);
        peer.page(&format!("<a href=/{}>next</a> page {number}", number + 1));
    })
}

fn rejudge(collection: &Collection, arguments: &[&str]) -> Value {
    let output = run(&[&["rejudge", &collection.dir(), "--json"][..], arguments].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_larger_depth_frees_pages_that_were_too_deep() {
    let server = chain("deep", [127, 77, 21, 1]);
    let settings = |depth: u8| hosts(&[&server]) + QUICK + &format!("[limits]\nmax_depth_static = {depth}\n");
    let collection = Collection::new(&[server.url("/")], &settings(2));
    assert_eq!(collection.crawl(&[])["pages_this_run"], 3);
    assert_eq!(collection.why(&server.url("/3"))["reason"], "too-deep");
    assert_eq!(rejudge(&collection, &["--dry-run"])["changed_settings"].as_array().unwrap().len(), 0);
    let preview = rejudge(&collection, &["--dry-run", "--set", "limits.max_depth_static=4"]);
    assert_eq!((&preview["pages_freed"], &preview["effects"][0]["reason"]), (&1.into(), &"too-deep".into()));
    assert_eq!(collection.why(&server.url("/3"))["reason"], "too-deep", "nothing was changed");
    collection.set(&settings(4));
    assert_eq!(collection.crawl(&[])["pages_this_run"], 2);
    assert_eq!(collection.why(&server.url("/3"))["stage"], "fetched");
    collection.assert_sound();
}

#[test]
fn a_seed_at_a_blocked_address_is_fetched_after_it_is_allowed() {
    let server = chain("blocked", [127, 77, 21, 2]);
    let seed = format!("http://{}/", server.address);
    let limits = "[limits]\nmax_depth_static = 1\n";
    let collection = Collection::new(&[&seed], &(QUICK.to_owned() + limits));
    collection.crawl(&[]);
    assert_eq!(collection.why(&seed)["reason"], "ip-blocked");
    let allowed = "network.allowed_networks = ['127.0.0.0/8']\n";
    collection.set(&(allowed.to_owned() + QUICK + limits));
    assert_eq!(collection.crawl(&[])["pages_this_run"], 2);
    assert_eq!(collection.why(&seed)["stage"], "fetched");
}

#[test]
fn links_out_of_the_default_scope_are_followed_when_the_scope_grows() {
    let other = Server::site("other", [127, 77, 21, 4], |_, peer| peer.page("other"));
    let link = other.url("/x");
    let server =
        Server::site("first", [127, 77, 21, 3], move |_, peer| peer.page(&format!("<a href={link}>x</a>")));
    let open = hosts(&[&server, &other]) + QUICK;
    let narrow = open.replace("scope.accept = ['*']\n", "");
    let collection = Collection::new(&[server.url("/")], &narrow);
    assert_eq!(collection.crawl(&[])["pages_this_run"], 1);
    assert_eq!(collection.why(&other.url("/x"))["reason"], "out-of-scope");
    collection.set(&open);
    // The front page of the new site, and the linked page.
    assert_eq!(collection.crawl(&[])["pages_this_run"], 2);
    assert_eq!(collection.why(&other.url("/x"))["stage"], "fetched");
    assert_eq!(collection.why(&other.url("/x"))["page"]["inlinks"], 1);
}

#[test]
fn a_reloaded_scope_ends_the_crawl_of_excluded_pages() {
    let server = chain("reloaded", [127, 77, 21, 5]);
    let settings = |more: &str| {
        hosts(&[&server])
            + "[politeness]\ndelay = '20ms'\n[crawl]\nmax_idle = '100ms'\n[limits]\nmax_depth_static = 200\n"
            + more
    };
    let collection = Collection::new(&[server.url("/")], &settings(""));
    let mut crawl = collection.start(&[]);
    crawl.until(|| server.paths().len() > 5);
    collection.set(&settings("").replace("scope.accept = ['*']", "scope.accept = ['elsewhere.test']"));
    crawl.signal("HUP");
    crawl.wait_for("settings reloaded: scope.accept");
    let requested = server.paths().len();
    let ended = crawl.wait();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    // One request may have been in flight, and another have started meanwhile.
    assert!(server.paths().len() <= requested + 2, "{:?}", server.paths());
}

#[test]
fn a_requested_page_is_fetched_again_before_its_interval() {
    let server = chain("again", [127, 77, 21, 6]);
    let settings = hosts(&[&server]) + QUICK + "[limits]\nmax_depth_static = 2\n";
    let collection = Collection::new(&[server.url("/")], &settings);
    assert_eq!(collection.crawl(&[])["pages_this_run"], 3);
    assert_eq!(collection.crawl(&[])["pages_this_run"], 0);
    let output = run(&["refetch", &collection.dir(), &server.url("/1"), "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(collection.crawl(&[])["pages_this_run"], 1);
    assert_eq!(server.paths().iter().filter(|path| *path == "/1").count(), 2);
    let unknown = run(&["refetch", &collection.dir(), &server.url("/99")]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("is not in the collection; add it with"));
}

#[test]
fn robots_txt_is_ignored_only_with_a_confirmed_permission() {
    let server = Server::start("closed", [127, 77, 21, 7], |path, peer| match path {
        "/robots.txt" => peer.content("text/plain", "", "User-agent: *\nDisallow: /\n"),
        _ => peer.page("deposit"),
    });
    let settings = |more: &str| hosts(&[&server]) + QUICK + more;
    let collection = Collection::new(&[server.url("/")], &settings(""));
    collection.crawl(&[]);
    assert_eq!(collection.why(&server.url("/"))["reason"], "robots-disallowed");
    collection.set(&settings(&format!("[[site]]\nmatch = '{}'\nrobots = 'ignore'\n", server.name)));
    let refused = collection.start(&[]).wait();
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("--i-have-permission"), "{}", refused.stderr);
    assert_eq!(collection.crawl(&["--i-have-permission"])["pages_this_run"], 1);
    assert_eq!(collection.why(&server.url("/"))["stage"], "fetched");
    // Once is enough.
    collection.crawl(&[]);
}

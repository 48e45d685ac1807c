//! Pages in a real browser: searching, facets, cached pages, crawl control, accessibility.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use simweb::{Endpoints, PageRef, Settings, SimWeb};

use crate::archive::{Sample, program, weir};
use crate::browser::Browser;
use crate::served::Served;

/// Takes screenshots of a page on a desktop and a phone, light and dark, and checks layout and accessibility.
fn screenshots(browser: &Browser, name: &str) {
    for (form, width, height, dark) in
        [("light", 1280, 900, false), ("dark", 1280, 900, true), ("phone", 390, 844, false)]
    {
        browser.size(width, height);
        browser.dark(dark);
        // No horizontal scrolling.
        let overflow =
            browser.eval("document.documentElement.scrollWidth - document.documentElement.clientWidth");
        assert!(overflow.as_i64().unwrap() <= 0, "{name} is wider than the screen ({form})");
        assert_accessible(browser);
        browser.screenshot(&format!("{name}-{form}"));
    }
    browser.size(1280, 900);
    browser.dark(false);
}

/// Checks what screen readers and keyboard users need.
fn assert_accessible(browser: &Browser) {
    let faults = browser.eval(
        "(() => { const faults = []; const all = s => [...document.querySelectorAll(s)];
         if (!document.documentElement.lang) faults.push('no language');
         if (!document.title) faults.push('no title');
         if (all('h1').length !== 1) faults.push('not one h1');
         for (const part of ['main', 'header', 'nav']) if (!all(part).length) faults.push('no ' + part);
         if (!all('a.skip[href=\"#main\"]').length) faults.push('no skip link');
         for (const field of all('input:not([type=hidden]),select,textarea')) if (!field.labels.length && !field.ariaLabel) faults.push('no label: ' + field.outerHTML);
         for (const thing of all('a[href],button')) if (!(thing.textContent.trim() || thing.ariaLabel)) faults.push('no name: ' + thing.outerHTML);
         for (const frame of all('iframe')) if (!frame.title) faults.push('no title: ' + frame.outerHTML);
         const ids = all('[id]').map(e => e.id); if (new Set(ids).size !== ids.length) faults.push('duplicate id');
         const light = c => { const v = c.match(/[\\d.]+/g).slice(0, 3).map(x => { x /= 255; return x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4; }); return .2126 * v[0] + .7152 * v[1] + .0722 * v[2]; };
         const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!/, 0\\)$/.test(c)) return c; } return 'rgb(255,255,255)'; };
         for (const e of all('main *')) { if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) || !e.checkVisibility() || e.closest('.visually-hidden,svg')) continue;
           const a = light(getComputedStyle(e).color), b = light(ground(e)); const contrast = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
           if (contrast < 4.5) faults.push('contrast ' + contrast.toFixed(2) + ': ' + e.outerHTML.slice(0, 100)); }
         return faults; })()",
    );
    assert_eq!(faults, serde_json::json!([]), "{}", browser.eval("location.href"));
}

#[test]
fn search_works_in_a_browser() {
    let Some(browser) = Browser::start() else { return };
    let sample = Sample::rivers();
    let served = Served::start(&sample.dir(), &[]);

    browser.open(&served.url("/"));
    screenshots(&browser, "home");
    assert_eq!(browser.eval("document.activeElement.id"), "q", "the query field has the focus");
    browser.type_and_enter("river");
    browser.until("document.querySelectorAll('.hit').length === 10");
    assert!(browser.text(".sum b").starts_with("28 results"), "{}", browser.text(".sum b"));
    assert!(browser.eval("document.querySelectorAll('.hit mark').length").as_u64().unwrap() >= 10);
    screenshots(&browser, "results");
    browser.click("a[rel=next]");
    browser.until("document.querySelector('.pager b')?.textContent === '2'");

    // A facet adds a filter, and a click on the filter removes it.
    browser.open(&served.url("/?q=dam+OR+damm"));
    browser.until("document.querySelectorAll('#facets a').length > 3");
    let all = browser.eval("document.querySelectorAll('.hit').length").as_u64().unwrap();
    browser.eval(
        "[...document.querySelectorAll('#facets a')].find(a => a.textContent.startsWith('de')).id = 'german'",
    );
    browser.click("#german");
    browser.until("document.querySelectorAll('.chips a').length === 1");
    assert_eq!(browser.text(".chips a"), "lang:de");
    assert_eq!(browser.text(".hit h3"), "Das Wehr");
    browser.click(".chips a");
    browser.until(&format!(
        "document.querySelectorAll('.hit').length === {all} && !document.querySelector('.chips a')"
    ));

    // A syntax error is marked; a misspelled word is corrected.
    browser.open(&served.url("/?q=(river"));
    assert!(browser.text(".caret").ends_with("      ^"), "{:?}", browser.text(".caret"));
    assert_accessible(&browser);
    browser.open(&served.url("/?q=rivre"));
    assert!(browser.text(".notice").contains("river"), "{}", browser.text(".notice"));

    // The cached page of a hit.
    browser.open(&served.url("/?q=weir+title:weirs"));
    browser.click(".hit h3 a");
    browser.until("document.querySelector('iframe')");
    assert!(
        browser.text(".banner h1").starts_with("Cached page, fetched 2024-05-17"),
        "{}",
        browser.text(".banner h1")
    );
    screenshots(&browser, "cached");
    for path in [
        "/page?url=https://rivers.test/weirs",
        "/similar?url=https://rivers.test/weirs",
        "/site?site=rivers.test",
        "/sites",
        "/snapshots",
        "/dashboard",
        "/report",
    ] {
        browser.open(&served.url(path));
        let name = path.trim_start_matches('/').split('?').next().unwrap();
        screenshots(&browser, name);
    }
    // Keyboard: the first tab stop is the skip link.
    browser.open(&served.url("/sites"));
    browser.key("Tab", 9, "");
    assert_eq!(browser.eval("document.activeElement.className"), "skip");
    assert_eq!(browser.errors(), Vec::<String>::new());
}

#[test]
fn no_part_of_a_hostile_page_is_executed() {
    let Some(browser) = Browser::start() else { return };
    let hostile = "<title>x</title><body onload=alert(1)><h1>River</h1><script>alert(2)</script>\
         <img src=https://evil.example/p.png onerror=alert(3)><link rel=stylesheet href=https://evil.example/x.css>\
         <iframe src=https://evil.example/></iframe><meta http-equiv=refresh content='0;url=https://evil.example/'>\
         <svg onload=alert(4)></svg><a id=out href=https://b.test/>other</a>";
    let sample = Sample::of(&[("https://a.test/", hostile), ("https://b.test/", "<title>B</title>a river")]);
    let served = Served::start(&sample.dir(), &[]);
    for path in
        ["/?q=river", "/page?page_id=0", "/cached?page_id=0", "/cached/content?page_id=0", "/report/full"]
    {
        browser.open(&served.url(path));
    }
    browser.open(&served.url("/cached/content?url=https://a.test/"));
    assert_eq!(browser.text("h1"), "River");
    // Links lead to cached pages.
    browser.click("#out");
    browser.until("location.pathname === '/cached' && location.search.includes('b.test')");
    assert_eq!(browser.errors(), Vec::<String>::new());
}

/// Crawl process with a server, killed on drop.
struct Crawl(Child);

impl Drop for Crawl {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a crawl of a synthetic Web; returns the login URL of its dashboard.
fn crawl(dir: &str) -> (Crawl, String) {
    let arguments = ["crawl", dir, "--serve", "127.0.0.1:0", "--index"];
    let mut child =
        Command::new(program()).args(arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let url = lines
        .by_ref()
        .map(|line| line.unwrap())
        .find_map(|line| line.strip_prefix("dashboard: ").map(str::to_owned))
        .unwrap();
    // Drain stderr, so that the crawl does not block.
    std::thread::spawn(move || lines.for_each(drop));
    (Crawl(child), url)
}

#[test]
fn a_crawl_is_controlled_in_a_browser() {
    let Some(browser) = Browser::start() else { return };
    let settings = Settings { sites: 60, pages: 6_000, ..Settings::default() };
    let web = SimWeb::start(settings, &Endpoints::default()).unwrap();
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("simulated").into_os_string().into_string().unwrap();
    weir(&["init", &dir, "--seed", &web.world.url(PageRef { site: 0, page: 0 })]);
    let reach = format!(
        "dns.servers = ['{}']\nnetwork.allowed_networks = ['127.0.0.0/8']\nscope.accept = ['.test']\n\
         politeness.delay = '200ms'\npoliteness.large_site_delay = '200ms'\n",
        web.dns.unwrap()
    );
    std::fs::write(temp.path().join("simulated/weir.toml"), reach).unwrap();
    let (crawl, login) = crawl(&dir);
    let (url, _) = login.split_once("/login").unwrap();
    // Without a login the dashboard is read-only.
    browser.open(&format!("{url}/dashboard"));
    browser.until("document.querySelector('.gauge b')");
    assert!(browser.text("#read-only").contains("Log in"), "{}", browser.text("main"));
    assert_eq!(browser.eval("document.querySelectorAll('form').length"), 0);
    screenshots(&browser, "read-only");
    browser.open(&login);
    browser.until("location.pathname === '/dashboard' && !location.search");
    browser.until("document.querySelector('.state')?.dataset.state === 'running'");
    let pages = "Number(document.querySelector('.gauge small').textContent.replace(/[^0-9]/g, ''))";
    // The numbers are updated.
    browser.until(&format!("{pages} > 20"));
    let before = browser.eval(pages).as_u64().unwrap();
    browser.until(&format!("{pages} > {before}"));
    browser.until("document.querySelector('.gauge polyline').points.length > 4");

    browser.click("#pause");
    browser.until("document.querySelector('.state')?.dataset.state === 'paused'");
    // Requests in flight finish; then the numbers stay.
    browser.until("document.querySelectorAll('.gauge small')[2].textContent.startsWith('0 in flight')");
    let await_samples = || {
        browser.eval(
            "(async () => { const poll = () => fetch('/api/v1/crawl?samples=600').then(response => response.json()); \
             const samples = async () => (await poll()).crawl.samples.at(-1).time_ms; const start = await samples(); \
             while (await samples() < start + 1500) await new Promise(done => setTimeout(done, 100)); })()",
        )
    };
    // A response that has arrived is counted as a page only after it was parsed.
    await_samples();
    let paused = browser.eval(pages).as_u64().unwrap();
    await_samples();
    assert_eq!(browser.eval(pages).as_u64().unwrap(), paused);
    screenshots(&browser, "paused");
    browser.click("#resume");
    browser.until(&format!(
        "document.querySelector('.state')?.dataset.state === 'running' && {pages} > {paused}"
    ));

    screenshots(&browser, "crawl");

    browser.click("#max_requests_per_second");
    browser.type_and_enter("5");
    browser
        .until("document.querySelector('#max_requests_per_second')?.value === '5' && document.readyState === 'complete'");
    browser.click("#stop");
    browser
        .until("['stopping', 'finished', 'none'].includes(document.querySelector('.state')?.dataset.state)");
    let errors = browser.errors();
    let is_end = |error: &String| {
        error.contains("ERR_CONNECTION_REFUSED")
            || error.contains("ERR_EMPTY_RESPONSE")
            || error.contains("ERR_CONNECTION_RESET")
    };
    assert!(errors.iter().all(is_end), "{errors:?}");
    drop(crawl);
}
